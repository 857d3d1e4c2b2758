"""What a reader guesses before a chapter shows it.

`GUESSES` holds a curve to draw for some chapters, by its page: the question, the axes, and what is
true. The first point is given. `CHOICES` holds the others' possible answers to their question. Both
repeat what the notebook asks, so that whoever asks something else there finds the answers here.
"""

import numpy as np

from workshop import measured
from workshop.experiments import deep_ensembles, uncertainty
from workshop.figures.cost.speed_and_memory import WIDE, Times
from workshop.page.computed import Guess

NOISE, PLACE = 0.2, "gap"
#: The examples that a layer was timed with.
BATCHES = 1, 8, 32, 256, 1024


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
    return times.of(WIDE, "batch_ensemble")


GUESSES = {
    "book/learning/deep-ensembles": Guess(
        asked="How much of the gain of the four does the larger network get: about a quarter, "
        "three quarters, or all of it?",
        question="Ten networks predict the strength of concrete, each trained from another random "
        "seed. The error (RMSE) of one of them counts as 100%. Draw the error of the average of "
        "two, of three, and so on up to ten.",
        key="Measured over 20 splits.",
        answer="Averaging removes only the mistakes that each network makes on its own. Most of "
        'the error they share. <a href="#fig-dt-members">This figure</a> shows both data sets.',
        title="error, % of one network's", xlabel="members", each="{} members",
        x=range(1, 11), log=False, top=115, ticks=(0, 25, 50, 75, 100), unit="%",
        truth=error_by_members,
    ),
    "book/learning/uncertainty": Guess(
        asked="What does this do, in the middle, to how far the five lie apart, and to the error "
        "of their average?",
        question="Five networks are trained on 30 points of a curve, none of them in its middle. "
        "There, in the middle, the five lie 0.24 apart (a standard deviation). Draw how far apart "
        "they lie with 120 points and with 480, again with none in the middle.",
        key="Measured over 20 data sets; dashed, the error of the average of the five.",
        answer="They agree more and more. But the error of their average does not clearly fall: "
        "they come to agree about something that none of them has seen. "
        '<a href="#fig-un-trained">This figure</a> shows it with intervals.',
        title="standard deviation, in the gap", xlabel="points to train on", each="{} points",
        x=uncertainty.NUMBERS, log=True, top=0.6, ticks=(0, 0.2, 0.4, 0.6),
        truth=lambda: trained("spread"), beside=lambda: trained("error"), method="doubt",
    ),
    "book/cost/speed-and-memory": Guess(
        asked="How many times as fast as four networks one after the other is it: 3 times, twice, "
        "or hardly faster at all?",
        question="Four members of a BatchEnsemble share a layer that is 1,024 wide. With one "
        "example at a time it is 2.2 times as fast as four networks one after the other. Draw how "
        "many times as fast it is with 8 examples at once, with 32, 256 and 1,024.",
        key="Measured on one thread.",
        answer="With one example the time goes into fetching weights, and there is one matrix to "
        "fetch instead of four. With many it goes into multiplications, and sharing saves none. "
        '<a href="#fig-sp-speed-up">This figure</a> shows other widths.',
        title="times as fast", xlabel="examples at once", each="{} examples",
        x=BATCHES, log=True, top=4, ticks=(0, 1, 2, 3, 4),
        truth=speed_by_examples, method="batch_ensemble",
    ),
}  # fmt: skip
#: By page: what its box asks, possible answers, and the place of the right one.
CHOICES = {
    "book/counting/fully-connected": (
        "How many times as many parameters does the network have then?",
        ("twice", "three times", "nearly four times"), 2,
    ),
    "book/counting/deep-ensemble": (
        "What do you gain over one network?",
        ("a lot", "a little", "nothing"), 2,
    ),
    "book/counting/batch-ensemble": (
        "How far can you change the matrix with these 100 numbers?",
        ("100 of its weights", "all, but not freely", "into any other one"), 1,
    ),
    "book/counting/rank-1-bnn": (
        "How random can you make the matrix with them?",
        ("100 weights, not more", "all, each by itself", "all, but in rows and columns"), 2,
    ),
    "book/counting/comparison": (
        "Which is smaller, a deep ensemble or a BatchEnsemble?",
        ("the deep ensemble", "the BatchEnsemble"), 0,
    ),
    "book/learning/more-from-one-network": (
        "How much of the gain do you get: next to nothing, half of it, or most of it? And does "
        "it matter that you let the learning rate fall to zero, as one usually does?",
        ("little, at any rate", "most, at any rate", "it depends on the rate"), 2,
    ),
    "book/learning/mc-dropout": (
        "How far apart are they now: a quarter as far, half as far, or as far as before?",
        ("a quarter as far", "half as far", "as far as before"), 2,
    ),
    "book/learning/batch-ensemble": (
        "Will its members differ more than before, or less? And will its score on new images be "
        "lower, or higher?",
        ("more, and lower", "more, and higher", "less, and lower", "less, and higher"), 1,
    ),
    "book/learning/bayes-by-backprop": (
        "Does this make slope and intercept seem more certain than they are, or less? And the "
        "height of the line among the points?",
        ("all more certain", "only the weights", "only the height"), 1,
    ),
    "book/learning/rank-1-bnn": (
        r"While the network learns the curve, does it become sure of these entries, so that "
        r"$\sigma$ shrinks? Or does $\sigma$ grow?",
        ("it shrinks", "it grows"), 1,
    ),
    "book/learning/bayesian-cnn": (
        "How often does the epistemic part make up more of the doubt in the letter?",
        ("half of the time", "three times in four", "nearly always"), 0,
    ),
    "book/learning/shootout": (
        "How often does the single network win: hardly ever, three times in ten, or half of the "
        "time?",
        ("hardly ever", "three times in ten", "half of the time"), 1,
    ),
    "book/theory/gradient-flow": (
        "Will they at width 16, too?",
        ("yes", "no"), 1,
    ),
    "book/theory/embedded-ensembles": (
        "Does the output of member 2 move, too?",
        ("always", "never", "it depends"), 2,
    ),
    "book/theory/width-and-ensemble-size": (
        "What happens to its {term}`NLL <negative log-likelihood>`, and how well do its members "
        "fit the images that they were trained on?",
        ("it falls, they fit better", "it falls, they fit worse", "it rises, they fit worse"), 2,
    ),
    "book/theory/rank-1-perturbations": (
        "Can you reach the same covariance if you draw only 100 numbers, one for each row and "
        "one for each column, and multiply them?",
        ("yes", "no"), 1,
    ),
    "book/cost/choosing": (
        "Is there anything left that an ensemble does better?",
        ("no", "to hold more rows", "to be narrower"), 2,
    ),
}  # fmt: skip
