"""Sliders on pages: moved by mouse, touch and keys, linked to, printed; their numbers are right."""

import itertools
import json
import re
from urllib.parse import parse_qsl

import pytest

from scripts.browsing import DESK, PHONE, visit
from scripts.check_site import pages as all_pages
from tests.browser.small import AT_REST

BACKPROP = "book/learning/bayes-by-backprop.html"
IMAGES = "book/learning/bayesian-cnn.html"
SPEED = "book/cost/speed-and-memory.html"
CONTEST = "book/learning/shootout.html"
EXPLORERS = ".ensedu-explorer:has(> .ensedu-sliders)"
FRAME = re.compile(r"frames/([0-9a-f]{16})-(\d+)-(\w+-\w+)\.svg")
TOUCH = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
# What a reader sees and hears, once the picture is that of the sliders' positions.
SEEN = """(root) => {
  const controls = [...root.querySelectorAll(".ensedu-control")];
  const seen = (control) => {
    const [range, list] = ["[type=range]", "select"].map((kind) => control.querySelector(kind));
    if (range) return [Number(range.value), Number(range.max) + 1, range.ariaValueText];
    if (list) return [list.selectedIndex, list.length, list.value];
    const radios = [...control.querySelectorAll("input")];
    const place = radios.findIndex((radio) => radio.checked);
    return [place, radios.length, radios[place].nextElementSibling.textContent];
  };
  // A small copy gives them back as soon as the figure is in sight.
  const { values } = JSON.parse(root.querySelector("script").textContent);
  if (controls.length < values.length) return false;
  const all = controls.map(seen);
  const index = all.reduce((sum, [place, count]) => sum * count + place, 0);
  const image = [...root.querySelectorAll("img")].find((one) => one.checkVisibility());
  if (root.dataset.shown !== String(index) || !image.complete || !image.naturalWidth) return false;
  const box = image.getBoundingClientRect();
  return {
    index,
    positions: all.map(([place]) => place),
    spoken: all.map(([, , words]) => words),
    source: image.currentSrc,
    alt: image.alt,
    live: root.querySelector("[role=status]").textContent,
    shape: Math.abs(image.naturalWidth / image.naturalHeight - box.width / box.height),
    height: Math.round(root.getBoundingClientRect().height),
  };
}"""


# A figure, or its small copy.
IN_SIGHT = """(root) => {
  const { top, bottom } = root.querySelector(".ensedu-frame").getBoundingClientRect();
  const seen = bottom > 100 && top < innerHeight - 100;
  return seen || !document.querySelector(".ensedu-dock").hidden;
}"""


def data_of(explorer):
    return json.loads(explorer.locator("script").text_content())


def named(page, name):
    return page.locator(f'.ensedu-explorer[data-name="{name}"]')


def seen(page, explorer):
    explorer.scroll_into_view_if_needed()  # what is far away is not fetched
    return page.wait_for_function(SEEN, arg=explorer.element_handle()).json_value()


def check(page, explorer, look="wide-light"):
    """The picture, its words and the values are those of the sliders' positions."""
    data, found = data_of(explorer), seen(page, explorer)
    positions, index = found["positions"], str(found["index"])
    assert FRAME.search(found["source"]).groups() == (data["frames"][-16:], index, look)
    assert found["alt"] == found["live"] == data["alts"][found["index"]]
    chosen = [values[i] for values, i in zip(data["values"], positions, strict=True)]
    assert found["spoken"] == [f"{int(one):,}" if one.isdecimal() else one for one in chosen]
    assert found["shape"] < 0.05
    return positions


def move(page, explorer, i, key):
    """Press keys on the control of this number until it is at its first, second or last value."""
    control = explorer.locator(".ensedu-control").nth(i)
    if control.locator("[type=range]").count():
        control.locator("input").press(key)
        return
    last = control.locator("input, option").count() - 1
    wanted = {"Home": 0, "ArrowRight": min(1, last), "End": last}[key]
    handle = explorer.element_handle()
    control.locator("select, input:checked").focus()
    for _ in range(last + 1):
        here = page.wait_for_function(SEEN, arg=handle).json_value()["positions"][i]
        if here == wanted:
            return
        page.keyboard.press("ArrowDown" if here < wanted else "ArrowUp")


def test_keys_move_every_slider_and_nothing_below_moves(page, folder):
    visit(page, folder + SPEED)
    assert page.locator(EXPLORERS).count() > 1
    for viewport, mode in ((DESK, "light"), (PHONE, "dark")):
        page.set_viewport_size(viewport)
        page.evaluate("mode => { document.documentElement.dataset.theme = mode }", mode)
        look = f"{'wide' if viewport is DESK else 'narrow'}-{mode}"
        for explorer in page.locator(EXPLORERS).all():
            heights, values = set(), data_of(explorer)["values"]
            for key, i in itertools.product(("End", "Home", "ArrowRight"), range(len(values))):
                move(page, explorer, i, key)
                last = len(values[i]) - 1
                wanted = {"Home": 0, "ArrowRight": min(1, last), "End": last}[key]
                assert check(page, explorer, look)[i] == wanted
                heights.add(seen(page, explorer)["height"])
            assert len(heights) == 1


def test_a_finger_moves_sliders_and_presses_buttons(open_page, server):
    page = open_page(**TOUCH)
    visit(page, server + SPEED)
    for explorer in page.locator(EXPLORERS).all():
        for part in explorer.locator("input[type=range], .ensedu-toggle label").all():
            part.scroll_into_view_if_needed()
            box = part.bounding_box()
            assert box["height"] >= 44  # room for a finger
            place = box["x"] + box["width"] - 3, box["y"] + box["height"] / 2
            page.touchscreen.tap(*place)
            check(page, explorer, "narrow-light")
            said = part.get_attribute("aria-valuetext") or part.text_content()
            assert said in seen(page, explorer)["spoken"]


def test_the_address_keeps_the_setting_and_leads_back_to_it(page, open_page, server):
    visit(page, server + SPEED)
    explorer = page.locator(EXPLORERS).last
    before = page.evaluate("history.length")
    move(page, explorer, 0, "End")
    moved, name = check(page, explorer), explorer.get_attribute("data-name")
    fragment = page.evaluate("location.hash")
    assert page.evaluate("history.length") == before  # "back" leaves the page
    other = open_page(viewport=PHONE)
    visit(other, server + SPEED + fragment)
    assert check(other, named(other, name), "narrow-light") == moved
    top = named(other, name).evaluate("(root) => root.getBoundingClientRect().top")
    assert -PHONE["height"] < top < PHONE["height"]
    for nonsense in (f"{name}:width=7&depth=2", name, f"{name}:%zz", ":"):
        other.evaluate("nonsense => { location.hash = nonsense }", nonsense)
        check(other, other.locator(EXPLORERS).first, "narrow-light")


def test_values_in_the_text_set_sliders(page, server):
    """Of one page; that every link names a figure and its values, the build checks."""
    visit(page, server + CONTEST)
    # Some stand in the answer to a question.
    page.evaluate("document.querySelectorAll('details').forEach((fold) => (fold.open = true))")
    links = page.locator("a.ensedu-set").all()
    for link in links:
        name, _, state = link.get_attribute("href").removeprefix("#").partition(":")
        explorer = named(page, name)
        controls = explorer.locator(".ensedu-control").all()
        names = [control.get_attribute("data-name") for control in controls]
        for _ in range(2):  # the second time the address names the setting already
            link.scroll_into_view_if_needed()
            before = page.evaluate("scrollY")
            link.click()
            page.wait_for_function(IN_SIGHT, arg=explorer.element_handle())
            assert page.evaluate("scrollY") == before  # what is read stays where it is
            check(page, explorer)
            spoken = dict(zip(names, seen(page, explorer)["spoken"], strict=True))
            assert dict(parse_qsl(state)).items() <= spoken.items()
    assert links


def test_linked_explorers_share_a_slider_and_one_of_them_speaks(page, server, site):
    linked = re.compile(r'data-group="([\w-]+)" data-name="(?!\1")([\w-]+)"')
    pages = {name: linked.search((site / name).read_text()) for name in all_pages(site)}
    chapter, found = next(one for one in pages.items() if one[1])
    visit(page, server + chapter)
    pair = [named(page, name) for name in found.groups()]
    controls = (explorer.locator(".ensedu-control").all() for explorer in pair)
    names = [[control.get_attribute("data-name") for control in own] for own in controls]
    shared = {*names[0]} & {*names[1]}
    assert shared
    for name, (mover, follower) in itertools.product(shared, itertools.permutations((0, 1))):
        for key in ("Home", "End"):
            move(page, pair[mover], names[mover].index(name), key)
        for explorer in pair:
            check(page, explorer)
        spoken = [seen(page, pair[at])["spoken"][names[at].index(name)] for at in (mover, follower)]
        values = data_of(pair[follower])["values"][names[follower].index(name)]
        assert spoken[0] == spoken[1] or spoken[0] not in values
        status = [pair[at].locator("[role=status]") for at in (mover, follower)]
        assert [one.get_attribute("aria-live") for one in status] == ["polite", "off"]


def test_only_the_rendering_in_use_is_fetched_and_from_the_first_touch_no_step_waits(
    open_page, server
):
    page, fetched, sizes = open_page("dark", viewport=PHONE), [], []
    page.on("request", lambda request: fetched.extend(FRAME.findall(request.url)))
    page.on(
        "response", lambda response: sizes.append(int(response.headers.get("content-length", 0)))
    )
    visit(page, server + SPEED)
    page.wait_for_load_state("networkidle")
    assert fetched and {each for *_, each in fetched} == {"narrow-dark"}
    explorer = page.locator(EXPLORERS).first
    data, here = data_of(explorer), seen(page, explorer)
    key = data["frames"][-16:]
    assert {index for found, index, _ in fetched if found == key} == {str(here["index"])}
    sizes.clear()
    explorer.locator("input").first.focus()
    page.wait_for_function(f"globalThis.enseduFrames?.['{key}-narrow-dark']")
    own = [each for each in fetched if each[0] == key]
    assert 0 < sum(sizes) <= 500_000
    for i in range(len(data["values"])):
        move(page, explorer, i, "End")
        check(page, explorer, "narrow-dark")
    assert [each for each in fetched if each[0] == key] == own


@pytest.mark.parametrize("scripts", [True, False])
def test_without_scripts_and_on_paper_the_setting_is_said(open_page, server, scripts):
    page = open_page("dark" if scripts else "light", java_script_enabled=scripts)
    page.goto(server + SPEED)
    explorer = page.locator(EXPLORERS).first
    if scripts:
        visit(page, server + SPEED)
        move(page, explorer, 0, "End")
        check(page, explorer, "wide-dark")
        page.wait_for_function(
            "(image) => /-wide-light.svg$/.test(image.src) && image.src.startsWith('blob:')",
            arg=explorer.locator(".ensedu-light img").element_handle(),
        )
        page.emulate_media(media="print")
    assert explorer.locator(".ensedu-light img").is_visible()
    assert not explorer.locator(".ensedu-dark img, .ensedu-sliders").filter(visible=True).count()
    said = explorer.locator(".ensedu-setting").inner_text()
    assert said == f"Set to width {'2,048' if scripts else 50}."


def test_on_a_phone_the_switch_and_the_axis_of_a_tall_figure_stay_in_sight(open_page, server):
    page = open_page(viewport=PHONE)
    visit(page, server + CONTEST)
    figure = named(page, "fig-contest")
    switch, axis = figure.locator(".ensedu-sliders"), figure.locator(".ensedu-axis")
    figure.evaluate("(one) => scrollBy(0, one.getBoundingClientRect().bottom - 400)")
    header, box, first = (
        one.bounding_box() for one in (page.locator(".bd-header-article"), switch, axis)
    )
    assert 0 <= box["y"] - header["y"] - header["height"] <= 6
    assert 0 <= first["y"] - box["y"] - box["height"] <= 6 and first["height"] < 50
    # What it changes is below it, and nothing moves.
    before = page.evaluate("scrollY")
    other = figure.locator("label").last.bounding_box()
    page.mouse.click(other["x"] + 20, other["y"] + 20)
    page.wait_for_selector("[data-name=fig-contest][data-shown='1']")
    assert page.evaluate("scrollY") == before
    assert (switch.bounding_box(), axis.bounding_box()) == (box, first)
    source = "(image) => image.currentSrc"
    shown = figure.locator(".ensedu-frame > picture:visible img")
    assert axis.locator("img:visible").evaluate(source) == shown.evaluate(source)


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_a_small_copy_stays_while_its_section_is_read(open_page, server, viewport):
    page = open_page(viewport=viewport)
    visit(page, server + BACKPROP)
    figure, dock = named(page, "fig-bbb-ellipses"), page.locator(".ensedu-dock")
    assert dock.is_hidden()
    link = page.get_by_role("link", name="Move the inputs")
    link.scroll_into_view_if_needed()
    dock.wait_for()
    words = dock.locator("summary")
    said, before = figure.locator("[role=status]"), words.inner_text()
    assert before == said.text_content()
    lent, own = (one.locator("[type=range]") for one in (dock, figure))
    if viewport is DESK:  # the margin has the controls, and the figure has them back in the end
        lent.press("End")
        page.wait_for_function("([words, before]) => words.textContent !== before",
            arg=[words.element_handle(), before])  # fmt: skip
        before = words.inner_text()
    assert (lent.count(), own.count()) == ((1, 0) if viewport is DESK else (0, 1))
    assert link.get_attribute("aria-current") is None
    link.click()
    page.wait_for_function(
        "([words, said, before]) => words.textContent !== before"
        " && words.textContent === said.textContent",
        arg=[words.element_handle(), said.element_handle(), before],
    )
    assert link.get_attribute("aria-current") == "true"
    assert dock.locator(".ensedu-moving").is_visible()  # a strip unfolds
    place, box = dock.bounding_box(), link.bounding_box()
    assert box["x"] + box["width"] <= place["x"] or not (
        place["y"] < box["y"] + box["height"] and box["y"] < place["y"] + place["height"]
    )
    if viewport is DESK:  # beside it the contents end
        contents = page.locator(".bd-sidebar-secondary").bounding_box()
        assert contents["y"] + contents["height"] <= place["y"]
    figure.locator(".ensedu-axes").scroll_into_view_if_needed()
    dock.wait_for(state="hidden")
    assert own.count() == 1
    page.locator("h2", has_text="network do the same").scroll_into_view_if_needed()
    page.mouse.wheel(0, 2000)
    page.evaluate(AT_REST)
    assert dock.is_hidden()  # another section


def test_a_small_copy_shows_a_tall_figure_in_the_theme_that_a_reader_takes(page, server):
    visit(page, server + CONTEST)
    page.get_by_role("link", name="give one to everybody").click()
    copy = page.locator(".ensedu-dock > details img")
    for theme in ("light", "dark"):
        page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
        page.wait_for_selector(f".ensedu-dock img[src$='-1-narrow-{theme}.svg']")
        assert copy.bounding_box()["height"] > 400


def test_an_image_that_is_pressed_sets_the_slider(page, server):
    visit(page, server + IMAGES)
    explorer = named(page, "fig-cnn-images")
    frame, pressed = explorer.locator(".ensedu-frame"), data_of(explorer)["pressed"][0][0]
    box, (choice, left, right, top, bottom) = frame.bounding_box(), pressed
    middle = {"x": box["width"] * (left + right) / 2, "y": box["height"] * (top + bottom) / 2}
    frame.click(position=middle)
    assert choice == "image=1" and check(page, explorer) == [0]


@pytest.mark.parametrize("touch", [False, True], ids=["desk", "phone"])
def test_a_row_that_is_pointed_at_says_its_numbers(open_page, server, touch):
    page = open_page(**TOUCH if touch else {})
    visit(page, server + CONTEST)
    figure = named(page, "fig-contest")
    note, frame = figure.locator(".ensedu-note-of-row"), figure.locator(".ensedu-frame")
    rows, height = data_of(figure)["pointed"], seen(page, figure)["height"]
    hint = figure.locator(".ensedu-hint")
    assert hint.get_attribute("aria-hidden") == "true"  # the figure's table says them, too
    assert hint.inner_text() == f"{'Tap' if touch else 'Point at'} a row for its numbers."

    def point(row):
        words, *places = row
        box, (first, last) = frame.bounding_box(), places[touch]
        at = {"x": box["width"] / 2, "y": box["height"] * (first + last) / 2}
        frame.tap(position=at) if touch else frame.hover(position=at)
        assert note.text_content() == words and note.is_visible()
        shown = note.bounding_box()
        above, below = (box["y"] + box["height"] * end for end in (first, last))
        assert shown["y"] >= below - 1 or shown["y"] + shown["height"] <= above + 1

    for row in (rows[0][0], rows[0][-1]):
        point(row)
        assert not hint.is_visible() and seen(page, figure)["height"] == height
    move(page, figure, 0, "End")  # another frame has other rows
    page.wait_for_function("(note) => note.hidden", arg=note.element_handle())
    point(rows[1][-1])
    page.keyboard.press("Escape")
    assert not note.is_visible()
