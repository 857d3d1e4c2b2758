"""Refresh, strip or check the book's notebooks.

    python scripts/notebooks.py refresh book                execute in place, then strip
    python scripts/notebooks.py strip book/intro.ipynb      drop pictures, widgets and timing
    python scripts/notebooks.py check book                  fail where a strip would change a file

What stays is text, which strict nbval compares. Figures are drawn again by each build.
"""

import argparse
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
LANGUAGE = {"name": "python", "pygments_lexer": "ipython3"}
DROPPED_MIME = ("image/", "application/vnd.jupyter.widget")
DROPPED_METADATA = ("execution", "ExecuteTime", "collapsed", "scrolled", "trusted")


def strip(notebook):
    """Drop, in place, what differs from run to run or is drawn again; twice is as once."""
    notebook.metadata["kernelspec"] = dict(KERNEL)
    notebook.metadata["language_info"] = dict(LANGUAGE)
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        for key in DROPPED_METADATA:
            cell.metadata.pop(key, None)
        for output in cell.get("outputs", ()):
            for part in (output.get("data", {}), output.get("metadata", {})):
                for key in [key for key in part if key.startswith(DROPPED_MIME)]:
                    del part[key]
    return notebook


def write(notebook):
    """Return the text of a notebook file."""
    return nbformat.writes(notebook) + "\n"


def find(paths):
    """Yield each notebook among files and folders, in a fixed order."""
    for path in map(Path, paths):
        found = sorted(path.rglob("*.ipynb")) if path.is_dir() else [path]
        yield from (file for file in found if ".ipynb_checkpoints" not in file.parts)


def main(arguments=None):
    """Run one command over all notebooks; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["refresh", "strip", "check"])
    parser.add_argument("paths", nargs="+", help="notebooks, or folders of notebooks")
    options = parser.parse_args(arguments)

    stale = []
    for path in find(options.paths):
        old = path.read_text(encoding="utf-8")
        notebook = nbformat.reads(old, as_version=4)
        if options.command == "refresh":
            print(path, flush=True)
            NotebookClient(
                notebook,
                timeout=60,
                kernel_name="python3",
                resources={"metadata": {"path": str(path.parent)}},
                extra_arguments=["--log-level=ERROR"],  # else each kernel warns about encryption
            ).execute()
        new = write(strip(notebook))
        if new != old:
            stale.append(path)
            if options.command != "check":
                path.write_text(new, encoding="utf-8")
    if options.command == "check" and stale:
        print("Not stripped (run `make refresh`):", *stale, sep="\n  ", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
