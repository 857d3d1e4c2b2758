"""The picture of a state: what is trained for it, and that it can be read."""

import re

import numpy as np
import pytest

from ensedu.methods import METHODS
from tests.book.page.states import SIX, small
from workshop import plot
from workshop.page.live import live, trainer_picture, trainer_state


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


def test_weight_decay_shrinks_what_a_still_learns():
    plain, decayed = (small(weight_decay=decay)._now for decay in (0.0, 5.0))
    large, less = (trainer_picture.trained(w, w, 40).outputs for w in (plain, decayed))
    assert np.abs(less).mean() < 0.9 * np.abs(large).mean()


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


@pytest.mark.parametrize("method", SIX)
def test_networks_have_the_parametrization_and_the_initial_std(method):
    given = {"method": method, "width": 61, "seed": 3, "initial_std": 0.2}
    for parametrization, largest in (("standard", 1.0), ("ntk", 5.0)):
        w = small(parametrization=parametrization, **given)
        params = trainer_picture.network(w._now, w._now).params
        drawn = np.concatenate(
            [a.ravel() for k, a in params.items() if "bias" in k and "rho" not in k]
        )
        assert 0.2 * largest < np.abs(drawn).max() < largest
        for name, array in params.items():
            if name.endswith("_rho"):
                np.testing.assert_allclose(np.log1p(np.exp(array)), 0.2)


X = np.linspace(-4.6, 4.6, 47)
BEHIND = {"x": X, "mean": np.sin(X), "std": 0 * X + 0.4, "label": "NUTS"}


def test_a_still_has_the_band_behind_while_it_belongs_there():
    w = small(method="mean_field", initial_std=0.1, lr=0.02, behind=BEHIND)
    shown = trainer_picture.TrainerPicture(w._now, behind=w._behind)
    assert "3000 steps" in shown.alt() and shown.alt().endswith("Behind them is the band of NUTS.")
    (axes,) = shown.readable().axes
    assert {text.get_text() for text in axes.figure.texts + axes.texts} >= {"NUTS"}
    # Behind: NUTS is drawn first. The other band is that of curves, without the noise.
    nuts, own = (band.get_paths()[0].vertices for band in axes.collections[:2])
    np.testing.assert_allclose(nuts[:, 1].max(), 1.8, atol=0.02)
    curves = shown._trained[1][0].outputs[..., 0]
    assert len(curves) == 64
    at = np.interp(X, trainer_picture.GRID, curves.mean(axis=0) + 2 * curves.std(axis=0))
    np.testing.assert_allclose(own[:, 1].max(), at.max(), atol=0.01)
    gone = trainer_picture.TrainerPicture({**w._now, "width": 6}, behind=w._behind)
    assert "NUTS" not in gone.alt() and "300 steps" in gone.alt()


def test_a_still_of_distributions_is_a_dot_each_around_the_prior():
    w = small(method="rank1", prior_scale=0.2)
    seen = trainer_picture.TrainerPicture(w._now, distributions=True)
    (axes,) = seen.readable().axes
    dots, ring = axes.lines
    means, stds = seen._trained[1][0].moments
    np.testing.assert_array_equal(dots.get_xydata(), np.stack([means, stds], axis=1))
    assert len(means) == 4 * (1 + 5 + 5 + 1)
    assert ring.get_xydata().tolist() == [[1, 0.2]]
    assert f"half of these lie above {np.median(stds):.2g}" in seen.alt()
    assert np.median(stds) > 0.013  # it began at 0.01
    none = trainer_picture.trained(small()._now, small()._now, 0)
    assert none.moments.shape == (2, 0)


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
