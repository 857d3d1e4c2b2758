"""Which class makes the layers of a method."""

from torch import nn

from ensedu.methods import METHODS
from ensedu.torch.batch_ensemble import BatchEnsembleConv2d, BatchEnsembleLinear
from ensedu.torch.conv import Conv2d
from ensedu.torch.deep_ensemble import DeepEnsembleConv2d, DeepEnsembleLinear
from ensedu.torch.mean_field import MeanFieldConv2d, MeanFieldLinear
from ensedu.torch.rank1 import Rank1Conv2d, Rank1Linear

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
