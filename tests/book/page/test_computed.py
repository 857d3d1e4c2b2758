"""What a page computes is what Python computes; digits that a reader draws are seen and scored."""

import itertools
import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.book.looking import drawn, figures, too_much, words
from workshop import measured
from workshop.drawn_digits import packed, probabilities, seen, unpacked
from workshop.experiments.digit_networks import TRIES
from workshop.figures.guesses import CHOICES, GUESSES
from workshop.page.computed import BUNDLE, WORDS, plain
from workshop.page.digit import EXAMPLES, START, DrawDigit
from workshop.plot.moving import PREFIX, bare, moving_parts

BOOK = Path(__file__).parents[3] / "book"
NODE = shutil.which("node")
PAGES = {
    "fig-un-exact": "book/learning/uncertainty",
    "fig-bbb-ellipses": "book/learning/bayes-by-backprop",
    "fig-gf-first": "book/theory/gradient-flow",
    "fig-choose-budget": "book/cost/choosing",
    "fig-de-gain": "book/counting/deep-ensemble",
    "fig-be-saves": "book/counting/batch-ensemble",
}
SETTINGS = 10
# What a page has, as far as its script asks for it before it begins.
NO_PAGE = """
globalThis.matchMedia = () => ({ matches: false });
globalThis.document = { readyState: "loading", addEventListener() {} };
"""
COMPUTE = """(formula, data, words, states) => states.map((state) => {
  const numbers = FORMULAS[formula](data, state);
  return { numbers, said: fill(words[numbers.said ?? 0], { ...state, ...numbers }) };
})"""


@pytest.fixture
def call(request):
    """What calls a function of the script of a page: in Node, or in a browser without it."""

    def call(function, *given):
        values = ", ".join(json.dumps(plain(value)) for value in given)
        named = "const { FORMULAS, fill, compared } = enseduComputed;"
        run = f"(() => {{ {named} return ({function})({values}); }})()"
        if not NODE:
            page = request.getfixturevalue("blank")
            page.add_script_tag(content=BUNDLE.classic())
            return page.evaluate(run)
        script = f"{NO_PAGE}{BUNDLE.classic()}console.log(JSON.stringify({run}));"
        ran = subprocess.run([NODE], input=script, capture_output=True, text=True, check=True)
        return json.loads(ran.stdout)

    return call


@pytest.mark.parametrize("name", PAGES)
def test_a_page_computes_what_python_does(name, call):
    made = figures(PAGES[name])[name].draw.__self__
    rng = np.random.default_rng(0)
    states = [
        {key: options[rng.integers(len(options))] for key, options in made.choices.items()}
        for _ in range(SETTINGS)
    ]
    found = call(COMPUTE, made.formula, made.data, made.words, states)
    for state, one in zip(states, found, strict=True):
        wanted = made.numbers(**state)
        assert one["numbers"].keys() == wanted.keys()
        for key, values in wanted.items():
            there = np.array(one["numbers"][key], float)  # JSON has null for what is none
            np.testing.assert_allclose(there, values, rtol=1e-7, atol=1e-9, err_msg=key)
        assert one["said"] == made.say(**state)


@pytest.mark.parametrize("name", PAGES)
def test_what_moves_is_drawn_as_its_numbers_and_is_not_in_the_picture_of_the_axes(name):
    shown = figures(PAGES[name])[name]
    numbers = shown.draw.__self__.numbers(**shown.start)
    figure = drawn(lambda: shown.draw(**shown.start))
    moving = [
        artist for artist in figure.findobj() if str(artist.get_gid() or "").startswith(PREFIX)
    ]
    for artist in moving:
        x, *others = artist.get_gid().removeprefix(PREFIX).split()
        if hasattr(artist, "get_xydata"):
            for values, key in zip(artist.get_xydata().T, (x, *others), strict=True):
                np.testing.assert_array_equal(values, numbers[key])
    marks = [
        mark
        for panel in moving_parts(lambda: shown.draw(**shown.start))["panels"]
        for mark in panel["marks"]
    ]
    gids = sorted(PREFIX + " ".join(mark["of"]) for mark in marks)
    assert gids == sorted(artist.get_gid() for artist in moving)
    named = sum("name" in mark for mark in marks)
    before, after = words(figure), words(drawn(lambda: bare(shown.draw(**shown.start))))
    assert len(before) - len(after) == named
    assert not any(artist.get_visible() for artist in moving if artist in bare(figure).findobj())


def test_each_chapter_asks_what_its_curve_or_its_answers_are_for():
    asking = {}
    for path in BOOK.rglob("*.ipynb"):
        for cell in json.loads(path.read_text())["cells"]:
            page, text = path.relative_to(BOOK.parent).with_suffix(""), "".join(cell["source"])
            if ":class: opening" in text:
                (asking[page.as_posix()],) = re.findall(r"^\*\*Predict\.\*\* (.+)$", text, re.M)
    assert not GUESSES.keys() & CHOICES and asking.keys() == GUESSES.keys() | CHOICES.keys()
    asked = {page: guess.asked for page, guess in GUESSES.items()}
    for page, (question, options, right) in CHOICES.items():
        asked[page] = question
        assert len({*options}) == len(options) > 1 and right in range(len(options))
    for page, text in asking.items():
        sentences = re.split(r"(?<=[.?]) ", text)
        questions = itertools.dropwhile(lambda sentence: sentence[-1] != "?", sentences)
        assert " ".join(questions) == asked[page]


def test_what_is_true_of_a_guess_is_what_its_chapter_draws():
    def of(page, name):
        return figures(page)[name].draw.__self__

    members, spread, speed = GUESSES.values()
    deep, trained, cost = GUESSES
    rmse = of(deep, "fig-dt-members").scores["concrete"]["RMSE"].mean
    np.testing.assert_allclose(members.truth(), 100 * rmse / rmse[0], rtol=1e-3)
    for part, truth in {"spread": spread.truth(), "error": spread.beside()}.items():
        drawn_there = of(trained, "fig-un-trained").found[0.2]["gap"][part][1]
        np.testing.assert_allclose(truth, drawn_there)
    assert f"lie {spread.truth()[0]:.2f} apart" in spread.question
    times = of(cost, "fig-sp-speed-up")
    assert [*speed.x] == times.batches
    np.testing.assert_allclose(speed.truth(), times.of(1024, "batch_ensemble"))
    assert f"is {speed.truth()[0]:.1f} times as fast" in speed.question


def test_a_sentence_says_where_a_line_is_furthest_off(call):
    asked = {"names": ["1 member", "2", "10 members"], "words": WORDS, "near": 5, "digits": 0}
    truth = [100, 98, 96.3]
    for drawn_line, said in (
        ([100, 71, 32], "You are furthest off at 10 members: you drew 32%, and it is 96%."),
        ([100, 96, 96], "Well drawn: you are nowhere further off than at 2, by 2%."),
    ):
        assert call("compared", drawn_line, truth, asked | {"unit": "%"}) == said
        assert not too_much(said)


ROWS = {row["method"]: row for row in measured.load("digit-networks")["rows"]}


def test_arrays_as_text():
    for method, row in ROWS.items():
        assert packed(unpacked(method, row["arrays"])) == row["arrays"]


def test_the_page_gets_every_method_and_drawing_and_what_is_said_at_first():
    data = json.loads(json.dumps(DrawDigit().data()))
    assert tuple(data["methods"]) == tuple(TRIES)
    words = {method: about["word"] for method, about in data["methods"].items()}
    assert words.pop("mean_field") == words.pop("mc_dropout") == "draw"
    assert set(words.values()) == {"member"}
    assert [one["name"] for one in data["examples"]] == list(EXAMPLES)
    for one in data["examples"]:
        digits, drawing = EXAMPLES[one["name"]]
        assert one["digits"] == digits
        for own, stroke in zip(one["strokes"], drawing, strict=True):
            np.testing.assert_allclose(own, stroke, atol=1e-4)
    start = data["examples"][data["start"]]
    assert start["name"] == START and np.shape(data["first"]["members"]) == (4, 10)
    x = seen([np.array(stroke) for stroke in start["strokes"]])
    for name, method in {"single": "single", "members": data["method"]}.items():
        found = probabilities(method, unpacked(method, ROWS[method]["arrays"]), x[None])
        np.testing.assert_allclose(data["first"][name], found[0, :, 0], rtol=1e-12)


def test_some_are_fooled_and_some_are_not():
    """What the chapter shows: a network sure of an E, one that is alone sure of an X."""
    cases = {"an E": (True, True), "an X": (True, False), "a 4 or a 9": (True, False)}
    for name, sure in cases.items():
        for method, own in zip(("single", "deep_ensemble"), sure, strict=True):
            arrays = unpacked(method, ROWS[method]["arrays"])
            p = probabilities(method, arrays, seen(EXAMPLES[name][1])[None])[0, :, 0]
            assert (p.mean(axis=0).max() > 0.9) == own
    said = DrawDigit().alt()
    assert "The single network says 3 with 95%: 0.24 nats" in said
    assert "The deep ensemble says 2 with 43%: 1.03 nats of expected entropy and 0.23" in said
    assert said.endswith("Its members say 8, 2, 3, 2.")
