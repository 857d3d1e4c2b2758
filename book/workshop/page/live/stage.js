// The pictures of one or two networks, what is folded below them, and the hands that set points on them.
import { fold } from "../common/controls.js";
import { make } from "../common/elements.js";
import { behindOf, besideBand } from "./forecast.js";
import { frameOf, looks, losses, ratioOf, squareOf } from "./paint.js";
import { lossWords, named } from "./story.js";
import { TOYS } from "./toys.js";
import { sides } from "./trainer.js";

const PHONE = 600; // pixels, as in the sheet of styles
const HIGHEST = 460;

const MAPS = {
  mean: "probability of each class",
  information: "members' doubt",
};
// What the lines and colors of the pictures mean; beside a band that they are compared with, by their names.
const keyOf = (state, compared, band) => {
  if (state.task === "classification")
    return ["Red is the members' doubt: their mutual information, from 0 to all that is possible."];
  const methods = [...new Set(sides(state).map(({ method }) => method))];
  const thin = [...new Set(methods.map((method) => (METHODS[method].stochastic ? "draws" : "members")))].join(", ");
  const behind = band && { behind: `${band.label} (± 2 std)` };
  const bands = compared ? { ...behind, differ: methods.map(besideBand).join(", ") } : { differ: "inner band", noise: "outer band" };
  const seen = { mean: "mean", thin, ...bands };
  const swatches = { truth: [null], behind: ["single"] };
  return Object.entries({ ...seen, ...(TOYS[state.data]?.truth ? { truth: "true curve" } : {}) }).flatMap(([kind, words]) => {
    const own = (swatches[kind] ?? methods).map((method) => make("i", method ? { "data-method": method } : {}));
    return [make("span", { "data-kind": kind }, ...own, words), " "];
  });
};

const widthOf = (canvas) => canvas.clientWidth || 320;

// Two pictures stand below each other, and both are in sight.
const heightOf = (width, pictures) => {
  if (pictures > 1 && innerWidth <= PHONE) return 170;
  const [least, most] = pictures > 1 ? [150, 0.25] : [210, 0.45];
  return Math.round(Math.max(least, Math.min(HIGHEST, 0.6 * width, most * innerHeight)));
};

export const stageOf = (root, trainer, hint) => {
  const element = make("div", { class: "ensedu-t-stage" });
  const key = make("p", { class: "ensedu-t-note ensedu-t-key" });
  const lossCanvas = make("canvas", { role: "img", "aria-label": "Losses" });
  let canvases = [];
  let built = "";
  let handed = false; // whether the Worker has the canvases
  let followed = null; // the state whose names are shown
  let look = null;

  const lossNumbers = make("p", { class: "ensedu-t-losses" });
  const lossFold = fold(
    "Losses", lossCanvas, lossNumbers,
    make("p", { class: "ensedu-t-note" }, "Solid: the members' average NLL. Dashed: the NLL of their mixture, by Jensen's inequality never above it. Both axes are bent, so that the first steps and the last are seen."),
  );
  lossFold.addEventListener("toggle", () => trainer.look());

  const canvasOf = (kind) => {
    if (kind !== "curves" && kind !== "mean") return make("canvas", { role: "img", "data-kind": kind });
    const canvas = make("canvas", { tabindex: 0, role: "application", "aria-describedby": `${hint} ${hint}-keys`, "data-kind": kind });
    edit(canvas, trainer);
    return canvas;
  };
  const build = () => {
    const kinds = [...(trainer.plane ? Object.keys(MAPS) : ["curves"]), ...(trainer.distributions ? ["cloud"] : [])];
    canvases = [];
    const sections = sides(trainer.state).map((_, i) => {
      const figures = kinds.map((kind) => {
        const canvas = canvasOf(kind);
        canvases.push({ i, kind, canvas });
        const caption = kind in MAPS ? [make("p", { class: "ensedu-t-note" }, MAPS[kind])] : [];
        return make("div", { class: "ensedu-t-picture", "data-kind": kind }, ...caption, canvas);
      });
      return make("section", {}, make("p", { class: "ensedu-t-title" }), make("div", { class: "ensedu-t-row" }, ...figures));
    });
    const focused = element.contains(document.activeElement);
    element.replaceChildren(...sections);
    handed = false;
    if (focused) canvases.find(({ canvas }) => canvas.tabIndex === 0).canvas.focus({ preventScroll: true });
    const { dataset } = element.closest(".ensedu-t-bench");
    dataset.sides = String(sections.length);
    dataset.task = trainer.state.task;
  };
  // As many pictures as the state has, with its names.
  const follow = () => {
    if (followed === trainer.state) return;
    followed = trainer.state;
    const shape = `${trainer.state.task} ${sides(trainer.state).length}`;
    if (built !== shape) {
      built = shape;
      build();
    }
    [...element.children].forEach((section, i) => {
      const words = named(trainer.state, i);
      section.dataset.method = sides(trainer.state)[i].method;
      section.setAttribute("aria-label", words);
      section.firstChild.textContent = words;
    });
    for (const { i, kind, canvas } of canvases) {
      if (kind === "cloud") {
        canvas.setAttribute("aria-label", "Means and standard deviations of all distributions, around their prior");
        continue;
      }
      const behind = behindOf(trainer.behind, trainer.state, sides(trainer.state)[i]);
      const before = behind ? ` before the band of ${behind.label}` : "";
      const what = kind === "curves" ? `Curves of all members${before}` : `Map, ${MAPS[kind]}`;
      canvas.setAttribute("aria-label", `${what}: ${named(trainer.state, i)}, ${trainer.state.points.length} points`);
    }
    const band = sides(trainer.state).map((side) => behindOf(trainer.behind, trainer.state, side)).find(Boolean);
    key.replaceChildren(...keyOf(trainer.state, trainer.behind, band));
  };

  // What the Worker draws: each picture's size on the page is found here.
  const pictures = (curve) => canvases.map(({ i, kind, canvas }) => {
    const own = sides(trainer.state)[i];
    const { method } = own;
    const width = widthOf(canvas);
    const height = kind in MAPS ? squareOf(width) : curve;
    canvas.style.height = `${height}px`;
    return {
      kind, side: i, method, width, height, behind: behindOf(trainer.behind, trainer.state, own),
      prior: { mean: METHODS[method].prior_loc, std: trainer.state.prior_scale },
    };
  });
  const setScene = () => {
    const { state, playing, chosen, cursor, behind } = trainer;
    look = looks(root);
    // As high as one picture of all their width.
    const beside = trainer.plane ? 1 : getComputedStyle(element).gridTemplateColumns.split(" ").length;
    const seen = pictures(heightOf(beside * widthOf(canvases[0].canvas), canvases.length / beside));
    // Their room is kept at once, but to hand canvases over takes a browser long the first time.
    if (!trainer.seen) return;
    if (!handed) trainer.runner.hang(canvases.map(({ canvas }) => canvas.transferControlToOffscreen()));
    handed = true;
    trainer.runner.scene({ state, look, ratio: ratioOf(playing), chosen, cursor, compared: Boolean(behind), pictures: seen });
  };

  // `anew`: what is seen besides the networks may be another. While it trains nothing is measured, nor is a word
  // written: a slow phone would lay out the page for each picture.
  const draw = (anew) => {
    const { state, frame } = trainer;
    follow();
    if (anew || !look) setScene();
    if (!frame) return;
    key.toggleAttribute("data-one", frame.one);
    if (lossFold.open) {
      losses(lossCanvas, 150, frame.records, sides(state).map(({ method }) => method), look);
      lossCanvas.setAttribute("aria-label", `Losses over ${frame.steps} steps`);
      lossNumbers.textContent = lossWords(frame, state);
    }
  };

  // A small copy of the first picture, drawn with it.
  const copy = make("canvas", { class: "ensedu-frame" });
  const drawCopy = () => {
    const [{ canvas }] = canvases;
    [copy.width, copy.height] = [canvas.width, canvas.height];
    copy.getContext("2d").drawImage(canvas, 0, 0);
  };
  return { element, key, lossFold, draw, refresh: follow, copy, drawCopy };
};

// Points on a picture: by mouse, pen, finger and keyboard.
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
