"""Settings that both backends train by, and checks that their layers share."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
import torch

import ensedu.torch as et
from ensedu.common import layer_checks
from ensedu.common.training_loop import number_of_steps
from ensedu.common.training_settings import KLWeight, minibatch_kl_weights

B, M = 6, 3


def test_the_weight_of_the_kl_grows_step_by_step_over_epochs():
    # Of 22 examples, 3 members that split them leave a last minibatch of 4; of 20, none.
    for number, steps in ((22, 4), (20, 3), (18, 3)):
        assert number_of_steps(number, B, M) == steps
        assert KLWeight(anneal=1).at(0, steps) == 1 / steps
    assert [KLWeight(2.0, anneal=3).at(step, 4) for step in (0, 5, 11, 12)] == [2 / 12, 1.0, 2, 2]
    assert KLWeight(0.5).at(0, None) == 0.5


@pytest.mark.parametrize("number", [1, 2, 7, 1_500])
def test_minibatches_share_the_kl(number):
    uniform, geometric = (minibatch_kl_weights(number, k) for k in ("uniform", "geometric"))
    assert uniform == [1 / number] * number
    assert sum(geometric) == pytest.approx(1, abs=1e-12)
    exact = [Fraction(2 ** (number - i), 2**number - 1) for i in range(1, number + 1)]
    np.testing.assert_allclose(geometric, [float(part) for part in exact], rtol=1e-12, atol=1e-300)


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


@pytest.mark.parametrize("members", [None, 3])
@pytest.mark.parametrize("example", [(5,), (2, "H", "W")])
def test_batches_are_those_that_are_listed(members, example):
    """Of sizes 2, 3 and 5 on each axis, with one axis too few and two too many."""
    axes = [tuple([1, 2, 3, 5] if isinstance(size, str) else [size]) for size in example]
    leading = {
        None: [[], [(1, 2, 3, 5)]],
        3: [[], [(3,)], [(1, 2, 3, 5), (3,)]],
    }[members]
    accepted = {
        shape for front in leading for shape in itertools.product(*front, (1, 2, 3, 5), *axes)
    }
    for length in range(len(example) + 4):
        for shape in itertools.product((1, 2, 3, 5), repeat=length):
            if shape in accepted:
                layer_checks.check_batch("Layer", shape, example, members)
            else:
                with pytest.raises(ValueError, match="Layer: input x has shape"):
                    layer_checks.check_batch("Layer", shape, example, members)


def test_noise_of_a_network_goes_to_its_layers():
    noise = {"2.r": 1, "0.r": 2, "2.s": 3}
    found = layer_checks.noise_by_layer(noise, ("0", "1", "2"))
    assert found == {"0": {"r": 2}, "1": {}, "2": {"r": 1, "s": 3}}
