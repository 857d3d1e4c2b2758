"""Copies of a model: those that are the members of a deep ensemble, and those that tools need."""

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ensedu.torch.base import Ensemble
from ensedu.torch.inputs import check_own_batches
from ensedu.torch.trees import map_tensors, stack_nested


class MemberCopies(Ensemble):
    """M whole models side by side: (B, …) -> (M, B, …). `ensedu.torch.ensemble` builds it.

    Inputs are what the model takes, with or without a batch axis; a tensor is copied for each
    member.
    """

    def __init__(self, members: Sequence[nn.Module], shared: Sequence[str]) -> None:
        super().__init__(len(members))
        self.members = nn.ModuleList(members)
        self.training = self.members.training = members[0].training
        self._shared = tuple(f"{name}." for name in shared)

    def role_inside(self, path: str, role: str) -> str:
        own = path.removeprefix("members.").partition(".")[2] + "."
        return "per_member" if role == "shared" and not own.startswith(self._shared) else role

    def member(self, index: int | tuple[int, ...], noise: None = None) -> nn.Module:
        """Return a copy of one member; raises as `ModelEnsemble.member` does."""
        if noise:
            raise ValueError(f"noise must be left out where nothing is drawn, got {noise!r}")
        return copied(self.members[self._place(index)[0]])

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        if self.own_batches:
            check_own_batches(len(self.members), args, kwargs)

        def inputs_of(tree: Any, i: int) -> Any:
            # A member that works in place would change the next one's input.
            return map_tensors(
                lambda _, x: (x[i] if self.own_batches else x).clone(), tree, "input", strict=False
            )

        outputs = [
            member(*inputs_of(args, i), **inputs_of(kwargs, i))
            for i, member in enumerate(self.members)
        ]
        return stack_nested(outputs, "the output")


def copied(model: nn.Module) -> nn.Module:
    """Return a copy, also of a model on whose modules a pass has left tensors with a graph."""
    return copy.deepcopy(model, detached_tensors(model))


def without_values(model: nn.Module) -> nn.Module:
    """Return a copy whose parameters and buffers have shapes alone; what is tied stays tied."""
    memo = detached_tensors(model)
    for parameter in model.parameters():
        empty = torch.empty_like(parameter, device="meta")
        memo[id(parameter)] = nn.Parameter(empty, parameter.requires_grad)
    for buffer in model.buffers():
        memo[id(buffer)] = torch.empty_like(buffer, device="meta")
    return copy.deepcopy(model, memo)


def detached_tensors(model: nn.Module) -> dict[int, Any]:
    """Return a memo for ``deepcopy`` of the tensors that a pass left on modules."""
    memo: dict[int, Any] = {}
    for part in model.modules():
        for attribute in vars(part).values():
            values = attribute.values() if isinstance(attribute, dict) else attribute
            for value in values if isinstance(attribute, (dict, list, tuple)) else [attribute]:
                if isinstance(value, Tensor) and not value.is_leaf:
                    memo[id(value)] = value.detach().clone()
    return memo
