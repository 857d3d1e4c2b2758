"""From the outputs of members to one prediction, and its uncertainty in parts that add up."""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from jaxtyping import Float, Integer
from numpy import ndarray as Array

from ensedu.uncertainty import score_checks


def gaussian_heads(
    outputs: Float[Any, "*M B heads"],
) -> tuple[Float[Array, "*M B k"], Float[Array, "*M B k"]]:
    """Return the mean and the variance of each member: ``σ² = softplus(raw) + 1e-6``.

    The outputs are 2k: k means, then k raw variances (Lakshminarayanan et al. 2017, sec. 2.2.1).

    Examples
    --------
    >>> import numpy as np
    >>> mean, variance = gaussian_heads(np.array([[[3.0, 0.0]]]))
    >>> mean.item(), round(variance.item(), 6)
    (3.0, 0.693148)
    """
    outputs = score_checks.floats("outputs", outputs, ("M", "B", "2k"), ("B", "2k"))
    if outputs.shape[-1] % 2:
        raise ValueError(
            f"outputs must have k means and k raw variances, (M, B, 2k), got shape {outputs.shape}"
        )
    mean, raw = np.split(outputs, 2, axis=-1)
    return mean, np.logaddexp(0, raw) + 1e-6  # softplus, without overflow


def softmax(logits: Float[Any, "*M B k"]) -> Float[Array, "*M B k"]:
    """Return the probabilities ``exp(z_c) / Σ_c' exp(z_c')`` of logits z, without overflow.

    Examples
    --------
    >>> import numpy as np
    >>> softmax(np.array([[0.0, np.log(3.0)]])).round(6)
    array([[0.25, 0.75]])
    """
    logits = score_checks.floats("logits", logits, ("M", "B", "k"), ("B", "k"))
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def mixture(
    mean: Float[Any, "*M B k"], variance: Float[Any, "*M B k"]
) -> tuple[Float[Array, "B k"], Float[Array, "B k"]]:
    """Return the mean and the variance of the uniform mixture of Gaussian members.

    ``μ* = mean_i μ_i`` and ``σ*² = mean_i (σ_i² + μ_i²) - μ*²`` (Lakshminarayanan et al. 2017, sec.
    2.4), computed as ``mean_i (σ_i² + (μ_i - μ*)²)``, which a large mean does not round away.

    Examples
    --------
    >>> import numpy as np
    >>> mean, variance = mixture(np.array([[[1.0]], [[3.0]]]), np.array([[[0.5]], [[1.5]]]))
    >>> mean.item(), variance.item()
    (2.0, 2.0)
    """
    mean, variance = score_checks.gaussians(mean, variance)
    center = mean.mean(axis=0)
    return center, (variance + (mean - center) ** 2).mean(axis=0)


def averaged(probabilities: Float[Any, "*M B k"]) -> Float[Array, "B k"]:
    """Return the class probabilities of the uniform mixture: the average over members.

    Examples
    --------
    >>> import numpy as np
    >>> averaged(np.array([[[1.0, 0.0]], [[0.5, 0.5]]]))
    array([[0.75, 0.25]])
    """
    return score_checks.averaged("probabilities", probabilities)


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
    deviation = members - average
    return CovarianceParts(
        total=_label_covariance(average),
        aleatoric=_label_covariance(members).mean(axis=0),
        epistemic=np.einsum("mbi,mbj->bij", deviation, deviation) / len(members),
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


def disagreement(predictions: Integer[Any, "M B"] | Float[Any, "M B k"]) -> float:
    """The fraction of examples on which two members predict different classes, mean over pairs.

    The predictions are classes, integers (M, B), or probabilities (M, B, k), of which the likeliest
    class counts (of a tie, the first).

    Examples
    --------
    >>> import numpy as np
    >>> disagreement(np.array([[0, 1, 2, 2], [0, 1, 1, 2], [0, 0, 2, 2]]))
    0.3333333333333333
    """
    predictions = score_checks.array(predictions)
    if getattr(getattr(predictions, "dtype", None), "kind", "") == "f":
        classes = score_checks.members("predictions", predictions).argmax(axis=2)
    else:
        classes = score_checks.integers("predictions", predictions, ("M", "B"))
    score_checks.at_least_two("predictions", classes)
    return float(np.mean([one != other for one, other in combinations(classes, 2)]))


def chance_disagreement(probabilities: Float[Any, "M B k"], labels: Integer[Any, " B"]) -> float:
    """The disagreement of members that are as accurate, but err independently of each other.

    Members of accuracies a and b then differ on ``a (1 - b) + b (1 - a) + (1 - a) (1 - b) (k - 2) /
    (k - 1)`` of examples, if both err at random and uniformly over the other k - 1 classes; the
    mean over pairs. Members that make the same errors have a `disagreement` far below it.

    Examples
    --------
    Two members, each right in one of two examples, two classes:

    >>> import numpy as np
    >>> probabilities = np.array([[[1.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, 1.0]]])
    >>> chance_disagreement(probabilities, np.array([0, 1]))
    0.5
    """
    probabilities = score_checks.members("probabilities", probabilities)
    labels = score_checks.labels(labels, probabilities, "probabilities")
    score_checks.at_least_two("probabilities", probabilities)
    classes = probabilities.shape[2]
    if classes < 2:
        raise ValueError(
            f"probabilities must be of at least two classes, got shape {probabilities.shape}"
        )
    same_error = (classes - 2) / (classes - 1)
    accuracies = (probabilities.argmax(axis=2) == labels).mean(axis=1)
    pairs = (
        a * (1 - b) + b * (1 - a) + (1 - a) * (1 - b) * same_error
        for a, b in combinations(accuracies, 2)
    )
    return float(np.mean([*pairs]))


def error_correlation(predictions: Float[Any, "M B k"], targets: Float[Any, "B *k"]) -> float:
    """Pearson's correlation of two members' errors ``f_i - y``, mean over pairs.

    Over all examples and outputs together. At 1 the average of members is no better than they are.
    A member with the same error everywhere is a ``ValueError``: it has no correlation.

    Examples
    --------
    >>> import numpy as np
    >>> members = np.array([[[1.0], [0.0], [-1.0]], [[1.0], [-2.0], [1.0]]])
    >>> abs(error_correlation(members, np.zeros(3))) < 1e-15
    True
    """
    predictions = score_checks.predictions("predictions", predictions)
    targets = score_checks.targets(targets, predictions, "predictions")
    score_checks.at_least_two("predictions", predictions)
    errors = (predictions - targets).reshape(len(predictions), -1)
    # What is left of a constant error is the rounding of the subtraction.
    rounding = 1e-12 * max(np.abs(predictions).max(), np.abs(targets).max())
    for i, error in enumerate(errors):
        if np.ptp(error) <= rounding:
            raise ValueError(
                f"predictions must have errors that vary, to correlate, got the error "
                f"{error[0]:g} everywhere for member {i}"
            )
    correlations = np.corrcoef(errors)
    return float(correlations[np.triu_indices(len(errors), 1)].mean())
