"""An uncertainty, or an error, in parts that add up; each part is computed on its own."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.uncertainty import score_checks
from ensedu.uncertainty.combine import mixture

__all__ = [
    "AmbiguityParts",
    "CovarianceParts",
    "EntropyParts",
    "VarianceParts",
    "ambiguity",
    "covariance_parts",
    "entropy_parts",
    "variance_parts",
]


@dataclass(frozen=True, eq=False)
class VarianceParts:
    """The variance of a mixture of Gaussians: ``total = noise + spread``, each (B, k)."""

    #: The variance of the mixture.
    total: Float[Array, "B k"]
    #: The mean of the members' variances.
    noise: Float[Array, "B k"]
    #: The variance of the members' means.
    spread: Float[Array, "B k"]


@dataclass(frozen=True, eq=False)
class EntropyParts:
    """The entropy of averaged probabilities: ``total = expected + mutual_information``, (B,)."""

    #: The entropy of the average, in nats.
    total: Float[Array, " B"]
    #: The mean of the members' entropies.
    expected: Float[Array, " B"]
    #: The mean of the members' KL divergences from the average.
    mutual_information: Float[Array, " B"]


@dataclass(frozen=True, eq=False)
class CovarianceParts:
    """The covariance of a one-hot label: ``total = aleatoric + epistemic``, each (B, k, k)."""

    #: The covariance under the averaged probabilities.
    total: Float[Array, "B k k"]
    #: The mean of the members' covariances.
    aleatoric: Float[Array, "B k k"]
    #: The covariance of the members' probabilities.
    epistemic: Float[Array, "B k k"]


@dataclass(frozen=True, eq=False)
class AmbiguityParts:
    """The squared error of an average: ``ensemble = members - ambiguity``, each (B, k)."""

    #: The squared error of the average.
    ensemble: Float[Array, "B k"]
    #: The mean of the members' squared errors.
    members: Float[Array, "B k"]
    #: The mean squared distance of the members from the average.
    ambiguity: Float[Array, "B k"]


def variance_parts(mean: Float[Any, "*M B k"], variance: Float[Any, "*M B k"]) -> VarianceParts:
    """Take the variance of the mixture apart: noise that members see, and their spread.

    ``σ*² = mean_i σ_i² + var_i μ_i``, the law of total variance. Elsewhere the noise is called
    aleatoric and the spread epistemic. The names here say what is computed: the members' spread
    is what is not known only so far as the members are what may be true.

    Examples
    --------
    >>> import numpy as np
    >>> parts = variance_parts(np.array([[[1.0]], [[3.0]]]), np.array([[[0.5]], [[1.5]]]))
    >>> parts.total.item(), parts.noise.item(), parts.spread.item()
    (2.0, 1.0, 1.0)
    """
    mean, variance = score_checks.gaussians(mean, variance)
    _, total = mixture(mean, variance)
    return VarianceParts(total, noise=variance.mean(axis=0), spread=mean.var(axis=0))


def entropy_parts(probabilities: Float[Any, "*M B k"]) -> EntropyParts:
    """Take the entropy of the averaged probabilities apart.

    ``H(p̄) = mean_i H(p_i) + mean_i KL(p_i ‖ p̄)``. The second part is the mutual information of
    the label and the member (Houlsby et al. 2011; Depeweg et al. 2018). Elsewhere the first is
    called aleatoric and the second epistemic; the second is what is not known about the model only
    under the model's own posterior, of which the members then are samples. Rounding may leave it
    below 0, by some 1e-16.

    Examples
    --------
    Two members that are certain, of different classes: all of it is mutual information.

    >>> import numpy as np
    >>> parts = entropy_parts(np.array([[[1.0, 0.0]], [[0.0, 1.0]]]))
    >>> parts.total.round(4).item(), parts.expected.item()
    (0.6931, 0.0)
    >>> parts.mutual_information.round(4).item()
    0.6931
    """
    members = score_checks.members("probabilities", probabilities)
    average = members.mean(axis=0)
    divergence = (members * (_log_or_zero(members) - _log_or_zero(average))).sum(axis=-1)
    return EntropyParts(
        total=_entropy(average),
        expected=_entropy(members).mean(axis=0),
        mutual_information=divergence.mean(axis=0),
    )


def covariance_parts(probabilities: Float[Any, "*M B k"]) -> CovarianceParts:
    """Take the covariance of the label, as a one-hot vector, apart (Kwon et al. 2020, eq. 4).

    ``diag(p̄) - p̄ p̄ᵀ = mean_i [diag(p_i) - p_i p_iᵀ] + mean_i (p_i - p̄)(p_i - p̄)ᵀ``, the law of
    total covariance. The diagonals hold one number a class; the traces are one number an example:
    ``1 - Σ p̄²`` in all, 0 for a certain prediction.

    Examples
    --------
    Two members that are certain, of different classes: all of it is epistemic.

    >>> import numpy as np
    >>> parts = covariance_parts(np.array([[[1.0, 0.0]], [[0.0, 1.0]]]))
    >>> parts.total.tolist()
    [[[0.25, -0.25], [-0.25, 0.25]]]
    >>> bool((parts.epistemic == parts.total).all()), parts.aleatoric.any().item()
    (True, False)
    """
    members = score_checks.members("probabilities", probabilities)
    average = members.mean(axis=0)
    apart = members - average
    return CovarianceParts(
        total=_label_covariance(average),
        aleatoric=_label_covariance(members).mean(axis=0),
        epistemic=np.einsum("mbi,mbj->bij", apart, apart) / len(members),
    )


def ambiguity(predictions: Float[Any, "*M B k"], targets: Float[Any, "B *k"]) -> AmbiguityParts:
    """Take the squared error of the members' average apart (Krogh and Vedelsby 1995).

    ``(f̄ - y)² = mean_i (f_i - y)² - mean_i (f_i - f̄)²``: the average is better than its members
    are on average, by just so much as they differ.

    Examples
    --------
    >>> import numpy as np
    >>> parts = ambiguity(np.array([[[1.0]], [[4.0]]]), np.array([2.0]))
    >>> parts.ensemble.item(), parts.members.item(), parts.ambiguity.item()
    (0.25, 2.5, 2.25)
    """
    predictions = score_checks.predictions("predictions", predictions)
    targets = score_checks.targets(targets, predictions, "predictions")
    average = predictions.mean(axis=0)
    return AmbiguityParts(
        ensemble=(average - targets) ** 2,
        members=((predictions - targets) ** 2).mean(axis=0),
        ambiguity=((predictions - average) ** 2).mean(axis=0),
    )


def _label_covariance(probabilities: Float[Array, "*M B k"]) -> Float[Array, "*M B k k"]:
    """Return ``diag(p) - p pᵀ``."""
    own = probabilities[..., :, None] * np.eye(probabilities.shape[-1])
    return own - probabilities[..., :, None] * probabilities[..., None, :]


def _entropy(probabilities: Float[Array, "*M B k"]) -> Float[Array, "*M B"]:
    # 0.0 -, that none is -0.0
    return 0.0 - (probabilities * _log_or_zero(probabilities)).sum(axis=-1)


def _log_or_zero(probabilities: Float[Array, "*M B k"]) -> Float[Array, "*M B k"]:
    """Return the logarithm, and 0 for that of 0, which only 0 is multiplied by."""
    return np.log(probabilities, out=np.zeros_like(probabilities), where=probabilities > 0)
