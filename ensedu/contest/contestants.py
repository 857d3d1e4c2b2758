"""Who takes part, and the six settings that each may choose from."""

from itertools import product

from ensedu.contest.jobs import LENGTH_FRACTIONS, Contestant, Setting
from ensedu.contest.trainers.baselines import boosting_rounds, train_boosting, train_linear
from ensedu.contest.trainers.mimo import train_mimo
from ensedu.contest.trainers.networks import train_network
from ensedu.contest.trainers.packages import train_ivon, train_laplace, train_tabm
from ensedu.contest.trainers.swag import train_swag

#: Who others are compared with.
REFERENCE = "single"
#: How many times the task's epochs one network with more compute may have.
LONGEST_FACTOR = 4.0

LEARNING_RATES = (0.003, 0.01, 0.03)


def setting_grid(
    name: str, values: tuple[float, ...], rates: tuple[float, ...] = LEARNING_RATES
) -> tuple[Setting, ...]:
    """Return a setting for each pair of a rate and a value of another thing."""
    return tuple({"lr": lr, name: value} for value, lr in product(values, rates))


DECAYS = setting_grid("weight_decay", (0.03, 0.5))
KL_WEIGHTS = setting_grid("kl_weight", (0.01, 0.1, 1.0), (0.005, 0.02))
PRECISIONS = setting_grid("precision", (1.0, 10.0), (0.1, 0.2, 0.4))
BOOSTING_PENALTIES = setting_grid("l2", (0.1, 10.0), (0.03, 0.1, 0.3))
LINEAR_PENALTIES = tuple({"penalty": 10.0**power} for power in range(-2, 4))


#: By key, in the order of tables and figures.
CONTESTANTS = {
    "single": Contestant(label="one network", train=train_network, settings=DECAYS),
    "wide": Contestant(
        label="one larger network", train=train_network, settings=DECAYS, width_scale=None
    ),
    "long": Contestant(
        label="one network, up to four times as long", train=train_network, settings=DECAYS,
        length_fractions=(*LENGTH_FRACTIONS, LONGEST_FACTOR),
    ),
    "deep_ensemble": Contestant(
        label="deep ensemble", train=train_network, settings=DECAYS, method="deep_ensemble"
    ),
    "batch_ensemble": Contestant(
        label="BatchEnsemble", train=train_network, settings=DECAYS, method="batch_ensemble"
    ),
    "rank1": Contestant(label="rank-1 BNN", train=train_network, settings=DECAYS, method="rank1"),
    "mean_field": Contestant(
        label="mean-field BNN", train=train_network, settings=KL_WEIGHTS, method="mean_field"
    ),
    "mc_dropout": Contestant(
        label="MC dropout", train=train_network, settings=DECAYS, method="mc_dropout"
    ),
    "last_layer": Contestant(
        label="last-layer ensemble", train=train_network, settings=DECAYS, method="last_layer"
    ),
    "swag": Contestant(label="SWAG", train=train_swag, settings=DECAYS),
    "laplace": Contestant(label="Laplace, last layer", train=train_laplace, settings=DECAYS),
    "ivon": Contestant(label="IVON", train=train_ivon, settings=PRECISIONS),
    "boosting": Contestant(
        label="gradient boosting", train=train_boosting, settings=BOOSTING_PENALTIES, method="",
        epochs=boosting_rounds, is_random=False,
    ),
    "linear": Contestant(
        label="linear model", train=train_linear, settings=LINEAR_PENALTIES, method="",
        epochs=lambda task: 1, is_random=False,
    ),
}  # fmt: skip
#: Who takes part where inputs are vectors: not beside LeNet-5.
TABULAR = {"tabm": Contestant(label="TabM", train=train_tabm, settings=DECAYS)}
#: Who takes part on a table.
STANDARD = CONTESTANTS | TABULAR
#: Who takes part where you say so: the book's tables have no rows of them.
FURTHER = {"mimo": Contestant(label="MIMO", train=train_mimo, settings=DECAYS)}
