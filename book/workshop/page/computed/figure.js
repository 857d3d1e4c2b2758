// A figure that the page computes; see book/workshop/page/computed/__init__.py. Without this script a
// page shows the picture of its first setting, and so does paper.
import { FORMULAS } from "./formulas.js";
import { grip, plot, shape } from "./plot.js";

const STILL = matchMedia("(prefers-reduced-motion: reduce)");
const GLIDE = 350; // milliseconds from one setting to that of a link
const MOST_GRIPS = 16; // of more points, one changes nothing that is seen
const figures = new Map();

// A number as a reader sees it; the address keeps what Python writes.
const said = (value) => String(value).replace("-", "−");
const typed = (value) => (value !== "" && Number.isFinite(Number(value)) ? Number(value) : value);

// Fields of a sentence, as Python fills them: {name}, {name:g}, {name:.2f}, {name:.0%}.
export const fill = (sentence, values) =>
  sentence.replace(/\{(\w+)(?::(?:g|\.(\d)([f%])))?\}/g, (_, name, digits, kind) => {
    if (!kind) return String(values[name]);
    return kind === "%" ? `${(100 * values[name]).toFixed(digits)}%` : values[name].toFixed(digits);
  });

// What is there for scripts alone.
export const unpack = (root) => {
  const packed = root.querySelector("template");
  packed.replaceWith(packed.content);
};

const control = (element, values) => {
  const range = element.querySelector("input[type=range]");
  const radios = [...element.querySelectorAll("input[type=radio]")];
  return {
    element, values, range, name: element.dataset.name,
    get position() {
      return range ? Number(range.value) : radios.findIndex((radio) => radio.checked);
    },
    set position(position) {
      if (!range) {
        radios[position].checked = true;
        return;
      }
      range.value = position;
      range.setAttribute("aria-valuetext", said(values[position]));
      element.querySelector("output").value = said(values[position]);
    },
  };
};

const setUpFigure = (root) => {
  const { formula, values, words, data, parts, drag } = JSON.parse(root.querySelector("script").textContent);
  const { name } = root.closest(".ensedu-explorer").dataset;
  const controls = [...root.querySelectorAll(".ensedu-control")].map((element, i) => control(element, values[i]));
  unpack(root);
  const live = root.querySelector(".ensedu-live");
  const back = root.querySelector(".ensedu-back");
  let [moved, drawing, grips, chosen, turn, waiting] = [{}, null, [], 0, 0, false];

  const text = () => controls.map((one) => [one.name, one.values[one.position]]);
  const settings = () => Object.fromEntries(text().map(([key, value]) => [key, typed(value)]));

  const show = () => {
    const state = settings();
    const numbers = FORMULAS[formula](data, state, moved);
    const sentence = fill(words[numbers.said ?? 0], { ...state, ...numbers });
    drawing.draw(numbers, sentence);
    if (live.textContent !== sentence) live.textContent = sentence;
    if (back) back.hidden = !Object.keys(moved).length;
    if (drag.length) hold(numbers);
  };
  const soon = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      show();
    });
  };
  const rest = () => {
    const query = new URLSearchParams(text());
    const away = Object.entries(moved).map(([i, place]) => [i, ...place.map((value) => value.toFixed(2))].join(":"));
    if (away.length) query.set("moved", away.join(" "));
    history.replaceState(history.state, "", `#${name}:${query}`);
  };

  // Points that a reader moves: one of them is in the order of keys, and Page Up and Down choose it.
  const hold = ({ [drag[0]]: xs, [drag[1]]: ys }) => {
    const panel = drawing.panel(...drag);
    if (grips.length !== (xs.length > MOST_GRIPS ? 0 : xs.length)) {
      for (const one of grips) one.remove();
      const make = (_, i) => {
        const circle = shape("circle", { r: 13, role: "button", "aria-roledescription": "point to move" });
        const move = (x, y) => {
          moved[i] = [x, y];
          choose(i);
          soon();
        };
        const press = (key, dx, dy) => {
          const order = xs.map((_, k) => k).sort((a, b) => at(a)[0] - at(b)[0]);
          const step = { PageUp: 1, PageDown: -1 }[key];
          if (step) choose(order.at((order.indexOf(i) + step) % order.length), true);
          else if (dx || dy) move(panel.x.from(panel.x.to(at(i)[0] + dx)), panel.y.from(panel.y.to(at(i)[1] + dy)));
          return step || dx || dy;
        };
        grip(drawing.svg, panel, circle, { move, press, end: rest });
        return circle;
      };
      grips = xs.length > MOST_GRIPS ? [] : xs.map(make);
      drawing.svg.append(...grips);
      choose(Math.min(chosen, Math.max(0, grips.length - 1)));
    }
    grips.forEach((circle, i) => {
      circle.setAttribute("cx", panel.x.to(xs[i]));
      circle.setAttribute("cy", panel.y.to(ys[i]));
      circle.at = [xs[i], ys[i]];
      circle.setAttribute("aria-label", `Point at x ${said(xs[i].toFixed(2))}, y ${said(ys[i].toFixed(2))}`);
    });
  };
  const at = (i) => grips[i].at;
  const choose = (i, focus = false) => {
    chosen = i;
    grips.forEach((circle, k) => circle.setAttribute("tabindex", k === i ? 0 : -1));
    if (focus) grips[i].focus();
  };

  // To a setting in words, on the way through all between; at once if a reader wants no motion.
  const set = (query, glide) => {
    const wanted = controls.map((one) => (query.has(one.name) ? one.values.indexOf(query.get(one.name)) : -1));
    const from = controls.map((one) => one.position);
    moved = {};
    for (const [, i, x, y] of (query.get("moved") ?? "").matchAll(/(\d+):(-?[\d.]+):(-?[\d.]+)/g)) moved[i] = [Number(x), Number(y)];
    turn += 1;
    const [mine, begin] = [turn, performance.now()];
    const step = (now) => {
      if (mine !== turn) return;
      const share = glide && !STILL.matches ? Math.min(1, Math.max(0, (now - begin) / GLIDE)) : 1;
      controls.forEach((one, i) => {
        if (wanted[i] < 0) return;
        one.position = one.range ? Math.round(from[i] + (wanted[i] - from[i]) * share * (2 - share)) : wanted[i];
      });
      show();
      if (share < 1) requestAnimationFrame(step);
    };
    step(begin);
  };

  plot(root.querySelector(".ensedu-axes"), parts, (made) => {
    [drawing, grips] = [made, []];
    show();
  });
  for (const one of controls) {
    one.element.addEventListener("input", () => {
      turn += 1;
      one.position = one.position; // says what it is
      soon();
    });
    one.element.addEventListener("change", rest);
  }
  back?.addEventListener("click", () => {
    moved = {};
    show();
    rest();
  });
  root.querySelector(".ensedu-sliders").hidden = false;
  root.classList.add("ensedu-on");
  figures.set(name, { root, set });
};

const follow = (hash, glide) => {
  const [name, query] = hash.slice(1).split(/:(.*)/s);
  const figure = figures.get(name);
  if (!figure || query === undefined) return;
  figure.set(new URLSearchParams(query), glide);
  if (!glide) (figure.root.closest("figure") ?? figure.root).scrollIntoView({ block: "start" });
};

export const beginFigures = () => {
  document.querySelectorAll(".ensedu-computed").forEach(setUpFigure);
  follow(location.hash, false);
  addEventListener("hashchange", () => follow(location.hash, true));
  document.addEventListener("click", ({ target }) => {
    const link = target.closest("a.ensedu-set");
    if (link && link.hash === location.hash) follow(link.hash, true);
  });
};
