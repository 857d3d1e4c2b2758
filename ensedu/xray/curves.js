// What trained members do, above their matrices, and a guess before the weights are shared.
const CURVES = DATA.curves ?? null;
const CURVE_HIGH = 78;

const rangeOf = (rows) => {
  const values = rows.flat();
  return [Math.min(...values), Math.max(...values)];
};
const SPAN = CURVES && {
  x: rangeOf([CURVES.x]),
  y: rangeOf([...STOPS.flatMap((method) => CURVES[method] ?? []), (CURVES.points ?? []).map(([, y]) => y)]),
};
const rowAt = (method, i) => CURVES[method]?.[i] ?? null;

// The function of member i: between two stops on its way from one trained state to the next.
const curveOf = (state, i) => {
  const [low, high, share] = wayOf(state);
  const [from, to] = [rowAt(low, i), rowAt(high, i)];
  return from && to ? from.map((y, k) => lerp(y, to[k], share)) : from ?? to;
};

const placeOf = (a, b, { x, y, w, h }) => {
  const at = (value, [low, high]) => (value - low) / (high - low || 1);
  return [x + w * at(a, SPAN.x), y + h * (1 - at(b, SPAN.y))];
};
const drawCurve = (context, row, color, box) => {
  const place = (a, b) => placeOf(a, b, box);
  context.fillStyle = plainColor("muted");
  for (const [a, b] of CURVES.points ?? []) context.fillRect(...place(a, b).map((edge) => edge - 1), 2.5, 2.5);
  context.strokeStyle = color;
  context.lineWidth = 2;
  context.beginPath();
  row.forEach((value, k) => context.lineTo(...place(CURVES.x[k], value)));
  context.stroke();
};

// Whether what sharing costs is still to be seen: until the weights were shared once.
let answered = !CURVES;
const isOpen = (state) => {
  answered ||= state.share >= 0.5 || Boolean(state.method) || !isWhole(state);
  return !answered;
};

let guessing = 2.5; // of how many networks, while it is dragged
const makeGuess = (on) => {
  const range = make("input", { type: "range", min: 1, max: 4, step: 0.05, value: guessing, "aria-label": "Your guess" });
  const output = make("output", {}, "× 2.50");
  const ready = make("button", { type: "button", class: "tool" }, "Guess");
  const words = make("p", { class: "asked" });
  const line = make("span", { class: "guessed" }, range, output, ready);
  const element = make("div", { class: "guess" }, words, line);
  range.addEventListener("input", () => {
    guessing = Number(range.value);
    setText(output, times(guessing));
    on.ask();
  });
  ready.addEventListener("click", () => on.change({ guess: guessing }));
  const show = (state, layers) => {
    element.hidden = !CURVES || !isWhole(state);
    if (element.hidden) return;
    line.style.visibility = isOpen(state) && state.guess === null ? "" : "hidden"; // so that nothing below moves
    range.max = Math.max(2, state.M);
    const [one, shared] = [[SINGLE, 1], [SHARING, state.M]].map(([method, M]) => totalOf(countAll(layers, method, M)));
    setText(words, isOpen(state) && state.guess === null ? `If ${plural(state.M, "member")} share one W, how many networks do they cost? Drag the mark:`
      : isOpen(state) ? `Your guess is ${times(state.guess)}. Now share W: drag the slider.`
      : `${state.guess === null ? "" : `Your guess was ${times(state.guess)}. `}A ${METHODS[SHARING].label} stores ${times(shared / one)}.`);
  };
  return { element, show };
};
