"""The processes that work together, those that torchrun started or one alone, and how they talk."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from ensedu.common import checks


@contextmanager
def process_group(
    device: str | None = None, *, timeout: timedelta = timedelta(minutes=5)
) -> Iterator[torch.device]:
    """Join the processes that torchrun started, or stand alone, and leave at the end.

    On several machines, ``torchrun --max-restarts`` needs ``--rdzv-backend c10d``, and
    ``TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1`` in its environment: else processes that start again
    may look for each other where the killed ones were.

    The device is ``"cuda"``, one GPU a process, joined by NCCL, or ``"cpu"``, joined by gloo; by
    default the first where CUDA is available. A process waits for the others for `timeout`. Raises
    ``TypeError`` or ``ValueError`` for another device, and for more processes than GPUs.
    """
    if device is None:
        device = "cuda" if torch.cuda.is_available() else "cpu"
    checks.one_of("device", device, ("cpu", "cuda"))
    own, settings = torch.device("cpu"), {"backend": "gloo"}
    if device == "cuda":
        index, gpus = int(os.environ.get("LOCAL_RANK", 0)), torch.cuda.device_count()
        if index >= gpus:
            words = f"'cpu' for process {index} of a machine with {gpus} GPUs, got 'cuda'"
            raise ValueError(f"device must be {words}; accepted is one GPU a process")
        own = torch.device("cuda", index)
        torch.cuda.set_device(own)
        settings = {"backend": "nccl", "device_id": own}
    dist.init_process_group(timeout=timeout, **settings, **_meeting(timeout))
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
    place = world["MASTER_ADDR"], int(world["MASTER_PORT"])
    store = dist.TCPStore(*place, is_master=False, timeout=timeout)
    store = dist.PrefixStore(f"restart {world['TORCHELASTIC_RESTART_COUNT']}", store)
    return {"store": store, "rank": int(world["RANK"]), "world_size": int(world["WORLD_SIZE"])}


def ask_all(own: Any) -> list[Any]:
    """Return on every process what each of them has, in order."""
    answers: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(answers, own)
    return answers


def ask_first(make: Callable[[], Any]) -> Any:
    """Return on every process what `make` returns on process 0, or raise what it raises there."""
    answer: list[Any] = [None]
    if dist.get_rank() == 0:
        try:
            answer = [make()]
        except Exception as error:
            answer = [error]
    dist.broadcast_object_list(answer, 0)
    if isinstance(answer[0], Exception):
        raise answer[0]
    return answer[0]
