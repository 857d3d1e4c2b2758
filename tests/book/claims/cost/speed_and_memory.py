"""What *Speed and memory* claims: by the table of measured times, by counts, and by the layers."""

from functools import partial
from typing import Any

import numpy as np
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from ensedu import costs
from ensedu.torch import BatchEnsembleLinear, DeepEnsembleLinear, products
from tests.book.claiming import Claims, entry, every

CLAIMS = Claims("cost/speed-and-memory", unclaimed={
    "published by others": ["3 times as fast at test time as"],
    "a question": ["Your layer is 1,024 wide"],
    "what Adam keeps, in float32": ["A trained number takes 16 bytes"],
})  # fmt: skip
says, SPEED = CLAIMS.says, partial(entry, "speed-cpu")
BOTH = DEEP, SHARED = "deep_ensemble", "batch_ensemble"
WIDTHS, MEMBERS = (512, 1024, 2048), (3, 4, 8, 16)
LAYERS = [costs.layer(5, 7, method, 4, batch_size=8) for method in BOTH]
NARROW = costs.layer(50, 50, batch_size=1)


def passed(width: int, batch: int, method: str, key: str = "seconds") -> float:
    """Return the median of a forward pass of four members, in seconds or as part of the loop's."""
    return SPEED("headline", {"m": width, "B": batch}, "forward", method, key, 1)


def gain(width: int, batch: int, method: str = SHARED) -> float:
    """Return how many times as fast as four networks in turn it is."""
    return 1 / passed(width, batch, method, "ratio")


def rates() -> tuple[float, float]:
    """Return operations and bytes a second of the machine."""
    return SPEED("roofline", "flops_per_second"), SPEED("roofline", "bytes_per_second")


def cost(width: int, batch: int, method: str, members: int = 4) -> costs.Cost:
    return costs.layer(width, width, method, members, batch_size=batch)


def reached(width: int, batch: int, method: str) -> np.ndarray:
    """Return operations and bytes a second as parts of what the machine can do."""
    own = cost(width, batch, method)
    return np.divide([own.flops, own.bytes], rates()) / passed(width, batch, method)


def epoch(method: str) -> float:
    """Return how many times as fast as its four members in turn an epoch is."""
    return 1 / SPEED("training", {"M": 4}, "epoch", method, "ratio", 1)


def calls(layer: torch.nn.Module) -> int:
    """Return how many kernels a pass calls; what looks at an array in another way is none."""
    with torch.no_grad():
        nodes = make_fx(layer)(torch.randn(4, 1, 5)).graph.nodes
    called = [node.target for node in nodes if node.op == "call_function"]
    return sum(not one.is_view and "view" not in str(one) for one in called)


def lost() -> list[float]:
    """Return of each measured form how much longer it took than the other, or 0."""
    over = [row["fold over scale"][1] ** (1 if row["chosen"] == "fold" else -1)
            for row in SPEED("forms")]  # fmt: skip
    return [max(ratio, 1) - 1 for ratio in over]


def kept(width: int, batch: int, members: int) -> int:
    """Return the bytes that a BatchEnsemble keeps beyond its inputs."""
    return 4 * members * batch * 2 * width * (not products.fold_pays(batch, width, width))


def more(width: int, members: int, each: int) -> int:
    """Return what it keeps at most more than a deep ensemble, with so many bytes a parameter."""
    deep, own = (each * cost(width, 1, method, members).num_params for method in BOTH)
    return own + kept(width, width, members) - deep


def cells(**where: Any) -> list[dict[str, Any]]:
    """Return what another run measured of all contestants, a dictionary a row."""
    return every("speed-cpu", "cells", {"method": SHARED, **where})


def median(row: dict[str, Any], name: str, run: str = "forward", key: str = "seconds") -> float:
    return row["contestants"][name][run][key][1]


def prices() -> list[float]:
    """Return what memory_saving costs at width 1,024 where the rule scales, the least and most."""
    found = [
        np.divide(*(median(row, f"ensedu{saving}", "forward+backward", "ratio")
                    for saving in (", memory saving", "")))
        for row in cells(m=1024) if kept(1024, row["B"], row["M"])
    ]  # fmt: skip
    return [min(found), max(found)]


# fmt: off
says("Hardly at all: 1.02 times", lambda: gain(1024, 256))
says("and with 256 examples they take the time", lambda: reached(1024, 256, SHARED)[0] > 0.95)
says(["it is 2.2 times as fast, because", "and not 2.2 times"], lambda: gain(1024, 1))
says("need 20 microseconds for such", lambda: 1e6 * passed(50, 1, "loop"))
says("A BatchEnsemble needs 16, so", lambda: 1e6 * passed(50, 1, SHARED))
says("in one array needs only 11", lambda: 1e6 * passed(50, 1, DEEP))
says("A layer of this width has 2,500 weights", lambda: NARROW.product_flops / 2)
says("a twentieth of a microsecond", lambda: round(rates()[0] / NARROW.product_flops / 1e6) == 20)
says("Nearly all of the time goes elsewhere", lambda: max(reached(50, 1, SHARED)) < 0.035)
says("all four matrices are multiplied in one call", lambda: calls(DeepEnsembleLinear(5, 7, 4)))
says("A BatchEnsemble needs three: it multiplies", lambda: calls(BatchEnsembleLinear(5, 7, 4)))
says("digits, in networks 64-64-64-10 and batches of 32",
     lambda: (*SPEED("training", {"M": 4}, "sizes"), SPEED("training", {"M": 4}, "batch_size")))
says("ensemble is 2.3 times as fast as one", lambda: epoch(DEEP))
says("of the BatchEnsemble 1.6 times", lambda: epoch(SHARED))
says("is more than twice as fast as", lambda: gain(1024, 1) > 2)
says("while stacking gains next to nothing", lambda: 1 < gain(1024, 1, DEEP) < 1.05)
says("with 1,024 examples, both are only as",
     lambda: all(0.97 < gain(1024, 1024, method) < 1.03 for method in BOTH))
says(["A BatchEnsemble saves none of them", "Both ensembles do $2MBmn$ operations in products"],
     lambda: [own.product_flops for own in LAYERS] == [2 * 4 * 8 * 5 * 7] * 2)
says("and a BatchEnsemble only mn + M(m", lambda: LAYERS[1].num_params == 5 * 7 + 4 * (5 + 2 * 7))
says("on our machine 3.8 operations a byte", lambda: np.divide(*rates()))
says("At width 2,048 and with one example both",
     lambda: cost(2048, 1, SHARED).intensity < np.divide(*rates()))
says("does four times as much with each byte",
     lambda: cost(2048, 1, SHARED).intensity / cost(2048, 1, DEEP).intensity)
says("it could be four times as fast",
     lambda: np.divide(*(cost(2048, 1, name).seconds(*rates()) for name in BOTH)))
says("it is twice as fast", lambda: 1.9 < passed(2048, 1, DEEP) / passed(2048, 1, SHARED) < 2.2)
says("reads only at 40% of the memory", lambda: reached(2048, 1, SHARED)[1])
says("and the deep ensemble at 77%", lambda: reached(2048, 1, DEEP)[1])
says("With 256 examples both compute at the speed",
     lambda: all(reached(2048, 256, method)[0] > 0.98 for method in BOTH))
says(["So fold multiplies less exactly if B", "Fold if B > 2mn"],
     lambda: all(products.fold_pays(B, 5, 11) == (B > 2 * 5 * 11 / (5 + 11)) for B in range(1, 50)))
says("Of 18 combinations of width and batch", lambda: len(lost()))
says("rule chose the faster form in 16, and", lambda: lost().count(0))
says("it lost less than 3%", lambda: 0 < max(lost()) < 0.03)
says("and that saves 50 MB",
     lambda: 16e-6 * np.subtract(*(cost(1024, 1, name).num_params for name in BOTH)))
says(["which are $MB(m + n)$ numbers more", "scale keeps $MB(m + n)$ numbers more for"],
     lambda: all(row["contestants"]["ensedu"]["saved_bytes"] == own for row in cells()
         if (own := kept(row["m"], row["B"], row["M"]))))
says("keeps nothing beyond the inputs in either form",
     lambda: not any(row["contestants"][name]["saved_bytes"] for row in cells()
         for name in row["contestants"] if "memory saving" in name))
says("scale keeps 34 MB more", lambda: kept(1024, 1024, 4) / 1e6)
says("one example later the rule folds", lambda: kept(1024, 1025, 4) == 0)
says("examples, it keeps at most $8Mmn$ bytes", lambda: kept(1024, 1024, 4) == 8 * 4 * 1024**2)
says("three members or more never keep more",
     lambda: all(more(h, M, 16) < 0 for h in WIDTHS for M in MEMBERS))
says(["With plain SGD a parameter takes 8 bytes"],
     lambda: all(more(h, M, 8) > 0 for h in WIDTHS for M in MEMBERS))
says("then takes 1.3 to 1.4 times as long", prices)
says("was 3.5 times as fast as four",
     lambda: np.divide(*(median(*cells(method=method, m=1024, B=1, M=4), name)
         for method, name in ((DEEP, "limit"), (SHARED, "ensedu")))))
