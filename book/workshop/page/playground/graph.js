// Which numbers make which.
import { biasAt, kindOf, passesOf, range, sizesOf, weightAt } from "./layer.js";
import { parsed } from "./names.js";

// Whether a number is computed, and not only a stored one under the name of what it is used as.
const isMade = (state, key) => {
  const { array, place } = parsed(key);
  if (array === "W") return weightAt(state, ...place) === key;
  return array !== "b" || biasAt(state, ...place) === key;
};

// The numbers that a number is computed from; none, where it is stored.
export const madeFrom = (state, key) => {
  const { modulated, stochastic } = kindOf(state);
  const { array, place } = parsed(key);
  const [i, ...rest] = place;
  const distribution = (base, at) => [`${base}_mean:${at}`, `${base}_std:${at}`];
  switch (array) {
    case "mean":
    case "spread":
      return range(passesOf(state)).map((pass) => `y:${[pass, i]}`);
    case "y":
      return range(sizesOf(state).m)
        .flatMap((a) => [`x:${a}`, weightAt(state, i, a, ...rest)])
        .concat(biasAt(state, ...place));
    case "W":
      return modulated ? [`weight:${rest}`, `r:${[i, rest[0]]}`, `s:${[i, rest[1]]}`] : distribution("weight", rest);
    case "b":
      return distribution("bias", rest);
    case "r":
    case "s":
      return stochastic ? distribution(array, place) : [];
    default:
      return [];
  }
};

// Everything that a number goes into, near or far; `made` has what a layer computes, in order.
export const goesInto = (state, key, made) => {
  const reached = new Set([key]);
  for (const at of Object.keys(made))
    if (isMade(state, at) && madeFrom(state, at).some((part) => reached.has(part))) reached.add(at);
  reached.delete(key);
  return [...reached];
};
