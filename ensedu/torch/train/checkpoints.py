"""Checkpoints of a network and its optimizer, to go on from as if nothing had happened.

A checkpoint is one file, such as ``step-00000050.safetensors``, and nothing in it is ever run. It
has a tensor ``model:0.weight`` for each entry of the state_dict, ``optimizer.exp_avg:0.weight``
for the optimizer's state, ``generator:noise`` for that of a random generator. The rest is JSON in
its header, with a SHA-256 of the whole. It gets its name when all of it is on the disk; what a
process leaves that is killed before, a `save` removes an hour later.

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

import hashlib
import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch import Generator, Tensor, nn
from torch.optim import Optimizer

from ensedu.common import checks
from ensedu.torch.train.batches import first_not_finite
from ensedu.torch.train.checkpoint_format import (
    EMPTY_HASH,
    FORMAT_KEY,
    Checkpoint,
    Content,
    as_path,
    files_in,
    is_ours,
    is_whole,
    newest_content,
    read,
    write,
)

__all__ = ["Checkpoint", "load", "newest", "resume", "save"]

#: How an optimizer computes, which is the machine's affair, and what has a place of its own.
NO_SETTINGS = {"params", "param_names", "foreach", "fused", "capturable", "differentiable"}


def save(
    folder: str | PathLike[str], net: nn.Module, optimizer: Optimizer | None, step: int, *,
    generators: Mapping[str, Generator] | None = None, extra: dict[str, Any] | None = None,
    keep: int = 2, nonfinite_ok: bool = False,
) -> Path:  # fmt: skip
    """Write a checkpoint of the state after `step` steps, drop old ones, and return its file.

    `optimizer` has parameters of `net` alone; `extra` is what JSON can hold. So many complete
    checkpoints as `keep` says stay, and all that is in `folder` beside them.

    Raises
    ------
    TypeError, ValueError
        For a bad argument, states that are no dense tensors, and settings that JSON cannot hold;
        without `nonfinite_ok` also for NaN, and for infinite parameters.
    OSError
        If it cannot be written, or another file of its name is no damaged checkpoint.
    """
    checks.positive_int("keep", keep)
    path = as_path("folder", folder) / f"step-{checks.positive_int('step', step):08}.safetensors"
    if not isinstance(extra, (dict, type(None))):
        raise TypeError(f"extra must be a dict or None, got {checks.describe(extra)}")
    about, settings, values = _state(net, optimizer, generators)
    _check_values("net and optimizer", values, net, nonfinite_ok)
    table = {"sha256": EMPTY_HASH.decode(), "step": step, "about": about, "settings": settings}
    try:  # clones, because what shares memory cannot be written
        values = {name: value.cpu().contiguous().clone() for name, value in values.items()}
        words = json.dumps(table | {"extra": _plain("extra", extra or {})})
        data = safetensors.torch.save(values, {FORMAT_KEY: words})
    except (ValueError, KeyError) as error:
        raise TypeError(f"net and optimizer must keep dtypes of safetensors, got {error}") from None
    write(path, data.replace(EMPTY_HASH, hashlib.sha256(data).hexdigest().encode(), 1))
    complete = 0
    for file in reversed(files_in(path.parent)):
        if complete == keep and file != path and is_ours(file):
            file.unlink(missing_ok=True)
        elif complete < keep:
            complete += file == path or is_whole(file)
    return path


def newest(folder: str | PathLike[str], *, missing_ok: bool = False) -> Checkpoint:
    """Return what there is to know of the checkpoint that `resume` takes, and raise as that."""
    return newest_content(folder, missing_ok)[0]


def load(
    path: str | PathLike[str], net: nn.Module, optimizer: Optimizer | None = None, *,
    generators: Mapping[str, Generator] | None = None, nonfinite_ok: bool = False,
) -> Checkpoint:  # fmt: skip
    """Load the checkpoint in the file `path`, as `save` returned it.

    `net`, `optimizer` with its settings and `generators` change in place, or not at all where this
    raises; what is left out here is left alone.

    Raises
    ------
    OSError
        If the file is missing, damaged or none of `save`, which it names.
    TypeError, ValueError
        If it is of another net, optimizer or generator, or what `save` would refuse.
    """
    return _restore(read(as_path("path", path)), net, optimizer, generators, nonfinite_ok)


def resume(
    folder: str | PathLike[str], net: nn.Module, optimizer: Optimizer | None = None, *,
    generators: Mapping[str, Generator] | None = None, missing_ok: bool = False,
    nonfinite_ok: bool = False,
) -> Checkpoint:  # fmt: skip
    """Load the newest checkpoint in `folder` that is not damaged.

    Each that is damaged is named in a warning. Without any nothing changes, and with `missing_ok`
    this is step 0.

    Raises
    ------
    OSError, TypeError, ValueError
        If there is none, without `missing_ok`, or all are damaged; if `folder` is a file, or holds
        checkpoints of ensedu 1.0; else as `load`.
    """
    content = newest_content(folder, missing_ok)
    if content[0].step:
        _restore(content, net, optimizer, generators, nonfinite_ok)
    return content[0]


def settings_of(optimizer: Optimizer) -> list[dict[str, Any]]:
    """Return what each group of an optimizer is set to, as JSON gives it back."""
    return [
        {
            key: _plain(f"optimizer's {key}", group[key])
            for key in sorted(group.keys() - NO_SETTINGS)
        }
        for group in optimizer.param_groups
    ]


def _plain(name: str, value: Any) -> Any:
    """Return a value as JSON gives it back, with Python's numbers for those of Torch and NumPy."""
    try:
        return json.loads(json.dumps(value, default=lambda number: number.item()))
    except (TypeError, ValueError, AttributeError, RuntimeError, RecursionError) as error:
        raise TypeError(f"{name} must hold what JSON can hold: {error}") from None


def _state(
    net: nn.Module, optimizer: Optimizer | None, generators: Mapping[str, Generator] | None
) -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, Tensor]]:
    """Return what an optimizer must be, its settings, and all tensors by name."""
    if not isinstance(net, nn.Module):
        raise TypeError(f"net must be a torch.nn.Module, got {checks.describe(net)}")
    if not isinstance(optimizer, (Optimizer, type(None))):
        raise TypeError(f"optimizer must be an Optimizer or None, got {checks.describe(optimizer)}")
    own = generators if isinstance(generators, Mapping) else {"": generators} if generators else {}
    if not all(isinstance(generator, Generator) for generator in own.values()):
        raise TypeError(f"generators must be a dict of torch.Generator, got {generators!r}")
    about: dict[str, Any] = {"optimizer": type(optimizer).__qualname__} if optimizer else {}
    values: dict[str, Any] = {f"model:{name}": value for name, value in net.state_dict().items()}
    names = {parameter: name for name, parameter in net.named_parameters()}
    settings = settings_of(optimizer) if optimizer else []
    for i, group in enumerate(optimizer.param_groups if optimizer else ()):
        for parameter in group["params"]:
            if parameter not in names:
                raise ValueError(f"optimizer must have parameters of net alone, not in group {i}")
            about[f"group:{names[parameter]}"] = i
            state = optimizer.state.get(parameter, {}) if optimizer else {}
            values |= {f"optimizer.{key}:{names[parameter]}": value for key, value in state.items()}
    for name, value in values.items():
        if not isinstance(value, Tensor) or value.is_meta or value.layout != torch.strided:
            words = f"got {checks.describe_array(value)} for {name}"
            raise TypeError(f"net and optimizer must keep dense tensors with values, {words}")
    values |= {f"generator:{name}": generator.get_state() for name, generator in own.items()}
    return about, settings, values


def _check_values(what: str, values: dict[str, Tensor], net: nn.Module, nonfinite_ok: bool) -> None:
    """Check that no value is NaN, and no parameter infinite: a buffer may mask by infinities."""
    if checks.boolean("nonfinite_ok", nonfinite_ok):
        return
    parameters = {f"model:{name}" for name, _ in net.named_parameters()}
    for name, value in values.items():
        place = first_not_finite(value, infinite_ok=name not in parameters)
        if place is not None:
            words = f"{value[place].item()} at {place} of {name}; nonfinite_ok=True takes it"
            raise ValueError(f"{what} must hold finite numbers, got {words}")


def _restore(
    content: Content, net: nn.Module, optimizer: Optimizer | None,
    generators: Mapping[str, Generator] | None, nonfinite_ok: bool,
) -> Checkpoint:  # fmt: skip
    """Check that what was read fits, and only then put it in place."""
    (told, about, settings, values), (own, _, had) = content, _state(net, optimizer, generators)
    # Not what the tensors of an optimizer are, which may not have made them yet.
    ours, theirs = (
        {name: f"{tuple(tensor.shape)} {tensor.dtype}" for name, tensor in tensors.items()
         if not name.startswith("optimizer.")} | facts
        for facts, tensors in ((own, had), (about, values))
    )  # fmt: skip
    must = ("model:", "group:") if optimizer else ("model:",)
    wanted = [name for name in ours | theirs if name in ours or name.startswith(must)]
    if differ := [name for name in wanted if ours.get(name) != theirs.get(name)]:
        raise ValueError(
            f"path must be a checkpoint of such a net and optimizer, got {told.path}, where "
            f"{differ[0]} is {theirs.get(differ[0], 'missing')}; accepted is "
            f"{ours.get(differ[0], 'none')} (differing are {', '.join(differ[:8])})"
        )
    _check_values(str(told.path), values, net, nonfinite_ok)
    if optimizer is not None:
        before = optimizer.state, optimizer.param_groups
        states: dict[str, dict[str, Tensor]] = {
            name.removeprefix("group:"): {} for name in own if name != "optimizer"
        }
        for name, value in values.items():
            if name.startswith("optimizer."):
                key, _, parameter = name.removeprefix("optimizer.").partition(":")
                states[parameter][key] = value
        packed = optimizer.state_dict()
        packed["state"] = {i: state for i, state in enumerate(states.values()) if state}
        for group, saved in zip(packed["param_groups"], settings, strict=True):
            group |= {key: _like(group.get(key), setting) for key, setting in saved.items()}
        try:
            optimizer.load_state_dict(packed)
            # Torch has put them on their devices, but cast all but "step" to the parameter's dtype.
            for name, state in states.items():
                now = optimizer.state[net.get_parameter(name)] if state else {}
                now |= {key: tensor.to(now[key].device) for key, tensor in state.items()}
        except Exception:  # each class of optimizers has its own
            optimizer.state, optimizer.param_groups = before
            raise
    for name, generator in (generators or {}).items():
        generator.set_state(values[f"generator:{name}"])
    net.load_state_dict({name: values[f"model:{name}"] for name in net.state_dict()})
    return told


def _like(own: Any, saved: Any) -> Any:
    """Return a setting as an optimizer has its own: in a tuple, or in a tensor for a compiler."""
    if isinstance(own, Tensor):
        return torch.full_like(own, saved)
    return tuple(saved) if isinstance(saved, list) else saved
