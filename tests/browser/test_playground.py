"""The playground: its numbers are those of `ensedu.numpy`; keys and addresses reach all."""

import itertools
import json
import re

import numpy as np
import pytest

from ensedu import counting, methods
from scripts.browsing import PHONE, serve, visit
from scripts.check_site import accessible
from tests.book.page.states import random_arrays, state_of
from tests.browser import small
from workshop.page.playground import layer_scripts, layer_state, layers
from workshop.page.scripts import HERE

PAGE = "book/playground.html"
METHODS = layers.METHODS
BASE = {**layer_state.START, "challenge": None, "edits": {}}
TALL = {"width": 1280, "height": 2400}  # nothing scrolls
SIZES = [*itertools.product(*(range(1, most + 1) for most in layers.MOST.values()))]
# What the tests ask of a page: `t` is its playground, `p` all functions.
HELP = """
  const p = enseduPlayground;
  const root = () => document.querySelector("#root, .ensedu-playground");
  const begin = (state) => {
    window.t?.destroy();
    history.replaceState(null, "", location.pathname);
    root().className = "ensedu-playground";
    window.t = p.mount(root(), { state });
  };
  const all = (selector) => [...root().querySelectorAll(selector)];
  const cell = (key) => root().querySelector(`[data-key="${key}"]`);
  const story = () => root().querySelector(".ensedu-p-story").textContent;
  const stored = () => Object.fromEntries(all(".ensedu-p-cell.stored")
    .map((one) => [one.dataset.key, Number(one.ariaValueNow)]));
  const totals = () => Object.fromEntries(all(".ensedu-p-bars label").map((one) =>
    [one.querySelector("input").value, Number(one.querySelector("output").value)]));
  const verdict = () => {
    const { dataset, textContent } = root().querySelector(".ensedu-p-verdict");
    return [dataset.done === "true", textContent];
  };
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """The address of a folder with an empty page, and with a playground that begins by itself."""
    folder = tmp_path_factory.mktemp("playground")
    sheets = ("live/live.css", "playground/playground.css")
    css = "".join((HERE / name).read_text(encoding="utf-8") for name in sheets)
    begun = (
        '<div class="ensedu-playground" data-name="layer">'
        f'<script type="application/json">{json.dumps(BASE)}</script></div>'
    )
    bodies = {"empty.html": small.EMPTY, "begun.html": small.TALL + begun + small.TALL}
    for file, body in bodies.items():
        small.write(folder / file, "A layer", body, css, layer_scripts.BUNDLE.classic(), HELP)
    with serve(folder) as address:
        yield address


@pytest.fixture(scope="module")
def open_small(browser, home):
    """Open a page of your own; at the end, nothing may have gone wrong."""
    with small.opening(browser, home) as open_one:
        yield open_one


@pytest.fixture(scope="module")
def bench(open_small):
    """One page for all tests that begin anew on it."""
    return open_small(viewport=TALL)


def begin(page, **part):
    page.evaluate("state => { begin(state) }", BASE | part)
    return page


def state(page):
    return page.evaluate("t.state")


def at(page, key):
    return page.locator(f'[data-key="{key}"]')


def press(page, words):
    page.get_by_role("button", name=re.compile(f"^{words}")).click()


def types(page, key, text):
    at(page, key).focus()
    page.keyboard.type(str(text))
    page.keyboard.press("Enter")


def flat(arrays):
    return {
        f"{name}:{','.join(map(str, place))}": value
        for name, array in arrays.items()
        for place, value in np.ndenumerate(array)
    }


# The numbers.


def check_numbers(page):
    """Compare what a page holds with the twin in Python, which is a layer of `ensedu.numpy`."""
    now, found = state(page), page.evaluate("t.numbers")
    assert page.evaluate("stored()") == flat(layers.arrays(now))
    m, n, M = (now[name] for name in layers.MOST)
    assert page.evaluate("totals()") == {
        one: counting.layer(m, n, one, **methods.size_option(one, M)).total for one in METHODS
    }
    y = layers.outputs(now)
    wanted = {"y": y, "mean": y.mean(axis=0), "spread": y.std(axis=0)}
    if any(key.startswith("W:") for key in found):
        noise = [] if (drawn := layers.noise(now)) is None else [drawn]
        wanted["W"] = layers.layer(now).weight_matrices(*noise)
    for key, value in flat(wanted).items():
        if key in found:
            assert found[key] == pytest.approx(value, rel=1e-10, abs=1e-10), (now, key)
    assert {key for key in found if key[0] in "yms"} >= set(flat({"y": y}))


@pytest.mark.parametrize("method", METHODS)
def test_numbers_are_those_of_the_layers_whatever_is_edited(bench, method):
    rng = np.random.default_rng(METHODS.index(method))
    for size in (SIZES[-1], SIZES[int(rng.integers(len(SIZES)))]):
        seeds = {name: int(rng.integers(1000)) for name in ("numbers", "draw")}
        begin(bench, method=method, **dict(zip(layers.MOST, size, strict=True)), **seeds)
        check_numbers(bench)
        keys = rng.choice([*bench.evaluate("stored()")], 45).tolist()
        ends = [layers.LIMITS["scales" if "_std" in key else "values"] for key in keys]
        pairs = [(key, float(rng.uniform(*own))) for key, own in zip(keys, ends, strict=True)]
        bench.evaluate("pairs => { for (const pair of pairs) t.edit(...pair) }", pairs)
        assert dict(pairs).items() <= bench.evaluate("stored()").items()
        check_numbers(bench)


# By hand.


def test_numbers_are_changed_with_the_keyboard_and_undone(bench):
    page = begin(bench, method="rank1", in_features=2, out_features=2, ensemble_size=2)

    def keys(key, *names):
        at(page, key).focus()
        for name in names:
            page.keyboard.press(name)
        return page.evaluate("stored()")[key]

    mean, std = "s_mean:0,1", "s_std:0,1"
    page.evaluate("pairs => pairs.forEach((pair) => t.edit(...pair))", [[mean, 0.5], [std, 0.1]])
    assert keys(mean, "ArrowUp") == 1
    assert keys(mean, "Shift+ArrowDown") == 0.9
    assert keys(mean, *"-1,25", "Enter") == -1.25
    assert keys(mean, *"7", "Escape") == -1.25
    assert keys(mean, *"45", "Backspace", "Tab") == 4  # leaving is as good as Enter
    for text in ("12", "-9.01", "1.2.3"):
        assert keys(mean, *text, "Enter") == 4
        said = "The mean of s1[2] stays 4: a number from −9 to 9 is accepted, not “{}”."
        assert page.evaluate("story()") == said.format(text.replace("-", "−"))
    assert keys(mean, *"9", "Enter", "ArrowUp") == 9
    assert keys(std, *"0", "Enter") == 0.1
    assert keys(std, "ArrowDown", "ArrowDown") == 0.01
    assert keys(std, "Control+z") == 0.1  # a gesture as a whole
    keys(std, "Control+z")
    assert page.evaluate("stored()")[mean] == 4
    at(page, "W:0,0,0").focus()
    moves = (("Right", "0,1"), ("Down", "1,1"), ("Left", "1,0"), ("Down", "1,0"), ("Up", "0,0"))
    for key, place in (*moves, ("Left", "0,0")):
        page.keyboard.press(f"Arrow{key}")
        assert page.evaluate("document.activeElement.dataset.key") == f"W:0,{place}"


# Addresses.


def some_state(rng):
    sizes = [int(rng.integers(most)) + 1 for most in layers.MOST.values()]
    seeds = {name: int(rng.integers(1_000_000)) for name in ("numbers", "draw")}
    one = state_of(METHODS[rng.integers(len(METHODS))], *sizes, **seeds)
    return layer_state.set_arrays(one, random_arrays(one, rng))


def test_an_address_carries_the_whole_state(bench):
    rng = np.random.default_rng(3)
    states = [some_state(rng) for _ in range(100)]
    states += bench.evaluate("keys => keys.map((key) => p.startOf(key))", layer_state.CHALLENGES)
    pairs = [[one, base] for one, base in zip(states, states[1:] + states[:1], strict=True)]
    script = "pairs => pairs.map(([state, base]) => p.decode(p.encode(state), base))"
    assert bench.evaluate(script, pairs) == [{"state": state} for state in states]


BAD = {
    "": "nothing stands in it", "__proto__=1": "“__proto__” is unknown",
    "method=toString": "method cannot be toString", "in_features=5": "in_features cannot be 5",
    "ensemble_size=2.5": "ensemble_size cannot be 2.5", "draw=Infinity": "draw cannot be Infinity",
    "challenge=nope": "challenge cannot be nope", "edits=y:0,0:1": "no layer stores “y:0,0”",
    "challenge=ways&in_features=3": "the challenge ways has another in_features, 2",
    "edits=x:0:9.5": "x:0: a number from −9 to 9 is accepted, not “9.5”",
    "edits=r_std:0,0:0": "r_std:0,0: a standard deviation from 0.01 to 9 is accepted, not “0”",
}  # fmt: skip


def test_a_page_opens_its_address_refuses_bad_ones_and_keeps_its_own(open_small):
    page = open_small("begun.html#layer:ensemble_size=9")
    said = "This link cannot be followed: {}. The layer {}."
    first = page.evaluate("story()")
    assert first == said.format("ensemble_size cannot be 9", "is as at first")
    for link, words in BAD.items():
        page.evaluate("link => { location.hash = `layer:${link}` }", link)
        page.wait_for_function(
            "words => story() === words", arg=said.format(words, "stays as it is")
        )
        page.evaluate("() => { location.hash = 'other:method=single' }")  # of another figure
    given = some_state(np.random.default_rng(1))
    page.evaluate("state => { location.hash = `layer:${p.encode(state)}` }", given)
    in_sight = "Math.abs(root().getBoundingClientRect().top) < 40"
    page.wait_for_function(in_sight)
    assert page.evaluate("stored()") == flat(layers.arrays(given))
    types(page, "x:0", 7.5)
    page.wait_for_function("location.hash.includes('x:0:7.5')")
    page.goto(page.url.replace("#", "?anew#"))
    page.wait_for_function(in_sight)
    given["edits"] |= {"x:0": 7.5}
    assert page.evaluate("stored()") == flat(layers.arrays(given))


# Challenges: what is typed, whether it is met, and how the verdict begins.

# "=key" is what that cell has at the start, "*2" twice what it has itself; "" is Reset.
CHALLENGES = {
    "equal": [
        ("bias:1,3 7", "Not yet: W1 and W2 differ in 4 of 12 entries, b1"),
        ("bias:0,3 7, r:1,1 =r:0,1", "They are the same, but 3 numbers"),
        ("", "Not yet"), ("r:1,1 =r:0,1", "Done. One number of r"),
    ],
    "ways": [
        ("r:0,0 *2, r:0,1 *2", "Not yet: W1 changed in 4 of 4 entries. Bring"),
        ("s:0,0 *.5, s:0,1 *.5", "Done. What r gains"), ("weight:0,0 *2", "Leave W as it is"),
    ],
    "reach": [
        ("weight:0,0,0 5", "Leave W1 as it is"),
        ("", "Not yet: r = (1, 2) and s = (1, −1, 0.5) make it."),
        ("weight:1,1,1 5", "Done. W2 / W1 has the rows (1, −1, 0.5) and"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("key", CHALLENGES)
def test_a_challenge_says_how_far_it_is_and_gives_the_readers_layer_back(bench, key):
    mine = BASE | {"method": "rank1", "in_features": 2, "edits": {"x:0": 3}}
    page = begin(bench, **mine)
    press(page, "Challenges")
    while state(page)["challenge"] != key:
        press(page, "Next challenge")
    start = page.evaluate("stored()")
    for edits, words in CHALLENGES[key]:
        if not edits:
            press(page, "Reset")
        for place, value in map(str.split, filter(None, edits.split(", "))):
            twice = start[place] * float(value[1:]) if value[0] == "*" else value
            types(page, place, start[value[1:]] if value[0] == "=" else twice)
        met, said = page.evaluate("verdict()")
        assert met == words.startswith("Done") and said.startswith(words)
    press(page, "Leave the challenge")
    assert state(page) == mine


# The page of the book.


def test_a_phone_keeps_in_sight_what_changes_a_number_and_what_comes_out(open_page, server):
    page = open_page(viewport=PHONE, has_touch=True)
    visit(page, server + PAGE)
    last = at(page, "y:3,3")
    last.evaluate("one => one.scrollIntoView({ block: 'end' })")
    page.wait_for_timeout(200)
    last.tap()
    page.locator(".ensedu-p-story", has_text="y4[4] = ").wait_for()
    own, bar = last.bounding_box(), page.locator(".bd-header-article").bounding_box()
    for part in (".ensedu-p-stepper", ".ensedu-p-outputs", ".ensedu-p-story"):
        box = page.locator(part).bounding_box()
        assert bar["height"] - 1 <= box["y"] and box["y"] + box["height"] <= own["y"]
    page.get_by_label("Method", exact=True).select_option("mean_field")
    page.wait_for_timeout(100)
    assert page.evaluate("document.scrollingElement.scrollWidth") <= PHONE["width"]
    assert list(accessible(page, (PHONE,))) == []
