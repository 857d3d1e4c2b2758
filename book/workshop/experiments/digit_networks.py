"""Small networks that look at drawn digits, and how sure they are of letters.

`run` trains a method on a split, with each of four settings, two rates and two values of what is
its own, and takes the one with the least NLL on the 297 digits that are there to choose on. Arrays
are rounded to float16 before anything is scored, since that is what the page holds. A network is
*sure* where it gives one class more than 90 %. `run_network` gives the networks of the first split,
for the page.
"""

import functools
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray as Array
from torch import nn

from ensedu import uncertainty
from ensedu.common import checks
from ensedu.methods import METHODS, size_option
from ensedu.priors import Normal
from ensedu.torch import mlp, twins
from ensedu.torch.base import seeded
from ensedu.torch.losses import softmax_cross_entropy
from workshop.drawn_digits import (
    LETTERS,
    MEMBERS,
    SIZES,
    SURE,
    Arrays,
    jittered,
    packed,
    probabilities,
    seen,
)
from workshop.experiments import mc_dropout as dropout
from workshop.experiments.shared import fit
from workshop.running.experiment import Experiment

#: Drawn letters.
NUMBER = 360

Setting = dict[str, Any]


def _tries(name: str, values: Sequence[Any]) -> tuple[Setting, ...]:
    return tuple({name: value, "lr": lr} for value, lr in product(values, (0.002, 0.006)))


#: Four settings of each method, tried alike.
TRIES: dict[str, tuple[Setting, ...]] = {
    "single": _tries("weight_decay", (0.0, 0.3)),
    "deep_ensemble": _tries("weight_decay", (0.0, 0.3)),
    "batch_ensemble": _tries("init", ("signs", "normal")),
    "rank1": _tries("init_std", (0.1, 0.5)),
    "mean_field": _tries("posterior_std", (0.01, 0.05)),
    "mc_dropout": _tries("p", (0.1, 0.3)),
}


def _options(method: str, setting: Setting) -> dict[str, Any]:
    """Return the options of a network for a setting."""
    if method == "rank1":
        std = setting["init_std"]
        return {"init_std": std, "prior": Normal(1.0, std), "posterior_std": 0.01}
    own = setting.keys() & {"init", "posterior_std", "p"}
    more = {"init_std": 0.5} if setting.get("init") == "normal" else {}
    return {name: setting[name] for name in own} | more


def trained(method: str, setting: Setting, split: int, train: int, epochs: int) -> nn.Module:
    """Return a network of a method, trained on a split of the digits by the average loss."""
    checks.one_of("method", method, TRIES)
    (x, y), _, _ = dropout.split_digits(train, split)
    with seeded(1000 * split + list(TRIES).index(method)):
        size = size_option(method, MEMBERS) if METHODS[method].has_members else {}
        net = mlp(SIZES, method, **size, **_options(method, setting), dtype=torch.float64)
    return fit(
        net, torch.from_numpy(x), torch.from_numpy(y), softmax_cross_entropy, epochs=epochs,
        lr=setting["lr"], weight_decay=setting.get("weight_decay", 0.0), seed=split
    )  # fmt: skip


def arrays_of(net: nn.Module) -> Arrays:
    """Return the trained arrays by layer and name, ``"0.weight"``, as the book writes them.

    They are rounded to float16, and float64.
    """
    layers = twins.to_numpy(net, rng=np.random.default_rng(0)).layers
    with_arrays = (layer.params for layer in layers if layer.params)
    return {
        f"{number}.{name}": array.astype(np.float16).astype(np.float64)
        for number, params in enumerate(with_arrays)
        for name, array in params.items()
    }


@functools.cache
def drawn_letters(split: int, number: int) -> Float[Array, "B 64"]:
    """Return capital letters as networks see them."""
    rng = np.random.default_rng([split, 2])
    names = [name for name in LETTERS for _ in range(number // len(LETTERS))]
    return np.stack([seen(jittered(LETTERS[name], rng)) for name in names])


def scores(found: Float[Array, "D M B 10"], labels: Any = None) -> dict[str, float]:
    """Return how often an average is sure, and the NLL if labels are known: means over draws."""
    every = []
    for members in found:
        one = {"sure": (uncertainty.averaged(members).max(axis=1) > SURE).mean()}
        if labels is not None:
            each = uncertainty.categorical_nll(members, labels)
            one["nll"] = uncertainty.mixture_nll(each).mean()
        every.append(one)
    return {name: float(np.mean([one[name] for one in every])) for name in every[0]}


def best_setting(
    method: str, split: int, train: int, epochs: int
) -> tuple[int, list[float], Arrays]:
    """Return which setting has the least NLL on the digits to choose on, all NLLs, and arrays."""
    _, (x, labels), _ = dropout.split_digits(train, split)
    every, nll = [], []
    for setting in TRIES[method]:
        arrays = arrays_of(trained(method, setting, split, train, epochs))
        found = probabilities(method, arrays, x, split, setting.get("p", 0.0))
        every.append(arrays)
        nll.append(scores(found, labels)["nll"])
    i = int(np.argmin(nll))
    return i, nll, every[i]


def run(method: str, split: int, train: int, epochs: int, number: int) -> dict[str, Any]:
    """Return the scores of a method on one split, with the setting that it chose."""
    chosen, nll, arrays = best_setting(method, split, train, epochs)
    p = TRIES[method][chosen].get("p", 0.0)
    _, _, (x, labels) = dropout.split_digits(train, split)
    test = scores(probabilities(method, arrays, x, split, p), labels)
    x = drawn_letters(split, number)
    letters = scores(probabilities(method, arrays, x, split, p))
    return {"validation": nll, "chosen": chosen, "test": test, "letters": letters}


def run_network(method: str, split: int, train: int, epochs: int) -> dict[str, Any]:
    """Return a network as the page holds it, its setting, and its scores on the test digits."""
    chosen, _, arrays = best_setting(method, split, train, epochs)
    setting = TRIES[method][chosen]
    _, _, (x, labels) = dropout.split_digits(train, split)
    p = setting.get("p", 0.0)
    found = scores(probabilities(method, arrays, x, split, p), labels)
    return {"setting": setting, "p": p, **found, "arrays": packed(arrays)}


def summarize(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return for each method how often it is sure of digits and of letters, means over splits."""
    return {
        method: {
            kind: float(np.mean([row[kind]["sure"] for row in rows if row["method"] == method]))
            for kind in ("test", "letters")
        }
        for method in dict.fromkeys(row["method"] for row in rows)
    }


_BUDGET = (
    "60 epochs of AdamW, batches of 32, four settings a method, chosen on each split on 297 digits "
    "that nobody trains or is tested on"
)
EXPERIMENT = Experiment(
    name="digit-networks",
    about="64-32-10 of each method, trained on the first split of the digits: arrays in float16 "
    "(little-endian, row by row, base64); p, the rate of dropout; nll, nats an example, of four "
    "members or draws on 300 test digits; sure, the share with more than 90 % on one class",
    budget=_BUDGET,
    cases=[{"method": method} for method in TRIES],
    run=run_network,
    settings={"split": 0, "train": 1200, "epochs": 60},
)
SPLITS = Experiment(
    name="digit-networks-splits",
    about="64-32-10 of each method: scores as in digit-networks on test digits, and on drawn "
    "capital letters; validation, the nll of each setting on the digits to choose on; the summary "
    "has the shares of which a network is sure, means over splits",
    budget=_BUDGET + "; 10 splits",
    cases=[{"method": method, "split": split} for method in TRIES for split in range(10)],
    run=run,
    settings={"train": 1200, "epochs": 60, "number": NUMBER},
    summarize=summarize,
)
