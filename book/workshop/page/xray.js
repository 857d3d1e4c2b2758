// X-rays of a page, each in a frame that is as high as what it shows; see book/workshop/page/xray.py.
// Links in the text set them as they set all figures, by explore.js.
import { enroll } from "./common/figures.js";

export const FORCED = matchMedia("(forced-colors: active)");
export const DARK = matchMedia("(prefers-color-scheme: dark)");
export const theme = () => {
  const dark = FORCED.matches ? DARK.matches : document.documentElement.dataset.theme === "dark";
  return dark ? "dark" : "light";
};

export const setUpXRay = (root) => {
  const frame = root.querySelector("iframe");
  const { name } = root.dataset;
  let waiting = ""; // what was set before the frame was there
  let there = false;
  let answer = null; // to whom it says what it shows
  const tell = (words) => frame.contentWindow.postMessage({ to: "xray", ...words }, "*");
  const set = (query) => {
    frame.loading = "eager"; // what it says may be seen elsewhere
    if (there) tell({ set: String(query) });
    else waiting += `&${query}`;
  };
  const copy = () => new Promise((resolve) => {
    answer = resolve;
    if (there) tell({ copy: true });
  });
  // A link in the text that was pressed stays where it is read, though the figure above it grows.
  const rise = (height) => {
    const link = document.activeElement?.closest("a.ensedu-set");
    const before = link?.getBoundingClientRect().top;
    frame.style.height = `${height}px`;
    if (before > 0 && before < innerHeight)
      scrollBy({ top: link.getBoundingClientRect().top - before, behavior: "instant" });
  };
  addEventListener("message", ({ source, data }) => {
    if (source !== frame.contentWindow || data?.from !== "xray") return;
    if (data.height) rise(data.height);
    if (data.by) scrollBy({ top: data.by, behavior: "instant" }); // a row of it that was pressed stays there
    if (data.copy) answer?.(data.copy);
    if (!there) {
      there = true;
      tell({ theme: theme(), set: waiting || undefined, copy: Boolean(answer) });
    } else if (data.hash !== undefined) {
      const address = `#${name}:${data.hash.slice(1)}`;
      if (location.hash !== address) history.replaceState(history.state, "", address);
    }
  });
  // Escape leads back also where the page has the focus, and the figure is in sight.
  addEventListener("keydown", ({ key, target }) => {
    const { top, bottom } = frame.getBoundingClientRect();
    if (key === "Escape" && there && bottom > 0 && top < innerHeight && !target.closest("input, dialog")) tell({ leave: true });
  });
  frame.src = `${frame.dataset.page}?theme=${theme()}`;
  enroll(name, { root, frame, set, copy, relook: () => there && tell({ theme: theme() }) });
};
