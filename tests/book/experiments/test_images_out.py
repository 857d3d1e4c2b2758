"""Photographs doubled in size: what is hidden, what is scored, and a short run on a real one."""

import numpy as np
import pytest
import torch
from torch.distributions import Categorical, MixtureSameFamily, Normal

from ensedu import uncertainty
from ensedu.book import measured
from ensedu.book.experiments import images_out
from ensedu.book.experiments.images_out import (
    EXPERIMENT,
    METHODS,
    SCALE,
    TEST,
    TRAIN,
    Doubled,
    summarize,
)

rng = np.random.default_rng(0)
SHORT = EXPERIMENT.settings | {
    "train": ["temple"], "scale": "temple", "members": 2, "samples": 3, "epochs": 1,
    "batch_size": 20,
}  # fmt: skip


def test_no_photograph_is_in_two_parts():
    names = [*TRAIN, SCALE, *TEST]
    assert len({*names}) == len(names) == 11
    assert {*names} == images_out.FILES.keys()
    assert len({*images_out.FILES.values()}) == 11


def test_half_a_photograph_is_the_averages_of_blocks():
    pixels = rng.random((6, 10))
    small = images_out.halved(pixels)
    assert small.shape == (3, 5)
    for i, j in np.ndindex(3, 5):
        own = [pixels[2 * i + a, 2 * j + b] for a in (0, 1) for b in (0, 1)]
        assert small[i, j] == pytest.approx(sum(own) / 4)


def test_interpolation_moves_nothing():
    """Moved by half a small pixel, the slope would be off by 1 + 3."""
    row = np.arange(40.0)
    truth = row[:, None] + 3 * row
    found = images_out.bicubic(images_out.halved(truth))
    inside = (slice(8, -8),) * 2
    np.testing.assert_allclose(found[inside], truth[inside], rtol=0, atol=0.5)
    small = rng.random((7, 9))
    turned = images_out.bicubic(small[::-1, ::-1].copy())
    np.testing.assert_allclose(turned[::-1, ::-1], images_out.bicubic(small), rtol=0, atol=1e-12)


def test_a_patch_lies_where_its_residual_does(monkeypatch):
    truth = rng.random((68, 100))
    monkeypatch.setattr(images_out, "photograph", lambda name: truth)
    seen, lacking = images_out.patches(["any"])
    small, missing = images_out.halved(truth), truth - images_out.bicubic(images_out.halved(truth))
    assert seen.shape == (2 * 3, 16, 16)
    assert lacking.shape == (2 * 3, 32, 32)
    np.testing.assert_array_equal(seen[4], small[16:32, 16:32])
    np.testing.assert_array_equal(lacking[4], missing[32:64, 32:64])


def test_rows_are_the_pixels_of_the_target_in_their_order():
    targets = torch.rand(3, 4, 6, dtype=torch.float64)
    raw = torch.full_like(targets, np.log(np.expm1(4 - 1e-6)))  # a variance of 4
    outputs = torch.stack([targets + 1, raw], dim=1).expand(2, 3, 2, 4, 6)
    wanted = -Normal(1.0, 2.0).log_prob(torch.tensor(0.0))
    assert float(images_out.pixel_nll(outputs, targets)) == pytest.approx(float(wanted))


def test_the_nll_is_that_of_the_mixture_with_wider_members():
    mean, variance = rng.normal(size=(3, 7, 1)), rng.random((3, 7, 1)) + 0.1
    missing = rng.normal(size=(7, 1))
    mixed = MixtureSameFamily(
        Categorical(torch.ones(7, 3)),
        Normal(torch.from_numpy(mean[..., 0].T), 1.5 * torch.from_numpy(variance[..., 0].T).sqrt()),
    )
    wanted = -mixed.log_prob(torch.from_numpy(missing[:, 0])).mean()
    assert Doubled(mean, variance, missing).nll(1.5) == pytest.approx(float(wanted))


def test_the_factor_mends_standard_deviations():
    missing = rng.normal(size=(5000, 1))
    one = Doubled(np.zeros((1, 5000, 1)), np.full((1, 5000, 1), 4.0), missing)
    assert images_out.best_factor(one) == pytest.approx(0.5, abs=0.03)


def test_the_doubted_tenth_holds_its_part_of_the_error():
    doubt, squared = rng.permutation(30.0 + np.arange(50)), rng.random(50)
    doubted = np.isin(doubt, [75, 76, 77, 78, 79])
    wanted = squared[doubted].sum() / squared.sum()
    assert images_out.share_of_doubted(doubt, squared) == pytest.approx(wanted)


def test_an_image_comes_out_as_it_was_packed():
    image = rng.integers(0, 256, (5, 5)).astype(float)
    np.testing.assert_array_equal(images_out.unpacked(images_out.packed(image)), image)
    assert images_out.unpacked(images_out.packed(np.array([[-3.0, 300], [0.4, 0.6]]))).tolist() == [
        [0, 255],
        [0, 1],
    ]


def test_a_short_run_on_a_real_photograph(monkeypatch):
    monkeypatch.setattr(images_out, "TEST", ("flower",))
    found = {method: images_out.run(method, 0, **SHORT) for method in ("bicubic", *METHODS)}
    base = found.pop("bicubic")
    assert base.keys() == found["single"].keys()
    for method, row in found.items():
        assert row["crops"]["flower"].keys() == {"mean", "std"}
        assert (row["spread"][0] > 0) == (method != "single")
        assert abs(row["psnr"][0] - base["psnr"][0]) < 1
    assert len({row["psnr"][0] for row in found.values()}) == 4
    table = measured.load("images-out")["rows"]
    row = measured.row(table, method="bicubic", seed=0)
    place = TEST.index("flower")
    assert row["psnr"][place] == pytest.approx(base["psnr"][0], rel=1e-3)
    assert row["nll"][place] == pytest.approx(base["nll"][0], rel=1e-3)
    assert row["crops"]["flower"] == base["crops"]["flower"]


def test_a_constant_sigma_has_the_nll_of_its_error():
    row = measured.row(measured.load("images-out")["rows"], method="bicubic", seed=0)
    for psnr, nll in zip(row["psnr"], row["nll"], strict=True):
        rms = 255 * 10 ** (-psnr / 20)
        assert nll == pytest.approx(0.5 + np.log(rms * np.sqrt(2 * np.pi)), abs=2e-3)


def test_the_summary_is_over_seeds():
    rows = [{"method": "bicubic", "seed": 0, "psnr": [30.0] * 5, "nll": [3.0] * 5}]
    rows += [
        {"method": method, "seed": seed}
        | {score: rng.random(5).tolist() for score in ("psnr", "nll", "spread", "found", "off")}
        for seed in range(4)
        for method in METHODS
    ]
    found = summarize(rows)
    own = np.array([row["nll"] for row in rows if row["method"] == "mean_field"]) - 3
    every = measured.row(found, photograph="all", method="mean_field")
    wanted = uncertainty.paired(own.mean(axis=1))
    assert every["nll"] == [wanted.low, wanted.mean, wanted.high]
    cat = measured.row(found, photograph="cat", method="mean_field")
    assert cat["nll"][1] == pytest.approx(own[:, TEST.index("cat")].mean())
    off = [row["off"][1] for row in rows if row["method"] == "mean_field"]
    assert cat["off"] == pytest.approx(np.mean(off))


def test_a_crop_is_what_the_table_keeps():
    table = measured.load("images-out")
    found = images_out.crops(table["rows"])
    assert {*found} == {(name, method) for name in TEST for method in METHODS}
    one = found["camera", "single"]
    assert one.truth.shape == one.mean.shape == one.std.shape == (64, 64)
    np.testing.assert_allclose(one.small, images_out.halved(one.truth))
    assert 0.1 < one.found < 1
    assert one.error.max() < 255
