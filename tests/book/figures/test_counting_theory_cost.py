"""What figures of *Counting*, *Theory* and *Cost* are given they draw; their sentences follow."""

import re

import numpy as np
import pytest
from bs4 import BeautifulSoup

from ensedu import counting
from ensedu.contest.statistics import Pooled
from ensedu.methods import METHODS, size_option
from tests.book.looking import check, drawn, holds
from workshop import plot
from workshop.figures import cheat_sheet
from workshop.figures.cost import choosing
from workshop.figures.cost import speed_and_memory as speed
from workshop.figures.counting import comparison
from workshop.figures.counting import rank_1_bnn as law
from workshop.figures.theory import embedded_ensembles as embedded
from workshop.figures.theory import gradient_flow as flow
from workshop.figures.theory import rank_1_perturbations as perturbed
from workshop.figures.theory import width_and_ensemble_size as width

DICE, RNG = np.random.default_rng(0), np.random.default_rng(0)
MEAN, STD = DICE.standard_normal((3, 5)) / 4, DICE.uniform(0.1, 0.3, (3, 5))
DRAWS = {name: MEAN + STD * DICE.standard_normal((2, 3, 5)) / 2 for name in ("rank1", "mean_field")}
DISTRIBUTION = law.Distribution(MEAN, STD, DRAWS)
DEPTHS = [1, 2, 9]


def network(method, width, depth):
    return counting.mlp([1, *[width] * depth, 1], method, **size_option(method, 4)).total


NETWORKS = comparison.Depths(DEPTHS, {
    width: {name: [network(name, width, d) for d in DEPTHS] for name in comparison.SHARING}
    for width in (50, 500)
}, 4)  # fmt: skip
STORED = [network("rank1", 50, d) / network("single", 50, d) for d in DEPTHS]

ANGLES, TARGETS = np.array([-90.0, 30.0]), np.array([0.5, -1.0])
GRID = np.arange(-180.0, 181.0, 30.0)
WAVE = np.sin(np.radians(GRID))
FIRST = flow.First(ANGLES, TARGETS, 1, GRID, (0, 4), {
    h: [
        (WAVE, TARGETS + 0.3, WAVE, 1 + WAVE / 2),
        (2 * WAVE, TARGETS - 0.1, 2 * WAVE + 1 / h, 1 + WAVE / 3),
    ]
    for h in (5, 20)
}, {}, 0.1)  # fmt: skip
ANGLE = np.linspace(-100, 100, 20) + np.linspace(0, 15, 3)[:, None]
ADDS = np.linspace(-4, 5, 20) * np.array([1.0, 1.2, 1.5])[:, None]
UNITS = flow.Units({16: (ANGLE, ADDS), 1024: (ANGLE[:1] + np.zeros((3, 1)), ADDS)})

X = np.linspace(-4, 4, 11)
BEFORE = np.stack([np.sin(X), -np.cos(X)])
WAY = np.stack([np.full(11, 0.8), np.full(11, 0.2)])
PULL = embedded.Pull(X, (0, 1, 7), {
    mean: np.stack([BEFORE, BEFORE + WAY / 2, BEFORE + (1 + mean) * WAY]) for mean in (0, 0.5)
}, (np.array([-1.0, 2.0]), np.array([0.3, -0.7])))  # fmt: skip
SIGNS = np.array([[0.3, -0.3], [0.1, -0.1], [0.03, -0.03]])
CHI = embedded.Chi(
    (8, 32, 128), {"random signs": SIGNS, "dropout, rate 0.5": np.full((3, 2), 0.2)},
    {"random signs": 0.0, "dropout, rate 0.5": 0.21},
)  # fmt: skip
REAL = np.array([[-0.5, 0.4], [0.2, 0.9], [0.9, 1.1], [1.0, 1.0]])
GAMMAS = {"sum of losses": 2, "mean of losses": 1}
SPEEDS = embedded.Speeds(
    {(mean, on): (REAL, REAL + 0.01) for mean in (0, 0.5) for on in GAMMAS}, GAMMAS, 1.0
)
LEARNED = embedded.Learned(
    X, {0: np.stack([X / 4, X / 8]), 1: np.stack([X / 4, X / 4])}, {0: 0.4, 1: 0.0},
    (np.array([0.0]), np.array([0.0])),
)  # fmt: skip

BATCH, DEEP, MEMBERS = "batch_ensemble", "deep_ensemble", (1, 2, 4, 8)
WIDTHS = {"digits": (16, 64, 256), "mnist5000": (16, 64, 256), "convolution": (4, 8)}


def nll(task, method, h, m):
    """A BatchEnsemble is best with 2 members in the narrowest layers, with 4 elsewhere."""
    narrow = h == WIDTHS[task][0]
    own = 0.1 / m if method == DEEP else 0.03 * abs(np.log2(m) - (1 if narrow else 2))
    return 0.1 + own + 0.1 * narrow


NLL = {
    (task, method, h): {m: nll(task, method, h, m) for m in MEMBERS}
    for task, widths in WIDTHS.items() for method in (BATCH, DEEP) for h in widths
}  # fmt: skip
TITLES = "member, training, points", "ensemble, NLL"
GAP = width.Gap(
    {
        m: {
            TITLES[0]: {"width 16": (-m - 1.0, -m, 1.0 - m), "width 256": (-0.5, 0.04, 0.5)},
            TITLES[1]: {"width 16": (0.01, 0.02 * m, 0.04 * m), "width 256": (-0.1, 0.0, 0.1)},
        }
        for m in (2, 8)
    },
    {2: {title: [] for title in TITLES}, 8: {TITLES[0]: ["width 16"], TITLES[1]: []}},
)
OTHERS = {2: np.array([0.1, 0.06]), 8: np.array([0.27, 0.12])}

CLOUD = RNG.standard_normal((40, 2))
CLOUD = (CLOUD - CLOUD.mean(axis=0)) @ np.linalg.inv(np.linalg.cholesky(np.cov(CLOUD.T)).T)
TURN = np.array([[0.6, 0.8], [-0.8, 0.6]])
CLOUDS = perturbed.Clouds({
    size: {
        "full": CLOUD, "rank-1": CLOUD,
        "independent entries": size * CLOUD * [1.5, 0.5] @ TURN + 0.25,
    }
    for size in (0.1, 1.0)
})  # fmt: skip
OFF = {
    state: {
        name: scale * (place + 1) * np.outer([0.9, 1, 1.1], [0.001, 0.01, 0.1])
        for place, name in enumerate(perturbed.CURVES)
    }
    for state, scale in {"at the minimum": 1.0, "halfway down": 2.0}.items()
}

RATIOS = {
    (1024, 1): {"single": 0.14, "deep_ensemble": 0.96, "batch_ensemble": 0.46},
    (1024, 256): {"single": 0.25, "deep_ensemble": 0.99, "batch_ensemble": 0.98},
}
TIMES = speed.Times([
    {"m": h, "B": B, "forward": {k: {"ratio": [0.9 * r, r, 1.1 * r]} for k, r in own.items()}}
    for (h, B), own in RATIOS.items()
])  # fmt: skip
STEPS = [1, 8, 513]


def kept(method, h, batch, members):
    """Made up, and less for a BatchEnsemble."""
    return (100 if method == "deep_ensemble" else 30) * h * members + batch


EARLIER, NOW = FIRST.found[20]
CASES = {
    "rank-1 samples": (DISTRIBUTION, ("rank-1",), "They move together.", *DRAWS["rank1"]),
    "other samples": (DISTRIBUTION, ("mean-field",), "moves for itself", *DRAWS["mean_field"]),
    "depths": (
        NETWORKS, (50,), "a deep ensemble stores 4.00 times one network’s parameters, a "
        "BatchEnsemble 1.24 times", STORED,
    ),
    "points pull": (
        FIRST, (4, 20), "the network is 0.10 from the data (root mean square), and the dashes up "
        "to 0.05 off.", NOW[0], NOW[2], NOW[3], EARLIER[3],
    ),
    "units turn": (UNITS, (16,), "these units turn by 15°", ANGLE[:, 3], ADDS[:, 3]),
    "units stay": (UNITS, (1024,), "these units turn by 0°"),
    "before training": (PULL, (0, 0.5), "Two members before training", *BEFORE),
    "after one step": (
        PULL, (1, 0), "After 1 step the trained member has moved by 0.40, and the other by 0.10",
        *(BEFORE + WAY / 2),
    ),
    "after seven": (
        PULL, (7, 0.5), "After 7 steps the trained member has moved by 1.20, and the other by 0.30",
        *(BEFORE + 1.5 * WAY), *BEFORE,
    ),
    "χ": (CHI, (), "0.30 off 0 at width 8 (root mean square), 0.03 at 128.", *SIGNS.T),
    "rates": (  # (1 + 0.25) γ / 2 and (1 - 0.25) γ / 2
        SPEEDS, (0.5, "mean of losses"), "0.62 times the rate of one member alone, the difference "
        "0.38 times.", *REAL.T, *(REAL + 0.01).T,
    ),
    "ends": (
        LEARNED, (0,), "at both ends members are 0.40 from their average", X / 4, X / 8, 3 * X / 16
    ),
    "a line is a width": (
        width.Carried(NLL), ("digits",), "has its least NLL with 2 members, the widest with 4.",
        *([*NLL["digits", m, 64].values()] for m in (BATCH, DEEP)), [2], [4],
    ),
    "others pull": (
        width.Pull((16, 64), OTHERS, 0.4), (), "With 8 members the others add 0.27 of a member's "
        "own pull in the narrowest layers, 0.12 in the widest.", *OTHERS.values(),
        *(0.4 * np.sqrt((m - 1) / np.array([16, 64])) for m in OTHERS),
    ),
    "gaps": (
        GAP, (8,), "At width 16 members are 8.0 points worse on their training images, in the "
        "widest layers 0.0.", [-9, -7], [-8],
    ),
    "clouds": (
        CLOUDS, (1.0, "independent entries"), "move the score by 1.24, full noise by 1.00.",
        *CLOUD.T,
    ),
    "a curve in its band": (  # 2 (place + 1) 0.01
        perturbed.Apart((0.01, 0.1, 1.0), OFF), ("halfway down",), "at size 0.1: rank-1 is 4% off, "
        "independent entries 8%.", *np.concatenate([*OFF["halfway down"].values()]),
    ),
    "times are medians": (
        TIMES, (1024,), "takes 0.96 times as long as four networks in turn, a BatchEnsemble 0.46",
        *([RATIOS[1024, B][name] for B in (1, 256)] for name in RATIOS[1024, 1]),
    ),
    "memory": (
        speed.Memory(STEPS, kept), (512, 4), "keeps 30% of a deep ensemble's bytes with one",
        [kept("batch_ensemble", 512, B, 4) / kept("deep_ensemble", 512, B, 4) for B in STEPS],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_figure_says_and_draws_what_it_is_given(case):
    check(*CASES[case])


def test_the_best_number_of_members_is_that_of_the_least_nll():
    assert width.Carried(NLL).best("convolutions", BATCH) == {4: 2, 8: 4}


def test_what_is_clear_is_full():
    for members, full in ((2, 0), (8, 1)):
        figure = drawn(lambda members=members: GAP.draw(members))
        marks = [
            line.get_markerfacecolor() for axes in figure.axes for line in axes.lines
            if line.get_marker() == plot.MARKERS[BATCH]
        ]  # fmt: skip
        assert marks.count(plot.PALETTE[BATCH]) == full


def test_an_ellipse_is_two_standard_deviations_of_its_points():
    full, free = drawn(lambda: CLOUDS.draw(1.0, "independent entries")).axes[0].patches
    np.testing.assert_allclose([full.width, full.height, *full.center], [4, 4, 0, 0], atol=1e-9)
    np.testing.assert_allclose([free.width, free.height, *free.center], [6, 2, 0.25, 0.25])
    # Its long axis points along the first row of the turn.
    np.testing.assert_allclose(np.tan(np.radians(free.angle)), 0.8 / 0.6)


def test_what_is_left_of_the_speed_is_the_formula_in_its_units():
    seen = []
    half = speed.Projected(lambda *given: seen.append(given) or 1 / (1 + given[2] * given[0]), {})
    values = 0.1, 10, "in a ring"
    state = dict(zip(half.choices, values, strict=True))
    found = half.numbers(*values)
    assert holds(drawn(lambda: half.draw(**state)), found["left"])
    assert f"keeps {found['at']:.0f}% among 1,024" in half.say(**state)
    assert (2, 1e8, pytest.approx(1e-5), "in a ring") in seen


def test_a_budget_pays_for_whom_no_price_is_above_it():
    words = {"swag": "unclear", "deep_ensemble": "better", "linear": "worse", "rank1": "better"}
    prices = {"swag": (22, 1, 32), "deep_ensemble": (4, 1.41, 4), "linear": (0.01, 0.02, None),
              "rank1": (1.48, 3.73, 32)}  # fmt: skip
    of = {
        name: dict(zip(("kept", "train_seconds", "passes"), prices[name], strict=True))
        for name in words
    }
    beside = {
        name: Pooled(middle=k, low=k - 1, high=k + 1, p=0.01, adjusted=0.03, word=word, sources={},
                     tasks=())
        for k, (name, word) in enumerate(words.items())
    }  # fmt: skip
    budget = choosing.Budget(beside, of)
    for limits, left, better in (
        ((1, 1, 1), 1, "none of them for sure"), ((4, 2, 4), 2, "deep ensemble"),
        ((1.5, 4, 32), 2, "rank-1 BNN"), ((22, 6.5, 32), 4, "deep ensemble, rank-1 BNN"),
    ):  # fmt: skip
        state = dict(zip(budget.choices, limits, strict=True))
        assert budget.say(*limits) == (
            f"You can pay for {left} of 4. Better than one network: {better}."
        )
        figure = drawn(lambda state=state: budget.draw(**state))
        lines = [line for axes in figure.axes for line in axes.lines]
        covered = {float(one.get_ydata()[0]) for one in lines if one.get_label() == "_cover"}
        assert len({y for y in covered if y == y}) == 4 - left


def test_how_many_rows_lie_inside_is_said_and_drawn_in_percent():
    inside = np.array([0.9, 0.654]), np.linspace(0.98, 0.8, 5)
    said = choosing.say_ends(*inside)
    assert "65% of the rows" in said and "80% of the strongest" in said
    ends = drawn(lambda: choosing.draw_ends([0.0, 0.5], *inside))
    assert list(ends.axes[0].lines[0].get_ydata()) == [90, 65.4]


@pytest.mark.parametrize("method", cheat_sheet.WORDS)
def test_the_cheat_sheets_areas_are_the_count(method):
    """Of a square layer whose sides are those of the picture; what is computed is not stored."""
    drawn = BeautifulSoup(cheat_sheet.picture(method, 3), "html.parser").find_all("rect")
    areas = [
        int(one["width"]) * int(one["height"]) for one in drawn if one["class"] != ["computed"]
    ]
    counted = counting.layer(*2 * [cheat_sheet.SIDE], method, **size_option(method, 3))
    assert sum(areas) == counted.total * cheat_sheet.UNIT**2


@pytest.mark.parametrize("method", [key for key in METHODS if not METHODS[key].body])
def test_the_cheat_sheets_formula_is_the_count(method):
    said = re.sub(r"(?<=[Mmn\d])(?=[Mmn(])", "*", cheat_sheet.formula(method))
    counted = counting.layer(5, 7, method, **size_option(method, 3))
    assert eval(said, {"M": 3, "m": 5, "n": 7}) == counted.total
