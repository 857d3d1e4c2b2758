"""The contest: the one experiment that says which method is better, on 18 independent sources.

The protocol was fixed, and committed, before the first row; numbers that it needed were chosen on
two tables that are not in it, `PILOTS`, by the rows to select on.

- **Tasks**: `ensedu.book.experiments.contest.tasks`, nine sources of numbers and nine of classes.
- **Parts**: five splits of each task. A fifth of the rows is to test on, each row once; of the
  others 55 parts are to fit on, 15 to select on, 10 to calibrate on. Rows that belong together stay
  together. Inputs and targets are standardized by the rows to fit on.
- **Networks**: two hidden layers of 50 units, 100 for MNIST, or LeNet-5; ensembles have four
  members; what draws is run 32 times for a forecast, by all members together. One larger network
  has the parameters of four; one trained longer has four times the epochs.
- **Training**: Adam, batches of 32, a rate that falls to 0 as a cosine, 1,000 steps, LeNet-5 400.
  On the pilots all but IVON were at their best before. One training has one thread.
- **Choosing**: on each split each contestant tries six settings, three rates and two values of one
  regularizer: weight decay; the weight of the KL for mean-field; for IVON rates of its own and the
  prior's precision; for boosting three rates and two penalties; for the linear model six penalties.
  A setting and its epoch, of 20 to 34 that are looked at and of LeNet-5's 8, are those with the
  least NLL of the combined prediction on the rows to select on. SWAG's Gaussian is put around the
  last third of the epochs up to the one that is looked at; Laplace takes its epoch from the network
  under it, and is judged as a whole; for boosting a round is an epoch. No row to test on is ever
  used to choose.
- **Scoring**: two fresh starts of what was chosen, trained to its epoch, on the rows to test on. A
  temperature, one factor of the variance, and conformal intervals see the rows to calibrate alone.
- **Fixed beforehand**: dropout of 0.1, signs for BatchEnsemble, priors N(1, 0.1²) of a rank-1 BNN
  and N(0, 1) of mean-field, IVON and Laplace (whose precision follows by marginal likelihood).
- **Words**: a unit of a task is the standard deviation of the NLL over splits and starts, the
  median over contestants: that of one network alone would make a skewed score look worse. A
  difference counts as 3 units at most; tasks of one source are averaged, sources weigh alike.
  Better or worse is what Holm's p-value of all contestants says at 5 %, practically equal an
  interval within a quarter of a unit, unclear the rest: `ensedu.contest.statistics`.
- **A test of the test**: one network takes part under a second name, too.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ensedu.book.experiments.contest.tasks import PILOTS, TASKS
from ensedu.contest.contestants import AGAIN, CONTESTANTS, HALVES
from ensedu.contest.rounds import choose, run_split, seed_of
from ensedu.contest.running.experiment import Experiment
from ensedu.contest.running.machine import one_thread
from ensedu.contest.tasks import SPLITS, given

__all__ = ["ENTRANTS", "HALVED", "TABLES", "run", "takes_part"]

#: Who takes part in some table.
ENTRANTS = CONTESTANTS | HALVES | AGAIN
#: The tasks on which networks of half the width take part, too.
HALVED = ("concrete", "digits")
#: Of LeNet-5, whose source has another task, so many splits.
LENET_SPLITS = 3
#: Who is tried on other numbers of steps, before the contest.
PILOTED = (
    "single", "deep_ensemble", "batch_ensemble", "rank1", "mean_field", "mc_dropout", "ivon",
)  # fmt: skip


def run(task: str, contestant: str, split: int) -> dict[str, Any]:
    """Return what a contestant is worth on a split of a task."""
    with one_thread():
        return run_split(TASKS[task](), contestant, ENTRANTS[contestant], split)


def takes_part(task: str, contestant: str) -> bool:
    """Say whether a contestant is in the table of a task."""
    return task in HALVED or contestant not in HALVES


def pilot(task: str, contestant: str, steps: int) -> dict[str, Any]:
    """Return what each setting is worth on the rows to select on after so many steps at most."""
    own = replace(PILOTS[task](), steps=steps)
    with one_thread():
        found = choose(own, given(own, 0), CONTESTANTS[contestant], seed_of("pilot", contestant))
    return {"select_nll": found.nll, "part": [epoch / own.epochs for epoch in found.epochs]}


def _table(task: str) -> Experiment:
    return Experiment(
        name=f"contest/{task}",
        about="lists over starts, of the rows to test on: nll of the forecast, nats an example; "
        "classes: error in percent, brier, ece; numbers, in units of the target: rmse, crps, and "
        "coverage and width of the mixture's 90 % interval; auroc of its doubt, for foreign "
        "inputs; scaled, the same with one temperature; shifted, the same of shifted inputs; "
        "conformal, coverage and size; seconds of one thread to train and to predict. select_nll: "
        "of each setting at its best of select_epochs, of standardized targets; setting and epoch "
        "are those chosen; choose_seconds: all six; rows to fit and to test on; kept: numbers that "
        "a forecast needs",
        budget="the protocol of ensedu.book.experiments.contest",
        cases=[
            {"task": task, "contestant": name, "split": split}
            for split in range(LENET_SPLITS if task == "lenet" else SPLITS)
            for name in ENTRANTS
            if takes_part(task, name)
        ],
        run=run,
        digits=6,
    )


#: What the protocol's numbers of steps, rates and decays were chosen by.
PILOT = Experiment(
    name="contest/pilot",
    about="select_nll of each setting at its best of 20 epochs, nats an example, and the part of "
    "the training after which that was",
    budget="six settings, one start each, one split; the rows to select on alone",
    cases=[
        {"task": task, "contestant": name, "steps": steps}
        for task in PILOTS
        for steps in (500, 1000, 4000)
        for name in PILOTED
    ],
    run=pilot,
)
#: The table of each task.
TABLES: Mapping[str, Experiment] = {f"contest/{task}": _table(task) for task in TASKS}
