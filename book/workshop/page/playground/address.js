// A state of the playground, checked, and how an address carries it.
import { firstRefused } from "../common/fields.js";
import { editOf, isScale, limitsOf, numbers } from "./layer.js";
import { CHALLENGES, startOf } from "./challenges.js";

const FIELDS = LAYERS.fields;

// Whether an edit names a number that some layer stores: those are what numbers come with.
const isStored = (edit) => Object.hasOwn(numbers(0), edit);

// What is wrong with a value for a stored number, as it was given, in words; or null.
export const valueProblem = (key, value, given = value) => {
  const { low, high } = limitsOf(key);
  if (Number.isFinite(value) && value >= low && value <= high) return null;
  const what = isScale(key) ? "a standard deviation" : "a number";
  return `${what} from ${low} to ${high} is accepted, not “${given}”`.replaceAll("-", "\u2212");
};

// The first thing that is wrong with a state, in words; or null.
export const problem = (state) => {
  const key = firstRefused(FIELDS, state);
  if (key) return `${key} cannot be ${state[key]}`;
  if (state.challenge !== null) {
    const start = startOf(state.challenge);
    const fixed = ["method", ...(CHALLENGES[state.challenge].sizes ? [] : Object.keys(LAYERS.most))];
    const other = fixed.find((name) => state[name] !== start[name]);
    if (other) return `the challenge ${state.challenge} has another ${other}, ${start[other]}`;
  }
  for (const [edit, value] of Object.entries(state.edits)) {
    if (!isStored(edit)) return `no layer stores “${edit}”`;
    const wrong = valueProblem(edit, value);
    if (wrong) return `${edit}: ${wrong}`;
  }
  return null;
};

// A state as the end of an address.
export const encode = (state) => {
  const fields = Object.keys(FIELDS).filter((key) => state[key] !== null).map((key) => `${key}=${state[key]}`);
  const edits = Object.entries(state.edits).map(([edit, value]) => `${edit}:${value}`);
  return [...fields, ...(edits.length ? [`edits=${edits.join(";")}`] : [])].join("&");
};

const numeral = (text) => (text.trim() === "" ? NaN : Number(text));

// Returns { state } or { error }; what the address does not say is as in `base`, without its edits, or
// as its challenge starts.
export const decode = (text, base) => {
  if (!text) return { error: "nothing stands in it" };
  const [, asked] = /(?:^|&)challenge=(\w+)/.exec(text) ?? [];
  const state = Object.hasOwn(CHALLENGES, asked ?? "") ? startOf(asked) : { ...base, challenge: null, edits: {} };
  for (const pair of text.split("&")) {
    const cut = pair.indexOf("=");
    const [key, value] = cut < 0 ? [pair, ""] : [pair.slice(0, cut), pair.slice(cut + 1)];
    if (key === "edits") {
      state.edits = Object.fromEntries(value.split(";").map((edit) => {
        const end = edit.lastIndexOf(":");
        return [edit.slice(0, end), numeral(edit.slice(end + 1))];
      }));
    } else if (Object.hasOwn(FIELDS, key)) {
      state[key] = typeof base[key] === "number" ? numeral(value) : value;
    } else {
      return { error: `“${key}” is unknown` };
    }
  }
  const error = problem(state);
  return error ? { error } : { state };
};

// A state in which a stored number has this value.
export const edited = (state, key, value) => ({ ...state, edits: { ...state.edits, [editOf(key)]: value } });
