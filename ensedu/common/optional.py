"""Packages that only some functions need: imported when such a function is called."""

import importlib
from types import ModuleType

__all__ = ["optional"]

#: Packages whose name is not that of their module.
NAMES = {
    "sklearn": "scikit-learn", "PIL": "pillow", "laplace": "laplace-torch", "ivon": "ivon-opt",
}  # fmt: skip


def optional(package: str, extra: str | None) -> ModuleType:
    """Return a module, such as ``"scipy.stats"``, that comes with an extra of ensedu, or with none.

    Raises
    ------
    ImportError
        If its package is not installed; the message holds the command that installs it.
    """
    root = package.partition(".")[0]
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        if (error.name or root).partition(".")[0] != root:
            raise  # the package is there, and what it needs in turn is not
        named = NAMES.get(root, root)
        what = f'"ensedu[{extra}]"' if extra else named
        raise ImportError(
            f"{named} is needed here, and is not installed: pip install {what}",
            name=root,
        ) from error
