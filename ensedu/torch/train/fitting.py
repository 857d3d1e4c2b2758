"""A training loop: who needs more writes one, or uses Lightning."""

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from functools import partial
from os import PathLike
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from ensedu.common import checks
from ensedu.common.training_loop import EpochRow, History
from ensedu.common.training_settings import (
    KLWeight,
    SaveTo,
    Validation,
    as_kl_weight,
    as_save_to,
    as_validation,
    function_name,
)
from ensedu.torch.base import seeded
from ensedu.torch.inputs import Inputs, to_device
from ensedu.torch.losses import negative_elbo
from ensedu.torch.network import layers_with_kl, number_of_members, parameters_of_members
from ensedu.torch.train.adversary import Adversary
from ensedu.torch.train.batches import Minibatches, check_net, hash_tensors
from ensedu.torch.train.checkpoints import settings_of
from ensedu.torch.train.fit_checkpointer import Checkpointer
from ensedu.torch.train.modes import batches_of_members, in_mode
from ensedu.torch.train.optimizing import LR, build_optimizer, build_scheduler, member_factor
from ensedu.torch.train.validating import Validator


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
        The fast weights r and s learn at `lr` times this; 1 where a net has none.
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
            f"nll must be a function, called as nll(net(x), y), got {checks.describe(nll)}"
        )
    report = None if callback is None else checks.function("callback", callback, "callback(row)")
    device, kl = check_net(net), as_kl_weight(kl)
    held, saving = as_validation(validation), as_save_to(checkpoint)
    checks.boolean("split", split)
    members = number_of_members(net, "split must be False") if split else None
    data = Minibatches("", net, x, y, batch_size=batch_size, shuffle=True, members=members)
    N = _examples_of_kl(net, data, num_examples)
    if kl.anneal and not data.steps:
        raise ValueError(
            f"x must have a length for a KL that grows over epochs, got {checks.describe(x)}; "
            "accepted is also KLWeight(beta) alone"
        )
    validator = None if held is None else Validator(net, nll, held, data.batch_size)
    adversary = Adversary(net, nll, x, adversarial, members)
    precision = _precision(autocast)
    seed = checks.natural_int("seed", seed)
    if seed >= 2**64:
        raise ValueError(f"seed must be below 2**64, got {checks.describe(seed)}")
    with (
        seeded(seed, net) as generators, in_mode(net, training=True),
        batches_of_members(net, bool(members or adversary.members)),
    ):  # fmt: skip
        optim = build_optimizer(net, optimizer, lr, fast_lr_factor, weight_decay)
        schedule = build_scheduler(optim, scheduler)
        factor = member_factor(net, optim, member_gradient_factor)
        member_parameters = parameters_of_members(net) if factor != 1 else []
        settings = {} if saving is None else {
            "num_examples": N, "batch_size": data.batch_size, "split": members, "lr": float(lr),
            "fast_lr_factor": float(fast_lr_factor), "weight_decay": float(weight_decay),
            "member_gradient_factor": factor, "beta": kl.beta, "anneal": kl.anneal,
            "adversarial": adversary.part, "autocast": str(autocast), "seed": seed,
            "score": held.score_name if held else None, "samples": held.samples if held else None,
            "nll": function_name(nll),
            "scheduler": None if schedule is None else function_name(scheduler),
            "optimizer": type(optim).__qualname__, "optimizer's settings": settings_of(optim),
            "data": hash_tensors(*data.tensors, *(validator.batches.tensors if validator else ())),
        }  # fmt: skip
        generators |= data.generators | (validator.batches.generators if validator else {})
        checkpointer = Checkpointer(net, optim, schedule, generators, settings, saving)
        history = History(epochs, kl, held.patience if held else None, checkpointer.resume())
        with _progress(epochs, len(history.rows), bar) as progress:
            while not history.over:
                for inputs, targets in data:
                    inputs, targets = to_device(inputs, device), targets.to(device)
                    examples = targets.shape[: 1 + split].numel()  # before an adversary adds some
                    beta = kl.at(history.step, data.steps)
                    with precision(device.type):
                        if adversary.part:
                            inputs, targets = adversary(inputs, targets)
                        terms = negative_elbo(net, inputs, targets, nll, num_examples=N, beta=beta)
                    history.add(terms.numbers(), examples)
                    optim.zero_grad()
                    terms.loss.backward()
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
                checkpointer.save(history)
                progress.update()
                if report is not None:
                    report(dict(history.rows[-1]))
        if held is not None and held.patience is not None:
            checkpointer.restore(history)
    return history.rows


def _examples_of_kl(net: nn.Module, data: Minibatches, num_examples: int | None) -> int:
    """Return N, by which the KL is divided; 1 where nobody says it and there is no KL."""
    if num_examples is not None:
        checks.positive_int("num_examples", num_examples)
        if data.tensors:
            raise ValueError(
                f"num_examples must be None for tensors, whose number is known, got {num_examples}"
            )
    N = num_examples or data.num_examples
    if N is None and layers_with_kl(net):
        raise ValueError(
            "num_examples must be given for a net with distributions, whose KL belongs to all "
            "examples, got None, and no dataset of x that has a length"
        )
    return N or 1


def _precision(autocast: Any) -> Callable[[str], Any]:
    """Return what makes the context of a loss on a kind of device."""
    if autocast is None:
        return nullcontext
    if not isinstance(autocast, torch.dtype):
        raise TypeError(f"autocast must be torch.bfloat16 or None, got {checks.describe(autocast)}")
    if autocast != torch.bfloat16:
        why = ", which needs a gradient scaler" if autocast == torch.float16 else ""
        raise ValueError(f"autocast must be torch.bfloat16 or None, got {autocast}{why}")
    return partial(torch.autocast, dtype=torch.bfloat16)


def _progress(epochs: int, done: int, bar: bool | None) -> Any:
    """Return a bar, by default shown where standard error is a terminal."""
    from tqdm import tqdm  # which a loop of one's own does not need

    disable = None if bar is None else not checks.boolean("bar", bar)
    return tqdm(total=epochs, initial=done, disable=disable, unit="epoch")
