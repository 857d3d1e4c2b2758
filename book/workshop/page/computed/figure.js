// A figure that the page computes; see book/workshop/page/computed/__init__.py. Without this script a
// page shows the picture of its first setting, and so does paper.
import { shape } from "../common/elements.js";
import { arrive, asRead, controlOf, enroll, keepAbove, mark, rewrite } from "../common/figures.js";
import { FORMULAS } from "./formulas.js";
import { grip, plot, update } from "./plot.js";

const STILL = matchMedia("(prefers-reduced-motion: reduce)");
const GLIDE = 350; // milliseconds from one setting to that of a link
const MOST_GRIPS = 16; // of more points, one changes nothing that is seen

// Fields of a sentence, as Python fills them: {name}, {name:g}, {name:.2f}.
export const fill = (sentence, values) =>
  sentence.replace(/\{(\w+)(?::(?:g|\.(\d)f))?\}/g, (_, name, digits) =>
    digits ? values[name].toFixed(digits) : String(values[name])).replace(/(?<!\w)-(?=\d)/g, "−");

// What is there for scripts alone.
export const unpack = (root) => {
  const packed = root.querySelector("template");
  packed.replaceWith(packed.content);
};

const setUpFigure = (root) => {
  const { formula, values, words, data, parts, drag, edges } = JSON.parse(root.querySelector("script").textContent);
  const { name } = root.closest(".ensedu-explorer").dataset;
  const controls = [...root.querySelectorAll(".ensedu-control")].map((element, i) => controlOf(element, values[i]));
  const live = root.querySelector(".ensedu-live");
  let [moved, drawing, grips, follow, chosen, turn, waiting] = [{}, null, [], [], 0, 0, 0];

  const setting = () => controls.map((one) => [one.name, one.value]);
  const show = () => {
    const state = Object.fromEntries(setting().map(([key, value]) => [key, Number.isNaN(Number(value)) ? value : Number(value)]));
    const numbers = FORMULAS[formula](data, state, moved);
    const sentence = fill(words[numbers.said ?? 0], { ...state, ...numbers });
    drawing.draw(numbers, sentence);
    small?.draw(numbers, "");
    rewrite(live, sentence);
    mark(name, setting());
    if (drag.length) hold(numbers[drag[0]], numbers[drag[1]]);
    for (const one of follow) one(numbers);
  };
  // A small copy is a phone's, also beside a wide page.
  let small = null;
  const copy = () => {
    if (!small) {
      const frame = root.querySelector(".ensedu-axes").cloneNode(true);
      frame.querySelectorAll("source").forEach((source) => source.removeAttribute("media"));
      plot(frame, { wide: parts.narrow, narrow: parts.narrow }, ({ draw }) => (small = { frame, draw }));
      show();
    }
    return { words: live.textContent, frame: small.frame };
  };
  const left = () => {
    small = null; // or each setting would be drawn twice, and once unseen
  };
  const soon = () => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(show);
  };
  const rest = () => {
    const query = new URLSearchParams(setting());
    const away = Object.entries(moved).map(([i, place]) => [i, ...place.map((value) => value.toFixed(2))].join(":"));
    if (away.length) query.set("moved", away.join(" "));
    history.replaceState(history.state, "", `#${name}:${query}`);
  };

  // Points that a reader moves: one of them is in the order of keys, and Page Down takes the next.
  const choose = (i) => {
    chosen = i;
    grips.forEach((circle, k) => circle.setAttribute("tabindex", k === i ? 0 : -1));
  };
  const gripOf = (panel) => (_, i) => {
    const circle = shape("circle", { r: 13, role: "button", "aria-roledescription": "point to move" });
    const move = (...place) => {
      moved[i] = place;
      choose(i);
      soon();
    };
    const press = (key, dx, dy) => {
      const [order, step] = [grips.toSorted((a, b) => a.at[0] - b.at[0]), { PageUp: -1, PageDown: 1 }[key]];
      if (step) {
        choose(grips.indexOf(order.at((order.indexOf(circle) + step) % order.length)));
        grips[chosen].focus();
      } else if (dx || dy) move(...[dx, dy].map((by, k) => [panel.x, panel.y][k].within(circle.at[k] + by)));
      return step || dx || dy;
    };
    grip(drawing.svg, panel, circle, { move, press, end: rest });
    return circle;
  };
  const hold = (xs, ys) => {
    const panel = drawing.panel(...drag);
    const held = xs.length > MOST_GRIPS ? [] : xs;
    if (grips.length !== held.length) {
      for (const one of grips) one.remove();
      grips = held.map(gripOf(panel));
      drawing.svg.append(...grips);
      choose(0);
    }
    grips.forEach((circle, i) => {
      circle.at = [xs[i], ys[i]];
      const [x, y] = circle.at.map((value) => asRead(value.toFixed(2)));
      update(circle, { cx: panel.x.to(xs[i]), cy: panel.y.to(ys[i]), "aria-label": `Point at x ${x}, y ${y}` });
    });
  };

  // Where a band begins its setting is dragged, too; keys have its slider.
  const edgeOf = ([key, of]) => {
    const [one, panel] = [controls.find(({ name }) => name === key), drawing.panel(...of)];
    const edge = shape("path", { d: `M0 ${panel.view.y}v${panel.view.height}m-6 0a6 6 0 1 0 12 0a6 6 0 1 0 -12 0`, class: "ensedu-edge" });
    const move = (at) => {
      const away = one.values.map((value) => Math.abs(panel.x.to(value) - panel.x.to(at)));
      one.position = away.indexOf(Math.min(...away));
      soon();
    };
    grip(drawing.svg, panel, edge, { move, press: () => false, end: rest });
    drawing.svg.append(edge);
    return ({ [of[0]]: [at] }) => update(edge, { transform: `translate(${panel.x.to(at)})` });
  };

  // To a setting in words, on the way through all between; at once if a reader wants no motion.
  const set = (query, { arrives }) => {
    const ways = controls.map((one) => [one.position, one.values.indexOf(query.get(one.name) ?? one.value)]);
    const places = (query.get("moved") ?? "").matchAll(/(\d+):(-?[\d.]+):(-?[\d.]+)/g);
    moved = Object.fromEntries([...places].map(([, i, x, y]) => [i, [Number(x), Number(y)]]));
    turn += 1;
    const [mine, begin] = [turn, performance.now()];
    const step = (now) => {
      if (mine !== turn) return;
      const share = !arrives && !STILL.matches ? Math.min(1, Math.max(0, (now - begin) / GLIDE)) : 1;
      controls.forEach((one, i) => {
        const [from, to] = ways[i];
        if (to >= 0) one.position = one.range ? Math.round(from + (to - from) * share * (2 - share)) : to;
      });
      show();
      if (share < 1) requestAnimationFrame(step);
    };
    step(begin);
  };

  unpack(root);
  plot(root.querySelector(".ensedu-axes"), parts, (made) => {
    [drawing, grips] = [made, []];
    follow = Object.entries(edges).filter(([, of]) => made.panel(...of)).map(edgeOf);
    show();
  });
  for (const one of controls) {
    one.element.addEventListener("input", () => {
      turn += 1;
      if (!one.range) moved = {}; // other points, or the same ones back in their places
      one.say();
      soon();
    });
    one.element.addEventListener("change", rest);
  }
  root.querySelector(".ensedu-sliders").hidden = false;
  const held = root.querySelector(".ensedu-held");
  if (held) keepAbove(root.closest(".ensedu-explorer"), held);
  root.classList.add("ensedu-on");
  enroll(name, { root: root.closest(".ensedu-explorer"), frame: root.querySelector(".ensedu-axes"), set, copy, left });
};

export const beginFigures = () => {
  document.querySelectorAll(".ensedu-computed").forEach(setUpFigure);
  arrive();
};
