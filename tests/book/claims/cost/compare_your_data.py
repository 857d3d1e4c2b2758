"""What *Compare on your own data* claims, by the report that it shows."""

from typing import Any

from tests.book.claiming import Claims, entry

CLAIMS = Claims("cost/compare-your-data", unclaimed={
    "what a word means": ["which of them predict better than one network"],
    "Ville's inequality, tested with the bet": ["at most one player in 20"],
})  # fmt: skip
says, DEEP = CLAIMS.says, "deep_ensemble"


def data(*way: Any) -> Any:
    return entry("homes", "rows", 0, "data", *way)


def verdict(key: str, name: str = DEEP) -> Any:
    """Return what a contestant's verdict says, with a temperature."""
    return data("verdicts", {"contestant": name, "tempered": True}, key)


def ninety(*way: str) -> Any:
    return data("coverage", 2, *way)


# fmt: off
says("nothing is shown to predict prices better",
     lambda: "nothing is shown to predict “price” better than one network" in data("answer"))
says("cannot tell: it is unclear",
     lambda: "Unclear: a deep ensemble" in data("answer")
         and verdict("low") < verdict("difference") < 0 < verdict("high"))
says("10,000 more homes", lambda: round(verdict("rows_to_settle") - data("table", "rows_used"), -4))
says("on these homes it is worse",
     lambda: "Worse: gradient boosting." in data("answer") and verdict("low", "boosting") > 0)
says("that we gave, twelve minutes on a busy", lambda: entry("homes", "rows", 0, "minutes"))
says("Of 545 rows, each predicted by a network", lambda: ninety("rows"))
says("490 lie inside their 90% intervals", lambda: [ninety("inside"), ninety("level")])
says("116 of 135 lie inside", lambda: [ninety("worst", "inside"), ninety("worst", "rows")])
says("and here luck can",
     lambda: ninety("worst", "p") > 0.05 and ninety("worst", "column") == "lotsize")
