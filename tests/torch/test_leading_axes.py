"""Torch's own layers of images, with members and samples in front of the batch."""

import pytest
import torch

import ensedu.torch as et


@pytest.mark.bad_input
def test_an_input_that_is_no_image_is_named():
    with pytest.raises((TypeError, ValueError), match=r"\(…, C, H, W\)"):
        et.MaxPool2d(2)(torch.ones(3, 3))
