"""What *BatchEnsemble* draws is what it is given, and it says what it counts."""

import itertools

import numpy as np

from ensedu.book.figures.batch_ensemble import BreakEven, Members, Rank, Starts
from tests.plot.looks import LIGHT, drawn, limits, readable, texts

W = np.arange(1.0, 21).reshape(4, 5) % 7 + 0.5
FACTOR = np.outer([1, 2, -1, 1], [1, -1, 1, 2, 1])
RANK = Rank({"near": {"W₁": W * FACTOR, "W₁ / W": 1.0 * FACTOR}, "equal": {"W₁": W, "W₁ / W": W}})
BREAK_EVEN = BreakEven(
    4,
    {"deep_ensemble": {1: 8, 2: 24, 3: 48}, "batch_ensemble": {1: 13, 2: 28, 3: 45}},
    3,
)
STARTS = Starts(
    16,
    {"all equal": [1.0, 1.0], "random signs": [-0.002, 0.001]},
    {"all equal": [1.0, 1.0], "random signs": [0.24, 0.26]},
)


def test_members_own_what_their_start_and_their_width_say():
    shown = Members()
    for init, M, h in itertools.product(*shown.choices.values()):
        own = shown.layers[init, M, h]
        assert own["weight"].shape == (h, h)
        assert own["r"].shape == own["s"].shape == (M, h)
        assert (set(np.abs(own["r"]).ravel()) == {1.0}) == (init == "signs")
        said = shown.say(init, M, h)
        assert said.startswith(f"The {M} members share {h * h} weights, ")
        assert f"{own['r'][0].size + own['s'][0].size} numbers" in said
    readable(lambda: shown.draw("normal", 2, 5))
    assert (
        limits(drawn(lambda: shown.draw("normal", 2, 5), LIGHT[0]))[1]
        == (limits(drawn(lambda: shown.draw("signs", 2, 5), LIGHT[0]))[1])
    )


def test_ranks_stand_in_titles_and_in_the_sentence():
    assert RANK.ranks("near")["W₁ / W"] == 1
    assert RANK.ranks("near")["W₁"] > 1
    rank = np.linalg.matrix_rank(W)
    assert RANK.say("equal") == f"W₁ has rank {rank}, W₁ / W has rank {rank}."
    readable(lambda: RANK.draw("near"))
    said = {text.get_text() for text in texts(drawn(lambda: RANK.draw("near"), LIGHT[0]))}
    assert "W₁ / W, rank 1" in said


def test_the_curves_break_even_at_the_ring():
    readable(BREAK_EVEN.draw)
    (axes, *_) = drawn(BREAK_EVEN.draw, LIGHT[0]).axes
    heights = [[*line.get_ydata()] for line in axes.lines]
    assert all([*own.values()] in heights for own in BREAK_EVEN.totals.values())
    assert [45] in heights
    assert axes.get_ylabel() == "numbers, 4 members" or "numbers, 4 members" in {
        text.get_text() for text in texts(axes.figure)
    }
    assert "width from 1 to 3." in BREAK_EVEN.say()
    assert "cross between 2 and 3, where" in BREAK_EVEN.say()


def test_starts_have_a_row_each_and_say_their_means():
    readable(STARTS.draw)
    said = {text.get_text() for text in texts(drawn(STARTS.draw, LIGHT[0]))}
    assert {*Starts.titles} <= said
    assert STARTS.say() == (
        "Two panels, a row of dots a start. Correlation of two members' outputs: all equal 1.00, "
        "random signs 0.00. What an average of 16 losses leaves of the gradient of W: all equal "
        "1.00, random signs 0.25."
    )
