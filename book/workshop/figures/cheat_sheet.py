"""What the cheat sheet says of each method, and how its symbols are drawn."""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from ensedu import costs
from ensedu.counting.text_table import Table
from ensedu.methods import METHODS, layer_methods, role_sums, size_option
from workshop.page.method_table import method_table

NEEDS = {
    "single": "Comes first, with a temperature.",
    "deep_ensemble": "Memory for M networks, and M passes.",
    "batch_ensemble": "Wide layers, and M passes; r, s from signs here.",
    "rank1": "Wide layers, many passes; a prior near 1.",
    "mean_field": "Memory for two, many passes; tune the KL.",
    "mc_dropout": "Many passes; dropout as in training.",
    "last_layer": "One pass: its body runs once.",
}
#: What a member's weights are made of: symbols, with how each is stored.
MADE = {
    "single": "W:shared",
    "deep_ensemble": "Wᵢ:own",
    "batch_ensemble": "W:shared ∘ rᵢ:own sᵢᵀ:own",
    "rank1": "W:shared ∘ rᵢ:random sᵢᵀ:random",
    "mean_field": "μ:shared + σ:random ∘ εᵢ:drawn",
    "mc_dropout": "W:shared ∘ rᵢ:drawn 1ᵀ",
    "last_layer": "W:shared , last Wᵢ:own",
}
#: Em that the table needs as a table: each row has two lines there.
WIDE = 38.0


def made(method: str) -> str:
    """Return the symbols alone."""
    return re.sub(r":\w+", "", MADE[method]).replace(" ,", ",")


def drawn(method: str) -> str:
    """Return the symbols in boxes: high as r, wide as s, or square."""
    parts = []
    for symbol, kind in re.findall(r"(\S+?)(?::(\w+))?(?: |$)", MADE[method]):
        form = {"r": "high", "s": "wide"}.get(symbol[0], "square")
        box = f' class="{kind} {form}"' if kind else ""
        for index, low in {"ᵢ": "<sub>i</sub>", "ᵀ": "<sup>T</sup>"}.items():
            symbol = symbol.replace(index, low)
        parts.append(f"<i{box}><span>{symbol}</span></i>")
    return f'<span class="made">{"".join(parts)}</span>'


def formula(method: str) -> str:
    """Return the parameters of a layer m → n."""
    words = " + ".join(role_sums(method).values()).replace(" · ", "")
    return f"last layer {words}" if METHODS[method].body else words


def times(
    method: str, sizes: Sequence[int], number: int, batch_size: int, *, backward: bool
) -> float:
    """Return the operations of a network of so many members, in multiples of one network's.

    With `backward` of a step of training, which draws once; without, of a prediction.
    """
    return _operations(method, sizes, number, batch_size, backward) / _operations(
        "single", sizes, number, batch_size, backward
    )


def _operations(
    method: str, sizes: Sequence[int], number: int, batch_size: int, backward: bool
) -> int:
    total = 0
    layers = layer_methods(method, len(sizes) - 1)
    for (m, n), kind in zip(pairwise(sizes), layers, strict=True):
        size = size_option(kind, number)
        if backward and "samples" in size:
            size = {"samples": 1}
        given: dict[str, Any] = {**size, "batch_size": batch_size, "backward": backward}
        forms = [costs.layer(m, n, kind, **given, form=form) for form in costs.FORMS]
        total += min(cost.flops for cost in forms)
    return total


class Sheet(Table):
    """A table whose symbols stand in boxes; where it is wide, a row has two lines."""

    def table_width(self) -> float:
        """Return `WIDE`."""
        return WIDE

    def html(self) -> str:
        """Return it for the book's page."""
        text = super().html()
        for method in METHODS:
            symbols = re.escape(made(method))
            row = rf'(data-method="{method}">.*?)<(\w+)>{symbols}</\2>'
            text, found = re.subn(row, rf"\1{drawn(method)}", text, flags=re.DOTALL)
            if found != 1:
                raise ValueError(f"rows must show {made(method)!r} once for {method!r}")
        return f'<div class="ensedu-sheet">{text}{STYLE}</div>'


def sheet(rows: Mapping[str, Mapping[str, Any]]) -> Sheet:
    """Return the table of these rows, each with the symbols of `made`; the last two are ratios."""
    *_, train, predict = next(iter(rows.values()))
    whole = method_table(rows, columns=dict.fromkeys((train, predict), "{:.2f} ×"))
    return Sheet(**vars(whole))


STYLE = """<style>
@page { size: A4; margin: 14mm 15mm 16mm }
.made { align-items: center; display: inline-flex; gap: 0.2em }
.made i { font-style: normal }
.made :is(sub, sup) { font-size: 0.8em; line-height: 0 }
.made [class] {
  align-items: center; border: 2px solid; border-radius: 2px; display: flex;
  justify-content: center; height: 1.9em; width: 2.2em;
  print-color-adjust: exact;
}
.made .high { width: 1.7em }
.made .wide { height: 1.5em }
.made .shared { border-color: var(--ensedu-shared) }
.made :is(.own, .random) { border-color: var(--ensedu-own) }
.made .drawn { border: 0 }
.made :is(.random, .drawn) {
  background: repeating-linear-gradient(-45deg, transparent 0 3px,
    color-mix(in srgb, var(--ensedu-own) 30%, transparent) 3px 4px);
}
.bd-article .ensedu-sheet tr > :is(th, td) { white-space: nowrap }
.bd-article .ensedu-sheet tr > :nth-child(2) { white-space: normal }
.bd-article .ensedu-sheet tbody th { font-weight: 600 }
@container (min-width: 10em) {
  .bd-article .ensedu-sheet .ensedu-table { display: block; width: 100% }
  .ensedu-sheet :is(thead, tbody) { display: block }
  .bd-article .ensedu-sheet tr {
    border-bottom: 1px solid var(--pst-color-border); display: grid;
    grid-template-columns: 13.1em minmax(0, 1fr) 4.6em 5.6em 5em 5.8em;
    padding-block: 0.35em;
  }
  .bd-article .ensedu-sheet tr > :is(th, td):nth-child(n) {
    border: 0; padding-block: 0.1em;
  }
  .ensedu-sheet tr > :nth-child(1) { grid-area: 1 / 1 }
  .ensedu-sheet tr > :nth-child(2) { grid-area: 2 / 1 / 3 / 3 }
  .ensedu-sheet tr > :nth-child(3) { grid-area: 1 / 2 }
  .ensedu-sheet tr > :nth-child(4) {
    color: var(--ensedu-muted); grid-area: 2 / 3 / 3 / 7; justify-self: end;
  }
  .ensedu-sheet tr > :nth-child(n + 5) { align-self: center }
  .ensedu-sheet thead tr > :nth-child(2) {
    clip-path: inset(50%); height: 1px; overflow: hidden; padding: 0;
  }
  .ensedu-sheet thead tr > :nth-child(3) { grid-area: 2 / 2 }
  .bd-article .ensedu-sheet thead tr > :nth-child(4):nth-child(n) {
    border-bottom: 1px solid; grid-area: 1 / 3 / 2 / 5; justify-self: stretch;
    text-align: center;
  }
  .ensedu-sheet thead tr > :nth-child(n + 5) { grid-row: 2 }
}
@container (max-width: 10em) {
  .bd-article .ensedu-sheet tbody tr { grid-template-columns: 1fr 1fr }
  .bd-article .ensedu-sheet tbody td:nth-child(-n + 4) { grid-column: 1 / 3 }
  .bd-article .ensedu-sheet tbody td:nth-child(2) { display: block }
  .bd-article .ensedu-sheet tbody td:nth-child(2)::before { content: none }
}
@media print {
  html[data-theme]:has(.ensedu-sheet) { font-size: 9.5pt }
  .bd-article:has(.ensedu-sheet) h1 { font-size: 18pt; margin: 0 0 0.4rem }
  .bd-article:has(.ensedu-sheet) :is(p, ul) { margin: 0 0 0.5rem }
  .bd-article:has(.ensedu-sheet) li > p { margin: 0 }
}
</style>"""
