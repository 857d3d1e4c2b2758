"""As widgets of Jupyter: what is changed on the screen is in the model, and the other way.

What anywidget gives to a view, a page gives here: a model whose traits are set and observed.
"""

import pytest

from scripts.browsing import DESK
from tests.browser import small
from workshop.page.live import live, trainer_scripts

VIEW = """async ([text, traits]) => {
  const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  const { default: widget } = await import(address);
  const events = new EventTarget();
  const heard = {};
  window.model = {
    saved: 0, sent: [], get: (name) => structuredClone(traits[name]),
    set: (name, value) => (traits[name] = structuredClone(value)),
    save_changes: () => (model.saved += 1),
    send: (content, _, buffers) => model.sent.push([content, buffers]),
    on: (name, hear) => (heard[name] = hear), off: (name) => delete heard[name],
    // What Python does.
    put(name, value) {
      model.set(name, value);
      heard[`change:${name}`]();
    },
    tell: (content, buffers) => heard["msg:custom"](content, buffers),
    heard: () => Object.keys(heard),
  };
  window.keys = [];
  document.addEventListener("keydown", ({ key }) => keys.push(key)); // B would insert a cell
  const el = document.getElementById("root");
  const signal = new AbortController().signal;
  window.end = await widget.render({ model, el, signal });
}"""


@pytest.fixture
def page(browser, tmp_path):
    """An empty page whose errors fail a test."""
    small.write(tmp_path / "empty.html", "A widget", small.EMPTY, "")
    with small.opening(browser, tmp_path.as_uri() + "/") as open_one:
        yield open_one(viewport=DESK)


def state(page):
    return page.evaluate("model.get('_state')")


def test_points_options_and_weights_of_a_trainer_go_both_ways(page):
    w = live(method="batch_ensemble", ensemble_size=3, width=5, lr=1e-6)
    names = ("_state", "_small", "_distributions", "_tries", "_behind")
    traits = {name: getattr(w, name) for name in names}
    page.evaluate(VIEW, [trainer_scripts.BUNDLE.module(), traits])
    page.wait_for_function("model.sent.some(([{ kind }]) => kind === 'shown')")
    page.locator("canvas").first.focus()
    for key in ("b", "ArrowUp", "Enter"):
        page.keyboard.press(key)
    page.wait_for_function("model.get('_state').points.length === 61 && model.saved")
    assert state(page)["points"][60] == [0, 0.1] and page.evaluate("keys") == []
    # Weights that Python sets are where the page goes on: a step moves each by less than lr.
    page.evaluate("() => { model.sent.length = 0 }")
    page.get_by_role("button", name="Step").click()
    page.wait_for_function("model.sent.some(([{ steps }]) => steps === 1)")
    content, number = page.evaluate(
        "(([content, buffers]) => [content, buffers.length])(model.sent.at(-1))"
    )
    (side,) = content["sides"]
    assert (side["sizes"], side["method"], side["passes"]) == ([1, 5, 5, 1], "batch_ensemble", 3)
    assert number == len(side["names"]) == 12
    page.evaluate("""() => {
      const [{ sides }, buffers] = model.sent.at(-1);
      window.put = buffers.map((array) => Float64Array.from(array, (value) => value / 2));
      model.sent.length = 0;
      const given = put.map(({ buffer }) => new DataView(buffer));
      model.tell({ kind: "weights", sides: sides.map(({ names }) => names) }, given);
    }""")
    page.get_by_role("button", name="Step").click()
    page.wait_for_function("model.sent.some(([{ steps }]) => steps === 2)")
    moved = page.evaluate("""() => model.sent.at(-1)[1].map((array, i) =>
      Math.max(...array.map((value, k) => Math.abs(value - put[i][k]))))""")
    assert 1e-7 < max(moved) < 1.1e-6
    # What Python sets is on the screen.
    w.points, w.options = [[-2, 1, 0], [2, -1, 1]], {"method": "deep_ensemble"}
    page.evaluate("state => model.put('_state', state)", dict(w._state))
    page.locator("canvas[aria-label*='Deep ensemble of 3, 2 points']").first.wait_for()
    page.evaluate("end()")
    assert page.evaluate("model.heard()") == [] and page.locator("canvas").count() == 0
