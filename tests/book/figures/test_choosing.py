"""The table of gains and prices says what it is given, and the figure draws it."""

import numpy as np
import pytest

from ensedu.book.figures import choosing
from ensedu.contest.statistics import Pooled
from ensedu.plot.style import LOOKS, rendering
from tests.plot.looks import readable


def pooled(low, high, word):
    return Pooled(
        middle=(low + high) / 2, low=low, high=high, sources={}, tasks=(), p=0.01, adjusted=0.03,
        word=word,
    )  # fmt: skip


def price(kept, train, predict, passes):
    return {
        "kept": kept,
        "train_seconds": train,
        "predict_seconds": predict,
        "passes": passes,
    }


BESIDE = {
    "rank1": pooled(-1.255, -0.004, "better"), "single_scaled": pooled(-0.2, 0.1, "unclear"),
    "linear": pooled(0.5, 1.5, "worse"),
}  # fmt: skip
PRICES = {
    "single": price(1.0, 1.0, 1.0, 1), "single_scaled": price(1.0, 1.0, 1.0, 1),
    "rank1": price(1.484, 3.73, 5.71, 32), "linear": price(0.01, 0.02, 0.19, None),
}  # fmt: skip


def test_a_row_has_the_contests_word_and_what_it_costs():
    found = choosing.table(BESIDE, PRICES)
    assert [column.title for column in found.columns] == [
        "NLL", "parameters", "training", "prediction", "passes",
    ]  # fmt: skip
    assert {row.title: [cell.text for cell in row.cells] for row in found.rows} == {
        "one network": ["–", "1.00", "1.00", "1.0", "1"],
        "temperature alone": ["unclear", "1.00", "1.00", "1.0", "1"],
        "rank-1 BNN": ["better", "1.48", "3.73", "5.7", "32"],
        "linear model": ["worse", "0.01", "0.02", "0.2", "–"],
    }
    asides = [row.cells[0].aside for row in found.rows]
    assert asides == ["", "[−0.20, 0.10]", "[−1.25, 0.00]", "[0.50, 1.50]"]
    assert [row.cells[0].decisive for row in found.rows] == [False, False, True, False]
    assert [row.method for row in found.rows] == ["single", "", "rank1", ""]


def test_it_may_stand_beside_another():
    rows = {"single": pooled(-0.1, 0.2, "unclear")} | BESIDE
    del rows["single_scaled"]
    first, second, *_ = choosing.table(rows, PRICES).rows
    assert (first.cells[0].text, second.cells[0].text) == ("unclear", "–")


@pytest.mark.parametrize("look", LOOKS)
def test_what_is_drawn(look):
    with rendering(look):
        ends = choosing.draw_ends([0.0, 0.5], np.array([0.9, 0.65]), np.linspace(0.98, 0.8, 5))
    assert list(ends.axes[0].lines[0].get_ydata()) == [90, 65]
    assert [t.get_text() for axes in ends.axes for t in axes.texts] == ["promised: 90%"] * 2
    assert {axes.lines[-1].get_ls() for axes in ends.axes} == {":"}


def test_what_is_said_and_that_it_can_be_read():
    inside = np.array([0.9, 0.654]), np.linspace(0.98, 0.8, 5)
    said = choosing.say_ends(*inside)
    assert "65% of the rows" in said and "80% of the strongest" in said
    readable(lambda: choosing.draw_ends([0.0, 0.5], *inside))
