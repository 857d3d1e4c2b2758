"""What pages are made of: fields, controls, sentences, scripts, tables; what an attempt is told."""

import json
import re

import numpy as np
import pytest
import torch
from bs4 import BeautifulSoup

from ensedu import counting
from ensedu.methods import size_option
from tests.book.looking import too_much
from workshop.page import scripts
from workshop.page.controls import controls, kind, setting
from workshop.page.live.toys import Random
from workshop.page.live.trainer_state import ChoiceField, NumberField
from workshop.page.method_table import method_table
from workshop.page.practice import RIGHT, UNFINISHED, attempt
from workshop.page.scripts import Bundle

AB = ["a", "b"]


@pytest.mark.parametrize(("field", "told", "accepted"), [
    (ChoiceField(("a", "b")), {"choices": AB}, AB),
    (NumberField(2, 7, whole=True), {"whole": True, "low": 2, "high": 7}, [2, 7]),
    (NumberField(-0.5, 1e9), {"whole": False, "low": -0.5, "high": 1e9}, [-0.5, 1, 1e9]),
])  # fmt: skip
def test_what_a_field_accepts_is_what_scripts_are_told(field, told, accepted):
    assert json.loads(json.dumps(field.described())) == told
    assert [field.checked("x", value) for value in accepted] == accepted
    assert isinstance(field, ChoiceField) or field.whole or type(field.checked("x", 1)) is float


@pytest.mark.parametrize(("sentence", "found"), [
    ("word " * 20, ""),
    ("From −0.5 to 1,200 in 3 steps.", ""),
    ("From −0.5 to 1,200 in 3 steps of 4e-3.", "4 numbers"),
    ("At (1, 2), 3: [4, 5].", "5 numbers"),
    ("BatchEnsemble's W2 in a 1-50-50-1 network – MNIST-5000, x3.", ""),
    ("1 2 3 4 " * 5 + "x", "21 words and 20 numbers"),
])  # fmt: skip
def test_words_and_numbers_are_counted(sentence, found):
    assert too_much(sentence) == found


def test_scripts_are_one_text_of_two_lives_and_a_workers_part_of_it(tmp_path, monkeypatch):
    (tmp_path / "sum.js").write_text("export const sum = (a, b) => a + b + OFFSET;\n")
    (tmp_path / "page.js").write_text(
        'import { sum } from "./sum.js";\n\n// One.\nconst own = 1; // the same\n'
        "export const begin = () => sum(own, WORD.length);\nexport const render = () => {};\n"
    )
    monkeypatch.setattr(scripts, "HERE", tmp_path)
    found = Bundle(
        "parts", ("page",), lambda: {"WORD": "σ</x>"}, worker=("sum",),
        worker_constants=lambda: {"OFFSET": {"a": 2.5}},
    )  # fmt: skip
    worker, module, classic = found.engine(), found.module(), found.classic()
    assert 'const OFFSET = {"a": 2.5};' in worker and "WORD" not in worker
    assert worker.rstrip().endswith("return { OFFSET, sum };\n}")
    assert not re.search(r"^(import|export)\b", worker, re.MULTILINE)
    assert "export { OFFSET, sum, begin };\nexport default { render };" in module
    assert classic.startswith('globalThis.parts = (() => {\n"use strict";')
    assert classic.endswith("return { OFFSET, sum, begin, render };\n})();\nparts.begin();\n")
    assert 'const WORD = "σ</x>";' in module
    body = module[: module.index("\n\nexport {")]
    assert body in classic and "const own = 1; // the same" in body and "One." not in body


def test_random_numbers_are_known():
    """Links that readers have kept say a seed, so its numbers stay; `toys.js` draws the same."""
    random = Random(5)
    assert [random.next() for _ in range(3)] == [2051924736, 1961474017, 4248182370]


def test_names_are_words_and_numbers_have_a_minus_sign_and_no_idle_zero():
    html = controls({"mean": [-1.0, -0.5, 0.0, 10]}, {"mean": -1.0}, "key")
    spans = BeautifulSoup(html, "html.parser").select("label > span")
    assert [one.text for one in spans] == ["−1", "−0.5", "0", "10"]
    assert setting({"ensemble_size": -1.0, "a_b": "rank-1"}) == "members −1, a b rank-1"


NUMBERS = ["0", "0.25", "1,200", "1e-3", "−2", "5%"]


@pytest.mark.parametrize(("options", "found"), [
    ([2, 3, 50, 64, 128, 256, 1024], "buttons"), ([1, 2, 3, 4, 5, 6, 7, 8], "slider"),
    (NUMBERS, "buttons"), ([*NUMBERS, "1,200,000,000.5"], "slider"),
    (["one", "a name too long for a line that " * 3], "buttons"),
    (["greedy", "5% random", "4"], "buttons"), ([None, True, 2], "buttons"),
    (["x" * 16] * 3, "buttons"), (["x" * 16] * 2 + ["x" * 17], "list"),
])  # fmt: skip
def test_a_few_are_buttons_and_many_a_slider_or_a_list(options, found):
    assert kind(options) == found


@pytest.mark.parametrize(("name", "options", "columns"), [
    ("noise", [0.1, 0.2, 0.4], 0),
    ("points", [4, 8, 16, 32, 64, 128, 256], 7),  # a line of their own
    ("method", ["one network", "ensembles", "mean-field", "MC dropout"], 2),
    ("trained", ["N(0, 1)", "N(0, 0.1²)", "N(0, 0.1²), KL × 0.1"], 3),  # the last in two lines
    ("photograph", ["camera", "cat", "flower", "grass", "rocket"], 3),
])  # fmt: skip
def test_on_a_phone_no_button_stands_alone_in_its_row(name, options, columns):
    root = BeautifulSoup(controls({name: options}, {name: options[0]}, "key"), "html.parser")
    style = root.select_one("[role=radiogroup]").get("style", "--ensedu-columns: 0")
    assert style == f"--ensedu-columns: {columns}"


SIZES = {"1-50-50-1": [1, 50, 50, 1], "1-1000-1000-1": [1, 1000, 1000, 1]}


def parsed(found):
    return BeautifulSoup(found.html(), "html.parser")


def totals(*methods, **options):
    rows = {
        method: {
            name: counting.mlp(each, method, **size_option(method, 4))
            for name, each in SIZES.items()
        }
        for method in methods
    }
    return method_table(rows, **options)


def test_methods_come_in_their_order_with_a_decisive_cell():
    found = totals(
        "batch_ensemble", "single", "deep_ensemble", decisive=("batch_ensemble", "1-50-50-1")
    )
    assert repr(found).splitlines() == [
        "                1-50-50-1  1-1000-1000-1",
        "single network    2,701        1,004,001",
        "deep ensemble    10,804        4,016,004",
        "BatchEnsemble     3,812 ←      1,026,012",
    ]
    assert [cell.get_text() for cell in parsed(found).find_all("strong")] == ["3,812"]


def test_groups_words_and_what_is_missing():
    found = method_table({
        "deep_ensemble": {("A", "x"): -1234, ("A", "y"): ("7", "0.5 ×"), "from": "Nado et al."},
        "Cauchy": {("A", "x"): 5, ("A", "y"): ("12", "1 ×"), "from": None},
    })  # fmt: skip
    assert repr(found).splitlines() == [
        "                          A",
        "                      x            y    from",
        "deep ensemble    −1,234     7  0.5 ×    Nado et al.",
        "Cauchy                5    12    1 ×    –",
    ]
    page = parsed(found)
    assert [row.get("data-method") for row in page.tbody("tr")] == ["deep_ensemble", None]
    heads = [
        [(th.get_text(), th["scope"], th.get("colspan"), th.get("rowspan")) for th in row("th")]
        for row in page.thead("tr")
    ]
    assert heads == [
        [("A", "colgroup", "2", None), ("from", "col", None, "2")],
        [("x", "col", None, None), ("y", "col", None, None)],
    ]
    assert [cell["data-label"] for cell in page.tbody.tr("td")] == ["A, x", "A, y", "from"]


ARRAY = np.arange(6.0).reshape(2, 3)
TENSOR = torch.tensor(ARRAY, requires_grad=True)
WHOLE, OFF = ARRAY.astype(int), ARRAY + np.array([[0, 0, 0], [0, 0.5, 0.25]])
SHAPED = "wanted is an array of shape (2, 3)"
WORDS = "word word word word word word word word "


class Hostile:
    """What raises an error whatever is done with it."""

    __hash__ = None

    def raises(self, *arguments, **options):
        raise RuntimeError

    __eq__ = __array__ = __repr__ = raises


HOSTILE = "an object of type Hostile"


@pytest.fixture
def told(capsys):
    """What an attempt prints: one line."""

    def told(value, wanted):
        assert attempt(value, wanted=wanted) is None
        (line,) = capsys.readouterr().out.splitlines(keepends=True)
        assert line.endswith(".\n")
        return line.strip()

    return told


@pytest.mark.parametrize("value", [
    ..., (ARRAY, ...), {"a": [1, (2, ...)], "b": 2}, np.array([1, ...], object),
])  # fmt: skip
def test_unfinished_wherever_the_dots_are(told, value):
    for wanted in (3, ARRAY, (ARRAY, 1)):
        assert told(value, wanted) == UNFINISHED


@pytest.mark.parametrize(("value", "wanted"), [
    (3.0, 3), (np.array(3), 3), (3, np.array(3.0)), (10**30, 10**30), (0.1 + 0.2, 0.3),
    (1e12 + 1, 1e12), (1e-10, 0), (1 + 2j, 1 + 2j), (np.nan, np.nan), (np.inf, np.inf), ((), ()),
    (ARRAY.tolist(), ARRAY), (list(ARRAY), ARRAY), (ARRAY + 1e-10, ARRAY), (ARRAY > 2, ARRAY > 2),
    ([ARRAY, ARRAY[0]], (ARRAY, ARRAY[0])), (np.stack([ARRAY, ARRAY]), (ARRAY, ARRAY)),
    (True, True),
    (np.True_, True), (None, None), (["a", 1], ["a", 1]), (TENSOR, ARRAY), (ARRAY, TENSOR),
    ([TENSOR, TENSOR], (ARRAY, ARRAY)),
])  # fmt: skip
def test_right(told, value, wanted):
    assert told(value, wanted) == RIGHT


@pytest.mark.parametrize(("value", "wanted", "words"), [
    # Shapes
    (TENSOR.T, ARRAY, "the shape is (3, 2), wanted is (2, 3)"),
    (3, ARRAY, f"you gave one number, {SHAPED}"),
    (ARRAY, 3, "you gave an array of shape (2, 3), wanted is one number"),
    # Values
    (OFF, ARRAY, "2 of 6 numbers differ, the largest difference is 0.5"),
    (WHOLE + 1234, WHOLE, "6 of 6 numbers differ, the largest difference is 1,234"),
    (ARRAY > 2, ARRAY > 3, "1 of 6 numbers differ, the largest difference is 1"),
    (ARRAY * 1j, ARRAY, "5 of 6 numbers differ, the largest difference is 7.07"),
    (np.ones(2000), np.zeros(2000), "2,000 of 2,000 numbers differ, the largest difference is 1"),
    (10**10 + 1, 10**10, "you gave 10,000,000,001, which is 1 too large"),
    (np.uint8(3), np.uint8(5), "you gave 3, which is 2 too small"),
    (1 + 1e-8, 1.0, "you gave 1.00000001, which is 1e-08 too large"),
    (1e-10, 5e-10, "you gave 1e-10, which is 4e-10 too small"),
    (np.array([5, np.nan]), np.array([1.0, 2.0]),
     "2 of 2 numbers differ, and some are not finite"),
    (np.inf, 1.0, "the number differs"),
    # Parts
    ((ARRAY, ARRAY), (ARRAY, ARRAY[0]), "in item 2, the shape is (2, 3), wanted is (3,)"),
    ((ARRAY,), (ARRAY, WHOLE), "you gave 1, wanted are 2"),
    (None, (ARRAY, ARRAY[0]), "you gave None, wanted is a tuple of 2"),
    ({"a": 1}, ARRAY, f"you gave a dictionary of 1, {SHAPED}"),
    # Other kinds of things
    (None, ARRAY, f"you gave None, {SHAPED}"),
    ("word " * 100, 12, f"you gave the text '{WORDS}…', wanted is one number"),
    (torch.empty(2, 3, device="meta"), 3,
     "you gave an object of type Tensor, wanted is one number"),
    (torch.Tensor, 3, "you gave a function, wanted is one number"),
    (False, True, "you gave False, wanted is True"),
    ([[1, 2], [3]], ARRAY, f"you gave a list of 2, which form no array, {SHAPED}"),
    (Hostile(), 3, f"you gave {HOSTILE}, wanted is one number"),
])  # fmt: skip
def test_not_yet_in_words(told, value, wanted, words):
    assert told(value, wanted) == f"Not yet: {words}."
