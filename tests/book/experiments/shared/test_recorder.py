"""A recorder looks at a network after some steps of its training, and sets the rate of each."""

import torch

from ensedu.book.experiments.shared.recorder import Recorder
from ensedu.torch import fit, half_squared_error, mlp


def trained(recorder, lr=0.1):
    torch.manual_seed(0)
    net, x = mlp([1, 5, 1]), torch.linspace(-1, 1, 8)[:, None]
    options = {"epochs": 6, "batch_size": 8, "lr": lr, "optimizer": recorder.optimizer}
    fit(net, x, x**2, half_squared_error, **options, bar=False)
    return net


def test_a_recorder_looks_after_steps_and_changes_nothing():
    nets = []
    recorder = Recorder(lambda: len(nets) or nets.append(1) or 0, at=(2, 5))
    ours = trained(recorder)
    assert recorder.kept == [0, 1]
    torch.manual_seed(0)
    net, x = mlp([1, 5, 1]), torch.linspace(-1, 1, 8)[:, None]
    fit(net, x, x**2, half_squared_error, epochs=6, batch_size=8, lr=0.1,
        optimizer=torch.optim.Adam, bar=False)  # fmt: skip
    for name, value in net.state_dict().items():
        assert torch.equal(ours.state_dict()[name], value)


def test_a_recorder_sets_the_rate_of_each_step():
    seen = []

    def rate(step):
        seen.append(step)
        return 0.0

    net = trained(Recorder(lambda: None, at=(), lr=rate))
    assert seen == [0, 1, 2, 3, 4, 5]
    torch.manual_seed(0)
    for start, end in zip(mlp([1, 5, 1]).parameters(), net.parameters(), strict=True):
        assert torch.equal(start, end)  # at a rate of 0 nothing moves
