"""Copies of a model, whole or with shapes alone, and of what each pass needs for itself."""

import copy
import re
import types
from collections import OrderedDict
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from ensedu.torch.trees import PLAIN_TYPES

# What every module has, which is no state of a model.
MODULE_ATTRIBUTES = frozenset(vars(nn.Module())) - {"training", "_is_full_backward_hook"}
# Functions that run before and behind a module's forward pass, and its backward pass.
HOOKS = tuple(key for key in MODULE_ATTRIBUTES if re.match("_(forward|backward).*hooks", key))
# What the module in whose place another stands hands on to it.
HANDED_ON = (*HOOKS, "_is_full_backward_hook")
CONTAINERS = (list, tuple, set, dict, OrderedDict)


def copy_model(model: nn.Module) -> nn.Module:
    """Return a copy of all, also of a model on whose modules a pass has left a graph."""
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


def is_copied(key: str, value: Any) -> bool:
    """Whether each pass needs an attribute, or hooks, of its own: parts of the model are in it."""
    if key in MODULE_ATTRIBUTES and (key not in HOOKS or not value):
        return False
    if isinstance(value, CONTAINERS):
        parts = [*(value.values() if isinstance(value, dict) else value)]
        changes = not parts and not isinstance(value, tuple)
        return changes or not all(isinstance(part, PLAIN_TYPES) for part in parts)
    return isinstance(value, (nn.Module, types.MethodType, partial))


def rebound(value: Any, copies: dict[int, Any]) -> Any:
    """Return `value` with copies in it for modules, by their ids; containers are copied."""
    if id(value) in copies:
        return copies[id(value)]
    again = partial(rebound, copies=copies)
    if isinstance(value, types.MethodType):
        return types.MethodType(value.__func__, again(value.__self__))
    if isinstance(value, partial):
        return partial(again(value.func), *again(value.args), **again(value.keywords))
    if type(value) not in CONTAINERS:
        return value
    if isinstance(value, dict):
        return type(value)((key, again(inner)) for key, inner in value.items())
    return type(value)(map(again, value))
