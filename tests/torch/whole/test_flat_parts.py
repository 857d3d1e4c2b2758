"""What tells members apart inside a model: layers and dropout, against a loop of plain models."""

import copy
import math

import pytest
import torch
from torch import nn

import ensedu.torch as et
from ensedu import counting
from ensedu.methods import size_option
from ensedu.torch.whole.flat_parts import FlatDropout
from tests.torch.whole.cases import SAMPLES, B, M, dropped_lenet, floats, numbers, seeded


def test_a_layer_tells_its_sizes_and_names_what_it_cannot_give():
    class Reads(nn.Module):
        def __init__(self, key):
            super().__init__()
            self.fc, self.key = nn.Linear(7, 2), key

        def forward(self, x):
            return self.fc(x) * getattr(self.fc, self.key)

    x = numbers(B, 7).float()
    assert et.ensemble(Reads("out_features"), "rank1", M)(x).shape == (M, B, 2)
    with pytest.raises(AttributeError, match=r"fc\.weight, of which each member has its own"):
        et.ensemble(Reads("weight"), "rank1", M)(x)
    with pytest.raises(AttributeError, match="nonsense"):
        et.ensemble(Reads("nonsense"), "rank1", M)(x)


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")
@pytest.mark.parametrize("method", ["batch_ensemble", "rank1", "mean_field", "mc_dropout"])
def test_a_checkpoint_inside_a_model_draws_the_same_again_or_says_why_not(method):
    class Checkpointed(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc, self.drop, self.head = nn.Linear(7, 11), nn.Dropout(0.3), nn.Linear(11, 2)

        def part(self, x):
            return self.drop(torch.tanh(self.fc(x)))

        def forward(self, x):
            part = torch.utils.checkpoint.checkpoint(self.part, x, use_reentrant=False)
            return self.head(part)

    net = et.ensemble(Checkpointed().double(), method, **size_option(method, M)).eval()
    x = floats(B, 7).double()

    def gradients(run):
        net.zero_grad()
        torch.manual_seed(0)
        run().square().sum().backward()
        return [p.grad for p in net.parameters() if p.grad is not None]

    drawn = gradients(lambda: net(x))
    plain = torch.utils.checkpoint.checkpoint
    try:
        torch.utils.checkpoint.checkpoint = lambda part, x, use_reentrant: part(x)
        expected = gradients(lambda: net(x))
    finally:
        torch.utils.checkpoint.checkpoint = plain
    for one, other in zip(drawn, expected, strict=True):
        torch.testing.assert_close(one, other)
    if method != "batch_ensemble":
        with pytest.raises(RuntimeError, match="is called outside of a pass, after one that was"):
            net(x, noise=net.noise(seeded(), x)).sum().backward()


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
        factors.setdefault(module.name, []).append(ratio.unflatten(0, (SAMPLES, -1)))

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
    net = et.ensemble(plain, "mc_dropout", samples=SAMPLES).train(plain.training)
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
    for s in range(SAMPLES):
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


@pytest.mark.bad_input
def test_dropout_names_an_input_that_lost_its_batch():
    class Loses(nn.Module):
        def __init__(self):
            super().__init__()
            self.drop = nn.Dropout(0.5)

        def forward(self, x):
            return self.drop(self.cut(x))

    for cut, shape in ((lambda x: x.mT, "(7, 35)"), (lambda x: x[:SAMPLES], "(7, 7)"),
                       (lambda x: x[:, 0], "(35,)")):  # fmt: skip
        net = et.ensemble(Loses(), "mc_dropout", samples=SAMPLES)
        net.model.cut = cut
        words = f"drop: got an input of shape {shape} inside the ensemble, accepted are 2 axes"
        with pytest.raises(ValueError) as raised:
            net(torch.zeros(B, 7))
        assert words in str(raised.value)
        assert "a multiple of 35 (members or samples x examples)" in str(raised.value)


def test_a_layer_that_is_called_twice_uses_its_noise_twice():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(7, 7)

        def forward(self, x):
            return self.fc(self.fc(x))

    net = et.ensemble(Twice().double(), "mean_field", samples=SAMPLES, posterior_std=0.3)
    noise, x = net.noise(), numbers(B, 7)
    layer = net.model.fc.layer
    own = {key.removeprefix("fc."): value for key, value in noise.items()}
    expected = layer(layer(x.expand(SAMPLES, -1, -1), own), own)
    torch.testing.assert_close(net(x, noise=noise), expected, rtol=0, atol=1e-12)
