"""Checkpoints of a network and its optimizer, to go on from as if nothing had happened.

A folder a step, such as ``step-00000050``, holds two files, and nothing in them is ever run:

- ``values.safetensors``, all tensors: ``model:0.weight`` for each entry of the net's state_dict,
  ``optimizer.exp_avg:0.weight`` for its optimizer's state, ``generator:noise`` for the states of
  random generators;
- ``checkpoint.json``: the number of steps, what there is to know of the optimizer, what the caller
  adds, the size and SHA-256 of the other file, and a SHA-256 of all that.

A folder gets its name when all of it is on the disk, so a process that is killed while it writes
leaves nothing that looks whole; the next `save` removes what it left. Loading reads and compares
everything before it changes anything, and takes weights that are not finite only if asked to.

In a loop of your own::

    # Step 0 where there is nothing yet; without missing_ok that is an error.
    start = resume("runs/a", net, optimizer, missing_ok=True).step
    for step in range(start, 1000):
        ...
        if (step + 1) % 50 == 0:
            save("runs/a", net, optimizer, step + 1)

To predict, load the weights of the newest alone::

    load(newest("runs/a").path, net)
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ensedu.common import checks
from ensedu.torch.train import folders
from ensedu.torch.train.folder_search import check_checkpoint, check_place, newest_by
from ensedu.torch.train.saved_checks import NO_SETTINGS, check_finite, check_settings

__all__ = ["Checkpoint", "load", "newest", "resume", "save"]

Generators = Mapping[str, torch.Generator]


@dataclass(frozen=True)
class Checkpoint:
    """What `load`, `resume` and `newest` say of a checkpoint."""

    #: Number of steps done, 0 where there is no checkpoint.
    step: int
    #: What the caller of `save` added, as JSON gives it back.
    extra: dict[str, Any]
    #: The folder of this checkpoint; where there is none, the one in which it was looked for.
    path: Path


def save(
    folder: str | PathLike[str],
    net: nn.Module,
    optimizer: torch.optim.Optimizer | None,
    step: int,
    *,
    generators: Generators | None = None,
    extra: dict[str, Any] | None = None,
    keep: int = 2,
    nonfinite_ok: bool = False,
) -> Path:
    """Write a checkpoint of the state after `step` steps, drop old ones, and return its folder.

    `net` is any module; `optimizer` has parameters of it alone, or is ``None``. Of its settings
    those are kept that JSON can hold, a learning rate as a number, also where it is a tensor of
    one. Also kept are the states of `generators`, by name, and `extra`, as JSON can hold it. So
    many complete checkpoints as `keep` says stay; what else there is in `folder`, or in one of
    them, is left alone.

    Raises
    ------
    TypeError, ValueError
        For a bad argument, parameters of an optimizer that are none of the net's, states that are
        no dense tensors with values, and a `folder` that is a checkpoint itself. Without
        `nonfinite_ok` also for NaN in net or optimizer, and for infinite parameters, which would
        take the place of good ones.
    FileExistsError, OSError
        If there is a checkpoint of this step that is not damaged, or something else of its name; if
        this one cannot be written.
    """
    checks.positive_int("keep", keep)
    folder = _path("folder", folder)
    path = folder / f"step-{checks.positive_int('step', step):08}"
    checks.boolean("nonfinite_ok", nonfinite_ok)
    if not isinstance(extra, (dict, type(None))):
        raise TypeError(f"extra must be a dict or None, got {type(extra).__name__}")
    try:
        table: dict[str, Any] = {"step": step, "extra": json.loads(json.dumps(extra or {}))}
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"extra must hold what JSON can hold: {error}") from None
    values, table["optimizer"], table["settings"] = _state(net, optimizer, generators)
    if not nonfinite_ok:
        check_finite("net and optimizer", values, _parameters(net))
    check_place(folder)
    return folders.write(path, table, values, keep)


def newest(folder: str | PathLike[str], *, missing_ok: bool = False) -> Checkpoint:
    """Return what there is to know of the checkpoint with most steps in `folder`.

    One whose table or size is damaged is named in a warning, and the one before it is taken. The
    values are not read: `resume` may find them damaged, too, and take an older one.

    Raises
    ------
    OSError, ValueError
        Where there is none, as `resume` does.
    """
    folder = _path("folder", folder)
    checks.boolean("missing_ok", missing_ok)
    table = newest_by(lambda path: folders.read_table(path) | {"path": path}, folder, missing_ok)
    table = table or {"step": 0, "extra": {}, "path": folder}
    return Checkpoint(table["step"], table["extra"], table["path"])


def load(
    path: str | PathLike[str],
    net: nn.Module,
    optimizer: torch.optim.Optimizer | None = None,
    *,
    generators: Generators | None = None,
    nonfinite_ok: bool = False,
) -> Checkpoint:
    """Load the checkpoint in the folder `path`, as `save` returned it.

    `net`, `optimizer` and `generators` change in place, or not at all where this raises. They are
    of the layers, number of members, dtypes and class that were saved; settings of the optimizer
    become those that were saved. What is left out here is left alone.

    Raises
    ------
    OSError
        If a file is missing or damaged, which it names.
    TypeError, ValueError
        If it is of another net, optimizer or generator, of another format, or nothing that `save`
        writes: of another step than its folder is named after, or with settings of other kinds; for
        a folder of checkpoints, and for what `save` would refuse. Without `nonfinite_ok` also for
        NaN in it, and for infinite parameters.
    """
    path = _path("path", path)

    def read() -> folders.Content:
        check_checkpoint(path)
        return folders.read(path)

    return _load_what_fits(read, net, optimizer, generators, nonfinite_ok, path)


def resume(
    folder: str | PathLike[str],
    net: nn.Module,
    optimizer: torch.optim.Optimizer | None = None,
    *,
    generators: Generators | None = None,
    missing_ok: bool = False,
    nonfinite_ok: bool = False,
) -> Checkpoint:
    """Load the newest checkpoint in `folder` that is not damaged.

    Each that is damaged is named in a warning, and all in an ``OSError``. Without any nothing
    changes, and with `missing_ok` this is step 0.

    Raises
    ------
    FileNotFoundError
        If there is none, without `missing_ok`; it says what is there instead.
    OSError, TypeError, ValueError
        If `folder` is a file or a checkpoint itself; else as `load`.
    """
    folder = _path("folder", folder)
    checks.boolean("missing_ok", missing_ok)
    return _load_what_fits(
        lambda: newest_by(folders.read, folder, missing_ok),
        net, optimizer, generators, nonfinite_ok, folder,
    )  # fmt: skip


def _path(name: str, value: Any) -> Path:
    if not isinstance(value, (str, PathLike)):
        raise TypeError(f"{name} must be a path, got {value!r} ({type(value).__name__})")
    return Path(value)


def _state(
    net: nn.Module, optimizer: torch.optim.Optimizer | None, generators: Generators | None
) -> tuple[dict[str, Tensor], dict[str, Any], list[dict[str, Any]]]:
    """Return all tensors by name, what an optimizer must be to take them, and its settings."""
    if not isinstance(net, nn.Module):
        raise TypeError(f"net must be a torch.nn.Module, got {type(net).__name__}")
    values: dict[str, Any] = {f"model:{name}": v for name, v in net.state_dict().items()}
    about: dict[str, Any] = {"optimizer": type(optimizer).__qualname__} if optimizer else {}
    for parameter, (name, group) in _optimized_names(net, optimizer).items():
        about[f"group:{name}"] = group
        for key, value in optimizer.state.get(parameter, {}).items():
            values[f"optimizer.{key}:{name}"] = value
    for name, value in values.items():
        kind = type(value).__name__
        if isinstance(value, Tensor):
            kind = "a meta tensor" if value.is_meta else f"a tensor of {value.layout}"
        if kind != f"a tensor of {torch.strided}":
            raise TypeError(
                f"net and optimizer must keep dense tensors with values, got {kind} for {name}"
            )
    values = {name: value.detach().cpu() for name, value in values.items()}
    generators = {} if generators is None else generators
    if not isinstance(generators, Mapping) or not all(
        isinstance(one, torch.Generator) for one in generators.values()
    ):
        raise TypeError(f"generators must be a dict of torch.Generator, got {generators!r}")
    values |= {f"generator:{name}": one.get_state() for name, one in generators.items()}
    settings = [
        {
            k: plain
            for k, v in group.items()
            if k not in NO_SETTINGS and _is_json(plain := _plain(v))
        }
        for group in (optimizer.param_groups if optimizer else ())
    ]
    return values, about, settings


def _parameters(net: nn.Module) -> set[str]:
    """Return under which names the parameters of a net are saved."""
    return {f"model:{name}" for name, _ in net.named_parameters(remove_duplicate=False)}


def _plain(value: Any) -> Any:
    """Return a setting with Python's numbers for those of Torch and NumPy."""
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value.item() if getattr(value, "ndim", None) == 0 else value


def _as_own(value: Any, own: Any) -> Any:
    """Return a saved setting as an optimizer has it: in a tuple, or in a tensor."""
    if isinstance(value, list):
        owns = own if isinstance(own, (list, tuple)) else [None] * len(value)
        return tuple(map(_as_own, value, owns))
    return torch.full_like(own, value) if isinstance(own, Tensor) else value


def _is_json(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_is_json, value))
    return value is None or isinstance(value, (bool, int, float, str))


def _optimized_names(
    net: nn.Module, optimizer: torch.optim.Optimizer | None
) -> dict[nn.Parameter, tuple[str, int]]:
    """Return the name of each parameter of an optimizer, in its order, and its group's number."""
    if optimizer is not None and not isinstance(optimizer, torch.optim.Optimizer):
        kind = type(optimizer).__name__
        raise TypeError(f"optimizer must be a torch.optim.Optimizer or None, got {kind}")
    names = {parameter: name for name, parameter in net.named_parameters()}
    found = {}
    for number, group in enumerate(optimizer.param_groups if optimizer else ()):
        for parameter in group["params"]:
            if parameter not in names:
                raise ValueError(
                    f"optimizer must have parameters of net alone, got one of shape "
                    f"{tuple(parameter.shape)} in group {number} that is none of them"
                )
            found[parameter] = names[parameter], number
    return found


def _load_what_fits(
    read: Callable[[], folders.Content | None],
    net: nn.Module,
    optimizer: torch.optim.Optimizer | None,
    generators: Generators | None,
    nonfinite_ok: bool,
    place: Path,
) -> Checkpoint:
    """Check that what is read fits, and only then put it in place."""
    checks.boolean("nonfinite_ok", nonfinite_ok)
    values, about, _ = _state(net, optimizer, generators)
    content = read()
    if content is None:
        return Checkpoint(0, {}, place)
    path, table, found = content
    ours, theirs = _shapes(values) | about, _shapes(found) | table["optimizer"]
    must = ("model:", "group:") if optimizer else ("model:",)
    wanted = [name for name in ours | theirs if name in ours or name.startswith(must)]
    differ = [name for name in wanted if ours.get(name) != theirs.get(name)]
    if differ:
        first = differ[0]
        raise ValueError(
            f"path must be a checkpoint of such a net and optimizer, got {path}, where {first} is "
            f"{theirs.get(first, 'missing')}; accepted is {ours.get(first, 'none')} (differing are "
            f"{', '.join(differ[:8])}{', ...' if len(differ) > 8 else ''})"
        )
    if not nonfinite_ok:
        check_finite(str(path), found, _parameters(net))
    if optimizer is not None:
        check_settings(path, table["settings"], optimizer.param_groups)
    for name, one in (generators or {}).items():
        try:
            torch.Generator(one.device).set_state(found[f"generator:{name}"])
        except RuntimeError as error:
            raise ValueError(f"{path} has no state of generator {name!r}: {error}") from None
    if optimizer is not None:
        before = optimizer.state, optimizer.param_groups
        try:
            _restore(net, optimizer, found, table["settings"])
        except Exception as error:  # each class of optimizers has its own
            optimizer.state, optimizer.param_groups = before
            kind = type(optimizer).__name__
            words = f"{type(error).__name__}: {error}"
            raise ValueError(f"{path} has no state that a {kind} takes: {words}") from error
    for name, one in (generators or {}).items():
        one.set_state(found[f"generator:{name}"])
    net.load_state_dict({k: found[f"model:{k}"] for k in net.state_dict()})
    return Checkpoint(table["step"], table["extra"], path)


def _shapes(values: dict[str, Tensor]) -> dict[str, str]:
    """Say what each tensor is, but for those of an optimizer, which may not have made them yet."""
    own = {name: value for name, value in values.items() if not name.startswith("optimizer.")}
    return {name: f"{tuple(value.shape)} {value.dtype}" for name, value in own.items()}


def _restore(
    net: nn.Module,
    optimizer: torch.optim.Optimizer,
    found: dict[str, Tensor],
    settings: list[dict[str, Any]],
) -> None:
    """Give an optimizer the state and settings of a checkpoint that fits."""
    states: dict[str, dict[str, Tensor]] = {}
    for key, value in found.items():
        kind, _, name = key.partition(":")
        if kind.startswith("optimizer."):
            states.setdefault(name, {})[kind.removeprefix("optimizer.")] = value
    parameters = _optimized_names(net, optimizer)
    state = {parameter: states.get(name, {}) for parameter, (name, _) in parameters.items()}
    packed = optimizer.state_dict()
    packed["state"] = dict(enumerate(state.values()))
    for group, saved in zip(packed["param_groups"], settings, strict=True):
        group |= {key: _as_own(value, group.get(key)) for key, value in saved.items()}
    optimizer.load_state_dict(packed)
    # Torch has put them on their devices, but cast all but "step" to the dtype of the parameter.
    for parameter, values in state.items():
        now = optimizer.state[parameter]
        now |= {key: value.to(now[key].device) for key, value in values.items()}
