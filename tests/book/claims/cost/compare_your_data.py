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


def clearest() -> str:
    """Return who lies farthest from one network, in lengths of its own line."""
    rivals = [one for one in data("verdicts") if one["tempered"]]
    lengths = [abs(one["difference"]) / (one["high"] - one["low"]) for one in rivals]
    return rivals[lengths.index(max(lengths))]["contestant"]


def ninety(*way: str) -> Any:
    return data("coverage", 2, *way)


# fmt: off
says("nothing is shown to predict prices better",
     lambda: "nothing is shown to predict “price” better than one network" in data("answer"))
says("cannot tell: it is unclear",
     lambda: verdict("word") == "unclear"
         and verdict("low") < verdict("difference") < 0 < verdict("high"))
says("8,000 more homes", lambda: round(verdict("rows_to_settle") - data("table", "rows_used"), -3))
says("Had the whole line of a method lain",
     lambda: all(one["low"] < 0 < one["high"] for one in data("verdicts")))
says(["Gradient boosting comes closest: its dot", "but its line still reaches zero"],
     lambda: clearest() == "boosting"
         and verdict("low", "boosting") < 0 < verdict("difference", "boosting"))
says("the time that we gave, twelve minutes", lambda: entry("homes", "rows", 0, "minutes"))
says("Of 545 rows, each predicted by a network", lambda: ninety("rows"))
says("490 lie inside their 90% intervals", lambda: [ninety("inside"), ninety("level")])
says("207 of 238 lie inside", lambda: [ninety("worst", "inside"), ninety("worst", "rows")])
says("and here luck can",
     lambda: ninety("worst", "p") > 0.05
         and [ninety("worst", "column"), ninety("worst", "value")] == ["stories", "2"])
