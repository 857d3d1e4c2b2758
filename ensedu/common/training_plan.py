"""The settings of a training, and what its steps weigh; for both backends."""

from dataclasses import dataclass

from ensedu.common import checks

__all__ = ["Plan", "minibatch_kl_weights"]


@dataclass(kw_only=True)
class Plan:
    """The settings of a training, which that of a checkpoint must share."""

    #: N; None for a stream of which nobody says it, where there is no KL.
    num_examples: int | None
    #: None for a stream, which comes in minibatches of its own.
    batch_size: int | None
    drop_last: bool = False
    #: M where each has its own part of a minibatch.
    split: int | None = None
    #: How many minibatches an epoch has, None for a stream of which nobody says it.
    steps: int | None = None
    lr: float = 1e-3
    fast_lr_factor: float = 1.0
    weight_decay: float = 0.0
    beta: float = 1.0
    anneal: int = 0
    #: How the minibatches share the KL.
    kl_weights: str = "uniform"
    #: In parts of each input's range.
    adversarial: float = 0.0
    #: The largest norm of a gradient.
    clip: float | None = None
    #: A dtype, by its name.
    autocast: str = ""
    #: What the validation is judged by, "" without one, and how many samples that takes.
    score: str = ""
    samples: int = 1
    seed: int = 0
    #: Names of functions, and a fingerprint of the data, for checkpoints alone.
    nll: str = ""
    scheduler: str = ""
    data: str = ""

    def __post_init__(self) -> None:
        # Plain numbers, which a checkpoint can hold, from any that are given.
        checks.boolean("drop_last", self.drop_last)
        if self.batch_size is not None and self.num_examples is not None:
            self.batch_size = checks.positive_int("batch_size", self.batch_size)
            self.steps = self._minibatches(self.batch_size, self.num_examples)
        self.lr = checks.real("lr", self.lr, low=0.0)
        self.fast_lr_factor = checks.real("fast_lr_factor", self.fast_lr_factor, low=0.0)
        self.weight_decay = checks.not_negative("weight_decay", self.weight_decay)
        self.adversarial = checks.not_negative("adversarial", self.adversarial)
        if self.clip is not None:
            self.clip = checks.real("clip", self.clip, low=0.0)
        self.seed = checks.natural_int("seed", self.seed)
        if self.seed >= 2**64:
            raise ValueError(f"seed must be below 2**64, got {checks.given(self.seed)}")

    @property
    def fast_lr(self) -> float:
        """The learning rate of fast weights."""
        return self.lr * self.fast_lr_factor

    def kl_weight(self, step: int) -> float:
        """Return what the KL weighs at a step, counted from 0."""
        ramp = self.anneal * (self.steps or 0)
        return self.beta * min(1.0, (step + 1) / ramp if ramp else 1.0)

    def kl_share(self, step: int) -> float:
        """Return what the KL of a step's minibatch is times, 1 on average over an epoch."""
        if self.kl_weights == "uniform" or self.steps is None:
            return 1.0
        weights = minibatch_kl_weights(self.steps, self.kl_weights)
        return self.steps * weights[step % self.steps]

    def _minibatches(self, size: int, examples: int) -> int:
        """Return how many minibatches of so many examples an epoch has."""
        if size > examples:
            raise ValueError(
                f"batch_size must be at most the number of examples, {examples}, got {size}"
            )
        if self.split is not None and size % self.split:
            raise ValueError(
                f"batch_size must be a multiple of the {self.split} members that split it, "
                f"got {size}"
            )
        full, rest = divmod(examples, size)
        return full + (not self.drop_last and rest >= (self.split or 1))


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
