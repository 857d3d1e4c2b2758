"""Which one should you use: the guide's words, and what the page's figures draw and say."""

from collections.abc import Mapping, Sequence
from urllib.parse import quote

from jaxtyping import Float
from matplotlib.axes import Axes
from numpy import ndarray as Array

from ensedu import counting, plot
from ensedu.book.experiments.contest import reading
from ensedu.book.experiments.contest.advice import (
    CANDIDATES,
    Advice,
    Standing,
    price,
    ruled_out,
    word,
)
from ensedu.book.figures.best import of_reference
from ensedu.book.page.guide import Candidate, Entry, Question, Ranked
from ensedu.book.page.ranking import Measure, Score
from ensedu.contest.contestants import CONTESTANTS
from ensedu.plot.panels import RIGHT, write_key
from ensedu.plot.style import PAGE, look
from ensedu.plot.text_layout import SMALL, rows_of_texts
from ensedu.theory.relatives import RELATIVES, numbers

__all__ = [
    "CAPTION",
    "CIFAR",
    "COSTS",
    "NETWORKS",
    "NOTES",
    "QUESTIONS",
    "SITUATIONS",
    "draw_conformal",
    "draw_ends",
    "draw_relatives",
    "ranked",
    "recommended",
    "relatives",
]

CONTEST = "../learning/shootout.html#fig-contest"
COST, BY_TASK, OUTSIDE = (f"{CONTEST}-{name}" for name in ("cost", "tasks", "ood"))
#: The same figure with everybody beside one network with a temperature.
SCALED = f"{CONTEST}:beside={quote(of_reference(reading.label(reading.SCALED))[0])}&data_sets=all"
PUBLISHED = "../counting/comparison.html#what-did-others-measure"
TEMPERATURE = "../glossary.html#term-temperature"
#: Published NLL of WRN-28-10 on CIFAR-100, by what the table there calls methods.
CIFAR = {"deterministic": 0.875, "BatchEnsemble": 0.690, "MIMO": 0.690, "deep ensemble": 0.666}

CAPTION = (
    "Your answers decide what is recommended, and who is ruled out. A pass runs one network, or "
    "one member, once. A unit is how much luck, another split and random seed, usually changes one "
    "NLL."
)
#: What a candidate costs, one network's being 1, but for passes.
COSTS = ("parameters", "training", "passes")
NOTES = (
    ("Verdicts of [the contest] are beside the recommended one.", SCALED),
    ("Bars: [95% intervals] of the difference in NLL,", CONTEST),
    ("or in [AUROC];", OUTSIDE),
    (
        "thick where better or worse than one network; below, thin, on your own kind alone, "
        "[numbers or classes].",
        BY_TASK,
    ),
    ("Parameters and training time: [times one network's].", COST),
)
#: What a line at 90% means.
PROMISED = "promised: 90%"
MEASURES = {
    "nll": Measure("NLL beside one network", "lower", 2, "units"),
    "auroc": Measure("AUROC beside one network", "higher", 3),
}
#: Who is called by an article.
COUNTED = ("deep_ensemble", "batch_ensemble", "rank1", "mean_field", "last_layer", "linear")
QUESTIONS = (
    Question("target", "What is predicted?", {"number": "a number", "class": "a class"}),
    Question(
        "memory", "Room for how many networks?", {"one": "1.5", "four": "4.5", "twenty": "any"}
    ),
    Question(
        "passes", "How many passes a prediction?",
        {"one": "one", "four": "four", "many": "32"},
    ),
    Question("outside", "Tell out-of-distribution inputs?", {"no": "no", "yes": "yes"}),
    Question(
        "time", "How long may training take?",
        {"four": "any time", "one": "at most twice one network's"}, more=True,
    ),
    Question(
        "inputs", "What are the inputs?",
        {
            "table": "rows of a table",
            "images": "small images, a small network",
            "large": "a large network, or a lot of data",
        },
        more=True,
    ),
    Question("trained", "Is a network trained already?", {"no": "no", "yes": "yes"}, more=True),
)  # fmt: skip

#: What a reader may come with, to answers.
SITUATIONS = {
    "800 rows, a number and its interval, room for four networks": {
        "target": "number", "memory": "four", "passes": "four",
    },
    "a trained ResNet whose probabilities are too sure": {
        "target": "class", "inputs": "large", "trained": "yes",
    },
    "a class on a phone: one pass, one network's memory": {
        "target": "class", "memory": "one", "passes": "one",
    },
    "out-of-distribution inputs, one network's memory, four passes": {
        "target": "class", "memory": "one", "passes": "four", "outside": "yes",
    },
    "small images, room and passes for four networks": {
        "target": "class", "memory": "four", "passes": "four", "inputs": "images",
    },
    "a table, a number, and at most twice one network's time to train": {
        "target": "number", "memory": "four", "passes": "four", "time": "one",
    },
}  # fmt: skip


def ranked(advice: Advice) -> Ranked:
    """Return what is recommended, in words, and how all candidates stand beside it."""
    first = recommended(advice)
    means = {name: one.interval.mean for name, one in reading.compared(advice.score).items()}
    order = sorted(CANDIDATES, key=means.__getitem__, reverse=advice.score == "auroc")
    return Ranked(first, [_candidate(name, advice) for name in order], MEASURES[advice.score])


def recommended(advice: Advice) -> Entry:
    """Return who is recommended, and what decides."""
    if not advice.standings:
        return _unmeasured(advice)
    first = advice.standings[0]
    lead = [(_reason(advice), OUTSIDE if advice.score == "auroc" else SCALED), *_images(first)]
    if advice.score == "auroc":
        lead.append(
            ("AUROCs are not corrected for the many comparisons, as [the NLL] is.", CONTEST)
        )
    if advice.answers["trained"] == "yes":
        lead.append(("SWAG is fitted [while a network trains], so it trains anew, too.", CONTEST))
    return Entry(_label(first.contestant), lead, _method(first.contestant))


def _candidate(name: str, advice: Advice) -> Candidate:
    """Return a row of the list; its order and its bar do not change with what is ruled out."""
    difference = reading.compared(advice.score)[name]
    found = difference.interval
    own = reading.compared(advice.score, kind=_kind(advice)).get(name)
    reasons = _reasons(name, advice.answers) if advice.standings else {}
    cost = price(name)
    standing = next((one for one in advice.standings if one.contestant == name), None)
    if not advice.standings:
        said, state = "not measured", "unknown"
    elif standing is None:
        said, state = next(iter(reasons)), "out"
    elif standing.beside_first is None:
        said, state = "recommended", "recommended"
    else:
        said, state = _said(standing.beside_first, advice.score), "fits"
        if standing.stopped:
            said = f"worse on {_kind(advice)}"
    says = word(difference, advice.score)
    return Candidate(
        _label(name),
        Score(found.mean, (found.low, found.high), says if says in ("better", "worse") else ""),
        said,
        state,
        (_times(cost.kept), _times(cost.train), str(cost.passes)),
        [place for place in reasons.values() if place is not None],
        (own.interval.low, own.interval.high) if own else None,
        _method(name),
    )


def _reasons(name: str, answers: Mapping[str, str]) -> dict[str, int | None]:
    """Return in words why answers rule a candidate out, each with the place of the cost."""
    cost = price(name)
    words: dict[str, tuple[str, int | None]] = {
        "inputs": ("tables only", None),
        "trained": ("trains anew", None),
        "passes": (f"needs {cost.passes} passes", 2),
        "memory": (f"{_times(cost.kept)} parameters", 0),
        "time": (f"{_times(cost.train)} training", 1),
    }
    return dict(words[question] for question in ruled_out(name, answers))


def _kind(advice: Advice) -> str:
    return "numbers" if advice.answers["target"] == "number" else "classes"


def _unmeasured(advice: Advice) -> Entry:
    numbers = [f"{CIFAR[name]:.3f}" for name in CIFAR]
    published = (
        f"Others measured the NLL of a WRN-28-10 on CIFAR-100, without intervals or a temperature: "
        f"[one network {numbers[0]}, a BatchEnsemble {numbers[1]}, MIMO, which takes one pass, "
        f"{numbers[2]}, a deep ensemble {numbers[3]}]."
    )
    again = " Each of these is trained anew." if advice.answers["trained"] == "yes" else ""
    doubt = " It hardly helps with out-of-distribution inputs." if advice.score == "auroc" else ""
    return Entry(
        "Not measured here: begin with a temperature",
        [
            ("The contest had [small networks and small data] only; no rule of ours holds.",
             CONTEST),
            ("[A temperature] costs one number, and rows that you hold out." + doubt, TEMPERATURE),
            (published + again, PUBLISHED),
        ],
        "single",
    )  # fmt: skip


def _label(contestant: str) -> str:
    return _capital(reading.label(contestant))


def _method(contestant: str) -> str | None:
    """Return the method whose color a contestant has."""
    name = contestant.removesuffix("_scaled")
    method = CONTESTANTS[name].method
    return method if method == name else None


def _reason(advice: Advice) -> str:
    others = advice.standings[1:]
    if not others:
        return "[Nothing else] fits your answers."
    ahead = [one for one in others if one.beside_first == "better"]
    if ahead:
        return " ".join(
            f"{_capital(_short(one.contestant))} is better over all sources. "
            f"But on {_kind(advice)} alone its interval is [all on the worse side]."
            for one in ahead[:1]
        )
    if advice.passed and advice.score == "auroc":
        return (
            f"Its AUROC is [higher] than that of {_short(advice.passed[-1])}: the interval of the "
            "difference lies above 0. No other that fits has one above 0 beside this one."
        )
    if advice.passed:
        return (
            f"It is [better] than {_short(advice.passed[-1])}, and nothing else that fits your "
            "answers is better than it."
        )
    if advice.score == "auroc":
        return "A temperature hardly helps here, but [nothing else] that fits is shown to."
    return (
        "Nothing else that fits your answers is [better than it]: where two are practically "
        "equal, or it is unclear, the cheaper one stays."
    )


def _images(one: Standing) -> list[tuple[str, str]]:
    if one.images is None:
        return []
    low, mean, high = (_signed(v, 3) for v in (one.images.low, one.images.mean, one.images.high))
    return [
        (
            f"With [LeNet-5 on MNIST-5000] alone: {mean} ({low} to {high}) beside one network.",
            BY_TASK,
        )
    ]


def _said(word: str, score: str) -> str:
    """Return a word of the contest, whose verdicts are for the NLL alone."""
    plain = {"better": "higher", "worse": "lower"} if score == "auroc" else {}
    return plain.get(word, word)


def _times(value: float) -> str:
    return f"{value:.{0 if value >= 10 else 1 if value >= 0.1 else 2}f} ×"


def _signed(value: float, digits: int) -> str:
    rounded = round(value, digits) + 0.0
    return f"{rounded:{'+' if rounded else ''}.{digits}f}".replace("-", "\N{MINUS SIGN}")


def _short(contestant: str) -> str:
    words = reading.label(contestant).replace(",", "")
    return f"a {words}" if contestant in COUNTED else words


def _capital(words: str) -> str:
    return words[0].upper() + words[1:]


def draw_conformal(
    before: Mapping[str, Sequence[float]], after: Mapping[str, Sequence[float]], unit: str
) -> plot.Figure:
    """Draw coverage and width of 90% intervals, a row a contestant: its own, and conformal ones.

    Both map contestants to (coverage, width); the first contestant is the reference.
    """
    reference = plot.PALETTE["single"]
    ends = {name: (before[name], after[name]) for name in before}
    with plot.house_style():
        figure, panels = plot.panels(
            2,
            height=0.34 * len(ends) + 0.2,
            sharey=True,
            left=2.05,
            right=0.2,
            above=0.56,
            top=0.3,
        )
        titles = "rows inside, %", f"mean width, {unit}"
        for i, (axes, title, scale) in enumerate(zip(panels, titles, (100, 1), strict=True)):
            for y, (name, pair) in enumerate(ends.items()):
                own = name.removesuffix("_scaled")
                ink = plot.PALETTE.get(own, plot.style.INK)
                first, last = (scale * values[i] for values in pair)
                called = reading.label(name)
                axes.plot([first, last], [y, y], color=ink, lw=1.4, label="_between")
                axes.plot(first, y, "o", ms=7, color=ink, mfc=PAGE, label=f"{called}, its own")
                axes.plot(last, y, "o", ms=7, color=ink, label=f"{called}, conformal")
            axes.set_title(title, pad=22)
            axes.set_ylim(len(ends) - 0.5, -0.5)
            axes.set_yticks(range(len(ends)), [reading.label(name) for name in ends])
            axes.tick_params(axis="y", length=0)
            axes.locator_params(axis="x", nbins=4, steps=[1, 2, 5, 10])
            # Of panels side by side only the first one has names.
            for name, words in zip(ends, axes.get_yticklabels(), strict=False):
                words.set_color(plot.PALETTE.get(name.removesuffix("_scaled"), plot.style.INK))
        lines = (PROMISED, 90.0), ("one network", next(iter(after.values()))[1])
        for axes, (line, x) in zip(panels, lines, strict=True):
            axes.axvline(x, color=reference, lw=1, ls=":")
            _name_lines(axes, {line: (x, reference)})
        mark = {"color": reference, "marker": "o", "ms": 7, "ls": ""}
        write_key(figure, {"its own": mark | {"mfc": PAGE}, "conformal": mark})
    return figure


def draw_ends(
    noise: Sequence[float], by_noise: Float[Array, " noises"], by_fifth: Float[Array, " 5"]
) -> plot.Figure:
    """Draw the part of rows in their interval: under noise, and from weak to strong concrete."""
    own = plot.PALETTE["single"]
    with plot.house_style():
        figure, panels = plot.panels(2, height=3.0, left=0.6)
        panels[0].plot(noise, 100 * by_noise, "o-", color=own)
        panels[0].set(title="rows inside, %", xlabel="noise on inputs")
        panels[1].plot(range(1, 6), 100 * by_fifth, "o", color=own, ms=7)
        panels[1].set(title="inside, by fifths, %", xlabel="predicted strength")
        panels[1].set(xlim=(0.5, 5.5))
        panels[1].set_xticks([1, 3, 5], ["weakest", "middle", "strongest"])
        # Where neither the curve nor the points are.
        for axes, x, side, under in zip(
            panels, (0.98, 0.02), ("right", "left"), ("bottom", "top"), strict=True
        ):
            axes.set_ylim(60, 100)
            axes.axhline(90, color=own, lw=1, ls=":")
            axes.annotate(
                PROMISED,
                (x, 90),
                (0, 2 if under == "bottom" else -2),
                xycoords=axes.get_yaxis_transform(),
                textcoords="offset points",
                color=own,
                ha=side,
                va=under,
                fontsize=SMALL,
            )
    return figure


def _name_lines(axes: Axes, lines: Mapping[str, tuple[float | int, str]]) -> None:
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


#: What is drawn of the relatives: no further than this many times one network's parameters.
MOST_KEPT = 100.0
TICKS = (0.01, 0.1, 1, 10, 100)
#: Networks whose relatives are counted, and where the axis of each begins.
NETWORKS = {"narrow": (64, 64, 64, 10), "wide": (4096,) * 4}
LEAST = {"narrow": 0.3, "wide": 0.005}
MORE = {"swag": ", 20 deviations", "laplace_last_layer": ", full"}


def relatives(members: int, network: str) -> dict[str, list[float]]:
    """Return what each relative trains and keeps, one network's parameters being 1."""
    sizes = NETWORKS[network]
    one = counting.mlp(sizes).total
    return {
        row.label + MORE.get(key, ""): [part.total / one for part in numbers(sizes, key, members)]
        for key, row in RELATIVES.items()
    }


def draw_relatives(members: int, network: str) -> plot.Figure:
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
        _name_lines(axes, {"one network": (1, own), "deep ensemble": (members, deep)})
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
