"""What *Is one run enough?* draws is what the table says."""

from ensedu import plot
from ensedu.book.figures.one_run import FIVE, Differences
from ensedu.book.page.said import too_much
from ensedu.plot.style import PAGE
from tests.plot.looks import LIGHT, drawn, readable


def entry(difference, verdict=""):
    return {
        "difference": difference, "low": difference - 0.1, "high": difference + 0.2,
        "verdict": verdict,
    }  # fmt: skip


SHOWN = Differences(
    {
        "RMSE": {"last five epochs": entry(-0.18, "better"), FIVE: entry(0.14)},
        "NLL": {"last five epochs": entry(-0.08), FIVE: entry(-0.3, "better")},
    }
)


def test_each_mark_is_a_difference_full_where_it_has_a_verdict():
    readable(SHOWN.draw)
    for look in LIGHT:
        figure = drawn(SHOWN.draw, look)
        for axes, rows in zip(figure.axes, SHOWN.entries.values(), strict=True):
            marks = [line for line in axes.lines if line.get_marker() != "None"]
            assert [line.get_xdata()[0] for line in marks] == [
                e["difference"] for e in rows.values()
            ]
            assert [line.get_mfc() == PAGE for line in marks] == [
                not e["verdict"] for e in rows.values()
            ]
            ends = [[*line.get_xdata()] for line in axes.lines if len(line.get_xdata()) == 2]
            assert all([e["low"], e["high"]] in ends for e in rows.values())
            assert [line.get_color() for line in marks] == [
                plot.PALETTE["single"], plot.PALETTE["deep_ensemble"],
            ]  # fmt: skip


def test_it_says_which_way_one_run_and_five_networks_go():
    assert SHOWN.say() == (
        "RMSE: last five epochs come out 0.18 lower than one network, a deep ensemble 0.14 higher."
    )
    assert not too_much(SHOWN.say())
