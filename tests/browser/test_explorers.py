"""Sliders on pages: moved by mouse, touch and keys, linked to, printed; their numbers are right."""

import json
from urllib.parse import parse_qsl

import pytest

from ensedu import counting, plot
from scripts.check_site import visit

COMPARISON = "book/counting/comparison.html"
PAGES = (
    "book/counting/fully-connected.html",
    "book/counting/deep-ensemble.html",
    "book/counting/batch-ensemble.html",
    "book/counting/rank-1-bnn.html",
    COMPARISON,
)
EXPLORERS = "figure.ensedu-explorer"


def data_of(explorer):
    return json.loads(explorer.locator("script").text_content())


def state_of(explorer):
    """What a reader sees and hears: positions, spoken values, values, picture, words."""
    ranges = explorer.locator("input[type=range]").all()
    positions = [int(slider.input_value()) for slider in ranges]
    spoken = [slider.get_attribute("aria-valuetext") for slider in ranges]
    shown = explorer.locator("output").all_text_contents()
    image = explorer.locator("img")
    return positions, spoken, shown, image.get_attribute("src"), image.get_attribute("alt")


def check(page, explorer):
    """The picture, its words and the values are those of the sliders' positions."""
    data = data_of(explorer)
    positions, spoken, shown, *_ = state_of(explorer)
    index = 0
    for position, values in zip(positions, data["values"], strict=True):
        index = index * len(values) + position
    page.wait_for_function(
        "([figure, index]) => figure.dataset.shown === String(index)",
        arg=[explorer.element_handle(), index],
    )
    *_, source, words = state_of(explorer)
    assert {"src": source, "alt": words} == data["frames"][index]
    expected = [values[i] for values, i in zip(data["values"], positions, strict=True)]
    assert spoken == shown == expected
    assert explorer.locator("img").evaluate("image => image.complete && image.naturalWidth > 0")
    return positions


def test_every_chapter_has_sliders_over_width_and_ensemble_size(page, server):
    names = set()
    for address in PAGES:
        visit(page, server + address)
        explorers = page.locator(EXPLORERS)
        assert explorers.count() >= 1, address
        for slider in page.locator(f"{EXPLORERS} input").all():
            names.add(slider.get_attribute("data-name"))
        if "fully" not in address:  # one network has no members
            assert page.locator("input[data-name=ensemble_size]").count() >= 1, address
    assert {"width", "ensemble_size", "hidden_layers"} <= names


@pytest.mark.parametrize("chapter", PAGES)
def test_keys_move_every_slider(page, home, chapter):
    visit(page, home + chapter)
    for explorer in page.locator(EXPLORERS).all():
        start = check(page, explorer)
        height = page.evaluate("document.documentElement.scrollHeight")
        for i, slider in enumerate(explorer.locator("input").all()):
            last = int(slider.get_attribute("max"))
            slider.focus()
            for key, expected in (("End", last), ("Home", 0), ("ArrowRight", min(1, last))):
                page.keyboard.press(key)
                positions = check(page, explorer)
                assert positions == [*start[:i], expected, *start[i + 1 :]]
                # A step ahead is drawn in the room of the highest frame: nothing moves.
                assert page.evaluate("document.documentElement.scrollHeight") == height
            start = positions


@pytest.mark.parametrize("touch", [False, True], ids=["mouse", "touch"])
def test_mouse_and_touch_move_a_slider(open_page, server, touch):
    page = open_page(has_touch=touch, viewport={"width": 390, "height": 800})
    visit(page, server + COMPARISON)
    explorer = page.locator(EXPLORERS).first
    before = check(page, explorer)
    for i, slider in enumerate(explorer.locator("input").all()):
        slider.scroll_into_view_if_needed()
        box = slider.bounding_box()
        assert box["height"] >= 44  # room for a finger
        place = box["x"] + box["width"] - 3, box["y"] + box["height"] / 2
        (page.touchscreen.tap if touch else page.mouse.click)(*place)
        positions = check(page, explorer)
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
                    name: counting.mlp(sizes, name, members)
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
    moved = check(page, explorer)
    link = explorer.locator(".ensedu-link").get_attribute("href")
    name, _, state = link.removeprefix("#").partition(":")
    assert dict(parse_qsl(state)) == {"width": "1000", "hidden_layers": "1", "ensemble_size": "4"}
    other = open_page()
    visit(other, server + COMPARISON + link)
    assert check(other, other.locator(f"#{name}")) == moved
    for nonsense in ("#explorer-1:width=7&depth=2", "#explorer-1", "#explorer-1:%zz", "#:"):
        strange = open_page()
        visit(strange, server + COMPARISON + nonsense)
        check(strange, strange.locator(EXPLORERS).first)


def test_without_scripts_and_on_paper_the_first_frame_stands(open_page, server):
    for options in ({"java_script_enabled": False}, {}):
        page = open_page(**options)
        page.goto(server + COMPARISON)
        page.emulate_media(media="print" if not options else "screen")
        explorer = page.locator(EXPLORERS).first
        assert explorer.locator("img").is_visible()
        assert not explorer.locator(".ensedu-sliders").is_visible()
        assert "3,812" in explorer.locator("img").get_attribute("alt")
