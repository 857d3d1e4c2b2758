"""A trainer on the page: networks that learn while a reader draws their data.

`live` returns a widget in Jupyter, and an app that needs no kernel while the book is built::

    from workshop.page.live import live

    live(data="gap", method="rank1", ensemble_size=8)  # draw points, press Play
    live(points=[[-2, 1], [2, -1]])  # (N, 2), or (N, 3) with classes
"""

import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from ensedu.common import book_build, checks
from ensedu.methods import METHODS
from workshop.page.controls import figure_name
from workshop.page.frames import SITE, Frames, embedded
from workshop.page.live import trainer_state
from workshop.page.live.trainer_picture import TrainerPicture

__all__ = ["live"]

FULL = f"{SITE}book/live.html"  # the page that has all settings


def live(
    *,
    data: str | None = None,
    points: Any = None,
    method: str = "deep_ensemble",
    ensemble_size: int | None = None,
    start: str | None = None,
    width: int = 50,
    hidden_layers: int = 2,
    activation: str = "relu",
    parametrization: str = "standard",
    head: str = "mean",
    loss: str = "mean",
    lr: float = 0.01,
    weight_decay: float = 0.0,
    kl_weight: float = 1.0,
    prior_scale: float = 1.0,
    initial_std: float = 0.01,
    p: float = 0.05,
    noise: float | None = None,
    seed: int = 0,
    other: dict[str, Any] | None = None,
    behind: dict[str, Any] | None = None,
    small: bool = False,
    distributions: bool = False,
    tries: Sequence[Mapping[str, Any]] = (),
    name: str = "",
    caption: str = "",
    alt: str = "",
) -> Any:
    """Return a trainer that a notebook cell shows when it ends with it.

    Parameters
    ----------
    data
        Where the points come from, a key of `workshop.page.live.toys.TOYS`: ``"gap"`` (the
        running example, and the default), ``"cubic"``, ``"step"``, ``"wave"``, ``"clusters"``;
        ``"moons"``, ``"spirals"``, ``"blobs"`` to classify.
    points
        Your own instead: an array (N, 2) of x and y, or (N, 3) of two inputs and a class 0, 1 or
        2; up to 500. Seen are x from -5 to 5 and y from -3 to 3, or both inputs from -4 to 4.
        Beside them `data` may name the preset whose true curve is drawn.
    method
        ``"single"``, ``"deep_ensemble"``, ``"batch_ensemble"``, ``"rank1"``, ``"mean_field"`` or
        ``"mc_dropout"``.
    ensemble_size
        Members, 1 to 16, or samples a step of a method without members; by default 4, and 1 for a
        single network.
    start
        ``"different"`` or ``"same"`` for a deep ensemble; ``"signs"``, ``"normal-0.5"``,
        ``"normal-0.1"`` or ``"same"`` for the r and s of a BatchEnsemble, which starts from signs
        by default, and of a rank-1 BNN, which starts from N(1, 0.1²).
    width, hidden_layers, activation
        2 to 100, 1 to 3, ``"relu"`` or ``"tanh"``.
    parametrization
        ``"standard"`` or ``"ntk"``, as for `ensedu.numpy.mlp`.
    head
        What is predicted of a curve: ``"mean"``, for a known noise, or ``"variance"``, both.
    loss
        ``"mean"``, the average NLL of the members, or ``"mixture"``, that of their mixture.
    lr, weight_decay
        Of Adam; decay acts on what is named ``weight``.
    kl_weight, prior_scale
        Of a method with distributions: the KL counts so many times, to N(1, prior_scale²) for
        r and s, to N(0, prior_scale²) for weights.
    initial_std
        Standard deviation at which distributions begin, 0.001 to 10.
    p
        Of dropout, up to 0.9.
    noise
        Standard deviation of the noise, 0.01 to 2: of a preset's points, and what the mean head
        takes as known. By default the preset's own, and 0.1 for points of your own.
    seed
        Of the points, the start and all that is drawn, below a million.
    other
        A second network beside it, on the same points: a dict of its own ``method``,
        ``ensemble_size``, ``start``, ``loss`` and ``kl_weight``; what is left out is as in the
        first, or as its method starts by default.
    behind
        A band to compare curves with, such as a sampler's posterior: a dict of ``x``, evenly
        spaced, ``mean`` and ``std``, (B,) each, and a ``label``. It is drawn at ± 2 ``std`` behind
        the curves, while points, noise and model are those given here; the KL weight and how the
        network trains may change. Bands are then those of curves, without the noise.
    small
        Whether to show the small form: curves, and two settings alone. They are the members and
        their start, or for distributions of all weights the KL weight and `initial_std`; for
        dropout it is the rate `p` alone.
    distributions
        Whether the small form shows the mean and the standard deviation of each distribution beside
        a curve; its settings are then their start and ``prior_scale``.
    tries
        What the small form of members asks a reader to try, one after another: each a dict of
        ``ask``, the words, ``set``, the options that do it, as in `options`, ``answer``, what is
        said when it is done, and ``steps`` of training that this takes, 0 if left out.
    name, caption
        In the book: what other places call the figure, and what stands below it.
    alt
        The still picture in words; by default it says what is seen.

    Returns
    -------
    Live
        It trains in the browser: what is drawn and set there stays there.

    Raises
    ------
    TypeError, ValueError
        For a bad argument, a start that the method does not have, a preset of another task beside
        points, and `distributions` that are none, or not beside one curve in the small form; and
        for what cannot be tried.
    ImportError
        In Jupyter without anywidget.
    """
    state = trainer_state.checked({
        "data": data, "points": points, "method": method, "ensemble_size": ensemble_size,
        "start": start, "width": width, "hidden_layers": hidden_layers, "activation": activation,
        "parametrization": parametrization, "head": head, "loss": loss, "lr": lr,
        "weight_decay": weight_decay, "kl_weight": kl_weight, "prior_scale": prior_scale,
        "initial_std": initial_std, "p": p, "noise": noise, "seed": seed, "other": other,
    })  # fmt: skip
    band = trainer_state.checked_band(behind, state)
    flags = {"small": small, "distributions": distributions}
    for title, flag in flags.items():
        checks.boolean(title, flag)
    if distributions:
        _check_distributions(state, small)
    if not isinstance(tries, (list, tuple)):
        raise TypeError(f"tries must be a list of dicts, got {checks.describe(tries)}")
    asked = [_checked_try(state, one) for one in tries]
    for title, words in {"name": name, "caption": caption, "alt": alt}.items():
        checks.text(title, words)
    figure_name(name)
    if folder := book_build.folder():
        shown = [title for title, flag in flags.items() if flag]
        return Trainer(Path(folder), state, shown, band, asked, name=name, caption=caption, alt=alt)
    from workshop.page.live.trainer_scripts import Live

    return Live(state, {**flags, "tries": asked, "behind": band})


def _check_distributions(state: dict[str, Any], small: bool) -> None:
    row = METHODS[state["method"]]
    if not (small and row.modulated and row.has_stds):
        raise ValueError(
            "distributions=True needs small=True and a method whose r and s are distributions, "
            f"got small={small} and {state['method']!r}"
        )
    if state["task"] != "regression" or state["other"]:
        raise ValueError("distributions=True needs one network that learns a curve")


def _checked_try(state: dict[str, Any], one: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(one, Mapping) or {*one} - {"steps"} != {"ask", "set", "answer"}:
        raise ValueError(
            f"each of tries must be a dict of 'ask', 'set', 'answer' and 'steps', got {one!r}"
        )
    for title in ("ask", "answer"):
        checks.text(f"tries: {title}", one[title])
    done = trainer_state.changed(state, one["set"])
    steps = checks.natural_int("tries: steps", one.get("steps", 0))
    return {**one, "set": {key: done[key] for key in one["set"]}, "steps": steps}


class Trainer:
    """The trainer on a page of the book, whose still picture shows a curve."""

    def __init__(
        self, folder: Path, state: dict[str, Any], flags: list[str], band: dict[str, Any] | None,
        tries: list[dict[str, Any]], *, name: str, caption: str, alt: str,
    ) -> None:  # fmt: skip
        self._folder, self.state, self._flags = folder, state, flags
        given = {"behind": band, "tries": tries}
        written = {title: json.dumps(value) if value else "" for title, value in given.items()}
        self._named = {"name": name, "caption": caption, **written}
        self._picture = TrainerPicture(state, alt, band, distributions="distributions" in flags)

    def __repr__(self) -> str:
        return trainer_state.as_text(self.state)

    def html(self) -> str:
        """Draw the still picture into the folder; return it, and the state for the script."""
        picture = Frames([self._picture.figure], self._folder).pictures(self._picture.alt())
        named = {**self._named, "full": FULL if "small" in self._flags else ""}
        flags = "".join(f" data-{flag}" for flag in self._flags)
        data = "".join(f' data-{key}="{escape(value)}"' for key, value in named.items() if value)
        script = embedded(self.state)
        return (
            f'<div class="ensedu-trainer"{data}{flags}>'
            f'<div class="ensedu-still">{picture}</div>'
            f'<script type="application/json">{script}</script></div>'
        )

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {"text/plain": repr(self), "text/html": self.html()}
