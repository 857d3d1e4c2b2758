// The playground: a layer whose every number can be touched; see ensedu/page/playground.py.
// All numbers come from there, and what kind of method each is. This script only chooses,
// arranges and explains them.
(() => {
  "use strict";

  const NAMES = { in_features: "inputs m", out_features: "outputs n", ensemble_size: "members M" };

  const make = (tag, attributes = {}, ...children) => {
    const node = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children);
    return node;
  };
  const sub = (letter, ...indices) => `${letter}${indices.length ? `[${indices.map((i) => i + 1).join(", ")}]` : ""}`;
  const show = (value) => {
    const rounded = Math.round(value * 100) / 100 + 0;
    return String(rounded).replace("-", "\u2212");
  };

  const build = (root) => {
    const data = JSON.parse(root.querySelector("script").textContent);
    const chosen = { ...data.start };

    // Controls
    const method = make("select", { id: "playground-method" });
    for (const [key, { label }] of Object.entries(data.methods)) method.append(make("option", { value: key }, label));
    const ranges = {};
    const controls = make("div", { class: "ensedu-sliders", role: "group", "aria-label": "The layer" });
    controls.append(make("label", {}, make("span", {}, "method"), method, make("span")));
    for (const [key, name] of Object.entries(NAMES)) {
      const range = make("input", { type: "range", min: 1, max: data.most[key], step: 1, autocomplete: "off" });
      ranges[key] = range;
      controls.append(make("label", {}, make("span", {}, name), range, make("output", { "aria-hidden": "true" })));
      range.addEventListener("input", () => {
        chosen[key] = Number(range.value);
        draw();
      });
    }
    const add = make("button", { type: "button", class: "ensedu-add" });
    const link = make("a", { class: "ensedu-link" }, "Link to this layer");
    const matrices = make("div", { class: "ensedu-matrices" });
    const story = make("p", { class: "ensedu-story", role: "status" });
    const count = make("div", { class: "ensedu-sum" });
    method.addEventListener("change", () => {
      chosen.method = method.value;
      draw();
    });
    add.addEventListener("click", () => {
      chosen.ensemble_size += 1;
      draw();
    });

    // One grid of numbers. `parts` says for each cell which numbers make it.
    const grid = (label, values, kind, explain) => {
      const table = make("table", { role: "grid", "aria-label": label, class: `ensedu-grid ${kind}` });
      table.dataset.part = kind;
      values.forEach((row, a) => {
        const line = make("tr", { role: "row" });
        row.forEach((value, b) => {
          const cell = make("td", { role: "gridcell", tabindex: a + b ? -1 : 0 }, show(value));
          const strength = Math.min(1, Math.abs(value) / 6);
          cell.style.setProperty("--strength", `${Math.round(45 * strength)}%`);
          cell.classList.add(value < 0 ? "negative" : "positive");
          const tell = () => {
            const { words, keys } = explain(a, b);
            story.textContent = words;
            for (const lit of matrices.querySelectorAll(".lit")) lit.classList.remove("lit");
            for (const key of keys) matrices.querySelector(`[data-key="${key}"]`)?.classList.add("lit");
            cell.classList.add("lit");
          };
          for (const event of ["pointerenter", "focus", "click"]) cell.addEventListener(event, tell);
          cell.dataset.key = `${kind}-${explain(a, b).id}`;
          line.append(cell);
        });
        table.append(line);
      });
      // Arrow keys move inside a grid, the tab key from one to the next.
      table.addEventListener("keydown", (event) => {
        const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
        const cell = event.target.closest("td");
        if (!step || !cell) return;
        event.preventDefault();
        const next = table.rows[cell.parentNode.rowIndex + step[0]]?.cells[cell.cellIndex + step[1]];
        if (!next) return;
        cell.tabIndex = -1;
        next.tabIndex = 0;
        next.focus();
      });
      return table;
    };
    const panel = (title, table, kind = "") =>
      make("div", { class: `ensedu-panel ${kind}`, "data-part": table.dataset.part }, make("p", {}, title), table);

    const draw = () => {
      const { method: name, in_features: m, out_features: n } = chosen;
      const kind = data.methods[name];
      const M = kind.members ? chosen.ensemble_size : 1;
      const { arrays } = kind;
      const cut = (rows) => rows.slice(0, m).map((row) => row.slice(0, n));
      root.style.setProperty("--own", kind.color);

      method.value = name;
      for (const [key, range] of Object.entries(ranges)) {
        range.value = chosen[key];
        range.nextElementSibling.value = chosen[key];
        range.setAttribute("aria-valuetext", `${chosen[key]}`);
      }
      ranges.ensemble_size.disabled = !kind.members;
      const counts = data.counts[`${name} ${m} ${n} ${chosen.ensemble_size}`];
      add.textContent = kind.members ? `Add a member: ${counts[5]} numbers more` : "No members: one layer";
      add.disabled = !kind.members || M === data.most.ensemble_size;

      matrices.replaceChildren();
      if (kind.modulated) {
        matrices.append(
          panel(
            "W, shared by all members",
            grid("W, shared", cut(arrays.weight), "shared", (a, b) => ({
              id: `${a}-${b}`,
              keys: [],
              words: `${sub("W", a, b)} = ${show(arrays.weight[a][b])}: stored once, used by every member.`,
            })),
            "wide",
          ),
        );
      }
      for (let i = 0; i < M; i += 1) matrices.append(member(kind, i, m, n, cut));
      sum(kind.terms, m, n, M, counts);
      story.textContent = "Point at a number, tap it, or move to it with the tab and arrow keys.";
      link.href = `#playground:${new URLSearchParams(chosen)}`;
    };

    // What one member holds, or the one network; `drawn` says that its weights are distributions.
    const member = (kind, i, m, n, cut) => {
      const { arrays, drawn } = kind;
      const title = kind.members ? `member ${i + 1}` : kind.label;
      const box = make("section", { class: "ensedu-member", "aria-label": title }, make("h3", {}, title));
      const line = make("div", { class: `ensedu-line${kind.modulated ? " product" : ""}` });
      const values = cut(arrays.matrices[i]);
      const W = kind.members ? `W${i + 1}` : "W";
      const mean = (letter) => arrays[letter] ?? arrays[`${letter}_mean`];
      if (kind.modulated) {
        const r = mean("r")[i].slice(0, m);
        const s = mean("s")[i].slice(0, n);
        const what = (letter, value, k) =>
          drawn
            ? `${letter}${i + 1}[${k + 1}] is drawn anew each time: mean ${show(value)}, standard deviation ${show(arrays[`${letter}_std`][i][k])}. Member ${i + 1} owns both numbers.`
            : `${letter}${i + 1}[${k + 1}] = ${show(value)}: member ${i + 1}'s own.`;
        line.append(
          panel(drawn ? "r, means" : "r", grid(`r of member ${i + 1}`, r.map((v) => [v]), "r", (a) => ({
            id: `${i}-${a}`, keys: [], words: `${what("r", r[a], a)} It scales input ${a + 1}.`,
          })), "own"),
          panel(drawn ? "s, means" : "s", grid(`s of member ${i + 1}`, [s], "s", (_, b) => ({
            id: `${i}-${b}`, keys: [], words: `${what("s", s[b], b)} It scales output ${b + 1}.`,
          })), "own"),
          panel(drawn ? `${W}, means` : W, grid(`${W}, computed`, values, "made", (a, b) => ({
            id: `${i}-${a}-${b}`,
            keys: [`shared-${a}-${b}`, `r-${i}-${a}`, `s-${i}-${b}`],
            words:
              `${sub(W, a, b)} = ${sub("W", a, b)} · r${i + 1}[${a + 1}] · s${i + 1}[${b + 1}] = ` +
              `${show(arrays.weight[a][b])} · ${show(r[a])} · ${show(s[b])} = ${show(values[a][b])}` +
              (drawn ? ` on average, with standard deviation ${show(arrays.spreads[i][a][b])}.` : ". Computed, never stored."),
          })), "made"),
        );
      } else {
        line.append(
          panel(drawn ? "W, means" : W, grid(`${W}, stored`, values, "stored", (a, b) => ({
            id: `${i}-${a}-${b}`,
            keys: [],
            words: drawn
              ? `${sub("W", a, b)} is drawn anew each time: mean ${show(values[a][b])}, standard deviation ${show(arrays.spreads[0][a][b])}. Both are stored.`
              : `${sub(W, a, b)} = ${show(values[a][b])}: a number of its own${kind.members ? `, stored for member ${i + 1} alone` : ""}.`,
          })), kind.members || drawn ? "own" : "wide"),
        );
        if (drawn) {
          line.append(
            panel("standard deviations", grid("standard deviations, stored", cut(arrays.spreads[0]), "spread", (a, b) => ({
              id: `${a}-${b}`, keys: [], words: `The standard deviation of ${sub("W", a, b)} is ${show(arrays.spreads[0][a][b])}: stored beside its mean.`,
            })), "own"),
          );
        }
      }
      const biases = mean("bias");
      const spread = arrays.bias_std;
      const bias = (Array.isArray(biases[0]) ? biases[i] : biases).slice(0, n);
      line.append(
        panel(spread ? "b, means" : "b", grid(`bias${kind.members ? ` of member ${i + 1}` : ""}`, [bias], "bias", (_, b) => ({
          id: `${i}-${b}`, keys: [],
          words: spread
            ? `b[${b + 1}] is drawn anew each time: mean ${show(bias[b])}, standard deviation ${show(spread[b])}.`
            : `b[${b + 1}] = ${show(bias[b])}: added to output ${b + 1}.`,
        })), "own"),
      );
      box.append(line);
      return box;
    };

    const sum = (terms, m, n, M, counts) => {
      const table = make("table", { class: "ensedu-table" });
      const head = make("tr", {}, ...["role", "how many", "numbers"].map((words) => make("th", { scope: "col" }, words)));
      table.append(make("thead", {}, head));
      const body = make("tbody");
      Object.keys(data.roles).forEach((role, k) => {
        const term = terms[role];
        if (!term) return;
        const filled = term.replace("M", M).replace("m", m).replace("n", n);
        body.append(
          make("tr", { "data-role": role }, make("th", { scope: "row" }, data.roles[role]),
            make("td", {}, `${term} = ${filled}`), make("td", {}, String(counts[k]))),
        );
      });
      body.append(make("tr", { "data-role": "total" }, make("th", { scope: "row" }, "total"), make("td"), make("td", {}, String(counts[4]))));
      table.append(body);
      count.replaceChildren(table);
    };

    const follow = () => {
      const [target, state] = location.hash.slice(1).split(":");
      if (target !== "playground" || state === undefined) return;
      const asked = new URLSearchParams(state);
      if (Object.hasOwn(data.methods, asked.get("method"))) chosen.method = asked.get("method");
      for (const key of Object.keys(NAMES)) {
        const value = Number(asked.get(key));
        if (Number.isInteger(value) && value >= 1 && value <= data.most[key]) chosen[key] = value;
      }
      draw();
    };

    root.querySelector(".ensedu-still").remove();
    root.append(controls, add, story, matrices, count, make("p", { class: "ensedu-hint" }, link));
    window.addEventListener("hashchange", follow);
    draw();
    follow();
  };

  const start = () => document.querySelectorAll(".ensedu-playground").forEach(build);
  // The page is parsed; DOMContentLoaded would wait for the formulas.
  if (document.readyState === "loading")
    document.addEventListener("readystatechange", start, { once: true });
  else start();
})();
