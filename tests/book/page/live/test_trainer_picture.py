"""The picture of a state: what is trained for it, and that it can be read."""

import re
import zlib

import numpy as np
import pytest

from ensedu import plot
from ensedu.book.page.live import live, trainer_picture, trainer_state
from ensedu.methods import METHODS
from tests.book.page.live.trainers import SIX, small


@pytest.mark.parametrize("method", SIX)
def test_each_start_is_one_that_a_method_has(method):
    for start in trainer_state.STARTS[method]:
        w = small(method=method, start=start)
        net = trainer_picture.network(w._now, w._now)
        own = [
            array
            for name, array in net.params.items()
            if METHODS[method].members
            and (name.endswith(("bias", "r", "s", "_mean")) or array.ndim == 3)
        ]
        equal = [bool((array == array[:1]).all()) for array in own]
        # A last layer's s is one sign a member: these may agree.
        assert all(equal) if start == "same" else sum(equal) <= 1
        signs = [a for k, a in net.params.items() if k.endswith((".r", ".r_mean"))]
        if start == "signs":
            assert set(np.concatenate([a.ravel() for a in signs])) == {-1.0, 1.0}


@pytest.mark.large
@pytest.mark.parametrize("method", SIX)
def test_stills_train(method):
    """After some steps the curves are nearer to the points than before."""
    w = live(method=method, width=13)
    points = trainer_state.array_of(w._now)

    def error(steps):
        one = trainer_picture.trained(w._now, w._now, steps)
        mean = np.interp(points[:, 0], trainer_picture.GRID, one.outputs[..., 0].mean(axis=0))
        return np.mean((mean - points[:, 1]) ** 2)

    assert error(100) < 0.5 * error(0)


def test_a_still_of_classes_knows_them():
    w = live(data="blobs", width=20)
    one = trainer_picture.trained(w._now, w._now, 100)
    mean, doubt = trainer_picture._mean_and_doubt(one)
    np.testing.assert_allclose(mean.sum(axis=1), 1, atol=1e-12)
    assert doubt.min() >= 0 and doubt.max() <= 1
    # Pixels from the top left: the first class stands above, the others below it.
    side = trainer_picture.PIXELS
    best = mean.argmax(axis=1).reshape(side, side)
    assert best[side // 4, side // 2] == 0
    assert best[3 * side // 4, side // 4] == 1
    assert best[3 * side // 4, 3 * side // 4] == 2


def test_equal_starts_stay_one_curve():
    w = small(start="same")
    assert "all curves are one" in trainer_picture.TrainerPicture(w._now).alt()


@pytest.mark.large
@pytest.mark.parametrize("given", [
    {"points": []},
    {"points": [[0, 0]]},
    {"points": [[0, 0, 1]] * 3},
    {"points": np.ones((500, 3))},
    {"lr": 1e9},
    {"data": "wave", "head": "variance", "loss": "mixture"},
    {"data": "moons", "method": "mc_dropout", "other": {"method": "mean_field"}},
    {"method": "rank1", "other": {"method": "rank1", "kl_weight": 10}},
])  # fmt: skip
def test_every_state_has_a_still_that_can_be_read(given):
    seen = trainer_picture.TrainerPicture(small(**given)._now)
    for narrow in (False, True):
        with plot.rendering(plot.Look(narrow=narrow)):
            assert isinstance(seen.readable(), plot.Figure)
    assert re.fullmatch(r"[A-Z0-9].*\.", seen.alt())


def test_a_still_is_the_same_each_time():
    sums = {
        zlib.crc32(plot.png(trainer_picture.TrainerPicture(small(seed=5)._now).figure()))
        for _ in range(2)
    }
    assert len(sums) == 1
