"""What some modules of a model do for all members, in place of their own forward pass.

Each rule is called as ``rule(one_pass, path, module, input)``, and knows by the pass who runs.
"""

from functools import partial
from math import prod
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from ensedu.torch.base import MemberLayer
from ensedu.torch.dropout import drop
from ensedu.torch.ensembling.one_pass import OnePass, named_errors

# How many axes behind the batch a dropout drops on their own; None for all.
DROPOUT_AXES = {nn.Dropout: None, nn.Dropout1d: 1, nn.Dropout2d: 1, nn.Dropout3d: 1}
# How many axes their batches have.
BATCH_NDIMS = {nn.Dropout1d: 3, nn.Dropout2d: 4, nn.Dropout3d: 5}
# Of these vmap's rules take longer, and more memory, than one call with all members' examples.
PER_EXAMPLE_MODULES = (nn.GroupNorm, nn.LayerNorm)


def weight_rule(one_pass: OnePass, path: str, module: Any, input: Tensor) -> Tensor:
    """A layer: that of the method for all members, or the plain one with a member's arrays."""
    if one_pass.is_at_once() and isinstance(input, Tensor):
        layer = one_pass.converted[path]
        if input.ndim > 0 if layer.batch_axis == -2 else input.ndim in (3, 4):
            return one_pass.for_all(partial(_layer_of_all, one_pass, path, layer), input)
    return type(module).forward(module, input)


def _layer_of_all(one_pass: OnePass, path: str, layer: Any, x: Tensor, differ: bool) -> Tensor:
    """Apply a layer to what all members give to theirs, with any axes between."""
    leading = one_pass.leading
    sampled = len(leading) > 1 or not isinstance(layer, MemberLayer)
    if differ and len(leading) > 1:
        x = x.unflatten(0, leading)
    elif sampled and not differ:
        x = x.expand(*leading, *x.shape)
    axes = len(leading) if differ or sampled else 0
    # Between members and features may be one axis of examples, more, or none.
    between = x.shape[axes : layer.batch_axis + 1]
    if len(between) != 1:
        x = x.reshape(*x.shape[:axes], prod(between), *x.shape[layer.batch_axis + 1 :])
    noise = one_pass.noise_of(path, tuple(x.shape))
    # Its hooks are those of the module whose place it takes, which calls them.
    with named_errors(path):
        y = layer.forward(x) if noise is None else layer.forward(x, noise)
    y = y.flatten(0, 1) if len(leading) > 1 else y
    return y if len(between) == 1 else y.reshape(len(y), *between, *y.shape[2:])


def dropout_rule(one_pass: OnePass, path: str, module: Any, input: Tensor) -> Tensor:
    """Dropout with one mask a sample for the whole batch."""
    if one_pass.vmap_level is None and one_pass.member is None:
        raise RuntimeError(
            f"{path or 'the model'} is called outside of a pass, as torch.utils.checkpoint "
            "does for the gradient, where its masks are gone; accepted is no checkpoint there"
        )
    with one_pass.outside():
        masks = one_pass.mask_of(path, module.p, mask_shape(module, input), input.device)
    return drop(input, one_pass.of_member(masks), module.p)


def per_example_rule(one_pass: OnePass, path: str, module: Any, input: Tensor) -> Tensor:
    """What looks at one example alone takes all members' as one batch."""
    if not one_pass.is_at_once() or not one_pass.of_all(input)[1]:
        return type(module).forward(module, input)

    def of_all(x: Tensor, differ: bool) -> Tensor:
        return type(module).forward(module, x.flatten(0, 1)).unflatten(0, x.shape[:2])

    return one_pass.for_all(of_all, input)


def batch_norm_rule(one_pass: OnePass, path: str, module: Any, input: Tensor) -> Tensor:
    """BatchNorm, of which vmap has a slow rule: a call a member."""
    buffers = module._buffers
    if not one_pass.is_at_once():
        return type(module).forward(module, input)
    of_members = {key: one_pass.of_all(x) for key, x in buffers.items() if x is not None}
    if not any(differs for _, differs in of_members.values()):
        if module.training:
            return type(module).forward(module, input)
        return per_example_rule(one_pass, path, module, input)

    def of_all(x: Tensor, differ: bool) -> Tensor:
        inputs = x.unbind() if differ else [x] * one_pass.num_runs
        # Of what is one for all, the number of batches, each counts from the same.
        stats = {
            key: stacked.unbind() if differs else [stacked.clone() for _ in inputs[1:]] + [stacked]
            for key, (stacked, differs) in of_members.items()
        }
        outputs = []
        for i, input in enumerate(inputs):
            module._buffers = {**buffers, **{key: stacked[i] for key, stacked in stats.items()}}
            outputs.append(type(module).forward(module, input))
        module._buffers = buffers
        return torch.stack(outputs)

    return one_pass.for_all(of_all, input)


def rule_for(module: nn.Module, is_replaced: bool, drops: bool) -> Any:
    """Return the function that takes the place of a module's forward pass, if one does."""
    kind = type(module)
    if drops:
        return dropout_rule
    if "forward" in vars(module):
        return None
    if is_replaced:
        return weight_rule
    if isinstance(module, _BatchNorm) and kind.forward is _BatchNorm.forward:
        return batch_norm_rule
    return per_example_rule if kind in PER_EXAMPLE_MODULES else None


def refresh_flat_weights(module: nn.RNNBase) -> None:
    """Let an RNN's own list of its parameters hold those that it has now."""
    module._flat_weights = [getattr(module, name) for name in module._flat_weights_names]


def mask_shape(module: Any, input: Tensor) -> tuple[int, ...]:
    """The shape of a mask for each example: of some kinds whole channels go."""
    drops = DROPOUT_AXES[type(module)]
    own = input.ndim - 1 if drops is None else drops
    return (*input.shape[: 1 + own], *[1] * (input.ndim - 1 - own))
