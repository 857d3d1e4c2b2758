"""What *Pruning and mushrooms* draws and says: what distributions for weights are good for."""

from collections.abc import Mapping, Sequence
from typing import Any

from numpy import ndarray as Array

from ensedu import plot
from ensedu.plot.panels import write_key
from ensedu.plot.style import PAGE, Figure, color
from ensedu.plot.text_layout import SMALL
from ensedu.uncertainty import Interval

__all__ = ["CUTS", "NOISE", "REGRET", "TABLE", "WAYS", "Cuts", "Noise", "Regret"]

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
NOISE = (
    "The larger the batch, the more it pays to give each example noise of its own. Variance of the "
    "gradient of a batch's mean NLL over samples, summed over all weights; 64-50-10, trained on "
    "digits, 10 networks."
)
#: The method whose color an agent has.
COLORS = {
    "greedy": "single", "5% random": "single", "deep ensemble": "deep_ensemble",
    "BNN": "mean_field", "BNN, whole KL": "mean_field",
}  # fmt: skip
OURS = color("mean_field")
BNN: dict[str, Any] = {"color": OURS, "lw": 2, "ms": 5}
#: How three curves of distributions look.
THREE: tuple[dict[str, Any], ...] = (
    BNN | {"ls": "-", "marker": "o"},
    BNN | {"ls": "--", "marker": "s", "mfc": PAGE},
    BNN | {"ls": ":", "marker": "D"},
)
#: How the curves of `Cuts` look, by their place, and those of `Noise`.
LOOKS = ({"color": color("single"), "lw": 2, "ms": 5, "marker": "."}, *THREE)
WAYS = dict(zip(("weights", "local", "flipout"), THREE, strict=True))
#: What stands beside curves of their variances, and where in the panel.
BESIDE = {
    "mean": {
        "weights": (0.72, 0.6), "Flipout, local\nreparameterization": (0.33, 0.13)
    },
    "rho": {
        "weights": (0.72, 0.72), "Flipout": (0.8, 0.35), "local reparameterization": (0.42, 0.08)
    },
}  # fmt: skip


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


class Noise:
    """The variance of a gradient over the batch size, for each way to draw.

    Parameters
    ----------
    sizes
        K batch sizes.
    variances
        By part, "mean" and "rho", and way to draw, K variances.
    """

    def __init__(self, sizes: Sequence[int], variances: Mapping[str, Mapping[str, Array]]) -> None:
        self.sizes, self.variances = list(sizes), variances

    def draw(self) -> Figure:
        """Draw a panel a part."""
        with plot.house_style():
            figure, found = plot.panels(2, height=2.4)
            for axes, (part, own) in zip(found, self.variances.items(), strict=True):
                for way, style in WAYS.items():
                    axes.plot(self.sizes, own[way], label=way, **style)
                for words, place in BESIDE[part].items():
                    axes.text(*place, words, transform=axes.transAxes, color=OURS, ha="center",
                              va="center", weight="bold", fontsize=SMALL)  # fmt: skip
                axes.set(xscale="log", yscale="log", xlim=(0.9, 570), xlabel="batch size B")
                axes.set_title(f"gradient in {'μ' if part == 'mean' else 'ρ'}: variance")
                axes.set_xticks([1, 8, 64, 512], ["1", "8", "64", "512"])
                axes.minorticks_off()
        return figure

    def say(self) -> str:
        """Say who is quiet in ρ."""
        own, at = self.variances["rho"], self.sizes.index(32)
        local, flipout = (own[way][at] / own["weights"][at] for way in ("local", "flipout"))
        return (
            f"In ρ, at 32 examples, local reparameterization has {local:.2f} of the variance of "
            f"weight sampling, Flipout {flipout:.2f}."
        )
