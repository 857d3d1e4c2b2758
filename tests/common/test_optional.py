"""A module that comes with an extra is the module, and only what is missing is called missing."""

import pytest

from ensedu.common.optional import optional


def test_an_optional_module_is_the_module():
    import scipy.special

    assert optional("scipy.special", "scores") is scipy.special


def test_a_package_that_is_there_is_not_called_missing(tmp_path, monkeypatch):
    (tmp_path / "a_broken_package.py").write_text("import a_package_that_it_needs\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="No module named 'a_package_that_it_needs'"):
        optional("a_broken_package", "scores")
