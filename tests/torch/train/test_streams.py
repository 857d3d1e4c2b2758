"""Minibatches that come along train and predict as the same ones do in memory."""

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Sampler, TensorDataset

import ensedu.torch as et
from ensedu.methods import METHODS
from tests.torch.train.trained_networks import (
    STEPS,
    B,
    M,
    N,
    converted,
    data,
    m,
    n,
    network,
    numbers,
    same,
)

KL = et.KLWeight(0.7, anneal=2, minibatches="geometric")


class InTheOrderOfTensors(Sampler):
    """Shuffles by Torch's own generator, and draws nothing else, which Torch's sampler does."""

    def __init__(self, rows):
        self.rows = rows

    def __iter__(self):
        return iter(torch.randperm(len(self.rows)).tolist())

    def __len__(self):
        return len(self.rows)


def loader(*tensors, rows=None):
    """A loader of the minibatches that tensors are dealt out in."""
    rows = TensorDataset(*tensors) if rows is None else rows
    return DataLoader(rows, B, sampler=InTheOrderOfTensors(rows), generator=torch.Generator())


class Batches:
    """The same without Torch's classes: no dataset, and perhaps no length."""

    def __init__(self, x, y):
        self.x, self.y = x, y

    def __iter__(self):
        return ((self.x[rows], self.y[rows]) for rows in torch.randperm(N).split(B))


@pytest.mark.parametrize(
    ("make", "method"),
    [*((network, key) for key in METHODS), (converted, "rank1"), (converted, "deep_ensemble")],
)
def test_a_loader_trains_as_tensors_do(make, method):
    x, y = data(images=make is converted)
    nets = [make(method) for _ in range(2)]
    settings = {"epochs": 3, "lr": 0.05, "weight_decay": 0.1, "kl": KL, "seed": 11}
    rows = et.fit(
        nets[0], x, y, et.softmax_cross_entropy, batch_size=B, validation=(x, y), **settings
    )
    held = et.Validation(DataLoader(TensorDataset(x, y), B, generator=torch.Generator()))
    found = et.fit(nets[1], loader(x, y), nll=et.softmax_cross_entropy, validation=held, **settings)
    assert same(nets[0].state_dict(), nets[1].state_dict())
    assert [row["step"] for row in found] == [STEPS, 2 * STEPS, 3 * STEPS]
    assert rows == found


def test_whatever_can_be_iterated_again_trains():
    x, y = data()
    nets = [network("batch_ensemble") for _ in range(2)]
    rows = et.fit(nets[0], x, y, et.softmax_cross_entropy, epochs=3, batch_size=B)
    found = et.fit(nets[1], Batches(x, y), nll=et.softmax_cross_entropy, epochs=3)
    assert rows == found and same(nets[0].state_dict(), nets[1].state_dict())
    order = torch.arange(N).split(B)
    batches = [[x[rows], y[rows]] for rows in order]
    et.fit(nets[0], batches, nll=et.softmax_cross_entropy, epochs=2)
    et.fit(nets[1], [tuple(batch) for batch in batches], nll=et.softmax_cross_entropy, epochs=2)
    assert same(nets[0].state_dict(), nets[1].state_dict())


@pytest.mark.parametrize("number", [18, 20, 22])
def test_members_split_a_stream(number):
    """The remainder of the last minibatch is left out, and all of it where members are more."""
    x, y = numbers(number, m), numbers(number, seed=1)
    torch.manual_seed(5)
    nets = [et.mlp([m, n, 1], "batch_ensemble", M, dtype=torch.float64) for _ in range(2)]
    nets[1].load_state_dict(nets[0].state_dict())
    settings = {"epochs": 2, "lr": 0.1, "split": True}
    rows = et.fit(nets[0], x, y, et.half_squared_error, batch_size=B, **settings)
    found = et.fit(nets[1], loader(x, y), nll=et.half_squared_error, **settings)
    assert rows == found and same(nets[0].state_dict(), nets[1].state_dict())


def test_the_kl_belongs_to_all_examples_of_a_stream():
    x, y = data()
    settings = {"epochs": 1, "lr": 0.05, "seed": 3}
    nll, fitted = et.softmax_cross_entropy, network("rank1")
    et.fit(fitted, x, y, nll, batch_size=B, **settings)
    for stream, number, equal in (
        (loader(x, y), None, True),
        (loader(x, y), N, True),
        (Batches(x, y), N, True),
        (loader(x, y), 10 * N, False),
    ):
        net = network("rank1")
        et.fit(net, stream, nll=nll, num_examples=number, **settings)
        assert same(net.state_dict(), fitted.state_dict()) is equal
    with pytest.raises(ValueError, match="num_examples must be None for tensors"):
        et.fit(fitted, x, y, nll, batch_size=B, num_examples=N, **settings)


@pytest.mark.parametrize("own", [False, True])
def test_a_shuffled_loader_goes_on_from_a_checkpoint_to_the_same_bits(tmp_path, own):
    """Its order follows from Torch's generator, which is seeded, or from one of its own."""
    x, y = data()

    def shuffled():
        generator = torch.Generator().manual_seed(7) if own else None
        return DataLoader(TensorDataset(x, y), B, shuffle=True, generator=generator)

    def run(epochs, **options):
        net = network("rank1")
        rows = et.fit(
            net, shuffled(), nll=et.softmax_cross_entropy, epochs=epochs, kl=KL, seed=2, **options
        )
        return rows, net.state_dict()

    expected = run(5)
    run(2, checkpoint=tmp_path)
    assert same(run(5, checkpoint=tmp_path), expected)
    orders = [torch.cat([batch[0] for batch in shuffled()]) for _ in range(2)]
    assert torch.equal(*orders) is own  # else it would have proved nothing


class Masked(torch.utils.data.Dataset):
    """Examples of two inputs by place or by name."""

    def __init__(self, named):
        self.named = named
        self.words, self.mask = torch.arange(N * m).view(N, m) % 13, numbers(N, m) > -1

    def __len__(self):
        return N

    def __getitem__(self, i):
        pair = self.words[i], self.mask[i]
        return dict(zip(("words", "mask"), pair, strict=True)) if self.named else pair, i % 2


class Reads(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(13, n), nn.Linear(n, 2)

    def forward(self, words, mask):
        return self.head((self.embed(words) * mask[..., None]).mean(1))


@pytest.mark.parametrize(("named", "split"), [(False, False), (True, False), (True, True)])
def test_a_loader_of_several_inputs(named, split):
    torch.manual_seed(5)
    nets = [et.ensemble(Reads(), "batch_ensemble", M) for _ in range(2)]
    nets[1].load_state_dict(nets[0].state_dict())
    rows, y = Masked(named), torch.arange(N) % 2
    x = {"words": rows.words, "mask": rows.mask} if named else (rows.words, rows.mask)
    et.fit(nets[0], x, y, et.softmax_cross_entropy, epochs=2, batch_size=B, split=split)
    et.fit(nets[1], loader(rows=rows), nll=et.softmax_cross_entropy, epochs=2, split=split)
    assert same(nets[0].state_dict(), nets[1].state_dict())
    in_order = DataLoader(rows, B)
    found = et.predict(nets[0], in_order, targets=True)
    torch.testing.assert_close(found, et.predict(nets[0], x), rtol=1e-6, atol=1e-6)
