"""What each method makes of a model: few members are built and counted, and any number follows."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import nn

from ensedu import counting
from ensedu.methods import METHODS, ROLES, size_option
from ensedu.torch.ensembling.ensemble import ensemble
from ensedu.torch.ensembling.model_checks import StartWarning

__all__ = ["Conversion", "convert", "try_conversion"]


@dataclass(frozen=True)
class Conversion:
    """What a method makes of a model, or why it refuses it.

    Attributes
    ----------
    nets, numbers
        By number of members or samples, of one or two such numbers: the ensemble; its parameters by
        role, the frozen ones, all of them, and their bytes.
    refused
        What was raised.
    """

    nets: dict[int, nn.Module]
    numbers: dict[int, dict[str, int]]
    refused: Exception | None = None

    def numbers_at(self, size: int) -> dict[str, Any]:
        """Return the numbers of any size: each grows by the same with each member or sample."""
        first, last = min(self.numbers), max(self.numbers)
        return {
            name: low + (size - first) * (self.numbers[last][name] - low) // max(1, last - first)
            for name, low in self.numbers[first].items()
        }


def try_conversion(method: str, model: nn.Module, sizes: Sequence[int], **names: Any) -> Conversion:
    """Return what a method makes of a model, for each of `sizes`; `names` as `convert` has."""
    try:
        nets = {size: convert(model, method, size, **names) for size in sizes}
        return Conversion(nets, {size: _numbers_of(net) for size, net in nets.items()})
    except (TypeError, ValueError, RuntimeError) as error:
        return Conversion({}, {}, error)


def convert(
    model: nn.Module,
    method: str,
    size: int,
    *,
    head: str | None = None,
    shared: Sequence[Any] = (),
    modulated: Sequence[Any] = (),
) -> nn.Module:
    """Return a model as an ensemble of so many members or samples, to be counted.

    Raises what `ensedu.torch.ensemble` raises, and does not warn of where members start.
    """
    if method == "single":
        return model
    more: dict[str, Any] = {"head": head} if METHODS[method].body else {}
    if METHODS[method].shares_nothing:
        more["initialize"] = _leave_as_copied
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StartWarning)
        return ensemble(
            model, method, **size_option(method, size),
            shared=shared, modulated=modulated, **more,
        )  # fmt: skip


def _leave_as_copied(member: nn.Module) -> None:
    """Leave a member as it was copied."""


def _numbers_of(net: nn.Module) -> dict[str, int]:
    count = counting.count(net)
    numbers = {role: getattr(count, role) for role in (*ROLES, "frozen", "total")}
    return numbers | {"bytes": sum(p.numel() * p.element_size() for p in net.parameters())}
