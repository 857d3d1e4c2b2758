"""One architecture under one method: exact, or the error that says why not."""

import re
from typing import Any

import torch
from torch import nn

from ensedu import counting
from ensedu.methods import METHODS, size_option
from ensedu.torch import ensemble
from tests.zoo import oracle
from tests.zoo.models import Entry
from tests.zoo.oracle import named

M = 3
#: The second size meets an ensemble that has run already.
BATCHES = (2, 1)
CLOSE = 1e-10
#: Members that differ by less would show no mix-up.
APART = 1e-3
KEYS = ("deep_ensemble", "batch_ensemble", "rank1", "mean_field", "mc_dropout", "last_layer")


@torch.no_grad()
def trial(entry: Entry, method: str) -> dict[str, Any]:
    """Return what became of `entry` under `method`.

    ``{"result": "exact", "parameters": …}``, with ``"shared"`` where it takes that, or the class
    and first words of the package's own error. Anything else fails: an error of another class, an
    output that is not its members', a wrong count.
    """
    try:
        return {"result": "exact", "parameters": prove(entry, method)}
    except (AttributeError, TypeError, ValueError) as error:
        if not named(error):
            raise
        words = f"{type(error).__name__}: {first_words(str(error))}"
    prove_refusal(entry, method)
    if entry.shared and method != "last_layer" and "no dropout" not in words:
        parameters = prove(entry, method, shared=entry.shared)
        return {
            "result": "exact",
            "shared": list(map(told, entry.shared)),
            "parameters": parameters,
        }
    return {"result": words}


def make(entry: Entry) -> nn.Module:
    """The plain model."""
    return entry.build().double().eval()


def prove(entry: Entry, method: str, *, batches: tuple[int, ...] = BATCHES, **options: Any) -> int:
    """Convert, and compare each member with a plain copy; return the number of parameters."""
    torch.manual_seed(0)
    model = make(entry)
    oracle.stir(model)
    if method == "deep_ensemble":
        options["initialize"] = lambda: make(entry)
    if method == "last_layer":
        options["head"] = entry.head
    net = ensemble(model, method, **size_option(method, M), **options)
    if method == "deep_ensemble":
        for part in net.members:
            oracle.stir(part)
    else:
        oracle.draw_apart(net)
    compare(model, net, [entry.inputs(B) for B in batches], draws=METHODS[method].stochastic)
    total = counting.count(net).total
    assert total == sum(parameter.numel() for parameter in net.parameters())
    assert total == expected_count(model, net, method)
    return total


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


def expected_count(model: nn.Module, net: nn.Module, method: str) -> int:
    """How many numbers the ensemble should hold, from the plain model's layers."""
    one = sum(parameter.numel() for parameter in model.parameters())
    if method == "deep_ensemble":
        return M * one
    total = one
    for path in oracle.layers(net):
        layer = model.get_submodule(path)
        linear = isinstance(layer, nn.Linear)
        m = layer.in_features if linear else layer.in_channels
        n = layer.out_features if linear else layer.out_channels
        biases = 0 if layer.bias is None else n
        total += {
            "batch_ensemble": M * (m + n) + (M - 1) * biases,
            "rank1": 2 * M * (m + n) + (M - 1) * biases,
            "mean_field": layer.weight.numel() + biases,
            "last_layer": (M - 1) * (layer.weight.numel() + biases),
        }[method]
    return total


def prove_refusal(entry: Entry, method: str) -> None:
    """A batch of another size, on a new ensemble, may be exact or refused, but never wrong."""
    try:
        prove(entry, method, batches=BATCHES[::-1])
    except (AttributeError, TypeError, ValueError) as error:
        if not named(error):
            raise


def first_words(message: str) -> str:
    """What comes before the first list, number or condition, without the module in front."""
    return re.split(r"[:,;(\[]", re.sub(r"^\S+: ", "", message))[0].strip()


def told(shared: str | type) -> str:
    """How one writes a member of `shared`."""
    if isinstance(shared, str):
        return f'"{shared}"'
    return f"nn.{shared.__name__}" if hasattr(nn, shared.__name__) else shared.__name__
