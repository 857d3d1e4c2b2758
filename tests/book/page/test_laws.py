"""What holds for every kind of page: valid, escaped, read without scripts, the same in Jupyter."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from bs4 import BeautifulSoup

from tests.book.looking import draw, small
from workshop.page.digit import START, DrawDigit
from workshop.page.explore import explore
from workshop.page.frames import FRAMES, embedded
from workshop.page.live import live, trainer_picture, trainer_state

HOSTILE = "\"><script>alert(1)</script><i title='a'>&amp;"
DISTRIBUTIONS = {"method": "rank1", "small": True, "distributions": True}
X = np.linspace(-4, 4, 5)
BAND = {"x": X, "mean": 0 * X, "std": 0 * X + 1, "label": HOSTILE}
BEHIND = {"method": "mean_field", "points": [[0, 0]], "small": True, "behind": BAND}


def said_of(k):
    return f"{k} {HOSTILE}"


EXPLORER = {"alt": said_of, "k": [2, 3, HOSTILE], "rescale": HOSTILE, "table": "bayes"}


def shown(k=2):
    return draw(k if isinstance(k, int) else 2)


#: How each kind is made, its class, and how its picture's words begin.
KINDS = {
    "explorer": (lambda **g: explore(shown, **EXPLORER, start={"k": 3}, **g), "explorer", "3 "),
    "list": (
        lambda **g: explore(shown, alt=said_of, k=[3, HOSTILE, "x" * 70], **g), "explorer", "3"
    ),
    "slider": (
        lambda **g: explore(lambda k: shown(), alt=said_of, k=range(8), **g), "explorer", "0"
    ),
    "still": (lambda **g: explore(shown, alt=HOSTILE, **g), "explorer", HOSTILE),
    "trainer": (small, "trainer", "60 points, what they teach a "),
    "small": (
        lambda **g: small(**DISTRIBUTIONS, **g), "trainer",
        "Means and standard deviations of r and s, trained on 60 points",
    ),
    "digit": (DrawDigit, "digit", f"A drawing of {START}, and the 8 × 8 pixels"),
}  # fmt: skip
VOID = {"img", "source", "input"}


class Page:
    """What a kind shows in the book, its files, and their contents."""

    def __init__(self, kind, folder):
        self.kind, self.folder = kind, folder
        self.make, self.root_class, self.words = KINDS[kind]
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("ENSEDU_BOOK", str(folder))
            self.made = self.make(name="fig-a", caption=HOSTILE)
            self.bundle = self.made._repr_mimebundle_()
        self.html = self.bundle["text/html"]
        self.root = BeautifulSoup(self.html, "html.parser").div
        self.files = {path.name: path.read_bytes() for path in folder.iterdir()}

    @property
    def data(self):
        return json.loads(self.root.script.string)


@pytest.fixture(scope="module", params=KINDS)
def sheet(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param) / "not there yet" / "frames"
    return Page(request.param, folder)


def test_html_is_valid(sheet):
    """Tags close in order, attributes and ids stand once, and a script holds data alone."""
    open_, ids = [], []

    class Strict(HTMLParser):
        def handle_starttag(self, tag, attrs):
            names = [name for name, _ in attrs]
            assert len(set(names)) == len(names)
            ids.extend(value for name, value in attrs if name == "id")
            open_.append(tag) if tag not in VOID else None

        def handle_endtag(self, tag):
            assert open_.pop() == tag

    Strict(convert_charrefs=True).feed(sheet.html)
    assert not open_ and len(set(ids)) == len(ids)
    assert len(BeautifulSoup(sheet.html, "html.parser").contents) == 1
    words = re.sub(r"<script.*?</script>|<[^>]*>|&[\w#]+;", "", sheet.html)
    assert not re.search("[<>&]", words)


def test_what_it_is_given_is_escaped(sheet):
    root = sheet.root
    assert root["class"] == [f"ensedu-{sheet.root_class}"]
    assert (root["data-name"], root["data-caption"]) == ("fig-a", HOSTILE)
    assert not root.find_all("i")
    assert {one["type"] for one in root("script")} <= {"application/json"}
    assert len(root("script")) == (sheet.kind != "still")
    if sheet.kind == "explorer":
        assert sheet.data["alts"][2] == f"{HOSTILE} {HOSTILE}"
        assert root.select_one(".ensedu-why").text == HOSTILE


def test_it_can_be_read_without_a_script(sheet):
    """One picture a theme, wide and narrow, of the folder; what needs a script is hidden."""
    pictures = sheet.root.select(":is(.ensedu-still, .ensedu-frame) > picture")
    assert [one["class"] for one in pictures] == [["ensedu-light"], ["ensedu-dark"]]
    for theme, picture in zip(("light", "dark"), pictures, strict=True):
        (source,), image = picture("source"), picture.img
        assert image["alt"].startswith(sheet.words) and image["loading"] == "lazy"
        for width, node, address in (("wide", image, "src"), ("narrow", source, "srcset")):
            file = node[address].removeprefix(FRAMES)
            assert file.endswith(f"-{int(sheet.kind == 'explorer')}-{width}-{theme}.svg")
            svg = sheet.files[file].decode()
            assert int(node["width"]) > 100 and int(node["height"]) > 20
            ratio = [float(x) for x in re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg).groups()]
            here = int(node["width"]) / int(node["height"])
            assert here == pytest.approx(ratio[0] / ratio[1], rel=0.02)
    moved = sheet.root.select("input, select")
    assert all(one.find_parent(class_="ensedu-sliders").has_attr("hidden") for one in moved)
    if sheet.kind == "explorer":
        assert "Set to k 3." in sheet.root.text
        assert sheet.root.select_one("[role=status]").text == image["alt"]


def test_every_control_has_a_name_and_a_value(sheet):
    root = sheet.root
    for control in root.select("input, select"):
        label = control.find_parent("label")
        assert label is not None and label.find("span").text
        if control.get("type") == "range":
            assert control["aria-valuetext"] == label.output.text == "0"
            assert root.find(id=control["list"]).name == "datalist"
        if control.name == "select":
            assert [one.text for one in control.select("[selected]")] == ["3"]
        if control.get("type") == "radio":
            assert control.find_parent(attrs={"role": "radiogroup"})["aria-label"] == "k"
    for group in root.select("[role=group], [role=radiogroup]"):
        assert group["aria-label"]


def test_its_state_goes_round_and_comes_again(sheet, tmp_path):
    """What the script reads is what Python accepts, and what the values of an address mean."""
    again = Page(sheet.kind, tmp_path)
    assert (again.html, again.files) == (sheet.html, sheet.files)
    if sheet.kind in ("still", "digit"):
        return
    if sheet.root_class == "explorer":
        assert sheet.data["values"] == [[str(value) for value in sheet.made.choices["k"]]]
        assert len(set(sheet.data["values"][0])) == len(sheet.data["alts"])
        return
    assert trainer_state.changed(sheet.data, {}) == sheet.data == sheet.make().state


def test_it_is_the_same_in_jupyter(sheet):
    other = sheet.make()
    found = other._repr_mimebundle_()
    data = found[0] if isinstance(found, tuple) else found
    assert set(sheet.bundle) == {"text/plain", "text/html"}
    assert data["text/plain"] == repr(other) == sheet.bundle["text/plain"] == repr(sheet.made)
    widget = {"application/vnd.jupyter.widget-view+json"}
    picture = set() if sheet.root_class == "trainer" else {"image/png"}
    assert set(data) == {"text/plain"} | picture | (
        set() if sheet.kind in ("still", "digit") else widget
    )
    if picture:
        assert data["image/png"].startswith(b"\x89PNG") or data["image/png"].startswith("iVBOR")


@pytest.mark.parametrize(("given", "flags"), [
    ({}, set()), (DISTRIBUTIONS, {"small", "full", "distributions"}), ({"small": True},
    {"small", "full"}), (BEHIND, {"small", "full", "behind"}),
], ids=["all", "distributions", "small", "behind"])  # fmt: skip
def test_a_trainer_says_what_it_shows(given, flags, monkeypatch, tmp_path):
    monkeypatch.setattr(trainer_picture, "REST", 7)
    widget = small(**given)
    assert widget._options["distributions"] == ("distributions" in flags)
    monkeypatch.setenv("ENSEDU_BOOK", str(tmp_path))
    page = live(**{"width": 5, "hidden_layers": 1} | given, alt="words")
    root = BeautifulSoup(page.html(), "html.parser").div
    assert root.attrs.keys() == {"class", *(f"data-{flag}" for flag in flags)}
    assert {image["alt"] for image in root("img")} == {"words"}
    if "full" in flags:
        assert root["data-full"] == "ensedu-site:book/live.html"
    if "behind" in flags:
        behind = json.loads(root["data-behind"])
        assert behind == widget._options["behind"]
        assert (behind["x"], behind["label"]) == (X.tolist(), HOSTILE)


def test_no_word_can_end_a_script(monkeypatch, tmp_path):
    data = {"a": "</script><!--", "b": "σ"}
    assert "<" not in embedded(data) and json.loads(embedded(data)) == data
    monkeypatch.setenv("ENSEDU_BOOK", str(tmp_path))
    trainer = small(alt="a")
    axes = [{"name": "</script>", "middle": 0.0, "unit": 1.0}] * 2
    trainer.state = {**trainer.state, "axes": axes}
    root = BeautifulSoup(trainer.html(), "html.parser").div
    assert json.loads(root.script.string)["axes"] == axes
