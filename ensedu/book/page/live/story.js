// What is seen, in words: for readers who hear the page, and for all when it rests.
import { differ, forecast } from "./forecast.js";
import { GRID, sides } from "./runner.js";
import { REACH } from "./toys.js";

export const START_WORDS = {
  different: "different", same: "all the same", signs: "random signs",
  "normal-0.5": "N(1, 0.5²)", "normal-0.1": "N(1, 0.1²)",
};

const number = (value) => {
  if (!Number.isFinite(value)) return "no number";
  const size = Math.abs(value);
  return value.toFixed(size < 10 ? 2 : size < 100 ? 1 : 0).replace("-", "\u2212");
};

export const called = (side) => {
  const [first, ...others] = HOUSE.labels[side.method];
  const label = first.toUpperCase() + others.join("");
  const M = side.ensemble_size;
  if (side.method === "single") return "One network";
  if (!METHODS[side.method].members) return label;
  return `${label} of ${M}`;
};

// A side of a comparison by its letter, its method, and what else tells the two apart.
export const named = (state, i) => {
  const both = sides(state);
  if (both.length === 1) return called(state);
  const [own, other] = [both[i], both[1 - i]];
  const parts = [`${"AB"[i]}: ${called(own)}`];
  if (called(own) === called(other)) {
    if (own.start !== other.start) parts.push(`starts ${START_WORDS[own.start]}`);
    if (own.kl_weight !== other.kl_weight) parts.push(`KL × ${own.kl_weight}`);
    if (own.loss !== other.loss) parts.push(own.loss === "mean" ? "average loss" : "mixture loss");
  }
  return parts.join(", ");
};

const ofCurves = (frame, state) => {
  const seen = forecast(frame, state.noise, GRID.length);
  const found = differ(seen, GRID, state.points);
  if (!found) return "";
  if (seen.F === 1) return "one curve, and no second opinion.";
  if (found.most < 0.005) return "all curves are one, and agree everywhere.";
  const [x, y] = state.axes ?? [{ middle: 0, unit: 1 }, { unit: 1 }];
  const place = number(x.middle + x.unit * found.where);
  return `its curves spread by ${number(y.unit * found.near)} at the points, and in the widest gap between them by up to ${number(y.unit * found.most)}, at x = ${place} (standard deviations).`;
};

const ofMaps = ({ map }, state) => {
  if (!state.points.length) return "";
  const { size, information, disagreement } = map;
  const place = (value) => Math.max(0, Math.min(size - 1, Math.floor(((value / REACH + 1) / 2) * size)));
  const near = state.points.reduce(
    (sum, [x, y]) => sum + information[(size - 1 - place(y)) * size + place(x)] / state.points.length, 0,
  );
  const most = information.reduce((a, b) => Math.max(a, b), 0);
  const split = disagreement.reduce((a, b) => a + b, 0) / disagreement.length;
  return `members' doubt is ${number(near)} bits at the points and up to ${number(most)} elsewhere; two of them choose different classes in ${Math.round(100 * split)}% of the plane.`;
};

// One sentence a side, after the step that both have reached.
export const story = (frame, state) => {
  const step = `Step ${frame.steps.toLocaleString("en")}`;
  if (!state.points.length) return `${step}. There is no point to learn from: add one.`;
  const parts = sides(state).map((side, i) => {
    const own = frame.sides[i];
    const seen = state.task === "regression" ? ofCurves(own, state) : ofMaps(own, state);
    const average = own.found && number(own.found.average);
    const several = side.ensemble_size > 1;
    const loss = own.found ? ` NLL of the points: ${several ? `${average} on average, ${number(own.found.mixture)} as a mixture` : average}.` : "";
    return `${named(state, i)}: ${seen}${loss}`;
  });
  return `${step}. ${parts.join(" ")}`;
};
