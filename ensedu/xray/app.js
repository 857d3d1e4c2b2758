// The page: one state, what changes it, and what shows it.
const root = document.getElementById("xray");
const setColors = () => {
  for (const name of ["ink", "muted", "shared", "grid", "page"]) document.documentElement.style.setProperty(`--${name}`, plainColor(name));
  for (const key of KEYS) document.documentElement.style.setProperty(`--${key}`, colorOf(key));
  document.documentElement.style.colorScheme = theme();
};

let state = decode(location.hash);
// The whole model as it is shown above a layer: as it was, or as a picture.
const TOP = !COMPACT ? "model" : isWhole(START) ? START.view : "share";
let light = null; // which boxes and terms are pointed at: a role, or a layer
let waiting = false;
let sliding = null; // a share on its way to a stop
let saved = location.hash || "#";
const tellAround = (words) => {
  if (parent === self) return;
  parent.postMessage({ from: "xray", ...words }, "*");
  try {
    if (frameElement && words.height) frameElement.style.height = `${words.height}px`; // of a notebook
  } catch {
    // A frame of another origin is sized by its page.
  }
};

// One list for each layer, whose counts are then known.
const alone = remembered((layer) => [layer]);
const scopeOf = (layers) => (isAll(state) ? layers : isWhole(state) ? blockOf(state) : alone(layers[state.layer]));
let shown = ""; // what all but the picture shows
const bases = new Map();
// How large a number of the picture is at first: so that every method fits, of the network as it was given. Nothing
// but zooming changes it.
const baseOf = (state) => {
  const frame = stage.frame(state);
  const layer = Math.min(state.layer, GIVEN.length - 1);
  const at = isAll(state) ? "" : `${partOf(state)} ${layer}.${state.matrix}`;
  const key = `${at} ${frame.width} ${frame.height} ${state.more}`;
  if (!bases.has(key)) {
    const [own, eight] = [DATA.ensemble_size, 8].map((M) => largest(tilesOf(GIVEN, onlyOf({ ...state, layer }), fitted(state)), M, frame, fitted(state)));
    bases.set(key, eight > (frame.width < NARROW ? 0.95 : 0.82) * own ? Math.min(own, eight) : own); // room for eight, where that costs little
  }
  return bases.get(key);
};
const unitNow = () => baseOf(state) * 2 ** state.zoom;

const address = (push) => {
  const hash = `#${encode(state)}`;
  if (hash === saved) return;
  saved = hash;
  tellAround({ hash });
  try {
    history[push ? "pushState" : "replaceState"](null, "", hash === "#" ? location.pathname + location.search : hash);
  } catch {
    // A frame without an address of its own keeps none.
  }
};
let late = 0;
let earlier = null; // the layers of the network before a text changed its size
const change = (patch, { push = false, moves = false, text = false, rests = false } = {}) => {
  const before = state;
  state = settled({ ...state, ...patch });
  if (state.M !== before.M) state.guess = null; // another question
  if (state.layer !== before.layer || state.matrix !== before.matrix || (state.width !== before.width && state.edits)) state.edits = "";
  const resized = nameOf(state) !== nameOf(before);
  if (patch.zoom === undefined && (rests || state.M !== before.M || (resized && !document.querySelector(".slider:active")))) state = inSight(state, true);
  if (resized) earlier = isWhole(state) && text ? layersOf(before) : null;
  else if (chosen(state) !== chosen(before) || !isWhole(state)) earlier = null;
  if (moves || (patch.zoom === undefined && state.zoom !== before.zoom)) stage.begin(performance.now(), !moves);
  if (push) address(true);
  else {
    clearTimeout(late);
    late = setTimeout(address, 250); // browsers refuse an address for each pixel of a drag
  }
  ask();
};
const ask = () => {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(draw);
};

// Of many matrices one is lit in all its copies.
const lit = () => light && { pointed: light.layer !== undefined, has: (box) => (light.layer ?? box.layer) === box.layer && ((box.inner && light.layer >= 0) || (light.role ?? box.look) === box.look) };
// What stands far below the hand, or out of sight, follows when it rests.
const REST = 90; // milliseconds
let [resting, changed] = [0, 0];
const showRest = () => {
  clearTimeout(resting);
  const layers = layersOf(state);
  bars.show(state, scopeOf(layers));
  tree.show(state, layers);
  map.show(state, scopeOf(layers));
};
const draw = (now) => {
  waiting = false;
  leaveGone();
  if (sliding) {
    const share = clamp((now - sliding.start) / sliding.time, 0, 1);
    state = { ...state, share: share < 1 ? lerp(sliding.from, sliding.to, eased(share)) : sliding.to };
    if (share === 1) arrive(now);
  }
  const layers = layersOf(state);
  // First the canvas, whose font asks for the style of all that has been written.
  if (stage.render(state, layers, unitNow(), lit(), now) || sliding) ask();
  stage.gauge.show(state, scopeOf(layers), stage.frame(state).width, earlier && totalOf(countAll(earlier, chosen(state), state.M)));
  const key = `${encode({ ...state, share: Math.round(state.share) })} ${bars.scale()} ${stage.frame(state).width} ${theme()}`;
  if (key !== shown) {
    shown = key;
    const scope = scopeOf(layers);
    const layer = isWhole(state) ? null : layers[state.layer];
    if (bars.seen()) bars.show(state, scope);
    formula.show(state, scope, layer);
    numbers.show(state, layers[state.layer]);
    controls.show(state, layers);
    // At once, but when one change follows the other.
    clearTimeout(resting);
    if (now - changed > 3 * REST) showRest();
    else resting = setTimeout(showRest, REST);
    changed = now;
  }
  const compact = COMPACT && !state.more;
  const marks = { view: compact ? state.view : "", hides: compact ? state.hides : "", lit: light?.role ?? "", way: wayOf(state)[2] ? "on" : "" };
  for (const name in marks) if (root.dataset[name] !== marks[name]) root.dataset[name] = marks[name];
};
const arrive = (now) => {
  sliding = null;
  if (state.share >= 2) stage.redraw(now);
  address(false);
};
const slide = (stop) => {
  const from = state.method ? stop : state.share;
  if (state.method) return change({ method: "", share: stop }, { moves: true });
  if (still.matches || from === stop) {
    change({ share: stop });
    return arrive(performance.now());
  }
  sliding = { from, to: stop, start: performance.now(), time: 450 + 450 * Math.min(2, Math.abs(stop - from)) };
  return ask();
};
let held = null; // a row that was pressed, where it is seen, and until when it stays under the hand
const stay = () => {
  const by = held && performance.now() < held.until ? held.row.getBoundingClientRect().top - held.top : 0;
  if (!by) return;
  if (parent === self) return scrollBy({ top: by, behavior: "instant" });
  held.top += by;
  tellAround({ by });
};
for (const moves of ["wheel", "touchmove"]) addEventListener(moves, () => (held = null), { passive: true });
const choose = (method, row) => {
  held = { row, top: row.getBoundingClientRect().top, until: performance.now() + 4 * WAY };
  if (STOPS.includes(method)) return slide(STOPS.indexOf(method));
  return change({ method }, { moves: true });
};
const toHead = () => requestAnimationFrame(() => controls.head.scrollIntoView({ block: "nearest" })); // once all is drawn that moves it
const open = (layer, matrix = 0, member = state.member, view = "layer") => {
  change(inSight({ ...state, view, layer, matrix, member, zoom: 0 }), { push: true, moves: true });
  toHead();
};
const goTo = (view) => {
  if (view === state.view) return;
  const from = stage.boxes().find((box) => box.id[0] === "W" && box.texture);
  change(inSight({ ...state, view, zoom: 0 }), { push: true, moves: true });
  if (!COMPACT) toHead();
  if (state.view === "numbers") requestAnimationFrame(() => numbers.grow(from));
};
const zoomThatFits = (of, find = largest, seen = undefined) => Math.log2(find(tilesOf(layersOf(of), onlyOf(of), fitted(of)), of.M, stage.frame(of), fitted(of), seen) / baseOf(of));
const fit = () => change({ zoom: zoomThatFits(state) }, { moves: true });
// At the scale of that view, unless it would not be in sight; of other sizes only what does not fit is drawn smaller.
const inSight = (asked, sizes = false) => {
  const next = settled({ ...asked, zoom: Math.max(0, asked.zoom) });
  if (!stage.isShown()) return next; // it is laid out once it has a width
  const { lost, small } = stage.extentOf(next, layersOf(next), baseOf(next) * 2 ** next.zoom);
  return lost || (small && !sizes) ? { ...next, zoom: zoomThatFits(next) } : next;
};
// What an address or a text sets: in sight, unless it says the scale; and of more members of a layer four, at once.
const told = (text, from) => {
  const next = decode(text, from);
  if (next.view === "layer" && next.M > from?.M) return { ...next, zoom: Math.min(0, zoomThatFits(next, fitting, Math.min(4, next.M))) };
  return /\bscale=/.test(text) ? next : inSight(next);
};
const varies = (state) => !isWhole(state) && (spreads(methodOf(layersOf(state)[state.layer], chosen(state))) || (state.view === "numbers" && leavesOut(state)));
// Another sample of what is a distribution.
const anew = () => {
  if (!varies(state)) return;
  stage.sweep(state, performance.now());
  change({ draw: (state.draw + 1) % 1000 });
};
const setLight = (next) => {
  light = next;
  ask();
};

const nameOf = (state) => (DATA.sizes ? sizesOf(state).join("-") : DATA.name);
const makeControls = () => {
  // A slider over whole numbers; with `curve` its small numbers have more room.
  const slider = (key, label, most, curve) => {
    const to = (value) => (curve ? Math.log(value) / Math.log(most) : value);
    const from = (value) => (curve ? Math.round(most ** value) : value);
    const range = make("input", { type: "range", min: curve ? 0 : 1, max: curve ? 1 : most, step: curve ? "any" : 1, "aria-label": label });
    const number = make("input", { type: "number", min: 1, max: most, "aria-label": label });
    const element = make("label", { class: key === "M" ? "slider" : "slider sized" }, make("span", {}, label), range, number);
    range.addEventListener("input", () => change({ [key]: clamp(from(Number(range.value)), 1, most) }));
    range.addEventListener("change", () => setTimeout(change, 0, {}, { rests: true }));
    onArrows(range, (step) => change({ [key]: clamp(Number(number.value) + step, 1, most) }));
    const type = () => change({ [key]: clamp(Math.round(Number(number.value)), 1, most) });
    let kept = ""; // what Escape takes back to
    number.addEventListener("focus", () => (kept = number.value));
    number.addEventListener("input", () => number.value && type());
    number.addEventListener("keydown", (event) => event.key === "Escape" && ((number.value = kept), type()));
    number.addEventListener("change", () => {
      type();
      number.value = state[key];
    });
    const show = (value) => {
      if (Number(range.value) !== to(value)) range.value = to(value);
      if (document.activeElement !== number) number.value = value;
      range.setAttribute("aria-valuetext", value);
    };
    return { element, show };
  };
  const button = (words, title, tell) => {
    const found = make("button", { type: "button", class: "tool", title }, words);
    found.addEventListener("click", tell);
    return found;
  };
  const members = slider("M", "Members", MOST.members, true);
  const sized = DATA.sizes?.length > 2 && !CURVES ? [slider("width", "Width", MOST.width, true), slider("depth", "Hidden layers", MOST.depth)] : [];
  const zoom = make("span", { class: "zoom", role: "group", "aria-label": "Zoom" },
    button("−", "Zoom out (−)", () => change({ zoom: state.zoom - 0.5 }, { moves: true })),
    button("Fit", "Fit (0)", fit),
    button("+", "Zoom in (+)", () => change({ zoom: state.zoom + 0.5 }, { moves: true })));
  const loop = button("Save as a moving picture", "The way through the four stops, as an SVG file", () => saveLoop(loopOf(state, layersOf(state), nameOf(state), stage.write), nameOf(state)));
  const again = button("Draw anew", "Another sample of what is a distribution (d)", () => anew());
  const deeper = button("See its numbers", "A window of its numbers, or all of it", () => goTo(state.view === "numbers" ? "layer" : "numbers"));
  const acts = make("span", { class: "acts" }, deeper, again);
  const path = make("nav", { class: "path", "aria-label": "Zoom" });
  const [title, letters] = [make("h1"), make("p", { class: "lead" })];
  const lead = make("p", { class: "lead" }, "An ensemble averages several networks, its members. Drag to see what they can share.");
  const head = make("header", {}, path, title);
  const rest = make("button", { type: "button", class: "rest" });
  rest.addEventListener("click", () => change({ more: 1 - state.more }));
  const element = make("div", { class: "controls" }, members.element, ...sized.map((one) => one.element), acts);
  let steps = "";
  const show = (current, layers) => {
    members.show(current.M);
    if (sized.length) {
      const sizes = sizesOf(current);
      sized[0].show(current.width ?? sizes[1]);
      sized[1].show(sizes.length - 2);
    }
    setText(rest, current.more ? "Show less" : "Show all of the X-ray");
    acts.hidden = isWhole(current) || (current.view === "numbers" && !varies(current));
    const layer = layers[current.layer];
    again.hidden = !varies(current);
    // On a phone it stands at the numbers that it draws.
    const [place, at] = current.view === "numbers" && stage.frame(current).width < NARROW ? [numbers.tools, "prepend"] : [acts, "append"];
    if (again.parentNode !== place) place[at](again);
    setText(deeper, current.view === "numbers" ? "See its picture" : "See its numbers");
    const name = nameOf(current);
    loop.hidden = !isAll(current) || STOPS.filter((method) => !DATA.refused[method]).length < 2;
    const block = isAll(current) || blockOf(current).length < 2 ? "" : titleOfBlock(layers, current.layer);
    const places = [[isAll(current) ? current.view : TOP, name.length > 28 ? `${name.slice(0, 24)}…` : name], ["block", block], ["layer", isWhole(current) ? "" : titleWithin(layers, current.layer)], ["numbers", current.view === "numbers" ? numbers.where() : ""]];
    const key = JSON.stringify([places, current.view]);
    if (key !== steps) {
      steps = key;
      path.replaceChildren(...places.filter(([, words]) => words).flatMap(([view, words], k) => {
        const step = make("button", { type: "button", "aria-current": view === current.view ? "location" : null }, words);
        step.addEventListener("click", () => goTo(view));
        return k ? [" › ", step] : [step];
      }));
    }
    lead.hidden = !isAll(current);
    setText(title, `${isAll(current) ? name : isWhole(current) ? block : titleOf(layer, current.layer).split(" › ").slice(-2).join(" › ")}: ${isWhole(current) ? "what is stored" : shapeWords(layer)}`);
    setText(letters, lettersOf(chosen(current), scopeOf(layers), isWhole(current) ? null : layer, current.M));
  };
  return { element, head, lead, letters, zoom, loop, rest, show };
};

const bars = makeBars({ choose, resized: () => ask() });
const formula = makeFormula({ light: (role) => setLight(role && { role }) });
const tree = makeTree({ open, point: (layer) => setLight(layer === null ? null : { layer }) });
const stage = makeStage({
  slide,
  step: (by) => slide(clamp((sliding?.to ?? Math.round(state.share)) + by, 0, STOPS.length - 1)),
  drag(share) {
    sliding = null;
    change({ share, method: "" });
  },
  guess: (guess) => change({ guess: clamp(guess, 1, state.M) }),
  ask: () => ask(),
  unit: unitNow,
  layers: () => layersOf(state),
  earlier: () => earlier,
  turn: (member) => change({ member }),
  scope: scopeOf,
  hover(box) {
    setText(stage.words, box ? stage.wordsOf(box, layersOf(state), chosen(state)) : "");
    setLight(box && { role: box.look, layer: box.layer });
  },
  press(box, [across, down]) {
    if (isWhole(state)) open(box.layer, box.matrix, Math.max(0, box.member), isAll(state) ? "block" : "layer");
    else {
      const [row, column] = [down * box.tile.rows, across * box.tile.columns].map((at) => Math.max(0, Math.floor(at) - 2));
      change({ member: box.member < 0 ? state.member : box.member, row, column });
      goTo("numbers");
    }
  },
  resized(appears) {
    stage.measure();
    if (appears) state = inSight(state);
    ask();
  },
});
const numbers = makeNumbers({ change, room: () => stage.frame(state).width });
const map = makeMap({ change, layers: () => scopeOf(layersOf(state)), resized: () => showRest() });
const controls = makeControls();
stage.field.append(numbers.element);
stage.tools.append(controls.zoom, controls.loop);
controls.head.append(controls.lead);
root.append(controls.head, controls.element, stage.element, formula.element, controls.letters, bars.element, map.element, tree.element);
if (COMPACT) {
  root.classList.add("compact");
  root.append(controls.rest);
}

const leave = () => (isAll(state) ? state.zoom > zoomThatFits(state) && fit() : goTo(state.view === "numbers" ? "layer" : isWhole(state) || blockOf(state).length < 2 ? TOP : "block"));
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input:not([type=range])")) return;
  const act = {
    Escape: leave,
    0: fit,
    "+": () => change({ zoom: state.zoom + 0.5 }, { moves: true }),
    "-": () => change({ zoom: state.zoom - 0.5 }, { moves: true }),
    d: anew,
  }[event.key];
  act?.();
});
addEventListener("popstate", () => {
  saved = location.hash || "#";
  [state, earlier] = [told(location.hash), null];
  stage.begin(performance.now());
  ask();
});
const repaint = () => {
  hatches.clear();
  setColors();
  shown = "";
  stage.measure();
  draw(performance.now());
  showRest();
};
for (const query of [darkness, printing]) query.addEventListener("change", repaint);
stage.measure();
state = told(location.hash);
repaint();

// What a page around this one shows of it elsewhere, small: the same part before a text set it, and now, at one scale.
let asked = state;
const miniature = () => {
  const { view, layer, matrix, member, zoom } = state;
  const both = [{ ...asked, view, layer, matrix, member, zoom }, state].map(settled);
  const pictures = both.slice(Number(encode(both[0]) === encode(both[1]))).map((one) => [one, stage.boxesOf(one, layersOf(one), unitNow())]);
  const most = (of) => Math.max(...pictures.flatMap(([, boxes]) => boxes.map(of)));
  const [wide, top] = [most(({ x, w }) => x + w), -most(({ y }) => -y)];
  const high = most(({ y, h }) => y + h) - top;
  const beside = pictures.length > 1 && high > 0.5 * wide; // or below each other
  const letters = (1 + beside) * wide / 24;
  const canvas = make("canvas");
  const context = sizedCanvas(canvas, (1 + beside) * (wide + letters), (beside ? 1 : pictures.length) * (high + 2 * letters));
  pictures.forEach(([one, boxes], k) => {
    inked(context, letters).fillText(pictures.length > 1 ? ["before", "now"][k] : "", 0, letters);
    context.translate(0, 1.5 * letters - top);
    drawBoxes(context, boxes, { owns: [colorOf(chosen(one))], width: Infinity, height: Infinity, textureOf: () => null });
    context.translate(beside * (wide + letters), top - 1.5 * letters + !beside * (high + 2 * letters));
  });
  return canvas.toDataURL();
};
// And says.
const copied = () => {
  const [method, layers] = [chosen(state), scopeOf(layersOf(state))];
  const [one, total, before] = [[layers, SINGLE, 1], [layers, method, state.M], [earlier, method, state.M]].map(([of, each, M]) => of && totalOf(countAll(of, each, M)));
  const said = before ? `${digits(before)} → ${digits(total)} parameters, ${(total / before).toFixed(2)} × before` : `${digits(total)} parameters, ${(total / one).toFixed(2)} times one ${isAll(state) ? "" : "such "}${partOf(state)}`;
  return { words: `${METHODS[method].label}, M = ${state.M}: ${said}.`, image: stage.isShown() ? miniature() : "" };
};
// A page around this one says its look, and what its text sets; it hears how high this one is.
addEventListener("message", ({ source, data }) => {
  if (source !== parent || data?.to !== "xray") return;
  if (data.theme) {
    around = data.theme;
    repaint();
  }
  if (data.set !== undefined) change(told(data.set, (asked = state)), { push: true, moves: true, text: true });
  if (data.leave) leave();
  if (data.copy) tellAround({ copy: copied() });
});
const tellHeight = () => {
  tellAround({ height: Math.ceil(root.getBoundingClientRect().height) });
  stay();
};
new ResizeObserver(tellHeight).observe(root);
tellHeight();
