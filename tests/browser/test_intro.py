"""The first page: what to try stands over the figure, and where to go from there in one row."""

import pytest

from scripts.browsing import DESK, PHONE, visit

PAGE = "book/intro.html"


@pytest.fixture(params=[DESK, PHONE], ids=["desk", "phone"])
def intro(open_page, server, request):
    page = open_page(viewport=request.param)
    visit(page, server + PAGE)
    page.locator(".ensedu-trainer .ensedu-t").wait_for()
    return page


def test_what_to_try_stands_over_the_figure_and_its_answer_below(intro):
    figure = intro.locator(".ensedu-trainer").bounding_box()
    task = intro.get_by_text("Try it").bounding_box()
    assert task["y"] + task["height"] < figure["y"]
    members = intro.get_by_role("slider", name="members")
    members.press("Home")
    title = intro.locator(".ensedu-t-title").first
    intro.wait_for_function(
        "(title) => title.textContent.endsWith('of 1')", arg=title.element_handle()
    )
    said = "Deep ensemble of 1: one curve, so there is no band but that of the noise."
    intro.locator(".ensedu-t-story", has_text=said).wait_for()


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
        assert card.locator("li").count() >= 3
