"""Figures that a page computes, and curves that a reader draws: mouse, keys, addresses, paper."""

import json
import re

import pytest

from scripts.browsing import PHONE, visit
from tests.browser.small import AT_REST, swipe

CURVE, LINES, DRAWN = (
    f"book/learning/{name}.html" for name in ("uncertainty", "bayes-by-backprop", "deep-ensembles")
)
CHOOSING, COUNTED = "book/cost/choosing.html", "book/counting/fully-connected.html"
NAME = "fig-un-exact"
SENTENCE = re.compile(r"The noise has σ ([\d.]+); what is not known has ([\d.]+) among")
PATHS = """(root) => [...root.querySelectorAll(".ensedu-moving path")]
  .map((one) => one.getAttribute("d"))"""


def figure_of(page, name=NAME):
    return page.locator(f'[data-name="{name}"] .ensedu-computed')


def said(figure):
    return figure.locator("[role=status]").inner_text()


def settled(page):
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")


def test_a_figure_follows_keys_points_links_and_its_address(page, open_page, folder):
    visit(page, folder + CURVE)
    figure = figure_of(page)
    assert figure.locator(".ensedu-axes img").first.is_visible()
    assert not figure.locator(".ensedu-whole img").first.is_visible()
    noise = figure.locator("[type=range]")
    before = SENTENCE.match(said(figure)).groups()
    noise.press("End")
    settled(page)
    noisy, unknown = SENTENCE.match(said(figure)).groups()
    assert before[0] == "0.2" and noisy == "0.5" and float(unknown) > float(before[1])
    assert noise.get_attribute("aria-valuetext") == "0.5"
    # A point follows the mouse, and then the keys; Page Down goes to another.
    grip = figure.locator(".ensedu-grip").last
    grip.scroll_into_view_if_needed()
    box = grip.bounding_box()
    middle = [box[start] + box[size] / 2 for start, size in (("x", "width"), ("y", "height"))]
    page.mouse.move(*middle)
    page.mouse.down()
    page.mouse.move(middle[0] - 40, middle[1] - 30, steps=3)
    page.mouse.up()
    settled(page)
    label = grip.get_attribute("aria-label")
    grip.press("ArrowUp")
    settled(page)
    assert grip.get_attribute("aria-label") != label
    grip.press("PageDown")
    assert page.evaluate("document.activeElement.ariaLabel") != grip.get_attribute("aria-label")
    fragment = page.evaluate("location.hash")
    assert fragment.startswith(f"#{NAME}:points=16&noise=0.5&model=bumps&moved=")
    other = open_page()
    visit(other, folder + CURVE + fragment)
    there = figure_of(other)
    assert said(there) == said(figure)
    # An address keeps two digits of a point.
    paths = [re.findall(r"-?\d+", "".join(one.evaluate(PATHS))) for one in (figure, there)]
    assert len(paths[0]) == len(paths[1])
    # Other points have their own places, and so have the same ones, once they come back.
    for points in (8, 16):
        figure.get_by_role("radio", name=str(points), exact=True).check()
    assert "moved" not in page.evaluate("location.hash")
    # A link sets it; so many points are not moved one by one.
    link = page.locator(f'a.ensedu-set[href="#{NAME}:points=256&noise=0.2&model=bumps"]')
    link.click()
    assert SENTENCE.match(said(figure)).group(1) == "0.2"
    assert figure.locator(".ensedu-grip").count() == 0


def test_every_stroke_of_a_computed_figure_is_wide_enough_to_be_seen(page, folder):
    visit(page, folder + LINES)
    widths = page.evaluate("""() => [...document.querySelectorAll(".ensedu-moving path[d]")]
      .map((one) => [one, getComputedStyle(one)]).filter(([, style]) => style.stroke !== "none")
      .map(([one, style]) => parseFloat(style.strokeWidth) * one.getScreenCTM().a)""")
    assert len(widths) > 3 and min(widths) > 0.4


def test_a_limit_is_dragged_in_the_figure_as_far_as_its_slider_goes(page, folder):
    visit(page, folder + CHOOSING)
    figure = figure_of(page, "fig-choose-budget")
    memory, before = figure.get_by_role("slider", name="memory"), said(figure)
    edge = figure.locator(".ensedu-edge").first
    edge.scroll_into_view_if_needed()
    box = edge.bounding_box()
    knob = box["x"] + box["width"] / 2, box["y"] + box["height"] - box["width"] / 2
    page.mouse.move(*knob)
    page.mouse.down()
    page.mouse.move(knob[0] + 500, knob[1], steps=3)
    page.mouse.up()
    settled(page)
    assert memory.get_attribute("aria-valuetext") == "22 ×" and said(figure) != before
    assert page.evaluate("location.hash") == "#fig-choose-budget:memory=22&training=4&passes=4"
    moved = edge.bounding_box()["x"]
    memory.press("Home")
    settled(page)
    assert edge.bounding_box()["x"] < box["x"] < moved


def test_who_chooses_an_answer_sees_the_right_one_and_why(page, folder):
    visit(page, folder + COUNTED)
    box = page.locator(".ensedu-predict")
    answer, right = box.locator("details"), box.locator("[data-right] span")
    mark = "(words) => getComputedStyle(words, '::before').content"
    assert answer.get_attribute("open") is None and "✓" not in right.evaluate(mark)
    box.get_by_role("radio").first.check(force=True)
    assert answer.get_attribute("open") is not None and "✓" in right.evaluate(mark)


@pytest.mark.parametrize("touch", [False, True], ids=["keys", "finger"])
def test_a_reader_draws_and_then_sees_what_is_true(open_page, server, touch):
    page = open_page(**{"viewport": PHONE, "has_touch": True} if touch else {})
    visit(page, server + DRAWN)
    guess = page.locator(".ensedu-guess")
    show, again = (guess.locator(f".ensedu-{name}") for name in ("show", "again"))
    assert show.is_disabled() and not guess.locator(".ensedu-after").last.is_visible()
    assert not page.locator(".ensedu-predict > details, .ensedu-predict > p").first.is_visible()
    asked = json.loads(guess.locator("script").text_content())
    if touch:
        whole = guess.locator("rect.ensedu-grip").last
        whole.evaluate("(rect) => rect.scrollIntoView({ block: 'center' })")
        page.evaluate(AT_REST)
        box = whole.bounding_box()
        bottom = box["y"] + box["height"]
        swipe(page, (box["x"] + 2, box["y"] + 20), (box["x"] + box["width"] - 2, bottom - 10))
    else:
        handle = guess.locator("[role=slider]")
        for _ in asked["names"][1:]:
            for _ in range(3):
                handle.press("ArrowDown")
            handle.press("ArrowRight")
        assert handle.get_attribute("aria-valuetext").startswith("10 members: ")
    show.click()
    sentence = guess.locator("[role=status]").inner_text()
    assert re.fullmatch(
        r"You are furthest off at 10 members: you drew \d+%, and it is 96%.", sentence
    )
    assert guess.locator(".ensedu-after").last.is_visible()
    page.reload()
    settled(page)
    assert guess.locator("[role=status]").inner_text() == sentence
    again.click()
    assert show.is_disabled() and not guess.locator("[role=status]").inner_text()


@pytest.mark.parametrize("scripts", [True, False], ids=["paper", "no scripts"])
def test_on_paper_and_without_scripts_the_picture_and_the_question_stay(open_page, server, scripts):
    page = open_page("dark" if scripts else "light", java_script_enabled=scripts)
    for address, picture in ((LINES, ".ensedu-whole picture:visible img"), (DRAWN, "")):
        page.emulate_media(media="screen")
        page.goto(server + address)
        if scripts:
            page.locator(".ensedu-on").first.wait_for()
            page.emulate_media(media="print")
        assert not page.locator(".ensedu-axes, .ensedu-guess p").filter(visible=True).count()
        if picture:
            assert page.locator(picture).count() == 1
            assert page.locator(".ensedu-setting").filter(visible=True).count()
        else:
            assert page.locator(".ensedu-predict > p").first.is_visible()
