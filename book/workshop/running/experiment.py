"""A table of long runs: which rows it has, how a row is computed, and what that costs.

`workshop.running.runner.compute_table` computes it. One case, smaller, is a call of the
function `run` itself::

    results = own.run(**own.cases[0], **own.settings | {"epochs": 1})
"""

import inspect
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ensedu.common import checks
from workshop.running.json_files import as_json


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A table, and the function that computes a row of it.

    Raises
    ------
    TypeError, ValueError
        For anything else, and for a case or a setting that is no argument of `run`.
    """

    #: Lower-case letters, digits, ``_`` and hyphens, in a folder or none; the table is
    #: ``NAME.json``.
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

    def __post_init__(self) -> None:
        for name in ("name", "about", "budget"):
            if not checks.text(name, getattr(self, name)).strip():
                raise ValueError(f"{name} must have words, got {getattr(self, name)!r}")
        if not re.fullmatch(r"([a-z0-9]+/)?[a-z0-9_]+(-[a-z0-9]+)*", self.name):
            raise ValueError(
                f"name must be lower-case letters, digits, _ and hyphens, got {self.name!r}"
            )
        checks.positive_int("digits", self.digits)
        if not inspect.isfunction(self.run) or "<" in self.run.__qualname__:
            raise TypeError(
                f"run must be a function of a module, so that another process finds it, "
                f"got {checks.given(self.run)}"
            )
        if self.summarize is not None and not callable(self.summarize):
            raise TypeError(
                f"summarize must be a function or None, got {checks.given(self.summarize)}"
            )
        object.__setattr__(self, "settings", _dict("settings", self.settings))
        if not isinstance(self.cases, (list, tuple)):
            raise TypeError(f"cases must be a list of dicts, got {checks.given(self.cases)}")
        if not self.cases:
            raise ValueError("cases must be a list of dicts, at least one, got none")
        cases = tuple(_dict(f"cases[{i}]", case) for i, case in enumerate(self.cases))
        object.__setattr__(self, "cases", cases)
        seen: dict[str, int] = {}
        for i, case in enumerate(cases):
            first = seen.setdefault(case_key(case), i)
            if first != i:
                raise ValueError(f"cases must differ, got {case} as cases[{first}] and cases[{i}]")
            both = sorted(case.keys() & self.settings.keys())
            if both:
                raise ValueError(f"cases[{i}] must have other keys than settings, got {both}")
            try:
                inspect.signature(self.run).bind(**case, **self.settings)
            except TypeError as error:
                raise TypeError(
                    f"cases[{i}] and settings must be arguments of run, "
                    f"{self.run.__qualname__}{inspect.signature(self.run)}: {error}"
                ) from None


def case_key(case: dict[str, Any]) -> str:
    """Return a case as a string, the same for any order of its keys."""
    return json.dumps(case, sort_keys=True)


def _dict(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"{name} must be a dict, got {checks.given(value)}")
    return as_json(name, value)
