"""What `mlp` promises in both backends; the test files of both packages run it in theirs."""

import numpy as np
import pytest

from ensedu import counting
from ensedu.methods import METHODS, size_option
from ensedu.priors import Normal
from tests.backends import B, M, m, n


class Networks:
    @pytest.mark.parametrize("method", METHODS)
    def test_shapes(self, backend, data, method):
        net = backend.mlp([m, n, 13, 2], method, **size_option(method, M))
        y = net(backend.array(data.standard_normal((B, m))))
        assert y.shape == ((B, 2) if method == "single" else (M, B, 2))

    def test_options_reach_the_layers(self, backend):
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
    def test_without_biases_zero_goes_to_zero(self, backend, method):
        options = size_option(method, M)
        net = backend.mlp([m, n, 2], method, **options, bias=False)
        assert not [name for name in backend.params(net) if "bias" in name]
        assert not net(backend.array(np.zeros((B, m)))).any()
        assert counting.count(net) == counting.mlp([m, n, 2], method, **options, bias=False)

    @pytest.mark.parametrize("method", ["single", "deep_ensemble", "batch_ensemble", "mean_field"])
    def test_ntk_networks_keep_their_spread_as_they_widen(self, backend, data, method):
        """Outputs at the start have a variance that widths do not change (Jacot et al. 2018)."""
        x = data.standard_normal((1, m))
        variances = []
        for width in (8, 512):
            nets = [
                backend.mlp([m, width, width, 401], method, **size_option(method, 1),
                            parametrization="ntk")
                for _ in range(20)
            ]  # fmt: skip
            outputs = [backend.numpy(net(backend.array(x))) for net in nets]
            variances.append(np.mean([np.var(y) for y in outputs]))
        # ½ of a ReLU layer's second moment goes on, each bias adds 1: 1 + ½ (1 + ½ (1 + |x|²/m)).
        expected = 1 + (1 + (1 + (x**2).mean()) / 2) / 2
        assert variances[1] == pytest.approx(expected, rel=0.15)
        assert variances[0] == pytest.approx(variances[1], rel=0.5)

    def test_ntk_networks_divide_each_input_by_the_root_of_its_width(self, backend):
        sizes = [m, 13, 17, 2]
        net = backend.mlp(sizes, "batch_ensemble", M, parametrization="ntk")
        layers = backend.layers(net)
        factors = [layer.factor for layer in layers if hasattr(layer, "factor")]
        assert factors == [size**-0.5 for size in sizes[:-1]]
        assert hasattr(layers[0], "factor")

    @pytest.mark.parametrize("method", ["rank1", "mean_field", "mc_dropout"])
    def test_one_draw_is_one_function_on_any_grid(self, backend, method):
        x = backend.array(np.random.default_rng(4).standard_normal((B, m)))
        net = backend.mlp([m, n, 13, 2], method, **size_option(method, M))
        noise = net.noise(backend.source(0), x.shape)
        y = backend.numpy(net(x, noise))
        assert not np.allclose(backend.numpy(net(x)), y)
        for part in (slice(0, 2), slice(1, 6)):
            again = backend.numpy(net(x[part], noise))
            np.testing.assert_allclose(again, y[:, part], atol=1e-13)

    def test_samples_of_members(self, backend, data):
        x = backend.array(data.standard_normal((B, m)))
        y = backend.numpy(backend.mlp([m, n, 2], "rank1", M, samples=4)(x))
        assert y.shape == (4, M, B, 2)
        assert not np.allclose(y[0], y[1])
        assert backend.mlp([m, n, 2], "mean_field")(x).shape == (1, B, 2)
