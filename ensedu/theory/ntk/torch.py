"""The same ensembles in Torch: on any device, in any dtype, trained by any optimizer.

Steps of gradient descent with both learning rates, as those of
`ensedu.theory.ntk.EmbeddedEnsemble.step`::

    from ensedu.theory.ntk import embedded

    rng, x, y = np.random.default_rng(0), torch.randn(5, 2), torch.zeros(5)
    net = EmbeddedEnsemble(embedded([2, 64, 64, 1], 4, rng=rng), dtype=torch.float32)
    optimizer = torch.optim.SGD(net.groups(lr=0.1, gamma=4))
    loss = 0.5 * (net(x) - y).square().mean(dim=1).sum()  # the sum over members

Slopes come from autograd, so that this is an independent check of those by hand, too.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

import ensedu.theory.ntk
from ensedu.common import checks
from ensedu.theory.ntk.kernel import Kernel, row_blocks
from ensedu.torch.tensor_checks import check_device, check_tensor

__all__ = ["EmbeddedEnsemble", "tangent"]

FUNCTIONS = {"relu": torch.relu, "erf": torch.erf, "tanh": torch.tanh}


class EmbeddedEnsemble(nn.Module):
    """Members with one output, (B, m) -> (M, B), that start as a NumPy network is.

    Parameters
    ----------
    net
        From `ensedu.theory.ntk.embedded`; its arrays are copied: `weights`, `biases`, `u` and `v`.
    device, dtype
        Of the parameters; by default those of NumPy, the CPU and float64.
    """

    def __init__(
        self,
        net: ensedu.theory.ntk.EmbeddedEnsemble,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype = torch.float64,
    ) -> None:
        super().__init__()
        if not isinstance(net, ensedu.theory.ntk.EmbeddedEnsemble):
            raise TypeError(
                f"net must be from ensedu.theory.ntk.embedded, got {checks.describe(net)}"
            )
        if not (isinstance(dtype, torch.dtype) and dtype.is_floating_point):
            raise TypeError(
                f"dtype must be a floating-point torch.dtype, got {checks.describe(dtype)}"
            )
        factory: dict[str, Any] = {"device": check_device(device), "dtype": dtype}
        for name in ("weights", "biases", "u", "v"):
            arrays = [torch.tensor(array, **factory) for array in getattr(net, name)]
            setattr(self, name, nn.ParameterList(arrays))
        self.activation, self.bias_std = net.activation, net.bias_std
        self.ensemble_size = net.ensemble_size

    def extra_repr(self) -> str:
        """Sizes, members and settings."""
        sizes = [*map(len, self.weights), 1]
        return f"{sizes}, {self.ensemble_size}, {self.activation!r}, bias_std={self.bias_std}"

    def groups(
        self, lr: float, *, gamma: float = 1.0, modulation_lr: float | None = None
    ) -> list[dict[str, Any]]:
        """Return parameter groups for an optimizer of the *sum* of the members' losses.

        Shared weights get ``lr · γ / M``, modulations `modulation_lr`, by default lr.
        """
        rate = checks.real("lr", lr, low=0.0)
        own = rate if modulation_lr is None else checks.not_negative("modulation_lr", modulation_lr)
        shared = rate * checks.real("gamma", gamma, low=0.0) / self.ensemble_size
        return [
            {"params": [*self.weights, *self.biases], "lr": shared},
            {"params": [*self.u, *self.v], "lr": own},
        ]

    def forward(self, x: Float[Tensor, "B m"]) -> Float[Tensor, "M B"]:
        return self.forward_pass(x)[0]

    def forward_pass(self, x: Float[Tensor, "B m"]) -> tuple[Tensor, list[Tensor], list[Tensor]]:
        """Return outputs, the inputs of each layer over √m, and all that an example has a slope in.

        That is what comes out of each layer, (M, B, n), then u and v of each hidden layer.
        """
        check_tensor("x", x, self.weights[0])
        if x.ndim != 2 or x.shape[1] != len(self.weights[0]):
            raise ValueError(
                f"x has shape {tuple(x.shape)}, accepted is (B, {len(self.weights[0])})"
            )
        phi, M, B = FUNCTIONS[self.activation], self.ensemble_size, len(x)
        inputs, sums, modulated = [x[None] / x.shape[1] ** 0.5], [], []
        for weight, bias, u, v in zip(self.weights, self.biases, self.u, self.v, strict=False):
            z = (inputs[-1] @ weight + self.bias_std * bias).expand(M, B, -1)
            u, v = (own[:, None].expand(M, B, -1) for own in (u, v))
            inputs.append(u * phi(v * z) / len(bias) ** 0.5)
            sums.append(z)
            modulated += [u, v]
        outputs = inputs[-1] @ self.weights[-1]  # (M, B, 1)
        return outputs[..., 0], inputs, [*sums, outputs, *modulated]


def tangent(
    net: EmbeddedEnsemble,
    x: Float[Tensor, "B m"],
    other: Float[Tensor, "C m"] | None = None,
    *,
    block_size: int = 256,
    bar: bool = False,
) -> Kernel:
    """Return the kernel of a network, as `ensedu.theory.ntk.tangent` does, on its device."""
    if not isinstance(net, EmbeddedEnsemble):
        raise TypeError(f"net must be an EmbeddedEnsemble, got {checks.describe(net)}")
    here = _inputs_and_slopes(net, x)
    there = here if other is None else _inputs_and_slopes(net, other)
    M, B, C = net.ensemble_size, len(x), len(x if other is None else other)
    shared, own = x.new_zeros(M, M, B, C), x.new_zeros(M, B, C)
    layers = len(net.weights)
    for rows in row_blocks(B, block_size, bar):
        for layer in range(layers):
            offset = net.bias_std**2 if layer < layers - 1 else 0.0
            a, b = here[0][layer][:, None, rows], there[0][layer][None]
            slopes = here[1][layer][:, None, rows] @ there[1][layer][None].mT
            shared[:, :, rows] += slopes.mul_(a @ b.mT + offset)
        for first, second in zip(here[1][layers:], there[1][layers:], strict=True):
            own[:, rows] += first[:, rows] @ second.mT
    return Kernel(shared, own)


def _inputs_and_slopes(net: EmbeddedEnsemble, x: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """Return each layer's inputs, and the slopes of outputs at the places of `forward_pass`.

    No example and no member enters another's output, so one backward pass of their sum is enough.
    """
    with torch.enable_grad():
        outputs, inputs, places = net.forward_pass(x)
        slopes = torch.autograd.grad(outputs.sum(), places)
    return [a.detach() for a in inputs], list(slopes)
