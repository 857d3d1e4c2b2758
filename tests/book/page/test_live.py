"""The live trainer from Python: its state, its points, its still picture, and its traits."""

import json
import re
import sys
import zlib

import numpy as np
import pytest
from bs4 import BeautifulSoup

from ensedu import counting, plot
from ensedu.book.page.live import live, toys, trainer_picture, trainer_state
from ensedu.methods import METHODS
from tests.errors import check_error

SIX = tuple(trainer_state.STARTS)


@pytest.fixture(autouse=True)
def _in_jupyter(monkeypatch):
    monkeypatch.delenv("ENSEDU_BOOK", raising=False)


def page_of(folder, monkeypatch, **given):
    """The HTML of a trainer in the book, parsed."""
    monkeypatch.setenv("ENSEDU_BOOK", str(folder))
    return BeautifulSoup(live(**given)._repr_mimebundle_()["text/html"], "html.parser").div


def small(**given):
    return live(**{"width": 5, "hidden_layers": 1} | given)


def arrays_of(w, seed=3):
    """Arrays of the shapes that a widget's networks have."""
    rng = np.random.default_rng(seed)
    return [
        {name: rng.standard_normal(shape) for name, shape in shapes.items()}
        for shapes in trainer_state.shapes(w._now)
    ]


def sent_by_the_page(w, arrays, steps=17):
    """What a view sends: the arrays of each network, one after another."""
    about = [
        {
            "sizes": trainer_state.sizes(w._now), "method": side["method"],
            "passes": side["ensemble_size"], "names": list(own),
        }
        for side, own in zip(trainer_state.sides(w._now), arrays, strict=True)
    ]  # fmt: skip
    buffers = [memoryview(array.tobytes()) for own in arrays for array in own.values()]
    return {"kind": "weights", "steps": steps, "sides": about}, buffers


# The points of the presets.


@pytest.mark.large
@pytest.mark.parametrize("name", toys.TOYS)
def test_presets_follow_their_curve_or_their_classes(name):
    toy = toys.TOYS[name]
    points = np.concatenate([toys.points(name, seed=seed) for seed in range(20)])
    assert len(points) == 20 * toy.number
    if toy.truth is None:
        assert points.shape[1] == 3
        labels, counts = np.unique(points[:, 2], return_counts=True)
        assert labels.tolist() == list(range(len(labels)))
        assert np.ptp(counts) <= 20
        return
    points = points[np.abs(points[:, 0]) > 0.001]  # where the step is, x was rounded
    away = points[:, 1] - [toy.truth(x) for x in points[:, 0]]
    grows = 0.3 + 1.7 * (points[:, 0] + 4) / 4 if name == "wave" else 1.0
    z = away / (toy.noise * grows)
    assert abs(z.mean()) < 5 / len(z) ** 0.5
    assert abs(z.std() - 1) < 5 / (2 * len(z)) ** 0.5


def test_the_running_example_is_that_of_the_book():
    from ensedu.data import gap

    grid = np.linspace(-5, 5, 11)
    np.testing.assert_allclose([*map(toys.TOYS["gap"].truth, grid)], gap.truth(grid), atol=1e-15)
    x = np.concatenate([toys.points("gap", seed=seed)[:, 0] for seed in range(20)])
    inside = [(low <= x) & (x <= high) for low, high in gap.regions]
    assert (inside[0] | inside[1]).all()
    assert inside[0].sum() == inside[1].sum()


def test_random_numbers_are_uniform_and_normal():
    random = toys.Random(5)
    u = np.array([random.uniform() for _ in range(20_000)])
    assert 0 <= u.min() and u.max() < 1
    counts = np.histogram(u, 20, (0, 1))[0]
    assert ((counts - 1000) ** 2 / 1000).sum() < 50  # χ² of 19 degrees
    z = np.array([random.normal() for _ in range(20_000)])
    assert abs(z.mean()) < 0.03 and abs(z.std() - 1) < 0.03
    assert abs(np.mean(np.abs(z) < 1) - 0.6827) < 0.02


def test_points_are_rounded_halves_upwards():
    assert [toys.rounded(value) for value in (0.0005, -0.0005, 1.2344, -2.0006)] == [
        0.001, 0.0, 1.234, -2.001,
    ]  # fmt: skip
    assert np.array_equal(trainer_state.checked_points([[0.0005, -0.0005]]), [[0.001, 0]])


# The state.


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
        "other": {
            "method": "single", "ensemble_size": 1, "start": "different", "loss": "mean",
            "kl_weight": 1.0,
        },
    }  # fmt: skip
    json.dumps(state)


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


@pytest.mark.parametrize("method", SIX)
def test_each_start_is_one_that_a_method_has(method):
    for start in trainer_state.STARTS[method]:
        w = small(method=method, start=start)
        net = trainer_picture.network(w._now, w._now)
        own = [
            array
            for name, array in net.params.items()
            if METHODS[method].members
            and (name.endswith(("bias", "r", "s", "_mean")) or array.ndim == 3)
        ]
        equal = [bool((array == array[:1]).all()) for array in own]
        # A last layer's s is one sign a member: these may agree.
        assert all(equal) if start == "same" else sum(equal) <= 1
        signs = [a for k, a in net.params.items() if k.endswith((".r", ".r_mean"))]
        if start == "signs":
            assert set(np.concatenate([a.ravel() for a in signs])) == {-1.0, 1.0}


# The widget.


def test_text_is_fixed_and_the_picture_has_words():
    w = small(method="batch_ensemble", other={"method": "mean_field"})
    data, about = w._repr_mimebundle_()
    assert data["text/plain"] == repr(w) == "Live(batch_ensemble and mean_field, gap)"
    assert set(data) == {
        "text/plain", "image/png", "application/vnd.jupyter.widget-view+json",
    }  # fmt: skip
    assert data["image/png"].startswith("iVBOR")
    assert about["image/png"]["alt"].startswith("60 points and what is learned in 300 steps.")


def test_points_come_with_their_task_and_their_data():
    w = small()
    assert w.points.shape == (60, 2)
    seen = []
    w.observe(lambda change: seen.append(change.name), ["points", "options"])
    w.points = [[1, 2, 0], [0.12345, -2, 2]]
    assert set(seen) == {"points", "options"}
    np.testing.assert_array_equal(w.points, [[1, 2, 0], [0.123, -2, 2]])
    assert w.points.dtype == np.float64
    assert (w.options["task"], w.options["data"]) == ("classification", "own")
    assert w._state["points"] == [[1.0, 2.0, 0], [0.123, -2.0, 2]]
    w.points = []
    assert w.points.shape == (0, 3)
    with pytest.raises(ValueError, match="read-only"):
        small().points[0] = 1


def test_options_that_are_not_given_stay():
    w = live(width=13, ensemble_size=3)
    drawn = w.points
    w.options = {"lr": 0.25}
    assert (w.options["width"], w.options["lr"]) == (13, 0.25)
    np.testing.assert_array_equal(w.points, drawn)
    w.options = w.options | {"method": "rank1"}
    assert (w.options["start"], w.options["ensemble_size"]) == ("normal-0.1", 3)
    w.options = {"method": "single"}
    assert (w.options["start"], w.options["ensemble_size"]) == ("different", 1)
    w.options = {"data": "moons"}
    np.testing.assert_array_equal(w.points, toys.points("moons"))
    assert (w.options["task"], w.options["noise"]) == ("classification", 0.2)
    w.options = {"noise": 0.5, "seed": 3}
    np.testing.assert_array_equal(w.points, toys.points("moons", 0.5, 3))
    w.options = {"data": "own"}
    assert len(w.points) == 100
    with pytest.raises(TypeError):
        w.options["lr"] = 1


def test_what_the_page_sets_is_taken_whole():
    w = small()
    axes = [{"name": "a", "middle": 3.0, "unit": 2.0}, {"name": "b", "middle": 0.0, "unit": 1.0}]
    state = {**w._state, "lr": 0.5, "data": "own", "axes": axes, "points": [[1.5, -2]]}
    w.set_state({"_state": state})
    np.testing.assert_array_equal(w.points, [[1.5, -2]])
    assert w.options["lr"] == 0.5
    # A reader's own units stay with the points, until there is another task.
    w.points = [[2, 2], [3, 3]]
    assert w.options["axes"] == axes
    w.points = [[2, 2, 1], [3, 3, 1]]
    assert w.options["axes"] is None


def test_a_change_inside_a_callback_is_the_last_word():
    w = small()

    def double(change):
        if len(w.points) < 100:
            w.points = np.concatenate([w.points, w.points])

    w.observe(double, "points")
    w.points = np.ones((30, 2))
    assert len(w.points) == len(w._state["points"]) == 120


@pytest.mark.parametrize("other", [None, {"method": "mean_field"}])
def test_weights_come_from_the_page_and_go_to_it(other):
    w = small(method="batch_ensemble", ensemble_size=3, other=other)
    sent = []
    w.send = lambda content, buffers=None: sent.append((content, buffers))
    assert w.weights == ([{}, {}] if other else {})
    arrays = arrays_of(w)
    w._handle_custom_msg(*sent_by_the_page(w, arrays))
    assert w.steps == 17
    assert not sent
    for found, wanted in zip(w.weights if other else [w.weights], arrays, strict=True):
        assert found.keys() == wanted.keys()
        for name, array in wanted.items():
            np.testing.assert_array_equal(found[name], array)
    # What is set in Python is sent, and once more to a view that begins later.
    mine = arrays_of(w, seed=4)
    w.weights = mine if other else mine[0]
    w._handle_custom_msg({"kind": "shown"}, [])
    assert len(sent) == 2
    content, buffers = sent[1]
    assert content["sides"] == [list(own) for own in mine]
    flat = [array for own in mine for array in own.values()]
    for buffer, array in zip(buffers, flat, strict=True):
        np.testing.assert_array_equal(np.frombuffer(buffer).reshape(array.shape), array)
    # After more steps the page's are newer.
    w._handle_custom_msg(*sent_by_the_page(w, arrays))
    w._handle_custom_msg({"kind": "shown"}, [])
    assert len(sent) == 2


def test_weights_of_another_network_are_not_taken():
    w = small(ensemble_size=3)
    late = sent_by_the_page(w, arrays_of(w))
    w.options = {"method": "batch_ensemble"}
    w._handle_custom_msg(*late)
    assert (w.weights, w.steps) == ({}, 0)
    w._handle_custom_msg(*sent_by_the_page(w, arrays_of(w)))
    assert w.steps == 17
    w.points = np.ones((5, 3))
    assert (w.weights, w.steps) == ({}, 0)


def test_without_anywidget_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    monkeypatch.delitem(sys.modules, "ensedu.book.page.live.widget", raising=False)
    with pytest.raises(ImportError, match=re.escape('pip install "ensedu[book]"')):
        small()


# The page.


def test_in_the_book_it_is_html_with_a_picture(monkeypatch, tmp_path):
    root = page_of(tmp_path, monkeypatch, name="fig-a", caption="a < b", width=5, seed=2)
    assert root["class"] == ["ensedu-trainer"]
    assert (root["data-name"], root["data-caption"]) == ("fig-a", "a < b")
    assert not {"data-small", "data-matrices", "data-full"} & root.attrs.keys()
    assert json.loads(root.script.string) == dict(live(width=5, seed=2)._state)
    pictures = root.select(".ensedu-still picture")
    assert [picture["class"] for picture in pictures] == [["ensedu-light"], ["ensedu-dark"]]
    alts = {image["alt"] for image in root.select("img")}
    assert len(alts) == 1 and alts.pop().startswith("60 points and what is learned")
    assert len(list(tmp_path.iterdir())) == 4


def test_in_the_book_it_has_the_attributes_of_the_widget(monkeypatch, tmp_path):
    given = {"data": "moons", "other": {"method": "single"}}
    widget = small(**given)
    monkeypatch.setenv("ENSEDU_BOOK", str(tmp_path))
    page = small(**given)
    assert type(page) is not type(widget)
    np.testing.assert_array_equal(page.points, widget.points)
    assert page.options == widget.options
    assert (page.weights, page.steps) == (widget.weights, widget.steps)
    assert repr(page) == repr(widget)


def test_the_small_form_leads_to_all_settings(monkeypatch, tmp_path):
    root = page_of(tmp_path, monkeypatch, small=True, matrices=True, width=5)
    assert {"data-small", "data-matrices"} <= root.attrs.keys()
    assert root["data-full"] == "ensedu-live:"


def test_no_word_can_end_the_script(monkeypatch, tmp_path):
    monkeypatch.setenv("ENSEDU_BOOK", str(tmp_path))
    page = small()
    axes = [{"name": "</script>", "middle": 0.0, "unit": 1.0}] * 2
    page._state = {**page._state, "axes": axes}
    root = BeautifulSoup(page._repr_mimebundle_()["text/html"], "html.parser").div
    assert json.loads(root.script.string)["axes"] == axes


# The still picture.


@pytest.mark.large
@pytest.mark.parametrize("method", SIX)
def test_stills_train(method):
    """After some steps the curves are nearer to the points than before."""
    w = live(method=method, width=13)
    points = trainer_state.array_of(w._now)

    def error(steps):
        one = trainer_picture.trained(w._now, w._now, steps)
        mean = np.interp(points[:, 0], trainer_picture.GRID, one.outputs[..., 0].mean(axis=0))
        return np.mean((mean - points[:, 1]) ** 2)

    assert error(100) < 0.5 * error(0)


def test_a_still_of_classes_knows_them():
    w = live(data="blobs", width=20)
    one = trainer_picture.trained(w._now, w._now, 100)
    mean, doubt = trainer_picture._mean_and_doubt(one)
    np.testing.assert_allclose(mean.sum(axis=1), 1, atol=1e-12)
    assert doubt.min() >= 0 and doubt.max() <= 1
    # Pixels from the top left: the first class stands above, the others below it.
    side = trainer_picture.PIXELS
    best = mean.argmax(axis=1).reshape(side, side)
    assert best[side // 4, side // 2] == 0
    assert best[3 * side // 4, side // 4] == 1
    assert best[3 * side // 4, 3 * side // 4] == 2


def test_equal_starts_stay_one_curve():
    w = small(start="same")
    assert "all curves are one" in trainer_picture.TrainerPicture(w._now).alt()


@pytest.mark.large
@pytest.mark.parametrize("given", [
    {"points": []},
    {"points": [[0, 0]]},
    {"points": [[0, 0, 1]] * 3},
    {"points": np.ones((500, 3))},
    {"lr": 1e9},
    {"data": "wave", "head": "variance", "loss": "mixture"},
    {"data": "moons", "method": "mc_dropout", "other": {"method": "mean_field"}},
    {"method": "rank1", "other": {"method": "rank1", "kl_weight": 10}},
])  # fmt: skip
def test_every_state_has_a_still_that_can_be_read(given):
    seen = trainer_picture.TrainerPicture(small(**given)._now)
    for narrow in (False, True):
        with plot.rendering(plot.Look(narrow=narrow)):
            assert isinstance(seen.readable(), plot.Figure)
    assert re.fullmatch(r"[A-Z0-9].*\.", seen.alt())


def test_a_still_is_the_same_each_time():
    sums = {
        zlib.crc32(plot.png(trainer_picture.TrainerPicture(small(seed=5)._now).figure()))
        for _ in range(2)
    }
    assert len(sums) == 1


SIDE = {"method": "rank1"}
BAD = [
    (lambda: live(data="nothing"), ValueError, ("data", "'nothing'", "'gap'", "'own'")),
    (lambda: live(data="own"), ValueError, ("points", "None")),
    (lambda: live(data="gap", points=[[1, 2]]), ValueError, ("data", "'gap'", "'own'")),
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
    (lambda: live(small=1), TypeError, ("small", "1")),
    (lambda: live(name="A B"), ValueError, ("name", "'A B'", "hyphens")),
    (lambda: live(caption=3), TypeError, ("caption", "3")),
    (lambda: setattr(small(), "points", np.ones(3)), ValueError, ("points", "(3,)")),
    (lambda: setattr(small(), "options", {"lr": -1}), ValueError, ("options['lr']", "-1")),
    (lambda: setattr(small(), "options", {"x": 1}), ValueError, ("options", "'x'", "width")),
    (lambda: setattr(small(), "options", 3), TypeError, ("options", "3", "dict")),
    (lambda: setattr(small(), "options", {"task": "classification"}), ValueError, ("'task'",)),
    (lambda: setattr(small(), "options", {"axes": [1, 2]}), ValueError, ("'axes'", "[1, 2]")),
    (lambda: setattr(small(), "options", {"other": {"p": 1}}), ValueError, ("'other'", "'p'")),
    (lambda: setattr(small(), "weights", 3), TypeError, ("weights", "int")),
    (lambda: setattr(small(), "weights", {"a": 3}), ValueError, ("weights", "0.weight", "a")),
    (lambda: setattr(small(other=SIDE), "weights", {}), TypeError, ("weights", "list", "dict")),
    (lambda: _set("0.bias", np.ones(4)), ValueError, ("weights['0.bias']", "(4,)", "(4, 5)")),
    (lambda: _set("0.bias", [1.0]), TypeError, ("weights['0.bias']", "list")),
    (lambda: _set("0.bias", np.full((4, 5), np.inf)), ValueError, ("weights['0.bias']", "finite")),
    (lambda: toys.points("x"), ValueError, ("name", "'x'", "'gap'")),
    (lambda: toys.points("gap", -1.0), ValueError, ("noise", "-1")),
    (lambda: toys.points("gap", seed=1.5), TypeError, ("seed", "1.5")),
]


def _set(name, array):
    w = small()
    w.weights = arrays_of(w)[0] | {name: array}


@pytest.mark.bad_input
@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_input(case):
    check_error(*BAD[case])
