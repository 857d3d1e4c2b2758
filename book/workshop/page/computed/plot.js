// Curves over a picture of their axes: what moves in it is drawn again, in points of the picture.
import { shape } from "../common/elements.js";

const NARROW = matchMedia("(max-width: 600px)");
const LINE = 14.4; // points, of names below each other
const [BEGIN, MIDDLE] = [17.3, 3.9]; // from a curve's end to its name, and below the name's middle
const FINE = 100; // of a point: inside a panel all is counted in whole ones, which are written fastest

// From numbers to places along an axis, and back.
const along = (ends, log, start, size) => {
  const [low, high] = log ? ends.map(Math.log10) : ends;
  const within = (value) => Math.min(ends[1], Math.max(ends[0], value));
  const to = (value) => start + (size * ((log ? Math.log10(value) : value) - low)) / (high - low);
  const text = (value) => {
    const place = Math.round(FINE * to(value));
    return Number.isFinite(place) ? `${place}` : "";
  };
  const written = new WeakMap();
  return {
    within, to,
    length: ends[1] - ends[0],
    // As text, once for all curves and redraws that share an array.
    write: (values) => written.get(values) ?? written.set(values, values.map(text)).get(values),
    from(place) {
      const value = low + ((place - start) / size) * (high - low);
      return within(log ? 10 ** value : value);
    },
  };
};

const path = (xs, ys, begin = "M") => {
  let [d, next] = ["", begin];
  xs.forEach((x, i) => {
    if (ys[i]) d += `${next}${x} ${ys[i]}`;
    next = ys[i] ? "L" : "M";
  });
  return d;
};
// What stays as it is, the browser need not draw again.
export const update = (element, attributes) => {
  for (const [key, value] of Object.entries(attributes))
    if (element.getAttribute(key) !== String(value)) element.setAttribute(key, value);
};
const KINDS = {
  line: (x, y) => path(x, y),
  band: (x, low, high) => `${path(x, low)}${path(x.toReversed(), high.toReversed(), "L")}Z`,
  bars: (x, low, high) => x.map((at, i) => path([at, at], [low[i], high[i]])).join(""),
};
// A dot is a line without length, whose ends are round; every other marker has corners.
const DOT = "h0";
const around = (corners) => {
  const [ends, before] = [corners.map((one) => one.map((way) => Math.round(FINE * way))), [0, 0]];
  return ends.map((one, i) => `${i ? "l" : "m"}${one.map((way, axis) => way - (ends[i - 1] ?? before)[axis]).join(" ")}`).join("");
};
const marked = (shape) => (x, y) => x.map((at, i) => y[i] && `M${at} ${y[i]}${shape}`).join("");

// What a mark is drawn by: elements, and what gives each its path.
const pieces = ({ kind, width, dashes = [], alpha, marker, style }) => {
  const round = marker && !marker.corners.length;
  const filled = { style: `${style}; fill: var(--ink); stroke: none`, opacity: alpha ?? 1 };
  const line = { style, opacity: alpha ?? 1, "stroke-width": FINE * width, "stroke-dasharray": dashes.map((dash) => FINE * dash).join(" ") };
  const made = kind === "band" ? [[shape("path", filled), KINDS.band]] : [];
  if (width) made.push([shape("path", line), KINDS[kind]]);
  if (round) made.push([shape("path", { ...line, "stroke-width": FINE * marker.size, "stroke-linecap": "round" }), marked(DOT)]);
  else if (marker) made.push([shape("path", { ...filled, style: `${style}; fill: var(--ink)`, "stroke-width": FINE }), marked(around(marker.corners))]);
  return made;
};

// Places as near to the wanted ones as names below each other can be.
const apart = (wanted, low, high) => {
  const order = wanted.map((_, i) => i).sort((a, b) => wanted[a] - wanted[b]);
  const found = wanted.map((place) => Math.min(high, Math.max(low, place)));
  order.forEach((i, k) => k && (found[i] = Math.max(found[i], found[order[k - 1]] + LINE)));
  order.toReversed().forEach((i, k, all) => (found[i] = Math.min(found[i], k ? found[all[k - 1]] - LINE : high)));
  return found;
};

// Draws into a holder what `parts` say of wide pages and of narrow ones; `built` is told of each new
// drawing, and its `draw` takes the numbers.
export const plot = (holder, parts, built) => {
  const build = () => {
    const { size, panels } = NARROW.matches ? parts.narrow : parts.wide;
    const svg = shape("svg", { viewBox: `0 0 ${size.join(" ")}`, class: "ensedu-moving" });
    const group = shape("g", { role: "img" });
    const made = panels.map(({ box, x, y, log, marks }) => {
      const [left, top, width, height] = box;
      const view = { x: left, y: top, width, height, viewBox: box.map((size) => FINE * size).join(" ") };
      const drawn = marks.toSorted((a, b) => a.order - b.order).map(({ of, clip, colors, name, ...looks }) => {
        const style = `--light: ${colors[0]}; --dark: ${colors[1]}`;
        const [own, panel] = [pieces({ style, ...looks }), shape("svg", { ...view, overflow: clip ? "hidden" : "visible" })];
        const named = name ? [shape("path", { d: name, style: `${style}; fill: var(--ink); stroke: none` }), shape("path", { style, opacity: 0.7 })] : [];
        panel.append(...own.map(([element]) => element));
        group.append(panel, ...named);
        return { of, own, named, drawn: [] };
      });
      return { x: along(x, log[0], left, width), y: along(y, log[1], top + height, -height), marks: drawn, view };
    });
    const draw = (numbers, words) => {
      update(group, { "aria-label": words });
      for (const { x, y, marks, view } of made) {
        for (const mark of marks) {
          const { of: [first, ...others], own, drawn } = mark;
          const places = [x.write(numbers[first]), ...others.map((name) => y.write(numbers[name]))];
          if (places.every((axis, i) => axis === drawn[i])) continue;
          mark.drawn = places;
          const gone = places.some((axis) => !axis.some(Boolean)); // it fades where it was
          for (const [element, d] of own) {
            element.classList.toggle("ensedu-gone", gone);
            if (!gone) element.setAttribute("d", d(...places));
          }
        }
        const ended = ({ of }) => Number.isFinite(numbers[of[1]].at(-1));
        const labeled = marks.filter((mark) => mark.named.length);
        for (const mark of labeled) for (const one of mark.named) one.style.display = ended(mark) ? "" : "none";
        const named = labeled.filter(ended);
        const ends = named.map(({ of: [, name] }) => y.to(numbers[name].at(-1)));
        apart(ends, view.y - LINE / 2, view.y + view.height + LINE / 2).forEach((place, i) => {
          const [[words, lead], right] = [named[i].named, view.x + view.width];
          update(words, { transform: `translate(${right + BEGIN} ${place + MIDDLE})` });
          const end = x.to(numbers[named[i].of[0]].at(-1));
          update(lead, { d: Math.abs(place - ends[i]) > 2 ? `M${end} ${ends[i]}L${right + BEGIN - 3} ${place}` : "" });
        });
      }
    };
    svg.append(group);
    holder.querySelector("svg.ensedu-moving")?.remove();
    holder.append(svg);
    built({ svg, draw, panel: (...names) => made.find(({ marks }) => marks.some(({ of }) => of.join() === names.join())) });
  };
  NARROW.addEventListener("change", build);
  build();
};

// Lets a finger, a mouse or keys move an element of a plot: `move(x, y)` in numbers of its panel,
// `press(key, dx, dy)` says whether it knows a key, and `end()` is called where it rests.
const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
export const grip = (svg, { x, y }, element, { move, press, end }) => {
  const follow = ({ clientX, clientY }) => {
    const place = new DOMPoint(clientX, clientY).matrixTransform(svg.getScreenCTM().inverse());
    move(x.from(place.x), y.from(place.y));
  };
  element.classList.add("ensedu-grip");
  // The page does not scroll below it; inside an SVG, Chromium has no touch-action.
  element.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
  element.addEventListener("pointerdown", (event) => {
    event.preventDefault(); // no text is selected
    element.setPointerCapture(event.pointerId);
    element.focus({ focusVisible: false, preventScroll: true });
    follow(event);
  });
  element.addEventListener("pointermove", (event) => element.hasPointerCapture(event.pointerId) && follow(event));
  element.addEventListener("pointerup", end);
  element.addEventListener("keydown", (event) => {
    const share = event.shiftKey ? 0.1 : 0.02; // of an axis
    const [across, up] = KEYS[event.key] ?? [0, 0];
    if (!press(event.key, across * share * x.length, up * share * y.length)) return;
    event.preventDefault();
    end();
  });
};
