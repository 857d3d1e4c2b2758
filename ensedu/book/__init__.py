"""The machinery of the book, which no other part of ensedu imports.

`ensedu.book.page` is what lives on a page, `ensedu.book.experiments` the long runs whose tables
stand in ``results/``, and `ensedu.book.measured` reads them.
"""
