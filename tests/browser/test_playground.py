"""The playground shows the numbers of the layers, in every state, and says what makes each."""

import itertools

import numpy as np
import pytest

from ensedu import counting, methods
from ensedu.page.playground import METHODS, MOST, state
from scripts.browsing import visit

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
    sums[row.dataset.role] = [...row.querySelectorAll("td")].map((cell) => cell.textContent);
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
    modulated = methods.METHODS[method].modulated
    if modulated:
        end = "" if "r" in arrays else "_mean"
        grids["r"] = arrays[f"r{end}"][:, :, None]  # a column a member
        grids["s"] = arrays[f"s{end}"][:, None, :]  # a row a member
    bias = arrays.get("bias", arrays.get("bias_mean"))
    grids["bias"] = np.atleast_2d(bias)[:, None, :]
    if modulated:
        return grids | {"shared": arrays["weight"][None], "made": arrays["matrices"]}
    if "spreads" in arrays:
        grids["spread"] = arrays["spreads"]
    return grids | {"stored": arrays["matrices"]}


@pytest.mark.parametrize("method", METHODS)
def test_every_state_shows_the_numbers_of_its_layer(playground, method):
    sizes = [range(1, most + 1) for most in MOST.values()]
    if not methods.METHODS[method].members:
        sizes[2] = range(2, 3)  # there are none to choose
    for m, n, M in itertools.product(*sizes):
        seen = shown(playground, method, m, n, M)
        expected = expected_grids(method, state(method, m, n, M))
        assert seen["grids"].keys() == expected.keys()
        for part, array in expected.items():
            np.testing.assert_array_equal(np.array(seen["grids"][part]), array, err_msg=part)
        count = counting.layer(m, n, method, **methods.sized(method, M))
        numbers = str.maketrans({"m": str(m), "n": str(n), "M": str(M)})
        sums = {
            role: [f"{term} = {term.translate(numbers)}", str(getattr(count, role))]
            for role, term in methods.terms(method).items()
        }
        assert seen["sums"] == sums | {"total": ["", str(count.total)]}
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


def show(value):
    return f"{round(value, 2):g}".replace("-", "\N{MINUS SIGN}")


# A cell, and what is said of it; names stand for entries of the arrays.
SAID = [
    ("batch_ensemble", "shared-2-3", "W[3, 4] = {weight[2][3]}: stored once, used by every"),
    ("batch_ensemble", "r-1-2", "r2[3] = {r[1][2]}: member 2's own. It scales input 3."),
    ("batch_ensemble", "s-1-3", "s2[4] = {s[1][3]}: member 2's own. It scales output 4."),
    ("batch_ensemble", "bias-1-3", "b[4] = {bias[1][3]}: added to output 4."),
    ("rank1", "r-1-2", "mean {r_mean[1][2]}, standard deviation {r_std[1][2]}. Member 2 owns both"),
    ("rank1", "r-1-2", "It scales input 3."),
    ("rank1", "s-1-3", "It scales output 4."),
    ("rank1", "made-1-2-3", " on average, with standard deviation {spreads[1][2][3]}."),
    ("deep_ensemble", "stored-1-2-3", "W2[3, 4] = {weight[1][2][3]}: a number of its own, stored"),
    ("deep_ensemble", "stored-1-2-3", ", stored for member 2 alone."),
    ("single", "stored-0-2-3", "W[3, 4] = {weight[2][3]}: a number of its own."),
    (
        "mean_field",
        "stored-0-2-3",
        "mean {weight_mean[2][3]}, standard deviation {weight_std[2][3]}",
    ),
    ("mean_field", "spread-2-3", "deviation of W[3, 4] is {weight_std[2][3]}: stored beside"),
    ("mean_field", "bias-0-3", "mean {bias_mean[3]}, standard deviation {bias_std[3]}."),
]


def test_every_kind_of_entry_is_explained(playground):
    assert {method for method, _, _ in SAID} == set(METHODS)
    spreads = state("rank1", 3, 4, 2)["spreads"][:, 2, 3]
    assert show(spreads[0]) != show(spreads[1])  # so that one member's is not taken for another's
    for method, key, words in SAID:
        shown(playground, method, 3, 4, 2)
        playground.locator(f"[data-key='{key}']").hover()
        arrays = {
            name: np.vectorize(show)(array).tolist()
            for name, array in state(method, 3, 4, 2).items()
        }
        said = playground.locator(".ensedu-story").text_content()
        assert words.format(**arrays) in said, (method, key)


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
    for method in ("none", "toString"):
        strange = open_page()
        visit(strange, server + PAGE + f"#playground:method={method}&in_features=99")
        assert strange.locator("select").input_value() == "batch_ensemble"


def test_without_scripts_a_figure_stands(open_page, server):
    page = open_page(java_script_enabled=False)
    page.goto(server + PAGE)
    assert page.locator(".ensedu-still").is_visible()
