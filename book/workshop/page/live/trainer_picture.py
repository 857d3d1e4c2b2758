"""What a trainer's state looks like after some steps: for print, and where no script runs."""

import functools
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu import numpy as en
from ensedu.methods import METHODS, size_option
from ensedu.numpy.variational import softplus
from ensedu.priors import Normal
from workshop import plot
from workshop.page.live import toys, trainer_state
from workshop.page.live.trainer_state import (
    BATCH,
    CLOUD,
    FUNCTIONS,
    GRID,
    MANY_FUNCTIONS,
    REST,
    START_STDS,
    VIEW,
    prior_loc,
)
from workshop.plot.style import INK, house_style

STEPS = 300
#: Products of one forward pass above which fewer steps are made, so that nobody waits for long.
AFFORDABLE = 1_500_000
PANEL = 2.5  # inches that a cloud is high

Shown = Float[Array, "F B k"]


@dataclass(frozen=True)
class TrainedSide:
    """One network after some steps: its method, and the outputs of F functions, (F, B, k).

    B are the places of `GRID`; `moments` are the means and standard deviations of its K
    distributions.
    """

    method: str
    label: str
    outputs: Shown
    moments: Float[Array, "2 K"]


class TrainerPicture:
    """A state that learns a curve, as a figure and in words; it trains when it is first shown.

    `alt` are words to use in place of its own, `behind` is a band to compare with, as
    `trainer_state.checked_band` returns it: then training goes on until the page rests. With
    `distributions` these are drawn, and no curve.
    """

    def __init__(
        self, state: Mapping[str, Any], alt: str = "", behind: Mapping[str, Any] | None = None,
        *, distributions: bool = False,
    ) -> None:  # fmt: skip
        if state["task"] != "regression":
            raise ValueError("a page's trainer must begin with a curve, got points to classify")
        self.state = state
        self._alt = alt
        self._distributions = distributions
        sides = trainer_state.sides(state)
        own = behind and all(trainer_state.belongs(behind, state, side) for side in sides)
        self._behind = behind if own else None

    @functools.cached_property
    def _trained(self) -> list[TrainedSide]:
        """The networks; as they begin where a loss would not be finite."""
        cost = sum(_products(self.state, side) for side in trainer_state.sides(self.state))
        wanted, functions = (REST, MANY_FUNCTIONS) if self._behind else (STEPS, FUNCTIONS)
        steps = int(wanted * min(1.0, AFFORDABLE / cost)) if self.state["points"] else 0

        def networks(steps: int) -> list[TrainedSide | None]:
            sides = trainer_state.sides(self.state)
            return [trained(self.state, side, steps, functions) for side in sides]

        found = networks(steps)
        if any(one is None for one in found):
            found = networks(0)
        return [one for one in found if one is not None]

    def figure(self) -> plot.Figure:
        """Draw the curves of each network."""
        if self._distributions:
            return _cloud_figure(self.state, self._trained[0])
        return _curves_figure(self.state, self._trained, self._behind)

    def alt(self) -> str:
        """Say what is seen."""
        if self._alt:
            return self._alt
        points = f"{len(self.state['points'])} points"
        if self._distributions:
            return f"Means and standard deviations of r and s, trained on {points}; their prior."
        labels = " and a ".join(one.label for one in self._trained)
        band = f", and the band of {self._behind['label']}" if self._behind else ""
        return f"{points}, what they teach a {labels}{band}."


def network(state: Mapping[str, Any], side: Mapping[str, Any]) -> en.Sequential:
    """Build the network of one side, where the browser's begins."""
    method, start, M = side["method"], side["start"], side["ensemble_size"]
    kind: dict[str, Any] = {}
    if METHODS[method].modulated and start != "same":
        std = START_STDS.get(start)
        kind = {"init": "signs"} if std is None else {"init": "normal", "init_std": std}
    if METHODS[method].has_stds:
        prior = Normal(prior_loc(METHODS[method]), state["prior_scale"])
        kind |= {"prior": prior, "posterior_std": state["initial_std"]}
    if METHODS[method].drops_units:
        kind["p"] = state["p"]
    net = en.mlp(
        trainer_state.sizes(state), method, **size_option(method, M),
        activation=state["activation"], parametrization=state["parametrization"],
        rng=np.random.default_rng(state["seed"]), **kind,
    )  # fmt: skip
    if start == "same":
        equal_members(net)
    return net


def equal_members(net: en.Sequential) -> None:
    """Give every member the start of the first one."""
    for name, array in net.params.items():
        own = name.rpartition(".")[2]
        if own in ("r", "s", "r_mean", "s_mean"):
            array[...] = 1.0
        elif own == "bias" or (own == "weight" and array.ndim == 3):
            array[...] = array[:1]


def trained(
    state: Mapping[str, Any], side: Mapping[str, Any], steps: int, functions: int = FUNCTIONS
) -> TrainedSide | None:
    """Train one network as the page does; None where it diverges."""
    net = network(state, side)
    points = trainer_state.array_of(state)
    x, y = points[:, :1], points[:, 1:]
    rng = np.random.default_rng([state["seed"], 1])
    adam = en.Adam(net, lr=state["lr"])
    waiting: list[Array] = []
    with np.errstate(all="ignore"):
        for _ in range(steps):
            if not waiting:
                order = rng.permutation(len(x))
                waiting = [order[i : i + BATCH] for i in range(0, len(x), BATCH)]
            rows = waiting.pop(0)
            outputs = net.forward(x[rows])
            if not np.isfinite(outputs).all():
                return None
            net.backward(_loss(state, side["loss"], outputs, y[rows]))
            en.kl_backward(net, side["kl_weight"] / len(x))
            for name, array in net.params.items():
                if name.endswith(".weight"):
                    array *= 1 - state["lr"] * state["weight_decay"]
            adam.step()
        outputs = _outputs_of_functions(net, side, functions)
    if not np.isfinite(outputs).all() or np.abs(outputs).max() > 1e6:
        return None
    row = METHODS[side["method"]]
    label = f"{row.label} of {side['ensemble_size']}" if row.has_members else row.label
    return TrainedSide(side["method"], label, outputs, _moments(net))


def _products(state: Mapping[str, Any], side: Mapping[str, Any]) -> int:
    """How many products one forward pass takes."""
    sizes = trainer_state.sizes(state)
    weights = sum(m * n for m, n in itertools.pairwise(sizes))
    return weights * side["ensemble_size"] * max(1, min(BATCH, len(state["points"])))


def _loss(state: Mapping[str, Any], reduction: str, outputs: Array, y: Array) -> Array:
    """Return the gradient of the outputs."""
    if state["head"] == "variance":
        return en.gaussian_nll(outputs, y, reduction=reduction)[1]
    std = state["noise"]
    return en.half_squared_error(outputs / std, y / std, reduction=reduction)[1] / std


def _outputs_of_functions(net: en.Sequential, side: Mapping[str, Any], functions: int) -> Shown:
    """The outputs of members, and of some draws of what draws."""
    row = METHODS[side["method"]]
    draws = -(-functions // side["ensemble_size"]) if row.stochastic else 1
    outputs = [net.forward(GRID[:, None]) for _ in range(draws)]
    return np.concatenate([one.reshape(-1, *one.shape[-2:]) for one in outputs])


def _moments(net: en.Sequential) -> Float[Array, "2 K"]:
    """Means and standard deviations of all distributions."""
    parts = [
        [array.ravel() for name, array in net.params.items() if name.endswith(ending)]
        for ending in ("_mean", "_rho")
    ]
    means, rhos = (np.concatenate([np.zeros(0), *part]) for part in parts)
    return np.stack([means, softplus(rhos)])


def _band(state: Mapping[str, Any], one: TrainedSide) -> tuple[Array, Array, Array]:
    """The functions' mean, their spread, and the standard deviation of a new point, (B,) each."""
    curves = one.outputs[..., 0]
    if state["head"] == "variance":
        noise = (softplus(one.outputs[..., 1]) + 1e-6).mean(axis=0)
    else:
        noise = np.full(curves.shape[1], state["noise"] ** 2)
    return curves.mean(axis=0), curves.std(axis=0), np.sqrt(curves.var(axis=0) + noise)


def _curves_figure(
    state: Mapping[str, Any], networks: list[TrainedSide], behind: Mapping[str, Any] | None
) -> plot.Figure:
    beliefs, x = {}, GRID
    if behind:  # at its x, as far as curves are seen
        x, *parts = (np.array(behind[part]) for part in trainer_state.BAND)
        seen = np.abs(x) <= VIEW["x"]
        x = x[seen]
        beliefs[behind["label"]] = plot.Belief("single", *(part[seen] for part in parts))
    for one in networks:
        mean, between, std = _band(state, one)
        name = one.label if behind or len(networks) > 1 else ""
        name += " " * (name in beliefs)  # the same method twice
        own = mean, between if behind else std, one.outputs[..., 0]
        beliefs[name] = plot.Belief(one.method, *(_interpolated(part, x) for part in own))
    toy = toys.TOYS.get(state["data"])
    truth = None if toy is None or toy.truth is None else np.array([*map(toy.truth, x)])
    points = trainer_state.array_of(state)
    data = (points[:, 0], points[:, 1]) if len(points) else None
    drawn = all(METHODS[one.method].stochastic for one in networks)
    methods = {belief.method for belief in beliefs.values()}
    return plot.predictive_bands(
        x,
        beliefs,
        truth=truth,
        data=data,
        ylim=(-VIEW["y"], VIEW["y"]),
        together=behind is not None and len(methods) == len(beliefs),
        thin="draws" if drawn else "members",
    )


def _cloud_figure(state: Mapping[str, Any], one: TrainedSide) -> plot.Figure:
    """A dot for each distribution, and a ring around their prior."""
    prior = prior_loc(METHODS[one.method]), state["prior_scale"]
    with house_style():
        figure, (axes,) = plot.panels(1, height=PANEL)
        axes.plot(*one.moments, "o", color=plot.PALETTE[one.method], ms=4, alpha=0.35, mew=0)
        axes.plot(*prior, "o", ms=17, mfc="none", mec=INK, mew=1.6)
        axes.annotate("prior", prior, (-13, 0), textcoords="offset points", color=INK, ha="right",
                      va="center")  # fmt: skip
        far, (means, stds) = CLOUD["far"], CLOUD["ticks"]
        axes.set(yscale="log", xlabel="mean", ylabel="σ", xlim=(-far, far), ylim=CLOUD["stds"])
        axes.set_xticks(means, [f"{mean}".replace("-", "−") for mean in means])
        axes.set_yticks(stds, [f"{std}" for std in stds])
        axes.minorticks_off()
    return figure


def _interpolated(values: Float[Array, "*F B"], x: Float[Array, " N"]) -> Float[Array, "*F N"]:
    """Values on `GRID` at other places on it."""
    return np.apply_along_axis(lambda own: np.interp(x, GRID, own), -1, values)
