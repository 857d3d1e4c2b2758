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
