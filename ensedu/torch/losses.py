"""The losses of `ensedu.numpy` for tensors, and the negative evidence lower bound.

Names, arguments, axes and errors are the same, and said there: outputs of all members, (M, B, k) or
(S, M, B, k), or of one network, (B, k); targets for the B examples, with an axis M in front where
each member has examples of its own. With ℓ_ib the NLL of member i and example b in nats,
`reduction` says what becomes of it:

- ``"none"``: ℓ itself, (M, B);
- ``"mean"``: the mean over members and examples;
- ``"sum"``: the sum over members of their means over examples (and samples), so that each learns
  as if alone;
- ``"mixture"``: the mean over b of ``-log (1/M) Σ_i exp(-ℓ_ib)`` (Lakshminarayanan et al. 2017,
  sec. 2.4; Dusenberry et al. 2020, sec. 3.3). Trained on, it couples the members, which may then
  specialize; the mean does not.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Integer
from torch import Tensor, nn

from ensedu.common import checks, layer_checks
from ensedu.torch.inputs import Inputs, call
from ensedu.torch.network import kl
from ensedu.torch.tensor_checks import check_tensor, not_dense
from ensedu.torch.variational import softplus

__all__ = [
    "NegativeElbo", "gaussian_nll", "half_squared_error", "negative_elbo", "reduce",
    "softmax_cross_entropy",
]  # fmt: skip


def half_squared_error(
    outputs: Float[Tensor, "*M B k"], targets: Float[Tensor, "*M_B_k"], *, reduction: str = "mean"
) -> Float[Tensor, "*loss"]:
    """``ℓ = ½ |y - f(x)|²``, as in `ensedu.numpy`."""
    residual = outputs - _checked_targets(outputs, targets, heads=1)
    return reduce(0.5 * residual.square().sum(-1), reduction)


def gaussian_nll(
    outputs: Float[Tensor, "*M B heads"],
    targets: Float[Tensor, "*M_B_k"],
    *,
    reduction: str = "mean",
    beta: float = 0.0,
) -> Float[Tensor, "*loss"]:
    """``ℓ = Σ ½ log 2πσ² + (y - μ)² / (2σ²)``, as in `ensedu.numpy`.

    Outputs are k means μ, then k raw variances v: σ² = softplus(v) + 1e-6.
    """
    beta = layer_checks.nll_exponent(beta, reduction)
    targets = _checked_targets(outputs, targets, heads=2)
    mean, raw = outputs.chunk(2, -1)
    variance = softplus(raw) + 1e-6
    nll = 0.5 * torch.log(2 * math.pi * variance) + 0.5 * (mean - targets).square() / variance
    if beta:
        nll = nll * variance.detach() ** beta
    return reduce(nll.sum(-1), reduction)


def softmax_cross_entropy(
    outputs: Float[Tensor, "*M B k"], targets: Integer[Tensor, "*M_B"], *, reduction: str = "mean"
) -> Float[Tensor, "*loss"]:
    """``ℓ = -log softmax(f(x))_y``, as in `ensedu.numpy`.

    That labels are in range is looked at on a CPU; a GPU would have to be waited for.
    """
    check_tensor("outputs", outputs)
    labels = as_labels(targets, outputs)
    layer_checks.check_labels(outputs.shape, labels.shape)
    if labels.device.type == "cpu" and labels.numel() and not torch.compiler.is_compiling():
        low, high = labels.aminmax()
        layer_checks.check_label_range(int(low), int(high), outputs.shape[-1])
    chosen = labels.expand(outputs.shape[:-1])[..., None]
    return reduce(-outputs.log_softmax(-1).gather(-1, chosen)[..., 0], reduction)


def reduce(nll: Float[Tensor, "*M B"], reduction: str) -> Float[Tensor, "*loss"]:
    """Turn each member's and example's NLL, (M, B) or (S, M, B), into a loss.

    Raises ``TypeError`` or ``ValueError`` for what is no such tensor, for no examples, and for an
    unknown `reduction`.
    """
    checks.one_of("reduction", reduction, ("none", "mean", "sum", "mixture"))
    check_tensor("nll", nll)
    if nll.ndim == 0 or nll.numel() == 0:
        raise ValueError(
            f"nll has shape {tuple(nll.shape)}, accepted is (M, B) with at least one example"
        )
    if reduction == "none":
        return nll
    if reduction == "mixture":
        components = nll.reshape(-1, nll.shape[-1])  # (S M, B)
        return (math.log(len(components)) - torch.logsumexp(-components, 0)).mean()
    return nll.mean() * (nll.shape[-2] if reduction == "sum" and nll.ndim > 1 else 1)


class NegativeElbo(NamedTuple):
    """The negative evidence lower bound of an example, and what it is made of, in nats."""

    #: ``nll + beta * kl / num_examples``, what is minimized.
    loss: Float[Tensor, ""]
    #: The expected NLL of an example, from one draw.
    nll: Float[Tensor, ""]
    #: KL(q ‖ prior), the mean over members; 0 for a net without distributions.
    kl: Float[Tensor, ""]

    def numbers(self) -> dict[str, float]:
        """Return the three as numbers by name."""
        return {name: float(value.detach()) for name, value in self._asdict().items()}


def negative_elbo(
    net: nn.Module,
    x: Inputs,
    y: Tensor,
    nll: Callable[[Any, Tensor], Tensor],
    *,
    num_examples: int,
    beta: float = 1.0,
    noise: dict[str, Tensor] | None = None,
) -> NegativeElbo:
    """The negative evidence lower bound of a minibatch, per example, with its parts.

    ``nll(net(x), y) + beta · kl(net) / N`` (Blundell et al. 2015, eq. 8, with the same part of the
    KL for each minibatch; Dusenberry et al. 2020, sec. 3.2), N the number of training examples. For
    a net without distributions the KL is 0 and the loss the NLL.

    Parameters
    ----------
    net
        A layer, `mlp`, what `ensemble` returns, or any module.
    x, y
        B examples and their targets, as `net` and `nll` take them; a tuple `x` is arguments of the
        net, a dict named ones.
    nll
        A function (outputs, targets) -> one number, the **mean** over members and examples, as the
        losses here by default. With ``reduction="sum"`` give M times the `beta`. Targets (B,) reach
        it as (B, 1) where outputs are (M, B, 1).
    num_examples
        N, the size of the whole training set, and not of this minibatch.
    beta
        Weight of the KL, 0 or more; below 1 while it is annealed.
    noise
        What ``net.noise(...)`` returned; by default the net draws.

    Raises
    ------
    TypeError, ValueError
        For a bad argument, and an `nll` that does not return one number.
    """
    if not isinstance(net, nn.Module):
        raise TypeError(f"net must be a torch.nn.Module, got {checks.describe(net)}")
    mean_nll = checks.function("nll", nll, "nll(net(x), y)")
    share = checks.not_negative("beta", beta) / checks.positive_int("num_examples", num_examples)
    outputs = call(net, x) if noise is None else call(net, x, noise=noise)
    targets = as_columns(y, outputs)
    try:
        loss = mean_nll(outputs, targets)
    except (TypeError, ValueError, RuntimeError) as error:
        says_so = str(getattr(nll, "__module__", "")).startswith("ensedu.")
        if isinstance(outputs, Tensor) and not says_so:
            error.add_note(
                f"nll got outputs of shape {tuple(outputs.shape)}, (M, B, …) of an ensemble, and "
                f"targets of shape {tuple(targets.shape)}; of classes it may be "
                "ensedu.torch.softmax_cross_entropy"
            )
        raise
    if not isinstance(loss, Tensor) or loss.ndim:
        shape = f"shape {tuple(loss.shape)}" if isinstance(loss, Tensor) else checks.describe(loss)
        raise ValueError(f"nll must return one number, a tensor of shape (), got {shape}")
    divergence = kl(net)
    return NegativeElbo(loss + share * divergence, loss, divergence)


def as_columns(y: Tensor, outputs: Any) -> Tensor:
    """Return targets (B,) as (B, 1) beside outputs (M, B, 1): a loss of others would broadcast."""
    both = isinstance(outputs, Tensor) and isinstance(y, Tensor)
    has_column = both and outputs.ndim > 1 and outputs.shape[-1] == 1
    return y[:, None] if has_column and y.ndim == 1 and y.is_floating_point() else y


def as_labels(targets: Any, like: Tensor) -> Integer[Tensor, "*M_B"]:
    """Return labels as Torch indexes with them; they are integers, on the device of `like`."""
    if (
        not isinstance(targets, Tensor)
        or not_dense(targets)
        or targets.is_floating_point()
        or targets.is_complex()
        or targets.dtype == torch.bool
    ):
        raise TypeError(
            "targets must be a dense torch.Tensor of integer labels, (B,), got "
            f"{checks.describe_array(targets)}"
        )
    if targets.device != like.device:
        raise ValueError(
            f"targets for these outputs are on device {targets.device}, accepted is {like.device}"
        )
    return targets.long()


def _checked_targets(outputs: Tensor, targets: Tensor, heads: int) -> Float[Tensor, "*M B k"]:
    """Return the targets with an axis k, checked against the outputs."""
    check_tensor("outputs", outputs)
    check_tensor("targets for these outputs", targets, outputs)
    layer_checks.check_targets(outputs.shape, targets.shape, heads)
    return targets[:, None] if targets.ndim == 1 else targets
