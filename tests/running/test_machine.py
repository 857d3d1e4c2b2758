"""Where something was measured is said alike for all that is measured."""

import pytest
import torch

from ensedu.running.machine import machine, one_thread


def test_the_machine_is_described_once():
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
