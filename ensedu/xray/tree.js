// The layers as a tree that opens and closes; what is closed is not built.
const SPLIT = 60; // longer lists are cut into parts of so many
const titleOf = (layer, at) => (DATA.sizes ? `layer ${at + 1}` : layer.name.split(".").map((part, k, all) => (/^\d+$/.test(part) ? `${k < all.length - 1 ? "block" : "layer"} ${part}` : part)).join(" › ") || "the layer");
// Of a block, with what it stands in where another one is called alike; and of a layer within its block.
const titleOfBlock = (layers, at) => {
  const [last, before] = blocksOf(layers)[at].name.split(".").reverse();
  const alike = new Set(blocksOf(layers).filter(({ name }) => name.split(".").at(-1) === last)).size > 1;
  return `${alike && before ? `${before}, ` : ""}${last.replace(/^\d+$/, "block $&")}`;
};
const titleWithin = (layers, at) => {
  const { name, layers: own } = blocksOf(layers)[at];
  return own.length > 1 ? layers[at].name.slice(name.length + 1).replace(/^\d+$/, "layer $&") || layers[at].kind : titleOf(layers[at], at);
};
const shapeWords = ({ kind, table, matrices, shared, biases }) => {
  const named = DATA.sizes || !kind ? "" : `${kind}, `;
  if (table) return `${named}a table of ${digits(table.m)} × ${digits(table.n)}`;
  const words = matrices.map((matrix) => {
    const [{ m, n, kernel }, groups] = [matrix, groupsOf(matrix)];
    if (groups > 1 && !kernel.length) return `${groups} × (${digits(m / groups)} → ${digits(n / groups)})`;
    return `${digits(m)} → ${digits(n)}${kernel.length ? `, ${kernel.join("×")}` : ""}${groups > 1 ? `, ${groups} groups` : ""}`;
  });
  const others = shared + biases;
  return named + [...words.slice(0, 4), ...(words.length > 4 ? [`and ${words.length - 4} more`] : []), ...(others && !words.length ? [plural(others, "number")] : [])].join("; ");
};

// What a method does with a layer, in a few words.
const treatmentOf = (layer, method) => {
  const own = methodOf(layer, method);
  if (isApart(own)) return layer.kept[0] + layer.kept[1] ? "own copies, in part" : "own copies";
  if (!layer.matrices.length) return "one copy for all";
  if (isModulated(own)) return spreads(own) ? "W shared, r and s vary" : "W shared, own r and s";
  if (spreads(own)) return "a mean and σ each";
  return METHODS[method].body ? "shared body" : "one copy";
};

// Groups by the first part of names in which they differ, and which part that is.
const nested = (entries, depth) => {
  const groups = [];
  for (const entry of entries) {
    const part = entry.layer.name.split(".")[depth];
    const last = groups.at(-1);
    if (last && last.part === part) last.entries.push(entry);
    else groups.push({ part, entries: [entry] });
  }
  if (groups.length === 1 && groups[0].entries.length > 1 && groups[0].part !== undefined) return nested(entries, depth + 1);
  return { groups, depth };
};

// Numbered blocks that follow each other and are equal stand together, with the layers of the first one.
const merged = (groups, depth) => groups.reduce((rows, group) => {
  const own = JSON.stringify(group.entries.map(({ layer }) => ({ ...layer, name: layer.name.split(".").slice(depth + 1) })));
  const last = rows.at(-1);
  if (last?.own === own && group.entries.length > 1 && /^\d+$/.test(last.part + group.part)) Object.assign(last, { entries: [...last.entries, ...group.entries], to: group.part });
  else rows.push({ ...group, own, first: group.entries });
  return rows;
}, []);

const makeTree = (on) => {
  const list = make("ul", { class: "tree", role: "list" });
  const note = make("p", { class: "note" });
  const heads = ["layer", "", "one network", "", "stored"].map((word) => make("span", {}, word));
  const head = make("p", { class: "line heads", "aria-hidden": "true" }, ...heads);
  const element = make("section", { class: "panel tree-section", "aria-labelledby": "tree-title" },
    make("h2", { id: "tree-title" }, "Layer by layer"), note, head, list);
  let [shown, views, current] = ["", [], null];

  const row = (title, about, entries) => {
    const cells = ["does", "one", "apart", "after"].map((name) => make("span", { class: name }));
    const lost = make("span", { class: "lost" });
    const head = [make("span", { class: "title" }, title, " ", make("small", {}, about)), ...cells, lost];
    views.push({ cells, lost, entries, layers: entries.map(({ layer }) => layer), own: entries.length === 1 });
    return head;
  };
  const leaf = ({ layer, at }) => {
    const button = make("button", { type: "button", class: "line", "data-layer": at }, ...row(titleOf(layer, at), shapeWords(layer), [{ layer, at }]));
    button.addEventListener("click", () => on.open(at));
    onPointing(button, on.point, at);
    return make("li", {}, button);
  };
  const branch = (title, entries, fill, each = entries) => {
    const inner = make("ul", { role: "list" });
    const details = make("details", {}, make("summary", { class: "line" }, ...row(title, `${each.length < entries.length ? `${entries.length / each.length} × ` : ""}${plural(each.length, "layer")}`, entries)), inner);
    details.addEventListener("toggle", () => {
      if (details.open && !inner.childElementCount) {
        inner.append(...fill());
        show(...current);
      }
    });
    return make("li", {}, details);
  };
  const cut = (nodes, entries, build) => {
    if (nodes.length <= SPLIT) return nodes.map(build);
    const size = Math.max(SPLIT, Math.ceil(nodes.length / SPLIT));
    const parts = [];
    for (let i = 0; i < nodes.length; i += size) {
      const own = nodes.slice(i, i + size);
      const inside = own.flatMap((node) => node.entries);
      parts.push(branch(`${inside[0].layer.name} … ${inside.at(-1).layer.name}`, inside, () => own.map(build)));
    }
    return parts;
  };
  const build = (entries, from) => {
    const { groups, depth } = nested(entries, from);
    return cut(merged(groups, depth), entries, (group) => {
      if (group.entries.length === 1) return leaf(group.entries[0]);
      const parts = group.entries[0].layer.name.split(".");
      return branch(parts.slice(0, depth + 1).map((part) => (/^\d+$/.test(part) ? `block ${part}` : part)).join(" › ").replace(/block (\d+)$/, group.to ? `blocks $1–${group.to}, equal` : "$&") || "the model", group.entries, () => build(group.first, Math.min(depth + 1, parts.length - 1)), group.first);
    });
  };

  const show = (state, layers) => {
    current = [state, layers];
    const key = DATA.sizes ? layers.length : "given";
    if (key !== shown) {
      [shown, views] = [key, []];
      list.replaceChildren(...build(layers.map((layer, at) => ({ layer, at })), 0));
    }
    const method = chosen(state);
    // Where nothing is shared yet, what sharing would do.
    const shares = isModulated(method);
    const why = new Map(layers.map((layer) => [layer, lossOf(layer, shares ? method : SHARING, state.M)]).filter(([, words]) => words));
    const one = totalOf(countAll(layers, SINGLE, 1));
    for (const leaf of list.querySelectorAll("[data-layer]")) leaf.setAttribute("aria-current", !isWhole(state) && Number(leaf.dataset.layer) === state.layer);
    for (const view of views) {
      const entries = DATA.sizes ? view.entries.map(({ at }) => ({ layer: layers[at], at })) : view.entries;
      const own = DATA.sizes ? entries.map(({ layer }) => layer) : view.layers;
      const totals = [SINGLE, DEEP, method].map((each) => (DATA.refused[each] ? "–" : digits(totalOf(countAll(own, each, state.M)))));
      const words = [view.own && !DATA.refused[method] ? treatmentOf(entries[0].layer, method) : "", ...totals];
      view.cells.forEach((cell, k) => setText(cell, words[k]));
      view.cells[0].parentNode.style.setProperty("--part", `${(100 * totalOf(countAll(own, SINGLE, 1))) / one}%`);
      if (view.own && DATA.sizes) setText(view.cells[0].parentNode.querySelector("small"), shapeWords(entries[0].layer));
      const thin = own.filter((layer) => why.has(layer)).length;
      setText(view.lost, !thin ? "" : view.own ? `▲ ${shares ? "" : `${METHODS[SHARING].label}: `}${why.get(own[0])}` : `▲ ${thin} of them too thin to gain`);
    }
    const [refused, losing] = [DATA.refused[method], why.size];
    const sharing = DATA.refused[shares ? method : SHARING] ? "" : state.M === 1 ? "One member has nobody to share with."
      : losing ? `${plural(losing, "layer")} of ${digits(layers.length)}, marked ▲, ${shares ? (losing === 1 ? "does" : "do") : "would"} not gain${shares ? "" : ` as a ${METHODS[SHARING].label}`}: r and s of the members cost as much as the copies of W that they replace, or more.`
      : `Every layer with a matrix ${shares ? "gains" : `would gain as a ${METHODS[SHARING].label}`}.`;
    setText(heads[3], plural(state.M, "network"));
    setText(note, refused ? `${METHODS[method].label} cannot take this model, for the reason above.` : `${sharing} The gray line is a layer’s part of the network. Press a layer to look into it.`);
    setText(heads[1], METHODS[method].label);
  };
  return { element, show };
};
