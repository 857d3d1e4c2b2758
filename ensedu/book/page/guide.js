// A guide from answers to a ranking; see ensedu/book/page/guide.py, which ranked every answer.
import { onPage } from "./common/widget.js";
import { followSetting, keepSetting } from "./common/address.js";

// The place of a combination of answers: those to the last question change first.
export const placeOf = (takes, answers) =>
  Object.entries(takes).reduce((sum, [key, all]) => sum * all.length + all.indexOf(answers[key]), 0);

const setUp = (root) => {
  const data = JSON.parse(root.querySelector("script").textContent);
  const { name, takes, start, rankings, places, room } = data;
  const pieces = root.querySelector("template").content;
  const [entries, heads, rows] = ["ul", "thead", "tbody"].map((kind) => pieces.querySelector(kind).children);
  const said = root.querySelector("[role=status]");
  const printed = root.querySelector(".ensedu-setting");
  const advice = root.querySelector(".ensedu-advice");
  const more = root.querySelector(".ensedu-more");
  const list = root.querySelector(".ensedu-candidates");
  // Room for the longest answer to an open question, so that the list below does not jump.
  const longest = room.map((entry) => {
    const one = document.createElement("ul");
    one.className = "ensedu-room";
    one.ariaHidden = "true";
    one.append(entries[entry].cloneNode(true));
    return one;
  });
  advice.after(...longest);
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
    const [entry, head, ...others] = rankings[places[placeOf(takes, answers)]];
    const first = entries[entry].cloneNode(true);
    advice.replaceChildren(first);
    list.querySelector("thead").replaceChildren(heads[head].cloneNode(true));
    list.querySelector("tbody").replaceChildren(...others.map((row) => rows[row].cloneNode(true)));
    list.hidden = !others.length;
    // What an answer has changed, even where the recommendation stays.
    const called = first.querySelector(".ensedu-method").textContent;
    const fit = list.querySelectorAll(".ensedu-fits").length;
    const beside = others.length ? `${fit || "No"} ${fit === 1 ? "other fits" : "others fit"}.` : "";
    const word = { "": "Answer", [called]: "Still" }[before] ?? "Now";
    const changed = { Answer: "", Still: "No change.", Now: "New answer." }[word];
    const note = first.querySelector(".ensedu-now");
    note.textContent = `${changed} ${beside}`.trim();
    if (before) note.classList.add("ensedu-fresh");
    if (word === "Now") first.classList.add("ensedu-fresh");
    before = called;
    const now = `${word}: ${called}. ${beside}`.trim();
    if (said.textContent !== now) said.textContent = now;
  };

  const set = (setting) => {
    Object.assign(answers, setting);
    const below = more ? [...more.querySelectorAll("fieldset")] : [];
    if (below.some(({ dataset: { key } }) => answers[key] !== start[key])) more.open = true;
    show();
  };

  root.addEventListener("change", ({ target }) => {
    set({ [target.closest("fieldset").dataset.key]: target.value });
    keepSetting(name, answers);
  });
  root.querySelector(".ensedu-live-only").hidden = false;
  // The card itself says it where its head, this high in pixels, is in sight.
  const head = 64;
  const seen = ([{ isIntersecting }]) => root.toggleAttribute("data-seen", isIntersecting);
  new IntersectionObserver(seen, { rootMargin: `0px 0px -${head}px` }).observe(advice);
  root.dataset.live = "";
  show();
  followSetting(root, name, takes, set);
};

export const begin = () => onPage(".ensedu-guide", setUp);
