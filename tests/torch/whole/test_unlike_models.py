"""Whatever a model does, its members are what they are alone, or an error says why not."""

import pytest
import torch

import ensedu.torch as et
from ensedu.methods import METHODS, size_option
from tests.torch.whole.cases import M, tensors_in
from tests.torch.whole.unlike_models import MODELS, SHARED, SIZES
from tests.zoo import oracle

KEYS = ("deep_ensemble", "batch_ensemble", "rank1", "mean_field", "mc_dropout", "last_layer")


def build(kind):
    return kind().double().eval()


def converted(model, kind, method):
    options = {}
    if method == "deep_ensemble":
        options["initialize"] = lambda: build(kind)
    elif method == "last_layer":
        options["head"] = "head"
    elif method != "mc_dropout":
        kept = tuple(one for one in SHARED if any(isinstance(p, one) for p in model.modules()))
        options["shared"] = kept
    net = et.ensemble(model, method, **size_option(method, M), **options)
    for part in net.members if method == "deep_ensemble" else ():
        oracle.stir(part)
    if method != "deep_ensemble":
        oracle.draw_apart(net)
    return net


def outcome(model, net, args, method):
    """Return "exact", or what the error says."""
    try:
        drawn = METHODS[method].stochastic
        given = (
            {"noise": net.noise(torch.Generator().manual_seed(1), *copied(args))} if drawn else {}
        )
        together = tensors_in(net(*copied(args), **given))
    except (TypeError, ValueError) as error:
        assert oracle.named(error), error
        return str(error)
    for i in range(M):
        alone = oracle.plain(model, net, i, given.get("noise", {}))
        expected = tensors_in(alone(*copied(args)))
        assert len(together) == len(expected) > 0
        for y, own in zip(together, expected, strict=True):
            assert y.shape == (M, *own.shape)
            assert not own.numel() or oracle.off(y[i], own) <= 1e-10
    assert not all(torch.allclose(y[0], y[1]) for y in together), "members are alike"
    return "exact"


def copied(args):
    return [x.clone() for x in args]


#: What refuses which methods, and how: examples that meet, or that no longer stand in their order.
MEET = "the ensemble is not its members"
ROWS = "inside the ensemble, accepted are 2 axes or more of which the first is a multiple of"
SWAPPED = ("batch_ensemble", "rank1", "mean_field")
REFUSED = {
    "SortedAndKept": ((*SWAPPED, "mc_dropout"), MEET),
    "EarlyExit": ((*SWAPPED, "last_layer"), ROWS),
    "Pairs": ((*SWAPPED, "mc_dropout", "last_layer"), MEET),
    "Experts": ((*SWAPPED, "mc_dropout"), ROWS),
    "Squeezes": ((*SWAPPED, "mc_dropout", "last_layer"), MEET),
    "Centered": ((*SWAPPED, "mc_dropout"), MEET),
}
#: Where a last-layer ensemble runs its body for each member: what went around the head comes back.
REPEATED = {"EarlyExit", "ByValue", "Recurs"}
#: The batches that any model takes: those of one example, and those sorted already.
TAKEN = {"SortedAndKept": {2, 5}, "Squeezes": set(range(7)) - {2}}


@torch.no_grad()
@pytest.mark.filterwarnings("ignore:FlatEnsemble was not compared")
@pytest.mark.parametrize("method", KEYS)
@pytest.mark.parametrize("kind", MODELS, ids=lambda kind: kind.__name__)
def test_members_are_what_they_are_alone_or_an_error_says_why_not(kind, method):
    torch.manual_seed(0)
    model = build(kind)
    oracle.stir(model)
    net = converted(model, kind, method)
    generator, name = torch.Generator().manual_seed(3), kind.__name__
    found = [outcome(model, net, kind.batch(i, B, generator), method) for i, B in enumerate(SIZES)]
    methods, words = REFUSED.get(name, ((), ""))
    exact = {i for i, one in enumerate(found) if one == "exact"}
    assert all(i in exact or words in one for i, one in enumerate(found))
    assert (len(exact) < len(SIZES)) == (method in methods)
    if name in TAKEN and method in methods:
        assert exact == TAKEN[name]
    if method == "last_layer" and method not in methods:
        assert net.runs_body_once is (name not in REPEATED)
