"""Another member, the limit of wide layers, and break-even widths, against counts of many sizes."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensedu import counting
from ensedu.methods import METHODS, size_option


@pytest.mark.parametrize("method", METHODS)
@given(m=st.integers(1, 60), n=st.integers(1, 60), M=st.integers(1, 40))
def test_one_more_member(method, m, n, M):
    more = counting.one_more_member(m, n, method)
    one, two = (counting.layer(m, n, method, **size_option(method, size)) for size in (M, M + 1))
    assert one + more == two


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("relative_to", METHODS)
def test_asymptotic_ratio_is_the_limit(method, relative_to):
    limit = counting.asymptotic_ratio(method, 4, relative_to=relative_to)
    h = 10**9
    ratio = Fraction(
        *(
            counting.layer(h, h, name, **size_option(name, 4)).total
            for name in (method, relative_to)
        )
    )
    assert abs(ratio - limit) < Fraction(1, 10**7)


def test_asymptotic_ratios_known():
    ratios = {method: counting.asymptotic_ratio(method, 4) for method in METHODS}
    assert ratios == {
        "single": 1,
        "deep_ensemble": 4,
        "batch_ensemble": 1,
        "rank1": 1,
        "mean_field": 2,
        "mc_dropout": 1,
        "last_layer": 4,
    }


@pytest.mark.parametrize(
    ("sizes", "method", "ensemble_size", "width"),
    [
        ([None, None], "batch_ensemble", 4, 3),
        ([None, None], "rank1", 4, 6),
        ([1, None, None, 1], "batch_ensemble", 4, 5),
        ([1, None, None, 1], "rank1", 4, 10),
        ([1, None, 1], "batch_ensemble", 4, None),
        ([1, None, 1], "rank1", 4, None),
        ([None, None], "batch_ensemble", 1, None),
    ],
)
def test_break_even_known(sizes, method, ensemble_size, width):
    assert counting.break_even_width(sizes, method, ensemble_size) == width


@given(
    sizes=st.lists(st.none() | st.integers(1, 12), min_size=2, max_size=5).filter(
        lambda sizes: None in sizes
    ),
    method=st.sampled_from(["batch_ensemble", "rank1"]),
    ensemble_size=st.integers(1, 9),
)
def test_break_even_is_the_first_width_from_which_all_are_smaller(sizes, method, ensemble_size):
    width = counting.break_even_width(sizes, method, ensemble_size)

    def smaller(h):
        filled = [h if size is None else size for size in sizes]
        return (
            counting.mlp(filled, method, ensemble_size).total
            < counting.mlp(filled, "deep_ensemble", ensemble_size).total
        )

    if width is None:
        assert not any(smaller(h) for h in [10**6, 10**12])
    else:
        assert all(smaller(width + k) for k in [*range(12), 59, 10**6, 10**12])
        assert width == 1 or not smaller(width - 1)
