// A window of a layer in numbers: what is stored can be changed, and what moves with it lights up.
const STEP = 0.5;
const DRAG = 10; // pixels a step
const LIMIT = 99;
let decimals = 2; // a number has: more where those of the matrix are small, which cells then count in a unit
const rounded = (value) => Math.round(value * 10 ** decimals) / 10 ** decimals || 0;
const plainNumber = (value) => String(rounded(value)).replace("-", "−");
const unitOf = (key, { spread, modulated }) => (decimals > 2 && (key[0] === "W" || (key.startsWith("made") && (modulated || !spread))) ? 10 ** -decimals : 1);
// Of a computed number as much as a cell has room for, with `fine` a place more or less; the words say it all.
const squeezed = (value, unit, fine) => {
  const [count, size] = [value / unit, Math.abs(value / unit)];
  const places = size < 1 && unit === 1 ? 2 + Math.min(0, fine) : (size < 10) + (size < 100) * Math.max(0, fine);
  return plainNumber(Number.isInteger(count * 2) && size < 10 ? count : Number(count.toFixed(places)));
};
const bracketed = (value) => (value < 0 ? `(${plainNumber(value)})` : plainNumber(value));

// What a method has of a layer: each array that is stored, and how an entry of a member's matrix comes about.
const arraysOf = (state, layer) => {
  const method = methodOf(layer, chosen(state));
  const [apart, modulated, spread, drops, members] = [isApart(method), isModulated(method), spreads(method), leavesOut(state), METHODS[method].has_members];
  const edits = editsOf(state);
  const matrix = sheetsOf(layer)[state.matrix];
  const place = (a, b) => placesOf(matrix, a, b);
  const stored = (kind, i, ...at) => edits[editKey(kind, i, ...at)] ?? rounded(storedAt(state, layer, kind, i, ...at));
  const chance = (kind, i, ...at) => chanceOf(state, kind, i, ...at);
  const random = (kind) => spread && (modulated ? "rs" : "Wb").includes(kind);
  const owner = (kind, i) => ((kind === "W" ? apart : members) ? i : -1);
  // What a member or a sample has: what is stored; or what is drawn, a mean and so many standard deviations as chance has it.
  const entry = (kind, i, ...at) => {
    if (kind === "z") return maskOf(state, i, ...at);
    const mean = stored(kind, owner(kind, i), ...at);
    return random(kind) ? Math.round(100 * (mean + stored(`σ${kind}`, owner(kind, i), ...at) * chance(kind, i, ...at))) / 100 : mean;
  };
  // The letters and places of what is multiplied to an entry of a member's matrix.
  const factors = (a, b, [input, output] = place(a, b)) => [["W", a, b], ...(modulated ? [["r", input], ["s", output]] : drops ? [["z", input]] : [])];
  const made = (i, a, b) => factors(a, b).reduce((product, [kind, ...at]) => product * entry(kind, i, ...at), 1);
  const offset = (i, k) => (matrix.bias ? entry("b", i, k) : 0);
  // The inputs that an output adds up: those in sight, and the others are 0.
  const rows = Array.from({ length: Math.min(windowOf(state), rowsOf(matrix) - state.row) }, (_, a) => state.row + a);
  const output = (i, k) => rows.reduce((sum, a) => sum + stored("x", -1, a) * made(i, a, k), offset(i, k));
  const valueOf = (key, [kind, ...at] = partsOf(key)) => (kind === "made" ? made(...at) : kind === "y" ? output(...at) : isMade(key) ? entry(kind[1], ...at) : stored(kind, ...at));
  return { method, members, apart, modulated, spread, drops, varies: spread || drops, stored, chance, random, owner, entry, factors, made, offset, rows, place, matrix, valueOf };
};

const keyOf = (...parts) => parts.join(" ");
const partsOf = (key) => key.split(" ").map((part, k) => (k ? Number(part) : part));
const isMade = (key) => /^[dmy]/.test(key); // drawn, an entry of a member's matrix, or an output
// Whether a number is made of another.
const isPartOf = (part, of, place) => {
  const [kind, i, a, b] = partsOf(part);
  const [what, who, row, column] = partsOf(of);
  const letter = kind.replace(/^[σd]/, "");
  if (i >= 0 && i !== who) return false;
  if (what[0] === "d") return kind[0] !== "d" && letter === what[1] && a === row;
  if (what === "y") return "xrz".includes(letter) || (letter === "W" || kind === "made" ? b : a) === row;
  if (letter === "W") return a === row && b === column;
  return "rsz".includes(letter) && a === place(row, column)[letter === "s" ? 1 : 0];
};

// What a number is, as the page says it.
const nameOfNumber = ({ random, method }, kind, i, ...at) => {
  const letter = kind === "made" ? madeName(method) : kind.replace(/^[σd]/, "");
  return `${kind[0] === "σ" ? "σ of " : random(kind) ? "μ of " : ""}${letter}${i < 0 ? "" : SUBSCRIPTS(i + 1)}[${at.map((k) => k + 1).join(", ")}]`;
};
// An equation, and what it means.
const tell = (arrays, key) => {
  const [kind, i, ...at] = partsOf(key);
  const { stored, chance, random, owner, entry, factors, made, members, modulated, spread, apart } = arrays;
  const [name, row, value] = [nameOfNumber(arrays, kind, i, ...at), at[0] + 1, plainNumber(arrays.valueOf(key))];
  const is = `${name} = ${value}`;
  if (kind === "x") return [is, `An input, the same for all and not stored. It multiplies row ${row} of every matrix.`];
  if (kind === "y") {
    const terms = arrays.rows.map((a) => `${plainNumber(stored("x", -1, a))} · ${bracketed(made(i, a, at[0]))}`);
    return [`${name} = ${terms.join(" + ")}${arrays.matrix.bias ? ` + ${bracketed(arrays.offset(i, at[0]))}` : ""} = ${value}`, "Inputs times a column of the matrix, and the bias."];
  }
  const whose = (letter) => (letter === "s" ? `output ${row}, column ${row}` : `input ${row}, row ${row}`) + ` of ${madeName(arrays.method)}${SUBSCRIPTS(i + 1)}`;
  if (kind === "dz") return [is, `This sample ${entry("z", i, ...at) ? "keeps" : "leaves out"} ${whose("z")}. Here half of them are left out at random, and the others count twice.`];
  const drawn = kind === "made" ? "W" : kind[1];
  if (isMade(key) && random(drawn)) {
    const from = owner(drawn, i);
    return [`${name} = μ + σ · ε = ${plainNumber(stored(drawn, from, ...at))} + ${plainNumber(stored(`σ${drawn}`, from, ...at))} · ${bracketed(chance(drawn, i, ...at))} = ${value}`, `Computed in this draw, never stored.${modulated ? ` It scales ${whose(drawn)}.` : ""}`];
  }
  if (kind === "made") {
    const parts = factors(...at);
    const names = parts.map(([letter, ...place]) => nameOfNumber({ random: () => false }, letter, letter === "W" ? -1 : i, ...place));
    return [`${name} = ${names.join(" · ")} = ${parts.map(([letter, ...place]) => bracketed(entry(letter, i, ...place))).join(" · ")} = ${value}`, `Computed${arrays.varies ? " in this draw" : ""}, never stored.`];
  }
  if (kind[0] === "σ") return [is, `The typical distance of a draw from μ. Stored for it is ρ = ${plainNumber(Math.log(Math.expm1(stored(kind, i, ...at))))}, and σ = log(1 + e^ρ) is always positive.`];
  if (random(kind)) return [is, `Stored ${members ? "by this member" : "once"}. All draws lie around it.`];
  if (kind === "b") return [is, `${i < 0 ? "Stored once" : `Member ${i + 1}’s own`}, added to output ${row}.`];
  if ("rs".includes(kind)) return [is, `Member ${i + 1}’s own. It scales ${whose(kind)}.`];
  if (apart) return [is, `Stored for member ${i + 1} alone. Change it, and no other member moves.`];
  return [is, members ? "Stored once, and a part of every member’s matrix. Change it, and all members move." : "Stored once."];
};

// Small tasks; each says itself whether a method has it, whether it is done, and what is then found or still missing.
const TASKS = [
  {
    words: "Change one number so that every member moves.",
    fits: ({ modulated }, M) => modulated && M > 1,
    check: (keys) => [keys.some((key) => key.startsWith("W:0,")), "Every member moved: W is shared, a factor of all their matrices.", ""],
  },
  {
    words: "Change one number so that only one member moves.",
    fits: ({ modulated }, M) => modulated && M > 1,
    check: (keys) => {
      const moved = new Set(keys.map((key) => key.match(/^σ?[rs]:(\d+)/)?.[1]));
      return [moved.size === 1 && !moved.has(undefined), "One member moved: its r and s are its own.", keys.length ? "Not yet: more than one moved. Reset the numbers." : ""];
    },
  },
  {
    words: "Change one entry each of r₁ and s₁, and keep their weight in W₁.",
    fits: ({ modulated, spread }) => modulated && !spread,
    check: (keys, kept) => {
      const changed = kept();
      return [changed.includes(true), "That weight stayed: what r gains, s loses. Many r and s make one matrix.", changed.length ? "Not yet: that weight has changed. By which factor?" : ""];
    },
  },
];

// So many members stand beside each other in a room so wide, and how wide a number is then; of what is drawn one, large.
const perPage = (state, { matrix, apart, modulated, varies }, room) => {
  if (varies || (modulated && room < NARROW)) return [1, ""];
  if (room < NARROW) return [2, ""];
  const [widest, gaps] = document.documentElement.clientWidth <= 1000 ? [34, 36] : [44, 52]; // as the style has it
  const tried = [0, 2, 4, 6, 8].map((less) => {
    const cell = widest - less;
    const wide = Math.min(windowOf(state), columnsOf(matrix)) * cell + gaps;
    const block = wide + (modulated ? cell + 6 : 0);
    const once = apart ? 130 : wide + cell;
    return [clamp(Math.floor((room + gaps / 2 - (room - once < block ? 0 : once)) / block), 1, Math.min(4, state.M)), `${cell}px`];
  });
  return tried.reduce((best, one) => (one[0] > best[0] ? one : best));
};

const makeNumbers = (on) => {
  const [shelf, tools] = ["shelf", "tools"].map((name) => make("div", { class: name }));
  const [equation, meaning, taskWords] = [make("strong"), make("span"), make("span")];
  const words = make("p", { class: "told", role: "status" }, equation, meaning);
  const task = make("p", { class: "task" });
  const others = makePager((member) => on.change({ member }));
  const [source, home] = [make("span"), make("button", { type: "button", class: "tool" })];
  home.addEventListener("click", () => on.change({ row: 0, column: 0 }));
  const origin = make("p", { class: "note" }, source, home);
  const element = make("div", { class: "numbers", hidden: "" }, task, shelf);
  let [shape, cells, asked, where] = ["", new Map(), 0, ""];
  let [begun, touched, drag, arrays, before, current] = [];
  const next = make("button", { type: "button", class: "tool" });
  const undo = make("button", { type: "button", class: "tool" }, "Reset numbers");
  next.addEventListener("click", () => {
    asked += 1;
    if (current.edits) on.change({ edits: "" });
    else ask();
  });
  undo.addEventListener("click", () => on.change({ edits: "" }));
  task.append(taskWords, next);
  tools.append(others.element, undo);
  element.append(tools, words, origin);

  const editing = (key) => editKey(...partsOf(key));
  const edit = (key, value) => {
    const bounded = clamp(rounded(value), key.startsWith("σ") ? 0.01 : -LIMIT * unitOf(key, arrays), LIMIT * unitOf(key, arrays));
    on.change({ edits: written({ ...editsOf(current), [editing(key)]: bounded }) });
    return inCell(key, bounded);
  };
  const inCell = (key, value, unit = unitOf(key, arrays)) => plainNumber(unit < 1 ? Math.round(value / unit) : value);
  const stepOf = (key, unit = unitOf(key, arrays)) => STEP * (unit < 1 ? 10 * unit : 1);
  const touch = (key) => light((touched = key));
  const light = () => {
    for (const [key, cell] of cells) {
      const related = key !== touched && ((isMade(key) && isPartOf(touched, key, arrays.place)) || (isMade(touched) && isPartOf(key, touched, arrays.place)));
      cell.classList.toggle("touched", key === touched);
      cell.classList.toggle("moves", Boolean(related));
    }
    const [is, means] = tell(arrays, touched);
    setText(equation, is);
    setText(meaning, means);
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
    let kept = ""; // what Escape takes back to
    cell.addEventListener("focus", () => (kept = current.edits));
    cell.addEventListener("input", () => {
      const typed = Number(cell.value.replace(",", ".").replace("−", "-"));
      if (cell.value.trim() && Number.isFinite(typed)) edit(key, typed * unitOf(key, arrays));
    });
    cell.addEventListener("change", () => (cell.value = inCell(key, value())));
    cell.addEventListener("keydown", (event) => {
      const step = { ArrowUp: 1, ArrowDown: -1 }[event.key];
      if (event.key === "Enter") cell.blur();
      if (event.key === "Escape") {
        on.change({ edits: kept });
        event.stopPropagation();
        cell.blur();
      }
      if (!step) return;
      event.preventDefault();
      cell.value = edit(key, value() + step * stepOf(key) * (event.shiftKey ? 0.2 : 1));
    });
    // The cell that is pressed keeps the pointer, however far a flick goes; what is not a drag is a press to type.
    // A finger scrolls, until it has pressed the cell.
    cell.addEventListener("pointerdown", (event) => {
      if (event.button || (event.pointerType === "touch" && document.activeElement !== cell)) return;
      drag = { x: event.clientX, y: event.clientY, from: value(), edits: current.edits, steps: 0 };
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
      cell.value = edit(key, drag.from + steps * stepOf(key));
      cell.setSelectionRange(0, 0);
    });
    cell.addEventListener("pointerup", () => (drag = null));
    cell.addEventListener("pointercancel", () => {
      if (drag) on.change({ edits: drag.edits }), (cell.value = inCell(key, drag.from));
      drag = null;
    });
    return cell;
  };
  // Each stands where the style has room for it: a name stands at it, unless it is W.
  const grid = (at, look, name, rows, columns, keyAt) => {
    const keys = Array.from({ length: rows * columns }, (_, k) => keyAt(Math.floor(k / columns), k % columns));
    const [letter, of] = at === "W" ? [] : name.split(" of ");
    return make("div", { class: `part at-${at}`, style: `grid-area: ${at}` },
      ...(letter ? [make("b", {}, letter, ...(of ? [make("sub", {}, of)] : []))] : []),
      make("div", { class: `grid ${look}`, role: "group", "aria-label": name, style: `--columns: ${columns}` }, ...keys.map((key) => cellOf(key, nameOfNumber(arrays, ...partsOf(key))))));
  };
  const block = (who, ...parts) => make("div", { class: "block" }, make("b", { class: "who" }, who), ...parts);
  const section = (which, title, ...blocks) => make("div", { class: which }, make("h2", {}, ...title), make("div", { class: "row" }, ...blocks));

  const build = (state, layer, begin, each) => {
    cells = new Map();
    const { apart, modulated, spread, drops, varies, matrix, place, members } = arrays;
    const [top, from] = [state.row, state.column];
    const ends = [rowsOf(matrix), columnsOf(matrix)];
    const side = windowOf(state);
    const rows = Math.min(side, ends[0] - top);
    // A window ends where its group does: the next has rows of its own.
    const group = ends[1] / groupsOf(matrix);
    const columns = Math.min(side, group - (from % group));
    const [[r0, s0], [, last]] = [from, from + columns - 1].map((column) => place(top, column));
    const doubled = spread && !modulated;
    const count = members || varies ? state.M : 0;
    const end = Math.min(begin + each, count);
    const sheet = (look, kind, i, label) => grid("W", look, label, rows, columns, (a, b) => keyOf(kind, i, top + a, from + b));
    const across = (at, look, kind, i, name) => grid(at, look, name, 1, last - s0 + 1, (_, k) => keyOf(kind, i, s0 + k));
    const down = (at, look, kind, i, name) => grid(at, look, name, rows, 1, (a) => keyOf(kind, i, r0 + a));
    // Of r and s: where it stands, its look, how its key begins, and its name.
    const strips = !modulated ? [] : !spread ? [["", "own", "", ""]] : [["3", "stds", "σ", "σ of "], ["2", "own", "", "μ of "], ["", "made", "d", ""]];
    // Where all of a layer is seen, or nothing else than one network, its inputs can be typed, and it answers.
    const whole = (isSolo(chosen(state)) || (ends[0] <= side && ends[1] <= side && !(slim.matches && modulated && spread))) && !matrix.kernel.length && group === ends[1] && layer.matrices.length;
    const once = strips.map(([at]) => make("i", { style: `grid-area: s${at}` })); // as high as a member's
    if (whole) once.unshift(down("r", "input", "x", -1, "x"));
    if (!apart) once.push(sheet("shared", "W", -1, doubled ? "means of W" : "W"));
    if (!members && matrix.bias) once.push(across("b", "biases", "b", -1, doubled ? "μ of b" : "b"));
    if (!count && whole) once.push(across("y", "made", "y", -1, "y"));
    const inUnits = (key) => (unitOf(key, arrays) < 1 ? ` × ${unitOf(key, arrays)}` : "");
    const left = [block(`${apart ? "input" : doubled ? "means μ" : layer.matrices.length ? "W" : layer.table ? "table" : "numbers"}${inUnits("W")}`, ...once)];
    if (doubled) left.push(block("standard deviations σ", sheet("stds", "σW", -1, "standard deviations"), ...(matrix.bias ? [across("b", "stds", "σb", -1, "σ of b")] : [])));
    const parts = !apart || whole ? [section("once", [`${apart ? "The same for all" : "Stored once"} `, make("small", {}, whole && rows < ends[0] ? `the other ${digits(ends[0] - rows)} inputs are 0 here` : "")], ...left)] : [];
    const blocks = [];
    for (let i = begin; i < end; i += 1) {
      const at = SUBSCRIPTS(i + 1);
      const made = strips.flatMap(([place, look, kind, name]) => [across(`s${place}`, look, `${kind}s`, i, `${name}s${at}`), down(`r${place}`, look, `${kind}r`, i, `${name}r${at}`)]);
      if (drops) made.push(down("r", "made", "dz", i, `z${at}`));
      made.push(apart ? sheet("own", "W", i, `W${at}`) : sheet("made", "made", i, `${madeName(arrays.method)}${at}, computed`));
      if (matrix.bias && (members || doubled)) made.push(across("b", ...(members ? ["biases", "b"] : ["made", "db"]), i, `b${at}`));
      if (whole) made.push(across("y", "made", "y", i, `y${at}`));
      const [who, unit] = [`${members ? "member" : "sample"} ${i + 1}`, inUnits("made")];
      blocks.push(block(unit ? `${on.room() < NARROW ? "" : `${who}, `}${madeName(arrays.method)}${at}${unit}` : who, ...made));
    }
    const computed = modulated ? `dashed, ${spread ? "not stored: drawn r, s, and" : "computed:"} W ∘ r sᵀ` : doubled ? "μ + σ ∘ ε" : drops ? "rows of W times z" : whole ? "dashed, computed: y" : "";
    if (count) parts.push(section("each", [members ? `${ownWords(chosen(state), state.M, on.room() < NARROW)} ` : "Drawn, not stored ", make("small", {}, computed)], ...blocks));
    shelf.replaceChildren(...parts);
    others.show(begin, end, each, count, members);
    const [known, far] = apart ? [] : [knownIn(state, layer), cornerOf(layer, matrix)];
    const hint = `${coarse.matches ? "Press" : "Point at"} a number: what moves with it lights up. Drag${coarse.matches ? " or type to" : ", type, ↑ and ↓"} change it.`;
    const part = (word, first, count) => (count > 1 ? `${word}s ${digits(first + 1)}–${digits(first + count)}` : `${word} ${digits(first + 1)}`);
    where = `${part("row", top, rows)}, ${part("column", from, columns)} of ${ends.map(digits).join(" × ")}`;
    setText(source, `${hint} ${DATA.sizes ? "Example numbers." : known ? `${layer.table ? "The table" : "W"} is your model’s; other numbers are examples.` : "Example numbers, not your model’s."} `);
    home.hidden = known || !far;
    if (far) setText(home, `See your model’s: ${part("row", 0, far.length)}`);
    element.style.setProperty("--own", `var(--${chosen(state)})`);
    element.classList.toggle("varied", varies);
    element.classList.toggle("doubled", doubled);
    element.classList.toggle("paired", modulated);
    begun = begin;
    // Lit is at first what is another number than W has there.
    const made = [...cells.keys()].filter((key) => key.startsWith("made"));
    touched = made.find((key) => arrays.valueOf(key) !== arrays.stored("W", -1, ...partsOf(key).slice(2))) ?? made[0] ?? [...cells.keys()].find((key) => key[0] === "W");
  };

  const show = (state, layer) => {
    element.hidden = state.view !== "numbers";
    if (element.hidden) return;
    current = state;
    arrays = arraysOf(state, layer);
    const corner = arrays.apart ? null : knownIn(state, layer);
    const most = corner ? Math.max(1e-4, ...corner.flat().map(Math.abs)) : 3;
    decimals = most < 1 ? 1 - Math.floor(Math.log10(most)) : 2;
    const [each, cellWide] = perPage(state, arrays, on.room());
    shelf.style.setProperty("--cell", cellWide);
    const begin = Math.floor(state.member / each) * each;
    const now = [arrays.method, chosen(state), state.M, state.layer, state.matrix, arrays.matrix.m, arrays.matrix.size, state.row, state.column, begin, each, windowOf(state)].join(" ");
    if (now !== shape) {
      shape = now;
      build(state, layer, begin, each);
    }
    for (const [key, cell] of cells) {
      const value = arrays.valueOf(key);
      if (isMade(key)) setText(cell, squeezed(value, unitOf(key, arrays), arrays.varies ? Math.sign(on.room() - NARROW) : 0));
      else if (document.activeElement !== cell || drag) cell.value = inCell(key, value);
      cell.style.setProperty("--strength", `${Math.round(6 + 30 * Math.min(1, Math.abs(value) / (key[0] === "y" ? 4 * most : /^[Wm]/.test(key) ? most : 3)))}%`);
      cell.classList.toggle("edited", !isMade(key) && Object.hasOwn(editsOf(state), editing(key)));
    }
    before = arraysOf({ ...state, edits: "" }, layer);
    ask();
    light();
  };
  const ask = () => {
    const offered = TASKS.filter(({ fits }) => fits(arrays, current.M));
    next.hidden = offered.length < 2;
    task.hidden = !offered.length;
    if (task.hidden) return;
    const { words, check } = offered[asked % offered.length];
    const places = [...cells.keys()].filter((key) => key.startsWith(`made ${begun} `)).map((key) => partsOf(key).slice(2));
    // Of each weight whose r and s have both changed, whether it is what it was.
    const kept = () => places.filter(([a, b]) => {
      const [, ...both] = arrays.factors(a, b);
      return both.every(([kind, k]) => arrays.entry(kind, 0, k) !== before.entry(kind, 0, k));
    }).map(([a, b]) => Math.abs(arrays.made(0, a, b) - before.made(0, a, b)) < 1e-9);
    const [done, found, missing] = check(Object.keys(editsOf(current)), kept);
    setText(taskWords, done ? `✓ ${found}` : missing || `Task: ${words}`);
    setText(next, done ? "Next task" : "Another task");
    task.classList.toggle("done", done);
  };
  // It grows out of where its window stands in the picture.
  const grow = (box) => {
    const whole = shelf.querySelector(".grid");
    if (still.matches || !whole || !box) return;
    const [there, here] = [whole.getBoundingClientRect(), element.getBoundingClientRect()];
    const { columns, rows } = box.tile;
    const [across, down] = [current.column / columns, current.row / rows];
    const scale = clamp((box.w * windowOf(current)) / Math.max(windowOf(current), columns) / there.width, 0.05, 1);
    shelf.animate([
      { transformOrigin: "0 0", transform: `translate(${box.x + across * box.w - (there.left - here.left) * scale}px, ${box.y + down * box.h - (there.top - here.top) * scale}px) scale(${scale})`, opacity: 0.3 },
      { transformOrigin: "0 0", transform: "none", opacity: 1 },
    ], { duration: WAY, easing: "cubic-bezier(0.3, 0, 0.2, 1)" });
  };
  return { element, tools, show, grow, where: () => where };
};
