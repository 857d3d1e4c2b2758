"""Where something was measured is said alike; what is seeded or runs alone disturbs nobody."""

import pytest
import torch

from ensedu.torch.seeding import seeded
from workshop.running.machine import machine, one_thread


def test_the_machine_is_described():
    found = machine()
    assert found["device"] == "cpu" and found["name"]
    assert torch.__version__.startswith(found["versions"]["torch"].split("+")[0])
    assert found["threads"] == torch.get_num_threads()


def test_torch_has_the_threads_that_it_had(monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    numbers = []
    monkeypatch.setattr(torch, "set_num_threads", numbers.append)
    with pytest.raises(ZeroDivisionError), one_thread():
        assert numbers == [1]
        raise ZeroDivisionError
    assert numbers == [1, 3]


def test_draws_follow_from_the_seed_and_the_generator_is_as_before_after_an_error_too():
    torch.manual_seed(5)
    undisturbed = torch.rand(3)
    torch.manual_seed(5)
    drawn = []
    for seed in (7, 7, 8):
        with pytest.raises(ZeroDivisionError), seeded(seed):
            drawn.append(torch.rand(3))
            raise ZeroDivisionError
    assert torch.equal(torch.rand(3), undisturbed)
    assert torch.equal(drawn[0], drawn[1]) and not torch.equal(drawn[0], drawn[2])
