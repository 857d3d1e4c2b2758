"""What users get wrong: an error names the argument, what was given, and what is accepted.

One row a case: a call, and what is printed, as it stands below a traceback; "…" is what varies, or
goes on. Each check has one row; that every argument of every public function is checked,
`test_hostile.py` says.
"""

import re
from dataclasses import replace
from functools import partial

import numpy as np
import pandas
import pytest
import torch
from numpy import ones

import ensedu.numpy as en
import ensedu.torch as et
from ensedu import costs, counting, methods
from ensedu import uncertainty as un
from ensedu.contest import rounds, tasks
from ensedu.contest.contestants import CONTESTANTS
from ensedu.contest.statistics import TaskScores, pooled, task_difference
from ensedu.data import Curve, Split, Table, classes, clean, encoder, gap, noisy, patches, rotated
from ensedu.priors import Cauchy, Normal
from ensedu.sklearn import EnsembleClassifier, EnsembleRegressor
from ensedu.theory import perturbations
from ensedu.theory.perturbations import first_order, multiplicative, separable
from ensedu.uncertainty import ConformalIntervals as Intervals
from ensedu.uncertainty import ConformalSets as Sets
from ensedu.uncertainty import TemperatureScaling as Scaling
from tests.contest import small
from tests.theory.perturbations import matrices

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
    net, x, y = matrices.network()
    return perturbations.Score(net, x, y[targets], layer=layer)


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
W = matrices.some_weight()
R, S = matrices.covariance(1, matrices.m), matrices.covariance(2, matrices.n)
ROWS = np.arange(22.0).reshape(11, 2), np.arange(11.0)
WOOD = pandas.DataFrame({"wood": ["oak", "ash", "fir", "oak"] * 2 + ["ash"] * 3})
DAYS = np.arange(11).astype("datetime64[D]")
SINGLE = CONTESTANTS["single"]
OWN = tasks.split_of(small.task(), 0)
A = np.array([[1.0, 2.0], [3.0, 5.0]])
THREE = [scores(name) for name in "tuv"]

CASES = [
    # Counts, costs and priors
    (lambda: counting.mlp([1], "single"), "ValueError: sizes must be a sequence of at least two positive integers, got [1] (list)"),
    (lambda: counting.mlp(5, "single"), "TypeError: sizes must be a sequence of at least two positive integers, got 5 (int)"),
    (lambda: counting.mlp([1, 0, 1], "single"), "ValueError: sizes[1] must be a positive integer, got 0 (int)"),
    (lambda: counting.mlp([1, 2], 4), "TypeError: method must be one of 'single', 'deep_ensemble', 'batch_ensemble', 'rank1', 'mean_field', 'mc_dropout', 'last_layer', got 4 (int)"),
    (lambda: counting.break_even_width([1, 2], "rank1", 4), "TypeError: sizes must be a sequence of positive integers with None for the width, got [1, 2] (list)"),
    (lambda: counting.count(3), "TypeError: thing must be an ensedu.numpy layer or network or a torch.nn.Module, got 3 (int)"),
    (lambda: counting.count(torch.nn.LazyLinear(3)), "TypeError: thing holds .weight, a lazy parameter without a shape; accepted is a module whose parameters are all initialized"),
    (lambda: counting.linear(10**400, 3), "ValueError: in_features must be a positive integer below 2**63, got 100000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 …"),
    (lambda: counting.Count() + 3, "TypeError: unsupported operand type(s) for +: 'Count' and 'int'"),
    (lambda: counting.Count(layers=[counting.Count()]), "TypeError: layers must be a tuple of Counts, got [Count(shared=0, per_member=0, scales=0, biases=0, frozen=0)] (list)"),
    (lambda: methods.Method("a", "b", "c", "d", [WEIGHT]), "TypeError: arrays must be a tuple of Array, got [Array(name='weight', shape='m n', role='shared')] (list)"),
    (lambda: costs.Cost(1, 2, 0, 0).intensity, "ValueError: num_params and num_activations are 0, accepted is a cost that moves"),
    (lambda: costs.Cost(10**400, 2, 1, 1).intensity, "ValueError: product_flops, other_flops, num_params and num_activations must be below 1e308 to be divided, got 100000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 …"),
    # NumPy
    (lambda: en.Linear(m, n, rng=0), "TypeError: rng must be a numpy.random.Generator (numpy.random.default_rng(seed)), got int"),
    (lambda: rank1(prior=(1.0, 0.1)), "TypeError: prior must be an ensedu.priors.Normal, Cauchy or ScaleMixture, got (1.0, 0.1) (tuple)"),
    (lambda: mean_field(estimator="local")(ones((B, m)), {"output": ones((B, m))}), "ValueError: noise['output'] has shape (7, 5), accepted is (7, 11)"),
    (lambda: mean_field().kl({"weight": ones((m, n))}), "ValueError: noise must be a dict with keys ['bias', 'weight'], got keys ['weight']"),
    (lambda: drop(feature_axes=3)(ones((3, 5, 7))), "ValueError: MCDropout: input x has shape (3, 5, 7), accepted are (B, ·, ·, ·) and (S, B, ·, ·, ·)"),
    (lambda: linear()(ones((B, n))), "ValueError: Linear: input x has shape (7, 11), accepted is (..., 5)"),
    (lambda: linear()(np.float64(3.0)), "TypeError: Linear: input x must be a plain NumPy array, got float64"),
    (lambda: linear()(ones((B, m)).astype(int)), "TypeError: Linear: input x has dtype int64, accepted is float64"),
    (lambda: en.DeepEnsembleLinear(m, n, M, rng=rng())(ones(m)), "ValueError: DeepEnsembleLinear: input x has shape (5,), accepted are (B, 5), (3, B, 5) and (S, 3, B, 5)"),
    (lambda: en.Tile(M)(ones((M, B, m))), "ValueError: Tile: input x has shape (3, 7, 5), accepted is (B, features)"),
    (lambda: en.ReLU()(ones((B, m)).astype(int)), "TypeError: ReLU: input x has dtype int64, accepted is float64"),
    (lambda: rank1().forward(ones((B, m)), 3), "TypeError: noise must be a dict with keys ['r', 's'], got int"),
    (lambda: mean_field().weight_matrices({"weight": ones((m, n)).astype("f4"), "bias": ones(n)}), "TypeError: noise['weight'] has dtype float32, accepted is float64"),
    (lambda: drop().forward(ones((B, m)), {"mask": ones((1, m))}), "TypeError: noise must be a dict {\"mask\": array of bools}, got {'mask': array([[1., 1., 1., 1., 1.]])} (dict)"),
    (lambda: drop().forward(ones((B, m)), {"mask": ones((2, m)) > 0}), "ValueError: noise['mask'] has shape (2, 5), accepted is (1, 5) or (7, 5)"),
    (lambda: linear().backward(ones((B, n))), "ValueError: Linear.backward: grad was given before any forward pass; accepted after forward(x)"),
    (lambda: altered(en.DeepEnsembleLinear(m, n, M, rng=rng()), lambda layer: layer(ones((B, m)))).backward(ones((B, n))), "ValueError: DeepEnsembleLinear: grad has shape (7, 11), accepted is the output's shape (3, 7, 11)"),
    (lambda: en.mlp([m, n], "rank1", M, rng=rng())(ones((B, m)), {"1.r": ones((M, m))}), "ValueError: noise has the key '1.r', accepted are those of layers that draw, 0, as net.noise() returns them"),
    (lambda: en.mlp([m, n], "rank1", M, rng=rng())(ones((B, m)), 3), "TypeError: noise must be a dict of arrays, as net.noise() returns it, got int"),
    (lambda: en.mlp([m, n], "batch_ensemble", M, rng=rng(), prior=Normal()), "TypeError: BatchEnsembleLinear.__init__() got an unexpected keyword argument 'prior'"),
    (lambda: en.Sequential(linear(), 3), "TypeError: layers[1] must be an ensedu.numpy layer, got 3 (int)"),
    (lambda: en.SGD([linear()], 0.1), "TypeError: network must be an ensedu.numpy layer or network, got [Linear(5, 11)] (list)"),
    (lambda: en.Adam(linear(), betas=0.9), "TypeError: betas must be a pair of numbers, got 0.9 (float)"),
    (lambda: en.Adam(linear(), betas=(0.9, 1.0)), "ValueError: betas[1] must be a number from 0 to below 1, got 1.0"),
    (lambda: en.half_squared_error(ones((B, 2)), ones((B, 2)).astype(int)), "TypeError: targets has dtype int64, accepted is float64"),
    (lambda: en.half_squared_error(ones((0, 2)), ones((0, 2))), "ValueError: nll of outputs of shape (0, 2) is empty, accepted is at least one example"),
    (lambda: en.softmax_cross_entropy(ones((B, 2)), ones(B)), "TypeError: targets must be a NumPy array of integer labels, got float64"),
    (lambda: en.softmax_cross_entropy(ones((B, 2)), np.full(B, 2)), "ValueError: targets hold labels from 2 to 2, accepted are 0 to 1"),
    (lambda: en.softmax_cross_entropy(ones((B, 2)), np.zeros(B + 1, int)), "ValueError: outputs have shape (7, 2) and targets (8,), accepted are (M, B, k) or (B, k) with (B,), and (M, B, k) with (M, B)"),
    (lambda: en.reduce(ones((M, B)), ones((M, B)), "mean"), "ValueError: nll has shape (3, 7) and grad (3, 7), accepted are (M, B) and (M, B, k)"),
    (lambda: linear()(ones((B, m)), {}), "TypeError: Linear.forward() got an unexpected keyword argument 'noise'"),
    (lambda: linear().weight_matrices({"weight": 3}), "TypeError: noise must be None for Linear, which draws nothing, got {'weight': 3} (dict)"),
    (lambda: mean_field().noise(None, 5), "TypeError: input_shape must be a tuple of integers, got 5 (int)"),
    (lambda: rank1().weight_matrices({"r": [[1.0], [1.0, 2.0]], "s": np.ndarray}), "TypeError: noise['r'] must be a plain NumPy array, got list"),
    (lambda: en.Sequential(*[linear()] * 2), "ValueError: layers must be different objects, got one Linear(5, 11) at 0 and 1"),
    (lambda: en.Sequential(linear(), en.Sequential(tanh := en.Tanh()), tanh), "ValueError: layers must be different objects, got one Tanh() at …"),
    (lambda: en.SGD(altered(en.Sequential(linear(), linear()), lambda net: net.layers[1].params.update(net.layers[0].params)), 0.1), "ValueError: network has one array as 0.weight and 1.weight; accepted are arrays of one layer each"),
    # Torch
    (lambda: et.BatchEnsembleLinear(m, n, M, dtype=torch.int64), "TypeError: dtype must be a floating-point torch.dtype or None, got torch.int64 (dtype)"),
    (lambda: et.MeanFieldLinear(m, n, estimator="local")(tones(B, m), {"output": tones(B, m)}), "ValueError: noise['output'] has shape (7, 5), accepted is (7, 11)"),
    (lambda: et.MeanFieldLinear(m, n, estimator="flipout")(tones(B, m), {"input_signs": tones(B, m)}), "ValueError: noise must be a dict with keys ['bias', 'input_signs', 'output_signs', 'weight'], got keys ['input_signs']"),
    (lambda: et.to_numpy(et.MeanFieldLinear(m, n, estimator="flipout"), rng=rng()), "ValueError: module has estimator='flipout', accepted is 'weights' or 'local'"),
    (lambda: et.MeanFieldLinear(m, n).noise(3), "TypeError: generator must be a torch.Generator or None, got int"),
    (lambda: et.DeepEnsembleLinear(m, n, M)(tones(B, m).double()), "TypeError: DeepEnsembleLinear: input x has dtype torch.float64, accepted is torch.float32"),
    (lambda: et.BatchEnsembleLinear(m, n, M)(tones(B, m).long()), "TypeError: BatchEnsembleLinear: input x has dtype torch.int64, accepted is a floating-point dtype"),
    (lambda: et.Tile(M)(tones(M, B, m)), "ValueError: Tile: input x has shape (3, 7, 5), accepted is (B, features)"),
    (lambda: et.mlp([m, True]), "TypeError: sizes[1] must be a positive integer, got True (bool)"),
    (lambda: et.mlp([m, n], "rank1", M)(tones(B, m), {"3.r": tones(M, m)}), "ValueError: noise has the key '3.r', accepted are those of layers that draw, 0, as net.noise() returns them"),
    (lambda: et.mlp([m, n], "rank1", M)(tones(B, m), tones(M, m)), "TypeError: noise must be a dict of arrays, as net.noise() returns it, got Tensor"),
    (lambda: et.Sequential(torch.nn.Sequential(et.Rank1Linear(m, n, M))).noise(None, (B, m)), "ValueError: layer 0 is a Sequential around layers that draw, accepted are those layers themselves, or in an ensedu.torch.Sequential"),
    (lambda: et.from_numpy(3), "TypeError: layer must be one of AvgPool2d, BatchEnsembleConv2d, BatchEnsembleLinear … int"),
    (lambda: et.variational.entry_kl(tones(m), tones(m), Cauchy()), "TypeError: noise must be a tensor for a Cauchy prior, got None"),
    (lambda: et.to_numpy(torch.nn.Linear(m, n).bfloat16(), rng=rng()), "TypeError: module.weight is torch.bfloat16, accepted is float64 or float32"),
    (lambda: et.to_numpy(torch.nn.Linear(m, n, device="meta"), rng=rng()), "ValueError: module.weight is on the device 'meta', accepted is one with data"),
    (lambda: et.from_numpy(linear(), device="gpu"), "ValueError: device is 'gpu' (str), which Torch refuses: Expected one of cpu, cuda …"),
    # Convolutions
    (lambda: conv(kernel_size=(3, 0)), "ValueError: kernel_size[1] must be a positive integer, got 0 (int)"),
    (lambda: conv(kernel_size=(3, 3, 3)), "ValueError: kernel_size must be a positive integer or a pair of them, got (3, 3, 3) (tuple)"),
    (lambda: conv(padding="same", stride=2), "ValueError: padding must be numbers for a stride of (2, 2), got 'same'"),
    (lambda: conv(groups=4), "ValueError: groups must divide in_channels, got groups 4 and in_channels 6"),
    (lambda: et.MaxPool2d(2)(tones(m, n)), "ValueError: MaxPool2d: input x has shape (5, 11), accepted is (…, C, H, W)"),
    (lambda: conv(transposed=True), "TypeError: ConvLayer.__init__() got an unexpected keyword argument 'transposed'"),
    # Models that become ensembles
    (lambda: ensemble(3), "TypeError: model must be a torch.nn.Module, got int"),
    (lambda: ensemble(method="mc_dropout"), "ValueError: model has no dropout to keep active, got none; accepted are Dropout, Dropout1d, Dropout2d …"),
    (lambda: ensemble(Model(drop=torch.nn.AlphaDropout(0.5)), method="mc_dropout"), "ValueError: model has dropout of another kind, drop (nn.AlphaDropout); accepted are Dropout, Dropout1d, Dropout2d, Dropout3d"),
    (lambda: ensemble(method="rank1")(tones(B, m), noise=3), "TypeError: noise must be a dict, as net.noise() returns it, got int"),
    (lambda: ensemble(method="last_layer"), "TypeError: head must be the name of an nn.Linear or nn.Conv2d of the model, got None; it has 0, 2"),
    (lambda: ensemble(method="last_layer", head="2", init_std=-1), "ValueError: init_std must be a finite number above 0, got -1.0"),
    (lambda: ensemble(method="rank1")(tones(B, m), noise={"0.r": tones(M, m)}), "ValueError: 0: noise must be a dict with keys ['r', 's'], got keys ['r']"),
    (lambda: dropping().member(0, {"3.mask": tones(2, 1, 2) > 0}), "ValueError: 3: noise['mask'] has shape (2, 1, 2), accepted is a mask for each of 1 samples, as net.noise() returns it"),
    (lambda: ensemble(method="rank1", per_example=True).noise(), "ValueError: noise of 0 depends on its input for per_example=True; accepted are the inputs too, net.noise(generator, x)"),
    (lambda: setattr(ensemble(), "leading", (8,)), "AttributeError: property 'leading' of 'ModelEnsemble' object has no setter"),
    (lambda: ensemble(method="deep_ensemble", initialize=3), "TypeError: initialize must be a function that returns a new model, or one of a module, got 3"),
    (lambda: ensemble(shared="0"), "TypeError: shared must be a sequence of names, patterns such as '*.attn' and types, got '0' (str)"),
    (lambda: ensemble(shared=["1.weight"]), "ValueError: shared must hold names of modules or parameters of the … '1.weight'; it has 0, 0.bias, 0.weight …"),
    (lambda: ensemble(Model(own=torch.nn.Parameter(tones(m, m)))), "ValueError: model has matrices of its own, own (5, 5) of tests.test_bad_input.Model: list each as shared … modulated …"),
    (lambda: ensemble(shared=[0]), "TypeError: shared must hold names, patterns and types, got 0 (int)"),
    (lambda: ensemble(shared=["0", "2"]), "ValueError: model has no layer to swap; accepted is a model with a weight, such as that of an nn.Linear or nn.Conv2d, that is not listed in shared"),
    (lambda: ensemble(altered(Model(embed=torch.nn.Embedding(n, m), decode=torch.nn.Linear(m, n, bias=False)), lambda net: setattr(net.decode, "weight", net.embed.weight))), "ValueError: model has tied weights, which members have and share at once: embed.weight = decode.weight (list decode.weight as shared); accepted are ties between products"),
    (lambda: ensemble(altered(plain(), lambda net: net[0].weight.register_hook(abs))), "ValueError: model has hooks of parameters, 0.weight, which an ensemble would lose; accepted are hooks of the ensemble's own parameters"),
    (lambda: ensemble(ensemble(method="deep_ensemble")), "ValueError: model is an ensemble already (ensedu.torch.ensembling.deep_ensemble.MemberCopies); accepted is a model of one network"),
    (lambda: ensemble(altered(plain(), lambda net: net[0].weight.requires_grad_(False)), "deep_ensemble"), "ValueError: model has frozen parameters, 0.weight, which new members would draw anew; accepted are trained ones, and frozen ones that are listed in shared"),
    (lambda: ensemble(torch.nn.utils.spectral_norm(torch.nn.Linear(m, n)), "deep_ensemble"), "ValueError: model has parameters that nothing initializes anew: weight_orig (nn.Linear …"),
    (lambda: ensemble(Model(lazy=torch.nn.LazyLinear(n)), "deep_ensemble"), "ValueError: model has lazy parameters without a shape, lazy.weight, lazy.bias; accepted is a model that has seen an input"),
    (lambda: ensemble(altered(Model(), lambda net: setattr(net, "act", lambda x, fc=net.fc: fc(x)))), "ValueError: act is a function that holds a nn.Linear of the model itself, which a copy would go on using; accepted is a method of the class, or a module"),
    (lambda: ensemble(altered(plain(), lambda net: net.register_forward_hook(lambda module, x, y, inner=net[0]: inner(x[0]))), "mean_field"), "ValueError: _forward_hooks is a function that holds a nn.Linear of the model itself, which a copy would go on using; accepted is a method of the class, or a module"),
    (lambda: ensemble(torch.compile(plain())), "ValueError: model is compiled (torch._dynamo.eval_frame.OptimizedModule); accepted is the model itself, whose ensemble can be compiled"),
    (lambda: ensemble(torch.nn.Sequential(torch.compile(torch.nn.Tanh()))), "ValueError: 0 is compiled (torch._dynamo.eval_frame.OptimizedModule); accepted is the model itself, whose ensemble can be compiled"),
    (lambda: ensemble(ensemble(method="rank1")), "ValueError: model is an ensemble already (ensedu.torch.ensembling.members.ModelEnsemble); accepted is a model of one network"),
    (lambda: ensemble(modulated=["fcs"]), "ValueError: modulated must hold names of modules or parameters of the … 'fcs'; it has 0, 0.bias, 0.weight …"),
    (lambda: ensemble(samples=2), "ValueError: samples must be left out for 'batch_ensemble', which draws nothing, got 2 (int)"),
    (lambda: ensemble(torch.nn.Dropout(0), "mc_dropout"), "ValueError: model has no dropout to keep active, got  with p=0; …"),
    (lambda: ensemble(torch.nn.Sequential(torch.nn.Dropout(1.0)), "mc_dropout"), "ValueError: model has no dropout to keep active, got 0 with p=1.0; …"),
    (lambda: dropping(shared=["3"]), "ValueError: model has no dropout to keep active, got none; accepted …"),
    (lambda: et.ensemble(plain(), "mc_dropout", M), "ValueError: ensemble_size must be left out for 'mc_dropout', which has no members, got 3 (int); accepted is samples=3"),
    (lambda: ensemble(method="last_layer", head="1"), "ValueError: head must be the name of an nn.Linear or nn.Conv2d of the model, got '1'; it has 0, 2"),
    (lambda: ensemble(method="last_layer", head="0", init="signs"), "TypeError: options of 'last_layer' are head, init_std, got 'init'"),
    (lambda: ensemble().member(M), "ValueError: index must be below the leading axes (3,), got 3"),
    (lambda: ensemble().member(-1), "ValueError: index must be an integer from 0 up, got -1 (int)"),
    (lambda: ensemble().member((0, 1)), "ValueError: index must be an integer for leading axes (3,), got (0, 1)"),
    (lambda: ensemble().member(0, {"0.r": 1}), "ValueError: noise has the key '0.r', accepted are those of layers that draw, none, as net.noise() returns them"),
    (lambda: ensemble(method="deep_ensemble").member(0, {"r": 1}), "ValueError: noise must be left out where nothing is drawn, got {'r': 1}"),
    (lambda: ensemble(method="rank1").member(0), "ValueError: noise must be given for a method that draws, got None; accepted is what net.noise() returns"),
    (lambda: ensemble(method="rank1").member(0, {}), "ValueError: noise has nothing for 0, accepted is what net.noise() returns for such inputs"),
    (lambda: ensemble(method="rank1").member(0, {"7.r": 1}), "ValueError: noise has the key '7.r', accepted are those of layers that draw, 0, 2, as net.noise() returns them"),
    (lambda: ensemble(method="rank1", per_example=True).member(0, {"0.r": 1}), "ValueError: 0 draws for each example, and no member has one weight; accepted is per_example=False, or estimator='weights'"),
    (lambda: ensemble(method="rank1")(tones(B, m), noise={"0.r": tones(M, m).double(), "0.s": tones(M, n)}), "TypeError: 0: noise['r'] has dtype torch.float64, accepted is torch.float32"),
    (lambda: ensemble()(tones(B, m), noise={"0.r": 1}), "ValueError: noise has the key '0.r', accepted are those of layers that draw, none, as net.noise() returns them"),
    (lambda: setattr(ensemble(), "ensemble_size", 2), "AttributeError: ensemble_size cannot be set, got 2; accepted is another ensemble of the model"),
    (lambda: setattr(dropping(), "ensemble_size", 2), "AttributeError: ensemble_size cannot be set, got 2; accepted is another ensemble of the model, or another number of samples"),
    (lambda: setattr(ensemble(), "samples", 2), "ValueError: samples must be left out where nothing is drawn, got 2"),
    (lambda: setattr(ensemble(method="deep_ensemble"), "samples", 3), "ValueError: samples must be left out where nothing is drawn, got 3"),
    (lambda: dropping().noise(), "ValueError: noise of 3 depends on its input as every mask of dropout does; accepted are the inputs too, net.noise(generator, x)"),
    (lambda: ensemble(torch.nn.GRU(m, n), "rank1", per_example=True), "ValueError: per_example must be False for a model with weights other than those of nn.Linear and nn.Conv2d, of which weight_ih_l0 of a GRU is one, got True"),
    (lambda: ensemble(altered(Model(lambda self, x: (y := self.fc(x), setattr(self, "seen", (1e6 * y).sum().long()))[0]), lambda net: net.register_buffer("seen", torch.tensor(0))))(tones(B, m)), "ValueError: the model writes another seen for each member, a buffer of torch.int64 that is one for all; accepted is one of floating point, or a deep ensemble"),
    (lambda: ensemble(Model(lambda self, x: torch.nested.as_nested_tensor([self.fc(x)], layout=torch.jagged)), "deep_ensemble")(tones(B, m)), "TypeError: the output of the model is a nested tensor, accepted are dense ones; what else members return, each gives by itself, net.member(i)"),
    (lambda: setattr(ensemble(method="rank1"), "samples", 0), "ValueError: samples must be a positive integer, got 0 (int)"),
    (lambda: setattr(ensemble(method="rank1"), "samples", 1.5), "TypeError: samples must be a positive integer, got 1.5 (float)"),
    (lambda: ensemble(Model(lambda self, x: (self.fc(x), self.fc(x).mean().item())), "deep_ensemble")(tones(B, m)), "ValueError: the output of the model must be the same for all members … member 2 …"),
    (lambda: ensemble(Model(lambda self, x: iter([self.fc(x)])))(tones(B, m)), "TypeError: the output of the model is a builtins.list_iterator, … tuples …"),
    # Training and prediction
    (lambda: fit(net=3), "TypeError: net must be a torch.nn.Module, got 3 (int)"),
    (lambda: fit(net=torch.nn.ReLU()), "ValueError: net must have parameters to train, on one device, got none"),
    (lambda: fit(net=torch.nn.LazyLinear(2)), "ValueError: net must have seen an input, got parameters without a shape: ['weight', 'bias']"),
    (lambda: fit(x=ones((B, m))), "TypeError: x must be a dense torch.Tensor, a tuple of arguments or a dict of named ones, got a numpy.ndarray of shape (7, 5) and dtype float64; torch.tensor(x) makes one"),
    (lambda: fit(x=tones(B, m).to_sparse()), "TypeError: x must be a dense torch.Tensor, got a torch.Tensor of shape (7, 5) and dtype torch.float32, of layout torch.sparse_coo"),
    (lambda: fit(x=tones(B, m).double()), "TypeError: x has dtype torch.float64, accepted is that of the net, torch.float32"),
    (lambda: fit(x=tones(0, m), y=tones(0, 2)), "ValueError: x must hold at least one example, got shape (0, 5) on cpu"),
    (lambda: fit(x=put(tones(B, m), (4, 2))), "ValueError: x must hold finite numbers, got nan at (4, 2)"),
    (lambda: fit(y=tones(B, 3)), "ValueError: in nll(net(x), y): outputs have shape (3, 7, 2) and targets (7, 3) …"),
    (lambda: fit(nll="mse"), "TypeError: nll must be a function, called as nll(net(x), y), got 'mse' (str)"),
    (lambda: fit(nll=lambda outputs, targets: outputs), "ValueError: nll must return one number, a tensor of shape (), got shape (3, 7, 2)"),
    (lambda: fit(batch_size=B + 1), "ValueError: batch_size must be at most the number of examples, 7, got 8"),
    (lambda: fit(kl=0.5), "TypeError: kl must be a KLWeight, got 0.5 (float)"),
    (lambda: fit(split=True), "ValueError: batch_size must be a multiple of the 3 members that split it, got 7"),
    (lambda: fit(net=plain(), split=True), "ValueError: split must be False for a net without one number of members, got a Sequential with none"),
    (lambda: fit(net=et.mlp([m, 2], "mean_field"), split=True), "ValueError: split must be False for a net that repeats its input for samples, got a Sequential; accepted is one without samples"),
    (lambda: fit(seed=2**64), "ValueError: seed must be below 2**64, got 18446744073709551616 (int)"),
    (lambda: fit(validation=tones(B, m)), "TypeError: validation must be a pair (x, y), a Validation or None, got tensor([[1. …"),
    (lambda: et.Validation(tones(B, m), tones(B, 2), samples=3), "ValueError: samples must be 1 for the score 'mean', got 3"),
    (lambda: fit(validation=held(score="mixture", samples=3)), "ValueError: samples must be 1 for a net that draws nothing, got 3"),
    (lambda: fit(validation=held(score="mixture"), nll=lambda o, t: (o - t).square().mean()), "ValueError: score must be 'mean' or a function for an nll that has no reduction, got 'mixture' …"),
    (lambda: fit(validation=held(score=lambda p, y: p)), "TypeError: score must return one number, less being better, got a torch.Tensor of shape (3, 7, 2) and dtype torch.float32"),
    (lambda: fit(validation=held(score=lambda p: p)), "TypeError: in score(predictions, y): <lambda>.<locals>.<lambda>() takes 1 positional argument but 2 were given"),
    (lambda: fit(validation=et.Validation(tones(B, m))), "TypeError: x of validation must give minibatches (x, y) where y is left out, such as a DataLoader, got a torch.Tensor of shape (7, 5) and dtype torch.float32"),
    (lambda: fit(checkpoint=3), "TypeError: checkpoint must be a path, a SaveTo or None, got 3 (int)"),
    (lambda: et.SaveTo(3), "TypeError: folder must be a path, got 3 (int)"),
    (lambda: et.fit(et.mlp([m, 2]), [pair()], et.half_squared_error, epochs=1), "TypeError: nll must be named where x gives minibatches, fit(net, x, nll=...), got it as y"),
    (lambda: fit(num_examples=B), "ValueError: num_examples must be None for tensors, whose number is known, got 7"),
    (lambda: fit(scheduler=0.9), "TypeError: scheduler must be a function, called as scheduler(optimizer), got 0.9 (float)"),
    (lambda: fit(scheduler=lambda optimizer: optimizer), "TypeError: scheduler must return a torch.optim.lr_scheduler.LRScheduler … AdamW …"),
    (lambda: fit(autocast=True), "TypeError: autocast must be torch.bfloat16 or None, got True (bool)"),
    (lambda: fit(autocast=torch.float16), "ValueError: autocast must be torch.bfloat16 or None, got torch.float16, which needs a gradient scaler"),
    (lambda: fit(x=(tones(B, m), tones(B + 1, m))), "ValueError: x has tensors of shapes {'x[0]': (7, 5), 'x[1]': (8, 5)}, … first axis …"),
    (lambda: fit(x={1: tones(B, m)}), "TypeError: x must have strings for names, got [1]"),
    (lambda: fit(net=torch.nn.Sequential(torch.nn.Embedding(n, 2), torch.nn.Flatten(0, 1)), x=tones(B, 1).long(), adversarial=0.1), "TypeError: x must hold floats with adversarial above 0, got a torch.Tensor of shape (7, 1) and dtype torch.int64"),
    (lambda: fit(x=(tones(B, m),), adversarial=0.1), "TypeError: adversarial must be 0 but for x in one tensor, in which each input has a range, got 0.1 for a tuple"),
    (lambda: stream(pair() for _ in range(3)), "ValueError: x must be iterable again and again, got <generator object … one epoch …"),
    (lambda: stream([]), "ValueError: x must give minibatches in each epoch, got none; accepted is an object whose __iter__ begins anew"),
    (lambda: stream([tones(B, m)]), "TypeError: x must give pairs (inputs, targets), got a torch.Tensor of shape (7, 5) and dtype torch.float32 in batch 1; a loader's collate_fn can make them"),
    (lambda: stream([pair()], batch_size=B), "ValueError: batch_size must be left out for minibatches that have their own, got 7 (int)"),
    (lambda: stream([pair()], net=et.mlp([m, 2], "rank1", M)), "ValueError: num_examples must be given for a net with distributions, whose KL belongs to all examples, got None, and no dataset of x that has a length"),
    (lambda: stream(type("Unsized", (), {"__iter__": lambda self: iter([pair()])})(), kl=et.KLWeight(anneal=1)), "ValueError: x must have a length for a KL that grows over epochs, got <tests.test_bad_input.Unsized … KLWeight(beta) …"),
    (lambda: et.predict(plain(), [tones(B, m)], batch_size=3), "ValueError: batch_size must be None for a stream x, got 3 (int)"),
    (lambda: et.predict(plain(), [pair()]), "ValueError: targets must be True or False for x that gives several parts, got None with 2 parts in batch 1: …"),
    (lambda: et.predict(plain(), [pair()], targets="y"), "TypeError: targets must be True or False, got 'y' (str)"),
    (lambda: et.predict(plain(), [tones(B, m)], targets=True), "TypeError: x must give pairs (inputs, targets) with targets=True, got a torch.Tensor of shape (7, 5) and dtype torch.float32 in batch 1"),
    (lambda: et.predict(plain(), tones(B, m), targets=True), "ValueError: targets must be None for x that is no stream, got True (bool)"),
    (lambda: et.predict(plain(), (tones(0, m),)), "ValueError: x must hold at least one example, got none"),
    (lambda: et.predict(plain(), []), "ValueError: x must give a minibatch, got none"),
    (lambda: et.predict(torch.nn.Sequential(torch.nn.Linear(m, n), et.MCDropout()), [tones(B, m)]), "ValueError: batch_size must be None and x no stream for a Sequential, which draws but has no noise() …"),
    (lambda: fit(optimizer=lambda groups, lr: groups), "TypeError: optimizer must return a torch.optim.Optimizer, got … (list …"),
    (lambda: fit(optimizer=torch.optim.Adam(plain().parameters()), lr=0.1), "ValueError: lr, fast_lr_factor and weight_decay must be left out beside an optimizer that has its own, got 0.1, 1.0 and 0.0"),
    (lambda: fit(optimizer=torch.optim.Adam(plain().parameters())), "ValueError: optimizer must have parameters of net alone, got some of another"),
    (lambda: et.half_squared_error(tones(M, B, 2), tones(M, 2)), "ValueError: outputs have shape (3, 7, 2) and targets (3, 2), accepted are (M, B, k) or (B, k) with (B, k), or (B,) for k = 1, and (M, B, k) with (M, B, k)"),
    (lambda: et.softmax_cross_entropy(tones(M, B, 2), tones(B)), "TypeError: targets must be a dense torch.Tensor of integer labels, (B,), got a torch.Tensor of shape (7,) and dtype torch.float32"),
    (lambda: et.softmax_cross_entropy(tones(M, B, 2), torch.ones(B, device="meta").long()), "ValueError: targets for these outputs are on device meta, accepted is cpu"),
    (lambda: et.softmax_cross_entropy(tones(M, 0, 2), torch.ones(0).long()), "ValueError: nll has shape (3, 0), accepted is (M, B) with at least one example"),
    (lambda: fit_numpy(net=plain()), "TypeError: net must be an ensedu.numpy layer or network, got Sequential( …"),
    (lambda: fit_numpy(net=en.ReLU()), "ValueError: net must have parameters to train, got ReLU() (ReLU)"),
    (lambda: fit_numpy(x=tones(B, m)), "TypeError: x must be a plain NumPy array of numbers, got tensor([[1., …"),
    (lambda: fit_numpy(x=ones((0, m)), y=ones((0, 2))), "ValueError: x must hold at least one example, got shape (0, 5)"),
    (lambda: fit_numpy(y=np.array([[1.0, 2.0]] * 3 + [[1.0, NAN]] * 4)), "ValueError: y must hold finite numbers, got nan at (3, 1)"),
    (lambda: fit_numpy(nll=lambda o, t: en.half_squared_error(o, t)[0]), "TypeError: nll must return one number and a gradient, got 1.0211075896071633 (float)"),
    (lambda: fit_numpy(nll=lambda o, t: en.half_squared_error(o, t, reduction="none")), "ValueError: nll must return one number, got one of shape (3, 7)"),
    (lambda: fit_numpy(batch_size=B + 1), "ValueError: batch_size must be at most the number of examples, 7, got 8"),
    (lambda: fit_numpy(split=True), "ValueError: batch_size must be a multiple of the 3 members that split it, got 7"),
    (lambda: fit_numpy(net=en.mlp([m, 2], "rank1", M, samples=2, rng=rng()), split=True), "ValueError: split must be False for a net that repeats its input for samples, got a Sequential; accepted is one without samples"),
    (lambda: fit_numpy(validation=en.Validation(ones((B, m)), ones((B, 2)), score="mixture", samples=2)), "ValueError: samples must be 1 for a net that draws nothing, got 2"),
    (lambda: fit_numpy(validation=en.Validation(ones((B, m)), ones((B, 2)), score=lambda p, y: p)), "TypeError: score must be a finite number, got array([[[-0.24905403, …"),
    (lambda: fit_numpy(optimizer=torch.optim.SGD), "TypeError: in optimizer(net, lr=lr): 'Sequential' object is not iterable"),
    (lambda: fit_numpy(optimizer=lambda net, lr: net), "TypeError: optimizer must return an ensedu.numpy optimizer, got …"),
    (lambda: en.gaussian_nll(ones((M, B, 2)), ones((B, 1)), beta=2), "ValueError: beta must be from 0 to 1, got 2"),
    (lambda: stream([(tones(B, m), tones(B + 1, 2))]), "ValueError: targets in batch 1 of x must have a row for each of 7 in inputs in batch 1 of x, got 8"),
    (lambda: stream([pair(), (put(tones(B, m), (4, 2)), tones(B, 2))]), "ValueError: inputs in batch 2 of x must hold finite numbers, got nan at (4, 2)"),
    (lambda: fit(x=(tones(B, m), put(tones(B, 2), (3, 1)))), "ValueError: x[1] must hold finite numbers, got nan at (3, 1)"),
    (lambda: fit(validation=(tones(B, m), put(tones(B, 2), (3, 1)))), "ValueError: y of validation must hold finite numbers, got nan at (3, 1)"),
    # Uncertainty
    (lambda: un.softmax(ones((B, k)).astype(np.longdouble)), "TypeError: logits must hold floats of up to 64 bits, got dtype float128"),
    (lambda: un.softmax(put(ones((B, k)), (-1, -1), -1e101)), "ValueError: logits must hold numbers below 1e+100, got 1e+101"),
    (lambda: un.gaussian_heads(X), "ValueError: outputs must have k means and k raw variances, (M, B, 2k), got shape (3, 7, 5)"),
    (lambda: un.mixture(X, put(ones((M, B, k)), (-1, -1, -1), 0.0)), "ValueError: variance must hold positive numbers from 1e-100 up, got 0"),
    (lambda: un.gaussian_nll(X, 0 * X, Y), "ValueError: variance must hold positive numbers from 1e-100 up, got 0"),
    (lambda: un.crps(X, -X, Y), "ValueError: variance must hold positive numbers from 1e-100 up, got -1"),
    (lambda: un.quantile(X, 0 * X, 0.5), "ValueError: variance must hold positive numbers from 1e-100 up, got 0"),
    (lambda: un.interval_score(Y, put(ones((B, k)), (-1, -1), 0.5), Y), "ValueError: low must hold numbers or -inf, and high numbers or inf that are no less, got low[6, 4] = 1 and high[6, 4] = 0.5"),
    (lambda: un.averaged(X), "ValueError: probabilities must hold probabilities that sum to 1 over the last axis, within 0.0001, got the sum 5"),
    (lambda: un.averaged(np.array([[[1.5, -0.5]]])), "ValueError: probabilities must hold probabilities from 0 up, got -0.5"),
    (lambda: un.categorical_nll(P, put(zeros(B), -1, k)), "ValueError: labels must be from 0 to 4, to fit probabilities, got 5"),
    (lambda: un.categorical_nll(P, put(zeros(B), -1, -1)), "ValueError: labels must hold labels from 0 up, got -1"),
    (lambda: un.mixture_nll(put(ones((M, B)), (-1, -1), -INF)), "ValueError: nll must hold numbers, or inf for a density of 0, got nan or -inf"),
    (lambda: un.brier(Q + 1e-3, LABELS), "ValueError: probabilities must hold probabilities that sum to 1 over the last axis, within 0.0001, got the sum 1.005"),
    (lambda: un.accuracy(Q, LABELS + k), "ValueError: labels must be from 0 to 4, to fit probabilities, got 5"),
    (lambda: un.reliability(Q, LABELS, bins=10**6), "ValueError: bins must be a positive integer up to 10000, got 1000000"),
    (lambda: un.ece(-Q, LABELS), "ValueError: probabilities must hold probabilities from 0 up, got -0.2"),
    (lambda: Scaling.fit(Y, LABELS + k), "ValueError: labels must be from 0 to 4, to fit logits, got 5"),
    (lambda: Scaling.fit(put(ones((B, k)), (-1, -1), -INF), LABELS), "ValueError: logits must hold finite numbers, got nan or inf"),
    (lambda: Intervals.fit(Y, Y, -Y), "ValueError: std must hold positive numbers from 1e-50 up, got -1"),
    (lambda: Intervals.fit(Y, Y, folds=zeros(B) - 1), "ValueError: folds must hold labels from 0 up, got -1"),
    (lambda: Intervals(Y).interval(Y, Y, level=0.5), "ValueError: std must be left out, as it was from fit, got a numpy.ndarray of shape (7, 5) and dtype float64; torch.tensor(x) makes one"),
    (lambda: Intervals(Y, None, True).interval(Y, level=0.5), "ValueError: std must be given, as it was to fit, got None"),
    (lambda: Intervals(Y, None, True).interval(Y, -Y, level=0.5), "ValueError: std must hold positive numbers from 1e-50 up, got -1"),
    (lambda: Sets.fit(Q, LABELS + k, None), "ValueError: labels must be from 0 to 4, to fit probabilities, got 5"),
    (lambda: Sets(ones(B), None, True).sets(Q, level=0.5), "ValueError: rng must be given, as it was to fit, got None"),
    (lambda: Sets(ones(B), FOLDS).sets(Q, level=0.6), "ValueError: probabilities has shape (7, 5), accepted is (2, B, k) with no size 0"),
    (lambda: un.disagreement(Q), "ValueError: predictions must hold at least two members, to compare, got shape (1, 7)"),
    (lambda: un.disagreement(zeros(M, B) - 1), "ValueError: predictions must hold labels from 0 up, got -1"),
    (lambda: un.chance_disagreement(P[:1], LABELS), "ValueError: probabilities must hold at least two members, to compare, got shape (1, 7, 5)"),
    (lambda: un.chance_disagreement(ones((M, B, 1)), LABELS), "ValueError: probabilities must be of at least two classes, got shape (3, 7, 1)"),
    (lambda: un.error_correlation(X[:1], Y), "ValueError: predictions must hold at least two members, to compare, got shape (1, 7, 5)"),
    (lambda: un.error_correlation(0 * X, 0 * Y), "ValueError: predictions must have errors that vary, to correlate, got the error 0 everywhere for member 0"),
    (lambda: un.paired(ones(1)), "ValueError: differences must be at least two, got shape (1,), with n first"),
    (lambda: un.holm([0.5, 1.5]), "ValueError: p_values must be from 0 to 1, got 0.5 to 1.5"),
    (lambda: Intervals(Y, FOLDS).guarantee(0.5), "ValueError: level must be a finite number above 0.5 and below 1, got 0.5"),
    (lambda: un.error_correlation(np.stack([Q**2, Y / 10 + LINE]), LINE), "ValueError: predictions must have errors that vary, to correlate, got the error 0.1 everywhere for member 1"),
    *((lambda logits=logits: Scaling.fit(np.array(logits), np.array([1, 0])), "ValueError: logits must be greater on average for the labels than for … T grows … tell nothing …")
      for logits in ([[2.0, 0.0], [2.0, 0.0]], [[2.0, 0.0], [0.0, 1.0]], [[3.0, 3.0], [0.1, 0.1]])),
    (lambda: Scaling.fit(np.array([[2.0, 2.0], [1.0, 0.0]]), np.array([1, 0])), "ValueError: labels must not all have the greatest logit, or the NLL falls as T falls to 0; got logits that are right on each of 2 examples"),
    # Data
    (lambda: Curve("a", 3, 0.1, ((0, 1),), 7), "TypeError: function must be a function, got 3 (int)"),
    (lambda: replace(gap, regions=()), "TypeError: regions must be a tuple of intervals (low, high), from left to right, got () (tuple)"),
    (lambda: replace(gap, regions=((1, 0),)), "ValueError: regions must be a tuple of intervals (low, high), from left to right, got ((1, 0),)"),
    (lambda: replace(gap, regions=((0, "b"),)), "TypeError: regions[0] must be a finite number, got 'b' (str)"),
    (lambda: replace(gap, regions=((0, 1), (2, INF))), "ValueError: regions[1] must be a finite number, got inf"),
    (lambda: table(x=ones(B)), "ValueError: x has shape (7,), accepted is (N, m), N and m at least 1"),
    (lambda: table(x=ones((B, m)).astype("f4")), "TypeError: x has dtype float32, accepted is float64"),
    (lambda: table(x=put(ones((B, m)), (4, 1))), "ValueError: x must hold finite numbers below 1e+100, got nan in x[4, 1]"),
    (lambda: table(y=zeros(B, 1)), "TypeError: y has dtype int64, accepted is float64"),
    (lambda: table(y=ones((5, 1))), "ValueError: y has 5 rows, accepted are the 7 of x"),
    (lambda: table(y=np.full((B, 1), NAN)), "ValueError: y must hold finite numbers below 1e+100, got nan in y[0, 0]"),
    (lambda: table(y=ones((B, 2))), "ValueError: targets must be a tuple of 2 different strings, got ('t',)"),
    (lambda: table(names=list("abcde")), "TypeError: names must be a tuple of 5 different strings, got ['a', 'b', 'c', 'd', 'e'] (list)"),
    (lambda: clean([[1, 2]]), "TypeError: frame must be a DataFrame of named columns, got [[1, 2]] (list)"),
    (lambda: clean(pandas.DataFrame({"a": []})), "ValueError: frame must have rows, and different columns, got ['a']"),
    (lambda: column("14/01/2024", "01/02/2024"), "ValueError: dayfirst must be True or False for 01/02/2024, got None for '14/01/2024' in row 1 of 2 of column 'd'"),
    (lambda: column("01/02/2024", "14/01/2024", dayfirst=False), "ValueError: dayfirst must fit all dates, got False for '14/01/2024' in row 2 of 2 of column 'd'"),
    (lambda: column("1/2/24", dayfirst=False), "ValueError: frame must hold numbers such as 1,234.5 or $1.2M, dates … '1/2/24' …"),
    (lambda: column("5 kg", "300 g"), "ValueError: frame must hold numbers in kg alone there, got numbers in g, '300 g' in row 2 of 2 …"),
    *((lambda cell=cell: column("7", cell), f"ValueError: frame must hold numbers such as 1,234.5 or $1.2M, dates such as 2024-03-01, or names, got {cell!r} in row 2 of 2 of column 'd'; a name of this form needs the dtype category, a number no other words")
      for cell in ("(5", "(-5)", "+-5", "1.5m", "5 m", "3 bed", "2.0T", "$3mil", "1.2 crore", "<5", "~500", "5+", "5'", "12-14", "1,2345", "1'200,000", "$5%")),
    (lambda: column("1e200"), "ValueError: frame must hold finite numbers below 1e+100, got '1e200' in row 1 of 1 of column 'd'"),
    (lambda: column("?", None, "NA"), "ValueError: frame must hold a value in each column, got gaps in 'd'; leave it out: frame.drop(columns='d')"),
    (lambda: column([1], "a"), "TypeError: frame must hold numbers, words and dates, got [1] in row 1 of 2 of column 'd'"),
    (lambda: clean(pandas.DataFrame({"a": [1]}), like=pandas.DataFrame({"a": [1]})), "ValueError: like must be what clean returned, or some rows or columns of it, got a frame with ['a'], which clean did not give"),
    (lambda: clean(homes(), like=homes(), dayfirst=True), "ValueError: dayfirst must be left out with like, which was read with None, got True"),
    (lambda: clean(homes().assign(rooms=3), like=homes()), "ValueError: frame must have the columns of like and no others, got one without [] and with ['rooms']"),
    (lambda: encoder(ones((2, 3))), "TypeError: frame must be a pandas.DataFrame, got array([[1., 1., 1.], …"),
    (lambda: encoder(homes()[:0]), "ValueError: frame must have rows and columns, got shape (0, 2)"),
    (lambda: table().split(0, 0.01), "ValueError: test must leave rows of x on both sides, got 0.01 of 7 rows"),
    (lambda: split(y=ones((5, 1))), "ValueError: y has 5 rows, accepted are the 7 of x"),
    (lambda: split(train=np.zeros(0, int)), "ValueError: train has shape (0,), accepted is (N,), N at least 1"),
    (lambda: split(test=[[3]]), "ValueError: test has shape (1, 1), accepted is (N,), N at least 1"),
    (lambda: split(test=[7]), "ValueError: test must hold row indices from 0 to 6, got 7"),
    (lambda: split(train=[0, -1]), "ValueError: train must hold row indices from 0 to 6, got -1"),
    (lambda: split(train=[0, 3, 5, 3]), "ValueError: train must hold each row once, got 3 repeatedly"),
    (lambda: split(train=[0, 1], test=[2, 1]), "ValueError: test must hold no row of train, got 1 in both"),
    (lambda: Split(ones((2, 1)), ones((2, 1)), [0], np.array([1])), "TypeError: train must be a plain NumPy array, got list"),
    (lambda: classes(np.array(1.0), np.zeros(1, int), [0]), "ValueError: y has shape (1,), accepted is (N,), for x of shape (N, …"),
    (lambda: classes(ones(3), np.arange(3), []), "ValueError: keep must be different labels that are in y, got []"),
    (lambda: classes(ones(3), np.arange(3), 2), "TypeError: keep must be different labels that are in y, got 2 (int)"),
    (lambda: rotated(ones((3, 4)), 3), "ValueError: images has shape (3, 4), accepted is (N, H, W), none of them 0"),
    (lambda: rotated(np.full((3, 4, 4), 255.0), 3), "ValueError: images must hold numbers from 0 to 1, got 255 to 255"),
    (lambda: noisy(np.full(3, -0.1), 0.1, rng()), "ValueError: images must hold numbers from 0 to 1, got -0.1 to -0.1"),
    (lambda: noisy(ones(3), -0.1, rng()), "ValueError: std must be a finite number from 0 up, got -0.1"),
    (lambda: patches(3, 428, rng()), "ValueError: size must be at most 427, got 428"),
    # Perturbations
    (lambda: separable(R, S * np.nan), "ValueError: s_cov must hold finite numbers, got nan or inf"),
    (lambda: separable(R + np.eye(3, k=1)), "ValueError: r_cov must be symmetric, got entries that differ by 1"),
    (lambda: separable(R[:2]), "ValueError: r_cov has shape (2, 3), accepted is a square"),
    (lambda: separable(-R), "ValueError: r_cov must be a covariance, without negative eigenvalues, got -0.036"),
    (lambda: multiplicative(W, separable(R, S)[:2], rng=rng(), draws=1), "ValueError: relative has shape (2, 5, 3, 5), accepted is (3, 5, 3, 5) or (3, 1, 3, 1), for a weight (3, 5)"),
    (lambda: multiplicative(W, -separable(R, S), rng=rng(), draws=1), "ValueError: relative must be a covariance, without negative eigenvalues, got -0.39"),
    (lambda: perturbations.spread(W[:1]), "ValueError: samples has shape (1, 5), accepted is (S, m, n), S at least 2"),
    (lambda: score(layer=1), "ValueError: layer must be the place of a Linear, one of 0, 2, 4, got 1"),
    (lambda: score()(W), "ValueError: matrices has shape (3, 5), accepted is (S, 3, 5)"),
    (lambda: perturbations.hessian(lambda V: V[0], W), "ValueError: score must return shape (30, 3, 5), got (3, 5)"),
    (lambda: first_order(R, S), "ValueError: curvature has shape (3, 3) and covariance (5, 5), accepted are (p, mn) and (mn, mn)"),
    # Estimators
    (lambda: regressor(method="best").fit(*ROWS), "ValueError: method must be one of 'single', 'deep_ensemble', 'batch_ensemble', 'rank1', 'mean_field', 'mc_dropout', 'last_layer', got 'best' (str)"),
    (lambda: regressor(hidden=5).fit(*ROWS), "TypeError: hidden must be a tuple of widths, got 5 (int)"),
    (lambda: regressor(hidden=(5, 0)).fit(*ROWS), "ValueError: hidden[1] must be a positive integer, got 0 (int)"),
    (lambda: regressor(epochs=0).fit(*ROWS), "ValueError: epochs must be a positive integer, got 0 (int)"),
    (lambda: regressor(lr=-1.0).fit(*ROWS), "ValueError: lr must be a finite number above 0, got -1.0"),
    (lambda: regressor(weight_decay=-1.0).fit(*ROWS), "ValueError: weight_decay must be 0 or more, got -1.0"),
    (lambda: regressor(batch_size=0).fit(*ROWS), "ValueError: batch_size must be a positive integer, got 0 (int)"),
    (lambda: regressor(patience=0).fit(*ROWS), "ValueError: patience must be a positive integer, got 0 (int)"),
    *((lambda c=c: regressor(calibration=c).fit(*ROWS), f"{error}Error: calibration must be a part of the rows between 0 and 1, a number of folds from 2 up, 'cv+' or None, and leave 2 of 11 rows (or groups) to train on, got {c!r} …")
      for c, error in ((0.0, "Value"), (1.0, "Value"), (NAN, "Value"), (1, "Value"), (12, "Value"), (0.9, "Value"), ("cv", "Value"), (True, "Type"), ([0.2], "Type"), (ones(2), "Type"))),
    (lambda: regressor(target="log").fit(*ROWS), "ValueError: target must be one of 'any', 'positive', got 'log' (str)"),
    (lambda: regressor(target="positive").fit(ROWS[0], ROWS[1] - 5), "ValueError: y must hold numbers above 0 for target='positive', got -5 in row 1 of 11"),
    (lambda: regressor().fit(*ROWS, groups=[1, 2]), "ValueError: groups must hold a value for each of 11 rows, got 2, of which 0 are gaps"),
    (lambda: regressor().fit(*ROWS, [None, *range(10)]), "ValueError: groups must hold a value for each of 11 rows, got 11, of which 1 are gaps"),
    (lambda: regressor().fit(*ROWS, ROWS[1] > 5), "ValueError: groups must be at least 3, got 2 in 11 rows"),
    (lambda: regressor().fit(DAYS[:, None], ROWS[1]), "TypeError: X must hold numbers, and dates only as columns of a pandas.DataFrame … datetime64[D] …"),
    (lambda: regressor().fit(*ROWS).predict(np.c_[DAYS, DAYS]), "TypeError: X must hold numbers, and dates only as columns of a … datetime64[D] …"),
    (lambda: regressor().fit(ROWS[0], DAYS), "TypeError: y must hold numbers, and dates only as columns of a … datetime64[D] …"),
    (lambda: regressor().fit(WOOD, pandas.Series(DAYS)), "ValueError: y must hold numbers, got dates in 'y', Timestamp('1970-01-01 00:00:00') (Timestamp) first; EnsembleClassifier predicts names"),
    (lambda: regressor().fit(WOOD, WOOD["wood"]), "ValueError: y must hold numbers, got names in 'wood', 'oak' (str) first; EnsembleClassifier predicts names"),
    (lambda: regressor().fit(WOOD.assign(sold="1/3/2024"), ROWS[1]), "ValueError: dayfirst must be True or False for 01/02/2024, got None for '1/3/2024' in row 1 of 11 of column 'sold'"),
    (lambda: regressor().fit(WOOD.assign(gap="?"), ROWS[1]), "ValueError: frame must hold a value in each column, got gaps in 'gap'; leave it out: frame.drop(columns='gap')"),
    (lambda: regressor().fit(WOOD, ROWS[1][:5]), "ValueError: Found input variables with inconsistent numbers of samples: [11, 5]"),
    (lambda: regressor().fit(WOOD[:2], ROWS[1][:2]), "ValueError: Found array with 2 sample(s) (shape=(2, 1)) while a minimum of 3 is required by EnsembleRegressor."),
    (lambda: regressor().fit(WOOD, ROWS[1]).predict(WOOD.rename(columns={"wood": "tree"})), "ValueError: The feature names should match those that were passed …"),
    (lambda: regressor().fit(ROWS[0], ones((11, 2))), "ValueError: y should be a 1d array, got an array of shape (11, 2) instead."),
    (lambda: regressor().predict_interval(ROWS[0]), "NotFittedError: This EnsembleRegressor instance is not fitted yet. Call 'fit' with appropriate arguments before using this estimator."),
    (lambda: regressor().guarantee(0.9), "NotFittedError: This EnsembleRegressor instance is not fitted yet. Call 'fit' with appropriate arguments before using this estimator."),
    (lambda: regressor().fit(*ROWS).predict_interval(ROWS[0], 90), "ValueError: level must be a finite number above 0 and below 1, got 90.0"),
    (lambda: regressor().fit(*ROWS).guarantee(90), "ValueError: level must be a finite number above 0 and below 1, got 90.0"),
    (lambda: regressor(calibration=2).fit(*ROWS).predict_interval(ROWS[0], 0.5), "ValueError: level must be a finite number above 0.5 and below 1, got 0.5"),
    (lambda: classifier().fit(ROWS[0], ROWS[1] + 0.5), "ValueError: Unknown label type: continuous. Maybe you are trying to fit a classifier, which expects discrete classes on a regression target with continuous values."),
    (lambda: classifier().fit(*ROWS).predict_set(ROWS[0], 100), "ValueError: level must be a finite number above 0 and below 1, got 100.0"),
    # The contest
    (lambda: replace(SINGLE, train="adam"), "TypeError: train must be a function, got 'adam' (str)"),
    (lambda: replace(SINGLE, tries=()), "TypeError: tries must be a tuple of dicts, at least one, got () (tuple)"),
    (lambda: replace(SINGLE, tries=({}, 0.1)), "TypeError: tries[1] must be a dict, got 0.1 (float)"),
    (lambda: replace(SINGLE, method="swag"), "ValueError: method must be one of '', 'single', 'deep_ensemble', 'batch_ensemble', 'rank1', 'mean_field', 'mc_dropout', 'last_layer', got 'swag' (str)"),
    (lambda: replace(SINGLE, scale=0.0), "ValueError: scale must be a finite number above 0, got 0.0"),
    (lambda: replace(SINGLE, draws=1), "TypeError: draws must be True or False, got 1 (int)"),
    (lambda: small.job(small.task(), SINGLE, seed=-1), "ValueError: seed must be an integer from 0 up, got -1 (int)"),
    (lambda: small.job(small.task(), SINGLE, epochs=2.5), "TypeError: epochs must be a positive integer, got 2.5 (float)"),
    (lambda: task(label=None), "TypeError: label must be a string, got None (NoneType)"),
    (lambda: task(steps=0), "ValueError: steps must be a positive integer, got 0 (int)"),
    (lambda: task(batch_size=2.5), "TypeError: batch_size must be a positive integer, got 2.5 (float)"),
    (lambda: task(x=[[1.0]] * B), "TypeError: x must be a pandas.DataFrame or an array, got [[1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0]] (list)"),
    (lambda: task(x=ones((B, m)).astype("f4")), "TypeError: x has dtype float32, accepted is float64"),
    (lambda: task(x=NAN * ones((B, m))), "ValueError: x must hold finite numbers, got nan or inf"),
    (lambda: task(y=ones((6, 1))), "ValueError: y has 6 rows, accepted are the 7 of x"),
    (lambda: task(y=ones(B) > 0), "TypeError: y has dtype bool, accepted are integers, for labels"),
    (lambda: task(y=np.arange(B) - 1), "ValueError: y must hold labels from 0 up, got -1"),
    (lambda: task(y=ones((B, 2))), "ValueError: y has shape (7, 2), accepted is (N, 1) for numbers, (N,) for labels"),
    (lambda: task(y=NAN * ones((B, 1))), "ValueError: y must hold finite numbers below 1e+100, got nan in y[0, 0]"),
    (lambda: task(groups=np.arange(6)), "ValueError: groups has shape (6,), accepted is (7,) with no size 0, to fit y"),
    (lambda: task(groups=[0] * B), "TypeError: groups must be a plain NumPy array (7,), got list"),
    (lambda: task(groups=ones(B)), "TypeError: groups must hold integers, got dtype float64"),
    (lambda: task(hidden=50), 'TypeError: hidden must be a tuple of sizes, or "lenet", got 50 (int)'),
    (lambda: task(hidden="mlp"), "TypeError: hidden must be a tuple of sizes, or \"lenet\", got 'mlp' (str)"),
    (lambda: task(hidden=(50, 0)), "ValueError: hidden[1] must be a positive integer, got 0 (int)"),
    (lambda: task(hidden="lenet"), 'ValueError: hidden must be sizes unless x are images, and y labels, got "lenet"'),
    (lambda: task(x=ones((B, m, 2))), "ValueError: x has shape (7, 5, 2), accepted is (N, m) for such networks"),
    (lambda: task(y=np.arange(B), hidden="lenet"), "ValueError: x has shape (7, 5), accepted is (N, channels, height, width) for such networks"),
    (lambda: task(shifts=[np.flip]), "TypeError: shifts must be a mapping of names to functions, got [<function …"),
    (lambda: task(shifts={"flip": 3}), "TypeError: shifts must be a mapping of names to functions, got {'flip': 3} (dict)"),
    (lambda: task(foreign=[[1.0]]), "TypeError: foreign must be a plain NumPy array, got list"),
    (lambda: task(foreign=ones((B, 3))), "ValueError: foreign has shape (7, 3), accepted is (F, 5), as x has"),
    (lambda: tasks.rows_of_split(small.task(), 5), "ValueError: split must be from 0 to 4, got 5"),
    (lambda: tasks.rows_of_split(small.task(), 1.0), "TypeError: split must be an integer from 0 up, got 1.0 (float)"),
    (lambda: tasks.split_of("wages", 0), "TypeError: task must be a Task, got 'wages' (str)"),
    (lambda: tasks.rows_of_split(small.task(groups=np.arange(small.N) % 3), 0), "ValueError: small: groups must be so many and so small that each part gets one, got 3 groups and none for calibrate"),
    (lambda: tasks.split_of(replace(small.task(), y=np.full((small.N, 1), 7.0)), 0), "ValueError: small: y must differ among the rows to fit on, got 7.0 alone"),
    (lambda: rounds.choose("t", 3, SINGLE, 0), "TypeError: task must be a Task, got 't' (str)"),
    (lambda: rounds.choose(small.task(), 3, SINGLE, 0), "TypeError: data must be a SplitData, got 3 (int)"),
    (lambda: rounds.choose(small.task(), OWN, "single", 0), "TypeError: contestant must be a Contestant, got 'single' (str)"),
    (lambda: rounds.choose(small.task(), OWN, SINGLE, -1), "ValueError: seed must be an integer from 0 up, got -1 (int)"),
    (lambda: rounds.run_split(small.task(), "x", "single", 0), "TypeError: contestant must be a Contestant, got 'single' (str)"),
    (lambda: rounds.run_split(small.task(), 7, SINGLE, 0), "TypeError: name must be a string, got 7 (int)"),
    (lambda: rounds.run_split(small.task(), "x", SINGLE, 5), "ValueError: split must be from 0 to 4, got 5"),
    (lambda: scores(values={}), "TypeError: values must be a mapping of contestants to arrays (splits, seeds), got {} (dict)"),
    (lambda: scores(values={"a": [[1.0]]}), "TypeError: values['a'] of the task 't' must be a plain NumPy array (splits, seeds), got list"),
    (lambda: scores(values={"a": ones(3)}), "ValueError: values['a'] of the task 't' has shape (3,), accepted is (splits, seeds) with no size 0"),
    (lambda: scores(values={"a": A, "b": NAN * A}), "ValueError: values['b'] of the task 't' must hold finite numbers, got nan or inf"),
    (lambda: scores(values={"a": A, "b": ones((3, 2))}), "ValueError: values of the task 't' must all have the same splits, at least two, got {'a': 2, 'b': 3}"),
    (lambda: scores(values={"a": A[:1], "b": A[:1]}), "ValueError: values of the task 't' must all have the same splits, at least two, got {'a': 1, 'b': 1}"),
    (lambda: scores(classes=1), "TypeError: classes must be True or False, got 1 (int)"),
    (lambda: scores(train=0), "ValueError: train must be a positive integer, got 0 (int)"),
    (lambda: pooled(THREE[:2], reference="a"), "ValueError: tasks must come from at least 3 sources, got ['t', 'u']"),
    (lambda: pooled([THREE[0]] * 3, reference="a"), "ValueError: tasks must have other names each, got ['t'] twice"),
    (lambda: pooled(5, reference="a"), "TypeError: tasks must be a list of TaskScores, got 5 (int)"),
    (lambda: pooled(THREE, reference="d"), "ValueError: reference of the task 't' must be one of 'a', 'b', got 'd' (str)"),
    (lambda: pooled([*THREE, scores("w", values={"a": A, "b": A, "c": A + 1})], reference="a"), "ValueError: the source 't' must have all contestants, ['c'] are missing from ['a', 'b']"),
    (lambda: pooled(THREE, reference="a", higher="yes"), "TypeError: higher must be True or False, got 'yes' (str)"),
    (lambda: pooled([*THREE[:2], scores("v", values={"a": ones((2, 2)), "b": 0 * A})], reference="a"), "ValueError: values of the task 'v' must differ in most contestants, to have a unit, got a median standard deviation of 0"),
    (lambda: task_difference(THREE[0], "z", reference="a"), "ValueError: contestant of the task 't' must be one of 'a', 'b', got 'z' (str)"),
]  # fmt: skip


# Torch says so of itself where something is compiled.
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
@pytest.mark.parametrize(("call", "words"), CASES, ids=[words for _, words in CASES])
def test_bad_input_is_named(call, words):
    with pytest.raises((TypeError, ValueError, AttributeError)) as raised:
        call()
    printed = f"{raised.type.__name__}: {raised.value}"
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
