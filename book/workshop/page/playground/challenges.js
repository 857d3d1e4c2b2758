// Challenges: each starts from a layer of its own, and says itself whether it is met.
import { OWN, SHARING, compute, keysOf, numbers, sizesOf, totalOf, valueOf } from "./layer.js";
import { figure } from "./names.js";

const CLOSE = 1e-9;
const label = (method) => LAYERS.methods[method].label;

const layer = (method, m, n, M, edits = {}) => ({
  method, in_features: m, out_features: n, ensemble_size: M, numbers: 0, draw: 0, edits,
});
const list = (values) => values.map((value) => figure(value)).join(", ");
const entries = (count, of) => `${count} of ${of} entries`;
// The entries of an array in which two layers differ.
const apart = (keys, first, second) => keys.filter((key) => Math.abs(first(key) - second(key)) > CLOSE);
const matrix = (i, { m, n }) =>
  Array.from({ length: m * n }, (_, k) => `W:${[i, Math.floor(k / n), k % n]}`);
const edits = (state, start) => apart(keysOf(state), (key) => valueOf(state, key), (key) => valueOf(start, key));

// Member 2 is member 1 but for one entry of r.
const twins = () => {
  const start = numbers(0);
  const same = {};
  for (const [name, size] of [["r", 3], ["s", 4], ["bias", 4]])
    for (let k = 0; k < size; k += 1) same[`${name}:1,${k}`] = start[`${name}:0,${k}`];
  const other = start["r:0,1"];
  return layer(SHARING, 3, 4, 3, { ...same, "r:1,1": other === 1 ? 2 : 1 });
};

// W2 is W1 with its rows times 1 and 2, and its columns times 1, −1 and 0.5.
const rescaled = () => {
  const start = numbers(0);
  const found = {};
  [1, 2].forEach((r, a) =>
    [1, -1, 0.5].forEach((s, b) => (found[`weight:1,${a},${b}`] = start[`weight:0,${a},${b}`] * r * s)),
  );
  return layer(OWN, 2, 3, 2, found);
};

export const CHALLENGES = {
  equal: {
    task: "Make members 1 and 2 the same network, with one edit.",
    start: twins,
    check(state, start) {
      const made = compute(state);
      const sizes = sizesOf(state);
      const [W, b] = [matrix(0, sizes), Array.from({ length: sizes.n }, (_, k) => `b:0,${k}`)];
      const far = (keys) => keys.filter((key) => Math.abs(made[key] - made[key.replace(":0", ":1")]) > CLOSE).length;
      const [matrices, biases] = [far(W), far(b)];
      const count = edits(state, start).length;
      if (matrices || biases) {
        const also = biases ? `, b1 and b2 in ${biases} of ${b.length}` : "";
        return { done: false, words: `Not yet: W1 and W2 differ in ${entries(matrices, W.length)}${also}.` };
      }
      if (count > 1) return { done: false, words: `They are the same, but ${count} numbers changed. One is enough: press Reset.` };
      return { done: true, words: "Done. One number of r was a whole row of a matrix: so few numbers tell two members apart." };
    },
  },
  ways: {
    task: "Change r1 and s1, both, so that W1 is what it was.",
    start: () => layer(SHARING, 2, 2, 2),
    check(state, start) {
      const changed = edits(state, start);
      const [now, then] = [compute(state), compute(start)];
      const far = apart(matrix(0, sizesOf(state)), (key) => now[key], (key) => then[key]).length;
      if (changed.some((key) => key.startsWith("weight:"))) return { done: false, words: "Leave W as it is: only r1 and s1 may change. Press Undo." };
      if (!["r:0", "s:0"].every((own) => changed.some((key) => key.startsWith(own))))
        return { done: false, words: far ? `Not yet: W1 changed in ${entries(far, 4)}. Bring it back with the other vector.` : "Not yet: r1 and s1 must both change." };
      if (far) return { done: false, words: `Not yet: W1 changed in ${entries(far, 4)}.` };
      return { done: true, words: "Done. What r gains and s loses cancels: many r and s make the same W1, so a member is freer on paper than in fact." };
    },
  },
  reach: {
    task: "Edit W2 until no r and s could make it out of W1.",
    start: rescaled,
    member: 1,
    check(state, start) {
      const { m, n } = sizesOf(state);
      const value = (i, a, b) => valueOf(state, `weight:${[i, a, b]}`);
      if (edits(state, start).some((key) => key.startsWith("weight:0")))
        return { done: false, words: "Leave W1 as it is: it stands for the shared matrix. Press Undo." };
      const ratio = (a, b) => value(1, a, b) / value(0, a, b);
      const rows = Array.from({ length: m }, (_, a) => Array.from({ length: n }, (_, b) => ratio(a, b)));
      for (let b = 0; b < n; b += 1)
        for (let c = b + 1; c < n; c += 1) {
          const [one, other] = [rows[0][b] * rows[1][c], rows[0][c] * rows[1][b]];
          if (Math.abs(one - other) > CLOSE)
            return {
              done: true,
              words:
                `Done. W2 / W1 has the rows (${list(rows[0])}) and (${list(rows[1])}), and neither is a multiple of the other. ` +
                "In rsᵀ each row is a multiple of s.",
            };
        }
      // Rank 1, or 0: the row of the largest number is s, and r says how often each row has it.
      const [top, far] = rows.map((row) => Math.max(...row.map(Math.abs)))[0] > 0 ? [0, 1] : [1, 0];
      const widest = rows[top].reduce((best, each, b) => (Math.abs(each) > Math.abs(rows[top][best]) ? b : best), 0);
      const times = rows[top][widest] === 0 ? 0 : rows[far][widest] / rows[top][widest];
      const r = top === 0 ? [1, times] : [times, 1];
      return { done: false, words: `Not yet: r = (${list(r)}) and s = (${list(rows[top])}) make it.` };
    },
  },
  price: {
    task: `Find sizes where a ${label(SHARING)} holds more than a ${label(OWN)}.`,
    start: () => layer(SHARING, 4, 5, 4),
    sizes: true,
    check(state) {
      const sizes = sizesOf(state);
      const [shared, own] = [SHARING, OWN].map((method) => totalOf(method, sizes));
      if (shared <= own) return { done: false, words: `Not yet: ${shared} numbers against ${own}.` };
      return { done: true, words: `Done: ${shared} numbers against ${own}. What r and s add is more than what one matrix for all saves.` };
    },
  },
};

// The layer that a challenge starts from, as a whole state.
export const startOf = (id) => ({ ...CHALLENGES[id].start(), challenge: id });
