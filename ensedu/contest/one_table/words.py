"""What a comparison says in sentences: its plan, its answer, its pictures, what was decided."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict

from ensedu.contest.contestants import REFERENCE
from ensedu.contest.one_split import SCORED_STARTS
from ensedu.contest.one_table.findings import Coverage, Findings, Verdict
from ensedu.contest.one_table.plans import BUDGET_SHARE, ComparisonPlan
from ensedu.contest.one_table.tables import TableDescription
from ensedu.contest.tasks import SHARES, Task
from ensedu.contest.trainers.networks import MEMBERS

#: Labels with these endings take an article.
WITH_ARTICLE = ("ensemble", "bnn", "model")
#: From so many times the rows on, nobody can tell how many would settle a difference.
FAR = 100
FRACTIONS = {0.5: "half", 0.25: "a quarter"}
#: Who has one variance for all rows.
ONE_VARIANCE = ("linear", "boosting")
#: Who is compared, by key.
METHOD_WORDS = {
    REFERENCE: f"It has hidden layers of {' and '.join(map(str, Task.hidden))} units",
    "deep_ensemble": f"a deep ensemble averages {MEMBERS} of them",
    "batch_ensemble": f"a BatchEnsemble averages {MEMBERS} that share their matrices",
    "linear": "the linear model is scikit-learn's Ridge or LogisticRegression",
    "boosting": "gradient boosting is its HistGradientBoosting",
}


def describe_table(table: TableDescription) -> str:
    """Return what was done with a table, as text to read before anything starts."""
    lines = [f"{table.name}: {table.rows:,} rows; {table.target}, a {table.task}", *table.notes]
    for column in table.columns:
        words = ", ".join(filter(None, (column.kind, column.treatment, column.note)))
        lines.append(f"  {column.name}: {words}")
    return "\n".join(lines + [f"Warning: {words}" for words in table.warnings])


def describe_plan(plan: ComparisonPlan) -> str:
    """Return a plan as text to read before it is carried out."""
    search, minutes = plan.search, sum(plan.seconds.values()) / plan.workers / 60
    lines = [
        f"Plan: {plan.folds} folds; in each, {search.settings} settings at {search.lengths} "
        f"lengths; trainings that are scored: {search.starts}.",
        *_limits(plan),
    ]
    lines += [f"  {plan.labels[k]}: about {each:,.0f} seconds" for k, each in plan.seconds.items()]
    lines.append(
        f"About {minutes:.1f} minutes, with {plan.workers} at a time, by one timed training of "
        "each; on a machine that becomes busier, longer in proportion."
    )
    if minutes > plan.minutes:
        lines.insert(
            0,
            f"Even the shortest plan takes longer than {plan.minutes:g} minutes: give --minutes "
            f"{math.ceil(minutes / BUDGET_SHARE)}, or, in Python, fewer contestants.",
        )
    return "\n".join(lines)


def report_json(findings: Findings) -> str:
    """Return ``report.json``: what was found, and what is said of it."""
    answer, data = " ".join(sentences(findings)), asdict(findings)
    data |= {"answer": answer, "decisions": decisions(findings)}
    data["table"]["unit_note"] = _unit(findings.table)
    return json.dumps(data, indent=1, ensure_ascii=False)


def sentences(findings: Findings) -> list[str]:
    """Return the answer: who predicts better than one network, how sure, what would settle it."""
    table, plan, ranked = findings.table, findings.plan, findings.ranked()
    if not findings.finished:
        done = "Unfinished: {done} of {of} parts are done.".format(**findings.progress)
        return ["There is no answer yet.", f"{done} The same command goes on from there."]
    each = {
        word: [one for one in ranked if one.word.startswith(word)]
        for word in ("better", "practically equal", "unclear", "worse")
    }
    rows, target = f"these {table.rows_used:,} rows", f"“{table.target}”"
    better, unclear = each.pop("better"), each["unclear"]
    if better:
        one = better[0]
        little = "a little " * one.word.endswith("by little")
        lines = [
            f"On {rows}, {_label(findings, one.contestant)} predicts {target} {little}better than "
            "one network.",
            f"Its negative log-likelihood is lower by {digits(-one.difference)} nats a row "
            f"(interval {digits(-one.high)} to {digits(-one.low)}; p = {digits(one.p, 1)}, which "
            f"allows for all {len(ranked)} comparisons).",
        ]
    else:
        first = f"nothing is shown to predict {target} better than one network"
        if ranked and len(ranked) == len(each["practically equal"]):
            first = f"every method predicts {target} practically as well as one network"
        elif ranked and len(ranked) == len(each["worse"]):
            first = f"every other method predicts {target} worse than one network"
        take = "stay with one network"
        if findings.best != REFERENCE:
            take = (
                f"take {_label(findings, findings.best)}, of those that are practically equal the "
                "one with fewest parameters"
            )
        take = f"unclear is not equal: until more rows tell, {take}" if unclear else take
        lines = [f"On {rows}, {first}.", f"{take[0].upper()}{take[1:]}."]
    lists = [
        f"{word.capitalize()}: {_join([_label(findings, one.contestant) for one in group])}."
        for word, group in ({"better, too": better[1:]} | each).items() if group
    ]  # fmt: skip
    lines += [" ".join(lists)] if lists else []
    if not table.classes and any(one.contestant in ONE_VARIANCE for one in each["worse"]):
        lines.append(
            "Words are about means and variances together, and models of scikit-learn have one "
            "variance for all rows: their means may be as good, so see the RMSE below, too."
        )
    if unclear:
        lines.append(_rows_needed(findings, unclear))
    lines += _limits(plan)
    if table.splits == "time":
        lines.append(
            "Folds follow each other in time, and the test supposes random ones: take its words as "
            "a description."
        )
    return lines


def _limits(plan: ComparisonPlan) -> list[str]:
    """Return what the minutes did not allow."""
    lines, search = [], plan.search
    if sub := plan.subsample:
        lines.append(
            f"{sub.rows:,} of {sub.of:,} rows are drawn, to fit into the minutes: words hold for "
            "tables of that size, and with all rows the order may be another."
        )
    few = []
    if search.part < 1:
        few.append(f"trainings are {FRACTIONS[search.part]} as long as usual")
    if search.starts < SCORED_STARTS:
        few.append(f"each method is scored by {search.starts} a fold instead of {SCORED_STARTS}")
    if few:
        lines.append(
            f"The minutes are few, so {_join(few)}: with more minutes the order may be another."
        )
    return lines


def _rows_needed(findings: Findings, unclear: Sequence[Verdict]) -> str:
    """Return how many rows would settle what is unclear, the nearest first."""
    n = findings.table.rows_used
    needed = {one.contestant: one.rows_to_settle or 0 for one in unclear}
    near = [name for name in sorted(needed, key=needed.__getitem__) if needed[name] < FAR * n]
    if not near:
        return (
            "How many more rows would settle what is unclear? Too many to tell: differences are "
            "too small beside their intervals."
        )
    more = [f"{float(f'{needed[name] - n:.0e}'):,.0f}" for name in near[:3]]  # known no better
    parts = [f"{by} for {_label(findings, name)}" for name, by in zip(near, more, strict=False)]
    far = "; for others it is too many to tell" * (len(near) < len(needed))
    return (
        "For an even chance to settle what is unclear, so many more rows of the same kind are "
        f"needed, if differences stay as they are: {_join(parts)}{far}. These are guesses from the "
        "same five folds, often off by more than a factor of two, and at times of ten."
    )


def decisions(findings: Findings) -> list[str]:
    """Return what was decided, and of those who could not be trained why."""
    table, plan = findings.table, findings.plan
    cut = {
        "random": "at random", "group": f"that keep rows of one {table.by} together",
        "time": f"in the order of {table.by}",
    }[table.splits]  # fmt: skip
    outliers = (
        " Of numbers a temperature is the mean square of standardized errors: one row that is far "
        "off makes it too large, so see the words without one, too."
    )
    fit, select, calibrate = (f"{SHARES[key]:.0%}" for key in ("fit", "select", "calibrate"))
    lines = [
        *table.notes,
        "How columns are read, and which are logarithms, is decided by all rows; means, medians "
        "and words are those of the rows that are trained on.",
        f"{plan.folds} folds {cut}; each row is tested on at most once. In each fold {fit} of "
        f"the rows are trained on. Settings and lengths are chosen by the NLL on {select}, and "
        f"what is chosen is trained anew. On other {calibrate} a temperature is fitted, and "
        "intervals are calibrated, by conformal prediction." + outliers * (not table.classes),
        "Folds are paired and tested by the corrected resampled t (Nadeau and Bengio 2003), with "
        "Holm's steps over all methods: by design at most about one table in 20 gets a wrong word "
        "with a temperature. The correction is an approximation, because folds share rows to train "
        "on. Words without one are beside the answer, and err as often once more. An interval has "
        "the level of its test, 95% or more; several together hold less often than each.",
        "Practically equal are differences within a quarter of the standard deviation, over folds "
        "and trainings, of differences of two methods, the median of all pairs of them. That is "
        "how far luck moves them, and not what matters to you: for that read the intervals.",
        "The rows that would settle a difference suppose that it stays, and that its interval "
        "narrows with the root of the rows.",
        "The best was chosen by these folds, so its own score flatters it a little.",
        "What is saved is the answer's, as the last fold trained it, on "
        f"{fit} of the rows (in order of time, of those before that fold): trained on all, it may "
        "predict a little better, but nothing would calibrate it.",
    ]
    return lines + [f"{plan.labels[k]} is left out: {why}" for k, why in findings.failed.items()]


def explain_differences(findings: Findings) -> str:
    """Return who is compared, and how the picture of differences is read."""
    classes, margin = findings.table.classes, digits(findings.ranked()[0].margin)
    who = "; ".join(words for name, words in METHOD_WORDS.items() if name in findings.plan.labels)
    sure, gave = ("probabilities", "probability") if classes else ("variances", "density")
    nll = "the log loss of scikit-learn" if classes else (
        "minus the logarithm of the density that a method gave to what came"
    )  # fmt: skip
    spread = " Networks have a variance for each row, models of scikit-learn one for all."
    return (
        f"All are compared with one network, not with each other. {who}. A temperature is one "
        f"number, fitted on rows of its own, that makes all {sure} of a method larger or smaller."
        f"{spread * (not classes)}\n"
        "The gray line is one network. A dot is the mean difference of a method from it in "
        f"negative log-likelihood (NLL), in {_unit(findings.table)}: {nll}; left is better. Where "
        f"it is 0.1 lower, what came had 1.1 times the {gave}. Small ticks are the folds. A line "
        "is the interval of the difference at the level of its test: it leaves out 0 only where a "
        "difference is found, at 5% over all methods together. Within the gray band, ± "
        f"{margin} with a temperature, a difference is practically none. An arrow goes on beyond "
        "the picture."
    )


def explain_coverage(findings: Findings) -> str:
    """Return how the picture of intervals, or sets, is read."""
    what = "Sets of classes" if findings.table.classes else "Intervals"
    promise = (
        ", the band where luck leaves 19 of 20 tables." if findings.table.splits == "random" else
        ". The promise is for rows that come in any order and each by itself: here it is not "
        "proved, only counted."
    )  # fmt: skip
    rare = (
        " It is a promise over all rows, not for each class, and sets may hold a rare class less "
        "often: `estimator.coverage(X, y, by=y)` counts each."
    )
    return (
        f"{what} of {_label(findings, findings.best)}, calibrated on rows that it did not train "
        "on: how many of the tested rows they hold (dot). The upright line is what is promised, "
        f"the ring the worst group of rows by one column{promise}"
        + rare
        * bool(findings.table.classes)
    )


def describe_worst(one: Coverage) -> str:
    """Return which group of rows fares worst."""
    if (worst := one.worst) is None:
        return ""
    luck = "hardly by luck" if worst.p < 0.05 else "which luck can bring about"
    return (
        f"Worst where {worst.column} is {worst.value}: {worst.inside:,} of {worst.rows:,}, "
        f"{worst.inside / worst.rows:.0%}, {luck}."
    )


def explain_check(findings: Findings) -> str:
    """Return what the bet on the last fold is."""
    order = (
        "The last fold is the latest in time." if findings.table.splits == "time" else
        "The last fold is like the others by design, so it should find nothing here: it shows what "
        "you will see when you check rows of your own."
    )  # fmt: skip
    return (
        "`estimator.check` begins with 1 and bets that rows are unlike those that calibrated. If "
        f"they are alike, it ever has 20 in at most one of 20 watches. {order}"
    )


def explain_costs(findings: Findings) -> str:
    """Return what the table of costs has."""
    error = "share of wrong classes"
    if not findings.table.classes:
        error = f"root mean squared error of {'log ' * findings.table.log}{findings.table.target}"
    others = "" if findings.finished else ", of which each method has done other ones"
    return (
        f"The {error} on rows that were not trained on, beside what a method costs. In each column "
        "a dot further left is better; those of costs stand as their logarithms. Words are about "
        "the negative log-likelihood (NLL, see below), here with a temperature: errors have no "
        "test. Costs are those of one training of "
        "the length that was chosen, on one thread of this machine, without the search. All are "
        f"means over folds{others}."
    )


def explain_sizes() -> str:
    """Return what the table of two sizes has."""
    return (
        "The negative log-likelihood with a temperature, on half of the rows and on all that were "
        "drawn, with the settings and epochs that were chosen on all; lower is better. Where it "
        "falls, more rows, and the steps that come with them, help; where one passes another, the "
        "order may change. No test stands behind it."
    )


def _unit(table: TableDescription) -> str:
    density = f", of the density of {'the logarithm of ' * table.log}{table.target}"
    return f"nats an example{density * (not table.classes)}"


def _label(findings: Findings, name: str) -> str:
    """Return a contestant as a sentence has it."""
    label = findings.plan.labels[name]
    return "a " * label.lower().endswith(WITH_ARTICLE) + label


def _join(names: Sequence[str]) -> str:
    """Return "a, b and c"."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def digits(value: float | int, number: int = 2) -> str:
    """Return a number with so many digits that count, and a minus sign."""
    if value and abs(value) < 10.0 ** -(number + 2):
        return f"{value:.0e}".replace("e-0", "e-").replace("-", "−")
    decimals = max(0, number - 1 - math.floor(math.log10(abs(value)))) if value else 0
    return f"{value:,.{decimals}f}".replace("-", "−")
