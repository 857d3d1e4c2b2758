"""A training that was stopped or killed goes on from its folder to the same bits."""

import copy
import math
import os
import signal
from functools import partial, wraps
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

import ensedu.torch as et
from ensedu.torch.train.checkpoints import newest, save
from tests.torch.train.processes import copied_process
from tests.torch.train.trained_networks import (
    STEPS,
    B,
    converted,
    data,
    keeping,
    network,
    same,
    told,
)


class Exploding(torch.optim.SGD):
    """Puts an infinity into a parameter at its eighth step, the last of the second epoch."""

    steps = 0

    def step(self, closure=None):
        super().step()
        self.steps += 1
        if self.steps == 8:
            self.param_groups[0]["params"][0].data[0, 0] = math.inf


@pytest.mark.parametrize("validated", [False, True])
def test_no_checkpoint_holds_what_is_not_finite(tmp_path, validated):
    x, y = data()
    net = network("batch_ensemble")
    held = {"validation": (x[:B], y[:B])} if validated else {}
    words = "validation is nan" if validated else r"0\.weight is not finite"
    with pytest.raises(FloatingPointError, match=rf"{words} at step 8 \(epoch 2\)"):
        et.fit(
            net, x, y, et.softmax_cross_entropy, epochs=9, batch_size=B, checkpoint=tmp_path,
            optimizer=Exploding, **held,
        )  # fmt: skip
    found = sorted(str(p.relative_to(tmp_path)) for p in tmp_path.glob("**/step-*"))
    name = "step-00000004.safetensors"
    assert found == ([f"best/{name}"] if validated else []) + [name]
    for name in found:
        values = load_file(tmp_path / name)
        assert all(value.isfinite().all() for value in values.values())


RUNS = {
    "deterministic": lambda: (network("batch_ensemble"), *data()),
    "rank-1": lambda: (network("rank1"), *data()),
    "converted": lambda: (converted("batch_ensemble"), *data(images=True)),
}


def whole_run(name, folder, every, nll=et.softmax_cross_entropy, epochs=4):
    """Train, and return all that was: weights, moments, rows, and the files."""
    net, x, y = RUNS[name]()
    made = []
    # Other labels than those learned: the best epoch is not the last.
    rows = et.fit(
        net, x, y, nll, epochs=epochs, batch_size=B, lr=0.2, weight_decay=0.1,
        kl=et.KLWeight(anneal=1), validation=et.Validation(x[13:], 1 - y[13:], patience=4),
        checkpoint=et.SaveTo(folder, every=every), optimizer=keeping(made),
    )  # fmt: skip
    kept = load_file(newest(folder).path)
    best = min(rows, key=lambda row: row["validation"])
    chosen = load_file(Path(folder, "best", f"step-{int(best['step']):08}.safetensors"))
    return net.state_dict(), made[0].state_dict()["state"], rows, kept, chosen


def kill():
    os.kill(os.getpid(), signal.SIGKILL)


def killed_while_saving(call, run):
    """Run until the disk is waited for once more than so often: once a checkpoint."""
    sync, calls = os.fsync, []

    def counted(file):
        calls.append(file)
        if len(calls) > call:
            kill()
        sync(file)

    os.fsync = counted
    run(et.softmax_cross_entropy)


def killed_in_training(call, run):
    """Run until the loss is asked for once more than so often, for training or validation."""
    calls = []

    @wraps(et.softmax_cross_entropy)
    def nll(outputs, targets):
        calls.append(1)
        if len(calls) > call:
            kill()
        return et.softmax_cross_entropy(outputs, targets)

    run(nll)


def in_a_process_of_its_own(function, *args):
    with copied_process():
        child = os.fork()
    if child == 0:
        try:
            function(*args)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) == signal.SIGKILL


# In an epoch there are 4 steps and 2 minibatches of validation, then the best and the epoch are
# saved, at a sync each. Where the end comes is nothing to the kind of network: the cheapest dies at
# each, the others with a checkpoint to go on from.
@pytest.mark.large
@pytest.mark.parametrize(
    ("name", "every", "steps", "syncs"),
    [
        ("deterministic", 1, (0, 5, 6, 13), (0, 1, 2, 3)),
        ("deterministic", 3, (19,), (1, 2, -1)),
        ("rank-1", 1, (13,), (2,)),
        ("converted", 3, (19,), (-1,)),
    ],
)
def test_a_killed_training_goes_on_to_the_same_bits(
    tmp_path, monkeypatch, name, every, steps, syncs
):
    sync, files = os.fsync, []
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: files.append(sync(file)))
        expected = whole_run(name, tmp_path / "whole", every)
    state, _, _, last, _ = expected
    name_of_one = next(iter(state))
    assert not same(state[name_of_one], last[f"model:{name_of_one}"])  # it went back to the best
    deaths = [(killed_in_training, call) for call in steps]
    deaths += [(killed_while_saving, call % len(files)) for call in syncs]
    for i, (death, call) in enumerate(deaths):
        folder = tmp_path / str(i)

        def run(nll, folder=folder):
            whole_run(name, folder, every, nll)

        in_a_process_of_its_own(death, call, run)
        assert same(whole_run(name, folder, every), expected), (death.__name__, call)
    # Once more there is nothing left to do, and the moments are those of the last epoch.
    assert same(whole_run(name, folder, every), expected)


@pytest.mark.large
def test_a_training_killed_again_and_again_arrives(tmp_path):
    expected = whole_run("rank-1", tmp_path / "whole", 1)

    def run(nll):
        whole_run("rank-1", tmp_path / "cut", 1, nll)

    for call in (8, 8, 2, 8):
        in_a_process_of_its_own(killed_in_training, call, run)
    assert same(whole_run("rank-1", tmp_path / "cut", 1), expected)


def test_the_best_of_a_last_checkpoint_stays_while_others_come(tmp_path):
    """Killed after three new bests, and then asked for no more than the last checkpoint has."""
    x, y = data()
    held = {"batch_size": B, "validation": et.Validation(x[:B], y[:B], patience=9)}
    settings = held | {"checkpoint": et.SaveTo(tmp_path, every=3)}
    falling, third = [9.0, 8.0, 7.0, 6.0, 5.0, 4.0], network("single")
    et.fit(third, x, y, told(falling), epochs=3, **held)
    with pytest.raises(IndexError):
        et.fit(network("single"), x, y, told(falling[:5]), epochs=9, **settings)
    net = network("single")
    et.fit(net, x, y, told([]), epochs=3, **settings)
    assert same(net.state_dict(), third.state_dict())
    assert newest(tmp_path / "best").step == 3 * STEPS  # which is what one loads
    # Going on, it comes to the bests that are there already.
    rows = et.fit(net, x, y, told(falling[3:]), epochs=6, **settings)
    assert [row["validation"] for row in rows] == falling


def best_of_a_run_without_checkpoints(folder, net, lr=0.2):
    """Train, and leave the weights of the best epochs alone, as a kill before a checkpoint does."""
    x, y = data()
    et.fit(
        net, x, y, et.softmax_cross_entropy, epochs=4, batch_size=B, lr=lr,
        validation=et.Validation(x[13:], 1 - y[13:], patience=4), checkpoint=folder,
    )  # fmt: skip
    for path in folder.glob("step-*"):
        path.unlink()
    return net.state_dict()


def test_the_best_epochs_of_another_training_are_not_taken_for_its_own(tmp_path):
    """Neither those of other settings, which are an error, nor those from another start."""
    best_of_a_run_without_checkpoints(tmp_path / "one", network("single"))
    net = network("single")
    before = copy.deepcopy(net.state_dict())
    with pytest.raises(
        ValueError, match=r"with lr = 0.1, got .*/best/step-0000\d+.safetensors with 0.2"
    ):
        best_of_a_run_without_checkpoints(tmp_path / "one", net, lr=0.1)
    assert same(net.state_dict(), before)
    starts = [network("single") for _ in range(2)]
    for start in starts:
        start[0].weight.data *= 3
    found = best_of_a_run_without_checkpoints(tmp_path / "one", starts[0])
    assert same(found, best_of_a_run_without_checkpoints(tmp_path / "two", starts[1]))
    kept = [load_file(newest(tmp_path / name / "best").path) for name in ("one", "two")]
    assert same(kept[0], kept[1])


def test_more_epochs_go_on_and_fewer_are_refused(tmp_path):
    x, y = data()
    net, other = network("rank1"), network("rank1")
    settings = {"batch_size": B, "lr": 0.05, "kl": et.KLWeight(anneal=4)}
    first = et.fit(
        net, x, y, et.softmax_cross_entropy, epochs=2, checkpoint=str(tmp_path), **settings
    )
    net = network("rank1")
    rows = et.fit(net, x, y, et.softmax_cross_entropy, epochs=5, checkpoint=tmp_path, **settings)
    assert rows[:2] == first
    assert rows == et.fit(other, x, y, et.softmax_cross_entropy, epochs=5, **settings)
    assert same(net.state_dict(), other.state_dict())
    with pytest.raises(ValueError, match="epochs must be at least the 5 of the checkpoint, got 4"):
        et.fit(net, x, y, et.softmax_cross_entropy, epochs=4, checkpoint=tmp_path, **settings)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("batch_size", 3), ("lr", 0.1), ("fast_lr_factor", 2.0), ("weight_decay", 0.1),
        ("beta", 0.5), ("anneal", 1), ("split", True), ("seed", 1), ("adversarial", 0.01),
        ("drop_last", True), ("clip", 1.0), ("autocast", torch.bfloat16),
        ("kl_weights", "geometric"),
        ("scheduler", partial(torch.optim.lr_scheduler.ConstantLR, factor=0.5)),
    ],
)  # fmt: skip
def test_another_training_in_the_folder_is_refused(tmp_path, name, value):
    own = {"beta": "beta", "anneal": "anneal", "kl_weights": "minibatches"}
    other = {"kl": et.KLWeight(**{own[name]: value})} if name in own else {name: value}
    x, y = data()
    net = network("batch_ensemble")
    settings = {"epochs": 1, "batch_size": B, "checkpoint": tmp_path}
    et.fit(net, x, y, et.softmax_cross_entropy, **settings)
    before = copy.deepcopy(net.state_dict())
    with pytest.raises(ValueError, match=rf"checkpoint must be of a training with {name} = "):
        et.fit(net, x, y, et.softmax_cross_entropy, **(settings | other))
    assert same(net.state_dict(), before)


def test_other_data_nets_and_optimizers_in_the_folder_are_refused(tmp_path):
    x, y = data()
    settings = {"epochs": 1, "batch_size": B, "checkpoint": tmp_path}
    et.fit(network("batch_ensemble"), x, y, et.softmax_cross_entropy, **settings)
    for args, options, words in (
        ((network("batch_ensemble"), x[1:], y[1:]), {}, "num_examples = 21"),
        ((network("batch_ensemble"), x, y), {"validation": (x, y)}, "score = mean"),
        ((network("rank1"), x, y), {}, "0.r"),
        ((network("batch_ensemble"), x, y), {"optimizer": torch.optim.SGD}, "AdamW"),
    ):
        with pytest.raises(ValueError, match=words):
            et.fit(*args, et.softmax_cross_entropy, **settings, **options)
    (tmp_path / "other").mkdir()
    save(tmp_path / "other", network("single"), None, 3)
    with pytest.raises(ValueError, match=r"num_examples = 22, got .* with nothing"):
        et.fit(
            network("single"), x, y, et.softmax_cross_entropy,
            **(settings | {"checkpoint": tmp_path / "other"}),
        )  # fmt: skip


def test_a_folder_that_cannot_be_made_is_refused_before_the_training(tmp_path):
    x, y = data()
    (tmp_path / "file").touch()
    asked = []

    def nll(outputs, targets):
        asked.append(1)
        return et.softmax_cross_entropy(outputs, targets)

    for path in (tmp_path / "file", tmp_path / "file" / "a", "x" * 5000, "a\0b"):
        with pytest.raises(ValueError, match="checkpoint must be a folder that can be made"):
            et.fit(network("single"), x, y, nll, epochs=1, batch_size=B, checkpoint=path)
    assert not asked


@pytest.mark.bad_input
def test_a_checkpoint_tells_other_data_and_another_loss(tmp_path):
    x, y = data()
    nll, other = (partial(et.softmax_cross_entropy, reduction=r) for r in ("mean", "sum"))

    def train(x, y, nll, held):
        net = network("batch_ensemble")
        return et.fit(net, x, y, nll, epochs=2, batch_size=B, validation=held, checkpoint=tmp_path)

    held = x[:9], y[:9]
    train(x, y, nll, held)
    train(x.clone(), y.clone(), nll, held)
    for call, word in (
        (lambda: train(x + 1e-12, y, nll, held), "data = "),
        (lambda: train(x, 1 - y, nll, held), "data = "),
        (lambda: train(x, y, nll, (x[1:10], y[1:10])), "data = "),
        (lambda: train(x, y, other, held), r"nll = softmax_cross_entropy\(reduction='sum'\)"),
    ):
        with pytest.raises(ValueError, match=f"checkpoint must be of a training with {word}"):
            call()


def test_an_older_checkpoint_that_is_taken_is_checked_too(tmp_path):
    x, y = data()
    settings = {"epochs": 2, "batch_size": B, "checkpoint": tmp_path}
    et.fit(network("single"), x, y, et.softmax_cross_entropy, **settings)
    extra = {"settings": newest(tmp_path).extra["settings"]}
    os.truncate(newest(tmp_path).path, 5000)
    (tmp_path / "step-00000004.safetensors").unlink()
    save(tmp_path, network("single"), None, 4, extra=extra | {"rows": []})
    net = network("single")
    before = copy.deepcopy(net.state_dict())
    with (
        pytest.warns(UserWarning, match="step-00000008.safetensors cannot be read"),
        pytest.raises(ValueError, match=r"a list of rows, got \[\]"),
    ):
        et.fit(net, x, y, et.softmax_cross_entropy, **settings)
    assert same(net.state_dict(), before)
