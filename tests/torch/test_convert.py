"""A layer's values in NumPy and in Torch."""

import numpy as np
import pytest
import torch

import ensedu.torch as et
from tests.backends import InTorch
from tests.gradients import Twin, for_layers_and_inputs


@for_layers_and_inputs("linear")
class TestTwin(InTorch, Twin):
    """Of a plain layer, which is Torch's own."""


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("module", "words"),
    [
        (torch.nn.Conv2d(2, 4, 3, groups=2), "groups=2, accepted is 1"),
        (torch.nn.Conv2d(2, 4, 3, dilation=2), r"dilation=\(2, 2\)"),
        (torch.nn.Conv2d(2, 4, 3, padding=1, padding_mode="reflect"), "padding_mode='reflect'"),
        (torch.nn.MaxPool2d(2, padding=1), "padding=1, accepted is 0"),
        (torch.nn.MaxPool2d(2, ceil_mode=True), "ceil_mode=True"),
        (torch.nn.Flatten(0), "start_dim=0, accepted is 1 or -3"),
        (et.MeanFieldConv2d(2, 4, 3, estimator="flipout"), "estimator='flipout'"),
    ],
)
def test_settings_that_numpy_lacks_are_refused(module, words):
    with pytest.raises(ValueError, match=words):
        et.to_numpy(module, rng=np.random.default_rng(0))
