"""Which one should you use: the guide's words, and what the page's figures draw and say."""

from collections.abc import Callable, Mapping, Sequence
from urllib.parse import quote

import numpy as np
from jaxtyping import Bool, Float
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.patches import Rectangle
from numpy import ndarray as Array

from ensedu import plot
from ensedu.book.experiments.contest import reading
from ensedu.book.experiments.contest.advice import (
    CANDIDATES,
    Advice,
    Standing,
    price,
    ruled_out,
    word,
)
from ensedu.book.figures.best import brief, of_reference
from ensedu.book.figures.relatives import name_lines
from ensedu.book.page.guide import Candidate, Entry, Guide, Question, Ranked, guide
from ensedu.book.page.ranking import Measure, Score
from ensedu.contest.contestants import CONTESTANTS
from ensedu.contest.statistics import Pooled, TaskDifference
from ensedu.plot.panels import write_key
from ensedu.plot.style import MUTED, PAGE, heat_colors
from ensedu.plot.text_layout import SMALL
from ensedu.uncertainty import Interval

CONTEST = "../learning/shootout.html#fig-contest"
COST, BY_TASK, OUTSIDE = (f"{CONTEST}-{name}" for name in ("cost", "tasks", "ood"))
#: The same figure with everybody beside one network with a temperature.
SCALED = f"{CONTEST}:beside={quote(of_reference(reading.label(reading.SCALED))[0])}"
PUBLISHED = "../counting/comparison.html#what-did-others-measure"
TERM = "../glossary.html#term"
TEMPERATURE, NLL, LAST_LAYER = (
    f"{TERM}-{name}" for name in ("temperature", "negative-log-likelihood", "last-layer-ensemble")
)
#: What explains a candidate.
RIVALS = "../learning/shootout.html#how-far-does-luck-move-a-score"
EXPLAINED = {
    **dict.fromkeys(("wide", "long", "boosting", "linear"), RIVALS),
    reading.SCALED: "../learning/more-from-one-network.html",
    "deep_ensemble": "../learning/deep-ensembles.html",
    "batch_ensemble": "../learning/batch-ensemble.html",
    "rank1": "../learning/rank-1-bnn.html",
    "mean_field": "../learning/bayes-by-backprop.html",
    "mc_dropout": "../learning/mc-dropout.html",
    "last_layer": LAST_LAYER,
    "swag": f"{TERM}-SWAG", "laplace": f"{TERM}-Laplace-approximation", "ivon": f"{TERM}-IVON",
}  # fmt: skip
#: Published NLL of WRN-28-10 on CIFAR-100, by what the table there calls methods.
CIFAR = {"deterministic": 0.875, "BatchEnsemble": 0.690, "MIMO": 0.690, "deep ensemble": 0.666}

CAPTION = (
    "Your answers decide what is recommended, and which methods are ruled out. A pass is one run "
    "of a network, or of one member."
)
#: What a candidate costs, one network's being 1, but for passes.
COSTS = ("parameters", "training", "passes")
UNIT = ("compared with [one network]", COST)
NOTES = (
    (
        "[95% interval]\non your kind of data",
        CONTEST,
    ),
    (
        "The thick bar is the [95% interval] over all sources, the thin one that over your kind of "
        "target alone, numbers or classes.",
        CONTEST,
    ),
    ("Verdicts are [the contest's], beside the recommended one.", SCALED),
    (
        "Those of NLL are [corrected for many comparisons], so a bar below 0 need not be better; "
        "those of an AUROC are not.",
        CONTEST,
    ),
    ("A unit is what luck with split and random seed usually changes an [NLL].", NLL),
    ("A [last-layer ensemble] shares all layers but the last.", LAST_LAYER),
    (
        "On numbers, gradient boosting and the linear model have [one variance for all rows], and "
        "so an AUROC of 0.5.",
        OUTSIDE,
    ),
)
CAPTION_SOURCES = (
    "Beside one network with a temperature most differences are unclear, and so are the averages "
    "that decide. Color is the difference in NLL, strongest from 2 units on. Stripes: the 95% "
    "interval over splits includes 0. In the last row they are the contest's verdict."
)
CAPTION_CONFORMAL = (
    "With a factor of its own, each method's 90% intervals hold about 90% of the rows, but they "
    "are not equally narrow: concrete, averages over splits and random seeds. Hollow is before, "
    "filled after; the dotted line is one network."
)
CAPTION_ENDS = (
    "Conformal intervals keep their promise on average, but neither under noise on the inputs nor "
    "for each fifth of the mixtures: least squares on concrete, 60 splits. Noise is in standard "
    "deviations of each input."
)
#: Units from which on a difference has the deepest color.
STRONGEST = 2.0
#: What a line at 90% means.
PROMISED = "promised: 90%"
MEASURES = {
    "nll": Measure("NLL beside one network", "lower", 2, "units"),
    "auroc": Measure("AUROC beside one network", "higher", 3),
}
#: What is said where the contest has nothing, and beside whom it says the rest.
UNMEASURED, FIRST = "not measured for such inputs", "the recommended one"
#: How its verdicts lead to that one.
THAN = {"practically equal": "to", "unclear": "beside"}
#: Why an answer rules a candidate out, and the place of the cost that does.
REASONS: Mapping[str, tuple[str, int | None]] = {
    "inputs": ("tables only", None),
    "trained": ("trained anew", None),
    "passes": ("too many passes", 2),
    "memory": ("too many parameters", 0),
    "time": ("too long to train", 1),
}
#: What stands above what in the list.
ORDER = {"recommended": 0, "fits": 1, "unknown": 1, "out": 2}
#: Who is called by an article.
COUNTED = ("deep_ensemble", "batch_ensemble", "rank1", "mean_field", "last_layer", "linear")
QUESTIONS = (
    Question("outside", "Must it notice unfamiliar inputs?", {"no": "no", "yes": "yes"}),
    Question(
        "memory", "About how many networks fit into memory?",
        {"one": "one", "four": "four", "twenty": "no limit"},
    ),
    Question(
        "passes", "How many runs for a prediction?",
        {"one": "one", "four": "four", "many": "32"},
    ),
    Question(
        "target", "What is predicted?", {"number": "a number", "class": "a class"}, more=True
    ),
    Question(
        "time", "How long may training take?",
        {"four": "any time", "one": "twice one network's"}, more=True,
    ),
    Question(
        "inputs", "What are the inputs?",
        {"table": "a table", "images": "small images", "large": "larger"}, more=True,
    ),
    Question("trained", "Is a network trained already?", {"no": "no", "yes": "yes"}, more=True),
)  # fmt: skip

#: What a reader may come with, to answers.
SITUATIONS = {
    "800 rows, a number and its interval, room for four networks": {
        "target": "number", "memory": "four", "passes": "four",
    },
    "a class on a phone: one pass, one network's memory": {
        "target": "class", "memory": "one", "passes": "one",
    },
    "out-of-distribution inputs, one network's memory, four passes": {
        "target": "class", "memory": "one", "passes": "four", "outside": "yes",
    },
}  # fmt: skip


def guided(advise: Callable[..., Advice], *, name: str, caption: str) -> Guide:
    """Return the guide that ranks by this rule."""
    return guide(
        QUESTIONS,
        lambda **answers: ranked(advise(**answers)),
        name=name,
        caption=caption,
        costs=COSTS,
        notes=NOTES,
    )


def ranked(advice: Advice) -> Ranked:
    """Return what is recommended, in words, and how all candidates stand beside it."""
    first = recommended(advice)
    means = {name: one.interval.mean for name, one in reading.compared(advice.score).items()}
    best = sorted(CANDIDATES, key=means.__getitem__, reverse=advice.score == "auroc")
    rows = [_candidate(name, advice) for name in best]
    # Those of which the same is said stand together, in the order of the best of them.
    said = {(ORDER[one.state], one.said): i for i, one in reversed([*enumerate(rows)])}
    rows.sort(key=lambda one: (ORDER[one.state], said[ORDER[one.state], one.said]))
    return Ranked(first, rows, MEASURES[advice.score])


def recommended(advice: Advice) -> Entry:
    """Return who is recommended, and what decides."""
    if not advice.standings:
        return _unmeasured(advice)
    first = advice.standings[0]
    lead = [
        (_reason(advice), OUTSIDE if advice.score == "auroc" else SCALED),
        *_images(first),
    ]
    if advice.answers["trained"] == "yes":
        lead.append(("SWAG is fitted [while a network trains], so it trains anew, too.", CONTEST))
    named = first.contestant
    return Entry(_label(named), lead, _method(named), _costs(named), UNIT)


def _candidate(name: str, advice: Advice) -> Candidate:
    """Return a row of the list; its bar does not change with what is ruled out."""
    difference = reading.compared(advice.score)[name]
    found = difference.interval
    own = reading.compared(advice.score, kind=_kind(advice)).get(name)
    reasons = _reasons(name, advice.answers) if advice.standings else {}
    standing = next((one for one in advice.standings if one.contestant == name), None)
    if not advice.standings:
        said, state = UNMEASURED, "unknown"
    elif standing is None:
        said, state = next(iter(reasons)), "out"
    elif standing.beside_first is None:
        said, state = "recommended", "recommended"
    else:
        verdict = standing.beside_first
        said = f"{_said(verdict, advice.score)} {THAN.get(verdict, 'than')} {FIRST}"
        state = "fits"
        if standing.stopped:
            said = f"worse than {FIRST} on {_kind(advice)}"
    says = word(difference, advice.score)
    return Candidate(
        _capital(brief(of_reference(reading.label(name))[0])),
        Score(found.mean, (found.low, found.high), says if says in ("better", "worse") else ""),
        said,
        state,
        _costs(name),
        [place for place in reasons.values() if place is not None],
        (own.interval.low, own.interval.high) if own else None,
        _method(name),
        EXPLAINED[name],
    )


def _reasons(name: str, answers: Mapping[str, str]) -> dict[str, int | None]:
    """Return in words why answers rule a candidate out, each with the place of the cost."""
    return dict(REASONS[question] for question in ruled_out(name, answers))


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
            ("The contest had [small networks and small data] only, so it cannot say.",
             CONTEST),
            ("[A temperature] costs one parameter, and rows that you hold out." + doubt,
             TEMPERATURE),
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
            f"{_capital(_short(one.contestant))} is better over all sources, "
            f"but on {_kind(advice)} alone its interval is [all on the worse side]."
            for one in ahead[:1]
        )
    if advice.passed and advice.score == "auroc":
        return (
            f"Its AUROC is [higher] than that of {_short(advice.passed[-1])}, and none that fits "
            "your answers is shown to be higher."
        )
    if advice.passed:
        return (
            f"It is [better] than {_short(advice.passed[-1])}, and no other method that fits your "
            "answers is better still."
        )
    if advice.score == "auroc":
        return (
            "A temperature hardly helps to notice such inputs, but [no other method] that fits "
            "your answers is shown to help more."
        )
    return "No other method that fits is [better]. Where that is unclear, the cheaper one stays."


def _costs(contestant: str) -> tuple[str, ...]:
    """Return what a candidate costs, in the order of `COSTS`."""
    cost = price(contestant)
    return _times(cost.kept), _times(cost.train), str(cost.passes)


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


def is_clear(interval: Interval) -> bool:
    """Say whether 0 lies outside of an interval."""
    return not interval.low <= 0 <= interval.high


def draw_sources(
    differences: Mapping[str, Mapping[str, TaskDifference]], average: Mapping[str, Pooled]
) -> plot.Figure:
    """Draw a cell for each data set and contestant, striped where nobody can tell.

    A phone has room for half of the contestants side by side, so the others stand below them.
    `differences` are by what a data set is called, and by contestant; `average` is over all.
    """
    names = sorted(next(iter(differences.values())), key=lambda name: average[name].interval.mean)
    values = np.array([[own[name].scaled for name in names] for own in differences.values()])
    clear = np.array(
        [[is_clear(own[name].interval) for name in names] for own in differences.values()]
    )
    last = np.array([[average[name].interval.mean for name in names]])
    said = np.array([[average[name].word in ("better", "worse") for name in names]])
    halves = np.array_split(np.arange(len(names)), 2 if plot.look().narrow else 1)
    above = 1.92  # inches, for a key and names of contestants
    with plot.house_style():
        figure, panels = plot.panels(
            len(halves), height=0.21 * (len(values) + 1.5), left=1.72, right=0.12, above=above,
            below=0.1,
        )  # fmt: skip
        for axes, columns in zip(panels, halves, strict=True):
            for start, cells, solid in ((0.0, values, clear), (len(values) + 0.5, last, said)):
                _draw_cells(axes, start, cells[:, columns], solid[:, columns])
            rows = [*np.arange(len(values)), len(values) + 0.5]
            axes.set_yticks([row + 0.5 for row in rows], [*differences, "all, averaged"])
            shown = [names[column] for column in columns]
            axes.set_xticks(
                np.arange(len(shown)) + 0.5,
                [_capital(brief(reading.label(name))) for name in shown],
                rotation=90,
            )
            axes.tick_params(length=0, top=True, bottom=False, labeltop=True, labelbottom=False)
            for words, name in zip(axes.get_xticklabels(), shown, strict=True):
                words.set_color(plot.PALETTE.get(name, plot.style.INK))
            axes.set(xlim=(0, len(shown)), ylim=(len(values) + 1.5, 0))
            axes.grid(visible=False)
            axes.spines[:].set_visible(False)
        low, high = heat_colors()([0.15, 0.85])
        mark = {"marker": "s", "ms": 9, "ls": ""}
        key = {
            "lower NLL": mark | {"color": low},
            "higher NLL": mark | {"color": high},
            "striped: unclear": {"marker": "$////$", "ms": 11, "ls": "", "color": MUTED},
        }
        for axes in panels:
            write_key(
                figure, key, figure.get_figheight() * (1 - axes.get_position().y1) - above
            )  # fmt: skip
    return figure


def _draw_cells(
    axes: Axes, start: float, values: Float[Array, "m n"], solid: Bool[Array, "m n"]
) -> None:
    """Color cells from a row on, and cut stripes out of those that are not solid."""
    rows, columns = values.shape
    x, y = np.arange(columns + 1), start + np.arange(rows + 1)
    axes.pcolormesh(
        x, y, values, cmap=heat_colors(), vmin=-STRONGEST, vmax=STRONGEST, edgecolors=PAGE, lw=0.8
    )
    striped = [
        Rectangle((column, start + row), 1, 1) for row, column in np.argwhere(~solid).tolist()
    ]
    stripes = PatchCollection(
        striped, facecolors="none", edgecolors=PAGE, linewidths=0.8, hatch="/////"
    )
    axes.add_collection(stripes)


def say_sources(differences: Mapping[str, Mapping[str, TaskDifference]]) -> str:
    """Say how many cells are clear."""
    cells = [one for own in differences.values() for one in own.values()]
    clear = sum(is_clear(one.interval) for one in cells)
    return f"Of {len(cells)} differences from one network with a temperature, {clear} are clear."


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
            name_lines(axes, {line: (x, reference)})
        mark = {"color": reference, "marker": "o", "ms": 7, "ls": ""}
        write_key(figure, {"its own": mark | {"mfc": PAGE}, "conformal": mark})
    return figure


def say_conformal(after: Mapping[str, Sequence[float]]) -> str:
    """Say whose conformal intervals are the narrowest."""
    narrow = min(after, key=lambda name: after[name][1])
    return f"With a factor for each, {reading.label(narrow)} has the narrowest intervals."


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


def say_ends(by_noise: Float[Array, " noises"], by_fifth: Float[Array, " 5"]) -> str:
    """Say how many rows are inside where there are least."""
    return (
        f"90% intervals hold {100 * by_noise[-1]:.0f}% of the rows under the strongest noise, and "
        f"{100 * by_fifth[-1]:.0f}% of the strongest fifth."
    )
