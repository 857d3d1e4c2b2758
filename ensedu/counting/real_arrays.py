"""The count of real arrays: those of layers and networks in NumPy, and of any module of Torch."""

import sys
from collections.abc import Iterator
from math import prod
from typing import Any, Protocol, runtime_checkable

from ensedu.common import checks
from ensedu.counting.formulas import Count, sum_of_layers
from ensedu.methods import METHODS, ROLES

#: Of each array that a layer has itself: its name, the array, what it is for.
Arrays = list[tuple[str, Any, str]]


@runtime_checkable
class Container(Protocol):
    """A module around others that knows what their arrays are for, such as M copies of a model."""

    def role_inside(self, path: str, role: str) -> str:
        """Return the role of an array in here that would have `role` elsewhere."""
        ...


def count(thing: Any) -> Count:
    """Count the real arrays of an `ensedu.numpy` layer or network, or of any ``torch.nn.Module``.

    Each layer of ensedu says which role each of its arrays has. In any other module a parameter
    with "bias" in its name is a bias, and every other one is shared, or each member's own inside
    the copies of a deep ensemble. An array that several layers use (tied weights) counts once,
    where it is first met; a Torch parameter with ``requires_grad=False`` counts, and is flagged in
    ``frozen``; buffers never count. A lazy parameter, which has no shape yet, is a ``TypeError``.

    Examples
    --------
    >>> import numpy as np, ensedu.numpy as en
    >>> count(en.BatchEnsembleLinear(2, 3, ensemble_size=2, rng=np.random.default_rng(0)))
    Count(shared=6, per_member=10, stds=0, biases=6, frozen=0)
    """
    seen: set[int] = set()
    layers = []
    for name, part, arrays in _layers_with_arrays(thing):
        numbers: dict[str, Any] = dict.fromkeys((*ROLES, "frozen"), 0)
        fresh = [(key, array, role) for key, array, role in arrays if id(array) not in seen]
        for key, array, role in fresh:
            seen.add(id(array))
            if type(array).__name__ == "UninitializedParameter":
                raise TypeError(
                    f"thing holds {name}.{key}, a lazy parameter without a shape; accepted is a "
                    "module whose parameters are all initialized"
                )
            size = prod(array.shape)
            numbers[role] += size
            # NumPy arrays have no such flag: everything in `params` is trained.
            numbers["frozen"] += 0 if getattr(array, "requires_grad", True) else size
        if fresh:
            layers.append(Count(**numbers, name=f"{name} {type(part).__name__}".strip()))
    return layers[0] if len(layers) == 1 else sum_of_layers(layers)


def _layers_with_arrays(thing: Any, name: str = "") -> Iterator[tuple[str, Any, Arrays]]:
    """Yield the name, the layer itself and its own arrays for each layer inside `thing`."""
    torch = sys.modules.get("torch")  # what is no module of a loaded Torch is none at all
    if torch is not None and isinstance(thing, torch.nn.Module):
        yield from _modules_with_parameters(thing)
    elif isinstance(getattr(thing, "layers", None), list):
        for i, part in enumerate(thing.layers):
            yield from _layers_with_arrays(part, f"{name}.{i}".lstrip("."))
    elif isinstance(getattr(thing, "params", None), dict):
        arrays = [(key, array, _role_of(thing, key)) for key, array in thing.params.items()]
        yield name, thing, arrays
    else:
        raise TypeError(
            "thing must be an ensedu.numpy layer or network or a torch.nn.Module, "
            f"got {checks.describe(thing)}"
        )


def _modules_with_parameters(model: Any) -> Iterator[tuple[str, Any, Arrays]]:
    containers: dict[str, Container] = {}
    for path, module in model.named_modules():
        start = f"{path}." if path else ""
        if isinstance(module, Container):
            containers[start] = module
        arrays = []
        for key, array in module.named_parameters(recurse=False):
            role = _role_of(module, key)
            for outer, container in containers.items():
                if start.startswith(outer):
                    role = container.role_inside(f"{start}{key}".removeprefix(outer), role)
            arrays.append((key, array, role))
        yield path, module, arrays


def _role_of(layer: Any, key: str) -> str:
    row = METHODS.get(getattr(type(layer), "method", ""))
    roles = row.roles if row else {}
    return roles.get(key, "biases" if "bias" in key else "shared")
