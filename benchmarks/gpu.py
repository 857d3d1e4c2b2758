"""Every layer on a GPU against itself on the CPU in float64: values and gradients.

`gpu.sh` runs it first: it needs no package but PyTorch and NumPy.
"""

import argparse
import copy
import functools
import itertools
import math
import sys

import torch

import ensedu.torch as et
from ensedu.methods import METHODS

#: How far from it may be what is computed in each dtype.
BOUNDS = {torch.float64: 1e-10, torch.float32: 1e-3}


def checked_layers():
    """Return by name how to build a layer of each kind."""
    made = {}
    for name in ("DeepEnsemble", "BatchEnsemble", "Rank1", "MeanField"):
        size = {} if name == "MeanField" else {"ensemble_size": 3}
        for kind, more in (("Linear", {}), ("Conv2d", {"kernel_size": 3, "padding": 1})):
            made[name + kind] = functools.partial(getattr(et, name + kind), 5, 11, **size, **more)
    saving = functools.partial(et.BatchEnsembleLinear, 5, 11, 3, memory_saving=True)
    made["BatchEnsembleLinear, memory saving"] = saving
    for name in ("local", "flipout"):
        made[f"MeanFieldLinear, {name}"] = functools.partial(
            et.MeanFieldLinear, 5, 11, estimator=name
        )
    return made


def difference(build, B, device, dtype):
    """The largest relative difference from the CPU's float64, in values and gradients."""
    torch.manual_seed(0)
    exact = build(dtype=torch.float64)
    leading = (exact.ensemble_size, B) if hasattr(exact, "ensemble_size") else (B,)
    x = torch.randn(*leading, 5, *((6, 7) if exact.batch_axis == -4 else ()), dtype=torch.float64)
    noise = []
    if METHODS[exact.method].stochastic:
        noise = [exact.noise(torch.Generator().manual_seed(0), x.shape)]

    def found(layer, **there):
        own = x.detach().to(**there).requires_grad_()
        given = ({name: one.to(**there) for name, one in drawn.items()} for drawn in noise)
        y = layer(own, *given)
        slope = torch.linspace(-1, 1, y.numel(), dtype=torch.float64).view_as(y).to(y)
        return y, *torch.autograd.grad(y, [own, *layer.parameters()], slope)

    there = {"device": device, "dtype": dtype}
    pairs = zip(found(copy.deepcopy(exact).to(**there), **there), found(exact), strict=True)
    errors = [((a.cpu().double() - b).norm() / b.norm()).item() for a, b in pairs]
    return max(errors) if all(map(math.isfinite, errors)) else math.inf


def main(arguments=None):
    """Check all layers, whatever the others do; return the exit status, 1 if one is off."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda")
    device = parser.parse_args(arguments).device
    if device == "cuda" and not torch.cuda.is_available():
        parser.error(f"PyTorch {torch.__version__} of {sys.executable} sees no GPU")
    torch.backends.cudnn.allow_tf32 = False
    failed = False
    for (name, build), (dtype, bound) in itertools.product(
        checked_layers().items(), BOUNDS.items()
    ):
        try:
            found = max(difference(build, B, device, dtype) for B in (3, 101))
            words = f"relative difference {found:.2g}"
        except Exception as error:
            found, words = math.inf, f"{type(error).__name__}: {error}"
        wrong = not found <= bound
        print(f"{'WRONG' if wrong else 'ok':6}{name}, {dtype}: {words}, accepted is {bound:g}")
        failed |= wrong
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
