"""The contest: the one experiment that says which method is better, on 18 independent sources.

The protocol was fixed, and committed, before the first row; numbers that it needed were chosen on
two tables that are not in it, Sacramento and attrition of modeldata, by the rows to select on.

- **Tasks**: `workshop.experiments.contest.tasks`, nine sources of numbers and nine of classes.
- **Parts**: five splits of each task. A fifth of the rows is to test on, each row
  once; of the others 55 parts are to fit on, 15 to select on, 10 to calibrate on. Rows that belong
  together stay together. Inputs and targets are standardized by the rows to fit on.
- **Networks**: two hidden layers of 50 units, 100 for MNIST, or LeNet-5; ensembles have four
  members; what draws is run 32 times for a forecast, by all members together. One larger network
  has the parameters of four; another may choose to train four times as long. TabM is as its package
  makes it, of this depth and width: 32 members, a head each, dropout of 0.1 in training. It takes
  vectors, and stays away from LeNet-5.
- **Training**: Adam, batches of 32, a rate that falls to 0 as a cosine, about 1,000 steps at most
  (whole epochs), 400 of LeNet-5. One training has one thread. All members of an ensemble see the
  same batches.
- **Choosing**: on each split each contestant tries six settings at three lengths, an eighth, 35 %
  and all of the steps, each with its own cosine. A setting is one of three rates (of mean-field
  two; IVON has rates of its own) and one of two values of a regularizer: weight decay; for
  mean-field three weights of the KL; for IVON the prior's precision; for boosting, whose length is
  its rounds, a penalty; the linear model has six penalties, and one length. What has the least NLL
  of the combined prediction on the rows to select on is taken. No row to test on is ever used to
  choose.
- **What else**: SWAG's Gaussian is put around 20 weights of the last third of a training; Laplace's
  around the last layer at its end, and its noise in a regression is one number, as is that of
  boosting and of the linear model.
- **Scoring**: four fresh starts of what was chosen (one of boosting and of the linear model, which
  have no seed), on the rows to test on. A temperature, one factor of the variance, and conformal
  intervals see the rows to calibrate alone.
- **Fixed beforehand**: dropout of 0.1, with a mask for each example in training; signs for
  BatchEnsemble; priors N(1, 0.3²) of a rank-1 BNN and N(0, 1) of mean-field; Laplace's precision
  follows by marginal likelihood.
- **Words**: a unit of a task is how far luck moves one comparison: the standard deviation of the
  difference of two trainings on one split, the median over all pairs of contestants. Tasks of one
  source are averaged, sources weigh alike, and one network's two copies are the reference. Better
  or worse is what a sign test over sources says at 5 %, its p-value times the number of rivals;
  practically equal an interval of the typical source within a quarter of a unit, unclear the rest:
  `ensedu.uncertainty.meta_analysis`. Like stands beside like: without a temperature, or with one
  each.
- **Why signs**: the second edition took t-tests and Holm's correction, and its differences are too
  skewed for them. In contests drawn from these rows in which no rival is better, signs alone kept
  to 5 %. They were chosen by that, and not by their words.
- **Changed**: a first protocol stopped trainings at their best epoch in the midst of a cosine. On
  concrete, breast cancer and part of digits, the rows to select on alone showed that a lucky epoch
  at a high rate was chosen, and that nearly all had chosen the highest rate. Those rows were thrown
  away, and this protocol was fixed. Scores of concrete and breast cancer on rows to test on had
  been seen by then, and chose nothing.
- **Added**: TabM, and the last two splits of LeNet-5, when all other rows had been seen. What TabM
  is was fixed before its first row. A table's ``later`` says when and where; seconds of these rows
  are times its ``clock``, which is below 1 where one network's own trainings took longer.
- **A test of the test**: one network takes part under a second name, too.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ensedu.contest.contestants import CONTESTANTS, REFERENCE, TABULAR
from ensedu.contest.one_split import run_split
from ensedu.contest.tasks import SPLITS
from workshop.experiments.contest.tasks import TASKS
from workshop.running.experiment import Experiment
from workshop.running.machine import one_thread

#: Two at half the width.
HALVES = {
    f"{name}_half": replace(one, label=f"{one.label}, ½ width", width_scale=0.5)
    for name, one in CONTESTANTS.items() if name in ("deep_ensemble", "batch_ensemble")
}  # fmt: skip
#: One network under another name, which is neither better nor worse.
AGAIN = {"again": replace(CONTESTANTS[REFERENCE], label="one network, again")}
#: Who stands in some table, in this order: with networks of half the width, and one network again.
IN_TABLES = CONTESTANTS | HALVES | AGAIN | TABULAR
#: The tasks on which networks of half the width take part, too.
HALVED = ("concrete", "digits")


def run(task: str, contestant: str, split: int) -> dict[str, Any]:
    """Return what a contestant is worth on a split of a task."""
    with one_thread():
        return run_split(TASKS[task](), contestant, IN_TABLES[contestant], split)


def _table(task: str) -> Experiment:
    return Experiment(
        name=f"contest/{task}",
        about="lists over starts, of the rows to test on: nll of the forecast, nats an example; "
        "classes: error in percent, brier, ece; numbers, in units of the target: rmse, crps, and "
        "coverage and width of the mixture's 90 % interval; auroc of its doubt, for "
        "out-of-distribution inputs; tempered, the same with one temperature; shifted, the same of "
        "shifted inputs; conformal, coverage and size; seconds of one thread to train and to "
        "predict. select_nll: of each setting at each length of select_epochs, of standardized "
        "targets; setting and epochs, a length, are those chosen; choose_seconds: all of them; "
        "rows to fit and to test on; num_stored: numbers that a forecast needs",
        budget="the protocol of workshop.experiments.contest",
        cases=[
            {"task": task, "contestant": name, "split": split}
            for split in range(SPLITS)
            for name in IN_TABLES
            if (task in HALVED or name not in HALVES) and (task != "lenet" or name not in TABULAR)
        ],
        run=run,
        digits=5,
    )


#: The table of each task.
TABLES: Mapping[str, Experiment] = {f"contest/{task}": _table(task) for task in TASKS}
