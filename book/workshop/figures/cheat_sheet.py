"""The cheat sheet: what each method stores, to scale, with its formula and its counts."""

from html import escape

from ensedu import counting
from ensedu.counting.text_table import TextTable
from ensedu.methods import METHODS, role_sums, size_option
from workshop.page.method_table import method_table

#: The methods of Part I, and what each does with its parts.
WORDS = {
    "single": "one matrix",
    "deep_ensemble": "M of everything",
    "batch_ensemble": "r scales inputs, s outputs: Wᵢ = W ∘ rᵢ sᵢᵀ",
    "rank1": "the same; r and s are random (hatched: σ)",
    "mean_field": "every weight is random (hatched: σ)",
}
MEMBERS = 4
#: Pixels of a number: a matrix has SIDE × SIDE of them, a vector SIDE; and between two arrays.
UNIT, SIDE, AIR = 4, 9, 3
#: Pixels from member to member.
STEP = (SIDE + 3) * UNIT + 5 * AIR


def formula(method: str) -> str:
    """Return the parameters of a layer m → n."""
    return " + ".join(role_sums(method).values()).replace(" · ", "")


def box(x: int, y: int, rows: int, columns: int, look: str) -> str:
    """Return an array of so many numbers as a rectangle, hatched if it holds deviations."""
    w, h = columns * UNIT, rows * UNIT
    drawn = f'<rect class="{look}" x="{x}" y="{y}" width="{w}" height="{h}"/>'
    if look != "deviations":
        return drawn
    lines = "".join(
        f"M{x + max(0, c - h)} {y + min(c, h)}L{x + min(c, w)} {y + max(0, c - w)}"
        for c in range(UNIT, w + h, UNIT)
    )
    return f'{drawn}<path class="deviations" d="{lines}"/>'


def arrays(method: str, at: int, *, shared: bool) -> str:
    """Return what stands in one place: what is stored once, or what a member stores."""
    row, thick = METHODS[method], UNIT + AIR
    x, y = at + 2 * thick, 2 * thick
    below = y + SIDE * UNIT + AIR
    if shared:
        parts = [] if method == "deep_ensemble" else [box(x, y, SIDE, SIDE, "shared")]
        if not row.members:
            parts.append(box(x, below, 1, SIDE, "bias"))
        if row.spread and not row.members:
            right = x + STEP
            parts.append(box(right, y, SIDE, SIDE, "deviations"))
            parts.append(box(right, below, 1, SIDE, "deviations"))
        return "".join(parts)
    parts = [box(x, y, SIDE, SIDE, "computed" if row.modulated else "own")]
    parts.append(box(x, below, 1, SIDE, "bias"))
    vectors = ("own", "deviations") if row.spread else ("own",)
    for i, look in enumerate(vectors if row.modulated else (), start=1):
        parts.append(box(x - i * thick, y, SIDE, 1, look))
        parts.append(box(x, y - i * thick, 1, SIDE, look))
    return "".join(parts)


def picture(method: str, members: int) -> str:
    """Return what a layer stores, to scale: what is stored once at the left, then each member."""
    own = range(members) if METHODS[method].members else ()
    parts = [arrays(method, 0, shared=True)]
    parts += [arrays(method, (1 + i) * STEP, shared=False) for i in own]
    width, height = (1 + members) * STEP, (SIDE + 3) * UNIT + 4 * AIR
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-label="{escape(WORDS[method])}">{"".join(parts)}</svg>'
    )


class Sheet(TextTable):
    """Its rows as blocks with a picture each."""

    def html(self) -> str:
        """Return it for the book's page."""
        blocks = []
        for row in self.rows:
            words, text, layer, whole = (escape(cell.text) for cell in row.cells)
            blocks.append(
                f'<section data-method="{row.method}"><p><b>{escape(row.title)}</b> {words}</p>'
                f"<div>{picture(row.method, MEMBERS)}<p>m → n: {text}<br>50 → 50: {layer}<br>"
                f"{self.columns[3].title}: <strong>{whole}</strong></p></div></section>"
            )
        return f'<div class="ensedu-sheet">{"".join(blocks)}</div>{STYLE}'


def sheet(sizes: list[int]) -> Sheet:
    """Return the methods of Part I, with the counts of a layer 50 → 50 and of a network."""
    rows = {}
    for method, words in WORDS.items():
        count = counting.mlp(sizes, method, **size_option(method, MEMBERS))
        layer = counting.layer(50, 50, method, **size_option(method, MEMBERS))
        rows[method] = {
            "a member": words, "m → n": formula(method), "50 → 50": layer,
            "-".join(map(str, sizes)): count,
        }  # fmt: skip
    return Sheet(**vars(method_table(rows)))


STYLE = """<style>
@page { size: A4; margin: 14mm 15mm 16mm }
.ensedu-sheet section { border-top: 1px solid var(--pst-color-border); padding: 0.3rem 0 }
.bd-article .ensedu-sheet p { margin: 0 }
.ensedu-sheet p > b {
  border-inline-start: 0.6em solid var(--ensedu-own); font-size: 1.1em;
  margin-right: 0.4em; padding-inline-start: 0.4em;
}
.ensedu-sheet div { align-items: center; display: flex; flex-wrap: wrap; gap: 0.3rem 1.5rem }
.ensedu-sheet div > p { flex: 1 1 9rem }
.ensedu-sheet svg { height: auto; max-width: 100%; print-color-adjust: exact }
.ensedu-sheet .shared { fill: var(--ensedu-shared) }
.ensedu-sheet .own { fill: var(--ensedu-own) }
.ensedu-sheet :is(.bias, .deviations) { fill: none; stroke: var(--ensedu-own) }
.ensedu-sheet .computed {
  fill: none; stroke: var(--pst-color-text-muted); stroke-dasharray: 2 2;
}
@media print {
  html[data-theme]:has(.ensedu-sheet) { font-size: 9.5pt }
  .bd-article:has(.ensedu-sheet) h1 { font-size: 18pt; margin: 0 0 0.4rem }
  .bd-article:has(.ensedu-sheet) :is(p, ul) { margin: 0 0 0.5rem }
  .bd-article:has(.ensedu-sheet) li > p { margin: 0 }
}
</style>"""
