// What trained members do, above their matrices, and a guess before the weights are shared.
const CURVES = DATA.curves ?? null;
const CURVE_HIGH = document.documentElement.clientWidth < NARROW ? 48 : 120;

const rangeOf = (rows) => {
  const values = rows.flat();
  return [Math.min(...values), Math.max(...values)];
};
const SPAN = CURVES && {
  x: rangeOf([CURVES.x]),
  y: rangeOf([...STOPS.flatMap((method) => CURVES[method] ?? []), (CURVES.points ?? []).map(([, y]) => y)]),
};

// The function of member i: between two stops on its way from one trained state to the next.
const curveOf = (state, i) => {
  const [low, high, share] = wayOf(state);
  const [from, to] = [low, high].map((method) => CURVES[method]?.[i]);
  return from && to ? from.map((y, k) => lerp(y, to[k], share)) : from ?? to;
};

const placeOf = (a, b, { x, y, w, h }) => {
  const at = (value, [low, high]) => (value - low) / (high - low || 1);
  return [x + w * at(a, SPAN.x), y + h * (1 - at(b, SPAN.y))];
};
const drawCurve = (context, row, color, box, thick) => {
  const place = (a, b) => placeOf(a, b, box);
  context.fillStyle = plainColor("muted");
  for (const [a, b] of CURVES.points ?? []) context.fillRect(...place(a, b).map((edge) => edge - 1), 2.5, 2.5);
  context.strokeStyle = color;
  context.lineWidth = thick;
  context.beginPath();
  row.forEach((value, k) => context.lineTo(...place(CURVES.x[k], value)));
  context.stroke();
};
// Where the points leave most room.
const drawGap = (context, box, alpha, words = "") => {
  const xs = (CURVES.points ?? []).map(([x]) => x).sort((a, b) => a - b);
  const [from, to] = xs.reduce((best, x, k) => (x - xs[k - 1] > best[1] - best[0] ? [xs[k - 1], x] : best), [0, 0]).map((x) => placeOf(x, 0, box)[0]);
  context.fillStyle = plainColor("muted");
  context.globalAlpha = alpha;
  context.fillRect(from, box.y, to - from, box.h);
  context.globalAlpha = 1;
  if (context.measureText(words).width < to - from) context.fillText(words, (from + to - context.measureText(words).width) / 2, box.y - 8);
};
// From the lowest to the highest of them.
const drawSpread = (context, rows, color, box) => {
  const edges = [Math.min, Math.max].map((most) => CURVES.x.map((x, k) => placeOf(x, most(...rows.map((row) => row[k])), box)));
  context.beginPath();
  for (const place of [...edges[0], ...edges[1].reverse()]) context.lineTo(...place);
  context.fillStyle = color;
  context.globalAlpha = 0.25;
  context.fill();
  context.globalAlpha = 1;
};

// Whether what sharing costs is still to be seen: until the weights were shared once.
let answered = !CURVES;
const isOpen = (state) => {
  answered ||= state.share >= 1 || Boolean(state.method) || !isWhole(state);
  return !answered;
};
