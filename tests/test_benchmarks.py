"""The benchmark's own parts: how it times and weighs."""

import copy
import os
import subprocess
import sys
from pathlib import Path

import torch

from benchmarks import measure, whole
from ensedu.torch import ensemble


def test_all_runs_take_part_in_each_round_and_ratios_are_those_of_a_round():
    calls = []
    runs = {name: lambda n=name: calls.append(n) for name in "abc"}
    times = measure.side_by_side(runs, seconds=0, least_rounds=7)
    assert {name: len(series) for name, series in times.items()} == dict.fromkeys("abc", 7)
    assert set(calls) == set("abc")
    over = measure.ratios({"limit": [1.0, 2.0, 4.0], "other": [2.0, 6.0, 4.0]}, "limit")
    assert over == {"limit": [1.0, 1.0, 1.0], "other": [1.5, 2.0, 2.5]}


def test_peak_counts_what_is_held_at_once():
    x = torch.zeros(1000)

    def run():
        y = x + 1
        z = y + 1
        del y
        return z + 1  # z and this: never three

    assert measure.peak_bytes(run) // 4000 == 2


def test_peak_counts_gradients_that_are_forgotten_before():
    weight = torch.zeros(1000, requires_grad=True)

    def run():
        weight.grad = None
        (weight * 2).sum().backward()

    def forget():
        weight.grad = None

    # A gradient that is still there when the run begins would hide the new one.
    assert measure.peak_bytes(run, forget=forget) >= 4000


def test_the_layers_import_with_the_stand_in_for_jaxtyping():
    root = Path(__file__).parents[1]
    folder = root / "benchmarks" / "stand_in"
    code = (
        "import jaxtyping, ensedu.torch; import workshop.running.machine; print(jaxtyping.__file__)"
    )
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), str(root)])}
    ran = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert ran.stdout.strip() == str(folder / "jaxtyping.py"), ran.stderr


def test_a_whole_model_takes_the_same_step_in_turn_mapped_and_stacked():
    torch.manual_seed(0)
    x, labels = torch.randn(5, 3, 8, 8), torch.randint(10, (5,))
    nets = [whole.resnet18(8) for _ in range(3)]
    net = ensemble(nets[0], "deep_ensemble", 3, initialize=iter(copy.deepcopy(nets)).__next__)
    ways = [whole.InTurn(nets), whole.Mapped(copy.deepcopy(nets)), whole.Ensemble(net)]
    before = [p.detach().clone() for p in ways[0].parameters()]
    for way in ways:
        way.step(x, labels, torch.optim.SGD(way.parameters(), lr=0.1))
    in_turn, mapped, stacked = (list(way.parameters()) for way in ways)
    mapped = [p[i] for i in range(3) for p in mapped]
    for start, *ends in zip(before, in_turn, mapped, stacked, strict=True):
        assert not torch.equal(start, ends[0])
        for end in ends[1:]:
            torch.testing.assert_close(end, ends[0], rtol=1e-3, atol=1e-5)
