"""What some modules of a model do in a pass, in place of their own forward pass.

Each rule is called as ``rule(one_pass, path, module, input)``, and knows by the pass who runs.
"""

import threading
from collections.abc import Sequence
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


def rule_for(module: nn.Module, is_method_layer: bool, drops: bool) -> Any:
    """Return the function that takes the place of a module's forward pass, if one does."""
    kind = type(module)
    if drops:
        return dropout_rule
    if "forward" in vars(module):
        return None
    if is_method_layer:
        return weight_rule
    if isinstance(module, _BatchNorm) and kind.forward is _BatchNorm.forward:
        return batch_norm_rule
    return per_example_rule if kind in PER_EXAMPLE_MODULES else None


def traced_rule_for(module: nn.Module, rule: Any) -> Any:
    """Return the same where a compiler follows, for a module that has a rule otherwise, or none."""
    if rule in (dropout_rule, batch_norm_rule) or "forward" in vars(module):
        return rule
    if isinstance(module, nn.RNNBase):
        return traced_recurrent_rule
    if type(module) is nn.Linear:
        return traced_linear_rule
    return traced_dropout_rule if type(module) in DROPOUT_AXES else None


def weight_rule(one_pass: OnePass, path: str, module: Any, input: Tensor) -> Tensor:
    """A layer: that of the method for all members, or the plain one with a member's arrays.

    The latter for what the method's layer does not take, such as one example without a batch, and
    where members run in turn. What all give to theirs may have any axes between members and
    features.
    """
    layer, leading = one_pass.method_arrays[path], one_pass.leading
    ndim = input.ndim if isinstance(input, Tensor) and one_pass.is_at_once() else 0
    if not (ndim > 0 if layer.batch_axis == -2 else ndim in (3, 4)):
        return type(module).forward(module, input)
    with one_pass.outside():
        x, differ = one_pass.of_all(input)  # (S·M, …, m), or (…, m) where members do not differ
        # Whether the layer wants an axis of samples; one with members takes (…, m) as it is.
        sampled = len(leading) > 1 or not isinstance(layer, MemberLayer)
        if differ and len(leading) > 1:
            x = x.unflatten(0, leading)  # (S, M, …, m)
        elif sampled and not differ:
            x = x.expand(*leading, *x.shape)
        axes = len(leading) if differ or sampled else 0
        # There may be one axis of examples, more, or none: the layer takes one.
        between = x.shape[axes : layer.batch_axis + 1]
        if len(between) != 1:
            x = x.reshape(*x.shape[:axes], prod(between), *x.shape[layer.batch_axis + 1 :])
        noise = one_pass.noise_of(path, tuple(x.shape))
        # Its hooks are those of the module whose place it takes, which calls them.
        with named_errors(path):
            y = layer.forward(x) if noise is None else layer.forward(x, noise)
        y = y.flatten(0, 1) if len(leading) > 1 else y
        y = y if len(between) == 1 else y.reshape(len(y), *between, *y.shape[2:])
    return one_pass.of_member(y)


def dropout_rule(one_pass: OnePass, path: str, module: Any, input: Tensor) -> Tensor:
    """Dropout with one mask a sample for the whole batch."""
    if one_pass.vmap_level is None and one_pass.member is None and not one_pass.is_traced:
        raise RuntimeError(
            f"{path or 'the model'} is called outside of a pass, as torch.utils.checkpoint "
            "does for the gradient, where its masks are gone; accepted is no checkpoint there"
        )
    mask = one_pass.mask_of(path, module.p, _mask_shape(module, input), input.device)
    return drop(input, mask, module.p)


def per_example_rule(one_pass: OnePass, path: str, module: Any, input: Tensor) -> Tensor:
    """What looks at one example alone takes all members' as one batch."""
    if not one_pass.is_at_once() or not one_pass.of_all(input)[1]:
        return type(module).forward(module, input)
    with one_pass.outside():
        x, _ = one_pass.of_all(input)
        y = type(module).forward(module, x.flatten(0, 1)).unflatten(0, x.shape[:2])
    return one_pass.of_member(y)


def batch_norm_rule(one_pass: OnePass, path: str, module: Any, input: Tensor) -> Tensor:
    """BatchNorm, of which vmap has a slow rule: a call a member.

    Where a compiler follows, that rule takes no batch of any size in eval mode.
    """
    buffers = module._buffers
    if one_pass.is_traced and not module.training and module.running_mean is not None:
        scale = torch.rsqrt(module.running_var + module.eps)
        scale = scale if module.weight is None else scale * module.weight
        shift = -module.running_mean * scale
        shift = shift if module.bias is None else shift + module.bias
        behind = [1] * (input.ndim - 2)
        return input * scale.reshape(-1, *behind) + shift.reshape(-1, *behind)
    if not one_pass.is_at_once():
        return type(module).forward(module, input)
    of_members = {key: one_pass.of_all(x) for key, x in buffers.items() if x is not None}
    if not any(differs for _, differs in of_members.values()):
        if module.training:
            return type(module).forward(module, input)
        return per_example_rule(one_pass, path, module, input)
    with one_pass.outside():
        x, differ = one_pass.of_all(input)
        inputs = x.unbind() if differ else [x] * one_pass.num_runs
        # Of what is one for all, the number of batches, each counts from the same.
        stats = {
            key: stacked.unbind() if differs else [stacked.clone() for _ in inputs[1:]] + [stacked]
            for key, (stacked, differs) in of_members.items()
        }
        outputs = []
        for i, own in enumerate(inputs):
            module._buffers = {**buffers, **{key: stacked[i] for key, stacked in stats.items()}}
            outputs.append(type(module).forward(module, own))
        module._buffers = buffers
        y = torch.stack(outputs)
    return one_pass.of_member(y)


def traced_dropout_rule(one_pass: OnePass, path: str, module: Any, input: Tensor) -> Tensor:
    """Dropout of Torch, whose own rule under ``vmap`` takes no batch of any size."""
    if not module.training or input.ndim != BATCH_NDIMS.get(type(module), input.ndim):
        return type(module).forward(module, input)
    mask = torch.rand(_mask_shape(module, input), device=input.device) >= module.p
    return drop(input, mask, module.p)


def _mask_shape(module: Any, input: Tensor) -> tuple[int, ...]:
    """The shape of a mask for each example: of some kinds whole channels go."""
    own = DROPOUT_AXES[type(module)]
    own = input.ndim - 1 if own is None else own
    return (*input.shape[: 1 + own], *[1] * (input.ndim - 1 - own))


def traced_linear_rule(one_pass: OnePass, path: str, module: Any, input: Tensor) -> Tensor:
    """``nn.Linear``, which under ``vmap`` asks some inputs for a size that is a symbol."""
    y = input @ module.weight.mT
    return y if module.bias is None else y + module.bias


def traced_recurrent_rule(
    one_pass: OnePass, path: str, module: Any, *args: Any, **kwargs: Any
) -> Any:
    """An RNN, which keeps a list of its parameters."""
    refresh_flat_weights(module)
    return type(module).forward(module, *args, **kwargs)


def refresh_flat_weights(module: nn.RNNBase) -> None:
    """Let an RNN's own list of its parameters hold those that it has now."""
    module._flat_weights = [getattr(module, name) for name in module._flat_weights_names]


class _Calls(threading.local):
    """How many masks a pass of this thread has taken; a copy starts anew."""

    number = 0

    def __reduce__(self) -> tuple[type["_Calls"], tuple[()]]:
        return type(self), ()


class FixedDropout(nn.Module):
    """What one sample of MC dropout has in place of it: given masks, one a call, in turn."""

    def __init__(self, masks: Sequence[Tensor], p: float) -> None:
        super().__init__()
        self.p, self.number, self._calls = p, len(masks), _Calls()
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
        return drop(input, mask, self.p)


def restart_masks(model: nn.Module, _: Any) -> None:
    """Let a pass of a member begin with the first masks."""
    for part in model.modules():
        if isinstance(part, FixedDropout):
            part._calls.number = 0
