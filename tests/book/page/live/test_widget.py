"""The trainer as a widget: its traits go both ways."""

import numpy as np
import pytest

from ensedu.book.page.live import live, toys, trainer_state
from tests.book.page.live.trainers import small
from tests.errors import check_error


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


def test_text_is_fixed_and_the_picture_has_words():
    w = small(method="batch_ensemble", other={"method": "mean_field"})
    data, about = w._repr_mimebundle_()
    assert data["text/plain"] == repr(w) == "Live(batch_ensemble and mean_field, gap)"
    assert set(data) == {
        "text/plain", "image/png", "application/vnd.jupyter.widget-view+json",
    }  # fmt: skip
    assert data["image/png"].startswith("iVBOR")
    assert about["image/png"]["alt"].startswith("60 points and what is learned in 300 steps.")


def test_what_to_try_is_checked_and_goes_to_the_view():
    asked = {"ask": "More?", "set": {"ensemble_size": 8, "method": "rank1"}, "answer": "More."}
    w = live(data="gap", small=True, tries=[asked])
    assert w.get_state()["_tries"] == [asked]


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


def _set(name, array):
    w = small()
    w.weights = arrays_of(w)[0] | {name: array}


SIDE = {"method": "rank1"}
BAD = [
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
]


@pytest.mark.bad_input
@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_input(case):
    check_error(*BAD[case])
