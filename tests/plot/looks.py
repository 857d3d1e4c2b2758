"""What every figure must be in each of the four looks: as wide as the text, and readable."""

import io
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
    hidden = {id(text) for axes in figure.axes for text in _hidden(axes)}
    return [
        text
        for text in figure.findobj(Text)
        if text.get_text().strip()
        and text.get_visible()
        and (text.axes is None or text.axes.get_visible())
        and id(text) not in hidden
    ]


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
    """Fail unless `readable_figure` holds in these looks."""
    for look in looks:
        readable_figure(drawn(draw, look), look, touching)


def readable_figure(figure, look, touching=()):
    """Fail unless all texts are large enough, inside the figure, and apart from each other.

    Pairs of texts in `touching` may overlap. The figure is laid out for this look.
    """
    assert figure.get_figwidth() == look.width, look
    found = texts(figure)
    assert found, look
    places = [box(text) for text in found]
    edge = figure.bbox
    for text, place in zip(found, places, strict=True):
        size, script = pixels(text, look)
        assert size >= LEAST, (look, text.get_text(), size)
        assert script is None or script >= LEAST_SCRIPT, (look, text.get_text(), script)
        assert place.x0 >= -1 and place.y0 >= -1, (look, text.get_text(), place)
        assert place.x1 <= edge.x1 + 1 and place.y1 <= edge.y1 + 1, (look, text.get_text(), place)
    pairs = zip(found, places, strict=True)
    for (one, a), (other, b) in itertools.combinations(pairs, 2):
        apart = a.x1 <= b.x0 + 1 or b.x1 <= a.x0 + 1 or a.y1 <= b.y0 + 1 or b.y1 <= a.y0 + 1
        both = {one.get_text(), other.get_text()}
        assert apart or both in map(set, touching), (look, *both)


def repeats(draw):
    """Fail unless a second drawing has the bytes of the first: as SVG, faster than as pixels."""
    assert _svg(draw) == _svg(draw)


def _svg(draw):
    buffer = io.StringIO()
    figure = draw()
    with style.house_style():
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return buffer.getvalue()


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
