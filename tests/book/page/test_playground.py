"""What `playground` returns: an app on a page of the book, a widget elsewhere."""

import json
import re
import sys

import numpy as np
import pytest
from bs4 import BeautifulSoup

from ensedu import counting, methods, plot
from ensedu.book.page.playground import layer_picture, layer_state, playground
from tests.book.page.playground.states import SMALL, state_of


def page_of(folder, monkeypatch, **given):
    """The HTML of a playground in the book, parsed."""
    monkeypatch.setenv("ENSEDU_BOOK", str(folder))
    return BeautifulSoup(playground(**given)._repr_mimebundle_()["text/html"], "html.parser").div


def test_it_opens_on_a_layer_where_sharing_saves():
    w = playground()
    sizes = {"in_features": 4, "out_features": 5, "ensemble_size": 4}
    assert w.options == sizes | {"method": "batch_ensemble", "numbers": 0, "draw": 0}
    assert w.options == layer_state.START
    assert w._state == layer_state.START | {"challenge": None, "edits": {}}
    totals = {
        method: counting.layer(4, 5, method, **methods.size_option(method, 4)).total
        for method in ("batch_ensemble", "deep_ensemble")
    }
    assert totals == {"batch_ensemble": 76, "deep_ensemble": 100}


def test_without_anywidget_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    monkeypatch.delitem(sys.modules, "ensedu.book.page.playground.widget", raising=False)
    with pytest.raises(ImportError, match=re.escape('pip install "ensedu[book]"')):
        playground()


def test_in_the_book_it_is_html_with_a_picture(monkeypatch, tmp_path):
    root = page_of(tmp_path, monkeypatch, **SMALL, name="fig-a", caption='a < "b"')
    assert root["class"] == ["ensedu-playground"]
    assert (root["data-name"], root["data-caption"]) == ("fig-a", 'a < "b"')
    state = json.loads(root.script.string)
    assert state == state_of("rank1", 2, 5, 3)
    assert layer_state.rechecked(state) == state
    pictures = root.select(".ensedu-still picture")
    assert [picture["class"] for picture in pictures] == [["ensedu-light"], ["ensedu-dark"]]
    assert {image["alt"] for image in root.select("img")} == {layer_picture.alt(state)}
    assert len(list(tmp_path.iterdir())) == 4


def test_in_the_book_it_has_the_attributes_of_the_widget(monkeypatch, tmp_path):
    monkeypatch.setattr(layer_picture, "figure", lambda state: plot.Figure((7, 1)))
    given = SMALL | {"numbers": 4, "arrays": {"x": [0.25, 6.0]}}
    widget = playground(**given)
    monkeypatch.setenv("ENSEDU_BOOK", str(tmp_path))
    page = playground(**given)
    assert type(page) is not type(widget)
    assert page.options == widget.options
    for one, other in ((page.arrays, widget.arrays), (page.noise, widget.noise)):
        assert one.keys() == other.keys()
        for name in one:
            np.testing.assert_array_equal(one[name], other[name])
    np.testing.assert_array_equal(page.outputs, widget.outputs)
    assert page.layer.params.keys() == widget.layer.params.keys()
    assert repr(page) == repr(widget)
    root = page_of(tmp_path, monkeypatch, **given)
    assert json.loads(root.script.string) == dict(widget._state)
    assert not {"data-name", "data-caption"} & root.attrs.keys()


def test_no_word_can_end_the_script_or_an_attribute(monkeypatch, tmp_path):
    monkeypatch.setenv("ENSEDU_BOOK", str(tmp_path))
    monkeypatch.setattr(layer_picture, "figure", lambda state: plot.Figure((7, 1)))
    page = playground(caption='"><script>alert(1)</script>')
    page._now = page._now | {"challenge": "</script>"}
    root = BeautifulSoup(page.html(tmp_path), "html.parser")
    assert len(root.select("script")) == 1
    assert json.loads(root.script.string)["challenge"] == "</script>"
    assert root.div["data-caption"] == '"><script>alert(1)</script>'
