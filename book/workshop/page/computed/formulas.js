// What computed figures show: (data, settings, moved points) => numbers and arrays by name, the same
// as the `numbers` of the figure's class in Python.

const dot = (a, b) => {
  let sum = 0;
  for (let i = 0; i < a.length; i += 1) sum += a[i] * b[i];
  return sum;
};
const product = (A, B) => {
  const columns = B[0].map((_, j) => B.map((row) => row[j]));
  return A.map((row) => columns.map((column) => dot(row, column)));
};
const applied = (A, x) => A.map((row) => dot(row, x));
// The triangle L of a symmetric, positive matrix L Lᵀ, and z of L z = x: of two such z the product is
// that of their x with the inverse between them.
const triangle = (A) => {
  const L = A.map((row) => new Float64Array(row.length));
  for (let i = 0; i < A.length; i += 1)
    for (let j = 0; j <= i; j += 1) {
      let left = A[i][j];
      for (let k = 0; k < j; k += 1) left -= L[i][k] * L[j][k];
      L[i][j] = i === j ? Math.sqrt(left) : left / L[j][j];
    }
  return L;
};
const solved = (L, x) => {
  const z = new Float64Array(x.length);
  for (let i = 0; i < x.length; i += 1) {
    let left = x[i];
    for (let j = 0; j < i; j += 1) left -= L[i][j] * z[j];
    z[i] = left / L[i][i];
  }
  return z;
};
// What does not change from one setting to the next is computed once.
const once = (known, key, compute) => known.get(key) ?? known.set(key, compute()).get(key);

// A curve of 17 bumps, or a line, given points: Bayesian linear regression with the prior N(0, 1).
const onGrid = { bumps: new WeakMap(), line: new WeakMap() }; // what the model has at its places
const posterior = ({ x: all, curve, luck, grid, truth, among, inside, centers }, { points, noise, model }, moved = {}) => {
  const at = Array.from({ length: points }, (_, i) => moved[i] ?? [all[i], curve[i] + noise * luck[i]]);
  const [x, y] = [0, 1].map((axis) => at.map((place) => place[axis]));
  const features = model === "bumps" ? (t) => centers.map((center) => Math.exp(-0.5 * ((t - center) / 0.8) ** 2)) : (t) => [1, t];
  const shown = once(onGrid[model], grid, () => grid.map(features));
  const precision = shown[0].map((_, i) => Float64Array.from(shown[0], (_, j) => Number(i === j)));
  const pull = new Float64Array(precision.length);
  x.map(features).forEach((row, n) => {
    for (let i = 0; i < row.length; i += 1) {
      const known = row[i] / noise ** 2;
      pull[i] += known * y[n];
      for (let j = 0; j <= i; j += 1) precision[i][j] += known * row[j];
    }
  });
  const root = triangle(precision);
  const [parts, pulled] = [shown.map((row) => solved(root, row)), solved(root, pull)];
  const mean = applied(parts, pulled);
  const unknown = parts.map((part) => Math.sqrt(dot(part, part)));
  const level = grid.map(() => noise);
  const off = (times, part) => mean.map((value, i) => value + times * part[i]);
  return {
    grid, truth, x, y, mean, unknown, level, said: Number(model !== "bumps"),
    low: off(-2, unknown), high: off(2, unknown), below: off(-2, level), above: off(2, level),
    among: unknown[among], inside: unknown[inside], off: Math.abs(truth[among] - mean[among]),
  };
};

// The two weights of a line, exact and independent.
const line = ({ inputs: around, x, noise, turn }, { inputs_around }) => {
  const inputs = around.map((input) => input + inputs_around);
  const [p, q, r] = [around.length, inputs.reduce((sum, input) => sum + input, 0), dot(inputs, inputs)].map((sum) => sum / noise ** 2);
  const [a, b, c] = [p + 1, q, r + 1]; // of the precision, with the prior N(0, 1)
  const whole = a * c - b * b;
  const [first, third] = [Math.sqrt(c / whole), 1 / Math.sqrt(c)]; // of a root of the covariance
  const second = -b / whole / first;
  return {
    exact_intercept: turn.map((t) => 2 * first * Math.cos(t)),
    exact_slope: turn.map((t) => 2 * (second * Math.cos(t) + third * Math.sin(t))),
    apart_intercept: turn.map((t) => (2 * Math.cos(t)) / Math.sqrt(a)),
    apart_slope: turn.map((t) => (2 * Math.sin(t)) / Math.sqrt(c)),
    x, inputs, foot: inputs.map(() => 0),
    exact: x.map((t) => Math.sqrt((c - 2 * b * t + a * t * t) / whole)),
    apart: x.map((t) => Math.sqrt(1 / a + (t * t) / c)),
    part: Math.sqrt(whole / (a * c)),
  };
};

// A network 2-width-1 with ReLU in the NTK parametrization: its weights are rows [a, b, w].
const circle = (degrees) => [Math.cos, Math.sin].map((part) => Math.SQRT2 * part((degrees * Math.PI) / 180));
const hidden = (weights, x, k) => (x[0] * weights[0][k] + x[1] * weights[1][k]) / Math.SQRT2;
const output = (weights, x) => {
  let sum = 0;
  for (let k = 0; k < weights[2].length; k += 1) sum += Math.max(hidden(weights, x, k), 0) * weights[2][k];
  return sum / Math.sqrt(weights[2].length);
};
// Outputs at inputs, and the tangent kernel of each with another input, in one pass over the units.
const reached = (weights, inputs, other) => {
  const w = weights[2];
  const there = w.map((_, k) => Math.max(hidden(weights, other, k), 0));
  const found = { outputs: [], reach: [] };
  for (const x of inputs) {
    const inner = dot(x, other) / 2;
    let [sum, common] = [0, 0];
    for (let k = 0; k < w.length; k += 1) {
      const here = hidden(weights, x, k);
      if (here <= 0) continue;
      sum += here * w[k];
      if (there[k] > 0) common += here * there[k] + w[k] * w[k] * inner;
    }
    found.outputs.push(sum / Math.sqrt(w.length));
    found.reach.push(common / w.length);
  }
  return found;
};
// Its weights after each step of a training.
const trained = (start, inputs, targets, lr, steps) => {
  const kept = [start.map((row) => Float64Array.from(row))];
  for (let step = 0; step < steps; step += 1) {
    const before = kept[step];
    const [a, b, w] = before.map((row) => row.slice());
    inputs.forEach((x, i) => {
      const rate = (lr * (output(before, x) - targets[i])) / (inputs.length * Math.sqrt(w.length));
      for (let k = 0; k < w.length; k += 1) {
        const z = hidden(before, x, k);
        if (z <= 0) continue;
        a[k] -= (rate * before[2][k] * x[0]) / Math.SQRT2;
        b[k] -= (rate * before[2][k] * x[1]) / Math.SQRT2;
        w[k] -= rate * z;
      }
    });
    kept.push([a, b, w]);
  }
  return kept;
};
// e^A: 1 + A / 2^k and a little more, squared k times.
const exponential = (A, k = 24) => {
  const small = A.map((row) => row.map((value) => value / 2 ** k));
  const second = product(small, small);
  let sum = small.map((row, i) => row.map((value, j) => Number(i === j) + value + second[i][j] / 2));
  for (let i = 0; i < k; i += 1) sum = product(sum, sum);
  return sum;
};
const runs = new Map(); // by the weights at the start: a training, and what each input knows of the data then
const begun = (start, { angles, targets, grid, lr, times, at }) => {
  const [inputs, all] = [angles.map(circle), grid.map(circle)];
  const kept = trained(start, inputs, targets, lr, Math.round(times.at(-1) / lr));
  const kernel = inputs.map((x) => reached(kept[0], inputs, x).reach);
  const found = inputs.map((x) => reached(kept[0], all, x));
  const root = triangle(kernel);
  return {
    inputs, all, kernel, root, kept, before: found[at].outputs, first: found[at].reach,
    across: all.map((_, i) => solved(root, found.map(({ reach }) => reach[i]))),
    away: inputs.map((x, i) => output(kept[0], x) - targets[i]),
  };
};
const flow = (data, { time, width }) => {
  const { angles, targets, grid, lr, at, zero, starts: { [width]: start } } = data;
  const { inputs, all, kernel, root, across, first, away, before, kept } = once(runs, start, () => begun(start, data));
  const weights = kept[Math.round(time / lr)];
  const shrunk = exponential(kernel.map((row) => row.map((value) => (-value * time) / inputs.length)));
  const way = solved(root, applied(shrunk, away).map((left, i) => left - away[i]));
  const { outputs, reach: row } = reached(weights, all, inputs[at]);
  const still = before.map((value, i) => value + dot(across[i], way));
  const here = inputs.map((x) => output(weights, x));
  return {
    grid, outputs, still, row, zero, angles, targets, first,
    up: row.map((value) => Math.max(value, 0)), down: row.map((value) => Math.min(value, 0)),
    under: here.map((value, i) => Math.min(value, targets[i])), over: here.map((value, i) => Math.max(value, targets[i])),
    miss: Math.max(...outputs.map((value, i) => Math.abs(value - still[i]))),
    away: Math.sqrt(here.reduce((sum, value, i) => sum + (value - targets[i]) ** 2, 0) / here.length),
  };
};

// Whom a budget pays for: which prices are too high, who is left, and in which row each stands.
const budget = ({ better, part, lengths, gains, ends, ...prices }, limits) => {
  const high = (price, k) => prices[price][k] > limits[price];
  const out = gains.map((_, k) => Object.keys(limits).some((price) => high(price, k)));
  const fit = out.filter((gone) => !gone).length;
  const before = { true: fit + part, false: 0 };
  const rows = out.map((gone) => -before[gone]++ || 0);
  const found = { fit, said: better.reduce((sum, k) => 2 * sum + !out[k], 0), across: [0, 1], beside: rows.map(() => 0) };
  gains.forEach((gain, k) => {
    found[`row_${k}`] = Array(3).fill(rows[k]);
    found[`name_${k}`] = Array(2).fill(rows[k]);
    found[`struck_${k}`] = Array(2).fill(out[k] ? rows[k] : NaN);
    found[`length_${k}`] = [0, lengths[k]];
    found[`gain_${k}`] = gain;
    found[`middle_${k}`] = Array(3).fill(gain[1]);
  });
  [found.left, found.right] = ends.gain.map((end) => Array(3).fill(end));
  const all = (value) => Array(2).fill(value);
  [found.bottom, found.cut, found.top] = [all(0.5 - rows.length - part), all(0.5 - fit - part / 2), all(1)];
  for (const price of Object.keys(limits)) {
    const least = ends[price][0];
    const where = (holds) => rows.map((row, k) => (holds(prices[price][k], k) ? row : NaN));
    found[price] = prices[price].map((own) => Math.max(own, least));
    found[`${price}_beyond`] = [limits[price], ends[price][1]];
    found[`${price}_row`] = where((own) => own >= least);
    found[`${price}_low`] = where((own) => own > 0 && own < least);
    found[`${price}_high`] = where((_, k) => high(price, k));
  }
  return found;
};

// How the squared errors of members split by their average.
const gain = ({ predictions, truth }, { members }, moved = {}) => {
  const at = predictions.slice(0, members).map((one, i) => moved[i]?.[0] ?? one);
  const rows = at.map((_, i) => 1 - (i + 1) / (members + 1));
  const mean = (values) => values.reduce((sum, one) => sum + one, 0) / members;
  const [average, own] = [mean(at), mean(at.map((one) => (one - truth) ** 2))];
  const off = (average - truth) ** 2;
  return {
    at, rows, all: [0, 1], first: [2, 2], second: [1, 1], across: at.flatMap((one) => [truth, one, one]),
    along: rows.flatMap((row) => [row, row, NaN]), average: [average, average], own, off, apart: own - off,
    whole: [0, own], left: [0, off], gained: [off, own],
  };
};

// What a layer n → n of a BatchEnsemble stores, in percent of a deep ensemble's.
const saves = ({ widths, at }, { members: M }) => {
  const part = widths.map((n) => (100 * (n + 3 * M)) / (M * (n + 1)));
  return {
    widths, alone: widths.map(() => 100), part, at: part[at], least: Math.floor((2 * M) / (M - 1)) + 1,
    ends: [widths[0], widths.at(-1)], limit: [100 / M, 100 / M],
  };
};

export const FORMULAS = { posterior, line, flow, budget, gain, saves };
