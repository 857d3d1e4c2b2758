"""What a setting may be: one description, by which Python checks it, and scripts do.

``live/link.js`` reads what `described` returns.
"""

from dataclasses import dataclass
from typing import Any

from ensedu.common import checks


@dataclass(frozen=True)
class Choice:
    """One of some words; `optional` accepts None, too."""

    words: tuple[str, ...]
    optional: bool = False

    def checked(self, name: str, value: Any) -> str | None:
        """Return the word.

        Raises
        ------
        TypeError, ValueError
            For anything else.
        """
        if value is None and self.optional:
            return None
        return checks.one_of(name, value, self.words)

    def described(self) -> dict[str, Any]:
        """Return the words, and None where it is accepted."""
        return {"choices": [*([None] if self.optional else []), *self.words]}


@dataclass(frozen=True)
class WholeNumber:
    """An integer from `low`, 0 or more, to `high`."""

    low: int
    high: int

    def checked(self, name: str, value: Any) -> int:
        """Return the number.

        Raises
        ------
        TypeError, ValueError
            For anything else.
        """
        number = checks.natural_int(name, value)
        if not self.low <= number <= self.high:
            raise ValueError(
                f"{name} must be from {self.low} to {self.high}, got {checks.shown(value)}"
            )
        return number

    def described(self) -> dict[str, Any]:
        """Return both ends, and that it is whole."""
        return {"whole": True, "low": self.low, "high": self.high}


@dataclass(frozen=True)
class RealNumber:
    """A finite number from `low` to `high`."""

    low: float | int
    high: float | int

    def checked(self, name: str, value: Any) -> float:
        """Return the number.

        Raises
        ------
        TypeError, ValueError
            For anything else.
        """
        number = checks.real(name, value)
        if not self.low <= number <= self.high:
            raise ValueError(f"{name} must be from {self.low:g} to {self.high:g}, got {number:g}")
        return number

    def described(self) -> dict[str, Any]:
        """Return both ends."""
        return {"whole": False, "low": self.low, "high": self.high}


Field = Choice | WholeNumber | RealNumber
