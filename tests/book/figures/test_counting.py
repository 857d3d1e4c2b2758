"""What the figures of *Counting* are given they draw, and their sentences say what follows."""

import itertools
import re

import numpy as np
import pytest
from bs4 import BeautifulSoup

from ensedu import counting
from ensedu import numpy as en
from ensedu.methods import METHODS, size_option
from tests.book.figures.shown import check
from workshop.experiments.averaging import ByStart
from workshop.figures import cheat_sheet, intro
from workshop.figures.counting import batch_ensemble, comparison, deep_ensemble
from workshop.figures.counting import fully_connected as connected
from workshop.figures.counting import rank_1_bnn as inside
from workshop.plot.inside import SAMPLES, SHAPES

RNG = np.random.default_rng(0)
X = np.linspace(-4.6, 4.6, 31)
POINTS = np.array([[-2.0], [3.0]]), np.array([[0.5], [-0.7]])
START = connected.Start(
    X, POINTS,
    {0: connected.Learned(0 * X, 0.5), 1000: connected.Learned(0 * X + 0.2, 0.4)},
    {0: connected.Learned(X / 5, 1.25), 1000: connected.Learned(np.sin(X), 0.0123)}, 0.02,
)  # fmt: skip
FALLING = [2.0 ** (-k * np.arange(9)) for k in (0, 0.5, 1)]
CURVES = np.stack([np.sin(X) + shift for shift in (-0.5, -0.1, 0.1, 0.3)])
AVERAGE = deep_ensemble.Average(
    ByStart(
        X, np.sin(X), (np.array([-2.0, 3.0]), np.array([0.5, -0.7])), {},
        {"different": CURVES, "same": np.repeat(CURVES[:1], 4, axis=0)},
    ),
    {1: 0.21, 2: 0.14, 4: 0.1},
)  # fmt: skip
OWN = {(M, h): RNG.uniform(-0.5, 0.5, (M, h, h)) for M in (1, 3) for h in (2, 5)}
MATRICES = deep_ensemble.Matrices(OWN)
W = np.arange(1.0, 21).reshape(4, 5) % 7 + 0.5
FACTOR = 1.0 * np.outer([1, 2, -1, 1], [1, -1, 1, 2, 1])
RANK = batch_ensemble.Rank({"near": {"W₁": W * FACTOR, "W₁ / W": FACTOR}})
MEAN, STD = RNG.standard_normal((3, 5)) / 4, RNG.uniform(0.1, 0.3, (3, 5))
DRAWS = {name: MEAN + STD * RNG.standard_normal((2, 3, 5)) / 2 for name in ("rank1", "mean_field")}
DISTRIBUTION = inside.Distribution(MEAN, STD, DRAWS)
M, OUTS, DEPTHS = 4, [2, 4, 64], [1, 2, 9]


def layer(method, m, n, side):
    return counting.layer(m, n, method, **size_option(method, M), kernel_size=side).total


def network(method, width, depth):
    return counting.mlp([1, *[width] * depth, 1], method, **size_option(method, M)).total


def by_method(count, over):
    return {name: [count(name, one) for one in over] for name in comparison.SHARING}


KERNELS = comparison.Kernels(OUTS, {
    (m, side): by_method(lambda name, n, m=m, side=side: layer(name, m, n, side), OUTS)
    for m in (1, 16) for side in (1, 5)
}, M)  # fmt: skip
DEEP = comparison.Depths(DEPTHS, {
    width: by_method(lambda name, d, width=width: network(name, width, d), DEPTHS)
    for width in (50, 500)
}, M)  # fmt: skip
TIMES = [network("rank1", 50, d) / network("single", 50, d) for d in DEPTHS]
CASES = {
    "both starts": (
        START, (1000,), "0.400 from the equal start, 0.012 from the random one.",
        START.equal[1000].curve, START.random[1000].curve,
    ),
    "a signal": (
        connected.Signal({50: FALLING, 200: FALLING[::-1]}, 6), (50,),
        "ReLU leave 0.0039, without activation 0.062, with ReLU from a wider start 1.0.", *FALLING,
    ),
    "an average of its own members": (
        AVERAGE, (2, "different"), "2 members has a squared error of 0.140, one member 0.210.",
        CURVES[:2].mean(axis=0), *CURVES[:2],
    ),
    "one member": (AVERAGE, (1, "different"), "One member. Its mean squared error", CURVES[0]),
    "one curve": (AVERAGE, (4, "all the same"), "all members stay one curve", CURVES[0]),
    "one matrix": (MATRICES, (1, 5), "one matrix of 25 weights.", *OWN[1, 5]),
    "three matrices": (MATRICES, (3, 5), "3 members store 75 weights", *OWN[3, 5]),
    "ranks": (
        RANK, ("near",), f"W₁ has rank {np.linalg.matrix_rank(W * FACTOR)}, W₁ / W has rank 1.",
        W * FACTOR, FACTOR,
    ),
    "rank-1 draws": (DISTRIBUTION, ("rank-1",), "", *DRAWS["rank1"]),
    "other draws": (DISTRIBUTION, ("mean-field",), "without a pattern", *DRAWS["mean_field"]),
    "depths": (
        DEEP, (50,), "a deep ensemble holds 4.00 times one network's numbers, a BatchEnsemble 1.24",
        TIMES,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_figure_says_and_draws_what_it_is_given(case):
    check(*CASES[case])


def test_a_network_says_the_count_of_its_parts():
    shown = connected.Network()
    for width, depth in itertools.product(*shown.choices.values()):
        sizes = shown.sizes(width, depth)
        said = shown.say(width, depth)
        assert f" {counting.mlp(sizes).total:,} numbers" in said
        inner = sum(m * n for m, n in itertools.pairwise(sizes[1:-1]))
        assert said.endswith(f" {inner:,} of them as weights between hidden layers.")


def test_a_batch_ensembles_members_start_as_is_said():
    shown = batch_ensemble.Members()
    for init, size, h in itertools.product(*shown.choices.values()):
        own = shown.layers[init, size, h]
        assert own["weight"].shape == (h, h) and own["r"].shape == own["s"].shape == (size, h)
        assert (set(np.abs(own["r"]).ravel()) == {1.0}) == (init == "signs")
        said = shown.say(init, size, h)
        assert said.startswith(f"The {size} members share {h * h} weights, ")
        assert f"{own['r'][0].size + own['s'][0].size} numbers" in said


def test_a_weight_says_where_its_draws_lie():
    weight, draws = inside.Weight(draws=7, seed=3), np.random.default_rng(3).standard_normal(7)
    low, high = (f"{-1 + 0.5 * end:.1f}".replace("-", "−") for end in (draws.min(), draws.max()))
    assert f"7 draws lie between {low} and {high}," in weight.say(-1.0, 0.5)


@pytest.mark.parametrize(("m", "side"), KERNELS.counts)
def test_sharing_saves_from_where_it_says(m, side):
    """The first number of output channels, by counting."""
    said = KERNELS.say(m, side).partition("deep ensemble: ")[2]
    for part, name in zip(said.rstrip(".").split(", "), ("batch_ensemble", "rank1"), strict=True):
        saving = [n for n in range(1, 200) if layer(name, m, n, side)
                  < layer("deep_ensemble", m, n, side)]  # fmt: skip
        word = f"from {saving[0]} output channels on" if saving else "never"
        assert part == f"{METHODS[name].label} {'always' if saving[:1] == [1] else word}"


def test_totals_are_those_of_the_network_and_up_to_so_many_times_as_is_said():
    shown = comparison.Totals()
    assert shown.say(**shown.start) == (
        "A deep ensemble of 4 holds 4.00 times as many numbers as one network, a BatchEnsemble "
        "1.41 times."
    )
    ratios = []
    for case in itertools.product(*shown.choices.values()):
        counts = shown.of(*case)
        ratios.append(max(count.total for count in counts.values()) / counts["single"].total)
    assert f"up to {max(ratios):.0f} times" in comparison.RESCALED


@pytest.mark.parametrize(("method", "kind"), [
    ("single", en.Linear), ("deep_ensemble", en.DeepEnsembleLinear), ("rank1", en.Rank1Linear),
    ("batch_ensemble", en.BatchEnsembleLinear), ("mean_field", en.MeanFieldLinear),
])  # fmt: skip
def test_parts_of_the_introduction_are_arrays_of_a_layer_with_its_standard_deviations(method, kind):
    layer = kind(3, 5, *[2] * bool(METHODS[method].members), rng=np.random.default_rng(0))
    parts = intro.parts_of(layer)
    assert set(parts) == set(SHAPES[method]) - set(SAMPLES)
    for name, part in parts.items():
        raw = layer.params[name.replace("_std", "_rho")]
        raw = np.log1p(np.exp(raw)) if name.endswith("_std") else raw
        np.testing.assert_allclose(part, raw, rtol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_the_cheat_sheets_formula_is_the_count(method):
    """Of a layer with the given letters; a body is counted apart."""
    formula = cheat_sheet.formula
    if METHODS[method].body:
        assert formula(method) == f"last layer {formula('deep_ensemble')}"
        return
    said = re.sub(r"(?<=[Mmn\d])(?=[Mmn(])", "*", formula(method))
    counted = counting.layer(5, 7, method, **size_option(method, 3))
    assert eval(said, {"M": 3, "m": 5, "n": 7}) == counted.total


def test_operations_are_multiples_of_those_of_one_network():
    def times(method, number, *, backward):
        return cheat_sheet.times(method, [3, 7, 5], number, 11, backward=backward)

    for backward in (True, False):
        assert times("single", 4, backward=backward) == 1
        assert times("deep_ensemble", 4, backward=backward) == 4
        assert 4 < times("batch_ensemble", 4, backward=backward) < 5
    # A step of training draws once, a prediction so often as is asked for.
    for method in ("mean_field", "mc_dropout"):
        assert times(method, 4, backward=True) == times(method, 8, backward=True) < 2
        assert 4 < times(method, 4, backward=False) < times(method, 8, backward=False)


def test_the_cheat_sheet_has_its_symbols_drawn_and_is_told_if_they_are_not_there():
    boxes = BeautifulSoup(cheat_sheet.drawn("rank1"), "html.parser").find_all("i")
    assert [(one.get_text(), one.get("class")) for one in boxes] == [
        ("W", ["shared", "square"]), ("∘", None), ("ri", ["random", "high"]),
        ("siT", ["random", "wide"]),
    ]  # fmt: skip
    rows = {method: {"member i": cheat_sheet.made(method)} for method in METHODS}
    rows = {method: row | {"to train": 1.0, "to predict": 2.5} for method, row in rows.items()}
    assert all(cheat_sheet.drawn(method) in cheat_sheet.sheet(rows).html() for method in METHODS)
    rows["deep_ensemble"]["member i"] = "W"
    with pytest.raises(ValueError, match="'Wᵢ' once for 'deep_ensemble'"):
        cheat_sheet.sheet(rows).html()
