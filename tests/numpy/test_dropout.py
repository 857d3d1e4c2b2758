"""Dropout that stays on, in NumPy."""

import numpy as np
import pytest

import ensedu.numpy as en
from tests import layers
from tests.backends import InNumPy
from tests.gradients import ByHand, Sums, for_layers, for_layers_and_inputs


class TestMCDropout(InNumPy, layers.MCDropout):
    pass


def test_by_default_it_drops_a_tenth():
    noise = en.MCDropout(rng=np.random.default_rng(0)).noise(None, (1, 100_000))
    assert 1 - noise["mask"].mean() == pytest.approx(0.1, abs=0.005)


@for_layers_and_inputs("dropout")
class TestGradients(ByHand):
    pass


@for_layers("dropout")
class TestSums(Sums):
    pass
