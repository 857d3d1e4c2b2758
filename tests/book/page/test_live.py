"""What `live` returns: an app on a page of the book, a widget elsewhere."""

import json
import re
import sys

import numpy as np
import pytest
from bs4 import BeautifulSoup

from ensedu.book.page.live import live
from tests.book.page.live.trainers import small
from tests.errors import check_error


def page_of(folder, monkeypatch, **given):
    """The HTML of a trainer in the book, parsed."""
    monkeypatch.setenv("ENSEDU_BOOK", str(folder))
    return BeautifulSoup(live(**given)._repr_mimebundle_()["text/html"], "html.parser").div


def test_without_anywidget_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    monkeypatch.delitem(sys.modules, "ensedu.book.page.live.widget", raising=False)
    with pytest.raises(ImportError, match=re.escape('pip install "ensedu[book]"')):
        small()


def test_in_the_book_it_is_html_with_a_picture(monkeypatch, tmp_path):
    root = page_of(tmp_path, monkeypatch, name="fig-a", caption="a < b", width=5, seed=2)
    assert root["class"] == ["ensedu-trainer"]
    assert (root["data-name"], root["data-caption"]) == ("fig-a", "a < b")
    assert not {"data-small", "data-full"} & root.attrs.keys()
    assert json.loads(root.script.string) == dict(live(width=5, seed=2)._state)
    pictures = root.select(".ensedu-still picture")
    assert [picture["class"] for picture in pictures] == [["ensedu-light"], ["ensedu-dark"]]
    alts = {image["alt"] for image in root.select("img")}
    assert len(alts) == 1 and alts.pop().startswith("60 points and what is learned")
    assert len(list(tmp_path.iterdir())) == 4


def test_in_the_book_it_has_the_attributes_of_the_widget(monkeypatch, tmp_path):
    given = {"data": "moons", "other": {"method": "single"}}
    widget = small(**given)
    monkeypatch.setenv("ENSEDU_BOOK", str(tmp_path))
    page = small(**given)
    assert type(page) is not type(widget)
    np.testing.assert_array_equal(page.points, widget.points)
    assert page.options == widget.options
    assert (page.weights, page.steps) == (widget.weights, widget.steps)
    assert repr(page) == repr(widget)


def test_a_band_to_compare_with_stands_on_the_page_and_in_the_widget(monkeypatch, tmp_path):
    x = np.linspace(-4, 4, 5)
    behind = {"x": x, "mean": 0 * x, "std": 0 * x + 1, "label": '"<NUTS>"'}
    given = {"method": "mean_field", "width": 5, "hidden_layers": 1, "points": [[0, 0]]}
    band = live(**given, behind=behind)._behind
    assert band["label"] == behind["label"] and band["x"] == x.tolist()
    root = page_of(tmp_path, monkeypatch, **given, behind=behind)
    assert json.loads(root["data-behind"]) == band
    assert "data-behind" not in page_of(tmp_path, monkeypatch, **given).attrs


def test_the_small_form_leads_to_all_settings(monkeypatch, tmp_path):
    root = page_of(tmp_path, monkeypatch, small=True, width=5)
    assert "data-small" in root.attrs
    assert root["data-full"] == "ensedu-site:book/live.html"


RANK1 = {"method": "rank1", "small": True, "distributions": True, "width": 5}


def test_distributions_are_shown_on_the_page_and_in_the_widget(monkeypatch, tmp_path):
    assert live(**RANK1)._distributions
    root = page_of(tmp_path, monkeypatch, **RANK1)
    assert "data-distributions" in root.attrs
    (alt,) = {image["alt"] for image in root.select("img")}
    assert alt.startswith("Means and standard deviations of r and s after 300 steps")


def test_no_word_can_end_the_script(monkeypatch, tmp_path):
    monkeypatch.setenv("ENSEDU_BOOK", str(tmp_path))
    page = small()
    axes = [{"name": "</script>", "middle": 0.0, "unit": 1.0}] * 2
    page._state = {**page._state, "axes": axes}
    root = BeautifulSoup(page._repr_mimebundle_()["text/html"], "html.parser").div
    assert json.loads(root.script.string)["axes"] == axes


BAD = [
    (lambda: live(small=1), TypeError, ("small", "1")),
    (lambda: live(name="A B"), ValueError, ("name", "'A B'", "hyphens")),
    (lambda: live(caption=3), TypeError, ("caption", "3")),
    (lambda: live(distributions=1), TypeError, ("distributions", "1")),
    (lambda: live(**RANK1 | {"small": False}), ValueError, ("distributions", "small=False")),
    (lambda: live(**RANK1 | {"method": "mean_field"}), ValueError, ("r and s", "'mean_field'")),
    (lambda: live(**RANK1 | {"method": "batch_ensemble"}), ValueError, ("r and s", "'batch_")),
    (lambda: live(**RANK1, data="moons"), ValueError, ("distributions", "a curve")),
    (lambda: live(**RANK1, other={"method": "single"}), ValueError, ("distributions", "one net")),
]


@pytest.mark.bad_input
@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_input(case):
    check_error(*BAD[case])
