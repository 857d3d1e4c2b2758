"""One architecture under one method: exact, or the error that says why not."""

import re
import warnings
from typing import Any

import torch
from torch import nn

from ensedu import counting
from ensedu.methods import METHODS, size_option
from ensedu.torch import ensemble
from tests.zoo import oracle
from tests.zoo.models import Entry

M = 3
#: The second size meets an ensemble that has run already.
BATCHES = (2, 1)
CLOSE = 1e-10
#: Members that differ by less would show no mix-up.
APART = 1e-3
SCALED = ("batch_ensemble", "rank1", "mean_field")
KEYS = ("deep_ensemble", *SCALED, "mc_dropout", "last_layer")
PRODUCTS = (
    nn.Linear, nn.Bilinear, nn.modules.conv._ConvNd, nn.MultiheadAttention, nn.RNNBase,
)  # fmt: skip


@torch.no_grad()
def trial(entry: Entry, method: str) -> dict[str, Any]:
    """Return what became of `entry` under `method`.

    ``{"result": "exact", "parameters": …}``, with ``"given"`` where it takes that, and
    ``"in_turn"``, or the class and first words of the package's own error. Anything else fails: an
    error of another class, an output that is not its members', a wrong count.
    """
    try:
        return prove(entry, method)
    except (TypeError, ValueError) as error:
        if not oracle.named(error):
            raise
        words = f"{type(error).__name__}: {first_words(str(error))}"
    if entry.given and method in SCALED:
        return prove(entry, method, **entry.given) | {"given": told(entry.given)}
    return {"result": words}


def make(entry: Entry) -> nn.Module:
    """The plain model."""
    return entry.build().double().eval()


def prove(entry: Entry, method: str, **options: Any) -> dict[str, Any]:
    """Convert, and compare each member with a plain copy; return the number of parameters."""
    torch.manual_seed(0)
    model = make(entry)
    oracle.stir(model)
    if method == "deep_ensemble":
        options["initialize"] = lambda: make(entry)
    if method == "last_layer":
        options |= {"head": entry.head, "init_std": None}
    if method == "batch_ensemble":
        options["init"] = "signs"  # of a model that `stir` makes look trained
    net = ensemble(model, method, **size_option(method, M), **options)
    oracle.draw_apart(net)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "members run in turn")
        compare(model, net, [entry.inputs(B) for B in BATCHES], draws=METHODS[method].stochastic)
    total = counting.count(net).total
    assert total == sum(parameter.numel() for parameter in net.parameters())
    assert total == expected_count(model, net, method, "modulated" in options)
    in_turn = {"in_turn": True} if getattr(net, "in_turn", False) else {}
    return {"result": "exact", "parameters": total} | in_turn


def compare(
    model: nn.Module, net: nn.Module, batches: list[dict[str, Any]], *, draws: bool
) -> None:
    """Compare forward passes with those of plain copies, and with the ensemble's own members."""
    given = {"noise": net.noise(torch.Generator().manual_seed(1), **batches[0])} if draws else {}
    plain = [oracle.plain(model, net, i, given.get("noise", {})) for i in range(M)]
    members = [net.member(i, **given) for i in range(M)]
    for inputs in batches:
        together = list(oracle.tensors(net(**inputs, **given)))
        alone, own = (
            [list(oracle.tensors(part(**inputs))) for part in parts] for parts in (plain, members)
        )
        assert len(together) == len(alone[0]) > 0
        for k, y in enumerate(together):
            assert y.shape == (M, *alone[0][k].shape)
            for i in range(M):
                assert oracle.off(y[i], alone[i][k]) <= CLOSE, f"output {k} of member {i}"
                assert oracle.off(own[i][k], alone[i][k]) <= CLOSE, f"output {k} of net.member({i})"
        for one, other in ((0, 1), (1, 2), (2, 0)):
            assert max(map(oracle.off, alone[one], alone[other])) > APART, "members are alike"


def expected_count(model: nn.Module, net: nn.Module, method: str, modulated: bool) -> int:
    """How many numbers the ensemble should hold, from the plain model's weights."""
    parameters = dict(model.named_parameters(remove_duplicate=False))
    total = sum(parameter.numel() for parameter in model.parameters())
    if method == "deep_ensemble":
        return M * total
    scaled = [oracle.targets(model, path) for path in oracle.holders(net)]
    if method in SCALED:
        # Tied weights have their first name.
        names = [
            name
            for name, parameter in model.named_parameters()
            if isinstance(oracle.targets(model, name)[2], PRODUCTS)
            and "weight" in name
            and parameter.ndim > 1
            and not name.endswith("original0")  # the lengths of weight normalization
        ]
        found = {name for name, _, _ in scaled}
        assert found > set(names) if modulated else found == set(names)
    for name, bias, module in scaled:
        weight, biases = parameters[name], parameters[bias].numel() if bias in parameters else 0
        sides = weight.shape[0] + weight.shape[1] * oracle.groups_of(weight, module)
        total += {
            "batch_ensemble": M * sides + (M - 1) * biases,
            "rank1": 2 * M * sides + (M - 1) * biases,
            "mean_field": weight.numel() + biases,
            "last_layer": (M - 1) * (weight.numel() + biases),
        }[method]
    return total


def first_words(message: str) -> str:
    """What comes before the first list, number or condition, without the module in front."""
    return re.split(r"[:,;(\[]", re.sub(r"^\S+: ", "", message))[0].strip()


def told(given: dict[str, tuple[str | type, ...]]) -> str:
    """How one writes the arguments of an entry."""
    lists = {
        key: ", ".join(f'"{one}"' if isinstance(one, str) else one.__name__ for one in parts)
        for key, parts in given.items()
    }
    return ", ".join(f"{key}=[{parts}]" for key, parts in lists.items())
