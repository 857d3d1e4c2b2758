"""The tables of the contest are what its protocol makes: rows, choices, and single trainings."""

import numpy as np
import pytest

from ensedu import uncertainty
from ensedu.contest.tasks import given
from workshop import measured
from workshop.experiments import contest
from workshop.experiments.contest import reading
from workshop.experiments.contest.tasks import TASKS

PREDICTED = {
    row["contestant"]: row for row in measured.load("contest/concrete-predictions")["rows"]
}


def row_of(task, contestant, split=0):
    return measured.row(reading.rows(task), contestant=contestant, split=split)


def test_each_task_has_a_row_for_each_contestant_and_split():
    assert reading.tasks() == [*TASKS]
    for task in TASKS:
        cases = contest.TABLES[f"contest/{task}"].cases
        found = [{key: row[key] for key in cases[0]} for row in reading.rows(task)]
        assert found == [*cases]


@pytest.mark.parametrize("task", TASKS)
def test_what_was_chosen_has_the_least_nll_on_the_rows_to_select_on(task):
    for row in reading.rows(task):
        tried = np.array(row["select_nll"])
        place = row["select_epochs"].index(row["epoch"])
        assert tried[row["setting"], place] == np.nanmin(tried)


@pytest.mark.parametrize("name", ["single", "batch_ensemble"])
def test_a_training_repeated_agrees_with_the_tables(name):
    found, table = contest.predictions(name), PREDICTED[name]
    for key in ("mean", "std", "factor", "nll"):
        # To the digits of the table, and what other processors add.
        np.testing.assert_allclose(found[key], table[key], rtol=2e-3, atol=2e-3)
    assert row_of("concrete", name)["nll"][0] == pytest.approx(found["nll"], rel=2e-3)


def test_a_row_repeated_whole_agrees_with_its_table():
    found, table = contest.run("saratoga", "linear", 1), row_of("saratoga", "linear", 1)
    for key in ("select_nll", "setting", "nll", "rmse", "crps"):
        np.testing.assert_allclose(found[key], table[key], rtol=1e-4)


def test_single_predictions_are_those_of_the_table_of_concrete():
    assert [*PREDICTED] == [case["contestant"] for case in contest.PREDICTIONS.cases]
    for name, row in PREDICTED.items():
        assert row["nll"] == row_of("concrete", name)["nll"][0]
    own = given(TASKS["concrete"](), 0)
    y = (own.center + own.unit * own.test[1][:, 0])[:, None]
    mean, std = (np.array(PREDICTED["single"][key])[:, None] for key in ("mean", "std"))
    nll = uncertainty.gaussian_nll(mean[None], std[None] ** 2, y).mean()
    assert nll == pytest.approx(PREDICTED["single"]["nll"], rel=1e-3)
