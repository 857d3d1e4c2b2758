"""Sliders on pages: moved by mouse, touch and keys, linked to, printed; their numbers are right."""

import itertools
import json
import re
from urllib.parse import parse_qsl

import pytest

from ensedu import counting, methods, plot
from scripts.check_site import pages, visit

COMPARISON = "book/counting/comparison.html"
ALONE = "book/counting/fully-connected.html"  # one network has no members
MEMBERS = (
    "book/counting/deep-ensemble.html",
    "book/counting/batch-ensemble.html",
    "book/counting/rank-1-bnn.html",
    COMPARISON,
    "book/cost/speed-and-memory.html",
)
CHAPTERS = (ALONE, *MEMBERS, "book/cost/many-devices.html")
EXPLORERS = "figure.ensedu-explorer"
NAME = re.compile(r'<input [^>]*data-name="(\w+)"')
# What a reader sees and hears, once the picture is that of the sliders' positions.
SEEN = """(figure) => {
  const ranges = [...figure.querySelectorAll("input[type=range]")];
  const positions = ranges.map((range) => Number(range.value));
  const index = positions.reduce((sum, place, i) => sum * (Number(ranges[i].max) + 1) + place, 0);
  const image = figure.querySelector("img");
  if (figure.dataset.shown !== String(index)) return false;
  if (!image.complete || !image.naturalWidth) return false;
  return {
    positions,
    spoken: ranges.map((range) => range.getAttribute("aria-valuetext")),
    shown: [...figure.querySelectorAll("output")].map((output) => output.textContent),
    frame: { src: image.getAttribute("src"), alt: image.alt },
    height: document.documentElement.scrollHeight,
  };
}"""


def data_of(explorer):
    return json.loads(explorer.locator("script").text_content())


def check(page, explorer, data=None):
    """The picture, its words and the values are those of the sliders' positions."""
    data = data or data_of(explorer)
    seen = page.wait_for_function(SEEN, arg=explorer.element_handle()).json_value()
    positions, index = seen["positions"], 0
    for position, values in zip(positions, data["values"], strict=True):
        index = index * len(values) + position
    assert seen["frame"] == data["frames"][index]
    expected = [values[i] for values, i in zip(data["values"], positions, strict=True)]
    assert seen["spoken"] == seen["shown"] == expected
    return positions, seen["height"]


def test_every_chapter_has_sliders_over_width_and_ensemble_size(site):
    names = {address: NAME.findall((site / address).read_text()) for address in pages(site)}
    assert {address for address, found in names.items() if found} == set(CHAPTERS)
    assert all("ensemble_size" in names[address] for address in MEMBERS)
    assert {"width", "ensemble_size", "hidden_layers"} <= set(itertools.chain(*names.values()))


@pytest.mark.parametrize(
    ("home", "chapter"),
    [*(("server", chapter) for chapter in CHAPTERS), ("folder", COMPARISON)],
    indirect=["home"],
)
def test_keys_move_every_slider(page, home, chapter):
    visit(page, home + chapter)
    explorers = page.locator(EXPLORERS).all()
    assert explorers
    for explorer in explorers:
        data = data_of(explorer)
        start, height = check(page, explorer, data)
        for i, values in enumerate(data["values"]):
            last = len(values) - 1
            explorer.locator("input").nth(i).focus()
            for key, expected in (("End", last), ("Home", 0), ("ArrowRight", min(1, last))):
                page.keyboard.press(key)
                start[i] = expected
                # A step ahead is drawn in the room of the highest frame: nothing moves.
                assert check(page, explorer, data) == (start, height)


@pytest.mark.parametrize("touch", [False, True], ids=["mouse", "touch"])
def test_mouse_and_touch_move_a_slider(open_page, server, touch):
    page = open_page(has_touch=touch, viewport={"width": 390, "height": 800})
    visit(page, server + COMPARISON)
    explorer = page.locator(EXPLORERS).first
    before, _ = check(page, explorer)
    for i, slider in enumerate(explorer.locator("input").all()):
        slider.scroll_into_view_if_needed()
        box = slider.bounding_box()
        assert box["height"] >= 44  # room for a finger
        place = box["x"] + box["width"] - 3, box["y"] + box["height"] / 2
        (page.touchscreen.tap if touch else page.mouse.click)(*place)
        positions, _ = check(page, explorer)
        assert positions[i] == int(slider.get_attribute("max"))
        assert positions != before


def test_numbers_are_those_of_the_formulas(page, server):
    visit(page, server + COMPARISON)
    explorer = page.locator(EXPLORERS).first
    data = data_of(explorer)
    names = [slider.get_attribute("data-name") for slider in explorer.locator("input").all()]
    assert names == ["width", "hidden_layers", "ensemble_size"]
    frames = iter(data["frames"])
    for width in map(int, data["values"][0]):
        for layers in map(int, data["values"][1]):
            for members in map(int, data["values"][2]):
                sizes = [1, *[width] * layers, 1]
                counts = {
                    name: counting.mlp(sizes, name, **methods.sized(name, members))
                    for name in (
                        "single", "deep_ensemble", "batch_ensemble", "rank1", "mean_field"
                    )
                }  # fmt: skip
                assert next(frames)["alt"] == "Five bars. " + plot.in_words(counts)
    assert next(frames, None) is None


def test_a_link_leads_back_to_a_setting(page, open_page, server):
    visit(page, server + COMPARISON)
    explorer = page.locator(EXPLORERS).first
    explorer.locator("input").nth(0).focus()
    page.keyboard.press("End")
    explorer.locator("input").nth(1).focus()
    page.keyboard.press("Home")
    moved, _ = check(page, explorer)
    link = explorer.locator(".ensedu-link").get_attribute("href")
    name, _, state = link.removeprefix("#").partition(":")
    assert dict(parse_qsl(state)) == {"width": "1000", "hidden_layers": "1", "ensemble_size": "4"}
    other = open_page()
    visit(other, server + COMPARISON + link)
    assert check(other, other.locator(f"#{name}"))[0] == moved
    for nonsense in ("#explorer-1:width=7&depth=2", "#explorer-1", "#explorer-1:%zz", "#:"):
        visit(other, server + COMPARISON + nonsense)  # only the end of the address changes
        check(other, other.locator(EXPLORERS).first)
        other.reload()
        check(other, other.locator(EXPLORERS).first)


def test_without_scripts_and_on_paper_the_first_frame_stands(open_page, server):
    for options in ({"java_script_enabled": False}, {}):
        page = open_page(**options)
        page.goto(server + COMPARISON)
        page.emulate_media(media="print" if not options else "screen")
        explorer = page.locator(EXPLORERS).first
        assert explorer.locator("img").is_visible()
        assert not explorer.locator(".ensedu-sliders").is_visible()
        assert "3,812" in explorer.locator("img").get_attribute("alt")
