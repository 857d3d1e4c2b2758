"""The processes that work together: those that torchrun started, or one alone."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from ensedu import checks


@contextmanager
def process_group(
    device: str | None = None, *, timeout: timedelta = timedelta(minutes=5)
) -> Iterator[torch.device]:
    """Join the processes that torchrun started, or stand alone, and leave at the end.

    On several machines, ``torchrun --max-restarts`` needs ``--rdzv-backend c10d``, and
    ``TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1`` in its environment: else processes that start again
    may look for each other where the killed ones were.

    Parameters
    ----------
    device
        ``"cuda"``, one GPU a process, joined by NCCL, or ``"cpu"``, joined by gloo. By default
        the first where CUDA is available.
    timeout
        How long a process waits for the others before it fails.

    Yields
    ------
    torch.device
        The device of this process.

    Raises
    ------
    TypeError, ValueError
        For another `device`, and for more processes on a machine than it has GPUs.
    """
    if device is None:
        device = "cuda" if torch.cuda.is_available() else "cpu"
    checks.one_of("device", device, ("cpu", "cuda"))
    settings = {"backend": "gloo", "timeout": timeout}
    own = torch.device("cpu")
    if device == "cuda":
        index, gpus = int(os.environ.get("LOCAL_RANK", 0)), torch.cuda.device_count()
        if index >= gpus:
            raise ValueError(
                f"device must be 'cpu' for process {index} of a machine with {gpus} GPUs, "
                "got 'cuda'; accepted is one GPU a process"
            )
        own = torch.device("cuda", index)
        torch.cuda.set_device(own)
        settings |= {"backend": "nccl", "device_id": own}
    dist.init_process_group(**settings, **_meeting(timeout))
    try:
        yield own
    finally:
        dist.destroy_process_group()


def _meeting(timeout: timedelta) -> dict[str, Any]:
    """Say where the processes find each other, if it is not where Torch looks by itself."""
    world = os.environ
    if "RANK" not in world:  # torchrun sets it
        return {"store": dist.HashStore(), "rank": 0, "world_size": 1}
    if world.get("TORCHELASTIC_USE_AGENT_STORE") != "True" or world["GROUP_WORLD_SIZE"] != "1":
        return {}
    # torchrun keeps its store over a restart, with the addresses of the killed processes in it
    # (pytorch/pytorch#135712). On one machine all processes agree on the number of the restart.
    store = dist.TCPStore(
        world["MASTER_ADDR"], int(world["MASTER_PORT"]), is_master=False, timeout=timeout
    )
    return {
        "store": dist.PrefixStore(f"restart {world['TORCHELASTIC_RESTART_COUNT']}", store),
        "rank": int(world["RANK"]),
        "world_size": int(world["WORLD_SIZE"]),
    }
