// The picture: the slider that shares the weights, and a canvas with the words of its two zones.
const [WAY, PAUSE, DRAW] = [520, 250, 450]; // milliseconds of a motion, after which it rests, and between two draws of what varies
const ALL = 128; // cells of a side, up to which each is an entry
const SWEEP = 500; // milliseconds in which a new draw reaches all of a matrix, and in half of which it begins
const FAR = 32; // pixels from a layer, within which a press opens it
const MAGNET = 0.12; // of the way between two stops: so near the slider is at one
const eased = (t) => (t < 0.5 ? 4 * t ** 3 : 1 - (2 - 2 * t) ** 3 / 2);
const SUBSCRIPTS = (number) => [...String(number)].map((digit) => "₀₁₂₃₄₅₆₇₈₉"[digit]).join("");
const STOP_WORDS = ["own matrices", "share W", "r and s vary", "W varies"];
// What the book calls a member's matrix: W, or V where it is random while W is not.
const madeName = (method) => (drawsFactors(method) ? "V" : "W");
// What a member stores of a layer, of which it may draw r and s.
const ownWords = (method, M, brief) => {
  const [who, each] = M > 1 ? ["each member", "Each member"] : ["member 1", "Member 1"];
  return isModulated(method) ? `${brief ? each : `Stored by ${who}`}: ${spreads(method) ? "μ, σ" : "r, s"}, b` : `Stored by ${who}`;
};
const SERIF = '"STIX Two Math", Georgia, "Times New Roman", serif';

// Where members are seen page by page, what turns to the others.
const makePager = (to) => {
  let ends = [];
  const said = make("span");
  const buttons = [["‹", "before"], ["›", "after"]].map(([sign, label], k) => {
    const button = make("button", { type: "button", class: "tool", "aria-label": `Members ${label}` }, sign);
    button.addEventListener("click", () => to(Math.max(0, ends[k])));
    return button;
  });
  const element = make("div", { class: "others" }, ...buttons, said);
  const show = (begin, end, each, count, members) => {
    element.hidden = end - begin >= count;
    ends = [begin - each, end];
    buttons.forEach((button, k) => (button.disabled = ends[k] <= -each || ends[k] >= count));
    setText(said, `${members ? "member" : "sample"}${each > 1 ? `s ${begin + 1} to` : ""} ${end} of ${count}`);
  };
  return { element, show };
};

const inked = (context, size, textAlign = "start") => Object.assign(context, { fillStyle: plainColor("muted"), font: `${size}px system-ui, sans-serif`, textAlign });

const makeStage = (on) => {
  const canvas = make("canvas", { class: "canvas", role: "img" });
  const zones = ["left", "right"].map((side) => make("p", { class: `zone ${side}` }, make("strong", {}, "Stored once"), " ", make("span")));
  const sum = make("p", { class: "sum", role: "status" });
  const words = make("p", { class: "pointed", role: "status" });
  const refusal = make("p");
  const looks = [...Object.entries(ROLE_WORDS), ["faint", "attention, fainter"], ["made", "computed, not stored"], ["lent", "the one copy, used as it is"]].map(([look, text]) => make("span", { "data-role": look }, make("i", { class: `segment ${look}` }), text));
  const [square, squareWords] = [make("i", { class: "square" }), make("span")];
  const note = make("p", { class: "drawn" });
  const key = make("p", { class: "key" }, ...looks);
  const scale = make("p", { class: "unit" }, square, squareWords);
  const range = make("input", { type: "range", min: 0, max: STOPS.length - 1, step: "any", "aria-label": "Share the weights" });
  const stops = STOPS.map((method, k) => {
    const stop = make("button", { type: "button", class: "stop", style: `--own: var(--${method})` }, make("strong", {}, STOP_WORDS[k]), make("small", {}, METHODS[method].label));
    stop.addEventListener("click", () => on.slide(k));
    return stop;
  });
  const slider = make("div", { class: "share" }, range, make("div", { class: "stops" }, ...stops));
  const gauge = makeGauge(on);
  const pager = makePager(on.turn);
  const field = make("div", { class: "field" }, ...zones, canvas, refusal, pager.element);
  const tools = make("div", { class: "tools" }, make("div", { class: "said" }, words, note));
  const under = make("div", { class: "under" }, key, scale, tools);
  const element = make("section", { class: "stage", "aria-label": "The picture" }, gauge.element, slider, sum, field, under);

  let drawn = []; // the boxes of the last frame
  let motion = null; // { from, start }
  let [old, drawnAt] = [null, -Infinity]; // the state before a new draw, and when that was
  let wide = 0; // the field, or 0 while it is hidden
  let redrawn = 0; // until when what varies is drawn again and again
  let [last, rested] = [-PAUSE, 0]; // when it was drawn, and what draws it once nothing moves
  let [frame, crowd, near, block] = [{}, {}, {}, {}]; // of a model, of a crowd of them, and of a layer or a block alone, without curves
  let [placed, marked, described, shaded] = ["", "", "", false]; // where the zones stand, what is chosen, of what the key is, whether values are seen
  const composed = new Map();

  const measure = () => {
    wide = field.clientWidth;
    const width = (wide || 300) - 2 * parseFloat(getComputedStyle(field).paddingLeft);
    const narrow = width < NARROW;
    const curves = CURVES ? CURVE_HIGH : 0;
    frame = { width, head: narrow ? 26 : 52, above: 22 + curves, height: narrow ? (START.method ? 440 : 360) : 470 + curves, words: (CURVES ? 0.3 : 0.2) * width, curves };
    crowd = { ...frame, height: Math.max(frame.height, narrow ? 720 : 0) };
    [near, block] = [clamp(0.4 * width, 420, 470), 500].map((height) => ({ ...frame, above: 22, curves: 0, height: narrow ? 700 : height }));
    composed.clear();
  };
  const frameOf = (state) => (!isWhole(state) ? near : !isAll(state) ? block : state.M > CROWD ? crowd : frame);
  const contentOf = (state, layers) => cached(`content ${state.width} ${state.depth} ${partOf(state)} ${isAll(state) ? "" : `${state.layer}.${state.matrix}`} ${state.more}`, () => tilesOf(layers, onlyOf(state), fitted(state)));
  const cached = (name, of) => {
    if (!composed.has(name)) {
      if (composed.size > 24) composed.clear();
      composed.set(name, of());
    }
    return composed.get(name);
  };
  const keyOf = (state, unit) => `${state.width} ${state.depth} ${isAll(state) ? "all" : `${partOf(state)} ${state.layer}.${state.matrix} ${state.member}`} ${state.more} ${state.M} ${unit}`;
  const layoutOf = (state, layers, method, unit) =>
    cached(`${method} ${keyOf(state, unit)}`, () => compose(contentOf(state, layers), method, state.M, unit, frameOf(state), extentOf(state, layers, unit).seen, state.member));
  // What all stops take at most, so that sharing moves nothing but the weights.
  const extentOf = (state, layers, unit) =>
    cached(`extent ${keyOf(state, unit)}`, () => {
      const [content, methods, frame] = [contentOf(state, layers), fitted(state), frameOf(state)];
      const seen = seenOf(content, state.M, unit, frame, methods);
      const rooms = methods.map((method) => roomsOf(content, method, state.M, unit, frame, seen));
      const [high, wide] = ["high", "wide"].map((side) => Math.max(...rooms.map((room) => room[side])));
      return { seen, high: clamp(high, 120, frame.height), lost: !isWithin({ high, wide }, frame, 2), small: high < 0.45 * frame.height && wide < 0.6 * frame.width };
    });
  // The boxes that a state asks for: at a stop, or between two, where members stand between their places.
  const target = (state, layers, unit) => {
    const [from, to, share] = wayOf(state);
    const [a, b] = [from, to].map((method) => layoutOf(state, layers, method, unit));
    const boxes = between(a, b, share);
    if (!share) return { boxes, layout: a };
    const mixed = (one, other) => ({ x: lerp(one.x, other.x, movedAt(share, from)), y: lerp(one.y, other.y, movedAt(share, from)) });
    return { boxes, layout: { ...(share < 0.5 ? a : b), slotOf: (i) => mixed(a.slotOf(i), b.slotOf(i)), zones: { left: a.zones.left, right: mixed(a.zones.right, b.zones.right) } } };
  };

  // On the way to a distribution, and where one is reached, each draw makes another matrix; what is stored rests.
  const isRedrawn = ({ share, method }, now) => !still.matches && !method && share > 1 && (now < redrawn || share < 2);
  const isSweeping = (now) => now < drawnAt + 1.5 * SWEEP;
  // What a box looks like from near: the values of its matrix, or of its r or s; what is small has those of its member's first matrix.
  const texturing = (state, layers, high, now) => (box) => {
    const { tile } = box;
    if (!box.texture || box.layer < 0 || (box.tile.count && !box.inner) || box.y > high || (box.inner && box.look !== "made")) return null;
    const near = !isWhole(state);
    const draws = isRedrawn(state, now) ? 1 + (Math.floor(Math.abs(redrawn - now) / DRAW) % 8) : 0;
    if (tile.rows === 1 && tile.plain) return null; // nothing is known of them
    if (!box.inner && (Math.max(box.w, box.h) < 24 || (!near && Math.min(box.w, box.h) < 24))) return null;
    const { layer, matrix, member, texture: as } = box;
    const [computed, all] = [box.look === "made", document.querySelector(".slider:active") ? 24 : ALL]; // in a hand it is to be quick
    const imageOf = (from) => textureImage(`${layer}.${matrix} ${as} ${member} ${near} ${computed ? `${from.draw + draws} ${chosen(from)}` : ""} ${tile.m} ${tile.n} ${all}`, computed ? 230 : near ? (theme() === "dark" ? 130 : 180) : 56, () => texture({ ...from, layer, matrix, draw: from.draw + draws }, layers[layer], as, member, near ? 40 : 24, all));
    shaded = true;
    // First r and s are drawn, then their matrix follows.
    return as === "made" && isSweeping(now) ? sweptImage(imageOf(old), imageOf(state), clamp((now - drawnAt) / SWEEP - 0.5, 0, 1)) : imageOf(state);
  };

  const render = (state, layers, unit, lit, now) => {
    const [from, to, share] = wayOf(state);
    const refused = DATA.refused[chosen(state)];
    const inNumbers = state.view === "numbers";
    for (const part of [canvas, ...zones, under]) part.hidden = inNumbers;
    refusal.hidden = inNumbers || !refused;
    element.classList.toggle("refused", Boolean(refused)); // what it has no words for keeps its room
    const earlier = on.earlier();
    markStop(state, layers);
    if (inNumbers) {
      pager.element.hidden = true;
      return false;
    }
    const { boxes: goal, layout } = target(state, layers, unit);
    let boxes = goal;
    if (motion) {
      const along = clamp((now - motion.start) / WAY, 0, 1);
      if (along < 1) boxes = between({ boxes: motion.from }, { boxes: new Map(goal.map((box) => [box.id, box])) }, eased(along));
      else motion = null;
    }
    drawn = boxes;
    const { high: most } = extentOf(state, layers, unit);
    // Where no stops are shown what is not used is not kept free.
    const high = fitted(state) !== STOPS && !share && !motion ? clamp(layout.high, 120, most) : most;
    clearTimeout(rested);
    const rough = coarse.matches && now - last < PAUSE;
    if (rough) rested = setTimeout(on.ask, PAUSE);
    last = now;
    const context = sizedCanvas(canvas, frame.width, high, rough);
    context.imageSmoothingEnabled = false;
    if (refused) {
      drawn = [];
      pager.element.hidden = true;
      setText(refusal, `${METHODS[chosen(state)].label} cannot take this model: ${refused}`);
      canvas.setAttribute("aria-label", refusal.textContent);
      return false;
    }
    const owns = [colorOf(from), colorOf(to)];
    shaded = false;
    const { home, portrait: { left, top, w, h } } = layout;
    if (layout.vacant && !motion && state.M <= CROWD) {
      const [wide, high] = [w - left, h - top].map((side) => Math.min(layout.vacant, side));
      drawDashed(context, plainColor("muted"), [2, 5], home.x + left, home.y + top, wide, high);
      // Where its zone has its words below it, it says itself what it is.
      if (!share && layout.zones.left.y > home.y && wide > 50) ["nothing", "is stored", "once"].forEach((words, k) => inked(context, 12, "center").fillText(words, home.x + left + wide / 2, home.y + top + high / 2 + 15 * k - 11));
    }
    const made = isWhole(state) ? (theme() === "dark" ? 0.7 : 0.5) : 0.8;
    drawBoxes(context, boxes, { owns, lit, width: frame.width, height: high, textureOf: texturing(state, layers, high, now), made });
    if (!motion) {
      if (earlier) drawEarlier(context, tilesOf(earlier).tiles, unit);
      if (CURVES && isWhole(state)) placeCurves(context, layout, state);
      write(context, boxes, layout, state, frameOf(state));
      if (!isWhole(state) && !share) nameEdges(context, layout, chosen(state));
    }
    placeWords(state, layers, layout);
    const told = `${from} ${chosen(state)} ${state.view} ${keyOf(state, unit)}`;
    if (described !== told || (!share && !motion)) describe(state, layers, layout, goal);
    described = told;
    return Boolean(motion) || isRedrawn(state, now) || isSweeping(now);
  };

  // Upon what it became, the network whose size a text has changed.
  const drawEarlier = (context, tiles, unit) => {
    Object.assign(context, { fillStyle: plainColor("page"), lineWidth: 2, font: "12px system-ui, sans-serif" });
    for (const { id, tile, x, y, w, h } of drawn) {
      const was = id[0] === "W" && tiles.find((one) => one.id === tile.id);
      if (!was || was.w * unit > w || was.h * unit > h || Math.min(w, h) < 40) continue;
      drawDashed(context, plainColor("page"), [5, 4], x, y, was.w * unit, was.h * unit);
      context.fillText("before", x + 6, y + was.h * unit - 8);
    }
    context.lineWidth = 1;
  };
  // What is what, in words: on the canvas, and in a loop that is saved.
  const write = (context, boxes, layout, state, frame) => {
    numberMembers(context, layout, state, frame);
    if (!wayOf(state)[2]) nameParts(context, boxes, state, layout);
  };
  const numberMembers = (context, layout, state, frame) => {
    const { has_members: members } = METHODS[chosen(state)];
    if (layout.ghosts > CROWD) return;
    inked(context, 13);
    const [from, to, along] = wayOf(state);
    context.globalAlpha = METHODS[to].has_members ? 1 : clamp(8 * Math.abs(along - 0.5) - 3, 0, 1); // they fade where others come
    const { left, top } = layout.portrait;
    const room = Math.min(layout.slot.w - 6, frame.width - left - layout.slotOf(layout.across - 1).x);
    const word = members ? "member " : "sample ";
    const named = context.measureText(`${word}${layout.ghosts}`).width < room ? word : "";
    for (let i = 0; i < layout.ghosts; i += 1) {
      const { x, y } = layout.slotOf(i);
      if (y < frame.height) context.fillText(`${named}${layout.first + i + 1}`, x + left, y - layout.above + 15 + Math.min(top, 4));
    }
    context.globalAlpha = 1;
  };
  const placeCurves = (context, layout, state) => {
    const { home, portrait: { left, w } } = layout;
    if (layout.ghosts > CROWD) return; // there is no room above them
    const beside = 2 * (w + GAP) + GAP;
    // All are laid over each other, on a phone beside what is stored once.
    const all = frame.width < NARROW ? { x: beside, y: home.y + 16, w: frame.width - beside - 4, h: layout.zones.left.y - home.y } : { x: left, y: 22, w: frame.words - left - 2 * GAP, h: CURVE_HIGH - 12 };
    inked(context, 13);
    context.fillText("all predictions", all.x, all.y - 8);
    const rows = Array.from({ length: layout.ghosts }, (_, i) => curveOf(state, i)).filter(Boolean);
    drawGap(context, all, 0.2, "no data");
    drawSpread(context, rows, colorOf(chosen(state)), all);
    for (let i = 0; i < layout.ghosts; i += 1) {
      const [at, row, color] = [layout.slotOf(i), curveOf(state, i), colorOf(chosen(state))];
      if (!row) continue;
      drawCurve(context, row, color, all, 1.25);
      const own = { x: at.x + left, y: at.y - layout.above + 22, w: w - left, h: CURVE_HIGH - 12 };
      drawGap(context, own, 0.1);
      drawCurve(context, row, color, own, 2);
    }
  };
  // What is what, written where it stands: upon matrices with room for it, and at the vectors of member 1.
  const nameParts = (context, boxes, state, layout) => {
    const seen = boxes.filter((box) => box.alpha > 0.9);
    const doubled = seen.some(({ id }) => id[0] === "Z");
    const vectors = seen.some(({ id }) => id[0] === "r");
    const middle = on.earlier() ? 0.75 : 0.5; // beside the corner of what was before
    const upon = (box, words, color) => {
      context.font = `italic 28px ${SERIF}`;
      const size = Math.min(28, box.h / 2.5, 0.65 * box.w, (23 * box.w) / context.measureText(words).width);
      if (size < 13) return;
      context.font = `italic ${size}px ${SERIF}`;
      context.fillStyle = plainColor(color);
      context.fillText(words, box.x + middle * box.w, box.y + middle * box.h + size / 3);
    };
    context.textAlign = "center";
    if (isWhole(state)) {
      for (const box of seen) {
        const told = { none: "no σ", lent: box.member > layout.first ? "" : "used as it is" }[box.look];
        if (told && box.w > 8 * told.length && box.h > 12) inked(context, 12, "center").fillText(told, box.x + box.w / 2, box.y + box.h / 2 + 4);
        if (box.inner || box.layer < 0 || box.tile.count) continue;
        const own = box.member >= 0 ? SUBSCRIPTS(box.member + 1) : "";
        if (box.id[0] === "W") upon(box, box.tile.plain ? `table${own}` : doubled ? "μ" : `W${own}`, box.faint ? "ink" : "page");
        if (box.id[0] === "Z") upon(box, "σ", "ink");
        if (box.id[0] === "g") upon(box, doubled ? "μ + σ ∘ ε" : vectors ? "W ∘ r sᵀ" : "", "ink");
      }
      // What each member has of a last layer that is hardly seen.
      const head = seen.find((box) => box.inner && box.look === "per_member" && box.tile?.head && box.member === layout.first && METHODS[chosen(state)].body && Math.min(box.w, box.h) < 8);
      if (head) {
        const { x, y, w, h, layer } = head;
        Object.assign(inked(context, 12), { fillStyle: plainColor("ink") }).fillRect(x + w / 2 - 1, y + h + 2, 2, 4);
        const said = `${titleWithin(on.layers(), layer)}: ${plural(totalOf(countLayer(on.layers()[layer], chosen(state), 1)), "parameter")}`;
        context.fillText(said, Math.min(x, frame.width - context.measureText(said).width), y + h + 18);
      }
      if (isAll(state)) nameLayers(context, seen, layout);
      else nameWithin(context, seen, layout);
    }
    nameVectors(context, seen, !isWhole(state), layout.first, madeName(chosen(state)));
  };
  // r and s of the first member at their ends; and all parts of a layer that is a line, at their ends.
  const nameVectors = (context, seen, near, first, computed) => {
    Object.assign(context, { fillStyle: plainColor("ink"), textAlign: "start" });
    const [doubled, drawn] = ["Z", "d"].map((sign) => seen.some(({ id }) => id[0] === sign));
    for (const { id, member, tile, x, y, w, h } of seen) {
      if (member > first) continue;
      if (!tile) {
        context.font = `italic 12px ${SERIF}`;
        if ("rs".includes(id[0]) && frame.width > NARROW) context.fillText(id[0], x + w + 3, y + h / 2 + 3);
        continue;
      }
      const [letter, ratio] = [id[id[0] === "d" ? 1 : 0], tile.w / tile.h];
      const down = letter.toLowerCase() === "r";
      const line = near && Math.max(ratio, 1 / ratio) > 6;
      context.font = `italic 14px ${SERIF}`;
      if (line) {
        if (tile.plain || Math.min(w, h) < 4) continue; // they have no letters, or are too close to each other
        const name = `${{ g: computed, W: doubled ? "μ" : "W", Z: "σ", R: "σ", S: "σ", B: "σ" }[letter] ?? letter}${member < 0 || "RSZB".includes(letter) ? "" : SUBSCRIPTS(member + 1)}`;
        if (down || (ratio < 1 && member < 0 && !"bB".includes(letter))) context.fillText(name, x + w / 2 - 5, member < 0 ? y - 6 : y + h + 14);
        else context.fillText(name, x + w + 5, y + Math.min(h / 2 + 5, 14));
      } else if (member >= 0 && "rsRS".includes(letter) && (drawn ? Math.max(w, h) > 110 : /r|s/.test(letter)) && Math.min(1, down ? ratio : 1 / ratio) * Math.max(w, h) >= 50) {
        // Beside what is drawn its mean has the name of one.
        const name = !drawn || id[0] === "d" ? letter : "RS".includes(letter) ? "σ" : "μ";
        const [long, before] = [context.measureText(name).width, near && frame.width < NARROW]; // on a phone there is no room at their ends
        context.fillText(name, ...(down ? [x + w / 2 - long / 2, before ? y + h + 12 : y - 4] : [before ? x - long - 4 : x + w + 4, y + h / 2 + 4]));
      }
    }
  };
  // Which layer a matrix is of, in its corner where there is room, or at the end of a line; of many which block, in the middle: of member 1, or of what all have.
  const nameLayers = (context, boxes, { portrait, across, ghosts, slotOf, first }) => {
    const next = boxes.find(({ id }) => id[0] === "Z"); // what stands beside what all have
    for (const { id, member, layer, name, tile, inner, faint, x, y, w, h } of boxes) {
      if (id[0] !== "W" || member > first || layer < 0) continue;
      inked(context, 12);
      const fits = (words) => context.measureText(words).width < w - 6;
      const title = titleOf(on.layers()[layer], layer);
      const words = inner ? [name || `${title}, ${tile.kind}`, name || title, (name || title).replace(/^(block|layer) /, "")].find(fits) : title;
      const long = context.measureText(words).width;
      context.fillStyle = plainColor(faint ? "ink" : "page");
      Object.assign(context, inner && { textAlign: "center", font: "600 12px system-ui, sans-serif" });
      if (name !== undefined && words && h > 10) context.fillText(words, x + w / 2, y + h / 2 + 4);
      if (inner) continue;
      if (h > (tile.count ? 20 : 80) && fits(words)) context.fillText(words, x + 5, y + 15);
      context.fillStyle = plainColor("muted");
      if (member === 0 && ghosts > CROWD) continue;
      const end = member < 0 ? next?.x || slotOf(0).x || frame.width : across > 1 ? slotOf(1).x + portrait.left : frame.width;
      const [before, beside] = [member === 0 && x - long > 4, x + w + 5 + long < end];
      if (h < 20 && w > 80 && (before || beside || (member < 0 && w > long))) context.fillText(words, before ? x - long - 5 : beside ? x + w + 5 : x, before || beside ? y + h / 2 + 4 : y - 5);
      if (w < 20 && h > 80 && !next) writeAlong(context, words, x + w + 16 < frame.width ? x + w + 4 : x - 15, y + h / 2 - long / 2, Math.PI / 2);
    }
  };
  // Above each layer of a block its name, or the end of it.
  const nameWithin = (context, boxes, { first }) => {
    inked(context, 12);
    for (const { id, member, layer, x, y, w } of boxes) {
      if (id[0] !== "W" || member > first) continue;
      const long = titleWithin(on.layers(), layer);
      const name = context.measureText(long).width < w + GAP ? long : long.split(".").at(-1);
      context.fillText(name, Math.min(x, frame.width - context.measureText(name).width), y - 5);
    }
  };
  // Below a matrix its m and n, and below one that is not stored what makes it.
  const nameEdges = (context, { first, rows }, method) => {
    inked(context, 13, "center");
    const below = ({ x, y, w, h }, longest, shortest) => {
      const words = context.measureText(longest).width < w ? longest : shortest;
      const low = Math.max(...drawn.filter((box) => "WgpZbB".includes(box.id[0]) && box.x === x && (box.member < 0 || (box.y >= y && box.y < y + h + 2 * GAP))).map((box) => box.y + box.h));
      context.fillText(words, Math.max(x + w / 2, context.measureText(words).width / 2), low + 17);
    };
    const matrix = drawn.find(({ id, member, alpha }) => id[0] === "W" && member <= first && alpha > 0.9);
    if (!matrix) return;
    const { plain, rows: m, n, kernel } = matrix.tile;
    const groups = groupsOf(matrix.tile);
    const sides = (...words) => {
      const [rows, columns] = [m, n / groups].map((count, k) => (words.length ? plural(count, words[k]) : digits(count)));
      return `${spreads(method) && !isModulated(method) ? "μ: " : ""}m = ${rows}, n = ${groups > 1 ? `${groups} × ` : ""}${columns}${kernel.length ? `, each ${kernel.join(" × ")}` : ""}${matrix.tile.cut && words.length ? " (not to shape)" : ""}`;
    };
    if (rows < 2 || matrix.member < 0) below(matrix, ...(plain ? [m > 1 ? `${plural(m, "row")}, ${plural(n, "column")}` : plural(n, "number"), ""] : [sides("input", "output"), sides()]));
    for (const box of rows > 1 ? [] : drawn) {
      if (Math.min(box.w, box.h) < 90) continue;
      if (box.id[0] === "Z") below(box, "σ, standard deviations", "σ");
      const name = `${madeName(method)}${SUBSCRIPTS(box.member + 1)}`;
      const formula = isModulated(method) ? "W ∘ r sᵀ" : spreads(method) ? "μ + σ ∘ ε" : "";
      if (box.id[0] === "g") below(box, formula ? `${name} = ${formula}, computed` : "", `${name}: computed`);
    }
    context.textAlign = "start";
  };

  // How many numbers members own: all of a deep ensemble or of a head but what is kept, and otherwise
  // all but the shared weights and the biases of normalization.
  const ownedOf = (scope, method, M) => (!METHODS[method].has_members ? 0 : onLine(scope, `owned in ${method}`, M, (size) => ({
    own: scope.reduce((sum, layer) => {
      const own = methodOf(layer, method);
      if (!METHODS[own].has_members) return sum;
      const count = countLayer(layer, own, size);
      const kept = own === DEEP ? layer.kept[1] : isApart(own) ? 0 : layer.biases;
      return sum + count.per_member + count.stds + count.biases - kept;
    }, 0),
  })).own);
  const placeWords = (state, layers, layout) => {
    const method = chosen(state);
    const scope = on.scope(layers);
    const mine = ownedOf(scope, method, state.M);
    const once = totalOf(countAll(scope, method, state.M)) - mine;
    const { has_members: members } = METHODS[method];
    setText(zones[0].lastChild, once ? `${digits(once)} × 1` : "nothing");
    setText(zones[1].firstChild, layout.lent ? (state.M > 1 && members ? "Each member uses this one copy" : "") : members ? ownWords(method, state.M, layout.pair) : passesOf(method, state.M) > 1 ? "Drawn anew, not stored" : "");
    setText(zones[1].lastChild, members && !layout.lent ? (mine ? `${digits(mine / state.M)} × ${state.M}` : "nothing") : "");
    const { left, right } = layout.zones;
    const place = `${[left.y, right.x, right.y].map(Math.round)} ${frame.width} ${method}`;
    if (place === placed) return;
    placed = place;
    field.classList.toggle("pair", Boolean(layout.pair));
    zones[0].style.width = `${right.x > left.x ? right.x - left.x - 6 : frame.width}px`;
    zones[1].style.width = `${frame.width - right.x}px`;
    zones.forEach((zone, k) => (zone.style.transform = `translate(${[left, right][k].x}px, ${[left, right][k].y}px)`));
    zones[1].style.color = members ? `color-mix(in srgb, var(--${method}) 70%, var(--ink))` : "var(--muted)";
  };
  // What all is, or will be once it rests: the key, and the picture in words.
  const describe = (state, layers, layout, goal) => {
    const method = chosen(state);
    const content = contentOf(state, layers);
    const count = countAll(on.scope(layers), method, state.M);
    const { has_members: members } = METHODS[method];
    element.classList.toggle("packed", !content.shaped || content.block);
    key.style.setProperty("--own", toneOf(on.scope(layers), method));
    key.style.setProperty("--most", `var(--${isApart(method) && !METHODS[method].body ? "own" : "shared"})`);
    for (const look of looks) {
      const { role } = look.dataset;
      if (/shared|made/.test(role)) setText(look.lastChild, role === "made" ? `${spreads(method) ? "drawn" : "computed"}, not stored` : isSolo(method) ? "weights" : ROLE_WORDS.shared);
      look.hidden = role === "faint" ? !goal.some(({ faint }) => faint) : role in count ? !count[role] : !goal.some((box) => box.look === role);
    }
    const unit = on.unit();
    const stands = roundBelow((26 / unit) ** 2);
    square.style.width = square.style.height = `${Math.sqrt(stands) * unit}px`;
    const stood = squareWords.textContent;
    setText(squareWords, `= ${roundWords(stands)}`);
    // Another scale is seen to be one.
    if (stood && stood !== squareWords.textContent && !still.matches) square.animate([{ scale: 1.5 }, { scale: 1 }], 600);
    const thick = content.shaped ? thinnest(content, unit) > unit && content.tiles.some(({ plain }) => !plain) : goal.some(({ numbers, w, h }) => 1.1 * numbers * unit ** 2 < w * h);
    setText(note, [
      isWhole(state) ? "Press a layer to open it." : shaded ? `Fainter: closer to 0${DATA.values && !isApart(method) ? "" : " (example values)"}.` : "",
      !content.shaped ? "Each block's area is to scale, its shape is not." : content.tiles.some(({ cut }) => cut) ? "The area is to scale; with a break its shape is not." : "",
      thick ? "Thin strips are thicker than to scale." : "",
    ].filter(Boolean).join(" "));
    pager.show(layout.first, layout.first + layout.ghosts, layout.seen, layout.ghosts && state.M, members);
    canvas.setAttribute("aria-label", `${METHODS[method].label}. ${sum.lastChild.textContent} ${zones.filter((zone) => zone.lastChild.textContent).map((zone) => [...zone.children].map((part) => part.textContent).join(": ")).join(". ")}.${on.earlier() ? " Dashed upon it: the network before." : ""}`);
  };

  const markStop = (state, layers) => {
    const method = chosen(state);
    if (Number(range.value) !== state.share) range.value = state.share;
    const layer = isWhole(state) ? null : layers[state.layer];
    const along = wayOf(state)[2] > 0;
    const said = `${method} ${state.M} ${Boolean(state.method)} ${layer?.name} ${along}`;
    if (said === marked) return;
    marked = said;
    slider.classList.toggle("off", Boolean(state.method));
    element.classList.toggle("solo", isSolo(method));
    range.setAttribute("aria-valuetext", METHODS[method].label);
    stops.forEach((stop, k) => stop.setAttribute("aria-pressed", method === STOPS[k]));
    sum.replaceChildren(...(along ? [WAYS[Math.floor(state.share)]] : [make("b", {}, `${METHODS[method].label[0].toUpperCase()}${METHODS[method].label.slice(1)}. `), sentenceOf(method, state.M, layer)]));
  };

  // What a box is, in words.
  const wordsOf = ({ tile, member, id, look, numbers, layer: at }, layers, method) => {
    const [letter, layer] = [id[id[0] === "d" ? 1 : 0], layers[at]];
    if (tile?.count > 1) return `${digits(tile.count)} layers, from ${titleOf(layer, at)} to ${titleOf(layers[tile.to], tile.to)}: ${plural(tile.size, "parameter")}.`;
    const who = `${METHODS[method].has_members ? "member" : "sample"} ${member + 1}`;
    const mean = look === "per_member" && "rs".includes(letter) && spreads(method);
    const of = `${mean ? "μ of " : ""}${{ g: madeName(method), p: "W", R: "r", S: "s", Z: "W", B: "b" }[letter] ?? letter}${member < 0 ? "" : SUBSCRIPTS(member + 1)}`;
    const name = at < 0 ? (tile ? "Normalization and the like" : `${{ r: "r", R: "σ of r", s: "s", S: "σ of s", b: "Biases" }[letter]} of all layers`) : tile.plain ? (layer.table ? "Table" : "Numbers") : letter === "b" ? "Biases" : look === "stds" ? `σ of ${of}` : of;
    const [m, n] = [tile?.m, tile?.n];
    const length = !tile ? numbers : /^[rR]/.test(letter) ? m : /^[sS]/.test(letter) ? n : look === "biases" || letter === "B" ? tile.bias : tile.size;
    const owner = look === "none" ? "with no standard deviation" : look === "made" ? `computed for ${who}, and stored nowhere` : look === "lent" ? `${who} uses the one copy that is stored` : member < 0 ? (isSolo(method) ? "stored once" : ROLE_WORDS.shared) : `of ${who} alone`;
    return `${name}${layer ? ` of ${titleOf(layer, at)}` : ""}: ${length ? `${plural(length, "number")}, ` : ""}${owner}.`;
  };
  // What is pointed at, or what a press opens there: if it is no layer the nearest.
  const boxAt = (event, opens) => {
    const { left, top } = canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - left, event.clientY - top];
    const away = (box) => Math.max(box.x - x, x - box.x - box.w, box.y - y, y - box.y - box.h, 0);
    const seen = drawn.filter(({ alpha, tile, look, layer }) => alpha > 0.5 && (tile || look !== "made") && (!opens || layer >= 0));
    const thin = (box) => away(box) <= 12 - Math.min(box.w, box.h) / 2; // 24 pixels of it
    return seen.findLast((box) => !away(box)) ?? seen.findLast(thin) ?? seen.filter((box) => opens && away(box) <= FAR).sort((one, other) => away(one) - away(other))[0];
  };

  canvas.addEventListener("pointermove", (event) => {
    const hover = boxAt(event) ?? null;
    canvas.style.cursor = hover?.layer >= 0 || boxAt(event, true) ? "zoom-in" : "";
    on.hover(hover);
  });
  canvas.addEventListener("pointerleave", () => on.hover(null));
  canvas.addEventListener("click", (event) => {
    const box = boxAt(event, true);
    const { left, top } = canvas.getBoundingClientRect();
    if (box) on.press(box, [(event.clientX - left - box.x) / box.w, (event.clientY - top - box.y) / box.h]);
  });
  range.addEventListener("input", () => {
    const [at, stop] = [Number(range.value), Math.round(Number(range.value))];
    on.drag(Math.abs(at - stop) < MAGNET ? stop : at);
  });
  range.addEventListener("change", () => on.slide(Math.round(Number(range.value))));
  onArrows(slider, (step) => on.step(Math.sign(step)));
  new ResizeObserver(() => field.clientWidth !== wide && on.resized(!wide)).observe(field);

  return {
    element, field, tools, gauge, render, measure, words,
    frame: frameOf,
    isShown: () => wide > 0,
    wordsOf,
    // What is drawn now is where the next motion begins; one that is on its way may go on, to another end.
    begin(now, goesOn = false) {
      on.hover(null);
      if (!still.matches && !(motion && goesOn)) motion = { from: new Map(drawn.map((box) => [box.id, box])), start: now };
    },
    sweep(state, now) {
      if (!still.matches && !isWhole(state) && isModulated(chosen(state))) [old, drawnAt] = [state, now];
    },
    redraw: (now) => (redrawn = now + 3 * DRAW),
    boxes: () => drawn,
    boxesOf: (state, layers, unit) => between(layoutOf(state, layers, chosen(state), unit), null, 0),
    extentOf,
    write,
  };
};
