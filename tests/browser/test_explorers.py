"""Sliders on pages: moved by mouse, touch and keys, linked to, printed; their numbers are right."""

import itertools
import json
import math
import re
from urllib.parse import parse_qsl

import pytest

from ensedu import counting, methods
from scripts.browsing import DESK, PHONE, SMALL, pages, visit
from tests.browser.conftest import SITE

COMPARISON = "book/counting/comparison.html"
BATCH = "book/counting/batch-ensemble.html"
EXPLORERS = ".ensedu-explorer:has(.ensedu-sliders)"
NAME = re.compile(r'class="ensedu-control" data-name="(\w+)"')
# Of each page with sliders, their names; without a site, of the one that is asked for all.
SLIDERS = {
    address: found
    for address in (pages(SITE) if SITE.exists() else ())
    if (found := set(NAME.findall((SITE / address).read_text(encoding="utf-8"))))
} or {COMPARISON: set()}
FRAME = re.compile(r"frames/([0-9a-f]{16})-(\d+)-(\w+-\w+)\.svg")
FETCHED = re.compile(r"^http.*/" + FRAME.pattern)
# What a reader sees and hears, once the picture is that of the sliders' positions.
SEEN = """(root) => {
  const controls = [...root.querySelectorAll(".ensedu-control")];
  const position = (control) => {
    const range = control.querySelector("input[type=range]");
    if (range) return Number(range.value);
    const list = control.querySelector("select");
    if (list) return list.selectedIndex;
    return [...control.querySelectorAll("input")].findIndex((radio) => radio.checked);
  };
  const count = (control) =>
    Number(control.querySelector("input[type=range]")?.max ?? -1) + 1 ||
    control.querySelectorAll("input, option").length;
  const positions = controls.map(position);
  const index = positions.reduce((sum, place, i) => sum * count(controls[i]) + place, 0);
  const image = [...root.querySelectorAll("img")].find((one) => one.checkVisibility());
  if (root.dataset.shown !== String(index)) return false;
  if (!image.complete || !image.naturalWidth) return false;
  const box = image.getBoundingClientRect();
  return {
    index,
    positions,
    spoken: controls.map((control) =>
      control.querySelector("input[type=range]")?.getAttribute("aria-valuetext") ??
      control.querySelector("select")?.value ??
      control.querySelector("input:checked + span").textContent),
    source: image.currentSrc,
    alt: image.alt,
    live: root.querySelector("[role=status]").textContent,
    shape: Math.abs(image.naturalWidth / image.naturalHeight - box.width / box.height),
    width: box.width,
    room: root.querySelector(".ensedu-frame").getBoundingClientRect().height,
  };
}"""
# The rows of pixels below the last that has ink, at the size in which an image is shown.
BLANK = """async (root) => {
  const image = [...root.querySelectorAll("img")].find((one) => one.checkVisibility());
  const { width, height } = image.getBoundingClientRect();
  const canvas = Object.assign(document.createElement("canvas"), { width, height });
  const context = canvas.getContext("2d");
  const copy = new Image();
  copy.src = image.currentSrc;
  await copy.decode();
  context.drawImage(copy, 0, 0, width, height);
  const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
  for (let i = data.length - 1; i > 0; i -= 4)
    if (data[i] > 8) return height - Math.floor(i / 4 / canvas.width);
  return height;
}"""


# What leaves its box of sliders.
OUTSIDE = """() => [...document.querySelectorAll(".ensedu-sliders")].flatMap((box) => {
  const { left, right } = box.getBoundingClientRect();
  return [...box.querySelectorAll("input, output, span")]
    .filter((part) => {
      const own = part.getBoundingClientRect();
      return own.width && (own.left < left - 1 || own.right > right + 1);
    })
    .map((part) => part.outerHTML.slice(0, 120));
})"""


def data_of(explorer):
    return json.loads(explorer.locator("script").text_content())


def seen(page, explorer):
    explorer.scroll_into_view_if_needed()  # what is far away is not fetched
    return page.wait_for_function(SEEN, arg=explorer.element_handle()).json_value()


def check(page, explorer, data=None, look="wide-light"):
    """The picture, its words and the values are those of the sliders' positions."""
    data = data or data_of(explorer)
    found = seen(page, explorer)
    positions, index = found["positions"], 0
    for position, values in zip(positions, data["values"], strict=True):
        index = index * len(values) + position
    assert FRAME.search(found["source"]).groups() == (data["frames"][-16:], str(index), look)
    assert found["alt"] == found["live"] == data["alts"][index]
    expected = [values[i] for values, i in zip(data["values"], positions, strict=True)]
    assert found["spoken"] == expected
    assert found["shape"] < 0.05
    own = slice(2) if look.startswith("wide") else slice(2, 4)
    tallest = max(height / width for width, height in (size[own] for size in data["sizes"]))
    assert abs(found["room"] - found["width"] * tallest) <= 1
    return positions


def move(page, explorer, i, key):
    """Press a key on the control of this number; return how many values it has."""
    control = explorer.locator(".ensedu-control").nth(i)
    radios, options = control.locator("input[type=radio]"), control.locator("select option")
    if radios.count():
        # Buttons have no ends: their arrows go around.
        wanted = {"End": radios.count() - 1, "Home": 0, "ArrowRight": 1}[key]
        control.locator("input:checked").focus()
        while not radios.nth(wanted).is_checked():
            page.keyboard.press("ArrowRight")
        return radios.count()
    if options.count():
        wanted = {"End": options.count() - 1, "Home": 0, "ArrowRight": 1}[key]
        control.locator("select").focus()
        while control.locator("select").evaluate("list => list.selectedIndex") != wanted:
            here = control.locator("select").evaluate("list => list.selectedIndex")
            page.keyboard.press("ArrowDown" if here < wanted else "ArrowUp")
        return options.count()
    control.locator("input").focus()
    page.keyboard.press(key)
    return int(control.locator("input").get_attribute("max")) + 1


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["wide", "narrow"])
def test_nothing_below_moves_with_a_control(open_page, server, viewport):
    page = open_page(viewport=viewport)
    visit(page, server + COMPARISON)
    for explorer in page.locator(EXPLORERS).all():
        heights = set()
        for i in range(len(data_of(explorer)["values"])):
            for key in ("Home", "ArrowRight", "End"):
                move(page, explorer, i, key)
                seen(page, explorer)
                heights.add(round(explorer.bounding_box()["height"]))
        assert len(heights) == 1


def test_the_sentence_under_a_figure_says_one_thing(site):
    """The build lists those that say more."""
    listed = (site.parent / "sentences.txt").read_text(encoding="utf-8")
    assert listed.startswith("0 of "), listed


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_the_switch_of_a_tall_figure_stays_in_sight_on_a_phone(open_page, server, viewport):
    page = open_page(viewport=viewport)
    visit(page, server + "book/learning/shootout.html")
    figure = page.locator("[data-tall]")
    assert figure.count() == 1 and figure.get_attribute("data-name") == "fig-contest"
    switch = figure.locator(".ensedu-sliders")
    end_at = "(one, y) => scrollBy(0, one.getBoundingClientRect().bottom - y)"
    figure.evaluate(end_at, 400)
    if viewport is DESK:
        assert switch.bounding_box()["y"] < 0
        return
    header = page.locator(".bd-header-article").bounding_box()
    below = header["y"] + header["height"]
    box = switch.bounding_box()
    assert 0 <= box["y"] - below <= 6
    rows = {label.bounding_box()["y"] for label in switch.locator("label").all()}
    assert len(rows) == 1  # one row of buttons, however narrow
    # Below it the axis, as wide as the picture, and nothing of that is seen above it.
    axis = figure.locator(".ensedu-axis")
    first, picture = axis.bounding_box(), figure.locator(".ensedu-frame > picture:visible")
    assert 0 <= first["y"] - box["y"] - box["height"] <= 6 and first["height"] < 50
    whole = picture.locator("img").bounding_box()
    assert (first["x"], first["width"]) == (whole["x"], whole["width"])
    for x, y in ((0.05, 0.5), (0.5, 0.1), (0.95, 0.9)):
        at = [first["x"] + first["width"] * x, first["y"] + first["height"] * y]
        on_top = "([x, y]) => !!document.elementFromPoint(x, y).closest('.ensedu-axis')"
        assert page.evaluate(on_top, at)
    # What it changes is below it, and nothing moves.
    before = page.evaluate("scrollY")
    other = figure.locator("label").last.bounding_box()
    page.mouse.click(other["x"] + 20, other["y"] + 20)
    page.wait_for_selector("[data-tall][data-shown='1']")
    assert page.evaluate("scrollY") == before and switch.bounding_box() == box
    assert axis.bounding_box() == first
    shown, part = (one.locator("img:visible") for one in (picture, axis))
    source = "(image) => image.currentSrc"
    assert part.evaluate(source) == shown.evaluate(source) and part.get_attribute("alt") == ""
    # Where it is drawn it covers itself.
    figure.evaluate("(one) => one.scrollIntoView()")
    places = (one.bounding_box()["y"] for one in (part, shown))
    assert next(places) == pytest.approx(next(places), abs=0.5)
    # They leave with their figure.
    figure.evaluate(end_at, below)
    assert axis.bounding_box()["y"] < below
    assert switch.bounding_box()["y"] + box["height"] <= below


def test_a_phone_shows_the_contest_on_its_first_screen(open_page, server):
    page = open_page(viewport={"width": 390, "height": 844})
    visit(page, server + "book/learning/shootout.html")
    figure = page.locator(".ensedu-explorer[data-name=fig-contest]")
    assert figure.locator(".ensedu-frame > picture:visible").bounding_box()["y"] <= 480


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_a_row_that_is_pointed_at_says_its_numbers(open_page, server, viewport):
    touch = viewport is PHONE
    page = open_page(viewport=viewport, has_touch=touch)
    visit(page, server + "book/learning/shootout.html")
    figure = page.locator(".ensedu-explorer[data-name=fig-contest]")
    note, frame = figure.locator(".ensedu-note-of-row"), figure.locator(".ensedu-frame")
    rows = data_of(figure)["pointed"]
    seen(page, figure)
    assert not note.is_visible()
    # That rows can be pointed at is said, above the picture, until it is known.
    hint, height = figure.locator(".ensedu-hint"), figure.bounding_box()["height"]
    assert hint.inner_text() == f"{'Tap' if touch else 'Point at'} a row for its numbers."
    place = hint.bounding_box()
    assert 0 <= frame.bounding_box()["y"] - place["y"] - place["height"] <= 8
    for words, *places in (rows[0][0], rows[0][-1]):
        box = frame.bounding_box()
        first, last = places[touch]
        at = {"x": box["width"] / 2, "y": box["height"] * (first + last) / 2}
        frame.tap(position=at) if touch else frame.hover(position=at)
        assert note.text_content() == words
        assert page.locator(".ensedu-hint:visible").count() == 0  # nor at other figures
        assert figure.bounding_box()["height"] == height  # nothing moves
        shown, box = note.bounding_box(), frame.bounding_box()
        above, below = (box["y"] + box["height"] * end for end in (first, last))
        assert shown["y"] >= below - 1 or shown["y"] + shown["height"] <= above + 1
        assert box["x"] <= shown["x"] and shown["x"] + shown["width"] <= box["x"] + box["width"]
    # Another frame has other rows.
    move(page, figure, 0, "End")
    page.wait_for_function("(note) => note.hidden", arg=note.element_handle())
    words, *places = rows[1][-1]
    box, (first, last) = frame.bounding_box(), places[touch]
    at = {"x": box["width"] / 2, "y": box["height"] * (first + last) / 2}
    frame.tap(position=at) if touch else frame.hover(position=at)
    assert note.text_content() == words
    page.keyboard.press("Escape")
    assert not note.is_visible()
    frame.tap(position=at) if touch else frame.hover(position={**at, "x": at["x"] + 3})
    assert note.is_visible()
    page.evaluate("scrollBy(0, -100)")
    page.wait_for_function("(note) => note.hidden", arg=note.element_handle())


def corners(number):
    """First and last values of sliders: of each two of them, every pair."""
    rows = itertools.product(("Home", "End"), repeat=number)
    return [ends for ends in rows if number < 3 or ends.count("End") % 2 == 0]


@pytest.mark.parametrize("home", ["server", "folder"], indirect=True)
def test_keys_move_every_slider(page, home):
    """Of one page: how a frame is found by its values is the same on all."""
    visit(page, home + COMPARISON)
    explorers = page.locator(EXPLORERS).all()
    assert explorers

    def to(explorer, keys, look):
        data = data_of(explorer)
        ends = {"Home": [0] * len(keys), "End": [len(values) - 1 for values in data["values"]]}
        for i, key in enumerate(keys):
            assert move(page, explorer, i, key) == len(data["values"][i])
        here = check(page, explorer, data, look)
        assert here == [ends[key][i] for i, key in enumerate(keys)]
        return here

    for explorer in explorers:
        data = data_of(explorer)
        for keys in reversed(corners(len(data["values"]))):
            here = to(explorer, keys, "wide-light")
        for i, values in enumerate(data["values"]):
            move(page, explorer, i, "ArrowRight")
            here[i] = min(1, len(values) - 1)
            assert check(page, explorer, data) == here
    page.set_viewport_size(PHONE)
    for explorer in explorers:
        for key in ("Home", "End"):
            to(explorer, [key] * len(data_of(explorer)["values"]), "narrow-light")


@pytest.mark.parametrize("chapter", SLIDERS)
def test_no_frame_is_blank_below_and_no_control_leaves_its_box(page, server, chapter):
    visit(page, server + chapter)
    for viewport in (DESK, PHONE):
        page.set_viewport_size(viewport)
        for explorer in page.locator(EXPLORERS).all():
            seen(page, explorer)
            assert page.evaluate(BLANK, explorer.element_handle()) < 40
    # The longest values stand last.
    for explorer in page.locator(EXPLORERS).all():
        for i in range(explorer.locator(".ensedu-control").count()):
            move(page, explorer, i, "End")
    for viewport in (PHONE, SMALL):
        page.set_viewport_size(viewport)
        assert page.evaluate(OUTSIDE) == []


def test_a_step_has_little_of_the_page_styled_anew(browser, page, server):
    """A page with a trainer has the sheets of both; a phone feels each element."""
    visit(page, server + "book/learning/uncertainty.html")
    explorer = page.locator(EXPLORERS).first
    check(page, explorer)
    move(page, explorer, 0, "ArrowRight")
    browser.start_tracing(page=page, categories=["devtools.timeline"])
    move(page, explorer, 0, "End")
    check(page, explorer)
    events = json.loads(browser.stop_tracing())["traceEvents"]
    found = [one["args"] for one in events if one["name"] == "UpdateLayoutTree"]
    styled = [args["elementCount"] for args in found if "elementCount" in args]
    assert 0 < max(styled) < page.evaluate("document.querySelectorAll('*').length") / 4


@pytest.mark.parametrize("touch", [False, True], ids=["mouse", "touch"])
def test_mouse_and_touch_move_a_slider(open_page, server, touch):
    page = open_page(has_touch=touch, viewport={"width": 390, "height": 800})
    visit(page, server + "book/theory/gradient-flow.html")
    explorer = page.locator(EXPLORERS + ":has([type=range])").first
    before = check(page, explorer, look="narrow-light")
    for i, slider in enumerate(explorer.locator("input[type=range]").all()):
        slider.scroll_into_view_if_needed()
        box = slider.bounding_box()
        assert box["height"] >= 44  # room for a finger
        place = box["x"] + box["width"] - 3, box["y"] + box["height"] / 2
        (page.touchscreen.tap if touch else page.mouse.click)(*place)
        positions = check(page, explorer, look="narrow-light")
        assert positions[i] == int(slider.get_attribute("max"))
        assert positions != before


@pytest.mark.parametrize("touch", [False, True], ids=["mouse", "touch"])
def test_mouse_and_touch_turn_a_toggle(open_page, server, touch):
    page = open_page(has_touch=touch, viewport={"width": 390, "height": 800})
    visit(page, server + BATCH)
    explorer = page.locator(EXPLORERS + ":has([type=radio])").first
    for label in explorer.locator(".ensedu-toggle label").all():
        assert label.bounding_box()["height"] >= 44
        (label.tap if touch else label.click)()
        assert label.text_content() in seen(page, explorer)["spoken"]
        check(page, explorer, look="narrow-light")


def test_numbers_are_those_of_the_formulas(page, server):
    visit(page, server + COMPARISON)
    explorer = page.locator(EXPLORERS).first
    data = data_of(explorer)
    controls = explorer.locator(".ensedu-control").all()
    names = [control.get_attribute("data-name") for control in controls]
    assert names == ["width", "hidden_layers", "ensemble_size"]
    states = itertools.product(*(map(int, values) for values in data["values"]))
    for (width, layers, members), alt in zip(states, data["alts"], strict=True):
        sizes = [1, *[width] * layers, 1]
        one = counting.mlp(sizes).total
        for name, words in (("deep_ensemble", "holds"), ("batch_ensemble", "BatchEnsemble")):
            total = counting.mlp(sizes, name, **methods.size_option(name, members)).total
            said = float(re.search(rf"{words} ([\d.]+) times", alt)[1])
            assert said == pytest.approx(total / one, abs=0.005001), alt


def test_the_address_keeps_the_setting_and_leads_back_to_it(page, open_page, server):
    visit(page, server + COMPARISON)
    explorer = page.locator(EXPLORERS).first
    pages_before = page.evaluate("history.length")
    move(page, explorer, 0, "End")
    move(page, explorer, 1, "Home")
    moved = check(page, explorer)
    fragment = page.evaluate("location.hash")
    assert page.evaluate("history.length") == pages_before  # "back" leaves the page
    name, _, state = fragment.removeprefix("#").partition(":")
    assert name == explorer.get_attribute("data-name")
    assert dict(parse_qsl(state)) == {"width": "1000", "hidden_layers": "1", "ensemble_size": "4"}
    other = open_page()
    visit(other, server + COMPARISON + fragment)
    found = other.locator(f'.ensedu-explorer[data-name="{name}"]')
    assert check(other, found) == moved
    for nonsense in (f"#{name}:width=7&depth=2", f"#{name}", f"#{name}:%zz", "#:"):
        visit(other, server + COMPARISON + nonsense)  # only the end of the address changes
        check(other, other.locator(EXPLORERS).first)
        other.reload()
        check(other, other.locator(EXPLORERS).first)


def test_a_shared_address_shows_its_figure(open_page, server):
    page = open_page(viewport=PHONE)
    visit(page, server + COMPARISON)
    last = page.locator(EXPLORERS).last
    move(page, last, 0, "End")
    other = open_page(viewport=PHONE)
    visit(other, server + COMPARISON + page.evaluate("location.hash"))
    name = last.get_attribute("data-name")
    found = other.locator(f'.ensedu-explorer[data-name="{name}"]')
    top = "(root) => root.getBoundingClientRect().top"
    assert -PHONE["height"] < found.evaluate(top) < PHONE["height"]


def test_values_in_the_text_set_sliders(page, server):
    """Of some pages; that every link names a figure and its values, the build checks."""
    links = 0
    for chapter in (COMPARISON, "book/learning/shootout.html"):
        visit(page, server + chapter)
        # Some stand in the answer to a question.
        page.evaluate("document.querySelectorAll('details').forEach((fold) => (fold.open = true))")
        for link in page.locator("a.ensedu-set").all():
            name, _, state = link.get_attribute("href").removeprefix("#").partition(":")
            links += 1
            explorer = page.locator(f'.ensedu-explorer[data-name="{name}"]')
            controls = explorer.locator(".ensedu-control").all()
            names = [control.get_attribute("data-name") for control in controls]
            for _ in range(2):  # the second time the address names the setting already
                link.click()
                assert explorer.evaluate("(root) => root.getBoundingClientRect().top") < 800
                check(page, explorer)
                spoken = dict(zip(names, seen(page, explorer)["spoken"], strict=True))
                assert dict(parse_qsl(state)).items() <= spoken.items()
    assert links >= 5


def test_linked_explorers_share_a_slider(page, server, site):
    pairs = 0
    for chapter in SLIDERS:
        if "data-group" not in (site / chapter).read_text():
            continue
        visit(page, server + chapter)
        for second in page.locator(".ensedu-explorer[data-group]").all():
            group, own = (second.get_attribute(f"data-{key}") for key in ("group", "name"))
            if group == own:
                continue
            pairs += 1
            first = page.locator(f'.ensedu-explorer[data-name="{group}"]')
            here, there = (
                [c.get_attribute("data-name") for c in explorer.locator(".ensedu-control").all()]
                for explorer in (first, second)
            )
            for name in set(here) & set(there):
                i, j = here.index(name), there.index(name)
                first_way, other_way = (first, i, second, j), (second, j, first, i)
                # Each key moves what the one before has left at the other end.
                for (mover, k, follower, f), key in (
                    (first_way, "Home"),
                    (first_way, "End"),
                    (other_way, "Home"),
                ):
                    move(page, mover, k, key)
                    check(page, mover)
                    check(page, follower)
                    value = seen(page, mover)["spoken"][k]
                    options = data_of(follower)["values"][f]
                    assert seen(page, follower)["spoken"][f] == value or value not in options
    assert pairs


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["wide", "narrow"])
def test_only_the_rendering_in_use_is_fetched(open_page, server, mode, viewport):
    page = open_page(mode, viewport=viewport)
    fetched = []
    page.on("request", lambda request: fetched.extend(FETCHED.findall(request.url)))
    visit(page, server + COMPARISON)
    page.wait_for_timeout(300)
    width = "wide" if viewport is DESK else "narrow"
    assert fetched and {look for _, _, look in fetched} == {f"{width}-{mode}"}
    explorer = page.locator(EXPLORERS).first
    data = data_of(explorer)
    key = data["frames"][-16:]
    assert {index for found, index, _ in fetched if found == key} == {
        str(seen(page, explorer)["index"])
    }
    here = seen(page, explorer)
    explorer.locator("input").first.focus()
    page.wait_for_function(f"globalThis.enseduFrames?.['{key}-{width}-{mode}']")
    # One step away, each by itself; then all together.
    counts = [len(values) for values in data["values"]]
    near = {here["index"]}
    for i, place in enumerate(here["positions"]):
        step = math.prod(counts[i + 1 :])
        near |= {here["index"] + step for _ in [0] if place + 1 < counts[i]}
        near |= {here["index"] - step for _ in [0] if place}
    assert {index for found, index, _ in fetched if found == key} == set(map(str, near))
    assert {look for _, _, look in fetched} == {f"{width}-{mode}"}
    own = [each for each in fetched if each[0] == key]
    for i in range(len(counts)):
        move(page, explorer, i, "End")
        check(page, explorer, data, f"{width}-{mode}")
    assert [each for each in fetched if each[0] == key] == own


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["wide", "narrow"])
def test_entering_a_figure_fetches_at_most_500_kilobytes(open_page, server, viewport):
    """One that fetches much; of all of them the build asks it."""
    page = open_page(viewport=viewport)
    visit(page, server + COMPARISON)
    explorer = page.locator(".ensedu-explorer[data-name=fig-co-counts]")
    check(page, explorer, look=f"{'wide' if viewport is DESK else 'narrow'}-light")
    sizes = []
    page.on("response", lambda response: sizes.append(int(response.headers["content-length"])))
    explorer.hover()
    explorer.locator("input").first.focus()
    key = data_of(explorer)["frames"][-16:]
    page.wait_for_function(
        "(key) => Object.keys(globalThis.enseduFrames ?? {}).some((each) => each.startsWith(key))",
        arg=key,
    )
    assert 10_000 < sum(sizes) <= 500_000


def test_a_step_that_is_faster_than_the_network_has_its_frame(open_page, server):
    page = open_page()
    page.route("**/*-wide-light.js", lambda route: None)  # never comes
    visit(page, server + COMPARISON)
    explorer = page.locator(EXPLORERS).first
    for i, key in enumerate(("End", "Home", "End")):
        move(page, explorer, i, key)
        check(page, explorer)


def test_chosen_buttons_differ_from_others_in_forced_colors(open_page, server):
    places = {BATCH: ".ensedu-explorer .ensedu-toggle", "book/intro.html": ".ensedu-t-toggle"}
    look = """(toggle) => [...toggle.querySelectorAll("input")].map((input) => [
      input.checked, getComputedStyle(input.nextElementSibling).backgroundColor])"""
    for address, part in places.items():
        page = open_page(forced_colors="active")
        visit(page, server + address)
        toggle = page.locator(part).first
        toggle.wait_for()
        colors = dict(toggle.evaluate(look))
        assert colors[True] != colors[False]
    page = open_page(forced_colors="active")
    visit(page, server + "book/playground.html")
    bar = page.locator(".ensedu-p-bar").first
    bar.wait_for()
    assert "rgb(77, 77, 77)" in bar.evaluate("(bar) => getComputedStyle(bar).backgroundImage")
    assert bar.evaluate("(bar) => getComputedStyle(bar).forcedColorAdjust") == "none"


def test_the_theme_and_the_width_change_the_rendering(page, server):
    visit(page, server + COMPARISON)
    explorer = page.locator(EXPLORERS).first
    move(page, explorer, 0, "End")
    check(page, explorer, look="wide-light")
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    check(page, explorer, look="wide-dark")
    page.set_viewport_size(PHONE)
    check(page, explorer, look="narrow-dark")
    move(page, explorer, 1, "End")
    check(page, explorer, look="narrow-dark")


def test_without_scripts_and_on_paper_the_setting_is_said(open_page, server):
    for options in ({"java_script_enabled": False}, {}):
        page = open_page("dark" if not options else "light", **options)
        page.goto(server + COMPARISON)
        explorer = page.locator(EXPLORERS).first
        if not options:
            visit(page, server + COMPARISON)
            move(page, explorer, 0, "End")
            check(page, explorer, look="wide-dark")
            page.emulate_media(media="print")
        assert explorer.locator(".ensedu-light img").is_visible()
        assert not explorer.locator(".ensedu-dark img").is_visible()
        assert not explorer.locator(".ensedu-sliders").is_visible()
        said = explorer.locator(".ensedu-setting").inner_text()
        width = 50 if options else 1000
        assert said == f"Set to width {width}, hidden layers 2, members 4."
        alt = explorer.locator(".ensedu-light img").get_attribute("alt")
        assert alt.startswith("A deep ensemble of 4 holds 4.00 times as many numbers")
