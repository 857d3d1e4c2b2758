// What comes out: each output of all members on a line, their mean and their spread.
import { make } from "../common/controls.js";
import { compute, kindOf, passesOf, sizesOf } from "./layer.js";
import { figure } from "./names.js";

const ENDS = [5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000]; // of the line, so that it seldom changes
const SVG = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT] = [240, 28]; // where no size is known yet
const EDGE = 14; // pixels beside the ends of the line

const shape = (tag, attributes) => {
  const node = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
};

// Where the line ends: as far out for each method, so that equal widths are equal spreads.
export const endOf = (state) => {
  const made = Object.keys(LAYERS.methods).map((method) => Object.entries(compute({ ...state, method })));
  const outputs = made.flat().filter(([key]) => key.startsWith("y:"));
  const furthest = Math.max(...outputs.map(([, y]) => Math.abs(y)));
  return ENDS.find((one) => one >= furthest) ?? furthest;
};

// `strip` has the same in small, where the figure scrolls away.
export const layOutputs = (cells, state, box, strip) => {
  const { n } = sizesOf(state);
  const kind = kindOf(state);
  const several = passesOf(state) > 1;
  const who = kind.members ? "members" : "draws";
  const head = ["", "", "mean", "spread"].map((words) => make("span", { class: "ensedu-p-label" }, words));
  const row = (_, b) => [
    make("span", { class: "ensedu-p-label" }, `output ${b + 1}`),
    shape("svg", { "aria-hidden": "true", class: "ensedu-p-line" }),
  ];
  const columns = ["mean", "spread"].map((array) => cells.group(`${array} of each output`, n, 1, (b) => `${array}:${b}`));
  box.style.setProperty("--rows", n);
  box.replaceChildren(...head, ...Array.from({ length: n }, row).flat(), ...columns);
  strip.replaceChildren(...Array.from({ length: n }, row).flatMap((each) => [...each, make("b"), make("b")]));
  box.setAttribute("aria-label", several ? `Outputs of all ${who}` : "Outputs");
};

export const drawOutputs = (state, made, box, strip, lit, end) => {
  const { n } = sizesOf(state);
  const passes = passesOf(state);
  const values = Array.from({ length: n }, (_, b) => Array.from({ length: passes }, (_, i) => made[`y:${[i, b]}`]));
  const places = [[-end, `${EDGE}px`], [0, "50%"], [end, `calc(100% - ${EDGE}px)`]];
  box.children[1].replaceChildren(
    ...places.map(([value, left]) => {
      const tick = make("span", {}, figure(value));
      tick.style.left = left;
      return tick;
    }),
  );
  const draw = (line, b, low) => {
    const size = line.getBoundingClientRect();
    const [width, height] = [size.width || WIDTH, size.height || HEIGHT];
    const middle = height / 2;
    const [edge, r, deep] = low ? [5, 3.5, 6] : [EDGE, 4.5, 9];
    const x = (value) => width / 2 + (value / end) * (width / 2 - edge);
    line.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const [mean, spread] = [made[`mean:${b}`], made[`spread:${b}`]];
    const dots = values[b].map((y, i) =>
      shape("circle", { cx: x(y), cy: middle, r, class: lit?.key === `y:${[i, b]}` || lit?.into.includes(`y:${[i, b]}`) ? "lit" : "" }),
    );
    line.replaceChildren(
      shape("line", { x1: edge, x2: width - edge, y1: middle, y2: middle, class: "axis" }),
      ...places.map(([value]) => shape("line", { x1: x(value), x2: x(value), y1: 0, y2: height, class: value ? "axis" : "axis zero" })),
      shape("rect", { x: x(Math.max(-end, mean - spread)), width: x(Math.min(end, mean + spread)) - x(Math.max(-end, mean - spread)), y: middle - deep + 2, height: 2 * deep - 4, class: "spread" }),
      shape("line", { x1: x(mean), x2: x(mean), y1: middle - deep, y2: middle + deep, class: "mean" }),
      ...dots.filter((dot) => !dot.matches(".lit")), ...dots.filter((dot) => dot.matches(".lit")),
    );
  };
  for (const part of [box, strip]) part.querySelectorAll(".ensedu-p-line").forEach((line, b) => draw(line, b, part === strip));
  strip.querySelectorAll("b").forEach((one, k) => {
    const key = `${k % 2 ? "spread" : "mean"}:${Math.floor(k / 2)}`;
    one.textContent = `${k % 2 ? "± " : ""}${figure(made[key])}`;
    one.classList.toggle("lit", lit.key === key || lit.into.includes(key));
  });
};
