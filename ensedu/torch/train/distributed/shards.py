"""Some members of an ensemble on each process, and what the processes say to each other."""

import copy
from contextlib import ExitStack
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from ensedu.common import checks
from ensedu.methods import METHODS
from ensedu.torch.base import MemberLayer
from ensedu.torch.network import kl
from ensedu.torch.train.distributed.group import ask_all
from ensedu.torch.train.distributed.refusals import checked_ensemble_size
from ensedu.torch.whole.copies import MemberCopies
from ensedu.torch.whole.flatten import FlatEnsemble

NOISE, BATCH, SPLIT, MEMBER = range(4)  # what random numbers are for


def members_of(rank: int, ranks: int, ensemble_size: int) -> range:
    """Return the members of process `rank` of `ranks`: neighbors, one more on the first processes.

    Raises ``TypeError`` or ``ValueError`` for what are no such numbers.

    >>> [list(members_of(rank, 3, 4)) for rank in range(3)]
    [[0, 1], [2], [3]]
    """
    checks.positive_int("ensemble_size", ensemble_size)
    if checks.natural_int("rank", rank) >= checks.positive_int("ranks", ranks):
        raise ValueError(f"rank must be below the number of processes, {ranks}, got {rank}")
    if ranks > ensemble_size:
        words = f"at least {ranks}, one member for each of {ranks} processes"
        raise ValueError(f"ensemble_size is {ensemble_size}, accepted is {words}")
    own = np.array_split(range(ensemble_size), ranks)[rank]
    return range(int(own[0]), int(own[-1]) + 1)


def seed_of(*key: int) -> int:
    """Return a seed that depends on these integers alone: on all processes, after any restart."""
    return int(np.random.SeedSequence(key).generate_state(1, np.uint64)[0])


class ShardedEnsemble(nn.Module):
    """The members that this process keeps of an ensemble: (B, …) -> (own members, B, …).

    Every process calls this with the whole `net`, of which the values of process 0 count, and keeps
    what members share and its own members. `net` is an ``nn.Sequential``, as `ensedu.torch.mlp`
    builds it, or what `ensedu.torch.ensemble` returns, without samples; dropout and BatchNorm in
    the copies of a deep ensemble alone. With the number of the step, `seed` decides all noise.

    An optimizer must treat each entry alone, as Adam and SGD do: what looks across members, such
    as clipping the norm of the whole gradient, sees those of one process.

    Attributes are `net`, of this process's `members`; `ensemble_size`, M over all `ranks`
    processes; and `split`, names of parameters of whose first axis each process has a part. Raises
    ``TypeError`` or ``ValueError`` for bad arguments, and for some that differ between processes.
    """

    def __init__(self, net: nn.Module, *, seed: int = 0) -> None:
        super().__init__()
        self.ensemble_size = checked_ensemble_size(net)
        self.seed = checks.natural_int("seed", seed)
        self.ranks = dist.get_world_size()
        self.members = members_of(dist.get_rank(), self.ranks, self.ensemble_size)
        self._rows = slice(self.members.start, self.members.stop)
        self.net = copy.deepcopy(net)
        self.net.zero_grad()
        self._agree_on_values()
        self.split: set[str] = set()
        if isinstance(self.net, MemberCopies):
            everyone, self.net.members = self.net.members, nn.ModuleList()
            for number in self.members:  # under the name that it has in the whole network
                self.net.members.add_module(str(number), everyone[number])
            return
        for name, layer in self.net.named_modules(remove_duplicate=False):
            for key, _ in layer.named_parameters() if isinstance(layer, MemberLayer) else ():
                if METHODS[layer.method].roles[key] != "shared":
                    self.split.add(f"{name}.{key}")
        for parameter in {self.net.get_parameter(name) for name in self.split}:
            parameter.data = parameter.data[self._rows].clone()
        if isinstance(self.net, FlatEnsemble):
            self.net.keep_members(len(self.members))

    def forward(self, x: Shaped[Tensor, "*any"], step: int = 0, **inputs: Any) -> Any:
        """Return the outputs of this process's members, with the noise of (seed, step)."""
        checks.natural_int("step", step)
        source = torch.Generator(x.device).manual_seed(seed_of(NOISE, self.seed, step))

        def give_noise(layer: Any, given: tuple[Any, ...]) -> tuple[Any, ...]:
            noise, like = {}, {"device": x.device, "dtype": layer.weight.dtype}
            for key, (_, *rest) in layer.noise_shapes(tuple(given[0].shape)).items():
                whole = torch.randn(self.ensemble_size, *rest, generator=source, **like)
                noise[key] = whole[self._rows]
            return *given, noise

        def seed_member(member: nn.Module, _: Any) -> None:
            torch.manual_seed(seed_of(MEMBER, self.seed, step, numbers[member]))

        copies = isinstance(self.net, MemberCopies)
        numbers = dict(zip(self.net.members, self.members, strict=True)) if copies else {}
        noisy = [part for part in self.net.modules() if hasattr(part, "noise_shapes")]
        gpu = [x.device] if x.is_cuda else []
        with ExitStack() as hooks, torch.random.fork_rng(gpu, enabled=copies):
            for part in numbers or noisy:
                prepare = seed_member if copies else give_noise
                hooks.enter_context(part.register_forward_pre_hook(prepare))
            return self.net(x, **inputs)

    def mean_part(self, losses: Float[Tensor, " own"]) -> Float[Tensor, ""]:
        """Return this process's part of the mean over all M members of their losses."""
        self._check_one_a_member("losses", losses, slice(None))
        return losses.sum() / self.ensemble_size

    def kl(self) -> Float[Tensor, ""]:
        """Return this process's part of the mean over all M members of KL(q(r, s) ‖ prior)."""
        return kl(self.net) * len(self.members) / self.ensemble_size

    def reduce_gradients(self) -> None:
        """Add up the shared weights' gradients over all processes, with one all-reduce.

        Call it after ``backward()``. Without shared weights that are trained, or with one process,
        it does nothing. Raises ``RuntimeError`` if one of them has no gradient.
        """
        if self.payload_bytes == 0:
            return
        gradients = [parameter.grad for parameter in self._parameters_to_reduce()]
        if any(gradient is None for gradient in gradients):
            raise RuntimeError("a shared weight has no gradient, call this after backward()")
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        dist.all_reduce(flat)
        sizes = [gradient.numel() for gradient in gradients]
        for gradient, total in zip(gradients, flat.split(sizes), strict=True):
            gradient.copy_(total.view_as(gradient))

    @property
    def payload_bytes(self) -> int:
        """Bytes of the gradient that a step all-reduces: 0 for a deep ensemble or one process."""
        return (
            sum(p.numel() * p.element_size() for p in self._parameters_to_reduce())
            if self.ranks > 1
            else 0
        )

    def gather(self, outputs: Shaped[Tensor, "own *rest"]) -> Shaped[Tensor, "M *rest"]:
        """Return the outputs of all M members in order, on every process, without gradient."""
        self._check_one_a_member("outputs", outputs, slice(1))
        return torch.cat(ask_all(outputs.detach().cpu())).to(outputs.device)

    def values_of_all(self, values: dict[str, Any]) -> dict[str, Any]:
        """Return on every process what all have together; keys are ``kind:name of a parameter``."""
        found: dict[str, list[Any]] = {}
        for own in ask_all(values):
            for key, value in own.items():
                found.setdefault(key, []).append(value)
        return {k: torch.cat(v) if self._has_rows(k, v[0]) else v[0] for k, v in found.items()}

    def own_part(self, key: str, value: Tensor) -> Tensor:
        """Return this process's part of one of the values that `values_of_all` returns."""
        return value[self._rows] if self._has_rows(key, value) else value

    def _has_rows(self, key: str, value: Any) -> bool:
        name = key.partition(":")[2]
        if name not in self.split or not isinstance(value, Tensor) or value.ndim == 0:
            return False
        if value.shape[1:] != self.net.get_parameter(name).shape[1:]:
            raise TypeError(f"{key} has shape {tuple(value.shape)}, accepted is its parameter's")
        return True

    def _parameters_to_reduce(self) -> list[nn.Parameter]:
        named = [] if isinstance(self.net, MemberCopies) else self.net.named_parameters()
        return [p for name, p in named if name not in self.split and p.requires_grad]

    def _agree_on_values(self) -> None:
        """Check that all processes have the same network, and give them the values of the first."""
        values = self.net.state_dict()
        words = [f"{name} {tuple(v.shape)} {v.dtype}" for name, v in values.items()]
        all_words = ask_all(f"seed {self.seed}, {', '.join(words)}")
        if len(set(all_words)) > 1:
            raise ValueError(f"net and seed must be the same on all processes, got {all_words}")
        for value in values.values():
            dist.broadcast(value, 0)

    def _check_one_a_member(self, name: str, values: Any, axes: slice) -> None:
        if not isinstance(values, Tensor):
            raise TypeError(f"{name} must be a torch.Tensor, got {type(values).__name__}")
        if values.shape[axes] != (len(self.members),):
            words = f"one entry for each of this process's {len(self.members)} members"
            raise ValueError(f"{name} has shape {tuple(values.shape)}, accepted is {words}")
