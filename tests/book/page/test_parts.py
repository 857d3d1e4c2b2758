"""What pages are made of: fields, controls, sentences, scripts, rows of methods, seeded numbers."""

import json
import math
import re

import numpy as np
import pytest
from bs4 import BeautifulSoup

from ensedu import counting
from ensedu.methods import METHODS, size_option
from workshop.page import scripts
from workshop.page.controls import controls, kind, setting
from workshop.page.fields import Choice, RealNumber, WholeNumber
from workshop.page.live.toys import Random
from workshop.page.said import too_much
from workshop.page.scripts import Bundle

CHOICE, OPTIONAL = Choice(("a", "b")), Choice(("a", "b"), optional=True)
WHOLE, REAL = WholeNumber(2, 7), RealNumber(-0.5, 1e9)


def test_what_is_accepted_is_returned():
    assert [CHOICE.checked("x", word) for word in "ab"] == ["a", "b"]
    assert OPTIONAL.checked("x", None) is None
    assert [WHOLE.checked("x", value) for value in (2, 7)] == [2, 7]
    found = REAL.checked("x", 1)
    assert found == 1.0 and isinstance(found, float)
    assert [REAL.checked("x", value) for value in (-0.5, 1e9)] == [-0.5, 1e9]


def test_scripts_are_given_the_same():
    told = json.loads(json.dumps([f.described() for f in (CHOICE, OPTIONAL, WHOLE, REAL)]))
    assert told == [
        {"choices": ["a", "b"]}, {"choices": [None, "a", "b"]},
        {"whole": True, "low": 2, "high": 7}, {"whole": False, "low": -0.5, "high": 1e9},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        ("word " * 20, ""),
        ("word " * 21, "21 words"),
        ("From −0.5 to 1,200 in 3 steps.", ""),
        ("From −0.5 to 1,200 in 3 steps of 4e-3.", "4 numbers"),
        ("At (1, 2), 3: [4, 5].", "5 numbers"),
        ("BatchEnsemble's W2 in a 1-50-50-1 network – MNIST-5000, x3.", ""),
        ("1 2 3 4 " * 6, "24 words and 24 numbers"),
    ],
)
def test_words_and_numbers_are_counted(sentence, found):
    assert too_much(sentence) == found


def bundle(folder, monkeypatch, **given):
    (folder / "sum.js").write_text("export const sum = (a, b) => a + b + OFFSET;\n")
    (folder / "page.js").write_text(
        'import { sum } from "./sum.js";\n\n// One.\nconst own = 1; // the same\n'
        "export const begin = () => sum(own, WORD.length);\nexport const render = () => {};\n"
    )
    monkeypatch.setattr(scripts, "HERE", folder)
    return Bundle(
        "parts",
        ("page",),
        lambda: {"WORD": "σ</x>"},
        worker=("sum",),
        worker_constants=lambda: {"OFFSET": {"a": 2.5}},
        **given,
    )


def test_a_worker_has_its_functions_and_its_constants(tmp_path, monkeypatch):
    text = bundle(tmp_path, monkeypatch).engine()
    assert 'const OFFSET = {"a": 2.5};' in text
    assert text.rstrip().endswith("return { OFFSET, sum };\n}")
    assert "WORD" not in text
    assert not re.search(r"^(import|export)\b", text, re.MULTILINE)


def test_both_lives_hold_the_same_but_for_head_and_tail(tmp_path, monkeypatch):
    found = bundle(tmp_path, monkeypatch)
    module, classic = found.module(), found.classic()
    assert "export { OFFSET, sum, begin };\nexport default { render };" in module
    assert classic.startswith('globalThis.parts = (() => {\n"use strict";')
    assert classic.endswith("return { OFFSET, sum, begin, render };\n})();\nparts.begin();\n")
    (words,) = re.findall(r"^const WORD = (.*);$", module, re.MULTILINE)
    assert json.loads(words) == "σ</x>"
    body = module[: module.index("\n\nexport {")]
    assert body in classic
    assert "const own = 1; // the same" in body and "One." not in body


@pytest.mark.parametrize("method", METHODS)
def test_arrays_add_up_to_the_count_of_a_layer(method):
    sizes = {"m": 5, "n": 7, "M": 3}
    row = json.loads(json.dumps(network_row(METHODS[method])))
    total = sum(math.prod(sizes[axis] for axis in array["axes"]) for array in row["arrays"])
    assert total == counting.layer(5, 7, method, **size_option(method, 3)).total


def test_the_first_numbers_are_known():
    """Links that readers have kept say a seed, so its numbers stay; `random.js` draws the same."""
    random = Random(5)
    assert [random.next() for _ in range(3)] == [2051924736, 1961474017, 4248182370]


def test_random_numbers_are_uniform_and_normal():
    random = Random(5)
    u = np.array([random.uniform() for _ in range(20_000)])
    assert 0 <= u.min() and u.max() < 1
    counts = np.histogram(u, 20, (0, 1))[0]
    assert ((counts - 1000) ** 2 / 1000).sum() < 50  # χ² of 19 degrees
    z = np.array([random.normal() for _ in range(20_000)])
    assert abs(z.mean()) < 0.03 and abs(z.std() - 1) < 0.03
    assert abs(np.mean(np.abs(z) < 1) - 0.6827) < 0.02


def test_names_are_words_and_numbers_have_a_minus_sign_and_no_idle_zero():
    html = controls({"mean": [-1.0, -0.5, 0.0, 10]}, {"mean": -1.0}, "key")
    spans = BeautifulSoup(html, "html.parser").select("label > span")
    assert [one.text for one in spans] == ["−1", "−0.5", "0", "10"]
    assert setting({"ensemble_size": -1.0, "a_b": "rank-1"}) == "members −1, a b rank-1"


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ([7], "buttons"),
        ([2, 3, 50, 64, 128, 256, 1024], "buttons"),
        ([1, 2, 3, 4, 5, 6, 7, 8], "slider"),
        (["0", "0.25", "1,200", "1e-3", "−2", "5%"], "buttons"),
        (["0", "0.25", "1,200", "1e-3", "−2", "5%", "1,200,000,000.5"], "slider"),
        (["1e-30000000"] * 3 + ["1,200,000,000"], "slider"),
        ([2, 3], "buttons"),
        (["one", "a name too long for a line that " * 3], "buttons"),
        (["NLL", "error or RMSE", "AUROC"], "buttons"),
        (["greedy", "5% random", "4"], "buttons"),
        ([None, True, 2], "buttons"),
        (["x" * 16] * 3, "buttons"),
        (["x" * 16] * 2 + ["x" * 17], "list"),
    ],
)
def test_a_few_are_buttons_and_many_a_slider_or_a_list(options, found):
    assert kind(options) == found


@pytest.mark.parametrize(
    ("name", "options", "columns"),
    [
        ("noise", [0.1, 0.2, 0.4], 0),
        ("points", [4, 8, 16, 32, 64, 128, 256], 7),  # a line of their own
        ("method", ["one network", "ensembles", "mean-field", "MC dropout"], 2),
        ("trained", ["N(0, 1)", "N(0, 0.1²)", "N(0, 0.1²), KL × 0.1"], 3),  # the last in two lines
        ("photograph", ["camera", "cat", "flower", "grass", "rocket"], 3),
    ],
)
def test_on_a_phone_no_button_stands_alone_in_its_row(name, options, columns):
    root = BeautifulSoup(controls({name: options}, {name: options[0]}, "key"), "html.parser")
    style = root.select_one("[role=radiogroup]").get("style", "--ensedu-columns: 0")
    assert style == f"--ensedu-columns: {columns}"
