"""What a page computes is what Python computes: numbers and sentences, and marks have theirs."""

import json
import shutil
import subprocess

import numpy as np
import pytest

from tests.book.figures.shown import figures
from tests.book.plot.looks import drawn, words
from workshop.experiments.guesses import GUESSES
from workshop.page.computed import BUNDLE, plain
from workshop.page.computed.guessing import WORDS
from workshop.page.said import too_much
from workshop.plot.moving import PREFIX, bare, moving_parts

NODE = shutil.which("node")
PAGES = {
    "fig-un-exact": "book/learning/uncertainty",
    "fig-bbb-ellipses": "book/learning/bayes-by-backprop",
    "fig-gf-first": "book/theory/gradient-flow",
    "fig-sp-projected": "book/cost/speed-and-memory",
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
            np.testing.assert_allclose(
                one["numbers"][key], values, rtol=1e-7, atol=1e-9, err_msg=key
            )
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
    left = of(cost, "fig-sp-projected").numbers(1, 10, "in a ring")["left"]
    np.testing.assert_allclose(speed.truth(), left[:-1])
    assert f"lie {spread.truth()[0]:.2f} apart" in spread.question
    assert f"{2 * (speed.x[-1] - 1):,} messages" in speed.answer


def test_a_sentence_says_where_a_line_is_furthest_off(call):
    asked = {"names": ["1 member", "2", "10 members"], "words": WORDS, "near": 5, "digits": 0}
    truth = [100, 98, 96.3]
    for drawn_line, said in (
        ([100, 71, 32], "You are furthest off at 10 members: you drew 32%, and it is 96%."),
        ([100, 96, 96], "Well drawn: you are nowhere further off than at 2, by 2%."),
    ):
        assert call("compared", drawn_line, truth, asked | {"unit": "%"}) == said
        assert not too_much(said)
