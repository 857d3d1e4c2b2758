// The picture: the slider that shares the weights, and a canvas with the words of its two zones.
const WAY = 520; // milliseconds of a motion
const eased = (t) => (t < 0.5 ? 4 * t ** 3 : 1 - (2 - 2 * t) ** 3 / 2);
const SUBSCRIPTS = (number) => [...String(number)].map((digit) => "₀₁₂₃₄₅₆₇₈₉"[digit]).join("");
const MIDDLE = 900; // pixels, from which on there is room for words beside each other
const STOP_WORDS = ["own matrices", "share W", "r and s vary", "W varies"];

const makeStage = (on) => {
  const canvas = make("canvas", { class: "canvas", role: "img" });
  const zones = ["left", "right"].map((side) => make("p", { class: `zone ${side}` }, make("strong"), make("span")));
  const words = make("p", { class: "pointed", role: "status" });
  const more = make("button", { type: "button", class: "more" });
  more.addEventListener("click", () => on.fit());
  const square = make("i", { class: "square" });
  const squareWords = make("span");
  const scale = make("p", { class: "unit" }, square, squareWords);
  const range = make("input", { type: "range", min: 0, max: STOPS.length - 1, step: "any", "aria-label": "Share the weights" });
  const stops = STOPS.map((method, k) => {
    const stop = make("button", { type: "button", class: "stop", style: `--own: var(--${method})` }, make("strong", {}, STOP_WORDS[k]), make("small", {}, METHODS[method].label));
    stop.addEventListener("click", () => on.slide(k));
    return stop;
  });
  const slider = make("div", { class: "share" }, range, make("div", { class: "stops" }, ...stops));
  const gauge = makeGauge();
  const field = make("div", { class: "field" }, ...zones, canvas, more);
  const under = make("div", { class: "under" }, words, scale);
  const element = make("section", { class: "stage", "aria-label": "The picture" }, gauge.element, slider, field, under);

  let drawn = []; // the boxes of the last frame
  let motion = null; // { from, start }
  let shaken = 0; // until when r and s, or W, shake
  let hover = null;
  let frame = { width: 0, height: 0, head: 0, above: 0, words: 0 };
  const composed = new Map();
  const contents = new WeakMap();

  const measure = () => {
    const width = (field.clientWidth || 300) - 2 * parseFloat(getComputedStyle(field).paddingLeft);
    const narrow = width < NARROW;
    const head = narrow ? 48 : 52;
    const curves = CURVES ? CURVE_HIGH : 0;
    const words = narrow ? 0 : width < MIDDLE ? 200 : 230;
    frame = { width, head, above: 22 + curves, height: (narrow ? 530 : clamp(0.3 * width, 360, 450)) + curves, words };
    composed.clear();
    return frame;
  };
  const contentOf = (layers, only) => {
    if (only) return tilesOf(layers, only);
    if (!contents.has(layers)) contents.set(layers, tilesOf(layers));
    return contents.get(layers);
  };
  const layoutOf = (key, layers, only, method, M, unit) => {
    const name = `${key} ${method} ${M} ${unit}`;
    if (!composed.has(name)) {
      if (composed.size > 12) composed.clear();
      composed.set(name, compose(contentOf(layers, only), method, M, unit, frame));
    }
    return composed.get(name);
  };

  // What all stops take at most, so that sharing moves nothing but the weights.
  const extentOf = (state, layers, unit) => {
    const only = onlyOf(state);
    const key = `extent ${state.width} ${state.depth} ${only ? `${state.layer}.${state.matrix}` : "all"} ${state.M} ${unit}`;
    if (!composed.has(key)) {
      const rooms = STOPS.map((method) => roomsOf(contentOf(layers, only), method, state.M, unit, frame));
      const [high, wide] = ["high", "wide"].map((side) => Math.max(...rooms.map((room) => room[side])));
      const lost = high > frame.height + 2 || wide > frame.width + 2;
      composed.set(key, { high: clamp(high, 120, frame.height), lost, small: high < 0.45 * frame.height && wide < 0.6 * frame.width });
    }
    return composed.get(key);
  };
  // The boxes that a state asks for: at a stop, or between two.
  const target = (state, layers, unit) => {
    const only = onlyOf(state);
    const key = `${state.width} ${state.depth} ${only ? `${state.layer}.${state.matrix}` : "all"}`;
    const at = (method) => layoutOf(key, layers, only, method, state.M, unit);
    if (state.method) return { boxes: between(at(state.method), null, 0), layout: at(state.method) };
    const low = Math.min(STOPS.length - 2, Math.floor(state.share));
    const share = state.share - low;
    if (share === 1) return { boxes: between(at(STOPS[low + 1]), null, 0), layout: at(STOPS[low + 1]) };
    return { boxes: between(at(STOPS[low]), at(STOPS[low + 1]), share), layout: at(STOPS[Math.round(state.share)]) };
  };
  const colorsNow = (state) => {
    if (state.method) return [colorOf(state.method), colorOf(state.method)];
    const low = Math.min(STOPS.length - 2, Math.floor(state.share));
    return state.share - low === 1 ? [colorOf(STOPS[low + 1]), colorOf(STOPS[low + 1])] : [colorOf(STOPS[low]), colorOf(STOPS[low + 1])];
  };

  const shakes = (state, now) => (box) => {
    if (now > shaken || still.matches) return [0, 0];
    const fast = state.share > 2.5 ? ["W", "Z", "g"] : ["r", "s"];
    if (!fast.includes(box.id[0]) || state.share < 1.5) return [0, 0];
    const size = Math.min(3, 1.2 + box.member / 8) * Math.min(1, (shaken - now) / 600);
    const phase = box.x + 3 * box.y + 7 * box.member;
    return [size * Math.sin(now / 45 + phase), size * Math.cos(now / 38 + phase)];
  };

  const render = (state, layers, unit, lit, now) => {
    const { boxes: goal, layout } = target(state, layers, unit);
    let boxes = goal;
    if (motion) {
      const share = clamp((now - motion.start) / WAY, 0, 1);
      if (share < 1) boxes = between({ boxes: motion.from }, { boxes: new Map(goal.map((box) => [box.id, box])) }, eased(share));
      else motion = null;
    }
    drawn = boxes;
    const inNumbers = state.view === "numbers";
    const refused = DATA.refused[chosen(state)];
    for (const part of [canvas, ...zones, under]) part.hidden = inNumbers;
    gauge.element.hidden = Boolean(refused);
    gauge.show(state, on.scope(layers));
    if (inNumbers) {
      more.hidden = true;
      markStop(state);
      return false;
    }
    const { high, lost, small } = extentOf(state, layers, unit);
    on.wants(!refused && (lost || small));
    const context = sizedCanvas(canvas, frame.width, refused ? 120 : high);
    context.imageSmoothingEnabled = false;
    const close = !isWhole(state);
    const textureOf = (box, color) => {
      if (!box.texture || !close || box.layer < 0 || motion) return null;
      if (box.texture === "made" && box.member !== (hover?.member ?? state.member)) return null;
      const layer = layers[box.layer];
      if (!layer?.matrices[box.matrix]) return null;
      const key = `${box.layer}.${box.matrix} ${box.texture} ${box.member} ${state.seed}.${state.draw} ${chosen(state)} ${layer.matrices[box.matrix].m} ${layer.matrices[box.matrix].n}`;
      return textureImage(key, color, () => texture(state, layer, box.matrix, box.texture, box.member));
    };
    if (refused) boxes = drawn = [];
    drawBoxes(context, boxes, { owns: colorsNow(state), lit, width: frame.width, height: high, textureOf, shake: shakes(state, now) });
    if (!motion && CURVES && !refused) placeCurves(context, layout, state);
    if (!motion && !refused) write(context, boxes, layout, state, frame);
    if (close && !motion && !refused) numberEdges(context, layout, layers[state.layer].matrices[state.matrix]);
    placeWords(state, layers, layout);
    if (!motion && now >= shaken) return false;
    return !still.matches || Boolean(motion);
  };

  // What is what, in words: on the canvas, and in a loop that is saved.
  const write = (context, boxes, layout, state, frame) => {
    numberMembers(context, layout, state, frame);
    if (Number.isInteger(state.share)) nameParts(context, boxes, state);
  };
  const numberMembers = (context, layout, { M, method, share }, frame) => {
    const current = method || STOPS[Math.round(share)];
    const word = METHODS[current].members ? "member" : "sample";
    context.fillStyle = plainColor("muted");
    context.font = "13px system-ui, sans-serif";
    const shown = METHODS[current].members ? M : layout.ghosts;
    for (let i = 0; i < shown; i += 1) {
      const at = layout.slotOf(i);
      if (at.y > frame.height) break;
      context.fillText(layout.slot.w > 90 ? `${word} ${i + 1}${shown < M && i === shown - 1 ? ` of ${M}` : ""}` : String(i + 1), at.x + layout.portrait.edge, at.y - 7 + Math.min(layout.portrait.edge, 4) - (CURVES ? CURVE_HIGH : 0));
    }
  };
  const placeCurves = (context, layout, state) => {
    for (let i = 0; i < state.M; i += 1) {
      const [at, row] = [layout.slotOf(i), curveOf(state, i)];
      if (row && at.y < frame.height) drawCurve(context, row, colorOf(chosen(state)), { x: at.x + layout.portrait.edge, y: at.y - CURVE_HIGH, w: layout.portrait.w - layout.portrait.edge, h: CURVE_HIGH - 12 });
    }
  };
  // What is what, written where it stands: on the largest matrix, and at the vectors of member 1.
  const nameParts = (context, boxes, state) => {
    const of = (letter, test) => boxes.filter((box) => box.id[0] === letter && box.alpha > 0.9 && test(box)).reduce((best, box) => (best && best.w * best.h >= box.w * box.h ? best : box), null);
    const write = (words, x, y, size, color) => {
      context.font = `italic ${size}px "STIX Two Math", Georgia, "Times New Roman", serif`;
      context.fillStyle = plainColor(color);
      context.fillText(words, x, y);
    };
    context.textAlign = "center";
    const [W, Z, ghost] = [of("W", () => true), of("Z", () => true), of("g", ({ member }) => member === 0)];
    const inside = (box, words, color) => {
      const size = box ? Math.min(28, box.h / 2, (1.3 * box.w) / Math.max(1.5, words.length)) : 0;
      if (size > 12) write(words, box.x + box.w / 2, box.y + box.h / 2 + size / 3, size, color);
    };
    if (isWhole(state)) {
      for (const box of boxes) if (box.id[0] === "W" && box.layer === W?.layer && box.matrix === W.matrix && !box.moving) inside(box, box.member >= 0 ? `W${SUBSCRIPTS(box.member + 1)}` : Z ? "μ" : "W", "page");
      if (ghost) inside(ghost, of("r", () => true) ? "W ∘ r sᵀ" : Z ? "μ + σ ∘ ε" : "", "muted");
      if (Z) inside(Z, "σ", "ink");
      nameLayers(context, boxes);
    }
    const [r, s] = ["r", "s"].map((letter) => of(letter, (box) => box.member === 0 && box.layer === ghost?.layer));
    // In a layer r has its name before it and s above its end; of several, upon a large matrix.
    const apart = !isWhole(state);
    context.textAlign = apart ? "end" : "start";
    if (!r || !s || !(apart || Math.min(ghost.w, ghost.h) > 120)) return;
    const [before, above] = ["R", "S"].map((letter, k) => (apart && of(letter, (box) => box.member === 0)) || [r, s][k]);
    write("r", apart ? before.x - 4 : r.x + r.w + 5, r.y + r.h / 2 + 5, 19, "ink");
    write("s", apart ? s.x + Math.max(Math.min(s.w, ghost.w), ghost.w > 70 ? 84 : 20) : s.x + s.w / 2 - 4, apart ? above.y - 4 : s.y + s.h + 17, 19, "ink");
    context.textAlign = "start";
  };
  // Which layer a matrix is of, in its corner where there is room: of member 1, or of what all have.
  const nameLayers = (context, boxes) => {
    context.font = "12px system-ui, sans-serif";
    context.fillStyle = plainColor("page");
    context.textAlign = "start";
    for (const box of boxes) {
      if (box.id[0] !== "W" || box.member > 0 || box.layer < 0 || box.h < 90) continue;
      const words = titleOf(on.layers()[box.layer], box.layer);
      if (context.measureText(words).width < box.w - 10) context.fillText(words, box.x + 5, box.y + 15);
    }
  };
  // m and n at the edges of the first matrix.
  const numberEdges = (context, layout, matrix) => {
    const first = drawn.find((box) => box.id[0] === "W") ?? null;
    if (!first || first.h < 14) return;
    context.fillStyle = plainColor("muted");
    context.font = "13px system-ui, sans-serif";
    context.textAlign = "center";
    const words = `n = ${digits(matrix.n)}${matrix.kernel.length ? `, each ${matrix.kernel.join(" × ")}` : ""}`;
    context.fillText(words, Math.max(first.x + first.w / 2, context.measureText(words).width / 2), first.y + first.h + 20 + layout.portrait.thick);
    context.save();
    const last = drawn.find((box) => box.id[0] === "Z" && box.y === first.y) ?? first;
    context.translate(Math.min(last.x + last.w + 14, frame.width - 10), first.y + first.h / 2);
    context.rotate(Math.PI / 2);
    context.fillText(`m = ${digits(matrix.m)}`, 0, 0);
    context.restore();
    context.textAlign = "start";
  };

  // How many numbers members own: all of a deep ensemble or of a head but what is kept, and otherwise
  // all but the shared weights and the biases of normalization.
  const ownedOf = (scope, method, M) => scope.reduce((sum, layer) => {
    const own = methodOf(layer, method);
    if (!METHODS[own].members) return sum;
    const count = countLayer(layer, own, M);
    const kept = own === DEEP ? layer.kept[1] : isApart(own) ? 0 : layer.biases;
    return sum + count.per_member + count.scales + count.biases - kept;
  }, 0);
  const placeWords = (state, layers, layout) => {
    const method = chosen(state);
    const scope = on.scope(layers);
    const refused = DATA.refused[method];
    for (const zone of zones) zone.hidden = Boolean(refused);
    more.hidden = !refused && layout.high <= frame.height + 2 && layout.wide <= frame.width + 2;
    setText(more, refused ? `${METHODS[method].label} cannot take this model: ${refused}` : "More than fits at this scale: see all");
    markStop(state);
    if (refused) return void canvas.setAttribute("aria-label", more.textContent);
    const { members } = METHODS[method];
    const both = totalOf(countAll(scope, method, state.M));
    const mine = members ? ownedOf(scope, method, state.M) : 0;
    setText(zones[0].firstChild, "Stored once, for all");
    setText(zones[0].lastChild, plural(both - mine, "parameter"));
    setText(zones[1].firstChild, members ? "Stored by each member" : passesOf(method, state.M) > 1 ? "Drawn anew, not stored" : "");
    setText(zones[1].lastChild, members ? `${digits(mine / state.M)} × ${state.M}` : "");
    zones.forEach((zone, k) => {
      const { x, y } = k ? layout.zones.right : layout.zones.left;
      zone.style.transform = `translate(${Math.min(x, frame.width - zone.offsetWidth)}px, ${y - frame.head}px)`;
    });
    zones[1].style.color = members ? `color-mix(in srgb, var(--${method}) 70%, var(--ink))` : "var(--muted)";
    const unit = layout.portrait.w ? on.unit() : 1;
    const stands = roundBelow((26 / unit) ** 2);
    square.style.width = square.style.height = `${Math.sqrt(stands) * unit}px`;
    setText(squareWords, `= ${roundWords(stands)}`);
    canvas.setAttribute("aria-label", `${METHODS[method].label}. ${sentenceOf(method, state.M)} ${zones.map((zone) => [...zone.children].map((part) => part.textContent).join(": ")).join(". ")}.`);
  };

  const markStop = (state) => {
    range.value = state.method ? 0 : state.share;
    slider.classList.toggle("off", Boolean(state.method));
    range.setAttribute("aria-valuetext", METHODS[chosen(state)].label);
    stops.forEach((stop, k) => stop.setAttribute("aria-pressed", chosen(state) === STOPS[k]));
  };

  // What a box is, in words.
  const wordsOf = (box, layers, method) => {
    const layer = layers[box.layer];
    const place = layer ? ` of ${titleOf(layer, box.layer)}` : "";
    const who = METHODS[method].members ? `member ${box.member + 1}` : `sample ${box.member + 1}`;
    const tile = box.tile;
    const size = tile ? plural(tile.size, "parameter") : "";
    if (tile?.count > 1) return `${digits(tile.count)} layers, from ${titleOf(layer, box.layer)} to ${titleOf(layers[tile.to], tile.to)}: ${size}.`;
    if (box.id[0] === "g") return `W${box.member + 1}${place}: computed for ${who}, and stored nowhere.`;
    if (box.id === "W.plain.0" || box.layer < 0 && box.id[0] === "W") return `Normalization, embeddings and the like: ${size}.`;
    if (box.id[0] === "W") return box.member < 0 ? `W${place}, ${digits(tile.m)} × ${digits(tile.columns)}: ${size}, stored once.` : `W${box.member + 1}${place}, ${digits(tile.m)} × ${digits(tile.columns)}: ${size} of ${who} alone.`;
    if (box.id[0] === "Z") return `σ${place}: a standard deviation for each weight, ${size}.`;
    if (box.look === "biases") return `Biases${box.member < 0 ? place : `${place}: those of ${who}`}.`;
    const vector = box.id[0].toLowerCase();
    const length = tile ? `${digits(vector === "r" ? tile.m : tile.n)} numbers` : "all layers together";
    return `${box.look === "scales" ? "σ of " : ""}${vector}${box.member + 1}${place}: ${length}, stored by ${who} alone.`;
  };
  const boxAt = (event) => {
    const { left, top } = canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - left, event.clientY - top];
    const inside = (box, room) => x >= box.x - room && x <= box.x + box.w + room && y >= box.y - room && y <= box.y + box.h + room;
    return drawn.findLast((box) => box.alpha > 0.5 && inside(box, 0)) ?? drawn.findLast((box) => box.alpha > 0.5 && Math.min(box.w, box.h) < 6 && inside(box, 3)) ?? null;
  };

  // In a network of given sizes the corner of a square matrix changes the width.
  let corner = null;
  const cornerAt = (event) => {
    const box = DATA.sizes && !CURVES && boxAt(event);
    if (!box || box.id[0] !== "W" || box.layer < 0) return null;
    const { left, top } = canvas.getBoundingClientRect();
    const near = Math.hypot(event.clientX - left - box.x - box.w, event.clientY - top - box.y - box.h) < 12;
    const hidden = [box.layer > 0, box.layer < on.layers().length - 1];
    return near && (hidden[0] || hidden[1]) ? { box, down: hidden[0] } : null;
  };
  canvas.addEventListener("pointerdown", (event) => {
    corner = cornerAt(event);
    if (corner) canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (corner) {
      const { left, top } = canvas.getBoundingClientRect();
      const side = corner.down ? event.clientY - top - corner.box.y : event.clientX - left - corner.box.x;
      on.widen(Math.round(side / on.unit()));
      return;
    }
    hover = boxAt(event);
    canvas.style.cursor = cornerAt(event) ? "nwse-resize" : hover?.layer >= 0 ? "zoom-in" : "";
    on.hover(hover);
  });
  canvas.addEventListener("pointerup", () => setTimeout(() => (corner = null)));
  canvas.addEventListener("pointerleave", () => on.hover((hover = null)));
  canvas.addEventListener("click", (event) => {
    const box = boxAt(event);
    const { left, top } = canvas.getBoundingClientRect();
    if (!corner && box) on.press(box, [(event.clientX - left - box.x) / box.w, (event.clientY - top - box.y) / box.h]);
  });
  range.addEventListener("input", () => on.drag(Number(range.value)));
  range.addEventListener("change", () => on.slide(Math.round(Number(range.value))));
  onArrows(range, (step) => on.slide(clamp(Math.round(Number(range.value)) + Math.sign(step), 0, STOPS.length - 1)));
  new ResizeObserver(() => on.resized()).observe(field);

  return {
    element, field, under, render, measure, words,
    frame: () => frame,
    wordsOf,
    // What is drawn now is where the next motion begins.
    begin(now) {
      if (!still.matches) motion = { from: new Map(drawn.map((box) => [box.id, box])), start: now };
    },
    shake(now) {
      if (!still.matches) shaken = now + 2600;
    },
    boxes: () => drawn,
    extentOf,
    write,
  };
};
