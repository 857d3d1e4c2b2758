// How networks are trained: one step after the other.
import { loss } from "./losses.js";

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
