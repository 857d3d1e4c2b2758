"""The playground's numbers are those of the layers, in every state that a page can show."""

import itertools
import json
import re

import numpy as np
import pytest

from ensedu import counting, methods
from ensedu.page.playground import METHODS, MOST, Playground, state
from tests.errors import check_error

STATES = list(itertools.product(METHODS, *(range(1, most + 1) for most in MOST.values())))


@pytest.fixture(scope="module")
def data():
    """What the page gets, through JSON."""
    return json.loads(json.dumps(Playground().data()))


def members(method, M):
    return M if methods.METHODS[method].members else 1


def test_every_kind_of_layer_is_there_once():
    assert METHODS == ("single", "deep_ensemble", "batch_ensemble", "rank1", "mean_field")


def test_the_page_knows_what_each_method_has(data):
    found = data["methods"]
    assert tuple(found) == METHODS
    for words, expected in {
        "members": {"deep_ensemble", "batch_ensemble", "rank1"},
        "modulated": {"batch_ensemble", "rank1"},
        "drawn": {"rank1", "mean_field"},
    }.items():
        assert {method for method in METHODS if found[method][words]} == expected
    assert found[data["start"]["method"]]["label"] == "BatchEnsemble"


@pytest.mark.parametrize("method", METHODS)
def test_a_smaller_state_is_the_first_part_of_the_largest(method, data):
    full = {name: np.array(value) for name, value in data["methods"][method]["arrays"].items()}
    for _, m, n, M in (s for s in STATES if s[0] == method):
        arrays = state(method, m, n, M)
        assert arrays.keys() == full.keys()
        for name, array in arrays.items():
            part = full[name][tuple(map(slice, array.shape))]
            np.testing.assert_array_equal(array, part, err_msg=name)
        assert arrays["matrices"].shape == (members(method, M), m, n)


def test_matrices_are_what_the_page_says_they_are():
    shared = state("batch_ensemble", 4, 5, 4)
    for i in range(4):
        product = shared["weight"] * np.outer(shared["r"][i], shared["s"][i])
        np.testing.assert_array_equal(shared["matrices"][i], product)
    deep = state("deep_ensemble", 4, 5, 4)
    np.testing.assert_array_equal(deep["matrices"], deep["weight"])
    field = state("mean_field", 4, 5, 1)
    np.testing.assert_array_equal(field["matrices"][0], field["weight_mean"])
    np.testing.assert_array_equal(field["spreads"][0], field["weight_std"])


def test_spreads_are_those_of_draws():
    expected = state("rank1", 3, 4, 2)
    rng = np.random.default_rng(0)
    r, s = (
        expected[f"{k}_mean"] + expected[f"{k}_std"] * rng.standard_normal((20_000, 2, size))
        for k, size in (("r", 3), ("s", 4))
    )
    draws = expected["weight"] * r[..., :, None] * s[..., None, :]
    np.testing.assert_allclose(draws.std(axis=0), expected["spreads"], rtol=0.04)
    error = expected["spreads"] / np.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - expected["matrices"]) < 6 * error).all()


def test_products_are_shown_exactly():
    for method in METHODS:
        for name, array in state(method, *MOST.values()).items():
            if name != "spreads":
                np.testing.assert_array_equal(array, np.round(array, 2), err_msg=name)


def test_members_differ():
    for method in ("deep_ensemble", "batch_ensemble", "rank1"):
        matrices = state(method, *MOST.values())["matrices"]
        assert all(not np.array_equal(a, b) for a, b in itertools.combinations(matrices, 2))


@pytest.mark.parametrize("method", METHODS)
def test_counts_and_terms(method, data):
    for _, m, n, M in (s for s in STATES if s[0] == method):
        *roles, total, more = data["counts"][f"{method} {m} {n} {M}"]
        formula, one_more = (
            counting.layer(m, n, method, **methods.sized(method, k)) for k in (M, M + 1)
        )
        assert roles == [getattr(formula, role) for role in methods.ROLES]
        assert total == formula.total
        assert one_more.total == total + more
        sizes = {"m": m, "n": n, "M": M}
        for role, count in zip(methods.ROLES, roles, strict=True):
            term = data["methods"][method]["terms"].get(role, "0").replace("·", "*")
            assert eval(term, {}, sizes) == count
        # The numbers that are shown are the numbers that are counted.
        arrays = state(method, m, n, M)
        shown = sum(a.size for name, a in arrays.items() if name not in ("matrices", "spreads"))
        assert shown == total


def test_in_a_kernel_it_is_a_figure(monkeypatch):
    monkeypatch.delenv("ENSEDU_BOOK", raising=False)
    bundle = Playground()._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "image/png"}
    assert bundle["text/plain"].startswith("Playground(single, ")


def test_in_the_book_a_figure_stands_in_for_the_script(monkeypatch, tmp_path):
    monkeypatch.setenv("ENSEDU_BOOK", str(tmp_path))
    html = Playground()._repr_mimebundle_()["text/html"]
    words = "A layer of 2 inputs and 3 outputs, held by single network, deep ensemble, "
    assert html.count(f'alt="{words}') == 2
    names = {path.name for path in tmp_path.iterdir()}
    assert len(names) == 4
    assert set(re.findall(r'"ensedu-frames:([^"]+)"', html)) == names


BAD = [
    (lambda: state("mc_dropout", 2, 3, 2), ValueError, ("method", "'mc_dropout'", "'rank1'")),
    (lambda: state("rank1", 5, 3, 2), ValueError, ("in_features", "1 to 4", "5")),
    (lambda: state("rank1", 2, 0, 2), ValueError, ("out_features", "0", "positive")),
    (lambda: state("rank1", 2, 3, 2.0), TypeError, ("ensemble_size", "2.0", "positive")),
]


@pytest.mark.bad_input
@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_input(case):
    check_error(*BAD[case])
