"""Draw the README's picture: one small layer under five methods, on white.

python scripts/picture.py .github/inside.png
"""

import io
import sys
from pathlib import Path

import numpy as np
from PIL import Image

sys.path.insert(0, str(Path(__file__).parents[1] / "book"))

from ensedu import counting
from ensedu import numpy as en
from ensedu.numpy.variational import softplus
from workshop import plot

MEMBERS = 3


def main(target):
    """Draw the layers' arrays, ρ as standard deviations, and three samples of a mean-field one."""
    rng = np.random.default_rng(5)
    layers = {
        "single": en.Linear(3, 4, rng=rng),
        "deep_ensemble": en.DeepEnsembleLinear(3, 4, MEMBERS, rng=rng),
        "batch_ensemble": en.BatchEnsembleLinear(3, 4, MEMBERS, rng=rng),
        "rank1": en.Rank1Linear(3, 4, MEMBERS, rng=rng, init_std=0.3),
        "mean_field": en.MeanFieldLinear(3, 4, rng=rng, posterior_std=0.25),
    }
    parts = {
        method: {
            name.replace("_rho", "_std"): softplus(own) if name.endswith("_rho") else own
            for name, own in layer.params.items()
        }
        for method, layer in layers.items()
    }
    field = layers["mean_field"]
    noise = field.noise(rng, input_shape=(MEMBERS, 1, 3))
    parts["mean_field"]["samples"] = field.weight_matrices(noise)
    drawn = plot.inside(parts, {method: counting.count(own) for method, own in layers.items()})
    figure = Image.open(io.BytesIO(plot.png(drawn)))
    page = Image.new("RGBA", figure.size, "white")  # readable on a dark page too
    page.alpha_composite(figure.convert("RGBA"))
    # Of an image without transparency the palette holds the palest squares too.
    page.convert("RGB").quantize(256, Image.Quantize.MEDIANCUT).save(target, optimize=True)


if __name__ == "__main__":
    main(sys.argv[1])
