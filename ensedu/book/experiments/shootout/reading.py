"""What pages show of the shoot-out's tables, which are read when they are asked for."""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.book import measured
from ensedu.book.experiments.shootout import (
    AUROC,
    CONTESTANTS,
    REFERENCE,
    SCALED,
    SCORES,
    SHARPENED,
    TASKS,
    with_scaled,
)
from ensedu.common import checks

__all__ = [
    "COLORS",
    "LABELS",
    "NAMES",
    "difference",
    "mean_scores",
    "relative_size",
    "scores_by_setting",
    "scores_by_shift",
    "tradeoff_points",
]

#: All contestants in the order of tables, what is scaled behind what it scales.
NAMES = tuple(
    each
    for name in CONTESTANTS
    for each in ((name, f"{name}_{SCALED}") if name in SHARPENED else (name,))
)
#: How pages call them, and the methods whose color they have.
LABELS = {
    name: (
        f"{CONTESTANTS[name.removesuffix(f'_{SCALED}')].label}, scaled"
        if name.endswith(SCALED)
        else CONTESTANTS[name].label
    )
    for name in NAMES
}
COLORS = {LABELS[name]: CONTESTANTS[name.removesuffix(f"_{SCALED}")].method for name in NAMES}
#: The same in few letters, where the figure has room for no more.
SHORT = {
    "single_scaled": "scaled",
    "wide": "larger",
    "wide_scaled": "larger, scaled",
    "mean_field": "mean-field",
    "mc_dropout": "dropout",
    "last_layer": "last layer",
    "laplace": "Laplace",
    "ivon": "IVON",
    "swag": "SWAG",
}
#: Those that are one curve over widths, and what its points are called.
CURVES = {
    "deep_ensemble": {"deep_ensemble_half": "½", "deep_ensemble": ""},
    "batch_ensemble": {
        "batch_ensemble_half": "½", "batch_ensemble": "", "batch_ensemble_double": "2×",
    },
    "rank1": {"rank1_half": "½", "rank1": "", "rank1_double": "2×"},
}  # fmt: skip


@functools.cache
def _rows(data: str) -> tuple[dict[str, Any], ...]:
    table = measured.load(f"shootout-{checks.one_of('data', data, TASKS)}")
    return tuple(with_scaled(table["rows"]))


@functools.cache
def _summary(data: str) -> dict[tuple[str, str, str], dict[str, Any]]:
    found = measured.load(f"shootout-{checks.one_of('data', data, TASKS)}")["summary"]
    return {(one["contestant"], one["than"], one["score"]): one for one in found}


def mean_scores(data: str) -> dict[str, dict[str, float]]:
    """Return the scores of each contestant, means over splits and starts.

    Beside them are ``kept``, the numbers that a forecast needs, ``train_seconds`` and
    ``predict_seconds``, medians over splits, and ``train`` and ``predict``, the same in multiples
    of one network's, the median of paired ratios.
    """
    rows = _rows(data)
    by = {(row["contestant"], row["split"]): row for row in rows}
    names = [name for name in NAMES if (name, 0) in by]
    splits = sorted({row["split"] for row in rows})
    found = {}
    for name in names:
        own = [by[name, split] for split in splits]
        one = [by[REFERENCE, split] for split in splits]
        found[name] = {
            score: float(np.mean([row[score] for row in own]))
            for score in (*SCORES[TASKS[data].classes], AUROC)
        } | {"kept": own[0]["kept"], "parameters": own[0]["parameters"]}
        for key in ("train", "predict"):
            seconds = f"{key}_seconds"
            ratios = [a[seconds] / b[seconds] for a, b in zip(own, one, strict=True)]
            found[name][key] = float(np.median(ratios))
            found[name][seconds] = float(np.median([row[seconds] for row in own]))
    return found


def difference(
    data: str, contestant: str, score: str = "nll", than: str = REFERENCE
) -> Mapping[str, Any]:
    """Return how a contestant differs from another: an entry of the table's summary."""
    return _summary(data)[contestant, than, score]


def relative_size(data: str, contestant: str) -> float:
    """Return the numbers that a contestant keeps, in multiples of one network's."""
    found = mean_scores(data)
    return found[contestant]["kept"] / found[REFERENCE]["kept"]


def tradeoff_points(data: str) -> tuple[dict[str, list[Any]], dict[str, list[str]], dict[str, str]]:
    """Return what `ensedu.plot.tradeoff` draws of a task: points, those resolved, and colors.

    The NLL is that above one network's, and sizes are numbers kept, in multiples of its own.
    """
    inside = [name for name in NAMES if name in mean_scores(data) and name != REFERENCE]
    found: dict[str, list[Any]] = {}
    sure: dict[str, list[str]] = {}
    colors: dict[str, str] = {}
    for name in inside:
        curve = next((key for key, own in CURVES.items() if name in own), "")
        key, words = (curve, CURVES[curve][name]) if curve else (SHORT[name], "")
        one = difference(data, name)
        interval = (one["low"], one["difference"], one["high"])
        found.setdefault(key, []).append((words, relative_size(data, name), interval))
        sure.setdefault(key, []).extend([words] * bool(one["verdict"]))
        if not curve:
            colors[key] = COLORS[LABELS[name]]
    return found, sure, colors


def scores_by_shift(data: str, contestant: str, key: str) -> list[float]:
    """Return a score at each strength of a shift, such as ``"noise nll"``, means over splits."""
    own = [row["shifted"][key] for row in _rows(data) if row["contestant"] == contestant]
    return np.mean(own, axis=0).tolist()


def scores_by_setting(
    data: str, contestant: str, score: str, epochs: int | None = None
) -> Float[Array, "settings splits"]:
    """Return a score of each of a contestant's settings on each split.

    After so many epochs, the task's own by default.
    """
    epochs = TASKS[data].epochs if epochs is None else epochs
    found: dict[int, list[float]] = {}
    for row in measured.load("shootout-settings")["rows"]:
        if (row["data"], row["contestant"], row["epochs"]) == (data, contestant, epochs):
            found.setdefault(row["number"], []).append(row[score])
    return np.array(list(found.values()))
