"""The shoot-out: who takes part, on what, how a forecast is scored, and what the tables say.

Where other packages are, ``.venv-results/bin/python -m pytest -k package`` and this file.
"""

import math

import numpy as np
import pytest
import scipy.optimize
import scipy.stats
import torch
from torch import nn

from ensedu import counting, uncertainty
from ensedu.book import measured
from ensedu.book.experiments import EXPERIMENTS, shootout
from ensedu.book.experiments.running.machine import one_thread
from ensedu.book.experiments.shootout import contestants, others, reading, scores, tasks
from ensedu.book.experiments.shootout.scores import Classes, Numbers
from ensedu.book.experiments.shootout.tasks import TASKS, parts
from ensedu.data import diamonds
from ensedu.torch import MCDropout
from ensedu.torch.models import lenet5

OWN = [name for name, row in shootout.CONTESTANTS.items() if not row.other]


def tables():
    """The tasks whose table is there."""
    return [data for data in TASKS if f"shootout-{data}" in EXPERIMENTS]


@pytest.fixture
def rng():
    return np.random.default_rng(20)


def numbers(rng, passes=3, examples=5):
    """A forecast of numbers, and what came."""
    mean = rng.standard_normal((passes, examples, 1))
    variance = rng.uniform(0.3, 2, (passes, examples, 1))
    return Numbers(mean, variance), rng.standard_normal((examples, 1))


def classes(rng, passes=3, examples=200, number=7):
    """A forecast of classes that is right more often than not, and what came."""
    y = rng.integers(0, number, examples)
    logits = rng.standard_normal((passes, examples, number)) + 1.5 * np.eye(number)[y]
    return Classes(logits), y


def rows_of(x):
    return {row.tobytes() for row in np.asarray(x)}


@pytest.mark.parametrize("data", TASKS)
def test_the_parts_of_a_split_share_no_row(data):
    given, task = parts(data, 3), TASKS[data]
    three = [given.train, given.held_out, given.test]
    assert tuple(len(x) for x, _ in three) == task.rows == tuple(len(y) for _, y in three)
    own = [rows_of(np.hstack([x.reshape(len(x), -1), y.reshape(len(y), -1)])) for x, y in three]
    repeated = {"concrete": 60, "diamonds": 30}.get(data, 0)  # mixtures that stand there twice
    assert sum(map(len, own)) >= sum(task.rows) - repeated
    assert sum(len(one & other) for one in own for other in own if one is not other) <= repeated
    assert not np.array_equal(parts(data, 4).test[0], given.test[0])


def test_samples_of_diamonds_share_no_row_with_those_of_another_split():
    x = tasks.TABLES["diamonds"]().x
    number = sum(TASKS["diamonds"].rows)
    assert (shootout.SPLITS + 1) * number <= len(x)
    order = np.random.default_rng(2020).permutation(len(x))
    one, other = order[:number], order[number : 2 * number]
    assert not set(one) & set(other)
    given = parts("diamonds", 1)
    mean, std = x[other[:3000]].mean(axis=0), x[other[:3000]].std(axis=0)
    np.testing.assert_allclose(given.train[0] * std + mean, x[other[:3000]], atol=1e-9)


def test_diamonds_without_a_size_are_left_out():
    own, every = tasks.sized_diamonds(), diamonds()
    sizes = [every.x[:, every.names.index(name)] for name in "xyz"]
    wrong = np.any([(size == 0.0) | (size > 30.0) for size in sizes], axis=0)
    assert wrong.sum() == len(every) - len(own) == 23
    np.testing.assert_array_equal(own.x, every.x[~wrong])
    np.testing.assert_array_equal(own.y, every.y[~wrong])


@pytest.mark.parametrize("data", ["concrete", "diamonds"])
def test_the_rows_to_train_on_standardize_a_table(data):
    given = parts(data, 2)
    x, y = given.train
    np.testing.assert_allclose(x.mean(axis=0), 0, atol=1e-12)
    assert set(np.round(x.std(axis=0), 9)) <= {0.0, 1.0}
    assert y.std() == pytest.approx(1)
    assert given.unit > 10  # MPa, dollars


@pytest.mark.parametrize("data", TASKS)
def test_shifts_grow_and_what_is_foreign_is_of_one_kind(data):
    given = parts(data, 0)
    assert list(given.shifted) == (["rotation", "noise"] if TASKS[data].classes else ["noise"])
    for inputs in given.shifted.values():
        assert len(inputs) == 5
        first = given.test[0][: len(inputs[0])]
        far = [np.sqrt(np.mean((x - first) ** 2)) for x in inputs]
        assert far == sorted(far) and far[0] > 0
    assert given.foreign.shape[1:] == given.test[0].shape[1:]
    if not TASKS[data].classes:  # the same values in each column, in another order
        np.testing.assert_array_equal(np.sort(given.foreign, 0), np.sort(given.test[0], 0))
        assert not rows_of(given.foreign) & rows_of(given.test[0]) or data == "diamonds"


def test_no_two_starts_have_one_seed():
    found = [
        shootout.seed(data, name, split, start)
        for data, task in TASKS.items()
        for name in shootout.CONTESTANTS
        for split in range(shootout.SPLITS + 1)
        for start in range(max(task.starts, 6))
    ]
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("data", TASKS)
def test_one_larger_network_has_as_many_parameters_as_the_ensemble(data):
    rows = shootout.CONTESTANTS
    wide, deep = (
        counting.count(shootout.network(TASKS[data], rows[name], rows[name].tries[0])).total
        for name in ("wide", "deep_ensemble")
    )
    assert deep == 4 * TASKS[data].total(1.0)
    assert wide == pytest.approx(deep, rel=0.01)


def test_each_has_six_settings_and_those_of_half_the_width_none_of_their_own():
    for name, row in shootout.CONTESTANTS.items():
        assert len(row.tries) == 6
        assert bool(row.like) == (name in shootout.WIDTHS)
        if row.like:
            assert shootout.CONTESTANTS[row.like].tries == row.tries
            assert shootout.CONTESTANTS[row.like].method == row.method


def test_dropout_stands_behind_each_relu_and_drops_channels_of_images():
    net = contestants.dropped(lenet5(), 0.3)
    follows = [type(net[i + 1]) for i, part in enumerate(net) if isinstance(part, nn.ReLU)]
    assert follows == [nn.Dropout2d, nn.Dropout2d, nn.Dropout, nn.Dropout]
    task, row = TASKS["digits"], shootout.CONTESTANTS["mc_dropout"]
    own = shootout.network(task, row, {"p": 0.3, "lr": 0.01})
    assert [part.p for part in own.modules() if isinstance(part, MCDropout)] == [0.3, 0.3]


@pytest.mark.parametrize("name", OWN)
def test_a_contestant_is_trained_and_repeats_its_forecast(name):
    given = parts("digits", 0)
    few = tasks.Parts(
        train=tuple(part[:64] for part in given.train), held_out=given.held_out, test=given.test,
        foreign=given.foreign,
    )  # fmt: skip
    row = shootout.CONTESTANTS[name]
    trained = shootout.train("digits", name, row.tries[0], few, 7)
    x, y = few.test
    logits = trained(x).logits
    draws = row.method in ("rank1", "mean_field", "mc_dropout")
    passes = 32 if draws else 1 if row.method == "single" else 4
    assert logits.shape == (passes, len(x), 10)
    np.testing.assert_array_equal(trained(x).logits, logits)
    assert (np.ptp(logits, axis=0).max() > 1e-3) == (passes > 1)
    assert trained(x).scores(y)["nll"] < math.log(10)
    assert trained.kept == counting.count(trained.net).total


def test_a_forecast_of_numbers_is_the_mixture(rng):
    found, y = numbers(rng)
    unit = 3.7
    scored = found.scores(y, unit)
    density = scipy.stats.norm(found.mean * unit, np.sqrt(found.variance) * unit)
    assert scored["nll"] == pytest.approx(-np.log(density.pdf(y * unit).mean(axis=0)).mean())
    assert scored["rmse"] == pytest.approx(
        unit * np.sqrt(np.mean((found.mean.mean(axis=0) - y) ** 2))
    )

    def quantile(i, level):
        return scipy.optimize.brentq(lambda t: density.cdf(t)[:, i].mean() - level, -99, 99)

    low, high = (np.array([quantile(i, level) for i in range(len(y))]) for level in (0.05, 0.95))
    assert scored["width"] == pytest.approx((high - low).mean(), rel=1e-6)
    assert scored["coverage"] == np.mean((low <= y[:, 0] * unit) & (y[:, 0] * unit <= high))


def test_scaled_numbers_are_one_gaussian_whose_held_out_errors_have_the_right_size(rng):
    found, y = numbers(rng, examples=101)
    scaled = found.sharpened(found, y)
    mean, variance = uncertainty.mixture(found.mean, found.variance)
    assert np.mean((y - mean) ** 2 / scaled.variance[0]) == pytest.approx(1)
    factor = scaled.variance[0] / variance
    assert np.ptp(factor) < 1e-12
    best = scipy.optimize.minimize_scalar(
        lambda log: Numbers(mean[None], math.exp(log) * variance[None]).scores(y)["nll"]
    )
    assert math.log(factor[0, 0]) == pytest.approx(best.x, abs=1e-4)


def test_scaled_classes_have_the_best_temperature(rng):
    found, _ = classes(rng)
    held_out, known = classes(rng)
    scaled = found.sharpened(held_out, known)
    log = np.log(held_out.averaged)
    best = scipy.optimize.minimize_scalar(
        lambda by: Classes(log[None] / by).scores(known)["nll"], bounds=(0.01, 20)
    )
    expected = Classes(np.log(found.averaged)[None] / best.x)
    np.testing.assert_allclose(scaled.averaged, expected.averaged, atol=1e-4)
    sure = Classes(100.0 * np.eye(7)[known][None])
    np.testing.assert_allclose(
        found.sharpened(sure, known).averaged, found.averaged
    )  # all right: as it was


@pytest.mark.parametrize("make", [numbers, classes])
def test_conformal_intervals_hold_what_they_promise(make, rng):
    """Of 39 held-out errors the 36th is not exceeded with probability 36 / 40."""
    covered = []
    for _ in range(200):
        found, y = make(rng, examples=139)
        one, other = np.arange(39), np.arange(39, 139)
        cut = (
            (lambda rows, f=found: Numbers(f.mean[:, rows], f.variance[:, rows]))
            if make is numbers
            else (lambda rows, f=found: Classes(f.logits[:, rows]))
        )
        inside = cut(other).conformal(y[other], cut(one), y[one])
        covered.append(inside["coverage"])
    assert np.mean(covered) == pytest.approx(36 / 40, abs=0.012)


def test_a_conformal_quantile_is_the_ranked_value():
    values = np.arange(1.0, 40.0)[::-1]  # 39 values: rank ⌈40 · 0.9⌉ = 36
    assert scores.quantile(values) == 36
    assert scores.quantile(np.arange(8.0)) == math.inf  # too few to promise anything


def test_a_conformal_set_holds_all_classes_as_likely_as_labels_were():
    p = np.array([[0.7, 0.2, 0.1], [0.4, 0.35, 0.25], [0.05, 0.05, 0.9]])
    held_out = Classes(np.log(np.tile([[0.3, 0.5, 0.2]], (9, 1)))[None])
    known = np.zeros(9, dtype=int)  # each label had .3
    inside = Classes(np.log(p)[None]).conformal(np.array([0, 2, 0]), held_out, known)
    assert inside == {"coverage": 1 / 3, "size": pytest.approx((1 + 2 + 1) / 3)}


def test_doubt_is_entropy_or_the_standard_deviation_of_the_mixture(rng):
    found, _ = numbers(rng)
    np.testing.assert_allclose(
        found.doubt**2,
        (found.variance + found.mean**2).mean(0)[:, 0] - found.mean.mean(0)[:, 0] ** 2,
    )
    found, _ = classes(rng)
    p = found.averaged
    np.testing.assert_allclose(found.doubt, -(p * np.log(p)).sum(axis=1))


@pytest.mark.parametrize("data", ["digits", "concrete"])
def test_a_row_is_the_scores_of_what_was_trained(data):
    setting = shootout.CONTESTANTS["single"].tries[4]
    row = shootout.run(data, "single", 5, starts=1, setting=setting)
    given, own = parts(data, 5), shootout.seed(data, "single", 5, 0)
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
    found = shootout.unfolded(table["rows"])
    names = dict.fromkeys(row["contestant"] for row in found)
    assert len(found) == len(table["rows"]) + 2 * shootout.SPLITS
    assert {"single_scaled", "wide_scaled"} == names.keys() - shootout.CONTESTANTS.keys()
    pairs = {(row["contestant"], row["split"]): row for row in found}
    plain, scaled = pairs["single", 3], pairs["single_scaled", 3]
    assert scaled["error"] == plain["error"] and scaled["nll"] != plain["nll"]
    assert scaled["parameters"] == plain["parameters"]


@pytest.mark.parametrize("data", tables())
def test_a_summary_is_of_paired_differences(data):
    table = measured.load(f"shootout-{data}")
    rows = shootout.unfolded(table["rows"])
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
    assert reading.tried("concrete", "wide", "nll", 240).shape == (6, shootout.TRIED_SPLITS)
    third = measured.row(rows, contestant="wide", number=2, epochs=240, split=4)
    assert reading.tried("concrete", "wide", "nll", 240)[2, 4] == third["nll"]


def test_trying_out_is_training_with_that_setting():
    given = parts("concrete", 2)
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


@pytest.mark.filterwarnings("ignore")  # of what other packages import
@pytest.mark.parametrize("data", ["digits", "concrete"])
@pytest.mark.parametrize("name", ["laplace", "ivon", "swag"])
def test_a_package_trains_its_contestant(data, name):
    pytest.importorskip("ivon")  # of the three the one that imports at once
    given = parts(data, 0)
    trained = shootout.train(data, name, shootout.CONTESTANTS[name].tries[1], given, 7)
    x, y = given.test
    assert trained(x).scores(y)["nll"] < (1.2 if TASKS[data].classes else 2)
    first, again = trained(x), trained(x)
    if TASKS[data].classes:
        assert first.logits.shape == (others.DRAWS, len(x), 10)
        np.testing.assert_array_equal(first.logits, again.logits)
    assert trained.kept > TASKS[data].total(1.0)


def test_torch_has_the_threads_that_it_had():
    threads = torch.get_num_threads()
    shootout.run("digits", "single", 1, starts=1, setting=shootout.CONTESTANTS["single"].tries[0])
    assert torch.get_num_threads() == threads


@pytest.mark.parametrize("data", tables())
def test_means_are_over_splits_and_starts(data):
    rows = shootout.unfolded(measured.load(f"shootout-{data}")["rows"])
    found = reading.means(data)
    assert list(found) == [name for name in reading.NAMES if name in found]
    for name in ("rank1", "wide_scaled"):
        own = [row for row in rows if row["contestant"] == name]
        assert found[name]["nll"] == pytest.approx(np.mean([row["nll"] for row in own]))
        assert found[name]["kept"] == own[3]["kept"]
    one = [row for row in rows if row["contestant"] == "single"]
    deep = [row for row in rows if row["contestant"] == "deep_ensemble"]
    ratios = [a["train_seconds"] / b["train_seconds"] for a, b in zip(deep, one, strict=True)]
    assert found["deep_ensemble"]["train"] == pytest.approx(np.median(ratios))
    assert found["single"]["train"] == found["single"]["predict"] == 1
    assert reading.relative(data, "deep_ensemble") == 4
    assert reading.shifted(data, "single", "noise nll")[2] == pytest.approx(
        np.mean([row["shifted"]["noise nll"][2] for row in one])
    )


@pytest.mark.parametrize("data", tables())
def test_points_are_the_differences_from_one_network(data):
    points, sure, colors = reading.points(data)
    summary = measured.load(f"shootout-{data}")["summary"]
    drawn = {
        (name, words): (size, *interval)
        for name, own in points.items()
        for words, size, interval in own
    }
    assert len(drawn) == len(reading.means(data)) - 1
    entry = measured.row(summary, contestant="ivon", than="single", score="nll")
    interval = tuple(entry[key] for key in ("low", "difference", "high"))
    assert drawn["IVON", ""] == (2, *interval)
    assert colors["IVON"] == "mean_field"
    resolved = {(name, words) for name, own in sure.items() for words in own}
    assert ("IVON" in {name for name, _ in resolved}) == bool(entry["verdict"])
    if data != "lenet":
        half = measured.row(summary, contestant="batch_ensemble_half", than="single", score="nll")
        assert drawn["batch_ensemble", "½"][2] == half["difference"]


def test_each_name_is_of_one_contestant():
    assert len(set(reading.LABELS.values())) == len(reading.NAMES)
    assert set(reading.COLORS) == set(reading.LABELS.values())
    with pytest.raises(ValueError, match=r"data must be one of .*got 'mnits'"):
        reading.means("mnits")
