"""Every model of the table times every method: the law holds, or an error names what is missing."""

import itertools
import warnings

import pytest
import torch

from tests.torch.ensembling.law import DROPOUT, check_pass, converted, places
from tests.torch.ensembling.models import FAST, METHODS, MODELS, S


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", MODELS)
def test_each_member_is_what_it_is_alone(name, method, training):
    entry = MODELS[name]
    if method == "last_layer" and entry.head is None:
        pytest.skip("has no layer to be the head")
    if entry.draws and training:
        pytest.skip("draws: test_ensemble.py")
    if method == "mc_dropout" and not any(isinstance(x, DROPOUT) for x in entry.model().modules()):
        with pytest.raises(ValueError, match="no dropout to keep active"):
            converted(entry, method)
        return
    net = converted(entry, method, **({"samples": S} if method == "rank1" else {})).train(training)
    alones = [entry.model().train(training) for _ in places(net)]
    if method != "mc_dropout":  # what members drop differs: test_ensemble.py
        for part in itertools.chain(net.modules(), *(alone.modules() for alone in alones)):
            if isinstance(part, DROPOUT):
                part.eval()
    if entry.refused:
        with pytest.raises((TypeError, ValueError), match=entry.refused):
            net(*entry.batch())
        return
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        check_pass(entry, net, alones, method, 0)
        with torch.no_grad():
            check_pass(entry, net, alones, method, 1)
    turns = method in entry.turns or (training and method in entry.turns_in_training)
    seen = [str(one.message) for one in seen if "performance drop" not in str(one.message)]
    assert ["in turn" in words for words in seen] == [True] * turns, seen
    assert getattr(net, "in_turn", False) is turns


@pytest.mark.parametrize("method", FAST)
@pytest.mark.parametrize("name", [name for name, x in MODELS.items() if x.shared or x.modulated])
def test_what_a_model_needs_is_named(name, method):
    entry = MODELS[name]
    with pytest.raises(ValueError, match=r"list .* as shared") as raised:
        converted(entry, method, shared=(), modulated=())
    for need in (*entry.shared, *entry.modulated):
        assert isinstance(need, type) or need in str(raised.value)
