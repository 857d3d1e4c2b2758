// Where everything stands: from a state to boxes, each with the area of the numbers that it stands for.
// To the left what is stored once for all members, to the right what each member stores.
const GAP = 12; // pixels between tiles
const MOST_TILES = 160;
const LONG = 2; // a side longer than so many sides of a square with all numbers is drawn less long
// A layer alone is at most so many times as long as broad; but one with few rows or columns is seen as a line, of more than one up to so long a one.
const [BROAD, FEW, LINE] = [2, 64, 15];
const [TALL, NARROW_TALL] = [1.4, 3]; // of many matrices together the height by the width
const CROWD = 16; // members, from which on they have no names
const NARROW = 640;
const APART = 4; // pixels between strips of many matrices
const THICK = 6; // pixels, from which on a strip has room beside it for what is drawn from it
const PAIRED = 14; // pixels of a second line of words
const NAME = 16; // for the name of a layer of a block, above it
const UNDER = 26; // for m and n below a matrix
const LEAST = 12; // of a square with all numbers, the side at which it is still a picture
const TALLEST = 300; // a column, which is no higher
const LARGE = 240; // of a layer alone the side of a square that two members leave it, or else one is seen

// Its area stays, but what is longer than so many times its breadth is drawn less long: a break says so.
const shortened = ({ rows, columns }, most) => {
  const shape = columns / rows;
  const ratio = Math.min(most, Math.max(1 / most, shape));
  return { cut: ratio !== shape, w: Math.sqrt(rows * columns * ratio), h: Math.sqrt((rows * columns) / ratio) };
};

// What has an area of its own: each matrix, each table, and all else that is stored beside.
const tilesOf = (layers, part, methods = STOPS) => {
  const tiles = [];
  const only = part?.block ? null : part;
  let [others, biases] = [0, 0];
  layers.forEach((layer, at) => {
    if (part && !(only ? only.layer === at : part.block.includes(layer))) return;
    (part ? sheetsOf : matricesOf)(layer).forEach((matrix, k) => {
      if (only && only.matrix !== k) return;
      const [plain, rows, columns] = [!layer.matrices.length, rowsOf(matrix), columnsOf(matrix)];
      tiles.push({ id: `${at}.${k}`, block: blocksOf(layers)[at], faint: !only && /attention|attn/i.test(`${layer.name} ${layer.kind}`), kind: layer.kind, layer: at, matrix: k, ...matrix, plain, rows, columns, head: layer.head });
    });
    if (!part) [others, biases] = [others + (layer.table ? 0 : layer.shared), biases + layer.biases];
  });
  if (others) {
    const side = Math.sqrt(others);
    tiles.push({ id: "plain", block: null, layer: -1, matrix: -1, m: side, n: side, rows: side, columns: side, size: others, bias: 0, plain: true });
  }
  const side = Math.sqrt(tiles.reduce((sum, { size }) => sum + size, 0));
  const isLine = ({ rows, columns }) => Math.min(rows, columns) === 1 || (Math.min(rows, columns) < FEW && Math.max(rows, columns) <= LINE ** 2 * Math.min(rows, columns));
  const mostOf = (tile) => (!only ? (LONG * side) ** 2 / (tile.rows * tile.columns) : isLine(tile) ? Infinity : tile.plain && tile.rows > 1 ? 1 : BROAD);
  for (const tile of tiles) Object.assign(tile, shortened(tile, mostOf(tile)));
  for (const tile of tiles) tile.seams = tile.layer < 0 ? 1 : groupsOf(tile);
  const kept = layers.some((layer) => layer.kept[0] + layer.kept[1]);
  const [{ w, h }] = only ? tiles : [{}];
  return {
    tiles: bundled(tiles), biases, side, kept, shaped: tiles.length <= SHAPED, one: Boolean(only), part: Boolean(part), block: Boolean(part) && !only, under: only ? UNDER : 0,
    flat: w > 6 * h && !tiles[0].plain, line: w > 6 * h || h > 6 * w, broad: w > 0.9 * BROAD * h, lent: Boolean(only && tiles[0].plain), tall: h > 6 * w, drawn: Boolean(only) && methods.some(drawsFactors) && w <= 6 * h && h <= 6 * w, vectors: methods.some(drawsFactors) ? 2 : 1, air: w > 6 * h ? 7 : h > 6 * w ? 12 : 2, // a line has room beside it for its name
  };
};

// Of thousands of matrices some neighbors stand together as one tile.
const bundled = (tiles) => {
  if (tiles.length <= MOST_TILES) return tiles;
  const each = Math.ceil(tiles.length / MOST_TILES);
  const found = [];
  for (const tile of tiles) {
    const last = found.at(-1);
    if (last && last.count < each && (last.block === tile.block || tile.block.layers.length < 2 || each > 16) && !last.head && !tile.head && last.plain === tile.plain && tile.layer >= 0) {
      for (const key of ["m", "n", "size", "bias"]) last[key] += tile[key];
      Object.assign(last, { count: last.count + 1, to: tile.layer });
    } else found.push({ ...tile, count: 1 });
  }
  return found;
};

// What would be thinner is drawn so thick, so that it is seen: r, s, biases, a matrix of one row.
const thinnest = ({ side, one, line }, unit) => line ? 14 : clamp((one ? 0.06 : 0.04) * side * unit, 1, one ? 12 : 6);

// Rows of tiles with their true sides, and room at their edges for r, s and biases.
const shelves = ({ tiles, side, air, drawn: wanted, block, vectors }, unit, thin) => {
  const named = block ? NAME : 0;
  const [near, apart] = [air > 2 ? 2 * air : Math.min(5, 2.5 * thin), block ? GAP : Math.min(GAP / 2, 2 * thin)];
  const drawn = wanted && thin >= THICK;
  const strips = vectors + Number(drawn); // of each vector: its means, its standard deviations, and what is drawn
  const sized = tiles.map((tile) => {
    const [w, h] = [tile.w, tile.h].map((length) => Math.max(thin, length * unit));
    // As thick as so many numbers along that edge need.
    const [r, s, b] = [tile.m / h, tile.n / w, tile.bias / w].map((of) => Math.max(thin, of * unit * unit));
    return { tile, w, h, r, s, b, left: tile.plain ? apart : strips * r + near, top: named + (tile.plain ? apart : strips * s + near), below: tile.bias ? b + 1 + air : 0 };
  });
  const widest = Math.max(...sized.map(({ left, w }) => left + w));
  // Where most is room at the edges, matrices alone do not say how wide a square is.
  const room = Math.sqrt(sized.reduce((sum, one) => sum + (one.left + one.w + apart) * (one.top + one.h + one.below + apart), 0));
  const tried = [...[1.1, 1.3, 1.6, 2].map((factor) => factor * side * unit), room].map((limit) => shelved(sized, Math.max(limit, widest), apart));
  // Four of them stand beside each other, so rather high than wide.
  const worst = ({ w, h }) => Math.max(1.5 * w, h);
  return { ...tried.reduce((best, one) => (worst(one) < worst(best) ? one : best)), top: sized[0].top, drawn };
};
// In shelves of at most this width; what is low stands below another where a shelf is high enough.
const shelved = (sized, limit, apart) => {
  let [x, y, high, wide] = [0, 0, 0, 0];
  let column = null; // { x, y, w }, the last one of its shelf
  const places = sized.map((one) => {
    const [w, h] = [one.left + one.w, one.top + one.h + one.below];
    if (column && column.y + h <= y + high + 1 && column.x + w <= limit + 1) column.w = Math.max(column.w, w);
    else {
      if (column) x = column.x + column.w + apart;
      if (x > 0 && x + w > limit + 1) [x, y, high] = [0, y + high + apart, 0];
      column = { x, y, w };
    }
    const place = { ...one, x: column.x + one.left, y: column.y + one.top };
    column.y += h + apart;
    high = Math.max(high, column.y - apart - y);
    wide = Math.max(wide, column.x + column.w);
    return place;
  });
  return { w: wide, h: y + high, places, left: Math.min(...places.map((place) => place.x)) };
};

// Rectangles in the rows of a room: the next row begins where that makes them more like the target, in width by height.
const rowsWithin = (items, room, target = 1) => {
  const scale = (room.w * room.h) / items.reduce((sum, { size }) => sum + size, 0);
  const areaOf = (row) => row.reduce((sum, { size }) => sum + size * scale, 0);
  const ratioOf = (item, row) => {
    const ratio = areaOf([item]) / (areaOf(row) / room.w) ** 2 / target;
    return Math.max(ratio, 1 / ratio);
  };
  const squareness = (row) => row.reduce((sum, item) => sum + ratioOf(item, row), 0) / row.length;
  const rows = [[]];
  for (const item of items) {
    const row = rows.at(-1);
    if (row.length && squareness([...row, item]) > squareness(row)) rows.push([item]);
    else row.push(item);
  }
  // What is left at the end is no low row of its own.
  const [before, end] = rows.slice(-2);
  if (end && ratioOf(end[0], [...before, ...end]) < ratioOf(end[0], end)) rows.splice(-2, 2, [...before, ...end]);
  let { y } = room;
  return rows.flatMap((row) => {
    const [h, top] = [areaOf(row) / room.w, y];
    let { x } = room;
    y += h;
    return row.map((item) => {
      const w = areaOf([item]) / h;
      return { item, x: (x += w) - w, y: top, w, h };
    });
  });
};

// Neighbors that are alike, together.
const gathered = (all, of) =>
  all.reduce((found, one) => {
    if (found.at(-1)?.key !== of(one)) found.push({ key: of(one), items: [], size: 0 });
    found.at(-1).items.push(one);
    found.at(-1).size += one.size;
    return found;
  }, []);
// Many tiles, those of a block of the model together. Where most blocks are equal they are the cells of a grid, with
// what comes before it above and what comes after it below, each across its whole width.
const packed = (content, unit, tall) => {
  const [area, wide] = [(content.side * unit) ** 2, (content.side * unit) / Math.sqrt(tall)];
  const runs = gathered(gathered(content.tiles, ({ block }) => block), ({ items }) => items.map(({ kind, size }) => `${kind} ${size}`).join());
  const equal = ({ items }) => items.length > 3;
  const regular = 2 * runs.filter(equal).reduce((sum, { size }) => sum + size, 0) > content.side ** 2;
  const gap = regular ? clamp(0.017 * wide, 0.5, 3) : 0;
  let high = -gap;
  const bands = gathered(runs, (run) => (regular && (equal(run) || !run.items[0].key) ? run.key : "")).map(({ key, items, size }) => {
    const [blocks, part] = [items.flatMap((run) => run.items), (area * size) / content.side ** 2];
    // Cells that are nearly square, and few of a last row left empty.
    const cost = (columns) => Math.abs(Math.log((wide / columns) ** 2 / (part / blocks.length))) + 8 * Math.log((Math.ceil(blocks.length / columns) * columns) / blocks.length);
    const columns = key ? blocks.reduce((best, _, k) => (cost(k + 1) < cost(best) ? k + 1 : best), 1) : 1;
    const w = (wide - (columns - 1) * gap) / columns;
    const h = Math.max(regular ? thinnest(content, unit) / 2 : 0, key ? part / blocks.length / w : part / wide);
    const y = high + gap;
    high = y + (key ? Math.ceil(blocks.length / columns) : 1) * (h + gap) - gap;
    return () => (key ? blocks.map((item, k) => ({ item, x: (k % columns) * (w + gap), y: y + Math.floor(k / columns) * (h + gap), w, h })) : rowsWithin(blocks, { x: 0, y, w, h }));
  });
  // Of a block its attention and its other layers stand in rows; the largest in the middle has the name.
  const places = () => bands.flatMap((band) => band()).flatMap(({ item: { key: block, items }, x, y, w, h }) => {
    const seam = items.length > 1 && !regular ? Math.min(1.5, 0.03 * Math.min(w, h)) : 0;
    const parts = rowsWithin(gathered(items, ({ faint, layer }) => faint || layer), { x: x + seam, y: y + seam, w: w - 2 * seam, h: h - 2 * seam }, regular ? 3 : 1);
    const found = parts.flatMap(({ item, ...part }) => rowsWithin(item.items, part));
    const away = (one) => Math.hypot(one.x + one.w / 2 - x - w / 2, one.y + one.h / 2 - y - h / 2);
    const [largest] = [...found].sort((one, other) => other.item.size - one.item.size || away(one) - away(other));
    return found.map((one) => {
      const line = Math.min(one.w, one.h) > Math.max(3, one.w / 20, one.h / 20) ? 0.4 : 0; // what is thin keeps its area
      const name = items.length > 1 ? block.name.split(".").at(-1).replace(/^\d+$/, "block $&") : "";
      return { tile: one.item, x: one.x + line, y: one.y + line, w: one.w - 2 * line, h: one.h - 2 * line, name: one === largest ? name : undefined };
    });
  });
  return { w: wide, h: high, left: 0, top: 0, get places() { return places(); } };
};

const portraitOf = (content, unit, narrow) => {
  if (!content.tiles.length) return { w: 0, h: 0, places: [], left: 0, top: 0 };
  return content.shaped ? shelves(content, unit, thinnest(content, unit)) : packed(content, unit, narrow ? NARROW_TALL : TALL);
};

// The rooms of a picture: where its zones begin, and where each member stands, of all or so many that are seen.
const roomsOf = (content, method, M, unit, frame, most = M) => {
  const phone = frame.width < NARROW;
  const portrait = portraitOf(content, unit, phone);
  const { has_members: members, body } = METHODS[method];
  const doubled = spreads(method) && !members;
  const seen = doubled && content.broad ? Math.ceil(most / 2) : most; // beside a second sheet
  // There members stand beside W, at all stops, unless that is so broad that it has the room.
  const pair = phone && !(content.flat || content.broad || content.lent || frame.curves);
  const beside = pair && !content.tall;
  const narrow = (phone && !pair) || content.flat;
  // Else they stand above it, and fall upon no words.
  const falls = phone && narrow && !content.lent && !isSolo(method);
  const head = isSolo(method) ? 0 : frame.head + (pair ? PAIRED : 0);
  // What members predict stands above the words of what they store.
  const lowered = frame.curves && M <= CROWD ? head : 0;
  const sum = (of) => content.tiles.reduce((total, tile) => total + of(tile), 0);
  // A strip below a portrait of many matrices, with the area of so many numbers.
  const strip = (numbers) => (numbers ? Math.max(thinnest(content, unit), (numbers * unit * unit) / Math.max(1, portrait.w)) : 0);
  const lengths = { r: sum(({ plain, m }) => (plain ? 0 : m)), s: sum(({ plain, n }) => (plain ? 0 : n)), b: sum(({ bias }) => bias) };
  const vectors = isModulated(method) ? strip(lengths.r) + strip(lengths.s) + 2 * APART : 0;
  const beneath = content.shaped ? 0 : vectors * (spreads(method) ? 2 : 1) + strip(lengths.b) + 4;
  // A crowd stands close, and so do all on a phone, and samples, beside a second sheet.
  const [gap, above] = M > CROWD ? [GAP / 2, GAP / 2] : [(content.block && !narrow ? 3 : narrow || doubled || beside ? 0.4 : content.tall ? 4 : 1.5) * GAP, frame.above + lowered];
  // Where strips stand, if there are some: what is stored once has none.
  const [bare, indent] = [portrait.w - portrait.left, isModulated(method) || pair || falls || (!narrow && (members || frame.curves)) ? 0 : portrait.left];
  const slot = { w: portrait.w - indent + gap, h: portrait.h + beneath + above + GAP };
  // What is stored once stands above the members of a flat layer, elsewhere at their left.
  // What all use as it is has one place, in the middle, with its words beside it.
  const lent = content.lent && (!isApart(method) || body);
  const shift = content.flat ? Math.max(0, (frame.width - portrait.w - 3 * GAP) / 2) : lent && !narrow ? Math.max(0, (frame.width - bare - 26 * GAP) / 2) : 0;
  const left = { x: shift, y: narrow ? head : head - lowered };
  const [aside, raised] = content.flat ? [shift, portrait.top] : [0, 0]; // in the middle; and no strips are above what is stored once
  const homeTop = left.y + (isSolo(method) ? 18 : narrow ? 4 : above) - raised;
  const sheet = slot.h - above;
  // A second sheet stands beside the first, or below it where there is no room.
  const stacked = doubled && !lent && ((beside && content.shaped) || content.flat || 2 * bare + GAP > frame.width);
  const second = stacked ? [0, beside ? slot.h : sheet - portrait.top] : [bare + (content.tall ? 2 : 1) * GAP, 0];
  const empty = narrow && content.lent && isApart(method) && !body; // where members are not seen at the other stops
  const vacant = isApart(method) && !body && !content.kept && !empty;
  const once = { w: shift + (doubled && !lent && !stacked ? 2 : 1) * (bare + GAP), h: empty ? head : homeTop + sheet + second[1] + content.under };
  const right = falls ? { x: aside, y: head - lowered } : narrow ? { x: aside, y: once.h + head - lowered } : { x: Math.max(once.w + (pair ? 0 : doubled ? 0.5 : 1) * GAP, pair ? (content.shaped ? frame.width / (content.tall ? 2.5 : 3) : 0) : frame.words), y: left.y };
  const [edge, wide] = [narrow ? 0 : gap, frame.width - right.x - aside]; // no gap at the end, but on a phone
  const fit = content.flat ? 1 : Math.max(1, Math.min(seen, Math.floor((wide + edge) / slot.w))); // a line has names at its end
  const rows = Math.ceil(seen / fit);
  const across = Math.ceil(seen / rows);
  const needed = right.x + across * slot.w - edge;
  // Sheets stand at equal distances, members at each stop in the same places; with their curves also samples, beside room for a second sheet.
  const spread = !narrow && (!content.shaped || !phone);
  const [end, strips] = content.tall ? [frame.width - portrait.w - 5 * GAP, 0] : [frame.width - bare, portrait.left - indent]; // of which a line's name has room
  const sheets = (doubled || frame.curves) && !stacked ? 2 : 1;
  const pitch = Math.min(end / (across + sheets - 1), portrait.w + (content.tall ? 16 : 8) * GAP);
  if (spread) [right.x, second[0]] = [Math.max(right.x, sheets * pitch - strips), sheets > 1 && !content.tall ? pitch : second[0]];
  const step = spread ? Math.min((end - right.x - strips) / Math.max(1, across - 1), pitch) : Math.max(slot.w, (wide + edge) / across);
  const ghosts = !lent && (members || passesOf(method, M) > 1) ? seen : 0;
  const home = { x: shift - portrait.left, y: falls ? right.y + rows * slot.h + content.under - raised : homeTop };
  const below = home.y + sheet + second[1] + content.under;
  const wordsAt = ({ x, y }, low) => ({ x, y: low ? y + frame.above : y - head });
  return {
    portrait, slot: { ...slot, w: spread ? step : slot.w }, above, across, rows, seen, lengths, ghosts, lent, strip, home, pair, vacant: vacant && (spread ? Infinity : 5 * GAP), second, zones: { left: falls ? { x: aside, y: below } : wordsAt(left, lowered && !narrow), right: wordsAt(phone && spread ? { x: frame.width / 3, y: right.y } : right, lowered) },
    high: Math.max(ghosts ? right.y + rows * slot.h + content.under : 0, falls ? below + head : once.h + (lent && narrow ? head : 0)),
    wide: Math.max(once.w - GAP, ghosts ? needed : 0),
    // On whole pixels, so that equal members look equal.
    slotOf: (i) => ({ x: Math.round(right.x - indent + (i % across) * step), y: Math.round(right.y + above + Math.floor(i / across) * slot.h) }),
  };
};

// All boxes of a method in their rooms, of those seen with a member. Of what all have, member 0's box stands for it.
const compose = (content, method, M, unit, frame, most = M, member = 0) => {
  const rooms = roomsOf(content, method, M, unit, frame, most);
  const first = rooms.seen < M ? member - (member % rooms.seen) : 0;
  const shown = Math.min(rooms.seen, M - first);
  const ghosts = Math.min(rooms.ghosts, shown);
  const { portrait, lengths, home, second, slotOf, strip } = rooms;
  const { body, has_members: members } = METHODS[method];
  const [apart, modulated] = [isApart(method) && !body, isModulated(method)];
  const doubled = spreads(method) && !members;
  const boxes = new Map();
  const put = (id, x, y, w, h, look, more) => boxes.set(id, { id, x, y, w, h, look, alpha: 1, gray: 0, ...more });

  const { air } = content;
  for (const { tile, x, y, w, h, r, s, b, name } of portrait.places) {
    const about = { layer: tile.layer, matrix: tile.matrix, tile, name, inner: !content.shaped, faint: tile.faint && !content.shaped };
    const own = apart || (body && tile.head);
    const stored = (i) => put(`W.${tile.id}.${i}`, home.x + x, home.y + y, w, h, "shared", { ...about, member: -1, gray: 1, hidden: i > 0, texture: "stored" });
    for (let k = shown - 1; k >= 0; k -= 1) {
      const [i, at] = [first + k, slotOf(k)];
      const member = { ...about, member: i };
      const [left, top] = [at.x + x, at.y + y];
      if (own) put(`W.${tile.id}.${i}`, left, top, w, h, "per_member", { ...member, texture: "own" });
      else if (STOPS.includes(method)) stored(i);
      // Of what is computed; and a shadow of what members use as it is.
      const lent = body || tile.plain;
      if (!own && k < ghosts) put(`${lent ? "p" : "g"}.${tile.id}.${i}`, left, top, w, h, lent ? "lent" : "made", { ...member, texture: lent ? "" : "made" });
      if (!content.shaped) continue;
      if (modulated && !tile.plain) {
        // Beside the matrix, a number of r a row; above it a number of s a column.
        const drawn = portrait.drawn && spreads(method) ? 1 : 0;
        if (drawn) {
          put(`dr.${tile.id}.${i}`, left - r - air, top, r, h, "made", { ...member, texture: "dr" });
          put(`ds.${tile.id}.${i}`, left, top - s - air, w, s, "made", { ...member, texture: "ds" });
        }
        const [out, up] = [left - drawn * (r + air), top - drawn * (s + air)];
        put(`r.${tile.id}.${i}`, out - r - air, top, r, h, "per_member", { ...member, texture: "r" });
        put(`s.${tile.id}.${i}`, left, up - s - air, w, s, "per_member", { ...member, texture: "s" });
        if (spreads(method)) {
          put(`R.${tile.id}.${i}`, out - 2 * r - 1.5 * air, top, r, h, "stds", member);
          put(`S.${tile.id}.${i}`, left, up - 2 * s - 1.5 * air, w, s, "stds", member);
        }
      }
      const mine = apart || (members && !tile.plain && (!body || tile.head));
      if (tile.bias && (mine || k === 0)) {
        const from = mine ? at : home;
        put(`b.${tile.id}.${mine ? i : 0}`, from.x + x, from.y + y + h + 1 + air, w, b, "biases", mine ? member : { ...about, member: -1 });
      }
    }
    if (!own) stored(0);
    if (!doubled) continue;
    const [beyond, fixed] = [[home.x + x + second[0], home.y + y + second[1]], { ...about, member: -1 }];
    if (!tile.plain) put(`Z.${tile.id}`, ...beyond, w, h, "stds", fixed);
    else if (!rooms.lent && Math.min(w, h) > 5) put(`N.${tile.id}`, ...beyond, w, h, "none", fixed);
    if (content.shaped && tile.bias && !tile.plain) put(`B.${tile.id}`, home.x + x + second[0], home.y + y + h + 1 + air + second[1], w, b, "biases", fixed);
  }
  if (!content.shaped) {
    const about = { layer: -1, matrix: -1 };
    for (let i = 0; i < M; i += 1) {
      const at = slotOf(i);
      if (i < ghosts && !body && !apart) put(`g.${i}`, at.x, at.y, portrait.w, portrait.h, "made", { ...about, member: i });
      let y = at.y + portrait.h + 3;
      const line = (id, look, numbers) => {
        put(`${id}.${i}`, at.x, y, portrait.w, strip(numbers), look, { ...about, numbers, member: i });
        y += strip(numbers) + APART;
      };
      for (const letter of modulated ? ["r", "s"] : []) {
        line(letter, "per_member", lengths[letter]);
        if (spreads(method)) line(letter.toUpperCase(), "stds", lengths[letter]);
      }
      if (members && !body && lengths.b) line("b", "biases", lengths.b);
    }
    const others = content.biases + (members && !body ? 0 : lengths.b);
    if (others && !apart) put("b", home.x, home.y + portrait.h + 3, portrait.w, strip(others), "biases", { ...about, numbers: others, member: -1 });
  }
  return { ...rooms, ghosts, first, boxes, method };
};

const isWithin = ({ high, wide }, frame, more = 0) => high <= frame.height + more && wide <= frame.width + more;
// The side of one number, in pixels, at which every stop fits into the frame: in one row of members, if
// that makes nothing much smaller, or there are curves to compare.
const fitting = (content, M, frame, methods = STOPS, seen = M) => {
  const largest = (mostRows) => {
    let [low, high] = [LEAST / Math.max(1, content.side), content.tall ? TALLEST / content.tiles[0].h : content.lent && content.line ? (0.17 * frame.width) / content.tiles[0].w : 64];
    for (let k = 0; k < 34; k += 1) {
      const middle = Math.sqrt(low * high);
      const fits = methods.every((method) => {
        const rooms = roomsOf(content, method, M, middle, frame, seen);
        return rooms.rows <= mostRows && isWithin(rooms, frame);
      });
      if (fits) low = middle;
      else high = middle;
    }
    return low;
  };
  const [any, flat] = [largest(Infinity), largest(1)];
  return flat > (frame.curves ? 0.5 : frame.width < NARROW ? 1 : 0.75) * any ? flat : any;
};

// A layer or a block alone is as large as it can be with two members beside W, or with one where that leaves it little; and so
// many members are seen as have room at every stop. The others are turned to.
const largest = (content, M, frame, methods) => {
  if (!content.part) return fitting(content, M, frame, methods);
  const broad = frame.width > NARROW;
  const [two, other] = [2, 1].map((seen) => fitting(content, M, frame, methods, Math.min(seen, M)));
  return content.flat || content.tall || (content.block && broad) || (content.broad && broad) || content.side * two > LARGE ? two : other;
};
const seenOf = (content, M, unit, frame, methods) => {
  if (!content.part) return M;
  let seen = 1;
  while (seen < M && methods.every((method) => isWithin(roomsOf(content, method, M, unit, frame, seen + 1), frame, 1))) seen += 1;
  return seen;
};

// Between two stops, first what goes fades, and what becomes one slides together, across and then up or down, and turns gray; it leaves
// behind the dashes of what is then computed. Only then what is new grows out.
const ARRIVED = 0.7;
const lerp = (a, b, share) => a + (b - a) * share;
const during = (share, from, to) => {
  const part = clamp((share - from) / (to - from), 0, 1);
  return part * part * (3 - 2 * part);
};
// Where W has been shared new is what grows; and what goes from there goes as that grows.
const grownAt = (share, from) => during(share, from && isModulated(from) ? 0 : ARRIVED, 1);
const movedAt = (share, from) => during(share, 0, from && drawsFactors(from) ? 1 : ARRIVED);
const between = (from, to, share) => {
  if (share === 0) return [...from.boxes.values()].filter((box) => !box.hidden);
  const [found, sliding, moved, grown] = [[], [], movedAt(share, from.method), grownAt(share, from.method)];
  // What goes, goes with its member.
  const by = (member, side) => (to.slotOf ? moved * (to.slotOf(member - from.first)[side] - from.slotOf(member - from.first)[side]) : 0);
  const shifted = ({ member, x, y }) => ({ x: x + by(member, "x"), y: y + by(member, "y") });
  for (const [id, a] of from.boxes) {
    const b = to.boxes.get(id);
    if (!b) found.push({ ...a, ...(a.member < 0 ? {} : shifted(a)), alpha: a.alpha * (1 - moved) });
    else if (a.look !== b.look) sliding.push({ ...mixedBox(a, b, during(share, 0, 0.6 * ARRIVED), moved, during(share, 0.5 * ARRIVED, ARRIVED)), member: Math.max(a.member, b.member), sliding: true });
    else if (!(a.hidden && b.hidden)) found.push(mixedBox(a, b, moved, share));
  }
  for (const [id, b] of to.boxes) {
    if (from.boxes.has(id)) continue;
    const left = /made|lent/.test(b.look) && from.boxes.get(id.replace(/^[gp]/, "W")); // what slid away from there
    if (left) found.push({ ...mixedBox(left, b, moved, 1), tone: 1, alpha: b.alpha * Math.min(1, 6 * moved) });
    else if (/^[RS]/.test(id)) {
      // Standard deviations grow out of their mean, or move out from behind it.
      const [x, y] = b.w < b.h ? [1 - grown, 0] : [0, 1 - grown];
      found.push({ ...b, tone: 1, x: b.x + x * b.w, y: b.y + y * b.h, w: b.w * (1 - x), h: b.h * (1 - y) });
    } else if (/^[ZBN]/.test(id) && to.second) found.unshift({ ...b, tone: 1, alpha: Math.min(1, 6 * grown), x: lerp(b.x - to.second[0] + from.home.x - to.home.x, b.x, grown), y: lerp(b.y - to.second[1] + from.home.y - to.home.y, b.y, grown) });
    else found.push({ ...b, tone: 1, alpha: b.alpha * grown, w: b.w * (id[0] === "s" ? grown : 1), h: b.h * (id[0] === "r" ? grown : 1) });
  }
  return [...found, ...sliding.sort((one, other) => one.member - other.member)];
};
const mixedBox = (a, b, moved, turned, down = moved) => ({
  ...(turned < 0.5 ? a : b), alpha: lerp(a.alpha, b.alpha, turned), gray: lerp(a.gray, b.gray, turned),
  x: lerp(a.x, b.x, moved), y: lerp(a.y, b.y, down), w: lerp(a.w, b.w, moved), h: lerp(a.h, b.h, moved),
  hidden: false, tone: a.gray < b.gray || (a.gray === b.gray && turned < 0.5) ? 0 : 1,
});
