"""LeNet-5 on MNIST-5000, plain and Bayesian: errors, uncertainty, and which estimator says so.

`run` trains the contestants of one split and makes a row of the table ``bayesian-cnn``. A Bayesian
LeNet-5 has a mean-field posterior on every weight and bias (Shridhar et al. 2019). One that was
trained with local reparameterization draws each position of an image apart, where one kernel ties
them together: its predictions are made twice, with the estimator that it was trained with, and with
drawn weights.

The protocol was fixed before the table was computed: ten splits into 4,000 digits to train on and
1,000 to test on, initial weights and orders of the examples of its own on each, the same for all
contestants of a split; Adam at 0.001, as published, batches of 100, 30 epochs for all; the whole
KL, but for ``narrow_tenth``; standard deviations start at 0.01, but for ``stuck``, which starts at
0.05, and is trained on three splits for half as long. Priors, starts and rates were looked at on
one other split. Nothing was tuned, and the last epoch counts. One network is each of four starts,
its score the mean over them, and all four are the deep ensemble.

Predictions average the probabilities of 32 draws; by epoch, four draws on the first 500 digits of
the test set. The expected NLL is that of eight draws on 1,000 digits that were
trained on. What is foreign are 500 images of uniform noise in each pixel, and the letters of
`ensedu.data.letters` without those that may be read as a digit, `LIKE_DIGITS`. Error and NLL are
compared with those of one network, adjusted together; so are, apart from these, ECE and AUROC.

`describe_images` keeps what the ``wide`` net of split 0 says of each image, for the table
``bayesian-cnn-images``.
"""

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray as Array
from torch import Tensor, nn

from ensedu import uncertainty
from ensedu.data import letters, mnist5000
from ensedu.priors import Normal
from ensedu.torch import MeanFieldConv2d, MeanFieldLinear, ensemble, kl, predict
from ensedu.torch.base import seeded
from ensedu.torch.losses import elbo, softmax_cross_entropy
from ensedu.torch.models import lenet5
from ensedu.torch.variational import softplus
from workshop.experiments.shared.comparisons import (
    add_verdicts,
    compare_pairs,
    compare_with_reference,
)
from workshop.running.experiment import Experiment
from workshop.running.machine import one_thread

__all__ = [
    "BAYESIAN",
    "CONTESTANTS",
    "EXPERIMENT",
    "IMAGES",
    "LAYERS",
    "LIKE_DIGITS",
    "MEMBERS",
    "Digits",
    "describe_images",
    "estimator_set",
    "foreign",
    "network",
    "probabilities",
    "run",
    "scores",
    "split_digits",
    "summarize",
    "trained",
]


@dataclass(frozen=True)
class Bayesian:
    """How a Bayesian LeNet-5 is set up and trained."""

    prior_std: float = 1.0
    beta: float = 1.0
    estimator: str = "local"
    start: float = 0.01


BAYESIAN = {
    "wide": Bayesian(),
    "wide_half": Bayesian(),
    "narrow": Bayesian(prior_std=0.1),
    "narrow_tenth": Bayesian(prior_std=0.1, beta=0.1),
    "weights": Bayesian(estimator="weights"),
    "flipout": Bayesian(estimator="flipout"),
    "stuck": Bayesian(prior_std=0.1, start=0.05),
}
#: How the book calls them, the reference first.
CONTESTANTS = {
    "single": "one network",
    "deep_ensemble": "deep ensemble",
    "half": "half the filters",
    "wide": "prior N(0, 1)",
    "wide_half": "prior N(0, 1), half the filters",
    "narrow": "prior N(0, 0.1²)",
    "narrow_tenth": "prior N(0, 0.1²), a tenth of the KL",
    "weights": "prior N(0, 1), drawn weights",
    "flipout": "prior N(0, 1), Flipout",
    "stuck": "prior N(0, 0.1²), started at 0.05",
}
MEMBERS, HALF, LR = 4, (3, 8), 0.001
#: Is trained on three splits alone, for half as long: it does not move.
STUCK = "stuck"
TRAIN, TEST = 4000, 1000
#: The layers of LeNet-5 that have weights, by their place in it.
LAYERS = {"0": "conv1", "3": "conv2", "7": "dense1", "9": "dense2", "11": "dense3"}
#: Letters that some hand or font writes like 0, 1, 2, 5, 6, 8 or 9; chosen before any was shown
#: to a net.
LIKE_DIGITS = "OoIliSsZzBqgb"

#: Ends the names of what was drawn with weights, of a net that was trained in another way.
BY_WEIGHTS = "_by_weights"
SCORES = (
    "error", "nll", "ece", "entropy", "mutual", "aleatoric", "epistemic", "auroc_letters",
    "auroc_noise", "train_nll", "elbo",
)  # fmt: skip
KEYS = (
    *SCORES, *(name + BY_WEIGHTS for name in SCORES), "kl", "error_by_samples", "nll_by_samples",
)  # fmt: skip
BY_EPOCH = ("error", "nll", "mutual", "aleatoric", "epistemic")

Digits = tuple[Float[Tensor, "_ 1 28 28"], Int[Tensor, " _"]]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How long to train, and how many images and draws to look at."""

    epochs: int
    batch_size: int
    train: int
    test: int
    #: For scores.
    draws: int
    #: Numbers of draws to compare; the last is how many are drawn.
    samples: list[int]
    #: Images of noise.
    noise: int
    #: Training digits, for the expected NLL.
    seen: int
    seen_draws: int
    #: How often to look while training, and at how many test digits then.
    every: int
    few: int
    few_draws: int


def digit_order(split: int) -> Int[Array, "5000"]:
    """Return the numbers of all digits of MNIST-5000, those to train on first."""
    return np.random.default_rng([split, 2019]).permutation(TRAIN + TEST)


@functools.lru_cache(maxsize=1)
def split_digits(split: int) -> tuple[Digits, Digits]:
    """Return digits to train on and to test on."""
    x, y = mnist5000()
    images, labels = torch.from_numpy(x).float().reshape(-1, 1, 28, 28), torch.from_numpy(y)
    one, other = ((images[rows], labels[rows]) for rows in np.split(digit_order(split), [TRAIN]))
    return one, other


@functools.lru_cache(maxsize=1)
def letter_images() -> tuple[Float[Tensor, "_ 1 28 28"], list[str]]:
    """Return all letters as images, and which they are."""
    x, names = letters()
    return torch.from_numpy(x).float().reshape(-1, 1, 28, 28), names


def foreign(split: int, number: int) -> dict[str, Float[Tensor, "_ 1 28 28"]]:
    """Return images that are no digits: the letters, and so many of noise."""
    x, names = letter_images()
    rows = np.flatnonzero([name not in LIKE_DIGITS for name in names])
    noise = np.random.default_rng([split, 28]).random((number, 1, 28, 28))
    return {"letters": x[rows], "noise": torch.from_numpy(noise).float()}


def network(contestant: str) -> nn.Module:
    """Return an untrained network, started by Torch's own generator, as the plain one starts."""
    plain = lenet5(filters=HALF) if contestant.endswith("half") else lenet5()
    if contestant not in BAYESIAN:
        return plain
    own = BAYESIAN[contestant]
    return ensemble(
        plain, "mean_field", prior=Normal(0.0, own.prior_std), posterior_std=own.start,
        estimator=own.estimator,
    )  # fmt: skip


def layers(net: nn.Module) -> dict[str, Any]:
    """Return the layers that have weights, by `LAYERS`."""
    children = dict(getattr(net, "model", net).named_children())
    return {name: children[at] for at, name in LAYERS.items()}


@contextmanager
def estimator_set(net: nn.Module, estimator: str | None) -> Iterator[None]:
    """Let the layers of a net draw by this estimator; by their own for ``None``."""
    drawn = [part for part in net.modules() if isinstance(part, (MeanFieldConv2d, MeanFieldLinear))]
    own = [part.estimator for part in drawn]
    try:
        for part in drawn:
            part.estimator = part.estimator if estimator is None else estimator
        yield
    finally:
        for part, name in zip(drawn, own, strict=True):
            part.estimator = name


def probabilities(
    net: nn.Module, x: Float[Tensor, "B 1 28 28"], draws: int, estimator: str | None = None
) -> Float[Array, "S B k"]:
    """Return the probabilities of so many draws, or of the one that a plain net has.

    Each draw of weights is one function for all images; of outputs, none is. The draws are the same
    at each call.
    """
    with seeded(2019), one_thread(), estimator_set(net, estimator):
        logits = predict(net, x, samples=draws if hasattr(net, "leading") else 1, batch_size=100)
    return logits.double().softmax(-1).reshape(-1, len(x), logits.shape[-1]).numpy()


def nll(p: Float[Array, "S B k"], y: Int[Tensor, " B"]) -> float:
    """Return the mean NLL of averaged probabilities."""
    return float(uncertainty.mixture_nll(uncertainty.categorical_nll(p, y.numpy())).mean())


def error(p: Float[Array, "S B k"], y: Int[Tensor, " B"]) -> float:
    """Return the error in percent of averaged probabilities."""
    return 100 * float(np.mean(uncertainty.averaged(p).argmax(-1) != y.numpy()))


def uncertainties(p: Float[Array, "S B k"]) -> dict[str, Float[Array, " B"]]:
    """Return the uncertainty of each image: entropy, mutual information, and traces."""
    entropy, covariance = uncertainty.entropy_parts(p), uncertainty.covariance_parts(p)
    return {
        "entropy": entropy.total,
        "mutual": np.maximum(entropy.mutual_information, 0.0),
        "aleatoric": np.trace(covariance.aleatoric, axis1=1, axis2=2),
        "epistemic": np.trace(covariance.epistemic, axis1=1, axis2=2),
    }


def scores(p: Float[Array, "S B k"], y: Int[Tensor, " B"]) -> dict[str, float]:
    """Return what averaged probabilities are worth, and means over images of their uncertainty."""
    means = {name: float(values.mean()) for name, values in uncertainties(p).items()}
    own = uncertainty.ece(uncertainty.averaged(p), y.numpy())
    return {"error": error(p, y), "nll": nll(p, y), "ece": own, **means}


def aurocs(p: dict[str, Float[Array, "S _ k"]]) -> dict[str, dict[str, float]]:
    """Return how well each kind of uncertainty tells letters, and noise, from digits."""
    known = {kind: uncertainties(each) for kind, each in p.items()}
    told = ("entropy", "mutual", "epistemic") if len(p["digits"]) > 1 else ("entropy",)
    return {
        f"auroc_{kind}": {
            name: uncertainty.auroc(known["digits"][name], known[kind][name]) for name in told
        }
        for kind in p
        if kind != "digits"
    }


def sigma(net: nn.Module) -> dict[str, float]:
    """Return the mean standard deviation of each layer's weights."""
    with torch.no_grad():
        return {
            name: float(softplus(part.weight_rho).mean())
            for name, part in layers(net).items()
            if hasattr(part, "weight_rho")
        }


def trained(
    contestant: str, split: int, start: int, epochs: int, batch_size: int, data: Digits,
    after_epoch: Any = None,
) -> nn.Module:  # fmt: skip
    """Return a trained network; `after_epoch` gets it before the first epoch, too."""
    beta = BAYESIAN[contestant].beta if contestant in BAYESIAN else 0.0
    with seeded(MEMBERS * split + start), one_thread():
        net = network(contestant)
        optimizer = torch.optim.Adam(net.parameters(), lr=LR)
        for epoch in range(epochs + 1):
            if after_epoch is not None:
                after_epoch(epoch, net)
            if epoch == epochs:
                break
            for rows in torch.randperm(len(data[1])).split(batch_size):
                x, y = data[0][rows], data[1][rows]
                loss = elbo(net, x, y, softmax_cross_entropy, num_examples=len(data[1]), beta=beta)
                optimizer.zero_grad()
                loss.loss.backward()
                optimizer.step()
    return net


def run_start(
    contestant: str, split: int, start: int, plan: Plan
) -> tuple[dict[str, Any], dict[str, Float[Array, "S _ k"]]]:
    """Return a network's scores, and its probabilities of digits, letters and noise."""
    sizes = (plan.train, plan.test)
    data, test = ((x[:n], y[:n]) for (x, y), n in zip(split_digits(split), sizes, strict=True))
    few, seen = (test[0][: plan.few], test[1][: plan.few]), data[1][: plan.seen]
    by_epoch: dict[str, Any] = {"epoch": [], "sigma": {}}

    def record(epoch: int, net: nn.Module) -> None:
        if epoch % plan.every == 0:
            by_epoch["epoch"].append(epoch)
            own = scores(probabilities(net, few[0], plan.few_draws), few[1])
            for name in BY_EPOCH:
                by_epoch.setdefault(name, []).append(own[name])
            for name, value in sigma(net).items():
                by_epoch["sigma"].setdefault(name, []).append(value)

    epochs = plan.epochs // 2 if contestant == STUCK else plan.epochs
    net = trained(contestant, split, start, epochs, plan.batch_size, data, record)
    with torch.no_grad():
        divergence = float(kl(net)) / plan.train
    found: dict[str, Any] = {
        "by_epoch": by_epoch,
        "kl": divergence,
    }
    images = {"digits": test[0], **foreign(split, plan.noise)}
    kept: dict[str, Array] = {}
    for suffix, estimator in {"": None, BY_WEIGHTS: "weights"}.items():
        if suffix and contestant not in BAYESIAN:
            continue
        p = {kind: probabilities(net, x, plan.draws, estimator) for kind, x in images.items()}
        each = uncertainty.categorical_nll(
            probabilities(net, data[0][: plan.seen], plan.seen_draws, estimator), seen.numpy()
        )
        own: dict[str, Any] = scores(p["digits"], test[1]) | aurocs(p)
        own["train_nll"] = float(each.mean())
        if contestant in BAYESIAN:
            own["elbo"] = -own["train_nll"] - divergence
        found |= {f"{name}{suffix}": value for name, value in own.items()}
        kept = kept or p
    if contestant in BAYESIAN:
        # The first of these draws are those of `kept`.
        p_test = probabilities(net, test[0], plan.samples[-1])
        for name, score in (("error", error), ("nll", nll)):
            found[f"{name}_by_samples"] = [
                by_samples(p_test, test[1], size, score) for size in plan.samples
            ]
    return found, kept


def by_samples(p: Float[Array, "S B k"], y: Int[Tensor, " B"], size: int, score: Any) -> float:
    """Return a score of the average of so many draws, the mean over groups of them."""
    groups = p[: len(p) // size * size].reshape(-1, size, *p.shape[1:])
    return float(np.mean([score(group, y) for group in groups]))


def run(contestant: str, split: int, **plan: Any) -> dict[str, Any]:
    """Return the scores of a contestant, lists over starts, and what four single nets are worth."""
    own = Plan(**plan)
    starts = MEMBERS if contestant == "single" else 1
    found, forecasts = zip(
        *(run_start(contestant, split, start, own) for start in range(starts)), strict=True
    )
    row: dict[str, Any] = {
        name: list_over_starts([each.get(name) for each in found]) for name in KEYS
    }
    row["by_epoch"] = mean_over_starts([each["by_epoch"] for each in found])
    row["ensemble"] = None
    if contestant == "single":
        members = {kind: np.concatenate([p[kind] for p in forecasts]) for kind in forecasts[0]}
        labels = split_digits(split)[1][1][: own.test]
        row["ensemble"] = scores(members["digits"], labels) | aurocs(members)
    return row


def list_over_starts(values: list[Any]) -> Any:
    """Return numbers as a list over starts, within dicts too; nothing where there are none."""
    if values[0] is None or isinstance(values[0], list):
        return values[0]
    if isinstance(values[0], dict):
        return {name: list_over_starts([each[name] for each in values]) for name in values[0]}
    return values


def mean_over_starts(values: list[Any]) -> Any:
    """Return the mean over starts of lists of numbers, and of numbers, within dicts too."""
    if isinstance(values[0], dict):
        return {name: mean_over_starts([each[name] for each in values]) for name in values[0]}
    if all(each == values[0] for each in values):
        return values[0]
    return np.mean(values, axis=0).tolist()


def rows_by_contestant(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows of lists of numbers, a row of the deep ensemble too, and AUROCs by entropy."""
    found = []
    for row in rows:
        each = [(row["contestant"], row)]
        if row["ensemble"] is not None:
            each.append(("deep_ensemble", row["ensemble"]))
        for contestant, values in each:
            own = {"contestant": contestant, "split": row["split"]}
            for name in KEYS:
                value = values.get(name)
                if name.startswith("auroc") and value is not None:
                    value = value["entropy"]
                own[name] = value
            found.append(own)
    return found


#: What is compared beyond the one network, as (contestant, than).
COMPARISONS = (
    ("wide", "deep_ensemble"),
    ("half", "single"),
    ("wide_half", "wide"),
    ("wide_half", "half"),
    ("narrow_tenth", "narrow"),
    ("weights", "wide"),
    ("flipout", "wide"),
)


def summarize(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return comparisons with one network, of pairs, and of a net's two ways to predict.

    Each is adjusted for all of its own: ``errors`` (error and NLL, the main one), ``others`` (ECE
    and AUROC by entropy), ``pairs``, and ``by_weights``, drawn weights against the net's own
    estimator; ``means`` are those over splits, of all.
    """
    table = rows_by_contestant(rows)
    full = [row for row in table if row["contestant"] != STUCK]
    sizes: dict[str, Any] = {"train": TRAIN, "test": TEST}
    found: dict[str, Any] = {
        "errors": compare_with_reference(
            full, reference="single", scores=("error", "nll"), **sizes
        ),
        "others": compare_with_reference(
            full, reference="single", scores=("ece", "auroc_letters", "auroc_noise"),
            higher=("auroc_letters", "auroc_noise"), **sizes,
        ),
    }  # fmt: skip
    by = {
        name: [row for row in full if row["contestant"] == name]
        for name in dict.fromkeys(row["contestant"] for row in full)
    }
    found["pairs"] = {
        score: compare_pairs(
            {name: np.array([np.mean(row[score]) for row in own]) for name, own in by.items()},
            COMPARISONS, **sizes,
        )
        for score in ("error", "nll")
    }  # fmt: skip
    intervals = []
    for name, own in by.items():
        if name not in BAYESIAN or BAYESIAN[name].estimator == "weights":
            continue
        for score in ("error", "nll", "mutual", "train_nll", "auroc_letters", "auroc_noise"):
            both = np.array([[row[score + BY_WEIGHTS][0], row[score][0]] for row in own])
            entry = {"contestant": name, "score": score, "by_weights": float(both[:, 0].mean()),
                     "own": float(both[:, 1].mean())}  # fmt: skip
            intervals.append((entry, uncertainty.resampled(both[:, 0] - both[:, 1], **sizes)))
    add_verdicts(intervals, higher=("auroc_letters", "auroc_noise"))
    found["by_weights"] = [entry for entry, _ in intervals]
    for entry in found["by_weights"]:
        if entry["score"] == "mutual":  # which is neither better nor worse
            entry["verdict"] = {"better": "lower", "worse": "higher"}.get(entry["verdict"], "")
    found["means"] = [
        {"contestant": name}
        | {
            score: float(np.mean([np.mean(row[score]) for row in own]))
            for score in (*SCORES, *(score + BY_WEIGHTS for score in SCORES), "kl")
            if own[0][score] is not None
        }
        for name in CONTESTANTS
        if (own := [row for row in table if row["contestant"] == name])
    ]
    return found


SPLITS = 10
SETTINGS: dict[str, Any] = {
    "epochs": 30, "batch_size": 100, "train": TRAIN, "test": TEST, "draws": 32,
    "samples": [1, 2, 4, 8, 16, 32, 64], "noise": 500, "seen": 1000, "seen_draws": 8, "every": 3,
    "few": 500, "few_draws": 4,
}  # fmt: skip
EXPERIMENT = Experiment(
    name="bayesian-cnn",
    about="LeNet-5 on MNIST-5000, lists over starts: error (percent), nll, ece, means over test "
    "images of entropy and mutual information (nats) and of the traces of the aleatoric and "
    "epistemic covariance, auroc_letters and auroc_noise by uncertainty, train_nll, kl and elbo in "
    "nats a training example, with the estimator that trained; the same names with _by_weights, "
    "with drawn weights; error_by_samples and nll_by_samples over the numbers of draws; by_epoch "
    "on 500 test digits, with sigma, the mean standard deviation of a layer's weights; ensemble: "
    "scores of all starts together",
    budget="10 splits, each with initial seeds of its own, 30 epochs of Adam at 0.001, batches of "
    "100, no tuning; four starts of the single net; the contestant that is stuck has 3 splits, 15 "
    "epochs",
    cases=[
        {"contestant": contestant, "split": split}
        for split in range(SPLITS)
        for contestant in ("single", "half", *BAYESIAN)
        if contestant != STUCK or split < 3
    ],
    run=run,
    settings=SETTINGS,
    summarize=summarize,
)


def describe_images(
    split: int, epochs: int, batch_size: int, train: int, draws: int, shown: int, kept: int
) -> dict[str, Any]:
    """Return what the wide net says of each test digit and each letter.

    Lists over images, of which ``index`` is the number in `mnist5000` or in `letters`; ``shown``
    are images with so many draws of their probabilities: those of the greatest aleatoric and of
    the greatest epistemic trace, and those of the least of both together.
    """
    rows = digit_order(split)
    data, test = split_digits(split)
    data = (data[0][:train], data[1][:train])
    net = trained("wide", split, 0, epochs, batch_size, data)
    x, names = letter_images()
    found: dict[str, Any] = {}
    for kind, images, index, labels in (
        ("digits", test[0], rows[TRAIN:], test[1].tolist()),
        ("letters", x, np.arange(len(x)), names),
    ):
        own: dict[str, Any] = {"index": index.tolist(), "label": labels}
        p = probabilities(net, images, draws)
        p_weights = probabilities(net, images, draws, "weights")
        own["top"] = uncertainty.averaged(p).argmax(-1).tolist()
        known, known_weights = uncertainties(p), uncertainties(p_weights)
        for name in ("aleatoric", "epistemic"):
            own[name] = known[name].round(4).tolist()
            own[name + BY_WEIGHTS] = known_weights[name].round(4).tolist()
        picked = extreme_images(known["aleatoric"], known["epistemic"], shown)
        own["shown"] = [
            {
                "index": int(index[i]),
                "label": labels[i],
                "p": p[:kept, i].round(4).tolist(),
                "p_by_weights": p_weights[:kept, i].round(4).tolist(),
            }
            for i in picked
        ]
        found[kind] = own
    return found


def extreme_images(
    aleatoric: Float[Array, " B"], epistemic: Float[Array, " B"], each: int
) -> list[int]:
    """Return so many places of the greatest of each, and of the least of both, none twice."""
    found: list[int] = []
    for score in (aleatoric, epistemic, -(aleatoric + epistemic)):
        left = [i for i in np.argsort(-score, kind="stable").tolist() if i not in found]
        found += left[:each]
    return found


IMAGES = Experiment(
    name="bayesian-cnn-images",
    about="the net `wide` of split 0 of bayesian-cnn: of its test digits, and of all letters, the "
    "number in mnist5000() or letters(), the label, the most probable digit, and the traces of the "
    "aleatoric and the epistemic covariance, with its own estimator and with drawn weights; shown: "
    "four images of the greatest of each, and four of the least of both, with draws of their "
    "probabilities",
    budget="one net, 64 draws an image, of which 16 are kept for the images shown",
    cases=[{"split": 0}],
    run=describe_images,
    settings={
        "epochs": 30, "batch_size": 100, "train": TRAIN, "draws": 64, "shown": 4, "kept": 16,
    },
)  # fmt: skip
