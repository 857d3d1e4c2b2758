"""The cheat sheet: what each method stores, to scale, with its formula and its counts."""

from collections import Counter
from html import escape

from ensedu import counting
from ensedu.common.text_table import TextTable
from ensedu.methods import METHODS, role_sums, size_option
from workshop.page.method_table import method_table

#: The methods of Part I, and what each does with its parts.
WORDS = {
    "single": "one matrix, one bias",
    "deep_ensemble": "M of everything",
    "batch_ensemble": "W once; a member scales inputs by r, outputs by s",
    "rank1": "W once; r and s random, each with a mean (solid) and σ (hatched)",
    "mean_field": "every weight and bias random, with a mean μ and a σ",
}
MEMBERS = 4
#: Of the picture: the side of a number, numbers along a side of a matrix, and between two arrays.
UNIT, SIDE, AIR = 2, 50, 4
#: Strips are so many times as thick: else no hatching is seen in them.
THICK = 3
#: From member to member; and from line to line of what is hatched.
STEP, HATCH = (SIDE + 3 * THICK) * UNIT + 6 * AIR, 6
#: From what is stored once, two matrices at most, to the first member.
ONCE = STEP + SIDE * UNIT + 2 * AIR


def formula(method: str) -> str:
    """Return the parameters of a layer m → n."""
    times = Counter(role_sums(method).values())
    return " + ".join(f"{n if n > 1 else ''}{term}" for term, n in times.items()).replace(" · ", "")


def box(x: int, y: int, rows: int, columns: int, look: str) -> str:
    """Return an array of so many numbers as a rectangle, hatched if it holds deviations."""
    w, h = (UNIT * (THICK if numbers == 1 else numbers) for numbers in (columns, rows))
    drawn = f'<rect class="{look}" x="{x}" y="{y}" width="{w}" height="{h}"/>'
    if look != "deviations":
        return drawn
    lines = "".join(
        f"M{x + max(0, c - h)} {y + min(c, h)}L{x + min(c, w)} {y + max(0, c - w)}"
        for c in range(HATCH // 2, w + h, HATCH)
    )
    return f'{drawn}<path d="{lines}"/>'


def letter(x: float, y: float, name: str, index: int | None = None, look: str = "name") -> str:
    """Return the letter of an array, with a member's number, around a place."""
    below = f'<tspan class="index" dy="5">{index}</tspan>' if index else ""
    return f'<text class="{look}" x="{x}" y="{y}">{name}{below}</text>'


def arrays(method: str, at: int, member: int | None = None) -> str:
    """Return what stands in one place: what is stored once, or what a member stores."""
    row, thick, side = METHODS[method], THICK * UNIT + AIR, SIDE * UNIT
    x, y = at + 2 * thick, 2 * thick
    below, middle, line = y + side + AIR, x + side / 2, y + side / 2 + 8
    if not member:
        if method == "deep_ensemble":
            return f'<text x="{x}" y="{line}">nothing</text>'
        # No W, but a mean and a deviation of each weight.
        alone = row.has_stds and not row.has_members
        parts = [box(x, y, SIDE, SIDE, "weight")]
        parts.append(letter(middle, line, "μ" if alone else "W", look="on"))
        if not row.has_members:
            parts.append(box(x, below, 1, SIDE, "bias"))
            parts.append(f'<text x="{x + ONCE}" y="{line}">no members</text>')
        if alone:
            right = x + SIDE * UNIT + 2 * AIR
            parts.append(box(right, y, SIDE, SIDE, "deviations"))
            parts.append(letter(right + side / 2, line, "σ", look="on hatch"))
            parts.append(box(right, below, 1, SIDE, "deviations"))
        return "".join(parts)
    parts = [box(x, y, SIDE, SIDE, "computed" if row.modulated else "weight")]
    sampled = row.modulated and row.has_stds  # a sample of the random matrix V, not the member's W
    name = "V" if sampled else "W"
    parts.append(letter(middle, line, name, member, "name" if row.modulated else "on"))
    parts.append(box(x, below, 1, SIDE, "bias"))
    vectors = ("weight", "deviations") if row.has_stds else ("weight",)
    if row.modulated and member == 1:
        parts.append(letter(x - len(vectors) * thick - 16, line, "r", member))
        # Between members, above and below what stands at their sides.
        beside = x + side + (STEP - side) / 2
        parts.append(letter(beside, y - 9, "s", member))
        parts.append(letter(beside, below + 16, "b", member))
    for i, look in enumerate(vectors if row.modulated else (), start=1):
        parts.append(box(x - i * thick, y, SIDE, 1, look))
        parts.append(box(x, y - i * thick, 1, SIDE, look))
    return "".join(parts)


def picture(method: str, members: int) -> str:
    """Return what a layer stores, to scale: what is stored once at the left, then each member."""
    own = range(1, members + 1) if METHODS[method].has_members else ()
    stored = "".join(arrays(method, ONCE + (i - 1) * STEP, i) for i in own)
    width, height = ONCE + members * STEP, (SIDE + 3 * THICK) * UNIT + 5 * AIR
    return (
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(WORDS[method])}">'
        f'<g class="once">{arrays(method, 0)}</g>{stored}</svg>'
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
                f"<div>{picture(row.method, MEMBERS)}<p>"
                f'<span><span class="math">\\({text}\\)</span></span>'
                f"<span>{self.columns[2].title}: {layer}</span>"
                f"<span>{self.columns[3].title}: <strong>{whole}</strong> · "
                f"{escape(row.cells[3].aside)}</span></p></div></section>"
            )
        return f'<div class="ensedu-sheet">{HEADS}{"".join(blocks)}</div>{STYLE}'


def sheet(sizes: list[int]) -> Sheet:
    """Return the methods of Part I, with the counts of a layer 50 → 50 and of a network."""
    rows, one = {}, counting.mlp(sizes)
    for method, words in WORDS.items():
        count = counting.mlp(sizes, method, **size_option(method, MEMBERS))
        layer = counting.layer(50, 50, method, **size_option(method, MEMBERS))
        rows[method] = {
            "a member": words, "m → n": formula(method), "50 → 50": layer,
            "-".join(map(str, sizes)): (f"{count.total:,}", f"{count.total / one.total:.2f} ×"),
        }  # fmt: skip
    return Sheet(**vars(method_table(rows)))


#: Above the columns of all pictures.
HEADS = (
    '<div><p class="heads"><span>once</span><span>by each member</span></p>'
    "<p><span>parameters</span></p></div>"
)
STYLE = """<style>
@page { size: A4; margin: 14mm 15mm 16mm }
.ensedu-sheet section { border-top: 1px solid var(--pst-color-border); padding: 0.3rem 0 }
.bd-article .ensedu-sheet p { margin: 0 }
.ensedu-sheet p > b {
  border-inline-start: 0.6em solid var(--ensedu-own); font-size: 1.1em;
  margin-right: 0.4em; padding-inline-start: 0.4em;
}
.ensedu-sheet div { align-items: center; display: flex; flex-wrap: wrap; gap: 0.3rem 1.5rem }
.ensedu-sheet div > p { display: flex; flex: 1 1 9rem; flex-wrap: wrap; gap: 0 1rem }
.ensedu-sheet div > p > :first-child { flex-basis: 100% }
.ensedu-sheet > div { align-items: end; color: var(--pst-color-text-muted); line-height: 1.2 }
.ensedu-sheet div > .heads {
  align-items: end; column-gap: 1em; display: grid; flex: 0 1 31rem;
  grid-template-columns: calc(30.6% - 0.4em) 1fr; /* W, and members */
}
.bd-article:has(.ensedu-sheet) ul { padding-inline-start: 1.1rem }
.ensedu-sheet svg { height: auto; max-width: 100%; print-color-adjust: exact; width: 31rem }
.ensedu-sheet svg { color: var(--ensedu-own); overflow: visible }
.ensedu-sheet .once { color: var(--ensedu-shared) }
.ensedu-sheet .weight { fill: currentColor }
.ensedu-sheet .bias { fill: currentColor; opacity: 0.5 }
.ensedu-sheet path { stroke: currentColor; stroke-width: 1.5 }
.ensedu-sheet .deviations { fill: none; stroke: currentColor }
.ensedu-sheet text { fill: var(--pst-color-text-muted); font-size: 22px }
.ensedu-sheet :is(.name, .on) { font: italic 22px serif; text-anchor: middle }
.ensedu-sheet .on { fill: var(--pst-color-background); font-size: 28px }
.ensedu-sheet .hatch {
  fill: var(--pst-color-text-base); paint-order: stroke; stroke: var(--pst-color-background);
  stroke-width: 8;
}
.ensedu-sheet .index { font-size: 15px; font-style: normal }
.ensedu-sheet .computed {
  fill: none; stroke: var(--pst-color-text-muted); stroke-dasharray: 3 3;
}
@media screen and (max-width: 600px) {
  .ensedu-sheet { font-size: 0.9rem; line-height: 1.35 }
  .ensedu-sheet :is(text, .name) { font-size: 26px }
  .ensedu-sheet .index { font-size: 19px }
  .ensedu-sheet .heads + p { display: none }
}
@media print {
  html[data-theme]:has(.ensedu-sheet) { font-size: 9.5pt }
  .bd-article:has(.ensedu-sheet) :is(p, li) { line-height: 1.3 }
  .ensedu-sheet svg { width: 92mm }
  .ensedu-sheet div > .heads { flex-basis: 92mm }
  .bd-article:has(.ensedu-sheet) h1 { font-size: 18pt; margin: 0 0 0.4rem }
  .bd-article:has(.ensedu-sheet) :is(p, ul) { margin: 0 0 0.5rem }
  .bd-article:has(.ensedu-sheet) li > p { margin: 0 }
}
</style>"""
