"""Small modules are joined to one text, with what Python gives them."""

import json
import re

from ensedu.book.page import scripts
from ensedu.book.page.scripts import Bundle


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


def test_without_a_worker_there_is_no_engine(tmp_path, monkeypatch):
    (tmp_path / "alone.js").write_text("export const begin = () => {};\n")
    monkeypatch.setattr(scripts, "HERE", tmp_path)
    assert "ENGINE" not in Bundle("alone", ("alone",), dict).classic()
