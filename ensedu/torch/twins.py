"""Carry a layer's values from NumPy to Torch and back, exactly.

A layer and its twin have one name, one set of arguments and one set of arrays.
"""

import inspect
from collections.abc import Collection
from typing import Any

import numpy as np
import torch
from torch import nn

import ensedu.numpy
from ensedu.common.array_checks import check_rng
from ensedu.torch.conv import AvgPool2d, MaxPool2d
from ensedu.torch.dropout import MCDropout
from ensedu.torch.network import LAYER_CLASSES, Multiply, Sequential, Tile
from ensedu.torch.tensor_checks import check_device

#: The Torch class of the same name for each NumPy class that has one.
TORCH_CLASSES: dict[type, type[nn.Module]] = {
    getattr(ensedu.numpy, layer.__name__): layer
    for layer in (
        *LAYER_CLASSES.values(), AvgPool2d, nn.Flatten, MCDropout, MaxPool2d, Multiply, nn.ReLU,
        Sequential, nn.Tanh, Tile,
    )
}  # fmt: skip
#: The NumPy class of each Torch class, of Torch's own ones, too.
NUMPY_CLASSES: dict[type[nn.Module], type] = {
    torch_class: numpy_class for numpy_class, torch_class in TORCH_CLASSES.items()
} | {
    nn.Conv2d: ensedu.numpy.Conv2d,
    nn.MaxPool2d: ensedu.numpy.MaxPool2d,
    nn.AvgPool2d: ensedu.numpy.AvgPool2d,
}

#: What a Torch layer may be told, and a NumPy layer not, with the values that the latter has.
TORCH_ONLY: dict[str, tuple[Any, ...]] = {
    "estimator": ("weights", "local"),
    "padding": (0, (0, 0)),
    "dilation": (1, (1, 1)),
    "groups": (1,),
    "padding_mode": ("zeros",),
    "ceil_mode": (False,),
    "return_indices": (False,),
    "divisor_override": (None,),
    "start_dim": (1, -3),
    "end_dim": (-1,),
}


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
        If there is no Torch twin, and for a `device` that is not there.
    """
    device = check_device(device)
    if isinstance(layer, ensedu.numpy.Sequential):
        parts = (from_numpy(part, device=device) for part in layer.layers)
        return Sequential(*parts)
    twin = _twin("layer", layer, TORCH_CLASSES)
    arguments = _arguments(twin, layer, "bias" in layer.params or "bias_mean" in layer.params)
    if layer.params:
        arguments |= {"device": device, "dtype": torch.float64}
    module = twin(**arguments)
    with torch.no_grad():
        for name, value in layer.params.items():
            own = getattr(module, name)
            turned = torch.from_numpy(value)
            own.copy_((turned.mT if name.startswith("weight") else turned).reshape(own.shape))
    return module


def to_numpy(module: nn.Module, *, rng: np.random.Generator) -> Any:
    """Build the NumPy twin of a Torch layer or ``nn.Sequential``, with equal values.

    Parameters
    ----------
    module
        A layer of `ensedu.torch`, ``nn.Linear``, ``nn.Conv2d``, ``nn.MaxPool2d``, ``nn.AvgPool2d``,
        ``nn.Flatten``, ``nn.ReLU``, ``nn.Tanh`` or an ``nn.Sequential`` of those, in float64 or
        float32, which becomes float64.
    rng
        The result's source of noise.

    Raises
    ------
    TypeError, ValueError
        If there is no NumPy twin, for another dtype, for settings that it lacks (``"flipout"``,
        groups, dilation and the like), parameters without data (on the device ``"meta"``), and an
        `rng` that is no ``Generator``.
    """
    check_rng("rng", rng)
    if isinstance(module, nn.Sequential):
        return ensedu.numpy.Sequential(*(to_numpy(part, rng=rng) for part in module))
    twin = _twin("module", module, NUMPY_CLASSES)
    known = _argument_names(twin)
    _check_settings(module, known)
    values = {name: value.detach() for name, value in module.named_parameters()}
    for name, value in values.items():
        if value.is_meta:
            raise ValueError(f"module.{name} is on the device 'meta', accepted is one with data")
        if value.dtype not in (torch.float64, torch.float32):
            raise TypeError(f"module.{name} is {value.dtype}, accepted is float64 or float32")
    arguments = _arguments(twin, module, "bias" in values or "bias_mean" in values)
    if "rng" in known:
        arguments["rng"] = rng
    layer = twin(**arguments)
    for name, like in layer.params.items():
        # Torch keeps a weight as (n, m), kernels as (n, m, kh, kw), where the book writes (m, n).
        value = values[name]
        value = value.flatten(like.ndim - 1).mT if name.startswith("weight") else value
        layer.params[name] = value.double().cpu().numpy().copy()
    return layer


def _check_settings(module: nn.Module, known: Collection[str]) -> None:
    """Check that what the NumPy layer cannot be told is as that layer has it."""
    for name, accepted in TORCH_ONLY.items():
        value = getattr(module, name, accepted[0])
        if (name not in known or name == "estimator") and value not in accepted:
            words = " or ".join(map(repr, accepted))
            raise ValueError(f"module has {name}={value!r}, accepted is {words}")


def _twin(argument: str, value: Any, twins: dict[type, type]) -> type:
    """Return the class for `value` in the other backend."""
    if type(value) not in twins:
        accepted = sorted(numpy_class.__name__ for numpy_class in TORCH_CLASSES)
        words = f"{', '.join(accepted)}, got {type(value).__name__}"
        raise TypeError(f"{argument} must be one of {words}")
    return twins[type(value)]


def _argument_names(twin: type) -> set[str]:
    """The names of its arguments, with those that it hands on to its bases."""
    return {name for base in twin.__mro__ for name in inspect.signature(base.__init__).parameters}


def _arguments(twin: type, source: Any, bias: bool) -> dict[str, Any]:
    """The arguments of `twin` that `source` has as attributes, and whether there is a bias."""
    known = _argument_names(twin)
    if "in_channels" in known:
        known -= {"in_features", "out_features"}
    arguments = {name: getattr(source, name) for name in known if hasattr(source, name)}
    return arguments | ({"bias": bias} if "bias" in known else {})
