"""A training loop to be read in a minute: who needs more writes one, or uses Lightning."""

from collections.abc import Callable, Iterable, Iterator
from os import PathLike
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_
from torch.optim.lr_scheduler import LRScheduler

from ensedu.common import checks
from ensedu.common.history import EpochRow, History
from ensedu.common.training_checks import function_name
from ensedu.common.training_plan import Plan
from ensedu.common.training_settings import (
    KLWeight,
    SaveTo,
    Validation,
    as_kl_weight,
    as_saving,
    as_validation,
)
from ensedu.torch.train.adversarial import input_reach, with_adversarial
from ensedu.torch.train.batch_of_one import naming_a_batch_of_one
from ensedu.torch.train.examples import (
    check_net,
    fingerprint,
    has_members,
    number_of_members,
)
from ensedu.torch.train.keeping import FolderKeeper
from ensedu.torch.train.losses import elbo
from ensedu.torch.train.modes import (
    autocast_name,
    batches_of_members,
    in_mode,
    in_precision,
    seeded,
)
from ensedu.torch.train.parameter_groups import parameter_groups
from ensedu.torch.train.schedules import Schedule
from ensedu.torch.train.sources import source_of
from ensedu.torch.train.validating import Validator
from ensedu.torch.whole.inputs import Inputs, to_device

__all__ = ["fit"]


def fit(
    net: nn.Module,
    x: Inputs | Iterable[Any],
    y: Tensor | None = None,
    nll: Callable[..., Tensor] | None = None,
    *,
    epochs: int,
    batch_size: int | None = None,
    drop_last: bool = False,
    num_examples: int | None = None,
    lr: float = 1e-3,
    fast_lr_factor: float = 1.0,
    weight_decay: float = 0.0,
    optimizer: Callable[..., torch.optim.Optimizer] = torch.optim.AdamW,
    scheduler: Callable[[torch.optim.Optimizer], LRScheduler] | None = None,
    clip: float | None = None,
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
        Without `y`, `x` is a stream of minibatches (x, y): a ``DataLoader``, or anything that can
        be iterated again. It comes as it is, in its own order and size; what it draws from Torch's
        generator follows `seed`.
    nll
        A function (outputs, targets) -> the mean over members and examples, such as
        `ensedu.torch.train.losses.softmax_cross_entropy`. The mean divides each member's own
        gradient by M: Adam does not notice, and for SGD multiply `fast_lr_factor` by M.
    epochs, batch_size, drop_last
        Times through all examples, how many of them a step takes, 32 by default and N at most, and
        whether a last minibatch with fewer is left out. A stream has its own.
    num_examples
        N of a stream, by which the KL is divided; by default the length of its ``dataset``, which a
        sampler may go through in part or more than once.
    lr, fast_lr_factor, weight_decay
        Learning rate, what it is times for fast weights r and s, and the decay of weights, see
        `parameter_groups`; never of fast weights and distributions.
    optimizer
        Called as ``optimizer(groups, lr=lr)``.
    scheduler
        Called as ``scheduler(optimizer)``, returns one of `torch.optim.lr_scheduler`, which makes a
        step after each step of the optimizer, and not after each epoch.
    clip
        The largest norm of the gradient of all parameters, of all members together.
    autocast
        ``torch.bfloat16`` to compute the loss under `torch.autocast`. Validation is as without.
    kl
        How much the KL weighs, and from when.
    split
        Whether each member sees its own part of a minibatch, B / M examples, as Wen et al. 2020
        train; by default each sees all of it. What M does not divide is left out of an epoch, of a
        stream only at its end.
    adversarial
        Above 0, every step learns from its examples twice: as they are, and moved by so much of
        each input's range in `x`, one tensor, to where the NLL rises, by each member its own
        (Lakshminarayanan et al. 2017, sec. 2.3, with 0.01). The rows hold means over both.
    validation
        Examples and targets on which `nll` is evaluated after each epoch, in minibatches (of 32
        beside a stream) and with one draw of what draws, or a `Validation`, which may stop early.
    checkpoint
        A folder to save to after each epoch, see `ensedu.torch.train.checkpoints`, or a `SaveTo`,
        and to go on from: on a CPU to the same bits as if nothing had happened. Data, settings and
        the names of `nll` and `scheduler` must be the same; priors, and what functions do, are not
        compared. The data of a stream are not compared either, and it goes on to the same bits
        where its order and content follow from Torch's generator or its own ``generator``; what its
        workers or dataset draw elsewhere does not. The weights of the best epoch are in the folder
        ``best`` inside: `load` its `newest` after one with `patience`.
    callback
        Called with a copy of each row, once its epoch is saved: here a logger hangs. A training
        that goes on calls it for new rows alone.
    seed
        Of shuffling and noise, on a CPU and on CUDA; Torch's own generators, which draw them, are
        as they were when this returns.
    bar
        Whether to show progress; by default where standard error is a terminal.

    Returns
    -------
    list of dict
        A row an epoch: ``epoch``, ``step``, the means over its minibatches of ``loss``, ``nll`` and
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
    >>> from ensedu.torch.train.losses import half_squared_error
    >>> x = torch.linspace(-1, 1, 60)[:, None]
    >>> history = fit(mlp([1, 20, 1], "rank1", 4), x, x**2, half_squared_error, epochs=3)
    >>> [row["step"] for row in history]
    [2, 4, 6]
    """
    device = check_net(net)
    optimizer = checks.function("optimizer", optimizer, "optimizer(groups, lr=lr)")
    if nll is None and callable(y):
        raise TypeError(
            "nll must be named where x is a stream, fit(net, x, nll=...), got it in place of y"
        )
    if not callable(nll):
        raise TypeError(
            f"nll must be a function, called as nll(net(x), y), got {checks.given(nll)}"
        )
    report = None if callback is None else checks.function("callback", callback, "callback(row)")
    kl, held, saving = as_kl_weight(kl), as_validation(validation), as_saving(checkpoint)
    members = number_of_members(net) if checks.boolean("split", split) else None
    source = source_of(
        net, x, y, batch_size=batch_size, drop_last=drop_last, num_examples=num_examples,
        counted=kl.counts_steps,
    )  # fmt: skip
    plan = Plan(
        num_examples=source.num_examples, batch_size=source.batch_size, steps=source.length,
        drop_last=drop_last, split=members, lr=lr, fast_lr_factor=fast_lr_factor,
        weight_decay=weight_decay, beta=kl.beta, anneal=kl.anneal, kl_weights=kl.minibatches,
        adversarial=adversarial, clip=clip, autocast=autocast_name(autocast), seed=seed,
        score=held.score_name if held else "", samples=held.samples if held else 1,
    )  # fmt: skip
    validator = Validator(net, nll, held, plan.batch_size or 32) if held else None
    own, far = members, torch.empty(0)
    if plan.adversarial:
        far = input_reach(x, plan.adversarial).to(device)
        own = number_of_members(net) if has_members(net) else None
    if saving is not None:
        plan.nll, plan.scheduler = function_name(nll), function_name(scheduler) if scheduler else ""
        plan.data = fingerprint(*source.tensors, *(validator.tensors if validator else ()))
    with (
        seeded(net, plan.seed) as generators, batches_of_members(net, own is not None),
        in_mode(net, training=True), naming_a_batch_of_one(net, plan),
    ):  # fmt: skip
        groups = parameter_groups(net, weight_decay=plan.weight_decay, fast_lr=plan.fast_lr)
        optim = optimizer(groups, lr=plan.lr)
        keeper = FolderKeeper(net, optim, generators | source.generators, plan, saving)
        schedule = Schedule(optim, scheduler)
        history = History(plan, keeper, epochs, held.patience if held else None)
        schedule.go_on(history.step, new_lr=saving is not None and saving.new_lr)
        for _ in _epochs_with_progress(history, epochs, bar):
            for inputs, targets in source.minibatches(members):
                inputs, targets = to_device(inputs, device), targets.to(device)
                examples = len(targets.flatten(0, int(split)))
                kl_weight = plan.kl_weight(history.step)
                share = kl_weight * plan.kl_share(history.step)
                with in_precision(device, autocast):
                    if plan.adversarial:
                        inputs, targets = with_adversarial(
                            net, inputs, targets, nll, far, own, split
                        )
                    loss = elbo(
                        net, inputs, targets, nll, num_examples=plan.num_examples or 1, beta=share
                    )
                history.add(loss.numbers(), kl_weight, examples)
                optim.zero_grad()
                loss.loss.backward()
                if plan.clip is not None:
                    clip_grad_norm_(net.parameters(), plan.clip)
                optim.step()
                schedule.step()
            if validator is not None:
                history.validate(validator.score())
            history.end_epoch()
            if report is not None:
                report(dict(history.rows[-1]))
    return history.rows


def _epochs_with_progress(history: History, epochs: int, bar: bool | None) -> Iterator[None]:
    """Yield the epochs of a training; show them, by default where standard error is a terminal."""
    from tqdm import tqdm  # no need of those who write their own loop

    disable = None if bar is None else not checks.boolean("bar", bar)
    done = len(history.rows)
    yield from tqdm(history.epochs(), total=epochs, initial=done, disable=disable, unit="epoch")
