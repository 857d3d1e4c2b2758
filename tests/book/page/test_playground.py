"""The playground: numbers of the layers, a state that is checked, traits that go both ways."""

import itertools
import json
import re
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensedu import counting, methods
from tests.book.page.states import (
    DRAWN,
    METHODS,
    MOST,
    SIZES,
    SMALL,
    STATES,
    VALUES,
    filled,
    members_one_by_one,
    random_arrays,
    state_of,
)
from workshop import plot
from workshop.page.frames import check_letters
from workshop.page.playground import (
    layer_picture,
    layer_scripts,
    layer_state,
    layers,
    playground,
)
from workshop.page.scripts import HERE
from workshop.page.seeded_random import Random


def test_it_opens_on_a_layer_where_sharing_saves():
    assert (layers.METHODS, layers.MOST) == (METHODS, MOST)
    sizes = {"in_features": 4, "out_features": 5, "ensemble_size": 4}
    assert playground().options == sizes | {"method": "batch_ensemble", "numbers": 0, "draw": 0}
    shared, own = (counting.layer(4, 5, m, 4).total for m in ("batch_ensemble", "deep_ensemble"))
    assert (shared, own) == (76, 100)


def test_members_differ_where_it_opens():
    """Those that a reader may add, too."""
    for method in ("deep_ensemble", "batch_ensemble", "rank1"):
        state = state_of(method, M=6)
        matrices = layers.layer(state).weight_matrices(*filter(None, [layers.noise(state)]))
        assert matrices.shape == (6, 4, 5)
        assert all(not np.array_equal(a, b) for a, b in itertools.combinations(matrices, 2))
        outputs = layers.outputs(state)
        assert all(not np.array_equal(a, b) for a, b in itertools.combinations(outputs, 2))


@pytest.mark.parametrize("method", METHODS)
def test_products_are_shown_exactly_where_it_opens(method):
    """A page shows two digits after the point: all that is not drawn has no more."""
    arrays = layers.arrays(state_of(method))
    shown = dict(arrays)
    if method in ("batch_ensemble", "rank1"):
        r, s = (arrays.get(name, arrays.get(f"{name}_mean")) for name in "rs")
        shown["matrices"] = arrays["weight"] * r[:, :, None] * s[:, None, :]
        shown["outputs"] = arrays["x"] @ shown["matrices"]
    for name, array in shown.items():
        np.testing.assert_array_equal(array, np.round(array, 2), err_msg=name)
    if method not in DRAWN:
        outputs = layers.outputs(state_of(method))
        np.testing.assert_array_equal(outputs, np.round(outputs, 2))


def test_numbers_of_all_seeds_are_small_and_round():
    found = {}
    for seed in range(200):
        for (name, _), array in layers.numbers(seed).items():
            found.setdefault(name, []).append(array.ravel())
    spreads, factors = {0.1, 0.2, 0.5}, {-1.0, 0.5, 1.0, 2.0}
    kinds = {"weight": {-3.0, -2.0, -1.0, 1.0, 2.0, 3.0}, "x": {-1.0, 1.0, 2.0}}
    kinds |= {name: factors for name in ("r", "s", "bias")}
    kinds |= {f"{name}_std": spreads for name in ("weight", "r", "s", "bias")}
    assert {name: set(np.concatenate(values)) for name, values in found.items()} == kinds
    counts = np.unique(np.concatenate(found["r"]), return_counts=True)[1]
    assert ((counts - counts.mean()) ** 2 / counts.mean()).sum() < 25  # χ² of 3 degrees


def test_draws_are_normal_and_shown_in_full():
    drawn = [layers._noise(draw) for draw in range(200)]
    assert {name: array.shape for name, array in drawn[0].items()} == {
        "r": (6, 4), "s": (6, 5), "weight": (6, 4, 5), "bias": (6, 5),
    }  # fmt: skip
    flat = np.concatenate([array.ravel() for one in drawn for array in one.values()])
    np.testing.assert_array_equal(flat, np.round(flat, 2))
    assert not np.signbit(flat[flat == 0]).any()
    assert abs(flat.mean()) < 5 / len(flat) ** 0.5
    assert abs(flat.std() - 1) < 5 / (2 * len(flat)) ** 0.5
    assert len({one["weight"].tobytes() for one in drawn}) == 200
    # Seeds of draws lie above those of numbers.
    first = Random(layers.SEEDS + 7).normal()
    assert abs(drawn[7]["r"][0, 0] - first) < 0.006


@pytest.mark.parametrize("method", METHODS)
def test_a_seed_of_draws_moves_no_number_and_the_other_no_draw(method):
    one, other = state_of(method, draw=5), state_of(method, draw=6)
    for name, array in layers.arrays(one).items():
        np.testing.assert_array_equal(array, layers.arrays(other)[name])
    assert (layers.noise(one) is None) == (method not in DRAWN)
    assert np.array_equal(layers.outputs(one), layers.outputs(other)) == (method not in DRAWN)
    same = layers.noise(state_of(method, draw=5, numbers=7)) or {}
    for name, array in same.items():
        np.testing.assert_array_equal(array, layers.noise(one)[name])


@pytest.mark.parametrize("method", METHODS)
def test_a_smaller_layer_is_the_first_part_of_the_largest(method):
    largest = state_of(method, *MOST.values())
    full, drawn = layers.arrays(largest), layers.noise(largest) or {}
    for m, n, M in SIZES:
        state = state_of(method, m, n, M)
        for part, whole in ((layers.arrays(state), full), (layers.noise(state) or {}, drawn)):
            assert part.keys() == whole.keys()
            for name, array in part.items():
                first = whole[name][tuple(map(slice, array.shape))]
                np.testing.assert_array_equal(array, first, err_msg=name)


@pytest.mark.parametrize("method", METHODS)
def test_what_is_stored_is_what_is_counted(method):
    for m, n, M in SIZES:
        state = state_of(method, m, n, M)
        arrays = layers.arrays(state)
        assert arrays.pop("x").shape == (m,)
        count = counting.layer(m, n, method, **methods.size_option(method, M)).total
        held = layers.layer(state).params
        assert sum(map(np.size, arrays.values())) == sum(map(np.size, held.values())) == count


@given(STATES, VALUES)
def test_the_layer_holds_the_numbers(state, values):
    """Each array under its name, and of a standard deviation σ the ρ with σ = log(1 + exp(ρ))."""
    state = layer_state.checked(state)
    given = filled(state, values)
    state = layer_state.set_arrays(state, given)
    params = layers.layer(state).params
    assert {name.replace("_rho", "_std") for name in params} == given.keys() - {"x"}
    for name, array in params.items():
        if name.endswith("_rho"):
            sigma = given[name.replace("_rho", "_std")]
            np.testing.assert_allclose(np.log1p(np.exp(array)), sigma, rtol=1e-12)
        else:
            np.testing.assert_array_equal(array, given[name])


@pytest.mark.parametrize("method", METHODS)
def test_outputs_are_those_of_each_member(method):
    rng = np.random.default_rng(3)
    for m, n, M in SIZES:
        state = state_of(method, m, n, M, numbers=m + 7 * n, draw=M + 5 * m)
        for one in (state, layer_state.set_arrays(state, random_arrays(state, rng))):
            outputs = layers.outputs(one)
            assert outputs.shape == (1 if method == "single" else M, n)
            np.testing.assert_allclose(outputs, members_one_by_one(one), rtol=0, atol=1e-10)


@given(STATES, VALUES, st.sets(st.integers(0, 6)))
def test_what_is_set_is_what_is_held(state, values, chosen):
    state = layer_state.checked(state)
    before, given = layers.arrays(state), filled(state, values)
    for arrays in (given, {name: array.tolist() for name, array in given.items()}):
        found = layer_state.set_arrays(state, arrays)
        for name, array in layers.arrays(found).items():
            np.testing.assert_array_equal(array, given[name])
            assert not np.signbit(array[array == 0]).any()
        assert layer_state.set_arrays(found, given) == found
        # A page, a link and a notebook hold it as JSON.
        assert layer_state.rechecked(json.loads(json.dumps(found))) == found
    assert layer_state.set_arrays(found, before) == state
    assert state["edits"] == {}
    some = {name: array for i, (name, array) in enumerate(given.items()) if i in chosen}
    for name, array in layers.arrays(layer_state.set_arrays(state, some)).items():
        np.testing.assert_array_equal(array, some.get(name, before[name]))


@given(st.sampled_from(METHODS), st.integers(0, 999))
def test_an_edit_changes_one_number_of_each_method_that_stores_it(method, number):
    """W, r, s and b are one of all methods; means of distributions have their place."""
    shapes = {name: array.shape for name, array in layers.arrays(state_of(method)).items()}
    each = [(name, place) for name, shape in shapes.items() for place in np.ndindex(shape)]
    name, place = each[number % len(each)]
    state = state_of(method, **{name: {place: 7.25}})
    assert len(state["edits"]) == 1
    for other in METHODS:
        before, after = (
            layers.arrays(state | {"method": other, "edits": edits})
            for edits in ({}, state["edits"])
        )
        assert before.keys() == after.keys()
        for key, array in before.items():
            same = key.removesuffix("_mean") == name.removesuffix("_mean")
            if same and array.shape == shapes[name]:
                assert after[key][place] == 7.25
                after[key] = after[key].copy()
                after[key][place] = array[place]
            np.testing.assert_array_equal(after[key], array)


def test_an_edit_outside_a_smaller_layer_stays_with_the_larger():
    state = state_of(r={(3, 3): 0.25, (0, 0): 9.0})
    small = layer_state.changed(state, {"in_features": 2, "ensemble_size": 3})
    small = layer_state.set_arrays(small, {"r": np.full((3, 2), 0.75)})
    large = layers.arrays(layer_state.changed(small, MOST))["r"]
    assert large[3, 3] == 0.25
    np.testing.assert_array_equal(large[:3, :2], 0.75)


@given(STATES, st.sampled_from((None, *layer_state.CHALLENGES)))
def test_every_state_passes_whole(state, challenge):
    state = layer_state.checked(state) | {"challenge": challenge}
    sent = json.loads(json.dumps(state)) | {"more": "<script>"}
    assert layer_state.rechecked(sent) == state


def test_every_edit_of_a_stored_number_passes_and_no_other():
    accepted = {
        f"{name.removesuffix('_mean')}:{','.join(map(str, place))}"
        for method in METHODS
        for name, axes in layers.stored(method).items()
        for place in itertools.product(*(range({"m": 4, "n": 5, "M": 6}[axis]) for axis in axes))
    }
    assert set(layer_state._limits_of_edits()) == accepted
    assert {"weight:3,4", "weight:5,3,4", "bias:4", "x:3", "r:5,3", "s_std:5,4"} < accepted
    edits = dict.fromkeys(accepted, 0.5)
    assert layer_state.rechecked(state_of() | {"edits": edits})["edits"] == edits


def test_challenges_are_those_of_the_page():
    text = (HERE / "playground" / "challenges.js").read_text(encoding="utf-8")
    found = re.findall(r"^  (\w+): \{\n    task:", text, re.MULTILINE)
    assert tuple(found) == layer_state.CHALLENGES


def test_other_options_keep_the_edits_and_end_a_challenge():
    state = state_of(r={(0, 0): 9.0}) | {"challenge": "equal"}
    found = layer_state.changed(state, {"method": "rank1", "draw": 3})
    assert found == state | {"method": "rank1", "draw": 3, "challenge": None}
    assert layer_state.set_arrays(state, {"x": [1, 1, 1, 1]})["challenge"] == "equal"


@pytest.mark.parametrize("method", METHODS)
def test_it_has_the_layer_that_is_shown(method):
    w = playground(method=method, in_features=2, out_features=5, ensemble_size=3)
    x = np.tile(w.arrays["x"], (3, 1, 1))
    if method == "single":
        x = x[0]
    y = w.layer(x) if w.noise is None else w.layer(x, w.noise)
    np.testing.assert_array_equal(y.reshape(-1, 5), w.outputs)
    assert (w.noise is None) == (method not in DRAWN)


@pytest.mark.parametrize("book", [False, True])
def test_what_is_read_cannot_be_written(book, monkeypatch, tmp_path):
    if book:
        monkeypatch.setenv("ENSEDU_BOOK", str(tmp_path))
    w = playground(**SMALL)
    for read in (w.options, w.arrays):
        assert isinstance(read, Mapping)
        with pytest.raises(TypeError):
            read["draw"] = 3
    for array in (*w.arrays.values(), *w.noise.values(), w.outputs):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 3
    # A layer is yours: what you do to it, the next one does not know.
    w.layer.params["weight"][...] = 8
    assert w.layer.params["weight"].max() <= 3


@pytest.mark.large
@pytest.mark.parametrize("sizes", [(1, 1, 1), (2, 5, 3), tuple(MOST.values())])
def test_every_picture_can_be_read(sizes):
    for narrow in (False, True):
        with plot.rendering(plot.Look(narrow=narrow)):
            check_letters(layer_picture.figure(state_of("rank1", *sizes)), plot.Look(narrow=narrow))


def test_the_picture_shows_the_numbers(monkeypatch):
    """What is drawn are the arrays of each method, with the edits of its own."""
    monkeypatch.setattr(layer_picture.plot, "inside", lambda *given: given)
    seen, counts = layer_picture.figure(state_of("batch_ensemble", 2, 5, 3, r={(2, 1): 8.5}))
    assert tuple(counts) == tuple(seen) == METHODS
    assert seen["batch_ensemble"]["r"][2, 1] == 8.5
    assert seen["mean_field"]["samples"].shape == (3, 2, 5)
    for method, count in counts.items():
        assert count == counting.layer(2, 5, method, **methods.size_option(method, 3))


def test_the_page_is_told_what_each_method_has():
    told = json.loads(json.dumps(layer_scripts.BUNDLE.constants()))["LAYERS"]
    assert tuple(told["methods"]) == METHODS
    for words, expected in {
        "members": {"deep_ensemble", "batch_ensemble", "rank1"},
        "modulated": {"batch_ensemble", "rank1"},
        "stochastic": {"rank1", "mean_field"},
    }.items():
        assert {method for method in METHODS if told["methods"][method][words]} == expected
    for method, (m, n, M) in itertools.product(METHODS, SIZES):
        count = counting.layer(m, n, method, **methods.size_option(method, M))
        letters = {"m": m, "n": n, "M": M}
        terms, arrays = (told["methods"][method][key] for key in ("terms", "arrays"))
        for role in methods.ROLES:
            by_term = eval(terms.get(role, "0").replace("·", "*"), {}, letters)
            by_array = sum(
                np.prod([letters[axis] for axis in array["axes"]])
                for array in arrays
                if array["role"] == role
            )
            assert by_term == by_array == getattr(count, role)
            assert role in told["roles"]


def called(w):
    """The names of traits, each time that an observer is called."""
    seen = []
    w.observe(lambda change: seen.append(change.name), ["arrays", "options"])
    return seen


def test_it_starts_from_numbers_of_your_own():
    given = random_arrays(state_of("rank1", 2, 5, 3), np.random.default_rng(5))
    w = playground(**SMALL, arrays=given, draw=8)
    for name, array in given.items():
        np.testing.assert_array_equal(w.arrays[name], array)
    np.testing.assert_allclose(w.outputs, members_one_by_one(w._state), rtol=0, atol=1e-10)
    edits = playground(arrays={"x": [5, 6, 7, 8]})._state["edits"]
    assert edits == {f"x:{a}": 5.0 + a for a in range(4)}


def test_arrays_that_python_sets_reach_the_page():
    w = playground(**SMALL)
    seen = called(w)
    w.arrays = {"r_mean": [[1, 2], [3, 4], [5, 6.5]], "x": np.array([7, 8])}
    assert seen == ["arrays"]
    np.testing.assert_array_equal(w.arrays["r_mean"], [[1, 2], [3, 4], [5, 6.5]])
    assert (w.arrays["r_mean"].dtype, w._state["edits"]["r:2,1"]) == (np.float64, 6.5)
    np.testing.assert_allclose(w.outputs, members_one_by_one(w._state), rtol=0, atol=1e-10)
    # All of them at once, as they were read; then what changes nothing.
    w.arrays = w.arrays | {"x": np.array([7.0, 9.0])}
    assert (seen, w._state["edits"]["x:1"]) == (["arrays"] * 2, 9)
    for same in (w.arrays, {}, {"x": [7, 9]}):
        w.arrays = same
    assert seen == ["arrays"] * 2


def test_options_that_are_not_given_stay():
    w = playground(**SMALL, numbers=3, arrays={"x": [5, 6]})
    seen = called(w)
    w.options = {"draw": 7}
    assert seen == ["options"]  # no stored number has changed
    assert w.options == SMALL | {"numbers": 3, "draw": 7}
    seen.clear()
    other = {"method": "deep_ensemble", "in_features": 3}
    w.options = w.options | other
    assert sorted(seen) == ["arrays", "options"]
    assert w.options == SMALL | other | {"numbers": 3, "draw": 7}
    assert w.arrays["weight"].shape == (3, 3, 5) and w.arrays["x"].tolist()[:2] == [5, 6]
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
