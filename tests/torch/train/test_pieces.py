"""Large tensors in pieces: all of them, in order, and no more of them at once."""

import os
import resource
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from ensedu.torch.train import pieces
from ensedu.torch.train.examples import check_examples, fingerprint
from tests.torch.train.processes import copied_process

SHAPES = st.lists(st.integers(1, 7), min_size=1, max_size=4)


def numbers(shape, turned):
    x = torch.arange(float(np.prod(shape))).view(*shape)
    return x.movedim(0, -1) if turned else x


@given(shape=SHAPES, turned=st.booleans(), size=st.integers(1, 60))
def test_pieces_are_all_in_order_each_small_and_with_its_place(shape, turned, size):
    x = numbers(shape, turned)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "PIECE", size)
        found = list(pieces.pieces(x))
    assert torch.equal(torch.cat([piece.flatten() for _, piece in found]), x.flatten())
    for place, piece in found:
        assert piece.numel() <= size
        assert torch.equal(piece[0], x[place])
    # No smaller than they must be: two that follow each other in one row's parts do not fit.
    for (one, piece), (other, after) in pairwise(found):
        assert one[:-1] != other[:-1] or piece.numel() + after[0].numel() > size


@given(shape=SHAPES, turned=st.booleans(), size=st.integers(1, 60), data=st.data())
def test_the_first_that_is_not_finite(shape, turned, size, data):
    x = numbers(shape, turned)
    bad = data.draw(
        st.dictionaries(st.integers(0, x.numel() - 1), st.sampled_from("nan inf -inf".split()))
    )
    for i, word in bad.items():
        x[np.unravel_index(i, x.shape)] = float(word)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "PIECE", size)
        found = pieces.first_not_finite(x), pieces.first_not_finite(x, infinite_ok=True)
    places = [np.argwhere(~np.isfinite(x.numpy())), np.argwhere(np.isnan(x.numpy()))]
    assert found == tuple(tuple(map(int, some[0])) if len(some) else None for some in places)


@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.bfloat16, torch.complex64, torch.float8_e4m3fn, torch.int16]
)
def test_numbers_of_any_kind(dtype):
    assert pieces.first_not_finite(torch.ones(3, 5).to(dtype)) is None
    assert pieces.first_not_finite(torch.ones(()).to(dtype)) is None
    assert pieces.first_not_finite(torch.ones(3, 0).to(dtype)) is None
    if dtype is not torch.int16:
        assert pieces.first_not_finite(torch.tensor([1.0, torch.nan]).to(dtype)) == (1,)
        assert pieces.first_not_finite(torch.tensor(torch.nan).to(dtype)) == ()


def megabytes_above(call, x):
    """Return what a call in a copy of this process peaks at, above what it has with all of x.

    Its code is loaded before, by a call with little.
    """
    heard, said = os.pipe()
    with copied_process():
        child = os.fork()
    if child == 0:
        try:
            x.sum()
            call(x[:7])
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            call(x)
            after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            os.write(said, str(after - before).encode())  # kB
        finally:
            os._exit(0)
    os.close(said)
    with os.fdopen(heard) as answer:
        kilobytes = int(answer.read())
    os.waitpid(child, 0)
    return kilobytes / 1024


@pytest.mark.large
def test_data_in_a_file_are_not_copied(tmp_path):
    """64 MB that are mapped into memory: what comes on top of them is no copy of them."""
    x = torch.from_numpy(np.lib.format.open_memmap(tmp_path / "x", "w+", np.float32, (2**20, 16)))
    net = nn.Linear(16, 1)
    assert megabytes_above(lambda x: check_examples(net, "x", x, "y", x[:, :1]), x) < 32
    assert megabytes_above(fingerprint, x.view(16, -1).mT) < 32  # not in the order of the file
