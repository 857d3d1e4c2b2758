"""One network for a table: standardized, stopped early, and with the same prediction each time."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Shaped
from numpy import ndarray as Array
from sklearn.preprocessing import StandardScaler

from ensedu.common import checks
from ensedu.data import encoder
from ensedu.methods import size_option
from ensedu.sklearn.rows import is_frame
from ensedu.torch import Sequential, Validation, fit, mlp, predict
from ensedu.torch.base import seeded
from ensedu.torch.network import draws_noise

#: How many samples of each member a prediction takes, where members draw.
SAMPLES = 10
#: How many rows are predicted at a time.
ROWS = 2**13


@dataclass(frozen=True, eq=False)
class ScaledNetwork:
    """A network, what standardizes its inputs and, if they are numbers, its targets; its seed.

    Inputs of `train_scaled` and of `outputs` are both arrays, or both frames that `clean` returned.
    """

    net: Sequential
    x_scaler: Any
    y_scaler: StandardScaler | None
    seed: int

    def outputs(self, x: Any) -> Float[Array, "S B heads"]:
        """Return what all members give, standardized; each call draws the same."""
        rows = torch.from_numpy(self.x_scaler.transform(x))
        generator = torch.Generator().manual_seed(self.seed)
        number = SAMPLES if draws_noise(self.net) else 1
        noises = [self.net.noise(generator, tuple(rows.shape)) for _ in range(number)]
        outputs = [predict(self.net, rows, batch_size=ROWS, noise=noise) for noise in noises]
        return torch.cat(outputs).numpy()


def train_scaled(
    x: Any, y: Shaped[Array, "n *k"], heads: int, nll: Callable[..., Any], seed: int, stop: int, *,
    method: str, ensemble_size: int, hidden: tuple[int, ...], batch_size: int,
    patience: int | None, **options: Any,
) -> ScaledNetwork:  # fmt: skip
    """Train on n rows, of which the first `stop` say when to stop; y (n,) are labels."""
    if not isinstance(hidden, (tuple, list)):
        raise TypeError(f"hidden must be a tuple of widths, got {checks.describe(hidden)}")
    widths = [checks.positive_int(f"hidden[{i}]", width) for i, width in enumerate(hidden)]
    size = size_option(method, checks.positive_int("ensemble_size", ensemble_size))
    x_scaler = encoder(x, unknown="ignore") if is_frame(x) else StandardScaler()
    y_scaler = StandardScaler() if y.ndim > 1 else None
    inputs = torch.from_numpy(x_scaler.fit_transform(x))
    with seeded(seed):
        net = mlp([inputs.shape[1], *widths, heads], method, dtype=torch.float64, **size)
    targets = torch.from_numpy(y if y_scaler is None else y_scaler.fit_transform(y))
    if patience is not None:
        options["validation"] = Validation(inputs[:stop], targets[:stop], patience=patience)
        inputs, targets = inputs[stop:], targets[stop:]
    rows = min(checks.positive_int("batch_size", batch_size), len(inputs))
    fit(net, inputs, targets, nll, batch_size=rows, seed=seed, bar=False, **options)
    return ScaledNetwork(net, x_scaler, y_scaler, seed)
