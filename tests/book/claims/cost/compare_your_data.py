"""What *Compare on your own data* claims, by the report that it shows."""

from typing import Any

from ensedu.contest.report import answer
from tests.book.claiming import Change, Claims
from workshop import measured

CLAIMS = Claims(
    "cost/compare-your-data",
    unclaimed={
        "which of them predict better than one network": "what a report says",
        "at most one player in 20": "Ville's inequality, tested with the bet",
    },
)
says, reads = CLAIMS.says, CLAIMS.reads
WAY = "homes", "rows", 0, "data"


def data() -> dict[str, Any]:
    """Return what the report holds."""
    return measured.load("homes")["rows"][0]["data"]


def verdict(name: str) -> dict[str, Any]:
    """Return a contestant's verdict, with a temperature."""
    (one,) = (v for v in data()["verdicts"] if (v["contestant"], v["temperature"]) == (name, True))
    return one


def way(name: str, key: str) -> tuple[Any, ...]:
    """Return the way to what its verdict says."""
    return *WAY, "verdicts", {"contestant": name, "temperature": True}, key


def said(words: str) -> bool:
    """Whether the answer says so."""
    return words in answer(data())


def ninety(key: str) -> Any:
    """Return what is counted of 90% intervals."""
    return data()["coverage"][2][key]


says(
    "nothing is shown to predict prices better",
    lambda: said("nothing is shown to predict “price” better than one network"),
    Change(*way("deep_ensemble", "word"), to="better"),
)
says(
    "cannot tell: it is unclear",
    lambda: said("Unclear: a deep ensemble") and verdict("deep_ensemble")["low"] < 0
    and verdict("deep_ensemble")["difference"] < 0 < verdict("deep_ensemble")["high"],
    Change(*way("deep_ensemble", "high"), times=-1),
    Change(*way("deep_ensemble", "difference"), times=-1),
)  # fmt: skip
says(
    "about 10,000 more homes",
    lambda: round(verdict("deep_ensemble")["rows_to_settle"] - data()["table"]["rows_used"], -4),
    Change(*way("deep_ensemble", "rows_to_settle"), times=2),
)
says(
    "on these homes it is worse",
    lambda: said("Worse: gradient boosting.") and verdict("boosting")["low"] > 0,
    Change(*way("boosting", "word"), to="unclear"),
    Change(*way("boosting", "low"), times=-1),
)
reads("We gave six minutes", "homes", "rows", 0, "minutes")
says(
    "Of 545 rows, each predicted by a network",
    lambda: ninety("rows"),
    Change(*WAY, "coverage", 2, "rows", times=2),
)
says(
    "490 lie inside their 90% intervals",
    lambda: [ninety("inside"), ninety("level")],
    Change(*WAY, "coverage", 2, "inside", times=0.9),
    Change(*WAY, "coverage", 2, "level", times=0.9),
)
says(
    "116 of 135 lie inside",
    lambda: [ninety("worst")["inside"], ninety("worst")["rows"]],
    Change(*WAY, "coverage", 2, "worst", "inside", times=0.9),
    Change(*WAY, "coverage", 2, "worst", "rows", times=2),
)
says(
    "and here luck can",
    lambda: ninety("worst")["p"] > 0.05 and ninety("worst")["column"] == "lotsize",
    Change(*WAY, "coverage", 2, "worst", "p", times=0.01),
)
