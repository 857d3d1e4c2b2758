"""Sliders: live in a kernel, over drawn frames on the page; and their files, which can be read."""

import gzip
import itertools
import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from bs4 import BeautifulSoup
from matplotlib.figure import Figure

from tests.book.looking import draw, explorer
from workshop import plot
from workshop.page import figure_numbers
from workshop.page import frames as frames_module
from workshop.page.explore import explore
from workshop.page.frames import FRAMES, Frames, check_letters, renderings
from workshop.plot.panels import keep_in_sight, say_where_pointed
from workshop.plot.style import LOOKS


@pytest.fixture
def book(monkeypatch, tmp_path):
    folder = tmp_path / "not there yet" / "frames"
    monkeypatch.setenv("ENSEDU_BOOK", str(folder))
    return folder


def root(shown):
    """What stands on the page, parsed."""
    return BeautifulSoup(shown._repr_mimebundle_()["text/html"], "html.parser").div


def data_of(shown):
    """What the page's script reads."""
    return json.loads(root(shown).script.string)


def test_moving_a_slider_shows_the_frame_of_its_value_which_is_drawn_once():
    width, ensemble_size, words, image, caption = explorer().widget().children
    assert (width.description, ensemble_size.description) == ("width", "members")
    for values in ((2, 1), (50, 1), (50, 2)):
        width.value, ensemble_size.value = values
        assert image.value == plot.png(draw(*values))
    assert "2 networks of width 50" in words.value and "A &lt; B" in caption.value
    calls = []
    slider, *_ = explore(lambda k: calls.append(k) or draw(k), alt="a", k=[2, 3]).widget().children
    for value in (3, 2, 3):
        slider.value = value
    assert calls == [2, 3]


def lines(k):
    figure = Figure(figsize=(3.0, 2.0))
    axes = figure.add_subplot(title="loss", xlim=(0, 3), ylim=(0, 9))
    axes.plot([1, 2], [k, k + 1], label="train")
    return figure


def below(shown):
    return root(shown).select_one(".ensedu-sources")


def test_a_page_links_the_numbers_of_all_frames_or_of_one(book, monkeypatch):
    given = {"alt": "a", "k": [3, 5], "start": {"k": 5}}
    link = below(explore(lines, name="fig-a", **given)).a
    assert (link.text, link["download"]) == ("Numbers (CSV)", "fig-a.csv")
    rows = ["3,loss,train,1,3", "3,loss,train,2,4", "5,loss,train,1,5", "5,loss,train,2,6"]
    file = book / link["href"].removeprefix(FRAMES)
    assert file.read_text().splitlines() == ["k,panel,series,x,y", *rows]
    other = below(explore(lines, alt="a", k=[3])).a
    assert other["download"] == "figure.csv" and other["href"] != link["href"]
    monkeypatch.setattr(figure_numbers, "MOST_KB", 0.06)
    assert below(explore(lines, **given)).text == "Numbers (CSV), of k 5 alone"


def test_a_page_knows_what_is_said_where_a_reader_points(book):
    def bands(k):
        figure = plot.style.Figure(figsize=(3.0, 4.0 if plot.look().narrow else 2.0))
        say_where_pointed(figure, 0.5, k / 2, f"{k}\nhalf inches")
        return figure

    assert data_of(explore(bands, alt="a", k=[1, 3]))["pointed"] == [
        [["1\nhalf inches", [0.25, 0.5], [0.125, 0.25]]],
        [["3\nhalf inches", [0.25, 1.0], [0.125, 0.5]]],
    ]
    assert "pointed" not in data_of(explore(lines, alt="a", k=[3, 5]))


def test_a_page_and_jupyter_say_where_a_figure_comes_from(monkeypatch, tmp_path):
    ours = {"draw": plot.figure_key, "alt": "a"}
    *_, caption = explore(**ours, table="bayes").widget().children
    assert "drawing code: workshop.plot.figure_key.figure_key" in caption.value
    assert "tables: bayes" in caption.value
    assert "<small>" not in explorer().widget().children[-1].value
    monkeypatch.setenv("ENSEDU_BOOK", str(tmp_path))
    assert below(explore(lambda: Figure(), alt="a")) is None
    item = below(explore(lambda: Figure(), alt="a", table="bayes")).li
    assert item.text == "bayes" and "data-tables" in item.attrs
    assert below(explore(**ours)).text == "Drawing code"


def test_figures_of_pyplot_are_closed():
    plt = pytest.importorskip("matplotlib.pyplot")
    explore(lambda k: plt.figure(num=k), alt="nothing", k=[71])
    assert not plt.fignum_exists(71)


def test_in_jupyter_values_have_the_controls_of_a_page():
    short, long = ["a", "b", "c"], ["a", "b" * 30, "c" * 30]
    shown = explore(lambda **_: Figure(), alt="a", short=short, long=long, number=range(2, 10))
    *made, _, _, _ = shown.widget().children
    kinds = ["ToggleButtons", "Dropdown", "SelectionSlider"]
    assert [type(one).__name__ for one in made] == kinds
    made[1].value = long[2]
    assert shown.values == {"short": "a", "long": long[2], "number": 2}


def test_linked_explorers_move_together():
    first = explorer(name="fig-first")
    second = explore(draw, alt="a", linked=first, width=[3, 50, 500])
    assert first.group == second.group == "fig-first"
    width, *_ = first.widget().children
    other, _, image, _ = second.widget().children
    other.value = 50
    assert width.value == 50
    width.value = 3
    assert other.value == 3
    assert image.value == plot.png(draw(3))
    width.value = 2  # the second has no such value
    assert other.value == 3
    assert explorer().group == ""
    assert explorer(name="fig-alone").group == "fig-alone"


def rescaled(limit):
    figure = Figure()
    figure.add_subplot().set_xlim(0, limit)
    return figure


def colored(limit):
    figure = Figure()
    figure.add_subplot().imshow([[0.0, 1.0]], vmin=0, vmax=limit)
    return figure


@pytest.mark.parametrize(("frame", "what"), [(rescaled, "x-axis 1"), (colored, "color ranges")])
def test_axes_and_colors_stay_unless_a_reason_is_given(frame, what, book, monkeypatch):
    # At once: an error while a notebook shows the object would not stop the build.
    with pytest.raises(ValueError, match=rf"{what}.* at limit 2, .* at limit 3"):
        explore(frame, alt="a", limit=[2, 3])
    said = explore(frame, alt="a", limit=[2, 3], rescale="Because < it must.")
    assert "Because &lt; it must." in said._repr_mimebundle_()["text/html"]
    same = explore(lambda limit: frame(2), alt="a", limit=[2, 3])
    assert "ensedu-why" not in same._repr_mimebundle_()["text/html"]
    monkeypatch.delenv("ENSEDU_BOOK")
    live = explore(frame, alt="a", limit=[2, 3])
    with pytest.raises(ValueError, match="rescale"):
        live.source.png({"limit": 3})


def test_in_the_book_all_frames_are_drawn_in_four_looks(book):
    alt = '{width} "wide" </script>, {ensemble_size}'
    shown = explorer(alt=lambda **state: alt.format(**state), start={"width": 3}, width=[2, 3])
    data, checked = data_of(shown), root(shown).select("[checked]")
    assert [one.find_next("span").text for one in checked] == ["3", "1"]
    assert data["values"] == [["2", "3"], ["1", "2"]] and not root(shown).has_attr("data-stays")
    states = list(itertools.product([2, 3], [1, 2]))
    assert data["alts"] == [alt.format(width=w, ensemble_size=M) for w, M in states]
    key = data["frames"].removeprefix(FRAMES)
    for index, state in enumerate(states):
        sizes = []
        for look, rendering in renderings(partial(draw, *state)).items():
            sizes += [] if look.dark else [rendering.width, rendering.height]
            if state == (3, 1):  # where it starts
                assert (book / f"{key}-{index}-{look.name}.svg").read_text() == rendering.svg
        assert data["sizes"][index] == sizes
    assert len(list(book.glob(f"{key}-2-*.svg"))) == len(list(book.glob("*.js"))) == 4


def test_the_axis_of_a_tall_figure_stays_in_sight_where_all_frames_have_it_at_one_place(book):
    def axis(high, tops, **choices):
        def draw(k=1, **_):
            figure = Figure(figsize=(4, high + k / 10))
            if tops[k]:
                keep_in_sight(figure, tops[k], 0.5)
            return figure

        shown = explore(draw, alt="a", **choices)
        return root(shown).select(".ensedu-frame > .ensedu-axis")

    (kept,) = axis(8.2, {1: 0.8, 2: 0.8}, k=[1, 2])
    assert kept["style"] == "--ensedu-begin: 0.2; --ensedu-high: 0.1250"  # in widths
    assert kept["aria-hidden"] == "true"
    assert [image["alt"] for image in kept.select("img")] == ["", ""]
    assert len(axis(7.0, {1: 0.8})) == 1 and not axis(6.8, {1: 0.8})
    assert not axis(8.2, {1: 0.8, 2: 0.9}, k=[1, 2]) and not axis(8.2, {1: 0, 2: 0}, k=[1, 2])


def test_room_is_kept_for_the_tallest_frame_and_the_longest_sentence(book):
    about = {2: (2, "short"), 3: (5, "shorter"), 50: (3, "the longest")}
    shown = explore(
        lambda k: Figure(figsize=(7, about[k][0])), alt=lambda k: about[k][1], k=list(about),
        stays=True,
    )  # fmt: skip
    assert root(shown).has_attr("data-stays")
    wide, tall, *narrow = data_of(shown)["sizes"][1]
    style = f"--ensedu-wide: {wide} / {tall}; --ensedu-narrow: {narrow[0]} / {narrow[1]}"
    assert root(shown).select_one(".ensedu-frame")["style"] == style
    assert root(shown).select_one(".ensedu-said")["data-longest"] == "the longest"


def drawing(size=12.0, words="a word"):
    figure = Figure(figsize=(3.2 if plot.look().narrow else 7.2, 2))
    axes = figure.add_subplot()
    axes.set(xlim=(0, 3), ylim=(0, 1))
    figure.text(0.1, 0.5, words, size=size)
    return figure


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
