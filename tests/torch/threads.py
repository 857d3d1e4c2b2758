"""Threads that run one network at the same time, and meet in the middle of it."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from torch import nn

#: Seconds after which a thread waits no longer: then a test fails, and does not hang.
PATIENCE = 10


class Meet(nn.Module):
    """Does in the middle of a model what a test says: an attribute of the class, so copies do."""

    during = staticmethod(lambda: None)

    def forward(self, x):
        Meet.during()
        return x


def at_once(*runs):
    """Return what each function returns, called in a thread of its own while the others run."""
    with ThreadPoolExecutor(len(runs)) as pool:
        return [future.result() for future in [pool.submit(run) for run in runs]]


def meeting(monkeypatch, threads):
    """Let so many threads wait for each other wherever a model has a `Meet`."""
    barrier = Barrier(threads, timeout=PATIENCE)
    monkeypatch.setattr(Meet, "during", staticmethod(barrier.wait))
