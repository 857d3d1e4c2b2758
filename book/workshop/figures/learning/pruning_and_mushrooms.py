"""What *Pruning and mushrooms* draws and says: what distributions for weights are good for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ensedu.uncertainty import MeanDifference
from workshop import plot
from workshop.plot.panels import number_ticks, write_key
from workshop.plot.style import INK, PAGE, Figure, color

# Captions.
CUTS = (
    "A flat curve may be that of a network that has learned little. Test error as weights are "
    "dropped: of one network the smallest, of Bayesian ones, each named by its prior, those of the "
    "least |μ|/σ. Means, and for one network and N(0, 0.1²) least to greatest, of 5 splits. "
    "Published: a network five times as large, on 60,000 digits."
)
REGRET = (
    "Doubt has not clearly helped to decide. Left is better: regret after 2,000 mushrooms, minus "
    "that of a greedy network that found the same ones, over twelve seeds. The BNN has a tenth of "
    "the KL."
)
#: The method whose color an agent has.
COLORS = {
    "5% random": "single", "deep ensemble": "deep_ensemble",
    "BNN": "mean_field", "BNN, whole KL": "mean_field",
}  # fmt: skip
BNN: dict[str, Any] = {"color": color("mean_field"), "lw": 2, "ms": 5}
#: How the curves of `Cuts` look, by their place, and what others published.
LOOKS: tuple[dict[str, Any], ...] = (
    {"color": color("single"), "lw": 2, "ms": 5, "marker": "."},
    BNN | {"ls": "-", "marker": "o"},
    BNN | {"ls": ":", "marker": "^", "lw": 1.5},
    BNN | {"ls": "--", "marker": "s", "mfc": PAGE, "lw": 1.5},
)
RANGED = 2  # of the curves
FOUND: dict[str, Any] = {"color": INK, "lw": 1.5, "ls": ":", "marker": "D", "ms": 4}
PUBLISHED = "published"


@dataclass(eq=False)
class Cuts:
    """Test errors over the weights left, by the weight of the KL, and what others published."""

    #: K percentages of the weights, from 0 up.
    dropped: Sequence[int]
    #: By the KL's weight and by name, one network first, three of K each: the means, the least and
    #: the greatest of splits, in percent.
    errors: Mapping[float, Mapping[str, Sequence[Any]]]
    #: By percentage of the weights dropped.
    published: Mapping[int, float]

    def __post_init__(self) -> None:
        self.choices = {"kl_weight": list(self.errors)}
        self.left = [100 - one for one in self.dropped]

    def draw(self, kl_weight: float) -> Figure:
        errors = self.errors[kl_weight]
        looks = [*LOOKS, FOUND]
        with plot.house_style():
            top = 0.5 if plot.look().narrow else 0.4
            figure, (axes,) = plot.panels(1, height=2.6, top=top)
            for i, (name, (mean, least, most)) in enumerate(errors.items()):
                own = LOOKS[i]
                if i < RANGED:
                    axes.vlines(self.left, least, most, lw=1, color=own["color"], label=name)
                axes.plot(self.left, mean, label=name, **own)
            left = [100 - one for one in self.published]
            axes.plot(left, [*self.published.values()], label=PUBLISHED, **FOUND)
            axes.set(xlabel="weights left, %", ylabel="test error, %", xscale="log", yscale="log")
            axes.set(xlim=(112, 1.8), ylim=(0.9, 95))
            number_ticks(axes, [100, 50, 25, 10, 5, 2], [1, 2, 5, 10, 20, 50])
            write_key(figure, dict(zip([*errors, PUBLISHED], looks, strict=True)))
        return figure

    def say(self, kl_weight: float) -> str:
        _, (name, (mean, *_)), *_ = self.errors[kl_weight].items()
        tenth = self.left.index(10)
        return (
            f"With {name} as the prior, {mean[0]:.0f}% errors with all weights, "
            f"{mean[tenth]:.0f}% with a tenth."
        )


@dataclass(eq=False)
class Regret:
    """How much more than the greedy agent others regret in the end, an agent a row."""

    #: By agent, the paired difference from the greedy one.
    against: Mapping[str, MeanDifference]
    #: What that one regrets.
    greedy: float | int

    def draw(self) -> Figure:
        title = "regret"
        return plot.effect_intervals(
            {title: {name: (one.low, one.mean, one.high) for name, one in self.against.items()}},
            levels={title: f"greedy: {self.greedy:,.0f}"},
            colors={name: COLORS[name] for name in self.against},
        )

    def say(self) -> str:
        best = min(self.against, key=lambda name: self.against[name].mean)
        one = self.against[best]
        return (
            f"Least has the {best}: {-one.mean:.0f} below greedy, with an "
            f"interval from {one.low:+.0f} to {one.high:+.0f}."
        ).replace("-", "\N{MINUS SIGN}")
