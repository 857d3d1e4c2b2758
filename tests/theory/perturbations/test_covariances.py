"""Covariances, and the scores that they agree in, against SymPy and loops over entries."""

import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

from ensedu.theory.perturbations import separable, spread_of
from tests.theory.perturbations.matrices import covariance, some_weight

#: Sizes that no axis shares with another.
PRIMES = (2, 3, 5, 7)


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


@given(m=st.sampled_from(PRIMES), n=st.sampled_from(PRIMES), seed=st.integers(0, 2**32 - 1))
def test_separable_is_a_loop_over_entries(m, n, seed):
    R, S = covariance(seed, m), covariance(seed + 1, n)
    found = separable(R, S)
    assert found.shape == (m, n, m, n)
    for a, j, b, i in np.ndindex(found.shape):
        wanted = R[a, b] + S[j, i] + R[a, b] * S[j, i]
        assert found[a, j, b, i] == pytest.approx(wanted, abs=1e-12)
    np.testing.assert_array_equal(separable(R)[:, 0, :, 0], R + 1 - 1)
