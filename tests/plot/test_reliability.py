"""A reliability diagram shows the table that it was given, with bars, errors and intervals."""

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex

from ensedu import uncertainty
from ensedu.methods import METHODS
from ensedu.plot import reliability
from ensedu.plot.style import LABELS, MARKERS, PALETTE
from ensedu.uncertainty import Reliability, paired
from tests.plot.looks import LIGHT, drawn, limits, readable, repeats, texts

B, BINS = 503, 7
LEVELS = np.linspace(0.1, 0.9, 5)


def predictions(seed, k=3):
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(B, k))
    powers = np.exp(2 * logits)
    probabilities = powers / powers.sum(1, keepdims=True)
    return probabilities, rng.integers(0, k, B)


def table(seed=0, bins=BINS):
    return uncertainty.reliability(*predictions(seed), bins=bins)


TABLES = {"single": table(0), "rank1": table(1)}
MANY = 101
SEEDS = {"deep_ensemble": [table(seed, MANY) for seed in range(5)]}


def words(figure):
    return [text.get_text() for text in texts(figure)]


def points(axes, name):
    [line] = [
        line for line in axes.lines
        if line.get_color() == PALETTE[name] and line.get_marker() == MARKERS[name]
    ]  # fmt: skip
    return line.get_xydata().T


def test_a_line_shows_the_bins_that_hold_something():
    figure = reliability(TABLES)
    diagram = figure.axes[0]
    for name, one in TABLES.items():
        full = one.count > 0
        assert 0 < full.sum() < BINS  # of three classes none is less likely than a third
        expected = one.confidence[full], one.accuracy[full]
        np.testing.assert_allclose(points(diagram, name), expected)
    diagonal = diagram.lines[0]
    np.testing.assert_array_equal(diagonal.get_xdata(), diagonal.get_ydata())
    assert diagram.get_xlim() == diagram.get_ylim() == (0, 1)
    assert (diagram.get_xlabel(), diagram.get_ylabel()) == ("confidence", "accuracy")


def test_bars_show_the_share_of_examples_a_bin():
    figure = reliability(TABLES)
    for axes, (name, one) in zip(figure.axes[1:], TABLES.items(), strict=True):
        shares = one.count / B
        np.testing.assert_allclose([bar.get_height() for bar in axes.patches], shares)
        middles = [bar.get_x() + bar.get_width() / 2 for bar in axes.patches]
        np.testing.assert_allclose(middles, (np.arange(BINS) + 0.5) / BINS)
        assert {to_hex(bar.get_facecolor()) for bar in axes.patches} == {PALETTE[name]}
        assert [text.get_text() for text in axes.texts] == [f"{100 * shares.max():.0f}\xa0%"]
    assert len({axes.get_ylim() for axes in figure.axes[1:]}) == 1


def test_each_error_stands_below_its_name():
    for look in LIGHT:
        found = {text.get_text(): text for text in texts(drawn(lambda: reliability(TABLES), look))}
        for seed, name in enumerate(TABLES):
            error = uncertainty.ece(*predictions(seed), bins=BINS)
            title, below = found[LABELS[name]], found[f"calibration error {error:.3f}"]
            assert title.get_color() == PALETTE[name]
            upper, lower = title.get_window_extent(), below.get_window_extent()
            assert 0 < upper.y0 - lower.y1 < 0.2 * upper.height + 20
    assert len(set(found)) == len(found)


def test_points_of_several_seeds_are_means_with_their_interval():
    figure = reliability(SEEDS)
    seeds = SEEDS["deep_ensemble"]
    accuracy, count = (np.array([getattr(one, part) for one in seeds])
                       for part in ("accuracy", "count"))  # fmt: skip
    confidence = np.array([one.confidence for one in seeds])
    full = count.any(axis=0)
    assert not count[:, full].all()  # some bin is empty in some seed only
    _, drawn_y = points(figure.axes[0], "deep_ensemble")
    drawn_x, _ = points(figure.axes[0], "deep_ensemble")
    [bars] = [c for c in figure.axes[0].collections if isinstance(c, LineCollection)]
    for i, j in enumerate(np.flatnonzero(full)):
        used = count[:, j] > 0
        values = accuracy[used, j]
        assert drawn_y[i] == pytest.approx(values.mean())
        assert drawn_x[i] == pytest.approx(confidence[used, j].mean())
        low, high = bars.get_segments()[i][:, 1]
        if len(values) > 1:
            expected = paired(values)
            assert (low, high) == (pytest.approx(expected.low), pytest.approx(expected.high))
        else:
            assert low == high
    errors = np.array([uncertainty.ece(*predictions(seed), bins=MANY) for seed in range(5)])
    half = paired(errors).high - errors.mean()
    assert f"calibration error {errors.mean():.3f} ± {half:.3f}" in words(figure)
    shares = [bar.get_height() for bar in figure.axes[1].patches]
    np.testing.assert_allclose(shares, (count / B).mean(axis=0))


def test_pairs_of_levels_and_coverage_have_no_bars():
    observed = np.stack([LEVELS**2, LEVELS**3, LEVELS])
    order = [3, 0, 4, 1, 2]
    figure = reliability(
        {"mc_dropout": (LEVELS[order], observed[:, order]), "rank1": (LEVELS, LEVELS**2)},
        xlabel="level", ylabel="coverage",
    )  # fmt: skip
    (axes,) = figure.axes
    np.testing.assert_allclose(points(axes, "mc_dropout"), (LEVELS, observed.mean(axis=0)))
    np.testing.assert_allclose(points(axes, "rank1"), (LEVELS, LEVELS**2))
    error = np.abs(LEVELS**2 - LEVELS).mean()
    assert f"calibration error {error:.3f}" in words(figure)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("level", "coverage")


def test_names_of_one_color_differ_in_their_lines():
    tables = {"one": table(0), "one, scaled": table(1), "one, again": table(2)}
    figure = reliability(tables, colors=dict.fromkeys(tables, "single"))
    lines = figure.axes[0].lines[1:]
    assert {line.get_color() for line in lines} == {PALETTE["single"]}
    assert len({(line.get_linestyle(), line.get_markerfacecolor()) for line in lines}) == 3
    # So do names that are no methods.
    lines = reliability(tables).axes[0].lines[1:]
    assert len({(line.get_linestyle(), line.get_markerfacecolor()) for line in lines}) == 3


def test_given_ends_fix_the_axes():
    def frame(seed, **fixed):
        return limits(reliability({"single": table(seed)}, **fixed))

    fixed = {"xlim": (0.25, 1.0), "ylim": (0, 0.8), "most": 0.9}
    assert frame(0, **fixed) == frame(1, **fixed) == frame(2, **fixed)
    assert frame(0) != frame(1)  # the highest bar is another
    figure = reliability(TABLES, **fixed)
    assert figure.axes[0].get_xlim() == figure.axes[1].get_xlim() == (0.25, 1)
    assert figure.axes[0].get_ylim() == (0, 0.8)


LONG = "one network of as many parameters as four others have together"


NAMES = [*METHODS, LONG][-8:]
PAIRS = dict.fromkeys(NAMES, (LEVELS, LEVELS**2))
CASES = {
    "many bins": lambda: reliability({LONG: [table(seed, MANY) for seed in range(2)]}),
    "many names": lambda: reliability({name: [table(0, 2), table(1, 2)] for name in NAMES}),
    "near": lambda: reliability({LONG: table(bins=1)}, xlim=(0.125, 0.375), ylim=(0.0001, 0.0002)),
    "levels": lambda: reliability({LONG: PAIRS[LONG]}, xlabel=LONG, ylabel=LONG),
    "levels of many names": lambda: reliability(PAIRS, xlabel=LONG, ylabel=LONG),
    "both": lambda: reliability(PAIRS | {NAMES[0]: table(bins=23)}, xlabel=LONG),
}


@pytest.mark.parametrize("name", CASES)
def test_it_can_be_read(name):
    readable(CASES[name])


def test_the_same_figure_has_the_same_bytes():
    repeats(lambda: reliability(TABLES))


def broken(**parts):
    one = table()
    fields = ("edges", "count", "confidence", "accuracy")
    return Reliability(**{name: getattr(one, name) for name in fields} | parts)


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: reliability({}), ValueError, "tables must be a mapping of names to a Reliability"),
        (lambda: reliability({"a": 3}), TypeError, r"tables\['a'\] must be a Reliability, a list"),
        (lambda: reliability({"a": []}), TypeError, r"tables\['a'\] must be a Reliability, a list"),
        (
            lambda: reliability({"a": [table(), 3]}),
            TypeError,
            r"tables\['a'\] must be a Reliability, a list",
        ),
        (
            lambda: reliability({"a": [table(), table(bins=5)]}),
            ValueError,
            r"tables\['a'\] must have the same bins in all seeds",
        ),
        (
            lambda: reliability({"a": (LEVELS, LEVELS[1:])}),
            ValueError,
            r"tables\['a'\]\[1\] has shape \(4,\), accepted is \(5,\) or \(seeds, 5\)",
        ),
        (
            lambda: reliability({"a": broken(accuracy=LEVELS)}),
            ValueError,
            r"tables\['a'\]: accuracy has shape \(5,\), accepted is \(7,\)",
        ),
        (
            lambda: reliability({"a": broken(edges=LEVELS)}),
            ValueError,
            r"tables\['a'\]: edges has shape \(5,\), accepted is \(8,\)",
        ),
        (
            lambda: reliability({"a": broken(count=np.zeros(BINS, int))}),
            ValueError,
            r"tables\['a'\] must count at least one example",
        ),
        (
            lambda: reliability({str(i): table() for i in range(4)}),
            ValueError,
            "tables must have up to 3 names of one color, got 4 of no method",
        ),
        (
            lambda: reliability(TABLES, colors={"two": "single"}),
            ValueError,
            r"colors must name entries of tables, got \['two'\]",
        ),
        (
            lambda: reliability(TABLES, colors={"single": "two"}),
            ValueError,
            r"colors\['single'\] must be one of",
        ),
        (lambda: reliability(TABLES, xlim=(1, 0)), ValueError, r"xlim must rise, got \(1, 0\)"),
        (lambda: reliability(TABLES, ylim=None), TypeError, "ylim must be a sequence of 2"),
        (lambda: reliability(TABLES, most=0), ValueError, "most must be a finite number above 0"),
        (lambda: reliability(TABLES, xlabel=3), TypeError, "xlabel must be a string"),
    ],
)
def test_bad_input(call, kind, message):
    with pytest.raises(kind, match=message):
        call()
