"""One of several answers, as HTML."""

from bs4 import BeautifulSoup

from ensedu.book.page.choices import radios


def test_one_is_chosen_and_words_cannot_end_an_attribute():
    options = {"a": "first <b>", "b": 'second "one"', "c": "third"}
    found = BeautifulSoup(radios("Which & what?", "page", "k", options, "b"), "html.parser")
    assert "Which & what?" in found.get_text()
    inputs = found.select("input[type=radio]")
    assert [node["value"] for node in inputs] == list(options)
    assert [node["value"] for node in inputs if node.has_attr("checked")] == ["b"]
    assert len({node["name"] for node in inputs}) == 1
    for words in options.values():
        assert words in found.get_text()
    assert found.find("b") is None
    other = BeautifulSoup(radios("Which?", "other page", "k", options, "b"), "html.parser")
    assert other.input["name"] != inputs[0]["name"]
