"""Live figures on pages: where frames are drawn, and how pages find them."""

import os
import re
import shutil
from pathlib import Path

from docutils import nodes

import ensedu.page.explore

SCRIPTS = ("explore.js", "playground.js")
FRAME = re.compile(r"_static/frames/([0-9a-f]+\.svg)")


def drawn(app):
    """Return the folder of frames; it goes when the notebooks' cache goes."""
    return Path(app.outdir).parent / ".jupyter_cache" / "frames"


def point_to_frames(app, doctree, docname):
    """Write addresses of frames as seen from this page."""
    up = "../" * docname.count("/")
    for node in doctree.findall(nodes.raw):
        if ensedu.page.explore.FRAMES in node.astext():
            html = node.astext().replace(
                ensedu.page.explore.FRAMES, f"{up}_static/frames/"
            )
            node.children = [nodes.Text(html)]


def copy_frames(app, exception):
    """Copy the scripts, and the frames that pages show; drop all others."""
    if exception is None and app.builder.format == "html":
        static = Path(app.outdir) / "_static"
        for script in SCRIPTS:
            source = Path(ensedu.page.explore.__file__).with_name(script)
            shutil.copy(source, static)
        shown = {
            name
            for page in Path(app.outdir).rglob("*.html")
            for name in FRAME.findall(page.read_text(encoding="utf-8"))
        }
        frames = static / "frames"
        shutil.rmtree(frames, ignore_errors=True)
        frames.mkdir()
        for name in shown:
            shutil.copy(drawn(app) / name, frames)


def setup(app):
    """Register with Sphinx."""
    # explore() draws its page form when this is set; kernels inherit it.
    os.environ["ENSEDU_BOOK"] = str(drawn(app))
    for script in SCRIPTS:
        app.add_js_file(script, loading_method="async")
    app.connect("doctree-resolved", point_to_frames)
    app.connect("build-finished", copy_frames)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
