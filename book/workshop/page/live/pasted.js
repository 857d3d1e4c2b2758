// Data that a reader pastes, or opens from a file.
import { Random } from "../common/random.js";
import { MOST_POINTS, rounded } from "./toys.js";

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
