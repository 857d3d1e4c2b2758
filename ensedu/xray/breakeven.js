// Where sharing pays: width by members, colored by the ensemble that stores least.
const RIVALS = KEYS.filter((key) => METHODS[key].has_members && !METHODS[key].body);
const TICKS = { width: [1, 10, 100, 1000], M: [1, 2, 4, 8, 16, 32, 64], times: [2, 4, 16] };
const GRAIN = coarse.matches ? 2 : 1; // pixels: so fine is the map
const EDGE = { left: 46, right: 14, top: 10, bottom: 44 };
const SIZED = DATA.sizes?.length > 2;

// The total of a method at a width, of one member and what each further one adds: exact from a few values, as both
// are polynomials of degree 2 in the width.
const surfaceOf = (method, layersAt) => {
  const [first, second] = [1, 2].map((M) => {
    const [one, two, three] = [1, 2, 3].map((h) => totalOf(countAll(layersAt(h), method, M)));
    const a = (three - 2 * two + one) / 2;
    const b = two - one - 3 * a;
    return (h) => (a * h + b) * h + one - a - b;
  });
  return (h) => [first(h), second(h) - first(h)];
};
// From how many members on one total is so many times the other.
const crossing = ([[one, step], [other, stride]], times) => (step > times * stride ? 1 + (times * other - one) / (step - times * stride) : Infinity);

// The width of the square layer whose vectors cost as much of its matrix as those of this one.
const likeSquare = ({ m, n, size }) => (2 * size) / (m + n);

const makeMap = (on) => {
  const canvas = make("canvas", { class: "map", role: "application", tabindex: 0 });
  const [words, about] = ["verdict", "note"].map((name) => make("p", { class: name }));
  const link = make("a");
  const spot = make("p", { class: "spot", role: "status" }); // what is pointed at
  const box = make("div", { class: "map-box" }, canvas);
  const [deep, sharing, rank] = RIVALS.map((method) => METHODS[method].label);
  const element = make("section", { class: "panel map-section", "aria-labelledby": "map-title" },
    make("h2", { id: "map-title" }, "When does sharing pay?"), make("div", { class: "map-panel" }, make("div", {}, box, spot), make("div", {}, words, make("p", {}, link), about)));
  const hands = coarse.matches ? "Press" : "Press or use the arrow keys";
  setText(about, `Each area has the name of what stores less there; on a line a ${deep} stores so many times as much as a ${sharing}. ${SIZED ? `The dot is your network. ${hands} to move it.`
    : `A dot is one or more layers of yours, at the width 2mn / (m + n), at which a square layer saves about the same share. ${hands} to read its name; drag to set the members.`}`);
  const ends = { width: MOST.width, M: MOST.members };
  let size = { width: 520, height: 320 };
  const plain = () => ({ w: size.width - EDGE.left - EDGE.right, h: size.height - EDGE.top - EDGE.bottom });
  const xOf = (h) => EDGE.left + (plain().w * Math.log(clamp(h, 1, ends.width))) / Math.log(ends.width);
  const yOf = (M) => EDGE.top + plain().h * (1 - Math.log(M) / Math.log(ends.M));
  const widthAt = (x) => clamp(ends.width ** ((x - EDGE.left) / plain().w), 1, ends.width);
  const membersAt = (y) => clamp(ends.M ** (1 - (y - EDGE.top) / plain().h), 1, ends.M);

  let ground = { key: "" };
  let [dots, pointed, current] = [[], -1, null];
  let near = false; // a map that nobody sees is not painted
  const paint = (key, layersAt) => {
    const [columns, rows] = [plain().w, plain().h].map((side) => Math.ceil(side / GRAIN));
    const image = new ImageData(columns, rows);
    const ours = parsedColor(colorOf(SHARING));
    const surfaces = RIVALS.map((method) => surfaceOf(method, layersAt));
    const totals = Array.from({ length: columns }, (_, x) => surfaces.map((surface) => surface(widthAt(EDGE.left + GRAIN * x))));
    for (let y = 0; y < rows; y += 1) {
      const more = membersAt(EDGE.top + GRAIN * y) - 1;
      for (let x = 0; x < columns; x += 1) {
        const [apart, shared] = totals[x].map(([one, step]) => one + more * step);
        image.data.set([...ours, 255 * (0.22 + 0.7 * clamp(Math.log(apart / shared) / Math.log(24), 0, 1))], 4 * (y * columns + x));
      }
    }
    const picture = new OffscreenCanvas(columns, rows);
    picture.getContext("2d").putImageData(image, 0, 0);
    ground = { key, picture, totals, surfaces };
  };
  // A line at so many members over all widths; or all that lies under it.
  const trace = (context, of, filled) => {
    context.save();
    context.beginPath();
    context.rect(EDGE.left, EDGE.top, plain().w, plain().h);
    context.clip();
    context.beginPath();
    ground.totals.forEach((totals, x) => context.lineTo(EDGE.left + GRAIN * x, yOf(clamp(of(totals), 1, 1e9)))); // what is never is far above
    for (const x of filled ? [EDGE.left + plain().w, EDGE.left] : []) context.lineTo(x, yOf(1));
    context[filled ? "fill" : "stroke"]();
    context.restore();
  };

  const show = (state, layers) => {
    current = state;
    element.hidden = RIVALS.some((method) => DATA.refused[method]) || !layers.some(({ matrices }) => matrices.length);
    if (element.hidden || (!near && !printing.matches)) return;
    const depth = SIZED ? sizesOf(state).length - 2 : 1;
    const key = `${depth} ${size.width} ${theme()}`;
    if (ground.key !== key) paint(key, (h) => (SIZED ? layersOfSizes([DATA.sizes[0], ...Array(depth).fill(h), DATA.sizes.at(-1)]) : [linear(h, h, 0, false)]));
    const context = sizedCanvas(canvas, size.width, size.height);
    const text = (said, x, y, align = "center") => {
      context.textAlign = align;
      context.fillText(said, x, y);
    };
    context.drawImage(ground.picture, EDGE.left, EDGE.top, plain().w, plain().h);
    context.fillStyle = blended(plainColor("page"), colorOf(DEEP), 0.46);
    trace(context, ([apart, shared]) => crossing([apart, shared], 1), true);
    context.strokeStyle = colorOf(RIVALS.at(-1));
    context.lineWidth = 2.5;
    trace(context, ([apart, , spread]) => crossing([apart, spread], 1));
    context.font = "14px system-ui, sans-serif";
    context.lineWidth = 1;
    for (const times of TICKS.times) {
      context.strokeStyle = context.fillStyle = plainColor(theme() === "dark" && times > 8 ? "page" : "ink");
      context.globalAlpha = 0.5;
      trace(context, (totals) => crossing(totals, times));
      context.globalAlpha = 1;
      const from = ground.totals.findIndex((totals) => crossing(totals, times) <= ends.M);
      if (from >= 0) text(`${times} ×`, EDGE.left + GRAIN * from + 6, EDGE.top + 15, "start");
    }
    const written = (method) => (context.fillStyle = blended(plainColor("ink"), colorOf(method), 0.3));
    const edge = (rival, y) => {
      const at = ground.totals.findIndex((totals) => crossing([totals[0], totals[rival]], 1) <= membersAt(y));
      return at < 0 ? size.width - EDGE.right : EDGE.left + GRAIN * at;
    };
    context.textAlign = "start";
    const high = EDGE.top + 12;
    [deep, sharing].forEach((name, k) => {
      const low = high + context.measureText(name).width;
      const [from, to] = [k ? edge(1, low) : EDGE.left, edge(k + 1, high)];
      written(RIVALS[k]);
      if (to - from > 18) writeAlong(context, name, (from + to) / 2 + 5, low, -Math.PI / 2);
    });
    const below = yOf(state.M > 2 ? 1.45 : 2.9) + 5; // where no dot is
    const end = size.width - EDGE.right - 8;
    written(RIVALS[2]);
    text([`${sharing} and ${rank}`, `${rank}, too`].find((name) => edge(2, below + 4) < end - context.measureText(name).width) ?? "", end, below, "end");
    context.fillStyle = plainColor("ink");
    for (const h of TICKS.width) text(digits(h), xOf(h), size.height - EDGE.bottom + 18);
    text(SIZED ? "width of the hidden layers" : "width of a square layer", EDGE.left + plain().w / 2, size.height - 8);
    writeAlong(context, "members", 13, EDGE.top + plain().h / 2, -Math.PI / 2);
    for (const M of TICKS.M) text(M, EDGE.left - 8, yOf(M) + 5, "end");
    dots = SIZED ? [{ x: xOf(state.width ?? DATA.sizes[1]), words: "" }] : layers.slice(0, 2000).flatMap((layer, at) => layer.matrices.map((matrix) => ({
      x: xOf(likeSquare(matrix)), size: matrix.size, name: titleOf(layer, at).split(" › ").at(-1),
      words: `${titleOf(layer, at)}, ${shapeWords({ ...layer, matrices: [matrix] })}: a ${deep} stores ${times(totalOf(countMatrix(matrix, DEEP, state.M)) / totalOf(countMatrix(matrix, SHARING, state.M)))} as much.`,
    }))).sort((one, other) => one.x - other.x);
    // Layers of one width are a dot, the larger the more they store; it has their names where there is room.
    const places = [...new Set(dots.map(({ x }) => Math.round(x)))];
    const heaps = SIZED ? [dots] : places.map((at) => dots.filter(({ x }) => Math.round(x) === at));
    const sizes = heaps.map((heap) => heap.reduce((sum, { size }) => sum + size, 0));
    const radii = heaps.map((_, k) => (SIZED ? 8 : 4 + 6 * Math.sqrt(sizes[k] / Math.max(...sizes))));
    const taken = [];
    const ring = (radius, x) => {
      context.beginPath();
      context.arc(x, yOf(state.M), radius, 0, 7);
      Object.assign(context, { fillStyle: plainColor("page"), strokeStyle: plainColor("ink"), lineWidth: radius > 5 ? 3 : 1 });
      context.fill();
      context.stroke();
    };
    heaps.forEach((heap, k) => ring(radii[k] + (heap.includes(dots[pointed]) ? 1.5 : 0), heap[0].x));
    for (const k of SIZED ? [] : heaps.map((_, k) => k).sort((one, other) => sizes[other] - sizes[one])) {
      const said = `${[...new Set(heaps[k].map(({ name }) => name))].slice(0, 2).join(", ")}${heaps[k].length > 1 ? ` × ${heaps[k].length}` : ""}`;
      const half = context.measureText(said).width / 2;
      const x = clamp(heaps[k][0].x, EDGE.left + half + 4, size.width - EDGE.right - half - 4);
      // Above the dots, or below them; at the map's edges there is room on one side.
      const y = [-16, 26].map((by) => yOf(state.M) + by).find((y) => y > EDGE.top + 30 && y < EDGE.top + plain().h && !taken.some(([at, other, high]) => high === y && Math.abs(at - x) < half + other + 8));
      if (!y) continue;
      taken.push([x, half, y]);
      context.fillStyle = plainColor("ink");
      text(said, x, y);
    }
    const [apart, shared] = [DEEP, SHARING].map((method) => totalOf(countAll(layers, method, state.M)));
    setText(words, state.M === 1 ? "One member has nothing to share with: every vector is an extra."
      : apart <= shared ? `A ${deep} stores less here, ${digits(apart)} against ${digits(shared)}. ${layers.every(({ matrices }) => matrices.every(({ m, n }) => Math.min(m, n) === 1)) ? "One side of each matrix is 1, and so the vectors are no shorter" : "The layers are so thin that the vectors cost more"} than the matrices that they replace.`
      : `A ${sharing} stores ${digits(shared)} parameters, a ${deep} ${digits(apart)}: ${apart < 1.05 * shared ? `${digits(apart - shared)} more` : `${(apart / shared).toFixed(1)} times as many`}.`);
    // The width from which on it pays, as a link that sets it.
    const pays = SIZED && state.M > 1 ? Array.from({ length: 200 }, (_, k) => k + 1).find((h) => crossing(ground.surfaces.map((surface) => surface(h)), 1) < state.M) : 0;
    link.hidden = !pays;
    if (pays) link.setAttribute("href", `#${encode({ ...state, width: pays })}`);
    setText(link, `Sharing pays from width ${pays}.`);
    canvas.setAttribute("aria-label", `Map of width by members. ${words.textContent}`);
  };

  const tell = (k) => {
    if (k === pointed) return;
    pointed = k;
    setText(spot, k < 0 ? "" : dots.filter(({ x }) => Math.abs(x - dots[k].x) < 1).map((one, at, all) => (at < 3 ? one.words : at === 3 ? `and ${all.length - 3} more` : "")).join("\n").trim());
    show(current, on.layers());
  };
  // A mouse drags from anywhere, a finger from a dot: elsewhere it scrolls the page. A press beside the dot of a network of sizes moves it.
  let [held, dragged] = [null, false]; // where it was pressed
  const point = (event) => {
    const { left, top } = canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - left, event.clientY - top];
    const far = dots.map((dot) => Math.hypot(x - dot.x, y - yOf(current.M)));
    const nearest = Math.min(...far);
    const [click, hit] = [event.type === "click" && !dragged, nearest < 12];
    if (event.type === "pointerdown") [held, dragged] = [event.pointerType === "touch" && nearest > 28 ? null : [x, y], false];
    dragged ||= held !== null && Math.hypot(x - held[0], y - held[1]) > 5;
    if ((click && SIZED && !hit) || (dragged && held)) on.change({ M: Math.round(membersAt(y)), ...(SIZED ? { width: Math.round(widthAt(x)) } : {}) });
    tell(hit || (click && !SIZED) ? far.indexOf(nearest) : -1);
  };
  for (const event of ["pointerdown", "pointermove", "click"]) canvas.addEventListener(event, point);
  canvas.addEventListener("pointerdown", ({ pointerId }) => held && canvas.setPointerCapture(pointerId));
  canvas.addEventListener("touchstart", (event) => held && event.preventDefault(), { passive: false });
  for (const event of ["pointerup", "pointercancel"]) canvas.addEventListener(event, () => (held = null));
  canvas.addEventListener("keydown", (event) => {
    const [across, up] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key] ?? [0, 0];
    if (!across && !up) return;
    event.preventDefault();
    const width = current.width ?? DATA.sizes?.[1];
    if (up) on.change({ M: clamp(current.M + up, 1, ends.M) });
    else if (SIZED) on.change({ width: clamp(width + across * Math.ceil(width / 20), 1, ends.width) });
    else if (dots.length) tell(clamp(dots.findIndex(({ x }) => x === dots[pointed]?.x) + (across < 0 ? -1 : dots.filter(({ x }) => x === dots[pointed]?.x).length || 1), 0, dots.length - 1));
  });
  new ResizeObserver(() => {
    size = { width: box.clientWidth || 520, height: 320 };
    on.resized();
  }).observe(box);
  new IntersectionObserver(([{ isIntersecting }]) => {
    near = isIntersecting;
    if (near) on.resized();
  }, { rootMargin: "300px" }).observe(box);
  return { element, show };
};
