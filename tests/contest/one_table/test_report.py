"""The report of a comparison: what it says, shows and draws, and that it needs nothing else."""

import copy
import json
import re

import numpy as np
import pytest
from bs4 import BeautifulSoup

from ensedu.contest.one_table.findings import Findings
from ensedu.contest.one_table.folds import from_dict
from ensedu.contest.one_table.report import page
from ensedu.contest.one_table.words import report_json, sentences

LABELS = {
    "linear": "linear model", "boosting": "gradient boosting", "single": "one network",
    "deep_ensemble": "deep ensemble", "batch_ensemble": "BatchEnsemble",
}  # fmt: skip
METHODS = {name: name if name.endswith(("ensemble", "single")) else "" for name in LABELS}
ODD = '<img src="https://a.b/c.png">&"\''


def verdict(name, word, difference=0.0, half=0.05, tempered=True, rows=None):
    return {
        "contestant": name, "tempered": tempered, "word": word,
        "difference": difference, "low": difference - half, "high": difference + half, "p": 0.013,
        "margin": 0.02, "rows_to_settle": rows,
    }  # fmt: skip


def data(*verdicts, finished=True, **table):
    """What `compare` could have found on a table of 523 rows."""
    rng = np.random.default_rng(0)
    rows = [
        {
            "contestant": name, "tempered": tempered, "fold": fold, "nll": 1 + rng.random(),
            "error": 3 + rng.random(), "num_stored": 43 + 1000 * i, "train_seconds": 0.02 * 10**i,
            "predict_seconds": 0.001 * (i + 1), "settings": {"lr": 0.01, "epochs": 20 + fold},
        }
        for i, name in enumerate(LABELS) for fold in range(5) for tempered in (False, True)
    ]  # fmt: skip
    about = {
        "name": "homes.csv", "target": "price", "task": "regression", "classes": [],
        "rows": 530, "rows_used": 523,
        "splits": "random", "by": None,
        "columns": [{"name": ODD, "kind": "names", "treatment": "a column a word", "note": ""}],
        "notes": [ODD], "warnings": [f"{ODD} all but says the target."],
    }  # fmt: skip
    plan = {
        "folds": 5, "minutes": 10, "workers": 2, "labels": LABELS, "methods": METHODS,
        "search": {"settings": 6, "lengths": 3, "starts": 4, "part": 1.0, "batch_size": 32},
        "subsample": None, "seconds": {},
    }  # fmt: skip
    worst = {"column": ODD, "value": "oak", "rows": 40, "inside": 30, "p": 0.02}
    return {
        "versions": {"ensedu": "2.0.0"}, "seed": 0, "finished": finished, "best": "single",
        "progress": {"done": 25 if finished else 7, "of": 25},
        "table": about | table, "plan": plan, "verdicts": [*verdicts],
        "rows": rows if finished else rows[:14], "learning": [], "failed": {},
        "coverage": [
            {"level": 0.9, "rows": 523, "inside": 470, "worst": worst, "luck": [450, 490]}
        ],
        "check": {"rows": 3, "wealth": 1.2, "p": 0.8, "alarm": False, "words": "no sign"},
    }  # fmt: skip


def answer(found):
    return " ".join(sentences(from_dict(Findings, found)))


def soup(found):
    return BeautifulSoup(page(from_dict(Findings, found)), "html.parser")


def test_a_file_holds_what_was_found_and_what_is_said_of_it():
    found = from_dict(Findings, WHOLE | {"failed": {"linear": ODD}})
    data = json.loads(report_json(found))
    assert from_dict(Findings, data) == found and data["verdicts"] == WHOLE["verdicts"]
    assert data["answer"] == answer(WHOLE)
    assert "400 for gradient boosting; for others it is too many to tell." in data["answer"]
    assert data["decisions"][-1] == f"linear model is left out: {ODD}"


@pytest.mark.parametrize(
    ("verdicts", "said", "not_said"),
    [
        (
            [
                verdict("batch_ensemble", "better", -0.07),
                verdict("deep_ensemble", "better", -0.1),
                verdict("boosting", "unclear", -0.3, 0.4, rows=5230),
                verdict("linear", "worse", 0.4),
            ],
            ["a deep ensemble predicts “price” better than one network", "by 0.10 nats",
             "interval 0.050 to 0.15; p = 0.01, which allows for all 4 comparisons",
             "Better, too: a BatchEnsemble.", "Unclear: gradient boosting.",
             "Worse: a linear model.", "5,000 for gradient boosting."],
            ["Practically", "nothing is shown"],
        ),
        (
            [verdict("linear", "unclear", rows=100 * 523), verdict("boosting", "worse", 0.3)],
            ["nothing is shown to predict “price” better", "more rows tell, stay with one network.",
             "Too many to tell"],
            ["Better, too", "about 1,000"],
        ),
        (
            [verdict("linear", "worse", 0.2), verdict("boosting", "worse by little", 0.1)],
            ["every other method predicts “price” worse than one network",
             "Worse: gradient boosting and a linear model.", "Stay with one network.",
             "see the RMSE below"],
            ["Unclear", "nothing is shown"],
        ),
        (
            [verdict("linear", "practically equal"), verdict("boosting", "practically equal")],
            ["every method predicts “price” practically as well as one network",
             "Practically equal: a linear model and gradient boosting.", "Stay with one network."],
            ["Unclear", "more rows", "RMSE"],
        ),
        (
            [verdict("deep_ensemble", "better by little", -0.01, 0.005)],
            ["a little better than one network"], ["Unclear", "Worse"],
        ),
    ],
)  # fmt: skip
def test_the_answer_says_who_how_sure_and_what_would_settle_it(verdicts, said, not_said):
    found = data(*verdicts, verdict("linear", "better", -9.0, tempered=False))
    words = answer(found)
    assert words.startswith("On these 523 rows, ")
    for one in said:
        assert one in words
    for one in not_said:
        assert one not in words
    found["plan"] |= {"subsample": {"rows": 523, "of": 99991}}
    found["plan"]["search"] |= {"starts": 2, "part": 0.25}
    found["table"]["splits"] = "time"
    more = answer(found).removeprefix(words)
    assert all(
        one in more
        for one in ("of 99,991 rows", "a quarter as long", "by 2 a fold", "supposes random ones")
    )
    assert not any(one in words for one in ("99,991", "minutes are few", "random"))
    heading = soup(found).h1.text
    assert words.startswith(heading) and heading.count(".") == 1


def test_the_one_with_fewest_parameters_is_named_where_it_is_kept():
    found = data(verdict("linear", "practically equal"), verdict("boosting", "worse", 0.3))
    assert "Stay with one network." in answer(found)
    found["best"] = "linear"
    assert "Take a linear model, of those that are practically equal" in answer(found)


def test_unfinished_is_said_first_and_no_word_is_given():
    found = data(finished=False) | {"coverage": [], "check": None}
    assert "Unfinished: 7 of 25 parts are done." in answer(found)
    html = soup(found)
    banner = html.main.find(class_="unfinished")
    assert banner.text.startswith("Unfinished: 7 of 25") and banner.find_next("h1")
    assert banner.progress["value"] == "7" and not html.select(".word")
    assert "of which each method has done other ones" in html.text


WHOLE = data(
    verdict("deep_ensemble", "better", -0.2, 0.1), verdict("linear", "worse", 2.5, 0.2),
    verdict("boosting", "unclear", 0.05, 0.3, rows=900),
    verdict("batch_ensemble", "unclear", 0, 0.2, rows=10**9),
    verdict("boosting", "unclear", -0.1, 0.4, tempered=False),
)  # fmt: skip


def test_a_page_needs_no_other_file_and_shows_the_readers_words_as_words():
    html = soup(WHOLE)
    assert not html.find_all(["script", "img", "iframe", "object"])
    assert {link["href"] for link in html.find_all("link")} == {"data:,"}
    assert not re.search(r"url\(|@import", html.style.text)
    given = {name for tag in html.find_all(True) if tag.name != "link" for name in tag.attrs}
    assert not [name for name in given if name in ("src", "href") or name.startswith("on")]
    assert html.text.count(ODD) >= 4  # column, warning, worst group, decision
    for fold in html.find_all("details"):
        assert fold.summary.text
    assert html.section.table and "How good" in html.section.h2.text
    assert html.find("meta", attrs={"name": "viewport"}) and html.html["lang"] == "en"


def test_only_who_is_compared_is_explained():
    found = copy.deepcopy(WHOLE)
    assert all(one in soup(found).text for one in ("averages 4 of them", "scikit-learn's Ridge"))
    del found["plan"]["labels"]["linear"]
    found["rows"] = [row for row in found["rows"] if row["contestant"] != "linear"]
    found["verdicts"] = [one for one in found["verdicts"] if one["contestant"] != "linear"]
    text = soup(found).text
    assert "averages 4 of them" in text and not any(w in text for w in ("Ridge", "for each class"))
    found["table"]["classes"] = ["ash", "oak"]
    assert "over all rows, not for each class" in soup(found).text


def place(mark):
    """Return where a mark begins and ends, in percent of the picture's width."""
    left, width = (re.search(f"{name}:([-.0-9]+)%", mark["style"]) for name in ("left", "width"))
    return float(left[1]), float(left[1]) + (float(width[1]) if width else 0.0)


def forest(html):
    """Return the rows of the forest, and the axis below them as a function to differences."""
    part = next(one for one in html.find_all("section") if "How far" in one.h2.text)
    rows = [row for row in part.select(".row") if "axis" not in row["class"]]
    texts = part.select(".row.axis")[0].select(".tick")
    ticks = [(place(one)[0], float(one.text.replace("−", "-"))) for one in texts]
    return rows, np.polynomial.Polynomial.fit(*zip(*ticks, strict=True), 1)


def test_each_dot_stands_where_the_axis_says():
    rows, axis = forest(soup(WHOLE))
    each = sorted(WHOLE["verdicts"], key=lambda v: (not v["tempered"], v["difference"]))
    assert [row.select_one(".name").text for row in rows] == [LABELS[v["contestant"]] for v in each]
    for row, one in zip(rows, each, strict=True):
        assert row.select_one(".word").text == one["word"]
        if one["word"] == "worse":  # too far away to be drawn to scale
            assert not row.select(".dot") and row.select_one(".whisker").text == "▸"
            continue
        rows_of = {
            k: [
                r["nll"] for r in WHOLE["rows"]
                if (r["contestant"], r["tempered"]) == (k, one["tempered"])
            ]
            for k in (one["contestant"], "single")
        }  # fmt: skip
        folds = np.subtract(*rows_of.values())
        ticks = [axis(place(mark)[0]) for mark in row.select(".fold")]
        low, high = axis(0), axis(100)
        wanted = [each for each in folds if low < each < high]
        assert ticks == pytest.approx(wanted, abs=2e-3)
        ends = {"dot": [one["difference"]] * 2, "whisker": [one["low"], one["high"]]}
        for kind, wanted in (ends | {"band": [-0.02, 0.02], "zero": [0, 0]}).items():
            found = axis(np.array(place(row.select_one(f".{kind}"))))
            assert found == pytest.approx(wanted, abs=2e-3), kind


def test_dots_beside_costs_stand_as_their_logarithms():
    part = next(one for one in soup(WHOLE).find_all("section") if "cost" in one.h2.text)
    heads = [head.text for head in part.thead.find_all("th")]
    for key in ("num_stored", "error"):
        column = heads.index({"error": "RMSE", "num_stored": "parameters"}[key])
        shown, values = {}, {}
        for row in part.tbody.find_all("tr"):
            cell = row.find_all(["th", "td"])[column]
            name = next(k for k, label in LABELS.items() if label == row.th.text)
            shown[name] = place(cell.i)[0]
            own = [r for r in WHOLE["rows"] if (r["contestant"], r["tempered"]) == (name, True)]
            values[name] = np.mean([one[key] for one in own])
        order = [*LABELS]
        each = np.array([values[k] for k in order])
        each = np.log(each) if key == "num_stored" else each
        wanted = 100 * (each - each.min()) / np.ptp(each)
        np.testing.assert_allclose([shown[k] for k in order], wanted, atol=0.06)


def test_a_learning_curve_stands_where_there_are_two_sizes():
    found = copy.deepcopy(WHOLE)
    assert "more rows change it" not in soup(found).text
    found["learning"] = [
        {"rows": rows, "contestant": name, "tempered": True, "nll": i + 100 / rows}
        for rows in (100, 200) for i, name in enumerate(LABELS)
    ]  # fmt: skip
    part = next(one for one in soup(found).find_all("section") if "more rows" in one.h2.text)
    cells = [[float(cell.text) for cell in row.find_all("td")] for row in part.tbody.find_all("tr")]
    assert cells == [[i + 1.0, i + 0.5] for i in range(len(LABELS))]
