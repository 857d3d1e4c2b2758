"""Scores of predictions, most of them one number an example; the NLLs one a member, too."""

import math
from typing import Any

import numpy as np
from jaxtyping import Float, Integer
from numpy import ndarray as Array

from ensedu.common.checks import optional
from ensedu.uncertainty import score_checks
from ensedu.uncertainty.combine import mixture


def gaussian_nll(
    mean: Float[Any, "*M B k"], variance: Float[Any, "*M B k"], targets: Float[Any, "B *k"]
) -> Float[Array, "M B"]:
    """``ℓ_ib = Σ ½ log 2πσ² + (y - μ)² / (2σ²)``, summed over the k outputs, in nats.

    Examples
    --------
    >>> import numpy as np
    >>> gaussian_nll(np.array([[[1.0]]]), np.array([[[4.0]]]), np.array([3.0])).round(4)
    array([[2.1121]])
    """
    return _gaussian_nll(*score_checks.forecast(mean, variance, targets))


def categorical_nll(
    probabilities: Float[Any, "*M B k"], labels: Integer[Any, " B"]
) -> Float[Array, "M B"]:
    """``ℓ_ib = -log p_i(y_b)``, in nats; inf where a member gave the label a probability of 0.

    Examples
    --------
    >>> import numpy as np
    >>> categorical_nll(np.array([[[0.25, 0.75]], [[1.0, 0.0]]]), np.array([0])).round(4) + 0.0
    array([[1.3863],
           [0.    ]])
    """
    probabilities = score_checks.members("probabilities", probabilities)
    labels = score_checks.labels(labels, probabilities, "probabilities")
    of_labels = probabilities[:, np.arange(len(labels)), labels]
    with np.errstate(divide="ignore"):  # -log 0 is inf, and meant
        return 0.0 - np.log(of_labels)


def average_nll(nll: Float[Any, "*M B"]) -> Float[Array, " B"]:
    """Return the members' average NLL of each example: how good one member is.

    Examples
    --------
    >>> import numpy as np
    >>> average_nll(np.array([[1.0], [2.0]]))
    array([1.5])
    """
    return score_checks.nll(nll).mean(axis=0)


def mixture_nll(nll: Float[Any, "*M B"]) -> Float[Array, " B"]:
    """``-log (1/M) Σ_i exp(-ℓ_ib)``: the NLL of the ensemble, as the mixture of its members.

    ℓ is that of `gaussian_nll` or `categorical_nll`. It is never above `average_nll`, by Jensen's
    inequality.

    Examples
    --------
    Of a label, members with probabilities .25 and .75 together have .5.

    >>> import numpy as np
    >>> mixture_nll(-np.log([[0.25], [0.75]])).round(4)
    array([0.6931])
    """
    nll = score_checks.nll(nll)
    return np.log(len(nll)) - np.logaddexp.reduce(-nll, axis=0)


def moment_matched_nll(
    mean: Float[Any, "*M B k"], variance: Float[Any, "*M B k"], targets: Float[Any, "B *k"]
) -> Float[Array, " B"]:
    """The NLL of the one Gaussian that has the mixture's mean and variance.

    Table 1 of Lakshminarayanan et al. (2017) has it so (sec. 2.4). Unlike `mixture_nll` it may be
    above the members' average: one Gaussian has to cover members that disagree.

    Examples
    --------
    >>> import numpy as np
    >>> means, variances = np.array([[[1.0]], [[3.0]]]), np.array([[[0.5]], [[1.5]]])
    >>> moment_matched_nll(means, variances, np.array([2.0])).round(4)
    array([1.2655])
    """
    mean, variance, targets = score_checks.forecast(mean, variance, targets)
    return _gaussian_nll(*mixture(mean, variance), targets)


def brier(probabilities: Float[Any, "*M B k"], labels: Integer[Any, " B"]) -> Float[Array, " B"]:
    """``Σ_c (p_c - 1[c = y])²`` (Brier 1950), summed over all classes: from 0 to 2.

    For two classes, a definition by the probability of one of them is half of it.

    Examples
    --------
    >>> import numpy as np
    >>> brier(np.array([[0.5, 0.25, 0.25]]), np.array([0]))
    array([0.375])
    """
    probabilities, labels = score_checks.labeled_probabilities(probabilities, labels)
    one_hot = labels[:, None] == np.arange(probabilities.shape[1])
    return ((probabilities - one_hot) ** 2).sum(axis=1)


def crps(
    mean: Float[Any, "*M B k"], variance: Float[Any, "*M B k"], targets: Float[Any, "B *k"]
) -> Float[Array, "B k"]:
    """The continuous ranked probability score of the mixture, ``∫ (F(t) - 1[t ≥ y])² dt``.

    In the units of the targets, each output on its own; for one certain member it is the absolute
    error. In closed form (Grimit et al. 2006), ``mean_i A(y - μ_i, σ_i²) - ½ mean_ij A(μ_i - μ_j,
    σ_i² + σ_j²)`` with ``A(d, v) = E |N(d, v)|``. Needs SciPy.

    Examples
    --------
    >>> import numpy as np
    >>> crps(np.array([[[1.0]]]), np.array([[[1.0]]]), np.array([1.0])).round(4)
    array([[0.2337]])
    """
    mean, variance, targets = score_checks.forecast(mean, variance, targets)
    # Of each member from itself.
    between = 0.5 * _mean_absolute_normal(0 * mean, 2 * variance).sum(axis=0)
    for i in range(1, len(mean)):  # each pair once, and no array of M² of them
        between += _mean_absolute_normal(mean[i] - mean[:i], variance[i] + variance[:i]).sum(axis=0)
    return _mean_absolute_normal(targets - mean, variance).mean(axis=0) - between / len(mean) ** 2


def mixture_cdf(
    mean: Float[Any, "*M B k"], variance: Float[Any, "*M B k"], targets: Float[Any, "B *k"]
) -> Float[Array, "B k"]:
    """``F(y) = mean_i Φ((y - μ_i) / σ_i)``, the probability of at most y, of each output.

    Of a calibrated forecast these are uniform on 0 to 1 (the probability integral transform).
    Needs SciPy.

    Examples
    --------
    >>> import numpy as np
    >>> mixture_cdf(np.array([[[1.0]], [[3.0]]]), np.ones((2, 1, 1)), np.array([2.0]))
    array([[0.5]])
    """
    mean, variance, targets = score_checks.forecast(mean, variance, targets)
    ndtr = optional("scipy.special", "scores").ndtr
    return ndtr((targets - mean) / np.sqrt(variance)).mean(axis=0)


def coverage(
    mean: Float[Any, "*M B k"],
    variance: Float[Any, "*M B k"],
    targets: Float[Any, "B *k"],
    level: float = 0.95,
) -> float:
    """The fraction of all targets in the mixture's central interval of a level, from 0 to 1.

    A target is inside if ``(1 - level) / 2 ≤ F(y) ≤ (1 + level) / 2`` for the mixture's own F, so
    no quantile is searched for and no Gaussian fitted. Of a calibrated forecast the fraction is
    the level. Needs SciPy.

    Examples
    --------
    >>> import numpy as np
    >>> coverage(np.zeros((1, 4, 1)), np.ones((1, 4, 1)), np.array([-3.0, -1.0, 0.5, 1.9]))
    0.75
    """
    level = score_checks.level(level)
    below = mixture_cdf(mean, variance, targets)
    inside = ((1 - level) / 2 <= below) & (below <= (1 + level) / 2)
    return float(inside.mean())


def rmse(prediction: Float[Any, "*M B k"], targets: Float[Any, "B *k"]) -> float:
    """The root of the mean squared error of the members' mean, over all examples and outputs.

    Examples
    --------
    >>> import numpy as np
    >>> rmse(np.array([[1.0], [7.0]]), np.array([2.0, 0.0]))
    5.0
    """
    center = score_checks.predictions("prediction", prediction).mean(axis=0)
    targets = score_checks.targets(targets, center, "prediction")
    return math.sqrt(((center - targets) ** 2).mean())


def accuracy(probabilities: Float[Any, "*M B k"], labels: Integer[Any, " B"]) -> float:
    """The fraction of examples whose label is the likeliest class; of a tie the first counts.

    Examples
    --------
    >>> import numpy as np
    >>> accuracy(np.array([[0.25, 0.75], [0.5, 0.5]]), np.array([1, 1]))
    0.5
    """
    probabilities, labels = score_checks.labeled_probabilities(probabilities, labels)
    return float((probabilities.argmax(axis=1) == labels).mean())


def _gaussian_nll(
    mean: Float[Array, "*M B k"], variance: Float[Array, "*M B k"], targets: Float[Array, "B k"]
) -> Float[Array, "*M B"]:
    nll = 0.5 * np.log(2 * np.pi * variance) + 0.5 * (targets - mean) ** 2 / variance
    return nll.sum(axis=-1)


def _mean_absolute_normal(
    mean: Float[Array, "M B k"], variance: Float[Array, "M B k"]
) -> Float[Array, "M B k"]:
    """``E |N(mean, variance)| = 2σ φ(d/σ) + d (2 Φ(d/σ) - 1)`` with d the mean."""
    special = optional("scipy.special", "scores")
    std = np.sqrt(variance)
    z = mean / std
    density = np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)
    return 2 * std * density + mean * special.erf(z / math.sqrt(2))


def auroc(inside: Float[Any, " B"], outside: Float[Any, " C"]) -> float:
    """The area under the ROC curve of a score that should be higher outside.

    It is the probability that an example from outside has a higher score than one from inside, a
    tie counting half: ½ where the score tells nothing, 1 where it tells all. Such scores are the
    entropy, the mutual information, or the spread. Needs scikit-learn, which computes it.

    Examples
    --------
    >>> import numpy as np
    >>> auroc(np.array([0.1, 0.4]), np.array([0.4, 0.9]))
    0.875
    """
    inside = score_checks.floats("inside", inside, ("B",))
    outside = score_checks.floats("outside", outside, ("C",))
    is_outside = np.repeat([False, True], [len(inside), len(outside)])
    roc_auc_score = optional("sklearn.metrics", "scores").roc_auc_score
    return float(roc_auc_score(is_outside, np.concatenate([inside, outside])))
