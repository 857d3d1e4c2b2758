"""What *Many devices* draws is what it is given, and each sentence says one thing."""

import itertools

import pytest

from ensedu import plot
from ensedu.book.figures.many_devices import Projected, Sent, Steps
from ensedu.book.page.said import too_much
from tests.plot.looks import LIGHT, drawn, readable, texts

METHODS = ("deep_ensemble", "batch_ensemble", "rank1")
SIZES = [*itertools.product(Steps.choices["width"], Steps.choices["scaling"])]
STEPS = Steps([
    {
        "scaling": scaling, "width": width, "method": method, "processes": R,
        "step_ms": {"median": 2.0 * R, "quartiles": [1.5 * R, 2.5 * R + k]},
    }
    for R in (1, 2)
    for k, method in enumerate(METHODS)
    for width, scaling in SIZES
])  # fmt: skip
SENT = Sent(4)
HALF = Projected(
    lambda R, bandwidth, latency, way: 1 / (1 + latency * R) / (1 + (way == "by halves"))
)
NETWORKS = [dict(zip(HALF.choices, values, strict=True))
            for values in itertools.product(*HALF.choices.values())]  # fmt: skip


@pytest.mark.parametrize(("width", "scaling"), SIZES)
def test_steps_are_ratios_to_the_median_on_one_process(width, scaling):
    readable(lambda: STEPS.draw(width, scaling))
    assert STEPS.ratio(scaling, width, "rank1") == [1.5, 2, 3.5]
    assert not too_much(STEPS.say(width, scaling))


@pytest.mark.parametrize(
    ("devices", "method"), [*itertools.product(SENT.choices["devices"], SENT.choices["method"])]
)
def test_a_frame_a_device_a_block_a_member_and_a_ring_where_something_is_sent(devices, method):
    readable(lambda: SENT.draw(devices, method))
    figure = drawn(lambda: SENT.draw(devices, method), LIGHT[0])
    said = [text.get_text() for text in texts(figure)]
    shares = method == "BatchEnsemble"
    assert sum("member" in text for text in said) == 4
    assert sum(text.startswith("device") for text in said) == devices
    assert sum(text == "∂L/∂W" for text in said) == devices * shares
    words = f"{2 * (devices - 1)} messages from each device"
    assert (words if shares and devices > 1 else "nothing is sent") in said
    assert len(figure.axes[0].patches) == devices + 4 + devices * shares
    assert not too_much(SENT.say(devices, method))


def test_a_device_sends_the_gradient_once_between_two_and_more_often_among_four():
    said = [SENT.say(devices, "BatchEnsemble") for devices in (2, 4)]
    assert "2 messages, as many bytes" in said[0]
    assert "6 messages, 1.5 times as many bytes" in said[1]


def test_what_is_left_is_drawn_in_percent_beside_all_of_it():
    for network in NETWORKS:
        deep, shared = drawn(lambda n=network: HALF.draw(**n), LIGHT[0]).axes[0].lines[:2]
        assert set(deep.get_ydata()) == {100}
        assert shared.get_ydata().tolist() == HALF.of(**network)
        assert shared.get_color() == plot.PALETTE["batch_ensemble"]
        assert not too_much(HALF.say(**network))
    readable(lambda: HALF.draw(**NETWORKS[0]))


def test_units_reach_the_formula():
    seen = []
    Projected(lambda *given: seen.append(given) or 1).of(0.1, 10, "in a ring")
    assert seen[1] == (2, 1e8, pytest.approx(1e-5), "in a ring")
