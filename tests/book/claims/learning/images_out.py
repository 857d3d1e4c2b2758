"""What *Images out* claims, by its table and by the code of its experiment."""

import numpy as np
import torch

from ensedu.methods import METHODS
from ensedu.torch import ensemble
from tests.book.claiming import Change, Claims
from workshop import measured
from workshop.experiments import images_out

TABLE = "images-out"
CLAIMS = Claims("learning/images-out", unclaimed={"CC BY 2.0": "the name of a license"})
says, reads = CLAIMS.says, CLAIMS.reads
SETTINGS = TABLE, "settings"
SEVERAL = ("deep_ensemble", "mc_dropout", "mean_field")
LAYERS = [layer for layer in images_out.network(0.0) if isinstance(layer, torch.nn.Conv2d)]
KERNELS = [(layer.out_channels, *layer.kernel_size) for layer in LAYERS]


def where(score: str, photograph: str = "all", method: str = "single") -> tuple:
    """Return the way to a score of the summary."""
    return TABLE, "summary", {"photograph": photograph, "method": method}, score


def gain(nll: list[float]) -> float:
    """Return by how much an NLL is lower than that of bicubic interpolation."""
    return -nll[1]


def entry(*way: str):
    """Return a score in the summary; of the NLL the gain."""
    found = Change(*where(*way), times=1).before()
    return gain(found) if way[0] == "nll" else found


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
reads("they hold 46% of the squared error", *where("found", "camera"), times=0.9)
reads("they hold 12%, hardly more than a tenth", *where("found", "grass"), times=1.5)
reads("errors are 1.2 times as large", *where("off", "grass"), times=1.1)
reads("on the cat only 0.5 times", *where("off", "cat"), times=1.5)
says("this simpler prediction has the lower NLL",
     lambda: max(entry("nll", name) for name in ("cat", "grass")) < 0,
     Change(*where("nll", "cat"), to=[-0.3, -0.2, -0.1]))
says("On average over our five photographs", lambda: len(images_out.TEST))
says("the deep ensemble has the largest gain",
     lambda: max(images_out.METHODS, key=lambda one: entry("nll", "all", one)) == "deep_ensemble",
     Change(*where("nll", method="mc_dropout"), times=2))
reads("0.25 nats a pixel", *where("nll", "all", "deep_ensemble"), of=gain, times=1.1)
reads("where one network has 0.10", *where("nll"), of=gain, times=1.2)
reads("spread makes up 1.3% of its variance", *where("spread", "all", "deep_ensemble"), times=2)
says("less with MC dropout and mean-field",
     lambda: max(SEVERAL, key=lambda one: entry("spread", "all", one)) == "deep_ensemble",
     Change(*where("spread", method="mean_field"), times=2))
says("a larger part of the variance",
     lambda: all(entry("spread", "grass", m) < entry("spread", "camera", m) for m in SEVERAL),
     Change(*where("spread", "grass", "mean_field"), times=10),
     Change(*where("spread", "camera", "deep_ensemble"), times=0.1))
says("has 32 kernels of 5 × 5", lambda: KERNELS[0])
says("16 of 3 × 3", lambda: KERNELS[1])
says("eight of 3 × 3", lambda: KERNELS[2])
reads("five train (astronaut, brick", *SETTINGS, "train", to=["brick"], of=len)
reads("coffee chooses one factor", *SETTINGS, "scale", to="cat", of=lambda name: name == "coffee")
reads("Eight epochs of AdamW", *SETTINGS, "epochs", to=9)
reads("falls from 0.002", *SETTINGS, "lr", to=0.001)
says("on patches of 16 × 16 small pixels", lambda: [images_out.PATCH] * 2)
reads("in batches of four", *SETTINGS, "batch_size", to=8)
says("4 seeds", lambda: len({row["seed"] for row in measured.load(TABLE)["rows"]}))
reads("ensemble has four members", *SETTINGS, "members", to=5)
reads("MC dropout drops 10% of", *SETTINGS, "dropout", to=0.2)
reads("predict with eight samples", *SETTINGS, "samples", to=9)
reads("has the prior", *SETTINGS, "prior_std", to=1.0, of=lambda std: std == 0.1)
says("without a margin of eight pixels", lambda: images_out.MARGIN)
