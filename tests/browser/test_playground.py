"""The playground shows the numbers of the layers, in every state, and says what makes each."""

import itertools

import numpy as np
import pytest

from ensedu import counting
from ensedu.playground import METHODS, MOST, state
from scripts.check_site import visit

PAGE = "book/playground.html"
# Choose a layer with the controls, and read everything that is then shown.
READ = """([method, sizes]) => {
  const root = document.querySelector(".ensedu-playground");
  const select = root.querySelector("select");
  select.value = method;
  select.dispatchEvent(new Event("change"));
  root.querySelectorAll("input").forEach((range, i) => {
    if (range.disabled) return;
    range.value = sizes[i];
    range.dispatchEvent(new Event("input"));
  });
  const number = (cell) => Number(cell.textContent.replace("\\u2212", "-"));
  const grids = {};
  for (const table of root.querySelectorAll("table.ensedu-grid")) {
    const rows = [...table.rows].map((row) => [...row.cells].map(number));
    (grids[table.dataset.part] ??= []).push(rows);
  }
  const sums = {};
  for (const row of root.querySelectorAll(".ensedu-sum tr[data-role]")) {
    sums[row.dataset.role] = row.lastElementChild.textContent;
  }
  return { grids, sums, add: root.querySelector(".ensedu-add").textContent };
}"""


@pytest.fixture
def playground(page, server):
    visit(page, server + PAGE)
    return page


def shown(page, *chosen):
    method, *sizes = chosen
    return page.evaluate(READ, [method, sizes])


def expected_grids(method, arrays):
    """What stands on the page, from the arrays of the layer."""
    grids = {}
    if method in ("batch_ensemble", "rank1"):
        end = "_mean" if method == "rank1" else ""
        grids["r"] = arrays[f"r{end}"][:, :, None]  # a column a member
        grids["s"] = arrays[f"s{end}"][:, None, :]  # a row a member
    bias = arrays.get("bias", arrays.get("bias_mean"))
    grids["bias"] = np.atleast_2d(bias)[:, None, :]
    if method in ("batch_ensemble", "rank1"):
        return grids | {"shared": arrays["weight"][None], "made": arrays["matrices"]}
    if method == "mean_field":
        grids["spread"] = arrays["spreads"]
    return grids | {"stored": arrays["matrices"]}


@pytest.mark.parametrize("method", METHODS)
def test_every_state_shows_the_numbers_of_its_layer(playground, method):
    sizes = [range(1, most + 1) for most in MOST.values()]
    if method in ("single", "mean_field"):
        sizes[2] = range(2, 3)  # it has no members to choose
    for m, n, M in itertools.product(*sizes):
        seen = shown(playground, method, m, n, M)
        expected = expected_grids(method, state(method, m, n, M))
        assert seen["grids"].keys() == expected.keys()
        for part, array in expected.items():
            np.testing.assert_array_equal(np.array(seen["grids"][part]), array, err_msg=part)
        count = counting.layer(m, n, method, M)
        roles = {role: getattr(count, role) for role in counting.ROLES if getattr(count, role)}
        assert seen["sums"] == {key: str(k) for key, k in (roles | {"total": count.total}).items()}
        more = counting.one_more_member(m, n, method).total
        assert (f"{more} numbers" in seen["add"]) == (more > 0)


@pytest.mark.parametrize("way", ["hover", "focus", "tap"])
def test_an_entry_says_what_makes_it(open_page, server, way):
    page = open_page(has_touch=way == "tap")
    visit(page, server + PAGE)
    shown(page, "batch_ensemble", 3, 4, 2)
    cell = page.locator("[data-key='made-1-2-3']")
    getattr(cell, way)()
    arrays = state("batch_ensemble", 3, 4, 2)
    factors = arrays["weight"][2, 3], arrays["r"][1, 2], arrays["s"][1, 3]
    product = " · ".join(f"{value:g}" for value in factors) + f" = {np.prod(factors):g}"
    words = page.locator(".ensedu-story").text_content()
    assert words.startswith("W2[3, 4] = W[3, 4] · r2[3] · s2[4] = ")
    assert product.replace("-", "\N{MINUS SIGN}") in words
    lit = {key.get_attribute("data-key") for key in page.locator(".lit").all()}
    assert lit == {"made-1-2-3", "shared-2-3", "r-1-2", "s-1-3"}


def test_arrow_keys_walk_through_a_matrix(playground):
    shown(playground, "deep_ensemble", 2, 3, 2)
    playground.locator("[data-key='stored-0-0-0']").focus()
    for key, place in (
        ("ArrowRight", "0-0-1"), ("ArrowDown", "0-1-1"), ("ArrowLeft", "0-1-0"),
        ("ArrowDown", "0-1-0"), ("ArrowUp", "0-0-0"),
    ):  # fmt: skip
        playground.keyboard.press(key)
        focused = playground.evaluate("document.activeElement.dataset.key")
        assert focused == f"stored-{place}"
    assert playground.locator(".ensedu-story").text_content().startswith("W1[1, 1] = ")


def test_members_are_added_one_at_a_time(playground):
    seen = shown(playground, "rank1", 2, 3, 1)
    assert len(seen["grids"]["made"]) == 1
    button = playground.locator(".ensedu-add")
    for M in (2, 3, 4):
        assert "13 numbers" in button.text_content()
        button.click()
        assert playground.locator("[data-part=made] table").count() == M
    assert button.is_disabled()


def test_a_link_leads_back_to_a_layer(playground, open_page, server):
    shown(playground, "mean_field", 4, 1, 2)
    link = playground.locator(".ensedu-link").get_attribute("href")
    other = open_page()
    visit(other, server + PAGE + link)
    assert other.locator("select").input_value() == "mean_field"
    assert other.locator("[data-part=stored] table tr").count() == 4
    strange = open_page()
    visit(strange, server + PAGE + "#playground:method=none&in_features=99")
    assert strange.locator("select").input_value() == "batch_ensemble"


def test_without_scripts_a_figure_stands(open_page, server):
    page = open_page(java_script_enabled=False)
    page.goto(server + PAGE)
    assert page.locator(".ensedu-still").is_visible()
