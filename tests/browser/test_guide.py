"""A guide in a browser: Python's rankings, by mouse and keys, on a phone, paper and by link."""

from collections import Counter
from itertools import pairwise

import pytest

from ensedu.book.page.guide import BUNDLE
from scripts.browsing import DESK, PHONE, SMALL
from tests.book.page.test_guide import answers
from tests.book.page.verdicts import advice
from tests.browser import verdict

DATA = advice().data()
OUTLINE = """() => {
  const shown = document.activeElement;
  return getComputedStyle(shown.matches("input") ? shown.nextElementSibling : shown).outlineStyle;
}"""
MANY = "label:has([value=many])"
CHANGED = {"Answer": "", "Still": "Still the answer.", "Now": "New answer."}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("guide") / "page.html"
    verdict.write(path, advice(), BUNDLE)
    return path


@pytest.fixture
def opened(browser, path):
    with verdict.opening(browser, path) as open_one:
        yield open_one


def check(page, **chosen):
    """The page shows Python's ranking for these answers, and its evidence."""
    ranking = advice().ranking(**chosen)
    said = page.locator(".ensedu-guide [role=status]").text_content()
    fit = [row.state for row in ranking.rows].count("fits")
    others = f"{fit or 'No'} {'other fits' if fit == 1 else 'others fit'}." if ranking.rows else ""
    word, _, rest = said.partition(": ")
    assert word in CHANGED
    assert rest == f"{ranking.first.label}. {others}".strip()
    note = page.locator(".ensedu-advice .ensedu-now").text_content()
    names = [row.label for row in ranking.rows if row.state == "fits"]
    if len(names) > 4:
        names[3:] = [f"{len(names) - 3} more"]
    also = f"Also {'fits' if fit == 1 else 'fit'}: {' · '.join(names)}" if names else others
    assert note == also
    assert "".join(page.locator(".ensedu-changed").all_text_contents()) == CHANGED[word]
    (item,) = page.locator(".ensedu-advice > li").all()
    assert item.locator(".ensedu-method").text_content() == ranking.first.label
    links = [link.get_attribute("href") for link in item.locator("li a").all()]
    assert links == [href for _, href in ranking.first.because]
    # Names lead to what explains them, in the list as here.
    fit = [row for row in ranking.rows if row.state == "fits"]
    leading = [row.href for row in (fit if len(fit) <= 4 else fit[:3]) if row.href]
    links = [link.get_attribute("href") for link in item.locator(".ensedu-now a").all()]
    assert links == leading
    listed = page.locator("tbody tr:not(.ensedu-rowgroup) th a").evaluate_all(
        "(all) => all.map((one) => one.getAttribute('href'))"
    )
    assert listed == [row.href for row in ranking.rows if row.href]
    assert item.get_attribute("data-method") == ranking.first.method
    tables = page.locator(".ensedu-candidates table").all()
    for table, states in zip(tables, (("recommended", "fits"), (), ("out",)), strict=True):
        rows = table.locator("tbody tr:not(.ensedu-rowgroup)")
        shown = rows.evaluate_all("""(all) => all.map(({ cells: [name], className }) =>
          [name.querySelector("span").textContent, className])""")
        listed = [row for row in ranking.rows if row.state in states]
        assert shown == [[row.label, f"ensedu-{row.state}"] for row in listed]
        assert table.locator(".ensedu-rowgroup").all_text_contents() == [
            *dict.fromkeys(row.said for row in listed if row.state != "recommended")
        ]
    ruled = page.locator(".ensedu-ruled > summary")
    why = Counter(row.said for row in listed)
    assert ruled.text_content() == (
        f"{len(listed)} ruled out: {', '.join(f'{said} ({k})' for said, k in why.items())}"
    )
    assert ruled.is_visible() == bool(listed)
    assert not page.locator(".ensedu-rest").is_visible()
    assert page.locator(".ensedu-candidates").is_visible() == bool(ranking.rows)
    checked = page.locator("input:checked").evaluate_all("(all) => all.map((one) => one.value)")
    assert checked == list((DATA["start"] | chosen).values())


def test_all_answers_lead_where_python_says(opened):
    every = list(answers())
    found = opened().evaluate(
        "([takes, all]) => all.map((each) => ensedu_guide.placeOf(takes, each))",
        [DATA["takes"], every],
    )
    assert found == list(range(len(advice().rankings))) and len(every) == len(found)


def test_answered_with_a_mouse(opened):
    page = opened()
    check(page)
    page.locator(".ensedu-more summary").click()
    chosen = {}
    for key, value in (("memory", "many"), ("rows", "7"), ("trained", "yes"), ("rows", "3")):
        page.locator(f"[data-key={key}] label:has([value='{value}'])").click()
        chosen[key] = value
        check(page, **chosen)
    setting = "&".join(f"{key}={value}" for key, value in (DATA["start"] | chosen).items())
    assert page.url.endswith(f"#guide:{setting}")


def test_an_answer_that_changes_nothing_is_answered_too(opened):
    page = opened()
    words, badges = [], []
    for key, value in (
        ("trained", "yes"),
        ("memory", "many"),
        ("trained", "no"),
        ("memory", "two"),
    ):
        page.locator(f"[data-key={key}] label:has([value={value}])").first.click()
        words.append(page.locator("[role=status]").text_content().partition(":")[0])
        badges += page.locator("strong.ensedu-changed").all_text_contents()
    assert words == ["Still", "Still", "Now", "Now"]
    assert badges == [CHANGED["Now"]] * 2
    assert page.locator(".ensedu-advice > .ensedu-fresh").count() == 1


def test_with_the_keyboard_alone(opened):
    page = opened()
    page.locator("article a").first.focus()
    for key in ("trained", "memory"):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.name") == f"guide-{key}"
        assert page.evaluate(OUTLINE) == "solid"
        page.keyboard.press("ArrowDown")
    chosen = {"trained": "yes", "memory": "two"}
    check(page, **chosen)
    for words in ("BatchEnsemble", "most", "More questions"):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == words
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.name") == "guide-rows"
    page.keyboard.press("ArrowDown")
    check(page, **chosen, rows="3")
    for words in ("intervals", "BatchEnsemble", "1 ruled out: needs room (1)"):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == words
    page.keyboard.press("Enter")
    assert page.locator(".ensedu-ruled tr.ensedu-out").is_visible()


def test_an_address_answers(opened):
    page = opened(at="#guide:memory=two&trained=yes")
    check(page, memory="two", trained="yes")
    assert not page.locator(".ensedu-more").get_attribute("open")
    page.evaluate("location.hash = '#guide:rows=11&trained=no&memory=many'")
    page.wait_for_function("document.querySelector('[data-key=rows] input:checked').value === '11'")
    check(page, memory="many", rows="11")
    assert page.locator("[data-key=rows]").is_visible()
    page.evaluate("location.hash = '#guide:memory=none&fun=yes'")
    check(page, memory="many", rows="11")
    check(opened(at="#fig-other:memory=many"))


@pytest.mark.parametrize("viewport", [PHONE, SMALL], ids=["360", "320"])
def test_a_phone_shows_the_answer_while_one_answers(opened, viewport):
    page = opened(viewport=viewport)
    assert not page.evaluate(verdict.SIDEWAYS)
    status = page.locator("[role=status]")
    page.locator(MANY).first.click()
    assert page.evaluate("scrollY") == 0
    box = status.bounding_box()
    assert 0 < box["y"] <= viewport["height"] - box["height"] + 1
    assert "Deep ensemble" in status.text_content()
    # Where the card is out of sight, a touch of it leads there.
    page.locator(".ensedu-more summary").click()
    page.set_viewport_size(viewport | {"height": 250})
    page.evaluate("scrollTo(0, 0)")
    page.get_by_role("button", name="Go to the answer").click()
    page.wait_for_function("document.querySelector('.ensedu-guide').matches('[data-seen]')")
    assert 0 <= page.locator(".ensedu-advice").bounding_box()["y"] < 200
    assert not page.get_by_role("button", name="Go to the answer").is_visible()
    page.set_viewport_size(viewport)
    for summary in page.locator("summary:visible").all()[1:]:
        summary.click()
    assert not page.evaluate(verdict.SIDEWAYS)
    for label in page.locator(".ensedu-toggle label").all():
        assert label.bounding_box()["height"] >= 44


def test_without_scripts_the_first_ranking_is_read_and_what_it_is_for(opened):
    for viewport in (DESK, PHONE):
        page = opened(viewport=viewport, java_script_enabled=False)
        assert page.locator(".ensedu-advice .ensedu-method").text_content() == (
            "Scale its temperature"
        )
        assert "What fits into memory? one network." in (
            page.locator(".ensedu-setting").inner_text()
        )
        assert page.locator("tr.ensedu-recommended").is_visible()
        assert page.locator("input:visible, fieldset:visible, .ensedu-more:visible").count() == 0
        page.locator(".ensedu-ruled > summary").click()
        assert page.locator("tr.ensedu-out:visible").count() == 2


def test_on_paper_the_list_stands_and_the_answers_are_said(opened):
    page = opened()
    page.locator(MANY).click()
    page.emulate_media(media="print")
    assert page.locator("tbody tr:not(.ensedu-rowgroup):visible").count() == 3
    assert page.locator("fieldset:visible, .ensedu-more:visible").count() == 0
    words = page.locator(".ensedu-setting").inner_text()
    assert "What fits into memory? four or more." in words
    page.emulate_media(media="screen")
    assert not page.locator(".ensedu-setting").is_visible()


def test_a_bar_stands_below_its_name_on_a_phone_and_beside_it_on_a_desk(opened):
    below_name = """row => {
      const [name, difference] = [...row.cells].map((cell) => cell.getBoundingClientRect());
      return difference.top >= name.bottom - 1;
    }"""
    for viewport, below in ((DESK, False), (PHONE, True)):
        page = opened(viewport=viewport)
        row = page.locator("tr.ensedu-recommended")
        assert row.evaluate(below_name) == below
        # As wide as it can be: its marks are to be read.
        room = page.locator(".ensedu-candidates").bounding_box()["width"]
        bar = row.locator(".ensedu-bar").first.bounding_box()["width"]
        assert bar > (0.92 if below else 0.4) * room


def test_on_a_phone_the_axis_stays_in_sight_with_its_bars(opened):
    page = opened(viewport=PHONE | {"height": 300})
    page.locator(MANY).click()
    # What fades below it leaves the first row as it is, until this moves under it.
    fade = page.evaluate("""() => {
      const head = document.querySelector(".ensedu-candidates thead tr");
      const { height } = getComputedStyle(head, "::after");
      return head.getBoundingClientRect().bottom + parseFloat(height);
    }""")
    name = page.locator("tr.ensedu-recommended th > span").first
    assert fade - 1 <= name.bounding_box()["y"]
    row = page.locator(".ensedu-candidates table").first.locator("tbody tr").last
    row.evaluate("(one) => scrollBy(0, one.getBoundingClientRect().top - 150)")
    head = page.locator(".ensedu-candidates thead").first.bounding_box()
    assert 0 <= head["y"] <= 60 and head["y"] + head["height"] < row.bounding_box()["y"]


def test_what_has_changed_stands_right_of_the_title_and_moves_nothing(opened):
    for viewport in (DESK, PHONE):
        page = opened(viewport=viewport)
        page.locator(MANY).click()
        badge, title = (
            page.locator(f".ensedu-advice {name}").bounding_box()
            for name in (".ensedu-changed", ".ensedu-method")
        )
        assert badge["y"] + badge["height"] < title["y"] + title["height"] / 2
        card = page.locator(".ensedu-advice > li").bounding_box()
        assert card["x"] + card["width"] - badge["x"] - badge["width"] == pytest.approx(13, abs=2)


def test_a_question_that_is_pressed_stays_below_the_finger(opened):
    page = opened(viewport=PHONE | {"height": 400})
    card = page.locator(".ensedu-advice")
    page.locator(".ensedu-more summary").scroll_into_view_if_needed()
    before = card.bounding_box()["y"]
    page.locator(".ensedu-more summary").click()
    assert card.bounding_box()["y"] == before
    # A card that grows with the first answer.
    page.add_style_tag(content=".ensedu-advice li:has(.ensedu-changed) { min-height: 300px; }")
    high = card.bounding_box()["height"]
    for label in page.locator(".ensedu-more label").all()[1:]:
        label.scroll_into_view_if_needed()
        before = label.bounding_box()["y"]
        label.click()
        assert label.bounding_box()["y"] == pytest.approx(before, abs=1)
    assert card.bounding_box()["height"] > high + 50


def test_what_has_changed_is_said_for_a_while(opened):
    for reduced, gone in (("no-preference", True), ("reduce", False)):
        page = opened()
        page.emulate_media(reduced_motion=reduced)
        page.locator(MANY).click()
        badge = page.locator(".ensedu-changed")
        assert badge.is_visible()
        page.evaluate("document.getAnimations().forEach((one) => one.finish())")
        assert badge.is_visible() != gone


def test_questions_that_are_not_folded_stand_in_one_row(opened):
    page = opened()
    asked = page.locator("div.ensedu-live-only > .ensedu-choices > fieldset").all()
    boxes = [question.bounding_box() for question in asked]
    assert len({box["y"] for box in boxes}) == 1
    for one, other in pairwise(boxes):
        assert one["x"] + one["width"] < other["x"]
    wide = page.evaluate("""() => [...document.querySelectorAll("fieldset")]
      .some((one) => one.scrollWidth > one.clientWidth)""")
    assert not wide and not page.evaluate(verdict.SIDEWAYS)
    assert not page.get_by_role("button", name="Go to the answer").is_visible()
    # Columns are equally wide where all buttons have room.
    page.add_style_tag(content="fieldset span { font-size: 0.7rem }")
    assert len({round(question.bounding_box()["width"]) for question in asked}) == 1


def test_on_a_phone_the_answer_is_said_only_where_the_card_is_out_of_sight(opened):
    page = opened(viewport=SMALL | {"height": 300})
    card = page.locator(".ensedu-advice")
    for opacity, top in (("1", 280), ("0", 200), ("0", 0)):
        card.evaluate("(one, top) => scrollBy(0, one.getBoundingClientRect().top - top)", top)
        page.wait_for_function(
            "(one) => getComputedStyle(document.querySelector('.ensedu-answer')).opacity === one",
            arg=opacity,
        )


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_axe_finds_nothing(opened, mode, viewport):
    page = opened(mode, viewport)
    assert verdict.axe(page, ".ensedu-guide") == []
    for summary in page.locator("summary:visible").all():
        summary.click()
    assert page.locator("tr.ensedu-out:visible").count() == 2
    assert verdict.axe(page, ".ensedu-guide") == []
    groups = page.get_by_role("group", name="What fits into memory?")
    assert groups.get_by_role("radio").count() == 3
