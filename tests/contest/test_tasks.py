"""What contestants are compared on: four parts of each split's rows, and what is made of them."""

from dataclasses import replace

import numpy as np
import pandas
from hypothesis import given
from hypothesis import strategies as st

from ensedu.contest import tasks
from ensedu.contest.tasks import NOISE, SHARES, SPLITS, Task, rows_of_split, split_of

WITH_TEST = {**SHARES, "test": 1 / SPLITS}


def numbers_task(N=83, groups=None, **other):
    """A task of a table with numbers, words and gaps."""
    rng = np.random.default_rng(0)
    x = pandas.DataFrame(
        {"a": rng.normal(3.0, 7.0, N), "b": rng.integers(11, size=N), "c": rng.normal(size=N),
         "wood": rng.choice(["oak", "ash", "fir"], N), "row": np.arange(float(N))}
    )  # fmt: skip
    x.loc[rng.permutation(N)[: N // 7], "c"] = np.nan
    return Task(name="t", label="T", x=x, y=rng.normal(5.0, 2.0, (N, 1)), groups=groups, **other)


def images_task(**other):
    rng = np.random.default_rng(1)
    y = rng.permutation(np.arange(53) % 3)
    x = rng.random((53, 1, 5, 2))
    return Task(name="t", label="T", x=x, y=y, hidden="lenet", **other)


def pieces(N, number, seed):
    """N rows in `number` groups of sizes at random."""
    rng = np.random.default_rng(seed)
    return rng.permutation(np.concatenate([np.arange(number), rng.integers(number, size=N)]))[:N]


@given(st.integers(101, 307), st.integers(0, 10**6), st.booleans())
def test_parts_are_disjoint_and_all_rows_and_no_group_is_in_two(N, seed, grouped):
    groups = pieces(N, N // 3, seed) if grouped else None
    task = numbers_task(N, groups)
    tests = []
    for split in range(SPLITS):
        parts = rows_of_split(task, split)
        assert list(parts) == ["fit", "select", "calibrate", "test"]
        np.testing.assert_array_equal(np.sort(np.concatenate([*parts.values()])), np.arange(N))
        tests.append(parts["test"])
        if groups is not None:
            own = [set(groups[rows]) for rows in parts.values()]
            assert sum(map(len, own)) == len(set(groups))
    np.testing.assert_array_equal(np.sort(np.concatenate(tests)), np.arange(N))


@given(st.integers(11, 3001), st.integers(0, SPLITS - 1))
def test_parts_have_their_shares_to_a_row(N, split):
    for name, rows in rows_of_split(numbers_task(N), split).items():
        # Half a row at either end, for the first cut and for the second.
        assert abs(len(rows) - WITH_TEST[name] * N) <= (1.0 if name == "test" else 2.0), name


def test_large_groups_are_cut_where_their_middle_lies():
    """By their first row, the earlier parts had half a group too many each."""
    rng = np.random.default_rng(0)
    sizes = np.array([
        [len(part) for part in tasks.cut(np.repeat(np.arange(23), 7), np.ones(5) / 5, rng)]
        for _ in range(200)
    ])  # fmt: skip
    np.testing.assert_array_equal(sizes.sum(axis=1), 161)
    assert set(np.unique(sizes)) <= {28, 35}
    np.testing.assert_array_equal(sizes, sizes[:, ::-1])


def test_splits_are_the_same_at_each_call_and_differ_from_each_other():
    task = numbers_task()
    parts = [rows_of_split(task, split) for split in range(SPLITS)]
    for name in parts[0]:
        np.testing.assert_array_equal(parts[2][name], rows_of_split(task, 2)[name])
        assert len({rows[name].tobytes() for rows in parts}) == SPLITS
    one, other = split_of(task, 3), split_of(task, 3)
    for a, b in ((one.ood, other.ood), (one.shifted["noise"], other.shifted["noise"])):
        np.testing.assert_array_equal(a, b)


def test_the_rows_to_fit_on_alone_standardize():
    """Whatever other rows hold changes neither these nor what an input or a target is worth."""
    task = numbers_task()
    rows = rows_of_split(task, 1)
    own = split_of(task, 1)
    known = task.x.iloc[rows["fit"]]
    np.testing.assert_allclose(
        own.fit[0][:, 0], (known["a"] - known["a"].mean()) / known["a"].std(ddof=0)
    )
    np.testing.assert_allclose(own.fit[1].mean(), 0, atol=1e-12)
    np.testing.assert_allclose(own.fit[1].std(), 1)
    for name in ("select", "calibrate", "test"):
        x, y = getattr(own, name)
        np.testing.assert_allclose(y * own.unit + own.center, task.y[rows[name]])
        np.testing.assert_allclose(
            x[:, 0] * known["a"].std(ddof=0) + known["a"].mean(), task.x["a"].iloc[rows[name]]
        )

    others = np.setdiff1d(np.arange(len(task.y)), rows["fit"])
    x, y = task.x.copy(), task.y.copy()
    x.loc[others, ["a", "c"]] = 1e6
    x.loc[others, "wood"] = "elm"
    y[others] = -1e6
    changed = split_of(replace(task, x=x, y=y), 1)
    for a, b in zip(own.fit, changed.fit, strict=True):
        np.testing.assert_array_equal(a, b)
    assert (changed.center, changed.unit) == (own.center, own.unit)


def test_shuffled_columns_keep_each_columns_values():
    task = numbers_task()
    own, rows = split_of(task, 4), rows_of_split(task, 4)["test"]
    np.testing.assert_array_equal(np.sort(own.ood, axis=0), np.sort(own.test[0], axis=0))
    order = own.ood[:, 3].argsort(), own.test[0][:, 3].argsort()  # of the column "row"
    assert (own.ood[order[0], 0] != own.test[0][order[1], 0]).mean() > 0.5
    mixed = tasks.shuffled_columns(task.x.iloc[rows], np.random.default_rng(0))
    assert (mixed.dtypes == task.x.dtypes).all() and [*mixed] == [*task.x]
    words = task.x.astype({"b": "category"}).iloc[rows]
    assert tasks.shuffled_columns(words, np.random.default_rng(0))["b"].dtype == words["b"].dtype


def test_images_come_as_they_are_and_labels_too():
    task = images_task(shifts={"half": lambda x, rng: x / 2}, ood=np.ones((7, 1, 5, 2)))
    own, rows = split_of(task, 2), rows_of_split(task, 2)
    for name in rows:
        x, y = getattr(own, name)
        np.testing.assert_array_equal(x, task.x[rows[name]])
        np.testing.assert_array_equal(y, task.y[rows[name]])
    np.testing.assert_array_equal(own.shifted["half"], own.test[0] / 2)
    np.testing.assert_array_equal(own.ood, 1)
    assert (own.center, own.unit, task.num_classes) == (0, 1, 3)
    assert task.is_convolutional and not task.is_table
    task = numbers_task(source="s")
    assert (task.num_classes, task.source) == (0, "s")
    assert task.is_table and not task.is_convolutional
    assert replace(task, y=task.y[:, 0]).num_classes == 0 and numbers_task().source == "t"
    own = split_of(images_task(), 0)  # whose pixels change places between images
    assert own.ood.shape == own.test[0].shape
    np.testing.assert_array_equal(np.sort(own.ood, axis=0), np.sort(own.test[0], axis=0))
    assert not (own.ood == own.test[0]).all(axis=(1, 2, 3)).any()


def test_noise_has_its_standard_deviation_in_units_of_the_rows_to_fit_on():
    own = split_of(numbers_task(2003), 0)
    added = own.shifted["noise"] - own.test[0]
    np.testing.assert_allclose(added.std(axis=0), NOISE, rtol=0.15)
    np.testing.assert_allclose(added.mean(axis=0), 0, atol=0.06)
