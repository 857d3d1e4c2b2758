// The square to draw on, and the 8 × 8 numbers that networks see of it.
import { digitSeen } from "./bits.js";

const DIGIT_STEP = 0.006; // of the square, between two points of a stroke

const digitShape = (tag, attributes, ...children) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};

// What a reader draws comes as strokes: `on.begin(stroke)` with its first point, to which more are
// added, `on.move()` after each of these, and `on.end()`. One pointer at a time, which may leave the
// square.
const digitFollow = (square, on) => {
  let pointer = null;
  let stroke = [];
  const add = (event) => {
    const box = square.getBoundingClientRect();
    const inside = (value) => Math.round(1000 * Math.min(1, Math.max(0, value))) / 1000;
    const x = inside((event.clientX - box.left) / box.width);
    const y = inside((event.clientY - box.top) / box.height);
    const last = stroke[stroke.length - 1];
    if (last && Math.hypot(x - last[0], y - last[1]) < DIGIT_STEP) return;
    stroke.push([x, y]);
  };
  square.addEventListener("pointerdown", (event) => {
    if (pointer !== null || event.button !== 0) return;
    event.preventDefault();
    pointer = event.pointerId;
    square.setPointerCapture(pointer);
    stroke = [];
    add(event);
    on.begin(stroke);
  });
  square.addEventListener("pointermove", (event) => {
    if (event.pointerId !== pointer) return;
    const every = event.getCoalescedEvents?.() ?? [];
    for (const one of every.length ? every : [event]) add(one);
    on.move();
  });
  for (const end of ["pointerup", "pointercancel"])
    square.addEventListener(end, (event) => {
      if (event.pointerId !== pointer) return;
      pointer = null;
      on.end();
    });
  return () => pointer !== null;
};

// `square` and `grid`, both elements; `draw(drawing)` shows one, and `held()` says whether a stroke
// is being drawn.
export const digitPad = (pen, on) => {
  const ink = digitShape("path", { class: "ensedu-ink", "stroke-width": 2 * pen });
  const square = digitShape("svg", { class: "ensedu-square", viewBox: "0 0 1 1", role: "img" }, ink);
  square.setAttribute("aria-label", "A square to draw on. Without a pointer, choose a drawing above.");
  const cells = Array.from({ length: 64 }, (_, i) =>
    digitShape("rect", { x: i % 8, y: Math.floor(i / 8), width: 1, height: 1 }),
  );
  const grid = digitShape("svg", { class: "ensedu-seen", viewBox: "0 0 8 8", role: "img" }, ...cells);
  grid.setAttribute("aria-label", "What the networks see of it: 8 × 8 numbers of bits, from 0 to 16.");
  const draw = (drawing) => {
    // A line of no length makes a dot.
    const line = (stroke) => `M${stroke.map((point) => point.join(" ")).join("L")}h0`;
    ink.setAttribute("d", drawing.map(line).join(""));
    digitSeen(drawing, pen).forEach((value, i) => cells[i].setAttribute("fill-opacity", value));
  };
  return { square, grid, draw, held: digitFollow(square, on) };
};
