// How many numbers a layer stores under a method: DATA.table is ensedu.counting's, read as it is there.
const METHODS = DATA.table.methods;
const ROLES = Object.keys(DATA.table.roles);
const KEYS = Object.keys(METHODS);
const shapesOf = (method) => METHODS[method].arrays.map(({ shape }) => shape);
const has = (method, ...shapes) => shapes.every((shape) => shapesOf(method).includes(shape));
const spreads = (method) => METHODS[method].arrays.some(({ role }) => role === "stds");
// Members that share no matrix; and those that do.
const isApart = (method) => has(method, "M m n");
const isModulated = (method) => has(method, "M m", "M n", "m n");
// Whether a member draws its r and s.
const drawsFactors = (method) => isModulated(method) && spreads(method);
const find = (test) => KEYS.find(test);
const SINGLE = find((key) => !METHODS[key].has_members && !METHODS[key].stochastic);
const DEEP = find((key) => isApart(key) && !METHODS[key].body);
const SHARING = find((key) => isModulated(key) && !spreads(key));
// The way from matrices of their own to one distribution: what the slider goes through.
const STOPS = [DEEP, SHARING, find(drawsFactors), find((key) => spreads(key) && !METHODS[key].has_members)];

const decodeLayers = ({ names, shapes, rows }) => names.map((name, i) => ({ ...shapes[rows[i]], name }));
const linear = (m, n, i, head) => ({
  name: String(i), kind: "Linear", shared: 0, biases: 0, kept: [0, 0], frozen: 0, bytes: 4, head,
  matrices: [{ key: "weight", m, n, size: m * n, bias: n, kernel: [], frozen: [false, false] }],
});
const layersOfSizes = (sizes) => sizes.slice(1).map((n, i) => linear(sizes[i], n, i, i === sizes.length - 2));
const GIVEN = DATA.sizes ? layersOfSizes(DATA.sizes) : decodeLayers(DATA);
// Sizes after the sliders of width and depth, if they were moved.
const sizesOf = ({ width, depth }) => {
  const hidden = DATA.sizes.slice(1, -1);
  if (!width && !depth) return DATA.sizes;
  return [DATA.sizes[0], ...Array(depth ?? hidden.length).fill(width ?? hidden[0] ?? 1), DATA.sizes.at(-1)];
};

const zero = () => ({ shared: 0, per_member: 0, stds: 0, biases: 0, frozen: 0 });
const totalOf = (count) => ROLES.reduce((sum, role) => sum + count[role], 0);
const addTo = (sum, count) => {
  for (const key in sum) sum[key] += count[key];
  return sum;
};

const countMatrix = (matrix, method, M) => {
  const count = zero();
  const sizes = { "m n": matrix.size, "M m n": M * matrix.size, "M m": M * matrix.m, "M n": M * matrix.n, n: matrix.n };
  for (const { name, shape, role } of METHODS[method].arrays) {
    if (role === "biases" && !matrix.bias) continue;
    count[role] += sizes[shape];
    const source = name.startsWith("weight") ? 0 : name.startsWith("bias") ? 1 : null;
    if (source !== null && matrix.frozen[source]) count.frozen += sizes[shape];
  }
  return count;
};

// The matrices of a layer, or an embedding's table, which is no factor of members; and what one looks into: else
// its other numbers, as one row.
const matricesOf = (layer) => (layer.table ? [layer.table] : layer.matrices);
const rowOf = ({ shared, biases }) => {
  const n = shared || biases;
  return { key: "", m: 1, n, size: n, bias: shared && biases, kernel: [], frozen: [false, false] };
};
const sheetsOf = (layer) => (matricesOf(layer).length ? matricesOf(layer) : [rowOf(layer)]);
const kernelSize = ({ kernel }) => kernel.reduce((product, side) => product * side, 1);
// Attention stores three projections in one array, and a convolution its groups: each with rows of its own.
const groupsOf = (matrix) => Math.max(1, Math.round((matrix.m * matrix.n * kernelSize(matrix)) / matrix.size));
const rowsOf = (matrix) => matrix.m / groupsOf(matrix);
const columnsOf = (matrix) => Math.round(matrix.size / rowsOf(matrix));

// The method of one layer: all but the head of a last-layer ensemble have that of its body, and what
// has no matrix is copied or has one copy.
const methodOf = (layer, method) => {
  const own = METHODS[method].body && !layer.head ? METHODS[method].body : method;
  return layer.matrices.length || isApart(own) ? own : SINGLE;
};

const countLayer = (layer, method, M) => {
  const own = methodOf(layer, method);
  const count = zero();
  for (const matrix of layer.matrices) addTo(count, countMatrix(matrix, own, M));
  const copies = isApart(own) ? M : 1;
  count[isApart(own) ? "per_member" : "shared"] += copies * layer.shared;
  count.biases += copies * layer.biases;
  count.frozen += copies * layer.frozen;
  if (own === DEEP) {
    const [weights, biases] = layer.kept;
    count.per_member -= M * weights;
    count.shared += weights;
    count.biases -= (M - 1) * biases;
  }
  return count;
};
// What follows from an object, found once.
const remembered = (of) => {
  const known = new WeakMap();
  return (given) => {
    if (!known.has(given)) known.set(given, of(given));
    return known.get(given);
  };
};
// The blocks of a large model: of each layer those whose names begin as its own does, as far as none is most of the model.
const SHAPED = 16; // up to so many matrices keep their shape; more are packed into a square
const blocksOf = remembered((layers) => {
  const begin = (depth) => {
    const blocks = new Map();
    return layers.map((layer) => {
      const name = layer.name.split(".").slice(0, depth).join(".");
      if (!blocks.has(name)) blocks.set(name, { name, layers: [] });
      blocks.get(name).layers.push(layer);
      return blocks.get(name);
    });
  };
  const fits = (own) => new Set(own).size > 3 && own.every((block) => 3 * block.layers.length <= own.length);
  return (layers.flatMap(matricesOf).length > SHAPED && [1, 2, 3, 4, 5].map(begin).find(fits)) || begin(99);
});
// Every number grows by the same with each member, so a list of layers is gone through once a method.
const linesOf = remembered(() => ({}));
const onLine = (layers, key, M, at) => {
  const [one, two] = (linesOf(layers)[key] ??= [at(1), at(2)]);
  return Object.fromEntries(Object.keys(one).map((name) => [name, one[name] + (M - 1) * (two[name] - one[name])]));
};
const countAll = (layers, method, M) =>
  onLine(layers, method, M, (size) => layers.reduce((sum, layer) => addTo(sum, countLayer(layer, method, size)), zero()));

const passesOf = (method, M) => (METHODS[method].has_members || METHODS[method].stochastic ? M : 1);

// Bytes to keep, and while Adam trains: weights, gradients and two moments of what is trained.
const bytesOf = (layers, method, M) =>
  onLine(layers, `bytes of ${method}`, M, (size) => layers.reduce((sum, layer) => {
    const count = countLayer(layer, method, size);
    const keep = layer.bytes * totalOf(count);
    return addTo(sum, { keep, train: keep + 3 * layer.bytes * (totalOf(count) - count.frozen) });
  }, { keep: 0, train: 0 }));

// Why sharing does not save in a layer; "" where it does, or where there is nobody to share with.
const lossOf = (layer, method, M) => {
  if (M === 1 || !isModulated(methodOf(layer, method)) || !layer.matrices.length) return "";
  if (layer.matrices.every(({ m, n, size }) => size === Math.max(m, n))) return "never gains: its W is as small as r or s";
  const sum = (of) => layer.matrices.reduce((total, matrix) => total + of(matrix), 0);
  const [matrix, vectors] = [(M - 1) * sum(({ size }) => size), (spreads(method) ? 2 : 1) * M * sum(({ m, n }) => m + n)];
  if (matrix > vectors) return "";
  const twice = spreads(method) ? "2" : "";
  return `too thin to gain: ${twice}M (m + n) = ${digits(vectors)} ${matrix === vectors ? "=" : ">"} ${digits(matrix)} = (M − 1) mn`;
};
