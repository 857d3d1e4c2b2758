"""Which parameters of a model do what in an ensemble of it.

- Weights of products have a shared copy and fast weights r and s for each member, or distributions:
  those of ``nn.Linear``, convolutions and transposed ones, ``nn.Bilinear``, recurrent layers and
  their cells, and ``nn.MultiheadAttention``, whose three projections each have an r.
- Their biases are a member's own (but those of an attention's projections with sizes of their own,
  ``kdim`` or ``vdim``, which stand in one vector, and those of further layers with a tied weight).
- Normalization, embeddings, vectors (class tokens, scales), and what has a first axis of 1
  (positions) are shared.
- Any other matrix is an error, unless it is listed as `shared` or as `modulated`.
"""

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from math import prod
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.modules.conv import _ConvNd
from torch.nn.utils.parametrize import ParametrizationList

from ensedu.common import checks
from ensedu.methods import METHODS
from ensedu.torch.base import NORMALIZATIONS, WeightLayer, class_path
from ensedu.torch.batch_ensemble import BatchEnsembleArrays
from ensedu.torch.mean_field import MeanFieldArrays
from ensedu.torch.network import layer_class
from ensedu.torch.rank1 import Rank1Arrays

#: What multiplies its input with a weight.
PRODUCTS = (
    nn.Linear, _ConvNd, nn.Bilinear, nn.MultiheadAttention, nn.RNNBase, nn.RNNCellBase,
)  # fmt: skip
#: One copy for all members, as in the published counts.
KEPT = (*NORMALIZATIONS, nn.Embedding, nn.EmbeddingBag)


@dataclass(frozen=True)
class Plan:
    """Which parameters have arrays of members, and where those are.

    Attributes
    ----------
    layers
        Paths of each ``nn.Linear`` and ``nn.Conv2d`` that becomes a layer of the method.
    sources
        By the name of a parameter, the path of the arrays of its method, and ``"weight"`` or
        ``"bias"``: the layer's own path, or the name of the weight that first has them.
    """

    layers: tuple[str, ...]
    sources: dict[str, tuple[str, str]]

    @property
    def weights(self) -> dict[str, str]:
        """The names of all weights outside of `layers`, and those of their biases, or ""."""
        found: dict[str, str] = {}
        for name, (path, kind) in self.sources.items():
            if path not in self.layers:
                found[path] = name if kind == "bias" else found.get(path, "")
        return found


@dataclass(frozen=True)
class Use:
    """A parameter where a module has it."""

    path: str
    owner: Any
    key: str

    @property
    def name(self) -> str:
        return f"{self.path}.{self.key}".lstrip(".")


def plan(model: nn.Module, shared: tuple[str, ...], modulated: tuple[str, ...]) -> Plan:
    """Say what of a model has arrays of members.

    Raises ``ValueError``, which names all, for matrices of the model's own, and for a tie between
    what members have and what they share.
    """
    modules = dict(model.named_modules())
    uses: dict[int, list[Use]] = {}
    for path, owner in modules.items():
        for key, parameter in owner.named_parameters(recurse=False):
            uses.setdefault(id(parameter), []).append(Use(path, owner, key))
    matrices, ties, fast = [], [], []
    for own in uses.values():
        roles = [_role(use, modules, shared, modulated) for use in own]
        if "matrix" in roles:
            use = own[roles.index("matrix")]
            size = tuple(getattr(use.owner, use.key).shape)
            matrices.append(f"{use.name} {size} of {class_path(use.owner)}")
        elif set(roles) == {"fast"}:
            fast.append(own)
        elif "fast" in roles:
            names = [use.name for use in own]
            ties.append(f"{' = '.join(names)} (list {names[roles.index('fast')]} as shared)")
    if matrices:
        raise ValueError(
            f"model has matrices of its own, {'; '.join(matrices)}: list each as shared, one for "
            "all members, or as modulated, W ∘ s rᵀ for each. Accepted as they are: the weights of "
            "linear layers, convolutions, attention and recurrent layers, normalization, "
            "embeddings and vectors"
        )
    if ties:
        raise ValueError(
            f"model has tied weights, which members have and share at once: {'; '.join(ties)}; "
            "accepted are ties between products"
        )
    layers: list[str] = []
    sources: dict[str, tuple[str, str]] = {}
    for own in fast:
        first = own[0]
        bias = _bias_of(first, modules, shared, uses)
        module = first.owner
        plain = type(module) in (nn.Linear, nn.Conv2d) and module._parameters.keys() == {
            "weight",
            "bias",
        }
        plain = plain and "forward" not in vars(module)
        if plain and len(own) == 1 and (bias or module.bias is None):
            layers.append(first.path)
        path = first.path if first.path in layers else first.name
        sources |= {use.name: (path, "weight") for use in own}
        sources |= {bias: (path, "bias")} if bias else {}
    return Plan(tuple(layers), sources)


def _role(
    use: Use, modules: dict[str, nn.Module], shared: tuple[str, ...], modulated: tuple[str, ...]
) -> str:
    parameter = getattr(use.owner, use.key)
    if is_within(use.name, shared) or isinstance(use.owner, KEPT):
        return "shared"
    if is_within(use.name, modulated):
        return "fast" if parameter.ndim > 1 else "shared"
    if isinstance(multiplier(use, modules)[1], PRODUCTS):
        # Weight normalization keeps the length of each row apart, (n, 1).
        length = use.key == "weight_g" or (use.key == "original0" and len(use.owner) == 1)
        return "fast" if "weight" in use.name and parameter.ndim > 1 and not length else "shared"
    longer = [size for size in parameter.shape if size > 1]
    return "matrix" if len(longer) > 1 and parameter.shape[0] > 1 else "shared"


def multiplier(use: Use, modules: dict[str, nn.Module]) -> tuple[str, nn.Module, str]:
    """Return path and module of what multiplies with a parameter, and what that calls it."""
    if not isinstance(use.owner, ParametrizationList):
        return use.path, use.owner, use.key.removesuffix("_v").removesuffix("_orig")
    path, _, name = use.path.rpartition(".parametrizations.")
    if not name:  # of the model itself
        path, name = "", use.path.removeprefix("parametrizations.")
    return path, modules[path], name


def _bias_of(
    use: Use, modules: dict[str, nn.Module], shared: tuple[str, ...], uses: dict[int, list[Use]]
) -> str:
    """Return the name of the bias that goes with a weight, "" without."""
    path, module, key = multiplier(use, modules)
    bias = module._parameters.get(key.replace("weight", "bias"))
    name = f"{path}.{key.replace('weight', 'bias')}".lstrip(".")
    if "weight" not in key or bias is None or is_within(name, shared) or len(uses[id(bias)]) > 1:
        return ""
    weight = getattr(use.owner, use.key)
    outputs = [weight.shape[0]]
    if getattr(module, "transposed", False):
        outputs = [weight.shape[1] * module.groups]
    elif not isinstance(module, PRODUCTS):  # which of its axes is that of outputs, its bias says
        outputs.append(weight.shape[1])
    return name if bias.shape in [(one,) for one in outputs] else ""


def names_of(model: nn.Module, given: Any, argument: str = "shared") -> tuple[str, ...]:
    """Return the names of all parts that names, patterns and types mean."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise TypeError(
            f"{argument} must be a sequence of names, patterns such as '*.attn' and types, got "
            f"{checks.given(given)}"
        )
    known = dict(named_parts(model))
    found: dict[str, None] = {}
    for one in given:
        if isinstance(one, type):
            names = [name for name, part in known.items() if isinstance(part, one)]
        elif isinstance(one, str):
            names = [name for name in known if name == one or fnmatchcase(name, one)]
        else:
            raise TypeError(
                f"{argument} must hold names, patterns and types, got {checks.given(one)}"
            )
        if not names:
            raise ValueError(
                f"{argument} must hold names of modules or parameters of the model, patterns of "
                f"such, or types of modules, got {one!r}; "
                f"it has {', '.join(sorted(known)[:20])}{', ...' if len(known) > 20 else ''}"
            )
        found |= dict.fromkeys(names)
    meant = {id(known[name]) for name in found}  # by other names, too
    return tuple(name for name, part in known.items() if id(part) in meant)


def named_parts(model: nn.Module) -> Iterator[tuple[str, nn.Module | nn.Parameter]]:
    """Yield every module but the model itself, and every parameter, with its name."""
    for name, module in model.named_modules(remove_duplicate=False):
        if name:
            yield name, module
    yield from model.named_parameters(remove_duplicate=False)


def tensors_of(part: nn.Module | nn.Parameter) -> list[Tensor]:
    """Return the parameters and buffers of a part."""
    return [part] if isinstance(part, nn.Parameter) else [*part.parameters(), *part.buffers()]


def is_within(name: str, parts: tuple[str, ...]) -> bool:
    """Whether a name is one of `parts` or stands below one; "" is the whole model."""
    return any(part in ("", name) or name.startswith(f"{part}.") for part in parts)


# What an array of a layer is given by the model, by its name.
FROM_MODEL = {"weight": "weight", "weight_mean": "weight", "bias": "bias", "bias_mean": "bias"}
# What is frozen with it: a distribution around a fixed mean has a fixed spread.
FROZEN_WITH = FROM_MODEL | {"weight_rho": "weight", "bias_rho": "bias"}
# What such a layer takes over from the one in whose place it stands.
SETTINGS = {
    "Linear": ("in_features", "out_features"),
    "Conv2d": (
        "in_channels", "out_channels", "kernel_size",
        "stride", "padding", "dilation", "groups", "padding_mode",
    ),
}  # fmt: skip


class WeightOfAnyShape(WeightLayer):
    """A weight (n, m, *kernel) that some other module multiplies with, and its bias.

    With `groups`, (n, m / groups, *kernel), each part of the outputs has inputs of its own; so do
    the three projections of an attention, in one weight (3 n, m). A `transposed` convolution has
    its inputs first.
    """

    batch_axis: ClassVar = -2

    def __init__(
        self,
        shape: tuple[int, ...],
        *,
        groups: int = 1,
        transposed: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        **options: Any,
    ) -> None:
        super().__init__(device, dtype)
        self.weight_shape, self.groups, self.transposed = tuple(shape), groups, transposed
        first, second = shape[0], shape[1] * groups
        self.outputs, self.inputs = (second, first) if transposed else (first, second)
        self.fan_in = prod(shape[1:])
        make: Any = self._make_parameters  # that of the method
        make(**options)

    def _example_axes(self) -> tuple[int, ...]:
        return (self.inputs,)

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


class BatchEnsembleWeight(WeightOfAnyShape, BatchEnsembleArrays):
    """``W ∘ s_i r_iᵀ`` of any shape for each member."""


class Rank1Weight(WeightOfAnyShape, Rank1Arrays):
    """``W ∘ s_i r_iᵀ`` of any shape, with distributions of r and s."""


class MeanFieldWeight(WeightOfAnyShape, MeanFieldArrays):
    """A weight of any shape of which each number has a distribution."""


KINDS = {kind.method: kind for kind in (BatchEnsembleWeight, Rank1Weight, MeanFieldWeight)}


def layer_options(method: str) -> dict[str, Any]:
    """The arguments of a method's layers, neither sizes nor taken from the model, and defaults."""
    taken = ("in_features", "out_features", "ensemble_size", "bias", "device", "dtype")
    parameters = inspect.signature(layer_class(method, "Linear")).parameters
    return {name: one.default for name, one in parameters.items() if name not in taken}


def layer_like(module: Any, method: str, members: dict[str, int], options: dict[str, Any]) -> Any:
    """Return the method's layer in place of a plain one, at whose weight and bias it starts."""
    kind = "Linear" if isinstance(module, nn.Linear) else "Conv2d"
    layer = layer_class(method, kind)(
        **{name: getattr(module, name) for name in SETTINGS[kind]}, **members, **options,
        bias=module.bias is not None, device=module.weight.device, dtype=module.weight.dtype,
    )  # fmt: skip
    _start_at(layer, {"weight": module.weight, "bias": module.bias})
    return layer.train(module.training)


def weight_like(
    owner: nn.Module,
    key: str,
    values: dict[str, Any],
    method: str,
    members: dict[str, int],
    options: dict[str, Any],
) -> Any:
    """Return the arrays of a method around the weight `key` of some other module."""
    weight = values["weight"]
    geometry: dict[str, Any] = {}
    if isinstance(owner, _ConvNd):
        geometry = {"groups": owner.groups, "transposed": owner.transposed}
    elif isinstance(owner, nn.MultiheadAttention) and key == "in_proj_weight":
        geometry = {"groups": 3}
    elif values["bias"] is not None:
        geometry = {"transposed": len(values["bias"]) != len(weight)}
    if options.get("per_example"):
        raise ValueError(
            "per_example must be False for a model with weights other than those of nn.Linear and "
            f"nn.Conv2d, of which {key} of a {type(owner).__name__} is one, got True"
        )
    given = layer_options(method) | options | members
    # These have no outputs of their own of which to draw.
    given |= {"estimator": "weights"} if "estimator" in given else {}
    layer = KINDS[method](
        tuple(weight.shape), device=weight.device, dtype=weight.dtype,
        bias=values["bias"] is not None, **geometry, **given,
    )  # fmt: skip
    _start_at(layer, values)
    return layer.train(owner.training)


@torch.no_grad()
def _start_at(layer: Any, values: dict[str, Any]) -> None:
    if METHODS[layer.method].apart:
        return  # each member has a start of its own
    for name, parameter in layer.named_parameters():
        if name in FROM_MODEL:
            parameter.copy_(values[FROM_MODEL[name]])
        if name in FROZEN_WITH:
            parameter.requires_grad_(values[FROZEN_WITH[name]].requires_grad)


@torch.no_grad()
def start_near(heads: Any, head: Any, std: Any) -> None:
    """Start the layer of each member at the model's, its weights times N(1, std²)."""
    std = checks.real("init_std", std, low=0.0)
    heads.weight.normal_(1.0, std).mul_(head.weight)
    if head.bias is not None:
        heads.bias.copy_(head.bias)
