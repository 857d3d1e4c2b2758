"""What lives on a page, without a kernel.

Sliders over figures (`explore`), the trainer (`live`), the playground, digits that a reader draws,
tables of methods (`method_table`) and exercises in code (`practice`).
"""
