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

// The means and σ of a member's own are in its section; `app.js` shows them above where there is room.
export const layOut = (cells, state, { shared, members }) => {
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
  const above = [panel("stack", caption("x"), column("x, the input", (a) => `x:${a}`))];
  if (kind.modulated) {
    above.push(panel("stack", caption("W, in every member"), matrix("W, shared by all members", (a, b) => `weight:${[a, b]}`)));
  } else if (kind.stochastic) {
    const spread = ([end, words]) => [
      panel("stack", caption(`W, ${words}`), matrix(`W, ${words}`, (a, b) => `weight_${end}:${[a, b]}`)),
      panel("biases", caption(`b, ${words}`), row(`b, ${words}`, (b) => `bias_${end}:${b}`)),
    ];
    const [[means, biases], [scales, biasScales]] = [["mean", "means"], ["std", "σ"]].map(spread);
    above.push(means, scales, caption("b"), biases, biasScales);
  } else {
    above.push(make("p", { class: "ensedu-p-none" }, kind.members ? "No W is shared: each member has a matrix of its own." : "One network, with one matrix."));
  }
  shared.replaceChildren(...above);
  shared.dataset.columns = String(kind.stochastic ? 3 : kind.modulated ? 2 : 1);

  // Of the distributions of a member's r and s: what is stored.
  const kept = (i, whose) => {
    const found = panel("kept", caption(`what ${whose} draws from`));
    for (const [letter, size] of [["r", m], ["s", n]])
      for (const [end, words] of [["mean", "mean"], ["std", "σ"]])
        found.append(
          caption(...sub(letter, i + 1), ` ${words}`),
          group(`${letter} of ${whose}, ${words}`, 1, size, (_, k) => `${letter}_${end}:${[i, k]}`),
        );
    return found;
  };
  const member = (_, i) => {
    const index = kind.members || kind.stochastic ? i + 1 : "";
    const whose = kind.members ? `member ${i + 1}` : kind.stochastic ? `draw ${i + 1}` : kind.label;
    const grid = panel("grid");
    const drawn = kind.stochastic ? ", drawn" : "";
    let made = [drawn]; // how W is
    const line = (letter, keyOf, words = "") => {
      const name = inArea(`l${letter}`, caption(...sub(letter, index)));
      name.classList.add("ensedu-p-side");
      grid.append(name, inArea(letter, row(`${letter} of ${whose}${words}`, keyOf)));
    };
    if (kind.modulated) {
      made = [" = W ∘ ", ...sub("r", index), ...sub("s", index), "ᵀ"];
      line("s", (b) => `s:${[i, b]}`, drawn);
      const over = inArea("lr", caption(...sub("r", index)));
      over.classList.add("ensedu-p-over");
      grid.append(over, inArea("r", column(`r of ${whose}${drawn}`, (a) => `r:${[i, a]}`)));
    }
    grid.append(inArea("lw", caption(...sub("W", index), ...made)), inArea("w", matrix(`W of ${whose}`, (a, b) => weightAt(state, i, a, b))));
    line("b", (b) => biasAt(state, i, b));
    line("y", (b) => `y:${[i, b]}`);
    const title = make("p", { class: "ensedu-p-title" }, whose);
    return make("section", { class: "ensedu-p-member", "aria-label": whose }, title, ...(kind.modulated && kind.stochastic ? [kept(i, whose)] : []), grid);
  };
  members.replaceChildren(...Array.from({ length: passesOf(state) }, member));
};
