"""The table of methods against the layers and the counts that follow from it."""

import re
from importlib.resources import files
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import ensedu.numpy as en
from ensedu import counting
from ensedu.methods import METHODS, ROLES, checked_sizes, role_sums, size_option


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


# What has a line for each method.
TABLES = {
    "__init__.py", "methods.py", "colors.py", "counting/formulas.py",
    "contest/contestants.py", "contest/trainers/networks.py", "contest/one_table/plans.py",
    "contest/one_table/words.py",
}  # fmt: skip


def test_a_method_is_named_in_few_files():
    """Of all files, those with a line for each aside, at most four name a method or its layer.

    They are a file for each backend, and two where the method itself is what matters.
    """
    package = Path(str(files("ensedu")))
    sources = {
        path.relative_to(package).as_posix(): path.read_text(encoding="utf-8")
        for path in [*package.rglob("*.py"), *package.rglob("*.js")]
    }
    # Examples in docstrings are no code.
    aside = re.compile(
        r'""".*?"""|^LAYER_CLASSES.*?^}|^from .*? import (\(.*?\)|.*?$)', flags=re.S | re.M
    )
    code = {
        name: aside.sub("", text)
        for name, text in sources.items()
        if name not in TABLES and not name.endswith("/__init__.py")
    }
    for method, row in METHODS.items():
        if method == "single":  # the default of every call
            continue
        kind = rf"|\b{row.layer}(Linear|Conv2d)\b" if row.layer and not row.body else ""
        pattern = re.compile(rf"""["']{method}["']{kind}""")
        named = [name for name, text in code.items() if pattern.search(text)]
        assert len(named) <= 4, (method, named)
