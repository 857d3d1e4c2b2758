"""Tables, as text and as HTML; standard library only.

A notebook stores the text, and a test compares it. The HTML is for the pages of the book alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import Any

from ensedu.common import book_build

DECISIVE = " ←"  # behind a decisive number, where nothing is bold

# How wide a table is, in em of a font that runs wide: a letter, a thin one, both margins of a
# column, the color of a method. A cell of words wraps where it is longer than WORDS, a title in the
# middle, a row's name not at all.
LETTER, THIN, MARGINS, SWATCH, WORDS = 0.64, 0.35, 1.0, 1.25, 9.0
NARROW_LETTERS = " ,.:;'()[]ijl"


@dataclass(frozen=True)
class Column:
    """What a column is called, and its group; whether it holds words."""

    title: str
    group: str = ""
    words: bool = False

    @property
    def label(self) -> str:
        """The title that needs no head above it."""
        return f"{self.group}, {self.title}" if self.group else self.title


@dataclass(frozen=True)
class Cell:
    """A number or words; beside them, in lighter print, what explains them."""

    text: str
    aside: str = ""
    decisive: bool = False

    @property
    def width(self) -> float:
        """How wide it is where it does not wrap."""
        return _text_width(self.text) + (_text_width(self.aside) + 2 * THIN if self.aside else 0)


@dataclass(frozen=True)
class Row:
    """What a row is called, its cells, the method whose color it has; whether it is the sum."""

    title: str
    cells: tuple[Cell, ...]
    method: str = ""
    total: bool = False


@dataclass(frozen=True, repr=False)
class TextTable:
    """Rows of cells under a head: aligned text, and HTML while the book is built.

    It has at least one column and one row, and each row has a cell a column. The corner stands
    above the names of the rows.
    """

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    caption: str = ""
    corner: str = ""

    def __repr__(self) -> str:
        return "\n".join(line.rstrip() for line in self._text_lines())

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        page = {"text/html": self.html()} if book_build.folder() else {}
        return {"text/plain": repr(self)} | page

    def html(self) -> str:
        """Return the table for a page, which makes each row a block where it is too narrow."""
        asides = max(len(cell.aside) for row in self.rows for cell in row.cells)
        lines = [
            f'<div class="ensedu-table-box" style="--ensedu-table: {self.table_width():.1f}; '
            f'--ensedu-line: {self.block_line_width():.1f}; --ensedu-aside: {asides}">',
            # Where the style sheet takes its display away, a table is one by its roles alone.
            '<table class="ensedu-table" role="table">',
            *([f"<caption>{escape(self.caption)}</caption>"] if self.caption else []),
            '<thead role="rowgroup">',
            *(f'<tr role="row">{"".join(row)}</tr>' for row in self._head_html() if row),
            '</thead><tbody role="rowgroup">',
            *map(self._row_html, self.rows),
            "</tbody></table></div>",
        ]
        return "\n".join(lines)

    @property
    def _row_names(self) -> list[str]:
        return [self.corner, *(row.title for row in self.rows)]

    def _grouped_columns(self) -> list[tuple[str, list[int]]]:
        """Return each group with the places of its columns."""
        places = groupby(range(len(self.columns)), lambda i: self.columns[i].group)
        return [(group, list(span)) for group, span in places]

    def _cells_of_column(self, place: int) -> list[Cell]:
        return [row.cells[place] for row in self.rows]

    def _text_lines(self) -> Iterator[str]:
        gap = "    " if any(cell.aside for row in self.rows for cell in row.cells) else "  "
        left = max(map(len, self._row_names))
        parts = [[name.ljust(left) for name in self._row_names]] if left else []
        groups = [" " * left] if left else []
        for group, places in self._grouped_columns():
            blocks = [_aligned_column(self.columns[i], self._cells_of_column(i)) for i in places]
            more = len(group) - len(gap.join(block[0] for block in blocks))
            blocks[0] = [" " * more + line for line in blocks[0]]
            groups.append(group.center(len(gap.join(block[0] for block in blocks))))
            parts += blocks
        if self.caption:
            yield self.caption
        if "".join(groups).strip():
            yield gap.join(groups)
        lines = [gap.join(line) for line in zip(*parts, strict=True)]
        yield lines[0]
        for row, line in zip(self.rows, lines[1:], strict=True):
            if row.total:
                yield "-" * len(lines[0])
            yield line

    def _head_html(self) -> Iterator[list[str]]:
        """Yield the head's two rows, the second one empty without groups."""
        grouped = any(column.group for column in self.columns)
        high = ' rowspan="2"' if grouped else ""
        first: list[str] = []
        second: list[str] = []
        if self.corner:
            first.append(f'<th{high} role="columnheader" scope="col">{escape(self.corner)}</th>')
        elif any(self._row_names):
            first.append(f'<td{high} role="cell"></td>')
        for group, places in self._grouped_columns():
            titles = [
                f'<th{"" if group else high} role="columnheader" scope="col"'
                f"{_class_attribute(self.columns[i])}>{escape(self.columns[i].title)}</th>"
                for i in places
            ]
            if group:
                first.append(
                    f'<th colspan="{len(places)}" role="columnheader" scope="colgroup">'
                    f"{escape(group)}</th>"
                )
            (second if group else first).extend(titles)
        yield first
        yield second

    def _row_html(self, row: Row) -> str:
        own = f' data-method="{escape(row.method)}"' if row.method else ""
        name = f'<th role="rowheader" scope="row">{escape(row.title)}</th>'
        cells = "".join(
            f'<td role="cell" data-label="{escape(column.label)}"{_class_attribute(column)}>'
            f"{_cell_html(cell, any(other.aside for other in self._cells_of_column(i)))}</td>"
            for i, (column, cell) in enumerate(zip(self.columns, row.cells, strict=True))
        )
        return f'<tr role="row"{own}>{name if any(self._row_names) else ""}{cells}</tr>'

    def table_width(self) -> float:
        """How wide it is as a table."""
        width = MARGINS + max(map(_text_width, self._row_names))
        width += SWATCH * any(row.method for row in self.rows)
        for group, places in self._grouped_columns():
            inside = 0.0
            for i in places:
                column, cells = self.columns[i], self._cells_of_column(i)
                whole = (_wrapped_width(c.text) if column.words else c.width for c in cells)
                title = max(_widest_word(column.title), _text_width(column.title) / 2)
                inside += MARGINS + max(title, *whole)
            width += max(inside, _widest_word(group) + MARGINS)
        return width

    def block_line_width(self) -> float:
        """How wide a line of a block is: the title of a column, and a cell."""
        return MARGINS + max(
            _text_width(column.label) + max(cell.width for cell in self._cells_of_column(i))
            for i, column in enumerate(self.columns)
        )


def _aligned_column(column: Column, cells: list[Cell]) -> list[str]:
    """Return a column's title and its cells, all of one length."""
    text, aside = (max(len(getattr(cell, part)) for cell in cells) for part in ("text", "aside"))
    marked = any(cell.decisive for cell in cells)
    lines = []
    for cell in cells:
        line = cell.text.ljust(text) if column.words else cell.text.rjust(text)
        line += f"  {cell.aside.rjust(aside)}" if aside else ""
        lines.append(line + (DECISIVE if cell.decisive else " " * len(DECISIVE)) * marked)
    align = str.ljust if column.words else str.rjust
    width = max(len(lines[0]), len(column.title))
    return [align(line, width) for line in (column.title, *lines)]


def _class_attribute(column: Column) -> str:
    return ' class="ensedu-words"' if column.words else ""


def _cell_html(cell: Cell, aside_of_any: bool) -> str:
    text = escape(cell.text)
    aside = f' <span class="ensedu-aside">{escape(cell.aside)}</span>' if aside_of_any else ""
    return (f"<strong>{text}</strong>" if cell.decisive else f"<span>{text}</span>") + aside


def _text_width(text: str) -> float:
    return sum((THIN if letter in NARROW_LETTERS else LETTER for letter in text), 0.0)


def _widest_word(text: str) -> float:
    return max(map(_text_width, text.split()), default=0.0)


def _wrapped_width(text: str) -> float:
    return max(_widest_word(text), min(_text_width(text), WORDS))
