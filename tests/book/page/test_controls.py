"""Sliders and toggles as HTML: native, named, and at the value where they start."""

import pytest
from bs4 import BeautifulSoup

from workshop.page.controls import controls, kind, setting

CHOICES = {"width": [2, 3, 50, 64, 128, 256, 512, 1024], "ensemble_size": [1, 4]}


def test_names_are_words_and_numbers_have_a_minus_sign_and_no_idle_zero():
    html = controls({"mean": [-1.0, -0.5, 0.0, 10]}, {"mean": -1.0}, "key")
    spans = BeautifulSoup(html, "html.parser").select("label > span")
    assert [one.text for one in spans] == ["−1", "−0.5", "0", "10"]
    assert setting({"ensemble_size": -1.0, "a_b": "rank-1"}) == "members −1, a b rank-1"


def test_two_values_are_a_toggle_and_many_a_slider():
    html = controls(CHOICES, {"width": 3, "ensemble_size": 4}, "key")
    root = BeautifulSoup(html, "html.parser").div
    assert root["aria-label"] == "width and members"
    assert root.has_attr("hidden")  # until a script moves them
    assert [one["data-name"] for one in root.select("[data-name]")] == list(CHOICES)
    (slider,) = root.select("input[type=range]")
    assert (slider["min"], slider["max"], slider["value"]) == ("0", "7", "1")
    assert slider["aria-valuetext"] == "3"
    assert root.find(id=slider["list"]).name == "datalist"
    assert [option["value"] for option in root.select("option")] == list("01234567")
    first, second = root.select("input[type=radio]")
    assert first["name"] == second["name"]
    assert (first.has_attr("checked"), second.has_attr("checked")) == (False, True)
    assert root.select_one("[role=radiogroup]")["aria-label"] == "members"


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


def test_names_are_buttons_or_a_list():
    score, data = ["NLL", "RMSE", "AUROC"], ["digits", "concrete", "MNIST-5000 " * 5]
    html = controls(
        {"score": score, "data_set": data}, {"score": "RMSE", "data_set": "concrete"}, "key"
    )
    root = BeautifulSoup(html, "html.parser").div
    radios = root.select("[role=radiogroup][aria-label=score] input[type=radio]")
    assert [radio.has_attr("checked") for radio in radios] == [False, True, False]
    assert [radio.find_next("span").text for radio in radios] == score
    label = root.find("label", attrs={"data-name": "data_set"})
    assert label.span.text == "data set"
    assert [option.text for option in label.select("select > option")] == data
    assert [o.text for o in label.select("option[selected]")] == ["concrete"]
