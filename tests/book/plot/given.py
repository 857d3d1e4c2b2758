"""What figure functions are given: small, unlike in each size, and not to be written to."""

import numpy as np

from workshop import plot
from workshop.plot import Belief

X = np.linspace(-2.0, 3.0, 11)


def array(*shape, unit=1.0):
    """Normal numbers that nobody may change."""
    values = unit * np.random.default_rng(shape).normal(size=shape)
    values.flags.writeable = False
    return values


def curves(x=(1, 2), totals=None, ylim=(1, 9), **options):
    words = {"xlabel": "x", "ylabel": "y"}
    totals = {"single": [3, 4]} if totals is None else totals
    return plot.growth_curves(x, totals, ylim=ylim, **words | options)


def distribution(S=2, m=3, n=5, unit=1.0, **options):
    mean, draws = array(m, n, unit=unit), array(S, m, n, unit=unit)
    given = {"mean": mean, "std": 0.75 * np.abs(mean), "draws": draws, "method": "rank1"}
    return plot.distribution(**given | {"value_range": 2 * unit, "std_range": 3 * unit} | options)


def pooled(interval=(0.3, 0.6, 0.9), sources=(0.1, 1.1), word="worse by little", method=None):
    return plot.PooledEffect(interval, sources, word, method)


def forest(rows=None, **options):
    given = {"xlabel": "x", "xlim": (-2.2, 2.5)} | options
    return plot.forest({"a": pooled()} if rows is None else rows, **given)


def functions(beliefs, x=X, **options):
    return plot.functions(x, beliefs, **{"ylim": (-4, 9)} | options)


def belief(method, members=None):
    return Belief(method, X, np.full(11, 0.25), members)
