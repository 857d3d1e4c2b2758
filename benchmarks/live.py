"""Measure the live trainer in a browser: steps and drawn frames a second, and the longest tasks.

    python benchmarks/live.py book/workshop/results/live.json     11 minutes, on the built book
    python benchmarks/live.py /tmp/live.json --quick    two minutes, to see that it runs

One trainer alone on its page, networks 1-50-50-1 of M = 8 on 64 points, for each method: on a desk,
with the page slowed down fourfold, and as wide as a phone; with both, it also draws the maps of two
classes. A step or a frame counts when the Worker has drawn the picture that shows it. A beat is a
turn of the browser, in which the page could answer a finger; it is late when the last one is more
than 50 ms ago. Chromium runs without a window and without a GPU; it reports tasks of its main
thread from 50 ms on. It slows that thread down, and not the Worker, which trains and draws: on a
slow processor there are fewer steps and frames than those columns say.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

from scripts.browsing import DESK, NO_BROWSER, PHONE, chromium, find_browser, packed, serve
from workshop.page.live import trainer_state
from workshop.running import json_files
from workshop.running.machine import machine

SITE = Path(__file__).parents[1] / "_build" / "html"
PAGE = "book/live.html"
MEMBERS, POINTS, WIDTH, SEED = 8, 64, 50, 0
METHODS = tuple(trainer_state.STARTS)
#: The window, and how many times the page is slowed down.
PLACES = {
    "desk": (DESK, 1),
    "desk, 4 times slower": (DESK, 4),
    "phone": (PHONE, 1),
    "phone, 4 times slower": (PHONE, 4),
}
SLOWEST = "phone, 4 times slower"
RATES = ("steps", "frames", "beats", "late")
WARM, LONG, SHORT = 2.0, 5.0, 1.0  # seconds
ROUNDS = 2
#: Targets on the desk: at least so many a second, at most so many milliseconds and bytes; and on
#: the slowest phone at least so many beats a second.
LEAST = {"steps": 100, "frames": 30}
LEAST_BEATS, MOST_TASK, MOST_BYTES = 30, 50, 60_000

# Counts what the Workers send for drawing, the beats, and the long tasks of the page.
WATCH = """() => {
  globalThis.seen = { frames: [], beats: [], tasks: [] };
  const beat = (now) => {
    seen.beats.push(now);
    requestAnimationFrame(beat);
  };
  requestAnimationFrame(beat);
  const Plain = Worker;
  globalThis.Worker = class extends Plain {
    constructor(...given) {
      super(...given);
      this.addEventListener("message", ({ data }) => {
        if (data.kind === "frame") seen.frames.push([performance.now(), data.steps]);
      });
    }
  };
  new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) seen.tasks.push([startTime, duration]);
  }).observe({ type: "longtask", buffered: true });
}"""
# Puts a trainer in the place of the page's own, whose Worker then rests, and plays it.
MOUNT = """(state) => {
  const old = document.querySelector(".ensedu-trainer");
  const root = document.createElement("div");
  root.className = "ensedu-trainer";
  old.replaceWith(root);
  root.scrollIntoView();
  seen.mounted = performance.now();
  ensedu.mount(root, { state, name: "measured" }).play(1e9);
}"""
NOW = "performance.now()"
FOUND = """([from, to]) => {
  const frames = seen.frames.filter(([time]) => time >= from && time <= to);
  const [first, last] = frames.length > 1 ? [frames[0], frames.at(-1)] : [[from, 0], [to, 0]];
  const seconds = (last[0] - first[0]) / 1000;
  const beats = seen.beats.filter((time) => time >= from && time <= to);
  const late = beats.filter((time, i) => i && time - beats[i - 1] > 50).length;
  const longest = (start, end) => Math.max(0, ...seen.tasks
    .filter(([time, duration]) => time + duration >= start && time <= end).map((task) => task[1]));
  return {
    steps: (last[1] - first[1]) / seconds, frames: Math.max(0, frames.length - 1) / seconds,
    beats: beats.length / ((to - from) / 1000), late: late / ((to - from) / 1000),
    mount_task: longest(seen.mounted, from), task: longest(from, to),
  };
}"""


def state(method, picture):
    """Return what is trained: one wave without a gap, or two moons."""
    rng = np.random.default_rng(SEED)
    x = np.linspace(-4, 4, POINTS)
    points = np.stack([x, np.sin(1.5 * x) + 0.1 * rng.standard_normal(POINTS)], axis=1)
    own = {
        "method": method, "points": points, "ensemble_size": 1 if method == "single" else MEMBERS,
        "width": WIDTH, "hidden_layers": 2, "noise": 0.1,
    }  # fmt: skip
    if picture == "maps":
        return trainer_state.changed(state(method, "curves"), {"data": "moons"})
    empty = dict.fromkeys(("data", "start", "other"))
    return trainer_state.checked({**trainer_state.DEFAULTS, **empty, **own})


def measure(browser, address, method, place, picture, seconds):
    """Return what one trainer does on a page of its own."""
    viewport, slower = PLACES[place]
    phone = {"device_scale_factor": 2, "is_mobile": True, "has_touch": True}
    context = browser.new_context(viewport=viewport, **(phone if viewport == PHONE else {}))
    page = context.new_page()
    page.add_init_script(f"({WATCH})()")
    page.goto(address)
    page.wait_for_function("globalThis.ensedu?.mount && document.readyState === 'complete'")
    session = context.new_cdp_session(page)
    session.send("Emulation.setCPUThrottlingRate", {"rate": slower})
    page.evaluate(MOUNT, state(method, picture))
    page.wait_for_timeout(1000 * WARM)
    begin = page.evaluate(NOW)
    page.wait_for_timeout(1000 * seconds)
    found = page.evaluate(FOUND, [begin, page.evaluate(NOW)])
    context.close()
    return found


def merge(found):
    """Make one row of some rounds: medians of the rates, the longest of the tasks."""
    rates = {name: float(np.median([one[name] for one in found])) for name in RATES}
    return rates | {name: max(one[name] for one in found) for name in ("mount_task", "task")}


def weigh(site):
    """Return the bytes of our own scripts on the page, gzipped, by name."""
    ours = {path.name for path in Path(trainer_state.__file__).parents[1].glob("*.js")} | {
        "live.js"
    }
    return {name: len(packed(site / "_static" / name)) for name in sorted(ours)}


def targets(rows, scripts):
    """Return which targets are met, each with the worst that was measured."""
    desk = [row for row in rows if row["place"] == "desk"]
    judged = {
        f"{name} a second": (min(row[name] for row in desk), least, 1)
        for name, least in LEAST.items()
    }
    beats = min(row["beats"] for row in rows if row["place"] == SLOWEST)
    judged[f"beats a second, {SLOWEST}"] = beats, LEAST_BEATS, 1
    longest = max(row[name] for row in desk for name in ("task", "mount_task"))
    judged["longest task, ms"] = longest, MOST_TASK, -1
    judged["scripts, bytes gzipped"] = sum(scripts.values()), MOST_BYTES, -1
    return {
        name: {"worst": worst, "target": target, "met": sign * worst >= sign * target}
        for name, (worst, target, sign) in judged.items()
    }


def table(rows, judged):
    """Return the lines of a table."""
    heads = f"{'steps/s':>9}{'frames/s':>10}{'beats/s':>9}{'late/s':>8}{'longest task, ms':>18}"
    yield f"{'':22}{'method':16}{'':8}{heads}"
    for row in rows:
        task = f"{row['task']:.0f}" if row["task"] else "< 50"
        rates = f"{row['steps']:9.0f}{row['frames']:10.0f}{row['beats']:9.0f}{row['late']:8.1f}"
        yield f"{row['place']:22}{row['method']:16}{row['picture']:8}{rates}{task:>18}"
    for name, one in judged.items():
        verdict = "met" if one["met"] else "MISSED"
        yield f"{name}: {one['worst']:,.0f}, target {one['target']:,}: {verdict}"


def main(arguments=None):
    """Measure, write the file, print the table; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=Path, help="JSON file to write")
    parser.add_argument(
        "--site", type=Path, default=SITE, help="the built book, if not _build/html"
    )
    parser.add_argument("--quick", action="store_true", help="one short round")
    given = parser.parse_args(arguments)
    site = given.site.resolve()
    if not (site / PAGE).exists():
        parser.error(f"{site / PAGE} is not there: run make book")
    if not find_browser():
        parser.error(NO_BROWSER)
    where, scripts = machine(), weigh(site)
    rounds, seconds = (1, SHORT) if given.quick else (ROUNDS, LONG)
    cases = [(place, method, "curves") for place in PLACES for method in METHODS]
    cases += [(SLOWEST, method, "maps") for method in METHODS]
    found = {case: [] for case in cases}
    with serve(site) as home, chromium() as browser:
        where["browser"] = f"Chromium {browser.version}"
        for _ in range(rounds):
            for place, method, picture in cases:
                one = measure(browser, home + PAGE, method, place, picture, seconds)
                found[place, method, picture].append(one)
    rows = [
        dict(zip(("place", "method", "picture"), case, strict=True)) | merge(found[case])
        for case in cases
    ]
    judged = targets(rows, scripts)
    result = {
        "layers": f"1-{WIDTH}-{WIDTH}-1", "ensemble_size": MEMBERS, "points": POINTS, "seed": SEED,
        "rounds": rounds, "seconds": seconds, "machine": where, "scripts": scripts,
        "targets": judged, "rows": rows,
    }  # fmt: skip
    json_files.write_json(given.path, result)
    print(*table(rows, judged), sep="\n")
    if where["load_average"] > 0.5:
        print(f"Others were at work here: a load of {where['load_average']:.1f} before the start.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
