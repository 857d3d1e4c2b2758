"""The page in a browser: it stands alone, is moved by hand and keys, and its address says all."""

import json
import re
from itertools import product
from math import prod
from pathlib import Path
from xml.etree import ElementTree

import pytest
from torch import nn

from ensedu import xray
from ensedu.methods import METHODS
from ensedu.torch import models
from scripts.browsing import DESK, PHONE
from tests.browser import small
from workshop.page.explore import BUNDLE
from workshop.page.xray import xray_figure

BOOK = Path(__file__).parents[2] / "book"
STOPS = ("deep_ensemble", "batch_ensemble", "rank1", "mean_field")
X = [k / 10 for k in range(11)]
CURVES = {"x": X, "points": [[0.3, 0.5]]} | {
    method: [[(i + at) * x for x in X] for i in range(4)] for at, method in enumerate(STOPS)
}
BLOCK = nn.TransformerEncoderLayer(768, 12, 3072, batch_first=True, device="meta")


PICTURES = {
    "sizes": lambda: xray("1-50-50-1"),
    "curves": lambda: xray("1-50-50-1", curves=CURVES),
    "values": lambda: xray(models.lenet5()),
    "nothing to share": lambda: xray(nn.LayerNorm(5)),
    "24 blocks": lambda: xray(nn.TransformerEncoder(BLOCK, 24)),
}
#: What a reader sees, but for words about what is pointed at.
SEEN = """() => [...document.querySelectorAll(
    ".path, .bar, .sums, .line, .shelf, .number, canvas:not(.map)")]
  .filter((one) => one.checkVisibility())
  .map((one) => one.value ?? (one.tagName === "CANVAS" ? one.toDataURL() : one.innerText))"""
FRAME = "() => new Promise(requestAnimationFrame)"
#: Until the picture, what surrounds it and the address stay as they are, frame after frame.
REST = """() => new Promise((done) => {
  const canvas = document.querySelector(".canvas");
  let [seen, same] = ["", 0];
  const look = () => {
    const room = `${document.documentElement.scrollHeight} ${innerHeight}`;
    const now = `${room} ${location.hash} ${canvas.toDataURL()}`;
    same = now === seen && !document.getAnimations().length ? same + 1 : 0;
    seen = now;
    if (same < 30) requestAnimationFrame(look);
    else done();
  };
  look();
})"""


def words(page, selector):
    """Return what stands somewhere once the next frame is drawn."""
    page.evaluate(FRAME)
    return page.locator(selector).inner_text()


def says(page, selector, text):
    """Wait until something says just that: what is out of sight follows when the hand rests."""
    page.locator(selector, has_text=re.compile(f"^{re.escape(text)}$")).wait_for()


def bar(method, cell):
    return f'button.bar[data-method="{method}"] .{cell}'


@pytest.mark.parametrize("name", PICTURES)
def test_a_page_is_one_small_file_that_fits_each_screen(name, opened):
    """The fixture sees that it asks for nothing, and that no script fails."""
    picture = PICTURES[name]()
    assert len(picture.html().encode()) <= 300_000
    with opened(picture) as page:
        for method, count in picture.counts.items():
            if name != "curves":  # where they are to be guessed
                says(page, bar(method, "total"), f"{count.total:,}")
        for method, why in picture.data()["refused"].items():
            page.locator(bar(method, "why"), has_text=why).wait_for()
        for address in (
            "#share=1&members=64",
            "#share=2.4&scale=-3",
            "#share=3&zoom=layer",
            "#zoom=numbers",
        ):
            page.evaluate("(hash) => (location.hash = hash)", address)
            for width in (320, 1920):
                page.set_viewport_size({"width": width, "height": 800})
                page.evaluate(FRAME)
                wide = page.evaluate("() => document.documentElement.scrollWidth")
                assert wide <= width, (address, width)


def test_an_address_restores_what_was_shown(opened):
    picture = xray("4-6-5-3")
    with opened(picture) as page:
        page.locator('button.bar[data-method="rank1"]').click()
        page.get_by_role("slider", name="Members").press("ArrowRight")
        page.locator('.line[data-layer="1"]').click()
        page.get_by_role("button", name="Draw anew").click()
        page.get_by_role("button", name="See its numbers").click()
        page.get_by_label("W[2, 3]", exact=True).fill("7")
        page.get_by_label("W[2, 3]", exact=True).press("Enter")
        page.mouse.move(0, 0)
        page.evaluate(REST)
        seen, address = page.evaluate(SEEN), page.evaluate("() => location.hash")
        assert "7" in seen
    with opened(picture, address) as page:
        page.mouse.move(0, 0)
        page.evaluate(REST)
        assert page.evaluate(SEEN) == seen
    with opened(xray("1-50-50-1"), "#share=1&zoom=numbers&layer=2&column=4") as page:
        place = "layer 2 › rows 1–6, columns 4–9 of 50 × 50"
        assert words(page, ".path") == f"1-50-50-1 › {place}"


def test_escape_and_the_browsers_button_lead_back(opened):
    with opened(xray("4-6-5-3"), "#share=1") as page:
        page.evaluate(REST)
        first = page.evaluate(SEEN)
        page.locator('.line[data-layer="2"]').click()
        page.get_by_role("button", name="See its numbers").click()
        page.locator(".path", has_text="rows").wait_for()
        page.keyboard.press("Escape")
        says(page, ".path", "4-6-5-3 › layer 3")
        page.keyboard.press("Escape")
        page.mouse.move(0, 0)
        page.evaluate(REST)
        assert page.evaluate(SEEN) == first
        page.go_back()
        says(page, ".path", "4-6-5-3 › layer 3")


@pytest.mark.parametrize("viewport", [DESK, PHONE])
def test_the_map_has_its_room_before_it_is_drawn(viewport, opened):
    """Else what one is about to press below it would move away."""
    with opened(xray("4-6-5-3"), viewport=viewport) as page:
        box = page.locator(".map").bounding_box
        first = box()["height"]
        page.locator(".map").scroll_into_view_if_needed()
        page.locator(".verdict", has_text="A BatchEnsemble stores").wait_for()  # once it is drawn
        assert box()["height"] == first


#: How large the square of the key is, and what it stands for.
SCALE = """() => [document.querySelector(".square").style.width,
  document.querySelector(".unit").innerText]"""


def typed(page, label, number):
    """Type a number, and wait until what it moves has come to rest."""
    page.get_by_role("spinbutton", name=label).fill(str(number))
    page.get_by_role("spinbutton", name=label).press("Enter")
    page.evaluate(REST)


@pytest.mark.parametrize("viewport", [DESK, PHONE])
def test_a_method_that_is_pressed_stays_under_the_hand(viewport, opened):
    """What stands above it has room for all of them on a desk, or else the page is scrolled."""
    with opened(xray("1-50-50-1"), viewport=viewport) as page:
        places = set()
        for view in ("model", "numbers"):
            page.evaluate("(hash) => (location.hash = hash)", f"#zoom={view}&layer=2")
            for method in ("rank1", "single", "mean_field"):
                row = page.locator(f'button.bar[data-method="{method}"]')
                row.evaluate("(one) => one.scrollIntoView({ block: 'center' })")
                page.evaluate(REST)
                before = row.bounding_box()["y"]
                row.click()
                page.evaluate(REST)
                assert row.bounding_box()["y"] == pytest.approx(before, abs=1), (view, method)
                top = page.locator(".bars").evaluate(
                    "(one) => one.getBoundingClientRect().top + scrollY"
                )
                places |= {round(top)} if view == "model" else set()
        assert len(places) == 1 or viewport == PHONE


@pytest.mark.parametrize("viewport", [DESK, PHONE])
def test_one_parameter_has_one_area_as_long_as_there_is_room(viewport, opened):
    """Whatever the method and the sizes; members for whom there is none are all seen, smaller."""
    with opened(xray("1-50-50-1"), viewport=viewport) as page:
        page.evaluate(REST)
        first = page.evaluate(SCALE)
        for method in METHODS:
            page.locator(f'button.bar[data-method="{method}"]').click()
            assert page.evaluate(SCALE) == first
        typed(page, "Width", 20)
        assert page.evaluate(SCALE) == first
        typed(page, "Width", 50)
        for members in (5, 8, 16, 64):
            typed(page, "Members", members)
            found = page.evaluate(SCALE)
            assert found != first
            page.get_by_role("button", name="Fit", exact=True).click()
            page.evaluate(REST)
            assert page.evaluate(SCALE) == found
        typed(page, "Members", 4)
        assert page.evaluate(SCALE) == first


#: How much of the picture's width is between what is farthest to the left and to the right.
FILLED = """() => {
  const canvas = document.querySelector(".canvas");
  const { width, height } = canvas;
  const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
  const inked = [...Array(width).keys()].filter((x) =>
    [...Array(height).keys()].some((y) => data[4 * (y * width + x) + 3] > 100));
  return (inked.at(-1) - inked[0]) / width;
}"""


@pytest.mark.parametrize("viewport", [DESK, PHONE])
@pytest.mark.parametrize("sizes", [(29, 8, 10), (64, 8, 12), (4, 1, 2)])
def test_a_picture_that_was_hidden_is_laid_out_when_it_is_shown(viewport, sizes, opened):
    """As large as there is room for; and a crowd of deep networks is no dust on a phone."""
    picture = xray("1-50-50-1")
    with opened(picture, viewport=viewport) as page:
        page.set_content(picture.html("zoom=map"))
        for label, number in zip(("Members", "Width", "Hidden layers"), sizes, strict=True):
            page.get_by_role("spinbutton", name=label).fill(str(number))
        page.get_by_role("button", name="Show all of the X-ray").click()
        page.evaluate(REST)
        assert page.evaluate(FILLED) > 0.5
        shown = page.evaluate(SCALE)
        page.get_by_role("button", name="Fit", exact=True).click()
        page.evaluate(REST)
        assert page.evaluate(SCALE) == shown


@pytest.mark.parametrize(("viewport", "side"), [(DESK, 240), ({"width": 390, "height": 844}, 150)])
def test_an_opened_layer_is_large_and_its_members_are_turned_to(viewport, side, opened):
    with opened(xray("1-50-50-1"), "#share=1", viewport=viewport) as page:
        page.evaluate(REST)
        small = page.evaluate(SCALE)
        page.locator('.line[data-layer="1"]').click()
        page.evaluate(REST)
        assert page.evaluate(SCALE) != small
        place = page.locator(".canvas").bounding_box()

        def seen():
            found = []
            for x in range(0, int(place["width"]), 3):
                page.mouse.move(place["x"] + x, place["y"] + 0.3 * place["height"])
                page.evaluate(FRAME)
                found.append(page.locator(".pointed").text_content().split(" of layer")[0])
            return found

        first = seen()
        assert first.count("W") >= side / 3 - 1
        assert first.count("W₁") >= side / 3 - 1 and "r₁" in first
        page.get_by_role("button", name="Members after").click()
        page.evaluate(FRAME)
        then = seen()
        assert "W₃" in then and "W₁" not in then and "W" in then


@pytest.mark.parametrize(("viewport", "sides"), [(DESK, (0.2, 0.27)), (PHONE, (0.7, 0.7))])
def test_of_a_large_model_a_layer_that_is_no_square_is_seen_large(viewport, sides, opened):
    """What is long is drawn less long, and so is not low; a table is there once."""
    model = nn.Sequential(nn.Embedding(8000, 256), nn.Linear(256, 1024), nn.Linear(1024, 8000))
    with opened(xray(model), "#share=1", viewport=viewport) as page:
        for at, (letter, side) in enumerate(zip(("Table", "W"), sides, strict=True)):
            page.locator(f'.line[data-layer="{at}"]').click()
            page.evaluate(REST)
            place = page.locator(".canvas").bounding_box()

            def pointed(x, y, place=place):
                page.mouse.move(place["x"] + x, place["y"] + y)
                page.evaluate(FRAME)
                return page.locator(".pointed").text_content().split(" of ")[0]

            middle = 0.4 * place["width"] if letter == "Table" else 40
            down = [pointed(middle, y) for y in range(0, int(place["height"]), 10)]
            across = range(0, int(place["width"]), 10)
            along = [pointed(x, 10 * down.index(letter) + 15) for x in across]
            assert along.count(letter) >= side * len(along)
            assert 10 * down.count(letter) > 120
            page.mouse.move(0, 0)
            assert "its shape is not" in words(page, ".drawn")
            if letter == "Table":
                assert {*along, *down} == {"Table", ""}


class Blocks(nn.Module):
    def __init__(self):
        super().__init__()
        block = nn.TransformerEncoderLayer(64, 2, 200, batch_first=True)
        self.embed, self.blocks = nn.Embedding(100, 64), nn.TransformerEncoder(block, 6).layers
        self.norm, self.head = nn.LayerNorm(64), nn.Linear(64, 3)


def test_a_block_is_a_level_between_a_large_model_and_its_layers(opened):
    picture = xray(Blocks())
    inside = [layer for layer in picture.layers if layer.name.startswith("blocks.4.")]
    own = sum(m.numbers + m.biases for layer in inside for m in layer.matrices)
    own += sum(layer.shared + layer.biases for layer in inside)
    with opened(picture, "#method=single") as page:

        def press(name):
            place = page.locator(".canvas").bounding_box()
            for y, x in product(range(40, int(place["height"]), 12), range(4, 700, 12)):
                page.mouse.move(place["x"] + x, place["y"] + y)
                if f" {name}:" in words(page, ".pointed"):
                    page.mouse.down()
                    page.mouse.up()
                    page.evaluate(REST)
                    return
            raise AssertionError(name)

        press("blocks › block 4 › linear2")
        assert words(page, ".path") == "Blocks › block 4"
        assert words(page, ".gauge strong") == f"{own:,}"
        address = page.evaluate("() => location.hash")
        press("blocks › block 4 › linear2")
        crumbs = "Blocks › block 4 › linear2"
        assert words(page, ".path") == crumbs
        page.get_by_role("button", name="See its numbers").click()
        page.keyboard.press("Escape")
        assert words(page, ".path") == crumbs
        page.keyboard.press("Escape")
        assert words(page, ".path") == "Blocks › block 4"
        page.keyboard.press("Escape")
        page.evaluate(FRAME)
        assert not page.locator(".path").get_by_role("button", name="block").count()
        for where in ("Blocks › block 4", crumbs):
            page.go_back()
            assert words(page, ".path") == where
        page.locator(".path").get_by_role("button", name="block 4").click()
        assert words(page, ".path") == "Blocks › block 4"
    with opened(picture, address) as page:
        assert words(page, ".gauge strong") == f"{own:,}"
        page.locator(".path").get_by_role("button", name="Blocks").click()
        assert words(page, ".gauge strong") == f"{picture.counts['single'].total:,}"


def test_strips_of_a_large_model_say_that_they_are_thicker_than_to_scale(opened):
    """Each is six pixels thick, until its numbers need as many."""
    with opened(xray(Blocks()), "#share=1") as page:
        for scale, thick in ((None, True), (8, False)):
            if scale:
                page.evaluate("(scale) => (location.hash = `share=1&scale=${scale}`)", scale)
            page.evaluate(REST)
            assert ("Thin strips are thicker" in words(page, ".drawn")) == thick
            assert "its shape is not" in words(page, ".drawn")


def test_a_block_is_read_in_the_order_of_its_model_and_its_members_are_turned_to(opened):
    """Two members beside what is stored once, on a phone, too."""
    picture = xray(Blocks())
    names = [layer.name for layer in picture.layers]
    assert names == [name for name, _ in Blocks().named_modules() if name in names]
    inside = [name.split(".")[-1] for name in names if name.startswith("blocks.4.")]
    at = f"&zoom=block&layer={names.index('blocks.4.linear1') + 1}"
    with opened(picture, f"#share=3{at}") as page:
        for share in (3, 1):
            page.evaluate("(hash) => (location.hash = hash)", f"share={share}{at}")
            page.evaluate(REST)
            assert words(page, ".field > .others").endswith("s 1 to 2 of 4")
        place, seen = page.locator(".canvas").bounding_box(), []
        for y, x in product(range(60, int(place["height"]), 12), range(4, 300, 14)):
            page.mouse.move(place["x"] + x, place["y"] + y)
            said = page.locator(".pointed").text_content().partition(": ")[0]
            seen += re.findall(r"\w+$", said)
        assert list(dict.fromkeys(seen)) == inside
    with opened(picture, f"#share=1{at}", viewport=PHONE) as page:
        page.evaluate(REST)
        left, right = (page.locator(f".zone.{side}").bounding_box() for side in ("left", "right"))
        assert left["y"] == right["y"] and left["x"] < right["x"]


#: What the picture shows from its arrival at a stop on, of what is stored once and beside it.
ARRIVED = """() => new Promise((done) => {
  const canvas = document.querySelector(".canvas");
  const edge = document.querySelector(".zone.right").getBoundingClientRect().left
    - canvas.getBoundingClientRect().left - 4;
  const cut = document.createElement("canvas");
  const part = (x, w) => {
    [cut.width, cut.height] = [w, canvas.height];
    cut.getContext("2d").drawImage(canvas, -x, 0);
    return cut.toDataURL();
  };
  const seen = [[], []];
  const end = performance.now() + 3000;
  const look = (now) => {
    [part(0, edge), part(edge, canvas.width - edge)].forEach((one, k) => {
      if (seen[k].at(-1) !== one) seen[k].push(one);
    });
    if (now < end) requestAnimationFrame(look);
    else done(seen.map(({ length }) => length));
  };
  look(0);
})"""


@pytest.mark.parametrize("model", [Blocks, models.lenet5])
def test_what_is_stored_rests_while_samples_are_drawn(model, opened):
    with opened(xray(model()), "#share=2") as page:
        page.emulate_media(reduced_motion="no-preference")
        page.evaluate(REST)
        page.locator(".stop").last.click()
        page.locator("#xray:not([data-way=''])").wait_for()
        page.locator("#xray[data-way='']").wait_for()
        page.evaluate(FRAME)
        stored, drawn = page.evaluate(ARRIVED)
        assert stored == 1 and 3 <= drawn <= 5


def test_equal_blocks_are_one_row_that_opens_to_the_layers_of_one(opened):
    picture = xray(Blocks())
    inside = [layer for layer in picture.layers if layer.name.startswith("blocks.")]
    with opened(picture) as page:
        page.locator("summary.line").click()
        row = page.locator("details details > summary")
        said = f"blocks › blocks 0–5, equal 6 × {len(inside) // 6} layers"
        assert row.locator(".title").text_content() == said
        row.click()
        page.locator("details [data-layer]").first.wait_for()
        titles = page.locator("details details li .title").all_inner_texts()
        assert titles and all("block 0 ›" in title for title in titles)


def test_a_layer_that_is_pressed_in_the_list_opens_below_its_path(opened):
    with opened(xray(Blocks()), viewport=PHONE) as page:
        page.locator("summary.line").click()
        page.locator(".tree [data-layer]").last.click()
        page.evaluate(REST)
        path = page.locator(".path")
        assert path.bounding_box()["y"] > -1 and "›" in words(page, ".path")


def test_where_nothing_is_stored_once_a_phone_says_so_until_weights_come(opened):
    record = """() => {
      const { prototype } = CanvasRenderingContext2D;
      const { fillText, clearRect } = prototype;
      prototype.clearRect = function (...at) { window.said = []; clearRect.apply(this, at); };
      prototype.fillText = function (...all) {
        window.said.push(all[0]);
        fillText.apply(this, all);
      };
    }"""
    with opened(PICTURES["curves"](), "#share=1", viewport=PHONE) as page:
        page.evaluate(record)
        for share, says in ((0, True), (0.3, False), (1, False), (0, True)):
            page.evaluate("(share) => (location.hash = `share=${share}`)", share)
            page.evaluate(REST)
            said = " ".join(page.evaluate("() => window.said"))
            assert ("nothing is stored once" in said) == says
            assert "all predictions" in said


def test_a_press_upon_what_all_layers_have_opens_the_nearest(opened):
    with opened(PICTURES["24 blocks"](), "#share=0", viewport=PHONE) as page:
        page.evaluate(REST)
        place = page.locator(".canvas").bounding_box()
        for y, x in product(range(int(place["height"]), 0, -3), range(0, 300, 30)):
            page.mouse.move(place["x"] + x, place["y"] + y)
            if words(page, ".pointed").startswith("Biases of all layers"):
                break
        page.mouse.down()
        page.mouse.up()
        assert re.search(r"› block \d+$", words(page, ".path"))


def test_a_text_that_widens_a_network_leaves_its_old_size_to_be_seen(opened):
    told = "() => postMessage({ to: 'xray', set: 'width=100' }, '*')"
    dashed = "() => document.querySelector('.canvas').ariaLabel.includes('the network before')"
    with opened(xray("1-50-50-1", 1), "#method=single") as page:
        page.evaluate(told)
        page.evaluate(REST)
        assert words(page, ".gauge .head") == "10,401 parameters = 3.85 × before"
        assert page.evaluate(dashed)
        drawn = "() => document.querySelector('.canvas').toDataURL()"
        seen = page.evaluate(drawn)
        page.locator('button.bar[data-method="mc_dropout"]').click()
        page.evaluate(REST)
        assert "before" not in words(page, ".gauge .head") and not page.evaluate(dashed)
        page.locator('button.bar[data-method="single"]').click()
        page.evaluate(REST)
        assert page.evaluate(drawn) != seen


@pytest.mark.parametrize("viewport", [DESK, PHONE])
def test_a_text_that_asks_for_four_members_of_a_layer_shows_four(viewport, opened):
    picture = xray("1-50-50-1", 1)
    opening = "zoom=layer&layer=2&method=rank1&hides=members,methods"
    with opened(picture, viewport=viewport) as page:
        page.set_content(picture.html(opening))
        page.evaluate("() => postMessage({ to: 'xray', set: 'members=4' }, '*')")
        page.locator(".gauge strong", has_text=re.compile("^3,500$")).wait_for()
        page.evaluate(REST)
        assert page.locator(".field > .others").is_hidden()


def test_bars_have_another_scale_once_the_hand_lets_go(opened):
    """If they have become hairlines, or longer than their room."""
    with opened(xray("1-50-50-1")) as page:

        def seen():
            bars = page.locator('[data-method="deep_ensemble"] .segment.per_member')
            return words(page, ".rule-words"), bars.evaluate("(bar) => bar.clientWidth")

        first = seen()
        page.get_by_role("slider", name="Width").focus()
        box = page.get_by_role("slider", name="Width").bounding_box()
        middle = box["y"] + box["height"] / 2
        page.mouse.move(box["x"] + box["width"] / 2, middle)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] / 6, middle, steps=3)
        for _ in range(2):  # longer than a hand takes to let go
            page.evaluate(REST)
        assert seen()[0] == first[0] and seen()[1] < 10
        page.mouse.up()
        changed = "(words) => document.querySelector('.rule-words').innerText !== words"
        page.wait_for_function(changed, arg=first[0])
        page.evaluate(REST)
        assert seen()[1] > 100


@pytest.mark.parametrize("name", ["sizes", "curves", "24 blocks"])
def test_a_thumb_on_the_slider_moves_weights_in_sight_and_past_all_words(name, opened):
    phone = {"width": 390, "height": 844}
    with opened(PICTURES[name](), viewport=phone) as page:
        high = page.locator(".canvas").bounding_box()["height"]
        for share in (0, 0.2, 0.4, 0.5, 0.6, 1, 1.5, 2, 2.3, 2.6, 3):
            page.evaluate("(share) => (location.hash = `share=${share}`)", share)
            page.evaluate(FRAME)
            slider, picture = (
                page.locator(one).bounding_box() for one in (".share input", ".canvas")
            )
            assert slider["height"] >= 44 and picture["height"] == high
            assert picture["y"] + high <= phone["height"]
            for zone in page.locator(".zone strong").all():
                assert zone.evaluate("(words) => getComputedStyle(words).opacity") == "1"
                box = zone.bounding_box()
                for x in (2, 40, 80):
                    page.mouse.move(box["x"] + x, box["y"] + box["height"] / 2)
                    assert words(page, ".pointed") == "", (share, zone.inner_text())


@pytest.mark.parametrize(("sizes", "networks"), [("1-50-50-1", 4), ("3-4", 6)])
def test_the_axis_ends_with_the_longest_bar_and_stays_while_weights_are_shared(
    sizes, networks, opened
):
    """In whole networks, each with its number; a rank-1 BNN of the small layer stores 5.25."""
    with opened(xray(sizes), "#share=0") as page:
        wide = "() => document.querySelector('.gauge .per_member').getBoundingClientRect().width"
        four, whole = page.evaluate(wide), page.locator(".gauge").bounding_box()["width"]
        per_network = four / (4 * (1 - 101 / 2701 if networks == 4 else 12 / 16))
        assert per_network * networks == pytest.approx(whole, abs=3)
        for share in (0, 1.5, 2, 3):
            page.evaluate("(share) => (location.hash = `share=${share}`)", share)
            said = words(page, ".ticks").split()
            assert said == ["networks", *map(str, range(1, networks + 1))]
    with opened(PICTURES["24 blocks"](), "#share=1", viewport=PHONE) as page:
        assert page.evaluate(wide) >= 3  # of 1 %


def test_on_its_last_way_the_bar_only_grows_and_so_does_what_is_seen_of_sigma(opened):
    """While members go it never falls, and standard deviations come out from behind W."""
    with opened(PICTURES["sizes"](), "#share=2") as page:
        long = """() => [...document.querySelectorAll(".gauge .segment")]
          .reduce((sum, one) => sum + one.getBoundingClientRect().width, 0)"""
        left = page.locator(".canvas").bounding_box()
        lengths, seen = [], []
        for share in (2, 2.1, 2.3, 2.5, 2.7, 3):
            page.evaluate("(share) => (location.hash = `share=${share}`)", share)
            page.evaluate(REST if share in (2, 3) else FRAME)
            lengths.append(page.evaluate(long))
            said = []
            for x in range(100, 340, 12):
                page.mouse.move(left["x"] + x, left["y"] + 0.6 * left["height"])
                said.append(words(page, ".pointed").startswith("σ of W of layer 2"))
            seen.append(sum(said))
        assert lengths == sorted(lengths) and lengths[-1] > 1.1 * lengths[0]
        assert seen == sorted(seen) and 0 == seen[0] < seen[3] < seen[-1]


def test_on_a_phone_all_bars_have_one_grid(opened):
    """However many passes there are; and one pass is no passes."""
    with opened(xray("1-50-50-1"), "#members=28", viewport=PHONE) as page:
        ends = "(cells) => cells.map((cell) => Math.round(cell.getBoundingClientRect().right))"
        for cell in ("total", "ratio", "train", "passes"):
            assert len(set(page.locator(f"button.bar .{cell}").evaluate_all(ends))) == 1, cell
        after = "(cell) => cell.innerText + getComputedStyle(cell, '::after').content"
        for method, said in (("single", '1" pass"'), ("deep_ensemble", '28" passes"')):
            assert page.locator(bar(method, "passes")).evaluate(after) == said


def test_a_phone_shows_all_four_columns_of_what_is_drawn(opened):
    with opened(xray("3-4"), "#share=2&zoom=numbers", viewport=PHONE) as page:
        assert page.locator(".once .shared .number").count() == 3 * 4
        ends = page.locator(".each .made").evaluate_all(
            "(grids) => grids.map((grid) => grid.getBoundingClientRect().right)"
        )
        assert max(ends) < PHONE["width"]


def test_keys_share_the_weights_and_each_stop_says_what_is_stored_where(opened):
    picture = xray("1-50-50-1")
    with opened(picture) as page:
        slider = page.get_by_role("slider", name="Share the weights")
        for stop, method in enumerate(STOPS):
            if stop:
                slider.press("ArrowRight")
            page.evaluate(FRAME)
            assert slider.get_attribute("aria-valuetext") == METHODS[method].label
            total = picture.counts[method].total
            assert words(page, ".gauge strong") == f"{total:,}"
            assert words(page, ".sums strong") == f"{total:,}"
            own = {"batch_ensemble": ": r, s, b", "rank1": ": μ, σ, b"}.get(method, "")
            each = "Drawn anew, not stored" if stop == 3 else f"Stored by each member{own}"
            assert words(page, ".zone.right strong") == each
            once, each = (words(page, f".zone.{side} span") for side in ("left", "right"))
            once = int(once.replace("nothing", "0").split()[0].replace(",", ""))
            own, _, M = each.replace(",", "").partition(" × ")
            assert once + (int(own) * int(M) if M else 0) == total
        page.locator('button.bar[data-method="last_layer"]').click()
        assert words(page, ".zone.right span") == "51 × 4"
        assert page.locator(".share.off").is_visible()  # it is at none of the stops
        said = words(page, ".lead >> nth=1")
        assert said.startswith("A matrix W has a row for each of m inputs") and "last layer" in said
        page.locator(".stop").nth(2).click()
        page.keyboard.press("ArrowLeft")
        page.evaluate(FRAME)
        assert slider.get_attribute("aria-valuetext") == "BatchEnsemble"
        assert page.locator(".share.off").count() == 0


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.hidden = nn.Embedding(11, 7), nn.Linear(7, 5)
        self.norm, self.last = nn.LayerNorm(5), nn.Linear(5, 3)
        self.drop = nn.Dropout()


def test_every_kind_of_layer_is_told_as_it_is(opened):
    picture = xray(Words())
    assert not picture.refused
    with opened(picture) as page:
        for method, count in picture.counts.items():
            page.locator(f'button.bar[data-method="{method}"]').click()
            page.evaluate(FRAME)
            *terms, total = page.locator(".addend small").all_inner_texts()[:-1]
            assert int(total.replace(",", "")) == count.total
            assert sum(int(term.replace(",", "")) for term in terms) == count.total, method
        page.locator('button.bar[data-method="batch_ensemble"]').click()
        for row, own in ((0, 77), (2, 10)):
            page.locator(f'.line[data-layer="{row}"]').click()
            assert words(page, ".sums strong") == str(own)
            assert "r and s" not in words(page, ".sum")
            assert words(page, ".zone.right") == "Each member uses this one copy"
            page.get_by_role("button", name="See its numbers").click()
            page.locator(".number").first.wait_for()


def test_near_a_stop_the_slider_is_at_it_and_between_two_no_count_is_said(opened):
    picture = xray("1-50-50-1")
    drag = """([range, at]) => {
      range.value = at;
      range.dispatchEvent(new Event("input"));
    }"""
    with opened(picture) as page:
        slider = page.get_by_role("slider", name="Share the weights").element_handle()
        for at, said, key in ((0.96, "3,812", 3), (1.4, "1.41 → 1.71", 3), (1.6, "1.41 → 1.71", 4)):
            page.evaluate(drag, [slider, at])
            assert words(page, ".gauge strong") == said
            looks = page.locator(".key [data-role]:not([data-role=made], [data-role=lent])")
            assert sum(look.is_visible() for look in looks.all()) == key


#: What is seen whole in an SVG at a moment: the largest area, words, and how many areas.
SEEN_THEN = """(moment) => {
  const svg = document.querySelector("svg");
  svg.pauseAnimations();
  svg.setCurrentTime(moment);
  const seen = (one) => getComputedStyle(one).opacity == 1;
  const drawn = [...svg.querySelectorAll("g[class]:not(.dashed, .inner)")].filter(seen);
  const areas = drawn.map((group) => {
    const path = svg.querySelector(group.lastChild.getAttribute("href")).getAttribute("d");
    const [, , w, h] = path.match(/-?[\\d.]+/g).map(Number);
    return w * h;
  });
  const words = [...svg.querySelectorAll("g:has(> text)")].filter(seen);
  return [Math.max(...areas), words.map((one) => one.textContent).join(), areas.length];
}"""


def test_the_way_is_saved_as_a_picture_that_moves(opened):
    """At each stop its words say what is stored; the file needs no script and no other file."""
    picture = xray("1-50-50-1", curves=CURVES)
    with opened(picture) as page:
        with page.expect_download() as saved:
            page.get_by_role("button", name="Save as a moving picture").click()
        assert saved.value.suggested_filename == "1-50-50-1.svg"
        text = Path(saved.value.path()).read_text(encoding="utf-8")
        assert len(text.encode()) < 200_000 and ElementTree.fromstring(text)
        assert set(re.findall('dur="[^"]*" (.*?) keyTimes', text)) == {'repeatCount="indefinite"'}
        assert re.findall('https?://[^"]*|<script|<image', text) == ["http://www.w3.org/2000/svg"]
        page.set_content(text)
        largest, _, _ = page.evaluate(SEEN_THEN, 0.001)
        for stop, method in enumerate(STOPS):
            area, said, _ = page.evaluate(SEEN_THEN, 2.8 * stop + 0.001)
            assert area == pytest.approx(largest)  # the matrix of 50 x 50
            assert f"{picture.counts[method].total:,} parameters" in said
        *_, said, many = page.evaluate(SEEN_THEN, 2.4)
        assert many >= 4 and not said  # four matrices on their way


def test_what_is_changed_moves_what_is_made_of_it(opened):
    with opened(xray("4-5", 2), "#share=1&zoom=numbers") as page:

        def numbers(place):
            page.evaluate(FRAME)
            cells = page.locator(f"{place} .number").all()
            return [
                float((one.inner_text() or one.input_value()).replace("−", "-")) for one in cells
            ]

        def made(member):
            return numbers(f".each .block:nth-child({member}) .at-W")

        def check_outputs(member):
            block = f".each .block:nth-child({member})"
            x, W, b = numbers(".once .at-r"), made(member), numbers(f"{block} .at-b")
            expected = [sum(x[a] * W[5 * a + k] for a in range(4)) + b[k] for k in range(5)]
            assert numbers(f"{block} .at-y") == pytest.approx(expected, abs=0.5)  # as shown

        before = made(1), made(2)
        r = page.get_by_label("r₁[2]", exact=True)
        r.focus()
        assert page.locator(".moves").count() == 10  # one row of W₁, and all of y₁
        shown = float(r.input_value().replace("−", "-"))
        r.press("ArrowUp")
        assert float(r.input_value().replace("−", "-")) == shown + 0.5
        now = made(1), made(2)
        assert now[1] == before[1]
        assert [a == b for a, b in zip(now[0], before[0], strict=True)] == [True] * 5 + [
            False
        ] * 5 + [True] * 10
        assert "row 2 of W₁" in words(page, ".told")
        page.get_by_label("W[1, 1]", exact=True).focus()
        assert page.locator(".moves").count() == 4  # an entry and an output of each member
        page.get_by_label("x[3]", exact=True).fill("7")
        page.get_by_label("x[3]", exact=True).press("Enter")
        check_outputs(1)
        check_outputs(2)
        page.get_by_role("button", name="Reset numbers").click()
        assert (made(1), made(2)) == before


@pytest.mark.parametrize("share", [1, 2])
def test_a_task_says_what_was_found_and_leads_to_the_next(share, opened):
    """In a place of one height, so that no number moves under the hand."""
    with opened(xray("3-4"), f"#share={share}&zoom=numbers", viewport=PHONE) as page:
        at, first = page.locator(".shelf").bounding_box()["y"], share == 2
        letter = "μ of r₁[1]" if first else "r₁[1]"
        for place, said in (("W[1, 1]", "✓ Every member"), (letter, "✓ One member")):
            assert words(page, ".task span").startswith("Task: ")
            page.get_by_label(place, exact=True).fill("7")
            assert words(page, ".task span").startswith(said)
            page.get_by_role("button", name="Next task").click()
            page.evaluate(FRAME)
            assert page.get_by_label(place, exact=True).input_value() != "7"
            assert page.locator(".shelf").bounding_box()["y"] == at
        # Without spread a third one; with it the first once more.
        third = [("r₁[1]", "-2", "Task: "), ("s₁[1]", "7", "Not yet"), ("s₁[1]", "1", "✓ That")]
        for place, value, said in [("W[2, 1]", "7", "✓ Every")] if first else third:
            page.get_by_label(place, exact=True).fill(value)
            assert words(page, ".task span").startswith(said)


@pytest.mark.parametrize("viewport", [DESK, PHONE])
def test_what_is_drawn_anew_stays_where_it_is_seen(viewport, opened):
    """The button, on a phone right below its numbers; and a row of W beside that of V."""
    with opened(xray("1-50-50-1", 1), "#share=2&zoom=layer&layer=2", viewport=viewport) as page:
        button = page.get_by_role("button", name="Draw anew")
        place = button.bounding_box()
        page.get_by_role("button", name="See its numbers").click()
        page.evaluate(REST)
        now, shelf = button.bounding_box(), page.locator(".shelf").bounding_box()
        assert now["y"] <= place["y"] + 30  # a line more says which rows are seen
        if viewport == PHONE:
            assert 0 <= now["y"] - shelf["y"] - shelf["height"] < 30
        else:
            assert now["x"] == pytest.approx(place["x"], abs=3)
        W, V = (page.get_by_label(f"{one}[2, 1]", exact=True) for one in ("W", "V₁"))
        assert W.bounding_box()["y"] == pytest.approx(V.bounding_box()["y"], abs=3)
        names = page.locator(".part > b").all()
        assert (
            max(sum(name.bounding_box()[side] for side in ("x", "width")) for name in names)
            < viewport["width"]
        )
        assert words(page, ".each h2").startswith(("Stored by member 1: μ, σ, b", "Member 1: μ, σ"))


def test_an_output_adds_up_the_inputs_in_sight(opened):
    """Wherever the window is, and the equation has a product for each."""
    for where in ("", "&row=20&column=7"):
        with opened(xray("1-50-50-1"), f"#method=single&zoom=numbers&layer=2{where}") as page:
            x, W, b, y = (
                [
                    float((cell.inner_text() or cell.input_value()).replace("−", "-"))
                    for cell in page.locator(f".once .at-{part} .number").all()
                ]
                for part in "rWby"
            )
            for k in range(len(y)):
                products = [one * W[len(y) * a + k] for a, one in enumerate(x)]
                assert y[k] == pytest.approx(sum(products) + b[k])
            others = f"the other {50 - len(x)} inputs are 0 here"
            assert words(page, ".once h2") == f"Stored once {others}"
            page.locator(".once .at-y .number").first.focus()
            assert words(page, ".told strong").count(" · ") == len(x)
    with opened(xray("1-5-5-1"), "#method=single&zoom=numbers&layer=2") as page:
        assert words(page, ".once h2") == "Stored once"


@pytest.mark.parametrize("viewport", [DESK, PHONE])
def test_what_members_predict_is_not_below_what_is_stored(viewport, opened):
    with opened(xray("1-50-50-1", curves=CURVES), "#share=2", viewport=viewport) as page:
        top = page.locator(".canvas").bounding_box()["y"]
        right, left = (page.locator(f".zone.{side}").bounding_box() for side in ("right", "left"))
        assert right["y"] > top + 60
        assert (left["y"] == right["y"]) == (viewport == DESK)


def test_escape_leads_back_to_all_members(opened):
    with opened(xray("1-50-50-1"), "#share=1") as page:
        page.evaluate(REST)
        first = page.evaluate(SEEN)
        page.keyboard.press("+")
        page.keyboard.press("+")
        page.evaluate(REST)
        assert page.evaluate(SEEN) != first
        page.keyboard.press("Escape")
        page.evaluate(REST)
        assert page.evaluate(SEEN) == first


READ = "(one) => (one.value || one.innerText).replace('−', '-')"
#: Numbers by name, as they are read; what can be typed, and what is computed.
NAMED = """() => ["input", "button"].map((tag) => Object.fromEntries(
  [...document.querySelectorAll(`${tag}.number`)].map((one) =>
    [one.ariaLabel, Number((one.value || one.innerText).replace("−", "-"))])))"""


@pytest.mark.parametrize(
    ("place", "own"), [("row=9&column=12", False), ("row=2", False), ("", True)]
)
def test_only_numbers_of_the_model_are_called_its_own(place, own, opened):
    """A page has the first ones of a large matrix; a window with others leads to them."""
    model = nn.Linear(30, 20)
    nn.init.constant_(model.weight, 0.25)
    with opened(xray(model), f"#share=1&zoom=numbers&{place}") as page:

        def shown():
            page.evaluate(FRAME)
            typed = page.evaluate(NAMED)[0]
            return {value for name, value in typed.items() if name.startswith("W[")}

        there = page.get_by_role("button", name="See your model’s: rows 1–6")
        if not own:
            assert shown().isdisjoint({0.25})
            assert "Example numbers, not your model’s." in words(page, ".numbers .note")
            there.click()
        assert shown() == {0.25}
        assert "W is your model’s" in words(page, ".numbers .note")
        assert there.is_hidden()


def test_small_weights_are_counted_in_a_unit_that_their_heading_says(opened):
    model = nn.Linear(30, 20)
    nn.init.constant_(model.weight, -0.0142)
    model.weight.data[0, 0] = -0.0046
    with opened(xray(model), "#share=1&zoom=numbers") as page:
        first = page.get_by_label("W[1, 1]", exact=True)

        def factors_and_product():
            page.evaluate(FRAME)
            return [
                float(page.get_by_label(f"{name}₁[{at}]", exact=True).evaluate(READ))
                for name, at in (("r", 1), ("s", 1), ("W", "1, 1"))
            ]

        assert page.get_by_label("W[2, 1]", exact=True).input_value() == "−14"
        assert first.input_value() == "−5"
        r, s, made = factors_and_product()
        assert made == -5 * r * s  # of what is seen
        assert words(page, ".once .who") == "W × 0.001"
        assert words(page, ".each .block:first-child .who") == "member 1, W₁ × 0.001"
        first.fill("20")
        assert words(page, ".told strong") == "W[1, 1] = 0.02"
        r, s, made = factors_and_product()
        assert made == 20 * r * s


def test_what_a_member_draws_stands_between_its_means_and_its_matrix(opened):
    with opened(xray("5-50-50-3", 1), "#method=rank1&zoom=layer&layer=2") as page:
        place = page.locator(".canvas").bounding_box()
        seen = []
        for x in range(0, int(place["width"]), 3):
            page.mouse.move(place["x"] + x, place["y"] + place["height"] / 2)
            page.evaluate(FRAME)
            seen.append(page.locator(".pointed").text_content().split(" of layer")[0])
        assert list(dict.fromkeys(filter(None, seen))) == ["W", "σ of r₁", "μ of r₁", "r₁", "V₁"]


@pytest.mark.parametrize(
    ("method", "factors"), [("rank1", "rs"), ("mean_field", ""), ("mc_dropout", "z")]
)
def test_what_is_drawn_is_seen_beside_what_is_stored(method, factors, opened):
    with opened(xray("5-4-3"), f"#method={method}&zoom=numbers&layer=2") as page:
        stored, made = page.evaluate(NAMED)
        for a, b in product(range(1, 5), range(1, 4)) if factors else ():
            drawn = [made[f"{letter}₁[{b if letter == 's' else a}]"] for letter in factors]
            expected = prod(drawn, start=stored[f"W[{a}, {b}]"])
            name = "V" if method == "rank1" else "W"
            assert made[f"{name}₁[{a}, {b}]"] == pytest.approx(expected, abs=0.051)  # as shown
        spreads = [name.removeprefix("σ of ") for name in stored if name.startswith("σ of ")]
        assert bool(spreads) == (method != "mc_dropout")
        for name in spreads:  # nothing rare is seen first
            drawn = made[name if "₁" in name else name.replace("[", "₁[")]
            assert abs(drawn - stored[f"μ of {name}"]) <= 2 * stored[f"σ of {name}"]
        page.get_by_role("button", name="Draw anew").click()
        page.evaluate(FRAME)
        now, others = page.evaluate(NAMED)
        assert now == stored and others.keys() == made.keys() and others != made


def test_what_is_typed_counts_at_once_and_escape_takes_it_back(opened):
    with opened(xray("4-6-5-3"), "#share=1&zoom=numbers&layer=2") as page:
        before = page.evaluate(NAMED)
        number = page.get_by_label("W[2, 3]", exact=True)
        number.fill("")
        number.press_sequentially("−7.")
        page.evaluate(FRAME)
        stored, made = page.evaluate(NAMED)
        assert number.input_value() == "−7."  # nobody writes while a reader does
        assert made["W₁[2, 3]"] == pytest.approx(-7 * stored["r₁[2]"] * stored["s₁[3]"], abs=0.051)
        number.press("Escape")
        page.evaluate(FRAME)
        assert page.evaluate(NAMED) == before
        members = page.get_by_role("spinbutton", name="Members")
        members.fill("9")
        assert words(page, ".numbers .others").endswith("of 9")
        members.press("Escape")
        assert words(page, ".numbers .others").endswith("of 4")


def test_a_flick_changes_the_pressed_number_alone(opened):
    """However far the pointer is when it is first heard of."""
    with opened(xray("4-6-5-3"), "#share=1&zoom=numbers&layer=2") as page:
        for place, (across, up) in {"W[3, 4]": (0, 60), "W[5, 5]": (60, 0)}.items():
            page.evaluate(FRAME)
            cells = page.locator(".numbers input.number").all()
            before = {one.get_attribute("aria-label"): one.input_value() for one in cells}
            box = page.get_by_label(place, exact=True).bounding_box()
            x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
            page.mouse.move(x, y)
            page.mouse.down()
            page.mouse.move(x + across, y - up)
            page.mouse.up()
            page.evaluate(FRAME)
            changed = {
                label: (before[label], one.input_value())
                for one in cells
                if one.input_value() != before[label := one.get_attribute("aria-label")]
            }
            assert list(changed) == [place]
            was, now = (float(each.replace("−", "-")) for each in changed[place])
            assert now == was + 3


def test_a_finger_scrolls_past_numbers_and_map_and_moves_what_it_takes(opened):
    """A swipe that begins upon them changes nothing; a pressed number, and the dot, follow it."""
    finger = {"viewport": PHONE, "has_touch": True, "is_mobile": True}
    with opened(xray("4-6-5-3"), "#share=1&zoom=numbers&layer=2", **finger) as page:

        def up(at, far):
            small.swipe(page, at, (at[0], at[1] - far))
            page.evaluate(small.AT_REST)
            page.evaluate(REST)
            return page.evaluate("() => [scrollY, location.hash]")

        def middle(of):
            of.evaluate("(one) => one.scrollIntoView({ block: 'center' })")
            page.evaluate(REST)
            box = of.bounding_box()
            return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

        number = page.get_by_label("W[2, 2]", exact=True)
        at, [top, first] = middle(number), page.evaluate("() => [scrollY, location.hash]")
        below, hash_now = up(at, 200)
        assert below > top + 100 and hash_now == first and "edits" not in first
        page.touchscreen.tap(*middle(number))
        before = float(number.input_value().replace("−", "-"))
        up(middle(number), 60)
        assert float(number.input_value().replace("−", "-")) == before + 3
        page.get_by_role("button", name="4-6-5-3").click()
        (x, y), (top, first) = (
            middle(page.locator(".map")),
            page.evaluate("() => [scrollY, location.hash]"),
        )
        below, hash_now = up((x + 60, y), 200)
        assert below > top + 100 and hash_now == first
        x, y = middle(page.locator(".map"))
        page.touchscreen.tap(x, y)
        page.evaluate(REST)
        tapped = page.evaluate("() => location.hash")
        assert "members=6" in tapped
        assert up((x, y), 60)[1] != tapped


def test_a_guess_comes_first_and_its_answer_beside_it(opened):
    """It is dragged on the bar, by hand and by keys; words say what to take, and when it ends."""
    with opened(xray("1-50-50-1", curves=CURVES)) as page:

        def asked():
            return words(page, ".tag"), page.locator(".gauge").get_attribute("data-next")

        says(page, bar("batch_ensemble", "total"), "?")
        assert page.locator(".mark").is_hidden()
        assert asked() == ("Guess: how much is left when all share W?", "guess")
        box = page.locator(".gauge .track").bounding_box()
        middle = box["y"] + box["height"] / 2
        page.mouse.move(box["x"] + 2.5 / 4 * box["width"], middle)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] / 2, middle, steps=3)
        page.mouse.up()
        assert asked() == ("Your guess: 2.00. Now slide to “share W”.", "share")
        guess = page.get_by_role("slider", name="Your guess")
        guess.press("ArrowRight")
        assert asked()[0].startswith("Your guess: 2.05.")
        mark = page.locator(".mark").bounding_box()
        at = mark["x"] + mark["width"] / 2 - box["x"]
        assert at / box["width"] == pytest.approx(2.05 / 4, abs=0.003)
        page.evaluate(REST)
        slider = page.get_by_role("slider", name="Share the weights")
        drag = '(range, at) => ((range.value = at), range.dispatchEvent(new Event("input")))'
        slider.evaluate(drag, 0.7)
        assert words(page, ".gauge strong") == "4.00 → ?"
        slider.evaluate(drag, 0)
        says(page, bar("batch_ensemble", "total"), "?")
        slider.press("ArrowRight")
        assert asked() == ("You said 2.05, it is 1.41.", "")
        says(page, bar("batch_ensemble", "total"), "3,812")
        assert guess.is_hidden() and page.locator(".mark").bounding_box() == mark
        for key, shared in (("ArrowRight", False), ("ArrowLeft", True), ("ArrowLeft", False)):
            slider.press(key)
            assert (asked()[0] != "") == page.locator(".mark").is_visible() == shared


def test_the_first_page_says_what_to_take_first_and_calls_the_stops_by_name(opened):
    cells = json.loads((BOOK / "intro.ipynb").read_text(encoding="utf-8"))["cells"]
    said = "".join(cells[0]["source"])
    assert 0 < said.index("Guess on the bar") < said.index("slider")
    with opened(xray("1-50-50-1", curves=CURVES)) as page:
        stops = page.locator(".stop strong").all_inner_texts()
        assert re.findall(r"\*(.+?)\*", said) == stops[1:2]


def test_where_sharing_does_not_pay(opened):
    with opened(xray("1-50-50-1"), "#share=1") as page:
        marks = [one.inner_text() for one in page.locator(".lost").all()]
        assert marks[0] == marks[2] == "▲ never gains: its W is as small as r or s"
        assert marks[1] == ""
        box = page.locator(".map").bounding_box()
        page.locator(".map").click(position={"x": 48, "y": box["height"] / 2})
        page.evaluate(FRAME)
        assert page.get_by_role("spinbutton", name="Width").input_value() == "1"
        assert "One side of each matrix is 1" in words(page, ".verdict")
        page.get_by_role("spinbutton", name="Width").fill("2")
        page.locator(".verdict", has_text="cost more than the matrices").wait_for()
        page.get_by_role("link", name="Sharing pays from width").click()
        page.locator(".verdict", has_text="A BatchEnsemble stores").wait_for()  # once it rests
        width = page.get_by_role("spinbutton", name="Width")
        before = int(width.input_value())
        page.locator(".map").press("ArrowRight")
        page.evaluate(FRAME)
        assert int(width.input_value()) == before + 1


def test_keys_reach_each_layer_of_a_map(opened):
    with opened(xray(Words())) as page:
        page.locator(".map").focus()
        page.locator(".verdict", has_text="A BatchEnsemble stores").wait_for()  # once it is drawn
        said = []
        for _ in range(2):
            page.keyboard.press("ArrowRight")
            said.append(words(page, ".spot"))
        assert [one.split(",")[0] for one in said] == ["last", "hidden"]
        assert f"stores × {4 * (35 + 5) / (35 + 4 * (7 + 5 + 5)):.2f} as much" in said[1]
        page.locator(".map").click(position={"x": 60, "y": 20})  # beside them the nearest is told
        assert words(page, ".spot").startswith("last, ")
        assert page.get_by_role("spinbutton", name="Members").input_value() == "4"


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_axe_finds_nothing(mode, browser, opened):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    with opened(xray("1-50-50-1"), "#share=2", mode=mode) as page:
        for view in ("model", "layer", "numbers"):
            page.evaluate("(hash) => (location.hash = hash)", f"#share=2&zoom={view}&layer=2")
            page.evaluate(REST)
            found = axe.run(page).response["violations"]
            assert not [
                (rule["id"], [node["html"] for node in rule["nodes"]][:3]) for rule in found
            ]


@pytest.fixture
def book_page(browser, tmp_path, monkeypatch):
    """A page with an X-ray as a figure, and links that set it: above, right below and far below."""
    monkeypatch.setenv("ENSEDU_BOOK", str(tmp_path / "_static" / "frames"))
    figure = xray_figure(
        "4-6-5-3", zoom="share", hides=["members", "methods"], name="fig-a", alt="a", caption="b"
    )
    html = figure._repr_mimebundle_()["text/html"].replace("ensedu-site:", "")
    link = '<a class="ensedu-set" href="#fig-a:members=8&method=rank1&zoom=layer">eight</a>'
    css = (BOOK / "_css" / "figures.css").read_text(encoding="utf-8")
    body = (
        "<div class='bd-header-article' style='position: fixed; top: 0'></div>"
        f"<p>{link}</p><div style='height: 300px'></div>"
        f"<figure>{html}</figure><p>{link}</p>{small.TALL}<p>{link}</p>"
    )
    small.write(tmp_path / "empty.html", "A chapter", body, css, BUNDLE.classic())
    with small.opening(browser, tmp_path.as_uri() + "/") as open_one:
        yield open_one


@pytest.mark.parametrize("viewport", [DESK, PHONE])
def test_a_figure_of_the_book_is_as_high_as_what_it_shows(viewport, book_page):
    """And follows the book's links and look, leads back, and shows at first what it is to show."""
    page = book_page(viewport=viewport)
    inside = page.frame_locator("iframe")

    def settled(path):
        inside.locator(".path", has_text=path).wait_for()
        page.frames[1].evaluate(REST)
        return inside.locator("html").evaluate(
            "(root) => [root.scrollHeight - innerHeight, scrollY]"
        )

    inside.locator(".gauge strong", has_text="332").wait_for()
    assert inside.locator(".bars-section").is_hidden()
    assert inside.get_by_role("slider").count() == 0
    page.evaluate("() => scrollTo(0, 100)")
    page.get_by_role("link", name="eight").first.evaluate("(link) => link.click()")
    assert settled("layer 1") == [0, 0]
    assert page.evaluate("() => scrollY") == 100
    assert inside.locator('.stop[aria-pressed="true"] small').text_content() == "rank-1 BNN"
    assert "#fig-a:members=8&share=2&" in page.url
    page.evaluate("() => { document.documentElement.dataset.theme = 'dark' }")
    dark = "() => getComputedStyle(document.body).backgroundColor === 'rgb(18, 18, 18)'"
    page.frames[1].wait_for_function(dark)
    inside.get_by_role("button", name="See its numbers").click()
    assert settled("rows") == [0, 0]
    page.locator("h1").click()  # Escape reaches it from there, too
    page.keyboard.press("Escape")
    settled("layer 1")
    page.evaluate("() => history.back()")
    settled("rows")
    assert inside.get_by_role("spinbutton", name="Width").is_hidden()
    inside.get_by_role("button", name="Show all of the X-ray").click()
    assert settled("rows") == [0, 0] and inside.locator(".map").is_visible()
    for label in ("Members", "Width", "Share the weights"):
        assert inside.get_by_role("slider", name=label).is_visible()


def test_a_link_below_a_figure_stays_where_it_is_read(book_page):
    page = book_page()
    inside, link = page.frame_locator("iframe"), page.get_by_role("link", name="eight").nth(1)
    inside.locator(".gauge strong", has_text="332").wait_for()
    page.frames[1].evaluate(REST)
    frame = page.locator("iframe")
    before = frame.bounding_box()["height"]
    page.evaluate("(top) => scrollTo(0, top)", link.bounding_box()["y"] - 300)
    read = link.bounding_box()["y"]
    link.click()
    page.wait_for_function(
        "(old) => document.querySelector('iframe').offsetHeight !== old", arg=before
    )
    page.frames[1].evaluate(REST)
    assert link.bounding_box()["y"] == pytest.approx(read, abs=1)


#: What a figure says of itself once a text has widened its network.
WIDENED = """() => new Promise((done) => {
  addEventListener("message", ({ data }) => data.copy?.words && done(data.copy.words));
  for (const told of [{ set: "zoom=model&width=9" }, { copy: true }])
    document.querySelector("iframe").contentWindow.postMessage({ to: "xray", ...told }, "*");
  setTimeout(done, 3000);
})"""


def test_far_from_a_figure_a_link_is_answered_in_words_and_a_small_picture(book_page):
    page = book_page()
    page.get_by_role("link", name="eight").last.click()
    said = page.locator(".ensedu-dock summary", has_text="rank-1 BNN, M = 8: ")
    own = 8 * (2 * (4 + 6) + 6)  # means and deviations of r and s, and biases
    total = 4 * 6 + own
    ratio = f"{total / 30:.2f} times one such layer"
    assert said.inner_text() == f"rank-1 BNN, M = 8: {total} parameters, {ratio}."
    image = page.locator(".ensedu-dock img")
    drawn = image.evaluate("(one) => one.decode().then(() => [one.naturalWidth, one.src.length])")
    assert drawn[0] > 200 and drawn[1] > 2_000
    few, many = (xray(sizes, 8).counts["rank1"].total for sizes in ("4-6-5-3", "4-9-9-3"))
    widened = f"{few} → {many:,} parameters, {many / few:.2f} × before"
    assert page.evaluate(WIDENED) == f"rank-1 BNN, M = 8: {widened}."


def test_on_paper_a_figure_is_a_table(book_page):
    page = book_page()
    page.emulate_media(media="print")
    assert page.locator("iframe").is_hidden()
    assert "BatchEnsemble\t241" in page.locator(".ensedu-bars").inner_text()
