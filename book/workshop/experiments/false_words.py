"""How often four tests find what is not there, in contests like ours in which nobody is better.

The differences of the contest's rivals, without a temperature, are shifted so that no rival is
better: until the median of each is 0, which is what a word by signs denies, or its mean, which is
what a t-test denies; or each source is turned by a coin, so that they are as skewed to both sides.
They are cut at 3 units before, as the t-tests of the book's second edition had them. Sources are
then drawn anew, with all rivals together. Counted are the contests in which some rival has a word:
by signs, with Bonferroni's correction, as `ensedu.uncertainty.pooling` has it; by t-tests and by
Wilcoxon's signed ranks, with Holm's; and by sign flips of the largest t over rivals (Westfall and
Young 1993). Of rivals that *are* better, by 0.8 standard deviations, the part that is found is
counted.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array
from numpy.random import Generator

from ensedu.common.checks import optional
from ensedu.uncertainty import holm
from ensedu.uncertainty.pooling import ALPHA
from workshop.experiments.contest import reading
from workshop.running.experiment import Experiment

#: How rivals differ from one network: in truth by nothing, but for the last.
LUCK = ("coin", "median 0", "mean 0", "shifted")
#: How far the shifted are, in standard deviations, and at how many units a difference is cut.
SHIFT, CUT = 0.8, 3.0
#: The luck under which words are found, and not false.
FOUND = "shifted"

Differences = Float[Array, "rivals k"]


def by_signs(d: Differences, rng: Generator) -> Float[Array, " rivals"]:
    """Return adjusted p-values of sign tests."""
    k = d.shape[1]
    lower = (d < 0).sum(axis=1)
    fewer = np.minimum(lower, k - lower)
    p = 2 * optional("scipy.stats", "scores").binom.cdf(fewer, k, 0.5)
    return np.minimum(1, len(d) * p)


def by_t(d: Differences, rng: Generator) -> Float[Array, " rivals"]:
    """Return those of t-tests."""
    return holm(optional("scipy.stats", "scores").ttest_1samp(d, 0, axis=1).pvalue)


def by_ranks(d: Differences, rng: Generator) -> Float[Array, " rivals"]:
    """Return those of Wilcoxon's."""
    return holm(optional("scipy.stats", "scores").wilcoxon(d, axis=1, method="exact").pvalue)


def by_flips(d: Differences, rng: Generator, flips: int = 2047) -> Float[Array, " rivals"]:
    """Return those of the largest t over rivals, under flips of all signs of a source."""
    k = d.shape[1]
    signs = np.concatenate([np.ones((1, k)), rng.choice([-1.0, 1.0], (flips, k))])
    means = signs @ d.T / k
    t = abs(means) / np.sqrt((d**2).sum(axis=1) - k * means**2)
    return (t.max(axis=1)[:, None] >= t[0] - 1e-9).mean(axis=0)


TESTS: dict[str, Callable[[Differences, Generator], Float[Array, " rivals"]]] = {
    "signs": by_signs,
    "t": by_t,
    "ranks": by_ranks,
    "flips": by_flips,
}


def run(luck: str, *, contests: int) -> dict[str, Any]:
    """Return by test the part of contests with a false word, or of rivals that are found."""
    rng = np.random.default_rng([LUCK.index(luck), contests])
    found = reading.compared().values()
    d = np.clip([[*one.sources.values()] for one in found], -CUT, CUT)
    k, std = d.shape[1], d.std(axis=1, ddof=1, keepdims=True)
    center = np.median(d, axis=1) if luck == "median 0" else d.mean(axis=1)
    d = d - center[:, None] * (luck != "coin")
    counts = dict.fromkeys(TESTS, 0.0)
    for _ in range(contests):
        own = d[:, rng.integers(0, k, k)] + 1e-6 * rng.standard_normal(d.shape)  # without ties
        if luck in ("coin", FOUND):
            own = own * rng.choice([-1.0, 1.0], k)
        if luck == FOUND:
            own = own - SHIFT * std
        for name, test in TESTS.items():
            words = test(own, rng) <= ALPHA
            counts[name] += float(words.mean() if luck == FOUND else words.any())
    return {name: count / contests for name, count in counts.items()}


EXPERIMENT = Experiment(
    name="false-words",
    about="the part of contests in which some rival has a word, by test: signs, t, ranks, flips; "
    "under shifted, where all are better, the part of rivals that have one",
    budget="2,000 contests of the contest's own 18 sources, drawn anew; 2,047 flips each",
    cases=[{"luck": luck} for luck in LUCK],
    run=run,
    settings={"contests": 2000},
    digits=4,
)
