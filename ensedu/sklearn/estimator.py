"""What both estimators share: their parameters, and which rows each network does not see."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray as Array
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ensedu.common import checks
from ensedu.sklearn.trained import Trained, trained

__all__ = ["Ensemble", "unseen_rows"]

#: How many folds ``"cv+"`` means.
FOLDS = 5


class Ensemble(BaseEstimator):
    """The base of `EnsembleRegressor`, which says what the parameters are, and its twin."""

    #: One network, with CV+ one a fold; the mixture of all their members predicts.
    networks_: list[Trained]
    #: The indices of the rows that each network has not seen, and that calibrate.
    unseen_: list[Int[Array, " rows"]]
    #: The calibration; None where intervals and sets are **uncalibrated**, the mixture's own.
    conformal_: Any

    def __init__(
        self, method: str = "deep_ensemble", *, ensemble_size: int = 5,
        hidden: tuple[int, ...] = (50, 50), epochs: int = 200, lr: float = 0.003,
        weight_decay: float = 1e-4, batch_size: int = 32, patience: int | None = 20,
        calibration: float | int | str | None = 0.2, random_state: Any = None,
    ) -> None:  # fmt: skip
        self.method, self.ensemble_size, self.hidden = method, ensemble_size, hidden
        self.epochs, self.lr, self.weight_decay = epochs, lr, weight_decay
        self.batch_size, self.patience = batch_size, patience
        self.calibration, self.random_state = calibration, random_state

    def guarantee(self, level: float = 0.9) -> float:
        """Return with which probability, at least, the target is inside: 0 if not calibrated."""
        check_is_fitted(self)
        return 0.0 if self.conformal_ is None else self.conformal_.guarantee(level)

    def _fit(self, X: Array, y: Array, heads: int, nll: Callable[..., Any]) -> None:
        """Train each network on the rows that it may see, and calibrate on the others."""
        settings = self.get_params(deep=False)
        rng = check_random_state(settings.pop("random_state"))
        order = rng.permutation(len(X))
        self.unseen_ = unseen_rows(settings.pop("calibration"), order)
        self.networks_ = [
            trained(X[seen], y[seen], heads, nll, int(rng.randint(2**31 - 1)), **settings)
            for seen in (order[~np.isin(order, unseen)] for unseen in self.unseen_)
        ]
        self.conformal_ = None
        if self.calibration is not None:
            pairs, K = zip(self.networks_, self.unseen_, strict=True), len(self.networks_)
            own = np.concatenate([self._members(net, X[part]) for net, part in pairs], axis=1)
            folds = np.repeat(np.arange(K), list(map(len, self.unseen_))) if K > 1 else None
            self.conformal_ = self._calibrated(own, y[np.concatenate(self.unseen_)], folds)

    def _forecasts(self, X: Any) -> Float[Array, "K S B parts"]:
        """Return what the members of each network forecast for new rows."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return np.stack([self._members(net, X) for net in self.networks_])


def unseen_rows(calibration: Any, order: Int[Array, " n"]) -> list[Int[Array, " rows"]]:
    """Return for each network that is to be trained the rows that it must not see."""
    if calibration is None:
        return [order[:0]]
    n, unseen, words = len(order), [order], isinstance(calibration, str)
    number: Any = FOLDS if words and calibration == "cv+" else calibration
    real = isinstance(number, Real) and not isinstance(number, bool)
    if real and isinstance(number, Integral) and 2 <= int(number) <= n:
        unseen = np.array_split(order, int(number))
    elif real and 0 < number < 1:
        unseen = [order[: max(1, round(number * n))]]
    if n - len(unseen[0]) < 2:
        raise (ValueError if real or words else TypeError)(
            "calibration must be a part of the rows between 0 and 1, a number of folds from 2 up, "
            f"'cv+' or None, and leave 2 of {n} rows to train on, got {checks.given(calibration)}"
        )
    return unseen
