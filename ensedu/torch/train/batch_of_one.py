"""A minibatch of one example, of which BatchNorm in training mode has no variance."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn

from ensedu.common.training_plan import Plan

__all__ = ["naming_a_batch_of_one"]


@contextmanager
def naming_a_batch_of_one(net: nn.Module, plan: Plan) -> Iterator[None]:
    """Say of Torch's error for such a minibatch where it comes from, and what helps.

    Raises ``ValueError`` for it; all other errors pass as they are.
    """
    try:
        yield
    except ValueError as error:
        if "more than 1 value per channel" not in str(error):
            raise
        kind = nn.modules.batchnorm._BatchNorm
        names = [name for name, part in net.named_modules() if isinstance(part, kind)]
        where = f", at {names[0]!r}," if names else ""
        number, size, members = plan.num_examples, plan.batch_size, plan.split or 1
        if not size:
            raise ValueError(
                f"x must give BatchNorm{where} no minibatch of 1 example; accepted is a DataLoader "
                "with drop_last=True, or a stream without such a minibatch"
            ) from error
        if not _leaves_one(number, size, members):
            raise
        each = f" for each of {members} members" if members > 1 else ""
        raise ValueError(
            f"batch_size must leave BatchNorm{where} no minibatch of 1 example{each}, got {size} "
            f"of {number} examples; accepted {_what_helps(number, size, members)}"
        ) from error


def _leaves_one(number: int, size: int, members: int) -> bool:
    """Whether there is a minibatch of one example, for each member if they share it out."""
    return 1 in (size // members, number % size // members)


def _what_helps(number: int, size: int, members: int) -> str:
    """Name the sizes next to the one given that leave none, and fewer examples if that helps."""
    smaller, larger = range(size, members, -members), range(size, number + 1, members)
    fitting = ((n for n in one if not _leaves_one(number, n, members)) for one in (smaller, larger))
    words = [str(n) for n in (next(one, None) for one in fitting) if n is not None]
    if size // members > 1:
        words.append("drop_last=True")
    return f"is {', or '.join(words)}" if words else "are more examples"
