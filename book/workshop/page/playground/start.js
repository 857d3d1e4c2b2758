// Where a playground begins by itself: on a page of the book, and as a widget of Jupyter.
import { onPage, view } from "../common/widget.js";
import { mount } from "./app.js";

export const begin = () =>
  onPage(".ensedu-playground", (root) => {
    const state = JSON.parse(root.querySelector(":scope > script").textContent);
    mount(root, { state, name: root.dataset.name });
  });

// The model's `_state` is set here and in Python.
export const render = view("ensedu-playground", (root, model, number) => {
  const controller = mount(root, {
    state: model.get("_state"),
    name: `playground-${number}`,
    hooks: {
      change(state) {
        model.set("_state", state);
        model.save_changes();
      },
    },
  });
  const follow = () => controller.set(model.get("_state"));
  model.on("change:_state", follow);
  return () => {
    model.off("change:_state", follow);
    controller.destroy();
  };
});
