// What runs in the Worker: one or two networks that train on the same data, in step, and their pictures.
import { Adam, Network, step } from "./network.js";
import { Painter } from "./paint.js";
import { Random } from "./toys.js";

const SLICE = 8; // milliseconds of training between two looks at the messages
const MAP = 12; // milliseconds for a map while training goes on
const CHUNK = 512; // pixels of a map at a time
const RECORDS = 300; // of the losses; beyond that, every other one is dropped

// Independent streams of one seed.
const STREAMS = { start: 0, noise: 1, batches: 2, shown: 3 };
const stream = (seed, name) => new Random(seed * 4 + STREAMS[name]);

export class Training {
  // `specs` of one or two networks; `data`: x (N, inputs), y (N,), number N; `options` as `step`
  // takes them, and `batch`; those of one side alone in `sides`.
  constructor(specs, data, options, seed) {
    this.steps = 0;
    this.records = { every: 1, steps: [], sides: specs.map(() => ({ average: [], mixture: [] })) };
    this.sides = specs.map((spec) => {
      const net = new Network(spec, stream(seed, "start"));
      const random = stream(seed, "shown");
      const draws = METHODS[spec.method].stochastic ? Math.ceil((spec.functions ?? TRAINING.functions) / spec.passes) : 1;
      // One draw is one function: those that are shown keep their noise, so that only training
      // moves them.
      const shown = Array.from({ length: draws }, () => net.noise(random));
      return { net, adam: new Adam(net), random: stream(seed, "noise"), shown, found: null };
    });
    this.batches = stream(seed, "batches");
    this.set(data, options);
  }

  // Other data or options, from the next step on; an epoch begins.
  set(data, options) {
    this.data = data;
    this.options = { ...options, examples: data.number };
    this.waiting = [];
  }

  // The rows of the next batch: all, or a part of a shuffled epoch.
  rows() {
    const { number } = this.data;
    const size = Math.min(this.options.batch, number);
    if (!this.waiting.length) {
      const order = size < number ? this.batches.order(number) : [...Array(number).keys()];
      for (let i = 0; i < number; i += size) this.waiting.push(order.slice(i, i + size));
    }
    return this.waiting.shift();
  }

  batch() {
    const rows = this.rows();
    const { x, y, number } = this.data;
    const inputs = x.length / number;
    const own = new Float64Array(rows.length * inputs);
    rows.forEach((row, i) => own.set(x.subarray(row * inputs, (row + 1) * inputs), i * inputs));
    return { x: own, y: Float64Array.from(rows, (row) => y[row]), B: rows.length };
  }

  // One step of every network on the same batch. Returns which failed, or null.
  step() {
    const batch = this.batch();
    this.sides.forEach((side, i) => {
      const options = { ...this.options, ...this.options.sides?.[i] };
      side.found = step(side.net, side.adam, batch, side.net.noise(side.random), options);
    });
    this.record();
    this.steps += 1;
    const failed = this.sides.findIndex(({ found }) => !Number.isFinite(found.average + found.kl));
    return failed < 0 ? null : failed;
  }

  record() {
    const { records } = this;
    if (this.steps % records.every) return;
    const lists = [records.steps, ...records.sides.flatMap((side) => [side.average, side.mixture])];
    records.steps.push(this.steps);
    this.sides.forEach(({ found }, i) => {
      records.sides[i].average.push(found.average);
      records.sides[i].mixture.push(found.mixture);
    });
    if (records.steps.length < RECORDS) return;
    records.every *= 2;
    for (const list of lists) list.splice(0, list.length, ...list.filter((_, i) => i % 2 === 0));
  }

  // The outputs of every function that is shown, (F, B, k), at inputs x (B, m).
  outputs({ net, shown }, x, B) {
    const parts = shown.map((noise) => net.forward(x, B, noise));
    const all = new Float64Array(parts.length * parts[0].length);
    parts.forEach((part, d) => all.set(part, d * part.length));
    return all;
  }

  // Curves over a grid (G,): means (F, G), and variances where the head has them.
  curves(side, grid, head) {
    const outputs = this.outputs(side, grid, grid.length);
    if (head === "mean") return { means: outputs, raw: null };
    const half = outputs.length / 2;
    const pick = (first) => Float64Array.from({ length: half }, (_, i) => outputs[2 * i + first]);
    return { means: pick(0), raw: pick(1) };
  }

  // Over `size`² pixels of [-reach, reach]², from the top left: the mean probability of each class
  // (k, size²), and the mutual information in nats (size²).
  map(side, size, reach, k) {
    const pixels = size * size;
    const found = { size, mean: new Float32Array(k * pixels), information: new Float32Array(pixels) };
    for (let from = 0; from < pixels; from += CHUNK) {
      const B = Math.min(CHUNK, pixels - from);
      const x = new Float64Array(2 * B);
      for (let b = 0; b < B; b += 1) {
        const pixel = from + b;
        x[2 * b] = reach * ((2 * ((pixel % size) + 0.5)) / size - 1);
        x[2 * b + 1] = -reach * ((2 * (Math.floor(pixel / size) + 0.5)) / size - 1);
      }
      combine(this.outputs(side, x, B), B, k, from, pixels, found);
    }
    return found;
  }

  // The arrays of one side by name, "0.weight" and so on; as ensedu.numpy lays them out.
  weights(side) {
    return Object.fromEntries(side.net.arrays().map(([l, name, array]) => [`${l}.${name}`, array]));
  }
}

// The predictive distribution of F functions at B inputs, and how its uncertainty divides.
const combine = (outputs, B, k, from, pixels, found) => {
  const F = outputs.length / (B * k);
  const entropy = (p) => (p > 0 ? -p * Math.log(p) : 0);
  const p = new Float64Array(k);
  const mean = new Float64Array(k);
  for (let b = 0; b < B; b += 1) {
    mean.fill(0);
    let own = 0;
    for (let f = 0; f < F; f += 1) {
      const start = (f * B + b) * k;
      let best = 0;
      for (let c = 1; c < k; c += 1) if (outputs[start + c] > outputs[start + best]) best = c;
      let sum = 0;
      for (let c = 0; c < k; c += 1) {
        p[c] = Math.exp(outputs[start + c] - outputs[start + best]);
        sum += p[c];
      }
      for (let c = 0; c < k; c += 1) {
        mean[c] += p[c] / sum / F;
        own += entropy(p[c] / sum) / F;
      }
    }
    let total = 0;
    for (let c = 0; c < k; c += 1) {
      found.mean[c * pixels + from + b] = mean[c];
      total += entropy(mean[c]);
    }
    found.information[from + b] = Math.max(0, total - own);
  }
};

// Answer the messages of a page: "start", "set", "go", "pause", "hang", "scene", "frame" and "weights".
export const serve = (scope) => {
  const painter = new Painter();
  let training = null;
  let turn = 0; // of the page's runs: answers carry it, so that late ones are known
  let until = 0;
  let going = false; // whether it is asked to train; without points, it waits for them
  let called = false; // whether `work` will run
  let pixelTime = 0.004; // milliseconds, measured on each map
  const { port1, port2 } = new MessageChannel();

  const fail = (side, words) => {
    going = false;
    scope.postMessage({ kind: "failed", turn, side, step: training?.steps ?? 0, words });
  };

  const done = () => scope.postMessage({ kind: "done", turn, steps: training.steps });

  // Train on, after the messages that came meanwhile.
  const call = () => {
    if (called || !going || !training.data.number) return;
    called = true;
    port2.postMessage(0);
  };

  const work = () => {
    called = false;
    if (!going || !training.data.number) return;
    const end = performance.now() + SLICE;
    do {
      const failed = training.step();
      if (failed !== null) {
        fail(failed, "");
        return;
      }
      if (training.steps >= until) going = false;
    } while (going && performance.now() < end);
    if (going) call();
    else done();
  };
  const guarded = (run) => {
    try {
      run();
    } catch (error) {
      fail(0, String(error.message ?? error));
    }
  };
  port1.onmessage = () => guarded(work);

  const answers = {
    start({ specs, data, options, seed, turn: asked }) {
      turn = asked;
      going = false;
      training = new Training(specs, data, options, seed);
      painter.show([]);
    },
    set({ data, options }) {
      training.set(data, options);
      call();
    },
    go({ until: asked }) {
      until = asked;
      going = training.steps < until;
      if (going) call();
      else done();
    },
    pause() {
      going = false;
    },
    hang({ canvases }) {
      painter.hang(canvases);
    },
    scene({ scene }) {
      painter.set(scene);
    },
    frame({ grid, reach, classes, finest, distributions }) {
      const { head } = training.options;
      const began = performance.now();
      const affordable = Math.sqrt(MAP / (pixelTime * training.sides.length));
      const size = going ? Math.max(16, Math.min(finest, Math.floor(affordable))) : finest;
      const sides = training.sides.map((side) => ({
        ...(grid ? training.curves(side, grid, head) : { map: training.map(side, size, reach, classes) }),
        found: side.found,
        total: side.net.total,
        moments: distributions ? side.net.moments() : null,
      }));
      if (!grid) pixelTime = (performance.now() - began) / (sides.length * size * size);
      const one = painter.show(sides);
      const { steps, records } = training;
      scope.postMessage({ kind: "frame", turn, steps, records, sides, one });
    },
    weights() {
      const sides = training.sides.map((side) => training.weights(side));
      scope.postMessage({ kind: "weights", turn, steps: training.steps, sides });
    },
  };

  scope.onmessage = ({ data }) => guarded(() => answers[data.kind](data));
};
