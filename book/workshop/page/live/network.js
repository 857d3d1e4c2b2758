// The networks of ensedu.numpy in JavaScript: the same formulas, gradients and names, float64.
//
// Whatever a method stores, member i (or sample i) multiplies by a matrix W_i of its own. So there
// is one product and one backward pass for all methods; `member_matrices.js` says how W_i is made.
//
// Arrays are flat and row by row, shaped as in the book: W (M, m, n), activations (M, B, n).
import { addProduct, addTimes, arrayOf, fillRows, sigmoid, softplus, transposed } from "./arrays.js";
import { drawNoise, gradientsOf, matricesOf, startArrays } from "./member_matrices.js";

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
    const { distributions, members, prior_loc: loc } = this.method;
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
