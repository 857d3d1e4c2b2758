"""Settings of all tests: one thread a worker, reproducible examples, caches in _build."""

import gc
import logging
import os
from collections import defaultdict
from pathlib import Path

import hypothesis
import pytest
from hypothesis.configuration import set_hypothesis_home_dir

# Before any test loads NumPy or Torch: parallel workers with a thread a core slow each other.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

# What these assert, pytest explains as it does in a file of tests.
pytest.register_assert_rewrite("tests.torch.ensembling.law")

set_hypothesis_home_dir(Path(__file__).parents[1] / "_build" / "hypothesis")
# The second is `make test-typed`, the third `make test-long`.
for profile, examples in (("ensedu", 30), ("few", 10), ("long", 1000)):
    hypothesis.settings.register_profile(
        profile, max_examples=examples, deadline=None, derandomize=True, database=None
    )
hypothesis.settings.load_profile("ensedu")


# Figures are made of many small objects that refer to each other: the collector would look through
# all of Torch after every few. What is there once all tests are collected stays.
gc.set_threshold(50_000, 20, 50)


def pytest_collection_finish():
    """Keep what was imported out of the collector's sight."""
    gc.freeze()


def pytest_addoption(parser):
    """Let a run take few cases of each test, for what all cases show alike."""
    parser.addoption("--every", type=int, default=1, help="of each test, run every n-th case")


@pytest.hookimpl(trylast=True)  # after marks have left some out
def pytest_collection_modifyitems(config, items):
    """Put the notebooks first: what takes long is shared out best at the start."""
    cases = defaultdict(list)
    for item in items:
        cases[item.nodeid.partition("[")[0]].append(item)
    every = config.getoption("every")
    kept = {item for case in cases.values() for item in case[::every]}
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]
    items.sort(key=lambda item: item.path.suffix != ".ipynb")


@pytest.fixture(autouse=True)
def _nothing_compiled_before(request):
    """Give a test of the compiler all the graphs that it may have: others' count, too."""
    if request.node.get_closest_marker("compiled"):
        import torch

        torch._dynamo.reset()
        # It never propagates, so pytest would listen, and Torch write a trace of all it compiles.
        logging.getLogger("torch.__trace").propagate = True
        torch._dynamo.config.run_gc_after_compile = False
