// What a reader takes in, data, and what goes out: a link, and the same training as a script.
import { button, fold } from "../common/controls.js";
import { make } from "../common/elements.js";
import { encode } from "./link.js";
import { MOST_POINTS, Random, rounded } from "./toys.js";
import { sides, specOf } from "./trainer.js";

// The cells of a line; a separator between quotes is part of a cell.
const cellsOf = (line, separator) => {
  const quotes = [];
  const bare = line.replace(/"([^"]*)"/g, (_, inside) => `\u0000${quotes.push(inside) - 1}\u0000`);
  return bare.split(separator).map((cell) => cell.trim().replace(/\u0000(\d+)\u0000/g, (_, k) => quotes[k]));
};

// Read two columns (x, y) or three (two inputs and a class) that a reader pasted; returns
// { points, task, axes, words }, or { error }. Every column is scaled to what is seen.
export const read = (text, seed) => {
  const lines = text.split(/\r?\n/).map((line) => line.trim()).filter((line) => line && !/^#/.test(line));
  if (!lines.length) return { error: "There is nothing to read: paste two or three columns of numbers." };
  const bare = lines[0].replace(/"[^"]*"/g, "");
  const separator = [/\t/, /;/, /,/].find((mark) => mark.test(bare)) ?? /\s+/;
  const comma = String(separator) === String(/;/) || String(separator) === String(/\t/);
  const cells = lines.map((line) => cellsOf(line, separator));
  const number = (cell) => {
    const plain = comma ? cell.replace(",", ".") : cell;
    return plain === "" ? NaN : Number(plain);
  };
  const first = cells[0];
  const names = first.slice(0, 2).some((cell) => Number.isNaN(number(cell))) ? first : null;
  const rows = names ? cells.slice(1) : cells;
  const width = first.length;
  if (width !== 2 && width !== 3)
    return { error: `Two or three columns are read (x and y, or two inputs and a class); the first line has ${width}.` };
  if (!rows.length) return { error: "There is only a line of names, and no row of numbers below it." };
  const labels = [];
  const values = [];
  for (const [i, row] of rows.entries()) {
    const where = `Row ${i + 1 + (names ? 1 : 0)}`;
    if (row.length !== width) return { error: `${where} has ${row.length} columns, the first has ${width}.` };
    const value = row.slice(0, 2).map(number);
    const bad = value.findIndex((each) => !Number.isFinite(each));
    if (bad >= 0) return { error: `${where}, column ${bad + 1}: “${row[bad]}” is no number.` };
    if (width === 3) {
      if (!labels.includes(row[2])) labels.push(row[2]);
      value.push(row[2]);
    }
    values.push(value);
  }
  if (width === 3 && (labels.length < 2 || labels.length > 3))
    return { error: `The third column names the class: two or three classes are drawn, it has ${labels.length}.` };
  labels.sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  let kept = values;
  if (values.length > MOST_POINTS) {
    const chosen = new Random(seed).order(values.length).slice(0, MOST_POINTS).sort((a, b) => a - b);
    kept = chosen.map((i) => values[i]);
  }
  const axes = [0, 1].map((column) => {
    const all = kept.map((row) => row[column]);
    const [low, high] = [Math.min(...all), Math.max(...all)];
    const half = (high - low) / 2 || 1;
    return { name: names?.[column] ?? (width === 3 ? `input ${column + 1}` : "xy"[column]), middle: (low + high) / 2, half };
  });
  const far = axes.findIndex(({ middle, half }) => !Number.isFinite(middle) || !Number.isFinite(half));
  if (far >= 0) return { error: `Column ${far + 1} reaches too far: its range is no finite number.` };
  const reach = width === 3 ? [3, 3] : [4, 2];
  const scaled = kept.map((row) => {
    const place = [0, 1].map((c) => rounded((reach[c] * (row[c] - axes[c].middle)) / axes[c].half));
    return width === 3 ? [...place, labels.indexOf(row[2])] : place;
  });
  const part = values.length > kept.length ? `, ${kept.length} of them drawn at random` : "";
  return {
    points: scaled,
    task: width === 3 ? "classification" : "regression",
    axes: axes.map(({ name, middle, half }, c) => ({ name, middle, unit: half / reach[c] })),
    words:
      `Read ${values.length} rows${part}. Each column is scaled so that its values fill the picture;` +
      " the axes show your units, and σ of the noise counts in scaled ones." +
      (width === 3 ? ` Classes: ${labels.join(", ")}.` : ""),
  };
};

// "Copy as Python": a script that trains the same networks on the same points with ensedu.torch.
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
  const drawn = !METHODS[side.method].has_members;
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

// A link, and the same training as a script.
export const sharing = (trainer, name) => {
  const text = make("textarea", { readonly: "", hidden: "", "aria-label": "Text to copy", rows: 6, class: "ensedu-t-text" });
  const copy = async (pressed, content, words) => {
    try {
      await navigator.clipboard.writeText(content);
      trainer.on.tell(words);
      const before = pressed.textContent;
      pressed.textContent = "Copied ✓";
      setTimeout(() => (pressed.textContent = before), 2000);
    } catch {
      // Not allowed here: the reader copies by hand.
      text.value = content;
      text.hidden = false;
      text.focus();
      text.select();
      trainer.on.tell("Copy it from the box: this browser lets no page do it.");
    }
  };
  const link = button("Copy link", () =>
    copy(link, `${location.href.split("#")[0]}#${name}:${encode(trainer.state)}`, "Copied: a link that opens this very training, points and all."));
  const python = button("Copy as Python", () => {
    if (!trainer.state.points.length) trainer.on.tell("There is no point to learn from: add one.");
    else copy(python, script(trainer.state, trainer.steps || 3000), "Copied: a script that trains the same network on the same points.");
  });
  return make("div", { class: "ensedu-t-buttons" }, link, python, text);
};

// `leave` ends an experiment.
export const ownData = (trainer, root, leave) => {
  const text = make("textarea", {
    rows: 5, class: "ensedu-t-text", spellcheck: "false", placeholder: "x, y\n1.0, 2.5\n2.0, 3.1",
    "aria-label": "Rows of two columns, x and y, or of three, two inputs and a class",
  });
  const file = make("input", { type: "file", accept: ".csv,.tsv,.txt,text/csv,text/plain" });
  const open = make("label", { class: "ensedu-t-file" }, "Open a file", file);
  const said = make("p", { role: "status", class: "ensedu-t-note" });
  const use = (content) => {
    const found = read(content, trainer.state.seed);
    said.textContent = found.error ?? found.words;
    if (found.error) return;
    leave();
    trainer.change({ data: "own", points: found.points, task: found.task, axes: found.axes });
    trainer.touched = true;
    trainer.play();
    root.scrollIntoView({ block: "start" });
  };
  file.addEventListener("change", async () => file.files.length && use(await file.files[0].text()));
  const note = `Paste two columns (x and y) or three (two inputs and a class), or open a CSV file, up to ${MOST_POINTS} rows. Nothing leaves this browser.`;
  return fold(
    "Your own data", make("p", { class: "ensedu-t-note" }, note), text,
    make("div", { class: "ensedu-t-buttons" }, button("Use these rows", () => use(text.value)), open), said,
  );
};
