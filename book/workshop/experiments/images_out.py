"""Photographs doubled in size, by networks that say how sure they are of each pixel they add.

A photograph is gray, and halved once, by averages of 2 x 2 pixels, which hides what its file format
left: that is the truth. Halved once more it is what a network sees. The network adds to what
bicubic interpolation makes of it: as in Shi et al. (2016) it computes all that it does for small
pixels, and moves four values to their places in the end. `TRAIN`, `SCALE` and `TEST` are whole
photographs, so none gives pixels to two of them. Every method gets one factor for its standard
deviations, the one with the least NLL on the photograph `SCALE`.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray as Array
from torch import Tensor, nn
from torch.nn import functional

from ensedu import uncertainty
from ensedu.common.checks import optional
from ensedu.priors import Normal
from ensedu.torch import KLWeight, ensemble, fit, gaussian_nll, predict
from ensedu.torch.base import seeded
from workshop.running.experiment import Experiment
from workshop.running.machine import one_thread

#: Photographs by name: the package that has them, and where.
FILES = {
    "astronaut": ("skimage", "data/astronaut.png"),
    "brick": ("skimage", "data/brick.png"),
    "camera": ("skimage", "data/camera.png"),
    "cat": ("skimage", "data/chelsea.png"),
    "coffee": ("skimage", "data/coffee.png"),
    "coins": ("skimage", "data/coins.png"),
    "grass": ("skimage", "data/grass.png"),
    "gravel": ("skimage", "data/gravel.png"),
    "rocket": ("skimage", "data/rocket.jpg"),
    "flower": ("sklearn", "datasets/images/flower.jpg"),
    "temple": ("sklearn", "datasets/images/china.jpg"),
}
TRAIN = ("astronaut", "brick", "coins", "gravel", "temple")
SCALE = "coffee"
TEST = ("camera", "cat", "flower", "grass", "rocket")
#: By method: the name it has on the page.
METHODS = {
    "single": "one network",
    "deep_ensemble": "deep ensemble",
    "mc_dropout": "MC dropout",
    "mean_field": "mean-field",
}
PATCH = 16  # pixels a side, of what a network sees
MARGIN = 8  # pixels of the truth at each side that no score sees
#: Upper left corners of what the page shows, in pixels of the truth, and the length of a side.
CORNERS = {
    "camera": (40, 85), "cat": (30, 70), "flower": (80, 120), "grass": (60, 60),
    "rocket": (135, 130),
}  # fmt: skip
SIDE = 64
FACTORS = np.exp(np.linspace(-1, 1, 41))
DOUBTED = 0.1  # of the pixels


def photograph(name: str) -> Float[Array, "H W"]:
    """Return the truth, from 0 to 1, with even sides."""
    package, path = FILES[name]
    file = files(package) / path
    pixels = np.asarray(optional("PIL.Image", "data").open(file).convert("L"), float) / 255
    height, width = (side // 4 * 4 for side in pixels.shape)
    return halved(pixels[:height, :width])


def halved(pixels: Float[Array, "H W"]) -> Float[Array, "h w"]:
    """Return the averages of 2 x 2 pixels."""
    height, width = pixels.shape
    return pixels.reshape(height // 2, 2, width // 2, 2).mean(axis=(1, 3))


def bicubic(small: Float[Array, "h w"]) -> Float[Array, "H W"]:
    """Return twice the pixels a side, interpolated."""
    image = torch.from_numpy(small)[None, None]
    return functional.interpolate(image, scale_factor=2, mode="bicubic")[0, 0].numpy()


def network(dropout: float) -> nn.Module:
    """Return a sub-pixel CNN, (B, 1, h, w) -> (B, 2, 2h, 2w): a mean and a raw variance."""
    return nn.Sequential(
        nn.Conv2d(1, 32, 5, padding=2), nn.ReLU(), nn.Dropout2d(dropout),
        nn.Conv2d(32, 16, 3, padding=1), nn.ReLU(), nn.Dropout2d(dropout),
        nn.Conv2d(16, 2 * 4, 3, padding=1), nn.PixelShuffle(2),
    )  # fmt: skip


def as_inputs(small: Array) -> Tensor:
    """Return (B, h, w), or one (h, w), as a network sees it."""
    scaled = torch.from_numpy((small - 0.5) / 0.25).float()
    return scaled.reshape(-1, 1, *small.shape[-2:])


def as_rows(images: Float[Tensor, "*M B 2 H W"]) -> Float[Tensor, "*M pixels 2"]:
    """Return the outputs of each pixel as a row."""
    return images.movedim(-3, -1).flatten(-4, -2)


def pixel_nll(outputs: Float[Tensor, "*M B 2 H W"], targets: Float[Tensor, "B H W"]) -> Tensor:
    """Return the mean NLL of a pixel."""
    return gaussian_nll(as_rows(outputs), targets.reshape(-1, 1))


def patches(names: Sequence[str]) -> tuple[Float[Array, "N P P"], Float[Array, "N Q Q"]]:
    """Return small patches, and what bicubic interpolation of their photographs lacks there."""
    seen, lacking = [], []
    for name in names:
        truth = photograph(name)
        small = halved(truth)
        missing = truth - bicubic(small)
        for top in range(0, small.shape[0] - PATCH + 1, PATCH):
            for left in range(0, small.shape[1] - PATCH + 1, PATCH):
                seen.append(small[top : top + PATCH, left : left + PATCH])
                own = (slice(2 * at, 2 * (at + PATCH)) for at in (top, left))
                lacking.append(missing[tuple(own)])
    return np.stack(seen), np.stack(lacking)


def trained(
    method: str, seed: int, train: Sequence[str], members: int, samples: int, epochs: int,
    batch_size: int, lr: float, dropout: float, prior_std: float,
) -> tuple[nn.Module, float]:  # fmt: skip
    """Return a trained network or ensemble, and the unit of its outputs."""
    seen, lacking = patches(train)
    unit = float(np.sqrt((lacking**2).mean()))
    with seeded(seed):
        net = network(dropout if method == "mc_dropout" else 0.0)
        if method == "deep_ensemble":
            net = ensemble(net, method, members)
        elif method == "mean_field":
            net = ensemble(net, method, prior=Normal(0.0, prior_std), estimator="flipout")
    targets = torch.from_numpy(lacking / unit).float()
    fit(
        net, as_inputs(seen), targets, pixel_nll, epochs=epochs, batch_size=batch_size, lr=lr,
        weight_decay=0.0, kl=KLWeight(1 / lacking[0].size), seed=seed, bar=False,
        scheduler=lambda optimizer: torch.optim.lr_scheduler.CosineAnnealingLR(
            optimizer, epochs * -(-len(seen) // batch_size)
        ),
    )  # fmt: skip
    return ensemble(net, method, samples=samples) if method == "mc_dropout" else net, unit


@dataclass(frozen=True, eq=False)
class Doubled:
    """What M members or samples say of a photograph's residual, in units, without its margin."""

    #: (M, pixels, 1).
    mean: Float[Array, "M pixels 1"]
    variance: Float[Array, "M pixels 1"]
    #: (pixels, 1): the residual of bicubic interpolation.
    missing: Float[Array, "pixels 1"]

    def nll(self, factor: float) -> float:
        """Return the mean NLL of a pixel, with all standard deviations times a factor."""
        nll = uncertainty.gaussian_nll(self.mean, factor**2 * self.variance, self.missing)
        return float(uncertainty.mixture_nll(nll).mean())

    def parts(self, factor: float) -> uncertainty.VarianceParts:
        """Return the variance of the mixture in its parts."""
        return uncertainty.variance_parts(self.mean, factor**2 * self.variance)


def inner(image: Float[Array, "*M H W"]) -> Float[Array, "*M pixels one"]:
    """Return a row for each pixel that is no margin."""
    cut = image[..., MARGIN:-MARGIN, MARGIN:-MARGIN]
    return cut.reshape(*image.shape[:-2], -1, 1)


def outputs(
    net: nn.Module, small: Float[Array, "h w"], samples: int, seed: int
) -> tuple[Float[Array, "M H W"], Float[Array, "M H W"]]:
    """Return the mean and the variance of each member or sample, in units."""
    with seeded(seed):
        found = predict(net, as_inputs(small), samples=samples)
    members, _, _, height, width = found.shape
    mean, variance = uncertainty.gaussian_heads(as_rows(found).double().numpy())
    shape = members, height, width
    return mean.reshape(shape), variance.reshape(shape)


def doubled(
    net: nn.Module, truth: Float[Array, "H W"], unit: float, samples: int, seed: int
) -> Doubled:
    """Double what is left of a photograph."""
    small = halved(truth)
    found = outputs(net, small, samples, seed)
    return Doubled(*map(inner, found), inner((truth - bicubic(small)) / unit))


def best_factor(one: Doubled) -> float:
    """Return the factor of all standard deviations with the least NLL."""
    return float(min(FACTORS, key=one.nll))


def psnr(squared_error: float) -> float:
    """Return the peak signal-to-noise ratio, in decibel, of pixels from 0 to 1."""
    return float(-10 * np.log10(squared_error))


def share_of_doubted(doubt: Float[Array, "*pixels"], squared: Float[Array, "*pixels"]) -> float:
    """Return the part of the squared error in the tenth of the pixels with the most doubt."""
    order = np.argsort(-doubt, axis=None, kind="stable")
    return float(squared.ravel()[order[: round(DOUBTED * doubt.size)]].sum() / squared.sum())


def packed(image: Float[Array, "H W"]) -> str:
    """Return an image, from 0 to 255, as text: a byte a pixel, in base64."""
    return base64.b64encode(np.clip(image.round(), 0, 255).astype(np.uint8).tobytes()).decode()


def unpacked(text: str) -> Float[Array, "H W"]:
    """Return what was `packed`, a square."""
    flat = np.frombuffer(base64.b64decode(text), np.uint8).astype(float)
    return flat.reshape(int(len(flat) ** 0.5), -1)


def cut(name: str, image: Float[Array, "H W"]) -> Float[Array, "h w"]:
    """Return what the page shows of a photograph."""
    top, left = CORNERS[name]
    return image[top : top + SIDE, left : left + SIDE]


def run_bicubic() -> dict[str, Any]:
    """Return the scores of bicubic interpolation, with the one σ that suits each photograph."""
    errors, shown = [], {}
    for name in TEST:
        truth = photograph(name)
        shown[name] = {"truth": packed(255 * cut(name, truth))}
        errors.append(float((inner(truth - bicubic(halved(truth))) ** 2).mean()))
    return {
        "psnr": [psnr(error) for error in errors],
        "nll": [float(np.log(255**2 * 2 * np.pi * np.e * error) / 2) for error in errors],
        "spread": [0.0] * len(TEST),
        "found": [DOUBTED] * len(TEST),
        "off": [1.0] * len(TEST),
        "factor": 1.0,
        "crops": shown,
    }


def run(
    method: str, seed: int, train: Sequence[str], scale: str, members: int, samples: int,
    epochs: int, batch_size: int, lr: float, dropout: float, prior_std: float,
) -> dict[str, Any]:  # fmt: skip
    """Return scores, each a list over `TEST`; the first seed keeps what the page shows, too."""
    if method == "bicubic":
        return run_bicubic()
    with one_thread():
        net, unit = trained(
            method, seed, train, members, samples, epochs, batch_size, lr, dropout, prior_std
        )
        passes = samples if method == "mean_field" else 1
        factor = best_factor(doubled(net, photograph(scale), unit, passes, seed))
        rows: dict[str, Any] = {score: [] for score in ("psnr", "nll", "spread", "found", "off")}
        shown = {}
        for name in TEST:
            truth = photograph(name)
            one = doubled(net, truth, unit, passes, seed)
            parts = one.parts(factor)
            squared = (one.mean.mean(axis=0) - one.missing) ** 2
            rows["psnr"].append(psnr(unit**2 * squared.mean()))
            rows["nll"].append(one.nll(factor) + float(np.log(255 * unit)))
            rows["spread"].append(float(parts.spread.mean() / parts.total.mean()))
            rows["found"].append(share_of_doubted(parts.total, squared))
            rows["off"].append(float(np.sqrt(squared.mean() / parts.total.mean())))
            if seed == 0:
                shown[name] = shown_crops(net, name, truth, unit, passes, factor)
    return rows | {"factor": factor, "crops": shown}


def shown_crops(
    net: nn.Module, name: str, truth: Float[Array, "H W"], unit: float, passes: int, factor: float
) -> dict[str, str]:
    """Return what the page shows: the mean, and twice the standard deviation, in gray levels."""
    small = halved(truth)
    mean, variance = outputs(net, small, passes, 0)
    image = bicubic(small) + unit * mean.mean(axis=0)
    std = unit * np.sqrt(factor**2 * variance.mean(axis=0) + mean.var(axis=0))
    return {"mean": packed(255 * cut(name, image)), "std": packed(2 * 255 * cut(name, std))}


def summarize(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return, by photograph and method, gains on bicubic interpolation: intervals over seeds."""
    (bicubic_row,) = (row for row in rows if row["method"] == "bicubic")
    found = []
    for i, name in enumerate((*TEST, "all")):
        for method in METHODS:
            own = [row for row in rows if row["method"] == method]
            entry: dict[str, Any] = {"photograph": name, "method": method}
            for score in ("psnr", "nll"):
                values = np.array([row[score] for row in own]) - np.array(bicubic_row[score])
                one = uncertainty.paired(values.mean(axis=1) if name == "all" else values[:, i])
                entry[score] = [one.low, one.mean, one.high]
            for score in ("spread", "found", "off"):
                values = np.array([row[score] for row in own])
                entry[score] = float(values.mean() if name == "all" else values[:, i].mean())
            found.append(entry)
    return found


@dataclass(frozen=True, eq=False)
class Crop:
    """A part of a photograph, all in gray levels: the truth, what was made, and its σ."""

    truth: Float[Array, "H W"]
    mean: Float[Array, "H W"]
    std: Float[Array, "H W"]

    @property
    def small(self) -> Float[Array, "h w"]:
        """What the network was given."""
        return halved(self.truth)

    @property
    def error(self) -> Float[Array, "H W"]:
        """How far off it was."""
        return np.abs(self.mean - self.truth)

    @property
    def found(self) -> float:
        """The part of the squared error in the most doubted tenth of the pixels."""
        return share_of_doubted(self.std, self.error**2)


def crops(rows: Sequence[dict[str, Any]]) -> dict[tuple[str, str], Crop]:
    """Return what the table keeps of the first seed, by photograph and method."""
    by = {row["method"]: row["crops"] for row in rows if row["seed"] == 0}
    return {
        (name, method): Crop(
            unpacked(by["bicubic"][name]["truth"]),
            unpacked(by[method][name]["mean"]),
            unpacked(by[method][name]["std"]) / 2,
        )
        for name in TEST
        for method in METHODS
    }


EXPERIMENT = Experiment(
    name="images-out",
    about="lists over the photographs camera, cat, flower, grass, rocket: psnr, decibel; nll, nats "
    "a pixel, in gray levels; spread, the part of the variance that members or samples disagree "
    "by; found, the part of the squared error in the tenth of the pixels with the largest "
    "standard deviations; off, the root mean square of errors over that of standard deviations;"
    " factor, of standard deviations, chosen on coffee; crops, of seed 0: squares in base64, a "
    "byte a pixel, truth and mean in gray levels, std in half ones; the summary holds gains on "
    "bicubic interpolation, with intervals over seeds. Photographs: astronaut and rocket are in"
    " the public domain (NASA, SpaceX), brick and gravel (CC0Textures), grass, camera (Lav "
    "Varshney), cat (Stefan van der Walt) and coffee (Rachel Michetti) CC0, coins without known"
    " restrictions, temple (danielbuechele) and flower (vultilion) CC BY 2.0",
    budget="4 seeds, 8 epochs of AdamW, alike for all, no tuning",
    cases=[{"method": "bicubic", "seed": 0}]
    + [{"method": method, "seed": seed} for seed in range(4) for method in METHODS],
    run=run,
    settings={
        "train": list(TRAIN), "scale": SCALE, "members": 4, "samples": 8, "epochs": 8,
        "batch_size": 4, "lr": 0.002, "dropout": 0.1, "prior_std": 0.1,
    },
    summarize=summarize,
)  # fmt: skip
