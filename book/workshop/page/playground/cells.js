// One number each: what is stored can be dragged, typed and stepped through; what is made, asked.
import { make, reword } from "../common/controls.js";
import { isScale, limitsOf, valueOf } from "./layer.js";
import { capital, figure, nameOf } from "./names.js";

const STEP = { value: 0.5, scale: 0.1 };
const FINE = 0.2; // of a step, with the shift key
const DRAG = 8; // pixels of a drag a step
const LONGEST = 6; // signs of a typed number
const STRONGEST = 6; // the size of a number whose cell is fully tinted
const [SIGN, BESIDE] = [6.3, 2]; // pixels of a sign of the smallest letters, and of room on each side of a number
const ROOM = 5; // signs of a number, where no width is known yet

// With three digits, or as many as a cell has room for: all are of one size.
const short = (value, room) => {
  const whole = [10, 100].filter((least) => Math.abs(value) >= least).length;
  const texts = [2, 1, 0].slice(whole).map((digits) => figure(value, digits));
  return texts.find((text) => text.length <= room) ?? texts.at(-1);
};
// Everything that a reader stores has two digits.
export const hundredths = (value) => Math.round(value * 100) / 100 + 0;
const unitOf = (key) => (isScale(key) ? STEP.scale : STEP.value);
const within = (key, value) => {
  const { low, high } = limitsOf(key);
  return Math.min(high, Math.max(low, hundredths(value)));
};
// The next multiple of a step, up or down.
export const stepped = (state, key, steps) => {
  const unit = unitOf(key) * Math.abs(steps);
  const at = valueOf(state, key) / unit;
  return within(key, unit * (steps > 0 ? Math.floor(at + 1e-6) + 1 : Math.ceil(at - 1e-6) - 1));
};

// `on`: `state()`, `choose(key)`, `edit(key, value, gesture)`, `type(key, text)`.
export const cellsOf = (root, on) => {
  const cells = new Map();
  const keyAt = (event) => event.target.closest?.(".ensedu-p-cell")?.dataset.key ?? null;
  const isStored = (key) => cells.get(key)?.classList.contains("stored");
  let gestures = 0;
  let drag = null; // from where a finger or a mouse came down
  let typed = null; // { key, text } of a number that is not yet whole

  const commit = () => {
    if (!typed) return;
    const { key, text } = typed;
    typed = null;
    on.type(key, text);
  };
  const show = (key, value) => {
    const cell = cells.get(key);
    const typing = typed?.key === key;
    const words = typing ? typed.text : short(value, Number(cell.parentNode.dataset.room));
    reword(cell, words);
    cell.style.setProperty("--signs", words.length);
    cell.classList.toggle("typing", typing);
    cell.classList.toggle("negative", value < 0);
    cell.style.setProperty("--strength", `${Math.round(100 * Math.sqrt(Math.min(1, Math.abs(value) / STRONGEST)))}%`);
    const name = capital(nameOf(on.state(), key));
    if (!isStored(key)) return cell.setAttribute("aria-label", `${name}: ${figure(value)}`);
    const { low, high } = limitsOf(key);
    const said = { label: name, valuenow: value, valuemin: low, valuemax: high, valuetext: figure(value) };
    for (const [word, given] of Object.entries(said)) cell.setAttribute(`aria-${word}`, given);
  };
  const nudge = (key, steps, gesture) => on.edit(key, stepped(on.state(), key, steps), gesture);
  const again = (key) => show(key, valueOf(on.state(), key));

  root.addEventListener("focusin", (event) => {
    const key = keyAt(event);
    if (key === null) return;
    for (const other of event.target.parentNode.children) other.tabIndex = other === event.target ? 0 : -1;
    on.choose(key);
  });
  root.addEventListener("focusout", commit);
  // Some browsers give a button no focus when it is pressed.
  root.addEventListener("click", (event) => keyAt(event) !== null && on.choose(keyAt(event)));
  root.addEventListener("pointerdown", (event) => {
    const key = keyAt(event);
    const swipes = event.pointerType === "touch" && getComputedStyle(event.target).touchAction === "auto"; // all members
    if (drag) drag = null; // two fingers zoom
    else if (!event.button && isStored(key) && !swipes) {
      gestures += 1;
      cells.get(key).setPointerCapture(event.pointerId); // also of a mouse that soon is somewhere else
      const { pointerId, clientX, clientY, pointerType } = event;
      drag = { key, pointerId, x: clientX, y: clientY, from: valueOf(on.state(), key), mouse: pointerType === "mouse", steps: 0 };
    }
  });
  root.addEventListener("pointermove", (event) => {
    if (event.pointerId !== drag?.pointerId) return;
    // A finger that moves up or down scrolls.
    const way = event.clientX - drag.x - (drag.mouse ? event.clientY - drag.y : 0);
    const steps = Math.trunc(way / DRAG);
    if (steps === drag.steps) return;
    drag.steps = steps;
    on.edit(drag.key, within(drag.key, drag.from + steps * unitOf(drag.key)), `drag ${gestures}`);
  });
  for (const end of ["pointerup", "pointercancel"]) root.addEventListener(end, () => (drag = null));

  root.addEventListener("keydown", (event) => {
    const key = keyAt(event);
    if (key === null || event.ctrlKey || event.metaKey || event.altKey) return;
    const cell = cells.get(key);
    const group = [...cell.parentNode.children];
    const columns = Number(cell.parentNode.style.getPropertyValue("--columns"));
    const stored = isStored(key);
    const steps = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    const away = { ArrowLeft: -1, ArrowRight: 1, ...(stored ? {} : { ArrowUp: -columns, ArrowDown: columns }) }[event.key];
    if (stored && steps) {
      commit();
      nudge(key, event.shiftKey ? steps * FINE : steps, `keys ${key}`);
    } else if (away) {
      const next = group[group.indexOf(cell) + away];
      next?.focus();
    } else if (stored && /^[\d.,-]$/.test(event.key)) {
      typed = { key, text: ((typed?.text ?? "") + event.key.replace(",", ".")).slice(0, LONGEST) };
      again(key);
    } else if (typed && event.key === "Backspace") {
      typed.text = typed.text.slice(0, -1);
      again(key);
    } else if (typed && event.key === "Escape") {
      typed = null;
      again(key);
    } else if (typed && event.key === "Enter") commit();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  return {
    focus: (key) => cells.get(key).focus(),
    has: (key) => cells.has(key),
    isStored,
    clear: () => cells.clear(),
    // What is typed and not yet whole is given up.
    forget: () => (typed = null),
    // A group of cells in rows and columns; `keyOf` gives the key at each place.
    group(words, rows, columns, keyOf, { stored = false, look = "made" } = {}) {
      const node = make("div", { class: `ensedu-p-box ${look}`, role: "group", "aria-label": words });
      node.style.setProperty("--columns", columns);
      for (let k = 0; k < rows * columns; k += 1) {
        const key = keyOf(Math.floor(k / columns), k % columns);
        const cell = make(stored ? "span" : "button", {
          class: stored ? "ensedu-p-cell stored" : "ensedu-p-cell", tabindex: k ? -1 : 0, "data-key": key,
          ...(stored ? { role: "spinbutton" } : { type: "button" }),
        });
        cells.set(key, cell);
        node.append(cell);
      }
      return node;
    },
    // How many signs have room, wherever cells have a width.
    measure() {
      const groups = [...new Set([...cells.values()].map((cell) => cell.parentNode))];
      const rooms = groups.map(({ firstChild }) => Math.floor((firstChild.getBoundingClientRect().width - 1 - 2 * BESIDE) / SIGN));
      groups.forEach((group, i) => (group.dataset.room = rooms[i] > 0 ? rooms[i] : ROOM));
    },
    show(valueAt) {
      for (const key of cells.keys()) show(key, valueAt(key));
    },
    // `lit` has the key that is touched, those it is made from, and those it goes into.
    light(lit) {
      const marks = { touched: new Set([lit?.key]), from: new Set(lit?.from), into: new Set(lit?.into) };
      for (const [key, cell] of cells)
        for (const [mark, keys] of Object.entries(marks)) cell.classList.toggle(mark, keys.has(key));
    },
  };
};
