// Sliders over figures that were drawn when the book was built; see book/workshop/page/explore.py.
// Without this script a page shows each explorer's first frame and no sliders.
(() => {
  "use strict";
  const PHONE = matchMedia("(max-width: 600px)");
  const FORCED = matchMedia("(forced-colors: active)");
  const DARK = matchMedia("(prefers-color-scheme: dark)");
  const LOOKS = ["wide-light", "narrow-light", "wide-dark", "narrow-dark"];
  const STILL = 24; // pixels that a page may scroll below a finger that taps
  const explorers = (globalThis.enseduExplorers ??= new Map()); // and what the page computes
  // A number as a reader sees it; the address keeps what Python writes.
  const said = (value) => (/^-?[\d.]+$/.test(value) ? value.replace(/\.0$/, "").replace("-", "−") : value);

  // A slider, buttons or a list, as positions among their values.
  const control = (element, values) => {
    const range = element.querySelector("input[type=range]");
    const list = element.querySelector("select");
    const radios = [...element.querySelectorAll("input[type=radio]")];
    return {
      element,
      values,
      name: element.dataset.name,
      words: element.querySelector("span").textContent,
      get position() {
        if (list) return list.selectedIndex;
        return range ? Number(range.value) : radios.findIndex((radio) => radio.checked);
      },
      set position(position) {
        if (list) list.selectedIndex = position;
        else if (range) range.value = position;
        else radios[position].checked = true;
      },
      say() {
        if (!range) return;
        range.setAttribute("aria-valuetext", said(values[range.value]));
        element.querySelector("output").value = said(values[range.value]);
      },
    };
  };

  const shownLook = () => {
    const dark = FORCED.matches ? DARK.matches : document.documentElement.dataset.theme === "dark";
    return `${PHONE.matches ? "narrow" : "wide"}-${dark ? "dark" : "light"}`;
  };

  // A row of a figure says its numbers where a mouse points at it, or a finger taps it. They stand in
  // the figure's table, too: this is for the eye alone. Until a reader has done so, a line says it.
  const hints = [];
  const sayWherePointed = (root, rows) => {
    const frame = root.querySelector(".ensedu-frame");
    const [band, note] = ["ensedu-band", "ensedu-note-of-row"].map((name) => {
      const part = document.createElement("div");
      part.className = name;
      part.ariaHidden = "true";
      part.hidden = true;
      frame.append(part);
      return part;
    });
    const hint = document.createElement("p");
    hint.className = "ensedu-hint";
    hint.ariaHidden = "true";
    hint.textContent = `${matchMedia("(hover: hover)").matches ? "Point at" : "Tap"} a row for its numbers.`;
    frame.before(hint);
    hints.push(hint);
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
      note.textContent = row[0];
      // Below its row, or above it where the frame ends.
      const below = last + note.offsetHeight < frame.offsetHeight;
      note.style.top = `${below ? last : first - note.offsetHeight}px`;
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

  const setUp = (root, number) => {
    const { frames, values, sizes, alts, pointed } = JSON.parse(root.querySelector("script").textContent);
    const name = root.dataset.name || `explorer-${number}`;
    const group = root.dataset.group || name;
    const controls = [...root.querySelectorAll(".ensedu-control")].map((element, i) =>
      control(element, values[i]),
    );
    const pictures = [...root.querySelectorAll(".ensedu-frame picture")];
    const live = root.querySelector(".ensedu-live");
    const printed = root.querySelector(".ensedu-setting");
    let turn = 0;

    const positions = () => controls.map((one) => one.position);
    const indexOf = (places) =>
      places.reduce((index, place, i) => index * values[i].length + place, 0);
    const key = frames.split("/").at(-1);
    const file = (index, look) => `${frames}-${index}-${look}.svg`;
    // Once all frames are there, one is put together of its elements; until then it is a file.
    const made = new Map();
    const source = (index, look) => {
      const pack = globalThis.enseduFrames?.[`${key}-${look}`];
      if (!pack || look !== shownLook()) return file(index, look);
      const name = `frames/${key}-${index}-${look}.svg`;
      if (!made.has(name)) {
        const [elements, all] = pack;
        const svg = all[index].map((element) => elements[element]).join("\n");
        made.set(name, URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" })));
      }
      return `${made.get(name)}#${name}`;
    };
    const state = () => controls.map((one) => [one.name, one.values[one.position]]);

    const place = (element, address, width, height) => {
      element[element.tagName === "IMG" ? "src" : "srcset"] = address;
      element.width = width;
      element.height = height;
    };

    // The next frame is decoded before it replaces this one, so nothing flashes.
    const show = async () => {
      controls.forEach((one) => one.say());
      printed.textContent = `Set to ${controls.map((one) => `${one.words} ${said(one.values[one.position])}`).join(", ")}.`;
      const mine = ++turn;
      const index = indexOf(positions());
      const next = new Image();
      next.src = source(index, shownLook());
      try {
        await next.decode();
      } catch {
        return; // not there: this frame stays, and the browser has told the console
      }
      if (mine !== turn) return;
      const [width, height, narrowWidth, narrowHeight] = sizes[index];
      pictures.forEach((picture, i) => {
        const [wide, narrow] = LOOKS.slice(2 * (i % 2));
        const image = picture.querySelector("img");
        place(picture.querySelector("source"), source(index, narrow), narrowWidth, narrowHeight);
        place(image, source(index, wide), width, height);
        if (image.alt) image.alt = alts[index]; // that of an axis is not heard
      });
      live.textContent = alts[index];
      hidePointed?.();
      root.dataset.shown = String(index);
    };

    const hidePointed = pointed && sayWherePointed(root, () => pointed[Number(root.dataset.shown)]);

    // From the first touch on, no step waits for the network: the frames one step away come first,
    // then all together, in which what they share stands once.
    const fetched = new Set(); // looks
    const fetchAll = async () => {
      const look = shownLook();
      if (fetched.has(look)) return;
      fetched.add(look);
      const here = positions();
      const near = here.flatMap((place, i) =>
        [place - 1, place + 1]
          .filter((next) => next >= 0 && next < values[i].length)
          .map((next) => indexOf(here.with(i, next))),
      );
      await Promise.allSettled(
        near.map((index) => {
          const image = new Image();
          image.src = file(index, look);
          return image.decode();
        }),
      );
      const script = document.createElement("script");
      script.src = `${frames}-${look}.js`;
      document.head.append(script);
    };

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
      for (const other of explorers.values()) if (other.set !== set) other.follow(group, state());
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

    for (const { element } of controls) {
      element.addEventListener("input", moved);
      element.addEventListener("change", rest);
      element.addEventListener("focusin", fetchAll, { once: true });
    }
    root.addEventListener("pointerenter", fetchAll, { once: true });
    const bar = root.querySelector(".ensedu-sliders");
    bar.hidden = false;
    if ("tall" in root.dataset) {
      // The axis below a bar that stays in sight knows how high it is.
      const measure = () => root.style.setProperty("--ensedu-bar", `${bar.offsetHeight}px`);
      new ResizeObserver(measure).observe(bar);
    }
    root.dataset.shown = String(indexOf(positions()));
    controls.forEach((one) => one.say());
    explorers.set(name, { root, follow, set, moved });
  };

  // An address, or a link in the text, names a figure and its setting: #fig-counts:width=50.
  const follow = (hash) => {
    const [name, setting] = hash.slice(1).split(":");
    const explorer = explorers.get(name);
    if (!explorer || setting === undefined) return;
    explorer.set(new URLSearchParams(setting));
    explorer.moved();
    const { top } = explorer.root.getBoundingClientRect();
    // A figure that is seen stays where it is, and so does the link that was followed.
    if (top > 0 && top < innerHeight / 2) return;
    (explorer.root.closest("figure") ?? explorer.root).scrollIntoView({ block: "start" });
  };

  const start = () => {
    const roots = document.querySelectorAll(".ensedu-explorer:has(> .ensedu-sliders)");
    roots.forEach((root, i) => setUp(root, i + 1));
    follow(location.hash);
    addEventListener("hashchange", () => follow(location.hash));
    document.addEventListener("click", (event) => {
      const link = event.target.closest("a.ensedu-set");
      // The address may name this setting already: then nothing else follows the link.
      if (link && link.hash === location.hash) follow(link.hash);
    });
    performance.mark("ensedu-sliders"); // from here on a reader can move them
  };
  // The page is parsed; DOMContentLoaded would wait for the formulas.
  if (document.readyState === "loading")
    document.addEventListener("readystatechange", start, { once: true });
  else start();
})();
