"""Without scikit-learn, or PyTorch, the error says what installs it."""

import importlib
import sys

import pytest


@pytest.mark.parametrize(
    ("module", "package"), [("sklearn.base", "scikit-learn"), ("torch", "torch")]
)
def test_a_missing_package_is_named(module, package, monkeypatch):
    importlib.import_module("sklearn.base")  # SciPy, which it loads, looks into PyTorch
    for name in [name for name in sys.modules if name.startswith("ensedu.sklearn")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=package) as caught:
        importlib.import_module("ensedu.sklearn")
    assert 'pip install "ensedu[sklearn]"' in str(caught.value)
