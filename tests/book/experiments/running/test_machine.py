"""Where something was measured is said alike for all that is measured."""

import torch

from ensedu.book.experiments import shootout
from ensedu.book.experiments.running.machine import machine


def test_the_machine_is_described_once():
    found = machine()
    assert found["device"] == "cpu" and found["name"]
    assert torch.__version__.startswith(found["versions"]["torch"].split("+")[0])
    assert found["threads"] == torch.get_num_threads()


def test_torch_has_the_threads_that_it_had():
    threads = torch.get_num_threads()
    shootout.run("digits", "single", 1, starts=1, setting=shootout.CONTESTANTS["single"].tries[0])
    assert torch.get_num_threads() == threads
