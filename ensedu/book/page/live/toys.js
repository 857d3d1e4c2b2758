// The data that a reader can start from, and those that a reader brings.
import { Random } from "../common/random.js";

// What is seen of a curve, and how far a map reaches.
export const VIEW = { x: 5, y: 3 };
export const REACH = 4;
export const MOST_POINTS = 500;

export const rounded = (value) => Math.round(value * 1000) / 1000 + 0; // no -0
const between = (random, low, high) => low + (high - low) * random.uniform();
// Regions in turn, so that each has as many points as any other.
const inRegions = (...regions) => (random, i) => between(random, ...regions[i % regions.length]);

// Curves: `truth` where it is known, where x is drawn, and how the noise grows along x.
const curve = (label, truth, at, number, noise = 0.1, grows = () => 1) => ({
  label, task: "regression", truth, number, noise,
  draw: (random, i, std) => {
    const x = at(random, i);
    return [x, truth(x) + std * grows(x) * random.normal()];
  },
});

// Classes in a plane, each point at `place(t, class)` for t in [0, 1), plus noise.
const plane = (label, classes, number, noise, place) => ({
  label, task: "classification", classes, number, noise,
  draw: (random, i, std) => {
    const label = i % classes;
    const [x, y] = place(random.uniform(), label);
    return [x + std * random.normal(), y + std * random.normal(), label];
  },
});

export const TOYS = {
  gap: curve("wave with a gap", (x) => Math.sin(1.5 * x) + 0.2 * x, inRegions([-4, -1], [1.5, 4]), 60),
  cubic: curve("cubic with a gap", (x) => x ** 3 / 25, inRegions([-4, -1.5], [1.5, 4]), 40, 0.12),
  step: curve("step", (x) => (x < 0 ? -1 : 1), inRegions([-4, 4]), 50),
  wave: curve(
    "wave, noise grows", (x) => Math.sin(1.2 * x), inRegions([-4, 4]), 80, 0.1,
    (x) => 0.3 + 1.7 * (x + 4) / 4,
  ),
  clusters: curve("two clusters", (x) => Math.cos(x + 0.8), inRegions([-3.5, -2.3], [2, 3.7]), 60),
  moons: plane("two moons", 2, 100, 0.2, (t, label) =>
    label
      ? [1.4 - 2 * Math.cos(Math.PI * t) - 0.4, 0.5 - 2 * Math.sin(Math.PI * t)]
      : [2 * Math.cos(Math.PI * t) - 1, 2 * Math.sin(Math.PI * t) - 0.5],
  ),
  spirals: plane("two spirals", 2, 160, 0.08, (t, label) => {
    const angle = 3 * Math.PI * Math.sqrt(t) + Math.PI * label;
    const radius = 0.35 + 3 * Math.sqrt(t);
    return [radius * Math.cos(angle), radius * Math.sin(angle)];
  }),
  blobs: plane("three blobs", 3, 90, 0.5, (t, label) => {
    const angle = Math.PI * (0.5 + (2 * label) / 3);
    return [2 * Math.cos(angle), 2 * Math.sin(angle)];
  }),
};

// The points of a toy set, rounded so that an address can hold them in full.
export const points = (name, noise, seed) => {
  const toy = TOYS[name];
  const random = new Random(seed * 4 + 1000003);
  return Array.from({ length: toy.number }, (_, i) => {
    const [x, y, label] = toy.draw(random, i, noise);
    return label === undefined ? [rounded(x), rounded(y)] : [rounded(x), rounded(y), label];
  });
};

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
