"""Functions with bands show the curves that they were given, in panels with common axes."""

import itertools

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex, to_rgba
from matplotlib.lines import Line2D

from ensedu import plot
from ensedu.methods import METHODS
from ensedu.plot import Belief
from ensedu.plot.style import INK, LABELS, PALETTE
from tests.plot.looks import LIGHT, drawn, readable, texts

N, D, M = 11, 7, 3
X = np.linspace(-2.0, 3.0, N)
DATA = (np.linspace(-1.5, 2.5, D), np.linspace(0.0, 1.0, D))
ABOUT = {"truth": np.cos(X), "data": DATA, "shaded": (0.5, 1.0)}
STYLES = {"truth": "true curve", "data": "data", "shaded": "no data"}


def belief(method="rank1", shift=0.0, members=M, std=0.25):
    curves = np.sin(X) + shift + 0.1 * np.arange(members)[:, None]
    return Belief(method, curves.mean(0), np.full(N, std), curves)


ONE = {"a network": belief("single", members=1)}
THREE = {"single": belief("single", members=1), "deep_ensemble": belief("deep_ensemble", 0.5),
         "rank1": belief("rank1", -0.5)}  # fmt: skip


def functions(x, beliefs, ylim=(-3.0, 7.0), **options):
    return plot.functions(x, beliefs, ylim=ylim, **options)


def words(figure):
    return [text.get_text() for text in texts(figure)]


def curves(axes):
    return [line.get_ydata() for line in axes.lines if len(line.get_xdata()) == N]


def test_each_panel_shows_its_own_curves_in_its_own_color():
    figure = functions(X, THREE, **ABOUT)
    for axes, (name, one) in zip(figure.axes, THREE.items(), strict=True):
        assert axes.get_title("left") == LABELS[name]
        own = [] if len(one.members) == 1 else list(one.members)
        truth = ABOUT["truth"]
        # Drawn once more, bold, where the band does not hold it.
        missed = np.where(np.abs(truth - one.mean) <= 0.5, np.nan, truth)
        np.testing.assert_array_equal(curves(axes), [*own, one.mean, truth, missed])
        colors = [line.get_color() for line in axes.lines]
        assert set(colors) == {PALETTE[name], INK} and colors[-2:] == [INK, INK]
        np.testing.assert_array_equal(axes.lines[-1].get_xydata().T, DATA)
        (band,) = [c for c in axes.collections if isinstance(c, PolyCollection)]
        assert to_hex(band.get_facecolor()[0]) == PALETTE[name]
        heights = band.get_paths()[0].vertices[:, 1]
        assert heights.min() == pytest.approx((one.mean - 0.5).min())
        assert heights.max() == pytest.approx((one.mean + 0.5).max())
        (shade,) = axes.patches
        assert (shade.get_x(), shade.get_width()) == (0.5, 0.5)
    thin, mean = figure.axes[1].lines[0], figure.axes[1].lines[M]
    assert thin.get_linewidth() < mean.get_linewidth()


def test_a_band_holds_its_edge():
    band = Belief("rank1", np.zeros(3), np.full(3, 0.25))
    assert band.holds(np.array([0.5, 0.51, -0.5])).tolist() == [True, False, True]


def test_the_true_curve_is_bold_where_a_band_misses_it():
    (axes,) = functions(X, ONE, **ABOUT).axes
    *_, truth, missed = [line for line in axes.lines if len(line.get_xdata()) == N]
    assert missed.get_linewidth() > 2 * truth.get_linewidth()
    assert missed.get_linestyle() == "-"
    for std in (None, np.zeros(N)):
        (axes,) = functions(X, {"a": Belief("rank1", X, std)}, truth=np.cos(X)).axes
        assert len(axes.lines) == 2


def test_what_is_left_out_is_not_drawn():
    curves_alone = np.sin(X) + np.arange(5.0)[:, None]
    alone = {"": Belief("deep_ensemble", members=curves_alone)}
    figure = functions(X, alone, thin="members")
    (axes,) = figure.axes
    np.testing.assert_array_equal(curves(axes), curves_alone)
    assert not axes.collections and not axes.patches and not axes.get_title("left")
    assert words(figure)[-1:] == ["members"]  # no mean in the key
    mean = Belief("rank1", curves_alone.mean(0), np.zeros(N), curves_alone)
    (axes,) = functions(X, {"a": mean}).axes
    assert len(curves(axes)) == 6 and not axes.collections  # a band of no width is none
    (axes,) = functions(X, {"a": Belief("rank1", X)}).axes
    assert len(axes.lines) == 1


def test_the_key_names_what_is_drawn_and_nothing_else():
    every = {"members", "draws", "mean", "mean ± 2σ", *STYLES.values()}
    for given in itertools.chain.from_iterable(itertools.combinations(ABOUT, k) for k in range(4)):
        about = {name: ABOUT[name] for name in given}
        shown = every & set(words(functions(X, ONE, **about)))
        assert shown == {"mean ± 2σ", *(STYLES[name] for name in given)}
    bundle = {"a": Belief("rank1", X, members=np.stack([X, X]))}
    assert every & set(words(functions(X, bundle, thin="draws"))) == {"draws", "mean"}
    sampled = {"a": belief("mc_dropout")}
    assert every & set(words(functions(X, sampled, thin="draws"))) == {"draws", "mean ± 2σ"}


def test_what_is_named_in_the_panel_is_not_in_the_key():
    places = {"true curve": (0.0, 1.1), "data": (2.0, -1.0), "members": (1.0, 1.0)}
    figure = drawn(lambda: functions(X, ONE, **ABOUT, named=places), LIGHT[0])
    (axes,) = figure.axes
    named = {text.get_text(): text for text in axes.texts}
    assert set(named) == {"true curve", "data"}  # one network has no members
    for word, text in named.items():
        assert text.get_position() == places[word] and text.get_color() == INK
        assert words(figure).count(word) == 1
    assert {"mean ± 2σ", "no data"} <= set(words(figure))
    led = {"data": (2.0, -1.0, 1.5, 0.5)}
    (text,) = drawn(lambda: functions(X, ONE, **ABOUT, named=led), LIGHT[0]).axes[0].texts
    assert text.get_position() == (2.0, -1.0) and text.xy == (1.5, 0.5)
    assert text.arrow_patch.get_edgecolor() == to_rgba(INK)


def test_the_key_shows_lines_as_they_are_drawn():
    curves_alone = np.sin(X) + np.arange(5.0)[:, None]
    for members in (Belief("rank1", members=curves_alone), belief(members=5)):
        figure = functions(X, {"a": members}, thin="members")
        (sample, *_) = [artist for artist in figure.artists + figure.lines
                        if isinstance(artist, Line2D)]  # fmt: skip
        line = figure.axes[0].lines[0]
        assert (sample.get_color(), sample.get_linewidth()) == (
            line.get_color(), line.get_linewidth()
        )  # fmt: skip


def test_panels_share_their_axes_and_stand_side_by_side_or_stacked():
    for each, across in ((LIGHT[0], 3), (LIGHT[1], 1)):
        figure = drawn(lambda: functions(X, THREE, **ABOUT), each)
        assert len({axes.get_position().x0 for axes in figure.axes}) == across
        assert len({(axes.get_xlim(), axes.get_ylim()) for axes in figure.axes}) == 1
        assert figure.axes[0].get_xlim() == (X[0], X[-1])
    figure = drawn(lambda: functions(X, THREE, columns=(1, 3)), LIGHT[1])
    assert len({axes.get_position().x0 for axes in figure.axes}) == 3


def test_all_in_one_panel_are_named_at_their_ends():
    for each in LIGHT:
        figure = drawn(lambda: functions(X, THREE, together=True, **ABOUT), each)
        (axes,) = figure.axes
        means = [*(one.mean for one in THREE.values()), ABOUT["truth"]]
        np.testing.assert_array_equal(curves(axes), means)
        found = {text.get_text().replace("\n", " "): text for text in texts(figure)}
        known = {name: found[LABELS[name]] for name in THREE}
        # In the order of the ends of their curves, and to the right of the panel.
        heights = [known[name].get_window_extent().y0 for name in THREE]
        ends = [one.mean[-1] for one in THREE.values()]
        np.testing.assert_array_equal(np.argsort(heights), np.argsort(ends))
        right = axes.get_window_extent().x1
        assert all(text.get_window_extent().x0 > right for text in known.values())
        assert [text.get_color() for text in known.values()] == [PALETTE[name] for name in THREE]
        assert len({line.get_linestyle() for line in axes.lines[:3]}) > 1


LONG = "one network of as many parameters as four others have together"


@pytest.mark.parametrize(
    ("number", "members", "scale"),
    [(1, 64, 1e-5), (2, 1, 3e6), (4, 64, 1.0), (7, 3, 3e6)],
)
def test_it_can_be_read(number, members, scale):
    names = [*METHODS, LONG][-number:]
    beliefs = {}
    for i, name in enumerate(names):
        one = belief(name if name in METHODS else "single", i, members)
        beliefs[name] = Belief(one.method, scale * one.mean, scale * one.std, scale * one.members)
    ends = (-4 * scale, 9 * scale)
    about = ABOUT | {"truth": scale * ABOUT["truth"], "data": (DATA[0], scale * DATA[1])}
    if number == 7:
        readable(lambda: functions(X, beliefs, ends, **about))
    if number in (1, 7):
        readable(lambda: functions(1e4 * X, beliefs, ends, columns=2, xlabel=LONG))
    if number in (2, 4):
        readable(lambda: functions(X, beliefs, ends, together=True, **about))


def test_small_bundles_can_be_read():
    beliefs = {f"member {i}": belief(members=13) for i in range(1, 5)}
    readable(lambda: functions(X, beliefs, columns=(4, 2), thin=LONG))


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: belief("rank2"), ValueError, "method must be one of .*, got 'rank2'"),
        (lambda: Belief("rank1"), ValueError, r"mean must be an array \(N,\) where members is"),
        (
            lambda: Belief("rank1", X, X[:-1], X[None]),
            ValueError,
            r"std has shape \(10,\), accepted is \(11,\)",
        ),
        (lambda: Belief("rank1", X, X - 3), ValueError, "std must be 0 or more, got -5"),
        (lambda: Belief("rank1", None, X, X[None]), ValueError, "std must be None without a mean"),
        (
            lambda: Belief("rank1", X, members=X),
            ValueError,
            r"members has shape \(11,\), accepted is \(M, 11\)",
        ),
        (lambda: functions(X, {}), ValueError, "beliefs must be a mapping of names to Beliefs"),
        (lambda: functions(X, {"one": X}), TypeError, r"beliefs\['one'\] must be a Belief"),
        (
            lambda: functions(X[1:], ONE),
            ValueError,
            r"beliefs\['a network'\].mean has shape \(11,\), accepted is \(10,\)",
        ),
        (
            lambda: functions(X[1:], {"a": Belief("rank1", members=X[None])}),
            ValueError,
            r"beliefs\['a'\].members has shape \(1, 11\), accepted is \(M, 10\)",
        ),
        (lambda: functions(X[::-1], ONE), ValueError, "x must be two numbers or more that incr"),
        (lambda: functions(X[:1], ONE), ValueError, "x must be two numbers or more that incr"),
        (
            lambda: functions(X, ONE, truth=X[1:]),
            ValueError,
            r"truth has shape \(10,\), accepted is \(11,\)",
        ),
        (lambda: functions(X, ONE, data=X), TypeError, "data must be a pair of arrays"),
        (
            lambda: functions(X, ONE, data=(X, X[1:])),
            ValueError,
            r"data\[1\] has shape \(10,\), accepted is \(11,\)",
        ),
        (lambda: functions(X, ONE, shaded=(1, 0.5)), ValueError, "shaded must rise"),
        (lambda: functions(X, ONE, ylim=(1, 1)), ValueError, "ylim must rise"),
        (lambda: functions(X, ONE, together=1), TypeError, "together must be True or False"),
        (
            lambda: functions(X, {"a": belief(), "b": belief()}, together=True),
            ValueError,
            "together must be False for .* two of one method, got True for 2 of 1",
        ),
        (
            lambda: functions(X, {m: belief(m) for m in list(METHODS)[:5]}, together=True),
            ValueError,
            "together must be False for more than 4 beliefs",
        ),
        (lambda: functions(X, ONE, thin=3), TypeError, "thin must be a string"),
        (lambda: functions(X, ONE, named=["data"]), TypeError, "named must be a mapping of words"),
        (lambda: functions(X, ONE, named={3: (0, 0)}), TypeError, "a word of named must be a str"),
        (
            lambda: functions(X, ONE, named={"mean": (0, 0, 0, 9)}),
            ValueError,
            r"named\['mean'\] must be inside x, -2 to 3, and ylim, .*, got \(0, 0, 0, 9\)",
        ),
        (
            lambda: functions(X, ONE, named={"mean": (4, 0)}),
            ValueError,
            r"named\['mean'\] must be inside x, -2 to 3, and ylim, .*, got \(4, 0\)",
        ),
        (lambda: functions(X, ONE, columns=0), ValueError, "columns must be a positive integer"),
    ],
)
def test_bad_input(call, kind, message):
    with pytest.raises(kind, match=message):
        call()
