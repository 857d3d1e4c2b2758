"""What the introduction's figure is given: every array of a layer, σ in place of ρ."""

import numpy as np
import pytest

from ensedu import numpy as en
from ensedu.book.figures import intro
from ensedu.plot.inside import SAMPLES, SHAPES

LAYERS = {
    "single": lambda rng: en.Linear(3, 5, rng=rng),
    "deep_ensemble": lambda rng: en.DeepEnsembleLinear(3, 5, 2, rng=rng),
    "batch_ensemble": lambda rng: en.BatchEnsembleLinear(3, 5, 2, rng=rng),
    "rank1": lambda rng: en.Rank1Linear(3, 5, 2, rng=rng, init_std=0.3),
    "mean_field": lambda rng: en.MeanFieldLinear(3, 5, rng=rng, posterior_std=0.25),
}


@pytest.mark.parametrize("method", LAYERS)
def test_parts_are_what_the_figure_draws(method):
    layer = LAYERS[method](np.random.default_rng(0))
    parts = intro.parts_of(layer)
    assert set(parts) == set(SHAPES[method]) - set(SAMPLES)
    for name, part in parts.items():
        if name.endswith("_std"):
            raw = layer.params[name.replace("_std", "_rho")]
            np.testing.assert_allclose(part, np.log1p(np.exp(raw)), rtol=1e-6)
        else:
            np.testing.assert_array_equal(part, layer.params[name])
