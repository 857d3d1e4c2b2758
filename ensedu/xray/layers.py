"""The layers of a model as the X-ray shows them, read off the arrays that each method makes."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import prod
from typing import Any

from ensedu import counting
from ensedu.counting import Count
from ensedu.methods import METHODS, ROLES, size_option

__all__ = ["Layer", "Matrix", "Reading", "read_model", "read_sizes"]

#: The method whose arrays tell how long r and s are.
MODULATED = next(key for key, row in METHODS.items() if row.modulated and not row.has_stds)
#: The method whose members are copies of the model.
APART = next(key for key, row in METHODS.items() if row.shares_nothing)


@dataclass(frozen=True)
class Matrix:
    """A weight that inputs are multiplied with, and the bias that goes with it.

    Attributes
    ----------
    name
        Name of the parameter in the model.
    inputs, outputs
        Lengths m of r and n of s.
    numbers
        Entries of the weight: m n, times those of a kernel, divided by the groups.
    biases
        n, or 0 without.
    kernel
        Sizes behind inputs and outputs, ``(3, 3)``.
    frozen
        Whether the weight is held fixed, and whether the bias is.
    """

    name: str
    inputs: int
    outputs: int
    numbers: int
    biases: int
    kernel: tuple[int, ...] = ()
    frozen: tuple[bool, bool] = (False, False)


@dataclass(frozen=True)
class Layer:
    """A module with parameters of its own.

    Attributes
    ----------
    name, kind
        Its path in the model, and the name of its class.
    matrices
        The weights that members scale, or have as distributions.
    shared, biases
        Other numbers: one copy for all members, but in a deep ensemble.
    kept
        How many weights and how many biases have one copy in a deep ensemble, too.
    frozen
        How many of `shared` and `biases` are held fixed.
    itemsize
        Bytes of a number.
    head
        Whether it is the layer that each member of a last-layer ensemble has.
    table
        Of an embedding its table, a row a word; its numbers are among `shared`.
    """

    name: str
    kind: str
    matrices: tuple[Matrix, ...] = ()
    shared: int = 0
    biases: int = 0
    kept: tuple[int, int] = (0, 0)
    frozen: int = 0
    itemsize: int = 4
    head: bool = False
    table: Matrix | None = None


@dataclass(frozen=True)
class Reading:
    """What an X-ray knows of a model: its layers, each method's count, and refusals by method."""

    layers: tuple[Layer, ...]
    counts: dict[str, Count]
    refused: dict[str, str] = field(default_factory=dict)


def read_sizes(sizes: Sequence[int], ensemble_size: int) -> Reading:
    """Read a multilayer perceptron of given sizes, by formula."""
    counts = {
        method: counting.mlp(sizes, method, **size_option(method, ensemble_size))
        for method in METHODS
    }
    layers = tuple(
        Layer(str(i), "Linear", (Matrix(f"{i}.weight", m, n, m * n, n),), head=i == len(sizes) - 2)
        for i, (m, n) in enumerate(pairwise(sizes))
    )
    return Reading(layers, counts)


def read_model(
    model: Any,
    ensemble_size: int,
    *,
    head: str | None = None,
    shared: Sequence[Any] = (),
    modulated: Sequence[Any] = (),
) -> Reading:
    """Read a ``torch.nn.Module``, as `ensedu.torch.ensemble` converts it by each method.

    Without a `head` it is the last ``nn.Linear`` or ``nn.Conv2d``. A method that refuses the model
    has its reason in ``refused``, and no count; but names that the model does not have are errors.
    """
    from ensedu.torch.ensembling.conversions import convert, try_conversion
    from ensedu.torch.ensembling.model_copies import meta_copy
    from ensedu.torch.ensembling.parameter_plan import select_names

    shell = meta_copy(model)
    for argument, names in (("shared", shared), ("modulated", modulated)):
        select_names(shell, names, argument)
    if head is None:
        head = _last_product(shell)
    else:
        convert(shell, "last_layer", 1, head=head)
    named = {"head": head, "shared": shared, "modulated": modulated}
    tried = {
        method: try_conversion(method, shell, (1, 2) if row.has_members else (1,), **named)
        for method, row in METHODS.items()
    }
    made = {method: one for method, one in tried.items() if one.refused is None}
    counts = {
        method: Count(**{key: one.numbers_at(ensemble_size)[key] for key in (*ROLES, "frozen")})
        for method, one in made.items()
    }
    if MODULATED in made:
        layers = _modulated_layers(made[MODULATED].nets[1], shell)
    else:
        layers = _plain_layers(shell)
    kept = _kept_in_copies(counting.count(made[APART].nets[2])) if APART in made else {}
    for layer in layers.values():
        layer["head"] = "last_layer" in made and layer["name"] == head
        layer["kept"] = kept.get(layer["name"], (0, 0))
    refused = {method: str(one.refused) for method, one in tried.items() if method not in made}
    modules = enumerate(shell.named_modules(remove_duplicate=False))
    order = {name: at for at, (name, _) in modules}
    found = sorted(layers.values(), key=lambda layer: order[layer["name"]])
    return Reading(tuple(Layer(**layer) for layer in found), counts, refused)


def _last_product(model: Any) -> str | None:
    nn = sys.modules["torch"].nn
    names = [name for name, part in model.named_modules() if type(part) in (nn.Linear, nn.Conv2d)]
    return names[-1] if names else None


def _parts(count: Count) -> list[tuple[str, Count]]:
    """Return path and count of each module with parameters."""
    layers = count.layers or ((count,) if count.total else ())
    return [(layer.name.rpartition(" ")[0], layer) for layer in layers]


def _kept_in_copies(two: Count) -> dict[str, tuple[int, int]]:
    """Return by path how many weights and biases the second of two members does not have again."""
    first: dict[str, Count] = {}
    second: dict[str, Count] = {}
    for path, count in _parts(two):
        _, number, name = f"{path}.".split(".", 2)
        (first if number == "0" else second)[name.rstrip(".")] = count
    return {
        name: (
            count.weights - second.get(name, Count()).weights,
            count.biases - second.get(name, Count()).biases,
        )
        for name, count in first.items()
    }


def _plain_layers(shell: Any) -> dict[str, dict[str, Any]]:
    layers: dict[str, dict[str, Any]] = {}
    for path, count in _parts(counting.count(shell)):
        _add_plain(_layer_at(path, shell, layers), count)
    return layers


def _modulated_layers(net: Any, shell: Any) -> dict[str, dict[str, Any]]:
    layers: dict[str, dict[str, Any]] = {}
    own = dict(shell.named_modules())
    for full, count in _parts(counting.count(net)):
        path = full.removeprefix("model").lstrip(".")
        part = net.get_submodule(full)
        if getattr(part, "method", "") != MODULATED:
            _add_plain(_layer_at(path, shell, layers), count)
            continue
        name = f"{path}.weight".lstrip(".") if path in own else path
        layer = _layer_at(path if path in own else path.rpartition(".")[0], shell, layers)
        arrays = {key: tuple(value.shape) for key, value in part.named_parameters(recurse=False)}
        bias = part.bias if "bias" in arrays else None
        layer["matrices"] += (
            Matrix(
                name, arrays["r"][-1], arrays["s"][-1], prod(arrays["weight"]),
                bias.shape[-1] if bias is not None else 0, arrays["weight"][2:],
                (not part.weight.requires_grad, bias is not None and not bias.requires_grad),
            ),
        )  # fmt: skip
    return layers


def _layer_at(path: str, shell: Any, layers: dict[str, dict[str, Any]]) -> dict[str, Any]:
    if path not in layers:
        module = shell.get_submodule(path)
        itemsize = next(module.parameters()).element_size()
        layers[path] = {
            "name": path, "kind": _kind(module), "matrices": (), "shared": 0, "biases": 0,
            "frozen": 0, "itemsize": itemsize, "table": _table(path, module),
        }  # fmt: skip
    return layers[path]


def _kind(module: Any) -> str:
    """Return the name of a module's class, or of the public one that Torch derives it from."""
    nn = sys.modules["torch"].nn
    return next(
        one.__name__
        for one in type(module).__mro__
        if not one.__module__.startswith("torch.nn.") or hasattr(nn, one.__name__)
    )


def _table(path: str, module: Any) -> Matrix | None:
    nn = sys.modules["torch"].nn
    if not isinstance(module, (nn.Embedding, nn.EmbeddingBag)):
        return None
    rows, columns = module.weight.shape
    name = f"{path}.weight".lstrip(".")
    return Matrix(
        name, rows, columns, rows * columns, 0, (), (not module.weight.requires_grad,) * 2
    )


def _add_plain(layer: dict[str, Any], count: Count) -> None:
    layer["shared"] += count.shared
    layer["biases"] += count.biases
    layer["frozen"] += count.frozen
