"""What *Images out* claims, by its table and by the code of its experiment."""

import numpy as np
import torch

from ensedu.methods import size_option
from ensedu.torch import ensemble
from tests.book.claiming import Claims, every, reader
from workshop.experiments import images_out

CLAIMS = Claims("learning/images-out", unclaimed={
    "the name of a license": ["CC BY 2.0"],
})  # fmt: skip
says, reads = CLAIMS.says, CLAIMS.reads
SETTINGS = "images-out", "settings"
score = reader("images-out", "summary", by="method photograph")
DEEP, *_ = SEVERAL = ("deep_ensemble", "mc_dropout", "mean_field")
LAYERS = [layer for layer in images_out.network(0.0) if isinstance(layer, torch.nn.Conv2d)]
KERNELS = [(layer.out_channels, *layer.kernel_size) for layer in LAYERS]


def gain(method: str = "single", photograph: str = "all") -> float:
    """Return by how much an NLL is lower than that of bicubic interpolation."""
    return -score(method, photograph, "nll", 1)


def lost() -> int:
    """Return in how many directions blocks of four numbers differ that become the same pixel."""
    kept = [images_out.halved(one).ravel() for one in np.eye(4).reshape(4, 2, 2)]
    return 4 - np.linalg.matrix_rank(kept) if np.allclose(kept, 1 / 4) else 0


# fmt: off
says("each block of 2 × 2", lambda: np.divide((6, 8), images_out.halved(np.ones((6, 8))).shape))
says("three of every four numbers", lambda: (lost(), 4))
says("turns it into any of our methods", lambda: all(
     ensemble(images_out.network(0.1), method, **size_option(method, 3))(torch.rand(2, 1, 8, 8))
     .shape[-5:] == (3, 2, 2, 16, 16) for method in (*SEVERAL, "rank1")))
says("Take the tenth of the pixels", lambda: images_out.DOUBTED == 0.1)
says("they hold 46% of the squared error", lambda: score("single", "camera", "found"))
says("they hold 12%, hardly more than a tenth", lambda: score("single", "grass", "found"))
says("errors are 1.2 times as large", lambda: score("single", "grass", "off"))
says("on the cat only 0.5 times", lambda: score("single", "cat", "off"))
says("this simpler prediction has the lower NLL",
     lambda: max(gain("single", name) for name in ("cat", "grass")) < 0)
says("On average over our five photographs", lambda: len(images_out.TEST))
says("the deep ensemble has the largest gain", lambda: max(images_out.METHODS, key=gain) == DEEP)
says("0.25 nats a pixel", lambda: gain(DEEP))
says("where one network has 0.10", gain)
says("spread makes up 1.3% of its variance", lambda: score(DEEP, "all", "spread"))
says("less with MC dropout and mean-field",
     lambda: max(SEVERAL, key=lambda one: score(one, "all", "spread")) == DEEP)
says("a larger part of the variance",
     lambda: all(score(m, "grass", "spread") < score(m, "camera", "spread") for m in SEVERAL))
says("has 32 kernels of 5 × 5", lambda: KERNELS[0])
says("16 of 3 × 3", lambda: KERNELS[1])
says("eight of 3 × 3", lambda: KERNELS[2])
reads("five train (astronaut, brick", *SETTINGS, "train", of=len)
reads("coffee chooses one factor", *SETTINGS, "scale", of=lambda name: name == "coffee")
reads("Eight epochs of AdamW", *SETTINGS, "epochs")
reads("falls from 0.002", *SETTINGS, "lr")
says("on patches of 16 × 16 small pixels", lambda: [images_out.PATCH] * 2)
reads("in batches of four", *SETTINGS, "batch_size")
says("4 seeds", lambda: len({*every("images-out", "rows", {}, "seed")}))
reads("ensemble has four members", *SETTINGS, "members")
reads("MC dropout drops 10% of", *SETTINGS, "dropout")
reads("predict with eight samples", *SETTINGS, "samples")
reads("has the prior", *SETTINGS, "prior_std", of=lambda std: std == 0.1)
says("without a margin of eight pixels", lambda: images_out.MARGIN)
