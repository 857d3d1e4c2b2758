"""Messages name the argument, what was given, and what is accepted."""

import numpy as np
import pytest

from ensedu.theory.perturbations import (
    Score,
    first_order,
    hessian,
    multiplicative,
    rank1,
    separable,
    spread,
    spread_of,
)
from tests.errors import check_error
from tests.theory.perturbations.matrices import covariance, m, n, network, some_weight


@pytest.mark.bad_input
def test_bad_input_is_named():
    W, R, S, rng = some_weight(), covariance(1, m), covariance(2, n), np.random.default_rng(0)
    relative = separable(R, S)
    net, x, y = network()
    score = Score(net, x, y, layer=2)
    tilted = R.copy()
    tilted[0, 1] += 1
    cases = [
        (lambda: separable(R.tolist()), TypeError, ["r_cov must be a plain NumPy array", "list"]),
        (lambda: separable(R.astype("f")), TypeError, ["r_cov has dtype float32", "float64"]),
        (lambda: separable(R[:2]), ValueError, ["r_cov has shape (2, 3)", "accepted is"]),
        (lambda: separable(tilted), ValueError, ["r_cov must be symmetric", "1"]),
        (lambda: separable(-R), ValueError, ["r_cov must be a covariance", "negative"]),
        (lambda: separable(R, S * np.nan), ValueError, ["s_cov must hold finite"]),
        (lambda: rank1(W, S, rng=rng, draws=2), ValueError, ["r_cov has shape (5, 5)", "(3, 3)"]),
        (lambda: rank1(W, R, R, rng=rng, draws=2), ValueError, ["s_cov has shape", "(5, 5)"]),
        (lambda: rank1(W, R, rng=3, draws=2), TypeError, ["rng must be a numpy.random.Generator"]),
        (lambda: rank1(W, R, rng=rng, draws=0), ValueError, ["draws must be a positive integer"]),
        (lambda: rank1(W[0], R, rng=rng, draws=1), ValueError, ["weight has shape (5,)", "(m, n)"]),
        (
            lambda: multiplicative(W, relative[:2], rng=rng, draws=1),
            ValueError,
            ["relative has shape (2, 5, 3, 5)", "(3, 5, 3, 5) or (3, 1, 3, 1)"],
        ),
        (
            lambda: multiplicative(W, -relative, rng=rng, draws=1),
            ValueError,
            ["relative must be a covariance"],
        ),
        (lambda: multiplicative(W, relative, rng=rng, draws=1.0), TypeError, ["draws must be"]),
        (lambda: multiplicative(W, relative, rng=None, draws=1), TypeError, ["rng must be"]),
        (lambda: spread_of([1.0], relative), TypeError, ["weight must be a plain NumPy array"]),
        (lambda: spread_of(W * np.inf, relative), ValueError, ["weight must hold finite"]),
        (lambda: spread(W[:1]), ValueError, ["samples has shape (1, 5)", "S at least 2"]),
        (lambda: spread(W.astype(int)), TypeError, ["samples has dtype int64"]),
        (lambda: Score(net.layers[2], x, y, layer=0), TypeError, ["network must be a Sequential"]),
        (lambda: Score(net, x, y, layer=1), ValueError, ["layer must be", "one of 0, 2, 4", "1"]),
        (lambda: Score(net, x, y, layer=9), ValueError, ["layer must be", "got 9"]),
        (lambda: Score(net, x, y, layer=-1), ValueError, ["layer must be an integer from 0 up"]),
        (
            lambda: Score(net, x, y[:-1], layer=2),
            ValueError,
            ["loss(outputs of x, targets)", "shape"],
        ),
        (lambda: Score(net, x[0], y, layer=2), ValueError, ["x has shape (2,)", "(B, features)"]),
        (lambda: Score(net, x[:, :1], y, layer=2), ValueError, ["input x", "(..., 2)"]),
        (lambda: Score(net, x, y, layer=2, decay=-1), ValueError, ["decay must be 0 or more"]),
        (lambda: Score(net, x, y, layer=2, loss="nll"), TypeError, ["loss must be a function"]),
        (lambda: score(W), ValueError, ["matrices has shape (3, 5)", "accepted is (S, 3, 5)"]),
        (lambda: score(W[None].astype(int)), TypeError, ["matrices has dtype int64"]),
        (lambda: score(np.empty((0, m, n))), ValueError, ["matrices has shape (0, 3, 5)"]),
        (lambda: hessian(score, W, step=0.0), ValueError, ["step must be a finite number above"]),
        (lambda: hessian(W, W), TypeError, ["score must be a function"]),
        (lambda: hessian(lambda V: V[0], W), ValueError, ["score must return shape (30, 3, 5)"]),
        (lambda: first_order(R, S), ValueError, ["curvature has shape (3, 3)", "(5, 5)"]),
        (lambda: first_order(R, R[0]), ValueError, ["covariance (3,)", "(mn, mn)"]),
        (lambda: first_order(3, R), TypeError, ["curvature must be a plain NumPy array"]),
    ]
    for call, error, words in cases:
        check_error(call, error, words)
