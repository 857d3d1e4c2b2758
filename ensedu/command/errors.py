"""What ends the program, and what it says of an error in a reader's own code."""

import importlib
import os
import sys
import traceback

__all__ = ["CommandError", "trace_in_readers_code", "type_and_message", "with_option_name"]

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
