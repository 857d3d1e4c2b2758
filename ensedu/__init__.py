"""What exactly is inside a deep ensemble, a BatchEnsemble, a rank-1 BNN?

Import what you need from the submodules: `ensedu.counting` (standard library only),
`ensedu.numpy` (reference layers), `ensedu.torch` (the same layers, fast), `ensedu.plot` and
`ensedu.explore` (figures and sliders). ``import ensedu`` itself loads none of them.
"""

__version__ = "0.1.0"
