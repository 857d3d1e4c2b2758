"""What *Training a BatchEnsemble* draws and says: how far members differ, and what for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workshop.plot.panels import LINE, RIGHT, beside, inches, key_rows, panels, set_axis, write_key
from workshop.plot.style import INK, MARKERS, MUTED, PAGE, Figure, color, house_style

# Captions.
LIVE = (
    "Members that start the same stay the same if they see the same examples. A: the four start "
    "from random signs, and in the gap they come apart. B: all four start from the same fast "
    "weights, so they remain one curve. The buttons choose where those of A start."
)
LIVE_ALT = (
    "Two panels with 60 points on a wave, none in a gap in the middle: two BatchEnsembles of four, "
    "one whose members start from random signs, one whose members start the same, before training."
)
ALIKE = (
    "Four members that start near 1 stay nearly one network; from random signs they differ about "
    "as much as four networks do. How often two members disagree on test images, divided by how "
    "often they would if each were wrong independently. Means over 10 splits."
)
DIVERSITY = (
    "Members that differ more make a good ensemble, or a bad one. Full marks: trained on the "
    "average of the members' losses. An arrow leads to the same ensemble trained on its own loss; "
    "from N(1, 0.1²) that was not tried. Digits, each end at its own learning rate; means over 10 "
    "splits, 3 initializations on each."
)

GRAY = color("single")
#: Inches of a row.
ROW = 0.5
#: The method that a row of `Alike` has the color of, if it is not a BatchEnsemble.
OTHERS = {"deep ensemble": "deep_ensemble"}
#: Where a name stands beside the dot of `Diversity`.
BESIDE = {
    "N(1, 0.1²)": ((8, 6), "left"), "N(1, 0.5²)": ((-8, -5), "right"),
    "random signs": ((0, -18), "center"), "deep ensemble": ((-12, -1), "right"),
}  # fmt: skip
#: What an ensemble is trained on.
LOSSES: dict[str, dict[str, Any]] = {
    "on members' losses": {"color": MUTED, "ls": "", "marker": "o", "ms": 9},
    "on its own loss": {"color": MUTED, "ls": "", "marker": "o", "ms": 9, "mfc": PAGE, "mew": 1.6},
}


def method_of(name: str) -> str:
    """Return the method whose color and marker a name has."""
    return OTHERS.get(name, "batch_ensemble")


@dataclass(eq=False)
class Alike:
    """How often members disagree, in parts of what independent errors would give."""

    #: By data set, and by what members start from.
    ratios: Mapping[str, Mapping[str, float]]

    def __post_init__(self) -> None:
        self.choices = {"images": [*self.ratios]}

    def draw(self, images: str) -> Figure:
        """Draw a bar a row, from one network at 0 on."""
        names = list(dict.fromkeys(name for rows in self.ratios.values() for name in rows))
        left = RIGHT + 0.1 + max(map(inches, names))
        with house_style():
            figure, [axes] = panels(1, height=ROW * len(names), left=left, right=0.55)
            for y, name in enumerate(names):
                own: dict[str, Any] = {"color": color(method_of(name))}
                ratio = self.ratios[images].get(name)
                if ratio is not None:
                    axes.plot([0, ratio], [y, y], lw=3, **own)
                    axes.plot(ratio, y, marker=MARKERS[method_of(name)], ms=9, **own)
                words = "not run" if ratio is None else f"{ratio:.2f}"
                beside(axes, words, (ratio or 0, y), (11, 0), own["color"], va="center")
            axes.set(ylim=(len(names) - 0.5, -0.5), title="how much two members disagree")
            axes.set_yticks(range(len(names)), names)
            axes.tick_params(axis="y", length=0)
            axes.axvline(0, color=GRAY, lw=2)
            axes.axvline(1, color=INK, lw=1)
            ends = {0: "0\none network", 0.5: "0.5", 1: "1\nindependent"}
            set_axis(axes.xaxis, (0, 1), ends)
        return figure

    def say(self, images: str) -> str:
        signs, deep = (self.ratios[images][name] for name in ("random signs", "deep ensemble"))
        return (
            f"On {images}, members from random signs reach {signs:.2f} of independent errors' "
            f"disagreement, a deep ensemble {deep:.2f}."
        )


@dataclass(frozen=True)
class TrainingEnd:
    """What training ends with."""

    #: The part of test images that two members class differently.
    disagreement: float
    #: That of the ensemble.
    nll: float


@dataclass(eq=False)
class Diversity:
    """The NLL over the disagreement, trained on the average of losses, or on the ensemble's own."""

    #: By what members start from, one or both.
    ends: Mapping[str, Sequence[TrainingEnd]]
    #: The NLL of one network.
    single: float

    def draw(self) -> Figure:
        with house_style():
            figure, [axes] = panels(1, height=3.6, top=LINE * key_rows(LOSSES))
            write_key(figure, LOSSES)
            axes.axhline(self.single, color=GRAY, lw=1.6)
            beside(axes, "one network", (0.3, self.single), (0, -6), GRAY, va="top")
            for name, ends in self.ends.items():
                own, places = color(method_of(name)), [(100 * e.disagreement, e.nll) for e in ends]
                arrow = {"arrowstyle": "-|>", "color": own, "lw": 1.8, "shrinkA": 0, "shrinkB": 5}
                mark: dict[str, Any] = {"color": own, "marker": MARKERS[method_of(name)], "ms": 9}
                for end in places[1:]:
                    axes.annotate("", end, places[0], arrowprops=arrow, zorder=1.5)  # behind marks
                    axes.plot(*end, mfc=PAGE, mew=1.6, **mark)
                axes.plot(*places[0], **mark)
                where, side = BESIDE[name]
                beside(axes, name, places[0], where, own, ha=side, weight="bold")
            axes.set(xlabel="two members disagree, %")
            axes.set_title("NLL of the ensemble: lower is better")
            axes.set(xscale="log", ylim=(0.06, 0.16))
            axes.minorticks_off()
            set_axis(axes.xaxis, (0.15, 12), {x: f"{x:g}" for x in (0.2, 0.5, 1, 2, 5, 10)})
        return figure

    def say(self) -> str:
        first, last = self.ends["random signs"]
        return (
            f"From random signs, on its own loss: disagreement {100 * last.disagreement:.1f}% "
            f"instead of {100 * first.disagreement:.1f}%, and a higher NLL."
        )
