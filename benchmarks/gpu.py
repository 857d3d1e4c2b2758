"""The first minutes on a GPU: are the layers right there, how fast are they, is the rule good?

`gpu.sh` runs the steps one by one, each in a process of its own with a limit of time, and works
without a network and without packages other than PyTorch and NumPy:

    python benchmarks/gpu.py STEP --parts FOLDER [--device cuda] [--seconds LIMIT] [--quick]

check       every layer against an explicit loop, values and gradients
layers      layers in float32, TF32 and bf16 beside nn.Linear, bmm and other packages, and peaks
models      converted networks: a pass forward and a training step, and its peak
forms       scale and fold over a grid: does the rule choose the faster one?
compiled    layers and a network under torch.compile
report      put together what the steps wrote, print a short table

Each case stands alone: if it fails, its error is its result. A step writes after each case, so that
what is cut off loses one, and it stops by itself at LIMIT. In the JSON each step has a list of
rows with `error`, or, for contestants by name, `seconds` and `ratio` as in `bench.py`.
"""

import argparse
import contextlib
import gc
import itertools
import json
import math
import statistics
import sys
import time
import warnings
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

import ensedu.torch as et
from benchmarks import bench, contestants, measure, targets
from ensedu.methods import METHODS, size_option
from ensedu.torch import models
from workshop.running import json_files
from workshop.running.machine import machine

PRECISIONS = ("float32", "tf32", "bf16")
MEMBER_METHODS = ("deep_ensemble", "batch_ensemble", "rank1")
LAYER_SIZES = [(1024, 4, 32), (1024, 4, 1024), (4096, 4, 1024), (1024, 16, 256), (256, 16, 1024)]
FORM_SIZES = [(256, 256), (1024, 1024), (512, 2048), (4096, 4096)]
FORM_BATCHES = (16, 64, 128, 256, 512, 1024, 2048, 4096)
FORM_KINDS = ("forward", "forward+backward", "first layer")
EACH = 0.12  # seconds a case and kind of pass


class Step:
    """The cases of one step: what each found, in a file that is always whole."""

    def __init__(self, name, options):
        self.path = options.parts / f"{name}.json"
        self.device, self.quick = options.device, options.quick
        self.members = 2 if self.quick else 4
        self.seconds = 0.002 if options.quick else EACH
        self.end = time.monotonic() + options.seconds
        self.rows, self.left_out = [], 0

    def case(self, run, **keys):
        """Run one case, keep what it returns or why it failed; leave it out if it is too late."""
        if time.monotonic() > self.end:
            self.left_out += 1
            return
        try:
            row = keys | run()
        except Exception as error:
            row = keys | {"error": said(error)}
        self.rows.append(row)
        json_files.write_json(self.path, {"rows": self.rows, "left_out": self.left_out})
        words = " ".join(f"{key} {value}" for key, value in keys.items())
        print(f"{words}: {row.get('error', 'done')}", flush=True)
        free(self.device)

    def finish(self):
        """Write how many cases were left out; return whether a case failed."""
        json_files.write_json(self.path, {"rows": self.rows, "left_out": self.left_out})
        if self.left_out:
            print(f"out of time: {self.left_out} cases left out")
        return any("error" in row for row in self.rows)


def said(error):
    """Return the kind of an error and its first line."""
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}"[:300]


def free(device):
    """Give back what a case held."""
    gc.collect()
    if device == "cuda":
        torch.cuda.empty_cache()


def multiply_in(precision):
    """Choose how float32 is multiplied, in products and in convolutions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer versions have other names for the same
        torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
        torch.backends.cudnn.allow_tf32 = precision == "tf32"


# --- check: every layer against a loop over its matrices ---


def by_matrices(layer, x, noise):
    """The output of a layer, member by member, from `weight_matrices` and the biases."""
    matrices = layer.weight_matrices(noise)
    if isinstance(layer, (et.MeanFieldLinear, et.MeanFieldConv2d)):
        bias = layer.bias_mean + F.softplus(layer.bias_rho) * noise["bias"]
        return product(x, matrices[0], bias)
    pairs = zip(matrices, layer.bias, strict=True)
    return torch.stack([product(x[i], *pair) for i, pair in enumerate(pairs)])


def product(x, matrix, bias):
    """Multiply by a matrix (m, n), or convolve with a kernel (C_in, C_out, k, k)."""
    if matrix.ndim == 2:
        return x @ matrix + bias
    return F.conv2d(x, matrix.transpose(0, 1), bias, padding=1)


def by_moments(layer, x, noise):
    """The output of a mean-field layer that draws outputs: mean and deviation of each."""
    mean = x @ layer.weight_mean.mT + layer.bias_mean
    variance = x**2 @ F.softplus(layer.weight_rho).mT ** 2 + F.softplus(layer.bias_rho) ** 2
    return mean + variance.sqrt() * noise["output"]


def by_flips(layer, x, noise):
    """The output of a Flipout layer: each example with a weight of its own."""
    deviation = F.softplus(layer.weight_rho).mT * noise["weight"]
    signs = noise["input_signs"][:, :, None] * noise["output_signs"][:, None, :]  # (B, m, n)
    weights = layer.weight_mean.mT + deviation * signs
    bias = F.softplus(layer.bias_rho) * noise["bias"] * noise["output_signs"]
    return (x[:, None] @ weights)[:, 0] + layer.bias_mean + bias


def checked_layers():
    """Return layers by name: how to build one, and what it should compute."""
    M, m, n = 3, 5, 11
    conv = {"kernel_size": 3, "padding": 1}
    made = {}
    for name in ("DeepEnsemble", "BatchEnsemble", "Rank1", "MeanField"):
        size = {} if name == "MeanField" else {"ensemble_size": M}
        for kind, more in (("Linear", {}), ("Conv2d", conv)):
            build = getattr(et, name + kind)
            made[name + kind] = (lambda b=build, k=size | more, **f: b(m, n, **k, **f), by_matrices)
    made["BatchEnsembleLinear, memory saving"] = (
        lambda **f: et.BatchEnsembleLinear(m, n, M, memory_saving=True, **f),
        by_matrices,
    )
    made["MeanFieldLinear, local"] = (
        lambda **f: et.MeanFieldLinear(m, n, estimator="local", **f),
        by_moments,
    )
    made["MeanFieldLinear, flipout"] = (
        lambda **f: et.MeanFieldLinear(m, n, estimator="flipout", **f),
        by_flips,
    )
    return made


def difference(build, expected, B, device, dtype):
    """The largest relative difference between a layer and the loop, in values and gradients."""
    torch.manual_seed(0)
    layer = build(device=device, dtype=dtype)
    leading = (layer.ensemble_size, B) if hasattr(layer, "ensemble_size") else (B,)
    size = (6, 7) if layer.batch_axis == -4 else ()
    x = torch.randn(*leading, 5, *size, device=device, dtype=dtype, requires_grad=True)
    noise = None
    if METHODS[layer.method].stochastic:
        noise = layer.noise(torch.Generator(device).manual_seed(0), x.shape)
    wanted = [x, *layer.parameters()]
    y = layer(x) if noise is None else layer(x, noise)
    slope = torch.randn_like(y)
    found = [y, *torch.autograd.grad(y, wanted, slope)]
    y = expected(layer, x, noise)
    exact = [y, *torch.autograd.grad(y, wanted, slope)]
    found = [((a - b).norm() / b.norm()).item() for a, b in zip(found, exact, strict=True)]
    return max(found) if all(map(math.isfinite, found)) else math.inf


def check(step):
    """Every layer on the device against an explicit loop, in float64 and float32."""
    multiply_in("float32")

    def compare(build, expected, dtype, bound):
        found = max(difference(build, expected, B, step.device, dtype) for B in (3, 101))
        if not found <= bound:
            raise AssertionError(f"relative difference {found:.2g}, accepted is {bound:g}")
        return {"difference": found}

    for name, (build, expected) in checked_layers().items():
        for dtype, bound in ((torch.float64, 1e-10), (torch.float32, 1e-3)):
            step.case(
                lambda b=build, e=expected, d=dtype, t=bound: compare(b, e, d, t),
                layer=name,
                dtype=str(dtype).removeprefix("torch."),
            )


# --- layers: eager, and compiled ---


def failing(built, M, B, m, kinds, factory):
    """Return the errors of the contestants that fail, by name."""
    errors = {}
    for name, contestant in built.items():
        try:
            passes = contestant.passes(*contestant.batch(M, B, m, m, **factory))
            for kind in kinds:
                passes[kind]()
        except Exception as error:
            errors[name] = said(error)
        contestant.forget([])
    return errors


def race(step, built, M, B, m, kinds, weigh, dtype):
    """Time the contestants that run; those that do not have an error instead."""
    factory = {"device": step.device, "dtype": dtype}
    errors = failing(built, M, B, m, kinds, factory)
    free(step.device)
    built = {name: one for name, one in built.items() if name not in errors}
    found = bench.cell(built, M, B, m, seconds=step.seconds, kinds=kinds, weigh=weigh, **factory)
    return {"contestants": found, "errors": errors}


def layers(step):
    """The layers in all precisions, with their peaks, beside all others."""
    sizes = [(32, 4, 8)] if step.quick else LAYER_SIZES
    kinds = ("forward", "forward+backward", "step")

    def one(method, precision, m, M, B):
        multiply_in(precision)
        torch.manual_seed(0)
        dtype = torch.bfloat16 if precision == "bf16" else torch.float32
        factory = {"device": step.device, "dtype": dtype}
        built = contestants.METHODS[method](m, m, M, **factory)
        if method != "mean_field":
            built["bmm"] = contestants.Contestant(contestants.BatchedProduct(m, m, M, **factory))
        weigh = ("saved", "peak") if step.device == "cuda" or method == "rank1" else ("saved",)
        return race(step, built, M, B, m, kinds, weigh, dtype)

    precisions = PRECISIONS[1:] if step.quick else PRECISIONS
    for (m, M, B), precision, method in itertools.product(sizes, precisions, contestants.METHODS):
        if method == "mean_field" and M != 4:
            continue
        keys = {"method": method, "precision": precision, "m": m, "M": M, "B": B}
        step.case(lambda k=keys: one(**k), **keys)


def compiled(step):
    """Layers under torch.compile beside themselves, then a training step of two networks."""
    m, M, B = (32, 4, 8) if step.quick else (1024, 4, 256)
    options = {"backend": "aot_eager"} if step.quick else {}
    kinds = ("forward", "forward+backward")

    def layer(method, precision):
        multiply_in(precision)
        torch.compiler.reset()  # a function is compiled anew for few layers only
        torch.manual_seed(0)
        dtype = torch.bfloat16 if precision == "bf16" else torch.float32
        factory = {"device": step.device, "dtype": dtype}
        built = contestants.METHODS[method](m, m, M, **factory)
        built = {name: built[name] for name in ("limit", "ensedu")}
        ours = built["ensedu"]
        call = torch.compile(ours.layer, fullgraph=True, **options)
        built["ensedu, compiled"] = contestants.Contestant(ours.layer, ours.axes, call)
        weigh = ("peak",) if step.device == "cuda" else ()
        return race(step, built, M, B, m, kinds, weigh, dtype)

    def all_layers(precision):
        for method in ("rank1",) if step.quick else contestants.METHODS:
            step.case(
                lambda a=method: layer(a, precision),
                method=method, precision=precision, m=m, M=M, B=B,
            )  # fmt: skip

    all_layers("bf16")
    cases = [("mlp", MEMBER_METHODS), ("wide_resnet", ("batch_ensemble",))]
    for name, methods in [("mlp", ("batch_ensemble",))] if step.quick else cases:
        step.case(
            lambda n=name, a=methods: trained(step, n, "bf16 autocast", ("single", *a), options),
            network=name, precision="bf16 autocast", M=step.members,
        )  # fmt: skip
    all_layers("tf32")


# --- models: converted networks ---


def base_network(name, quick):
    """Return a network in plain Torch with a dropout, the name of its head, and a batch's shape."""
    if name == "mlp":
        width = 32 if quick else 2048
        net = nn.Sequential(
            nn.Linear(64, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
            nn.Dropout(0.1), nn.Linear(width, 10),
        )  # fmt: skip
        return net, "5", (8 if quick else 512, 64)
    if name == "wide_resnet":
        net = models.wide_resnet(10, 1) if quick else models.wide_resnet(16, 4)
        shape = (2, 3, 16, 16) if quick else (128, 3, 32, 32)
    else:
        net, shape = models.resnet50(10), (32, 3, 224, 224)
    net.head.insert(2, nn.Dropout(0.1))
    return net, "head.3", shape


def converted(step, name, method):
    """Build a network and turn it into an ensemble by a method; return it and a batch's shape."""
    torch.manual_seed(0)
    net, head, shape = base_network(name, step.quick)
    net = net.to(step.device)
    if method != "single":
        more = {"head": head} if method == "last_layer" else {}
        net = et.ensemble(net, method, **size_option(method, step.members), **more)
    return net, shape


def trained(step, name, precision, methods, compile_options=None):
    """Time a pass forward and a training step of one network for some methods, side by side.

    With options for ``torch.compile``, each network compiled, too.
    """
    multiply_in(precision)
    torch.compiler.reset()

    def lower():
        if precision != "bf16 autocast":
            return contextlib.nullcontext()
        return torch.autocast(step.device, dtype=torch.bfloat16)

    def functions(method, compiling=False):
        net, shape = converted(step, name, method)
        x = torch.randn(shape, device=step.device)
        y = torch.randint(10, shape[:1], device=step.device)
        optimizer = torch.optim.Adam(net.parameters(), lr=1e-5, fused=True)
        call = torch.compile(net, **compile_options) if compiling else net

        def forward():
            with torch.no_grad(), lower():
                call(x)

        def whole():
            optimizer.zero_grad(set_to_none=True)
            with lower():
                logits = call(x).flatten(0, -2)
                loss = F.cross_entropy(logits, y.repeat(len(logits) // len(y)))
            loss = loss + et.kl(net) / 50_000
            loss.backward()
            optimizer.step()

        return {"forward": forward, "step": whole, "forget": optimizer.zero_grad}

    made, errors = {}, {}
    for method, compiling in itertools.product(methods, (False, True)):
        if compiling and compile_options is None:
            continue
        label = f"{method}, compiled" if compiling else method
        try:
            passes = functions(method, compiling)
            passes["forward"]()
            passes["step"]()
            made[label] = passes
        except Exception as error:
            errors[label] = said(error)
        passes = None  # of a network that failed, too
        free(step.device)
    found = {label: {} for label in made}
    for kind in ("forward", "step"):
        runs = {label: passes[kind] for label, passes in made.items()}
        times = measure.compare(runs, methods[0], seconds=2 * step.seconds, device=step.device)
        for label, entry in times.items():
            found[label][kind] = entry
    for label, passes in made.items():
        if step.device == "cuda" or name == "mlp":  # on a CPU it takes long for others
            found[label]["peak_bytes"] = measure.peak_bytes(
                passes["step"], step.device, passes["forget"]
            )
    return {"contestants": found, "errors": errors}


def networks(step):
    """Converted networks, all methods side by side; times are over one network's."""
    methods = tuple(METHODS)  # the single network first
    cases = [("mlp", p) for p in ("float32", "tf32", "bf16 autocast")]
    cases += [("wide_resnet", p) for p in ("tf32", "bf16 autocast", "float32")]
    if step.quick:
        cases = [("mlp", "float32"), ("wide_resnet", "bf16 autocast")]
    else:
        cases += [("resnet50", "bf16 autocast")]
    for name, precision in cases:
        step.case(
            lambda n=name, p=precision: trained(step, n, p, methods),
            network=name, precision=precision, M=step.members,
        )  # fmt: skip


# --- forms: scale or fold ---


def forms(step):
    """Time both forms of BatchEnsemble over a grid, and ask which one the rule would choose."""
    sizes, batches = (FORM_SIZES, FORM_BATCHES)
    if step.quick:
        sizes, batches = [(16, 32)], (4, 64)

    def one(precision, m, n, M, B):
        multiply_in(precision)
        torch.manual_seed(0)
        dtype = torch.bfloat16 if precision == "bf16" else torch.float32
        factory = {"device": step.device, "dtype": dtype}
        layer = contestants.Contestant(et.BatchEnsembleLinear(m, n, M, **factory))
        passes = layer.passes(*layer.batch(M, B, m, n, **factory))

        def within(form, run):
            with contestants.form(form):
                run()

        found = {}
        for kind in FORM_KINDS:
            run = passes[kind]
            times = measure.compare(
                {form: lambda f=form, r=run: within(f, r) for form in ("scale", "fold")},
                "scale",
                seconds=step.seconds / 2,
                device=step.device,
            )
            found[kind] = {
                "chosen": contestants.form_of(run),
                "seconds": times["scale"]["seconds"][1],
                "fold over scale": times["fold"]["ratio"],
            }
        return found

    for M, precision in ((4, "tf32"), (4, "bf16"), (16, "tf32")):
        for (m, n), B in itertools.product(sizes, batches):
            keys = {"precision": precision, "m": m, "n": n, "M": M, "B": B}
            step.case(lambda k=keys: one(**k), **keys)


def judged(rows, kind):
    """How well the rule chooses, and the c that would lose least in B (m + n) > c m n.

    What is lost is the mean of log(time of the chosen form / time of the faster one).
    """
    rows = [row for row in rows if kind in row]
    if not rows:
        return None
    points = []
    for row in rows:
        share = row["B"] * (row["m"] + row["n"]) / (row["m"] * row["n"])
        log_ratio = math.log(row[kind]["fold over scale"][1])
        points.append((share, log_ratio, row[kind]["chosen"] == "fold"))

    def loss(choices):
        costs = [max(0, r) if fold else max(0, -r) for (_, r, _), fold in choices]
        return statistics.fmean(costs)

    shares = sorted({share for share, _, _ in points})
    between = [math.sqrt(a * b) for a, b in itertools.pairwise(shares)]
    candidates = [shares[0] / 2, *between, shares[-1] * 2]
    lost = {c: loss([(point, point[0] > c) for point in points]) for c in candidates}
    best = min(lost, key=lost.get)
    return {
        "cells": len(points),
        "faster chosen": sum(fold == (r < 0) for _, r, fold in points),
        "time lost": math.expm1(loss([(point, point[2]) for point in points])),
        "best c": best,
        "faster chosen with best c": sum((share > best) == (r < 0) for share, r, _ in points),
        "time lost with best c": math.expm1(lost[best]),
    }


# --- report ---


def report(parts, device, path):
    """Put the parts together, write them, and return the lines of a short table."""
    found = {}
    for name in STEPS:
        file = parts / f"{name}.json"
        found[name] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else None
    said_by_shell = parts / "steps.txt"
    steps = said_by_shell.read_text(encoding="utf-8").splitlines() if said_by_shell.exists() else []
    rows = {name: part["rows"] if part else [] for name, part in found.items()}
    rule = {kind: judged(rows["forms"], kind) for kind in FORM_KINDS}
    result = {
        "machine": machine(device),
        "missing": contestants.missing(),
        "steps": steps,
        "left_out": {name: part["left_out"] for name, part in found.items() if part},
        "rule": rule,
        **rows,
    }
    json_files.write_json(path, result)
    return list(lines_of(result))


def lines_of(result):
    """Yield the lines of the short table."""
    where = result["machine"]
    yield f"{where['name']} ({where['capability']}), {where['versions'].get('torch')}"
    if result["missing"]:
        yield f"not installed, so left out: {', '.join(result['missing'])}"
    bad = [row for row in result["check"] if "error" in row]
    yield f"check: {len(result['check']) - len(bad)} of {len(result['check'])} equal a loop"
    for row in bad:
        yield f"  {row['layer']} {row['dtype']}: {row['error']}"
    for name in ("layers", "compiled"):
        yield f"{name}: time over nn.Linear: forward, both, step (peak over its); others: both"
        yield from (layer_line(row) for row in result[name] if "network" not in row)
        errors = {
            f"  {contestant}: {error[:110]}"
            for row in result[name]
            if "network" not in row
            for contestant, error in row.get("errors", {}).items()
        }
        yield from sorted(errors)
    yield "models: time over one network's (forward, step), and peak, MB"
    for row in (*result["models"], *(r for r in result["compiled"] if "network" in r)):
        yield f"  {row['network']} {row['precision']} M {row['M']} {row.get('error', '')}"
        for label, entry in row.get("contestants", {}).items():
            peak = f"{entry['peak_bytes'] / 1e6:9,.0f}" if "peak_bytes" in entry else ""
            times = "".join(f"{entry[kind]['ratio'][1]:8.2f}" for kind in ("forward", "step"))
            yield f"    {label:26}{times}{peak}"
        for label, error in row.get("errors", {}).items():
            yield f"    {label:26}  {error[:110]}"
    yield "forms: does the rule choose the faster one?"
    for kind, found in result["rule"].items():
        if found:
            yield (
                f"  {kind:17} {found['faster chosen']} of {found['cells']}, "
                f"{found['time lost']:.1%} lost; with the best c, {found['best c']:.2f}, "
                f"{found['faster chosen with best c']}, {found['time lost with best c']:.1%}"
            )
    yield from (f"  error: {row['error'][:110]}" for row in result["forms"] if "error" in row)
    for name, number in result["left_out"].items():
        if number:
            yield f"{name}: {number} cases left out, out of time"


def layer_line(row):
    """Say one cell in one line: all of ours, and the others forward and backward."""
    start = f"  {row['method']:14} {row['precision']:7} m {row['m']} M {row['M']} B {row['B']}: "
    if "error" in row:
        return start + row["error"][:110]
    limit, *others = row["contestants"].items()
    words = []
    for name, entry in others:
        ratios = {k: entry[k]["ratio"][1] for k in targets.KINDS if k in entry}
        if name != "ensedu":
            words.append(f"{name} {ratios['forward+backward']:.2f}")
            continue
        peak = ""
        if "peak_bytes" in entry:
            peak = f" ({entry['peak_bytes'] / max(1, limit[1]['peak_bytes']):.2f})"
        words.append(name + "".join(f" {ratio:.2f}" for ratio in ratios.values()) + peak)
    return start + "; ".join(words)


STEPS = {
    "check": check,
    "layers": layers,
    "models": networks,
    "forms": forms,
    "compiled": compiled,
}


def main(arguments=None):
    """Run one step; return the exit status, 1 if a case failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", choices=(*STEPS, "report"))
    parser.add_argument("--parts", type=Path, required=True, help="the folder of the steps' files")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda")
    parser.add_argument("--seconds", type=float, default=math.inf, help="when to stop")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs")
    parser.add_argument("--path", type=Path, help="the JSON that report writes")
    options = parser.parse_args(arguments)
    if options.step == "report":
        lines = report(options.parts, options.device, options.path)
        print(*lines, sep="\n")
        text = "\n".join(lines) + "\n"
        options.path.with_suffix(".txt").write_text(text, encoding="utf-8")
        return 0
    if options.quick:
        torch.set_num_threads(1)
    step = Step(options.step, options)
    STEPS[options.step](step)
    return int(step.finish())


if __name__ == "__main__":
    sys.exit(main())
