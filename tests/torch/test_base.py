"""Which devices a layer may live on: those that are there."""

import pytest
import torch

from ensedu.torch.tensor_checks import check_device

pytestmark = pytest.mark.bad_input


@pytest.mark.parametrize("device", ["cpu", "meta", torch.device("cpu"), None])
def test_what_is_there_is_taken(device):
    assert check_device(device) == (None if device is None else torch.device(device))


@pytest.mark.parametrize("device", ["cuda:99", torch.device("mps:3"), "xla", "hpu", "gpu", 98, 2.5])
def test_what_is_not_there_is_named_with_what_is(device, monkeypatch):
    """Each kind of device has another error in Torch; the list is that of a machine with GPUs."""
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device("cuda"))
    monkeypatch.setattr(torch.accelerator, "device_count", lambda: 2)
    with pytest.raises(ValueError, match=r"device is .*, which Torch refuses: ") as raised:
        check_device(device)
    assert repr(device) in str(raised.value)
    assert str(raised.value).endswith("; accepted here are cpu, cuda:0, cuda:1, meta")
    assert len(str(raised.value)) < 400
