"""What cannot become an ensemble is named, with what to do about it."""

from functools import partial

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import ensedu.torch as et
from ensedu import counting
from ensedu.methods import size_option
from tests.torch.whole.cases import FLAT, OPTIONS, SAMPLES, B, M, floats, ids


def test_tied_weights_work_where_they_can():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(19, 7)
            self.hidden = nn.Linear(7, 7)
            self.decode = nn.Linear(7, 19, bias=False)
            self.decode.weight = self.embed.weight

        def forward(self, tokens):
            return self.decode(self.hidden(self.embed(tokens)))

    tied = Tied()
    net = et.ensemble(tied, "batch_ensemble", M, shared=["decode"])
    assert net.model.decode.weight is net.model.embed.weight
    assert net(ids(B)).shape == (M, B, 19)
    assert (
        counting.count(net).total == 19 * 7 + counting.batch_ensemble(7, 7, ensemble_size=M).total
    )
    copies = et.ensemble(tied, "deep_ensemble", M)
    assert all(one.decode.weight is one.embed.weight for one in copies.members)
    assert copies.members[0].embed.weight is not copies.members[1].embed.weight


@pytest.mark.parametrize("build", [lambda: nn.MultiheadAttention(6, 2), lambda: nn.LSTM(6, 5)])
def test_a_model_that_is_itself_refused_has_a_name(build):
    with pytest.raises(ValueError, match=r"model \(.*list it as shared"):
        et.ensemble(build(), "batch_ensemble", M)


def test_functions_that_hold_the_model_are_named():
    class Closure(nn.Module):
        def __init__(self, wrap):
            super().__init__()
            self.fc = nn.Linear(7, 2)
            self.act = wrap(lambda x: self.fc(x).relu())

        def forward(self, x):
            return self.act(x)

    class Bound(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(7, 2)
            self.act = self.double_fc  # copied with its object

        def double_fc(self, x):
            return 2 * self.fc(x)

        def forward(self, x):
            return self.act(x)

    class Hidden(nn.Module):
        """Keeps a module where nobody sees it: in an object that copies as itself."""

        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(7, 2)
            self.act = Same(self.fc)

        def forward(self, x):
            return self.act.module(x)

    class Same:
        def __init__(self, module):
            self.module = module

        def __deepcopy__(self, memo):
            return self

    class Method(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(7, 2)
            one = self.one
            self.act = lambda x: one(x)

        def one(self, x):
            return self.fc(x)

        def forward(self, x):
            return self.act(x)

    def outer(function):
        return lambda x: function(x) + 1

    keeps = nn.Sequential(nn.Linear(7, 2))
    keeps.register_forward_hook(lambda module, x, y, kept=keeps[0]: kept(x[0]))
    for method in ("deep_ensemble", *FLAT):
        for model, name in (
            (Closure(lambda f: f), "act"),
            (Closure(outer), "act"),
            (Closure(partial), "act"),
            (Closure(lambda f: partial(map, f)), "act"),
            (Method(), "act"),
            (Closure(lambda f: {"later": [f]}), "act"),
            (keeps, "_forward_hooks"),
        ):
            with pytest.raises(ValueError, match=rf"{name} is a function that holds a "):
                et.ensemble(model, method, **size_option(method, M))
        net = et.ensemble(Hidden(), method, **size_option(method, M))
        for _ in range(2):
            with pytest.raises(ValueError, match="of the model that was converted, which"):
                net(floats(B, 7))
        net = et.ensemble(Bound(), method, **size_option(method, M), **OPTIONS[method])
        y = net(floats(B, 7))
        assert not torch.allclose(y[0], y[1])


@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
def test_compiled_models_are_named():
    inside = nn.Sequential(torch.compile(nn.Linear(7, 2)))
    for model in (torch.compile(nn.Linear(7, 2)), inside):
        with pytest.raises(ValueError, match=r"is compiled .* accepted is the model itself"):
            et.ensemble(model, "batch_ensemble", M)


def test_one_module_of_two_names_is_no_tie():
    torch.manual_seed(0)
    fc = nn.Linear(7, 7)
    net = et.ensemble(nn.Sequential(fc, nn.Tanh(), fc).double(), "batch_ensemble", M)
    x = floats(B, 7).double()
    torch.testing.assert_close(net(x)[2], net.member(2)(x), rtol=1e-12, atol=1e-12)
    tied = nn.Sequential(nn.Linear(7, 7), nn.Linear(7, 7))
    tied[1].weight = tied[0].weight
    with pytest.raises(ValueError, match=r"tied weights: list 0, 1 as shared"):
        et.ensemble(tied, "batch_ensemble", M)


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
            "dropout of another kind, 0 (tests.torch.whole.test_refusals.MyDropout)",
        ),
        (nn.Sequential(nn.Dropout(0.5)), {"shared": ["0"]}, NO_DROPOUT + "none"),
    ],
)
def test_models_that_cannot_drop(model, options, words):
    with pytest.raises(ValueError) as raised:
        et.ensemble(model, "mc_dropout", samples=SAMPLES, **options)
    assert words in str(raised.value)


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


class Listed(nn.Module):
    """Keeps layers where Torch does not look for them, in its part `net`."""

    def __init__(self, keep):
        super().__init__()
        self.net, self.fc = nn.Module(), nn.Linear(7, 7)
        self.net.blocks = keep(self)

    def forward(self, x):
        return self.fc(x)


KEPT = {
    "list": (lambda _: [nn.ReLU(), nn.Linear(7, 7), nn.Tanh()], ["net.blocks[1] (nn.Linear)"]),
    "tuple": (lambda _: (nn.BatchNorm1d(7, affine=False),), ["net.blocks[0] (nn.BatchNorm1d)"]),
    "dict": (
        lambda _: {"a": nn.Sequential(nn.Linear(7, 7)), "b": nn.Dropout()},
        ["net.blocks['a'] (nn.Sequential)", "net.blocks['b'] (nn.Dropout)"],
    ),
    "nested": (lambda _: [{"a": (0, nn.Linear(7, 7))}], ["net.blocks[0]['a'][1] (nn.Linear)"]),
}


@pytest.mark.parametrize("method", ["deep_ensemble", *FLAT])
@pytest.mark.parametrize("kept", KEPT)
def test_modules_that_nobody_converts_are_named(kept, method):
    keep, names = KEPT[kept]
    with pytest.warns(UserWarning, match="which nothing converts") as warned:
        et.ensemble(Listed(keep), method, **size_option(method, M), **OPTIONS[method])
    (message,) = (str(one.message) for one in warned)
    assert f"{', '.join(names)}, which" in message and "nn.ModuleList" in message


@pytest.mark.parametrize(
    "keep",
    [
        lambda model: [model.fc, {"first": model.net}],  # registered besides
        lambda _: nn.ModuleList([nn.Linear(7, 7)]),
        lambda _: [nn.ReLU(), nn.Identity(), "words", 3],  # with nothing to convert
        lambda _: [nn.Linear],
    ],
)
def test_lists_of_what_is_registered_or_holds_nothing_pass(keep):
    assert et.ensemble(Listed(keep), "batch_ensemble", M)(floats(B, 7)).shape == (M, B, 7)


def test_a_list_that_holds_itself_ends():
    def keep(_):
        found = [nn.Linear(7, 7)]
        found.append(found)
        return found

    with pytest.warns(UserWarning, match=r"net\.blocks\[0\] \(nn\.Linear\), which"):
        et.ensemble(Listed(keep), "batch_ensemble", M)
