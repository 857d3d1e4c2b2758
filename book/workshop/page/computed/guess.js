// A curve that a reader draws before the page shows it: in the place of a question of a chapter's first
// box. What was drawn stays in this browser; where nothing may be stored, on this page.
import { onPage } from "../common/widget.js";
import { beginFigures, fill, unpack } from "./figure.js";
import { grip, plot, shape } from "./plot.js";

const stored = (key) => {
  try {
    return JSON.parse(localStorage.getItem(key));
  } catch {
    return null;
  }
};
const store = (key, value) => {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // Nothing is kept.
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
  unpack(root);
  const { page, names, x, truth, beside, parts, top, digits, unit } = asked;
  const [live, show, again] = [".ensedu-live", ".ensedu-show", ".ensedu-again"].map((one) => root.querySelector(one));
  const key = `ensedu-guess:${page}`;
  const empty = () => x.map((_, i) => (i ? null : truth[0]));
  const before = stored(key);
  const fits = before?.drawn?.length === x.length && before.drawn.every((value) => value === null || Number.isFinite(value));
  let { drawn, shown } = fits ? before : { drawn: empty(), shown: false };
  let [column, drawing, handle, last] = [1, null, null, null];

  const say = (value) => (value === null ? "nothing drawn" : value.toFixed(digits) + unit);
  const update = () => {
    const full = !drawn.includes(null);
    const line = drawn.map((value) => value ?? NaN);
    const hidden = x.map(() => NaN);
    drawing.draw({ x, drawn: line, truth: shown ? truth : hidden, beside: shown ? beside : hidden }, "What you drew");
    root.classList.toggle("ensedu-shown", shown);
    show.disabled = !full;
    show.hidden = shown;
    again.hidden = drawn.every((value, i) => !i || value === null);
    const sentence = shown ? compared(drawn, truth, asked) : "";
    if (live.textContent !== sentence) live.textContent = sentence;
    const { panel } = drawing;
    const place = panel("x", "drawn");
    handle.setAttribute("x", place.x.to(x[column]) - 13);
    handle.setAttribute("y", place.view.y);
    handle.setAttribute("height", place.view.height);
    handle.setAttribute("aria-valuenow", drawn[column] ?? 0);
    handle.setAttribute("aria-valuetext", `${names[column]}: ${say(drawn[column])}`);
  };
  const end = () => {
    last = null;
    store(key, { drawn, shown });
  };
  // To the column nearest by, and to all that a fast finger passed.
  const move = (at, value, place) => {
    const away = x.map((one) => Math.abs(place.x.to(one) - place.x.to(at)));
    column = Math.max(1, away.indexOf(Math.min(...away)));
    const [from, begin] = last ?? [column, value];
    const [way, steps] = [Math.sign(column - from), Math.abs(column - from)];
    for (let k = 0; k <= steps; k += 1) drawn[from + way * k] = steps ? begin + ((value - begin) * k) / steps : value;
    last = [column, value];
    update();
  };
  const build = (made) => {
    drawing = made;
    const place = made.panel("x", "drawn");
    const { view } = place;
    const whole = shape("rect", { x: view.x, y: view.y, width: view.width, height: view.height });
    handle = shape("rect", {
      width: 26, rx: 5, tabindex: 0, role: "slider", "aria-valuemin": 0, "aria-valuemax": top,
      "aria-orientation": "vertical", "aria-label": "Your line. Left and right choose a point, up and down move it",
    });
    const told = (at, value) => shown || move(at, value, place);
    const press = (name, dx, dy) => {
      if (shown || !(dx || dy)) return false;
      // What is passed without a height has that of the point before it.
      const known = (i) => drawn[i] ?? drawn.slice(0, i).findLast((one) => one !== null);
      drawn[column] = known(column);
      if (dx) column = Math.min(x.length - 1, Math.max(1, column + Math.sign(dx)));
      drawn[column] = Math.min(top, Math.max(0, known(column) + (dx ? 0 : dy)));
      update();
      return true;
    };
    made.svg.append(handle, whole);
    grip(made.svg, place, whole, { move: told, press: () => false, end });
    grip(made.svg, place, handle, { move: told, press, end });
    update();
  };
  show.addEventListener("click", () => {
    shown = true;
    update();
    end();
  });
  again.addEventListener("click", () => {
    [drawn, shown, column] = [empty(), false, 1];
    update();
    end();
  });
  root.classList.add("ensedu-on");
  plot(root.querySelector(".ensedu-axes"), parts, build);
};

export const begin = () => onPage("body", () => {
  beginFigures();
  document.querySelectorAll(".ensedu-guess").forEach(setUpGuess);
});
export const render = null;
