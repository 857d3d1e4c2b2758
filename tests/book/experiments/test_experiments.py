"""Laws of all experiments: a table is that of its experiment, and a row trained again is its row.

A row is trained whole where that takes a second or two, or in the shorter form that its experiment
offers: fewer starts or splits, or fewer epochs where scores were taken on the way. Its lists are
then the first of the table's. How near it must come is what other processors leave of it.
"""

import datetime
import importlib
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scripts.tables import on_page, speed, starts, whole, zoo
from tests.errors import check_error
from workshop import experiments, measured
from workshop.drawn_digits import probabilities, unpacked
from workshop.experiments import (
    EXPERIMENTS,
    QUESTIONS,
    bandit,
    batch_ensemble_training,
    mc_dropout,
    more_from_one_network,
    next_task,
    pruning,
    rank1_training,
)
from workshop.experiments import digit_networks as networks
from workshop.experiments import running_example as example
from workshop.experiments import uncertainty as parts
from workshop.experiments.__main__ import main
from workshop.experiments.contest.tasks import TASKS
from workshop.running import json_files
from workshop.running.runner import LONGEST

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Again:
    """A row to train again: of which case, with what shorter, and how near the table's it is."""

    table: str
    case: dict[str, Any]
    #: In place of the table's settings, and of constants of the module.
    shorter: dict[str, Any] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)
    rel: float = 1e-3
    abs: float = 1e-9
    #: What the shorter form leaves as it is; by default all that it returns.
    only: tuple[str, ...] = ()
    #: And of that, what it makes otherwise.
    without: tuple[str, ...] = ()


DIGITS = batch_ensemble_training.BUDGETS["digits"]
WIDTH = {"method": "batch_ensemble", "width": 16}
LOOKS = {"test": 500, "seen": 2, "seen_draws": 1, "draws": 1}
SCORED = ("test", "letters")
LINEAR = ("rows", "select_nll", "setting", "nll", "rmse", "crps", "brier", "auroc")
NORMAL = {"init": "normal", "init_std": 0.5}
AGAIN = [
    Again("starts", {"network": 1, "method": "batch_ensemble", "options": NORMAL, "seed": 1},
          rel=0.05, abs=0.01),
    Again("running-example-tuning",
          {"contestant": "single", "setting": {"lr": 0.016}, "data_seed": 1001}, rel=0.02),
    Again("running-example", {"contestant": "deep_ensemble", "data_seed": 0}, {"seeds": 1},
          rel=2e-3, abs=2e-3),
    Again("running-example-curves", {"contestant": "mc_dropout"}, rel=0.01, abs=5e-3),
    Again("mc-dropout", {"train": 400, "split": 1}, {"decays": [], "rates": [0.05]}, rel=0.02,
          abs=2e-3),
    Again("mc-dropout-curve",
          {"method": "mc_dropout", "p": 0.2, "number": 60, "data_seed": 101}, rel=0.02),
    Again("deep-ensembles", {"data": "boston", "contestant": "single_beta", "split": 4}, rel=0.01),
    Again("more-from-one-network", {"schedule": "falls", "split": 0}, {"seeds": 1}, rel=0.01,
          only=("nll",)),
    Again("more-from-one-network-curves", {"schedule": "restarts", "data_seed": 2}, rel=0.02),
    Again("batch-ensemble-training-tuning", {"contestant": "single", "lr": 0.01, "split": 1001},
          rel=0.02),
    # 1,120 steps, in which rounding grows.
    Again("batch-ensemble-training", {"data": "digits", "contestant": "signs", "split": 0},
          {"budgets": {"digits": DIGITS | {"starts": 1}}}, rel=0.3),
    Again("next-task-tuning", {"contestant": "head", "lr": 0.03, "split": 1001}, abs=0.01),
    Again("next-task", {"contestant": "signs", "split": 0}, {"starts": 1}, abs=0.02),
    Again("uncertainty-tuning",
          {"number": 30, "sigma": 0.2, "steps": 300, "data_seed": 1001}, rel=0.02),
    Again("uncertainty", {"number": 30, "sigma": 0.1, "data_seed": 1}, rel=0.05),
    Again("bandit", {"agent": "random", "seed": 2}),
    # At the two other rates rounding grows to other networks.
    Again("rank1-training", {"contestant": "at_once"}, {"splits": 1, "starts": 1, "epochs": [40]},
          rel=0.01, without=("curves",)),
    # One network's, beside the means over twenty.
    Again("rank1-training", {"contestant": "signs_cauchy"},
          {"splits": 1, "starts": 1, "epochs": [1, 2], "passes": 2}, rel=0.04,
          only=("sigma", "negative")),
    Again("pruning-tuning", {"contestant": "single", "lr": 0.003}, {"epochs": 1}, rel=0.02,
          abs=0.5, only=("by_epoch", "train_nll")),
    Again("pruning", {"contestant": "narrow", "beta": 0.1, "split": 3}, {"epochs": 1},
          {"LEVELS": (0,)}, rel=0.02, abs=0.5, only=("by_epoch", "train_nll", "kl")),
    Again("bayesian-cnn", {"contestant": "wide", "split": 1}, LOOKS | {"epochs": 3}, rel=0.05,
          abs=2e-3, only=("by_epoch",)),
    Again("bayesian-cnn", {"contestant": "narrow", "split": 2}, LOOKS | {"epochs": 0}, rel=0.01,
          only=("by_epoch",)),
    Again("bayesian-cnn-images", {"split": 0}, {"epochs": 0, "draws": 1, "shown": 0},
          only=("index", "label")),
    Again("gradient-flow", {"width": 64, "seed": 3}),
    Again("perturbed-network", {"number": 0}, abs=1e-3),
    Again("width-tuning", WIDTH | {"split": 101, "lr": 0.02}, {}, {"MEMBERS": (1,)}, rel=0.2),
    Again("width", WIDTH | {"split": 1}, {}, {"MEMBERS": (1, 2)}, rel=0.2),
    # That all that the contest learns from is what it was: rows, inputs, targets, groups, splits.
    *(Again(f"contest/{task}", {"contestant": "linear", "split": 0}, rel=0.01, only=LINEAR)
      for task in TASKS),
    Again("digit-networks-splits", {"method": "single", "split": 0}, {},
          {"TRIES": {"single": networks.TRIES["single"][1:][:1]}}, rel=0.05, abs=0.02, only=SCORED),
]  # fmt: skip
#: What is not here, and where its parts are.
ELSEWHERE = {
    "nuts": "test_kernels_and_posteriors, where NumPyro is",
    "bayes": "test_kernels_and_posteriors: its loss and start; 3,000 steps are one training",
    "perturbed": "test_kernels_and_posteriors, from the numbers of perturbed-network",
    "digit-networks": "is the first split of digit-networks-splits, see below",
    "bandit-tuning": "test_training: one decision turned changes all that follow",
    "rank1-training-tuning": "test_training: on which splits",
    "one-table": "tests/contest/test_compare, fewer tables",
    "homes": "tests/contest/test_compare, on smaller tables: a plan depends on the machine",
}


def agree(found: Any, row: Any, again: Again, where: str, *, compared: bool) -> None:
    """Check that what is found is the row's, whose lists may be longer."""
    if isinstance(found, dict):
        for name in sorted(found.keys() - again.without):
            value, here = found[name], compared or name in again.only
            if here or isinstance(value, dict):
                agree(value, row[name], again, f"{where} {name}", compared=here)
    elif isinstance(found, list):
        assert len(found) <= len(row), where
        for i, value in enumerate(found):
            agree(value, row[i], again, f"{where} {i}", compared=compared)
    elif isinstance(found, float):
        assert found == pytest.approx(row, rel=again.rel, abs=again.abs), where
    else:
        assert found == row, where


# What chooses a rate trains as what is reported with it does.
TUNED = [[pytest.mark.weekly] * one.table.endswith("-tuning") for one in AGAIN]


@pytest.mark.parametrize("again", [
    pytest.param(one, id=one.table, marks=marks) for one, marks in zip(AGAIN, TUNED, strict=True)
])  # fmt: skip
def test_a_row_trained_again_is_the_tables(again, monkeypatch):
    one, table = EXPERIMENTS[again.table], measured.load(again.table)
    (i,) = (i for i, case in enumerate(one.cases) if case | again.case == case)
    module = importlib.import_module(one.run.__module__)
    for name, value in again.constants.items():
        monkeypatch.setattr(module, name, value)
    found = json.loads(json.dumps(one.run(**one.cases[i], **one.settings | again.shorter)))
    agree(found, table["rows"][i], again, again.table, compared=not again.only)


def test_each_table_has_a_row_again():
    names = {again.table for again in AGAIN} | ELSEWHERE.keys()
    assert names >= {*EXPERIMENTS}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_table_is_that_of_its_experiment(name):
    one, table = EXPERIMENTS[name], measured.load(name)
    assert one.name == name
    for key in ("about", "budget", "settings"):
        assert table[key] == getattr(one, key), f"{key}: make results NAME={name}"
    pairs = zip(table["rows"], one.cases, strict=True)
    assert [{key: row.get(key) for key in case} for row, case in pairs] == list(one.cases)
    assert len({frozenset(row) for row in table["rows"]}) == 1  # each has all results
    if one.summarize is not None:
        summary = json.loads(json.dumps(one.summarize(table["rows"])))
        assert table["summary"] == json_files.rounded(summary, one.digits)
    assert 0 < table["seconds"] <= LONGEST and table["machine"]["threads"] == 1
    assert str(datetime.date.fromisoformat(table["date"])) == table["date"]
    assert {"torch", "numpy"} <= table["machine"]["versions"].keys()


CHOSEN = {
    "running-example-tuning": {name: row.chosen for name, row in example.RECIPES.items()},
    "batch-ensemble-training-tuning": {
        name: row.chosen for name, row in batch_ensemble_training.RECIPES.items()
    },
    "next-task-tuning": {name: row.chosen for name, row in next_task.RECIPES.items()},
    "rank1-training-tuning": {name: row.chosen for name, row in rank1_training.RECIPES.items()},
    "bandit-tuning": bandit.CHOSEN,
    "pruning-tuning": pruning.LR,
}


@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if name.endswith("-tuning")])
def test_settings_are_those_of_the_tuning_on_other_data(name):
    """No setting was chosen by what is reported."""
    summary = measured.load(name)["summary"]
    if name == "uncertainty-tuning":
        summary = {(row["number"], row["sigma"]): row["steps"] for row in summary}
    if name != "width-tuning":  # which is read
        assert summary == CHOSEN.get(name, parts.CHOSEN)
    tuned, reported = EXPERIMENTS[name], EXPERIMENTS[name.removesuffix("-tuning")]
    seeds = [
        {
            (case.get("task"), value)
            for case in one.cases
            for key, value in (one.settings | case).items()
            if key in ("split", "seed", "data_seed")
        }
        for one in (tuned, reported)
    ]
    assert not seeds[0] & seeds[1]
    assert all(seeds) or name == "rank1-training-tuning"  # which has them in its code


def test_all_contestants_had_as_many_tries():
    for recipes in (bandit.GRIDS, networks.TRIES, {n: r.tries for n, r in example.RECIPES.items()}):
        assert len({len(tries) for tries in recipes.values()}) == 1
        assert all(len({str(one) for one in tries}) == len(tries) for tries in recipes.values())


def test_no_two_draws_of_data_share_a_start():
    assert len({seed for data in range(5) for seed in example.starts(data, 7)}) == 35


def test_columns_of_tables_agree():
    """What two columns, or two tables, say of one thing."""
    for row in measured.load("pruning")["rows"]:
        assert row["error"][0] == row["by_epoch"][-1]
        assert (row["contestant"] in pruning.PRIORS) == (row["beta"] in pruning.BETAS)
    cnn = measured.load("bayesian-cnn")["rows"]
    for row in cnn:
        assert row["elbo"] == pytest.approx(-row["train_nll"] - row["kl"], rel=2e-3)
    (images,) = measured.load("bayesian-cnn-images")["rows"]
    row = measured.row(cnn, contestant="wide", split=0)
    wrong = np.not_equal(images["digits"]["top"], images["digits"]["label"])
    assert 100 * wrong.mean() == pytest.approx(row["error"], abs=0.5)
    splits = measured.load("digit-networks-splits")["rows"]
    for own in measured.load("digit-networks")["rows"]:
        row = measured.row(splits, method=own["method"], split=0)
        assert row["chosen"] == int(np.argmin(row["validation"]))
        assert own["setting"] == networks.TRIES[own["method"]][row["chosen"]]
        assert {name: own[name] for name in row["test"]} == row["test"]
        _, _, (x, labels) = mc_dropout.split_digits(1200, 0)
        arrays = unpacked(own["method"], own["arrays"])
        found = networks.scores(probabilities(own["method"], arrays, x, 0, own["p"]), labels)
        assert found == pytest.approx(row["test"], rel=1e-3, abs=1e-9)
    x, _, curves = more_from_one_network.drawn()
    assert {own.shape for own in curves.values()} == {(2, 5, len(x))}


@pytest.mark.bad_input
@pytest.mark.parametrize(("name", "kind"), [("start", ValueError), (3, TypeError)])
def test_an_unknown_name_lists_the_known(name, kind):
    assert name not in EXPERIMENTS and len(EXPERIMENTS) == len([*EXPERIMENTS])
    with pytest.raises(kind, match=r"name must be one of 'starts'.*, got "):
        EXPERIMENTS[name]


def test_the_makefile_knows_which_tables_need_more(capsys):
    line = re.search(r"^FOREIGN +:= (.*)$", (ROOT / "Makefile").read_text(), flags=re.M)
    known = line[1].replace("%", ".*").replace(" ", "|")
    assert {name for name in QUESTIONS if re.fullmatch(known, name)} == {*experiments.NEEDS}
    for option, more in (("--there", True), ("--here", False)):
        main([option, "--list"])
        listed = re.findall(r"^([\w/-]+): ", capsys.readouterr().out, flags=re.M)
        assert listed == [name for name in QUESTIONS if (name in experiments.NEEDS) is more]


def test_each_table_answers_a_question_of_its_own():
    words = {" ".join(re.findall(r"\w+", text.lower())) for text in QUESTIONS.values()}
    assert len(words) == len(QUESTIONS)
    for name, question in QUESTIONS.items():
        assert re.fullmatch(r"[A-Z][^.?!]+\?", question)
        comparing = re.search(r"\b(better|best|worse|worst|wins?)\b", question)
        assert bool(comparing) == (name.removeprefix("contest/") in TASKS), name


MADE_UP = [
    {"method": "rank1", "m": 5, "B": 7, "ratio": 1.5},
    {"method": "rank1", "m": 5, "B": 11, "ratio": 1.25},
    {"method": "single", "m": 3, "B": 7, "ratio": 1.0},
]


def test_a_measurement_says_where_it_was_made():
    assert {"starts", "contest/digits"} <= {*measured.names()}
    for name in measured.names():
        assert {"name", "capability", "cores", "versions"} <= measured.load(name)["machine"].keys()


def test_one_row_is_found_by_its_keys():
    assert measured.row(MADE_UP, m=5, B=11) is MADE_UP[1]
    assert measured.row(iter(MADE_UP), method="single") is MADE_UP[2]


@pytest.mark.bad_input
@pytest.mark.parametrize(("call", "kind", "words"), [
    (lambda: measured.load("../starts"), ValueError, "name must be one of|'starts'"),
    (lambda: measured.load(3), TypeError, "name must be one of|got 3 (int)"),
    (lambda: measured.row(MADE_UP, m=5), ValueError, "must fit one row, got m=5, which fits 2"),
    (lambda: measured.row(MADE_UP, n=5), ValueError, "fit a row, got n=5; n is one of None"),
    (lambda: measured.row(MADE_UP, m=5, B=8), ValueError,
     "fit a row, got m=5, B=8; m is one of 5, 3; B is one of 7, 11"),
])  # fmt: skip
def test_what_does_not_exist_is_an_error(call, kind, words):
    check_error(call, kind, words.split("|"))


@pytest.mark.parametrize(
    ("table", "written", "name", "by_hand"),
    [
        ("zoo", zoo, "zoo", (
            "| deep ensemble | BatchEnsemble, rank-1 BNN, mean-field BNN | MC dropout |",
            '| LeViT (timm): `shared=["*.attention_biases"]` | ✓ | ✓ˢ | ¹ | ✓ |',
        )),
        ("speed", speed, "speed-cpu", (
            "| BatchEnsemble, width 256, 32 examples | 1.20 | 1.12 | 1.54 | – | – |",
            "| mean-field BNN, width 256, 32 examples | 6.20 | – | 13.66 | 5.70 | 8.06 |",
        )),
        ("whole", whole, "whole-models", ()),
        ("starts", starts, "starts", ()),
    ],
)  # fmt: skip
def test_the_tables_of_pages_are_what_was_measured(table, written, name, by_hand):
    words = on_page(table)
    assert words == written(measured.load(name))
    assert all(line in words for line in by_hand)


def test_what_a_page_says_below_its_table_of_memory():
    found = measured.load("whole-models")["contestants"]
    peaks = {name: one["peak_bytes"] for name, one in found.items()}
    assert peaks["batch_ensemble"] > peaks["deep_ensemble"] > 3 * peaks["one network"]
    assert peaks["batch_ensemble, a part each"] < peaks["4 networks in turn"]
