"""Whether a score tells inputs of another kind from those that a network was trained for."""

from typing import Any

import numpy as np
from jaxtyping import Float

from ensedu.common.checks import optional
from ensedu.uncertainty import score_checks

__all__ = ["auroc"]


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
