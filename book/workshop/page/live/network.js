// The networks of ensedu.numpy in JavaScript: the same formulas, gradients and names, float64.
//
// Whatever a method stores, member i (or sample i) multiplies by a matrix W_i of its own. So there
// is one product and one backward pass for all methods. Arrays are flat and row by row, shaped as in
// the book: W (M, m, n), activations (M, B, n).

export const arrayOf = (size, make) => {
  const array = new Float64Array(size);
  for (let i = 0; i < size; i += 1) array[i] = make(i);
  return array;
};
export const softplus = (rho) => Math.max(rho, 0) + Math.log1p(Math.exp(-Math.abs(rho)));
export const sigmoid = (rho) => 0.5 * (1 + Math.tanh(0.5 * rho));
export const inverseSoftplus = (std) => std + Math.log(-Math.expm1(-std));

// y += a b, for y (R, C), b (K, C), and a (R, K), whose entries lie `aRow` and `aStep` apart: a
// transposed a needs no copy. Four rows of b serve two rows of y at a time, because reading and
// writing takes longer than multiplying.
export const addProduct = (y, yStart, a, aStart, aRow, aStep, b, bStart, R, K, C) => {
  let i = 0;
  for (; i + 1 < R; i += 2) {
    const y0 = yStart + i * C;
    const y1 = y0 + C;
    let k = 0;
    for (; k + 3 < K; k += 4) {
      const p = aStart + i * aRow + k * aStep;
      const q = p + aRow;
      const p0 = a[p];
      const p1 = a[p + aStep];
      const p2 = a[p + 2 * aStep];
      const p3 = a[p + 3 * aStep];
      const q0 = a[q];
      const q1 = a[q + aStep];
      const q2 = a[q + 2 * aStep];
      const q3 = a[q + 3 * aStep];
      const b0 = bStart + k * C;
      const b1 = b0 + C;
      const b2 = b1 + C;
      const b3 = b2 + C;
      for (let j = 0; j < C; j += 1) {
        const w0 = b[b0 + j];
        const w1 = b[b1 + j];
        const w2 = b[b2 + j];
        const w3 = b[b3 + j];
        y[y0 + j] += p0 * w0 + p1 * w1 + (p2 * w2 + p3 * w3);
        y[y1 + j] += q0 * w0 + q1 * w1 + (q2 * w2 + q3 * w3);
      }
    }
    for (; k < K; k += 1) {
      const p = aStart + i * aRow + k * aStep;
      addTimes(y, y0, a[p], b, bStart + k * C, C);
      addTimes(y, y1, a[p + aRow], b, bStart + k * C, C);
    }
  }
  if (i < R)
    for (let k = 0; k < K; k += 1)
      addTimes(y, yStart + i * C, a[aStart + i * aRow + k * aStep], b, bStart + k * C, C);
};

// One row of y += one number times one row of b.
export const addTimes = (y, yStart, factor, b, bStart, C) => {
  for (let j = 0; j < C; j += 1) y[yStart + j] += factor * b[bStart + j];
};

// Row by row, `times` copies of b (n).
export const fillRows = (y, yStart, times, b, bStart, n) => {
  for (let i = 0; i < times; i += 1)
    for (let j = 0; j < n; j += 1) y[yStart + i * n + j] = b[bStart + j];
};

// W (m, n) -> Wᵀ (n, m).
export const transposed = (W, wStart, m, n) => {
  const turned = new Float64Array(m * n);
  for (let a = 0; a < m; a += 1)
    for (let j = 0; j < n; j += 1) turned[j * m + a] = W[wStart + a * n + j];
  return turned;
};

export const repeated = (array, M) => {
  const all = new Float64Array(array.length * M);
  for (let i = 0; i < M; i += 1) all.set(array, i * array.length);
  return all;
};
export const summed = (array, M) => {
  const sum = new Float64Array(array.length / M);
  for (let start = 0; start < array.length; start += sum.length)
    addTimes(sum, 0, 1, array, start, sum.length);
  return sum;
};

// How the matrix W_i and the bias of each member, or sample, are made of what its method stores, and
// how their gradients go back to that.
//
// METHODS is written from ensedu.methods: which arrays a method has, with the letters of their axes,
// and which are distributions. So a method that is put together of what others are made of needs no
// line here: a matrix of all or of each member, a shared one times r sᵀ, means with standard
// deviations. W is (M, m, n), the bias (M, n).

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

// In place; `backward` takes the gradient of what came out, and what came out.
const ACTIVATIONS = {
  relu: {
    forward: (y) => {
      for (let k = 0; k < y.length; k += 1) if (y[k] < 0) y[k] = 0;
    },
    backward: (grad, active) => {
      for (let k = 0; k < grad.length; k += 1) if (!(active[k] > 0)) grad[k] = 0;
    },
  },
  tanh: {
    forward: (y) => {
      for (let k = 0; k < y.length; k += 1) y[k] = Math.tanh(y[k]);
    },
    backward: (grad, active) => {
      for (let k = 0; k < grad.length; k += 1) grad[k] *= 1 - active[k] * active[k];
    },
  },
};

// y (M, B, n) times the masks (M, n), in place; what stays grows by 1 / kept.
const drop = (y, mask, M, B, n, kept) => {
  for (let i = 0; i < M; i += 1)
    for (let b = 0; b < B; b += 1)
      for (let j = 0; j < n; j += 1) y[(i * B + b) * n + j] *= mask[i * n + j] / kept;
};

// A multilayer perceptron: `sizes`, a `method`, `passes` (M members, or as many samples a step),
// `activation` ("relu" or "tanh"), `start`, and where they apply `p`, `prior_scale`,
// `posterior_std`. In the `parametrization` "ntk" each W_i is divided by √m (Jacot et al. 2018).
export class Network {
  constructor(spec, random) {
    this.spec = spec;
    this.method = METHODS[spec.method];
    this.layers = spec.sizes.slice(1).map((n, l) => {
      const m = spec.sizes[l];
      const params = startArrays(spec.method, { m, n, M: spec.passes }, spec, random);
      const scale = spec.parametrization === "ntk" ? 1 / Math.sqrt(m) : 1;
      return { m, n, scale, params, grads: {} };
    });
  }

  // How many numbers are trained.
  get total() {
    return this.arrays().reduce((sum, [, , array]) => sum + array.length, 0);
  }

  // Each trained array as [layer, name, array].
  arrays() {
    return this.layers.flatMap(({ params }, l) =>
      Object.entries(params).map(([name, array]) => [l, name, array]),
    );
  }

  // The means of all distributions, and their standard deviations.
  moments() {
    const of = (ending) => this.arrays().filter(([, name]) => name.endsWith(ending)).flatMap(([, , array]) => [...array]);
    return { means: Float32Array.from(of("_mean")), stds: Float32Array.from(of("_rho"), softplus) };
  }

  // What one pass of all members, or samples, draws: an object a layer.
  noise(random) {
    const { passes: M, p } = this.spec;
    return this.layers.map(({ m, n }, l) => {
      if (this.method.drops_units && l < this.layers.length - 1)
        return { mask: arrayOf(M * n, () => (random.uniform() >= p ? 1 : 0)) };
      return drawNoise(this.spec.method, { m, n, M }, random);
    });
  }

  // The matrices W_i and biases of one layer, for this noise.
  made(l, noise) {
    const { m, n, scale, params } = this.layers[l];
    const made = matricesOf(this.spec.method, params, noise[l], { m, n, M: this.spec.passes });
    return scale === 1 ? made : { ...made, W: made.W.map((value) => scale * value) };
  }

  // x (B, m) for all members -> (M, B, n); what `backward` needs is kept where it is asked for.
  forward(x, B, noise, keep = false) {
    const { passes: M, activation, p } = this.spec;
    for (const [l, layer] of this.layers.entries()) {
      const { m, n } = layer;
      const made = this.made(l, noise);
      const next = l ? B * m : 0; // from one member's input to the next: the first is shared
      const y = new Float64Array(M * B * n);
      for (let i = 0; i < M; i += 1) {
        fillRows(y, i * B * n, B, made.bias, i * n, n);
        addProduct(y, i * B * n, x, i * next, m, 1, made.W, i * m * n, B, m, n);
      }
      if (keep) layer.kept = { x, next, B, made, noise: noise[l] };
      if (l < this.layers.length - 1) {
        ACTIVATIONS[activation].forward(y);
        if (keep) layer.kept.active = this.method.drops_units ? y.slice() : y;
        if (this.method.drops_units) drop(y, noise[l].mask, M, B, n, 1 - p);
      }
      x = y;
    }
    return x;
  }

  // From the gradient of the outputs (M, B, n) to `grads` of every layer.
  backward(grad) {
    const { passes: M, activation, p } = this.spec;
    for (const [l, layer] of [...this.layers.entries()].reverse()) {
      const { m, n, scale, params } = layer;
      const { x, next, B, made, noise, active } = layer.kept;
      if (active) {
        if (this.method.drops_units) drop(grad, noise.mask, M, B, n, 1 - p);
        ACTIVATIONS[activation].backward(grad, active);
      }
      const dW = new Float64Array(M * m * n);
      const db = new Float64Array(M * n);
      const dx = new Float64Array(l ? M * B * m : 0);
      for (let i = 0; i < M; i += 1) {
        const g = i * B * n;
        addProduct(dW, i * m * n, x, i * next, 1, m, grad, g, m, B, n); // xᵀ g
        for (let b = 0; b < B; b += 1) addTimes(db, i * n, 1, grad, g + b * n, n);
        if (l) addProduct(dx, i * B * m, grad, g, n, 1, transposed(made.W, i * m * n, m, n), 0, B, n, m);
      }
      if (scale !== 1) for (let k = 0; k < dW.length; k += 1) dW[k] *= scale;
      layer.grads = gradientsOf(this.spec.method, params, noise, { m, n, M }, made.values, dW, db);
      grad = dx;
    }
  }

  // The mean over members of KL(q ‖ N(loc, scale²)) in nats; adds `weight` times its gradient.
  kl(weight = 0) {
    const { distributions, has_members: members, prior_loc: loc } = this.method;
    const scale = this.spec.prior_scale;
    const share = members ? 1 / this.spec.passes : 1;
    let sum = 0;
    for (const { params, grads } of this.layers)
      for (const name of distributions) {
        const [mean, rho] = [params[`${name}_mean`], params[`${name}_rho`]];
        const [gradMean, gradRho] = [grads[`${name}_mean`], grads[`${name}_rho`]];
        for (let i = 0; i < mean.length; i += 1) {
          const std = softplus(rho[i]);
          const t = std / scale;
          const away = (mean[i] - loc) / scale;
          sum += share * 0.5 * ((t - 1) * (t + 1) - 2 * Math.log(t) + away * away);
          if (!weight) continue;
          gradMean[i] += (weight * share * away) / scale;
          gradRho[i] += weight * share * (std / scale ** 2 - 1 / std) * sigmoid(rho[i]);
        }
      }
    return sum;
  }
}

// Each member's and example's NLL ℓ, (M, B), in nats, and the gradient of each ℓ.
const HEADS = {
  // ½ log 2πσ² + (y - μ)² / 2σ² for a known σ.
  mean: (outputs, targets, M, B, k, { sigma }) => {
    const nll = new Float64Array(M * B);
    const grad = new Float64Array(M * B);
    const constant = Math.log(sigma * Math.sqrt(2 * Math.PI));
    for (let i = 0; i < M * B; i += 1) {
      const away = outputs[i] / sigma - targets[i % B] / sigma;
      nll[i] = constant + 0.5 * away * away;
      grad[i] = away / sigma;
    }
    return { nll, grad };
  },
  // ½ log 2πσ² + (y - μ)² / 2σ², σ² = softplus(v) + 1e-6 (Lakshminarayanan et al. 2017, eq. 1).
  variance: (outputs, targets, M, B) => {
    const nll = new Float64Array(M * B);
    const grad = new Float64Array(2 * M * B);
    for (let i = 0; i < M * B; i += 1) {
      const raw = outputs[2 * i + 1];
      const variance = softplus(raw) + 1e-6;
      const away = outputs[2 * i] - targets[i % B];
      nll[i] = 0.5 * Math.log(2 * Math.PI * variance) + (away * away) / (2 * variance);
      grad[2 * i] = away / variance;
      grad[2 * i + 1] = (0.5 / variance) * (1 - (away * away) / variance) * sigmoid(raw);
    }
    return { nll, grad };
  },
  // -log softmax(outputs)[class].
  classes: (outputs, targets, M, B, k) => {
    const nll = new Float64Array(M * B);
    const grad = new Float64Array(M * B * k);
    for (let i = 0; i < M * B; i += 1) {
      const own = outputs.subarray(i * k, i * k + k);
      const log = logSumExp(own);
      for (let c = 0; c < k; c += 1) grad[i * k + c] = Math.exp(own[c] - log);
      const label = targets[i % B];
      nll[i] = log - own[label];
      grad[i * k + label] = Math.expm1(-nll[i]);
    }
    return { nll, grad };
  },
};

const logSumExp = (values) => {
  let most = -Infinity;
  for (const value of values) if (value > most) most = value;
  let sum = 0;
  for (const value of values) sum += Math.exp(value - most);
  return most + Math.log(sum);
};

// Both losses of all members, and the gradient of the one that is trained: `reduction` "mean" is
// the average NLL, "mixture" that of the mixture, the mean over b of -log (1/M) Σ_i exp(-ℓ_ib).
export const loss = (outputs, targets, M, B, head, reduction, options = {}) => {
  const k = outputs.length / (M * B);
  const { nll, grad } = HEADS[head](outputs, targets, M, B, k, options);
  const column = new Float64Array(M);
  let average = 0;
  let mixture = 0;
  for (let b = 0; b < B; b += 1) {
    for (let i = 0; i < M; i += 1) {
      column[i] = -nll[i * B + b];
      average += nll[i * B + b] / (M * B);
    }
    const log = logSumExp(column);
    mixture += (Math.log(M) - log) / B;
    for (let i = 0; i < M; i += 1) {
      const weight = (reduction === "mixture" ? Math.exp(column[i] - log) : 1 / M) / B;
      for (let c = 0; c < k; c += 1) grad[(i * B + b) * k + c] *= weight;
    }
  }
  return { average, mixture, grad };
};

// Adam (Kingma and Ba 2015, algorithm 1); weights decay beside it (Loshchilov and Hutter 2019).
export class Adam {
  constructor(net) {
    this.steps = 0;
    this.trained = net.arrays().map(([l, name, array]) => ({
      name, array, layer: net.layers[l],
      first: new Float64Array(array.length), second: new Float64Array(array.length),
    }));
  }

  step(lr, decay = 0) {
    this.steps += 1;
    const [beta1, beta2, eps] = [0.9, 0.999, 1e-8];
    const unbias1 = 1 - beta1 ** this.steps;
    const unbias2 = 1 - beta2 ** this.steps;
    for (const { name, array, layer, first, second } of this.trained) {
      const grad = layer.grads[name];
      const kept = name === "weight" ? 1 - lr * decay : 1;
      for (let i = 0; i < array.length; i += 1) {
        first[i] = beta1 * first[i] + (1 - beta1) * grad[i];
        second[i] = beta2 * second[i] + (1 - beta2) * grad[i] * grad[i];
        array[i] = kept * array[i] - (lr * (first[i] / unbias1)) / (Math.sqrt(second[i] / unbias2) + eps);
      }
    }
  }
}

// One step on a batch {x (B, m), y (B,), B}; `options`: head, loss, sigma, lr, weight_decay,
// kl_weight, and `examples`, how many the KL is shared by. Returns the losses before it.
export const step = (net, adam, batch, noise, options) => {
  const outputs = net.forward(batch.x, batch.B, noise, true);
  const found = loss(outputs, batch.y, net.spec.passes, batch.B, options.head, options.loss, options);
  net.backward(found.grad);
  const kl = net.kl(options.kl_weight / options.examples);
  adam.step(options.lr, options.weight_decay);
  return { average: found.average, mixture: found.mixture, kl };
};
