"""The group of one process."""

import pytest


@pytest.fixture
def alone():
    distributed = pytest.importorskip("ensedu.torch.train.distributed")
    with distributed.process_group("cpu") as device:
        yield device
