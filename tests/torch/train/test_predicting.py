"""Predictions, against members and draws run one by one."""

import pytest
import torch
from torch import nn

import ensedu.torch as et
from ensedu.methods import METHODS, size_option
from ensedu.torch import models
from ensedu.torch.train.predicting import draws_noise
from ensedu.torch.train.validating import Validator
from tests.torch.train.predicted_networks import DOUBLE, B, M, S, converted, m, n, numbers, rng

DRAWING = ["rank1", "mean_field", "mc_dropout"]


def network(method, **options):
    """An mlp that draws with a large noise, if it draws."""
    torch.manual_seed(0)
    spread = {"rank1": {"posterior_std": 0.9}, "mean_field": {"posterior_std": 0.9}}
    options = spread.get(method, {"p": 0.4} if method == "mc_dropout" else {}) | options
    return et.mlp([m, n, n, 2], method, dtype=torch.float64, **size_option(method, M), **options)


CONVERTED = [key for key in METHODS if key != "single"]


def alone(net, x, noise):
    """Each member's pass by itself, from the weights of `noise`."""
    rows = []
    for i in range(M):
        y = x
        for name, layer in net.named_children():
            own = {k.partition(".")[2]: v for k, v in noise.items() if k.partition(".")[0] == name}
            if isinstance(layer, et.MCDropout):
                y = y * own["mask"][i] / (1 - layer.p)
            elif isinstance(layer, nn.Linear):
                y = layer(y)
            elif hasattr(layer, "weight_matrices"):
                y = y @ (layer.weight_matrices(own) if own else layer.weight_matrices())[i]
                bias = getattr(layer, "bias", None)
                if bias is None:
                    bias = layer.bias_mean + nn.functional.softplus(layer.bias_rho) * own["bias"]
                y = y + bias[i]
            elif not isinstance(layer, et.Tile):
                y = layer(y)
        rows.append(y)
    return torch.stack(rows)


@pytest.mark.parametrize("batch_size", [None, 1, 3, B, 100])
@pytest.mark.parametrize("method", METHODS)
def test_an_mlp_is_its_members_one_by_one(method, batch_size):
    net, x = network(method), numbers(B, m)
    noise = net.noise(rng(), (B, m)) or None
    y = et.predict(net, x, noise=noise, batch_size=batch_size)
    assert y.shape == ((1 if method == "single" else M), B, 2)
    expected = net(x)[None] if method == "single" else alone(net, x, noise or {})
    torch.testing.assert_close(y, expected.detach(), **DOUBLE)
    assert not y.requires_grad


@pytest.mark.parametrize("batch_size", [None, 3, B])
@pytest.mark.parametrize("method", CONVERTED)
def test_a_converted_model_is_its_members_one_by_one(method, batch_size):
    net, x = converted(method), numbers(B, 1, 3, 3)
    noise = net.eval().noise(rng(), x) if method in DRAWING else None
    net.train()
    y = et.predict(net, x, noise=noise, batch_size=batch_size)
    assert y.shape == (M, B, 2)
    for i in range(M):
        member = net.member(i, noise).eval()
        torch.testing.assert_close(y[i], member(x).detach(), **DOUBLE)


@pytest.mark.parametrize("make", [network, converted])
@pytest.mark.parametrize("method", DRAWING)
def test_a_draw_is_one_function_in_all_minibatches(method, make):
    net = make(method)
    one = numbers(1, *((m,) if make is network else (1, 3, 3)))
    same = one.expand(B, *one.shape[1:])  # one example B times: what differs is the noise
    torch.manual_seed(1)
    whole = et.predict(net, same, samples=S)
    assert whole.shape == (S * M, B, 2)
    for batch_size in (1, 2, 3, B):
        torch.manual_seed(1)
        y = et.predict(net, same, samples=S, batch_size=batch_size)
        torch.testing.assert_close(y, whole, **DOUBLE)
        torch.testing.assert_close(y, y[:, :1].expand_as(y), **DOUBLE)
    spread = whole[:, 0].std(0)
    assert (spread > 1e-2).all()  # and draws differ by much more than rounding


@pytest.mark.parametrize("method", DRAWING)
def test_draws_stand_one_after_another(method):
    net, x = network(method), numbers(B, m)
    torch.manual_seed(1)
    y = et.predict(net, x, samples=S, batch_size=3)
    torch.manual_seed(1)
    for i in range(S):
        draw = net(x).detach()
        torch.testing.assert_close(y[i * M : (i + 1) * M], draw, **DOUBLE)


@pytest.mark.parametrize("make", [network, converted])
def test_samples_of_a_net_come_out_as_one_axis(make):
    net = make("rank1", samples=S)
    x = numbers(B, m) if make is network else numbers(B, 1, 3, 3)
    noise = net.noise(rng(), (B, m) if make is network else x)
    y = et.predict(net, x, noise=noise)
    assert y.shape == (S * M, B, 2)
    expected = net.eval()(x, noise=noise)
    torch.testing.assert_close(y, expected.flatten(0, 1).detach(), **DOUBLE)
    assert et.predict(net, x, samples=5, batch_size=2).shape == (5 * S * M, B, 2)


@pytest.mark.parametrize("members", [B, 1])
@pytest.mark.parametrize("examples", [B, 1])
def test_as_many_members_as_examples_are_no_puzzle(members, examples):
    x = numbers(examples, m)
    plain = nn.Sequential(nn.Linear(m, n), nn.Linear(n, members)).double()
    for net in (
        et.mlp([m, n, 2], "batch_ensemble", members, dtype=torch.float64),
        et.ensemble(plain, "batch_ensemble", members),
        et.ensemble(plain, "deep_ensemble", members),
        nn.Sequential(et.ensemble(plain, "deep_ensemble", members), nn.Softmax(-1)),
        nn.Sequential(et.DeepEnsembleLinear(m, n, members, dtype=torch.float64), nn.Tanh()),
    ):
        y = et.predict(net, x)
        assert y.shape[:2] == (members, examples)
        torch.testing.assert_close(y, net(x).detach(), **DOUBLE)
    assert torch.equal(et.predict(plain, x), plain(x).detach()[None])


@pytest.mark.parametrize("kind", ["BatchEnsemble", "DeepEnsemble", "MeanField", "Rank1"])
def test_a_convolution_alone(kind):
    members = () if kind == "MeanField" else (M,)
    torch.manual_seed(0)
    net = getattr(et, f"{kind}Conv2d")(2, 3, 3, *members, dtype=torch.float64)
    x = numbers(B, 2, 6, 5)
    y = et.predict(net, x, batch_size=2)
    assert y.shape == (*(members or (1,)), B, 3, 4, 3)
    if kind in ("BatchEnsemble", "DeepEnsemble"):
        torch.testing.assert_close(y, net(x).detach(), **DOUBLE)
    # A head without members of its own on top of it.
    flat = nn.Sequential(net, nn.Flatten(len(members) + 1), nn.Linear(36, 2).double())
    assert et.predict(flat, x).shape == (*(members or (1,)), B, 2)


class Around(nn.Module):
    """A module of a user's with layers of ours."""

    def __init__(self, net, end):
        super().__init__()
        self.net, self.end = net, end

    def forward(self, x):
        return self.end(self.net(x))


def test_what_a_module_does_with_its_members():
    net, x = network("batch_ensemble"), numbers(B, m)
    mean = et.predict(Around(net, lambda y: y.mean(0)), x)
    torch.testing.assert_close(mean, net(x).mean(0).detach()[None], **DOUBLE)
    first = et.predict(Around(net, lambda y: y[..., 0]), x)
    torch.testing.assert_close(first, net(x)[..., 0].detach(), **DOUBLE)
    # Here M = B, and (M, B) might be (B, k).
    with pytest.raises(ValueError, match=r"got shape \(3, 3\) for 3 examples, .* two axes"):
        et.predict(Around(net, lambda y: y[..., 0]), x[:M])
    with pytest.raises(ValueError, match=r"net must return .* \(7, 2, 3\) for 7 examples"):
        et.predict(Around(net, lambda y: y.permute(1, 2, 0)), x)


class Watch(nn.Module):
    """Tells in which mode it ran, and whether gradients were on."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def forward(self, x):
        self.seen.append((self.training, torch.is_grad_enabled()))
        if x.isnan().any():
            raise ArithmeticError
        return x


@pytest.mark.parametrize("evaluate", ["predict", "validate"])
def test_every_module_keeps_its_mode(evaluate):
    def run(net, x):
        if evaluate == "predict":
            return et.predict(net, x)
        batches = [(x, torch.zeros(len(x), 2))]
        held = et.Validation(torch.ones(B, m), torch.zeros(B, 2))
        validator = Validator(net, et.half_squared_error, held, 4)
        validator.batches = batches
        return validator.score()

    net = nn.Sequential(
        nn.Linear(m, n),
        nn.BatchNorm1d(n),
        nn.Dropout(),
        Watch(),
        nn.BatchNorm1d(n),
        nn.Linear(n, 2),
    )
    net[4].eval()  # frozen by its owner
    modes = [part.training for part in net.modules()]
    statistics = [value.clone() for value in net.buffers()]
    x = torch.ones(B, m)
    run(net, x)
    with pytest.raises(ArithmeticError):
        run(net, x * float("nan"))
    assert set(net[3].seen) == {(False, False)}
    assert [part.training for part in net.modules()] == modes
    assert all(map(torch.equal, net.buffers(), statistics))
    assert torch.is_grad_enabled()
    if evaluate == "predict":
        assert torch.equal(run(net, x), run(net, x))


@pytest.mark.parametrize(
    ("make", "options"),
    [
        (et.Rank1Linear, {"per_example": True, "posterior_std": 0.9}),
        (et.MeanFieldLinear, {"estimator": "local", "posterior_std": 0.9}),
    ],
)
def test_what_draws_for_each_example_draws_in_each_minibatch(make, options):
    members = (M,) if make is et.Rank1Linear else ()
    torch.manual_seed(0)
    net = et.Sequential(make(m, 2, *members, dtype=torch.float64, **options))
    x = numbers(1, m).expand(B, m)
    for batch_size in (None, 3):
        y = et.predict(net, x, batch_size=batch_size, samples=S)
        assert y.shape == (S * (members or (1,))[0], B, 2)
        assert len(torch.unique(y[0, :, 0])) == B
    model = et.ensemble(nn.Sequential(nn.Linear(m, 2)).double(), "rank1", M, per_example=True)
    assert et.predict(model, x, batch_size=2).shape == (M, B, 2)


def test_whether_a_net_draws():
    for method in METHODS:
        assert draws_noise(network(method)) == (method in DRAWING)
        if method != "single":
            assert draws_noise(converted(method)) == (method in DRAWING)
    assert not draws_noise(nn.Sequential(nn.Dropout(), nn.Linear(m, n)))


def test_given_noise_is_the_only_noise():
    net, x = network("rank1"), numbers(B, m)
    noise, state = net.noise(rng(), (B, m)), torch.get_rng_state()
    first = et.predict(net, x, noise=noise, batch_size=2)
    assert torch.equal(first, et.predict(net, x, noise=noise, batch_size=2))
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.bad_input
def test_bad_calls_are_named():
    x = torch.ones(B, m)
    rank1 = et.mlp([m, 2], "rank1", M)
    hidden = nn.Sequential(nn.Linear(m, n), et.MCDropout(), nn.Linear(n, 2))
    assert et.predict(hidden, x, batch_size=B, samples=S).shape == (S, B, 2)
    for call, error, words in (
        (
            lambda: et.predict(hidden, x, batch_size=2),
            ValueError,
            r"batch_size must be None .*noise",
        ),
        (
            lambda: et.predict(nn.Linear(m, 2), x, samples=2),
            ValueError,
            "samples must be 1 .*nothing",
        ),
        (
            lambda: et.predict(rank1, x, samples=2, noise={}),
            ValueError,
            "samples must be 1 for one",
        ),
        (lambda: et.predict(rank1, x, noise={"0.r": x}), ValueError, r"noise .*\['r', 's'\]"),
        (lambda: et.predict(rank1, x[:0]), ValueError, r"x must hold at least one .* \(0, 5\)"),
        (lambda: et.predict(rank1, x, batch_size=0), ValueError, "batch_size must be a positive"),
        (lambda: et.predict(rank1, x, samples=0), ValueError, "samples must be a positive"),
        (lambda: et.predict(rank1, x.double()), TypeError, "input x has dtype torch.float64"),
        (lambda: et.predict(rank1, x.numpy()), TypeError, "x must be a dense torch.Tensor"),
        (lambda: et.predict(lambda x: x, x), TypeError, "net must be a torch.nn.Module"),
        (lambda: et.predict(Around(rank1, lambda y: {3}), x), TypeError, "the output .*set"),
        (lambda: et.predict(Around(rank1, lambda y: 3.0), x), TypeError, r"net must .* 3\.0"),
        (lambda: et.predict(Around(rank1, lambda y: y.sum()), x), ValueError, r"net .* shape \(\)"),
        (lambda: et.predict(rank1, torch.ones(M, B, m)), ValueError, r"\(3, 7, 2\) for 3 examples"),
    ):
        with pytest.raises(error, match=words):
            call()


def test_a_large_model_and_images():
    torch.manual_seed(0)
    net = et.ensemble(models.lenet5(), "mean_field", samples=S)
    x = torch.randn(B, 1, 28, 28)
    torch.manual_seed(1)
    whole = et.predict(net, x)
    torch.manual_seed(1)
    torch.testing.assert_close(et.predict(net, x, batch_size=3), whole, rtol=1e-4, atol=1e-5)


class Several(nn.Module):
    """Takes two inputs and a number, and returns a tensor, a tuple and a constant."""

    def __init__(self, method):
        super().__init__()
        self.net, self.head = nn.Linear(m, n), nn.Linear(n, 2)

    def forward(self, x, scale, flag=True):
        hidden = self.net(x * scale).relu()
        return {"y": self.head(hidden), "parts": (hidden, hidden[:, 0]), "flag": flag}


@pytest.mark.parametrize("batch_size", [None, 3])
@pytest.mark.parametrize("method", ["batch_ensemble", "deep_ensemble", "rank1", "mean_field"])
def test_outputs_in_tuples_and_dicts_stay_in_them(method, batch_size):
    torch.manual_seed(0)
    spread = {"posterior_std": 0.9} if method in DRAWING else {}
    net = et.ensemble(Several(method).double(), method, **size_option(method, M), **spread)
    x, scale = numbers(B, m), numbers(B, 1) + 3
    samples = S if method in DRAWING else 1
    found = {}
    for name, inputs in {
        "place": (x, scale, False),
        "name": {"scale": scale, "x": x, "flag": False},
        "stream": list(zip(x.split(3), scale.split(3), [False] * 3, strict=True)),
    }.items():
        torch.manual_seed(1)
        size = None if name == "stream" else batch_size
        kind = {"targets": False} if name == "stream" else {}
        found[name] = et.predict(net, inputs, samples=samples, batch_size=size, **kind)
        assert found[name]["flag"] is False
        assert found[name]["y"].shape == (samples * M, B, 2)
        assert [tuple(y.shape) for y in found[name]["parts"]] == [
            (samples * M, B, n),
            (samples * M, B),
        ]
    torch.manual_seed(1)
    draws = [net.eval()(x, scale, False) for _ in range(samples)]
    for own in found.values():
        for key, path in (("y", lambda out: out["y"]), ("part", lambda out: out["parts"][1])):
            expected = torch.cat([path(draw) for draw in draws]).detach()
            torch.testing.assert_close(path(own), expected, **DOUBLE, msg=key)


@pytest.mark.parametrize("method", DRAWING)
def test_a_stream_is_run_once_and_each_draw_is_one_function(method):
    """Else a loader that shuffles would give the draws of an example to others."""
    net = network(method)
    same = numbers(1, m).expand(B, m)
    torch.manual_seed(1)
    whole = et.predict(net, same, samples=S)
    torch.manual_seed(1)
    times = []

    def batches():
        times.append(1)
        yield from same.split(3)

    found = et.predict(net, batches(), samples=S)
    assert len(times) == 1
    torch.testing.assert_close(found, whole, **DOUBLE)


def test_what_is_a_target_is_said_and_left_out():
    net, x = network("batch_ensemble"), numbers(B, m)
    rows = torch.utils.data.TensorDataset(x, torch.arange(B))
    loader = torch.utils.data.DataLoader(rows, 3)
    expected = et.predict(net, x)
    torch.testing.assert_close(et.predict(net, loader, targets=True), expected, **DOUBLE)
    alone = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x), 3)  # lists of one
    for targets in (None, False):
        torch.testing.assert_close(et.predict(net, alone, targets=targets), expected, **DOUBLE)
    with pytest.raises(TypeError, match="positional argument"):
        et.predict(nn.Linear(m, n).double(), loader, targets=False)


@pytest.mark.bad_input
def test_outputs_of_another_form_in_another_minibatch_are_named():
    class Changing(nn.Module):
        def forward(self, x):
            return {"y": x} if len(x) == 3 else (x,)

    with pytest.raises(ValueError, match="the output of net must have one form"):
        et.predict(Changing(), numbers(B, m), batch_size=3)
