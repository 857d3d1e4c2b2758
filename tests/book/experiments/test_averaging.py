"""What averaging leaves of an error: the formula, and the table that the chapter reads."""

from itertools import combinations

import numpy as np
import pytest
import torch

from ensedu.book import measured
from ensedu.book.experiments import averaging
from ensedu.book.experiments.averaging import EXPERIMENT, averaged_error, error_products


def test_common_against_a_loop():
    errors = np.random.default_rng(0).standard_normal((5, 7)) + 0.3
    square, product = error_products(errors)
    assert square == pytest.approx(np.mean([np.mean(e**2) for e in errors]), rel=1e-12)
    pairs = [np.mean(errors[i] * errors[j]) for i, j in combinations(range(5), 2)]
    assert product == pytest.approx(np.mean(pairs), rel=1e-12)


@pytest.mark.parametrize("members", [1, 2, 3, 5])
def test_the_formula_is_the_mean_over_all_choices_of_members(members):
    errors = np.random.default_rng(1).standard_normal((5, 7)) + 0.3
    choices = [list(choice) for choice in combinations(range(5), members)]
    left = np.mean([np.mean(errors[choice].mean(axis=0) ** 2) for choice in choices])
    assert averaged_error(*error_products(errors), members) == pytest.approx(left, rel=1e-12)


def test_the_summary_is_that_of_the_rows():
    table = measured.load("averaging")
    assert len(table["rows"]) == 20
    for place, found in averaging.summarize(table["rows"]).items():
        for name, value in found.items():
            assert table["summary"][place][name] == pytest.approx(value, rel=1e-3)


def test_a_reduced_run_agrees_with_the_table():
    row = measured.row(measured.load("averaging")["rows"], data_seed=0)
    found = averaging.run(0, **EXPERIMENT.settings | {"seeds": 1})
    for place, values in found.items():
        for name, (value,) in values.items():
            # To the digits of the table, and what other processors add.
            assert row[place][name][0] == pytest.approx(value, rel=2e-2)


def test_each_start_is_trained_on_the_data_of_its_row(monkeypatch):
    seen = []

    def trained(number, *, data_seed, seed):
        seen.append((number, data_seed, seed))
        return torch.nn.Identity()

    monkeypatch.setattr(averaging.example, "deep_ensemble", trained)
    zeros = torch.zeros(3, 10, 1, dtype=torch.float64)
    monkeypatch.setattr(averaging, "predict", lambda net, x: zeros)
    averaging.run(4, seeds=2, members=3, points=5)
    assert seen == [(3, 4, 0), (3, 4, 1)]
