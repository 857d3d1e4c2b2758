"""What cannot be spread over processes is named."""

import pytest
import torch
from torch import nn

import ensedu.torch as et

if not torch.distributed.is_available():
    pytest.skip("this PyTorch has no torch.distributed", allow_module_level=True)

from ensedu.torch.train.distributed import ShardedEnsemble
from tests.torch.train.distributed.nets import Model

pytestmark = pytest.mark.large


def sequential(*layers):
    return nn.Sequential(et.BatchEnsembleLinear(5, 7, 3), *layers)


def tied():
    net = nn.Sequential(nn.Linear(5, 7), nn.BatchNorm1d(7))
    return et.ensemble(net, "deep_ensemble", 3, shared=["1"])


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.inside = nn.MultiheadAttention(8, 2, dropout=0.1, batch_first=True)
        self.last = nn.Linear(8, 2)

    def forward(self, x):
        return self.last(self.inside(x, x, x)[0])


BAD_NETS = [
    (lambda: et.DeepEnsembleLinear(5, 7, 3), TypeError, "net must be an nn.Sequential or what"),
    (lambda: et.mlp([5, 7, 2]), ValueError, "net must have layers of one ensemble_size, got none"),
    (lambda: nn.Sequential(nn.ReLU()), ValueError, "layers of one ensemble_size, got none"),
    (
        lambda: et.mlp([5, 7, 2], "mean_field", samples=3),
        ValueError,
        "net has a Tile at '0', which draws more than one sample a step",
    ),
    (
        lambda: et.mlp([5, 7, 2], "rank1", 3, samples=2),
        ValueError,
        "net has a Tile at '0', which draws more than one sample a step",
    ),
    (
        lambda: sequential(et.MeanFieldLinear(7, 2)),
        ValueError,
        "net has a MeanFieldLinear at '1', which draws noise that would depend on the number",
    ),
    (
        lambda: sequential(nn.BatchNorm1d(7, affine=False)),
        ValueError,
        "net has a BatchNorm1d at '1', which would see the members of one process alone; accepted "
        "are other modules, or a deep ensemble of ensedu.torch.ensemble",
    ),
    (
        lambda: sequential(nn.Sequential(nn.Dropout())),
        ValueError,
        "net has a Dropout at '1.0', which draws noise that would depend",
    ),
    (lambda: sequential(et.MCDropout()), ValueError, "net has a MCDropout at '1', which draws"),
    (
        lambda: sequential(et.DeepEnsembleLinear(7, 2, 4)),
        ValueError,
        "layers of one ensemble_size, got {'0': 3, '1': 4}",
    ),
    (
        lambda: sequential(et.ensemble(nn.Sequential(nn.Linear(5, 7)), "rank1", 3)),
        ValueError,
        "net has a FlatEnsemble at '1', which is an ensemble by itself",
    ),
    (
        lambda: et.ensemble(Model(nn.BatchNorm1d), "batch_ensemble", 3),
        ValueError,
        "net has a BatchNorm1d at 'model.norm', which would see the members of one process alone",
    ),
    (
        lambda: et.ensemble(Model(p=0.2), "rank1", 3),
        ValueError,
        "net has a Dropout at 'model.drop', which draws noise that would depend",
    ),
    (
        lambda: et.ensemble(Attention(), "rank1", 3, shared=["inside"]),
        ValueError,
        "net has a MultiheadAttention at 'model.inside', which draws noise that would depend",
    ),
    (
        lambda: et.ensemble(Model(), "rank1", 3, samples=2),
        ValueError,
        "net has a FlatEnsemble at '', which draws more than one sample a step",
    ),
    (
        lambda: et.ensemble(Model(p=0.2), "mc_dropout", samples=2),
        ValueError,
        "net has a FlatEnsemble at '', which draws more than one sample a step",
    ),
    (tied, ValueError, "net has modules that are shared by whole models; accepted is"),
]


@pytest.mark.bad_input
@pytest.mark.parametrize(("make", "error", "words"), BAD_NETS)
def test_bad_networks(alone, make, error, words):
    with pytest.raises(error) as raised:
        ShardedEnsemble(make())
    assert words in str(raised.value)
