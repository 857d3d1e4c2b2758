"""Carry a layer's values from NumPy to Torch and back, exactly.

A layer and its twin have one name, one set of arguments and one set of arrays.
"""

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import ensedu.numpy
import ensedu.torch
from ensedu.numpy.base import check_rng
from ensedu.torch.base import check_device


def from_numpy(layer: Any, *, device: torch.device | str | None = None) -> nn.Module:
    """Build the Torch twin of an `ensedu.numpy` layer or network, with equal values, in float64.

    Parameters
    ----------
    layer
        A layer or `ensedu.numpy.Sequential`; it shares no memory with the result.
    device
        Where the result lives.

    Raises
    ------
    TypeError, ValueError
        If there is no Torch twin, and for a `device` that Torch does not know.
    """
    device = check_device(device)
    if isinstance(layer, ensedu.numpy.Sequential):
        parts = (from_numpy(part, device=device) for part in layer.layers)
        return ensedu.torch.Sequential(*parts)
    twin = _twin("layer", layer, [ensedu.numpy], [ensedu.torch, nn])
    arguments = _arguments(twin, layer, "bias" in layer.params or "bias_mean" in layer.params)
    if layer.params:
        arguments |= {"device": device, "dtype": torch.float64}
    module = twin(**arguments)
    with torch.no_grad():
        for name, value in layer.params.items():
            getattr(module, name).copy_(_turned(name, torch.from_numpy(value)))
    return module


def to_numpy(module: nn.Module, *, rng: np.random.Generator) -> Any:
    """Build the NumPy twin of a Torch layer or ``nn.Sequential``, with equal values.

    Parameters
    ----------
    module
        A layer of `ensedu.torch`, ``nn.Linear``, ``nn.ReLU``, ``nn.Tanh`` or an
        ``nn.Sequential`` of those, in float64 or float32, which becomes float64.
    rng
        The result's source of noise.

    Raises
    ------
    TypeError, ValueError
        If there is no NumPy twin, for another dtype, one with ``estimator="flipout"``, parameters
        without data (on the device ``"meta"``), and an `rng` that is no ``Generator``.
    """
    check_rng("rng", rng)
    if isinstance(module, nn.Sequential):
        return ensedu.numpy.Sequential(*(to_numpy(part, rng=rng) for part in module))
    twin = _twin("module", module, [ensedu.torch, nn], [ensedu.numpy])
    if getattr(module, "estimator", "weights") not in ("weights", "local"):
        raise ValueError(
            f"module has estimator={module.estimator!r}, accepted are 'weights' and 'local'"
        )
    values = {name: value.detach() for name, value in module.named_parameters()}
    for name, value in values.items():
        if value.is_meta:
            raise ValueError(f"module.{name} is on the device 'meta', accepted is one with data")
        if value.dtype not in (torch.float64, torch.float32):
            raise TypeError(f"module.{name} is {value.dtype}, accepted is float64 or float32")
    arguments = _arguments(twin, module, "bias" in values or "bias_mean" in values)
    if "rng" in inspect.signature(twin).parameters:
        arguments["rng"] = rng
    layer = twin(**arguments)
    for name in layer.params:
        layer.params[name] = _turned(name, values[name]).double().cpu().numpy().copy()
    return layer


def _turned(name: str, value: Tensor) -> Tensor:
    """Torch keeps a weight as (n, m), where the book writes (m, n)."""
    return value.mT if name.startswith("weight") else value


def _twin(argument: str, value: Any, own: Sequence[Any], others: Sequence[Any]) -> type:
    """Return the class of the same name in one of the `others`."""
    name = type(value).__name__
    if any(getattr(space, name, None) is type(value) for space in own):
        for space in others:
            if hasattr(space, name):
                return getattr(space, name)
    both = [
        name
        for name in ensedu.numpy.__all__
        if isinstance(getattr(ensedu.numpy, name), type)
        and any(hasattr(space, name) for space in (ensedu.torch, nn))
    ]
    raise TypeError(f"{argument} must be one of {', '.join(both)}, got {name}")


def _arguments(twin: type, source: Any, bias: bool) -> dict[str, Any]:
    """The arguments of `twin` that `source` has as attributes, and whether there is a bias."""
    known = inspect.signature(twin).parameters
    arguments = {name: getattr(source, name) for name in known if hasattr(source, name)}
    return arguments | ({"bias": bias} if "bias" in known else {})
