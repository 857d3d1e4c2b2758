// What comes out: each output of all members on a line, their mean and their spread.
import { make, reword } from "../common/controls.js";
import { kindOf, passesOf, range, sizesOf } from "./layer.js";
import { figure } from "./names.js";

const ROUND = [1, 1.5, 2, 3, 4, 6, 8, 10]; // where a line may end, and these times powers of 10
const MARGIN = 1.05; // of a line, beyond the furthest output
const LEAST = 0.25; // of a line's longer part, the shorter one: 0 and both ends can be told apart
const SVG = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT] = [240, 28]; // where no size is known yet
const EDGE = 14; // pixels beside the ends of the line

const shape = (tag, attributes) => {
  const node = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
};

const roundUp = (length) => {
  const unit = 10 ** Math.floor(Math.log10(Math.max(1, length)));
  return unit * ROUND.find((one) => one * unit >= length);
};

// Where the lines end, left and right, so that all outputs have room; no nearer than before.
export const endsOf = (made, [left, right] = [0, 0]) => {
  const outputs = Object.keys(made).filter((key) => key.startsWith("y:")).map((key) => made[key]);
  const parts = [-Math.min(...outputs), Math.max(...outputs)].map((part) => MARGIN * part);
  const [low, high] = parts.map((part) => roundUp(Math.max(part, LEAST * Math.max(...parts))));
  return [Math.min(left, -low), Math.max(right, high)];
};

// In small where there is little room: their mean and spread are told, and not touched.
export const layOutputs = (cells, state, box, low) => {
  const { n } = sizesOf(state);
  const label = (...words) => make("span", { class: "ensedu-p-label" }, ...words);
  const row = (b) => [
    label(`output ${b + 1}`), shape("svg", { "aria-hidden": "true", class: "ensedu-p-line" }),
    ...(low ? [make("b"), make("b")] : []),
  ];
  const columns = (low ? [] : ["mean", "spread"]).map((array) => cells.group(`${array} of each output`, n, 1, (b) => `${array}:${b}`));
  box.style.setProperty("--rows", n);
  const ticks = range(3).map(() => make("span"));
  box.replaceChildren(label(), label(...ticks), label("mean"), label("spread"), ...range(n).flatMap(row), ...columns);
  box.setAttribute("aria-label", passesOf(state) > 1 ? `Outputs of all ${kindOf(state).members ? "members" : "draws"}` : "Outputs");
};

export const drawOutputs = (state, made, box, lit, [left, right], low) => {
  const isLit = (key) => lit.key === key || lit.into.includes(key);
  const [edge, r, deep] = low ? [5, 3.5, 6] : [EDGE, 4.5, 9];
  const along = (value) => (value - left) / (right - left);
  const lines = [...box.querySelectorAll(".ensedu-p-line")];
  const sizes = lines.map((line) => line.getBoundingClientRect()); // before anything changes
  [left, 0, right].forEach((value, i) => {
    const tick = box.children[1].children[i];
    reword(tick, figure(value));
    tick.style.left = `calc(${edge}px + ${along(value)} * (100% - ${2 * edge}px))`;
  });
  lines.forEach((line, b) => {
    const [width, height] = [sizes[b].width || WIDTH, sizes[b].height || HEIGHT];
    const middle = height / 2;
    const x = (value) => edge + along(Math.min(right, Math.max(left, value))) * (width - 2 * edge);
    line.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const [mean, spread] = [made[`mean:${b}`], made[`spread:${b}`]];
    const dots = range(passesOf(state)).map((i) => shape("circle", { cx: x(made[`y:${[i, b]}`]), cy: middle, r, class: isLit(`y:${[i, b]}`) ? "lit" : "" }));
    line.replaceChildren(
      shape("line", { x1: edge, x2: width - edge, y1: middle, y2: middle, class: "axis" }),
      ...[left, 0, right].map((value) => shape("line", { x1: x(value), x2: x(value), y1: 0, y2: height, class: value ? "axis" : "axis zero" })),
      shape("rect", { x: x(mean - spread), width: x(mean + spread) - x(mean - spread), y: middle - deep + 2, height: 2 * deep - 4, class: "spread" }),
      shape("line", { x1: x(mean), x2: x(mean), y1: middle - deep, y2: middle + deep, class: "mean" }),
      ...dots.filter((dot) => !dot.matches(".lit")), ...dots.filter((dot) => dot.matches(".lit")),
    );
  });
  box.querySelectorAll("b").forEach((one, k) => {
    const key = `${k % 2 ? "spread" : "mean"}:${Math.floor(k / 2)}`;
    reword(one, `${k % 2 ? "± " : ""}${figure(made[key])}`);
    one.classList.toggle("lit", isLit(key));
  });
};
