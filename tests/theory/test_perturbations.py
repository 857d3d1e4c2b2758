"""Perturbations against loops, SymPy and autograd; what equal covariances make of the score."""

import numpy as np
import pytest
import sympy as sp
import torch
from hypothesis import given
from hypothesis import strategies as st

import ensedu.numpy as en
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

B, m, n, k = 13, 3, 5, 7
#: Sizes that no axis shares with another.
PRIMES = (2, 3, 5, 7)


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


def loss_in_torch(net, x, y, decay):
    """The same loss as a function of the middle matrix, by autograd."""
    first, _, middle, _, last = net.layers
    fixed = {
        id(a): torch.from_numpy(a) for own in (first, middle, last) for a in own.params.values()
    }

    def of(own, name):
        return fixed[id(own.params[name])]

    def loss(V):
        h = torch.tanh(torch.from_numpy(x) @ of(first, "weight") + of(first, "bias"))
        h = torch.tanh(h @ V + of(middle, "bias"))
        out = h @ of(last, "weight") + of(last, "bias")
        nll = torch.nn.functional.cross_entropy(out, torch.from_numpy(y))
        return nll + decay / 2 * (V**2).sum()

    return loss


# ---- covariances, by SymPy ------------------------------------------------------------------


def symbols(name, *shape):
    return np.array(
        [sp.Symbol(f"{name}{''.join(map(str, i))}", real=True) for i in np.ndindex(shape)]
    ).reshape(shape)


def expected(polynomial, u, v, r_cov, s_cov):
    """The mean of a polynomial in u and v, of mean 0, with at most two factors of each."""
    total = 0
    for powers, factor in sp.Poly(polynomial, *u, *v).terms():
        parts = []
        for own, cov in ((powers[: len(u)], r_cov), (powers[len(u) :], s_cov)):
            places = [i for i, power in enumerate(own) for _ in range(power)]
            assert len(places) <= 2
            parts.append({0: 1, 1: 0}.get(len(places)) if len(places) < 2 else cov[tuple(places)])
        total += factor * parts[0] * parts[1]
    return total


def two_by_two():
    """W, the entries of W ∘ r sᵀ with r = 1 + u and s = 1 + v, and their exact covariances."""
    W, R, S = symbols("w", 2, 2), symbols("R", 2, 2), symbols("S", 2, 2)
    R[1, 0], S[1, 0] = R[0, 1], S[0, 1]
    u, v = symbols("u", 2), symbols("v", 2)
    V = (W * np.multiply.outer(1 + u, 1 + v)).ravel()
    means = [expected(entry, u, v, R, S) for entry in V]
    cov = sp.Matrix(
        4,
        4,
        lambda p, q: sp.expand(expected(sp.expand(V[p] * V[q]), u, v, R, S) - means[p] * means[q]),
    )
    return W, R, S, means, cov


def test_a_symbolic_matrix_has_multiplicative_covariance():
    W, R, S, means, cov = two_by_two()
    assert [sp.simplify(mean - w) for mean, w in zip(means, W.ravel(), strict=True)] == [0] * 4
    for (p, q), found in np.ndenumerate(np.array(cov.tolist())):
        (a, j), (b, i) = divmod(p, 2), divmod(q, 2)
        relative = R[a, b] + S[j, i] + R[a, b] * S[j, i]
        assert sp.expand(found - W[a, j] * relative * W[b, i]) == 0, (p, q)
    # To the first order in the covariances an entry is moved by its row and its column: of the
    # four directions of a 2 x 2 matrix only three are left, m + n - 1.
    t = sp.Symbol("t", positive=True)
    scaled = cov.subs({x: t * x for x in {*R.ravel(), *S.ravel()}}, simultaneous=True)
    leading = (scaled / t).applyfunc(lambda e: sp.limit(sp.expand(e), t, 0))
    assert sp.expand(leading.det()) == 0
    assert leading.subs({R[0, 1]: 0, S[0, 1]: 0})[:3, :3].det() != 0


def test_a_symbolic_covariance_is_that_of_the_package():
    W, R, S, _, cov = two_by_two()
    weight, r_cov, s_cov = some_weight(1, 2, 2), covariance(2, 2), covariance(3, 2)
    values = dict(zip(W.ravel(), weight.ravel(), strict=True))
    values |= dict(zip(R.ravel(), r_cov.ravel(), strict=True))
    values |= dict(zip(S.ravel(), s_cov.ravel(), strict=True))
    found = spread_of(weight, separable(r_cov, s_cov))
    np.testing.assert_allclose(found, np.array(cov.subs(values), dtype=float), rtol=1e-12)


def test_symbolic_scores_of_both_agree_to_first_order():
    """H C Hᵀ of the full perturbation is that of the rank-1 one, entry by entry."""
    W, R, S, _, cov = two_by_two()
    H = sp.Matrix(4, 4, lambda i, j: sp.Symbol(f"h{min(i, j)}{max(i, j)}", real=True))
    D = sp.diag(*W.ravel())
    relative = sp.kronecker_product(sp.Matrix(R) + sp.ones(2), sp.Matrix(S) + sp.ones(2))
    full = H * D * (relative - sp.ones(4)) * D * H.T
    assert (full - H * cov * H.T).applyfunc(sp.expand) == sp.zeros(4)


def test_no_rank_1_perturbation_has_independent_entries():
    """Variance c > 0 of each entry and no covariances: equations without a solution."""
    P, Q = symbols("P", 2, 2), symbols("Q", 2, 2)  # E[r_a r_a'], E[s_j s_j']
    P[1, 0], Q[1, 0] = P[0, 1], Q[0, 1]
    c = sp.Symbol("c", positive=True)
    z = sp.Symbol("z")  # 1 / c: c is not 0
    equations = [
        P[a, b] * Q[i, j] - 1 - (c if (a, i) == (b, j) else 0)
        for a, b, i, j in np.ndindex(2, 2, 2, 2)
    ]
    basis = sp.groebner([*equations, z * c - 1], *{*P.ravel(), *Q.ravel()}, c, z)
    assert basis.exprs == [1]


# ---- draws ----------------------------------------------------------------------------------


@given(m=st.sampled_from(PRIMES), n=st.sampled_from(PRIMES), seed=st.integers(0, 2**32 - 1))
def test_separable_is_a_loop_over_entries(m, n, seed):
    rng = np.random.default_rng(seed)
    R, S = covariance(seed, m), covariance(seed + 1, n)
    r, s = rng.standard_normal(m), rng.standard_normal(n)
    found = separable(R, S, r_mean=r, s_mean=s)
    assert found.shape == (m, n, m, n)
    for a, j, b, i in np.ndindex(found.shape):
        wanted = (r[a] * r[b] + R[a, b]) * (s[j] * s[i] + S[j, i]) - r[a] * r[b] * s[j] * s[i]
        assert found[a, j, b, i] == pytest.approx(wanted, abs=1e-12)
    np.testing.assert_array_equal(separable(R)[:, 0, :, 0], R + 1 - 1)


def in_errors(draws, mean, cov):
    """How far sample means and products are from theory, in standard errors, at most."""
    centered = (draws - mean).reshape(len(draws), -1)
    products = centered[:, :, None] * centered[:, None, :]
    return max(
        (np.abs(own.mean(0) - wanted) / (own.std(0) / len(draws) ** 0.5 + 1e-15)).max()
        for own, wanted in ((centered, 0), (products, cov))
    )


def test_draws_have_their_moments():
    W, R, S = some_weight(), covariance(1, m, 0.2), covariance(2, n, 0.2)
    rng, draws = np.random.default_rng(3), 40_000
    both = separable(R, S)
    for name, V, relative, mean in (
        ("full", multiplicative(W, both, rng=rng, draws=draws), both, W),
        ("rank-1", rank1(W, R, S, rng=rng, draws=draws), both, W),
        ("rows", rank1(W, R, rng=rng, draws=draws), separable(R), W),
        ("full rows", multiplicative(W, separable(R), rng=rng, draws=draws), separable(R), W),
    ):
        assert V.shape == (draws, m, n)
        assert in_errors(V, mean, spread_of(W, relative)) < 6, name
    means = {"r_mean": np.linspace(0.5, 1.5, m), "s_mean": np.linspace(-1, 2, n)}
    V = rank1(W, R, S, rng=rng, draws=draws, **means)
    mean = W * np.outer(*means.values())
    assert in_errors(V, mean, spread_of(W, separable(R, S, **means))) < 6
    # The check above can fail.
    assert in_errors(V, W, spread_of(W, both)) > 50


def test_what_does_not_depend_on_columns_is_rank_1_already():
    """Σ_aj,a'j' = R_aa': the full draw scales rows as a whole, whatever R is."""
    W, R = some_weight(), covariance(1, m, 0.3)
    V = multiplicative(W, separable(R), rng=np.random.default_rng(0), draws=11)
    ratios = V / W
    np.testing.assert_allclose(ratios, np.repeat(ratios[:, :, :1], n, axis=2), atol=1e-6)
    assert ratios.std() > 0.1
    # With s random too it is not: another law, of the same covariance.
    V = multiplicative(
        W, separable(R, covariance(2, n, 0.3)), rng=np.random.default_rng(0), draws=2
    )
    assert np.linalg.matrix_rank(V[0] / W) == m
    V = rank1(W, R, covariance(2, n, 0.3), rng=np.random.default_rng(0), draws=2)
    assert np.linalg.matrix_rank(V[0] / W) == 1


def test_draws_are_those_of_the_generator():
    W, R, S = some_weight(), covariance(1, m), covariance(2, n)
    for draw in (
        lambda rng, S_: rank1(W, R, S, rng=rng, draws=S_),
        lambda rng, S_: multiplicative(W, separable(R, S), rng=rng, draws=S_),
    ):
        one, other = (draw(np.random.default_rng(7), 5) for _ in range(2))
        np.testing.assert_array_equal(one, other)
        assert not np.array_equal(one, draw(np.random.default_rng(8), 5))
    still = rank1(W, np.zeros((m, m)), rng=np.random.default_rng(0), draws=2)
    np.testing.assert_array_equal(still, np.stack([W, W]))


def test_random_numbers_of_a_draw():
    """m + n for a pair, m n for a full matrix, as the generator is left."""
    W, R, S = some_weight(), covariance(1, m), covariance(2, n)
    for numbers, draw in (
        (m + n, lambda rng: rank1(W, R, S, rng=rng, draws=1)),
        (m, lambda rng: rank1(W, R, rng=rng, draws=1)),
        (m * n, lambda rng: multiplicative(W, separable(R, S), rng=rng, draws=1)),
    ):
        rng, other = np.random.default_rng(5), np.random.default_rng(5)
        draw(rng)
        other.standard_normal(numbers)
        assert rng.standard_normal() == other.standard_normal()


# ---- scores ---------------------------------------------------------------------------------


@pytest.mark.parametrize("decay", [0.0, 0.3])
def test_scores_are_gradients_by_torch(decay):
    net, x, y = network()
    score = Score(net, x, y, layer=2, decay=decay)
    V = score.weight * (1 + 0.3 * np.random.default_rng(1).standard_normal((11, m, n)))
    gradient = torch.func.grad(loss_in_torch(net, x, y, decay))
    wanted = np.stack([-gradient(torch.from_numpy(one)).numpy() for one in V])
    np.testing.assert_allclose(score(V), wanted, rtol=0, atol=1e-14)


def test_many_draws_go_in_parts(monkeypatch):
    net, x, y = network()
    score = Score(net, x, y, layer=2)
    V = score.weight + np.random.default_rng(1).standard_normal((11, m, n))
    whole = score(V)
    monkeypatch.setattr("ensedu.theory.perturbations.AT_ONCE", 3 * B * n)
    np.testing.assert_allclose(score(V), whole, rtol=0, atol=1e-15)


def test_a_score_leaves_the_network_alone():
    net, x, y = network()
    before = {name: array.copy() for name, array in net.params.items()}
    score = Score(net, x, y, layer=2)
    found = score(score.weight[None])
    assert not any(array.any() for array in net.grads.values())
    for name, array in net.params.items():
        np.testing.assert_array_equal(array, before[name])
        array += 1.0
    np.testing.assert_array_equal(score(score.weight[None]), found)


def test_scores_of_other_losses_and_without_bias():
    rng = np.random.default_rng(0)
    net = en.mlp([m, n], rng=rng, bias=False)
    x, y = rng.standard_normal((B, m)), rng.standard_normal((B, n))
    score = Score(net, x, y, layer=0, loss=en.half_squared_error, decay=0.7)
    V = rng.standard_normal((2, m, n))
    wanted = [-(x.T @ (x @ one - y) / B + 0.7 * one) for one in V]
    np.testing.assert_allclose(score(V), wanted, atol=1e-14)
    # Here the score is a straight line: its Hessian is known, and first order is all there is.
    H = np.kron(x.T @ x / B, np.eye(n)) + 0.7 * np.eye(m * n)
    np.testing.assert_allclose(hessian(score, score.weight), H, atol=1e-10)
    C = covariance(1, m * n)
    draws = score.weight + rng.multivariate_normal(np.zeros(m * n), C, 40).reshape(-1, m, n)
    exact = first_order(H, spread(draws))
    np.testing.assert_allclose(spread(score(draws)), exact, atol=1e-12)


def test_the_hessian_is_that_of_autograd():
    net, x, y = network()
    loss = loss_in_torch(net, x, y, 0.1)
    score = Score(net, x, y, layer=2, decay=0.1)
    second = torch.func.jacrev(torch.func.grad(loss))
    exact = second(torch.from_numpy(score.weight)).numpy().reshape(m * n, m * n)
    found = hessian(score, score.weight)
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-8)
    assert np.array_equal(found, found.T)


def test_equal_covariances_make_equal_scores_to_first_order():
    """Of two laws with one covariance, the scores' covariances part with the square of the size."""
    net, x, y = network()
    score = Score(net, x, y, layer=2)
    W, H = score.weight, hessian(score, score.weight)
    rng, half = np.random.default_rng(2), 4000
    u, v = (rng.standard_normal((half, size)) for size in (m, n))
    u, v = (np.concatenate([one, -one]) for one in (u, v))  # what is odd in them cancels
    g = np.tile(rng.standard_normal((half, m, n)), (2, 1, 1))
    apart, off = [], []
    for tau in (0.01, 0.1):
        r, s = 1 + tau * u[:, :, None], 1 + tau * v[:, None, :]
        full, pair = spread(score(W * (r + s - 1 + tau**2 * g))), spread(score(W * r * s))
        apart.append(np.linalg.norm(full - pair) / np.linalg.norm(full))
        line = first_order(H, spread_of(W, separable(tau**2 * np.eye(m), tau**2 * np.eye(n))))
        off.append(np.linalg.norm(line - full) / np.linalg.norm(full))
    assert apart[0] < 1e-3
    assert 70 < apart[1] / apart[0] < 140
    assert off[0] < 0.05  # what 8,000 draws leave


def test_first_order_has_as_many_directions_as_r_and_s():
    W, tau = some_weight(), 1e-4
    exact = separable(tau**2 * np.eye(m), tau**2 * np.eye(n)).reshape(m * n, m * n)
    values = np.linalg.eigvalsh(exact / tau**2)
    assert (values > 1e-3).sum() == m + n - 1
    assert np.linalg.matrix_rank(spread_of(W, np.eye(m * n).reshape(m, n, m, n))) == m * n


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
        (lambda: separable(R, r_mean=np.ones(2)), ValueError, ["r_mean has shape (2,)", "(3,)"]),
        (lambda: separable(R, S, s_mean=np.ones(3)), ValueError, ["s_mean has shape", "(5,)"]),
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
