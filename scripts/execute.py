"""Execute the book's notebooks side by side, into the cache where the build finds them.

    python scripts/execute.py _build

A notebook is executed again where its code changed, or a module of ours that it imports, itself or
through others, or one of the tables that such a module reads, or the packages that are pinned. All
others are kept. Each computes on one thread, so that as many run at once as there are cores; while
it runs, `explore` draws the frames of its page. Parsed and written pages go where what makes them
changed: the book's settings, its extensions, or what these import.
"""

import argparse
import hashlib
import os
import shutil
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from math import inf
from multiprocessing import get_context
from pathlib import Path

import nbformat
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from jupyter_cache.executors.utils import single_nb_execution

from ensedu.common import book_build
from scripts.notebooks import find
from workshop.running import code_digest

ROOT = Path(__file__).resolve().parents[1]
#: What reads the tables of long runs, by names that are known only when it runs.
READER, TABLES = "book/workshop/measured.py", "book/workshop/results"
#: What puts the scripts and styles beside it into what a notebook shows.
XRAY = "ensedu/xray/picture.py"
#: What pages are made with, besides what their notebooks compute with.
MAKERS = ("_config.yml", "_toc.yml", "book/_ext/*.py", "book/_css/*")
TIMEOUT = 180  # seconds a cell
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def fingerprint(code):
    """Return a hash of what code computes with: modules, the tables they read, the packages."""
    modules = code_digest.imported_files(code)
    others = [ROOT / "requirements/book.txt"]
    if ROOT / READER in modules:
        others += sorted((ROOT / TABLES).glob("*.json"))
    if ROOT / XRAY in modules:
        beside = (ROOT / XRAY).parent.iterdir()
        others += sorted(path for path in beside if path.suffix in (".js", ".css", ".html"))
    return " ".join([code_digest.files_digest(modules), *map(digest, others)])


def digest(path):
    """Return a hash of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def forget_pages(build):
    """Drop the pages of an earlier build that was made with anything else."""
    makers = [path for pattern in MAKERS for path in sorted(ROOT.glob(pattern))]
    extensions = [path.read_text(encoding="utf-8") for path in makers if path.suffix == ".py"]
    made_with = " ".join([*map(digest, makers), *map(fingerprint, extensions)])
    stamp = build / "made-with"
    if not stamp.is_file() or stamp.read_text() != made_with:
        for folder in (".doctrees", "html"):
            shutil.rmtree(build / folder, ignore_errors=True)
        stamp.write_text(made_with)


def code(notebook):
    """Return the code of a notebook."""
    return "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")


def execute(path, computed_with, folder):
    """Execute one notebook into the cache; return its seconds and, if it failed, what it said."""
    notebook = nbformat.read(path, as_version=4)
    result = single_nb_execution(
        notebook,
        cwd=str(path.parent),
        timeout=TIMEOUT,
        allow_errors=False,
        extra_arguments=["--log-level=ERROR"],  # else each kernel warns about encryption
    )
    if result.err is None:
        data = {"execution_seconds": result.time, "computed_with": computed_with}
        bundle = CacheBundleIn(notebook, str(path), data=data)
        get_cache(folder).cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
    return result.time, result.exc_string


def last_run(cached, notebook):
    """Return what a notebook is computed with now, and the record of its run with just that."""
    computed_with = fingerprint(code(notebook))
    try:
        record = cached.match_cache_notebook(notebook)
    except KeyError:
        return computed_with, None
    if record.data.get("computed_with") == computed_with:
        return computed_with, record
    cached.remove_cache(record.pk)  # or a build would find it, should the next run fail
    return computed_with, None


def stale(cached):
    """Return each notebook to execute, and what it will have been computed with."""
    found = {}
    for path in find([ROOT / "book"]):
        computed_with, record = last_run(cached, nbformat.read(path, as_version=4))
        if record is None:
            found[path] = computed_with
    return found


def main(arguments=None):
    """Execute what changed, the longest first; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path, help="the folder of what is built")
    parser.add_argument("--list", action="store_true", help="only name what would be executed")
    options = parser.parse_args(arguments)
    build = options.build.resolve()
    folder, doctrees = build / ".jupyter_cache", build / ".doctrees"

    cached = get_cache(folder)
    records = cached.list_cache_records()
    seconds = {record.uri: record.data["execution_seconds"] for record in records}
    todo = stale(cached)
    if options.list:
        print(*(path.relative_to(ROOT) for path in todo))
        return 0
    forget_pages(build)
    for variable in THREADS:
        os.environ[variable] = "1"
    # explore() draws its page form when this is set; kernels inherit it.
    os.environ[book_build.VARIABLE] = str(folder / "frames")
    # The longest first; of those never seen, the ones with most code.
    order = sorted(todo, key=lambda path: (-seconds.get(str(path), inf), -path.stat().st_size))
    failed = False
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        running = {pool.submit(execute, path, todo[path], folder): path for path in order}
        for future in as_completed(running):
            path, (took, error) = running[future].relative_to(ROOT), future.result()
            print(f"  {took:5.1f} s  {path}" if error is None else f"{path}\n{error}", flush=True)
            failed |= error is not None
            # What was read from its old outputs is read again.
            (doctrees / path).with_suffix(".doctree").unlink(missing_ok=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
