"""Adversarial examples for training: inputs moved to where a member's loss rises."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from ensedu.common import checks
from ensedu.torch.train.losses import elbo

__all__ = ["input_reach", "with_adversarial"]


def input_reach(x: Any, part: float) -> Tensor:
    """Return how far an input moves: so much of the range that each has in x, without axis B."""
    if not isinstance(x, Tensor):
        raise TypeError(
            "adversarial must be 0 but for x in one tensor, in which each input has a range, got "
            f"{part} for a {type(x).__name__}"
        )
    if not x.is_floating_point():
        raise TypeError(
            f"x must hold floats with adversarial above 0, got {checks.given_array(x)} of {x.dtype}"
        )
    return part * (x.amax(0) - x.amin(0))


def with_adversarial(
    net: nn.Module,
    x: Tensor,
    y: Tensor,
    nll: Callable[[Any, Tensor], Tensor],
    reach: Tensor,
    members: int | None,
    split: bool,
) -> tuple[Tensor, Tensor]:
    """Return examples and their targets, and behind them the same moved to where the NLL rises.

    ``x' = x + reach · sign(∂ℓ / ∂x)``, the fast gradient sign, at a draw of its own where the net
    draws (Lakshminarayanan et al. 2017, sec. 2.3). Each of so many `members` moves its own: they
    come back with an axis M in front, which a minibatch that is split among members has already.
    """
    own = x if members is None or split else x.expand(members, *x.shape)
    own = own.detach().clone().requires_grad_()
    loss = elbo(net, own, y, nll, num_examples=1, beta=0.0).nll
    (slope,) = torch.autograd.grad(loss, own)
    x, moved = own.detach(), own.detach() + reach * slope.sign()
    return torch.cat([x, moved], int(members is not None)), torch.cat([y, y], int(split))
