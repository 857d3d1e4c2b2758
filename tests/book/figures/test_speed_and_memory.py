"""What *Speed and memory* draws is what it is given, and each sentence says one thing."""

import itertools

import pytest

from ensedu import plot
from ensedu.book.figures.speed_and_memory import Memory, Projected, Times
from tests.plot.looks import LIGHT, drawn

RATIOS = {
    (50, 1): {"single": 0.28, "deep_ensemble": 0.57, "batch_ensemble": 0.79},
    (50, 256): {"single": 0.25, "deep_ensemble": 0.9, "batch_ensemble": 1.01},
    (1024, 1): {"single": 0.14, "deep_ensemble": 0.96, "batch_ensemble": 0.46},
    (1024, 256): {"single": 0.25, "deep_ensemble": 0.99, "batch_ensemble": 0.98},
}
TIMES = Times([
    {
        "m": width, "B": batch,
        "forward": {name: {"ratio": [0.9 * r, r, 1.1 * r]} for name, r in own.items()},
    }
    for (width, batch), own in RATIOS.items()
])  # fmt: skip
STEPS = [1, 8, 513]


def kept(method, width, batch, members):
    """Made up, and less for a BatchEnsemble."""
    return (100 if method == "deep_ensemble" else 30) * width * members + batch


MEMORY = Memory(STEPS, kept)
HALF = Projected(
    lambda R, bandwidth, latency, way: 1 / (1 + latency * R) / (1 + (way == "by halves"))
)
NETWORKS = [dict(zip(HALF.choices, values, strict=True))
            for values in itertools.product(*HALF.choices.values())]  # fmt: skip


@pytest.mark.parametrize("width", TIMES.choices["width"])
def test_times_are_medians_beside_a_line_at_1(width):
    *curves, line = drawn(lambda: TIMES.draw(width), LIGHT[0]).axes[0].lines
    assert set(line.get_ydata()) == {1}
    for name, curve in zip(("single", "deep_ensemble", "batch_ensemble"), curves, strict=True):
        own = [[batch, RATIOS[width, batch][name]] for batch in (1, 256)]
        assert curve.get_xydata().tolist() == own
        assert curve.get_color() == plot.PALETTE[name]


def test_times_say_what_one_example_takes():
    assert TIMES.say(1024) == (
        "With one example a deep ensemble takes 0.96 times as long as four networks in turn, a "
        "BatchEnsemble 0.46 times."
    )


@pytest.mark.parametrize(("width", "members"), [*itertools.product((512, 1024), (2, 4))])
def test_memory_is_a_part_of_the_deep_ensembles(width, members):
    deep, shared = drawn(lambda: MEMORY.draw(width, members), LIGHT[0]).axes[0].lines
    assert set(deep.get_ydata()) == {1}
    assert shared.get_ydata().tolist() == pytest.approx([
        kept("batch_ensemble", width, batch, members) / kept("deep_ensemble", width, batch, members)
        for batch in STEPS
    ])  # fmt: skip


def test_memory_says_both_ends():
    assert MEMORY.say(1000, 2) == (
        "A BatchEnsemble keeps 30% of a deep ensemble's bytes with one example, 30% with 1,000."
    )


def test_what_is_left_is_drawn_in_percent_beside_all_of_it():
    for network in NETWORKS:
        deep, shared = drawn(lambda n=network: HALF.draw(**n), LIGHT[0]).axes[0].lines[:2]
        assert set(deep.get_ydata()) == {100}
        assert shared.get_ydata().tolist() == HALF.of(**network)
        assert shared.get_color() == plot.PALETTE["batch_ensemble"]


def test_units_reach_the_formula():
    seen = []
    Projected(lambda *given: seen.append(given) or 1).of(0.1, 10, "in a ring")
    assert seen[1] == (2, 1e8, pytest.approx(1e-5), "in a ring")
