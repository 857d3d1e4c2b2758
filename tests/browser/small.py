"""Small pages with one app and nothing else, and fingers on them; `t` is a page's trainer."""

import contextlib
import json

from scripts.browsing import Watch, open_context
from workshop.page import explore
from workshop.page.live import trainer_scripts

STYLE = """
  body { font-family: sans-serif; margin: 1rem auto; max-width: 47rem; padding: 0 1rem }
  body { color: #222; background: #fff }
  [data-theme=dark] { --pst-color-background: #121212; --pst-color-text-base: #ddd }
  [data-theme=dark] { --pst-color-border: #444; --pst-color-text-muted: #aaa }
  [data-theme=dark] { --pst-color-primary: #79b3f2 }
  [data-theme=dark] body { color: #ddd; background: #121212 }
"""
TALL = '<div style="height: 3000px"></div>'
EMPTY = '<div class="space"></div><div id="root"></div><div class="space"></div>'
# A page that scrolls keeps the next touch for itself, too.
AT_REST = """new Promise((rest) => {
  let [last, still] = [scrollY, 0];
  const look = () => {
    still = scrollY === last ? still + 1 : 0;
    last = scrollY;
    if (still === 30) rest();
    else requestAnimationFrame(look);
  };
  look();
})"""


def write(path, title, body, css, *scripts):
    """Write a page whose article has a title and this body."""
    texts = "".join(f"<script>{script}</script>" for script in scripts)
    path.write_text(
        '<!DOCTYPE html><html lang="en" data-theme="light"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{STYLE}{css}</style></head><body><main><article>"
        f"<h1>{title}</h1>{body}</article></main>{texts}</body></html>",
        encoding="utf-8",
    )


@contextlib.contextmanager
def watched(browser, *homes):
    """Yield what opens pages that may ask these; at the end, nothing has gone wrong on them."""
    contexts, watches = [], []

    def open_page(mode="light", **options):
        contexts.append(open_context(browser, mode, **options))
        page = contexts[-1].new_page()
        watches.append(Watch(page, *homes))
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not [url for watch in watches for url in watch.foreign], "asked of another host"
    assert not [error for watch in watches for error in watch.errors]


@contextlib.contextmanager
def opening(browser, home):
    """Yield what opens the pages below `home`."""
    with watched(browser, home) as open_page:

        def open_one(file="empty.html", mode="light", motion="reduce", **options):
            page = open_page(mode, **options)
            page.emulate_media(reduced_motion=motion)
            page.goto(home + file)
            page.evaluate("mode => { document.documentElement.dataset.theme = mode }", mode)
            return page

        yield open_one


def swipe(page, start, end):
    """Put a finger down at one place, and lift it at another."""
    session = page.context.new_cdp_session(page)

    def touch(kind, *places):
        points = [{"x": x, "y": y} for x, y in places]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", start)
    for share in (0.1, 0.25, 0.5, 0.75, 1):
        touch("touchMove", [a + share * (b - a) for a, b in zip(start, end, strict=True)])
    touch("touchEnd")


# A trainer that learns fast: what is not said otherwise.
USUAL = {
    "data": "gap", "seed": 3, "method": "deep_ensemble", "ensemble_size": 2, "start": "different",
    "width": 5, "hidden_layers": 1, "activation": "relu", "parametrization": "standard",
    "head": "mean", "loss": "mean", "lr": 0.01, "weight_decay": 0, "kl_weight": 1, "prior_scale": 1,
    "initial_std": 0.01, "p": 0.05, "other": None, "axes": None,
}  # fmt: skip
OTHER = {
    "method": "mean_field", "ensemble_size": 3, "start": "different", "loss": "mixture",
    "kl_weight": 10,
}  # fmt: skip
HELP = """
  const usual = USUAL;
  const stateOf = (part) => {
    const state = { ...usual, ...part };
    if (state.data !== "own") {
      const { task, noise } = ensedu.TOYS[state.data];
      state.task ??= task;
      state.noise ??= noise;
      state.points ??= ensedu.points(state.data, state.noise, state.seed);
    }
    return { task: "regression", noise: 0.1, points: [], ...state };
  };
  const root = () => document.getElementById("root");
  const begin = (part = {}, rest = {}) => {
    window.t = ensedu.mount(root(), { state: stateOf(part), ...rest });
  };
  const until = (ready, of) => new Promise((resolve, reject) => {
    const end = performance.now() + 20000;
    const look = () => {
      const found = ready();
      if (found) resolve(found);
      else if (performance.now() > end) reject(new Error(`waited for ${of ?? ready}`));
      else setTimeout(look, 5);
    };
    look();
  });
  // Until the trainer has so many steps more, and shows it.
  const train = async (steps) => {
    const end = t.steps + steps;
    t.play(steps);
    await until(() => root().dataset.playing === "false" && t.steps >= end, `step ${end}`);
  };
  const wordsOf = (part) => root().querySelector(`.ensedu-t-${part}`).textContent;
  const meter = () => wordsOf("meter").replace(/\\s+/g, " ").trim();
  const story = () => wordsOf("story");
  const aloud = () => wordsOf("aloud");
  // Where a value is on the screen.
  const place = (x, y) => {
    const canvas = root().querySelector("canvas");
    canvas.scrollIntoView({ block: "nearest" });
    const box = canvas.getBoundingClientRect();
    const view = ensedu.frameOf(t.state.task, box.width, box.height);
    return [box.left + view.x(x), box.top + view.y(y)];
  };
  const flat = (sides) => sides.map((side) =>
    Object.entries(side).map(([name, array]) => `${name}: ${array}`).join("; ")).join("; ");
  const arrays = () => t.weights().then(({ sides }) => sides.map((side) => flat([side])));
  // The same networks, trained by hand.
  const trained = (state, steps) => {
    const made = new ensedu.Training(ensedu.sides(state).map((side) => ensedu.specOf(state, side)),
      ensedu.dataOf(state), ensedu.optionsOf(state), state.seed);
    for (let i = 0; i < steps; i += 1) made.step();
    return made;
  };
""".replace("USUAL", json.dumps(USUAL))


def write_trainers(folder):
    """Write an empty page, and one on which a large and a small trainer begin by themselves."""
    css = trainer_scripts.Live._css
    state = {**USUAL, "task": "regression", "noise": 0.1, "points": [[-1, 1], [1, -1], [2, 0.5]]}

    def block(name, more=""):
        return (
            f'<div class="ensedu-trainer" id="{name}" data-name="{name}"{more}>'
            f'<script type="application/json">{json.dumps(state)}</script></div>'
        )

    part = block("fig-small", ' data-small data-full="begun.html"')
    bodies = {
        "empty.html": EMPTY,
        "begun.html": TALL + block("live") + TALL + part + TALL,
    }
    for file, body in bodies.items():
        scripts = (explore.BUNDLE.classic(), trainer_scripts.BUNDLE.classic(), HELP)
        write(folder / file, "A trainer", body, css, *scripts)
