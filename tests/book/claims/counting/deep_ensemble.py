"""What *What is inside a deep ensemble?* claims, by counts."""

from ensedu import counting
from tests.book.claiming import Claims

CLAIMS = Claims(
    "counting/deep-ensemble",
    unclaimed={
        "The mixed term is 0, because": "a step of a proof",
        "so unit 7 of one member has": "an example of a name",
        "as a network that always answers 0": "the folded check below shows it",
    },
)
says = CLAIMS.says


def total(sizes: list[int], members: int) -> int:
    return counting.mlp(sizes, "deep_ensemble", members).total


CURVE, DIGITS = [1, 50, 50, 1], [784, 100, 10]
says("hold 4 × 2,701 = 10,804 parameters", lambda: (4, total(CURVE, 1), total(CURVE, 4)))
says("and the sixth costs another 79{,}510", lambda: total(DIGITS, 6) - total(DIGITS, 5))
