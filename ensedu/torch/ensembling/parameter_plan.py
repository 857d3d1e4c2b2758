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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from torch import nn
from torch.nn.modules.conv import _ConvNd
from torch.nn.utils.parametrize import ParametrizationList

from ensedu.common import checks
from ensedu.torch.base import NORMALIZATIONS
from ensedu.torch.tensor_checks import class_path

#: What multiplies its input with a weight.
MULTIPLIERS = (
    nn.Linear, _ConvNd, nn.Bilinear, nn.MultiheadAttention, nn.RNNBase, nn.RNNCellBase,
)  # fmt: skip
#: One copy for all members, as in the published counts.
SHARED_MODULES = (*NORMALIZATIONS, nn.Embedding, nn.EmbeddingBag)


@dataclass(frozen=True)
class PlannedWeight:
    """A weight that has arrays of members, by all its names, and its bias, or ""."""

    #: Where its arrays are: the path of the layer, or the name of the weight.
    path: str
    #: Whether an ``nn.Linear`` or ``nn.Conv2d`` becomes a layer of the method.
    is_method_layer: bool
    names: tuple[str, ...]
    bias: str
    #: The path of what multiplies with it, and what that calls it.
    multiplier_path: str
    multiplier_key: str


#: Which weights and biases have arrays of members, and where those are.
Plan = tuple[PlannedWeight, ...]


@dataclass(frozen=True)
class ParameterUse:
    """A parameter where a module has it, and what multiplies with it, which may be another one."""

    path: str
    owner: Any
    key: str
    modules: dict[str, nn.Module]

    @property
    def name(self) -> str:
        return f"{self.path}.{self.key}".lstrip(".")

    @property
    def multiplier(self) -> tuple[str, nn.Module, str]:
        """Path and module of what multiplies with it, and what that calls it."""
        if not isinstance(self.owner, ParametrizationList):
            return self.path, self.owner, self.key.removesuffix("_v").removesuffix("_orig")
        before, _, name = self.path.rpartition("parametrizations.")
        path = before.removesuffix(".")  # "" for the model itself
        return path, self.modules[path], name


def make_plan(model: nn.Module, shared: tuple[str, ...], modulated: tuple[str, ...]) -> Plan:
    """Say what of a model has arrays of members.

    Raises ``ValueError``, which names all, for matrices of the model's own, for a tie between what
    members have and what they share, and where nothing has any.
    """
    modules = dict(model.named_modules())
    uses: dict[int, list[ParameterUse]] = {}
    for path, owner in modules.items():
        for key, parameter in owner.named_parameters(recurse=False):
            uses.setdefault(id(parameter), []).append(ParameterUse(path, owner, key, modules))
    matrices, ties, planned = [], [], []
    for own in uses.values():
        kinds = [_kind(use, shared, modulated) for use in own]
        if "matrix" in kinds:
            use = own[kinds.index("matrix")]
            size = tuple(getattr(use.owner, use.key).shape)
            matrices.append(f"{use.name} {size} of {class_path(use.owner)}")
        elif set(kinds) == {"planned"}:
            planned.append(own)
        elif "planned" in kinds:
            names = [use.name for use in own]
            ties.append(f"{' = '.join(names)} (list {names[kinds.index('planned')]} as shared)")
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
    if not planned:
        raise ValueError(
            "model has no weight to convert; accepted is a model with a weight, such as that of an "
            "nn.Linear or nn.Conv2d, that is not listed in shared"
        )
    weights = []
    for own in planned:
        first = own[0]
        module, bias = first.owner, _bias_of(first, shared, uses)
        multiplier_path, _, key = first.multiplier
        is_method_layer = (
            type(module) in (nn.Linear, nn.Conv2d)
            and module._parameters.keys() == {"weight", "bias"}
            and "forward" not in vars(module)
            and len(own) == 1
            and bool(bias or module.bias is None)
        )
        path = first.path if is_method_layer else first.name
        all_names = tuple(use.name for use in own)
        weights.append(PlannedWeight(path, is_method_layer, all_names, bias, multiplier_path, key))
    return tuple(weights)


def _kind(use: ParameterUse, shared: tuple[str, ...], modulated: tuple[str, ...]) -> str:
    parameter = getattr(use.owner, use.key)
    if is_within(use.name, shared) or isinstance(use.owner, SHARED_MODULES):
        return "shared"
    if is_within(use.name, modulated):
        return "planned" if parameter.ndim > 1 else "shared"
    if isinstance(use.multiplier[1], MULTIPLIERS):
        # Weight normalization keeps the length of each row apart, (n, 1).
        length = use.key == "weight_g" or (use.key == "original0" and len(use.owner) == 1)
        has_members = "weight" in use.name and parameter.ndim > 1 and not length
        return "planned" if has_members else "shared"
    longer = [size for size in parameter.shape if size > 1]
    return "matrix" if len(longer) > 1 and parameter.shape[0] > 1 else "shared"


def _bias_of(
    use: ParameterUse, shared: tuple[str, ...], uses: dict[int, list[ParameterUse]]
) -> str:
    """Return the name of the bias that goes with a weight, "" without."""
    path, module, key = use.multiplier
    bias = module._parameters.get(key.replace("weight", "bias"))
    name = f"{path}.{key.replace('weight', 'bias')}".lstrip(".")
    if "weight" not in key or bias is None or is_within(name, shared) or len(uses[id(bias)]) > 1:
        return ""
    weight = getattr(use.owner, use.key)
    outputs = [weight.shape[0]]
    if getattr(module, "transposed", False):
        outputs = [weight.shape[1] * module.groups]
    elif not isinstance(module, MULTIPLIERS):  # which of its axes is that of outputs, its bias says
        outputs.append(weight.shape[1])
    return name if bias.shape in [(size,) for size in outputs] else ""


def select_names(model: nn.Module, listed: Any, argument: str = "shared") -> tuple[str, ...]:
    """Return the names of all parts that names, patterns and types mean."""
    if isinstance(listed, str) or not isinstance(listed, Sequence):
        raise TypeError(
            f"{argument} must be a sequence of names, patterns such as '*.attn' and types, got "
            f"{checks.describe(listed)}"
        )
    known = dict(named_parts(model))
    chosen: dict[str, None] = {}
    for wanted in listed:
        if isinstance(wanted, type):
            names = [name for name, part in known.items() if isinstance(part, wanted)]
        elif isinstance(wanted, str):
            names = [name for name in known if name == wanted or fnmatchcase(name, wanted)]
        else:
            raise TypeError(
                f"{argument} must hold names, patterns and types, got {checks.describe(wanted)}"
            )
        if not names:
            raise ValueError(
                f"{argument} must hold names of modules or parameters of the model, patterns of "
                f"such, or types of modules, got {wanted!r}; "
                f"it has {', '.join(sorted(known)[:20])}{', ...' if len(known) > 20 else ''}"
            )
        chosen |= dict.fromkeys(names)
    meant = {id(known[name]) for name in chosen}  # by other names, too
    return tuple(name for name, part in known.items() if id(part) in meant)


def named_parts(model: nn.Module) -> Iterator[tuple[str, nn.Module | nn.Parameter]]:
    """Yield every module but the model itself, and every parameter, with its name."""
    for name, module in model.named_modules(remove_duplicate=False):
        if name:
            yield name, module
    yield from model.named_parameters(remove_duplicate=False)


def is_within(name: str, parts: tuple[str, ...]) -> bool:
    """Whether a name is one of `parts` or stands below one; "" is the whole model."""
    return any(part in ("", name) or name.startswith(f"{part}.") for part in parts)
