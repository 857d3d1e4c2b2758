"""What lives on a page, without a kernel.

Sliders over figures (`explore`), X-rays of models (`xray_figure`), the trainer (`live`), digits
that a reader draws, tables of methods (`method_table`) and exercises in code (`practice`).
"""
