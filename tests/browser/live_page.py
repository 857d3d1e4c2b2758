"""Small pages with a live trainer, and what tests ask of them: `t` is the trainer."""

import json

from tests.browser import small
from workshop.page import explore
from workshop.page.live import trainer_scripts
from workshop.page.scripts import HERE

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


def write(folder):
    """Write an empty page, and one on which a large and a small trainer begin by themselves."""
    css = (HERE / "live/live.css").read_text(encoding="utf-8")
    state = {**USUAL, "task": "regression", "noise": 0.1, "points": [[-1, 1], [1, -1], [2, 0.5]]}

    def block(name, more=""):
        return (
            f'<div class="ensedu-trainer" id="{name}" data-name="{name}"{more}>'
            f'<script type="application/json">{json.dumps(state)}</script></div>'
        )

    part = block("fig-small", ' data-small data-full="begun.html"')
    bodies = {
        "empty.html": small.EMPTY,
        "begun.html": small.TALL + block("live") + small.TALL + part + small.TALL,
    }
    for file, body in bodies.items():
        scripts = (explore.BUNDLE.classic(), trainer_scripts.BUNDLE.classic(), HELP)
        small.write(folder / file, "A trainer", body, css, *scripts)
