"""What an ensemble knows and how well: its members combined, taken apart, and scored.

**Shapes**, once for all: what comes in is (M, B, …), M members first, then B examples, then k
outputs or classes, as ``predict(net, x)`` returns it; or (B, …), what is combined already, which
counts as one member. Samples of a Bayesian network are members, too; S samples of M members are S·M
of them, and pairs of members are then also pairs of samples of one. Targets y are (B, k), or (B,)
for k = 1; labels are (B,), from 0 to k - 1. A `level` is a probability between 0 and 1. Tensors of
Torch on any device, columns and frames of pandas and NumPy's arrays are taken, of floats of up to
64 bits; what comes out are NumPy's, computed in float64.

A score of each example is an array, so that its ``.mean()`` and its errors are the reader's::

    from ensedu.torch import predict

    mean, variance = gaussian_heads(predict(net, x))  # μ and σ² of each member, of (M, B, 2k)
    mixture_nll(gaussian_nll(mean, variance, y)).mean()
    variance_parts(mean, variance).spread

All raise ``TypeError`` or ``ValueError`` for anything else: another shape, numbers that are not
finite, a variance that is not positive, probabilities that are negative or do not sum to 1 better
than float16 does, a label out of range. The members are combined as a uniform mixture of their
distributions (Lakshminarayanan et al. 2017, sec. 2.4). Some scores need SciPy or scikit-learn, and
raise an ``ImportError`` without: ``pip install "ensedu[scores]"``.

- Combined: `gaussian_heads`, `softmax`, `mixture`, `averaged`.
- In parts: `variance_parts`, `entropy_parts`, `covariance_parts`, `ambiguity`.
- Intervals and sets, as the forecast believes: `quantile`, `interval`, `smallest_set`.
- Scored, numbers: `gaussian_nll`, `moment_matched_nll`, `crps`, `mixture_cdf`, `coverage`,
  `interval_score`, `rmse`; classes: `categorical_nll`, `brier`, `accuracy`; both: `average_nll`,
  `mixture_nll`.
- Calibrated, on held-out rows: `reliability` and `ece` say how well, `TemperatureScaling` mends
  probabilities, and `ConformalIntervals` and `ConformalSets`, by `conformal_quantile`, hold what
  they promise; `ExchangeabilityTest` watches whether they still do.
- Members compared: `disagreement`, `chance_disagreement`, `error_correlation`; inputs of another
  kind: `auroc`; methods compared: `paired`, over splits of one data set `corrected_t`, many at once
  `holm`.
"""

from ensedu.uncertainty.calibration import Reliability, TemperatureScaling, ece, reliability
from ensedu.uncertainty.combine import (
    AmbiguityParts,
    CovarianceParts,
    EntropyParts,
    VarianceParts,
    ambiguity,
    averaged,
    chance_disagreement,
    covariance_parts,
    disagreement,
    entropy_parts,
    error_correlation,
    gaussian_heads,
    mixture,
    softmax,
    variance_parts,
)
from ensedu.uncertainty.conformal import ConformalIntervals, ConformalSets, conformal_quantile
from ensedu.uncertainty.intervals import interval, interval_score, quantile, smallest_set
from ensedu.uncertainty.martingale import ExchangeabilityTest
from ensedu.uncertainty.paired import MeanDifference, corrected_t, holm, paired
from ensedu.uncertainty.scores import (
    accuracy,
    auroc,
    average_nll,
    brier,
    categorical_nll,
    coverage,
    crps,
    gaussian_nll,
    mixture_cdf,
    mixture_nll,
    moment_matched_nll,
    rmse,
)

__all__ = [
    "AmbiguityParts",
    "ConformalIntervals",
    "ConformalSets",
    "CovarianceParts",
    "EntropyParts",
    "ExchangeabilityTest",
    "MeanDifference",
    "Reliability",
    "TemperatureScaling",
    "VarianceParts",
    "accuracy",
    "ambiguity",
    "auroc",
    "average_nll",
    "averaged",
    "brier",
    "categorical_nll",
    "chance_disagreement",
    "conformal_quantile",
    "corrected_t",
    "covariance_parts",
    "coverage",
    "crps",
    "disagreement",
    "ece",
    "entropy_parts",
    "error_correlation",
    "gaussian_heads",
    "gaussian_nll",
    "holm",
    "interval",
    "interval_score",
    "mixture",
    "mixture_cdf",
    "mixture_nll",
    "moment_matched_nll",
    "paired",
    "quantile",
    "reliability",
    "rmse",
    "smallest_set",
    "softmax",
    "variance_parts",
]
