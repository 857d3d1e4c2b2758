"""How far the book's contestants are from the reference posterior, and the table of that."""

import numpy as np
import pytest
import scipy.stats
import torch

from ensedu.book import measured
from ensedu.book.experiments import nuts, nuts_distances
from ensedu.data import gap
from ensedu.torch import kl, predict
from ensedu.torch.variational import normal_kl, softplus

SHORT = nuts_distances.SETTINGS | {"starts": 2, "steps": [3, 2], "rates": [0.05, 0.01]}


def stack(starts=3, seed=0):
    torch.manual_seed(seed)
    net = nuts_distances.Factorized(starts, posterior_std=0.02)
    with torch.no_grad():
        net.rho += 0.1 * torch.randn_like(net.rho)
    return net


def test_a_factorized_posterior_is_that_of_the_network():
    net, x = stack(), torch.from_numpy(nuts.coarse_grid()[:, None])
    drawn = net(x, 5000).detach()
    for start in range(3):
        own = net.network(start)
        f = predict(own, x, samples=200)[..., 0]
        error = drawn[start].std(0) / 200**0.5
        assert ((f.mean(0) - drawn[start].mean(0)).abs() < 6 * error).all()
        torch.testing.assert_close(f.std(0), drawn[start].std(0), rtol=0.2, atol=0)
        wanted = normal_kl(net.mean[start], net.rho[start], nuts.PRIOR).sum()
        torch.testing.assert_close(kl(own), wanted, rtol=1e-12, atol=0)


def test_the_free_energy_is_that_of_the_joint():
    """Over draws of q the mean of log q minus the log joint, which knows nothing of layers."""
    x, y = gap.sample(np.random.default_rng(0))
    net = stack()
    found = nuts_distances.free_energies("mean_field", [net], 0, 1000)
    for start in range(3):
        mean, std = net.mean[start].detach().numpy(), softplus(net.rho[start]).detach().numpy()
        q = scipy.stats.norm(mean, std)
        drawn = q.rvs((4000, nuts.NUMBER), random_state=np.random.default_rng(1))
        free_energy = q.logpdf(drawn).sum(1) - nuts.log_joint(drawn, x[:, 0], y[:, 0])
        error = free_energy.std() / 4000**0.5
        assert found[start] == pytest.approx(free_energy.mean(), abs=6 * error)


def test_starts_and_draws_of_contestants():
    for name in nuts_distances.CONTESTANTS:
        own = {key: SHORT[key] for key in ("starts", "steps", "rates")}
        nets = nuts_distances.trained(name, 3, **own)
        f = nuts_distances.beliefs(name, nets, nuts.coarse_grid(), 2, 64)
        draws = {"single": 1, "deep_ensemble": 5}.get(name, 64)
        assert f.shape == (2, draws, 24)
        assert np.abs(f[0].mean(0) - f[1].mean(0)).max() > 0.01
        again = nuts_distances.beliefs(name, nets, nuts.coarse_grid(), 2, 64)
        np.testing.assert_array_equal(f, again)


def test_members_of_a_stack_train_as_if_alone():
    own = {"steps": [20], "rates": [0.01]}
    (stack,) = nuts_distances.trained("single", 0, 3, **own)
    x = torch.from_numpy(nuts.coarse_grid()[:, None])
    row = nuts_distances.CONTESTANTS["single"]
    again = nuts_distances._train_network(row, 0, 0, 3, **own)
    np.testing.assert_array_equal(stack(x).detach(), again(x).detach())
    (five,) = nuts_distances.trained("deep_ensemble", 0, 3, **own)
    assert len(five(x)) == 15


def test_a_reference_has_no_distance_from_itself():
    row = measured.row(measured.load("nuts")["rows"], data_seed=0)
    kept = np.array(row["quantiles"]).T
    for scores in nuts_distances.distances(kept, dict(row)).values():
        assert scores["wasserstein"] == 0
        assert scores["mean_difference"] < 0.02
        assert scores["std_ratio"] == pytest.approx(1.0, abs=0.03)


def test_a_reduced_run_agrees_with_the_table():
    """Shorter for the mean-field BNN, whose standard deviations settle before its means do."""
    rows = measured.load("nuts-distances")["rows"]
    row = measured.row(rows, contestant="mean_field", data_seed=0)
    settings = nuts_distances.SETTINGS | {"steps": [150, 50, 25]}
    found = nuts_distances.run("mean_field", 0, **settings)
    for place in ("regions", "gap"):
        wanted = np.mean(row[place]["std_ratio"])
        assert np.mean(found[place]["std_ratio"]) == pytest.approx(wanted, rel=0.2), place
    assert np.mean(found["free_energy"]) > np.mean(row["free_energy"])
