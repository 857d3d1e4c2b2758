"""What *Is one run enough?* claims, by its table and that of the published protocol."""

from ensedu import uncertainty
from ensedu.book import measured
from ensedu.book.experiments import one_run, table_one
from tests.book.claiming import Change, Claims
from tests.book.claims.learning.shootout import word

CLAIMS = Claims("learning/one-run")


def entry(own: str, score: str, beside: str = "single", table: str = "one-run") -> dict:
    """Return a comparison."""
    return table_one.difference(measured.load(table)["summary"], "concrete", own, score, beside)


def gained(own: str, score: str, digits: int, table: str = "one-run") -> float:
    """Return by how much a score is lower than one network's, which must be clear."""
    found = entry(own, score, table=table)
    assert found["verdict"] == "better" or table != "one-run"  # there it is not clear
    return round(-found["difference"], digits)


def apart(own: str) -> float:
    """Return how far the predictions of members lie apart."""
    rows = measured.load("one-run")["rows"]
    return round(table_one.mean_of(rows, "concrete", own, "apart")[0], 2)


def compared(own: str, beside: str, score: str, name: str, **change) -> Change:
    """Return a change of a comparison."""
    where = {"contestant": own, "reference": beside, "score": score}
    return Change("one-run", "summary", where, name, **change)


def members(own: str, times: float) -> Change:
    """Return a change of how far members lie apart."""
    return Change("one-run", "rows", {"contestant": own}, "apart", times=times)


@CLAIMS.says("falls", "Or let the learning rate fall to 0")
@CLAIMS.says(
    "as-published", "with the epochs and the mean learning rate",
    Change("one-run", "settings", "lr", to=0.02),
)  # fmt: skip
@CLAIMS.says("eight", "has had only 8 of 40 epochs")
def _() -> None:
    settings = measured.load("one-run")["settings"]
    assert settings == measured.load("table-one")["settings"]
    assert one_run.KEPT == one_run.FALLS["snapshots"] == 5
    assert (settings["epochs"], settings["epochs"] // 5) == (40, 8)
    assert one_run.PEAK == 2  # a cosine's mean is half of its peak


@CLAIMS.says(
    "moving", "gain 0.087 nats a row",
    compared("last", "single", "nll", "difference", times=1.1),
    compared("deep_ensemble", "single", "nll", "verdict", to="worse"),
)  # fmt: skip
def _() -> None:
    assert [gained(own, "nll", 3) for own in ("last", "deep_ensemble")] == [0.087, 0.089]


@CLAIMS.says("steps", "lie 1.23 MPa apart", members("last", 1.1), members("deep_ensemble", 1.1))
def _() -> None:
    assert [apart(own) for own in ("last", "deep_ensemble")] == [1.23, 1.32]


@CLAIMS.says(
    "cooled", "of this one network is 0.24 MPa lower",
    compared("cooled", "single", "rmse", "difference", times=0.9),
)  # fmt: skip
def _() -> None:
    assert gained("cooled", "rmse", 2) == 0.24


@CLAIMS.says(
    "settled", "nearly the same network, 0.07 MPa apart",
    members("cooled_last", 2),
    compared("cooled_last", "cooled", "nll", "difference", times=20),
)  # fmt: skip
def _() -> None:
    assert apart("cooled_last") == 0.07
    for score in ("rmse", "nll"):
        found = entry("cooled_last", score, "cooled")
        assert abs(found["difference"]) < 0.002
        assert not found["verdict"]


@CLAIMS.says("snapshots-apart", "They lie 1.28 MPa apart", members("snapshots", 0.9))
def _() -> None:
    assert apart("snapshots") == 1.28


@CLAIMS.says(
    "snapshots", "their RMSE is 0.22 above",
    compared("snapshots", "deep_ensemble", "rmse", "difference", times=1.1),
    compared("snapshots", "deep_ensemble", "rmse", "verdict", to="better"),
)  # fmt: skip
def _() -> None:
    found = entry("snapshots", "rmse", "deep_ensemble")
    assert (round(found["difference"], 2), found["verdict"]) == (0.22, "worse")


@CLAIMS.says("swag", "its word is unclear")
def _() -> None:
    assert word("swag") == "unclear"


@CLAIMS.says("protocol", "three seeds and five runs on each")
def _() -> None:
    found = measured.load("one-run")
    assert found["settings"]["seeds"] == 3
    assert {one["split"] for one in found["rows"]} == {*range(20)}
    assert table_one.CONTESTANTS["single"].networks == 5


@CLAIMS.says(
    "holm", "18 comparisons share one correction of Holm's",
    Change("one-run", "summary", {"contestant": "last"}, "adjusted", times=0.5),
)  # fmt: skip
def _() -> None:
    summary = measured.load("one-run")["summary"]
    adjusted = uncertainty.holm([one["p"] for one in summary])
    assert all(
        abs(one["adjusted"] / p - 1) < 1e-3 for one, p in zip(summary, adjusted, strict=True)
    )
    rows = "last", "snapshots", "cooled", "cooled_last", "deep_ensemble"
    pairs = [(own, "single", score) for own in rows for score in ("rmse", "nll")]
    pairs += [("cooled_last", "cooled", score) for score in ("rmse", "nll")]
    pairs += [
        (own, "deep_ensemble", score)
        for own in ("last", "snapshots")
        for score in ("rmse", "nll", "correlation")
    ]
    keys = "contestant", "reference", "score"
    assert sorted(tuple(one[key] for key in keys) for one in summary) == sorted(pairs)
    assert len(pairs) == 18


@CLAIMS.says(
    "as-there", "five networks gain 0.18 MPa over one",
    Change(
        "table-one", "summary",
        {"data": "concrete", "contestant": "deep_ensemble", "score": "rmse"},
        "difference", times=1.1,
    ),
    compared("deep_ensemble", "single", "rmse", "difference", times=1.1),
)  # fmt: skip
def _() -> None:
    assert gained("deep_ensemble", "rmse", 2, "table-one") == 0.18
    assert gained("deep_ensemble", "rmse", 2) == 0.14
