// One state says all that the page shows; the address carries what differs from how it opens.
// Inside another page it is compact: only what its zoom tells, and all else after one press.
const COMPACT = DATA.opening !== undefined;
const whole = (low, high, start) => ({ start, read: (text) => within(Math.round(Number(text)), low, high) });
const real = (low, high, start) => ({ start, read: (text) => within(Number(text), low, high) });
// Counted from 1 in an address, as the page does.
const counted = (high) => ({ ...whole(0, high, 0), read: (text) => within(Math.round(Number(text)) - 1, 0, high), write: (at) => at + 1 });
const one = (of, start) => ({ start, read: (text) => (of.includes(text) ? text : undefined) });
const within = (number, low, high) => (Number.isFinite(number) ? Math.min(high, Math.max(low, number)) : undefined);
const clamp = (number, low, high) => Math.min(high, Math.max(low, number));

const MOST = { members: 64, width: 2000, depth: 12 };
// It opens at the first stop that takes the model.
const OPENING = STOPS.findIndex((method) => !DATA.refused[method]);
const FIELDS = {
  M: whole(1, MOST.members, DATA.ensemble_size),
  width: whole(1, MOST.width, null),
  depth: whole(1, MOST.depth, null),
  // How far along STOPS; or a method that is not on that way.
  share: real(0, STOPS.length - 1, Math.max(0, OPENING)),
  method: one(["", ...KEYS], OPENING < 0 ? SINGLE : ""),
  guess: real(1, MOST.members, null), // of how many networks four members take the room
  zoom: real(-16, 16, 0), // of lengths, as a power of 2
  view: one(["model", "share", "map", "block", "layer", "numbers"], "model"),
  more: whole(0, 1, 0),
  hides: { start: "", read: String }, // members, methods: what a page around it shows only with more
  layer: counted(Math.max(0, GIVEN.length - 1, MOST.depth)),
  matrix: counted(63),
  member: counted(MOST.members - 1),
  row: counted(1e9),
  column: counted(1e9),
  draw: whole(0, 999, 0), // which sample of what is a distribution
  edits: {
    start: "",
    read: (text) => (/^([A-Za-zσ]+:\d+(,\d+)*:-?\d+(\.\d+)?(;|$))*$/.test(text) ? text : undefined),
  },
};
// What a text that sets a state calls some of them.
const CALLED = { M: "members", view: "zoom", zoom: "scale" };
const FIELD_OF = Object.fromEntries(Object.keys(FIELDS).map((key) => [CALLED[key] ?? key, key]));
let START = Object.fromEntries(Object.entries(FIELDS).map(([key, { start }]) => [key, start]));
const partOf = ({ view }) => ({ block: "block", layer: "layer", numbers: "layer" })[view] ?? "network";
const isWhole = (state) => partOf(state) !== "layer";
const isAll = (state) => partOf(state) === "network";
const blockOf = (state) => blocksOf(layersOf(state))[state.layer].layers;
const onlyOf = (state) => (isAll(state) ? null : isWhole(state) ? { block: blockOf(state) } : { layer: state.layer, matrix: state.matrix });

const encode = (state) =>
  Object.entries(FIELD_OF)
    .filter(([, key]) => state[key] !== START[key])
    .map(([name, key]) => {
      const value = FIELDS[key].write?.(state[key]) ?? state[key];
      return `${name}=${encodeURIComponent(typeof value === "number" ? +value.toFixed(3) : value)}`;
    })
    .join("&");

// What an address says; a value that cannot be is left out.
const decode = (text, from = START) => {
  const found = { ...from };
  for (const pair of text.replace(/^#/, "").split("&")) {
    const cut = pair.indexOf("=");
    const key = cut < 0 ? undefined : FIELD_OF[pair.slice(0, cut)];
    if (!key) continue;
    let value;
    try {
      value = FIELDS[key].read(decodeURIComponent(pair.slice(cut + 1)));
    } catch {
      continue; // no text in this code
    }
    if (value === undefined) continue;
    found[key] = value;
    // A method on the way of the slider is a place of it.
    if (key === "method" && STOPS.includes(value)) Object.assign(found, { method: "", share: STOPS.indexOf(value) });
    if (key === "share") found.method = "";
  }
  return settled(found);
};

// A state whose parts agree: the layer exists, and can be looked into.
const settled = (state) => {
  const layers = layersOf(state);
  const layer = clamp(state.layer, 0, layers.length - 1);
  const sheets = sheetsOf(layers[layer]);
  const matrix = clamp(state.matrix, 0, sheets.length - 1);
  const edge = (place, length) => clamp(place, 0, Math.max(0, length - windowOf(state)));
  return {
    ...state, layer, matrix, view: state.view === "block" && blocksOf(layers)[layer].layers.length < 2 ? "layer" : state.view, member: clamp(state.member, 0, state.M - 1),
    row: edge(state.row, rowsOf(sheets[matrix])), column: edge(state.column, columnsOf(sheets[matrix])),
  };
};

let laid = { key: null, layers: GIVEN };
// The layers: the model's own, or those of the sizes that the sliders say.
const layersOf = (state) => {
  if (!DATA.sizes) return GIVEN;
  const key = `${state.width} ${state.depth}`;
  if (laid.key !== key) laid = { key, layers: layersOfSizes(sizesOf(state)) };
  return laid.layers;
};
const chosen = (state) => state.method || STOPS[Math.round(state.share)];
// The methods between which a state is, and how far along; at a stop both are one.
const wayOf = ({ method, share }) => {
  if (method) return [method, method, 0];
  const low = Math.floor(share);
  return [STOPS[low], STOPS[Math.ceil(share)], share - low];
};
// Of so many rows and columns are numbers seen: W and two members beside each other, or one column on a phone.
const [slim, broad] = ["(max-width: 599px)", "(min-width: 960px)"].map((query) => matchMedia(query));
const windowOf = (state) => (slim.matches || METHODS[chosen(state)].stochastic ? 4 : broad.matches ? 6 : 5);
START = decode(DATA.opening ?? "");
// What has room: all stops; or what is shown at first, and the stop after it, to which a text may lead.
const fitted = ({ more }) => (!COMPACT || more || !START.hides.includes("methods") ? STOPS : START.method ? [START.method] : STOPS.slice(START.share, START.share + 2));
// One network that predicts once: nobody shares anything.
const isSolo = (method) => !METHODS[method].has_members && passesOf(method, 2) === 1;
