// What computed figures show: (data, settings, moved points) => numbers and arrays by name, the same
// as the `numbers` of the figure's class in Python.

const dot = (a, b) => {
  let sum = 0;
  for (let i = 0; i < a.length; i += 1) sum += a[i] * b[i];
  return sum;
};
const product = (A, B) => A.map((row) => B[0].map((_, j) => dot(row, B.map((other) => other[j]))));
const identity = (size) => Array.from({ length: size }, (_, i) => Array.from({ length: size }, (_, j) => Number(i === j)));
const applied = (A, x) => A.map((row) => dot(row, x));
// Of a symmetric, positive matrix, so no row is exchanged.
const inverse = (A) => {
  const rows = identity(A.length).map((row, i) => [...A[i], ...row]);
  rows.forEach((row, i) => {
    rows[i] = row.map((value) => value / row[i]);
    rows.forEach((other, k) => k === i || (rows[k] = other.map((value, j) => value - other[i] * rows[i][j])));
  });
  return rows.map((row) => row.slice(A.length));
};

// A curve of 17 bumps, or a line, given points: Bayesian linear regression with the prior N(0, 1).
const posterior = ({ x: all, curve, luck, grid, truth, among, inside, centers }, { points, noise, model }, moved = {}) => {
  const at = Array.from({ length: points }, (_, i) => moved[i] ?? [all[i], curve[i] + noise * luck[i]]);
  const [x, y] = [0, 1].map((axis) => at.map((place) => place[axis]));
  const features = model === "bumps" ? (t) => centers.map((center) => Math.exp(-0.5 * ((t - center) / 0.8) ** 2)) : (t) => [1, t];
  const rows = x.map(features);
  const precision = identity(features(0).length);
  const pull = precision.map(() => 0);
  rows.forEach((row, n) => {
    for (let i = 0; i < row.length; i += 1) {
      pull[i] += (row[i] * y[n]) / noise ** 2;
      for (let j = 0; j < row.length; j += 1) precision[i][j] += (row[i] * row[j]) / noise ** 2;
    }
  });
  const spread = inverse(precision);
  const heights = applied(spread, pull);
  const shown = grid.map(features);
  const mean = applied(shown, heights);
  const unknown = shown.map((row) => Math.sqrt(dot(row, applied(spread, row))));
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
// The tangent kernel of two inputs.
const reach = (weights, x, other) => {
  const [w, inner] = [weights[2], dot(x, other) / 2];
  let sum = 0;
  for (let k = 0; k < w.length; k += 1) {
    const one = hidden(weights, x, k);
    const two = hidden(weights, other, k);
    if (one > 0 && two > 0) sum += one * two + w[k] * w[k] * inner;
  }
  return sum / w.length;
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
const flow = ({ angles, targets, grid, lr, times, at, zero, starts }, { time, width }) => {
  const [inputs, all, start] = [angles.map(circle), grid.map(circle), starts[width]];
  if (!runs.has(start)) {
    const across = all.map((x) => inputs.map((other) => reach(start, x, other)));
    runs.set(start, { across, kept: trained(start, inputs, targets, lr, Math.round(times.at(-1) / lr)) });
  }
  const { across, kept } = runs.get(start);
  const weights = kept[Math.round(time / lr)];
  const kernel = inputs.map((x) => inputs.map((other) => reach(start, x, other)));
  const shrunk = exponential(kernel.map((row) => row.map((value) => (-value * time) / inputs.length)));
  const away = inputs.map((x, i) => output(start, x) - targets[i]);
  const way = applied(inverse(kernel), applied(shrunk, away).map((left, i) => left - away[i]));
  const outputs = all.map((x) => output(weights, x));
  const still = all.map((x, i) => output(start, x) + dot(across[i], way));
  const row = all.map((x) => reach(weights, x, inputs[at]));
  const here = inputs.map((x) => output(weights, x));
  return {
    grid, outputs, still, row, zero, angles, targets, first: across.map((one) => one[at]),
    up: row.map((value) => Math.max(value, 0)), down: row.map((value) => Math.min(value, 0)),
    under: here.map((value, i) => Math.min(value, targets[i])), over: here.map((value, i) => Math.max(value, targets[i])),
    miss: Math.max(...outputs.map((value, i) => Math.abs(value - still[i]))),
    away: Math.sqrt(here.reduce((sum, value, i) => sum + (value - targets[i]) ** 2, 0) / here.length),
  };
};

// Whom a budget pays for: which prices are too high, and which names are struck out.
const budget = ({ better, rows, gains, ends, ...prices }, limits) => {
  const high = (price, k) => prices[price][k] > limits[price];
  const out = rows.map((_, k) => Object.keys(limits).some((price) => high(price, k)));
  const found = {
    fit: out.filter((gone) => !gone).length, said: better.reduce((sum, k) => 2 * sum + !out[k], 0),
    across: [0, 1], bottom: [-0.5, -0.5], top: [rows.length, rows.length],
  };
  rows.forEach((row, k) => {
    found[`row_${k}`] = Array(2).fill(out[k] ? row : NaN);
    found[`fit_${k}`] = Array(3).fill(out[k] ? NaN : row);
    found[`gain_${k}`] = gains[k];
    found[`middle_${k}`] = Array(3).fill(gains[k][1]);
  });
  for (const price of Object.keys(limits)) {
    found[price] = prices[price];
    found[`${price}_beyond`] = [limits[price], ends[price][1]];
    found[`${price}_high`] = rows.map((row, k) => (high(price, k) ? row : NaN));
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
