"""Figures have letters of their own, on any machine; their files can be made again."""

import subprocess
import sys
from pathlib import Path

from matplotlib.font_manager import FontProperties, findfont
from matplotlib.ft2font import FT2Font

import ensedu.plot.fonts
from ensedu.methods import METHODS
from ensedu.plot.style import house_style

FOLDER = Path(ensedu.plot.fonts.__file__).parent
SCRIPT = Path(__file__).parents[2] / "scripts/fonts.py"


def test_a_figure_is_written_in_the_packages_own_letters():
    for weight, style, file in (
        ("normal", "normal", "Regular"), ("bold", "normal", "Bold"),
        ("normal", "italic", "Italic"), ("bold", "italic", "BoldItalic"),
    ):  # fmt: skip
        with house_style():
            found = findfont(FontProperties(weight=weight, style=style))
        assert Path(found) == FOLDER / f"Roboto-{file}.ttf"


def test_it_has_the_letters_of_methods_and_formulas():
    needed = "".join(method.label for method in METHODS.values()) + "−×±·√²σμᵀᵢ…≤≥0123456789"
    for file in sorted(FOLDER.glob("*.ttf")):
        assert set(map(ord, needed)) <= set(FT2Font(file).get_charmap()), file.name


def test_the_script_makes_the_files_again(tmp_path):
    subprocess.run([sys.executable, SCRIPT, tmp_path], check=True)
    made = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert made == {file.name: file.read_bytes() for file in FOLDER.glob("*.ttf")}
    assert len(made) == 4
