"""What *Training deep ensembles* draws is what it is given, and each sentence says one thing."""

import numpy as np
import pytest

from ensedu import plot
from ensedu.book.figures.deep_ensembles import BySize, Members, Own
from ensedu.book.page.said import too_much
from ensedu.plot.style import INK, LOOKS
from tests.plot.looks import LIGHT, drawn, readable

SIZES = np.arange(1, 11)


def falling(high, low):
    """A score that falls like 1/M, its line a little below it."""
    mean = low + (high - low) / SIZES
    return BySize(mean, mean - 0.002 * (high - low))


MEMBERS = Members(
    {
        "concrete": {"RMSE": falling(6.02, 5.78), "NLL": falling(3.1, 2.99)},
        "Boston": {"RMSE": falling(3.24, 3.11), "NLL": falling(2.9, 2.4)},
    }
)
MEAN = np.array([7.0, 3.0, 5.0, 11.0])
OWN = Own("strength", MEAN - 2.5, MEAN, MEAN + 1.5, MEAN + np.array([1, -2, 2, -3]))


@pytest.mark.parametrize("data", MEMBERS.choices["data"])
def test_members_are_dots_on_their_line(data):
    assert MEMBERS.choices == {"data": ["concrete", "Boston"]}
    readable(lambda: MEMBERS.draw(data))
    for look in LOOKS:
        figure = drawn(lambda: MEMBERS.draw(data), look)
        for axes, (title, own) in zip(figure.axes, MEMBERS.scores[data].items(), strict=True):
            assert axes.get_title(loc="left") == title
            line, dots, one = axes.lines
            np.testing.assert_array_equal(line.get_xydata(), np.stack([SIZES, own.law], axis=1))
            np.testing.assert_array_equal(dots.get_xydata(), np.stack([SIZES, own.mean], axis=1))
            assert one.get_xydata().tolist() == [[1, own.mean[0]]]
            assert one.get_color() == plot.PALETTE["single"]
            low, high = axes.get_ylim()
            assert low < own.law.min() < own.mean[0] < high


@pytest.mark.parametrize("data", MEMBERS.choices["data"])
def test_words_stand_at_what_they_name(data):
    for look in LIGHT:
        figure = drawn(lambda: MEMBERS.draw(data), look)
        for axes, own in zip(figure.axes, MEMBERS.scores[data].values(), strict=True):
            words = {text.get_text(): text.get_window_extent() for text in axes.texts}
            assert [*words] == ["one network"]
            panel = axes.get_window_extent()
            assert all(panel.x0 <= box.x0 and box.x1 <= panel.x1 + 1 for box in words.values())
            at = axes.transData.transform
            for box in words.values():
                for x, y in at(np.stack([SIZES, own.mean], axis=1)):
                    assert not (box.x0 <= x <= box.x1 and box.y0 <= y <= box.y1), data


def test_members_say_what_five_and_ten_reach():
    # 5.78 + 0.24 / M
    assert MEMBERS.say("concrete") == (
        "On concrete, five members have RMSE 5.83 instead of 6.02, ten 5.80."
    )
    assert not any(too_much(MEMBERS.say(data)) for data in MEMBERS.scores)


def test_new_rows_have_their_intervals_in_the_order_of_their_predictions():
    assert OWN.say() == "2 of 4 intervals hold the true value."
    readable(OWN.draw)
    for look in LIGHT:
        figure = drawn(OWN.draw, look)
        (axes,) = figure.axes
        (lines,) = axes.collections
        ends = [segment[:, 1].tolist() for segment in lines.get_segments()]
        assert ends == [[0.5, 4.5], [2.5, 6.5], [4.5, 8.5], [8.5, 12.5]]
        predictions, true = axes.lines
        assert predictions.get_xydata().tolist() == [[1, 3], [2, 5], [3, 7], [4, 11]]
        assert [*true.get_ydata()] == [1, 7, 8, 8]
        colors = {text.get_text(): text.get_color() for text in figure.texts}
        blue = plot.PALETTE["deep_ensemble"]
        assert colors == {"95% interval": blue, "prediction": blue, "true value": INK}


def test_a_value_at_the_end_of_its_interval_is_inside():
    one = np.array([2.0])
    assert Own("y", one - 1, one, one + 1, one + 1).say().startswith("1 of 1 ")
    assert Own("y", one - 1, one, one + 1, one - 1.5).say().startswith("0 of 1 ")
