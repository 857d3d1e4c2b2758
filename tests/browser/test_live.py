"""What a reader does with the trainer: by mouse, finger and keys, on a desk, a phone, in a cell."""

import re

import numpy as np
import pytest

from scripts.browsing import DESK, PHONE, serve
from scripts.check_site import accessible
from tests.browser import small
from tests.browser.small import OTHER, USUAL, swipe
from workshop.page.live import live as in_jupyter
from workshop.page.live import toys, trainer_scripts, trainer_state

TOUCH = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """The address of the folder with small pages."""
    folder = tmp_path_factory.mktemp("live")
    small.write_trainers(folder)
    with serve(folder) as address:
        yield address


@pytest.fixture
def open_live(browser, home):
    """Open the empty page with options of your own; at the end, nothing may have gone wrong."""
    with small.opening(browser, home) as open_one:
        yield open_one


@pytest.fixture
def live(open_live):
    """Open a page with a trainer, paused; what is given is other than usual."""

    def live(state=None, mode="light", mount=None, **options):
        page = open_live(mode=mode, **options)
        page.evaluate("([part, rest]) => { begin(part, rest) }", [state or {}, mount or {}])
        page.evaluate("until(() => meter(), 'the first picture')")
        return page

    return live


def story(page):
    return page.evaluate("story()")


def state(page):
    return page.evaluate("t.state")


def put(page, **part):
    page.evaluate("part => t.set(part)", part)


def train(page, steps):
    page.evaluate("steps => train(steps)", steps)


def press(page, name):
    page.get_by_role("button", name=name, exact=True).click()


def at(page, x, y):
    return page.evaluate("([x, y]) => place(x, y)", [x, y])


def stays(page, script, wanted=0):
    """What it says is the same in each frame of half a second."""
    page.evaluate(
        f"""async (wanted) => {{
          for (let k = 0; k < 30; k += 1) {{
            const found = await {script};
            if (found !== wanted) throw new Error(`${{found}}`);
            await new Promise(requestAnimationFrame);
          }}
        }}""",
        wanted,
    )


# Training.


def test_a_reader_steps_plays_pauses_resets_and_takes_another_seed(live):
    page = live({"width": 50, "hidden_layers": 3, "ensemble_size": 8})  # has not ended at Pause
    stays(page, "t.steps")  # a reader who asks for less motion begins it
    press(page, "Step")
    page.evaluate("until(() => t.steps === 1)")
    for _ in range(5):  # faster than pictures come
        page.evaluate("t.step()")
    page.evaluate("until(() => t.steps === 6)")
    press(page, "▶ Play")
    page.evaluate("until(() => t.steps > 20)")
    press(page, "❚❚ Pause")
    page.evaluate("until(() => meter().startsWith(`step ${t.steps.toLocaleString('en')} `))")
    assert page.get_by_role("button", name="▶ Play").is_visible()
    press(page, "Reset")
    assert story(page) == "Reset: the same start once more."
    page.evaluate("until(() => meter().startsWith('step 0 '))")
    before = page.evaluate("arrays()")
    press(page, "New seed")
    assert state(page)["seed"] == 4 and page.evaluate("arrays()") != before
    press(page, "Undo")
    assert state(page)["seed"] == 3 and page.evaluate("arrays()") == before


def test_a_run_begins_on_the_screen_and_rests_off_it_and_a_pause_lasts(open_live):
    page = open_live(motion="no-preference")
    page.add_style_tag(content=".space { height: 3000px }")
    page.evaluate("() => { begin({ width: 100, hidden_layers: 3, ensemble_size: 16 }) }")
    steps = "t.weights().then(({ steps }) => steps)"
    stays(page, steps)
    page.evaluate("root().scrollIntoView()")
    page.evaluate("until(() => t.steps > 3)")
    page.evaluate("scrollTo(0, 0)")
    page.evaluate(small.AT_REST)
    stood = page.evaluate(steps)
    put(page, lr=0.001)  # as Python, or an address, sets it meanwhile
    stays(page, steps, stood)
    page.evaluate("root().scrollIntoView()")
    page.evaluate("(stood) => until(() => t.steps > stood)", stood)
    press(page, "❚❚ Pause")
    for where in ("scrollTo(0, 0)", "root().scrollIntoView()"):
        page.evaluate(where)
        stays(page, "root().dataset.playing", "false")


GOES_ON = {
    "lr": 0.03, "loss": "mixture", "weight_decay": 0.1, "noise": 0.3, "points": [[0, 0], [1, 1]],
    "kl_weight": 3,
}  # fmt: skip
STARTS_ANEW = {
    "method": "mc_dropout", "ensemble_size": 3, "width": 8, "hidden_layers": 2, "start": "same",
    "head": "variance", "seed": 5, "activation": "tanh", "other": OTHER, "parametrization": "ntk",
    "prior_scale": 0.3, "initial_std": 0.1, "p": 0.2,
}  # fmt: skip


def test_a_change_reaches_the_next_step_or_begins_anew_and_says_so(live):
    page = live()
    script = """async (part) => {
      t.reset();
      t.set(stateOf({}));
      await train(3);
      root().querySelector(".ensedu-t-aloud").textContent = "";
      t.set(part);
      const said = [aloud(), story()];
      await train(2);
      return [t.steps, ...said, flat((await t.weights()).sides)];
    }"""
    arrays = {"nothing": page.evaluate(script, {})[-1]}
    for key, value in GOES_ON.items():
        steps, heard, _, arrays[key] = page.evaluate(script, {key: value})
        assert (steps, heard) == (5, ""), key
    assert arrays.pop("kl_weight") == arrays["nothing"]  # the KL of an ensemble is none
    assert len({*arrays.values()}) == len(arrays)
    for key, value in STARTS_ANEW.items():
        steps, heard, seen, _ = page.evaluate(script, {key: value})
        assert heard == "Begun anew, because what is trained has changed.", key
        assert steps == 2 and seen.endswith("Nothing is learned yet."), key  # not of others


def test_controls_set_what_they_name_say_what_is_not_as_usual_and_undo_takes_all_back(live):
    page = live({"width": 50, "hidden_layers": 2})
    first, more = state(page), page.locator(".ensedu-t-settings summary")
    assert more.inner_text() == "More"
    more.click()
    method = page.get_by_label("method").first
    method.select_option("rank1")
    assert state(page)["start"] == trainer_state.STARTS["rank1"][0]
    page.get_by_label("start").first.select_option("signs")
    for name, key in {
        "members": "End", "KL weight": "ArrowRight", "hidden layers": "ArrowRight",
        "width": "ArrowRight", "learning rate": "ArrowRight", "weight decay": "ArrowRight",
        "prior σ": "Home", "initial σ": "End",
    }.items():  # fmt: skip
        page.get_by_role("slider", name=name).first.press(key)
    for name in ("NTK", "+ variance", "tanh", "mixture"):
        page.get_by_role("radio", name=name).first.check()
    assert state(page) == first | {
        "method": "rank1", "start": "signs", "hidden_layers": 3, "width": 70, "ensemble_size": 16,
        "kl_weight": 3, "prior_scale": 0.03, "lr": 0.03, "weight_decay": 0.0001,
        "head": "variance", "activation": "tanh", "loss": "mixture", "initial_std": 1,
        "parametrization": "ntk",
    }  # fmt: skip
    assert more.inner_text().startswith("More: width 70, hidden layers 3, activation tanh, ")
    method.select_option("single")
    assert state(page)["ensemble_size"] == 1
    assert page.get_by_role("slider", name="members").first.is_disabled()
    assert not page.locator("input:visible").and_(page.get_by_label("prior σ")).count()
    method.select_option("mc_dropout")
    page.get_by_role("slider", name="dropout").press("Home")
    page.get_by_label("data").select_option("blobs")
    page.get_by_label("noise σ").press("ArrowRight")
    press(page, "New points")
    found = state(page)
    assert (found["p"], found["task"], found["noise"]) == (0.02, "classification", 1)
    assert found["points"] == toys.points("blobs", 1, 4).tolist()
    press(page, "Clear")
    assert (state(page)["points"], state(page)["data"]) == ([], "own")
    undo = page.get_by_role("button", name="Undo")
    while undo.is_enabled():
        undo.click()
    assert state(page) == first


# Points.


def test_points_by_mouse(live):
    page = live({"points": [[-2, 1], [2, -1]]})
    train(page, 3)
    page.mouse.click(*at(page, 0, 2))
    assert state(page)["points"][2] == pytest.approx([0, 2], abs=0.03)
    x, y = at(page, -2, 1)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 5, y)  # further than a hand shakes
    assert state(page)["points"][0][0] > -2
    page.mouse.move(*at(page, 0, 0), steps=4)
    page.mouse.move(2000, 0, steps=4)
    page.mouse.up()
    assert state(page)["points"][0] == [5, 3]  # it stays where it is seen
    page.mouse.dblclick(*at(page, 2, -1))
    assert [round(point[0]) for point in state(page)["points"]] == [5, 0]
    page.mouse.dblclick(*at(page, 4, 2))  # the first click adds, the second is on what it added
    assert len(state(page)["points"]) == 3
    assert page.evaluate("t.steps") == 3 and state(page)["data"] == "gap"
    for number in (2, 3, 3, 2):  # each change, and the drag, has its way back
        press(page, "Undo")
        assert len(state(page)["points"]) == number
    assert state(page)["points"] == [[-2, 1], [2, -1]]
    assert page.get_by_role("button", name="Undo").is_disabled()


def test_points_by_touch(live):
    page = live({"points": [[-2, 0]]}, viewport=PHONE, has_touch=True)
    page.add_style_tag(content=".space { height: 1000px }")

    def back():
        page.evaluate("root().scrollIntoView()")
        page.evaluate(small.AT_REST)
        return page.evaluate("scrollY")

    back()
    page.touchscreen.tap(*at(page, 2, 1))
    page.evaluate("until(() => t.state.points.length === 2)")
    assert state(page)["points"][1] == pytest.approx([2, 1], abs=0.06)
    for place in ((0, 0), (-2, 0)):  # a swipe scrolls, on a point, too
        before = back()
        x, y = at(page, *place)
        swipe(page, (x, y), (x, y - 150))
        page.evaluate("before => until(() => scrollY > before + 50)", before)
        page.evaluate(small.AT_REST)  # a swipe goes on for a while
        assert len(state(page)["points"]) == 2 and state(page)["points"][0] == [-2, 0]
    back()
    page.touchscreen.tap(*at(page, -2, 0))  # one that was pressed first can be dragged
    assert story(page) == "Point 1 of 2: drag it, or tap it twice to remove it."
    before = page.evaluate("scrollY")
    swipe(page, at(page, -2, 0), at(page, -3, -2))
    page.evaluate("until(() => t.state.points[0][1] < -1.9)")
    assert page.evaluate("scrollY") == pytest.approx(before, abs=2)
    place = at(page, 2, 1)
    for _ in range(2):  # in quick succession
        page.touchscreen.tap(*place)
    page.evaluate("until(() => t.state.points.length === 1)")


def test_keys_do_what_the_mouse_does_and_it_is_announced(live):
    page = live({"points": [[-2, 1], [2, -1]]})
    page.locator("canvas").first.focus()

    def keys(*names):
        for name in names:
            page.keyboard.press(name)
        return story(page)

    assert keys("Shift+ArrowUp", "ArrowRight", "ArrowDown") == "Cross at 0.1, 0.9."
    assert keys("Enter") == "3 points; the last at 0.1, 0.9."
    # The next pictures, and the address, do not talk over it.
    stays(page, "story()", "3 points; the last at 0.1, 0.9.")
    assert keys("n") == "Point 1 of 3, at -2, 1."
    assert keys("N", "p", "P") == "Point 3 of 3, at 0.1, 0.9."
    assert keys("Shift+ArrowLeft") == "Point 3 at -0.9, 0.9."
    assert keys("ArrowUp") == "Point 3 at -0.9, 1."
    assert state(page)["points"][2] == [-0.9, 1]
    assert keys("Control+z").startswith("Undone. ")
    assert state(page)["points"][2] == [-0.9, 0.9]
    assert keys("Escape") == "No point is chosen."
    assert keys("Shift+ArrowRight", "Shift+ArrowRight", "Delete") == "Removed: 2 points are left."
    assert state(page)["points"] == [[-2, 1], [-0.9, 0.9]]  # the nearest went
    assert keys("n", "Backspace", "Delete", "Delete") == "There is no point to remove."
    assert keys("n") == "There is no point to choose."
    for _ in range(6):
        keys("Control+z")
    assert state(page)["points"] == [[-2, 1], [2, -1]]
    assert keys("Control+z") == "There is nothing to undo."
    assert page.evaluate("document.activeElement.tagName") == "CANVAS"
    keys("Tab")
    assert page.evaluate("document.activeElement.tagName") != "CANVAS"


def test_own_data_are_pasted_or_opened_and_keep_their_units(live, tmp_path):
    page = live()
    page.get_by_text("Your own data").click()
    box, said = page.get_by_label("Rows of two columns"), page.locator("details [role=status]")
    box.fill("year;price\n2000;1,5\n2010;oops")
    press(page, "Use these rows")
    assert said.inner_text() == "Row 3, column 2: “oops” is no number."
    assert state(page)["data"] == "gap"
    box.fill("year;price\n2000;1,5\n2010;2,5\n2020;9,5")
    press(page, "Use these rows")
    assert said.inner_text().startswith("Read 3 rows. Each column is scaled")
    pasted = state(page)
    assert (pasted["data"], pasted["points"]) == ("own", [[-4, -2], [0, -1.5], [4, 2]])
    page.evaluate("until(() => t.steps > 3)")
    file = tmp_path / "classes.csv"
    file.write_text("\ufeffa,b,kind\n" + "".join(f"{i},{i * i},{'uv'[i % 2]}\n" for i in range(20)))
    page.get_by_label("Open a file").set_input_files(file)
    page.evaluate("until(() => t.state.points.length === 20)")
    assert [axis["name"] for axis in state(page)["axes"]] == ["a", "b"]
    press(page, "Undo")
    assert state(page)["axes"] == pasted["axes"]


def test_divergence_is_told_with_its_network_and_step(live):
    page = live({"lr": 1e9, "hidden_layers": 3, "width": 20, "other": OTHER})
    press(page, "▶ Play")
    page.evaluate("until(() => story().includes('diverged'))")
    assert re.fullmatch(
        r"(A: Deep ensemble of 2|B: Mean-field BNN) diverged at step [1-9][\d,]*: its loss is no "
        r"finite number\. Choose a smaller learning rate, and press Reset\.",
        story(page),
    )
    assert page.get_by_role("button", name="▶ Play").is_visible()
    put(page, lr=0.01)
    assert "diverged" in story(page)
    press(page, "Reset")
    train(page, 10)
    assert page.evaluate("t.steps") == 10 and "diverged" not in story(page)


# Addresses, and taking it along.


def test_the_address_holds_all_and_opens_it_again_and_a_bad_one_is_told(open_live):
    page = open_live(file="begun.html#live:width=1000")
    trainer, told = page.locator("#live"), page.locator("#live .ensedu-t-story")
    meter = trainer.locator(".ensedu-t-meter")
    trainer.scroll_into_view_if_needed()
    meter.filter(has_text="32 parameters").wait_for()
    words = (
        "This link cannot be followed: width cannot be 1000. The trainer starts as it always does."
    )
    assert told.inner_text() == words
    page.evaluate("() => { location.hash = '#live:width=7' }")
    meter.filter(has_text="44 parameters").wait_for()
    page.evaluate("() => { location.hash = '#live:width=x' }")
    told.filter(has_text="cannot be NaN. The trainer stays").wait_for()
    trainer.get_by_role("button", name="Undo").click()
    meter.filter(has_text="32 parameters").wait_for()
    trainer.get_by_label("method").first.select_option("batch_ensemble")
    trainer.get_by_role("button", name="Compare").click()
    trainer.get_by_label("data").select_option("clusters")
    trainer.locator("canvas").first.click(position={"x": 150, "y": 60})
    own = "ensedu.decode(location.hash.slice(6), stateOf({})).state"
    page.wait_for_function(f"{own}?.points.length === 61")
    found = page.evaluate(own)
    assert (found["method"], found["other"]["method"]) == ("batch_ensemble", "deep_ensemble")
    page.goto(page.url.replace("#", "?anew#"))  # a reload would keep the place
    top = "document.getElementById('live').getBoundingClientRect().top"
    page.wait_for_function(f"Math.abs({top}) < 50")
    trainer.get_by_label("learning rate").press("ArrowRight")
    page.wait_for_function(f"{own}?.lr === 0.03")
    assert page.evaluate(own) == found | {"lr": 0.03}


def test_the_small_form_begins_by_itself_and_leaves_the_address_to_the_large_one(open_live):
    page = open_live(file="begun.html")
    big, part = page.locator("#live"), page.locator("#fig-small")
    part.scroll_into_view_if_needed()
    part.get_by_role("button", name="▶ Play").click()
    part.locator(".ensedu-t-meter", has_text=re.compile("^step [1-9]")).wait_for()
    part.get_by_role("radio", name="all the same").check()
    part.locator(".ensedu-t-story", has_text="agree everywhere").wait_for()
    stays(page, "location.hash", "")
    assert big.get_attribute("data-playing") == "false"
    link = part.get_by_role("link", name="Open it with all settings").get_attribute("href")
    assert link.startswith("begun.html#live:task=regression&") and "&start=same&" in link


def test_a_link_and_a_script_are_copied_or_stand_in_a_box(open_live):
    page = open_live(permissions=["clipboard-read", "clipboard-write"])
    page.evaluate("() => { begin() }")
    page.evaluate("until(() => meter())")
    press(page, "Copy link")
    page.evaluate("until(() => story().startsWith('Copied: a link'))")
    link = page.evaluate("navigator.clipboard.readText()")
    assert link == page.evaluate("location.href.split('#')[0] + '#live:' + ensedu.encode(t.state)")
    train(page, 9)
    press(page, "Copy as Python")
    page.evaluate("until(() => story().startsWith('Copied: a script'))")
    wanted = page.evaluate("ensedu.script(t.state, 9)")
    assert page.evaluate("navigator.clipboard.readText()") == wanted
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('no')) }")
    press(page, "Copy link")
    page.evaluate("until(() => document.activeElement.tagName === 'TEXTAREA')")
    assert page.get_by_label("Text to copy").input_value() == link


# Compare.


def test_both_sides_of_a_comparison_learn_at_the_same_pace_each_as_if_alone(live):
    page = live()
    press(page, "Compare")
    assert state(page)["other"]["method"] == "batch_ensemble"
    page.locator(".ensedu-t-settings summary").click()
    second = page.get_by_role("group", name="Second network")
    second.get_by_label("method").select_option("rank1")
    second.get_by_label("KL weight").press("End")
    second.get_by_label("members").press("Home")
    page.get_by_role("radiogroup", name="loss of B").get_by_role("radio", name="mixture").check()
    found = state(page)
    own = {"method": "rank1", "kl_weight": 10, "loss": "mixture", "ensemble_size": 1}
    assert found == page.evaluate("stateOf({})") | {"other": found["other"] | own}
    train(page, 20)
    alone = """(own) => {
      const made = trained({ ...t.state, ...own, other: null }, 20);
      return flat([made.weights(made.sides[0])]);
    }"""
    assert page.evaluate("arrays()") == [page.evaluate(alone, one) for one in ({}, found["other"])]
    page.locator("canvas").nth(1).click(position={"x": 150, "y": 30})  # which takes points, too
    assert len(state(page)["points"]) == 61
    press(page, "Compare")
    assert state(page)["other"] is None and page.locator("section").count() == 1
    assert not second.is_visible() and page.workers
    page.evaluate("() => { t.play(); t.destroy() }")
    for _ in range(100):  # a Worker takes a moment to end
        page.wait_for_timeout(50 * bool(page.workers))
    assert not page.workers and page.locator(".ensedu-t").count() == 0


# Experiments.


@pytest.fixture
def experiment(live):
    """Open a page where the second experiment is soon done; return both."""
    page = live()
    page.evaluate(
        "() => { Object.assign(ensedu.GUIDES[1].state, { width: 2 }); ensedu.GUIDES[1].steps = 50 }"
    )
    return page, page.evaluate("ensedu.GUIDES[1]")


def test_an_experiment_is_set_at_rest_asks_for_a_guess_runs_and_tells(experiment):
    page, guide = experiment
    press(page, guide["title"])
    box = page.locator(f"[data-guide={guide['key']}]")
    run, answer = box.locator(".ensedu-t-run"), box.locator(".ensedu-t-answer")
    assert state(page) == state(page) | guide["state"] and page.evaluate("t.steps") == 0
    assert not page.locator(".ensedu-t-settings").is_visible()
    assert page.get_by_role("button", name="Compare").is_disabled() and run.is_disabled()
    wrong = next(guess for guess in guide["guesses"] if guess != guide["right"])
    box.get_by_role("radio", name=wrong, exact=True).check()
    run.evaluate("(run) => { run.click(); run.click() }")
    assert run.inner_text() == "▶ Go on" and answer.inner_text() == ""  # a pause
    run.click()
    answer.filter(has_text="Not so. " + guide["answer"]).wait_for()
    page.evaluate("until(() => t.steps === 50, 'the last picture')")
    box.get_by_role("radio", name=guide["right"], exact=True).check()
    assert answer.inner_text() == "✓ Right. " + guide["answer"]
    box.get_by_text("Why?").click()
    assert box.get_by_text(guide["why"]).is_visible() and run.inner_text() == "Run again"
    for _ in range(2):  # closed, and begun anew
        press(page, guide["title"])
    assert run.is_disabled() and box.get_by_role("radio", checked=True).count() == 0


@pytest.mark.parametrize("way", ["Back to yours", "Who sees the gap?", "Change it"])
def test_an_experiment_gives_the_readers_own_settings_back(experiment, way):
    page, guide = experiment
    press(page, "New seed")  # a way back of the reader's own
    mine, undo = state(page), page.get_by_role("button", name="Undo")
    press(page, "Do starts matter?")
    press(page, guide["title"])  # from one to the next
    assert undo.is_disabled()
    press(page, "Skip the guess")
    page.get_by_role("button", name="Back to yours").wait_for()
    tried = state(page)
    press(page, way)
    assert page.locator("[data-guide]:visible").count() == 0
    assert page.evaluate("document.activeElement.textContent") == guide["title"]
    if way == "Change it":
        assert state(page) == tried
        undo.click()
    assert state(page) == mine
    undo.click()
    assert state(page)["seed"] == mine["seed"] - 1


# Compared with a band, and other small forms.

X = np.linspace(-4.6, 4.6, 93)
STD = 0.1 + 0.9 * np.exp(-(X**2))
COMPARED = {
    **USUAL, "method": "mean_field", "activation": "tanh", "parametrization": "ntk",
    "prior_scale": 2, "initial_std": 0.1, "task": "regression", "noise": 0.1,
    "points": toys.points("gap", 0.1, 3).tolist(),
}  # fmt: skip
BEHIND = trainer_state.checked_band(
    {"x": X, "mean": np.sin(1.5 * X), "std": STD, "label": "NUTS"}, COMPARED
)
# What it does not belong to, and what is then said.
ELSEWHERE = {
    "points": ([[0, 1], *COMPARED["points"][1:]], "other points"), "noise": (0.2, "noise σ 0.1"),
    "width": (6, "width 5"), "method": ("deep_ensemble", "the mean-field BNN"),
}  # fmt: skip


def test_a_band_stands_behind_its_own_model_and_points_alone(live):
    page = live(COMPARED, mount={"behind": BEHIND, "small": True})
    near = STD[np.abs(X - np.array(COMPARED["points"])[:, :1]).argmin(axis=1)].mean()

    def changed(**part):
        """Whether the picture has the band, and what is said, after a change and two steps."""
        put(page, **part)
        train(page, 2)
        page.evaluate("until(() => story().includes('band is'), 'the story')")
        label = page.locator("canvas").first.get_attribute("aria-label")
        return "before the band of NUTS" in label, story(page)

    for part in ({}, {"kl_weight": 10}, {"initial_std": 1}, {"lr": 0.03}, {"seed": 4}):
        shown, words = changed(**part)
        found = re.search(r" NUTS: ±\s([\d.]+) and ±\s([\d.]+)\.$", words)
        assert shown and [*map(float, found.groups())] == pytest.approx([2 * near, 2], abs=0.0051)
    for key, (value, owner) in ELSEWHERE.items():
        shown, words = changed(**{key: value})
        assert not shown and words.endswith(f" NUTS is hidden: it had {owner}."), key
        shown, words = changed(**{key: COMPARED[key]})
        assert shown and "hidden" not in words, key


# The page of the book, on a desk and on a phone.

PAGE = "book/live.html"
SHIFTS = """
  window.shifts = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) shifts.push(entry.value);
  }).observe({ type: "layout-shift", buffered: true });
"""


@pytest.mark.parametrize(
    ("options", "mode"), [({}, "dark"), (TOUCH, "light")], ids=["desk", "phone"]
)
def test_the_page_stands_still_and_shows_an_experiment_in_its_first_view(
    open_page, server, options, mode
):
    page = open_page(mode, **options)
    page.add_init_script(SHIFTS)
    page.goto(server + PAGE)
    press(page, "▶ Play")
    page.locator(".ensedu-t-meter", has_text=re.compile("step [1-9]")).wait_for()
    assert not page.locator(".ensedu-trainer .ensedu-still").first.is_visible()
    press(page, "❚❚ Pause")
    assert page.evaluate("shifts.reduce((a, b) => a + b, 0)") < 0.05

    def boxes(*parts):
        found = [part.bounding_box() for part in parts]
        for box in found:
            assert 0 <= box["y"] and box["y"] + box["height"] <= page.viewport_size["height"]
            assert box["x"] + box["width"] <= page.viewport_size["width"]
        return found

    tabs = page.get_by_role("group", name="Experiments").get_by_role("button")
    plots, beside = (
        page.locator("canvas[role=application]"),
        (".ensedu-t-settings", ".ensedu-t-story"),
    )
    chips = boxes(*tabs.all())
    boxes(plots, *([] if options else map(page.locator, beside)))
    hint = page.locator("#live-hint").inner_text().lower()  # for the hand that the reader has
    assert ("click" in hint, "tap " in hint) == (not options, bool(options))
    page.evaluate("() => { ensedu.GUIDES[1].steps = 50 }")
    tabs.nth(1).click()
    page.wait_for_function("document.querySelectorAll('canvas[role=application]').length === 2")
    page.evaluate(small.AT_REST)
    parts = [page.locator("[data-open] > .ensedu-t-ask"), *plots.all()]
    before = boxes(*parts)
    page.get_by_role("radio", name="both", exact=True).check(force=True)
    press(page, "▶ Run")
    answered = "document.querySelector('[data-open] .ensedu-t-answer').textContent"
    page.wait_for_function(answered, timeout=60_000)
    assert boxes(*parts) == before and boxes(*tabs.all()) == chips


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_a_link_in_the_text_sets_the_trainer_and_a_small_copy_of_it_learns(
    open_page, server, viewport
):
    page = open_page(viewport=viewport)
    page.emulate_media(reduced_motion="no-preference")
    page.goto(server + PAGE)
    page.locator(".ensedu-t-meter", has_text="step").wait_for()
    link, dock = page.get_by_role("link", name="Two moons"), page.locator(".ensedu-dock")
    link.evaluate("(link) => link.scrollIntoView({ block: 'center' })")
    page.evaluate(small.AT_REST)
    top = "(link) => link.getBoundingClientRect().top"
    before = link.evaluate(top)  # maps are higher than curves, above what is read
    link.click()
    dock.locator("summary", has_text="The members' doubt").wait_for()
    assert abs(link.evaluate(top) - before) < 2 and page.url.endswith("#live:data=moons")
    seen = """(copy) => copy.getContext("2d").getImageData(0, 0, copy.width, copy.height).data
      .some(Boolean)"""
    page.wait_for_function(seen, arg=dock.locator("canvas").element_handle())
    box = dock.locator("canvas").bounding_box()
    assert 0 <= box["x"] and box["x"] + box["width"] <= viewport["width"]
    dock.get_by_role("link").click()
    page.wait_for_function("document.querySelector('.ensedu-dock').hidden")
    assert page.locator("canvas[aria-label*='100 points']").first.is_visible()


@pytest.mark.parametrize(("data", "mode"), [("gap", "dark"), ("blobs", "light")])
def test_axe_finds_nothing_in_a_comparison(live, data, mode):
    page = live({"data": data, "other": {**OTHER, "method": "rank1", "start": "signs"}}, mode)
    train(page, 3)
    assert list(accessible(page)) == []


def test_on_a_phone_the_plot_stays_while_all_controls_pass_below(open_page, server):
    page = open_page(**TOUCH)
    page.goto(f"{server}{PAGE}#live:data=moons")
    plot, sheet = page.locator("canvas[role=application]").first, page.locator(".ensedu-t-settings")
    plot.wait_for()
    controls = sheet.locator(".ensedu-t-control:visible")
    bar = page.locator(".bd-header-article").bounding_box()
    for name, least in (("Network", 3), ("Data", 2), ("Training", 1), ("More", 6)):
        assert controls.count() == 0
        tab = page.get_by_role("button", name=name, exact=True)
        tab.tap()
        assert controls.count() >= least and tab.get_attribute("aria-expanded") == "true"
        for control in (controls.first, controls.last):
            control.scroll_into_view_if_needed()
            page.evaluate(small.AT_REST)
            own, above, box = (one.bounding_box() for one in (control, plot, sheet))
            assert bar["y"] + bar["height"] <= above["y"]
            assert above["y"] + above["height"] <= box["y"] + 1
            assert (
                box["y"] < own["y"] and own["y"] + own["height"] <= page.viewport_size["height"] + 1
            )
        tab.tap()
    page.get_by_role("button", name="Compare").tap()
    tabs = page.get_by_role("group", name="Settings").get_by_role("button")
    assert tabs.all_inner_texts() == ["A", "B", "Data", "Training", "More"]
    page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")


#: What anywidget gives to a view.
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
    widget = in_jupyter(
        points=[[-2, 1], [2, -1]], method="batch_ensemble", ensemble_size=3, width=5
    )
    with small.opening(browser, tmp_path.as_uri() + "/") as open_one:
        page = open_one(viewport=DESK)
        page.evaluate(VIEW, [trainer_scripts.BUNDLE.module(), widget._options])
        page.locator("canvas[aria-label*='BatchEnsemble of 3, 2 points']").focus()
        for key in ("b", "ArrowUp", "Enter"):
            page.keyboard.press(key)
        page.locator("canvas[aria-label*='3 points']").wait_for()
        page.get_by_role("button", name="Step").click()
        page.locator(".ensedu-t-meter", has_text="step 1 ").wait_for()
        assert page.evaluate("keys") == [] and "#" not in page.url
        page.evaluate("end()")
        assert page.locator("canvas").count() == 0
