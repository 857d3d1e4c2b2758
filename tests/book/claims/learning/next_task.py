"""What *The next task* claims, by its table and by the code of its experiment."""

from typing import Any

import numpy as np
import torch

from tests.book.claiming import Claims
from workshop import measured
from workshop.experiments import lifelong

CLAIMS = Claims(
    "learning/next-task",
    unclaimed={
        "Train a network to tell 0 from 1": "what the tasks are",
        "biases of member 1": "what learns the first task",
        "the trained W of task 1": "what is tried",
        "need not tell 8 from 9": "a guess, and called so",
    },
)
says, reads, RATES = CLAIMS.says, CLAIMS.reads, lifelong.RATES


def of(name: str, key: str) -> tuple[Any, ...]:
    """Return the way to what all rows of a contestant hold."""
    return "lifelong", "rows", {"contestant": name}, key


def tells(said: str, name: str, key: str, score: str = "later") -> None:
    """Claim what the summary says of a contestant, a word or a number."""
    way = "lifelong", "summary", {"contestant": name, "score": score}, key
    if key == "verdict":
        reads(said, *way, of=lambda word: (word or "unclear") in said, to="unknown")
    else:
        reads(said, *way, of=lambda found: -found if "below" in said else found, times=0.9)


def splits(table: str) -> set[int]:
    """Return the splits of a table."""
    return {row["split"] for row in measured.load(table)["rows"]}


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
    frozen = {name for name, one in lifelong.CONTESTANTS.items() if one.frozen_from <= 1}
    rows = [row for row in measured.load("lifelong")["rows"] if row["contestant"] in frozen]
    return all(len({*accuracies}) == 1 for row in rows for accuracies in row["first"])


# fmt: off
reads("of 0 and 1 right", *of("fine_tuned", "first"), of=lambda one: one[:, 0].mean() > 0.9995,
      times=0.9)
reads("only 84%", *of("fine_tuned", "first"), of=lambda one: one[:, -1].mean(), times=0.95)
says("Here five tasks are learned in a row", lambda: len(lifelong.tasks(0)))
says("nothing that it needs is ever changed", first_task_kept)
reads("A later task adds 514 parameters", *of("signs", "added"))
says("384 of them are fast weights and biases", lambda: 2 * (64 + 64 + 64))
says("and 130 are its head", lambda: 64 * 2 + 2)
reads("adds just the 130 parameters", *of("head_random", "added"))
reads("0.975 on the later tasks", *of("head_random", "later"), of=np.mean)
tells("fast weights from random signs 0.986", "signs", "mean")
tells("The difference is unclear", "signs", "verdict")
tells("add anything to heads alone is unclear", "signs", "verdict")
tells("is better than heads alone", "own", "verdict")
tells("by 0.019, but", "own", "difference")
reads("adds 8,450 parameters", *of("own", "added"))
tells("there it is 0.064 below", "fine_tuned", "difference", "earlier")
tells("below heads alone, which is worse", "fine_tuned", "verdict", "earlier")
tells("they end 0.003 below", "copied", "difference")
tells("below heads alone, which is unclear", "copied", "verdict")
tells("they reach only 0.800", "head", "mean")
says("remember everything, and the reason", frozen_remember)
says("64-64-64 and a head of 2",
     lambda: (*lifelong.BODY, lifelong.Lifelong("own").heads[0].out_features))
reads("20 epochs a task", "lifelong", "settings", "epochs")
reads("batches of 32", "lifelong", "settings", "batch_size")
says("10 random splits of the digits", lambda: len(splits("lifelong")))
reads("2 initializations on each", "lifelong", "settings", "starts")
says("four learning rates, from 0.003 to 0.1", lambda: (len(RATES), min(RATES), max(RATES)))
says("on three other splits", lambda: len(splits("lifelong-tuning") - splits("lifelong")))
says("best at the lowest rate, so",
     lambda: RATES[lifelong.CONTESTANTS["fine_tuned"].chosen] == min(RATES))
says("over ten differences",
     lambda: sum("p" in one for one in measured.load("lifelong")["summary"]))
