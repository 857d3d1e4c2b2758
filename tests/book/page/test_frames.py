"""Figures for a page: their files, what stands in for them, and whether they can be read."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from workshop import plot
from workshop.page import frames as frames_module
from workshop.page.frames import Frames, check_letters, ranges, stored
from workshop.plot.style import LOOKS


def drawing(size=12.0, words="a word", limit=3):
    figure = Figure(figsize=(3.2 if plot.look().narrow else 7.2, 2))
    axes = figure.add_subplot()
    axes.set(xlim=(0, limit), ylim=(0, 1))
    figure.text(0.1, 0.5, words, size=size)
    return figure


def test_the_first_frame_is_a_file_a_look_named_by_what_is_in_all(tmp_path):
    frames = Frames([drawing, lambda: drawing(limit=5)], tmp_path / "new", first=1)
    files = {path.name: path.read_text() for path in (tmp_path / "new").glob("*.svg")}
    assert files == {frames.file(look): frames.drawn[1][look].svg for look in LOOKS}
    assert Frames([drawing, lambda: drawing(limit=5)], tmp_path).key == frames.key
    assert Frames([drawing], tmp_path).key != frames.key
    assert len(frames.sizes()) == 2


def test_frames_stand_together_in_a_script_a_look(tmp_path):
    frames = Frames([drawing, lambda: drawing(limit=5), drawing], tmp_path)
    assert len(list(tmp_path.glob("*.js"))) == 4
    for look in LOOKS:
        text = (tmp_path / f"{frames.key}-{look.name}.js").read_text(encoding="utf-8")
        start = f'(globalThis.enseduFrames ??= {{}})["{frames.key}-{look.name}"] = '
        assert text.startswith(start) and text.endswith(";\n")
        elements, found = json.loads(text.removeprefix(start)[:-2])
        assert len(elements) == len(set(elements))
        for index, parts in enumerate(found):
            svg = frames.drawn[index][look].svg
            assert "\n".join(elements[part] for part in parts) == svg
    Frames([drawing], tmp_path / "one")
    assert not list((tmp_path / "one").glob("*.js"))


def test_frames_that_are_too_heavy_are_refused(tmp_path, monkeypatch):
    rng = np.random.default_rng(5)

    def noisy():
        figure = drawing()
        figure.axes[0].scatter(3 * rng.random(997), rng.random(997))
        return figure

    frames = Frames([noisy] * 3, tmp_path)
    frames.check_weight()
    one = len(gzip.compress(Path(tmp_path / frames.file(LOOKS[0])).read_bytes())) / 1000
    # All three together, which share hardly anything.
    monkeypatch.setattr(frames_module, "MOST_KB", 4 * one)
    frames.check_weight()
    monkeypatch.setattr(frames_module, "MOST_KB", 2 * one)
    with pytest.raises(ValueError, match="or less together, in the wide-light look they have"):
        frames.check_weight()


def test_a_stored_figure_says_how_large_it_is():
    data, about = stored(Figure(figsize=(3, 2)), "words")
    assert data["image/png"].startswith("iVBOR")
    assert about == {"image/png": {"width": 300, "height": 200, "alt": "words"}}


def test_small_letters_are_refused_and_hidden_ones_are_not():
    look = plot.Look(narrow=True)
    with plot.rendering(look):
        check_letters(drawing(), look)
        hidden = drawing(2.0)
        hidden.texts[0].set_visible(False)
        check_letters(hidden, look)
        with pytest.raises(ValueError, match=r"letters of 11 pixels .* in 'a word'"):
            check_letters(drawing(2.0), look)


@pytest.mark.parametrize(
    ("narrow", "words", "pixels", "points"),
    [
        (False, "a word", 11, 10.3125), (True, "a word", 11, 8.123),
        (True, "$r$", 11, 8.123), (True, "$r^2$", 8, 8.44),
    ],
)  # fmt: skip
def test_letters_are_measured_on_the_page_of_their_look(narrow, words, pixels, points):
    """553 pixels show 7.2 inches, and 312 show 3.2; an exponent is smaller than its letter."""
    look = plot.Look(narrow=narrow)
    with plot.rendering(look):
        check_letters(drawing(1.001 * points, words), look)
        with pytest.raises(ValueError, match=f"letters of {pixels} pixels"):
            check_letters(drawing(0.999 * points, words), look)


def test_ranges_are_those_of_axes_with_their_ticks_and_of_colors():
    figure = drawing(limit=3)
    same, other = drawing(limit=3), drawing(limit=5)
    assert ranges(figure) == ranges(same)
    assert ranges(figure)["x-axis 1"] != ranges(other)["x-axis 1"]
    assert ranges(figure)["y-axis 1"] == ranges(other)["y-axis 1"]
    same.axes[0].set_xticks([0, 3])
    assert ranges(figure)["x-axis 1"] != ranges(same)["x-axis 1"]
    matrix = Figure()
    matrix.add_subplot().imshow([[0.0, 1.0]], vmin=0, vmax=2)
    assert ranges(matrix) == {"color ranges": [(0, 2)]}
