"""Who is recommended: an invented contest by hand, and every combination of answers by the tables.

Of the real one all pages are held to: the guide's page, its exercise, and the cheat sheet.
"""

import itertools
import math
from dataclasses import replace
from functools import cache
from pathlib import Path

import nbformat
import numpy as np
import pytest

from ensedu.book.experiments.contest import advice, reading
from ensedu.book.figures import choosing
from ensedu.book.figures.cheat_sheet import NEEDS
from ensedu.contest.contestants import CONTESTANTS, REFERENCE
from ensedu.contest.networks import MEMBERS, PASSES
from ensedu.contest.statistics import TaskScores, pooled
from tests.contest import small

BOOK = Path(__file__).parents[4] / "book"
CLASSES, NUMBERS = 12, 6
#: Units beside one network, of classes and of numbers. Those of the others are 0.5 and 0.5.
INVENTED = {
    "single": (0.0, 0.0), "single_scaled": (-0.5, -0.5), "last_layer": (-0.6, -0.6),
    "batch_ensemble": (-1.3, -1.2), "deep_ensemble": (-2.0, -2.1), "swag": (-4.9, -1.6),
    "linear": (-0.4, -0.4), "boosting": (-0.9, -1.6),
}  # fmt: skip
#: Parameters and time to train.
PRICES = {
    "single": (1.0, 1.0), "last_layer": (1.1, 1.2), "batch_ensemble": (1.3, 3.0),
    "deep_ensemble": (4.0, 1.5), "swag": (22.0, 1.1), "linear": (0.1, 0.1), "boosting": (1.2, 0.9),
    "laplace": (1.4, 1.7),
}  # fmt: skip


def every():
    """All combinations of answers."""
    for each in itertools.product(*advice.ANSWERS.values()):
        yield dict(zip(advice.ANSWERS, each, strict=True))


@cache
def advised():
    return [advice.advise(**answers) for answers in every()]


@cache
def invented(score):
    """Scores that differ by these units, a little otherwise from source to source."""
    luck = np.random.default_rng(0).standard_normal((5, 4))
    luck /= luck.std(ddof=1)
    sign = -1 if score == "auroc" else 1
    found = []
    for i in range(CLASSES + NUMBERS):
        values = {}
        for j, name in enumerate([REFERENCE, *advice.CANDIDATES]):
            units = INVENTED.get(name, (0.5, 0.5))[i >= CLASSES]
            values[name] = sign * (units + 0.02 * math.sin(7 * i + 3 * j)) + luck
        found.append(
            TaskScores(
                name=f"task {i}", source=f"source {i}", classes=i < CLASSES, train=79, test=19,
                values=values,
            )
        )  # fmt: skip
    return tuple(found)


@cache
def compared(score="nll", reference=REFERENCE, kind="all"):
    scale, higher, _ = reading.SCORES[score]
    return pooled(
        [task for task in invented(score) if task.classes in reading.KINDS[kind]],
        reference=reference, scale=scale, higher=higher,
    )  # fmt: skip


def costs(name):
    kept, train = PRICES.get(name, (2.0, 4.0))
    return {"kept": kept, "train_seconds": train, "predict_seconds": 1.0}


@pytest.fixture
def contest(monkeypatch):
    """An invented contest in place of the tables."""
    monkeypatch.setattr(reading, "task_scores", invented)
    monkeypatch.setattr(reading, "compared", compared)
    monkeypatch.setattr(reading, "costs", costs)


FREE = {"target": "class", "inputs": "images", "memory": "twenty", "passes": "many"}


@pytest.mark.parametrize(
    ("answers", "passed"),
    [
        # The last layer is better by little: the scaled network stays.
        ({"inputs": "images"}, ["single_scaled"]),
        # Boosting is for tables, and cheapest of all.
        ({"passes": "one"}, ["single_scaled", "boosting"]),
        ({"passes": "four", "time": "one"}, ["single_scaled", "boosting"]),
        # The deep ensemble trains faster, so it comes first, and a BatchEnsemble is worse.
        (FREE | {"memory": "four", "passes": "four"}, ["single_scaled", "deep_ensemble"]),
        (FREE | {"memory": "one", "passes": "four"}, ["single_scaled", "batch_ensemble"]),
        (FREE | {"memory": "one", "passes": "four", "time": "one"}, ["single_scaled"]),
        (FREE, ["single_scaled", "deep_ensemble", "swag"]),
        # Of numbers alone it is worse, so it may not, whatever it is over all sources.
        (FREE | {"target": "number"}, ["single_scaled", "deep_ensemble"]),
        # An AUROC is better if its interval says so, by however little.
        (
            FREE | {"outside": "yes"},
            ["single_scaled", "last_layer", "deep_ensemble", "swag"],
        ),
        (FREE | {"trained": "yes"}, ["single_scaled"]),
    ],
)
def test_the_place_goes_from_hand_to_hand(contest, answers, passed):
    found = advice.advise(**answers)
    assert [*found.passed, found.standings[0].contestant] == passed


def test_what_a_readers_kind_forbids_is_said(contest):
    stopped = [
        one.contestant for one in advice.advise(**FREE | {"target": "number"}).standings
        if one.stopped
    ]  # fmt: skip
    assert stopped == ["swag"]
    assert not any(one.stopped for one in advice.advise(**FREE).standings)


def test_others_stand_in_the_order_of_their_means(contest):
    for outside in advice.ANSWERS["outside"]:
        found = advice.advise(**FREE | {"target": "number", "outside": outside})
        names = [one.contestant for one in found.standings[:4]]
        assert names == ["deep_ensemble", "swag", "batch_ensemble", "last_layer"]
        sign = -1 if outside == "yes" else 1
        means = [sign * one.difference.interval.mean for one in found.standings[1:]]
        assert means == sorted(means)


def test_a_word_of_an_auroc_is_where_its_interval_lies(contest):
    words = {name: advice.word(one, "auroc") for name, one in reading.compared("auroc").items()}
    assert words["swag"] == "better" and words["ivon"] == "worse"
    better = reading.compared("auroc")["swag"]
    around = replace(better, interval=replace(better.interval, low=-0.1))
    assert advice.word(around, "auroc") == "unclear"


def test_passes_are_those_that_run():
    """Each has an output; but where one body serves all members they cost no time."""
    task = small.task(steps=1)

    def outputs(name):
        job = small.job(task, CONTESTANTS[name])
        return len(CONTESTANTS[name].train(job)(job.given.test[0]).mean)

    for name in (
        "wide", "long", "deep_ensemble", "batch_ensemble", "rank1", "mean_field", "mc_dropout",
        "swag",
    ):  # fmt: skip
        assert outputs(name) == advice.price(name).passes, name
    assert outputs("last_layer") == MEMBERS and advice.price("last_layer").passes == 1
    assert reading.costs("last_layer")["predict_seconds"] < 1.2


def test_passes_are_those_of_the_measured_time():
    """What is no network has none, and those with many take long."""
    for name in advice.CANDIDATES[1:]:
        passes = advice.price(name).passes
        assert (passes == 0) == (name in ("boosting", "linear")) == (name in advice.TABLES_ONLY)
        if passes == PASSES:
            assert reading.costs(name)["predict_seconds"] > 2, name


def limits(answers, name):
    """Whether a candidate fits, written once more."""
    cost = reading.costs(name.removesuffix("_scaled"))
    passes = {"boosting": 0, "linear": 0, "deep_ensemble": 4, "batch_ensemble": 4} | dict.fromkeys(
        ("rank1", "mean_field", "mc_dropout", "swag", "ivon"), 32
    )
    return (
        cost["kept"] <= {"one": 1.5, "four": 4.5, "twenty": 1e9}[answers["memory"]]
        and passes.get(name, 1) <= {"one": 1, "four": 4, "many": 32}[answers["passes"]]
        and (answers["time"] == "four" or cost["train_seconds"] <= 2)
        and (answers["inputs"] == "table" or name not in ("boosting", "linear"))
        and (answers["trained"] == "no" or name in ("laplace", "single_scaled"))
    )


def test_each_combination_of_answers_is_ranked():
    """All that fit and no other; nothing cheaper that fits is better, and nothing at all is."""
    for found in advised():
        if found.answers["inputs"] == "large":
            assert found.standings == ()
            continue
        names = [one.contestant for one in found.standings]
        assert sorted(names) == sorted(n for n in advice.CANDIDATES if limits(found.answers, n))
        assert len(names) == len(set(names))
        better = {one.contestant for one in found.standings[1:] if one.beside_first == "better"}
        assert better == {one.contestant for one in found.standings if one.stopped}
        assert len(found.passed) == len(set(found.passed)) and names[0] not in found.passed
        assert found.passed[:1] == (() if names[0] == reading.SCALED else (reading.SCALED,))


def test_evidence_is_the_contests():
    for found in advised()[:: len(advised()) // 17]:
        for one in found.standings:
            assert one.difference is reading.compared(found.score)[one.contestant]
            images = found.answers["inputs"] == "images" and "lenet" in reading.tasks()
            assert (one.images is not None) == images


def test_a_large_network_is_never_ranked():
    for found in advised():
        if found.answers["inputs"] == "large":
            ranked = choosing.ranked(found)
            assert ranked.first.label.startswith("Not measured here")
            assert {row.state for row in ranked.rows} == {"unknown"}


def test_a_question_without_an_answer_has_its_first():
    first = {key: values[0] for key, values in advice.ANSWERS.items()}
    assert advice.advise().answers == first
    assert advice.advise(memory="four").answers == first | {"memory": "four"}


def test_pages_ask_what_can_be_answered():
    asked = {question.key: tuple(question.options) for question in choosing.QUESTIONS}
    assert asked == dict(advice.ANSWERS) and list(asked) == list(advice.ANSWERS)


def test_the_page_solves_its_exercise_as_the_guide_does():
    page = nbformat.read(BOOK / "cost/choosing.ipynb", as_version=4)
    (solved,) = (cell for cell in page.cells if "SITUATIONS" in cell.source)
    printed = solved.outputs[0].text.splitlines()
    assert len(printed) == len(choosing.SITUATIONS)
    for line, given in zip(printed, choosing.SITUATIONS.values(), strict=True):
        ranked = choosing.ranked(advice.advise(**given))
        others = sum(row.state == "fits" for row in ranked.rows)
        assert line[4:] == f"{ranked.first.label}; {others} others fit."


def test_with_one_pass_it_is_one_network_as_other_pages_say():
    """`Speed and memory` says it of a phone."""
    for found in advised():
        if found.standings and found.answers["passes"] == "one" and found.score == "nll":
            assert found.standings[0].contestant == reading.SCALED


def test_the_cheat_sheet_names_what_the_guide_asks_for():
    passes = {"M passes": MEMBERS, "many passes": PASSES, "Many passes": PASSES, "One pass": 1}
    memory = {"M networks": MEMBERS, "for two": 2}
    for name, words in NEEDS.items():
        if name == REFERENCE:
            assert words == "Comes first, with a temperature." and advice.CANDIDATES[0] == (
                reading.SCALED
            )
            continue
        own = advice.price(name)
        assert own.passes == next(number for said, number in passes.items() if said in words)
        said = next((number for said, number in memory.items() if said in words), 1)
        assert own.kept == pytest.approx(said, rel=0.6 if said == 1 else 0.02), name
    page = nbformat.read(BOOK / "cheat-sheet.ipynb", as_version=4)
    assert "[the guide](cost/choosing.ipynb)" in page.cells[2].source


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("answers", "error", "words"),
    [
        ({"rows": "many"}, ValueError, "answers: a question must be one of 'outside', 'memory'"),
        ({"memory": "two"}, ValueError, r"answers\['memory'\] must be one of 'one', 'four', 'twe"),
        ({"memory": 4}, TypeError, r"answers\['memory'\] must be one of 'one', .*, got 4"),
    ],
)
def test_bad_input(answers, error, words):
    with pytest.raises(error, match=words):
        advice.advise(**answers)
