"""What `mlp` promises in NumPy and in Torch."""

import numpy as np
import pytest

from ensedu import counting
from ensedu.methods import METHODS, size_option
from ensedu.priors import Normal
from tests.backends import BACKENDS, B, M, m, make_backend, n


@pytest.fixture(params=BACKENDS)
def backend(request):
    return make_backend(request.param)


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
