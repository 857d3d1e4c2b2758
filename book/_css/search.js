// The page of results: the chapter that says most of what was asked for comes first, and what is shown
// of a page is its text and no menu. Comes before Sphinx's searchtools.js; what each page says how
// often is in search-counts.js, made by search.py.
(() => {
  "use strict";
  const plain = (query) =>
    (query.toLowerCase().match(/[\p{L}\p{N}]+(?:['’-][\p{L}\p{N}]+)*/gu) ?? []).map((word) =>
      word.replace(/(?<=[\p{L}\p{N}]{3})(?<!s)s$/u, ""),
    );
  const query = (new URLSearchParams(location.search).get("q") ?? "").trim();
  const asked = plain(query);
  // The whole of what was asked for counts most, then its pairs, then its words.
  const parts = [
    ...asked.map((word) => [word, asked.length > 1 ? 4 : 20]),
    ...asked.slice(1).map((word, i) => [`${asked[i]} ${word}`, 20]),
  ];
  const share = (page, part) => {
    const pages = globalThis.SEARCH_COUNTS?.[part] ?? {};
    return (pages[page] ?? 0) / Math.max(1, ...Object.values(pages));
  };
  const [IS_NAME, NAMED] = [/^\w*[_.]\w+$/, 100];
  const MENTION = 20; // what a definition, or the name of a function, counts at most
  const CHAPTERS = new Set(["book/intro", "book/live", "book/playground", ...(globalThis.SEARCH_NUMBERED ?? [])]);

  globalThis.Scorer = {
    // A whole page rises with what it says; a chapter is read before a list of names.
    score: ([page, title, anchor, description, score]) => {
      if (description && IS_NAME.test(query) && title.endsWith(query)) return NAMED;
      if (description || anchor) return Math.min(score, MENTION);
      const said = parts.reduce((sum, [part, weight]) => sum + weight * share(page, part), 0);
      const named = ` ${plain(title).join(" ")} `.includes(` ${asked.join(" ")} `) ? MENTION : 0;
      return score + (said + named) * (CHAPTERS.has(page) ? 2 : 1);
    },
    objNameMatch: 11,
    objPartialMatch: 6,
    objPrio: { 0: 5, 1: 0, 2: -5 },
    objPrioDefault: 0,
    title: 15,
    partialTitle: 7,
    term: 5,
    partialTerm: 2,
  };

  const MENUS = [
    "script", "style", "nav", "button", "select", ".headerlink", ".bd-sidebar-secondary", ".bd-header-article",
    "#jb-print-docs-body", ".prev-next-footer", ".ensedu-sliders", "details.ensedu-fold", "mjx-container",
  ];
  const text = (html, anchor) => {
    const page = new DOMParser().parseFromString(html, "text/html");
    const article = page.querySelector("article") ?? page.querySelector("[role=main]") ?? page.body;
    for (const menu of article.querySelectorAll(MENUS.join())) menu.remove();
    return ((anchor && article.querySelector(anchor)) || article).textContent;
  };
  document.addEventListener("DOMContentLoaded", () => (Search.htmlToText = text));
})();
