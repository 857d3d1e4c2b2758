"""The state of a trainer, checked: one dictionary in Python, in the browser, in a link.

And a band to compare networks with, such as a sampler's posterior: it is drawn behind them as long
as points and model are those that it belongs to. ``forecast.js`` decides so, too.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from ensedu.common import checks
from ensedu.methods import METHODS, Method
from workshop.page.live import toys

#: Points a step, at most.
BATCH = 64
#: The standard deviation of r and s around 1, by the name of the start.
START_STDS = {"normal-0.1": 0.1, "normal-0.5": 0.5}
#: Functions that are shown of a method that draws, at least.
FUNCTIONS = 16
#: As many make a band that is compared with another.
MANY_FUNCTIONS = 64
#: Steps after which a run that began by itself rests.
REST = 3000
#: How far from 0 a curve is seen along x and along y, and a map along both inputs.
VIEW = {"x": 5, "y": 3}
REACH = 4
#: How far from 0 the means of distributions are seen, between which ends their standard deviations
#: are, and which numbers stand beside the two axes.
CLOUD: dict[str, Any] = {
    "far": 1.6,
    "stds": (0.004, 0.6),
    "ticks": ((-1, 0, 1), (0.01, 0.03, 0.1, 0.3)),
}
#: Where curves are computed.
GRID = np.linspace(-VIEW["x"], VIEW["x"], 97)
#: What points may be: how many, how far from 0, and of how many classes.
MOST_POINTS = 500
FURTHEST = 100
CLASSES = 3


@dataclass(frozen=True)
class ChoiceField:
    """One of some words."""

    words: tuple[str, ...]

    def checked(self, name: str, value: Any) -> str:
        """Return the word; raises ``TypeError`` or ``ValueError`` for anything else."""
        return checks.one_of(name, value, self.words)

    def described(self) -> dict[str, Any]:
        """Return the words for the scripts."""
        return {"choices": list(self.words)}


@dataclass(frozen=True)
class NumberField:
    """A finite number from `low` to `high`, maybe a whole one."""

    low: float | int
    high: float | int
    whole: bool = False

    def checked(self, name: str, value: Any) -> float:
        """Return the number; raises ``TypeError`` or ``ValueError`` for anything else."""
        number = (checks.natural_int if self.whole else checks.real)(name, value)
        if not self.low <= number <= self.high:
            ends = f"{name} must be from {self.low:g} to {self.high:g}"
            raise ValueError(
                f"{ends}, got {checks.short_repr(value) if self.whole else f'{number:g}'}"
            )
        return number

    def described(self) -> dict[str, Any]:
        """Return for the scripts both ends, and whether it is whole."""
        return {"whole": self.whole, "low": self.low, "high": self.high}


Field = ChoiceField | NumberField


def prior_loc(row: Method) -> float:
    """Return the mean of the prior: 1 for factors such as r and s, 0 for weights."""
    return 1.0 if row.modulated else 0.0


def training() -> dict[str, Any]:
    """Return for the scripts how the trainer trains, and how much of it is shown."""
    return {
        "batch": BATCH,
        "start_stds": START_STDS,
        "functions": FUNCTIONS,
        "many_functions": MANY_FUNCTIONS,
        "rest": REST,
        "view": VIEW,
        "reach": REACH,
        "cloud": CLOUD,
        "grid_points": len(GRID),
        "most_points": MOST_POINTS,
        "furthest": FURTHEST,
        "classes": CLASSES,
    }


def starts_of(row: Method) -> tuple[str, ...]:
    """Return which starts a method has; the first is where it starts by default."""
    if not row.modulated:
        return ("different", "same") if row.has_members else ("different",)
    near_one = tuple(START_STDS)
    if row.has_stds:
        return (*near_one, "signs", "same")
    return ("signs", *reversed(near_one), "same")


#: Which starts a method has; the first is where it starts by default.
STARTS = {key: starts_of(row) for key, row in METHODS.items() if not row.body}
TASKS = ("regression", "classification")

#: What the second network of a comparison has for itself, too.
SIDE: dict[str, Field] = {
    "method": ChoiceField(tuple(STARTS)),
    "ensemble_size": NumberField(1, 16, whole=True),
    "start": ChoiceField(tuple(dict.fromkeys(chain.from_iterable(STARTS.values())))),
    "loss": ChoiceField(("mean", "mixture")),
    "kl_weight": NumberField(0, 1000),
}
FIELDS: dict[str, Field] = {
    "task": ChoiceField(TASKS),
    "data": ChoiceField(("own", *toys.TOYS)),
    "noise": NumberField(0.01, 2),
    "seed": NumberField(0, 999_999, whole=True),
    **SIDE,
    "width": NumberField(2, 100, whole=True),
    "hidden_layers": NumberField(1, 3, whole=True),
    "activation": ChoiceField(("relu", "tanh")),
    "parametrization": ChoiceField(("standard", "ntk")),
    "head": ChoiceField(("mean", "variance")),
    "lr": NumberField(1e-6, 1e9),
    "weight_decay": NumberField(0, 10),
    "prior_scale": NumberField(0.001, 100),
    "initial_std": NumberField(0.001, 10),
    "p": NumberField(0, 0.9),
}
DEFAULTS = {
    "ensemble_size": 4, "loss": "mean", "kl_weight": 1.0, "width": 50, "hidden_layers": 2,
    "activation": "relu", "parametrization": "standard", "head": "mean", "lr": 0.01,
    "weight_decay": 0.0, "prior_scale": 1.0, "initial_std": 0.01, "p": 0.05, "seed": 0,
}  # fmt: skip


def described() -> dict[str, Any]:
    """Return what the scripts know of a state: its fields, those of one side, and the defaults."""
    return {
        "fields": {name: field.described() for name, field in FIELDS.items()},
        "side": list(SIDE),
        "defaults": DEFAULTS,
    }


def checked_points(value: Any) -> np.ndarray:
    """Return points as a float64 array, (N, 2) or (N, 3), rounded to 0.001, that is read-only.

    Raises
    ------
    TypeError, ValueError
        For anything but up to 500 points of finite numbers from -100 to 100, two columns (x, y) or
        three (two inputs, and a class 0, 1 or 2).
    """
    accepted = "an array (N, 2) of x and y, or (N, 3) of two inputs and a class"
    if not isinstance(value, (np.ndarray, list, tuple)):
        raise TypeError(f"points must be {accepted}, got {checks.describe_array(value)}")
    try:
        array = value if isinstance(value, np.ndarray) else np.array(value)
    except ValueError:  # rows of different lengths
        raise ValueError(f"points must be {accepted}, got {checks.describe(value)}") from None
    if array.size == 0 and array.ndim < 2:
        array = np.zeros((0, 2))
    if array.dtype.kind not in "fiu" or np.ma.isMaskedArray(array):
        raise TypeError(f"points must be {accepted}, got {checks.describe_array(value)}")
    if array.ndim != 2 or array.shape[1] not in (2, 3):
        raise ValueError(f"points must be {accepted}, got one of shape {array.shape}")
    if len(array) > MOST_POINTS:
        raise ValueError(f"points must be up to {MOST_POINTS}, got {len(array)}")
    array = np.array(array, dtype=np.float64, subok=False)
    places = array[:, :2]
    if not np.isfinite(array).all() or (np.abs(places) > FURTHEST).any():
        raise ValueError(f"points must hold finite numbers from -{FURTHEST:g} to {FURTHEST:g}")
    if array.shape[1] == 3 and not np.isin(array[:, 2], range(CLASSES)).all():
        raise ValueError("points must have 0, 1 or 2 in their third column, the class")
    places[...] = np.floor(places * 1000 + 0.5) / 1000
    array += 0.0  # no -0
    array.flags.writeable = False
    return array


def checked(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the whole state that these arguments of `live` describe.

    ``points`` may be None, ``data``, ``noise``, ``ensemble_size`` and ``start`` as well; then the
    preset or the method says what they are.
    """
    values = dict(given)
    points, data = values.pop("points"), values.pop("data")
    if data is not None:
        FIELDS["data"].checked("data", data)
    if points is None and data == "own":
        raise ValueError("points must be an array for the data 'own', got None")
    if points is None:
        data = data or "gap"
        toy = toys.TOYS[data]
        task, noise = toy.task, toy.noise
    else:
        points, data, noise = checked_points(points), data or "own", 0.1
        task = TASKS[points.shape[1] - 2]
        if data != "own":
            noise = toys.TOYS[data].noise
            if toys.TOYS[data].task != task:
                raise ValueError(
                    f"data must be 'own' or a preset for {task} beside these points, got {data!r}"
                )
    values |= {"task": task, "data": data}
    values["noise"] = noise if values["noise"] is None else values["noise"]
    other = values.pop("other")
    values = _with_usual_start(values)
    state = {name: field.checked(name, values[name]) for name, field in FIELDS.items()}
    _check_fit("", state)
    if points is None:
        points = toys.points(data, state["noise"], state["seed"])
    return state | {"other": _checked_other(other, state), "axes": None, "points": listed(points)}


def changed(state: Mapping[str, Any], given: Any) -> dict[str, Any]:
    """Return a state in which some options have changed.

    Another preset, or its noise, draws new points. Another method has one start or one number of
    members less or more: what it does not have becomes its default, unless it was asked for.

    Raises
    ------
    TypeError, ValueError
        For anything but a dict of options, for what one cannot be, and for what does not fit.
    """
    if not isinstance(given, Mapping):
        raise TypeError(f"options must be a dict of names to values, got {checks.describe(given)}")
    accepted = (*(name for name in FIELDS if name != "task"), "other")
    for name in given:
        if name not in accepted:
            raise ValueError(
                f"options has the key {checks.short_repr(name)}, accepted are {', '.join(accepted)}"
            )
        if name != "other":
            FIELDS[name].checked(f"options[{name!r}]", given[name])
    new = {**state, **given}
    data, method = new["data"], new["method"]
    if drawn := data not in ("own", state["data"]):
        toy = toys.TOYS[data]
        new = {**state, "task": toy.task, "noise": toy.noise, "axes": None, **given}
    usual = _with_usual_start({**new, "start": None, "ensemble_size": None})
    if "start" not in given and new["start"] not in STARTS[method]:
        new["start"] = usual["start"]
    if "ensemble_size" not in given and "single" in {method, state["method"]} != {method}:
        new["ensemble_size"] = usual["ensemble_size"]
    _check_fit("options", new)
    if drawn or (data != "own" and new["noise"] != state["noise"]):
        new["points"] = listed(toys.points(data, new["noise"], new["seed"]))
    return new | {"other": _checked_other(new["other"], new, "options['other']")}


def array_of(state: Mapping[str, Any]) -> np.ndarray:
    """Return a state's points as an array, (N, 2) or (N, 3)."""
    return checked_points(np.array(state["points"], float).reshape(-1, _columns_of(state["task"])))


def listed(points: np.ndarray) -> list[list[float | int]]:
    """Return points as JSON has them: the class is an integer."""
    return [[*point[:2], *map(int, point[2:])] for point in points.tolist()]


def sides(state: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return what says which networks are trained: one, or two side by side."""
    return [state, state["other"]] if state["other"] else [state]


def sizes(state: Mapping[str, Any]) -> list[int]:
    """Return the sizes of the layers: inputs, hidden widths, outputs."""
    plane = state["task"] == "classification"
    classes = 3 if any(point[2:] == [2] for point in state["points"]) else 2
    outputs = classes if plane else 2 if state["head"] == "variance" else 1
    return [2 if plane else 1, *[state["width"]] * state["hidden_layers"], outputs]


#: What of a state, and of a side of it, says which posterior it has: the model, and its data.
MODEL = (
    "task", "method", "head", "width", "hidden_layers", "activation", "parametrization",
    "prior_scale", "noise", "points",
)  # fmt: skip
BAND = ("x", "mean", "std")


def checked_band(given: Any, state: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a band as the page has it, with the part of the state that it belongs to.

    It is None, or a dict of ``x``, evenly spaced, ``mean`` and ``std``, (B,) each, and a ``label``.
    Raises ``ValueError`` for other keys, and beside points to classify.
    """
    if given is None:
        return None
    if not isinstance(given, Mapping) or set(given) != {*BAND, "label"}:
        raise ValueError(
            f"behind must be None or a dict of x, mean, std and label, got {checks.describe(given)}"
        )
    if state["task"] != "regression":
        raise ValueError("behind must be None beside points to classify, got a dict")
    arrays = {part: np.round(np.array(given[part], float), 4).tolist() for part in BAND}
    return {"label": given["label"], **arrays, "of": {key: state[key] for key in MODEL}}


def belongs(band: Mapping[str, Any], state: Mapping[str, Any], side: Mapping[str, Any]) -> bool:
    """Return whether a band is that of this model of these points."""
    now = {**state, **side}
    return all(now[key] == value for key, value in band["of"].items())


def as_text(state: Mapping[str, Any]) -> str:
    """Return how a trainer shows as text."""
    methods = " and ".join(side["method"] for side in sides(state))
    return f"Live({methods}, {state['data']})"


def _columns_of(task: str) -> int:
    return TASKS.index(task) + 2


def _with_usual_start(values: dict[str, Any]) -> dict[str, Any]:
    """Fill in how many members a method has, and where it starts, where that is None."""
    method = SIDE["method"].checked("method", values["method"])
    usual = {
        "ensemble_size": 1 if method == "single" else DEFAULTS["ensemble_size"],
        "start": STARTS[method][0],
    }
    return values | {name: value for name, value in usual.items() if values[name] is None}


def _check_fit(where: str, values: Mapping[str, Any]) -> None:
    """Check that a method has this start, and a single network one member."""
    method, start, M = (values[name] for name in ("method", "start", "ensemble_size"))
    title = {name: f"{where}[{name!r}]" if where else name for name in ("start", "ensemble_size")}
    if start not in STARTS[method]:
        accepted = ", ".join(map(repr, STARTS[method]))
        raise ValueError(
            f"{title['start']} must be one of {accepted} for {method!r}, got {start!r}"
        )
    if method == "single" and M != 1:
        raise ValueError(f"{title['ensemble_size']} must be 1 for 'single', got {M}")


def _checked_other(
    given: Any, state: Mapping[str, Any], name: str = "other"
) -> dict[str, Any] | None:
    """Return the second network's own options; what is not given is as in the first."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise TypeError(
            f"{name} must be None or a dict such as {{'method': 'single'}}, "
            f"got {checks.describe(given)}"
        )
    for key in given:
        if key not in SIDE:
            raise ValueError(
                f"{name} has the key {checks.short_repr(key)}, accepted are {', '.join(SIDE)}"
            )
    usual = {key: state[key] for key in SIDE}
    method = SIDE["method"].checked(f"{name}['method']", given.get("method", usual["method"]))
    if method != usual["method"]:
        usual |= {"start": None, "ensemble_size": None}
    values = _with_usual_start({**usual, **given})
    found = {key: field.checked(f"{name}[{key!r}]", values[key]) for key, field in SIDE.items()}
    _check_fit(name, found)
    return found
