// The formula of a method, whose terms light their areas, and the other way round.
const sentenceOf = (method, M) => {
  const members = M === 1 ? "the one member" : `all ${plural(M, "member")}`;
  if (METHODS[method].body) return `One body for ${members}, and a last layer for each.`;
  if (isModulated(method) && spreads(method)) return `One W for ${members}; each has r and s, with a mean and a standard deviation.`;
  if (isModulated(method)) return `One W for ${members}, and two thin vectors, r and s, for each.`;
  if (isApart(method)) return M === 1 ? "One member, with numbers of its own." : `Each of ${plural(M, "member")} stores every number of its own.`;
  if (spreads(method)) return `One network, with a mean and a standard deviation for each weight; ${plural(M, "sample")} predict.`;
  if (METHODS[method].stochastic) return `One network; ${M === 1 ? "1 pass" : `${M} passes`} predict, and each leaves out different units.`;
  return "One network: every number is stored once.";
};

const BNN = "A BNN is a Bayesian neural network: its weights are random.";
// What the letters of a formula are.
const lettersOf = (method, layer) => {
  if (layer?.table) return `An embedding is a table of m rows: an input picks one. There is no product whose inputs and outputs r and s could scale, so all methods but a ${METHODS[DEEP].label} store it once.`;
  const matrix = "A layer has m inputs and n outputs: its matrix W has a row for each input and a column for each output.";
  if (METHODS[method].body) return `${matrix} Only the last layer is each member’s own.`;
  if (isModulated(method)) {
    const drawn = spreads(method) ? ` Each prediction draws r and s anew, from the means and standard deviations that are stored. ${BNN}` : "";
    return `${matrix} A member’s r scales its inputs and its s the outputs: its weights are W ∘ r sᵀ, each entry of W times one of r and one of s.${drawn}`;
  }
  if (spreads(method)) return `${matrix} Each prediction draws its weights anew, μ + σ ∘ ε: a mean, and a standard deviation times a random number. ${BNN} In a mean-field one each weight is drawn independently of the others.`;
  return METHODS[method].stochastic ? `${matrix} Each pass leaves out different units, which are not stored.` : matrix;
};

// In a convolution each of the m n entries is a kernel.
const kernelOf = ({ kernel }) => (kernel.length ? `mn counts ${kernel.join(" × ")} times` : "");

const makeFormula = (on) => {
  const line = make("p", { class: "formula" });
  const sums = make("p", { class: "sums" });
  const element = make("section", { class: "panel formulas", "aria-label": "Formula" }, line, sums);
  let drawn = "";
  const show = (state, layers, layer) => {
    const method = layer ? methodOf(layer, chosen(state)) : chosen(state);
    const count = DATA.refused[method] ? zero() : countAll(layers, method, state.M);
    // Of a last-layer ensemble the body has one copy.
    const terms = { ...(METHODS[method].body ? { shared: "one body" } : {}), ...METHODS[method].sums };
    const roles = Object.keys(terms).filter((role) => !layer || count[role]);
    const key = `${method} ${Boolean(layer)} ${roles}`;
    if (key !== drawn) {
      drawn = key;
      line.replaceChildren(make("span", { class: "of" }, layer ? "This layer: " : METHODS[method].body ? "" : "Each layer: "));
      roles.forEach((role, k) => {
        const term = make("button", { type: "button", class: `term ${role}`, "data-role": role, title: ROLE_WORDS[role] }, terms[role].replaceAll(" · ", " ").replace("M (", "M("));
        onPointing(term, on.light, role);
        line.append(...(k ? [METHODS[method].body && k === 1 ? " + last layer: " : " + "] : []), term);
      });
      line.style.setProperty("--own", `var(--${method})`);
    }
    if (DATA.refused[method]) return setText(sums, "");
    const parts = ROLES.filter((role) => count[role]).map((role) => digits(count[role]));
    const matrix = layer && sheetsOf(layer).length === 1 ? sheetsOf(layer)[0] : null;
    const groups = matrix ? groupsOf(matrix) : 1;
    const letters = matrix ? [`m = ${digits(matrix.m / groups)}`, `n = ${digits(matrix.n / groups)}`, kernelOf(matrix), groups > 1 ? `all ${groups} times` : ""] : [];
    const counted = Object.values(METHODS[method].sums).some((term) => term.includes("M"));
    const kernels = !layer && layers.some(({ matrices }) => matrices.some(kernelOf));
    const beside = layers.some(({ table, shared, biases }) => !table && shared + biases) ? "normalization and the like" : "";
    const said = [...letters, counted ? `M = ${state.M}` : "", layer ? "" : "all layers", beside && `${layer ? "" : "and "}${beside}`, kernels ? "mn once for each place of a kernel" : ""];
    setText(sums, `${said.filter(Boolean).join(", ")}: ${parts.length > 1 ? `${parts.join(" + ")} = ` : ""}${digits(totalOf(count))} parameters`);
  };
  return { element, show };
};
