"""The book in Firefox: the trainer learns, and a click adds a point.

`make test-firefox` runs this; Firefox is not installed by it.
"""

import shutil
from pathlib import Path

import pytest

from scripts.browsing import serve
from tests.firefox.bidi import BROWSERS, firefox
from workshop.page.live import toys

SITE = Path(__file__).parents[2] / "_build" / "html"
LIVE = "live"
THEMES = "Got invalid theme mode"  # what the theme says of a reader's first visit
METER = "() => document.querySelector('.ensedu-t-meter')?.textContent ?? ''"
STEPS = f"() => Number(({METER})().replace(',', '').match(/step (\\d+)/)?.[1])"
# Where the picture that is edited lies, once it is in the middle of the window.
PLACE = """() => {
  const canvas = document.querySelector(".ensedu-t canvas[role=application]");
  canvas.scrollIntoView({ block: "center", behavior: "instant" });
  const { left, top, width, height } = canvas.getBoundingClientRect();
  return { left, top, width, height };
}"""
PRESS = """(words) => {
  const named = (button) => button.textContent.includes(words);
  const found = [...document.querySelectorAll(".ensedu-t button")].find(named);
  if (found) found.click();
  return !!found;
}"""


@pytest.fixture(scope="module")
def tab():
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.fail("there is no Firefox here: install it (Debian: apt-get install firefox-esr)")
    if not (SITE / "index.html").exists():
        pytest.fail("the book is not built: run `make book`")
    with firefox(path) as tab:
        yield tab


@pytest.fixture(scope="module")
def server():
    with serve(SITE) as address:
        yield address + "book/"


@pytest.fixture(autouse=True)
def _no_error(tab):
    tab.errors.clear()
    yield
    assert not [error for error in tab.errors if THEMES not in error]


def points(tab):
    """How many points the picture says that it has."""
    label = "() => document.querySelector('.ensedu-t canvas[role=application]').ariaLabel"
    words = tab.wait(label)
    return int(words.rpartition(", ")[2].split()[0])


@pytest.mark.parametrize("home", ["server", "folder"])
def test_the_trainer_learns_and_a_click_adds_a_point(tab, server, home):
    tab.open((server if home == "server" else SITE.as_uri() + "/book/") + f"{LIVE}.html")
    tab.wait(METER)
    tab.call(PLACE)
    if tab.call("() => document.querySelector('.ensedu-trainer').dataset.playing") != "true":
        assert tab.call(PRESS, "Play")
    before = tab.wait(STEPS)
    tab.wait(f"(before) => ({STEPS})() > before + 20", before)
    assert tab.call(PRESS, "Pause")
    number = points(tab)
    assert number == toys.TOYS["gap"].number
    place = tab.call(PLACE)
    tab.click(place["left"] + place["width"] / 2, place["top"] + 30)
    tab.wait(
        "(number) => document.querySelector('.ensedu-t canvas[role=application]').ariaLabel"
        ".includes(`${number} points`)",
        number + 1,
    )
    tab.wait("() => location.hash.includes('points=')")
    state = tab.call("() => location.hash")
    x, y = map(float, state.rpartition(";")[2].split(","))
    assert abs(x) < 0.5
    assert 2 < y < 3
