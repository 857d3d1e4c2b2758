// How something begins by itself: on a page of the book as soon as it is parsed, and in Jupyter as
// soon as it is in the page.
const SCRIPT_END = "readystatechange"; // DOMContentLoaded would wait for the formulas

export const onPage = (selector, build) => {
  const start = () => document.querySelectorAll(selector).forEach(build);
  if (document.readyState === "loading") document.addEventListener(SCRIPT_END, start, { once: true });
  else start();
};

// Once it is in the page: before that it has no color and no size. False if that never was.
const placed = (el, signal) =>
  new Promise((resolve) => {
    const look = () => {
      if (el.isConnected || signal.aborted) resolve(el.isConnected);
      else requestAnimationFrame(look);
    };
    look();
  });

// What anywidget calls for each view: `build(root, model, number)` fills it, and returns what ends it.
let views = 0;
export const view = (name, build) => async ({ model, el, signal }) => {
  if (!(await placed(el, signal))) return undefined;
  const root = document.createElement("div");
  root.className = name;
  // In JupyterLab a letter is a command, such as B for a new cell; not here.
  root.addEventListener("keydown", (event) => {
    if (!event.ctrlKey && !event.metaKey && !event.altKey) event.stopPropagation();
  });
  el.append(root);
  views += 1;
  return build(root, model, views);
};
