"""Linear regression whose posterior is known exactly: what every approximation is held against.

Targets are ``y = Φ w + ε``, with noise ε ~ N(0, noise_std²) of known size, and all weights have one
normal prior. Then the posterior is normal, and so is the best factorized approximation to it, the
one that Bayes by Backprop looks for: both in closed form, NumPy alone::

    from ensedu.priors import Normal

    features = np.hstack([np.ones_like(x), x, x**2])  # (N, m); a column of ones is a bias
    exact = posterior(features, y, noise_std=0.1, prior=Normal(0.0, 1.0))
    mean, std = exact.predict(features)  # of the function, without the noise

All raise ``TypeError`` or ``ValueError`` for anything but arrays of finite floats that fit each
other, a positive noise and a `Normal`, and where a result leaves the floats.
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.common import checks
from ensedu.common.array_checks import check_floats
from ensedu.numpy import variational
from ensedu.priors import Normal

__all__ = ["Posterior", "free_energy", "posterior"]


@dataclass(frozen=True, eq=False)
class Posterior:
    """``p(w | y) = N(mean, Λ⁻¹)`` for each of n outputs, which differ in their means alone."""

    #: (m, n), a column an output.
    mean: Float[Array, "m n"]
    #: Λ, (m, m).
    precision: Float[Array, "m m"]
    #: log p(y), of all outputs together, in nats.
    log_evidence: float

    @property
    def covariance(self) -> Float[Array, "m m"]:
        """Λ⁻¹."""
        return np.linalg.inv(self.precision)

    @property
    def std(self) -> Float[Array, " m"]:
        """The marginal standard deviation of each weight, ``√(Λ⁻¹)_ii``."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def mean_field_std(self) -> Float[Array, " m"]:
        """That of the best factorized normal, ``1 / √Λ_ii`` (Bishop 2006, eq. 10.12 to 10.15).

        Its mean is the exact one. What it minimizes is `free_energy`. Never above `std`: it is the
        standard deviation of a weight if all others were known.
        """
        return np.diag(self.precision) ** -0.5

    def predict(
        self, features: Float[Array, "B m"]
    ) -> tuple[Float[Array, "B n"], Float[Array, "B n"]]:
        """Return mean and standard deviation of ``f = Φ w`` (Bishop 2006, eq. 3.58 and 3.59).

        That of a new target is ``√(std² + noise_std²)``.
        """
        m, n = self.mean.shape
        check_floats("features", features, ("B", m), like=f"the {m} weights")
        variance = (features * np.linalg.solve(self.precision, features.T).T).sum(1)
        std = np.sqrt(np.maximum(variance, 0.0))  # of which rounding may leave -1e-17
        return features @ self.mean, np.repeat(std[:, None], n, axis=1)


def posterior(
    features: Float[Array, "N m"],
    targets: Float[Array, "N n"],
    *,
    noise_std: float,
    prior: Normal = Normal(0.0, 1.0),
) -> Posterior:
    """Return the exact posterior of the weights, (m, n), and the evidence.

    ``Λ = 1 / scale² + ΦᵀΦ / noise_std²``, ``Λ mean = loc / scale² + Φᵀ y / noise_std²``, and the
    evidence (Bishop 2006, eq. 3.50, 3.51 and 3.86, there for loc = 0).

    The features are Φ, the design matrix: a row an example, with as many columns as there are
    weights. The targets have a column an output, and the prior is that of each weight.

    Examples
    --------
    >>> import numpy as np
    >>> exact = posterior(np.ones((3, 1)), np.array([[1.0], [2.0], [3.0]]), noise_std=1.0)
    >>> exact.mean.item(), exact.precision.item()  # the prior counts as a fourth target, 0
    (1.5, 4.0)
    """
    N, m, n = _check_data(features, targets)
    noise_std, prior = checks.real("noise_std", noise_std, low=0.0), _check_prior(prior)
    with np.errstate(all="ignore"):
        alpha, beta = np.float64(prior.scale) ** -2, np.float64(noise_std) ** -2
        precision = alpha * np.eye(m) + beta * features.T @ features  # (m, m)
        # From loc on, so that what a large loc has in common with the targets does not round.
        residual = targets - prior.loc * features.sum(1, keepdims=True)  # (N, n)
        try:
            moved = np.linalg.solve(precision, beta * features.T @ residual)  # (m, n)
            log_det = 2 * np.log(np.diag(np.linalg.cholesky(precision))).sum()
        except np.linalg.LinAlgError:
            moved, log_det = np.full((m, n), math.nan), math.nan
        misfit = beta * ((residual - features @ moved) ** 2).sum() + alpha * (moved**2).sum()
        per_output = m * np.log(alpha) + N * np.log(beta / (2 * math.pi)) - log_det
        log_evidence = float(0.5 * (n * per_output - misfit))
    if not math.isfinite(log_evidence):
        raise ValueError(_overflow_message("a posterior", features, noise_std, prior))
    return Posterior(prior.loc + moved, precision, log_evidence)


def free_energy(
    mean: Float[Array, "m n"],
    rho: Float[Array, "m n"],
    features: Float[Array, "N m"],
    targets: Float[Array, "N n"],
    *,
    noise_std: float,
    prior: Normal = Normal(0.0, 1.0),
) -> tuple[float, Float[Array, "m n"], Float[Array, "m n"]]:
    """Return the free energy of independent N(mean, softplus(ρ)²), and its gradients.

    ``F = KL(q ‖ prior) - E_q[log p(y | w)]``, the negative ELBO in nats, exactly: the expectation
    of the squared error is ``‖y - Φ mean‖² + Σ_i σ_i² ‖Φ_i‖²``. It is ``KL(q ‖ posterior) - log
    p(y)`` (Bishop 2006, eq. 10.2 and 10.3), so it is least at `Posterior.mean` and
    `Posterior.mean_field_std`. The gradients are those in `mean` and in `rho`.
    """
    N, m, n = _check_data(features, targets)
    for name, array in (("mean", mean), ("rho", rho)):
        check_floats(name, array, (m, n), like="features and targets")
    noise_std, prior = checks.real("noise_std", noise_std, low=0.0), _check_prior(prior)
    with np.errstate(all="ignore"):
        beta = np.float64(noise_std) ** -2
        std, slope = variational.softplus(rho), variational.sigmoid(rho)  # slope is dσ/dρ
        squares = (features**2).sum(0)[:, None]  # (m, 1), of each column
        residual = targets - features @ mean  # (N, n)
        error = (residual**2).sum() + (squares * std**2).sum()
        nll = 0.5 * beta * error + N * n * math.log(math.sqrt(2 * math.pi) * noise_std)
        value = float(variational.entry_kl(mean, rho, prior).sum() + nll)
        kl_mean, kl_rho = variational.entry_kl_gradient(mean, rho, prior)
        grad_mean = kl_mean - beta * features.T @ residual
        grad_rho = kl_rho + beta * squares * std * slope
    if not math.isfinite(value + grad_mean.sum() + grad_rho.sum()):
        raise ValueError(_overflow_message("a free energy", features, noise_std, prior))
    return value, grad_mean, grad_rho


def _check_data(features: Array, targets: Array) -> tuple[int, int, int]:
    """Check both, and return their sizes N, m and n."""
    check_floats("features", features, ("N", "m"))
    like = f"features of shape {features.shape}"
    check_floats("targets", targets, (len(features), "n"), like=like)
    return *features.shape, targets.shape[1]


def _check_prior(prior: Normal) -> Normal:
    if not isinstance(prior, Normal):
        raise TypeError(
            "prior must be an ensedu.priors.Normal, the conjugate one, got "
            f"{checks.describe(prior)}"
        )
    return prior


def _overflow_message(what: str, features: Array, noise_std: float, prior: Normal) -> str:
    return (
        f"features, noise_std and prior must have {what} that floats can hold, got "
        f"noise_std={noise_std:g}, {prior} and features up to {np.abs(features).max():g}"
    )
