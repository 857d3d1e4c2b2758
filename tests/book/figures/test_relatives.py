"""What the figure of relatives draws, and what it says."""

import pytest
from matplotlib.colors import to_rgba

from ensedu import plot
from ensedu.book.figures import relatives
from ensedu.plot.style import LOOKS, PAGE, rendering
from tests.plot.looks import LIGHT, drawn, texts


@pytest.mark.parametrize("look", LOOKS)
def test_two_lines_stand_for_one_network_and_for_all_members(look):
    with rendering(look):
        (axes,) = relatives.draw(4, "narrow").axes
    tops = [text.get_text().split() for text in axes.texts]
    assert tops[-2:] == [["one", "network"], ["deep", "ensemble"]]
    assert axes.get_xlim() == pytest.approx((0.3, 150))
    ends = {line.get_color(): line.get_xdata()[0] for line in axes.lines[-2:]}
    assert ends == {plot.PALETTE["single"]: 1, plot.PALETTE["deep_ensemble"]: 4}


def test_what_is_kept_is_said_and_drawn():
    kept = relatives.relatives(4, "narrow")
    assert relatives.say(4, "narrow").startswith(
        f"With 4 members, TabM keeps {kept['TabM'][1]:.2f}"
    )
    figure = drawn(lambda: relatives.draw(4, "narrow"), LIGHT[0])
    shown = {line.get_label(): line.get_xdata()[0] for line in figure.axes[0].lines}
    for name, (trained, stored) in kept.items():
        assert shown[f"{name}, to train"] == trained
        if stored <= relatives.MOST_KEPT:
            assert shown[f"{name}, to keep"] == stored


@pytest.mark.parametrize("look", LIGHT, ids=["wide", "narrow"])
@pytest.mark.parametrize("network", relatives.NETWORKS)
@pytest.mark.parametrize("members", [2, 4, 8])
def test_words_of_relatives_are_whole_and_struck_by_nothing(look, network, members):
    figure = drawn(lambda: relatives.draw(members, network), look)
    (axes,) = figure.axes
    boxes = {" ".join(t.get_text().split()): t.get_window_extent() for t in texts(figure)}
    for words in ("one network", "deep ensemble"):
        assert figure.bbox.x0 <= boxes[words].x0 and boxes[words].x1 <= figure.bbox.x1
    assert not boxes["one network"].overlaps(boxes["deep ensemble"])
    for text in axes.texts:
        if "million" in text.get_text():
            own = text.get_window_extent()
            assert own.x1 <= figure.bbox.x1
            assert text.get_bbox_patch().get_facecolor() == to_rgba(PAGE)
            hollow = [line for line in axes.lines if line.get_markerfacecolor() == PAGE]
            places = [axes.transData.transform(line.get_xydata()[0]) for line in hollow]
            assert not any(own.expanded(1.02, 1.02).contains(*place) for place in places)
