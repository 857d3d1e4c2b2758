"""Shapes of batches against all that are listed, and the noise of a network by layer."""

import itertools

import pytest

from ensedu.common import layer_checks


@pytest.mark.parametrize("members", [None, 3])
@pytest.mark.parametrize("example", [(5,), (2, "H", "W")])
def test_batches_are_those_that_are_listed(members, example):
    """Of sizes 2, 3 and 5 on each axis, with one axis too few and two too many."""
    axes = [tuple([1, 2, 3, 5] if isinstance(size, str) else [size]) for size in example]
    leading = {
        None: [[], [(1, 2, 3, 5)]],
        3: [[], [(3,)], [(1, 2, 3, 5), (3,)]],
    }[members]
    accepted = {
        shape for front in leading for shape in itertools.product(*front, (1, 2, 3, 5), *axes)
    }
    for length in range(len(example) + 4):
        for shape in itertools.product((1, 2, 3, 5), repeat=length):
            if shape in accepted:
                layer_checks.check_batch("Layer", shape, example, members)
            else:
                with pytest.raises(ValueError, match="Layer: input x has shape"):
                    layer_checks.check_batch("Layer", shape, example, members)


def test_noise_of_a_network_goes_to_its_layers():
    noise = {"2.r": 1, "0.r": 2, "2.s": 3}
    found = layer_checks.noise_by_layer(noise, ("0", "1", "2"))
    assert found == {"0": {"r": 2}, "1": {}, "2": {"r": 1, "s": 3}}
