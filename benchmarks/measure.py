"""Time things side by side, and weigh what a pass stores and what a process holds."""

import itertools
import random
import statistics
import time

import torch


def seconds_of(run, repeats=1, device="cpu"):
    """Return the mean seconds of some runs in a row, on a GPU by its own clock."""
    if device == "cuda":
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(repeats):
            run()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) / 1e3 / repeats
    began = time.perf_counter()
    for _ in range(repeats):
        run()
    return (time.perf_counter() - began) / repeats


def side_by_side(runs, *, seconds, least_rounds=5, device="cpu"):
    """Return the seconds of each run by name, round by round: {name: [seconds, ...]}.

    Each round runs all in another order, so that what the machine does meanwhile, and what the run
    before left in the caches, falls on all alike. A short run is repeated, and the mean counts.
    """
    names, order = list(runs), random.Random(0)
    enough = 2e-3 if device == "cuda" else 5e-4
    repeats = {}
    for name in names:
        for _ in range(3 if device == "cuda" else 1):
            runs[name]()
        repeats[name] = max(1, round(enough / seconds_of(runs[name], device=device)))
    times = {name: [] for name in names}
    end, turn = time.perf_counter() + seconds, 0
    while time.perf_counter() < end or turn < least_rounds:
        for name in order.sample(names, len(names)):
            times[name].append(seconds_of(runs[name], repeats[name], device))
        turn += 1
    return times


def quartiles(values):
    """Return [first quartile, median, third quartile]."""
    return statistics.quantiles(values, n=4, method="inclusive")


def ratios(times, of):
    """Return the quartiles of each run's time over that of `of` in the same round."""
    return {
        name: quartiles([own / base for own, base in zip(series, times[of], strict=True)])
        for name, series in times.items()
    }


def compare(runs, of, **options):
    """Time runs side by side: the quartiles of each one's seconds, and of its ratio to `of`."""
    times = side_by_side(runs, **options)
    over = ratios(times, of)
    return {
        name: {"seconds": quartiles(series), "ratio": over[name]} for name, series in times.items()
    }


def saved_bytes(forward, *known):
    """Return the bytes that a forward pass stores for its backward pass, beyond `known` tensors."""
    there = {tensor.untyped_storage().data_ptr() for tensor in known}
    found = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in there:
            found[storage.data_ptr()] = storage
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        forward()
    return sum(storage.nbytes() for storage in found.values())


def peak_bytes(run, device="cpu", forget=lambda: None):
    """Return by how much memory in use rises at most while `run` runs.

    A first run makes what is made once; `forget` drops what it left.
    """
    run()
    forget()
    if device == "cuda":
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        run()
        torch.cuda.synchronize()
        return torch.cuda.max_memory_allocated() - before
    with torch.profiler.profile(profile_memory=True) as profile:
        run()
    events = [e for e in profile.profiler.kineto_results.events() if e.name() == "[memory]"]
    changes = [event.nbytes() for event in sorted(events, key=lambda event: event.start_ns())]
    return max(itertools.accumulate(changes, initial=0))
