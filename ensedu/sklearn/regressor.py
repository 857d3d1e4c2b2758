"""Numbers: means, standard deviations, and intervals that hold what they promise."""

from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array
from sklearn.base import RegressorMixin
from sklearn.utils.validation import validate_data

from ensedu import uncertainty as un
from ensedu.sklearn.estimator import Ensemble
from ensedu.sklearn.trained import Trained
from ensedu.torch import gaussian_nll

__all__ = ["EnsembleRegressor"]


class EnsembleRegressor(RegressorMixin, Ensemble):
    """Predict one number, by members with a mean and a variance each, and calibrated intervals.

    One target alone, and no ``sample_weight``. ``fit`` raises ``TypeError`` or ``ValueError`` for a
    bad parameter or array, and for fewer than three rows.

    Parameters
    ----------
    method
        A key of `ensedu.methods.METHODS`.
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

    def fit(self, X: Any, y: Any) -> "EnsembleRegressor":
        """Standardize, train and calibrate, on X (n, m) and y (n,)."""
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=3)
        self._fit(X, y.astype(np.float64)[:, None], 2, gaussian_nll)
        return self

    def predict(self, X: Any) -> Float[Array, " B"]:
        """Return the mean of the mixture of all members."""
        return mixture(np.concatenate(self._forecasts(X)))[0][:, 0]

    def predict_std(self, X: Any) -> Float[Array, " B"]:
        """Return the standard deviation of the mixture of all members, which is not calibrated."""
        return mixture(np.concatenate(self._forecasts(X)))[1][:, 0]

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
        return ends[0][:, 0], ends[1][:, 0]

    def _members(self, net: Trained, X: Float[Array, "B m"]) -> Float[Array, "S B 2"]:
        """Return mean and variance of each member, in units of y."""
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
