"""Each thread has its own pass: one converted network in several threads at once."""

import copy
import pickle

import pytest
import torch
from torch import nn

import ensedu.torch as et
from ensedu.methods import METHODS, size_option
from tests.torch.threads import Meet, at_once, meeting
from tests.torch.whole.cases import B, M, numbers, seeded

OPTIONS = {
    "deep_ensemble": {"initialize": lambda: model()},
    "rank1": {"posterior_std": 0.3},
    "mean_field": {"posterior_std": 0.3},
    "last_layer": {"head": "7"},
}
DRAWING = ("rank1", "mean_field", "mc_dropout")


def model():
    """A layer and a dropout on either side of where threads meet."""
    return nn.Sequential(
        nn.Linear(7, 11), nn.Dropout(0.4), nn.Tanh(), Meet(),
        nn.Linear(11, 5), nn.Tanh(), nn.Dropout(0.4), nn.Linear(5, 2),
    ).double()  # fmt: skip


def converted(method):
    torch.manual_seed(0)
    net = et.ensemble(model(), method, **size_option(method, M), **OPTIONS.get(method, {}))
    net.comparing = False
    return net.eval()


@pytest.mark.parametrize("sizes", [(B, B), (B, 3)])
@pytest.mark.parametrize("method", [key for key in METHODS if key != "single"])
def test_threads_at_once_get_what_each_gets_alone(method, sizes, monkeypatch):
    net = converted(method)
    inputs = [(i + 1) * numbers(size, 7) for i, size in enumerate(sizes)]
    noises = [net.noise(seeded(i), x) if method in DRAWING else None for i, x in enumerate(inputs)]
    runs = [
        lambda x=x, noise=noise: et.predict(net, x, noise=noise)
        for x, noise in zip(inputs, noises, strict=True)
    ]
    alone = [run() for run in runs]
    meeting(monkeypatch, len(runs))
    for _ in range(3):
        for y, expected in zip(at_once(*runs), alone, strict=True):
            assert torch.equal(y, expected)


@pytest.mark.compiled
def test_a_compiled_net_runs_in_threads_without_another_graph():
    net = converted("rank1")
    whole = torch.compile(net, backend="eager", fullgraph=True)
    inputs = [(i + 1) * numbers(B, 7) for i in range(2)]
    noises = [net.noise(seeded(i)) for i in range(2)]
    expected = [net(x, noise=noise) for x, noise in zip(inputs, noises, strict=True)]
    whole(inputs[0], noise=noises[0])

    def run(i):
        return whole(inputs[i], noise=noises[i])

    # Once for both: the stance is the process's, and the last to leave would restore the other's.
    with torch.compiler.set_stance("fail_on_recompile"):
        found = at_once(lambda: run(0), lambda: run(1))
    for y, known in zip(found, expected, strict=True):
        torch.testing.assert_close(y, known)


def test_a_copy_made_in_a_pass_is_in_none(monkeypatch):
    net, x, copies = converted("rank1"), numbers(B, 7), []

    def copied():
        copies.append(copy.deepcopy(net))
        copies.append(pickle.loads(pickle.dumps(net)))

    monkeypatch.setattr(Meet, "during", staticmethod(copied))
    noise = net.noise(seeded())
    y = net(x, noise=noise)
    monkeypatch.undo()
    assert len(copies) == 2
    for one in copies:
        assert one._passes.running is None and not one._passes.last()
        assert one._passes.leading == net._passes.leading
        assert torch.equal(one(x, noise=noise), y)


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")
def test_a_thread_without_a_pass_answers_for_those_with_one():
    """As the thread in which Torch computes the gradients of a GPU, with a checkpoint inside."""
    net, x = converted("rank1"), numbers(3 * B, 7)
    inside = net.model[0]
    drawn, given = lambda: net(x[:B]), lambda: net(x[:B], noise=net.noise(seeded()))

    def refused(run):
        def call():
            run()
            with pytest.raises(RuntimeError, match="0 is called outside of a pass, after one that"):
                inside(x)

        return call

    drawn()
    at_once(lambda: inside(x))  # draws, as that pass did
    at_once(refused(given))
    inside(x)  # that was another thread's pass
    given()
    at_once(refused(lambda: None))
    at_once(lambda: (drawn(), inside(x)))
    drawn()
    at_once(lambda: inside(x))  # threads that are no more count for nothing
