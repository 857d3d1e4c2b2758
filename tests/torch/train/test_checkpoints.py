"""What a checkpoint holds, of which net and optimizer, and what fits it."""

import os
import signal

import numpy as np
import pytest
import torch
from torch import nn

import ensedu.torch as et
from ensedu.torch.train import folders
from ensedu.torch.train.checkpoints import Checkpoint, load, newest, resume, save
from tests.torch.train.processes import copied_process
from tests.torch.train.saved_runs import CLASSES, OPTIMIZERS, Net, Run, assert_same, names_in


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_run_goes_on_as_if_nothing_had_happened(tmp_path, optimizer, dtype):
    whole = Run(optimizer, dtype).train(12).state()
    first = Run(optimizer, dtype).train(7)
    path = first.save(tmp_path, 7, extra={"seed": 5, "losses": [0.1, float(2**-70)]})
    first.train(2)  # of which nothing was saved

    again = Run(optimizer, dtype, seed=99).train(3)  # what it has done must not count
    told = again.resume(tmp_path)
    assert told == Checkpoint(7, {"seed": 5, "losses": [0.1, 2**-70]}, path)
    assert told == newest(tmp_path)
    assert_same(again.train(5).state(), whole)


def killed(folder):
    run = Run().train(7)
    run.save(folder, 7)
    run.train(2)
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.large
def test_a_run_goes_on_after_a_kill(tmp_path):
    whole = Run().train(12).state()
    process = torch.multiprocessing.get_context("fork").Process(target=killed, args=(tmp_path,))
    with copied_process():
        process.start()
    process.join(180)
    assert process.exitcode == -signal.SIGKILL
    again = Run(seed=99)
    assert again.resume(tmp_path).step == 7
    assert_same(again.train(5).state(), whole)


def test_what_is_saved_may_be_more_than_what_is_wanted(tmp_path):
    run = Run().train(3)
    path = run.save(tmp_path, 3)
    other = Run(seed=99)
    noise = other.generators["rows"].get_state()
    assert load(path, other.net) == Checkpoint(3, {}, path)
    assert_nets_equal(run.net, other.net)
    assert not other.optimizer.state
    assert torch.equal(other.generators["rows"].get_state(), noise)
    save(tmp_path, run.net, None, 4)
    assert resume(tmp_path, Run(seed=98).net).step == 4


def assert_nets_equal(one, other):
    torch.testing.assert_close(one.state_dict(), other.state_dict(), rtol=0, atol=0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: et.mlp([5, 7, CLASSES], "rank1", 3),
        lambda: et.ensemble(Net(), "deep_ensemble", 2, shared=["middle"], initialize=Net),
        lambda: et.ensemble(nn.Sequential(nn.Linear(5, 7), nn.Linear(7, 2)), "batch_ensemble", 3),
        lambda: nn.utils.parametrizations.weight_norm(nn.Linear(5, 7)).bfloat16(),
        lambda: nn.LSTM(5, 7, batch_first=True).half(),
    ],
)
def test_any_module(tmp_path, make):
    net, other = make(), make()
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.fill_(2.0)
    path = save(tmp_path, net, torch.optim.Adam(net.parameters()), 1)
    load(path, other, torch.optim.Adam(other.parameters()))
    assert_nets_equal(net, other)


def test_settings_of_the_machine_stay(tmp_path):
    path = Run().train(1).save(tmp_path, 1)
    other = Run(seed=99)
    other.groups()[0] |= {"foreach": True, "eps": 1.0}
    other.load(path)
    kept = {key: other.groups()[0][key] for key in ("foreach", "eps")}
    assert kept == {"foreach": True, "eps": 1e-8}


@pytest.mark.parametrize("kind", [float, np.float32, torch.tensor])
@pytest.mark.parametrize("own", [float, np.float32, torch.tensor])
def test_a_learning_rate_is_kept_whatever_holds_the_number(tmp_path, kind, own):
    """Where the optimizer has a tensor, as one that is compiled does, it goes on having one."""
    run = Run()
    run.groups()[0] |= {"lr": kind(0.5), "betas": (kind(0.25), 0.75)}
    path = run.save(tmp_path, 1)
    other = Run(seed=99)
    other.groups()[0] |= {"lr": own(0.125), "betas": (own(0.0), 0.0)}
    other.load(path)
    group = other.groups()[0]
    assert (group["lr"], group["betas"]) == (0.5, (0.25, 0.75))
    assert isinstance(group["lr"], torch.Tensor) == (own is torch.tensor)
    assert isinstance(group["betas"][0], torch.Tensor) == (own is torch.tensor)


class Wide(Net):
    def __init__(self):
        super().__init__(11)


class Other(Net):
    def __init__(self):
        super().__init__()
        self.more = nn.Linear(2, 3, bias=False)


class Integers(Net):
    def __init__(self):
        super().__init__()
        self.numbers = self.numbers.int()


MISFITS = {
    "wide": (
        lambda: Run(net=Wide),
        "model:turned is (7, 3) torch.float64; accepted is (11, 3) torch.float64 (differing are "
        "model:turned, model:first.weight, model:first.bias, model:norm.weight",
    ),
    "other": (
        lambda: Run(net=Other),
        "model:more.weight is missing; accepted is (3, 2) torch.float64 (differing are "
        "model:more.weight, group:more.weight)",
    ),
    "buffer": (
        lambda: Run(net=Integers),
        "model:numbers is (3,) torch.int64; accepted is (3,) torch.int32 (differing are "
        "model:numbers)",
    ),
    "dtype": (
        lambda: Run(dtype=torch.float32),
        "model:scale is () torch.float64; accepted is () torch.float32",
    ),
    "optimizer": (
        lambda: Run("sgd"),
        "optimizer is Adam; accepted is SGD (differing are optimizer)",
    ),
    "groups": (
        lambda: Run("two groups"),
        "group:scale is 0; accepted is 1 (differing are group:scale, group:first.bias, "
        "group:norm.weight, group:norm.bias, group:middle.bias)",
    ),
    "generator": (
        lambda: with_generator(Run()),
        "generator:more is missing; accepted is (5056,) torch.uint8 (differing are generator:more)",
    ),
}


def with_generator(run):
    run.generators["more"] = torch.Generator()
    return run


@pytest.mark.parametrize("case", MISFITS)
def test_what_does_not_fit_changes_nothing(tmp_path, case):
    make, words = MISFITS[case]
    path = Run(seed=99).train(1).save(tmp_path, 1)
    other = make()
    other.train(2)
    unchanged = other.state()
    for call in (lambda: other.load(path), lambda: other.resume(tmp_path)):
        with pytest.raises(ValueError, match="path must be a checkpoint of such") as raised:
            call()
        assert words in str(raised.value)
        assert_same(other.state(), unchanged)


def test_without_its_optimizer_or_generators(tmp_path):
    run = Run().train(1)
    path = save(tmp_path, run.net, None, 1)
    with pytest.raises(ValueError, match="optimizer is missing; accepted is Adam"):
        load(path, run.net, run.optimizer)
    with pytest.raises(ValueError, match=r"generator:rows is missing; accepted is"):
        load(path, run.net, generators={"rows": torch.Generator()})


class Listing(torch.optim.SGD):
    def step(self):
        for p in self.param_groups[0]["params"]:
            self.state[p]["seen"] = [1, 2]


class Extra(nn.Linear):
    def get_extra_state(self):
        return {"a": 1}


@pytest.mark.bad_input
def test_bad_arguments(tmp_path):
    run = Run().train(1)
    net, optimizer = run.net, run.optimizer
    listing = Listing(net.parameters())
    listing.step()
    sparse, wide = nn.Linear(2, 3), nn.Linear(2, 3)
    sparse.register_buffer("s", torch.eye(3).to_sparse())
    wide.register_buffer("s", torch.eye(3, dtype=torch.complex128))
    cases = [
        (lambda: save(None, net, optimizer, 1), TypeError, "folder must be a path, got None"),
        (lambda: resume(5, net), TypeError, "folder must be a path, got 5"),
        (lambda: newest(b"a"), TypeError, "folder must be a path, got b'a'"),
        (lambda: load(None, net), TypeError, "path must be a path, got None"),
        (lambda: save(tmp_path, None, optimizer, 1), TypeError, "net must be a torch.nn.Module"),
        (lambda: save(tmp_path, net, "adam", 1), TypeError, "optimizer must be a torch.optim.Opt"),
        (lambda: save(tmp_path, net, optimizer, 0), ValueError, "step must be a positive integer"),
        (
            lambda: save(tmp_path, net, optimizer, True),
            TypeError,
            "step must be a positive integer",
        ),
        (lambda: save(tmp_path, net, optimizer, 1.0), TypeError, "step must be a positive integer"),
        (
            lambda: save(tmp_path, net, optimizer, 10**30),
            ValueError,
            "step must be a positive integer",
        ),
        (lambda: save(tmp_path, net, optimizer, 1, keep=0), ValueError, "keep must be a positive"),
        (lambda: save(tmp_path, net, optimizer, 1, extra=[1]), TypeError, "extra must be a dict"),
        (
            lambda: save(tmp_path, net, optimizer, 1, extra={"a": {1, 2}}),
            TypeError,
            "extra must hold what JSON can hold",
        ),
        (
            lambda: save(tmp_path, net, optimizer, 1, generators={"a": 5}),
            TypeError,
            "generators must be a dict of torch.Generator, got {'a': 5}",
        ),
        (
            lambda: save(tmp_path, net, optimizer, 1, generators=[torch.Generator()]),
            TypeError,
            "generators must be a dict of torch.Generator",
        ),
        (
            lambda: save(tmp_path, net, Run().optimizer, 1),
            ValueError,
            "optimizer must have parameters of net alone, got one of shape () in group 0",
        ),
        (
            lambda: save(tmp_path, net, listing, 1),
            TypeError,
            "must keep dense tensors with values, got list for optimizer.seen:scale",
        ),
        (
            lambda: save(tmp_path, Extra(2, 3), None, 1),
            TypeError,
            "must keep dense tensors with values, got dict for model:_extra_state",
        ),
        (
            lambda: save(tmp_path, nn.Linear(2, 3, device="meta"), None, 1),
            TypeError,
            "must keep dense tensors with values, got a meta tensor for model:weight",
        ),
        (lambda: save(tmp_path, sparse, None, 1), TypeError, "got a tensor of torch.sparse_coo"),
        (
            lambda: save(tmp_path, wide, None, 1),
            TypeError,
            "must keep tensors of dtypes that safetensors knows, got ",
        ),
        (
            lambda: load(tmp_path / "step-00000007", net),
            FileNotFoundError,
            "step-00000007/checkpoint.json",
        ),
    ]
    for call, error, words in cases:
        with pytest.raises(error) as raised:
            call()
        assert words in str(raised.value)
        assert type(raised.value) is error
    assert not names_in(tmp_path)


def test_a_forged_generator_changes_nothing(tmp_path):
    path, table, values = folders.read(Run(seed=99).train(1).save(tmp_path, 1))
    values["generator:torch"] = torch.zeros_like(values["generator:torch"])
    del table["values"]  # which are others now
    forged = folders.write(path.with_name("step-00000002"), table | {"step": 2}, values, 3)
    other = Run().train(2)
    unchanged = other.state()
    with pytest.raises(ValueError, match="has no state of generator 'torch'"):
        other.load(forged)
    assert_same(other.state(), unchanged)
