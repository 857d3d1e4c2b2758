"""What a reader guesses before a chapter shows it.

`GUESSES` holds a curve to draw for some chapters, by its page: the question, the axes, and what is
true. The first point is given. `CHOICES` holds the others' possible answers to their question.
"""

import numpy as np

from workshop import measured
from workshop.experiments import deep_ensembles, uncertainty
from workshop.figures.cost.speed_and_memory import Times
from workshop.page.computed.guessing import Guess

NOISE, PLACE = 0.2, "gap"
#: A layer in which memory is what one waits for, and the examples that it was timed with.
WIDE, BATCHES = 1024, (1, 8, 32, 256, 1024)


def error_by_members() -> list[float]:
    """Return the RMSE of one member to ten on concrete, in percent of that of one."""
    squared, _ = deep_ensembles.of_each_training(
        measured.load("deep-ensembles")["rows"], "concrete"
    )
    each = np.sqrt(squared).mean(axis=0)
    return list(100 * each / each[0])


def trained(part: str) -> list[float]:
    """Return the root mean square of the spread or the error, by number of points."""
    cells = (uncertainty.summary_cell(PLACE, n, NOISE) for n in uncertainty.NUMBERS)
    return [float(np.sqrt(cell[part][1])) for cell in cells]


def speed_by_examples() -> list[float]:
    """Return how many times as fast as four networks in turn a wide BatchEnsemble is."""
    times = Times(measured.load("speed-cpu")["headline"])
    return [1 / ratio for ratio in times.of(WIDE, "batch_ensemble")]


GUESSES = {
    "book/learning/deep-ensembles": Guess(
        question="Ten networks predict the strength of concrete, each trained from another random "
        "seed. The error (RMSE) of one of them counts as 100%. Draw the error of the average of "
        "two, of three, and so on up to ten.",
        key="Dots: your line. Blue: measured, over 20 splits.",
        answer="Averaging removes only the mistakes that each network makes on its own. Most of "
        'the error they share. <a href="#fig-dt-members">This figure</a> shows both data sets.',
        title="error, % of one network's", xlabel="members", each="{} members",
        x=range(1, 11), log=False, top=115, ticks=(0, 25, 50, 75, 100), unit="%",
        truth=error_by_members,
    ),
    "book/learning/uncertainty": Guess(
        question="Five networks are trained on 30 points of a curve, none of them in its middle. "
        "There, in the middle, the five lie 0.24 apart (a standard deviation). Draw how far apart "
        "they lie with 120 points and with 480, again with none in the middle.",
        key="Dots: your line. Red: measured, over 20 data sets. Gray: the error of their average.",
        answer="They agree more and more. But the error of their average does not clearly fall: "
        "they come to agree about something that none of them has seen. "
        '<a href="#fig-un-trained">This figure</a> shows it with intervals.',
        title="standard deviation, in the gap", xlabel="points to train on", each="{} points",
        x=uncertainty.NUMBERS, log=True, top=0.6, ticks=(0, 0.2, 0.4, 0.6),
        truth=lambda: trained("spread"), beside=lambda: trained("error"), method="doubt",
    ),
    "book/cost/speed-and-memory": Guess(
        question="Four members of a BatchEnsemble share a layer that is 1,024 wide. With one "
        "example at a time it is 2.2 times as fast as four networks one after the other. Draw how "
        "many times as fast it is with 8 examples at once, with 32, 256 and 1,024.",
        key="Dots: your line. Orange: measured on one thread.",
        answer="With one example the time goes into fetching weights, and there is one matrix to "
        "fetch instead of four. With many it goes into multiplications, and sharing saves none. "
        '<a href="#fig-sp-speed-up">This figure</a> shows other widths.',
        title="times as fast", xlabel="examples at once", each="{} examples",
        x=BATCHES, log=True, top=4, ticks=(0, 1, 2, 3, 4),
        truth=speed_by_examples, method="batch_ensemble",
    ),
}  # fmt: skip
#: By page: possible answers, and the place of the right one.
CHOICES = {
    "book/counting/fully-connected": (("twice", "three times", "nearly four times"), 2),
    "book/counting/deep-ensemble": (("a lot", "a little", "nothing"), 2),
    "book/counting/batch-ensemble": (
        ("100 of them", "all, to some matrices", "all, to any matrix"), 1,
    ),
    "book/counting/rank-1-bnn": (
        ("no, too few", "yes, each by itself", "yes, rows and columns together"), 2,
    ),
    "book/counting/comparison": (("the deep ensemble", "the BatchEnsemble"), 0),
    "book/learning/more-from-one-network": (
        ("little, at any rate", "most, at any rate", "it depends on the rate"), 2,
    ),
    "book/learning/mc-dropout": (("a quarter as far", "half as far", "as far as before"), 2),
    "book/learning/batch-ensemble": (
        ("more, and lower", "more, and higher", "less, and lower", "less, and higher"), 1,
    ),
    "book/learning/bayes-by-backprop": (
        ("all more certain", "only the weights", "only the height"), 1,
    ),
    "book/learning/rank-1-bnn": (("it shrinks", "it grows"), 1),
    "book/learning/bayesian-cnn": (("half of the time", "three times in four", "nearly always"), 0),
    "book/learning/shootout": (("hardly ever", "three times in ten", "half of the time"), 1),
    "book/theory/gradient-flow": (("yes", "no"), 1),
    "book/theory/embedded-ensembles": (("always", "never", "it depends"), 2),
    "book/theory/width-and-ensemble-size": (
        ("it falls, they fit better", "it falls, they fit worse", "it rises, they fit worse"), 2,
    ),
    "book/theory/rank-1-perturbations": (("yes", "no"), 1),
    "book/cost/choosing": (("no", "to hold more rows", "to be narrower"), 2),
}  # fmt: skip
