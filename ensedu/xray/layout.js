// Where everything stands: from a state to boxes, each with the area of the numbers that it stands for.
// To the left what is stored once for all members, to the right what each member stores.
const GAP = 12; // pixels between tiles
const HAIR = 1; // what is thinner than a pixel is drawn one pixel wide
const SHAPED = 16; // up to so many matrices keep their shape; more are packed into a square
const MOST_TILES = 160;
const NARROW = 640;
const UNDER = 26; // for m and n at the edges of a matrix

// What has an area of its own: each matrix, m rows of `columns`, and all else that is stored beside.
const tilesOf = (layers, only) => {
  const tiles = [];
  let [shared, biases] = [0, 0];
  layers.forEach((layer, at) => {
    if (only && only.layer !== at) return;
    layer.matrices.forEach((matrix, k) => {
      if (only && only.matrix !== k) return;
      tiles.push({ id: `${at}.${k}`, layer: at, matrix: k, ...matrix, columns: matrix.size / matrix.m, head: layer.head });
    });
    if (!only) [shared, biases] = [shared + layer.shared, biases + layer.biases];
  });
  if (shared) {
    const side = Math.ceil(Math.sqrt(shared));
    tiles.push({ id: "plain", layer: -1, matrix: -1, m: side, n: side, columns: shared / side, size: shared, bias: 0 });
  }
  return { tiles: bundled(tiles), biases, shaped: tiles.length <= SHAPED, under: only ? UNDER : 0 };
};

// Of thousands of matrices some neighbors stand together as one tile.
const bundled = (tiles) => {
  if (tiles.length <= MOST_TILES) return tiles;
  const each = Math.ceil(tiles.length / MOST_TILES);
  const found = [];
  for (const tile of tiles) {
    const last = found.at(-1);
    if (last && last.count < each && !last.head && !tile.head && tile.layer >= 0) {
      for (const key of ["m", "n", "size", "bias"]) last[key] += tile[key];
      Object.assign(last, { count: last.count + 1, columns: last.size / last.m, to: tile.layer });
    } else found.push({ ...tile, count: 1 });
  }
  return found;
};

// Rows of tiles with their true sides, and room at their edges for r, s and biases.
const shelves = (tiles, unit) => {
  const thick = Math.max(HAIR, unit);
  const edge = 2 * (thick + 1) + 2;
  const limit = Math.max(...tiles.map((tile) => tile.columns * unit), 1.3 * Math.sqrt(tiles.reduce((sum, { size }) => sum + size, 0)) * unit) + edge;
  let [x, y, high, wide] = [0, 0, 0, 0];
  const places = tiles.map((tile) => {
    const [w, h] = [tile.columns * unit, tile.m * unit];
    if (x > 0 && x + edge + w > limit + 1) [x, y, high] = [0, y + high + GAP / 2, 0];
    const place = { tile, x: x + edge, y: y + edge, w, h };
    x += edge + w + GAP / 2;
    high = Math.max(high, edge + h + (tile.bias ? thick + 3 : 0));
    wide = Math.max(wide, place.x + w);
    return place;
  });
  return { w: wide, h: y + high, places, edge, thick };
};

// Many tiles in the rows of one square: the next row begins where that makes its tiles more square.
const packed = (tiles, unit) => {
  const total = tiles.reduce((sum, { size }) => sum + size, 0);
  const side = Math.sqrt(total) * unit;
  const squareness = (row, area) => {
    const high = (area * unit * unit) / side;
    return row.reduce((sum, { size }) => sum + Math.max((size * unit * unit) / high / high, (high * high) / (size * unit * unit)), 0) / row.length;
  };
  const places = [];
  let [row, area, y] = [[], 0, 0];
  const close = () => {
    const high = (area * unit * unit) / side;
    let x = 0;
    for (const tile of row) {
      const w = (tile.size * unit * unit) / high;
      places.push({ tile, x, y, w, h: high });
      x += w;
    }
    y += high;
    [row, area] = [[], 0];
  };
  for (const tile of tiles) {
    if (row.length && squareness([...row, tile], area + tile.size) > squareness(row, area)) close();
    row.push(tile);
    area += tile.size;
  }
  if (row.length) close();
  return { w: side, h: side, places, edge: 0, thick: HAIR };
};

const portraitOf = ({ tiles, shaped }, unit) => (tiles.length ? (shaped ? shelves : packed)(tiles, unit) : { w: 0, h: 0, places: [], edge: 0, thick: HAIR });
// A strip below a portrait with the area of so many numbers.
const stripHigh = (numbers, unit, portrait) => (numbers ? Math.max(HAIR, (numbers * unit * unit) / Math.max(1, portrait.w)) : 0);

// The rooms of a picture: where its zones begin, and where each member stands.
const roomsOf = (content, method, M, unit, frame) => {
  const portrait = portraitOf(content, unit);
  const [modulated, members] = [isModulated(method), METHODS[method].members];
  const doubled = spreads(method) && !members;
  const sum = (of) => content.tiles.reduce((total, tile) => total + of(tile), 0);
  const vectors = modulated ? stripHigh(sum(({ id, m, n }) => (id === "plain" ? 0 : m + n)), unit, portrait) : 0;
  const offsets = sum(({ bias }) => bias);
  const below = content.shaped ? 0 : vectors * (spreads(method) ? 2 : 1) + stripHigh(offsets, unit, portrait) + (vectors ? 3 : 0) + 4;
  const slot = { w: portrait.w + GAP * 1.5, h: portrait.h + below + frame.above + GAP };
  const narrow = frame.width < NARROW;
  // A second sheet stands beside the first, or below it where there is no room.
  const stacked = doubled && 2 * slot.w > (narrow ? 1 : 0.45) * frame.width;
  const left = { x: 0, y: frame.head, w: (doubled && !stacked ? 2 : 1) * (portrait.w + GAP) };
  // One below the other, curves take no room where there are none.
  const above = narrow ? 4 : frame.above;
  const sheet = slot.h - frame.above + above;
  const once = sheet * (stacked ? 2 : 1) + content.under;
  // Both zones have room for their words, and the members begin where the words of theirs do.
  const right = narrow
    ? { x: content.under / 2, y: 2 * frame.head + once, w: frame.width - content.under }
    : { x: Math.max(left.w + 2.5 * GAP, frame.words), y: frame.head, w: 0 };
  if (!narrow) right.w = frame.width - right.x;
  const most = Math.max(1, Math.min(M, Math.floor((right.w + GAP) / slot.w)));
  const across = Math.ceil(M / Math.ceil(M / most)); // rows of one length
  // Of what nobody stores, one row is enough.
  const ghosts = members ? M : passesOf(method, M) > 1 ? Math.min(M, across) : 0;
  const rows = members ? Math.ceil(M / across) : 1;
  return {
    portrait, slot, rows, vectors, offsets, ghosts, zones: { left, right },
    second: stacked ? [0, sheet] : [portrait.w + GAP, 0],
    high: Math.max(right.y + (ghosts ? rows : 0) * slot.h, left.y + once), wide: right.x + (ghosts ? across * slot.w - GAP : 0),
    home: { x: left.x, y: left.y + above },
    // On whole pixels, so that equal members look equal.
    slotOf: (i) => ({ x: Math.round(right.x + (i % across) * slot.w), y: Math.round(right.y + frame.above + Math.floor(i / across) * slot.h) }),
  };
};

// All boxes of a method in their rooms. Of what all have, member 0's box stands for it.
const compose = (content, method, M, unit, frame) => {
  const rooms = roomsOf(content, method, M, unit, frame);
  const { portrait, vectors, offsets, ghosts, home, second, slotOf } = rooms;
  const { body, members } = METHODS[method];
  const [apart, modulated] = [isApart(method) && !body, isModulated(method)];
  const doubled = spreads(method) && !members;
  const boxes = new Map();
  const put = (id, x, y, w, h, look, more) => boxes.set(id, { id, x, y, w, h, look, alpha: 1, gray: 0, ...more });

  for (const { tile, x, y, w, h } of portrait.places) {
    const about = { layer: tile.layer, matrix: tile.matrix, tile };
    const own = apart || (body && tile.head);
    for (let i = M - 1; i >= 0; i -= 1) {
      const at = slotOf(i);
      const member = { ...about, member: i };
      if (own) put(`W.${tile.id}.${i}`, at.x + x, at.y + y, w, h, "per_member", { ...member, texture: "own" });
      else if (i === 0 || STOPS.includes(method)) put(`W.${tile.id}.${i}`, home.x + x, home.y + y, w, h, "shared", { ...about, member: -1, gray: 1, hidden: i > 0, texture: "stored" });
      if (!own && i < ghosts && tile.id !== "plain") put(`g.${tile.id}.${i}`, at.x + x, at.y + y, w, h, "made", { ...member, texture: "made", inner: !content.shaped });
      if (!content.shaped || tile.id === "plain") continue;
      const t = portrait.thick;
      if (modulated) {
        // Beside the matrix, a number of r a row; above it a number of s a column, as wide as its kernel.
        put(`r.${tile.id}.${i}`, at.x + x - t - 2, at.y + y, t, h, "per_member", { ...member, texture: "r" });
        put(`s.${tile.id}.${i}`, at.x + x, at.y + y - t - 2, tile.n * unit, t, "per_member", { ...member, texture: "s" });
        if (spreads(method)) {
          put(`R.${tile.id}.${i}`, at.x + x - 2 * t - 3, at.y + y, t, h, "scales", { ...member, texture: "σr" });
          put(`S.${tile.id}.${i}`, at.x + x, at.y + y - 2 * t - 3, tile.n * unit, t, "scales", { ...member, texture: "σs" });
        }
      }
      const mine = members && (!body || tile.head);
      if (tile.bias && (mine || i === 0)) {
        const from = mine ? at : home;
        put(`b.${tile.id}.${i}`, from.x + x, from.y + y + h + 3, tile.bias * unit, t, "biases", mine ? member : { ...about, member: -1 });
      }
    }
    if (!doubled || tile.id === "plain") continue;
    put(`Z.${tile.id}`, home.x + x + second[0], home.y + y + second[1], w, h, "scales", { ...about, member: -1 });
    if (content.shaped && tile.bias) put(`B.${tile.id}`, home.x + x + second[0], home.y + y + h + 3 + second[1], tile.bias * unit, portrait.thick, "biases", { ...about, member: -1 });
  }
  if (!content.shaped) {
    const about = { layer: -1, matrix: -1 };
    for (let i = 0; i < M; i += 1) {
      const at = slotOf(i);
      if (i < ghosts && !body) put(`g.${i}`, at.x, at.y, portrait.w, portrait.h, "made", { ...about, member: i });
      let y = at.y + portrait.h + 3;
      const strip = (id, high, look) => {
        put(`${id}.${i}`, at.x, y, portrait.w, high, look, { ...about, member: i });
        y += high + 1;
      };
      if (modulated) strip("r", vectors, "per_member");
      if (modulated && spreads(method)) strip("R", vectors, "scales");
      if (members && !body && offsets) strip("b", stripHigh(offsets, unit, portrait), "biases");
    }
    const others = content.biases + (members && !body ? 0 : offsets);
    if (others && !apart) put("b", home.x, home.y + portrait.h + 3, portrait.w, stripHigh(others, unit, portrait), "biases", { ...about, member: -1 });
  }
  return { ...rooms, boxes };
};

// The side of one number, in pixels, at which every stop fits into the frame: in one row of members, if
// that makes nothing much smaller, or there are curves to compare.
const fitting = (content, M, frame) => {
  const largest = (mostRows) => {
    let [low, high] = [1e-5, 64];
    for (let k = 0; k < 34; k += 1) {
      const middle = Math.sqrt(low * high);
      const fits = STOPS.every((method) => {
        const { high: deep, wide, rows } = roomsOf(content, method, M, middle, frame);
        return rows <= mostRows && deep <= frame.height && wide <= frame.width + 1;
      });
      if (fits) low = middle;
      else high = middle;
    }
    return low;
  };
  const [any, flat] = [largest(Infinity), largest(1)];
  return flat > (CURVES ? 0.5 : 0.85) * any ? flat : any;
};

// Between two stops everything is on its way; what is in one alone appears where it will stand.
const between = (from, to, share) => {
  if (share === 0) return [...from.boxes.values()].filter((box) => !box.hidden);
  const found = [];
  for (const [id, a] of from.boxes) {
    const b = to.boxes.get(id);
    if (!b) found.push({ ...a, alpha: a.alpha * Math.max(0, 1 - 2.5 * share) });
    else if (!(a.hidden && b.hidden)) found.push(mixedBox(a, b, share));
  }
  for (const [id, b] of to.boxes) if (!from.boxes.has(id)) found.push({ ...b, tone: 1, alpha: b.alpha * Math.min(1, 2.5 * share) });
  return found;
};
const lerp = (a, b, share) => a + (b - a) * share;
const mixedBox = (a, b, share) => ({
  ...(share < 0.5 ? a : b), alpha: lerp(a.alpha, b.alpha, share), gray: lerp(a.gray, b.gray, share),
  x: lerp(a.x, b.x, share), y: lerp(a.y, b.y, share), w: lerp(a.w, b.w, share), h: lerp(a.h, b.h, share),
  moving: a.look !== b.look, hidden: false, tone: a.gray < b.gray || (a.gray === b.gray && share < 0.5) ? 0 : 1,
});
