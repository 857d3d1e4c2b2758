"""One ensemble layer, done in many ways: ours, the bare products, a loop, vmap, other packages.

Each contestant is built for (m, n, M) and takes a batch with the axes that it wants, of M members
and B examples each. `tests/peers` checks that what is compared computes the same.
"""

import importlib.util
import sys
import types
from dataclasses import dataclass, field

import torch
from torch import nn
from torch.func import functional_call, stack_module_state, vmap

import ensedu.torch as et


@dataclass
class Contestant:
    """A way to do one layer: its parts as `layer`, the call as `forward`, the batch's axes."""

    layer: nn.Module
    forward: object = None
    axes: str = "MBm"  # or "BMm", "(MB)m", "Bm"
    options: dict = field(default_factory=dict)

    def batch(self, M, B, m, n, **factory):
        """Return an input that wants a gradient, and a gradient of the output."""
        shapes = {"MBm": (M, B), "BMm": (B, M), "(MB)m": (M * B,), "Bm": (B,)}
        leading = shapes[self.axes]
        x = torch.randn(*leading, m, **factory).requires_grad_()
        return x, torch.randn(*leading, n, **factory)

    def __call__(self, x):
        return (self.forward or self.layer)(x)


class Loop(nn.Module):
    """M layers, one after another."""

    def __init__(self, layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x):
        return torch.stack([layer(part) for layer, part in zip(self.layers, x, strict=True)])


class MappedLinear(nn.Module):
    """M times ``nn.Linear`` under ``torch.func.vmap``."""

    def __init__(self, m, n, M, **factory):
        super().__init__()
        layers = [nn.Linear(m, n, **factory) for _ in range(M)]
        self.one = [layers[0]]  # in a list, so that its parameters are not ours
        stacked, _ = stack_module_state(layers)
        self.stacked = nn.ParameterDict({k: v.detach() for k, v in stacked.items()})

    def forward(self, x):
        call = vmap(lambda params, x: functional_call(self.one[0], params, (x,)))
        return call(dict(self.stacked), x)


class LoopedBatchEnsemble(et.BatchEnsembleLinear):
    """BatchEnsemble, a member at a time."""

    def forward(self, x):
        members = zip(x, self.r, self.s, self.bias, strict=True)
        return torch.stack(
            [nn.functional.linear(x * r, self.weight) * s + bias for x, r, s, bias in members]
        )


class MappedBatchEnsemble(et.BatchEnsembleLinear):
    """BatchEnsemble of one member under ``torch.func.vmap``."""

    def forward(self, x):
        def member(x, r, s, bias):
            return nn.functional.linear(x * r, self.weight) * s + bias

        return vmap(member)(x, self.r, self.s, self.bias)


class KL(nn.Module):
    """A mean-field layer of ours that returns its KL too, as others do by default."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x), self.layer.kl()


def package(name):
    """Import a package's layers; of torch-uncertainty those alone, its trainer wants Lightning."""
    if name == "torch_uncertainty" and name not in sys.modules:
        alone = types.ModuleType(name)
        alone.__path__ = list(importlib.util.find_spec(name).submodule_search_locations)
        sys.modules[name] = alone
    return importlib.import_module(f"{name}.layers" if name != "tabm" else name)


def batch_ensembles(m, n, M, **factory):
    """All ways to do a BatchEnsemble's layer."""
    return {
        "ensedu": Contestant(et.BatchEnsembleLinear(m, n, M, **factory)),
        "ensedu, memory saving": Contestant(
            et.BatchEnsembleLinear(m, n, M, memory_saving=True, **factory)
        ),
        "loop": Contestant(LoopedBatchEnsemble(m, n, M, **factory)),
        "vmap": Contestant(MappedBatchEnsemble(m, n, M, **factory)),
        "tabm": Contestant(
            package("tabm").LinearBatchEnsemble(m, n, k=M, scaling_init="random-signs", **factory),
            axes="BMm",
        ),
        "torch-uncertainty": Contestant(
            package("torch_uncertainty").BatchLinear(m, n, num_estimators=M, **factory),
            axes="(MB)m",
        ),
    }


def deep_ensembles(m, n, M, **factory):
    """All ways to do a deep ensemble's layer."""
    return {
        "ensedu": Contestant(et.DeepEnsembleLinear(m, n, M, **factory)),
        "loop": Contestant(Loop([nn.Linear(m, n, **factory) for _ in range(M)])),
        "vmap": Contestant(MappedLinear(m, n, M, **factory)),
        "tabm": Contestant(package("tabm").LinearEnsemble(m, n, k=M, **factory), axes="BMm"),
    }


def rank1s(m, n, M, **factory):
    """Our rank-1 layer; no other package has one for Torch."""
    return {"ensedu": Contestant(et.Rank1Linear(m, n, M, **factory))}


def mean_fields(m, n, M, **factory):
    """All ways to do a mean-field layer; it has no members."""
    bayesian_torch = package("bayesian_torch")
    device = factory.get("device")

    def theirs(kind, return_kl):
        layer = getattr(bayesian_torch, kind)(m, n).to(device)
        return Contestant(layer, lambda x: layer(x, return_kl=return_kl), axes="Bm")

    def ours(local, with_kl):
        layer = et.BayesLinear(m, n, local_reparameterization=local, **factory)
        return Contestant(KL(layer) if with_kl else layer, axes="Bm")

    return {
        "ensedu": ours(False, False),
        "ensedu, local": ours(True, False),
        "ensedu, with KL": ours(False, True),
        "ensedu, local, with KL": ours(True, True),
        "bayesian-torch": theirs("LinearReparameterization", False),
        "bayesian-torch, Flipout": theirs("LinearFlipout", False),
        "bayesian-torch, with KL": theirs("LinearReparameterization", True),
        "bayesian-torch, Flipout, with KL": theirs("LinearFlipout", True),
        "torch-uncertainty": Contestant(
            package("torch_uncertainty").BayesLinear(m, n, **factory), axes="Bm"
        ),
        "BLiTZ": Contestant(blitz(m, n).to(device), axes="Bm"),
    }


def blitz(m, n):
    """BLiTZ's layer."""
    from blitz.modules import BayesianLinear

    return BayesianLinear(m, n)


METHODS = {
    "deep_ensemble": deep_ensembles,
    "batch_ensemble": batch_ensembles,
    "rank1": rank1s,
    "mean_field": mean_fields,
}


def limit(method, m, n, M, B, **factory):
    """Return the bare matrix products of a pass forward, and of one forward and backward.

    Members with a weight each take M products side by side, a shared weight one product over all
    members' rows.
    """
    each = method == "deep_ensemble"
    rows = (M, B) if each else (B,) if method == "mean_field" else (M * B,)
    x = torch.randn(*rows, m, **factory)
    grad = torch.randn(*rows, n, **factory)
    weight = torch.randn(*((M,) if each else ()), n, m, **factory)

    def forward():
        return x @ weight.mT

    def both():
        return x @ weight.mT, grad @ weight, grad.mT @ x

    return {"forward": forward, "forward+backward": both}
