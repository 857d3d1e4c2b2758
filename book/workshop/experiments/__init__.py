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
#: All tables: a module's, or one that it makes besides, which its last word names there. Each
#: answers a question; which method is better is asked by the contest alone.
QUESTIONS = {
    "starts": "How far does turning a trained network into members move its outputs?",
    "running-example-tuning": "Which hyperparameters does each method get on that curve?",
    "running-example": "What do methods do at the data and in the gap of one curve?",
    "running-example-curves": "What does each method look like on one curve with a gap?",
    "mc-dropout": "What is due to masks in training, and what to averaging passes?",
    "mc-dropout-curve": "How far are passes apart, by rate and number of points?",
    "deep-ensembles": "Does a published table come back?",
    "more-from-one-network": "What does a training hold besides its last network, by its rate?",
    "more-from-one-network-curves": "Where do the functions that one run passes lie apart?",
    "batch-ensemble-training-tuning": "Which rate does each start and loss of a BatchEnsemble get?",
    "batch-ensemble-training": "How do start and loss of a BatchEnsemble set its members apart?",
    "next-task-tuning": "Which rate does each way to learn task after task get?",
    "next-task": "How much does a member of its own help a later task?",
    "uncertainty-tuning": "How many steps does each number of points and each noise get?",
    "uncertainty": "How do stated noise and spread of members follow true noise and error?",
    "bandit-tuning": "Which hyperparameters does each agent of the bandit get?",
    "bandit": "How does a network's doubt change what an agent eats?",
    "rank1-training-tuning": "Which rate does each recipe of a rank-1 BNN get?",
    "rank1-training": "What do prior, start and loss of a rank-1 BNN change, and is it learned?",
    "pruning-tuning": "Which rate does each prior of the pruned networks get?",
    "pruning": "What can a mean-field network's weights be spared, by prior?",
    "nuts": "What is the posterior of a small network?",
    "bayes": "How do weight of the KL, start, draws and steps change a mean-field fit?",
    "bayesian-cnn": "How do prior and weight of the KL change a Bayesian LeNet-5?",
    "bayesian-cnn-images": "What do a Bayesian LeNet-5's draws say of single images?",
    "gradient-flow": "How far do weights and kernel of one network move, by width?",
    "perturbed-network": "Which network is perturbed, halfway down and at a minimum?",
    "perturbed": "How far is a rank-1 perturbation from a full one, by size?",
    "width-tuning": "Which rate does each width and number of members get?",
    "width": "How many members does a width carry?",
    "digit-networks": "What do small networks say to a digit that a reader draws?",
    "digit-networks-splits": "How sure are members of letters?",
    "one-table": "How often does one table get a word that is not due, or one that is?",
    "homes": "Which method predicts the prices of homes, by one command?",
} | {f"contest/{task}": f"Which methods are better than one network on {task}?" for task in CONTEST}

#: Which tables need a package that the book does without, and has in .venv-others alone.
NEEDS = {"nuts": "numpyro"} | {name: "laplace" for name in QUESTIONS if name.startswith("contest/")}


def location(name: str) -> tuple[str, str]:
    """Return where an experiment stands: a module here, and its name in it.

    That of ``width`` is ``width.EXPERIMENT``, and that of ``width-tuning`` is ``width.TUNING``.
    """
    checks.one_of("name", name, QUESTIONS)
    if name.startswith("contest/"):
        return "contest", "TABLES"
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
        return name in QUESTIONS

    def __iter__(self) -> Iterator[str]:
        return iter(QUESTIONS)

    def __len__(self) -> int:
        return len(QUESTIONS)


EXPERIMENTS = Experiments()


def missing_package(name: str) -> str:
    """Return which package the table of this name needs and does not find, or else nothing."""
    package = NEEDS.get(name, "")
    return package if package and find_spec(package) is None else ""
