"""Whether what a checkpoint holds means what `save` writes, beyond that no byte of it changed."""

import re
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from ensedu.common import checks
from ensedu.torch.train.pieces import first_not_finite

__all__ = ["NO_SETTINGS", "check_finite", "check_settings", "check_table"]

#: How an optimizer computes, which is the machine's affair, and what has a place of its own.
NO_SETTINGS = ("params", "param_names", "foreach", "fused", "capturable", "differentiable")
#: What stands in a table, beside its format and the file of values.
KINDS = {"step": int, "extra": dict, "optimizer": dict, "settings": list}


def check_table(file: Path, table: Mapping[str, Any]) -> None:
    """Check the table of a checkpoint, and that it is of the step that its folder is named after.

    Raises ``ValueError`` for what `save` would not have written.
    """
    for key, kind in KINDS.items():
        if type(table.get(key)) is not kind:
            given = checks.given(table[key]) if key in table else "nothing"
            raise ValueError(f"{file} must hold {key!r}, a {kind.__name__}, got {given}")
    step, named = table["step"], re.fullmatch(r"step-([0-9]+)", file.parent.name)
    if step < 1:
        raise ValueError(f"{file} must be of a positive step, got {step}")
    if named and int(named[1]) != step:
        raise ValueError(f"{file} is of step {step}, accepted in a folder of that name is another")
    for key in table["optimizer"]:
        if key != "optimizer" and not key.startswith("group:"):
            raise ValueError(f"{file} must say of an optimizer its class and groups, got {key!r}")
    for group in table["settings"]:
        if not isinstance(group, dict):
            raise ValueError(f"{file} must hold settings by name, got {checks.given(group)}")


def check_settings(path: Path, saved: list[dict[str, Any]], groups: list[dict[str, Any]]) -> None:
    """Check that settings are for the groups of an optimizer, and of the kinds that it has.

    Raises ``ValueError`` for another number of groups, and for a setting of another kind.
    """
    if len(saved) != len(groups):
        raise ValueError(
            f"{path} must hold settings of the optimizer's {len(groups)} groups, got {len(saved)}"
        )
    for number, (theirs, ours) in enumerate(zip(saved, groups, strict=True)):
        for key, value in theirs.items():
            if key in NO_SETTINGS or not _is_alike(value, ours.get(key)):
                like = "none" if key in NO_SETTINGS else f"one such as {ours.get(key)!r}"
                raise ValueError(
                    f"{path} has {key} = {checks.shown(value)} in group {number} of its "
                    f"optimizer, accepted is {like}"
                )


def _is_alike(value: Any, own: Any) -> bool:
    """Whether a saved value is of the kind that an optimizer has; of ``None`` nothing is known."""
    if own is None:
        return True
    if isinstance(own, (list, tuple)):
        alike = isinstance(value, list) and len(value) == len(own)
        return alike and all(map(_is_alike, value, own))
    if isinstance(own, str):
        return value is None or isinstance(value, str)
    if isinstance(own, bool) or not isinstance(value, (int, float)) or isinstance(value, bool):
        return type(value) is type(own)
    return abs(value) <= sys.float_info.max or value == own


def check_finite(what: str, values: Mapping[str, Tensor], parameters: Collection[str]) -> None:
    """Check that no value is NaN, and no parameter infinite: a buffer may mask by infinities.

    Raises ``ValueError``, which names the first value in `what` that is.
    """
    for name, value in values.items():
        place = first_not_finite(value, infinite_ok=name not in parameters)
        if place is not None:
            raise ValueError(
                f"{what} must hold finite numbers, got {value[place].item()} at {place} of {name}; "
                "nonfinite_ok=True takes them as they are"
            )
