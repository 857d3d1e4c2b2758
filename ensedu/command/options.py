"""The arguments of the command line, and its help."""

import argparse
from collections.abc import Callable
from typing import Any

import ensedu
from ensedu.common import checks
from ensedu.methods import METHODS

#: What stands at the end of ``--help``; each line with a command runs.
EXAMPLES = """\
examples:
  python -m ensedu count ensedu.torch.models:lenet5 --input 1,28,28
  python -m ensedu count ensedu.torch.models:lenet5 --method rank1 --ensemble-size 8
  python -m ensedu count ensedu.torch.models:lenet5 --method last_layer --head 11
  python -m ensedu count ensedu.torch.models:resnet50 --method all --json

your own model, in a file nets.py of this folder:
  from torch import nn

  def small():
      return nn.Sequential(nn.Linear(50, 50), nn.ReLU(), nn.Linear(50, 10))

and then:
  python -m ensedu count nets:small --input 50
"""

ABOUT = """\
Count the numbers that your own PyTorch model would hold as an ensemble, by what
they are for.

A method with members gets M of them; one without, such as mean_field, gets M
samples. What is counted are the arrays of the ensemble that
ensedu.torch.ensemble makes of the model, so a layer that it leaves as it is,
such as a normalization, counts once. Bytes are those of these numbers as they
are stored, without gradients or the optimizer's. Buffers are not counted. Above
16 members or samples all numbers lie on the line through those of 2 and 3.

With --input the model runs forward once, in eval mode, and its FLOPs are
counted: the multiplications and the additions of matrix products, convolutions
and attention, of all members and samples. Left out is what is done number by
number: activations, normalization, biases, scaling by r and s, drawing weights.
"""

FACTORY = (
    "a module that can be imported from this folder, a colon, and a function or class that takes "
    "no arguments and returns a torch.nn.Module, or such a module itself"
)


ABOUT_XRAY = """\
Draw what your own PyTorch model stores under each method, as one HTML file that
needs no other: open it in a browser, or send it to somebody. A network of given
sizes, 1-50-50-1, needs no PyTorch.
"""

EXAMPLES_XRAY = """\
examples:
  python -m ensedu xray 1-50-50-1
  python -m ensedu xray ensedu.torch.models:resnet50 --ensemble-size 8 --output resnet50.html
"""


ABOUT_COMPARE = """\
Which method predicts your own table best, and how sure is that? Reads a CSV or
Parquet file, says its plan, trains, and writes report.html and report.json.
A run that was stopped goes on with the same command.
"""

EXAMPLES_COMPARE = """\
examples:
  python -m ensedu compare prices.csv --target price --minutes 10
  python -m ensedu compare visits.csv --target cured --group patient --save kept
"""


def parsers() -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    """Return the parser, and those of its commands."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        "python -m ensedu",
        description="What is inside an ensemble, counted and drawn from the shell; and which "
        "method predicts your own table best.",
        epilog=EXAMPLES,
        formatter_class=raw,
    )
    parser.add_argument("--version", action="version", version=f"ensedu {ensedu.__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", dest="command", required=True)
    made = {}
    for name, words, about, examples, fill in (
        ("count", "count the numbers of your own model as an ensemble, by each method",
         ABOUT, EXAMPLES, _add_count),
        ("xray", "draw what your own model stores as an ensemble, by each method, into an HTML "
         "file", ABOUT_XRAY, EXAMPLES_XRAY, _add_xray),
        ("compare", "compare methods on your own table, and report which predicts it better",
         ABOUT_COMPARE, EXAMPLES_COMPARE, _add_compare),
    ):  # fmt: skip
        made[name] = commands.add_parser(
            name, help=words, description=about, epilog=examples, formatter_class=raw
        )
        fill(made[name])
    return parser, made


def _add_count(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("model", metavar="MODULE:FACTORY", help=FACTORY)
    add(
        "--method", nargs="+", action="extend", choices=(*METHODS, "all"), metavar="METHOD",
        help=f"one or several of {', '.join(METHODS)}; or all, the default, which leaves out those "
        "that the model has nothing for. The single network always comes first",
    )  # fmt: skip
    add(
        "--ensemble-size", type=_positive_int, default=4, metavar="M",
        help="number of members, or of samples (default: 4)",
    )  # fmt: skip
    _add_names(parser)
    add(
        "--input", type=_separated_sizes, metavar="SIZES",
        help="shape of one example, such as 3,224,224 or 50: count FLOPs, too",
    )  # fmt: skip
    add(
        "--batch", type=_positive_int, metavar="B",
        help="examples of that forward pass (default: 1)",
    )  # fmt: skip
    add(
        "--integers", action="store_true",
        help="examples hold integers, such as the numbers of words",
    )  # fmt: skip
    add("--json", action="store_true", help="print JSON instead of tables")


def _add_xray(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("model", metavar="MODULE:FACTORY", help=f"{FACTORY}; or sizes, such as 1-50-50-1")
    add(
        "--ensemble-size", type=_positive_int, default=4, metavar="M",
        help="number of members, or of samples, that it opens with, 1 to 64 (default: 4)",
    )  # fmt: skip
    add("--output", metavar="FILE", default="xray.html", help="the file (default: xray.html)")
    _add_names(parser)


def _add_compare(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("file", metavar="FILE", help="a table: CSV, or Parquet")
    add("--target", required=True, metavar="COLUMN", help="the column to predict")
    add(
        "--task", choices=("regression", "classification"),
        help="by default words, and up to ten different whole numbers, are classes",
    )  # fmt: skip
    add(
        "--minutes", type=float, default=10.0, metavar="N",
        help="how long, by one timed training of each method (default: 10); a machine that becomes "
        "busier takes longer",
    )  # fmt: skip
    add("--positive", action="store_true", help="learn the logarithm of a positive target")
    add("--group", metavar="COLUMN", help="rows alike there stay together, such as a patient's")
    add("--time", metavar="COLUMN", help="each fold is later than what was trained on")
    add("--output", metavar="DIR", help="the folder of the report (default: FILE-compared)")
    add("--seed", type=_natural_int, default=0, metavar="N", help="draws splits and trainings")
    add("--save", metavar="FOLDER", help="keep the best there, as an estimator with intervals")
    add("--with-rows", action="store_true", help="report.json holds the targets of your rows, too")


def _add_names(parser: argparse.ArgumentParser) -> None:
    """Add what names parts of a model."""
    add = parser.add_argument
    add(
        "--shared", nargs="+", action="extend", default=[], metavar="NAME",
        help="modules and parameters that stay one copy for all members, by name or by pattern, "
        "'*.attn'",
    )  # fmt: skip
    add(
        "--modulated", nargs="+", action="extend", default=[], metavar="NAME",
        help="matrices of the model's own, by name or by pattern, that members scale as weights",
    )  # fmt: skip
    add("--head", metavar="NAME", help="the layer that each member has, for last_layer")


def _checked(accepted: str, read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return what reads an argument, or says what is accepted."""

    def checked(text: str) -> Any:
        try:
            return read(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be {accepted}, got {text!r}") from None

    return checked


_positive_int = _checked("a positive integer", lambda text: checks.positive_int("", int(text)))
_natural_int = _checked("an integer from 0 up", lambda text: checks.natural_int("", int(text)))
_separated_sizes = _checked(
    "positive integers with commas between, such as 3,224,224",
    lambda text: tuple(checks.positive_int("", int(size)) for size in text.split(",")),
)
