// Boxes onto a canvas, in the book's looks: gray is shared, a color a member's, hatching standard
// deviations, an outline biases, dashes what is computed and stored nowhere.
const COLORS = DATA.colors;
const parsedColor = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
const blended = (one, other, share) => {
  const [a, b] = [one, other].map(parsedColor);
  return `#${a.map((part, k) => Math.round(lerp(part, b[k], share)).toString(16).padStart(2, "0")).join("")}`;
};
const darkness = matchMedia("(prefers-color-scheme: dark)");
const printing = matchMedia("print");
const still = matchMedia("(prefers-reduced-motion: reduce)");
// A page around this one may have a look of its own.
let around = new URLSearchParams(location.search).get("theme");
const theme = () => (!printing.matches && (around ? around === "dark" : darkness.matches) ? "dark" : "light");
const colorOf = (method) => COLORS[theme()].methods[method];
const plainColor = (name) => COLORS[theme()][name];

const hatches = new Map();
// In a thin strip lines stand closer.
const hatch = (context, color, thick) => {
  const key = `${color} ${thick < 14}`;
  if (!hatches.has(key)) {
    const tile = new OffscreenCanvas(12, 12);
    const pen = tile.getContext("2d");
    pen.strokeStyle = color;
    pen.lineWidth = 2.4;
    pen.beginPath();
    for (const shift of [-12, 0, 12]) pen.moveTo(shift - 2, 14), pen.lineTo(shift + 14, -2);
    pen.stroke();
    const pattern = context.createPattern(tile, "repeat");
    pattern.setTransform(new DOMMatrix().scale(thick < 14 ? 0.35 : 0.5));
    hatches.set(key, pattern);
  }
  return hatches.get(key);
};

// Textures are drawn once, as small pictures of the page's color: the paler, the closer to 0 the value.
const textures = new Map();
const textureImage = (key, strength, make) => {
  const name = `${key} ${theme()}`;
  if (!textures.has(name)) {
    if (textures.size > 600) textures.clear();
    const { rows, columns, at } = make();
    const picture = new ImageData(columns, rows);
    const paint = parsedColor(plainColor("page"));
    for (let a = 0; a < rows; a += 1)
      for (let b = 0; b < columns; b += 1)
        picture.data.set([...paint, Math.round(strength * (1 - Math.min(1, Math.abs(at(a, b)))))], 4 * (a * columns + b));
    const canvas = new OffscreenCanvas(columns, rows);
    canvas.getContext("2d").putImageData(picture, 0, 0);
    textures.set(name, canvas);
  }
  return textures.get(name);
};
// What a new draw makes of an old one, spreading from its left and its upper edge.
const sweptImage = (old, image, along) => {
  const canvas = new OffscreenCanvas(image.width, image.height);
  const pen = canvas.getContext("2d");
  pen.drawImage(old, 0, 0);
  for (const [w, h] of [[Math.round(along * image.width), image.height], [image.width, Math.round(along * image.height)]]) {
    pen.clearRect(0, 0, w, h);
    pen.drawImage(image, 0, 0, w, h, 0, 0, w, h);
  }
  return canvas;
};
// Across what is drawn less long than it is.
const drawBreak = (context, ink, page, x, y, w, h) => {
  const [long, short] = [Math.max(w, h), Math.min(w, h)];
  for (const [color, shift, width] of [[page, 0, 6], [ink, -3.5, 1], [ink, 3.5, 1]]) {
    context.beginPath();
    for (let k = 0; k < 5; k += 1) {
      const [along, across] = [0.75 * long + shift + (k % 2 ? 4 : -4), (k * short) / 4];
      context.lineTo(x + (w > h ? along : across), y + (w > h ? across : along));
    }
    Object.assign(context, { strokeStyle: color, lineWidth: width }).stroke();
  }
};

// A page that fingers move; there a picture on its way has fewer pixels, for which a phone has the time.
const coarse = matchMedia("(pointer: coarse)");
const sizedCanvas = (canvas, width, height, rough) => {
  const dense = rough ? 1 : Math.min(2, window.devicePixelRatio || 1) * (printing.matches ? 2 : 1);
  if (canvas.width !== Math.round(width * dense) || canvas.height !== Math.round(height * dense)) {
    canvas.width = Math.round(width * dense);
    canvas.height = Math.round(height * dense);
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d");
  context.setTransform(dense, 0, 0, dense, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
};

// Words along what they name.
const writeAlong = (context, words, x, y, angle) => {
  if (!context.save) return context.fillText(words, x, y, ` transform="rotate(${(180 * angle) / Math.PI} ${x} ${y})"`); // into an SVG
  context.save();
  context.translate(x, y);
  context.rotate(angle);
  context.fillText(words, 0, 0);
  return context.restore();
};

// What is not stored, or not yet, or no longer.
const drawDashed = (context, color, dashes, x, y, w, h) => {
  context.strokeStyle = color;
  context.setLineDash(dashes);
  context.strokeRect(x + 0.5, y + 0.5, Math.max(0, w - 1), Math.max(0, h - 1));
  context.setLineDash([]);
};

const WEAVE = 3; // pixels of an entry, where many small matrices have one texture
// `owns` are the colors of members where a motion begins and where it ends; a box's tone says which.
const drawBoxes = (context, boxes, { owns, lit, width, height, textureOf, made }) => {
  const [gray, page, ink] = [plainColor("shared"), plainColor("page"), plainColor("muted")];
  // Of a color, where what is computed has no texture; and of lines between many.
  const [pale, faint] = theme() === "dark" ? [0.35, 0.5] : [0.2, 0.22];
  const [colors, inner] = [new Map(), new Map()];
  const colorAt = (own, share) => {
    const key = `${own} ${Math.round(share * 20)}`;
    if (!colors.has(key)) colors.set(key, blended(own, gray, Math.round(share * 20) / 20));
    return colors.get(key);
  };
  for (const box of boxes) {
    if (box.alpha <= 0 || box.x > width || box.y > height || box.x + box.w < 0 || box.y + box.h < 0) continue;
    const [x, y, w, h] = [box.x, box.y, Math.max(1, box.w), Math.max(1, box.h)];
    const alpha = box.alpha * (!lit || lit.has(box) ? 1 : lit.pointed ? 0.75 : 0.45);
    context.globalAlpha = alpha;
    const own = box.member < 0 && (box.look === "biases" || box.look === "stds") ? gray : owns[box.tone ?? 0]; // stored once
    if (box.look === "made" && box.tile && box.inner) {
      // All of a member at once.
      const key = `${alpha} ${box.member}`;
      if (!inner.has(key)) inner.set(key, { alpha, over: box.alpha, own, image: textureOf(box), path: new Path2D() });
      inner.get(key).path.rect(x, y, w, h);
      continue;
    }
    const image = textureOf(box);
    context.lineWidth = 1;
    const fill = (style, seen) => {
      Object.assign(context, { fillStyle: style, globalAlpha: seen });
      context.fillRect(x, y, w, h);
      context.globalAlpha = box.alpha; // of the page's color, so that less of what is dimmed is seen
      if (image) context.drawImage(image, x, y, w, h);
      context.globalAlpha = alpha;
    };
    if (box.look === "none") {
      drawDashed(context, ink, [2, 5], x, y, w, h);
    } else if (box.look === "lent") {
      fill(gray, 0.3 * alpha);
    } else if (box.look === "made") {
      fill(own, alpha * (image ? made : box.tile ? pale : 0));
      drawDashed(context, ink, [3, 3], x, y, w, h);
    } else if (box.look === "biases") {
      context.strokeStyle = own;
      if (h < 2.5) context.strokeRect(x, y + h / 2, w, 0);
      else context.strokeRect(x + 0.5, y + 0.5, Math.max(0, w - 1), Math.max(0, h - 1));
    } else if (box.look === "stds") {
      const thin = Math.min(w, h) < 3;
      fill(thin ? own : hatch(context, own, Math.min(w, h)), thin ? 0.6 * alpha : alpha);
      context.strokeStyle = own;
      if (!thin) context.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1);
    } else {
      fill(box.faint ? blended(colorAt(own, box.gray), page, 0.45) : colorAt(own, box.gray), alpha);
      context.strokeStyle = page;
      if (box.sliding && Math.min(w, h) > 8) context.strokeRect(x - 0.5, y - 0.5, w + 1, h + 1); // over others
      context.fillStyle = page; // between the projections of attention
      for (let k = 1; !box.inner && box.id[0] === "W" && k < box.tile.seams; k += 1) context.fillRect(x + (k * w) / box.tile.seams - 0.5, y, 1, h);
    }
  }
  for (const { id, tile, inner: packed, alpha, x, y, w, h } of boxes) if (tile?.cut && !packed && alpha === 1 && /[WZgp]/.test(id[0])) drawBreak(context, ink, page, x, y, w, h);
  for (const { alpha, over, own, image, path } of inner.values()) {
    Object.assign(context, { globalAlpha: alpha * (image ? made : pale), fillStyle: own }).fill(path);
    if (image) {
      const weave = context.createPattern(image, "repeat");
      weave.setTransform(new DOMMatrix().scale(WEAVE));
      Object.assign(context, { globalAlpha: over, fillStyle: weave }).fill(path);
    }
    Object.assign(context, { globalAlpha: faint * alpha, strokeStyle: ink, lineWidth: 1 }).stroke(path);
  }
  Object.assign(context, { globalAlpha: 1, strokeStyle: plainColor("ink"), lineWidth: 2 });
  if (lit?.pointed) for (const box of boxes) if (box.alpha === 1 && lit.has(box)) context.strokeRect(box.x, box.y, Math.max(1, box.w), Math.max(1, box.h));
  context.lineWidth = 1;
};
