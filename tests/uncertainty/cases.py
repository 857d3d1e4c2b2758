"""Good arguments of each function of `ensedu.uncertainty`, and the numbers of what it returns."""

import numpy as np

from ensedu import uncertainty as un

M, B, k = 3, 7, 5


def probabilities(rng, members=M, examples=B, classes=k):
    """Probabilities of which many are 0, and some 1."""
    values = rng.dirichlet(np.full(classes, 0.3), (members, examples))
    values[values < 0.05] = 0
    return values / values.sum(axis=-1, keepdims=True)


def forecasts(seed, scale=2.0):
    """Logits that know something of the labels, but claim to know more, and the labels."""
    rng = np.random.default_rng(seed)
    logits = rng.standard_normal((101, k))
    labels = np.array([rng.choice(k, p=p) for p in un.softmax(logits)])
    return scale * logits, labels


def arguments(seed=0, M=M, B=B, k=k):
    """Return the arguments of each function by its name, fresh."""
    rng = np.random.default_rng(seed)
    mean, variance = rng.normal(0, 2, (M, B, k)), rng.lognormal(0, 1, (M, B, k))
    p, labels, y = probabilities(rng, M, B, k), rng.integers(0, k, B), rng.normal(0, 3, (B, k))
    gaussian, average = (mean, variance, y), (p.mean(0), labels)
    return {
        "gaussian_heads": (rng.normal(0, 5, (M, B, 2 * k)),),
        "softmax": (mean,),
        "mixture": (mean, variance),
        "averaged": (p,),
        "variance_parts": (mean, variance),
        "entropy_parts": (p,),
        "covariance_parts": (p,),
        "ambiguity": (mean, y),
        "gaussian_nll": gaussian,
        "categorical_nll": (p, labels),
        "average_nll": (variance[..., 0],),
        "mixture_nll": (variance[..., 0],),
        "moment_matched_nll": gaussian,
        "brier": average,
        "crps": gaussian,
        "mixture_cdf": gaussian,
        "coverage": gaussian,
        "rmse": (mean[0], y),
        "accuracy": average,
        "reliability": average,
        "ece": average,
        "quantile": (mean, variance, 0.3),
        "interval": (mean, variance),
        "smallest_set": average[:1],
        "interval_score": (-variance[0], variance[0], y),
        "conformal_quantile": (mean[0, :, 0], 0.5),
        "disagreement": (p,),
        "chance_disagreement": (p, labels),
        "error_correlation": (mean, y),
        "auroc": (mean[0, :, 0].round(), mean[1, 0].round()),
        "paired": (mean[0],),
        "corrected_t": (mean[0],),
        "holm": (p[0, :, 0],),
    }


KEYWORDS = {"corrected_t": {"train": 90, "test": 10}}


def call(name, given):
    """Return what a function makes of its arguments."""
    return getattr(un, name)(*given, **KEYWORDS.get(name, {}))


def numbers(result):
    """Return the arrays of a result in turn."""
    if isinstance(result, tuple):
        return list(result)
    if hasattr(result, "__dataclass_fields__"):
        return [getattr(result, name) for name in result.__dataclass_fields__]
    return [result]
