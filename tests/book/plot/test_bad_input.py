"""Bad input of figure functions: (call, error, words that its message must hold)."""

import numpy as np
import pytest

from ensedu.counting import Count
from ensedu.methods import METHODS
from tests.book.plot.given import (
    X,
    curves,
    density,
    distribution,
    forest,
    functions,
    inside,
    matrices,
    modulation,
    parts,
    pooled,
)  # fmt: skip
from tests.errors import check_error
from workshop import plot
from workshop.plot import Belief

pytestmark = pytest.mark.bad_input

FORMULA = r"$\frac$"  # that lacks its arguments
NLL = {"NLL": {"rank1": (0.01, 0.02, 0.05)}}


def ones(*shape):
    return np.ones(shape)


def changed(method, name, value):
    arrays = parts(5, 3, 7)
    arrays[method][name] = value
    return inside(arrays)


BARS, PANELS = plot.parameter_bars, plot.panels
CASES = [
    (lambda: BARS({}), ValueError, ("counts", "at least one")),
    (lambda: BARS({"a": Count(10**400)}), ValueError, ("counts['a']", "1e+100")),
    (lambda: BARS({"a": Count()}), ValueError, ("counts['a']", "above 0", "multiples")),
    (lambda: curves(x=[2, 1]), ValueError, ("x", "increase", "[2, 1]")),
    (lambda: curves(x=[0, 2], log_x=True), ValueError, ("x", "above 0", "log_x", "got 0")),
    (lambda: curves(totals={"single": [1, 2, 3]}), ValueError, ("totals['single']", "(3,)")),
    (lambda: curves(totals={"single": [1, 1e308]}), ValueError, ("totals['single'][1]", "1e+308")),
    (lambda: curves(totals={"a": [0, 1]}, log=True), ValueError, ("totals", "above 0")),
    (lambda: curves(totals={"a": [0, 1]}, relative_to="a"), ValueError, ("totals['a']",)),
    (lambda: curves(relative_to="rank1"), ValueError, ("relative_to", "'rank1'", "'single'")),
    (lambda: curves(xlabel=FORMULA), ValueError, ("xlabel", "formula", "frac")),
    (lambda: curves(ylim=(3.5, 9)), ValueError, ("ylim", "all from 3 to 4", "3.5 to 9")),
    (lambda: curves(ylim=(0, 9), log=True), ValueError, ("ylim", "above 0", "logarithmic")),
    (lambda: curves(colors={"b": "rank1"}), ValueError, ("colors", "totals", "'b'")),
    (lambda: density(draws=ones(1001)), ValueError, ("draws has S = 1001", "1,000")),
    (lambda: distribution(S=7), ValueError, ("draws has S = 7", "up to 6")),
    (lambda: distribution(m=17), ValueError, ("mean has m = 17", "up to 16")),
    (lambda: distribution(method="single"), ValueError, ("method", "'single'", "'rank1'")),
    (lambda: plot.effects(NLL, resolved={"c": []}), ValueError, ("resolved: a title", "'c'")),
    (lambda: plot.effects(NLL, resolved={"NLL": "rank1"}), TypeError, ("collection of names",)),
    (lambda: plot.effects(NLL, resolved={"NLL": ["c"]}), ValueError, ("resolved['NLL']", "'c'")),
    (lambda: pooled(sources=[]), ValueError, ("sources", "at least one", "(0,)")),
    (lambda: forest({"a": (1, 2, 3)}), TypeError, ("effects['a']", "PooledEffect")),
    (lambda: forest(words="better"), TypeError, ("words", "list or tuple", "'better'")),
    (lambda: forest(xlim=(-0.25, 3)), ValueError, ("xlim", "-0.25 to 0.6", "-0.25 to 3")),
    (lambda: Belief("rank1"), ValueError, ("mean", "(N,)", "members", "None")),
    (lambda: Belief("rank1", X, X[1:]), ValueError, ("std", "(10,)", "(11,)")),
    (lambda: Belief("rank1", None, X, X[None]), ValueError, ("std", "None without a mean")),
    (lambda: Belief("rank1", X, members=X), ValueError, ("members", "(11,)", "(M, 11)")),
    (lambda: functions(beliefs={"one": X}), TypeError, ("beliefs['one']", "Belief")),
    (lambda: functions(x=X[1:]), ValueError, ("beliefs['a'].mean", "(11,)", "(10,)")),
    (
        lambda: functions({"a": Belief("rank1", members=X[None])}, X[1:]), ValueError,
        ("beliefs['a'].members", "(1, 11)", "(M, 10)"),
    ),
    (lambda: functions(x=X[::-1]), ValueError, ("x must be two numbers or more that increase",)),
    (lambda: functions(truth=X[1:]), ValueError, ("truth", "(10,)", "(11,)")),
    (lambda: functions(data=(X, X[1:])), ValueError, ("data[1]", "(10,)", "(11,)")),
    (
        lambda: functions(beliefs=dict.fromkeys("ab", Belief("rank1", X)), together=True),
        ValueError, ("together must be False", "two of one method", "True for 2 of 1"),
    ),
    (
        lambda: functions(beliefs={m: Belief(m, X) for m in [*METHODS][:5]}, together=True),
        ValueError, ("together must be False for more than 4 beliefs",),
    ),
    (lambda: functions(named={"mean": (4, 0)}), ValueError, ("named['mean']", "-2 to 3", "(4, 0)")),
    (lambda: plot.inside({"swag": {}}, {}), ValueError, ("parts", "'swag'", "'rank1'")),
    (lambda: inside(mc_dropout=Count(1)), ValueError, ("counts", "'mc_dropout'")),
    (lambda: changed("single", "r", ones(3)), ValueError, ("parts['single']", "'r'")),
    (lambda: changed("rank1", "s_mean", ones(5, 3)), ValueError, ("s_mean", "(5, 7)")),
    (lambda: changed("rank1", "s_std", -ones(5, 7)), ValueError, ("s_std", ">= 0", "-1")),
    (lambda: inside(parts(5, 9, 7)), ValueError, ("m = 9", "up to 8")),
    (lambda: matrices(17, 2, 3), ValueError, ("weights", "17", "1 to 16")),
    (lambda: matrices(titles=["a"]), ValueError, ("titles", "2", "1")),
    (lambda: matrices(places=1), ValueError, ("places", "1", "2 to 16")),
    (lambda: modulation(M=5), ValueError, ("r has M = 5", "up to 4")),
    (lambda: modulation(m=9), ValueError, ("weight has m = 9", "up to 8")),
    (lambda: plot.network([2] * 12), ValueError, ("sizes", "2 to 11", "12")),
    (lambda: plot.network([2, 7], widest=5), ValueError, ("widest", "at least 7", "got 5")),
    (lambda: PANELS(101, height=1), ValueError, ("count", "up to 100, got 101")),
    (lambda: PANELS(9, height=1, columns=9), ValueError, ("columns", "0.4 inches", "got 9")),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(CASES)))
def test_bad_input(case):
    check_error(*CASES[case])
