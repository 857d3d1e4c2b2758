"""Inputs of a network from numbers and names with gaps."""

import numpy as np
import pandas
import pytest

from ensedu.data import clean, encoder

FRAME = pandas.DataFrame(
    {"wood": ["oak", None, "ash", "oak", "fir"], "age": [3.0, 1.0, None, 8.0, 5.0],
     "same": [7.0] * 5, "kind": ["a", "b", "a", "b", "b"]}
)  # fmt: skip


def test_it_is_pandas_by_hand():
    found = encoder(FRAME).fit(FRAME)
    age = FRAME["age"].fillna(4.0)  # the median of 1, 3, 5, 8
    words = pandas.get_dummies(FRAME[["wood", "kind"]].fillna({"wood": "oak"}), dtype=float)
    expected = np.column_stack([(age - age.mean()) / age.std(ddof=0), np.zeros(5), words])
    np.testing.assert_allclose(found.transform(FRAME), expected, rtol=1e-14, atol=1e-15)
    assert [*found.get_feature_names_out()] == ["age", "same", *words]


def test_new_rows_change_nothing_of_it():
    frame = clean(FRAME)
    found = encoder(frame).fit(frame)
    new = clean(pandas.DataFrame({n: [None] for n in FRAME}), like=frame)
    row = found.transform(new)
    np.testing.assert_array_equal(row, found.transform(new))
    assert row[0, :2] == pytest.approx([found.transform(frame)[2, 0], 0])
    assert [*row[0, 2:]] == [0, 0, 1, 0, 1]  # oak, b


def test_a_word_that_was_not_there_is_an_error_or_zeros():
    new = FRAME.assign(wood="elm").iloc[:1]
    with pytest.raises(ValueError, match=r"unknown categories .*'elm'"):
        encoder(FRAME).fit(FRAME).transform(new)
    zeros = encoder(FRAME, unknown="ignore").fit(FRAME).transform(new)
    assert [*zeros[0, 2:]] == [0, 0, 0, 1, 0]


def test_of_more_than_fifty_words_the_rare_ones_are_one():
    """Of 60 words 47 have five rows or more; the others, and new words, are one column."""
    words = np.repeat([f"w{i}" for i in range(60)], [*range(5, 52), *[4] * 13])
    frame = pandas.DataFrame({"word": words})
    found = encoder(frame, unknown="ignore").fit(frame)
    assert found.transform(frame).shape == (len(words), 48)
    rows = found.transform(pandas.DataFrame({"word": ["w59", "new", "w46"]}))
    assert rows[:, -1].tolist() == [1, 1, 0] and rows.sum(axis=1).tolist() == [1, 1, 1]
    twice = pandas.concat([frame, frame])  # now all have, and 49 are kept
    assert encoder(twice).fit_transform(twice).shape == (2 * len(words), 50)
    few = pandas.DataFrame({"word": [f"w{i}" for i in range(50)]})
    assert encoder(few).fit_transform(few).shape == (50, 50)


def test_a_column_that_is_empty_where_it_is_fitted_tells_nothing():
    frame = pandas.DataFrame({"age": [np.nan] * 3, "word": [np.nan] * 3}).astype({"word": object})
    found = encoder(frame, unknown="ignore").fit(frame)
    row = found.transform(pandas.DataFrame({"age": [7.0], "word": ["oak"]}))
    assert row.tolist() == [[7.0, 0.0]]
