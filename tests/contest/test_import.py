"""Without PyTorch, or the package of a contestant, the error says what installs it."""

import importlib
import sys

import pytest

from ensedu.contest.contestants import CONTESTANTS, TABULAR
from tests.contest import small


def test_without_torch_the_engine_says_what_it_needs(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("ensedu.contest")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match="torch") as caught:
        importlib.import_module("ensedu.contest")
    assert 'pip install "ensedu[sklearn]"' in str(caught.value)


@pytest.mark.parametrize(
    ("name", "module", "words"),
    [
        ("boosting", "sklearn.ensemble", 'scikit-learn is needed .* "ensedu[sklearn]"'),
        ("linear", "sklearn.linear_model", 'scikit-learn is needed .* "ensedu[sklearn]"'),
        ("laplace", "laplace", "laplace-torch is needed .* pip install laplace-torch$"),
        ("ivon", "ivon", "ivon-opt is needed .* pip install ivon-opt$"),
        ("tabm", "tabm", "tabm is needed .* pip install tabm$"),
    ],
)
def test_a_contestant_names_the_package_that_it_needs(name, module, words, monkeypatch):
    row = (CONTESTANTS | TABULAR)[name]
    job = small.job(small.task(), row, epochs=1)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=words.replace("[", r"\[").replace("]", r"\]")):
        row.train(job)
