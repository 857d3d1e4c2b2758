"""The playground in JupyterLab: what is changed on the screen is in Python, and the other way."""

import re

import numpy as np
import pytest

from ensedu.book.page.playground import layers
from tests.browser import lab
from tests.browser.lab import read, run

# A cell a step.
SHOW = """
from ensedu.book.page.playground import playground

called = []
w = playground(in_features=3, out_features=5, ensemble_size=2)
w.observe(lambda change: called.append(change.name), ["arrays", "options"])
w
"""
READ = """
arrays = {name: array.tolist() for name, array in w.arrays.items()}
params = {name: array.tolist() for name, array in w.layer.params.items()}
outputs = w.outputs.tolist()
say(arrays=arrays, params=params, outputs=outputs, options=dict(w.options), called=called)
"""
SET = """
w.arrays = {"r": [[1, 2, 3], [4, 5.25, -6]], "x": [0.5, -0.5, 2]}
"""
OPTIONS = """
w.options = {"method": "rank1", "ensemble_size": 3, "draw": 7}
"""
BAD = """
try:
    w.arrays = {"x": [1, 2, 99]}
except ValueError as error:
    say(error=str(error))
"""
AGAIN = """
w
"""


@pytest.fixture(scope="module")
def notebook(browser, tmp_path_factory):
    """A notebook that is open in JupyterLab."""
    folder = tmp_path_factory.mktemp("lab")
    cells = (lab.SAY + SHOW, READ, SET, OPTIONS, BAD, AGAIN)
    with lab.notebook(browser, folder, *cells) as page:
        run(page, 0)  # each test may be the first, in a process of its own
        yield page


def cell(shown, key):
    """One number of a playground."""
    return shown.locator(f"[data-key='{key}']")


def numbers(shown):
    """All numbers that a playground shows, by key: what is stored in full, the rest rounded."""
    return shown.locator("[data-key]").evaluate_all(
        """(cells) => Object.fromEntries(cells.map((cell) => [
          cell.dataset.key, cell.getAttribute("aria-valuenow") ?? cell.ariaLabel.split(": ").pop(),
        ]))"""
    )


def check_shown(shown, found):
    """Fail unless a playground shows what Python holds."""
    screen = {key: float(text.replace("−", "-")) for key, text in numbers(shown).items()}
    for name, array in found["arrays"].items():
        for place in np.ndindex(np.shape(array)):
            key = f"{name}:{','.join(map(str, place))}"
            assert screen[key] == np.array(array)[place], key
    outputs = np.array(found["outputs"])
    for i, b in np.ndindex(outputs.shape):
        assert abs(screen[f"y:{i},{b}"] - outputs[i, b]) < 0.0051


def test_arrays_and_options_go_both_ways(notebook):
    page = notebook
    shown = page.locator(".ensedu-playground")
    cell(shown, "y:1,4").wait_for()
    address = page.url
    start = run(page, 1)
    assert start["options"] == {
        "method": "batch_ensemble", "in_features": 3, "out_features": 5, "ensemble_size": 2,
        "numbers": 0, "draw": 0,
    }  # fmt: skip
    assert start["called"] == []
    check_shown(shown, start)

    # A number that is typed on the screen is in Python, in the array and in what comes out.
    cell(shown, "r:1,2").click()
    page.keyboard.type("-7.25")
    page.keyboard.press("Enter")
    typed = read(page, lambda found: found["arrays"]["r"][1][2] == -7.25)
    assert typed["called"] == ["arrays"]
    expected = np.array(start["arrays"]["r"])
    expected[1, 2] = -7.25
    np.testing.assert_array_equal(typed["arrays"].pop("r"), expected)
    assert typed["arrays"] == {name: start["arrays"][name] for name in typed["arrays"]}
    np.testing.assert_array_equal(typed["params"]["r"], expected)
    assert typed["outputs"][0] == start["outputs"][0]
    assert typed["outputs"][1] != start["outputs"][1]
    check_shown(shown, typed)

    # A step of an arrow key, of x, moves both members.
    cell(shown, "x:0").focus()
    page.keyboard.press("ArrowUp")
    x = start["arrays"]["x"][0] + 0.5
    stepped = read(page, lambda found: found["arrays"]["x"][0] == x)
    assert all(a != b for a, b in zip(stepped["outputs"], typed["outputs"], strict=True))

    # Another method and another size are in the options.
    shown.get_by_label("deep ensemble", exact=False).first.check()
    shown.locator(".ensedu-p-add").click()
    deep = read(page, lambda found: found["options"]["ensemble_size"] == 3)
    assert deep["options"]["method"] == "deep_ensemble"
    assert np.shape(deep["arrays"]["weight"]) == (3, 3, 5)
    assert deep["arrays"]["x"][0] == x
    check_shown(shown, deep)

    # What Python sets is on the screen.
    shown.locator("input[type=radio][value=batch_ensemble]").check()
    read(page, lambda found: found["options"]["method"] == "batch_ensemble")
    shown.get_by_label("members M").focus()
    page.keyboard.press("ArrowUp")
    before = read(page, lambda found: found["options"]["ensemble_size"] == 2)
    run(page, 2)
    page.wait_for_function(
        "(node) => node.getAttribute('aria-valuenow') === '5.25'",
        arg=cell(shown, "r:1,1").element_handle(),
    )
    put = run(page, 1)
    assert put["arrays"]["r"] == [[1, 2, 3], [4, 5.25, -6]]
    assert put["arrays"]["x"] == [0.5, -0.5, 2]
    assert put["called"] == [*before["called"], "arrays"]
    check_shown(shown, put)
    run(page, 3)
    shown.locator(".ensedu-p-again", has_text="7").wait_for()
    drawn = run(page, 1)
    assert drawn["options"]["method"] == "rank1"
    assert np.shape(drawn["arrays"]["r_std"]) == (3, 3)
    assert drawn["arrays"]["x"] == [0.5, -0.5, 2]
    check_shown(shown, drawn)
    assert shown.locator(".ensedu-p-bars input:checked").get_attribute("value") == "rank1"
    # The draw is the one that Python's own ε gives, of the numbers that were set.
    edits = {"x:0": 0.5, "x:1": -0.5, "x:2": 2}
    for (i, a), value in np.ndenumerate(put["arrays"]["r"]):  # now the means of r
        edits[f"r:{i},{a}"] = value
    state = drawn["options"] | {"challenge": None, "edits": edits}
    np.testing.assert_allclose(drawn["outputs"], layers.outputs(state), rtol=0, atol=1e-12)

    # What Python cannot set changes nothing.
    said = run(page, 4)
    assert re.search(r"arrays\['x'\] .* -9 to 9, got 99", said["error"])
    assert run(page, 1) == drawn
    check_shown(shown, drawn)
    assert page.url == address  # the notebook's own
    assert "address" not in shown.inner_text()


def test_keys_are_the_playgrounds_and_not_the_notebooks(notebook):
    """Outside an editor B adds a cell, D D deletes one, M makes it text, Z brings one back."""
    page = notebook
    shown = page.locator(".ensedu-playground").first
    editors = page.locator(".jp-CodeCell .cm-content")
    editors.nth(4).click()
    page.keyboard.press("Control+End")
    page.keyboard.type("# mine")
    cells, texts = page.locator(".jp-Cell").count(), editors.all_inner_texts()
    before = run(page, 1)
    weight = before["arrays"]["weight"][0][0]

    at = cell(shown, "weight:0,0")
    at.focus()
    for key in ("b", "a", "d", "d", "m", "x", "z", "Enter", "Escape", "ArrowUp", "Shift+ArrowUp"):
        page.keyboard.press(key)
    assert at.evaluate("(node) => document.activeElement === node")
    found = read(page, lambda found: found["arrays"]["weight"][0][0] == weight + 0.6)
    check_shown(shown, found)

    # The field beside the sentence.
    at.click()
    field = shown.locator(".ensedu-p-stepper input")
    field.fill("1.75")
    field.press("Enter")
    read(page, lambda found: found["arrays"]["weight"][0][0] == 1.75)

    # Undo is the playground's, too.
    at.focus()
    page.keyboard.press("Control+z")
    read(page, lambda found: found["arrays"]["weight"][0][0] == weight + 0.6)
    assert page.locator(".jp-Cell").count() == cells
    assert editors.all_inner_texts() == texts


def test_two_views_show_the_same_layer(notebook):
    page = notebook
    run(page, 5)
    views = page.locator(".ensedu-playground")
    cell(views.nth(1), "x:0").wait_for()
    cell(views.nth(1), "x:1").focus()
    page.keyboard.type("4")
    page.keyboard.press("Enter")
    found = read(page, lambda found: found["arrays"]["x"][1] == 4)
    for view in views.all():
        check_shown(view, found)
