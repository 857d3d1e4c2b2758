// "Copy as Python": a script that trains the same networks on the same points with ensedu.torch.
import { sides, specOf } from "./runner.js";

const factorStart = (start) =>
  start === "signs" ? 'init="signs"' : `init="normal", init_std=${TRAINING.start_stds[start]}`;

const options = (state, side) => {
  const { modulated, distributions, prior_loc, drops_units } = METHODS[side.method];
  const found = [];
  if (modulated && side.start !== "same") found.push(factorStart(side.start));
  const prior = `prior=Normal(${prior_loc.toFixed(1)}, ${state.prior_scale})`;
  if (distributions.length) found.push(prior, `posterior_std=${state.initial_std}`);
  if (drops_units) found.push(`p=${state.p}`);
  if (state.activation !== "relu") found.push(`activation="${state.activation}"`);
  if (state.parametrization !== "standard") found.push(`parametrization="${state.parametrization}"`);
  return found;
};

const network = (state, side) => {
  const { sizes } = specOf(state, side);
  const drawn = !METHODS[side.method].members;
  const size = side.method === "single" ? [] : [drawn ? `samples=${side.ensemble_size}` : `ensemble_size=${side.ensemble_size}`];
  const given = [`[${sizes.join(", ")}]`, `"${side.method}"`, ...size, ...options(state, side)];
  const line = `mlp(${given.join(", ")})`;
  return line.length < 80 ? line : `mlp(\n    ${given.join(",\n    ")},\n)`;
};

// Members that start as one: each array of theirs is that of the first.
const EQUAL = `with torch.no_grad():
    for name, array in net.named_parameters():
        kind = name.rsplit(".", 1)[1]
        if kind in ("r", "s", "r_mean", "s_mean"):
            array.fill_(1.0)
        elif kind == "bias" or (kind == "weight" and array.ndim == 3):
            array.copy_(array[:1].expand_as(array).clone())
`;

const lossLine = (state, side) => {
  const reduction = side.loss === "mixture" ? ', reduction="mixture"' : "";
  if (state.task === "classification") return `softmax_cross_entropy(outputs, y${reduction})`;
  if (state.head === "variance") return `gaussian_nll(outputs, y${reduction})`;
  return `constant + half_squared_error(outputs / ${state.noise}, y / ${state.noise}${reduction})`;
};

const LOSSES = { mean: "half_squared_error", variance: "gaussian_nll" };

export const script = (state, steps) => {
  const plane = state.task === "classification";
  const name = plane ? "softmax_cross_entropy" : LOSSES[state.head];
  const known = !plane && state.head === "mean";
  const bayes = sides(state).some(({ method }) => METHODS[method].distributions.length);
  const batch = Math.min(TRAINING.batch, state.points.length);
  const epochs = Math.max(1, Math.round(steps / Math.ceil(state.points.length / batch)));
  const columns = plane ? "x, y = data[:, :2], data[:, 2].long()" : "x, y = data[:, :1], data[:, 1:]";
  const runs = sides(state).map((side) => {
    const weight = METHODS[side.method].distributions.length ? `, kl=KLWeight(${side.kl_weight})` : "";
    const decay = state.weight_decay ? `, weight_decay=${state.weight_decay}` : "";
    return [
      `torch.manual_seed(${state.seed})`,
      `net = ${network(state, side)}`,
      ...(side.start === "same" ? [EQUAL.trimEnd()] : []),
      "history = fit(",
      "    net, x, y,",
      `    lambda outputs, y: ${lossLine(state, side)},`,
      `    epochs=${epochs}, batch_size=${batch}, lr=${state.lr}, seed=${state.seed}${weight}${decay},`,
      ")",
      `print("${side.method}", round(history[-1]["nll"], 3))`,
    ].join("\n");
  });
  const rows = [];
  for (let i = 0; i < state.points.length; i += 4)
    rows.push(`    ${state.points.slice(i, i + 4).map((point) => `[${point.join(", ")}]`).join(", ")},`);
  return [
    ...(known ? ["import math", ""] : []),
    "import torch",
    "",
    ...(bayes ? ["from ensedu.priors import Normal"] : []),
    `from ensedu.torch import ${[...(bayes ? ["KLWeight"] : []), "fit", ...[name, "mlp"].sort()].join(", ")}`,
    "",
    "data = torch.tensor([", ...rows, "], dtype=torch.float32)", columns,
    ...(known ? [`constant = math.log(${state.noise} * math.sqrt(2 * math.pi))  # of the NLL`] : []),
    "",
    runs.join("\n\n"),
    "",
  ].join("\n");
};
