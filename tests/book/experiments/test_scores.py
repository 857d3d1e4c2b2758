"""What is scored and compared, of images too, against loops, densities and known effects."""

import math
from itertools import combinations

import numpy as np
import pytest
import torch
from scipy import stats
from torch.distributions import Categorical, MixtureSameFamily, Normal

from ensedu import uncertainty
from ensedu.data import gap
from ensedu.torch import mlp
from ensedu.torch.models import lenet5
from workshop import measured
from workshop.experiments import bayesian_cnn as cnn
from workshop.experiments import bayesian_cnn_images as seen
from workshop.experiments import digit_networks as networks
from workshop.experiments import disentangling as parts
from workshop.experiments import images_out, table_one
from workshop.experiments import running_example as example
from workshop.experiments.images_out import METHODS, TEST, Doubled
from workshop.experiments.shared import add_verdicts, differences

rng = np.random.default_rng(0)


def test_halves_are_averages_of_blocks_and_interpolation_moves_nothing():
    """Moved by half a small pixel, the slope would be off by 1 + 3."""
    pixels = rng.random((6, 10))
    blocks = [pixels[a::2, b::2] for a in (0, 1) for b in (0, 1)]
    np.testing.assert_allclose(images_out.halved(pixels), sum(blocks) / 4, rtol=1e-12)
    truth = np.arange(40.0)[:, None] + 3 * np.arange(40.0)
    found = images_out.bicubic(images_out.halved(truth))
    np.testing.assert_allclose(found[8:-8, 8:-8], truth[8:-8, 8:-8], rtol=0, atol=0.5)


def test_a_patch_lies_where_its_residual_does_and_no_photograph_is_in_two_parts(monkeypatch):
    truth = rng.random((68, 100))
    monkeypatch.setattr(images_out, "photograph", lambda name: truth)
    small = images_out.halved(truth)
    low, lacking = images_out.patches(["any"])
    assert lacking.shape == (2 * 3, 32, 32)
    np.testing.assert_array_equal(low[4], small[16:32, 16:32])
    np.testing.assert_array_equal(lacking[4], (truth - images_out.bicubic(small))[32:64, 32:64])
    names = [*images_out.TRAIN, images_out.SCALE, *TEST]
    assert len({*names}) == len(names) == len({*images_out.FILES.values()})


def test_the_nll_is_that_of_the_mixture_with_wider_members():
    targets = torch.rand(3, 4, 6, dtype=torch.float64)
    raw = torch.full_like(targets, np.log(np.expm1(4 - 1e-6)))  # a variance of 4
    outputs = torch.stack([targets + 1, raw], dim=1).expand(2, 3, 2, 4, 6)
    wanted = -Normal(1.0, 2.0).log_prob(torch.tensor(0.0))
    assert float(images_out.pixel_nll(outputs, targets)) == pytest.approx(float(wanted))
    mean, variance = rng.normal(size=(3, 7, 1)), rng.random((3, 7, 1)) + 0.1
    missing = rng.normal(size=(7, 1))
    each = Normal(*(torch.from_numpy(a[..., 0].T) for a in (mean, 1.5 * variance**0.5)))
    mixed = MixtureSameFamily(Categorical(torch.ones(7, 3)), each)
    wanted = -mixed.log_prob(torch.from_numpy(missing[:, 0])).mean()
    assert Doubled(mean, variance, missing).nll(1.5) == pytest.approx(float(wanted))
    one = Doubled(np.zeros((1, 5000, 1)), np.full((1, 5000, 1), 4.0), rng.normal(size=(5000, 1)))
    assert images_out.best_factor(one) == pytest.approx(0.5, abs=0.03)


def test_a_short_run_on_a_real_photograph(monkeypatch):
    monkeypatch.setattr(images_out, "TEST", ("flower",))
    short = images_out.EXPERIMENT.settings | {
        "train": ["temple"], "scale": "temple", "members": 2, "samples": 2, "epochs": 1,
        "batch_size": 20,
    }  # fmt: skip
    found = {name: images_out.run(name, 0, **short) for name in ("bicubic", *METHODS)}
    base = found.pop("bicubic")
    for method, row in found.items():
        assert row.keys() == base.keys()
        assert (row["spread"][0] > 0) == (method != "single")
        assert abs(row["psnr"][0] - base["psnr"][0]) < 1
    assert len({row["psnr"][0] for row in found.values()}) == 4
    rows = measured.load("images-out")["rows"]
    row, place = measured.row(rows, method="bicubic", seed=0), TEST.index("flower")
    for score in ("psnr", "nll"):
        assert row[score][place] == pytest.approx(base[score][0], rel=1e-3)
    assert row["crops"]["flower"] == base["crops"]["flower"]


def test_without_spread_all_estimators_are_the_plain_net_and_draws_repeat():
    torch.manual_seed(0)
    net, plain, x = cnn.network("wide"), lenet5(), cnn.split_digits(0)[1][0][:7]
    own = cnn.probabilities(net, x, 2)
    assert not np.allclose(own, cnn.probabilities(net, x, 2, "weights"))
    np.testing.assert_array_equal(own, cnn.probabilities(net, x, 5)[:2])
    with torch.no_grad():
        for part in cnn.layers(net).values():
            assert part.estimator == "local"
            part.weight_rho.fill_(-math.inf)
            part.bias_rho.fill_(-math.inf)
        for own, other in zip(plain.parameters(), means_of(net), strict=True):
            own.copy_(other)
    wanted = plain(x).softmax(-1).detach()
    for estimator in (None, "weights"):
        found = cnn.probabilities(net, x, 1, estimator)[0]
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-6)


def means_of(net):
    """Return the means of a Bayesian network, in the order of a plain one's parameters."""
    for part in cnn.layers(net).values():
        yield from (part.weight_mean, part.bias_mean)


def test_the_doubted_tenth_holds_its_part_of_the_error():
    doubt, squared = rng.permutation(30.0 + np.arange(50)), rng.random(50)
    wanted = squared[doubt >= 75].sum() / squared.sum()
    assert images_out.share_of_doubted(doubt, squared) == pytest.approx(wanted)


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
    same = [together["average"], alone["nll"], alone["moment"]]
    assert same == pytest.approx([own] * 3, rel=1e-12)
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
    pairs = differences(table, "single", scores, **SIZES)
    add_verdicts(pairs, higher=["accuracy"])
    found = [entry for entry, _ in pairs]
    assert len(found) == 8
    for score in scores:
        assert by(found, "good", score)["verdict"] == "better"
        assert by(found, "bad", score)["verdict"] == "worse"
        assert by(found, "same", score)["verdict"] == ""
        assert by(found, "single", score).keys() == {"contestant", "score", "mean"}


def test_a_difference_is_that_of_the_same_split_over_initial_seeds():
    table = rows(other=-0.3)
    np.random.default_rng(1).shuffle(table)
    pairs = differences(table, "single", ["error"], **SIZES)
    add_verdicts(pairs)
    entry = by([entry for entry, _ in pairs], "other", "error")
    mean = {(row["contestant"], row["split"]): np.mean(row["error"]) for row in table}
    gains = np.array([mean["other", k] - mean["single", k] for k in range(SPLITS)])
    expected = uncertainty.resampled(gains, **SIZES)
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
