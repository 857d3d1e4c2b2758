"""How much gradients of a Bayesian LeNet-5 vary, and the table of that."""

import pytest
import torch

from ensedu.book import measured
from ensedu.book.experiments import bayesian_cnn as cnn
from ensedu.book.experiments import bayesian_cnn_gradients as gradients
from ensedu.book.experiments.bayesian_cnn import (
    LAYERS,
)
from ensedu.torch.train.losses import softmax_cross_entropy


def untrained():
    torch.manual_seed(0)
    return cnn.network("wide")


def test_gradients_vary_as_their_draws_do():
    net = untrained()
    x, y = (part[:3] for part in cnn.split_digits(0)[0])
    torch.manual_seed(0)
    found = gradients.variances(net, x, y, 4)
    torch.manual_seed(0)
    layer, each = cnn.layers(net)["dense3"], []
    for _ in range(4):
        net.zero_grad()
        softmax_cross_entropy(net(x), y).backward()
        each.append(torch.cat([layer.weight_rho.grad.ravel(), layer.bias_rho.grad]).double())
    assert found["rho"]["dense3"] == pytest.approx(float(torch.stack(each).var(0).sum()), rel=1e-6)
    assert set(found) == {"mean", "rho"} and set(found["mean"]) == set(LAYERS.values())


def test_a_short_measurement_of_gradients_repeats():
    settings = gradients.EXPERIMENT.settings | {
        "train": 50, "sizes": [1, 5], "batches": [2, 1], "draws": 3,
    }  # fmt: skip
    found = gradients.run(0, 1, **settings)
    assert found == gradients.run(0, 1, **settings)
    assert set(found) == set(gradients.ESTIMATORS)
    assert len(found["local"]["mean"]["conv1"]) == 2


def test_flipout_is_weight_sampling_for_one_image():
    table = measured.load("bayesian-cnn-gradients")
    for place in gradients.PLACES:
        for row in table["rows"]:
            weights, flipout = (
                sum(row[kind][place][name][0] for name in LAYERS.values())
                for kind in ("weights", "flipout")
            )
            assert 0.7 < flipout / weights < 1.4
