"""Plain copies of a model, one a member, from the arrays that an ensemble holds.

Nothing here calls the ensemble's own way back to plain members, nor how its layers form weights.
"""

import copy
import itertools
import re
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import ensedu
from ensedu.torch.base import WeightLayer


def stir(model: nn.Module) -> None:
    """Move what starts at 0, at 1, or too small to show in an output: norms, layer scales, …"""
    for name, x in [*model.named_parameters(), *model.named_buffers()]:
        if name.endswith("running_var"):
            x.uniform_(0.5, 1.5)
        elif name.endswith("running_mean"):
            x.normal_(0, 0.2)
        elif isinstance(x, nn.Parameter):
            spread = x.std() if x.numel() > 1 else 0
            varied = x.ndim > 1 and spread > 1e-3 * x.abs().max()
            x.add_(torch.randn_like(x) * (spread / 3 if varied else 0.2))


def draw_apart(net: nn.Module) -> None:
    """Move what belongs to members, and give distributions a spread that shows."""
    if hasattr(net, "members"):
        return stir(net.members)
    for holder in holders(net).values():
        for name, x in holder.named_parameters():
            if name in ("r_rho", "s_rho"):
                x.uniform_(-3, -1)  # standard deviations of 0.05 to 0.3
            elif name in ("weight_rho", "bias_rho"):
                size = holder.weight_mean.std() * torch.empty_like(x).uniform_(0.1, 0.5)
                x.copy_(torch.log(torch.expm1(size)))
            elif name == "bias" or name.startswith(("r", "s")):
                x.add_(torch.randn_like(x) * 0.2)
    for x in net.model.buffers():
        if is_of_members(net, x):
            x.mul_(torch.empty_like(x).uniform_(0.9, 1.1))


def is_of_members(net: nn.Module, buffer: Tensor) -> bool:
    """Whether each member has a row of a buffer: where it has fast weights."""
    scaled = any(part.method in ("batch_ensemble", "rank1") for part in holders(net).values())
    return scaled and buffer.is_floating_point()


def holders(net: nn.Module) -> dict[str, WeightLayer]:
    """What tells members apart, by the path of a layer in the model, or by the name of a weight."""
    return {path: part for path, part in net.model.named_modules() if isinstance(part, WeightLayer)}


def plain(model: nn.Module, net: nn.Module, i: int, noise: dict[str, Tensor]) -> nn.Module:
    """Return a copy of the original `model` with the weights and masks of member or sample i."""
    alone = copy.deepcopy(model)
    if hasattr(net, "members"):
        alone.load_state_dict(net.members[i].state_dict())
        return alone
    for path, holder in holders(net).items():
        own, (name, bias, module) = own_noise(noise, path), targets(model, path)
        alone.get_parameter(name).copy_(weight(holder, module, i, own))
        if (value := array(holder, "bias", i, own)) is not None:
            alone.get_parameter(bias).copy_(value)
    for path, x in alone.named_buffers():
        stored = net.model.get_buffer(path)
        x.copy_(stored[i] if is_of_members(net, stored) else stored)
    for path, part in alone.named_modules():
        masks = [own[i] for key, own in own_noise(noise, path).items() if key.startswith("mask")]
        if masks:  # beside a hook, no transformer layer goes around its dropout
            part.register_forward_hook(thinned(masks))
    return alone


def targets(model: nn.Module, path: str) -> tuple[str, str, nn.Module]:
    """Return the names of the weight and bias that a holder has, and the module that multiplies."""
    weight = f"{path}.weight".lstrip(".") if path in dict(model.named_modules()) else path
    # A parametrization stands in for a weight of the module around it.
    around = re.sub(r"parametrizations\.(\w+)\.original\d?$", r"\1", weight)
    owner, _, key = around.rpartition(".")
    bias = re.sub("_(v|orig)$", "", key).replace("weight", "bias") if "weight" in key else ""
    return weight, f"{owner}.{bias}".lstrip("."), model.get_submodule(owner)


def own_noise(noise: dict[str, Tensor], path: str) -> dict[str, Tensor]:
    """The noise of one layer."""
    found = ((*key.rpartition("."), value) for key, value in noise.items())
    return {key: value for name, _, key, value in found if name == path}


def array(holder: WeightLayer, key: str, i: int, noise: dict[str, Tensor]) -> Tensor | None:
    """Row i of what each member has, or draw i of what has a distribution; ``None`` if neither."""
    if (rows := getattr(holder, key, None)) is not None:
        return rows[i]
    mean, rho = (getattr(holder, f"{key}_{part}", None) for part in ("mean", "rho"))
    if mean is None:
        return None
    eps = noise[key][i]
    if key in ("r", "s"):
        mean, rho = mean[i], rho[i]
    elif key == "weight":  # of which noise has the inputs first, as the book's matrices do
        eps = eps.transpose(0, 1)
    return mean + F.softplus(rho) * eps


def weight(holder: WeightLayer, module: nn.Module, i: int, noise: dict[str, Tensor]) -> Tensor:
    """The weight of member or sample i, as a plain module stores it."""
    if holder.method not in ("batch_ensemble", "rank1"):
        return array(holder, "weight", i, noise)
    r, s = (array(holder, key, i, noise) for key in ("r", "s"))
    n, wide = holder.weight.shape[:2]
    # A module of a library's own may have its inputs first, as transposed convolutions do.
    rows, columns = (r, s) if getattr(module, "transposed", len(s) != n) else (s, r)
    groups = groups_of(holder.weight, module)
    group = torch.arange(n)[:, None] // (n // groups)  # of each row, whose columns are its own
    factors = rows[:, None] * columns.view(groups, wide)[group, torch.arange(wide)]
    return holder.weight * factors[(..., *[None] * (holder.weight.ndim - 2))]


def groups_of(weight: Tensor, module: nn.Module) -> int:
    """Into how many blocks of rows a weight falls whose inputs are scaled apart."""
    if isinstance(module, nn.MultiheadAttention) and len(weight) == 3 * module.embed_dim:
        return 3  # query, key and value
    return getattr(module, "groups", 1)


def thinned(masks: list[Tensor]) -> Callable[..., Tensor]:
    """A hook that drops by one mask (1, …) for all examples, by the next one at each call."""
    turns = itertools.cycle(masks)
    return lambda module, args, x: torch.where(next(turns), x / (1 - module.p), 0)


def tensors(output: Any) -> Iterator[Tensor]:
    """Yield the tensors of an output, in order."""
    if isinstance(output, Tensor):
        yield output
    elif isinstance(output, Mapping | list | tuple):
        for part in output.values() if isinstance(output, Mapping) else output:
            yield from tensors(part)
    else:
        raise TypeError(f"an output holds a {type(output).__name__}, not compared here")


def off(one: Tensor, other: Tensor) -> float:
    """The greatest difference, as a part of the greatest number."""
    return float((one - other).abs().max() / other.abs().max())


def named(error: Exception) -> bool:
    """Whether an error is the package's own, and says what works."""
    raised_in = Path(traceback.extract_tb(error.__traceback__)[-1].filename)
    return (
        raised_in.is_relative_to(Path(ensedu.__file__).parent) and "accepted" in str(error).lower()
    )
