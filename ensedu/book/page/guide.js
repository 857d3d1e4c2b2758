// A guide from answers to a ranking; see ensedu/book/page/guide.py, which ranked every answer.
import { onPage } from "./common/widget.js";
import { followSetting, keepSetting } from "./common/address.js";

// The place of a combination of answers: those to the last question change first.
export const placeOf = (takes, answers) =>
  Object.entries(takes).reduce((sum, [key, all]) => sum * all.length + all.indexOf(answers[key]), 0);

// How many are ruled out, and for what, which stands above its rows.
const ruledOut = (rows) => {
  const why = new Map();
  let said = "";
  for (const { classList, textContent } of rows) {
    if (classList.contains("ensedu-rowgroup")) said = textContent;
    else why.set(said, (why.get(said) ?? 0) + 1);
  }
  const counts = [...why.values()];
  const each = [...why].map(([words, count]) => `${words} (${count})`);
  return `${counts.reduce((sum, count) => sum + count, 0)} ruled out: ${each.join(", ")}`;
};

// Who else fits: the first by name, with their links, and of more than one other how many.
const NAMED = 3;
const named = (fit) => {
  const names = fit.map((name) => (name.querySelector("a") ?? name).cloneNode(true));
  if (names.length > NAMED + 1) names.splice(NAMED, Infinity, `${names.length - NAMED} more`);
  const parts = names.flatMap((name, i) => (i ? [" · ", name] : [name]));
  return [`Also ${names.length === 1 ? "fits" : "fit"}: `, ...parts];
};

const setUp = (root) => {
  const data = JSON.parse(root.querySelector("script").textContent);
  const { name, takes, start, rankings, places } = data;
  const pieces = root.querySelector("template").content;
  const [entries, heads, rows] = ["ul", "thead", "tbody"].map((kind) => pieces.querySelector(kind).children);
  const answer = root.querySelector(".ensedu-answer");
  const said = [...answer.querySelectorAll("[role=status] > span")]; // the second one is seen
  const printed = root.querySelector(".ensedu-setting");
  const advice = root.querySelector(".ensedu-advice");
  const more = root.querySelector(".ensedu-more");
  const list = root.querySelector(".ensedu-candidates");
  const folds = [...list.querySelectorAll("details:has(table)")];
  const tables = [...list.querySelectorAll("table")]; // who fits, who fits, too, and who is ruled out
  const questions = [...root.querySelectorAll("fieldset")];
  const answers = { ...start };
  let before = "";

  const show = () => {
    const words = questions.map((question) => {
      const radios = [...question.querySelectorAll("input")];
      const chosen = radios.find((radio) => radio.value === answers[question.dataset.key]);
      chosen.checked = true;
      return `${question.querySelector("legend").textContent} ${chosen.parentElement.textContent}.`;
    });
    printed.textContent = words.join(" ");
    const [entry, head, ...parts] = rankings[places[placeOf(takes, answers)]];
    const first = entries[entry].cloneNode(true);
    advice.replaceChildren(first);
    tables.forEach((table, i) => {
      table.tHead.replaceChildren(heads[head].cloneNode(true));
      table.tBodies[0].replaceChildren(...parts[i].map((row) => rows[row].cloneNode(true)));
    });
    list.hidden = !parts.flat().length;
    const [rest, ruled] = folds.map((fold, i) => {
      fold.hidden = !parts[i + 1].length;
      return fold.querySelector("summary");
    });
    rest.textContent = `${tables[1].querySelectorAll("tbody tr:not(.ensedu-rowgroup)").length} more`;
    ruled.textContent = ruledOut(tables[2].tBodies[0].rows);
    // What an answer has changed, even where the recommendation stays.
    const called = first.querySelector(".ensedu-method").textContent;
    const fit = [...list.querySelectorAll(".ensedu-fits th > span:first-child")];
    const count = `${fit.length || "No"} ${fit.length === 1 ? "other fits" : "others fit"}.`;
    const beside = parts.flat().length ? count : "";
    const word = { "": "Answer", [called]: "Still" }[before] ?? "Now";
    const changed = { Answer: "", Still: "Still the answer.", Now: "New answer." }[word];
    if (changed) {
      const badge = document.createElement(word === "Now" ? "strong" : "span");
      badge.className = "ensedu-changed";
      badge.textContent = changed;
      first.querySelector(".ensedu-method").after(badge);
    }
    first.querySelector(".ensedu-now").append(...(fit.length ? named(fit) : [beside]));
    if (before) first.classList.add("ensedu-fresh");
    before = called;
    answer.dataset.method = first.dataset.method ?? "";
    [`${word}: `, `${called}.`, beside && ` ${beside}`].forEach((words, i) => {
      if (said[i].textContent !== words) said[i].textContent = words;
    });
  };

  const set = (setting) => {
    Object.assign(answers, setting);
    const below = more ? [...more.querySelectorAll("fieldset")] : [];
    if (below.some(({ dataset: { key } }) => answers[key] !== start[key])) more.open = true;
    show();
  };

  root.addEventListener("change", ({ target }) => {
    const { top } = target.getBoundingClientRect();
    set({ [target.closest("fieldset").dataset.key]: target.value });
    keepSetting(name, answers);
    // The card above may grow, and what was pressed stays below the finger.
    scrollBy({ top: target.getBoundingClientRect().top - top, behavior: "instant" });
  });
  answer.querySelector("button").addEventListener("click", () => advice.scrollIntoView());
  for (const part of root.querySelectorAll(".ensedu-live-only")) part.hidden = false;
  // The card itself says it where its title, which ends this far down in pixels, is in sight.
  const head = 32;
  const seen = ([{ isIntersecting }]) => root.toggleAttribute("data-seen", isIntersecting);
  new IntersectionObserver(seen, { rootMargin: `0px 0px -${head}px` }).observe(advice);
  root.dataset.live = "";
  show();
  followSetting(root, name, takes, set);
};

export const begin = () => onPage(".ensedu-guide", setUp);
