"""Sliders and toggles as HTML: native, named, and at the value where they start."""

import pytest
from bs4 import BeautifulSoup

from workshop.page.controls import controls, kind, setting


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
