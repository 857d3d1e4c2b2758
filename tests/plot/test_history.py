"""Training curves show the rows that fit returned, and where the best epoch was."""

import numpy as np
import pytest

from ensedu import numpy as en
from ensedu.methods import METHODS
from ensedu.plot import history
from ensedu.plot.style import LABELS, PALETTE
from tests.plot.looks import LIGHT, drawn, limits, readable, repeats, texts

EPOCHS = 23


def run(seed=0, epochs=EPOCHS, kl=0.0, validated=True, scale=1.0, anneal=0):
    rng = np.random.default_rng(seed)
    rows = []
    for epoch in range(1, epochs + 1):
        nll = scale * (1 + 5 / epoch + 0.1 * rng.uniform())
        row = {"epoch": epoch, "step": 7 * epoch, "loss": nll, "nll": nll, "kl": kl / epoch,
               "beta": min(1.0, (epoch + 1) / (anneal + 1))}  # fmt: skip
        if validated:
            row["validation"] = scale * (1.5 + 3 / epoch + 0.02 * epoch + 0.1 * rng.uniform())
        rows.append(row)
    return rows


def column(rows, name):
    return np.array([row[name] for row in rows])


def rings(axes):
    return {tuple(map(float, line.get_xydata()[0])) for line in axes.lines
            if line.get_marker() == "o"}  # fmt: skip


def curves(axes):
    return [line for line in axes.lines if line.get_marker() != "o"]


def words(figure):
    return {text.get_text() for text in texts(figure)}


def test_curves_of_training_and_validation_and_the_best_epoch():
    rows = run()
    figure = history({"deep_ensemble": rows})
    (axes,) = figure.axes
    training, validation = curves(axes)
    for line, name in ((training, "nll"), (validation, "validation")):
        np.testing.assert_array_equal(line.get_xdata(), np.arange(1, EPOCHS + 1))
        np.testing.assert_array_equal(line.get_ydata(), column(rows, name))
        assert line.get_color() == PALETTE["deep_ensemble"]
    assert training.get_linestyle() != "-" and validation.get_linestyle() == "-"
    values = column(rows, "validation")
    assert 0 < values.argmin() < EPOCHS - 1
    assert rings(axes) == {(values.argmin() + 1, values.min())}
    assert {"NLL", "epoch", "validation", "training", "best epoch"} <= words(figure)
    assert LABELS["deep_ensemble"] in words(figure)


def test_an_epoch_before_the_whole_kl_is_never_the_best():
    rows = run(kl=3.0, anneal=17)
    free = column(rows, "validation").argmin()
    assert free < 17
    (best,) = rings(history({"rank1": rows}).axes[0])
    late = [row for row in rows if row["beta"] == 1]
    assert best == min((row["epoch"], row["validation"]) for row in late
                       if row["validation"] == column(late, "validation").min())  # fmt: skip


def test_without_validation_there_is_one_curve_and_no_key():
    rows = run(validated=False)
    figure = history({"a": rows})
    (line,) = figure.axes[0].lines
    np.testing.assert_array_equal(line.get_ydata(), column(rows, "nll"))
    assert line.get_linestyle() == "-"
    assert not {"validation", "training", "best epoch", "one seed"} & words(figure)


def test_seeds_are_thin_lines_and_their_mean_a_thick_one():
    runs = [run(seed, EPOCHS - 2 * seed) for seed in range(3)]
    figure = history({"single": runs})
    lines = curves(figure.axes[0])
    thin = [line for line in lines if line.get_linewidth() < 1]
    for line, rows in zip(thin, runs, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), column(rows, "validation"))
    shortest = EPOCHS - 4
    for line, name in zip([line for line in lines if line not in thin], ("nll", "validation"),
                          strict=True):  # fmt: skip
        mean = np.mean([column(rows, name)[:shortest] for rows in runs], axis=0)
        np.testing.assert_allclose(line.get_ydata(), mean)
    bests = {(column(r, "validation").argmin() + 1, column(r, "validation").min()) for r in runs}
    assert rings(figure.axes[0]) == bests and len(bests) == 3
    assert "one seed" in words(figure)


def test_a_kl_has_a_panel_of_its_own_for_those_that_have_one():
    runs = {"single": run(0), "rank1": run(1, kl=7.0)}
    for look in LIGHT:
        figure = drawn(lambda: history(runs), look)
        upper, lower = figure.axes
        assert len(curves(upper)) == 4
        (line,) = lower.lines
        np.testing.assert_array_equal(line.get_ydata(), column(runs["rank1"], "kl"))
        assert line.get_color() == PALETTE["rank1"]
        assert upper.get_position().y0 > lower.get_position().y1
        assert upper.get_xlim() == lower.get_xlim() == (1, EPOCHS)
        names = [text.get_text() for text in texts(figure)]
        assert names.count("rank-1 BNN") == 2
        assert names.count("single network") == 1
    assert len(history({"single": run(0)}).axes) == 1


def test_a_name_stands_beside_the_end_of_its_curve():
    runs = {"single": run(0, scale=3), "rank1": run(1, scale=1), "mc_dropout": run(2, scale=2)}
    for look in LIGHT:
        figure = drawn(lambda: history(runs, ylim=(0, 9)), look)
        found = {t.get_text().replace("\n", " "): t.get_window_extent() for t in texts(figure)}
        boxes = {name: found[LABELS[name]] for name in runs}
        heights = [box.y0 + box.y1 for box in boxes.values()]
        np.testing.assert_array_equal(np.argsort(heights), [1, 2, 0])
        axes = figure.axes[0]
        for name, rows in runs.items():
            y = axes.transData.transform((0, rows[-1]["validation"]))[1]
            assert boxes[name].y0 < y < boxes[name].y1
            assert boxes[name].x0 > axes.get_window_extent().x1


def test_given_ends_fix_the_axes():
    fixed = {"xlim": (1, 31), "ylim": (0.5, 4), "kl_ylim": (0, 9)}
    frames = [
        history({"rank1": run(seed, epochs, kl)}, **fixed)
        for seed, epochs, kl in ((0, 23, 0.0), (1, 11, 7.0), (2, 31, 200.0))
    ]
    first = limits(frames[0])
    assert all(limits(frame) == first for frame in frames)
    assert [axes.get_ylim() for axes in frames[0].axes] == [(0.5, 4), (0, 9)]
    assert frames[0].axes[0].get_xlim() == (1, 31)


def test_no_ring_stands_outside_its_panel():
    rows = run()
    ((x, y),) = rings(history({"a": rows}).axes[0])
    assert not rings(history({"a": rows}, ylim=(y + 0.1, 9)).axes[0])
    assert not rings(history({"a": rows}, ylim=(0, y - 0.1)).axes[0])
    assert not rings(history({"a": rows}, xlim=(1, x - 1)).axes[0])


def test_the_first_epochs_do_not_stretch_the_axis():
    rows = run(epochs=50)
    rows[0]["nll"] = rows[1]["validation"] = 1e6
    low, high = history({"a": rows}).axes[0].get_ylim()
    late = np.concatenate([column(rows[5:], name) for name in ("nll", "validation")])
    assert low < late.min() and late.max() < high < 2 * late.max()


def test_it_shows_what_fit_returns():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (19, 1))
    net = en.mlp([1, 5, 1], "rank1", 3, rng=rng)
    rows = en.fit(
        net, x, x**2, en.half_squared_error, rng=rng, epochs=3, batch_size=7, validation=(x, x**2)
    )
    figure = history({"rank1": rows})
    assert len(figure.axes) == 2
    np.testing.assert_array_equal(figure.axes[1].lines[0].get_ydata(), column(rows, "kl"))


LONG = "one network of as many parameters as four others have together"


@pytest.mark.parametrize(
    ("number", "epochs", "scale"), [(1, 1, 1e-5), (1, 1009, -3e6), (8, 2, -3e6), (8, 101, 1e-5)]
)
def test_it_can_be_read(number, epochs, scale):
    names = [*METHODS, LONG][-number:]
    runs = {name: run(i, epochs, 1e4 * i, scale=scale) for i, name in enumerate(names)}
    if epochs > 100:
        readable(lambda: history({name: [rows, rows[:1]] for name, rows in runs.items()}))
    else:
        readable(lambda: history(runs, ylabel=LONG))


def test_the_same_figure_has_the_same_bytes():
    repeats(lambda: history({"a": run()}))


def without(name):
    return [{key: value for key, value in row.items() if key != name} for row in run()]


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: history({}), ValueError, "runs must be a mapping of names to rows of a training"),
        (lambda: history({"a": 3}), TypeError, r"runs\['a'\] must be rows of a training"),
        (lambda: history({"a": []}), TypeError, r"runs\['a'\] must be rows of a training"),
        (lambda: history({"a": [[]]}), TypeError, r"runs\['a'\]\[0\] must be rows of a training"),
        (lambda: history({"a": [run(), 3]}), TypeError, r"runs\['a'\]\[1\] must be rows of a"),
        (lambda: history({"a": [[3]]}), TypeError, r"runs\['a'\]\[0\]\[0\] must be a row"),
        (lambda: history({"a": without("kl")}), ValueError, r"runs\['a'\]\[0\] must have 'kl'"),
        (
            lambda: history({"a": [*run(), *run(validated=False)]}),
            ValueError,
            r"runs\['a'\]\[23\] must have 'validation'",
        ),
        (
            lambda: history({"a": [run(), run(validated=False)]}),
            ValueError,
            r"runs\['a'\] must have validation in all seeds or in none",
        ),
        (
            lambda: history({"a": run(scale=float("nan"))}),
            ValueError,
            r"runs\['a'\]\[0\]\['nll'\] must be a finite number",
        ),
        (
            lambda: history({"a": run()}, colors={"b": "single"}),
            ValueError,
            r"colors must name entries of runs, got \['b'\]",
        ),
        (lambda: history({"a": run()}, ylim=(2, 1)), ValueError, "ylim must rise"),
        (lambda: history({"a": run()}, kl_ylim=(2, 1)), ValueError, "kl_ylim must rise"),
        (lambda: history({"a": run()}, xlim=3), TypeError, "xlim must be a sequence of 2"),
        (lambda: history({"a": run()}, ylabel=3), TypeError, "ylabel must be a string"),
    ],
)
def test_bad_input(call, kind, message):
    with pytest.raises(kind, match=message):
        call()
