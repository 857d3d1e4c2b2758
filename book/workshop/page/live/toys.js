// The data that a reader can start from, as in book/workshop/page/live/toys.py, which gives TOY_SETS:
// names, numbers and regions. Functions are written here, too.

// Seeded random numbers: the same seed gives the same run.
export class Random {
  // sfc32 (Doty-Humphrey, PractRand), seeded by one integer.
  constructor(seed) {
    this.state = new Uint32Array([seed, seed ^ 0x9e3779b9, 0x243f6a88, 1]);
    this.spare = null;
    for (let i = 0; i < 16; i += 1) this.next();
  }

  next() {
    const state = this.state;
    const drawn = (((state[0] + state[1]) | 0) + state[3]) | 0;
    state[3] += 1;
    state[0] = state[1] ^ (state[1] >>> 9);
    state[1] = state[2] + (state[2] << 3);
    state[2] = ((state[2] << 21) | (state[2] >>> 11)) + drawn;
    return drawn >>> 0;
  }

  // In [0, 1).
  uniform() {
    return this.next() / 4294967296;
  }

  // N(0, 1), by the method of Box and Muller.
  normal() {
    if (this.spare !== null) {
      const spare = this.spare;
      this.spare = null;
      return spare;
    }
    const radius = Math.sqrt(-2 * Math.log(1 - this.uniform()));
    const angle = 2 * Math.PI * this.uniform();
    this.spare = radius * Math.sin(angle);
    return radius * Math.cos(angle);
  }

  normals(size) {
    const drawn = new Float64Array(size);
    for (let i = 0; i < size; i += 1) drawn[i] = this.normal();
    return drawn;
  }

  // 0 … size - 1 in a random order.
  order(size) {
    const order = Array.from({ length: size }, (_, i) => i);
    for (let i = size - 1; i > 0; i -= 1) {
      const j = Math.floor(this.uniform() * (i + 1));
      [order[i], order[j]] = [order[j], order[i]];
    }
    return order;
  }
}

// What is seen of a curve, and how far a map reaches.
export const VIEW = TRAINING.view;
export const REACH = TRAINING.reach;
// Where curves are computed.
const PLACES_ALONG = TRAINING.grid_points - 1;
export const GRID = Float64Array.from({ length: PLACES_ALONG + 1 }, (_, i) => -VIEW.x + (2 * VIEW.x * i) / PLACES_ALONG);
export const MOST_POINTS = TRAINING.most_points;

export const rounded = (value) => Math.round(value * 1000) / 1000 + 0; // no -0

// The true curves, and how the noise grows along x where it does.
const CURVES = {
  gap: (x) => Math.sin(1.5 * x) + 0.2 * x,
  cubic: (x) => x ** 3 / 25,
  step: (x) => (x < 0 ? -1 : 1),
  wave: (x) => Math.sin(1.2 * x),
  clusters: (x) => Math.cos(x + 0.8),
};
const GROWTHS = { wave: (x) => 0.3 + 1.7 * (x + 4) / 4 };
// Where a point of a class lies, for t in [0, 1).
const PLACES = {
  moons: (t, label) =>
    label
      ? [1.4 - 2 * Math.cos(Math.PI * t) - 0.4, 0.5 - 2 * Math.sin(Math.PI * t)]
      : [2 * Math.cos(Math.PI * t) - 1, 2 * Math.sin(Math.PI * t) - 0.5],
  spirals: (t, label) => {
    const angle = 3 * Math.PI * Math.sqrt(t) + Math.PI * label;
    const radius = 0.35 + 3 * Math.sqrt(t);
    return [radius * Math.cos(angle), radius * Math.sin(angle)];
  },
  blobs: (t, label) => {
    const angle = Math.PI * (0.5 + (2 * label) / 3);
    return [2 * Math.cos(angle), 2 * Math.sin(angle)];
  },
};

// Regions in turn, so that each has as many points as any other.
const onCurve = (truth, grows, { regions }) => (random, i, std) => {
  const [low, high] = regions[i % regions.length];
  const x = low + (high - low) * random.uniform();
  return [x, truth(x) + std * grows(x) * random.normal()];
};
const inPlane = (place, { classes }) => (random, i, std) => {
  const label = i % classes;
  const [x, y] = place(random.uniform(), label);
  return [x + std * random.normal(), y + std * random.normal(), label];
};

export const TOYS = Object.fromEntries(
  Object.entries(TOY_SETS).map(([name, set]) => {
    if (set.task === "classification") return [name, { ...set, draw: inPlane(PLACES[name], set) }];
    const truth = CURVES[name];
    return [name, { ...set, truth, draw: onCurve(truth, GROWTHS[name] ?? (() => 1), set) }];
  }),
);

// The points of a toy set, rounded so that an address can hold them in full.
export const points = (name, noise, seed) => {
  const toy = TOYS[name];
  const random = new Random(seed * 4 + 1000003);
  return Array.from({ length: toy.number }, (_, i) => {
    const [x, y, label] = toy.draw(random, i, noise);
    return label === undefined ? [rounded(x), rounded(y)] : [rounded(x), rounded(y), label];
  });
};
