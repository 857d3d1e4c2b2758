"""A page's head: the figures' colors, icon and card, what other sites show.

The colors are variables, so that pages use the same ones: `--ensedu-` and a
method's key, `shared`, `ink`, `muted` or `doubt`: light ones, those of the dark
theme, and light ones again on paper. An element with a method's key in
`data-method` has that method's color in `--ensedu-own`.

Both pictures are drawn from layers of `ensedu` while the book is built. A card
needs the site's whole address, so it is named only if `BOOK_URL` gives one.
"""

import html
import io
import os
import re
import textwrap

import numpy as np
from docutils import nodes
from matplotlib.colors import to_rgba
from PIL import Image

from ensedu import numpy as en
from workshop.plot import PALETTE, house_style, png
from workshop.plot.colored_cells import draw_frame, draw_heat
from workshop.plot.style import DARK, DOUBT, HEAT, INK, MUTED, SHARED, canvas

ICON, CARD = "icon.png", "card.png"
SUBTITLE = "What exactly is inside an ensemble of neural networks?"
CARD_WORDS = "One weight matrix for all members of a BatchEnsemble, and two thin vectors for each"

COLORS_FILE = "palette.css"
COLORS = PALETTE | {
    "shared": SHARED, "ink": INK, "muted": MUTED, "doubt": DOUBT,
}  # fmt: skip
PAGES = """\
:root {{
{light}
}}
html[data-theme="dark"] {{
{dark}
}}
@media print {{
html[data-theme] {{
{light}
}}
}}
{own}
"""
OWN = '[data-method="{0}"] {{ --ensedu-own: var(--ensedu-{0}) }}'


def style_sheet():
    """Return the variables of both themes."""
    return PAGES.format(
        light=variables(COLORS),
        dark=variables({name: DARK[color] for name, color in COLORS.items()}),
        own="\n".join(OWN.format(method) for method in PALETTE),
    )


def variables(colors):
    """Return a line a color."""
    return "\n".join(f"  --ensedu-{name}: {color};" for name, color in colors.items())


def write_colors(app):
    """Save the variables where pages look for their style sheets."""
    if app.builder.format == "html":
        folder = app.outdir / "_static"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / COLORS_FILE).write_text(style_sheet(), encoding="utf-8")


def icon():
    """Draw a matrix between its vectors r and s, 16 pixels wide times 4."""
    layer = en.BatchEnsembleLinear(3, 3, 1, rng=np.random.default_rng(31))
    weight = layer.params["weight"] / np.abs(layer.params["weight"]).max()
    # None so pale that it would be lost on a white page.
    colors = HEAT(0.5 + np.sign(weight) * (0.15 + 0.35 * np.abs(weight)))
    pixels = np.zeros((16, 16, 4))
    pixels[4:, 4:] = colors.repeat(4, axis=0).repeat(4, axis=1)
    pixels[4:, :3] = pixels[:3, 4:] = to_rgba(PALETTE["batch_ensemble"])
    image = Image.fromarray((255 * pixels).round().astype(np.uint8))
    return image.resize((64, 64), Image.Resampling.NEAREST)


def card(title):
    """Draw the title above a BatchEnsemble, 1200 × 630 pixels."""
    layer = en.BatchEnsembleLinear(3, 4, 3, rng=np.random.default_rng(5))
    with house_style():
        figure, axes = canvas(6.0, 3.15)  # times 200 pixels an inch
        line = {"color": INK, "va": "center"}
        axes.text(0.3, 0.55, title, size=23, weight="bold", **line)
        axes.text(0.3, 0.96, SUBTITLE, size=11.5, **line)
        axes.plot([0.3, 5.7], [1.27, 1.27], color=MUTED, lw=0.6, alpha=0.6)
        draw_layer(axes, layer.params)
    drawing = Image.open(io.BytesIO(png(figure)))
    page = Image.new("RGBA", drawing.size, "white")
    page.alpha_composite(drawing)
    return page.convert("RGB")


def draw_layer(axes, params):
    """Draw W, and of each member r and s around their product, and a bias."""
    own, square, top = PALETTE["batch_ensemble"], (0.2, 0.2), 1.92
    most = max(np.abs(params[name]).max() for name in ("weight", "bias"))

    def stored(values, x, y, edge=own, limit=most, lw=2.0):
        draw_heat(axes, values, (x, y), square, limit)
        draw_frame(axes, values, (x, y), square, edgecolor=edge, lw=lw)

    stored(params["weight"], 0.3, top, SHARED)
    for i in range(len(params["r"])):
        r, s, bias = (params[name][i, None] for name in ("r", "s", "bias"))
        x = 1.76 + 1.48 * i
        made = params["weight"] * r.T * s
        draw_heat(axes, made, (x, top), square, most, alpha=0.38)
        stored(r.T, x - 0.26, top, limit=1)
        stored(s, x, top - 0.26, limit=1)
        stored(bias, x, top + 0.66, lw=0.9)
    words = {"weight": "bold", "style": "italic", "ha": "center"}
    axes.text(0.38, top - 0.07, "W", color=MUTED, **words)
    axes.text(1.6, top + 0.76, "r", color=own, **words)
    axes.text(2.65, top - 0.12, "s", color=own, **words)


def draw(app, exception):
    """Save both pictures among the files of the site."""
    if exception is None and app.builder.format == "html":
        folder = app.outdir / "_static"
        icon().save(folder / ICON, optimize=True)
        card(app.config.html_title).save(folder / CARD, optimize=True)


def describe(doctree):
    """Return the first sentences of a page, up to 200 letters."""
    for paragraph in doctree.findall(nodes.paragraph):
        if isinstance(paragraph.parent, nodes.section):
            return textwrap.shorten(paragraph.astext(), 200, placeholder=" …")
    return ""


def metatags(properties):
    """Return the tags, Open Graph's by property and all others by name."""
    return "".join(
        f'<meta {"property" if name.startswith("og:") else "name"}="{name}" '
        f'content="{html.escape(value)}" />\n'
        for name, value in properties.items()
        if value
    )


def introduce(app, pagename, templatename, context, doctree):
    """Say in a page's head what it is: icon, title, description, card."""
    context["favicon_url"] = context["pathto"](f"_static/{ICON}", True)
    if not doctree:
        return
    title = html.unescape(re.sub(r"<[^>]+>", "", context["title"]))
    words = describe(doctree) or SUBTITLE
    properties = {
        "description": words,
        "og:type": "article",
        "og:site_name": app.config.html_title,
        "og:title": title,
        "og:description": words,
        "twitter:card": "summary",
    }
    site = app.config.html_baseurl.rstrip("/")
    if site:
        properties |= {
            "og:url": context["pageurl"],
            "og:image": f"{site}/_static/{CARD}",
            "og:image:width": "1200",
            "og:image:height": "630",
            "og:image:alt": CARD_WORDS,
            "twitter:card": "summary_large_image",
        }
    context["metatags"] += metatags(properties)


def introduce_front(app, exception):
    """Say the same on the page that sends on: its address is the one shared."""
    front, root = "index.html", f"{app.config.root_doc}.html"
    if exception is None and app.builder.format == "html" and root != front:
        page = (app.outdir / root).read_text(encoding="utf-8")
        tags = re.findall(r'<meta \w+="(?:description|og:|twitter:).*', page)
        lines = [
            f'<!DOCTYPE html>\n<html lang="{app.config.language}">',
            '<meta charset="utf-8" />',
            f"<title>{html.escape(app.config.html_title)}</title>",
            f'<link rel="icon" href="_static/{ICON}" />',
            *tags,
            f'<meta http-equiv="refresh" content="0; url={root}" />',
            f'<a href="{root}">{html.escape(app.config.html_title)}</a>\n',
        ]
        (app.outdir / front).write_text("\n".join(lines), encoding="utf-8")


def name_site(app, config):
    """Take the address of the site from the publisher."""
    config.html_baseurl = os.environ.get("BOOK_URL") or config.html_baseurl


def setup(app):
    """Register with Sphinx."""
    app.add_css_file(COLORS_FILE)
    # Before the pages, which name a style sheet with a sum of its content.
    app.connect("builder-inited", write_colors)
    app.connect("config-inited", name_site)
    app.connect("html-page-context", introduce, priority=900)
    app.connect("build-finished", draw)
    # After the table of contents, which writes a front page without words.
    app.connect("build-finished", introduce_front, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
