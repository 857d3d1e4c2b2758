"""Which epoch of a training is the best, and what a history refuses."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import ensedu.torch as et
from ensedu.common.history import check_rows

B = 6


def rank1_network():
    torch.manual_seed(5)
    return et.mlp([5, 7, 2], "rank1", 3, dtype=torch.float64)


def test_only_epochs_with_the_whole_kl_are_best():
    values = iter([1.0, 5.0, 4.0, 4.5, 4.6, 9.0])

    def told(outputs, targets):
        loss = et.softmax_cross_entropy(outputs, targets)
        return loss if outputs.requires_grad else torch.tensor(next(values), dtype=torch.float64)

    torch.manual_seed(0)
    x, y = torch.randn((22, 5), dtype=torch.float64), torch.arange(22) % 2
    held, patient = (et.Validation(x[:B], y[:B], patience=own) for own in (None, 2))
    settings = {"batch_size": B, "validation": patient, "kl": et.KLWeight(anneal=3)}
    net = rank1_network()
    rows = et.fit(net, x, y, told, epochs=6, **settings)
    assert [row["validation"] for row in rows] == [1.0, 5.0, 4.0, 4.5, 4.6]
    assert [row["beta"] == 1 for row in rows] == [False, False, True, True, True]
    values = iter([0.0] * 3)
    third = rank1_network()
    et.fit(third, x, y, told, epochs=3, **settings | {"validation": held})
    assert net.state_dict().keys() == third.state_dict().keys()
    assert all(map(torch.equal, net.state_dict().values(), third.state_dict().values()))
    with pytest.raises(ValueError, match="anneal must be at most the 2 epochs with patience"):
        et.fit(rank1_network(), x, y, told, epochs=2, **settings)


def kept_rows(epochs=3, **more):
    """Rows as a training with a step of 4 minibatches an epoch keeps them."""
    losses = {"loss": 1.5, "nll": 1, "kl": 0.0, "beta": 1.0, **more}
    return [{"epoch": i, "step": 4 * i, **losses} for i in range(1, epochs + 1)]


def changed(i, **values):
    rows = kept_rows()
    rows[i] |= values
    return rows


FORGED = {
    "none": ([], "a list of rows, got []"),
    "nothing": (None, "a list of rows, got None"),
    "one": (kept_rows(1)[0], "a list of rows, got {'epoch': 1"),
    "words": (["epoch", *kept_rows()[1:]], "rows of epoch, step, loss, nll, kl, beta, got 'epoch'"),
    "a name too few": ([{"epoch": 1, "step": 12}], "nll, kl, beta, got {'epoch': 1, 'step': 12}"),
    "a name too many": (changed(1, validation=0.5), "nll, kl, beta, got {'epoch': 2"),
    "a word": (changed(1, loss="low"), "finite numbers, got loss = 'low' (str) in epoch 2"),
    "NaN": (changed(0, nll=math.nan), "finite numbers, got nll = nan (float) in epoch 1"),
    "infinite": (changed(2, beta=math.inf), "finite numbers, got beta = inf (float) in epoch 3"),
    "true": (changed(1, kl=True), "finite numbers, got kl = True (bool) in epoch 2"),
    "half a step": (changed(1, step=8.0), "finite numbers, got step = 8.0 (float) in epoch 2"),
    "before all": (changed(0, step=-3), "got epoch 1 and step -3 after epoch 0 and step 0"),
    "as many": (changed(1, step=4), "got epoch 2 and step 4 after epoch 1 and step 4"),
    "another epoch": (changed(1, epoch=3), "got epoch 3 and step 8 after epoch 1 and step 4"),
    "fewer": (kept_rows(2), "rows up to its step 12, got up to 8"),
}


@pytest.mark.bad_input
@pytest.mark.parametrize("case", FORGED)
def test_what_are_no_rows_of_a_training_is_named(case):
    rows, words = FORGED[case]
    with pytest.raises(ValueError, match="checkpoint must hold ") as raised:
        check_rows(rows, 12, validated=False)
    assert words in str(raised.value)


@given(
    losses=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=7),
    steps=st.integers(1, 5),
)
def test_rows_of_a_training_are_rows(losses, steps):
    rows = [
        {"epoch": i, "step": steps * i, "loss": loss, "nll": loss, "kl": 0, "beta": 0.5}
        for i, loss in enumerate(losses, 1)
    ]
    assert check_rows(rows, steps * len(rows), validated=False) == rows
    with pytest.raises(ValueError, match="rows of epoch, step, loss, nll, kl, beta, validation"):
        check_rows(rows, steps * len(rows), validated=True)
    rows = [row | {"validation": 0.5} for row in rows]
    assert check_rows(rows, steps * len(rows), validated=True) == rows
