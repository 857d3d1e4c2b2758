"""The shoot-out: its rows, its summary, and the settings that were chosen."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.stats

from ensedu import uncertainty
from ensedu.book import measured
from ensedu.book.experiments import shootout
from ensedu.book.experiments.shootout import reading
from ensedu.book.experiments.shootout.tasks import TASKS, split_of_task
from ensedu.contest.running.machine import one_thread
from tests.book.experiments.shootout.committed import tasks_with_a_table


@pytest.mark.parametrize("data", ["digits", "concrete"])
def test_a_row_is_the_scores_of_what_was_trained(data, monkeypatch):
    monkeypatch.setitem(TASKS, data, replace(TASKS[data], epochs=3))
    setting = shootout.CONTESTANTS["single"].tries[4]
    row = shootout.run(data, "single", 5, starts=1, setting=setting)
    given, own = split_of_task(data, 5), shootout.seed(data, "single", 5, 0)
    trained = shootout.train(data, "single", setting, given, own)
    x, y = given.test
    for name, value in trained(x).scores(y, given.unit).items():
        assert row[name] == [pytest.approx(value, rel=1e-6)]
    scaled = trained(x).sharpened(trained(given.held_out[0]), given.held_out[1])
    assert row["scaled"]["nll"] == [pytest.approx(scaled.scores(y, given.unit)["nll"], rel=1e-6)]
    told = uncertainty.auroc(trained(x).doubt, trained(given.foreign).doubt)
    assert row["auroc"] == [pytest.approx(told)]
    strongest = trained(given.shifted["noise"][4]).scores(y[:200], given.unit)
    assert row["shifted"]["noise nll"][4] == pytest.approx(strongest["nll"], rel=1e-6)
    assert row["parameters"] == row["kept"] == TASKS[data].total(1.0)


def test_scaled_networks_are_contestants_of_their_own():
    table = measured.load("shootout-digits")
    found = shootout.with_scaled(table["rows"])
    names = dict.fromkeys(row["contestant"] for row in found)
    assert len(found) == len(table["rows"]) + 2 * shootout.SPLITS
    assert {"single_scaled", "wide_scaled"} == names.keys() - shootout.CONTESTANTS.keys()
    pairs = {(row["contestant"], row["split"]): row for row in found}
    plain, scaled = pairs["single", 3], pairs["single_scaled", 3]
    assert scaled["error"] == plain["error"] and scaled["nll"] != plain["nll"]
    assert scaled["parameters"] == plain["parameters"]


@pytest.mark.parametrize("data", tasks_with_a_table())
def test_a_summary_is_of_paired_differences(data):
    table = measured.load(f"shootout-{data}")
    rows = shootout.with_scaled(table["rows"])
    entry = measured.row(table["summary"], contestant="mc_dropout", than="single", score="nll")
    own, theirs = (
        np.array([np.mean(row["nll"]) for row in rows if row["contestant"] == name])
        for name in ("mc_dropout", "single")
    )
    gaps = own - theirs
    train, _, test = TASKS[data].rows
    overlap = 0 if data == "diamonds" else test / train  # whose splits share no row
    error = np.sqrt((1 / len(gaps) + overlap) * gaps.var(ddof=1))
    assert entry["difference"] == pytest.approx(gaps.mean(), rel=2e-3, abs=2e-4)
    t = gaps.mean() / error
    assert entry["p"] == pytest.approx(2 * scipy.stats.t.sf(abs(t), len(gaps) - 1), rel=5e-2)
    assert all(one["adjusted"] >= one["p"] * 0.999 for one in table["summary"])


def test_each_chose_the_setting_with_the_least_nll():
    for row in measured.load("shootout-tuning")["rows"]:
        assert row["chosen"] == int(np.argmin(row["nll"]))
        tries = shootout.CONTESTANTS[row["contestant"]].tries
        assert shootout.chosen(row["data"], row["contestant"]) == tries[row["chosen"]]
    assert shootout.chosen("digits", "rank1_half") == shootout.chosen("digits", "rank1")


def test_what_was_chosen_is_among_the_settings_as_in_the_table():
    rows = measured.load("shootout-settings")["rows"]
    for data, (epochs, *_) in shootout.TRIED_EPOCHS.items():
        table = measured.load(f"shootout-{data}")["rows"]
        for name in shootout.TRIED:
            tries = shootout.CONTESTANTS[name].tries
            number = tries.index(shootout.chosen(data, name))
            one = {"data": data, "contestant": name, "number": number, "epochs": epochs}
            found = measured.row(rows, **one, split=3)
            first = measured.row(table, contestant=name, split=3)
            # One start on two processors differs, but less than starts do.
            for score in shootout.SCORES[TASKS[data].classes][:2]:
                spread = max(first[score]) - min(first[score])
                assert abs(found[score] - first[score][0]) <= spread, (one, score)
    assert reading.scores_by_setting("concrete", "wide", "nll", 240).shape == (
        6,
        shootout.TRIED_SPLITS,
    )
    third = measured.row(rows, contestant="wide", number=2, epochs=240, split=4)
    assert reading.scores_by_setting("concrete", "wide", "nll", 240)[2, 4] == third["nll"]


def test_trying_out_is_training_with_that_setting():
    given = split_of_task("concrete", 2)
    own_seed = shootout.seed("concrete", "single", 2, 0)
    setting = shootout.CONTESTANTS["single"].tries[3]
    with one_thread():
        net = shootout.train("concrete", "single", setting, given, own_seed, epochs=2)
    x, y = given.test
    scores = net(x).scores(y, given.unit)
    wanted = {"nll": scores["nll"], "error": None, "rmse": scores["rmse"]}
    assert shootout.try_out("concrete", "single", 3, 2, 2) == wanted
    assert shootout.try_out("concrete", "single", 3, 1, 2) != wanted
    assert shootout.try_out("concrete", "single", 2, 2, 2) != wanted


def test_bad_names_say_what_is_known():
    with pytest.raises(ValueError, match=r"data must be one of .*digits.*got 'mnits'"):
        shootout.run("mnits", "single", 0)
    with pytest.raises(ValueError, match=r"contestant must be one of .*got 'best'"):
        shootout.run("digits", "best", 0)
