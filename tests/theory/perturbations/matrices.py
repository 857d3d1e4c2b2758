"""Covariances, a matrix and a network, which several tests perturb."""

import numpy as np

import ensedu.numpy as en

B, m, n, k = 13, 3, 5, 7


def covariance(seed, size, scale=0.1):
    root = scale * np.random.default_rng(seed).standard_normal((size, size))
    return root @ root.T


def some_weight(seed=0, m=m, n=n):
    return np.random.default_rng(seed).standard_normal((m, n))


def network(seed=0, activation="tanh"):
    """A network whose middle matrix is (m, n), with examples."""
    rng = np.random.default_rng(seed)
    net = en.mlp([2, m, n, k], rng=rng, activation=activation)
    return net, rng.standard_normal((B, 2)), rng.integers(k, size=B)
