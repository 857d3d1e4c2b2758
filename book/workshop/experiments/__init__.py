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

__all__ = ["EXPERIMENTS", "NEEDS", "missing_package"]

#: The tasks of the contest whose tables are there.
CONTEST = (
    "gpa2", "college_distance", "deliveries", "computers", "saratoga", "check_times", "wage",
    "concrete", "diamonds", "hpc", "churn", "telco", "breast_cancer", "cells", "leaves",
    "credit", "digits", "mnist", "lenet",
)  # fmt: skip
#: The table's name, and where its experiment stands: a module here, and the name in it.
LOCATIONS = {
    "starts": "starts.EXPERIMENT",
    "running-example-tuning": "running_example.TUNING",
    "running-example": "running_example.EXPERIMENT",
    "running-example-curves": "running_example.CURVES",
    "mc-dropout": "dropout.EXPERIMENT",
    "mc-dropout-curve": "dropout.CURVE",
    "table-one": "table_one.EXPERIMENT",
    "one-run": "one_run.EXPERIMENT",
    "one-run-curves": "one_run.CURVES",
    "variance-head": "variance_head.EXPERIMENT",
    "batch-ensemble-training-tuning": "training_batch_ensemble.TUNING",
    "batch-ensemble-training": "training_batch_ensemble.EXPERIMENT",
    "lifelong-tuning": "lifelong.TUNING",
    "lifelong": "lifelong.EXPERIMENT",
    "disentangling-tuning": "disentangling.TUNING",
    "disentangling": "disentangling.EXPERIMENT",
    "bandit-tuning": "bandits.TUNING",
    "bandit": "bandits.EXPERIMENT",
    "rank1-training-tuning": "training_rank1.TUNING",
    "rank1-training": "training_rank1.EXPERIMENT",
    "rank1-gradients": "training_rank1.GRADIENTS",
    "rank1-noise": "training_rank1.NOISE",
    "pruning-tuning": "pruning.TUNING",
    "pruning": "pruning.EXPERIMENT",
    "nuts": "nuts.EXPERIMENT",
    "nuts-distances": "nuts_distances.EXPERIMENT",
    "bayes": "bayes.EXPERIMENT",
    "bayes-noise": "bayes.NOISE",
    "bayesian-cnn": "bayesian_cnn.EXPERIMENT",
    "bayesian-cnn-images": "bayesian_cnn.IMAGES",
    "images-out": "images_out.EXPERIMENT",
    "gradient-flow": "gradient_flow.EXPERIMENT",
    "kernel-width": "embedded.EXPERIMENT",
    "output-width": "embedded.OUTPUTS",
    "embedded-training": "embedded.TRAINING",
    "embedded-spread": "embedded.SPREAD",
    "perturbed-network": "perturbed.NETWORK",
    "perturbed": "perturbed.EXPERIMENT",
    "width-tuning": "width.TUNING",
    "width": "width.EXPERIMENT",
    "digit-networks": "digit_networks.NETWORKS",
    "digit-splits": "digit_networks.EXPERIMENT",
    "false-words": "false_words.EXPERIMENT",
    "one-table": "one_table.EXPERIMENT",
    "homes": "homes.EXPERIMENT",
    "contest/concrete-predictions": "contest.PREDICTIONS",
} | {f"contest/{task}": "contest.TABLES" for task in CONTEST}

#: Which tables need a package that the book does without, and has in .venv-others alone.
NEEDS = {"nuts": "numpyro", "images-out": "skimage"} | {
    name: "laplace" for name in LOCATIONS if name.startswith("contest/")
}


class Experiments(Mapping[str, "Experiment"]):
    """All experiments by name, in order."""

    def __getitem__(self, name: str) -> "Experiment":
        """Return one; raises ``TypeError`` or ``ValueError`` for a name that is none."""
        module, _, own = LOCATIONS[checks.one_of("name", name, LOCATIONS)].partition(".")
        found = getattr(import_module(f"workshop.experiments.{module}"), own)
        return found[name] if isinstance(found, Mapping) else found

    def __contains__(self, name: object) -> bool:
        return name in LOCATIONS

    def __iter__(self) -> Iterator[str]:
        return iter(LOCATIONS)

    def __len__(self) -> int:
        return len(LOCATIONS)


EXPERIMENTS = Experiments()


def missing_package(name: str) -> str:
    """Return which package the table of this name needs and does not find, or else nothing."""
    package = NEEDS.get(name, "")
    return package if package and find_spec(package) is None else ""
