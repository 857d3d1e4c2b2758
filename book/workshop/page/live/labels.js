// Names beside what they name: free of the true curve, the mean and the points.
import { besideBand } from "./behind.js";
import { areOne, widest } from "./forecast.js";

export const FONT = "13px system-ui, sans-serif";
const BOLD = `600 ${FONT}`;
const HALF = 8; // pixels from the middle of a word to its top or bottom
const FREE = 5; // pixels between a word and what it may not cover
const DOT = 4; // pixels from the middle of a point to its edge
const SHORT = 3; // pixels of a leader that is not drawn
const STEP = [12, 6]; // pixels between two places that are tried, along x and y
const COVERED = 1000; // what a place costs that covers anything, in pixels of distance
const ACROSS = 60; // one whose leader crosses a line
const CUT = 30; // one among the thin lines, or whose leader stands beside another
const APART = 24; // pixels between two leaders
const CALM = 30; // how much better a new place must be than the last

// What thin lines are.
export const thin = (method) => (METHODS[method].stochastic ? "draws" : "members");

const places = new WeakMap(); // of each pen, where its names stood last

const meet = ([low, high], [from, to]) => low < to && high > from;

// A line or a band on the canvas, from its top to its bottom in pixels, (x, top, bottom) in turn.
const strip = (frame, grid, top, bottom = top) =>
  Array.from(grid, (x, g) => [frame.x(x), ...[frame.y(top(g)), frame.y(bottom(g))].sort((a, b) => a - b)]);
// What of it is seen between two places along x.
const between = (line, left, right) => {
  const seen = [Infinity, -Infinity];
  for (const [x, top, bottom] of line)
    if (x > left && x < right) {
      seen[0] = Math.min(seen[0], top);
      seen[1] = Math.max(seen[1], bottom);
    }
  return seen;
};
const beside = (line, at) => line.reduce((best, each) => (Math.abs(each[0] - at) < Math.abs(best[0] - at) ? each : best));

export const labels = (context, frame, own, { found, means, truth, points, method, compared, behind, said, taken: marked }, color, look) => {
  const { pad, inner } = frame;
  const [right, bottom] = [pad.left + inner.w, pad.top + inner.h];
  const lines = [];
  if (truth) lines.push(strip(frame, own, (g) => truth(own[g])));
  if (found) lines.push(strip(frame, own, (g) => found.mean[g]));
  const dots = points.map(([x, y]) => [frame.x(x), frame.y(y)]);
  const taken = [...marked]; // (left, right, top, bottom) of names, leaders and marks
  const leaders = []; // where they stand along x
  const before = places.get(context) ?? {};
  const now = {};
  places.set(context, now);
  const most = (f) => Array.from(own, (_, g) => {
    let best = means[g];
    for (let i = 1; i < found.F; i += 1) best = f(best, means[i * own.length + g]);
    return best;
  });
  const outer = found && found.F > 1 && !compared ? [most(Math.max), most(Math.min)] : null;
  const bundle = outer && strip(frame, own, (g) => outer[0][g], (g) => outer[1][g]);

  // A name near `x`, with a leader that ends on `line`; above it (-1), below it (1) or on either
  // side; none where nothing of `line` is as high as `least`, nor where it was `said` before.
  const put = (words, line, x, ink, { side = 0, font = FONT, least = 0 } = {}) => {
    if (said.has(words)) return;
    context.font = font;
    const half = context.measureText(words).width / 2;
    const wanted = Math.max(pad.left + half + 6, Math.min(right - half - 6, frame.x(x)));
    const column = (cx) => {
      const [left, end] = [cx - half - FREE, cx + half + FREE];
      const [, top, low] = beside(line, cx);
      return {
        cx, top, low,
        seen: lines.map((each) => between(each, left, end)),
        crossed: lines.filter((each) => each !== line).map((each) => beside(each, cx)[1]),
        thin: bundle ? between(bundle, left, end) : [Infinity, -Infinity],
        dots: dots.filter(([dot]) => dot > left - DOT && dot < end + DOT),
        taken: taken.filter((each) => meet(each, [left, end])),
      };
    };
    const aside = (cx) => 0.3 * Math.abs(cx - wanted);
    // How far a place is from the best one; not in full where that is beyond `limit`.
    const cost = (near, y, limit = Infinity) => {
      const { cx, top, low } = near;
      const leader = y < top ? [y, top] : y > low ? [low, y] : [y, y];
      const away = Math.max(0, leader[1] - leader[0] - HALF) + aside(cx);
      if (away >= limit) return away;
      const reach = [y - HALF - FREE, y + HALF + FREE];
      const led = leader[1] - leader[0] > HALF + SHORT;
      const covers =
        cx - half < pad.left + 4 || cx + half > right - 4 || y - HALF < pad.top || y + HALF > bottom ||
        low < pad.top || top > bottom || (side < 0 && y > top) || (side > 0 && y < low) ||
        near.seen.some((each) => meet(each, reach)) ||
        near.dots.some(([, dot]) => dot > reach[0] - DOT && dot < reach[1] + DOT) ||
        near.taken.some((each) => meet(each.slice(2), [y - HALF, y + HALF]) || (meet(each, [cx - 2, cx + 2]) && meet(each.slice(2), leader)));
      const across =
        near.crossed.some((each) => each > leader[0] && each < leader[1]) ||
        near.dots.some(([x, dot]) => Math.abs(x - cx) < FREE && dot > leader[0] - DOT && dot < leader[1] + DOT);
      const close = led && leaders.some((x) => Math.abs(x - cx) < APART);
      return away + COVERED * covers + ACROSS * across + CUT * (meet(near.thin, reach) + close);
    };
    const last = before[words] && { column: column(before[words][0]), y: before[words][1] };
    const good = ({ low, top }) => low - top >= least;
    let best = last && good(last.column) ? { ...last, price: cost(last.column, last.y) - CALM } : { price: Infinity };
    for (let k = 0; aside(wanted + k * STEP[0]) < Math.min(best.price, inner.w); k = k > 0 ? -k : 1 - k) {
      const cx = wanted + k * STEP[0];
      if (cx - half < pad.left + 4 || cx + half > right - 4) continue;
      const here = column(cx);
      if (!good(here)) continue;
      for (let y = pad.top + HALF; y <= bottom - HALF; y += STEP[1]) {
        const price = cost(here, y, best.price);
        if (price < best.price) best = { column: here, y, price };
      }
    }
    if (!best.column || (least && best.price >= COVERED)) return;
    const { cx, top, low } = best.column;
    const { y } = best;
    now[words] = [cx, y];
    if (!compared) said.add(words);
    const into = Math.min(5, (low - top) / 2); // a leader ends within a band
    const end = y < top ? top + into : low - into;
    const start = y < top ? y + HALF : y - HALF;
    context.strokeStyle = context.fillStyle = ink;
    taken.push([cx - half, cx + half, y - HALF, y + HALF]);
    if ((y < top || y > low) && Math.abs(end - start) > SHORT) {
      context.lineWidth = 1;
      context.beginPath();
      context.moveTo(cx, start);
      context.lineTo(cx, end);
      context.stroke();
      taken.push([cx - 2, cx + 2, Math.min(start, end), Math.max(start, end)]);
      leaders.push(cx);
    }
    context.textAlign = "left";
    context.textBaseline = "middle";
    context.strokeStyle = look.page;
    context.lineWidth = 4;
    context.strokeText(words, cx - half, y);
    context.fillText(words, cx - half, y);
  };

  const reach = frame.reachX;
  if (behind) {
    const { label, x, mean, std } = behind;
    put(`${label} (± 2 std)`, strip(frame, x, (g) => mean[g] - 2 * std[g]), x[std.indexOf(Math.max(...std))], look.colors.single, { side: 1, font: BOLD });
  }
  if (truth) put("true curve", lines[0], -reach, look.muted);
  if (!found || !points.length) return;
  if (compared) {
    // On the side that the band behind leaves free.
    const side = behind && found.mean.at(-1) < behind.mean.at(-1) ? 1 : -1;
    put(besideBand(method), strip(frame, own, (g) => found.mean[g] - 2 * side * found.epistemic[g]), reach, color, { side, font: BOLD });
    return;
  }
  const one = areOne(found);
  const [from, to] = widest(points);
  const beyond = points.map(([x]) => x).filter((x) => x >= to).sort((a, b) => a - b);
  const many = found.F > 1;
  const edge = (std, sign) => (g) => found.mean[g] + 2 * sign * std[g];
  if (many && !one) {
    put(`inner band: ${thin(method)} differ`, strip(frame, own, edge(found.epistemic, 1), edge(found.epistemic, -1)), (from + to) / 2, look.ink, { least: 2 * HALF });
    put("mean", lines.at(-1), (from + to) / 2, color);
  }
  if (many) put(one ? `${found.F} ${thin(method)}, one curve` : thin(method), one ? lines.at(-1) : strip(frame, own, (g) => outer[0][g]), reach, look.ink);
  put(`outer band: ${many ? "+ " : ""}noise (± 2 std)`, strip(frame, own, edge(found.total, -1), edge(many ? found.epistemic : found.total, many ? -1 : 1)), beyond[Math.floor(beyond.length / 2)], look.ink);
};
