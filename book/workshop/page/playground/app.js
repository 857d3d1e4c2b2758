// The playground: one state, its changes and the way back, and what is told of them.
import { button, make, reword, toggle } from "../common/controls.js";
import { decode, edited, encode, valueProblem } from "./address.js";
import { cellsOf, hundredths, stepped } from "./cells.js";
import { CHALLENGES, startOf } from "./challenges.js";
import { compute, keysOf, kindOf, limitsOf, passesOf, range, valueOf } from "./layer.js";
import { capital, figure, nameOf, parsed, written } from "./names.js";
import { drawOutputs, endsOf, layOutputs } from "./outputs.js";
import { challengePanel, countPanel, layerPanel, stepperPanel } from "./panels.js";
import { layOut } from "./sheet.js";
import { explain, sumWords } from "./words.js";

const UNDO = 100;
const SETTLE = 300; // milliseconds after which a hand has come to rest
const NARROW = 660; // pixels
const HINT = "Each output is y = x W + b, and ∘ multiplies entry by entry.";
const HEADER = 64; // pixels of a page's head, below which what is scrolled to begins
const LINK_HINT = " The address of this page leads to your layer, with every number.";
const TOUCH_HINT = "Tap a number, then press + or −.";
const MOUSE_HINT = "Drag a framed number, or click it and type: what moves with it?";
const KEY_HINT = "With the keyboard: ↑ and ↓ change the number with the focus, ← and → go on, digits type one; Ctrl+Z undoes.";
const OWNED = /^([Wybrs]|bias|[rs]_\w+):/; // numbers whose first index is a member's
const NUMBER = /^\s*[-\u2212]?(\d+\.?\d*|\.\d+)\s*$/;

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
// An open challenge says itself what is counted.
const sums = (state) => (state.challenge ? "" : sumWords(state));
const layerOf = ({ method, in_features, out_features, ensemble_size, challenge }) => [method, in_features, out_features, ensemble_size, challenge];

export const mount = (root, { state: first, name = "playground", hooks = {} }) => {
  let state = structuredClone(first);
  let numbers = compute(state);
  let ends; // of the lines of outputs
  let mine = { ...state, challenge: null }; // the layer that a challenge stands in for
  let undos = [];
  let gesture = null; // changes of one gesture are undone together
  let chosen = keysOf(state)[0]; // the touched number
  let whose = 0; // the member whose means and σ stand above
  let lit = null; // what lights up with it
  let settling = 0;
  let laid = null; // for which layer the cells stand
  let narrow = null; // whether there is little room

  // What is told.
  const story = make("p", { class: "ensedu-p-story", role: "status" });
  const tell = (words, plain = false) => {
    story.classList.toggle("plain", plain);
    if (story.textContent !== words) story.replaceChildren(...written(words));
  };

  // What can be pressed.
  const layer = layerPanel({
    choose: (method) => change({ ...own(), method }, sums),
    resize: (part) => change({ ...(CHALLENGES[state.challenge]?.sizes ? state : own()), ...part }, sums),
  });
  const challenges = challengePanel({
    choose(key) {
      change(key === null ? own() : startOf(key), sums);
      seek(CHALLENGES[key] ?? { sizes: true });
    },
  });
  const undo = button("Undo", () => back());
  const reset = button("Reset", () => {
    const start = state.challenge ? startOf(state.challenge) : structuredClone(first);
    ends = undefined;
    if (same(start, state)) refresh();
    else change(start);
    tell("As it was at first.");
  });
  const again = button("", () => {
    const draw = (state.draw + 1) % LAYERS.seeds;
    change({ ...state, draw }, () => `Draw ${draw}: what is drawn is new, and every stored number as it was.`);
  }, { class: "ensedu-p-again" });
  const doings = make("div", { class: "ensedu-p-doings" }, reset, challenges.chip);
  const tools = make("div", { class: "ensedu-p-tools", role: "group", "aria-label": "The layer" }, ...layer.sizing, doings);

  // The numbers.
  const shared = make("div", { class: "ensedu-p-shared" });
  const outputs = make("div", { class: "ensedu-p-outputs", role: "group" });
  const members = make("div", { class: "ensedu-p-members" });
  const offset = (i) => members.children[i].offsetLeft - members.firstChild.offsetLeft;
  const bring = (i) => (members.scrollLeft = offset(i)); // to be seen whole
  const tabs = make("div", { class: "ensedu-p-tabs" });
  let tab = null; // shows which member is in view
  const view = () => {
    const away = [...members.children].map((_, i) => Math.abs(offset(i) - members.scrollLeft));
    tab.show(away.indexOf(Math.min(...away)));
  };
  members.addEventListener("scroll", view);
  const stepper = stepperPanel({
    nudge: (steps) => write(chosen, stepped(state, chosen, steps), `steps ${chosen}`),
    type: (text) => typed(chosen, text.replace(",", ".")),
  });
  const hand = make("div", { class: "ensedu-p-hand" }, stepper.element, undo);
  const hands = { "ensedu-t-finger": TOUCH_HINT, "ensedu-t-mouse": MOUSE_HINT };
  const instruction = make("p", { class: "ensedu-p-do" }, ...Object.entries(hands).map(([name, words]) => make("span", { class: name }, words)));
  const top = make("div", { class: "ensedu-p-top" }, instruction, shared, challenges.answer, outputs, hand, story);
  const marks = { touched: "touched", into: "moves with it", from: "goes into it" };
  const key = make("p", { class: "ensedu-p-key" }, ...Object.entries(marks).map(([mark, words]) => make("span", { class: mark }, words)));
  const head = make("div", { class: "ensedu-p-head" }, key, again, layer.add);
  const sheet = make("div", { class: "ensedu-p-sheet" }, top, head, tabs, members);
  const hint = make("p", { class: "ensedu-t-note" }, make("span", { class: "ensedu-t-keys" }, `${KEY_HINT} `), HINT, hooks.change ? "" : LINK_HINT);
  const count = countPanel();
  const box = make("div", { class: "ensedu-t ensedu-p" }, layer.element, tools, sheet, count.element, hint);
  const cells = cellsOf(sheet, {
    state: () => state,
    choose(at) {
      if (chosen === at) return;
      chosen = at;
      light();
      const member = sheet.querySelector(`[data-key="${at}"]`).closest(".ensedu-p-member");
      if (member) bring([...members.children].indexOf(member));
    },
    edit: (at, value, by) => write(at, value, by),
    type: (at, text) => typed(at, text),
  });

  // Changes.
  const settled = () => {
    clearTimeout(settling);
    settling = 0;
    if (!hooks.change) history.replaceState(history.state, "", `#${name}:${encode(state)}`);
    hooks.change?.(structuredClone(state));
  };
  const settle = () => {
    clearTimeout(settling);
    settling = setTimeout(settled, SETTLE);
  };
  const leave = () => settling && settled();
  // A reader's own layer, which is there again when a challenge is left.
  const own = () => (state.challenge ? mine : state);
  const become = (next, words = null) => {
    if (next.challenge) mine = own();
    state = next;
    refresh();
    const said = words?.(state);
    if (said) tell(said);
    settle();
  };
  const change = (next, words = null, by = null) => {
    if (same(next, state)) return;
    if (by === null || by !== gesture) undos = [...undos.slice(1 - UNDO), state];
    gesture = by;
    become(next, words);
  };
  const back = () => {
    if (!undos.length) return tell("There is nothing to undo.");
    gesture = null;
    cells.forget();
    become(undos.pop());
  };
  const write = (at, value, by, given = value) => {
    const problem = valueProblem(at, value, given);
    if (problem) tell(`${capital(nameOf(state, at))} stays ${figure(valueOf(state, at))}: ${problem}.`);
    else if (valueOf(state, at) === value) {
      light();
      const { low, high } = limitsOf(at);
      if (value === low || value === high) tell(`${capital(nameOf(state, at))} = ${figure(value)}: ${figure(low)} to ${figure(high)} is accepted.`);
    } else {
      chosen = at;
      change(edited(state, at, value), null, by);
    }
  };
  const typed = (at, text) => {
    const value = NUMBER.test(text) ? hundredths(Number(text.replace("\u2212", "-"))) : NaN;
    show();
    light();
    write(at, value, null, text);
  };

  // What is shown.
  const show = () => cells.show((one) => numbers[one] ?? valueOf(state, one));
  const light = () => {
    lit = { key: chosen, ...explain(state, chosen, numbers) };
    drawOutputs(state, numbers, outputs, lit, ends, narrow);
    cells.light(lit);
    stepper.refresh(state, chosen, numbers[chosen] ?? valueOf(state, chosen), cells.isStored(chosen));
    keep();
    tell(lit.words, true);
  };
  // Of all members' means and σ, those of the one that was touched last.
  const keep = () => {
    if (OWNED.test(chosen)) [whose] = parsed(chosen).place;
    if (whose >= state.ensemble_size) whose = 0;
    [...sheet.querySelectorAll(".ensedu-p-kept")].forEach((one, i) => one.classList.toggle("away", i !== whose));
  };
  // Where there is little room, x and W scroll away, outputs are small, and all of a challenge stays.
  const fit = () => {
    const now = box.clientWidth > 0 && box.clientWidth < NARROW;
    if (now === narrow) return;
    [narrow, laid] = [now, null];
    box.dataset.narrow = String(narrow);
    top[narrow ? "before" : "prepend"](instruction, shared);
    (narrow ? sheet : head).append(layer.add);
    (narrow ? challenges.answer : doings).prepend(challenges.steps);
  };
  const place = () => {
    const wide = getComputedStyle(box).getPropertyValue("--wide") === "1";
    [...sheet.querySelectorAll(".ensedu-p-kept")].forEach((one, i) => {
      if (wide && one.parentNode !== shared) shared.append(one);
      else if (!wide && one.parentNode === shared) members.children[i].firstChild.after(one);
    });
    cells.measure();
  };
  const refresh = () => {
    const kind = kindOf(state);
    numbers = compute(state);
    if (!laid) fit();
    const anew = !same(laid, layerOf(state));
    ends = endsOf(numbers, anew ? undefined : ends);
    undo.setAttribute("aria-disabled", String(!undos.length));
    const look = { light: kind.color, dark: kind.dark, m: state.in_features, n: state.out_features };
    for (const [word, value] of Object.entries(look)) box.style.setProperty(`--${word}`, value);
    again.hidden = !kind.stochastic;
    reword(again, `Draw again (${state.draw})`);
    challenges.refresh(state);
    if (anew) {
      for (const panel of [layer, count]) panel.refresh(state);
      const focused = document.activeElement?.dataset?.key;
      laid = layerOf(state);
      layOut(cells, state, { shared, members });
      layOutputs(cells, state, outputs, narrow);
      tab = toggle(kind.members ? "member" : "draw", range(passesOf(state)).map((i) => [i, String(i + 1)]), bring);
      tabs.replaceChildren(tab.element);
      tabs.hidden = passesOf(state) === 1;
      if (!cells.has(chosen)) chosen = keysOf(state)[0];
      place();
      view();
      if (focused && cells.has(focused)) cells.focus(focused);
    }
    light(); // it measures, before numbers change
    show();
  };

  box.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.key !== "z" || event.target.matches("input[type=text]")) return;
    event.preventDefault();
    back();
  });
  root.append(box);
  refresh();
  // A number that gets the focus must not lie behind what stays in sight.
  const measure = () => box.style.setProperty("--above", `${top.offsetHeight}px`);
  const sized = new ResizeObserver(() => {
    fit();
    if (laid) {
      place();
      show();
      drawOutputs(state, numbers, outputs, lit, ends, narrow);
    } else refresh();
    measure();
  });
  sized.observe(box);
  sized.observe(top);

  // What a challenge asks to change comes in sight: where there is little room, its member, and with
  // it W if both fit.
  const seek = ({ sizes, member = 0 }) => {
    measure();
    if (sizes || !narrow) tools.scrollIntoView({ block: "nearest" });
    else {
      const one = members.children[member];
      one.scrollIntoView({ block: "start", inline: "start" });
      const high = one.getBoundingClientRect().bottom - shared.getBoundingClientRect().top;
      if (shared.childElementCount && high + HEADER < innerHeight) shared.scrollIntoView({ block: "start" });
    }
  };

  // An address names this playground, and all of its state.
  const follow = (event) => {
    // Not what has been written into the address since.
    const [target, ...parts] = new URL(event?.newURL ?? location.href).hash.slice(1).split(":");
    if (target !== name || !parts.length) return;
    let asked = parts.join(":");
    try {
      asked = decodeURIComponent(asked); // as some mail programs write an address
    } catch {
      // A lone % is told as it stands.
    }
    const { state: next, error } = decode(asked, first);
    if (error) return tell(`This link cannot be followed: ${error}. The layer ${event ? "stays as it is" : "is as at first"}.`);
    if (event) change(next, sums);
    else become(next, sums);
    if (state.challenge && narrow) seek(CHALLENGES[state.challenge]);
    else root.scrollIntoView({ block: "start" });
  };
  addEventListener("hashchange", follow);
  addEventListener("pagehide", leave);
  follow();

  return {
    get state() {
      return structuredClone(state);
    },
    get numbers() {
      return structuredClone(numbers);
    },
    set: (next) => change(next, sums),
    edit: (at, value) => write(at, value, null),
    destroy() {
      clearTimeout(settling);
      removeEventListener("hashchange", follow);
      removeEventListener("pagehide", leave);
      sized.disconnect();
      box.remove();
    },
  };
};
