""" "Copy as Python": its scripts train the networks of the page on the page's points."""

import contextlib
import io
import re
import subprocess
import sys

import numpy as np
import pytest
import torch

from ensedu import counting
from ensedu.methods import size_option
from tests.browser import live_page
from workshop.page.live import trainer_scripts, trainer_state

STEPS = 60
OTHER = live_page.OTHER | {"kl_weight": 0.1}
USUAL = live_page.USUAL | {
    "task": "regression", "data": "step", "noise": 0.3, "ensemble_size": 3, "width": 7,
    "hidden_layers": 2, "kl_weight": 0.01,
}  # fmt: skip


def case(method, **rest):
    M = 1 if method == "single" else 3
    start = trainer_state.STARTS[method][0]
    return {**USUAL, "method": method, "start": start, "ensemble_size": M, **rest}


PLANE = {"task": "classification", "data": "moons"}
FORMS = {"mean": {}, "variance": {"head": "variance", "loss": "mixture"}, "classes": PLANE}
# What is trained, by a name, or by words that its script has.
CASES = {
    f"{method}-{name}": case(method, **form)
    for method in trainer_state.STARTS
    for name, form in FORMS.items()
}
CASES |= {
    'init="signs", prior=Normal(1.0, 1), posterior_std=0.01': case("rank1", start="signs"),
    'init="normal", init_std=0.5, activation="tanh"':
        case("batch_ensemble", start="normal-0.5", activation="tanh"),
    "samples=3, p=0.05": case("mc_dropout"),
    "kl=KLWeight(0.01)": case("mean_field"),
    'posterior_std=0.1, activation="tanh", parametrization="ntk"':
        case("mean_field", parametrization="ntk", activation="tanh", initial_std=0.1),
    "[2, 7, 7, 7, 3]": case("deep_ensemble", **PLANE | {"data": "blobs"}, hidden_layers=3),
    "weight_decay=0.1": case("batch_ensemble", weight_decay=0.1, hidden_layers=1),
    "two-sides": case("deep_ensemble", start="same", other=OTHER),
    "two-alike": case("rank1", start="same", other={**OTHER, "method": "rank1", "start": "same"}),
    "one-point": case("deep_ensemble", data="own", points=[[0.5, 1]], noise=1),
    "many-points": case("single", data="own", points=[[i / 125, i % 3] for i in range(500)]),
}  # fmt: skip


@pytest.fixture(scope="module")
def copied(blank):
    """For each case its state with points, and the script that is copied after some steps."""
    blank.add_script_tag(content=trainer_scripts.BUNDLE.classic())
    script = """([states, steps]) => states.map((state) => {
      const points = state.points ?? ensedu.points(state.data, state.noise, state.seed);
      const whole = { ...state, points };
      return [ensedu.problem(whole), whole, ensedu.script(whole, steps)];
    })"""
    found = blank.evaluate(script, [[*CASES.values()], STEPS])
    assert [wrong for wrong, _, _ in found if wrong] == []
    return {name: (state, text) for name, (_, state, text) in zip(CASES, found, strict=True)}


def ran(text):
    """Run a script; its names, and what it prints. Each network and its history are kept."""
    kept, space = [], {"keep": lambda net, history: kept.append((net, history))}
    text = re.sub(r"^print\(", r"keep(net, history)\nprint(", text, flags=re.MULTILINE)
    output = io.StringIO()
    with contextlib.redirect_stdout(output), torch.random.fork_rng():
        exec(compile(text, "copied", "exec"), space)
    return space, kept, output.getvalue()


@pytest.mark.parametrize("name", CASES)
def test_a_script_trains_the_same_networks_on_the_same_points(copied, name):
    state, text = copied[name]
    assert re.fullmatch(r"\w+-\w+", name) or name in re.sub(r"\s+", " ", text).replace("( ", "(")
    assert ("KLWeight" in text) == any(
        side["method"] in ("mean_field", "rank1") for side in trainer_state.sides(state)
    )
    space, kept, output = ran(text)
    data = torch.cat([space["x"], space["y"].reshape(len(space["x"]), -1).float()], dim=1)
    assert data.numpy() == pytest.approx(np.array(state["points"]))
    sides = trainer_state.sides(state)
    for side, (net, history), line in zip(sides, kept, output.splitlines(), strict=True):
        M = {} if side["method"] == "single" else size_option(side["method"], side["ensemble_size"])
        total = counting.mlp(trainer_state.sizes(state), side["method"], **M).total
        assert sum(parameter.numel() for parameter in net.parameters()) == total
        losses = [row["nll"] for row in history]
        assert line == f"{side['method']} {round(losses[-1], 3)}"
        assert history[-1]["step"] == pytest.approx(STEPS, rel=0.1)
        if len(state["points"]) < 500:  # each has learned more than the first step knew
            assert np.mean(losses[-3:]) < np.mean(losses[:3])
        if side["start"] == "same" and side["method"] == "deep_ensemble":
            for array in net.parameters():
                assert torch.allclose(array, array[:1].expand_as(array), atol=1e-5)


def test_scripts_are_short_and_clean(copied, tmp_path):
    for i, (state, text) in enumerate(copied.values()):
        (tmp_path / f"{i}.py").write_text(text)
        assert len(text.splitlines()) + len(state["points"]) // -4 < 60
        assert max(map(len, text.splitlines())) <= 100
    run = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", str(tmp_path)]
    found = subprocess.run(run, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout[:2000]
