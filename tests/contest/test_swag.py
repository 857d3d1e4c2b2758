"""SWAG: its Gaussian, and which weights it is put around."""

from itertools import pairwise

import numpy as np
import torch
from torch.nn.utils import parameters_to_vector

from ensedu.contest import networks, swag
from ensedu.contest.contestants import CONTESTANTS
from tests.contest import small


def test_draws_have_the_mean_and_covariance_of_the_paper():
    """Half of the diagonal of what was seen, and half of its sample covariance."""
    seen = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    generator = torch.Generator().manual_seed(1)
    drawn = torch.stack([swag.draw_weights(seen, generator) for _ in range(4_000)])
    expected = 0.5 * torch.diag(seen.var(0, correction=0)) + 0.5 * torch.cov(seen.T)
    assert torch.allclose(drawn.mean(0), seen.mean(0), atol=0.06)
    assert torch.allclose(torch.cov(drawn.T), expected, atol=0.1)


def test_of_one_look_it_is_the_network():
    seen = torch.arange(7.0)[None]
    assert torch.equal(swag.draw_weights(seen, torch.Generator()), seen[0])


def test_it_looks_at_the_last_third_of_the_steps_of_one_network(monkeypatch):
    monkeypatch.setattr(swag, "SNAPSHOTS", 4)
    job = small.job(small.task(steps=36), CONTESTANTS["swag"])
    assert job.epochs * 4 == 36 and swag.steps_to_see(job) == {24, 28, 32, 36}
    found = swag.train_swag(job)
    single = networks.train_network(small.job(job.task, CONTESTANTS["single"]))
    assert torch.equal(found.seen[-1], parameters_to_vector(single.net.parameters()))
    assert len(found.seen) == 4 and found.kept == 6 * len(found.seen[0])
    assert all(not torch.equal(a, b) for a, b in pairwise(found.seen))


def test_a_forecast_repeats_and_leaves_the_network_as_it_is():
    job = small.job(small.task(classes=True, steps=20), CONTESTANTS["swag"])
    found = swag.train_swag(job)
    before = parameters_to_vector(found.net.parameters()).detach().clone()
    one, other = (found(job.given.test[0]).logits for _ in range(2))
    np.testing.assert_array_equal(one, other)
    assert len(one) == 32 and np.ptp(one, axis=0).max() > 0
    assert torch.equal(parameters_to_vector(found.net.parameters()), before)
