"""The playground as a widget: its traits go both ways."""

import numpy as np
import pytest

from ensedu.book.page.playground import playground
from tests.book.page.playground.states import SMALL, members_one_by_one, random_arrays, state_of


def called(w):
    """The names of traits, each time that an observer is called."""
    seen = []
    w.observe(lambda change: seen.append(change.name), ["arrays", "options"])
    return seen


def test_text_is_fixed_and_the_picture_has_words():
    w = playground(**SMALL)
    data, about = w._repr_mimebundle_()
    assert data["text/plain"] == repr(w) == "Playground(rank1, m=2, n=5, M=3)"
    assert set(data) == {
        "text/plain", "image/png", "application/vnd.jupyter.widget-view+json",
    }  # fmt: skip
    assert data["image/png"].startswith("iVBOR")
    assert about["image/png"]["alt"].startswith("A layer with m = 2 and n = 5, held by single ")
    assert about["image/png"]["width"] > 0


def test_it_starts_from_numbers_of_your_own():
    given = random_arrays(state_of("rank1", 2, 5, 3), np.random.default_rng(5))
    w = playground(**SMALL, arrays=given, draw=8)
    for name, array in given.items():
        np.testing.assert_array_equal(w.arrays[name], array)
    assert w._state["edits"].keys() > {"x:0", "r:2,1", "r_std:2,1", "weight:1,4"}
    np.testing.assert_allclose(w.outputs, members_one_by_one(w._state), rtol=0, atol=1e-10)
    x = playground(arrays={"x": [5, 6, 7, 8]})
    assert x._state["edits"] == {f"x:{a}": 5.0 + a for a in range(4)}


def test_arrays_that_python_sets_reach_the_page():
    w = playground(**SMALL)
    seen = called(w)
    w.arrays = {"r_mean": [[1, 2], [3, 4], [5, 6.5]], "x": np.array([7, 8])}
    assert seen == ["arrays"]
    np.testing.assert_array_equal(w.arrays["r_mean"], [[1, 2], [3, 4], [5, 6.5]])
    assert w.arrays["r_mean"].dtype == np.float64
    assert w._state["edits"]["r:2,1"] == 6.5
    np.testing.assert_allclose(w.outputs, members_one_by_one(w._state), rtol=0, atol=1e-10)
    # All of them at once, as they were read.
    w.arrays = w.arrays | {"x": np.array([7.0, 9.0])}
    assert seen == ["arrays"] * 2
    assert w._state["edits"]["x:1"] == 9
    w.arrays = w.arrays
    w.arrays = {}
    w.arrays = {"x": [7, 9]}
    assert seen == ["arrays"] * 2


def test_options_that_are_not_given_stay():
    w = playground(**SMALL, numbers=3, arrays={"x": [5, 6]})
    seen = called(w)
    w.options = {"draw": 7}
    assert seen == ["options"]  # no stored number has changed
    assert w.options == SMALL | {"numbers": 3, "draw": 7}
    seen.clear()
    w.options = w.options | {"method": "deep_ensemble", "in_features": 3}
    assert sorted(seen) == ["arrays", "options"]
    assert w.options == SMALL | {
        "method": "deep_ensemble", "in_features": 3, "numbers": 3, "draw": 7,
    }  # fmt: skip
    assert w.arrays["weight"].shape == (3, 3, 5)
    assert w.arrays["x"].tolist()[:2] == [5, 6]
    assert w._state == dict(w.options) | {"challenge": None, "edits": {"x:0": 5, "x:1": 6}}
    seen.clear()
    w.options = {}
    w.options = {"draw": 7}
    assert seen == []


def test_what_the_page_sets_is_taken_whole():
    w = playground(**SMALL)
    seen = called(w)
    edits = {"x:0": 3, "s_std:2,4": 0.75}
    w.set_state({"_state": w._state | {"draw": 4, "edits": edits, "challenge": "reach"}})
    assert sorted(seen) == ["arrays", "options"]
    assert w.options["draw"] == 4
    assert (w.arrays["x"][0], w.arrays["s_std"][2, 4]) == (3, 0.75)
    assert w._state["challenge"] == "reach"
    np.testing.assert_allclose(w.outputs, members_one_by_one(w._state), rtol=0, atol=1e-10)
    seen.clear()
    w.set_state({"_state": w._state | {"edits": edits | {"x:0": 4}}})
    w.set_state({"_state": w._state | {"edits": edits | {"x:0": 4}}})
    assert seen == ["arrays"]


def test_a_change_inside_a_callback_is_the_last_word():
    w = playground(**SMALL)

    def double(change):
        if abs(w.arrays["x"]).max() <= 4:
            w.arrays = {"x": 2 * w.arrays["x"]}

    w.observe(double, "arrays")
    w.arrays = {"x": [0.25, -1]}
    assert w.arrays["x"].tolist() == [2, -8]
    w.set_state({"_state": w._state | {"edits": {"x:0": 1, "x:1": 3}}})
    assert w.arrays["x"].tolist() == [2, 6]
    assert w._state["edits"] == {"x:0": 2, "x:1": 6} == w._now["edits"]


def test_a_bad_value_changes_nothing():
    w = playground(**SMALL)
    before = dict(w._state)
    seen = called(w)
    for trait, value in {"arrays": {"x": [1, 99]}, "options": {"draw": -1}}.items():
        with pytest.raises(ValueError):
            setattr(w, trait, value)
    for bad in ({"in_features": 5}, {"edits": {"x:9": 1}}, {"challenge": "<b>"}):
        with pytest.raises(ValueError):
            w.set_state({"_state": w._state | bad})
    assert w._state == before == w._now
    assert seen == []
