// A window of a layer in numbers: what is stored can be changed, and what moves with it lights up.
const STEP = 0.5;
const DRAG = 10; // pixels a step
const LIMIT = 99;
const plainNumber = (value) => String(Math.round(value * 100) / 100 || 0).replace("-", "−");
// Of a computed number as much as a cell has room for; the words below say it all.
const squeezed = (value) => {
  const size = Math.abs(value);
  const places = size >= 10 ? 0 : size >= 1 ? 1 : 2;
  return Number.isInteger(value * 2) && size < 10 ? plainNumber(value) : plainNumber(Number(value.toFixed(places))).replace(/^(−?)0\./, "$1.");
};
const bracketed = (value) => (value < 0 ? `(${plainNumber(value)})` : plainNumber(value));

// What a method has of a layer: each array that is stored, and how an entry of a member's matrix comes about.
const arraysOf = (state, layer) => {
  const method = methodOf(layer, chosen(state));
  const [apart, modulated, spread, members] = [isApart(method), isModulated(method), spreads(method), METHODS[method].members];
  const edits = editsOf(state);
  const matrix = sheetsOf(layer)[state.matrix];
  const place = (a, b) => placesOf(matrix, a, b);
  const stored = (kind, i, a, b) => edits[editKey(kind, i, a, b)] ?? storedAt(state, layer, kind, i, a, b);
  // What is drawn: a mean, and so many standard deviations as chance has it.
  const drawn = (kind, i, a) => stored(kind, i, a) + (spread ? stored(`σ${kind}`, i, a) * chance(kind, i, a) : 0);
  const chance = (kind, i, ...place) => chanceOf(state, kind, i, ...place);
  const made = (i, a, b) => {
    if (apart) return stored("W", i, a, b);
    const [input, output] = place(a, b);
    if (modulated) return stored("W", -1, a, b) * drawn("r", i, input) * drawn("s", i, output);
    return stored("W", -1, a, b) + (spread ? stored("σW", -1, a, b) * chance("W", i, a, b) : 0);
  };
  const offset = (i, k) => (matrix.bias ? stored("b", members ? i : -1, k) + (spread && !modulated ? stored("σb", -1, k) * chance("b", i, k) : 0) : 0);
  const output = (i, k) => offset(i, k) + sumOf(matrix.m, (a) => stored("x", -1, a) * made(i, a, k));
  return { method, members, apart, modulated, spread, stored, drawn, chance, made, offset, output, place, matrix };
};

const sumOf = (length, of) => Array.from({ length }, (_, k) => of(k)).reduce((sum, value) => sum + value, 0);
const keyOf = (kind, i, a, b) => [kind, i, a, ...(b === undefined ? [] : [b])].join(" ");
const partsOf = (key) => key.split(" ").map((part, k) => (k ? Number(part) : part));
const isMade = (key) => key.startsWith("made") || key.startsWith("y");
// Whether an entry of a member's matrix, or an output, is made of a number.
const isPartOf = (stored, made, place) => {
  const [kind, i, a, b] = partsOf(stored);
  const [what, who, row, column] = partsOf(made);
  if (kind === "x" || what === "y") {
    if (what !== "y") return false;
    if (kind === "x" || (kind.endsWith("r") && i === who)) return true;
    return (i < 0 || i === who) && (kind.endsWith("W") || kind === "made" ? b : a) === row;
  }
  if (kind.endsWith("W")) return (i < 0 || i === who) && a === row && b === column;
  return /[rs]$/.test(kind) && i === who && a === place(row, column)[kind.endsWith("r") ? 0 : 1];
};

// What a number is, as the page says it.
const nameOfNumber = (kind, i, a, b) => {
  const letter = kind.replace("σ", "");
  const name = `${letter}${i < 0 ? "" : SUBSCRIPTS(i + 1)}[${[a, ...(b === undefined ? [] : [b])].map((k) => k + 1).join(", ")}]`;
  return kind.startsWith("σ") ? `σ of ${name}` : name;
};
const tell = (arrays, key, members) => {
  const [kind, i, a, b] = partsOf(key);
  const { stored, drawn, chance, made, modulated, spread, apart, place } = arrays;
  const is = isMade(key) ? "" : `${nameOfNumber(kind, i, a, b)} = ${plainNumber(stored(kind, i, a, b))}`;
  if (kind === "x") return `${is}: an input, the same for all; it is not stored. It multiplies row ${a + 1} of every matrix.`;
  if (kind === "y") {
    const terms = Array.from({ length: arrays.matrix.m }, (_, k) => `${plainNumber(stored("x", -1, k))} · ${bracketed(made(i, k, a))}`);
    return `${nameOfNumber("y", i, a)} = ${terms.join(" + ")}${arrays.matrix.bias ? ` + ${bracketed(arrays.offset(i, a))}` : ""} = ${plainNumber(arrays.output(i, a))}: inputs times a column of the matrix, and the bias.`;
  }
  if (kind === "made") {
    const name = nameOfNumber("W", i, a, b);
    const value = made(i, a, b);
    if (modulated) {
      const [input, output] = place(a, b);
      const factors = [stored("W", -1, a, b), drawn("r", i, input), drawn("s", i, output)];
      const names = [nameOfNumber("W", -1, a, b), nameOfNumber("r", i, input), nameOfNumber("s", i, output)];
      return `${name} = ${names.join(" · ")} = ${factors.map(bracketed).join(" · ")} = ${plainNumber(value)}${spread ? " in this draw" : ""}: computed, never stored.`;
    }
    return `${name} = ${plainNumber(stored("W", -1, a, b))} + ${plainNumber(stored("σW", -1, a, b))} · ${bracketed(chance("W", i, a, b))} = ${plainNumber(value)} in this draw: mean + σ · ε, computed, never stored.`;
  }
  if (kind.startsWith("σ")) return `${is}: the typical distance of a draw from the mean. “Draw anew” takes another sample.`;
  if (kind === "b") return `${is}: ${i < 0 ? "stored once, " : `member ${i + 1}’s own, `}added to output ${a + 1}.`;
  if (kind === "r") return `${is}: member ${i + 1}’s own. It scales input ${a + 1}, row ${a + 1} of W${SUBSCRIPTS(i + 1)}.`;
  if (kind === "s") return `${is}: member ${i + 1}’s own. It scales output ${a + 1}, column ${a + 1} of W${SUBSCRIPTS(i + 1)}.`;
  if (apart) return `${is}: stored for member ${i + 1} alone. Change it, and no other member moves.`;
  if (spread && !modulated) return `${is}: the mean of this weight, stored once. All draws lie around it.`;
  return members ? `${is}: stored once, and a part of every member’s matrix. Change it, and all members move.` : `${is}: stored once.`;
};

// Small tasks; each says itself whether a method has it, and whether it is done.
const close = (one, other) => Math.abs(one - other) < 1e-9;
const TASKS = [
  {
    words: "Change one number so that every member moves.",
    fits: ({ modulated }) => modulated,
    check: (_, edits) => (Object.keys(edits).some((key) => key.startsWith("W:0,")) ? ["done", "Done. W is a factor of every member’s matrix, so one edit moves all of them."] : ["", ""]),
  },
  {
    words: "Change r₁ and s₁, both, so that W₁ stays what it was.",
    fits: ({ modulated, spread }) => modulated && !spread,
    check: (_, edits, same) => {
      const touched = ["r:1,", "s:1,"].map((start) => Object.keys(edits).some((key) => key.startsWith(start)));
      if (!touched[0] || !touched[1]) return ["", "Not yet: r₁ and s₁ must both change."];
      return same(0) ? ["done", "Done. What r gains and s loses cancels: many r and s make the same matrix."] : ["", "Not yet: W₁ has changed. Bring it back with the other vector; every entry counts."];
    },
  },
  {
    words: "Make members 1 and 2 the same matrix.",
    fits: ({ modulated, spread }, M) => modulated && !spread && M > 1,
    check: ({ made }, _, __, places) => {
      const far = places.filter(([a, b]) => !close(made(0, a, b), made(1, a, b))).length;
      return far ? ["", `Not yet: W₁ and W₂ differ in ${far} of ${places.length} entries.`] : ["done", "Done. So few numbers, r and s, tell two members apart."];
    },
  },
];

// So many members stand beside each other in a room so wide, or below each other on a phone.
const perPage = (state, { matrix, apart, modulated, spread }, room) => {
  if (room < NARROW) return 2;
  const [cell, gaps] = document.documentElement.clientWidth <= 1000 ? [32, 32] : [44, 52]; // as the style has it
  const wide = Math.min(windowOf(state), columnsOf(matrix)) * cell + gaps;
  const block = wide + (modulated ? (spread ? 2 : 1) * (cell + 6) : 0);
  const once = (apart ? 0 : spread && !modulated ? 2 : 1) * wide + cell;
  return clamp(Math.floor((room + gaps / 2 - (room - once < block ? 0 : once)) / block), 1, 4);
};
const beginOf = ({ member }, each) => Math.floor(member / each) * each;

const makeNumbers = (on) => {
  const shelf = make("div", { class: "shelf" });
  const words = make("p", { class: "told", role: "status" });
  const task = make("p", { class: "task" });
  const window_ = ["row", "column"].map((key) => {
    const range = make("input", { type: "range", min: 0, step: 1, "aria-label": `First ${key}` });
    const output = make("output");
    range.addEventListener("input", () => on.change({ [key]: Number(range.value) }));
    return { key, range, output, element: make("label", { class: "slider sized" }, make("span", {}, `First ${key}`), range, output) };
  });
  const others = make("span", { class: "others" });
  const origin = make("span", { class: "note" });
  const tools = make("div", { class: "tools" }, origin, ...window_.map(({ element }) => element), others);
  const element = make("div", { class: "numbers", hidden: "" }, shelf, words, tools, task);
  let cells = new Map();
  let [shape, touched, arrays, before, current] = ["", null, null, null, null];
  let [asked, drag] = [0, null];
  const taskWords = make("span");
  const next = make("button", { type: "button", class: "tool" }, "Another task");
  const undo = make("button", { type: "button", class: "tool" }, "Reset numbers");
  next.addEventListener("click", () => {
    asked += 1;
    ask();
  });
  undo.addEventListener("click", () => on.change({ edits: "" }));
  task.append(taskWords, next, undo);

  const editing = (key) => editKey(...partsOf(key));
  const edit = (key, value) => {
    const bounded = clamp(Math.round(value * 100) / 100, key.startsWith("σ") ? 0.01 : -LIMIT, LIMIT);
    on.change({ edits: written({ ...editsOf(current), [editing(key)]: bounded }) });
    cells.get(key).value = plainNumber(bounded);
  };
  const touch = (key) => {
    touched = key;
    light();
  };
  const light = () => {
    for (const [key, cell] of cells) {
      const related = touched && key !== touched && ((isMade(key) && isPartOf(touched, key, arrays.place)) || (isMade(touched) && isPartOf(key, touched, arrays.place)));
      cell.classList.toggle("touched", key === touched);
      cell.classList.toggle("moves", Boolean(related));
    }
    setText(words, touched && cells.has(touched) ? tell(arrays, touched, METHODS[arrays.method].members)
      : "Point at a number: what moves with it lights up. Drag, type, ↑ and ↓ change it.");
  };

  const cellOf = (key, name) => {
    const stored = !isMade(key);
    const cell = stored ? make("input", { type: "text", inputmode: "decimal", autocomplete: "off", class: "number", "aria-label": name }) : make("button", { type: "button", class: "number", "aria-label": name });
    for (const event of ["focus", "pointerenter"]) cell.addEventListener(event, () => drag || touch(key));
    // What has the focus is told again.
    cell.addEventListener("pointerleave", () => drag || touch([...cells].find(([, one]) => one === document.activeElement)?.[0] ?? key));
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
    });
    // The cell that is pressed keeps the pointer, however far a flick goes; what is not a drag is a press to type.
    cell.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      drag = { x: event.clientX, y: event.clientY, from: value(), steps: 0 };
      cell.setPointerCapture(event.pointerId);
    });
    cell.addEventListener("mousedown", (event) => {
      if (event.button || document.activeElement === cell) return;
      event.preventDefault(); // no text is selected on the way
      cell.focus();
      cell.select();
    });
    cell.addEventListener("pointermove", (event) => {
      if (!drag || !cell.hasPointerCapture(event.pointerId)) return;
      const steps = Math.trunc((event.clientX - drag.x + drag.y - event.clientY) / DRAG);
      if (steps === drag.steps) return;
      drag.steps = steps;
      edit(key, drag.from + steps * STEP);
      cell.setSelectionRange(0, 0);
    });
    for (const event of ["pointerup", "pointercancel"]) cell.addEventListener(event, () => (drag = null));
    return cell;
  };
  const grid = (look, label, rows, columns, keyAt, own, name) => {
    const box = make("div", { class: `grid ${look}`, role: "group", "aria-label": label, style: `--columns: ${columns}` });
    for (let k = 0; k < rows * columns; k += 1) {
      const key = keyAt(Math.floor(k / columns), k % columns);
      const [kind, i, a, b] = partsOf(key);
      box.append(cellOf(key, nameOfNumber(kind === "made" ? "W" : kind, i, a, b)));
    }
    return own ? make("div", { class: `part ${own}` }, make("b", {}, name), box) : box;
  };

  const build = (state, layer) => {
    cells = new Map();
    const { apart, modulated, spread, matrix, place, members } = arrays;
    const [first, from] = [state.row, state.column];
    const [high, wide] = [rowsOf(matrix), columnsOf(matrix)];
    const side = windowOf(state);
    const rows = Math.min(side, high - first);
    // A window ends where its group does: the next has rows of its own.
    const group = wide / groupsOf(matrix);
    const columns = Math.min(side, group - (from % group));
    const [[r0, s0], [, last]] = [from, from + columns - 1].map((column) => place(first, column));
    const outputs = last - s0 + 1;
    const doubled = spread && !modulated;
    const count = members || doubled ? state.M : 0;
    const each = perPage(state, arrays, on.room());
    const begin = beginOf(state, each);
    const end = Math.min(begin + each, count);
    const sheet = (look, kind, i, label) => make("div", { class: "at-W" }, grid(look, label, rows, columns, (a, b) => keyOf(kind, i, first + a, from + b)));
    const across = (look, kind, i, name, at) => grid(look, name, 1, outputs, (_, k) => keyOf(kind, i, s0 + k), `at-${at}`, name);
    const down = (look, kind, i, name, at) => grid(`${look} down`, name, rows, 1, (a) => keyOf(kind, i, r0 + a), `at-${at}`, name);
    // Where all of a layer is seen, its inputs can be typed, and each member answers.
    const whole = high <= side && wide <= side && !matrix.kernel.length && group === wide && layer.matrices.length;
    const once = [...(whole ? [down("input", "x", -1, "x", "r")] : [])];
    for (const row of modulated ? ["s", ...(spread ? ["ds"] : [])] : []) once.push(make("i", { class: `at-${row}` })); // as high as a member's
    if (!apart) once.push(sheet("shared", "W", -1, doubled ? "means of W" : "W"));
    if (!members && matrix.bias) once.push(across("biases", "b", -1, "b", "b"));
    if (!count && whole) once.push(across("made", "y", -1, "y", "y"));
    const left = [make("div", { class: "block" }, make("b", { class: "who" }, apart ? "input" : doubled ? "means μ" : layer.matrices.length ? "W" : layer.table ? "table" : "numbers"), ...once)];
    if (doubled) {
      left.push(make("div", { class: "block" }, make("b", { class: "who" }, "standard deviations σ"), sheet("scales", "σW", -1, "standard deviations"),
        ...(matrix.bias ? [across("scales", "σb", -1, "σ", "b")] : [])));
    }
    const parts = [];
    if (!apart || whole) parts.push(make("div", { class: "side once" }, make("h2", {}, apart ? "The same for all" : "Stored once"), make("div", { class: "row" }, ...left)));
    const blocks = [];
    for (let i = begin; i < end; i += 1) {
      const [at, made] = [SUBSCRIPTS(i + 1), []];
      if (modulated) made.push(across("own", "s", i, `s${at}`, "s"), down("own", "r", i, `r${at}`, "r"));
      if (modulated && spread) made.push(across("scales", "σs", i, "σ", "ds"), down("scales", "σr", i, "σ", "dr"));
      made.push(apart ? sheet("own", "W", i, `W${at}`) : sheet("made", "made", i, `W${at}, computed`));
      if (members && matrix.bias) made.push(across("biases", "b", i, `b${at}`, "b"));
      if (whole) made.push(across("made", "y", i, `y${at}`, "y"));
      blocks.push(make("div", { class: "block" }, make("b", { class: "who" }, `${members ? "member" : "sample"} ${i + 1}`), ...made));
    }
    const computed = modulated ? "dashed, computed: W ∘ r sᵀ" : whole ? "dashed, computed: y" : "";
    if (blocks.length) parts.push(make("div", { class: "side each" }, make("h2", {}, members ? "Stored by each member " : "Drawn anew, not stored ", make("small", {}, computed)), make("div", { class: "row" }, ...blocks)));
    shelf.replaceChildren(...parts);
    others.replaceChildren();
    if (count > end - begin) {
      for (const [sign, label, to] of [["‹", "Members before", begin - each], ["›", "Members after", end]]) {
        const button = make("button", { type: "button", class: "tool", "aria-label": label, ...(to < 0 || to >= count ? { disabled: "" } : {}) }, sign);
        button.addEventListener("click", () => on.change({ member: clamp(to, 0, count - 1) }));
        others.append(button);
      }
      others.append(` ${members ? "members" : "samples"} ${begin + 1} to ${end} of ${count}`);
    }
    const known = DATA.values?.[nameOfMatrix(layer, matrix)]?.corner;
    setText(origin, DATA.sizes ? "Example numbers." : known && !apart ? "W is your model’s; the other numbers are examples." : "Example numbers, not your model’s.");
    shelf.style.setProperty("--own", `var(--${chosen(state)})`);
    const ends = [high, wide];
    window_.forEach(({ element: label, range, key }, k) => {
      label.hidden = ends[k] <= side || Boolean(DATA.values);
      range.max = Math.max(0, ends[k] - side);
      range.value = state[key];
    });
  };

  const show = (state, layer) => {
    element.hidden = state.view !== "numbers";
    if (element.hidden) return;
    current = state;
    arrays = arraysOf(state, layer);
    const { matrix, method } = arrays;
    const each = perPage(state, arrays, on.room());
    const now = [method, chosen(state), state.M, state.layer, state.matrix, matrix.m, matrix.size, state.row, state.column, beginOf(state, each), each, windowOf(state)].join(" ");
    if (now !== shape) {
      shape = now;
      touched = null;
      build(state, layer);
    }
    const most = { W: 3, r: 2, s: 2, b: 2, x: 2, y: 12 };
    for (const [key, cell] of cells) {
      const [kind, ...place] = partsOf(key);
      const value = kind === "made" ? arrays.made(...place) : kind === "y" ? arrays.output(...place) : arrays.stored(kind, ...place);
      const text = plainNumber(value);
      if (isMade(key)) setText(cell, squeezed(value));
      else if (document.activeElement !== cell || drag) cell.value = text.length > 4 ? text.replace(/^(−?)0\./, "$1.") : text;
      cell.style.setProperty("--strength", `${Math.round(6 + 30 * Math.min(1, Math.abs(value) / (most[kind] ?? 3)))}%`);
      cell.classList.toggle("edited", !isMade(key) && Object.hasOwn(editsOf(state), editing(key)));
    }
    window_.forEach(({ output, key }, k) => setText(output, `${state[key] + 1} of ${digits([rowsOf(matrix), columnsOf(matrix)][k])}`));
    before = arraysOf({ ...state, edits: "" }, layer);
    ask();
    light();
  };
  const ask = () => {
    const offered = TASKS.filter(({ fits }) => fits(arrays, current.M));
    next.hidden = offered.length < 2;
    task.classList.remove("done");
    if (!offered.length) return setText(taskWords, "");
    const { words, check } = offered[asked % offered.length];
    const places = [...cells.keys()].filter((key) => key.startsWith("made 0 ")).map((key) => partsOf(key).slice(2));
    const [done, said] = check(arrays, editsOf(current), (i) => places.every(([a, b]) => close(arrays.made(i, a, b), before.made(i, a, b))), places);
    setText(taskWords, `${done ? "✓ " : ""}Task: ${words} ${said}`);
    return task.classList.toggle("done", Boolean(done));
  };
  // It grows out of where its matrix stands in the picture.
  const grow = (box) => {
    const whole = shelf.querySelector(".grid");
    if (still.matches || !whole || !box) return;
    const [there, here] = [whole.getBoundingClientRect(), element.getBoundingClientRect()];
    const scale = clamp((box.w * windowOf(current)) / Math.max(windowOf(current), box.tile?.columns ?? 1) / there.width, 0.05, 1);
    shelf.animate([
      { transformOrigin: "0 0", transform: `translate(${box.x - (there.left - here.left) * scale}px, ${box.y - (there.top - here.top) * scale}px) scale(${scale})`, opacity: 0.3 },
      { transformOrigin: "0 0", transform: "none", opacity: 1 },
    ], { duration: WAY, easing: "cubic-bezier(0.3, 0, 0.2, 1)" });
  };
  return { element, show, grow };
};
