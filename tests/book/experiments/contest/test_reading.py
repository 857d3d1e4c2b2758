"""What pages say of the contest is in its tables."""

import itertools
import math

import numpy as np
import pytest

from ensedu.book.experiments.contest import reading
from ensedu.book.experiments.contest.tasks import TASKS
from ensedu.contest.contestants import AGAIN, CONTESTANTS, REFERENCE
from ensedu.contest.networks import MEMBERS, PASSES
from ensedu.contest.statistics import CLIP, DELTA, mean_intervals, pooled, source_means
from ensedu.plot.forest import EQUAL
from tests.contest import small

SIMULATED = 2000


def by_hand(task, contestant, score, scaled=False):
    """Return a score (splits, starts) from the rows of a table."""
    own = [row for row in reading.rows(task) if row["contestant"] == contestant]
    own.sort(key=lambda row: row["split"])
    return np.array([(row["scaled"] if scaled else row)[score] for row in own])


@pytest.mark.parametrize("score", reading.SCORES)
def test_scores_are_those_of_the_rows(score):
    for one in reading.task_scores(score):
        assert {*one.values} == {*CONTESTANTS, *AGAIN, reading.SCALED}
        for name, values in one.values.items():
            scaled = name == reading.SCALED
            own = by_hand(one.name, REFERENCE if scaled else name, score, scaled)
            np.testing.assert_array_equal(values, own)
        assert one.classes == bool(TASKS[one.name]().classes)
    kinds = {one.classes for one in reading.task_scores(score)}
    assert kinds == set(reading.SCORES[score][2])


def test_all_but_the_reference_are_compared_and_what_a_temperature_cannot_change_is_not():
    assert [*reading.compared("nll")] == [
        *(n for n in CONTESTANTS if n != REFERENCE),
        reading.SCALED,
    ]
    assert reading.SCALED not in reading.compared("error")
    assert REFERENCE in reading.compared("nll", reading.SCALED)


def test_a_pair_has_one_word_whoever_is_the_reference():
    turned = {"better": "worse", "worse": "better"}
    names = [*CONTESTANTS, reading.SCALED]
    for one, other in itertools.combinations(names, 2):
        there, back = (reading.compared("nll", b)[a] for a, b in ((one, other), (other, one)))
        assert back.word == turned.get(there.word, there.word), (one, other)
        assert back.adjusted == there.adjusted


def test_beside_one_network_holm_counts_its_own_family_and_else_the_less_certain_of_two():
    scores, names = reading.task_scores("nll"), [*CONTESTANTS, reading.SCALED]
    families = {
        name: pooled(scores, reference=name, contestants=[n for n in names if n != name])
        for name in (REFERENCE, "wide", "deep_ensemble")
    }
    for name, one in families[REFERENCE].items():
        assert reading.compared()[name].adjusted == one.adjusted
    both = families["wide"]["deep_ensemble"].adjusted, families["deep_ensemble"]["wide"].adjusted
    assert both[0] != both[1]
    assert reading.compared("nll", "wide")["deep_ensemble"].adjusted == max(both)


def test_one_network_under_a_second_name_is_neither_better_nor_worse():
    found = pooled(reading.task_scores("nll"), reference=REFERENCE, contestants=[*AGAIN])
    assert found["again"].word in ("unclear", "practically equal")


def test_nor_is_it_when_its_rows_are_dealt_again():
    """Of each split the four trainings of one network are dealt to two names, 2,000 times."""
    rng = np.random.default_rng(0)
    tasks, differences = reading.task_scores("nll"), []
    for task in tasks:
        four = np.concatenate([task.values[REFERENCE], task.values["again"]], axis=1)
        dealt = rng.permuted(np.broadcast_to(four, (SIMULATED, *four.shape)), axis=2)
        difference = dealt[..., :2].mean(axis=(1, 2)) - dealt[..., 2:].mean(axis=(1, 2))
        differences.append(np.clip(difference / task.unit, -CLIP, CLIP))
    values = source_means(np.stack(differences, axis=1), [task.source for task in tasks])
    p = mean_intervals(values)[2]
    assert (p < 0.05).mean() < 0.05 + 3 * math.sqrt(0.05 * 0.95 / SIMULATED)


def test_the_forest_has_the_pooled_numbers():
    names = ["deep_ensemble", "wide", reading.SCALED]
    found = reading.effects(names)
    assert [*found] == ["deep ensemble", "one larger network", "one network, with a temperature"]
    assert [one.method for one in found.values()] == ["deep_ensemble", None, None]
    assert EQUAL == DELTA
    for name, one in zip(names, found.values(), strict=True):
        own = reading.compared()[name]
        assert one.interval == (own.interval.low, own.interval.mean, own.interval.high)
        assert [*one.sources] == [*own.sources.values()] and one.word == own.word


def test_what_nobody_planned_has_the_same_units_and_no_word():
    for name, reference in ((reading.SCALED, REFERENCE), ("wide", "deep_ensemble")):
        (planned,) = reading.effects([name], reference=reference).values()
        found = reading.unplanned(name, reference)
        assert found.interval == pytest.approx(planned.interval, abs=1e-12)
        assert found.prediction == pytest.approx(planned.prediction, abs=1e-12)
        assert found.sources == pytest.approx(planned.sources, abs=1e-12)
        assert (found.word, found.method) == ("", planned.method)


def test_a_task_may_be_left_out_of_what_nobody_planned():
    found = reading.unplanned("wide", without=["lenet"])
    own = reading.robustness("wide").alone["mlps"]
    assert found.interval == pytest.approx((own.low, own.mean, own.high), abs=1e-12)
    with pytest.raises(ValueError, match=r"^without must be .*lenet.*, got 'lenet5'"):
        reading.unplanned("wide", without=["lenet5"])


@pytest.mark.parametrize("argument", ["contestant", "reference"])
def test_what_is_no_contestant_cannot_be_compared(argument):
    with pytest.raises(ValueError, match=f"^{argument} must be .*wide_scaled.*, got 'wider'"):
        reading.unplanned(**{"contestant": "wide_scaled", argument: "wider"})


def test_costs_are_ratios_on_the_same_split():
    assert reading.costs(REFERENCE) == dict.fromkeys(reading.COSTS, 1.0)
    logs = []
    for task in reading.tasks():
        own, one = (
            {row["split"]: row["kept"] for row in reading.rows(task) if row["contestant"] == name}
            for name in ("deep_ensemble", REFERENCE)
        )
        logs.append(math.log(sorted(own[k] / one[k] for k in own)[len(own) // 2]))
    assert reading.costs("deep_ensemble")["kept"] == pytest.approx(
        math.exp(sum(logs) / len(logs)), rel=1e-12
    )


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
        assert outputs(name) == reading.passes(name), name
    assert outputs("last_layer") == MEMBERS and reading.passes("last_layer") == 1
    assert reading.costs("last_layer")["predict_seconds"] < 1.2


def test_passes_are_those_of_the_measured_time():
    """What is no network has none, and those with many take long."""
    for name in CONTESTANTS:
        passes = reading.passes(name)
        assert (passes is None) == (name in ("boosting", "linear"))
        if passes == PASSES:
            assert reading.costs(name)["predict_seconds"] > 2, name


def test_prices_are_those_of_all_and_a_temperature_costs_nothing():
    found = reading.prices()
    assert [*found][:3] == [REFERENCE, reading.SCALED, "wide"]
    assert {*found} == {*CONTESTANTS, reading.SCALED}
    assert found[reading.SCALED] == dict.fromkeys([*reading.COSTS, "passes"], 1)
    assert found["rank1"] == reading.costs("rank1") | {"passes": 32}


def test_forests_stand_beside_one_network_and_beside_one_with_a_temperature():
    found = reading.forests()
    assert {*found} == {*map(reading.label, (REFERENCE, reading.SCALED))}
    for beside, rows in found.items():
        other = reading.SCALED if beside == reading.label(reading.SCALED) else REFERENCE
        own = reading.compared("nll", other)
        assert {*rows} == {*map(reading.label, own)} and beside not in rows
        for name, one in own.items():
            assert rows[reading.label(name)].interval[1] == one.interval.mean
            assert [*rows[reading.label(name)].sources] == [*one.sources.values()]


def test_means_of_a_task_are_those_of_its_rows():
    task = reading.tasks()[0]
    found = reading.means(task)
    assert {*found} == {*CONTESTANTS, reading.SCALED}
    for name, scores in found.items():
        scaled = name == reading.SCALED
        for score, (mean, difference) in scores.items():
            own = by_hand(task, REFERENCE if scaled else name, score, scaled)
            assert mean == pytest.approx(own.mean(), rel=1e-12)
            one = by_hand(task, REFERENCE, score)
            assert (difference is None) == (name == REFERENCE)
            if difference:
                gap = (own.mean(axis=1) - one.mean(axis=1)).mean()
                assert difference.mean == pytest.approx(gap, rel=1e-9, abs=1e-12)
    asked = bool(TASKS[task]().classes)
    assert {*found[REFERENCE]} == {k for k, (*_, kinds) in reading.SCORES.items() if asked in kinds}
