"""A table of long runs: which rows it has, how a row is computed, and what that costs.

`workshop.running.runner.compute_table` computes it. One case, smaller, is a call of the
function `run` itself::

    results = own.run(**own.cases[0], **own.settings | {"epochs": 1})
"""

import inspect
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from workshop.running.json_files import as_json


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A table, and the function that computes a row of it.

    Raises
    ------
    TypeError, ValueError
        For what JSON cannot hold, a case that is there twice, and a case or a setting that is no
        argument of `run`, or both.
    """

    #: Lower-case letters, digits, ``_``, ``/`` and hyphens.
    name: str
    #: What the rows hold, with units, for who opens the file.
    about: str
    #: What was spent alike on each row, and on choosing its settings: ``"12 epochs of Adam, no
    #: tuning"``.
    budget: str
    #: What identifies each row, in the order of the table: dicts that JSON can hold, such as
    #: ``{"method": "rank1", "data_seed": 0}``. No two are equal.
    cases: Sequence[dict[str, Any]]
    #: ``run(**case, **settings)`` returns the results of a row, a dict that JSON can hold. A
    #: function of a module, and of nothing but its arguments: all that is random in it is seeded
    #: from them.
    run: Callable[..., dict[str, Any]]
    #: Arguments that all rows share.
    settings: dict[str, Any] = field(default_factory=dict)
    #: Takes the rows, each the case and its results, and returns what stands above them as
    #: ``"summary"``; by default nothing does.
    summarize: Callable[[list[dict[str, Any]]], Any] | None = None
    #: Significant digits to which results, and the summary, are rounded.
    digits: int = 4

    @property
    def file(self) -> str:
        """The file that holds the table, and all others of its module."""
        return f"{self.run.__module__.rpartition('.')[2].replace('_', '-')}.json"

    def __post_init__(self) -> None:
        object.__setattr__(self, "settings", as_json(self.settings))
        cases = tuple(map(as_json, self.cases))
        object.__setattr__(self, "cases", cases)
        for i, case in enumerate(cases):
            if (first := cases.index(case)) != i:
                raise ValueError(f"cases must differ, got {case} as cases[{first}] and cases[{i}]")
            inspect.signature(self.run).bind(**case, **self.settings)


def case_key(case: dict[str, Any]) -> str:
    """Return a case as a string, the same for any order of its keys."""
    return json.dumps(case, sort_keys=True)
