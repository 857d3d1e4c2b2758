"""The posterior of a small network by Hamiltonian Monte Carlo: what others only approximate.

The network is 1-20-1 with tanh, the data those of the running example, `ensedu.data.gap`, whose
noise is known. In the NTK parametrization ``f(x) = tanh(x W + b) V / √20 + c`` all 61 weights and
biases have the prior N(0, 2²), so that widths change neither the prior of f much nor the model::

    from ensedu.torch import mlp

    net = mlp([1, 20, 1], "mean_field", activation="tanh", parametrization="ntk", prior=PRIOR)

is a variational posterior of exactly this model. The scale 2 was fixed before any result: functions
of the prior then have the size and the slopes of such a curve, a standard deviation near 2.7 and
slopes near 0.9.

Four chains of NUTS (Hoffman and Gelman 2014), by NumPyro, start at draws from the prior. Weights
have many modes that are one function: units can change places and signs. So split R-hat and the
effective sample size are those of f(x), the prediction, and say nothing of weights.

NumPyro is imported by `posterior` alone, and by what judges its chains; ``make results NAME=nuts``
runs where it is installed.
"""

import os
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.common import checks
from ensedu.data import gap
from ensedu.priors import Normal
from workshop.experiments import running_example as example
from workshop.running.experiment import Experiment

SIZES = (1, 20, 1)
PRIOR = Normal(0.0, 2.0)
WIDTH = SIZES[1]
#: The same model for a trainer on a page.
MODEL: dict[str, Any] = {
    "width": WIDTH, "hidden_layers": 1, "activation": "tanh", "parametrization": "ntk",
    "prior_scale": PRIOR.scale,
}  # fmt: skip
#: Every weight and bias, in the order W, b, V, c.
NUMBER = 3 * WIDTH + 1
#: Every fourth x of the grid has whole distributions.
COARSE = 4
#: Of which so many quantiles are kept, at the levels ½/50, 1½/50, …
LEVELS = 50
#: Where the data lie, between them, and beyond them.
PLACES = ("regions", "gap", "outside")
SETTINGS = {"chains": 4, "warmup": 1000, "draws": 2000, "accept": 0.9}


def grid() -> Float[Array, " B"]:
    """Return the inputs at which predictions are kept, those of the running example's figure."""
    low, high, number = (example.GRID[name] for name in ("low", "high", "number"))
    return np.linspace(low, high, int(number))


def coarse_grid() -> Float[Array, " B"]:
    """Return the inputs at which distributions are kept and compared."""
    return grid()[::COARSE]


def inputs_by_place(x: Float[Array, " B"]) -> dict[str, Array]:
    """Return which inputs lie in the regions of the data, in the gap, and outside of both."""
    near = 1e-9  # of a grid
    (low, high), *_ = gap.gaps
    between = (x > low + near) & (x < high - near)
    outside = (x < gap.regions[0][0] - near) | (x > gap.regions[-1][1] + near)
    return dict(zip(PLACES, (~between & ~outside, between, outside), strict=True))


def curve(
    parameters: Float[Any, "*S D"], x: Float[Any, " B"], xp: ModuleType = np
) -> Float[Any, "*S B"]:
    """Return ``tanh(x W + b) V / √20 + c`` for each vector of D parameters, W, b, V and c.

    The width is (D - 1) / 3. ``xp`` is the module whose arrays these are, and that computes it:
    ``numpy``, ``jax.numpy`` or ``torch``.
    """
    width = (parameters.shape[-1] - 1) // 3
    first, bias, last = (parameters[..., i * width : (i + 1) * width, None] for i in range(3))
    hidden = xp.tanh(first * x + bias)  # (S, width, B)
    return (last * hidden).sum(-2) / width**0.5 + parameters[..., -1:]


def posterior(
    data_seed: int, *, chains: int, warmup: int, draws: int, accept: float
) -> tuple[Float[Array, "C S D"], dict[str, float]]:
    """Return draws from the posterior, (chains, draws, parameters), and what NUTS says of them.

    ``divergences`` counts draws whose path left the line of constant energy, after warm-up, and
    ``steps`` is the mean number of gradients a draw. Warm-up shortens steps until they are accepted
    with the probability `accept`.

    Raises
    ------
    ImportError
        If NumPyro is not installed; the message says where it is.
    """
    data_seed = checks.natural_int("data_seed", data_seed)
    jax, numpyro = _modules()
    x, y = (part[:, 0] for part in gap.sample(np.random.default_rng(data_seed)))

    def model() -> None:
        prior = numpyro.distributions.Normal(PRIOR.loc, PRIOR.scale).expand([NUMBER]).to_event(1)
        f = curve(numpyro.sample("parameters", prior), x, jax.numpy)
        numpyro.sample("y", numpyro.distributions.Normal(f, gap.noise).to_event(1), obs=y)

    start = numpyro.infer.init_to_sample()
    kernel = numpyro.infer.NUTS(model, init_strategy=start, target_accept_prob=accept)
    sampler = numpyro.infer.MCMC(
        kernel, num_warmup=warmup, num_samples=draws, num_chains=1, progress_bar=False
    )
    found, steps, divergences = [], [], 0
    for chain in range(checks.positive_int("chains", chains)):
        key = jax.random.PRNGKey(100 * data_seed + chain)
        sampler.run(key, extra_fields=("diverging", "num_steps"))
        extra = sampler.get_extra_fields()
        found.append(np.array(sampler.get_samples()["parameters"]))
        steps.append(float(extra["num_steps"].mean()))
        divergences += int(extra["diverging"].sum())
    return np.stack(found), {"divergences": divergences, "steps": float(np.mean(steps))}


def run(data_seed: int, chains: int, warmup: int, draws: int, accept: float) -> dict[str, Any]:
    """Return what the posterior of one draw of data says of f(x), and whether chains agree."""
    found, health = posterior(data_seed, chains=chains, warmup=warmup, draws=draws, accept=accept)
    f = curve(found, grid())  # (chains, draws, B)
    means = f.reshape(-1, f.shape[-1])
    x, truth, y = example.new_points(data_seed, int(example.SETTINGS["points"]))
    few = found.reshape(-1, NUMBER)[:: max(1, len(means) // 200)]
    scores = curve(few, x[:, 0])[..., None]
    return {
        **health,
        **agreement(f),
        "scores": {
            place: example.score(scores[:, rows], truth[rows], y[rows])
            for place, rows in zip(example.PLACES, np.split(np.arange(len(x)), 2), strict=True)
        },
        "mean": means.mean(0).tolist(),
        "std": means.std(0).tolist(),
        "quantiles": quantiles(means[:, ::COARSE]).tolist(),
    }


def agreement(f: Float[Array, "C S B"]) -> dict[str, float]:
    """Return the worst split R-hat and the least effective sample size of f over x.

    Gelman et al. 2013, sec. 11.4 and 11.5: each chain is cut into halves, whose means must differ
    no more than draws within them let expect.
    """
    _, numpyro = _modules()
    return {
        "r_hat": float(numpyro.diagnostics.split_gelman_rubin(f).max()),
        "effective_draws": float(numpyro.diagnostics.effective_sample_size(f).min()),
    }


def quantiles(f: Float[Array, "S B"]) -> Float[Array, "B levels"]:
    """Return the quantiles of f at each x, at the middles of `LEVELS` equal parts."""
    return np.quantile(f, (np.arange(LEVELS) + 0.5) / LEVELS, axis=0).T


def wasserstein(one: Float[Array, "S B"], other: Float[Array, "T B"]) -> Float[Array, " B"]:
    """Return the Wasserstein-1 distance of two sets of draws at each x, ``∫ |F⁻¹ - G⁻¹|``.

    Exact for the draws: between the levels of both the sorted draws are constant.
    """
    S, T = len(one), len(other)
    levels = np.union1d(np.arange(S + 1) * T, np.arange(T + 1) * S)  # times 1 / (S T)
    start = levels[:-1]
    apart = np.sort(one, axis=0)[start // T] - np.sort(other, axis=0)[start // S]
    return np.diff(levels) @ np.abs(apart) / (S * T)


def _modules() -> tuple[Any, Any]:
    """Import JAX, in float64 and on one thread, and NumPyro."""
    os.environ.setdefault(
        "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    )
    try:
        jax, numpyro, _ = map(import_module, ("jax", "numpyro", "numpyro.diagnostics"))
    except ModuleNotFoundError as error:
        raise ImportError(
            f"{error.name} is needed here, and is not installed; `make results NAME=nuts` "
            "computes where it is, in .venv-others"
        ) from error
    jax.config.update("jax_enable_x64", True)
    return jax, numpyro


EXPERIMENT = Experiment(
    name="nuts",
    about="the posterior of f(x), 1-20-1 with tanh, on the running example's data: mean and std on "
    "its grid, and 50 quantiles (at ½/50, 1½/50, …) at every fourth x; r_hat, the greatest split "
    "R-hat of f(x), effective_draws, the least of all x, divergences after warm-up, steps, mean "
    "gradients a draw; scores as in running-example",
    budget="4 chains of NUTS, float64, 2,000 draws each after 1,000 of warm-up, no thinning, "
    "trees of depth 10 at most; the prior fixed before, lengths and acceptance on data of other "
    "seeds",
    cases=[{"data_seed": data_seed} for data_seed in range(10)],
    run=run,
    settings=SETTINGS,
)
