"""What the fully connected layers of both backends promise: loops, moments, KL.

A class holds the tests of one layer; the test files of both packages run it in their backend.
"""

import numpy as np
import pytest
import torch

from ensedu.priors import Normal
from tests.backends import B, M, m, n


class Members:
    """A layer with members is a loop over them, and they start apart."""

    name: str

    @pytest.mark.parametrize("broadcast", [False, True])
    def test_forward_equals_loop_over_members(self, backend, data, broadcast):
        layer = backend.make(self.name, m, n, M)
        x = data.standard_normal((B, m) if broadcast else (M, B, m))
        noise = layer.noise(backend.source(3)) if hasattr(layer, "noise") else None
        y = layer.forward(backend.array(x), *([noise] if noise else []))
        W = backend.numpy(layer.weight_matrices(noise))
        b = backend.numpy(backend.params(layer)["bias"])
        assert W.shape == (M, m, n)
        assert b.shape == (M, n)
        assert y.shape == (M, B, n)
        for i in range(M):
            expected = (x if broadcast else x[i]) @ W[i] + b[i]
            np.testing.assert_allclose(backend.numpy(y)[i], expected, rtol=0, atol=1e-12)

    def test_members_start_apart_within_the_bound(self, backend):
        layer = backend.make(self.name, m, n, M)
        W = backend.numpy(layer.weight_matrices())
        assert all(not np.allclose(W[i], W[j]) for i in range(M) for j in range(i))
        for key in {"weight", "bias"} & backend.params(layer).keys():
            values = backend.numpy(backend.params(layer)[key])
            assert np.abs(values).max() <= m**-0.5
            assert np.abs(values).max() > 0.8 * m**-0.5


class DrawsNothing:
    """A layer with members that draws nothing: each pass is the same, samples or none."""

    name: str

    def test_it_repeats_itself(self, backend, data):
        layer = backend.make(self.name, m, n, M)
        x = backend.array(data.standard_normal((B, m)))
        first, second = (backend.numpy(layer.forward(x)) for _ in range(2))
        np.testing.assert_array_equal(first, second)

    def test_it_takes_samples_too(self, backend, data):
        layer = backend.make(self.name, m, n, M)
        x = data.standard_normal((2, M, B, m))
        y = backend.numpy(layer.forward(backend.array(x)))
        for t in range(2):
            alone = backend.numpy(layer.forward(backend.array(x[t])))
            np.testing.assert_allclose(y[t], alone, rtol=0, atol=1e-13)


class FastWeights:
    """Two vectors a member, which start as signs or as normal numbers around 1."""

    name: str
    #: The parameters that hold the vectors.
    vectors: tuple[str, str]

    @pytest.mark.parametrize("init", ["signs", "normal"])
    def test_fast_weights_start(self, backend, init):
        layer = backend.make(self.name, 199, 211, 13, init=init, init_std=0.5)
        for key in self.vectors:
            values = backend.numpy(backend.params(layer)[key])
            if init == "signs":
                assert set(np.unique(values)) == {-1.0, 1.0}
                assert abs(values.mean()) < 5 / values.size**0.5
            else:
                assert abs(values.mean() - 1) < 5 * 0.5 / values.size**0.5
                assert abs(values.std() - 0.5) < 5 * 0.5 / (2 * values.size) ** 0.5


class Draws:
    """A layer with distributions: when calls differ, and what its KL is."""

    name: str
    sizes: tuple[int, ...]
    #: The arrays that have a distribution.
    drawn: tuple[str, str]

    def test_calls_differ_and_agree_where_they_must(self, backend, data):
        layer = backend.make(self.name, *self.sizes)
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

    def test_kl_is_exactly_zero_where_posterior_is_prior(self, backend):
        rho = 0.3
        # The σ that the layer itself computes is the prior's, so that q = p to the last bit.
        scale = float(backend.package.variational.softplus(backend.array([rho]))[0])
        layer = backend.make(self.name, *self.sizes, prior=Normal(0.7, scale))
        set_posterior(backend, layer, self.drawn, 0.7, rho)
        assert not as_numbers(backend, layer.kl()).any()

    def test_kl_equals_torch_distributions(self, backend, data):
        prior = Normal(0.3, 0.7)
        layer = backend.make(self.name, *self.sizes, prior=prior)
        expected = np.zeros(M if M in self.sizes else 1)
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


class DeepEnsembleLinear(Members, DrawsNothing):
    name = "DeepEnsembleLinear"


class BatchEnsembleLinear(Members, DrawsNothing, FastWeights):
    name = "BatchEnsembleLinear"
    vectors = ("r", "s")

    def test_modulation_is_rank_one_but_members_are_not(self, backend):
        layer = backend.make(self.name, m, n, M, init="normal")
        params = {k: backend.numpy(v) for k, v in backend.params(layer).items()}
        shared = params["weight"] if params["weight"].shape == (m, n) else params["weight"].T
        for i, W in enumerate(backend.numpy(layer.weight_matrices())):
            assert np.linalg.matrix_rank(W) == min(m, n)
            assert np.linalg.matrix_rank(W / shared, tol=1e-8) == 1
            np.testing.assert_allclose(W / shared, np.outer(params["r"][i], params["s"][i]))


class Rank1Linear(Members, FastWeights, Draws):
    name = "Rank1Linear"
    sizes = (m, n, M)
    vectors = ("r_mean", "s_mean")
    drawn = ("r", "s")

    def test_per_example_equals_loop_over_members_and_examples(self, backend, data):
        layer = backend.make(self.name, m, n, M, per_example=True, posterior_std=0.5)
        x = data.standard_normal((M, B, m))
        noise = layer.noise(backend.source(3), x.shape)
        y = backend.numpy(layer.forward(backend.array(x), noise))
        W = backend.numpy(layer.weight_matrices(noise))
        b = backend.numpy(backend.params(layer)["bias"])
        assert W.shape == (M, B, m, n)
        assert b.shape == (M, n)
        for i in range(M):
            for j in range(B):
                np.testing.assert_allclose(y[i, j], x[i, j] @ W[i, j] + b[i], rtol=0, atol=1e-12)
        assert not np.allclose(W[0, 0], W[0, 1])

    @pytest.mark.parametrize("per_example", [False, True])
    def test_samples_of_members_equal_loop_over_both(self, backend, data, per_example):
        S = 2
        layer = backend.make(self.name, m, n, M, posterior_std=0.5, per_example=per_example)
        bias = backend.numpy(backend.params(layer)["bias"])
        x = data.standard_normal((S, M, B, m))
        noise = layer.noise(backend.source(3), x.shape)
        y = backend.numpy(layer.forward(backend.array(x), noise))
        W = backend.numpy(layer.weight_matrices(noise))
        assert W.shape == ((S, M, B, m, n) if per_example else (S, M, m, n))
        assert y.shape == (S, M, B, n)
        for t, i, j in np.ndindex(S, M, B):
            matrix = W[t, i, j] if per_example else W[t, i]
            expected = x[t, i, j] @ matrix + bias[i]
            np.testing.assert_allclose(y[t, i, j], expected, rtol=0, atol=1e-12)

    def test_it_draws_once_per_member_and_batch_unless_asked(self, backend):
        x = backend.array(np.ones((B, m)))
        shared = backend.numpy(backend.make(self.name, m, n, M).forward(x))
        np.testing.assert_allclose(shared, np.broadcast_to(shared[:, :1], shared.shape), atol=1e-14)
        own = backend.numpy(backend.make(self.name, m, n, M, per_example=True).forward(x))
        assert (np.ptp(own, axis=1) > 1e-4).all()

    def test_moments_and_row_covariance(self, backend):
        layer = backend.make(self.name, m, n, M, init="normal", init_std=0.5, posterior_std=0.4)
        params = {k: backend.numpy(v) for k, v in backend.params(layer).items()}
        w = params["weight"] if backend.name == "numpy" else params["weight"].T
        source = backend.source(7)
        W = backend.numpy(layer.weight_matrices(layer.noise(source, (8_009, M, 1, m))))
        r, s = params["r_mean"][:, :, None], params["s_mean"][:, None, :]
        check_mean(W, w * r * s, w**2 * ((r**2 + 0.16) * (s**2 + 0.16) - r**2 * s**2))
        # Entries of one row move together through their r: Cov = w_ab w_ac Var(r_a) E[s_b] E[s_c].
        a, b, c = 2, 3, 7
        products = (W - w * r * s)[:, :, a, b] * (W - w * r * s)[:, :, a, c]
        expected = w[a, b] * w[a, c] * 0.16 * params["s_mean"][:, b] * params["s_mean"][:, c]
        check_mean(products, expected, products.var(axis=0))
        variance = (w[a, b] * 0.4 * params["s_mean"][:, b]) ** 2
        assert (np.abs(expected) > 0.05 * variance).any()

    def test_a_flipped_sign_costs_200_nats_under_a_narrow_prior(self, backend):
        layer = backend.make(self.name, 1, 1, 1, prior=Normal(1.0, 0.1))
        set_posterior(backend, layer, ("r", "s"), 1.0, float(np.log(np.expm1(0.1))))
        before = as_numbers(backend, layer.kl())
        set_posterior(backend, layer, ("r",), -1.0, float(np.log(np.expm1(0.1))))
        assert before == pytest.approx(0.0, abs=1e-12)
        assert as_numbers(backend, layer.kl()) == pytest.approx(200.0)

    def test_the_standard_deviation_of_dropout_at_rate_p(self, backend):
        p = 0.001
        layer = backend.make(self.name, m, n, M)
        for key in ("r_rho", "s_rho"):
            std = np.log1p(np.exp(backend.numpy(backend.params(layer)[key])))
            np.testing.assert_allclose(std, (p / (1 - p)) ** 0.5, rtol=1e-12)


class MeanFieldLinear(Draws):
    name = "MeanFieldLinear"
    sizes = (m, n)
    drawn = ("weight", "bias")

    def biases(self, backend, layer, noise):
        """Return the bias of each noise, from the parameters."""
        params = {k: backend.numpy(v) for k, v in backend.params(layer).items()}
        scale = np.log1p(np.exp(params["bias_rho"]))
        return params["bias_mean"] + scale * backend.numpy(noise["bias"])

    def test_forward_equals_loop_over_samples(self, backend, data):
        layer = backend.make(self.name, m, n, posterior_std=0.5)
        x = data.standard_normal((M, B, m))
        noise = layer.noise(backend.source(3), x.shape)
        y = backend.numpy(layer.forward(backend.array(x), noise))
        W = backend.numpy(layer.weight_matrices(noise))
        b = self.biases(backend, layer, noise)
        assert W.shape == (M, m, n)
        for i in range(M):
            np.testing.assert_allclose(y[i], x[i] @ W[i] + b[i], rtol=0, atol=1e-12)
        assert not np.allclose(W[0], W[1])
        noise = layer.noise(backend.source(3))
        W = backend.numpy(layer.weight_matrices(noise))
        assert W.shape == (1, m, n)
        y = backend.numpy(layer.forward(backend.array(x[0]), noise))
        b = self.biases(backend, layer, noise)
        np.testing.assert_allclose(y, x[0] @ W[0] + b, rtol=0, atol=1e-12)

    def test_moments(self, backend, data):
        samples = 20_011
        layer = backend.make(self.name, m, n, posterior_std=0.3)
        x = data.standard_normal((2, m))
        draws = layer.noise(backend.source(7), (samples, 2, m))
        y = backend.numpy(layer.forward(backend.array(np.tile(x, (samples, 1, 1))), draws))
        mean_matrix = backend.numpy(backend.params(layer)["weight_mean"])
        mean_matrix = mean_matrix if backend.name == "numpy" else mean_matrix.T
        mean = x @ mean_matrix + backend.numpy(backend.params(layer)["bias_mean"])
        variance = np.broadcast_to((0.3**2 * ((x**2).sum(axis=1) + 1))[:, None], mean.shape)
        check_mean(y, mean, variance)
        check_mean((y - mean) ** 2, variance, 2 * variance**2)


class MCDropout:
    @pytest.mark.parametrize("per_example", [False, True])
    def test_masks(self, backend, per_example):
        p = 0.3
        layer = backend.make("MCDropout", p, per_example=per_example)
        x = np.ones((97, 101, 103))
        y = backend.numpy(layer.forward(backend.array(x)))
        assert set(np.unique(y)) == {0.0, 1 / (1 - p)}
        if not per_example:
            np.testing.assert_array_equal(y, np.broadcast_to(y[:, :1], y.shape))
            y = y[:, 0]
        check_mean(y.reshape(-1), 1.0, p / (1 - p))
        assert backend.numpy(layer.forward(backend.array(np.ones((2, 89))))).shape == (2, 89)
        never = backend.make("MCDropout", 0.0)
        np.testing.assert_array_equal(backend.numpy(never.forward(backend.array(x))), x)

    @pytest.mark.parametrize("per_example", [False, True])
    @pytest.mark.parametrize("leading", [(), (2,)])
    def test_masks_of_images(self, backend, leading, per_example):
        layer = backend.make("MCDropout", 0.5, feature_axes=3, per_example=per_example)
        y = backend.numpy(layer.forward(backend.array(np.ones((*leading, B, 3, 5, 7)))))
        first = y[..., :1, :, :, :]
        assert np.array_equal(y, np.broadcast_to(first, y.shape)) != per_example
        if leading:
            assert not np.array_equal(y[0], y[1])


def check_mean(values, expected, variance, sigmas=6):
    """Fail unless means over the first axis lie within so many standard errors of theory."""
    error = np.abs(values.mean(axis=0) - expected)
    assert (error <= sigmas * np.sqrt(variance / len(values)) + 1e-12).all()


def as_numbers(backend, kl):
    """The KL of each member, (M,), or of a layer without members, (1,)."""
    return np.atleast_1d(kl if isinstance(kl, float) else backend.numpy(kl))


def set_posterior(backend, layer, names, mean, rho):
    with torch.no_grad():
        for key, value in backend.params(layer).items():
            for name in names:
                if key == f"{name}_mean":
                    value[...] = mean
                elif key == f"{name}_rho":
                    value[...] = rho
