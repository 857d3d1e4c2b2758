"""The numbers of the playground are those of the layers."""

import itertools

import numpy as np
import pytest
from hypothesis import given

from ensedu import counting, methods
from ensedu.book.page.playground import layer_state, layers
from tests.book.page.playground.states import (
    DRAWN,
    METHODS,
    MOST,
    SIZES,
    STATES,
    VALUES,
    filled,
    members_one_by_one,
    random_arrays,
    state_of,
)


def test_every_kind_of_layer_is_there_once():
    assert layers.METHODS == METHODS
    assert layers.MOST == MOST


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
    kinds = {name: set(np.concatenate(values)) for name, values in found.items()}
    spreads = {0.1, 0.2, 0.5}
    factors = {-1.0, 0.5, 1.0, 2.0}
    assert kinds == {
        "weight": {-3.0, -2.0, -1.0, 1.0, 2.0, 3.0}, "r": factors, "s": factors, "bias": factors,
        "weight_std": spreads, "r_std": spreads, "s_std": spreads, "bias_std": spreads,
        "x": {-1.0, 1.0, 2.0},
    }  # fmt: skip
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
        arrays = layers.arrays(state_of(method, m, n, M))
        assert arrays.pop("x").shape == (m,)
        count = counting.layer(m, n, method, **methods.size_option(method, M))
        assert sum(array.size for array in arrays.values()) == count.total
        assert sum(map(np.size, layers.layer(state_of(method, m, n, M)).params.values())) == (
            count.total
        )


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


def test_one_shared_number_moves_every_member_and_one_of_r_a_row_of_one():
    before = layers.layer(state_of()).weight_matrices()
    shared = layers.layer(state_of(weight={(2, 3): 7.5})).weight_matrices() != before
    assert [np.argwhere(one).tolist() for one in shared] == [[[2, 3]]] * 4
    own = layers.layer(state_of(r={(1, 2): 7.5})).weight_matrices() != before
    assert own.sum(axis=(1, 2)).tolist() == [0, 5, 0, 0]
    assert own[1, 2].all()
