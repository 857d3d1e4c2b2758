"""One member of a converted model as a plain module."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from ensedu.common import checks
from ensedu.torch.base import OfThread


class _Calls(OfThread):
    def __init__(self) -> None:
        self.number = 0


class FixedDropout(nn.Module):
    """What one sample of MC dropout has in place of it: given masks, one a call, in turn."""

    def __init__(self, masks: Sequence[Tensor], p: float) -> None:
        super().__init__()
        self.p, self.number = p, len(masks)
        self._calls = _Calls()
        for i, mask in enumerate(masks):
            self.register_buffer(f"mask{i}", mask.clone(), persistent=False)

    def forward(self, input: Tensor) -> Tensor:  # the name that nn.Dropout has for it
        if not self.number:
            raise ValueError(
                "noise has no mask for a dropout that this member calls; accepted is what "
                "net.noise() returns for such inputs"
            )
        mask = self.get_buffer(f"mask{self._calls.number % self.number}")
        self._calls.number += 1
        return input * (mask.to(input.dtype) / (1 - self.p))

    def restart(self) -> None:
        """Let this thread begin with the first mask."""
        self._calls.number = 0


def checked_index(index: Any, leading: tuple[int, ...]) -> tuple[int, ...]:
    """Check the index of a member, an integer or one for each leading axis."""
    given = index if isinstance(index, tuple) else (index,)
    if len(given) != len(leading):
        raise ValueError(
            f"index must be {'an integer' if len(leading) == 1 else '(sample, member)'} for "
            f"leading axes {leading}, got {index!r}"
        )
    for one, size in zip(given, leading, strict=True):
        if checks.natural_int("index", one) >= size:
            raise ValueError(f"index must be below the leading axes {leading}, got {index!r}")
    return tuple(int(one) for one in given)


def restart_masks(model: nn.Module, _: Any) -> None:
    """Let a pass of a member, and no part of one before, begin with the first masks."""
    for part in model.modules():
        if isinstance(part, FixedDropout):
            part.restart()


def detached_tensors(model: nn.Module) -> dict[int, Any]:
    """For ``deepcopy``, which copies no tensor with a graph: those that a pass left on modules."""
    memo: dict[int, Any] = {}
    for part in model.modules():
        for kept in vars(part).values():
            values = kept.values() if isinstance(kept, dict) else kept
            for value in values if isinstance(kept, (dict, list, tuple)) else [kept]:
                if isinstance(value, Tensor) and not value.is_leaf:
                    memo[id(value)] = value.detach().clone()
    return memo
