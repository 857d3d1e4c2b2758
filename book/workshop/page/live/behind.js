// A band to compare with, drawn behind curves: it belongs to one model of one set of points.
//
// `behind`: { label, x, mean, std, of }, where `of` is the part of a state that it belongs to.
import { differ } from "./forecast.js";

// What a band belongs to, as reference_band.py names it.
const OWNERS = {
  task: () => "a curve",
  method: (value) => `the ${HOUSE.labels[value]}`,
  head: () => "a known noise",
  width: (value) => `width ${value}`,
  hidden_layers: (value) => `${value} hidden layer${value > 1 ? "s" : ""}`,
  activation: (value) => value,
  parametrization: (value) => `${value === "ntk" ? "NTK" : value} weights`,
  prior_scale: (value) => `prior σ ${value}`,
  noise: (value) => `noise σ ${value}`,
  points: () => "other points",
};

// What it belongs to and a side of the state is not, in words; or "".
const missed = (behind, state, side) => {
  const now = { ...state, ...side };
  const key = Object.keys(behind.of).find((each) => JSON.stringify(behind.of[each]) !== JSON.stringify(now[each]));
  return key ? OWNERS[key](behind.of[key]) : "";
};

// What a side is called beside a band: its posterior by what finds it.
const FINDS = { mean_field: "Bayes by Backprop" };
export const besideBand = (method) => FINDS[method] ?? HOUSE.labels[method];

// The band that stands behind a side, or null.
export const behindOf = (behind, state, side) => (behind && !missed(behind, state, side) ? behind : null);

// Its half width where the story says how wide the inner band is; or why it is not there.
export const behindWords = (behind, state, side, number) => {
  if (!behind) return "";
  const other = missed(behind, state, side);
  if (other) return ` ${behind.label} is hidden: it had ${other}.`;
  const { near, most } = differ({ epistemic: behind.std }, behind.x, state.points);
  return ` ${behind.label}: ±\u00a0${number(2 * near)} and ±\u00a0${number(2 * most)}.`;
};
