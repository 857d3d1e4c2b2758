"""What the scripts of the trainer are told of methods, settings, toy sets and colors."""

import inspect
import json

import pytest

from ensedu import plot
from ensedu.book.page.live import live, trainer_scripts, trainer_state
from ensedu.book.page.live.toys import TOYS
from ensedu.methods import METHODS

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
    assert bool(told["distributions"]) == row.spread
    assert tuple(told["starts"]) == trainer_state.STARTS[method]


def test_every_setting_has_a_field_and_its_default():
    fields, defaults = TOLD["SETTINGS"]["fields"], TOLD["SETTINGS"]["defaults"]
    assert tuple(fields) == tuple(trainer_state.FIELDS)
    parameters = inspect.signature(live).parameters
    own = {name: parameters[name].default for name in defaults if name != "ensemble_size"}
    assert own | {"ensemble_size": 4} == defaults


def test_toy_sets_are_told_without_their_functions():
    assert tuple(TOLD["TOY_SETS"]) == tuple(TOYS)
    for name, toy in TOYS.items():
        told = TOLD["TOY_SETS"][name]
        assert (told["task"], told["number"], told["noise"]) == (toy.task, toy.number, toy.noise)
        assert ("regions" in told, "classes" in told) == (toy.truth is not None, toy.truth is None)


def test_every_method_has_its_label_and_its_color_in_both_themes():
    house = TOLD["HOUSE"]
    assert house["labels"] == {key: row.label for key, row in METHODS.items()}
    for theme in ("light", "dark"):
        assert house[theme]["colors"].keys() == plot.PALETTE.keys()
        assert len(house[theme]["heat"]) == 33
