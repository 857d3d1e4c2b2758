// Sliders over figures that were drawn when the book was built; see book/workshop/page/explore.py.
// Without this script a page shows each explorer's first frame and no sliders.
import { make, runScript } from "./common/elements.js";
import { arrive, asRead, controlOf, enroll, explorers, figureOf, followLink, keepAbove, mark, onPage, rewrite } from "./common/figures.js";
import { DARK, FORCED, setUpXRay, theme } from "./xray.js";

const PHONE = matchMedia("(max-width: 600px)");
const CALM = matchMedia("(prefers-reduced-motion: reduce)");
const MARGIN = matchMedia("(min-width: 1200px)"); // from here on one is empty beside the text
const LOOKS = ["wide-light", "narrow-light", "wide-dark", "narrow-dark"];
const PAPER = LOOKS[0];
const CROSSING = 250; // ms from a frame to the next
const STILL = 24; // pixels that a page may scroll below a finger that taps

const shownLook = () => `${PHONE.matches ? "narrow" : "wide"}-${theme()}`;

// All frames of a look come as one script, in which what they share stands once.
const packs = new Map();
const pack = (frames, look) => {
  const address = `${frames}-${look}.js`;
  if (!packs.has(address)) {
    const come = runScript(address).then(() => globalThis.enseduFrames[`${frames.split("/").at(-1)}-${look}`]);
    come.catch(() => packs.delete(address)); // it may come the next time
    packs.set(address, come);
  }
  return packs.get(address);
};

// The frame before lies on the next one, and fades while that comes: what both have stays as it is.
const cross = (frame, change) => {
  const image = [...frame.querySelectorAll(":scope > picture img")].find((one) => one.checkVisibility());
  frame.querySelector(".ensedu-before")?.remove();
  if (!image || CALM.matches) return change();
  const before = image.cloneNode();
  before.src = image.currentSrc;
  before.alt = "";
  before.className = "ensedu-before";
  frame.append(before);
  change();
  image.animate({ opacity: [0, 1] }, CROSSING);
  before.animate({ opacity: [1, 0] }, { duration: CROSSING, fill: "forwards" }).onfinish = () => before.remove();
};

// A row of a figure says its numbers where a mouse points at it, or a finger taps it. They stand in
// the figure's table, too: this is for the eye alone. Until a reader has done so, a line says it.
const hints = [];
const hintAt = (frame, words) => {
  const hint = make("p", { class: "ensedu-hint", "aria-hidden": true }, words);
  frame.before(hint);
  return hint;
};
const sayWherePointed = (root, rows) => {
  const frame = root.querySelector(".ensedu-frame");
  const [band, note] = ["band", "note-of-row"].map((name) =>
    make("div", { class: `ensedu-${name}`, "aria-hidden": true, hidden: "" }),
  );
  frame.append(band, note);
  hints.push(hintAt(frame, `${matchMedia("(hover: hover)").matches ? "Point at" : "Tap"} a row for its numbers.`));
  let shownAt = 0; // where the page stood when they were said
  const hide = () => {
    band.hidden = note.hidden = true;
  };
  const point = ({ clientX, clientY, target }) => {
    const image = [...frame.querySelectorAll("img")].find(({ offsetHeight }) => offsetHeight);
    const { left, right, top, height } = image.getBoundingClientRect();
    const share = (clientY - top) / height;
    const look = PHONE.matches ? 2 : 1;
    const row = clientX > left && clientX < right && !target.closest(".ensedu-axis")
      && rows().find(({ [look]: [first, last] }) => first <= share && share < last);
    if (!row) return hide();
    for (const one of hints.splice(0)) one.style.visibility = "hidden"; // nothing below moves
    const [first, last] = row[look].map((end) => end * height + top - frame.getBoundingClientRect().top);
    band.hidden = note.hidden = false;
    shownAt = scrollY;
    band.style.top = `${first}px`;
    band.style.height = `${last - first}px`;
    note.replaceChildren(...row[0].split("\n").flatMap((line, i) => [i ? "\n" : "", make("span", {}, line)]));
    // In the line above the figure, or right below what stays in sight; there it would lie on the rows
    // around its own one, and stands at the lower edge of the screen.
    const [start, high] = [frame.getBoundingClientRect().top, note.offsetHeight];
    const axis = frame.querySelector(".ensedu-axis");
    const over = document.querySelector(".bd-header")?.getBoundingClientRect().bottom ?? 0;
    const highest = axis?.offsetHeight ? axis.getBoundingClientRect().bottom - start : Math.max(-high, over - start);
    const lowest = Math.min(innerHeight - start, frame.offsetHeight) - high;
    note.style.top = `${highest + high <= first || lowest < last ? highest : lowest}px`;
  };
  frame.addEventListener("pointermove", (event) => event.pointerType === "mouse" && point(event));
  frame.addEventListener("pointerleave", ({ pointerType }) => pointerType === "mouse" && hide());
  frame.addEventListener("click", point);
  document.addEventListener("click", ({ target }) => frame.contains(target) || hide());
  // Its row may be gone below what stays in sight.
  document.addEventListener("scroll", () => Math.abs(scrollY - shownAt) > STILL && hide(), { passive: true });
  document.addEventListener("keydown", ({ key }) => key === "Escape" && hide());
  return hide;
};

// A small copy of a figure that is out of sight: of one that a link beside it sets, and of one that
// its section speaks of to its end (`data-stays`). In the margin, which lends it the figure's controls,
// or a strip below that folds.
const dock = (() => {
  const box = make("aside", { class: "ensedu-dock", "aria-label": "The figure, small", hidden: "" });
  box.innerHTML = `<details open><summary></summary><div></div></details><p><a></a></p>`;
  const [fold, words, place, way] = ["details", "summary", "div", "a"].map((name) => box.querySelector(name));
  const image = Object.assign(new Image(), { alt: "", className: "dark-light" });
  let shown = null;
  let called = null; // by which link
  let lent = null; // controls, and what keeps their place
  let turn = 0;

  const top = () => document.querySelector(".bd-header-article")?.getBoundingClientRect().bottom ?? 0;
  const inSight = ({ root, frame = root }) => {
    const { top: from, bottom: to } = frame.getBoundingClientRect();
    return Math.min(to, innerHeight) - Math.max(from, top()) > Math.min((to - from) / 2, innerHeight / 3);
  };
  const spokenOf = (explorer) => {
    if (!("stays" in explorer.root.dataset)) return false;
    const section = explorer.root.closest("section").getBoundingClientRect();
    return explorer.frame.getBoundingClientRect().top < top() && section.bottom > top() + innerHeight / 5;
  };
  const refresh = async () => {
    const mine = ++turn;
    const copy = await shown?.copy();
    if (!copy || mine !== turn) return;
    words.replaceChildren(copy.words);
    if (copy.image) image.src = copy.image;
    const own = copy.frame ?? (copy.image ? image : "");
    if (place.firstChild !== own) place.replaceChildren(own);
    box.hidden = false;
  };
  const said = new MutationObserver(refresh);
  const lend = () => {
    const [bar, room] = [MARGIN.matches && shown.root.querySelector(".ensedu-sliders"), make("div")];
    if (!bar) return;
    Object.assign(room.style, { height: `${bar.offsetHeight}px`, margin: getComputedStyle(bar).margin });
    bar.replaceWith(room);
    words.after(bar);
    lent = [bar, room];
  };
  const put = (explorer) => {
    if (explorer === shown) return;
    shown?.left?.();
    said.disconnect();
    lent?.[1].replaceWith(lent[0]);
    lent = null;
    shown = explorer;
    box.hidden = true;
    if (!shown) return;
    const figure = figureOf(shown);
    const text = [...(shown.root.closest("section")?.querySelectorAll(":scope > p") ?? [])].at(-1) ?? figure; // it may be wider
    box.style.setProperty("--ensedu-room", `${innerWidth - text.getBoundingClientRect().right}px`);
    const live = shown.root.querySelector(".ensedu-live"); // an X-ray and a trainer tell by themselves
    if (live) said.observe(live, { characterData: true, subtree: true });
    lend();
    way.textContent = `To ${figure.querySelector(".caption-number")?.textContent.trim() || "the figure"}`;
    way.href = `#${figure.id || shown.root.dataset.name}`;
    fold.open = MARGIN.matches || Boolean(called);
    refresh();
  };
  const choose = () => {
    if (called && (inSight(called.explorer) || Math.abs(scrollY - called.at) > innerHeight)) called = null;
    put(called?.explorer ?? [...explorers.values()].find((one) => spokenOf(one) && !inSight(one)) ?? null);
  };
  return {
    relook: refresh,
    call(explorer, link) {
      if (!inSight(explorer)) called = { explorer, at: scrollY };
      box.toggleAttribute("data-above", !MARGIN.matches && link.getBoundingClientRect().bottom > 0.56 * innerHeight); // not on the link
      choose();
      if (shown !== explorer) return;
      fold.open = true;
      box.scrollTop = 0;
      setTimeout(refresh, 2 * CROSSING); // it may be on its way
    },
    start() {
      (document.querySelector(".bd-article") ?? document.body).append(box); // there it has their style
      // What stands above it in the margin ends where it begins.
      new ResizeObserver(() => document.body.style.setProperty("--ensedu-docked", `${box.offsetHeight}px`)).observe(box);
      for (const moves of ["scroll", "resize"]) addEventListener(moves, choose, { passive: true });
      choose();
    },
  };
})();

const setUp = (root, number) => {
  const { frames, values, sizes, alts, pointed, pressed } = JSON.parse(root.querySelector("script").textContent);
  const name = root.dataset.name || `explorer-${number}`;
  const group = root.dataset.group || name;
  const controls = [...root.querySelectorAll(".ensedu-control")].map((element, i) =>
    controlOf(element, values[i]),
  );
  const pictures = [...root.querySelectorAll(".ensedu-frame picture")];
  const frame = root.querySelector(".ensedu-frame");
  const live = root.querySelector(".ensedu-live");
  const printed = root.querySelector(".ensedu-setting");
  let turn = 0;

  const positions = () => controls.map((one) => one.position);
  const indexOf = (places) =>
    places.reduce((index, place, i) => index * values[i].length + place, 0);
  const key = frames.split("/").at(-1);
  const first = indexOf(positions()); // a file; all others are put together of their elements
  const made = new Map();
  const source = async (index, look) => {
    const name = `${key}-${index}-${look}.svg`;
    if (index === first) return `${frames}-${index}-${look}.svg`;
    if (!made.has(name)) {
      const [elements, all] = await pack(frames, look);
      const svg = all[index].map((element) => elements[element]).join("\n");
      made.set(name, URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" })));
    }
    return `${made.get(name)}#frames/${name}`;
  };
  const state = () => controls.map((one) => [one.name, one.value]);

  const place = (index, look, address) => {
    const narrow = look.startsWith("narrow");
    const [width, height] = sizes[index].slice(2 * narrow);
    for (const picture of pictures) {
      if (!look.endsWith(picture.className.replace("ensedu-", ""))) continue;
      const element = picture.querySelector(narrow ? "source" : "img");
      element[narrow ? "srcset" : "src"] = address;
      Object.assign(element, { width, height });
    }
  };

  // The next frame is decoded before it replaces this one, so nothing flashes.
  const show = async () => {
    controls.forEach((one) => one.say());
    mark(name, state());
    printed.textContent = `Set to ${controls.map((one) => `${one.words} ${asRead(one.value)}`).join(", ")}.`;
    const mine = ++turn;
    const index = indexOf(positions());
    const look = shownLook();
    const next = new Image();
    try {
      next.src = await source(index, look);
      await next.decode();
    } catch {
      return; // not there: this frame stays, and the browser has told the console
    }
    if (mine !== turn) return;
    cross(frame, () => place(index, look, next.src));
    for (const image of root.querySelectorAll(".ensedu-frame picture img")) if (image.alt) image.alt = alts[index]; // that of an axis is not heard
    rewrite(live, alts[index]);
    hidePointed?.();
    root.dataset.shown = String(index);
    if (look === PAPER) return;
    const printable = await source(index, PAPER).catch(() => null);
    if (printable && mine === turn) place(index, PAPER, printable);
  };

  const hidePointed = pointed && sayWherePointed(root, () => pointed[Number(root.dataset.shown)]);

  // From the first touch on, no step waits for the network.
  const fetchAll = () => pack(frames, shownLook()).catch(() => {});

  const set = (settings) => {
    let moved = false;
    for (const [key, value] of settings) {
      const one = controls.find((each) => each.name === key);
      const position = one ? one.values.indexOf(value) : -1;
      if (position < 0 || position === one.position) continue;
      one.position = position;
      moved = true;
    }
    if (moved) show();
  };

  // What a reader moves is said; what moves with it is not, or all would speak at once.
  const moved = () => {
    live.ariaLive = "polite";
    show();
    for (const other of explorers.values()) if (other.root !== root) other.follow?.(group, state());
  };
  const follow = (moving, settings) => {
    if (moving !== group) return;
    live.ariaLive = "off";
    set(settings);
  };

  const rest = () => {
    const address = `#${name}:${new URLSearchParams(state())}`;
    if (location.hash !== address) history.replaceState(history.state, "", address);
  };

  // A place of the figure may choose a value: one of several images shows itself.
  if (pressed) {
    const hint = hintAt(frame, `Press another ${controls[0].words} in the figure, or slide.`);
    const under = ({ clientX, clientY }) => {
      const image = [...frame.querySelectorAll("picture img")].find((one) => one.checkVisibility());
      const { left, top, width, height } = image.getBoundingClientRect();
      const [x, y] = [(clientX - left) / width, (clientY - top) / height];
      return pressed[Number(PHONE.matches)].find(([, from, to, high, low]) => x > from && x < to && y > high && y < low);
    };
    frame.addEventListener("pointermove", (event) => (frame.style.cursor = under(event) ? "pointer" : ""));
    frame.addEventListener("click", (event) => {
      const place = under(event);
      if (!place) return;
      hint.style.visibility = "hidden"; // nothing below moves
      set(new URLSearchParams(place[0]));
      moved();
      rest();
    });
  }

  for (const { element } of controls) {
    element.addEventListener("input", moved);
    element.addEventListener("change", rest);
    element.addEventListener("focusin", fetchAll, { once: true });
  }
  root.addEventListener("pointerenter", fetchAll, { once: true });
  const bar = root.querySelector(".ensedu-sliders");
  bar.hidden = false;
  if (root.querySelector(".ensedu-axis")) keepAbove(root, bar);
  root.dataset.shown = String(first);
  controls.forEach((one) => one.say());
  // What a small copy shows of it, in letters for a narrow place.
  const copy = async () => {
    const index = Number(root.dataset.shown);
    return { words: alts[index], image: await source(index, shownLook().replace("wide", "narrow")).catch(() => "") };
  };
  mark(name, state());
  // Another theme, or a phone that is turned, has pictures of its own.
  const relook = () => root.dataset.shown !== String(first) && show();
  enroll(name, { root, frame, follow, set, moved, copy, relook });
};

export const begin = () => onPage("body", () => {
  const roots = document.querySelectorAll(".ensedu-explorer:has(> .ensedu-sliders)");
  roots.forEach((root, i) => setUp(root, i + 1));
  document.querySelectorAll(".ensedu-xray").forEach(setUpXRay);
  arrive();
  // A link in the text stays where it is: what it changes is seen beside it.
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a.ensedu-set");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const explorer = followLink(link.hash);
    if (!explorer) return;
    event.preventDefault();
    history.replaceState(history.state, "", link.hash);
    dock.call(explorer, link);
  });
  // Who has chosen an answer sees the right one, and why.
  for (const choice of document.querySelectorAll(".ensedu-choose")) {
    choice.hidden = false;
    choice.addEventListener("change", () => (choice.parentElement.querySelector("details").open = true));
  }
  addEventListener("hashchange", () => {
    const explorer = followLink(location.hash);
    if (explorer) figureOf(explorer).scrollIntoView({ block: "start" });
  });
  addEventListener("message", ({ source, data }) => {
    for (const [name, { frame }] of explorers)
      if (data?.from === "xray" && data.hash !== undefined && frame?.contentWindow === source) mark(name, new URLSearchParams(data.hash.slice(1)));
  });
  const relook = () => [...explorers.values(), dock].forEach((one) => one.relook?.());
  for (const query of [PHONE, FORCED, DARK]) query.addEventListener("change", relook);
  new MutationObserver(relook).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  dock.start();
});
