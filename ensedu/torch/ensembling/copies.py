"""Copies of a model, also of one on whose modules a pass has left tensors with a graph."""

import copy
from typing import Any

import torch
from torch import Tensor, nn


def copy_model(model: nn.Module) -> nn.Module:
    """Return a copy of all."""
    return copy.deepcopy(model, deepcopy_memo(model))


def meta_copy(model: nn.Module) -> nn.Module:
    """Return a copy whose parameters and buffers have shapes alone; what is tied stays tied."""
    memo = deepcopy_memo(model)
    for parameter in model.parameters():
        empty = torch.empty_like(parameter, device="meta")
        memo[id(parameter)] = nn.Parameter(empty, parameter.requires_grad)
    for buffer in model.buffers():
        memo[id(buffer)] = torch.empty_like(buffer, device="meta")
    return copy.deepcopy(model, memo)


def deepcopy_memo(model: nn.Module) -> dict[int, Any]:
    """Return a memo for ``deepcopy`` of the tensors that a pass left on modules."""
    memo: dict[int, Any] = {}
    for part in model.modules():
        for attribute in vars(part).values():
            values = attribute.values() if isinstance(attribute, dict) else attribute
            for value in values if isinstance(attribute, (dict, list, tuple)) else [attribute]:
                if isinstance(value, Tensor) and not value.is_leaf:
                    memo[id(value)] = value.detach().clone()
    return memo
