"""Draw a digit: the page sees and says what the package does, however one draws."""

import json

import numpy as np
import pytest

from ensedu import numpy as en
from ensedu import uncertainty
from ensedu.book import measured
from ensedu.book.experiments import dropout
from ensedu.book.experiments.digit_networks import TRIES
from ensedu.book.page.digit import EXAMPLES, SCRIPT, START, script
from ensedu.book.page.digit.drawings import DIGITS, LETTERS, PEN, jittered, scribble, seen
from ensedu.book.page.digit.stored_networks import MEMBERS, SIZES, unpacked
from ensedu.book.page.live import trainer_scripts
from ensedu.methods import METHODS, size_option
from scripts.browsing import DESK, PHONE, open_context, visit

PAGE = "book/learning/uncertainty.html"
ROWS = {row["method"]: row for row in measured.load("digit-networks")["rows"]}
# Probabilities of each example, (B, M, 10), for noise that was drawn elsewhere.
SAY = """([method, inputs, noise]) => {
  const net = ensedu.digitNetwork(method, ensedu_digits[method]);
  return inputs.map((x) => ensedu.digitProbabilities(net, Float64Array.from(x), noise));
}"""


@pytest.fixture(scope="module")
def functions(blank):
    """A page with the scripts and the networks, and nothing to draw on."""
    blank.add_script_tag(content=trainer_scripts.BUNDLE.classic())
    blank.add_script_tag(content=script())
    return blank


def expected(method, x, rng):
    """What `ensedu.numpy` says with the arrays of the page, and the noise of each layer."""
    row, kind = ROWS[method], METHODS[method]
    given = size_option(method, MEMBERS) if kind.members else {}
    if kind.stochastic and not kind.members:
        given = {"samples": MEMBERS}
    options = {"p": row["p"]} if kind.drops_units else {}
    net = en.mlp(SIZES, method, **given, **options, rng=rng)
    arrays = unpacked(method, row["arrays"])
    for own, array in zip(net.params.values(), arrays.values(), strict=True):
        own[...] = array
    drawn = net.noise(rng, x.shape)
    places = list(dict.fromkeys(name.partition(".")[0] for name in drawn))
    layers = [{} for _ in SIZES[1:]]
    for name, array in drawn.items():
        place, _, own = name.rpartition(".")
        layers[places.index(place.partition(".")[0])][own] = array.astype(float).ravel().tolist()
    outputs = net.forward(x, drawn) if drawn else net.forward(x)
    return uncertainty.softmax(outputs.reshape(-1, len(x), SIZES[-1])), layers


@pytest.mark.parametrize("method", TRIES)
def test_the_page_says_what_the_package_says(functions, method):
    x = dropout.split_digits(1200, 0)[2][0][:20]
    found, noise = expected(method, x, np.random.default_rng(3))
    said = np.array(functions.evaluate(SAY, [method, x.tolist(), noise]))
    np.testing.assert_allclose(said.swapaxes(0, 1), found, rtol=0, atol=1e-9)
    if METHODS[method].stochastic:
        assert not np.allclose(found[0], found[1])


def test_uncertainty_is_that_of_the_package_in_bits(functions):
    members = np.random.default_rng(0).dirichlet(np.ones(10) / 3, 5)
    members[0] = np.eye(10)[3]
    said = functions.evaluate("(p) => ensedu.digitParts(p)", members.tolist())
    parts = uncertainty.entropy_parts(members[:, None])
    assert said["expected"] == pytest.approx(parts.expected.item() / np.log(2), abs=1e-12)
    information = parts.mutual_information.item() / np.log(2)
    assert said["information"] == pytest.approx(information, abs=1e-12)
    np.testing.assert_allclose(said["mean"], members.mean(axis=0), rtol=1e-13)


def test_the_page_sees_what_the_package_sees(functions):
    rng = np.random.default_rng(5)
    drawings = [[], [np.array([[0.3, 0.4]])], *DIGITS.values(), *LETTERS.values()]
    drawings += [jittered(drawing, rng) for drawing in drawings[2:]]
    drawings += [scribble(rng) for _ in range(10)]
    for pen in (PEN, 0.01, 0.12):
        given = [[stroke.tolist() for stroke in drawing] for drawing in drawings]
        said = functions.evaluate(
            "([all, pen]) => all.map((one) => [...ensedu.digitSeen(one, pen)])", [given, pen]
        )
        for own, drawing in zip(said, drawings, strict=True):
            np.testing.assert_array_equal(own, seen(drawing, pen))


SAID = [
    ([3, 3, 3], 3, [3], "all 3 members say 3;"),
    ([8, 3, 3], 3, [], "2 of 3 members say 3, 1 says 8;"),
    ([9, 8, 3], 3, [], "1 of 3 members says 3, 1 says 8, 1 says 9;"),
]


@pytest.mark.parametrize(("members", "single", "digits", "words"), SAID)
def test_words_count_votes(functions, members, single, digits, words):
    sure = 0.91 * np.eye(10) + 0.01
    said = functions.evaluate(
        "([label, members, single, digits]) =>"
        " ensedu.digitWords(label, 'member', members, [single], digits && { digits, name: 'it' })",
        ["rank-1 BNN", sure[members].tolist(), sure[single].tolist(), digits],
    )
    assert said.startswith(f"Rank-1 BNN: {words}")
    assert "Single network: 3 with 92%" in said
    agree = len(set(members)) == 1
    end = "It is a 3, as both say." if digits else "No digit was drawn. Fooled: single network."
    assert said.endswith(end)
    assert ("because members disagree" in said) and ("0.00 of them" in said) == agree


def test_words_ask_what_a_reader_drew(functions):
    sure = (0.91 * np.eye(10) + 0.01).tolist()

    def said(members, single, example):
        return functions.evaluate(
            "(all) => ensedu.digitWords('BatchEnsemble', 'member', ...all)",
            [[sure[i] for i in members], [sure[single]], example],
        )

    ask = "Did you draw something other than a 3? Then"
    assert said([3, 3], 3, None).endswith(f"{ask} both are fooled.")
    assert said([3, 4], 3, None).endswith(f"Sure: single network. {ask} it is fooled.")
    assert said([8, 8], 3, None).endswith("Sure of an 8 and of a 3: at least one is fooled.")
    four = {"digits": [4], "name": "a 4"}
    assert said([3, 3], 4, four).endswith("It is a 4. Fooled: BatchEnsemble.")
    assert said([3, 3], 3, four).endswith("It is a 4. Fooled: BatchEnsemble, single network.")
    either = {"digits": [4, 9], "name": "a 4 or a 9"}
    assert said([9, 9], 3, either).endswith(
        "It may be a 4 or a 9. Fooled: single network. Sure without reason: BatchEnsemble."
    )
    assert "the BatchEnsemble" not in said([3, 3], 3, None)


def test_who_doubts_an_ambiguous_drawing_is_not_blamed(functions):
    half = (0.5 * (np.eye(10)[4] + np.eye(10)[9])).tolist()
    said = functions.evaluate(
        "([p, example]) => ensedu.digitWords('it', 'member', [p, p], [p], example)",
        [half, {"digits": [4, 9], "name": "a 4 or a 9"}],
    )
    assert said.endswith("It may be a 4 or a 9, and neither is sure.")
    assert "1.00 bits of doubt, 0.00 of them" in said


def test_no_doubt_is_written_one_way(functions):
    sure = np.eye(10)[3].tolist()
    said = functions.evaluate("(p) => ensedu.digitWords('it', 'member', [p, p], [p], null)", sure)
    assert "3 with 100%. 0.00 bits of doubt. Single network: 3 with 100%, 0.00 bits." in said


@pytest.fixture
def drawer(page, folder):
    visit(page, folder + PAGE)
    root = page.locator(".ensedu-digit")
    root.scroll_into_view_if_needed()
    return root


def story(root):
    return root.locator("[role=status]").text_content()


def paths(root, points):
    """Places of the square in pixels of the page."""
    box = root.locator(".ensedu-square").bounding_box()
    return [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in points]


def draw(root, name):
    """Draw with the mouse, stroke by stroke."""
    mouse = root.page.mouse
    for stroke in DIGITS[name]:
        first, *rest = paths(root, stroke)
        mouse.move(*first)
        mouse.down()
        for point in rest:
            mouse.move(*point)
        mouse.up()


def test_nothing_is_fetched_before_the_first_touch(page, folder):
    asked = []
    page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
    visit(page, folder + PAGE)
    root = page.locator(".ensedu-digit")
    root.scroll_into_view_if_needed()
    assert "Deep ensemble: 3 of 4 members say 9, 1 says 4;" in story(root)
    assert SCRIPT not in asked
    root.get_by_role("button", name="an X", exact=True).click()
    page.wait_for_function("window.ensedu_digits")
    assert asked.count(SCRIPT) == 1
    root.get_by_role("button", name="an E", exact=True).click()
    assert asked.count(SCRIPT) == 1


@pytest.mark.parametrize("home", ["server", "folder"], indirect=True)
def test_drawn_with_a_mouse(page, home):
    visit(page, home + PAGE)
    root = page.locator(".ensedu-digit")
    root.scroll_into_view_if_needed()
    root.get_by_role("button", name="Clear").click()
    for name in ("8", "0") if home.startswith("http") else ("3",):
        root.get_by_role("button", name="Clear").click(force=True)
        draw(root, name)
        page.wait_for_function(
            "(digit) => document.querySelector('.ensedu-digit [role=status]')"
            ".textContent.startsWith(`Deep ensemble: all 4 members say ${digit};`)",
            arg=name,
        )
        question = f"Did you draw something other than {'an' if name == '8' else 'a'} {name}?"
        assert story(root).endswith(f"{question} Then both are fooled.")


def test_drawn_with_a_finger(open_page, folder):
    page = open_page(viewport=PHONE, has_touch=True)
    visit(page, folder + PAGE)
    root = page.locator(".ensedu-digit")
    root.scroll_into_view_if_needed()
    root.get_by_role("button", name="Clear").tap()
    before = page.evaluate("scrollY")
    send = page.context.new_cdp_session(page).send
    for stroke in DIGITS["3"]:
        points = paths(root, stroke)
        for kind, (x, y) in zip(
            ["touchStart", *["touchMove"] * (len(points) - 1)], points, strict=True
        ):
            send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})
        send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.wait_for_function(
        "document.querySelector('.ensedu-digit [role=status]').textContent.includes('say 3;')"
    )
    assert page.evaluate("scrollY") == before, "the page moved under the pen"
    for button in root.locator("button:visible, select").all():
        assert button.bounding_box()["height"] >= 44


def test_with_the_keyboard_alone(drawer):
    page = drawer.page
    for name in (*EXAMPLES, "Undo", "Clear"):
        button = drawer.get_by_role("button", name=name, exact=True)
        button.focus()
        page.keyboard.press("Enter")
        page.wait_for_function("window.ensedu_digits")
        page.wait_for_timeout(50)
        if name in EXAMPLES:
            assert button.get_attribute("aria-pressed") == "true", name
            assert drawer.locator("[aria-pressed=true]").count() == 1
    assert "No digit was drawn, and neither is sure." in story(drawer)
    drawer.locator("select").focus()
    page.keyboard.press("ArrowDown")
    assert story(drawer).startswith("BatchEnsemble: ")


def test_undo_goes_back_stroke_by_stroke(drawer):
    undo, clear = (drawer.get_by_role("button", name=name) for name in ("Undo", "Clear"))
    assert undo.is_disabled()
    first = story(drawer)
    clear.click()
    drawer.page.wait_for_function("window.ensedu_digits")
    ink = drawer.locator(".ensedu-ink")
    assert ink.get_attribute("d") == ""
    assert clear.is_disabled()
    draw(drawer, "7")
    draw(drawer, "4")
    assert ink.get_attribute("d").count("M") == 3
    undo.click()
    assert ink.get_attribute("d").count("M") == 2
    for _ in range(3):
        undo.click()
    assert undo.is_disabled()
    assert story(drawer) == first  # what the page knew without the networks


def test_what_is_shown_is_what_the_network_says(drawer):
    drawer.get_by_role("button", name="an X", exact=True).click()
    methods = [method for method in TRIES if method != "single"]
    assert methods
    for method in methods:
        check_shown(drawer, method)


def check_shown(drawer, method):
    """The table shows what a network says of an X, and a button draws again where that matters."""
    drawer.locator("select").select_option(method)
    drawer.page.wait_for_function(
        "(label) => document.querySelector('.ensedu-digit [role=status]')"
        ".textContent.toLowerCase().startsWith(label)",
        arg=METHODS[method].label.lower(),
    )
    rows = drawer.locator("tbody tr")
    assert rows.count() == 1 + MEMBERS + 1
    x = seen(EXAMPLES["an X"][1])[None]
    draws = METHODS[method].stochastic
    assert drawer.get_by_role("button", name="New draws").is_visible() == (
        draws and not METHODS[method].members
    )
    if draws:
        return
    found, _ = expected(method, x, np.random.default_rng(0))
    shown = np.concatenate([found[:, 0], found[:, 0].mean(axis=0)[None]])
    for p, row in zip(shown, rows.all()[1:], strict=True):
        cells = [cell.text_content() for cell in row.locator("td").all()]
        assert cells == [f"{100 * one:.0f}" if 100 * one >= 4.5 else "" for one in p]


def test_new_draws_are_others(drawer):
    drawer.get_by_role("button", name="a house").click()
    drawer.locator("select").select_option("mean_field")
    drawer.page.wait_for_function("window.ensedu_digits")
    drawer.page.wait_for_timeout(100)
    first = story(drawer)
    drawer.get_by_role("button", name="New draws").click()
    assert story(drawer).startswith("Mean-field BNN: ")
    assert story(drawer) != first


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_nothing_moves_and_nothing_spills(open_page, folder, viewport):
    page = open_page(viewport=viewport)
    visit(page, folder + PAGE)
    root = page.locator(".ensedu-digit")
    heights = set()
    for method in ("deep_ensemble", "mean_field"):
        for name in (*EXAMPLES, "Clear"):
            root.get_by_role("button", name=name, exact=True).click()
            page.wait_for_function("window.ensedu_digits")
            root.locator("select").select_option(method)
            heights.add(root.bounding_box()["height"])
            spills = "(all) => all.filter((one) => one.scrollWidth > one.clientWidth).length"
            assert root.locator("td").evaluate_all(spills) == 0, name
    assert len(heights) == 1
    select, again, square, bar, table = (
        root.locator(which).bounding_box()
        for which in (
            "select",
            ".ensedu-choice button",
            ".ensedu-square",
            ".ensedu-bar >> nth=0",
            "table",
        )
    )
    assert select["y"] == again["y"]
    assert again["x"] > select["x"]
    assert square["y"] + square["height"] < bar["y"] < square["y"] + square["height"] + 60
    if viewport == PHONE:
        assert bar["y"] < root.locator("[role=status]").bounding_box()["y"] < table["y"]


def test_it_says_so_when_the_networks_cannot_be_fetched(browser, folder):
    context = open_context(browser)  # unwatched: what cannot be fetched is an error
    page = context.new_page()
    page.route(f"**/{SCRIPT}", lambda route: route.abort())
    visit(page, folder + PAGE)
    root = page.locator(".ensedu-digit")
    root.get_by_role("button", name="an E", exact=True).click()
    page.wait_for_function(
        "document.querySelector('.ensedu-digit [role=status]').textContent.includes('could not')"
    )
    page.unroute(f"**/{SCRIPT}")
    root.get_by_role("button", name="an X", exact=True).click()
    page.wait_for_function("window.ensedu_digits")
    assert "2 of 4 members say 2" in story(root)
    context.close()


def test_without_scripts_a_figure_stands(open_page, server):
    page = open_page(java_script_enabled=False)
    page.goto(server + PAGE)
    assert page.locator(".ensedu-digit .ensedu-still").is_visible()
    assert START in page.locator(".ensedu-digit img").first.get_attribute("alt")


@pytest.mark.parametrize(
    ("mode", "viewport", "name", "method"),
    [("light", PHONE, "a house", "deep_ensemble"), ("dark", DESK, "an E", "mc_dropout")],
    ids=["phone", "dark"],
)
def test_axe_finds_nothing(open_page, server, mode, viewport, name, method):
    from axe_playwright_python.sync_playwright import Axe

    page = open_page(mode, viewport=viewport)
    visit(page, server + PAGE)
    root = page.locator(".ensedu-digit")
    root.get_by_role("button", name=name, exact=True).click()
    page.wait_for_function("window.ensedu_digits")
    root.locator("select").select_option(method)
    page.evaluate(Axe().axe_script)
    found = page.evaluate("() => axe.run('.ensedu-digit', { preload: { assets: ['media'] } })")
    assert json.loads(json.dumps(found["violations"])) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
