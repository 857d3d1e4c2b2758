"""What users get wrong on a page: each call, and the words of its error."""

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from tests.book.looking import explorer, small
from tests.errors import check_error
from workshop.page import xray
from workshop.page.digit import DrawDigit
from workshop.page.explore import explore
from workshop.page.live import live, toys, trainer_state
from workshop.page.live.trainer_state import ChoiceField
from workshop.page.xray import xray_figure

pytestmark = pytest.mark.bad_input


def still(draw, **given):
    return explore(draw, **({"alt": "a", "k": [1]} | given))


def asked(**given):
    return live(tries=[TRY | given])


def set_live(options):
    return trainer_state.changed(small().state, options)


def stored(**given):
    return xray_figure("3-5-2", **{"name": "fig-a", "alt": "a", "caption": "b"} | given)


BAND = {"x": [0, 1], "mean": [2, 3], "std": [1, 1], "label": "NUTS"}
TRY = {"ask": "More?", "set": {"ensemble_size": 8}, "answer": "More."}
RANK1 = {"method": "rank1", "small": True, "distributions": True, "width": 5}
TYPE, VALUE = TypeError, ValueError
BAD = [
    (lambda: still(lambda k: "no"), TYPE, "draw|'no'|Figure"),
    (lambda: still(lambda width: Figure()), TYPE, "draw|['k']|'width'"),
    (lambda: still(lambda k: Figure(), linked=explorer(name="a")), VALUE,
     "linked|['k']|['width', 'ensemble_size']"),
    (lambda: explorer(linked=explorer()), VALUE, "linked|with a name"),
    (lambda: explorer(alt=lambda width: "a"), TYPE, "alt|['width', 'ensemble_size']"),
    (lambda: explorer(alt=lambda **values: None), TYPE, "alt|None|string"),
    (lambda: explorer(alt=" "), VALUE, "alt|' '"),
    (lambda: explorer(rescale=True), TYPE, "rescale|string|True"),
    (lambda: explorer(a=[1], b=[2]), VALUE, "sliders|up to 3|'a'"),
    (lambda: explorer(width=range(2, 78)), VALUE, "76 of width x 2 of|152|150"),
    (lambda: explorer(width=[]), VALUE, "width|at least one|[]"),
    (lambda: explorer(width={2, 3}), TYPE, "width|{2, 3}|sequence"),
    (lambda: explorer(width=[2, 2]), VALUE, "width|different|[2, 2]"),
    (lambda: explorer(width=[[2], [3]]), TYPE, "width|hashable|[[2], [3]]"),
    (lambda: explorer(width=[torch.ones((), device="meta")]), TYPE, "width[0]|meta"),
    (lambda: explorer(start={"depth": 2}), VALUE, "start|'depth'|'width'"),
    (lambda: explorer(start={"width": 4}), VALUE, "start['width']|4|[2, 3, 50]"),
    (lambda: explorer(start={"width": np.ones(2)}), TYPE, "start['width']|(2,)"),
    # The trainer
    (lambda: toys.points("x"), VALUE, "name|'x'|'gap'"),
    (lambda: toys.points("gap", -1.0), VALUE, "noise|-1"),
    (lambda: live(small=1), TYPE, "small|1"),
    (lambda: live(**RANK1 | {"small": False}), VALUE, "distributions|small=False"),
    (lambda: live(**RANK1 | {"method": "mean_field"}), VALUE, "r and s|'mean_field'"),
    (lambda: live(**RANK1, data="moons"), VALUE, "distributions|a curve"),
    (lambda: live(**RANK1, other={"method": "single"}), VALUE, "distributions|one net"),
    (lambda: live(data="own"), VALUE, "points|None"),
    (lambda: live(data="gap", points=[[1, 2, 0]]), VALUE, "data|'gap'|'own'"),
    (lambda: live(points=[[1, 2, 3, 4]]), VALUE, "points|(1, 4)|(N, 2)|(N, 3)"),
    (lambda: live(points=[[1, np.nan]]), VALUE, "points|finite"),
    (lambda: live(points=[[101, 0]]), VALUE, "points|-100 to 100"),
    (lambda: live(points=[[0, 0, 3]]), VALUE, "points|0, 1 or 2"),
    (lambda: live(points=np.ones((501, 2))), VALUE, "points|501|500"),
    (lambda: live(points=[["a", "b"]]), TYPE, "points|(N, 2)"),
    (lambda: live(points=[[1, 2], [1]]), VALUE, "points|(N, 2)"),
    (lambda: live(method="single", ensemble_size=2), VALUE, "ensemble_size|2|1"),
    (lambda: live(start="signs"), VALUE, "start|'signs'|'deep_ensemble'|'same'"),
    (lambda: live(other={"width": 3}), VALUE, "other|'width'|method"),
    (lambda: live(other={"method": "rank1", "start": "different"}), VALUE, "other['start']"),
    (lambda: live(tries=[{"ask": "More?"}]), VALUE, "tries|'set'|'answer'|'More?'"),
    (lambda: asked(ask=3), TYPE, "tries: ask|3"),
    (lambda: asked(steps=-1), VALUE, "tries: steps|-1"),
    (lambda: asked(set={"depth": 1}), VALUE, "options|'depth'"),
    (lambda: live(behind={"label": "NUTS"}), VALUE, "behind|x, mean, std|label"),
    (lambda: live(data="moons", behind=BAND), VALUE, "behind|classify"),
    (lambda: set_live({"x": 1}), VALUE, "options|'x'|width"),
    (lambda: set_live(3), TYPE, "options|3|dict"),
    (lambda: set_live({"task": "classification"}), VALUE, "'task'"),
    (lambda: set_live({"other": {"p": 1}}), VALUE, "'other'|'p'"),
    # X-rays
    (lambda: stored(zoom="all"), VALUE, "zoom|'model', 'share'|'all'"),
    (lambda: stored(layer=3), VALUE, "layer|'1', '2'|'3'"),
    (lambda: stored(method="mc"), VALUE, "method|'rank1'|'mc'"),
    (lambda: stored(hides=["zoom"]), VALUE, "hides|'zoom'|members"),
    (lambda: xray.changed(stored().known, {"members": 65}), VALUE, "members|1 to 64|65"),
    (lambda: xray.changed(stored().known, {"color": 3}), VALUE, "color|nothing"),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_input(case):
    call, error, words = BAD[case]
    check_error(call, error, words.split("|"))


@pytest.mark.parametrize("make", [explorer, small, stored, DrawDigit])
@pytest.mark.parametrize(("given", "error", "words"), [
    ({"name": "Fig 1"}, ValueError, "name|small letters|hyphens|'Fig 1'"),
    ({"name": '"><b>'}, ValueError, "name|<b>"),
    ({"name": 1}, TypeError, "name|string|1"),
    ({"caption": None}, TypeError, "caption|string|None"),
])  # fmt: skip
def test_every_kind_of_page_checks_its_name_and_its_caption(make, given, error, words):
    check_error(lambda: make(**given), error, words.split("|"))


def wrong(field):
    """Values that a field must refuse: just outside of it, and of another type."""
    if isinstance(field, ChoiceField):
        return [("<b>", ValueError), (3, TypeError), (["a"], TypeError)]
    step = 1 if field.whole else 1e-3
    outside = [(field.low - step, ValueError), (field.high * 1.01 + step, ValueError)]
    if field.whole:
        outside[1] = (field.high + 1, ValueError)
        return [*outside, (2.0, TypeError), (True, TypeError), ("1", TypeError)]
    return [*outside, (float("nan"), ValueError), ("1", TypeError), (True, TypeError)]


@pytest.mark.parametrize("make", [
    live, lambda **given: set_live(given),
], ids=["live", "its options"])  # fmt: skip
def test_every_field_refuses_what_lies_outside_of_it(make):
    for name, field in trainer_state.FIELDS.items():
        for value, error in wrong(field) if name != "task" else ():
            check_error(lambda name=name, value=value: make(**{name: value}), error, [name])
