"""A training loop: who needs more writes one, or uses Lightning."""

import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext, suppress
from functools import partial
from os import PathLike
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

from ensedu.common import checks
from ensedu.common.training import (
    EpochRow,
    History,
    KLWeight,
    SaveTo,
    Validation,
    as_kl_weight,
    as_saving,
    as_validation,
    function_name,
)
from ensedu.methods import METHODS
from ensedu.torch.base import NORMALIZATIONS, WeightLayer, gpus_of, seeded
from ensedu.torch.losses import as_columns, elbo
from ensedu.torch.network import layers_with_kl
from ensedu.torch.train.batches import (
    Batches,
    check_net,
    has_members,
    hash_of,
    number_of_members,
)
from ensedu.torch.train.checkpoints import Keeper, settings_of
from ensedu.torch.train.predicting import (
    batches_of_members,
    draws_noise,
    in_mode,
    predict_minibatches,
    predicting,
)
from ensedu.torch.trees import Inputs, call, to_device
from ensedu.torch.whole.copies import MemberCopies

__all__ = [
    "Adversary",
    "Validator",
    "fit",
    "of_members",
    "parameter_groups",
]


def of_members(net: nn.Module) -> list[nn.Parameter]:
    """Return the parameters of which each member has its own; none where there are no members."""
    found: dict[int, nn.Parameter] = {}
    for part in net.modules():
        if isinstance(part, WeightLayer):
            arrays = [array.name for array in METHODS[part.method].arrays if "M" in array.shape]
            own = [getattr(part, name) for name in arrays]
        elif isinstance(part, MemberCopies):
            own = [
                p for name, p in part.named_parameters()
                if part.role_inside(name, "shared") == "per_member"
            ]  # fmt: skip
        else:
            continue
        found |= {id(p): p for p in own if p is not None}
    return [*found.values()]


def parameter_groups(
    net: nn.Module, *, weight_decay: float, fast_lr: float | None = None
) -> list[dict[str, Any]]:
    """Return groups for an optimizer: weights, which decay, and all else, which does not.

    Weights are matrices and kernels: shared ones, a member's own, and those of plain modules. Fast
    weights r and s do not decay: they multiply, and at 0 nothing is left. Nor does what has a
    distribution, which its KL pulls to the prior, nor biases and normalization. Frozen parameters
    are left out.

    Parameters
    ----------
    net
        Any module: a layer, `mlp`, what `ensemble` returns, or a plain model.
    weight_decay
        Of the first group, 0 or more.
    fast_lr
        Learning rate of the fast weights r and s, means and ρ alike, above 0; they are then a third
        group. By default they learn as all else does.

    Raises
    ------
    TypeError, ValueError
        For a `net` that is no module, and for another `weight_decay` or `fast_lr`.

    Examples
    --------
    >>> import torch
    >>> from ensedu.torch import mlp
    >>> net = mlp([5, 7, 2], "batch_ensemble", 3)
    >>> groups = parameter_groups(net, weight_decay=1e-4)
    >>> [sum(p.numel() for p in group["params"]) for group in groups]
    [49, 90]
    >>> optimizer = torch.optim.AdamW(groups, lr=1e-3)
    """
    if not isinstance(net, nn.Module):
        raise TypeError(f"net must be a torch.nn.Module, got {type(net).__name__}")
    decay = checks.not_negative("weight_decay", weight_decay)
    if fast_lr is not None:
        fast_lr = checks.real("fast_lr", fast_lr, low=0.0)
    kinds: dict[int, str] = {}
    for layer in net.modules():
        if isinstance(layer, WeightLayer):
            for array in METHODS[layer.method].arrays:
                fast = array.shape in ("M m", "M n") and array.role != "biases"
                kind = "weights" if array.name == "weight" else "fast" if fast else "rest"
                kinds[id(getattr(layer, array.name))] = kind
        elif isinstance(layer, NORMALIZATIONS):
            kinds |= {id(parameter): "rest" for parameter in layer.parameters(recurse=False)}
    groups: dict[str, list[Any]] = {"weights": [], "fast": [], "rest": []}
    for parameter in net.parameters():
        if parameter.requires_grad:
            kind = kinds.get(id(parameter), "weights" if parameter.ndim > 1 else "rest")
            groups["rest" if kind == "fast" and fast_lr is None else kind].append(parameter)
    found: list[dict[str, Any]] = [
        {"params": groups["weights"], "weight_decay": decay},
        {"params": groups["rest"], "weight_decay": 0.0},
    ]
    if fast_lr is not None:
        found.append({"params": groups["fast"], "weight_decay": 0.0, "lr": fast_lr})
    return found


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
                "x must hold floats with adversarial above 0, got "
                f"{checks.given_array(x)} of {x.dtype}"
            )
        self.members = split or (
            number_of_members(net, "adversarial must be 0") if has_members(net) else None
        )
        self._net, self._nll, self._split = net, nll, split is not None
        self._reach = self.part * (x.amax(0) - x.amin(0))

    def __call__(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        own = x if self.members is None or self._split else x.expand(self.members, *x.shape)
        own = own.detach().clone().requires_grad_()
        loss = elbo(self._net, own, y, self._nll, num_examples=1, beta=0.0).nll
        (slope,) = torch.autograd.grad(loss, own)
        moved = own.detach() + self._reach.to(own.device) * slope.sign()
        both = torch.cat([own.detach(), moved], int(self.members is not None))
        return both, torch.cat([y, y], int(self._split))


class Validator:
    """Computes the score of a `Validation`; raises for what does not fit before any training."""

    def __init__(
        self, net: nn.Module, nll: Callable[..., Tensor], held: Validation, batch_size: int | None
    ) -> None:
        size = None if held.y is None else batch_size
        self.batches = Batches(" of validation", net, held.x, held.y, batch_size=size)
        self._net, self._nll, self._held = net, nll, held
        if held.samples > 1 and not draws_noise(net):
            raise ValueError(f"samples must be 1 for a net that draws nothing, got {held.samples}")
        if held.score == "mixture" and not _takes_reduction(nll):
            raise ValueError(
                "score must be 'mean' or a function for an nll that has no reduction, got "
                f"'mixture' and {checks.given(nll)}"
            )

    def score(self) -> float:
        """Return the score; what is drawn for it leaves Torch's generators as they were."""
        with torch.random.fork_rng(gpus_of(self._net)):
            return self._mean() if self._held.score == "mean" else self._of_all()

    def _mean(self) -> float:
        """What `nll` gives in eval mode, the mean over all examples."""
        nll = checks.function("nll", self._nll, "nll(net(x), y)")
        device, total, examples = next(self._net.parameters()).device, 0.0, 0
        with predicting(self._net):
            for x, y in self.batches:
                outputs = call(self._net, to_device(x, device))
                total += float(nll(outputs, as_columns(y.to(device), outputs))) * len(y)
                examples += len(y)
        return total / examples

    def _of_all(self) -> float:
        targets: list[Tensor] = []

        def inputs() -> Iterator[Inputs]:
            for x, y in self.batches:
                targets.append(y)
                yield x

        outputs = predict_minibatches(self._net, inputs(), samples=self._held.samples)
        y = torch.cat(targets).to(next(self._net.parameters()).device)
        if callable(self._held.score):
            found = checks.function("score", self._held.score, "score(predictions, y)")(outputs, y)
        else:
            words = "nll(predictions, y, reduction='mixture')"
            nll = checks.function("nll", self._nll, words)
            found = nll(outputs, as_columns(y, outputs), reduction="mixture")
        return _one_number(found)


def _takes_reduction(nll: Callable[..., Tensor]) -> bool:
    """Whether a loss may be called with a reduction, as far as it says."""
    try:
        parameters = inspect.signature(nll).parameters.values()
    except (TypeError, ValueError):  # no function, or one that does not say
        return True
    return any(p.name == "reduction" or p.kind is p.VAR_KEYWORD for p in parameters)


def _one_number(value: Any) -> float:
    with suppress(TypeError, ValueError):
        if getattr(value, "ndim", 0) == 0 and not isinstance(value, str):
            return float(value)
    raise TypeError(
        f"score must return one number, less being better, got {checks.given_array(value)}"
    )


#: The learning rate where none is given.
LR = 1e-3


def fit(
    net: nn.Module,
    x: Inputs | Iterable[Any],
    y: Tensor | None = None,
    nll: Callable[..., Tensor] | None = None,
    *,
    epochs: int,
    batch_size: int | None = None,
    num_examples: int | None = None,
    lr: float = LR,
    fast_lr_factor: float = 1.0,
    member_gradient_factor: float | None = None,
    weight_decay: float = 0.0,
    optimizer: Callable[..., Optimizer] | Optimizer = torch.optim.AdamW,
    scheduler: Callable[[Optimizer], LRScheduler] | None = None,
    autocast: torch.dtype | None = None,
    kl: KLWeight = KLWeight(),
    split: bool = False,
    adversarial: float = 0.0,
    validation: tuple[Any, Tensor] | Validation | None = None,
    checkpoint: str | PathLike[str] | SaveTo | None = None,
    callback: Callable[[EpochRow], Any] | None = None,
    seed: int = 0,
    bar: bool | None = None,
) -> list[EpochRow]:
    """Train a network of any method: minimize ``nll + beta · kl / N`` over minibatches.

    Parameters
    ----------
    net
        A layer, `mlp`, what `ensemble` returns, or any module, on one device. It trains in training
        mode, validation runs it in eval mode; then each module is in its own again.
    x, y
        N examples, which are shuffled, and their targets, on any device; a minibatch goes to that
        of the net. `x` is a tensor, a tuple of arguments of the net, or a dict of named ones, `y` a
        tensor; targets (N,) are (N, 1) where outputs are (M, B, 1).
        Without `y`, `x` gives minibatches (x, y): a ``DataLoader``, or anything that can be
        iterated again. They come as they are; what they draw from Torch's generator follows `seed`.
    nll
        A function (outputs, targets) -> the mean over members and examples, such as
        `ensedu.torch.losses.softmax_cross_entropy`.
    epochs, batch_size
        Times through all examples, and how many of them a step takes, N at most: by default 32, or
        all where they are fewer. A ``DataLoader`` has its own.
    num_examples
        N where minibatches are given, by which the KL is divided; by default the length of their
        ``dataset``, which a sampler may go through in part or more than once.
    lr
        The learning rate.
    fast_lr_factor
        The fast weights r and s learn at `lr` times this.
    weight_decay
        How much weight matrices and kernels decay; never fast weights, biases and what has a
        distribution, see `parameter_groups`.
    member_gradient_factor
        Multiplies the gradients of parameters that belong to one member, which the mean over
        members divides by M. M undoes that: each member learns as if alone, whatever the optimizer,
        its momentum and its decay. With Adam it hardly matters, with SGD a member otherwise learns
        at ``lr / M``. None is 1, and SGD then gives a warning.
    optimizer
        Called as ``optimizer(groups, lr=lr)``; or an optimizer of the net's parameters, whose own
        rates and decay count.
    scheduler
        Called as ``scheduler(optimizer)``, returns one of `torch.optim.lr_scheduler`, which makes a
        step after each step of the optimizer, and not after each epoch.
    autocast
        ``torch.bfloat16`` to compute the loss of training under `torch.autocast`.
    kl
        How much the KL weighs, and from when.
    split
        Whether each member sees its own part of a minibatch, B / M examples, as Wen et al. 2020
        train; by default each sees all of it. What M does not divide is left out.
    adversarial
        Above 0, every step learns from its examples twice: as they are, and moved by so much of
        each input's range in `x`, one tensor, to where the NLL rises, by each member its own
        (Lakshminarayanan et al. 2017, sec. 2.3, with 0.01). The rows hold means over both.
    validation
        Examples and targets on which `nll` is evaluated after each epoch, in minibatches and
        with one draw of what draws, or a `Validation`, which may stop early.
    checkpoint
        A folder to save to after each epoch, or a `SaveTo`; see `ensedu.torch.train.checkpoints`.
        If it has a checkpoint already, training goes on from there, on a CPU to the same bits as if
        it had not been stopped. Data, settings and the names of `nll` and `scheduler` must be the
        same; priors, what functions do, and the data of a ``DataLoader`` are not compared. What a
        ``DataLoader`` draws must follow from Torch's generator or its own ``generator``. The best
        epoch is in the folder ``best`` inside: after one with `patience`, `load` the newest there.
    callback
        Called with a copy of each row after its epoch: here a logger hangs. Where `SaveTo` saves
        less often, a training that goes on comes to some rows again.
    seed
        Of shuffling and noise, on a CPU and on CUDA; Torch's own generators, which draw them, get
        their former state back in the end.
    bar
        Whether to show progress; by default where standard error is a terminal.

    Returns
    -------
    list of dict
        A row an epoch: ``epoch``, ``step``, the means over its examples of ``loss``, ``nll`` and
        ``kl`` in nats, ``beta``, and ``validation`` where there is some.

    Raises
    ------
    TypeError, ValueError
        For a bad argument, data that are not finite, and a checkpoint of another training.
    FloatingPointError
        At a loss, score or parameter that is not finite, naming the step; checkpoints are from
        before.

    Examples
    --------
    >>> import torch
    >>> from ensedu.torch import fit, mlp
    >>> from ensedu.torch.losses import half_squared_error
    >>> x = torch.linspace(-1, 1, 60)[:, None]
    >>> history = fit(mlp([1, 20, 1], "rank1", 4), x, x**2, half_squared_error, epochs=3)
    >>> [row["step"] for row in history]
    [2, 4, 6]
    """
    if nll is None and callable(y):
        raise TypeError(
            "nll must be named where x gives minibatches, fit(net, x, nll=...), got it as y"
        )
    if not callable(nll):
        raise TypeError(
            f"nll must be a function, called as nll(net(x), y), got {checks.given(nll)}"
        )
    report = None if callback is None else checks.function("callback", callback, "callback(row)")
    device, kl = check_net(net), as_kl_weight(kl)
    held, saving = as_validation(validation), as_saving(checkpoint)
    checks.boolean("split", split)
    members = number_of_members(net, "split must be False") if split else None
    data = Batches("", net, x, y, batch_size=batch_size, shuffle=True, members=members)
    N = _examples_of_kl(net, data, num_examples)
    if kl.anneal and not data.steps:
        raise ValueError(
            f"x must have a length for a KL that grows over epochs, got {checks.given(x)}; "
            "accepted is also KLWeight(beta) alone"
        )
    validator = None if held is None else Validator(net, nll, held, data.batch_size)
    adversary = Adversary(net, nll, x, adversarial, members)
    precision = _precision(autocast)
    seed = checks.natural_int("seed", seed)
    if seed >= 2**64:
        raise ValueError(f"seed must be below 2**64, got {checks.given(seed)}")
    with (
        seeded(seed, net) as generators, in_mode(net, training=True),
        batches_of_members(net, bool(members or adversary.members)),
    ):  # fmt: skip
        optim = _optimizer(net, optimizer, lr, fast_lr_factor, weight_decay)
        schedule = _schedule(optim, scheduler)
        factor = _member_factor(net, optim, member_gradient_factor)
        member_parameters = of_members(net) if factor != 1 else []
        settings = {} if saving is None else {
            "num_examples": N, "batch_size": data.batch_size, "split": members, "lr": float(lr),
            "fast_lr_factor": float(fast_lr_factor), "weight_decay": float(weight_decay),
            "member_gradient_factor": factor, "beta": kl.beta, "anneal": kl.anneal,
            "adversarial": adversary.part, "autocast": str(autocast), "seed": seed,
            "score": held.score_name if held else None, "samples": held.samples if held else None,
            "nll": function_name(nll),
            "scheduler": None if schedule is None else function_name(scheduler),
            "optimizer": type(optim).__qualname__, "optimizer's settings": settings_of(optim),
            "data": hash_of(*data.tensors, *(validator.batches.tensors if validator else ())),
        }  # fmt: skip
        generators |= data.generators | (validator.batches.generators if validator else {})
        keeper = Keeper(net, optim, schedule, generators, settings, saving)
        history = History(epochs, kl, held.patience if held else None, keeper.resume())
        with _progress(epochs, len(history.rows), bar) as progress:
            while not history.over:
                for inputs, targets in data:
                    inputs, targets = to_device(inputs, device), targets.to(device)
                    examples = targets.shape[: 1 + split].numel()  # before an adversary adds some
                    beta = kl.at(history.step, data.steps)
                    with precision(device.type):
                        if adversary.part:
                            inputs, targets = adversary(inputs, targets)
                        bound = elbo(net, inputs, targets, nll, num_examples=N, beta=beta)
                    history.add(bound.numbers(), examples)
                    optim.zero_grad()
                    bound.loss.backward()
                    for parameter in member_parameters:
                        if parameter.grad is not None:
                            parameter.grad *= factor
                    optim.step()
                    if schedule is not None:
                        schedule.step()
                for name, parameter in net.named_parameters():
                    if not parameter.isfinite().all():
                        history.fail(f"{name} is not finite")
                history.end_epoch(beta, validator.score() if validator else None)
                keeper.keep(history)
                progress.update()
                if report is not None:
                    report(dict(history.rows[-1]))
        if held is not None and held.patience is not None:
            keeper.restore(history)
    return history.rows


def _examples_of_kl(net: nn.Module, data: Batches, given: int | None) -> int:
    """Return N, by which the KL is divided; 1 where nobody says it and there is no KL."""
    if given is not None:
        checks.positive_int("num_examples", given)
        if data.tensors:
            raise ValueError(
                f"num_examples must be None for tensors, whose number is known, got {given}"
            )
    found = given or data.num_examples
    if found is None and layers_with_kl(net):
        raise ValueError(
            "num_examples must be given for a net with distributions, whose KL belongs to all "
            "examples, got None, and no dataset of x that has a length"
        )
    return found or 1


def _optimizer(
    net: nn.Module, optimizer: Any, lr: Any, fast_lr_factor: float, weight_decay: float
) -> Optimizer:
    if isinstance(optimizer, Optimizer):
        if lr != LR or fast_lr_factor != 1 or weight_decay:
            raise ValueError(
                "lr, fast_lr_factor and weight_decay must be left out beside an optimizer that has "
                f"its own, got {lr}, {fast_lr_factor} and {weight_decay}"
            )
        theirs = {id(p) for group in optimizer.param_groups for p in group["params"]}
        if not theirs <= {id(p) for p in net.parameters()}:
            raise ValueError("optimizer must have parameters of net alone, got some of another")
        return optimizer
    lr = checks.real("lr", lr, low=0.0)
    factor = checks.real("fast_lr_factor", fast_lr_factor, low=0.0)
    groups = parameter_groups(net, weight_decay=weight_decay, fast_lr=factor * lr)
    made = checks.function("optimizer", optimizer, "optimizer(groups, lr=lr)")(groups, lr=lr)
    if not isinstance(made, Optimizer):
        raise TypeError(f"optimizer must return a torch.optim.Optimizer, got {checks.given(made)}")
    return made


def _schedule(optimizer: Optimizer, scheduler: Any) -> LRScheduler | None:
    if scheduler is None:
        return None
    made = checks.function("scheduler", scheduler, "scheduler(optimizer)")(optimizer)
    if not isinstance(made, LRScheduler) or isinstance(made, ReduceLROnPlateau):
        raise TypeError(
            "scheduler must return a torch.optim.lr_scheduler.LRScheduler whose step() needs no "
            f"metric, got {checks.given(made)}"
        )
    return made


def _member_factor(net: nn.Module, optimizer: Optimizer, given: Any) -> float:
    if given is not None:
        return checks.real("member_gradient_factor", given, low=0.0)
    if isinstance(optimizer, torch.optim.SGD) and of_members(net):
        warnings.warn(
            "with SGD and the mean over M members, what belongs to one member learns at lr / M: "
            "member_gradient_factor=M lets each learn as if alone, and 1 is as it is now",
            stacklevel=3,
        )
    return 1.0


def _precision(autocast: Any) -> Callable[[str], Any]:
    """Return what makes the context of a loss on a kind of device."""
    if autocast is None:
        return nullcontext
    if not isinstance(autocast, torch.dtype):
        raise TypeError(f"autocast must be torch.bfloat16 or None, got {checks.given(autocast)}")
    if autocast != torch.bfloat16:
        why = ", which needs a gradient scaler" if autocast == torch.float16 else ""
        raise ValueError(f"autocast must be torch.bfloat16 or None, got {autocast}{why}")
    return partial(torch.autocast, dtype=torch.bfloat16)


def _progress(epochs: int, done: int, bar: bool | None) -> Any:
    """Return a bar, by default shown where standard error is a terminal."""
    from tqdm import tqdm  # which a loop of one's own does not need

    disable = None if bar is None else not checks.boolean("bar", bar)
    return tqdm(total=epochs, initial=done, disable=disable, unit="epoch")
