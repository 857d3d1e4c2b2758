"""Minibatches: tensors dealt out, to all members or to each its own part, and those of a loader."""

import hashlib
import os
import resource

import numpy as np
import pytest
import torch
import torch.distributed as dist
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

import ensedu.torch as et
from ensedu.torch.train import batches
from ensedu.torch.train.batches import check_examples, first_not_finite, hash_tensors, rows_of
from tests.torch.train.tools import (
    STEPS,
    B,
    M,
    N,
    converted,
    copied_process,
    data,
    m,
    network,
    nll_of,
    numbers,
    reader,
    same,
)

NLL, KL = et.softmax_cross_entropy, et.KLWeight(0.7, anneal=2)


class Dealt:
    """Rows as tensors are dealt out: by Torch's generator alone, of which Torch's sampler draws."""

    def __iter__(self):
        return iter([rows.tolist() for rows in torch.randperm(N).split(B)])

    def __len__(self):
        return STEPS


def loader(rows):
    return DataLoader(rows, batch_sampler=Dealt(), generator=torch.Generator())


class Stream:
    """The same without Torch's classes: no dataset, and no length."""

    def __iter__(self):
        x, y = data()
        return ((x[rows], y[rows]) for rows in Dealt())


@pytest.mark.parametrize(
    ("make", "method"),
    [(network, "rank1"), (network, "batch_ensemble"), (converted, "deep_ensemble")],
)
def test_a_loader_trains_as_tensors_do(make, method):
    x, y = data(make)
    nets = [make(method) for _ in range(2)]
    settings = {"nll": NLL, "epochs": 3, "lr": 0.05, "weight_decay": 0.1, "kl": KL, "seed": 11}
    rows = et.fit(nets[0], x, y, batch_size=B, validation=(x, y), **settings)
    held = et.Validation(DataLoader(TensorDataset(x, y), B, generator=torch.Generator()))
    assert et.fit(nets[1], loader(TensorDataset(x, y)), validation=held, **settings) == rows
    assert same(nets[0].state_dict(), nets[1].state_dict())


def test_the_kl_belongs_to_all_examples_of_a_stream():
    """Also of one that is no loader, and has neither a dataset nor a length."""
    x, y = data()
    fitted = network("rank1")
    et.fit(fitted, x, y, NLL, epochs=1, batch_size=B)
    for stream, number, equal in (
        (loader(TensorDataset(x, y)), None, True),
        (loader(TensorDataset(x, y)), N, True),
        (loader(TensorDataset(x, y)), 10 * N, False),
        (Stream(), N, True),
    ):
        net = network("rank1")
        et.fit(net, stream, nll=NLL, epochs=1, num_examples=number)
        assert same(net.state_dict(), fitted.state_dict()) is equal


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
            net, shuffled(), nll=NLL, epochs=epochs, kl=KL,
            validation=et.Validation(shuffled()), **options,
        )  # fmt: skip
        return rows, net.state_dict()

    expected = run(5)
    run(2, checkpoint=tmp_path)
    assert same(run(5, checkpoint=tmp_path), expected)
    orders = [torch.cat([batch[0] for batch in shuffled()]) for _ in range(2)]
    assert torch.equal(*orders) is own  # else it would have proved nothing


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("named", [False, True])
def test_a_loader_of_several_inputs(named, split):
    nets, (x, y) = [reader("batch_ensemble") for _ in range(2)], data(reader)
    x = x if named else tuple(x.values())
    rows = [(rows_of(x, i, N), y[i]) for i in range(N)]
    et.fit(nets[0], x, y, nll_of, epochs=2, batch_size=B, split=split)
    et.fit(nets[1], loader(rows), nll=nll_of, epochs=2, split=split)
    assert same(nets[0].state_dict(), nets[1].state_dict())
    found, expected = et.predict(nets[0], DataLoader(rows, B), targets=True), et.predict(nets[0], x)
    torch.testing.assert_close(found["logits"], expected["logits"])


@pytest.mark.parametrize(("number", "learned"), [(18, 18), (20, 18), (22, 21)])
def test_members_that_split_see_different_examples(number, learned):
    seen, found = [], []

    def nll(outputs, targets):
        assert outputs.shape[:2] == targets.shape == (M, targets.shape[1])
        seen.append(targets)
        found.append(NLL(outputs, targets % 2))
        return found[-1]

    history = et.fit(
        network("batch_ensemble"), numbers(number, m), torch.arange(number), nll, epochs=1,
        batch_size=B, split=True,
    )  # fmt: skip
    torch.manual_seed(0)
    whole = [rows[: len(rows) // M * M] for rows in torch.randperm(number).split(B)]
    assert [rows.tolist() for rows in seen] == [r.view(M, -1).tolist() for r in whole if len(r)]
    sizes = [rows.numel() for rows in seen]
    assert sum(sizes) == learned
    mean = np.average([float(one.detach()) for one in found], weights=sizes)
    assert history[0]["nll"] == pytest.approx(mean, rel=1e-14)


def test_a_fingerprint_is_a_hash_of_all_numbers_in_order(monkeypatch):
    """As one call of it would be, whatever the pieces and the layout: checkpoints hold it."""
    x, y = numbers(m, N).T, torch.arange(N)
    known = hashlib.sha256()
    for name, value in (("(22, 5) torch.float64 ", x), ("(22,) torch.int64 ", y)):
        known.update(name.encode() + value.contiguous().numpy().tobytes())
    for size in (1, 13, 1000):
        monkeypatch.setattr(batches, "PIECE_SIZE", size)
        assert hash_tensors(x, y) == known.hexdigest()[:16]


@given(st.lists(st.integers(1, 7), max_size=4), st.booleans(), st.integers(1, 60), st.data())
def test_the_first_that_is_not_finite(shape, turned, size, data):
    x = torch.arange(float(np.prod(shape))).view(shape)
    x = x.movedim(0, -1) if turned and shape else x
    bad = data.draw(
        st.dictionaries(st.integers(0, x.numel() - 1), st.sampled_from("nan inf -inf".split()))
    )
    for i, word in bad.items():
        x[tuple(map(int, np.unravel_index(i, x.shape)))] = float(word)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "PIECE_SIZE", size)
        found = first_not_finite(x), first_not_finite(x, infinite_ok=True)
    places = [np.argwhere(~np.isfinite(x.numpy())), np.argwhere(np.isnan(x.numpy()))]
    assert found == tuple(tuple(map(int, some[0])) if len(some) else None for some in places)


@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.bfloat16, torch.complex64, torch.float8_e4m3fn, torch.int16]
)
def test_numbers_of_any_kind(dtype):
    for shape in ((3, 5), (), (3, 0)):
        assert first_not_finite(torch.ones(shape).to(dtype)) is None
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
    assert megabytes_above(hash_tensors, x.view(16, -1).mT) < 32  # not in the order of the file


TRAINED = {
    "batch_ensemble": lambda: et.mlp([5, 7, 3], "batch_ensemble", M),
    "rank1": lambda: et.mlp([5, 7, 3], "rank1", M),
    "model, batch_ensemble": lambda: et.ensemble(perceptron(), "batch_ensemble", M),
    "model, rank1": lambda: et.ensemble(perceptron(), "rank1", M),
    "model, deep_ensemble": lambda: et.ensemble(
        perceptron(), "deep_ensemble", M, initialize=perceptron
    ),
    "model, last_layer": lambda: et.ensemble(perceptron(), "last_layer", M, head="3"),
}


def perceptron():
    return nn.Sequential(nn.Linear(5, 7), nn.LayerNorm(7), nn.Tanh(), nn.Linear(7, 3))


def steps_of(case, rank=0, ranks=1):
    """Return the parameters after some steps on this process's part of the batch."""
    torch.manual_seed(0)  # so all processes draw the same noise, too
    x, y = torch.randn(14, 5, dtype=torch.float64), torch.randint(3, (14,))
    net = own = TRAINED[case]().double()
    if ranks > 1:
        net = DistributedDataParallel(net)
    x, y = x.chunk(ranks)[rank], y.chunk(ranks)[rank]
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(4):
        optimizer.zero_grad()
        et.negative_elbo(net, x, y, et.softmax_cross_entropy, num_examples=41).loss.backward()
        optimizer.step()
    return own.state_dict()


def in_a_group(rank, folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
    torch.save({case: steps_of(case, rank, 2) for case in TRAINED}, folder / f"{rank}.pt")
    dist.destroy_process_group()


@pytest.mark.large
@pytest.mark.skipif(not dist.is_available(), reason="this PyTorch has no torch.distributed")
def test_two_processes_with_half_of_a_batch_each_take_the_steps_of_one(tmp_path):
    with copied_process():
        torch.multiprocessing.start_processes(in_a_group, (tmp_path,), 2, start_method="fork")
    for rank in range(2):
        found = torch.load(tmp_path / f"{rank}.pt")
        for case in TRAINED:
            torch.testing.assert_close(found[case], steps_of(case), rtol=0, atol=1e-10)
