"""What a comparison says in sentences: its plan, its answer, and how it came to it."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ensedu.contest.contestants import REFERENCE
from ensedu.contest.rounds import FRESH
from ensedu.contest.tasks import PARTS

__all__ = ["digits", "listed", "named", "sentences", "verdicts", "words_of_decisions",
           "words_of_plan", "words_of_table"]  # fmt: skip

#: Labels with these endings take an article.
COUNTED = ("ensemble", "bnn", "model")
#: From so many rows on nobody has them.
NEVER = 10**8
Data = Mapping[str, Any]


def words_of_table(about: Data) -> str:
    """Return what was done with a table, as text to read before anything starts."""
    lines = ["{name}: {rows:,} rows; {target}, a {task}".format(**about), *about["notes"]]
    for one in about["columns"]:
        words = (one["kind"], one["treatment"], one["note"])
        lines.append(f"  {one['name']}: {', '.join(filter(None, words))}")
    return "\n".join(lines + [f"Warning: {words}" for words in about["warnings"]])


def words_of_plan(plan: Data) -> str:
    """Return a plan as text to read before it is carried out."""
    search, seconds, lines = plan["search"], plan["seconds"], []
    if plan["subsample"]:
        lines.append(
            "{rows:,} of {of:,} rows are drawn, to fit into the minutes: the answer holds for "
            "tables of that size.".format(**plan["subsample"])
        )
    lines.append(
        "Plan: {folds} folds; in each, {settings} settings at {lengths} lengths; trainings that "
        "are scored: {starts}".format(**plan, **search)
        + f"; trainings are {search['part']:g} times as long as usual" * (search["part"] < 1)
    )
    lines += [f"  {plan['labels'][k]}: about {seconds[k]:,.0f} seconds" for k in seconds]
    minutes = sum(seconds.values()) / plan["workers"] / 60
    lines.append(f"About {minutes:.1f} minutes on {plan['workers']} processes.")
    if minutes > plan["minutes"]:
        lines.append("That is longer than was asked for, but nothing can be made shorter.")
    return "\n".join(lines)


def sentences(data: Data) -> list[str]:
    """Return the answer: who predicts better than one network, how sure, what would settle it.

    `data` is that of a `Comparison`, finished or not.
    """
    table, plan = data["table"], data["plan"]
    if not data["finished"]:
        done = "Unfinished: {done} of {of} parts are done.".format(**data["progress"])
        return ["There is no answer yet.", f"{done} The same command goes on from there."]
    words = verdicts(data, True)
    each = {
        word: [one for one in words if one["word"].startswith(word)]
        for word in ("better", "practically equal", "unclear", "worse")
    }
    rows, target = f"these {table['rows_used']:,} rows", f"“{table['target']}”"
    better, unclear = each.pop("better"), each["unclear"]
    if better:
        one = better[0]
        little = "a little " * one["word"].endswith("by little")
        found = [
            f"On {rows}, {named(data, one)} predicts {target} {little}better than one network.",
            f"Its negative log-likelihood is lower by {digits(-one['difference'])} nats a row "
            f"(interval {digits(-one['high'])} to {digits(-one['low'])}; p = "
            f"{digits(one['p'], 1)}, which allows for all {len(words)} comparisons).",
        ]
    else:
        said = f"nothing is shown to predict {target} better than one network"
        if words and len(words) == len(each["practically equal"]):
            said = f"every method predicts {target} practically as well as one network"
        elif words and len(words) == len(each["worse"]):
            said = f"every other method predicts {target} worse than one network"
        take = "stay with one network"
        if data["best"] != REFERENCE:
            best = named(data, {"contestant": data["best"]})
            take = (
                f"take {best}, of those that are practically equal the one with fewest parameters"
            )
        take = f"unclear is not equal: until more rows tell, {take}" if unclear else take
        found = [f"On {rows}, {said}.", f"{take[0].upper()}{take[1:]}."]
    groups = {"better, too": better[1:]} | each
    lists = [
        f"{word.capitalize()}: {listed([named(data, one) for one in own])}."
        for word, own in groups.items() if own
    ]  # fmt: skip
    found += [" ".join(lists)] if lists else []
    if unclear:
        found.append(_settled(data, unclear))
    if sub := plan["subsample"]:
        found.append(
            f"This holds for tables of about {sub['rows']:,} rows, drawn from {sub['of']:,}: with "
            "all of them the order may be another."
        )
    if plan["search"]["starts"] < FRESH or plan["search"]["part"] < 1:
        found.append(
            "The minutes were few, so trainings are shorter, or fewer are scored: with more "
            "minutes the order may be another, too."
        )
    if table["splits"] == "time":
        found.append(
            "Folds follow each other in time, and the test supposes random ones: take its words as "
            "a description."
        )
    return found


def _settled(data: Data, unclear: Sequence[Data]) -> str:
    """Return how many rows would settle what is unclear, the nearest first."""
    n, near = data["table"]["rows_used"], sorted(unclear, key=lambda one: one["rows_to_settle"])
    within = [one for one in near if one["rows_to_settle"] < NEVER]
    if not within:
        return "Differences are so near to nothing that no number of rows would settle them."
    more = [float(f"{one['rows_to_settle'] - n:.0e}") for one in within[:3]]  # known no better
    parts = [f"{named(data, one)} with {by:,.0f}" for one, by in zip(within, more, strict=False)]
    return (
        "More rows of the same kind would settle each as likely as not, if its difference stays as "
        f"it is: {listed(parts)} more. These are guesses from the same five folds, often off by "
        "more than a factor of two, and at times of ten."
    )


def words_of_decisions(data: Data, failed: Mapping[str, str]) -> list[str]:
    """Return what was decided, and of those who could not be trained why."""
    table, plan = data["table"], data["plan"]
    cut = {
        "random": "at random", "group": f"that keep rows of one {table['by']} together",
        "time": f"in the order of {table['by']}",
    }[table["splits"]]  # fmt: skip
    fit, select, calibrate = (f"{PARTS[key]:.0%}" for key in ("fit", "select", "calibrate"))
    found = [
        *table["notes"],
        "How columns are read, and which are logarithms, is decided by all rows; means, medians "
        "and words are those of the rows that are trained on.",
        f"{plan['folds']} folds {cut}; each row is tested on at most once. In each fold {fit} of "
        f"the rows are trained on. Settings and lengths are chosen by the NLL on {select}, and "
        f"what is chosen is trained anew. On other {calibrate} a temperature is fitted, and "
        "intervals are calibrated, by conformal prediction.",
        "Folds are paired and tested by the corrected resampled t (Nadeau and Bengio 2003), with "
        "Holm's steps over all methods: by design at most about one table in 20 gets a wrong word "
        "with a temperature. Words without one are beside the answer, and err as often once more. "
        "An interval belongs to its test: several together hold less often than each.",
        "Practically equal are differences within a quarter of the standard deviation, over folds "
        "and trainings, of differences of two methods, the median of all pairs of them.",
        "The rows that would settle a difference suppose that it stays, and that its interval "
        "narrows with the root of the rows.",
        "The best was chosen by these folds, so its own score flatters it a little.",
        "What is saved is the answer's, as the last fold trained it, on "
        f"{fit} of the rows (in order of time, of those before that fold): trained on all, it may "
        "predict a little better, but nothing would calibrate it.",
    ]
    return found + [f"{plan['labels'][k]} is left out: {why}" for k, why in failed.items()]


def verdicts(data: Data, temperature: bool) -> list[Data]:
    """Return the verdicts with a temperature, or those without, the best first."""
    found = [one for one in data["verdicts"] if one["temperature"] is temperature]
    return sorted(found, key=lambda one: one["difference"])


def named(data: Data, one: Data) -> str:
    """Return a contestant as a sentence has it."""
    label = data["plan"]["labels"][one["contestant"]]
    return "a " * label.lower().endswith(COUNTED) + label


def listed(names: Sequence[str]) -> str:
    """Return "a, b and c"."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def digits(value: float | int, number: int = 2) -> str:
    """Return a number with so many digits that count, and a minus sign."""
    if value and abs(value) < 10.0 ** -(number + 2):
        return f"{value:.0e}".replace("e-0", "e-").replace("-", "−")
    decimals = max(0, number - 1 - math.floor(math.log10(abs(value)))) if value else 0
    return f"{value:,.{decimals}f}".replace("-", "−")
