// What is seen, in words: for readers who hear the page, and for all when it rests.
import { areOne, behindWords, differ, forecast } from "./forecast.js";
import { GRID } from "./toys.js";
import { sides } from "./trainer.js";

export const START_WORDS = {
  different: "different", same: "all the same", signs: "random signs",
  "normal-0.5": "N(1, 0.5²)", "normal-0.1": "N(1, 0.1²)",
};

const number = (value) => {
  if (!Number.isFinite(value)) return "no number";
  const size = Math.abs(value);
  return value.toFixed(size < 10 ? 2 : size < 100 ? 1 : 0).replace("-", "\u2212");
};

export const called = (side) => {
  const [first, ...others] = HOUSE.labels[side.method];
  const label = first.toUpperCase() + others.join("");
  const M = side.ensemble_size;
  if (side.method === "single") return "One network";
  if (!METHODS[side.method].has_members) return label;
  return `${label} of ${M}`;
};

// A side of a comparison by its letter, its method, and what else tells the two apart.
export const named = (state, i) => {
  const both = sides(state);
  if (both.length === 1) return called(state);
  const [own, other] = [both[i], both[1 - i]];
  const parts = [`${"AB"[i]}: ${called(own)}`];
  if (called(own) === called(other)) {
    if (own.start !== other.start) parts.push(`starts ${START_WORDS[own.start]}`);
    if (own.kl_weight !== other.kl_weight) parts.push(`KL × ${own.kl_weight}`);
    if (own.loss !== other.loss) parts.push(own.loss === "mean" ? "average loss" : "mixture loss");
    if (own.ensemble_size !== other.ensemble_size) parts.push(`${own.ensemble_size} draws a step`);
    if (parts.length === 1 && i) parts.push("as A");
  }
  return parts.join(", ");
};

const ofCurves = (frame, state) => {
  const seen = forecast(frame, state.noise, GRID.length);
  const found = differ(seen, GRID, state.points);
  if (!found) return "";
  if (seen.F === 1) return "one curve, so there is no band but that of the noise.";
  if (areOne(seen)) return "all curves are one, and agree everywhere.";
  const { unit } = state.axes?.[1] ?? { unit: 1 };
  return `the inner band is ±\u00a0${number(2 * unit * found.near)} at the points, and ±\u00a0${number(2 * unit * found.most)} in the widest gap.`;
};

// The half width of the first one's inner band, where it is widest between two points.
export const widestBand = ({ sides: [side] }, state) => {
  const found = differ(forecast(side, state.noise, GRID.length), GRID, state.points);
  return found ? `±\u00a0${number(2 * found.most)}` : "";
};

const ofMaps = ({ map: { information } }) =>
  `the members' doubt is at most ${number(information.reduce((a, b) => Math.max(a, b)))} nats in the plane.`;

const middle = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

// Where distributions are: still below 0, or how wide.
const ofDistributions = ({ means, stds }, { prior_scale }) => {
  const below = means.filter((mean) => mean < 0).length / means.length;
  if (below > 0.005) return `${Math.round(100 * below)}% of the means are below 0; the prior has its mean at 1.`;
  return `half of the σ lie above ${middle(stds).toPrecision(2)}; the prior has ${prior_scale}.`;
};

const NO_POINT = "There is no point to learn from: add one.";

// One sentence a side; of two, each has its letter alone, as their names stand over the pictures. One alone needs
// none, but beside a band it has its own.
export const story = (frame, state, behind = null) => {
  if (!state.points.length) return NO_POINT;
  const ofFunctions = state.task === "regression" ? ofCurves : ofMaps;
  const seen = (side) => (side.moments ? ofDistributions(side.moments, state) : ofFunctions(side, state));
  const both = sides(state);
  if (both.length === 1 && !behind) {
    const words = seen(frame.sides[0]);
    return words[0].toUpperCase() + words.slice(1);
  }
  return both
    .map((side, i) => `${both.length > 1 ? "AB"[i] : named(state, i)}: ${seen(frame.sides[i])}${behindWords(behind, state, side, number)}`)
    .join(" ");
};

// What is said before there is a picture.
export const opening = (state) => (state.points.length ? "Nothing is learned yet." : NO_POINT);

// What was not lost on the way down, in numbers: below the picture of the losses.
export const lossWords = (frame, state) =>
  sides(state).map((side, i) => {
    const { found } = frame.sides[i];
    if (!found) return "";
    const average = number(found.average);
    const both = `${average} on average, ${number(found.mixture)} as a mixture`;
    return `${named(state, i)}: NLL of the points ${side.ensemble_size > 1 ? both : average}.`;
  }).join(" ");
