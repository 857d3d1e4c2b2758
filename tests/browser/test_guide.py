"""A guide in a browser: the answers of Python, by mouse and keys, on a phone, paper and by link."""

import json

import pytest

from ensedu.book.page.guide import BUNDLE
from scripts.browsing import DESK, PHONE, SMALL
from tests.book.page.test_guide import answers
from tests.book.page.verdicts import QUESTIONS, RULES, advice
from tests.browser import verdict

DATA = advice().data()
STEADY = {"trained": "yes", "latency": "yes"}
OUTLINE = """() => {
  const shown = document.activeElement;
  return getComputedStyle(shown.matches("input") ? shown.nextElementSibling : shown).outlineStyle;
}"""


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
    """The page shows the rule that Python's evaluator finds, its reasons, and these answers."""
    rule = advice().rule(**chosen)
    place = next(i for i, each in enumerate(RULES) if each is rule)
    said = page.locator(".ensedu-guide [role=status]").text_content()
    assert said == f"{rule.label}: rule {place + 1} of {len(RULES)} decides."
    shown = page.locator(".ensedu-advice")
    assert shown.locator(".ensedu-method").text_content() == rule.label
    links = [link.get_attribute("href") for link in shown.locator("a").all()]
    assert links == [href for _, href in rule.because]
    own = shown.get_attribute("data-method")
    assert own == (None if rule.label.startswith("Scale") else rule.method)
    assert page.locator("[aria-current]").count() == 1
    assert page.locator(f"ol > li:nth-child({place + 1})[aria-current=true]").count() == 1
    now = DATA["start"] | chosen
    checked = page.locator("input:checked").evaluate_all("(all) => all.map((one) => one.value)")
    assert checked == list(now.values())


def test_all_answers_lead_where_python_says(opened):
    every = list(answers())
    found = opened().evaluate(
        "([rules, all]) => all.map((each) => ensedu_guide.decides(rules, each))",
        [json.loads(json.dumps(DATA["rules"])), every],
    )
    assert len(every) == len(found) == 2 * 3 * 3 * 2 * 3 * 2
    assert found == [
        next(i for i, rule in enumerate(RULES) if rule is advice().rule(**each)) for each in every
    ]
    assert set(found) == set(range(len(RULES)))


def test_answered_with_a_mouse(opened):
    page = opened()
    check(page)
    chosen = {}
    for key, value in (
        ("memory", "many"), ("outliers", "some"), ("time", "long"), ("data", "more"),
        ("trained", "yes"), ("latency", "yes"), ("trained", "no"),
    ):  # fmt: skip
        page.locator(f"[data-key={key}] label:has([value={value}])").click()
        chosen[key] = value
        check(page, **chosen)
    setting = "&".join(f"{key}={value}" for key, value in (DATA["start"] | chosen).items())
    assert page.url.endswith(f"#guide:{setting}")


def test_with_the_keyboard_alone(opened):
    page = opened()
    page.locator("article a").first.focus()
    chosen = {}
    for question in QUESTIONS:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.name") == f"guide-{question.key}"
        assert page.evaluate(OUTLINE) == "solid"
        page.keyboard.press("ArrowDown")
        chosen[question.key] = list(question.options)[1]
        check(page, **chosen)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "gives draws at once"
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"
    page.keyboard.press("Enter")
    assert page.locator("ol > li:visible").count() == len(RULES)


def test_an_address_answers(opened):
    page = opened(at="#guide:trained=yes&latency=yes")
    check(page, **STEADY)
    page.evaluate("location.hash = '#guide:memory=many&trained=no'")
    page.wait_for_function("document.querySelector('[role=status]').textContent.includes('Rank')")
    check(page, memory="many", trained="no", latency="yes")
    page.evaluate("location.hash = '#guide:memory=none&fun=yes'")
    check(page, memory="many", trained="no", latency="yes")
    check(opened(at="#fig-other:memory=many"))


@pytest.mark.parametrize("viewport", [PHONE, SMALL], ids=["360", "320"])
def test_a_phone_shows_the_answer_while_one_answers(opened, viewport):
    page = opened(viewport=viewport)
    assert not page.evaluate(verdict.SIDEWAYS)
    status = page.locator("[role=status]")
    first = page.locator("label:has([value=yes])").first
    first.click()
    assert page.evaluate("scrollY") == 0
    box = status.bounding_box()
    assert 0 < box["y"] <= viewport["height"] - box["height"] + 1
    assert "Scale its temperature" in status.text_content()
    for label in page.locator(".ensedu-toggle label").all():
        assert label.bounding_box()["height"] >= 44


def test_without_scripts_all_rules_are_read(opened):
    for viewport in (DESK, PHONE):
        page = opened(viewport=viewport, java_script_enabled=False)
        assert page.locator("ol > li:visible").count() == len(RULES)
        assert page.locator(".ensedu-advice .ensedu-method").text_content() == "BatchEnsemble"
        assert page.locator(".ensedu-setting").is_visible()
        assert page.locator("input:visible, fieldset:visible").count() == 0


def test_on_paper_the_rules_are_unfolded_and_the_answers_said(opened):
    page = opened()
    page.locator("[data-key=memory] label:has([value=many])").click()
    rules = page.locator("ol > li:visible")
    assert rules.count() == 0
    page.emulate_media(media="print")
    page.wait_for_function("document.querySelector('.ensedu-guide details').open")
    assert rules.count() == len(RULES)
    assert page.locator("fieldset:visible").count() == 0
    words = page.locator(".ensedu-setting").inner_text()
    assert "What fits into memory? four or more." in words
    page.emulate_media(media="screen")
    page.wait_for_function("!document.querySelector('.ensedu-guide details').open")
    assert not page.locator(".ensedu-setting").is_visible()


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_axe_finds_nothing(opened, mode, viewport):
    page = opened(mode, viewport)
    page.locator("summary").click()
    assert verdict.axe(page, ".ensedu-guide") == []
    page.locator("label:has([value=yes])").first.click()
    assert verdict.axe(page, ".ensedu-guide") == []
    groups = page.get_by_role("group", name="What fits into memory?")
    assert groups.get_by_role("radio").count() == 3
