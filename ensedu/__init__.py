"""What exactly is inside a deep ensemble, a BatchEnsemble, a rank-1 BNN?

Import what you need from the submodules: `ensedu.methods` (the table that all else follows from),
`ensedu.priors`, `ensedu.counting` and `ensedu.costs` (standard library only), `ensedu.numpy`
(reference layers), `ensedu.torch` (the same layers, fast), `ensedu.data`, `ensedu.uncertainty`,
`ensedu.theory`, `ensedu.plot`, `ensedu.sklearn`, `ensedu.contest` (methods compared on data) and
`ensedu.running` (tables that take hours);
`ensedu.command` counts from the shell.
`ensedu.common` is what all of them share, and `ensedu.book` holds what only the pages of the book
need. ``import ensedu`` itself loads none of them.
"""

__version__ = "1.0.0"
