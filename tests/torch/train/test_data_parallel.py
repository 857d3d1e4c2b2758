"""PyTorch's `DistributedDataParallel` trains an ensemble as it trains any module."""

import pytest
import torch
from torch import nn

import ensedu.torch as et
from tests.torch.train.tools import copied_process

if not torch.distributed.is_available():
    pytest.skip("this PyTorch has no torch.distributed", allow_module_level=True)

import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

B, N, M, CLASSES = 14, 41, 3, 3
CASES = {
    "batch_ensemble": lambda: et.mlp([5, 7, CLASSES], "batch_ensemble", M),
    "rank1": lambda: et.mlp([5, 7, CLASSES], "rank1", M),
    "model, batch_ensemble": lambda: et.ensemble(model(), "batch_ensemble", M),
    "model, rank1": lambda: et.ensemble(model(), "rank1", M),
    "model, deep_ensemble": lambda: et.ensemble(model(), "deep_ensemble", M, initialize=model),
    "model, last_layer": lambda: et.ensemble(model(), "last_layer", M, head="3"),
}


def model():
    return nn.Sequential(nn.Linear(5, 7), nn.LayerNorm(7), nn.Tanh(), nn.Linear(7, CLASSES))


def trained(case, rank=0, ranks=1):
    """Return the parameters after some steps on this process's part of the batch."""
    torch.manual_seed(0)  # so all processes draw the same noise, too
    x, y = torch.randn(B, 5, dtype=torch.float64), torch.randint(CLASSES, (B,))
    net = own = CASES[case]().double()
    if ranks > 1:
        net = DistributedDataParallel(net)
    x, y = x.chunk(ranks)[rank], y.chunk(ranks)[rank]
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(4):
        optimizer.zero_grad()
        et.negative_elbo(net, x, y, et.softmax_cross_entropy, num_examples=N).loss.backward()
        optimizer.step()
    return own.state_dict()


def train_all(rank, folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
    torch.save({case: trained(case, rank, 2) for case in CASES}, folder / f"{rank}.pt")
    dist.destroy_process_group()


@pytest.mark.large
def test_two_processes_with_half_of_a_batch_each_take_the_steps_of_one(tmp_path):
    with copied_process():
        torch.multiprocessing.start_processes(train_all, (tmp_path,), 2, start_method="fork")
    for rank in range(2):
        found = torch.load(tmp_path / f"{rank}.pt")
        for case in CASES:
            torch.testing.assert_close(found[case], trained(case), rtol=0, atol=1e-10)
