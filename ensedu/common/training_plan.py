"""The settings of a training, and what its steps weigh; for both backends."""

from dataclasses import dataclass

from ensedu.common import checks

__all__ = ["Plan", "minibatch_kl_weights"]


@dataclass
class Plan:
    """The settings of a training, which that of a checkpoint must share."""

    num_examples: int
    batch_size: int
    lr: float
    fast_lr_factor: float
    weight_decay: float
    beta: float
    anneal: int
    #: M where each has its own part of a minibatch.
    split: int | None
    validated: bool
    seed: int
    #: In parts of each input's range.
    adversarial: float = 0.0
    #: The name of the loss, and a fingerprint of the data, for checkpoints alone.
    nll: str = ""
    data: str = ""
    #: How the minibatches share the KL.
    kl_weights: str = "uniform"

    def __post_init__(self) -> None:
        # Plain numbers, which a checkpoint can hold, from any that are given.
        self.batch_size = checks.positive_int("batch_size", self.batch_size)
        if self.batch_size > self.num_examples:
            raise ValueError(
                f"batch_size must be at most the number of examples, {self.num_examples}, "
                f"got {self.batch_size}"
            )
        if self.split is not None and self.batch_size % self.split:
            raise ValueError(
                f"batch_size must be a multiple of the {self.split} members that split it, "
                f"got {self.batch_size}"
            )
        self.lr = checks.real("lr", self.lr, low=0.0)
        self.fast_lr_factor = checks.real("fast_lr_factor", self.fast_lr_factor, low=0.0)
        self.weight_decay = checks.not_negative("weight_decay", self.weight_decay)
        self.beta = checks.not_negative("beta", self.beta)
        self.anneal = checks.natural_int("anneal", self.anneal)
        self.adversarial = checks.not_negative("adversarial", self.adversarial)
        checks.one_of("kl_weights", self.kl_weights, ("uniform", "geometric"))
        self.seed = checks.natural_int("seed", self.seed)
        if self.seed >= 2**64:
            raise ValueError(f"seed must be below 2**64, got {checks.given(self.seed)}")

    @property
    def fast_lr(self) -> float:
        """The learning rate of fast weights."""
        return self.lr * self.fast_lr_factor

    def kl_weight(self, step: int) -> float:
        """Return what the KL weighs at a step, counted from 0."""
        ramp = self.anneal * self._steps
        return self.beta * min(1.0, (step + 1) / ramp if ramp else 1.0)

    def kl_share(self, step: int) -> float:
        """Return what the KL of a step's minibatch is times, 1 on average over an epoch."""
        if self.kl_weights == "uniform":
            return 1.0
        steps = self._steps
        return steps * minibatch_kl_weights(steps, self.kl_weights)[step % steps]

    @property
    def _steps(self) -> int:
        """How many minibatches an epoch has."""
        full, rest = divmod(self.num_examples, self.batch_size)
        return full + (rest >= (self.split or 1))


def minibatch_kl_weights(number: int, kind: str = "uniform") -> list[float]:
    """Return which part of the KL each of the minibatches of an epoch bears; they sum to 1.

    Parameters
    ----------
    number
        S, how many minibatches there are.
    kind
        ``"uniform"``: 1/S each. ``"geometric"``: 2^(S - i) / (2^S - 1) for the i-th, from 1: the
        prior speaks first and the data after it (Blundell et al. 2015, sec. 3.4).

    Raises
    ------
    TypeError, ValueError
        For another number or kind.
    """
    number = checks.positive_int("number", number)
    if checks.one_of("kind", kind, ("uniform", "geometric")) == "uniform":
        return [1 / number] * number
    # 2^S does not fit a float from S = 1,024 on; 2^-i does, and is 0 where it does not.
    return [2.0**-i / (1 - 2.0**-number) for i in range(1, number + 1)]
