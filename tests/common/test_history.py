"""Which epoch of a training is the best, and what a history refuses."""

import pytest
import torch

import ensedu.torch as et

B = 6


def rank1_network():
    torch.manual_seed(5)
    return et.mlp([5, 7, 2], "rank1", 3, dtype=torch.float64)


def test_only_epochs_with_the_whole_kl_are_best():
    values = iter([1.0, 5.0, 4.0, 4.5, 4.6, 9.0])

    def told(outputs, targets):
        loss = et.softmax_cross_entropy(outputs, targets)
        return loss if outputs.requires_grad else torch.tensor(next(values), dtype=torch.float64)

    torch.manual_seed(0)
    x, y = torch.randn((22, 5), dtype=torch.float64), torch.arange(22) % 2
    held, patient = (et.Validation(x[:B], y[:B], patience=own) for own in (None, 2))
    settings = {"batch_size": B, "validation": patient, "kl": et.KLWeight(anneal=3)}
    net = rank1_network()
    rows = et.fit(net, x, y, told, epochs=6, **settings)
    assert [row["validation"] for row in rows] == [1.0, 5.0, 4.0, 4.5, 4.6]
    assert [row["beta"] == 1 for row in rows] == [False, False, True, True, True]
    values = iter([0.0] * 3)
    third = rank1_network()
    et.fit(third, x, y, told, epochs=3, **settings | {"validation": held})
    assert net.state_dict().keys() == third.state_dict().keys()
    assert all(map(torch.equal, net.state_dict().values(), third.state_dict().values()))
    with pytest.raises(ValueError, match="anneal must be at most the 2 epochs with patience"):
        et.fit(rank1_network(), x, y, told, epochs=2, **settings)
