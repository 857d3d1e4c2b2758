"""What *The next task* claims, by its table and by the code of its experiment."""

import numpy as np
import torch

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
says, RATES, TUNING = CLAIMS.says, lifelong.RATES, "lifelong-tuning"


def of(name: str, key: str, table: str = "lifelong") -> np.ndarray:
    """Return what all rows of a contestant hold."""
    return np.array([r[key] for r in measured.load(table)["rows"] if r["contestant"] == name])


def row(name: str, key: str, times: float = 2) -> Change:
    """Return a change of it."""
    return Change("lifelong", "rows", {"contestant": name}, key, times=times)


def added(name: str) -> np.ndarray:
    """Return how many parameters a task adds."""
    return np.unique(of(name, "added"))


def tells(said: str, name: str, key: str, score: str = "later") -> None:
    """Claim what the summary holds of a contestant, a number or a word."""
    where = {"contestant": name, "score": score}

    def found() -> float | bool:
        value = measured.row(measured.load("lifelong")["summary"], **where)[key]
        if key == "verdict":
            return (value or "unclear") in said
        return -value if "below" in said else value

    change = {"to": "unknown"} if key == "verdict" else {"times": 0.9}
    says(said, found, Change("lifelong", "summary", where, key, **change))


def first_task_kept() -> bool:
    """Say whether all that the first task needs stays as it is, with a minibatch a task."""
    net, kept = lifelong.network("signs", 0), []
    fresh = net.body[0].weight.detach().clone()
    for task, (train, _) in enumerate(lifelong.tasks(0)):
        few = tuple(part[:32] for part in train)
        lifelong.learn_task(net, task, few, lr=0.03, epochs=2, batch_size=32, seed=0)
        own = [p if name.endswith("weight") else p[0] for name, p in net.body.named_parameters()]
        kept.append([p.detach().clone() for p in (*own, *net.heads[0].parameters())])
    same = all(map(torch.equal, one, other) for one in kept for other in kept)
    return same and not torch.equal(kept[0][0], fresh)


def frozen_remember() -> bool:
    """Say whether nobody whose W is frozen forgets the first task, from any start."""
    frozen = [name for name, one in lifelong.CONTESTANTS.items() if one.frozen_from <= 1]
    return all((np.ptp(of(name, "first"), axis=-1) == 0).all() for name in frozen)


says("of 0 and 1 right", lambda: of("fine_tuned", "first")[..., 0].mean() > 0.9995)
says(
    "only 84%", lambda: of("fine_tuned", "first")[..., -1].mean(), row("fine_tuned", "first", 0.95)
)
says("Here five tasks are learned in a row", lambda: len(lifelong.tasks(0)))
says("nothing that it needs is ever changed", first_task_kept)
says("A later task adds 514 parameters", lambda: added("signs"), row("signs", "added"))
says("384 of them are fast weights and biases", lambda: 2 * (64 + 64 + 64))
says("and 130 are its head", lambda: 64 * 2 + 2)
says("adds just the 130", lambda: added("head_random"), row("head_random", "added"))
says("0.975 on the later tasks", lambda: of("head_random", "later").mean())
tells("fast weights from random signs 0.986", "signs", "mean")
tells("The difference is unclear", "signs", "verdict")
tells("add anything to heads alone is unclear", "signs", "verdict")
tells("is better than heads alone", "own", "verdict")
tells("by 0.019, but", "own", "difference")
says("adds 8,450 parameters", lambda: added("own"), row("own", "added"))
tells("there it is 0.064 below", "fine_tuned", "difference", "earlier")
tells("below heads alone, which is worse", "fine_tuned", "verdict", "earlier")
tells("they end 0.003 below", "copied", "difference")
tells("below heads alone, which is unclear", "copied", "verdict")
tells("they reach only 0.800", "head", "mean")
says("remember everything, and the reason", frozen_remember)
says(
    "64-64-64 and a head of 2",
    lambda: (*lifelong.BODY, lifelong.Lifelong("own").heads[0].out_features),
)
says(
    "20 epochs a task, Adam, batches of 32",
    lambda: [measured.load("lifelong")["settings"][key] for key in ("epochs", "batch_size")],
    Change("lifelong", "settings", "epochs", to=21),
)
says("10 random splits of the digits, 2 initializations", lambda: of("own", "first").shape[:2])
says("four learning rates, from 0.003 to 0.1", lambda: (len(RATES), min(RATES), max(RATES)))
says("on three other splits", lambda: len({*of("own", "split", TUNING)} - {*of("own", "split")}))
says(
    "at the lowest rate, so one below",
    lambda: RATES[lifelong.CONTESTANTS["fine_tuned"].chosen] == min(RATES),
)
says(
    "over ten differences", lambda: sum("p" in one for one in measured.load("lifelong")["summary"])
)
