"""Bad input gets a ValueError or TypeError that names the argument, what was given, and what is
accepted. One row a case: (call, error, words that the message must hold)."""

from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse
import torch

import ensedu.numpy as en
import ensedu.theory.ntk.torch
import ensedu.torch as et
from ensedu import costs, counting, methods
from ensedu.common.training import minibatch_kl_weights
from ensedu.priors import Cauchy, Normal, ScaleMixture
from ensedu.theory import ntk
from ensedu.torch.train.losses import reduce

pytestmark = pytest.mark.bad_input

M, B, m, n = 3, 7, 5, 11
NAN, INF = float("nan"), float("inf")
#: More GPUs than any machine has.
NO_DEVICE = "cuda:99"


def rng():
    return np.random.default_rng(0)


def ones(*shape):
    return np.ones(shape)


def tones(*shape):
    return torch.ones(shape)


def linear():
    return en.Linear(m, n, rng=rng())


def deep(**k):
    return en.DeepEnsembleLinear(m, n, M, rng=rng(), **k)


def batch(**k):
    return en.BatchEnsembleLinear(m, n, M, rng=rng(), **k)


def rank1(**k):
    return en.Rank1Linear(m, n, M, rng=rng(), **k)


def mean_field(**k):
    return en.MeanFieldLinear(m, n, rng=rng(), **k)


def tied_layers():
    layer = en.Linear(m, m, rng=rng())
    return en.Sequential(layer, en.Tanh(), layer)


def tied_arrays():
    first, second = en.Linear(m, m, rng=rng()), en.Linear(m, m, rng=rng())
    second.params["weight"] = first.params["weight"]
    return en.Sequential(first, second)


def drop(*a, **k):
    return en.MCDropout(*a, rng=rng(), **k)


def after_forward(layer, x, grad):
    layer.forward(x)
    return layer.backward(grad)


def conv(kind="BatchEnsemble", c_in=6, c_out=9, kernel_size=3, **k):
    members = () if kind == "MeanField" else (M,)
    return getattr(et, f"{kind}Conv2d")(c_in, c_out, kernel_size, *members, **k)


def embedded_in_torch(**k):
    return ensedu.theory.ntk.torch.EmbeddedEnsemble(ntk.embedded([m, n, 1], M, rng=rng()), **k)


def plain():
    return torch.nn.Sequential(torch.nn.Linear(m, n), torch.nn.ReLU(), torch.nn.Linear(n, 2))


def ensemble(model=None, method="batch_ensemble", ensemble_size=M, **k):
    if method in ("mean_field", "mc_dropout"):
        ensemble_size = None
    return et.ensemble(plain() if model is None else model, method, ensemble_size, **k)


class Model(torch.nn.Module):
    """A module with these parts, and this forward pass."""

    def __init__(self, forward=lambda self, x: self.fc(x), **parts):
        super().__init__()
        self.fc = torch.nn.Linear(m, m)
        self.run = forward
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, *args, **kwargs):
        return self.run(self, *args, **kwargs)


def tied():
    embed, decode = torch.nn.Embedding(n, m), torch.nn.Linear(m, n, bias=False)
    decode.weight = embed.weight
    return Model(embed=embed, decode=decode)


def watched():
    model = plain()
    model[0].weight.register_hook(lambda grad: grad)
    return model


def frozen():
    model = plain()
    model[0].weight.requires_grad_(False)
    return model


def run_ensemble(forward, *args, method="batch_ensemble", **kwargs):
    """Convert a model with this forward pass, and run it."""
    return et.ensemble(Model(forward), method, M)(*args, **kwargs)


def number(shape, place=None, value=NAN):
    x = tones(*shape)
    if place is not None:
        x[place] = value
    return x


def fit(net=None, x=None, y=None, nll=et.half_squared_error, epochs=1, batch_size=B, **k):
    """Train in Torch, where all is well but for what is given."""
    net = et.mlp([m, n, 2], "batch_ensemble", M) if net is None else net
    x, y = tones(B, m) if x is None else x, tones(B, 2) if y is None else y
    return et.fit(net, x, y, nll, epochs=epochs, batch_size=batch_size, **k)


def fit_numpy(net=None, x=None, y=None, nll=en.half_squared_error, batch_size=B, **k):
    net = en.mlp([m, n, 2], "batch_ensemble", M, rng=rng()) if net is None else net
    x, y = ones(B, m) if x is None else x, ones(B, 2) if y is None else y
    return en.fit(net, x, y, nll, batch_size=batch_size, **({"rng": rng(), "epochs": 1} | k))


def pair(_=0):
    return tones(B, m), tones(B, 2)


def stream(x, net=None, epochs=1, **k):
    """Train on a stream, where all is well but for what is given."""
    net = et.mlp([m, n, 2], "batch_ensemble", M) if net is None else net
    return et.fit(net, x, nll=et.half_squared_error, epochs=epochs, **k)


class Once:
    """Gives its minibatches once, and says that it can be iterated again."""

    def __init__(self):
        self.left = [pair()]

    def __iter__(self):
        while self.left:
            yield self.left.pop()


class Unsized:
    """Gives three minibatches, and may say that it has more or less."""

    def __init__(self, length=None):
        self.length = length

    def __len__(self):
        if self.length is None:
            raise TypeError("no length")
        return self.length

    def __iter__(self):
        return iter([pair()] * 3)


def held(**options):
    return et.Validation(tones(B, m), tones(B, 2), **options)


def hidden_draws():
    return torch.nn.Sequential(torch.nn.Linear(m, n), et.MCDropout(), torch.nn.Linear(n, 2))


def frozen_net():
    return plain().requires_grad_(False)


def squared(loss):
    """A loss of labels that forgets what its gradient is for."""
    return lambda outputs, targets: loss(outputs, targets)[0]


WEIGHT = methods.Array("weight", "m n", "shared")
LENGTHS = count(1)
POSITIVE = "a positive integer"

# fmt: off
COUNTING = [
    (lambda: counting.linear(0, 3), ValueError, ["in_features", "0", POSITIVE]),
    (lambda: counting.linear(2, -3), ValueError, ["out_features", "-3", POSITIVE]),
    (lambda: counting.linear(2.0, 3), TypeError, ["in_features", "2.0", "float", POSITIVE]),
    (lambda: counting.linear(True, 3), TypeError, ["in_features", "True", "bool", POSITIVE]),
    (lambda: counting.linear("2", 3), TypeError, ["in_features", "'2'", POSITIVE]),
    (lambda: counting.linear(None, 3), TypeError, ["in_features", "None", POSITIVE]),
    (lambda: counting.linear(np.ones(2, int), 3), TypeError, ["in_features", "array", POSITIVE]),
    (lambda: counting.linear(2, 3, kernel_size=0), ValueError, ["kernel_size", "0", POSITIVE]),
    (lambda: counting.linear(2, 3, kernel_size=(3, 0)), ValueError, ["kernel_size[1]", "0", POSITIVE]),
    (lambda: counting.linear(2, 3, kernel_size=(3, 3, 3)), ValueError, ["kernel_size", "(3, 3, 3)", "pair"]),
    (lambda: counting.linear(2, 3, bias=1), TypeError, ["bias", "1", "True or False"]),
    (lambda: counting.deep_ensemble(2, 3, ensemble_size=0), ValueError, ["ensemble_size", "0", POSITIVE]),
    (lambda: counting.batch_ensemble(2, 3, ensemble_size=1.5), TypeError, ["ensemble_size", "1.5", POSITIVE]),
    (lambda: counting.rank1(2, 3, ensemble_size=False), TypeError, ["ensemble_size", "False", POSITIVE]),
    (lambda: counting.mean_field(2, NAN), TypeError, ["out_features", "nan", POSITIVE]),
    (lambda: counting.mlp([1], "single"), ValueError, ["sizes", "[1]", "at least two"]),
    (lambda: counting.mlp(5, "single"), TypeError, ["sizes", "5", "sequence"]),
    (lambda: counting.mlp("12", "single"), TypeError, ["sizes", "'12'", "sequence"]),
    (lambda: counting.mlp([1, 0, 1], "single"), ValueError, ["sizes[1]", "0", POSITIVE]),
    (lambda: counting.mlp([1, 2], "ensemble"), ValueError, ["method", "'ensemble'", "'deep_ensemble'"]),
    (lambda: counting.mlp([1, 2], 4), TypeError, ["method", "4", "'rank1'"]),
    (lambda: counting.mlp([1, 2], "single", 0), ValueError, ["ensemble_size", "0", "'single'", "no members"]),
    (lambda: counting.mlp([1, 2], "mean_field", 4), ValueError, ["ensemble_size", "4", "'mean_field'", "samples=4"]),
    (lambda: counting.mlp([1, 2], "rank1"), TypeError, ["ensemble_size", "None", POSITIVE]),
    (lambda: counting.mlp([1, 2], "rank1", 0), ValueError, ["ensemble_size", "0", POSITIVE]),
    (lambda: counting.mlp([1, 2], "deep_ensemble", 4, samples=3), ValueError, ["samples", "3", "'deep_ensemble'", "draws nothing"]),
    (lambda: counting.mlp([1, 2], "mc_dropout", samples=0), ValueError, ["samples", "0", POSITIVE]),
    (lambda: counting.mlp([1, 2, 3], "last_layer"), TypeError, ["ensemble_size", "None", POSITIVE]),
    (lambda: counting.mlp(b"12", "single"), TypeError, ["sizes", "b'12'", "sequence"]),
    (lambda: counting.linear(torch.tensor(True), 3), TypeError, ["in_features", "tensor(True)", POSITIVE]),
    (lambda: counting.Count(shared=-1), ValueError, ["shared", "-1", "from 0 up"]),
    (lambda: counting.Count(frozen=-1), ValueError, ["frozen", "-1", "from 0 up"]),
    (lambda: counting.Count(shared="a"), TypeError, ["shared", "'a'", "from 0 up"]),
    (lambda: methods.Array("weight", "n m", "shared"), ValueError, ["shape", "'n m'", "'m n'"]),
    (lambda: methods.Array("weight", "m n", "own"), ValueError, ["role", "'own'", "'per_member'"]),
    (lambda: methods.size_option("bnn", 4), ValueError, ["method", "'bnn'", "'rank1'"]),
    (lambda: Normal(10**400, 1.0), TypeError, ["loc", "finite number"]),
    (lambda: Normal(np.ones(2), 1.0), TypeError, ["loc", "array", "finite number"]),
    (lambda: Normal(torch.ones(2), 1.0), TypeError, ["loc", "tensor", "finite number"]),
    (lambda: Normal(0.0, np.complex128(1 + 2j)), TypeError, ["scale", "1+2j", "finite number"]),
    (lambda: counting.asymptotic_ratio("rank1", 4, relative_to="all"), ValueError, ["relative_to", "'all'", "'single'"]),
    (lambda: counting.asymptotic_ratio("rank-1", 4), ValueError, ["method", "'rank-1'", "'rank1'"]),
    (lambda: counting.break_even_width([None, None], "single", 4), ValueError, ["method", "'single'", "'batch_ensemble'"]),
    (lambda: counting.break_even_width([1, 2], "rank1", 4), TypeError, ["sizes", "[1, 2]", "None"]),
    (lambda: counting.break_even_width([1, 0, None], "rank1", 4), ValueError, ["sizes[1]", "0", POSITIVE]),
    (lambda: counting.one_more_member(2, 3, "x"), ValueError, ["method", "'x'", "'single'"]),
    (lambda: counting.count(3), TypeError, ["thing", "3", "torch.nn.Module"]),
    (lambda: counting.count(counting.linear(2, 3)), TypeError, ["thing", "Count", "ensedu.numpy"]),
    (lambda: counting.count(torch.nn.LazyLinear(3)), TypeError, ["thing", "weight", "initialized"]),
    (lambda: Normal(NAN, 1.0), ValueError, ["loc", "nan", "finite"]),
    (lambda: Normal(0.0, INF), ValueError, ["scale", "inf", "finite"]),
    (lambda: Normal(0.0, 0.0), ValueError, ["scale", "0.0", "above 0"]),
    (lambda: Normal(0.0, -1.0), ValueError, ["scale", "-1.0", "above 0"]),
    (lambda: Normal("0", 1.0), TypeError, ["loc", "'0'", "finite number"]),
    (lambda: Normal(0.0, True), TypeError, ["scale", "True", "finite number"]),
    (lambda: Normal(ones(1), 1.0), TypeError, ["loc", "array([1.])", "finite number"]),
    (lambda: Normal(tones(1), 1.0), TypeError, ["loc", "tensor([1.])", "finite number"]),
    (lambda: Normal(torch.tensor(True), 1.0), TypeError, ["loc", "tensor(True)", "finite number"]),
    (lambda: Normal(np.True_, 1.0), TypeError, ["loc", "True", "finite number"]),
    (lambda: Normal(np.complex64(1 + 2j), 1.0), TypeError, ["loc", "1+2j", "finite number"]),
    (lambda: Normal(np.datetime64("2020"), 1.0), TypeError, ["loc", "2020", "finite number"]),
    (lambda: Normal(torch.ones((), device="meta"), 1.0), TypeError, ["loc", "meta", "finite number"]),
    (lambda: Cauchy(NAN), ValueError, ["loc", "nan", "finite"]),
    (lambda: Cauchy(0.0, 0.0), ValueError, ["scale", "0.0", "above 0"]),
    (lambda: ScaleMixture(pi=1.0), ValueError, ["pi", "1.0", "above 0 and below 1"]),
    (lambda: ScaleMixture(scale2=-1.0), ValueError, ["scale2", "-1.0", "above 0"]),
    (lambda: ScaleMixture(scale1="1"), TypeError, ["scale1", "'1'", "finite number"]),
    (lambda: minibatch_kl_weights(0), ValueError, ["number", "0", "positive"]),
    (lambda: minibatch_kl_weights(3, "halving"), ValueError, ["kind", "'halving'", "'geometric'"]),
    (lambda: Normal(10**5000, 1.0), TypeError, ["loc", "int", "finite number"]),
    (lambda: counting.linear(10**400, 3), ValueError, ["in_features", "1000", "below 2**63"]),
    (lambda: counting.linear(-(10**5000), 3), ValueError, ["in_features", "int", POSITIVE]),
    (lambda: counting.linear(torch.ones(1, dtype=int), 3), TypeError, ["in_features", "tensor([1])", POSITIVE]),
    (lambda: counting.linear(torch.ones((), dtype=int, device="meta"), 3), TypeError, ["in_features", "meta", POSITIVE]),
    (lambda: counting.mlp(memoryview(b"12"), "single"), TypeError, ["sizes", "memory", "sequence"]),
    (lambda: counting.mlp("x" * 10_000, "single"), TypeError, ["sizes", "x …", "sequence"]),
    (lambda: counting.count(torch.nn.Linear), TypeError, ["thing", "Linear", "torch.nn.Module"]),
    (lambda: counting.count(SimpleNamespace(layers=3)), TypeError, ["thing", "namespace", "ensedu.numpy"]),
    (lambda: counting.Count(name=3), TypeError, ["name", "3", "string"]),
    (lambda: counting.Count(layers=[counting.Count()]), TypeError, ["layers", "list", "tuple of Counts"]),
    (lambda: counting.asymptotic_ratio("rank1", 0), ValueError, ["ensemble_size", "0", POSITIVE]),
    (lambda: counting.asymptotic_ratio("single", "x"), TypeError, ["ensemble_size", "'x'", POSITIVE]),
    (lambda: counting.break_even_width(b"12", "rank1", 4), TypeError, ["sizes", "b'12'", "None"]),
    (lambda: methods.size_option("single", "x"), TypeError, ["number", "'x'", POSITIVE]),
    (lambda: methods.layer_methods("bnn", 2), ValueError, ["method", "'bnn'", "'rank1'"]),
    (lambda: methods.layer_methods("rank1", 0), ValueError, ["layers", "0", POSITIVE]),
    (lambda: methods.role_sums([]), TypeError, ["method", "[]", "'rank1'"]),
    (lambda: methods.functions_by_method(3), TypeError, ["layer", "3", "function"]),
    (lambda: methods.Method("a", "b", "c", "d", [WEIGHT]), TypeError, ["arrays", "list", "tuple of Array"]),
    (lambda: methods.Method("a", 2, "c", "d", (WEIGHT,)), TypeError, ["label", "2", "string"]),
    (lambda: methods.Method("a", "b", "c", "d", (WEIGHT,), members=1), TypeError, ["members", "1", "True or False"]),
    (lambda: methods.Array(3, "m n", "shared"), TypeError, ["name", "3", "string"]),
    (lambda: costs.Cost("1", 2, 3, 4), TypeError, ["product_flops", "'1'", "from 0 up"]),
    (lambda: costs.Cost(1, 2, 3, -4), ValueError, ["num_activations", "-4", "from 0 up"]),
    (lambda: costs.Cost(1, 2, 3, 4, 0), ValueError, ["itemsize", "0", POSITIVE]),
    (lambda: costs.Cost(1, 2, 0, 0).intensity, ValueError, ["num_params", "0", "that moves"]),
    (lambda: costs.Cost(10**400, 2, 1, 1).intensity, ValueError, ["product_flops", "1000", "below 1e308"]),
    (lambda: costs.Cost(10**400, 2, 1, 1).seconds(1, 1), ValueError, ["product_flops", "1000", "below 1e308"]),
    (lambda: costs.Cost(1, 2, 3, 4).seconds(np.complex128(1 + 2j), 1), TypeError, ["flops_per_second", "1+2j", "above 0"]),
    (lambda: costs.Cost(1, 2, 3, 4).seconds(1, 0), ValueError, ["bytes_per_second", "0.0", "above 0"]),
]
NUMPY = [
    (lambda: en.Linear(0, n, rng=rng()), ValueError, ["in_features", "0", POSITIVE]),
    (lambda: en.Linear(m, n, rng=0), TypeError, ["rng", "int", "numpy.random.Generator"]),
    (lambda: en.Linear(m, n, rng=np.random.RandomState(0)), TypeError, ["rng", "RandomState", "default_rng"]),
    (lambda: en.DeepEnsembleLinear(m, n, 0, rng=rng()), ValueError, ["ensemble_size", "0", POSITIVE]),
    (lambda: en.DeepEnsembleLinear(m, n, True, rng=rng()), TypeError, ["ensemble_size", "True", POSITIVE]),
    (lambda: batch(init="ones"), ValueError, ["init", "'ones'", "'signs'"]),
    (lambda: batch(init=None), TypeError, ["init", "None", "'signs'"]),
    (lambda: batch(init="normal", init_std=NAN), ValueError, ["init_std", "nan", "above 0"]),
    (lambda: batch(init_std=-0.5), ValueError, ["init_std", "-0.5", "above 0"]),
    (lambda: batch(init_std="0.5"), TypeError, ["init_std", "'0.5'", "above 0"]),
    (lambda: rank1(prior=(1.0, 0.1)), TypeError, ["prior", "(1.0, 0.1)", "ensedu.priors.Normal"]),
    (lambda: rank1(posterior_std=INF), ValueError, ["posterior_std", "inf", "above 0"]),
    (lambda: rank1(per_example="yes"), TypeError, ["per_example", "'yes'", "True or False"]),
    (lambda: mean_field(prior="normal"), TypeError, ["prior", "'normal'", "ensedu.priors.Normal"]),
    (lambda: mean_field(estimator="flipout"), ValueError, ["estimator", "'flipout'", "'weights', 'local'"]),
    (lambda: mean_field(estimator="local")(ones(B, m), {"output": ones(B, m)}), ValueError, ["noise['output']", "(7, 5)", "(7, 11)"]),
    (lambda: mean_field().kl({"weight": ones(m, n)}), ValueError, ["noise", "['bias', 'weight']", "['weight']"]),
    (lambda: rank1(prior=Cauchy()).kl({"r": ones(M, n), "s": ones(M, n)}), ValueError, ["noise['r']", "(3, 11)", "(3, 5)"]),
    (lambda: mean_field(posterior_std=0.0), ValueError, ["posterior_std", "0.0", "above 0"]),
    (lambda: drop(1.0), ValueError, ["p", "1.0", "from 0 to below 1"]),
    (lambda: drop(-0.1), ValueError, ["p", "-0.1", "from 0 to below 1"]),
    (lambda: drop(NAN), ValueError, ["p", "nan", "from 0 to below 1"]),
    (lambda: drop("half"), TypeError, ["p", "'half'", "from 0 to below 1"]),
    (lambda: drop(0.1).noise(), ValueError, ["input_shape", "None", "(B, features)"]),
    (lambda: drop(np.ones(2)), TypeError, ["p", "array", "from 0 to below 1"]),
    (lambda: drop(feature_axes=0), ValueError, ["feature_axes", "0", POSITIVE]),
    (lambda: drop(feature_axes=3)(ones(3, 5, 7)), ValueError, ["input x", "(3, 5, 7)", "(B, ·, ·, ·)"]),
    (lambda: en.Tile(0), ValueError, ["samples", "0", POSITIVE]),
    (lambda: en.Tile(2, 0), ValueError, ["ensemble_size", "0", POSITIVE]),
    (lambda: en.Multiply("2"), TypeError, ["factor", "'2'", "finite number"]),
    (lambda: en.Linear(m, n, rng=rng(), bias=1), TypeError, ["bias", "1", "True or False"]),
    (lambda: linear()(ones(B, n)), ValueError, ["input x", "(7, 11)", "(..., 5)"]),
    (lambda: linear()(np.float64(3.0)), TypeError, ["input x", "float64", "NumPy array"]),
    (lambda: linear()([[1.0] * m]), TypeError, ["input x", "list", "NumPy array"]),
    (lambda: linear()(ones(B, m).astype(int)), TypeError, ["input x", "int64", "float64"]),
    (lambda: linear()(ones(B, m).astype("f4")), TypeError, ["input x", "float32", "float64"]),
    (lambda: deep()(ones(m)), ValueError, ["input x", "(5,)", "(B, 5)", "(3, B, 5)"]),
    (lambda: deep()(ones(M, B, n)), ValueError, ["input x", "(3, 7, 11)", "(3, B, 5)"]),
    (lambda: deep()(ones(M + 1, B, m)), ValueError, ["input x", "(4, 7, 5)", "(3, B, 5)"]),
    (lambda: deep()(ones(2, 4, B, m)), ValueError, ["input x", "(2, 4, 7, 5)", "(S, 3, B, 5)"]),
    (lambda: deep()(ones(1, 1, M, B, m)), ValueError, ["input x", "(1, 1, 3, 7, 5)", "(3, B, 5)"]),
    (lambda: deep()(tones(B, m)), TypeError, ["input x", "Tensor", "NumPy array"]),
    (lambda: batch()(ones(1, B, m)), ValueError, ["input x", "(1, 7, 5)", "(3, B, 5)"]),
    (lambda: rank1()(ones(B, m + 1)), ValueError, ["input x", "(7, 6)", "(B, 5)"]),
    (lambda: mean_field()(ones(2, M, B, m)), ValueError, ["input x", "(2, 3, 7, 5)", "(S, B, 5)"]),
    (lambda: drop()(ones(m)), ValueError, ["input x", "(5,)", "(B, features)"]),
    (lambda: en.Tile(M)(ones(M, B, m)), ValueError, ["input x", "(3, 7, 5)", "(B, features)"]),
    (lambda: en.ReLU()(ones(B, m).astype(int)), TypeError, ["input x", "int64", "accepted is float64"]),
    (lambda: rank1().forward(ones(B, m), 3), TypeError, ["noise", "int", "['r', 's']"]),
    (lambda: rank1().forward(ones(B, m), {"r": ones(M, m)}), ValueError, ["noise", "['r']", "['r', 's']"]),
    (lambda: rank1().forward(ones(B, m), {"r": ones(M, m), "s": ones(M, m)}), ValueError, ["noise['s']", "(3, 5)", "(3, 11)"]),
    (lambda: rank1().forward(ones(B, m), {"r": ones(M, 2, m), "s": ones(M, 2, n)}), ValueError, ["noise['r']", "(3, 2, 5)", "accepted is (3, 5)"]),
    (lambda: rank1().weight_matrices({"r": ones(M, n), "s": ones(M, m)}), ValueError, ["noise['r']", "(3, 11)", "(3, 5)"]),
    (lambda: mean_field().forward(ones(M, B, m), {"weight": ones(m, n), "bias": ones(n)}), ValueError, ["noise['weight']", "(5, 11)", "(3, 5, 11)"]),
    (lambda: mean_field().weight_matrices({"weight": ones(m, n).astype("f4"), "bias": ones(n)}), TypeError, ["noise['weight']", "float32", "float64"]),
    (lambda: mean_field().noise(7), TypeError, ["rng", "int", "numpy.random.Generator"]),
    (lambda: drop().forward(ones(B, m), {"mask": ones(1, m)}), TypeError, ["noise", "mask", "bools"]),
    (lambda: drop().forward(ones(B, m), {"mask": ones(2, m) > 0}), ValueError, ["noise['mask']", "(2, 5)", "(7, 5)"]),
    (lambda: linear().backward(ones(B, n)), ValueError, ["backward", "grad", "forward"]),
    (lambda: deep().backward(ones(M, B, n)), ValueError, ["backward", "grad", "forward"]),
    (lambda: batch().backward(ones(M, B, n)), ValueError, ["backward", "grad", "forward"]),
    (lambda: rank1().backward(ones(M, B, n)), ValueError, ["backward", "grad", "forward"]),
    (lambda: mean_field().backward(ones(B, n)), ValueError, ["backward", "grad", "forward"]),
    (lambda: drop().backward(ones(B, m)), ValueError, ["backward", "grad", "forward"]),
    (lambda: en.ReLU().backward(ones(B, m)), ValueError, ["backward", "grad", "forward"]),
    (lambda: en.mlp([m, n], rng=rng()).backward(ones(B, n)), ValueError, ["backward", "grad", "forward"]),
    (lambda: after_forward(deep(), ones(B, m), ones(B, n)), ValueError, ["grad", "(7, 11)", "(3, 7, 11)"]),
    (lambda: after_forward(linear(), ones(B, m), ones(B, n).astype("f4")), TypeError, ["grad", "float32", "float64"]),
    (lambda: rank1(per_example=True).forward(ones(B, m), {"r": ones(M, m), "s": ones(M, n)}), ValueError, ["noise['r']", "(3, 5)", "(3, 7, 5)"]),
    (lambda: rank1().forward(ones(2, M, B, m), {"r": ones(M, m), "s": ones(M, n)}), ValueError, ["noise['r']", "(3, 5)", "(2, 3, 5)"]),
    (lambda: rank1().kl_backward(INF), ValueError, ["weight", "inf", "finite"]),
    (lambda: mean_field().kl_backward(NAN), ValueError, ["weight", "nan", "finite"]),
    (lambda: en.mlp([m, n], "rank1", M, rng=rng())(ones(B, m), {"1.r": ones(M, m)}), ValueError, ["noise", "'1.r'", "0"]),
    (lambda: en.mlp([m, n], "rank1", M, rng=rng())(ones(B, m), 3), TypeError, ["noise", "int", "net.noise()"]),
    (lambda: en.mlp([m, n], "rank1", M, rng=rng())(ones(B, m), {}), ValueError, ["noise", "['r', 's']"]),
    (lambda: en.mlp([m, n], "deep_ensemble", M, rng=rng())(ones(B, m), {"0.r": ones(M, m)}), ValueError, ["noise", "'0.r'", "none"]),
    (lambda: en.mlp([m, n], rng=rng(), activation="gelu"), ValueError, ["activation", "'gelu'", "'tanh'"]),
    (lambda: en.mlp([m, n], rng=rng(), parametrization="mup"), ValueError, ["parametrization", "'mup'", "'ntk'"]),
    (lambda: en.mlp([m, n], "mean_field", M, rng=rng()), ValueError, ["ensemble_size", "3", "samples=3"]),
    (lambda: en.mlp([m, n], "deep", rng=rng()), ValueError, ["method", "'deep'", "'deep_ensemble'"]),
    (lambda: en.mlp([m], rng=rng()), ValueError, ["sizes", "[5]", "at least two"]),
    (lambda: en.mlp([m, n], "batch_ensemble", M, rng=rng(), prior=Normal()), TypeError, ["prior"]),
    (lambda: en.Sequential(linear(), 3), TypeError, ["layers[1]", "3", "ensedu.numpy layer"]),
    (lambda: en.SGD(linear(), 0.0), ValueError, ["lr", "0.0", "above 0"]),
    (lambda: en.SGD(linear(), NAN), ValueError, ["lr", "nan", "above 0"]),
    (lambda: en.SGD(linear(), 0.1, 1.0), ValueError, ["momentum", "1.0", "from 0 to below 1"]),
    (lambda: en.SGD([linear()], 0.1), TypeError, ["network", "Linear", "ensedu.numpy"]),
    (lambda: en.Adam(linear(), betas=0.9), TypeError, ["betas", "0.9", "pair"]),
    (lambda: en.Adam(linear(), betas=(0.9, 1.0)), ValueError, ["betas[1]", "1.0", "from 0 to below 1"]),
    (lambda: en.Adam(linear(), eps=0.0), ValueError, ["eps", "0.0", "above 0"]),
    (lambda: en.half_squared_error(ones(M, B, 2), ones(B, 3)), ValueError, ["outputs", "(3, 7, 2)", "(7, 3)", "(M, B, k)"]),
    (lambda: en.half_squared_error(ones(B, 2), ones(B)), ValueError, ["targets", "(7,)", "(B,) for k = 1"]),
    (lambda: en.half_squared_error(ones(B, 2), ones(B, 2).astype(int)), TypeError, ["targets", "int64", "float64"]),
    (lambda: en.half_squared_error(ones(B, 2), ones(B, 2), reduction="average"), ValueError, ["reduction", "'average'", "'mixture'"]),
    (lambda: en.half_squared_error(ones(0, 2), ones(0, 2)), ValueError, ["outputs", "(0, 2)", "at least one example"]),
    (lambda: en.gaussian_nll(ones(B, 3), ones(B, 2)), ValueError, ["outputs", "(7, 3)", "2k"]),
    (lambda: en.softmax_cross_entropy(ones(B, 2), ones(B)), TypeError, ["targets", "float64", "integer labels"]),
    (lambda: en.softmax_cross_entropy(ones(B, 2), np.full(B, 2)), ValueError, ["targets", "2", "0 to 1"]),
    (lambda: en.softmax_cross_entropy(ones(B, 2), np.full(B, -1)), ValueError, ["targets", "-1", "0 to 1"]),
    (lambda: en.softmax_cross_entropy(ones(B, 2), np.zeros(B + 1, int)), ValueError, ["targets", "(8,)", "(B,)"]),
    (lambda: en.softmax_cross_entropy(ones(0, B, 2), np.zeros(B, int), reduction="mixture"), ValueError, ["outputs", "(0, 7, 2)", "at least one"]),
    (lambda: en.softmax_cross_entropy(ones(B, 2), np.zeros(B, "m8[s]")), TypeError, ["targets", "timedelta64", "integer labels"]),
    (lambda: en.reduce([1.0], ones(1, 2), "mean"), TypeError, ["nll", "list", "NumPy array"]),
    (lambda: en.reduce(ones(M, B), ones(M, B), "mean"), ValueError, ["nll", "(3, 7)", "(M, B, k)"]),
    (lambda: linear()(ones(B, m).view(np.matrix)), TypeError, ["input x", "matrix", "plain NumPy array"]),
    (lambda: linear()(np.ma.masked_array(ones(B, m))), TypeError, ["input x", "MaskedArray", "plain NumPy array"]),
    (lambda: linear()(scipy.sparse.eye_array(B, m)), TypeError, ["input x", "dia_array", "plain NumPy array"]),
    (lambda: linear()(np.array([ones(m), ones(m + 1)], dtype=object)), TypeError, ["input x", "object", "float64"]),
    (lambda: linear()(ones(B, m), {}), TypeError, ["noise"]),
    (lambda: linear().weight_matrices({"weight": 3}), TypeError, ["noise", "Linear", "draws nothing"]),
    (lambda: batch().weight_matrices(3), TypeError, ["noise", "BatchEnsembleLinear", "draws nothing"]),
    (lambda: mean_field().noise(None, 5), TypeError, ["input_shape", "5", "tuple of integers"]),
    (lambda: mean_field().noise(None, (3,)), ValueError, ["input_shape", "(3,)", "(B, 5)", "(S, B, 5)"]),
    (lambda: mean_field().noise(None, tones(2)), TypeError, ["input_shape", "tensor", "tuple of integers"]),
    (lambda: rank1().noise(None, (7,)), ValueError, ["input_shape", "(7,)", "(3, B, 5)"]),
    (lambda: rank1().noise(None, (B, 2.0)), TypeError, ["input_shape[1]", "2.0", "from 0 up"]),
    (lambda: rank1().output_shape((B, n)), ValueError, ["input_shape", "(7, 11)", "(B, 5)"]),
    (lambda: linear().output_shape(()), ValueError, ["input_shape", "()", "(..., 5)"]),
    (lambda: en.mlp([m, n], "rank1", M, rng=rng()).noise(None, 5), TypeError, ["input_shape", "5", "tuple of integers"]),
    (lambda: en.mlp([m, n], "rank1", M, rng=rng()).noise(5, (B, m)), TypeError, ["rng", "int", "numpy.random.Generator"]),
    (lambda: drop().noise(None, "ab"), TypeError, ["input_shape", "'ab'", "tuple of integers"]),
    (lambda: drop().forward(ones(B, m), {"mask": tones(1, m) > 0}), TypeError, ["noise", "mask", "bools"]),
    (lambda: rank1().weight_matrices({"r": [[1.0], [1.0, 2.0]], "s": np.ndarray}), TypeError, ["noise['r']", "list", "NumPy array"]),
    (lambda: rank1().forward(ones(B, m), {"r": 1, 2: 3}), ValueError, ["noise", "['2', 'r']", "['r', 's']"]),
    (lambda: en.kl(3), TypeError, ["network", "3", "ensedu.numpy"]),
    (lambda: en.kl_backward(torch.nn.Linear(m, n)), TypeError, ["network", "Linear", "ensedu.numpy"]),
    (lambda: en.kl_backward(linear(), "x"), TypeError, ["weight", "'x'", "finite number"]),
    (lambda: tied_layers(), ValueError, ["layers", "different objects", "0 and 2"]),
    (lambda: en.SGD(tied_arrays(), 0.1), ValueError, ["network", "0.weight", "1.weight"]),
]
TORCH = [
    (lambda: et.DeepEnsembleLinear(0, n, M), ValueError, ["in_features", "0", POSITIVE]),
    (lambda: et.DeepEnsembleLinear(m, 1.5, M), TypeError, ["out_features", "1.5", POSITIVE]),
    (lambda: et.BatchEnsembleLinear(m, n, -1), ValueError, ["ensemble_size", "-1", POSITIVE]),
    (lambda: et.BatchEnsembleLinear(m, n, M, init="ones"), ValueError, ["init", "'ones'", "'signs'"]),
    (lambda: et.BatchEnsembleLinear(m, n, M, bias=1), TypeError, ["bias", "1", "True or False"]),
    (lambda: et.BatchEnsembleLinear(m, n, M, dtype=torch.int64), TypeError, ["dtype", "int64", "floating-point"]),
    (lambda: et.BatchEnsembleLinear(m, n, M, dtype=np.float64), TypeError, ["dtype", "float64", "torch.dtype"]),
    (lambda: et.Rank1Linear(m, n, M, init_std=INF), ValueError, ["init_std", "inf", "above 0"]),
    (lambda: et.Rank1Linear(m, n, M, prior=None), TypeError, ["prior", "None", "ensedu.priors.Normal"]),
    (lambda: et.MeanFieldLinear(m, n, posterior_std=NAN), ValueError, ["posterior_std", "nan", "finite number above"]),
    (lambda: et.MeanFieldLinear(m, n, estimator=1), TypeError, ["estimator", "1", "'weights', 'local', 'flipout'"]),
    (lambda: et.MeanFieldLinear(m, n, estimator="local")(tones(B, m), {"output": tones(B, m)}), ValueError, ["noise['output']", "(7, 5)", "(7, 11)"]),
    (lambda: et.MeanFieldLinear(m, n).kl({"weight": tones(n, m), "bias": tones(n)}), ValueError, ["noise['weight']", "(11, 5)", "(5, 11)"]),
    (lambda: et.Rank1Linear(m, n, M).kl(0), TypeError, ["noise", "int", "['r', 's']"]),
    (lambda: et.MeanFieldLinear(m, n, estimator="flipout")(tones(B, m), {"input_signs": tones(B, m)}), ValueError, ["noise", "['bias', 'input_signs', 'output_signs', 'weight']"]),
    (lambda: et.MeanFieldLinear(m, n).weight_matrices({"output": tones(B, n)}), ValueError, ["noise", "['output']", "['bias', 'weight']"]),
    (lambda: conv("MeanField", estimator="local")(tones(B, 6, 5, 5), {"output": tones(B, 9, 5, 5)}), ValueError, ["noise['output']", "(7, 9, 5, 5)", "(7, 9, 3, 3)"]),
    (lambda: et.to_numpy(et.MeanFieldLinear(m, n, estimator="flipout"), rng=rng()), ValueError, ["estimator='flipout'", "'weights'", "'local'"]),
    (lambda: et.BatchEnsembleLinear(m, n, M, memory_saving=None), TypeError, ["memory_saving", "None", "True or False"]),
    (lambda: conv("BatchEnsemble", memory_saving="yes"), TypeError, ["memory_saving", "'yes'", "True or False"]),
    (lambda: et.MeanFieldLinear(m, n).noise(3), TypeError, ["generator", "int", "torch.Generator"]),
    (lambda: et.MCDropout(1.5), ValueError, ["p", "1.5", "from 0 to below 1"]),
    (lambda: et.MCDropout().noise(), ValueError, ["input_shape", "None", "(B, features)"]),
    (lambda: et.MCDropout()(tones(B, m), {"mask": tones(1, m)}), TypeError, ["noise", "mask", "bools"]),
    (lambda: et.DeepEnsembleLinear(m, n, M)(tones(M + 1, B, m)), ValueError, ["input x", "(4, 7, 5)", "(3, B, 5)"]),
    (lambda: et.DeepEnsembleLinear(m, n, M)(tones(B, n)), ValueError, ["input x", "(7, 11)", "(B, 5)"]),
    (lambda: et.DeepEnsembleLinear(m, n, M)(tones(B, m).double()), TypeError, ["input x", "torch.float64", "torch.float32"]),
    (lambda: et.BatchEnsembleLinear(m, n, M)(tones(B, m).long()), TypeError, ["input x", "torch.int64", "floating-point"]),
    (lambda: et.BatchEnsembleLinear(m, n, M)(ones(B, m)), TypeError, ["input x", "ndarray", "torch.Tensor"]),
    (lambda: et.Rank1Linear(m, n, M)(tones(m)), ValueError, ["input x", "(5,)", "(B, 5)"]),
    (lambda: et.Rank1Linear(m, n, M)(tones(B, m), {"r": tones(M, m)}), ValueError, ["noise", "['r']", "['r', 's']"]),
    (lambda: et.MeanFieldLinear(m, n)(tones(M, B, m), {"weight": tones(m, n), "bias": tones(n)}), ValueError, ["noise['weight']", "(5, 11)", "(3, 5, 11)"]),
    (lambda: et.MeanFieldLinear(m, n).weight_matrices("mean"), TypeError, ["noise", "str", "['bias', 'weight']"]),
    (lambda: et.Tile(M)(tones(M, B, m)), ValueError, ["input x", "(3, 7, 5)", "(B, features)"]),
    (lambda: et.mlp([m, n], "bnn"), ValueError, ["method", "'bnn'", "'mean_field'"]),
    (lambda: et.mlp([m, True]), TypeError, ["sizes[1]", "True", POSITIVE]),
    (lambda: et.mlp([m, n], "rank1", 2.0), TypeError, ["ensemble_size", "2.0", POSITIVE]),
    (lambda: et.mlp([m, n], "single", 2), ValueError, ["ensemble_size", "2", "'single'"]),
    (lambda: et.mlp([m, n], "mc_dropout", 2), ValueError, ["ensemble_size", "samples=2"]),
    (lambda: et.mlp([m, n], bias=None), TypeError, ["bias", "None", "True or False"]),
    (lambda: et.mlp([m, n], activation=torch.nn.ReLU), TypeError, ["activation", "ReLU", "'tanh'"]),
    (lambda: et.mlp([m, n], parametrization="mup"), ValueError, ["parametrization", "'mup'", "'ntk'"]),
    (lambda: et.mlp([m, n], "rank1", M)(tones(B, m), {"3.r": tones(M, m)}), ValueError, ["noise", "'3.r'", "0"]),
    (lambda: et.mlp([m, n], "rank1", M)(tones(B, m), tones(M, m)), TypeError, ["noise", "Tensor", "net.noise()"]),
    (lambda: et.Sequential(torch.nn.Sequential(et.Rank1Linear(m, n, M))).noise(None, (B, m)), ValueError, ["layer 0", "Sequential", "ensedu.torch.Sequential"]),
    (lambda: et.MeanFieldLinear(m, n)(tones(B, m), {"output": tones(B, n)}), ValueError, ["noise", "['output']", "['bias', 'weight']"]),
    (lambda: et.MCDropout(feature_axes=3)(tones(B, m)), ValueError, ["input x", "(7, 5)", "(B, ·, ·, ·)"]),
    (lambda: et.from_numpy(3), TypeError, ["layer", "int", "BatchEnsembleLinear"]),
    (lambda: et.to_numpy(torch.nn.GELU(), rng=rng()), TypeError, ["module", "GELU", "BatchEnsembleLinear"]),
    (lambda: et.to_numpy(torch.nn.Linear(m, n).bfloat16(), rng=rng()), TypeError, ["module.weight", "bfloat16", "float64 or float32"]),
    (lambda: et.to_numpy(torch.nn.Linear(m, n), rng=1), TypeError, ["rng", "int", "numpy.random.Generator"]),
    (lambda: et.to_numpy(torch.nn.ReLU(), rng=None), TypeError, ["rng", "NoneType", "numpy.random.Generator"]),
    (lambda: et.to_numpy(torch.nn.Linear(m, n, device="meta"), rng=rng()), ValueError, ["module.weight", "'meta'", "with data"]),
    (lambda: et.from_numpy(linear(), device="gpu"), ValueError, ["device", "'gpu'", "cuda"]),
    (lambda: et.from_numpy(linear(), device=2.5), ValueError, ["device", "2.5"]),
    (lambda: et.from_numpy(linear(), device=NO_DEVICE), ValueError, ["device is 'cuda:99'", "accepted here are cpu, "]),
    (lambda: et.mlp([m, n], device=NO_DEVICE), ValueError, ["device is 'cuda:99'", "accepted here are cpu, "]),
    (lambda: et.mlp([m, n], "mean_field", device=torch.device(NO_DEVICE)), ValueError, ["device is device(type='cuda', index=99)", "accepted here are cpu, "]),
    (lambda: et.MCDropout().noise(None, (B, m), device=NO_DEVICE), ValueError, ["device is 'cuda:99'", "accepted here are cpu, "]),
    (lambda: conv("Rank1", device=NO_DEVICE), ValueError, ["device is 'cuda:99'", "accepted here are cpu, "]),
    (lambda: embedded_in_torch(device=NO_DEVICE), ValueError, ["device is 'cuda:99'", "accepted here are cpu, "]),
]
CONVOLUTIONS = [
    (lambda: conv(c_in=0), ValueError, ["in_channels", "0", POSITIVE]),
    (lambda: conv("DeepEnsemble", c_out=2.0), TypeError, ["out_channels", "2.0", POSITIVE]),
    (lambda: conv("MeanField", kernel_size=0), ValueError, ["kernel_size", "0", POSITIVE, "pair"]),
    (lambda: conv("Rank1", kernel_size=(3, 0)), ValueError, ["kernel_size[1]", "0", POSITIVE]),
    (lambda: conv(kernel_size=(3, 3, 3)), ValueError, ["kernel_size", "(3, 3, 3)", "pair"]),
    (lambda: conv(kernel_size="3"), TypeError, ["kernel_size", "'3'", POSITIVE]),
    (lambda: conv(stride=0), ValueError, ["stride", "0", POSITIVE]),
    (lambda: conv(stride=(1, True)), TypeError, ["stride[1]", "True", POSITIVE]),
    (lambda: conv(dilation=1.5), TypeError, ["dilation", "1.5", POSITIVE]),
    (lambda: conv(padding=-1), ValueError, ["padding", "-1", "from 0 up", "pair"]),
    (lambda: conv(padding="full"), ValueError, ["padding", "'full'", "'valid'", "'same'"]),
    (lambda: conv(padding="same", stride=2), ValueError, ["padding", "'same'", "stride of (2, 2)"]),
    (lambda: conv(padding_mode="wrap"), ValueError, ["padding_mode", "'wrap'", "'circular'"]),
    (lambda: conv(groups=0), ValueError, ["groups", "0", POSITIVE]),
    (lambda: conv(groups=4), ValueError, ["groups", "4", "in_channels", "6"]),
    (lambda: conv(groups=2), ValueError, ["groups", "2", "out_channels", "9"]),
    (lambda: conv(groups=(1, 1)), TypeError, ["groups", "(1, 1)", POSITIVE]),
    (lambda: conv(transposed=True), TypeError, ["transposed"]),
    (lambda: et.BatchEnsembleConv2d(6, 9, 3, 0), ValueError, ["ensemble_size", "0", POSITIVE]),
    (lambda: conv(init="ones"), ValueError, ["init", "'ones'", "'signs'"]),
    (lambda: conv("Rank1", prior=0.1), TypeError, ["prior", "0.1", "ensedu.priors.Normal"]),
    (lambda: conv("MeanField", posterior_std=-1), ValueError, ["posterior_std", "-1", "finite number above"]),
    (lambda: conv("DeepEnsemble", dtype=torch.int8), TypeError, ["dtype", "int8", "floating-point"]),
    (lambda: conv()(tones(6, 5, 5)), ValueError, ["input x", "(6, 5, 5)", "(B, 6, H, W)", "(3, B, 6, H, W)"]),
    (lambda: conv()(tones(B, 5, 6, 5)), ValueError, ["input x", "(7, 5, 6, 5)", "(B, 6, H, W)"]),
    (lambda: conv("DeepEnsemble")(tones(4, B, 6, 5, 5)), ValueError, ["input x", "(4, 7, 6, 5, 5)", "(3, B, 6, H, W)"]),
    (lambda: conv("MeanField")(tones(2, M, B, 6, 5, 5)), ValueError, ["input x", "(2, 3, 7, 6, 5, 5)", "(S, B, 6, H, W)"]),
    (lambda: conv("Rank1")(tones(B, 6, 5, 5).double()), TypeError, ["input x", "torch.float64", "torch.float32"]),
    (lambda: conv("Rank1")(tones(B, 6, 5, 5), {"r": tones(M, 6), "s": tones(M, 6)}), ValueError, ["noise['s']", "(3, 6)", "(3, 9)"]),
    (lambda: conv("MeanField").weight_matrices({"weight": tones(9, 6, 3, 3), "bias": tones(9)}), ValueError, ["noise['weight']", "(9, 6, 3, 3)", "(6, 9, 3, 3)"]),
    (lambda: conv("MeanField").noise(7), TypeError, ["generator", "int", "torch.Generator"]),
]
ENSEMBLE = [
    (lambda: ensemble(3), TypeError, ["model", "int", "torch.nn.Module"]),
    (lambda: et.ensemble(torch.nn.Linear, "rank1", M), TypeError, ["model", "type", "torch.nn.Module"]),
    (lambda: ensemble(method="single"), ValueError, ["method", "'single'", "'mean_field'"]),
    (lambda: ensemble(method=None), TypeError, ["method", "None", "'deep_ensemble'"]),
    (lambda: ensemble(ensemble_size=0), ValueError, ["ensemble_size", "0", POSITIVE]),
    (lambda: ensemble(ensemble_size=2.5), TypeError, ["ensemble_size", "2.5", POSITIVE]),
    (lambda: et.ensemble(plain(), "mean_field", M), ValueError, ["ensemble_size", "3", "samples=3"]),
    (lambda: et.ensemble(plain(), "rank1"), TypeError, ["ensemble_size", "None", POSITIVE]),
    (lambda: ensemble(samples=2), ValueError, ["samples", "2", "'batch_ensemble'"]),
    (lambda: ensemble(method="mc_dropout"), ValueError, ["dropout", "none", "Dropout2d"]),
    (lambda: ensemble(Model(drop=torch.nn.Dropout(0.0)), method="mc_dropout"), ValueError, ["dropout", "drop with p=0.0"]),
    (lambda: ensemble(Model(drop=torch.nn.AlphaDropout(0.5)), method="mc_dropout"), ValueError, ["drop (nn.AlphaDropout)", "Dropout2d"]),
    (lambda: ensemble(Model(drop=torch.nn.Dropout()), method="mc_dropout", p=0.3), TypeError, ["'mc_dropout'", "none", "'p'"]),
    (lambda: ensemble(method="rank1")(tones(B, m), noise=3), TypeError, ["noise", "net.noise()", "int"]),
    (lambda: ensemble(method="last_layer", init="signs"), TypeError, ["'last_layer'", "head", "'init'"]),
    (lambda: ensemble(method="last_layer"), TypeError, ["head", "None", "0, 2"]),
    (lambda: ensemble(method="last_layer", head="2", init_std=-1), ValueError, ["init_std", "-1", "above 0"]),
    (lambda: ensemble(method="last_layer", head="1"), ValueError, ["head", "'1'", "0, 2"]),
    (lambda: ensemble(method="rank1")(tones(B, m), noise={"0.r": tones(M, m)}), ValueError, ["noise", "0: ", "['r', 's']"]),
    (lambda: converted("mc_dropout").member(0, {"3.mask": tones(2, 1, 2) > 0}), ValueError, ["3: noise['mask']", "(2, 1, 2)", "each of 1 samples"]),
    (lambda: ensemble(method="rank1", per_example=True).noise(), ValueError, ["noise of 0", "per_example=True", "net.noise(generator, x)"]),
    (lambda: setattr(ensemble(), "leading", (8,)), AttributeError, ["leading"]),
    (lambda: ensemble(prior=Normal()), TypeError, ["batch_ensemble", "init, init_std", "'prior'"]),
    (lambda: ensemble(method="deep_ensemble", init="signs"), TypeError, ["deep_ensemble", "initialize", "'init'"]),
    (lambda: ensemble(method="deep_ensemble", initialize=3), TypeError, ["initialize", "3", "function"]),
    (lambda: ensemble(init="ones"), ValueError, ["init", "'ones'", "'signs'"]),
    (lambda: ensemble(method="mean_field", stride=2), TypeError, ["mean_field", "prior", "'stride'"]),
    (lambda: ensemble(shared="0"), TypeError, ["shared", "'0'", "sequence of names"]),
    (lambda: ensemble(shared=["1.weight"]), ValueError, ["shared", "'1.weight'", "0.weight"]),
    (lambda: ensemble(modulated=["0.weigth"]), ValueError, ["modulated", "'0.weigth'", "0.weight"]),
    (lambda: ensemble(Model(own=torch.nn.Parameter(tones(m, m)))), ValueError, ["own (5, 5)", "Model", "shared", "modulated"]),
    (lambda: ensemble(shared=[0]), TypeError, ["shared", "0", "patterns"]),
    (lambda: ensemble(shared=["0", "2"]), ValueError, ["model", "no layer to swap", "nn.Conv2d"]),
    (lambda: ensemble(torch.nn.ReLU()), ValueError, ["model", "no layer to swap", "nn.Linear"]),
    (lambda: ensemble(tied()), ValueError, ["embed.weight = decode.weight", "tied", "shared"]),
    (lambda: ensemble(tied(), shared=["embed"]), ValueError, ["embed.weight = decode.weight", "tied", "shared"]),
    (lambda: ensemble(watched()), ValueError, ["hooks", "0.weight", "ensemble's own"]),
    (lambda: ensemble(ensemble(method="deep_ensemble")), ValueError, ["model", "ensemble already"]),
    (lambda: ensemble(frozen(), "deep_ensemble"), ValueError, ["frozen", "0.weight", "shared"]),
    (lambda: ensemble(torch.nn.utils.spectral_norm(torch.nn.Linear(m, n)), "deep_ensemble"), ValueError, ["weight_orig", "Linear", "initialize"]),
    (lambda: ensemble(Model(lazy=torch.nn.LazyLinear(n)), "deep_ensemble"), ValueError, ["lazy.weight", "seen an input"]),
    (lambda: run_ensemble(lambda self, x: (self.fc(x), self.fc(x).mean().item()), tones(B, m), method="deep_ensemble"), ValueError, ["output", "same for all members", "member 2"]),
    (lambda: run_ensemble(lambda self, x: [x] if next(LENGTHS) % 2 else (x,), tones(B, m), method="deep_ensemble"), ValueError, ["output", "list", "tuple"]),
    (lambda: ensemble(Model(lazy=torch.nn.LazyLinear(n))), ValueError, ["lazy.weight", "seen an input"]),
    (lambda: ensemble(et.mlp([m, n], "rank1", M)), ValueError, ["0.weight (11, 5)", "Rank1Linear", "shared", "modulated"]),
    (lambda: ensemble(Model(token=torch.nn.Parameter(tones(m))), "deep_ensemble"), ValueError, ["token", "Model", "reset_parameters", "initialize", "shared"]),
    (lambda: run_ensemble(lambda self, x: iter([self.fc(x)]), tones(B, m)), TypeError, ["output", "list_iterator", "tuples"]),
    (lambda: run_ensemble(lambda self, x: {*[self.fc(x)]}, tones(B, m), method="deep_ensemble"), TypeError, ["output", "set", "tuples"]),
    (lambda: run_ensemble(lambda self, x: tones(B, next(LENGTHS)), tones(B, m), method="deep_ensemble"), ValueError, ["output", "(7, ", "same for all members", "member 2"]),
    (lambda: ensemble()(tones(B, m).double()), TypeError, ["input x", "torch.float64", "torch.float32"]),
    (lambda: ensemble()(tones(B, n)), ValueError, ["0: BatchEnsembleLinear", "input x", "(7, 11)", "(3, B, 5)"]),
]
TRAINING = [
    (lambda: fit(net=3), TypeError, ["net", "3", "torch.nn.Module"]),
    (lambda: fit(net=torch.nn.ReLU()), ValueError, ["net", "parameters to train", "none"]),
    (lambda: fit(net=frozen_net()), ValueError, ["net", "parameters to train", "none"]),
    (lambda: fit(net=torch.nn.Linear(m, 2, device="meta")), ValueError, ["net", "parameters to train", "meta"]),
    (lambda: fit(net=torch.nn.LazyLinear(2)), ValueError, ["net", "seen an input", "weight"]),
    (lambda: fit(x=ones(B, m)), TypeError, ["x must be a dense torch.Tensor", "ndarray"]),
    (lambda: fit(x=tones(B, m).to_sparse()), TypeError, ["x must be a dense torch.Tensor"]),
    (lambda: fit(x=tones(B, m).double()), TypeError, ["x has dtype torch.float64", "torch.float32"]),
    (lambda: fit(x=tones(B, m).bool()), TypeError, ["input x", "torch.bool"]),
    (lambda: fit(y=tones(B, 2).double()), TypeError, ["y has dtype torch.float64", "torch.float32"]),
    (lambda: fit(y=tones(B, 2).to(torch.complex64)), TypeError, ["y has dtype torch.complex64"]),
    (lambda: fit(x=tones(0, m), y=tones(0, 2)), ValueError, ["x must hold at least one example", "(0, 5)"]),
    (lambda: fit(x=torch.tensor(1.0)), ValueError, ["x must hold at least one example", "()"]),
    (lambda: fit(x=tones(B + 1, m)), ValueError, ["y", "row for each of 8 in x", "got 7"]),
    (lambda: fit(x=number((B, m), (4, 2))), ValueError, ["x must hold finite", "nan at (4, 2)"]),
    (lambda: fit(y=number((B, 2), (6, 1), -INF)), ValueError, ["y must hold finite", "-inf at (6, 1)"]),
    (lambda: fit(y=tones(B, 3)), ValueError, ["nll(net(x), y)", "(3, 7, 2)", "(7, 3)"]),
    (lambda: fit(y=torch.arange(B)), TypeError, ["nll(net(x), y)", "targets", "torch.int64"]),
    (lambda: fit(y=torch.arange(B), nll=et.softmax_cross_entropy), ValueError, ["nll(net(x), y)", "0 to 6", "0 to 1"]),
    (lambda: fit(nll="mse"), TypeError, ["nll must be a function", "'mse'"]),
    (lambda: fit(nll=lambda outputs, targets: outputs), ValueError, ["nll must return one number", "(3, 7, 2)"]),
    (lambda: fit(epochs=0), ValueError, ["epochs", "0", POSITIVE]),
    (lambda: fit(epochs=1.5), TypeError, ["epochs", "1.5", POSITIVE]),
    (lambda: fit(batch_size=B + 1), ValueError, ["batch_size", "at most", "7", "got 8"]),
    (lambda: fit(batch_size=0), ValueError, ["batch_size", "0", POSITIVE]),
    (lambda: fit(lr=0.0), ValueError, ["lr", "0.0", "above 0"]),
    (lambda: fit(lr=NAN), ValueError, ["lr", "nan", "above 0"]),
    (lambda: fit(fast_lr_factor=0), ValueError, ["fast_lr_factor", "0", "above 0"]),
    (lambda: fit(lr=1e-200, fast_lr_factor=1e-200), ValueError, ["fast_lr", "above 0", "0.0"]),
    (lambda: fit(weight_decay=-0.1), ValueError, ["weight_decay", "-0.1", "0 or more"]),
    (lambda: fit(kl=0.5), TypeError, ["kl must be a KLWeight", "0.5"]),
    (lambda: et.KLWeight(beta=-1), ValueError, ["beta", "-1", "0 or more"]),
    (lambda: et.KLWeight(anneal=-1), ValueError, ["anneal", "-1", "from 0 up"]),
    (lambda: et.KLWeight(anneal=0.5), TypeError, ["anneal", "0.5", "from 0 up"]),
    (lambda: fit(adversarial=-0.1), ValueError, ["adversarial", "-0.1", "0 or more"]),
    (lambda: fit(adversarial=True), TypeError, ["adversarial", "True"]),
    (lambda: fit(split=1), TypeError, ["split", "1", "True or False"]),
    (lambda: fit(split=True), ValueError, ["batch_size", "multiple of the 3 members", "got 7"]),
    (lambda: fit(net=plain(), split=True), ValueError, ["split", "False", "Sequential with none"]),
    (lambda: fit(net=et.mlp([m, 2], "mean_field"), split=True), ValueError, ["split", "repeats", "samples"]),
    (lambda: fit(net=et.mlp([m, 2], "rank1", M, samples=2), split=True, batch_size=6), ValueError, ["split", "repeats", "samples"]),
    (lambda: fit(net=et.Sequential(et.DeepEnsembleLinear(m, m, 2), et.DeepEnsembleLinear(m, 2, M)), split=True), ValueError, ["split", "one number of members", "2, 3"]),
    (lambda: fit(seed=-1), ValueError, ["seed", "-1", "from 0 up"]),
    (lambda: fit(seed=2**64), ValueError, ["seed", "below 2**64", "18446744073709551616"]),
    (lambda: fit(validation=tones(B, m)), TypeError, ["validation must be a pair", "tensor"]),
    (lambda: fit(validation=(tones(B, m),)), TypeError, ["validation must be a pair", "tensor"]),
    (lambda: fit(validation=(tones(0, m), tones(0, 2))), ValueError, ["x of validation must hold at least one example"]),
    (lambda: fit(validation=(tones(B, m), tones(3, 2))), ValueError, ["y of validation", "7 in x of validation", "got 3"]),
    (lambda: fit(validation=(tones(B, m), number((B, 2), (3, 1)))), ValueError, ["y of validation must hold finite", "nan at (3, 1)"]),
    (lambda: fit(validation=(tones(B, m).half(), tones(B, 2))), TypeError, ["x of validation has dtype torch.float16", "torch.float32"]),
    (lambda: et.Validation(tones(B, m), tones(B, 2), patience=0), ValueError, ["patience", "0", POSITIVE]),
    (lambda: et.Validation(tones(B, m), tones(B, 2), score="best"), ValueError, ["score", "'best'", "'mean', 'mixture'"]),
    (lambda: et.Validation(tones(B, m), tones(B, 2), samples=0), ValueError, ["samples", "0", POSITIVE]),
    (lambda: et.Validation(tones(B, m), tones(B, 2), samples=3), ValueError, ["samples", "1", "'mean'", "3"]),
    (lambda: fit(validation=held(score="mixture", samples=3)), ValueError, ["samples", "draws nothing", "3"]),
    (lambda: fit(validation=held(score="mixture"), nll=lambda o, t: (o - t).square().mean()), ValueError, ["score", "no reduction", "'mixture'"]),
    (lambda: fit(validation=held(score=lambda p, y: p)), TypeError, ["score must return one number", "(3, 7, 2)"]),
    (lambda: fit(validation=held(score=lambda p: p)), TypeError, ["score(predictions, y)", "positional"]),
    (lambda: fit(validation=et.Validation(tones(B, m))), TypeError, ["x of validation must give minibatches", "y is left out", "(7, 5)"]),
    (lambda: fit(checkpoint=3), TypeError, ["checkpoint must be a path", "3"]),
    (lambda: et.SaveTo(3), TypeError, ["folder must be a path", "3"]),
    (lambda: et.SaveTo("a", every=0), ValueError, ["every", "0", POSITIVE]),
    (lambda: et.fit(et.mlp([m, 2]), [(tones(B, m), two())], et.half_squared_error, epochs=1), TypeError, ["nll must be named", "got it as y"]),
    (lambda: fit(num_examples=B), ValueError, ["num_examples", "None for tensors", "7"]),
    (lambda: fit(scheduler=0.9), TypeError, ["scheduler must be a function", "0.9"]),
    (lambda: fit(scheduler=lambda optimizer: optimizer), TypeError, ["scheduler must return", "LRScheduler", "AdamW"]),
    (lambda: fit(scheduler=torch.optim.lr_scheduler.ReduceLROnPlateau), TypeError, ["scheduler must return", "no metric", "ReduceLROnPlateau"]),
    (lambda: fit(scheduler=torch.optim.lr_scheduler.StepLR), TypeError, ["scheduler(optimizer)", "step_size"]),
    (lambda: fit(autocast=True), TypeError, ["autocast", "torch.bfloat16 or None", "True"]),
    (lambda: fit(autocast=torch.float16), ValueError, ["autocast", "torch.float16", "gradient scaler"]),
    (lambda: fit(callback=3), TypeError, ["callback must be a function", "3"]),
    (lambda: fit(callback=lambda: 3), TypeError, ["callback(row)", "positional"]),
    (lambda: fit(x=(tones(B, m), tones(B + 1, m))), ValueError, ["x has", "(7, 5)", "(8, 5)", "first axis"]),
    (lambda: fit(x={}), ValueError, ["x has", "at least one tensor"]),
    (lambda: fit(x={1: tones(B, m)}), TypeError, ["x must have strings for names", "[1]"]),
    (lambda: fit(x={"input": tones(B, m).double()}), TypeError, ["x['input'] has dtype torch.float64"]),
    (lambda: fit(x=(tones(B, m), number((B, 2), (3, 1)))), ValueError, ["x[1] must hold finite", "nan at (3, 1)"]),
    (lambda: fit(x=(tones(B, m),), adversarial=0.1), TypeError, ["adversarial", "one tensor", "0.1", "tuple"]),
    (lambda: et.fit(plain(), tones(B, m), nll=et.half_squared_error, epochs=1), TypeError, ["x must give minibatches", "y is left out", "(7, 5)"]),
    (lambda: et.fit(plain(), (tones(B, m), tones(B, 2)), nll=et.half_squared_error, epochs=1), TypeError, ["x must give minibatches", "y is left out"]),
    (lambda: stream(pair() for _ in range(3)), ValueError, ["x must be iterable again", "generator", "one epoch"]),
    (lambda: stream(map(pair, range(3))), ValueError, ["x must be iterable again", "map"]),
    (lambda: stream([]), ValueError, ["x must give minibatches in each epoch", "none"]),
    (lambda: stream(Once(), epochs=2), ValueError, ["x must give minibatches in each epoch", "none"]),
    (lambda: stream([tones(B, m)]), TypeError, ["x must give pairs (inputs, targets)", "(7, 5)", "batch 1", "collate_fn"]),
    (lambda: stream([pair(), {"x": tones(B, m)}]), TypeError, ["x must give pairs", "batch 2"]),
    (lambda: stream([(tones(B, m), tones(B, 2), tones(B, 2))]), TypeError, ["x must give pairs", "batch 1"]),
    (lambda: stream([(tones(B, m), tones(B + 1, 2))]), ValueError, ["targets in batch 1 of x", "7 in inputs in batch 1 of x", "got 8"]),
    (lambda: stream([pair(), (number((B, m), (4, 2)), tones(B, 2))]), ValueError, ["inputs in batch 2 of x", "nan at (4, 2)"]),
    (lambda: stream([(tones(B, m).double(), tones(B, 2))]), TypeError, ["inputs in batch 1 of x", "torch.float64"]),
    (lambda: stream([(ones(B, m), tones(B, 2))]), TypeError, ["inputs in batch 1 of x must be a dense torch.Tensor", "ndarray"]),
    (lambda: stream([pair()], batch_size=B), ValueError, ["batch_size", "left out", "minibatches", "7"]),
    (lambda: stream([pair()], num_examples=0), ValueError, ["num_examples", "0", POSITIVE]),
    (lambda: stream([pair()], net=et.mlp([m, 2], "rank1", M)), ValueError, ["num_examples must be given", "distributions", "None"]),
    (lambda: stream(Unsized(), kl=et.KLWeight(anneal=1)), ValueError, ["x must have a length", "Unsized", "KLWeight(beta)"]),
    (lambda: stream([pair()], adversarial=0.1), TypeError, ["adversarial", "one tensor", "0.1", "list"]),
    (lambda: et.predict(plain(), [tones(B, m)], batch_size=3), ValueError, ["batch_size must be None", "stream", "3"]),
    (lambda: et.predict(plain(), [pair()]), ValueError, ["targets must be True or False", "2 parts in batch 1"]),
    (lambda: et.predict(plain(), [pair()], targets="y"), TypeError, ["targets", "'y'", "True or False"]),
    (lambda: et.predict(plain(), [tones(B, m)], targets=True), TypeError, ["x must give pairs", "targets=True", "batch 1"]),
    (lambda: et.predict(plain(), tones(B, m), targets=True), ValueError, ["targets must be None", "no stream", "True"]),
    (lambda: et.predict(plain(), []), ValueError, ["x must give a minibatch"]),
    (lambda: et.predict(plain(), [3]), TypeError, ["inputs in batch 1 of x", "3"]),
    (lambda: et.predict(hidden_draws(), [tones(B, m)]), ValueError, ["batch_size must be None and x no stream", "noise()"]),
    (lambda: fit(optimizer="adam"), TypeError, ["optimizer must be a function", "'adam'"]),
    (lambda: fit(optimizer=lambda groups, lr: groups), TypeError, ["optimizer must return a torch.optim.Optimizer", "list"]),
    (lambda: fit(optimizer=lambda groups: groups), TypeError, ["optimizer(groups, lr=lr)", "'lr'"]),
    (lambda: fit(optimizer=torch.optim.Adam(plain().parameters()), lr=0.1), ValueError, ["lr, fast_lr_factor and weight_decay", "left out", "0.1"]),
    (lambda: fit(optimizer=torch.optim.Adam(plain().parameters())), ValueError, ["optimizer", "of net alone"]),
    (lambda: fit(net=et.mlp([m, 2], "rank1", M, samples=2), adversarial=0.1), ValueError, ["adversarial must be 0", "repeats", "samples"]),
    (lambda: fit(member_gradient_factor=0), ValueError, ["member_gradient_factor", "0", "above 0"]),
    (lambda: fit(bar=1), TypeError, ["bar", "1", "True or False"]),
    (lambda: et.parameter_groups(plain(), weight_decay=0, fast_lr=0), ValueError, ["fast_lr", "0", "above 0"]),
    (lambda: et.parameter_groups(plain(), weight_decay=0, fast_lr="1"), TypeError, ["fast_lr", "'1'", "above 0"]),
    (lambda: et.elbo(plain(), tones(B, m), tones(B, 2), et.half_squared_error, num_examples=0), ValueError, ["num_examples", "0", POSITIVE]),
    (lambda: et.half_squared_error(tones(M, B, 2), tones(M, 2)), ValueError, ["(3, 7, 2)", "(3, 2)", "accepted"]),
    (lambda: et.half_squared_error(tones(M, B, 2), tones(M + 1, B, 2)), ValueError, ["(3, 7, 2)", "(4, 7, 2)", "(M, B, k)"]),
    (lambda: et.half_squared_error(tones(M, B, 2), tones(B, 2).double()), TypeError, ["targets", "outputs", "torch.float64", "torch.float32"]),
    (lambda: et.half_squared_error(tones(M, B, 2), ones(B, 2)), TypeError, ["targets", "ndarray", "torch.Tensor"]),
    (lambda: et.gaussian_nll(tones(M, B, 3), tones(B, 1)), ValueError, ["(3, 7, 3)", "(7, 1)", "2k"]),
    (lambda: et.softmax_cross_entropy(tones(M, B, 2), tones(B)), TypeError, ["targets", "integer labels", "torch.float32"]),
    (lambda: et.softmax_cross_entropy(tones(M, B, 2), tones(B) > 0), TypeError, ["targets", "integer labels", "torch.bool"]),
    (lambda: et.softmax_cross_entropy(tones(M, B, 2), torch.ones(B + 1).long()), ValueError, ["(3, 7, 2)", "(8,)", "(M, B)"]),
    (lambda: et.softmax_cross_entropy(tones(M, B, 2), torch.ones(B, device="meta").long()), ValueError, ["targets", "outputs", "meta", "cpu"]),
    (lambda: et.softmax_cross_entropy(tones(M, 0, 2), torch.ones(0).long()), ValueError, ["nll", "(3, 0)", "at least one"]),
    (lambda: fit_numpy(net=plain()), TypeError, ["net", "Sequential", "ensedu.numpy"]),
    (lambda: fit_numpy(net=en.ReLU()), ValueError, ["net", "parameters to train"]),
    (lambda: fit_numpy(x=tones(B, m)), TypeError, ["x must be a plain NumPy array", "tensor"]),
    (lambda: fit_numpy(x=ones(B, m).astype("f4")), TypeError, ["input x", "float32", "float64"]),
    (lambda: fit_numpy(x=ones(0, m), y=ones(0, 2)), ValueError, ["x must hold at least one example", "(0, 5)"]),
    (lambda: fit_numpy(x=ones(B + 1, m)), ValueError, ["y", "row for each of 8 in x", "got 7"]),
    (lambda: fit_numpy(y=np.array([[1.0, 2.0]] * 3 + [[1.0, NAN]] * 4)), ValueError, ["y must hold finite", "nan at (3, 1)"]),
    (lambda: fit_numpy(y=np.arange(B), nll=en.softmax_cross_entropy), ValueError, ["nll(net(x), y)", "0 to 6", "0 to 1"]),
    (lambda: fit_numpy(nll=squared(en.half_squared_error)), TypeError, ["nll must return one number and a gradient"]),
    (lambda: fit_numpy(nll=lambda o, t: en.half_squared_error(o, t, reduction="none")), ValueError, ["nll must return one number", "(3, 7)"]),
    (lambda: fit_numpy(nll=None), TypeError, ["nll must be a function", "None"]),
    (lambda: fit_numpy(rng=0), TypeError, ["rng", "int", "Generator"]),
    (lambda: fit_numpy(batch_size=B + 1), ValueError, ["batch_size", "at most", "got 8"]),
    (lambda: fit_numpy(split=True), ValueError, ["batch_size", "multiple of the 3 members", "got 7"]),
    (lambda: fit_numpy(net=en.mlp([m, 2], rng=rng()), split=True), ValueError, ["split", "Sequential with none"]),
    (lambda: fit_numpy(net=en.mlp([m, 2], "rank1", M, samples=2, rng=rng()), split=True), ValueError, ["split", "repeats", "samples"]),
    (lambda: fit_numpy(validation=(ones(B, m), ones(3, 2))), ValueError, ["y of validation", "7 in x of validation", "got 3"]),
    (lambda: fit_numpy(validation=3), TypeError, ["validation must be a pair", "Validation", "3"]),
    (lambda: fit_numpy(validation=en.Validation(ones(B, m))), TypeError, ["y of validation", "NumPy array", "None"]),
    (lambda: fit_numpy(validation=en.Validation(ones(B, m), ones(B, 2), score="mixture", samples=2)), ValueError, ["samples", "draws nothing", "2"]),
    (lambda: fit_numpy(validation=en.Validation(ones(B, m), ones(B, 2), score=lambda p, y: p)), TypeError, ["score must be a finite number"]),
    (lambda: fit_numpy(kl=None), TypeError, ["kl must be a KLWeight", "None"]),
    (lambda: fit_numpy(optimizer=torch.optim.SGD), TypeError, ["optimizer(net, lr=lr)", "Sequential"]),
    (lambda: fit_numpy(optimizer=lambda net, lr: net), TypeError, ["optimizer must return an ensedu.numpy optimizer"]),
    (lambda: en.gaussian_nll(ones(M, B, 2), ones(B, 1), beta=2), ValueError, ["beta", "from 0 to 1", "2"]),
    (lambda: en.half_squared_error(ones(M, B, 2), ones(M + 1, B, 2)), ValueError, ["(3, 7, 2)", "(4, 7, 2)", "(M, B, k)"]),
    (lambda: en.softmax_cross_entropy(ones(M, B, 2), np.ones((M, 2), int)), ValueError, ["(3, 7, 2)", "(3, 2)", "(M, B)"]),
]
# fmt: on
CASES = [
    pytest.param(*case, id=f"{group}-{i}")
    for group, cases in [
        ("counting", COUNTING),
        ("numpy", NUMPY),
        ("torch", TORCH),
        ("convolutions", CONVOLUTIONS),
        ("ensemble", ENSEMBLE),
        ("training", TRAINING),
    ]
    for i, case in enumerate(cases)
]


@pytest.mark.parametrize(("call", "error", "words"), CASES)
def test_bad_input_is_named(call, error, words):
    with pytest.raises(error) as caught:
        call()
    for word in words:
        assert word in str(caught.value)


def nested(*shape):
    return torch.nested.nested_tensor([tones(*shape[1:])] * 2)


def ragged(*shape):
    rows = [tones(size, *shape[2:]) for size in (2, 3)]
    return torch.nested.nested_tensor(rows, layout=torch.jagged)


def quantized(*shape):
    return torch.quantize_per_tensor(tones(*shape), 0.1, 0, torch.qint8)


#: Tensors that are no arrays of numbers, and what the message says of each.
ODD = {
    "nested": (nested, "a nested tensor"),
    "ragged": (ragged, "a nested tensor"),
    "quantized": (quantized, "quantized tensor of torch.qint8"),
    "sparse": (lambda *shape: tones(*shape).to_sparse(), "layout torch.sparse_coo"),
}


def converted(method, **options):
    if method == "last_layer":
        options["head"] = "2"
    if method == "mc_dropout":
        return ensemble(torch.nn.Sequential(*plain(), torch.nn.Dropout()), method)
    return ensemble(method=method, **options)


def with_own_batches(method, x):
    net = converted(method)
    net.own_batches = True
    return net(x)


def two():
    return tones(B, 2)


def trained(**k):
    data = {"x": tones(B, m), "y": two()} | k
    return et.fit(
        et.mlp([m, 2]), **data, nll=et.half_squared_error, epochs=1, batch_size=B, bar=False
    )


METHODS = ("batch_ensemble", "rank1", "mean_field", "mc_dropout", "last_layer")
LAYERS = (et.DeepEnsembleLinear, et.BatchEnsembleLinear, et.Rank1Linear)
FILTERS = (et.DeepEnsembleConv2d, et.BatchEnsembleConv2d, et.Rank1Conv2d)
#: name: (a call of one tensor, its shape, what it is called)
CALLS = {
    **{kind.__name__: (lambda x, k=kind: k(m, n, M)(x), (B, m), "x") for kind in LAYERS},
    **{
        kind.__name__: (lambda x, k=kind: k(m, n, 1, M)(x), (B, m, 3, 3), "x") for kind in FILTERS
    },
    "MeanFieldLinear": (lambda x: et.MeanFieldLinear(m, n)(x), (B, m), "x"),
    "MeanFieldConv2d": (lambda x: et.MeanFieldConv2d(m, n, 1)(x), (B, m, 3, 3), "x"),
    "MCDropout": (lambda x: et.MCDropout()(x), (B, m), "x"),
    "Tile": (lambda x: et.Tile(2)(x), (B, m), "x"),
    "Multiply": (lambda x: et.Multiply(0.5)(x), (B, m), "x"),
    "Conv2d": (lambda x: et.Conv2d(m, n, 1)(x), (B, m, 3, 3), "x"),
    "MaxPool2d": (lambda x: et.MaxPool2d(1)(x), (B, m, 3, 3), "x"),
    "AvgPool2d": (lambda x: et.AvgPool2d(1)(x), (B, m, 3, 3), "x"),
    "mlp": (lambda x: et.mlp([m, 2], "rank1", M)(x), (B, m), "x"),
    "mlp, draws": (lambda x: et.mlp([m, 2], "mean_field", samples=2)(x), (B, m), "x"),
    **{
        f"{k}, own": (lambda x, k=k: with_own_batches(k, x), (M, B, m), "input")
        for k in ("batch_ensemble", "rank1", "last_layer", "deep_ensemble")
    },
    "predict": (lambda x: et.predict(converted("rank1"), x), (B, m), "x"),
    "predict, copies": (lambda x: et.predict(converted("deep_ensemble"), x), (B, m), "x"),
    "noise": (
        lambda x: et.Rank1Linear(m, 2, M)(tones(B, m), {"r": x, "s": tones(M, 2)}), (M, m), "noise"
    ),
    "noise, converted": (
        lambda x: converted("rank1")(tones(B, m), noise={"0.r": x, "0.s": tones(M, n)}),
        (M, m), "noise",
    ),
    "noise, member": (
        lambda x: converted("rank1").member(0, {"0.r": x, "0.s": tones(M, n)}), (M, m), "noise"
    ),
    "noise, matrices": (
        lambda x: et.Rank1Linear(m, n, M).weight_matrices({"r": x, "s": tones(M, n)}),
        (M, m), "noise",
    ),
    "noise, draws": (
        lambda x: et.MeanFieldLinear(m, n).weight_matrices({"weight": x, "bias": tones(2, n)}),
        (2, m, n), "noise",
    ),
    "noise, kl": (
        lambda x: et.Rank1Linear(m, n, M, prior=Cauchy()).kl({"r": x, "s": tones(M, n)}),
        (M, m), "noise",
    ),
    "noise, kl of draws": (
        lambda x: et.MeanFieldLinear(m, n, prior=Cauchy()).kl({"weight": x, "bias": tones(n)}),
        (m, n), "noise",
    ),
    "mask": (lambda x: et.MCDropout()(two(), {"mask": x}), (1, 2), "noise"),
    "mask, member": (lambda x: converted("mc_dropout").member(0, {"3.mask": x}), (1, 1, 2), "noise"),
    "reduce": (lambda x: reduce(x, "mean"), (M, B), "nll"),
    "squared, outputs": (lambda x: et.half_squared_error(x, two()), (M, B, 2), "outputs"),
    "squared, targets": (lambda x: et.half_squared_error(tones(M, B, 2), x), (B, 2), "targets"),
    "gaussian, outputs": (lambda x: et.gaussian_nll(x, tones(B, 1)), (M, B, 2), "outputs"),
    "gaussian, targets": (lambda x: et.gaussian_nll(tones(M, B, 2), x), (B, 1), "targets"),
    "classes, outputs": (
        lambda x: et.softmax_cross_entropy(x, torch.ones(B).long()), (M, B, 2), "outputs"
    ),
    "classes, targets": (lambda x: et.softmax_cross_entropy(tones(M, B, 2), x), (B, 2), "targets"),
    "elbo, x": (
        lambda x: et.elbo(et.mlp([m, 2], "rank1", M), x, two(), et.half_squared_error, num_examples=B),
        (B, m), "x",
    ),
    "fit, x": (lambda x: trained(x=x), (B, m), "x"),
    "fit, y": (lambda x: trained(y=x), (B, 2), "y"),
    "fit, validation": (lambda x: trained(validation=(x, two())), (B, m), "x of validation"),
}  # fmt: skip


#: Torch says so of its own.
prototypes = pytest.mark.filterwarnings(
    "ignore:The PyTorch API of nested tensors", "ignore:torch.quantize_per_tensor"
)


@prototypes
@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("name", CALLS)
def test_tensors_that_are_no_arrays_are_named(name, kind):
    (make, words), (call, shape, argument) = ODD[kind], CALLS[name]
    with pytest.raises(TypeError) as caught:
        call(make(*shape))
    message = str(caught.value)
    assert argument in message and ("dense" in message or "array of bools" in message)
    assert words in message or "dtype torch.qint8" in message or "noise must be a dict" in message


def test_numpy_integers_are_integers_and_do_not_overflow():
    size = np.int32(50_000)
    assert counting.linear(size, size).total == 50_000**2 + 50_000
    assert isinstance(counting.linear(size, np.int64(3)).total, int)
    assert en.Linear(np.int64(m), n, rng=rng()).in_features == m


def test_the_table_is_long():
    assert len(CASES) >= 220
