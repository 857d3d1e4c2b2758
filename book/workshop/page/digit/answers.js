// What the networks say: a row of percents for each member, and bars of doubt.
import { make } from "../common/controls.js";
import { digitLikeliest, digitParts } from "./networks.js";
import { digitRounded } from "./words.js";

const digitRow = (words, method) => {
  const line = make("tr", { "data-method": method }, make("th", { scope: "row" }, words));
  const cells = Array.from({ length: 10 }, () => make("td"));
  line.append(...cells);
  const set = (p) =>
    cells.forEach((cell, digit) => {
      const percent = Math.round(100 * p[digit]);
      cell.textContent = percent >= 5 ? String(percent) : "";
      cell.style.setProperty("--p", `${100 * p[digit]}%`);
      cell.classList.toggle("full", percent === 100);
      cell.classList.toggle("most", digit === digitLikeliest(p));
    });
  return { line, set };
};

const digitDoubt = (single) => {
  const [label, expected, information] = [make("span"), make("i", { class: "expected" }), make("i")];
  const bar = make("span", { class: "ensedu-bar" }, expected, information);
  const set = (words, parts) => {
    const [total, first, second] = digitRounded(parts);
    label.textContent = `${words}: ${total} bits${single ? "" : ` = ${first} + ${second}`}`;
    expected.style.width = `${(100 * parts.expected) / Math.log2(10)}%`;
    information.style.width = `${(100 * parts.information) / Math.log2(10)}%`;
  };
  return { line: make("p", { class: "ensedu-doubt" }, label, bar), set };
};

// `table` and `doubts`, elements; `arrange(method, word, count)` makes the rows for as many members
// as there are, in the color of the method, and `set(label, { single, members })` fills them.
export const digitAnswers = () => {
  const head = Array.from({ length: 10 }, (_, digit) => make("th", { scope: "col" }, String(digit)));
  const body = make("tbody");
  const table = make(
    "table",
    { class: "ensedu-says" },
    make("caption", {}, "Percent for each digit"),
    make("thead", {}, make("tr", {}, make("td"), ...head)),
    body,
  );
  const [ofSingle, ofMembers] = [digitDoubt(true), digitDoubt(false)];
  const legend = make(
    "p",
    { class: "ensedu-legend" },
    make("i", { class: "expected" }),
    "expected entropy, meant as aleatoric + ",
    make("i"),
    "mutual information, meant as epistemic; bars end at 3.32 bits",
  );
  let rows = null;

  const arrange = (method, word, count) => {
    const single = digitRow("single", "single");
    const members = Array.from({ length: count }, (_, i) => digitRow(`${word} ${i + 1}`, method));
    const mean = digitRow("mean", method);
    mean.line.classList.add("mean");
    body.replaceChildren(single.line, ...members.map(({ line }) => line), mean.line);
    ofMembers.line.dataset.method = legend.dataset.method = method;
    rows = { single, members, mean };
  };
  const set = (label, { single, members }) => {
    rows.single.set(single[0]);
    members.forEach((p, i) => rows.members[i].set(p));
    const parts = digitParts(members);
    rows.mean.set(parts.mean);
    ofSingle.set("single network", digitParts(single));
    ofMembers.set(label, parts);
  };
  return { table, doubts: [ofSingle.line, ofMembers.line, legend], arrange, set };
};
