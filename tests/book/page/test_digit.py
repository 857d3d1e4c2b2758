"""What a page is given to draw a digit: drawings, what is said of the first, the networks."""

import json
import re

import numpy as np
import pytest

from ensedu.book import measured
from ensedu.book.experiments.digit_networks import TRIES
from ensedu.book.page.digit import EXAMPLES, START, DrawDigit, script
from ensedu.book.page.digit.drawings import seen
from ensedu.book.page.digit.stored_networks import probabilities, unpacked
from ensedu.book.page.frames import FRAMES
from ensedu.plot.style import LOOKS, rendering
from tests.errors import check_error

ROWS = {row["method"]: row for row in measured.load("digit-networks")["rows"]}


@pytest.fixture(scope="module")
def data():
    """What the page gets, through JSON."""
    return json.loads(json.dumps(DrawDigit().data()))


def test_the_page_has_every_method_and_drawing(data):
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
        assert 0 <= np.min(np.concatenate(one["strokes"])) <= np.max(drawing[0]) <= 1


def test_what_is_said_at_first_is_what_the_networks_say(data):
    assert data["examples"][data["start"]]["name"] == START
    x = seen([np.array(stroke) for stroke in data["examples"][data["start"]]["strokes"]])
    for name, method in {"single": "single", "members": data["method"]}.items():
        found = probabilities(method, unpacked(method, ROWS[method]["arrays"]), x[None])
        np.testing.assert_allclose(data["first"][name], found[0, :, 0], rtol=1e-12)
    assert np.shape(data["first"]["members"]) == (4, 10)


def test_some_are_fooled_and_some_are_not():
    """What the chapter shows: a network sure of an E, one that is alone sure of an X."""
    sure = {}
    for name, (_, drawing) in EXAMPLES.items():
        for method in ("single", "deep_ensemble"):
            arrays = unpacked(method, ROWS[method]["arrays"])
            mean = probabilities(method, arrays, seen(drawing)[None])[0, :, 0].mean(axis=0)
            sure[name, method] = mean.max() > 0.9
    assert sure["an E", "single"] and sure["an E", "deep_ensemble"]
    assert sure["an X", "single"] and not sure["an X", "deep_ensemble"]
    assert sure[START, "single"] and not sure[START, "deep_ensemble"]


def test_the_script_holds_the_networks():
    text = script()
    assert len(text) < 150_000
    head, _, body = text.partition(" = ")
    assert head == "globalThis.ensedu_digits"
    found = json.loads(body.removesuffix(";\n"))
    assert tuple(found) == tuple(TRIES)
    for method, own in found.items():
        assert own == {"p": ROWS[method]["p"], "arrays": ROWS[method]["arrays"]}


def test_in_a_kernel_it_is_a_figure(monkeypatch):
    monkeypatch.delenv("ENSEDU_BOOK", raising=False)
    bundle = DrawDigit()._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "image/png"}
    assert bundle["text/plain"].startswith("DrawDigit(single, deep_ensemble, ")


def test_in_the_book_a_figure_stands_in_for_the_script(monkeypatch, tmp_path):
    monkeypatch.setenv("ENSEDU_BOOK", str(tmp_path))
    html = DrawDigit(name="fig-a", caption='one < "two"')._repr_mimebundle_()["text/html"]
    assert html.startswith('<div class="ensedu-digit" data-name="fig-a"')
    assert 'data-caption="one &lt; &quot;two&quot;"' in html
    assert html.count(f'alt="A drawing that may be {START}, and the 8 × 8 pixels') == 2
    names = {path.name for path in tmp_path.iterdir()}
    assert len(names) == 4
    assert set(re.findall(f'"{FRAMES}([^"]+)"', html)) == names
    assert "arrays" not in html  # they come when somebody touches the square


def test_words_say_what_the_networks_say():
    said = DrawDigit().alt()
    assert "The single network says 9 with 94%: 0.38 bits" in said
    assert "The deep ensemble says 9 with 80%: 0.54 bits of expected entropy and 0.33" in said
    assert said.endswith("Its members say 9, 4, 9, 9.")


@pytest.mark.parametrize("look", LOOKS, ids=lambda look: look.name)
def test_the_figure_can_be_read(look):
    with rendering(look):
        figure = DrawDigit().readable()
    words = [text.get_text() for text in figure.axes[0].texts]
    assert words[:2] == ["drawn", "seen"]
    assert {"single", "member 4", "mean", "94", "80"} <= set(words)
    assert figure.get_figwidth() == look.width


BAD = [
    (lambda: DrawDigit(name="Fig 1"), ValueError, ("name", "small letters", "'Fig 1'")),
    (lambda: DrawDigit(name=1), TypeError, ("name", "1")),
    (lambda: DrawDigit(caption=None), TypeError, ("caption", "None")),
]


@pytest.mark.bad_input
@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_input(case):
    check_error(*BAD[case])
