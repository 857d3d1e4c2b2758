"""A training loop to be read in a minute: who needs more writes one, or uses Lightning."""

from collections.abc import Callable, Iterator
from functools import partial
from os import PathLike
from typing import Any

import torch
from torch import Tensor, nn

from ensedu.common import checks
from ensedu.common.history import EpochRow, History
from ensedu.common.training_plan import Plan
from ensedu.torch.train.adversarial import input_reach, with_adversarial
from ensedu.torch.train.batch_of_one import naming_a_batch_of_one
from ensedu.torch.train.examples import (
    check_training,
    fingerprint,
    has_members,
    minibatches,
    number_of_members,
)
from ensedu.torch.train.folder_keeper import FolderKeeper
from ensedu.torch.train.losses import elbo
from ensedu.torch.train.modes import batches_of_members, in_mode, seeded
from ensedu.torch.train.parameter_groups import parameter_groups
from ensedu.torch.train.predicting import mean_nll

__all__ = ["fit"]


def fit(
    net: nn.Module,
    x: Tensor,
    y: Tensor,
    nll: Callable[[Any, Tensor], Tensor],
    *,
    epochs: int,
    batch_size: int = 32,
    lr: float = 1e-3,
    fast_lr_factor: float = 1.0,
    weight_decay: float = 0.0,
    beta: float = 1.0,
    anneal: int = 0,
    kl_weights: str = "uniform",
    split: bool = False,
    adversarial: float = 0.0,
    validation: tuple[Tensor, Tensor] | None = None,
    patience: int | None = None,
    checkpoint: str | PathLike[str] | None = None,
    checkpoint_every: int = 1,
    seed: int = 0,
    optimizer: Callable[..., torch.optim.Optimizer] = torch.optim.AdamW,
    bar: bool | None = None,
) -> list[EpochRow]:
    """Train a network of any method: minimize ``nll + beta · kl / N`` over shuffled minibatches.

    Parameters
    ----------
    net
        A layer, `mlp`, what `ensemble` returns, or any module, on one device. It trains in training
        mode, validation runs it in eval mode; then each module is in its own again.
    x, y
        N examples and their targets, tensors on any device; a minibatch goes to that of the net.
        Targets (N,) are (N, 1) where outputs are (M, B, 1).
    nll
        A function (outputs, targets) -> the mean over members and examples, such as
        `ensedu.torch.train.losses.softmax_cross_entropy`. The mean divides each member's own
        gradient by M: Adam does not notice, and for SGD multiply `fast_lr_factor` by M.
    epochs, batch_size
        Times through all examples, and how many of them a step takes, N at most.
    lr, fast_lr_factor
        Learning rate, and what it is times for fast weights r and s.
    weight_decay
        Of the weights, see `parameter_groups`; never of fast weights and distributions.
    beta, anneal
        Weight of the KL, and over how many epochs it grows to that, linearly step by step
        (Dusenberry et al. 2020, sec. 4). Without distributions the KL is 0.
    kl_weights
        How the minibatches share the KL, ``"uniform"`` or ``"geometric"``, see
        `ensedu.common.training_plan.minibatch_kl_weights`.
    split
        Whether each member sees its own part of a minibatch, B / M examples, as Wen et al. 2020
        train; by default each sees all of it. What M does not divide is left out of an epoch.
    adversarial
        Above 0, every step learns from its examples twice: as they are, and moved by so much of
        each input's range in `x` to where the NLL rises, by each member its own (Lakshminarayanan
        et al. 2017, sec. 2.3, with 0.01). The rows hold means over both.
    validation, patience
        Examples and targets on which `nll` is evaluated after each epoch, in minibatches and with
        one draw of what draws, and after how many epochs without a new best to stop. With
        `patience` the net ends with the weights of its best epoch, one for all members, of those
        that ended with the whole `beta`.
    checkpoint, checkpoint_every
        A folder to save to after so many epochs, see `ensedu.torch.train.checkpoints`, and to go on
        from: on a CPU to the same bits as if nothing had happened. Data, settings and the name of
        `nll` must be the same; priors, and what `nll` does, are not compared. The weights of the
        best epoch are in the folder ``best`` inside: load those after one with `patience`.
    seed
        Of shuffling and noise, on a CPU and on CUDA; Torch's own generators, which draw them, are
        as they were when this returns.
    optimizer
        Called as ``optimizer(groups, lr=lr)``.
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
        At a loss or a parameter that is not finite, naming the step; checkpoints are from before.

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
    device = check_training(net, x, y, validation)
    optimizer = checks.function("optimizer", optimizer, "optimizer(groups, lr=lr)")
    members = number_of_members(net) if checks.boolean("split", split) else None
    plan = Plan(
        len(x), batch_size, lr, fast_lr_factor, weight_decay, beta, anneal, members,
        validation is not None, seed, adversarial, kl_weights=kl_weights,
    )  # fmt: skip
    own, far = members, torch.empty(0)
    if plan.adversarial:
        far = input_reach(x, plan.adversarial).to(device)
        own = number_of_members(net) if has_members(net) else None
    if checkpoint is not None:
        plan.nll, plan.data = _loss_name(nll), fingerprint(x, y, *(validation or ()))
    with (
        seeded(net, plan.seed) as generators, batches_of_members(net, own is not None),
        in_mode(net, training=True), naming_a_batch_of_one(net, plan),
    ):  # fmt: skip
        groups = parameter_groups(net, weight_decay=plan.weight_decay, fast_lr=plan.fast_lr)
        optim = optimizer(groups, lr=plan.lr)
        keeper = FolderKeeper(net, optim, generators, plan, checkpoint, checkpoint_every)
        history = History(plan, keeper, epochs, patience)
        for _ in _epochs_with_progress(history, epochs, bar):
            for inputs, targets in minibatches(x, y, plan.batch_size, members):
                inputs, targets = inputs.to(device), targets.to(device)
                examples = len(targets.flatten(0, int(split)))
                if plan.adversarial:
                    inputs, targets = with_adversarial(net, inputs, targets, nll, far, own, split)
                kl_weight = plan.kl_weight(history.step)
                share = kl_weight * plan.kl_share(history.step)
                loss = elbo(net, inputs, targets, nll, num_examples=len(x), beta=share)
                history.add(loss.numbers(), kl_weight, examples)
                optim.zero_grad()
                loss.loss.backward()
                optim.step()
            if validation is not None:
                history.validate(mean_nll(net, *validation, nll, batch_size=plan.batch_size))
            history.end_epoch()
    return history.rows


def _epochs_with_progress(history: History, epochs: int, bar: bool | None) -> Iterator[None]:
    """Yield the epochs of a training; show them, by default where standard error is a terminal."""
    from tqdm import tqdm  # no need of those who write their own loop

    disable = None if bar is None else not checks.boolean("bar", bar)
    done = len(history.rows)
    yield from tqdm(history.epochs(), total=epochs, initial=done, disable=disable, unit="epoch")


def _loss_name(nll: Any) -> str:
    """Return what a loss is called, with the arguments that `functools.partial` has given it."""
    if isinstance(nll, partial):
        given = [*map(repr, nll.args), *(f"{key}={value!r}" for key, value in nll.keywords.items())]
        return f"{_loss_name(nll.func)}({', '.join(given)})"
    return getattr(nll, "__qualname__", type(nll).__qualname__)
