"""The trainer as a widget of Jupyter: it is there, keeps its keys to itself, and goes again.

What anywidget gives to a view, a page gives here.
"""

from scripts.browsing import DESK
from tests.browser import small
from workshop.page.live import live, trainer_scripts

VIEW = """async ([text, options]) => {
  const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  const { default: widget } = await import(address);
  window.keys = [];
  document.addEventListener("keydown", ({ key }) => keys.push(key)); // B would insert a cell
  const el = document.getElementById("root");
  const model = { get: () => structuredClone(options) };
  window.end = await widget.render({ model, el, signal: new AbortController().signal });
}"""


def test_a_trainer_begins_in_a_cell_and_ends_with_it(browser, tmp_path):
    small.write(tmp_path / "empty.html", "A widget", small.EMPTY, "")
    w = live(points=[[-2, 1], [2, -1]], method="batch_ensemble", ensemble_size=3, width=5)
    with small.opening(browser, tmp_path.as_uri() + "/") as open_one:
        page = open_one(viewport=DESK)
        page.evaluate(VIEW, [trainer_scripts.BUNDLE.module(), w._options])
        page.locator("canvas[aria-label*='BatchEnsemble of 3, 2 points']").focus()
        for key in ("b", "ArrowUp", "Enter"):
            page.keyboard.press(key)
        page.locator("canvas[aria-label*='3 points']").wait_for()
        page.get_by_role("button", name="Step").click()
        page.locator(".ensedu-t-meter", has_text="step 1 ").wait_for()
        assert page.evaluate("keys") == [] and "#" not in page.url
        page.evaluate("end()")
        assert page.locator("canvas").count() == 0
