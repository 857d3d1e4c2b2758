// Where a trainer begins by itself: on a page of the book, and as a widget of Jupyter.
import { arrive, enroll } from "../common/figures.js";
import { onPage, view } from "../common/widget.js";
import { mount } from "./app.js";
import { digits } from "../digit/figure.js";

// Build every trainer of the page, and every drawing of a digit.
export const begin = () => {
  onPage(".ensedu-trainer", (root) => {
    const state = JSON.parse(root.querySelector(":scope > script").textContent);
    const { name, small, distributions, tries, full, behind } = root.dataset;
    const { link } = mount(root, {
      state, small: small !== undefined, distributions: distributions !== undefined,
      tries: JSON.parse(tries ?? "[]"), name, full, behind: behind && JSON.parse(behind),
    });
    enroll(name, { root, moved() {}, ...link });
    arrive();
  });
  onPage(".ensedu-digit", (root) => digits(root));
};

export const render = view("ensedu-trainer", (root, model, number) => {
  const { destroy } = mount(root, { ...model.get("_options"), name: `live-${number}`, alone: true });
  return destroy;
});
