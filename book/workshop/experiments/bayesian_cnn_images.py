"""What a Bayesian LeNet-5 says of digits and letters: the net ``wide`` of `bayesian_cnn`, split 0.

`run` makes the one row of ``bayesian-cnn-images``. Of that table, `shown` are a few images with the
answers of weight samples, `known` all test digits, and all letters that hardly anybody reads as a
digit.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray as Array

from ensedu import uncertainty
from ensedu.data import letters, mnist5000
from workshop import measured
from workshop.experiments import bayesian_cnn as cnn
from workshop.running.experiment import Experiment

TABLE = "bayesian-cnn-images"
#: Of both parts together: above it, an image is doubtful.
CUT = 0.2
#: Places among the images that the table has with their samples.
PICKED = {"digits": (8, 4, 7, 1), "letters": (8, 4, 6, 3)}


@dataclass(frozen=True, eq=False)
class Seen:
    """An image, what weight samples answer, and the two parts of the doubt in their average."""

    #: "digit" or "letter", and which.
    kind: str
    label: str
    #: (28, 28), from 0 to 1.
    pixels: Float[Array, "28 28"]
    #: (S, 10): the probabilities of each weight sample.
    p: Float[Array, "S 10"]
    #: The traces, aleatoric and epistemic.
    parts: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Known:
    """Both parts of the doubt in many images."""

    #: (B, 28, 28).
    pixels: Float[Array, "B 28 28"]
    #: (2, B): the traces, aleatoric and epistemic.
    parts: Float[Array, "2 B"]
    #: (B,): whether the most probable digit is not the label.
    wrong: Bool[Array, " B"]

    @property
    def whole(self) -> Float[Array, " B"]:
        """Both parts together."""
        return self.parts.sum(axis=0)


@cache
def pixels(kind: str) -> Float[Array, "N 28 28"]:
    """Return all images of a kind, as the table counts them."""
    return (mnist5000 if kind == "digits" else letters)()[0].reshape(-1, 28, 28)


def shown() -> list[Seen]:
    """Return four digits, then four letters, one that leaves no doubt first."""
    (row,), found = measured.load(TABLE)["rows"], []
    for kind, places in PICKED.items():
        for one in (row[kind]["shown"][place] for place in places):
            at = row[kind]["index"].index(one["index"])
            parts = row[kind]["aleatoric"][at], row[kind]["epistemic"][at]
            image = pixels(kind)[one["index"]]
            found.append(Seen(kind[:-1], f"{one['label']}", image, np.array(one["p"]), parts))
    return found


def known() -> dict[str, Known]:
    """Return all test digits, and all letters but `bayesian_cnn.LIKE_DIGITS`."""
    (row,), found = measured.load(TABLE)["rows"], {}
    for kind in PICKED:
        own = {name: np.array(row[kind][name]) for name in ("index", "label", "top")}
        kept = ~np.isin(own["label"], [*cnn.LIKE_DIGITS])
        parts = np.array([row[kind]["aleatoric"], row[kind]["epistemic"]])[:, kept]
        wrong = own["label"].astype(str) != own["top"].astype(str)
        found[kind] = Known(pixels(kind)[own["index"][kept]], parts, wrong[kept])
    return found


def doubtful_shares(own: Known, cut: float = CUT) -> Float[Array, " D"]:
    """Return the epistemic share of each image whose parts have more than the cut together."""
    return (own.parts[1] / np.maximum(own.whole, 1e-9))[own.whole > cut]


def run(
    split: int, epochs: int, batch_size: int, train: int, draws: int, shown: int, kept: int
) -> dict[str, Any]:
    """Return what the wide net says of each test digit and each letter.

    Lists over images, of which ``index`` is the number in `mnist5000` or in `letters`; ``shown``
    are images with so many draws of their probabilities: those of the greatest aleatoric and of
    the greatest epistemic trace, and those of the least of both together.
    """
    rows = cnn.digit_order(split)
    data, test = cnn.split_digits(split)
    data = (data[0][:train], data[1][:train])
    net = cnn.trained("wide", split, epochs, batch_size, data)
    x, names = cnn.letter_images()
    found: dict[str, Any] = {}
    for kind, images, index, labels in (
        ("digits", test[0], rows[cnn.TRAIN :], test[1].tolist()),
        ("letters", x, np.arange(len(x)), names),
    ):
        own: dict[str, Any] = {"index": index.tolist(), "label": labels}
        p = cnn.probabilities(net, images, draws)
        own["top"] = uncertainty.averaged(p).argmax(-1).tolist()
        known = cnn.uncertainties(p)
        by_weights = cnn.uncertainties(cnn.probabilities(net, images, draws, "weights"))
        for name in known:
            own[name] = known[name].round(4).tolist()
            own[f"{name}_by_weights"] = by_weights[name].round(4).tolist()
        picked = extreme_images(known["aleatoric"], known["epistemic"], shown)
        own["shown"] = [
            {"index": int(index[i]), "label": labels[i], "p": p[:kept, i].round(4).tolist()}
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


EXPERIMENT = Experiment(
    name="bayesian-cnn-images",
    about="the net `wide` of split 0 of bayesian-cnn: of its test digits, and of all letters, the "
    "number in mnist5000() or letters(), the label, the most probable digit, and the traces of the "
    "aleatoric and the epistemic covariance, with its own estimator and with drawn weights; shown: "
    "four images of the greatest of each, and four of the least of both, with draws of their "
    "probabilities",
    budget="one net, 64 draws an image, of which 16 are kept for the images shown",
    cases=[{"split": 0}],
    run=run,
    settings={
        "epochs": 30, "batch_size": 100, "train": cnn.TRAIN, "draws": 64, "shown": 4, "kept": 16,
    },
)  # fmt: skip
