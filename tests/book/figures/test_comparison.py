"""What *Which ensemble holds how much?* draws is what it counts or cites, and so are its words."""

import itertools

import numpy as np
import pytest

from ensedu import counting, plot
from ensedu.book.figures import comparison
from ensedu.book.figures.comparison import Depths, Kernels, Totals
from ensedu.methods import METHODS, size_option
from ensedu.plot.style import rendering
from tests.plot.looks import LIGHT, drawn, limits, texts

M, OUTS, DEPTHS = 4, [2, 4, 64], [1, 2, 9]


def layer(method, m, n, side):
    return counting.layer(m, n, method, **size_option(method, M), kernel_size=side).total


def network(method, width, depth):
    return counting.mlp([1, *[width] * depth, 1], method, **size_option(method, M)).total


KERNELS = Kernels(
    OUTS,
    {
        (m, side): {name: [layer(name, m, n, side) for n in OUTS] for name in comparison.SHARING}
        for m in (1, 16)
        for side in (1, 5)
    },
    M,
)
DEPTH = Depths(
    DEPTHS,
    {
        width: {name: [network(name, width, d) for d in DEPTHS] for name in comparison.SHARING}
        for width in (50, 500)
    },
    M,
)
TOTALS = Totals()


@pytest.mark.parametrize("shown", [KERNELS, DEPTH])
def test_curves_are_multiples_of_one_network_on_axes_that_stay(shown):
    cases = [*itertools.product(*shown.choices.values())]
    figures = [drawn(lambda case=case: shown.draw(*case), LIGHT[0]) for case in cases]
    assert all(limits(figure) == limits(figures[0]) for figure in figures)
    for case, figure in zip(cases, figures, strict=True):
        (axes,) = figure.axes
        counts = shown.counts[case if len(case) > 1 else case[0]]
        curves = [line.get_ydata() for line in axes.lines]
        for name in comparison.SHARING[1:]:
            wanted = np.array(counts[name]) / counts["single"]
            assert any(len(y) == 3 and np.allclose(y, wanted) for y in curves), (case, name)
            assert wanted.max() <= axes.get_ylim()[1]
        words = " ".join(" ".join(text.get_text() for text in texts(figure)).split())
        assert "numbers of 4 members" in words


@pytest.mark.parametrize(("m", "side"), KERNELS.counts)
def test_sharing_saves_from_where_it_says(m, side):
    """The first number of output channels, by counting."""
    words = KERNELS.say(m, side).partition("deep ensemble: ")[2]
    for part, name in zip(words.rstrip(".").split(", "), ("batch_ensemble", "rank1"), strict=True):
        saving = [n for n in range(1, 200) if layer(name, m, n, side)
                  < layer("deep_ensemble", m, n, side)]  # fmt: skip
        said = f"from {saving[0]} output channels on" if saving else "never"
        said = "always" if saving[:1] == [1] else said
        assert part == f"{METHODS[name].label} {said}"


def test_depths_say_where_copies_and_sharing_end():
    assert DEPTH.say(50) == (
        "With nine hidden layers of 50, a deep ensemble holds 4.00 times one network's numbers, a "
        "BatchEnsemble 1.24 times."
    )


def test_totals_are_those_of_the_network():
    assert {name: count.total for name, count in TOTALS.of(**TOTALS.start).items()} == {
        "single": 2701, "deep_ensemble": 10_804, "batch_ensemble": 3812, "rank1": 4620,
        "mean_field": 5402,
    }  # fmt: skip
    assert TOTALS.say(**TOTALS.start) == (
        "A deep ensemble of 4 holds 4.00 times as many numbers as one network, a BatchEnsemble "
        "1.41 times."
    )
    assert all(TOTALS.start[name] in values for name, values in TOTALS.choices.items())


def test_bars_are_readable_and_up_to_so_much_longer_as_is_said():
    longest = {}
    for case in itertools.product(*TOTALS.choices.values()):
        counts = TOTALS.of(*case)
        longest[case] = max(count.total for count in counts.values()) / counts["single"].total
    worst = max(longest, key=longest.get)
    assert f"up to {longest[worst]:.0f} times" in comparison.RESCALED
    with rendering(LIGHT[0]):
        assert TOTALS.draw(*worst).axes[1].get_xlim()[1] == pytest.approx(longest[worst])


def test_published_rows_have_numbers_under_their_titles():
    rows = comparison.cifar()
    assert len(rows) == 19
    assert rows["Hyper-BatchEnsemble"]["c-NLL"] is None
    for row in rows.values():
        assert [*row] == [*comparison.TITLES]
        for title, value in row.items():
            low, high = (40, 90) if "accuracy" in title else (0, 150)
            assert value is None or low < value < high
        assert row["passes"] == int(row["passes"])


def test_the_best_of_each_column_is_bold():
    table = comparison.cifar_table()
    for place, title in enumerate(comparison.SHOWN):
        bold = {row.title for row in table.rows if row.cells[place].decisive}
        assert bold == ({comparison.best(title)} if place > 1 else set())
    assert comparison.best("NLL") == "MC dropout, improved"
    assert comparison.best("accuracy") == "hyper-deep ensemble"
    assert {row.title: row.method for row in table.rows}["variational inference"] == "mean_field"
    assert set(plot.LABELS) >= {row.method for row in table.rows if row.method}
