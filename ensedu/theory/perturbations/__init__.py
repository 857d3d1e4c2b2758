"""Perturbations of a weight matrix, full and rank-1, and what they make of the score.

A draw of a matrix W, (m, n), is ``V = W ∘ (1 + Z)``, with Z, (m, n), of mean 0: every entry of W
is scaled by a random number close to 1. Such a perturbation has *multiplicative covariance*::

    Cov(V_aj, V_a'j') = W_aj Σ_aj,a'j' W_a'j'       with Σ = Cov(Z), here (m, n, m, n)

A *full* one draws Z from N(0, Σ), for any Σ. A *rank-1* one draws two vectors, ``V = W ∘ r sᵀ``
(Dusenberry et al. 2020, sec. 3), and its Σ is that of `separable`. How the gradient of a loss
varies with V is, to the first order in Z, a matter of Σ alone::

    from ensedu.numpy import mlp

    rng = np.random.default_rng(0)
    net, x, labels = mlp([7, 5], rng=rng), rng.standard_normal((11, 7)), np.arange(11) % 5
    W, r_cov, s_cov = net.layers[0].params["weight"], 0.01 * np.eye(7), 0.01 * np.eye(5)
    full = multiplicative(W, separable(r_cov, s_cov), rng=rng, draws=1000)  # (1000, 7, 5)
    pair = rank1(W, r_cov, s_cov, rng=rng, draws=1000)
    score = Score(net, x, labels, layer=0)
    both = spread(score(full)), spread(score(pair))  # two (35, 35), nearly equal
    limit = first_order(hessian(score, W), spread_of(W, separable(r_cov, s_cov)))  # of both

Matrices are made vectors row by row, entry (a, j) at place ``a n + j``. NumPy, in float64.
"""

from ensedu.theory.perturbations.covariances import separable, spread, spread_of
from ensedu.theory.perturbations.draws import multiplicative, rank1
from ensedu.theory.perturbations.score import Score, first_order, hessian

__all__ = [
    "Score",
    "first_order",
    "hessian",
    "multiplicative",
    "rank1",
    "separable",
    "spread",
    "spread_of",
]
