// Guided experiments: each sets the state, asks for a prediction, then shows.
import { button, fold, toggle } from "../common/controls.js";
import { make } from "../common/elements.js";
import { sideOf } from "./link.js";
import { tabsOf } from "./settings.js";
import { opening } from "./story.js";
import { TOYS, points } from "./toys.js";

const toy = (data, seed = 0) => {
  const { task, noise } = TOYS[data];
  return { task, data, noise, seed, points: points(data, noise, seed), axes: null };
};
const USUAL = { ...SETTINGS.defaults, other: null };
const against = (method, start, rest = {}) => ({ ...sideOf(USUAL), method, start, ...rest });

export const GUIDES = [
  {
    key: "equal-starts",
    title: "Do starts matter?",
    question:
      "In A, four networks start from numbers of their own; in B, all four start from the same. What will those in B look like after 1,000 steps?",
    guesses: ["as in A", "more alike", "one curve"],
    right: "one curve",
    state: {
      ...USUAL, ...toy("gap"), method: "deep_ensemble", start: "different",
      other: against("deep_ensemble", "same"),
    },
    steps: 1000,
    answer: "The four networks in B are one curve, at every step.",
    why: "The same start, the same data and the same rule give the same network four times. Nothing in the training makes members differ; their starts do.",
  },
  {
    key: "data-in-the-gap",
    title: "Who sees the gap?",
    question:
      "Two clusters of points, and nothing between them. A is a deep ensemble, B a mean-field BNN. Which will doubt more between the clusters than at them?",
    guesses: ["A", "B", "both"],
    right: "A",
    state: {
      ...USUAL, ...toy("clusters"), hidden_layers: 1, method: "deep_ensemble", start: "different",
      other: against("mean_field", "different"),
    },
    steps: 2000,
    answer: "The deep ensemble does: its members part between the clusters. The mean-field BNN doubts least there.",
    why: "With one hidden layer of ReLUs, weights that are independent of each other give a variance that cannot be large between two points and small at both; with dropout it cannot, either (Foong et al. 2020). That lies in the approximation, not in Bayes' rule. (A is sure too early: the true curve leaves its band.)",
  },
  {
    key: "signs-or-near-one",
    title: "Do random signs help?",
    question:
      "Two BatchEnsembles of four: r and s start as random signs in A, and near 1 in B. In which will the four curves differ more in the gap?",
    guesses: ["A", "B", "the seed decides"],
    right: "the seed decides",
    state: {
      ...USUAL, ...toy("gap"), method: "batch_ensemble", start: "signs",
      other: against("batch_ensemble", "normal-0.1"),
    },
    steps: 1500,
    answer: "Which of the two spreads more in the gap changes with the seed: press \u201cChange it\u201d and \u201cNew seed\u201d to see it. Their curves do not follow their matrices.",
    why: "The four matrices of A have next to nothing in common, and those of B stay near copies. But matrices that look different need not be functions that differ, and small differences add up over layers and biases.",
  },
  {
    key: "kl-too-large",
    title: "Too much prior?",
    question:
      "A mean-field BNN learns the same points twice. In B its KL counts ten times, as if there were a tenth of the points. What will B look like?",
    guesses: ["flatter", "like A", "nearer the points"],
    right: "flatter",
    state: {
      ...USUAL, ...toy("gap"), method: "mean_field", start: "different", width: 20,
      other: against("mean_field", "different", { kl_weight: 10 }),
    },
    steps: 3000,
    answer: "B is flatter, and its draws differ more at the points.",
    why: "The weights stay nearer to the prior, whose mean is 0, so the curve misses points that it could reach. A weight other than 1 answers another question than Bayes' rule does.",
  },
];

// What an experiment has set, but for what the titles of its pictures say.
const setBy = ({ state: { data, noise, hidden_layers, width, lr }, steps }) =>
  `Set here: ${TOYS[data].label}, noise σ ${noise}, ${hidden_layers} hidden layer${hidden_layers > 1 ? "s" : ""} of ${width}, learning rate ${lr}, ${steps.toLocaleString("en")} steps. Close it, and your own settings are back.`;

// Experiments: each sets the trainer, asks for a guess, runs, and tells. `panel` tells when training has ended.
export const guided = (trainer, root, panel) => {
  let open = null; // of one of them, what begins and follows it
  const close = (kept) => {
    if (!open) return;
    if (open.box.contains(document.activeElement)) tabs.element.querySelector("[aria-expanded=true]").focus();
    open = null;
    tabs.show(null);
    trainer.leave(kept);
    if (!kept) trainer.on.tell("Your own settings are back.");
  };
  const experiments = GUIDES.map((guide) => {
    let guess = "";
    let [runs, told] = [false, false];
    const answer = make("p", { class: "ensedu-t-answer", role: "status" });
    const why = fold("Why?", make("p", {}, guide.why));
    const tell = () => {
      const verdict = guess && make("strong", {}, guess === guide.right ? "✓ Right. " : "Not so. ");
      answer.replaceChildren(...(told ? [verdict, guide.answer] : []));
    };
    const guesses = toggle("Your guess", guide.guesses.map((words) => [words, words]), (words) => {
      guess = words;
      tell();
      follow();
    });
    const words = new Text();
    const run = button(words, () => {
      if (!runs && trainer.steps) trainer.visit(guide.state);
      if (trainer.playing) trainer.pause();
      else {
        trainer.play(runs ? 0 : guide.steps);
        runs = true;
        follow();
      }
    }, { class: "ensedu-t-run" });
    const skip = button("Skip the guess", () => {
      run.disabled = false;
      run.focus({ preventScroll: true });
      run.click();
    });
    const keep = button("Change it", () => close(true));
    const back = button("Back to yours", () => close(false));
    // How far it is, where it runs.
    const count = () => {
      if (runs && trainer.playing) words.data = `❚❚ step ${trainer.steps.toLocaleString("en")} of ${trainer.until.toLocaleString("en")}`;
    };
    const follow = () => {
      if (runs && trainer.rested) {
        runs = false;
        told = true;
        tell();
      }
      box.toggleAttribute("data-told", told);
      run.disabled = !guess && !runs && !told;
      skip.hidden = !run.disabled;
      keep.hidden = back.hidden = !told || runs;
      if (!runs || !trainer.playing) words.data = runs ? "▶ Go on" : told ? "Run again" : "▶ Run";
      count();
    };
    const box = make(
      "div", { "data-guide": guide.key },
      make("p", { class: "ensedu-t-ask" }, make("strong", {}, "Predict. "), guide.question),
      guesses.element, make("div", { class: "ensedu-t-buttons" }, run, skip, keep, back),
      make("p", { class: "ensedu-t-note" }, setBy(guide)), answer, why,
    );
    const begin = () => {
      guess = "";
      runs = told = why.open = false;
      guesses.show("");
      tell();
      trainer.visit(guide.state);
      trainer.on.tell(opening(trainer.state), true, 0);
    };
    return { box, begin, follow, count };
  });
  panel.followers.push(() => {
    open?.follow();
    root.querySelector(".ensedu-t-bench")?.toggleAttribute("data-guided", Boolean(open));
  });
  const tabs = tabsOf("Experiments", Object.fromEntries(GUIDES.map(({ title }, i) => [title, experiments[i].box])), (box) => {
    if (!box) close(false);
    else {
      open = experiments.find((each) => each.box === box);
      open.begin();
      root.querySelector(".ensedu-t-stage").scrollIntoView({ block: "nearest" });
    }
  });
  tabs.element.prepend(make("strong", { "aria-hidden": "true" }, "Try"));
  const element = make("div", { class: "ensedu-t-guides" }, tabs.element, ...experiments.map(({ box }) => box));
  return { element, close, count: () => open?.count() };
};
