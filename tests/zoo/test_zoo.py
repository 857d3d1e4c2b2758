"""Architectures of five libraries under each method: exact, or an error that says why not.

`make test-others` runs all of them and writes the results and the table of it anew; with
``ZOO=quick`` it runs a few and writes nothing. Either way it fails where a result is not the
committed one.
"""

import os
import re
import traceback
import warnings
from importlib.metadata import version
from pathlib import Path

import pytest
import torch
from torch import nn

import ensedu
from ensedu import counting
from ensedu.methods import size_option
from ensedu.torch import ensemble
from ensedu.torch.base import WeightLayer
from scripts import tables
from tests.torch.ensembling.law import check_pass, groups_of, held, multiplier, places
from tests.torch.ensembling.models import FAST, METHODS, M
from tests.zoo.models import BATCHES, ZOO, Entry, stir
from workshop import measured
from workshop.running import json_files
from workshop.running.machine import machine

CHOSEN = os.environ.get("ZOO", "all")
ENTRIES = [entry for entry in ZOO if CHOSEN == "all" or entry.quick]
LIBRARIES = (
    "torch", "torchvision", "timm", "transformers", "segmentation-models-pytorch", "diffusers",
)  # fmt: skip
PRODUCTS = (
    nn.Linear, nn.Bilinear, nn.modules.conv._ConvNd, nn.MultiheadAttention, nn.RNNBase,
)  # fmt: skip


@torch.no_grad()
def trial(entry, method):
    """Return what became of an architecture under a method.

    ``{"result": "exact", "parameters": …}``, with ``"given"`` where it takes that, and
    ``"in_turn"``, or the class and first words of the package's own error. Anything else fails: an
    error of another class, an output that is not its members', a wrong count.
    """
    try:
        return prove(entry, method)
    except (TypeError, ValueError) as error:
        if not named(error):
            raise
        words = f"{type(error).__name__}: {first_words(str(error))}"
    if entry.given and method in FAST:
        return prove(entry, method, **entry.given) | {"given": told(entry.given)}
    return {"result": words}


def prove(entry, method, **options):
    """Convert, and compare each member with what it is alone; return the number of parameters."""
    model = entry.model()
    if method == "deep_ensemble":
        options["initialize"] = lambda: stir(entry.build().double())
    if method == "last_layer":
        options |= {"head": entry.head, "init_std": None}
    if method == "batch_ensemble":
        options["init"] = "signs"  # of a model that looks trained
    net = ensemble(model, method, **size_option(method, M), **options).eval()
    draw_apart(net)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "members run in turn")
        for number in range(len(BATCHES)):
            check_pass(entry, net, [entry.model() for _ in places(net)], method, number)
    total = counting.count(net).total
    assert total == sum(parameter.numel() for parameter in net.parameters())
    assert total == expected_count(model, net, method, "modulated" in options)
    in_turn = {"in_turn": True} if getattr(net, "in_turn", False) else {}
    return {"result": "exact", "parameters": total} | in_turn


def draw_apart(net):
    """Move what belongs to members, and give distributions a spread that shows.

    By less than the small models of the law: through so many layers numbers would leave the floats.
    """
    if hasattr(net, "members"):
        return
    for layer in filter(lambda part: isinstance(part, WeightLayer), net.modules()):
        for name, x in layer.named_parameters():
            if name in ("r_rho", "s_rho"):
                x.uniform_(-3, -1)  # standard deviations of 0.05 to 0.3
            elif name in ("weight_rho", "bias_rho"):
                size = layer.weight_mean.std() * torch.empty_like(x).uniform_(0.1, 0.5)
                x.copy_(torch.log(torch.expm1(size)))
            elif name == "bias" or name.startswith(("r", "s")):
                x.add_(torch.randn_like(x) * 0.2)
    kept = net.state_dict()
    for name, x in net.named_buffers():
        if name in kept and x.is_floating_point():
            x.mul_(torch.empty_like(x).uniform_(0.9, 1.1))


def expected_count(model, net, method, modulated):
    """How many numbers the ensemble should hold, from the plain model's weights."""
    names, converted, products = {}, set(), set()
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names.setdefault(parameter, []).append(name)  # tied weights have their first name
    total = sum(parameter.numel() for parameter in names)
    if method == "deep_ensemble":
        return M * total
    for parameter, (first, *others) in names.items():
        path, key = multiplier(first)
        owner, size = model.get_submodule(path), parameter.numel()
        of_a_weight = "weight" in key and parameter.ndim > 1
        # The lengths of weight normalization are no product.
        if of_a_weight and isinstance(owner, PRODUCTS) and not first.endswith("original0"):
            products.add(first)
        found = [kind for name in (first, *others) for *_, kind in held(net, name)]
        if not found:
            continue
        if found[0] == "bias":
            total += size if method == "mean_field" else (M - 1) * size
            continue
        converted.add(first)
        sides = parameter.shape[0] + parameter.shape[1] * groups_of(owner, key)
        total += {
            "batch_ensemble": M * sides, "rank1": 2 * M * sides, "mean_field": size,
            "last_layer": (M - 1) * size,
        }[method]  # fmt: skip
    if method in FAST:
        assert converted > products if modulated else converted == products
    return total


def named(error):
    """Whether an error is the package's own, and says what works."""
    raised_in = Path(traceback.extract_tb(error.__traceback__)[-1].filename)
    ours = raised_in.is_relative_to(Path(ensedu.__file__).parent)
    return ours and "accepted" in str(error).lower()


def first_words(message):
    """What comes before the first list, number or condition, without the module in front."""
    return re.split(r"[:,;(\[]", re.sub(r"^\S+: ", "", message))[0].strip()


def told(given):
    """How one writes the arguments of an entry."""
    lists = {
        key: ", ".join(f'"{one}"' if isinstance(one, str) else one.__name__ for one in parts)
        for key, parts in given.items()
    }
    return ", ".join(f"{key}=[{parts}]" for key, parts in lists.items())


@pytest.fixture(scope="session")
def rows():
    """What is found, row by row; written at the end, if all of it was."""
    found = []
    yield found
    if len(found) == len(ZOO):
        write(found)


def write(rows):
    """Write the results, and the table of them. A file that says the same stays as it is."""
    # What follows a plus says for which device it was built.
    versions = {name: version(name).partition("+")[0] for name in LIBRARIES}
    old = measured.load("zoo")
    if [old["rows"], old["machine"]["versions"]] != [rows, versions]:
        found = {"machine": machine() | {"versions": versions}, "members": M, "rows": rows}
        json_files.write_json(Path(measured.__file__).parent / "results" / "zoo.json", found)
    tables.to_page("zoo", tables.zoo(measured.load("zoo")))


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_results_are_the_committed_ones(entry, rows):
    committed = {row["architecture"]: row for row in measured.load("zoo")["rows"]}
    row = {
        "architecture": entry.name,
        "parameters": sum(parameter.numel() for parameter in entry.model().parameters()),
        "methods": {method: trial(entry, method) for method in METHODS},
    }
    rows.append(row)
    assert row == committed.get(entry.name)


def test_the_table_has_a_row_for_each_architecture():
    assert CHOSEN in ("all", "quick")
    committed = measured.load("zoo")["rows"]
    assert [row["architecture"] for row in committed] == [entry.name for entry in ZOO]
    libraries = {entry.name.rpartition(" (")[2] for entry in ZOO if entry.quick}
    assert len(libraries) == len(LIBRARIES)


def mix_up(net):
    net.register_forward_hook(lambda *args: args[-1].roll(1, dims=0))


def take_another(net):
    member = net.member
    net.member = lambda i: member((i + 1) % M)


def make_alike(net):
    for layer in (net.model[0], net.model[2]):
        for parameter in (layer.r, layer.s, layer.bias):
            parameter.copy_(parameter[:1].expand_as(parameter))


@torch.no_grad()
@pytest.mark.parametrize(
    ("spoil", "words"),
    [(mix_up, "not close"), (take_another, "0.weight: .*not close"), (make_alike, "are alike")],
)
def test_the_comparison_passes_a_right_ensemble_and_no_other(spoil, words):
    entry = Entry(
        "small", lambda: nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 2)), "2",
        lambda B: {"input": torch.randn(B, 5).double()},
    )  # fmt: skip
    net = ensemble(entry.model(), "batch_ensemble", M, init="signs")
    draw_apart(net)
    alones = [entry.model() for _ in range(M)]
    check_pass(entry, net, alones, "batch_ensemble")
    spoil(net)
    with pytest.raises(AssertionError, match=words):
        check_pass(entry, net, alones, "batch_ensemble")


def test_only_an_error_of_the_package_that_says_what_works_is_a_result():
    with pytest.raises(ValueError, match="no weight to convert") as caught:
        ensemble(nn.ReLU(), "batch_ensemble", M)
    assert named(caught.value)
    with pytest.raises(ValueError, match="accepted") as caught:
        raise ValueError("accepted is nothing")
    assert not named(caught.value)
