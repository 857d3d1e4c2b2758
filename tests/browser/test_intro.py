"""The first page: what to try stands over the figure, and where to go from there in one row."""

import itertools

import pytest

from ensedu.book.figures.intro import TRIES
from scripts.browsing import DESK, PHONE, visit

PAGE = "book/intro.html"
BAND = "document.querySelector('p.ensedu-t-control strong').textContent"
TRY = ".ensedu-t-try [role=status]"
LAST = "4 of 4: Add a point where there was none."


@pytest.fixture(params=[DESK, PHONE], ids=["desk", "phone"])
def intro(open_page, server, request):
    page = open_page(viewport=request.param)
    visit(page, server + PAGE)
    page.locator(".ensedu-trainer .ensedu-t").wait_for()
    return page


def test_what_to_try_is_ticked_when_it_is_done_and_the_band_is_measured(intro):
    asked, band = intro.locator(TRY), intro.locator("p.ensedu-t-control strong")
    members = intro.get_by_role("slider", name="members")
    intro.wait_for_function(BAND)
    # What is asked, what answers it and the slider are in one view; nothing moves when it is done.
    boxes = [part.bounding_box() for part in (asked, members, band)]
    for above, below in itertools.pairwise(boxes):
        assert above["y"] + above["height"] <= below["y"] + below["height"]
    assert boxes[-1]["y"] + boxes[-1]["height"] <= intro.viewport_size["height"]
    assert float(band.inner_text().removeprefix("±")) > 0.1
    steps = [(lambda: members.press("Home")), (lambda: members.press("End")),
             intro.get_by_role("radio", name="all the same").check]  # fmt: skip
    for one, do in zip(TRIES, steps, strict=True):
        assert asked.inner_text().endswith(one["ask"])
        do()
        intro.locator(TRY, has_text=f"✓ {one['answer']}").wait_for()
        none = one["answer"].startswith(("No", "Nothing"))
        intro.wait_for_function(f"none => {BAND}.endsWith('0.00') === none", arg=none)
    assert members.bounding_box() == boxes[1]
    members.press("Home")  # what is done is not asked again
    assert asked.inner_text() == LAST


def test_on_a_wide_screen_the_plot_is_as_wide_as_its_place(open_page, server):
    page = open_page(viewport={"width": 1920, "height": 1080})
    visit(page, server + PAGE)
    page.locator(".ensedu-trainer .ensedu-t").wait_for()
    row, stage = (page.locator(f".ensedu-t-{part}").bounding_box() for part in ("row", "stage"))
    assert row["width"] == stage["width"] > 736  # which is 46 rem


def test_an_answer_stands_with_its_own_question_as_long_as_it_holds(intro):
    asked = intro.locator(TRY)
    first, second, third = TRIES
    asked_first = f"1 of 4: {first['ask']}"
    same, different = (
        intro.get_by_role("radio", name=name) for name in ("all the same", "different")
    )
    undo = intro.get_by_role("button", name="Undo")
    same.check()  # before it is asked for
    assert asked.inner_text() == asked_first
    different.check()
    intro.get_by_role("slider", name="members").press("Home")
    assert asked.inner_text() == f"✓ {first['answer']}\n2 of 4: {second['ask']}"
    undo.click()
    assert asked.inner_text() == f"2 of 4: {second['ask']}"
    intro.get_by_role("slider", name="members").press("End")
    assert asked.inner_text() == f"✓ {second['answer']}\n3 of 4: {third['ask']}"
    intro.get_by_role("slider", name="members").press("Home")
    same.check()  # with one member, where it shows nothing
    assert asked.inner_text() == f"3 of 4: {third['ask']}"
    intro.get_by_role("slider", name="members").press("End")
    assert asked.inner_text() == f"✓ {third['answer']}\n{LAST}"
    plot = intro.locator("canvas[role=application]")
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    plot.click(position={"x": box["width"] / 2, "y": box["height"] / 3})
    assert asked.inner_text() == "✓ Your point is set: watch the members learn it.\nNow read on."
    undo.click()
    assert asked.inner_text() == "Now read on."


MIDDLE = """one => {
  const last = [...one.getClientRects()].at(-1);
  return last.y + last.height / 2;
}"""


def test_what_to_try_can_be_skipped_and_leads_to_where_reading_starts(intro):
    asked, skip = intro.locator(TRY), intro.get_by_role("button", name="skip")
    members = intro.get_by_role("slider", name="members")
    place = members.bounding_box()
    for i, one in enumerate(TRIES, 1):
        assert asked.inner_text() == f"{i} of 4: {one['ask']}"
        assert skip.bounding_box()["height"] >= 40
        words = asked.locator("strong")
        assert abs(skip.evaluate(MIDDLE) - words.evaluate(MIDDLE)) <= 4  # in their last line
        skip.click()
    assert asked.inner_text() == LAST
    skip.press("Enter")
    assert not skip.is_visible() and members.bounding_box() == place
    on = intro.get_by_role("link", name="Now read on.")
    assert on.evaluate("one => one === document.activeElement")
    starts = "one => one.href"
    assert on.evaluate(starts) == intro.locator(".ensedu-first").evaluate(starts)


def test_the_sentence_tells_the_width_of_the_band_that_is_seen_once(intro):
    intro.wait_for_function("document.querySelector('.ensedu-t-story').textContent.includes('±')")
    told = intro.locator(".ensedu-t-story")
    assert f"and {intro.evaluate(BAND)} in the widest gap" in told.inner_text()
    # The number is seen once, and what else is told is seen in the same place.
    clip = "one => getComputedStyle(one).clipPath"
    assert told.evaluate(clip) == "inset(50%)"
    height = told.bounding_box()["height"]
    intro.get_by_role("button", name="Reset").click()
    intro.locator(".ensedu-t-story", has_text="Reset").wait_for()
    assert told.evaluate(clip) == "none" and told.bounding_box()["height"] == height


def test_on_a_phone_the_plot_begins_early_and_the_buttons_stand_below_it(open_page, server):
    page = open_page(viewport=PHONE, is_mobile=True, has_touch=True)
    visit(page, server + PAGE)
    plot = page.locator("canvas[role=application]")
    plot.wait_for()
    assert plot.bounding_box()["y"] <= 420
    (start,) = page.get_by_role("link", name="Start reading").all()
    assert "ensedu-first" in start.get_attribute("class")


def test_on_a_phone_what_is_told_takes_the_place_of_how_to_add_a_point(open_page, server):
    page = open_page(viewport=PHONE, is_mobile=True, has_touch=True)
    visit(page, server + PAGE)
    hint, link = page.locator(".ensedu-t-hint"), page.locator(".ensedu-t-all a")
    hint.wait_for()
    places = [one.bounding_box() for one in (hint, link)]
    assert places[1]["y"] - places[0]["y"] - places[0]["height"] <= 12
    page.get_by_role("button", name="Reset").click()
    page.locator(".ensedu-t-story", has_text="Reset").wait_for()
    assert not hint.is_visible() and link.bounding_box() == places[1]
    page.get_by_role("button", name="Play").click()
    hint.wait_for()
    assert link.bounding_box() == places[1]


@pytest.mark.parametrize("intro", [DESK], ids=["desk"], indirect=True)
def test_reading_starts_on_the_first_screen_with_its_one_filled_button(intro):
    link = intro.get_by_role("link", name="Start reading").first
    box = link.bounding_box()
    assert box["y"] + box["height"] <= intro.viewport_size["height"] and box["height"] >= 28
    ground = "(one) => getComputedStyle(one).backgroundColor"
    assert intro.locator(".ensedu-t-play").evaluate(ground) != link.evaluate(ground)


def test_three_buttons_stand_in_one_row_and_one_is_filled(intro):
    buttons = intro.locator(".ensedu-button")
    boxes = [one.bounding_box() for one in buttons.all()]
    assert len(boxes) == 3 and len({(box["y"], box["height"]) for box in boxes}) == 1
    assert min(box["height"] for box in boxes) >= 40
    assert max(box["x"] + box["width"] for box in boxes) <= intro.viewport_size["width"]
    ground = "(all) => all.map((one) => getComputedStyle(one).backgroundColor)"
    first, *others = buttons.evaluate_all(ground)
    assert set(others) == {"rgba(0, 0, 0, 0)"} and first not in others


def test_each_part_is_a_card_with_its_question(intro):
    titles = intro.locator(".ensedu-part .sd-card-title").all_inner_texts()
    assert [title.split(":")[0] for title in titles] == ["Part I", "Part II", "Part III", "Part IV"]
    assert all(title.endswith("?") for title in titles)
    for card in intro.locator(".ensedu-part").all():
        assert card.evaluate("(one) => one.scrollWidth <= one.clientWidth + 1")
        assert card.locator("li").count() >= 2
