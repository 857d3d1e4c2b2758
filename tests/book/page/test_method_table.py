"""Tables of a page: methods by name, what is decisive."""

import numpy as np
from bs4 import BeautifulSoup

from ensedu import counting
from ensedu.methods import size_option
from workshop.page.method_table import method_table

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
