// What trains and on what: the state, its changes, and the way back; no picture and no control.
import { RESTARTS, encode, problem, sideOf, withMethod } from "./link.js";
import { GRID, MOST_POINTS, REACH, TOYS, VIEW, points, rounded } from "./toys.js";
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

const REST = TRAINING.rest; // steps after which a run that began by itself pauses
const SETTLE = 300; // milliseconds after which a hand has come to rest
const UNDO = 50;
const FRAME = 30; // milliseconds at least between two pictures: training needs the time more
const FINEST = 64; // pixels of a map a side, when it rests

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
// The loss of a second network, and the weight of its KL, may change while it trains.
const networkOf = (side) => side && [side.method, side.ensemble_size, side.start];
const startsAnew = (before, after) =>
  classesOf(before) !== classesOf(after) ||
  [...RESTARTS].some((key) =>
    key === "other" ? !same(networkOf(before.other), networkOf(after.other)) : !same(before[key], after[key]),
  );

// The state with the points of a toy set.
export const withToy = (state, part) => {
  const next = { ...state, ...part, axes: null };
  return { ...next, task: TOYS[next.data].task, points: points(next.data, next.noise, next.seed) };
};

// `on`: `draw(anew)` when there is something new to be seen, and perhaps a new theme or size, `refresh()` when controls are to follow,
// `tell(words)`, `anew(words)` when training begins anew, `settle()` when the reader's hand rests.
export class Trainer {
  // `behind`: a band to compare with, as `forecast.js` knows it, or null.
  constructor(state, on, behind = null) {
    const wrong = problem(state);
    if (wrong) throw new Error(`live trainer: ${wrong}`);
    this.on = on;
    this.behind = behind;
    this.state = structuredClone(state);
    this.frame = null; // what the Worker sent last
    this.failed = null;
    this.playing = false;
    this.touched = false; // the reader has played or paused: then nothing goes by itself
    this.seen = false; // on the screen
    this.distributions = false; // whether means and standard deviations are shown
    this.chosen = -1; // a point
    this.cursor = null; // of the keyboard
    this.brush = 0; // the class of a new point
    this.until = REST;
    this.exact = false;
    this.rested = false; // it has paused by itself, and goes on with the next change
    this.aim = 0; // of single steps
    this.waiting = 0;
    this.asked = 0; // when, for the last picture
    this.dirty = true;
    this.undos = [];
    this.home = null; // what was set before an experiment
    this.runner = new Runner({
      frame: (frame) => {
        this.frame = frame;
        // The next one is computed while this one is drawn.
        if (this.playing && this.seen && !this.dirty) this.#next(performance.now());
        on.draw(false);
      },
      // An answer to what was asked before may come late.
      done: ({ steps }) => {
        if (this.playing && steps < this.until) return;
        this.rested = this.playing && !this.exact;
        this.#stopped(null);
      },
      failed: (failed) => this.#stopped(failed),
    }, behind ? TRAINING.many_functions : TRAINING.functions);
    this.runner.start(this.state);
  }

  get steps() {
    return this.frame?.steps ?? 0;
  }

  get plane() {
    return this.state.task === "classification";
  }

  #stopped(failed) {
    this.failed = failed;
    this.playing = false;
    this.look();
    this.on.refresh();
  }

  // Training.
  // `exact`: it stops after so many steps, and does not go on with the next change.
  play(steps = 0, exact = false) {
    if (this.failed) this.restart();
    // The last picture may be of some steps before the end.
    const ended = this.rested || this.steps >= this.until;
    this.playing = true;
    this.rested = false;
    this.exact = exact;
    if (steps) this.until = this.steps + steps;
    else if (ended) this.until = Number.MAX_SAFE_INTEGER;
    if (this.seen || steps) this.runner.go(this.until);
    this.look();
    this.on.refresh();
  }

  pause() {
    this.runner.pause();
    this.rested = false;
    this.#stopped(this.failed);
  }

  step() {
    if (this.playing) this.pause();
    this.aim = Math.max(this.aim, this.steps) + 1;
    this.runner.go(this.aim);
    this.look();
  }

  restart() {
    this.failed = null;
    this.frame = null;
    this.until = REST;
    this.aim = 0;
    this.runner.start(this.state);
    if (this.playing && this.seen) this.runner.go(this.until);
    this.look();
  }

  // Nothing runs off the screen.
  show(seen, calm) {
    if (seen === this.seen) return;
    this.seen = seen;
    if (!seen) {
      this.runner.pause();
      return;
    }
    if (!this.touched && !calm && !this.failed && this.steps < REST) this.playing = true;
    if (this.playing) this.runner.go(this.until);
    this.look();
    this.on.refresh();
  }

  // A frame is asked for when the last one has come, and only on the screen.
  look() {
    this.dirty = true;
    this.#wake();
  }

  // A picture of the screen is waited for only where it is too early, or something is set.
  #wake() {
    if (this.waiting || !this.seen) return;
    this.waiting = requestAnimationFrame((now) => {
      this.waiting = 0;
      if (this.playing || this.dirty) this.#next(now);
    });
  }

  #next(now) {
    if (now - this.asked < FRAME) {
      this.#wake();
      return;
    }
    if (this.dirty) this.on.draw(true);
    if (!this.runner.asked) {
      this.dirty = false;
      this.asked = now;
      this.runner.frame(this.state, { finest: FINEST, distributions: this.distributions });
    } else if (this.dirty) this.#wake();
  }

  // Changes: checked, sent to the Worker, and remembered for the way back.
  apply(next, anew = startsAnew(this.state, next)) {
    const wrong = problem(next);
    if (wrong) {
      this.on.tell(`That cannot be: ${wrong}.`);
      return false;
    }
    const began = this.steps;
    this.state = next;
    if (this.rested) this.playing = true;
    if (this.rested && !anew) this.until = began + REST;
    this.rested = false;
    this.chosen = this.chosen < next.points.length ? this.chosen : -1;
    if (anew) this.restart();
    else {
      this.runner.set(next);
      if (this.playing && this.seen) this.runner.go(this.until);
    }
    this.look();
    this.on.refresh();
    if (anew && began) this.on.anew("Begun anew, because what is trained has changed.");
    return true;
  }

  remember() {
    this.undos = [...this.undos.slice(1 - UNDO), this.state];
  }

  change(part, remember = true) {
    if (remember) this.remember();
    if (this.apply({ ...this.state, ...part })) this.settle();
  }

  // As `change`, from the start.
  begin(part) {
    this.remember();
    if (this.apply({ ...this.state, ...part }, true)) this.settle();
  }

  changeSide(i, part) {
    this.change(i ? { other: { ...this.state.other, ...part } } : part);
  }

  compare() {
    const { method } = this.state;
    const second = withMethod(this.state, Object.keys(METHODS).find((each) => METHODS[each].has_members && each !== method));
    const alone = Boolean(this.state.other);
    this.change({ other: alone ? null : { ...sideOf(this.state), ...second } });
    this.on.tell(alone ? "One network again: it begins anew." : "Both begin anew, so that they learn side by side. Undo takes B away.");
  }

  undo() {
    const before = this.undos.pop();
    this.on.tell(before ? "Undone. What was learned meanwhile stays, unless it begins anew." : "There is nothing to undo.");
    if (before && this.apply(before)) this.settle();
  }

  // An experiment sets all, at rest before the first step; what the reader had set is kept.
  visit(state) {
    this.home ??= { state: this.state, undos: this.undos, playing: this.playing || this.rested };
    this.#set(state, [], false);
  }

  // Its end gives back what the reader had set; or an experiment is kept, and Undo gives it back.
  leave(kept) {
    const { state, undos, playing } = this.home;
    this.home = null;
    if (!kept) this.#set(state, undos, playing);
    else {
      this.undos = [...undos, state];
      this.on.refresh();
    }
  }

  #set(state, undos, playing) {
    this.undos = undos;
    this.touched = true;
    this.playing = playing;
    this.rested = false;
    this.apply({ ...this.state, ...structuredClone(state) }, true);
    this.settle();
  }

  settle() {
    clearTimeout(this.settling);
    this.settling = setTimeout(() => this.on.settle(encode(this.state)), SETTLE);
  }

  // Points.
  placed(x, y) {
    const reach = this.plane ? [REACH, REACH] : [VIEW.x, VIEW.y];
    return [x, y].map((value, i) => rounded(Math.max(-reach[i], Math.min(reach[i], value))));
  }

  add(x, y) {
    if (this.state.points.length >= MOST_POINTS) {
      this.on.tell(`There are ${MOST_POINTS} points, the most that fit.`);
      return false;
    }
    const point = [...this.placed(x, y), ...(this.plane ? [this.brush] : [])];
    this.change({ points: [...this.state.points, point] });
    return true;
  }

  move(i, x, y, remember = true) {
    const moved = (point) => [...this.placed(x, y), ...point.slice(2)];
    this.change({ points: this.state.points.map((point, k) => (k === i ? moved(point) : point)) }, remember);
  }

  remove(i) {
    this.chosen = -1;
    this.change({ points: this.state.points.filter((_, k) => k !== i) });
  }

  stop() {
    clearTimeout(this.settling);
    cancelAnimationFrame(this.waiting);
    this.seen = false;
    this.runner.stop();
  }
}
