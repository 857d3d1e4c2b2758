"""Laws of all experiments: a table is that of its experiment, and a row trained again is its row.

A row is trained whole where that takes a second or two, or in the shorter form that its experiment
offers: fewer starts or splits, or fewer epochs where scores were taken on the way. Its lists are
then the first of the table's. How near it must come is what other processors leave of it.
"""

import datetime
import importlib
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from ensedu.book import experiments, measured
from ensedu.book.experiments import (
    EXPERIMENTS,
    LOCATIONS,
    bandits,
    dropout,
    lifelong,
    one_run,
    pruning,
    training_batch_ensemble,
    training_rank1,
    width,
)
from ensedu.book.experiments import digit_networks as networks
from ensedu.book.experiments import disentangling as parts
from ensedu.book.experiments import running_example as example
from ensedu.book.experiments.contest.tasks import TASKS
from ensedu.book.experiments.questions import QUESTIONS
from ensedu.running import json_files
from ensedu.running.runner import LONGEST

ROOT = Path(__file__).parents[3]


class Again(NamedTuple):
    """A row to train again: of which case, with what shorter, and how near the table's it is."""

    table: str
    case: dict[str, Any]
    #: In place of the table's settings, and of constants of the module.
    shorter: dict[str, Any] = {}
    constants: dict[str, Any] = {}
    rel: float = 1e-3
    abs: float = 1e-9
    #: What the shorter form leaves as it is; by default all that it returns.
    only: tuple[str, ...] = ()


DIGITS = training_batch_ensemble.BUDGETS["digits"]
SPLIT = {"task": "digits", "method": "batch_ensemble", "width": 16}
LOOKS = {"test": 500, "noise": 2, "seen": 2, "seen_draws": 1, "draws": 1, "samples": [1]}
AGAIN = [
    Again(
        "starts", {"network": 1, "method": "batch_ensemble", "options": {"init": "normal",
        "init_std": 0.5}, "seed": 1}, rel=0.05, abs=0.01,
    ),
    Again("running-example-tuning", {"contestant": "single", "setting": {"lr": 0.016},
        "data_seed": 1001}, rel=0.02),
    Again(
        "running-example", {"contestant": "deep_ensemble", "data_seed": 1}, {"seeds": 1}, rel=2e-3,
        abs=2e-3, only=("parameters",),
    ),
    Again("running-example", {"contestant": "mc_dropout", "data_seed": 0}, {"seeds": 1}, rel=2e-3, abs=2e-3),
    Again("running-example-curves", {"contestant": "mc_dropout"}, rel=0.01, abs=5e-3),
    Again(
        "mc-dropout", {"train": 400, "split": 1}, {"decays": [0.0], "rates": [0.05]}, rel=0.02,
        abs=2e-3,
    ),
    Again("mc-dropout-curve", {"method": "mc_dropout", "p": 0.2, "number": 60, "data_seed": 101}, rel=0.02),
    Again("table-one", {"data": "boston", "contestant": "single_beta", "split": 4}, rel=0.01),
    Again("table-one", {"data": "boston", "contestant": "deep_ensemble_adversarial", "split": 2}, rel=0.01),
    Again("one-run", {"schedule": "falls", "split": 1}, {"seeds": 1}, rel=0.01),
    Again("one-run-curves", {"schedule": "restarts", "data_seed": 2}, rel=0.02),
    Again("variance-head", {"beta": 1.0, "data_seed": 103}, rel=0.05),
    Again("batch-ensemble-training-tuning", {"contestant": "single", "lr": 0.01, "split": 1001}, rel=0.02),
    Again(
        "batch-ensemble-training", {"data": "digits", "contestant": "sgd_fast", "split": 1},
        {"budgets": {"digits": DIGITS | {"epochs": [1, 2]}}}, rel=0.05, only=("parameters", "curves"),
    ),
    Again("lifelong-tuning", {"contestant": "head", "lr": 0.03, "split": 1001}, abs=0.01),
    Again("lifelong", {"contestant": "own", "split": 0}, {"starts": 1}, abs=0.02),
    Again("disentangling-tuning", {"number": 30, "sigma": 0.2, "steps": 300, "data_seed": 1001}, rel=0.02),
    Again("disentangling", {"number": 30, "sigma": 0.1, "data_seed": 1}, rel=0.05),
    Again("bandit", {"agent": "random", "seed": 2}),
    Again("rank1-training-tuning", {"contestant": "normal", "lr": 0.03}, {"splits": 1}, rel=0.05),
    Again(
        "rank1-training", {"contestant": "no_kl"}, {"splits": 1, "starts": 1}, rel=0.05,
        only=("accuracy", "nll", "member_nll", "draw_nll", "point_nll", "prior_nll", "far", "kl"),
    ),
    Again("rank1-gradients", {"split": 1}, {"sizes": [1]}, rel=0.3),
    Again("pruning-tuning", {"contestant": "single", "lr": 0.003}, {"epochs": 1}, rel=0.02, abs=0.5,
        only=("by_epoch", "train_nll")),
    Again("pruning", {"contestant": "narrow", "beta": 0.1, "split": 3}, {"epochs": 1}, rel=0.02, abs=0.5,
        only=("by_epoch", "train_nll", "kl")),
    Again("nuts-distances", {"contestant": "deep_ensemble", "data_seed": 1}, rel=0.05),
    Again("bayes-noise", {"seed": 1}, {"sizes": [1]}, rel=5e-3, only=("weights",)),
    Again(
        "bayesian-cnn", {"contestant": "half", "split": 1}, LOOKS | {"epochs": 3}, rel=0.05, abs=1.0,
        only=("by_epoch",),
    ),
    Again("bayesian-cnn", {"contestant": "narrow", "split": 2}, LOOKS | {"epochs": 0}, only=("by_epoch",)),
    Again("bayesian-cnn-images", {"split": 0}, {"epochs": 0, "draws": 1, "shown": 0}),
    Again("gradient-flow", {"width": 64, "seed": 3}),
    Again("kernel-width", {"activation": "tanh", "modulation": "last"}, {"widths": [32, 256, 257], "resamples": 10}),
    Again("output-width", {"width": 2, "mean": 0.0}, rel=1e-3, abs=1e-3),
    Again("embedded-training", {"mean": 0.5, "gamma": 1.0, "width": 32, "seed": 3}),
    Again("embedded-spread", {"mean": 0.5, "seed": 3}, rel=0.01),
    Again("perturbed-network", {"number": 0}, abs=1e-3),
    Again("width-tuning", SPLIT | {"split": 101, "lr": 0.06}, constants={"MEMBERS": (1,)}, rel=0.05),
    Again("width", SPLIT | {"split": 1}, constants={"MEMBERS": (1, 2)}, rel=0.2),
    Again("digit-splits", {"method": "single", "split": 0}, rel=0.05, abs=0.02),
]  # fmt: skip


def agree(found: Any, row: Any, again: Again, where: str) -> None:
    """Check that what is found is the row's, whose lists may be longer."""
    if isinstance(found, dict):
        for name, value in found.items():
            agree(value, row[name], again, f"{where} {name}")
    elif isinstance(found, list):
        assert len(found) <= len(row), where
        for i, value in enumerate(found):
            agree(value, row[i], again, f"{where} {i}")
    elif isinstance(found, float):
        assert found == pytest.approx(row, rel=again.rel, abs=again.abs), where
    else:
        assert found == row, where


@pytest.mark.parametrize("again", AGAIN, ids=lambda again: again.table)
def test_a_row_trained_again_is_the_tables(again, monkeypatch):
    one, table = EXPERIMENTS[again.table], measured.load(again.table)
    (i,) = (i for i, case in enumerate(one.cases) if case | again.case == case)
    module = importlib.import_module(one.run.__module__)
    for name, value in again.constants.items():
        monkeypatch.setattr(module, name, value)
    found = one.run(**one.cases[i], **one.settings | again.shorter)
    assert found.keys() == table["rows"][i].keys() - one.cases[i].keys()
    found = json.loads(json.dumps(found))
    agree({name: found[name] for name in again.only or found}, table["rows"][i], again, again.table)
