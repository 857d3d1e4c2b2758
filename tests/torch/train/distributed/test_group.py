"""Processes that join, and devices that they cannot have."""

import pytest
import torch

if not torch.distributed.is_available():
    pytest.skip("this PyTorch has no torch.distributed", allow_module_level=True)

from ensedu.torch.train import distributed

pytestmark = pytest.mark.large


@pytest.mark.bad_input
def test_more_processes_than_gpus(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setenv("LOCAL_RANK", "1")
    with pytest.raises(
        ValueError, match="'cpu' for process 1 of a machine with 1 GPUs, got 'cuda'"
    ):
        distributed.process_group("cuda").__enter__()
