"""Some members of an ensemble on each process, and what the processes say to each other."""

import copy
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from jaxtyping import Float
from torch import Tensor, nn

from ensedu import checks
from ensedu.methods import METHODS
from ensedu.torch.base import WeightLayer
from ensedu.torch.dropout import KINDS, MCDropout
from ensedu.torch.network import Tile

NOISE, BATCH, SPLIT = range(3)  # what a generator is for


def members_of(rank: int, ranks: int, ensemble_size: int) -> range:
    """Return the members of process `rank` of `ranks`: neighbors, one more on the first processes.

    Raises
    ------
    TypeError, ValueError
        For what are no such numbers, and for more processes than members.

    Examples
    --------
    >>> [list(members_of(rank, 3, 4)) for rank in range(3)]
    [[0, 1], [2], [3]]
    """
    checks.positive_int("ensemble_size", ensemble_size)
    if checks.natural_int("rank", rank) >= checks.positive_int("ranks", ranks):
        raise ValueError(f"rank must be below the number of processes, {ranks}, got {rank}")
    if ranks > ensemble_size:
        raise ValueError(
            f"ensemble_size is {ensemble_size}, accepted is at least {ranks}, one member for each "
            f"of {ranks} processes"
        )
    least, more = divmod(ensemble_size, ranks)
    start = rank * least + min(rank, more)
    return range(start, start + least + (rank < more))


def generator(
    purpose: int, seed: int, step: int, device: torch.device | str = "cpu"
) -> torch.Generator:
    """Return a generator that depends on these integers alone, so that all processes draw alike.

    As it has no past, a run that goes on from a checkpoint draws what it would have drawn.
    """
    key = [
        checks.natural_int(*pair) for pair in (("purpose", purpose), ("seed", seed), ("step", step))
    ]
    state = np.random.SeedSequence(key).generate_state(1, np.uint64)
    return torch.Generator(device).manual_seed(int(state[0]))


class ShardedEnsemble(nn.Module):
    """The members that this process keeps of an ensemble: (B, …) -> (own members, B, …).

    Every process builds the whole network and calls this with it; the values of process 0 count.
    Each keeps the shared weights and, of all else, its own members. `net` itself is not changed.

    Noise of rank-1 layers is drawn for all M members on each process, and each takes its part, so
    that no result depends on the number of processes. These are vectors, M (m + n) numbers a
    layer, or M B (m + n) with ``per_example=True``.

    An optimizer must treat each entry alone, as Adam and SGD do. What looks across members, such
    as clipping the norm of the whole gradient, sees those of one process.

    Parameters
    ----------
    net
        An ``nn.Sequential``, such as `ensedu.torch.mlp` builds, of DeepEnsemble, BatchEnsemble and
        Rank1 layers with one ``ensemble_size``, and modules without parameters.
    seed
        With the number of the step, it decides the noise of rank-1 layers.

    Attributes
    ----------
    net
        The network of this process's members.
    ensemble_size
        M, over all processes.
    ranks
        Number of processes.
    members
        The numbers of this process's members, a ``range``.

    Raises
    ------
    TypeError, ValueError
        For another `net` or `seed`, for more processes than members, and for a `net` or `seed`
        that is not the same on all processes.
    """

    def __init__(self, net: nn.Sequential, *, seed: int = 0) -> None:
        super().__init__()
        self.ensemble_size = _ensemble_size(net)
        self.seed = checks.natural_int("seed", seed)
        self.ranks = dist.get_world_size()
        self.members = members_of(dist.get_rank(), self.ranks, self.ensemble_size)
        self.net = copy.deepcopy(net)
        self.net.zero_grad()
        self._agree()
        roles = {
            f"{name}.{key}": METHODS[layer.method].roles[key]
            for name, layer in self.net.named_modules()
            if isinstance(layer, WeightLayer)
            for key, _ in layer.named_parameters()
        }
        named = dict(self.net.named_parameters())
        #: Names of the parameters of which each process has its members' part.
        self.split = frozenset(name for name in named if roles[name] != "shared")
        for name in self.split:
            named[name].data = self._own(named[name].data).clone()
        for layer in _flat(self.net):
            if hasattr(layer, "ensemble_size"):
                layer.ensemble_size = len(self.members)

    def forward(self, x: Float[Tensor, "*any"], step: int = 0) -> Float[Tensor, "own B *rest"]:
        """Return the outputs of this process's members, with the noise of (seed, step)."""
        source = generator(NOISE, self.seed, step, x.device)
        for layer in _flat(self.net):
            x = layer(x, self._noise(layer, source, x.shape)) if _draws(layer) else layer(x)
        return x

    def part(self, losses: Float[Tensor, " own"]) -> Float[Tensor, ""]:
        """Return this process's part of the mean over all M members of their losses.

        The parts of all processes add up to the mean.
        """
        self._check_own("losses", losses)
        if losses.ndim != 1:
            raise ValueError(
                f"losses has shape {tuple(losses.shape)}, accepted is ({len(self.members)},), one "
                "number for each of this process's members"
            )
        return losses.sum() / self.ensemble_size

    def kl(self) -> Float[Tensor, ""]:
        """Return this process's part of the mean over all M members of KL(q(r, s) ‖ prior)."""
        layers = [layer for layer in _flat(self.net) if _draws(layer)]
        zero = next(self.parameters()).new_zeros(())
        return sum((layer.kl().sum() for layer in layers), zero) / self.ensemble_size

    def reduce_gradients(self) -> None:
        """Add up the shared weights' gradients over all processes, with one all-reduce.

        Call it after ``backward()``. Without shared weights, or with one process, it does nothing.

        Raises
        ------
        RuntimeError
            If there is no gradient yet.
        """
        if self.payload_bytes == 0:
            return
        gradients = []
        for name, parameter in self._shared().items():
            if parameter.grad is None:
                raise RuntimeError(f"{name} has no gradient, accepted is a call after backward()")
            gradients.append(parameter.grad)
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        dist.all_reduce(flat)
        sizes = [gradient.numel() for gradient in gradients]
        for gradient, total in zip(gradients, flat.split(sizes), strict=True):
            gradient.copy_(total.view_as(gradient))

    @property
    def payload_bytes(self) -> int:
        """Bytes of the gradient that a step all-reduces: 0 for a deep ensemble or one process."""
        if self.ranks == 1:
            return 0
        return sum(p.numel() * p.element_size() for p in self._shared().values())

    @property
    def wire_bytes(self) -> float:
        """Bytes that each of R processes sends a step: 2 (R - 1) / R payloads, in a ring.

        Of R pieces of the gradient, each process sends R - 1 while sums form, and R - 1 while they
        go around. It receives as many.
        """
        return 2 * (self.ranks - 1) / self.ranks * self.payload_bytes

    @torch.no_grad()
    def gather(self, outputs: Float[Tensor, "own *rest"]) -> Float[Tensor, "M *rest"]:
        """Return the outputs of all M members in order, on every process, without gradient."""
        self._check_own("outputs", outputs)
        counts = [
            len(members_of(rank, self.ranks, self.ensemble_size)) for rank in range(self.ranks)
        ]
        # All processes must send the same shape, and the first has most members.
        padded = outputs.new_zeros(counts[0], *outputs.shape[1:])
        padded[: len(outputs)] = outputs
        parts = [torch.empty_like(padded) for _ in counts]
        dist.all_gather(parts, padded)
        return torch.cat([part[:count] for part, count in zip(parts, counts, strict=True)])

    def extra_repr(self) -> str:
        return f"members={list(self.members)}, ensemble_size={self.ensemble_size}"

    def _shared(self) -> dict[str, nn.Parameter]:
        return {
            name: parameter
            for name, parameter in self.net.named_parameters()
            if name not in self.split and parameter.requires_grad
        }

    def _own(self, values: Float[Tensor, "M *rest"]) -> Float[Tensor, "own *rest"]:
        return values[self.members.start : self.members.stop]

    def _noise(
        self, layer: nn.Module, source: torch.Generator, shape: tuple[int, ...]
    ) -> dict[str, Tensor]:
        like = next(layer.parameters())
        drawn = {}
        for key, (_, *rest) in layer.noise_shapes(shape).items():
            whole = torch.randn(
                self.ensemble_size, *rest,
                generator=source, device=like.device, dtype=like.dtype,
            )  # fmt: skip
            drawn[key] = self._own(whole)
        return drawn

    def _agree(self) -> None:
        """Check that all processes have the same network, and give them the values of the first."""
        parameters = dict(self.net.named_parameters())
        mine = {"seed": self.seed} | {
            name: (tuple(p.shape), str(p.dtype)) for name, p in parameters.items()
        }
        all_of_them: list[Any] = [None] * self.ranks
        dist.all_gather_object(all_of_them, mine)
        for rank, theirs in enumerate(all_of_them):
            if theirs != all_of_them[0]:
                raise ValueError(
                    "net and seed must be the same on all processes, got "
                    f"{all_of_them[0]} on process 0 and {theirs} on process {rank}"
                )
        for parameter in parameters.values():
            dist.broadcast(parameter.data, 0)

    def _check_own(self, name: str, values: Tensor) -> None:
        if values.ndim == 0 or len(values) != len(self.members):
            raise ValueError(
                f"{name} has shape {tuple(values.shape)}, accepted is one entry for each of this "
                f"process's {len(self.members)} members on the first axis"
            )


def _ensemble_size(net: Any) -> int:
    """Check that the members of `net` can be told apart, and return their number."""
    if not isinstance(net, nn.Sequential):
        raise TypeError(f"net must be an nn.Sequential, got {type(net).__name__}")
    kinds = dict.fromkeys(row.layer for row in METHODS.values() if row.members)
    accepted = f"accepted are {', '.join(kinds)} layers"
    sizes = {}
    for name, layer in net.named_modules():
        if isinstance(layer, nn.Sequential):
            continue
        size = getattr(layer, "ensemble_size", None)
        own = isinstance(layer, WeightLayer) and size is not None
        if not own and any(True for _ in chain(layer.parameters(), layer.buffers())):
            raise ValueError(
                f"net has a {type(layer).__name__} at {name!r} whose parameters or buffers belong "
                f"to no member; {accepted}, and modules without either"
            )
        if isinstance(layer, (MCDropout, *KINDS)):
            raise ValueError(
                f"net has a {type(layer).__name__} at {name!r}, whose noise would depend on the "
                f"number of processes; {accepted}, and modules without noise"
            )
        if isinstance(layer, Tile) and size is not None:
            raise ValueError(
                f"net has a Tile at {name!r}, which puts samples in front of the members; "
                f"{accepted}, one sample a step"
            )
        if size is not None:
            sizes[name] = size
    if not any(isinstance(layer, WeightLayer) for layer in net.modules()):
        raise ValueError(f"net has no layer with members; {accepted}")
    if len(set(sizes.values())) > 1:
        raise ValueError(f"net must have one ensemble_size, got {sizes}")
    return next(iter(sizes.values()))


def _flat(net: nn.Sequential) -> Iterator[nn.Module]:
    """Yield the layers of a network in the order in which they are called."""
    for layer in net:
        if isinstance(layer, nn.Sequential):
            yield from _flat(layer)
        else:
            yield layer


def _draws(layer: nn.Module) -> bool:
    return isinstance(layer, WeightLayer) and METHODS[layer.method].stochastic
