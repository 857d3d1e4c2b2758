"""Which members a network has, and what is theirs: the one place that asks its modules."""

from typing import Any

from torch import Tensor, nn

from ensedu.common.training_loop import members_to_split
from ensedu.methods import METHODS
from ensedu.torch.base import Ensemble, MemberLayer, WeightLayer
from ensedu.torch.dropout import MCDropout
from ensedu.torch.network import Tile


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
    parameters: dict[int, nn.Parameter] = {}
    for part in net.modules():
        if isinstance(part, WeightLayer):
            arrays = [array.name for array in METHODS[part.method].arrays if "M" in array.shape]
            own = [getattr(part, name) for name in arrays]
        elif isinstance(part, Ensemble):
            own = [
                p for name, p in part.named_parameters()
                if part.role_inside(name, "shared") == "per_member"
            ]  # fmt: skip
        else:
            continue
        parameters |= {id(p): p for p in own if p is not None}
    return [*parameters.values()]


def leading_axis_counts(net: nn.Module, y: Tensor) -> set[int]:
    """Return how many axes may stand in front of the batch: by what a net adds, and by its end."""
    parts = list(net.modules())
    # Models of others say so, too, which are no `Ensemble`: it is all that is asked of them here.
    wholes: list[Any] = [part for part in parts if hasattr(part, "leading")]
    tiles = [part for part in parts if isinstance(part, Tile)]
    layers = [part for part in parts if isinstance(part, WeightLayer)]
    if wholes:  # in one that was converted, layers have axes of their own
        return {len(wholes[0].leading)}
    if tiles:
        return {1 + (tiles[0].ensemble_size is not None)}
    added = int(any(isinstance(layer, MemberLayer) for layer in layers))
    return {added, *(y.ndim + layer.batch_axis for layer in layers[-1:])}


def draws_noise(net: nn.Module) -> bool:
    """Whether two passes of a network in eval mode differ, by layers of this package."""
    return any(
        part.draws if isinstance(part, Ensemble)
        else isinstance(part, (WeightLayer, MCDropout)) and hasattr(part, "noise")
        for part in net.modules()
    )  # fmt: skip
