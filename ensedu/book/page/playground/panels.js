// What stands around the cells: methods and sizes, challenges, the touched number, the count. Each is
// { element, refresh } and tells what a reader chose.
import { button, choice, make } from "../common/controls.js";
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
    if (!several) add.textContent = "One network has no members";
    else if (full) add.textContent = `${members} ${kind.members ? "members" : "draws"} are the most here`;
    else add.textContent = kind.members ? `Add a member: ${price} numbers more` : "Add a draw: no number more";
    add.setAttribute("aria-disabled", String(full || !several));
  };
  return { element, sizing, add, refresh };
};

// The challenges with their tasks, and the `answer` of the open one, which stands over the numbers.
// `choose(its key, or null)`.
export const challengePanel = ({ choose }) => {
  let [open, following] = [null, null]; // its key, and the button of the next
  const buttons = Object.entries(CHALLENGES).map(([key, { title, task }]) => {
    const one = button("", () => {
      one.focus({ preventScroll: true }); // which "Next" had
      choose(open === key ? null : key);
    });
    one.append(make("strong", {}, title), " ", make("span", {}, ...written(task)));
    return [key, one];
  });
  const chip = button("", () => {
    element.scrollIntoView({ block: "start" });
    buttons[0][1].focus({ preventScroll: true });
  }, { class: "ensedu-p-chip" });
  const task = make("p", { class: "ensedu-p-task" });
  const verdict = make("p", { class: "ensedu-p-verdict", role: "status" });
  const next = button("", () => following.click(), { class: "ensedu-p-next" });
  const leave = button("×", () => buttons.find(([key]) => key === open)[1].click(), { class: "ensedu-p-leave", "aria-label": "Leave the challenge" });
  const element = make("div", { class: "ensedu-p-challenges", role: "group", "aria-label": "Challenges" }, make("p", {}, "Challenges"), ...buttons.map(([, one]) => one));
  const answer = make("div", { class: "ensedu-p-answer" }, make("div", {}, task, verdict, next), leave);
  const refresh = (state) => {
    open = state.challenge;
    for (const [key, one] of buttons) one.setAttribute("aria-pressed", String(key === open));
    answer.hidden = !open;
    const { done, words } = open ? CHALLENGES[open].check(state, startOf(open)) : { done: false, words: "" };
    task.replaceChildren(...written(open ? CHALLENGES[open].task : ""));
    if (verdict.textContent !== words) verdict.replaceChildren(...written(words));
    verdict.dataset.done = String(done);
    if (done) buttons.find(([key]) => key === open)[1].dataset.done = "true";
    const solved = buttons.filter(([, one]) => one.dataset.done).length;
    chip.textContent = `Challenges ${solved}/${buttons.length}`;
    chip.style.setProperty("--share", `${(100 * solved) / buttons.length}%`);
    // Of those that are not yet met, the one that follows, or the first.
    const rest = buttons.slice(buttons.findIndex(([key]) => key === open));
    [, following] = [...rest, ...buttons].find(([, one]) => !one.dataset.done) ?? [];
    next.hidden = !done || !following;
    next.textContent = following ? `Next: ${following.firstElementChild.textContent}` : "";
  };
  return { element, answer, chip, refresh };
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
