// How the matrix W_i and the bias of each member, or sample, are made of what its method stores, and
// how their gradients go back to that.
//
// METHODS is written from ensedu.methods: which arrays a method has, with the letters of their axes,
// and which are distributions. So a method that is put together of what others are made of needs no
// line here: a matrix of all or of each member, a shared one times r sᵀ, means with standard
// deviations. W is (M, m, n), the bias (M, n).
import { arrayOf, inverseSoftplus, repeated, sigmoid, softplus, summed } from "./arrays.js";

// mean + softplus(ρ) ε, for as many samples of one distribution as there is noise for.
const drawnFrom = (mean, rho, noise) => {
  const std = rho.map(softplus);
  const array = new Float64Array(noise.length);
  for (let start = 0; start < noise.length; start += mean.length)
    for (let i = 0; i < mean.length; i += 1)
      array[start + i] = mean[i] + std[i] * noise[start + i];
  return array;
};

// The gradient of mean and ρ, from that of what was drawn.
const gradientsOfDrawn = (grad, noise, rho) => {
  const mean = new Float64Array(rho.length);
  const scale = new Float64Array(rho.length);
  for (let start = 0; start < grad.length; start += rho.length)
    for (let i = 0; i < rho.length; i += 1) {
      mean[i] += grad[start + i];
      scale[i] += grad[start + i] * noise[start + i];
    }
  return [mean, scale.map((value, i) => value * sigmoid(rho[i]))];
};

// W ∘ r_i s_iᵀ (Wen et al. 2020, eq. 3).
const modulated = (weight, r, s, M, m, n) => {
  const W = new Float64Array(M * m * n);
  for (let i = 0; i < M; i += 1)
    for (let a = 0; a < m; a += 1) {
      const factor = r[i * m + a];
      const row = (i * m + a) * n;
      for (let j = 0; j < n; j += 1) W[row + j] = weight[a * n + j] * factor * s[i * n + j];
    }
  return W;
};

const gradientsOfModulated = (grad, weight, r, s, M, m, n) => {
  const found = {
    weight: new Float64Array(m * n), r: new Float64Array(M * m), s: new Float64Array(M * n),
  };
  for (let i = 0; i < M; i += 1)
    for (let a = 0; a < m; a += 1) {
      const factor = r[i * m + a];
      const row = (i * m + a) * n;
      let sum = 0;
      for (let j = 0; j < n; j += 1) {
        const g = grad[row + j];
        const w = weight[a * n + j];
        const column = s[i * n + j];
        found.weight[a * n + j] += g * factor * column;
        found.s[i * n + j] += g * w * factor;
        sum += g * w * column;
      }
      found.r[i * m + a] = sum;
    }
  return found;
};

const sizeOf = (axes, sizes) => [...axes].reduce((product, axis) => product * sizes[axis], 1);
const isOfMembers = ({ axes }) => axes.startsWith("M");
const isMean = ({ name }) => name.endsWith("_mean");
const isRho = ({ name }) => name.endsWith("_rho");
const baseOf = ({ name }) => name.replace(/_(mean|rho)$/, "");
// r and s, by which each member multiplies what all share.
const isFactor = ({ axes, role }) => axes.length === 2 && axes.startsWith("M") && role !== "biases";

// The arrays that a layer of `sizes` { m, n, M } starts from, by name; from one start, all members
// get what the first has drawn.
export const startArrays = (method, sizes, { start, posterior_std, parametrization }, random) => {
  const bound = 1 / Math.sqrt(sizes.m);
  const drawn = (size) =>
    parametrization === "ntk" ? random.normals(size) : arrayOf(size, () => bound * (2 * random.uniform() - 1));
  const factor = () => {
    if (start === "same") return 1;
    if (start in TRAINING.start_stds) return 1 + TRAINING.start_stds[start] * random.normal();
    return random.uniform() < 0.5 ? -1 : 1;
  };
  const started = (array) => {
    const size = sizeOf(array.axes, sizes);
    if (isRho(array)) return new Float64Array(size).fill(inverseSoftplus(posterior_std));
    if (isFactor(array)) return arrayOf(size, factor);
    if (isOfMembers(array) && start === "same") return repeated(drawn(size / sizes.M), sizes.M);
    return drawn(size);
  };
  return Object.fromEntries(METHODS[method].arrays.map((array) => [array.name, started(array)]));
};

// ε of each distribution, for every member or sample, by its name without "_mean".
export const drawNoise = (method, sizes, random) =>
  Object.fromEntries(
    METHODS[method].arrays.filter(isMean).map((array) => {
      const passes = isOfMembers(array) ? 1 : sizes.M;
      return [baseOf(array), random.normals(passes * sizeOf(array.axes, sizes))];
    }),
  );

// What all members share, once for each.
const ofEachMember = (array, size) => (array.length === size ? array : repeated(array, size / array.length));

// W and the bias of each member, and what they are made of: `values`, of distributions as drawn.
export const matricesOf = (method, params, noise, { M, m, n }) => {
  const { arrays, modulated: multiplies } = METHODS[method];
  const values = {};
  for (const array of arrays.filter((each) => !isRho(each))) {
    const base = baseOf(array);
    values[base] = isMean(array) ? drawnFrom(params[array.name], params[`${base}_rho`], noise[base]) : params[array.name];
  }
  const { weight, r, s, bias } = values;
  const W = multiplies ? modulated(weight, r, s, M, m, n) : ofEachMember(weight, M * m * n);
  return { W, bias: ofEachMember(bias, M * n), values };
};

// The gradients of the stored arrays, from those of W and of the bias.
export const gradientsOf = (method, params, noise, { M, m, n }, values, dW, db) => {
  const { arrays, modulated: multiplies } = METHODS[method];
  const { weight, r, s } = values;
  const found = multiplies ? { ...gradientsOfModulated(dW, weight, r, s, M, m, n), bias: db } : { weight: dW, bias: db };
  const grads = {};
  for (const array of arrays.filter((each) => !isRho(each))) {
    const { name } = array;
    const base = baseOf(array);
    const rho = `${base}_rho`;
    if (isMean(array)) [grads[name], grads[rho]] = gradientsOfDrawn(found[base], noise[base], params[rho]);
    else grads[name] = found[name].length === params[name].length ? found[name] : summed(found[name], M);
  }
  return grads;
};
