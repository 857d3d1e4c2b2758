// Where sharing pays: width by members, colored by the ensemble that stores least.
const RIVALS = KEYS.filter((key) => METHODS[key].members && !METHODS[key].body);
const TICKS = { width: [1, 10, 100, 1000], M: [1, 2, 4, 8, 16, 32, 64] };
const GRAIN = matchMedia("(pointer: coarse)").matches ? 2 : 1; // pixels: so fine is the map
const EDGE = { left: 46, right: 14, top: 10, bottom: 44 };

// The total of a method as a function of width and members, exact from a few values: a polynomial of
// degree 2 in the width, and 1 in M.
const surfaceOf = (method, layersAt) => {
  const value = (h, M) => totalOf(countAll(layersAt(h), method, M));
  const quadratic = (M) => {
    const [one, two, three] = [1, 2, 3].map((h) => value(h, M));
    const a = (three - 2 * two + one) / 2;
    const b = two - one - 3 * a;
    return [a, b, one - a - b];
  };
  const [first, second] = [quadratic(1), quadratic(2)];
  const at = (k, M) => first[k] + (M - 1) * (second[k] - first[k]);
  return (h, M) => at(0, M) * h * h + at(1, M) * h + at(2, M);
};

// The width of the square layer whose vectors cost as much of its matrix as those of this one.
const likeSquare = ({ m, n, size }) => (2 * size) / (m + n);

const makeMap = (on) => {
  const canvas = make("canvas", { class: "map", role: "img", "aria-label": "Map of width by members" });
  const words = make("p", { class: "verdict" });
  const about = make("p", { class: "note" });
  const link = make("a");
  const spot = make("span", { class: "spot", hidden: "" }); // what is pointed at, where it stands
  const box = make("div", { class: "map-box" }, canvas, spot);
  const keys = make("p", { class: "key" }, ...[[DEEP, `${METHODS[DEEP].label} is smaller than a ${METHODS[SHARING].label}`], [SHARING, `${METHODS[SHARING].label} is smaller, the more so the stronger the color`]]
    .map(([method, text]) => make("span", {}, make("i", { class: "segment per_member", style: `--own: var(--${method})` }), text)));
  keys.append(make("span", {}, make("i", { class: "line-key" }), `above it a ${METHODS[STOPS[2]].label} is smaller than a ${METHODS[DEEP].label}, too`));
  const element = make("section", { class: "panel map-section", "aria-labelledby": "map-title" },
    make("h2", { id: "map-title" }, "When does sharing pay?"), make("div", { class: "map-panel" }, box, make("div", {}, words, make("p", {}, link), about, keys)));
  const scale = { width: [1, MOST.width], M: [1, MOST.members] };
  let size = { width: 520, height: 320 };
  const plain = () => ({ w: size.width - EDGE.left - EDGE.right, h: size.height - EDGE.top - EDGE.bottom });
  const xOf = (h) => EDGE.left + (plain().w * Math.log(h)) / Math.log(scale.width[1]);
  const yOf = (M) => EDGE.top + plain().h * (1 - Math.log(M) / Math.log(scale.M[1]));
  const widthAt = (x) => clamp(scale.width[1] ** ((x - EDGE.left) / plain().w), ...scale.width);
  const membersAt = (y) => clamp(scale.M[1] ** (1 - (y - EDGE.top) / plain().h), ...scale.M);

  let ground = { key: "" };
  let dots = [];
  let near = false; // a map that nobody sees is painted when all else rests
  const paint = (key, surfaces) => {
    const [columns, rows] = [plain().w, plain().h].map((side) => Math.ceil(side / GRAIN));
    const image = new ImageData(columns, rows);
    const [ours, theirs] = [SHARING, DEEP].map((method) => parsedColor(colorOf(method)));
    const widths = Array.from({ length: columns }, (_, x) => widthAt(EDGE.left + GRAIN * x));
    const line = [];
    let above = [];
    for (let y = 0; y < rows; y += 1) {
      const M = membersAt(EDGE.top + GRAIN * y);
      const row = [];
      for (let x = 0; x < columns; x += 1) {
        const [deep, sharing, rank] = surfaces.map((surface) => surface(widths[x], M));
        const saving = deep <= sharing ? 0.35 : clamp(Math.log(deep / sharing) / Math.log(24), 0, 1);
        const at = 4 * (y * columns + x);
        image.data.set(deep <= sharing ? theirs : ours, at);
        image.data[at + 3] = 255 * (0.22 + 0.7 * saving);
        row.push(rank < deep);
        if ((y && above[x] !== row[x]) || (x && row[x - 1] !== row[x])) line.push([GRAIN * x, GRAIN * y]);
      }
      above = row;
    }
    const picture = new OffscreenCanvas(columns, rows);
    picture.getContext("2d").putImageData(image, 0, 0);
    ground = { key, picture, line };
  };

  const show = (state, layers) => {
    element.hidden = RIVALS.some((method) => DATA.refused[method]);
    if (element.hidden || (!near && !printing.matches)) return;
    const sized = DATA.sizes?.length > 2;
    const depth = sized ? sizesOf(state).length - 2 : 1;
    const layersAt = (h) => (sized ? layersOfSizes([DATA.sizes[0], ...Array(depth).fill(h), DATA.sizes.at(-1)]) : [linear(h, h, 0, false)]);
    const key = `${depth} ${size.width} ${theme()}`;
    const surfaces = RIVALS.map((method) => surfaceOf(method, layersAt));
    if (ground.key !== key) paint(key, surfaces);
    const context = sizedCanvas(canvas, size.width, size.height);
    context.drawImage(ground.picture, EDGE.left, EDGE.top, plain().w, plain().h);
    context.fillStyle = colorOf(RIVALS.at(-1));
    for (const [x, y] of ground.line) context.fillRect(EDGE.left + x - 1, EDGE.top + y - 1, GRAIN, GRAIN);
    context.fillStyle = plainColor("ink");
    context.font = "14px system-ui, sans-serif";
    context.textAlign = "center";
    for (const h of TICKS.width) context.fillText(digits(h), xOf(h), size.height - EDGE.bottom + 18);
    context.fillText(sized ? "width of the hidden layers" : "width of a square layer", EDGE.left + plain().w / 2, size.height - 8);
    context.textAlign = "end";
    for (const M of TICKS.M) context.fillText(M, EDGE.left - 8, yOf(M) + 5);
    context.save();
    context.translate(13, EDGE.top + plain().h / 2);
    context.rotate(-Math.PI / 2);
    context.textAlign = "center";
    context.fillText("members", 0, 0);
    context.restore();
    const dot = (h, M, radius) => {
      context.beginPath();
      context.arc(xOf(clamp(h, ...scale.width)), yOf(M), radius, 0, 7);
      context.fillStyle = plainColor("page");
      context.strokeStyle = plainColor("ink");
      context.lineWidth = radius > 5 ? 3 : 1;
      context.fill();
      context.stroke();
    };
    const [one, sharing, rank] = RIVALS.map((method) => totalOf(countAll(layers, method, state.M)));
    const least = [one, sharing, rank].indexOf(Math.min(one, sharing, rank));
    dots = [];
    if (sized) dot(state.width ?? DATA.sizes[1], state.M, 8);
    else layers.slice(0, 2000).forEach((layer, at) => layer.matrices.forEach((matrix) => {
      dot(likeSquare(matrix), state.M, 4);
      const [apart, shared] = [DEEP, SHARING].map((method) => totalOf(countLayer(layer, method, state.M)));
      dots.push({ x: xOf(clamp(likeSquare(matrix), ...scale.width)), y: yOf(state.M), words: `${titleOf(layer, at)}, ${shapeWords({ ...layer, matrices: [matrix] })}: ${times(apart / shared)}` });
    }));
    setText(about, sized ? "Press or drag in the map: the dot is your network."
      : `Each dot is a layer of yours; point at it to read its name, and how many times as much a ${METHODS[DEEP].label} stores of it. A layer that is not square stands where a square one with the same trade-off would. A press sets the number of members.`);
    const [saves, costs] = [METHODS[SHARING].label, METHODS[DEEP].label];
    setText(words, state.M === 1 ? "One member has nothing to share with: every vector is an extra."
      : least === 0 ? `A ${costs} stores less here, ${digits(one)} against ${digits(sharing)}. The layers are so thin that the vectors cost more than the matrices that they replace.`
      : `A ${saves} stores ${digits(sharing)} parameters, a ${costs} ${digits(one)}: ${(one / sharing).toFixed(1)} times as many.`);
    // The width from which on it pays, as a link that sets it.
    const pays = state.M > 1 ? Array.from({ length: 200 }, (_, k) => k + 1).find((h) => surfaces[1](h, state.M) < surfaces[0](h, state.M)) : undefined;
    const target = sized && pays ? `#${encode({ ...state, width: pays })}` : "";
    link.hidden = !target;
    if (target) {
      link.setAttribute("href", target);
      setText(link, `Sharing pays from width ${pays}.`);
    }
    canvas.setAttribute("aria-label", `Map of width by members. ${words.textContent}`);
  };

  const set = (event) => {
    const { left, top } = canvas.getBoundingClientRect();
    const M = Math.round(membersAt(event.clientY - top));
    on.change(DATA.sizes?.length > 2 ? { M, width: Math.round(widthAt(event.clientX - left)) } : { M });
  };
  let down = false;
  const point = (event) => {
    const { left, top } = canvas.getBoundingClientRect();
    const at = dots.filter(({ x, y }) => Math.hypot(event.clientX - left - x, event.clientY - top - y) < 9);
    spot.hidden = !at.length;
    if (spot.hidden) return;
    const [{ x, y }] = at;
    Object.assign(spot.style, { bottom: `${box.clientHeight - y + 10}px`, ...(2 * x < size.width ? { left: `${x}px`, right: "" } : { left: "", right: `${size.width - x}px` }) });
    setText(spot, at.map((one) => one.words).slice(0, 3).join("\n"));
  };
  canvas.addEventListener("pointerdown", (event) => {
    down = true;
    canvas.setPointerCapture(event.pointerId);
    set(event);
    point(event);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (down) set(event);
    point(event);
  });
  canvas.addEventListener("pointerleave", ({ pointerType }) => (spot.hidden ||= pointerType === "mouse")); // a finger leaves it
  for (const event of ["pointerup", "pointercancel"]) canvas.addEventListener(event, () => (down = false));
  new ResizeObserver(() => {
    size = { width: box.clientWidth || 520, height: 320 };
    on.resized();
  }).observe(box);
  const approach = (now) => {
    near = now;
    if (near) on.resized();
  };
  new IntersectionObserver(([{ isIntersecting }]) => approach(isIntersecting), { rootMargin: "300px" }).observe(box);
  setTimeout(() => (window.requestIdleCallback ?? setTimeout)(() => approach(true)), 300);
  return { element, show, words: () => words.textContent };
};
