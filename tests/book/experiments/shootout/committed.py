"""Which tables of the shoot-out are there."""

from ensedu.book.experiments import EXPERIMENTS
from ensedu.book.experiments.shootout import TASKS


def tasks_with_a_table():
    return [data for data in TASKS if f"shootout-{data}" in EXPERIMENTS]
