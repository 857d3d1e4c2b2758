// One bar a method, to one scale: what is stored for all, by a member, standard deviations, biases.
const make = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) if (value !== null) node.setAttribute(key, value);
  node.append(...children);
  return node;
};
const setText = (node, text) => {
  if (node.textContent !== text) node.textContent = text;
};
// Arrow keys on a slider, ten steps with Shift; and what happens while something is pointed at.
const onArrows = (range, tell) => range.addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  tell(event.shiftKey ? 10 * step : step);
});
let pointedAt = null; // a node, and whom to tell that it no longer is
const onPointing = (node, tell, value) => {
  for (const event of ["pointerenter", "focus"]) node.addEventListener(event, () => tell(value, (pointedAt = { node, tell })));
  for (const event of ["pointerleave", "blur"]) node.addEventListener(event, () => tell(null, (pointedAt = null)));
};
// What is taken away under the pointer is never left.
const leaveGone = () => {
  if (!pointedAt || pointedAt.node.matches(":hover, :focus")) return;
  pointedAt.tell(null);
  pointedAt = null;
};
const ENGLISH = new Intl.NumberFormat("en"); // once: to make one is slow
const digits = (number) => ENGLISH.format(Math.round(number));
const UNITS = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
const short = (number, room = 3) => {
  const [size, letter] = UNITS.find(([size]) => number >= size) ?? [1, ""];
  return `${Number((number / size).toPrecision(room))} ${letter}`;
};
const times = (ratio) => `× ${ratio >= 100 ? digits(ratio) : ratio.toFixed(ratio < 10 ? 2 : 1)}`;
const plural = (count, word) => `${digits(count)} ${word}${count === 1 ? "" : "s"}`;
// A round number of parameters, as a scale says it.
const roundWords = (count) => {
  const [size, word] = [[1e9, " billion"], [1e6, " million"]].find(([size]) => count >= size) ?? [1, ""];
  return `${digits(count / size)}${word} parameter${count === 1 ? "" : "s"}`;
};
// The round number (1, 2 or 5 times a power of 10) whose length is nearest below `most`.
const roundBelow = (most) => {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, most)));
  return power * [5, 2, 1].find((factor) => factor * power <= Math.max(1, most));
};
// The color of what is no member's weight: gray where all of it is stored once.
const toneOf = (layers, method) => `var(--${METHODS[method].has_members && layers.some((layer) => METHODS[methodOf(layer, method)].has_members) ? method : "shared"})`;
const ROLE_WORDS = { shared: "stored once, for all", per_member: "stored by each member", stds: "standard deviations", biases: "biases" };

// What members own is seen, however little it is.
const leastOf = (role, count) => (role === "per_member" && count ? 3 : 0); // pixels
const segmentsOf = () => Object.fromEntries(ROLES.map((role) => [role, make("i", { class: `segment ${role}`, "data-role": role })]));

const LET_GO = 500; // milliseconds after which a hand has let go

const makeBars = (on) => {
  const rows = new Map();
  const [rule, ruleWords] = ["rule", "rule-words"].map((name) => make("span", { class: name }));
  const scale = make("span", { class: "scale" }, "scale:", rule, ruleWords);
  const body = make("div", { class: "bars", role: "group", "aria-label": "Methods, with the parameters that each stores" });
  body.append(make("div", { class: "bar head", "aria-hidden": "true" },
    ...["", scale, "parameters", "× one network", "memory to keep", "memory to train", "passes"].map((word) => make("span", {}, word))));
  for (const method of KEYS) {
    const segments = segmentsOf();
    const track = make("span", { class: "track" }, ...Object.values(segments));
    const cells = ["total", "ratio", "keep", "train", "passes"].map((name) => make("span", { class: `cell ${name}` }));
    const row = make("button", { type: "button", class: "bar", "data-method": method, style: `--own: var(--${method})` },
      make("span", { class: "name" }, METHODS[method].label), track, ...cells);
    row.addEventListener("click", () => on.choose(method, row));
    if (DATA.refused[method]) {
      row.setAttribute("aria-disabled", "true");
      track.replaceChildren(make("span", { class: "why" }, DATA.refused[method]));
    }
    rows.set(method, { row, segments, track, cells });
    body.append(row);
  }
  const about = make("p", { class: "note" }, "Press a method to see where its parameters lie. Adam keeps a gradient and two averages beside each trained parameter; activations come on top. A pass is one run of an input through a network.");
  const element = make("section", { "aria-labelledby": "bars-title", class: "panel bars-section" },
    make("h2", { id: "bars-title" }), body, about);
  element.addEventListener("transitionend", () => element.classList.remove("rescaled"));
  let seen = true;
  new IntersectionObserver(([{ isIntersecting }]) => (seen = isIntersecting)).observe(body);
  let track = 400;
  new ResizeObserver(() => on.resized((track = rows.get(SINGLE).track.clientWidth || track))).observe(rows.get(SINGLE).track);
  // How many parameters fill a track, of what, and what changes it once the hand lets go.
  let [room, of, later] = [1, null, 0];
  const rescale = (most) => {
    if (document.querySelector(":active:is(input, canvas)")) return (later = setTimeout(rescale, LET_GO, most));
    room = most;
    element.classList.add("rescaled");
    return on.resized();
  };

  // All widths are read before any is written.
  const show = (state, layers) => {
    const current = chosen(state);
    const one = totalOf(countAll(layers, SINGLE, 1)) || 1;
    const most = Math.max(1, ...KEYS.filter((method) => !DATA.refused[method]).map((method) => totalOf(countAll(layers, method, state.M))));
    const [part, what] = [partOf(state), isAll(state) ? "" : `${partOf(state)} ${state.layer}`];
    clearTimeout(later);
    if (what !== of) [of, room] = [what, most];
    else if (most > room || most < room / 6) later = setTimeout(rescale, LET_GO, most);
    const perNumber = (0.9 * track) / room; // pixels
    for (const [method, { row, segments, track: own, cells }] of rows) {
      row.setAttribute("aria-pressed", method === current);
      if (DATA.refused[method]) continue;
      const hidden = isOpen(state) && STOPS.indexOf(method) > 0;
      const count = hidden ? zero() : countAll(layers, method, state.M);
      const total = totalOf(count);
      for (const role of ROLES) {
        segments[role].style.width = `${Math.max(leastOf(role, count[role]), count[role] * perNumber)}px`;
        segments[role].hidden = !count[role];
      }
      const chip = (count.per_member * perNumber) / state.M;
      segments.per_member.style.setProperty("--chip", METHODS[method].has_members && chip > 5 ? `${chip}px` : "100%");
      own.style.setProperty("--own", toneOf(layers, method));
      const bytes = bytesOf(layers, method, state.M);
      const passes = METHODS[method].body && layers.some(({ head }) => head) ? `1 + ${state.M}` : String(passesOf(METHODS[method].body || method, state.M));
      const words = [digits(total), times(total / one), `${short(bytes.keep)}B`, `${short(bytes.train)}B`, passes];
      cells.forEach((cell, k) => setText(cell, hidden ? "?" : words[k]));
      cells[4].dataset.word = passes === "1" ? "pass" : "passes";
      row.setAttribute("aria-label", hidden ? `${METHODS[method].label}: guess first` : `${METHODS[method].label}: ${digits(total)} parameters, ${(total / one).toFixed(2)} times one ${part}; `
        + `${short(bytes.keep)}B to keep, ${short(bytes.train)}B to train with Adam; passes for a prediction: ${passes}`);
    }
    const length = roundBelow(110 / perNumber);
    rule.style.width = `${length * perNumber}px`;
    setText(body.firstChild.children[3], `× one ${part}`);
    setText(ruleWords, `= ${roundWords(length)}`);
    setText(element.querySelector("h2"), `What each method stores${what && ` of this ${part}`}`);
  };
  return { element, show, seen: () => seen, scale: () => `${track} ${room}` };
};

// The total of what the picture shows, on its way between two methods, against the deep ensemble's.
// Before weights are shared for the first time a reader guesses where it will end; the answer says both.
const makeGauge = (on) => {
  const segments = segmentsOf();
  const number = make("strong");
  const words = make("span");
  const mark = make("i", { class: "mark" });
  const tag = make("span", { class: "tag" });
  const guess = make("input", { type: "range", class: "guess", min: 0, step: "any" });
  guess.addEventListener("input", () => on.guess(Number(guess.value)));
  onArrows(guess, (step) => on.guess(Number(guess.value) + step / 20));
  const [ticks, ...unsaid] = [["ticks"], ["head", number, words], ["track", make("i", { class: "ghost" }), ...Object.values(segments), mark]].map(([name, ...parts]) => make("span", { class: name, "aria-hidden": "true" }, ...parts));
  const element = make("p", { class: "gauge" }, ...unsaid, guess, ticks);
  if (CURVES) unsaid[0].after(tag);
  let [painted, color, ticked, room] = ["", "", "", 0];
  const show = (state, layers, width, earlier) => {
    const [from, to, along] = wayOf(state);
    const countOf = (method, M = state.M) => (DATA.refused[method] ? zero() : countAll(layers, method, M));
    const [one, deep, ...ends] = [countOf(SINGLE, 1), ...[DEEP, from, to].map((method) => countOf(method))];
    // As the picture moves: what goes is gone when the shared matrix has arrived, and then grows what is new.
    const now = ROLES.map((role) => lerp(ends[0][role], ends[1][role], role === "shared" || ends[1][role] < ends[0][role] ? movedAt(along, from) : grownAt(along, from)));
    // It ends where the longest of all stops does, or a whole network later; in a hand it stays but for more than it holds: so the bar moves.
    const single = totalOf(one) || 1;
    const longest = Math.max(...[deep, ...ends, ...(fitted(state) === STOPS ? STOPS.map((method) => countOf(method)) : [])].map(totalOf)) / single;
    const needed = single * (Math.abs(longest - Math.round(longest)) < 0.05 ? Math.max(longest, Math.round(longest)) : longest < 1.5 ? longest : Math.ceil(longest));
    room = document.querySelector(".slider:active") ? Math.max(room, needed <= room ? 0 : 2 * needed) : needed;
    const [total, across] = [now.reduce((sum, count) => sum + count, 0), room / single];
    const [asks, guessed] = CURVES && isWhole(state) ? [isOpen(state), state.guess] : [false, null];
    const key = [...now, asks, guessed, room, from, to, Boolean(along), earlier].join(" ");
    if (key !== painted) {
      painted = key;
      ROLES.forEach((role, k) => (segments[role].style.width = `max(${leastOf(role, now[k])}px, ${(100 * now[k]) / room}%)`));
      element.style.setProperty("--deep", `${(100 * totalOf(deep)) / room}%`);
      const compared = guessed !== null && (asks || to === SHARING);
      [mark.hidden, guess.hidden] = [!compared, !asks];
      element.dataset.next = asks ? (compared ? "share" : "guess") : ""; // the handle to take
      Object.assign(guess, { max: across, value: guessed ?? (1 + state.M) / 2 });
      guess.setAttribute("aria-label", `Your guess: how many networks do ${plural(state.M, "member")} cost that share one W?`);
      guess.setAttribute("aria-valuetext", Number(guess.value).toFixed(2));
      mark.style.insetInlineStart = `${(100 * guess.value) / across}%`;
      // No model has a count between two stops.
      const [unit, ratios] = [`${isAll(state) ? "" : "such "}${partOf(state)}s`, [...ends.map(totalOf), total].map((each) => (each / single).toFixed(2))];
      setText(number, along ? `${ratios[0]} → ${asks ? "?" : ratios[1]}` : digits(total));
      setText(words, along ? ` ${unit}` : `${total < 1e9 ? " parameters" : ""}${isSolo(to) ? "" : ` = ${ratios[2]} ${unit}`}${earlier && isSolo(to) ? ` = ${(total / earlier).toFixed(2)} × before` : ""}`);
      const said = guessed?.toFixed(2);
      setText(tag, !compared ? (asks ? `Guess: how much is left when all ${STOP_WORDS[1]}?` : "")
        : to === SHARING && !along ? `You said ${said}, it is ${ratios[2]}.` : `Your guess: ${said}. Now slide to “${STOP_WORDS[1]}”.`);
    }
    // One network after the other, and as many of them have a number as have room; what they count stands before them.
    ticks.hidden = across < 1.5;
    const step = [1, 2, 5, 10, 20].find((size) => (size / across) * width > 32) ?? 50;
    if (ticked !== (ticked = `${across} ${width} ${partOf(state)}`)) {
      ticks.style.setProperty("--one", `${100 / across}%`);
      const labels = Array.from({ length: Math.floor(across / step + 1e-9) }, (_, k) => (k + 1) * step);
      // No number passes the end.
      ticks.replaceChildren(...((width * step) / across > 76 ? [`${partOf(state)}s`] : []), ...labels.map((k) => make("i", { style: `inset-inline-end: ${100 - (100 * k) / across}%; translate: min(50%, ${width * (1 - k / across)}px)` }, k)));
    }
    const own = blended(colorOf(from), colorOf(to), Math.round(along * 20) / 20);
    for (const role of ["stds", "biases"]) segments[role].style.setProperty("--own", along ? "" : toneOf(layers, to));
    if (own !== color) element.style.setProperty("--own", (color = own));
  };
  return { element, show };
};
