// A layer of each method as plain numbers: what it stores, what it makes of them, what it holds.
// LAYERS is written from ensedu.methods: the arrays of each method, with the letters of their axes.
import { Random } from "../common/random.js";

const { most: MOST, choices: CHOICES, order: ORDER, noise: NOISE } = LAYERS;
// The method that shares one matrix, and the one that shares none.
const method = (test) => Object.keys(LAYERS.methods).find((key) => test(LAYERS.methods[key]));
export const SHARING = method(({ modulated, stochastic }) => modulated && !stochastic);
export const OWN = method(({ members, modulated }) => members && !modulated);
export const kindOf = (state) => LAYERS.methods[state.method];

export const range = (size) => Array.from({ length: size }, (_, i) => i);
// Every place of an array, as a list of indices.
export const places = (sizes) =>
  sizes.reduce((found, size) => found.flatMap((place) => range(size).map((i) => [...place, i])), [[]]);
const longest = { M: MOST.ensemble_size, m: MOST.in_features, n: MOST.out_features };

// The numbers that a layer starts from, by key such as "weight:2,3": of the largest layer, of which
// a smaller one has the first rows, columns and members.
const starts = new Map();
export const numbers = (seed) => {
  if (!starts.has(seed)) {
    const random = new Random(seed);
    const found = {};
    for (const [name, axes, kind] of ORDER)
      for (const place of places([...axes].map((axis) => longest[axis])))
        found[`${name}:${place}`] = CHOICES[kind][Math.floor(random.uniform() * CHOICES[kind].length)];
    starts.set(seed, found);
  }
  return starts.get(seed);
};

// What a draw multiplies standard deviations with, rounded so that the page shows all of it.
const draws = new Map();
export const noise = (draw) => {
  if (!draws.has(draw)) {
    const random = new Random(LAYERS.seeds + draw); // above those of numbers
    const found = {};
    for (const [name, axes] of NOISE)
      for (const place of places([...axes].map((axis) => longest[axis])))
        found[`${name}:${place}`] = Math.round(100 * random.normal()) / 100 + 0;
    draws.set(draw, found);
  }
  return draws.get(draw);
};

// What a stored number is called in the edits of a state: the same for all methods that store it, as
// the W of a BatchEnsemble and the means of a mean-field BNN.
export const editOf = (key) => key.replace("_mean", "");
export const valueOf = (state, key) => state.edits[editOf(key)] ?? numbers(state.numbers)[editOf(key)];

export const isScale = (key) => /_std:/.test(key);
export const limitsOf = (key) => (isScale(key) ? LAYERS.scales : LAYERS.values);

export const sizesOf = ({ in_features: m, out_features: n, ensemble_size: M }) => ({ M, m, n });
// How often the layer computes: once a member, or a draw.
export const passesOf = (state) => (kindOf(state).members || kindOf(state).stochastic ? state.ensemble_size : 1);

// Where an entry of a member's matrix stands, and of its bias: among what is made, unless it is used
// as it is stored.
export const weightAt = (state, i, a, b) => {
  const { members, modulated, stochastic } = kindOf(state);
  if (modulated || stochastic) return `W:${[i, a, b]}`;
  return `weight:${members ? [i, a, b] : [a, b]}`;
};
export const biasAt = (state, i, b) => {
  const { members, modulated, stochastic } = kindOf(state);
  if (stochastic && !modulated) return `b:${[i, b]}`;
  return `bias:${members ? [i, b] : b}`;
};

// Every stored number of a layer, and of its input, by key.
export const keysOf = (state) => {
  const sizes = sizesOf(state);
  const arrays = [...kindOf(state).arrays, { name: "x", axes: "m" }];
  return arrays.flatMap(({ name, axes }) => places([...axes].map((axis) => sizes[axis])).map((place) => `${name}:${place}`));
};

// Everything that a layer makes, by key: drawn r, s and b, matrices W, outputs y, mean and spread.
export const compute = (state) => {
  const kind = kindOf(state);
  const { m, n } = sizesOf(state);
  const passes = passesOf(state);
  const eps = noise(state.draw);
  const value = (key) => valueOf(state, key);
  const made = {};
  const drawn = (name, place, i) => {
    const at = `${name}_mean:${place}`;
    return value(at) + value(`${name}_std:${place}`) * eps[`${name}:${i === undefined ? place : [i, ...place]}`];
  };
  for (const i of range(passes)) {
    if (kind.modulated && kind.stochastic) {
      for (const a of range(m)) made[`r:${[i, a]}`] = drawn("r", [i, a]);
      for (const b of range(n)) made[`s:${[i, b]}`] = drawn("s", [i, b]);
    }
    const factor = (key) => (kind.stochastic ? made[key] : value(key));
    const weight = (a, b) => {
      if (kind.modulated) return value(`weight:${[a, b]}`) * factor(`r:${[i, a]}`) * factor(`s:${[i, b]}`);
      if (kind.stochastic) return drawn("weight", [a, b], i);
      return value(weightAt(state, i, a, b));
    };
    const bias = (b) => (kind.stochastic && !kind.modulated ? drawn("bias", [b], i) : value(biasAt(state, i, b)));
    for (const b of range(n)) {
      made[`b:${[i, b]}`] = bias(b);
      let sum = 0;
      for (const a of range(m)) {
        made[`W:${[i, a, b]}`] = weight(a, b);
        sum += value(`x:${a}`) * made[`W:${[i, a, b]}`];
      }
      made[`y:${[i, b]}`] = sum + made[`b:${[i, b]}`];
    }
  }
  for (const b of range(n)) {
    const outputs = range(passes).map((i) => made[`y:${[i, b]}`]);
    const mean = outputs.reduce((sum, y) => sum + y, 0) / passes;
    made[`mean:${b}`] = mean;
    made[`spread:${b}`] = Math.sqrt(outputs.reduce((sum, y) => sum + (y - mean) ** 2, 0) / passes);
  }
  return made;
};

// The standard deviation over all draws of an entry of a member's matrix, a product of two draws
// (Dusenberry et al. 2020).
export const spreadOf = (state, i, a, b) => {
  const value = (key) => valueOf(state, key);
  const [r, s] = [value(`r_mean:${[i, a]}`), value(`s_mean:${[i, b]}`)];
  const [u, v] = [value(`r_std:${[i, a]}`), value(`s_std:${[i, b]}`)];
  return Math.abs(value(`weight:${[a, b]}`)) * Math.sqrt((r * r + u * u) * (s * s + v * v) - r * r * s * s);
};

// How many numbers a method holds, by role and in all.
export const countsOf = (method, sizes) => {
  const roles = Object.fromEntries(Object.keys(LAYERS.roles).map((role) => [role, 0]));
  for (const { axes, role } of LAYERS.methods[method].arrays)
    roles[role] += [...axes].reduce((product, axis) => product * sizes[axis], 1);
  return { roles, total: Object.values(roles).reduce((sum, count) => sum + count, 0) };
};
export const totalOf = (method, sizes) => countsOf(method, sizes).total;
