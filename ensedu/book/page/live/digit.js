// Draw a digit: what small networks say to a drawing, member by member; see ensedu/book/page/digit.py.
import { METHODS, Network } from "./engine.js";
import { Random } from "../common/random.js";

const DIGIT_SIZES = [64, 32, 10];
const DIGIT_PASSES = 4; // members, or draws of what draws
const DIGIT_SURE = 0.9;
const DIGIT_STEP = 0.006; // of the square, between two points of a stroke

// What networks see ---------------------------------------------------------------------------

// The 32 × 32 bits of a drawing: its box scaled to 20 × 32, strokes of the right thickness, upright.
// A drawing is a list of strokes, a stroke a list of [x, y] in a square of side 1. The steps are
// those of ensedu/book/experiments/drawings.py, which says where they come from.
export const digitBits = (drawing, pen) => {
  const side = 32;
  const width = 20;
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
  for (const most of [412, 560]) if (ink > most) page = spread(page, 0);
  for (const least of [256, 108]) if (ink < least) page = spread(page, 1);

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

// Networks ------------------------------------------------------------------------------------

// Numbers of float16, little-endian, base64.
const digitNumbers = (text) => {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return Float64Array.from({ length: bytes.length / 2 }, (_, i) => {
    const half = bytes[2 * i] + 256 * bytes[2 * i + 1];
    const exponent = (half >> 10) & 31;
    const fraction = half & 1023;
    const size = exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : fraction * 2 ** -24;
    return half >> 15 ? -size : size;
  });
};

// The network of a method with the arrays that were trained, by layer and name.
export const digitNetwork = (method, { p, arrays }) => {
  const { members, noise, drops } = METHODS[method];
  const passes = members || noise || drops ? DIGIT_PASSES : 1;
  const spec = { sizes: DIGIT_SIZES, method, passes, p, activation: "relu", start: "same", posterior_std: 1 };
  const net = new Network(spec, new Random(0));
  for (const [layer, name, array] of net.arrays()) array.set(digitNumbers(arrays[`${layer}.${name}`]));
  return net;
};

// The probabilities of each member, a list of ten; one network has one member.
export const digitProbabilities = (net, x, noise) => {
  const logits = net.forward(x, 1, noise);
  return Array.from({ length: net.spec.passes }, (_, i) => {
    const own = Array.from(logits.subarray(10 * i, 10 * i + 10));
    const most = Math.max(...own);
    const weights = own.map((logit) => Math.exp(logit - most));
    const sum = weights.reduce((a, b) => a + b, 0);
    return weights.map((weight) => weight / sum);
  });
};

// The mean of the members, and its entropy in two parts, in bits.
export const digitParts = (members) => {
  const average = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const entropy = (p) => p.reduce((sum, one) => sum - (one > 0 ? one * Math.log2(one) : 0), 0);
  const mean = members[0].map((_, digit) => average(members.map((p) => p[digit])));
  const expected = average(members.map(entropy));
  return { mean, expected, information: Math.max(0, entropy(mean) - expected) };
};

const digitLikeliest = (p) => p.indexOf(Math.max(...p));

// One script holds all networks; it is asked for once, when somebody first touches a square.
let digitFetched = null;
const digitFetch = () => {
  digitFetched ??= new Promise((found, failed) => {
    const script = document.createElement("script");
    script.src = `${document.documentElement.dataset.content_root ?? ""}_static/digit-networks.js`;
    script.onerror = () => {
      digitFetched = null; // the next touch tries again
      script.remove();
      failed(new Error("the networks could not be fetched"));
    };
    script.onload = () => (globalThis.ensedu_digits ? found(globalThis.ensedu_digits) : script.onerror());
    document.head.append(script);
  });
  return digitFetched;
};

// In words ------------------------------------------------------------------------------------

const digitPercent = (p) => (p > 0.99 && p < 1 ? "over 99%" : `${Math.round(100 * p)}%`);

// Bits with two decimals that add up: of the whole, of its first part and of its second.
const digitRounded = ({ expected, information }) => {
  const total = Math.round(100 * (expected + information));
  const first = Math.round(100 * expected);
  return [total, first, total - first].map((cents) => (cents / 100).toFixed(2));
};

// What is said of a drawing; `example` is what it is, where that is known.
export const digitWords = (label, word, members, single, example) => {
  const votes = new Map();
  for (const digit of members.map(digitLikeliest)) votes.set(digit, (votes.get(digit) ?? 0) + 1);
  const ranked = [...votes].sort(([a, m], [b, n]) => n - m || a - b);
  const M = members.length;
  const voted = ranked.map(([digit, n], i) => {
    if (n === M) return `all ${M} ${word}s say ${digit}`;
    return `${n}${i ? "" : ` of ${M} ${word}s`} say${n === 1 ? "s" : ""} ${digit}`;
  });
  const [own, other] = [digitParts(members), digitParts(single)];
  const [best, plain] = [own, other].map(({ mean }) => digitLikeliest(mean));
  const [total, , disagreed] = digitRounded(own);
  const doubt = `${total} bits of doubt${total === "0.00" ? "" : `, ${disagreed} of them because ${word}s disagree`}.`;
  const sides = [
    [label, own.mean[best], best],
    ["single network", other.mean[plain], plain],
  ];
  return [
    `${label[0].toUpperCase()}${label.slice(1)}: ${voted.join(", ")}; their mean says ${best} with`,
    `${digitPercent(own.mean[best])}. ${doubt}`,
    `Single network: ${plain} with ${digitPercent(other.mean[plain])}, ${digitRounded(other)[0]} bits.`,
    digitVerdict(sides, example),
  ].join(" ").trim();
};

const digitA = (digit) => `${digit === 8 ? "an" : "a"} ${digit}`;

// Who is fooled, as far as it is known what was drawn; else a question.
const digitVerdict = (sides, example) => {
  const names = (list) => list.map(([name]) => name).join(", ");
  const sure = sides.filter(([, p]) => p > DIGIT_SURE);
  if (example?.digits.length) {
    const open = example.digits.length > 1;
    const known = ([, , digit]) => example.digits.includes(digit);
    const wrong = sides.filter((side) => !known(side));
    const rash = open ? sure.filter(known) : [];
    const start = `It ${open ? "may be" : "is"} ${example.digits.map(digitA).join(" or ")}`;
    if (!wrong.length && !rash.length) return `${start}, ${open ? "and neither is sure" : "as both say"}.`;
    const said = [
      ["Fooled", wrong],
      ["Sure without reason", rash],
    ].filter(([, list]) => list.length);
    return `${start}. ${said.map(([words, list]) => `${words}: ${names(list)}.`).join(" ")}`;
  }
  if (example)
    return `No digit was drawn${sure.length ? `. Fooled: ${names(sure)}` : ", and neither is sure"}.`;
  if (!sure.length) return "";
  const [first, last] = [sure[0][2], sure[sure.length - 1][2]];
  if (first !== last) return `Sure of ${digitA(first)} and of ${digitA(last)}: at least one is fooled.`;
  const both = sure.length > 1;
  const question = `Did you draw something other than ${digitA(first)}?`;
  return `${both ? "" : `Sure: ${names(sure)}. `}${question} Then ${both ? "both are" : "it is"} fooled.`;
};

// On the page ---------------------------------------------------------------------------------

export const digits = (root) => {
  const data = JSON.parse(root.querySelector("script").textContent);
  const node = (tag, attributes = {}, ...children) => {
    const svg = ["svg", "path", "rect"].includes(tag);
    const space = `http://www.w3.org/${svg ? "2000/svg" : "1999/xhtml"}`;
    const made = document.createElementNS(space, tag);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  };
  const button = (words, act) => {
    const made = node("button", { type: "button" }, words);
    made.addEventListener("click", act);
    return made;
  };

  let drawing = data.examples[data.start].strokes;
  let example = data.examples[data.start]; // null for what a reader has drawn
  let { method } = data;
  let nets = null; // by method, each with its noise; until then what is shown is data.first
  let seed = 1;
  const before = []; // what Undo goes back to

  // Controls
  const ink = node("path", { class: "ensedu-ink", "stroke-width": 2 * data.pen });
  const square = node("svg", { class: "ensedu-square", viewBox: "0 0 1 1", role: "img" }, ink);
  square.setAttribute("aria-label", "A square to draw on. Without a pointer, choose a drawing above.");
  const cells = Array.from({ length: 64 }, (_, i) =>
    node("rect", { x: i % 8, y: Math.floor(i / 8), width: 1, height: 1 }),
  );
  const grid = node("svg", { class: "ensedu-seen", viewBox: "0 0 8 8", role: "img" }, ...cells);
  grid.setAttribute("aria-label", "What the networks see of it: 8 × 8 numbers of bits, from 0 to 16.");
  const undo = button("Undo", () => before.length && show(...before.pop()));
  const clear = button("Clear", () => change([], { digits: [] }));
  const chips = data.examples.map((one) => button(one.name, () => change(one.strokes, one)));
  const select = node("select", { id: `${root.id || "ensedu-digit"}-method` });
  for (const [key, { label }] of Object.entries(data.methods))
    if (key !== "single") select.append(node("option", { value: key }, label));
  select.value = method;
  const again = button("New draws", () => {
    seed += 1;
    for (const own of Object.values(nets ?? {})) own.noise = own.net.noise(new Random(seed));
    show(drawing, example);
  });

  // Answers
  const head = Array.from({ length: 10 }, (_, digit) => node("th", { scope: "col" }, String(digit)));
  const row = (words, key) => {
    const line = node("tr", { "data-method": key }, node("th", { scope: "row" }, words));
    const own = Array.from({ length: 10 }, () => node("td"));
    line.append(...own);
    const set = (p) =>
      own.forEach((cell, digit) => {
        const percent = Math.round(100 * p[digit]);
        cell.textContent = percent >= 5 ? String(percent) : "";
        cell.style.setProperty("--p", `${100 * p[digit]}%`);
        cell.classList.toggle("full", percent === 100);
        cell.classList.toggle("most", digit === digitLikeliest(p));
      });
    return { line, set };
  };
  const body = node("tbody");
  const table = node(
    "table",
    { class: "ensedu-says" },
    node("caption", {}, "Percent for each digit"),
    node("thead", {}, node("tr", {}, node("td"), ...head)),
    body,
  );
  const doubt = (key) => {
    const [label, expected, information] = [node("span"), node("i", { class: "expected" }), node("i")];
    const bar = node("span", { class: "ensedu-bar" }, expected, information);
    const set = (words, parts) => {
      const [total, first, second] = digitRounded(parts);
      label.textContent = `${words}: ${total} bits${key === "single" ? "" : ` = ${first} + ${second}`}`;
      expected.style.width = `${(100 * parts.expected) / Math.log2(10)}%`;
      information.style.width = `${(100 * parts.information) / Math.log2(10)}%`;
    };
    return { line: node("p", { class: "ensedu-doubt" }, label, bar), set };
  };
  const [plainDoubt, ownDoubt] = ["single", "own"].map(doubt);
  const story = node("p", { class: "ensedu-story", role: "status" });
  let rows = null;

  // The rows of the table, for as many members as there are, in the color of the method.
  const arrange = (count) => {
    const { word } = data.methods[method];
    const single = row("single", "single");
    const members = Array.from({ length: count }, (_, i) => row(`${word} ${i + 1}`, method));
    const mean = row("mean", method);
    mean.line.classList.add("mean");
    body.replaceChildren(single.line, ...members.map(({ line }) => line), mean.line);
    ownDoubt.line.dataset.method = legend.dataset.method = method;
    rows = { single, members, mean };
    again.hidden = word === "member";
  };

  const answers = () => {
    if (!nets) return data.first;
    const x = digitSeen(drawing, data.pen);
    const of = (key) => digitProbabilities(nets[key].net, x, nets[key].noise);
    return { single: of("single"), members: of(method) };
  };

  // All but the sentence, which waits until the hand rests.
  let waiting = 0;
  const draw = () => {
    waiting = 0;
    // A line of no length makes a dot.
    const line = (stroke) => `M${stroke.map((point) => point.join(" ")).join("L")}h0`;
    ink.setAttribute("d", drawing.map(line).join(""));
    digitSeen(drawing, data.pen).forEach((value, i) => cells[i].setAttribute("fill-opacity", value));
    chips.forEach((chip, i) => chip.setAttribute("aria-pressed", data.examples[i] === example));
    undo.disabled = !before.length;
    clear.disabled = !drawing.length;
    const { single, members } = answers();
    rows.single.set(single[0]);
    members.forEach((p, i) => rows.members[i].set(p));
    const parts = digitParts(members);
    rows.mean.set(parts.mean);
    plainDoubt.set("single network", digitParts(single));
    ownDoubt.set(data.methods[method].label, parts);
    return { single, members };
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
    if (before.length > 200) before.shift();
  };
  const change = (strokes, what) => {
    remember();
    [drawing, example] = [strokes, what];
    ready().then((there) => there && show(drawing, example));
  };

  // The pen: one pointer at a time, which may leave the square.
  let pointer = null;
  const add = (event) => {
    const box = square.getBoundingClientRect();
    const inside = (value) => Math.round(1000 * Math.min(1, Math.max(0, value))) / 1000;
    const x = inside((event.clientX - box.left) / box.width);
    const y = inside((event.clientY - box.top) / box.height);
    const stroke = drawing[drawing.length - 1];
    const last = stroke[stroke.length - 1];
    if (last && Math.hypot(x - last[0], y - last[1]) < DIGIT_STEP) return;
    stroke.push([x, y]);
  };
  square.addEventListener("pointerdown", (event) => {
    if (pointer !== null || event.button !== 0) return;
    event.preventDefault();
    pointer = event.pointerId;
    square.setPointerCapture(pointer);
    remember();
    [drawing, example] = [[...drawing, []], null];
    add(event);
    ready().then((there) => there && (pointer === null ? show(drawing, example) : later()));
  });
  square.addEventListener("pointermove", (event) => {
    if (event.pointerId !== pointer) return;
    const every = event.getCoalescedEvents?.() ?? [];
    for (const one of every.length ? every : [event]) add(one);
    later();
  });
  for (const end of ["pointerup", "pointercancel"])
    square.addEventListener(end, (event) => {
      if (event.pointerId !== pointer) return;
      pointer = null;
      if (nets) show(drawing, example);
    });
  select.addEventListener("change", () => {
    ready().then((there) => {
      if (!there) {
        select.value = method;
        return;
      }
      method = select.value;
      arrange(DIGIT_PASSES);
      show(drawing, example);
    });
  });

  const choices = node("div", { class: "ensedu-chips", role: "group", "aria-label": "Drawings" }, ...chips);
  const tools = node("div", { class: "ensedu-tools" }, node("p", {}, "seen as"), grid, undo, clear);
  const label = node("label", { for: select.id }, "Method");
  const legend = node(
    "p",
    { class: "ensedu-legend" },
    node("i", { class: "expected" }),
    "expected entropy, meant as aleatoric + ",
    node("i"),
    "mutual information, meant as epistemic; bars end at 3.32 bits",
  );
  root.querySelector(".ensedu-still").remove();
  root.append(
    choices,
    node(
      "div",
      { class: "ensedu-desk" },
      node(
        "div",
        {},
        node("div", { class: "ensedu-sheet" }, square, tools),
        plainDoubt.line,
        ownDoubt.line,
        legend,
      ),
      node(
        "div",
        { class: "ensedu-answer" },
        story,
        node("p", { class: "ensedu-choice" }, label, select, again),
        table,
      ),
    ),
  );
  arrange(data.first.members.length);
  show(drawing, example);
};
