// A window of a layer in numbers: what is stored can be changed, and what moves with it lights up.
const STEP = 0.5;
const DRAG = 10; // pixels a step
const LIMIT = 99;
const plainNumber = (value) => String(Math.round(value * 100) / 100 || 0).replace("-", "−");
// Of a computed number as much as a cell has room for; the words below say it all.
const squeezed = (value) => {
  const size = Math.abs(value);
  const places = size >= 10 ? 0 : size >= 1 ? 1 : 2;
  return Number.isInteger(value * 2) && size < 10 ? plainNumber(value) : plainNumber(Number(value.toFixed(places)));
};
const bracketed = (value) => (value < 0 ? `(${plainNumber(value)})` : plainNumber(value));

// What a method has of a layer: each array that is stored, and how an entry of a member's matrix comes about.
const arraysOf = (state, layer) => {
  const method = methodOf(layer, chosen(state));
  const [apart, modulated, spread] = [isApart(method), isModulated(method), spreads(method)];
  const edits = editsOf(state);
  const matrix = layer.matrices[state.matrix];
  const kernel = Math.max(1, Math.round(matrix.size / matrix.m / matrix.n));
  const stored = (kind, i, a, b) => edits[editKey(kind, i, a, b)] ?? storedAt(state, layer, kind, i, a, b);
  // What is drawn: a mean, and so many standard deviations as chance has it.
  const drawn = (kind, i, a) => stored(kind, i, a) + (spread ? stored(`σ${kind}`, i, a) * chance(kind, i, a) : 0);
  const chance = (kind, i, ...place) => Math.round(100 * normal(state.seed, KINDS.indexOf(kind), 1000 + i, ...place)) / 100;
  const made = (i, a, b) => {
    if (apart) return stored("W", i, a, b);
    if (modulated) return stored("W", -1, a, b) * drawn("r", i, a) * drawn("s", i, Math.floor(b / kernel));
    return stored("W", -1, a, b) + (spread ? stored("σW", -1, a, b) * chance("W", i, a, b) : 0);
  };
  return { method, apart, modulated, spread, stored, drawn, chance, made, kernel, matrix };
};

const keyOf = (kind, i, a, b) => [kind, i, a, ...(b === undefined ? [] : [b])].join(" ");
const partsOf = (key) => key.split(" ").map((part, k) => (k ? Number(part) : part));
// Whether an entry of a member's matrix is made of a stored number.
const isPartOf = (stored, made, kernel) => {
  const [kind, i, a, b] = partsOf(stored);
  const [, who, row, column] = partsOf(made);
  if (kind.endsWith("W")) return (i < 0 || i === who) && a === row && b === column;
  if (kind.endsWith("r")) return i === who && a === row;
  return kind.endsWith("s") && i === who && a === Math.floor(column / kernel);
};

// What a number is, as the page says it.
const nameOfNumber = (kind, i, a, b) => {
  const letter = kind.replace("σ", "");
  const name = `${letter}${i < 0 ? "" : SUBSCRIPTS(i + 1)}[${[a, ...(b === undefined ? [] : [b])].map((k) => k + 1).join(", ")}]`;
  return kind.startsWith("σ") ? `σ of ${name}` : name;
};
const tell = (arrays, key, members) => {
  const [kind, i, a, b] = partsOf(key);
  const { stored, drawn, chance, made, modulated, spread, apart, kernel } = arrays;
  if (kind === "made") {
    const name = nameOfNumber("W", i, a, b);
    const value = made(i, a, b);
    if (modulated) {
      const factors = [stored("W", -1, a, b), drawn("r", i, a), drawn("s", i, Math.floor(b / kernel))];
      const names = [nameOfNumber("W", -1, a, b), nameOfNumber("r", i, a), nameOfNumber("s", i, Math.floor(b / kernel))];
      return `${name} = ${names.join(" · ")} = ${factors.map(bracketed).join(" · ")} = ${plainNumber(value)}${spread ? " in this draw" : ""}: computed, never stored.`;
    }
    return `${name} = ${plainNumber(stored("W", -1, a, b))} + ${plainNumber(stored("σW", -1, a, b))} · ${bracketed(chance("W", i, a, b))} = ${plainNumber(value)} in this draw: mean + σ · ε, computed, never stored.`;
  }
  const is = `${nameOfNumber(kind, i, a, b)} = ${plainNumber(stored(kind, i, a, b))}`;
  if (kind.startsWith("σ")) return `${is}: the typical distance of a draw from the mean. “Draw anew” draws again.`;
  if (kind === "b") return `${is}: ${i < 0 ? "stored once, " : `member ${i + 1}’s own, `}added to output ${a + 1}.`;
  if (kind === "r") return `${is}: member ${i + 1}’s own. It scales input ${a + 1}, row ${a + 1} of W${SUBSCRIPTS(i + 1)}.`;
  if (kind === "s") return `${is}: member ${i + 1}’s own. It scales output ${a + 1}, column ${a + 1} of W${SUBSCRIPTS(i + 1)}.`;
  if (apart) return `${is}: stored for member ${i + 1} alone. Change it, and no other member moves.`;
  if (spread && !modulated) return `${is}: the mean of this weight, stored once. All draws lie around it.`;
  return members ? `${is}: stored once, and a part of every member’s matrix. Change it, and all members move.` : `${is}: stored once, for the one network.`;
};

// Small tasks; each says itself whether it is done.
const close = (one, other) => Math.abs(one - other) < 1e-9;
const TASKS = [
  {
    words: "Change one number so that every member moves.",
    check: ({ apart, modulated }, edits) =>
      apart ? ["", "Nothing does that here: no number is stored for more than one member. Share W first."]
        : modulated && Object.keys(edits).some((key) => key.startsWith("W:0,")) ? ["done", "Done. W is a factor of every member’s matrix, so one edit moves all of them."] : ["", ""],
  },
  {
    words: "Change r₁ and s₁, both, so that W₁ stays what it was.",
    check: ({ modulated }, edits, same) => {
      if (!modulated) return ["", "Choose BatchEnsemble first: it has r and s."];
      const touched = ["r:1,", "s:1,"].map((start) => Object.keys(edits).some((key) => key.startsWith(start)));
      if (!touched[0] || !touched[1]) return ["", "Not yet: r₁ and s₁ must both change."];
      return same(0) ? ["done", "Done. What r gains and s loses cancels: many r and s make the same matrix."] : ["", "Not yet: W₁ has changed. Bring it back with the other vector; every entry counts."];
    },
  },
  {
    words: "Make members 1 and 2 the same matrix.",
    check: ({ modulated, made, spread }, edits, same, places, M) => {
      if (!modulated || spread || M < 2) return ["", "Choose BatchEnsemble and two members or more first."];
      const far = places.filter(([a, b]) => !close(made(0, a, b), made(1, a, b))).length;
      return far ? ["", `Not yet: W₁ and W₂ differ in ${far} of ${places.length} entries.`] : ["done", "Done. So few numbers, r and s, tell two members apart."];
    },
  },
];

const makeNumbers = (on) => {
  const shelf = make("div", { class: "shelf" });
  const words = make("p", { class: "told", role: "status" });
  const task = make("p", { class: "task" });
  const window_ = ["row", "column"].map((key) => {
    const range = make("input", { type: "range", min: 0, step: 1, "aria-label": `First ${key}` });
    const output = make("output");
    range.addEventListener("input", () => on.change({ [key]: Number(range.value) }));
    return { key, range, output, element: make("label", { class: "slider" }, make("span", {}, `First ${key}`), range, output) };
  });
  const others = make("span", { class: "others" });
  const tools = make("div", { class: "tools" }, ...window_.map(({ element }) => element), others);
  const element = make("div", { class: "numbers", hidden: "" }, tools, words, shelf, task);
  let cells = new Map();
  let [shape, touched, arrays, current] = ["", null, null, null];
  let [asked, drag] = [0, null];
  const taskWords = make("span");
  const next = make("button", { type: "button", class: "tool" }, "Another task");
  const undo = make("button", { type: "button", class: "tool" }, "Reset numbers");
  next.addEventListener("click", () => {
    asked = (asked + 1) % TASKS.length;
    on.change({});
  });
  undo.addEventListener("click", () => on.change({ edits: "" }));
  task.append(taskWords, next, undo);

  const editing = (key) => editKey(...partsOf(key));
  const edit = (key, value) => {
    const bounded = clamp(Math.round(value * 100) / 100, key.startsWith("σ") ? 0.01 : -LIMIT, LIMIT);
    on.change({ edits: written({ ...editsOf(current), [editing(key)]: bounded }) });
  };
  const touch = (key) => {
    touched = key;
    light();
  };
  const light = () => {
    for (const [key, cell] of cells) {
      const related = touched && key !== touched && (key.startsWith("made") ? !touched.startsWith("made") && isPartOf(touched, key, arrays.kernel) : touched.startsWith("made") && isPartOf(key, touched, arrays.kernel));
      cell.classList.toggle("touched", key === touched);
      cell.classList.toggle("moves", Boolean(related));
    }
    setText(words, touched && cells.has(touched) ? tell(arrays, touched, METHODS[arrays.method].members)
      : "Point at a number to see what it is made of, and what moves with it. Drag, type, or use ↑ and ↓ to change one.");
  };

  const cellOf = (key, name) => {
    const stored = !key.startsWith("made");
    const cell = stored ? make("input", { type: "text", inputmode: "decimal", autocomplete: "off", class: "number", "aria-label": name }) : make("button", { type: "button", class: "number", "aria-label": name });
    for (const event of ["focus", "pointerenter"]) cell.addEventListener(event, () => drag || touch(key));
    cells.set(key, cell);
    if (!stored) return cell;
    const value = () => arrays.stored(...partsOf(key));
    cell.addEventListener("change", () => {
      const typed = Number(cell.value.replace(",", ".").replace("−", "-"));
      if (cell.value.trim() && Number.isFinite(typed)) edit(key, typed);
      else cell.value = plainNumber(value());
    });
    cell.addEventListener("keydown", (event) => {
      const step = { ArrowUp: 1, ArrowDown: -1 }[event.key];
      if (event.key === "Enter") cell.blur();
      if (event.key === "Escape") {
        cell.value = plainNumber(value());
        event.stopPropagation();
        cell.blur();
      }
      if (!step) return;
      event.preventDefault();
      edit(key, value() + step * (event.shiftKey ? STEP / 5 : STEP));
      cell.value = plainNumber(value());
    });
    cell.addEventListener("pointerdown", (event) => {
      if (!event.button) drag = { key, x: event.clientX, from: value(), steps: 0, id: event.pointerId, cell };
    });
    cell.addEventListener("pointermove", (event) => {
      if (!drag || event.pointerId !== drag.id) return;
      const steps = Math.trunc((event.clientX - drag.x) / DRAG);
      if (steps === drag.steps) return;
      cell.setPointerCapture(event.pointerId);
      drag.steps = steps;
      edit(key, drag.from + steps * STEP);
      cell.value = plainNumber(value());
      cell.setSelectionRange?.(0, 0);
    });
    for (const event of ["pointerup", "pointercancel"]) cell.addEventListener(event, () => (drag = null));
    return cell;
  };
  const grid = (look, label, rows, columns, keyAt, own) => {
    const box = make("div", { class: `grid ${look}`, role: "group", "aria-label": label, style: `--columns: ${columns}` });
    for (let k = 0; k < rows * columns; k += 1) {
      const key = keyAt(Math.floor(k / columns), k % columns);
      const [kind, i, a, b] = partsOf(key);
      box.append(cellOf(key, nameOfNumber(kind === "made" ? "W" : kind, i, a, b)));
    }
    return own ? make("div", { class: `part ${own}` }, make("b", {}, label), box) : box;
  };

  const build = (state, layer) => {
    cells = new Map();
    const { apart, modulated, spread, matrix, kernel, method } = arrays;
    const [first, from] = [state.row, state.column];
    const rows = Math.min(MOST.window, matrix.m - first);
    const columns = Math.min(MOST.window, Math.round(matrix.size / matrix.m) - from);
    const outputs = Math.floor((from + columns - 1) / kernel) - Math.floor(from / kernel) + 1;
    const s0 = Math.floor(from / kernel);
    const count = METHODS[method].members || (spread && !modulated) ? state.M : 0;
    const shown = Math.min(count, 4);
    const begin = Math.floor(state.member / 4) * 4;
    const members = METHODS[method].members;
    const parts = [];
    if (!apart) {
      const all = [grid("shared", spread && !modulated ? "means μ" : "W", rows, columns, (a, b) => keyOf("W", -1, first + a, from + b), "whole")];
      if (spread && !modulated) all.push(grid("scales", "standard deviations σ", rows, columns, (a, b) => keyOf("σW", -1, first + a, from + b), "whole"));
      if (!members && matrix.bias) all.push(grid("biases", "biases", 1, outputs, (_, k) => keyOf("b", -1, s0 + k), "whole"));
      parts.push(make("div", { class: "side once" }, make("h2", {}, "Stored once, for all"), make("div", { class: "row" }, ...all)));
    }
    const each = [];
    for (let i = begin; i < Math.min(begin + shown, count); i += 1) {
      const block = make("div", { class: "block" });
      const title = make("b", { class: "who" }, `${members ? "member" : "sample"} ${i + 1}`);
      const vector = (kind, look) => kind.endsWith("r")
        ? grid(`${look} down`, `${kind}${SUBSCRIPTS(i + 1)}`, rows, 1, (a) => keyOf(kind, i, first + a), `at-${kind.replace("σ", "d")}`)
        : grid(look, `${kind}${SUBSCRIPTS(i + 1)}`, 1, outputs, (_, k) => keyOf(kind, i, s0 + k), `at-${kind.replace("σ", "d")}`);
      block.append(title);
      if (modulated) block.append(vector("s", "own"), vector("r", "own"));
      if (modulated && spread) block.append(vector("σs", "scales"), vector("σr", "scales"));
      block.append(make("div", { class: "at-W" }, apart
        ? grid("own", `W${SUBSCRIPTS(i + 1)}`, rows, columns, (a, b) => keyOf("W", i, first + a, from + b))
        : grid("made", `W${SUBSCRIPTS(i + 1)}, computed`, rows, columns, (a, b) => keyOf("made", i, first + a, from + b))));
      if (members && matrix.bias) block.append(grid("biases", "b", 1, outputs, (_, k) => keyOf("b", i, s0 + k), "at-b"));
      each.push(block);
    }
    if (each.length) parts.push(make("div", { class: "side each" }, make("h2", {}, members ? "Stored by each member; dashed: computed" : "Drawn anew, not stored"), make("div", { class: "row" }, ...each)));
    shelf.replaceChildren(...parts);
    others.replaceChildren();
    if (count > 4) for (const [sign, to] of [["‹", begin - 4], ["›", begin + 4]]) {
      const button = make("button", { type: "button", class: "tool", "aria-label": sign === "‹" ? "Members before" : "Members after" }, sign);
      button.addEventListener("click", () => on.change({ member: clamp(to, 0, count - 1) }));
      others.append(button);
    }
    if (count > 4) others.append(` ${begin + 1} to ${Math.min(begin + 4, count)} of ${count}`);
    shelf.style.setProperty("--own", `var(--${chosen(state)})`);
    const ends = [matrix.m, Math.round(matrix.size / matrix.m)];
    window_.forEach(({ element: label, range, key }, k) => {
      label.hidden = ends[k] <= MOST.window || Boolean(DATA.values);
      range.max = Math.max(0, ends[k] - MOST.window);
      range.value = state[key];
    });
  };

  const show = (state, layer) => {
    element.hidden = state.view !== "numbers";
    if (element.hidden) return;
    current = state;
    arrays = arraysOf(state, layer);
    const { matrix, method } = arrays;
    const now = [method, chosen(state), state.M, state.layer, state.matrix, matrix.m, matrix.size, state.row, state.column, Math.floor(state.member / 4)].join(" ");
    if (now !== shape) {
      shape = now;
      touched = null;
      build(state, layer);
    }
    const most = { W: 3, r: 2, s: 2, b: 2 };
    for (const [key, cell] of cells) {
      const [kind, ...place] = partsOf(key);
      const value = kind === "made" ? arrays.made(...place) : arrays.stored(kind, ...place);
      const text = plainNumber(value);
      if (kind === "made") setText(cell, squeezed(value));
      else if (document.activeElement !== cell || drag) cell.value = text;
      cell.style.setProperty("--strength", `${Math.round(6 + 30 * Math.min(1, Math.abs(value) / (most[kind] ?? 3)))}%`);
      cell.classList.toggle("edited", kind !== "made" && Object.hasOwn(editsOf(state), editing(key)));
    }
    window_.forEach(({ output, key }, k) => setText(output, `${state[key] + 1} of ${digits([matrix.m, Math.round(matrix.size / matrix.m)][k])}`));
    const before = arraysOf({ ...state, edits: "" }, layer);
    const places = [...cells.keys()].filter((key) => key.startsWith("made 0 ")).map((key) => partsOf(key).slice(2));
    const [done, said] = TASKS[asked].check(arrays, editsOf(state), (i) => places.every(([a, b]) => close(arrays.made(i, a, b), before.made(i, a, b))), places, state.M);
    setText(taskWords, `${done ? "✓ " : ""}Task: ${TASKS[asked].words} ${said}`);
    task.classList.toggle("done", Boolean(done));
    light();
  };
  // It grows out of where its matrix stands in the picture.
  const grow = (box) => {
    const whole = shelf.querySelector(".grid");
    if (still.matches || !whole || !box) return;
    const [there, here] = [whole.getBoundingClientRect(), element.getBoundingClientRect()];
    const scale = clamp((box.w * MOST.window) / Math.max(MOST.window, box.tile?.columns ?? 1) / there.width, 0.05, 1);
    shelf.animate([
      { transformOrigin: "0 0", transform: `translate(${box.x - (there.left - here.left) * scale}px, ${box.y - (there.top - here.top) * scale}px) scale(${scale})`, opacity: 0.3 },
      { transformOrigin: "0 0", transform: "none", opacity: 1 },
    ], { duration: WAY, easing: "cubic-bezier(0.3, 0, 0.2, 1)" });
  };
  return { element, show, grow };
};
