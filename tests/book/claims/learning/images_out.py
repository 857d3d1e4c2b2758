"""What *Images out* claims, by its table and by the code of its experiment."""

import numpy as np
import torch

from ensedu.book import measured
from ensedu.book.experiments import images_out
from ensedu.methods import METHODS
from ensedu.torch import ensemble
from tests.book.claiming import Change, Claims

TABLE = "images-out"
CLAIMS = Claims("learning/images-out", unclaimed={"CC BY 2.0": "the name of a license"})
says = CLAIMS.says
SEVERAL = ("deep_ensemble", "mc_dropout", "mean_field")
LAYERS = [layer for layer in images_out.network(0.0) if isinstance(layer, torch.nn.Conv2d)]
KERNELS = [(layer.out_channels, *layer.kernel_size) for layer in LAYERS]


def entry(score: str, photograph: str = "all", method: str = "single"):
    """Return a score in the summary; of the NLL the gain on bicubic interpolation."""
    summary = measured.load(TABLE)["summary"]
    found = measured.row(summary, photograph=photograph, method=method)[score]
    return -found[1] if score == "nll" else found


def moved(score: str, photograph: str = "all", method: str = "single", **change) -> Change:
    return Change(TABLE, "summary", {"photograph": photograph, "method": method}, score, **change)


def scores(said: str, *way: str, times: float) -> None:
    """Claim a score of the summary."""
    says(said, lambda: entry(*way), moved(*way, times=times))


def setting(said: str, name: str, to, value=lambda own: own) -> None:
    """Claim a setting of the experiment."""
    change = Change(TABLE, "settings", name, to=to)
    says(said, lambda: value(measured.load(TABLE)["settings"][name]), change)


def lost() -> int:
    """Return in how many directions blocks of four numbers differ that become the same pixel."""
    kept = [images_out.halved(one).ravel() for one in np.eye(4).reshape(4, 2, 2)]
    return 4 - np.linalg.matrix_rank(kept) if np.allclose(kept, 1 / 4) else 0


def becomes(method: str) -> bool:
    """Say whether the network as a method computes three images, of two values a pixel each."""
    kind = "ensemble_size" if METHODS[method].members else "samples"
    net = ensemble(images_out.network(0.1), method, **{kind: 3})
    return net(torch.rand(2, 1, 8, 8)).shape[-5:] == (3, 2, 2, 16, 16)


BLOCKS = "replace each block of 2 × 2 pixels"
# fmt: off
says(BLOCKS, lambda: np.divide((6, 8), images_out.halved(np.ones((6, 8))).shape))
says("three of every four numbers", lambda: (lost(), 4))
says("turns it into any of our methods", lambda: all(map(becomes, (*SEVERAL, "rank1"))))
says("Take the tenth of the pixels", lambda: images_out.DOUBTED == 0.1)
scores("they hold 46% of the squared error", "found", "camera", times=0.9)
scores("they hold 12%, hardly more than a tenth", "found", "grass", times=1.5)
scores("errors are 1.2 times as large", "off", "grass", times=1.1)
scores("on the cat only 0.5 times", "off", "cat", times=1.5)
says("this simpler prediction has the lower NLL",
     lambda: max(entry("nll", name) for name in ("cat", "grass")) < 0,
     moved("nll", "cat", to=[-0.3, -0.2, -0.1]))
says("On average over our five photographs", lambda: len(images_out.TEST))
says("the deep ensemble has the largest gain",
     lambda: max(SEVERAL, key=lambda one: entry("nll", "all", one)) == "deep_ensemble",
     moved("nll", method="mc_dropout", times=2))
scores("0.25 nats a pixel", "nll", "all", "deep_ensemble", times=1.1)
scores("where one network has 0.10", "nll", times=1.2)
scores("spread makes up 1.3% of its variance", "spread", "all", "deep_ensemble", times=2)
says("less with MC dropout and mean-field",
     lambda: max(SEVERAL, key=lambda one: entry("spread", "all", one)) == "deep_ensemble",
     moved("spread", method="mean_field", times=2))
says("a larger part of the variance",
     lambda: all(entry("spread", "grass", m) < entry("spread", "camera", m) for m in SEVERAL),
     moved("spread", "grass", "mean_field", times=10),
     moved("spread", "camera", "deep_ensemble", times=0.1))
says("has 32 kernels of 5 × 5", lambda: KERNELS[0])
says("16 of 3 × 3", lambda: KERNELS[1])
says("eight of 3 × 3", lambda: KERNELS[2])
setting("five train (astronaut, brick", "train", ["brick"], len)
setting("coffee chooses one factor", "scale", "cat", lambda name: name == "coffee")
setting("Eight epochs of AdamW", "epochs", 9)
setting("falls from 0.002", "lr", 0.001)
says("on patches of 16 × 16 small pixels", lambda: [images_out.PATCH] * 2)
setting("in batches of four", "batch_size", 8)
says("4 seeds", lambda: len({row["seed"] for row in measured.load(TABLE)["rows"]}))
setting("ensemble has four members", "members", 5)
setting("MC dropout drops 10% of", "dropout", 0.2)
setting("predict with eight samples", "samples", 9)
setting("has the prior", "prior_std", 1.0, lambda std: std == 0.1)
says("without a margin of eight pixels", lambda: images_out.MARGIN)
