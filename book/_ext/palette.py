"""The colors of the figures as variables, so that pages use the same ones.

`--ensedu-` and a method's key, `shared`, `ink`, `muted` or `doubt`: light ones,
those of the dark theme, and light ones again on paper. An element with a
method's key in `data-method` has that method's color in `--ensedu-own`.
"""

from workshop.plot.style import DARK, DOUBT, INK, MUTED, PALETTE, SHARED

NAME = "palette.css"
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
    return "\n".join(
        f"  --ensedu-{name}: {color};" for name, color in colors.items()
    )


def write(app):
    """Save the variables where pages look for their style sheets."""
    if app.builder.format == "html":
        folder = app.outdir / "_static"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / NAME).write_text(style_sheet(), encoding="utf-8")


def setup(app):
    """Register with Sphinx."""
    app.add_css_file(NAME)
    # Before the pages, which name a style sheet with a sum of its content.
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
