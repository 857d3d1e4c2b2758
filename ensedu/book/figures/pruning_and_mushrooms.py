"""What *Pruning and mushrooms* draws and says: what distributions for weights are good for."""

from collections.abc import Mapping, Sequence
from typing import Any

from numpy import ndarray as Array

from ensedu import plot
from ensedu.plot.panels import write_key
from ensedu.plot.style import INK, PAGE, Figure, color
from ensedu.plot.text_layout import SMALL
from ensedu.uncertainty import Interval

# Captions.
CUTS = (
    "A flat curve may be that of a network that has learned little. Test error as weights are "
    "dropped: of one network the smallest, of the others those of the least |μ|/σ. Means, and "
    "least to greatest, of 5 splits. Published: a network five times as large, on 60,000 digits."
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
#: How the curves of `Cuts` look, by their place, and what others published.
LOOKS: tuple[dict[str, Any], ...] = (
    {"color": color("single"), "lw": 2, "ms": 5, "marker": "."}, *THREE[:2]
)  # fmt: skip
FOUND: dict[str, Any] = {"color": INK, "lw": 1.5, "ls": ":", "marker": "D", "ms": 4}
PUBLISHED = "published"
#: How the curves of `Noise` look.
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
    """Test errors over the weights left, and those that others published.

    Parameters
    ----------
    dropped
        K percentages of the weights, from 0 up.
    errors
        By name, one network first, three of K each: the means, the least and the greatest of
        splits, in percent.
    published
        By percentage of the weights dropped.
    """

    def __init__(
        self,
        dropped: Sequence[int],
        errors: Mapping[str, Sequence[Any]],
        published: Mapping[int, float],
    ) -> None:
        self.left = [100 - one for one in dropped]
        self.errors, self.published = errors, published

    def draw(self) -> Figure:
        """Draw a curve a name."""
        looks = [*LOOKS, FOUND]
        with plot.house_style():
            top = 0.5 if plot.look().narrow else 0.4
            figure, (axes,) = plot.panels(1, height=2.6, top=top)
            for (name, (mean, least, most)), own in zip(self.errors.items(), LOOKS, strict=True):
                axes.vlines(self.left, least, most, lw=1, color=own["color"], label=name)
                axes.plot(self.left, mean, label=name, **own)
            left = [100 - one for one in self.published]
            axes.plot(left, [*self.published.values()], label=PUBLISHED, **FOUND)
            axes.set(xlabel="weights left, %", ylabel="test error, %", xscale="log", yscale="log")
            axes.set(xlim=(112, 1.8), ylim=(0.9, 95))
            axes.set_xticks([100, 50, 25, 10, 5, 2], ["100", "50", "25", "10", "5", "2"])
            axes.set_yticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
            axes.minorticks_off()
            write_key(figure, dict(zip([*self.errors, PUBLISHED], looks, strict=True)))
        return figure

    def say(self) -> str:
        """Say how high the first curve of a distribution lies, where it is flat."""
        _, (name, (mean, *_)), *_ = self.errors.items()
        tenth = self.left.index(10)
        return f"{name}: {mean[0]:.0f}% errors with all weights, {mean[tenth]:.0f}% with a tenth."


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
