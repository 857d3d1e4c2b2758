"""What *Bayesian CNNs* claims: by algebra, by its cells and tables, and by the contest's."""

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

from ensedu import counting, uncertainty
from ensedu import torch as et
from ensedu.book import measured
from ensedu.book.experiments import bayesian_cnn as cnn
from ensedu.book.experiments import bayesian_cnn_images as seen
from ensedu.book.experiments.contest import reading
from ensedu.numpy import variational
from ensedu.priors import Normal
from ensedu.torch.models import lenet5
from ensedu.torch.train.losses import softmax_cross_entropy
from tests.book.claiming import Change, Claims
from tests.book.claims.learning.shootout import row, word
from tests.book.conftest import ran, read

TABLE = "bayesian-cnn"
#: What stands in the cells that work by hand.
CELLS = ("S = 2.0", "STEPS = 1200")

CLAIMS = Claims(
    "learning/bayesian-cnn",
    unclaimed={
        "written as a vector with a 1": "a definition",
        "gives half to 2 and half": "an example",
        "half of them say 2": "an example",
        "badly written 4": "an example",
        "that it is a 4 or": "an example",
        "only two possible answers, 4": "an example",
        "gives 4 the probability": "a definition",
        "answer to an ugly 4": "an example",
        "but softplus activations": "what others published",
    },
)


@cache
def found() -> dict[str, dict[str, Any]]:
    """Return what cells of the page find, each by itself."""
    return {mark: ran(f"book/{CLAIMS.chapter}", mark, np=np, torch=torch) for mark in CELLS}


def rows_of(name: str) -> list[dict[str, Any]]:
    """Return the rows of a contestant, a split each."""
    return [row for row in measured.load(TABLE)["rows"] if row["contestant"] == name]


def by_epoch(name: str, *keys: str) -> np.ndarray:
    """Return means over splits, an epoch each."""
    own = [row["by_epoch"] for row in rows_of(name)]
    for key in keys:
        own = [one[key] for one in own]
    return np.mean(own, axis=0)


def last_sigmas(name: str) -> dict[str, float]:
    """Return the mean σ of each layer at the end."""
    return {layer: by_epoch(name, "sigma", layer)[-1] for layer in cnn.LAYERS.values()}


def of(name: str, *way: str, times: float) -> Change:
    """Return a change of a contestant's rows."""
    return Change(TABLE, "rows", {"contestant": name}, *way, times=times)


def image(kind: str, key: str, times: float) -> Change:
    """Return a change of what the network says of all images of a kind."""
    return Change(seen.TABLE, "rows", 0, kind, key, times=times)


def shares(cut: float = seen.CUT) -> tuple[np.ndarray, np.ndarray]:
    """Return the epistemic shares of doubtful digits, and of doubtful letters."""
    digits, letters = (seen.doubtful_shares(own, cut) for own in seen.known().values())
    return digits, letters


@CLAIMS.says("lenet", "goes from 61,706 parameters to 123,412")
def _() -> None:
    single = counting.count(lenet5()).total
    assert (single, counting.count(et.ensemble(lenet5(), "mean_field")).total) == (61_706, 123_412)
    layers = [part for part in lenet5().modules() if hasattr(part, "weight")]
    assert len(layers) == 5


@CLAIMS.says(
    "misread", "misreads 36 of 1,000 test digits",
    image("digits", "epistemic", times=0.1), image("digits", "aleatoric", times=0.1),
)  # fmt: skip
@CLAIMS.says("above", "digits with a doubt above 0.2")
@CLAIMS.says("auroc", "correctly in 94% of all pairs", image("digits", "epistemic", times=-1))
def _() -> None:
    own = seen.known()["digits"]
    doubtful = own.whole > 0.2
    counts = (len(own.wrong), own.wrong.sum(), doubtful.sum(), (own.wrong & doubtful).sum())
    assert counts == (1000, 36, 73, 27)
    for part in own.parts:
        assert round(uncertainty.auroc(part[~own.wrong], part[own.wrong]), 2) == 0.94


@CLAIMS.says("predict", "In 52% of these pairs (51% to 62%")
@CLAIMS.says(
    "shares", "digits have 37% of it in the epistemic",
    image("digits", "epistemic", times=1.2), image("letters", "epistemic", times=1.2),
)  # fmt: skip
@CLAIMS.says("cuts", "in 51% to 62% of the pairs")
@CLAIMS.says("larger", "letter has the larger share in 52%")
def _() -> None:
    assert [round(own.mean(), 2) for own in shares()] == [0.37, 0.37]
    assert round(uncertainty.auroc(*shares()), 2) == 0.52
    cuts = [uncertainty.auroc(*shares(cut)) for cut in (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)]
    assert (round(min(cuts), 2), round(max(cuts), 2)) == (0.51, 0.62)
    letters = seen.known()["letters"]
    assert (letters.whole > seen.CUT).mean() > 0.6


@CLAIMS.says(
    "kernels",
    "larger share in 51% of the pairs",
    image("letters", "epistemic_by_weights", times=1.2),
)
def _() -> None:
    (row,) = measured.load(seen.TABLE)["rows"]
    both = []
    for kind in ("digits", "letters"):
        kept = ~np.isin(np.array(row[kind]["label"]), [*cnn.LIKE_DIGITS])
        parts = [row[kind][f"{part}_by_weights"] for part in ("aleatoric", "epistemic")]
        own = seen.Known(np.zeros((1, 28, 28)), np.array(parts)[:, kept], kept)
        both.append(seen.doubtful_shares(own))
    assert round(uncertainty.auroc(*both), 2) == 0.51


@CLAIMS.says("parts", "from m = 0 to 2 their")
@CLAIMS.says("moved", "0.17 with s = 1, and")
def _() -> None:
    source = next(
        cell.source
        for cell in read(f"book/{CLAIMS.chapter}").cells
        if "# Change this" in cell.source and CELLS[0] in cell.source
    )
    eps = found()[CELLS[0]]["eps"]

    def split(m: float, s: float) -> tuple[float, float]:
        p = 1 / (1 + np.exp(-(m + s * eps)))
        whole = 2 * p.mean() * (1 - p.mean())
        return whole, 2 * p.var() / whole

    assert "for m in (0, 1, 2, 4)" in source
    wholes, parts = np.transpose([split(m, 2.0) for m in (0, 1, 2, 4)])
    assert (np.diff(wholes * parts) < 0).all()
    assert (np.diff(wholes * (1 - parts)) < 0).all()
    assert np.ptp(parts[:3]) < 0.04
    assert [round(split(0, s)[1], 2) for s in (1.0, 3.0)] == [0.17, 0.54]


@CLAIMS.says(
    "start", "Ours start small, at 0.01", of("wide", "by_epoch", "sigma", "conv1", 0, times=2)
)
def _() -> None:
    assert {one.start for name, one in cnn.BAYESIAN.items() if name != cnn.STUCK} == {0.01}
    for layer in cnn.LAYERS.values():
        assert by_epoch("wide", "sigma", layer)[0] == pytest.approx(0.01, rel=1e-3)


@CLAIMS.says("alone", "arrive at 0.032 or 0.033")
def _() -> None:
    own = found()[CELLS[1]]["path"]
    assert {f"{each:.3f}" for each in own[-1]} == {"0.032", "0.033"}
    assert all(abs(each[0] - each[-1]) < 0.001 for each in own)
    settings = measured.load(TABLE)["settings"]
    steps = settings["epochs"] * settings["train"] // settings["batch_size"]
    assert (len(own) - 1, cnn.LR) == (steps, 0.001)


@CLAIMS.says(
    "sigmas", "ends between 0.029 and 0.033",
    of("wide", "by_epoch", "sigma", "conv2", times=1.1),
    of("narrow", "by_epoch", "sigma", "dense3", times=0.9),
)  # fmt: skip
@CLAIMS.says(
    "tenth",
    "layer end at 0.019 and 0.020",
    of("narrow_tenth", "by_epoch", "sigma", "conv1", times=1.1),
)
def _() -> None:
    for name in ("wide", "narrow"):
        own = [*last_sigmas(name).values()]
        assert 0.029 <= min(own) <= max(own) <= 0.033
        assert min(own) > 0.9 * found()[CELLS[1]]["path"][-1].min()
    own = last_sigmas("narrow_tenth")
    assert [round(own[layer], 3) for layer in ("conv1", "dense3")] == [0.019, 0.020]
    assert min(own["conv2"], own["dense1"], own["dense2"]) > 0.028


@CLAIMS.says(
    "doubles", "The epistemic part, with N(0, 1)",
    of("wide", "by_epoch", "epistemic", -1, times=0.8),
    of("wide", "by_epoch", "sigma", "dense1", -1, times=0.8),
)  # fmt: skip
def _() -> None:
    at = by_epoch("wide", "epoch").tolist().index(9)
    epistemic, aleatoric = (by_epoch("wide", part) for part in ("epistemic", "aleatoric"))
    assert epistemic[-1] > 2 * epistemic[at]
    assert (np.diff(epistemic[at:]) > 0).all()
    for layer in cnn.LAYERS.values():
        own = by_epoch("wide", "sigma", layer)
        assert own[-1] > 2 * own[at]
    assert (np.diff(aleatoric) < 5e-4).all()
    assert aleatoric[-1] < 0.2 * aleatoric[1]


@CLAIMS.says("contest", "(NLL), a mean-field network is unclear")
@CLAIMS.says("better", "deep ensemble is better than one", row("wage", "deep_ensemble", 1.5))
@CLAIMS.says("sources", "on data from 18 sources")
@CLAIMS.says("summary", "In NLL a mean-field network is unclear")
@CLAIMS.says("exercise", "contest's word for a mean-field network")
def _() -> None:
    assert (word("mean_field"), word("deep_ensemble")) == ("unclear", "better")
    assert len(reading.compared()["mean_field"].sources) == 18


@CLAIMS.says(
    "seconds", "9.9 times as long to predict",
    Change("contest/wage", "rows", {"contestant": "mean_field"}, "predict_seconds", times=3),
)  # fmt: skip
def _() -> None:
    assert round(reading.costs("mean_field")["predict_seconds"], 1) == 9.9


@CLAIMS.says("whole", "other nine misread 4.6%", of("narrow", "error", times=1.1))
@CLAIMS.says("learned", "all ten learned, and misread 3.0%", of("narrow_tenth", "error", times=1.1))
@CLAIMS.says("prior", "gave LeNet-5 the prior of")
def _() -> None:
    assert (cnn.BAYESIAN["narrow"].prior_std, cnn.BAYESIAN["narrow"].beta) == (0.1, 1.0)
    assert (cnn.BAYESIAN["narrow_tenth"].prior_std, cnn.BAYESIAN["narrow_tenth"].beta) == (0.1, 0.1)
    errors = np.sort([row["error"][0] for row in rows_of("narrow")])
    assert len(errors) == 10
    assert errors[-1] > 85 > 6 > errors[-2]
    assert round(errors[:-1].mean(), 1) == 4.6
    tenth = [row["error"][0] for row in rows_of("narrow_tenth")]
    assert (len(tenth), max(tenth) < 5) == (10, True)
    assert round(np.mean(tenth), 1) == 3.0


@cache
def elbo_of_the_prior() -> float:
    """Return that of a net whose posterior is the prior: no KL, and the NLL of its samples."""
    torch.manual_seed(0)
    net = et.ensemble(
        lenet5(), "mean_field", prior=Normal(0.0, 0.1), posterior_std=0.1, estimator="local"
    )
    with torch.no_grad():
        for name, array in net.named_parameters():
            if name.endswith("_mean"):
                array.zero_()
        assert abs(float(et.kl(net))) < 1
        digits, labels = cnn.split_digits(0)[0]
        return -float(softmax_cross_entropy(net(digits[:1000])[0], labels[:1000]))


def sums(name: str, times: float) -> tuple[float, float, float]:
    """Return misfit, KL and both together of those of a contestant that read, nats a digit."""
    own = [row for row in rows_of(name) if row["error"][0] < 10]
    misfit, kl = (float(np.mean([row[key] for row in own])) for key in ("train_nll", "kl"))
    return misfit, times * kl, misfit + times * kl


@CLAIMS.says("ignorance", "the prior, knows nothing | 2.4")
@CLAIMS.says("whole-sum", "0.2 | 11.1 | 11.3", of("narrow", "kl", times=1.1))
@CLAIMS.says("tenth-sum", "0.05 | 1.2 | 1.3", of("narrow_tenth", "kl", times=1.2))
@CLAIMS.says("larger-sum", "end with a larger sum than one")
@CLAIMS.says("paid", "more than ten of the 11.1 nats", of("narrow", "kl", times=0.1))
def _() -> None:
    prior = -elbo_of_the_prior()
    assert round(prior, 1) == 2.4
    assert [round(each, 1) for each in sums("narrow", 1.0)] == [0.2, 11.1, 11.3]
    misfit, *rest = sums("narrow_tenth", 0.1)
    assert (round(misfit, 2), *(round(each, 1) for each in rest)) == (0.05, 1.2, 1.3)
    assert all(-row["elbo"][0] > prior for row in rows_of("narrow"))
    small = variational.kl(0.0, variational.inverse_softplus(0.032), Normal(0.0, 0.1))
    assert 10.5 < small * 61_706 / 4000 < 11.1
    assert measured.load(TABLE)["settings"]["train"] == 4000


@CLAIMS.says("nearer", "at 0.05, nearer to that prior")
@CLAIMS.says("chance", "is at chance after 15 epochs", of("stuck", "error", times=0.9))
@CLAIMS.says("two", "a sum of 1.7 and 1.8", of("stuck", "elbo", times=1.1))
def _() -> None:
    own = rows_of(cnn.STUCK)
    assert (cnn.BAYESIAN[cnn.STUCK].start, own[0]["by_epoch"]["epoch"][-1]) == (0.05, 15)
    assert [round(row["error"][0], 1) for row in own] == [89.5, 4.7, 10.7]
    assert [round(row["elbo"][0], 1) for row in own[1:]] == [-1.7, -1.8]
    assert all(row["elbo"][0] > elbo_of_the_prior() for row in own[1:])


@CLAIMS.says("splits", "1,000 to test on")
@CLAIMS.says("adam", "Adam at 0.001, batches of 100")
@CLAIMS.says("begin", "all standard deviations start at 0.01")
@CLAIMS.says("planes", "with 64 samples an image")
@CLAIMS.says("draws", "Predictions average 32 weight samples, and four")
@CLAIMS.says("letters", "Letters are 52 in ten fonts")
def _() -> None:
    settings = measured.load(TABLE)["settings"]
    names = ("epochs", "train", "test", "batch_size", "draws", "few_draws")
    assert [settings[name] for name in names] == [30, 4000, 1000, 100, 32, 4]
    assert {row["split"] for row in measured.load(TABLE)["rows"]} == set(range(10))
    assert cnn.LR == 0.001
    looked = measured.load(seen.TABLE)
    assert (looked["settings"]["draws"], looked["rows"][0]["split"]) == (64, 0)
    labels = looked["rows"][0]["letters"]["label"]
    assert (len(labels), len(set(labels))) == (520, 52)
    assert cnn.LIKE_DIGITS == "OoIliSsZzBqgb"
