// The square to draw on, and the 8 × 8 numbers of bits that networks see of it.

// The 32 × 32 bits of a drawing: its box scaled to 20 × 32, strokes of the right thickness, upright.
// A drawing is a list of strokes, a stroke a list of [x, y] in a square of side 1. The steps are
// those of book/workshop/drawings.py, which gives the numbers in DIGIT and says where they come
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

// The square to draw on, and the 8 × 8 numbers that networks see of it.
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
