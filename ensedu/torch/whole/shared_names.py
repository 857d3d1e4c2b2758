"""What the members of an ensemble share of a model: names, and what stands under them."""

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any

import torch
from torch import nn

from ensedu.common import checks


def names_of_shared(model: nn.Module, shared: Any) -> tuple[str, ...]:
    """Return the names of all that `shared` means, by name, pattern or type."""
    if isinstance(shared, str) or not isinstance(shared, Sequence):
        raise TypeError(
            "shared must be a sequence of names, patterns such as '*.attn' and types, got "
            f"{checks.given(shared)}"
        )
    known = dict(named_parts(model))
    found: dict[str, None] = {}
    for given in shared:
        if isinstance(given, type):
            names = [name for name, part in known.items() if isinstance(part, given)]
        elif isinstance(given, str):
            names = [name for name in known if name == given or fnmatchcase(name, given)]
        else:
            raise TypeError(
                f"shared must hold names, patterns and types, got {checks.given(given)}"
            )
        if not names:
            raise ValueError(
                "shared must hold names of modules or parameters of the model, patterns of such, "
                f"or types of modules, got {given!r}; "
                f"it has {', '.join(sorted(known)[:20])}{', ...' if len(known) > 20 else ''}"
            )
        found |= dict.fromkeys(names)
    meant = {id(known[name]) for name in found}  # by other names, too
    return tuple(name for name, part in known.items() if id(part) in meant)


def named_parts(model: nn.Module) -> Iterator[tuple[str, nn.Module | nn.Parameter]]:
    """Yield every module but the model itself, and every parameter, with its name."""
    for name, module in model.named_modules(remove_duplicate=False):
        if name:
            yield name, module
    yield from model.named_parameters(remove_duplicate=False)


def tensors_of(part: nn.Module | nn.Parameter) -> list[torch.Tensor]:
    """Return the parameters and buffers of a part."""
    return [part] if isinstance(part, nn.Parameter) else [*part.parameters(), *part.buffers()]


def unshared_parameters(
    model: nn.Module, shared: tuple[str, ...]
) -> Iterator[tuple[str, nn.Module]]:
    """Yield each parameter's name, and the module that owns it, if it is not shared."""
    for path, module in model.named_modules():
        for name, _ in module.named_parameters(prefix=path, recurse=False):
            if not is_within(name, shared):
                yield name, module


def is_within(name: str, shared: tuple[str, ...]) -> bool:
    """Whether a name is one of `shared` or stands below one; "" is the whole model."""
    return any(part in ("", name) or name.startswith(f"{part}.") for part in shared)
