// X-rays of a page, each in a frame that is as high as what it shows; see book/workshop/page/xray.py.
(() => {
  "use strict";
  const FORCED = matchMedia("(forced-colors: active)");
  const DARK = matchMedia("(prefers-color-scheme: dark)");
  const SEEN = 120; // pixels of a figure below which a link in the text scrolls to it
  const figures = new Map();
  const look = () => {
    const dark = FORCED.matches ? DARK.matches : document.documentElement.dataset.theme === "dark";
    return dark ? "dark" : "light";
  };

  const setUp = (root) => {
    const frame = root.querySelector("iframe");
    const { name } = root.dataset;
    let waiting = ""; // what was set before the frame was there
    let there = false;
    const tell = (words) => frame.contentWindow.postMessage({ to: "xray", ...words }, "*");
    const set = (setting) => {
      if (there) tell({ set: setting });
      else waiting += `&${setting}`;
    };
    addEventListener("message", ({ source, data }) => {
      if (source !== frame.contentWindow || data?.from !== "xray") return;
      if (data.height) frame.style.height = `${data.height}px`;
      if (!there) {
        there = true;
        tell({ theme: look(), set: waiting });
      } else if (data.hash !== undefined) {
        const address = `#${name}:${data.hash.slice(1)}`;
        if (location.hash !== address) history.replaceState(history.state, "", address);
      }
    });
    const paint = () => there && tell({ theme: look() });
    new MutationObserver(paint).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    frame.src = `${frame.dataset.page}?theme=${look()}`;
    figures.set(name, { root, set });
  };

  // An address, or a link in the text, names a figure and its setting: #fig-stored:members=8.
  const follow = (hash) => {
    const [name, setting] = decodeURIComponent(hash.slice(1)).split(/:(.*)/);
    const figure = figures.get(name);
    if (!figure || setting === undefined) return false;
    figure.set(setting);
    const { top, bottom } = figure.root.getBoundingClientRect();
    if (bottom < SEEN || top > innerHeight - SEEN) {
      (figure.root.closest("figure") ?? figure.root).scrollIntoView({ block: "start" });
    }
    return true;
  };

  const start = () => {
    document.querySelectorAll(".ensedu-xray").forEach(setUp);
    follow(location.hash);
    document.addEventListener("click", (event) => {
      const link = event.target.closest("a.ensedu-set");
      if (link && follow(link.hash)) event.preventDefault();
    });
  };
  // The page is parsed; DOMContentLoaded would wait for the formulas.
  if (document.readyState === "loading") document.addEventListener("readystatechange", start, { once: true });
  else start();
})();
