"""Rows: which belong together, which column says so, and tables as people keep them."""

import io

import joblib
import numpy as np
import pandas
import pytest
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.model_selection import GridSearchCV

from ensedu.sklearn import EnsembleClassifier, EnsembleRegressor
from ensedu.sklearn import estimator as module
from ensedu.sklearn.rows import groups_of_rows, looks_grouped

n = 67
FAST = {"method": "single", "hidden": (5,), "epochs": 2, "lr": 0.01, "random_state": 0}
BOTH = pytest.mark.parametrize("kind", [EnsembleRegressor, EnsembleClassifier])


def words(folder=None):
    """A table as `pandas.read_csv` returns it."""
    rng = np.random.default_rng(0)
    size, day = rng.uniform(50, 200, n), rng.integers(1, 29, n)
    text = "\n".join(
        f'{s:.0f} m²,{d}/3/2024,{w},{"" if i % 7 else "?"},"${1000 * s:,.0f}"'
        for i, (s, d, w) in enumerate(zip(size, day, rng.choice(["oak", "ash"], n), strict=True))
    )
    return pandas.read_csv(io.StringIO(f"size,sold,wood,gap,price\n{text}\n"))


def test_a_group_is_numbered_as_it_comes_first():
    assert groups_of_rows(np.zeros((5, 1)), ["b", "a", "b", 7, "a"]).tolist() == [0, 1, 0, 2, 1]
    assert groups_of_rows(np.zeros((3, 1)), pandas.Series([5, 3, 1])).tolist() == [0, 1, 2]


@pytest.mark.parametrize("frame", [False, True])
def test_equal_rows_are_one_group_unless_most_are_equal(frame):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 10**6, (n, 3)).astype(float)
    X[3], X[4, 0], X[5, 0] = np.r_[X[1, :2], X[1, 2]], 0.0, -0.0
    X[5, 1:] = X[4, 1:]
    if frame:
        X = pandas.DataFrame(X, columns=["a", "b", "c"]).assign(d=np.nan, e="oak")
    found = groups_of_rows(X, None)
    assert found[3] == found[1] and found[5] == found[4] and len({*found}) == n - 2
    assert groups_of_rows(X, range(n)).tolist() == [*range(n)]
    few = np.repeat([[0.0], [1.0]], 40, axis=0)  # two values in a column are no copies
    assert groups_of_rows(few, None).tolist() == [*range(80)]
    once = np.r_[np.zeros((7, 1)), np.arange(93.0)[:, None] + 1]  # seven of a hundred are not, too
    assert groups_of_rows(once, None).tolist() == [*range(100)]


@BOTH
@pytest.mark.parametrize("calibration", [0.3, 3, None])
def test_groups_are_whole_where_rows_calibrate_stop_and_train(kind, calibration, monkeypatch):
    rng, seen, plain = np.random.default_rng(0), [], module.train_scaled
    groups = rng.permutation(n) % 17
    X, y = np.c_[np.arange(n), rng.random(n)], rng.integers(0, 2, n)

    def spied(x, y, heads, nll, seed, stop, **settings):
        seen.append((x[:stop, 0].astype(int), x[stop:, 0].astype(int)))
        return plain(x, y, heads, nll, seed, stop, **settings)

    monkeypatch.setattr(module, "train_scaled", spied)
    net = kind(**FAST, calibration=calibration).fit(X, y, groups)
    for (stop, train), unseen in zip(seen, net.unseen_, strict=True):
        parts = [{*groups[rows]} for rows in (stop, train, unseen)]
        assert sum(map(len, parts)) == 17 == len(set.union(*parts))
        assert len(unseen) == len(parts[2])  # one row of each group calibrates
        out = sum(np.isin(groups, groups[unseen]))
        assert len({*stop} | {*train}) == len(stop) + len(train) == n - out
        assert len(parts[0]) == max(1, round(0.1 * (17 - len(parts[2]))))
    if calibration == 3:
        assert {*groups[np.concatenate(net.unseen_)]} == {*groups}
        assert len(net.conformal_.scores) == 17


def test_which_row_of_a_group_calibrates_is_left_to_chance():
    groups, X = np.repeat(np.arange(20), 50), np.random.default_rng(0).random((1000, 2))
    net = EnsembleRegressor(**FAST | {"epochs": 1}, calibration=0.9).fit(X, X[:, 0], groups)
    places = net.unseen_[0] % 50
    assert len({*places}) > 10


def visits(seed, effect):
    """Visits, by an age, a patient and a day, which moves targets smoothly, and targets."""
    rng, number = np.random.default_rng(seed), 200
    patient = np.repeat(rng.permutation(40), 5)
    age = np.round(rng.normal(50, 10, number))
    day = rng.permutation(number) % 20
    y = (
        0.1 * age
        + 0.3 * day
        + 2 * effect * rng.standard_normal(40)[patient]
        + rng.standard_normal(number)
    )
    return np.c_[rng.random(number), age, patient, day], y


def test_a_column_that_groups_rows_is_named_and_others_are_not():
    found = [looks_grouped(*visits(seed, 2.0)) for seed in range(50)]
    assert found == ["2"] * 50
    assert sum(looks_grouped(*visits(seed, 0.0)) != "" for seed in range(50)) == 0
    X, y = visits(0, 2.0)
    frame = pandas.DataFrame(X, columns=["a", "age", "patient", "day"])
    frame["patient"] = [f"p{i:.0f}" for i in frame["patient"]]
    assert looks_grouped(frame, y) == looks_grouped(frame, (y > 5).astype(int)) == "patient"


@pytest.mark.bad_input
def test_a_warning_points_to_the_call_of_fit():
    X, y = visits(0, 2.0)
    with pytest.warns(UserWarning, match="rows look grouped: .* column '2'") as caught:
        EnsembleRegressor(**FAST).fit(X, y)
    assert caught[0].filename == __file__
    EnsembleRegressor(**FAST).fit(X, y, groups=X[:, 2])


@pytest.mark.parametrize("load", ["diabetes", "iris", "wine", "breast_cancer"])
def test_ordinary_sets_do_not_look_grouped(load):
    datasets = pytest.importorskip("sklearn.datasets")
    X, y = getattr(datasets, f"load_{load}")(return_X_y=True)
    assert looks_grouped(X, y) == ""


@BOTH
def test_a_table_goes_in_whole_and_is_read_the_same_again(kind, tmp_path):
    table = words().drop(columns="gap")
    X, y = table.drop(columns="price"), table["price"]
    y = y if kind is EnsembleRegressor else y > "$2"
    net = kind(**FAST, dayfirst=True).fit(X, y)
    days = 19783 + X["sold"].str.split("/").str[0].astype(int) - 1
    by_hand = pandas.DataFrame(
        {"size": X["size"].str.split().str[0].astype(float), "sold": days, "wood": X["wood"]}
    )
    target = y.str.strip("$").str.replace(",", "").astype(float) if y.dtype != bool else y
    expected = kind(**FAST).fit(by_hand, target).predict(by_hand)
    np.testing.assert_array_equal(net.predict(X), expected)
    assert net.score(X, y) == kind(**FAST).fit(by_hand, target).score(by_hand, target)
    joblib.dump(net, tmp_path / "net.joblib")
    again = joblib.load(tmp_path / "net.joblib")
    new = X.iloc[:3].assign(wood=["elm", "?", "oak"], sold=[None, "1/3/2024", "2024-03-02"])
    assert len(again.predict(new)) == 3 and again.table_.empty
    assert again.predict(X.iloc[[1]]) == expected[1]


def test_what_is_fitted_of_a_table_is_fitted_on_rows_to_train_on():
    X = words().drop(columns=["gap", "price"])
    X["size"] = X["size"].str.split().str[0].astype(float)
    net = EnsembleRegressor(**FAST, dayfirst=True).fit(X, np.arange(float(n)), range(n))
    others = X.copy()
    others.loc[net.unseen_[0], "size"] *= 1000
    others.loc[net.unseen_[0], "wood"] = "elm"
    again = clone(net).fit(others, np.arange(float(n)), range(n))
    np.testing.assert_array_equal(again.predict(X), net.predict(X))


def test_searches_and_transformed_targets_take_tables():
    table = words().drop(columns="gap")
    X, y = table.drop(columns="price"), np.arange(1.0, n + 1)
    net = EnsembleRegressor(**FAST, dayfirst=True)
    grid = {"target": ["any", "positive"]}
    assert GridSearchCV(net, grid, cv=2, error_score="raise").fit(X, y).predict(X).shape == (n,)
    logs = TransformedTargetRegressor(net, func=np.log, inverse_func=np.exp).fit(X, y)
    positive = clone(net).set_params(target="positive").fit(X, y)
    np.testing.assert_allclose(positive.predict(X), logs.predict(X), rtol=1e-9)


@pytest.mark.parametrize("calibration", [0.3, 3, None])
def test_positive_targets_are_logarithms_inside(calibration):
    X = np.random.default_rng(0).standard_normal((n, 2))
    y = np.exp(9 + 2 * X[:, 0])
    positive = EnsembleRegressor(**FAST, calibration=calibration, target="positive").fit(X, y)
    logs = EnsembleRegressor(**FAST, calibration=calibration).fit(X, np.log(y))
    found, expected = positive.predict_interval(X, 0.8), logs.predict_interval(X, 0.8)
    np.testing.assert_allclose(found, np.exp(expected), rtol=1e-12)
    mean, std = logs.predict(X), logs.predict_std(X)
    np.testing.assert_allclose(positive.predict(X), np.exp(mean), rtol=1e-12)
    second = np.exp(2 * mean + 2 * std**2)  # the moments of a log-normal distribution
    variance = second - np.exp(mean + std**2 / 2) ** 2
    np.testing.assert_allclose(positive.predict_std(X), np.sqrt(variance), rtol=1e-9)
