"""Counts of `ensedu.theory.relatives` against the posteriors that laplace-torch and IVON keep."""

from itertools import pairwise

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from ensedu.contest.laplace import laplace_torch
from ensedu.theory import relatives

pytest.importorskip("ivon", reason="laplace-torch and ivon-opt are absent")
laplace = laplace_torch()

SIZES = [3, 5, 7, 2]


def network():
    layers = []
    for m, n in pairwise(SIZES):
        layers += [torch.nn.Linear(m, n), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("key", "of", "structure"),
    [
        ("laplace_last_layer", "last_layer", "full"),
        ("laplace_kronecker", "all", "kron"),
        ("laplace_diagonal", "all", "diag"),
    ],
)
def test_laplace(key, of, structure):
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(11, SIZES[0]), torch.randn(11, SIZES[-1]))
    net = network()
    fitted = laplace.Laplace(net, "regression", subset_of_weights=of, hessian_structure=structure)
    fitted.fit(DataLoader(data, batch_size=11))
    if structure == "kron":  # eigenvalues are the factors again, in the form that it draws with
        curvature = [factor for part in fitted.H_facs.kfacs for factor in part]
    else:
        curvature = [fitted.H]
    weights = sum(parameter.numel() for parameter in net.parameters())
    trained, kept = relatives.numbers(SIZES, key, 4)
    assert trained.total == weights
    assert kept.total == weights + sum(array.numel() for array in curvature)


def test_ivon():
    """Its means are the network's parameters; of its own memory, drawing reads the curvature."""
    ivon = pytest.importorskip("ivon", reason="ivon-opt is absent")
    net = network()
    optimizer = ivon.IVON(net.parameters(), lr=0.1, ess=11)
    weights = sum(parameter.numel() for parameter in net.parameters())
    (group,) = optimizer.param_groups
    trained, kept = relatives.numbers(SIZES, "ivon", 4)
    assert trained.total == weights
    assert kept.total == weights + group["hess"].numel()
