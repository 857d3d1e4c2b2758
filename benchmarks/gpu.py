"""The first minutes on a GPU: are the layers right there, how fast are they, is the rule good?

`gpu.sh` runs all steps, each in a process of its own with a limit of time, and works without a
network and without packages other than PyTorch and NumPy:

check       every layer against itself on the CPU in float64, values and gradients
layers      layers in float32, TF32 and bf16 beside nn.Linear, bmm and other packages, and peaks
models      converted networks: a pass forward and a training step, and its peak
forms       scale and fold over a grid: does the rule choose the faster one?
compiled    layers and a network under torch.compile

Each case stands alone: if it fails, its error is its result. A step writes after each case, so that
what is cut off loses one, and it stops by itself before its limit. At the end what the steps wrote
is put together. In the JSON each step has a list of rows with `error`, or, for contestants by name,
`seconds` and `ratio` as in `bench.py`.
"""

import argparse
import contextlib
import copy
import functools
import gc
import importlib.util
import itertools
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

import ensedu.torch as et
from benchmarks import bench, implementations, measure
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
        print(f"{words_of(keys)}: {row.get('error', 'done')}", flush=True)
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


def words_of(row):
    """Return what a row is of."""
    return " ".join(
        f"{key} {own}" for key, own in row.items() if key != "error" and not isinstance(own, dict)
    )


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


# --- check: every layer against itself on the CPU ---


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


def check(step):
    """Every layer on the device, in float64 and float32."""
    multiply_in("float32")

    def compare(build, dtype, bound):
        found = max(difference(build, B, step.device, dtype) for B in (3, 101))
        if not found <= bound:
            raise AssertionError(f"relative difference {found:.2g}, accepted is {bound:g}")
        return {"difference": found}

    for name, build in checked_layers().items():
        for dtype, bound in ((torch.float64, 1e-10), (torch.float32, 1e-3)):
            step.case(
                functools.partial(compare, build, dtype, bound),
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


def prepared(step, precision):
    """Choose a precision, and return what arrays are made with."""
    multiply_in(precision)
    torch.manual_seed(0)
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    return {"device": step.device, "dtype": dtype}


def race(step, built, M, B, m, kinds, weigh, factory):
    """Time the contestants that run; those that do not have an error instead."""
    errors = failing(built, M, B, m, kinds, factory)
    free(step.device)
    built = {name: one for name, one in built.items() if name not in errors}
    found = bench.cell(built, M, B, m, seconds=step.seconds, kinds=kinds, weigh=weigh, **factory)
    return {"contestants": found, "errors": errors}


def layer(step, method, precision, m, M, B, compiling=None):
    """Time a method's layer beside others; with options for ``torch.compile``, beside itself."""
    factory, on_gpu = prepared(step, precision), step.device == "cuda"
    built = implementations.METHODS[method](m, m, M, **factory)
    if compiling is None:
        kinds = ("forward", "forward+backward", "step")
        weigh = ("saved", "peak") if on_gpu or method == "rank1" else ("saved",)
        if method != "mean_field":
            built["bmm"] = implementations.Implementation(
                implementations.BatchedProduct(m, m, M, **factory)
            )
    else:
        kinds, weigh = ("forward", "forward+backward"), ("peak",) if on_gpu else ()
        torch.compiler.reset()  # a function is compiled anew for few layers only
        built = {name: built[name] for name in ("limit", "ensedu")}
        ours = built["ensedu"]
        call = torch.compile(ours.layer, fullgraph=True, **compiling)
        built["ensedu, compiled"] = implementations.Implementation(ours.layer, ours.axes, call)
    return race(step, built, M, B, m, kinds, weigh, factory)


def layers(step):
    """The layers in all precisions, with their peaks, beside all others."""
    sizes = [(32, 4, 8)] if step.quick else LAYER_SIZES
    precisions = PRECISIONS[1:] if step.quick else PRECISIONS
    for (m, M, B), precision, method in itertools.product(
        sizes, precisions, implementations.METHODS
    ):
        if method != "mean_field" or M == 4:
            keys = {"method": method, "precision": precision, "m": m, "M": M, "B": B}
            step.case(functools.partial(layer, step, **keys), **keys)


def compiled(step):
    """Layers under torch.compile beside themselves, then a training step of two networks."""
    m, M, B = (32, 4, 8) if step.quick else (1024, 4, 256)
    options = {"backend": "aot_eager"} if step.quick else {}
    methods = ("rank1",) if step.quick else implementations.METHODS
    of_layers = [
        {"method": method, "precision": precision, "m": m, "M": M, "B": B}
        for precision in ("bf16", "tf32")
        for method in methods
    ]
    nets = [("mlp", MEMBER_METHODS), ("wide_resnet", ("batch_ensemble",))]
    for keys in of_layers[: len(methods)]:
        step.case(functools.partial(layer, step, compiling=options, **keys), **keys)
    for name, own in [("mlp", ("batch_ensemble",))] if step.quick else nets:
        network(step, name, "bf16 autocast", ("single", *own), options)
    for keys in of_layers[len(methods) :]:
        step.case(functools.partial(layer, step, compiling=options, **keys), **keys)


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


def network(step, name, precision, *more):
    """Time one network as a case."""
    keys = {"network": name, "precision": precision, "M": step.members}
    step.case(functools.partial(trained, step, name, precision, *more), **keys)


def networks(step):
    """Converted networks, all methods side by side; times are over one network's."""
    cases = [("mlp", p) for p in ("float32", "tf32", "bf16 autocast")]
    cases += [("wide_resnet", p) for p in ("tf32", "bf16 autocast", "float32")]
    cases.append(("resnet50", "bf16 autocast"))
    if step.quick:
        cases = [("mlp", "float32"), ("wide_resnet", "bf16 autocast")]
    for name, precision in cases:
        network(step, name, precision, tuple(METHODS))  # the single network first


# --- forms: scale or fold ---


def forms(step):
    """Time both forms of BatchEnsemble over a grid, and ask which one the rule would choose."""
    sizes, batches = ([(16, 32)], (4, 64)) if step.quick else (FORM_SIZES, FORM_BATCHES)

    def one(precision, m, n, M, B):
        factory = prepared(step, precision)
        return implementations.both_forms(
            m, n, M, B, FORM_KINDS, seconds=step.seconds / 2, **factory
        )

    for M, precision in ((4, "tf32"), (4, "bf16"), (16, "tf32")):
        for (m, n), B in itertools.product(sizes, batches):
            keys = {"precision": precision, "m": m, "n": n, "M": M, "B": B}
            step.case(functools.partial(one, **keys), **keys)


def judged(rows, kind):
    """In how many cells the rule chooses the faster form, and how much time it loses in all.

    What is lost is the mean of log(time of the chosen form / time of the faster one).
    """
    cells = [row[kind] for row in rows if kind in row]
    if not cells:
        return None
    logs = [math.log(cell["fold over scale"][1]) for cell in cells]
    folds = [cell["chosen"] == "fold" for cell in cells]
    lost = [max(0, log if fold else -log) for log, fold in zip(logs, folds, strict=True)]
    right = sum(fold == (log < 0) for log, fold in zip(logs, folds, strict=True))
    mean = math.expm1(statistics.fmean(lost))
    return {"cells": len(cells), "faster chosen": right, "time lost": mean}


# --- report ---


def report(options):
    """Put the parts together, write them, and return the lines of a short table."""
    found = {}
    for name in STEPS:
        file = options.parts / f"{name}.json"
        found[name] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else None
    rows = {name: part["rows"] if part else [] for name, part in found.items()}
    result = {
        "machine": machine(options.device),
        "missing": implementations.missing(),
        "left_out": {name: part["left_out"] for name, part in found.items() if part},
        "rule": {kind: judged(rows["forms"], kind) for kind in FORM_KINDS},
        **rows,
    }
    lines, path = [*lines_of(result), ""], options.out / f"speed-{options.device}"
    json_files.write_json(path.with_suffix(".json"), result)
    path.with_suffix(".txt").write_text("\n".join(lines), encoding="utf-8")
    print(*lines, f"wrote {path}.json", sep="\n")


def lines_of(result):
    """Yield the lines of the short table."""
    where = result["machine"]
    yield f"{where['name']} ({where['capability']}), {where['versions'].get('torch')}"
    if result["missing"]:
        yield f"not installed, so left out: {', '.join(result['missing'])}"
    good = sum("error" not in row for row in result["check"])
    yield f"check: {good} of {len(result['check'])} layers equal the CPU's"
    yield f"times over nn.Linear's or one network's: {', '.join(implementations.KINDS)}; peak, MB"
    for row in (row for name in STEPS for row in result[name]):
        if "contestants" in row or "error" in row:
            yield " ".join([words_of(row), row.get("error", "")])
        for label, entry in row.get("contestants", {}).items():
            times = (
                f"{entry[kind]['ratio'][1]:.2f}" for kind in implementations.KINDS if kind in entry
            )
            peak = f"{entry['peak_bytes'] / 1e6:,.0f}" if "peak_bytes" in entry else ""
            yield f"    {label:34}{'':2}{'  '.join(times)}  {peak}"
        for label, error in row.get("errors", {}).items():
            yield f"    {label:34}  {error}"
    yield "forms: does the rule choose the faster one?"
    for kind, found in result["rule"].items():
        if found:
            share = f"{found['faster chosen']} of {found['cells']}"
            yield f"  {kind:17} {share}, {found['time lost']:.1%} lost"
    for name, number in result["left_out"].items():
        if number:
            yield f"{name}: {number} cases left out, out of time"


STEPS = {"check": check, "layers": layers, "models": networks, "forms": forms, "compiled": compiled}
#: Seconds that a step may take; on a CPU others may be at work.
LIMITS = {"tests": 90, "check": 40, "layers": 80, "models": 85, "forms": 55, "compiled": 110}
TESTS = (
    "tests/test_layers.py", "tests/numpy/test_gradients.py", "tests/torch/test_modules.py",
    "tests/torch/test_conv.py",
)  # fmt: skip


def tests(options):
    """Return the command of our own tests on this device, or say which package they lack."""
    missing = [name for name in ("pytest", "hypothesis") if not importlib.util.find_spec(name)]
    if missing:
        print(f"tests: skipped, without {' and '.join(missing)}")
        return None
    files = [*TESTS]
    if importlib.util.find_spec("safetensors") and importlib.util.find_spec("tqdm"):
        files.append("tests/torch/train/test_fitting.py")
    more = ["-k", options.device, "-o", f"cache_dir={options.parts}/cache", "-W", "default"]
    return ["-m", "pytest", "-q", *more, *files, *(["--collect-only"] if options.quick else [])]


def run_all(options):
    """Run each step in a process of its own, whatever the others do; return the exit status."""
    given = [f"--parts={options.parts}", f"--device={options.device}"]
    given += ["--quick"] if options.quick else []
    began, told = time.monotonic(), []
    for name, limit in LIMITS.items():
        limit *= 5 if options.quick else 1
        command = [__file__, name, *given, f"--seconds={limit - 20}"]
        if name == "tests" and (command := tests(options)) is None:
            continue
        print(f"== {name}")
        start, log = time.monotonic(), options.parts / f"{name}.log"
        with log.open("w", encoding="utf-8") as file:
            try:
                status = subprocess.run(
                    [sys.executable, *command], stdout=file, stderr=file, timeout=limit
                ).returncode
                words = f"failed, status {status}" if status else "ran"
            except subprocess.TimeoutExpired:
                words = f"cut off after {limit} s"
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        print(*(line[:200] for line in lines[-3:]), sep="\n")
        told.append(f"{name}: {words} ({time.monotonic() - start:.0f} s)")
    report(options)
    print(f"== summary: {time.monotonic() - began:.0f} s", *told, sep="\n")
    print(f"all that was printed: {options.parts}/*.log")
    return int(not all(": ran (" in line for line in told))


def main(arguments=None):
    """Run one step, or all; return the exit status, 1 if a case failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", choices=(*STEPS, "all"))
    parser.add_argument("--parts", type=Path, help="the folder of the steps' files")
    parser.add_argument("--device", choices=("cpu", "cuda"), default=os.environ.get("DEVICE"))
    parser.add_argument("--seconds", type=float, default=math.inf, help="when to stop")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs")
    options = parser.parse_args(arguments)
    options.device = options.device or ("cpu" if options.quick else "cuda")
    options.parts = options.parts or Path(tempfile.mkdtemp())
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error(f"PyTorch {torch.__version__} of {sys.executable} sees no GPU")
    if options.step == "all":
        usual = options.parts if options.quick else Path("book/workshop/results")
        options.out = Path(os.environ.get("OUT", usual))
        options.out.mkdir(parents=True, exist_ok=True)
        return run_all(options)
    if options.quick:
        torch.set_num_threads(1)
    step = Step(options.step, options)
    STEPS[options.step](step)
    return int(step.finish())


if __name__ == "__main__":
    sys.exit(main())
