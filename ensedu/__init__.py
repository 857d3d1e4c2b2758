"""What exactly is inside a deep ensemble, a BatchEnsemble, a rank-1 BNN?

Import what you need from the submodules: `ensedu.methods` (the table that all else follows from),
`ensedu.priors`, `ensedu.counting` and `ensedu.costs` (standard library only), `ensedu.numpy`
(reference layers), `ensedu.torch` (the same layers, fast), `ensedu.data`, `ensedu.uncertainty`,
`ensedu.theory`, `ensedu.sklearn` and `ensedu.contest` (methods compared on data); `ensedu.command`
counts from the shell, and `ensedu.common` is what all of them share. ``import ensedu`` itself loads
none of them.
"""

__version__ = "2.0.0"
