// The controls of the trainer, its guided experiments, and what a reader takes in and out.
import { button, choice, fold, group, make, slider, toggle } from "../common/controls.js";
import { GUIDES } from "./guides.js";
import { STARTS, encode, withMethod } from "./link.js";
import { read } from "./pasted.js";
import { script } from "./python.js";
import { sides } from "./runner.js";
import { START_WORDS, widestBand } from "./story.js";
import { withToy } from "./trainer.js";
import { MOST_POINTS, TOYS } from "./toys.js";

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
    return this.field(slider(label, values, String, (value) => trainer.change({ [key]: value })), () => trainer.state[key], there);
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
      members: this.keep(slider("members", allOf("ensemble_size"), String, (ensemble_size) => set({ ensemble_size })), (control) => {
        const { method, ensemble_size } = own();
        control.show(ensemble_size, method === "single");
        control.element.querySelector("span").textContent = method === "single" || METHODS[method].members ? "members" : "draws a step";
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
        slider("KL weight", [0, 0.01, 0.1, 0.3, 1, 3, 10], String, (kl_weight) => set({ kl_weight })),
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
  const small = isBayesian(method) && !METHODS[method].members ? ofDistributions : dropsUnits(method) ? ofMasks : ofMembers;
  const own = small();
  const more = make("a", {}, "Open it with all settings");
  panel.followers.push(() => {
    more.hidden = !full;
    more.href = `${full}#live:${encode(trainer.state)}`;
  });
  const element = make("div", { class: "ensedu-t-settings" }, ...own.map(({ element: one }) => one));
  return { panel, element, more, measure: tries.length ? asking(panel, element, tries) : null };
};

// Above the settings stands what to try, in any order, with the answer to what was done last; and
// below the first of them how wide the band is. Returns what measures that.
const asking = (panel, element, tries) => {
  const asked = make("p", { class: "ensedu-t-try", role: "status" });
  const width = new Text();
  const band = make("p", { class: "ensedu-t-control" }, make("span", {}, "inner band"), make("span", { class: "ensedu-t-note" }, "in the widest gap"), make("strong", {}, width));
  element.prepend(asked);
  element.children[1].after(band);
  const began = panel.trainer.state.points.length;
  const own = {
    ask: "Add a point of your own, where there was none.", answer: "All members learn it, too.",
    holds: ({ points }) => points.length > began,
  };
  const set = tries.map((one) => ({ ...one, holds: (state) => Object.entries(one.set).every(([key, value]) => state[key] === value) }));
  const left = new Set([...set, own]);
  panel.followers.push(() => {
    const done = [...left].find(({ holds }) => holds(panel.trainer.state));
    if (asked.firstChild && !done) return;
    left.delete(done);
    const [next] = left;
    asked.replaceChildren(done ? `✓ ${done.answer}` : `${left.size} things to try:`, make("br"), make("strong", {}, next?.ask ?? "Now read on."));
  });
  return (frame) => (width.data = widestBand(frame, panel.trainer.state));
};

// A row of buttons for boxes of which one is open at most; `follow` hears whether one is.
const tabsOf = (label, groups, follow = () => {}) => {
  const tabs = Object.entries(groups).map(([words, box]) => {
    const tab = button(words, () => {
      const open = tab.ariaExpanded !== "true";
      Object.values(groups).forEach((each, i) => {
        each.toggleAttribute("data-open", open && each === box);
        tabs[i].ariaExpanded = String(open && each === box);
      });
      follow(open);
    }, { "aria-expanded": "false" });
    return tab;
  });
  return make("div", { class: "ensedu-t-tabs", role: "group", "aria-label": label }, ...tabs);
};

export const fullSettings = (trainer, root) => {
  const panel = new Panel(trainer);
  const uses = (kind) => () => sides(trainer.state).some(({ method }) => kind(method));
  const data = choice("data", [...Object.entries(TOYS).map(([value, { label }]) => [value, label]), ["own", "your own points"]], (value) =>
    trainer.change(value === "own" ? { data: "own" } : withToy(trainer.state, { data: value, noise: TOYS[value].noise })),
  );
  const noise = slider("noise σ", [0.02, 0.05, 0.08, 0.1, 0.12, 0.2, 0.3, 0.5, 1], String, (value) =>
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
  const tabs = tabsOf("Settings", { Network: network, B: second, Data: points, Training: training, More: rare }, (open) => {
    rare.open = rare.hasAttribute("data-open");
    element.toggleAttribute("data-open", open);
    sheet();
  });
  const element = make("div", { class: "ensedu-t-settings" }, tabs, network, points, training, second, rare);
  panel.followers.push(() => {
    const [ofFirst, ofSecond] = tabs.children;
    ofFirst.textContent = trainer.state.other ? "A" : "Network";
    ofSecond.hidden = second.hidden;
  });
  return { panel, element };
};

// A link, and the same training as a script.
export const sharing = (trainer, name) => {
  const text = make("textarea", { readonly: "", hidden: "", "aria-label": "Text to copy", rows: 6, class: "ensedu-t-text" });
  const copy = async (pressed, content, words) => {
    try {
      await navigator.clipboard.writeText(content);
      trainer.on.tell(words);
      const before = pressed.textContent;
      pressed.textContent = "Copied ✓";
      setTimeout(() => (pressed.textContent = before), 2000);
    } catch {
      // Not allowed here: the reader copies by hand.
      text.value = content;
      text.hidden = false;
      text.focus();
      text.select();
      trainer.on.tell("Copy it from the box: this browser lets no page do it.");
    }
  };
  const link = button("Copy link", () =>
    copy(link, `${location.href.split("#")[0]}#${name}:${encode(trainer.state)}`, "Copied: a link that opens this very training, points and all."));
  const python = button("Copy as Python", () => {
    if (!trainer.state.points.length) trainer.on.tell("There is no point to learn from: add one.");
    else copy(python, script(trainer.state, trainer.steps || 3000), "Copied: a script that trains the same network on the same points.");
  });
  return make("div", { class: "ensedu-t-buttons" }, link, python, text);
};

export const ownData = (trainer, root) => {
  const text = make("textarea", {
    rows: 5, class: "ensedu-t-text", spellcheck: "false", placeholder: "x, y\n1.0, 2.5\n2.0, 3.1",
    "aria-label": "Rows of two columns, x and y, or of three, two inputs and a class",
  });
  const file = make("input", { type: "file", accept: ".csv,.tsv,.txt,text/csv,text/plain" });
  const open = make("label", { class: "ensedu-t-file" }, "Open a file", file);
  const said = make("p", { role: "status", class: "ensedu-t-note" });
  const use = (content) => {
    const found = read(content, trainer.state.seed);
    said.textContent = found.error ?? found.words;
    if (found.error) return;
    trainer.change({ data: "own", points: found.points, task: found.task, axes: found.axes });
    trainer.touched = true;
    trainer.play();
    root.scrollIntoView({ block: "start" });
  };
  file.addEventListener("change", async () => file.files.length && use(await file.files[0].text()));
  const note = `Paste two columns (x and y) or three (two inputs and a class), or open a CSV file, up to ${MOST_POINTS} rows. Nothing leaves this browser.`;
  return fold(
    "Your own data", make("p", { class: "ensedu-t-note" }, note), text,
    make("div", { class: "ensedu-t-buttons" }, button("Use these rows", () => use(text.value)), open), said,
  );
};

// `panel` tells when training has ended.
export const guided = (trainer, root, panel) => {
  // What is read stands beside the pictures, on a phone below them: both are in sight.
  const keep = (box) => {
    const beside = getComputedStyle(root.querySelector(".ensedu-t-seen")).position === "sticky";
    if (!beside) root.querySelector(".ensedu-t-stage").scrollIntoView();
    box.scrollIntoView({ block: "nearest" });
  };
  const boxes = GUIDES.map((guide, i) => {
    let guess = "";
    let runs = false;
    const verdict = make("strong");
    const answer = make("p", { hidden: "", tabindex: -1 }, verdict, guide.answer);
    const judge = () => (verdict.textContent = guess && (guess === guide.right ? "✓ Right. " : "Not so. "));
    const guesses = toggle("Your guess", guide.guesses.map((words) => [words, words]), (words) => {
      guess = words;
      judge();
      ended();
    });
    const begin = button("Run", () => {
      trainer.remember();
      trainer.touched = true;
      if (!trainer.apply({ ...trainer.state, ...structuredClone(guide.state) })) return;
      trainer.settle();
      trainer.restart();
      trainer.play(guide.steps);
      runs = true;
      keep(boxes[i]);
    });
    const show = () => {
      answer.hidden = false;
      reveal.hidden = true;
      boxes[i].dataset.told = "";
    };
    const reveal = button("Show the answer", () => {
      show();
      answer.focus({ preventScroll: true });
      keep(boxes[i]);
    });
    // Who has guessed is told at the end of the run.
    const ended = () => {
      if (!runs || !trainer.rested || !guess) return;
      runs = false;
      show();
      if (boxes[i].checkVisibility()) trainer.on.tell(guess === guide.right ? "Your guess was right." : "Your guess was not right.");
    };
    panel.followers.push(ended);
    return make(
      "div", { "data-guide": guide.key }, make("p", {}, make("strong", {}, "Predict. "), guide.question), guesses.element,
      make("div", { class: "ensedu-t-buttons" }, begin, reveal), answer,
    );
  });
  const tabs = tabsOf("Experiments", Object.fromEntries(GUIDES.map(({ title }, i) => [title, boxes[i]])), (open) => {
    if (open) keep(boxes.find((box) => box.hasAttribute("data-open")));
  });
  tabs.prepend(make("strong", { "aria-hidden": "true" }, "Try"));
  return make("div", { class: "ensedu-t-guides" }, tabs, ...boxes);
};
