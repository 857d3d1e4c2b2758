"""The X-ray: one picture of what a model stores as each kind of ensemble, at three zooms.

::

    from torch import nn

    from ensedu.xray import xray

    model = nn.Sequential(nn.Linear(64, 50), nn.ReLU(), nn.Linear(50, 10))
    xray(model, ensemble_size=8).save("xray.html")  # in Jupyter it shows itself
    xray("1-50-50-1").counts["batch_ensemble"].total  # sizes alone, without Torch

``from ensedu import xray`` gives what can be called, too: the module itself is the function.
"""

import sys
import types
from typing import Any

from ensedu.xray.picture import XRay, xray

__all__ = ["XRay", "xray"]


class _Callable(types.ModuleType):
    """A module that is called: ``from ensedu import xray`` gives it, not its function."""

    def __call__(self, *args: Any, **kwargs: Any) -> XRay:
        return xray(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable
