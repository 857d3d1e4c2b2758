// What can be set, and how an address carries it; SETTINGS is written from trainer_state.py.
import { MOST_POINTS, TOYS, points } from "./toys.js";

export const accepts = ({ choices, whole, low, high }, value) => {
  if (choices) return choices.includes(value);
  return (whole ? Number.isInteger(value) : Number.isFinite(value)) && value >= low && value <= high;
};

// The name of the first value that is not accepted; or undefined.
export const firstRefused = (fields, values) => Object.keys(fields).find((key) => !accepts(fields[key], values[key]));

const FIELDS = SETTINGS.fields;
const SIDE = Object.fromEntries(SETTINGS.side.map((key) => [key, FIELDS[key]]));
// Which starts a method has; the first is where it starts by default.
export const STARTS = Object.fromEntries(Object.entries(METHODS).map(([method, { starts }]) => [method, starts]));

// A method as one side of a comparison has it: with as many members, and their start, where it can.
export const withMethod = (side, method) => ({
  method,
  ensemble_size: method === "single" ? 1 : side.ensemble_size > 1 ? side.ensemble_size : SETTINGS.defaults.ensemble_size,
  start: STARTS[method].includes(side.start) ? side.start : STARTS[method][0],
});

// What starts the networks anew when it changes; all else changes while they train.
export const RESTARTS = new Set([
  "task", "seed", "method", "ensemble_size", "start", "width", "hidden_layers", "activation",
  "parametrization", "head", "prior_scale", "initial_std", "p", "other",
]);

const isPoint = (task) => (point) =>
  Array.isArray(point) &&
  point.length === (task === "classification" ? 3 : 2) &&
  point.every(Number.isFinite) &&
  Math.abs(point[0]) <= TRAINING.furthest &&
  Math.abs(point[1]) <= TRAINING.furthest &&
  (task === "regression" || accepts({ whole: true, low: 0, high: TRAINING.classes - 1 }, point[2]));

const isAxis = (axis) =>
  typeof axis?.name === "string" && Number.isFinite(axis.middle) && Number.isFinite(axis.unit) && axis.unit > 0;

// JSON has no NaN.
const quoted = (value) => (typeof value === "string" ? `“${value}”` : Array.isArray(value) ? `(${value.join(", ")})` : String(value));

// The first thing that is wrong with a state, in words; or null.
export const problem = (state) => {
  const key = firstRefused(FIELDS, state);
  if (key) return `${key} cannot be ${quoted(state[key])}`;
  for (const side of [state, ...(state.other ? [state.other] : [])]) {
    const bad = firstRefused(SIDE, side);
    if (bad) return `${bad} cannot be ${quoted(side[bad])}`;
    if (!STARTS[side.method].includes(side.start)) return `${side.method} cannot start from ${side.start}`;
    if (side.method === "single" && side.ensemble_size !== 1) return "a single network has one member";
  }
  if (state.data !== "own" && TOYS[state.data].task !== state.task) return `${state.data} is no ${state.task}`;
  if (!Array.isArray(state.points) || state.points.length > MOST_POINTS)
    return `points must be a list of up to ${MOST_POINTS}`;
  const place = state.points.findIndex((point) => !isPoint(state.task)(point));
  if (place >= 0) return `point ${place + 1} cannot be ${quoted(state.points[place])}`;
  if (state.axes !== null && !(Array.isArray(state.axes) && state.axes.length === 2 && state.axes.every(isAxis)))
    return "axes cannot be read";
  return null;
};

const axisText = (axis) => `${encodeURIComponent(axis.name)},${axis.middle},${axis.unit}`;

// A state as the end of an address, and back. `other` is written with "other." before its keys.
export const encode = (state) => {
  const fields = Object.keys(FIELDS).map((key) => [key, state[key]]);
  if (state.other) for (const key of Object.keys(SIDE)) fields.push([`other.${key}`, state.other[key]]);
  if (state.axes) fields.push(["axes", state.axes.map(axisText).join(";")]);
  fields.push(["points", state.points.map((point) => point.join(",")).join(";")]);
  return fields.map(([key, value]) => `${key}=${value}`).join("&");
};

const numeral = (text) => (text.trim() === "" ? NaN : Number(text));
const axisOf = (text) => {
  const [title, middle, unit] = text.split(",");
  return { name: decodeURIComponent(title), middle: numeral(middle), unit: numeral(unit) };
};

// Returns { state }, in which `base` says what the address does not, or { error }. An address that
// names a toy set without points gets that set's; one that names a method names all networks; and
// points without axes are as they are drawn.
export const decode = (text, base) => {
  if (!text) return { error: "nothing stands in it" };
  const state = structuredClone(base);
  const valueOf = (key, text) => (typeof base[key] === "number" ? numeral(text) : text);
  const said = new Set(text.split("&").map((pair) => pair.split("=")[0]));
  if (said.has("points")) state.axes = null;
  if (said.has("method")) state.other = null;
  for (const pair of text.split("&")) {
    const cut = pair.indexOf("=");
    const [key, value] = cut < 0 ? [pair, ""] : [pair.slice(0, cut), pair.slice(cut + 1)];
    const name = key.replace(/^other\./, "");
    if (key === "points") {
      state.points = value === "" ? [] : value.split(";").map((point) => point.split(",").map(numeral));
    } else if (key === "axes") {
      try {
        state.axes = value.split(";").map(axisOf);
      } catch {
        return { error: "axes cannot be read" };
      }
    } else if (key.startsWith("other.") && Object.hasOwn(SIDE, name)) {
      state.other ??= sideOf(state);
      state.other[name] = valueOf(name, value);
    } else if (Object.hasOwn(FIELDS, key)) {
      state[key] = valueOf(key, value);
    } else {
      return { error: `“${key}” is unknown` };
    }
  }
  // What the method does not have becomes its default, unless it was asked for.
  const fit = (side, before) => {
    if (!said.has(`${before}method`) || !Object.hasOwn(STARTS, side.method)) return;
    const usual = withMethod(side, side.method);
    for (const key of ["ensemble_size", "start"]) if (!said.has(before + key)) side[key] = usual[key];
  };
  fit(state, "");
  if (state.other) fit(state.other, "other.");
  if (said.has("data") && !said.has("points") && Object.hasOwn(TOYS, state.data)) {
    const toy = TOYS[state.data];
    state.task = toy.task;
    state.axes = null;
    if (!said.has("noise")) state.noise = toy.noise;
    if (!problem({ ...state, points: [] })) state.points = points(state.data, state.noise, state.seed);
  }
  const error = problem(state);
  return error ? { error } : { state };
};

// What one side of a comparison has for itself.
export const sideOf = (state) => Object.fromEntries(Object.keys(SIDE).map((key) => [key, state[key]]));
