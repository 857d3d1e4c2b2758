"""What every figure must be in each of the four looks: as wide as the text, and readable."""

import itertools
import re

from matplotlib.text import Annotation, Text

from ensedu.plot import style
from ensedu.plot.style import Look

# Pixels: the column of text on a screen of 360, and on the least that shows wide figures, 601.
COLUMN = {True: 312, False: 553}
LEAST, LEAST_SCRIPT = 11, 8
SCRIPT = 0.7  # of its letters, in a formula
LIGHT = (Look(), Look(narrow=True))


def drawn(draw, look):
    """Return the figure in this look, laid out."""
    with style.rendering(look):
        figure = draw()
    with style.house_style():
        figure.draw_without_rendering()
    return figure


def texts(figure):
    """List what can be read: visible texts that are not empty, of visible axes."""
    return [
        text
        for text in figure.findobj(Text)
        if text.get_text().strip()
        and text.get_visible()
        and (text.axes is None or text.axes.get_visible())
        and not _of_hidden_axis(text)
    ]


def _of_hidden_axis(text):
    axes = text.axes
    if axes is None:
        return False
    labels = [
        label
        for axis in (axes.xaxis, axes.yaxis)
        for label in [axis.label, axis.offsetText, *axis.get_ticklabels(which="both")]
    ]
    if text not in labels:
        return False
    if not axes.axison:
        return True
    # A tick outside the limits is there, and not drawn.
    box, panel = text.get_window_extent(), axes.get_window_extent()
    inside_x = panel.x0 - 2 <= (box.x0 + box.x1) / 2 <= panel.x1 + 2
    inside_y = panel.y0 - 2 <= (box.y0 + box.y1) / 2 <= panel.y1 + 2
    ticks_x = text in axes.xaxis.get_ticklabels(which="both")
    ticks_y = text in axes.yaxis.get_ticklabels(which="both")
    return (ticks_x and not inside_x) or (ticks_y and not inside_y)


def pixels(text, look):
    """The size of the letters of a text on a screen, scripts of formulas too."""
    scale = COLUMN[look.narrow] / (72 * look.width)
    size = text.get_size() * scale
    scripts = re.search(r"\$[^$]*[_^][^$]*\$", text.get_text())
    return size, size * SCRIPT if scripts else None


def box(text):
    """Where the letters stand, in pixels: without an arrow that leads to them."""
    kind = Text if isinstance(text, Annotation) else type(text)
    return kind.get_window_extent(text)


def readable(draw, looks=LIGHT, touching=()):
    """Fail unless all texts are large enough, inside the figure, and apart from each other.

    Pairs of texts in `touching` may overlap.
    """
    for look in looks:
        figure = drawn(draw, look)
        assert figure.get_figwidth() == look.width, look
        found = texts(figure)
        assert found, look
        for text in found:
            size, script = pixels(text, look)
            assert size >= LEAST, (look, text.get_text(), size)
            assert script is None or script >= LEAST_SCRIPT, (look, text.get_text(), script)
            place = box(text)
            assert place.x0 >= -1 and place.y0 >= -1, (look, text.get_text(), place)
            edge = figure.bbox
            assert place.x1 <= edge.x1 + 1 and place.y1 <= edge.y1 + 1, (
                look,
                text.get_text(),
                place,
            )
        for one, other in itertools.combinations(found, 2):
            if {one.get_text(), other.get_text()} in map(set, touching):
                continue
            a, b = box(one), box(other)
            apart = a.x1 <= b.x0 + 1 or b.x1 <= a.x0 + 1 or a.y1 <= b.y0 + 1 or b.y1 <= a.y0 + 1
            assert apart, (look, one.get_text(), other.get_text())


def limits(figure):
    """The limits and ticks of every axis that is shown, and the range of every color map."""
    axes = [
        (axes.get_xlim(), axes.get_ylim(), tuple(axes.get_xticks()), tuple(axes.get_yticks()))
        for axes in figure.axes
        if axes.axison
    ]
    colors = [
        artist.get_clim()
        for artist in figure.findobj(lambda artist: hasattr(artist, "get_clim"))
        if artist.get_array() is not None
    ]
    return axes, colors
