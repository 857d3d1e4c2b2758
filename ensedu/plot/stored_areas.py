"""What a layer stores, as rectangles of one scale: an area tells how many numbers they are."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection

from ensedu.methods import METHODS
from ensedu.plot.style import PAGE, PALETTE, SHARED

HAIR = 0.6 / 72  # inches: what is thinner would not be seen
GAP = 0.07  # inches: the page between a matrix and its strips
SPLIT, SHARE = 0.018, 0.35  # between two strips: inches, or a share of one, whatever is more
SEEN = 0.004  # inches: the least gap that is seen
DOTS = 0.16  # inches: room for dots
APART = 0.06  # inches: the most between two matrices
FEW = 4  # members whose matrices, or strips, always have room
MOST = 400  # rectangles of a layer, beyond which piles are drawn
PILE, STEP = 0.25, 0.035  # inches: the height of a pile's edge, and of one sheet of it
CELL = 0.07  # inches: from here up each number is a square of its own
HATCH = 0.03  # inches: what is thinner is dashed where it would be hatched
DASH = (0.04, 0.025)  # inches: a dash, and the gap behind it
LETTER = 0.19  # inches: room for the letter r or s


class Sheet(NamedTuple):
    """A rectangle, its role, and how many of its numbers stand in a row and in a column."""

    x: float
    y: float
    width: float
    height: float
    role: str
    columns: int = 1
    rows: int = 1


class PlacedLayer(NamedTuple):
    """The rectangles of a layer, letters and dots beside them, and the room that they take."""

    sheets: list[Sheet]
    letters: list[tuple[float, float, str]]
    dots: list[tuple[float, float]]
    width: float
    height: float


def number_side(method: str, widest: int, room: float | int) -> float:
    """Return how long the side of one number is, in inches.

    So long that two matrices of the widest layer stand side by side in the room. It is the same
    for all methods, unless r and s of four members would not fit beside a small matrix.
    """
    most = (room - APART) / (2 * widest)
    if not METHODS[method].modulated:
        return most
    kinds = len(_vector_roles(method))
    strips, room = FEW * kinds, room - GAP * kinds
    return min(most, (room - strips * SPLIT) / (widest + strips))


def place_layer(
    kind: str, m: int, n: int, M: int, unit: float | int, room: float | int, widest: int
) -> PlacedLayer:
    """Place what a layer of this kind stores, from the upper left corner of a square room."""
    if METHODS[kind].modulated:
        return _place_modulated(kind, m, n, M, unit, room - widest * unit)
    whole = [array for array in METHODS[kind].arrays if array.shape in ("m n", "M m n")]
    copies = M if whole[0].shape == "M m n" else 1
    roles = [array.role for array in whole] if copies == 1 else [whole[0].role]
    return _place_matrices(roles, copies, m, n, unit, room)


def _place_matrices(
    roles: list[str], copies: int, m: int, n: int, unit: float | int, room: float | int
) -> PlacedLayer:
    """Place matrices as near to a square as they can; as piles where they have no room."""
    width, height = _side_inches(n, unit), _side_inches(m, unit)
    apart = min(APART, max(0.02, 0.5 * min(width, height)))
    number = copies * len(roles)
    across, down = (int((room + apart) / (side + apart) + 1e-9) for side in (width, height))
    places = max(1, across) * max(1, down)
    depth = -(-number // places)  # sheets of a pile
    if number > MOST:
        depth = max(depth, -(-number // MOST))
    piles = -(-number // depth)
    fits = [c for c in range(1, max(1, across) + 1) if -(-piles // c) <= max(1, down)]
    far = {
        c: abs(np.log(c * (width + apart)) - np.log(-(-piles // c) * (height + apart)))
        for c in fits
    }
    # Of two arrangements that are as near to a square, the wider one saves height.
    columns = min(reversed(fits), key=lambda c: round(far[c], 6))
    behind = min(depth, 24) - 1  # as many sheets as can be told apart
    step = min(STEP, PILE / behind) if behind else 0.0
    edge = step * behind
    sheets = []
    for pile in range(piles):
        row, column = divmod(pile, columns)
        x, y = column * (width + apart), row * (height + apart + edge) + edge
        role = roles[pile % len(roles)]
        sheets.append(Sheet(x, y, width, height, role, n, m))
        # Of those behind the first one a slice is seen.
        rest = min(behind, number - pile * depth - 1)
        sheets += [Sheet(x, y - step * (k + 1), width, 0.6 * step, role) for k in range(rest)]
    rows = -(-piles // columns)
    return PlacedLayer(
        sheets, [], [], columns * (width + apart) - apart, rows * (height + apart + edge) - apart
    )


def _place_modulated(
    kind: str, m: int, n: int, M: int, unit: float | int, room: float | int
) -> PlacedLayer:
    """Place one matrix, r of each member to its left, and s above it."""
    roles = _vector_roles(kind)
    width, height = _side_inches(n, unit), _side_inches(m, unit)
    strips, dots, far = [], [], 0.0
    for role in roles:
        start = far + GAP
        for near, thick, number in _place_strips(M, unit, room / len(roles) - GAP):
            if number:
                strips.append((role, start + near, thick, number))
            else:
                dots.append(start + near + thick / 2)
            far = start + near + thick
    x, y = far, LETTER + far
    sheets = [Sheet(x, y, width, height, "shared", n, m)]
    for role, near, thick, number in strips:
        sheets.append(Sheet(x - near - thick, y, thick, height, role, number, m))
        sheets.append(Sheet(x, y - near - thick, width, thick, role, n, number))
    middle = (far + GAP) / 2
    letters = [(x - middle, y + height + LETTER / 2 + 0.02, "r"), (x + width / 2, 0.07, "s")]
    places = [
        dot
        for place in dots
        for step in (-0.045, 0.0, 0.045)
        for dot in ((x - place + step, y + height / 2), (x + width / 2, y - place + step))
    ]
    return PlacedLayer(sheets, letters, places, x + width, y + height + LETTER)


def _place_strips(
    number: int, unit: float | int, room: float | int
) -> list[tuple[float, float, int]]:
    """Place strips one number thick: (where it begins, how thick it is, how many strips it is).

    With little room, or of members too thin to be seen, they are one block of their area. Where
    that has no room either, there are dots, 0 strips, behind those that have.
    """
    thick = _side_inches(1, unit)
    split = max(SPLIT, SHARE * thick)
    free = (room - number * thick) / max(1, number - 1)
    if free >= SEEN and (unit >= 0.8 * HAIR or number * unit < HAIR):
        pitch = thick + min(split, free)
        return [(k * pitch, thick, 1) for k in range(number)]
    if number * unit <= room:
        return [(0.0, _side_inches(number, unit), number)]
    pitch = thick + split
    drawn = max(1, int((room - DOTS + split) / pitch))
    return [*((k * pitch, thick, 1) for k in range(drawn)), (drawn * pitch, DOTS, 0)]


def _vector_roles(kind: str) -> list[str]:
    """Return the roles of a member's vectors of inputs."""
    return [array.role for array in METHODS[kind].arrays if array.shape == "M m"]


def _side_inches(number: int, unit: float | int) -> float:
    return max(number * unit, HAIR)


def draw_layer(axes: Axes, layer: PlacedLayer, x: float | int, y: float | int, method: str) -> None:
    """Draw rectangles from this corner on, in gray, in the method's color, or hatched."""
    row, own = METHODS[method], PALETTE[method]
    # What a method without members stores is all its own.
    inks = {"shared": SHARED if row.members else own, "per_member": own}
    moved = [sheet._replace(x=sheet.x + x, y=sheet.y + y) for sheet in layer.sheets]
    for role in dict.fromkeys(sheet.role for sheet in moved):
        drawn = [sheet for sheet in moved if sheet.role == role]
        if role in inks:
            _add_rectangles(axes, drawn, role, facecolor=inks[role])
            continue
        thin = [sheet for sheet in drawn if min(sheet.width, sheet.height) < HATCH]
        thick = [sheet for sheet in drawn if sheet not in thin]
        _add_rectangles(axes, thick, role, facecolor="none", edgecolor=own, lw=0.8)
        lines = [line for sheet in thick for line in _hatch_lines(sheet)]
        axes.add_collection(LineCollection(lines, colors=own, lw=0.8))
        _add_rectangles(
            axes, [dash for sheet in thin for dash in _dashes(sheet)], role, facecolor=own
        )
    for across, down in layer.dots:
        axes.plot([x + across], [y + down], marker="o", ms=2, mew=0, color=own)
    lines = [line for sheet in moved for line in _lines_between_numbers(sheet)]
    axes.add_collection(LineCollection(lines, colors=PAGE, lw=0.8))


def _add_rectangles(axes: Axes, sheets: Sequence[Sheet], role: str, **style: Any) -> None:
    if sheets:
        low = np.array([[sheet.x, sheet.y] for sheet in sheets])
        sides = np.array([[sheet.width, sheet.height] for sheet in sheets])
        corners = low[:, None] + sides[:, None] * [[0, 0], [1, 0], [1, 1], [0, 1]]
        kind: dict[str, Any] = {"lw": 0, "edgecolor": "none"} | style
        axes.add_collection(PolyCollection(corners, gid=role, **kind))


def _dashes(sheet: Sheet) -> list[Sheet]:
    """Cut a strip into dashes, the last one where it ends."""
    along = max(sheet.width, sheet.height)
    starts = np.arange(0.0, along, sum(DASH))
    ends = np.minimum(starts + DASH[0], along)
    if sheet.width >= sheet.height:
        return [
            sheet._replace(x=sheet.x + a, width=b - a) for a, b in zip(starts, ends, strict=True)
        ]
    return [sheet._replace(y=sheet.y + a, height=b - a) for a, b in zip(starts, ends, strict=True)]


def _hatch_lines(sheet: Sheet) -> list[list[tuple[float, float]]]:
    """Return lines that rise to the right: Matplotlib's own leave narrow strips nearly empty."""
    x, y, width, height = sheet[:4]
    step = 0.055 if min(width, height) > 0.12 else 0.035
    lines = []
    for far in np.arange(step / 2, width + height, step):
        start = (x + max(0.0, far - height), y + min(height, far))
        end = (x + min(width, far), y + max(0.0, far - width))
        lines.append([start, end])
    return lines


def _lines_between_numbers(sheet: Sheet) -> list[list[tuple[float, float]]]:
    """Return the lines that part the numbers of a sheet, where they are large enough."""
    x, y, width, height = sheet[:4]
    if width < CELL * sheet.columns:
        return []
    across = x + width * np.arange(1, sheet.columns) / sheet.columns
    down = y + height * np.arange(1, sheet.rows) / sheet.rows
    return [[(a, y), (a, y + height)] for a in across] + [[(x, b), (x + width, b)] for b in down]
