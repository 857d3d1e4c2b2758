"""Experiments behind the book's tables of long runs; ``make results`` computes them.

`EXPERIMENTS` finds each by its name. Its module is imported when it is asked for, so that an
experiment may need packages that others do without. `workshop.running` runs them; what
several use stands in ``shared``.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ensedu.common import checks

if TYPE_CHECKING:
    from workshop.running.experiment import Experiment

#: The tasks of the contest whose tables are there.
CONTEST = (
    "gpa2", "college_distance", "deliveries", "computers", "saratoga", "check_times", "wage",
    "concrete", "diamonds", "hpc", "churn", "telco", "breast_cancer", "cells", "leaves",
    "credit", "digits", "mnist", "lenet",
)  # fmt: skip
#: All tables: a module's, or one that it makes besides, which its last word names there.
NAMES = (
    "starts", "running-example-tuning", "running-example", "running-example-curves", "mc-dropout",
    "mc-dropout-curve", "deep-ensembles", "more-from-one-network", "more-from-one-network-curves",
    "batch-ensemble-training-tuning", "batch-ensemble-training", "next-task-tuning", "next-task",
    "uncertainty-tuning", "uncertainty", "bandit-tuning", "bandit", "rank1-training-tuning",
    "rank1-training", "rank1-training-noise", "pruning-tuning", "pruning", "nuts",
    "nuts-distances", "bayes", "bayes-noise", "bayesian-cnn", "bayesian-cnn-images", "images-out",
    "gradient-flow", "embedded-training", "embedded-spread", "perturbed-network", "perturbed",
    "width-tuning", "width", "digit-networks", "digit-networks-splits", "false-words", "one-table",
    "homes", "contest/concrete-predictions", *(f"contest/{task}" for task in CONTEST),
)  # fmt: skip

#: Which tables need a package that the book does without, and has in .venv-others alone.
NEEDS = {"nuts": "numpyro", "images-out": "skimage"} | {
    name: "laplace" for name in NAMES if name.startswith("contest/")
}


def location(name: str) -> tuple[str, str]:
    """Return where an experiment stands: a module here, and its name in it.

    That of ``bayes`` is ``bayes.EXPERIMENT``, and that of ``bayes-noise`` is ``bayes.NOISE``.
    """
    checks.one_of("name", name, NAMES)
    if name.startswith("contest/"):
        return "contest", "PREDICTIONS" if name.endswith("-predictions") else "TABLES"
    module = name.replace("-", "_")
    if find_spec(f"{__name__}.{module}"):
        return module, "EXPERIMENT"
    module, _, own = module.rpartition("_")
    return module, own.upper()


class Experiments(Mapping[str, "Experiment"]):
    """All experiments by name, in order."""

    def __getitem__(self, name: str) -> "Experiment":
        """Return one; raises ``TypeError`` or ``ValueError`` for a name that is none."""
        module, own = location(name)
        found = getattr(import_module(f"{__name__}.{module}"), own)
        return found[name] if isinstance(found, Mapping) else found

    def __contains__(self, name: object) -> bool:
        return name in NAMES

    def __iter__(self) -> Iterator[str]:
        return iter(NAMES)

    def __len__(self) -> int:
        return len(NAMES)


EXPERIMENTS = Experiments()


def missing_package(name: str) -> str:
    """Return which package the table of this name needs and does not find, or else nothing."""
    package = NEEDS.get(name, "")
    return package if package and find_spec(package) is None else ""
