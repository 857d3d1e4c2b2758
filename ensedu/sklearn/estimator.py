"""What estimators share: what they promise, their parameters, and which rows no network sees."""

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray as Array
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_random_state, check_X_y
from sklearn.utils.validation import check_is_fitted, validate_data

from ensedu import uncertainty as un
from ensedu.common import checks
from ensedu.common.checks import optional
from ensedu.data import clean
from ensedu.sklearn.rows import check_no_dates, groups_of_rows, is_frame, looks_grouped, take_rows
from ensedu.sklearn.scaled_network import ScaledNetwork, train_scaled

#: The method where none is given.
METHOD = "deep_ensemble"
#: How many folds ``"cv+"`` means.
FOLDS = 5
#: The part of the groups that says when to stop.
VALIDATION = 0.1


class Calibrated:
    """What is done with a conformal calibration, whatever the model."""

    #: The calibration; None where intervals and sets are **uncalibrated**, the mixture's own.
    conformal_: Any
    #: All that is random follows from it.
    _seed: int
    #: Which targets are inside at a level, ``(X, y, level)``.
    _inside: Callable[..., Bool[Array, " B"]]
    #: How strange each target is, as `conformal_` scored those that calibrated, ``(X, y, rng)``.
    _scores: Callable[..., Float[Array, " B"]]

    def guarantee(self, level: float = 0.9) -> float:
        """Return with which probability, at least, the target is inside: 0 if not calibrated."""
        self._fitted()
        return 0.0 if self.conformal_ is None else self.conformal_.guarantee(level)

    def coverage(self, X: Any, y: Any, level: float = 0.9, *, by: Any = None) -> Any:
        """Return the part of targets inside their intervals or sets, of rows not fitted on.

        The promise is about all rows on average. With `by`, a value a row, such as a column, this
        is a dict of the part and the number of rows for each value.
        """
        inside = self._inside(X, y, level)
        if by is None:
            return float(inside.mean())
        values = np.asarray(by)
        if values.shape != inside.shape:
            raise ValueError(
                f"by must have a value for each of {len(inside)} rows, got shape {values.shape}"
            )
        found, of_row = np.unique(values.astype(str), return_inverse=True)
        parts = [inside[of_row == i] for i in range(len(found))]
        return {
            name: (float(part.mean()), len(part))
            for name, part in zip(found.tolist(), parts, strict=True)
        }

    def check(
        self, X: Any, y: Any, *, after: un.ExchangeabilityTest | None = None
    ) -> un.ExchangeabilityTest:
        """Return whether the promise still holds for new rows, as they came in time.

        It may be asked again and again: `after` is what the last check returned, and the new rows
        go on where that one ended. However often one looks, rows like those that calibrated raise
        an alarm with a probability of at most 5%; see `ensedu.uncertainty.ExchangeabilityTest`. If
        rows belong to groups, give one row of each new group.

        ``ValueError`` unless one part of the rows calibrated one network.
        """
        self._fitted()
        if self.conformal_ is None or self.conformal_.folds is not None:
            raise ValueError(
                "check needs scores of rows that one network has not seen: calibration must be a "
                "part of the rows, such as 0.2"
            )
        if after is None:
            after = un.ExchangeabilityTest.fit(self.conformal_.scores.ravel())
        elif not isinstance(after, un.ExchangeabilityTest):
            raise TypeError(f"after must be what check returned, got {checks.describe(after)}")
        rng = np.random.default_rng([self._seed, 1 + after.rows])
        return after.update(self._scores(X, y, rng), rng)

    def _fitted(self) -> None:
        """Raise ``NotFittedError`` for a model that is not fitted yet."""


class EnsembleEstimator(Calibrated, BaseEstimator):
    """The base of `EnsembleClassifier` and `EnsembleRegressor`, which says what they take."""

    #: One network, with CV+ one a fold; the mixture of all their members predicts.
    networks_: list[ScaledNetwork]
    #: The indices of the rows that calibrate each network, one of each group that it has not seen.
    unseen_: list[Int[Array, " rows"]]
    #: How the columns of a frame were read: a frame without rows; None of an array.
    table_: Any

    def __init__(
        self, method: str = METHOD, *, ensemble_size: int = 5,
        hidden: tuple[int, ...] = (50, 50), epochs: int = 200, lr: float = 0.003,
        weight_decay: float = 1e-4, batch_size: int = 32, patience: int | None = 20,
        calibration: float | int | str | None = 0.2, dayfirst: bool | None = None,
        random_state: Any = None,
    ) -> None:  # fmt: skip
        self.method, self.ensemble_size, self.hidden = method, ensemble_size, hidden
        self.epochs, self.lr, self.weight_decay = epochs, lr, weight_decay
        self.batch_size, self.patience = batch_size, patience
        self.calibration, self.dayfirst = calibration, dayfirst
        self.random_state = random_state

    def _fitted(self) -> None:
        check_is_fitted(self)

    @property
    def _seed(self) -> int:
        return self.networks_[0].seed

    def _read(self, X: Any, y: Any, **checked: Any) -> tuple[Any, Array]:
        """Return inputs, an array or what `clean` makes of a frame, and targets (n,), to fit on."""
        checked["ensure_min_samples"] = 3
        self.table_ = None
        if not is_frame(X):
            check_no_dates("X", X)
            return validate_data(self, X, y, dtype=np.float64, **checked)
        X = validate_data(self, X.rename(columns=str), skip_check_array=True)
        X = clean(X, dayfirst=self.dayfirst)
        self.table_ = X.iloc[:0]
        return X, check_X_y(np.zeros((len(X), 1)), y, estimator=self, **checked)[1]

    def _fit(self, X: Any, y: Array, groups: Any, heads: int, nll: Callable[..., Any]) -> None:
        """Train each network on the groups that it may see, and calibrate on the others."""
        settings = self.get_params(deep=False)
        for name in ("dayfirst", "target"):
            settings.pop(name, None)
        rng = check_random_state(settings.pop("random_state"))
        group = groups_of_rows(X, groups)
        first = np.unique(group, return_index=True)[1]
        if groups is None and (name := looks_grouped(take_rows(X, first), y[first].ravel())):
            warnings.warn(
                f"rows look grouped: targets are alike where column {name!r} is. If new rows will "
                "have new values there, intervals and sets hold less than they promise, unless fit "
                f"gets groups, the values of {name!r}; groups=range({len(X)}) is for rows that "
                "stand each by itself",
                stacklevel=3,
            )
        order = rng.permutation(group.max() + 1)
        rows = np.argsort(np.argsort(order)[group], kind="stable")
        self.networks_, parts = [], unseen_groups(settings.pop("calibration"), order)
        for unseen in parts:
            seen = order[~np.isin(order, unseen)]
            first = seen[: max(1, round(VALIDATION * len(seen)))]
            own = rows[np.isin(group[rows], seen)]
            seed, stop = int(rng.randint(2**31 - 1)), int(np.isin(group, first).sum())
            network = train_scaled(take_rows(X, own), y[own], heads, nll, seed, stop, **settings)
            self.networks_.append(network)
        order = rng.permutation(len(group))  # of the rows of a group the first here calibrates
        order = order[np.unique(group[order], return_index=True)[1]]
        self.unseen_ = [order[unseen] for unseen in parts]
        self.conformal_ = None
        if self.calibration is not None:
            pairs, K = zip(self.networks_, self.unseen_, strict=True), len(self.networks_)
            own = np.concatenate(
                [self._members(net, take_rows(X, part)) for net, part in pairs], axis=1
            )
            folds = np.repeat(np.arange(K), list(map(len, self.unseen_))) if K > 1 else None
            self.conformal_ = self._calibrated(own, y[np.concatenate(self.unseen_)], folds)

    def _forecasts(self, X: Any) -> Float[Array, "K S B parts"]:
        """Return what the members of each network forecast for new rows."""
        check_is_fitted(self)
        if self.table_ is None:
            check_no_dates("X", X)
            X = validate_data(self, X, dtype=np.float64, reset=False)
        else:
            X = X.rename(columns=str) if is_frame(X) else check_array(X, dtype=None)
            X = validate_data(self, X, skip_check_array=True, reset=False)
            frame = optional("pandas", "data").DataFrame(X, columns=self.feature_names_in_)
            X = clean(frame, like=self.table_)
        return np.stack([self._members(net, X) for net in self.networks_])


def unseen_groups(calibration: Any, order: Int[Array, " n"]) -> list[Int[Array, " groups"]]:
    """Return for each network that is to be trained the groups of rows that it must not see."""
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
            f"'cv+' or None, and leave 2 of {n} rows (or groups) to train on, got "
            f"{checks.describe(calibration)}"
        )
    return unseen
