"""What a calibrated model promises, how often it held, and whether it still does."""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray as Array
from numpy.random import Generator

from ensedu import uncertainty as un
from ensedu.common import checks


class Calibrated:
    """What is done with a conformal calibration, whatever the model."""

    #: The calibration; None where intervals and sets are **uncalibrated**, the mixture's own.
    conformal_: Any

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

        Raises
        ------
        TypeError, ValueError
            For other rows or targets, and unless one part of the rows calibrated one network.
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

    @property
    def _seed(self) -> int:
        raise NotImplementedError

    def _inside(self, X: Any, y: Any, level: float) -> Bool[Array, " B"]:
        raise NotImplementedError

    def _scores(self, X: Any, y: Any, rng: Generator) -> Float[Array, " B"]:
        """Return how strange each target is, as `conformal_` scored those that calibrated."""
        raise NotImplementedError
