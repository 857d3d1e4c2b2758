"""The relatives of this book's methods: what each of them trains and keeps, drawn and said."""

from collections.abc import Mapping

from matplotlib.axes import Axes

from ensedu import counting, plot
from ensedu.plot.panels import RIGHT, write_key
from ensedu.plot.style import PAGE, look
from ensedu.plot.text_layout import SMALL, rows_of_texts
from ensedu.theory.relatives import RELATIVES, numbers

CAPTION = (
    "Thin products and vectors are nearly free where layers are wide, and not where they are "
    "narrow. Hollow is what is trained at one time, filled what is kept to predict. Narrow: "
    "64-64-64-10. Wide: 4,096 four times."
)
RESCALE = "The axis changes with the network."
#: What is drawn of the relatives: no further than this many times one network's parameters.
MOST_KEPT = 100.0
TICKS = (0.01, 0.1, 1, 10, 100)
#: Networks whose relatives are counted, and where the axis of each begins.
NETWORKS = {"narrow": (64, 64, 64, 10), "wide": (4096,) * 4}
LEAST = {"narrow": 0.3, "wide": 0.005}
MORE = {"swag": ", 20 deviations", "laplace_last_layer": ", full"}


def relatives(members: int, network: str) -> dict[str, list[float | int]]:
    """Return what each relative trains and keeps, one network's parameters being 1."""
    sizes = NETWORKS[network]
    one = counting.mlp(sizes).total
    return {
        row.label + MORE.get(key, ""): [part.total / one for part in numbers(sizes, key, members)]
        for key, row in RELATIVES.items()
    }


def say(members: int, network: str) -> str:
    """Say what TabM keeps."""
    kept = relatives(members, network)["TabM"][1]
    return f"With {members} members, TabM keeps {kept:.2f} times one network's parameters."


def draw(members: int, network: str) -> plot.Figure:
    """Draw what relatives train and keep, in multiples of one network, on a logarithmic axis."""
    parameters = relatives(members, network)
    own, deep = plot.PALETTE["single"], plot.PALETTE["deep_ensemble"]
    end = 1.5 * MOST_KEPT
    with plot.house_style():
        figure, [axes] = plot.panels(
            1, height=4.3, left=1.95, right=0.3, above=0.5, top=0.3, below=0.82
        )
        for y, (called, (trained, kept)) in enumerate(parameters.items()):
            shown = min(kept, end)
            axes.plot([trained, shown], [y, y], color=own, lw=1.4, label="_between")
            if kept > MOST_KEPT:
                axes.plot(end, y, ">", ms=7, color=own, clip_on=False)
                # On the ground of the page, which hides other lines.
                axes.annotate(
                    f"{kept / 1e6:.1f} million",
                    (1, y),
                    (72 * RIGHT, 6),
                    xycoords=axes.get_yaxis_transform(),
                    textcoords="offset points",
                    color=own,
                    ha="right",
                    va="bottom",
                    fontsize=SMALL,
                    annotation_clip=False,
                    bbox={"facecolor": PAGE, "lw": 0, "pad": 0.8},
                )
            else:
                axes.plot(kept, y, "o", ms=9, color=own, label=f"{called}, to keep")
            axes.plot(trained, y, "o", ms=6, color=own, mfc=PAGE, label=f"{called}, to train")
        axes.set_yticks(range(len(parameters)), list(parameters))
        axes.tick_params(axis="y", length=0)
        axes.set(xscale="log")
        axes.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS])
        axes.minorticks_off()
        axes.set(xlim=(LEAST[network], end), ylim=(len(parameters) - 0.5, -0.5))
        between = "\n" if look().narrow else " "
        axes.set_xlabel(f"parameters,{between}times one network's")
        axes.axvline(1, color=own, lw=1, ls=":")
        axes.axvline(members, color=deep, lw=1, ls="--")
        name_lines(axes, {"one network": (1, own), "deep ensemble": (members, deep)})
        mark = {"color": own, "marker": "o", "ls": ""}
        write_key(
            figure,
            {
                "trained": mark | {"ms": 6, "mfc": PAGE},
                "kept to predict": mark | {"ms": 9},
                # As one stands on the other.
                "both the same": mark | {"ms": 7.5, "mfc": PAGE, "mew": 2.2},
            },
        )
    return figure


def name_lines(axes: Axes, lines: Mapping[str, tuple[float | int, str]]) -> None:
    """Write above axes what vertical lines are, which stand at (x, color)."""
    low, high = axes.get_xlim()
    left, width = (look().width * size for size in axes.get_position().bounds[::2])
    ends = axes.transData.transform([(x, 1) for x in (low, high, *(x for x, _ in lines.values()))])
    places = left + width * (ends[2:, 0] - ends[0, 0]) / (ends[1, 0] - ends[0, 0])
    found = rows_of_texts(list(lines), places, left, left + width + RIGHT, SMALL)
    for (words, (_, ink)), (middle, row) in zip(lines.items(), found, strict=True):
        axes.annotate(
            words,
            ((middle - left) / width, 1),
            (0, 4 + 14 * row),
            xycoords="axes fraction",
            textcoords="offset points",
            color=ink,
            ha="center",
            va="bottom",
            fontsize=SMALL,
            annotation_clip=False,
        )
