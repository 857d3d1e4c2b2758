"""What `compare` found, as a page of one file: no script, no request, pictures drawn here."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from ensedu import colors
from ensedu.common.one_file import one_file
from ensedu.contest.contestants import REFERENCE
from ensedu.contest.plans import STEPS
from ensedu.contest.rounds import FRESH
from ensedu.methods import METHODS
from ensedu.uncertainty.conformal import rank_among

__all__ = ["answer", "page"]

#: Contestants that need no article.
BARE = (
    "boosting", "tabm", "mimo", "wide", "long", "swag", "laplace", "ivon", "mc_dropout", REFERENCE,
)  # fmt: skip
#: What is scored; all else costs.
SCORED = ("nll", "error")
#: From so many rows on nobody has them.
NEVER = 10**8
Data = Mapping[str, Any]


def answer(data: Data) -> str:
    """Return the answer: who predicts better than one network, how sure, and what would settle it.

    `data` is that of a `Comparison`, finished or not.
    """
    return " ".join(_sentences(data))


def page(data: Data) -> str:
    """Return the report of a `Comparison`'s data as HTML, which needs no other file."""
    table, (first, *rest) = data["table"], _sentences(data)
    if not data["finished"]:
        done, parts = _progress(data)
        bar = f'<progress max="{parts}" value="{done}"></progress>'
        banner = f'<div class="unfinished" role="status">{escape(rest.pop())}{bar}</div>'
    body = [
        "" if data["finished"] else banner,
        f'<p class="over">{escape(table["name"])}: which method, and how sure?</p>',
        f"<h1>{escape(first)}</h1>",
        f'<div class="lede">{"".join(f"<span>{escape(one)}</span>" for one in rest)}</div>',
        _warnings(table), _forest(data), _coverage(data), _check(data), _costs(data),
        _learning(data), _decided(data),
    ]  # fmt: skip
    style = Path(__file__).with_name("report.css").read_text(encoding="utf-8")
    shown = "\n".join(filter(None, body))
    title = f"{table['name']}: {table['target']}"
    return one_file(title, _theme() + style, f"<main>\n{shown}\n</main>")


def _theme() -> str:
    """Return the colors of the book as properties of the page, light and dark."""

    def properties(shown: Callable[[str], str]) -> str:
        named = {name.lower(): getattr(colors, name) for name in ("INK", "MUTED", "PAGE", "DOUBT")}
        return "".join(f"--{k}:{shown(c)};" for k, c in (named | colors.PALETTE).items())

    dark = properties(colors.DARK.__getitem__)
    return (
        f":root{{{properties(str)}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"
    )


# What is said.


def _sentences(data: Data) -> list[str]:
    table, plan = data["table"], data["plan"]
    if not data["finished"]:
        done, all_ = _progress(data)
        return [
            "There is no answer yet.",
            f"Unfinished: {done} of {all_} parts are done. The same command goes on from there.",
        ]
    words = _verdicts(data, True)
    better = [one for one in words if one["word"].startswith("better")]
    rows, target = f"these {table['rows_used']:,} rows", f"“{table['target']}”"
    if better:
        one = better[0]
        little = "a little " * one["word"].endswith("by little")
        name = _named(data, one)
        found = [f"On {rows}, {name} predicts {target} {little}better than one network."]
        found.append(
            f"Its negative log-likelihood is lower by {_digits(-one['difference'])} nats a row "
            f"(interval {_digits(-one['high'])} to {_digits(-one['low'])}, which allows for all "
            f"{len(words)} comparisons; p = {_digits(one['p'], 1)})."
        )
    else:
        said = f"nothing is shown to predict {target} better than one network"
        if words and all(one["word"] == "practically equal" for one in words):
            said = f"every method predicts {target} practically as well as one network"
        elif words and all(one["word"].startswith("worse") for one in words):
            said = f"every other method predicts {target} worse than one network"
        take = "stay with one network"
        if data["best"] != REFERENCE:
            best = _named(data, {"contestant": data["best"]})
            take = (
                f"take {best}, of those that are practically equal the one with fewest parameters"
            )
        if any(one["word"] == "unclear" for one in words):
            take = f"unclear is not equal: until more rows tell, {take}"
        found = [f"On {rows}, {said}.", f"{take[0].upper()}{take[1:]}."]
    lists = []
    if better[1:]:
        lists.append(f"Better, too: {_listed([_named(data, one) for one in better[1:]])}.")
    for word in ("practically equal", "unclear", "worse"):
        if same := [_named(data, one) for one in words if one["word"].startswith(word)]:
            lists.append(f"{word.capitalize()}: {_listed(same)}.")
    if lists:
        found.append(" ".join(lists))
    if unclear := [one for one in words if one["word"] == "unclear" and one["rows_to_settle"]]:
        found.append(_settled(data, unclear))
    if sub := plan["subsample"]:
        found.append(
            f"This holds for tables of about {sub['rows']:,} rows, drawn from {sub['of']:,}: with "
            "all of them the order may be another."
        )
    if plan["search"]["starts"] < FRESH or plan["search"]["steps"] < STEPS[0]:
        found.append(
            "The minutes were few, so trainings are shorter, or fewer are scored: with more "
            "minutes the order may be another, too."
        )
    if plan["splits"] == "time":
        found.append(
            "Folds follow each other in time, and the test supposes random ones: take its words as "
            "a description."
        )
    return found


def _settled(data: Data, unclear: Sequence[Data]) -> str:
    """Return how many rows would settle what is unclear, the nearest first."""
    n, near = data["table"]["rows_used"], sorted(unclear, key=lambda one: one["rows_to_settle"])
    within = [one for one in near if one["rows_to_settle"] < NEVER]
    if not within:
        return "Differences are so near to nothing that no number of rows would settle them."
    parts = [
        f"{_named(data, one)} with {_round(one['rows_to_settle'] - n):,}" for one in within[:3]
    ]
    return (
        "More rows of the same kind would settle each as likely as not, if its difference stays as "
        f"it is: {_listed(parts)} more. These are guesses from the same five folds, often off by "
        "more than a factor of two, and at times of ten."
    )


def _round(rows: float | int) -> int:
    """Return a number to one digit, as it is not known better."""
    return int(float(f"{rows:.0e}"))


def _digits(value: float | int, digits: int = 2) -> str:
    """Return a number as it is read, with a minus sign."""
    if value and abs(value) < 10.0 ** -(digits + 2):
        return f"{value:.0e}".replace("e-0", "e-").replace("-", "−")
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value)))) if value else 0
    return f"{value:,.{decimals}f}".replace("-", "−")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else names[0]


def _label(data: Data, name: str) -> str:
    return str(data["plan"].get("labels", {}).get(name, name))


def _named(data: Data, one: Data) -> str:
    article = "" if one["contestant"] in BARE else "a "
    return article + _label(data, one["contestant"])


def _own(data: Data, name: str, kind: str = "") -> str:
    """Return the attributes that give a contestant its look: a color, or an open ring."""
    method = data["plan"].get("methods", {}).get(name, "")
    known = method in METHODS and (method != "single" or name == REFERENCE)
    look = kind if known else f"{kind} open".strip()
    return f'class="{look}" style="--own:var(--{method if known else "ink"})"'


def _progress(data: Data) -> tuple[int, int]:
    parts = {(row["contestant"], row["fold"]) for row in data["rows"]}
    return len(parts), data["plan"]["folds"] * len(data["plan"]["contestants"])


def _verdicts(data: Data, temperature: bool) -> list[Data]:
    found = [one for one in data["verdicts"] if one["temperature"] is temperature]
    return sorted(found, key=lambda one: one["difference"])


def _mean(data: Data, name: str, key: str, temperature: bool = True) -> float:
    each = [
        r[key] for r in data["rows"] if (r["contestant"], r["temperature"]) == (name, temperature)
    ]
    return math.fsum(each) / len(each) if each else math.nan


# The parts of the page.


def _warnings(table: Data) -> str:
    if not table["warnings"]:
        return ""
    items = "".join(f"<li>{escape(one)}</li>" for one in table["warnings"])
    return f'<div class="note"><strong>Before you trust this</strong><ul>{items}</ul></div>'


def _section(title: str, how: str, *parts: str) -> str:
    return f'<section><h2>{title}</h2><p class="how">{how}</p>{"".join(parts)}</section>'


def _forest(data: Data) -> str:
    groups = [(t, _verdicts(data, t)) for t in (True, False)]
    every = [one for _, each in groups for one in each]
    if not every:
        return ""
    axis = _Axis(*_limits(every))
    parts = []
    for temperature, each in groups:
        head = "Each with a temperature" if temperature else "Without one, beside the answer"
        band = max((one.get("margin") or 0.0 for one in each), default=0.0)
        parts.append(f'<p class="head">{head}</p>')
        parts += [_difference(data, axis, one, band) for one in each]
        parts.append(_row(_axis_of(axis, band), name=""))
    likely = (
        "the log loss of scikit-learn" if data["table"]["classes"] else
        "minus the logarithm of the probability density that a method gave to what came"
    )  # fmt: skip
    how = (
        "The gray line is one network. A dot is the mean difference of a method from it, in "
        f"negative log-likelihood, {likely}, in {escape(data['table']['unit_note'])}; 0.1 less "
        "means that it held what came for 1.1 times as likely. A line is the interval of the "
        "difference; left is better. Within the gray band it is practically none. An arrow goes on "
        "beyond the picture."
    )
    return _section("How far from one network?", how, '<div class="rows">', *parts, "</div>")


def _limits(every: Sequence[Data]) -> tuple[float, float]:
    """Return the ends of the axis: all that is not clearly worse is seen whole."""
    seen = [one for one in every if not one["word"].startswith("worse")]
    margin = max(one.get("margin") or 0.0 for one in every)
    low = min([one["low"] for one in seen] + [-2 * margin])
    high = max([one["high"] for one in seen] + [2 * margin, -low / 3])
    worse = [one["difference"] for one in every if one not in seen]
    high = max([high, *(value for value in worse if value < 3 * max(high, -low))])
    spare = 0.04 * (high - low)
    return low - spare, high + spare


def _difference(data: Data, axis: "_Axis", one: Data, band: float | int) -> str:
    inner = _axis_of(axis, band, texts=False)
    low, high = max(one["low"], axis.low), min(one["high"], axis.high)
    if low < high:
        inner += f'<line class="whisker" x1="{axis(low)}" x2="{axis(high)}" y1="18" y2="18"/>'
    for beyond, x, mark in (
        (one["low"] < axis.low, "0%", "◂"), (one["high"] > axis.high, "100%", "▸"),
    ):  # fmt: skip
        if beyond:
            anchor = "start" if x == "0%" else "end"
            inner += f'<text class="said" x="{x}" y="23" text-anchor="{anchor}">{mark}</text>'
    if axis.holds(one["difference"]):
        inner += f'<circle class="dot" cx="{axis(one["difference"])}" cy="18" r="7"/>'
    ends = f"{_digits(one['low'])} to {_digits(one['high'])}"
    number = f"{_digits(one['difference'])} <small>{ends}</small>"
    return _row(
        inner, name=_label(data, one["contestant"]), number=number, word=one["word"],
        own=_own(data, one["contestant"], "row"),
    )  # fmt: skip


def _row(
    inner: str, *, name: str, number: str = "", word: str = "", own: str = 'class="row axis"'
) -> str:
    """Return a row: a name, a picture, a number, and a word in a frame of its own look."""
    look = word.partition(" ")[0]
    framed = f'<span class="word {look}">{escape(word)}</span>' if word else "<span></span>"
    return (
        f'<div {own}><span class="name">{escape(name)}</span>'
        f'<svg role="presentation">{inner}</svg><span class="number">{number}</span>{framed}</div>'
    )


class _Axis:
    """Where values lie between the ends of a picture, in percent of its width."""

    def __init__(self, low: float | int, high: float | int) -> None:
        self.low, self.high = low, high

    def part(self, value: float | int) -> float:
        return (value - self.low) / (self.high - self.low)

    def __call__(self, value: float | int) -> str:
        return f"{100 * self.part(value):.2f}%"

    def holds(self, value: float | int) -> bool:
        return self.low <= value <= self.high

    def ticks(self, number: int = 5) -> list[float]:
        """Return about so many round values."""
        rough = (self.high - self.low) / number
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * by for by in (1, 2, 5, 10) if power * by >= rough)
        return [
            i * step for i in range(math.ceil(self.low / step), math.floor(self.high / step) + 1)
        ]


def _axis_of(axis: _Axis, band: float | int, texts: bool = True) -> str:
    """Return the line of no difference and the band around it, with ticks below or without."""
    height = 6 if texts else 40
    inner = ""
    if band:
        left, right = max(-band, axis.low), min(band, axis.high)
        width = 100 * (axis.part(right) - axis.part(left))
        inner += (
            f'<rect class="band" x="{axis(left)}" width="{width:.2f}%" y="0" height="{height}"/>'
        )
    inner += f'<line class="zero" x1="{axis(0)}" x2="{axis(0)}" y1="0" y2="{height}"/>'
    if texts:
        inner += '<line class="grid" x1="0" x2="100%" y1="6" y2="6"/>'
        for tick in axis.ticks():
            value = f"{tick:,.10g}".replace("-", "−")
            inner += f'<text x="{axis(tick)}" y="22" text-anchor="middle">{value}</text>'
        for words, x, anchor in (("← better", -8, "end"), ("worse →", 8, "start")):
            inner += (
                f'<text class="said" x="{axis(0)}" dx="{x}" y="39" text-anchor="{anchor}">'
                f"{words}</text>"
            )
    return inner


def _coverage(data: Data) -> str:
    if not data["coverage"]:
        return ""
    best = _named(data, {"contestant": data["best"]})
    random = data["plan"]["splits"] == "random"
    calibrated = (data.get("held_out") or {}).get("calibrated") or [] if random else []
    shares = [
        one["worst"]["inside"] / one["worst"]["rows"] for one in data["coverage"] if one["worst"]
    ]
    axis = _Axis(min([0.4, *(share - 0.04 for share in shares)]), 1.0)
    rows = [_held(axis, one, calibrated) for one in data["coverage"]]
    ticks = "".join(
        f'<text x="{axis(i / 5)}" y="16" text-anchor="{"end" if i > 4 else "middle"}">'
        f"{20 * i}%</text>"
        for i in range(6)
        if axis.holds(i / 5)
    )
    what = "Sets of classes" if data["table"]["classes"] else "Intervals"
    how = (
        f"{what} of {escape(best)}, calibrated on rows that it did not train on: how many of the "
        "tested rows they hold (dot). The upright line is what is promised, the ring the worst "
        "group of rows by one column"
        + (
            ", the band where luck leaves 19 of 20 tables." if random else
            ". The promise is for rows that come in any order and each by itself: here it is not "
            "proved, only counted."
        )
    )  # fmt: skip
    return _section(
        f"Do {what.lower()} keep their word?", how, '<div class="rows">', *rows,
        _row(ticks, name=""), "</div>",
    )  # fmt: skip


def _held(axis: _Axis, one: Data, calibrated: Sequence[int]) -> str:
    """Return the row of a level: what is promised, what was held, and where least."""
    level, n, share, worst = one["level"], one["rows"], one["inside"] / one["rows"], one["worst"]
    inner = '<line class="grid" x1="0" x2="100%" y1="20" y2="20"/>'
    if calibrated:
        # A new score's rank among those that calibrate is on average this, and varies as a Beta's.
        each = [rank_among(level, k) / (k + 1) for k in calibrated]
        middle = min(1.0, math.fsum(each) / len(each))
        wobble = math.fsum(1 / (k + 2) for k in calibrated) / len(calibrated) ** 2
        spread = 1.96 * math.sqrt(max(0.0, middle * (1 - middle)) * (1 / n + wobble))
        low, high = max(axis.low, middle - spread), min(1.0, middle + spread)
        width = 100 * (axis.part(high) - axis.part(low))
        inner += f'<rect class="band" x="{axis(low)}" width="{width:.2f}%" y="4" height="32"/>'
    inner += f'<line class="zero" x1="{axis(level)}" x2="{axis(level)}" y1="4" y2="36"/>'
    said = ""
    if worst:
        low = worst["inside"] / worst["rows"]
        luck = worst.get("p")
        tail = "" if luck is None else (
            ", hardly by luck" if luck < 0.05 else ", which luck can bring about"
        )  # fmt: skip
        said = (
            f"worst where {worst['column']} is {worst['value']}: {worst['inside']:,} of "
            f"{worst['rows']:,}, {low:.0%}{tail}"
        )
        inner += (
            f'<circle class="ring" cx="{axis(low)}" cy="20" r="6">'
            f"<title>{escape(said)}</title></circle>"
        )
    inner += f'<circle class="dot" cx="{axis(share)}" cy="20" r="7"/>'
    number = f"{share:.1%} <small>{one['inside']:,} of {n:,} rows</small>"
    row = _row(inner, name=f"{level:.0%} promised", number=number, own='class="row plain"')
    return row + (f'<p class="how">{escape(said[0].upper() + said[1:])}.</p>' if said else "")


def _check(data: Data) -> str:
    if not data["check"]:
        return ""
    order = (
        "The last fold is the latest in time." if data["plan"]["splits"] == "time" else
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
    names = [k for k in data["plan"]["contestants"] if not math.isnan(_mean(data, k, "error"))]
    if not names:
        return ""
    table, (error, unit) = data["table"], _error(data["table"])
    shown: dict[str, tuple[str, Callable[[float], str]]] = {
        "NLL": ("nll", lambda value: f"{value:.3f}".replace("-", "−")),
        "wrong" if table["classes"] else "RMSE": ("error", lambda v: _digits(v, 3) + unit),
        "parameters": ("parameters", _amount), "to train once": ("train_seconds", _time),
        "to predict a fold": ("predict_seconds", _time),
    }  # fmt: skip
    lines: dict[str, list[str]] = {
        k: [] for k in sorted(names, key=lambda k: _mean(data, k, "nll"))
    }
    for key, said in shown.values():
        values = {name: _mean(data, name, key) for name in lines}
        for name, value in values.items():
            lines[name].append(said(value) + _strip(value, values.values(), key not in SCORED))
    how = (
        f"The {escape(error)} on rows that were not trained on, beside what a method costs. In "
        "each column a dot further left is better; a cost twice as high lies as far to the right "
        "anywhere. Words are about the negative log-likelihood (NLL, here with a temperature): "
        "errors have no test. Costs are those of one training, on one thread of this machine, "
        "without the search. All are means over folds"
        + (". " if data["finished"] else ", of which each method has done other ones. ")
    )
    return _section("What does it cost?", how, _table(data, [*shown], lines))


def _strip(value: float, values: Iterable[float], log: bool) -> str:
    """Return a line with a dot where a value lies from the least to the largest of all."""
    low, high, value = (
        math.log(max(v, 1e-9)) if log else v for v in (min(values), max(values), value)
    )
    place = 100 * (value - low) / (high - low or 1.0)
    return f'<span class="strip"><i style="left:{place:.1f}%"></i></span>'


def _error(table: Data) -> tuple[str, str]:
    """Return what the error is called, and its unit."""
    if table["classes"]:
        return "share of wrong classes", "%"
    log = "log " * ("logarithm" in (table["unit_note"] or ""))
    return f"root mean squared error of {log}{table['target']}", ""


def _learning(data: Data) -> str:
    each = {
        (one["contestant"], one["rows"]): one["nll"] for one in data["learning"]
        if one["temperature"]
    }  # fmt: skip
    sizes = sorted({rows for _, rows in each})
    names = sorted({name for name, _ in each}, key=lambda name: each[name, sizes[-1]])
    lines = {
        name: [f"{each[name, size]:.3f}".replace("-", "−") for size in sizes] for name in names
    }
    return "" if not each else _section(
        "Would more rows change it?",
        "The negative log-likelihood with a temperature, on half of the rows and on all that were "
        "drawn, with the settings and epochs that were chosen on all; lower is better. Where it "
        "falls, more rows, and the steps that come with them, help; where one passes another, the "
        "order changes.",
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
        body += (
            f'<tr {_own(data, name)}><th scope="row"><span class="name">'
            f"{escape(_label(data, name))}</span></th>{cells}</tr>"
        )
    return f"<table><thead><tr><th>method</th>{top}</tr></thead><tbody>{body}</tbody></table>"


def _amount(value: float | int) -> str:
    """Return a number of parameters, short."""
    for unit, name in ((1e9, " B"), (1e6, " M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:.3g}{name}"
    return f"{value:.0f}"


def _time(seconds: float | int) -> str:
    for unit, name in ((3600, "h"), (60, "min"), (1, "s")):
        if seconds >= unit:
            return f"{_digits(seconds / unit)} {name}"
    return f"{_digits(1e3 * seconds)} ms" if seconds >= 1e-3 else f"{_digits(1e6 * seconds)} µs"


def _decided(data: Data) -> str:
    plan, table = data["plan"], data["table"]
    folds = [("What was decided", _items(data["decisions"]))]
    cells = "".join(
        f'<tr><th scope="row">{escape(one["name"])}</th><td>{escape(one["kind"])}</td>'
        f"<td>{escape(one['treatment'])}</td><td>{escape(one['note'])}</td></tr>"
        for one in table["columns"]
    )
    folds.append((f"Columns ({len(table['columns'])})", f"<table>{cells}</table>"))
    chosen = "".join(
        f'<tr><th scope="row">{escape(_label(data, name))}</th><td>{_chosen(data, name)}</td></tr>'
        for name in plan["contestants"]
    )
    folds.append(("What each chose", f"<table>{chosen}</table>"))
    search = plan.get("search", {})
    made = {
        "ensedu": data["ensedu"], **data.get("versions", {}), "seed": data["seed"],
        "minutes asked for": plan["minutes"], "processes": plan.get("workers"),
        "trainings scored a fold": search.get("starts"), "steps": search.get("steps"),
        "examples a step": search.get("batch_size"),
    }  # fmt: skip
    folds.append(
        ("Versions, seed, search", _items(f"{k}: {v}" for k, v in made.items() if v is not None))
    )
    inner = "".join(f"<details><summary>{name}</summary>{text}</details>" for name, text in folds)
    return f"<section><h2>All that was decided</h2>{inner}</section>"


def _chosen(data: Data, name: str) -> str:
    """Return the settings of a contestant, each with its folds."""
    folds: dict[str, list[str]] = {}
    for row in data["rows"]:
        if row["contestant"] == name and not row["temperature"]:
            words = ", ".join(f"{key} {value:g}" for key, value in row["settings"].items())
            folds.setdefault(words, []).append(str(row["fold"] + 1))
    return "; ".join(
        f"{escape(words)} (fold{'s' * (len(own) > 1)} {', '.join(own)})"
        for words, own in folds.items()
    )


def _items(sentences: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(one)}</li>' for one in sentences)}</ul>"
