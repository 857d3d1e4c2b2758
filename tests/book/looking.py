"""What tests draw and look at: figures in each look, and those of the notebooks; explorers."""

import ast
import io
import itertools
import re
from contextlib import ExitStack, redirect_stdout, suppress
from functools import cache
from unittest import mock

import numpy as np
from matplotlib.colors import to_hex, to_rgb
from matplotlib.lines import Line2D
from matplotlib.text import Annotation, Text

from ensedu import torch as et
from tests.book.conftest import read
from workshop import plot
from workshop.experiments import running_example
from workshop.page import explore, figure_numbers
from workshop.page.frames import check_letters
from workshop.page.live import live, trainer_state
from workshop.plot import style
from workshop.plot.colored_cells import INKS
from workshop.plot.style import DARK, INK, LABELS, MARKERS, MUTED, PALETTE, Look

LIGHT = WIDE, NARROW = Look(), Look(narrow=True)
#: Colors of a light page, those of entries, which no page changes, and both ends of a color map.
HOUSE = {*DARK, *INKS, *(to_hex(style.heat_colors()(0.5 + sign * 0.42)) for sign in (1, -1))}
CALLED = {label: key for key, label in LABELS.items()}
# The sentence under a figure says one thing: so many words, so many numbers, and no more.
MOST_WORDS, MOST_NUMBERS = 20, 3
NUMBER = re.compile(r"[-−+±]?\d[\d,]*(\.\d+)?(e[-−+]?\d+)?")
AROUND = "()[]{}.,;:!?%×°\"'“”"  # what may stand before or behind a word


def drawn(draw, look=WIDE):
    """Return the figure in this look, laid out."""
    with style.rendering(look):
        figure = draw()
    with style.house_style():
        figure.draw_without_rendering()
    return figure


def texts(figure):
    """List what can be read: visible texts that are not empty, of visible axes."""
    hidden = {id(text) for axes in figure.axes for text in _hidden(axes)}
    return [
        text
        for text in figure.findobj(Text)
        if text.get_text().strip()
        and text.get_visible()
        and (text.axes is None or text.axes.get_visible())
        and id(text) not in hidden
    ]


def words(figure):
    """List what can be read, each on one line."""
    return [" ".join(text.get_text().split()) for text in texts(figure)]


def _hidden(axes):
    """Yield what an axes has and does not draw: names of an axis that is off, ticks outside."""
    panel = axes.get_window_extent()
    for axis, low, high in ((axes.xaxis, 0, 2), (axes.yaxis, 1, 3)):
        labels = [
            label
            for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]
            for label in (tick.label1, tick.label2)
        ]
        if not (axes.axison and axes.get_visible() and axis.get_visible()):
            yield from [axis.label, axis.offsetText, *labels]
            continue
        # A tick outside the limits is there, and not drawn.
        ends = panel.extents[low] - 2, panel.extents[high] + 2
        for label in labels:
            box = label.get_window_extent().extents
            if not ends[0] <= (box[low] + box[high]) / 2 <= ends[1]:
                yield label


def box(text):
    """Where the letters stand, in pixels: without an arrow that leads to them."""
    kind = Text if isinstance(text, Annotation) else type(text)
    return kind.get_window_extent(text)


def readable(figure, look):
    """Fail unless all texts are large enough, inside the figure, and apart from each other.

    The figure is laid out for this look.
    """
    assert figure.get_figwidth() == look.width, look
    check_letters(figure, look)
    found = texts(figure)
    assert found, look
    places = [box(text) for text in found]
    edge = figure.bbox
    for text, place in zip(found, places, strict=True):
        assert place.x0 >= -1 and place.y0 >= -1, (look, text.get_text(), place)
        assert place.x1 <= edge.x1 + 1 and place.y1 <= edge.y1 + 1, (look, text.get_text(), place)
    pairs = zip(found, places, strict=True)
    for (one, a), (other, b) in itertools.combinations(pairs, 2):
        apart = a.x1 <= b.x0 + 1 or b.x1 <= a.x0 + 1 or a.y1 <= b.y0 + 1 or b.y1 <= a.y0 + 1
        assert apart, (look, one.get_text(), other.get_text())


def of_the_house(figure):
    """Fail unless methods have their colors and markers, all else a color of the house, and titles
    stand left.
    """
    centered = [axes.get_title("center") for axes in figure.axes]
    assert not any(centered), centered
    for color, what, marker in colors_of(figure):
        assert color in HOUSE, (what, color)
        method = CALLED.get(" ".join(what.split()))
        assert method is None or color in (PALETTE[method], INK, MUTED), (what, color)
        own = method and MARKERS[method]
        assert method is None or marker in (None, "None", own), (what, marker)


def colors_of(figure):
    """Return each color of a text or a line, what has it, and its marker."""
    found = [(to_hex(text.get_color()), text.get_text(), None) for text in texts(figure)]
    lines = [line for line in figure.findobj(Line2D) if line.get_visible()]
    return found + [(to_hex(one.get_color()), one.get_label(), one.get_marker()) for one in lines]


def too_much(sentence):
    """Return what a sentence has too much of, in words; nothing of one that says one thing."""
    words = [word.strip(AROUND) for word in sentence.split() if any(map(str.isalnum, word))]
    numbers = list(filter(NUMBER.fullmatch, words))
    kinds = {"words": (len(words), MOST_WORDS), "numbers": (len(numbers), MOST_NUMBERS)}
    return " and ".join(f"{found} {kind}" for kind, (found, most) in kinds.items() if found > most)


def holds(figure, values):
    """Whether a figure shows these numbers, in this order, along one of its axes or by colors."""
    values = np.ravel(np.asarray(values, float))
    return any(
        len(one) == len(values) and np.allclose(one, values, equal_nan=True)
        for one in numbers(figure)
    )


def numbers(figure):
    """Yield each sequence of numbers in a figure: of its file, of all lines, and ends of arrows."""
    for one in figure_numbers.numbers(figure):
        yield from one.points.values()
    for axes in figure.axes:
        for line in axes.lines:
            yield from np.asarray(line.get_xydata()).T
        for text in axes.texts:
            if isinstance(text, Annotation) and text.arrow_patch is not None:
                yield np.array([*text.xyann, *text.xy], float)


def contrast(one, other):
    """The contrast of two colors, by the rule for pages."""
    low, high = sorted(linear(color) @ [0.2126, 0.7152, 0.0722] for color in (one, other))
    return (high + 0.05) / (low + 0.05)


def linear(color):
    """How much light of red, green and blue a color gives."""
    rgb = np.array(to_rgb(color))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


IMPORTS = ast.Import | ast.ImportFrom
#: How long what figures show may be trained: less is hardly a curve, more is for claims to prove.
EPOCHS = 20


def fit_briefly(*given, epochs, fit=et.fit, **options):
    """Train as `fit` does, and stop early."""
    return fit(*given, epochs=min(epochs, EPOCHS), **options)


class Shown:
    """What `explore` was given; it stands in the place of an `Explorer`, which draws at once."""

    def __init__(self, draw, alt, values, choices, *, name, rescale, **_):
        self.draw, self.alt, self.start, self.choices = draw, alt, values, choices
        self.name, self.rescale, self._group = name, rescale, [self]

    def said(self, state):
        """Return the sentence below the figure."""
        return self.alt if isinstance(self.alt, str) else self.alt(**state)

    def states(self):
        """Return where the sliders start, and their last values."""
        last = self.every()[-1]
        return [self.start] if last == self.start else [self.start, last]

    def every(self):
        """Return all that the sliders can be set to."""
        rows = itertools.product(*self.choices.values())
        return [dict(zip(self.choices, row, strict=True)) for row in rows]


@cache
def figures(page):
    """Return all figures of a page, by name; of its cells those run that figures need."""
    found = {}

    class Collected(Shown):
        def __init__(self, *given, **options):
            super().__init__(*given, **options)
            found[self.name] = self

    cells = [cell for cell in read(page).cells if cell.cell_type == "code"]
    scope = {"__name__": "__main__"}
    with ExitStack() as stack:
        stack.enter_context(redirect_stdout(io.StringIO()))
        stack.enter_context(mock.patch.object(explore, "Explorer", Collected))
        for module in (et, running_example):
            stack.enter_context(mock.patch.object(module, "fit", fit_briefly))
        for statement, proves in needed(cells):
            # What a proof makes of what only proofs have is in no figure.
            with suppress(*[NameError] * proves):
                exec(compile(ast.Module([statement], []), page, "exec"), scope)
    return found


def needed(cells):
    """Return the statements of cells that show a figure, or make what these use.

    Of cells that prove, and of others, those are taken that import or name something. Beside each
    stands whether it is of a cell that proves.
    """
    found, wanted = [], set()
    for cell in reversed(cells):
        body, tagged = ast.parse(cell.source).body, bool(cell.metadata.get("tags"))
        whole = ast.Module(body, [])
        if "explore" not in names(whole, ast.Load) and (
            tagged or not names(whole, ast.Store) & wanted
        ):
            body = [
                one for one in body
                if isinstance(one, IMPORTS)
                or (isinstance(one, ast.Assign) and names(one, ast.Store) & wanted)
            ]  # fmt: skip
        wanted |= names(ast.Module(body, []), ast.Load)
        found = [(one, tagged) for one in body] + found
    return found


def names(tree, context):
    """Return the names that code reads, or those that it gives."""
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=own) if isinstance(own, context):
                found.add(name)
            case ast.FunctionDef(name=name) if context is ast.Store:
                found.add(name)
            case ast.alias(name=name, asname=called) if context is ast.Store:
                found.add(called or name)
    return found


def alt(width, ensemble_size):
    return f"{ensemble_size} networks of width {width}"


SIX = tuple(trainer_state.STARTS)


def draw(width, ensemble_size=1):
    words = {"xlabel": "x", "ylabel": "y", "ylim": (0, 1000)}
    return plot.growth_curves([1, 2], {"single": [width, 100 * ensemble_size]}, **words)


def explorer(**options):
    given = {"alt": alt, "caption": "A < B", "width": [2, 3, 50], "ensemble_size": [1, 2]}
    return explore.explore(draw, **(given | options))


def small(**given):
    """A trainer of few numbers."""
    return live(**{"width": 5, "hidden_layers": 1} | given)
