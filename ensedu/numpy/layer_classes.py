"""Which class makes the layers of a method."""

from ensedu.methods import METHODS
from ensedu.numpy.base import WeightLayer
from ensedu.numpy.batch_ensemble import BatchEnsembleConv2d, BatchEnsembleLinear
from ensedu.numpy.deep_ensemble import DeepEnsembleConv2d, DeepEnsembleLinear
from ensedu.numpy.linear import Conv2d, Linear
from ensedu.numpy.mean_field import MeanFieldConv2d, MeanFieldLinear
from ensedu.numpy.rank1 import Rank1Conv2d, Rank1Linear

#: Every layer with weights, by its name.
LAYER_CLASSES: dict[str, type[WeightLayer]] = {
    layer.__name__: layer
    for layer in (
        Linear, Conv2d,
        DeepEnsembleLinear, DeepEnsembleConv2d,
        BatchEnsembleLinear, BatchEnsembleConv2d,
        Rank1Linear, Rank1Conv2d,
        MeanFieldLinear, MeanFieldConv2d,
    )
}  # fmt: skip


def layer_class(method: str, product: str) -> type[WeightLayer]:
    """Return the class of a method's layer: `product` is ``"Linear"`` or ``"Conv2d"``."""
    return LAYER_CLASSES[METHODS[method].layer + product]
