"""What *The next task* claims, by its table and by the code of its experiment."""

import numpy as np
import torch

from tests.book.claiming import Claims, entry, every, reader
from workshop.experiments import next_task

CLAIMS = Claims("learning/next-task", unclaimed={
    "what the tasks are": ["Train a network to tell 0 from 1"],
    "what learns the first task": ["biases of member 1"],
    "what is tried": ["the trained W of task 1"],
    "a guess, and called so": ["need not tell 8 from 9"],
})  # fmt: skip
says, reads, RATES = CLAIMS.says, CLAIMS.reads, next_task.RATES
of = reader("next-task", "rows", by="contestant")
later = reader("next-task", "summary", by="contestant", score="later")
earlier = reader("next-task", "summary", by="contestant", score="earlier")


def first_task_kept() -> bool:
    """Say whether all that the first task needs stays as it is, with a minibatch a task."""
    net, kept = next_task.network("signs", 0), []
    fresh = net.body[0].weight.detach().clone()
    for task, (train, _) in enumerate(next_task.tasks(0)):
        few = tuple(part[:32] for part in train)
        next_task.learn_task(net, task, few, lr=0.03, epochs=2, batch_size=32, seed=0)
        own = [p if name.endswith("weight") else p[0] for name, p in net.body.named_parameters()]
        kept.append([p.detach().clone() for p in (*own, *net.heads[0].parameters())])
    same = all(all(map(torch.equal, one, other)) for one in kept for other in kept)
    return same and not torch.equal(kept[0][0], fresh)


def frozen_remember() -> bool:
    """Say whether nobody whose W is frozen forgets the first task, from any start."""
    frozen = [name for name, one in next_task.RECIPES.items() if one.frozen_from <= 1]
    rows = [every("next-task", "rows", {"contestant": name}, "first") for name in frozen]
    return all(len({*accuracies}) == 1 for each in rows for row in each for accuracies in row)


# fmt: off
says("of 0 and 1 right", lambda: of("fine_tuned", "first")[:, 0].mean() > 0.9995)
says("only 84%", lambda: of("fine_tuned", "first")[:, -1].mean())
says("Here five tasks are learned in a row", lambda: len(next_task.tasks(0)))
says("nothing that it needs is ever changed", first_task_kept)
says("A later task adds 514 parameters", lambda: of("signs", "added"))
says("384 of them are fast weights and biases", lambda: 2 * (64 + 64 + 64))
says("and 130 are its head", lambda: 64 * 2 + 2)
says("adds just the 130 parameters", lambda: of("head_random", "added"))
says("0.975 on the later tasks", lambda: np.mean(of("head_random", "later")))
says("fast weights from random signs 0.986", lambda: later("signs", "mean"))
says(["The difference is unclear", "add anything to heads alone is unclear"],
     lambda: later("signs", "verdict") == "")
says("is better than heads alone", lambda: later("own", "verdict") == "better")
says("by 0.019, but", lambda: later("own", "difference"))
says("adds 8,450 parameters", lambda: of("own", "added"))
says("there it is 0.064 below", lambda: -earlier("fine_tuned", "difference"))
says("below heads alone, which is worse", lambda: earlier("fine_tuned", "verdict") == "worse")
says("they reach only 0.800", lambda: later("head", "mean"))
says("remember everything, and the reason", frozen_remember)
says("64-64-64 and a head of 2",
     lambda: (*next_task.BODY, next_task.Lifelong("own").heads[0].out_features))
reads("20 epochs a task", "next-task", "settings", "epochs")
reads("batches of 32", "next-task", "settings", "batch_size")
says("10 random splits of the digits", lambda: len({*every("next-task", "rows", {}, "split")}))
reads("2 initializations on each", "next-task", "settings", "starts")
says("four learning rates, from 0.003 to 0.1", lambda: (len(RATES), min(RATES), max(RATES)))
says("on three other splits", lambda: len(np.setdiff1d(*(
    every(table, "rows", {}, "split") for table in ("next-task-tuning", "next-task")))))
says("at the lowest rate,", lambda: RATES[next_task.RECIPES["fine_tuned"].chosen] == min(RATES))
says("over ten differences", lambda: sum("p" in one for one in entry("next-task", "summary")))
