"""The variance head on a fast sine: what is trained and chosen, and the tables that are read."""

import numpy as np
import pytest

from ensedu import uncertainty
from ensedu.book import measured
from ensedu.book.experiments import variance_head
from ensedu.book.experiments.variance_head import (
    BETAS,
    EXPERIMENT,
    sine,
    summarize,
)

SHORT = EXPERIMENT.settings | {"networks": 2, "epochs": 2, "points": 30}


def test_a_short_run():
    found = {b: variance_head.run(b, 0, **SHORT) for b in (0.0, 1.0)}
    assert all(len(row["rmse"]) == len(row["nll"]) == 2 for row in found.values())
    assert found[0.0]["rmse"] != found[1.0]["rmse"]


def test_errors_are_from_the_curve_without_noise(monkeypatch):
    monkeypatch.setattr(
        variance_head, "trained", lambda beta, seed, x, *rest: (
            np.stack([sine.truth(x), sine.truth(x) + 0.5]), np.ones((2, *x.shape))
        ),
    )  # fmt: skip
    found = variance_head.run(0.0, 0, **SHORT)
    assert found["rmse"] == pytest.approx([0.0, 0.5])


def test_the_summary_is_paired_over_data():
    rng = np.random.default_rng(0)
    rows = [
        {"beta": b, "data_seed": seed, "rmse": (rng.random(5) - b).tolist(),
         "nll": rng.random(5).tolist()}
        for b in BETAS for seed in range(10)
    ]  # fmt: skip
    found = summarize(rows)
    values = {b: np.array([r["rmse"] for r in rows if r["beta"] == b]) for b in BETAS}
    wanted = uncertainty.paired(values[1.0] - values[0.0])
    entry = measured.row(found, beta=1.0, score="rmse")
    assert (entry["low"], entry["high"]) == (wanted.low, wanted.high)
    assert entry["verdict"] == "better"
    assert "difference" not in measured.row(found, beta=0.0, score="nll")
    differences = [e for e in found if "p" in e]
    assert len(differences) == 8
    np.testing.assert_allclose(
        [e["adjusted"] for e in differences], uncertainty.holm([e["p"] for e in differences])
    )


def test_a_case_agrees_with_the_table():
    settings = EXPERIMENT.settings
    row = measured.row(measured.load("variance-head")["rows"], beta=1.0, data_seed=103)
    found = variance_head.run(1.0, 103, **settings)
    # To the digits of the table, and what other processors add to 1,200 steps.
    assert row["rmse"] == pytest.approx(found["rmse"], rel=0.05)
