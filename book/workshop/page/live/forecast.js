// What members make of a curve together, and the band that they may be compared with.
import { softplus } from "./network.js";

// From curves, `means` (F, G) and raw variances or null: mean, standard deviation between the
// functions (epistemic), of the noise (aleatoric), and of both, each (G,).
export const forecast = ({ means, raw }, sigma, G) => {
  const F = means.length / G;
  const found = {
    F, mean: new Float64Array(G), epistemic: new Float64Array(G), aleatoric: new Float64Array(G), total: new Float64Array(G),
  };
  for (let g = 0; g < G; g += 1) {
    let mean = 0;
    for (let f = 0; f < F; f += 1) mean += means[f * G + g] / F;
    let between = 0;
    let noise = 0;
    for (let f = 0; f < F; f += 1) {
      between += (means[f * G + g] - mean) ** 2 / F;
      noise += (raw ? softplus(raw[f * G + g]) + 1e-6 : sigma ** 2) / F;
    }
    found.mean[g] = mean;
    found.epistemic[g] = Math.sqrt(between);
    found.aleatoric[g] = Math.sqrt(noise);
    found.total[g] = Math.sqrt(between + noise);
  }
  return found;
};

// Whether all functions are one, to a line's width.
export const areOne = ({ epistemic }) => epistemic.every((std) => std < 0.005);

// Between which two neighbors the gap is widest.
export const widest = (points) => {
  const sorted = points.map(([x]) => x).sort((a, b) => a - b);
  let [from, to] = [sorted[0], sorted[0]];
  for (let i = 1; i < sorted.length; i += 1)
    if (sorted[i] - sorted[i - 1] > to - from) [from, to] = [sorted[i - 1], sorted[i]];
  return [from, to];
};

// The functions' standard deviation: on average at the points, and at most in the widest gap between
// two neighbors.
export const differ = (found, grid, points) => {
  if (!points.length) return null;
  const step = grid[1] - grid[0];
  const place = (x) => Math.max(0, Math.min(grid.length - 1, Math.round((x - grid[0]) / step)));
  const near = points.reduce((sum, [x]) => sum + found.epistemic[place(x)] / points.length, 0);
  const [from, to] = widest(points);
  return { near, most: Math.max(...found.epistemic.slice(place(from), place(to) + 1)) };
};

// A band to compare with, drawn behind curves: it belongs to one model of one set of points.
//
// `behind`: { label, x, mean, std, of }, where `of` is the part of a state that it belongs to.
// What a band belongs to, as trainer_state.py names it.
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
