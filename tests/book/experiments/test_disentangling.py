"""Noise and spread beside the truth: the curve, the ratios, and the table a chapter reads."""

import numpy as np
import pytest
import torch

from ensedu import uncertainty
from ensedu.book import measured
from ensedu.book.experiments import disentangling
from ensedu.book.experiments.disentangling import (
    CHOSEN,
    EXPERIMENT,
    NUMBERS,
    PLACES,
    SIGMAS,
    TRIES,
    TUNING,
    best_steps,
    curve,
    member_heads,
    new_points,
    run,
    summarize,
    summary_cell,
    summary_contrast,
    trained,
    tune,
)
from ensedu.data import gap

SHORT = {"members": 2, "lr": 0.005, "batch_size": 20}
PARTS = ("noise", "spread", "error", "member_error", "nll", "member_nll")


def test_the_curve_is_that_of_the_running_example():
    x = np.linspace(-5, 5, 11)
    assert curve(gap.noise) == gap
    assert curve(0.4).noise == 0.4
    assert np.array_equal(curve(0.4).truth(x), gap.truth(x))


def test_new_points_have_the_noise():
    found = new_points(0.3, 3, 4001)
    assert tuple(found) == PLACES
    for x, y in found.values():
        assert abs((y - gap.truth(x)).std() - 0.3) < 0.02
    low, high = gap.gaps[0]
    inside = found["gap"][0]
    assert (low < inside).all() and (inside < high).all()
    assert not ((low < found["regions"][0]) & (found["regions"][0] < high)).any()


@pytest.mark.parametrize(("number", "steps", "taken"), [(30, 7, 8), (41, 7, 6), (7, 1, 1)])
def test_steps_are_those_of_whole_epochs(monkeypatch, number, steps, taken):
    seen = []
    monkeypatch.setattr(disentangling, "fit", lambda *args, **options: seen.append(options))
    trained(number, 0.2, 0, steps, **SHORT | {"batch_size": min(20, number)})
    assert seen[0]["epochs"] * -(-number // min(20, number)) == taken


def test_a_training_repeats_itself_and_leaves_torch_as_it_was():
    threads, state = torch.get_num_threads(), torch.random.get_rng_state()
    one, other, apart = (trained(30, 0.2, seed, 4, **SHORT) for seed in (3, 3, 4))
    x = np.linspace(-1, 1, 5)[:, None]
    assert np.array_equal(member_heads(one, x)[0], member_heads(other, x)[0])
    assert not np.allclose(member_heads(one, x)[0], member_heads(apart, x)[0])
    assert torch.get_num_threads() == threads
    assert torch.equal(torch.random.get_rng_state(), state)


def test_a_run_says_what_the_members_state(monkeypatch):
    monkeypatch.setitem(CHOSEN, (30, 0.2), 4)
    found = run(30, 0.2, 3, **SHORT, points=13)
    net = trained(30, 0.2, 3, 4, **SHORT)
    for place, (x, y) in new_points(0.2, 3, 13).items():
        assert tuple(found[place]) == PARTS
        mean, variance = member_heads(net, x)
        off = mean - gap.truth(x)
        density = np.exp(-((y - mean) ** 2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)
        wanted = {
            "noise": variance.mean(), "spread": ((mean[0] - mean[1]) ** 2).mean() / 4,
            "error": (off.mean(axis=0) ** 2).mean(), "member_error": (off**2).mean(),
            "nll": -np.log(density.mean(axis=0)).mean(), "member_nll": -np.log(density).mean(),
        }  # fmt: skip
        assert found[place] == pytest.approx(wanted, rel=1e-9)
    score = tune(30, 0.2, 4, 3, **SHORT, points=13)
    assert score["nll"] == pytest.approx(found["regions"]["nll"], rel=1e-12)


def rows_of(values):
    """Rows whose parts are given, for each number and σ, with a factor for each of four seeds."""
    return [
        {"number": number, "sigma": sigma, "data_seed": seed}
        | {
            place: {part: values(part, number, sigma) * factor for part in PARTS}
            for place in PLACES
        }
        for number, sigma in CHOSEN
        for seed, factor in enumerate((0.5, 1.0, 1.0, 2.0))
    ]


def test_ratios_are_geometric_means():
    made = {
        "noise": lambda number, sigma: 3 * sigma**2,
        "spread": lambda number, sigma: 1 / number,
        "error": lambda number, sigma: 5 / number,
    }
    summary = summarize(rows_of(lambda part, n, s: made.get(part, lambda *_: 1.0)(n, s)))
    assert len(summary["cells"]) == 2 * len(CHOSEN)
    low, mean, high = summary["cells"][0]["noise"]
    assert mean == pytest.approx(3 * 0.1**2 * 1.125) and low < mean < high
    assert len(summary["contrasts"]) == 60
    wanted = {
        "noise / σ²": 3, "error / spread": 5, "noise, more data": 1, "spread, more data": 1 / 16,
        "noise, more noise": 16, "spread, more noise": 1,
    }  # fmt: skip
    assert {row["ratio"] for row in summary["contrasts"]} == wanted.keys()
    for row in summary["contrasts"]:
        assert row["mean"] == pytest.approx(wanted[row["ratio"]])
        assert row["low"] <= row["mean"] <= row["high"]
    noise = next(row for row in summary["contrasts"] if row["ratio"] == "noise / σ²")
    logs = np.log(3) + np.log([0.5, 1.0, 1.0, 2.0])
    assert noise["low"] == pytest.approx(np.exp(uncertainty.paired(logs).low))


def test_holm_is_over_all_ratios():
    rng = np.random.default_rng(0)
    summary = summarize(rows_of(lambda part, n, s: rng.lognormal()))
    rows = summary["contrasts"]
    adjusted = uncertainty.holm([row["p"] for row in rows])
    assert [row["adjusted"] for row in rows] == pytest.approx(adjusted.tolist())


def test_the_best_steps_are_those_of_the_least_mean():
    rows = [
        {"number": n, "sigma": s, "steps": steps, "data_seed": seed, "nll": abs(steps - 800) + seed}
        for n, s in CHOSEN
        for steps in TRIES
        for seed in range(3)
    ]
    assert [row["steps"] for row in best_steps(rows)] == [750] * 9
    assert best_steps(rows)[0]["nll"] == 51


def test_the_steps_were_chosen_on_other_data():
    summary = measured.load("disentangling-tuning")["summary"]
    assert {(row["number"], row["sigma"]): row["steps"] for row in summary} == CHOSEN
    seeds = [{case["data_seed"] for case in one.cases} for one in (TUNING, EXPERIMENT)]
    assert not seeds[0] & seeds[1]


def test_one_row_again():
    case = {"number": 30, "sigma": 0.1, "data_seed": 1}
    row = measured.row(measured.load("disentangling")["rows"], **case)
    found = run(**case, **EXPERIMENT.settings)
    for place in PLACES:
        # To the digits of the table, and what other processors add.
        assert found[place] == pytest.approx(row[place], rel=0.05)


def test_rows_of_the_summary():
    assert summary_cell("gap", 480, 0.4)["sigma"] == 0.4
    low, mean, high = summary_cell("regions", 30, 0.1)["noise"]
    assert low < mean < high
    assert summary_contrast("noise, more data", "gap", sigma=SIGMAS[0])["number"] is None
    assert summary_contrast("noise, more noise", "gap", NUMBERS[0])["sigma"] is None


@pytest.mark.bad_input
@pytest.mark.parametrize(
    "read", [lambda p: summary_cell(p, 30, 0.1), lambda p: summary_contrast("noise", p)]
)
def test_an_unknown_place(read):
    with pytest.raises(ValueError, match="place must be one of 'regions', 'gap'"):
        read("nowhere")
