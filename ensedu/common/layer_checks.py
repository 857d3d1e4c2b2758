"""What the layers and losses of both backends check alike."""

from collections.abc import Callable, Collection
from typing import Any

from ensedu.common import checks


def check_batch(
    layer: str,
    shape: tuple[int, ...],
    example: tuple[int | str, ...],
    members: int | None = None,
    what: str = "input x has shape",
) -> None:
    """Check an input's shape: (B, *example), behind members or samples if there are any.

    A letter in `example` fits any size. A layer with `members` M also takes (M, B, …) and
    (S, M, B, …), one without takes (S, B, …). `what` begins the message.
    """
    axes = len(shape) - len(example) - 1  # in front of the batch
    fits = 0 <= axes <= (1 if members is None else 2) and (
        shape[axes + 1 :] == example
        or all(
            isinstance(want, str) or size == want
            for want, size in zip(example, shape[axes + 1 :], strict=True)
        )
    )
    if members is not None and axes > 0:
        fits = fits and shape[axes - 1] == members
    if not fits:
        accepted: tuple[tuple[int | str, ...], ...] = ((), ("S",))
        if members is not None:
            accepted = (), (members,), ("S", members)
        words = [f"({', '.join(map(str, (*axes, 'B', *example)))})" for axes in accepted]
        raise ValueError(
            f"{layer}: {what} {tuple(shape)}, accepted are {', '.join(words[:-1])} and {words[-1]}"
        )


def check_noise(
    value: Any, shapes: dict[str, tuple[int, ...]], check: Callable[[str, Any], None]
) -> None:
    """Check that noise has just the arrays named in `shapes`, of those shapes.

    `check(name, array)` is the backend's own check of type and dtype.
    """
    if not isinstance(value, dict):
        raise TypeError(
            f"noise must be a dict with keys {sorted(shapes)}, got {type(value).__name__}"
        )
    if value.keys() != shapes.keys():
        raise ValueError(
            f"noise must be a dict with keys {sorted(shapes)}, got keys {sorted(map(str, value))}"
        )
    for name, shape in shapes.items():
        check(f"noise[{name!r}]", value[name])
        if tuple(value[name].shape) != shape:
            raise ValueError(
                f"noise[{name!r}] has shape {tuple(value[name].shape)}, accepted is {shape}"
            )


def noise_by_layer(noise: Any, names: Collection[str]) -> dict[str, dict[str, Any]]:
    """Return the noise of a network, ``{"2.r": …}``, by layer: ``{"2": {"r": …}}``.

    Raises for anything but a dict, and for a key of no such layer.
    """
    if not isinstance(noise, dict):
        raise TypeError(
            f"noise must be a dict of arrays, as net.noise() returns it, got {type(noise).__name__}"
        )
    parts: dict[str, dict[str, Any]] = {name: {} for name in names}
    for key, value in noise.items():
        layer, _, own = str(key).partition(".")
        if layer not in parts or not own:
            raise ValueError(
                f"noise has the key {key!r}, accepted are those of layers that draw, "
                f"{', '.join(names) or 'none'}, as net.noise() returns them"
            )
        parts[layer][own] = value
    return parts


def dropout_input_shape(name: str, shape: Any, feature_axes: int) -> list[int]:
    """Return the shape of an input of dropout as a list: any leading axes, (B, features)."""
    sizes = () if shape is None else checks.array_shape(name, shape)
    if len(sizes) <= feature_axes:
        words = "is None" if shape is None else f"has shape {sizes}"
        accepted = f"{batch_axes(feature_axes)} and {batch_axes(feature_axes, 'S')}"
        raise ValueError(f"{name} {words}, accepted are {accepted}")
    return list(sizes)


def batch_axes(feature_axes: int, *leading: str) -> str:
    """Return the axes of a batch in words, an example having so many of its own."""
    features = ["features"] if feature_axes == 1 else ["·"] * feature_axes
    return f"({', '.join([*leading, 'B', *features])})"


def dropout_mask(
    noise: Any, shape: tuple[int, ...], feature_axes: int, array_type: Any = object
) -> Any:
    """Return the mask for an input of this shape: one a batch, or one an example."""
    array: Any = noise.get("mask") if isinstance(noise, dict) else None
    kind = str(getattr(array, "dtype", ""))
    if not isinstance(array, array_type) or kind not in ("bool", "torch.bool"):
        raise TypeError(
            f'noise must be a dict {{"mask": array of bools}}, got {checks.describe(noise)}'
        )
    batch = len(shape) - feature_axes - 1
    accepted = (*shape[:batch], 1, *shape[batch + 1 :]), tuple(shape)
    if tuple(array.shape) not in accepted:
        raise ValueError(
            f"noise['mask'] has shape {tuple(array.shape)}, "
            f"accepted is {accepted[0]} or {accepted[1]}"
        )
    return array


def check_targets(outputs: tuple[int, ...], value: tuple[int, ...], heads: int) -> None:
    """Check the shape of numbers to predict against that of the outputs.

    They are (B, k), (B,) for k = 1, or (M, B, k) where each member has examples of its own. The
    outputs have so many numbers for each target as there are `heads`, the names of which are shown.
    """
    columns = (*value, 1) if len(value) == 1 else tuple(value)
    fits = len(outputs) >= max(2, len(columns)) and len(columns) >= 2
    wanted = (*columns[:-1], heads * columns[-1]) if columns else ()
    if not fits or tuple(outputs[-len(columns) :]) != wanted:
        k = "k" if heads == 1 else f"{heads}k"
        raise ValueError(
            f"outputs have shape {tuple(outputs)} and targets {tuple(value)}, accepted are "
            f"(M, B, {k}) or (B, {k}) with (B, k), or (B,) for k = 1, and (M, B, {k}) with "
            "(M, B, k)"
        )


def check_labels(outputs: tuple[int, ...], value: tuple[int, ...]) -> None:
    """Check the shape of labels, (B,) or (M, B), against that of the outputs."""
    axes = len(value)
    if not 1 <= axes < len(outputs) or tuple(outputs[-axes - 1 : -1]) != tuple(value):
        pixels = "; for a label a pixel, or a token, write a loss of your own: book/api/training.md"
        raise ValueError(
            f"outputs have shape {tuple(outputs)} and targets {tuple(value)}, accepted are "
            "(M, B, k) or (B, k) with (B,), and (M, B, k) with (M, B)"
            + pixels
            * (1 < axes < len(outputs) - 1)
        )


def check_label_range(low: int, high: int, classes: int) -> None:
    """Check that labels from `low` to `high` are of so many `classes`."""
    if not 0 <= low <= high < classes:
        raise ValueError(
            f"targets hold labels from {low} to {high}, accepted are 0 to {classes - 1}"
        )


def nll_exponent(beta: Any, reduction: Any) -> float:
    """Return the exponent of a β-NLL, which has no mixture, as a ``float``."""
    number = checks.real("beta", beta)
    if not 0 <= number <= 1:
        raise ValueError(f"beta must be from 0 to 1, got {beta!r}")
    if number and isinstance(reduction, str) and reduction == "mixture":
        raise ValueError(f"beta must be 0 for the reduction 'mixture', of densities, got {beta!r}")
    return number
