"""Randomness of Torch's own generator, explicit and for a while."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

__all__ = ["seeded"]


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Let Torch draw from a seed, and its generator be afterwards as it was before."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
