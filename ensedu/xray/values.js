// What stands in the arrays: the model's own values where the page has them, else small numbers drawn
// from a seed. Any entry can be asked for alone, so that a layer of millions costs nothing.
const CHOICES = { weight: [-3, -2, -1, 1, 2, 3], factor: [-1, 0.5, 1, 2], spread: [0.2, 0.5, 1], input: [-1, 1, 2] };
const KINDS = ["W", "r", "s", "b", "σW", "σr", "σs", "σb", "x"];

const SEED = 0x1d62bacb;
// A number in [0, 1) for each list of integers (Murmur3's mixing).
const mixed = (...parts) => {
  let h = SEED;
  for (const part of parts) {
    h = Math.imul(h ^ part, 0x85ebca6b);
    h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
    h ^= h >>> 16;
  }
  return (h >>> 0) / 4294967296;
};
const pick = (choices, at) => choices[Math.floor(at * choices.length)];
const normal = (...parts) => Math.sqrt(-2 * Math.log(1 - mixed(...parts, 1))) * Math.cos(2 * Math.PI * mixed(...parts, 2));

const nameOfMatrix = (layer, matrix) => `${layer.name ? `${layer.name}.` : ""}${matrix.key}`;
const decoded = remembered(({ bins, rows }) => {
  const bytes = Uint8Array.from(atob(bins), (letter) => letter.charCodeAt(0));
  const columns = bytes.length / rows;
  return { rows, columns, at: (a, b) => (bytes[a * columns + b] - 127) / 127 };
});
const binsOf = (layer, matrix) => {
  const own = DATA.values?.[nameOfMatrix(layer, matrix)];
  return own ? decoded(own) : null;
};

// The model's own numbers in the window, where the page has all of them: its first ones.
const cornerOf = (layer, matrix) => DATA.values?.[nameOfMatrix(layer, matrix)]?.corner;
const knownIn = (state, layer) => {
  const [matrix, side] = [sheetsOf(layer)[state.matrix], windowOf(state)];
  const corner = cornerOf(layer, matrix);
  const within = (from, length, known) => from + Math.min(side, length) <= known;
  return corner && within(state.row, rowsOf(matrix), corner.length) && within(state.column, columnsOf(matrix), corner[0].length) ? corner : null;
};

// A stored number before edits. Members of their own differ in i; one copy for all has i = -1.
const storedAt = (state, layer, kind, i, a, b = 0) => {
  const own = kind === "W" && i < 0 ? knownIn(state, layer)?.[a]?.[b] : undefined;
  if (own !== undefined) return own;
  const at = mixed(KINDS.indexOf(kind), state.layer * 64 + state.matrix, i + 1, a, b);
  if (kind.startsWith("σ")) return pick(CHOICES.spread, at);
  if (kind === "x") return pick(CHOICES.input, at);
  return pick(kind === "W" ? CHOICES.weight : CHOICES.factor, at);
};

const FIRST = 10754; // where chance begins: nothing rare is seen first
// How far a sample of a distribution is from its mean, in standard deviations.
const chanceOf = (state, kind, i, ...place) => Math.round(100 * normal(FIRST + state.draw, KINDS.indexOf(kind), 1000 + i, ...place)) / 100;
// Whether a pass leaves out inputs of the layer, as it does units of hidden layers; and by what it multiplies one.
const leavesOut = (state) => Boolean(DATA.sizes && state.layer && METHODS[chosen(state)].stochastic && !spreads(chosen(state)));
const maskOf = (state, i, a) => (mixed(FIRST + state.draw, 2000 + i, a) < 0.5 ? 0 : 2);

const editKey = (kind, i, ...place) => `${kind}:${[i + 1, ...place]}`;
const editsOf = (state) => {
  const found = {};
  for (const edit of state.edits ? state.edits.split(";") : []) {
    const cut = edit.lastIndexOf(":");
    found[edit.slice(0, cut)] = Number(edit.slice(cut + 1));
  }
  return found;
};
const written = (edits) => Object.entries(edits).map(([key, value]) => `${key}:${value}`).join(";");

// Where in r the factor of an entry stands, and where in s; a group of outputs has inputs of its own.
const placesOf = (matrix, a, b) => {
  const output = Math.floor(b / kernelSize(matrix));
  return [Math.floor((output * groupsOf(matrix)) / matrix.n) * rowsOf(matrix) + a, output];
};

// A texture of so many entries a side where it is square, or of all entries of a side of at most so many: how a matrix looks from afar, from -1 to 1. `as` is "stored"
// by all, a member's own, or what member i makes of it, W ∘ r sᵀ; or along one side r or s, stored, or as they are drawn.
const texture = (state, layer, as, i, most, all) => {
  const matrix = sheetsOf(layer)[state.matrix];
  const bins = as === "own" ? null : binsOf(layer, matrix);
  const cells = (length) => (length <= all ? length : most);
  const [rows, columns] = [cells(rowsOf(matrix)), cells(columnsOf(matrix))];
  const method = methodOf(layer, chosen(state));
  const spread = (kind, ...place) => (spreads(method) ? storedAt(state, layer, `σ${kind}`, kind === "W" ? -1 : i, ...place) * chanceOf(state, kind, i, ...place) : 0);
  const factor = (kind, k) => storedAt(state, layer, kind, i, k) + spread(kind, k);
  if (as.length < 3) {
    const [kind, drawn] = [as.at(-1), as.length > 1];
    const [rows, columns] = kind === "r" ? [cells(matrix.m), 1] : [1, cells(matrix.n)];
    return { rows, columns, at: (a, b) => (drawn ? factor(kind, a + b) : storedAt(state, layer, kind, i, a + b)) / 2 };
  }
  const at = (a, b) => {
    if (as === "own") return storedAt(state, layer, "W", i, a, b) / 3;
    const base = bins ? bins.at(Math.floor((a * bins.rows) / rows), Math.floor((b * bins.columns) / columns)) : storedAt(state, layer, "W", -1, a, b) / 3;
    if (as !== "made") return base;
    const [input, output] = placesOf(matrix, a, b);
    return isModulated(method) ? (base * factor("r", input) * factor("s", output)) / 2 : base + spread("W", a, b) / 3;
  };
  return { rows, columns, at };
};
