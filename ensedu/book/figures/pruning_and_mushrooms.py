"""What *Pruning and mushrooms* draws and says: what distributions for weights are good for."""

from collections.abc import Mapping, Sequence
from typing import Any

from ensedu import plot
from ensedu.plot.panels import write_key
from ensedu.plot.style import PAGE, Figure, color
from ensedu.uncertainty import Interval

__all__ = ["CUTS", "REGRET", "TABLE", "Cuts", "Regret"]

# Captions.
CUTS = (
    "A flat curve may be the curve of a network that underfits. Test error as weights are dropped, "
    "one network its smallest |w|, the others their least |μ|/σ: means, and least to greatest, of "
    "5 splits. 477,600 weights, trained on 4,000 digits of MNIST for 15 epochs."
)
TABLE = (
    "Test error (%) by the percentage of weights dropped. Published: Blundell et al. 2015, table "
    "2: 1,200 units a layer, 60,000 digits."
)
REGRET = (
    "Doubt has not clearly helped to decide. Left is better: regret after 2,000 mushrooms, and "
    "minus that of a greedy network that found the same ones, over twelve seeds. The BNN has a "
    "tenth of the KL."
)
#: The method whose color an agent has.
COLORS = {
    "greedy": "single", "5% random": "single", "deep ensemble": "deep_ensemble",
    "BNN": "mean_field", "BNN, whole KL": "mean_field",
}  # fmt: skip
BNN: dict[str, Any] = {"color": color("mean_field"), "lw": 2, "ms": 5}
#: How the curves of `Cuts` look, by their place.
LOOKS: tuple[dict[str, Any], ...] = (
    {"color": color("single"), "lw": 2, "ms": 5, "marker": "."},
    BNN | {"ls": "-", "marker": "o"},
    BNN | {"ls": "--", "marker": "s", "mfc": PAGE},
    BNN | {"ls": ":", "marker": "D"},
)


class Cuts:
    """Test errors over the weights left, a panel for each weight of the KL.

    Parameters
    ----------
    left
        K percentages of the weights, from 100 down.
    errors
        By title of a panel, and by name, one network first, three of K each: the means, the least
        and the greatest of splits, in percent.
    """

    def __init__(
        self, left: Sequence[int], errors: Mapping[str, Mapping[str, Sequence[Any]]]
    ) -> None:
        self.left, self.errors = list(left), errors

    def draw(self) -> Figure:
        """Draw a curve a name into each panel."""
        with plot.house_style():
            narrow = plot.look().narrow
            figure, found = plot.panels(
                3, height=2.2, top=0.55 if narrow else 0.3, sharey=True
            )  # fmt: skip
            for axes, (title, own) in zip(found, self.errors.items(), strict=True):
                for (name, (mean, least, most)), look in zip(own.items(), LOOKS, strict=True):
                    axes.vlines(self.left, least, most, lw=1, color=look["color"], label=name)
                    axes.plot(self.left, mean, label=name, **look)
                axes.set(title=title, xlabel="weights left, %", xscale="log", yscale="log")
                axes.set(xlim=(112, 1.8), ylim=(3.5, 95))
                axes.set_xticks([100, 25, 10, 5, 2], ["100", "25", "10", "5", "2"])
                axes.set_yticks([5, 10, 20, 50], ["5", "10", "20", "50"])
                axes.minorticks_off()
            for axes in found if narrow else found[:1]:
                axes.set_ylabel("test error, %")
            write_key(figure, dict(zip(own, LOOKS, strict=True)))
        return figure

    def say(self) -> str:
        """Say what the first curve of a distribution is in the first panel."""
        (title, own), *_ = self.errors.items()
        (_, one), (name, flat), *_ = own.items()
        tenth = self.left.index(10)
        return (
            f"With {title}, {name} errs {flat[0][0]:.0f}% with all weights, "
            f"{flat[0][tenth]:.0f}% with a tenth; one network {one[0][0]:.0f}%."
        )


class Regret:
    """What agents regret in the end, an agent a row with its seeds, the greedy one first.

    Parameters
    ----------
    regrets
        By agent, what each seed regrets.
    against
        By agent, the paired difference from the first one.
    """

    def __init__(
        self, regrets: Mapping[str, Sequence[float]], against: Mapping[str, Interval]
    ) -> None:
        self.regrets, self.against = regrets, against

    def draw(self) -> Figure:
        """Draw all agents, and their differences from the first."""
        first = next(iter(self.regrets))
        colors = {name: COLORS[name] for name in self.regrets}
        return plot.dots({"regret": self.regrets}, reference=first, colors=colors)

    def say(self) -> str:
        """Say how far the least regret is from the first one's."""
        best = min(self.against, key=lambda name: self.against[name].mean)
        one = self.against[best]
        return (
            f"Least has the {best}: {-one.mean:.0f} below {next(iter(self.regrets))}, with an "
            f"interval from {one.low:+.0f} to {one.high:+.0f}."
        ).replace("-", "\N{MINUS SIGN}")
