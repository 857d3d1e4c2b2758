// Curves over a picture of their axes: what moves in it is drawn again, in points of the picture.
const SHAPES = "http://www.w3.org/2000/svg";
const NARROW = matchMedia("(max-width: 600px)");
const LINE = 14.4; // points, of names below each other
const [LEAD, BEGIN, MIDDLE] = [4, 17.3, 3.9]; // from a curve's end to its name, and below the name's middle

export const shape = (tag, attributes = {}) => {
  const element = document.createElementNS(SHAPES, tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
};

// From numbers to places along an axis, and back.
const along = (ends, log, start, size) => {
  const [low, high] = log ? ends.map(Math.log10) : ends;
  return {
    ends,
    to: (value) => start + (size * ((log ? Math.log10(value) : value) - low)) / (high - low),
    from: (place) => {
      const value = Math.min(high, Math.max(low, low + ((place - start) / size) * (high - low)));
      return log ? 10 ** value : value;
    },
  };
};

const path = (xs, ys, begin = "M") => {
  let [d, next] = ["", begin];
  for (let i = 0; i < xs.length; i += 1) {
    if (!Number.isFinite(ys[i])) {
      next = "M";
      continue;
    }
    d += `${next}${xs[i].toFixed(2)} ${ys[i].toFixed(2)}`;
    next = "L";
  }
  return d;
};
const KINDS = {
  line: (x, y) => path(x, y),
  band: (x, low, high) => `${path(x, low)}${path(x.toReversed(), high.toReversed(), "L")}Z`,
  bars: (x, low, high) => x.map((at, i) => path([at, at], [low[i], high[i]])).join(""),
};
// A dot is a line without length, whose ends are round; every other marker has corners.
const marked = ({ corners }) => (x, y) =>
  x.map((at, i) => {
    if (!Number.isFinite(y[i])) return "";
    if (!corners.length) return `${path([at], [y[i]])}h0`;
    return `${path(corners.map((one) => at + one[0]), corners.map((one) => y[i] + one[1]))}Z`;
  }).join("");

// Places as near to the wanted ones as names below each other can be.
const apart = (wanted, low, high) => {
  const order = wanted.map((_, i) => i).sort((a, b) => wanted[a] - wanted[b]);
  const found = wanted.map((place) => Math.min(high, Math.max(low, place)));
  order.forEach((i, k) => k && (found[i] = Math.max(found[i], found[order[k - 1]] + LINE)));
  order.toReversed().forEach((i, k, all) => {
    found[i] = Math.min(found[i], k ? found[all[k - 1]] - LINE : high);
  });
  return found;
};

const pieces = (mark) => {
  const { kind, width, dashes = [], alpha, marker, colors: [light, dark] } = mark;
  const style = `--light: ${light}; --dark: ${dark}`;
  const made = [];
  const add = (attributes, d) => made.push([shape("path", { style, ...attributes }), d]);
  if (kind === "band") add({ class: "ensedu-filled", "fill-opacity": alpha }, KINDS.band);
  else if (width) add({ "stroke-width": width, "stroke-dasharray": dashes.join(" "), "stroke-opacity": alpha ?? 1 }, KINDS[kind]);
  if (marker) {
    const filled = marker.corners.length ? { class: "ensedu-filled ensedu-edged" } : { "stroke-width": marker.size, "stroke-linecap": "round" };
    add({ ...filled, opacity: alpha ?? 1 }, marked(marker));
  }
  return made;
};

// Draws into a holder what `parts` say of wide pages and of narrow ones; `built` is told of each new
// drawing, and its `draw` takes the numbers.
export const plot = (holder, parts, built) => {
  const build = () => {
    const { size, panels } = NARROW.matches ? parts.narrow : parts.wide;
    const svg = shape("svg", { viewBox: `0 0 ${size.join(" ")}`, class: "ensedu-moving" });
    const group = shape("g", { role: "img" });
    svg.append(group);
    const made = panels.map((panel) => {
      const [left, top, width, height] = panel.box;
      const [x, y] = [along(panel.x, panel.log[0], left, width), along(panel.y, panel.log[1], top + height, -height)];
      const view = { x: left, y: top, width, height, viewBox: panel.box.join(" ") };
      const marks = panel.marks.toSorted((a, b) => a.order - b.order).map((mark) => {
        const window = shape("svg", { ...view, overflow: mark.clip ? "hidden" : "visible" });
        const own = pieces(mark);
        window.append(...own.map(([element]) => element));
        const style = `--light: ${mark.colors[0]}; --dark: ${mark.colors[1]}`;
        const name = mark.name && [shape("path", { d: mark.name, style, class: "ensedu-filled" }), shape("path", { style, "stroke-width": 0.8, "stroke-opacity": 0.7 })];
        group.append(window, ...(name || []));
        return { of: mark.of, own, name };
      });
      return { x, y, marks, view };
    });
    const draw = (numbers, words) => {
      group.setAttribute("aria-label", words);
      for (const { x, y, marks, view } of made) {
        for (const { of: [first, ...others], own } of marks) {
          const places = [numbers[first].map(x.to), ...others.map((name) => numbers[name].map(y.to))];
          for (const [element, d] of own) element.setAttribute("d", d(...places));
        }
        const named = marks.filter(({ name }) => name);
        const ends = named.map(({ of: [, name] }) => y.to(numbers[name].at(-1)));
        apart(ends, view.y - LINE / 2, view.y + view.height + LINE / 2).forEach((place, i) => {
          const [words, lead] = named[i].name;
          const right = view.x + view.width;
          words.setAttribute("transform", `translate(${right + BEGIN} ${place + MIDDLE})`);
          lead.setAttribute("d", Math.abs(place - ends[i]) > 2 ? path([right + LEAD, right + BEGIN - 3], [ends[i], place]) : "");
        });
      }
    };
    holder.querySelector("svg.ensedu-moving")?.remove();
    holder.append(svg);
    built({ svg, draw, panel: (...names) => made.find(({ marks }) => marks.some(({ of }) => of.join() === names.join())) });
  };
  NARROW.addEventListener("change", build);
  build();
};

// Lets a finger, a mouse or keys move an element of a plot: `move(x, y)` in numbers of its panel,
// `press(key, share)` for keys that it knows, and `end()` where it rests.
const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
export const grip = (svg, panel, element, { move, press, end }) => {
  const follow = ({ clientX, clientY }) => {
    const { x, y } = new DOMPoint(clientX, clientY).matrixTransform(svg.getScreenCTM().inverse());
    move(panel.x.from(x), panel.y.from(y));
  };
  element.classList.add("ensedu-grip");
  element.addEventListener("pointerdown", (event) => {
    event.preventDefault(); // no text is selected
    element.setPointerCapture(event.pointerId);
    element.focus({ focusVisible: false, preventScroll: true });
    follow(event);
  });
  element.addEventListener("pointermove", (event) => element.hasPointerCapture(event.pointerId) && follow(event));
  element.addEventListener("pointerup", end);
  element.addEventListener("keydown", (event) => {
    const step = event.shiftKey ? 0.1 : 0.02; // of an axis
    const way = KEYS[event.key]?.map((sign, axis) => sign * step * (panel[axis ? "y" : "x"].ends[1] - panel[axis ? "y" : "x"].ends[0]));
    if (!press(event.key, ...(way ?? [0, 0]))) return;
    event.preventDefault();
    end();
  });
};
