"""MIMO of the contest: what its rows hold, what its heads answer, and one member, one network."""

import numpy as np
import pytest
import torch
from torch import nn

from ensedu import uncertainty
from ensedu.contest import FURTHER
from ensedu.contest.contestants import CONTESTANTS
from ensedu.contest.trainers import mimo, networks
from tests.contest import small

ROW = FURTHER["mimo"]
M, B, m, k = 3, 11, 2, 5


class Seeing(nn.Linear):
    """A linear layer that keeps what it was given last."""

    def forward(self, x):
        self.rows = x
        return super().forward(x)


def net_and_inputs():
    torch.manual_seed(0)
    return mimo.Mimo(Seeing(M * m, M * k), M), torch.randn(B, m)


def test_heads_of_a_batch_are_those_of_each_example_repeated():
    net, x = net_and_inputs()
    found = net.eval()(x)
    assert found.shape == (M, B, k)
    for b in range(B):
        row = net.net.weight @ torch.cat([x[b]] * M) + net.net.bias
        for i in range(M):
            torch.testing.assert_close(found[i, b], row[i * k : (i + 1) * k])


def test_training_shuffles_for_each_member_and_answers_in_order():
    net, x = net_and_inputs()
    orders = []
    for _ in range(7):
        found = net.train()(x)
        for i in range(M):
            order = []
            for row in net.net.rows:
                (b,) = torch.nonzero((x == row[i * m : (i + 1) * m]).all(1)).flatten()
                out = net.net.weight @ row + net.net.bias
                torch.testing.assert_close(found[i, b], out[i * k : (i + 1) * k])
                order.append(b.item())
            assert sorted(order) == [*range(B)]
            orders.append(tuple(order))
    assert len({*orders}) == 7 * (M - 1) + 1  # the first stays as it came


@pytest.mark.parametrize("classes", [False, True])
def test_with_one_member_it_is_one_network(classes):
    task = small.task(classes=classes)
    found = mimo.train_mimo(small.job(task, ROW), members=1)
    single = networks.train_network(small.job(task, CONTESTANTS["single"]))
    x, part = small.job(task, ROW).data.test[0], "logits" if classes else "mean"
    np.testing.assert_array_equal(getattr(found(x), part), getattr(single(x), part))
    assert found.num_stored == single.num_stored


@pytest.mark.parametrize("classes", [False, True])
def test_a_forecast_is_the_mixture_of_its_heads(classes):
    job = small.job(small.task(classes=classes), ROW)
    trained = ROW.train(job)
    x = job.data.test[0]
    with torch.no_grad():
        out = trained.net.net(torch.from_numpy(np.tile(x, 4)).float()).double().numpy()
    out, found = np.stack(np.split(out, 4, axis=1)), trained(x)
    if classes:
        p = uncertainty.softmax(out).mean(axis=0)
        np.testing.assert_allclose(found.averaged, p, rtol=1e-5)
    else:
        np.testing.assert_allclose(found.mean, uncertainty.gaussian_heads(out)[0], atol=1e-5)
    inputs, outputs = x.shape[1], small.k if classes else 2
    assert trained.num_stored == (4 * inputs + 1) * 7 + 8 * 5 + 6 * 4 * outputs  # layers of 7 and 5
    part = "logits" if classes else "mean"
    np.testing.assert_array_equal(getattr(ROW.train(job)(x), part), getattr(found, part))


def test_images_and_numbers_that_are_no_members_are_named():
    with pytest.raises(ValueError, match="hidden must be a tuple of sizes for MIMO, got 'lenet'"):
        ROW.train(small.job(small.images(), ROW))
    with pytest.raises(ValueError, match="members must be a positive integer, got 0"):
        mimo.train_mimo(small.job(small.task(), ROW), members=0)
