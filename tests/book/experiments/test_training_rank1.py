"""How a rank-1 BNN is trained: networks side by side, what is scored, and the tables."""

import math

import numpy as np
import pytest
import torch
from scipy import integrate, stats

from ensedu import uncertainty
from ensedu.book import measured
from ensedu.book.experiments import training_batch_ensemble as before
from ensedu.book.experiments import training_rank1 as ours
from ensedu.book.experiments.shared.comparisons import compare_pairs
from ensedu.book.experiments.training_rank1 import (
    CONTESTANTS,
    EXPERIMENT,
    GRADIENTS,
    RATES,
    TUNING,
    Stack,
    gradients,
    score,
    train,
)
from ensedu.priors import Cauchy
from ensedu.torch import mlp
from ensedu.torch.train.losses import elbo, softmax_cross_entropy

SIZES = (5, 7, 3)
BUDGET = {"batch_size": 48, "epochs": [1]}
FEW_STEPS = {"batch_size": 480, "epochs": [1]}


def examples(number=11):
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.standard_normal((2, number, 5)))
    return x, torch.from_numpy(rng.integers(0, 3, (2, number)))


@pytest.mark.parametrize("name", ["normal", "signs", "signs_wide", "per_example"])
def test_each_network_of_a_stack_is_the_layers(name):
    row, (x, y) = CONTESTANTS[name], examples()
    stack = Stack(row, [5, 9], SIZES)
    noise = stack.noise(11 if row.per_example else None)
    nll = ours.nlls(stack.forward(x, noise), y).mean((1, 2))
    (nll + stack.kl() / 100).sum().backward()
    for g, start in enumerate([5, 9]):
        torch.manual_seed(start)
        options = {"prior": row.prior, "init": row.init, "per_example": row.per_example}
        net = mlp(SIZES, "rank1", 4, **options, dtype=torch.float64)
        own = {
            f"{layer}.{k}": eps[g] if row.per_example else eps[g, :, 0]
            for layer, pair in zip(stack.layers, noise, strict=True)
            for k, eps in zip("rs", pair, strict=True)
        }
        found = elbo(net, x[g], y[g], softmax_cross_entropy, num_examples=100, noise=own)
        found.loss.backward()
        assert float(nll[g].detach()) == pytest.approx(float(found.nll.detach()), abs=1e-12)
        assert float(stack.kl()[g].detach()) == pytest.approx(float(found.kl.detach()), rel=1e-12)
        for key, value in net.named_parameters():
            grad = stack.parameters[key].grad[g]
            torch.testing.assert_close(grad, value.grad, rtol=1e-9, atol=1e-12)


def test_a_drawn_kl_is_right_on_average():
    stack = Stack(CONTESTANTS["cauchy"], [3], SIZES)
    with torch.no_grad():
        drawn = [float(stack.kl()[0]) for _ in range(400)]
    means, deviations = (one.reshape(-1, 1) for one in stack.fast_weight_moments())
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)  # of a standard normal
    log_p = stats.cauchy(1.0, 0.1).logpdf(means + deviations * nodes)
    each = -0.5 * np.log(2 * np.pi * np.e) - np.log(deviations[:, 0])
    wanted = (each - log_p @ weights / np.sqrt(2 * np.pi)).sum() / 4
    error = np.std(drawn) / np.sqrt(len(drawn))
    assert abs(np.mean(drawn) - wanted) < 5 * error < 0.05 * wanted


def test_the_closed_kl_of_cauchy_distributions_is_the_quadrature():
    stack = Stack(CONTESTANTS["signs_heavy"], [3], (1, 1))
    means, deviations = stack.fast_weight_moments()

    def integrand(angle, loc, scale):
        w = loc + scale * math.tan(angle)
        own, prior = scale * (1 + math.tan(angle) ** 2), 0.1 * (1 + ((w - 1) / 0.1) ** 2)
        return math.log(prior / own) / math.pi

    compare_pairs = zip(means.ravel(), deviations.ravel(), strict=True)
    found = [
        integrate.quad(integrand, -math.pi / 2, math.pi / 2, pair)[0] for pair in compare_pairs
    ]
    assert float(stack.kl()[0].detach()) == pytest.approx(sum(found) / 4, rel=1e-5)


def test_noise_is_standard_normal_or_cauchy():
    stack = Stack(CONTESTANTS["normal"], [1], (5, 7000))
    [(_, normal)] = stack.noise(None)
    assert stats.kstest(normal.ravel().numpy(), "norm").pvalue > 0.01
    [(_, heavy)] = stack.noise(None, True)
    assert stats.kstest(heavy.ravel().numpy(), "cauchy").pvalue > 0.01
    assert normal.shape == (1, 4, 1, 7000)


def test_networks_side_by_side_learn_as_alone():
    row = CONTESTANTS["normal"]
    together = train(row, [0, 3], 1, 0.01, **BUDGET)
    alone = train(row, [3], 1, 0.01, **BUDGET)
    for name, value in alone.parameters.items():
        torch.testing.assert_close(value[0], together.parameters[name][1], rtol=1e-6, atol=1e-8)
    assert not torch.equal(together.parameters["0.weight"][0], alone.parameters["0.weight"][0])


def test_looking_on_the_way_changes_nothing():
    row, (x, y) = CONTESTANTS["cauchy"], ours.stacked_test_examples([0], 1)
    seen = []

    def look(stack, nll):
        seen.append(score(stack, x, y, 2)["nll"])

    looked = train(row, [0], 1, 0.01, 480, [1, 2], look)
    plain = train(row, [0], 1, 0.01, 480, [2])
    assert len(seen) == 2
    assert all(torch.equal(plain.parameters[k], v) for k, v in looked.parameters.items())


def test_what_makes_a_contestant_reaches_its_training():
    nets = {
        name: train(row, [0], 1, 0.01, **FEW_STEPS).parameters for name, row in CONTESTANTS.items()
    }
    for name, own in nets.items():
        others = [other for key, other in nets.items() if key != name]
        assert not any(torch.equal(own["0.weight"], other["0.weight"]) for other in others), name


def test_scores_are_those_of_all_draws():
    stack, (x, y) = Stack(CONTESTANTS["signs"], [5, 9], SIZES), examples()
    states = [g.get_state() for g in stack.generators]
    found = score(stack, x, y, 6)
    for g, state in zip(stack.generators, states, strict=True):
        g.set_state(state)
    with torch.no_grad():
        draws = [stack.forward(x, stack.noise(None)).softmax(-1)[1] for _ in range(6)]
    p = torch.stack(draws).numpy()  # (S, M, B, k)
    right = p[..., np.arange(11), y[1].numpy()]
    assert found["nll"][1] == pytest.approx(-np.log(right.mean((0, 1))).mean())
    assert found["member_nll"][1] == pytest.approx(-np.log(right.mean(0)).mean())
    assert found["draw_nll"][1] == pytest.approx(-np.log(right).mean())
    hits = p.mean((0, 1)).argmax(1) == y[1].numpy()
    assert found["accuracy"][1] == pytest.approx(hits.mean())
    assert found["disagreement"][1] == pytest.approx(uncertainty.disagreement(p.mean(0)))
    with torch.no_grad():
        points = stack.forward(x, None).softmax(-1)[1].mean(0).numpy()
    assert found["point_nll"][1] == pytest.approx(-np.log(points[np.arange(11), y[1]]).mean())


def test_members_drawn_from_the_prior_forget_what_they_learned():
    stack, (x, y) = Stack(CONTESTANTS["normal"], [5, 9], SIZES), examples()
    kept = {name: value.detach().clone() for name, value in stack.parameters.items()}
    seen = []
    stack.forward = lambda x, noise: (
        seen.append(stack.fast_weight_moments()) or torch.zeros(2, 4, 11, 3)
    )
    ours.prior_nlls(stack, x, y, 2)
    for means, deviations in seen:
        np.testing.assert_allclose(means, 1, rtol=0, atol=0)
        np.testing.assert_allclose(deviations, 0.1, rtol=0, atol=1e-12)
    assert all(torch.equal(kept[k], v) for k, v in stack.parameters.items())


def test_draws_for_each_image_average_out():
    found = gradients(0, [1, 32], 32, 30, 1, 48)
    for part in ("weight", "mean", "rho"):
        member, example = found["member"][part], found["example"][part]
        assert member[0] == pytest.approx(example[0], rel=0.5)
        assert example[1] < 0.5 * member[1]


def test_a_short_run_has_all_results():
    settings = {"splits": 2, "starts": 1, "batch_size": 48, "epochs": [1, 2], "passes": 2}
    found = ours.run("signs", **settings)
    assert {len(own) for name, own in found.items() if name != "curves"} == {2}
    assert set(found["curves"]) == set(ours.CURVES)
    assert found["curves"]["nll"][-1] == pytest.approx(np.mean(found["nll"]))
    assert 0.3 < found["curves"]["negative"][0] < 0.6
    assert len(found["curves"]["sigma"][0]) == 3


def test_the_settings_chosen_are_those_of_the_tuning():
    found = measured.load("rank1-training-tuning")["summary"]
    assert found == {name: row.chosen for name, row in CONTESTANTS.items()}
    assert tuple({case["lr"]: None for case in TUNING.cases}) == RATES
    ends = EXPERIMENT.settings["epochs"][-1], before.BUDGETS["digits"]["epochs"][-1]
    assert ends[0] == ends[1]
    assert EXPERIMENT.settings["batch_size"] == before.BUDGETS["digits"]["batch_size"]


def test_the_first_epochs_of_a_row_again():
    """One network's σ, and its part below 0, are near the means over all."""
    row = measured.row(measured.load("rank1-training")["rows"], contestant="signs_cauchy")
    settings = {"splits": 1, "starts": 1, "batch_size": 48, "epochs": [1, 2], "passes": 2}
    again = ours.run("signs_cauchy", **settings)["curves"]
    np.testing.assert_allclose(again["sigma"], row["curves"]["sigma"][:2], rtol=0.02)
    np.testing.assert_allclose(again["negative"], row["curves"]["negative"][:2], atol=0.02)


def test_a_row_of_gradients_again():
    row = measured.row(measured.load("rank1-gradients")["rows"], split=0)
    again = gradients(0, **GRADIENTS.settings | {"sizes": [64]})
    for kind in ("member", "example"):
        for part, values in again[kind].items():
            wanted = [row[kind][part][6]]
            assert values == pytest.approx(wanted, rel=0.3), (kind, part)


def test_pairs_are_paired_by_split():
    flat = [
        {"contestant": name, "split": split, "nll": split + gain + 0.1 * (split % 2)}
        for name, gain in (
            *((f"rank1_{name}", 0.5 if name == "sum" else 0.0) for name in CONTESTANTS),
            *((name, 0.0) for name in ("batch", "wide", "deep_ensemble")),
        )
        for split in range(10)
    ]
    entries = compare_pairs(ours.nll_of(flat), ours.PAIRS, train=90, test=10)
    found = {(row["contestant"], row["than"]): row for row in entries}
    assert found["sum", "normal"]["difference"] == pytest.approx(0.5)
    assert found["sum", "normal"]["verdict"] == "worse"
    assert found["signs", "batch"]["verdict"] == ""


def test_an_entry_at_minus_one_costs_200_nats_or_few():
    costs = {}
    for name in ("signs", "signs_heavy"):
        stack = Stack(CONTESTANTS[name], [3], (1, 1))
        for mean in (1.0, -1.0):
            stack.parameters["0.r_mean"].data.fill_(mean)
            stack.parameters["0.s_mean"].data.fill_(1.0)
            costs[name, mean] = float(stack.kl()[0].detach())
    assert costs["signs", -1.0] - costs["signs", 1.0] == pytest.approx(200)
    assert isinstance(CONTESTANTS["signs_heavy"].prior, Cauchy)
    gamma = (0.001 / 0.999) ** 0.5
    wanted = math.log(((0.1 + gamma) ** 2 + 4) / (0.1 + gamma) ** 2)
    assert costs["signs_heavy", -1.0] - costs["signs_heavy", 1.0] == pytest.approx(wanted)
    assert 5 < wanted < 6


def test_a_network_with_noise_learns_no_distribution_and_is_one():
    stack = train(ours.NOISY, [0], 1, 0.01, **FEW_STEPS)
    means, deviations = stack.fast_weight_moments()
    np.testing.assert_allclose(means, 1, rtol=0, atol=0)
    np.testing.assert_allclose(deviations, 0.1, rtol=0, atol=1e-12)
    x, _ = ours.stacked_test_examples([0], 1)
    with torch.no_grad():
        outputs = stack.forward(x, None)
        noise = stack.noise(None)
        drawn = stack.forward(x, noise)
    assert torch.equal(outputs, outputs[:, :1].expand_as(outputs))
    assert (drawn[:, 0] - drawn[:, 1]).abs().max() > 1e-3


def test_a_short_run_with_noise_has_all_results():
    found = ours.noise(2, 1, 448, [1], 2)
    assert found["lr"] == ours.RATES[int(np.argmin(np.mean(found["tuning"], axis=1)))]
    assert {len(found[name]) for name in ("accuracy", "nll", "draw_nll", "point_nll")} == {2}
    assert set(found) == set(measured.load("rank1-noise")["rows"][0])
