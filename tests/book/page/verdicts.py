"""A ranking and a guide that several tests look at; all numbers and reasons are invented."""

from ensedu.book.page.guide import Candidate, Entry, Question, Ranked, guide
from ensedu.book.page.ranking import Measure, Score, ranking

MEASURES = [
    Measure("parameters", "lower", 0),
    Measure("accuracy", "higher", 1, "%"),
    Measure("NLL", "lower", 3, "nats"),
    Measure("RMSE", "lower", 2),
    Measure("ECE", "lower", 3),
    Measure("AUROC", "higher", 2),
]
DIGITS = {
    "mc_dropout": {
        "parameters": 5514,
        "accuracy": Score(96.1, (-0.9, 0.4)),
        "NLL": Score(0.131, (0.003, 0.031), "worse"),
        "ECE": Score(0.019, (-0.004, 0.006)),
        "AUROC": Score(0.93, (-0.01, 0.02)),
    },
    "single": {"parameters": 5514, "accuracy": 96.3, "NLL": 0.114, "ECE": 0.018, "AUROC": 0.92},
    "deep_ensemble": {
        "parameters": 22056,
        "accuracy": Score(97.4, (0.7, 1.5), "better"),
        "NLL": Score(0.071, (-0.053, -0.031), "better"),
        "ECE": Score(0.011, (-0.011, -0.003), "better"),
        "AUROC": Score(0.95, (0.02, 0.04), "better"),
    },
    "batch_ensemble": {
        "parameters": 6502,
        "accuracy": Score(96.7, (-0.2, 1.0)),
        "NLL": Score(0.098, (-0.027, -0.005), "better"),
        "ECE": Score(0.018, (-0.005, 0.005)),
        "AUROC": Score(0.92, (-0.01, 0.01)),
    },
    "rank1": {
        "parameters": 7490,
        "accuracy": Score(96.2, (-0.7, 0.5)),
        "NLL": Score(0.105, (-0.021, 0.003)),
        "ECE": Score(0.015, (-0.008, 0.002)),
        "AUROC": None,
    },
    "one of equal size": {
        "parameters": 22060,
        "accuracy": Score(96.6, (-0.3, 0.9)),
        "NLL": Score(0.110, (-0.015, 0.007)),
        "ECE": Score(0.024, (0.002, 0.010), "worse"),
        "AUROC": Score(0.92, (-0.01, 0.01)),
    },
}
HOUSES = {
    "single": {"parameters": 701, "NLL": -0.25, "RMSE": 3.1},
    "deep_ensemble": {
        "parameters": 2804,
        "NLL": Score(-0.5, (-0.4, -0.1), "better"),
        "RMSE": Score(3.1, (-0.2, 0.2)),
    },
}


def results():
    return ranking(
        {"digits": DIGITS, "houses": HOUSES},
        MEASURES,
        start="NLL",
        name="fig-results",
        caption="Who is best depends on what you ask, and on the data.",
        reference="single",
        colors={"one of equal size": "single"},
        choose="Data set",
    )


def one_table():
    return ranking(DIGITS, MEASURES, start="ECE", name="fig-one", reference="single", caption="One")


QUESTIONS = [
    Question("trained", "Have you a trained network?", {"no": "no", "yes": "yes, and it stays"}),
    Question(
        "memory",
        "What fits into memory?",
        {"one": "one network", "two": "two networks", "many": "four or more"},
    ),
    Question(
        "rows",
        "How many rows?",
        {"2": "two", "3": "three", "5": "five", "7": "seven", "11": "eleven"},
        more=True,
    ),
]
ENTRIES = {
    "scaled": Entry(
        "Scale its temperature", [("One number mends [most] of it.", "temperature.html")]
    ),
    "batch": Entry(
        "BatchEnsemble",
        [("It is nearly as small as one.", "shootout.html#fig-size"),
         ("It takes [passes].", "#fig-cost")],
        "batch_ensemble",
        ["1.1"],
        ("[of one]", "#fig-one"),
    ),
    "deep": Entry(
        "Deep ensemble", [("It is [best] wherever it fits.", "shootout.html#fig-contest")],
        "deep_ensemble",
    ),
}  # fmt: skip


MEASURE = Measure("NLL", "lower", 2, "nats")
SCORES = {
    "deep": Score(-0.31, (-0.5, -0.12), "better"),
    "batch": Score(-0.13, (-0.3, 0.04)),
    "scaled": Score(0.0, (-0.02, 0.02)),
}
EXPLAINED = {"deep": "deep.html", "batch": "batch.html#what", "scaled": ""}
NETWORKS = {"deep": "4", "batch": "1.1", "scaled": "1"}
NOTES = [("Bars are [intervals].\nAll of them.", "shootout.html#fig-contest")]


def ranked(trained, memory, rows):
    """Return what hangs on all three answers; a list only of fewer than seven rows."""
    names = ["scaled", "batch", "deep"][: ["one", "two", "many"].index(memory) + 1]
    if trained == "no" and rows != "11":
        names.reverse()
    if rows == "7":
        return Ranked(ENTRIES[names[0]])

    def candidate(name):
        state = "recommended" if name == names[0] else "fits" if name in names else "out"
        said = {"recommended": "recommended", "fits": "unclear", "out": "needs room"}[state]
        own = (-0.2, 0.1) if trained == "yes" else None
        entry = ENTRIES[name]
        over = [0] if state == "out" else []
        return Candidate(
            entry.label, SCORES[name], said, state, [NETWORKS[name]], over, own, entry.method,
            EXPLAINED[name],
        )  # fmt: skip

    rows = sorted(map(candidate, SCORES), key=lambda row: row.state != "recommended")
    rows.sort(key=lambda row: row.state == "out")
    return Ranked(ENTRIES[names[0]], rows, MEASURE)


def advice(**options):
    return guide(
        QUESTIONS, ranked, caption="Which method is for you, and why.", costs=["networks"],
        notes=NOTES, **options,
    )  # fmt: skip
