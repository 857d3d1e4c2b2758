"""Hostile calls, made from the public signatures: what an argument does not take, an error names.

For each public callable, and each of its arguments, the others get a good value, the default if
there is one, and that one gets hostile values in turn: those of `EDGES` and a part of the others,
and all in `make test-long`. A call raises a TypeError or ValueError whose message names the
argument, or returns, if the value is one that the argument's annotation takes. Nothing is drawn or
trained here: that a result is right, other tests say, and what errors say, `bad_input.txt`.
"""

import copy
import functools
import inspect
import itertools
import re
import traceback
import types
import typing
import warnings
from typing import Any

import numpy as np
import pandas
import pytest
import torch
from hypothesis import settings
from jaxtyping import AbstractArray
from matplotlib.figure import Figure

import ensedu.numpy as en
import ensedu.torch as et
from ensedu import costs, counting, data, methods, priors, uncertainty
from ensedu.common import training_settings
from ensedu.data import bandit
from ensedu.theory import conjugate, ntk, perturbations, pruning
from ensedu.torch import losses
from workshop.page import explore, live
from workshop.page.live import toys

pytestmark = pytest.mark.bad_input

#: The methods that a reader calls; what else has no underscore is for the files next to it.
INTERFACE = (
    "forward", "backward", "noise", "weight_matrices", "kl_backward", "output_shape", "seconds",
    "truth", "sample", "split", "at_random", "validation", "original", "standardized",
)  # fmt: skip
MODULES = (
    counting, costs, methods, priors, en, et, losses, uncertainty, data, explore, live,
    toys, conjugate, pruning, bandit, ntk, perturbations, training_settings,
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


def rng():
    return np.random.default_rng(0)


def draw(**values):
    return Figure()


def numbers(*shape):
    return torch.ones(shape, dtype=torch.float64)


class Model(torch.nn.Sequential):
    def __init__(self):
        super().__init__(torch.nn.Linear(m, n), torch.nn.ReLU(), torch.nn.Linear(n, 2))


SHARES = np.full((M, B, 2), 0.5)  # probabilities
DOUBLE = et.BatchEnsembleLinear(m, 2, M, dtype=torch.float64)
LINEAR = en.Linear(m, n, rng=rng())
#: A good value of each argument without a default, by its name; each call gets a copy.
GOOD = {
    "arrays": (methods.Array("weight", "m n", "shared"),), "batch_size": B,
    "bytes_per_second": 1e9, "draw": draw, "ensemble_size": M, "epochs": 1, "factor": 0.5,
    "flops_per_second": 1e9, "folder": "runs", "grad": np.ones((B, n)), "in_channels": m,
    "in_features": m, "kernel_size": 3, "key": "mine", "label": "my method", "layer": LINEAR,
    "layers": 3, "lr": 0.1, "mean": np.ones((m, n)), "method": "rank1", "model": Model(),
    "module": torch.nn.Linear(m, n), "name": "weight", "net": Model(), "network": LINEAR,
    "nll": np.ones((M, B)), "num_activations": 5, "num_examples": B, "num_params": 5,
    "number": 3, "other_flops": 5, "out_channels": n, "out_features": n,
    "outputs": np.ones((M, B, 2)), "prior": priors.Normal(), "product_flops": 5,
    "reduction": "mean", "rng": rng(), "role": "shared", "samples": 2,
    "seed": 0, "shape": "m n", "sizes": [m, n], "source": "a paper", "std": np.ones((m, n)),
    "targets": np.ones((B, 2)), "thing": LINEAR, "weight_decay": 0.1, "x": np.ones((B, m)),
    "y": np.ones((B, 2)),
}  # fmt: skip
#: Where a whole module means something else by a name.
IN_MODULE = {
    "bandit": {"eaten": np.array([True, False]), "poisonous": np.array([True, True])},
    "conjugate": {
        "features": np.ones((B, m)), "targets": np.ones((B, n)), "noise_std": 0.5,
        "rho": np.zeros((m, n)),
    },
    "ntk": {
        "hidden_layers": 2, "kernel": np.ones((M, M, B, B)),
        "net": ntk.embedded([m, n, 1], M, rng=rng()), "ratio": 0.5, "sizes": [m, n, 1],
        "start": np.ones((M, B)), "targets": np.ones(B), "times": [0.0, 1.0],
    },
    "perturbations": {
        "covariance": np.eye(m * n), "curvature": np.eye(m * n), "draws": 3, "layer": 0,
        "network": en.mlp([m, n], rng=rng()), "r_cov": np.eye(m),
        "relative": np.eye(m * n).reshape(m, n, m, n),
        "samples": np.arange(42.0).reshape(M, m, n), "score": lambda V: -V,
        "targets": np.zeros(B, int), "weight": np.ones((m, n)),
    },
    "pruning": {
        **{key: {"w": np.ones((m, n))} for key in ("weights", "mean", "std", "scores")},
        "fraction": 0.5, "threshold": 0.5,
    },
    "data": {
        "degrees": 30.0, "frame": pandas.DataFrame({"a": ["$1", "2"], "b": ["oak", None]}),
        "function": lambda x, noise: x + noise, "images": np.full((B, 4, 4), 0.5),
        "keep": [0, 1], "names": ("a", "b", "c"), "noise": 0.1, "number": 2,
        "regions": ((0.0, 1.0),), "size": 3, "std": 0.1, "targets": ("t",),
        "test": np.array([3, 4]), "train": np.array([0, 1, 2]), "y": np.ones((B, 1)),
    },
    "uncertainty": {
        "differences": np.ones(B), "high": np.ones((B, 2)), "inside": np.ones(B),
        "labels": np.zeros(B, int), "level": 0.6, "logits": np.ones((M, B, 2)),
        "low": -np.ones((B, 2)), "mean": np.ones((M, B, 2)), "outside": np.ones(B),
        "p_values": [0.1, 0.2], "prediction": np.ones((B, 2)),
        "predictions": np.arange(20.0).reshape(M, B, 2), "probabilities": SHARES[0],
        "probability": 0.3, "scores": np.arange(9.0), "temperature": 2.0, "train": 9, "test": 1,
        "variance": np.ones((M, B, 2)),
    },
}  # fmt: skip
#: Where an argument of this name means something else, and what stands behind ``**options``.
OTHERS = {
    "counting.break_even_width": {"sizes": [None, None]},
    "data.Split.original": {"mean": np.ones((B, 1)), "variance": np.ones((B, 1))},
    "data.Split.at_random": {"test": 0.4},
    "data.Split.validation": {"part": 0.4},
    "data.Table.split": {"test": 0.4},
    "data.keep_classes": {"y": np.array([0, 1, 2, 0, 1])},
    "explore.explore": {"alt": "a k", "k": [1, 2]},
    "methods.Method": {"layer": "Rank1"},
    "numpy.Sequential": {"layers*": LINEAR},
    "numpy.fit": {"net": en.Linear(m, 2, rng=rng()), "nll": en.half_squared_error},
    "numpy.gaussian_nll": {"targets": np.ones((B, 1))},
    "numpy.reduce": {"grad": np.ones((M, B, 2))},
    "numpy.softmax_cross_entropy": {"targets": np.ones(B, int)},
    "toys.points": {"name": "gap"},
    # No distributions, float64 and one step: no value makes the loss overflow.
    "torch.fit": {
        "net": DOUBLE, "x": 0.1 * numbers(B, m), "y": 0.1 * numbers(B, 2),
        "nll": et.half_squared_error, "optimizer": torch.optim.Adam,
    },
    "torch.kl": {"network": Model()},
    "torch.predict": {"net": DOUBLE, "x": numbers(B, m)},
    "uncertainty.disagreement": {"predictions": SHARES},
    "uncertainty.TemperatureScaling.fit": {
        "logits": np.array([[1.0, 0], [1, 0], [1, 0], [1, 0], [0, 1]]),
    },
}  # fmt: skip
for name in (
    "averaged", "categorical_nll", "chance_disagreement", "covariance_parts", "entropy_parts",
):  # fmt: skip
    OTHERS[f"uncertainty.{name}"] = {"probabilities": SHARES}
for path in ("numpy.lenet5", "numpy.mlp", "torch.mlp", "torch.ensemble"):
    OTHERS[path] = {
        "method": "rank1", "ensemble_size": M, "init": "signs", "prior": priors.Normal(),
    }  # fmt: skip
for module in ("torch", "losses"):
    outputs = {"outputs": numbers(M, B, 2)}
    training_of = {"net": DOUBLE, "x": numbers(B, m), "y": numbers(B, 2)}
    OTHERS |= {
        f"{module}.negative_elbo": training_of | {"nll": et.half_squared_error},
        f"{module}.gaussian_nll": outputs | {"targets": numbers(B, 1)},
        f"{module}.half_squared_error": outputs | {"targets": numbers(B, 2)},
        f"{module}.reduce": {"nll": numbers(M, B)},
        f"{module}.softmax_cross_entropy": outputs | {"targets": torch.ones(B).long()},
    }
for key, row in methods.METHODS.items():
    name = "linear" if key == "single" else key
    options = {"kernel_size": 3, "bias": True, "ensemble_size": M if row.has_members else None}
    options |= {"samples": 2} if row.stochastic else {}
    OTHERS[f"counting.{name}"] = options
OTHERS["costs.layer"] = {
    "method": "rank1", "ensemble_size": M, "samples": 2, "kernel_size": 3, "bias": True,
    "batch_size": B, "in_positions": 9, "out_positions": 9, "form": "fold", "backward": True,
    "itemsize": 4,
}  # fmt: skip
IMAGES = np.ones((B, m, 9, 9))
OF_IMAGES = {
    "AvgPool2d", "Conv2d", "Flatten", "MaxPool2d", "BatchEnsembleConv2d", "DeepEnsembleConv2d",
    "MeanFieldConv2d", "Rank1Conv2d",
}  # fmt: skip
for kind in ("BatchEnsemble", "DeepEnsemble", "MeanField", "Rank1"):
    OTHERS[f"torch.{kind}Conv2d"] = {
        "stride": 2, "padding": 1, "dilation": 1, "groups": 1, "padding_mode": "zeros",
    }  # fmt: skip
#: What ``fit`` returned, and its methods that a reader calls.
FITTED = {
    "uncertainty.ConformalIntervals": (
        uncertainty.ConformalIntervals.fit(np.ones((B, 2)), np.ones((B, 2))),
        ("guarantee", "interval"),
    ),
    "uncertainty.ConformalSets": (
        uncertainty.ConformalSets.fit(SHARES[0], np.zeros(B, int), None), ("guarantee", "sets"),
    ),
    "uncertainty.TemperatureScaling": (uncertainty.TemperatureScaling(2.0), ("probabilities",)),
}  # fmt: skip
#: No call of a reader's: classes that are Matplotlib's and Torch's own but for a word, what others
#: return, and what looks at its argument when it is entered.
LEFT_OUT = {
    "torch.AvgPool2d", "torch.Conv2d", "torch.Linear", "torch.MaxPool2d",
    "torch.Sequential", "explore.DrawnFigure", "explore.Explorer", "losses.NegativeElbo",
    "uncertainty.ConformalIntervals", "uncertainty.ConformalSets", "uncertainty.CovarianceParts",
    "uncertainty.AmbiguityParts", "uncertainty.EntropyParts", "uncertainty.ExchangeabilityTest",
    "uncertainty.MeanDifference", "uncertainty.Reliability", "uncertainty.VarianceParts",
    "conjugate.Posterior",
    "pruning.Pruned", "bandit.Mushrooms", "ntk.EmbeddedEnsemble", "ntk.Kernel", "ntk.Limit",
    "ntk.Pass",
}  # fmt: skip

#: These are tried each time; of the others each argument gets some, the next one others.
EDGES = ("-1", "0", "2.5", "nan", "inf", "True", "None", "word", "array", "tensor", "object")
STEP = 1 if settings().max_examples >= 1000 else 6

#: What Torch says itself, a training that diverges, and what is computed with a warning.
SAID_OTHERWISE = {
    "torch.predict(x=meta batch)", "torch.fit(lr=1e308)",
    "uncertainty.conformal_quantile(scores=one number)",
}  # fmt: skip
#: What an annotation takes of the hostile values, besides what is an instance of it.
NUMBERS = {"2.5", "1e308", "no axis", "tensor of integer"}
NUMPY = {"array", "one number", "row", "no axis", "float32", "mask of numbers"}
TENSORS = {"tensor", "double", "tensor without data", "meta batch"}
TAKEN = {int: {"tensor of integer"}, float: NUMBERS, np.ndarray: NUMPY, torch.Tensor: TENSORS}
#: Of the numbers, the arguments that take one beside those above zero, and words that are no names.
TAKES = {
    "0": "adversarial above anneal beta below bias_std biases decay degrees draw factor fraction "
    "frozen kl_weight layer left loc mean momentum noise num_activations num_params numbers "
    "other_flops p padding per_member product_flops ratio right seed shared std stds threshold "
    "top weight weight_decay",
    "-1": "degrees factor loc mean ratio weight",
    "10**400": "anneal biases frozen num_activations num_params other_flops per_member "
    "product_flops seed shared stds",
    "None": "ensemble_size samples",
    "True": "k",
    "list": "input_shape",
    "word": "alt body caption checkpoint corner device folder key label layer name reference "
    "rescale source thin word xlabel ylabel",
}  # fmt: skip


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    """Paths are values, too."""
    monkeypatch.chdir(tmp_path)


def public(module):
    """Yield (path, callable) of every public function and class of a module."""
    for name in module.__all__:
        path, thing = f"{module.__name__.rpartition('.')[2]}.{name}", getattr(module, name)
        if callable(thing) and path not in LEFT_OUT:
            yield path, thing
        fitted, methods_of_it = FITTED.get(path, (None, ()))
        if fitted is not None:
            yield f"{path}.fit", type(fitted).fit
        for method in methods_of_it:
            yield f"{path}.{method}", getattr(fitted, method)


def good(path, function):
    """Return a good value and the annotation of each argument of a callable, by name."""
    special, (module, _, method) = OTHERS.get(path, {}), path.partition(".")
    kind, _, method = method.partition(".")
    if method == "kl_backward" or path == "numpy.kl_backward":
        special = {"weight": 0.5}
    elif method in INTERFACE and module in ("numpy", "torch"):
        x = IMAGES if kind in OF_IMAGES else GOOD["x"]
        x = x if module == "numpy" else torch.from_numpy(x).float()
        special = {"x": x, "input_shape": x.shape}
    here, found = GOOD | IN_MODULE.get(module, {}), {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            none = parameter.default is parameter.empty
            value = special[name] if name in special else here[name] if none else parameter.default
            found[name] = (value, parameter.annotation)
    behind = special.keys() - found.keys() if not method or module not in ("numpy", "torch") else ()
    behind = {name: special[name] for name in behind}
    return found | {
        name: (value, Any if isinstance(value, list) else type(value))
        for name, value in behind.items()
    }


def call(function, arguments):
    """Call a function; what stands behind a ``*`` gets one value, and is all there is."""
    spread = [arguments[name] for name in arguments if name[-1] == "*"]
    return function(*spread) if spread else function(**arguments)


def copied(values):
    return {name: copy.deepcopy(value) for name, (value, _) in values.items()}


def methods_of(path, kind):
    """Yield (path, function that makes an object and returns its method) of a class of ours."""

    def bound(name):
        thing = call(kind, copied(good(path, kind)))
        if name == "backward":
            thing.forward(IMAGES if path.rpartition(".")[2] in OF_IMAGES else GOOD["x"])
        return getattr(thing, name)

    for name in INTERFACE:
        if getattr(getattr(kind, name, None), "__module__", "").startswith("ensedu"):
            yield f"{path}.{name}", functools.partial(bound, name)


def may_take(name, annotation, kind):
    """Whether an argument may take a hostile value without an error."""
    value, union = HOSTILE[kind], typing.get_origin(annotation) in (types.UnionType, typing.Union)
    parts = typing.get_args(annotation) if union else (annotation,)
    listed = TAKES.get("word" if isinstance(value, str) else kind, "")
    if name in listed.split():
        return True
    for part in (typing.get_origin(part) or part for part in parts):
        if part in (Any, None) or isinstance(part, str):
            return True
        if part is typing.Literal:
            continue
        if isinstance(part, type) and issubclass(part, AbstractArray):
            part = part.array_type
        if kind in (NUMPY | TENSORS if part is Any else TAKEN.get(part, ())):
            return True
        if part not in (int, float, str, np.ndarray, Any) and isinstance(value, part):
            return True
    return False


def outcome(name, function, arguments, taken=True):
    """Return what is wrong with a call, or an empty string."""
    try:
        with np.errstate(all="ignore"):
            repr(call(function, arguments))
    except (TypeError, ValueError) as error:
        if type(error) not in (TypeError, ValueError):
            return f"{type(error).__name__}: {error}"
        word = rf"{name}\b" if name[-1] != "*" else name.removesuffix("s*")  # one of "layers*"
        return "" if re.search(rf"\b{word}", str(error)) else f"not named: {error}"
    except Exception as error:
        return f"{type(error).__name__} {traceback.format_exception_only(error)[-1][:200]}"
    return "" if taken else "taken"


def calls(module):
    """Yield (words, argument, function, arguments, whether it may return) of hostile calls."""
    turn = itertools.count()
    for path, thing in public(module):
        makers = [(path, lambda thing=thing: thing)]
        if isinstance(thing, type):
            makers += methods_of(path, thing)
        for words, make in makers:
            values = good(words, make())
            for name, (_, annotation) in values.items():
                for kind in dict.fromkeys([*EDGES, *list(HOSTILE)[next(turn) % STEP :: STEP]]):
                    if (said := f"{words}({name}={kind})") in SAID_OTHERWISE:
                        continue
                    taken = may_take(name, annotation, kind)
                    arguments = copied(values) | {name: HOSTILE[kind]}
                    yield said, name, make(), arguments, taken


@pytest.mark.hypothesis  # by this `make test-long` knows what it runs
@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_what_an_argument_does_not_take_is_named(module):
    torch.manual_seed(0)  # whatever tests before it drew
    failures, number = [], 0
    for words, name, function, arguments, taken in calls(module):
        number += 1
        if wrong := outcome(name, function, arguments, taken):
            failures.append(f"{words}: {wrong}")
    assert number
    assert not failures, f"{len(failures)} of {number} calls\n" + "\n".join(failures)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_a_call_with_good_values_returns(module):
    for path, thing in public(module):
        call(thing, copied(good(path, thing)))


def test_there_are_many_calls():
    signatures = (good(path, thing) for module in MODULES for path, thing in public(module))
    assert len(HOSTILE) * sum(map(len, signatures)) >= 20_000
