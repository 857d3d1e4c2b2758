"""Forecasts of classes that claim to know more than they do."""

import numpy as np

from ensedu import uncertainty as un

B, k = 101, 5


def forecasts(seed=0, examples=B, classes=k, scale=2.0):
    """Logits that know something of the labels, but claim to know more, and the labels."""
    rng = np.random.default_rng(seed)
    logits = rng.standard_normal((examples, classes))
    labels = np.array([rng.choice(classes, p=p) for p in un.softmax(logits)])
    return scale * logits, labels
