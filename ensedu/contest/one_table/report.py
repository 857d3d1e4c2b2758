"""What `compare` found, as a page of one file: no script, no request, pictures drawn here."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from pathlib import Path

from ensedu import colors
from ensedu.common.html_page import html_page
from ensedu.contest.contestants import REFERENCE
from ensedu.contest.one_table import words
from ensedu.contest.one_table.findings import Findings, Verdict
from ensedu.contest.one_table.folds import COSTS
from ensedu.contest.one_table.words import digits
from ensedu.methods import METHODS


def page(findings: Findings) -> str:
    """Return the report of a comparison as HTML, which needs no other file."""
    table, (first, *rest) = findings.table, words.sentences(findings)
    banner = ""
    if not findings.finished:
        bar = '<progress max="{of}" value="{done}"></progress>'.format(**findings.progress)
        banner = f'<div class="unfinished" role="status">{escape(rest.pop())}{bar}</div>'
    warned = "<strong>Before you trust this</strong>" + _items(table.warnings)
    body = [
        banner,
        f'<p class="over">{escape(table.name)}: which method, and how sure?</p>',
        f"<h1>{escape(first)}</h1>",
        f'<div class="lede">{"".join(f"<span>{escape(line)}</span>" for line in rest)}</div>',
        f'<div class="note">{warned}</div>' if table.warnings else "",
        _costs(findings) if findings.rows else "",
        _forest(findings) if findings.verdicts else "",
        _coverage(findings) if findings.coverage else "",
        _check(findings.check["words"], words.explain_check(findings)) if findings.check else "",
        _sizes(findings) if findings.learning else "",
        _decisions(findings),
    ]
    style = Path(__file__).with_name("report.css").read_text(encoding="utf-8")
    return html_page(
        f"{table.name}: {table.target}", _theme() + style, f"<main>{''.join(body)}</main>"
    )


def _theme() -> str:
    """Return the colors of the book as properties of the page, light and dark."""

    def properties(shown: Callable[[str], str]) -> str:
        own = {name.lower(): getattr(colors, name) for name in ("INK", "MUTED", "PAGE", "DOUBT")}
        return "".join(f"--{k}:{shown(c)};" for k, c in (own | colors.PALETTE).items())

    dark = f":root{{{properties(colors.DARK.__getitem__)}}}"
    return f":root{{{properties(str)}}}\n@media screen and (prefers-color-scheme:dark){{{dark}}}\n"


def _section(title: str, how: str, *parts: str) -> str:
    shown = re.sub("`(.+?)`", r"<code>\1</code>", escape(how)).replace("\n", '</p><p class="how">')
    return f'<section><h2>{title}</h2><p class="how">{shown}</p>{"".join(parts)}</section>'


def _items(sentences: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in sentences)}</ul>"


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


def _row(name: str, marks: str, number: str = "", word: str = "", look: str = 'class="row"') -> str:
    """Return a row: a name, a picture, a number, and a word in a frame of its own look."""
    framed = f'<span class="word {word.partition(" ")[0]}">{word}</span>' if word else ""
    numbers = f'<span class="number">{number}</span>{framed}'
    plot = f'<span class="plot" aria-hidden="true">{marks}</span>'
    return f'<div {look}><span class="name">{escape(name)}</span>{plot}{numbers}</div>'


def _look(findings: Findings, name: str, kind: str = "") -> str:
    """Return the attributes that give a contestant its look: a color, or an open ring."""
    method = findings.plan.methods[name]
    known = method in METHODS and (method != "single" or name == REFERENCE)
    look = f"{kind} of{' open' * (not known)}".strip()
    return f'class="{look}" style="--own:var(--{method if known else "ink"})"'


def _forest(findings: Findings) -> str:
    axis, parts = _axis_of(findings.verdicts), []
    heads = {True: "Each with a temperature", False: "Without one, beside the answer"}
    for tempered, head in heads.items():
        ranked = findings.ranked(tempered)
        under = axis.mark("band", -ranked[0].margin, ranked[0].margin) + axis.mark("zero", 0.0)
        parts.append(f'<p class="head">{head}</p>')
        for verdict in ranked:
            over = "<b>▸</b>" * (verdict.high > axis.high)
            marks = under + axis.mark("whisker", verdict.low, verdict.high, over)
            marks += axis.mark("dot", verdict.difference) * (verdict.difference < axis.high)
            near = [each for each in findings.differences(verdict) if axis.low < each < axis.high]
            marks += "".join(axis.mark("fold", each) for each in near)
            ends = f"{digits(verdict.low)} to {digits(verdict.high)}"
            name = verdict.contestant
            number = f"{digits(verdict.difference)} <small>{ends}</small>"
            look = _look(findings, name, "row")
            parts.append(_row(findings.plan.labels[name], marks, number, verdict.word, look))
        sides = axis.mark("side", 0.0, text="<b>← better</b><b>worse →</b>")
        parts.append(_row("", axis.ticks() + sides, look='class="row axis"'))
    how = words.explain_differences(findings)
    return _section("How far from one network?", how, '<div class="rows">', *parts, "</div>")


def _axis_of(every: Sequence[Verdict]) -> _Axis:
    """Return an axis on which all that is not clearly worse is seen whole."""
    seen = [each for each in every if not each.word.startswith("worse")]
    margin = max(each.margin for each in every) or 1e-9
    low = min([each.low for each in seen] + [-2 * margin])
    high = max([each.high for each in seen] + [2 * margin, -low / 3])
    worse = [each.difference for each in every if each not in seen]
    high = max([high, *(value for value in worse if value < 3 * max(high, -low))])
    spare = 0.04 * (high - low)
    return _Axis(low - spare, high + spare)


def _coverage(findings: Findings) -> str:
    worsts = [each.worst.inside / each.worst.rows for each in findings.coverage if each.worst]
    axis, rows = _Axis(min([0.4, *(share - 0.04 for share in worsts)]), 1.03), []
    for each in findings.coverage:
        share, worst = each.inside / each.rows, each.worst
        marks = axis.mark("line", axis.low, axis.high)
        if findings.table.splits == "random":
            low, high = each.luck
            marks += axis.mark("band", low / each.rows, high / each.rows)
        marks += axis.mark("zero", each.level)
        if worst:
            marks += axis.mark("dot ring", worst.inside / worst.rows)
        marks += axis.mark("dot", share)
        number = f"{share:.1%} <small>{each.inside:,} of {each.rows:,} rows</small>"
        rows.append(_row(f"{each.level:.0%} promised", marks, number))
        rows.append(f'<p class="how">{escape(words.describe_worst(each))}</p>')
    ticks = "".join(
        axis.mark("tick", i / 5, text=f"{20 * i}%") for i in range(6) if i / 5 >= axis.low
    )
    what = "sets of classes" if findings.table.classes else "intervals"
    return _section(
        f"Do {what} keep their word?", words.explain_coverage(findings), '<div class="rows">',
        *rows, _row("", ticks, look='class="row axis"'), "</div>",
    )  # fmt: skip


def _check(sentence: str, how: str) -> str:
    return _section("Would it notice that rows have changed?", how, f"<p>{escape(sentence)}</p>")


def _costs(findings: Findings) -> str:
    heads = {
        "nll": "NLL", "error": "wrong, in %" if findings.table.classes else "RMSE",
        "num_stored": "parameters", "train_seconds": "seconds to train",
        "predict_seconds": "seconds to predict",
    }  # fmt: skip
    means = {key: findings.means(key) for key in heads}
    lines = {name: list[str]() for name in sorted(means["nll"], key=means["nll"].__getitem__)}
    for key, values in means.items():
        at = {k: math.log(max(v, 1e-9)) if key in COSTS else v for k, v in values.items()}
        axis = _Axis(min(at.values()), max(max(at.values()), min(at.values()) + 1e-9))
        for name, cells in lines.items():
            strip = f'<span class="plot">{axis.mark("dot", at[name])}</span>'
            cells.append(digits(values[name], {"nll": 4, "error": 3}.get(key, 2)) + strip)
    table = _table(findings, [*heads.values()], lines)
    how = words.explain_costs(findings)
    return _section("How good is each, and what does it cost?", how, table)


def _sizes(findings: Findings) -> str:
    each = {
        (point.contestant, point.rows): point.nll for point in findings.learning if point.tempered
    }
    sizes = sorted({rows for _, rows in each})
    names = sorted({name for name, _ in each}, key=lambda name: each[name, sizes[-1]])
    lines = {name: [digits(each[name, size], 4) for size in sizes] for name in names}
    table = _table(findings, [f"{size:,} rows" for size in sizes], lines)
    return _section("Would more rows change it?", words.explain_sizes(), table)


def _table(findings: Findings, heads: Sequence[str], lines: Mapping[str, Sequence[str]]) -> str:
    """Return a table of a line a contestant; on a phone cells have their heads beside them."""
    top = "".join(f'<th class="n" scope="col">{escape(head)}</th>' for head in heads)
    body = ""
    for name, values in lines.items():
        cells = "".join(
            f'<td class="n" data-name="{escape(head)}">{value}</td>'
            for head, value in zip(heads, values, strict=True)
        )
        label = f'<span class="name">{escape(findings.plan.labels[name])}</span>'
        body += f'<tr {_look(findings, name)}><th scope="row">{label}</th>{cells}</tr>'
    return f"<table><thead><tr><th>method</th>{top}</tr></thead><tbody>{body}</tbody></table>"


def _decisions(findings: Findings) -> str:
    plan, chosen = findings.plan, dict[tuple[str, str], list[str]]()
    for row in findings.rows:
        if not row.tempered:
            setting = ", ".join(f"{key} {value:g}" for key, value in row.settings.items())
            chosen.setdefault((row.contestant, setting), []).append(str(row.fold + 1))
    made = {
        **findings.versions, "seed": findings.seed, "minutes asked for": plan.minutes,
        "processes": plan.workers, "trainings scored a fold": plan.search.starts,
        "examples a step": plan.search.batch_size,
    }  # fmt: skip
    columns = findings.table.columns
    details = {
        "What was decided": _items(words.decisions(findings)),
        f"Columns ({len(columns)})": _cells(
            (column.name, column.kind, column.treatment, column.note) for column in columns
        ),
        "What each chose": _cells(
            (plan.labels[name], setting, f"in fold {', '.join(own)}")
            for (name, setting), own in chosen.items()
        ),
        "Versions, seed, search": _items(f"{k}: {v}" for k, v in made.items()),
    }
    inner = "".join(
        f"<details><summary>{name}</summary>{text}</details>" for name, text in details.items()
    )
    return f"<section><h2>All that was decided</h2>{inner}</section>"


def _cells(lines: Iterable[Sequence[str]]) -> str:
    """Return a table of words, each line with its head first."""
    body = "".join(
        f'<tr><th scope="row">{escape(head)}</th>'
        f"{''.join(f'<td>{escape(cell)}</td>' for cell in rest)}</tr>"
        for head, *rest in lines
    )
    return f"<table>{body}</table>"
