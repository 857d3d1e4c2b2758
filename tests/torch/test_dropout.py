"""Dropout that stays on, in Torch."""

import numpy as np
import pytest
import torch

import ensedu.torch as et
from tests import layers
from tests.backends import B, InTorch, M, n
from tests.gradients import Twin, for_layers_and_inputs


class TestMCDropout(InTorch, layers.MCDropout):
    pass


@for_layers_and_inputs("dropout")
class TestTwin(InTorch, Twin):
    pass


@pytest.mark.parametrize("per_example", [False, True])
@pytest.mark.parametrize("example", [(n,), (3, n), (2, 3, n)])
@pytest.mark.parametrize("leading", [(), (M,), (2, M)])
def test_dropout_of_any_rank_equals_a_loop(leading, example, per_example):
    layer = et.MCDropout(0.3, per_example=per_example, feature_axes=len(example)).eval()
    x = torch.randn(*leading, B, *example)
    noise = layer.noise(torch.Generator().manual_seed(1), tuple(x.shape))
    assert noise["mask"].shape == (*leading, B if per_example else 1, *example)
    y, masks = layer(x, noise), noise["mask"].expand(x.shape)
    for index in np.ndindex(*leading, B):
        expected = torch.where(masks[index], x[index] / 0.7, 0.0)
        torch.testing.assert_close(y[index], expected)
    one, other = layer(x), layer(x)
    assert not torch.equal(one, other)
    assert ((one == 0) | torch.isclose(one, x / 0.7)).all()
    rows = (one == 0).flatten(0, len(leading) - 1) if leading else (one == 0)[None]
    assert all(torch.equal(row[0], row[1]) for row in rows) is not per_example
    if leading:
        assert len({tuple(row[0].flatten().tolist()) for row in rows}) > 1
