"""Seeded random numbers, the same as the scripts draw: ``common/random.js``."""

import math

__all__ = ["Random"]

_MASK = 0xFFFFFFFF


class Random:
    """sfc32 (Doty-Humphrey, PractRand) in 32-bit integers, as in ``random.js``."""

    def __init__(self, seed: int) -> None:
        self._state = [seed & _MASK, (seed ^ 0x9E3779B9) & _MASK, 0x243F6A88, 1]
        self._spare: float | None = None
        for _ in range(16):
            self.next()

    def next(self) -> int:
        """Return an integer from 0 to 2**32 - 1."""
        a, b, c, counter = self._state
        drawn = (a + b + counter) & _MASK
        turned = (c << 21 | c >> 11) & _MASK
        self._state = [
            b ^ b >> 9, (c + (c << 3)) & _MASK, (turned + drawn) & _MASK, (counter + 1) & _MASK,
        ]  # fmt: skip
        return drawn

    def uniform(self) -> float:
        """Return a number in [0, 1)."""
        return self.next() / 2**32

    def normal(self) -> float:
        """Return a draw of N(0, 1), by the method of Box and Muller, which gives two at a time."""
        if self._spare is not None:
            spare, self._spare = self._spare, None
            return spare
        radius = math.sqrt(-2 * math.log(1 - self.uniform()))
        angle = 2 * math.pi * self.uniform()
        self._spare = radius * math.sin(angle)
        return radius * math.cos(angle)
