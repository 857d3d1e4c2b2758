"""The X-ray of a reader's own model, as a file."""

import argparse
import contextlib
import inspect
import sys
import warnings
from typing import Any

from ensedu.command.errors import CommandError, with_option_name
from ensedu.command.layout import refusals
from ensedu.command.readers_model import build_model, import_named
from ensedu.xray.picture import SIZES, XRay, xray

__all__ = ["draw_model"]


def draw_model(options: argparse.Namespace) -> str:
    """Write the page, and return where it is and what it shows, in one line."""
    names = {name: getattr(options, name) for name in ("head", "shared", "modulated")}
    try:
        if SIZES.fullmatch(options.model):
            picture = xray(options.model, options.ensemble_size, **names)
        else:
            picture = _of_model(options, names)
        path = picture.save(options.output)
    except (TypeError, ValueError) as error:
        words = with_option_name(error)
        raise CommandError(words.replace("ensemble_size", "--ensemble-size", 1)) from None
    except OSError as error:
        raise CommandError(f"--output: {error}") from None
    return "\n".join([f"{path}: {picture!r}", *refusals(picture.refused)])


def _of_model(options: argparse.Namespace, names: dict[str, Any]) -> XRay:
    # Standard output is for what was drawn, whatever the user's code prints.
    with contextlib.redirect_stdout(sys.stderr):
        found = import_named(options.model)
        import torch

        model = found  # a module has values of its own, which the page shows
        if not isinstance(found, torch.nn.Module):
            try:
                model = build_model(found, options.model, "meta")
            except CommandError:
                raise
            except (Exception, SystemExit):  # its code needs values
                model = build_model(found, options.model, "cpu")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of values, and of the model's code
            name = "" if inspect.isfunction(found) else _last_name(options.model)
            return xray(model, options.ensemble_size, name=name, **names)


def _last_name(named: str) -> str:
    """Return the last part of a name, ``net`` of ``nets:Space.net``."""
    return named.rpartition(":")[2].rpartition(".")[2]
