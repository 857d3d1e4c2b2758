"""The state of a playground: what it holds, what is set, and what it refuses."""

import itertools
import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensedu.book.page.playground import layer_state, layers, playground
from ensedu.book.page.scripts import HERE
from tests.book.page.playground.states import METHODS, MOST, SMALL, STATES, VALUES, filled, state_of
from tests.errors import check_error


# Edits.
@given(STATES, VALUES)
def test_what_is_set_is_what_is_held(state, values):
    state = layer_state.checked(state)
    given = filled(state, values)
    for arrays in (given, {name: array.tolist() for name, array in given.items()}):
        found = layer_state.set_arrays(state, arrays)
        for name, array in layers.arrays(found).items():
            np.testing.assert_array_equal(array, given[name])
        assert layer_state.set_arrays(found, given) == found
        # A page, a link and a notebook hold it as JSON.
        assert layer_state.rechecked(json.loads(json.dumps(found))) == found
    assert layer_state.set_arrays(found, layers.arrays(state)) == state
    assert state["edits"] == {}


@given(STATES, VALUES, st.lists(st.booleans(), min_size=7, max_size=7))
def test_arrays_that_are_not_named_stay(state, values, chosen):
    state = layer_state.checked(state)
    given = filled(state, values)
    some = set(itertools.compress(given, chosen))
    arrays = layers.arrays(layer_state.set_arrays(state, {name: given[name] for name in some}))
    for name, before in layers.arrays(state).items():
        np.testing.assert_array_equal(arrays[name], given[name] if name in some else before)


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


def test_no_zero_has_a_sign():
    found = layer_state.set_arrays(state_of(), {"x": [-0.0, 0.0, -0.0, 1.0]})
    assert not np.signbit(layers.arrays(found)["x"]).any()


# A state that a page sends.
@given(STATES, st.sampled_from((None, *layer_state.CHALLENGES)))
def test_every_state_passes_whole(state, challenge):
    state = layer_state.checked(state) | {"challenge": challenge}
    assert layer_state.rechecked(json.loads(json.dumps(state))) == state


def test_every_edit_of_a_stored_number_passes_and_no_other():
    accepted = {f"x:{a}" for a in range(4)}
    for method in METHODS:
        for name, axes in layers.stored(method).items():
            sizes = [{"m": 4, "n": 5, "M": 6}[axis] for axis in axes]
            for place in itertools.product(*map(range, sizes)):
                accepted.add(f"{name.removesuffix('_mean')}:{','.join(map(str, place))}")
    assert set(layer_state._limits_of_edits()) == accepted
    assert {"weight:3,4", "weight:5,3,4", "bias:4", "bias:5,4", "r:5,3", "s_std:5,4"} < accepted
    edits = dict.fromkeys(accepted, 0.5)
    assert layer_state.rechecked(state_of() | {"edits": edits})["edits"] == edits


def test_challenges_are_those_of_the_page():
    text = (HERE / "playground" / "challenges.js").read_text(encoding="utf-8")
    found = re.findall(r"^  (\w+): \{\n    task:", text, re.MULTILINE)
    assert tuple(found) == layer_state.CHALLENGES


def test_what_is_not_asked_for_is_dropped():
    assert layer_state.rechecked(state_of() | {"more": "<script>"}) == state_of()


def test_other_options_keep_the_edits_and_end_a_challenge():
    state = state_of(r={(0, 0): 9.0}) | {"challenge": "equal"}
    found = layer_state.changed(state, {"method": "rank1", "draw": 3})
    assert found == state | {"method": "rank1", "draw": 3, "challenge": None}
    assert layer_state.set_arrays(state, {"x": [1, 1, 1, 1]})["challenge"] == "equal"


# Bad input.
def _set(trait, value):
    setattr(playground(**SMALL), trait, value)


def _whole(**part):
    return layer_state.rechecked(state_of("rank1") | part)


def _edit(edit, value=1.0):
    return layer_state.rechecked(state_of("rank1") | {"edits": {edit: value}})


MASKED = np.ma.masked_array(np.ones(2), [True, False])

BAD = [
    (lambda: playground(method="mc_dropout"), ValueError, ("method", "'mc_dropout'", "'rank1'")),
    (lambda: playground(method=3), TypeError, ("method", "3", "'rank1'")),
    (lambda: playground(in_features=5), ValueError, ("in_features", "1 to 4", "5")),
    (lambda: playground(out_features=0), ValueError, ("out_features", "1 to 5", "0")),
    (lambda: playground(ensemble_size=2.0), TypeError, ("ensemble_size", "2.0", "integer")),
    (lambda: playground(ensemble_size=True), TypeError, ("ensemble_size", "True", "integer")),
    (lambda: playground(numbers=10**6), ValueError, ("numbers", "1000000", "0 to 999999")),
    (lambda: playground(draw=-1), ValueError, ("draw", "-1", "0 up")),
    (lambda: playground(arrays=3), TypeError, ("arrays", "3", "dict")),
    (lambda: playground(arrays={"R": 3}), ValueError, ("arrays", "'R'", "weight, r, s, bias, x")),
    (lambda: playground(arrays={"x": [1]}), ValueError, ("arrays['x']", "(1,)", "(4,)")),
    (lambda: playground(arrays={"x": 1}), TypeError, ("arrays['x']", "1", "NumPy array")),
    (lambda: playground(name="A B"), ValueError, ("name", "'A B'", "hyphens")),
    (lambda: playground(name='"><b>'), ValueError, ("name", "<b>", "hyphens")),
    (lambda: playground(name=3), TypeError, ("name", "3", "string")),
    (lambda: playground(caption=None), TypeError, ("caption", "None", "string")),
    (lambda: _set("arrays", None), TypeError, ("arrays", "None", "dict")),
    (lambda: _set("arrays", [1, 2]), TypeError, ("arrays", "[1, 2]", "dict")),
    (lambda: _set("arrays", {"r": 1}), ValueError, ("arrays", "'r'", "weight, r_mean, r_std")),
    (lambda: _set("arrays", {3: 1}), ValueError, ("arrays", "3", "r_mean")),
    (lambda: _set("arrays", {"x": "ab"}), TypeError, ("arrays['x']", "'ab'", "NumPy array")),
    (lambda: _set("arrays", {"x": ["a", "b"]}), TypeError, ("arrays['x']", "'a'", "numbers")),
    (lambda: _set("arrays", {"x": [True, False]}), TypeError, ("arrays['x']", "numbers")),
    (lambda: _set("arrays", {"x": [1, 2j]}), TypeError, ("arrays['x']", "numbers")),
    (lambda: _set("arrays", {"x": MASKED}), TypeError, ("arrays['x']", "numbers")),
    (lambda: _set("arrays", {"x": [[1], [1, 2]]}), ValueError, ("arrays['x']", "(2,)")),
    (lambda: _set("arrays", {"x": [1, np.nan]}), ValueError, ("arrays['x']", "-9 to 9", "nan")),
    (lambda: _set("arrays", {"x": [1, 9.1]}), ValueError, ("arrays['x']", "-9 to 9", "9.1")),
    (lambda: _set("arrays", {"r_std": np.zeros((3, 2))}), ValueError, ("arrays['r_std']", "0.01")),
    (lambda: _set("arrays", {"weight": np.ones((5, 2))}), ValueError, ("(5, 2)", "(2, 5)")),
    (lambda: _set("options", None), TypeError, ("options", "None", "dict")),
    (lambda: _set("options", {"width": 3}), ValueError, ("options", "'width'", "in_features")),
    (lambda: _set("options", {"edits": {}}), ValueError, ("options", "'edits'", "in_features")),
    (lambda: _set("options", {"method": None}), TypeError, ("method", "None", "'rank1'")),
    (lambda: _set("options", {"draw": 0.5}), TypeError, ("draw", "0.5", "integer")),
    (lambda: layer_state.rechecked(3), TypeError, ("state", "3", "dict")),
    (lambda: layer_state.rechecked({}), ValueError, ("state", "method", "[]")),
    (
        lambda: layer_state.rechecked({k: v for k, v in state_of().items() if k != "edits"}),
        ValueError,
        ("state", "edits", "'challenge'"),
    ),
    (lambda: _whole(method="<b>"), ValueError, ("method", "'<b>'", "'rank1'")),
    (lambda: _whole(in_features=5), ValueError, ("in_features", "5", "1 to 4")),
    (lambda: _whole(in_features=None), TypeError, ("in_features", "None", "integer")),
    (lambda: _whole(draw="1"), TypeError, ("draw", "'1'", "integer")),
    (lambda: _whole(numbers=1e300), TypeError, ("numbers", "1e+300", "integer")),
    (lambda: _whole(challenge="<b>"), ValueError, ("challenge", "'<b>'", "'equal'", "'price'")),
    (lambda: _whole(challenge=["equal"]), TypeError, ("challenge", "['equal']", "'reach'")),
    (lambda: _whole(edits=[1]), TypeError, ("edits", "[1]", "dict")),
    (lambda: _whole(edits=None), TypeError, ("edits", "None", "dict")),
    (lambda: _edit("x:4"), ValueError, ("edits", "'x:4'", "'x:0'")),
    (lambda: _edit("x:-1"), ValueError, ("edits", "'x:-1'")),
    (lambda: _edit("x:00"), ValueError, ("edits", "'x:00'")),
    (lambda: _edit("x:٣"), ValueError, ("edits", "'x:٣'")),
    (lambda: _edit("x:" + "9" * 5000), ValueError, ("edits", "9")),
    (lambda: _edit("x:0,0"), ValueError, ("edits", "'x:0,0'")),
    (lambda: _edit("x"), ValueError, ("edits", "'x'")),
    (lambda: _edit("r:0"), ValueError, ("edits", "'r:0'")),
    (lambda: _edit("r_mean:0,0"), ValueError, ("edits", "'r_mean:0,0'")),
    (lambda: _edit("r_rho:0,0"), ValueError, ("edits", "'r_rho:0,0'")),
    (lambda: _edit("r:6,0"), ValueError, ("edits", "'r:6,0'")),
    (lambda: _edit("s:0,5"), ValueError, ("edits", "'s:0,5'")),
    (lambda: _edit("bias:5"), ValueError, ("edits", "'bias:5'")),
    (lambda: _edit("weight:0,0,0,0"), ValueError, ("edits", "'weight:0,0,0,0'")),
    (lambda: _edit("weight_mean:0,0"), ValueError, ("edits", "'weight_mean:0,0'")),
    (lambda: _edit("W:0,0,0"), ValueError, ("edits", "'W:0,0,0'")),
    (lambda: _edit("y:0,0"), ValueError, ("edits", "'y:0,0'")),
    (lambda: _edit("rank1.r:0,0"), ValueError, ("edits", "'rank1.r:0,0'")),
    (lambda: _edit("toString:0"), ValueError, ("edits", "'toString:0'")),
    (lambda: _edit("__proto__"), ValueError, ("edits", "'__proto__'")),
    (lambda: _edit(""), ValueError, ("edits", "''", "'x:0'")),
    (lambda: _edit(3), ValueError, ("edits", "3", "'x:0'")),
    (lambda: _edit("x:0\n"), ValueError, ("edits", "x:0")),
    (lambda: _edit("x:0", 9.5), ValueError, ("edits['x:0']", "9.5", "-9 to 9")),
    (lambda: _edit("x:0", float("nan")), ValueError, ("edits['x:0']", "nan", "finite")),
    (lambda: _edit("x:0", None), TypeError, ("edits['x:0']", "None", "finite")),
    (lambda: _edit("x:0", "1"), TypeError, ("edits['x:0']", "'1'", "finite")),
    (lambda: _edit("x:0", True), TypeError, ("edits['x:0']", "True", "finite")),
    (lambda: _edit("s_std:0,0", 0), ValueError, ("edits['s_std:0,0']", "0.01 to 9")),
]


@pytest.mark.bad_input
@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_input(case):
    check_error(*BAD[case])


@pytest.mark.bad_input
def test_hostile_values_end_in_a_result_or_a_named_error():
    from tests.test_hostile import HOSTILE, outcome

    state = state_of("rank1", 3, 5, 2)
    failures = []
    for kind, value in HOSTILE.items():
        tries = {
            "arrays": lambda value=value: layer_state.set_arrays(state, value),
            "x": lambda value=value: layer_state.set_arrays(state, {"x": value}),
            "weight": lambda value=value: layer_state.set_arrays(state, {"weight": value}),
            "options": lambda value=value: layer_state.changed(state, value),
            "state": lambda value=value: layer_state.rechecked(value),
        }
        for name in layer_state.START:
            tries[name] = lambda value=value, name=name: layer_state.changed(state, {name: value})
        for name in state:
            tries[f"{name}"] = lambda value=value, name=name: layer_state.rechecked(
                state | {name: value}
            )
        for edit in ("x:0", "r_std:1,2"):
            tries[edit] = lambda value=value, edit=edit: layer_state.rechecked(
                state | {"edits": {edit: value}}
            )
        for name, one in tries.items():
            if wrong := outcome(name, one, {}):
                failures.append(f"{name}={kind}: {wrong}")
    assert not failures, "\n".join(failures)
