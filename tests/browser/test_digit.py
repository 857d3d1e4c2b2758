"""Draw a digit: the page sees and says what the package does, however one draws."""

import numpy as np
import pytest

from ensedu import numpy as en
from ensedu import uncertainty
from ensedu.methods import METHODS, size_option
from scripts.browsing import PHONE, open_context, visit
from scripts.check_site import accessible
from tests.browser.test_live_engine import by_layer
from workshop import measured
from workshop.drawn_digits import (
    DIGITS,
    LETTERS,
    MEMBERS,
    PEN,
    SIZES,
    from_text,
    jittered,
    seen,
    unpacked,
)
from workshop.experiments import mc_dropout as dropout
from workshop.experiments.digit_networks import TRIES
from workshop.page.digit import EXAMPLES, SCRIPT, script
from workshop.page.live import trainer_scripts

PAGE = "book/learning/uncertainty.html"
ROWS = {row["method"]: row for row in measured.load("digit-networks")["rows"]}


@pytest.fixture(scope="module")
def functions(blank):
    """A page with the scripts and the networks, and nothing to draw on."""
    blank.add_script_tag(content=trainer_scripts.BUNDLE.classic())
    blank.add_script_tag(content=script())
    return blank


def expected(method, x, rng):
    """What `ensedu.numpy` says with the arrays of the page, and the noise of each layer."""
    row, kind = ROWS[method], METHODS[method]
    options = {"p": row["p"]} if kind.drops_units else {}
    net = en.mlp(SIZES, method, **size_option(method, MEMBERS), **options, rng=rng)
    arrays = unpacked(method, row["arrays"])
    for own, array in zip(net.params.values(), arrays.values(), strict=True):
        own[...] = array
    drawn = net.noise(rng, x.shape)
    outputs = net.forward(x, drawn) if drawn else net.forward(x)
    return uncertainty.softmax(outputs.reshape(-1, len(x), SIZES[-1])), by_layer(net, drawn)


@pytest.mark.parametrize("method", TRIES)
def test_the_page_says_what_the_package_says_and_doubts_in_nats(functions, method):
    x = dropout.split_digits(1200, 0)[2][0][:20]
    p, noise = expected(method, x, np.random.default_rng(3))
    script = """([method, inputs, noise]) => {
      const net = ensedu.digitNetwork(method, ensedu_digits[method]);
      const said = inputs.map((x) => ensedu.digitProbabilities(net, Float64Array.from(x), noise));
      return [said, said.map(ensedu.digitParts)];
    }"""
    said, parts = functions.evaluate(script, [method, x.tolist(), noise])
    np.testing.assert_allclose(np.swapaxes(said, 0, 1), p, rtol=0, atol=1e-9)
    wanted = uncertainty.entropy_parts(p)
    for name, own in (("expected", wanted.expected), ("information", wanted.mutual_information)):
        found = [one[name] for one in parts]
        np.testing.assert_allclose(found, own, rtol=0, atol=1e-8)


def test_the_page_sees_what_the_package_sees(functions):
    rng = np.random.default_rng(5)
    drawings = [[], [np.array([[0.3, 0.4]])], *DIGITS.values(), *LETTERS.values()]
    drawings += [jittered(drawing, rng) for drawing in drawings[2:]]
    scribbles = rng.integers(8, 93, (10, 7, 2))  # one stroke through random points, rounded
    drawings += [from_text("~" + " ".join(f"{x},{y}" for x, y in one)) for one in scribbles]
    given = [[stroke.tolist() for stroke in drawing] for drawing in drawings]
    for pen in (PEN, 0.01, 0.12):
        said = functions.evaluate(
            "([all, pen]) => all.map((one) => [...ensedu.digitSeen(one, pen)])", [given, pen]
        )
        for own, drawing in zip(said, drawings, strict=True):
            np.testing.assert_array_equal(own, seen(drawing, pen))


FOUR, EITHER, NONE = ({"digits": digits} for digits in ([4], [4, 9], []))
ASK = "Did you draw something other than a 3? Then "
# What members say, what the single network says, what was drawn, and words of the sentence.
SAID = [
    ([3, 3, 3], 3, {"digits": [3]}, "all 3 members say 3;", "It is a 3, as both say."),
    ([8, 3, 3], 3, NONE, "2 of 3 members say 3, 1 says 8;", "drawn. Fooled: single network."),
    ([9, 8, 3], 3, NONE, "1 of 3 members says 3, 1 says 8, 1 says 9;", "Fooled: single network."),
    ([3, 3], 3, None, "all 2 members say 3;", f"{ASK}both are fooled."),
    ([3, 4], 3, None, "because members disagree", f"Sure: single network. {ASK}it is fooled."),
    ([8, 8], 3, None, "all 2", "Sure of an 8 and of a 3: at least one is fooled."),
    ([3, 3], 4, FOUR, "0.00 of them because", "It is a 4. Fooled: rank-1 BNN."),
    ([3, 3], 3, FOUR, "all 2", "It is a 4. Fooled: rank-1 BNN, single network."),
    ([9, 9], 3, EITHER, "all 2",
     "It may be a 4 or a 9. Fooled: single network. Sure without reason: rank-1 BNN."),
    ([[4, 9]], [4, 9], EITHER, "0.69 nats of doubt, 0.00 of them",
     "It may be a 4 or a 9, and neither is sure."),
]  # fmt: skip


@pytest.mark.parametrize(("members", "single", "example", "words", "end"), SAID)
def test_words_count_votes_and_say_who_is_fooled(functions, members, single, example, words, end):
    def sure(of):
        if isinstance(of, list):
            return np.eye(10)[of].mean(axis=0).tolist()
        return (0.91 * np.eye(10)[of] + 0.01).tolist()

    said = functions.evaluate(
        "(all) => ensedu.digitWords('rank-1 BNN', 'member', ...all)",
        [[sure(one) for one in members], [sure(single)], example],
    )
    assert said.startswith("Rank-1 BNN: ") and words in said and said.endswith(end)


def story(root):
    return root.locator("[role=status]").text_content()


def tells(page, words):
    page.locator(".ensedu-digit [role=status]", has_text=words).wait_for(state="attached")


def paths(root, points):
    """Places of the square in pixels of the page."""
    box = root.locator(".ensedu-square").bounding_box()
    return [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in points]


def test_a_drawing_by_mouse_is_read_undone_and_compared_on_a_desk(page, folder):
    asked = []
    page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
    visit(page, folder + PAGE)
    root, ink = page.locator(".ensedu-digit"), page.locator(".ensedu-ink")
    root.scroll_into_view_if_needed()
    undo, clear = (root.get_by_role("button", name=name) for name in ("Undo", "Clear"))
    first = story(root)
    assert "Deep ensemble: 2 of 4 members say 2," in first and undo.is_disabled()
    assert SCRIPT not in asked  # nothing is fetched before the first touch
    clear.click()
    page.wait_for_function("window.ensedu_digits")
    assert ink.get_attribute("d") == "" and clear.is_disabled() and asked.count(SCRIPT) == 1
    for stroke in DIGITS["8"]:
        start, *rest = paths(root, stroke)
        page.mouse.move(*start)
        page.mouse.down()
        for point in rest:
            page.mouse.move(*point)
        page.mouse.up()
    tells(page, "Deep ensemble: all 4 members say 8;")
    assert story(root).endswith("Did you draw something other than an 8? Then both are fooled.")
    while undo.is_enabled():
        undo.click()
    assert story(root) == first  # what the page knew without the networks
    root.get_by_role("button", name="an X", exact=True).click()
    heights = set()
    for method in (method for method in TRIES if method != "single"):
        root.locator("select").select_option(method)
        tells(page, METHODS[method].label[1:])
        heights.add(root.bounding_box()["height"])
        draws, again = METHODS[method].stochastic, root.get_by_role("button", name="New draws")
        assert again.is_visible() == (draws and not METHODS[method].has_members)
        if again.is_visible():
            before = story(root)
            again.click()
            assert story(root) != before
        if not draws:
            p, _ = expected(method, seen(EXAMPLES["an X"][1])[None], np.random.default_rng(0))
            rows = [*p[:, 0], p[:, 0].mean(axis=0)]
            cells = [row.locator("td").all_inner_texts() for row in root.locator("tbody tr").all()]
            assert cells[1:] == [
                [f"{x:.0f}" if x >= 4.5 else "" for x in 100 * one] for one in rows
            ]
    assert len(heights) == 1  # nothing moves


def test_a_drawing_by_finger_moves_no_page_and_keys_do_all_else(open_page, server):
    page = open_page(viewport=PHONE, has_touch=True)
    visit(page, server + PAGE)
    root = page.locator(".ensedu-digit")
    root.scroll_into_view_if_needed()
    root.get_by_role("button", name="Clear").tap()
    before, send = page.evaluate("scrollY"), page.context.new_cdp_session(page).send
    for stroke in DIGITS["3"]:
        points = paths(root, stroke)
        kinds = ["touchStart", *["touchMove"] * (len(points) - 1)]
        for kind, (x, y) in zip(kinds, points, strict=True):
            send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})
        send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    tells(page, "say 3;")
    assert page.evaluate("scrollY") == before
    for button in root.locator("button:visible, select").all():
        assert button.bounding_box()["height"] >= 44
    for name in EXAMPLES:
        button = root.get_by_role("button", name=name, exact=True)
        button.press("Enter")
        assert button.get_attribute("aria-pressed") == "true"
        assert root.locator("[aria-pressed=true]").count() == 1
    root.get_by_role("button", name="Clear").press("Enter")
    assert "No digit was drawn, and neither is sure." in story(root)
    root.locator("select").press("ArrowDown")
    assert story(root).startswith("BatchEnsemble: ")
    spills = "(all) => all.filter((one) => one.scrollWidth > one.clientWidth).length"
    assert root.locator("td").evaluate_all(spills) == 0
    assert not [where for rule, where in accessible(page, (PHONE,)) if "ensedu-digit" in where]


def test_it_says_so_when_the_networks_cannot_be_fetched(browser, folder):
    context = open_context(browser)  # unwatched: what cannot be fetched is an error
    page = context.new_page()
    page.route(f"**/{SCRIPT}", lambda route: route.abort())
    visit(page, folder + PAGE)
    page.get_by_role("button", name="an E", exact=True).click()
    tells(page, "could not")
    page.unroute(f"**/{SCRIPT}")
    page.get_by_role("button", name="an X", exact=True).click()
    tells(page, "2 of 4 members say 2")
    context.close()
