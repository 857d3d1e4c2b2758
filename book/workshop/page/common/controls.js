// Controls: each is { element, show(value, disabled) } and tells what a reader chose.
import { make } from "./elements.js";

let controlsMade = 0;

export const button = (words, tell, attributes = {}) => {
  const element = make("button", { type: "button", ...attributes }, words);
  element.addEventListener("click", tell);
  return element;
};

// A slider over some values, its first and its last below it; a value between them, as an address may
// name, is shown as it is.
export const slider = (label, values, tell) => {
  const range = make("input", { type: "range", min: 0, max: values.length - 1, step: 1, autocomplete: "off" });
  const output = make("output", { "aria-hidden": "true" });
  const ends = [values[0], values.at(-1)].map((value) => make("span", {}, String(value)));
  const slid = make("span", { class: "ensedu-t-slid" }, range, make("span", { class: "ensedu-t-ends", "aria-hidden": "true" }, ...ends));
  const element = make("label", { class: "ensedu-t-control" }, make("span", {}, label), slid, output);
  range.addEventListener("input", () => tell(values[Number(range.value)]));
  const show = (value, disabled = false) => {
    const away = values.map((each) => Math.abs(each - value));
    range.value = away.indexOf(Math.min(...away));
    output.value = value;
    range.setAttribute("aria-valuetext", value);
    range.disabled = disabled;
  };
  return { element, show };
};

// A choice of one of `options`, [value, words] each.
export const choice = (label, options, tell) => {
  const element = make("select", { autocomplete: "off" });
  const control = make("label", { class: "ensedu-t-control" }, make("span", {}, label), element);
  element.addEventListener("change", () => tell(element.value));
  const fill = (given) => element.replaceChildren(...given.map(([value, words]) => make("option", { value }, words)));
  fill(options);
  return {
    element: control,
    fill,
    show(value) {
      element.value = value;
    },
  };
};

// A few values side by side.
export const toggle = (label, options, tell) => {
  controlsMade += 1;
  const name = `ensedu-t-${controlsMade}`;
  const radios = options.map(([value]) => make("input", { type: "radio", name, value, autocomplete: "off" }));
  const labels = options.map(([, words], i) => make("label", {}, radios[i], make("span", {}, words)));
  const element = make(
    "div", { class: "ensedu-t-control", role: "radiogroup", "aria-label": label },
    make("span", { "aria-hidden": "true" }, label), make("div", { class: "ensedu-t-toggle" }, ...labels),
  );
  radios.forEach((radio, i) => radio.addEventListener("change", () => tell(options[i][0])));
  const show = (value) => radios.forEach((radio, i) => (radio.checked = options[i][0] === value));
  return { element, show };
};

export const group = (title, ...controls) =>
  make("fieldset", { class: `ensedu-t-${title.toLowerCase().replace(" ", "-")}` }, make("legend", {}, title), ...controls.map((one) => one.element ?? one));

export const fold = (title, ...children) => make("details", {}, make("summary", {}, title), ...children);
