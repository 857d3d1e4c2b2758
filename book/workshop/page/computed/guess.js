// A curve that a reader draws before the page shows it: in the place of a question of a chapter's first
// box. What was drawn stays in this browser; where nothing may be stored, on this page.
import { shape } from "../common/elements.js";
import { onPage } from "../common/figures.js";
import { beginFigures, fill, unpack } from "./figure.js";
import { grip, plot } from "./plot.js";

// What `act` returns, unless this browser stores nothing.
const storing = (act) => {
  try {
    return act();
  } catch {
    return null;
  }
};

// Where a line is furthest from the truth, in words.
export const compared = (drawn, truth, { names, words, near, digits, unit }) => {
  const away = drawn.map((value, i) => Math.abs(value - truth[i]));
  const i = away.indexOf(Math.max(...away));
  const [here, right, off] = [drawn[i], truth[i], away[i]].map((value) => value.toFixed(digits) + unit);
  return fill(away[i] > near ? words.far : words.near, { x: names[i], drawn: here, truth: right, off });
};

const setUpGuess = (root) => {
  const asked = JSON.parse(root.querySelector("script").textContent);
  const { page, names, x, truth, beside, parts, top, digits, unit } = asked;
  unpack(root);
  const [live, show, again] = ["live", "show", "again"].map((name) => root.querySelector(`.ensedu-${name}`));
  const key = `ensedu-guess:${page}`;
  const empty = () => ({ drawn: x.map((_, i) => (i ? null : truth[0])), shown: false });
  const stored = storing(() => JSON.parse(localStorage.getItem(key)));
  let { drawn, shown } = stored?.drawn?.length === x.length ? stored : empty();
  let [column, drawing, handle, ghost, last] = [1, null, null, null, null];

  const update = () => {
    const unseen = x.map(() => NaN);
    const line = drawn.map((value) => value ?? NaN);
    drawing.draw({ x, drawn: line, truth: shown ? truth : unseen, beside: shown ? beside : unseen }, "What you drew");
    root.classList.toggle("ensedu-shown", shown);
    show.disabled = drawn.includes(null);
    ghost.classList.toggle("ensedu-gone", drawn[1] !== null);
    again.hidden = drawn.every((value, i) => !i || value === null);
    const sentence = shown ? compared(drawn, truth, asked) : "";
    if (live.textContent !== sentence) live.textContent = sentence;
    const here = drawn[column] === null ? "nothing drawn" : drawn[column].toFixed(digits) + unit;
    handle.setAttribute("x", drawing.panel("x", "drawn").x.to(x[column]) - 13);
    handle.setAttribute("aria-valuenow", drawn[column] ?? 0);
    handle.setAttribute("aria-valuetext", `${names[column]}: ${here}`);
  };
  const end = () => {
    last = null;
    storing(() => localStorage.setItem(key, JSON.stringify({ drawn, shown })));
  };
  const restart = (state) => {
    ({ drawn, shown } = state);
    update();
    end();
  };

  plot(root.querySelector(".ensedu-axes"), parts, (made) => {
    drawing = made;
    const panel = made.panel("x", "drawn");
    // To the column nearest by, and to all that a fast finger passed.
    const move = (at, value) => {
      if (shown) return;
      const away = x.map((one) => Math.abs(panel.x.to(one) - panel.x.to(at)));
      column = Math.max(1, away.indexOf(Math.min(...away)));
      const [from, before] = last ?? [column, value];
      const steps = Math.abs(column - from);
      for (let k = 0; k <= steps; k += 1)
        drawn[from + Math.sign(column - from) * k] = steps ? before + ((value - before) * k) / steps : value;
      last = [column, value];
      update();
    };
    const press = (_, dx, dy) => {
      if (shown || !(dx || dy)) return false;
      // What is passed without a height has that of the point before it.
      const known = (i) => drawn[i] ?? drawn.slice(0, i).findLast((one) => one !== null);
      drawn[column] = known(column);
      if (dx) column = Math.min(x.length - 1, Math.max(1, column + Math.sign(dx)));
      drawn[column] = panel.y.within(known(column) + (dx ? 0 : dy));
      update();
      return true;
    };
    const { viewBox, ...place } = panel.view;
    // A stroke may begin and end outside the axes.
    const whole = shape("rect", { width: "100%", height: "100%" });
    const muted = "--light: var(--pst-color-text-muted); --dark: var(--light)";
    const begin = `M${panel.x.to(x[0])} ${panel.y.to(truth[0])}h30`;
    ghost = shape("path", { d: begin, class: "ensedu-ghost", style: muted, "stroke-dasharray": "4 4" });
    handle = shape("rect", {
      ...place, width: 26, rx: 5, tabindex: 0, role: "slider", "aria-valuemin": 0, "aria-valuemax": top,
      "aria-orientation": "vertical", "aria-label": "Your line. Left and right choose a point, up and down move it",
    });
    made.svg.append(ghost, handle, whole);
    grip(made.svg, panel, whole, { move, press: () => false, end });
    grip(made.svg, panel, handle, { move, press, end });
    update();
  });
  show.addEventListener("click", () => restart({ drawn, shown: true }));
  again.addEventListener("click", () => restart(empty()));
  root.classList.add("ensedu-on");
};

export const begin = () => onPage("body", () => {
  beginFigures();
  document.querySelectorAll(".ensedu-guess").forEach(setUpGuess);
});
