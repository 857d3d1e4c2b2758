"""What a Bayesian LeNet-5 says of digits and letters, as arrays: from ``bayesian-cnn-images``.

`shown` are a few images with the answers of weight samples, `known` all test digits, and all
letters that hardly anybody reads as a digit.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray as Array

from ensedu.data import letters, mnist5000
from workshop import measured
from workshop.experiments.bayesian_cnn import LIKE_DIGITS

__all__ = ["CUT", "TABLE", "Known", "Seen", "doubtful_shares", "known", "shown"]

TABLE = "bayesian-cnn-images"
#: Of both parts together: above it, an image is doubtful.
CUT = 0.2
#: Places among the images that the table has with their samples.
PICKED = {"digits": (8, 4, 7, 1), "letters": (8, 4, 6, 3)}


@dataclass(frozen=True, eq=False)
class Seen:
    """An image, what weight samples answer, and the two parts of the doubt in their average.

    Attributes
    ----------
    kind, label
        "digit" or "letter", and which.
    pixels
        (28, 28), from 0 to 1.
    p
        (S, 10): the probabilities of each weight sample.
    parts
        The traces, aleatoric and epistemic.
    """

    kind: str
    label: str
    pixels: Float[Array, "28 28"]
    p: Float[Array, "S 10"]
    parts: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Known:
    """Both parts of the doubt in many images.

    Attributes
    ----------
    pixels
        (B, 28, 28).
    parts
        (2, B): the traces, aleatoric and epistemic.
    wrong
        (B,): whether the most probable digit is not the label.
    """

    pixels: Float[Array, "B 28 28"]
    parts: Float[Array, "2 B"]
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
    """Return all test digits, and all letters but `LIKE_DIGITS`."""
    (row,), found = measured.load(TABLE)["rows"], {}
    for kind in PICKED:
        own = {name: np.array(row[kind][name]) for name in ("index", "label", "top")}
        kept = ~np.isin(own["label"], [*LIKE_DIGITS])
        parts = np.array([row[kind]["aleatoric"], row[kind]["epistemic"]])[:, kept]
        wrong = own["label"].astype(str) != own["top"].astype(str)
        found[kind] = Known(pixels(kind)[own["index"][kept]], parts, wrong[kept])
    return found


def doubtful_shares(own: Known, cut: float = CUT) -> Float[Array, " D"]:
    """Return the epistemic share of each image whose parts have more than the cut together."""
    return (own.parts[1] / np.maximum(own.whole, 1e-9))[own.whole > cut]
