"""The bandit's agents: who learns from what, and the tables of the chapter."""

import numpy as np
import pytest

from ensedu.book import measured
from ensedu.book.experiments import bandits
from ensedu.book.experiments.bandits import (
    AGENTS,
    CHOSEN,
    EXPERIMENT,
    GRIDS,
    TUNING,
    best_settings,
    decisions,
)
from ensedu.data import bandit

SHORT = EXPERIMENT.settings | {"number": 120, "first": 10, "steps": 1}


def eaten(agent, mushrooms, seed=3, first=10, steps=1, **setting):
    return decisions(agent, mushrooms, seed, first, steps, **setting)


@pytest.fixture(scope="module")
def mushrooms():
    return bandit.sample(np.random.default_rng(7), 120)


@pytest.mark.parametrize("agent", AGENTS)
def test_a_seed_repeats_and_the_first_are_eaten_by_all(agent, mushrooms):
    mushrooms = bandit.Mushrooms(mushrooms.x[:60], mushrooms.poisonous[:60], mushrooms.pays[:60])
    one, again = eaten(agent, mushrooms), eaten(agent, mushrooms)
    assert np.array_equal(one, again)
    assert one[:10].all()
    assert not np.array_equal(one, eaten(agent, mushrooms, seed=4))


@pytest.mark.parametrize("agent", ["greedy", "thompson", "ensemble"])
def test_what_is_left_teaches_nothing(agent, mushrooms):
    before = eaten(agent, mushrooms)
    assert not before.all()
    pays = np.where(before, mushrooms.pays, 1e6)
    other = bandit.Mushrooms(mushrooms.x, ~mushrooms.poisonous, pays)
    assert np.array_equal(eaten(agent, other), before)


@pytest.mark.parametrize("agent", ["greedy", "thompson", "ensemble"])
def test_what_is_eaten_teaches(agent, mushrooms):
    for pay, most in ((-35.0, 0.1), (5.0, 1.0)):
        pays = np.full_like(mushrooms.pays, pay)
        other = bandit.Mushrooms(mushrooms.x, mushrooms.poisonous, pays)
        late = eaten(agent, other, steps=2, lr=0.02, posterior_std=0.02, beta=0.01)[-60:]
        assert late.mean() == pytest.approx(most, abs=0.1)


def test_coins(mushrooms):
    many = bandit.sample(np.random.default_rng(8), 4001)
    assert eaten("random", many).mean() == pytest.approx(0.5, abs=0.04)
    # A greedy agent that has learned to eat nothing still eats, with a coin, 2.5 % of them.
    nothing = bandit.Mushrooms(many.x[:499], many.poisonous[:499], np.full(499, -35.0))
    late = {
        agent: eaten(agent, nothing, steps=2, lr=0.003)[100:].mean()
        for agent in ("greedy", "explore")
    }
    assert late["greedy"] == 0
    assert late["explore"] == pytest.approx(0.025, abs=0.016)


def test_each_decision_has_a_draw_of_its_own(mushrooms):
    again = bandit.Mushrooms(
        np.repeat(mushrooms.x[:1], 120, axis=0), mushrooms.poisonous, mushrooms.pays
    )
    untrained = {"first": 0, "steps": 0}
    for agent in ("thompson", "ensemble"):
        part = eaten(agent, again, **untrained, posterior_std=0.5).mean()
        assert 0.1 < part < 0.9, agent
    for agent in ("thompson", "greedy"):
        assert len(set(eaten(agent, again, **untrained, posterior_std=1e-6))) == 1, agent


@pytest.mark.parametrize("agent", AGENTS)
def test_a_short_run(agent):
    found = bandits.run(agent, 0, **SHORT)
    assert len(found["regret"]) == 120 // bandits.EVERY
    assert (np.diff(found["regret"]) >= 0).all()
    assert 0 <= found["edible"] <= 1 and 0 <= found["poisonous"] <= 1


def test_each_has_as_many_settings():
    assert {len(grid) for grid in GRIDS.values()} == {8}
    assert all(len({str(one) for one in grid}) == 8 for grid in GRIDS.values())
    seeds = {case["seed"] for case in EXPERIMENT.cases}
    assert not seeds & {case["seed"] for case in TUNING.cases}
    assert len(seeds) >= 10


def test_the_chosen_settings_are_the_best_of_the_tuning():
    assert best_settings(measured.load("bandit-tuning")["rows"]) == CHOSEN


def test_agents_of_a_seed_find_the_same():
    rows = measured.load("bandit")["rows"]
    short = {"number": EXPERIMENT.settings["number"], "first": 20, "steps": 0, "chosen": {}}
    row = measured.row(rows, agent="random", seed=2)
    # The table has four digits.
    assert bandits.run("random", 2, **short)["regret"] == pytest.approx(row["regret"], rel=1e-3)


@pytest.mark.parametrize("agent", ["greedy", "thompson"])
def test_a_reduced_run_agrees_with_the_table(agent):
    settings = EXPERIMENT.settings
    whole = bandit.sample(np.random.default_rng(1), settings["number"])
    few = bandit.Mushrooms(whole.x[:120], whole.poisonous[:120], whole.pays[:120])
    own = decisions(
        agent, few, 1, settings["first"], settings["steps"], **settings["chosen"][agent]
    )
    row = measured.row(measured.load("bandit")["rows"], agent=agent, seed=1)
    # One decision that another processor turns changes all that follow.
    found = bandit.regret(own, few.poisonous)[bandits.EVERY - 1 :: bandits.EVERY]
    assert found.tolist() == pytest.approx(row["regret"][: 120 // bandits.EVERY], rel=0.2)


def test_a_summary_by_hand():
    rows = [
        {"agent": agent, "seed": seed, "regret": [1.0, end], "edible": 0.5, "poisonous": 0.25}
        for agent, ends in {"greedy": [4, 5, 6], "thompson": [2, 3, 4.1]}.items()
        for seed, end in enumerate(ends)
    ]
    greedy, thompson = bandits.summarize(rows)
    assert greedy == {"agent": "greedy", "regret": 5.0, "edible": 0.5, "poisonous": 0.25}
    assert thompson["difference"] == pytest.approx((2.0 + 2.0 + 1.9) / -3)
    assert thompson["low"] < thompson["difference"] < thompson["high"] < 0
    assert thompson["verdict"] == "better"
