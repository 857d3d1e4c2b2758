"""What *Width or members* draws and says: how many members a width carries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workshop import plot
from workshop.plot.panels import ends_room, name_curves, number_ticks, panels
from workshop.plot.style import LABELS, MARKERS, Figure, color, house_style

# Captions.
CARRIED = (
    "A narrow shared matrix carries few members, a wide one more; separate networks gain with each "
    "doubling. A line is a width, named at its end; large: its least NLL. Lower is better; means "
    "over ten splits of digits, not tested."
)
GAP = (
    "Narrow members give way on the images that they learn from, too. BatchEnsemble minus deep "
    "ensemble of the same width: 95% intervals over ten splits of digits; full marker: clear "
    "among 80. In points right is better, in NLL left."
)
BATCH, DEEP = "batch_ensemble", "deep_ensemble"

#: Method and width to a score by the number of members.
Scores = Mapping[tuple[str, int], Mapping[int, float | int]]


def ends_around(values: Sequence[float | int]) -> tuple[float | int, float | int]:
    """Return ends of an axis with room around all values."""
    room = 0.06 * (max(values) - min(values))
    return min(values) - room, max(values) + room


@dataclass(eq=False)
class Carried:
    """The NLL over the number of members, a line a width."""

    nll: Scores

    def lines(self, method: str) -> dict[int, tuple[Mapping[int, float | int], int]]:
        """Return widths to scores, and to the number of members with the least."""
        own = {key[1]: line for key, line in self.nll.items() if key[0] == method}
        return {width: (line, min(line, key=line.__getitem__)) for width, line in own.items()}

    def draw(self) -> Figure:
        every = [value for own in self.nll.values() for value in own.values()]
        with house_style():
            figure, both = panels(2, height=(2.7, 2.1), left=0.55, right=ends_room(["256"]))
            for axes, method in zip(both, (BATCH, DEEP), strict=True):
                own, lines = color(method), self.lines(method)
                for i, (width, (line, best)) in enumerate(lines.items()):
                    lw = 1.0 + 2.0 * i / (len(lines) - 1)
                    axes.plot([*line], [*line.values()], "o-", color=own, lw=lw, ms=3, label=width)
                    axes.plot(best, line[best], MARKERS[method], color=own, ms=9)
                axes.set(xscale="log", xlim=(0.9, 9.5), ylim=ends_around(every), xlabel="members")
                number_ticks(axes, [*line])
                axes.set_title(f"{LABELS[method]}, NLL")
                name_curves(figure, axes)
        return figure

    def say(self) -> str:
        best = [members for _, members in self.lines(BATCH).values()]
        return (
            f"The narrowest BatchEnsemble has its least NLL with {best[0]} members, the widest "
            f"with {best[-1]}."
        )


@dataclass(eq=False)
class GapToDeepEnsemble:
    """A BatchEnsemble minus a deep ensemble of its width and number of members."""

    #: Numbers of members to titles, to rows, to (low, mean, high).
    found: Mapping[int, Mapping[str, Mapping[str, Sequence[float | int]]]]
    #: Numbers of members to titles, to the rows that are clear.
    clear: Mapping[int, Mapping[str, Sequence[str]]]

    def __post_init__(self) -> None:
        self.choices = {"members": [*self.found]}

    def draw(self, members: int) -> Figure:
        titles = [*self.found[members]]
        ends: dict[str, tuple[float | int, float | int]] = {}
        for title in titles:
            every = [
                end for own in self.found.values() for row in own[title].values() for end in row
            ]
            ends[title] = ends_around([*every, 0.0])
        rows = self.found[members][titles[0]]
        return plot.effect_intervals(
            self.found[members], resolved=self.clear[members], xlim=ends,
            colors=dict.fromkeys(rows, BATCH),
        )  # fmt: skip

    def say(self, members: int) -> str:
        rows = next(iter(self.found[members].values()))
        (name, narrow), *_, (_, wide) = rows.items()
        return (
            f"At {name} members are {-narrow[1]:.1f} points worse on their training images, in the "
            f"widest layers {abs(wide[1]):.1f}."
        )
