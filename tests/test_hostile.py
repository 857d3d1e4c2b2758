"""Hostile calls, made from the public signatures: each ends in a result or in a named error.

For each public callable, and each of its arguments, the others get a good value and that one gets
hostile values in turn: a quarter of them, and all in `make test-long`. A call may return, or raise
a TypeError or ValueError whose message names the argument. Nothing is drawn or trained here: that a
result is right, other tests say.
"""

import functools
import inspect
import itertools
import re
import traceback
import warnings

import numpy as np
import pandas
import pytest
import torch
from hypothesis import settings
from matplotlib.figure import Figure

import ensedu.numpy as en
import ensedu.torch as et
from ensedu import costs, counting, data, methods, plot, priors, uncertainty
from ensedu.book import measured
from ensedu.book.page import explore, live, method_table, playground
from ensedu.book.page.live import toys
from ensedu.common import training
from ensedu.data import bandit
from ensedu.theory import conjugate, ntk, perturbations, pruning
from ensedu.torch.train import losses

pytestmark = pytest.mark.bad_input

#: The methods that a reader calls; what else has no underscore is for the files next to it.
INTERFACE = (
    "forward", "backward", "noise", "weight_matrices", "kl_backward", "output_shape", "seconds",
    "truth", "sample", "split", "at_random", "validation", "original", "standardized",
)  # fmt: skip
MODULES = (
    counting, costs, methods, priors, measured, en, et, losses, uncertainty, data, plot, explore,
    playground, method_table, live, toys, conjugate, pruning, bandit, ntk, perturbations,
    training,
)  # fmt: skip
M, B, m, n = 2, 5, 3, 7


class Empty:
    """An object that can do nothing."""


def odd(make, *arguments, **options):
    """Make a tensor of a kind of which Torch itself warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make(*arguments, **options)


HOSTILE = {
    "10**400": 10**400,
    "10**5000": 10**5000,
    "-10**5000": -(10**5000),
    "-1": -1,
    "0": 0,
    "2.5": 2.5,
    "1e308": 1e308,
    "nan": float("nan"),
    "inf": float("inf"),
    "complex": 1 + 2j,
    "True": True,
    "None": None,
    "NumPy bool": np.True_,
    "NumPy complex": np.complex64(1 + 2j),
    "date": np.datetime64("2020-01-01"),
    "word": "x",
    "formula": r"$\frac$",
    "no such device": "cuda:99",
    "long word": "x" * 1_000,
    "bytes": b"12",
    "bytearray": bytearray(b"12"),
    "memory": memoryview(b"12"),
    "array": np.ones(2),
    "one number": np.ones(1),
    "integers": np.ones(2, int),
    "row": np.ones((1, 3)),
    "no axis": np.array(2.5),
    "matrix": np.ones((5, 3)).view(np.matrix),
    "masked": np.ma.masked_array(np.ones((5, 3)), np.eye(5, 3)),
    "objects": np.array([[1.0], [1.0, 2.0]], dtype=object),
    "words": np.array(["a", "b"]),
    "float32": np.ones((5, 3), np.float32),
    "tensor": torch.ones(2),
    "tensor of one": torch.ones(1, dtype=torch.int64),
    "tensor of bool": torch.tensor(True),
    "tensor of integer": torch.tensor(2),
    "tensor without data": torch.ones((), device="meta"),
    "integer without data": torch.ones((), dtype=torch.int64, device="meta"),
    "double": torch.ones(5, 3, dtype=torch.float64),
    "meta batch": torch.ones(5, 3, device="meta"),
    "complex tensor": torch.ones(5, 3, dtype=torch.complex64),
    "sparse": torch.eye(5, 3).to_sparse(),
    "nested tensor": odd(torch.nested.nested_tensor, [torch.ones(2), torch.ones(3)]),
    "jagged tensor": odd(
        torch.nested.nested_tensor, [torch.ones(2, 3), torch.ones(3, 3)], layout=torch.jagged
    ),
    "quantized": odd(torch.quantize_per_tensor, torch.ones(5, 3), 0.1, 0, torch.qint8),
    "list": [],
    "list of none": [None],
    "nested": [[1.0], [1.0, 2.0]],
    "negative sizes": (-1, 3),
    "one size": (3,),
    "words in a tuple": ("a", "b"),
    "dict": {},
    "dict of numbers": {1: 2, "a": 3},
    "set": {1, 2},
    "class": int,
    "array class": np.ndarray,
    "module class": torch.nn.Linear,
    "function": lambda: 3,
    "module": np,
    "object": Empty(),
    "noise of words": {"r": "x", "s": np.ndarray},
    "noise of lists": {"weight": [[1.0], [1.0, 2.0]], "bias": 3},
    "noise of a matrix": {"r": np.ones((2, 3)).view(np.matrix), "s": np.ones((2, 7))},
    "mask of numbers": {"mask": np.ones((1, 3))},
    "mask": {"mask": np.ones((1, 3), bool)},
    "mask of Torch": {"mask": torch.ones(1, 3, dtype=torch.bool)},
    "names to numbers": {"single": 3, "rank1": 10**400},
    "names to words": {"single": "ab", "k": "x"},
    "names to lists": {"single": [[1, 2]], "k": [1]},
    "names to sequences": {"single": [1, 10**400], "k": np.ones(2)},
    "names to a large count": {"single": counting.Count(shared=10**400)},
    "formula to a count": {r"$\frac$": counting.Count(1)},
    "passes": {"single": [], "k": 10**400},
    "passes of none": {"single": [None]},
    "pass too short": {"single": [("a", 1.0)]},
    "pass of words": {"single": [("a", "b", "c")]},
}
#: Neighbors above are much alike: daily an argument gets every fourth, the next ones the others.
STEP = 1 if settings().max_examples >= 1000 else 4


def rng():
    return np.random.default_rng(0)


def draw(**values):
    return Figure()


class Model(torch.nn.Sequential):
    def __init__(self):
        super().__init__(torch.nn.Linear(m, n), torch.nn.ReLU(), torch.nn.Linear(n, 2))


def numbers(*shape):
    return torch.ones(shape, dtype=torch.float64)


def double_net():
    return et.BatchEnsembleLinear(m, 2, M, dtype=torch.float64)


def embedded_net():
    return ntk.embedded([m, n, 1], M, rng=rng())


#: A good value of each argument, by its name; called, so that no call sees another's.
GOOD = {
    "activation": lambda: "relu",
    "alt": lambda: "k is {k}",
    "adversarial": lambda: 0.01,
    "anneal": lambda: 2,
    "annotate": lambda: True,
    "arrays": lambda: (methods.Array("weight", "m n", "shared"),),
    "backward": lambda: True,
    "autocast": lambda: None,
    "bar": lambda: False,
    "beliefs": lambda: {"a": plot.Belief("rank1", np.ones(4), np.ones(4), np.ones((M, 4)))},
    "batch_size": lambda: B,
    "beta": lambda: 0.5,
    "betas": lambda: (0.9, 0.999),
    "bias": lambda: True,
    "biases": lambda: 1,
    "body": lambda: "",
    "bytes_per_second": lambda: 1e9,
    "callback": lambda: None,
    "caption": lambda: "words",
    "checkpoint": lambda: None,
    "clip": lambda: None,
    "colors": lambda: {},
    "counts": lambda: {"single": counting.linear(m, n)},
    "counts_title": lambda: "numbers",
    "device": lambda: "cpu",
    "differences": lambda: {"NLL": {"a": (1.0, 2.0, 3.0)}},
    "draw": lambda: draw,
    "drop_last": lambda: True,
    "dtype": lambda: torch.float32,
    "ensemble_size": lambda: M,
    "epochs": lambda: 1,
    "eps": lambda: 1e-8,
    "every": lambda: 2,
    "example": lambda: None,
    "estimator": lambda: "weights",
    "factor": lambda: 0.5,
    "factor_range": lambda: 2.0,
    "fast_lr": lambda: None,
    "fast_lr_factor": lambda: 1.0,
    "feature_axes": lambda: 1,
    "figure": Figure,
    "flops_per_second": lambda: 1e9,
    "folder": lambda: "runs",
    "form": lambda: "fold",
    "frozen": lambda: 1,
    "generator": torch.Generator,
    "grad": lambda: np.ones((B, n)),
    "in_channels": lambda: m,
    "in_features": lambda: m,
    "in_positions": lambda: 9,
    "init": lambda: "normal",
    "init_std": lambda: 0.1,
    "input_shape": lambda: (B, m),
    "itemsize": lambda: 4,
    "k": lambda: [1, 2],
    "kernel_size": lambda: 3,
    "key": lambda: "mine",
    "label": lambda: "my method",
    "layer": lambda: en.Linear(m, n, rng=rng()),
    "layers": lambda: 3,
    "linked": lambda: None,
    "loc": lambda: 0.0,
    "log": lambda: True,
    "log_x": lambda: True,
    "lr": lambda: 0.1,
    "marks": lambda: {"single": 1.5},
    "mean": lambda: np.ones((m, n)),
    "members": lambda: True,
    "memory_saving": lambda: False,
    "member_gradient_factor": lambda: 1.0,
    "method": lambda: "rank1",
    "model": Model,
    "module": lambda: torch.nn.Linear(m, n),
    "momentum": lambda: 0.5,
    "name": lambda: "weight",
    "net": lambda: et.ensemble(Model(), "rank1", M),
    "new_lr": lambda: False,
    "filters": lambda: (2, 3),
    "network": lambda: en.Linear(m, n, rng=rng()),
    "nll": lambda: np.ones((M, B)),
    "noise": lambda: None,
    "num_activations": lambda: 5,
    "num_examples": lambda: B,
    "num_params": lambda: 5,
    "number": lambda: 3,
    "optimizer": lambda: en.SGD,
    "other_flops": lambda: 5,
    "out_channels": lambda: n,
    "out_features": lambda: n,
    "out_positions": lambda: 9,
    "outputs": lambda: np.ones((M, B, 2)),
    "padding": lambda: 1,
    "p": lambda: 0.5,
    "parametrization": lambda: "ntk",
    "parts": lambda: {"single": {"weight": np.ones((m, n)), "bias": np.ones(n)}},
    "patience": lambda: None,
    "per_example": lambda: False,
    "per_member": lambda: 1,
    "kind": lambda: "geometric",
    "kl": en.KLWeight,
    "pi": lambda: 0.5,
    "places": lambda: 3,
    "points": lambda: {"single": [("a", 1.0, 1e9)]},
    "posterior_std": lambda: 0.1,
    "prior": priors.Normal,
    "product_flops": lambda: 5,
    "r": lambda: np.ones((M, m)),
    "reduction": lambda: "mean",
    "reference": lambda: "one",
    "relative_to": lambda: "single",
    "rng": rng,
    "rescale": lambda: "",
    "scale1": lambda: 1.0,
    "scale2": lambda: 0.1,
    "role": lambda: "shared",
    "rows": lambda: [{"k": 1}],
    "s": lambda: np.ones((M, n)),
    "samples": lambda: 2,
    "scale": lambda: 1.0,
    "scales": lambda: 1,
    "scheduler": lambda: None,
    "score": lambda: "mixture",
    "seed": lambda: 0,
    "shaded": lambda: (1.0, 2.0),
    "shape": lambda: "m n",
    "shared": lambda: 1,
    "sizes": lambda: [m, n],
    "source": lambda: "a paper",
    "split": lambda: False,
    "start": lambda: {"k": 2},
    "std": lambda: np.ones((m, n)),
    "std_range": lambda: 2.0,
    "stochastic": lambda: True,
    "stride": lambda: 2,
    "targets": lambda: np.ones((B, 2)),
    "thing": lambda: en.Linear(m, n, rng=rng()),
    "titles": lambda: ["a", "b"],
    "top": lambda: 1.0,
    "totals": lambda: {"single": [1.0, 2.0]},
    "validation": lambda: None,
    "value_range": lambda: 2.0,
    "values": lambda: {"rank1": [1.0, 2.0, 3.0]},
    "weight": lambda: np.ones((m, n)),
    "weight_decay": lambda: 0.1,
    "weights": lambda: np.ones((M, m, n)),
    "x": lambda: np.ones((B, m)),
    "xlabel": lambda: "x",
    "y": lambda: np.ones((B, 2)),
    "ylabel": lambda: "y",
}
#: Where a whole module means something else by a name.
IN_MODULE = {
    "bandit": {
        "eaten": lambda: np.array([True, False]), "number": lambda: 3,
        "poisonous": lambda: np.array([True, True]), "rng": rng,
    },
    "conjugate": {
        "features": lambda: np.ones((B, m)), "targets": lambda: np.ones((B, n)),
        "noise_std": lambda: 0.5, "rho": lambda: np.zeros((m, n)),
    },
    "ntk": {
        "activation": lambda: "erf", "bar": lambda: False, "bias_std": lambda: 0.1,
        "block_size": lambda: 2, "gamma": lambda: 2.0,
        "hidden_layers": lambda: 2, "kernel": lambda: np.ones((M, M, B, B)),
        "kind": lambda: "normal", "mean": lambda: 1.0, "net": embedded_net,
        "other": lambda: np.ones((B, m)), "ratio": lambda: 0.5, "sizes": lambda: [m, n, 1],
        "start": lambda: np.ones((M, B)), "std": lambda: 0.5, "targets": lambda: np.ones(B),
        "times": lambda: [0.0, 1.0], "u": ntk.Modulation, "v": ntk.Modulation,
    },
    "perturbations": {
        "covariance": lambda: np.eye(m * n), "curvature": lambda: np.eye(m * n),
        "decay": lambda: 0.1, "draws": lambda: 3, "layer": lambda: 0,
        "loss": lambda: en.softmax_cross_entropy, "matrices": lambda: np.ones((3, m, n)),
        "network": lambda: en.mlp([m, n], rng=rng()), "r_cov": lambda: np.eye(m),
        "relative": lambda: np.eye(m * n).reshape(m, n, m, n), "rng": rng,
        "s_cov": lambda: np.eye(n), "samples": lambda: np.arange(42.0).reshape(M, m, n),
        "score": lambda: lambda V: -V,
        "step": lambda: 0.1, "targets": lambda: np.zeros(B, int),
        "weight": lambda: np.ones((m, n)), "x": lambda: np.ones((B, m)),
    },
    "pruning": {
        "weights": lambda: {"w": np.ones((m, n))}, "mean": lambda: {"w": np.ones((m, n))},
        "std": lambda: {"w": np.ones((m, n))}, "scores": lambda: {"w": np.ones((m, n))},
        "fraction": lambda: 0.5, "threshold": lambda: 0.5,
    },
    "data": {
        "dayfirst": lambda: True, "degrees": lambda: 30.0,
        "frame": lambda: pandas.DataFrame({"a": ["$1", "2"], "b": ["oak", None]}),
        "function": lambda: lambda x, noise: x + noise, "images": lambda: np.full((B, 4, 4), 0.5),
        "keep": lambda: [0, 1], "like": lambda: None, "name": lambda: "a name",
        "names": lambda: ("a", "b", "c"), "noise": lambda: 0.1, "number": lambda: 2,
        "part": lambda: 0.5, "regions": lambda: ((0.0, 1.0),), "relabel": lambda: True,
        "size": lambda: 3, "std": lambda: 0.1, "targets": lambda: ("t",),
        "test": lambda: np.array([3, 4]), "train": lambda: np.array([0, 1, 2]),
        "unknown": lambda: "ignore", "y": lambda: np.ones((B, 1)),
    },
    "method_table": {
        "columns": lambda: {"k": 1}, "corner": lambda: "words", "decisive": lambda: ("single", "k"),
        "rows": lambda: {"single": {"k": 1}},
    },
    "uncertainty": {
        "bins": lambda: 5, "differences": lambda: np.ones(B), "inside": lambda: np.ones(B),
        "labels": lambda: np.zeros(B, int), "level": lambda: 0.9,
        "logits": lambda: np.ones((M, B, 2)), "mean": lambda: np.ones((M, B, 2)),
        "outside": lambda: np.ones(B), "p_values": lambda: [0.1, 0.2],
        "prediction": lambda: np.ones((B, 2)),
        "predictions": lambda: np.arange(20.0).reshape(M, B, 2),
        "probabilities": lambda: np.full((B, 2), 0.5), "temperature": lambda: 2.0,
        "folds": lambda: np.arange(B) % 2, "high": lambda: np.ones((B, 2)),
        "low": lambda: -np.ones((B, 2)), "probability": lambda: 0.3,
        "scores": lambda: np.arange(9.0), "std": lambda: np.ones((B, 2)),
        "variance": lambda: np.ones((M, B, 2)),
    },
}  # fmt: skip
#: Where an argument of this name means something else, and what stands behind ``**options``.
OTHERS = {
    "counting.Count": {"layers": lambda: (counting.linear(m, n),)},
    "counting.break_even_width": {"sizes": lambda: [None, None]},
    "data.Split.original": {
        "mean": lambda: np.ones((B, 1)), "variance": lambda: np.ones((B, 1)),
    },
    "data.Split.at_random": {"test": lambda: 0.4},
    "data.Table.split": {"test": lambda: 0.4},
    "data.classes": {"y": lambda: np.array([0, 1, 2, 0, 1])},
    "explore.explore": {"k": lambda: [1, 2], "table": lambda: "bayes"},
    "live.live": {
        "data": lambda: None, "points": lambda: None, "method": lambda: "rank1",
        "ensemble_size": lambda: 2, "start": lambda: "same", "width": lambda: 5,
        "hidden_layers": lambda: 1, "activation": lambda: "tanh", "head": lambda: "mean",
        "loss": lambda: "mixture", "lr": lambda: 0.1, "weight_decay": lambda: 0.1,
        "kl_weight": lambda: 0.5, "prior_scale": lambda: 0.5, "p": lambda: 0.5,
        "noise": lambda: 0.1, "seed": lambda: 3, "other": lambda: None, "small": lambda: True,
        "name": lambda: "a-name", "caption": lambda: "words",
        "alt": lambda: "words", "initial_std": lambda: 0.1, "behind": lambda: None,
        "distributions": lambda: False,
        "tries": lambda: [{"ask": "?", "set": {"ensemble_size": 1}, "answer": "!"}],
    },
    "measured.load": {"name": lambda: "speed-cpu"},
    "measured.row": {"k": lambda: 1},
    "methods.Method": {"layer": lambda: "Rank1"},
    "methods.functions_by_method": {"layer": lambda: counting.layer},
    "numpy.MeanFieldLinear.kl_backward": {"weight": lambda: 0.5},
    "numpy.Rank1Linear.kl_backward": {"weight": lambda: 0.5},
    "numpy.Sequential": {"layers*": lambda: en.Linear(m, n, rng=rng())},
    "numpy.fit": {"net": lambda: en.Linear(m, 2, rng=rng()), "nll": lambda: en.half_squared_error},
    "numpy.gaussian_nll": {"targets": lambda: np.ones((B, 1))},
    "numpy.kl_backward": {"weight": lambda: 0.5},
    "numpy.lenet5": {"init": lambda: "signs", "prior": priors.Normal, "classes": lambda: 3},
    "numpy.mlp": {"init": lambda: "signs", "prior": priors.Normal},
    "numpy.reduce": {"grad": lambda: np.ones((M, B, 2))},
    "numpy.softmax_cross_entropy": {"targets": lambda: np.ones(B, int)},
    "playground.playground": {
        "method": lambda: "rank1", "in_features": lambda: 2, "out_features": lambda: 3,
        "ensemble_size": lambda: 4, "numbers": lambda: 5, "draw": lambda: 6,
        "arrays": lambda: {"x": [1, 2]}, "name": lambda: "a-name", "caption": lambda: "words",
    },
    "plot.Belief": {
        "mean": lambda: np.ones(4), "std": lambda: np.ones(4), "members": lambda: np.ones((M, 4)),
    },
    "plot.Look": {"narrow": lambda: True, "dark": lambda: True},
    "plot.rendering": {"look": plot.Look},
    "plot.effects": {
        "columns": lambda: {"NLL": {"single": (1.0, 2.0, 3.0)}},
        "resolved": lambda: {"NLL": ["single"]}, "levels": lambda: {"NLL": "words"},
        "xlim": lambda: {"NLL": (0, 4)},
    },
    "plot.PooledEffect": {
        "interval": lambda: (1.0, 2.0, 3.0),
        "sources": lambda: [1.0, 3.0], "word": lambda: "worse", "method": lambda: "rank1",
    },
    "plot.forest": {
        "effects": lambda: {
            "single": plot.PooledEffect((1.0, 2.0, 3.0), [1.0, 3.0], "worse")
        },
        "reference": lambda: "one network",
        "xlim": lambda: (-1, 4), "words": lambda: ["better", "unclear"],
    },
    "plot.functions": {
        "x": lambda: np.arange(4.0), "truth": lambda: np.ones(4),
        "data": lambda: (np.ones(3), np.ones(3)), "ylim": lambda: (0, 1), "columns": lambda: 2,
        "together": lambda: False, "thin": lambda: "draws",
        "named": lambda: {"data": (1, 0.5)},
    },
    "plot.panels": {
        "count": lambda: 2, "height": lambda: 1.0, "columns": lambda: (2, 1),
        "sharex": lambda: True, "sharey": lambda: True, "left": lambda: 0.5, "right": lambda: 0.1,
        "above": lambda: 0.3, "below": lambda: 0.5, "top": lambda: 0.0,
    },
    "plot.distribution": {"draws": lambda: np.ones((M, m, n))},
    "plot.growth_curves": {
        "x": lambda: [1.0, 2.0], "ylim": lambda: (0.5, 2.0),
    },
    "plot.network": {"widest": lambda: 50},
    "plot.weight_density": {
        "mean": lambda: 1.0, "std": lambda: 0.5, "draws": lambda: np.ones(4),
        "xlim": lambda: (-3.0, 3.0), "top": lambda: 1.0,
    },
    "plot.weight_matrices": {
        "method": lambda: "deep_ensemble", "value_range": lambda: 1.0,
    },
    "toys.points": {"name": lambda: "gap", "noise": lambda: 0.1, "seed": lambda: 3},
    "torch.ensemble": {
        "shared": lambda: (), "modulated": lambda: (), "samples": lambda: None,
        "init": lambda: "signs",
        "prior": priors.Normal,
    },
    # No distributions, float64 and one step: no value makes the loss overflow.
    "torch.fit": {
        "net": double_net, "x": lambda: 0.1 * numbers(B, m), "y": lambda: 0.1 * numbers(B, 2),
        "nll": lambda: et.half_squared_error, "optimizer": lambda: torch.optim.Adam,
        "num_examples": lambda: None,
    },
    "torch.kl": {"network": Model},
    "torch.mlp": {"init": lambda: "signs", "prior": priors.Normal},
    "torch.predict": {"net": double_net, "x": lambda: numbers(B, m), "samples": lambda: 1,
        "targets": lambda: None},
    "uncertainty.resampled": {"train": lambda: 9, "test": lambda: 1},
    "uncertainty.disagreement": {"predictions": lambda: np.full((M, B, 2), 0.5)},
    "uncertainty.conformal_quantile": {"level": lambda: 0.5},
    "uncertainty.ConformalIntervals.fit": {"targets": lambda: np.ones((B, 2))},
    "uncertainty.ConformalIntervals.interval": {"level": lambda: 0.6, "std": lambda: None},
    "uncertainty.ConformalSets.sets": {"level": lambda: 0.6, "rng": lambda: None},
    "uncertainty.TemperatureScaling.fit": {
        "logits": lambda: np.array([[1.0, 0], [1, 0], [1, 0], [1, 0], [0, 1]]),
    },
}  # fmt: skip
for name in (
    "averaged",
    "categorical_nll",
    "chance_disagreement",
    "covariance_parts",
    "entropy_parts",
):
    OTHERS[f"uncertainty.{name}"] = {"probabilities": lambda: np.full((M, B, 2), 0.5)}
for module in ("torch", "losses"):
    outputs = {"outputs": lambda: numbers(M, B, 2)}
    OTHERS |= {
        f"{module}.elbo": {
            "net": double_net, "x": lambda: numbers(B, m), "y": lambda: numbers(B, 2),
            "nll": lambda: et.half_squared_error,
        },
        f"{module}.gaussian_nll": outputs | {"targets": lambda: numbers(B, 1)},
        f"{module}.half_squared_error": outputs | {"targets": lambda: numbers(B, 2)},
        f"{module}.reduce": {"nll": lambda: numbers(M, B)},
        f"{module}.softmax_cross_entropy": outputs | {"targets": lambda: torch.ones(B).long()},
    }  # fmt: skip
for key, row in methods.METHODS.items():
    name = "linear" if key == "single" else key
    sized = {} if row.members else {"ensemble_size": lambda: None}
    drawn = {"samples": lambda: 2} if row.stochastic else {}
    kernel = {"kernel_size": lambda: 3, "bias": lambda: True}
    more = ("batch_size", "in_positions", "out_positions", "form", "backward", "itemsize")
    OTHERS[f"counting.{name}"] = sized | drawn | kernel
    OTHERS[f"costs.{name}"] = sized | drawn | kernel | {each: GOOD[each] for each in more}
OF_IMAGES = {
    "AvgPool2d", "Conv2d", "Flatten", "MaxPool2d", "BatchEnsembleConv2d", "DeepEnsembleConv2d",
    "MeanFieldConv2d", "Rank1Conv2d",
}  # fmt: skip
for kind in OF_IMAGES:
    images = {"input_shape": lambda: (B, m, 9, 9), "weight": lambda: 0.5}
    for method in ("forward", "noise", "output_shape", "kl_backward"):
        for space, make in (("numpy", np.ones), ("torch", torch.ones)):
            array = {"x": lambda make=make: make((B, m, 9, 9))}
            OTHERS[f"{space}.{kind}.{method}"] = images | array
for kind in ("BatchEnsemble", "DeepEnsemble", "MeanField", "Rank1"):
    OTHERS[f"torch.{kind}Conv2d"] = {
        "stride": lambda: 2, "padding": lambda: 1, "dilation": lambda: 1, "groups": lambda: 1,
        "padding_mode": lambda: "zeros",
    }  # fmt: skip
#: What ``fit`` returned, and its methods that a reader calls.
FITTED = {
    "uncertainty.ConformalIntervals": (
        uncertainty.ConformalIntervals.fit(np.ones((B, 2)), np.ones((B, 2))),
        ("guarantee", "interval"),
    ),
    "uncertainty.ConformalSets": (
        uncertainty.ConformalSets.fit(np.full((B, 2), 0.5), np.zeros(B, int), None),
        ("guarantee", "sets"),
    ),
    "uncertainty.TemperatureScaling": (uncertainty.TemperatureScaling(2.0), ("probabilities",)),
}
#: No call of a reader's: Matplotlib's and Torch's own constructors, what functions return, and the
#: settings that `fit` has checked in part.
LEFT_OUT = {
    "plot.Figure", "torch.Sequential", "explore.Drawn", "explore.Explorer", "torch.Linear",
    "losses.Elbo", "torch.AvgPool2d", "torch.Conv2d", "torch.MaxPool2d",
    "uncertainty.ConformalIntervals", "uncertainty.ConformalSets", "uncertainty.CovarianceParts",
    "uncertainty.AmbiguityParts", "uncertainty.EntropyParts", "uncertainty.Interval",
    "uncertainty.Reliability", "uncertainty.VarianceParts", "conjugate.Posterior",
    "pruning.Pruned", "bandit.Mushrooms", "ntk.EmbeddedEnsemble", "ntk.Kernel", "ntk.Limit",
    "ntk.Pass",
}  # fmt: skip


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    """Paths are values, too."""
    monkeypatch.chdir(tmp_path)


def public(module):
    """Yield (path, callable) of every public function and class of a module."""
    for name in module.__all__:
        path = f"{module.__name__.rpartition('.')[2]}.{name}"
        if callable(getattr(module, name)) and path not in LEFT_OUT:
            yield path, getattr(module, name)
        fitted, methods_of_it = FITTED.get(path, (None, ()))
        if fitted is not None:
            yield f"{path}.fit", type(fitted).fit
        for method in methods_of_it:
            yield f"{path}.{method}", getattr(fitted, method)


def good(path, function):
    """Return a function that makes a good value of each argument of a callable, by name."""
    special = OTHERS.get(path, {})
    if path.startswith("torch.") and path.endswith(".forward"):
        special = {"x": lambda: torch.ones(B, m)} | special
    kinds = inspect.signature(function).parameters
    many = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    names = [name for name, parameter in kinds.items() if parameter.kind not in many]
    if path.count(".") < 2:
        names += special
    known = GOOD | IN_MODULE.get(path.partition(".")[0], {}) | special
    return {name: known[name] for name in dict.fromkeys(names)}


def call(function, arguments):
    """Call a function; what stands behind a ``*`` gets one value, and is all there is."""
    spread = [arguments[name] for name in arguments if name[-1] == "*"]
    return function(*spread) if spread else function(**arguments)


def methods_of(path, kind):
    """Yield (path, function that makes an object and returns its method) of a class of ours."""
    makers = good(path, kind)

    def bound(name):
        thing = call(kind, {key: make() for key, make in makers.items()})
        if name == "backward":
            of_images = path.rpartition(".")[2] in OF_IMAGES
            thing.forward(np.ones((B, m, 9, 9) if of_images else (B, m)))
        return getattr(thing, name)

    for name in INTERFACE:
        if getattr(getattr(kind, name, None), "__module__", "").startswith("ensedu"):
            yield f"{path}.{name}", functools.partial(bound, name)


def outcome(name, function, arguments):
    """Return what is wrong with a call, or an empty string."""
    try:
        with np.errstate(all="ignore"):
            repr(call(function, arguments))
    except (TypeError, ValueError) as error:
        if type(error) not in (TypeError, ValueError):
            return f"{type(error).__name__}: {error}"
        word = rf"{name}\b" if name[-1] != "*" else name.removesuffix("s*")  # one of "layers*"
        if not re.search(rf"\b{word}", str(error)):
            return f"not named: {error}"
    except Exception as error:
        return f"{type(error).__name__} {traceback.format_exception_only(error)[-1][:200]}"
    return ""


def calls(module):
    """Yield (words, argument, function, arguments) of the hostile calls of a module."""
    turn = itertools.count()
    for path, thing in public(module):
        makers = [(path, lambda thing=thing: thing)]
        if isinstance(thing, type):
            makers += methods_of(path, thing)
        for words, make in makers:
            values = good(words, make())
            for name in values:
                for kind, value in list(HOSTILE.items())[next(turn) % STEP :: STEP]:
                    arguments = {key: maker() for key, maker in values.items()} | {name: value}
                    yield f"{words}({name}={kind})", name, make(), arguments


@pytest.mark.hypothesis  # by this `make test-long` knows what it runs
@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_no_call_ends_in_another_class_of_error(module):
    torch.manual_seed(0)  # whatever tests before it drew
    failures, number = [], 0
    for words, name, function, arguments in calls(module):
        number += 1
        if wrong := outcome(name, function, arguments):
            failures.append(f"{words}: {wrong}")
    assert number
    assert not failures, f"{len(failures)} of {number} calls\n" + "\n".join(failures)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_a_call_with_good_values_returns(module):
    for path, thing in public(module):
        call(thing, {name: make() for name, make in good(path, thing).items()})


def test_there_are_many_calls():
    signatures = (good(path, thing) for module in MODULES for path, thing in public(module))
    assert len(HOSTILE) * sum(map(len, signatures)) >= 20_000
