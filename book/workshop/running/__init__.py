"""How a table of long runs is computed; nothing here knows one experiment from another.

``experiment`` says what a table is, ``runner`` computes one, ``code_digest`` says with which code,
``machine`` where, and ``json_files`` writes it.
"""
