"""The counts of `ensedu.theory.relatives` against the networks of others (`make test-peers`)."""

import sys
import types

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import contestants
from ensedu.theory import relatives

uncertainty = contestants.package("torch_uncertainty")
if uncertainty is None:
    pytest.skip("torch-uncertainty is absent: run `make test-peers`", allow_module_level=True)
tabm = pytest.importorskip("tabm", reason="tabm is absent: run `make test-peers`")

few = st.integers(1, 7)
widths = st.lists(st.integers(1, 11), min_size=1, max_size=3)


@pytest.fixture(scope="module")
def networks():
    """Their multilayer perceptrons, without the architectures next to them, nor what those need."""
    name = "torch_uncertainty.models"
    if name not in sys.modules:
        alone = types.ModuleType(name)
        alone.__path__ = [f"{folder}/models" for folder in sys.modules[name[:17]].__path__]
        sys.modules[name] = alone
    return pytest.importorskip(f"{name}.mlp")


def total(module):
    return sum(parameter.numel() for parameter in module.parameters())


@settings(max_examples=100)
@given(m=few, n=few, hidden=widths, M=few)
def test_mimo(networks, m, n, hidden, M):
    theirs = networks.mimo_mlp(m, n, hidden, num_estimators=M)
    assert relatives.numbers([m, *hidden, n], "mimo", M).kept.total == total(theirs)


@settings(max_examples=100)
@given(m=few, n=few, hidden=widths, M=few, alpha=few, gamma=st.integers(1, 3))
def test_packed(networks, m, n, hidden, M, alpha, gamma):
    """Theirs refuses the same sizes."""
    chosen = {"alpha": alpha, "gamma": gamma}
    try:
        theirs = networks.packed_mlp(m, n, hidden, num_estimators=M, **chosen)
    except ValueError:
        with pytest.raises(ValueError, match="gamma"):
            relatives.numbers([m, *hidden, n], "packed", M, **chosen)
    else:
        ours = relatives.numbers([m, *hidden, n], "packed", M, **chosen)
        assert ours.kept.total == total(theirs)
        assert [part.total for part in ours.kept.layers] == [
            total(layer) for layer in (*theirs.layers, theirs.final_layer)
        ]


@settings(max_examples=100)
@given(m=few, n=few, hidden=few, M=few, alpha=few, gamma=st.integers(1, 3))
def test_packed_where_all_divide(networks, m, n, hidden, M, alpha, gamma):
    sizes = [m, hidden * M * gamma, 2 * hidden * M * gamma, n * gamma]
    theirs = networks.packed_mlp(
        m, sizes[-1], sizes[1:-1], num_estimators=M, alpha=alpha, gamma=gamma
    )
    ours = relatives.numbers(sizes, "packed", M, alpha=alpha, gamma=gamma)
    assert ours.kept.total == total(theirs)


@settings(max_examples=100)
@given(m=few, n=few, width=few, depth=st.integers(1, 3), M=few)
def test_tabm(m, n, width, depth, M):
    theirs = tabm.TabM.make(n_num_features=m, d_out=n, n_blocks=depth, d_block=width, k=M)
    assert relatives.numbers([m, *[width] * depth, n], "tabm", M).kept.total == total(theirs)


def test_tabm_differs_at_the_start_where_its_row_says():
    """In the first r and in the last layers; all other r and s are 1."""
    theirs = tabm.TabM.make(n_num_features=5, d_out=2, n_blocks=3, d_block=7, k=3)
    numbers = dict(theirs.named_parameters())
    differ = {
        name
        for name, parameter in numbers.items()
        if parameter.shape[0] == 3 and not (parameter == parameter[:1]).all()
    }
    first, *others = (name for name in numbers if name.endswith((".r", ".s")))
    assert first.endswith(".r")
    assert first in differ
    assert not differ & set(others)
    assert {"output.weight", "output.bias"} <= differ


@pytest.mark.parametrize("columns", [3, 5])
def test_swag(networks, columns):
    """What their SWAG has gathered after more epochs than it keeps deviations."""
    swag = pytest.importorskip("torch_uncertainty.methods.swag")
    core = networks.mlp(5, 2, [3, 7])
    theirs = swag.SWAG(core, cycle_start=0, cycle_length=1, max_num_models=columns)
    for epoch in range(1, columns + 4):
        theirs.update_wrapper(epoch)
    ours = relatives.numbers([5, 3, 7, 2], "swag", 4, columns=columns)
    assert ours.kept.total == sum(stored.numel() for stored in theirs.swag_stats.values())
    assert ours.trained.total == total(core)
