"""One ensemble layer, done in many ways: ours, those of other packages, and the limit.

Each contestant is built for (m, n, M) and takes a batch with the axes that it wants, of M members
and B examples each. The limit is what no layer can beat by much: M calls of ``nn.Linear`` for
members with weights of their own, one over M B rows for a shared weight, one over B rows for
mean-field, which has no members. `tests/peers` checks that what is compared computes the same.
"""

import contextlib
import importlib
import importlib.util
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import nn

import ensedu.torch as et
from benchmarks import measure
from ensedu.torch import products

#: What is timed. A first layer is one whose input wants no gradient.
KINDS = ("forward", "forward+backward", "first layer", "step")


@dataclass
class Implementation:
    """A way to do one layer: its parts as `layer`, what calls it, and the axes of a batch."""

    layer: nn.Module
    axes: str = "MBm"  # or "BMm", "(MB)m", "Bm", "Bm each"
    call: Callable | None = None

    def __call__(self, *inputs):
        """Return the outputs as a tuple."""
        y = (self.layer if self.call is None else self.call)(*inputs)
        return tuple(y) if isinstance(y, (tuple, list)) else (y,)

    def batch(self, M, B, m, n, **factory):
        """Return inputs that want gradients, and gradients of the outputs."""
        leading = {"MBm": (M, B), "BMm": (B, M), "(MB)m": (M * B,)}.get(self.axes, (B,))
        number = M if self.axes == "Bm each" else 1
        inputs = [torch.randn(*leading, m, **factory).requires_grad_() for _ in range(number)]
        return inputs, [torch.randn(*leading, n, **factory) for _ in range(number)]

    def forget(self, inputs):
        """Drop all gradients, so that the next ones are fresh."""
        for tensor in (*inputs, *self.layer.parameters()):
            tensor.grad = None

    def passes(self, inputs, slopes):
        """Return what is timed, by `KINDS`: functions without arguments."""
        parameters = list(self.layer.parameters())
        optimizer = torch.optim.Adam(parameters, lr=1e-6, fused=True)
        first = [x.detach() for x in inputs]

        def forward():
            with torch.no_grad():
                self(*inputs)

        def backward(inputs):
            for tensor in (*inputs, *parameters):
                tensor.grad = None
            outputs = self(*inputs)
            # A KL beside the output is added to the loss as it is.
            more = [torch.ones_like(y) for y in outputs[len(slopes) :]]
            torch.autograd.backward(outputs, [*slopes, *more])

        def step():
            optimizer.zero_grad(set_to_none=True)
            backward(inputs)
            optimizer.step()

        runs = forward, lambda: backward(inputs), lambda: backward(first), step
        return dict(zip(KINDS, runs, strict=True))


class InTurn(nn.Module):
    """M times ``nn.Linear``, one after another, each with an input of its own."""

    def __init__(self, m, n, M, **factory):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(m, n, **factory) for _ in range(M))

    def forward(self, *inputs):
        return [layer(x) for layer, x in zip(self.layers, inputs, strict=True)]


class KL(nn.Module):
    """A mean-field layer of ours that returns its KL too, as others do by default."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x), self.layer.kl()


def package(name):
    """Import a package's layers; return None where it is not installed.

    Of torch-uncertainty the layers alone, as its trainer wants Lightning.
    """
    found = importlib.util.find_spec(name) if name not in sys.modules else True
    if found is None:
        return None
    if name == "torch_uncertainty" and name not in sys.modules:
        alone = types.ModuleType(name)
        alone.__path__ = list(found.submodule_search_locations)
        sys.modules[name] = alone
    layers = {"tabm": "tabm", "blitz": "blitz.modules"}.get(name, f"{name}.layers")
    try:
        return importlib.import_module(layers)
    except ImportError:  # of what it needs in turn
        return None


def missing():
    """Return the packages that cannot take part."""
    names = ("tabm", "torch_uncertainty", "bayesian_torch", "blitz")
    return [name for name in names if package(name) is None]


def deep_ensembles(m, n, M, **factory):
    """All ways to do a deep ensemble's layer."""
    built = {
        "limit": Implementation(InTurn(m, n, M, **factory), axes="Bm each"),
        "ensedu": Implementation(et.DeepEnsembleLinear(m, n, M, **factory)),
    }
    if tabm := package("tabm"):
        built["tabm"] = Implementation(tabm.LinearEnsemble(m, n, k=M, **factory), axes="BMm")
    return built


def batch_ensembles(m, n, M, **factory):
    """All ways to do a BatchEnsemble's layer."""
    saving = et.BatchEnsembleLinear(m, n, M, memory_saving=True, **factory)
    built = {
        "limit": Implementation(nn.Linear(m, n, **factory), axes="(MB)m"),
        "ensedu": Implementation(et.BatchEnsembleLinear(m, n, M, **factory)),
        "ensedu, memory saving": Implementation(saving),
    }
    if tabm := package("tabm"):
        layer = tabm.LinearBatchEnsemble(m, n, k=M, scaling_init="random-signs", **factory)
        built["tabm"] = Implementation(layer, axes="BMm")
    if uncertainty := package("torch_uncertainty"):
        layer = uncertainty.BatchLinear(m, n, num_estimators=M, **factory)
        built["torch-uncertainty"] = Implementation(layer, axes="(MB)m")
    return built


def rank1s(m, n, M, **factory):
    """Our rank-1 layer; no other package has one for Torch."""
    return {
        "limit": Implementation(nn.Linear(m, n, **factory), axes="(MB)m"),
        "ensedu": Implementation(et.Rank1Linear(m, n, M, **factory)),
    }


def mean_fields(m, n, M, **factory):
    """All ways to do a mean-field layer; it has no members."""
    built = {"limit": nn.Linear(m, n, **factory)}
    for estimator, name in (("weights", "ensedu"), ("local", "ensedu, local")):
        for end in ("", ", with KL"):
            layer = et.MeanFieldLinear(m, n, estimator=estimator, **factory)
            built[name + end] = KL(layer) if end else layer
    if uncertainty := package("torch_uncertainty"):
        built["torch-uncertainty"] = uncertainty.BayesLinear(m, n, **factory)
    if blitz := package("blitz"):
        built["BLiTZ"] = blitz.BayesianLinear(m, n).to(**factory)
    built = {name: Implementation(layer, axes="Bm") for name, layer in built.items()}
    if theirs := package("bayesian_torch"):
        for kind, name in (
            ("LinearReparameterization", "bayesian-torch"),
            ("LinearFlipout", "bayesian-torch, Flipout"),
        ):
            for end in ("", ", with KL"):
                layer = getattr(theirs, kind)(m, n).to(**factory)
                call = partial(layer, return_kl=bool(end))
                built[name + end] = Implementation(layer, axes="Bm", call=call)
    return built


METHODS = {
    "deep_ensemble": deep_ensembles,
    "batch_ensemble": batch_ensembles,
    "rank1": rank1s,
    "mean_field": mean_fields,
}


@contextlib.contextmanager
def rule(chooses):
    """Let BatchEnsemble and rank-1 layers fold where a function of the shapes says so."""
    known = products.fold_pays
    products.fold_pays = chooses
    try:
        yield
    finally:
        products.fold_pays = known


def form_of(run):
    """Return the form that the shapes choose for a layer while `run` runs."""
    known, found = products.fold_pays, []
    with rule(lambda *a, **options: found.append(known(*a, **options)) or found[-1]):
        run()
    return "fold" if found[-1] else "scale"


def both_forms(m, n, M, B, *, seconds, device, **factory):
    """Time a BatchEnsemble's pass forward and backward in its two forms, and say which runs."""
    factory |= {"device": device}
    one = Implementation(et.BatchEnsembleLinear(m, n, M, **factory))
    run = one.passes(*one.batch(M, B, m, n, **factory))["forward+backward"]

    def within(folds):
        with rule(lambda *sizes, **options: folds):
            run()

    runs = {"scale": partial(within, False), "fold": partial(within, True)}
    times = measure.compare(runs, "scale", seconds=seconds, device=device)
    return {"chosen": form_of(run), "fold over scale": times["fold"]["ratio"]}
