// What figures with controls share, whichever script moves them: their controls, the links in the
// text and the addresses that set them, and how they begin.
import { make } from "./elements.js";

// A number as a reader sees it; the address keeps what Python writes.
const written = (number) => (/^\d+$/.test(number) ? Number(number).toLocaleString("en") : number.replace("-", "−"));
export const asRead = (value) => (/^-?[\d.]+$/.test(value) ? written(value.replace(/\.0$/, "")) : value);

// Other words in the place of those that an element has: were its text exchanged, and not written anew, a
// browser would look for new styles in all that is around it.
export const rewrite = ({ firstChild: text }, words) => {
  if (text.data !== words) text.data = words;
};

// A slider, buttons or a list, as positions among their values.
export const controlOf = (element, values) => {
  const [range, list, output] = ["input[type=range]", "select", "output"].map((kind) => element.querySelector(kind));
  const radios = [...element.querySelectorAll("input[type=radio]")];
  const say = () => {
    if (!range) return;
    range.ariaValueText = asRead(values[range.value]) + (element.dataset.unit ?? "");
    rewrite(output, range.ariaValueText);
  };
  return {
    element, values, range, say,
    name: element.dataset.name,
    words: element.querySelector("span").textContent,
    get position() {
      if (list) return list.selectedIndex;
      return range ? Number(range.value) : radios.findIndex((radio) => radio.checked);
    },
    set position(position) {
      if (list) list.selectedIndex = position;
      else if (range) range.value = position;
      else radios[position].checked = true;
      say();
    },
    get value() {
      return values[this.position];
    },
  };
};

// Those of all scripts of a page, by name: { root, set(query, { text, arrives }) }, and maybe moved and
// what explore.js asks for a small copy: frame, copy, left. `own` are those of this script.
export const explorers = (globalThis.enseduExplorers ??= new Map());
const own = new Set();
export const enroll = (name, explorer) => {
  explorers.set(name, explorer);
  own.add(explorer);
};
export const figureOf = ({ root }) => root.closest("figure") ?? root;

// An axis below what stays in sight knows how high that is.
export const keepAbove = (explorer, held) =>
  new ResizeObserver(() => explorer.style.setProperty("--ensedu-bar", `${held.offsetHeight}px`)).observe(held);

// Links in the text say whether their figure stands as they set it; what an X-ray does not name is 0.
const links = new Map(); // by a figure's name, each with what it asks for
export const mark = (name, state) => {
  const asking = (link) => [link, [...new URLSearchParams(link.hash.slice(name.length + 2))]];
  if (!links.has(name)) links.set(name, [...document.querySelectorAll(`a.ensedu-set[href^="#${name}:"]`)].map(asking));
  const now = new Map(state);
  for (const [link, asked] of links.get(name))
    link.ariaCurrent = asked.every(([key, value]) => (now.get(key) ?? "0") === value) ? "true" : null;
};

// The figure that the end of an address names, set as it says: #fig-counts:width=50.
const setNamed = (hash, arrives, known) => {
  const [name, text] = hash.slice(1).split(/:(.*)/s);
  const explorer = explorers.get(name);
  if (text === undefined || !known(explorer)) return null;
  explorer.set(new URLSearchParams(text), { text, arrives });
  explorer.moved?.();
  return explorer;
};
export const followLink = (hash) => setNamed(hash, false, Boolean);
// With what a page is opened for, once it is there.
export const arrive = () => {
  const explorer = setNamed(location.hash, true, (one) => own.has(one));
  if (explorer) figureOf(explorer).scrollIntoView({ block: "start" });
};

// How something begins by itself: on a page of the book as soon as it is parsed, and in Jupyter as
// soon as it is in the page.
const SCRIPT_END = "readystatechange"; // DOMContentLoaded would wait for the formulas

export const onPage = (selector, build) => {
  const start = () => document.querySelectorAll(selector).forEach(build);
  if (document.readyState === "loading") document.addEventListener(SCRIPT_END, start, { once: true });
  else start();
};

// Once it is in the page: before that it has no color and no size. False if that never was.
const placed = (el, signal) =>
  new Promise((resolve) => {
    const look = () => {
      if (el.isConnected || signal.aborted) resolve(el.isConnected);
      else requestAnimationFrame(look);
    };
    look();
  });

// What anywidget calls for each view: `build(root, model, number)` fills it, and returns what ends it.
let views = 0;
export const view = (name, build) => async ({ model, el, signal }) => {
  if (!(await placed(el, signal))) return undefined;
  const root = make("div", { class: name });
  // In JupyterLab a letter is a command, such as B for a new cell; not here.
  root.addEventListener("keydown", (event) => {
    if (!event.ctrlKey && !event.metaKey && !event.altKey) event.stopPropagation();
  });
  el.append(root);
  views += 1;
  return build(root, model, views);
};
