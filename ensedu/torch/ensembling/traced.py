"""How members run where a compiler follows, which knows no way out of ``vmap``.

All arrays are formed before, and nothing of the model's state moves but buffers.
"""

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.nn.modules.batchnorm import _BatchNorm

from ensedu.torch.dropout import drop
from ensedu.torch.ensembling.batching_rules import (
    BATCH_NDIMS,
    DROPOUT_AXES,
    dropout_rule,
    mask_shape,
    refresh_flat_weights,
)
from ensedu.torch.ensembling.module_specs import ModuleSpecs
from ensedu.torch.ensembling.one_pass import Noise, OnePass
from ensedu.torch.trees import map_tensors, named_tensors


class TracedModel:
    """Copies of a model's modules that a compiler follows, and what some do in a pass."""

    one_pass: Any = None

    def __init__(self, specs: ModuleSpecs) -> None:
        self._specs = specs
        self._copies = specs.copies({path: spec.plain for path, spec in specs.items()})
        for path, spec in specs.items():
            own = vars(self._copies[path])
            own["_parameters"] = {**spec.plain._parameters}
            own["_buffers"] = {**spec.plain._buffers}
            if spec.rule is dropout_rule:
                own["forward"] = partial(self.dropout, path, self._copies[path])
            elif "forward" not in own:
                own |= self.forward_of(self._copies[path])

    def copy_modes(self) -> bool:
        """Put each module in the mode that it has in the net; return whether one trains."""
        for path, module in self._copies.items():
            module.training = self._specs[path].stored.training
        return any(module.training for module in self._copies.values())

    def outputs(
        self, one_pass: OnePass, shared: dict[str, Tensor], stacked: dict[str, Tensor], args: Any,
        kwargs: Any,
    ) -> Any:  # fmt: skip
        """Run all members with what is `shared` and with what each has of `stacked`."""
        self.one_pass = one_pass
        seen: list[Any] = []

        def member(own: Any, noise: Noise, args: Any, kwargs: Any) -> list[Tensor]:
            one_pass.noise = noise
            one_pass.calls.clear()
            model, values = self._copies[""], {**shared, **own}
            seen.append(functional_call(model, values, args, kwargs, tie_weights=False))
            return [y for _, y in named_tensors(seen[-1], "the output")]

        axis = 0 if one_pass.own_batches else None
        converted = one_pass.converted
        masks = {path: noise for path, noise in one_pass.noise.items() if path not in converted}
        of_all = vmap(member, (0, 0, axis, axis), randomness=one_pass.randomness)
        ys = iter(of_all(stacked, masks, args, kwargs))
        return map_tensors(lambda _, y: next(ys), seen[-1], "the output")

    def forward_of(self, module: nn.Module) -> dict[str, Any]:
        """Return what a module does instead of its class's forward pass, if anything."""
        kind = type(module)
        if isinstance(module, _BatchNorm) and kind.forward is _BatchNorm.forward:
            return {"forward": partial(self.batch_norm, module)}
        if isinstance(module, nn.RNNBase):
            return {"forward": partial(self.recurrent, module)}
        if kind is nn.Linear:
            return {"forward": partial(self.linear, module)}
        return {"forward": partial(self.plain_dropout, module)} if kind in DROPOUT_AXES else {}

    def dropout(self, path: str, module: Any, input: Tensor) -> Tensor:
        """Dropout with one mask for the whole batch of one member, whose noise is given."""
        one_pass, shape = self.one_pass, mask_shape(module, input)
        name = f"mask{one_pass.calls_before(path) or ''}"
        if one_pass.given is None:
            mask = torch.rand(1, *shape[1:], device=input.device) >= module.p
        else:
            mask = one_pass.noise[path][name]
        return drop(input, mask, module.p)

    def plain_dropout(self, module: Any, input: Tensor) -> Tensor:
        """Dropout, whose rule under ``vmap`` takes no batch of any size."""
        drops, batched = DROPOUT_AXES[type(module)], BATCH_NDIMS.get(type(module), input.ndim)
        if not module.training or input.ndim != batched:
            return type(module).forward(module, input)
        # Of some kinds whole channels go.
        channels = input if drops is None else input.flatten(2)[..., 0]
        mask = torch.rand_like(channels) >= module.p
        return drop(input, mask[(..., *[None] * (input.ndim - mask.ndim))], module.p)

    def linear(self, module: Any, input: Tensor) -> Tensor:
        """``nn.Linear``, which under ``vmap`` asks some inputs for a size that is a symbol."""
        y = input @ module.weight.mT
        return y if module.bias is None else y + module.bias

    def recurrent(self, module: Any, *args: Any, **kwargs: Any) -> Any:
        """An RNN, which keeps a list of its parameters."""
        refresh_flat_weights(module)
        return type(module).forward(module, *args, **kwargs)

    def batch_norm(self, module: Any, input: Tensor) -> Tensor:
        """BatchNorm, whose rule under ``vmap`` takes no batch of any size, in eval mode."""
        if module.training or module.running_mean is None:
            return type(module).forward(module, input)
        scale = torch.rsqrt(module.running_var + module.eps)
        scale = scale if module.weight is None else scale * module.weight
        shift = -module.running_mean * scale
        shift = shift if module.bias is None else shift + module.bias
        behind = [1] * (input.ndim - 2)
        return input * scale.reshape(-1, *behind) + shift.reshape(-1, *behind)
