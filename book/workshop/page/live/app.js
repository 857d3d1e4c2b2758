// The live trainer on a page or in a cell of Jupyter: put together, watched, and begun.
import { button } from "../common/controls.js";
import { make } from "../common/elements.js";
import { arrive, enroll, mark, onPage, view } from "../common/figures.js";
import { digits } from "../digit/figure.js";
import { decode, encode } from "./link.js";
import { guided } from "./guides.js";
import { fullSettings, smallSettings } from "./settings.js";
import { ownData, sharing } from "./sharing.js";
import { hintOf, stageOf } from "./stage.js";
import { named, opening, story } from "./story.js";
import { Trainer, sides, specOf } from "./trainer.js";

// The parameters of one network.
const ofOne = ({ sizes }) => sizes.slice(1).reduce((sum, n, l) => sum + (sizes[l] + 1) * n, 0);

export const gauge = () => {
  // While it trains, words change in their node: another node has the whole page styled anew.
  const steps = new Text();
  const held = make("span", { class: "ensedu-t-held" });
  const element = make("p", { class: "ensedu-t-meter" });
  let shown = "";
  const hold = (totals, state) => {
    const both = sides(state);
    const one = ofOne(specOf(state, both[0]));
    // A bar is full at as many networks as there are members, or at the largest total.
    const most = Math.max(...totals, ...both.map((side) => side.ensemble_size * one));
    const bars = totals.map((total, i) => {
      const bar = make("span", { class: "ensedu-t-bar", "aria-hidden": "true", "data-method": both[i].method });
      bar.style.setProperty("--share", `${(100 * total) / most}%`);
      bar.style.setProperty("--one", `${(100 * one) / most}%`);
      return make("span", {}, totals.length > 1 ? `${"AB"[i]} ` : "", bar, ` ${total.toLocaleString("en")}`);
    });
    held.replaceChildren(...bars.flatMap((bar, i) => (i ? [" ", bar] : [bar])), " parameters");
  };
  const show = (frame, state) => {
    steps.data = `step ${frame.steps.toLocaleString("en")}`;
    const totals = frame.sides.map(({ total }) => total);
    if (totals.length !== sides(state).length) return; // the picture of another state
    const what = JSON.stringify([totals, sides(state)]);
    if (shown === what) return;
    if (!shown) element.append(make("span", {}, steps), " ", held);
    shown = what;
    hold(totals, state);
  };
  return { element, show };
};

const COUNT = 250; // milliseconds between two numbers of the meter
const SAY = 1000; // milliseconds between two sentences while it trains
const KEEP = 3000; // milliseconds that an answer to the reader stands at least
// Lines in a square of 16 pixels, for a phone, which has no room for words of full size.
const ICONS = {
  Reset: "M4 3v10M13 3v10L6 8z", Step: "M3 3v10l7-5zM12 3v10", "New seed": "M2.5 2.5h11v11h-11zM6 6h0M10 10h0M10 6h0M6 10h0",
  Undo: "M6 2.5 2.5 6 6 9.5M2.5 6H10a3.5 3.5 0 0 1 0 7H6", Compare: "M1.5 3h5v10h-5zM9.5 3h5v10h-5z",
};

export const mount = (root, { state: first, small = false, distributions = false, tries = [], name = "live", alone = false, full = "", behind = null }) => {
  const status = make("p", { class: "ensedu-t-story", role: "status" }, opening(first));
  const copiedWords = new Text(status.textContent);
  let spoken = { until: 0, steps: -1, state: null }; // how long it stands, and about what
  // Only what is `loud` is read aloud: answers, and what is seen at a pause. What is `heard` is not seen.
  const tell = (words, loud = true, time = KEEP, heard = false) => {
    const live = loud ? "polite" : "off";
    seen.toggleAttribute("data-heard", heard);
    if (status.textContent !== words || status.ariaLive !== live) {
      if (status.ariaLive !== live) status.ariaLive = live;
      if (loud) status.textContent = words; // another node is read aloud
      else status.firstChild.data = words;
      copiedWords.data = words;
    }
    spoken = { until: performance.now() + time, steps: trainer.steps, state: trainer.state };
  };
  // That it begins anew is seen: it is only read aloud, and leaves its place to what comes out.
  const aloud = make("p", { class: "ensedu-t-aloud", role: "status" });
  const anew = (words) => {
    aloud.replaceChildren(words);
    tell(opening(trainer.state), false, 0);
  };
  const calm = matchMedia("(prefers-reduced-motion: reduce)");

  const trainer = new Trainer(first, {
    tell,
    anew,
    draw: (all) => draw(all),
    refresh: () => refresh(),
    settle: (address) => {
      if (!trainer.playing && spoken.state !== trainer.state) sum();
      if (!small && !alone) history.replaceState(history.state, "", `#${name}:${address}`);
      mark(name, new URLSearchParams(address));
    },
  }, behind);
  trainer.distributions = distributions;

  const hint = hintOf(`${name}-hint`, small);
  const stage = stageOf(root, trainer, hint.id);
  const meter = gauge();
  const play = button("", () => {
    trainer.touched = true;
    if (trainer.playing) trainer.pause();
    else trainer.play();
  }, { class: "ensedu-t-play" });
  const tool = (words, tell, attributes) => {
    const element = button(words, tell, attributes);
    if (!small) element.insertAdjacentHTML("afterbegin", `<svg viewBox="0 0 16 16" aria-hidden="true"><path d="${ICONS[words]}"/></svg>`);
    return element;
  };
  const step = tool("Step", () => {
    trainer.touched = true;
    trainer.step();
  });
  const reset = tool("Reset", () => {
    trainer.restart();
    refresh();
    tell("Reset: the same start once more.");
  });
  const seed = tool("New seed", () => trainer.change({ seed: (trainer.state.seed + 1) % 1000000 }));
  const undo = tool("Undo", () => trainer.undo());
  const compare = tool("Compare", () => trainer.compare(), { title: "Train two networks on the same points; both begin anew" });
  const tools = make(
    "div", { class: "ensedu-t-tools", role: "group", "aria-label": "Training" },
    play, reset, ...(small ? [seed, undo] : [step, seed, undo, compare]),
  );

  const settings = small ? smallSettings(trainer, full, tries) : fullSettings(trainer, root);
  const shared = small ? null : sharing(trainer, name);
  if (tries.length) settings.element.append(tools);
  const all = small && make("p", { class: "ensedu-t-all" }, settings.more);
  const guides = small ? null : guided(trainer, root, settings.panel);
  const below = small
    ? []
    : [stage.lossFold, ownData(trainer, root, () => guides.close(true))];
  // What is seen, what to try, and what sets it: where there is room what is seen stands beside the
  // others; the few settings of the small form stand above.
  const seen = make("div", { class: "ensedu-t-seen" }, ...(tries.length ? [] : [tools]), meter.element, stage.element, stage.key, hint, status, aloud, ...(shared ? [shared] : []));
  const bench = make("div", { class: "ensedu-t-bench" }, ...(small ? [settings.element, seen, all] : [guides.element, seen, settings.element]));
  const box = make("div", { class: `ensedu-t${small ? " ensedu-t-small" : " ensedu-t-full"}${small && !tries.length ? "" : " ensedu-t-beside"}${behind ? " ensedu-t-compared" : ""}${distributions ? " ensedu-t-clouded" : ""}` }, bench, ...below);

  const fail = ({ side, step: at, words }) =>
    tell(
      words
        ? `Training stopped: ${words}.`
        : `${named(trainer.state, side)} diverged at step ${at.toLocaleString("en")}: its loss is no finite number. Choose a smaller learning rate, and press Reset.`,
    );
  const sum = () => {
    if (!trainer.frame || trainer.failed) return;
    // Where the same number is seen above, at the same time, the sentence is only heard.
    const measured = Boolean(settings.measure?.(trainer.frame));
    tell(story(trainer.frame, trainer.state, behind), !trainer.playing, SAY, measured);
  };
  let metered = 0; // when
  let pictured = sides(first).length;
  let copied = false; // whether a small copy stands where a link was followed
  const draw = (anew) => {
    stage.draw(anew);
    if (copied) stage.drawCopy();
    const { frame, failed, playing } = trainer;
    if (!frame) return;
    const now = performance.now();
    if (failed) fail(failed);
    else if (playing ? now > spoken.until : frame.steps !== spoken.steps) sum();
    if (playing && !anew && now - metered < COUNT) return;
    metered = now;
    meter.show(frame, trainer.state);
    guides?.count();
    if (!playing) settings.measure?.(frame);
  };
  const refresh = () => {
    play.textContent = trainer.playing ? "❚❚ Pause" : "▶ Play";
    undo.disabled = !trainer.undos.length;
    compare.ariaPressed = String(Boolean(trainer.state.other));
    // An experiment has a button of its own.
    for (const one of [play, reset, step, seed, compare]) one.disabled = Boolean(trainer.home);
    root.dataset.playing = String(trainer.playing);
    settings.panel.refresh();
    stage.refresh();
    // At once, because pictures without a size would move what stands below them.
    if (pictured !== sides(trainer.state).length) stage.draw(true);
    pictured = sides(trainer.state).length;
    if (trainer.failed) fail(trainer.failed);
  };

  root.append(box);
  refresh();
  draw(true);

  // A link or an address sets all that it names; a small copy goes on training for who has followed one.
  const link = {
    frame: stage.element,
    set(_, { text, arrives }) {
      const { state, error } = decode(text, first);
      if (error) return tell(`This link cannot be followed: ${error}. The trainer ${arrives ? "starts as it always does" : "stays as it is"}.`);
      guides?.close(true);
      mark(name, new URLSearchParams(encode(state)));
      if (encode(state) === encode(trainer.state)) return;
      if (!arrives) trainer.remember();
      trainer.apply(state);
    },
    copy() {
      copied = true;
      watch();
      return { words: copiedWords, frame: stage.copy };
    },
    left() {
      copied = false;
      watch();
    },
  };
  // Nothing starts before it is on the screen, and nothing runs when it is off it.
  let inView = false;
  const watch = () => trainer.show((inView || copied) && !document.hidden, calm.matches);
  // Of several entries the last is the newest.
  const watcher = new IntersectionObserver((entries) => {
    inView = entries.at(-1).isIntersecting;
    watch();
  });
  watcher.observe(box);
  document.addEventListener("visibilitychange", watch);
  const resized = new ResizeObserver(() => trainer.look());
  resized.observe(stage.element);
  const themed = new MutationObserver(() => trainer.look());
  themed.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  themed.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light"] });

  return {
    link,
    get state() {
      return structuredClone(trainer.state);
    },
    get steps() {
      return trainer.steps;
    },
    set: (part) => trainer.apply({ ...trainer.state, ...part }),
    play: (steps) => trainer.play(steps, true),
    step: () => trainer.step(),
    reset: () => reset.click(),
    weights: () => trainer.runner.weights(),
    destroy() {
      trainer.stop();
      watcher.disconnect();
      resized.disconnect();
      themed.disconnect();
      document.removeEventListener("visibilitychange", watch);
      box.remove();
    },
  };
};

// Build every trainer of the page, and every drawing of a digit.
export const begin = () => {
  onPage(".ensedu-trainer", (root) => {
    const state = JSON.parse(root.querySelector(":scope > script").textContent);
    const { name, small, distributions, tries, full, behind } = root.dataset;
    const { link } = mount(root, {
      state, small: small !== undefined, distributions: distributions !== undefined,
      tries: JSON.parse(tries ?? "[]"), name, full, behind: behind && JSON.parse(behind),
    });
    enroll(name, { root, moved() {}, ...link });
    arrive();
  });
  onPage(".ensedu-digit", (root) => digits(root));
};

export const render = view("ensedu-trainer", (root, model, number) => {
  const { destroy } = mount(root, { ...model.get("_options"), name: `live-${number}`, alone: true });
  return destroy;
});
