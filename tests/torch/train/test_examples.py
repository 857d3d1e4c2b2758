"""Examples dealt out: to all members, or to each its own part."""

import copy
import hashlib

import pytest
import torch
from torch import nn

import ensedu.torch as et
from ensedu.torch.train import pieces
from ensedu.torch.train.examples import fingerprint
from tests.torch.train.trained_networks import B, M, N, m, n, network, numbers, same


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


def test_a_fingerprint_is_a_hash_of_all_numbers_in_order(monkeypatch):
    """As one call of it would be, whatever the pieces and the layout: checkpoints hold it."""
    x, y = numbers(m, N).T, torch.arange(N)
    known = hashlib.sha256()
    for name, value in (("(22, 5) torch.float64 ", x), ("(22,) torch.int64 ", y)):
        known.update(name.encode() + value.contiguous().numpy().tobytes())
    for size in (1, 13, 1000):
        monkeypatch.setattr(pieces, "PIECE", size)
        assert fingerprint(x, y) == known.hexdigest()[:16]


def test_without_a_split_all_members_see_all():
    x, seen = numbers(N, m), []

    def nll(outputs, targets):
        seen.append(targets)
        assert outputs.shape == (M, len(targets), 2)
        return et.softmax_cross_entropy(outputs, targets % 2)

    et.fit(network("batch_ensemble"), x, torch.arange(N), nll, epochs=1, batch_size=B)
    assert torch.equal(torch.cat(seen).sort().values, torch.arange(N))


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


def test_targets_without_an_axis_are_split_too():
    x, y = numbers(N, m), numbers(N, seed=1)
    nets = [et.mlp([m, n, 1], "batch_ensemble", M, dtype=torch.float64) for _ in range(2)]
    nets[1].load_state_dict(nets[0].state_dict())
    for net, targets in zip(nets, (y, y[:, None]), strict=True):
        et.fit(net, x, targets, et.half_squared_error, epochs=2, batch_size=B, split=True)
    assert same(nets[0].state_dict(), nets[1].state_dict())
