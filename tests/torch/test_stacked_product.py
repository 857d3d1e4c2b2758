"""The product with a weight a member, and the gradient of its weights."""

import pytest
import torch

import ensedu.torch as et
from ensedu.torch import products
from tests.backends import B, M, m, n


@pytest.mark.parametrize("columns", [64, 65])
def test_a_weight_each_gets_its_gradient_as_it_is_stored(columns):
    x, weight = torch.randn(M, B, columns), torch.randn(M, n, columns, requires_grad=True)
    (slope,) = torch.autograd.grad(products.stacked_product(x, weight, None).sum(), weight)
    assert slope.is_contiguous() == (columns > products.MANY_COLUMNS)


@pytest.mark.parametrize("kind", ["deep_ensemble", "fold"])
def test_a_shared_batch_is_never_copied_to_the_members(kind):
    x = torch.randn(101, m)
    layer = (et.DeepEnsembleLinear if kind == "deep_ensemble" else et.BatchEnsembleLinear)(m, n, M)
    with torch.profiler.profile(profile_memory=True) as profile:
        with torch.no_grad():
            layer(x)
    largest = max(event.self_cpu_memory_usage for event in profile.events())
    allocated = sum(max(0, event.self_cpu_memory_usage) for event in profile.events())
    output, matrices = 4 * M * 101 * n, 4 * 2 * M * m * n
    assert largest == output
    assert allocated <= output + matrices < output + 4 * x.numel() * M
