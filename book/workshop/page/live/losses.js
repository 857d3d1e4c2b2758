// Losses of all members, and their gradients.
import { sigmoid, softplus } from "./arrays.js";

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
