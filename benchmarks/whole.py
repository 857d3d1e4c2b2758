"""Time and weigh a training step of a whole model by each method; write JSON.

    python benchmarks/whole.py book/workshop/results/whole-models.json  # two minutes
    python benchmarks/whole.py /tmp/whole.json --quick

A ResNet of 18 layers with group normalization, on images of 32 by 32 pixels: a step runs forward,
backward and SGD with momentum. Beside the methods stand what one would do without a package, four
networks one after another, and ``torch.func.vmap``; with "a part each" each member learns from its
own quarter of the batch, as Wen et al. 2020 train. The JSON has, for each contestant,
`parameter_bytes`, `peak_bytes` (by how much memory rises during a step) and the quartiles of its
`seconds` and of its `ratio` to one network in the same round.
"""

import argparse
import sys
from pathlib import Path

import torch
from torch import nn
from torch.func import functional_call, stack_module_state, vmap
from torch.nn import functional as F

from benchmarks import measure
from ensedu.methods import METHODS
from ensedu.torch import ensemble, kl
from workshop.running import json_files
from workshop.running.machine import machine, restart_with_settings

SINGLE = "one network"


class Block(nn.Module):
    """Two 3×3 convolutions, and a path around them."""

    def __init__(self, channels, width, stride):
        super().__init__()
        self.body = nn.Sequential(
            *convolution(channels, width, 3, stride), nn.ReLU(), *convolution(width, width, 3, 1)
        )
        same = channels == width and stride == 1
        self.around = (
            nn.Identity() if same else nn.Sequential(*convolution(channels, width, 1, stride))
        )

    def forward(self, x):
        return F.relu(self.body(x) + self.around(x))


def convolution(channels, width, kernel, stride):
    """A convolution and its group normalization."""
    conv = nn.Conv2d(channels, width, kernel, stride, padding=kernel // 2, bias=False)
    return conv, nn.GroupNorm(8, width)


def resnet18(width):
    """He et al. 2016 with groups for batches, for small images: 11.2 million numbers at 64."""
    blocks, channels = [], width
    for stage, wide in enumerate((width, 2 * width, 4 * width, 8 * width)):
        for i in range(2):
            blocks.append(Block(channels, wide, 2 if stage and not i else 1))
            channels = wide
    stem = (*convolution(3, width, 3, 1), nn.ReLU())
    head = nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10)
    return nn.Sequential(*stem, *blocks, *head)


class InTurn:
    """Networks that train one after another, each to the end of its step."""

    def __init__(self, nets):
        self.nets = nets

    def parameters(self):
        """All parameters of all networks."""
        return [p for net in self.nets for p in net.parameters()]

    def step(self, x, labels, optimizer):
        """Train on one batch."""
        optimizer.zero_grad()
        for net in self.nets:
            F.cross_entropy(net(x), labels).backward()
        optimizer.step()


class Mapped(InTurn):
    """The same networks under ``torch.func.vmap``."""

    def __init__(self, nets):
        super().__init__(nets[:1])
        stacked, _ = stack_module_state(nets)
        self.stacked = {k: v.detach().requires_grad_() for k, v in stacked.items()}

    def parameters(self):
        return list(self.stacked.values())

    def step(self, x, labels, optimizer):
        optimizer.zero_grad()
        call = vmap(lambda p: functional_call(self.nets[0], p, (x,)), randomness="different")
        logits = call(self.stacked)
        M = len(logits)
        (F.cross_entropy(logits.flatten(0, 1), labels.repeat(M)) * M).backward()
        optimizer.step()


class Ensemble(InTurn):
    """A converted model, all members at once; each on its own part of a batch, if `split`."""

    def __init__(self, net, split=False):
        super().__init__([net])
        self.split = split
        if split:
            net.own_batches = True

    def step(self, x, labels, optimizer):
        (net,) = self.nets
        optimizer.zero_grad()
        if self.split:
            x = x.unflatten(0, (net.ensemble_size, -1))
        logits = net(x).flatten(0, 1)
        M = len(logits) // len(labels)
        # The sum over members of each one's mean, or of each one's part: they learn as alone.
        loss = F.cross_entropy(logits, labels.repeat(M)) * M
        (loss + kl(net) / 50_000).backward()
        optimizer.step()


def contestants(M, width):
    """Build all, by name."""
    found = {
        SINGLE: InTurn([resnet18(width)]),
        f"{M} networks in turn": InTurn([resnet18(width) for _ in range(M)]),
        "vmap": Mapped([resnet18(width) for _ in range(M)]),
    }
    for method in ("deep_ensemble", "batch_ensemble", "rank1", "mean_field"):
        row = METHODS[method]
        given = {"ensemble_size": M} if row.has_members else {"samples": M}
        start = {"initialize": lambda: resnet18(width)} if row.shares_nothing else {}
        found[method] = Ensemble(ensemble(resnet18(width), method, **given, **start))
        if method == "batch_ensemble":
            net = ensemble(resnet18(width), method, **given, memory_saving=True)
            found["batch_ensemble, memory saving"] = Ensemble(net)
            net = ensemble(resnet18(width), method, **given)
            found["batch_ensemble, a part each"] = Ensemble(net, split=True)
    return found


def race(M, B, width, seconds, device="cpu"):
    """Time and weigh a step of each on a device: {name: its bytes, seconds and ratio}."""
    torch.manual_seed(0)
    runs, found = {}, {}
    with torch.device(device):
        x, labels = torch.randn(B, 3, 32, 32), torch.randint(10, (B,))
        for name, one in contestants(M, width).items():
            optimizer = torch.optim.SGD(one.parameters(), lr=1e-4, momentum=0.9)
            runs[name] = lambda one=one, optimizer=optimizer: one.step(x, labels, optimizer)
            for _ in range(2):  # the first one also sets up
                runs[name]()
            found[name] = {
                "parameter_bytes": sum(p.numel() * p.element_size() for p in one.parameters()),
                "peak_bytes": measure.peak_bytes(runs[name], device, optimizer.zero_grad),
            }
        times = measure.compare(runs, SINGLE, seconds=seconds, device=device)
    return {name: own | times[name] for name, own in found.items()}


def main(arguments=None):
    """Time all, print and write what was found; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=Path, help="the JSON to write")
    parser.add_argument(
        "--quick", action="store_true", help="a narrow network, to see that it runs"
    )
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    sizes = {"M": 2, "B": 6, "width": 8} if options.quick else {"M": 4, "B": 16, "width": 32}
    found = race(**sizes, seconds=0 if options.quick else 60, device=options.device)
    for name, own in found.items():
        print(
            f"{name:32}{own['ratio'][1]:6.2f} x  {own['peak_bytes'] / 1e6:7.0f} MB at once, "
            f"{own['parameter_bytes'] / 1e6:5.0f} MB of parameters",
            flush=True,
        )
    json_files.write_json(
        options.path, {"machine": machine(options.device), **sizes, "contestants": found}
    )
    return 0


if __name__ == "__main__":
    restart_with_settings()
    sys.exit(main())
