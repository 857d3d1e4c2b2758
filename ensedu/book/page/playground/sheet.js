// Where the cells stand: what all members share above, and below it each member, or draw.
import { make } from "../common/controls.js";
import { biasAt, kindOf, passesOf, sizesOf, weightAt } from "./layer.js";
import { parsed } from "./names.js";

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
  const lookOf = (array) => {
    if (array === "x") return { stored: true, look: "input" };
    const found = kind.arrays.find((one) => one.name === array);
    const owned = Boolean(found?.axes.startsWith("M"));
    return found ? { stored: true, look: owned ? "own" : "common" } : {};
  };
  const group = (words, rows, columns, keyOf) => cells.group(words, rows, columns, keyOf, lookOf(parsed(keyOf(0, 0)).array));
  const row = (words, keyOf) => group(words, 1, n, (_, b) => keyOf(b));
  const column = (words, keyOf) => group(words, m, 1, keyOf);
  const matrix = (words, keyOf) => group(words, m, n, keyOf);

  cells.clear();
  const beside = [];
  const above = [panel("stack", caption("x"), column("x, the input", (a) => `x:${a}`))];
  if (kind.modulated) {
    above.push(panel("stack", caption("W, in every member"), matrix("W, shared by all members", (a, b) => `weight:${[a, b]}`)));
  } else if (kind.stochastic) {
    const spread = ([end, words]) => [
      panel("stack", caption(`W, ${words}`), matrix(`W, ${words}`, (a, b) => `weight_${end}:${[a, b]}`)),
      panel("stack", caption(`b, ${words}`), row(`b, ${words}`, (b) => `bias_${end}:${b}`)),
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
  members.dataset.forms = String(kind.modulated && kind.stochastic ? 3 : 1);
  members.dataset.tree = String(kind.modulated || kind.stochastic);

  const member = (_, i) => {
    const index = kind.members || kind.stochastic ? i + 1 : "";
    const whose = kind.members ? `member ${i + 1}` : kind.stochastic ? `draw ${i + 1}` : kind.label;
    const grid = panel("grid");
    let made = kind.stochastic ? [", drawn"] : []; // how W is
    if (kind.modulated) {
      made = [" = W ∘ ", ...sub("r", index), ...sub("s", index), "ᵀ"];
      // Of a distribution: what is stored of it, and what is drawn.
      const forms = kind.stochastic ? [["_mean", "mean"], ["_std", "σ"], ["", "drawn"]] : [["", ""]];
      const said = (letter, words) => `${letter} of ${whose}${words && `, ${words}`}`;
      grid.append(
        inArea("ls", panel("names", ...forms.map(([, words]) => caption(...sub("s", index), words && ` ${words}`)))),
        inArea("s", panel("rows", ...forms.map(([end, words]) => row(said("s", words), (b) => `s${end}:${[i, b]}`)))),
        inArea("lr", panel("heads", ...forms.map(([, words]) => caption(...(words ? [words] : sub("r", index)))))),
        inArea("r", panel("columns", ...forms.map(([end, words]) => column(said("r", words), (a) => `r${end}:${[i, a]}`)))),
      );
    }
    const line = (letter, keyOf) => {
      const name = inArea(`l${letter}`, caption(...sub(letter, index)));
      name.classList.add("ensedu-p-side");
      grid.append(name, inArea(letter, row(`${letter} of ${whose}`, keyOf)));
    };
    grid.append(inArea("lw", caption(...sub("W", index), ...made)), inArea("w", matrix(`W of ${whose}`, (a, b) => weightAt(state, i, a, b))));
    line("b", (b) => biasAt(state, i, b));
    line("y", (b) => `y:${[i, b]}`);
    return make("section", { class: "ensedu-p-member", "aria-label": whose }, make("p", { class: "ensedu-p-title" }, whose), grid);
  };
  members.replaceChildren(...Array.from({ length: passesOf(state) }, member));
};
