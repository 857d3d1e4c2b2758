// Guided experiments: each sets the state, asks for a prediction, then shows.
import { sideOf } from "./link.js";
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
