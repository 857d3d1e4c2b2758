// What members make of a curve together, and how the uncertainty divides.
import { softplus } from "./arrays.js";

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
  let [most, where] = [0, grid[place(from)]];
  for (let g = place(from); g <= place(to); g += 1)
    if (found.epistemic[g] > most) [most, where] = [found.epistemic[g], grid[g]];
  return { near, most, where };
};
