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


@CLAIMS.says("four", "hold 4 × 2,701 = 10,804 parameters")
def _() -> None:
    four, five = (counting.mlp([1, 50, 50, 1], "deep_ensemble", M).total for M in (4, 5))
    assert (four, five - four) == (10_804, 2701)


@CLAIMS.says("ex-count", "and the sixth costs another 79{,}510")
def _() -> None:
    five, six = (counting.mlp([784, 100, 10], "deep_ensemble", M) for M in (5, 6))
    assert five.total == 397_550 and six.total - five.total == 79_510
