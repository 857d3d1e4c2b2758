// What scrolls in a box of its own can be reached by keyboard, as long as it scrolls.
(() => {
  "use strict";
  const BOXES = "article :is(pre, .text_html, div.math, mjx-container[display], .sig, .pst-scrollable-table-container)";
  const start = () => {
    const reach = new ResizeObserver((entries) => {
      for (const { target } of entries) {
        const overflow = getComputedStyle(target).overflowX;
        const scrolls = target.scrollWidth > target.clientWidth && overflow !== "visible";
        if (scrolls) target.tabIndex = 0;
        else if (target.tabIndex === 0) target.removeAttribute("tabindex");
      }
    });
    document.querySelectorAll(BOXES).forEach((box) => reach.observe(box));
  };
  // Formulas are boxes only once they are drawn.
  window.addEventListener("load", async () => {
    await window.MathJax?.startup?.promise;
    start();
  });
  // The side bar shows where a reader is, wherever it stood on the page before.
  window.addEventListener("load", () => {
    const bar = document.querySelector(".bd-sidebar-primary");
    const here = [...(bar?.querySelectorAll(".bd-docs-nav .active > a") ?? [])].at(-1)?.getBoundingClientRect();
    const { top, bottom, height } = bar?.getBoundingClientRect() ?? {};
    if (here && (here.top < top || here.bottom > bottom)) bar.scrollTop += here.top - top - height / 3;
  });
})();
