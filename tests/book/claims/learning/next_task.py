"""What *The next task* claims, by its table and by the code of its experiment."""

import numpy as np
import torch

from ensedu import uncertainty
from ensedu.book import measured
from ensedu.book.experiments import lifelong
from tests.book.claiming import Change, Claims

CLAIMS = Claims(
    "learning/next-task",
    unclaimed={
        "Train a network to tell 0 from 1": "what the tasks are",
        "biases of member 1": "what learns the first task",
        "the trained W of task 1": "what is tried",
        "need not tell 8 from 9": "a guess, and called so",
    },
)


def entry(name: str, score: str = "later") -> dict:
    """Return an entry of the summary."""
    return measured.row(measured.load("lifelong")["summary"], contestant=name, score=score)


def changed(name: str, score: str, key: str, **change) -> Change:
    """Return a change of an entry of the summary."""
    where = {"contestant": name, "score": score}
    return Change("lifelong", "summary", where, key, **change)


def added(name: str) -> int:
    """Return how many parameters a task adds."""
    rows = measured.load("lifelong")["rows"]
    (number,) = {row["added"] for row in rows if row["contestant"] == name}
    return number


@CLAIMS.says(
    "forgets", "after five tasks only 84% of them",
    Change("lifelong", "rows", {"contestant": "fine_tuned"}, "first", times=0.95),
)  # fmt: skip
def _() -> None:
    rows = measured.load("lifelong")["rows"]
    first = np.mean([r["first"] for r in rows if r["contestant"] == "fine_tuned"], axis=(0, 1))
    assert len(first) == lifelong.TASKS == 5
    assert first[0] > 0.9995
    assert round(100 * first[-1]) == 84


@CLAIMS.says("tasks", "Here five tasks are learned in a row")
@CLAIMS.says("frozen", "nothing that it needs is ever changed")
def _() -> None:
    """With a minibatch a task; that W moves in the first one shows that anything could."""
    net, tasks = lifelong.network("signs", 0), lifelong.tasks(0)
    assert len(tasks) == 5
    kept = []
    for task, (train, _) in enumerate(tasks):
        few = tuple(part[:32] for part in train)
        assert {*train[1].tolist()} == {0, 1}
        lifelong.learn_task(net, task, few, lr=0.03, epochs=2, batch_size=32, seed=0)
        own = {name: p.detach().clone() for name, p in net.body.named_parameters()}
        kept.append(
            {name: p if name.endswith("weight") else p[0] for name, p in own.items()}
            | {f"head {name}": p.detach().clone() for name, p in net.heads[0].named_parameters()}
        )
    for later in kept[1:]:
        assert all(torch.equal(later[name], kept[0][name]) for name in later)
    fresh = lifelong.network("signs", 0).body[0].weight
    assert not torch.equal(kept[0]["0.weight"], fresh)


@CLAIMS.says(
    "adds", "A later task adds 514 parameters",
    Change("lifelong", "rows", {"contestant": "signs"}, "added", times=2),
)  # fmt: skip
@CLAIMS.says(
    "head-adds", "adds just the 130 parameters",
    Change("lifelong", "rows", {"contestant": "head_random"}, "added", times=2),
)  # fmt: skip
def _() -> None:
    """By hand: a layer 64-64 has 64 + 64 + 64 of a member, a head 2 * 64 + 2."""
    assert (added("signs"), added("head_random")) == (384 + 130, 130)
    assert 2 * (64 + 64 + 64) == 384
    assert 2 * 64 + 2 == 130
    assert lifelong.BODY == (64, 64, 64)


@CLAIMS.says(
    "heads",
    "and fast weights from random signs 0.986",
    changed("signs", "later", "mean", times=0.99),
)
@CLAIMS.says(
    "unclear", "The difference is unclear", changed("signs", "later", "verdict", to="better")
)
@CLAIMS.says("small", "Whether these add anything to heads alone")
def _() -> None:
    assert np.isclose(entry("head_random")["mean"], 0.975, rtol=0, atol=0.0006)
    found = entry("signs")
    assert round(found["mean"], 3) == 0.986
    assert not found["verdict"]
    assert found["high"] < 0.02


@CLAIMS.says(
    "own", "adds 8,450 parameters", changed("own", "later", "difference", times=1.1),
    changed("own", "later", "verdict", to=""),
)  # fmt: skip
@CLAIMS.says(
    "trained-on", "there it is 0.064 below", changed("fine_tuned", "earlier", "verdict", to="")
)
def _() -> None:
    own, trained = entry("own"), entry("fine_tuned", "earlier")
    assert (round(own["difference"], 3), own["verdict"], added("own")) == (0.019, "better", 8450)
    assert (round(trained["difference"], 3), trained["verdict"]) == (-0.064, "worse")


@CLAIMS.says("copied", "they end 0.003 below", changed("copied", "later", "difference", times=2))
@CLAIMS.says("trained-w", "they reach only 0.800", changed("head", "later", "mean", times=1.01))
def _() -> None:
    copied = entry("copied")
    assert (round(copied["difference"], 3), copied["verdict"]) == (-0.003, "")
    assert round(entry("head")["mean"], 3) == 0.8
    assert entry("head")["verdict"] == "worse"


@CLAIMS.says("sizes", "64-64-64 and a head of 2", Change("lifelong", "settings", "epochs", to=21))
@CLAIMS.says("rates", "from 0.003 to 0.1")
@CLAIMS.says("lowest", "best at the lowest rate, so one below")
@CLAIMS.says("remember", "remember everything, and the reason")
def _() -> None:
    """Nobody whose W is frozen forgets: the accuracy on task 1 stays what it was."""
    table = measured.load("lifelong")
    assert table["settings"] == {"starts": 2, "epochs": 20, "batch_size": 32}
    assert {row["split"] for row in table["rows"]} == {*range(10)}
    assert (min(lifelong.RATES), max(lifelong.RATES), len(lifelong.RATES)) == (0.003, 0.1, 4)
    tuning = measured.load("lifelong-tuning")["rows"]
    trained_on = {
        lr: np.mean([row["accuracy"] for row in tuning
                     if (row["contestant"], row["lr"]) == ("fine_tuned", lr)])
        for lr in lifelong.RATES
    }  # fmt: skip
    assert max(trained_on, key=trained_on.get) == 0.003
    tried = {row["split"] for row in tuning}
    assert len(tried) == 3
    assert not tried & {row["split"] for row in table["rows"]}
    for row in table["rows"]:
        if lifelong.CONTESTANTS[row["contestant"]].frozen_from <= 1:
            assert (np.ptp(row["first"], axis=1) == 0).all()


@CLAIMS.says(
    "holm", "Holm's correction is over ten differences",
    changed("signs", "later", "adjusted", times=0.5),
)  # fmt: skip
def _() -> None:
    found = [row for row in measured.load("lifelong")["summary"] if "p" in row]
    assert len(found) == 10
    adjusted = uncertainty.holm([row["p"] for row in found])
    assert np.allclose(adjusted, [row["adjusted"] for row in found], rtol=1e-3)
