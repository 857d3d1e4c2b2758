"""Data unlike that of training: classes left out, images turned and blurred by noise, photographs.

Images are float64 with numbers from 0 to 1.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray as Array
from numpy.random import Generator

from ensedu.common import checks
from ensedu.common.array_checks import check_float64, check_rng
from ensedu.common.checks import optional
from ensedu.data.splits import check_images, check_targets


def keep_classes(
    x: Float[Array, "N *shape"], y: Int[Array, "N"], keep: Sequence[int], *, relabel: bool = False
) -> tuple[Float[Array, "n *shape"], Int[Array, "n"]]:
    """Return the rows whose label is one of `keep`, in their order.

    ``keep_classes(x, y, range(5))`` to train on, ``keep_classes(x, y, range(5, 10))`` to see what a
    network says to digits that it has never met. Each label of `keep` is in y, and named once; with
    `relabel` ``keep[i]`` becomes i.
    """
    check_float64("x", x)
    if x.ndim == 0 or check_targets("y", y, len(x)).ndim != 1:
        raise ValueError(f"y has shape {y.shape}, accepted is (N,), for x of shape (N, …)")
    checks.boolean("relabel", relabel)
    accepted = "different labels that are in y"
    if not isinstance(keep, (tuple, list, range)):
        raise TypeError(f"keep must be {accepted}, got {checks.describe(keep)}")
    labels = [checks.natural_int(f"keep[{i}]", label) for i, label in enumerate(keep)]
    if not labels or len(set(labels)) < len(labels) or not set(labels) <= set(y.tolist()):
        raise ValueError(f"keep must be {accepted}, got {checks.short_repr(keep)}")
    rows = np.isin(y, labels)
    order = np.argsort(labels)
    y = y[rows]
    return x[rows], order[np.searchsorted(labels, y, sorter=order)] if relabel else y


def rotated(images: Float[Array, "N H W"], degrees: float) -> Float[Array, "N H W"]:
    """Turn images counterclockwise about their centers; what comes in from outside is 0.

    Between pixels values are interpolated linearly; a turn by 90° of a square image is exact.
    Needs SciPy.
    """
    check_images("images", images, stacked=True)
    angle = checks.real("degrees", degrees)
    ndimage = optional("scipy.ndimage", "data")
    turned = ndimage.rotate(images, angle, axes=(1, 2), reshape=False, order=1)
    return np.clip(turned, 0, 1)  # the rounding of an average of ones may lie above 1


def noisy(images: Float[Array, "*shape"], std: float, rng: Generator) -> Float[Array, "*shape"]:
    """Add ``N(0, std²)`` to each pixel, and cut what leaves 0 to 1 off at 0 and 1.

    The cut is part of the shift, as in the common corruptions of Hendrycks and Dietterich (2019):
    black and white pixels change by less than `std` on average.
    """
    check_images("images", images)
    check_rng("rng", rng)
    if (scale := checks.real("std", std)) < 0:
        raise ValueError(f"std must be a finite number from 0 up, got {std!r}")
    return np.clip(images + scale * rng.standard_normal(images.shape), 0, 1)


def patches(number: int, size: int, rng: Generator) -> Float[Array, "number size size"]:
    """Cut square gray patches, `size` pixels wide, out of scikit-learn's two photographs.

    Each comes from any place of either with the same probability, so they may overlap. Gray is the
    mean of red, green and blue. Sizes go up to 427, the height of the photographs. Needs
    scikit-learn and Pillow.
    """
    checks.positive_int("number", number)
    checks.positive_int("size", size)
    check_rng("rng", rng)
    optional("PIL", "data")
    images = optional("sklearn.datasets", "data").load_sample_images().images
    photographs = np.stack(images).mean(axis=-1) / 255  # (2, 427, 640)
    if size > min(photographs.shape[1:]):
        raise ValueError(f"size must be at most {min(photographs.shape[1:])}, got {size}")
    cut = np.lib.stride_tricks.sliding_window_view(photographs, (size, size), axis=(1, 2))
    places = rng.integers(0, cut.shape[:3], (number, 3))
    return cut[tuple(places.T)]
