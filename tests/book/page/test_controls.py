"""Sliders and toggles as HTML: native, named, and at the value where they start."""

from bs4 import BeautifulSoup

from ensedu.book.page.controls import controls, setting

CHOICES = {"width": [2, 3, 50], "ensemble_size": [1, 4]}


def test_names_are_said_as_words():
    assert setting({"width": 3, "ensemble_size": 4}) == "width 3, ensemble size 4"


def test_two_values_are_a_toggle_and_more_a_slider():
    html = controls(CHOICES, {"width": 3, "ensemble_size": 4}, "key")
    root = BeautifulSoup(html, "html.parser").div
    assert root["aria-label"] == "width and ensemble size"
    assert root.has_attr("hidden")  # until a script moves them
    (slider,) = root.select("input[type=range]")
    assert (slider["min"], slider["max"], slider["value"]) == ("0", "2", "1")
    assert slider["aria-valuetext"] == "3"
    assert root.find(id=slider["list"]).name == "datalist"
    first, second = root.select("input[type=radio]")
    assert first["name"] == second["name"]
    assert (first.has_attr("checked"), second.has_attr("checked")) == (False, True)
    assert root.select_one("[role=radiogroup]")["aria-label"] == "ensemble size"


def test_words_of_a_reader_are_escaped():
    html = controls({"a": ["<i>", '"']}, {"a": '"'}, "key")
    root = BeautifulSoup(html, "html.parser")
    assert root.find("i") is None
    assert "<i>" in root.get_text()
