// Points on a picture: by mouse, pen, finger and keyboard.
import { make } from "../common/controls.js";
import { frameOf } from "./paint.js";

const NEAR = { mouse: 10, pen: 14, touch: 14 }; // pixels within which a point is meant
const STILL = 8; // pixels that a click may move
const PRESSED = 300; // milliseconds after which a finger that lies still means its point
const TWICE = 500; // milliseconds within which two clicks are a double one
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

// In words for the reader's own hand; those for the keyboard fold, but where they are only read aloud.
const KEYS = "The arrow keys move a cross (with Shift by more), Enter adds a point, Delete removes the nearest one; N and P choose a point, which the arrow keys then move, and Escape lets it go.";
export const hintOf = (id, small) => {
  const hands = make(
    "p", { class: "ensedu-t-note" },
    make("span", { class: "ensedu-t-finger" }, "Tap to add a point. Tap and drag to move one."),
    make("span", { class: "ensedu-t-mouse" }, "Click to add a point. Drag a point to move it. Click it twice to remove it."),
  );
  const words = make("p", { class: "ensedu-t-note", id: `${id}-keys` }, KEYS);
  const keys = make(small ? "div" : "details", { class: "ensedu-t-keys" }, ...(small ? [] : [make("summary", {}, "By keyboard")]), words);
  return make("div", { id, class: "ensedu-t-hint" }, hands, keys);
};

export const edit = (canvas, trainer) => {
  let held = -1;
  let from = null;
  let clicked = { point: -1, time: 0 };
  let pressed = true; // whether what is held may be dragged

  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    const view = frameOf(trainer.state.task, box.width, box.height);
    return { x: event.clientX - box.left, y: event.clientY - box.top, view };
  };
  const nearest = ({ x, y, view }, reach) => {
    let best = -1;
    let least = reach ** 2;
    trainer.state.points.forEach(([px, py], i) => {
      const away = (view.x(px) - x) ** 2 + (view.y(py) - y) ** 2;
      if (away <= least) [best, least] = [i, away];
    });
    return best;
  };
  const far = ({ x, y }) => Math.hypot(x - from.x, y - from.y);
  const letGo = () => {
    held = -1;
    from = null;
  };

  // A finger scrolls the page, unless its point was pressed before, or it has rested on it. A page
  // that still scrolls goes on.
  const hold = (event) => {
    const meant = held >= 0 && (pressed || event.timeStamp - from.time > PRESSED);
    if (!meant || !event.cancelable || event.touches.length > 1) return;
    pressed = true;
    event.preventDefault();
  };
  const down = (event) => {
    if (event.button) return;
    from = at(event);
    from.time = event.timeStamp;
    from.chosen = trainer.chosen;
    held = nearest(from, NEAR[event.pointerType] ?? NEAR.mouse);
    pressed = event.pointerType !== "touch" || held === trainer.chosen;
    trainer.cursor = null;
    trainer.chosen = held;
    if (held >= 0) canvas.setPointerCapture(event.pointerId);
    trainer.look();
  };
  const drag = (event) => {
    if (held < 0 || !pressed) return;
    const place = at(event);
    if (!from.moved && far(place) < STILL / 2) return;
    if (!from.moved) trainer.remember();
    from.moved = true;
    trainer.move(held, place.view.valueX(place.x), place.view.valueY(place.y), false);
  };
  const up = (event) => {
    if (!from) return;
    const place = at(event);
    const still = held >= 0 && !from.moved && far(place) < STILL;
    // A finger on a point makes no "dblclick", as it does not scroll.
    const twice = still && held === clicked.point && event.timeStamp - clicked.time < TWICE;
    clicked = { point: still && !twice ? held : -1, time: event.timeStamp };
    if (twice) trainer.remove(held);
    else if (still) {
      const way = event.pointerType === "touch" ? "tap it twice" : "press Delete";
      trainer.on.tell(`Point ${held + 1} of ${trainer.state.points.length}: drag it, or ${way} to remove it.`);
    }
    else if (held < 0 && far(place) < STILL)
      trainer.add(place.view.valueX(place.x), place.view.valueY(place.y));
    letGo();
  };

  const cancel = () => {
    if (from) trainer.chosen = from.chosen;
    letGo();
    trainer.look();
  };

  const walk = ([dx, dy], stride) => {
    if (trainer.chosen >= 0) {
      const [x, y] = trainer.state.points[trainer.chosen];
      trainer.move(trainer.chosen, x + stride * dx, y + stride * dy);
      const [nx, ny] = trainer.state.points[trainer.chosen];
      trainer.cursor = { x: nx, y: ny };
      return `Point ${trainer.chosen + 1} at ${nx}, ${ny}.`;
    }
    const { x, y } = trainer.cursor ?? { x: 0, y: 0 };
    const [nx, ny] = trainer.placed(x + stride * dx, y + stride * dy);
    trainer.cursor = { x: nx, y: ny };
    return `Cross at ${nx}, ${ny}.`;
  };
  const add = () => {
    trainer.cursor ??= { x: 0, y: 0 };
    if (!trainer.add(trainer.cursor.x, trainer.cursor.y)) return "";
    return `${trainer.state.points.length} points; the last at ${trainer.cursor.x}, ${trainer.cursor.y}.`;
  };
  const remove = () => {
    const { points } = trainer.state;
    if (!points.length) return "There is no point to remove.";
    const here = trainer.cursor ?? { x: 0, y: 0 };
    const away = points.map(([x, y]) => Math.hypot(x - here.x, y - here.y));
    trainer.remove(trainer.chosen >= 0 ? trainer.chosen : away.indexOf(Math.min(...away)));
    return `Removed: ${trainer.state.points.length} points are left.`;
  };
  const choose = (turn) => {
    const { points } = trainer.state;
    if (!points.length) return "There is no point to choose.";
    const now = trainer.chosen < 0 && turn < 0 ? 0 : trainer.chosen;
    trainer.chosen = (now + turn + points.length) % points.length;
    const [x, y] = points[trainer.chosen];
    trainer.cursor = { x, y };
    return `Point ${trainer.chosen + 1} of ${points.length}, at ${x}, ${y}.`;
  };
  const escape = () => {
    trainer.chosen = -1;
    trainer.cursor = null;
    return "No point is chosen.";
  };
  const KEYS = {
    Enter: add, " ": add, Delete: remove, Backspace: remove, Escape: escape,
    n: () => choose(1), p: () => choose(-1),
  };
  const say = (words) => words && trainer.on.tell(words);
  const press = (event) => {
    const arrow = ARROWS[event.key];
    const key = event.key.length > 1 ? event.key : event.key.toLowerCase();
    if (event.altKey) return;
    if (event.ctrlKey || event.metaKey) {
      if (key !== "z") return;
      trainer.undo();
    } else if (arrow) say(walk(arrow, event.shiftKey ? 1 : 0.1));
    else if (KEYS[key]) say(KEYS[key]());
    else return;
    event.preventDefault();
    trainer.look();
  };

  for (const kind of ["touchstart", "touchmove"]) canvas.addEventListener(kind, hold, { passive: false });
  canvas.addEventListener("pointerdown", down);
  canvas.addEventListener("pointermove", drag);
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", cancel);
  canvas.addEventListener("keydown", press);
  canvas.addEventListener("blur", () => {
    trainer.cursor = null;
    trainer.look();
  });
};
