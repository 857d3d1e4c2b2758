"""Models whose passes are samples or share a body: dropout kept on, one draw given, new heads."""

import copy
import io
import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import ensedu.torch as et
from ensedu import counting
from ensedu.torch import models
from ensedu.torch.whole.flat_parts import FlatDropout

M, S, B = 3, 7, 5


def numbers(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(7), dtype=torch.float64)


class Twice(nn.Module):
    """Calls one dropout twice, on inputs of different shape, between a plain and a dead one."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(7, 11), nn.Linear(11, 2)
        self.drop, self.dead = nn.Dropout(0.4), nn.Dropout(0.0)

    def forward(self, x):
        return self.last(self.dead(self.drop(torch.tanh(self.first(self.drop(x))))))


class Tokens(nn.Module):
    """Flattens a sequence into the batch and drops there, as some models do."""

    def __init__(self):
        super().__init__()
        self.body, self.drop = nn.Linear(7, 11), nn.Dropout(0.5)

    def forward(self, x):
        y = self.drop(self.body(x.flatten(0, 1)))
        return y.unflatten(0, x.shape[:2])


def dropped_lenet():
    """LeNet-5 with the two kinds of dropout that people put into it, and one in place."""
    conv1, relu1, pool1, conv2, relu2, pool2, *rest = models.lenet5()
    return nn.Sequential(
        conv1, nn.Dropout2d(0.2), relu1, pool1, conv2, nn.Dropout2d(0.5, inplace=True), relu2,
        pool2, *rest[:3], nn.Dropout(0.5), *rest[3:],
    )  # fmt: skip


# name: (model, input, how many axes behind the batch are dropped on their own, of each dropout)
DROPPED = {
    "mlp": (
        lambda: nn.Sequential(nn.Linear(7, 13), nn.Tanh(), nn.Dropout(0.3), nn.Linear(13, 2)),
        (B, 7),
        [1],
    ),
    "any rank": (
        lambda: nn.Sequential(nn.Linear(7, 13), nn.Dropout(0.3), nn.Linear(13, 2)),
        (B, 2, 3, 7),
        [3],
    ),
    "called twice": (Twice, (B, 7), [1, 1, 1]),
    "tokens in the batch": (Tokens, (B, 3, 7), [1]),
    "LeNet-5": (dropped_lenet, (B, 1, 28, 28), [1, 1, 1]),
    "signals": (
        lambda: nn.Sequential(nn.Conv1d(2, 5, 3), nn.Dropout1d(0.4), nn.BatchNorm1d(5)),
        (B, 2, 11),
        [1],
    ),
    "volumes": (
        lambda: nn.Sequential(nn.Conv3d(2, 5, 2), nn.Dropout3d(0.4)), (B, 2, 3, 5, 4), [1],
    ),
}  # fmt: skip


class Given(nn.Module):
    """Multiplies by the factors that it is given, one tensor a call."""

    def __init__(self, factors):
        super().__init__()
        self.factors = iter(factors)

    def forward(self, x):
        return x * next(self.factors)


def watched(net, x):
    """Run a converted model; return its output and, by dropout, what factors each call applied.

    A factor is output / input: (S, examples, ...), NaN where the input is 0.
    """
    factors = {}

    def before(module, inputs):
        module.kept = inputs[0].detach().clone()  # it may work in place

    def after(module, inputs, output):
        ratio = output.detach() / module.kept
        factors.setdefault(module.name, []).append(ratio.unflatten(0, (S, -1)))

    hooks = []
    for part in net.modules():
        if isinstance(part, FlatDropout):
            hooks += [
                part.register_forward_pre_hook(before),
                part.register_forward_hook(after),
            ]
    y = net(x)
    for hook in hooks:
        hook.remove()
    return y, factors


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", DROPPED)
def test_mc_dropout_equals_a_loop_of_thinned_models(name, training):
    build, shape, own_axes = DROPPED[name]
    torch.manual_seed(0)
    plain, x = build().double().eval(), numbers(*shape)
    if training and name != "signals":  # whose normalization couples samples in training
        plain.train()
    net = et.ensemble(plain, "mc_dropout", samples=S).train(plain.training)
    torch.manual_seed(1)
    y, factors = watched(net, x)
    axes = iter(own_axes)
    for path, calls in factors.items():
        p = plain.get_submodule(path).p
        for i, ratios in enumerate(calls):
            # One mask a sample: constant over examples, and over what is dropped together.
            own = next(axes)
            together = (1, *range(2 + own, ratios.ndim))
            kept = ratios.nan_to_num(nan=-1.0).amax(together, keepdim=True).clamp(min=0)
            assert (ratios.isnan() | torch.isclose(ratios, kept)).all()
            assert torch.isclose(kept * (1 - p), kept.bool().double()).all()  # 0 or 1 / (1 - p)
            if p:
                assert not torch.equal(kept[0], kept[1])
                assert (kept == 0).any() and (kept > 0).any()
            calls[i] = kept
    assert next(axes, None) is None
    for s in range(S):
        thinned = copy.deepcopy(plain).eval()
        for path, calls in factors.items():
            parent, _, key = path.rpartition(".")
            given = Given([call[s] for call in calls])
            setattr(thinned.get_submodule(parent), key, given)
        torch.testing.assert_close(y[s], thinned(x), rtol=1e-12, atol=1e-12)
    assert not torch.allclose(y[0], y[1])
    assert counting.count(net) == counting.count(plain)


def test_masks_drop_as_often_as_they_should():
    p, units = 0.3, 101
    net = et.ensemble(nn.Sequential(nn.Dropout(p)), "mc_dropout", samples=211).eval()
    y = net(torch.ones(2, units))
    assert y.unique().tolist() == [0.0, pytest.approx(1 / 0.7)]
    error = math.sqrt(p * (1 - p) / (211 * units))
    assert abs((y[:, 0] == 0).double().mean() - p) < 6 * error
    assert torch.equal(y[:, 0], y[:, 1])


def test_samples_is_one_by_default_and_an_empty_batch_is_a_batch():
    model = nn.Sequential(nn.Linear(7, 3), nn.Dropout())
    assert et.ensemble(model, "mc_dropout")(torch.zeros(B, 7)).shape == (1, B, 3)
    assert et.ensemble(model, "mc_dropout", samples=S)(torch.zeros(0, 7)).shape == (S, 0, 3)


def test_a_model_with_dropout_is_copied_and_never_changed():
    model = dropped_lenet().eval()
    before = copy.deepcopy(model.state_dict())
    net = et.ensemble(model, "mc_dropout", samples=S)
    buffer = io.BytesIO()
    torch.save(net, buffer)
    buffer.seek(0)
    twins = [net, copy.deepcopy(net), torch.load(buffer, weights_only=False)]
    x, outputs = numbers(B, 1, 28, 28).float(), []
    for twin in twins:
        torch.manual_seed(0)
        outputs.append(twin(x))
    assert torch.equal(outputs[0], outputs[1]) and torch.equal(outputs[0], outputs[2])
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.zero_()
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert [type(part) for part in model if "Dropout" in type(part).__name__] == [
        nn.Dropout2d, nn.Dropout2d, nn.Dropout,
    ]  # fmt: skip
    assert torch.equal(model(x), model(x))


def test_dropout_that_is_shared_stays_as_it_was():
    class Body(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(7, 101), nn.Sequential(nn.Dropout(0.5)))
            self.drop, self.head = nn.Dropout(0.5), nn.Linear(101, 2)

        def forward(self, x):
            y = self.body(x)
            return y, self.head(self.drop(y))

    net = et.ensemble(Body(), "mc_dropout", samples=S, shared=["body"])
    kept, y = net.eval()(torch.randn(B, 7))
    assert torch.equal(kept, kept[:1].expand(S, -1, -1)) and kept.all()
    assert not torch.equal(y[0], y[1])
    kept, _ = net.train()(torch.randn(B, 7))
    zeros = kept == 0
    assert zeros.any() and not torch.equal(zeros[0, 0], zeros[0, 1])  # a mask an example
    net = et.ensemble(Body(), "mc_dropout", samples=S, shared=["drop"])
    kept, y = net.eval()(torch.randn(B, 7))
    assert (kept == 0).any()


def test_fused_transformer_layers_drop_too():
    layer = nn.TransformerEncoderLayer(6, 2, 11, dropout=0.4, batch_first=True).eval()
    net = et.ensemble(layer, "mc_dropout", samples=S)
    x = torch.randn(B, 3, 6)
    with torch.no_grad():  # where Torch fuses a layer that it thinks is in eval mode
        y = net(x)
        assert torch.equal(layer(x), layer(x))
    assert not torch.allclose(y[0], y[1])


NO_DROPOUT = "model has no dropout to keep active, got "


class Functional(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(7, 2)

    def forward(self, x):
        return F.dropout(self.fc(x))


class MyDropout(nn.Dropout):
    pass


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("model", "options", "words"),
    [
        (nn.Linear(7, 2), {}, NO_DROPOUT + "none; accepted are Dropout, Dropout1d, Dropout2d"),
        (Functional(), {}, "(a call of torch.nn.functional.dropout is none)"),
        (nn.Sequential(nn.Linear(7, 2), nn.Dropout(0)), {}, NO_DROPOUT + "1 with p=0"),
        (nn.Sequential(nn.Dropout(1.0), nn.Dropout(0.5)), {}, NO_DROPOUT + "0 with p=1.0"),
        (
            nn.Sequential(nn.Dropout(0.5), nn.AlphaDropout(0.5), nn.FeatureAlphaDropout(0.5)),
            {},
            "dropout of another kind, 1 (nn.AlphaDropout), 2 (nn.FeatureAlphaDropout); accepted",
        ),
        (
            nn.Sequential(MyDropout(0.5)),
            {},
            "dropout of another kind, 0 (tests.torch.test_samples.MyDropout)",
        ),
        (nn.Sequential(nn.Dropout(0.5)), {"shared": ["0"]}, NO_DROPOUT + "none"),
    ],
)
def test_models_that_cannot_drop(model, options, words):
    with pytest.raises(ValueError) as raised:
        et.ensemble(model, "mc_dropout", samples=S, **options)
    assert words in str(raised.value)


@pytest.mark.bad_input
def test_dropout_names_an_input_that_lost_its_batch():
    class Loses(nn.Module):
        def __init__(self):
            super().__init__()
            self.drop = nn.Dropout(0.5)

        def forward(self, x):
            return self.drop(self.cut(x))

    for cut, shape in ((lambda x: x.mT, "(7, 35)"), (lambda x: x[:S], "(7, 7)"),
                       (lambda x: x[:, 0], "(35,)")):  # fmt: skip
        net = et.ensemble(Loses(), "mc_dropout", samples=S)
        net.model.cut = cut
        words = f"drop: got an input of shape {shape} inside the ensemble, accepted are 2 axes"
        with pytest.raises(ValueError) as raised:
            net(torch.zeros(B, 7))
        assert words in str(raised.value)
        assert "a multiple of 35 (members or samples x examples)" in str(raised.value)


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("method", "options", "error", "words"),
    [
        ("mc_dropout", {"p": 0.5}, TypeError, "options of 'mc_dropout' are none, got 'p'"),
        ("mc_dropout", {"ensemble_size": 3}, ValueError, "accepted is samples=3"),
        ("mc_dropout", {"samples": 0}, ValueError, "samples must be a positive integer, got 0"),
        ("mean_field", {"ensemble_size": 3}, ValueError, "accepted is samples=3"),
        ("batch_ensemble", {"ensemble_size": 3, "samples": 2}, ValueError, "which draws nothing"),
        ("last_layer", {"ensemble_size": 3, "init": "signs"}, TypeError, "options of 'last_layer'"),
        ("single", {}, ValueError, "method must be one of 'deep_ensemble', 'batch_ensemble', "),
    ],
)
def test_sizes_and_options_that_a_method_does_not_have(method, options, error, words):
    model = nn.Sequential(nn.Linear(7, 2), nn.Dropout(0.5))
    with pytest.raises(error) as raised:
        et.ensemble(model, method, **options)
    assert words in str(raised.value)


# Members with a body in common.


def test_heads_differ_on_one_body():
    plain = models.lenet5().double()
    plain[0].weight.requires_grad_(False)
    x = numbers(B, 1, 28, 28)
    net = et.ensemble(plain, "last_layer", M, head="11")
    y = net(x)
    hidden = plain[:11](x)
    heads = net.model[11].layer
    for i in range(M):
        head = nn.Linear(84, 10).double()
        head.load_state_dict({"weight": heads.weight[i], "bias": heads.bias[i]})
        torch.testing.assert_close(y[i], head(hidden), rtol=1e-12, atol=1e-12)
        assert not torch.equal(head.weight, plain[11].weight)
    assert not torch.allclose(y[0], y[1])
    expected = counting.count(plain[:11]) + counting.layer(84, 10, "deep_ensemble", M)
    assert counting.count(net) == expected
    y.square().sum().backward()
    assert net.model[3].weight.grad.any() and plain[3].weight.grad is None
    assert net.model[0].weight.grad is None
    with torch.no_grad():
        net.model[3].weight.zero_()
    assert plain[3].weight.any()


def test_the_body_may_be_of_any_kind():
    class Reads(nn.Module):
        """An own parameter, attention and a recurrent layer, none of which can be swapped."""

        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(6))
            self.attention = nn.MultiheadAttention(6, 2, batch_first=True)
            self.lstm, self.head2 = nn.LSTM(6, 5, batch_first=True), nn.Linear(5, 5)
            self.head = nn.Conv2d(1, 3, (1, 5))

        def forward(self, x):
            x = self.scale * x
            x, _ = self.lstm(self.attention(x, x, x, need_weights=False)[0])
            return self.head(self.head2(x)[:, None])

    torch.manual_seed(0)
    plain = Reads().double()
    x = numbers(B, 4, 6)
    net = et.ensemble(plain, "last_layer", M, head="head", shared=["attention"])
    y = net(x)
    for i in range(M):
        own = copy.deepcopy(plain)
        own.head.weight = nn.Parameter(net.model.head.layer.weight[i])
        own.head.bias = nn.Parameter(net.model.head.layer.bias[i])
        torch.testing.assert_close(y[i], own(x), rtol=1e-12, atol=1e-12)
    assert not torch.allclose(y[0], y[1])


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("head", "options", "error", "words"),
    [
        (None, {}, TypeError, "head must be the name of an nn.Linear or nn.Conv2d of the model"),
        ("9", {}, ValueError, "got '9'; it has 0, 2"),
        ("1", {}, ValueError, "got '1'; it has 0, 2"),
        ("2", {"shared": ["2"]}, ValueError, "got '2'; it has 0"),
        ("2.weight", {}, ValueError, "got '2.weight'"),
    ],
)
def test_bad_heads(head, options, error, words):
    model = nn.Sequential(nn.Linear(7, 5), nn.ReLU(), nn.Linear(5, 2))
    given = {} if head is None else {"head": head}
    with pytest.raises(error) as raised:
        et.ensemble(model, "last_layer", M, **given, **options)
    assert words in str(raised.value)


# One draw, given.

DRAWN = {
    "rank1": {"ensemble_size": M, "posterior_std": 0.3},
    "rank1 with samples": {"ensemble_size": M, "samples": S, "posterior_std": 0.3},
    "mean_field": {"samples": S, "posterior_std": 0.1},
}


def curve():
    return nn.Sequential(
        nn.Linear(1, 11), nn.Tanh(), nn.Linear(11, 13), nn.Tanh(), nn.Linear(13, 2)
    )


@pytest.mark.parametrize("case", DRAWN)
@pytest.mark.parametrize("images", [False, True])
def test_one_draw_is_one_function(case, images):
    method, options = case.partition(" ")[0], DRAWN[case]
    model = models.lenet5() if images else curve()
    net = et.ensemble(model.double(), method, **options)
    grid = numbers(13, 1, 28, 28) if images else numbers(13, 1)
    source = torch.Generator().manual_seed(3)
    noise = net.noise(source)
    y = net(grid, noise=noise)
    assert y.shape[:-1] == (*net.leading, 13)
    for rows in (slice(0, 7), slice(4, 13)):
        here = net(grid[rows], noise=noise)
        torch.testing.assert_close(here, y[..., rows, :], rtol=0, atol=1e-12)
    again = net.noise(torch.Generator().manual_seed(3))
    assert noise.keys() == again.keys() and all(torch.equal(noise[k], again[k]) for k in noise)
    assert not torch.allclose(net(grid, noise=net.noise(source)), y)
    assert not torch.allclose(net(grid), y)
    state = torch.get_rng_state()
    net(grid, noise=noise)
    assert torch.equal(torch.get_rng_state(), state)  # nothing is drawn besides


def test_a_layer_that_is_called_twice_uses_its_noise_twice():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(7, 7)

        def forward(self, x):
            return self.fc(self.fc(x))

    net = et.ensemble(Twice().double(), "mean_field", samples=S, posterior_std=0.3)
    noise, x = net.noise(), numbers(B, 7)
    layer = net.model.fc.layer
    own = {key.removeprefix("fc."): value for key, value in noise.items()}
    expected = layer(layer(x.expand(S, -1, -1), own), own)
    torch.testing.assert_close(net(x, noise=noise), expected, rtol=0, atol=1e-12)


def test_a_model_keeps_its_own_input_of_that_name():
    class Noisy(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(7, 2)

        def forward(self, x, noise):
            return self.fc(x + noise)

    x, noise = numbers(B, 7), numbers(B, 7).flip(0)
    net = et.ensemble(Noisy().double(), "batch_ensemble", M)
    torch.testing.assert_close(net(x, noise=noise), net.model.fc.layer(x + noise))


def test_nothing_to_draw_is_no_noise():
    model = nn.Sequential(nn.Linear(7, 5), nn.ReLU(), nn.Linear(5, 2))
    x = torch.randn(B, 7)
    for method, options in (("batch_ensemble", {}), ("last_layer", {"head": "2"})):
        net = et.ensemble(model, method, M, **options)
        assert net.noise() == {}
        assert torch.equal(net(x, noise={}), net(x))


@pytest.mark.bad_input
def test_noise_that_depends_on_the_input_is_named():
    model = nn.Sequential(nn.Linear(7, 5), nn.Dropout(0.5), nn.Linear(5, 2))
    for method, options, words in (
        ("rank1", {"ensemble_size": M, "per_example": True}, "noise of 0 depends on its input for "
         "per_example=True; accepted are the inputs too"),
        ("mc_dropout", {"samples": S}, "noise of 1 depends on its input as every mask"),
    ):  # fmt: skip
        net = et.ensemble(model, method, **options)
        with pytest.raises(ValueError) as raised:
            net.noise()
        assert words in str(raised.value)
        with pytest.raises(ValueError, match="noise has nothing for"):
            net(torch.zeros(B, 7), noise={})


@pytest.mark.bad_input
def test_bad_noise_is_named():
    net = et.ensemble(nn.Sequential(nn.Linear(7, 5), nn.ReLU(), nn.Linear(5, 2)), "rank1", M)
    good = net.noise()
    for noise, error, words in (
        ([], TypeError, "noise must be a dict, as net.noise() returns it, got list"),
        ({}, ValueError, "noise has nothing for 0, accepted is what net.noise() returns"),
        ({k: v for k, v in good.items() if k[0] == "0"}, ValueError, "noise has nothing for 2"),
        (
            good | {"1.r": good["0.r"]},
            ValueError,
            "noise has the key '1.r', accepted are those of layers that draw, 0, 2",
        ),
        ({k: v for k, v in good.items() if k != "2.s"}, ValueError, "2: noise must be a dict with"),
        (good | {"2.t": good["2.s"]}, ValueError, "noise must be a dict with keys ['r', 's'], got"),
        (good | {"2.s": good["2.s"].T}, ValueError, "noise['s'] has shape (2, 3), accepted is (3"),
        (good | {"2.s": good["2.s"].double()}, TypeError, "noise['s'] has dtype torch.float64"),
        (good | {"2.s": [0.0]}, TypeError, "noise['s'] must be a torch.Tensor, got list"),
    ):
        with pytest.raises(error) as raised:
            net(torch.zeros(B, 7), noise=noise)
        assert words in str(raised.value)
        assert net._pass.noise is None
