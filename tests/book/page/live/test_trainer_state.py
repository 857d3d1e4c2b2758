"""The state of a trainer: what it holds, what it refuses, and the shapes that follow."""

import json

import numpy as np
import pytest

from ensedu import counting
from ensedu.book.page.live import live, toys, trainer_picture, trainer_state
from ensedu.methods import METHODS
from tests.book.page.live.trainers import SIX
from tests.errors import check_error


def test_the_state_has_what_the_page_needs():
    state = trainer_state.checked(
        {
            **trainer_state.DEFAULTS, "data": None, "points": None, "method": "rank1",
            "start": None, "noise": None, "ensemble_size": None, "other": {"method": "single"},
        }
    )  # fmt: skip
    assert state.pop("points") == toys.points("gap").tolist()
    assert state == {
        "task": "regression", "data": "gap", "noise": 0.1, "seed": 0, "method": "rank1",
        "ensemble_size": 4, "start": "normal-0.1", "loss": "mean", "kl_weight": 1.0, "width": 50,
        "hidden_layers": 2, "activation": "relu", "head": "mean", "lr": 0.01,
        "weight_decay": 0.0, "prior_scale": 1.0, "p": 0.05, "axes": None,
        "parametrization": "standard", "initial_std": 0.01,
        "other": {
            "method": "single", "ensemble_size": 1, "start": "different", "loss": "mean",
            "kl_weight": 1.0,
        },
    }  # fmt: skip
    json.dumps(state)


def test_points_beside_a_preset_keep_its_curve_and_its_noise():
    w = live(data="wave", points=[[0.1234, 1], [2, -1]])
    assert w.points.tolist() == [[0.123, 1], [2, -1]]
    assert (w.options["data"], w.options["noise"]) == ("wave", toys.TOYS["wave"].noise)
    # Other noise draws the preset's own, as where a reader has moved its points.
    w.options = {"noise": 0.5}
    assert len(w.points) == toys.TOYS["wave"].number


@pytest.mark.parametrize("method", SIX)
@pytest.mark.parametrize("data", ["gap", "blobs"])
def test_shapes_are_those_of_the_layers(method, data):
    M = 1 if method == "single" else 3
    w = live(data=data, method=method, ensemble_size=M, width=7, head="variance")
    shapes = trainer_state.shapes(w._now)[0]
    state = {**w._now, "width": 7}
    net = trainer_picture.network(state, state)
    # Layers count from 0 there, with activations, and here without.
    layers = list(dict.fromkeys(name.partition(".")[0] for name in net.params))
    found = {}
    for name, array in net.params.items():
        layer, _, own = name.partition(".")
        found[f"{layers.index(layer)}.{own}"] = array.shape
    assert shapes == found
    total = counting.mlp(trainer_state.sizes(w._now), method, **_size(method, M)).total
    assert sum(map(np.prod, shapes.values())) == total


def _size(method, M):
    return {"ensemble_size": M} if METHODS[method].members else {}


SIDE = {"method": "rank1"}
TRY = {"ask": "More?", "set": {"ensemble_size": 8}, "answer": "More."}
BAD = [
    (lambda: live(data="nothing"), ValueError, ("data", "'nothing'", "'gap'", "'own'")),
    (lambda: live(data="own"), ValueError, ("points", "None")),
    (lambda: live(data="gap", points=[[1, 2, 0]]), ValueError, ("data", "'gap'", "'own'")),
    (lambda: live(parametrization="NTK"), ValueError, ("parametrization", "'NTK'", "'ntk'")),
    (lambda: live(initial_std=0.0), ValueError, ("initial_std", "0", "0.001 to 10")),
    (lambda: live(points=[[1, 2, 3, 4]]), ValueError, ("points", "(1, 4)", "(N, 2)", "(N, 3)")),
    (lambda: live(points=[[1, np.nan]]), ValueError, ("points", "finite")),
    (lambda: live(points=[[101, 0]]), ValueError, ("points", "-100 to 100")),
    (lambda: live(points=[[0, 0, 3]]), ValueError, ("points", "0, 1 or 2")),
    (lambda: live(points=[[0, 0, 0.5]]), ValueError, ("points", "0, 1 or 2")),
    (lambda: live(points=np.ones((501, 2))), ValueError, ("points", "501", "500")),
    (lambda: live(points="abc"), TypeError, ("points", "'abc'")),
    (lambda: live(points=[["a", "b"]]), TypeError, ("points", "(N, 2)")),
    (lambda: live(points=[[1, 2], [1]]), ValueError, ("points", "(N, 2)")),
    (lambda: live(method="last_layer"), ValueError, ("method", "'last_layer'", "'rank1'")),
    (lambda: live(ensemble_size=17), ValueError, ("ensemble_size", "17", "1 to 16")),
    (lambda: live(method="single", ensemble_size=2), ValueError, ("ensemble_size", "2", "1")),
    (lambda: live(start="signs"), ValueError, ("start", "'signs'", "'deep_ensemble'", "'same'")),
    (lambda: live(method="rank1", start="different"), ValueError, ("start", "'normal-0.1'")),
    (lambda: live(width=1), ValueError, ("width", "1", "2 to 100")),
    (lambda: live(hidden_layers=4), ValueError, ("hidden_layers", "4", "1 to 3")),
    (lambda: live(activation="sigmoid"), ValueError, ("activation", "'sigmoid'", "'tanh'")),
    (lambda: live(head="classes"), ValueError, ("head", "'classes'", "'variance'")),
    (lambda: live(loss="sum"), ValueError, ("loss", "'sum'", "'mixture'")),
    (lambda: live(lr=0.0), ValueError, ("lr", "0", "1e-06 to 1e+09")),
    (lambda: live(p=0.95), ValueError, ("p", "0.95", "0 to 0.9")),
    (lambda: live(noise=0.0), ValueError, ("noise", "0.01 to 2")),
    (lambda: live(seed=10**6), ValueError, ("seed", "1000000", "999999")),
    (lambda: live(other="rank1"), TypeError, ("other", "'rank1'", "dict")),
    (lambda: live(other={"width": 3}), ValueError, ("other", "'width'", "method")),
    (lambda: live(other=SIDE | {"start": "different"}), ValueError, ("other['start']",)),
    (lambda: live(other=SIDE | {"loss": 3}), TypeError, ("other['loss']", "3")),
    (lambda: live(tries=[{"ask": "More?"}]), ValueError, ("tries", "'set'", "'answer'", "'More?'")),
    (lambda: live(tries=[TRY | {"ask": 3}]), TypeError, ("tries: ask", "3")),
    (lambda: live(tries=[TRY | {"set": {"width": 1}}]), ValueError, ("options['width']", "1")),
    (lambda: live(tries=[TRY | {"set": {"depth": 1}}]), ValueError, ("options", "'depth'")),
]


@pytest.mark.bad_input
@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_input(case):
    check_error(*BAD[case])
