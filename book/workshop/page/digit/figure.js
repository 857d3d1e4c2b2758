// Draw a digit: a square for the pen, the 8 × 8 numbers of bits that networks see of it, and what they say, member
// by member; see book/workshop/page/digit.
import { button } from "../common/controls.js";
import { make, shape } from "../common/elements.js";
import { Random } from "../live/toys.js";
import { digitAnswers, digitFetch, digitNetwork, digitProbabilities, digitWords } from "./answers.js";

// The 32 × 32 bits of a drawing: its box scaled to 20 × 32, strokes of the right thickness, upright.
// A drawing is a list of strokes, a stroke a list of [x, y] in a square of side 1. The steps are
// those of book/workshop/drawn_digits.py, which gives the numbers in DIGIT and says where they come
// from.
export const digitBits = (drawing, pen) => {
  const { side, wide: width } = DIGIT;
  const left = (side - width) / 2;
  let page = new Uint8Array(side * side);
  const points = drawing.flat();
  if (!points.length) return page;
  const edges = [0, 1].map((axis) => {
    const low = Math.min(...points.map((point) => point[axis])) - pen;
    return [low, Math.max(...points.map((point) => point[axis])) + pen - low];
  });
  const place = ([low, size], i, count) => low + ((i + 0.5) / count) * size;
  for (const stroke of drawing)
    for (let k = 0; k < Math.max(1, stroke.length - 1); k += 1) {
      const [ax, ay] = stroke[k];
      const [bx, by] = stroke[Math.min(k + 1, stroke.length - 1)];
      const dx = bx - ax;
      const dy = by - ay;
      const length = dx * dx + dy * dy;
      for (let row = 0; row < side; row += 1) {
        const y = place(edges[1], row, side);
        for (let column = 0; column < width; column += 1) {
          const x = place(edges[0], column, width);
          const along = (x - ax) * dx + (y - ay) * dy;
          const t = length ? Math.min(1, Math.max(0, along / length)) : 0;
          const ex = x - (ax + t * dx);
          const ey = y - (ay + t * dy);
          if (ex * ex + ey * ey <= pen * pen) page[row * side + left + column] = 1;
        }
      }
    }
  // A bit becomes `value` if one of its four neighbors has it; around the page is no ink.
  const spread = (from, value) => {
    const at = (row, column) =>
      row < 0 || column < 0 || row === side || column === side ? 0 : from[row * side + column];
    return from.map((bit, i) => {
      const row = Math.floor(i / side);
      const column = i % side;
      const near = [at(row - 1, column), at(row + 1, column), at(row, column - 1), at(row, column + 1)];
      return near.includes(value) ? value : bit;
    });
  };
  const ink = page.reduce((sum, bit) => sum + bit, 0);
  for (const most of DIGIT.thick) if (ink > most) page = spread(page, 0);
  for (const least of DIGIT.thin) if (ink < least) page = spread(page, 1);

  const edge = (row) => page.subarray(row * side, (row + 1) * side).indexOf(1);
  const rows = Array.from({ length: side }, (_, row) => row).filter((row) => edge(row) >= 0);
  const [top, bottom] = [rows[0] + 2, rows[rows.length - 1] - 2];
  if (rows.length <= 5 || edge(top) < 0 || edge(bottom) < 0) return page;
  const slope = (edge(top) - edge(bottom)) / (bottom - top);
  const upright = new Uint8Array(side * side);
  for (let row = 0; row < side; row += 1) {
    const by = Math.floor((row - side / 2) * slope + 0.5);
    for (let column = Math.max(0, -by); column < Math.min(side, side - by); column += 1)
      upright[row * side + column + by] = page[row * side + column];
  }
  return upright;
};

// 8 × 8 numbers from 0 to 1: how many of the 16 bits of a block are on.
export const digitSeen = (drawing, pen) => {
  const found = new Float64Array(64);
  digitBits(drawing, pen).forEach((bit, i) => {
    found[8 * (i >> 7) + ((i & 31) >> 2)] += bit / 16;
  });
  return found;
};

const DIGIT_STEP = 0.006; // of the square, between two points of a stroke

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
  const ink = shape("path", { class: "ensedu-ink", "stroke-width": 2 * pen });
  const square = shape("svg", { class: "ensedu-square", viewBox: "0 0 1 1", role: "img" }, ink);
  square.setAttribute("aria-label", "A square to draw on. Without a pointer, choose a drawing above.");
  const cells = Array.from({ length: 64 }, (_, i) =>
    shape("rect", { x: i % 8, y: Math.floor(i / 8), width: 1, height: 1 }),
  );
  const grid = shape("svg", { class: "ensedu-seen", viewBox: "0 0 8 8", role: "img" }, ...cells);
  grid.setAttribute("aria-label", "What the networks see of it: 8 × 8 numbers of bits, from 0 to 16.");
  const draw = (drawing) => {
    // A line of no length makes a dot.
    const line = (stroke) => `M${stroke.map((point) => point.join(" ")).join("L")}h0`;
    ink.setAttribute("d", drawing.map(line).join(""));
    digitSeen(drawing, pen).forEach((value, i) => cells[i].setAttribute("fill-opacity", value));
  };
  return { square, grid, draw, held: digitFollow(square, on) };
};

const DIGIT_UNDO = 200;

export const digits = (root) => {
  const data = JSON.parse(root.querySelector("script").textContent);
  let drawing = data.examples[data.start].strokes;
  let example = data.examples[data.start]; // null for what a reader has drawn
  let { method } = data;
  let nets = null; // by method, each with its noise; until then what is shown is data.first
  let seed = 1;
  const before = []; // what Undo goes back to

  const pad = digitPad(data.pen, {
    begin(stroke) {
      remember();
      [drawing, example] = [[...drawing, stroke], null];
      ready().then((there) => there && (pad.held() ? later() : show(drawing, example)));
    },
    move: () => later(),
    end() {
      if (nets) show(drawing, example);
    },
  });
  const undo = button("Undo", () => before.length && show(...before.pop()));
  const clear = button("Clear", () => change([], { digits: [] }));
  const chips = data.examples.map((given) => button(given.name, () => change(given.strokes, given)));
  const select = make("select", { id: `${root.id || "ensedu-digit"}-method` });
  for (const [key, { label }] of Object.entries(data.methods))
    if (key !== "single") select.append(make("option", { value: key }, label));
  select.value = method;
  const again = button("New draws", () => {
    seed += 1;
    for (const own of Object.values(nets ?? {})) own.noise = own.net.noise(new Random(seed));
    show(drawing, example);
  });
  const answers = digitAnswers();
  const story = make("p", { class: "ensedu-story", role: "status" });

  const arrange = (count) => {
    const { word } = data.methods[method];
    answers.arrange(method, word, count);
    again.hidden = word === "member";
  };
  const asked = () => {
    if (!nets) return data.first;
    const x = digitSeen(drawing, data.pen);
    const of = (key) => digitProbabilities(nets[key].net, x, nets[key].noise);
    return { single: of("single"), members: of(method) };
  };

  // All but the sentence, which waits until the hand rests.
  let waiting = 0;
  const draw = () => {
    waiting = 0;
    pad.draw(drawing);
    chips.forEach((chip, i) => chip.setAttribute("aria-pressed", data.examples[i] === example));
    undo.disabled = !before.length;
    clear.disabled = !drawing.length;
    const said = asked();
    answers.set(data.methods[method].label, said);
    return said;
  };
  const show = (strokes, what) => {
    [drawing, example] = [strokes, what];
    const { single, members } = draw();
    const { label, word } = data.methods[method];
    story.textContent = digitWords(label, word, members, single, example);
  };
  const later = () => {
    if (!waiting) waiting = requestAnimationFrame(draw);
  };

  // Nothing can be answered before the networks are here; what was drawn meanwhile is kept.
  const ready = () => {
    if (nets) return Promise.resolve(true);
    story.textContent = "Fetching the networks …";
    return digitFetch().then(
      (found) => {
        nets ??= Object.fromEntries(
          Object.keys(data.methods).map((key) => {
            const net = digitNetwork(key, found[key]);
            return [key, { net, noise: net.noise(new Random(seed)) }];
          }),
        );
        return true;
      },
      () => {
        story.textContent = "The networks could not be fetched. Touch the square to try again.";
        return false;
      },
    );
  };
  const remember = () => {
    before.push([drawing, example]);
    if (before.length > DIGIT_UNDO) before.shift();
  };
  const change = (strokes, what) => {
    remember();
    [drawing, example] = [strokes, what];
    ready().then((there) => there && show(drawing, example));
  };
  select.addEventListener("change", () => {
    ready().then((there) => {
      if (!there) {
        select.value = method;
        return;
      }
      method = select.value;
      arrange(DIGIT.passes);
      show(drawing, example);
    });
  });

  const choices = make("div", { class: "ensedu-chips", role: "group", "aria-label": "Drawings" }, ...chips);
  const tools = make("div", { class: "ensedu-tools" }, make("p", {}, "seen as"), pad.grid, undo, clear);
  const label = make("label", { for: select.id }, "Method");
  root.querySelector(".ensedu-still").remove();
  root.append(
    choices,
    make(
      "div",
      { class: "ensedu-desk" },
      make("div", {}, make("div", { class: "ensedu-sheet" }, pad.square, tools), ...answers.doubts),
      make(
        "div",
        { class: "ensedu-answer" },
        story,
        make("p", { class: "ensedu-choice" }, label, select, again),
        answers.table,
      ),
    ),
  );
  arrange(data.first.members.length);
  show(drawing, example);
};
