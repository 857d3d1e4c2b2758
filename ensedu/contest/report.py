"""What `compare` found, as a page of one file: no script, no request, pictures drawn here."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from itertools import chain
from pathlib import Path

from ensedu import colors
from ensedu.common.one_file import one_file
from ensedu.contest.contestants import REFERENCE
from ensedu.contest.words import Data, digits, named, sentences, verdicts
from ensedu.methods import METHODS

__all__ = ["page"]


def page(data: Data) -> str:
    """Return the report of a `Comparison`'s data as HTML, which needs no other file."""
    table, (first, *rest) = data["table"], sentences(data)
    banner = ""
    if not data["finished"]:
        bar = '<progress max="{of}" value="{done}"></progress>'.format(**data["progress"])
        banner = f'<div class="unfinished" role="status">{escape(rest.pop())}{bar}</div>'
    warned = "<strong>Before you trust this</strong>" + _items(table["warnings"])
    body = [
        banner,
        f'<p class="over">{escape(table["name"])}: which method, and how sure?</p>',
        f"<h1>{escape(first)}</h1>",
        f'<div class="lede">{"".join(f"<span>{escape(one)}</span>" for one in rest)}</div>',
        f'<div class="note">{warned}</div>' if table["warnings"] else "",
        *(part(data) for part in (_forest, _coverage, _check, _costs, _learning, _decided)),
    ]
    style = Path(__file__).with_name("report.css").read_text(encoding="utf-8")
    title = f"{table['name']}: {table['target']}"
    return one_file(title, _theme() + style, f"<main>{''.join(body)}</main>")


def _theme() -> str:
    """Return the colors of the book as properties of the page, light and dark."""

    def properties(shown: Callable[[str], str]) -> str:
        own = {name.lower(): getattr(colors, name) for name in ("INK", "MUTED", "PAGE", "DOUBT")}
        return "".join(f"--{k}:{shown(c)};" for k, c in (own | colors.PALETTE).items())

    dark = f":root{{{properties(colors.DARK.__getitem__)}}}"
    return f":root{{{properties(str)}}}\n@media screen and (prefers-color-scheme:dark){{{dark}}}\n"


def _section(title: str, how: str, *parts: str) -> str:
    return f'<section><h2>{title}</h2><p class="how">{how}</p>{"".join(parts)}</section>'


def _items(sentences: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(one)}</li>' for one in sentences)}</ul>"


class _Axis:
    """Where values lie between the ends of a picture, in percent of its width."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high

    def mark(self, kind: str, start: float | int, end: float | None = None, text: str = "") -> str:
        """Return a mark at a value, or from one to another, as much of it as there is room for."""
        left, right = (
            100 * (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
            for value in (start, start if end is None else end)
        )
        wide = f"width:{right - left:.2f}%" * (end is not None)
        return f'<i class="{kind}" style="left:{left:.2f}%;{wide}">{text}</i>'

    def ticks(self) -> str:
        """Return about five round values."""
        rough = (self.high - self.low) / 5
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * by for by in (1, 2, 5, 10) if power * by >= rough)
        each = range(math.ceil(self.low / step), math.floor(self.high / step) + 1)
        return "".join(
            self.mark("tick", i * step, text=f"{i * step:,.10g}".replace("-", "−")) for i in each
        )


def _row(name: str, marks: str, number: str = "", word: str = "", own: str = 'class="row"') -> str:
    """Return a row: a name, a picture, a number, and a word in a frame of its own look."""
    framed = f'<span class="word {word.partition(" ")[0]}">{word}</span>' if word else ""
    numbers = f'<span class="number">{number}</span>{framed}'
    plot = f'<span class="plot" aria-hidden="true">{marks}</span>'
    return f'<div {own}><span class="name">{escape(name)}</span>{plot}{numbers}</div>'


def _own(data: Data, name: str, kind: str = "") -> str:
    """Return the attributes that give a contestant its look: a color, or an open ring."""
    method = data["plan"]["methods"][name]
    known = method in METHODS and (method != "single" or name == REFERENCE)
    look = f"{kind} of{' open' * (not known)}".strip()
    return f'class="{look}" style="--own:var(--{method if known else "ink"})"'


def _forest(data: Data) -> str:
    groups = [verdicts(data, temperature) for temperature in (True, False)]
    if not (every := [*chain(*groups)]):
        return ""
    axis, parts = _axis_of(every), []
    heads = ("Each with a temperature", "Without one, beside the answer")
    for head, each in zip(heads, groups, strict=True):
        band = max(one["margin"] for one in each)
        under = axis.mark("band", -band, band) + axis.mark("zero", 0.0)
        parts.append(f'<p class="head">{head}</p>')
        for one in each:
            over = "<b>▸</b>" * (one["high"] > axis.high)
            marks = under + axis.mark("whisker", one["low"], one["high"], over)
            marks += axis.mark("dot", one["difference"]) * (one["difference"] < axis.high)
            ends = f"{digits(one['low'])} to {digits(one['high'])}"
            number, name = f"{digits(one['difference'])} <small>{ends}</small>", one["contestant"]
            own = _own(data, name, "row")
            parts.append(_row(data["plan"]["labels"][name], marks, number, one["word"], own))
        sides = axis.mark("side", 0.0, text="<b>← better</b><b>worse →</b>")
        parts.append(_row("", axis.ticks() + sides, own='class="row axis"'))
    classes, target = data["table"]["classes"], escape(data["table"]["unit_note"])
    likely = "the log loss of scikit-learn" if classes else (
        "minus the logarithm of the probability density that a method gave to what came"
    )  # fmt: skip
    spread = " A linear model and boosting have one variance for all rows, networks one a row."
    how = (
        "The gray line is one network. A dot is the mean difference of a method from it, in "
        f"negative log-likelihood, {likely}, in {target}; 0.1 less means that it held what came "
        "for 1.1 times as likely. A line is the interval of the difference, which leaves out 0 "
        "where the test finds one, at 5% among all methods; left is better. Within the gray band, "
        f"± {digits(groups[0][0]['margin'])} with a temperature, it is practically none. An arrow "
        f"goes on beyond the picture.{spread * (not classes)}"
    )
    return _section("How far from one network?", how, '<div class="rows">', *parts, "</div>")


def _axis_of(every: Sequence[Data]) -> _Axis:
    """Return an axis on which all that is not clearly worse is seen whole."""
    seen = [one for one in every if not one["word"].startswith("worse")]
    margin = max(one["margin"] for one in every) or 1e-9
    low = min([one["low"] for one in seen] + [-2 * margin])
    high = max([one["high"] for one in seen] + [2 * margin, -low / 3])
    worse = [one["difference"] for one in every if one not in seen]
    high = max([high, *(value for value in worse if value < 3 * max(high, -low))])
    spare = 0.04 * (high - low)
    return _Axis(low - spare, high + spare)


def _coverage(data: Data) -> str:
    if not data["coverage"]:
        return ""
    best, random = named(data, {"contestant": data["best"]}), data["table"]["splits"] == "random"
    worsts = [one["worst"] for one in data["coverage"] if one["worst"]]
    axis, rows = _Axis(min([0.4, *(_share(worst) - 0.04 for worst in worsts)]), 1.03), []
    for one in data["coverage"]:
        level, worst, said = one["level"], one["worst"], ""
        marks = axis.mark("line", axis.low, axis.high)
        if random:
            marks += axis.mark("band", *(end / one["rows"] for end in one["luck"]))
        marks += axis.mark("zero", level)
        if worst:
            marks += axis.mark("dot ring", _share(worst))
            luck = "hardly by luck" if worst["p"] < 0.05 else "which luck can bring about"
            said = (
                f"Worst where {worst['column']} is {worst['value']}: {worst['inside']:,} of "
                f"{worst['rows']:,}, {_share(worst):.0%}, {luck}."
            )
        marks += axis.mark("dot", _share(one))
        number = f"{_share(one):.1%} <small>{one['inside']:,} of {one['rows']:,} rows</small>"
        rows.append(_row(f"{level:.0%} promised", marks, number))
        rows.append(f'<p class="how">{escape(said)}</p>')
    ticks = "".join(
        axis.mark("tick", i / 5, text=f"{20 * i}%") for i in range(6) if i / 5 >= axis.low
    )
    what = "Sets of classes" if data["table"]["classes"] else "Intervals"
    promise = (
        ", the band where luck leaves 19 of 20 tables." if random else
        ". The promise is for rows that come in any order and each by itself: here it is not "
        "proved, only counted."
    )  # fmt: skip
    how = (
        f"{what} of {escape(best)}, calibrated on rows that it did not train on: how many of the "
        "tested rows they hold (dot). The upright line is what is promised, the ring the worst "
        f"group of rows by one column{promise}"
    )
    return _section(
        f"Do {what.lower()} keep their word?", how, '<div class="rows">', *rows,
        _row("", ticks, own='class="row axis"'), "</div>",
    )  # fmt: skip


def _share(one: Data) -> float:
    return float(one["inside"] / one["rows"])


def _check(data: Data) -> str:
    if not data["check"]:
        return ""
    order = (
        "The last fold is the latest in time." if data["table"]["splits"] == "time" else
        "The last fold is like the others by design, so it should find nothing here: it shows what "
        "you will see when you check rows of your own."
    )  # fmt: skip
    return _section(
        "Would it notice that rows have changed?",
        "<code>estimator.check</code> bets 1 against rows being like those that calibrated. If "
        f"they are, its wealth ever reaches 20 in at most one of 20 watches. {order}",
        f"<p>{escape(data['check']['words'])}</p>",
    )


def _costs(data: Data) -> str:
    table, rows = data["table"], [row for row in data["rows"] if row["temperature"]]
    if not rows:
        return ""
    heads = {
        "nll": "NLL", "error": "wrong, in %" if table["classes"] else "RMSE",
        "parameters": "parameters", "train_seconds": "seconds to train once",
        "predict_seconds": "to predict a fold",
    }  # fmt: skip
    each: dict[str, list[Data]] = {}
    for row in rows:
        each.setdefault(row["contestant"], []).append(row)
    means = {
        key: {name: math.fsum(row[key] for row in own) / len(own) for name, own in each.items()}
        for key in heads
    }
    lines = {name: list[str]() for name in sorted(each, key=means["nll"].__getitem__)}
    for key, values in means.items():
        scored = {"nll": 4, "error": 3}.get(key)
        at = {k: v if scored else math.log(max(v, 1e-9)) for k, v in values.items()}
        axis = _Axis(min(at.values()), max(max(at.values()), min(at.values()) + 1e-9))
        for name, cells in lines.items():
            strip = f'<span class="plot">{axis.mark("dot", at[name])}</span>'
            cells.append(digits(values[name], scored or 2) + strip)
    error = "share of wrong classes"
    if not table["classes"]:
        log = "log " * ("logarithm" in table["unit_note"])
        error = f"root mean squared error of {log}{table['target']}"
    how = (
        f"The {escape(error)} on rows that were not trained on, beside what a method costs. In "
        "each column a dot further left is better; a cost twice as high lies as far to the right "
        "anywhere. Words are about the negative log-likelihood (NLL, here with a temperature): "
        "errors have no test. Costs are those of one training of the length that was chosen, on "
        "one thread of this machine, without the search. All are means over folds"
        + (". " if data["finished"] else ", of which each method has done other ones. ")
    )
    return _section("What does it cost?", how, _table(data, [*heads.values()], lines))


def _learning(data: Data) -> str:
    each = {(r["contestant"], r["rows"]): r["nll"] for r in data["learning"] if r["temperature"]}
    sizes = sorted({rows for _, rows in each})
    names = sorted({name for name, _ in each}, key=lambda name: each[name, sizes[-1]])
    lines = {name: [digits(each[name, size], 4) for size in sizes] for name in names}
    return "" if not each else _section(
        "Would more rows change it?",
        "The negative log-likelihood with a temperature, on half of the rows and on all that were "
        "drawn, with the settings and epochs that were chosen on all; lower is better. Where it "
        "falls, more rows, and the steps that come with them, help; where one passes another, the "
        "order may change. No test stands behind it.",
        _table(data, [f"{size:,} rows" for size in sizes], lines),
    )  # fmt: skip


def _table(data: Data, heads: Sequence[str], lines: Mapping[str, Sequence[str]]) -> str:
    """Return a table of a line a contestant; on a phone cells have their heads beside them."""
    top = "".join(f'<th class="n" scope="col">{escape(head)}</th>' for head in heads)
    body = ""
    for name, values in lines.items():
        cells = "".join(
            f'<td class="n" data-name="{escape(head)}">{value}</td>'
            for head, value in zip(heads, values, strict=True)
        )
        label = f'<span class="name">{escape(data["plan"]["labels"][name])}</span>'
        body += f'<tr {_own(data, name)}><th scope="row">{label}</th>{cells}</tr>'
    return f"<table><thead><tr><th>method</th>{top}</tr></thead><tbody>{body}</tbody></table>"


def _decided(data: Data) -> str:
    plan, chosen = data["plan"], dict[tuple[str, str], list[str]]()
    for row in data["rows"]:
        if not row["temperature"]:
            words = ", ".join(f"{key} {value:g}" for key, value in row["settings"].items())
            chosen.setdefault((row["contestant"], words), []).append(str(row["fold"] + 1))
    made = {
        **data["versions"], "seed": data["seed"], "minutes asked for": plan["minutes"],
        "processes": plan["workers"], "trainings scored a fold": plan["search"]["starts"],
        "examples a step": plan["search"]["batch_size"],
    }  # fmt: skip
    columns = data["table"]["columns"]
    folds = {
        "What was decided": _items(data["decisions"]),
        f"Columns ({len(columns)})": _cells([[*one.values()] for one in columns]),
        "What each chose": _cells(
            [plan["labels"][name], words, f"in fold {', '.join(own)}"]
            for (name, words), own in chosen.items()
        ),
        "Versions, seed, search": _items(f"{k}: {v}" for k, v in made.items()),
    }
    inner = "".join(
        f"<details><summary>{name}</summary>{text}</details>" for name, text in folds.items()
    )
    return f"<section><h2>All that was decided</h2>{inner}</section>"


def _cells(lines: Iterable[Sequence[str]]) -> str:
    """Return a table of words, each line with its head first."""
    body = "".join(
        f'<tr><th scope="row">{escape(head)}</th>'
        f"{''.join(f'<td>{escape(one)}</td>' for one in rest)}</tr>"
        for head, *rest in lines
    )
    return f"<table>{body}</table>"
