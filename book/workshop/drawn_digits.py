"""Digits that a reader draws: strokes, what a network sees of them, and small networks that look.

The digits of that set were scanned, and made 32 × 32 bits by NIST's programs (Garris et al. 1994,
NISTIR 5469): what lies around the ink is cut off, the rest is scaled to 20 × 32 bits, strokes that
are too thick are eroded, and those that are too thin dilated, and the rows are shifted until the
left edge stands upright. Then each of the 8 × 8 blocks is the number of its bits, 0 to 16. `seen`
repeats these steps, on strokes in place of a scan; ``digit/figure.js`` does as it does.

A drawing is a list of strokes, a stroke an array (points, 2) of x and y in a square of side 1, y
from the top down.

A network is 64-32-10, of any method, with four members or four draws of its weights. A page holds
its arrays as text, in float16.
"""

import base64
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray as Array
from numpy.random import Generator

from ensedu import numpy as en
from ensedu import uncertainty
from ensedu.methods import METHODS, size_option

Drawing = list[Float[Array, "_ 2"]]

#: Radius of the pen, in sides of the square.
PEN = 0.04
#: Size of the bitmap, and how wide what is drawn is made.
SIDE, WIDE = 32, 20
#: A bitmap of more bits than these is eroded, of fewer dilated: once, or twice.
THICK, THIN = (412, 560), (256, 108)

_DIGITS = {
    "0": "~50,8 25,25 22,60 35,90 55,92 74,75 76,40 66,12 50,8",
    "1": "56,8 46,92",
    "2": "~24,28 34,10 58,8 72,24 66,45 44,68 22,90;22,90 78,90",
    "3": "~26,16 46,6 70,16 66,38 44,46;~44,46 70,52 76,74 56,94 24,86",
    "4": "56,8 20,62 80,62;62,34 60,94",
    "5": "72,10 34,10 30,44;~30,44 56,38 76,54 72,80 48,94 24,84",
    "6": "~66,8 42,22 28,52 28,78 46,94 68,84 70,62 52,52 32,66",
    "7": "24,12 76,12 46,92",
    "8": "~52,48 28,34 32,10 54,6 72,18 68,36 36,58 26,78 44,95 68,90 74,70 52,48",
    "9": "~70,30 58,8 34,14 28,36 46,50 64,44 72,22;71,24 66,60 58,94",
}
_LETTERS = {
    "A": "22,94 50,6 78,94;34,62 66,62",
    "C": "~76,22 58,6 34,14 22,40 24,70 42,94 76,82",
    "E": "74,8 28,8 28,92 76,92;28,48 66,48",
    "F": "76,8 28,8 28,94;28,48 66,48",
    "H": "26,6 26,94;74,6 74,94;26,50 74,50",
    "J": "40,8 78,8;~62,8 62,60 56,88 36,94 22,76",
    "K": "28,6 28,94;74,8 28,54 76,94",
    "L": "30,6 30,92 76,92",
    "M": "18,94 24,8 50,60 76,8 82,94",
    "N": "24,94 24,8 76,92 76,6",
    "P": "28,94 28,8;~28,8 64,8 78,28 64,50 28,50",
    "R": "28,94 28,8;~28,8 64,8 76,28 62,48 28,48;44,48 78,94",
    "T": "20,10 80,10;50,10 50,94",
    "U": "~24,6 24,66 38,94 62,94 76,66 76,6",
    "V": "20,8 50,94 80,8",
    "W": "14,8 32,92 50,36 68,92 86,8",
    "X": "22,8 78,94;78,8 22,94",
    "Y": "22,8 50,48;80,8 50,48 48,94",
}


def _rounded(points: Float[Array, "_ 2"]) -> Float[Array, "_ 2"]:
    """Cut the corners of a stroke, again and again (Chaikin 1974); its ends stay."""
    for _ in range(3):
        one, other = points[:-1], points[1:]
        cut = np.stack([0.75 * one + 0.25 * other, 0.25 * one + 0.75 * other], axis=1)
        points = np.concatenate([points[:1], cut.reshape(-1, 2), points[-1:]])
    return points


def from_text(text: str) -> Drawing:
    """Return the strokes of ``"x,y x,y;x,y"``, in percent; one that begins with ~ is rounded."""
    found = []
    for stroke in text.split(";"):
        points = np.array(
            [[float(value) for value in pair.split(",")] for pair in stroke.strip("~").split()]
        )
        found.append((_rounded(points) if stroke.startswith("~") else points) / 100)
    return found


#: A drawing of each digit, and of capital letters that are no digit's twin.
DIGITS = {name: from_text(text) for name, text in _DIGITS.items()}
LETTERS = {name: from_text(text) for name, text in _LETTERS.items()}


def jittered(drawing: Drawing, rng: Generator) -> Drawing:
    """Draw it once more, with another hand: turned, slanted, stretched, and less steady."""
    turn, slant = rng.normal(0, 0.08), rng.normal(0, 0.12)
    stretch = np.diag(np.exp(rng.normal(0, 0.12, 2)))
    rotate = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    shear = np.array([[1, slant], [0, 1]])
    matrix = rotate @ shear @ stretch
    return [
        (stroke - 0.5 + rng.normal(0, 0.03, 2)) @ matrix.T + 0.5 + _wobble(len(stroke), rng)
        for stroke in drawing
    ]


def _wobble(number: int, rng: Generator) -> Float[Array, "_ 2"]:
    """A smooth error of the hand along a stroke."""
    ends = rng.normal(0, 0.025, (4, 2))
    at = np.linspace(0, 1, number)
    return np.stack([np.interp(at, np.linspace(0, 1, 4), ends[:, k]) for k in (0, 1)], axis=1)


def bits(drawing: Drawing, pen: float = PEN) -> Bool[Array, "32 32"]:
    """Return the bitmap of a drawing: cut out, scaled, of the right thickness, upright."""
    page = np.zeros((SIDE, SIDE), dtype=bool)
    if not drawing:
        return page
    points = np.concatenate(drawing)
    low = points.min(axis=0) - pen
    size = points.max(axis=0) + pen - low
    x = low[0] + (np.arange(WIDE) + 0.5) / WIDE * size[0]
    y = low[1] + (np.arange(SIDE) + 0.5) / SIDE * size[1]
    near = np.zeros((SIDE, WIDE), dtype=bool)
    for stroke in drawing:
        # a dot is a line without length
        ends = stroke if len(stroke) > 1 else stroke[[0, 0]]
        for (ax, ay), (bx, by) in pairwise(ends):
            dx, dy = bx - ax, by - ay
            length = dx * dx + dy * dy
            along = (x - ax) * dx + ((y - ay) * dy)[:, None]
            t = np.clip(along / length, 0, 1) if length else np.zeros_like(along)
            ex, ey = x - (ax + t * dx), y[:, None] - (ay + t * dy)
            near |= ex * ex + ey * ey <= pen * pen
    left = (SIDE - WIDE) // 2
    page[:, left : left + WIDE] = near
    number = page.sum()
    for limit in THICK:
        page = _eroded(page) if number > limit else page
    for limit in THIN:
        page = ~_eroded(~page, outside=True) if number < limit else page
    return _upright(page)


def _eroded(page: Bool[Array, "H W"], outside: bool = False) -> Bool[Array, "H W"]:
    """Keep the bits whose four neighbors are on, too; `outside` says what lies around."""
    framed = np.pad(page, 1, constant_values=outside)
    return page & framed[:-2, 1:-1] & framed[2:, 1:-1] & framed[1:-1, :-2] & framed[1:-1, 2:]


def _upright(page: Bool[Array, "32 32"]) -> Bool[Array, "32 32"]:
    """Shift the rows until the left edge, two rows from top and from bottom, stands upright."""
    rows = np.flatnonzero(page.any(axis=1))
    if len(rows) <= 5:
        return page
    top, bottom = rows[0] + 2, rows[-1] - 2
    if not (page[top].any() and page[bottom].any()):
        return page
    slope = (page[top].argmax() - page[bottom].argmax()) / (bottom - top)
    shifted = np.zeros_like(page)
    for row in range(SIDE):
        by = int(np.floor((row - SIDE // 2) * slope + 0.5))
        kept = page[row, max(0, -by) : SIDE - max(0, by)]
        shifted[row, max(0, by) : max(0, by) + len(kept)] = kept
    return shifted


def seen(drawing: Drawing, pen: float = PEN) -> Float[Array, "64"]:
    """Return what a network sees of a drawing: 8 × 8 numbers from 0 to 1, sixteenths."""
    blocks = bits(drawing, pen).reshape(8, 4, 8, 4).sum(axis=(1, 3))
    return blocks.reshape(-1) / 16


SIZES, MEMBERS = (64, 32, 10), 4
#: Above this probability of one class a network is sure.
SURE = 0.9
#: How often what draws is asked, each time with four draws.
DRAWS = 5

Arrays = dict[str, Float[Array, "..."]]


def described() -> dict[str, Any]:
    """Return for the scripts what bitmaps and networks are like."""
    return {
        "side": SIDE, "wide": WIDE, "thick": THICK, "thin": THIN, "sizes": SIZES,
        "passes": MEMBERS, "sure": SURE,
    }  # fmt: skip


def packed(arrays: Arrays) -> dict[str, str]:
    """Return arrays as text: float16, little-endian, row by row, base64."""
    return {
        name: base64.b64encode(array.astype("<f2").tobytes()).decode()
        for name, array in arrays.items()
    }


def unpacked(method: str, text: dict[str, str]) -> Arrays:
    """Return the arrays that `packed` was given, float64."""
    like = _network(method, 0.1).params
    shapes = dict(zip(text, (array.shape for array in like.values()), strict=True))
    return {
        name: np.frombuffer(base64.b64decode(one), "<f2").astype(np.float64).reshape(shapes[name])
        for name, one in text.items()
    }


def _network(method: str, p: float) -> en.Sequential:
    """Return a network of a method in NumPy, with four members or four samples."""
    row = METHODS[method]
    given: dict[str, Any] = size_option(method, MEMBERS) if row.has_members else {}
    if row.stochastic and not row.has_members:
        given = {"samples": MEMBERS}
    options = {"p": p} if row.drops_units else {}
    return en.mlp(SIZES, method, **given, **options, rng=np.random.default_rng(0))


def outputs(
    method: str, arrays: Arrays, x: Float[Array, "B 64"], rng: Generator, p: float = 0.0
) -> Float[Array, "M B 10"]:
    """Return logits of each member, or of each of four draws; one network has one member."""
    net = _network(method, p)
    for own, array in zip(net.params.values(), arrays.values(), strict=True):
        own[...] = array
    found = net.forward(x, net.noise(rng, x.shape) if METHODS[method].stochastic else None)
    return found.reshape(-1, len(x), SIZES[-1])


def probabilities(
    method: str, arrays: Arrays, x: Float[Array, "B 64"], seed: int = 0, p: float = 0.0
) -> Float[Array, "D M B 10"]:
    """Return class probabilities of members, for each of several draws of what draws."""
    rng = np.random.default_rng(seed)
    draws = range(DRAWS if METHODS[method].stochastic else 1)
    return np.stack([uncertainty.softmax(outputs(method, arrays, x, rng, p)) for _ in draws])
