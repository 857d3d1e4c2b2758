"""What pages are made of: fields, controls, sentences, scripts, seeded numbers, tables."""

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
from workshop.page.method_rows import method_row
from workshop.page.method_table import method_table
from workshop.page.said import too_much
from workshop.page.scripts import Bundle
from workshop.page.seeded_random import Random

AB = ["a", "b"]


@pytest.mark.parametrize(("field", "told", "accepted"), [
    (Choice(("a", "b")), {"choices": AB}, AB),
    (Choice(("a", "b"), optional=True), {"choices": [None, *AB]}, [None, *AB]),
    (WholeNumber(2, 7), {"whole": True, "low": 2, "high": 7}, [2, 7]),
    (RealNumber(-0.5, 1e9), {"whole": False, "low": -0.5, "high": 1e9}, [-0.5, 1, 1e9]),
])  # fmt: skip
def test_what_a_field_accepts_is_what_scripts_are_told(field, told, accepted):
    assert json.loads(json.dumps(field.described())) == told
    assert [field.checked("x", value) for value in accepted] == accepted
    assert not isinstance(field, RealNumber) or type(field.checked("x", 1)) is float


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


@pytest.mark.parametrize("method", METHODS)
def test_arrays_add_up_to_the_count_of_a_layer(method):
    sizes = {"m": 5, "n": 7, "M": 3}
    row = json.loads(json.dumps(method_row(METHODS[method])))
    total = sum(math.prod(sizes[axis] for axis in array["axes"]) for array in row["arrays"])
    assert total == counting.layer(5, 7, method, **size_option(method, 3)).total


def test_random_numbers_are_known_and_uniform_and_normal():
    """Links that readers have kept say a seed, so its numbers stay; `random.js` draws the same."""
    random = Random(5)
    assert [random.next() for _ in range(3)] == [2051924736, 1961474017, 4248182370]
    u = np.array([random.uniform() for _ in range(20_000)])
    counts = np.histogram(u, 20, (0, 1))[0]
    assert counts.sum() == len(u) and ((counts - 1000) ** 2 / 1000).sum() < 50  # χ² of 19 degrees
    z = np.array([random.normal() for _ in range(20_000)])
    assert abs(z.mean()) < 0.03 and abs(z.std() - 1) < 0.03
    assert abs(np.mean(np.abs(z) < 1) - 0.6827) < 0.02


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
SCORES = {
    "deep_ensemble": {
        ("CIFAR-10", "NLL"): (0.1134, 0.1141, 0.115), ("CIFAR-10", "accuracy, %"): 96.6,
        "change": np.int8(-71), "from": "Nado et al.",
    },
    "Cauchy": {
        ("CIFAR-10", "NLL"): (-0.2, np.float32(-0.125), 0), ("CIFAR-10", "accuracy, %"): 96,
        "change": 5, "from": None,
    },
}  # fmt: skip


def parsed(found):
    return BeautifulSoup(found.html(), "html.parser")


def totals(*methods, sizes=SIZES, **options):
    rows = {
        method: {
            name: counting.mlp(each, method, **size_option(method, 4))
            for name, each in sizes.items()
        }
        for method in methods
    }
    return method_table(rows, **options)


def test_methods_come_in_their_order_with_a_decisive_cell_a_caption_and_a_corner():
    found = totals(
        "batch_ensemble", "single", "deep_ensemble", decisive=("batch_ensemble", "1-50-50-1"),
        caption="Four members", corner="numbers of",
    )  # fmt: skip
    assert repr(found).splitlines() == [
        "Four members",
        "numbers of      1-50-50-1  1-1000-1000-1",
        "single network    2,701        1,004,001",
        "deep ensemble    10,804        4,016,004",
        "BatchEnsemble     3,812 ←      1,026,012",
    ]
    page = parsed(found)
    assert [cell.get_text() for cell in page.find_all("strong")] == ["3,812"]
    assert page.caption.get_text() == "Four members"
    assert page.thead.th.get_text() == "numbers of"


def test_groups_intervals_words_and_what_is_missing():
    nll, accuracy = [*SCORES["Cauchy"]][:2]
    formats = {nll: 3, accuracy: 1, "change": "{:+,} MB"}
    found = method_table(SCORES, columns=formats, colors={"Cauchy": "rank1"})
    assert repr(found).splitlines() == [
        "                                CIFAR-10",
        "                                     NLL    accuracy, %    change    from",
        "deep ensemble     0.114   [0.113, 0.115]           96.6    −71 MB    Nado et al.",
        "Cauchy           −0.125  [−0.200, 0.000]           96.0     +5 MB    –",
    ]
    page = parsed(found)
    methods = [row.get("data-method") for row in page.tbody.find_all("tr")]
    assert methods == ["deep_ensemble", "rank1"]
    heads = [
        [(th.get_text(), th["scope"], th.get("colspan"), th.get("rowspan")) for th in row("th")]
        for row in page.thead.find_all("tr")
    ]
    assert heads == [
        [("CIFAR-10", "colgroup", "2", None), ("change", "col", None, "2"),
         ("from", "col", None, "2")],
        [("NLL", "col", None, None), ("accuracy, %", "col", None, None)],
    ]  # fmt: skip
    labels = [cell["data-label"] for cell in page.tbody.tr.find_all("td")]
    assert labels == ["CIFAR-10, NLL", "CIFAR-10, accuracy, %", "change", "from"]


def test_a_word_may_have_what_explains_it_beside_it():
    rows = {"a": {"x": ("better", "[−2, −1]"), "y": 1}, "b": {"x": None, "y": 2}}
    assert repr(method_table(rows)).splitlines() == [
        "                    x    y", "a    better  [−2, −1]    1", "b         –              2",
    ]  # fmt: skip
    (words, _), _ = (row("td") for row in parsed(method_table(rows)).tbody("tr"))
    assert words.find(class_="ensedu-aside").get_text() == "[−2, −1]"
