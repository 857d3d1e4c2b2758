"""What users get wrong: an error names the argument, what was given, and what is accepted.

The cases stand in ``bad_input.txt``: a call, and what is printed, as it stands below a traceback;
"…" is what varies, or goes on. Each check has one case; that every argument of every public
function is checked, `test_hostile.py` says.
"""

import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas
import pytest
import torch
from numpy import ones

import ensedu.numpy as en
import ensedu.torch as et
from ensedu import costs, counting, methods
from ensedu import uncertainty as un
from ensedu.contest import one_split, tasks
from ensedu.contest.contestants import CONTESTANTS
from ensedu.data import (
    Curve,
    Split,
    Table,
    clean,
    encoder,
    gap,
    keep_classes,
    noisy,
    patches,
    rotated,
)  # fmt: skip
from ensedu.priors import Cauchy, Normal
from ensedu.sklearn import EnsembleClassifier, EnsembleRegressor
from ensedu.theory import perturbations
from ensedu.theory.perturbations import first_order, multiplicative, separable
from ensedu.uncertainty import ConformalIntervals as Intervals
from ensedu.uncertainty import ConformalSets as Sets
from ensedu.uncertainty import TemperatureScaling as Scaling
from ensedu.uncertainty.meta_analysis import TaskScores, pooled, task_difference
from tests.contest import small

pytestmark = pytest.mark.bad_input

M, B, m, n, k = 3, 7, 5, 11, 5
NAN, INF = float("nan"), float("inf")
tones = torch.ones
rng = partial(np.random.default_rng, 0)


def zeros(*shape):
    return np.zeros(shape, int)


def put(array, place, value=NAN):
    """Return the array with another value in one place."""
    array[place] = value
    return array


def altered(thing, alter):
    """Return the object, after something was done with it."""
    alter(thing)
    return thing


def linear():
    return en.Linear(m, n, rng=rng())


def rank1(**k):
    return en.Rank1Linear(m, n, M, rng=rng(), **k)


def mean_field(**k):
    return en.MeanFieldLinear(m, n, rng=rng(), **k)


def drop(*a, **k):
    return en.MCDropout(*a, rng=rng(), **k)


def conv(kernel_size=3, **k):
    return et.BatchEnsembleConv2d(6, 9, kernel_size, M, **k)


def plain():
    return torch.nn.Sequential(torch.nn.Linear(m, n), torch.nn.ReLU(), torch.nn.Linear(n, 2))


def ensemble(model=None, method="batch_ensemble", **k):
    members = None if method in ("mean_field", "mc_dropout") else M
    return et.ensemble(plain() if model is None else model, method, members, **k)


class Model(torch.nn.Module):
    """A module with these parts, and this forward pass."""

    def __init__(self, forward=lambda self, x: self.fc(x), **parts):
        super().__init__()
        self.fc, self.run = torch.nn.Linear(m, m), forward
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, x):
        return self.run(self, x)


def own_batches():
    return altered(ensemble(), lambda net: setattr(net, "own_batches", True))


def dropping(**k):
    return ensemble(torch.nn.Sequential(*plain(), torch.nn.Dropout()), "mc_dropout", **k)


def pair():
    return tones(B, m), tones(B, 2)


def fit(net=None, x=None, y=None, nll=et.half_squared_error, epochs=1, batch_size=B, **k):
    """Train in Torch, where all is well but for what is given."""
    net = et.mlp([m, n, 2], "batch_ensemble", M) if net is None else net
    x, y = (own if new is None else new for own, new in zip(pair(), (x, y), strict=True))
    return et.fit(net, x, y, nll, epochs=epochs, batch_size=batch_size, **k)


def fit_numpy(net=None, x=None, y=None, nll=en.half_squared_error, batch_size=B, **k):
    net = en.mlp([m, n, 2], "batch_ensemble", M, rng=rng()) if net is None else net
    x, y = ones((B, m)) if x is None else x, ones((B, 2)) if y is None else y
    return en.fit(net, x, y, nll, batch_size=batch_size, **({"rng": rng(), "epochs": 1} | k))


def stream(x, net=None, epochs=1, **k):
    net = et.mlp([m, n, 2], "batch_ensemble", M) if net is None else net
    return et.fit(net, x, nll=et.half_squared_error, epochs=epochs, **k)


def held(**options):
    return et.Validation(*pair(), **options)


def table(x=None, y=None, names=tuple("abcde"), targets=("t",)):
    x, y = ones((B, m)) if x is None else x, ones((B, 1)) if y is None else y
    return Table(x, y, names, targets)


def split(train=(0, 1), test=(2,), x=None, y=None):
    column = np.arange(B * 1.0)[:, None]
    x, y = column if x is None else x, column if y is None else y
    return Split(x, y, np.array(train), np.array(test))


def column(*cells, **options):
    """Clean a column "d" beside another."""
    frame = pandas.DataFrame({"a": range(len(cells)), "d": pandas.Series(cells, dtype=object)})
    return clean(frame, **options)


def homes():
    return clean(pandas.DataFrame({"price": ["$5", "$7"], "sold": ["3 Jan 2024", "2024-03-01"]}))


def score(layer=2, targets=slice(None)):
    net = en.mlp([2, 3, 5, 7], rng=rng())
    return perturbations.Score(net, ones((B, 2)), zeros(B)[targets], layer=layer)


regressor = partial(EnsembleRegressor, ensemble_size=2, hidden=(3,), epochs=1)
classifier = partial(EnsembleClassifier, ensemble_size=2, hidden=(3,), epochs=1)


def task(**k):
    own = {"name": "t", "label": "T", "x": ones((B, m)), "y": np.arange(7.0)[:, None]} | k
    return tasks.Task(**own)


def scores(name="t", **k):
    own = {"source": name, "classes": True, "train": 89, "test": 29, "values": {"a": A, "b": A + 1}}
    return TaskScores(name=name, **own | k)


WEIGHT = methods.Array("weight", "m n", "shared")
X, Y, LABELS, FOLDS = ones((M, B, k)), ones((B, k)), zeros(B), np.arange(B) % 2
P, Q = X / k, Y / k
#: Adding these rounds, so that an error that is the same everywhere has other last digits.
LINE = np.linspace(-3, 3, B * k).reshape(B, k)
W, R, S = ones((3, 5)), np.eye(3), np.eye(5)
ROWS = np.arange(22.0).reshape(11, 2), np.arange(11.0)
WOOD = pandas.DataFrame({"wood": ["oak", "ash", "fir", "oak"] * 2 + ["ash"] * 3})
DAYS = np.arange(11).astype("datetime64[D]")
SINGLE = CONTESTANTS["single"]
OWN = tasks.split_of(small.task(), 0)
A = np.array([[1.0, 2.0], [3.0, 5.0]])
THREE = [scores(name) for name in "tuv"]


def cases():
    """Yield each call, behind ``>>>``, and what it prints, in the line below."""
    text = Path(__file__).with_name("bad_input.txt").read_text(encoding="utf-8")
    for call, words in re.findall(r"^>>> (.+)\n(.+)", text, flags=re.MULTILINE):
        yield pytest.param(eval(f"lambda: {call}", globals()), words, id=words)


# Torch says so of itself where something is compiled.
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
@pytest.mark.parametrize(("call", "words"), [*cases()])
def test_bad_input_is_named(call, words):
    with pytest.raises((TypeError, ValueError, AttributeError)) as raised:
        call()
    notes = getattr(raised.value, "__notes__", [])
    printed = "\n".join([f"{raised.type.__name__}: {raised.value}", *notes])
    expected = ".*".join(map(re.escape, re.split(r"\s*…\s*", words)))
    assert re.fullmatch(expected, printed, re.DOTALL), printed


#: Tensors that are no arrays of numbers.
ODD = {
    "nested": lambda *shape: torch.nested.nested_tensor([tones(*shape[1:])] * 2),
    "quantized": lambda *shape: torch.quantize_per_tensor(tones(*shape), 0.1, 0, torch.qint8),
    "sparse": lambda *shape: tones(*shape).to_sparse(),
}
#: What else than an argument may be one: (a call, its shape, what it is called)
INSIDE = {
    "noise": (
        lambda x: et.Rank1Linear(m, 2, M)(tones(B, m), {"r": x, "s": tones(M, 2)}), (M, m), "noise",
    ),
    "noise of a converted": (
        lambda x: ensemble(method="rank1")(tones(B, m), noise={"0.r": x, "0.s": tones(M, n)}),
        (M, m), "noise",
    ),
    "mask": (lambda x: et.MCDropout()(tones(B, 2), {"mask": x}), (1, 2), "noise"),
    "input of all members": (lambda x: own_batches()(x), (M, B, m), "input"),
    "validation": (lambda x: fit(validation=(x, tones(B, 2))), (B, m), "x of validation"),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested", "ignore:torch.quantize_per_tensor")
@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("name", INSIDE)
def test_tensors_that_are_no_arrays_are_named(name, kind):
    call, shape, argument = INSIDE[name]
    with pytest.raises(TypeError, match=rf"{argument}.*(dense|array of bools|must be a dict)"):
        call(ODD[kind](*shape))


def test_numpy_integers_are_integers_and_do_not_overflow():
    size = np.int32(50_000)
    assert counting.linear(size, size).total == 50_000**2 + 50_000
    assert isinstance(counting.linear(size, np.int64(3)).total, int)
    assert costs.layer(size, size, batch_size=np.int32(4)) == costs.layer(
        50_000, 50_000, batch_size=4
    )
    assert type(costs.Cost(size, 0, size, 0, np.int64(8)).bytes) is int
    assert en.Linear(np.int64(m), n, rng=rng()).in_features == m
    assert replace(gap, noise=1, regions=[[0, 1]]).regions == ((0.0, 1.0),)
