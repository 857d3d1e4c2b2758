// The way through the stops as a picture that moves: an SVG that repeats itself and needs no script.
const [HOLD, MOVE, FADE] = [1.8, 1, 0.25]; // seconds at a stop, on the way to the next, and until words are gone
const STEPS = 16; // of a way
const LOOP = { width: 960, head: 52, above: 22, height: 360, words: 230 };
const [LEFT, TOP_ROOM] = [20, 86]; // pixels beside and above the picture
const tenths = (number) => Math.round(number * 10) / 10;
const escaped = (text) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

// What writes on a canvas, writes with it into an SVG.
const makePen = () => {
  const ruler = new OffscreenCanvas(1, 1).getContext("2d");
  return {
    words: "", font: "", fillStyle: "", textAlign: "start",
    measureText(words) {
      ruler.font = this.font;
      return ruler.measureText(words);
    },
    fillRect(x, y, w, h) {
      this.words += `<path d="M${tenths(x)} ${tenths(y)}h${w}v${h}h${-w}z" fill="${this.fillStyle}"/>`;
    },
    fillText(words, x, y, turned = "") {
      const anchor = { center: "middle", end: "end" }[this.textAlign] ?? "start";
      this.words += `<text x="${tenths(x)}" y="${tenths(y)}" fill="${this.fillStyle}" text-anchor="${anchor}"${turned} style="${escaped(`font: ${this.font}`)}">${escaped(String(words))}</text>`;
    },
  };
};

const loopOf = (state, layers, name, write) => {
  const stops = STOPS.filter((method) => !DATA.refused[method]);
  const content = tilesOf(layers);
  const unit = fitting(content, state.M, LOOP);
  const layouts = stops.map((method) => compose(content, method, state.M, unit, LOOP));
  const seconds = stops.length * (HOLD + MOVE);
  const timed = (times) => `dur="${seconds}s" repeatCount="indefinite" keyTimes="${times.map((time) => +(time / seconds).toFixed(4)).join(";")}"`;
  // Words come and go before what they stand beside has moved far.
  const fading = (k) => {
    const [begin, end] = [0, HOLD].map((time) => k * (HOLD + MOVE) + time);
    const [times, shown] = k ? [[0, begin - FADE, begin, end, end + FADE, seconds], "0;0;1;1;0;0"] : [[0, end, end + FADE, seconds - FADE, seconds], "1;1;0;0;1"];
    return `<animate attributeName="opacity" values="${shown}" ${timed(times)}/>`;
  };
  const [gray, muted] = [plainColor("shared"), plainColor("muted")];
  const colors = stops.map(colorOf);
  const tones = stops.map((method, k) => (METHODS[method].has_members ? colors[k] : gray));

  // What is seen at each moment is what the screen shows there; what moves alike is one group, and what looks alike
  // stands once in the file.
  const frames = layouts.flatMap((layout, k) => {
    const next = (k + 1) % stops.length;
    const at = (time, boxes) => ({ time: k * (HOLD + MOVE) + time, boxes: new Map(boxes.map((box) => [box.id, box])), owns: [colors[k], colors[next]] });
    const way = Array.from({ length: STEPS - 1 }, (_, j) => (j + 1) / STEPS);
    return [0, HOLD].map((time) => at(time, between(layout, layout, 0))).concat(way.map((share) => at(HOLD + share * MOVE, between(layout, layouts[next], eased(share)))));
  });
  frames.push({ ...frames[0], time: seconds });
  const track = (of, tag) => {
    const kept = frames.map(({ time }, k) => [time, of[k]]).filter((_, k) => !k || k === frames.length - 1 || of[k] !== of[k - 1] || of[k] !== of[k + 1]);
    return kept.some(([, value]) => value !== of[0]) ? `<${tag} values="${kept.map(([, value]) => value).join(";")}" ${timed(kept.map(([time]) => time))}/>` : "";
  };
  const [groups, shapes] = [new Map(), new Map()];
  for (const id of new Set(frames.flatMap(({ boxes }) => [...boxes.keys()]))) {
    const there = frames.map(({ boxes }) => boxes.get(id));
    const at = there.map((box, k) => box ?? there.slice(0, k).findLast(Boolean) ?? there.find(Boolean));
    const { w, h, look, inner } = at.reduce((best, box) => (box.w * box.h > best.w * best.h ? box : best));
    const { x, y } = at[0];
    const kind = { biases: "outline", stds: Math.min(w, h) < 3 ? "faint" : "hatched", made: inner ? "inner" : "dashed", lent: "lent", none: "dashed" }[look] ?? "plain";
    const ways = {
      kind,
      moved: at.map((box) => [tenths(box.x - x), tenths(box.y - y)]),
      seen: there.map((box) => +(box?.alpha ?? 0).toFixed(2)),
      colors: at.map((box, k) => (look === "lent" || (/biases|stds/.test(look) && box.member < 0) ? gray : blended(frames[k].owns[box.tone ?? 0], gray, box.gray))),
    };
    const key = JSON.stringify(ways);
    if (!groups.has(key)) groups.set(key, { ...ways, x, y, path: "" });
    const group = groups.get(key);
    const [wide, high] = [w, h].map((side) => Math.max(1, tenths(side)));
    group.path += `M${tenths(x - group.x)} ${tenths(y - group.y)}h${wide}v${high}h${-wide}z`;
  }
  const drawn = [...groups.values()].map((group) => {
    const { kind, x, y, moved, seen } = group;
    if (!shapes.has(group.path)) shapes.set(group.path, `s${shapes.size}`);
    const places = moved.map(([dx, dy]) => `${tenths(x + dx)} ${tenths(y + dy)}`);
    const inked = { outline: "stroke", dashed: "", inner: "" }[kind] ?? "fill";
    const first = group.colors[Math.max(0, seen.findIndex(Boolean))];
    const fill = kind === "hatched" ? `url(#h${tones.indexOf(first)})` : inked === "fill" ? first : "none";
    const stroke = { outline: first, hatched: first, dashed: muted, inner: muted }[kind] ?? "none";
    return `<g class="${kind}" transform="translate(${places[0]})" opacity="${seen[0]}" fill="${fill}" stroke="${stroke}">`
      + `${track(places, 'animateTransform attributeName="transform" type="translate"')}${track(seen, 'animate attributeName="opacity"')}`
      + `${inked && kind !== "hatched" ? track(group.colors, `animate attributeName="${inked}"`) : ""}<use href="#${shapes.get(group.path)}"/></g>`;
  });

  // Each stop has its words.
  const counts = stops.map((method) => countAll(layers, method, state.M));
  const one = totalOf(countAll(layers, SINGLE, 1));
  const words = stops.map((method, k) => {
    const pen = makePen();
    const said = (text, x, y, font, color = "ink") => {
      Object.assign(pen, { font: `${font} system-ui, sans-serif`, fillStyle: color[0] === "#" ? color : plainColor(color), textAlign: "start" });
      pen.fillText(text, x, y);
    };
    const { left, right } = layouts[k].zones;
    const [top, total] = [-TOP_ROOM, totalOf(counts[k])];
    const title = METHODS[method].label[0].toUpperCase() + METHODS[method].label.slice(1);
    said(title, 0, 40 + top, "650 28px");
    said(name, pen.measureText(title).width + 12, 40 + top, "17px", "muted");
    said(sentenceOf(method, state.M), 0, 72 + top, "16px", "muted");
    said(`${digits(total)} parameters, ${times(total / one)} of one network`, 540, 28 + top, "500 17px");
    said("Stored once, for all", left.x, left.y + 24, "650 17px", "muted");
    said(METHODS[method].has_members ? "Stored by each member" : "Drawn anew, not stored", right.x, right.y + 24, "650 17px", METHODS[method].has_members ? colors[k] : "muted");
    write(pen, [...layouts[k].boxes.values()].filter((box) => !box.hidden), layouts[k], { ...state, method: "", share: STOPS.indexOf(method) }, LOOP);
    return `<g opacity="${Number(!k)}">${fading(k)}${pen.words}</g>`;
  });
  const high = TOP_ROOM + Math.max(...layouts.map((layout) => layout.high));
  const hatches = tones.map((color, k) => `<pattern id="h${k}" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path d="M0 0v5" stroke="${color}" stroke-width="2.4"/></pattern>`);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${LOOP.width + 2 * LEFT} ${Math.ceil(high)}" role="img" font-family="system-ui, sans-serif">`
    + `<title>${escaped(name)}: ${stops.map((method, k) => `${METHODS[method].label} ${digits(totalOf(counts[k]))}`).join(", ")} parameters</title>`
    + `<style>.dashed { stroke-dasharray: 3 } .inner { stroke-opacity: .22 } .faint { fill-opacity: .6 } .lent { fill-opacity: .3 }</style>`
    + `<defs>${hatches.join("")}${[...shapes].map(([path, id]) => `<path id="${id}" d="${path}"/>`).join("")}</defs>`
    + `<rect width="100%" height="100%" fill="${plainColor("page")}"/>`
    + `<g transform="translate(${LEFT} ${TOP_ROOM})">${drawn.join("")}${words.join("")}</g></svg>`;
};
const saveLoop = (svg, name) =>
  make("a", { href: URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" })), download: `${name.replace(/[^\w-]+/g, "-")}.svg` }).click();
