// The controls of the trainer, in its small form and with all of them.
import { button, choice, fold, group, slider, toggle } from "../common/controls.js";
import { make } from "../common/elements.js";
import { STARTS, encode, withMethod } from "./link.js";
import { START_WORDS, widestBand } from "./story.js";
import { TOYS } from "./toys.js";
import { sides, withToy } from "./trainer.js";

// Every value of a setting that is a whole number.
const allOf = (key) => {
  const { low, high } = SETTINGS.fields[key];
  return Array.from({ length: high - low + 1 }, (_, k) => low + k);
};
const isBayesian = (method) => METHODS[method].distributions.length > 0;
const dropsUnits = (method) => METHODS[method].drops_units;

// Controls that follow the trainer: each is made with what it shows and when it is there.
class Panel {
  constructor(trainer) {
    this.trainer = trainer;
    this.followers = [];
  }

  keep(control, show, there = null) {
    this.followers.push(() => {
      if (there) control.element.hidden = !there();
      show(control);
    });
    return control;
  }

  field(control, pick, there = null) {
    return { ...this.keep(control, () => control.show(pick()), there), pick };
  }

  // What is rarely set, folded, each after its key: beside "More" stands what is not as usual.
  more(fields) {
    const box = fold("More", ...fields.map(([, { element }]) => element));
    const unusual = ([key, { element, pick }]) => !element.hidden && pick() !== SETTINGS.defaults[key];
    const said = ([, { element }]) =>
      `${element.querySelector("span").textContent} ${element.querySelector("output")?.value ?? element.querySelector(":checked + span").textContent}`;
    this.followers.push(() => {
      const words = fields.filter(unusual).map(said).join(", ");
      box.firstChild.textContent = words ? `More: ${words}` : "More";
    });
    return box;
  }

  // A setting of the whole state.
  slider(label, key, values, there = null) {
    const { trainer } = this;
    return this.field(slider(label, values, (value) => trainer.change({ [key]: value })), () => trainer.state[key], there);
  }

  toggle(label, key, options, there = null) {
    const { trainer } = this;
    return this.field(toggle(label, options, (value) => trainer.change({ [key]: value })), () => trainer.state[key], there);
  }

  // A number of a few, with which training begins anew.
  restart(label, key, values) {
    const { trainer } = this;
    const tell = (value) => trainer.begin({ [key]: value });
    return this.field(toggle(label, values.map((value) => [value, String(value)]), tell), () => trainer.state[key]);
  }

  // The settings of one side of a comparison.
  side(i) {
    const { trainer } = this;
    const own = () => sides(trainer.state)[i] ?? trainer.state;
    const set = (part) => trainer.changeSide(i, part);
    const methods = Object.keys(STARTS).map((each) => [each, HOUSE.labels[each]]);
    return {
      method: this.field(choice("method", methods, (method) => set(withMethod(own(), method))), () => own().method),
      members: this.keep(slider("members", allOf("ensemble_size"), (ensemble_size) => set({ ensemble_size })), (control) => {
        const { method, ensemble_size } = own();
        control.show(ensemble_size, method === "single");
        control.element.querySelector("span").textContent = method === "single" || METHODS[method].has_members ? "members" : "draws a step";
      }),
      start: this.keep(choice("start", [], (start) => set({ start })), (control) => {
        control.fill(STARTS[own().method].map((value) => [value, START_WORDS[value]]));
        control.show(own().start);
      }, () => STARTS[own().method].length > 1),
      loss: this.field(
        toggle(i ? "loss of B" : "loss", [["mean", "average"], ["mixture", "mixture"]], (loss) => set({ loss })),
        () => own().loss, () => !i || trainer.state.other,
      ),
      kl: this.field(
        slider("KL weight", [0, 0.01, 0.1, 0.3, 1, 3, 10], (kl_weight) => set({ kl_weight })),
        () => own().kl_weight, () => isBayesian(own().method),
      ),
    };
  }

  refresh() {
    for (const follow of this.followers) follow();
  }
}

// The small form: members, and how they start, or what their distributions start from and return to; or how
// distributions of all weights are trained; or how many units are dropped.
export const smallSettings = (trainer, full, tries) => {
  const panel = new Panel(trainer);
  const { method } = trainer.state;
  const startsOf = trainer.distributions ? ["normal-0.1", "signs"] : STARTS[method];
  const starts = () =>
    panel.toggle("starts", "start", startsOf.map((value) => [value, START_WORDS[value]]), () => startsOf.length > 1);
  const ofMembers = () => [trainer.distributions ? panel.restart("prior σ", "prior_scale", [0.03, 0.1, 0.3]) : panel.side(0).members, starts()];
  const ofDistributions = () => [
    panel.restart("KL weight", "kl_weight", [0, 0.1, 1, 10]), panel.restart("initial σ", "initial_std", [0.01, 0.1, 1]),
  ];
  const ofMasks = () => [panel.restart("rate", "p", [0.02, 0.05, 0.2, 0.5])];
  const small = isBayesian(method) && !METHODS[method].has_members ? ofDistributions : dropsUnits(method) ? ofMasks : ofMembers;
  const own = small();
  const more = make("a", {}, "Open it with all settings");
  panel.followers.push(() => {
    more.hidden = !full;
    more.href = `${full}#live:${encode(trainer.state)}`;
  });
  const element = make("div", { class: "ensedu-t-settings" }, ...own.map(({ element: one }) => one));
  return { panel, element, more, measure: tries.length ? asking(panel, element, tries) : null };
};

// Above the settings stands what to try, one after the other, and what was done last as long as it holds; and
// below the first of them how wide the band is. Returns what measures that.
const asking = (panel, element, tries) => {
  const asked = make("span", { role: "status" });
  const skip = button("skip", () => follow(true), { class: "ensedu-t-skip" });
  const first = document.querySelector("a.ensedu-first"); // where the page says that reading starts
  const on = first ? make("a", { href: first.href }, "Now read on.") : make("strong", {}, "Now read on.");
  const width = new Text();
  const band = make("p", { class: "ensedu-t-control" }, make("span", {}, "inner band"), make("span", { class: "ensedu-t-note" }, "in the widest gap"), make("strong", {}, width));
  element.prepend(make("p", { class: "ensedu-t-try" }, asked, skip));
  element.children[1].after(band);
  let began = 0; // how many points there were when one was asked for
  const own = {
    ask: "Add a point where there was none.", answer: "Your point is set: watch the members learn it.",
    steps: 0, holds: ({ points }) => points.length > began,
  };
  const set = tries.map((one) => ({ ...one, holds: (state) => Object.entries(one.set).every(([key, value]) => state[key] === value) }));
  const all = [...set, own];
  let [at, done] = [0, null]; // what is asked, and what was done last while it holds
  const follow = (skipped) => {
    const { state, steps } = panel.trainer;
    if (skipped || (all[at]?.holds(state) && steps >= all[at].steps)) {
      done = skipped ? null : all[at];
      at += 1;
      if (all[at] === own) began = state.points.length;
    } else if (done && !done.holds(state)) done = null;
    else if (asked.firstChild) return;
    const next = all[at] ? [`Try ${at + 1} of ${all.length}: `, make("strong", {}, all[at].ask)] : [on];
    asked.replaceChildren(...(done ? [`✓ ${done.answer}`, make("br")] : []), ...next);
    skip.hidden = !all[at];
    if (skipped && skip.hidden) on.focus();
  };
  panel.followers.push(() => follow(false));
  return (frame) => {
    follow(false);
    return (width.data = widestBand(frame, panel.trainer.state));
  };
};

// A row of buttons for boxes of which one is open at most; `follow` hears which one is, or null.
export const tabsOf = (label, groups, follow) => {
  const boxes = Object.values(groups);
  const tabs = Object.entries(groups).map(([words, box]) => button(words, () => {
    const opened = box.hasAttribute("data-open") ? null : box;
    show(opened);
    follow(opened);
  }));
  const show = (opened) => boxes.forEach((box, i) => {
    box.toggleAttribute("data-open", box === opened);
    tabs[i].ariaExpanded = String(box === opened);
  });
  show(null);
  return { element: make("div", { class: "ensedu-t-tabs", role: "group", "aria-label": label }, ...tabs), show };
};

export const fullSettings = (trainer, root) => {
  const panel = new Panel(trainer);
  const uses = (kind) => () => sides(trainer.state).some(({ method }) => kind(method));
  const data = choice("data", [...Object.entries(TOYS).map(([value, { label }]) => [value, label]), ["own", "your own points"]], (value) =>
    trainer.change(value === "own" ? { data: "own" } : withToy(trainer.state, { data: value, noise: TOYS[value].noise })),
  );
  const noise = slider("noise σ", [0.02, 0.05, 0.08, 0.1, 0.12, 0.2, 0.3, 0.5, 1], (value) =>
    trainer.change(trainer.state.data === "own" ? { noise: value } : withToy(trainer.state, { noise: value })),
  );
  const brush = toggle("class", [["0", "● 1"], ["1", "▲ 2"], ["2", "■ 3"]], (value) => (trainer.brush = Number(value)));
  brush.show("0");
  const fresh = button("New points", () => trainer.change(withToy(trainer.state, { seed: (trainer.state.seed + 1) % (SETTINGS.fields.seed.high + 1) })));
  const clear = button("Clear", () => trainer.change({ data: "own", points: [], axes: null }));
  panel.followers.push(() => (fresh.disabled = trainer.state.data === "own"));
  const [left, right] = [panel.side(0), panel.side(1)];
  const second = group("Second network", right.method, right.members, right.start, right.kl);
  panel.followers.push(() => (second.hidden = !trainer.state.other));
  const network = group("Network", left.method, left.members, left.start, left.kl,
    panel.slider("dropout", "p", [0.02, 0.05, 0.1, 0.2, 0.5], uses(dropsUnits)));
  const points = group("Data", panel.field(data, () => trainer.state.data), panel.field(noise, () => trainer.state.noise),
    panel.keep(brush, () => {}, () => trainer.plane), make("div", { class: "ensedu-t-buttons" }, fresh, clear));
  const training = group("Training", panel.slider("learning rate", "lr", [0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 1]));
  const rare = panel.more([
    ["width", panel.slider("width", "width", [2, 3, 5, 8, 13, 20, 32, 50, 70, 100])],
    ["hidden_layers", panel.slider("hidden layers", "hidden_layers", allOf("hidden_layers"))],
    ["activation", panel.toggle("activation", "activation", [["relu", "ReLU"], ["tanh", "tanh"]])],
    ["parametrization", panel.toggle("weights", "parametrization", [["standard", "standard"], ["ntk", "NTK"]])],
    ["head", panel.toggle("predicts", "head", [["mean", "mean"], ["variance", "+ variance"]], () => !trainer.plane)],
    ["loss", left.loss],
    ["loss", right.loss],
    ["weight_decay", panel.slider("weight decay", "weight_decay", [0, 0.0001, 0.001, 0.01, 0.1, 1])],
    ["prior_scale", panel.slider("prior σ", "prior_scale", [0.03, 0.1, 0.3, 1, 3], uses(isBayesian))],
    ["initial_std", panel.slider("initial σ", "initial_std", [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1], uses(isBayesian))],
  ]);
  // On a phone they are a sheet, which ends below the pictures whose points a reader sets.
  const sheet = () => {
    if (!element.hasAttribute("data-open")) return;
    const stage = root.querySelector(".ensedu-t-stage");
    const pictures = [...stage.querySelectorAll("[role=application]")];
    const below = pictures.at(trainer.plane ? 0 : -1).getBoundingClientRect().bottom;
    element.style.setProperty("--above", `${below - stage.getBoundingClientRect().top}px`);
    stage.scrollIntoView();
  };
  const tabs = tabsOf("Settings", { Network: network, B: second, Data: points, Training: training, More: rare }, (opened) => {
    rare.open = opened === rare;
    element.toggleAttribute("data-open", Boolean(opened));
    element.parentElement.toggleAttribute("data-set", Boolean(opened));
    sheet();
  });
  const element = make("div", { class: "ensedu-t-settings" }, tabs.element, network, points, training, second, rare);
  panel.followers.push(() => {
    const [ofFirst, ofSecond] = tabs.element.children;
    ofFirst.textContent = trainer.state.other ? "A" : "Network";
    ofSecond.hidden = second.hidden;
  });
  return { panel, element };
};
