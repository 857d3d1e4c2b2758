"""What both backends promise: members by loop, shapes, randomness, moments, KL.

All sizes are distinct primes, so that a swapped axis cannot hide.
"""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

import ensedu.numpy as en
import ensedu.torch as et
from ensedu.priors import Normal

M, B, m, n = 3, 7, 5, 11
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
MEMBERS = ("DeepEnsembleLinear", "BatchEnsembleLinear", "Rank1Linear")
SAMPLED = ("Rank1Linear", "BayesLinear")


def numpy_backend():
    rng = np.random.default_rng(2)
    return SimpleNamespace(
        name="numpy",
        make=lambda name, *sizes, **kwargs: getattr(en, name)(*sizes, rng=rng, **kwargs),
        array=lambda values: np.asarray(values, np.float64),
        numpy=np.asarray,
        source=np.random.default_rng,
        params=lambda layer: layer.params,
    )


def torch_backend(device):
    torch.manual_seed(2)
    return SimpleNamespace(
        name=device,
        make=lambda name, *sizes, **kwargs: getattr(et, name)(
            *sizes,
            **kwargs,
            **({} if name == "MCDropout" else {"dtype": torch.float64, "device": device}),
        ),
        array=lambda values: torch.tensor(np.asarray(values), dtype=torch.float64, device=device),
        numpy=lambda tensor: tensor.detach().cpu().numpy(),
        source=lambda seed: torch.Generator(device).manual_seed(seed),
        params=lambda layer: dict(layer.named_parameters()),
    )


@pytest.fixture(params=["numpy", *DEVICES])
def backend(request):
    return numpy_backend() if request.param == "numpy" else torch_backend(request.param)


@pytest.fixture
def data():
    return np.random.default_rng(1)


def sizes_of(name):
    return (m, n, M) if name in MEMBERS else (m, n)


def bias_of(backend, layer, name, sample):
    """The biases of each member or sample, (M, n), from the parameters."""
    params = {k: backend.numpy(v) for k, v in backend.params(layer).items()}
    if name != "BayesLinear":
        return np.broadcast_to(params["bias"], (M, n))
    scale = np.log1p(np.exp(params["bias_rho"]))
    return params["bias_mean"] + scale * backend.numpy(sample["bias"])


@pytest.mark.parametrize("broadcast", [False, True])
@pytest.mark.parametrize("name", ["DeepEnsembleLinear", "BatchEnsembleLinear", "Rank1Linear"])
def test_forward_equals_loop_over_members(backend, data, name, broadcast):
    layer = backend.make(name, m, n, M)
    x = data.standard_normal((B, m) if broadcast else (M, B, m))
    sample = layer.sample(backend.source(3)) if name in SAMPLED else None
    y = layer.forward(backend.array(x), *([sample] if sample else []))
    W = backend.numpy(layer.weight_matrices(sample))
    b = bias_of(backend, layer, name, sample)
    assert W.shape == (M, m, n)
    assert y.shape == (M, B, n)
    for i in range(M):
        expected = (x if broadcast else x[i]) @ W[i] + b[i]
        np.testing.assert_allclose(backend.numpy(y)[i], expected, rtol=0, atol=1e-12)


def test_bayes_forward_equals_loop_over_samples(backend, data):
    layer = backend.make("BayesLinear", m, n, init_scale=0.5)
    x = data.standard_normal((M, B, m))
    sample = layer.sample(backend.source(3), x.shape)
    y = backend.numpy(layer.forward(backend.array(x), sample))
    W = backend.numpy(layer.weight_matrices(sample))
    b = bias_of(backend, layer, "BayesLinear", sample)
    assert W.shape == (M, m, n)
    for i in range(M):
        np.testing.assert_allclose(y[i], x[i] @ W[i] + b[i], rtol=0, atol=1e-12)
    assert not np.allclose(W[0], W[1])
    one = layer.sample(backend.source(3))
    W = backend.numpy(layer.weight_matrices(one))
    assert W.shape == (1, m, n)
    y = backend.numpy(layer.forward(backend.array(x[0]), one))
    b = bias_of(backend, layer, "BayesLinear", one)
    np.testing.assert_allclose(y, x[0] @ W[0] + b, rtol=0, atol=1e-12)


def test_rank1_per_example_equals_loop_over_members_and_examples(backend, data):
    layer = backend.make("Rank1Linear", m, n, M, per_example=True, init_scale=0.5)
    x = data.standard_normal((M, B, m))
    sample = layer.sample(backend.source(3), x.shape)
    y = backend.numpy(layer.forward(backend.array(x), sample))
    W = backend.numpy(layer.weight_matrices(sample))
    b = bias_of(backend, layer, "Rank1Linear", sample)
    assert W.shape == (M, B, m, n)
    for i in range(M):
        for j in range(B):
            np.testing.assert_allclose(y[i, j], x[i, j] @ W[i, j] + b[i], rtol=0, atol=1e-12)
    assert not np.allclose(W[0, 0], W[0, 1])


def test_linear_keeps_leading_axes(data):
    layer = en.Linear(m, n, rng=data)
    for leading in [(), (B,), (M, B), (2, M, B)]:
        x = data.standard_normal((*leading, m))
        y = layer.forward(x)
        assert y.shape == (*leading, n)
        np.testing.assert_array_equal(layer.weight_matrices(), layer.params["weight"][None])
        np.testing.assert_allclose(y, x @ layer.weight_matrices()[0] + layer.params["bias"])


@pytest.mark.parametrize(
    "layer",
    [en.Linear(m, n, rng=np.random.default_rng(0))]
    + [getattr(en, name)(m, n, M, rng=np.random.default_rng(0)) for name in MEMBERS]
    + [en.BayesLinear(m, n, rng=np.random.default_rng(0))],
)
def test_weight_matrices_are_the_callers_own(layer):
    before = {key: value.copy() for key, value in layer.params.items()}
    layer.weight_matrices()[...] = 0
    for key, value in layer.params.items():
        np.testing.assert_array_equal(value, before[key])


def test_modulation_is_rank_one_but_members_are_not(backend):
    layer = backend.make("BatchEnsembleLinear", m, n, M, init="normal")
    params = {k: backend.numpy(v) for k, v in backend.params(layer).items()}
    shared = params["weight"] if params["weight"].shape == (m, n) else params["weight"].T
    for i, W in enumerate(backend.numpy(layer.weight_matrices())):
        assert np.linalg.matrix_rank(W) == min(m, n)
        assert np.linalg.matrix_rank(W / shared, tol=1e-8) == 1
        np.testing.assert_allclose(W / shared, np.outer(params["r"][i], params["s"][i]))


@pytest.mark.parametrize("init", ["signs", "normal"])
@pytest.mark.parametrize("name", ["BatchEnsembleLinear", "Rank1Linear"])
def test_fast_weights_start(backend, name, init):
    layer = backend.make(name, 199, 211, 13, init=init, init_std=0.5)
    keys = ("r", "s") if name == "BatchEnsembleLinear" else ("r_mean", "s_mean")
    for key in keys:
        values = backend.numpy(backend.params(layer)[key])
        if init == "signs":
            assert set(np.unique(values)) == {-1.0, 1.0}
            assert abs(values.mean()) < 5 / values.size**0.5
        else:
            assert abs(values.mean() - 1) < 5 * 0.5 / values.size**0.5
            assert abs(values.std() - 0.5) < 5 * 0.5 / (2 * values.size) ** 0.5


@pytest.mark.parametrize("name", MEMBERS)
def test_members_start_apart_within_the_bound(backend, name):
    layer = backend.make(name, m, n, M)
    W = backend.numpy(layer.weight_matrices())
    assert all(not np.allclose(W[i], W[j]) for i in range(M) for j in range(i))
    for key in {"weight", "bias"} & backend.params(layer).keys():
        values = backend.numpy(backend.params(layer)[key])
        assert np.abs(values).max() <= m**-0.5
        assert np.abs(values).max() > 0.8 * m**-0.5


@pytest.mark.parametrize("name", SAMPLED)
def test_calls_differ_and_agree_where_they_must(backend, data, name):
    layer = backend.make(name, *sizes_of(name))
    x = backend.array(data.standard_normal((B, m)))
    if backend.name != "numpy":
        layer.eval()  # sampling goes on in eval mode
    first, second = (backend.numpy(layer.forward(x)) for _ in range(2))
    assert not np.allclose(first, second)
    sample = layer.sample(backend.source(5))
    first, second = (backend.numpy(layer.forward(x, sample)) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    again = layer.sample(backend.source(5))
    np.testing.assert_array_equal(first, backend.numpy(layer.forward(x, again)))
    matrices = [backend.numpy(layer.weight_matrices()) for _ in range(2)]
    assert not np.allclose(*matrices)


@pytest.mark.parametrize("name", ["DeepEnsembleLinear", "BatchEnsembleLinear"])
def test_deterministic_layers_repeat_themselves(backend, data, name):
    layer = backend.make(name, m, n, M)
    x = backend.array(data.standard_normal((B, m)))
    first, second = (backend.numpy(layer.forward(x)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_rank1_draws_once_per_member_and_batch_unless_asked(backend):
    x = backend.array(np.ones((B, m)))
    shared = backend.numpy(backend.make("Rank1Linear", m, n, M).forward(x))
    np.testing.assert_allclose(shared, np.broadcast_to(shared[:, :1], shared.shape), atol=1e-14)
    own = backend.numpy(backend.make("Rank1Linear", m, n, M, per_example=True).forward(x))
    assert (np.ptp(own, axis=1) > 1e-4).all()


def near(values, expected, variance, sigmas=6):
    """Sample means over the first axis lie within so many standard errors of theory."""
    error = np.abs(values.mean(axis=0) - expected)
    assert (error <= sigmas * np.sqrt(variance / len(values)) + 1e-12).all()


def test_bayes_moments(backend, data):
    samples = 20_011
    layer = backend.make("BayesLinear", m, n, init_scale=0.3)
    x = data.standard_normal((2, m))
    draws = layer.sample(backend.source(7), (samples, 2, m))
    y = backend.numpy(layer.forward(backend.array(np.tile(x, (samples, 1, 1))), draws))
    mean_matrix = backend.numpy(backend.params(layer)["weight_mean"])
    mean_matrix = mean_matrix if backend.name == "numpy" else mean_matrix.T
    mean = x @ mean_matrix + backend.numpy(backend.params(layer)["bias_mean"])
    variance = np.broadcast_to((0.3**2 * ((x**2).sum(axis=1) + 1))[:, None], mean.shape)
    near(y, mean, variance)
    near((y - mean) ** 2, variance, 2 * variance**2)


def test_rank1_moments_and_row_covariance(backend):
    layer = backend.make("Rank1Linear", m, n, M, init="normal", init_std=0.5, init_scale=0.4)
    params = {k: backend.numpy(v) for k, v in backend.params(layer).items()}
    w = params["weight"] if backend.name == "numpy" else params["weight"].T
    source = backend.source(7)
    W = np.stack([backend.numpy(layer.weight_matrices(layer.sample(source))) for _ in range(8_009)])
    r, s = params["r_mean"][:, :, None], params["s_mean"][:, None, :]
    near(W, w * r * s, w**2 * ((r**2 + 0.16) * (s**2 + 0.16) - r**2 * s**2))
    # Entries of one row move together through their r: Cov = w_ab w_ac Var(r_a) E[s_b] E[s_c].
    a, b, c = 2, 3, 7
    products = (W - w * r * s)[:, :, a, b] * (W - w * r * s)[:, :, a, c]
    expected = w[a, b] * w[a, c] * 0.16 * params["s_mean"][:, b] * params["s_mean"][:, c]
    near(products, expected, products.var(axis=0))
    variance = (w[a, b] * 0.4 * params["s_mean"][:, b]) ** 2
    assert (np.abs(expected) > 0.05 * variance).any()


@pytest.mark.parametrize("per_example", [False, True])
def test_dropout_masks(backend, per_example):
    p = 0.3
    layer = backend.make("MCDropout", p, per_example=per_example)
    x = np.ones((97, 101, 103))
    y = backend.numpy(layer.forward(backend.array(x)))
    assert set(np.unique(y)) == {0.0, 1 / (1 - p)}
    if not per_example:
        np.testing.assert_array_equal(y, np.broadcast_to(y[:, :1], y.shape))
        y = y[:, 0]
    near(y.reshape(-1), 1.0, p / (1 - p))
    assert backend.numpy(layer.forward(backend.array(np.ones((2, 89))))).shape == (2, 89)
    never = backend.make("MCDropout", 0.0)
    np.testing.assert_array_equal(backend.numpy(never.forward(backend.array(x))), x)


def number(kl):
    return kl if isinstance(kl, float) else kl.item()


def set_posterior(backend, layer, names, mean, rho):
    for key, value in backend.params(layer).items():
        for name in names:
            if key == f"{name}_mean":
                value[...] = mean
            elif key == f"{name}_rho":
                value[...] = rho


@pytest.mark.parametrize("name", SAMPLED)
def test_kl_is_exactly_zero_where_posterior_is_prior(backend, name):
    rho = 0.3
    # The σ that the layer itself computes is the prior's, so that q = p to the last bit.
    scale = {
        "numpy": lambda: float(en.variational.softplus(np.array([rho]))[0]),
    }.get(backend.name, lambda: float(et.variational.softplus(backend.array(rho))))()
    layer = backend.make(name, *sizes_of(name), prior=Normal(0.7, scale))
    with torch.no_grad():
        set_posterior(backend, layer, ("r", "s", "weight", "bias"), 0.7, rho)
    assert number(layer.kl()) == 0.0


@pytest.mark.parametrize("name", SAMPLED)
def test_kl_equals_torch_distributions(backend, data, name):
    prior = Normal(0.3, 0.7)
    layer = backend.make(name, *sizes_of(name), prior=prior)
    expected = 0.0
    with torch.no_grad():
        for key, value in backend.params(layer).items():
            if key.endswith(("_mean", "_rho")):
                value[...] = backend.array(data.normal(0, 3, value.shape))
    params = {k: torch.tensor(backend.numpy(v)) for k, v in backend.params(layer).items()}
    for key, mean in params.items():
        if key.endswith("_mean"):
            scale = torch.nn.functional.softplus(params[key.replace("_mean", "_rho")])
            posterior = torch.distributions.Normal(mean, scale)
            loc, scale = torch.tensor([prior.loc, prior.scale], dtype=torch.float64)
            target = torch.distributions.Normal(loc, scale)
            expected += torch.distributions.kl_divergence(posterior, target).sum().item()
    members = M if name == "Rank1Linear" else 1
    assert number(layer.kl()) == pytest.approx(expected / members, rel=1e-12)
    if name == "Rank1Linear":
        assert number(layer.kl(over_members="sum")) == pytest.approx(expected, rel=1e-12)


def test_a_flipped_sign_costs_200_nats_under_a_narrow_prior(backend):
    layer = backend.make("Rank1Linear", 1, 1, 1, prior=Normal(1.0, 0.1))
    with torch.no_grad():
        set_posterior(backend, layer, ("r", "s"), 1.0, float(np.log(np.expm1(0.1))))
        before = number(layer.kl())
        set_posterior(backend, layer, ("r",), -1.0, float(np.log(np.expm1(0.1))))
    assert before == pytest.approx(0.0, abs=1e-12)
    assert number(layer.kl()) == pytest.approx(200.0)


@pytest.mark.parametrize(
    "method", ["single", "deep_ensemble", "batch_ensemble", "rank1", "mean_field", "mc_dropout"]
)
def test_mlp_shapes(method, data):
    x = data.standard_normal((B, m))
    expected = (B, 2) if method == "single" else (M, B, 2)
    assert en.mlp([m, n, 13, 2], method, M, rng=data)(x).shape == expected
    for device in DEVICES:
        module = et.mlp([m, n, 13, 2], method, M, dtype=torch.float64, device=device)
        assert module(torch.tensor(x, device=device)).shape == expected


def test_mlp_options_reach_the_layers(data):
    net = en.mlp([m, n, 2], "batch_ensemble", M, rng=data, init="normal", init_std=0.25)
    assert [layer.init_std for layer in net.layers[::2]] == [0.25, 0.25]
    net = et.mlp([m, n, 2], "mc_dropout", M, p=0.4)
    assert [part.p for part in net if isinstance(part, et.MCDropout)] == [0.4]
    net = en.mlp([m, n, 2], "mean_field", M, rng=data, prior=Normal(0.0, 2.0))
    assert {layer.prior for layer in net.layers if hasattr(layer, "prior")} == {Normal(0.0, 2.0)}
