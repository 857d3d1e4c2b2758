// The page's end of the Worker: what trains, on what, and the pictures that come back.
import { GRID, REACH } from "./toys.js";
import { ENGINE } from "./worker.js";

export const sides = (state) => (state.other ? [state, state.other] : [state]);
export const classesOf = (state) => (state.points.some((point) => point[2] === 2) ? 3 : 2);

// What one side trains, as `Network` takes it.
export const specOf = (state, side) => {
  const plane = state.task === "classification";
  const outputs = plane ? classesOf(state) : state.head === "variance" ? 2 : 1;
  return {
    sizes: [plane ? 2 : 1, ...Array(state.hidden_layers).fill(state.width), outputs],
    method: side.method, passes: side.ensemble_size, start: side.start, activation: state.activation,
    parametrization: state.parametrization, p: state.p, prior_scale: state.prior_scale, posterior_std: state.initial_std,
  };
};

export const dataOf = (state) => {
  const inputs = state.task === "classification" ? 2 : 1;
  const number = state.points.length;
  const x = new Float64Array(number * inputs);
  state.points.forEach((point, i) => x.set(point.slice(0, inputs), i * inputs));
  return { x, y: Float64Array.from(state.points, (point) => point[inputs]), number };
};

export const optionsOf = (state) => ({
  head: state.task === "classification" ? "classes" : state.head,
  sigma: state.noise, lr: state.lr, weight_decay: state.weight_decay, batch: TRAINING.batch,
  sides: sides(state).map(({ loss, kl_weight }) => ({ loss, kl_weight })),
});

// Calls `on.frame`, `on.done(steps)` and `on.failed({ side, step, words })`; `weights` is a promise.
export class Runner {
  // `functions`: how many are shown of a method that draws, at least.
  constructor(on, functions) {
    this.on = on;
    this.functions = functions;
    this.turn = 0;
    this.asked = false; // for a frame that has not come yet
    this.readers = [];
    const source = new Blob([`(${ENGINE})().serve(self)`], { type: "text/javascript" });
    const address = URL.createObjectURL(source);
    this.worker = new Worker(address);
    URL.revokeObjectURL(address);
    this.worker.onmessage = ({ data }) => this.#receive(data);
    this.worker.onerror = () => on.failed({ side: 0, step: 0, words: "this browser runs no Worker here" });
  }

  #receive(data) {
    if (data.kind === "frame") this.asked = false;
    if (data.turn !== this.turn) return;
    if (data.kind === "weights") this.readers.shift()?.(data);
    else this.on[data.kind](data);
  }

  start(state) {
    this.turn += 1;
    this.readers = [];
    const specs = sides(state).map((side) => ({ ...specOf(state, side), functions: this.functions }));
    this.#send("start", { specs, data: dataOf(state), options: optionsOf(state), seed: state.seed, turn: this.turn });
  }

  set(state) {
    this.#send("set", { data: dataOf(state), options: optionsOf(state) });
  }

  go(until) {
    this.#send("go", { until });
  }

  pause() {
    this.#send("pause", {});
  }

  // Canvases that are drawn in the Worker, from now on.
  hang(canvases) {
    this.#send("hang", { canvases }, canvases);
  }

  scene(scene) {
    this.#send("scene", { scene });
  }

  frame(state, { finest, distributions }) {
    if (this.asked) return;
    this.asked = true;
    const plane = state.task === "classification";
    this.#send("frame", {
      grid: plane ? null : GRID, reach: REACH, classes: classesOf(state), finest, distributions,
    });
  }

  weights() {
    return new Promise((resolve) => {
      this.readers.push(resolve);
      this.#send("weights", {});
    });
  }

  stop() {
    this.worker.terminate();
  }

  #send(kind, rest, given = []) {
    this.worker.postMessage({ kind, ...rest }, given);
  }
}
