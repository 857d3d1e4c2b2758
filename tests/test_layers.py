"""What both backends promise: members by loop, shapes, randomness, moments, KL.

All sizes are distinct primes, so that a swapped axis cannot hide.
"""

import inspect
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import ensedu.numpy as en
import ensedu.torch as et
from ensedu import counting
from ensedu.methods import METHODS, size_option
from ensedu.priors import Normal

M, B, m, n = 3, 7, 5, 11
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
MEMBERS = ("DeepEnsembleLinear", "BatchEnsembleLinear", "Rank1Linear")
SAMPLED = ("Rank1Linear", "MeanFieldLinear")


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


def bias_of(backend, layer, name, noise):
    """The biases of each member or noise, (M, n), from the parameters."""
    params = {k: backend.numpy(v) for k, v in backend.params(layer).items()}
    if name != "MeanFieldLinear":
        return np.broadcast_to(params["bias"], (M, n))
    scale = np.log1p(np.exp(params["bias_rho"]))
    return params["bias_mean"] + scale * backend.numpy(noise["bias"])


@pytest.mark.parametrize("broadcast", [False, True])
@pytest.mark.parametrize("name", ["DeepEnsembleLinear", "BatchEnsembleLinear", "Rank1Linear"])
def test_forward_equals_loop_over_members(backend, data, name, broadcast):
    layer = backend.make(name, m, n, M)
    x = data.standard_normal((B, m) if broadcast else (M, B, m))
    noise = layer.noise(backend.source(3)) if name in SAMPLED else None
    y = layer.forward(backend.array(x), *([noise] if noise else []))
    W = backend.numpy(layer.weight_matrices(noise))
    b = bias_of(backend, layer, name, noise)
    assert W.shape == (M, m, n)
    assert y.shape == (M, B, n)
    for i in range(M):
        expected = (x if broadcast else x[i]) @ W[i] + b[i]
        np.testing.assert_allclose(backend.numpy(y)[i], expected, rtol=0, atol=1e-12)


def test_mean_field_forward_equals_loop_over_samples(backend, data):
    layer = backend.make("MeanFieldLinear", m, n, posterior_std=0.5)
    x = data.standard_normal((M, B, m))
    noise = layer.noise(backend.source(3), x.shape)
    y = backend.numpy(layer.forward(backend.array(x), noise))
    W = backend.numpy(layer.weight_matrices(noise))
    b = bias_of(backend, layer, "MeanFieldLinear", noise)
    assert W.shape == (M, m, n)
    for i in range(M):
        np.testing.assert_allclose(y[i], x[i] @ W[i] + b[i], rtol=0, atol=1e-12)
    assert not np.allclose(W[0], W[1])
    one = layer.noise(backend.source(3))
    W = backend.numpy(layer.weight_matrices(one))
    assert W.shape == (1, m, n)
    y = backend.numpy(layer.forward(backend.array(x[0]), one))
    b = bias_of(backend, layer, "MeanFieldLinear", one)
    np.testing.assert_allclose(y, x[0] @ W[0] + b, rtol=0, atol=1e-12)


def test_rank1_per_example_equals_loop_over_members_and_examples(backend, data):
    layer = backend.make("Rank1Linear", m, n, M, per_example=True, posterior_std=0.5)
    x = data.standard_normal((M, B, m))
    noise = layer.noise(backend.source(3), x.shape)
    y = backend.numpy(layer.forward(backend.array(x), noise))
    W = backend.numpy(layer.weight_matrices(noise))
    b = bias_of(backend, layer, "Rank1Linear", noise)
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
    + [en.MeanFieldLinear(m, n, rng=np.random.default_rng(0))],
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
    noise = layer.noise(backend.source(5))
    first, second = (backend.numpy(layer.forward(x, noise)) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    again = layer.noise(backend.source(5))
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


def test_mean_field_moments(backend, data):
    samples = 20_011
    layer = backend.make("MeanFieldLinear", m, n, posterior_std=0.3)
    x = data.standard_normal((2, m))
    draws = layer.noise(backend.source(7), (samples, 2, m))
    y = backend.numpy(layer.forward(backend.array(np.tile(x, (samples, 1, 1))), draws))
    mean_matrix = backend.numpy(backend.params(layer)["weight_mean"])
    mean_matrix = mean_matrix if backend.name == "numpy" else mean_matrix.T
    mean = x @ mean_matrix + backend.numpy(backend.params(layer)["bias_mean"])
    variance = np.broadcast_to((0.3**2 * ((x**2).sum(axis=1) + 1))[:, None], mean.shape)
    near(y, mean, variance)
    near((y - mean) ** 2, variance, 2 * variance**2)


def test_rank1_moments_and_row_covariance(backend):
    layer = backend.make("Rank1Linear", m, n, M, init="normal", init_std=0.5, posterior_std=0.4)
    params = {k: backend.numpy(v) for k, v in backend.params(layer).items()}
    w = params["weight"] if backend.name == "numpy" else params["weight"].T
    source = backend.source(7)
    W = backend.numpy(layer.weight_matrices(layer.noise(source, (8_009, M, 1, m))))
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


def as_numbers(backend, kl):
    """The KL of each member, (M,), or of a layer without members, (1,)."""
    return np.atleast_1d(kl if isinstance(kl, float) else backend.numpy(kl))


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
    assert not as_numbers(backend, layer.kl()).any()


@pytest.mark.parametrize("name", SAMPLED)
def test_kl_equals_torch_distributions(backend, data, name):
    prior = Normal(0.3, 0.7)
    layer = backend.make(name, *sizes_of(name), prior=prior)
    expected = np.zeros(M if name == "Rank1Linear" else 1)
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
            divergence = torch.distributions.kl_divergence(posterior, target)
            expected += divergence.reshape(len(expected), -1).sum(1).numpy()
    np.testing.assert_allclose(as_numbers(backend, layer.kl()), expected, rtol=1e-12)


def test_a_flipped_sign_costs_200_nats_under_a_narrow_prior(backend):
    layer = backend.make("Rank1Linear", 1, 1, 1, prior=Normal(1.0, 0.1))
    with torch.no_grad():
        set_posterior(backend, layer, ("r", "s"), 1.0, float(np.log(np.expm1(0.1))))
        before = as_numbers(backend, layer.kl())
        set_posterior(backend, layer, ("r",), -1.0, float(np.log(np.expm1(0.1))))
    assert before == pytest.approx(0.0, abs=1e-12)
    assert as_numbers(backend, layer.kl()) == pytest.approx(200.0)


@pytest.mark.parametrize("method", METHODS)
def test_mlp_shapes(method, data):
    x = data.standard_normal((B, m))
    expected = (B, 2) if method == "single" else (M, B, 2)
    assert en.mlp([m, n, 13, 2], method, **size_option(method, M), rng=data)(x).shape == expected
    for device in DEVICES:
        where = {"dtype": torch.float64, "device": device}
        module = et.mlp([m, n, 13, 2], method, **size_option(method, M), **where)
        assert module(torch.tensor(x, device=device)).shape == expected


@pytest.mark.parametrize("network", ["numpy", "torch"])
def test_mlp_options_reach_the_layers(network, data):
    def build(*args, **options):
        if network == "numpy":
            return en.mlp(*args, rng=data, **options).layers
        return list(et.mlp(*args, **options))

    net = build([m, n, 2], "batch_ensemble", M, init="normal", init_std=0.25)
    assert [layer.init_std for layer in net[::2]] == [0.25, 0.25]
    net = build([m, n, 2], "mc_dropout", samples=M, p=0.4)
    assert [part.p for part in net if hasattr(part, "p")] == [0.4]
    net = build([m, n, 2], "mean_field", samples=M, prior=Normal(0.0, 2.0))
    assert {layer.prior for layer in net if hasattr(layer, "prior")} == {Normal(0.0, 2.0)}
    kinds = [type(layer).__name__ for layer in build([m, n, 13, 2], "last_layer", M)]
    assert kinds == ["Linear", "ReLU", "Linear", "ReLU", "DeepEnsembleLinear"]
    kinds = [type(layer).__name__ for layer in build([m, n, 2], "single", activation="tanh")]
    assert kinds == ["Linear", "Tanh", "Linear"]


def parameters(network):
    return network.params if hasattr(network, "params") else dict(network.named_parameters())


@pytest.mark.parametrize("method", METHODS)
def test_mlp_without_biases_maps_zero_to_zero(method, data):
    for net, x in (
        (
            en.mlp([m, n, 2], method, **size_option(method, M), rng=data, bias=False),
            np.zeros((B, m)),
        ),
        (et.mlp([m, n, 2], method, **size_option(method, M), bias=False), torch.zeros(B, m)),
    ):
        assert not [name for name in parameters(net) if "bias" in name]
        assert not net(x).any()
        assert counting.count(net) == counting.mlp(
            [m, n, 2], method, **size_option(method, M), bias=False
        )


@pytest.mark.parametrize("method", ["single", "deep_ensemble", "batch_ensemble", "mean_field"])
def test_ntk_networks_keep_their_spread_as_they_widen(method, data):
    """Outputs at the start have a variance that widths do not change (Jacot et al. 2018)."""
    x = data.standard_normal((1, m))
    variances = []
    for width in (8, 512):
        nets = [
            en.mlp([m, width, width, 401], method, **size_option(method, 1), rng=data,
                   parametrization="ntk")
            for _ in range(20)
        ]  # fmt: skip
        variances.append(np.mean([np.var(net(x)) for net in nets]))
    # ½ of a ReLU layer's second moment goes on, and each bias adds 1: 1 + ½ (1 + ½ (1 + |x|²/m)).
    expected = 1 + (1 + (1 + (x**2).mean()) / 2) / 2
    assert variances[1] == pytest.approx(expected, rel=0.15)
    assert variances[0] == pytest.approx(variances[1], rel=0.5)
    module = et.mlp([m, 512, 512, 401], method, **size_option(method, 1), parametrization="ntk")
    torch_x = torch.tensor(x, dtype=torch.float32)
    assert module(torch_x).var().item() == pytest.approx(expected, rel=0.35)


def test_ntk_networks_divide_each_input_by_the_root_of_its_width(data):
    sizes = [m, 13, 17, 2]
    expected = [size**-0.5 for size in sizes[:-1]]
    net = en.mlp(sizes, "batch_ensemble", M, rng=data, parametrization="ntk")
    module = et.mlp(sizes, "batch_ensemble", M, parametrization="ntk")
    for layers in (net.layers, list(module)):
        assert [layer.factor for layer in layers if hasattr(layer, "factor")] == expected
        assert hasattr(layers[0], "factor")


NOISY = ["rank1", "mean_field", "mc_dropout"]


@pytest.mark.parametrize("method", NOISY)
def test_one_draw_is_one_function_on_any_grid(method, data):
    sizes, rows = [m, n, 13, 2], np.random.default_rng(4).standard_normal((B, m))
    source = torch.Generator().manual_seed(0)
    for net, x, draw in (
        (
            en.mlp(sizes, method, **size_option(method, M), rng=data),
            rows,
            np.random.default_rng(0),
        ),
        (
            et.mlp(sizes, method, **size_option(method, M), dtype=torch.float64),
            torch.from_numpy(rows),
            source,
        ),
    ):
        noise = net.noise(draw, x.shape)
        y = net(x, noise)
        assert not np.allclose(np.asarray(net(x).tolist()), np.asarray(y.tolist()))
        for part in (slice(0, 2), slice(1, 6)):
            np.testing.assert_allclose(
                net(x[part], noise).tolist(), y[:, part].tolist(), atol=1e-13
            )


@pytest.mark.parametrize("per_example", [False, True])
def test_samples_of_members_equal_loop_over_both(backend, data, per_example):
    S = 2
    layer = backend.make("Rank1Linear", m, n, M, posterior_std=0.5, per_example=per_example)
    bias = backend.numpy(backend.params(layer)["bias"])
    x = data.standard_normal((S, M, B, m))
    noise = layer.noise(backend.source(3), x.shape)
    y = backend.numpy(layer.forward(backend.array(x), noise))
    W = backend.numpy(layer.weight_matrices(noise))
    assert W.shape == ((S, M, B, m, n) if per_example else (S, M, m, n))
    assert y.shape == (S, M, B, n)
    for t, i, j in np.ndindex(S, M, B):
        matrix = W[t, i, j] if per_example else W[t, i]
        np.testing.assert_allclose(y[t, i, j], x[t, i, j] @ matrix + bias[i], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["DeepEnsembleLinear", "BatchEnsembleLinear"])
def test_layers_that_draw_nothing_take_samples_too(backend, data, name):
    layer = backend.make(name, m, n, M)
    x = data.standard_normal((2, M, B, m))
    y = backend.numpy(layer.forward(backend.array(x)))
    for t in range(2):
        one = backend.numpy(layer.forward(backend.array(x[t])))
        np.testing.assert_allclose(y[t], one, rtol=0, atol=1e-13)


def test_networks_give_samples_of_members(data):
    x = data.standard_normal((B, m))
    net = en.mlp([m, n, 2], "rank1", M, samples=4, rng=data)
    y = net(x)
    assert y.shape == et.mlp([m, n, 2], "rank1", M, samples=4)(torch.zeros(B, m)).shape
    assert y.shape == (4, M, B, 2)
    assert not np.allclose(y[0], y[1])
    assert en.mlp([m, n, 2], "mean_field", rng=data)(x).shape == (1, B, 2)


@pytest.mark.parametrize("per_example", [False, True])
@pytest.mark.parametrize("leading", [(), (2,)])
def test_dropout_of_images(backend, data, leading, per_example):
    layer = backend.make("MCDropout", 0.5, feature_axes=3, per_example=per_example)
    y = backend.numpy(layer.forward(backend.array(np.ones((*leading, B, 3, 5, 7)))))
    first = y[..., :1, :, :, :]
    assert np.array_equal(y, np.broadcast_to(first, y.shape)) != per_example
    if leading:
        assert not np.array_equal(y[0], y[1])


def public(function):
    """The names and the defaults of a function's arguments, but for what one backend alone has."""
    skipped = ("self", "rng", "device", "dtype", "memory_saving", "estimator")
    return {
        name: parameter.default
        for name, parameter in inspect.signature(function).parameters.items()
        if name not in skipped
    }


# A Sequential takes layers, and Torch's own signature says "args"; `fit` does more in Torch.
TWINS = sorted({*en.__all__} & {*et.__all__} - {"Sequential", "fit"})


#: Their signatures are Torch's own.
TORCHS = {"AvgPool2d", "Conv2d", "MaxPool2d"}


@pytest.mark.parametrize("name", TWINS)
def test_twins_have_the_same_arguments_and_defaults(name):
    ours, theirs = public(getattr(en, name)), public(getattr(et, name))
    if name in TORCHS:
        assert ours.items() <= theirs.items()
        return
    if name.endswith("Conv2d"):
        del theirs["geometry"]
        geometry = inspect.signature(et.conv.ConvLayer).parameters
        for key in ("stride", "padding"):
            assert ours.pop(key) == geometry[key].default
    assert ours == theirs


def test_what_fit_takes_in_numpy_it_takes_in_torch():
    ours, theirs = public(en.fit), public(et.fit)
    for optimizer, fit in ((en.Adam, ours), (torch.optim.AdamW, theirs)):
        assert fit.pop("optimizer") is optimizer
    assert ours.items() <= theirs.items()
    assert [name for name in theirs if name in ours] == list(ours)


def test_there_are_twins_for_every_method():
    assert {f"{row.layer}Linear" for row in METHODS.values()} - {"Linear"} <= {*TWINS}
    assert {"MCDropout", "Tile", "Multiply", "kl", "mlp"} <= {*TWINS}


def test_the_standard_deviation_of_dropout_at_rate_p():
    p = 0.001
    for backend in (numpy_backend(), torch_backend("cpu")):
        layer = backend.make("Rank1Linear", m, n, M)
        for key in ("r_rho", "s_rho"):
            std = np.log1p(np.exp(backend.numpy(backend.params(layer)[key])))
            np.testing.assert_allclose(std, (p / (1 - p)) ** 0.5, rtol=1e-12)
