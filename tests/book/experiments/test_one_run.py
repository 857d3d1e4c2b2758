"""What is made of one run: at which steps and rates, how it is scored, and the tables."""

import math

import numpy as np
import pytest
import torch

from ensedu.book import measured
from ensedu.book.experiments import nuts, one_run, table_one
from ensedu.book.experiments.one_run import CURVES, EXPERIMENT, MADE, NAMES, SCHEDULES, rate
from ensedu.data import gap

FIVE = EXPERIMENT.settings | {"seeds": 1, "epochs": 5, "batch_size": 500}
STEPS = 300


def rates(schedule):
    return np.array([rate(schedule, step, STEPS, 0.01) for step in range(STEPS)])


def test_rates():
    assert (rates("constant") == 0.01).all()
    falls, holds, restarts = (rates(name) for name in ("falls", "holds", "restarts"))
    for own in (falls, restarts):
        assert own[0] == 0.02 and own.mean() == pytest.approx(0.01, rel=0.05)
    assert falls[150] == pytest.approx(0.01) and falls[-1] < 1e-5
    np.testing.assert_array_equal(holds[:201], falls[:201])
    assert holds[200:] == pytest.approx(0.01 * (1 + math.cos(2 * math.pi / 3)))
    np.testing.assert_allclose(restarts, np.tile(restarts[:60], 5))
    assert restarts[30] == pytest.approx(0.01)


@pytest.mark.parametrize(
    ("schedule", "ends"), [("falls", [72, 74, 76, 78, 80]), ("restarts", [16, 32, 48, 64, 80])]
)
def test_checkpoints(schedule, ends):
    assert [*one_run.ends_of(schedule, 80, 40)] == ends


def test_weights_come_back():
    parts = table_one.split_of("concrete", 0)
    net = table_one.untrained_networks(parts, table_one.CONTESTANTS["single"], 3)
    x = torch.from_numpy(parts.x_test)
    wanted = one_run.predict(net, x).numpy()
    weights = one_run.weights_of(net)
    assert weights.shape == (5, 8 * 50 + 50 + 50 * 2 + 2)
    both = one_run.outputs_of(net, x, torch.stack([weights, 0 * weights]))
    np.testing.assert_array_equal(both[0], wanted)
    assert (both[1] == 0).all()


def test_runs_are_scored_each_for_itself():
    parts = table_one.split_of("concrete", 0)
    outputs = np.random.default_rng(0).normal(size=(5, 3, 103, 2))  # five checkpoints, three runs
    found = one_run.scores_of(parts, outputs)
    each = [one_run.scores_of(parts, outputs[:, i : i + 1]) for i in range(3)]
    for score, value in found.items():
        assert value == pytest.approx(np.mean([one[score] for one in each]))
    assert one_run.scores_of(parts, outputs[:1])["apart"] == 0 < found["apart"]


def test_samples_are_around_the_weights_of_their_own_run():
    seen = torch.randn(20, 2, 3, generator=torch.Generator().manual_seed(0)).double()
    seen[:, 1] += 100
    samples = one_run.samples_around(seen, 0)
    assert samples.shape == (32, 2, 3)
    assert samples[:, 0].abs().max() < 10 < 90 < samples[:, 1].min()


def test_a_short_run():
    found = {name: one_run.run("concrete", name, split=0, **FIVE) for name in SCHEDULES}
    for row in found.values():
        assert {*MADE} < {*row}
        assert all(np.isfinite(row[made]["nll"]).all() for made in MADE)
        assert row["end"]["apart"] == row["weights"]["apart"] == [0.0]
    assert found["falls"]["epochs"]["apart"] < found["constant"]["epochs"]["apart"]


def test_a_case_agrees_with_the_table():
    settings = EXPERIMENT.settings | {"seeds": 1}
    found = one_run.run("concrete", "falls", split=0, **settings)
    row = measured.row(measured.load("one-run")["rows"], schedule="falls", split=0)
    for made in MADE:
        # To the digits of the table, and what other processors add.
        assert row[made]["nll"][0] == pytest.approx(found[made]["nll"][0], rel=0.01)


def test_functions_of_one_run_and_of_five():
    short = CURVES.settings | {"epochs": 20}
    found = one_run.curves("constant", one_run.SHOWN, **short)
    for which in ("one", "five"):
        curves = np.array(found["curves"][which])
        assert curves.shape == (5, len(nuts.grid()))
    inside = (nuts.grid() > gap.gaps[0][0]) & (nuts.grid() < gap.gaps[0][1])
    five = np.array(found["curves"]["five"])
    assert found["gap"]["five"] == pytest.approx(five.std(0)[inside].mean())
    np.testing.assert_array_equal(found["curves"]["one"][-1], five[0])
    assert one_run.curves("falls", 0, **short)["curves"] == {"one": [], "five": []}


def test_what_is_drawn_is_in_the_table():
    x, points, curves = one_run.drawn()
    assert points.shape == (gap.number, 2)
    assert [*curves] == [NAMES[name] for name in one_run.DRAWN]
    assert all(own.shape == (2, 5, len(x)) for own in curves.values())
    rows = [r for r in measured.load("one-run-curves")["rows"] if r["schedule"] == "constant"]
    five = [row["gap"]["five"] for row in rows]
    shown = measured.row(rows, data_seed=one_run.SHOWN)["gap"]["five"]
    assert sum(one < shown for one in five) in (9, 10)
