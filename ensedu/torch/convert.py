"""Carry a layer's values from NumPy to Torch and back, exactly."""

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

import ensedu.numpy as reference
from ensedu.torch.batch_ensemble import BatchEnsembleLinear
from ensedu.torch.bayes import BayesLinear
from ensedu.torch.deep_ensemble import DeepEnsembleLinear
from ensedu.torch.dropout import MCDropout
from ensedu.torch.network import Tile
from ensedu.torch.rank1 import Rank1Linear


class _Pair(NamedTuple):
    numpy: type
    torch: type
    arguments: tuple[str, ...]


_SIZES = ("in_features", "out_features")
_PAIRS = (
    _Pair(reference.Linear, nn.Linear, _SIZES),
    _Pair(reference.DeepEnsembleLinear, DeepEnsembleLinear, (*_SIZES, "ensemble_size")),
    _Pair(
        reference.BatchEnsembleLinear,
        BatchEnsembleLinear,
        (*_SIZES, "ensemble_size", "init", "init_std"),
    ),
    _Pair(
        reference.Rank1Linear,
        Rank1Linear,
        (*_SIZES, "ensemble_size", "prior", "init", "init_std", "init_scale", "per_example"),
    ),
    _Pair(reference.BayesLinear, BayesLinear, (*_SIZES, "prior", "init_scale")),
    _Pair(reference.MCDropout, MCDropout, ("p", "per_example")),
    _Pair(reference.Tile, Tile, ("ensemble_size",)),
    _Pair(reference.ReLU, nn.ReLU, ()),
    _Pair(reference.Tanh, nn.Tanh, ()),
)
# Torch keeps (n, m) where the book writes (m, n).
_TRANSPOSED = ("weight", "weight_mean", "weight_rho")


def from_numpy(layer: Any, *, device: torch.device | str | None = None) -> nn.Module:
    """Build the Torch twin of an `ensedu.numpy` layer or network, with equal values and dtype.

    Parameters
    ----------
    layer
        A layer or `ensedu.numpy.Sequential`; it shares no memory with the result.
    device
        Where the result lives.

    Raises
    ------
    TypeError
        If there is no Torch twin.
    """
    if isinstance(layer, reference.Sequential):
        return nn.Sequential(*(from_numpy(part, device=device) for part in layer.layers))
    pair = _find("layer", layer, "numpy")
    arguments = {name: getattr(layer, name) for name in pair.arguments}
    if layer.params:
        dtype = torch.from_numpy(np.empty(0, layer.dtype)).dtype
        arguments |= {"device": device, "dtype": dtype}
    module = pair.torch(**arguments)
    with torch.no_grad():
        for name, value in layer.params.items():
            tensor = torch.from_numpy(value)
            getattr(module, name).copy_(tensor.mT if name in _TRANSPOSED else tensor)
    return module


def to_numpy(module: nn.Module, *, rng: np.random.Generator) -> Any:
    """Build the NumPy twin of a Torch layer or ``nn.Sequential``, with equal values and dtype.

    Parameters
    ----------
    module
        A layer of `ensedu.torch`, ``nn.Linear``, ``nn.ReLU``, ``nn.Tanh`` or an
        ``nn.Sequential`` of those, in float64 or float32, with biases.
    rng
        The result's source of noise.

    Raises
    ------
    TypeError, ValueError
        If there is no NumPy twin, for another dtype, for a layer without bias, and for one with
        ``local_reparameterization``.
    """
    if isinstance(module, nn.Sequential):
        return reference.Sequential(*(to_numpy(part, rng=rng) for part in module))
    pair = _find("module", module, "torch")
    if getattr(module, "local_reparameterization", False):
        raise ValueError("module has local_reparameterization=True, accepted is False")
    arguments = {name: getattr(module, name) for name in pair.arguments}
    values = {name: value.detach().cpu() for name, value in module.named_parameters()}
    if values:
        dtype = next(iter(values.values())).dtype
        if dtype not in (torch.float64, torch.float32):
            raise TypeError(f"module has dtype {dtype}, accepted is float64 or float32")
        arguments["dtype"] = torch.empty(0, dtype=dtype).numpy().dtype
    if values or pair.numpy is reference.MCDropout:
        arguments["rng"] = rng
    layer = pair.numpy(**arguments)
    if values.keys() != layer.params.keys():
        raise ValueError(
            f"module has parameters {sorted(values)}, accepted are {sorted(layer.params)}"
        )
    for name, value in values.items():
        layer.params[name] = (value.mT if name in _TRANSPOSED else value).numpy().copy()
    return layer


def _find(argument: str, value: Any, side: str) -> _Pair:
    for pair in _PAIRS:
        if type(value) is getattr(pair, side):
            return pair
    names = ", ".join(getattr(pair, side).__name__ for pair in _PAIRS)
    raise TypeError(f"{argument} must be one of {names} or Sequential, got {type(value).__name__}")
