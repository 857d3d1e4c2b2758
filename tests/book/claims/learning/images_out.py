"""What *Images out* claims, by its table and by the code of its experiment."""

import numpy as np
import torch

from ensedu.book import measured
from ensedu.book.experiments import images_out
from ensedu.torch import ensemble
from tests.book.claiming import Change, Claims

CLAIMS = Claims(
    "learning/images-out",
    unclaimed={
        "CC BY 2.0": "the name of a license",
    },
)
SEVERAL = ("deep_ensemble", "mc_dropout", "mean_field")


def entry(photograph: str, method: str = "single") -> dict:
    """Return an entry of the summary."""
    summary = measured.load("images-out")["summary"]
    return measured.row(summary, photograph=photograph, method=method)


def changed(photograph: str, key: str, method: str = "single", **change) -> Change:
    """Return a change of an entry of the summary."""
    where = {"photograph": photograph, "method": method}
    return Change("images-out", "summary", where, key, **change)


@CLAIMS.says("blocks", "replace each block of 2 × 2 pixels")
@CLAIMS.says("lost", "three of every four numbers")
def _() -> None:
    """Blocks that differ by what has the average 0, in three directions, are one small pixel."""
    ways = np.array([[[1, -1], [1, -1]], [[1, 1], [-1, -1]], [[1, -1], [-1, 1]]])
    assert np.linalg.matrix_rank(ways.reshape(3, 4)) == 3
    assert all(images_out.halved(120.0 + 80 * way).item() == 120 for way in ways)


@CLAIMS.says("found", "they hold 46% of the squared error", changed("camera", "found", times=0.9))
@CLAIMS.says(
    "grass", "they hold 12%, hardly more than a tenth", changed("grass", "found", times=1.5)
)
def _() -> None:
    assert images_out.DOUBTED == 0.1
    assert round(100 * entry("camera")["found"]) == 46
    assert round(100 * entry("grass")["found"]) == 12


@CLAIMS.says("grass-off", "errors are 1.2 times as large", changed("grass", "off", times=1.1))
@CLAIMS.says("cat-off", "on the cat only 0.5 times", changed("cat", "off", times=1.5))
def _() -> None:
    assert round(entry("grass")["off"], 1) == 1.2
    assert round(entry("cat")["off"], 1) == 0.5


@CLAIMS.says(
    "nll", "this simpler prediction has the lower NLL",
    changed("cat", "nll", to=[-0.3, -0.2, -0.1]),
)  # fmt: skip
def _() -> None:
    assert all(entry(name)["nll"][1] > 0 for name in ("cat", "grass"))


@CLAIMS.says(
    "spread", "spread makes up 1.3% of its variance",
    changed("all", "spread", "deep_ensemble", times=2),
    changed("all", "spread", "mean_field", times=2),
)  # fmt: skip
def _() -> None:
    most, *others = (entry("all", method)["spread"] for method in SEVERAL)
    assert round(100 * most, 1) == 1.3
    assert most > max(others)


@CLAIMS.says(
    "most", "the deep ensemble has the largest gain",
    changed("all", "nll", "mc_dropout", times=2),
)  # fmt: skip
@CLAIMS.says(
    "gains", "0.25 nats a pixel where one network",
    changed("all", "nll", "deep_ensemble", times=1.1), changed("all", "nll", times=1.2),
)  # fmt: skip
def _() -> None:
    assert len(images_out.TEST) == 5
    gains = {method: -entry("all", method)["nll"][1] for method in images_out.METHODS}
    assert max(gains, key=gains.get) == "deep_ensemble"
    assert [round(gains[method], 2) for method in ("deep_ensemble", "single")] == [0.25, 0.10]


@CLAIMS.says(
    "warning", "a larger part of the variance",
    changed("grass", "spread", "mean_field", times=10),
    changed("camera", "spread", "deep_ensemble", times=0.1),
)  # fmt: skip
def _() -> None:
    for method in SEVERAL:
        assert entry("grass", method)["spread"] < entry("camera", method)["spread"]


@CLAIMS.says("kernels", "has 32 kernels of 5 × 5")
def _() -> None:
    first, second, last = (
        layer for layer in images_out.network(0.0) if isinstance(layer, torch.nn.Conv2d)
    )
    assert first.weight.shape == (32, 1, 5, 5)
    assert second.weight.shape == (16, 32, 3, 3)
    assert last.weight.shape == (2 * 4, 16, 3, 3)


@CLAIMS.says(
    "training", "on patches of 16 × 16 small pixels",
    Change("images-out", "settings", "epochs", to=9),
    Change("images-out", "settings", "batch_size", to=8),
)  # fmt: skip
@CLAIMS.says(
    "members", "MC dropout drops 10% of", Change("images-out", "settings", "members", to=5)
)
@CLAIMS.says("prior", "has the prior", Change("images-out", "settings", "prior_std", to=1.0))
@CLAIMS.says("seeds", "4 seeds")
def _() -> None:
    table = measured.load("images-out")
    assert table["settings"] == {
        "train": ["astronaut", "brick", "coins", "gravel", "temple"], "scale": "coffee",
        "members": 4, "samples": 8, "epochs": 8, "batch_size": 4, "lr": 0.002, "dropout": 0.1,
        "prior_std": 0.1,
    }  # fmt: skip
    assert (images_out.PATCH, images_out.MARGIN) == (16, 8)
    assert {row["seed"] for row in table["rows"]} == {*range(4)}


@CLAIMS.says("any-method", "turns it into any of our methods")
def _() -> None:
    """Of the methods that train here; the outputs have members or samples in front."""
    small = torch.rand(2, 1, 8, 8)
    for method, options in {
        "deep_ensemble": {"ensemble_size": 3},
        "mc_dropout": {"samples": 3},
        "mean_field": {"samples": 3},
        "batch_ensemble": {"ensemble_size": 3},
        "rank1": {"ensemble_size": 3},
    }.items():
        found = ensemble(images_out.network(0.1), method, **options)(small)
        assert found.shape[-5:] == (3, 2, 2, 16, 16)
