// How numbers are written, and what each is called.
import { make } from "../common/controls.js";
import { isScale, kindOf } from "./layer.js";

// With a real minus, and a half away from zero, whatever its sign.
export const rounded = (value, digits = 2) => (Math.sign(value) * Math.round(Math.abs(value) * 10 ** digits)) / 10 ** digits + 0;
export const figure = (value, digits = 2) => String(rounded(value, digits)).replace("-", "\u2212");
export const countedFrom1 = (i) => i + 1;

// A key taken apart: the array, without what it holds of a distribution, and the place in it.
export const parsed = (key) => {
  const [array, at] = key.split(":");
  return { array, base: array.replace(/_(mean|std)$/, ""), place: at.split(",").map(Number) };
};

// W[3, 4], r2[3], y1[2]: the first index of what members own, and of what is made of a draw, says
// whose it is.
const SHARED_AXES = { x: 1, weight: 2, bias: 1 };
export const nameOf = (state, key) => {
  const { array, base, place } = parsed(key);
  if (array === "mean" || array === "spread") return `the ${array} of output ${countedFrom1(place[0])}`;
  const kind = kindOf(state);
  const owned = !(base in SHARED_AXES) || place.length > SHARED_AXES[base];
  const lone = /^[Wby]$/.test(base) && !kind.members && !kind.stochastic;
  const letter = { weight: "W", bias: "b" }[base] ?? base;
  const name = `${letter}${owned && !lone ? countedFrom1(place[0]) : ""}[${(owned ? place.slice(1) : place).map(countedFrom1).join(", ")}]`;
  if (isScale(key)) return `σ of ${name}`;
  return array.endsWith("_mean") ? `the mean of ${name}` : name;
};

// As a sentence begins; a letter of a formula stays as it is.
export const capital = (words) => words.replace(/^[a-z]/, (letter) => (/^[a-z]\d*\[/.test(words) ? letter : letter.toUpperCase()));

// A sentence with the indices of W1, r2 and y3 set as below the letters in the figure.
export const written = (words) =>
  words.split(/\b([Wrsby])(\d+)/).map((part, k) => (k % 3 === 2 ? make("sub", {}, part) : part));
