"""The trainer: its state, its points, its stills and its band."""

import inspect
import json
import re

import numpy as np
import pytest

from ensedu.data import gap
from ensedu.methods import METHODS
from tests.book.looking import SIX, small
from workshop import plot
from workshop.page.frames import readable
from workshop.page.live import live, toys, trainer_picture, trainer_scripts, trainer_state


def test_points_beside_a_preset_keep_its_curve_and_its_noise():
    state = live(data="wave", points=[[0.1234, 1], [2, -1]]).state
    assert state["points"] == [[0.123, 1], [2, -1]]
    assert (state["data"], state["noise"]) == ("wave", toys.TOYS["wave"].noise)
    # Other noise draws the preset's own, as where a reader has moved its points.
    noisy = trainer_state.changed(state, {"noise": 0.5})
    assert len(noisy["points"]) == toys.TOYS["wave"].number


def test_options_that_are_not_given_stay():
    first = live(width=13, ensemble_size=3).state
    assert trainer_state.changed(first, {"lr": 0.25}) == first | {"lr": 0.25}
    rank1 = trainer_state.changed(first, {"method": "rank1"})
    assert (rank1["start"], rank1["ensemble_size"]) == ("normal-0.1", 3)
    single = trainer_state.changed(rank1, {"method": "single"})
    assert (single["start"], single["ensemble_size"]) == ("different", 1)
    assert trainer_state.changed(single, {"method": "rank1"})["ensemble_size"] == 4
    for given, drawn in (({}, ()), ({"noise": 0.5, "seed": 3}, (0.5, 3))):
        moons = trainer_state.changed(first, {"data": "moons"} | given)
        assert moons["points"] == toys.points("moons", *drawn).tolist()
        assert (moons["task"], moons["noise"]) == ("classification", (drawn or [0.2])[0])
    other = trainer_state.changed(first, {"other": {"method": "single"}})["other"]
    assert (other["ensemble_size"], other["kl_weight"]) == (1, 1.0)


X = np.linspace(-4.6, 4.6, 47)
GIVEN = {"x": X, "mean": np.sin(X), "std": 0.1 + 0.01 * X**2, "label": "NUTS"}
OTHERS = {
    "task": "classification", "method": "rank1", "head": "variance", "width": 8,
    "hidden_layers": 2, "activation": "tanh", "parametrization": "ntk", "prior_scale": 2.0,
    "noise": 0.2, "points": [[0.0, 1.0]],
}  # fmt: skip


def test_a_band_is_rounded_and_belongs_to_one_model_of_one_set_of_points():
    state = live(width=7, hidden_layers=1, method="mean_field").state
    band = trainer_state.checked_band(GIVEN | {"std": list(GIVEN["std"])}, state)
    assert band["label"] == "NUTS" and trainer_state.checked_band(None, state) is None
    for part in trainer_state.BAND:
        np.testing.assert_allclose(band[part], GIVEN[part], atol=0.51e-4)
    assert set(OTHERS) == set(trainer_state.MODEL)
    assert trainer_state.belongs(band, state, state)
    for key, value in OTHERS.items():
        other = {**state, key: value}
        assert not trainer_state.belongs(band, other, other), key
    # How it is trained, and from where, changes no posterior.
    assert set(trainer_state.FIELDS) - set(trainer_state.MODEL) == {
        "data", "seed", "ensemble_size", "start", "loss", "kl_weight", "lr", "weight_decay",
        "initial_std", "p",
    }  # fmt: skip
    # A side of a comparison has a method of its own.
    assert not trainer_state.belongs(band, state, {"method": "deep_ensemble"})


def test_the_running_example_is_that_of_the_book():
    grid = np.linspace(-5, 5, 11)
    np.testing.assert_allclose([*map(toys.TOYS["gap"].truth, grid)], gap.truth(grid), atol=1e-15)
    x = np.concatenate([toys.points("gap", seed=seed)[:, 0] for seed in range(20)])
    one, other = ((low <= x) & (x <= high) for low, high in gap.regions)
    assert (one | other).all() and one.sum() == other.sum()


def test_points_are_rounded_halves_upwards():
    values = [0.0005, -0.0005, 1.2344, -2.0006]
    assert [toys.rounded(value) for value in values] == [0.001, 0.0, 1.234, -2.001]
    found = trainer_state.checked_points([values[:2], values[2:]])
    assert found.tolist() == [[0.001, 0], [1.234, -2.001]] and not np.signbit(found[0, 1])


TOLD = json.loads(
    json.dumps(trainer_scripts.BUNDLE.constants() | trainer_scripts.BUNDLE.worker_constants())
)


@pytest.mark.parametrize("method", trainer_state.STARTS)
def test_distributions_are_what_has_a_mean_and_a_scale(method):
    told, row = TOLD["METHODS"][method], METHODS[method]
    names = {array.name for array in row.arrays}
    assert told["distributions"] == [
        name for name in ("weight", "r", "s", "bias") if {f"{name}_mean", f"{name}_rho"} <= names
    ]
    assert bool(told["distributions"]) == row.has_stds
    assert tuple(told["starts"]) == trainer_state.STARTS[method]
    assert told["prior_loc"] == float(method in ("batch_ensemble", "rank1"))


def test_every_setting_has_a_field_and_its_default():
    fields, defaults = TOLD["SETTINGS"]["fields"], TOLD["SETTINGS"]["defaults"]
    assert tuple(fields) == tuple(trainer_state.FIELDS)
    parameters = inspect.signature(live).parameters
    own = {name: parameters[name].default for name in defaults}
    assert own | {"ensemble_size": 4} == defaults


@pytest.mark.parametrize("method", SIX)
def test_each_start_is_one_that_a_method_has(method):
    for start in trainer_state.STARTS[method]:
        w = small(method=method, start=start)
        net = trainer_picture.network(w.state, w.state)
        own = [
            array
            for name, array in net.params.items()
            if METHODS[method].has_members
            and (name.endswith(("bias", "r", "s", "_mean")) or array.ndim == 3)
        ]
        equal = [bool((array == array[:1]).all()) for array in own]
        # A last layer's s is one sign a member: these may agree.
        assert all(equal) if start == "same" else sum(equal) <= 1
        signs = [a for k, a in net.params.items() if k.endswith((".r", ".r_mean"))]
        if start == "signs":
            assert set(np.concatenate([a.ravel() for a in signs])) == {-1.0, 1.0}


@pytest.mark.parametrize("method", SIX)
def test_stills_train(method):
    """After some steps the curves are nearer to the points than before."""
    w = small(method=method, width=13)
    points = trainer_state.array_of(w.state)

    def error(steps):
        one = trainer_picture.trained(w.state, w.state, steps)
        mean = np.interp(points[:, 0], trainer_picture.GRID, one.outputs[..., 0].mean(axis=0))
        return np.mean((mean - points[:, 1]) ** 2)

    assert error(100) < 0.5 * error(0)


@pytest.mark.parametrize("method", SIX)
def test_networks_have_the_parametrization_and_the_initial_std(method):
    given = {"method": method, "width": 61, "seed": 3, "initial_std": 0.2}
    for parametrization, largest in (("standard", 1.0), ("ntk", 5.0)):
        w = small(parametrization=parametrization, **given)
        params = trainer_picture.network(w.state, w.state).params
        drawn = np.concatenate(
            [a.ravel() for k, a in params.items() if "bias" in k and "rho" not in k]
        )
        assert 0.2 * largest < np.abs(drawn).max() < largest
        for name, array in params.items():
            if name.endswith("_rho"):
                np.testing.assert_allclose(np.log1p(np.exp(array)), 0.2)


BEHIND = {"x": X, "mean": np.sin(X), "std": 0 * X + 0.4, "label": "NUTS"}


def test_a_still_has_the_band_behind_while_it_belongs_there(monkeypatch):
    monkeypatch.setattr(trainer_picture, "REST", 700)
    w = small(method="mean_field", initial_std=0.1, lr=0.02, behind=BEHIND)
    shown = trainer_picture.TrainerPicture(w.state, behind=w._options["behind"])
    assert shown.alt().endswith("a mean-field BNN, and the band of NUTS.")
    (axes,) = shown.figure().axes
    assert {text.get_text() for text in axes.figure.texts + axes.texts} >= {"NUTS"}
    # Behind: NUTS is drawn first. The other band is that of curves, without the noise.
    nuts, own = (band.get_paths()[0].vertices for band in axes.collections[:2])
    np.testing.assert_allclose(nuts[:, 1].max(), 1.8, atol=0.02)
    curves = shown._trained[0].outputs[..., 0]
    assert len(curves) == 64
    at = np.interp(X, trainer_picture.GRID, curves.mean(axis=0) + 2 * curves.std(axis=0))
    np.testing.assert_allclose(own[:, 1].max(), at.max(), atol=0.01)
    gone = trainer_picture.TrainerPicture({**w.state, "width": 6}, behind=w._options["behind"])
    assert "NUTS" not in gone.alt()


def test_a_still_of_distributions_is_a_dot_each_around_the_prior():
    w = small(method="rank1", prior_scale=0.2)
    seen = trainer_picture.TrainerPicture(w.state, distributions=True)
    (axes,) = seen.figure().axes
    dots, ring = axes.lines
    means, stds = seen._trained[0].moments
    np.testing.assert_array_equal(dots.get_xydata(), np.stack([means, stds], axis=1))
    assert len(means) == 4 * (1 + 5 + 5 + 1)
    assert ring.get_xydata().tolist() == [[1, 0.2]]
    assert np.median(stds) > 0.013  # it began at 0.01
    none = trainer_picture.trained(small().state, small().state, 0)
    assert none.moments.shape == (2, 0)


@pytest.mark.large
@pytest.mark.parametrize("given", [
    {"points": []},
    {"points": np.ones((500, 2))},
    {"data": "wave", "head": "variance", "loss": "mixture"},
    {"method": "rank1", "other": {"method": "rank1", "kl_weight": 10}},
])  # fmt: skip
def test_every_state_has_a_still_that_can_be_read(given):
    seen = trainer_picture.TrainerPicture(small(**given).state)
    for narrow in (False, True):
        with plot.rendering(plot.Look(narrow=narrow)):
            assert isinstance(readable(seen.figure), plot.Figure)
    assert re.fullmatch(r"[A-Z0-9].*\.", seen.alt())
