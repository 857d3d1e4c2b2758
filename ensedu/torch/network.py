"""Networks of layers: their noise, their members, and multilayer perceptrons for each method."""

from collections.abc import Sequence
from itertools import chain, pairwise
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ensedu.common import checks, layer_checks
from ensedu.common.training_loop import members_to_split
from ensedu.methods import METHODS, checked_sizes, layer_methods
from ensedu.torch.base import Ensemble, MemberLayer, WeightLayer
from ensedu.torch.batch_ensemble import BatchEnsembleConv2d, BatchEnsembleLinear
from ensedu.torch.conv import Conv2d
from ensedu.torch.deep_ensemble import DeepEnsembleConv2d, DeepEnsembleLinear
from ensedu.torch.dropout import MCDropout
from ensedu.torch.mean_field import MeanFieldConv2d, MeanFieldLinear
from ensedu.torch.rank1 import Rank1Conv2d, Rank1Linear
from ensedu.torch.tensor_checks import check_dense, check_device, check_tensor

#: Every layer with weights, by its name.
LAYER_CLASSES: dict[str, type[nn.Module]] = {
    layer.__name__: layer
    for layer in (
        nn.Linear, Conv2d,
        DeepEnsembleLinear, DeepEnsembleConv2d,
        BatchEnsembleLinear, BatchEnsembleConv2d,
        Rank1Linear, Rank1Conv2d,
        MeanFieldLinear, MeanFieldConv2d,
    )
}  # fmt: skip


def layer_class(method: str, product: str) -> type[nn.Module]:
    """Return the class of a method's layer: `product` is ``"Linear"`` or ``"Conv2d"``."""
    return LAYER_CLASSES[METHODS[method].layer + product]


ACTIVATIONS = {"relu": nn.ReLU, "tanh": nn.Tanh}
PARAMETRIZATIONS = ("standard", "ntk")


class Tile(nn.Module):
    """Repeat a batch, (B, features) -> (S, B, features) or (S, M, B, …), as in `ensedu.numpy`."""

    def __init__(
        self, samples: int, ensemble_size: int | None = None, *, feature_axes: int = 1
    ) -> None:
        super().__init__()
        self.samples = checks.positive_int("samples", samples)
        self.feature_axes = checks.positive_int("feature_axes", feature_axes)
        self.ensemble_size = ensemble_size
        if ensemble_size is not None:
            self.ensemble_size = checks.positive_int("ensemble_size", ensemble_size)

    @property
    def leading(self) -> tuple[int, ...]:
        """The axes that it adds in front of the batch, (S,) or (S, M)."""
        return tuple(n for n in (self.samples, self.ensemble_size) if n is not None)

    def forward(self, x: Float[Tensor, "*B_features"]) -> Float[Tensor, "S *M_B_features"]:
        check_tensor("Tile: input x", x)
        if x.ndim != 1 + self.feature_axes:
            raise ValueError(
                f"Tile: input x has shape {tuple(x.shape)}, "
                f"accepted is {layer_checks.batch_axes(self.feature_axes)}"
            )
        # Copies, because what comes next may work in place.
        return x.repeat(*self.leading, *[1] * x.ndim)

    def extra_repr(self) -> str:
        members = "" if self.ensemble_size is None else f", ensemble_size={self.ensemble_size}"
        return f"samples={self.samples}{members}"


class Multiply(nn.Module):
    """``factor · x``, any shape, as in `ensedu.numpy`."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = checks.real("factor", factor)

    def forward(self, x: Float[Tensor, "*axes"]) -> Float[Tensor, "*axes"]:
        check_tensor("Multiply: input x", x)
        return self.factor * x

    def extra_repr(self) -> str:
        return f"{self.factor:g}"


class Sequential(nn.Sequential):
    """An ``nn.Sequential`` whose noise can be drawn first and given: one draw is one function."""

    def noise(
        self,
        generator: torch.Generator | None,
        input_shape: tuple[int, ...],
    ) -> dict[str, Tensor]:
        """Draw the noise of all layers for an input of this shape, as `forward` takes it.

        Keys are "index.name", as those of parameters are. Shapes on the way are found without a
        computation, on the meta device, and kept until the input or a layer is another one.
        """
        drawn: dict[str, Tensor] = {}
        like = next(self.parameters(), torch.empty(0))
        shapes = self._shapes(tuple(input_shape), like.dtype)
        for (name, layer), shape in zip(self.named_children(), shapes, strict=True):
            hidden = [part for part in layer.modules() if hasattr(part, "noise")]
            if hidden and not hasattr(layer, "noise"):
                raise ValueError(
                    f"layer {name} is a {type(layer).__name__} around layers that draw, accepted "
                    "are those layers themselves, or in an ensedu.torch.Sequential"
                )
            if hasattr(layer, "noise"):
                where = {"device": like.device} if isinstance(layer, MCDropout) else {}
                own = layer.noise(generator, shape, **where)
                drawn |= {f"{name}.{key}": value for key, value in own.items()}
        return drawn

    def _shapes(self, shape: tuple[int, ...], dtype: torch.dtype) -> list[tuple[int, ...]]:
        """Return the shape of each layer's input, and keep them, since finding them is slow."""
        known = (shape, dtype, [id(part) for part in self.modules()], repr(self))
        if getattr(self, "_known", None) != known:
            shapes = []
            for layer in self.children():
                shapes.append(shape)
                shape = _output_shape(layer, shape, dtype)
            self._known, self._known_shapes = known, shapes
        return self._known_shapes

    def forward(self, x: Tensor, noise: dict[str, Tensor] | None = None) -> Tensor:
        check_dense("Sequential: input x", x)
        if noise is None:
            return super().forward(x)
        drawing = [name for name, layer in self.named_children() if hasattr(layer, "noise")]
        own = layer_checks.noise_by_layer(noise, drawing)
        for name, layer in self.named_children():
            x = layer(x, own[name]) if name in own else layer(x)
        return x


def _output_shape(layer: nn.Module, shape: tuple[int, ...], dtype: torch.dtype) -> tuple[int, ...]:
    state = {key: value.to("meta") for key, value in layer.state_dict(keep_vars=True).items()}
    x = torch.empty(shape, dtype=dtype, device="meta")
    with torch.no_grad():
        return tuple(torch.func.functional_call(layer, state, (x,)).shape)


def draws_noise(net: nn.Module) -> bool:
    """Whether two passes of a network in eval mode differ, by layers of this package."""
    parts = net.modules()
    return any(part.draws for part in parts if isinstance(part, (WeightLayer, MCDropout, Ensemble)))


def ensemble_sizes(net: nn.Module) -> set[int]:
    """Return the numbers of members that layers and converted models of a net have."""
    parts = [part for part in net.modules() if isinstance(part, (MemberLayer, Ensemble))]
    return {part.ensemble_size for part in parts if part.ensemble_size is not None}


def number_of_members(net: nn.Module, otherwise: str) -> int:
    """Return how many members a net has, to deal examples out to; `otherwise` begins the error."""
    repeats = any(isinstance(part, Tile) for part in net.modules())
    return members_to_split(net, ensemble_sizes(net), repeats, otherwise)


def parameters_of_members(net: nn.Module) -> list[nn.Parameter]:
    """Return the parameters of which each member has its own; none where there are no members."""
    parameters: dict[int, Any] = {}
    for part in net.modules():
        if isinstance(part, WeightLayer):
            arrays = [array.name for array in METHODS[part.method].arrays if "M" in array.shape]
            parameters |= {id(p): p for name in arrays if (p := getattr(part, name)) is not None}
        elif isinstance(part, Ensemble):
            named = part.named_parameters()
            own = [p for name, p in named if part.role_inside(name, "shared") == "per_member"]
            parameters |= {id(p): p for p in own}
    return [*parameters.values()]


def layers_with_kl(network: nn.Module) -> list[WeightLayer]:
    """List the layers that have distributions."""
    return [m for m in network.modules() if isinstance(m, WeightLayer) and hasattr(m, "kl")]


def kl(network: nn.Module) -> Float[Tensor, ""]:
    """The sum over layers of KL(q ‖ prior) in nats, the mean over members; 0 without such a layer.

    For the mixture of the members, the mean of their KLs is an upper bound (convexity). Raises
    ``TypeError`` for what is no module.
    """
    if not isinstance(network, nn.Module):
        raise TypeError(f"network must be a torch.nn.Module, got {type(network).__name__}")
    zero = next(network.parameters(), torch.empty(0)).new_zeros(())
    return sum((layer.kl().mean() for layer in layers_with_kl(network)), zero)


def mlp(
    sizes: Sequence[int],
    method: str = "single",
    ensemble_size: int | None = None,
    *,
    samples: int | None = None,
    activation: str = "relu",
    bias: bool = True,
    parametrization: str = "standard",
    device: torch.device | str | None = None,
    dtype: torch.dtype | None = None,
    **options: Any,
) -> Sequential:
    """A multilayer perceptron with an activation between its layers and nothing after the last.

    Parameters
    ----------
    sizes, method, ensemble_size, samples, activation, bias, parametrization, options
        As in `ensedu.numpy.mlp`.
    device, dtype
        As for ``nn.Linear``.

    Raises
    ------
    TypeError, ValueError
        For a bad argument, members or samples that the method does not have, and an option that
        the layer does not have.
    """
    sizes = checks.layer_sizes("sizes", sizes)
    M, S = checked_sizes(method, ensemble_size, samples)
    row = METHODS[method]
    act = ACTIVATIONS[checks.one_of("activation", activation, ACTIVATIONS)]
    checks.boolean("bias", bias)
    ntk = checks.one_of("parametrization", parametrization, PARAMETRIZATIONS) == "ntk"
    device = check_device(device)  # which nn.Linear does not

    def weights(m: int, n: int, key: str) -> list[nn.Module]:
        members = (M,) if METHODS[key].has_members else ()
        own = {} if row.drops_units or key != method else options
        make = layer_class(key, "Linear")
        layer = make(m, n, *members, bias=bias, device=device, dtype=dtype, **own)
        if not ntk:
            return [layer]
        for name, parameter in layer.named_parameters():
            if name in ("weight", "weight_mean", "bias", "bias_mean"):
                nn.init.normal_(parameter)
        return [Multiply(m**-0.5), layer]

    def block(m: int, n: int, key: str) -> list[nn.Module]:
        """What stands for one layer of a plain network: its weights, and what follows them."""
        dropout = [MCDropout(**options)] if row.drops_units else []
        return [*weights(m, n, key), act(), *dropout]

    tile = [] if S is None else [Tile(S, M if row.has_members else None)]
    layers = zip(pairwise(sizes), layer_methods(method, len(sizes) - 1), strict=True)
    *hidden, last = ((m, n, key) for (m, n), key in layers)
    blocks = chain.from_iterable(block(*arguments) for arguments in hidden)
    return Sequential(*tile, *blocks, *weights(*last))
