"""Networks in Torch: shapes on the way, well-known ones against the papers, and as ensembles."""

import copy

import pytest
import torch
from torch import nn

import ensedu.torch as et
from ensedu import counting
from ensedu.methods import size_option
from ensedu.torch import models, network
from tests.backends import B, M, m, n
from tests.torch.ensembling.law import check_pass, converted
from tests.torch.ensembling.models import FAST, Entry


@pytest.mark.large
@pytest.mark.weekly
@torch.no_grad()
@pytest.mark.parametrize("build", [models.resnet50, lambda: models.wide_resnet(28, 1)])
def test_members_of_a_network_of_published_size_are_what_they_are_alone(build):
    entry = Entry(build, lambda: torch.randn(2, 3, 32, 32))
    net = converted(entry, "rank1", 2).eval()
    check_pass(entry, net, [entry.model().eval() for _ in range(2)], "rank1")


@pytest.mark.parametrize(
    ("build", "head", "totals"),
    [
        (models.lenet5, "11", (61_706, 246_824, 65_802, 69_190, 123_412, 61_706 + 3 * 850)),
        (
            models.resnet50,
            "head.2",
            (25_557_032, 102_228_128, 25_768_588, 25_977_144, 51_060_944, 31_704_032),
        ),
        (
            models.wide_resnet,
            "head.2",
            (36_479_194, 145_916_776, 36_557_548, 36_635_872, 72_940_436, 36_498_424),
        ),
    ],
)
def test_published_counts(build, head, totals):
    with torch.device("meta"):
        model = build()
    single, *others = totals
    assert counting.count(model).total == single
    for method, total in zip(("deep_ensemble", *FAST, "last_layer"), others, strict=True):
        options = {"head": head} if method == "last_layer" else {}
        net = et.ensemble(model, method, **size_option(method, 4), **options)
        count = counting.count(net)
        assert count.total == total == sum(p.numel() for p in net.parameters())
        assert (count.shared == 0) == (method == "deep_ensemble")
        assert (count.stds > 0) == (method in ("rank1", "mean_field"))
        assert count.frozen == 0


def test_the_networks_are_those_of_the_papers():
    kinds = [type(part).__name__ for part in models.lenet5()]
    block = ["Conv2d", "ReLU", "MaxPool2d"]
    assert kinds == [*block, *block, "Flatten", *["Linear", "ReLU"] * 2, "Linear"]

    resnet, x = models.resnet50().eval(), torch.randn(1, 3, 64, 64)
    shapes = []
    for name, part in resnet.named_children():
        x = part(x)
        if name.startswith("block"):
            assert (x >= 0).all()
            shapes.append(tuple(x.shape[1:]))
    stages = [(256, 16, 16)] * 3 + [(512, 8, 8)] * 4 + [(1024, 4, 4)] * 6 + [(2048, 2, 2)] * 3
    assert shapes == stages

    wide, x = models.wide_resnet(16, 1).eval(), torch.randn(1, 3, 32, 32)
    shapes = []
    for name, part in wide.named_children():
        start, x = x, part(x)
        if name.startswith("block"):
            shapes.append(tuple(x.shape[1:]))
            if isinstance(part.around, nn.Identity):
                torch.testing.assert_close(x, start + part.body(part.start(start)))
    assert shapes == [(16, 32, 32)] * 2 + [(32, 16, 16)] * 2 + [(64, 8, 8)] * 2
    for part in (wide, resnet):
        strides = [m.stride for m in part.modules() if isinstance(m, nn.Conv2d) and m.stride[0] > 1]
        assert set(strides) == {(2, 2)}


def test_shapes_on_the_way_are_found_once_and_again_for_another_input_or_layer(monkeypatch):
    net = et.mlp([5, 7, 11, 2], "mean_field", samples=3)
    found = []
    known = network._output_shape
    monkeypatch.setattr(network, "_output_shape", lambda *args: found.append(1) or known(*args))

    def drawn(*shape):
        return {key: value.shape for key, value in net.noise(None, shape).items()}

    first = drawn(13, 5)
    once = len(found)
    assert once == len(net) and drawn(13, 5) == first and len(found) == once
    drawn(17, 5)
    assert len(found) == 2 * once
    other = et.mlp([5, 7, 11, 2], "mc_dropout")
    assert other.noise(None, (13, 5))["3.mask"].shape == (1, 1, 7)
    other[1], other[4] = nn.Linear(5, 19), nn.Linear(19, 11)
    assert other.noise(None, (13, 5))["3.mask"].shape == (1, 1, 19)
    again = copy.deepcopy(other)
    torch.manual_seed(0)
    wanted = other.noise(None, (13, 5))
    torch.manual_seed(0)
    for key, value in again.noise(None, (13, 5)).items():
        assert torch.equal(value, wanted[key])


@pytest.mark.parametrize("members", [(), (M,)])
def test_a_tiled_batch_may_be_changed_in_place(members):
    S = 2
    x = torch.randn(B, m, dtype=torch.float64)
    before = x.clone()
    activation = nn.ReLU(inplace=True)
    layers = [et.Rank1Linear(m, n, M) if members else et.MeanFieldLinear(m, n)]
    for samples in (S, 1):
        net = et.Sequential(et.Tile(samples, *members), activation, *layers).double()
        torch.manual_seed(0)
        y = net(x)
        assert torch.equal(x, before)
        torch.manual_seed(0)
        expected = layers[0](before.clamp(min=0).expand(samples, *members, B, m))
        torch.testing.assert_close(y, expected)
        assert y.shape == (samples, *members, B, n)
