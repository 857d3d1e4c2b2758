"""How a table of long runs is computed; nothing here knows one experiment from another.

``experiment`` says what a table is, ``runner`` computes one, on processes that run what stands in
``worker``; ``kept_rows`` holds its rows until all are there, ``sources`` says with which code they
were computed, ``machine`` where, and ``json_files`` writes it.
"""
