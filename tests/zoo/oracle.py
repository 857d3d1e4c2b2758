"""Plain copies of a model, one a member, from the weights that an ensemble's layers say they have.

Nothing here calls the ensemble's own way back to plain members.
"""

import copy
import itertools
import traceback
from collections.abc import Iterator, Mapping
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
    for layer in layers(net).values():
        for name, x in layer.named_parameters():
            if name in ("r_rho", "s_rho"):
                x.uniform_(-3, -1)  # standard deviations of 0.05 to 0.3
            elif name in ("weight_rho", "bias_rho"):
                size = layer.weight_mean.std() * torch.empty_like(x).uniform_(0.1, 0.5)
                x.copy_(torch.log(torch.expm1(size)))
            elif name == "bias" or name.startswith(("r", "s")):
                x.add_(torch.randn_like(x) * 0.2)


def layers(net: nn.Module) -> dict[str, WeightLayer]:
    """Every layer that tells members apart, by the path of the plain one in the original."""
    return {
        path.removesuffix(".layer"): part
        for path, part in net.model.named_modules(remove_duplicate=False)
        if isinstance(part, WeightLayer)
    }


def plain(model: nn.Module, net: nn.Module, i: int, noise: dict[str, Tensor]) -> nn.Module:
    """Return a copy of the original `model` with the weights and masks of member or sample i."""
    alone = copy.deepcopy(model)
    if hasattr(net, "members"):
        alone.load_state_dict(net.members[i].state_dict())
        return alone
    for path, layer in layers(net).items():
        own, target = own_noise(noise, path), alone.get_submodule(path)
        target.weight.copy_(weight(layer, target, i, own))
        if target.bias is not None:
            target.bias.copy_(bias(layer, i, own))
    for path, part in list(alone.named_modules(remove_duplicate=False)):
        masks = [own[i] for key, own in own_noise(noise, path).items() if key.startswith("mask")]
        if masks:
            alone.set_submodule(path, Thinned(masks, part.p))
    return alone


def own_noise(noise: dict[str, Tensor], path: str) -> dict[str, Tensor]:
    """The noise of one layer."""
    found = ((*key.rpartition("."), value) for key, value in noise.items())
    return {key: value for name, _, key, value in found if name == path}


def weight(
    layer: WeightLayer, target: nn.Linear | nn.Conv2d, i: int, noise: dict[str, Tensor]
) -> Tensor:
    """The weight of member or sample i, as Torch's own layer stores it."""
    if getattr(target, "groups", 1) > 1:
        return in_groups(layer, target, i, noise)
    matrix = layer.weight_matrices(noise or None)[i]  # (m, n) or (C_in, C_out, k, k)
    return matrix.transpose(0, 1)


def in_groups(layer: WeightLayer, conv: nn.Conv2d, i: int, noise: dict[str, Tensor]) -> Tensor:
    """The same by hand: the matrices of a wide depthwise convolution are mostly zeros."""
    if layer.method == "mean_field":
        # (C_in of a group, C_out, k, k), as all noise in the book's axes
        return layer.weight_mean + F.softplus(layer.weight_rho) * noise["weight"][i].transpose(0, 1)
    if layer.method == "rank1":
        r = layer.r_mean[i] + F.softplus(layer.r_rho[i]) * noise["r"][i]
        s = layer.s_mean[i] + F.softplus(layer.s_rho[i]) * noise["s"][i]
    else:
        r, s = layer.r[i], layer.s[i]
    folded = layer.weight.clone()
    wide, high = conv.in_channels // conv.groups, conv.out_channels // conv.groups
    for group in range(conv.groups):
        inputs = r[group * wide : (group + 1) * wide]
        outputs = s[group * high : (group + 1) * high]
        folded[group * high : (group + 1) * high] *= torch.outer(outputs, inputs)[..., None, None]
    return folded


def bias(layer: WeightLayer, i: int, noise: dict[str, Tensor]) -> Tensor:
    """The bias of member or sample i."""
    if hasattr(layer, "bias"):
        return layer.bias[i]
    return layer.bias_mean + F.softplus(layer.bias_rho) * noise["bias"][i]


class Thinned(nn.Module):
    """Dropout with one mask (1, …) for all examples, the next one at each call in a pass."""

    def __init__(self, masks: list[Tensor], p: float) -> None:
        super().__init__()
        self.masks, self.p = itertools.cycle(masks), p

    def forward(self, x: Tensor) -> Tensor:
        return torch.where(next(self.masks), x / (1 - self.p), 0)


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
