// The formula of a method, whose terms light their areas, and the other way round.
const sentenceOf = (method, M, layer) => {
  const members = M === 1 ? "the one member" : `all ${plural(M, "member")}`;
  if (layer && !layer.matrices.length && !isApart(methodOf(layer, method))) {
    const copy = layer.table ? "One table" : "One copy of its numbers";
    return METHODS[method].has_members ? `${copy} for ${members}.` : `${copy}${spreads(method) ? ", without standard deviations" : ""}.`;
  }
  if (METHODS[method].body) return `One body for ${members}, and a last layer for each.`;
  if (isModulated(method)) {
    const own = spreads(method) ? "a mean and a standard deviation of r and s" : "its own vectors r and s";
    return M === 1 ? `One member, with W, and with ${own}.` : `${M} members share each W; each has ${own}.`;
  }
  if (isApart(method)) return M === 1 ? "One member, with numbers of its own." : `Each of ${plural(M, "member")} has numbers of its own.`;
  if (spreads(method)) return "Each weight of a matrix has a mean and a standard deviation.";
  if (METHODS[method].stochastic) return `One network; ${M === 1 ? "1 pass" : `${M} passes`} predict, and each leaves out different units.`;
  return "One network: every number is stored once.";
};

// And on the way from a stop to the next.
const WAYS = ["The members give up their own W for one that all share; each keeps r and s.", "Each entry of r and s becomes a mean and a standard deviation.", "The members go, and each entry of W becomes a mean and a standard deviation."];
const BNN = "A BNN is a Bayesian neural network: its weights are random.";
// Layers that no method but a deep ensemble changes: 8 LayerNorms.
const unscaled = (layers) => {
  const plain = layers.filter(({ matrices }) => !matrices.length).map(({ kind }) => kind);
  return [...new Set(plain)].map((kind) => plural(plain.filter((one) => one === kind).length, kind)).join(" and ");
};
// How many layers of a model gain, as the list of layers counts them, and which are one copy for all.
const sharedIn = (method, layers, M) => {
  const plain = unscaled(layers);
  if (!isModulated(method) || M === 1) return plain && ` ${plain} multiply no input by a matrix: one copy for all${METHODS[method].has_members ? ", which saves, but does not differ between members" : ""}.`;
  const [losing, merely] = [(layer) => lossOf(layer, method, M), ({ matrices }) => !matrices.length].map((test) => layers.filter(test).length);
  const all = plural(layers.length, "layer");
  const gain = losing ? `${losing} of ${all} ${losing === 1 ? "does" : "do"} not gain` : `None of ${all} loses`;
  return ` ${gain}${merely ? `; ${merely} ${merely === 1 ? "is" : "are"} merely shared, ${plain}, and differ${merely === 1 ? "s" : ""} in no member` : ""}.`;
};
// What the letters of a formula are; and of a whole model what its members share.
const lettersOf = (method, layers, layer, M) => {
  if (layer && !layer.matrices.length) return `${layer.table ? "An embedding is a table of m rows of n numbers: an input picks one. " : ""}It multiplies no input by a matrix, and only such matrices are scaled by members or vary, so all methods but a ${METHODS[DEEP].label} store it once.`;
  const folded = layers.some(({ matrices }) => matrices.some(({ kernel }) => kernel.length));
  const kept = layer || isApart(method) ? "" : sharedIn(method, layers, M);
  const matrix = `A matrix W has a row for each of m inputs, and a column for each of n outputs${folded ? "; in a convolution mn counts once for each place of the kernel" : ""}.`;
  if (METHODS[method].body) return `${matrix} Only the last layer is each member’s own.`;
  if (isModulated(method)) {
    const drawn = spreads(method) ? ` Each prediction draws r and s anew, from a mean and a standard deviation for each entry. ${BNN}` : "";
    return `${matrix} A member’s r scales its inputs and its s the outputs: its weights are W ∘ r sᵀ, each entry of W times one of r and one of s.${drawn}${kept}`;
  }
  if (spreads(method)) return `${matrix} Each prediction draws its weights anew, μ + σ ∘ ε: a mean, and a standard deviation times a random number. ${BNN} In a mean-field one each weight is drawn independently of the others.${kept}`;
  return METHODS[method].stochastic ? `${matrix} Each pass leaves out different units, which are not stored.` : matrix;
};

const makeFormula = (on) => {
  const line = make("p", { class: "formula" });
  const element = make("section", { class: "panel formulas", "aria-label": "Formula" }, line);
  const about = make("span");
  let [drawn, numbers] = ["", []];
  const show = (state, layers, layer) => {
    const method = layer ? methodOf(layer, chosen(state)) : chosen(state);
    if (DATA.refused[method]) return;
    const { body, sums } = METHODS[method];
    // What the terms count, and what else there is.
    const matrices = (each) => (layer ? matricesOf(each) : !body || each.head ? each.matrices : []);
    const counted = onLine(layers, `terms of ${method}`, state.M, (M) => layers.reduce((sum, each) => matrices(each).reduce((so, matrix) => addTo(so, countMatrix(matrix, method, M)), sum), zero()));
    const total = totalOf(countAll(layers, method, state.M));
    const rest = total - totalOf(counted);
    const terms = ROLES.filter((role) => counted[role]).map((role) => [role, sums[role].replaceAll(" · ", " ").replace("M (", "M("), counted[role]]);
    const beside = body ? "one body" : layer ? "its numbers" : rest < 0 ? "what copies share" : unscaled(layers) || "other numbers";
    const all = rest ? [...terms, ["", beside, rest]] : terms;
    const key = `${method} ${Boolean(layer)} ${all.map(([role, words]) => role + words)}`;
    if (key !== drawn) {
      drawn = key;
      numbers = [...all, 0].map(() => make("small"));
      line.replaceChildren(about);
      all.forEach(([role, words], k) => {
        const term = make(role ? "button" : "span", { class: `term ${role}`, ...(role ? { type: "button", "data-role": role, title: ROLE_WORDS[role], style: `--own: ${toneOf(layers, method)}` } : {}) }, words);
        if (role) onPointing(term, on.light, role);
        line.append(k ? "+" : "", make("span", { class: "addend" }, term, numbers[k]));
      });
      line.append(make("span", { class: "result" }, make("span", { class: "is" }, "="), make("span", { class: "addend sums" }, make("strong", {}, numbers.at(-1)), make("small", {}, "parameters"))));
      line.style.setProperty("--own", `var(--${method})`);
    }
    [...all.map(([, , number]) => number), total].forEach((number, k) => setText(numbers[k], digits(number)));
    const matrix = layer && matricesOf(layer).length === 1 ? matricesOf(layer)[0] : null;
    const groups = matrix ? groupsOf(matrix) : 1;
    const said = [...(matrix ? [`m = ${digits(matrix.m / groups)}`, `n = ${digits(matrix.n / groups)}`, groups > 1 ? `${groups} times` : ""] : []),
      Object.values(sums).some((term) => term.includes("M")) ? `M = ${state.M}` : ""];
    setText(about, `${[layer ? "This layer" : body ? "Last layer" : "Added up over all layers", ...said].filter(Boolean).join(", ")}:`);
  };
  return { element, show };
};
