// Pictures on a canvas: curves with their bands, maps, distributions, losses.
import { areOne, forecast, widest } from "./forecast.js";
import { GRID, REACH, TOYS, VIEW } from "./toys.js";

const FONT = "13px system-ui, sans-serif";

// Colors of what is drawn, for a light or a dark ground.
export const looks = (root) => {
  const [r, g, b] = getComputedStyle(root).color.match(/[\d.]+/g).map(Number);
  return HOUSE[r + g + b > 382 ? "dark" : "light"];
};

const channels = (color) => [1, 3, 5].map((i) => parseInt(color.slice(i, i + 2), 16));
// One channel of a mixture of colors.
const mixed = (colors, weights, c) => colors.reduce((sum, color, i) => sum + weights[i] * color[c], 0);
const faded = (color, alpha) => `rgba(${channels(color).join(",")},${alpha})`;
// How far a color is from the page in lightness. A band is as strong as that of a deep ensemble, whatever its color.
const LIGHTNESS = [0.3, 0.59, 0.11]; // of red, green and blue
const away = (color, page) => Math.abs(LIGHTNESS.reduce((sum, part, c) => sum + part * (channels(color)[c] - channels(page)[c]), 0));
const asStrong = (color, alpha, { page, colors }) => faded(color, Math.min(0.7, (alpha * away(colors.deep_ensemble, page)) / away(color, page)));

// Firefox gives the pen of a canvas that was handed over once, and throws the second time.
const pens = new WeakMap();

// Fit a canvas to its size in CSS pixels, `ratio` of the screen's for each, and return a pen that
// counts the former.
export const pen = (canvas, { width, height, ratio = 1 }) => {
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
  }
  if (!pens.has(canvas)) pens.set(canvas, canvas.getContext("2d"));
  const context = pens.get(canvas);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = FONT;
  context.lineJoin = "round";
  return { context, width, height };
};

// What moves needs no more than two of the screen's pixels for each of the page's.
export const ratioOf = (moves) => Math.min(moves ? 2 : 3, devicePixelRatio);

// A pen for a canvas as wide as it is on the page, and so many pixels high.
const penOnPage = (canvas, height) => {
  if (canvas.style.height !== `${height}px`) canvas.style.height = `${height}px`;
  return pen(canvas, { width: canvas.clientWidth || 320, height, ratio: ratioOf(false) });
};

const TINY = 150; // pixels below which a map has no ticks
const LOW = 240; // pixels below which the points of a curve are small
const MOST_LINES = 8; // of more members some are drawn, and faint, or they would be one area
// How high a square map of some width is.
export const squareOf = (width) => Math.round(width < TINY ? width : width - 10);

// The inside of a canvas, without the room around it.
const framed = ({ width, height }, pad) => ({ pad, inner: { w: width - pad.left - pad.right, h: height - pad.top - pad.bottom } });

// Where a point of the data stands on a canvas, and back.
export const frameOf = (task, width, height) => {
  const room = width < TINY ? { left: 1, right: 1, top: 1, bottom: 1 } : { left: 34, right: 8, top: 8, bottom: 24 };
  const [reachX, reachY] = task === "regression" ? [VIEW.x, VIEW.y] : [REACH, REACH];
  const { pad, inner } = framed({ width, height }, room);
  return {
    pad, inner, reachX, reachY,
    x: (value) => pad.left + (inner.w * (value / reachX + 1)) / 2,
    y: (value) => pad.top + (inner.h * (1 - value / reachY)) / 2,
    valueX: (pixel) => reachX * ((2 * (pixel - pad.left)) / inner.w - 1),
    valueY: (pixel) => reachY * (1 - (2 * (pixel - pad.top)) / inner.h),
  };
};

const shown = (value) => String(Number(value.toPrecision(3))).replace("-", "\u2212");

// Ticks in the reader's own units where the data were scaled.
const ticks = (axis, reach) => {
  if (!axis) return [-4, -2, 0, 2, 4].filter((v) => Math.abs(v) < reach).map((v) => [v, shown(v)]);
  const [low, high] = [axis.middle - axis.unit * reach, axis.middle + axis.unit * reach];
  const raw = (high - low) / 5;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find((m) => m * power >= raw);
  const found = [];
  for (let k = Math.ceil(low / step); k * step <= high; k += 1) {
    const place = (k * step - axis.middle) / axis.unit;
    if (Math.abs(place) < 0.95 * reach) found.push([place, shown(k * step)]);
  }
  return found;
};

// A frame with its ticks, [place, words] along each axis, and what both axes are called, where there is room.
const axes = ({ context, width, height }, { pad, inner, x, y }, look, along, up, names) => {
  context.strokeStyle = look.grid;
  context.fillStyle = look.muted;
  context.lineWidth = 1;
  context.strokeRect(pad.left + 0.5, pad.top + 0.5, inner.w - 1, inner.h - 1);
  if (width < TINY) return;
  context.textAlign = "center";
  context.textBaseline = "top";
  for (const [value, text] of along) context.fillText(text, x(value), height - pad.bottom + 5);
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const [value, text] of up) context.fillText(text, pad.left - 5, y(value));
  if (!names || width < 240) return;
  context.fillStyle = look.ink;
  context.textBaseline = "bottom";
  context.fillText(names[0], width - pad.right - 6, height - pad.bottom - 4);
  context.textAlign = "left";
  context.textBaseline = "top";
  context.fillText(names[1], pad.left + 6, pad.top + 5);
};
const axesOf = (drawing, frame, look, named) => {
  const [along, up] = [ticks(named?.[0], frame.reachX), ticks(named?.[1], frame.reachY)];
  axes(drawing, frame, look, along, up, named?.map(({ name }) => name));
};

const marker = (context, x, y, label, size) => {
  context.beginPath();
  if (label === 1) {
    context.moveTo(x, y - size);
    context.lineTo(x + size, y + 0.8 * size);
    context.lineTo(x - size, y + 0.8 * size);
  } else if (label === 2) context.rect(x - 0.8 * size, y - 0.8 * size, 1.6 * size, 1.6 * size);
  else context.arc(x, y, size * 0.9, 0, 2 * Math.PI);
  context.closePath();
};

const dots = ({ context, height }, frame, look, { points, task }, chosen, size) => {
  const small = task === "regression" && height < LOW; // there they would hide what they lie on
  points.forEach(([px, py, label], i) => {
    const held = i === chosen;
    marker(context, frame.x(px), frame.y(py), label, held ? 7 : small ? 2.2 : size);
    context.fillStyle = task === "regression" ? look.dots : look.classes[label];
    context.strokeStyle = look.page;
    context.lineWidth = small ? 0.75 : 1;
    context.globalAlpha = small && !held ? 0.8 : 1;
    context.fill();
    context.stroke();
    context.globalAlpha = 1;
    if (!held) return;
    context.strokeStyle = look.ink;
    context.lineWidth = 2;
    context.stroke();
  });
};

// Where the keyboard is.
const crosshair = ({ context }, frame, look, cursor) => {
  if (!cursor) return;
  const [x, y] = [frame.x(cursor.x), frame.y(cursor.y)];
  context.strokeStyle = look.ink;
  context.lineWidth = 1.5;
  context.beginPath();
  for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
    context.moveTo(x + 4 * dx, y + 4 * dy);
    context.lineTo(x + 12 * dx, y + 12 * dy);
  }
  context.stroke();
};

const path = (context, frame, grid, values) => {
  context.beginPath();
  grid.forEach((x, g) => context.lineTo(frame.x(x), frame.y(values(g))));
};

const band = (context, frame, grid, mean, std, color) => {
  context.beginPath();
  grid.forEach((x, g) => context.lineTo(frame.x(x), frame.y(mean[g] + 2 * std[g])));
  for (let g = grid.length - 1; g >= 0; g -= 1) context.lineTo(frame.x(grid[g]), frame.y(mean[g] - 2 * std[g]));
  context.closePath();
  context.fillStyle = color;
  context.fill();
};

// Both edges of a band, which are seen where another lies over it, or where it is faint.
const edges = (context, frame, grid, mean, std, color, width = 1.5) => {
  context.strokeStyle = color;
  context.lineWidth = width;
  for (const side of [-2, 2]) {
    path(context, frame, grid, (g) => mean[g] + side * std[g]);
    context.stroke();
  }
};

const WIDEST = "widest gap";
// Where neighbors are farthest apart: a faint area with edges, as in all figures, and its name where there is room.
const gap = (context, { x, pad, inner }, look, points) => {
  const [left, right] = widest(points).map(x);
  context.fillStyle = look.muted;
  context.globalAlpha = 0.09;
  context.fillRect(left, pad.top, right - left, inner.h);
  context.globalAlpha = 0.75;
  context.lineWidth = 0.8;
  context.strokeStyle = look.muted;
  context.strokeRect(left, pad.top - 1, right - left, inner.h + 2);
  context.globalAlpha = 1;
  context.textAlign = "left";
  context.textBaseline = "middle";
  const { width } = context.measureText(WIDEST);
  if (right - left > width + 8) context.fillText(WIDEST, (left + right - width) / 2, pad.top + inner.h - 10);
};

// Members as thin lines, their mean as a thick one; the outer band is ± 2 standard deviations of a
// new point, the inner one the part of it in which the members differ. Where they are compared with
// what stands `behind` them, if anything does, there is the inner one alone. Returns their forecast.
export const curves = (canvas, size, side, grid, state, method, look, { chosen, cursor }, { compared, behind }) => {
  const drawing = pen(canvas, size);
  const { context, width, height } = drawing;
  const frame = frameOf("regression", width, height);
  const color = look.colors[method];
  const line = `rgb(${[0, 1, 2].map((c) => mixed([color, look.ink].map(channels), [1 - look.lift, look.lift], c)).join(",")})`;
  axesOf(drawing, frame, look, state.axes);
  context.save();
  context.beginPath();
  context.rect(frame.pad.left, frame.pad.top, frame.inner.w, frame.inner.h);
  context.clip();
  const found = side && forecast(side, state.noise, grid.length);
  if (behind) band(context, frame, behind.x, behind.mean, behind.std, faded(look.colors.single, 0.22));
  if (found) {
    if (!compared) {
      band(context, frame, grid, found.mean, found.total, asStrong(color, look.noise, look));
      context.setLineDash([4, 3]);
      edges(context, frame, grid, found.mean, found.total, faded(color, look.edge), 1);
      context.setLineDash([]);
    }
    band(context, frame, grid, found.mean, found.epistemic, asStrong(color, look.differ, look));
    edges(context, frame, grid, found.mean, found.epistemic, faded(color, look.edge), 1);
  }
  if (behind) edges(context, frame, behind.x, behind.mean, behind.std, look.colors.single);
  const { truth } = TOYS[state.data] ?? {};
  if (truth) {
    context.setLineDash([6, 4]);
    context.strokeStyle = look.muted;
    context.lineWidth = 1.2;
    path(context, frame, grid, (g) => truth(grid[g]));
    context.stroke();
    context.setLineDash([]);
  }
  if (found) {
    context.strokeStyle = line;
    const many = found.F > MOST_LINES;
    context.globalAlpha = found.F > 1 ? (many ? 0.35 : 0.75) : 0;
    context.lineWidth = many ? 0.75 : 1;
    // Of what is compared by its band, a few lines show what it is made of.
    for (let f = 0; f < Math.min(compared ? 4 : MOST_LINES, found.F); f += 1) {
      path(context, frame, grid, (g) => side.means[f * grid.length + g]);
      context.stroke();
    }
    context.globalAlpha = 1;
  }
  if (found && state.points.length > 1 && !compared) gap(context, frame, look, state.points);
  dots(drawing, frame, look, state, chosen, 3.5);
  if (found) {
    context.strokeStyle = line;
    context.lineWidth = 2.5;
    path(context, frame, grid, (g) => found.mean[g]);
    context.stroke();
  }
  crosshair(drawing, frame, look, cursor);
  context.restore();
  return found;
};

let mapPen = null; // made once, because a canvas and its pen cost more than a map

// A map as one small picture, drawn larger and smooth: at each pixel a mixture of some colors, whose
// `weights` are written into an array.
const image = (drawing, frame, size, colors, weights) => {
  mapPen ??= new OffscreenCanvas(size, size).getContext("2d");
  if (mapPen.canvas.width !== size) mapPen.canvas.width = mapPen.canvas.height = size;
  const data = new ImageData(size, size);
  const own = colors.map(() => 0);
  for (let i = 0; i < size * size; i += 1) {
    weights(i, own);
    for (let c = 0; c < 3; c += 1) data.data[4 * i + c] = mixed(colors, own, c);
    data.data[4 * i + 3] = 255;
  }
  mapPen.putImageData(data, 0, 0);
  drawing.context.imageSmoothingEnabled = true;
  drawing.context.drawImage(mapPen.canvas, frame.pad.left, frame.pad.top, frame.inner.w, frame.inner.h);
};

// `what`: "mean" shows the probability of each class, "information" the mutual information, from 0 to what is possible.
export const map = (canvas, size, side, what, state, look, { chosen, cursor }) => {
  const drawing = pen(canvas, size);
  const frame = frameOf("classification", size.width, size.height);
  if (side) {
    const found = side.map;
    const pixels = found.size ** 2;
    const k = found.mean.length / pixels;
    const page = channels(look.page);
    if (what === "mean") {
      const soft = look.classes.slice(0, k).map((color) => [0, 1, 2].map((c) => mixed([channels(color), page], [0.55, 0.45], c)));
      image(drawing, frame, found.size, soft, (i, weights) => {
        for (let c = 0; c < k; c += 1) weights[c] = found.mean[c * pixels + i];
      });
    } else {
      image(drawing, frame, found.size, [channels(look.doubt), page], (i, weights) => {
        weights[0] = Math.min(1, found.information[i] / Math.log(k));
        weights[1] = 1 - weights[0];
      });
    }
  }
  axesOf(drawing, frame, look, state.axes);
  // On a map of doubt points only say where the data are.
  dots(drawing, frame, look, state, chosen, what === "mean" ? 4.5 : 2);
  crosshair(drawing, frame, look, cursor);
};

// Losses over steps, on a scale that keeps the first ones and the last ones apart: solid the
// average NLL of the members, dashed the NLL of their mixture.
export const losses = (canvas, height, records, methods, look) => {
  const { context, width } = penOnPage(canvas, height);
  const all = records.sides.flatMap((side) => [...side.average, ...side.mixture]).filter(Number.isFinite);
  if (all.length < 4) {
    context.fillStyle = look.muted;
    context.textAlign = "center";
    context.fillText("Losses come with the first steps.", width / 2, height / 2);
    return;
  }
  const low = all.reduce((a, b) => Math.min(a, b));
  const high = Math.max(all.reduce((a, b) => Math.max(a, b)), low + 1e-3);
  const last = Math.max(10, records.steps[records.steps.length - 1]);
  const bend = (value) => Math.asinh(value);
  // Three numbers, also halfway between the first and the last as they are drawn.
  const least = 1 - Math.floor(Math.log10(Math.min(Math.abs(low), Math.abs(high)) || 1));
  const digits = Math.max(0, Math.min(high > 2 ? 2 : 6, least));
  const named = [low, Math.sinh((bend(low) + bend(high)) / 2), high].map((value) => [value, value.toFixed(digits).replace("-", "\u2212")]);
  const widest = Math.max(...named.map(([, words]) => context.measureText(words).width));
  const pad = { left: Math.max(46, Math.ceil(widest) + 8), right: 8, top: 8, bottom: 22 };
  const x = (step) => pad.left + ((width - pad.left - pad.right) * Math.log1p(step)) / Math.log1p(last);
  const y = (value) =>
    pad.top + ((height - pad.top - pad.bottom) * (bend(high) - bend(value))) / (bend(high) - bend(low));
  context.strokeStyle = look.grid;
  context.fillStyle = look.muted;
  context.lineWidth = 1;
  context.textBaseline = "middle";
  context.textAlign = "right";
  for (const [value, words] of named) context.fillText(words, pad.left - 5, y(value));
  context.strokeRect(pad.left + 0.5, pad.top - 3.5, width - pad.left - pad.right, height - pad.top - pad.bottom + 7);
  context.textAlign = "center";
  context.textBaseline = "top";
  for (let step = 10; step <= last; step *= 10) {
    const words = step.toLocaleString("en");
    context.fillText(words, Math.min(x(step), width - 1 - context.measureText(words).width / 2), height - pad.bottom + 7);
  }
  context.textAlign = "left";
  context.fillText("step", pad.left, height - pad.bottom + 7);
  context.fillText("NLL", pad.left + 6, height - pad.bottom - 14);
  records.sides.forEach((side, i) => {
    context.strokeStyle = look.colors[methods[i]];
    context.lineWidth = i ? 1 : 2;
    for (const [name, dash] of [["average", []], ["mixture", [5, 3]]]) {
      context.setLineDash(dash);
      context.beginPath();
      side[name].forEach((value, t) => Number.isFinite(value) && context.lineTo(x(records.steps[t]), y(value)));
      context.stroke();
    }
    context.setLineDash([]);
  });
};

// The distributions of a network as a cloud: each a dot, around the ring of their prior.
const { far: MEANS, stds: STDS, ticks: [MEAN_TICKS, STD_TICKS] } = TRAINING.cloud;

// `moments`: { means, stds } or null; `prior`: its { mean, std }; standard deviations on a logarithmic scale.
export const cloud = (canvas, size, moments, prior, color, look) => {
  const drawing = pen(canvas, size);
  const { context } = drawing;
  const { pad, inner } = framed(size, { left: 38, right: 8, top: 8, bottom: 24 });
  const [low, high] = STDS.map(Math.log);
  const x = (mean) => pad.left + (inner.w * (mean / MEANS + 1)) / 2;
  const y = (std) => pad.top + (inner.h * (high - Math.log(std))) / (high - low);
  const [along, up] = [MEAN_TICKS, STD_TICKS].map((all) => all.map((value) => [value, shown(value)]));
  axes(drawing, { pad, inner, x, y }, look, along, up, ["mean", "\u03c3"]);
  context.save();
  context.beginPath();
  context.rect(pad.left, pad.top, inner.w, inner.h);
  context.clip();
  if (moments) {
    context.fillStyle = color;
    context.globalAlpha = 0.35;
    moments.means.forEach((mean, i) => {
      context.beginPath();
      context.arc(x(mean), y(moments.stds[i]), 2.5, 0, 2 * Math.PI);
      context.fill();
    });
    context.globalAlpha = 1;
  }
  context.strokeStyle = look.ink;
  context.fillStyle = look.ink;
  context.lineWidth = 1.8;
  context.beginPath();
  context.arc(x(prior.mean), y(prior.std), 9, 0, 2 * Math.PI);
  context.stroke();
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.fillText("prior", x(prior.mean) - 14, y(prior.std));
  context.restore();
};

// The pictures of one trainer, each on its own canvas. It lives in the Worker: the page's own thread, which answers
// the reader, has no picture to draw.
export class Painter {
  #canvases = [];
  #scene = null;
  #sides = [];

  // Canvases that replace all others, in the order of a scene's pictures.
  hang(canvases) {
    this.#canvases = canvases;
    this.#scene = null;
  }

  // `scene`: what is seen besides what networks give: { state, look, ratio, playing, chosen, cursor, compared, pictures },
  // where each of `pictures` is { kind, side, method, behind, prior, width, height }, in CSS pixels.
  set(scene) {
    this.#scene = scene;
    return this.#paint();
  }

  // `sides`: what networks give, of curves over `GRID`; none where there is nothing yet.
  show(sides) {
    this.#sides = sides;
    return this.#paint();
  }

  // Returns whether all curves of each picture are one.
  #paint() {
    if (!this.#scene) return false;
    const { state, look, pictures, compared, ...hand } = this.#scene;
    const found = [];
    pictures.forEach(({ kind, side: i, method, behind, prior, ...size }, place) => {
      const canvas = this.#canvases[place];
      const side = this.#sides[i];
      const drawn = { ...size, ratio: hand.ratio };
      if (kind === "curves")
        found.push(curves(canvas, drawn, side?.means && side, GRID, state, method, look, hand, { compared, behind }));
      else if (kind === "cloud") cloud(canvas, drawn, side?.moments, prior, look.colors[method], look);
      else map(canvas, drawn, side?.map && side, kind, state, look, hand);
    });
    return found.length > 0 && found.every((one) => one && areOne(one));
  }
}
