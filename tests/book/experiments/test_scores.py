"""What is scored and compared, of images too, against loops, densities and known effects."""

import numpy as np
import pytest
import torch
from torch.distributions import Categorical, MixtureSameFamily, Normal

from ensedu import uncertainty
from workshop import measured
from workshop.experiments import bayesian_cnn as cnn
from workshop.experiments import bayesian_cnn_images as seen
from workshop.experiments import images_out
from workshop.experiments.images_out import METHODS, TEST, Doubled
from workshop.experiments.shared import add_verdicts

rng = np.random.default_rng(0)


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


def test_the_doubted_tenth_holds_its_part_of_the_error():
    doubt, squared = rng.permutation(30.0 + np.arange(50)), rng.random(50)
    wanted = squared[doubt >= 75].sum() / squared.sum()
    assert images_out.share_of_doubted(doubt, squared) == pytest.approx(wanted)


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


def test_a_verdict_takes_an_adjusted_p_value_below_a_twentieth():
    for p, verdict in ((0.0499, "worse"), (0.05, ""), (0.0501, "")):
        entry = {}
        add_verdicts([(entry, uncertainty.Interval(0.3, -0.1, 0.7, 11, p))])
        assert (entry["adjusted"], entry["verdict"]) == (p, verdict)
    pair = [({}, uncertainty.Interval(-0.3, -0.7, 0.1, 11, p)) for p in (0.024, 0.051)]
    add_verdicts(pair)
    assert [entry["verdict"] for entry, _ in pair] == ["better", ""]
