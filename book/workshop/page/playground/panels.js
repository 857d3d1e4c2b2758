// What stands around the cells: methods and sizes, challenges, the touched number, the count. Each is
// { element, refresh } and tells what a reader chose.
import { button, choice, make, reword } from "../common/controls.js";
import { CHALLENGES, startOf } from "./challenges.js";
import { countsOf, kindOf, sizesOf, totalOf } from "./layer.js";
import { capital, figure, nameOf, written } from "./names.js";

const NAMES = { in_features: "inputs m", out_features: "outputs n", ensemble_size: "members M" };
let panels = 0;

// Every method with its total, and the sizes. `choose(method)`, `resize(part of the sizes)`.
export const layerPanel = ({ choose, resize }) => {
  panels += 1;
  const rows = {};
  // Where there is little room, a menu stands for the cards.
  const menu = make("select", { class: "ensedu-p-menu", "aria-label": "Method", autocomplete: "off" });
  menu.addEventListener("change", () => choose(menu.value));
  const bars = make("div", { class: "ensedu-p-bars", role: "radiogroup", "aria-label": "Method, and how many numbers it holds" });
  for (const [method, { label, color, dark }] of Object.entries(LAYERS.methods)) {
    const radio = make("input", { type: "radio", name: `ensedu-p-${panels}`, value: method, autocomplete: "off" });
    const [bar, total] = [make("span", { class: "ensedu-p-bar", "aria-hidden": "true" }), make("output", {})];
    const row = make("label", {}, radio, make("span", {}, label), make("span", { class: "ensedu-p-total" }, total, " numbers"), bar);
    row.style.setProperty("--light", color);
    row.style.setProperty("--dark", dark);
    radio.addEventListener("change", () => choose(method));
    const option = make("option", { value: method });
    menu.append(option);
    rows[method] = { radio, bar, total, option, label };
    bars.append(row);
  }
  const sizes = Object.entries(NAMES).map(([key, words]) => {
    const values = Array.from({ length: LAYERS.most[key] }, (_, i) => [i + 1, i + 1]);
    return [key, choice(words, values, (value) => resize({ [key]: Number(value) }))];
  });
  let members = 0;
  const add = button("", () => {
    if (add.getAttribute("aria-disabled") !== "true") resize({ ensemble_size: members + 1 });
  }, { class: "ensedu-p-add" });
  const sizing = sizes.map(([, control]) => control.element);
  const element = make("div", { class: "ensedu-p-controls" }, menu, bars);

  const refresh = (state) => {
    const kind = kindOf(state);
    const several = kind.members || kind.stochastic;
    const totals = Object.keys(rows).map((method) => totalOf(method, sizesOf(state)));
    Object.entries(rows).forEach(([method, { radio, bar, total, option, label }], i) => {
      radio.checked = method === state.method;
      bar.style.setProperty("--share", `${(100 * totals[i]) / Math.max(...totals)}%`);
      total.value = totals[i];
      option.textContent = `${label}: ${totals[i]} numbers`;
    });
    menu.value = state.method;
    for (const [key, control] of sizes) {
      const draws = key === "ensemble_size" && !kind.members;
      control.element.firstChild.textContent = draws && kind.stochastic ? "draws" : NAMES[key];
      control.element.lastChild.disabled = draws && !kind.stochastic;
      control.show(state[key]);
    }
    members = state.ensemble_size;
    const full = members === LAYERS.most.ensemble_size;
    const price = totalOf(state.method, { ...sizesOf(state), M: members + 1 }) - totalOf(state.method, sizesOf(state));
    add.hidden = !several;
    if (full) add.textContent = `${members} ${kind.members ? "members" : "draws"} are the most here`;
    else add.textContent = kind.members ? `Add a member: ${price} numbers more` : "Add a draw: no number more";
    add.setAttribute("aria-disabled", String(full));
  };
  return { element, sizing, add, refresh };
};

// One challenge at a time: the `chip` that opens and leaves it, the `steps` to others, and its task and
// how far it is, the `answer`. `choose(its key, or null)`.
export const challengePanel = ({ choose }) => {
  const keys = Object.keys(CHALLENGES);
  const met = new Set();
  let open = null;
  const after = (way) => keys[(keys.indexOf(open) + way + keys.length) % keys.length];
  const missing = () => [...keys.slice(keys.indexOf(open) + 1), ...keys].find((key) => !met.has(key));
  const leads = () => verdict.dataset.done === "true" && missing();
  const chip = button("", () => choose(open ? null : missing() ?? keys[0]), { class: "ensedu-p-chip" });
  const at = make("span", { class: "ensedu-p-at" });
  const next = button("", () => choose(leads() || after(1)), { class: "ensedu-p-next", "aria-label": "Next challenge" });
  const back = button("←", () => choose(after(-1)), { "aria-label": "Previous challenge" });
  const steps = make("div", { class: "ensedu-p-steps", role: "group", "aria-label": "Challenge" }, back, at, next);
  const task = make("p", { class: "ensedu-p-task" });
  const verdict = make("p", { class: "ensedu-p-verdict", role: "status" });
  const leave = button("×", () => {
    chip.focus({ preventScroll: true });
    choose(null);
  }, { class: "ensedu-p-leave", "aria-label": "Leave the challenge" });
  const answer = make("div", { class: "ensedu-p-answer" }, make("div", {}, task, verdict), leave);
  const refresh = (state) => {
    const before = open;
    open = state.challenge;
    answer.hidden = steps.hidden = !open;
    const { done, words } = open ? CHALLENGES[open].check(state, startOf(open)) : { done: false, words: "" };
    if (done) met.add(open);
    if (open !== before) task.replaceChildren(...written(open ? CHALLENGES[open].task : ""));
    if (verdict.textContent !== words) verdict.replaceChildren(...written(words));
    verdict.dataset.done = String(done);
    reword(at, `${keys.indexOf(open) + 1} of ${keys.length}${met.has(open) ? " ✓" : ""}`);
    reword(next, leads() ? "Next →" : "→");
    reword(chip, `Challenges ${met.size}/${keys.length}`);
    chip.style.setProperty("--share", `${(100 * met.size) / keys.length}%`);
    chip.setAttribute("aria-expanded", String(Boolean(open)));
  };
  return { answer, steps, chip, refresh };
};

// The touched number, to be changed where there is no keyboard. `nudge(steps)`, `type(text)`.
export const stepperPanel = ({ nudge, type }) => {
  const field = make("input", { type: "text", autocomplete: "off", size: 5 });
  field.addEventListener("change", () => type(field.value));
  const ends = [button("−", () => nudge(-1), { "aria-label": "Less" }), button("+", () => nudge(1), { "aria-label": "More" })];
  const element = make("div", { class: "ensedu-p-stepper", role: "group", "aria-label": "Change the touched number" }, ends[0], field, ends[1]);
  const refresh = (state, key, value, stored) => {
    for (const one of [...ends, field]) one.disabled = !stored;
    field.value = figure(value);
    field.setAttribute("aria-label", capital(nameOf(state, key)));
  };
  return { element, refresh };
};

// How many numbers of each role the layer holds.
export const countPanel = () => {
  const element = make("div", { class: "ensedu-p-sum" });
  const head = make("tr", {}, ...["role", "how many", "numbers"].map((words) => make("th", { scope: "col" }, words)));
  const body = make("tbody");
  element.append(make("table", { class: "ensedu-table" }, make("thead", {}, head), body));
  const row = (role, label, term, count) =>
    make("tr", { "data-role": role }, make("th", { scope: "row" }, label), make("td", {}, ...term), make("td", {}, String(count)));
  const refresh = (state) => {
    const sizes = sizesOf(state);
    const { roles, total } = countsOf(state.method, sizes);
    const whole = (words) => make("span", {}, words); // never broken
    const filled = (term) => [whole(term), " ", whole(`= ${term.replace(/[Mmn]/g, (letter) => sizes[letter])}`)];
    const terms = Object.entries(kindOf(state).terms);
    body.replaceChildren(
      ...terms.map(([role, term]) => row(role, LAYERS.roles[role], filled(term), roles[role])),
      row("total", "total", [], total),
    );
  };
  return { element, refresh };
};
