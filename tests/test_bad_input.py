"""What users get wrong: an error names the argument, what was given, and what is accepted.

One row a case: (call, error, words that the message must hold). Each check has one row; that every
argument of every public function is checked, `test_hostile.py` says.
"""

from dataclasses import replace
from itertools import count

import numpy as np
import pandas
import pytest
import torch

import ensedu.numpy as en
import ensedu.torch as et
from ensedu import costs, counting, methods
from ensedu import uncertainty as un
from ensedu.contest import rounds, tasks
from ensedu.contest.contestants import CONTESTANTS
from ensedu.contest.statistics import TaskScores, pooled, task_difference
from ensedu.data import Curve, Split, Table, classes, clean, encoder, gap, noisy, patches, rotated
from ensedu.priors import Normal
from ensedu.sklearn import EnsembleClassifier, EnsembleRegressor
from ensedu.theory.perturbations import (
    Score,
    first_order,
    hessian,
    multiplicative,
    separable,
    spread,
)
from ensedu.theory.perturbations import rank1 as perturbed
from ensedu.uncertainty import ConformalIntervals as Intervals
from ensedu.uncertainty import ConformalSets as Sets
from ensedu.uncertainty import TemperatureScaling as Scaling
from tests.contest import small
from tests.errors import check_error
from tests.theory.perturbations import matrices

pytestmark = pytest.mark.bad_input

M, B, m, n, k = 3, 7, 5, 11, 5
NAN, INF = float("nan"), float("inf")
POSITIVE = "a positive integer"


def rng():
    return np.random.default_rng(0)


def ones(*shape):
    return np.ones(shape)


def tones(*shape):
    return torch.ones(shape)


def zeros(*shape):
    return np.zeros(shape, int)


def one_is(value, array):
    """The array with another value in its last place."""
    array.flat[-1] = value
    return array


def number(shape, place, value=NAN):
    x = tones(*shape)
    x[place] = value
    return x


def linear():
    return en.Linear(m, n, rng=rng())


def deep():
    return en.DeepEnsembleLinear(m, n, M, rng=rng())


def rank1(**k):
    return en.Rank1Linear(m, n, M, rng=rng(), **k)


def mean_field(**k):
    return en.MeanFieldLinear(m, n, rng=rng(), **k)


def drop(*a, **k):
    return en.MCDropout(*a, rng=rng(), **k)


def tied_layers():
    layer = en.Linear(m, m, rng=rng())
    return en.Sequential(layer, en.Tanh(), layer)


def tied_arrays():
    first, second = en.Linear(m, m, rng=rng()), en.Linear(m, m, rng=rng())
    second.params["weight"] = first.params["weight"]
    return en.Sequential(first, second)


def after_forward(layer, x, grad):
    layer.forward(x)
    return layer.backward(grad)


def conv(kind="BatchEnsemble", kernel_size=3, **k):
    return getattr(et, f"{kind}Conv2d")(6, 9, kernel_size, M, **k)


def plain():
    return torch.nn.Sequential(torch.nn.Linear(m, n), torch.nn.ReLU(), torch.nn.Linear(n, 2))


def ensemble(model=None, method="batch_ensemble", **k):
    members = None if method in ("mean_field", "mc_dropout") else M
    return et.ensemble(plain() if model is None else model, method, members, **k)


class Model(torch.nn.Module):
    """A module with these parts, and this forward pass."""

    def __init__(self, forward=lambda self, x: self.fc(x), **parts):
        super().__init__()
        self.fc = torch.nn.Linear(m, m)
        self.run = forward
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, x):
        return self.run(self, x)


def tied():
    embed, decode = torch.nn.Embedding(n, m), torch.nn.Linear(m, n, bias=False)
    decode.weight = embed.weight
    return Model(embed=embed, decode=decode)


def captured():
    model = Model()
    fc = model.fc
    model.act = lambda x: fc(x).relu()
    return model


def hooked():
    model = plain()
    model.register_forward_hook(lambda module, x, y, inner=model[0]: inner(x[0]))
    return model


def watched():
    model = plain()
    model[0].weight.register_hook(lambda grad: grad)
    return model


def frozen():
    model = plain()
    model[0].weight.requires_grad_(False)
    return model


def run_ensemble(forward, x, method="batch_ensemble"):
    """Convert a model with this forward pass, and run it."""
    return et.ensemble(Model(forward), method, M)(x)


def own_batches():
    net = ensemble()
    net.own_batches = True
    return net


def dropping(**k):
    return ensemble(torch.nn.Sequential(*plain(), torch.nn.Dropout()), "mc_dropout", **k)


def with_noise(change):
    """Run an ensemble with noise of which one array is changed."""
    net = ensemble(method="rank1")
    noise = net.noise()
    return net(tones(B, m), noise=noise | {"0.r": change(noise["0.r"])})


def fit(net=None, x=None, y=None, nll=et.half_squared_error, epochs=1, batch_size=B, **k):
    """Train in Torch, where all is well but for what is given."""
    net = et.mlp([m, n, 2], "batch_ensemble", M) if net is None else net
    x, y = tones(B, m) if x is None else x, tones(B, 2) if y is None else y
    return et.fit(net, x, y, nll, epochs=epochs, batch_size=batch_size, **k)


def fit_numpy(net=None, x=None, y=None, nll=en.half_squared_error, batch_size=B, **k):
    net = en.mlp([m, n, 2], "batch_ensemble", M, rng=rng()) if net is None else net
    x, y = ones(B, m) if x is None else x, ones(B, 2) if y is None else y
    return en.fit(net, x, y, nll, batch_size=batch_size, **({"rng": rng(), "epochs": 1} | k))


def pair():
    return tones(B, m), tones(B, 2)


def stream(x, net=None, epochs=1, **k):
    """Train on a stream, where all is well but for what is given."""
    net = et.mlp([m, n, 2], "batch_ensemble", M) if net is None else net
    return et.fit(net, x, nll=et.half_squared_error, epochs=epochs, **k)


class Unsized:
    """Gives three minibatches, and does not say how many."""

    def __iter__(self):
        return iter([pair()] * 3)


def held(**options):
    return et.Validation(*pair(), **options)


def hidden_draws():
    return torch.nn.Sequential(torch.nn.Linear(m, n), et.MCDropout(), torch.nn.Linear(n, 2))


def squared(loss):
    """A loss that forgets what its gradient is for."""
    return lambda outputs, targets: loss(outputs, targets)[0]


def table(x=None, y=None, names=tuple("abcde"), targets=("t",)):
    return Table(ones(B, m) if x is None else x, ones(B, 1) if y is None else y, names, targets)


def changed(value):
    """An array (B, m) with one value in row 4, column 1."""
    array = ones(B, m)
    array[4, 1] = value
    return array


def split(train=(0, 1), test=(2,), x=None, y=None):
    x = np.arange(B * 1.0)[:, None] if x is None else x
    y = np.arange(B * 1.0)[:, None] if y is None else y
    return Split(x, y, np.array(train), np.array(test))


def column(*cells, **options):
    """Clean a column "d" beside another."""
    frame = pandas.DataFrame({"a": range(len(cells)), "d": pandas.Series(cells, dtype=object)})
    return clean(frame, **options)


def homes():
    return clean(pandas.DataFrame({"price": ["$5", "$7"], "sold": ["3 Jan 2024", "2024-03-01"]}))


def new(**columns):
    return clean(pandas.DataFrame({"price": [5], "sold": [None]} | columns), like=homes())


def score(layer=2, targets=slice(None)):
    net, x, y = matrices.network()
    return Score(net, x, y[targets], layer=layer)


FAST = {"ensemble_size": 2, "hidden": (3,), "epochs": 1}


def regressor(**k):
    return EnsembleRegressor(**FAST | k)


def classifier(**k):
    return EnsembleClassifier(**FAST | k)


def task(**k):
    own = {"name": "t", "label": "T", "x": ones(B, m), "y": np.arange(7.0)[:, None]} | k
    return tasks.Task(**own)


def scores(name="t", **k):
    own = {"source": name, "classes": True, "train": 89, "test": 29, "values": {"a": A, "b": A + 1}}
    return TaskScores(name=name, **own | k)


WEIGHT = methods.Array("weight", "m n", "shared")
LENGTHS = count(1)
X, Y, LABELS, FOLDS = ones(M, B, k), ones(B, k), zeros(B), np.arange(B) % 2
P, Q = X / k, Y / k
#: Adding these rounds, so that an error that is the same everywhere has other last digits.
LINE = np.linspace(-3, 3, B * k).reshape(B, k)
W, R, S = (
    matrices.some_weight(),
    matrices.covariance(1, matrices.m),
    matrices.covariance(2, matrices.n),
)
ROWS = np.arange(22.0).reshape(11, 2), np.arange(11.0)
WOOD = pandas.DataFrame({"wood": ["oak", "ash", "fir", "oak"] * 2 + ["ash"] * 3})
DAYS = np.arange(11).astype("datetime64[D]")
SINGLE = CONTESTANTS["single"]
OWN = tasks.given(small.task(), 0)
A = np.array([[1.0, 2.0], [3.0, 5.0]])
THREE = [scores(name) for name in "tuv"]

# fmt: off
COUNTING = [
    (lambda: counting.linear(0, 3), ValueError, ["in_features", "0", POSITIVE]),
    (lambda: counting.linear(2.0, 3), TypeError, ["in_features", "2.0", "float", POSITIVE]),
    (lambda: counting.linear(2, 3, kernel_size=(3, 0)), ValueError, ["kernel_size[1]", "0", POSITIVE]),
    (lambda: counting.linear(2, 3, kernel_size=(3, 3, 3)), ValueError, ["kernel_size", "(3, 3, 3)", "pair"]),
    (lambda: counting.linear(2, 3, bias=1), TypeError, ["bias", "1", "True or False"]),
    (lambda: counting.mlp([1], "single"), ValueError, ["sizes", "[1]", "at least two"]),
    (lambda: counting.mlp(5, "single"), TypeError, ["sizes", "5", "sequence"]),
    (lambda: counting.mlp([1, 0, 1], "single"), ValueError, ["sizes[1]", "0", POSITIVE]),
    (lambda: counting.mlp([1, 2], "ensemble"), ValueError, ["method", "'ensemble'", "'deep_ensemble'"]),
    (lambda: counting.mlp([1, 2], 4), TypeError, ["method", "4", "'rank1'"]),
    (lambda: counting.mlp([1, 2], "single", 0), ValueError, ["ensemble_size", "0", "'single'", "no members"]),
    (lambda: counting.mlp([1, 2], "deep_ensemble", 4, samples=3), ValueError, ["samples", "3", "'deep_ensemble'", "draws nothing"]),
    (lambda: Normal(10**400, 1.0), TypeError, ["loc", "finite number"]),
    (lambda: counting.break_even_width([1, 2], "rank1", 4), TypeError, ["sizes", "[1, 2]", "None"]),
    (lambda: counting.count(3), TypeError, ["thing", "3", "torch.nn.Module"]),
    (lambda: counting.count(torch.nn.LazyLinear(3)), TypeError, ["thing", "weight", "initialized"]),
    (lambda: Normal(NAN, 1.0), ValueError, ["loc", "nan", "finite"]),
    (lambda: counting.linear(10**400, 3), ValueError, ["in_features", "1000", "below 2**63"]),
    (lambda: counting.Count(name=3), TypeError, ["name", "3", "string"]),
    (lambda: counting.Count(layers=[counting.Count()]), TypeError, ["layers", "list", "tuple of Counts"]),
    (lambda: methods.Method("a", "b", "c", "d", [WEIGHT]), TypeError, ["arrays", "list", "tuple of Array"]),
    (lambda: costs.Cost(1, 2, 0, 0).intensity, ValueError, ["num_params", "0", "that moves"]),
    (lambda: costs.Cost(10**400, 2, 1, 1).intensity, ValueError, ["product_flops", "1000", "below 1e308"]),
]
NUMPY = [
    (lambda: en.Linear(m, n, rng=0), TypeError, ["rng", "int", "numpy.random.Generator"]),
    (lambda: rank1(prior=(1.0, 0.1)), TypeError, ["prior", "(1.0, 0.1)", "ensedu.priors.Normal"]),
    (lambda: mean_field(estimator="local")(ones(B, m), {"output": ones(B, m)}), ValueError, ["noise['output']", "(7, 5)", "(7, 11)"]),
    (lambda: mean_field().kl({"weight": ones(m, n)}), ValueError, ["noise", "['bias', 'weight']", "['weight']"]),
    (lambda: drop(1.0), ValueError, ["p", "1.0", "from 0 to below 1"]),
    (lambda: drop(0.1).noise(), ValueError, ["input_shape", "None", "(B, features)"]),
    (lambda: drop(feature_axes=3)(ones(3, 5, 7)), ValueError, ["input x", "(3, 5, 7)", "(B, ·, ·, ·)"]),
    (lambda: linear()(ones(B, n)), ValueError, ["input x", "(7, 11)", "(..., 5)"]),
    (lambda: linear()(np.float64(3.0)), TypeError, ["input x", "float64", "NumPy array"]),
    (lambda: linear()(ones(B, m).astype(int)), TypeError, ["input x", "int64", "float64"]),
    (lambda: deep()(ones(m)), ValueError, ["input x", "(5,)", "(B, 5)", "(3, B, 5)"]),
    (lambda: en.Tile(M)(ones(M, B, m)), ValueError, ["input x", "(3, 7, 5)", "(B, features)"]),
    (lambda: en.ReLU()(ones(B, m).astype(int)), TypeError, ["input x", "int64", "accepted is float64"]),
    (lambda: rank1().forward(ones(B, m), 3), TypeError, ["noise", "int", "['r', 's']"]),
    (lambda: mean_field().weight_matrices({"weight": ones(m, n).astype("f4"), "bias": ones(n)}), TypeError, ["noise['weight']", "float32", "float64"]),
    (lambda: drop().forward(ones(B, m), {"mask": ones(1, m)}), TypeError, ["noise", "mask", "bools"]),
    (lambda: drop().forward(ones(B, m), {"mask": ones(2, m) > 0}), ValueError, ["noise['mask']", "(2, 5)", "(7, 5)"]),
    (lambda: linear().backward(ones(B, n)), ValueError, ["backward", "grad", "forward"]),
    (lambda: after_forward(deep(), ones(B, m), ones(B, n)), ValueError, ["grad", "(7, 11)", "(3, 7, 11)"]),
    (lambda: en.mlp([m, n], "rank1", M, rng=rng())(ones(B, m), {"1.r": ones(M, m)}), ValueError, ["noise", "'1.r'", "0"]),
    (lambda: en.mlp([m, n], "rank1", M, rng=rng())(ones(B, m), 3), TypeError, ["noise", "int", "net.noise()"]),
    (lambda: en.mlp([m], rng=rng()), ValueError, ["sizes", "[5]", "at least two"]),
    (lambda: en.mlp([m, n], "batch_ensemble", M, rng=rng(), prior=Normal()), TypeError, ["prior"]),
    (lambda: en.Sequential(linear(), 3), TypeError, ["layers[1]", "3", "ensedu.numpy layer"]),
    (lambda: en.SGD([linear()], 0.1), TypeError, ["network", "Linear", "ensedu.numpy"]),
    (lambda: en.Adam(linear(), betas=0.9), TypeError, ["betas", "0.9", "pair"]),
    (lambda: en.Adam(linear(), betas=(0.9, 1.0)), ValueError, ["betas[1]", "1.0", "from 0 to below 1"]),
    (lambda: en.half_squared_error(ones(M, B, 2), ones(B, 3)), ValueError, ["outputs", "(3, 7, 2)", "(7, 3)", "(M, B, k)"]),
    (lambda: en.half_squared_error(ones(B, 2), ones(B, 2).astype(int)), TypeError, ["targets", "int64", "float64"]),
    (lambda: en.half_squared_error(ones(0, 2), ones(0, 2)), ValueError, ["outputs", "(0, 2)", "at least one example"]),
    (lambda: en.softmax_cross_entropy(ones(B, 2), ones(B)), TypeError, ["targets", "float64", "integer labels"]),
    (lambda: en.softmax_cross_entropy(ones(B, 2), np.full(B, 2)), ValueError, ["targets", "2", "0 to 1"]),
    (lambda: en.softmax_cross_entropy(ones(B, 2), np.zeros(B + 1, int)), ValueError, ["targets", "(8,)", "(B,)"]),
    (lambda: en.reduce(ones(M, B), ones(M, B), "mean"), ValueError, ["nll", "(3, 7)", "(M, B, k)"]),
    (lambda: linear()(ones(B, m), {}), TypeError, ["noise"]),
    (lambda: linear().weight_matrices({"weight": 3}), TypeError, ["noise", "Linear", "draws nothing"]),
    (lambda: mean_field().noise(None, 5), TypeError, ["input_shape", "5", "tuple of integers"]),
    (lambda: rank1().weight_matrices({"r": [[1.0], [1.0, 2.0]], "s": np.ndarray}), TypeError, ["noise['r']", "list", "NumPy array"]),
    (lambda: tied_layers(), ValueError, ["layers", "different objects", "0 and 2"]),
    (lambda: en.SGD(tied_arrays(), 0.1), ValueError, ["network", "0.weight", "1.weight"]),
]
TORCH = [
    (lambda: et.BatchEnsembleLinear(m, n, M, dtype=torch.int64), TypeError, ["dtype", "int64", "floating-point"]),
    (lambda: et.MeanFieldLinear(m, n, estimator="local")(tones(B, m), {"output": tones(B, m)}), ValueError, ["noise['output']", "(7, 5)", "(7, 11)"]),
    (lambda: et.MeanFieldLinear(m, n, estimator="flipout")(tones(B, m), {"input_signs": tones(B, m)}), ValueError, ["noise", "['bias', 'input_signs', 'output_signs', 'weight']"]),
    (lambda: et.to_numpy(et.MeanFieldLinear(m, n, estimator="flipout"), rng=rng()), ValueError, ["estimator='flipout'", "'weights'", "'local'"]),
    (lambda: et.MeanFieldLinear(m, n).noise(3), TypeError, ["generator", "int", "torch.Generator"]),
    (lambda: et.MCDropout().noise(), ValueError, ["input_shape", "None", "(B, features)"]),
    (lambda: et.DeepEnsembleLinear(m, n, M)(tones(M + 1, B, m)), ValueError, ["input x", "(4, 7, 5)", "(3, B, 5)"]),
    (lambda: et.DeepEnsembleLinear(m, n, M)(tones(B, m).double()), TypeError, ["input x", "torch.float64", "torch.float32"]),
    (lambda: et.BatchEnsembleLinear(m, n, M)(tones(B, m).long()), TypeError, ["input x", "torch.int64", "floating-point"]),
    (lambda: et.BatchEnsembleLinear(m, n, M)(ones(B, m)), TypeError, ["input x", "ndarray", "torch.Tensor"]),
    (lambda: et.Tile(M)(tones(M, B, m)), ValueError, ["input x", "(3, 7, 5)", "(B, features)"]),
    (lambda: et.mlp([m, True]), TypeError, ["sizes[1]", "True", POSITIVE]),
    (lambda: et.mlp([m, n], "rank1", M)(tones(B, m), {"3.r": tones(M, m)}), ValueError, ["noise", "'3.r'", "0"]),
    (lambda: et.mlp([m, n], "rank1", M)(tones(B, m), tones(M, m)), TypeError, ["noise", "Tensor", "net.noise()"]),
    (lambda: et.Sequential(torch.nn.Sequential(et.Rank1Linear(m, n, M))).noise(None, (B, m)), ValueError, ["layer 0", "Sequential", "ensedu.torch.Sequential"]),
    (lambda: et.MCDropout(feature_axes=3)(tones(B, m)), ValueError, ["input x", "(7, 5)", "(B, ·, ·, ·)"]),
    (lambda: et.from_numpy(3), TypeError, ["layer", "int", "BatchEnsembleLinear"]),
    (lambda: et.to_numpy(torch.nn.Linear(m, n).bfloat16(), rng=rng()), TypeError, ["module.weight", "bfloat16", "float64 or float32"]),
    (lambda: et.to_numpy(torch.nn.Linear(m, n, device="meta"), rng=rng()), ValueError, ["module.weight", "'meta'", "with data"]),
    (lambda: et.from_numpy(linear(), device="gpu"), ValueError, ["device", "'gpu'", "cuda"]),
]
CONVOLUTIONS = [
    (lambda: conv(kernel_size=(3, 0)), ValueError, ["kernel_size[1]", "0", POSITIVE]),
    (lambda: conv(kernel_size=(3, 3, 3)), ValueError, ["kernel_size", "(3, 3, 3)", "pair"]),
    (lambda: conv(padding="same", stride=2), ValueError, ["padding", "'same'", "stride of (2, 2)"]),
    (lambda: conv(groups=4), ValueError, ["groups", "4", "in_channels", "6"]),
    (lambda: conv(transposed=True), TypeError, ["transposed"]),
]
ENSEMBLE = [
    (lambda: ensemble(3), TypeError, ["model", "int", "torch.nn.Module"]),
    (lambda: ensemble(method="mc_dropout"), ValueError, ["dropout", "none", "Dropout2d"]),
    (lambda: ensemble(Model(drop=torch.nn.AlphaDropout(0.5)), method="mc_dropout"), ValueError, ["drop (nn.AlphaDropout)", "Dropout2d"]),
    (lambda: ensemble(Model(drop=torch.nn.Dropout()), method="mc_dropout", p=0.3), TypeError, ["'mc_dropout'", "none", "'p'"]),
    (lambda: ensemble(method="rank1")(tones(B, m), noise=3), TypeError, ["noise", "net.noise()", "int"]),
    (lambda: ensemble(method="last_layer"), TypeError, ["head", "None", "0, 2"]),
    (lambda: ensemble(method="last_layer", head="2", init_std=-1), ValueError, ["init_std", "-1", "above 0"]),
    (lambda: ensemble(method="rank1")(tones(B, m), noise={"0.r": tones(M, m)}), ValueError, ["noise", "0: ", "['r', 's']"]),
    (lambda: dropping().member(0, {"3.mask": tones(2, 1, 2) > 0}), ValueError, ["3: noise['mask']", "(2, 1, 2)", "each of 1 samples"]),
    (lambda: ensemble(method="rank1", per_example=True).noise(), ValueError, ["noise of 0", "per_example=True", "net.noise(generator, x)"]),
    (lambda: setattr(ensemble(), "leading", (8,)), AttributeError, ["leading"]),
    (lambda: ensemble(method="deep_ensemble", initialize=3), TypeError, ["initialize", "3", "function"]),
    (lambda: ensemble(shared="0"), TypeError, ["shared", "'0'", "sequence of names"]),
    (lambda: ensemble(shared=["1.weight"]), ValueError, ["shared", "'1.weight'", "0.weight"]),
    (lambda: ensemble(Model(own=torch.nn.Parameter(tones(m, m)))), ValueError, ["own (5, 5)", "Model", "shared", "modulated"]),
    (lambda: ensemble(shared=[0]), TypeError, ["shared", "0", "patterns"]),
    (lambda: ensemble(shared=["0", "2"]), ValueError, ["model", "no layer to swap", "nn.Conv2d"]),
    (lambda: ensemble(tied()), ValueError, ["embed.weight = decode.weight", "tied", "shared"]),
    (lambda: ensemble(watched()), ValueError, ["hooks", "0.weight", "ensemble's own"]),
    (lambda: ensemble(ensemble(method="deep_ensemble")), ValueError, ["model", "ensemble already"]),
    (lambda: ensemble(frozen(), "deep_ensemble"), ValueError, ["frozen", "0.weight", "shared"]),
    (lambda: ensemble(torch.nn.utils.spectral_norm(torch.nn.Linear(m, n)), "deep_ensemble"), ValueError, ["weight_orig", "Linear", "initialize"]),
    (lambda: ensemble(Model(lazy=torch.nn.LazyLinear(n)), "deep_ensemble"), ValueError, ["lazy.weight", "seen an input"]),
    *[
        (lambda method=method: ensemble(captured(), method), ValueError, ["act is a function that holds a"])
        for method in ("batch_ensemble", "deep_ensemble")
    ],
    (lambda: ensemble(hooked(), "mean_field"), ValueError, ["_forward_hooks is a function that holds a nn.Linear"]),
    (lambda: ensemble(torch.compile(plain())), ValueError, ["model is compiled"]),
    (lambda: ensemble(torch.nn.Sequential(torch.compile(torch.nn.Tanh()))), ValueError, ["0 is compiled"]),
    (lambda: ensemble(ensemble(method="rank1")), ValueError, ["model", "ensemble already"]),
    (lambda: ensemble(modulated=["fcs"]), ValueError, ["modulated must hold names", "'fcs'", "0.weight"]),
    (lambda: ensemble(samples=2), ValueError, ["samples", "2", "which draws nothing"]),
    (lambda: ensemble(method="single"), ValueError, ["method", "'single'", "'deep_ensemble', 'batch_ensemble'"]),
    (lambda: ensemble(torch.nn.Dropout(0), "mc_dropout"), ValueError, ["no dropout", "with p=0"]),
    (lambda: ensemble(torch.nn.Sequential(torch.nn.Dropout(1.0)), "mc_dropout"), ValueError, ["0 with p=1.0"]),
    (lambda: dropping(shared=["3"]), ValueError, ["no dropout", "none"]),
    (lambda: et.ensemble(plain(), "mc_dropout", M), ValueError, ["ensemble_size", f"accepted is samples={M}"]),
    (lambda: ensemble(method="last_layer", head="1"), ValueError, ["head", "'1'", "it has 0, 2"]),
    (lambda: ensemble(method="last_layer", head="0", init="signs"), TypeError, ["'last_layer'", "'init'", "head, init_std"]),
    (lambda: ensemble().member(M), ValueError, ["index", f"below the leading axes ({M},)", f"got {M}"]),
    (lambda: ensemble().member(-1), ValueError, ["index", "an integer from 0 up", "-1"]),
    (lambda: ensemble().member((0, 1)), ValueError, ["index", f"an integer for leading axes ({M},)", "(0, 1)"]),
    (lambda: ensemble().member(0, {"0.r": 1}), ValueError, ["noise", "'0.r'", "none"]),
    (lambda: ensemble(method="deep_ensemble").member(0, {"r": 1}), ValueError, ["noise", "left out", "nothing is drawn"]),
    (lambda: ensemble(method="rank1").member(0), ValueError, ["noise", "None", "net.noise()"]),
    (lambda: dropping().member(0), ValueError, ["noise", "None", "net.noise()"]),
    (lambda: ensemble(method="rank1").member(0, {}), ValueError, ["noise has nothing for 0", "net.noise()"]),
    (lambda: ensemble(method="rank1").member(0, {"7.r": 1}), ValueError, ["noise", "'7.r'", "0, 2"]),
    (lambda: ensemble(method="rank1", per_example=True).member(0, {"0.r": 1}), ValueError, ["0 draws for each example", "per_example=False"]),
    (lambda: with_noise(lambda r: r[:1]), ValueError, ["noise", "0: "]),
    (lambda: with_noise(lambda r: r.double()), TypeError, ["noise", "float64", "float32"]),
    (lambda: ensemble()(tones(B, m), noise={"0.r": 1}), ValueError, ["noise", "'0.r'", "none"]),
    (lambda: setattr(ensemble(), "ensemble_size", 2), AttributeError, ["ensemble_size cannot be set", "2"]),
    (lambda: setattr(ensemble(method="rank1"), "samples", 0), ValueError, ["samples", "0"]),
    (lambda: setattr(ensemble(method="rank1"), "samples", 1.5), TypeError, ["samples", "1.5"]),
    (lambda: setattr(ensemble(method="deep_ensemble"), "samples", 3), ValueError, ["samples", "3", "left out", "nothing is drawn"]),
    (lambda: run_ensemble(lambda self, x: (self.fc(x), self.fc(x).mean().item()), tones(B, m), method="deep_ensemble"), ValueError, ["output", "same for all members", "member 2"]),
    (lambda: run_ensemble(lambda self, x: iter([self.fc(x)]), tones(B, m)), TypeError, ["output", "list_iterator", "tuples"]),
]
TRAINING = [
    (lambda: fit(net=3), TypeError, ["net", "3", "torch.nn.Module"]),
    (lambda: fit(net=torch.nn.ReLU()), ValueError, ["net", "parameters to train", "none"]),
    (lambda: fit(net=torch.nn.LazyLinear(2)), ValueError, ["net", "seen an input", "weight"]),
    (lambda: fit(x=ones(B, m)), TypeError, ["x must be a dense torch.Tensor", "ndarray"]),
    (lambda: fit(x=tones(B, m).to_sparse()), TypeError, ["x must be a dense torch.Tensor"]),
    (lambda: fit(x=tones(B, m).double()), TypeError, ["x has dtype torch.float64", "torch.float32"]),
    (lambda: fit(x=tones(0, m), y=tones(0, 2)), ValueError, ["x must hold at least one example", "(0, 5)"]),
    (lambda: fit(x=tones(B + 1, m)), ValueError, ["y", "row for each of 8 in x", "got 7"]),
    (lambda: fit(x=number((B, m), (4, 2))), ValueError, ["x must hold finite", "nan at (4, 2)"]),
    (lambda: fit(y=tones(B, 3)), ValueError, ["nll(net(x), y)", "(3, 7, 2)", "(7, 3)"]),
    (lambda: fit(nll="mse"), TypeError, ["nll must be a function", "'mse'"]),
    (lambda: fit(nll=lambda outputs, targets: outputs), ValueError, ["nll must return one number", "(3, 7, 2)"]),
    (lambda: fit(batch_size=B + 1), ValueError, ["batch_size", "at most", "7", "got 8"]),
    (lambda: fit(weight_decay=-0.1), ValueError, ["weight_decay", "-0.1", "0 or more"]),
    (lambda: fit(kl=0.5), TypeError, ["kl must be a KLWeight", "0.5"]),
    (lambda: fit(split=True), ValueError, ["batch_size", "multiple of the 3 members", "got 7"]),
    (lambda: fit(net=plain(), split=True), ValueError, ["split", "False", "Sequential with none"]),
    (lambda: fit(net=et.mlp([m, 2], "mean_field"), split=True), ValueError, ["split", "repeats", "samples"]),
    (lambda: fit(seed=2**64), ValueError, ["seed", "below 2**64", "18446744073709551616"]),
    (lambda: fit(validation=tones(B, m)), TypeError, ["validation must be a pair", "tensor"]),
    (lambda: et.Validation(tones(B, m), tones(B, 2), samples=3), ValueError, ["samples", "1", "'mean'", "3"]),
    (lambda: fit(validation=held(score="mixture", samples=3)), ValueError, ["samples", "draws nothing", "3"]),
    (lambda: fit(validation=held(score="mixture"), nll=lambda o, t: (o - t).square().mean()), ValueError, ["score", "no reduction", "'mixture'"]),
    (lambda: fit(validation=held(score=lambda p, y: p)), TypeError, ["score must return one number", "(3, 7, 2)"]),
    (lambda: fit(validation=held(score=lambda p: p)), TypeError, ["score(predictions, y)", "positional"]),
    (lambda: fit(validation=et.Validation(tones(B, m))), TypeError, ["x of validation must give minibatches", "y is left out", "(7, 5)"]),
    (lambda: fit(checkpoint=3), TypeError, ["checkpoint must be a path", "3"]),
    (lambda: et.SaveTo(3), TypeError, ["folder must be a path", "3"]),
    (lambda: et.fit(et.mlp([m, 2]), [pair()], et.half_squared_error, epochs=1), TypeError, ["nll must be named", "got it as y"]),
    (lambda: fit(num_examples=B), ValueError, ["num_examples", "None for tensors", "7"]),
    (lambda: fit(scheduler=0.9), TypeError, ["scheduler must be a function", "0.9"]),
    (lambda: fit(scheduler=lambda optimizer: optimizer), TypeError, ["scheduler must return", "LRScheduler", "AdamW"]),
    (lambda: fit(scheduler=torch.optim.lr_scheduler.StepLR), TypeError, ["scheduler(optimizer)", "step_size"]),
    (lambda: fit(autocast=True), TypeError, ["autocast", "torch.bfloat16 or None", "True"]),
    (lambda: fit(autocast=torch.float16), ValueError, ["autocast", "torch.float16", "gradient scaler"]),
    (lambda: fit(callback=lambda: 3), TypeError, ["callback(row)", "positional"]),
    (lambda: fit(x=(tones(B, m), tones(B + 1, m))), ValueError, ["x has", "(7, 5)", "(8, 5)", "first axis"]),
    (lambda: fit(x={1: tones(B, m)}), TypeError, ["x must have strings for names", "[1]"]),
    (lambda: fit(x=(tones(B, m),), adversarial=0.1), TypeError, ["adversarial", "one tensor", "0.1", "tuple"]),
    (lambda: stream(pair() for _ in range(3)), ValueError, ["x must be iterable again", "generator", "one epoch"]),
    (lambda: stream([]), ValueError, ["x must give minibatches in each epoch", "none"]),
    (lambda: stream([tones(B, m)]), TypeError, ["x must give pairs (inputs, targets)", "(7, 5)", "batch 1", "collate_fn"]),
    (lambda: stream([pair()], batch_size=B), ValueError, ["batch_size", "left out", "minibatches", "7"]),
    (lambda: stream([pair()], net=et.mlp([m, 2], "rank1", M)), ValueError, ["num_examples must be given", "distributions", "None"]),
    (lambda: stream(Unsized(), kl=et.KLWeight(anneal=1)), ValueError, ["x must have a length", "Unsized", "KLWeight(beta)"]),
    (lambda: et.predict(plain(), [tones(B, m)], batch_size=3), ValueError, ["batch_size must be None", "stream", "3"]),
    (lambda: et.predict(plain(), [pair()]), ValueError, ["targets must be True or False", "2 parts in batch 1"]),
    (lambda: et.predict(plain(), [pair()], targets="y"), TypeError, ["targets", "'y'", "True or False"]),
    (lambda: et.predict(plain(), [tones(B, m)], targets=True), TypeError, ["x must give pairs", "targets=True", "batch 1"]),
    (lambda: et.predict(plain(), tones(B, m), targets=True), ValueError, ["targets must be None", "no stream", "True"]),
    (lambda: et.predict(plain(), []), ValueError, ["x must give a minibatch"]),
    (lambda: et.predict(hidden_draws(), [tones(B, m)]), ValueError, ["batch_size must be None and x no stream", "noise()"]),
    (lambda: fit(optimizer=lambda groups, lr: groups), TypeError, ["optimizer must return a torch.optim.Optimizer", "list"]),
    (lambda: fit(optimizer=lambda groups: groups), TypeError, ["optimizer(groups, lr=lr)", "'lr'"]),
    (lambda: fit(optimizer=torch.optim.Adam(plain().parameters()), lr=0.1), ValueError, ["lr, fast_lr_factor and weight_decay", "left out", "0.1"]),
    (lambda: fit(optimizer=torch.optim.Adam(plain().parameters())), ValueError, ["optimizer", "of net alone"]),
    (lambda: et.half_squared_error(tones(M, B, 2), tones(M, 2)), ValueError, ["(3, 7, 2)", "(3, 2)", "accepted"]),
    (lambda: et.softmax_cross_entropy(tones(M, B, 2), tones(B)), TypeError, ["targets", "integer labels", "torch.float32"]),
    (lambda: et.softmax_cross_entropy(tones(M, B, 2), torch.ones(B + 1).long()), ValueError, ["(3, 7, 2)", "(8,)", "(M, B)"]),
    (lambda: et.softmax_cross_entropy(tones(M, B, 2), torch.ones(B, device="meta").long()), ValueError, ["targets", "outputs", "meta", "cpu"]),
    (lambda: et.softmax_cross_entropy(tones(M, 0, 2), torch.ones(0).long()), ValueError, ["nll", "(3, 0)", "at least one"]),
    (lambda: fit_numpy(net=plain()), TypeError, ["net", "Sequential", "ensedu.numpy"]),
    (lambda: fit_numpy(net=en.ReLU()), ValueError, ["net", "parameters to train"]),
    (lambda: fit_numpy(x=tones(B, m)), TypeError, ["x must be a plain NumPy array", "tensor"]),
    (lambda: fit_numpy(x=ones(0, m), y=ones(0, 2)), ValueError, ["x must hold at least one example", "(0, 5)"]),
    (lambda: fit_numpy(x=ones(B + 1, m)), ValueError, ["y", "row for each of 8 in x", "got 7"]),
    (lambda: fit_numpy(y=np.array([[1.0, 2.0]] * 3 + [[1.0, NAN]] * 4)), ValueError, ["y must hold finite", "nan at (3, 1)"]),
    (lambda: fit_numpy(y=np.arange(B), nll=en.softmax_cross_entropy), ValueError, ["nll(net(x), y)", "0 to 6", "0 to 1"]),
    (lambda: fit_numpy(nll=squared(en.half_squared_error)), TypeError, ["nll must return one number and a gradient"]),
    (lambda: fit_numpy(nll=lambda o, t: en.half_squared_error(o, t, reduction="none")), ValueError, ["nll must return one number", "(3, 7)"]),
    (lambda: fit_numpy(batch_size=B + 1), ValueError, ["batch_size", "at most", "got 8"]),
    (lambda: fit_numpy(split=True), ValueError, ["batch_size", "multiple of the 3 members", "got 7"]),
    (lambda: fit_numpy(net=en.mlp([m, 2], rng=rng()), split=True), ValueError, ["split", "Sequential with none"]),
    (lambda: fit_numpy(net=en.mlp([m, 2], "rank1", M, samples=2, rng=rng()), split=True), ValueError, ["split", "repeats", "samples"]),
    (lambda: fit_numpy(validation=en.Validation(ones(B, m), ones(B, 2), score="mixture", samples=2)), ValueError, ["samples", "draws nothing", "2"]),
    (lambda: fit_numpy(validation=en.Validation(ones(B, m), ones(B, 2), score=lambda p, y: p)), TypeError, ["score must be a finite number"]),
    (lambda: fit_numpy(optimizer=torch.optim.SGD), TypeError, ["optimizer(net, lr=lr)", "Sequential"]),
    (lambda: fit_numpy(optimizer=lambda net, lr: net), TypeError, ["optimizer must return an ensedu.numpy optimizer"]),
    (lambda: en.gaussian_nll(ones(M, B, 2), ones(B, 1), beta=2), ValueError, ["beta", "from 0 to 1", "2"]),
    (lambda: stream([(tones(B, m), tones(B + 1, 2))]), ValueError, ["targets in batch 1 of x", "7 in inputs in batch 1 of x", "got 8"]),
    (lambda: stream([pair(), (number((B, m), (4, 2)), tones(B, 2))]), ValueError, ["inputs in batch 2 of x", "nan at (4, 2)"]),
    (lambda: fit(x=(tones(B, m), number((B, 2), (3, 1)))), ValueError, ["x[1] must hold finite", "nan at (3, 1)"]),
    (lambda: fit(validation=(tones(B, m), number((B, 2), (3, 1)))), ValueError, ["y of validation must hold finite", "nan at (3, 1)"]),
    (lambda: fit_numpy(validation=(ones(B, m), ones(3, 2))), ValueError, ["y of validation", "7 in x of validation", "got 3"]),
]
UNCERTAINTY = [
    (lambda: un.softmax(Y.view(np.matrix)), TypeError, ["logits", "plain", "matrix"]),
    (lambda: un.softmax(ones(B, k).astype(complex)), TypeError, ["logits", "floats", "complex128"]),
    (lambda: un.softmax(ones(B, k).astype(np.longdouble)), TypeError, ["logits", "64 bits"]),
    (lambda: un.softmax(ones(2, M, B, k)), ValueError, ["logits", "(2, 3, 7, 5)", "(M, B, k)"]),
    (lambda: un.softmax(one_is(-1e101, ones(B, k))), ValueError, ["logits", "1e+100", "1e+101"]),
    (lambda: un.gaussian_heads(X), ValueError, ["outputs", "raw variances", "(3, 7, 5)"]),
    (lambda: un.mixture(X, one_is(0.0, ones(M, B, k))), ValueError, ["variance", "positive", " 0"]),
    (lambda: un.gaussian_nll(X, X, ones(B)), ValueError, ["targets", "(7,)", "(7, 5)"]),
    (lambda: un.gaussian_nll(X, 0 * X, Y), ValueError, ["variance", "positive"]),
    (lambda: un.crps(X, -X, Y), ValueError, ["variance", "positive", "-1"]),
    (lambda: un.quantile(X, 0 * X, 0.5), ValueError, ["variance", "positive"]),
    (lambda: un.smallest_set(Y), ValueError, ["probabilities", "sum to 1", "5"]),
    (lambda: un.interval_score(Y, one_is(0.5, ones(B, k)), Y), ValueError, ["low[6, 4] = 1", "high[6, 4] = 0.5", "no less"]),
    (lambda: un.averaged(X), ValueError, ["probabilities", "sum to 1", "0.0001", "5"]),
    (lambda: un.averaged(np.array([[[1.5, -0.5]]])), ValueError, ["probabilities", "0 up", "-0.5"]),
    (lambda: un.categorical_nll(P, one_is(k, zeros(B))), ValueError, ["labels", "0 to 4", "got 5"]),
    (lambda: un.categorical_nll(P, one_is(-1, zeros(B))), ValueError, ["labels", "0 up", "-1"]),
    (lambda: un.mixture_nll(one_is(-INF, ones(M, B))), ValueError, ["nll", "-inf"]),
    (lambda: un.brier(Q + 1e-3, LABELS), ValueError, ["probabilities", "sum", "1.005"]),
    (lambda: un.accuracy(Q, LABELS + k), ValueError, ["labels", "0 to 4", "5"]),
    (lambda: un.reliability(Q, LABELS, bins=10**6), ValueError, ["bins", "10000", "1000000"]),
    (lambda: un.ece(-Q, LABELS), ValueError, ["probabilities", "0 up", "-0.2"]),
    (lambda: Scaling.fit(Y, LABELS + k), ValueError, ["labels", "0 to 4", "fit logits"]),
    (lambda: Scaling.fit(one_is(-INF, ones(B, k)), LABELS), ValueError, ["logits", "finite"]),
    (lambda: Scaling(1.0).probabilities(ones(k)), ValueError, ["logits", "(5,)", "(B, k)"]),
    (lambda: Intervals.fit(Y, Y, -Y), ValueError, ["std", "positive", "1e-50", "-1"]),
    (lambda: Intervals.fit(Y, Y, folds=zeros(B) - 1), ValueError, ["folds", "0 up", "-1"]),
    (lambda: Intervals(Y).interval(Y, Y, level=0.5), ValueError, ["std", "left out", "(7, 5)"]),
    (lambda: Intervals(Y, None, True).interval(Y, level=0.5), ValueError, ["std", "given", "None"]),
    (lambda: Intervals(Y, None, True).interval(Y, -Y, level=0.5), ValueError, ["std", "positive", "-1"]),
    (lambda: Sets.fit(Y, LABELS, None), ValueError, ["probabilities", "sum to 1", "5"]),
    (lambda: Sets.fit(Q, LABELS + k, None), ValueError, ["labels", "0 to 4", "5"]),
    (lambda: Sets(ones(B), None, True).sets(Q, level=0.5), ValueError, ["rng", "given", "None"]),
    (lambda: Sets(ones(B), FOLDS).sets(Q, level=0.6), ValueError, ["probabilities", "(7, 5)", "(2, B, k)"]),
    (lambda: un.disagreement(Q), ValueError, ["predictions", "two members", "(1, 7)"]),
    (lambda: un.disagreement(X), ValueError, ["predictions", "sum to 1", "5"]),
    (lambda: un.disagreement(zeros(M, B) - 1), ValueError, ["predictions", "0 up", "-1"]),
    (lambda: un.chance_disagreement(P[:1], LABELS), ValueError, ["probabilities", "two members", "(1, 7, 5)"]),
    (lambda: un.chance_disagreement(ones(M, B, 1), LABELS), ValueError, ["probabilities", "two classes", "(3, 7, 1)"]),
    (lambda: un.error_correlation(X[:1], Y), ValueError, ["predictions", "two members", "(1, 7, 5)"]),
    (lambda: un.error_correlation(0 * X, 0 * Y), ValueError, ["predictions", "vary", "member 0"]),
    (lambda: un.paired(ones(1)), ValueError, ["differences", "at least two", "(1,)"]),
    (lambda: un.holm([0.5, 1.5]), ValueError, ["p_values", "0 to 1", "1.5"]),
    (lambda: un.coverage(X, X, Y, 1.0), ValueError, ["level", "below 1", "1.0"]),
    (lambda: Intervals(Y, FOLDS).guarantee(0.5), ValueError, ["level", "above 0.5", "got 0.5"]),
    (lambda: un.error_correlation(np.stack([Q**2, Y / 10 + LINE]), LINE), ValueError, ["predictions", "vary", "member 1", "0.1 everywhere"]),
    *[(lambda logits=logits: Scaling.fit(np.array(logits), np.array([1, 0])), ValueError, ["T grows", "tell nothing"])
      for logits in ([[2.0, 0.0], [2.0, 0.0]], [[2.0, 0.0], [0.0, 1.0]], [[3.0, 3.0], [0.1, 0.1]])],
    (lambda: Scaling.fit(np.array([[2.0, 2.0], [1.0, 0.0]]), np.array([1, 0])), ValueError, ["labels", "right on each of 2", "falls to 0"]),
]
DATA = [
    (lambda: Curve("a", 3, 0.1, ((0, 1),), 7), TypeError, ["function", "3"]),
    (lambda: replace(gap, regions=()), TypeError, ["regions", "()", "(low, high)"]),
    (lambda: replace(gap, regions=((1, 0),)), ValueError, ["regions", "((1, 0),)", "left to right"]),
    (lambda: replace(gap, regions=((0, "b"),)), TypeError, ["regions[0]", "'b'"]),
    (lambda: replace(gap, regions=((0, 1), (2, INF))), ValueError, ["regions[1]", "inf"]),
    (lambda: table(x=ones(B)), ValueError, ["x", "(7,)", "(N, m)"]),
    (lambda: table(x=ones(B, m).astype("f4")), TypeError, ["x", "float32", "float64"]),
    (lambda: table(x=changed(NAN)), ValueError, ["x[4, 1]", "nan", "finite"]),
    (lambda: table(y=ones(B)), ValueError, ["y", "(7,)", "(N, m)"]),
    (lambda: table(y=zeros(B, 1)), TypeError, ["y", "int64", "float64"]),
    (lambda: table(y=ones(5, 1)), ValueError, ["y", "5 rows", "7 of x"]),
    (lambda: table(y=np.full((B, 1), NAN)), ValueError, ["y[0, 0]", "nan"]),
    (lambda: table(y=ones(B, 2)), ValueError, ["targets", "('t',)", "2 different strings"]),
    (lambda: table(names=list("abcde")), TypeError, ["names", "list", "tuple"]),
    (lambda: clean([[1, 2]]), TypeError, ["frame must be a DataFrame", "[[1, 2]]"]),
    (lambda: clean(pandas.DataFrame({"a": []})), ValueError, ["frame must have rows", "['a']"]),
    (lambda: column("14/01/2024", "01/02/2024"), ValueError, ["dayfirst", "None", "'14/01/2024'", "row 1 of 2", "column 'd'"]),
    (lambda: column("01/02/2024", "14/01/2024", dayfirst=False), ValueError, ["dayfirst must fit", "False", "'14/01/2024'", "row 2 of 2", "column 'd'"]),
    (lambda: column("1/2/24", dayfirst=False), ValueError, ["frame", "'1/2/24'"]),
    (lambda: column("5 kg", "300 g"), ValueError, ["frame", "numbers in kg", "numbers in g", "row 2 of 2"]),
    *[(lambda cell=cell: column("7", cell), ValueError, ["1,234.5 or $1.2M", repr(cell), "row 2 of 2", "category", "no other words"])
      for cell in ("(5", "(-5)", "+-5", "1.5m", "5 m", "3 bed", "2.0T", "$3mil", "1.2 crore", "<5", "~500", "5+", "5'", "12-14", "1,2345", "1'200,000", "$5%")],
    (lambda: column("1e200"), ValueError, ["finite numbers below 1e+100", "'1e200'"]),
    (lambda: column("?", None, "NA"), ValueError, ["frame", "a value in each column", "'d'"]),
    (lambda: column([1], "a"), TypeError, ["frame", "[1]", "row 1 of 2"]),
    (lambda: clean(pandas.DataFrame({"a": [1]}), like=pandas.DataFrame({"a": [1]})), ValueError, ["like must be what clean returned", "['a']"]),
    (lambda: clean(homes(), like=homes(), dayfirst=True), ValueError, ["dayfirst must be left out with like", "None", "got True"]),
    (lambda: new(rooms=[3]), ValueError, ["frame", "like", "with ['rooms']"]),
    (lambda: encoder(ones(2, 3)), TypeError, ["frame", "DataFrame", "array"]),
    (lambda: encoder(homes()[:0]), ValueError, ["frame", "rows and columns", "(0, 2)"]),
    (lambda: table().split(0, 0.01), ValueError, ["test", "0.01", "7 rows"]),
    (lambda: split(x=ones(B, 1, 1)), ValueError, ["x", "(7, 1, 1)"]),
    (lambda: split(y=ones(5, 1)), ValueError, ["y", "5 rows", "7"]),
    (lambda: split(y=ones(B)), TypeError, ["y", "float64", "labels"]),
    (lambda: split(train=[]), TypeError, ["train", "float64", "integers"]),
    (lambda: split(train=np.zeros(0, int)), ValueError, ["train", "(0,)", "at least 1"]),
    (lambda: split(test=[[3]]), ValueError, ["test", "(1, 1)", "(N,)"]),
    (lambda: split(test=[7]), ValueError, ["test", "7", "0 to 6"]),
    (lambda: split(train=[0, -1]), ValueError, ["train", "-1", "0 to 6"]),
    (lambda: split(train=[0, 3, 5, 3]), ValueError, ["train", "once", "got 3"]),
    (lambda: split(train=[0, 1], test=[2, 1]), ValueError, ["test", "1", "train"]),
    (lambda: Split(ones(2, 1), ones(2, 1), [0], np.array([1])), TypeError, ["train", "list"]),
    (lambda: classes(np.array(1.0), np.zeros(1, int), [0]), ValueError, ["y", "(N,)"]),
    (lambda: classes(ones(3), np.zeros(2, int), [0]), ValueError, ["y", "2 rows", "3 of x"]),
    (lambda: classes(ones(3), np.zeros(3), [0]), TypeError, ["y", "float64", "labels"]),
    (lambda: classes(ones(3), np.arange(3), []), ValueError, ["keep", "[]", "in y"]),
    (lambda: classes(ones(3), np.arange(3), 2), TypeError, ["keep", "2"]),
    (lambda: classes(ones(3), np.arange(3), [1.0]), TypeError, ["keep[0]", "1.0"]),
    (lambda: rotated(ones(3, 4), 3), ValueError, ["images", "(3, 4)", "(N, H, W)"]),
    (lambda: rotated(np.full((3, 4, 4), 255.0), 3), ValueError, ["images", "255", "0 to 1"]),
    (lambda: noisy(np.full(3, -0.1), 0.1, rng()), ValueError, ["images", "-0.1", "0 to 1"]),
    (lambda: noisy(ones(3), -0.1, rng()), ValueError, ["std", "-0.1", "from 0 up"]),
    (lambda: patches(3, 428, rng()), ValueError, ["size", "428", "427"]),
]
PERTURBATIONS = [
    (lambda: separable(R, S * np.nan), ValueError, ["s_cov must hold finite"]),
    (lambda: separable(R + np.eye(3, k=1)), ValueError, ["r_cov must be symmetric", "1"]),
    (lambda: separable(-R), ValueError, ["r_cov must be a covariance", "negative"]),
    (lambda: perturbed(W, S, rng=rng(), draws=2), ValueError, ["r_cov has shape (5, 5)", "(3, 3)"]),
    (lambda: perturbed(W, R, R, rng=rng(), draws=2), ValueError, ["s_cov has shape", "(5, 5)"]),
    (lambda: multiplicative(W, separable(R, S)[:2], rng=rng(), draws=1), ValueError, ["relative has shape (2, 5, 3, 5)", "(3, 5, 3, 5) or (3, 1, 3, 1)"]),
    (lambda: multiplicative(W, -separable(R, S), rng=rng(), draws=1), ValueError, ["relative must be a covariance"]),
    (lambda: spread(W[:1]), ValueError, ["samples has shape (1, 5)", "S at least 2"]),
    (lambda: score(layer=1), ValueError, ["layer must be", "one of 0, 2, 4", "1"]),
    (lambda: score(targets=slice(1)), ValueError, ["loss(outputs of x, targets)", "shape"]),
    (lambda: score()(W), ValueError, ["matrices has shape (3, 5)", "accepted is (S, 3, 5)"]),
    (lambda: hessian(lambda V: V[0], W), ValueError, ["score must return shape (30, 3, 5)"]),
    (lambda: first_order(R, S), ValueError, ["curvature has shape (3, 3)", "(5, 5)"]),
    (lambda: first_order(R, R[0]), ValueError, ["covariance (3,)", "(mn, mn)"]),
]
SKLEARN = [
    (lambda: regressor(method="best").fit(*ROWS), ValueError, ["method", "'single'", "'best'"]),
    (lambda: regressor(hidden=5).fit(*ROWS), TypeError, ["hidden", "tuple of widths", "5"]),
    (lambda: regressor(hidden=(5, 0)).fit(*ROWS), ValueError, ["hidden[1]", "positive", "0"]),
    (lambda: regressor(epochs=0).fit(*ROWS), ValueError, ["epochs", "positive", "0"]),
    (lambda: regressor(lr=-1.0).fit(*ROWS), ValueError, ["lr", "above 0", "-1"]),
    (lambda: regressor(weight_decay=-1.0).fit(*ROWS), ValueError, ["weight_decay", "0 or more", "-1"]),
    (lambda: regressor(batch_size=0).fit(*ROWS), ValueError, ["batch_size", "positive", "0"]),
    (lambda: regressor(patience=0).fit(*ROWS), ValueError, ["patience", "positive", "0"]),
    *[(lambda c=c: regressor(calibration=c).fit(*ROWS), ValueError, ["calibration", said, str(c)])
      for c, said in ((0.0, "between 0 and 1"), (1.0, "between 0 and 1"), (NAN, "between 0 and 1"), (1, "from 2 up"), (12, "11 rows"), (0.9, "leave 2 of 11 rows"), ("cv", "'cv+'"))],
    *[(lambda c=c: classifier(calibration=c).fit(*ROWS), TypeError, ["calibration", "None"]) for c in (True, [0.2], np.ones(2))],
    (lambda: regressor(target="log").fit(*ROWS), ValueError, ["target", "'positive'"]),
    (lambda: regressor(target="positive").fit(ROWS[0], ROWS[1] - 5), ValueError, ["y must hold numbers above 0", "target='positive'", "-5", "row 1 of 11"]),
    (lambda: regressor().fit(*ROWS, groups=[1, 2]), ValueError, ["groups", "11 rows", "got 2"]),
    (lambda: regressor().fit(*ROWS, [None, *range(10)]), ValueError, ["groups", "1 are gaps"]),
    (lambda: regressor().fit(*ROWS, ROWS[1] > 5), ValueError, ["groups must be at least 3", "got 2"]),
    (lambda: regressor().fit(DAYS[:, None], ROWS[1]), TypeError, ["X", "datetime64", "DataFrame"]),
    (lambda: regressor().fit(*ROWS).predict(np.c_[DAYS, DAYS]), TypeError, ["X", "datetime64[D]"]),
    (lambda: regressor().fit(ROWS[0], DAYS), TypeError, ["y must hold numbers", "datetime64[D]"]),
    (lambda: regressor().fit(WOOD, pandas.Series(DAYS)), ValueError, ["y", "got dates"]),
    (lambda: regressor().fit(WOOD, WOOD["wood"]), ValueError, ["y must hold numbers, got names in 'wood'", "EnsembleClassifier"]),
    (lambda: regressor().fit(WOOD.assign(sold="1/3/2024"), ROWS[1]), ValueError, ["dayfirst", "'sold'"]),
    (lambda: regressor().fit(WOOD.assign(gap="?"), ROWS[1]), ValueError, ["'gap'", "frame.drop(columns='gap')"]),
    (lambda: regressor().fit(WOOD, ROWS[1][:5]), ValueError, ["inconsistent", "11", "5"]),
    (lambda: regressor().fit(WOOD[:2], ROWS[1][:2]), ValueError, ["2 sample", "of 3"]),
    (lambda: regressor().fit(WOOD, ROWS[1]).predict(WOOD.rename(columns={"wood": "tree"})), ValueError, ["feature names should match"]),
    (lambda: regressor().fit(ROWS[0], ones(11, 2)), ValueError, ["y should be a 1d array", "(11, 2)"]),
    (lambda: regressor().predict_interval(ROWS[0]), ValueError, ["not fitted"]),
    (lambda: regressor().guarantee(0.9), ValueError, ["not fitted"]),
    (lambda: regressor().fit(*ROWS).predict_interval(ROWS[0], 90), ValueError, ["level", "below 1", "90"]),
    (lambda: regressor().fit(*ROWS).guarantee(90), ValueError, ["level", "below 1", "90"]),
    (lambda: regressor(calibration=2).fit(*ROWS).predict_interval(ROWS[0], 0.5), ValueError, ["level", "above 0.5", "got 0.5"]),
    (lambda: classifier().fit(ROWS[0], ROWS[1] + 0.5), ValueError, ["continuous"]),
    (lambda: classifier().fit(*ROWS).predict_set(ROWS[0], 100), ValueError, ["level must be a finite number above 0 and below 1"]),
]
CONTEST = [
    (lambda: replace(SINGLE, train="adam"), TypeError, ["train must be a function, got 'adam' (str)"]),
    (lambda: replace(SINGLE, tries=()), TypeError, ["tries must be a tuple of dicts, at least one, got () (tuple)"]),
    (lambda: replace(SINGLE, tries=({}, 0.1)), TypeError, ["tries[1] must be a dict, got 0.1 (float)"]),
    (lambda: replace(SINGLE, method="swag"), ValueError, ["method must be one of '', 'single'"]),
    (lambda: replace(SINGLE, scale=0.0), ValueError, ["scale must be a finite number above 0, got 0"]),
    (lambda: replace(SINGLE, draws=1), TypeError, ["draws must be True or False, got 1 (int)"]),
    (lambda: small.job(small.task(), SINGLE, seed=-1), ValueError, ["seed must be an integer from 0 up, got -1"]),
    (lambda: small.job(small.task(), SINGLE, epochs=2.5), TypeError, ["epochs must be a positive integer, got 2.5"]),
    (lambda: task(label=None), TypeError, ["label must be a string, got None"]),
    (lambda: task(steps=0), ValueError, ["steps must be a positive integer, got 0"]),
    (lambda: task(batch_size=2.5), TypeError, ["batch_size must be a positive integer, got 2.5"]),
    (lambda: task(x=[[1.0]] * B), TypeError, ["x must be a pandas.DataFrame or an array, got"]),
    (lambda: task(x=ones(B, m).astype("f4")), TypeError, ["x has dtype float32, accepted is float"]),
    (lambda: task(x=NAN * ones(B, m)), ValueError, ["x must hold finite numbers"]),
    (lambda: task(y=ones(6, 1)), ValueError, ["y has 6 rows, accepted are the 7 of x"]),
    (lambda: task(y=ones(B) > 0), TypeError, ["y has dtype bool, accepted are integers"]),
    (lambda: task(y=np.arange(B) - 1), ValueError, ["y must hold labels from 0 up, got -1"]),
    (lambda: task(y=ones(B, 2)), ValueError, ["y has shape (7, 2), accepted is (N, 1)"]),
    (lambda: task(y=NAN * ones(B, 1)), ValueError, ["y must hold finite numbers"]),
    (lambda: task(groups=np.arange(6)), ValueError, ["groups has shape (6,), accepted is (7,)"]),
    (lambda: task(groups=[0] * B), TypeError, ["groups must be a plain NumPy array (7,), got list"]),
    (lambda: task(groups=ones(B)), TypeError, ["groups must hold integers, got dtype float64"]),
    (lambda: task(hidden=50), TypeError, ['hidden must be a tuple of sizes, or "lenet", got 50 (int)']),
    (lambda: task(hidden="mlp"), TypeError, ["""or "lenet", got 'mlp' (str)"""]),
    (lambda: task(hidden=(50, 0)), ValueError, ["hidden[1] must be a positive integer, got 0"]),
    (lambda: task(hidden="lenet"), ValueError, ["hidden must be sizes unless x are images, and y labels"]),
    (lambda: task(x=ones(B, m, 2)), ValueError, ["x has shape (7, 5, 2), accepted is (N, m) for"]),
    (lambda: task(y=np.arange(B), hidden="lenet"), ValueError, ["accepted is (N, channels, height, width) for such networks"]),
    (lambda: task(shifts=[np.flip]), TypeError, ["shifts must be a mapping of names to functions, got ["]),
    (lambda: task(shifts={"flip": 3}), TypeError, ["shifts must be a mapping of names to functions, got"]),
    (lambda: task(foreign=[[1.0]]), TypeError, ["foreign must be a plain NumPy array, got list"]),
    (lambda: task(foreign=ones(B, 3)), ValueError, ["foreign has shape (7, 3), accepted is (F, 5), as x has"]),
    *[(lambda i=i: tasks.rows_of_split(small.task(), i), error, ["split"]) for i, error in ((5, ValueError), (-1, ValueError), (1.0, TypeError))],
    (lambda: tasks.given("wages", 0), TypeError, ["task must be a Task, got 'wages' (str)"]),
    (lambda: tasks.rows_of_split(small.task(groups=np.arange(small.N) % 3), 0), ValueError, ["small: groups must be so many", "got 3 groups and none for"]),
    (lambda: tasks.given(replace(small.task(), y=np.full((small.N, 1), 7.0)), 0), ValueError, ["small: y must differ among the rows to fit on, got 7.0 alone"]),
    (lambda: rounds.choose("t", 3, SINGLE, 0), TypeError, ["task must be a Task, got 't'"]),
    (lambda: rounds.choose(small.task(), 3, SINGLE, 0), TypeError, ["own must be a Given, got 3 (int)"]),
    (lambda: rounds.choose(small.task(), OWN, "single", 0), TypeError, ["contestant must be a Contestant, got 'single' (str)"]),
    (lambda: rounds.choose(small.task(), OWN, SINGLE, -1), ValueError, ["seed must be an integer from 0"]),
    (lambda: rounds.run_split(small.task(), "x", "single", 0), TypeError, ["contestant must be a Contestant, got 'single' (str)"]),
    (lambda: rounds.run_split(small.task(), 7, SINGLE, 0), TypeError, ["name must be a string, got 7"]),
    (lambda: rounds.run_split(small.task(), "x", SINGLE, 5), ValueError, ["split must be from 0 to 4"]),
    (lambda: scores(values={}), TypeError, ["values", "mapping", "{}"]),
    (lambda: scores(values={"a": [[1.0]]}), TypeError, ["values['a']", "'t'", "list"]),
    (lambda: scores(values={"a": ones(3)}), ValueError, ["values['a']", "(3,)", "(splits, seeds)"]),
    (lambda: scores(values={"a": A, "b": NAN * A}), ValueError, ["values['b']", "finite", "nan"]),
    (lambda: scores(values={"a": A, "b": ones(3, 2)}), ValueError, ["'t'", "'a': 2, 'b': 3"]),
    (lambda: scores(values={"a": A[:1], "b": A[:1]}), ValueError, ["'t'", "at least two", "'a': 1"]),
    (lambda: scores(classes=1), TypeError, ["classes", "True or False", "1"]),
    (lambda: scores(train=0), ValueError, ["train", "positive", "0"]),
    (lambda: pooled(THREE[:2], reference="a"), ValueError, ["tasks", "at least 3 sources", "['t', 'u']"]),
    (lambda: pooled([THREE[0]] * 3, reference="a"), ValueError, ["tasks", "other names", "['t']"]),
    (lambda: pooled(5, reference="a"), TypeError, ["tasks", "TaskScores", "5"]),
    (lambda: pooled(THREE, reference="d"), ValueError, ["reference", "'t'", "'a', 'b'", "'d'"]),
    (lambda: pooled([*THREE, scores("w", values={"a": A, "b": A, "c": A + 1})], reference="a"), ValueError, ["'t'", "['c'] are missing"]),
    (lambda: pooled(THREE, reference="a", higher="yes"), TypeError, ["higher", "'yes'"]),
    (lambda: pooled([*THREE[:2], scores("v", values={"a": ones(2, 2), "b": 0 * A})], reference="a"), ValueError, ["'v'", "unit", "0"]),
    (lambda: task_difference(THREE[0], "z", reference="a"), ValueError, ["contestant of the task 't'", "'z'"]),
]
# fmt: on
CASES = [
    pytest.param(*case, id=f"{group}-{i}")
    for group, cases in {
        "counting": COUNTING,
        "numpy": NUMPY,
        "torch": TORCH,
        "convolutions": CONVOLUTIONS,
        "ensemble": ENSEMBLE,
        "training": TRAINING,
        "uncertainty": UNCERTAINTY,
        "data": DATA,
        "perturbations": PERTURBATIONS,
        "sklearn": SKLEARN,
        "contest": CONTEST,
    }.items()
    for i, case in enumerate(cases)
]  # fmt: skip


# Torch says so of itself where something is compiled.
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
@pytest.mark.parametrize(("call", "error", "words"), CASES)
def test_bad_input_is_named(call, error, words):
    check_error(call, error, words)


#: Tensors that are no arrays of numbers.
ODD = {
    "nested": lambda *shape: torch.nested.nested_tensor([tones(*shape[1:])] * 2),
    "quantized": lambda *shape: torch.quantize_per_tensor(tones(*shape), 0.1, 0, torch.qint8),
    "sparse": lambda *shape: tones(*shape).to_sparse(),
}
#: What else than an argument may be one: (a call, its shape, what it is called)
INSIDE = {
    "noise": (lambda x: et.Rank1Linear(m, 2, M)(tones(B, m), {"r": x, "s": tones(M, 2)}), (M, m), "noise"),
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
