"""The page on uncertainty draws what it is given, and each sentence says one thing."""

from itertools import product

import numpy as np
import pytest

from ensedu import plot
from ensedu.book.experiments.exact import CHOICES, GRID, exact
from ensedu.book.figures.uncertainty import AMONG, INSIDE, Curve, Members, Methods, Trained
from ensedu.book.page.said import too_much
from ensedu.data import gap
from ensedu.plot.style import INK, LOOKS
from tests.plot.looks import LIGHT, drawn, texts

CURVE = Curve(exact, CHOICES)
KNOWN = exact(16, 0.2, "bumps")
RNG = np.random.default_rng(3)
DRAWN = {
    (members, sample): KNOWN.mean + KNOWN.unknown * RNG.standard_normal((members, 1))
    for members, sample in product((4, 11), (1, 2, 3))
}
MEMBERS = Members(KNOWN, DRAWN)
X = np.linspace(-4.6, 4.6, 47)
BELIEFS = {
    name: plot.Belief(method, np.sin(X) + shift, np.full(47, 0.1 + shift))
    for name, method, shift in (
        ("one network", "single", 0.0), ("one larger network", "single", 0.1),
        ("BatchEnsemble from N(1, σ²)", "batch_ensemble", 0.2),
    )
}  # fmt: skip
PAID = dict(zip(BELIEFS, [(-0.5, 12.0), (-0.6, 7.0), (-0.25, 14.0)], strict=True))
POINTS = gap.sample(np.random.default_rng(0))
METHODS = Methods(X, BELIEFS, PAID, POINTS)


def cells(mean):
    mean = np.array(mean)
    return np.stack([0.8 * mean, mean, 1.3 * mean])


FOUND = {
    noise: {
        place: {"error": cells(error), "spread": cells(spread)}
        for place, error, spread in (
            ("regions", [0.05, 0.008, 0.006], [0.01, 0.002, 0.002]),
            ("gap", [0.3, 0.2, 0.21], [0.1, 0.05, 0.03]),
        )
    }
    for noise in (0.1, 0.4)
}
TRAINED = Trained((30, 120, 480), FOUND)


@pytest.mark.parametrize("choice", [(4, 0.4, "bumps"), (16, 0.2, "bumps"), (256, 0.1, "line")])
def test_bands_are_two_standard_deviations_of_each_part(choice):
    found, (number, noise, _) = exact(*choice), choice
    figure = drawn(lambda: CURVE.draw(*choice), LIGHT[0])
    curves, parts = figure.axes
    mean, truth, dots = curves.lines
    np.testing.assert_array_equal(mean.get_ydata(), found.mean)
    np.testing.assert_array_equal(truth.get_ydata(), gap.truth(GRID))
    assert len(dots.get_xdata()) == number
    whole = np.sqrt(found.unknown**2 + noise**2)
    above, _, inner = (area.get_paths()[0].vertices[:, 1] for area in curves.collections)
    assert np.isclose(above, (found.mean + 2 * whole)[:, None]).any(axis=1).all()
    assert np.isclose(inner, (found.mean + 2 * found.unknown)[:, None]).any(axis=1).all()
    unknown, level = parts.lines
    np.testing.assert_array_equal(unknown.get_ydata(), found.unknown)
    assert set(level.get_ydata()) == {noise}
    named = {text.get_text() for text in figure.texts}
    assert named == {"true curve", "not known", "noise"}


def test_a_curve_says_both_parts_and_a_line_how_far_it_is_off():
    found = exact(64, 0.2, "bumps")
    assert CURVE.say(64, 0.2, "bumps") == (
        f"The noise has σ 0.2; what is not known has {found.unknown[AMONG]:.2f} among the points, "
        f"{found.unknown[INSIDE]:.2f} in the gap."
    )
    assert CURVE.say(256, 0.2, "line") == (
        "At x = −2.5 the line is off by 0.35, and calls 0.02 not known."
    )


def test_members_are_all_there_with_their_standard_deviation():
    assert MEMBERS.choices == {"members": [4, 11], "sample": [1, 2, 3]}
    curves, parts = drawn(lambda: MEMBERS.draw(11, 3), LOOKS[0]).axes
    own = [line.get_ydata() for line in curves.lines if len(line.get_xdata()) == len(GRID)]
    np.testing.assert_array_equal(own, DRAWN[11, 3])
    exactly, said = parts.lines
    np.testing.assert_array_equal(exactly.get_ydata(), KNOWN.unknown)
    np.testing.assert_allclose(said.get_ydata(), DRAWN[11, 3].std(axis=0, ddof=1))
    told = MEMBERS.say(11, 3)
    assert f"{DRAWN[11, 3][:, INSIDE].std(ddof=1):.2f}" in told
    assert told.startswith("In the gap 11 members") and not too_much(told)


@pytest.mark.parametrize("method", METHODS.choices["method"])
def test_a_method_stands_beside_one_network_with_both_scores(method):
    assert METHODS.choices == {"method": [*BELIEFS][1:]}
    figure = drawn(lambda: METHODS.draw(method), LIGHT[0])
    (axes,) = figure.axes
    one, own, truth, dots = axes.lines
    inks = plot.PALETTE["single"], INK if "larger" in method else plot.PALETTE["batch_ensemble"]
    for line, band, name, ink in zip(
        (one, own), axes.collections, ("one network", method), inks, strict=True
    ):
        belief = BELIEFS[name]
        np.testing.assert_array_equal(line.get_ydata(), belief.mean)
        assert line.get_color() == ink
        heights = band.get_paths()[0].vertices[:, 1]
        assert heights.max() == pytest.approx((belief.mean + 2 * belief.std).max())
        assert heights.min() == pytest.approx((belief.mean - 2 * belief.std).min())
    np.testing.assert_array_equal(truth.get_ydata(), gap.truth(X))
    np.testing.assert_array_equal(dots.get_xydata(), np.concatenate(POINTS, axis=1))
    scores = [f"{value:.2f}".replace("-", "−") for value in PAID["one network"] + PAID[method]]
    assert [text.get_text() for text in figure.texts] == [
        "NLL at the data", "in the gap", "one network", *scores[:2], method, *scores[2:]
    ]  # fmt: skip


def test_a_method_says_what_it_pays_more_or_less():
    assert METHODS.say("one larger network") == (
        "One larger network pays 0.10 nats less than one network at the data, and 5.00 less in the "
        "gap."
    )
    assert "0.25 nats more" in METHODS.say("BatchEnsemble from N(1, σ²)")
    assert "2.00 more in the gap" in METHODS.say("BatchEnsemble from N(1, σ²)")


@pytest.mark.parametrize("noise", FOUND)
def test_error_and_spread_have_a_panel_a_place(noise):
    assert TRAINED.choices == {"noise": [*FOUND]}
    for look in LIGHT:
        figure = drawn(lambda: TRAINED.draw(noise), look)
        for axes, place in zip(figure.axes, ("regions", "gap"), strict=True):
            error, spread = axes.lines
            np.testing.assert_array_equal(error.get_ydata(), FOUND[noise][place]["error"][1])
            np.testing.assert_array_equal(spread.get_ydata(), FOUND[noise][place]["spread"][1])
            assert error.get_color() == INK
            ends = axes.collections[0].get_segments()
            assert [end[:, 1].tolist() for end in ends] == FOUND[noise][place]["error"][
                ::2
            ].T.tolist()
        names = [text.get_text() for text in texts(figure)]
        assert names.count("spread") == (2 if look.narrow else 1)
    assert TRAINED.say(noise) == (
        "With 480 points the error is 3.0 times the spread among them, 7.0 times in the gap."
    )
