"""Draw the README's picture: the figure of the book's introduction, on white.

python scripts/picture.py .github/inside.png
"""

import base64
import io
import sys

import nbformat
from nbclient import NotebookClient
from PIL import Image


def main(target):
    """Run the introduction and save its first figure."""
    notebook = nbformat.read("book/intro.ipynb", as_version=4)
    NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    pictures = (
        output.data["image/png"]
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        if "image/png" in output.get("data", {})
    )
    figure = Image.open(io.BytesIO(base64.b64decode(next(pictures))))
    page = Image.new("RGBA", figure.size, "white")  # readable on a dark page too
    page.alpha_composite(figure.convert("RGBA"))
    # Of an image without transparency the palette holds the palest squares too.
    page.convert("RGB").quantize(256, Image.Quantize.MEDIANCUT).save(target, optimize=True)


if __name__ == "__main__":
    main(sys.argv[1])
