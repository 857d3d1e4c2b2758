// What the page says of each number.
import { goesInto, madeFrom } from "./graph.js";
import { OWN, SHARING, compute, isScale, kindOf, noise, passesOf, sizesOf, spreadOf, totalOf, valueOf } from "./layer.js";
import { capital, figure, nameOf, parsed, rounded } from "./names.js";

// In an arithmetic that a reader repeats, numbers are whole; a result that is cut, or made of what is
// cut, is told as near.
const WHOLE = 4;
const isWhole = (value) => Math.abs(value - rounded(value, WHOLE)) < 1e-9;
const equals = (result, ...parts) => ([result, ...parts].every(isWhole) ? `= ${figure(result, WHOLE)}` : `≈ ${figure(result)}`);
const factor = (value) => (value < 0 ? `(${figure(value, WHOLE)})` : figure(value, WHOLE));
const added = (value) => `${value < 0 ? "−" : "+"} ${figure(Math.abs(value), WHOLE)}`;
const many = (count, words) => `${count} ${words}${count === 1 ? "" : "s"}`;

// What the whole layer holds, beside the method that stores every member.
export const sumWords = (state) => {
  const { m, n, M } = sizesOf(state);
  const kind = kindOf(state);
  const size = `${many(m, "input")} and ${many(n, "output")}`;
  const whole = kind.members ? `${many(M, "member")} of ${size}` : kind.stochastic ? `${size}, however many draws` : size;
  const other = state.method === OWN ? SHARING : OWN;
  const beside = kind.members ? ` A ${LAYERS.methods[other].label} holds ${totalOf(other, sizesOf(state))}.` : "";
  return `${capital(kind.label)}: ${totalOf(state.method, sizesOf(state))} numbers for ${whole}.${beside}`;
};

// Each of the next says what a number is: the layer, the key, what is at a key, and its place.
const ofInput = ({ state, kind, is, place }) => {
  const same = kind.members ? "an input, the same for every member" : kind.stochastic ? "an input, the same for every draw" : "an input";
  return `${is}: ${same}. It multiplies row ${countedFrom1(place[0])} of ${passesOf(state) > 1 ? "every matrix" : "the matrix"}.`;
};

const ofMean = ({ kind, name, key, at, parts }) => {
  if (parts.length === 1) return `${name}: one output alone is its own mean.`;
  const values = parts.map(at);
  const sum = values.map((value, i) => (i ? added(value) : figure(value, WHOLE))).join(" ");
  return `${name} = (${sum}) / ${values.length} ${equals(at(key), ...values)}: what the ${kind.members ? "members" : "draws"} predict together.`;
};

const ofSpread = ({ kind, name, key, at, parts, place }) => {
  if (parts.length === 1) return `${name}: one output alone has no spread.`;
  const mean = at(`mean:${place}`);
  const away = parts.map((part) => at(part) - mean);
  const sum = away.map((value) => `${factor(value)}²`).join(" + ");
  return `${name} = √((${sum}) / ${away.length}) ${equals(at(key), ...away)}: how far the ${kind.members ? "members" : "draws"} lie from their mean, ${figure(mean, isWhole(mean) ? WHOLE : 2)}.`;
};

const ofOutput = ({ state, name, key, at, place, parts }) => {
  const [i, b] = place;
  const bias = at(parts[parts.length - 1]);
  const values = parts.slice(0, -1).map(at);
  const sum = values.flatMap((value, k) => (k % 2 ? [] : `${factor(value)} · ${factor(values[k + 1])}`)).join(" + ");
  const matrix = nameOf(state, `W:${[i, 0, b]}`).replace(/\[.*/, "");
  return `${name} = ${sum} ${added(bias)} ${equals(at(key), ...values, bias)}: x times column ${countedFrom1(b)} of ${matrix}, and the bias.`;
};

const ofProduct = ({ state, kind, name, key, at, place, parts }) => {
  const values = parts.map(at);
  const over = () => {
    const mean = parts.map((part) => at(part.replace(/^([rs]):/, "$1_mean:"))).reduce((product, each) => product * each, 1);
    return ` in this draw; over all draws its mean is ${figure(mean)} and its standard deviation ${figure(spreadOf(state, ...place))}`;
  };
  return (
    `${name} = ${parts.map((part) => nameOf(state, part)).join(" · ")} = ${values.map(factor).join(" · ")} ` +
    `${equals(at(key), ...values)}${kind.stochastic ? over() : ": computed, never stored"}.`
  );
};

const ofDraw = ({ state, name, key, at, place, parts }) => {
  const { base } = parsed(parts[0]);
  const eps = noise(state.draw)[`${base}:${place}`];
  return (
    `${name} = ${figure(at(parts[0]), WHOLE)} + ${figure(at(parts[1]), WHOLE)} · ${factor(eps)} ${equals(at(key), ...parts.map(at))} in this draw: ` +
    "mean + σ · ε, and ε is drawn from N(0, 1)."
  );
};

const ofFactor = ({ key, is, array, place: [i, k] }) => {
  const [ways, line] = array[0] === "r" ? ["input", "row"] : ["output", "column"];
  const scales = `scales ${ways} ${countedFrom1(k)}, ${line} ${countedFrom1(k)} of W${countedFrom1(i)}`;
  const whose = `${is}: member ${countedFrom1(i)}'s own`;
  if (array.length === 1) return `${whose}. It ${scales}.`;
  return `${whose}. ${isScale(key) ? "It is the typical distance of a draw from the mean" : "Draws lie around it"}; each draw ${scales}.`;
};

// A mean or a σ that all draws come from.
const ofShared = ({ key, is }) =>
  `${is}: stored once. ${isScale(key) ? "It is the typical distance of a draw from the mean" : "All draws lie around it"}.`;

const ofBias = ({ kind, is, place }) => `${is}: ${kind.members ? `member ${countedFrom1(place[0])}'s own, ` : ""}added to output ${countedFrom1(place[place.length - 1])}.`;

const ofWeight = ({ state, kind, is, place }) => {
  const several = passesOf(state) > 1;
  if (kind.modulated) return `${is}: stored once, and a part of ${several ? "every" : "the"} member's matrix.${several ? " Change it, and all members move." : ""}`;
  if (kind.members) return `${is}: stored for member ${countedFrom1(place[0])} alone.${several ? " Change it, and no other member moves." : ""}`;
  return `${is}: stored once, for the one network.`;
};

const TELLERS = { x: ofInput, mean: ofMean, spread: ofSpread, y: ofOutput };
const tellerOf = (kind, array, made) => {
  if (TELLERS[array]) return TELLERS[array];
  if (made) return array === "W" && kind.modulated ? ofProduct : ofDraw;
  if (/^[rs]/.test(array)) return ofFactor;
  if (/_(mean|std)$/.test(array)) return ofShared;
  return array === "bias" ? ofBias : ofWeight;
};

// Of a key: `words`, the keys that it is made `from`, and all those `into` which it goes.
export const explain = (state, key, made = compute(state)) => {
  const kind = kindOf(state);
  const parts = madeFrom(state, key);
  const at = (one) => made[one] ?? valueOf(state, one);
  const { array, place } = parsed(key);
  const name = capital(nameOf(state, key));
  const is = `${name} = ${figure(at(key), WHOLE)}`;
  const words = tellerOf(kind, array, parts.length > 0)({ state, kind, key, name, is, at, array, place, parts });
  return { words, from: parts, into: goesInto(state, key, made) };
};
