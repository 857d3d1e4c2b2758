"""Inputs of embedded ensembles, and the same ensembles in Torch."""

import numpy as np
import torch

from ensedu.theory.ntk import Modulation

M, B, C, m = 3, 5, 7, 2
AROUND_ONE = Modulation("normal", mean=1.0, std=0.5)


def inputs(seed, number=B, features=m):
    return np.random.default_rng(seed).standard_normal((number, features))


def outputs_of(net, shapes):
    """The same network in Torch: a function of all it trains, in one row, and of inputs."""
    phi = {"relu": torch.relu, "erf": torch.erf, "tanh": torch.tanh}[net.activation]

    def function(values, x):
        own = {name: [] for name in shapes}
        for (name, shape), part in zip(
            [(name, shape) for name, several in shapes.items() for shape in several],
            values.split([int(np.prod(s)) for several in shapes.values() for s in several]),
            strict=True,
        ):
            own[name].append(part.reshape(shape))
        h = x[None]
        for layer in range(len(own["u"])):
            z = h @ own["weights"][layer] / h.shape[-1] ** 0.5
            z = z + net.bias_std * own["biases"][layer]
            h = own["u"][layer][:, None] * phi(own["v"][layer][:, None] * z)
        return (h @ own["weights"][-1] / h.shape[-1] ** 0.5)[..., 0]

    return function


def in_torch(net):
    names = ("weights", "biases", "u", "v")
    shapes = {name: [array.shape for array in getattr(net, name)] for name in names}
    values = np.concatenate([a.ravel() for name in names for a in getattr(net, name)])
    number = sum(int(np.prod(s)) for name in ("weights", "biases") for s in shapes[name])
    return outputs_of(net, shapes), torch.from_numpy(values), number
