"""What *Embedded ensembles* draws is what it is given, and each sentence says one thing."""

import numpy as np

from ensedu import plot
from ensedu.book.figures.embedded_ensembles import Chi, Learned, Pull, Speeds
from tests.plot.looks import LIGHT, drawn, texts

X, STEPS = np.linspace(-4, 4, 11), (0, 1, 7)
FIRST = np.stack([np.sin(X), -np.cos(X)])
WAY = np.stack([np.full(11, 0.8), np.full(11, 0.2)])
PULL = Pull(
    X, STEPS,
    {mean: np.stack([FIRST, FIRST + WAY / 2, FIRST + (1 + mean) * WAY]) for mean in (0, 0.5)},
    (np.array([-1.0, 2.0]), np.array([0.3, -0.7])),
)  # fmt: skip
CHI = Chi(
    (8, 32, 128),
    {
        "random signs": np.array([[0.3, -0.3], [0.1, -0.1], [0.03, -0.03]]),
        "dropout, rate 0.5": np.full((3, 2), 0.2),
        "N(1, 0.5²)": np.full((3, 2), 0.56),
        "N(1, 0.1²)": np.full((3, 2), 0.95),
    },
    {"random signs": 0.0, "dropout, rate 0.5": 0.21, "N(1, 0.5²)": 0.56, "N(1, 0.1²)": 0.95},
)
REAL = np.array([[-0.5, 0.4], [0.2, 0.9], [0.9, 1.1], [1.0, 1.0]])
GAMMAS = {"sum of losses": 2, "mean of losses": 1}
SPEEDS = Speeds(
    {(mean, on): (REAL, REAL + 0.01) for mean in (0, 0.5) for on in GAMMAS}, GAMMAS, 1.0
)
LEARNED = Learned(
    X, {0: np.stack([X / 4, -X / 4]), 1: np.stack([X / 4, X / 4])}, {0: 0.4, 1: 0.0},
    (np.array([0.0]), np.array([0.0])),
)  # fmt: skip


def test_both_members_are_drawn_before_and_after():
    lines = drawn(lambda: PULL.draw(7, 0.5), LIGHT[0]).axes[0].lines
    before, after = PULL.found[0.5][0], PULL.found[0.5][2]
    for line, y in zip(lines, [before[0], after[0], before[1], after[1]], strict=False):
        np.testing.assert_array_equal(line.get_ydata(), y)
    assert lines[0].get_linewidth() < lines[1].get_linewidth()
    np.testing.assert_array_equal(lines[4].get_xydata(), np.stack(PULL.points, axis=1))


def test_the_sentence_says_how_far_both_moved():
    np.testing.assert_allclose(PULL.moved(7, 0.5), [1.2, 0.3], rtol=0, atol=1e-12)
    assert PULL.say(0, 0.5) == "Two members before training, thick and thin alike."
    assert PULL.say(1, 0) == (
        "After 1 step the trained member has moved by 0.40, and the other by 0.10 (root mean "
        "square)."
    )
    assert "After 7 steps the trained member has moved by 1.20" in PULL.say(7, 0.5)


def test_a_network_is_a_dot_near_its_width_and_a_limit_a_line():
    figure = drawn(CHI.draw, LIGHT[0])
    lines = figure.axes[0].lines
    dots, ends = lines[:8], lines[8:]
    for place, values in enumerate(CHI.found.values()):
        for draw in range(2):
            line = dots[2 * place + draw]
            np.testing.assert_array_equal(line.get_ydata(), values[:, draw])
            assert np.abs(np.log(line.get_xdata() / np.array(CHI.widths))).max() < np.log(1.5)
    for line, (name, value) in zip(ends, CHI.limits.items(), strict=True):
        assert set(line.get_ydata()) == {value}
        method = "mc_dropout" if "dropout" in name else "batch_ensemble"
        assert line.get_color() == plot.PALETTE[method]
    said = {" ".join(text.get_text().split()) for text in texts(figure)}
    assert {f"{name}: {value:.2f}" for name, value in CHI.limits.items()} <= said
    assert CHI.say() == (
        "With random signs χ is 0.30 off 0 at width 8 (root mean square), 0.03 at 128."
    )


def test_paths_are_over_steps_and_one_against_the_other():
    left, right = drawn(lambda: SPEEDS.draw(0.5, "mean of losses"), LIGHT[0]).axes
    np.testing.assert_array_equal(left.lines[1].get_ydata(), REAL[:, 0])
    np.testing.assert_array_equal(left.lines[4].get_ydata(), REAL[:, 1] + 0.01)
    np.testing.assert_array_equal(right.lines[1].get_xydata(), REAL)
    np.testing.assert_array_equal(right.lines[2].get_xydata(), REAL + 0.01)
    # (1 + 0.25) γ / 2 and (1 - 0.25) γ / 2
    assert SPEEDS.say(0.5, "mean of losses") == (
        "Mean of u 0.5: the average has 0.62 times the rate of one member alone, the difference "
        "0.38 times."
    )


def test_members_and_their_average_are_drawn():
    drawn_ys = [line.get_ydata() for line in drawn(lambda: LEARNED.draw(0), LIGHT[0]).axes[0].lines]
    for y in (*LEARNED.found[0], np.zeros(11)):
        assert any(len(own) == 11 and np.allclose(own, y) for own in drawn_ys)
    assert LEARNED.say(0) == (
        "Mean of u 0: at both ends members are 0.40 from their average, over 20 initializations."
    )
