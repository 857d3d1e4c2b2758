"""A reader's own model: imported by its name, built without values where it can be, or an error.

An error in the reader's own code is shown with its traceback.
"""

import contextlib
import importlib
import inspect
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

from ensedu.command.options import FACTORY
from ensedu.common import checks

#: The folder of this program, whose lines no reader's traceback shows.
HERE = os.path.dirname(__file__) + os.sep


class CommandError(Exception):
    """What ends the program: a message and, where it is the user's code, where it arose."""

    def __init__(self, message: str, trace: str = "") -> None:
        super().__init__(message)
        self.trace = trace


def with_option_name(error: BaseException) -> str:
    """Return what an error says, with an argument as the option that it is here."""
    words = str(error)
    return f"--{words}" if words.startswith(("head ", "shared ", "modulated ")) else words


def type_and_message(error: BaseException) -> str:
    """Return an error as the last line of a traceback says it."""
    return f"{type(error).__name__}: {error}"


def trace_in_readers_code(error: BaseException) -> str:
    """Return the traceback through the user's own code; "" where none of it is in the way."""
    others = [HERE, importlib.__file__, "<frozen importlib"]
    if "torch" in sys.modules:
        others.append(os.path.dirname(sys.modules["torch"].__file__ or "") + os.sep)
    found = traceback.TracebackException(type(error), error, error.__traceback__)
    found.stack = traceback.StackSummary.from_list(
        [frame for frame in found.stack if not frame.filename.startswith(tuple(others))]
    )
    return "".join(found.format(chain=False)) if found.stack else ""


def import_named(name: str) -> Any:
    """Import what ``MODULE:FACTORY`` names; Torch is there, or an error says so."""
    try:
        checks.optional("torch", "torch")
    except ImportError as error:
        raise CommandError(str(error)) from error
    module, _, path = name.partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), *path.split("."))):
        raise CommandError(
            f"MODULE:FACTORY must be names such as ensedu.torch.models:lenet5, got {name!r}"
        )
    # As `python -m` has it, and the script of an installed package has not.
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found = importlib.import_module(module)
    except (Exception, SystemExit) as error:
        missing = getattr(error, "name", None) if isinstance(error, ModuleNotFoundError) else None
        if missing is None or not f"{module}.".startswith(f"{missing}."):
            raise CommandError(
                f"{module} cannot be imported: {type_and_message(error)}",
                trace_in_readers_code(error),
            ) from None
        hint = f"; write {module[:-3]}:{path}" if module.endswith(".py") else ""
        raise CommandError(
            f"there is no module {module!r} in this folder or among what is installed{hint}"
        ) from None
    for part in path.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise CommandError(f"{module} has no {path!r}") from None
    return found


def build_model(found: Any, name: str, device: str) -> Any:
    """Return the model, on the CPU or without values."""
    import torch

    model = found
    if not isinstance(found, torch.nn.Module):
        if not callable(found):
            raise CommandError(f"{name} must be {FACTORY}, got {checks.describe(found)}")
        _check_call(found, name)
        with torch.device("meta") if device == "meta" else contextlib.nullcontext():
            try:
                model = found()
            except (Exception, SystemExit) as error:
                if device == "meta":
                    raise
                raise CommandError(
                    f"{name}() raised {type_and_message(error)}", trace_in_readers_code(error)
                ) from None
    if not isinstance(model, torch.nn.Module):
        raise CommandError(f"{name}() must return a torch.nn.Module, got {checks.describe(model)}")
    if device == "cpu":
        # What its own code builds without values has none to copy.
        return model if any(one.is_meta for one in model.parameters()) else model.cpu()
    if any(
        isinstance(part, (torch.nn.Linear, torch.nn.Conv2d))
        and type(part) not in (torch.nn.Linear, torch.nn.Conv2d)
        for part in model.modules()
    ):
        raise ValueError("whether such a layer is a plain product shows in values only")
    from ensedu.torch.ensembling.model_copies import meta_copy  # only where Torch is there

    return meta_copy(model)


def _check_call(found: Callable[..., Any], name: str) -> None:
    try:
        signature = inspect.signature(found)
    except ValueError:  # some of those written in C tell nothing
        return
    try:
        signature.bind()
    except TypeError as error:
        raise CommandError(
            f"{name} needs arguments, {error}; accepted is a function of your own without, "
            f"def net(): return {name.rpartition(':')[2]}(…)"
        ) from None
