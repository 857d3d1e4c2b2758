"""Where the chapters of the book are made; the package ensedu imports nothing of it.

`workshop.figures` draws a chapter's figures with `workshop.plot`, `workshop.page` is what lives on
a page, `workshop.experiments` are the long runs whose tables stand in ``results/``, computed by
`workshop.running` and read by `workshop.measured`.
"""
