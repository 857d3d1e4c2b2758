"""Outputs that are drawn in place of weights."""

import numpy as np

import ensedu.numpy as en
from tests.backends import B, M, m, n
from tests.gradients import ByHand, Sums, for_layers, for_layers_and_inputs


@for_layers_and_inputs("local_reparameterization")
class TestGradients(ByHand):
    pass


@for_layers("local_reparameterization")
class TestSums(Sums):
    pass


def test_each_output_has_the_mean_and_the_variance_of_its_sum():
    rng = np.random.default_rng(3)
    layer = en.MeanFieldLinear(m, n, rng=rng, posterior_std=0.3, estimator="local")
    x, noise = rng.standard_normal((M, B, m)), rng.standard_normal((M, B, n))
    y = layer.forward(x, {"output": noise})
    params = layer.params
    for s, i, j in np.ndindex(M, B, n):
        mean, variance = params["bias_mean"][j], 0.3**2
        for k in range(m):
            mean += x[s, i, k] * params["weight_mean"][k, j]
            variance += (x[s, i, k] * 0.3) ** 2
        expected = mean + variance**0.5 * noise[s, i, j]
        np.testing.assert_allclose(y[s, i, j], expected, rtol=0, atol=1e-12)
