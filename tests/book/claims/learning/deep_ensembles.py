"""What *Training deep ensembles* claims, by its tables, those of the contest, and by hand."""

from functools import cache

import numpy as np

from ensedu import counting, data, uncertainty
from ensedu.book import measured
from ensedu.book.experiments import table_one
from ensedu.book.experiments.contest import reading
from ensedu.book.experiments.contest.tasks import TASKS
from ensedu.book.experiments.variance_head import sine
from ensedu.contest.contestants import CONTESTANTS
from scripts.source_lines import cells_of
from tests.book.claiming import Change, Claims
from tests.book.claims.learning.shootout import apart, lower, middle, row, scaled, word
from tests.book.conftest import read

#: What is switched on, in one network and in five.
SWITCHED = {
    f"{own}_{switch}": own
    for own in ("single", "deep_ensemble")
    for switch in ("beta", "adversarial")
}
#: Five, in the data of a figure.
FIVE = {"data": "concrete", "contestant": "deep_ensemble"}

MEANING = "what a word or a number means"
CLAIMS = Claims(
    "learning/deep-ensembles",
    unclaimed={
        "this concrete will bear 35 megapascals": "an invented example",
        "β = 0 is the NLL": MEANING,
        "Close to 95% of them": MEANING,
        "comparison of two methods is 1 unit": MEANING,
        "A method is better if its NLL": MEANING,
        "A mixture is never worse": "a theorem, in the glossary",
    },
)


def first() -> dict:
    """Return the table of the published protocol."""
    return measured.load("table-one")


def effect(of: str, own: str, score: str, beside: str) -> dict:
    """Return the entry of a comparison."""
    return table_one.difference(first()["summary"], of, own, score, beside)


def average(of: str, own: str, score: str) -> float:
    """Return the mean of a score."""
    return table_one.mean_of(first()["rows"], of, own, score)[0]


@cache
def by_size(of: str):
    """Return mean squared errors and NLLs of 1 to 10 members, and each as two numbers give it."""

    def law(each):
        one, shared = each[:, :1], 2 * each[:, 1:2] - each[:, :1]
        return shared + (one - shared) / np.arange(1, 11)

    squared, nll = table_one.of_each_training(first()["rows"], of)
    return squared, law(squared), nll, law(nll)


@cache
def kappa(of: str) -> float:
    """Return what all members share of one's squared error."""
    pooled = by_size(of)[0].mean(0)
    return 2 * pooled[1] / pooled[0] - 1


def by_hand():
    """Return the NLLs of the three members, and that of their mixture."""
    means, variances = np.array([8.0, 11.0, 14.0]), np.array([1.0, 2.0, 3.0])
    density = np.exp(-((13 - means) ** 2) / 2 / variances) / np.sqrt(2 * np.pi * variances)
    return -np.log(density), -np.log(density.mean())


@CLAIMS.says("first-member", "so it pays 13.4 nats")
@CLAIMS.says("others", "The others pay about 2")
@CLAIMS.says("at-random", "you would pay 5.8 on average")
@CLAIMS.says("outvoted", "The mixture pays 2.3")
@CLAIMS.says("extreme", "gives the truth a probability of 0")
def _() -> None:
    each, mixture = by_hand()
    extreme = np.array([[np.inf], [0.7]])
    assert extreme.mean() == np.inf > uncertainty.mixture_nll(extreme).item()
    assert round(each[0], 1) == 13.4
    assert [round(one) for one in each[1:]] == [2, 2]
    assert round(each.mean(), 1) == 5.8
    assert round(mixture, 1) == 2.3


@CLAIMS.says("eighteen", "each method choose its own hyperparameters")
def _() -> None:
    assert len({task().source for task in TASKS.values()}) == 18
    for task in TASKS:
        for name in CONTESTANTS:
            own = [row for row in reading.rows(task) if row["contestant"] == name]
            assert len(own) == len({row["split"] for row in own})
            tries = [np.array(row["select_nll"]).mean(1) for row in own]
            assert {len(one) for one in tries} == {len(CONTESTANTS[name].tries)}
            assert all(0 <= row["setting"] < len(CONTESTANTS[name].tries) for row in own)


@CLAIMS.says("predict", "Four networks predict better than one", row("cells", "deep_ensemble", 2))
@CLAIMS.says("better", "Four networks are better than one: on", row("hpc", "deep_ensemble", 1.1))
@CLAIMS.says("typical", "on the typical one by 0.6", row("wage", "deep_ensemble", 1.2))
@CLAIMS.says("nearly-everywhere", "That is less than luck does")
def _() -> None:
    assert word("deep_ensemble") == "better"
    assert round(middle("deep_ensemble"), 1) == -0.6
    assert lower("deep_ensemble") == 16
    assert len(reading.compared()["deep_ensemble"].sources) == 18


@CLAIMS.says("temperature", "network gains less than a tenth of a")
@CLAIMS.says("larger-alone", "gains a tenth, and longer training a third", row("gpa2", "wide", 0.8))
@CLAIMS.says("all-unclear", "For all three the word is unclear")
def _() -> None:
    assert -0.1 < middle(reading.SCALED) < 0
    assert abs(10 * middle("wide") + 1) < 0.5
    assert abs(3 * middle("long") + 1) < 0.1
    assert round(reading.costs("wide")["kept"], 1) == 4
    assert {word(name) for name in ("wide", "long", reading.SCALED)} == {"unclear"}


@CLAIMS.says("rmse", "error (RMSE) is 1.0% lower", row("deliveries", "deep_ensemble", 1.2, "rmse"))
def _() -> None:
    ratios = [
        np.log(one.values["deep_ensemble"].mean() / one.values["single"].mean())
        for one in reading.task_scores("rmse")
    ]
    assert len(ratios) == 9
    assert round(100 * (1 - np.exp(np.mean(ratios))), 1) == 1.0


@CLAIMS.says("too-sure", "hold fewer than nine of ten", row("diamonds", "single", 1.1, "coverage"))
def _() -> None:
    held = {"single": [], "deep_ensemble": []}
    for task in reading.tasks():
        for name in held:
            own = [one for one in reading.rows(task) if one["contestant"] == name]
            if "coverage" in own[0]:
                held[name].append(np.mean([one["coverage"] for one in own]))
    for each in held.values():
        assert (len(each), sum(np.round(each, 2) < 0.9), round(min(each), 2)) == (9, 5, 0.83)


@CLAIMS.says("tempered", "now on 17 of 18", scaled("gpa2", "deep_ensemble", 0.5))
@CLAIMS.says("tempered-half", "and still by half a unit", scaled("credit", "deep_ensemble", 1.2))
@CLAIMS.says("summary", "sources four networks are better than one, also")
@CLAIMS.says("exercise", "are better than one network all the same")
def _() -> None:
    assert word("deep_ensemble", tempered=True) == "better"
    assert lower("deep_ensemble", tempered=True) == 17
    assert 0.45 < -middle("deep_ensemble", True) < 0.55


@CLAIMS.says("quarter", "The larger network gains a quarter of that", scaled("gpa2", "wide", 0.8))
@CLAIMS.says("answer", "about a quarter of it, and")
@CLAIMS.says("summary-larger", "What one larger network gains is unclear")
def _() -> None:
    assert 0.2 < middle("wide", True) / middle("deep_ensemble", True) < 0.3
    assert word("wide", tempered=True) == word("wide") == "unclear"


@CLAIMS.says(
    "doubts",
    "Only the ensemble becomes less sure where",
    row("churn", "wide", 1.2, "auroc"),
)
def _() -> None:
    """Who doubts foreign inputs more than known ones has a higher AUROC."""
    four = apart("auroc", "deep_ensemble")
    for name in ("wide", reading.SCALED):
        assert abs(apart("auroc", name)) < 0.005 < four / 3


@CLAIMS.says(
    "comes-back", "within 1.2 standard errors",
    Change("table-one", "rows", FIVE, "rmse", times=0.99),
)  # fmt: skip
@CLAIMS.says("both-variances", "is the root of both variances over 20")
def _() -> None:
    rows = first()["rows"]
    names = {"rmse": "rmse", "nll": "moment"}
    errors = []
    for of, published in table_one.PUBLISHED.items():
        for score, (theirs, spread) in published.items():
            ours, own = table_one.mean_of(rows, of, "deep_ensemble", names[score])
            errors.append((ours - theirs) / np.sqrt((own**2 + spread**2) / 20))
    assert np.allclose(errors, [*table_one.beside_published(rows)[1].values()])
    assert [round(one, 1) for one in errors] == [-0.5, 1.2, -1.1, -0.9]
    assert np.abs(errors).max() < 1.2


@CLAIMS.says("recipe", "One hidden layer of 50 ReLU units")
@CLAIMS.says(
    "settings", "40 epochs of Adam at 0.01", Change("table-one", "settings", "epochs", to=41)
)
@CLAIMS.says("five-single", "is the mean of five single ones")
def _() -> None:
    found = first()
    assert found["settings"] == {"seeds": 3, "epochs": 40, "batch_size": 100, "lr": 0.01}
    assert found["settings"] == table_one.EXPERIMENT.settings
    assert (table_one.WIDTH, table_one.MEMBERS, table_one.SPLITS) == (50, 5, 20)
    one = table_one.CONTESTANTS["single"]
    assert (one.alone, one.networks) == (True, 5)
    net = table_one.untrained_networks(table_one.split_of("concrete", 0), one, 0)
    assert counting.count(net).total == 5 * counting.mlp([8, 50, 2]).total
    assert sum("relu" in type(part).__name__.lower() for part in net.modules()) == 1


@CLAIMS.says(
    "rows", "455 and 927 rows", Change("table-one", "rows", {"data": "boston"}, "train", to=456)
)
def _() -> None:
    for of, train, test in (("boston", 455, 51), ("concrete", 927, 103)):
        own = [row for row in first()["rows"] if row["data"] == of]
        assert {(row["train"], row["test"]) for row in own} == {(train, test)}
        assert round(train / (train + test), 2) == 0.9
        assert {row["split"] for row in own} == {*range(20)}
        standardized = table_one.split_of(of, 0).x_train
        assert np.allclose(standardized.mean(0), 0)
    assert {row["data"] for row in first()["rows"]} == {*table_one.DATA}


@CLAIMS.says("width", "One larger network has 251 hidden units")
def _() -> None:
    for inputs, five, larger in ((13, 4010, 4018), (8, 2760, 2763)):
        assert table_one.equal_width(inputs) == 251
        assert counting.mlp([inputs, 50, 2], "deep_ensemble", 5).total == five
        totals = {width: counting.mlp([inputs, width, 2]).total for width in range(200, 300)}
        assert totals[251] == larger
        nearest = min(abs(total - five) for total in totals.values())
        assert max(w for w in totals if abs(totals[w] - five) == nearest) == 251


@CLAIMS.says("half", "and five members remove four fifths")
@CLAIMS.says(
    "summary-half", "the second removes half", Change("table-one", "rows", FIVE, "by_size", 0,
    "squared", 4, times=1.05),
)  # fmt: skip
def _() -> None:
    for of in table_one.DATA:
        squared = by_size(of)[0].mean(0)
        end = 2 * squared[1] - squared[0]  # of any number of members
        removed = (squared[0] - squared) / (squared[0] - end)
        assert [round(removed[i], 3) for i in (1, 4)] == [0.5, 0.8]


@CLAIMS.says(
    "exact", "is this formula, and exact", Change("table-one", "rows", FIVE, "by_size", 0,
    "squared", 6, times=1.1),
)  # fmt: skip
@CLAIMS.says(
    "guess", "a guess, and a good one", Change("table-one", "rows", FIVE, "by_size", 0,
    "nll", 9, times=1.1),
)  # fmt: skip
def _() -> None:
    for of in table_one.DATA:
        squared, as_squared, nll, as_nll = (each.mean(0) for each in by_size(of))
        assert np.allclose(squared, as_squared, rtol=1e-4)
        off = np.abs(nll - as_nll).max()
        assert 0.002 < off < 0.03 * (nll[0] - nll[-1])  # of what ten members gain


@CLAIMS.says(
    "kappa", "is 0.92, so a thousand networks", Change("table-one", "rows", FIVE, "by_size", 0,
    "squared", 1, times=1.2),
)  # fmt: skip
@CLAIMS.says("thousand", "would still have 92%")
def _() -> None:
    assert round(kappa("concrete"), 2) == 0.92
    assert round(kappa("concrete") + (1 - kappa("concrete")) / 1000, 2) == 0.92


@CLAIMS.says(
    "sine", "is off by 0.37 at β = 0",
    Change("variance-head", "summary", {"beta": 1.0, "score": "rmse"}, "mean", times=1.1),
    Change("variance-head", "summary", {"beta": 0.0, "score": "rmse"}, "mean", times=1.1),
)  # fmt: skip
def _() -> None:
    summary = measured.load("variance-head")["summary"]
    off = [measured.row(summary, beta=beta, score="rmse")["mean"] for beta in (0.0, 0.5, 1.0)]
    assert [round(one, 2) for one in off] == [0.37, 0.24, 0.20]
    assert (sine.number, sine.noise) == (300, 0.02)
    x = np.linspace(-1.5, 1.5, 7)
    assert np.allclose(sine.truth(x), np.sin(12 * x))


@CLAIMS.says(
    "beta", "lowers the RMSE on concrete by 0.39 MPa",
    Change("table-one", "summary", {"contestant": "deep_ensemble_beta"}, "difference", times=1.1),
    Change("table-one", "summary", {"contestant": "single_beta"}, "verdict", to="worse"),
)  # fmt: skip
@CLAIMS.says("neither", "it changes neither RMSE nor NLL clearly")
def _() -> None:
    clear = {
        (name, of, score): round(entry["difference"], 2)
        for name, beside in SWITCHED.items()
        for of in table_one.DATA
        for score in ("rmse", "nll")
        if (entry := effect(of, name, score, beside))["verdict"]
    }
    betas = "single_beta", "deep_ensemble_beta"
    assert clear == {(name, "concrete", "rmse"): -0.39 for name in betas}
    for name in betas:
        assert table_one.CONTESTANTS[name].beta == 0.5
        assert effect("concrete", name, "rmse", SWITCHED[name])["verdict"] == "better"
        assert abs(effect("concrete", name, "nll", SWITCHED[name])["difference"]) < 0.01


@CLAIMS.says("one-percent", "moved by 1% of each input's range")
def _() -> None:
    found = {name: one.adversarial for name, one in table_one.CONTESTANTS.items()}
    assert {name: size for name, size in found.items() if size} == {
        name: 0.01 for name in SWITCHED if name.endswith("adversarial")
    }


@CLAIMS.says(
    "wider", "then hold 97.4% of new rows",
    Change("table-one", "rows", FIVE, "coverage", times=0.99),
)  # fmt: skip
def _() -> None:
    """The errors stay what they are, so more rows inside mean wider intervals."""
    names = "deep_ensemble", "deep_ensemble_adversarial"
    inside = [average("concrete", name, "coverage") for name in names]
    assert [round(100 * one, 1) for one in inside] == [94.2, 97.4]
    assert abs(effect("concrete", names[1], "rmse", names[0])["difference"]) < 0.02


@CLAIMS.says(
    "holm", "with Holm's correction over 28 comparisons",
    Change("table-one", "summary", {"contestant": "wide"}, "adjusted", times=0.5),
)  # fmt: skip
@CLAIMS.says("no-such", "The contest has neither")
def _() -> None:
    summary = first()["summary"]
    assert len(summary) == 28
    adjusted = uncertainty.holm([entry["p"] for entry in summary])
    assert np.allclose(adjusted, [entry["adjusted"] for entry in summary], rtol=1e-3)
    assert {*SWITCHED} < {entry["contestant"] for entry in summary}
    assert all((entry["adjusted"] < 0.05) == bool(entry["verdict"]) for entry in summary)
    tried = {key for one in CONTESTANTS.values() for setting in one.tries for key in setting}
    assert not {"beta", "adversarial"} & tried


@CLAIMS.says("ninety", "90% train five networks")
@CLAIMS.says("new", "Now new holds 20 rows")
@CLAIMS.says("twenty", "her customers about the 20 new mixes")
def _() -> None:
    code = "\n".join(cells_of(read(f"book/{CLAIMS.chapter}")))
    assert "new = clean(table).sample(20," in code
    assert '"deep_ensemble", ensemble_size=5)' in code
    found = data.concrete()
    split = data.Split.at_random(found.x[20:], found.y[20:], seed=0)
    assert len(split.train) + len(split.test) == len(found.x) - 20
    assert round(len(split.train) / (len(found.x) - 20), 3) == 0.9


@CLAIMS.says("flatter", "on both sides of the split")
def _() -> None:
    found = data.concrete()
    split = data.Split.at_random(found.x, found.y, seed=0)
    seen = {tuple(recipe) for recipe in found.x[split.train]}
    again = [tuple(recipe) in seen for recipe in found.x[split.test]]
    assert 0 < np.mean(again) < 0.2


@CLAIMS.says("seven", "on only 7 of 18 sources", scaled("wage", "deep_ensemble", 0.5))
def _() -> None:
    by_source = {}
    for one in reading.task_scores("nll"):
        own = reading.scores_of_rows(one.name, "nll")
        change = own["deep_ensemble_scaled"].mean() - own["deep_ensemble"].mean()
        by_source.setdefault(one.source, []).append(change / one.unit)
    each = np.sort([np.mean(changes) for changes in by_source.values()])
    assert (sum(each < 0), len(each)) == (7, 18)
    assert each[:4].sum() < -1
    assert (each[4:] > 0).sum() > 10


@CLAIMS.says("ex-splits", "0.072, so -0.09 is -1.3 of them")
def _() -> None:
    error = np.sqrt((0.25**2 + 0.20**2) / 20)
    assert (round(error, 3), round(-0.09 / error, 1)) == (0.072, -1.3)
