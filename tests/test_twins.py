"""One face in NumPy and Torch: names, arguments, defaults, and where layers start."""

import inspect

import numpy as np
import pytest
import torch

import ensedu.numpy as en
import ensedu.torch as et
from ensedu.methods import METHODS
from ensedu.priors import DROPOUT_STD, Cauchy, Normal
from tests.backends import M, m, n


def public(function):
    """The names and the defaults of a function's arguments, but for what one backend alone has."""
    skipped = ("self", "rng", "device", "dtype", "memory_saving", "estimator")
    return {
        name: parameter.default
        for name, parameter in inspect.signature(function).parameters.items()
        if name not in skipped
    }


# A Sequential takes layers, and Torch's own signature says "args"; `fit` does more in Torch.
TWINS = sorted({*en.__all__} & {*et.__all__} - {"Sequential", "fit"})
#: Their signatures are Torch's own.
TORCHS = {"AvgPool2d", "Conv2d", "MaxPool2d"}


@pytest.mark.parametrize("name", TWINS)
def test_twins_have_the_same_arguments_and_defaults(name):
    ours, theirs = public(getattr(en, name)), public(getattr(et, name))
    if name in TORCHS:
        assert ours.items() <= theirs.items()
        return
    if name.endswith("Conv2d"):
        del theirs["geometry"]
        geometry = inspect.signature(et.conv.ConvLayer).parameters
        for key in ("stride", "padding"):
            assert ours.pop(key) == geometry[key].default
    assert ours == theirs


def test_what_fit_takes_in_numpy_it_takes_in_torch():
    ours, theirs = public(en.fit), public(et.fit)
    assert [name for name in theirs if name in ours] == list(ours)
    for optimizer, fit in ((en.Adam, ours), (torch.optim.AdamW, theirs)):
        assert fit.pop("optimizer") is optimizer
    for name in ("y", "nll", "batch_size"):  # a stream leaves them out
        del ours[name]
    assert ours.items() <= theirs.items()


def test_there_are_twins_for_every_method():
    assert {f"{row.layer}Linear" for row in METHODS.values()} - {"Linear"} <= {*TWINS}
    assert {"MCDropout", "Tile", "Multiply", "kl", "mlp"} <= {*TWINS}


# Of both backends, layers and convolutions.
DEFAULTS = {
    "Rank1": {
        "prior": Normal(1.0, 0.1),
        "init": "normal",
        "init_std": 0.1,
        "posterior_std": DROPOUT_STD,
        "per_example": False,
    },
    "MeanField": {"prior": Normal(0.0, 1.0), "posterior_std": 0.01},
    "BatchEnsemble": {"init": "signs", "init_std": 0.5},
    "DeepEnsemble": {},
}
CASES = [
    (getattr(package, name + kind), DEFAULTS[name] | {"bias": True})
    for name in DEFAULTS
    for package, kind in ((en, "Linear"), (et, "Linear"), (et, "Conv2d"))
]
CASES += [
    (package.MCDropout, {"p": 0.1, "per_example": False, "feature_axes": 1}) for package in (en, et)
]
CASES += [(prior, {"loc": 0.0, "scale": 1.0}) for prior in (Normal, Cauchy)]


@pytest.mark.parametrize(("kind", "expected"), CASES)
def test_defaults_of_a_layer_and_a_prior(kind, expected):
    found = inspect.signature(kind).parameters
    assert {name: found[name].default for name in expected} == expected
    left = {
        name
        for name, parameter in found.items()
        if parameter.default not in (parameter.empty, None)
    }
    assert left - {"estimator", "memory_saving"} == set(expected)


@pytest.mark.parametrize("kind", ["Rank1", "MeanField"])
@pytest.mark.parametrize("std", [None, 0.3])
def test_a_layer_starts_at_its_standard_deviation(kind, std):
    given = {} if std is None else {"posterior_std": std}
    members = (M,) if kind == "Rank1" else ()
    linear, images = f"{kind}Linear", f"{kind}Conv2d"
    layer = getattr(en, linear)(m, n, *members, rng=np.random.default_rng(0), **given)
    arrays, torchs = [*layer.params.items()], {"dtype": torch.float64, **given}
    for module in (
        getattr(et, linear)(m, n, *members, **torchs),
        getattr(et, images)(m, n, 2, *members, **torchs),
    ):
        arrays += [(key, value.detach().numpy()) for key, value in module.named_parameters()]
    found = [value for key, value in arrays if key.endswith("rho")]
    assert len(found) == 6
    for rho in found:
        expected = std or DEFAULTS[kind]["posterior_std"]
        np.testing.assert_allclose(np.log1p(np.exp(rho)), expected, rtol=1e-12)
