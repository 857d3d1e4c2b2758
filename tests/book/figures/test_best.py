"""What *Which one is best?* draws is what it is given, and each sentence says one thing of it."""

import numpy as np
from scipy import stats

from ensedu import plot
from ensedu.book.experiments.contest import reading
from ensedu.book.figures import best
from ensedu.book.page.frames import ranges
from ensedu.book.page.said import too_much
from ensedu.contest.contestants import CONTESTANTS
from ensedu.contest.statistics import Pooled
from ensedu.uncertainty import Interval, holm
from tests.plot.looks import LIGHT, drawn, readable, texts

LONG = "one network, with a temperature"


def effect(mean, word, method=None):
    return plot.PooledEffect(
        (mean - 0.1, mean, mean + 0.2), [mean - 0.3, mean + 0.3], word, method
    )  # fmt: skip


def rows(*words):
    """Contestants with these words, the best last."""
    return {f"rival with number {i}": effect(1.9 - 0.76 * i, word) for i, word in enumerate(words)}


def said(figure):
    return {text.get_text() for text in texts(figure)}


FOREST = best.Forest(
    {
        "without": rows("unclear", "worse", "better", "better by little"),
        "with": rows(*["better"] * 4),
    }
)


def test_a_forest_offers_its_choices_on_one_axis():
    assert FOREST.choices == {"temperature": ["without", "with"]}
    for look in LIGHT:
        figures = [
            drawn(lambda choice=choice: FOREST.draw(choice), look)
            for choice in FOREST.choices["temperature"]
        ]
        one, other = map(ranges, figures)
        assert one == other
        one, other = (figure.get_size_inches().tolist() for figure in figures)
        assert one == other
    assert {"one network", "rival with number 3"} <= said(FOREST.draw("with"))
    readable(lambda: FOREST.draw("with"))


def test_a_forest_says_who_is_better():
    assert FOREST.say("without") == (
        "Without one, better than one network: rival with number 3, rival with number 2."
    )
    assert FOREST.say("with") == (
        "With a temperature for all, 4 of 4 are better than one network; rival with number 3 leads."
    )
    nobody = best.Forest({"without": rows("unclear", "worse", "practically equal")})
    assert nobody.say("without") == "Without one, nobody is better than one network for sure."


def test_luck_shows_each_comparison_and_a_gain_beside_a_unit():
    differences = np.array([[-0.3, 0.1, -0.2], [-0.1, -0.2, 0.1]])
    shown = best.Luck("rank1", differences, 0.3, "loans")
    for look in LIGHT:
        (axes,) = drawn(shown.draw, look).axes
        *dots, gain, unit, _ = axes.lines
        for y, (line, own) in enumerate(zip(dots, differences, strict=True)):
            assert line.get_xdata().tolist() == own.tolist()
            assert np.abs(line.get_ydata() - y).max() < 0.5
        np.testing.assert_allclose(gain.get_xdata(), [-0.1, 0])
        np.testing.assert_allclose(unit.get_xdata(), [-0.3, 0])
        assert [words.get_text() for words in axes.get_yticklabels()] == [
            "split 1", "split 2", "gain: 0.10", "1 unit: 0.30"
        ]  # fmt: skip
    assert shown.say() == "On loans the rank-1 BNN wins 67% of all comparisons."
    readable(shown.draw)


def test_the_longest_sentences_say_one_thing():
    names = [reading.label(name) for name in (*CONTESTANTS, reading.SCALED)]
    names.sort(key=lambda name: -len(best.brief(name).split()))
    for number in (2, 3, 4):
        longest = {name: effect(i, "better by little") for i, name in enumerate(names[:number])}
        for choice in ("without", "with"):
            assert not too_much(best.Forest({choice: longest}).say(choice))
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


def test_ways_show_each_word_and_what_other_tests_say():
    rng = np.random.default_rng(0)

    def one(shift, adjusted):
        d = dict(enumerate(rng.normal(shift, 1, 11)))
        return Pooled(
            middle=0.0, low=-1.0, high=1.0, sources=d, tasks=(), p=0.1, adjusted=adjusted,
            word="better" if adjusted < 0.05 else "unclear",
        )  # fmt: skip

    usual = {"rank1": one(-1, 0.012), "wide": one(0, 0.5)}
    found = best.ways({"usual": usual, "other": {"rank1": one(0, 1.0)}}, ["rank1"])
    t, w = (
        holm([test([*each.sources.values()]).pvalue for each in usual.values()])[0]
        for test in (lambda d: stats.ttest_1samp(d, 0), stats.wilcoxon)
    )
    assert found == {
        "usual": {"rank1": ("0.012", "better")}, "other": {"rank1": ("1.000", "unclear")},
        "t-tests, Holm": {"rank1": (f"{t:.3f}", "")},
        "Wilcoxon's, Holm": {"rank1": (f"{w:.3f}", "")},
    }  # fmt: skip
