"""Formula = NumPy arrays = Torch parameters = published and hand-made tables."""

from fractions import Fraction

import numpy as np
import pytest
import torch
from bs4 import BeautifulSoup
from hypothesis import given
from hypothesis import strategies as st

import ensedu.numpy as en
import ensedu.torch as et
from ensedu import counting
from ensedu.counting import Count
from ensedu.methods import (
    METHODS,
    ROLE_LABELS,
    ROLES,
    checked_sizes,
    functions_by_method,
    role_sums,
    size_option,
)

# Layer by layer: 1→50, 50→50, 50→1, and the whole network, four members.
FACTS = {
    "single": (100, 2550, 51, 2701),
    "deep_ensemble": (400, 10200, 204, 10804),
    "batch_ensemble": (454, 3100, 258, 3812),
    "rank1": (658, 3500, 462, 4620),
    "mean_field": (200, 5100, 102, 5402),
    "mc_dropout": (100, 2550, 51, 2701),
    "last_layer": (100, 2550, 204, 2854),
}
# One to nine hidden layers of 50 units, scalar input and output, four members.
BY_DEPTH = {
    "single": [151, 2701, 5251, 7801, 10351, 12901, 15451, 18001, 20551],
    "deep_ensemble": [604, 10804, 21004, 31204, 41404, 51604, 61804, 72004, 82204],
    "batch_ensemble": [712, 3812, 6912, 10012, 13112, 16212, 19312, 22412, 25512],
    "rank1": [1120, 4620, 8120, 11620, 15120, 18620, 22120, 25620, 29120],
}


@pytest.mark.parametrize("method", METHODS)
def test_table_of_layers(method):
    *layers, total = FACTS[method]
    count = counting.mlp([1, 50, 50, 1], method, **size_option(method, 4))
    assert [layer.total for layer in count.layers] == layers
    assert count.total == total


@pytest.mark.parametrize("method", BY_DEPTH)
def test_table_of_depths(method):
    totals = [
        counting.mlp([1, *[50] * depth, 1], method, **size_option(method, 4)).total
        for depth in range(1, 10)
    ]
    assert totals == BY_DEPTH[method]


def test_roles():
    assert counting.linear(50, 50) == Count(shared=2500, biases=50)
    assert counting.deep_ensemble(50, 50, ensemble_size=4) == Count(per_member=10000, biases=200)
    assert counting.batch_ensemble(50, 50, ensemble_size=4) == Count(2500, 400, 0, 200)
    assert counting.rank1(50, 50, ensemble_size=4) == Count(2500, 400, 400, 200)
    assert counting.mean_field(50, 50) == Count(2500, 0, 2500, 100)
    assert counting.mc_dropout(50, 50) == counting.linear(50, 50)
    assert counting.deep_ensemble(2, 3, ensemble_size=1) == Count(per_member=6, biases=3)


sizes = st.lists(st.integers(1, 23), min_size=2, max_size=4)


@pytest.mark.parametrize("method", METHODS)
@given(sizes=sizes, ensemble_size=st.integers(1, 7))
def test_formula_equals_arrays(method, sizes, ensemble_size):
    size = size_option(method, ensemble_size)
    formula = counting.mlp(sizes, method, **size)
    reference = en.mlp(sizes, method, **size, rng=np.random.default_rng(0))
    module = et.mlp(sizes, method, **size, device="meta")
    assert formula == counting.count(reference) == counting.count(module)
    assert formula.total == sum(array.size for array in reference.params.values())
    assert formula.total == sum(parameter.numel() for parameter in module.parameters())
    by_layer = [
        [layer for layer in c.layers or (c,)] for c in map(counting.count, (reference, module))
    ]
    assert list(formula.layers) == by_layer[0] == by_layer[1]


@given(
    m=st.integers(1, 40),
    n=st.integers(1, 40),
    kernel=st.tuples(st.integers(1, 7), st.integers(1, 7)),
    bias=st.booleans(),
    M=st.integers(1, 9),
)
def test_convolutions(m, n, kernel, bias, M):
    conv = torch.nn.Conv2d(m, n, kernel, bias=bias, device="meta")
    single = counting.linear(m, n, kernel_size=kernel, bias=bias)
    assert single == counting.count(conv)
    area = kernel[0] * kernel[1]
    options = {"kernel_size": kernel, "bias": bias}
    assert counting.deep_ensemble(m, n, ensemble_size=M, **options).total == M * single.total
    batch = counting.batch_ensemble(m, n, ensemble_size=M, **options)
    assert batch == Count(m * n * area, M * (m + n), 0, bias * M * n)
    rank1 = counting.rank1(m, n, ensemble_size=M, **options)
    assert rank1 == Count(m * n * area, M * (m + n), M * (m + n), bias * M * n)
    assert counting.mean_field(m, n, **options).total == 2 * single.total
    assert counting.linear(m, n, kernel_size=kernel[0]) == counting.linear(
        m, n, kernel_size=(kernel[0], kernel[0])
    )


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
        assert not any(smaller(h) for h in [150, 151, 163, 10**6, 10**12])
    else:
        assert all(smaller(width + k) for k in [*range(12), 59, 10**6, 10**12])
        assert width == 1 or not smaller(width - 1)


def test_exact_beyond_floats():
    count = counting.deep_ensemble(10**12 + 1, 10**12 + 3, ensemble_size=3)
    assert count.total == 3 * ((10**12 + 1) * (10**12 + 3) + 10**12 + 3)


def test_count_of_tied_frozen_and_buffers():
    first, second = torch.nn.Linear(5, 5), torch.nn.Linear(5, 5, bias=False)
    second.weight = first.weight
    norm = torch.nn.BatchNorm1d(5)
    net = torch.nn.Sequential(first, second, norm)
    assert counting.count(net) == Count(shared=25 + 5, biases=5 + 5)
    first.weight.requires_grad_(False)
    assert counting.count(net) == Count(shared=25 + 5, biases=5 + 5, frozen=25)
    assert "frozen" in str(counting.count(net))
    assert counting.count(torch.nn.Linear(5, 5)) != counting.count(first)


def test_tied_numpy_arrays_count_once():
    layer, other = (en.Linear(3, 3, rng=np.random.default_rng(0)) for _ in range(2))
    other.params = layer.params
    assert counting.count(en.Sequential(layer, en.ReLU(), other)) == counting.linear(3, 3)
    nested = en.Sequential(en.Sequential(layer), en.Linear(3, 2, rng=np.random.default_rng(0)))
    assert counting.count(nested) == counting.mlp([3, 3, 2])


def test_count_of_nothing():
    assert counting.count(torch.nn.ReLU()) == counting.count(en.ReLU()) == Count()


def test_prints_as_a_table():
    assert str(counting.mlp([1, 50, 50, 1], "rank1", 4)).splitlines() == [
        "            shared  own  standard deviations  biases  total",
        "1 → 50          50  204                  204     200    658",
        "50 → 50      2,500  400                  400     200  3,500",
        "50 → 1          50  204                  204       4    462",
        "-----------------------------------------------------------",
        "all layers   2,600  808                  808     404  4,620",
    ]
    assert str(counting.linear(2, 3)).splitlines() == [
        "shared  own  standard deviations  biases  total",
        "     6    0                    0       3      9",
    ]
    assert repr(counting.linear(2, 3)) == (
        "Count(shared=6, per_member=0, scales=0, biases=3, frozen=0)"
    )


def test_shows_as_html_while_the_book_is_built(monkeypatch):
    count = counting.mlp([1, 50, 50, 1], "rank1", 4)
    monkeypatch.delenv("ENSEDU_BOOK", raising=False)
    assert count._repr_mimebundle_() == {"text/plain": str(count)}
    monkeypatch.setenv("ENSEDU_BOOK", "frames")
    shown = count._repr_mimebundle_()
    assert shown["text/plain"] == str(count)
    page = BeautifulSoup(shown["text/html"], "html.parser")
    assert page.table["class"] == ["ensedu-table"]
    head = ["", *ROLE_LABELS.values(), "total"]
    assert [cell.get_text() for cell in page.thead.tr.children] == head
    rows = page.tbody.find_all("tr")
    assert [[cell.get_text() for cell in row.children] for row in rows] == [
        ["1 → 50", "50", "204", "204", "200", "658"],
        ["50 → 50", "2,500", "400", "400", "200", "3,500"],
        ["50 → 1", "50", "204", "204", "4", "462"],
        ["all layers", "2,600", "808", "808", "404", "4,620"],
    ]
    assert [row.get("class") for row in rows] == [None, None, None, ["ensedu-total"]]
    totals = page.tbody.find_all("td", class_="ensedu-total")
    assert [cell.get_text() for cell in totals] == ["658", "3,500", "462", "4,620"]


def test_a_frozen_count_and_a_name_on_a_page(monkeypatch):
    monkeypatch.setenv("ENSEDU_BOOK", "frames")
    count = Count(7, frozen=3, name="<a> & b")
    page = BeautifulSoup(count._repr_mimebundle_()["text/html"], "html.parser")
    assert page.thead.find_all("th")[-1].get_text() == "frozen"
    assert page.tbody.th.get_text() == "<a> & b"
    assert page.tbody.find_all("td")[-1].get_text() == "3"
    nameless = BeautifulSoup(Count(7)._repr_mimebundle_()["text/html"], "html.parser")
    assert nameless.tbody.th is None


@given(*[st.lists(st.integers(0, 99), min_size=5, max_size=5)] * 2)
def test_addition(a, b):
    both = Count(*a) + Count(*b)
    assert both == Count(*(x + y for x, y in zip(a, b, strict=True)))
    assert both.total == both.weights + both.biases == sum(a[:4]) + sum(b[:4])


def test_import_needs_only_the_standard_library():
    import subprocess
    import sys

    code = (
        "import sys; import ensedu, ensedu.counting, ensedu.costs, ensedu.priors;"
        "print([m for m in ('numpy', 'torch', 'jaxtyping', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_numpy_layers_do_not_import_torch():
    import subprocess
    import sys

    code = "import sys; import ensedu.numpy; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_every_method_has_a_function_of_its_own():
    for method in METHODS:
        name = "linear" if method == "single" else method
        function = getattr(counting, name)
        assert function.__name__ == name in counting.__all__
        assert METHODS[method].source in function.__doc__
        size = {
            key: value for key, value in size_option(method, 3).items() if key == "ensemble_size"
        }
        assert function(5, 7, **size) == counting.layer(5, 7, method, **size)
    assert functions_by_method(counting.layer).keys() == {"linear", *METHODS} - {"single"}


@given(m=st.integers(1, 40), n=st.integers(1, 40), M=st.integers(1, 9))
def test_terms_add_up_to_the_count(m, n, M):
    for method in METHODS:
        count = counting.layer(m, n, method, **size_option(method, M))
        words = role_sums(method)
        assert words.keys() == {a.role for a in METHODS[method].arrays} <= {*ROLES}
        for role in ROLES:
            term = words.get(role, "0").replace("·", "*")
            assert eval(term, {}, {"m": m, "n": n, "M": M}) == getattr(count, role)


def test_the_roles_of_the_table_are_those_of_the_layers():
    for method, row in METHODS.items():
        if row.body or row.drops_units:
            continue
        size = [value for key, value in size_option(method, 3).items() if key == "ensemble_size"]
        layer = getattr(en, f"{row.layer}Linear")(5, 7, *size, rng=np.random.default_rng(0))
        sizes = {"M": 3, "m": 5, "n": 7}
        assert {k: v.shape for k, v in layer.params.items()} == {
            a.name: tuple(sizes[letter] for letter in a.shape.split()) for a in row.arrays
        }
        assert layer.method == (method if row.layer else "")
        assert row.stochastic == hasattr(layer, "noise")


def test_sizes_of_passes():
    assert checked_sizes("rank1", 4, None) == (4, None)
    assert checked_sizes("rank1", 4, 3) == (4, 3)
    assert checked_sizes("mean_field", None, 3) == (1, 3)
    assert checked_sizes("single", None, None) == (1, None)


def test_a_method_is_named_in_few_files():
    """Of all files of the package, `__init__` aside, at most five name a method or its layer.

    Its row, a file for each backend, the layers that extend it, and a script.
    An experiment names those that it compares, on a page too, and a relative what it is made of.
    """
    import re
    from importlib.resources import files
    from pathlib import Path

    package = Path(str(files("ensedu")))
    sources = {
        path: path.read_text(encoding="utf-8")
        for path in [*package.rglob("*.py"), *package.rglob("*.js")]
        if path.name not in ("__init__.py", "guides.js", "relatives.py")
        and "experiments" not in path.parts
    }
    # Examples in docstrings are no code.
    code = {path: re.sub(r'""".*?"""', "", text, flags=re.S) for path, text in sources.items()}
    for method, row in METHODS.items():
        if method == "single":  # the default of every call
            continue
        kind = rf"|\b{row.layer}(Linear|Conv2d)\b" if row.layer and not row.body else ""
        pattern = re.compile(rf"""["']{method}["']{kind}""")
        found = [path.relative_to(package) for path, text in code.items() if pattern.search(text)]
        assert len(found) <= 5, (method, found)


@pytest.mark.bad_input
def test_fields_are_plain_integers():
    count = Count(np.int8(100), biases=np.int8(100))
    assert count.total == 200
    assert type(count.shared) is int
