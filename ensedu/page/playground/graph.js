// Which numbers make which.
import { kindOf, passesOf, sizesOf } from "./layer.js";
import { parsed } from "./names.js";

const range = (size) => Array.from({ length: size }, (_, i) => i);

// Where a number of a matrix or a bias stands that is stored as it is used.
const storedAt = (state, key) => {
  const { members, modulated, drawn } = kindOf(state);
  const { array, place } = parsed(key);
  if (array === "W" && !modulated && !drawn) return `weight:${members ? place : place.slice(1)}`;
  if (array === "b" && (modulated || !drawn)) return `bias:${members ? place : place.slice(1)}`;
  return key;
};

// The numbers that a number is computed from; none, where it is stored.
export const madeFrom = (state, key) => {
  const { modulated, drawn } = kindOf(state);
  const { array, place } = parsed(key);
  const [i, ...rest] = place;
  const distribution = (base, at) => [`${base}_mean:${at}`, `${base}_std:${at}`];
  switch (array) {
    case "mean":
    case "spread":
      return range(passesOf(state)).map((pass) => `y:${[pass, i]}`);
    case "y":
      return range(sizesOf(state).m)
        .flatMap((a) => [`x:${a}`, `W:${[i, a, ...rest]}`])
        .concat(`b:${place}`)
        .map((at) => storedAt(state, at));
    case "W":
      return modulated ? [`weight:${rest}`, `r:${[i, rest[0]]}`, `s:${[i, rest[1]]}`] : distribution("weight", rest);
    case "b":
      return distribution("bias", rest);
    case "r":
    case "s":
      return drawn ? distribution(array, place) : [];
    default:
      return [];
  }
};

// Everything that a number goes into, near or far; `made` has what a layer computes, in order.
export const goesInto = (state, key, made) => {
  const reached = new Set([key]);
  for (const at of Object.keys(made))
    if (storedAt(state, at) === at && madeFrom(state, at).some((part) => reached.has(part))) reached.add(at);
  reached.delete(key);
  return [...reached];
};
