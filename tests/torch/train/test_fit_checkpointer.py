"""A training that was stopped or killed goes on from its folder to the same bits."""

import copy
import math
import os
import signal
from functools import partial, wraps

import pytest
import torch
from safetensors.torch import load_file
from torch.optim import lr_scheduler as schedulers

import ensedu.torch as et
from ensedu.torch.train.checkpoints import newest, save
from tests.torch.train.tools import (
    STEPS,
    B,
    converted,
    copied_process,
    data,
    keeping,
    network,
    same,
    told,
    train,
)

RUNS = {
    "deterministic": lambda: (network("batch_ensemble"), *data()),
    "rank-1": lambda: (network("rank1"), *data()),
    "converted": lambda: (converted("batch_ensemble"), *data(converted)),
}


def whole_run(name, folder, every, nll=et.softmax_cross_entropy):
    """Train, and return all that was: weights, moments, rows, and the files."""
    (net, x, y), made = RUNS[name](), []
    # Other labels than those learned: the best epoch is not the last.
    rows = train(
        net, x, y, nll, epochs=4, lr=0.2, weight_decay=0.1, kl=et.KLWeight(anneal=1),
        validation=et.Validation(x[13:], 1 - y[13:], patience=4),
        checkpoint=et.SaveTo(folder, every=every), optimizer=keeping(made),
    )  # fmt: skip
    best = int(min(rows, key=lambda row: row["validation"])["step"])
    kept = load_file(newest(folder).path)
    chosen = load_file(folder / "best" / f"step-{best:08}.safetensors")
    return net.state_dict(), made[0].state_dict()["state"], rows, kept, chosen


def until(calls, function):
    """A function that kills its process when it is called once more than so often."""
    left = iter(range(calls))

    @wraps(function)
    def counted(*args):
        if next(left, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*args)

    return counted


# In an epoch there are 4 steps and 2 minibatches of validation, then the best and the epoch are
# saved, and each waits for the disk once. Where the end comes is nothing to the kind of network:
# the cheapest dies at each, the others with a checkpoint to go on from.
@pytest.mark.large
@pytest.mark.parametrize(
    ("name", "every", "losses", "syncs"),
    [
        ("deterministic", 1, (0, 5, 6, 13), (0, 1, 2, 3)),
        ("deterministic", 3, (19,), (1, 2)),
        ("rank-1", 1, (13,), (2,)),
        ("converted", 3, (19,), (2,)),
    ],
)
def test_a_killed_training_goes_on_to_the_same_bits(tmp_path, name, every, losses, syncs):
    expected = whole_run(name, tmp_path / "whole", every)
    state, last = expected[0], expected[3]
    assert any(not same(state[key], last[f"model:{key}"]) for key in state)  # back to the best
    for death in [(call, 999) for call in losses] + [(999, call) for call in syncs]:
        for folder in (tmp_path / str(death), tmp_path / "again and again"):
            with copied_process():
                child = os.fork()
            if child == 0:
                os.fsync = until(death[1], os.fsync)
                whole_run(name, folder, every, until(death[0], et.softmax_cross_entropy))
                os._exit(0)
            ended = os.waitpid(child, 0)[1]
            assert ended == signal.SIGKILL or folder.name == "again and again"
        assert same(whole_run(name, tmp_path / str(death), every), expected), death
    for _ in range(2):  # once more there is nothing left to do
        assert same(whole_run(name, folder, every), expected)


def test_the_best_of_a_last_checkpoint_stays_while_others_come(tmp_path):
    """Stopped after three new bests, and then asked for no more than the last checkpoint has."""
    x, y = data()
    held = {"validation": et.Validation(x[:B], y[:B], patience=9)}
    settings = held | {"checkpoint": et.SaveTo(tmp_path, every=3)}
    falling, third, net = [9.0, 8.0, 7.0, 6.0, 5.0, 4.0], network("single"), network("single")
    train(third, x, y, told(falling), epochs=3, **held)
    with pytest.raises(IndexError):
        train(network("single"), x, y, told(falling[:5]), epochs=9, **settings)
    train(net, x, y, told([]), epochs=3, **settings)
    assert same(net.state_dict(), third.state_dict())
    assert newest(tmp_path / "best").step == 3 * STEPS  # which is what one loads
    # Going on, it comes to the bests that are there already.
    rows = train(net, x, y, told(falling[3:]), epochs=6, **settings)
    assert [row["validation"] for row in rows] == falling


def test_the_best_epochs_of_another_training_are_not_taken_for_its_own(tmp_path):
    """Neither those of other settings, which are an error, nor those from another start."""

    def bests(name, start=1.0, lr=0.2):
        """Train, and leave the best epochs alone, as a kill before a checkpoint does."""
        x, y = data()
        net, held = network("single"), et.Validation(x[13:], 1 - y[13:], patience=4)
        net[0].weight.data *= start
        train(net, x, y, epochs=4, lr=lr, validation=held, checkpoint=tmp_path / name)
        for path in (tmp_path / name).glob("step-*"):
            path.unlink()
        return net.state_dict(), load_file(newest(tmp_path / name / "best").path)

    bests("one")
    with pytest.raises(ValueError, match=r"with lr = 0.1, got .*/best/step-0000.* with 0.2"):
        bests("one", lr=0.1)
    assert same(bests("one", start=3), bests("two", start=3))


X, Y = data()
CONSTANT = partial(torch.optim.lr_scheduler.ConstantLR, factor=0.5)
SUM = partial(et.softmax_cross_entropy, reduction="sum")
#: What is another training, and what the error names.
OTHERS = {
    "batch_size": {"batch_size": 3}, "lr": {"lr": 0.1}, "fast_lr_factor": {"fast_lr_factor": 2.0},
    "weight_decay": {"weight_decay": 0.1}, "beta": {"kl": et.KLWeight(0.5)},
    "anneal": {"kl": et.KLWeight(anneal=1)}, "split": {"split": True}, "seed": {"seed": 1},
    "adversarial": {"adversarial": 0.1},
    "scheduler": {"scheduler": CONSTANT}, "member_gradient_factor": {"member_gradient_factor": 2.0},
    "autocast": {"autocast": torch.bfloat16}, "data": {"x": X + 1e-12}, "data = ": {"y": 1 - Y},
    "num_examples = 21": {"x": X[1:], "y": Y[1:]}, "score = mean": {"validation": (X, Y)},
    r"nll = softmax_cross_entropy\(reduction='sum'\)": {"nll": SUM},
    "optimizer's settings": {"optimizer": partial(torch.optim.AdamW, betas=(0.8, 0.9))},
    "0.r": {"net": network("rank1")}, "optimizer = Adam,": {"optimizer": torch.optim.Adam},
}  # fmt: skip


@pytest.mark.parametrize("words", OTHERS)
def test_another_training_in_the_folder_is_refused(tmp_path, words):
    own = {"net": network("batch_ensemble"), "x": X, "y": Y, "checkpoint": tmp_path}
    train(**own)
    net = OTHERS[words].get("net", own["net"])
    before = copy.deepcopy(net.state_dict())
    with pytest.raises(ValueError, match=words) as raised:
        train(**(own | OTHERS[words]))
    assert str(tmp_path / "step-00000004.safetensors") in str(raised.value)
    assert same(net.state_dict(), before)


def test_a_folder_that_cannot_be_made_or_has_others_is_refused_before_the_training(tmp_path):
    (tmp_path / "file").touch()
    save(tmp_path, network("single"), None, 3)
    words = "checkpoint must be a folder that can be made"
    for path in (tmp_path, tmp_path / "file", tmp_path / "file" / "a", "x" * 5000, "a\0b"):
        none = r"num_examples = 22, got .* with nothing"
        with pytest.raises(ValueError, match=none if path == tmp_path else words):
            train(network("single"), X, Y, told([]), checkpoint=path)


def test_no_checkpoint_holds_what_is_not_finite(tmp_path):
    net = network("single")

    def nll(outputs, targets):
        calls.append(1)
        if len(calls) == 8:  # the last step of the second epoch
            net[2].bias.register_hook(lambda grad: grad + math.inf)
        return et.softmax_cross_entropy(outputs, targets)

    calls = []
    with pytest.raises(FloatingPointError, match=r"2\.bias is not finite at step 8 \(epoch 2\)"):
        train(net, X, Y, nll, epochs=9, checkpoint=tmp_path)
    (found,) = tmp_path.glob("**/step-*")
    assert all(value.isfinite().all() for value in load_file(found).values())


MAKERS = {
    "steps at milestones": partial(schedulers.MultiStepLR, milestones=[3, 9], gamma=0.3),
    "cosine with restarts": partial(schedulers.CosineAnnealingWarmRestarts, T_0=3, T_mult=2),
    "one cycle": partial(schedulers.OneCycleLR, max_lr=0.3, total_steps=5 * STEPS),
    "a function": partial(schedulers.LambdaLR, lr_lambda=lambda step: 1 / (1 + step)),
    "one after the other": lambda optimizer: schedulers.SequentialLR(
        optimizer,
        [schedulers.LinearLR(optimizer, 0.1, total_iters=4),
         schedulers.ExponentialLR(optimizer, 0.9)],
        milestones=[4],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MAKERS)
def test_a_training_that_goes_on_takes_the_rates_of_one_that_was_not_stopped(tmp_path, name):
    def run(epochs, **options):
        net, made = network("rank1"), []
        rows = train(
            net, X, Y, epochs=epochs, lr=0.02, fast_lr_factor=3.0, kl=et.KLWeight(anneal=4),
            optimizer=keeping(made), **options,
        )  # fmt: skip
        return rows, net.state_dict(), made[-1].state_dict()

    kept = {"scheduler": MAKERS[name], "checkpoint": str(tmp_path)}
    expected = run(5, scheduler=MAKERS[name])
    assert not same(run(5)[1], expected[1])
    for epochs in (1, 3, 5):
        found = run(epochs, **kept)
    assert same(found, expected)
    with pytest.raises(ValueError, match="epochs must be at least the 5 of the checkpoint, got 4"):
        run(4, **kept)
