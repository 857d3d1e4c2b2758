"""The cubic: what each panel is made of, and the tables that the chapter reads."""

import numpy as np
import pytest

from ensedu import uncertainty
from ensedu.book import measured
from ensedu.book.experiments import cubic as toy
from ensedu.book.experiments.cubic import CURVES, EXPERIMENT, PANELS, SETTINGS
from ensedu.data import cubic

SHORT = SETTINGS | {"networks": 3, "width": 7, "epochs": [1, 3]}


def test_the_band_is_that_of_the_mixture():
    rng = np.random.default_rng(0)
    mean, variance = rng.standard_normal((5, 7)), rng.gamma(2.0, size=(5, 7))
    center, std = toy.belief(mean, variance, 3)
    wanted = uncertainty.mixture(mean[:3, :, None], variance[:3, :, None])
    np.testing.assert_allclose(center, wanted[0][:, 0], rtol=1e-12)
    np.testing.assert_allclose(std**2, wanted[1][:, 0], rtol=1e-12)


def test_panels_take_their_members_from_their_training():
    rng = np.random.default_rng(1)
    members = {name: (rng.standard_normal((5, 7)), np.ones((5, 7))) for name in toy.TRAININGS}
    found = toy.forecasts(members, 2)
    assert list(found) == list(PANELS)
    np.testing.assert_array_equal(found["one network"][0], members["nll"][0][0])
    np.testing.assert_allclose(found["squared error"][0], members["squared"][0][:2].mean(0))
    np.testing.assert_allclose(found["ensemble"][0], members["adversarial"][0][:2].mean(0))


def test_new_points_lie_inside_and_beyond():
    x, y = toy.new_points(3, 500)
    inside, beyond = np.split(np.abs(x[:, 0]), 2)
    assert inside.max() < 4 <= beyond.min() and beyond.max() <= 6
    assert 2.5 < (y - cubic.truth(x)).std() < 3.5
    assert (x[500:] < 0).mean() == pytest.approx(0.5, abs=0.1)


def test_trainings_differ_and_repeat():
    x = np.linspace(-6, 6, 5)[:, None]
    found = {name: toy.trained(name, 0, x, **SHORT) for name in (*toy.TRAININGS, "nll")}
    again = toy.trained("adversarial", 0, x, **SHORT)
    for (mean, variance), other in zip(found["adversarial"], again, strict=True):
        assert mean.shape == variance.shape == (3, 5)
        np.testing.assert_array_equal(mean, other[0])
    assert not found["squared"][0][1].any() and (found["nll"][0][1] > 0).all()
    assert (found["nll"][1][0] != found["adversarial"][1][0]).any()


def test_a_short_run():
    found = toy.run(0, **SHORT, points=40, members=3)
    for panel in found.values():
        assert np.shape([panel[place] for place in toy.PLACES]) == (2, 2)
    drawn = toy.draw("nll", 0, **SHORT, low=-6.0, high=6.0, number=9)
    assert np.shape(drawn["mean"]) == np.shape(drawn["std"]) == (2, 1, 9)
    assert toy.draw("squared", 0, **SHORT, low=-6.0, high=6.0, number=9)["std"] == []


def test_the_curves_are_those_of_typical_data():
    assert toy.typical(measured.load("cubic")["rows"]) == CURVES.settings["data_seed"]


def test_a_case_agrees_with_the_table():
    settings = {k: v for k, v in CURVES.settings.items()}
    found = toy.draw("nll", **settings | {"epochs": [20, 50]})
    row = measured.row(measured.load("cubic-curves")["rows"], training="nll")
    # To the digits of the table, and what other processors add.
    np.testing.assert_allclose(row["mean"][:2], found["mean"], rtol=0.01, atol=0.2)
    np.testing.assert_allclose(row["std"][:2], found["std"], rtol=0.01, atol=0.2)
    assert EXPERIMENT.settings["epochs"] == list(toy.EPOCHS)
