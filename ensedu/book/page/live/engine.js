// The networks of ensedu.numpy in JavaScript: the same formulas, gradients and names, float64.
//
// Whatever a method stores, member i (or sample i) multiplies by a matrix W_i of its own. So there
// is one product and one backward pass for all methods; METHODS says how W_i is made of what is
// stored, and how a gradient of W_i goes back to that.
//
// Arrays are flat and row by row, shaped as in the book: W (M, m, n), activations (M, B, n).

const each = (size, make) => {
  const array = new Float64Array(size);
  for (let i = 0; i < size; i += 1) array[i] = make(i);
  return array;
};
export const softplus = (rho) => Math.max(rho, 0) + Math.log1p(Math.exp(-Math.abs(rho)));
export const sigmoid = (rho) => 0.5 * (1 + Math.tanh(0.5 * rho));
const inverseSoftplus = (std) => std + Math.log(-Math.expm1(-std));

// y += a b, for y (R, C), b (K, C), and a (R, K), whose entries lie `aRow` and `aStep` apart: a
// transposed a needs no copy. Four rows of b serve two rows of y at a time, because reading and
// writing takes longer than multiplying.
const addProduct = (y, yStart, a, aStart, aRow, aStep, b, bStart, R, K, C) => {
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
const addTimes = (y, yStart, factor, b, bStart, C) => {
  for (let j = 0; j < C; j += 1) y[yStart + j] += factor * b[bStart + j];
};

// Row by row, `times` copies of b (n).
const fillRows = (y, yStart, times, b, bStart, n) => {
  for (let i = 0; i < times; i += 1)
    for (let j = 0; j < n; j += 1) y[yStart + i * n + j] = b[bStart + j];
};

// W (m, n) -> Wᵀ (n, m).
const transposed = (W, wStart, m, n) => {
  const turned = new Float64Array(m * n);
  for (let a = 0; a < m; a += 1)
    for (let j = 0; j < n; j += 1) turned[j * m + a] = W[wStart + a * n + j];
  return turned;
};

// mean + softplus(ρ) ε, for as many samples of one distribution as there is noise for.
const drawn = (mean, rho, noise) => {
  const std = rho.map(softplus);
  const array = new Float64Array(noise.length);
  for (let start = 0; start < noise.length; start += mean.length)
    for (let i = 0; i < mean.length; i += 1)
      array[start + i] = mean[i] + std[i] * noise[start + i];
  return array;
};

// The gradient of mean and ρ, from that of what was drawn.
const ofDrawn = (grad, noise, rho) => {
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

const ofModulated = (grad, weight, r, s, M, m, n) => {
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

const repeated = (array, M) => {
  const all = new Float64Array(array.length * M);
  for (let i = 0; i < M; i += 1) all.set(array, i * array.length);
  return all;
};
const summed = (array, M) => {
  const sum = new Float64Array(array.length / M);
  for (let start = 0; start < array.length; start += sum.length)
    addTimes(sum, 0, 1, array, start, sum.length);
  return sum;
};

// One matrix for all passes, as of a single network, or with dropout.
const PLAIN = {
  start: ({ m, n, uniform }) => ({ weight: uniform(m * n), bias: uniform(n) }),
  made: (params, noise, M) => ({ W: repeated(params.weight, M), bias: repeated(params.bias, M) }),
  back: (params, noise, M, dW, db) => ({ weight: summed(dW, M), bias: summed(db, M) }),
};

export const METHODS = {
  single: PLAIN,
  deep_ensemble: {
    members: true,
    starts: ["different", "same"],
    start: ({ m, n, own }) => ({ weight: own(m * n), bias: own(n) }),
    made: ({ weight, bias }) => ({ W: weight, bias }),
    back: (params, noise, M, dW, db) => ({ weight: dW, bias: db }),
  },
  batch_ensemble: {
    members: true,
    starts: ["signs", "normal-0.5", "normal-0.1", "same"],
    start: ({ m, n, uniform, own, factors }) => ({
      weight: uniform(m * n), r: factors(m), s: factors(n), bias: own(n),
    }),
    made: ({ weight, r, s, bias }, noise, M, m, n) => ({
      W: modulated(weight, r, s, M, m, n), bias,
    }),
    back: ({ weight, r, s }, noise, M, dW, db, m, n) => ({
      ...ofModulated(dW, weight, r, s, M, m, n), bias: db,
    }),
  },
  // Dusenberry et al. 2020, eq. 3.
  rank1: {
    members: true,
    starts: ["normal-0.1", "normal-0.5", "signs", "same"],
    priorLoc: 1,
    distributions: ["r", "s"],
    start: ({ m, n, M, uniform, own, factors, rho }) => ({
      weight: uniform(m * n), r_mean: factors(m), r_rho: rho(M * m),
      s_mean: factors(n), s_rho: rho(M * n), bias: own(n),
    }),
    noise: (random, M, m, n) => ({ r: random.normals(M * m), s: random.normals(M * n) }),
    made: (params, noise, M, m, n) => {
      const r = drawn(params.r_mean, params.r_rho, noise.r);
      const s = drawn(params.s_mean, params.s_rho, noise.s);
      return { W: modulated(params.weight, r, s, M, m, n), bias: params.bias, r, s };
    },
    back: (params, noise, M, dW, db, m, n, { r, s }) => {
      const found = ofModulated(dW, params.weight, r, s, M, m, n);
      const [r_mean, r_rho] = ofDrawn(found.r, noise.r, params.r_rho);
      const [s_mean, s_rho] = ofDrawn(found.s, noise.s, params.s_rho);
      return { weight: found.weight, r_mean, r_rho, s_mean, s_rho, bias: db };
    },
  },
  // Blundell et al. 2015, sec. 3.2.
  mean_field: {
    priorLoc: 0,
    distributions: ["weight", "bias"],
    start: ({ m, n, uniform, rho }) => ({
      weight_mean: uniform(m * n), weight_rho: rho(m * n), bias_mean: uniform(n), bias_rho: rho(n),
    }),
    noise: (random, M, m, n) => ({
      weight: random.normals(M * m * n), bias: random.normals(M * n),
    }),
    made: (params, noise) => ({
      W: drawn(params.weight_mean, params.weight_rho, noise.weight),
      bias: drawn(params.bias_mean, params.bias_rho, noise.bias),
    }),
    back: (params, noise, M, dW, db) => {
      const [weight_mean, weight_rho] = ofDrawn(dW, noise.weight, params.weight_rho);
      const [bias_mean, bias_rho] = ofDrawn(db, noise.bias, params.bias_rho);
      return { weight_mean, weight_rho, bias_mean, bias_rho };
    },
  },
  // Gal and Ghahramani 2016.
  mc_dropout: { ...PLAIN, drops: true },
};

// Standard deviations of r and s around 1, by the name of the start.
const NEAR_ONE = { "normal-0.1": 0.1, "normal-0.5": 0.5 };

// How the arrays of a layer are drawn: `uniform` and `rho` are of all members, `own` and `factors`
// are each member's; from one start, all members get what the first has drawn.
const drawers = (m, M, { start, posterior_std }, random) => {
  const bound = 1 / Math.sqrt(m);
  const uniform = (size) => each(size, () => bound * (2 * random.uniform() - 1));
  const factor = () => {
    if (start in NEAR_ONE) return 1 + NEAR_ONE[start] * random.normal();
    return random.uniform() < 0.5 ? -1 : 1;
  };
  const same = start === "same";
  return {
    uniform,
    own: (size) => (same ? repeated(uniform(size), M) : uniform(M * size)),
    factors: (size) => each(M * size, same ? () => 1 : factor),
    rho: (size) => new Float64Array(size).fill(inverseSoftplus(posterior_std)),
  };
};

// A multilayer perceptron: `sizes`, a `method`, `passes` (M members, or as many samples a step),
// `activation` ("relu" or "tanh"), `start`, and where they apply `p`, `prior_scale`,
// `posterior_std`.
export class Network {
  constructor(spec, random) {
    this.spec = spec;
    this.method = METHODS[spec.method];
    this.layers = spec.sizes.slice(1).map((n, l) => {
      const m = spec.sizes[l];
      const params = this.method.start({ m, n, M: spec.passes, ...drawers(m, spec.passes, spec, random) });
      return { m, n, params, grads: {} };
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

  // What one pass of all members, or samples, draws: an object a layer.
  noise(random) {
    const { passes: M, p } = this.spec;
    return this.layers.map(({ m, n }, l) => {
      if (this.method.drops && l < this.layers.length - 1)
        return { mask: each(M * n, () => (random.uniform() >= p ? 1 : 0)) };
      return this.method.noise?.(random, M, m, n) ?? {};
    });
  }

  // The matrices W_i and biases of one layer, for this noise.
  made(l, noise) {
    const { m, n, params } = this.layers[l];
    return this.method.made(params, noise[l], this.spec.passes, m, n);
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
        if (keep) layer.kept.active = this.method.drops ? y.slice() : y;
        if (this.method.drops) drop(y, noise[l].mask, M, B, n, 1 - p);
      }
      x = y;
    }
    return x;
  }

  // From the gradient of the outputs (M, B, n) to `grads` of every layer.
  backward(grad) {
    const { passes: M, activation, p } = this.spec;
    for (const [l, layer] of [...this.layers.entries()].reverse()) {
      const { m, n, params } = layer;
      const { x, next, B, made, noise, active } = layer.kept;
      if (active) {
        if (this.method.drops) drop(grad, noise.mask, M, B, n, 1 - p);
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
      layer.grads = this.method.back(params, noise, M, dW, db, m, n, made);
      grad = dx;
    }
  }

  // The mean over members of KL(q ‖ N(loc, scale²)) in nats; adds `weight` times its gradient.
  kl(weight = 0) {
    const { distributions = [], members, priorLoc: loc } = this.method;
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

// Each member's and example's NLL ℓ, (M, B), in nats, and the gradient of each ℓ.
const HEADS = {
  // ½ (y - μ)² / σ² for a known σ, without its constant.
  mean: (outputs, targets, M, B, k, { sigma }) => {
    const nll = new Float64Array(M * B);
    const grad = new Float64Array(M * B);
    for (let i = 0; i < M * B; i += 1) {
      const away = outputs[i] / sigma - targets[i % B] / sigma;
      nll[i] = 0.5 * away * away;
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
