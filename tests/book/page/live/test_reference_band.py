"""A band to compare with: it holds what it belongs to, and stands nowhere else."""

import numpy as np
import pytest

from ensedu.book.page.live import live, reference_band, trainer_state
from ensedu.book.page.scripts import HERE
from tests.errors import check_error

X = np.linspace(-4.6, 4.6, 7)
GIVEN = {"x": X, "mean": np.sin(X), "std": 0.1 + 0.01 * X**2, "label": "NUTS"}


def band_of(**given):
    w = live(width=7, hidden_layers=1, method="mean_field")
    return reference_band.checked_band(GIVEN | given, w._now), w._now


def test_a_band_is_rounded_and_holds_its_model_and_its_points():
    band, state = band_of(std=list(GIVEN["std"]))
    assert band["label"] == "NUTS"
    for part in reference_band.PARTS:
        np.testing.assert_allclose(band[part], GIVEN[part], atol=0.51e-4)
    assert band["of"] == {key: state[key] for key in reference_band.MODEL}
    assert reference_band.checked_band(None, state) is None


OTHERS = {
    "task": "classification", "method": "rank1", "head": "variance", "width": 8,
    "hidden_layers": 2, "activation": "tanh", "parametrization": "ntk", "prior_scale": 2.0,
    "noise": 0.2, "points": [[0.0, 1.0]],
}  # fmt: skip


def test_a_band_belongs_to_one_model_of_one_set_of_points():
    assert set(OTHERS) == set(reference_band.MODEL)
    band, state = band_of()
    assert reference_band.belongs(band, state, state)
    for key, value in OTHERS.items():
        other = {**state, key: value}
        assert not reference_band.belongs(band, other, other), key
    # How it is trained, and from where, changes no posterior.
    free = set(trainer_state.FIELDS) - set(reference_band.MODEL)
    assert free == {
        "data", "seed", "ensemble_size", "start", "loss", "kl_weight", "lr", "weight_decay",
        "initial_std", "p",
    }  # fmt: skip
    # A side of a comparison has a method of its own.
    assert not reference_band.belongs(band, state, {"method": "deep_ensemble"})


def test_scripts_have_words_for_all_that_a_band_belongs_to():
    text = (HERE / "live/behind.js").read_text(encoding="utf-8")
    words = text.partition("const OWNERS = {")[2].partition("\n};")[0]
    assert [line.split(":")[0].strip() for line in words.strip().split("\n")] == [
        *reference_band.MODEL
    ]


BAD = [
    (lambda: live(behind=[1]), TypeError, ("behind", "dict", "[1]")),
    (lambda: live(behind={"x": X}), ValueError, ("behind", "label", "x")),
    (lambda: live(behind={**GIVEN, "low": X}), ValueError, ("behind", "low")),
    (lambda: live(behind={**GIVEN, "label": 3}), TypeError, ("behind['label']", "3")),
    (lambda: live(behind={**GIVEN, "x": X[:-1]}), ValueError, ("behind", "6, 7 and 7")),
    (lambda: live(behind={**GIVEN, "x": X**3}), ValueError, ("behind['x']", "even")),
    (lambda: live(behind={**GIVEN, "x": -X}), ValueError, ("behind['x']", "increase")),
    (lambda: live(behind={**GIVEN, "std": -X}), ValueError, ("behind['std']", "-4.6")),
    (lambda: live(behind={**GIVEN, "mean": X + np.inf}), ValueError, ("behind['mean']", "finite")),
    (lambda: live(behind={**GIVEN, "mean": X[None]}), ValueError, ("behind['mean']", "(1, 7)")),
    (lambda: live(behind={**GIVEN, "mean": "abc"}), TypeError, ("behind['mean']", "'abc'")),
    (lambda: live(behind={**GIVEN, "std": X > 0}), TypeError, ("behind['std']", "bool")),
    (lambda: live(data="moons", behind=GIVEN), ValueError, ("behind", "classify")),
]


@pytest.mark.bad_input
@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_input(case):
    check_error(*BAD[case])
