"""Adversarial training: examples again, moved to where the loss rises."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from ensedu.common import checks
from ensedu.torch.losses import negative_elbo
from ensedu.torch.network import ensemble_sizes, number_of_members


class Adversary:
    """Puts behind the examples of a minibatch the same, moved to where the NLL rises.

    ``x' = x + reach · sign(∂ℓ / ∂x)``, the fast gradient sign, at a draw of its own where the net
    draws (Lakshminarayanan et al. 2017, sec. 2.3). The reach is so large a `part` of the range that
    each input has in x; 0 for none. Each member moves its own: where there are `members`, examples
    come back with an axis M in front, which a minibatch that is `split` among them has already.
    """

    def __init__(
        self, net: nn.Module, nll: Callable[[Any, Tensor], Tensor], x: Any, part: Any,
        split: int | None,
    ) -> None:  # fmt: skip
        self.part = checks.not_negative("adversarial", part)
        self.members: int | None = None
        if not self.part:
            return
        if not isinstance(x, Tensor):
            raise TypeError(
                "adversarial must be 0 but for x in one tensor, in which each input has a range, "
                f"got {part} for a {type(x).__name__}"
            )
        if not x.is_floating_point():
            raise TypeError(
                f"x must hold floats with adversarial above 0, got {checks.describe_array(x)}"
            )
        self.members = split
        if split is None and ensemble_sizes(net):
            self.members = number_of_members(net, "adversarial must be 0")
        self._net, self._nll, self._split = net, nll, split is not None
        self._reach = self.part * (x.amax(0) - x.amin(0))

    def __call__(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        own = x if self.members is None or self._split else x.expand(self.members, *x.shape)
        own = own.detach().clone().requires_grad_()
        loss = negative_elbo(self._net, own, y, self._nll, num_examples=1, beta=0.0).nll
        (slope,) = torch.autograd.grad(loss, own)
        moved = own.detach() + self._reach.to(own.device) * slope.sign()
        both = torch.cat([own.detach(), moved], int(self.members is not None))
        return both, torch.cat([y, y], int(self._split))
