"""What a reader does with the live trainer, on a page of its own, in a browser."""

import itertools
import json
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ensedu import counting
from ensedu.book.page.live import reference_band, toys, trainer_scripts, trainer_state
from ensedu.book.page.scripts import HERE
from ensedu.methods import size_option
from scripts.browsing import DESK, PHONE, serve
from scripts.check_site import accessible
from tests.browser import small
from tests.browser.small import swipe

METHODS = tuple(trainer_state.STARTS)
CURVES = [name for name, toy in toys.TOYS.items() if toy.task == "regression"]
MAPS = [name for name in toys.TOYS if name not in CURVES]
# A trainer that learns fast: what is not said otherwise.
USUAL = {
    "data": "gap", "seed": 3, "method": "deep_ensemble", "ensemble_size": 2, "start": "different",
    "width": 5, "hidden_layers": 1, "activation": "relu", "parametrization": "standard",
    "head": "mean", "loss": "mean", "lr": 0.01, "weight_decay": 0, "kl_weight": 1, "prior_scale": 1,
    "initial_std": 0.01, "p": 0.05, "other": None, "axes": None,
}  # fmt: skip
OTHER = {
    "method": "mean_field", "ensemble_size": 3, "start": "different", "loss": "mixture",
    "kl_weight": 10,
}  # fmt: skip

# What the tests ask of a page: `t` is its trainer.
HELP = """
  const usual = USUAL;
  const stateOf = (part) => {
    const state = { ...usual, ...part };
    if (state.data !== "own") {
      const { task, noise } = ensedu.TOYS[state.data];
      state.task ??= task;
      state.noise ??= noise;
      state.points ??= ensedu.points(state.data, state.noise, state.seed);
    }
    return { task: "regression", noise: 0.1, points: [], ...state };
  };
  const root = () => document.getElementById("root");
  const begin = (part = {}, rest = {}) => (window.t = ensedu.mount(root(), { state: stateOf(part), ...rest }));
  const until = (ready, of) => new Promise((resolve, reject) => {
    const end = performance.now() + 20000;
    const look = () => {
      const found = ready();
      if (found) resolve(found);
      else if (performance.now() > end) reject(new Error(`waited for ${of ?? ready}`));
      else setTimeout(look, 5);
    };
    look();
  });
  const rests = () => until(() => root().dataset.playing === "false", "rest");
  // Until the trainer has so many steps more, and shows it; a spy has heard of it, too.
  const train = async (steps) => {
    const end = t.steps + steps;
    t.play(steps);
    await until(() => root().dataset.playing === "false" && t.steps >= end, `step ${end}`);
    await window.heardAll?.();
  };
  const meter = () => root().querySelector(".ensedu-t-meter").textContent.replace(/\\s+/g, " ").trim();
  const losses = () => {
    root().querySelector("details:has(.ensedu-t-losses)").open = true;
    t.pause();
    return until(() => root().querySelector(".ensedu-t-losses").textContent, "the losses");
  };
  const story = () => root().querySelector(".ensedu-t-story").textContent;
  // Where a value is on the screen.
  const place = (x, y) => {
    const box = root().querySelector("canvas").getBoundingClientRect();
    const view = ensedu.frameOf(t.state.task, box.width, box.height);
    return [box.left + view.x(x), box.top + view.y(y)];
  };
  // A pen on a copy of what a Worker has drawn.
  const copyOf = (canvas) => {
    const pen = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d");
    pen.drawImage(canvas, 0, 0);
    return pen;
  };
  const flat = (sides) => JSON.stringify(sides.map((side) => Object.entries(side).map(([name, array]) => [name, [...array]])));
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """The address of a folder with an empty page, and with one that begins by itself."""
    folder = tmp_path_factory.mktemp("live")
    css = (HERE / "live/live.css").read_text(encoding="utf-8")
    both = trainer_scripts.BUNDLE.classic(), HELP.replace("USUAL", json.dumps(USUAL))

    def write(file, body):
        small.write(folder / file, "A trainer", body, css, *both)

    write("empty.html", small.EMPTY)
    state = {**USUAL, "task": "regression", "noise": 0.1, "points": [[-1, 1], [1, -1], [2, 0.5]]}

    def block(name, more=""):
        return (
            f'<div class="ensedu-trainer" id="{name}" data-name="{name}"{more}>'
            f'<script type="application/json">{json.dumps(state)}</script></div>'
        )

    part = block("fig-small", ' data-small data-full="begun.html"')
    write("begun.html", small.TALL + block("live") + small.TALL + part + small.TALL)
    with serve(folder) as address:
        yield address


@pytest.fixture
def open_live(browser, home):
    """Open the empty page with options of your own; at the end, nothing may have gone wrong."""
    with small.opening(browser, home) as open_one:
        yield open_one


# What is written on canvases: in `written` where each text stood last, (x, y, its width), and in
# `writing` all of it, [number of the canvas, text]. Workers, which draw most, report theirs; a
# report may come after the message that followed it, so `heardAll` asks for an echo behind it.
SPY = """
  window.written = new Map();
  window.writing = [];
  const heard = ([canvas, words, ...place]) => {
    written.set(words, place);
    writing.push([canvas, words]);
  };
  const listen = (Pen, tell) => {
    const { fillText } = Pen.prototype;
    const canvases = new Map();
    Pen.prototype.fillText = function (words, x, y) {
      if (!canvases.has(this.canvas)) canvases.set(this.canvas, canvases.size);
      tell([canvases.get(this.canvas), words, x, y, this.measureText(words).width]);
      return fillText.call(this, words, x, y);
    };
  };
  listen(CanvasRenderingContext2D, heard);
  const channel = `written ${Math.random()}`; // of this page alone
  const reports = new BroadcastChannel(channel);
  let echo = null;
  window.heardAll = () => new Promise((resolve) => {
    echo = resolve;
    reports.postMessage("ask");
  });
  reports.onmessage = ({ data }) => (data === "echo" ? echo() : heard(data));
  const inWorker = `{ const reports = new BroadcastChannel("${channel}");
    reports.onmessage = ({ data }) => data === "ask" && reports.postMessage("echo");
    (${listen})(OffscreenCanvasRenderingContext2D, (found) => reports.postMessage(found)); }`;
  window.Blob = class extends Blob {
    constructor(parts, options) { super([inWorker, ...parts], options); }
  };
  null;
"""


@pytest.fixture
def live(open_live):
    """Open a page with a trainer, paused; what is given is other than usual."""

    def live(state=None, mode="light", mount=None, spied=False, **options):
        page = open_live(mode=mode, **options)
        if spied:
            page.evaluate(SPY)
        page.evaluate("([part, rest]) => { begin(part, rest) }", [state or {}, mount or {}])
        page.evaluate("until(() => meter(), 'the first picture')")
        return page

    return live


def story(page):
    return page.evaluate("story()")


def aloud(page):
    """What is only read aloud."""
    return page.locator(".ensedu-t-aloud").inner_text()


def state(page):
    return page.evaluate("t.state")


def train(page, steps):
    page.evaluate("steps => train(steps)", steps)


def soon(page, true):
    """Wait until what Python asks, and no script can, is true."""
    for _ in range(100):
        if true():
            return
        page.wait_for_timeout(50)
    assert true()


def press(page, name):
    page.get_by_role("button", name=name, exact=True).click()


def at(page, x, y):
    page.locator("canvas[role=application]").first.scroll_into_view_if_needed()
    return page.evaluate("([x, y]) => place(x, y)", [x, y])


# Training.


def test_play_pause_step_reset_and_new_start(live):
    page = live({"width": 50, "hidden_layers": 3, "ensemble_size": 8})  # has not ended at Pause
    page.wait_for_timeout(200)  # a reader who asks for less motion begins it
    assert page.evaluate("t.steps") == 0
    press(page, "Step")
    page.evaluate("until(() => t.steps === 1)")
    for _ in range(5):  # faster than pictures come
        page.evaluate("t.step()")
    page.evaluate("until(() => t.steps === 6)")
    press(page, "▶ Play")
    page.evaluate("until(() => t.steps > 20)")
    press(page, "❚❚ Pause")
    assert page.get_by_role("button", name="▶ Play").is_visible()
    page.evaluate("until(() => meter().startsWith(`step ${t.steps.toLocaleString('en')} `))")
    start = "t.weights().then(({ sides }) => flat(sides))"
    press(page, "Reset")
    assert story(page) == "Reset: the same start once more."
    page.evaluate("until(() => meter().startsWith('step 0 '))")
    before = page.evaluate(start)
    press(page, "New seed")
    page.evaluate("until(() => meter().startsWith('step 0 '))")
    assert state(page)["seed"] == 4
    assert page.evaluate(start) != before
    press(page, "Undo")
    assert state(page)["seed"] == 3
    assert page.evaluate(start) == before


def test_play_goes_on_beyond_the_end_though_the_last_picture_is_older(live):
    page = live()
    script = """new Promise((ended) => {
      const play = root().querySelector(".ensedu-t-play");
      const watcher = new MutationObserver(() => {
        if (root().dataset.playing === "true") return;
        watcher.disconnect();
        const shown = t.steps; // by the last picture: the end is seen in none yet
        play.click();
        ended(shown);
      });
      watcher.observe(root(), { attributes: true, attributeFilter: ["data-playing"] });
      play.click();
    })"""
    shown = page.evaluate(script)
    assert shown < 3000
    page.evaluate("until(() => t.steps > 3100)")
    press(page, "❚❚ Pause")
    press(page, "New seed")
    assert page.get_by_role("button", name="▶ Play").is_visible()  # a pause of the reader lasts


def test_the_newest_of_several_sightings_counts(open_live):
    """A page under load hears of several at once, the oldest first."""
    page = open_live()
    page.evaluate(
        """() => {
      window.IntersectionObserver = class {
        constructor(tell) {
          this.tell = tell;
        }
        observe() {
          setTimeout(() => this.tell([{ isIntersecting: false }, { isIntersecting: true }]));
        }
        disconnect() {}
      };
      begin();
    }"""
    )
    page.evaluate("until(() => meter(), 'the first picture')")
    page.evaluate("t.set({ method: 'mc_dropout' })")
    title = "root().querySelector('.ensedu-t-title').textContent"
    page.evaluate(f"until(() => {title} === 'MC dropout', 'the new title')")


BAR = "(bar) => ['--share', '--one'].map((name) => parseFloat(bar.style.getPropertyValue(name)))"


def test_meter_counts_what_the_package_counts(live):
    page = live()
    shapes = [("gap", "mean", 2, 1), ("gap", "variance", 13, 2), ("blobs", "mean", 7, 3)]
    for method, (data, head, width, layers) in itertools.product(METHODS, shapes):
        M = 1 if method == "single" else 3
        outputs = {"mean": 1, "variance": 2}[head] if data == "gap" else 3
        sizes = [1 if data == "gap" else 2, *[width] * layers, outputs]
        total = counting.mlp(sizes, method, **(size_option(method, M) if M > 1 else {})).total
        part = {
            "method": method, "ensemble_size": M, "start": trainer_state.STARTS[method][0], "data": data,
            "head": head, "width": width, "hidden_layers": layers,
        }  # fmt: skip
        page.evaluate("part => t.set(stateOf(part))", part)
        one = counting.mlp(sizes, "single").total
        want = f"step 0 {total:,} parameters"
        page.evaluate("want => until(() => meter() === want, want)", want)
        # Its bar is full at as many networks as there are members.
        bar = page.locator(".ensedu-t-bar").evaluate(BAR)
        assert bar == pytest.approx(
            [100 * total / max(total, M * one), 100 * one / max(total, M * one)]
        )
    single = counting.mlp([2, 7, 7, 7, 3], "single").total
    page.evaluate("part => t.set(part)", {"method": "single", "ensemble_size": 1, "start": "different", "other": OTHER})  # fmt: skip
    other = counting.mlp([2, 7, 7, 7, 3], "mean_field", samples=3).total
    want = f"step 0 A {single:,} B {other:,} parameters"
    page.evaluate("want => until(() => meter() === want, want)", want)
    shares = [bar.evaluate(BAR)[0] for bar in page.locator(".ensedu-t-bar").all()]
    assert shares == pytest.approx([100 * total / (3 * single) for total in (single, other)])


@pytest.mark.parametrize("method", METHODS)
def test_a_link_gives_the_same_arrays_to_the_bit(live, method):
    own = {
        "method": method, "ensemble_size": 1 if method == "single" else 3, "other": OTHER,
        "start": trainer_state.STARTS[method][-1], "head": "variance", "data": "wave",  # 80 points
    }  # fmt: skip
    page = live(own)
    script = """async (seed) => {
      t.destroy();
      const { state } = ensedu.decode(link, stateOf({ data: "step", width: 7 }));
      begin({ ...state, seed: seed ?? state.seed });
      await train(20);
      return flat((await t.weights()).sides);
    }"""
    page.evaluate("() => { window.link = ensedu.encode(t.state) }")
    first, again, otherwise = (page.evaluate(script, seed) for seed in (None, None, 4))
    assert first == again != otherwise
    assert "null" not in first


GOES_ON = {
    "lr": 0.03, "loss": "mixture", "kl_weight": 3, "weight_decay": 0.1, "noise": 0.3,
    "points": [[0, 0], [1, 1]],
}  # fmt: skip
STARTS_ANEW = {
    "method": "batch_ensemble", "ensemble_size": 3, "width": 8, "hidden_layers": 2,
    "start": "same", "head": "variance", "seed": 5, "activation": "tanh", "other": OTHER,
    "parametrization": "ntk", "prior_scale": 0.3, "initial_std": 0.1, "p": 0.2,
}  # fmt: skip


def test_some_changes_go_on_and_some_start_anew_and_say_so(live):
    page = live()
    train(page, 7)
    steps = 7
    for key, value in GOES_ON.items():
        page.evaluate("part => t.set(part)", {key: value})
        train(page, 2)
        steps += 2
        assert page.evaluate("t.steps") == steps, key
        assert aloud(page) == ""
    page.evaluate("part => t.set(part)", {"other": OTHER})
    train(page, 3)
    page.evaluate("part => t.set(part)", {"other": {**OTHER, "loss": "mean", "kl_weight": 0}})
    train(page, 2)
    assert page.evaluate("t.steps") == 5
    usual = page.evaluate("stateOf({})")
    for key, value in STARTS_ANEW.items():
        page.evaluate("part => t.set(part)", usual)
        train(page, 3)
        start = {"start": "signs"} if key == "method" else {}
        page.evaluate("part => t.set(part)", {key: value, **start})
        assert aloud(page) == "Begun anew, because what is trained has changed.", key
        assert story(page).endswith("Nothing is learned yet."), key  # the old result is of others
        train(page, 2)
        assert page.evaluate("t.steps") == 2, key


def test_settings_teach_what_they_say(live):
    """Learning rate, loss, noise and decay reach the next step: other numbers come out."""
    page = live({"ensemble_size": 3, "noise": 0.1})
    script = """async (part) => {
      t.reset();
      t.set(stateOf({ ensemble_size: 3 }));
      await train(3);
      t.set(part);
      await train(3);
      return flat((await t.weights()).sides);
    }"""
    found = {key: page.evaluate(script, {key: value}) for key, value in GOES_ON.items()}
    found["nothing"] = page.evaluate(script, {})
    # The KL of an ensemble is none.
    assert found.pop("kl_weight") == found["nothing"]
    assert len(set(found.values())) == len(found)


def unfold(page):
    page.evaluate(
        "document.querySelectorAll('.ensedu-t-settings details').forEach((e) => { e.open = true })"
    )


def test_controls_set_what_they_name(live):
    page = live()
    unfold(page)
    page.get_by_label("method").first.select_option("rank1")
    assert state(page)["method"] == "rank1"
    assert state(page)["start"] == trainer_state.STARTS["rank1"][0]
    page.get_by_label("start").first.select_option("signs")
    page.get_by_label("hidden layers").press("ArrowRight")
    page.get_by_label("width").press("ArrowRight")
    page.get_by_role("slider", name="members").first.press("End")
    page.get_by_label("KL weight").first.press("ArrowRight")
    page.get_by_role("slider", name="prior σ").press("Home")
    page.get_by_role("slider", name="initial σ").press("End")
    page.get_by_role("radio", name="NTK").check()
    page.get_by_label("learning rate").press("ArrowRight")
    page.get_by_label("weight decay").press("ArrowRight")
    page.get_by_role("radio", name="+ variance").check()
    page.get_by_role("radio", name="tanh").check()
    page.get_by_role("radio", name="mixture").first.check()
    found = state(page)
    want = {
        "start": "signs", "hidden_layers": 2, "width": 8, "ensemble_size": 16, "kl_weight": 3,
        "prior_scale": 0.03, "lr": 0.03, "weight_decay": 0.0001, "head": "variance",
        "activation": "tanh", "loss": "mixture", "initial_std": 1, "parametrization": "ntk",
    }  # fmt: skip
    assert found == found | want
    assert not page.get_by_role("slider", name="dropout").is_visible()
    page.get_by_label("method").first.select_option("single")
    assert state(page)["ensemble_size"] == 1
    assert page.get_by_role("slider", name="members").first.is_disabled()
    assert not page.get_by_role("slider", name="prior σ").is_visible()
    page.get_by_label("method").first.select_option("mc_dropout")
    assert page.get_by_role("slider", name="dropout").is_visible()
    assert page.get_by_role("slider", name="draws a step").first.input_value() == "3"
    page.get_by_label("data").select_option("blobs")
    assert state(page)["task"] == "classification"
    assert len(state(page)["points"]) == 90
    assert not page.get_by_text("+ variance").is_visible()
    before = state(page)["points"]
    page.get_by_label("noise σ").press("ArrowRight")
    assert state(page)["noise"] == 1
    assert state(page)["points"] != before
    press(page, "New points")
    assert state(page)["seed"] == 4
    for _ in range(3):
        press(page, "Undo")
    assert state(page)["data"] == "gap"
    press(page, "Clear")
    assert state(page)["points"] == []
    assert state(page)["data"] == "own"


def test_what_is_folded_is_named_where_it_is_not_as_usual(live):
    page = live({"width": 50, "hidden_layers": 2})
    fold = page.locator(".ensedu-t-settings summary")
    assert fold.inner_text() == "More"
    folded = page.get_by_role("slider", name="width")
    assert not folded.is_visible()
    assert page.locator(".ensedu-t-settings .ensedu-t-control:visible").count() == 6
    part = {"width": 20, "activation": "tanh", "weight_decay": 0.01, "lr": 0.03}
    page.evaluate("part => t.set(part)", {**part, "initial_std": 0.1})
    # The standard deviation of what is no distribution is not there.
    assert fold.inner_text() == "More: width 20, activation tanh, weight decay 0.01"
    page.evaluate("part => t.set(part)", {"method": "mean_field", "other": OTHER})
    assert fold.inner_text().endswith("loss of B mixture, weight decay 0.01, initial σ 0.1")
    assert page.get_by_role("slider", name="KL weight").count() == 2


# Points.


def test_points_by_mouse(live):
    page = live({"points": [[-2, 1], [2, -1]]})
    train(page, 3)
    page.mouse.click(*at(page, 0, 2))
    found = state(page)
    assert len(found["points"]) == 3
    assert found["points"][2] == pytest.approx([0, 2], abs=0.03)
    assert found["data"] == "gap"
    page.mouse.move(*at(page, -2, 1))
    page.mouse.down()
    page.mouse.move(*at(page, 0, 0), steps=4)
    page.mouse.move(*at(page, -3, -2), steps=4)
    page.mouse.up()
    found = state(page)
    assert found["points"][0] == pytest.approx([-3, -2], abs=0.03)
    assert len(found["points"]) == 3
    page.mouse.dblclick(*at(page, 2, -1))
    assert [round(point[0]) for point in state(page)["points"]] == [-3, 0]
    page.mouse.dblclick(*at(page, 4, 2))  # the first click adds, the second is on what it added
    assert len(state(page)["points"]) == 3
    page.mouse.dblclick(*at(page, 0, 2))
    assert [round(point[0]) for point in state(page)["points"]] == [-3, 4]
    assert page.evaluate("t.steps") == 3
    # Four changes and a drag, and each has its way back.
    for number in (3, 2, 3, 3, 2):
        press(page, "Undo")
        assert len(state(page)["points"]) == number
    assert state(page)["points"] == [[-2, 1], [2, -1]]
    assert page.get_by_role("button", name="Undo").is_disabled()


def test_points_stay_where_they_can_be_seen(live):
    page = live({"points": [[4.9, 2.9]]})
    page.mouse.move(*at(page, 4.9, 2.9))
    page.mouse.down()
    page.mouse.move(2000, 0, steps=3)
    page.mouse.up()
    assert state(page)["points"] == [[5, 3]]


def test_points_of_three_classes_by_mouse(live):
    page = live({"data": "own", "task": "classification", "points": [[-2, -2, 0], [2, 2, 1]]})
    train(page, 3)
    page.get_by_role("radio", name="▲ 2").check()
    page.mouse.click(*at(page, 0, 1))
    assert state(page)["points"][-1] == pytest.approx([0, 1, 1], abs=0.05)
    train(page, 1)
    assert page.evaluate("t.steps") == 4
    page.get_by_role("radio", name="■ 3").check()
    page.mouse.click(*at(page, 0, -1))
    assert state(page)["points"][-1][2] == 2
    assert aloud(page).startswith("Begun anew")
    train(page, 1)
    assert page.evaluate("t.steps") == 1


def test_points_by_touch(live):
    page = live({"points": [[-2, 0]]}, viewport=PHONE, has_touch=True)
    page.add_style_tag(content=".space { height: 1000px }")
    page.evaluate("root().scrollIntoView()")
    page.touchscreen.tap(*at(page, 2, 1))
    page.evaluate("until(() => t.state.points.length === 2)")
    assert state(page)["points"][1] == pytest.approx([2, 1], abs=0.06)
    before = page.evaluate("scrollY")
    (x, y) = at(page, 0, 0)
    swipe(page, (x, y), (x, y - 150))
    page.evaluate("before => until(() => scrollY > before + 50)", before)
    page.evaluate(small.AT_REST)
    assert len(state(page)["points"]) == 2
    page.evaluate("root().scrollIntoView()")
    page.evaluate(small.AT_REST)
    before = page.evaluate("scrollY")
    # A swipe that begins on a point scrolls, unless the point was pressed first.
    (x, y) = at(page, -2, 0)
    swipe(page, (x, y), (x, y - 150))
    page.evaluate("before => until(() => scrollY > before + 50)", before)
    page.evaluate(small.AT_REST)
    assert state(page)["points"][0] == [-2, 0]
    page.evaluate("root().scrollIntoView()")
    page.evaluate(small.AT_REST)
    before = page.evaluate("scrollY")
    # Beside a point there is room for another; on it a finger is told what a finger can do.
    (x, y) = at(page, -2, 0)
    page.touchscreen.tap(x + 20, y)
    page.evaluate("until(() => t.state.points.length === 3)")
    press(page, "Undo")
    page.touchscreen.tap(*at(page, -2, 0))
    assert story(page) == "Point 1 of 2: drag it, or tap it twice to remove it."
    swipe(page, at(page, -2, 0), at(page, -3, -2))
    page.evaluate("until(() => t.state.points[0][1] < -1.9)")
    assert state(page)["points"][0] == pytest.approx([-3, -2], abs=0.06)
    assert page.evaluate("scrollY") == pytest.approx(before, abs=2)
    place = at(page, 2, 1)
    for _ in range(2):  # in quick succession
        page.touchscreen.tap(*place)
    page.evaluate("until(() => t.state.points.length === 1)")
    assert state(page)["points"][0][0] == pytest.approx(-3, abs=0.06)


def test_all_by_keyboard_and_announced(live):
    page = live({"points": [[-2, 1], [2, -1]]})
    page.locator("canvas").first.focus()

    def keys(*names):
        for name in names:
            page.keyboard.press(name)
        return story(page)

    assert keys("ArrowRight") == "Cross at 0.1, 0."
    assert keys("Shift+ArrowUp", "ArrowDown") == "Cross at 0.1, 0.9."
    assert keys("Enter") == "3 points; the last at 0.1, 0.9."
    assert state(page)["points"][2] == [0.1, 0.9]
    page.wait_for_timeout(500)  # the next pictures, and the address, do not talk over it
    assert story(page) == "3 points; the last at 0.1, 0.9."
    assert keys("n") == "Point 1 of 3, at -2, 1."
    assert keys("N") == "Point 2 of 3, at 2, -1."
    assert keys("p", "P") == "Point 3 of 3, at 0.1, 0.9."
    assert keys("Shift+ArrowLeft") == "Point 3 at -0.9, 0.9."
    assert keys("ArrowUp") == "Point 3 at -0.9, 1."
    assert state(page)["points"][2] == [-0.9, 1]
    assert keys("Control+z").startswith("Undone. ")
    assert state(page)["points"][2] == [-0.9, 0.9]
    assert keys("Escape") == "No point is chosen."
    assert keys("Shift+ArrowRight", "Shift+ArrowRight", "Delete") == "Removed: 2 points are left."
    assert state(page)["points"] == [[-2, 1], [-0.9, 0.9]]  # the nearest went
    assert keys("n", "Backspace") == "Removed: 1 points are left."
    assert state(page)["points"] == [[-0.9, 0.9]]
    assert keys("Delete", "Delete") == "There is no point to remove."
    assert keys("n") == "There is no point to choose."
    for _ in range(6):
        keys("Control+z")
    assert state(page)["points"] == [[-2, 1], [2, -1]]
    assert keys("Control+z") == "There is nothing to undo."
    assert page.evaluate("document.activeElement.tagName") == "CANVAS"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.tagName") != "CANVAS"


def test_undo_by_keyboard_keeps_the_picture_in_focus_when_it_is_another(live):
    page = live()
    page.get_by_role("slider", name="members").first.press("End")
    page.locator("canvas").first.focus()
    page.keyboard.press("Control+z")
    page.evaluate("until(() => root().querySelector('section p').textContent.endsWith('of 2'))")
    assert page.evaluate("document.activeElement === root().querySelector('canvas')")


def test_undo_restores_everything_across_restarts(live):
    page = live()
    first = state(page)
    train(page, 3)
    page.get_by_label("method").first.select_option("mc_dropout")
    page.get_by_label("data").select_option("moons")
    press(page, "Compare")
    page.evaluate("root().scrollIntoView()")
    page.mouse.click(*at(page, 3.5, -3.5))
    press(page, "Clear")
    for _ in range(4):
        press(page, "Undo")
    assert state(page)["method"] == "mc_dropout"
    press(page, "Undo")
    assert state(page) == first
    train(page, 2)
    assert page.evaluate("t.steps") == 2


# Links.

NUMBERS = st.integers(-100_000, 100_000).map(lambda value: value / 1000)
SIZES = st.integers(1, 16)


@st.composite
def networks(draw):
    method = draw(st.sampled_from(METHODS))
    return {
        "method": method, "ensemble_size": 1 if method == "single" else draw(SIZES),
        "start": draw(st.sampled_from(trainer_state.STARTS[method])),
        "loss": draw(st.sampled_from(["mean", "mixture"])),
        "kl_weight": draw(st.floats(0, 1000)),
    }  # fmt: skip


@st.composite
def states(draw):
    task = draw(st.sampled_from(["regression", "classification"]))
    names = CURVES if task == "regression" else MAPS
    point = [NUMBERS, NUMBERS, *([st.integers(0, 2)] if task == "classification" else [])]
    unit = st.floats(1e-300, 1e9)
    axis = st.fixed_dictionaries({"name": st.text(), "middle": st.floats(-1e9, 1e9), "unit": unit})  # fmt: skip
    return {
        "task": task, "data": draw(st.sampled_from([*names, "own"])),
        "points": draw(st.lists(st.tuples(*point).map(list), max_size=7)),
        "noise": draw(st.floats(0.01, 2)), "seed": draw(st.integers(0, 999_999)),
        "width": draw(st.integers(2, 100)), "hidden_layers": draw(st.integers(1, 3)),
        "activation": draw(st.sampled_from(["relu", "tanh"])),
        "parametrization": draw(st.sampled_from(["standard", "ntk"])),
        "initial_std": draw(st.floats(0.001, 10)),
        "head": draw(st.sampled_from(["mean", "variance"])), "lr": draw(st.floats(1e-6, 1e9)),
        "weight_decay": draw(st.floats(0, 10)), "prior_scale": draw(st.floats(0.001, 100)),
        "p": draw(st.floats(0, 0.9)), "other": draw(st.none() | networks()),
        "axes": draw(st.none() | st.lists(axis, min_size=2, max_size=2)), **draw(networks()),
    }  # fmt: skip


@pytest.fixture(scope="module")
def bench(blank):
    """A page where `ensedu` is, and no trainer."""
    blank.add_script_tag(
        content=trainer_scripts.BUNDLE.classic() + HELP.replace("USUAL", json.dumps(USUAL))
    )
    return blank


@given(states(), states())
@settings(phases=(Phase.generate,), suppress_health_check=[HealthCheck.too_slow])
def test_a_link_carries_the_whole_state(bench, first, second):
    """Whatever the page that opens it would begin with."""
    script = """([state, base]) => {
      location.hash = `live:${ensedu.encode(state)}`;
      const found = ensedu.decode(location.hash.slice(6), base);
      return [found, found.state && ensedu.encode(found.state) === ensedu.encode(state)];
    }"""
    found, same = bench.evaluate(script, [first, second])
    assert found == {"state": first}
    assert same


def test_links_of_every_method_and_preset(bench):
    networks = [
        {"method": method, "start": start, "ensemble_size": 1 if method == "single" else 3}
        for method, starts in trainer_state.STARTS.items()
        for start in starts
    ]
    others = [None, OTHER]
    axes = [None, [{"name": "a & b = c; d, %", "middle": -1.5, "unit": 1e-7}, {"name": "", "middle": 3e11, "unit": 2}]]  # fmt: skip
    script = """(all) => all.filter(([data, network, other, axes]) => {
      const state = stateOf({ data, ...network, other, axes });
      const { state: found, error } = ensedu.decode(ensedu.encode(state), stateOf({ other: { ...usual, method: "rank1" } }));
      return error || JSON.stringify(found, Object.keys(state).sort()) !== JSON.stringify(state, Object.keys(state).sort())
        || ensedu.encode(found) !== ensedu.encode(state);
    })"""
    cases = list(itertools.product(toys.TOYS, networks, others, axes))
    assert bench.evaluate(script, cases) == []


MANY = ";".join(["0,0"] * 501)
BAD = {
    "": "nothing stands in it",
    "junk": "“junk” is unknown",
    "%%%": "“%%%” is unknown",
    "width=7&depth=3": "“depth” is unknown",
    "toString=1": "“toString” is unknown",
    "other.toString=1": "“other.toString” is unknown",
    "__proto__=1": "“__proto__” is unknown",
    "lr=NaN": "lr cannot be NaN",
    "lr=fast": "lr cannot be NaN",
    "lr=": "lr cannot be NaN",
    "seed=": "seed cannot be NaN",
    "seed=-1": "seed cannot be -1",
    "width=7.5": "width cannot be 7.5",
    "width=101": "width cannot be 101",
    "lr=1e10": "lr cannot be 10000000000",
    "lr=Infinity": "lr cannot be Infinity",
    "method=deep-ensemble": "method cannot be “deep-ensemble”",
    "method=toString": "method cannot be “toString”",
    "method=rank1&start=different": "rank1 cannot start from different",
    "method=single&ensemble_size=3": "a single network has one member",
    "other.method=nope": "method cannot be “nope”",
    "data=mnist": "data cannot be “mnist”",
    "data=toString": "data cannot be “toString”",
    "task=classification": "gap is no classification",
    "task=classification&data=own": "point 1 cannot be",
    "points=1,2,3": "point 1 cannot be (1, 2, 3)",
    "points=1,2;3": "point 2 cannot be (3)",
    "points=1,": "point 1 cannot be (1, NaN)",
    "points=1,NaN": "point 1 cannot be (1, NaN)",
    "points=101,0": "point 1 cannot be (101, 0)",
    f"points={MANY}": "points must be a list of up to 500",
    "axes=a,1,1": "axes cannot be read",
    "axes=a,1,1;b,1,0": "axes cannot be read",
    "axes=%,1,1;b,1,1": "axes cannot be read",
}


def test_bad_links_are_told_in_words(bench):
    found = bench.evaluate(
        "(links) => links.map((link) => ensedu.decode(link, stateOf({})))", list(BAD)
    )
    for link, one, words in zip(BAD, found, BAD.values(), strict=True):
        assert one.keys() == {"error"}, link
        assert one["error"].startswith(words), link


def test_links_need_not_say_all(bench):
    def decoded(link, part=None):
        return bench.evaluate(
            "([link, part]) => ensedu.decode(link, stateOf(part)).state", [link, part or {}]
        )

    base = bench.evaluate("stateOf({})")
    assert decoded("width=7") == base | {"width": 7}
    moons = bench.evaluate("stateOf({ data: 'moons' })")
    assert decoded("data=moons") == moons
    assert decoded("data=moons", {"axes": [{"name": "x", "middle": 0, "unit": 1}] * 2}) == moons
    assert decoded("data=moons&noise=0.5&seed=9") == bench.evaluate(
        "stateOf({ data: 'moons', noise: 0.5, seed: 9 })"
    )
    assert decoded("points=") == base | {"points": []}
    assert decoded("points=1,2") == base | {"points": [[1, 2]]}
    assert decoded("method=single") == base | {"method": "single", "ensemble_size": 1}
    assert decoded("method=rank1") == base | {"method": "rank1", "start": "normal-0.1"}
    own = {key: base[key] for key in ("ensemble_size", "loss", "kl_weight")}
    assert decoded("other.method=rank1")["other"] == own | {
        "method": "rank1", "start": "normal-0.1",
    }  # fmt: skip
    assert decoded("method=rank1", {"other": OTHER})["other"] is None
    assert decoded("width=7", {"other": OTHER})["other"] == OTHER


def test_a_bad_link_is_told_and_the_trainer_starts_as_always(open_live, home):
    page = open_live(file="begun.html#live:width=1000")
    page.evaluate("document.getElementById('live').scrollIntoView()")
    told = page.locator("#live .ensedu-t-story")
    want = "This link cannot be followed: width cannot be 1000. The trainer starts as it always does."  # fmt: skip
    assert told.inner_text() == want
    page.wait_for_function("document.querySelector('#live .ensedu-t-meter').textContent")
    page.wait_for_timeout(200)
    assert told.inner_text() == want
    assert page.locator("#live .ensedu-t-meter").inner_text().endswith(" 32 parameters")
    page.evaluate("() => { location.hash = '#live:width=7' }")
    page.wait_for_function(
        "/ 44 parameters/.test(document.querySelector('#live .ensedu-t-meter').textContent)"
    )
    page.evaluate("() => { location.hash = '#live:width=x' }")
    page.wait_for_function(
        "/cannot be NaN. The trainer stays/.test(document.querySelector('#live .ensedu-t-story').textContent)"
    )
    page.locator("#live").get_by_role("button", name="Undo").click()
    page.wait_for_function(
        "/ 32 parameters/.test(document.querySelector('#live .ensedu-t-meter').textContent)"
    )


def test_the_address_holds_all_and_opens_it_again(open_live):
    page = open_live(file="begun.html")
    assert page.evaluate("scrollY") == 0
    trainer = page.locator("#live")
    trainer.scroll_into_view_if_needed()
    trainer.get_by_label("method").first.select_option("batch_ensemble")
    trainer.get_by_role("button", name="Compare").click()
    trainer.get_by_label("data").select_option("clusters")
    canvas = trainer.locator("canvas").first
    canvas.click(position={"x": 150, "y": 60})
    own = "ensedu.decode(location.hash.slice(6), stateOf({})).state"
    page.wait_for_function(f"{own}?.points.length === 61")
    link, found = page.evaluate(f"[location.hash.slice(6), {own}]")
    assert (found["method"], found["other"]["method"]) == ("batch_ensemble", "deep_ensemble")
    page.goto(page.url.replace("#", "?anew#"))  # a reload would keep the place
    assert trainer.locator("section").count() == 2
    page.wait_for_function("document.querySelector('#live .ensedu-t-meter').textContent")
    top = "document.getElementById('live').getBoundingClientRect().top"
    page.wait_for_function(f"Math.abs({top}) < 50")
    assert trainer.get_by_label("data").input_value() == "clusters"
    trainer.get_by_label("learning rate").press("ArrowRight")
    page.wait_for_function("old => location.hash.slice(6) !== old", arg=link)
    again = page.evaluate(own)
    assert again == found | {"lr": 0.03}


# Data.


def test_every_preset_trains(live):
    page = live({"other": {**OTHER, "method": "mc_dropout"}})
    for title in ("Losses", "The members' matrices, live"):
        page.get_by_text(title, exact=True).click()
    for data in toys.TOYS:
        given = {"data": data, "other": {**OTHER, "method": "mc_dropout"}}
        page.evaluate("part => { t.set(stateOf(part)); t.reset() }", given)
        assert page.locator("section canvas").count() == (2 if data in CURVES else 4), data
        train(page, 30)
        found = page.evaluate("t.weights().then(({ sides }) => flat(sides))")
        assert "null" not in found, data
        told, lost = story(page), page.evaluate("losses()")
        assert "A: " in told and " B: " in told, data
        assert "no number" not in told + lost, data
        assert lost.count("NLL of the points") == 2, data
        matrices = "root().querySelectorAll('.ensedu-t-matrices canvas').length === 2"
        page.evaluate(f"until(() => {matrices})")


def test_points_are_those_that_python_draws(bench):
    for name, toy in toys.TOYS.items():
        for noise, seed in ((toy.noise, 0), (0.7, 812)):
            found = bench.evaluate("(given) => ensedu.points(...given)", [name, noise, seed])
            assert found == pytest.approx(toys.points(name, noise, seed), abs=0.0011), name


COLUMNS = {
    "1,2\n3,4": ("xy", 2),
    "x,y\n1,2\n3,4\n": ("xy", 2),
    "# a remark\n\nheight\tweight\n1\t2\n3\t4": (("height", "weight"), 2),
    '"height";"weight"\r\n"1,5";"2,5"\r\n3;4\r\n': (("height", "weight"), 2),
    "1,5\t2\n3\t4,5": ("xy", 2),
    "1 2\n3   4": ("xy", 2),
    "a;b;c\n1;2;yes\n3;4;no": ("ab", 3),
    "1,2,1\n3,4,0\n5,6,1": (("input 1", "input 2"), 3),
    '"size, cm","age",kind\n1,2,"cat, big"\n3,4,dog': (("size, cm", "age"), 3),
    "1e3,-2.5E-1\n-.5,+4": ("xy", 2),
}
UNREADABLE = {
    "": "There is nothing to read: paste two or three columns of numbers.",
    "\n# only a remark\n": "There is nothing to read: paste two or three columns of numbers.",
    "1\n2": "Two or three columns are read (x and y, or two inputs and a class); the first line has 1.",
    "1,2,3,4": "Two or three columns are read (x and y, or two inputs and a class); the first line has 4.",
    "x,y": "There is only a line of names, and no row of numbers below it.",
    "x,y\n1,2\n3": "Row 3 has 1 columns, the first has 2.",
    "1,2\n3,four": "Row 2, column 2: “four” is no number.",
    "x,y\n1,2\n,4": "Row 3, column 1: “” is no number.",
    "1,2\n1e999,4": "Row 2, column 1: “1e999” is no number.",
    "1,2,a\n3,4,a": "The third column names the class: two or three classes are drawn, it has 1.",
    "1,2,a\n3,4,b\n1,1,c\n2,2,d": "The third column names the class: two or three classes are drawn, it has 4.",
    "1e308,1\n-1e308,2": "Column 1 reaches too far: its range is no finite number.",
}


def test_columns_of_all_kinds_are_read(bench):
    for text, (names, width) in COLUMNS.items():
        found = bench.evaluate("text => ensedu.read(text, 0)", text)
        assert "error" not in found, (text, found)
        assert [axis["name"] for axis in found["axes"]] == list(names)
        assert {len(point) for point in found["points"]} == {width}
        assert found["task"] == ("regression", "classification")[width - 2]
        assert min(point[0] for point in found["points"]) == (-4, -3)[width - 2]
        assert max(point[1] for point in found["points"]) == (2, 3)[width - 2]
        assert f"Read {len(found['points'])} rows." in found["words"]
    decimal = bench.evaluate("text => ensedu.read(text, 0)", "1,5;2,5\n3;4\n2;3,1")
    for column, (axis, want) in enumerate(zip(decimal["axes"], ([1.5, 3, 2], [2.5, 4, 3.1]), strict=True)):  # fmt: skip
        back = [axis["middle"] + axis["unit"] * point[column] for point in decimal["points"]]
        assert back == pytest.approx(want, abs=0.001)
    words = bench.evaluate("text => ensedu.read(text, 0)", "1,2,b\n3,4,a\n5,6,c\n7,8,b")
    assert [point[2] for point in words["points"]] == [1, 0, 2, 1]
    assert words["words"].endswith("Classes: a, b, c.")
    # Equal values have no range to be scaled by.
    flat = bench.evaluate("text => ensedu.read(text, 0)", "2,7\n2,7\n2,7")
    assert flat["points"] == [[0, 0]] * 3


def test_what_cannot_be_read_is_told_in_words(bench):
    for text, words in UNREADABLE.items():
        assert bench.evaluate("text => ensedu.read(text, 0)", text) == {"error": words}


def test_more_rows_than_fit_are_drawn_at_random(bench):
    rng = np.random.default_rng(812)
    rows = np.round(rng.normal(size=(812, 2)), 3)
    text = "\n".join(",".join(map(str, row)) for row in rows.tolist())
    found, again, other = (
        bench.evaluate("([text, seed]) => ensedu.read(text, seed)", [text, seed])
        for seed in (0, 0, 1)
    )
    assert found == again != other
    assert len(found["points"]) == 500
    assert found["words"].startswith("Read 812 rows, 500 of them drawn at random.")
    axes = found["axes"]
    back = [
        tuple(
            round(axis["middle"] + axis["unit"] * value, 2)
            for axis, value in zip(axes, point, strict=True)
        )
        for point in found["points"]
    ]
    given = {tuple(np.round(row, 2)) for row in rows.tolist()}
    near = sum(
        any(
            (round(x + dx, 2), round(y + dy, 2)) in given
            for dx in (-0.01, 0, 0.01)
            for dy in (-0.01, 0, 0.01)
        )
        for x, y in back
    )
    assert near == 500


def test_own_data_are_pasted_or_opened_and_the_axes_show_their_units(live, tmp_path):
    page = live(spied=True)
    page.get_by_text("Your own data").click()
    box = page.get_by_label("Rows of two columns")
    box.fill("year;price\n2000;1,5\n2010;2,5\n2020;oops")
    press(page, "Use these rows")
    said = page.locator("details [role=status]")
    assert said.inner_text() == "Row 4, column 2: “oops” is no number."
    assert state(page)["data"] == "gap"
    box.fill("year;price\n2000;1,5\n2010;2,5\n2020;9,5")
    press(page, "Use these rows")
    assert said.inner_text().startswith("Read 3 rows. Each column is scaled")
    found = state(page)
    assert (found["data"], found["task"]) == ("own", "regression")
    assert found["points"] == [[-4, -2], [0, -1.5], [4, 2]]
    page.evaluate("until(() => written.has('year') && written.has('price'))")
    written = page.evaluate("[...written.keys()]")
    assert {"2000", "2010", "2020"} <= {text.replace(",", "") for text in written}
    train(page, 5)
    file = tmp_path / "classes.csv"
    file.write_text("\ufeffa,b,kind\n" + "".join(f"{i},{i * i},{'uv'[i % 2]}\n" for i in range(20)))
    page.get_by_label("Open a file").set_input_files(file)
    page.evaluate("until(() => t.state.points.length === 20)")
    assert said.inner_text().endswith("Classes: u, v.")
    assert [axis["name"] for axis in state(page)["axes"]] == ["a", "b"]
    train(page, 5)
    assert "no number" not in story(page)
    press(page, "Undo")
    assert state(page)["points"] == found["points"]
    press(page, "Undo")
    assert state(page)["data"] == "gap"


SHAPES = {
    "none": [],
    "one": [[1, 1]],
    "500": [[i / 125 - 2, (i % 7) / 3 - 1] for i in range(500)],
    "on top of each other": [[0.5, -1]] * 50,
    "equal x": [[2, i / 10] for i in range(-20, 20)],
    "at the edges": [[-5, -3], [5, 3], [-100, 100]],
}


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_points_of_all_shapes_give_no_error(live, task):
    page = live({"data": "own", "task": task, "other": OTHER, "head": "variance"})
    page.get_by_text("The members' matrices, live").click()
    page.get_by_text("Losses", exact=True).click()
    for name, points in SHAPES.items():
        given = [[*point, *([i % 2] if task == "classification" else [])] for i, point in enumerate(points)]  # fmt: skip
        assert page.evaluate("points => t.set({ points })", given), name
        if points:
            train(page, 5)
            assert "no number" not in story(page), name
        else:
            press(page, "▶ Play")
            page.wait_for_timeout(100)
            assert page.evaluate("t.steps") == 0
            press(page, "❚❚ Pause")
            page.evaluate("until(() => story().endsWith('There is no point to learn from: add one.'))")  # fmt: skip
    page.set_viewport_size(PHONE)
    page.evaluate("() => { document.documentElement.dataset.theme = 'dark' }")
    train(page, 3)
    page.set_viewport_size(DESK)
    page.evaluate("() => { document.documentElement.dataset.theme = 'light' }")
    train(page, 3)


def test_no_more_than_500_points(live):
    page = live({"points": SHAPES["500"]})
    page.mouse.click(*at(page, 0, 2.5))
    assert story(page) == "There are 500 points, the most that fit."
    page.locator("canvas").first.focus()
    page.keyboard.press("Enter")
    assert story(page) == "There are 500 points, the most that fit."
    assert len(state(page)["points"]) == 500
    assert page.get_by_role("button", name="Undo").is_disabled()


def ground(page):
    """The width of the first picture, once the Worker has drawn it for its place, and its colors."""
    return page.evaluate("""async () => {
      const canvas = root().querySelector("canvas");
      await until(() => canvas.width === Math.round(canvas.getBoundingClientRect().width), "a picture of this width");
      const { data } = copyOf(canvas).getImageData(0, 0, canvas.width, canvas.height);
      return [canvas.width, [...new Uint32Array(data.buffer)].reduce((a, b) => (a * 31 + b) % 1000003, 0)];
    }""")


def test_the_thread_that_answers_the_reader_draws_no_picture_of_training(live):
    page = live()
    page.evaluate("""() => {
      window.pictures = 0;
      const { clearRect } = CanvasRenderingContext2D.prototype;
      CanvasRenderingContext2D.prototype.clearRect = function (...given) {
        pictures += 1;
        clearRect.apply(this, given);
      };
    }""")
    train(page, 20)
    assert page.evaluate("pictures") == 0
    page.evaluate("losses()")
    page.evaluate("until(() => pictures > 0, 'the losses, which the page draws')")


def test_pictures_follow_the_width_and_the_theme(live):
    page = live()
    width, light = ground(page)
    page.set_viewport_size(PHONE)
    assert ground(page)[0] < 345
    page.set_viewport_size(DESK)
    assert ground(page)[0] == width
    page.evaluate("() => { document.documentElement.dataset.theme = 'dark' }")
    soon(page, lambda: ground(page)[1] != light)


# What goes wrong.


@pytest.mark.parametrize("data", ["gap", "moons"])
def test_divergence_is_told_with_its_network_and_step(live, data):
    page = live({"data": data, "lr": 1e9, "hidden_layers": 3, "width": 20, "other": OTHER})
    page.get_by_text("The members' matrices, live").click()
    page.get_by_text("Losses", exact=True).click()
    press(page, "▶ Play")
    page.evaluate("until(() => story().includes('diverged'))")
    found = re.fullmatch(
        r"(A: Deep ensemble of 2|B: Mean-field BNN) diverged at step ([\d,]+): its loss is no finite "
        r"number\. Choose a smaller learning rate, and press Reset\.",
        story(page),
    )
    assert found
    assert int(found[2].replace(",", "")) >= 1
    page.evaluate("until(() => meter())")
    assert page.get_by_role("button", name="▶ Play").is_visible()
    page.wait_for_timeout(100)
    assert "diverged" in story(page)
    page.evaluate("t.set({ lr: 0.01 })")
    assert "diverged" in story(page)
    press(page, "Reset")
    assert story(page) == "Reset: the same start once more."
    train(page, 10)
    assert page.evaluate("t.steps") == 10
    assert "diverged" not in story(page)
    assert "no number" not in story(page)


# What runs, and when.


def test_nothing_runs_off_the_screen(open_live):
    page = open_live(motion="no-preference")
    page.add_style_tag(content=".space { height: 3000px }")
    page.evaluate("() => { begin({ width: 100, hidden_layers: 3, ensemble_size: 16 }) }")
    weights = "t.weights().then(({ steps }) => steps)"
    page.wait_for_timeout(150)
    assert page.evaluate(weights) == 0
    page.evaluate("t.set({ seed: 9 })")  # nor what Python, or an address, sets meanwhile
    page.evaluate("root().scrollIntoView()")
    page.evaluate("until(() => t.steps > 3)")
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(300)
    stood = page.evaluate(weights)
    assert stood >= 3
    page.evaluate("t.set({ lr: 0.001 })")
    page.wait_for_timeout(150)
    assert page.evaluate(weights) == stood
    page.evaluate("t.set({ seed: 5 })")
    page.wait_for_timeout(150)
    assert page.evaluate(weights) == 0
    page.evaluate("root().scrollIntoView()")
    page.evaluate("until(() => t.steps > 2)")
    # A pause of the reader lasts.
    press(page, "❚❚ Pause")
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(150)
    page.evaluate("root().scrollIntoView()")
    page.wait_for_timeout(150)
    assert page.get_by_role("button", name="▶ Play").is_visible()


def test_a_run_begins_by_itself_and_rests_at_3000(open_live):
    page = open_live(motion="no-preference")
    page.evaluate("() => { begin({ width: 2, method: 'single', ensemble_size: 1, points: [[0, 0], [1, 1]] }) }")  # fmt: skip
    page.evaluate("until(() => root().dataset.playing === 'false' && t.steps > 1)")
    page.evaluate("until(() => t.steps === 3000)")
    page.evaluate("until(() => meter().startsWith('step 3,000 '))")
    press(page, "▶ Play")  # the reader's own has no end
    page.evaluate("until(() => t.steps > 3200)")
    press(page, "❚❚ Pause")


def test_what_was_asked_before_a_restart_is_not_answered_after_it(bench):
    script = """async () => {
      const [before, after] = [stateOf({ width: 5 }), stateOf({ width: 7 })];
      const told = [];
      const tell = (kind) => () => told.push(kind);
      const runner = new ensedu.Runner({ frame: tell("frame"), done: tell("done"), failed: tell("failed") });
      const picture = { finest: 16, layer: null };
      runner.start(before);
      runner.go(0);
      runner.frame(before, picture);
      runner.weights().then(tell("weights"));
      runner.start(after);
      const { sides } = await runner.weights();
      const late = [...told]; // answers come in order, so all of those before have come
      runner.frame(after, picture);
      await until(() => told.length > late.length, "a frame");
      runner.stop();
      return [sides[0]["0.bias"].length, late, told];
    }"""
    assert bench.evaluate(script) == [USUAL["ensemble_size"] * 7, [], ["frame"]]


def test_two_trainers_do_not_disturb_each_other_and_destroy_ends_all(live):
    page = live()
    page.set_viewport_size({"width": 1280, "height": 5000})  # all are on the screen
    script = """async () => {
      const other = document.createElement("div");
      root().after(other);
      window.u = ensedu.mount(other, { state: stateOf({ data: "moons", method: "mc_dropout", seed: 8 }), name: "second" });
      const alone = async (part) => {
        const box = document.createElement("div");
        root().before(box);
        const one = ensedu.mount(box, { state: stateOf(part), name: "alone" });
        one.play(12);
        await until(() => box.dataset.playing === "false" && one.steps === 12, "alone");
        const found = flat((await one.weights()).sides);
        one.destroy();
        return found;
      };
      t.play(12);
      u.play(12);
      await until(() => t.steps === 12 && u.steps === 12, "both");
      const both = [flat((await t.weights()).sides), flat((await u.weights()).sides)];
      u.set({ data: "own", points: [] });
      const kept = t.state.points.length;
      const single = [await alone({}), await alone({ data: "moons", method: "mc_dropout", seed: 8 })];
      return [both[0] === single[0], both[1] === single[1], kept];
    }"""
    assert page.evaluate(script) == [True, True, 60]
    soon(page, lambda: len(page.workers) == 2)  # a Worker takes a moment to end
    page.evaluate("() => { t.play(); u.play() }")
    page.evaluate("until(() => t.steps > 20)")
    page.evaluate("() => { t.destroy(); u.destroy() }")
    assert page.locator(".ensedu-t").count() == 0
    soon(page, lambda: len(page.workers) == 0)
    page.set_viewport_size(PHONE)
    page.evaluate("() => { location.hash = '#live:width=7'; document.documentElement.dataset.theme = 'dark' }")  # fmt: skip
    page.wait_for_timeout(100)


def test_both_forms_begin_by_themselves(open_live):
    page = open_live(file="begun.html")
    big, small = page.locator("#live"), page.locator("#fig-small")
    assert small.locator("fieldset").count() == 0
    small.scroll_into_view_if_needed()
    small.get_by_role("button", name="▶ Play").click()
    meter = "document.querySelector('#fig-small .ensedu-t-meter').textContent"
    page.wait_for_function(f"/^step [1-9]/.test({meter})")
    small.get_by_role("radio", name="all the same").check()
    words = "document.querySelector('#fig-small .ensedu-t-story').textContent"
    page.wait_for_function(f"{words}.includes('agree everywhere')")
    page.wait_for_timeout(400)
    assert "#" not in page.url  # the address is the large form's
    assert big.get_attribute("data-playing") == "false"
    link = small.get_by_role("link", name="Open it with all settings")
    assert link.get_attribute("href").startswith("begun.html#live:task=regression&")
    assert "&start=same&" in link.get_attribute("href")


# Compare.


def test_both_sides_of_a_comparison_are_at_the_same_step_and_have_the_same_points(live):
    page = live({"other": {**OTHER, "method": "batch_ensemble", "start": "signs"}})
    train(page, 20)
    assert page.locator("section").count() == 2
    # Each as if alone.
    script = """async ([own, steps]) => {
      const state = { ...t.state, ...own, other: null };
      const made = new ensedu.Training([ensedu.specOf(state, state)], ensedu.dataOf(state), ensedu.optionsOf(state), state.seed);
      for (let i = 0; i < steps; i += 1) made.step();
      return flat([made.weights(made.sides[0])]);
    }"""
    arrays = "t.weights().then(({ sides }) => sides.map((side) => flat([side])))"
    left, right = page.evaluate(arrays)
    assert left == page.evaluate(script, [{}, 20])
    assert right == page.evaluate(script, [state(page)["other"], 20])
    page.mouse.click(*at(page, 0, 2))
    train(page, 2)
    both = page.evaluate(arrays)
    assert both != [left, right]
    assert len(state(page)["points"]) == 61
    # The second picture takes points, too.
    box = page.locator("canvas").nth(1).bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 30)
    assert len(state(page)["points"]) == 62


def test_a_side_has_settings_of_its_own(live):
    page = live()
    press(page, "Compare")
    assert state(page)["other"]["method"] == "batch_ensemble"
    unfold(page)
    second = page.get_by_role("group", name="Second network")
    second.get_by_label("method").select_option("rank1")
    second.get_by_label("KL weight").press("End")
    page.get_by_role("radiogroup", name="loss of B").get_by_role("radio", name="mixture").check()
    second.get_by_label("members").press("Home")
    found = state(page)
    want = {"method": "rank1", "kl_weight": 10, "loss": "mixture", "ensemble_size": 1}
    assert found["other"] == found["other"] | want
    assert found == found | {"method": "deep_ensemble", "kl_weight": 1, "loss": "mean", "ensemble_size": 2}  # fmt: skip
    train(page, 3)
    script = "t.weights().then(({ sides }) => sides.map((side) => flat([side])))"
    left, right = page.evaluate(script)
    reset = "async () => { t.reset(); await train(3) }"
    page.evaluate("other => t.set({ other })", {**found["other"], "loss": "mean", "kl_weight": 0})
    page.evaluate(reset)
    again = page.evaluate(script)
    assert again[0] == left
    assert again[1] != right
    press(page, "Compare")
    assert state(page)["other"] is None
    assert page.locator("section").count() == 1
    assert not second.is_visible()


# Words.

CURVES_OF = """([steps, head]) => {
  const { state } = t;
  const made = new ensedu.Training(ensedu.sides(state).map((side) => ensedu.specOf(state, side)),
    ensedu.dataOf(state), ensedu.optionsOf(state), state.seed);
  for (let i = 0; i < steps; i += 1) made.step();
  return made.sides.map((side) => ({ found: side.found, curves: side.found && [...made.curves(side, ensedu.GRID, head).means] }));
}"""


def test_the_story_says_what_the_curves_show(live):
    other = {**OTHER, "loss": "mean", "kl_weight": 1}
    page = live({"ensemble_size": 5, "other": other, "data": "clusters"})
    train(page, 150)
    told, lost = story(page), page.evaluate("losses()")
    assert told.startswith("A: the inner band is ±")
    grid = np.linspace(-5, 5, 97)
    points = np.array(state(page)["points"])
    sides = page.evaluate(CURVES_OF, [150, "mean"])
    names = {"A": "Deep ensemble of 5", "B": "Mean-field BNN"}
    for (letter, name), side in zip(names.items(), sides, strict=True):
        spread = np.reshape(side["curves"], (-1, 97)).std(axis=0)
        own = np.abs(points[:, :1] - grid).argmin(axis=1)
        sorted_own = np.abs(np.sort(points[:, 0])[:, None] - grid).argmin(axis=1)
        widest = np.diff(np.sort(points[:, 0])).argmax()
        span = slice(sorted_own[widest], sorted_own[widest + 1] + 1)
        most = spread[span].argmax() + span.start
        found = re.search(
            rf"{letter}: the inner band is ±\s([\d.]+) at the points, and ±\s([\d.]+) in the "
            r"widest gap\.",
            told,
        )
        nll = re.search(rf"{name}: NLL of the points (\S+) on average, (\S+) as a mixture\.", lost)
        values = [float(value.replace("\u2212", "-")) for value in (*found.groups(), *nll.groups())]
        want = [2 * spread[own].mean(), 2 * spread[most], *(side["found"][key] for key in ("average", "mixture"))]  # fmt: skip
        assert values == pytest.approx(want, abs=0.00501)


@pytest.mark.parametrize("part", [{}, {"other": OTHER}, {"data": "moons"}, {"points": []}])
def test_the_story_stands_there_before_the_first_step_and_holds_no_step(live, part):
    """And it needs no more room later."""
    page = live()
    page.evaluate("t.destroy()")
    high = "root().querySelector('.ensedu-t-story').getBoundingClientRect().height"
    # At once: what was drawn is told as soon as it has been seen.
    script = "part => { begin(part); return [story(), HIGH] }".replace("HIGH", high)
    first, before = page.evaluate(script, part)
    expected = "There is no point to learn from" if "points" in part else "Nothing is learned yet."
    assert expected in first
    if part.get("points") != []:
        train(page, 30)
        page.evaluate("before => until(() => story() !== before)", first)
        assert not re.search(r"[Ss]tep|(?<![.])\b30\b", story(page))
        for sentence in re.split(r"(?<=[.]) (?=[AB]:)", story(page)):
            assert len(sentence.split()) <= 22 and len(re.findall(r"\d+(?:\.\d+)?", sentence)) <= 3
    assert page.evaluate(high) == before


def test_the_story_says_what_the_maps_show(live):
    page = live({"data": "blobs", "ensemble_size": 5})
    train(page, 40)
    script = """() => {
      const { state } = t;
      const made = new ensedu.Training([ensedu.specOf(state, state)], ensedu.dataOf(state), ensedu.optionsOf(state), state.seed);
      for (let i = 0; i < 40; i += 1) made.step();
      return [...made.map(made.sides[0], 64, 4, 3).information];
    }"""
    most = max(page.evaluate(script))
    assert 0.05 < most < np.log2(3)
    words = f"The members' doubt is at most {most:.2f} bits in the plane."
    page.wait_for_function("words => story() === words", arg=words)


def test_the_story_follows_training_and_is_read_aloud_at_a_pause_alone(open_live):
    """The page's clock goes ten times as fast."""
    page = open_live()
    page.evaluate("""() => {
      const real = performance.now.bind(performance);
      performance.now = () => 10 * real();
      begin();
      window.told = [];
      const line = root().querySelector(".ensedu-t-story");
      new MutationObserver(() => told.push([performance.now(), story(), line.ariaLive]))
        .observe(line, { childList: true, characterData: true, subtree: true });
      t.play(1e9);
    }""")
    page.wait_for_function("told.length >= 4")
    times, words, aloud = zip(*page.evaluate("told"), strict=True)
    # The first tells of the start, before it plays.
    assert (np.diff(times[1:]) > 900).all()
    assert all(each.startswith("The inner band is ±") for each in words)
    assert set(aloud[1:]) == {"off"}
    # It may say what it said before: what is gone must come again.
    page.evaluate("""async () => {
      const steps = t.steps;
      await until(() => t.steps > steps, "a step");
      root().querySelector(".ensedu-t-story").firstChild.data = "";
      t.pause();
    }""")
    page.wait_for_function("told.at(-1)[1].startsWith('The inner band is ±')")
    page.wait_for_function("told.at(-1)[2] === 'polite'")
    assert page.locator(".ensedu-t-story").get_attribute("role") == "status"


def test_no_picture_of_what_is_learned_stands_over_words_that_nothing_is(open_live):
    page = open_live()
    told = page.evaluate("""async () => {
      begin();
      t.play(1e9);
      await until(() => t.steps >= 50, "step 50");
      return story();
    }""")
    assert told.startswith("The inner band is ±")


# Guided experiments.

GUIDED = """([key, seed, steps, part]) => {
  const guide = ensedu.GUIDES.find((each) => each.key === key);
  const state = { ...structuredClone(guide.state), seed, ...part };
  if (part.method) state.other = { ...state.other, method: part.method };
  state.method = guide.state.method;
  state.points = ensedu.points(state.data, state.noise, seed);
  const made = new ensedu.Training(ensedu.sides(state).map((side) => ensedu.specOf(state, side)),
    ensedu.dataOf(state), ensedu.optionsOf(state), seed);
  for (let i = 0; i < steps; i += 1) made.step();
  return {
    points: state.points,
    curves: made.sides.map((side) => [...made.curves(side, ensedu.GRID, "mean").means]),
    matrices: made.sides.map((side) => made.sides[0].net.layers.length < 3 ? [] : [...side.net.made(1, side.shown[0]).W]),
  };
}"""
GRID = np.linspace(-5, 5, 97)


def guided(bench, key, seed, steps, part=None):
    """The spread on the grid, the mean's error and the matrices of each side, and the points."""
    found = bench.evaluate(GUIDED, [key, seed, steps, part or {}])
    curves = [np.reshape(each, (-1, 97)) for each in found["curves"]]
    points = np.array(found["points"])
    errors = [
        np.sqrt(np.mean((np.interp(points[:, 0], GRID, each.mean(axis=0)) - points[:, 1]) ** 2))
        for each in curves
    ]
    matrices = [np.reshape(each, (4, -1)) for each in found["matrices"] if each]
    return [each.std(axis=0) for each in curves], errors, matrices, points[:, 0]


def spread_at(spread, x):
    return np.interp(x, GRID, spread)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_equal_starts_end_equal(bench, seed):
    (left, right), _, _, _ = guided(bench, "equal-starts", seed, 100)
    assert right.max() < 1e-12
    assert left[np.abs(GRID) < 1].max() > 0.1


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("part", [{}, {"method": "mc_dropout", "p": 0.05}, {"method": "mc_dropout", "p": 0.1}])  # fmt: skip
def test_one_hidden_layer_cannot_doubt_between_clusters(bench, seed, part):
    (left, right), _, _, _ = guided(bench, "data-in-the-gap", seed, 500, part)
    assert spread_at(left, 0) > 3 * max(spread_at(left, -2.9), spread_at(left, 2.8))
    at_clusters = spread_at(right, -2.9), spread_at(right, 2.8)
    assert spread_at(right, 0) < (max if part else min)(at_clusters)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_matrices_from_signs_differ_and_near_one_they_look_alike(bench, seed):
    _, _, matrices, _ = guided(bench, "signs-or-near-one", seed, 1500 if seed == 0 else 200)
    signs, near = (np.corrcoef(each)[np.triu_indices(4, 1)].mean() for each in matrices)
    assert signs < 0.3
    assert near > 0.7


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_too_large_a_kl_misses_points_and_spreads_more_at_them(bench, seed):
    (left, right), errors, _, x = guided(bench, "kl-too-large", seed, 1500)
    assert errors[1] > 1.4 * errors[0]
    assert spread_at(right, x).mean() > 1.3 * spread_at(left, x).mean()


@pytest.fixture
def experiment(live):
    """Open the second experiment, which is soon done, on a page; return the page and its box."""

    def experiment(**options):
        page = live(**options)
        page.evaluate(
            "() => { Object.assign(ensedu.GUIDES[1].state, { width: 2 }); ensedu.GUIDES[1].steps = 50 }"
        )
        title, key = page.evaluate("[ensedu.GUIDES[1].title, ensedu.GUIDES[1].key]")
        press(page, title)
        return page, page.locator(f"[data-guide={key}]")

    return experiment


def test_experiments_have_states_and_guesses_that_can_be(live):
    page = live()
    guides = page.evaluate("ensedu.GUIDES.map(({ state, guesses, right }) => ({ state, guesses, right }))")  # fmt: skip
    assert len(guides) == 4
    for guide in guides:
        assert page.evaluate("state => ensedu.problem(state)", guide["state"]) is None
        assert guide["right"] in guide["guesses"]


def test_an_experiment_is_set_at_rest_and_runs_after_a_guess(experiment):
    page, box = experiment()
    guide = page.evaluate("ensedu.GUIDES[1]")
    now = state(page)
    assert now == now | guide["state"]
    assert page.evaluate("t.steps") == 0 and story(page).endswith("Nothing is learned yet.")
    assert page.locator("[data-guide]:visible").count() == 1
    assert not page.locator(".ensedu-t-settings").is_visible()
    assert page.get_by_role("button", name="Compare").is_disabled()
    run, answer = box.locator(".ensedu-t-run"), box.locator(".ensedu-t-answer")
    assert run.inner_text() == "▶ Run" and run.is_disabled()
    wrong = next(guess for guess in guide["guesses"] if guess != guide["right"])
    box.get_by_role("radio", name=wrong, exact=True).check()
    assert run.is_enabled() and not box.get_by_role("button", name="Skip the guess").is_visible()
    page.evaluate("() => { ensedu.GUIDES[1].steps = 1e6 }")
    run.click()
    box.get_by_text(re.compile(r"❚❚ step [1-9][\d,]* of 1,000,000")).wait_for()
    run.click()  # a pause
    assert run.inner_text() == "▶ Go on" and answer.inner_text() == ""
    page.evaluate("() => { ensedu.GUIDES[1].steps = 50 }")
    page.get_by_role("button", name="Who sees").click()  # closed
    page.get_by_role("button", name="Who sees").click()  # and begun anew
    assert run.is_disabled() and box.get_by_role("radio", checked=True).count() == 0
    assert not box.get_by_text("Why?").is_visible()
    box.get_by_role("radio", name=wrong, exact=True).check()
    run.click()
    box.locator(".ensedu-t-answer", has_text="Not so.").wait_for()
    page.evaluate("until(() => t.steps === 50, 'the last picture')")
    assert answer.inner_text() == "Not so. " + guide["answer"]
    why = box.get_by_text(guide["why"])
    assert not why.is_visible()
    box.get_by_text("Why?").click()
    assert why.is_visible()
    box.get_by_role("radio", name=guide["right"], exact=True).check()
    assert answer.inner_text() == "✓ Right. " + guide["answer"]
    assert answer.get_attribute("role") == "status"
    assert run.inner_text() == "Run again" and run.is_enabled()


def test_a_guess_can_be_skipped(experiment):
    page, box = experiment()
    box.get_by_role("button", name="Skip the guess").click()
    page.evaluate("rests()")
    box.locator(".ensedu-t-answer", has_text="The deep ensemble").wait_for()
    assert box.locator(".ensedu-t-answer strong").count() == 0
    assert box.locator(".ensedu-t-run").evaluate("e => e === document.activeElement")


@pytest.mark.parametrize("way", ["Back to yours", "Who sees the gap?", "Change it"])
def test_an_experiment_gives_the_readers_own_settings_back(live, way):
    page = live()
    press(page, "New seed")  # a way back of the reader's own
    mine = state(page)
    page.evaluate(
        "() => { Object.assign(ensedu.GUIDES[1].state, { width: 2 }); ensedu.GUIDES[1].steps = 50 }"
    )
    for title in page.evaluate("ensedu.GUIDES.map(({ title }) => title)")[:2]:
        press(page, title)  # from one to the next
    undo = page.get_by_role("button", name="Undo")
    assert undo.is_disabled()
    press(page, "Skip the guess")
    page.get_by_role("button", name="Back to yours").wait_for()
    tried = state(page)
    press(page, way)
    assert page.locator("[data-guide]:visible").count() == 0
    assert page.locator(".ensedu-t-settings").is_visible()
    assert page.evaluate("document.activeElement.textContent") == "Who sees the gap?"
    if way == "Change it":
        assert state(page) == tried
        undo.click()
    else:
        assert story(page) == "Your own settings are back."
    assert state(page) == mine
    undo.click()
    assert state(page)["seed"] == mine["seed"] - 1


def test_a_link_ends_an_experiment(open_live):
    page = open_live("begun.html")
    page.get_by_role("button", name="Do starts matter?").click()
    page.evaluate("() => { location.hash = '#live:data=moons&other.method=single' }")
    page.wait_for_function("!document.querySelector('[data-guided]')")
    assert page.locator("[data-guide]:visible").count() == 0
    assert page.locator("#live .ensedu-t-stage section").count() == 2


# Taking it along.


def test_a_link_and_a_script_are_copied(open_live):
    page = open_live(permissions=["clipboard-read", "clipboard-write"])
    page.evaluate("() => { begin() }")
    page.evaluate("until(() => meter())")
    copied = "navigator.clipboard.readText()"
    press(page, "Copy link")
    page.evaluate("until(() => story().startsWith('Copied: a link'))")
    link = page.evaluate(copied)
    assert link.startswith(page.url.partition("#")[0] + "#live:")
    decoded = "link => ensedu.decode(link.split('#live:')[1], stateOf({ data: 'moons' })).state"
    assert page.evaluate(decoded, link) == state(page)
    train(page, 9)
    press(page, "Copy as Python")
    page.evaluate("until(() => story().startsWith('Copied: a script'))")
    assert page.evaluate(copied) == page.evaluate("ensedu.script(t.state, 9)")
    press(page, "Clear")
    press(page, "Copy as Python")
    assert story(page) == "There is no point to learn from: add one."


def test_without_a_clipboard_a_link_stands_in_a_box(live):
    page = live()
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('no')) }")
    press(page, "Copy link")
    box = page.get_by_label("Text to copy")
    page.evaluate("until(() => document.activeElement.tagName === 'TEXTAREA')")
    assert "#live:task=regression" in box.input_value()
    assert story(page).startswith("Copy it from the box")


# For all readers, on all machines.


def test_no_task_of_the_page_takes_long_while_it_trains(live):
    page = live({"width": 50, "hidden_layers": 2, "ensemble_size": 8})
    page.evaluate("""() => {
      window.longest = 0;
      const look = (list) => list.getEntries().forEach(({ duration }) => (longest = Math.max(longest, duration)));
      new PerformanceObserver(look).observe({ type: "longtask" });
      t.play();
    }""")
    page.evaluate("until(() => t.steps > 30)")
    page.wait_for_timeout(1000)
    assert page.evaluate("longest") < 200


def test_what_is_written_while_it_trains_has_no_more_than_itself_styled_anew():
    """A part of the trainer that is styled by what is in it costs all of the page each time."""
    sheet = (HERE / "live/live.css").read_text(encoding="utf-8")
    assert not re.findall(r"\.ensedu-t-[^{},]*:has\(", sheet)


def test_words_change_in_their_node_while_it_trains(live):
    """Another node would have all of a page styled anew, many times a second."""
    page = live()
    page.evaluate("""() => {
      window.nodes = 0;
      new MutationObserver((all) => (nodes += all.length))
        .observe(root().querySelector(".ensedu-t-bench"), { childList: true, attributes: true, subtree: true });
      t.play(1e9);
    }""")
    # The buttons and the plot's height have followed.
    before = page.evaluate("until(() => t.steps > 20).then(() => { nodes = 0; return meter() })")
    page.evaluate("before => until(() => t.steps > 200 && meter() !== before)", before)
    page.wait_for_timeout(2500)  # more than two sentences
    assert page.evaluate("nodes") <= 1  # that it is no longer read aloud


FORMS = {
    "two": {"other": OTHER},
    "maps": {"data": "blobs", "other": {**OTHER, "method": "rank1", "start": "signs"}},
}


@pytest.mark.parametrize(("form", "mode"), [("two", "dark"), ("maps", "light")])
def test_axe_finds_nothing_on_a_desk_and_on_a_phone(live, form, mode):
    page = live(FORMS[form], mode)
    train(page, 3)
    assert list(accessible(page)) == []


@pytest.mark.parametrize("form", FORMS)
def test_nothing_leaves_a_phone(live, form):
    page = live(FORMS[form], viewport=PHONE)
    train(page, 3)
    page.evaluate("document.querySelectorAll('details').forEach((box) => (box.open = true))")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


# Compared with a band.

X = np.linspace(-4.6, 4.6, 93)
STD = 0.1 + 0.9 * np.exp(-(X**2))
COMPARED = {
    **USUAL, "method": "mean_field", "activation": "tanh", "parametrization": "ntk",
    "prior_scale": 2, "initial_std": 0.1, "task": "regression", "noise": 0.1,
    "points": toys.points("gap", 0.1, 3).tolist(),
}  # fmt: skip
BEHIND = reference_band.checked_band(
    {"x": X, "mean": np.sin(1.5 * X), "std": STD, "label": "NUTS"}, COMPARED
)
MOUNT = {"behind": BEHIND, "small": True}
# What it does not belong to, and what is then said.
ELSEWHERE = {
    "points": ([[0, 1], *COMPARED["points"][1:]], "other points"),
    "noise": (0.2, "noise σ 0.1"),
    "width": (6, "width 5"),
    "hidden_layers": (2, "1 hidden layer"),
    "activation": ("relu", "tanh"),
    "parametrization": ("standard", "NTK weights"),
    "prior_scale": (1, "prior σ 2"),
    "head": ("variance", "a known noise"),
    "method": ("deep_ensemble", "the mean-field BNN"),
}
NAMED = "NUTS (± 2 std)"


def test_a_band_stands_behind_its_own_model_and_points_alone(live):
    page = live(COMPARED, mount=MOUNT, spied=True)

    def changed(part):
        """Whether the band has its name, and what is said, after a change and two steps."""
        page.evaluate("async (part) => { t.set(part); await train(1); written.clear(); await train(1) }", part)  # fmt: skip
        page.evaluate("until(() => story().includes('band is'), 'the story')")
        return page.evaluate(f"written.has('{NAMED}')"), story(page)

    for part in ({}, {"kl_weight": 10}, {"initial_std": 1}, {"lr": 0.03}, {"seed": 4}):
        shown, words = changed(part)
        assert shown and "hidden" not in words
        found = re.search(r" NUTS: ±\s([\d.]+) and ±\s([\d.]+)\.$", words)
        points = np.sort(np.array(COMPARED["points"])[:, 0])
        own = STD[np.abs(X - points[:, None]).argmin(axis=1)]
        assert float(found[1]) == pytest.approx(2 * own.mean(), abs=0.0051)
        assert float(found[2]) == pytest.approx(2.0, abs=0.0051)
    for key, (value, owner) in ELSEWHERE.items():
        shown, words = changed({key: value})
        assert not shown, key
        assert words.endswith(f" NUTS is hidden: it had {owner}."), key
        assert "NUTS" not in page.locator("canvas").first.get_attribute("aria-label")
        shown, words = changed({key: COMPARED[key]})
        assert shown and "hidden" not in words, key
        assert (
            page.locator("canvas")
            .first.get_attribute("aria-label")
            .startswith("Curves of all members before the band of NUTS")
        )


def test_a_side_of_another_method_has_no_band(live):
    other = {**OTHER, "method": "deep_ensemble"}
    page = live({**COMPARED, "other": other}, mount={"behind": BEHIND})
    train(page, 2)
    page.evaluate("until(() => story().includes('band is'), 'the story')")
    own, beside = re.split(r" (?=B: )", story(page))
    assert " NUTS: " in own and " NUTS is hidden: it had the mean-field BNN." in beside


SMALL_FORMS = {
    "distributions": (
        COMPARED, {"behind": BEHIND}, {"KL weight": ("kl_weight", 10), "initial σ": ("initial_std", 0.01)},
    ),
    "dropped units": (
        {"method": "mc_dropout", "width": 50, "other": {**OTHER, "method": "deep_ensemble"}}, {},
        {"rate": ("p", 0.5)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", SMALL_FORMS)
def test_the_small_form_sets_what_trains_its_method_and_begins_anew(live, form):
    part, rest, settings = SMALL_FORMS[form]
    page = live(part, mount={"small": True, **rest})
    shown = page.locator(".ensedu-t-settings")
    assert shown.get_by_role("slider").count() == 0
    assert shown.get_by_role("radiogroup").count() == len(settings)
    before = state(page)
    train(page, 5)
    for name, (key, value) in settings.items():
        shown.get_by_role("radiogroup", name=name).get_by_role("radio", name=str(value), exact=True).check()  # fmt: skip
        assert state(page)[key] == value
        assert aloud(page) == "Begun anew, because what is trained has changed."
        train(page, 3)
        assert page.evaluate("t.steps") == 3
    for _ in settings:
        press(page, "Undo")
    assert state(page) == before


CLOUDED = {
    "method": "rank1", "start": "normal-0.1", "prior_scale": 0.1, "width": 50, "hidden_layers": 2,
}  # fmt: skip


def test_distributions_stand_beside_the_curve_and_go_to_the_prior(live):
    page = live(CLOUDED, mount={"small": True, "distributions": True})
    settings = page.locator(".ensedu-t-settings")
    assert settings.get_by_role("radiogroup").count() == 2
    assert page.locator("canvas[data-kind=cloud]").count() == 1
    train(page, 1)
    page.evaluate("until(() => story().includes('above 0.010; the prior has 0.1.'), 'the start')")
    middle = "Number(/^Half of the σ lie above (.*);/.exec(story())?.[1])"
    for scale in (0.3, 0.1):
        settings.get_by_role("radio", name=str(scale), exact=True).check()
        assert state(page)["prior_scale"] == scale
        train(page, 500)
        page.evaluate(f"until(() => {middle} > {0.5 * scale}, 'the end')")
        assert story(page).endswith(f"the prior has {scale}.")


def test_means_below_0_are_told_until_the_prior_has_them(live):
    page = live({**CLOUDED, "start": "signs"}, mount={"small": True, "distributions": True})
    train(page, 1)
    page.evaluate("until(() => story().includes('are below 0'), 'the start')")
    rho = "Math.log(Math.expm1(0.2))"
    page.evaluate(
        "async () => { const [side] = (await t.weights()).sides;"
        "  for (const [name, array] of Object.entries(side))"
        f"    if (/_(mean|rho)$/.test(name)) array.fill(name.endsWith('rho') ? {rho} : 1);"
        "  t.put([side]); }"
    )
    train(page, 1)
    page.evaluate("until(() => story().includes('Half of the σ lie above 0.20'), 'as put')")


def test_a_cloud_has_its_dots_at_their_places(live):
    page = live(CLOUDED, mount={"small": True, "distributions": True}, viewport=PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    canvas = page.locator("canvas[data-kind=cloud]")
    box = canvas.bounding_box()
    found = page.evaluate(
        "([width, height]) => { const frame = ensedu.cloudFrame(width, height);"
        "  return [frame.x(-1), frame.x(1), frame.y(0.01), frame.y(0.3)]; }",
        [box["width"], box["height"]],
    )
    left, right, low, high = found
    assert 0 < left < right < box["width"] and 0 < high < low < box["height"]
    colors = canvas.evaluate(
        """(canvas, [left, right, low, width]) => {
          const pen = copyOf(canvas);
          const ratio = canvas.width / width;
          const at = (x) => [...pen.getImageData(Math.round(ratio * x), Math.round(ratio * low), 1, 1).data];
          return [at(left), at(right)];
        }""",
        [left, right, low, box["width"]],
    )
    # Near 1 at the start, and nothing at -1.
    assert colors[0][3] == 0
    assert colors[1][3] > 0 and colors[1][1] > colors[1][0]


@pytest.mark.parametrize(("mode", "viewport"), [("light", DESK), ("dark", PHONE)])
def test_a_comparison_with_a_band_can_be_read_and_does_not_jump(live, mode, viewport):
    page = live(COMPARED, mode, mount=MOUNT, viewport=viewport)
    high = "root().querySelector('.ensedu-t-story').getBoundingClientRect().height"
    before = page.evaluate(high)
    train(page, 3)
    page.evaluate("until(() => story().includes('NUTS:'), 'the story')")
    assert page.evaluate(high) == before
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    page.evaluate("part => t.set(part)", {"points": [[0, 1]]})
    train(page, 1)
    page.evaluate("until(() => story().includes('hidden'), 'the story')")
    assert page.evaluate(high) == before
    assert list(accessible(page)) == []  # on a desk and on a phone


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_two_bands_bear_their_names_and_no_more(live, viewport):
    page = live(COMPARED, mount=MOUNT, spied=True, viewport=viewport)
    for seed, steps in itertools.product((3, 4, 5), (0, 60)):
        page.evaluate("seed => t.set({ seed })", seed)
        train(page, 1 + steps)
        page.evaluate("written.clear()")
        train(page, 1)
        placed = page.evaluate("[...written].map(([words, place]) => [words, ...place])")
        names = [words for words, *_ in placed if not re.fullmatch(r"[\u22120-9]+", words)]
        assert sorted(names) == ["Bayes by Backprop", NAMED, "true curve"]
        boxes = [box for words, *box in placed if words in names]
        for left, y, length in boxes:
            assert 0 <= left and left + length <= viewport["width"] and y > 0
        for (left, y, length), (other, beside, wide) in itertools.combinations(boxes, 2):
            apart = left + length < other or other + wide < left
            assert apart or abs(y - beside) >= 13, names
    assert not page.locator(".ensedu-t-key").is_visible()


# The page as a whole.

PAGE = "book/live.html"
BOXES = """() => Object.fromEntries([".ensedu-t-stage", ".ensedu-t-guides", ".ensedu-t-settings", ".ensedu-t-story"].map((part) => {
  const { left, top, right, bottom, width } = document.querySelector(part).getBoundingClientRect();
  return [part.slice(10), { left, top, right, bottom, width }];
}))"""
SHIFTS = """
  window.shifts = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) shifts.push(entry.value);
  }).observe({ type: "layout-shift", buffered: true });
"""


def test_all_controls_stand_beside_the_plot_on_one_screen(page, server):
    page.goto(f"{server}{PAGE}")
    chosen = page.locator(".ensedu-t-settings select").filter(has_text="BatchEnsemble").first
    assert not page.locator(".bd-sidebar-secondary").is_visible()
    for method in METHODS:
        chosen.select_option(method)
        page.evaluate("scrollTo(0, 0)")
        boxes = page.evaluate(BOXES)
        plot, controls = boxes["stage"], boxes["settings"]
        assert plot["right"] < controls["left"] and abs(plot["top"] - boxes["guides"]["top"]) < 80
        assert controls["bottom"] <= DESK["height"], method
        assert boxes["story"]["bottom"] <= DESK["height"], method
        assert plot["width"] >= 560


@pytest.mark.parametrize(("viewport", "least"), [(DESK, 380), (PHONE, 200)], ids=["desk", "phone"])
def test_the_map_of_classes_is_large(open_page, server, viewport, least):
    page = open_page(viewport=viewport)
    page.goto(f"{server}{PAGE}#live:data=moons")
    canvas = page.locator("canvas[data-kind=mean]")
    canvas.wait_for()
    page.wait_for_function("document.querySelector('canvas[data-kind=mean]').height > 200")
    box = canvas.bounding_box()
    assert least <= box["width"] and box["height"] <= 0.75 * viewport["height"]
    if viewport == PHONE:
        assert box["height"] <= 240


@pytest.mark.parametrize("data", ["gap", "moons"])
def test_on_a_phone_the_plot_stays_while_all_controls_pass_below(open_page, server, data):
    page = open_page(viewport=PHONE, has_touch=True, is_mobile=True)
    page.goto(f"{server}{PAGE}#live:data={data}")
    plot = page.locator("canvas[role=application]").first
    plot.wait_for()
    controls = page.locator(".ensedu-t-settings .ensedu-t-control:visible")
    sheet = page.locator(".ensedu-t-settings")
    for name, least in (("Network", 3), ("Data", 2), ("Training", 1), ("More", 6)):
        assert controls.count() == 0
        tab = page.get_by_role("button", name=name, exact=True)
        tab.tap()
        assert controls.count() >= least
        bar = page.locator(".bd-header-article").bounding_box()
        for control in controls.all():
            control.scroll_into_view_if_needed()
            page.evaluate(small.AT_REST)
            own, above, box = control.bounding_box(), plot.bounding_box(), sheet.bounding_box()
            assert bar["y"] + bar["height"] <= above["y"]
            assert above["y"] + above["height"] <= box["y"] + 1
            assert box["y"] < own["y"] and own["y"] + own["height"] <= PHONE["height"] + 1
            assert tab.bounding_box()["y"] >= box["y"]
        # At the top of the page it leaves more than half.
        page.evaluate("scrollTo(0, 0)")
        page.evaluate(small.AT_REST)
        assert page.locator(".ensedu-t-title").is_visible()
        assert sheet.bounding_box()["height"] <= 0.45 * PHONE["height"] + 1
        tab.tap()


TOUCH = {"viewport": PHONE, "has_touch": True, "is_mobile": True}


@pytest.mark.parametrize("options", [{}, TOUCH], ids=["mouse", "finger"])
def test_help_is_for_the_hand_that_the_reader_has(open_page, server, options):
    page = open_page(**options)
    page.goto(server + PAGE)
    hint = page.locator("#live-hint")
    hint.wait_for()
    words = hint.inner_text().lower()
    assert ("click" in words, "keyboard" in words, "tap " in words) == (
        (False, False, True) if options else (True, True, False)
    )


def test_on_a_phone_words_of_the_picture_stand_between_it_and_the_settings(live):
    page = live(viewport=PHONE, has_touch=True, is_mobile=True)
    order = ["stage", "key", "hint", "story", "settings"]
    boxes = [
        page.locator(f".ensedu-t-bench .ensedu-t-{part}").first.bounding_box() for part in order
    ]
    for above, below in itertools.pairwise(boxes):
        assert above["y"] + above["height"] <= below["y"]
    assert boxes[3]["y"] + boxes[3]["height"] - boxes[0]["y"] < 450


def test_on_a_phone_the_meter_of_two_networks_stays_as_high(live):
    large = {"width": 50, "hidden_layers": 2, "ensemble_size": 8}
    page = live({**large, "other": {**OTHER, "ensemble_size": 8}}, viewport=PHONE)
    high = "root().querySelector('.ensedu-t-meter').getBoundingClientRect().height"
    before = page.evaluate(high)
    page.evaluate("() => { t.play(1e9) }")
    page.evaluate("until(() => t.steps > 20 && / [1-9]/.test(meter()))")
    assert page.evaluate(high) == before


def test_on_a_phone_settings_open_one_group_at_a_time_below_the_picture(open_page, server):
    page = open_page(**TOUCH | {"viewport": {"width": 390, "height": 844}})
    page.goto(server + PAGE)
    tabs = page.get_by_role("group", name="Settings").get_by_role("button")
    tabs.first.wait_for()
    groups = page.locator(".ensedu-t-settings > :is(fieldset, details):visible")
    assert tabs.all_inner_texts() == ["Network", "Data", "Training", "More"]
    for tab in tabs.all():
        box = tab.bounding_box()
        assert box["y"] + box["height"] <= 844 and box["height"] >= 40
    for name in ("Data", "Network", "Training"):
        tab = page.get_by_role("button", name=name, exact=True)
        tab.tap()
        assert groups.count() == 1
        assert page.locator(f"fieldset.ensedu-t-{name.lower()}").is_visible()
        expanded = [each.get_attribute("aria-expanded") for each in tabs.all()]
        assert expanded.count("true") == 1 and tab.get_attribute("aria-expanded") == "true"
    page.get_by_role("button", name="Training").tap()
    assert groups.count() == 0
    page.get_by_role("button", name="Compare").tap()
    assert tabs.all_inner_texts() == ["A", "B", "Data", "Training", "More"]
    page.get_by_role("button", name="B", exact=True).tap()
    assert page.get_by_role("group", name="Second network").is_visible()
    page.get_by_role("button", name="Compare").tap()
    assert tabs.all_inner_texts() == ["Network", "Data", "Training", "More"]
    desk = open_page(viewport=DESK)
    desk.goto(server + PAGE)
    desk.get_by_role("group", name="Network", exact=True).wait_for()
    assert not desk.get_by_role("group", name="Settings").is_visible()


@pytest.mark.parametrize(
    "options",
    [{"viewport": DESK}, TOUCH | {"viewport": {"width": 390, "height": 844}}],
    ids=["desk", "phone"],
)
def test_an_experiment_moves_nothing_and_all_of_it_is_in_sight(open_page, server, options):
    page = open_page(**options)
    page.goto(server + PAGE)
    plots = page.locator("canvas[role=application]")
    plots.wait_for()
    page.evaluate(small.AT_REST)
    alone = plots.bounding_box()
    tabs = page.get_by_role("group", name="Experiments").get_by_role("button")
    chips = [tab.bounding_box() for tab in tabs.all()]
    assert all(box["y"] + box["height"] <= options["viewport"]["height"] for box in chips)
    tabs.nth(1).click()
    page.wait_for_function("document.querySelectorAll('canvas[role=application]').length === 2")
    page.evaluate(small.AT_REST)
    assert page.evaluate("scrollY") == 0 and [tab.bounding_box() for tab in tabs.all()] == chips
    before = [plot.bounding_box() for plot in plots.all()]
    for box in before:
        assert box["y"] == alone["y"] and box["width"] == alone["width"] / 2
        assert alone["height"] - 24 <= box["height"] <= alone["height"]
    ask = page.locator("[data-open] > .ensedu-t-ask")
    guesses = page.get_by_role("radiogroup", name="Your guess").locator("visible=true")
    asked = ask.bounding_box()
    if options["viewport"] != DESK:
        assert asked["y"] + asked["height"] <= alone["y"]
    page.get_by_role("radio", name="both", exact=True).check(force=True)
    page.get_by_role("button", name="▶ Run").click()
    page.wait_for_function("document.querySelector('[data-open] .ensedu-t-answer').textContent")
    assert [plot.bounding_box() for plot in plots.all()] == before
    assert ask.bounding_box() == asked and page.evaluate("scrollY") == 0
    answer = page.locator("[data-open] > .ensedu-t-answer")
    for part in (ask, guesses, page.get_by_role("button", name="Run again"), answer):
        box = part.bounding_box()
        assert box["x"] + box["width"] <= options["viewport"]["width"]
        last = part != answer or options["viewport"] == DESK
        assert box["y"] + (box["height"] if last else 20) <= options["viewport"]["height"]
    if options["viewport"] == DESK:  # it takes the place of what was set
        assert not page.get_by_text("Set here:").locator("visible=true").count()


def test_on_a_phone_all_experiments_stand_above_the_plot(open_page, server):
    page, width = open_page(**TOUCH), PHONE["width"]
    page.goto(server + PAGE)
    tabs = page.get_by_role("group", name="Experiments").get_by_role("button")
    tabs.first.wait_for()
    boxes = [tab.bounding_box() for tab in tabs.all()]
    assert len(boxes) == 4 and len({box["y"] for box in boxes}) == 2
    assert all(box["height"] >= 40 and box["x"] + box["width"] <= width for box in boxes)
    plot = page.locator("canvas[role=application]").bounding_box()
    assert max(box["y"] + box["height"] for box in boxes) < plot["y"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_one_button_is_filled_and_what_is_chosen_is_not(live):
    page = live()
    filled = """() => [...document.querySelectorAll("button, .ensedu-t-toggle span")].filter((one) => one.checkVisibility() &&
      getComputedStyle(one).backgroundColor.startsWith("rgb(")
    ).map((one) => one.textContent)"""
    press(page, "Compare")
    assert page.evaluate(filled) == ["▶ Play"]
    press(page, "Do starts matter?")
    assert page.evaluate(filled) == []  # before a guess
    page.get_by_role("radio", name="more alike").check()
    assert page.evaluate(filled) == ["▶ Run"]


def test_on_a_phone_a_comparison_keeps_its_pictures_and_its_key_in_view(open_page, server):
    page = open_page(**TOUCH | {"viewport": {"width": 390, "height": 844}})
    page.goto(server + PAGE)
    canvas = page.locator("canvas[role=application]")
    canvas.wait_for()
    one, high = canvas.bounding_box()["height"], "document.documentElement.scrollHeight"
    before = page.evaluate(high)
    page.get_by_role("button", name="Step").tap()
    page.wait_for_function(
        "/^step [1-9]/.test(document.querySelector('.ensedu-t-meter').textContent)"
    )
    page.get_by_role("button", name="Compare").tap()
    page.wait_for_function("document.querySelectorAll('canvas[role=application]').length === 2")
    assert page.locator(".ensedu-t-story").inner_text().startswith("Both begin anew")
    assert page.evaluate(high) - before < 220  # the second picture, and a line for its parameters
    for part in (*canvas.all(), page.locator(".ensedu-t-key")):
        box = part.bounding_box()
        assert 0 <= box["y"] and box["y"] + box["height"] <= 844
    assert canvas.first.bounding_box()["height"] >= 0.85 * one
    for title in page.locator(".ensedu-t-title").all():
        assert title.is_visible()
    page.get_by_role("button", name="Compare").tap()
    assert page.locator(".ensedu-t-story").inner_text().startswith("One network again")


@pytest.mark.parametrize(
    ("address", "above", "below"), [("book/intro.html", 0, 4), (PAGE, 6, 0)], ids=["intro", "live"]
)
def test_on_a_phone_all_buttons_stand_in_one_full_row(open_page, server, address, above, below):
    page, width = open_page(**TOUCH), PHONE["width"]
    page.goto(server + address)
    page.locator(".ensedu-t-tools button").first.wait_for()
    boxes = page.evaluate("""() => [...document.querySelectorAll(".ensedu-t-tools button")].map((one) => {
      const range = new Range();
      range.selectNodeContents(one);
      const [own, words] = [one, range].map((each) => each.getBoundingClientRect());
      return [own.top, own.right, Math.min(words.left - own.left, own.right - words.right), own.height];
    })""")
    plot = page.locator("canvas[role=application]").bounding_box()
    tops = [top for top, *_ in boxes]
    assert sum(top < plot["y"] for top in tops) == above
    assert sum(top > plot["y"] + plot["height"] - 1 for top in tops) == below
    assert len(set(tops)) == 1
    assert width - 20 <= max(right for _, right, *_ in boxes) <= width - 16
    assert min(room for *_, room, _ in boxes) > 1
    assert min(high for *_, high in boxes) >= 44


@pytest.mark.parametrize("options", [{"viewport": DESK}, TOUCH], ids=["desk", "phone"])
def test_members_and_their_picture_are_in_the_first_view_of_the_book(open_page, server, options):
    page = open_page(**options)
    page.goto(server + "book/intro.html")
    trainer = page.locator(".ensedu-trainer .ensedu-t").first
    trainer.wait_for()
    members, canvas = trainer.get_by_role("slider", name="members").bounding_box(), trainer.locator("canvas[role=application]").bounding_box()  # fmt: skip
    if options["viewport"] == DESK:
        assert members["x"] >= canvas["x"] + canvas["width"] and members["y"] < canvas["y"] + 100
    else:
        assert members["y"] + members["height"] <= canvas["y"]
    assert canvas["y"] + canvas["height"] <= options["viewport"]["height"]
    # Whoever goes by keyboard meets the controls in the order in which they stand: above all the
    # question, and what skips it.
    order = trainer.evaluate("e => [...e.querySelectorAll('input, button:not(.ensedu-t-skip), canvas')].map((one) => one.tagName)")  # fmt: skip
    assert order.index("INPUT") < order.index("BUTTON") < order.index("CANVAS")


@pytest.mark.parametrize("viewport", [DESK, {"width": 1920, "height": 1080}], ids=str)
def test_two_curves_of_a_comparison_fill_the_place_of_one(open_page, server, viewport):
    page = open_page(viewport=viewport)
    page.goto(server + PAGE)
    canvas, hint = page.locator("canvas[role=application]"), page.locator(".ensedu-t-hint")
    canvas.wait_for()
    one, below = canvas.bounding_box(), hint.bounding_box()
    compare = page.get_by_role("button", name="Compare")
    compare.click()
    page.wait_for_function("document.querySelectorAll('canvas[role=application]').length === 2")
    assert compare.get_attribute("aria-pressed") == "true"
    first, second = (each.bounding_box() for each in canvas.all())
    assert first["y"] == second["y"] == one["y"]
    assert first["width"] == second["width"] == one["width"] / 2
    assert one["x"] == first["x"] and second["x"] == first["x"] + first["width"]
    # Where it is too narrow for names, the key takes a line.
    keyed = page.locator(".ensedu-t-key").is_visible()
    assert keyed == (viewport == DESK)
    assert first["height"] == second["height"] == one["height"] - 24 * keyed
    assert hint.bounding_box() == below
    story = page.locator(".ensedu-t-story").bounding_box()
    assert story["y"] + story["height"] <= viewport["height"]
    # Each has a loss of its own.
    page.locator(".ensedu-t-settings summary").click()
    for name in ("loss", "loss of B"):
        assert page.get_by_role("radiogroup", name=name, exact=True).is_visible()


def test_maps_of_a_comparison_are_large_and_in_view_with_their_words(page, server):
    page.goto(server + PAGE + "#live:data=moons&other.method=batch_ensemble")
    page.locator(".ensedu-t-stage section").nth(1).wait_for()
    boxes = [one.bounding_box() for one in page.locator(".ensedu-t-stage canvas").all()]
    assert len(boxes) == 4
    upper, lower = boxes[:2], boxes[2:]
    assert len({box["y"] for box in upper}) == len({box["y"] for box in lower}) == 1
    assert upper[0]["y"] + upper[0]["height"] <= lower[0]["y"]
    assert min(box["width"] - 42 for box in boxes) >= 150  # without the ticks
    story = page.locator(".ensedu-t-story").bounding_box()
    assert story["y"] + story["height"] <= DESK["height"]


def test_two_of_one_method_are_told_apart(live):
    page = live({"other": OTHER | {"method": "deep_ensemble", "start": "different"}})
    usual = page.evaluate("stateOf({})")
    same = {key: usual[key] for key in OTHER}
    cases = {
        "": {},
        ", starts all the same": {"start": "same"},
        ", mixture loss": {"loss": "mixture"},
    }
    for words, part in cases.items():
        page.evaluate("part => t.set(part)", {"other": {**same, **part}})
        titles = page.locator(".ensedu-t-title").all_inner_texts()
        assert titles[0].startswith("A: Deep ensemble of 2")
        assert titles[1] == f"B: Deep ensemble of 2{words or ', as A'}"
    several = {"method": "mean_field", "start": "different"}
    page.evaluate(
        "part => t.set(part)",
        {**several, "ensemble_size": 2, "other": {**same, **several, "ensemble_size": 3}},
    )
    title = page.locator(".ensedu-t-title").last.inner_text()
    assert title.startswith("B: ") and title.endswith(", 3 draws a step")


def test_numbers_beside_losses_are_not_cut(bench):
    bench.evaluate(SPY)
    ends = bench.evaluate("""() => {
      const canvas = document.createElement("canvas");
      const side = { average: [0.00004321, 0.5, 1], mixture: [0.00004321, 0.5, 1] };
      const records = { steps: [1, 2, 3], sides: [side] };
      ensedu.losses(canvas, 150, records, ["single"], ensedu.looks(document.body));
      return [...written].map(([words, [right, , wide]]) => [words, right - wide]);
    }""")
    assert "0.000043" in dict(ends)
    assert all(left >= 0 for words, left in ends if re.fullmatch(r"[0-9.]+", words))


def test_lines_and_bands_bear_their_names_or_a_key_stands_below(live):
    for viewport, labeled in ((DESK, True), (PHONE, False)):
        page = live(spied=True, viewport=viewport)
        train(page, 3)
        names = {
            "true curve",
            "mean",
            "members",
            "inner band: members differ",
            "outer band: + noise (± 2 std)",
        }
        assert names & set(page.evaluate("[...written.keys()]")) == (names if labeled else set())
        key = page.locator(".ensedu-t-key")
        assert key.is_visible() != labeled
        if not labeled:
            assert key.inner_text() == "mean members inner band outer band true"
            method = state(page)["method"]
            colors = (
                "e => [...new Set([...e.querySelectorAll('i')].map((one) => one.dataset.method))]"
            )
            assert key.evaluate(colors) == [method, None]
            page.evaluate("part => t.set(part)", {"other": OTHER | {"method": "mean_field"}})
            assert key.evaluate(colors) == [method, "mean_field", None]


# Curves of members as far apart as a share of what they are in the gap; and the places of their
# names, and along x of what leads from them: upright strokes.
SPREAD = """([share, extra, height]) => {
  written.clear();
  const leaders = [];
  let drawn = [];
  const pen = CanvasRenderingContext2D.prototype;
  const { beginPath, moveTo, lineTo, stroke } = pen;
  pen.beginPath = function () { drawn = []; beginPath.call(this); };
  pen.moveTo = function (x, y) { drawn.push([x, y]); moveTo.call(this, x, y); };
  pen.lineTo = function (x, y) { drawn.push([x, y]); lineTo.call(this, x, y); };
  pen.stroke = function () {
    if (drawn.length === 2 && drawn[0][0] === drawn[1][0]) leaders.push(drawn[0][0]);
    stroke.call(this);
  };
  const state = stateOf({ noise: 0.1 });
  state.points = [...state.points, ...extra];
  const truth = ensedu.TOYS.gap.truth;
  const F = 5;
  const bump = (x) => Math.exp(-(x ** 2)) + 0.3 * (x > 2);
  const shift = (f) => share * (f - 2) * 0.6;
  const means = [...Array(F)].flatMap((_, f) => [...ensedu.GRID].map((x) => truth(x) + (shift(f) + 0.3 * share) * bump(x)));
  const look = ensedu.looks(document.body);
  const size = { width: 640, height };
  const canvas = document.createElement("canvas");
  ensedu.curves(canvas, size, { means, raw: null }, ensedu.GRID, state, "batch_ensemble", look, {}, {});
  Object.assign(pen, { beginPath, moveTo, lineTo, stroke });
  const view = ensedu.frameOf("regression", size.width, size.height);
  const line = (of) => [...ensedu.GRID].map((x) => [view.x(x), view.y(of(x))]);
  return {
    leaders, names: [...written].map(([words, place]) => [words, ...place]),
    lines: [line(truth), line((x) => truth(x) + 0.3 * share * bump(x))],
    dots: state.points.map(([x, y]) => [view.x(x), view.y(y)]),
    wide: view.y(0) - view.y(4 * share * 0.6 * Math.SQRT2),
  };
}"""


@pytest.mark.parametrize("share", [0, 0.05, 0.4, 1])
@pytest.mark.parametrize(
    "extra",
    [[], [[0.1, 1.3], [-0.4, -0.2]], [[3, -1.5], [3.2, -1.2]]],
    ids=["gap", "filled", "low"],
)
@pytest.mark.parametrize("height", [210, 340])
def test_names_cover_neither_curve_nor_point_nor_each_other(bench, share, extra, height):
    bench.evaluate(SPY)
    found = bench.evaluate(SPREAD, [share, extra, height])
    names = [name for name in found["names"] if not re.fullmatch(r"[\u22120-9]+", name[0])]
    assert {"true curve", "outer band: + noise (± 2 std)", "widest gap"} <= {
        words for words, *_ in names
    }
    differ = any("inner" in words for words, *_ in names)
    assert differ == (found["wide"] >= 20) or 12 < found["wide"] < 20  # as a word is high
    for words, left, y, wide in names:
        assert 34 <= left and left + wide <= 632 and 8 <= y - 6 and y + 6 <= height - 24
        for line in found["lines"]:
            own = [at for x, at in line if left - 2 < x < left + wide + 2]
            assert not min(own) - 7 < y < max(own) + 7, words
        for x, at in found["dots"]:
            assert not (left - 2 < x < left + wide + 2 and abs(y - at) < 8), words
    for (_, left, y, wide), (_, other, beside, room) in itertools.combinations(names, 2):
        apart = left + wide < other or other + room < left
        assert apart or abs(y - beside) >= 13, names
    leaders = sorted(found["leaders"])
    assert all(b - a >= 24 for a, b in itertools.pairwise(leaders))


def test_the_second_of_two_plots_does_not_repeat_names(live):
    page = live({"other": OTHER | {"method": "mean_field"}}, mount={"small": True}, spied=True)
    train(page, 3)
    page.evaluate("() => { writing.length = 0 }")
    page.evaluate("t.step()")
    page.evaluate("until(() => writing.some(([, words]) => words.includes('draws')), 'both')")
    first, second = (
        {words for canvas, words in page.evaluate("writing") if canvas == i} for i in range(2)
    )
    assert {"true curve", "mean", "members", "widest gap"} <= first
    both = {one for one in first & second if re.match("[a-z]", one)}
    assert both == {"widest gap"} and "draws" in second


@pytest.mark.parametrize("part", [{}, {"method": "single", "ensemble_size": 1}])
def test_losses_bear_the_names_of_their_axes_and_lines(live, part):
    page = live(part, spied=True)
    page.evaluate("root().querySelector('details:has(.ensedu-t-losses)').open = true")
    page.evaluate("until(() => written.has('Losses come with the first steps.'), 'the words')")
    train(page, 40)
    page.evaluate("until(() => written.has('NLL'), 'the losses')")
    names = page.evaluate("[...written.keys()]")
    assert "step" in names
    assert ("average" in names) == ("mixture" in names) == (not part)


def test_names_beside_losses_cover_no_spike(bench):
    bench.evaluate(SPY)
    found = bench.evaluate("""() => {
      const steps = [...Array(400).keys()].map((i) => i + 1);
      const line = (level, spikes) => steps.map((t) => level + 3 / t + (spikes.includes(t) ? 0.8 : 0));
      const near = [...Array(40).keys()].map((i) => 20 + 7 * i);
      const side = { average: line(1, near), mixture: line(0, near.map((t) => t + 3)) };
      const points = [];
      const canvas = document.createElement("canvas");
      const context = canvas.getContext("2d");
      const { lineTo } = context;
      context.lineTo = (x, y) => { points.push([x, y]); lineTo.call(context, x, y); };
      ensedu.losses(canvas, 150, { steps, sides: [side] }, ["single"], ensedu.looks(document.body));
      return { average: written.get("average"), mixture: written.get("mixture"), points };
    }""")
    for name, sign in (("average", 0), ("mixture", -1)):
        x, y, wide = found[name]
        left = x + sign * wide
        assert not [
            at for at, drawn in found["points"] if left < at < left + wide and abs(drawn - y) < 6
        ]


@pytest.mark.parametrize("part", [{"start": "same"}, {"method": "single", "ensemble_size": 1}])
def test_curves_that_are_one_have_no_names_of_many(live, part):
    page = live(part, spied=True)
    train(page, 3)
    found = set(page.evaluate("[...written.keys()]"))
    assert not found & {"members", "mean", "inner band: members differ"}
    assert ("2 members, one curve" in found) == (part.get("start") == "same")
    phone = live(part, viewport=PHONE)
    train(phone, 3)
    key = phone.locator(".ensedu-t-key")
    phone.evaluate(
        "until(() => root().querySelector('.ensedu-t-key').innerText.includes('inner') === false)"
    )
    assert key.inner_text() == "mean outer band true"
    phone.evaluate("part => t.set(part)", {"method": "deep_ensemble", "ensemble_size": 2, "start": "different"})  # fmt: skip
    train(phone, 3)
    phone.evaluate("until(() => root().querySelector('.ensedu-t-key').innerText.includes('inner'))")


def test_curves_that_differ_beyond_the_gap_do_not_agree_everywhere(bench):
    story = bench.evaluate("""() => {
      const state = stateOf({ data: "own", points: [[-1, 0], [1, 0]] });
      const means = [...Array(2)].flatMap((_, f) => [...ensedu.GRID].map((x) => (x > 2 ? f : 0)));
      return ensedu.story({ sides: [{ means, raw: null }] }, state);
    }""")
    assert "agree everywhere" not in story


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_both_bands_are_seen_on_their_ground(bench, theme):
    """The ratio of contrast, as WCAG has it, of the noise and the page, and of both bands."""
    found = bench.evaluate(
        """(theme) => {
      const ink = document.body.appendChild(document.createElement("span"));
      ink.style.color = theme === "dark" ? "white" : "black";
      const look = ensedu.looks(ink);
      const canvas = document.createElement("canvas");
      const means = [-0.5, 0.5].flatMap((f) => Array(ensedu.GRID.length).fill(f));
      const side = { means, raw: null };
      return Object.keys(ensedu.STARTS).map((method) => {
        const state = stateOf({ data: "own", noise: 1 });
        ensedu.curves(canvas, { width: 300, height: 200 }, side, ensedu.GRID, state, method, look, {}, {});
        const view = ensedu.frameOf("regression", 300, 200);
        return [1.5, 0.75].map((y) => [...canvas.getContext("2d").getImageData(view.x(2), view.y(y), 1, 1).data]);
      });
    }""",
        theme,
    )
    page = {"light": 255, "dark": 18}[theme]

    def luminance(channels):
        values = np.array(channels) / 255
        linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
        return linear @ [0.2126, 0.7152, 0.0722]

    def ratio(*grounds):
        high, low = sorted(map(luminance, grounds), reverse=True)
        return (high + 0.05) / (low + 0.05)

    for pixels in found:
        noise, members = (
            [alpha / 255 * c + (1 - alpha / 255) * page for c in color] for *color, alpha in pixels
        )
        assert all(0 < alpha < 255 for *_, alpha in pixels)
        assert ratio(noise, [page] * 3) > {"light": 1.15, "dark": 1.75}[theme]
        assert ratio(members, noise) > {"light": 1.25, "dark": 1.5}[theme]


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_nothing_jumps_while_the_page_opens_and_trains(open_page, server, viewport):
    page = open_page(viewport=viewport)
    page.add_init_script(SHIFTS)
    page.goto(server + PAGE)
    page.get_by_role("button", name="▶ Play").click()
    page.wait_for_function(
        "/^step [1-9]/.test(document.querySelector('.ensedu-t-meter').textContent)"
    )
    assert not page.locator(".ensedu-trainer .ensedu-still").first.is_visible()
    page.wait_for_timeout(1500)
    assert page.evaluate("shifts.reduce((a, b) => a + b, 0)") < 0.05
