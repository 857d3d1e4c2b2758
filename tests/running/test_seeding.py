"""What is seeded follows from the seed, and disturbs nobody else's draws."""

import pytest
import torch

from ensedu.running.seeding import seeded


def test_draws_follow_from_the_seed_and_the_generator_is_as_before():
    torch.manual_seed(5)
    undisturbed = torch.rand(3)
    torch.manual_seed(5)
    with seeded(7):
        first = torch.rand(3)
    assert torch.equal(torch.rand(3), undisturbed)
    with seeded(7):
        assert torch.equal(torch.rand(3), first)
    with seeded(8):
        assert not torch.equal(torch.rand(3), first)


def test_nor_does_an_error_leave_the_seed_behind():
    torch.manual_seed(5)
    undisturbed = torch.rand(3)
    torch.manual_seed(5)
    with pytest.raises(ZeroDivisionError), seeded(7):
        raise ZeroDivisionError
    assert torch.equal(torch.rand(3), undisturbed)
