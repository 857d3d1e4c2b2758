"""How long a page takes to read, counted on its HTML.

What is folded is left out.
"""

import math
import re
from dataclasses import dataclass

from bs4 import BeautifulSoup

# Of code only its lines count: what colors its words need not be parsed.
CODE = re.compile(r"(<pre\b[^>]*>)(.*?)(?=</pre>)", flags=re.DOTALL)
COLORED = re.compile(r"</?span\b[^>]*>")
WORDS_A_MINUTE = 200
FIGURE_SECONDS = 20
CODE_SECONDS = 2  # a line
DISPLAYED = 5  # words; a formula inside a line is one word
FOLDED = "details:not([open]), .admonition.dropdown, .toggle"
# No text of the page: what one clicks, draws or hides, and the bibliography.
FIGURES = ", ".join(
    f".ensedu-{kind}" for kind in ("explorer", "trainer", "digit")
)
OTHER = f"script, style, .headerlink, {FIGURES}, .citation-list"


@dataclass(frozen=True)
class Reading:
    """What a page shows before anything is unfolded."""

    words: int
    numbers: int  # words with a digit
    figures: int
    code: int  # lines

    @property
    def minutes(self):
        """Whole minutes, rounded up."""
        seconds = FIGURE_SECONDS * self.figures + CODE_SECONDS * self.code
        return math.ceil(self.words / WORDS_A_MINUTE + seconds / 60)


def read(html):
    """Count what a reader sees of a page, given its article as HTML."""
    plain = CODE.sub(lambda code: code[1] + COLORED.sub("", code[2]), html)
    page = BeautifulSoup(plain, "html.parser")
    for folded in page.select(FOLDED):
        folded.extract()
    figures = len(page.select(FIGURES))
    for other in page.select(OTHER):
        other.extract()
    # What code printed is among the words.
    code = page.select("pre:not(.cell_output *)")
    for block in code:
        block.extract()
    for formula in page.select(".math"):
        size = DISPLAYED if formula.name == "div" else 1
        formula.replace_with(" formula" * size + " ")
    words = [
        word
        for word in page.get_text(" ").split()
        if any(map(str.isalnum, word))
    ]
    return Reading(
        words=len(words),
        numbers=sum(any(map(str.isdigit, word)) for word in words),
        figures=figures,
        code=sum(map(lines, code)),
    )


def lines(block):
    """Return how many lines of a block are not empty."""
    return sum(bool(line.strip()) for line in block.get_text().splitlines())
