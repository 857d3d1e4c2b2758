"""The values of a model's weights, coarse enough for a page."""

import base64
from math import isqrt
from typing import Any

from ensedu.xray.layers import Reading

__all__ = ["of_model"]

MOST_BINS, CORNER = 64, 6
#: So many bytes may all of them have, and so many of each are its corner and its names.
ROOM, BESIDE = 100_000, 260


def of_model(model: Any, reading: Reading) -> dict[str, Any] | None:
    """Return by name of a weight its means over bins, a byte each, and its first 6 × 6 numbers.

    A bin has 0 to 254: 127 stands for 0, and the ends for the largest bin's size either way.
    Nothing for tensors without values.
    """
    tables = [(layer.table,) if layer.table else layer.matrices for layer in reading.layers]
    matrices = [matrix for table in tables for matrix in table]
    room = max(0, ROOM // max(1, len(matrices)) - BESIDE)
    side = min(MOST_BINS, isqrt(3 * room // 4))  # three bytes are four letters
    weights = dict(model.named_parameters(remove_duplicate=False))
    if side < CORNER or any(weights[matrix.name].is_meta for matrix in matrices):
        return None
    return {
        matrix.name: _binned(weights[matrix.name], side, matrix.outputs) for matrix in matrices
    } or None


def _binned(weight: Any, side: int, outputs: int) -> dict[str, Any]:
    from torch.nn.functional import adaptive_avg_pool2d

    # As the book draws it, inputs down and outputs across; a kernel stands in its column.
    flat = weight.detach().float().cpu().reshape(*weight.shape[:2], -1)
    flat = (flat.movedim(1, 0) if weight.shape[0] == outputs else flat).flatten(1)
    bins = adaptive_avg_pool2d(flat[None, None], tuple(min(side, n) for n in flat.shape))[0, 0]
    most = float(bins.abs().max()) or 1.0
    levels = (127 + 127 * bins / most).round().byte()
    return {
        "rows": bins.shape[0],
        "bins": base64.b64encode(bytes(levels.flatten().tolist())).decode(),
        "corner": [[float(f"{x:.3g}") for x in row] for row in flat[:CORNER, :CORNER].tolist()],
    }
