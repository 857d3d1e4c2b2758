"""Numbers: means, standard deviations, and intervals that hold what they promise."""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray as Array
from numpy.random import Generator
from sklearn.base import RegressorMixin

from ensedu import uncertainty as un
from ensedu.common import checks
from ensedu.sklearn.estimator import METHOD, EnsembleEstimator
from ensedu.sklearn.rows import as_numbers, one_of_each_row
from ensedu.sklearn.scaled_network import ScaledNetwork
from ensedu.torch import gaussian_nll


class EnsembleRegressor(RegressorMixin, EnsembleEstimator):
    """Predict one number, by members with a mean and a variance each, and calibrated intervals.

    Intervals hold nine in ten targets, at a level of 0.9, **on average over rows like those of**
    ``fit``: over new rows of the same kind, and over the rows that happened to calibrate; with
    groups over one row, taken at random, of each new group like these. Of one kind of rows alone
    nothing is promised.

    One target alone, and no ``sample_weight``. ``fit`` raises ``TypeError`` or ``ValueError`` for a
    bad parameter or array, a cell that cannot be read, and fewer than three rows; it warns of a
    column whose values group rows.

    Parameters
    ----------
    method
        A key of `ensedu.methods.METHODS`.
    target
        ``"positive"`` for prices and other numbers above 0: the logarithm is learned, and intervals
        are positive, and longer above than below.
    ensemble_size
        Members; of a method without them samples of a training step; of ``"single"`` nothing.
    hidden
        Widths of the hidden layers.
    epochs, lr, weight_decay, batch_size
        As `ensedu.torch.fit` takes them; fewer rows than `batch_size` are one batch.
    patience
        Epochs without a better NLL on a tenth of the rows, kept out for that, until training stops,
        with the weights of the best epoch. None: all epochs, on all rows.
    calibration
        A part of the rows, kept out to calibrate (split conformal prediction); a number of folds,
        each to calibrate a network of its own, kept out of that (CV+; ``"cv+"`` is 5); or None.
    dayfirst
        How a frame's 01/02/2024 is read: True for 1 February, False for January 2.
    random_state
        An integer for the same bits each time, a ``numpy.random.RandomState``, or None.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> net = EnsembleRegressor(epochs=20, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> low, high = net.predict_interval(X, level=0.9)
    >>> low.shape, net.guarantee(level=0.9)
    ((200,), 0.9)
    """

    def __init__(
        self, method: str = METHOD, *, target: str = "any", ensemble_size: int = 5,
        hidden: tuple[int, ...] = (50, 50), epochs: int = 200, lr: float = 0.003,
        weight_decay: float = 1e-4, batch_size: int = 32, patience: int | None = 20,
        calibration: float | int | str | None = 0.2, dayfirst: bool | None = None,
        random_state: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            method, ensemble_size=ensemble_size, hidden=hidden, epochs=epochs, lr=lr,
            weight_decay=weight_decay, batch_size=batch_size, patience=patience,
            calibration=calibration, dayfirst=dayfirst, random_state=random_state,
        )  # fmt: skip
        self.target = target

    def fit(self, X: Any, y: Any, groups: Any = None) -> "EnsembleRegressor":
        """Read, train and calibrate.

        Parameters
        ----------
        X
            Numbers (n, m), or a pandas ``DataFrame``, as ``read_csv`` returns it: `clean` reads its
            cells, and `encoder` makes inputs of them, fitted on the rows to train on.
        y
            Numbers (n,), or a column of pandas of such cells, without gaps.
        groups
            Of each row what it belongs to, such as a patient, (n,): rows of one group calibrate,
            stop or train together, and one of each group calibrates. By default equal rows of X
            are one group; ``groups=range(n)`` takes each row by itself.
        """
        positive = checks.one_of("target", self.target, ("any", "positive")) == "positive"
        X, y = self._read(X, as_numbers(y), y_numeric=True)
        y = y.astype(np.float64)[:, None]
        if positive and (y <= 0).any():
            row = int((y <= 0).argmax())
            raise ValueError(
                f"y must hold numbers above 0 for target='positive', got {y[row, 0]:g} in row "
                f"{row + 1:,} of {len(y):,}"
            )
        self._fit(X, np.log(y) if positive else y, groups, 2, gaussian_nll)
        return self

    def predict(self, X: Any) -> Float[Array, " B"]:
        """Return the mean of the mixture of all members, of positive numbers the median.

        The latter is the power of the mean logarithm, which a few large targets hardly move.
        """
        mean, _ = mixture(np.concatenate(self._forecasts(X)))
        return (np.exp(mean) if self.target == "positive" else mean)[:, 0]

    def predict_std(self, X: Any) -> Float[Array, " B"]:
        """Return the standard deviation of the mixture of all members, which is not calibrated.

        Of positive numbers it is that of the log-normal distribution with the mixture's moments.
        """
        mean, std = mixture(np.concatenate(self._forecasts(X)))
        if self.target == "positive":
            std = np.exp(mean + std**2 / 2) * np.sqrt(np.expm1(std**2))
        return std[:, 0]

    def predict_interval(
        self, X: Any, level: float = 0.9
    ) -> tuple[Float[Array, " B"], Float[Array, " B"]]:
        """Return both ends of intervals that have the `guarantee` of the level.

        Infinite, with a warning, if fewer than ``⌈1 / (1 - level)⌉ - 1`` rows calibrate. Without
        calibration: `interval` of the mixture, of which nothing is promised.
        """
        each = self._forecasts(X)
        if self.conformal_ is None:
            ends = un.interval(each[0, ..., :1], each[0, ..., 1:], level)
        elif self.conformal_.folds is None:
            ends = self.conformal_.interval(*mixture(each[0]), level=level)
        else:
            mean, std = map(np.stack, zip(*map(mixture, each), strict=True))
            ends = self.conformal_.interval(mean, std, level=level)
        low, high = np.exp(ends) if self.target == "positive" else ends
        return low[:, 0], high[:, 0]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R² as scikit-learn does, of targets that are read as those of `fit`."""
        return float(super().score(X, as_numbers(y), sample_weight))

    def _inside(self, X: Any, y: Any, level: float) -> Bool[Array, " B"]:
        low, high = self.predict_interval(X, level)
        y = one_of_each_row(as_numbers(y), len(low), "number")
        return (low <= y) & (y <= high)

    def _scores(self, X: Any, y: Any, rng: Generator) -> Float[Array, " B"]:
        mean, std = mixture(self._forecasts(X)[0])
        y = one_of_each_row(as_numbers(y), len(mean), "number")
        if self.target == "positive":
            y = np.log(np.maximum(y, np.finfo(float).tiny))
        return un.ConformalIntervals.fit(mean, y, std).scores[:, 0]

    def _members(self, net: ScaledNetwork, X: Any) -> Float[Array, "S B 2"]:
        """Return mean and variance of each member, in units of y, or of its logarithm."""
        mean, variance = un.gaussian_heads(net.outputs(X))
        center, unit = net.y_scaler.mean_, net.y_scaler.scale_  # type: ignore[union-attr]
        return np.concatenate([center + unit * mean, unit**2 * variance], axis=2)

    def _calibrated(self, own: Any, y: Any, folds: Any) -> un.ConformalIntervals:
        mean, std = mixture(own)
        return un.ConformalIntervals.fit(mean, y, std, folds)


def mixture(members: Float[Array, "S B 2"]) -> tuple[Float[Array, "B 1"], Float[Array, "B 1"]]:
    """Return mean and standard deviation of a mixture of members."""
    mean, variance = un.mixture(members[..., :1], members[..., 1:])
    return mean, np.sqrt(variance)
