"""No conversion is silently wrong: what mixes members is an error.

Each model here came out wrong without a word, or with one that helped nobody, in a library that
repeats the batch and hopes.
"""

import copy
import pickle
from contextlib import ExitStack
from threading import Event, current_thread

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import ensedu.torch as et
from ensedu.methods import size_option
from ensedu.torch import models
from ensedu.torch.whole.compare import unfused
from tests.torch.threads import PATIENCE, Meet, at_once
from tests.torch.whole.cases import FLAT, B, M, Masked, Mix, SequenceFirst, floats, ids


class Siamese(nn.Module):
    """Two inputs through one layer, one behind the other in one batch."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(7, 11)

    def forward(self, x, y):
        a, b = self.fc(torch.cat([x, y])).chunk(2)
        return a * b


class Centered(nn.Module):
    """Takes the mean of the batch away, in eval mode too."""

    def __init__(self):
        super().__init__()
        self.fc, self.head = nn.Linear(7, 11), nn.Linear(11, 2)

    def forward(self, x):
        x = self.fc(x)
        return self.head(x - x.mean(0))


class FixedWindows(nn.Module):
    """Cuts the whole batch into a number of windows that does not depend on it."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(7, 7)

    def forward(self, x):
        B, L, m = x.shape
        windows = x.reshape(B, L // 4, 4, m).transpose(0, 2).reshape(4, -1, m)
        return self.fc(windows).reshape(4, L // 4, B, m).transpose(0, 2).reshape(B, L, m)


class Noisy(nn.Module):
    """Draws in eval mode."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(7, 2)

    def forward(self, x):
        return F.dropout(self.fc(x), 0.5)


MIXED = {
    "siamese": (Siamese, lambda: (floats(B, 7), 1 - floats(B, 7)), 4),
    "sequence first, one example": (SequenceFirst, lambda: (floats(1, 8, 7),), 4),
    "sequence first, two examples": (SequenceFirst, lambda: (floats(2, 8, 7),), 4),
    "centered": (Centered, lambda: (floats(B, 7),), M),
    "windows": (FixedWindows, lambda: (floats(1, 8, 7),), 4),
}
FIRST = {"siamese": "fc", "centered": "head", "windows": "fc"}


@pytest.mark.parametrize("method", FLAT)
@pytest.mark.parametrize("name", MIXED)
def test_what_mixes_members_is_an_error_in_each_of_three_places(name, method):
    build, make, number = MIXED[name]
    torch.manual_seed(0)
    model, inputs = build(), make()
    first = FIRST.get(name, "fc")
    with pytest.raises(ValueError, match=rf"is off by .* first at {first}, a nn\.Linear"):
        et.ensemble(model, method, **size_option(method, number), example=inputs)
    net = et.ensemble(model, method, **size_option(method, number))
    with pytest.raises(ValueError, match="the ensemble is not its members"):
        et.check_members(net, *inputs)
    for _ in range(2):  # it does not pass the second time
        with pytest.raises(ValueError, match="the ensemble is not its members"):
            net(*inputs)
    copied = et.ensemble(model, "deep_ensemble", number, example=inputs)
    assert copied(*inputs).shape[:2] == (number, len(inputs[0]))


@pytest.mark.parametrize("method", FLAT)
def test_a_mix_up_shows_where_members_are_nearly_equal(method):
    close = {"init": "normal", "init_std": 1e-6} if method == "batch_ensemble" else {}
    close |= {"init_std": 1e-6, "posterior_std": 1e-6} if method == "rank1" else {}
    close |= {"posterior_std": 1e-6} if method == "mean_field" else {}
    net = et.ensemble(Siamese(), method, **size_option(method, M), **close)
    with pytest.raises(ValueError, match="the ensemble is not its members"):
        net(floats(B, 7), floats(B, 7))


def test_the_comparison_leaves_nothing_behind():
    model = nn.Sequential(nn.Linear(7, 11), nn.BatchNorm1d(11), nn.Dropout(0.3), nn.Linear(11, 2))
    net = et.ensemble(model, "rank1", M)
    net.model[1].eval()
    modes = [part.training for part in net.modules()]
    before = copy.deepcopy(net.state_dict())
    x = floats(B, 7)
    torch.manual_seed(0)
    y = net(x)
    assert net.passes_by_kind
    assert [part.training for part in net.modules()] == modes
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())
    torch.manual_seed(0)
    assert torch.equal(net(x), y)  # it drew nothing from the global generator
    y.sum().backward()
    assert all(parameter.grad is not None for parameter in net.parameters())


class Counts(nn.Linear):
    """A part of all members, which counts its calls."""

    calls = 0

    def forward(self, x):
        Counts.calls += 1
        return super().forward(x)


def counted(run):
    """Return how often a run calls a layer."""
    Counts.calls = 0
    run()
    return Counts.calls


@pytest.mark.parametrize("given", [False, True])
def test_of_each_kind_the_passes_1_2_4_and_8_are_compared(given):
    x, one = floats(B, 7), floats(1, 7)
    model = nn.Sequential(Counts(7, 7), nn.Linear(7, 2))
    example = {"example": x} if given else {}  # it stands for no pass with real data
    net = et.ensemble(model, "batch_ensemble", M, shared=["0"], **example)
    compared = [counted(lambda: net(x)) == 1 + M + 1 for _ in range(17)]
    assert [i + 1 for i, value in enumerate(compared) if value] == [1, 2, 4, 8, 16]
    assert [counted(lambda: net(one)) for _ in range(3)] == [1 + M + 1, 1 + M + 1, 1]
    twins = [copy.deepcopy(net), pickle.loads(pickle.dumps(net))]
    for twin in twins:  # and go on counting
        assert sorted(twin.passes_by_kind.values()) == [3, 17]
        assert counted(lambda twin=twin: twin(one)) == 1 + M + 1
        assert counted(lambda twin=twin: twin(x)) == 1
    assert counted(lambda: net.eval_copy()(one)) == 1


def test_the_comparison_can_be_skipped_and_is_seen_by_no_hook():
    model = nn.Sequential(Counts(7, 7), nn.Linear(7, 2))
    net = et.ensemble(model, "batch_ensemble", M, shared=["0"])
    net.comparing = False
    assert [counted(lambda: net(floats(B, 7))) for _ in range(2)] == [1, 1]
    net = et.ensemble(model, "batch_ensemble", M, shared=["0"])
    seen = []
    handle = net.model[1].register_forward_hook(lambda *_: seen.append(1))
    net(floats(B, 7))
    assert len(seen) == 1 and net.passes_by_kind  # the passes that its owner asked for
    handle.remove()
    net(floats(B, 7))
    assert len(seen) == 1
    model[0].register_forward_hook(_doubled)  # the model's own are a part of it
    net = et.ensemble(model, "batch_ensemble", M, shared=["0"])
    net(floats(B, 7))
    assert net.passes_by_kind


class Sorts(nn.Module):
    """Reads texts of several lengths, the longest first, as packed sequences."""

    def __init__(self):
        super().__init__()
        self.embed, self.read = nn.Embedding(19, 5), nn.GRU(5, 7, batch_first=True)
        self.hidden, self.head = nn.Linear(7, 7), nn.Linear(7, 2)

    def forward(self, tokens, lengths):
        order = lengths.argsort(descending=True, stable=True)
        packed = nn.utils.rnn.pack_padded_sequence(
            self.embed(tokens[order]), lengths[order].cpu(), batch_first=True
        )
        state = self.hidden(self.read(packed)[1][0]).tanh()
        return self.head(state[order.argsort()])


@pytest.mark.parametrize("method", FLAT)
def test_a_batch_that_is_sorted_already_does_not_decide(method):
    torch.manual_seed(0)
    texts, equal = ids(B, 6), torch.full((B,), 6)
    ragged = torch.tensor([2, 6, 1, 5, 3])
    net = et.ensemble(
        Sorts(), method, **size_option(method, M), shared=[nn.GRU], example=(texts, equal)
    )
    with pytest.raises(ValueError, match="the ensemble is not its members"):
        net(texts, ragged)
    assert net(texts, equal).shape == (M, B, 2)
    for _ in range(2):  # it does not pass the second time
        with pytest.raises(ValueError, match="the ensemble is not its members"):
            net(texts, ragged)
    net(texts, equal)
    net(texts, ragged)  # the third is not compared
    with pytest.raises(ValueError, match="the ensemble is not its members"):
        net(texts, ragged)


def _doubled(module, inputs, output):
    return 2 * output


class ZeroHead(Mix):
    def __init__(self):
        super().__init__()
        nn.init.zeros_(self.head.weight)


class BesideLarge(Mix):
    def forward(self, x):
        return torch.cat([self.mixed(x), 640 * x], dim=1)


class Number(Mix):
    """A Python number that is one over all members."""

    def forward(self, x):
        y = self.head(self.fc(x))
        return {"y": y, "loss": y.square().mean().item()}


class Optional(Mix):
    """Right without its second input."""

    def forward(self, x, y=None):
        return self.head(self.fc(x)) if y is None else self.mixed(x + y)


class LateTime(Mix):
    """Right for one step of time."""

    def forward(self, x):
        rows = x.transpose(0, 1).flatten(0, 1)
        return self.head(self.fc(rows)).unflatten(0, x.shape[1::-1]).transpose(0, 1)


MIX = (Mix, ZeroHead, Masked, BesideLarge, Number, lambda: Mix(1e-6))


@pytest.mark.parametrize("build", MIX)
@pytest.mark.parametrize("method", FLAT)
def test_nothing_small_hides_a_mix_up(build, method):
    torch.manual_seed(0)
    net = et.ensemble(build(), method, **size_option(method, M))
    with pytest.raises(ValueError, match="the ensemble is not its members"):
        net(floats(B, 7))


class Last(nn.Module):
    """Loses one example between its layers, the last of more than a member has."""

    def __init__(self):
        super().__init__()
        self.fc, self.head = nn.Linear(7, 11), nn.Linear(11, 2)

    def forward(self, x):
        x = self.fc(x)
        return self.head(torch.cat([x[:-1], 0 * x[-1:]]) if len(x) > B else x)


@pytest.mark.parametrize("number", [6, 7, 11])
def test_the_last_member_is_compared_and_the_first_module_that_differs_found(number):
    torch.manual_seed(0)
    net = et.ensemble(Last(), "batch_ensemble", number)
    words = rf"entry \({number - 1},\) is off by .* first at head, a nn\.Linear"
    with pytest.raises(ValueError, match=words):
        net(floats(B, 7))


def test_rounding_alone_in_an_output_is_no_mix_up():
    class Rounds(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(7, 11)

        def forward(self, x):
            y = self.fc(x)
            return {"y": torch.complex(y, y), "error": y.softmax(-1).sum(-1) - 1, "none": None}

    for dtype in (torch.float32, torch.float64):
        net = et.ensemble(Rounds().to(dtype), "batch_ensemble", M, example=floats(B, 7).to(dtype))
        assert net(floats(B, 7).to(dtype))["y"].shape == (M, B, 11)


@pytest.mark.parametrize("short", [torch.bfloat16, torch.float16])
def test_short_numbers_hide_no_mix_up(short):
    x = floats(32, 7)
    net = et.ensemble(Mix(), "batch_ensemble", M)
    with torch.autocast("cpu", dtype=short), pytest.raises(ValueError, match="is not its members"):
        net(x)
    net = et.ensemble(Mix().to(short), "batch_ensemble", M)
    before = copy.deepcopy(net.state_dict())
    with pytest.raises(ValueError, match="is not its members"):
        net(x.to(short))
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())
    assert all(parameter.dtype == short for parameter in net.parameters())


def test_each_kind_of_pass_is_compared():
    x = floats(B, 7)
    net = et.ensemble(Optional(), "batch_ensemble", M)
    net(x)
    with pytest.raises(ValueError, match="is not its members"):
        net(x, 1 - x)
    net = et.ensemble(LateTime(), "batch_ensemble", M)
    net(floats(B, 1, 7))
    with pytest.raises(ValueError, match="is not its members"):
        net(floats(B, 4, 7))
    net = et.ensemble(Mix(), "batch_ensemble", M)
    net(x[:0])
    net(x * torch.nan)
    with pytest.raises(ValueError, match="is not its members"):
        net(x)
    with pytest.raises(ValueError, match="outputs hold no number"):
        et.check_members(et.ensemble(Mix(), "batch_ensemble", M), x[:0])


def test_models_that_count_or_keep_what_they_saw_can_be_compared():
    class Keeps(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(7, 7)
            self.register_buffer("count", torch.ones(()))
            self.state, self.last = None, [None]

        def forward(self, x):
            self.state = self.fc(x) * self.count
            self.last[0] = self.state
            self.count += 1
            return self.state

    torch.manual_seed(0)
    model, x = Keeps().double(), floats(B, 7).double()
    net = et.ensemble(model, "batch_ensemble", M)
    net(x)
    assert net.passes_by_kind and net.model.count == 2  # the comparison did not count
    assert net.member(0).state.shape == (M * B, 7)
    model(x)  # leaves tensors with a graph, which deepcopy alone refuses
    for method in ("deep_ensemble", *FLAT):
        assert et.ensemble(model, method, **size_option(method, M))(x).shape == (M, B, 7)


def test_a_model_that_draws_cannot_be_compared():
    net = et.ensemble(Noisy(), "batch_ensemble", M)
    with pytest.warns(UserWarning, match="not compared with its members: it draws at random"):
        assert net(floats(B, 7)).shape == (M, B, 2)
    for _ in range(7):  # and says so once
        net(floats(B, 7))
    with pytest.raises(ValueError, match="draws at random in eval mode"):
        et.check_members(net, floats(B, 7))


@pytest.mark.bad_input
def test_check_members_takes_what_ensemble_returns():
    with pytest.raises(TypeError, match=r"net must be what ensedu\.torch\.ensemble returns"):
        et.check_members(nn.Linear(7, 2), floats(B, 7))
    with pytest.raises(TypeError, match="example must be a tensor, a tuple of arguments or a dict"):
        et.ensemble(nn.Linear(7, 2), "batch_ensemble", M, example=[floats(B, 7)])
    net = et.ensemble(Siamese(), "deep_ensemble", M, example={"x": floats(B, 7), "y": floats(B, 7)})
    assert et.check_members(net, floats(B, 7), y=floats(B, 7)) is None


@pytest.mark.parametrize("low", [torch.float16, torch.bfloat16])
def test_rounding_is_no_mix_up(low):
    model = models.wide_resnet(10, 1)
    net = et.ensemble(model, "batch_ensemble", M)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        net(floats(B, 3, 8, 8))
    net = et.ensemble(
        nn.Sequential(nn.Linear(7, 101), nn.ReLU(), nn.Linear(101, 2)).to(low), "rank1", M
    )
    net(floats(B, 7).to(low))
    assert net.passes_by_kind


@pytest.fixture
def _elsewhere(monkeypatch):
    """Return a function that compares a net, and runs another in a thread during that."""

    def beside(net, x, run):
        inside, done = Event(), Event()

        def pause():
            if current_thread().name == "compares":
                inside.set()
                assert done.wait(PATIENCE)

        def compares():
            current_thread().name = "compares"
            et.check_members(net, x)

        def runs():
            assert inside.wait(PATIENCE)
            try:
                return run()
            finally:
                done.set()

        monkeypatch.setattr(Meet, "during", staticmethod(pause))
        return at_once(compares, runs)[1]

    return beside


def test_while_a_thread_compares_others_call_the_model_that_was_converted(_elsewhere):
    model, x = nn.Sequential(nn.Linear(7, 5), Meet(), nn.Linear(5, 2)), floats(B, 7)
    net = et.ensemble(model, "batch_ensemble", M)
    y = model(x)
    assert torch.equal(_elsewhere(net, x, lambda: model(x)), y)


def test_while_a_thread_compares_others_draw_what_nobody_draws_again(_elsewhere):
    net = et.ensemble(nn.Sequential(nn.Linear(7, 5), Meet(), nn.Linear(5, 2)), "batch_ensemble", M)
    drawn = _elsewhere(net, floats(B, 7), lambda: torch.rand(11))
    assert not torch.equal(torch.rand(11), drawn)


@pytest.mark.parametrize("alone", [True, False])
def test_a_model_that_draws_leaves_the_generator_as_it_was(monkeypatch, alone):
    monkeypatch.setattr("threading.active_count", lambda: 1 if alone else 2)

    class Discards(nn.Linear):
        def forward(self, x):
            torch.rand(3)
            return super().forward(x)

    model = nn.Sequential(Discards(7, 5), nn.Linear(5, 2))
    net = et.ensemble(model, "batch_ensemble", M, shared=["0"])
    noisy = et.ensemble(Noisy(), "batch_ensemble", M)
    state = torch.get_rng_state()
    et.check_members(net, floats(B, 7))
    assert torch.equal(torch.get_rng_state(), state)
    with pytest.raises(ValueError, match="draws at random in eval mode"):
        et.check_members(noisy, floats(B, 7))
    assert torch.equal(torch.get_rng_state(), state)


def test_layers_stay_unfused_until_the_last_thread_is_through():
    enabled = torch.backends.mha.get_fastpath_enabled
    assert enabled()
    one, other = ExitStack(), ExitStack()
    one.enter_context(unfused())
    other.enter_context(unfused())
    one.close()
    assert not enabled()
    other.close()
    assert enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with unfused():
            assert not enabled()
        assert not enabled()  # as its owner left it
    finally:
        torch.backends.mha.set_fastpath_enabled(True)
