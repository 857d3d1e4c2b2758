"""Minibatches: tensors dealt out, to all members or to each its own part, and those of a loader."""

import copy
import hashlib
import os
import resource

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.utils.data import DataLoader, Sampler, TensorDataset

import ensedu.torch as et
from ensedu.methods import METHODS
from ensedu.torch.train import batches
from ensedu.torch.train.batches import check_examples, fingerprint, first_not_finite
from tests.torch.train.processes import copied_process
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

KL = et.KLWeight(0.7, anneal=2)


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
            net, shuffled(), nll=et.softmax_cross_entropy, epochs=epochs, kl=KL, seed=2,
            validation=et.Validation(shuffled()), **options,
        )  # fmt: skip
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


@pytest.mark.parametrize("number", [18, 20, 22])
def test_members_that_split_see_different_examples(number):
    x, seen, found = numbers(number, m), [], []
    rows = torch.arange(number)

    def nll(outputs, targets):
        assert outputs.shape[:2] == targets.shape == (M, targets.shape[1])
        seen.append(targets)
        found.append(et.softmax_cross_entropy(outputs, targets % 2))
        return found[-1]

    history = et.fit(network("batch_ensemble"), x, rows, nll, epochs=2, batch_size=B, split=True)
    assert history[0]["step"] == len(seen) / 2
    torch.manual_seed(0)
    order = torch.randperm(number)
    for i, targets in enumerate(seen[: len(seen) // 2]):
        whole = order[i * B : (i + 1) * B]
        assert targets.tolist() == whole[: len(whole) // M * M].view(M, -1).tolist()
    first = torch.cat(seen[: len(seen) // 2], 1)
    assert first.numel() == number // M * M if number != 20 else 18
    assert len(first.unique()) == first.numel()
    pairs = zip(seen, found[: len(found) // 2], strict=False)
    mean = sum(targets.numel() * float(nll.detach()) for targets, nll in pairs) / first.numel()
    assert history[0]["nll"] == pytest.approx(mean, rel=1e-14)


@pytest.mark.parametrize("method", ["batch_ensemble", "rank1", "last_layer"])
def test_split_batches_of_a_converted_model_are_those_of_its_layers(method):
    """A converted model and layers of the same values train alike, each member on its own rows."""
    torch.manual_seed(5)
    plain = nn.Sequential(nn.Linear(m, n), nn.ReLU(), nn.Linear(n, 2)).double()
    options = {"head": "2"} if method == "last_layer" else {}
    net = et.ensemble(plain, method, M, **options)
    layers = [getattr(part, "layer", part) for part in copy.deepcopy(net).model]
    bare = et.Sequential(*layers)
    x, y = numbers(N, m), numbers(N, 2, seed=1)
    for each in (net, bare):
        et.fit(each, x, y, et.half_squared_error, epochs=2, batch_size=B, lr=0.1, split=True)
    for mine, theirs in zip(net.parameters(), bare.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-12, atol=1e-12)


def test_a_fingerprint_is_a_hash_of_all_numbers_in_order(monkeypatch):
    """As one call of it would be, whatever the pieces and the layout: checkpoints hold it."""
    x, y = numbers(m, N).T, torch.arange(N)
    known = hashlib.sha256()
    for name, value in (("(22, 5) torch.float64 ", x), ("(22,) torch.int64 ", y)):
        known.update(name.encode() + value.contiguous().numpy().tobytes())
    for size in (1, 13, 1000):
        monkeypatch.setattr(batches, "PIECE", size)
        assert fingerprint(x, y) == known.hexdigest()[:16]


@given(
    shape=st.lists(st.integers(1, 7), max_size=4),
    turned=st.booleans(),
    size=st.integers(1, 60),
    data=st.data(),
)
def test_the_first_that_is_not_finite(shape, turned, size, data):
    x = torch.arange(float(np.prod(shape))).view(shape)
    x = x.movedim(0, -1) if turned and shape else x
    bad = data.draw(
        st.dictionaries(st.integers(0, x.numel() - 1), st.sampled_from("nan inf -inf".split()))
    )
    for i, word in bad.items():
        x[tuple(map(int, np.unravel_index(i, x.shape)))] = float(word)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "PIECE", size)
        found = first_not_finite(x), first_not_finite(x, infinite_ok=True)
    places = [np.argwhere(~np.isfinite(x.numpy())), np.argwhere(np.isnan(x.numpy()))]
    assert found == tuple(tuple(map(int, some[0])) if len(some) else None for some in places)


@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.bfloat16, torch.complex64, torch.float8_e4m3fn, torch.int16]
)
def test_numbers_of_any_kind(dtype):
    assert first_not_finite(torch.ones(3, 5).to(dtype)) is None
    assert first_not_finite(torch.ones(()).to(dtype)) is None
    assert first_not_finite(torch.ones(3, 0).to(dtype)) is None
    if dtype is not torch.int16:
        assert first_not_finite(torch.tensor([1.0, torch.nan]).to(dtype)) == (1,)
        assert first_not_finite(torch.tensor(torch.nan).to(dtype)) == ()


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
    assert megabytes_above(lambda x: et.predict(net, x, batch_size=1000), x) < 32
    assert megabytes_above(fingerprint, x.view(16, -1).mT) < 32  # not in the order of the file
