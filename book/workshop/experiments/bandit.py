"""Does doubt help to decide? Agents on the mushroom bandit, where what is left teaches nothing.

`decisions` is the loop: which mushrooms one agent eats. An agent is a network 64-50-50-1 that
predicts what eating pays, and a rule:

- ``greedy``: one network; eats where it predicts more than 0;
- ``explore``: the same, but tosses a coin in 5 % of its decisions;
- ``ensemble``: a deep ensemble of ten, one member a decision;
- ``thompson``: a mean-field BNN, one draw of its weights a decision (Blundell et al. 2015, sec.
  4), trained with the KL times beta, 0.1 or 0.01;
- ``whole``: the same with the whole KL;
- ``random``: always tosses the coin, and learns nothing.

The protocol was fixed before the table was computed. All agents of a seed find the same mushrooms,
of which each pays the same to all who eat it; the first 20 are eaten by all. The loss is that of a
Gaussian likelihood whose standard deviation is 10. Those that learn had eight settings each on two
seeds apart (`TUNING`), and have the one of least mean regret. Which eight had been fixed after a
look at runs on a third such seed: ten of the BNN, which showed what the KL does, and seven of the
others.
"""

from itertools import product
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool
from numpy import ndarray as Array

from ensedu import uncertainty
from ensedu.data import bandit
from ensedu.priors import Normal
from ensedu.torch import mlp
from ensedu.torch.base import seeded
from workshop.experiments.shared import add_verdicts, best_tries
from workshop.running.experiment import Experiment
from workshop.running.machine import one_thread

#: How the book calls them, the reference first.
AGENTS = {
    "greedy": "greedy",
    "explore": "greedy, 5 % random",
    "ensemble": "Thompson, deep ensemble",
    "thompson": "Thompson, BNN",
    "whole": "Thompson, BNN, whole KL",
    "random": "random",
}
METHODS = {"thompson": "mean_field", "whole": "mean_field", "ensemble": "deep_ensemble"}
COINS = {"explore": 0.05, "random": 1.0}
SIZES, MEMBERS, SCALE = (64, 50, 50, 1), 10, 10.0
RATES, STDS = (3e-3, 1e-2), (0.02, 0.1)
_PLAIN = [
    {"lr": lr, "weight_decay": decay}
    for lr, decay in product((3e-4, 1e-3, 3e-3, 1e-2), (0.0, 1e-2))
]
GRIDS: dict[str, list[dict[str, float]]] = {
    **{agent: _PLAIN for agent in ("greedy", "explore", "ensemble")},
    "thompson": [
        {"lr": lr, "posterior_std": std, "prior_std": 0.5, "beta": beta}
        for lr, std, beta in product(RATES, STDS, (0.01, 0.1))
    ],
    "whole": [
        {"lr": lr, "posterior_std": std, "prior_std": prior, "beta": 1.0}
        for lr, std, prior in product(RATES, STDS, (0.1, 0.5))
    ],
}
#: Which of its settings each has, as ``bandit-tuning`` finds it.
CHOSEN = {"greedy": 7, "explore": 1, "ensemble": 5, "thompson": 1, "whole": 1}


def decisions(
    agent: str, mushrooms: bandit.Mushrooms, seed: int, first: int, steps: int, *,
    lr: float = 0.003, weight_decay: float = 0.0, posterior_std: float = 0.1,
    prior_std: float = 1.0, beta: float = 1.0,
) -> Bool[Array, " T"]:  # fmt: skip
    """Return which mushrooms an agent eats, of those that it finds one after the other."""
    method = METHODS.get(agent, "single")
    options: dict[str, Any] = {}
    if method == "mean_field":
        options = {"posterior_std": posterior_std, "prior": Normal(0.0, prior_std)}
    if method == "deep_ensemble":
        options = {"ensemble_size": MEMBERS}
    rng = np.random.default_rng([seed, 1])
    x, pays = torch.from_numpy(mushrooms.x), torch.from_numpy(mushrooms.pays / SCALE)
    eaten = np.zeros(len(x), dtype=bool)
    with seeded(seed), one_thread():
        net: Any = mlp(SIZES, method, dtype=torch.float64, **options)
        adam = torch.optim.AdamW(net.parameters(), lr=lr, weight_decay=weight_decay)
        for t in range(len(x)):
            if t < first:
                eaten[t] = True
            elif rng.random() < COINS.get(agent, 0.0):
                eaten[t] = rng.random() < 0.5
            else:
                with torch.no_grad():
                    predicted = net(x[t : t + 1]).flatten()  # one draw, or all members
                eaten[t] = bool(predicted[rng.integers(len(predicted))] > 0)
            if t % 5 < 4 or agent == "random":
                continue
            memory = np.flatnonzero(eaten)
            for _ in range(steps):
                rows = rng.choice(memory, 64)
                errors = net(x[rows])[..., 0] - pays[rows]  # (64,), or (M, 64)
                loss = 0.5 * errors.square().mean(-1).sum()
                if method == "mean_field":
                    loss = loss + beta * sum(p.kl() for p in net if hasattr(p, "kl")) / len(memory)
                adam.zero_grad()
                loss.backward()
                adam.step()
    return eaten


def run_setting(
    agent: str, setting: int, seed: int, number: int, first: int, steps: int
) -> dict[str, Any]:
    """Return the regret at the end of one setting."""
    mushrooms = bandit.sample(np.random.default_rng(seed), number)
    eaten = decisions(agent, mushrooms, seed, first, steps, **GRIDS[agent][setting])
    return {"regret": float(bandit.regret(eaten, mushrooms.poisonous)[-1])}


def run(
    agent: str, seed: int, number: int, first: int, steps: int,
    chosen: dict[str, dict[str, float]],
) -> dict[str, Any]:  # fmt: skip
    """Return the regret at the end."""
    mushrooms = bandit.sample(np.random.default_rng(seed), number)
    eaten = decisions(agent, mushrooms, seed, first, steps, **chosen.get(agent, {}))
    return {"regret": float(bandit.regret(eaten, mushrooms.poisonous)[-1])}


def best_settings(rows: list[dict[str, Any]]) -> dict[str, int]:
    """Return for each agent the setting of least regret, the mean over seeds."""
    tries = {agent: range(len(grid)) for agent, grid in GRIDS.items()}
    return best_tries(rows, tries, who="agent", key="setting", score="regret")


def summarize(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return means over seeds, and how the regret differs from that of greedy."""
    ends = {
        agent: np.array([row["regret"] for row in rows if row["agent"] == agent])
        for agent in AGENTS
    }
    found = [{"agent": agent, "regret": float(own.mean())} for agent, own in ends.items()]
    greedy = ends.pop("greedy")
    intervals = [uncertainty.paired(own - greedy) for own in ends.values()]
    add_verdicts(list(zip(found[1:], intervals, strict=True)))
    return found


SETTINGS: dict[str, Any] = {"number": 2000, "first": 20, "steps": 5}
TUNING = Experiment(
    name="bandit-tuning",
    about="regret: cumulative, after all mushrooms, of an agent with a setting of its grid; the "
    "summary holds the number of the best one",
    budget="2 seeds, eight settings an agent, 1,000 mushrooms",
    cases=[
        {"agent": agent, "setting": setting, "seed": seed}
        for agent, grid in GRIDS.items()
        for setting in range(len(grid))
        for seed in (1000, 1001)
    ],
    run=run_setting,
    settings=SETTINGS | {"number": 1000},
    summarize=best_settings,
)
EXPERIMENT = Experiment(
    name="bandit",
    about="regret: cumulative, after 2,000 mushrooms, in units of pay-off; the summary holds means "
    "over seeds, and the paired differences from greedy's, with 95 % intervals, p-values adjusted "
    "over the table (Holm), and verdicts",
    budget="12 seeds of mushrooms, pay-offs, starts and minibatches; five steps of Adam after "
    "every fifth mushroom; the best of eight settings an agent on two seeds apart",
    cases=[{"agent": agent, "seed": seed} for seed in range(12) for agent in AGENTS],
    run=run,
    settings=SETTINGS | {"chosen": {agent: GRIDS[agent][i] for agent, i in CHOSEN.items()}},
    summarize=summarize,
)
