// Sliders over figures that were drawn when the book was built; see ensedu/page/explore.py.
// Without this script a page shows each explorer's first frame and no sliders.
(() => {
  "use strict";

  const setUp = (figure, number) => {
    const { values, frames } = JSON.parse(figure.querySelector("script").textContent);
    const ranges = [...figure.querySelectorAll("input")];
    const image = figure.querySelector("img");
    const link = figure.querySelector(".ensedu-link");
    const name = `explorer-${number}`;
    let turn = 0;

    const indexOf = (positions) =>
      positions.reduce((index, position, i) => index * values[i].length + position, 0);
    const positions = () => ranges.map((range) => Number(range.value));

    const say = () => {
      ranges.forEach((range, i) => {
        const value = values[i][range.value];
        range.setAttribute("aria-valuetext", value);
        range.nextElementSibling.value = value;
      });
      const state = ranges.map((range, i) => [range.dataset.name, values[i][range.value]]);
      link.href = `#${name}:${new URLSearchParams(state)}`;
    };

    // The next frame is decoded before it replaces this one, so nothing flashes or jumps.
    const show = async () => {
      say();
      const mine = ++turn;
      const frame = frames[indexOf(positions())];
      const next = new Image();
      next.src = frame.src;
      try {
        await next.decode();
      } catch {
        return; // not there: this frame stays, and the browser has told the console
      }
      if (mine !== turn) return;
      image.src = frame.src;
      image.alt = frame.alt;
      figure.dataset.shown = String(indexOf(positions()));
      ahead();
    };

    // One step of each slider is fetched before it is asked for.
    const ahead = () => {
      ranges.forEach((range, i) => {
        for (const step of [-1, 1]) {
          const near = positions();
          near[i] += step;
          if (values[i][near[i]] !== undefined) new Image().src = frames[indexOf(near)].src;
        }
      });
    };

    const follow = () => {
      const [target, state] = location.hash.slice(1).split(":");
      if (target !== name || state === undefined) return;
      for (const [key, value] of new URLSearchParams(state)) {
        const i = ranges.findIndex((range) => range.dataset.name === key);
        if (i >= 0 && values[i].includes(value)) ranges[i].value = values[i].indexOf(value);
      }
      show();
      figure.scrollIntoView({ block: "nearest" });
    };

    figure.id = name;
    for (const range of ranges) {
      range.addEventListener("input", show);
      range.addEventListener("focus", ahead, { once: true });
    }
    figure.addEventListener("pointerenter", ahead, { once: true });
    window.addEventListener("hashchange", follow);
    figure.querySelector(".ensedu-sliders").hidden = false;
    link.hidden = false;
    figure.dataset.shown = String(indexOf(positions()));
    say();
    follow();
  };

  const start = () => {
    document.querySelectorAll("figure.ensedu-explorer").forEach((figure, i) => setUp(figure, i + 1));
    performance.mark("ensedu-sliders"); // from here on a reader can move them
  };
  // The page is parsed; DOMContentLoaded would wait for the formulas.
  if (document.readyState === "loading")
    document.addEventListener("readystatechange", start, { once: true });
  else start();
})();
