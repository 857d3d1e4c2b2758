"""What *Bayesian CNNs* draws and says: two parts of doubt, what σ learned, and windows.

The aleatoric part is gray, the epistemic one has the pink of a mean-field network.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from numpy import ndarray as Array

from workshop import plot
from workshop.experiments.bayesian_cnn_images import CUT, Known, Seen, doubtful_shares
from workshop.plot.panels import ends_room, name_ends, number_ticks, panels, place, press, write
from workshop.plot.style import DOUBT, INK, MUTED, SHARED, Figure, color, house_style, tint
from workshop.plot.text_layout import SMALL

# Captions.
IMAGES = (
    "A Bayesian LeNet-5 doubts a letter much as it doubts an ugly digit. Bars: the two parts of "
    "its doubt. Below: one image, a row for what each weight sample answers, and their average."
)
PLANE = (
    "Doubtful digits and doubtful letters lie around the same line, so the mix of the two parts "
    "does not say which is which. Dashed: the mean share of those above 0.2 in all. 1,000 test "
    "digits, and 390 letters that do not look like digits; ten of each as they look."
)
SIGMAS = (
    "σ rises as fast as Adam can go, and the epistemic part rises with it. Dashed: a weight that "
    "no digit touches. Parts of the doubt are means over 500 test digits, and all are means over "
    "10 splits."
)

PINK = color("mean_field")
PARTS = {"aleatoric": SHARED, "epistemic": DOUBT}


def show(axes: Axes, pixels: Array, x: float, y: float, side: float, chosen: bool) -> None:
    """Draw an image into axes of inches, in a frame."""
    axes.imshow(
        pixels, cmap=tint(INK), vmin=0, vmax=1, interpolation="none", zorder=2,
        extent=(x, x + side, y + side, y),
    )  # fmt: skip
    line = {"ec": INK, "lw": 2.5} if chosen else {"ec": MUTED, "lw": 0.6}
    axes.add_patch(Rectangle((x, y), side, side, fc="none", zorder=2, **line))


def paper(figure: Figure) -> Axes:
    """Return axes over a whole figure, in inches from its upper left corner."""
    wide, high = figure.get_size_inches()
    axes = place(figure, 0, 0, wide, high)
    axes.set(xlim=(0, wide), ylim=(high, 0), aspect="auto")
    axes.axis("off")
    return axes


@dataclass(eq=False)
class Images:
    """A few images, and what the weight samples say of the chosen one, from 1."""

    seen: Sequence[Seen]

    def __post_init__(self) -> None:
        self.choices = {"image": [*range(1, len(self.seen) + 1)]}

    def draw(self, image: int) -> Figure:
        """Draw all with their doubt, and the samples of one."""
        narrow, wide = plot.look().narrow, plot.look().width
        step, side, large = (0.46, 0.41, 1.2) if narrow else (0.82, 0.6, 1.9)
        high, chosen = side + 3.9, self.seen[image - 1]
        with house_style():
            figure = Figure(figsize=(wide, high))
            sheet = paper(figure)
            for i, one in enumerate(self.seen):
                x = 0.05 + i * step + (0.2 if one.kind == "letter" else 0)
                if one.kind not in [each.kind for each in self.seen[:i]]:
                    write(figure, x, 0.25, f"{one.kind}s", fontsize=12)
                show(sheet, one.pixels, x, 0.35, side, one is chosen)
                press(figure, f"image={i + 1}", (x, 0.35), side, side + 0.6)
                self.hang(sheet, one, x, 0.35 + side + 0.08, side)
            x, y = 0.05, 0.35 + side + 0.92
            for name, own in PARTS.items():
                write(figure, x, y, name, color=own, weight="bold")
                x += 0.95
            y += 0.15
            show(sheet, chosen.pixels, 0.05, y + 0.4, large, True)
            left = large + (0.4 if narrow else 0.7)
            room = wide - left - 0.1
            axes = place(figure, left, y, room, 0.35)
            axes.bar(range(10), chosen.p.mean(axis=0), 0.8, color=PINK)
            axes.set(xlim=(-0.5, 9.5), ylim=(0, 1), xticks=[], yticks=[])
            axes.spines["left"].set_visible(False)
            axes = place(figure, left, y + 0.4, room, 1.75)
            axes.imshow(chosen.p, cmap=tint(PINK), vmin=0, vmax=1, aspect="auto",
                        interpolation="none")  # fmt: skip
            axes.set(yticks=[], ylabel=f"{len(chosen.p)} samples")
            axes.set_xticks(range(10), range(10))
            axes.tick_params(length=0)
        return figure

    @staticmethod
    def hang(axes: Axes, one: Seen, x: float, y: float, side: float) -> None:
        """Hang both parts below a line, an inch for each 1.1."""
        axes.plot([x, x + side], [y, y], color=MUTED, lw=0.8)
        for part, own in zip(one.parts, PARTS.values(), strict=True):
            axes.add_patch(Rectangle((x + 0.1 * side, y), 0.8 * side, part / 1.1, fc=own))
            y += part / 1.1

    def say(self, image: int) -> str:
        one = self.seen[image - 1]
        aleatoric, epistemic = one.parts
        return (
            f"The {one.kind} {one.label}: {aleatoric:.2f} of its doubt is aleatoric, "
            f"{epistemic:.2f} epistemic."
        )


@dataclass(eq=False)
class Plane:
    """All images in the plane of the two parts of doubt, by kind."""

    ENDS = np.array([0.7, 0.37])  # of the axes

    known: Mapping[str, Known]

    def picked(self, own: Known) -> list[int]:
        """Return ten images that are not sure, each far from those before."""
        at = (own.parts / self.ENDS[:, None]).T
        left = np.flatnonzero((at > 0.14).all(axis=1))
        chosen = [int(left[at[left].sum(axis=1).argmax()])]
        while len(chosen) < 10:
            apart = ((at[left][:, None] - at[chosen]) ** 2).sum(axis=-1)
            chosen.append(int(left[apart.min(axis=1).argmax()]))
        return chosen

    def draw(self) -> Figure:
        """Draw a panel a kind, and some images where they lie."""
        with house_style():
            figure, both = panels(2, height=2.6, sharey=not plot.look().narrow)
            sheet = paper(figure)
            wide, high = figure.get_size_inches()
            for axes, (kind, own) in zip(both, self.known.items(), strict=True):
                axes.plot(*own.parts, "o", ms=3, mew=0, color=PINK, alpha=0.5)
                axes.set(xlim=(0, self.ENDS[0]), ylim=(0, self.ENDS[1]), title=kind)
                axes.set(xlabel="aleatoric", xticks=[0, 0.2, 0.4, 0.6], yticks=[0, 0.1, 0.2, 0.3])
                ray = doubtful_shares(own).mean()
                axes.plot([0, 1 - ray], [0, ray], color=INK, lw=1.5, ls="--")
                spot = axes.get_position()
                for at in self.picked(own):
                    right, up = own.parts[:, at] / self.ENDS
                    x = wide * (spot.x0 + spot.width * right) - 0.16
                    y = high * (1 - spot.y0 - spot.height * up) - 0.16
                    show(sheet, own.pixels[at], x, y, 0.32, False)
            for axes in both if plot.look().narrow else both[:1]:
                axes.set_ylabel("epistemic")
        return figure

    def say(self) -> str:
        shares = [doubtful_shares(own).mean() for own in self.known.values()]
        return (
            f"Above {CUT:g} in all, {shares[0]:.0%} of a digit's doubt is epistemic on average, "
            f"and {shares[1]:.0%} of a letter's."
        )


@dataclass(eq=False)
class Sigmas:
    """σ and doubt over epochs (E,)."""

    #: When we looked.
    epochs: Sequence[int]
    #: By what was trained: (L, E), the mean σ of each layer.
    sigmas: Mapping[str, Float[Array, "L E"]]
    #: By what was trained: (2, E), the mean traces, aleatoric and epistemic.
    parts: Mapping[str, Float[Array, "2 E"]]
    #: By what was trained: (E,), σ of a weight that the data do not touch.
    alone: Mapping[str, Float[Array, " E"]]

    def __post_init__(self) -> None:
        self.choices = {"trained": [*self.sigmas]}

    def draw(self, trained: str) -> Figure:
        """Draw a panel for σ, and one for both parts of the doubt."""
        with house_style():
            figure, (left, right) = panels(2, height=2.2, right=ends_room(PARTS))
            left.plot(self.epochs, self.sigmas[trained].T, color=PINK, lw=1.5)
            alone = self.alone[trained]
            left.plot(self.epochs[: len(alone)], alone, color=INK, lw=1.5, ls="--")
            left.text(1, 0.031, "a weight that\nno digit touches", va="center", fontsize=SMALL)
            left.set(title="mean σ of each layer", ylim=(0.008, 0.04))
            ends = []
            for (name, own), y in zip(PARTS.items(), self.parts[trained], strict=True):
                right.plot(self.epochs[1:], y[1:], color=own)
                ends.append((name, self.epochs[-1], y[-1], own))
            right.set(title="parts of the doubt", ylim=(3e-3, 0.6))
            for axes, ticks in ((left, [0.01, 0.02, 0.03]), (right, [0.01, 0.1])):
                axes.set(xlabel="epoch", xlim=(0, self.epochs[-1]), yscale="log")
                number_ticks(axes, y=ticks)
            name_ends(figure, right, ends)
        return figure

    def say(self, trained: str) -> str:
        last = self.sigmas[trained][:, -1]
        return (
            f"σ ends at {last.min():.3f} to {last.max():.3f}; a weight that no digit touches, at "
            f"{self.alone[trained][-1]:.3f}."
        )
