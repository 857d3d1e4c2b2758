"""What *Which one is best?* draws is what it is given, and each sentence says one thing of it."""

import numpy as np
import pytest

from ensedu import plot
from ensedu.book.experiments.contest import reading
from ensedu.book.figures import best
from ensedu.book.page.frames import ranges
from ensedu.book.page.said import too_much
from ensedu.contest.contestants import CONTESTANTS
from ensedu.contest.sensitivity import Sensitivity
from ensedu.uncertainty import Interval
from tests.plot.looks import LIGHT, drawn, readable, texts

LONG, SHORT = "one network, with a temperature", "one network + temperature"


def effect(mean, word, method=None):
    return plot.PooledEffect(
        (mean - 0.1, mean, mean + 0.2), (mean - 0.7, mean + 0.8), [mean - 0.3, mean + 0.3], word,
        method,
    )  # fmt: skip


def rows(*words):
    """Contestants with these words, the best last."""
    return {f"rival with number {i}": effect(1.9 - 0.76 * i, word) for i, word in enumerate(words)}


def said(figure):
    return {text.get_text() for text in texts(figure)}


FOREST = best.Forest(
    {
        "one network": rows("unclear", "worse", "better", "better by little"),
        LONG: rows(*["better"] * 4),
    }
)


def test_a_forest_offers_its_choices_on_one_axis():
    assert FOREST.choices == {"beside": ["one network", SHORT]}
    for look in LIGHT:
        one, other = (
            ranges(drawn(lambda beside=beside: FOREST.draw(beside), look))
            for beside in FOREST.choices["beside"]
        )
        assert one == other
    assert {SHORT, "rival with number 3"} <= said(FOREST.draw(SHORT))
    readable(lambda: FOREST.draw(SHORT))


def test_a_forest_says_who_is_better():
    assert FOREST.say("one network") == (
        "On average, better than one network: rival with number 3, rival with number 2."
    )
    assert FOREST.say(SHORT) == (
        "On average, 4 of 4 are better than one with a temperature; rival with number 3 leads."
    )
    nobody = best.Forest({"one network": rows("unclear", "worse", "practically equal")})
    assert nobody.say("one network") == "On average, nobody is better than one network for sure."


def test_luck_shows_each_score_and_a_gain_beside_a_unit():
    scores = {
        "single": np.array([[1.0, 1.2], [1.5, 1.9]]), "rank1": np.array([[0.9, 1.1], [1.3, 1.7]])
    }  # fmt: skip
    shown = best.Luck(scores, 0.3, "loans")
    for look in LIGHT:
        (axes,) = drawn(shown.draw, look).axes
        *dots, gain, unit = axes.lines
        for line, own in zip(dots, scores.values(), strict=True):
            assert sorted(line.get_xdata()) == sorted(own.ravel())
        np.testing.assert_allclose(gain.get_xdata(), [1.25, 1.4])
        np.testing.assert_allclose(unit.get_xdata(), [1.1, 1.4])
        assert [words.get_text() for words in axes.get_yticklabels()] == [
            "one network", "rank-1 BNN", "gain: 0.15", "1 unit: 0.30"
        ]  # fmt: skip
    assert shown.say() == "On loans the rank-1 BNN gains 0.5 units."
    readable(shown.draw)


def test_the_longest_sentences_say_one_thing():
    names = [reading.label(name) for name in (*CONTESTANTS, reading.SCALED)]
    names.sort(key=lambda name: -len(best.brief(name).split()))
    for number in (2, 3, 4):
        longest = {name: effect(i, "better by little") for i, name in enumerate(names[:number])}
        for name, beside in ((LONG, SHORT), ("one network", "one network")):
            assert not too_much(best.Forest({name: longest}).say(beside))
    for name in names[1:]:
        others = {name: effect(0, "better"), names[0]: effect(-1, "better")}
        for data in ("telephone customers", "MNIST-5000, LeNet-5"):
            values = {other: float(other != name) for other in others}
            assert not too_much(best.Dots(others, {data: values}).say(data))


def test_a_data_set_is_one_dot_a_row():
    effects = {"a": effect(-0.5, "better", "rank1"), LONG: effect(0.4, "unclear", "single")}
    dots = best.Dots(effects, {"tumors": {"a": -1.5, LONG: 0.25}, "loans": {"a": -3.1, LONG: -4.0}})
    for data, wanted in (("tumors", {-1.5, 0.25}), ("loans", set())):
        (axes,) = drawn(lambda data=data: dots.draw(data), plot.style.Look()).axes
        lines = [line for line in axes.lines if line.get_label().endswith(", sources")]
        assert {float(x) for line in lines for x in line.get_xdata()} == wanted
    assert dots.say("tumors") == "Of these 2, a has the lowest NLL on tumors."
    # Beyond three units, too, the lower one is named.
    assert dots.say("loans") == "Of these 2, temperature alone has the lowest NLL on loans."
    readable(lambda: dots.draw("loans"))


def test_a_table_of_one_data_set_has_means_and_differences_and_no_word():
    far = Interval(-0.2, -0.5, 0.1, 5, 0.1)
    scores = {"rmse": (7.0, far), "auroc": (0.6, None)}
    found = best.table(
        {
            "single": {"nll": (0.5, None), **scores}, "rank1": {"nll": (0.25, far), **scores},
            "single_scaled": {"nll": (0.3, far), **scores},
        },
        "MNIST-5000, MLP",
    )  # fmt: skip
    assert [column.title for column in found.columns] == [
        "NLL, nats", best.DIFFERENCE, "RMSE",
    ]  # fmt: skip
    assert [(row.title, row.method) for row in found.rows] == [
        ("one network", "single"), ("rank-1 BNN", "rank1"), ("temperature alone", ""),
    ]  # fmt: skip
    cells = [[(cell.text, cell.aside) for cell in row.cells[:2]] for row in found.rows]
    between = ("−0.200", "[−0.500, 0.100]")
    assert cells == [
        [("0.500", ""), ("–", "")], [("0.250", ""), between], [("0.300", ""), between],
    ]  # fmt: skip
    assert found.caption.startswith("MNIST-5000, MLP: means")


def test_ways_show_the_data_set_that_helped_most():
    def at(mean):
        return Interval(mean, mean - 1, mean + 1, 5, 0.1)

    found = Sensitivity(
        random_effects=at(-0.4), between=0.1,
        without={"x": at(-0.5), "y": at(-0.2), "z": at(-0.3)},
        means=(-0.5, -0.2), p_values=(0.1, 0.2), alone={"mlps": at(-0.7), "new": at(-0.6)},
    )  # fmt: skip
    assert best.ways({"a": at(-0.45)}, {"a": found}) == {
        "as above": {"a": (-1.45, -0.45, 0.55)},
        "without LeNet-5": {"a": (-1.7, -0.7, pytest.approx(0.3))},
        "data sets new to this book": {"a": (-1.6, -0.6, 0.4)},
        "without its best data set": {"a": (-1.2, -0.2, 0.8)},
        "random effects": {"a": (-1.4, -0.4, 0.6)},
    }
