// Where the cells stand: what all members share above, and below it each member, or draw.
import { make } from "../common/controls.js";
import { kindOf, passesOf, sizesOf } from "./layer.js";

const panel = (name, ...children) => make("div", { class: `ensedu-p-${name}` }, ...children);
const caption = (...words) => make("span", { class: "ensedu-p-label" }, ...words);
const sub = (letter, index) => (index === "" ? [letter] : [letter, make("sub", {}, String(index))]);
const inArea = (area, node) => {
  node.style.gridArea = area;
  return node;
};

// `more` is what of the shared may scroll away: beside the means of a distribution, all else of it.
export const layOut = (cells, state, { shared, more, members }) => {
  const kind = kindOf(state);
  const { m, n } = sizesOf(state);
  // A number has less room where distributions stand.
  const lookOf = (array) => {
    if (array === "x") return { stored: true, look: "input" };
    const found = kind.arrays.find((one) => one.name === array);
    const owned = Boolean(found?.axes.startsWith("M"));
    const room = kind.drawn && (kind.modulated ? array !== "weight" : found) ? 4 : 5;
    return found ? { stored: true, look: owned ? "own" : "common", room } : { room };
  };
  const before = (i, place) => (i === null ? place : [i, ...place]);
  const row = (array, words, size, i = null) => cells.group(words, 1, size, (_, b) => `${array}:${before(i, [b])}`, lookOf(array));
  const column = (array, words, size, i = null) => cells.group(words, size, 1, (a) => `${array}:${before(i, [a])}`, lookOf(array));
  const matrix = (array, words, i = null) => cells.group(words, m, n, (a, b) => `${array}:${before(i, [a, b])}`, lookOf(array));

  cells.clear();
  const beside = [];
  const above = [panel("stack", caption("x"), column("x", "x, the input", m))];
  if (kind.modulated) {
    above.push(panel("stack", caption("W, in every member"), matrix("weight", "W, shared by all members")));
  } else if (kind.drawn) {
    const spread = ([end, words]) => [
      panel("stack", caption(`W, ${words}`), matrix(`weight_${end}`, `W, ${words}`)),
      panel("stack", caption(`b, ${words}`), row(`bias_${end}`, `b, ${words}`, n)),
    ];
    const [[means, biases], [scales, biasScales]] = [["mean", "means"], ["std", "σ"]].map(spread);
    above.push(means);
    beside.push(scales, make("span"), biases, biasScales);
  } else {
    above.push(make("p", { class: "ensedu-p-none" }, kind.members ? "No W is shared: each member has a matrix of its own." : "One network, with one matrix."));
  }
  more.replaceChildren(...beside);
  shared.replaceChildren(...above, more);
  shared.dataset.columns = String(beside.length ? 3 : 2);
  members.dataset.forms = String(kind.modulated && kind.drawn ? 3 : 1);
  members.dataset.tree = String(kind.modulated || kind.drawn);

  const member = (_, i) => {
    const index = kind.members || kind.drawn ? i + 1 : "";
    const whose = kind.members ? `member ${i + 1}` : kind.drawn ? `draw ${i + 1}` : kind.label;
    const own = kind.members ? i : null; // of what is stored here
    const grid = panel("grid");
    const line = (area, array, at) =>
      grid.append(inArea(`l${area}`, caption(...sub(area, index))), inArea(area, row(array, `${area} of ${whose}`, n, at)));
    if (kind.modulated) {
      // Of a distribution: what is stored of it, and what is drawn.
      const forms = kind.drawn ? [["_mean", "mean"], ["_std", "σ"], ["", "drawn"]] : [["", ""]];
      const said = (letter, words) => `${letter} of ${whose}${words && `, ${words}`}`;
      grid.append(
        inArea("ls", panel("names", ...forms.map(([, words]) => caption(...sub("s", index), words && ` ${words}`)))),
        inArea("s", panel("rows", ...forms.map(([end, words]) => row(`s${end}`, said("s", words), n, i)))),
        inArea("lr", panel("heads", ...forms.map(([, words]) => caption(...(words ? [words] : sub("r", index)))))),
        inArea("r", panel("columns", ...forms.map(([end, words]) => column(`r${end}`, said("r", words), m, i)))),
        inArea("lw", caption(...sub("W", index), " = W ∘ ", ...sub("r", index), ...sub("s", index), "ᵀ")),
        inArea("w", matrix("W", `W of ${whose}`, i)),
      );
      line("b", "bias", own);
    } else if (kind.drawn) {
      grid.append(inArea("lw", caption(...sub("W", index), ", drawn")), inArea("w", matrix("W", `W of ${whose}`, i)));
      line("b", "b", i);
    } else {
      grid.append(inArea("lw", caption(...sub("W", index))), inArea("w", matrix("weight", `W of ${whose}`, own)));
      line("b", "bias", own);
    }
    line("y", "y", i);
    return make("section", { class: "ensedu-p-member", "aria-label": whose }, make("p", { class: "ensedu-p-title" }, whose), grid);
  };
  members.replaceChildren(...Array.from({ length: passesOf(state) }, member));
};
