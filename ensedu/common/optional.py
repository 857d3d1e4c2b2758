"""Packages that only some functions need: imported when such a function is called."""

import importlib
from types import ModuleType

__all__ = ["optional"]

#: Packages whose name is not that of their module.
NAMES = {"sklearn": "scikit-learn", "PIL": "pillow"}


def optional(package: str, extra: str) -> ModuleType:
    """Return a module, such as ``"scipy.stats"``, that comes with an extra of ensedu.

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
        raise ImportError(
            f'{named} is needed here, and is not installed: pip install "ensedu[{extra}]"',
            name=root,
        ) from error
