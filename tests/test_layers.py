"""What the fully connected layers, and networks of them, promise in NumPy and in Torch."""

import numpy as np
import pytest
import torch

from ensedu import counting
from ensedu.methods import METHODS, size_option
from ensedu.priors import Normal
from tests.backends import BACKENDS, B, M, as_book, m, make_backend, n

S = 2
#: A layer's sizes and options. Scales are large, so that no number is near 0 or 1.
LAYERS = {
    "DeepEnsembleLinear": ((m, n, M), {}),
    "BatchEnsembleLinear": ((m, n, M), {"init": "normal"}),
    "BatchEnsembleLinear, no bias": ((m, n, M), {"bias": False}),
    "Rank1Linear": ((m, n, M), {"posterior_std": 0.5}),
    "Rank1Linear, per example": ((m, n, M), {"posterior_std": 0.5, "per_example": True}),
    "MeanFieldLinear": ((m, n), {"posterior_std": 0.3}),
    "MeanFieldLinear, no bias": ((m, n), {"posterior_std": 0.3, "bias": False}),
    "MeanFieldLinear, local": ((m, n), {"posterior_std": 0.3, "estimator": "local"}),
}
MEMBERS = [name for name in LAYERS if "MeanField" not in name]
DRAWN = [name for name in LAYERS if "Rank1" in name or "MeanField" in name]
CASES = [
    (name, shape)
    for name in LAYERS
    for shape in [(B, m), (M, B, m), *([(S, M, B, m)] if name in MEMBERS else [])]
    if "local" not in name
]


@pytest.fixture(params=BACKENDS)
def backend(request):
    return make_backend(request.param)


@pytest.fixture
def data():
    return np.random.default_rng(1)


def make(backend, name, **changes):
    sizes, options = LAYERS[name]
    return backend.make(name.partition(",")[0], *sizes, **options | changes)


def book_params(backend, layer):
    """A layer's arrays with the book's axes."""
    arrays = {key: backend.numpy(value) for key, value in backend.params(layer).items()}
    return arrays if backend.name == "numpy" else {k: as_book(k, v) for k, v in arrays.items()}


def definition(params, noise):
    """Each weight matrix and bias as the papers have it: Wen et al. 2020, eq. 3 and 5, and σ ε."""
    values = {key: value for key, value in params.items() if not key.endswith(("_mean", "_rho"))}
    for key, eps in noise.items():
        mean, rho = params[f"{key}_mean"], params[f"{key}_rho"]
        if eps.shape[-2:-1] == (B,):  # a draw an example: (…, M, B, m)
            mean, rho = mean[:, None], rho[:, None]
        values[key] = mean + np.logaddexp(0, rho) * eps
    weight = values["weight"]
    if "r" in values:
        weight = weight * values["r"][..., :, None] * values["s"][..., None, :]
    return weight, values.get("bias", np.zeros(n))


@pytest.mark.parametrize(("name", "shape"), CASES)
def test_each_row_meets_the_matrix_of_its_member_and_draw(backend, data, name, shape):
    layer = make(backend, name)
    x = data.standard_normal(shape)
    noise = layer.noise(backend.source(3), shape) if name in DRAWN else None
    y = backend.numpy(layer.forward(backend.array(x), *([noise] if noise else [])))
    drawn = {key: backend.numpy(value) for key, value in (noise or {}).items()}
    W, b = definition(book_params(backend, layer), drawn)
    found = backend.numpy(layer.weight_matrices(noise))
    np.testing.assert_allclose(found.reshape(W.shape), W, rtol=0, atol=1e-13)
    assert name in DRAWN or found.shape == (M, m, n)
    own = W if "per example" in name else W[..., None, :, :]  # (…, B or 1, m, n)
    expected = (x[..., None, :] @ own)[..., 0, :] + b[..., None, :]
    assert y.shape == expected.shape == (*(M,) * (name in MEMBERS and x.ndim == 2), *shape[:-1], n)
    np.testing.assert_allclose(y, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("shape", [(B, m), (S, B, m)])
def test_local_draws_each_output_from_the_normal_of_its_sum(backend, data, shape):
    layer, x = make(backend, "MeanFieldLinear, local"), data.standard_normal(shape)
    noise = layer.noise(backend.source(3), shape)
    assert list(noise) == ["output"]
    params = book_params(backend, layer)
    std = {key: np.logaddexp(0, params[f"{key}_rho"]) for key in ("weight", "bias")}
    mean = x @ params["weight_mean"] + params["bias_mean"]
    variance = x**2 @ std["weight"] ** 2 + std["bias"] ** 2
    expected = mean + variance**0.5 * backend.numpy(noise["output"])
    y = backend.numpy(layer.forward(backend.array(x), noise))
    np.testing.assert_allclose(y, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", LAYERS)
def test_layers_start_within_nn_linears_bound_and_members_apart(backend, name):
    layer = make(backend, name)
    for key, values in book_params(backend, layer).items():
        if key in ("weight", "bias", "weight_mean", "bias_mean"):
            assert 0.8 * m**-0.5 < np.abs(values).max() <= m**-0.5
    W = backend.numpy(layer.weight_matrices())
    assert all(not np.allclose(W[i], W[j]) for i in range(len(W)) for j in range(i))


@pytest.mark.parametrize("name", LAYERS)
def test_weight_matrices_are_the_callers_own(backend, name):
    layer = make(backend, name)
    before = {key: value.copy() for key, value in book_params(backend, layer).items()}
    with torch.no_grad():
        layer.weight_matrices()[...] = 0
    for key, value in book_params(backend, layer).items():
        np.testing.assert_array_equal(value, before[key])


@pytest.mark.parametrize("init", ["signs", "normal"])
@pytest.mark.parametrize("name", ["BatchEnsembleLinear", "Rank1Linear"])
def test_fast_weights_start_as_signs_or_around_1(backend, name, init):
    layer = backend.make(name, 199, 211, 13, init=init, init_std=0.5)
    for key, values in book_params(backend, layer).items():
        if key in ("r", "s", "r_mean", "s_mean"):
            if init == "signs":
                assert set(np.unique(values)) == {-1.0, 1.0}
            mean, std = (0, 1) if init == "signs" else (1, 0.5)
            assert abs(values.mean() - mean) < 5 * std / values.size**0.5
            assert abs(values.std() - std) < 5 * std / (2 * values.size) ** 0.5


@pytest.mark.parametrize("name", DRAWN)
def test_noise_is_standard_normal_and_no_two_numbers_are_one(backend, name):
    members = [M] * (name in MEMBERS)
    noise = make(backend, name).noise(backend.source(7), (997, *members, B, m))
    for key, eps in noise.items():
        eps = backend.numpy(eps)
        per_example = [B] * ("per example" in name or key == "output")
        feature = {"weight": (m, n), "r": (m,)}.get(key, (n,))
        assert eps.shape == (997, *members, *per_example, *feature)
        assert len(np.unique(eps)) == eps.size
        assert (eps != eps.astype(np.float32)).any()  # drawn in float64, not cast to it
        for values, mean, variance in ((eps, 0, 1), (eps**2, 1, 2)):
            assert abs(values.mean() - mean) < 5 * (variance / eps.size) ** 0.5


@pytest.mark.parametrize("name", DRAWN)
def test_passes_differ_and_agree_where_they_must(backend, data, name):
    layer, x = make(backend, name), backend.array(data.standard_normal((B, m)))
    if backend.name != "numpy":
        layer.eval()  # sampling goes on in eval mode
    one, other = (backend.numpy(layer.forward(x)) for _ in range(2))
    assert not np.allclose(one, other)
    assert not np.allclose(*(backend.numpy(layer.weight_matrices()) for _ in range(2)))
    draws = [layer.noise(backend.source(5), (B, m)) for _ in range(2)]
    one, other = (backend.numpy(layer.forward(x, noise)) for noise in draws)
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", DRAWN)
def test_the_kl_is_that_of_torchs_distributions(backend, data, name):
    prior = Normal(0.3, 0.7)
    layer = make(backend, name, prior=prior)
    expected = np.zeros(M if name in MEMBERS else 1)
    with torch.no_grad():
        for key, value in backend.params(layer).items():
            if key.endswith(("_mean", "_rho")):
                value[...] = backend.array(data.normal(0, 3, value.shape))
    params = {k: torch.tensor(v) for k, v in book_params(backend, layer).items()}
    target = torch.distributions.Normal(*torch.tensor([0.3, 0.7], dtype=torch.float64))
    for key, mean in params.items():
        if key.endswith("_mean"):
            scale = torch.nn.functional.softplus(params[key.replace("_mean", "_rho")])
            kl = torch.distributions.kl_divergence(torch.distributions.Normal(mean, scale), target)
            expected += kl.reshape(len(expected), -1).sum(1).numpy()
    np.testing.assert_allclose(kl_of(backend, layer), expected, rtol=1e-12)


@pytest.mark.parametrize("name", DRAWN)
def test_the_kl_is_exactly_zero_where_posterior_is_prior(backend, name):
    # The σ that the layer itself computes is the prior's, so that q = p to the last bit.
    scale = float(backend.package.variational.softplus(backend.array([0.3]))[0])
    layer = make(backend, name, prior=Normal(0.7, scale))
    with torch.no_grad():
        for key, value in backend.params(layer).items():
            if key.endswith(("_mean", "_rho")):
                value[...] = 0.7 if key.endswith("_mean") else 0.3
    assert not kl_of(backend, layer).any()


def kl_of(backend, layer):
    """The KL of each member, (M,), or of a layer without members, (1,)."""
    kl = layer.kl()
    return np.atleast_1d(kl if isinstance(kl, float) else backend.numpy(kl))


@pytest.mark.parametrize("per_example", [False, True])
@pytest.mark.parametrize("example", [(n,), (3, n), (2, 3, n)])
@pytest.mark.parametrize("leading", [(), (M,), (2, M)])
def test_dropout_thins_by_a_mask_of_each_leading_index(
    backend, data, leading, example, per_example
):
    layer = backend.make("MCDropout", 0.3, per_example=per_example, feature_axes=len(example))
    x = data.standard_normal((*leading, B, *example))
    noise = layer.noise(backend.source(1), x.shape)
    mask = backend.numpy(noise["mask"])
    assert mask.shape == (*leading, B if per_example else 1, *example)
    y = backend.numpy(layer.forward(backend.array(x), noise))
    np.testing.assert_allclose(y, np.where(mask, x / 0.7, 0), rtol=1e-14)
    many = backend.numpy(layer.noise(None, (1009, M, B, *example))["mask"])
    assert abs(many.mean() - 0.7) < 5 * (0.21 / many.size) ** 0.5
    rows = many.reshape(1009, -1).astype(float)
    assert np.linalg.matrix_rank(rows) == min(rows.shape)  # no mask is there twice
    never = backend.make("MCDropout", 0.0)
    np.testing.assert_array_equal(backend.numpy(never.forward(backend.array(x))), x)


def test_options_reach_the_layers(backend):
    def layers(*args, **options):
        return backend.layers(backend.mlp(*args, **options))

    net = layers([m, n, 2], "batch_ensemble", M, init="normal", init_std=0.25)
    assert [layer.init_std for layer in net[::2]] == [0.25, 0.25]
    net = layers([m, n, 2], "mc_dropout", samples=M, p=0.4)
    assert [layer.p for layer in net if hasattr(layer, "p")] == [0.4]
    net = layers([m, n, 2], "mean_field", samples=M, prior=Normal(0.0, 2.0))
    assert {layer.prior for layer in net if hasattr(layer, "prior")} == {Normal(0.0, 2.0)}
    names = [type(layer).__name__ for layer in layers([m, n, 13, 2], "last_layer", M)]
    assert names == ["Linear", "ReLU", "Linear", "ReLU", "DeepEnsembleLinear"]
    names = [type(layer).__name__ for layer in layers([m, n, 2], "single", activation="tanh")]
    assert names == ["Linear", "Tanh", "Linear"]


@pytest.mark.parametrize("method", METHODS)
def test_without_biases_zero_goes_to_zero(backend, method):
    options = size_option(method, M)
    net = backend.mlp([m, n, 2], method, **options, bias=False)
    y = net(backend.array(np.zeros((B, m))))
    assert y.shape == ((B, 2) if method == "single" else (M, B, 2)) and not y.any()
    assert not [name for name in backend.params(net) if "bias" in name]
    assert counting.count(net) == counting.mlp([m, n, 2], method, **options, bias=False)


@pytest.mark.parametrize("method", ["single", "deep_ensemble", "batch_ensemble", "mean_field"])
def test_ntk_networks_keep_their_spread_as_they_widen(backend, method):
    """Outputs at the start have a variance that widths do not change (Jacot et al. 2018)."""
    x, variances = np.random.default_rng(1).standard_normal((1, m)), []
    for width in (8, 512):
        sizes = [m, width, width, 401]
        nets = [
            backend.mlp(sizes, method, **size_option(method, 1), parametrization="ntk")
            for _ in range(20)
        ]
        factors = [net.factor for net in backend.layers(nets[0]) if hasattr(net, "factor")]
        assert factors == [size**-0.5 for size in sizes[:-1]]
        outputs = [backend.numpy(net(backend.array(x))) for net in nets]
        variances.append(np.mean([np.var(y) for y in outputs]))
    # ½ of a ReLU layer's second moment goes on, each bias adds 1: 1 + ½ (1 + ½ (1 + |x|²/m)).
    expected = 1 + (1 + (1 + (x**2).mean()) / 2) / 2
    assert variances[1] == pytest.approx(expected, rel=0.15)
    assert variances[0] == pytest.approx(variances[1], rel=0.5)


@pytest.mark.parametrize("method", [name for name, row in METHODS.items() if row.stochastic])
def test_one_draw_is_one_function_on_any_grid(backend, method):
    x = backend.array(np.random.default_rng(4).standard_normal((B, m)))
    net = backend.mlp([m, n, 13, 2], method, **size_option(method, M))
    noise = net.noise(backend.source(0), x.shape)
    y = backend.numpy(net(x, noise))
    assert not np.allclose(backend.numpy(net(x)), y)
    for part in (slice(0, 2), slice(1, 6)):
        again = backend.numpy(net(x[part], noise))
        np.testing.assert_allclose(again, y[:, part], atol=1e-13)


@pytest.mark.parametrize("method", METHODS)
def test_the_kl_of_a_network_is_the_sum_over_its_layers(backend, method):
    net = backend.mlp([m, 13, 17, 2], method, **size_option(method, M))
    layers = [layer for layer in backend.layers(net) if hasattr(layer, "kl")]
    parts = [backend.numpy(layer.kl()).mean() for layer in layers]
    assert len({*parts}) == len(parts) == (3 if method in ("rank1", "mean_field") else 0)
    for whole in (net, backend.package.Sequential(net)):
        found = backend.numpy(backend.package.kl(whole))
        np.testing.assert_allclose(found, sum(parts), rtol=1e-12)
