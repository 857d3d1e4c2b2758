"""What learns from what, and what is scored, against loops, densities and known effects."""

import math

import numpy as np
import pytest
import torch
from scipy import integrate, stats

from ensedu import uncertainty
from ensedu.data import bandit
from ensedu.torch import MeanFieldLinear, mlp
from ensedu.torch.losses import negative_elbo, softmax_cross_entropy
from workshop.experiments import bandit as bandits
from workshop.experiments import batch_ensemble_training as batch
from workshop.experiments import bayesian_cnn as cnn
from workshop.experiments import bayesian_cnn_images as seen
from workshop.experiments import mc_dropout, more_from_one_network, next_task, pruning, starts
from workshop.experiments import rank1_training as rank1
from workshop.experiments import width as widths
from workshop.experiments.shared import add_verdicts

rng = np.random.default_rng(0)
PARTS = {
    "dropout": lambda split: mc_dropout.split_digits(1200, split),
    "starts": lambda split: zip(*[iter(starts._digits(split))] * 2, strict=True),
    "batch": lambda split: batch.examples("digits", split),
    "width": widths.examples,
    "pruning, MNIST": pruning.split_digits,
    "bayesian_cnn, MNIST": cnn.split_digits,
    "next-task": lambda split: [part for task in next_task.tasks(split) for part in task],
}


@pytest.mark.parametrize("name", PARTS)
def test_parts_of_a_split_share_nothing_and_leave_nothing_out(name):
    one, other = ([np.asarray(x).reshape(len(y), -1) for x, y in PARTS[name](k)] for k in (0, 1))
    every = {row.tobytes() for part in one for row in part}
    assert len(every) == sum(map(len, one)) == (5000 if "MNIST" in name else 1797)
    assert not np.array_equal(one[0][:100], other[0][:100])


@pytest.mark.parametrize("name", ["normal", "signs", "signs_wide", "per_example"])
def test_each_network_of_a_stack_is_the_layers(name):
    row, x = rank1.RECIPES[name], torch.randn(2, 11, 5, dtype=torch.float64)
    y, stack = torch.randint(3, (2, 11)), rank1.Stack(row, [5, 9], (5, 7, 3))
    noise = stack.noise(11 if row.per_example else None)
    nll = rank1.nlls(stack.forward(x, noise), y).mean((1, 2))
    (nll + stack.kl() / 100).sum().backward()
    for g, start in enumerate([5, 9]):
        torch.manual_seed(start)
        options = {"prior": row.prior, "init": row.init, "per_example": row.per_example}
        net = mlp((5, 7, 3), "rank1", 4, **options, dtype=torch.float64)
        own = {
            f"{layer}.{k}": eps[g] if row.per_example else eps[g, :, 0]
            for layer, pair in zip(stack.layers, noise, strict=True)
            for k, eps in zip("rs", pair, strict=True)
        }
        found = negative_elbo(net, x[g], y[g], softmax_cross_entropy, num_examples=100, noise=own)
        found.loss.backward()
        torch.testing.assert_close(nll[g], found.nll, rtol=0, atol=1e-12)
        torch.testing.assert_close(stack.kl()[g], found.kl, rtol=1e-12, atol=0)
        for key, value in net.named_parameters():
            grad = stack.parameters[key].grad[g]
            torch.testing.assert_close(grad, value.grad, rtol=1e-9, atol=1e-12)


def test_a_closed_divergence_of_cauchy_distributions_is_the_integral():
    stack = rank1.Stack(rank1.RECIPES["signs_heavy"], [3], (1, 1))

    def integrand(angle, loc, scale):
        w = loc + scale * math.tan(angle)
        own, prior = scale * (1 + math.tan(angle) ** 2), 0.1 * (1 + ((w - 1) / 0.1) ** 2)
        return math.log(prior / own) / math.pi

    pairs = zip(*(one.ravel() for one in stack.fast_weight_moments()), strict=True)
    found = [integrate.quad(integrand, -math.pi / 2, math.pi / 2, pair)[0] for pair in pairs]
    assert float(stack.kl()[0].detach()) == pytest.approx(sum(found) / 4, rel=1e-5)


def test_noise_is_standard_normal_or_cauchy():
    stack = rank1.Stack(rank1.RECIPES["normal"], [1], (5, 7000))
    for heavy, law in ((None, "norm"), (True, "cauchy")):
        [(_, noise)] = stack.noise(None, heavy)
        assert stats.kstest(noise.ravel().numpy(), law).pvalue > 0.01


def test_rates_are_tuned_on_splits_apart():
    found = rank1.tune("normal", 0.01, 1, 480, [1], 2)
    stack = rank1.train(rank1.RECIPES["normal"], [1000], 1, 0.01, 480, [1])
    wanted = rank1.score(stack, *rank1.stacked_test_examples([1000], 1), 2)
    assert found["nll"] == pytest.approx(wanted["nll"], rel=1e-9)


@pytest.mark.parametrize("contestant", next_task.RECIPES)
def test_a_task_changes_what_is_its_own_and_only_what_trains_on_forgets(contestant):
    net, parts = next_task.network(contestant, 0), next_task.tasks(0)
    options = {"lr": 0.01, "epochs": 1, "batch_size": 32, "seed": 0}
    next_task.learn_task(net, 0, parts[0][0], **options)
    x, fine_tuned = parts[0][1][0], contestant == "fine_tuned"
    before, answers = [p.clone() for p in net.parameters()], next_task.outputs(net, 0, x)
    if contestant == "copied":
        net.begin_task(1)
        features = net.body(x)
        assert torch.equal(features[1], features[0])
    next_task.learn_task(net, 1, parts[1][0], **options)
    changed = sum(int((p != old).sum()) for p, old in zip(net.parameters(), before, strict=True))
    assert torch.equal(next_task.outputs(net, 0, x), answers) == (not fine_tuned)
    fast, head, own = 2 * (64 + 64 + 64), 64 * 2 + 2, 2 * (64 * 64 + 64)
    added = head + {"signs": fast, "copied": fast, "own": own}.get(contestant, 0)
    assert net.added_numbers() == added
    if not fine_tuned:  # all but what had a gradient of 0
        assert 0.5 * added < changed <= added


def eaten(agent, mushrooms, first=10, steps=1, **setting):
    return bandits.decisions(agent, mushrooms, 3, first, steps, **setting)


@pytest.mark.parametrize("agent", ["greedy", "thompson", "ensemble"])
def test_what_is_eaten_teaches_and_what_is_left_does_not(agent):
    found = bandit.sample(np.random.default_rng(7), 120)
    before = eaten(agent, found)
    assert before[:10].all() and not before.all()
    pays = np.where(before, found.pays, 1e6)
    assert np.array_equal(eaten(agent, bandit.Mushrooms(found.x, ~found.poisonous, pays)), before)
    for pay, most in ((-35.0, 0.1), (5.0, 1.0)):
        other = bandit.Mushrooms(found.x, found.poisonous, np.full_like(found.pays, pay))
        late = eaten(agent, other, steps=2, lr=0.02, posterior_std=0.02, beta=0.01)[-60:]
        assert late.mean() == pytest.approx(most, abs=0.1)


def test_coins_and_draws():
    many = bandit.sample(np.random.default_rng(8), 4001)
    assert eaten("random", many).mean() == pytest.approx(0.5, abs=0.04)
    # A greedy agent that has learned to eat nothing still eats, with a coin, 2.5 % of them.
    nothing = bandit.Mushrooms(many.x[:499], many.poisonous[:499], np.full(499, -35.0))
    late = [eaten(name, nothing, lr=0.003)[100:].mean() for name in ("greedy", "explore")]
    assert late == [0, pytest.approx(0.025, abs=0.016)]
    again = bandit.Mushrooms(np.repeat(many.x[:1], 120, 0), many.poisonous[:120], many.pays[:120])
    for agent, std, torn in (
        ("thompson", 0.5, True),
        ("ensemble", 1, True),
        ("thompson", 1e-6, False),
    ):
        part = eaten(agent, again, first=0, steps=0, posterior_std=std).mean()
        assert (0.1 < part < 0.9) == torn, agent


def test_a_pruned_weight_is_0_in_every_draw():
    torch.manual_seed(0)
    net = mlp((5, 7, 3), "mean_field", posterior_std=0.3, estimator="local")
    layers = {key: part for key, part in net.named_children() if isinstance(part, MeanFieldLinear)}
    next(iter(layers.values())).weight_rho.data += torch.randn(7, 5)
    rng = np.random.default_rng(0)
    masks = {name: rng.random(part.weight_mean.shape) < 0.4 for name, part in layers.items()}
    cut = dict(pruning.pruned_copy(net, masks).named_children())
    ratio = pruning.scores(net)
    for name, part in layers.items():
        draws = torch.stack([cut[name].stored_weights()[0] for _ in range(5)]).detach().numpy()
        assert (draws[:, ~masks[name]] == 0).all() and (draws[:, masks[name]].std(0) > 0).all()
        kept, own = (one.weight_mean.detach().numpy() for one in (cut[name], part))
        np.testing.assert_array_equal(kept[masks[name]], own[masks[name]])
        assert (own != 0).all()  # the network itself is as it was
        std = np.log1p(np.exp(part.weight_rho.detach().double().numpy()))
        np.testing.assert_allclose(ratio[name], np.abs(own) / std, rtol=1e-6)


def test_rates_and_where_they_end():
    rates = {
        name: np.array([more_from_one_network.rate(name, step, 300, 0.01) for step in range(300)])
        for name in more_from_one_network.SCHEDULES
    }
    falls, holds, restarts = (rates[name] for name in ("falls", "holds", "restarts"))
    assert (rates["constant"] == 0.01).all() and falls[0] == 0.02 and falls[-1] < 1e-5
    np.testing.assert_array_equal(holds[:201], falls[:201])
    assert holds[200:] == pytest.approx(0.01 * (1 + math.cos(2 * math.pi / 3)))
    np.testing.assert_allclose(restarts, np.tile(falls[::5], 5), rtol=1e-9)
    assert [*more_from_one_network.ends_of("falls", 80, 40)] == [72, 74, 76, 78, 80]
    assert [*more_from_one_network.ends_of("restarts", 80, 40)] == [16, 32, 48, 64, 80]


def test_where_training_fails_the_next_smaller_rate_is_taken(monkeypatch):
    def fails(method, width, members, split, lr):
        if lr > widths.RATES[0]:
            raise FloatingPointError
        return widths.network(method, width, members, 0)

    monkeypatch.setattr(widths, "trained", fails)
    given = "batch_ensemble", 16, 2, 0
    assert widths.train_at_rate(*given, widths.RATES[1])[1] == widths.RATES[0]
    with pytest.raises(FloatingPointError, match="batch_ensemble of 2, width 16, fails"):
        widths.train_at_rate(*given, 0.001)
    assert widths.tune("batch_ensemble", 16, 100, 0.06)["nll"] == [None] * 4
    budgets = {"digits": {"starts": 1, "batch_size": 48, "epochs": 1}}
    assert batch.tune("digits", "sgd", 1e300, 0, budgets) == {"nll": None}


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
        add_verdicts([(entry, uncertainty.MeanDifference(0.3, -0.1, 0.7, 11, p))])
        assert (entry["adjusted"], entry["verdict"]) == (p, verdict)
    pair = [({}, uncertainty.MeanDifference(-0.3, -0.7, 0.1, 11, p)) for p in (0.024, 0.051)]
    add_verdicts(pair)
    assert [entry["verdict"] for entry, _ in pair] == ["better", ""]
