"""What is scored, summed up and compared, against loops, densities and known effects."""

import math
from itertools import combinations

import numpy as np
import pytest
import torch
from scipy import stats

from ensedu import uncertainty
from ensedu.data import gap
from ensedu.torch import mlp
from workshop.experiments import bayesian_cnn as cnn
from workshop.experiments import bayesian_cnn_images as seen
from workshop.experiments import digit_networks as networks
from workshop.experiments import disentangling as parts
from workshop.experiments import running_example as example
from workshop.experiments import table_one
from workshop.experiments.shared.comparisons import add_verdicts, compare_with_reference

rng = np.random.default_rng(0)


def test_curves_of_a_known_noise():
    M, B = 3, 7
    truth, means = rng.standard_normal((B, 1)), rng.standard_normal((M, B, 1))
    y = means[0] + 0.1 * rng.standard_normal((B, 1))
    found, densities = example.score(means, truth, y), stats.norm(means, gap.noise)
    assert found["nll"] == pytest.approx(-np.log(densities.pdf(y).mean(0)).mean(), rel=1e-12)
    level = densities.cdf(y).mean(0)
    assert found["coverage"] == np.mean((level >= 0.025) & (level <= 0.975))
    errors = (means - truth)[..., 0]
    pairs = [np.corrcoef(errors[i], errors[j])[0, 1] for i, j in combinations(range(M), 2)]
    assert found["error_correlation"] == pytest.approx(np.mean(pairs), rel=1e-12)
    assert found["rmse"] == pytest.approx(math.sqrt(np.mean(errors.mean(0) ** 2)), rel=1e-12)
    spread = np.sqrt(((means - means.mean(0)) ** 2).sum(0) / M)
    assert found["spread"] == pytest.approx(spread.mean(), rel=1e-12)
    outputs = torch.from_numpy(means)
    nll = float(example.nll(outputs, torch.from_numpy(truth)))
    constant = math.log(gap.noise * math.sqrt(2 * math.pi))
    assert nll + constant == pytest.approx(-densities.logpdf(truth).mean(), rel=1e-12)


def test_gaussian_ensembles_by_size_and_alone():
    mean, variance = rng.standard_normal((5, 11, 1)), rng.gamma(2.0, size=(5, 11, 1))
    y = rng.standard_normal((11, 1))
    densities = stats.norm(mean, variance**0.5).pdf(y)
    found = table_one.scores_by_size(mean, variance, y)
    for size in range(1, 6):
        chosen = [*map(list, combinations(range(5), size))]
        squared = [np.mean((mean[own].mean(0) - y) ** 2) for own in chosen]
        nll = [-np.log(densities[own].mean(0)).mean() for own in chosen]
        assert found["squared"][size - 1] == pytest.approx(np.mean(squared), rel=1e-12)
        assert found["nll"][size - 1] == pytest.approx(np.mean(nll), rel=1e-12)
    together = table_one.scores_of(mean, variance, y)
    alone = table_one.scores_alone(mean, variance, y)
    own = -np.log(densities).mean()
    assert together["average"] == alone["nll"] == alone["moment"] == pytest.approx(own, rel=1e-12)
    errors = (mean - y)[..., 0]
    assert alone["rmse"] == pytest.approx(np.sqrt((errors**2).mean(1)).mean(), rel=1e-12)


def test_ratios_are_geometric_means_corrected_together():
    factors = (0.5, 1, 1, 2)
    rows = [
        {"number": n, "sigma": s, "data_seed": seed}
        | {
            place: {
                "noise": 3 * s**2 * f, "spread": f / n, "error": 5 * f / n, "member_error": f,
                "nll": f, "member_nll": f,
            }
            for place in parts.PLACES
        }
        for n, s in parts.CHOSEN
        for seed, f in enumerate(factors)
    ]  # fmt: skip
    found = parts.summarize(rows)
    low, mean, high = found["cells"][0]["noise"]
    assert mean == pytest.approx(3 * 0.1**2 * 1.125) and low < mean < high
    wanted = {
        "noise / σ²": 3, "error / spread": 5, "noise, more data": 1, "spread, more data": 1 / 16,
        "noise, more noise": 16, "spread, more noise": 1,
    }  # fmt: skip
    for row in found["contrasts"]:
        assert row["mean"] == pytest.approx(wanted[row["ratio"]])
    assert len(found["contrasts"]) == 60
    noise = next(row for row in found["contrasts"] if row["ratio"] == "noise / σ²")
    logs = np.log(3) + np.log(factors)
    assert noise["low"] == pytest.approx(np.exp(uncertainty.paired(logs).low))
    adjusted = uncertainty.holm([row["p"] for row in found["contrasts"]])
    assert [row["adjusted"] for row in found["contrasts"]] == pytest.approx(adjusted.tolist())


def test_digits_of_members_that_disagree():
    sure, torn = [0.95, 0.05] + [0.0] * 8, [0.05, 0.95] + [0.0] * 8
    found = networks.scores(np.array([[[sure, sure], [sure, torn]]]), np.array([0, 0]))  # one draw
    assert found == pytest.approx({"sure": 0.5, "nll": -(np.log(0.95) + np.log(0.5)) / 2})
    arrays = networks.arrays_of(mlp([5, 7, 3], "rank1", 2, dtype=torch.float64))
    assert all(np.array_equal(array, array.astype(np.float16)) for array in arrays.values())


def test_uncertainties_and_picks_of_images():
    p = rng.dirichlet(np.ones(3), size=(5, 7))
    found = cnn.uncertainties(p)
    np.testing.assert_allclose(found["epistemic"], p.var(0).sum(-1), rtol=1e-12)
    np.testing.assert_allclose(found["aleatoric"], (p * (1 - p)).sum(-1).mean(0), rtol=1e-12)
    aleatoric, epistemic = np.array([0.3, 0.1, 0.9, 0.0, 0.2]), np.array([0.1, 0.7, 0.8, 0.0, 0.3])
    assert seen.extreme_images(aleatoric, epistemic, 1) == [2, 1, 3]
    both = np.array([[0.3, 0.0, 0.1, 0.15], [0.1, 0.0, 0.3, 0.01]])
    own = seen.Known(np.zeros((4, 28, 28)), both, np.zeros(4, bool))
    assert seen.doubtful_shares(own) == pytest.approx([0.25, 0.75])


SPLITS, SEEDS = 11, 3
SIZES = {"train": 90, "test": 10}


def rows(seed=0, **shifts):
    """Rows of contestants that differ from "single" by a shift in error, beside noise."""
    rng = np.random.default_rng(seed)
    level = rng.normal(5, 2, (SPLITS, 1))  # of a split, common to all
    return [
        {
            "contestant": name, "split": split,
            "error": (level[split] + shift + 0.1 * rng.standard_normal(SEEDS)).tolist(),
            "accuracy": float(1 - level[split, 0] - shift + 0.1 * rng.standard_normal()),
        }
        for name, shift in {"single": 0.0, **shifts}.items()
        for split in range(SPLITS)
    ]  # fmt: skip


def by(entries, contestant, score):
    (entry,) = (e for e in entries if (e["contestant"], e["score"]) == (contestant, score))
    return entry


def test_verdicts_know_which_way_is_better():
    table = rows(good=-1.0, bad=1.0, same=0.0)
    scores = ["error", "accuracy"]
    found = compare_with_reference(
        table, reference="single", scores=scores, higher=["accuracy"], **SIZES
    )
    assert len(found) == 8
    for score in scores:
        assert by(found, "good", score)["verdict"] == "better"
        assert by(found, "bad", score)["verdict"] == "worse"
        assert by(found, "same", score)["verdict"] == ""
        assert by(found, "single", score).keys() == {"contestant", "score", "mean"}


def test_a_difference_is_that_of_the_same_split_over_initial_seeds():
    table = rows(other=-0.3)
    np.random.default_rng(1).shuffle(table)
    entry = by(
        compare_with_reference(table, reference="single", scores=["error"], **SIZES),
        "other",
        "error",
    )
    mean = {(row["contestant"], row["split"]): np.mean(row["error"]) for row in table}
    differences = np.array([mean["other", k] - mean["single", k] for k in range(SPLITS)])
    expected = uncertainty.resampled(differences, **SIZES)
    assert entry["difference"] == pytest.approx(expected.mean)
    assert (entry["low"], entry["high"]) == pytest.approx((expected.low, expected.high))
    assert entry["p"] == entry["adjusted"] == pytest.approx(expected.p)
    assert entry["mean"] == pytest.approx(np.mean([mean["other", k] for k in range(SPLITS)]))


def test_a_verdict_takes_an_adjusted_p_value_below_a_twentieth():
    for p, verdict in ((0.0499, "worse"), (0.05, ""), (0.0501, "")):
        entry = {}
        add_verdicts([(entry, uncertainty.Interval(0.3, -0.1, 0.7, SPLITS, p))])
        assert (entry["adjusted"], entry["verdict"]) == (p, verdict)
    pair = [({}, uncertainty.Interval(-0.3, -0.7, 0.1, SPLITS, p)) for p in (0.024, 0.051)]
    add_verdicts(pair)
    assert [entry["verdict"] for entry, _ in pair] == ["better", ""]
