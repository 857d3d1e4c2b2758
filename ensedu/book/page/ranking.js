// A table that the reader sorts; see ensedu/book/page/ranking.py, which knows each order and its sentence.
import { onPage } from "./common/widget.js";
import { followSetting, keepSetting } from "./common/address.js";

// One table: its rows as Python counts them, and its columns behind that of the names.
const tableOf = (section, data, tell) => {
  const [body] = section.querySelectorAll("tbody");
  const bars = section.querySelectorAll("[data-column]"); // of the column, and their scales
  const rows = [];
  data.shown.forEach((place, i) => (rows[place] = body.rows[i]));
  const heads = [...section.querySelectorAll("thead th")];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    const mark = document.createElement("span"); // it is seen, and its words are heard
    const first = document.createElement("span");
    button.type = "button";
    mark.className = "ensedu-sort";
    first.className = "ensedu-hear";
    mark.append(first);
    button.append(...head.childNodes, mark);
    head.append(button);
    button.addEventListener("click", () => tell(data.by[column]));
  });

  const show = (by, end) => {
    const column = data.by.indexOf(by);
    // A column without differences leaves those of another in sight.
    const barred = data.bars[column] ? column : data.bars.indexOf(true);
    body.append(...data.orders[column][end].map((place) => rows[place]));
    heads.forEach((head, i) => {
      head.querySelector(".ensedu-sort > span").textContent = i === column ? ` ${end} first` : "";
      if (i === column) head.setAttribute("aria-sort", data.directions[i][end]);
      else head.removeAttribute("aria-sort");
      for (const { classList } of [head, ...rows.map((row) => row.cells[i + 1])])
        classList.toggle("ensedu-sorted", i === column);
    });
    for (const bar of bars) bar.hidden = Number(bar.dataset.column) !== barred;
    return data.said[column][end];
  };
  return { section, data, show };
};

// Figures of the page may have the same choice; see explore.js.
const MOVED = "ensedu-moved";

const setUp = (root) => {
  const { name, takes, start, tables } = JSON.parse(root.querySelector("script").textContent);
  const { group, choose } = root.dataset;
  const said = root.querySelector("[role=status]");
  const state = { ...start };

  // A table gets its buttons when it is first shown.
  const sections = [...root.querySelectorAll("section")];
  const made = [];
  const current = () => {
    const place = tables.findIndex(({ option }) => option === state.show);
    return (made[place] ??= tableOf(sections[place], tables[place], tell));
  };
  // A table without the column that was chosen is sorted by its own first choice.
  const by = () => (current().data.by.includes(state.by) ? state.by : current().data.start);
  const show = () => {
    const table = current();
    for (const section of sections) section.hidden = section !== table.section;
    for (const radio of root.querySelectorAll("input")) radio.checked = radio.value === state.show;
    const words = table.show(by(), state.first);
    if (said.textContent !== words) said.textContent = words;
  };
  const set = (setting) => {
    Object.assign(state, setting);
    show();
  };
  const tell = (column) => {
    const again = column === by();
    set({ by: column, first: again && state.first === "best" ? "worst" : "best" });
    keepSetting(name, state);
  };

  root.addEventListener("change", ({ target }) => {
    if (target.type !== "radio") return;
    set({ show: target.value });
    keepSetting(name, state);
    const detail = { group, settings: { [choose]: target.value } };
    if (group) document.dispatchEvent(new CustomEvent(MOVED, { detail }));
  });
  document.addEventListener(MOVED, ({ detail }) => {
    const wanted = detail.group === group && detail.settings[choose];
    if (takes.show.includes(wanted)) set({ show: wanted });
  });
  for (const part of root.querySelectorAll(".ensedu-live-only")) part.hidden = false;
  root.dataset.live = "";
  show();
  followSetting(root, name, takes, set);
};

export const begin = () => onPage(".ensedu-ranking", setUp);
