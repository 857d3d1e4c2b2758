// Where a trainer begins by itself: on a page of the book, and as a widget of Jupyter.
import { onPage, view } from "../common/widget.js";
import { mount } from "./app.js";
import { digits } from "../digit/figure.js";
import { sides, specOf } from "./runner.js";

const EACH = 1000; // milliseconds between two reports of the weights to Python

// Build every trainer of the page, and every drawing of a digit.
export const begin = () => {
  onPage(".ensedu-trainer", (root) => {
    const state = JSON.parse(root.querySelector(":scope > script").textContent);
    const { name, small, distributions, tries, full, behind } = root.dataset;
    mount(root, {
      state, small: small !== undefined, distributions: distributions !== undefined,
      tries: JSON.parse(tries ?? "[]"), name, full, behind: behind && JSON.parse(behind),
    });
  });
  onPage(".ensedu-digit", (root) => digits(root));
};

// The model's `_state` is set here and in Python. Weights go as messages, so that no notebook
// stores them.
export const render = view("ensedu-trainer", (root, model, number) => {
  let told = -1; // the step that Python knows the weights of
  const tell = async () => {
    const { state } = controller;
    const { steps, sides: arrays } = await controller.weights();
    told = steps;
    const about = sides(state).map((side, i) => {
      const { sizes, method, passes } = specOf(state, side);
      return { sizes, method, passes, names: Object.keys(arrays[i]) };
    });
    const buffers = arrays.flatMap((side) => Object.values(side));
    model.send({ kind: "weights", steps, sides: about }, undefined, buffers);
  };
  const controller = mount(root, {
    state: model.get("_state"),
    small: model.get("_small"),
    distributions: model.get("_distributions"),
    tries: model.get("_tries"),
    behind: model.get("_behind"),
    name: `live-${number}`,
    hooks: {
      change(state) {
        model.set("_state", state);
        model.save_changes();
        tell();
      },
      rest: () => tell(),
    },
  });

  const follow = () => {
    const state = model.get("_state");
    if (JSON.stringify(state) === JSON.stringify(controller.state)) return;
    controller.set(state);
    tell();
  };
  const put = ({ kind, sides: names }, buffers) => {
    if (kind !== "weights") return;
    const numbers = buffers.map((view) =>
      // A copy, because a view need not begin at a multiple of eight bytes.
      new Float64Array(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength)),
    );
    controller.put(names.map((side) => Object.fromEntries(side.map((name) => [name, numbers.shift()]))));
  };
  model.on("change:_state", follow);
  model.on("msg:custom", put);
  const timer = setInterval(() => {
    if (controller.steps !== told) tell();
  }, EACH);
  tell();
  model.send({ kind: "shown" });

  return () => {
    clearInterval(timer);
    model.off("change:_state", follow);
    model.off("msg:custom", put);
    controller.destroy();
  };
});
