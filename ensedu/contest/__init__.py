"""Methods compared on data: tasks, contestants, tuning inside splits, and statistics over tasks.

A `Task` is a table, or images, that comes with its targets. Five splits cut its rows in four parts
each, `rows_of_split`: to fit, to select and to calibrate on, and a fifth to test on. `CONTESTANTS`
are the methods of this book, SWAG, Laplace and IVON, and what a user would otherwise take, boosting
and a linear model; `TABULAR`, TabM, takes vectors alone. `FURTHER`, MIMO, takes part where you say
so, and the book has no results of it. A `Contestant` of your own stands beside them. Its
``train(job)`` takes a `Job` and returns what is `Trained`: called with inputs it gives a forecast,
`ClassForecast` or `NumericForecast`.

- `run_split` computes a row: `choose` tries six settings at three lengths and takes what has the
  least NLL of the combined prediction on the rows to select on; fresh trainings of that are scored
  on the rows to test on.
- `pooled` says how contestants differ from a reference over the `TaskScores` of several sources,
  with an interval, a p-value among all and a `verdict`: better, worse, practically equal, unclear.
- `compare` does all of it for one table of your own, ``python -m ensedu compare`` from the shell.

PyTorch and scikit-learn come with ``pip install "ensedu[sklearn]"``, data frames with
``"ensedu[data]"``. Laplace, IVON and TabM need packages of their own: ``pip install laplace-torch
ivon-opt tabm``. A package that is missing is an ``ImportError`` with the command that installs it;
all raise ``TypeError`` or ``ValueError`` for anything but what they say.
"""

from ensedu.common.checks import optional
from ensedu.uncertainty.meta_analysis import Pooled, TaskDifference, TaskScores, pooled, verdict

optional("torch", "sklearn")

from ensedu.contest.contestants import CONTESTANTS, FURTHER, TABULAR  # noqa: E402
from ensedu.contest.forecasts import ClassForecast, NumericForecast  # noqa: E402
from ensedu.contest.jobs import Contestant, Job, Trained  # noqa: E402
from ensedu.contest.one_split import Choice, choose, run_split  # noqa: E402
from ensedu.contest.one_table.compare import Comparison, compare  # noqa: E402
from ensedu.contest.tasks import SplitData, Task, rows_of_split, split_of  # noqa: E402

__all__ = [
    "CONTESTANTS",
    "FURTHER",
    "TABULAR",
    "Choice",
    "ClassForecast",
    "Comparison",
    "Contestant",
    "Job",
    "NumericForecast",
    "Pooled",
    "SplitData",
    "Task",
    "TaskDifference",
    "TaskScores",
    "Trained",
    "choose",
    "compare",
    "pooled",
    "rows_of_split",
    "run_split",
    "split_of",
    "verdict",
]
