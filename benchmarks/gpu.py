"""The first minutes on a GPU: are the layers right there, how fast are they, is the rule good?

`gpu.sh` runs all steps, each in a process of its own with a limit of time, and works without a
network and without packages other than PyTorch and NumPy:

check       every layer against itself on the CPU in float64, values and gradients
layers      what `bench.py` times, in float32, TF32 and bf16, beside a batched product, and peaks
models      what `whole.py` times, a training step of a network by each method, and its peak
forms       scale and fold over a grid: does the rule choose the faster one?
compiled    layers under torch.compile, beside themselves

Each case stands alone: if it fails, its error is its result. A step writes after each case, so that
what is cut off loses one, and it stops by itself before its limit. At the end what the steps wrote
is put together. In the JSON each step has a list of rows with `error`, or, for contestants by name,
`seconds` and `ratio` as in `bench.py`.
"""

import argparse
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

import ensedu.torch as et
from benchmarks import bench, implementations, whole
from ensedu.methods import METHODS
from workshop.running import json_files
from workshop.running.machine import machine

PRECISIONS = ("float32", "tf32", "bf16")
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
        self.seconds = 0.002 if options.quick else EACH
        self.end = time.monotonic() + options.seconds
        self.rows, self.left_out = [], 0

    def case(self, run, **keys):
        """Run one case, keep what it returns or why it failed; leave it out if it is too late."""
        if time.monotonic() > self.end:
            self.left_out += 1
            return
        try:
            row = keys | run(**keys)
        except Exception as error:
            row = keys | {"error": said(error)}
        self.rows.append(row)
        self.write()
        print(*itertools.chain(*keys.items()), row.get("error", "done"), flush=True)
        free(self.device)

    def write(self):
        """Write all rows, and how many cases were left out."""
        json_files.write_json(self.path, {"rows": self.rows, "left_out": self.left_out})


def said(error):
    """Return the kind of an error and its first line."""
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}"[:300]


def free(device):
    """Give back what a case held."""
    gc.collect()
    if device == "cuda":
        torch.cuda.empty_cache()


def prepared(step, precision):
    """Choose how float32 is multiplied, and return what arrays are made with."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer versions have other names for the same
        torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
        torch.backends.cudnn.allow_tf32 = precision == "tf32"
    torch.manual_seed(0)
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    return {"device": step.device, "dtype": dtype}


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
    prepared(step, "float32")
    built, bounds = checked_layers(), {torch.float64: 1e-10, torch.float32: 1e-3}

    def compare(layer, dtype):
        dtype = getattr(torch, dtype)
        found = max(difference(built[layer], B, step.device, dtype) for B in (3, 101))
        if not found <= bounds[dtype]:
            raise AssertionError(f"relative difference {found:.2g}, accepted is {bounds[dtype]:g}")
        return {"difference": found}

    for layer, dtype in itertools.product(built, bounds):
        step.case(compare, layer=layer, dtype=str(dtype).removeprefix("torch."))


def layer(step, method, precision, m, M, B, compiling=None):
    """Time a method's layer beside others; with options for ``torch.compile``, beside itself.

    Those that do not run have an error instead.
    """
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
    errors = {}
    for name, contestant in [*built.items()]:
        try:
            passes = contestant.passes(*contestant.batch(M, B, m, m, **factory))
            for kind in kinds:
                passes[kind]()
        except Exception as error:
            errors[name] = said(error)
            del built[name]
        contestant.forget([])
    free(step.device)
    found = bench.cell(built, M, B, m, seconds=step.seconds, kinds=kinds, weigh=weigh, **factory)
    return {"contestants": found, "errors": errors}


def layers(step):
    """The layers in all precisions, with their peaks, beside all others."""
    sizes = [(32, 4, 8)] if step.quick else LAYER_SIZES
    precisions = PRECISIONS[1:] if step.quick else PRECISIONS
    for (m, M, B), precision, method in itertools.product(
        sizes, precisions, implementations.METHODS
    ):
        if method != "mean_field" or M == 4:
            keys = {"method": method, "precision": precision, "m": m, "M": M, "B": B}
            step.case(functools.partial(layer, step), **keys)


def compiled(step):
    """Layers under torch.compile beside themselves."""
    m, M, B = (32, 4, 8) if step.quick else (1024, 4, 256)
    options = {"backend": "aot_eager"} if step.quick else {}
    methods = ("rank1",) if step.quick else implementations.METHODS
    for precision, method in itertools.product(("bf16", "tf32"), methods):
        keys = {"method": method, "precision": precision, "m": m, "M": M, "B": B}
        step.case(functools.partial(layer, step, compiling=options), **keys)


def networks(step):
    """A training step of a network by each method, members at once, in turn and mapped."""

    def race(precision, **sizes):
        prepared(step, precision)
        return {"contestants": whole.race(**sizes, seconds=8 * step.seconds, device=step.device)}

    sizes = {"M": 2, "B": 6, "width": 8} if step.quick else {"M": 4, "B": 128, "width": 64}
    for precision in PRECISIONS[1::-1]:
        step.case(race, precision=precision, **sizes)


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
            step.case(one, precision=precision, m=m, n=n, M=M, B=B)


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


def report(options):
    """Put the parts together, and write them."""
    rows, left_out = {name: [] for name in STEPS}, {}
    for file in options.parts.glob("*.json"):
        part = json.loads(file.read_text(encoding="utf-8"))
        rows[file.stem], left_out[file.stem] = part["rows"], part["left_out"]
    result = {
        "machine": machine(options.device),
        "missing": implementations.missing(),
        "left_out": left_out,
        "rule": {kind: judged(rows["forms"], kind) for kind in FORM_KINDS},
        **rows,
    }
    path = options.out / f"speed-{options.device}.json"
    json_files.write_json(path, result)
    for name in ("missing", "left_out", "rule"):
        print(f"{name}: {result[name]}")
    print(f"wrote {path}")


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
    step.write()
    return int(any("error" in row for row in step.rows))


if __name__ == "__main__":
    sys.exit(main())
