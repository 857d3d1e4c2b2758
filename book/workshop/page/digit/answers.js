// What the small networks that look at drawings say: fetched, filled and asked; in words, in a row of percents for
// each member, and in bars of doubt.
import { make, runScript } from "../common/elements.js";
import { Network } from "../live/network.js";
import { Random } from "../live/toys.js";

// Numbers of float16, little-endian, base64.
const digitNumbers = (text) => {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return Float64Array.from({ length: bytes.length / 2 }, (_, i) => {
    const half = bytes[2 * i] + 256 * bytes[2 * i + 1];
    const exponent = (half >> 10) & 31;
    const fraction = half & 1023;
    const size = exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : fraction * 2 ** -24;
    return half >> 15 ? -size : size;
  });
};

// The network of a method with the arrays that were trained, by layer and name.
export const digitNetwork = (method, { p, arrays }) => {
  const { has_members: members, stochastic } = METHODS[method];
  const passes = members || stochastic ? DIGIT.passes : 1;
  const spec = { sizes: DIGIT.sizes, method, passes, p, activation: "relu", start: "same", posterior_std: 1 };
  const net = new Network(spec, new Random(0));
  for (const [layer, name, array] of net.arrays()) array.set(digitNumbers(arrays[`${layer}.${name}`]));
  return net;
};

// The probabilities of each member, a list of ten; one network has one member.
export const digitProbabilities = (net, x, noise) => {
  const logits = net.forward(x, 1, noise);
  return Array.from({ length: net.spec.passes }, (_, i) => {
    const own = Array.from(logits.subarray(10 * i, 10 * i + 10));
    const most = Math.max(...own);
    const weights = own.map((logit) => Math.exp(logit - most));
    const sum = weights.reduce((a, b) => a + b, 0);
    return weights.map((weight) => weight / sum);
  });
};

// The mean of the members, and its entropy in two parts, in nats.
export const digitParts = (members) => {
  const average = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const entropy = (p) => p.reduce((sum, one) => sum - (one > 0 ? one * Math.log(one) : 0), 0);
  const mean = members[0].map((_, digit) => average(members.map((p) => p[digit])));
  const expected = average(members.map(entropy));
  return { mean, expected, information: Math.max(0, entropy(mean) - expected) };
};

export const digitLikeliest = (p) => p.indexOf(Math.max(...p));

// One script holds all networks; it is asked for once, when somebody first touches a square.
let digitFetched = null;
export const digitFetch = () => {
  digitFetched ??= runScript(`${document.documentElement.dataset.content_root ?? ""}_static/digit-networks.js`).then(
    () => globalThis.ensedu_digits ?? Promise.reject(new Error("the script holds no networks")),
  ).catch((error) => {
    digitFetched = null; // the next touch tries again
    throw error;
  });
  return digitFetched;
};

const digitPercent = (p) => (p > 0.99 && p < 1 ? "over 99%" : `${Math.round(100 * p)}%`);

// Nats with two decimals that add up: of the whole, of its first part and of its second.
export const digitRounded = ({ expected, information }) => {
  const total = Math.round(100 * (expected + information));
  const first = Math.round(100 * expected);
  return [total, first, total - first].map((cents) => (cents / 100).toFixed(2));
};

// What is said of a drawing; `example` is what it is, where that is known.
export const digitWords = (label, word, members, single, example) => {
  const votes = new Map();
  for (const digit of members.map(digitLikeliest)) votes.set(digit, (votes.get(digit) ?? 0) + 1);
  const ranked = [...votes].sort(([a, m], [b, n]) => n - m || a - b);
  const M = members.length;
  const voted = ranked.map(([digit, n], i) => {
    if (n === M) return `all ${M} ${word}s say ${digit}`;
    return `${n}${i ? "" : ` of ${M} ${word}s`} say${n === 1 ? "s" : ""} ${digit}`;
  });
  const [own, other] = [digitParts(members), digitParts(single)];
  const [best, plain] = [own, other].map(({ mean }) => digitLikeliest(mean));
  const [total, , disagreed] = digitRounded(own);
  const doubt = `${total} nats of doubt${total === "0.00" ? "" : `, ${disagreed} of them because ${word}s disagree`}.`;
  const sides = [
    [label, own.mean[best], best],
    ["single network", other.mean[plain], plain],
  ];
  return [
    `${label[0].toUpperCase()}${label.slice(1)}: ${voted.join(", ")}; their mean says ${best} with`,
    `${digitPercent(own.mean[best])}. ${doubt}`,
    `Single network: ${plain} with ${digitPercent(other.mean[plain])}, ${digitRounded(other)[0]} nats.`,
    digitVerdict(sides, example),
  ].join(" ").trim();
};

const digitA = (digit) => `${digit === 8 ? "an" : "a"} ${digit}`;

// Who is fooled, as far as it is known what was drawn; else a question.
const digitVerdict = (sides, example) => {
  const names = (list) => list.map(([name]) => name).join(", ");
  const sure = sides.filter(([, p]) => p > DIGIT.sure);
  if (example?.digits.length) {
    const open = example.digits.length > 1;
    const known = ([, , digit]) => example.digits.includes(digit);
    const wrong = sides.filter((side) => !known(side));
    const rash = open ? sure.filter(known) : [];
    const start = `It ${open ? "may be" : "is"} ${example.digits.map(digitA).join(" or ")}`;
    if (!wrong.length && !rash.length) return `${start}, ${open ? "and neither is sure" : "as both say"}.`;
    const said = [
      ["Fooled", wrong],
      ["Sure without reason", rash],
    ].filter(([, list]) => list.length);
    return `${start}. ${said.map(([words, list]) => `${words}: ${names(list)}.`).join(" ")}`;
  }
  if (example)
    return `No digit was drawn${sure.length ? `. Fooled: ${names(sure)}` : ", and neither is sure"}.`;
  if (!sure.length) return "";
  const [first, last] = [sure[0][2], sure[sure.length - 1][2]];
  if (first !== last) return `Sure of ${digitA(first)} and of ${digitA(last)}: at least one is fooled.`;
  const both = sure.length > 1;
  const question = `Did you draw something other than ${digitA(first)}?`;
  return `${both ? "" : `Sure: ${names(sure)}. `}${question} Then ${both ? "both are" : "it is"} fooled.`;
};

// What the networks say: a row of percents for each member, and bars of doubt.
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
  const [ofNoise, ofMembers] = [make("span"), make("span")];
  const named = make("span", { class: "ensedu-parts" }, make("i", { class: "expected" }), ofNoise);
  if (!single) named.append(make("i"), ofMembers);
  const set = (words, parts) => {
    const [total, first, second] = digitRounded(parts);
    label.textContent = `${words}: ${total} nats`;
    ofNoise.textContent = `aleatoric ${first}`;
    ofMembers.textContent = `epistemic ${second}`;
    expected.style.width = `${(100 * parts.expected) / Math.log(10)}%`;
    information.style.width = `${(100 * parts.information) / Math.log(10)}%`;
  };
  return { line: make("p", { class: "ensedu-doubt" }, label, bar, named), set };
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
  const scale = make("p", { class: "ensedu-scale" }, "Bars end at 2.30 nats.");
  let rows = null;

  const arrange = (method, word, count) => {
    const single = digitRow("single", "single");
    const members = Array.from({ length: count }, (_, i) => digitRow(`${word} ${i + 1}`, method));
    const mean = digitRow("mean", method);
    mean.line.classList.add("mean");
    body.replaceChildren(single.line, ...members.map(({ line }) => line), mean.line);
    ofMembers.line.dataset.method = method;
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
  return { table, doubts: [ofSingle.line, ofMembers.line, scale], arrange, set };
};
