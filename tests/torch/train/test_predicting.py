"""Predictions, against passes of the network run one by one."""

import pytest
import torch
from torch import nn

import ensedu.torch as et
from ensedu.methods import METHODS, size_option
from ensedu.torch.network import draws_noise
from tests.torch.train import tools
from tests.torch.train.tools import M, m, n, numbers

S, B = 2, 7
DOUBLE = {"rtol": 1e-12, "atol": 1e-12}
#: Those that draw, with a large noise.
DRAWING = {
    "rank1": {"posterior_std": 0.9}, "mean_field": {"posterior_std": 0.9}, "mc_dropout": {"p": 0.4},
}  # fmt: skip


def network(method, **options):
    return tools.network(method, **DRAWING.get(method, {}), **options)


def converted(method, **options):
    own = {} if method == "mc_dropout" else DRAWING.get(method, {})
    net = tools.converted(method, **own, **options)
    for part in net.modules():
        if isinstance(part, nn.BatchNorm2d):  # statistics of a training that was
            for statistic in (part.running_mean, part.running_var):
                statistic.copy_(1 + numbers(*statistic.shape).square())
    return net


def examples(make):
    return numbers(B, *((m,) if make is network else (1, 4, 4)))


def passes(net, x, samples, **noise):
    """Draw after draw by hand, with one axis in front of the batch."""
    with torch.no_grad():
        return torch.cat([net.eval()(x, **noise).reshape(-1, B, 2) for _ in range(samples)])


@pytest.mark.parametrize(
    ("make", "method"),
    [
        *((network, key) for key in METHODS),
        *((converted, key) for key in METHODS if key != "single"),
    ],
)
def test_predictions_are_passes_in_eval_mode_draw_after_draw(make, method):
    """Each draw one function, in minibatches of any size and in a stream that is run once."""
    net, x = make(method), examples(make)
    assert draws_noise(net) == (method in DRAWING)
    samples = S if method in DRAWING else 1
    torch.manual_seed(1)
    expected = passes(net, x, samples)
    assert expected.shape == (samples * (1 if method == "single" else M), B, 2)
    if method in DRAWING:  # draws differ by much more than rounding
        assert expected.std(0).median() > 1e-2
    net.train()
    for size in (None, 1, 3, B, 100, "stream"):
        torch.manual_seed(1)
        given = (iter(x.split(3)), None) if size == "stream" else (x, size)
        y = et.predict(net, given[0], batch_size=given[1], samples=samples)
        torch.testing.assert_close(y, expected, **DOUBLE)
        assert not y.requires_grad
    same = et.predict(net, x[:1].expand_as(x), samples=samples, batch_size=3)
    torch.testing.assert_close(same, same[:, :1].expand_as(same), **DOUBLE)


@pytest.mark.parametrize("options", [{}, {"samples": S}], ids=["", "samples"])
@pytest.mark.parametrize("make", [network, converted])
def test_given_noise_is_the_only_noise(make, options):
    net, x = make("rank1", **options), examples(make)
    drawn = torch.Generator().manual_seed(0)
    noise = net.eval().noise(drawn, (B, m) if make is network else x)
    state, expected = torch.get_rng_state(), passes(net, x, 1, noise=noise)
    for size in (None, 2):
        y = et.predict(net, x, noise=noise, batch_size=size)
        torch.testing.assert_close(y, expected, **DOUBLE)
    assert torch.equal(torch.get_rng_state(), state)
    assert et.predict(net, x, samples=5, batch_size=2).shape == (5 * len(expected), B, 2)


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


@pytest.mark.parametrize("method", ["rank1", "mean_field"])
def test_what_draws_for_each_example_draws_in_each_minibatch(method):
    own = {"per_example": True} if method == "rank1" else {"estimator": "local"}
    x = numbers(1, m).expand(B, m)
    for batch_size in (None, 3):
        y = et.predict(network(method, **own), x, batch_size=batch_size, samples=S)
        assert y.shape == (S * M, B, 2) and len(torch.unique(y[0, :, 0])) == B
    model = et.ensemble(nn.Sequential(nn.Linear(m, 2)).double(), "rank1", M, per_example=True)
    assert et.predict(model, x, batch_size=2).shape == (M, B, 2)


@pytest.mark.bad_input
def test_bad_calls_are_named():
    x = torch.ones(B, m)
    rank1, one = et.mlp([m, 2], "rank1", M), nn.Linear(m, 2)
    changing = Around(one, lambda y: {"y": y} if len(y) == 3 else (y,))
    hidden = nn.Sequential(nn.Linear(m, n), et.MCDropout(), nn.Linear(n, 2))
    assert et.predict(hidden, x, batch_size=B, samples=S).shape == (S, B, 2)
    for net, given, options, error, words in (
        (hidden, x, {"batch_size": 2}, ValueError, r"batch_size must be None .*noise"),
        (one, x, {"samples": 2}, ValueError, "samples must be 1 .*nothing"),
        (rank1, x, {"samples": 2, "noise": {}}, ValueError, "samples must be 1 for one"),
        (rank1, x, {"noise": {"0.r": x}}, ValueError, r"noise .*\['r', 's'\]"),
        (rank1, x[:0], {}, ValueError, r"x must hold at least one .* \(0, 5\)"),
        (rank1, x, {"batch_size": 0}, ValueError, "batch_size must be a positive"),
        (rank1, x.double(), {}, TypeError, "input x has dtype torch.float64"),
        (Around(rank1, lambda y: {3}), x, {}, TypeError, "the output .*set"),
        (Around(rank1, lambda y: 3.0), x, {}, TypeError, r"net must .* 3\.0"),
        (Around(rank1, lambda y: y.sum()), x, {}, ValueError, r"net .* shape \(\)"),
        (rank1, torch.ones(M, B, m), {}, ValueError, r"\(3, 7, 2\) for 3 examples"),
        # Here M = B, and (M, B) might be (B, k).
        (Around(rank1, lambda y: y[..., 0]), x[:M], {}, ValueError, r"\(3, 3\) for .* two axes"),
        (Around(rank1, lambda y: y.permute(1, 2, 0)), x, {}, ValueError, r"\(7, 2, 3\) for 7 ex"),
        (changing, x, {"batch_size": 3}, ValueError, "the output of net must have one form"),
    ):
        with pytest.raises(error, match=words):
            et.predict(net, given, **options)


class Several(nn.Module):
    """Takes two inputs and a number, and returns two tensors, a tuple and a constant."""

    def __init__(self):
        super().__init__()
        self.net, self.head = nn.Linear(m, n), nn.Linear(n, 2)

    def forward(self, x, scale, flag=True):
        hidden = self.net(x * scale).relu()
        parts = hidden, hidden[:, 0]
        return {"y": self.head(hidden), "sum": hidden.sum(1), "parts": parts, "flag": flag}


def flat(outputs):
    return [outputs["y"], outputs["sum"], *outputs["parts"]]


@pytest.mark.parametrize("method", ["batch_ensemble", "deep_ensemble", "rank1", "mean_field"])
def test_outputs_in_tuples_and_dicts_stay_in_them(method):
    torch.manual_seed(0)
    own = size_option(method, M) | DRAWING.get(method, {})
    net = et.ensemble(Several().double(), method, **own).eval()
    x, scale, samples = numbers(B, m), numbers(B, 1) + 3, S if method in DRAWING else 1
    torch.manual_seed(1)
    draws = [net(x, scale, False) for _ in range(samples)]
    named = {"scale": scale, "x": x, "flag": False}
    stream = list(zip(x.split(3), scale.split(3), [False] * 3, strict=True))
    for given, size in (((x, scale, False), None), (named, None), (named, 3), (stream, None)):
        torch.manual_seed(1)
        kind = {"targets": False} if given is stream else {}
        found = et.predict(net, given, samples=samples, batch_size=size, **kind)
        assert found["flag"] is False
        for own, *expected in zip(*(map(flat, (found, *draws))), strict=True):
            torch.testing.assert_close(own, torch.cat(expected).detach(), **DOUBLE)


def test_what_is_a_target_is_said_and_left_out():
    net, x = network("batch_ensemble"), numbers(B, m)
    pairs, alone = (
        torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*tensors), 3)
        for tensors in ((x, torch.arange(B)), (x,))  # lists of two, and of one
    )
    for stream, targets in ((pairs, True), (alone, None), (alone, False)):
        found = et.predict(net, stream, targets=targets)
        torch.testing.assert_close(found, et.predict(net, x), **DOUBLE)
    with pytest.raises(TypeError, match="positional argument"):
        et.predict(nn.Linear(m, n).double(), pairs, targets=False)
