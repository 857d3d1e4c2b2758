"""Both backends behind one face, for the tests that both run, and what tests of layers share."""

from types import SimpleNamespace

import numpy as np
import torch

import ensedu.numpy as en
import ensedu.torch as et

#: Distinct primes, so that a swapped axis cannot hide: members, batch, inputs, outputs.
M, B, m, n = 3, 7, 5, 11
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
BACKENDS = ["numpy", *DEVICES]


def numpy_backend():
    rng = np.random.default_rng(2)
    return SimpleNamespace(
        name="numpy",
        package=en,
        make=lambda name, *sizes, **kwargs: getattr(en, name)(*sizes, rng=rng, **kwargs),
        mlp=lambda *args, **kwargs: en.mlp(*args, rng=rng, **kwargs),
        array=lambda values: np.asarray(values, np.float64),
        numpy=np.asarray,
        source=np.random.default_rng,
        params=lambda layer: layer.params,
        layers=lambda network: network.layers,
    )


def torch_backend(device):
    torch.manual_seed(2)
    where = {"dtype": torch.float64, "device": device}
    return SimpleNamespace(
        name=device,
        package=et,
        make=lambda name, *sizes, **kwargs: getattr(et, name)(
            *sizes, **kwargs, **({} if name == "MCDropout" else where)
        ),
        mlp=lambda *args, **kwargs: et.mlp(*args, **kwargs, **where),
        array=lambda values: torch.tensor(np.asarray(values), **where),
        numpy=lambda tensor: tensor.detach().cpu().numpy(),
        source=lambda seed: torch.Generator(device).manual_seed(seed),
        params=lambda layer: dict(layer.named_parameters()),
        layers=list,
    )


def make_backend(name):
    return numpy_backend() if name == "numpy" else torch_backend(name)


def as_book(key, array):
    """An array of a Torch layer or a gradient of it with the axes of its NumPy twin."""
    return array.swapaxes(-1, -2) if key.startswith("weight") else array


def gradients(y, tensors):
    """Slopes of a sum in which every entry of y counts with a factor of its own."""
    weights = torch.arange(1.0, y.numel() + 1, dtype=y.dtype).reshape(y.shape).cos()
    return torch.autograd.grad((y * weights).sum(), tensors)
