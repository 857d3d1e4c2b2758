// A guide from answers to a method; see ensedu/book/page/guide.py, which wrote each rule's words.
import { onPage } from "./common/widget.js";
import { followSetting, keepSetting } from "./common/address.js";

// The place of the first rule that fits, each a question's key to the answers that it is for.
export const decides = (rules, answers) =>
  rules.findIndex((rule) => Object.entries(rule).every(([key, fits]) => fits.includes(answers[key])));

const setUp = (root) => {
  const { name, takes, start, rules } = JSON.parse(root.querySelector("script").textContent);
  const said = root.querySelector("[role=status]");
  const printed = root.querySelector(".ensedu-setting");
  const advice = root.querySelector(".ensedu-advice");
  const fold = root.querySelector("details");
  const items = [...fold.querySelectorAll("ol > li")];
  const questions = [...root.querySelectorAll("fieldset")];
  const answers = { ...start };

  const show = () => {
    const words = questions.map((question) => {
      const radios = [...question.querySelectorAll("input")];
      const chosen = radios.find((radio) => radio.value === answers[question.dataset.key]);
      chosen.checked = true;
      return `${question.querySelector("legend").textContent} ${chosen.parentElement.textContent}.`;
    });
    printed.textContent = words.join(" ");
    const place = decides(rules, answers);
    const { method } = items[place].dataset;
    items.forEach((item, i) => {
      if (i === place) item.setAttribute("aria-current", "true");
      else item.removeAttribute("aria-current");
    });
    advice.replaceChildren(...[...items[place].childNodes].map((node) => node.cloneNode(true)));
    if (method) advice.dataset.method = method;
    else delete advice.dataset.method;
    const label = advice.querySelector(".ensedu-method").textContent;
    const now = `${label}: rule ${place + 1} of ${rules.length} decides.`;
    if (said.textContent !== now) said.textContent = now;
  };

  const set = (setting) => {
    Object.assign(answers, setting);
    show();
  };

  root.addEventListener("change", ({ target }) => {
    set({ [target.closest("fieldset").dataset.key]: target.value });
    keepSetting(name, answers);
  });
  // On paper nothing can be unfolded.
  const paper = matchMedia("print");
  let open = false;
  paper.addEventListener("change", () => {
    if (paper.matches) open = fold.open;
    fold.open = paper.matches || open;
  });
  fold.open = paper.matches;
  root.querySelector(".ensedu-live-only").hidden = false;
  root.dataset.live = "";
  show();
  followSetting(root, name, takes, set);
};

export const begin = () => onPage(".ensedu-guide", setUp);
