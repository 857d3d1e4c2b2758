"""What every figure must be in each look, as wide as the text, and readable; and what it shows."""

import itertools

import numpy as np
from matplotlib.collections import LineCollection, QuadMesh
from matplotlib.colors import to_hex, to_rgb
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.text import Annotation, Text

from workshop.page.frames import check_letters
from workshop.plot import style
from workshop.plot.colored_cells import INKS
from workshop.plot.style import DARK, INK, LABELS, MARKERS, MUTED, PALETTE, Look

LIGHT = WIDE, NARROW = Look(), Look(narrow=True)
#: Colors of a light page, those of entries, which no page changes, and both ends of a color map.
HOUSE = {*DARK, *INKS, *(to_hex(style.heat_colors()(0.5 + sign * 0.42)) for sign in (1, -1))}
CALLED = {label: key for key, label in LABELS.items()}


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
    """Fail unless methods have their colors and markers, and all else a color of the house."""
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


def holds(figure, values):
    """Whether a figure shows these numbers, in this order, along one of its axes or by colors."""
    values = np.ravel(np.asarray(values, float))
    return any(
        len(one) == len(values) and np.allclose(one, values, equal_nan=True)
        for one in numbers(figure)
    )


def numbers(figure):
    """Yield each sequence of numbers in a figure.

    They are where a line goes, both edges of a band, the ends of arrows and of segments, how high
    bars are, and what a color map colors.
    """
    for axes in figure.axes:
        yield [one.get_height() for one in axes.patches if isinstance(one, Rectangle)]
        for line in axes.lines:
            yield from np.asarray(line.get_xydata()).T
        for text in axes.texts:
            if isinstance(text, Annotation) and text.arrow_patch is not None:
                yield np.array([*text.xyann, *text.xy], float)
        for artist in (*axes.collections, *axes.images):
            if artist.get_array() is not None:
                yield np.ravel(artist.get_array())
            elif isinstance(artist, LineCollection):
                ends = np.array(artist.get_segments())
                yield from ends.reshape(len(ends), -1).T
            else:
                for path in artist.get_paths():
                    heights = path.vertices[:, 1]
                    half = (len(heights) - 3) // 2
                    yield from (heights[1 : half + 1], heights[half + 2 : -1][::-1])


def meshes(axes):
    """All heat maps of an axes, as they were drawn."""
    return [one for one in axes.collections if isinstance(one, QuadMesh)]


def place_of(artist):
    """Left, top, right and bottom of a heat map or a rectangle, in inches."""
    if isinstance(artist, QuadMesh):
        grid = artist.get_coordinates()
        return (*grid[0, 0].round(6), *grid[-1, -1].round(6))
    return tuple(artist.get_bbox().extents.round(6))


def contrast(one, other):
    """The contrast of two colors, by the rule for pages."""
    low, high = sorted(linear(color) @ [0.2126, 0.7152, 0.0722] for color in (one, other))
    return (high + 0.05) / (low + 0.05)


def linear(color):
    """How much light of red, green and blue a color gives."""
    rgb = np.array(to_rgb(color))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
