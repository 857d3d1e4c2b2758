"""Where and with what something was measured, and the settings of a measurement on a CPU."""

import datetime
import importlib.metadata
import os
import platform
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

PACKAGES = (
    "torch", "numpy", "scipy", "scikit-learn",
    "tabm", "torch-uncertainty", "bayesian-torch", "blitz-bayesian-pytorch",
    "jax", "numpyro", "laplace-torch", "ivon-opt",
)  # fmt: skip
#: One thread, and an allocator that keeps its memory from pass to pass: one that gives it back
#: inflates small cells threefold. All are read when a process starts.
SETTINGS = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "MALLOC_TRIM_THRESHOLD_": "4294967296",
    "MALLOC_MMAP_THRESHOLD_": "4294967296",
}


def restart_with_settings() -> None:
    """Start this script again with `SETTINGS`, unless it has them."""
    if SETTINGS.items() - os.environ.items():
        sys.stdout.flush()
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], os.environ | SETTINGS)


@contextmanager
def one_thread() -> Iterator[None]:
    """Let Torch have one thread: in nets as small as these, others only wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def machine(device: str = "cpu") -> dict[str, Any]:
    """Say where and with what this runs; call it first, so that it sees the load of others."""
    return {
        "device": device,
        **(gpu() if device == "cuda" else cpu()),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "load_average": os.getloadavg()[0],
        "system": platform.system(),
        "python": platform.python_version(),
        "versions": versions(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }


def cpu() -> dict[str, Any]:
    """Say which processor this is, and which instructions Torch uses."""
    info = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*: (.+)", info.read_text()) if info.exists() else None
    return {
        "name": found[1] if found else platform.processor() or platform.machine(),
        "capability": torch.backends.cpu.get_cpu_capability(),
    }


def gpu() -> dict[str, Any]:
    """Say which GPU this is, and which libraries multiply."""
    properties = torch.cuda.get_device_properties(0)
    return {
        "name": properties.name,
        "capability": f"sm_{properties.major}{properties.minor}",
        "memory_bytes": properties.total_memory,
        "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version(),
    }


def versions() -> dict[str, str]:
    """Return the versions of the packages that are here."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
