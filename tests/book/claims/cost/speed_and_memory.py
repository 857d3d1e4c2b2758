"""What *Speed and memory* claims: by the table of measured times, by counts, and by the layers."""

from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import ensedu.numpy as reference
from ensedu import costs, counting
from ensedu.book import measured
from ensedu.torch import BatchEnsembleLinear, DeepEnsembleLinear, products
from tests.book.claiming import Change, Claims
from tests.book.conftest import ran

CLAIMS = Claims(
    "cost/speed-and-memory",
    unclaimed={
        "3 times as fast at test time as": "a published figure",
        "Your layer is 1,024 wide": "a question",
        "How many times as fast as four": "a question",
        "Suppose your network is 50 wide": "an example",
        "A trained number takes 16 bytes": "what Adam keeps, in float32",
    },
)
METHODS = DEEP, SHARED = ("deep_ensemble", "batch_ensemble")
RANK1 = "rank1"


VIEWS = {"expand", "t", "transpose", "unsqueeze", "view", "_unsafe_view", "reshape", "randn"}


class Calls(TorchDispatchMode):
    """The names of what is called."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(func.overloadpacket.__name__)
        return func(*args, **(kwargs or {}))


def passed(width: int, batch: int) -> dict[str, dict[str, list[float]]]:
    """Return the measured forward passes of a layer of four members."""
    return measured.row(measured.load("speed-cpu")["headline"], m=width, B=batch)["forward"]


def micro(width: int, batch: int, method: str) -> float:
    """Return the median of a pass in microseconds."""
    return 1e6 * passed(width, batch)[method]["seconds"][1]


def gain(width: int, batch: int, method: str = SHARED) -> float:
    """Return how many times as fast as four networks in turn it is."""
    return 1 / passed(width, batch)[method]["ratio"][1]


def of_pass(width: int, batch: int, method: str, key: str, times: float) -> Change:
    """Return a change of a measured pass."""
    where = {"m": width, "B": batch}
    return Change("speed-cpu", "headline", where, "forward", method, key, times=times)


def rates() -> tuple[float, float]:
    """Return operations and bytes a second of the machine."""
    roof = measured.load("speed-cpu")["roofline"]
    return roof["flops_per_second"], roof["bytes_per_second"]


def of_rates(key: str, times: float) -> Change:
    """Return a change of one of them."""
    return Change("speed-cpu", "roofline", key, times=times)


def cost(width: int, batch: int, method: str, **more: Any) -> costs.Cost:
    """Return what a pass of four members costs."""
    return costs.layer(width, width, method, 4, batch_size=batch, **more)


def reached(width: int, batch: int, method: str) -> tuple[float, float]:
    """Return operations and bytes a second as parts of what the machine can do."""
    own, seconds = cost(width, batch, method), micro(width, batch, method) / 1e6
    peak, bandwidth = rates()
    return own.flops / seconds / peak, own.bytes / seconds / bandwidth


def epoch(ensemble_size: int, method: str) -> float:
    """Return how many times as fast as its members in turn an epoch is."""
    found = measured.row(measured.load("speed-cpu")["training"], M=ensemble_size)
    assert (found["batch_size"], found["examples"], found["sizes"]) == (32, 1797, [64, 64, 64, 10])
    return 1 / found["epoch"][method]["ratio"][1]


def of_epoch(ensemble_size: int, method: str, times: float) -> Change:
    """Return a change of it."""
    where = {"M": ensemble_size}
    return Change("speed-cpu", "training", where, "epoch", method, "ratio", times=times)


@CLAIMS.says("hardly", "Hardly at all: 1.02 times", of_pass(1024, 256, SHARED, "ratio", 0.98))
@CLAIMS.says(
    "computes",
    "and with 256 examples they take the time",
    of_pass(1024, 256, SHARED, "seconds", 1.1),
)
@CLAIMS.says("few", "it is 2.2 times as fast, because", of_pass(1024, 1, SHARED, "ratio", 1.05))
@CLAIMS.says(
    "less-than-half", "needs less than half of the time", of_pass(1024, 1, SHARED, "ratio", 1.1)
)
@CLAIMS.says(
    "next-to-nothing", "while stacking saves next to nothing", of_pass(1024, 1, DEEP, "ratio", 0.9)
)
@CLAIMS.says(
    "both-as-long", "with 1,024 examples, both take as long",
    of_pass(1024, 1024, SHARED, "ratio", 1.05), of_pass(1024, 1024, DEEP, "ratio", 0.95),
)  # fmt: skip
def _() -> None:
    assert round(gain(1024, 256), 2) == 1.02
    assert reached(1024, 256, SHARED)[0] > 0.95
    assert round(gain(1024, 1), 1) == 2.2
    assert 1 / gain(1024, 1) < 0.5
    assert 0.95 < 1 / gain(1024, 1, DEEP) < 1
    assert all(0.97 < 1 / gain(1024, 1024, method) < 1.03 for method in METHODS)


@CLAIMS.says("in-turn", "need 20 microseconds for such", of_pass(50, 1, "loop", "seconds", 1.05))
@CLAIMS.says("sixteen", "A BatchEnsemble needs 16, so", of_pass(50, 1, SHARED, "seconds", 1.05))
@CLAIMS.says("stacked", "in one array needs only 11", of_pass(50, 1, DEEP, "seconds", 1.05))
def _() -> None:
    assert [round(micro(50, 1, name)) for name in ("loop", SHARED, DEEP)] == [20, 16, 11]


@CLAIMS.says("twentieth", "in a twentieth of a microsecond", of_rates("flops_per_second", 1.1))
@CLAIMS.says("weights", "A layer of this width has 2,500 weights")
@CLAIMS.says(
    "elsewhere", "Nearly all of the time goes elsewhere", of_pass(50, 1, "single", "seconds", 0.1)
)
def _() -> None:
    products_of_one = costs.layer(50, 50, batch_size=1).product_flops
    assert products_of_one == 2 * 2500
    computing = 1e6 * products_of_one / rates()[0]
    assert np.isclose(computing, 1 / 20, rtol=0.05)
    assert computing < 0.02 * micro(50, 1, "single")
    assert max(reached(50, 1, SHARED)) < 0.035


@CLAIMS.says("eight", "take a BatchEnsemble only 1.1 times", of_pass(50, 8, SHARED, "seconds", 1.1))
def _() -> None:
    assert round(micro(50, 8, SHARED) / micro(50, 1, SHARED), 1) == 1.1


@CLAIMS.says("calls", "A BatchEnsemble needs three: it multiplies")
@CLAIMS.says("one-call", "all four matrices are multiplied in one call")
def _() -> None:
    """As they reach PyTorch's kernels; what only looks at an array in another way is none."""
    found = {}
    for name, layer in (
        (DEEP, DeepEnsembleLinear(5, 7, 4)),
        (SHARED, BatchEnsembleLinear(5, 7, 4)),
    ):
        with torch.no_grad(), Calls() as calls:
            layer(torch.randn(4, 1, 5))
        found[name] = [call for call in calls.names if call not in VIEWS]
    assert found[DEEP] == ["baddbmm"]
    assert found[SHARED] == ["mul", "mm", "addcmul"]


@CLAIMS.says("epoch-stacked", "ensemble is 2.3 times as fast as one", of_epoch(4, DEEP, 1.05))
@CLAIMS.says("epoch-shared", "of the BatchEnsemble 1.6 times", of_epoch(4, SHARED, 1.05))
@CLAIMS.says("digits", "On 1,797 digits", Change("speed-cpu", "training", 0, "batch_size", to=64))
@CLAIMS.says(
    "sixteen-members", "With sixteen members both gain more",
    of_epoch(16, DEEP, 2.2), of_epoch(16, SHARED, 2.5),
)  # fmt: skip
def _() -> None:
    found = {method: (epoch(4, method), epoch(16, method)) for method in METHODS}
    assert [round(four, 1) for four, _ in found.values()] == [2.3, 1.6]
    assert all(sixteen > 1.5 * four for four, sixteen in found.values())


@CLAIMS.says("none", "A BatchEnsemble saves none of them")
@CLAIMS.says("operations", "Both ensembles do $2MBmn$ in their products")
@CLAIMS.says("parameters", "and a BatchEnsemble only mn + M(m")
@CLAIMS.says("activations", "Both move $MB(m + n)$ activations")
@CLAIMS.says("summary-count", "Both ensembles do $2MBmn$ operations in products")
def _() -> None:
    M, B, m, n = 4, 8, 5, 7
    for method, read in ((DEEP, M * (m * n + n)), (SHARED, m * n + M * (m + 2 * n))):
        own = costs.layer(m, n, method, M, batch_size=B)
        assert (own.product_flops, own.num_params) == (2 * M * B * m * n, read)
        assert own.num_activations == M * B * (m + n)


@CLAIMS.says("corner", "on our machine at 3.8 operations a byte", of_rates("bytes_per_second", 2))
def _() -> None:
    peak, bandwidth = rates()
    assert round(peak / bandwidth, 1) == 3.8


@CLAIMS.says("both-wait", "At width 2,048 and with one example both")
@CLAIMS.says("four-times", "it could be four times as fast", of_rates("bytes_per_second", 100))
@CLAIMS.says("twice", "Measured it is twice as fast", of_pass(2048, 1, SHARED, "seconds", 1.2))
@CLAIMS.says("forty", "but at 40% of the memory", of_pass(2048, 1, SHARED, "seconds", 1.05))
@CLAIMS.says("most", "the deep ensemble reads at 77%", of_pass(2048, 1, DEEP, "seconds", 1.05))
@CLAIMS.says(
    "peak", "Both ensembles now compute at the speed", of_pass(2048, 256, DEEP, "seconds", 1.05)
)
@CLAIMS.says("used", "that is read is used 256 times")
def _() -> None:
    deep, shared = (cost(2048, 1, method) for method in METHODS)
    peak, bandwidth = rates()
    assert max(deep.intensity, shared.intensity) < peak / bandwidth
    assert round(shared.intensity / deep.intensity) == 4
    assert 3.9 < deep.seconds(*rates()) / shared.seconds(*rates()) < 4
    assert 1.9 < micro(2048, 1, DEEP) / micro(2048, 1, SHARED) < 2.2
    parts = [round(100 * reached(2048, 1, method)[1]) for method in (SHARED, DEEP)]
    assert parts == [40, 77]
    assert all(reached(2048, 256, method)[0] > 0.98 for method in METHODS)


@CLAIMS.says("rule", "chooses by this rule at every call")
@CLAIMS.says("form", "So fold multiplies less exactly if B")
@CLAIMS.says("beside", "pass of scale multiplies $B(m + n)$ numbers")
@CLAIMS.says("summary-form", "Fold if B > 2mn")
def _() -> None:
    m, n, B = 5, 11, 7
    for form, more in (("scale", B * (m + n)), ("fold", 2 * m * n)):
        own = costs.batch_ensemble(m, n, 1, batch_size=B, bias=False, form=form)
        assert own.other_flops == more
    torch.manual_seed(0)
    layer = BatchEnsembleLinear(m, n, 3, init="normal", dtype=torch.float64)
    for batch in (6, 7):  # 2 * 5 * 11 / (5 + 11) = 6.875
        assert products.folds(batch, m, n) == (batch == 7)
        x = torch.randn(3, batch, m, dtype=torch.float64)
        each = zip(x, layer.weight_matrices(), layer.bias, strict=True)
        by_hand = torch.stack([one @ W + b for one, W, b in each])
        assert torch.allclose(layer(x), by_hand, rtol=0, atol=1e-12)


@CLAIMS.says("sizes", "for 18 combinations of width and batch")
@CLAIMS.says(
    "chosen", "In 16 of them the rule chose",
    Change("speed-cpu", "forms", {"m": 256, "B": 1}, "fold over scale", times=0.1),
)  # fmt: skip
@CLAIMS.says(
    "lost", "it lost less than 3%",
    Change("speed-cpu", "forms", {"m": 1024, "B": 1024}, "fold over scale", times=0.5),
)  # fmt: skip
def _() -> None:
    forms = measured.load("speed-cpu")["forms"]
    assert len(forms) == 18
    lost = []
    for row in forms:
        over, folds = row["fold over scale"][1], row["B"] > row["m"]
        assert row["chosen"] == ("fold" if folds else "scale")
        if (over < 1) != folds:
            lost.append(max(over, 1 / over) - 1)
    assert len(lost) == 2
    assert max(lost) < 0.03


def kept(width: int, batch: int, ensemble_size: int) -> int:
    """Return the bytes that a BatchEnsemble keeps beyond its inputs."""
    scales = not products.folds(batch, width, width)
    return scales * 4 * ensemble_size * batch * 2 * width


def trained(method: str, width: int, ensemble_size: int) -> int:
    """Return the bytes of an ensemble's parameters with Adam."""
    return 16 * costs.layer(width, width, method, ensemble_size, batch_size=1).num_params


@CLAIMS.says("saves", "and that saves 50 MB")
@CLAIMS.says("keeps", "with 1,024 examples, scale keeps 34 MB more")
@CLAIMS.says("at-most", "so it keeps at most $8Mmn$ bytes")
@CLAIMS.says("sgd-most", "That is less than the $8Mmn$ that")
@CLAIMS.says("sgd", "With plain SGD a parameter takes 8 bytes")
@CLAIMS.says("never", "three members or more never keep more")
@CLAIMS.says("inputs", "Every ensemble keeps its inputs, $MBm$ numbers")
@CLAIMS.says("scale-keeps", "which are $MB(m + n)$ numbers more")
@CLAIMS.says("summary-kept", "scale keeps $MB(m + n)$ numbers for the")
def _() -> None:
    """Real layers keep these bytes; the bound is at B = 2mn / (m + n)."""
    saved = trained(DEEP, 1024, 4) - trained(SHARED, 1024, 4)
    assert round(saved / 1e6) == 50
    assert round(kept(1024, 1024, 4) / 1e6) == 34
    assert kept(1024, 1025, 4) == 0
    for members in (3, 4, 8, 16):
        for width in (512, 1024, 2048):
            most = kept(width, width, members)
            assert most == 8 * members * width**2
            assert trained(SHARED, width, members) + most < trained(DEEP, width, members)
            assert trained(SHARED, width, members) / 2 + most > trained(DEEP, width, members) / 2

    def stored(layer: torch.nn.Module, x: torch.Tensor) -> int:
        known = {t.untyped_storage().data_ptr() for t in (x, *layer.parameters())}
        found = {}

        def pack(tensor: torch.Tensor) -> torch.Tensor:
            storage = tensor.untyped_storage()
            if storage.data_ptr() not in known:
                found[storage.data_ptr()] = storage.nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            layer(x)
        return sum(found.values())

    x = torch.randn(4, 32, 256, requires_grad=True)
    assert stored(BatchEnsembleLinear(256, 256, 4), x) == kept(256, 32, 4)
    assert stored(DeepEnsembleLinear(256, 256, 4), x) == 0
    assert stored(BatchEnsembleLinear(256, 256, 4, memory_saving=True), x) == 0


@CLAIMS.says(
    "price", "then takes 1.3 to 1.4 times as long",
    Change("speed-cpu", "cells", {"method": SHARED, "m": 1024, "B": 32}, "contestants",
           "ensedu, memory saving", "forward+backward", "ratio", times=1.2),
)  # fmt: skip
def _() -> None:
    prices = []
    for row in measured.load("speed-cpu")["cells"]:
        if (row["method"], row["m"]) == (SHARED, 1024) and not products.folds(row["B"], 1024, 1024):
            less, usual = (
                row["contestants"][name]["forward+backward"]["ratio"][1]
                for name in ("ensedu, memory saving", "ensedu")
            )
            prices.append(less / usual)
    assert len(prices) > 1
    assert all(1.25 <= price < 1.45 for price in prices)


@CLAIMS.says(
    "another-run", "was 3.5 times as fast as four",
    Change("speed-cpu", "cells", {"method": SHARED, "m": 1024, "B": 1, "M": 4}, "contestants",
           "ensedu", "forward", "seconds", times=1.1),
)  # fmt: skip
def _() -> None:
    def seconds(method: str, contestant: str) -> float:
        cells = measured.load("speed-cpu")["cells"]
        row = measured.row(cells, method=method, m=1024, B=1, M=4)
        return row["contestants"][contestant]["forward"]["seconds"][1]

    assert round(seconds(DEEP, "limit") / seconds(SHARED, "ensedu"), 1) == 3.5
    assert round(gain(1024, 1), 1) == 2.2


def on_two(width: int, method: str) -> float:
    """Return how many times as long a step takes on two processes as on one, in the median."""
    return measured.row(measured.load("scaling")["rows"], width=width, method=method)["ratio"][1]


def of_step(width: int, method: str, times: float) -> Change:
    """Return a change of it."""
    return Change("scaling", "rows", {"width": width, "method": method}, "ratio", times=times)


def projection() -> dict[str, Any]:
    """Return what the cell with the formula defines."""
    return ran(f"book/{CLAIMS.chapter}", "def left(", np=np, measured=measured)


@CLAIMS.says("deep-on-two", "took 0.65 times as long for a step", of_step(256, DEEP, 1.1))
@CLAIMS.says("shared-on-two", "took 0.98 times as long, where", of_step(256, SHARED, 1.1))
@CLAIMS.says("waits", "The formula leaves out that devices wait", of_step(256, SHARED, 0.5))
@CLAIMS.says(
    "gains-less", "gains less from a second device",
    of_step(64, SHARED, 0.2), of_step(1024, RANK1, 0.2),
)  # fmt: skip
def _() -> None:
    assert [round(on_two(256, method), 2) for method in METHODS] == [0.65, 0.98]
    assert on_two(256, SHARED) > formula_on_two()
    for width in (64, 256, 1024):
        for method in (SHARED, RANK1):
            assert on_two(width, method) > on_two(width, DEEP)


def formula_on_two() -> float:
    """Return what the formula says of it at 1 GB a second and 10 microseconds a message."""
    return 1 / (2 * projection()["left"](2, 1e9, 1e-5, "in a ring"))


@CLAIMS.says("halved", "10 microseconds a message, says 0.6", of_rates("flops_per_second", 5))
@CLAIMS.says(
    "eight-members", "eight members of width 256 to two", Change("scaling", "ensemble_size", to=4)
)
def _() -> None:
    """Also where r, s and biases are summed, as they are when processes divide the examples."""
    assert round(formula_on_two(), 1) == 0.6
    found, table = projection(), measured.load("scaling")
    assert table["ensemble_size"] == 2 * found["MEMBERS"]
    assert table["batch_size"] == found["B"]
    every = 4 * counting.mlp(found["SIZES"], SHARED, table["ensemble_size"]).total
    sending = 2e-5 + every / 1e9
    computing = found["operations"] / rates()[0]
    assert round((computing + sending) / (2 * computing), 1) == 0.6


@CLAIMS.says("ring", "leaves each of 1,024 devices 11%", of_rates("flops_per_second", 2))
@CLAIMS.says("rates", "With 1 GB a second and 10 microseconds")
@CLAIMS.says("messages", "because it waits for 2,046 messages")
@CLAIMS.says("by-halves", "20 of them, and 74% are left", of_rates("flops_per_second", 2))
def _() -> None:
    left = projection()["left"]
    found = [round(100 * left(1024, 1e9, 1e-5, way)) for way in ("in a ring", "by halves")]
    assert found == [11, 74]
    assert (2 * 1023, 2 * np.log2(1024)) == (2046, 20)


@CLAIMS.says("sum", "Its gradient is a sum over members")
@CLAIMS.says("nothing", "of a deep ensemble have nothing to tell")
@CLAIMS.says("summary-sent", "Members of a deep ensemble send nothing")
def _() -> None:
    """With the reference layer: parts of its members, or of their examples, add up."""
    rng = np.random.default_rng(0)
    M, B, m, n = 4, 6, 2, 3
    whole = reference.BatchEnsembleLinear(m, n, M, rng=rng, init="normal")
    x, grad = rng.standard_normal((M, B, m)), rng.standard_normal((M, B, n))

    def shared_gradient(members: slice, examples: slice) -> np.ndarray:
        part = reference.BatchEnsembleLinear(m, n, len(range(M)[members]), rng=rng)
        part.params = {k: v if k == "weight" else v[members] for k, v in whole.params.items()}
        part.forward(x[members, examples])
        part.backward(grad[members, examples])
        return part.grads["weight"]

    every = slice(None)
    expected = shared_gradient(every, every)
    for parts in (
        [(slice(0, 1), every), (slice(1, M), every)],
        [(every, slice(0, 2)), (every, slice(2, B))],
    ):
        summed = sum(shared_gradient(*part) for part in parts)
        assert np.allclose(summed, expected, rtol=0, atol=1e-13)
    assert counting.mlp([64, 256, 256, 10], DEEP, 4).shared == 0


@CLAIMS.says("bytes", "it sends as many bytes in")
@CLAIMS.says("pieces", "together 1/2 + 1/4")
@CLAIMS.says("at-most-twice", "sends at most twice the gradient, among")
def _() -> None:
    for turns in range(1, 11):
        R = 2**turns
        assert np.isclose(sum(2.0**-k for k in range(1, turns + 1)), 1 - 1 / R)
        assert 2 * (R - 1) / R < 2


@CLAIMS.says("ex-bytes", "= 7 MB in 14 messages")
@CLAIMS.says("ex-members", "The number of members does not matter")
def _() -> None:
    G, R = 4 * counting.batch_ensemble(1000, 1000, ensemble_size=8).shared, 8
    assert G == 4 * counting.batch_ensemble(1000, 1000, ensemble_size=16).shared
    assert (G, 2 * (R - 1) * G // R, 2 * (R - 1)) == (4_000_000, 7_000_000, 14)
    assert np.isclose(14 * 1e-5 + 7e6 / 1e9, 7.14e-3)
