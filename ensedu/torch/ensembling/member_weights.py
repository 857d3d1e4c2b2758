"""The parameters of a method in place of a model's weights, at whose values they start."""

import inspect
from math import prod
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.modules.conv import _ConvNd

from ensedu.common import checks
from ensedu.methods import METHODS
from ensedu.torch.base import WeightLayer
from ensedu.torch.batch_ensemble import BatchEnsembleLayer
from ensedu.torch.ensembling.model_copies import HANDED_ON, copy_model
from ensedu.torch.ensembling.parameter_plan import Plan, PlannedWeight
from ensedu.torch.mean_field import MeanFieldLayer
from ensedu.torch.network import layer_class
from ensedu.torch.rank1 import Rank1Layer


class WeightOfAnyShape(WeightLayer):
    """A weight (n, m, *kernel) that some other module multiplies with, and its bias.

    With `groups`, (n, m / groups, *kernel), each part of the outputs has inputs of its own; so do
    the three projections of an attention, in one weight (3 n, m). A `transposed` convolution has
    its inputs first.
    """

    batch_axis: ClassVar = -2

    def __init__(
        self, shape: tuple[int, ...], *, groups: int = 1, transposed: bool = False,
        device: torch.device | str | None = None, dtype: torch.dtype | None = None, **options: Any,
    ) -> None:  # fmt: skip
        super().__init__(device, dtype)
        self.weight_shape, self.groups, self.transposed = tuple(shape), groups, transposed
        first, second = shape[0], shape[1] * groups
        self.out_features, self.in_features = (second, first) if transposed else (first, second)
        self.fan_in = prod(shape[1:])
        self._make_parameters(**options)

    def _example_axes(self) -> tuple[int, ...]:
        return (self.in_features,)

    def modulated_weights(self, weight: Tensor, r: Tensor, s: Tensor) -> Tensor:
        """``W ∘ s rᵀ`` as the weight is stored, over all axes of its kernel."""
        along_first, along_second = (r, s) if self.transposed else (s, r)
        columns = along_second.unflatten(-1, (self.groups, -1))
        columns = columns.repeat_interleave(weight.shape[0] // self.groups, dim=-2)
        factors = along_first[..., None] * columns
        return weight * factors[(..., *[None] * (weight.ndim - 2))]

    def in_book_axes(self, weight: Tensor) -> Tensor:
        """Inputs before outputs."""
        axis = weight.ndim - len(self.weight_shape)
        return weight if self.transposed else weight.transpose(axis, axis + 1)

    def extra_repr(self) -> str:
        return f"{self.weight_shape}{self._repr_of_members_and_bias()}"


class BatchEnsembleWeight(WeightOfAnyShape, BatchEnsembleLayer):
    """``W ∘ s_i r_iᵀ`` of any shape for each member."""


class Rank1Weight(WeightOfAnyShape, Rank1Layer):
    """``W ∘ s_i r_iᵀ`` of any shape, with distributions of r and s."""


class MeanFieldWeight(WeightOfAnyShape, MeanFieldLayer):
    """A weight of any shape of which each number has a distribution."""


WEIGHT_CLASSES = {kind.method: kind for kind in (BatchEnsembleWeight, Rank1Weight, MeanFieldWeight)}


def layer_options(method: str) -> dict[str, Any]:
    """The arguments of a method's layers, neither sizes nor taken from the model, and defaults."""
    taken = ("in_features", "out_features", "ensemble_size", "bias", "device", "dtype")
    parameters = inspect.signature(layer_class(method, "Linear")).parameters
    return {name: parameter.default for name, parameter in parameters.items() if name not in taken}


def options_of(method: str) -> dict[str, Any]:
    """The options of `ensedu.torch.ensemble` for a method, and their defaults."""
    row = METHODS[method]
    if row.shares_nothing:
        return {"initialize": None}
    if row.body:
        return {"head": None, "init_std": None}
    return {} if row.drops_units else layer_options(method)


def stored_model(
    model: nn.Module, plan: Plan, method: str, members: dict[str, int], options: dict[str, Any]
) -> nn.Module:
    """Return a copy of a model with the method's arrays in place of parameters."""
    stored = copy_model(model)
    places: dict[int, list[str]] = {}  # all names of a module, once: a model may have thousands
    for name, module in model.named_modules(remove_duplicate=False):
        places.setdefault(id(module), []).append(name)
    for weight in plan:
        multiplier: Any = model.get_submodule(weight.multiplier_path)
        layer = _member_arrays(model, weight, multiplier, method, members, options)
        if weight.is_method_layer:
            plain = vars(stored.get_submodule(weight.path))
            vars(layer).update((key, plain[key]) for key in HANDED_ON)
            if not weight.path:
                return layer
        for name in places[id(multiplier)] if weight.is_method_layer else weight.names:
            path, _, key = name.rpartition(".")
            holder = stored.get_submodule(path)
            holder._parameters.pop(key, None)
            holder._modules[key] = layer
        if weight.bias and not weight.is_method_layer:
            path, _, key = weight.bias.rpartition(".")
            stored.get_submodule(path)._parameters[key] = None
    return stored


@torch.no_grad()
def _member_arrays(
    model: nn.Module, weight: PlannedWeight, multiplier: Any, method: str, members: dict[str, int],
    options: dict[str, Any],
) -> Any:  # fmt: skip
    """Return the method's layer, or its arrays for some other module, at whose values it starts."""
    values: dict[str, Any] = {
        "weight": model.get_parameter(weight.names[0]),
        "bias": model.get_parameter(weight.bias) if weight.bias else None,
    }
    like, bias = values["weight"], values["bias"]
    arguments = {**members, "bias": bias is not None, "device": like.device, "dtype": like.dtype}
    if weight.is_method_layer:
        taken_over = [
            key for key in inspect.signature(type(multiplier)).parameters if key not in arguments
        ]
        settings = options | {key: getattr(multiplier, key) for key in taken_over}
        layer: Any = layer_class(method, type(multiplier).__name__)(**settings, **arguments)
    else:
        if options.get("per_example"):
            raise ValueError(
                "per_example must be False for a model with weights other than those of nn.Linear "
                f"and nn.Conv2d, of which {weight.multiplier_key} of a {type(multiplier).__name__} "
                "is one, got True"
            )
        settings = layer_options(method) | options
        # These have no outputs of their own of which to draw.
        settings |= {"estimator": "weights"} if "estimator" in settings else {}
        if isinstance(multiplier, _ConvNd):
            settings |= {"groups": multiplier.groups, "transposed": multiplier.transposed}
        elif (
            isinstance(multiplier, nn.MultiheadAttention)
            and weight.multiplier_key == "in_proj_weight"
        ):
            settings |= {"groups": 3}
        elif bias is not None:
            settings |= {"transposed": len(bias) != len(like)}
        layer = WEIGHT_CLASSES[method](tuple(like.shape), **settings, **arguments)
    apart = METHODS[layer.method].shares_nothing  # each member has a start of its own
    for name, parameter in () if apart else layer.named_parameters():
        key, _, part = name.partition("_")
        if key in values:
            # A distribution around a fixed mean has a fixed spread.
            parameter.requires_grad_(values[key].requires_grad)
            if part != "rho":
                parameter.copy_(values[key])
    return layer.train(multiplier.training)


@torch.no_grad()
def start_heads(heads: Any, head: Any, std: Any) -> None:
    """Start the layer of each member at the model's, its weights times N(1, std²)."""
    std = checks.real("init_std", std, low=0.0)
    heads.weight.normal_(1.0, std).mul_(head.weight)
    if head.bias is not None:
        heads.bias.copy_(head.bias)


def stack_buffers(stored: nn.Module, members: int) -> None:
    """Give each member running statistics, and all else that floating-point buffers hold."""
    known: dict[int, Any] = {}
    for module in stored.modules():
        for key, value in module._buffers.items():
            if value is not None and value.is_floating_point():
                stacked = value.expand(members, *value.shape).clone()
                module._buffers[key] = known.setdefault(id(value), stacked)
