"""The playground shows the numbers of `ensedu.numpy`, and says of each what makes it."""

import itertools
import json
import re

import numpy as np
import pytest

from ensedu import counting, methods
from ensedu import numpy as en
from ensedu.book.page.playground import layer_scripts, layer_state, layers
from ensedu.book.page.scripts import HERE
from scripts.browsing import DESK, PHONE, SMALL, serve, visit
from scripts.check_site import accessible
from tests.browser import small

PAGE = "book/playground.html"
METHODS = layers.METHODS
DRAWN = [method for method in METHODS if methods.METHODS[method].stochastic]
BASE = {**layer_state.START, "challenge": None, "edits": {}}
TALL = {"width": 1280, "height": 2400}  # nothing scrolls
SIZES = list(itertools.product(*(range(1, most + 1) for most in layers.MOST.values())))
SOME = [size for size in SIZES if sum(size) % 4 == 0] + [SIZES[0], SIZES[-1]]  # all pairs
STEP = 8  # pixels of a drag
MINUS = "\N{MINUS SIGN}"

# What the tests ask of a page: `t` is its playground, `p` all functions.
HELP = """
  const p = enseduPlayground;
  const root = () => document.querySelector("#root, .ensedu-playground");
  const begin = (state) => {
    root().className = "ensedu-playground";
    window.t = p.mount(root(), { state });
  };
  const find = (selector) => root().querySelector(selector);
  const all = (selector) => [...root().querySelectorAll(selector)];
  const cell = (key) => find(`[data-key="${key}"]`);
  const story = () => find(".ensedu-p-story").textContent;
  const verdict = () => [find(".ensedu-p-verdict").dataset.done === "true", find(".ensedu-p-verdict").textContent];
  const press = (words) => all("button").find((one) => one.textContent.startsWith(words)).click();
  const given = (one, name) => one.getAttribute(`aria-${name}`);
  const seen = () => all(".ensedu-p-cell").map((one) => ({
    key: one.dataset.key, text: one.textContent, label: given(one, "label"), negative: one.classList.contains("negative"),
    stored: one.role === "spinbutton", value: Number(given(one, "valuenow")), said: given(one, "valuetext"),
    ends: [Number(given(one, "valuemin")), Number(given(one, "valuemax"))],
    own: one.parentNode.classList.contains("own"), room: Number(one.parentNode.dataset.room),
  }));
  const marked = (mark) => all(`.ensedu-p-cell.${mark}`).map((one) => one.dataset.key);
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """The address of a folder with an empty page, and with a playground that begins by itself."""
    folder = tmp_path_factory.mktemp("playground")
    sheets = ("live/live.css", "playground/playground.css")
    css = "".join((HERE / name).read_text(encoding="utf-8") for name in sheets)
    begun = (
        '<div class="ensedu-playground" data-name="layer">'
        f'<script type="application/json">{json.dumps(BASE)}</script></div>'
    )
    bodies = {"empty.html": small.EMPTY, "begun.html": small.TALL + begun + small.TALL}
    for file, body in bodies.items():
        small.write(folder / file, "A layer", body, css, layer_scripts.BUNDLE.classic(), HELP)
    with serve(folder) as address:
        yield address


@pytest.fixture(scope="module")
def open_small(browser, home):
    """Open a page of your own; at the end, nothing may have gone wrong."""
    with small.opening(browser, home) as open_one:
        yield open_one


@pytest.fixture
def play(open_small):
    """Open a page with a playground; what is given is other than at the start."""
    pages = []

    def play(state=None, mode="light", viewport=TALL, **given):
        pages.append(open_small(mode=mode, viewport=viewport, **given))
        begin(pages[-1], **(state or {}))
        return pages[-1]

    yield play
    for page in pages:
        page.close()


@pytest.fixture(scope="module")
def bench(open_small):
    """One page for all tests that begin anew on it."""
    return open_small(viewport=TALL)


def begin(page, **part):
    script = """state => {
      window.t?.destroy();
      history.replaceState(null, "", location.pathname);
      begin(state);
    }"""
    page.evaluate(script, BASE | part)


def state(page):
    return page.evaluate("t.state")


def story(page):
    return page.evaluate("story()")


def numeral(text):
    return float(text.replace(MINUS, "-"))


def shown(page):
    """Every cell by key."""
    found = page.evaluate("seen()")
    cells = {one["key"]: one for one in found}
    assert len(cells) == len(found)
    return cells


def stored(cells):
    return {key: one["value"] for key, one in cells.items() if one["stored"]}


def press(page, words):
    page.get_by_role("button", name=re.compile(f"^{words}")).click()


def challenge(page, key):
    """Open this challenge, by the steps from another."""
    keys = layer_state.CHALLENGES
    number = page.locator(".ensedu-p-at")
    if not number.is_visible():
        press(page, "Challenges")
    for _ in range((keys.index(key) - int(number.inner_text()[0]) + 1) % len(keys)):
        press(page, "Next challenge")
    assert number.inner_text().startswith(f"{keys.index(key) + 1} of {len(keys)}")


def at(page, key):
    return page.locator(f'[data-key="{key}"]')


# The numbers.

CLASSES = {
    "single": en.Linear, "deep_ensemble": en.DeepEnsembleLinear, "rank1": en.Rank1Linear,
    "batch_ensemble": en.BatchEnsembleLinear, "mean_field": en.MeanFieldLinear,
}  # fmt: skip


def stacked(numbers, name):
    found = {
        tuple(map(int, key.split(":")[1].split(","))): value
        for key, value in numbers.items()
        if key.startswith(f"{name}:")
    }
    array = np.empty(np.max([*found], axis=0) + 1)
    for place, value in found.items():
        array[place] = value
    return array


def flat(arrays):
    return {
        f"{name}:{','.join(map(str, place))}": value
        for name, array in arrays.items()
        for place, value in np.ndenumerate(array)
    }


def made(method, numbers, passes, drawn):
    """What a layer of `ensedu.numpy` makes of the numbers that a page shows as stored."""
    values = {name: stacked(numbers, name) for name in {key.split(":")[0] for key in numbers}}
    x = values.pop("x")[None]
    bias = values.get("bias", values.get("bias_mean"))
    sizes = (x.shape[1], bias.shape[-1], passes)
    layer = CLASSES[method](
        *sizes[: 3 if methods.METHODS[method].members else 2], rng=np.random.default_rng(0)
    )
    given = {}
    for name, array in layer.params.items():
        if name.endswith("_rho"):
            std = values.pop(name.replace("_rho", "_std"))
            array[...] = std + np.log(-np.expm1(-std))  # softplus makes std of it
        else:
            array[...] = values.pop(name)
    assert not values
    found = {"b": np.broadcast_to(bias, (passes, sizes[1]))}
    eps = {name: stacked(drawn, name)[:passes] for name in ("r", "s", "weight", "bias")}
    if method == "rank1":
        given = {"noise": {"r": eps["r"][:, : sizes[0]], "s": eps["s"][:, : sizes[1]]}}
        for name, noise in given["noise"].items():
            found[name] = stacked(numbers, f"{name}_mean") + stacked(numbers, f"{name}_std") * noise
    if method == "mean_field":
        given = {
            "noise": {
                "weight": eps["weight"][:, : sizes[0], : sizes[1]],
                "bias": eps["bias"][:, : sizes[1]],
            }
        }
        found["b"] = (
            stacked(numbers, "bias_mean") + stacked(numbers, "bias_std") * given["noise"]["bias"]
        )
        x = np.repeat(x[None], passes, axis=0)
    y = layer(x, **given).reshape(passes, sizes[1])
    found |= {
        "W": layer.weight_matrices(**given),
        "y": y,
        "mean": y.mean(axis=0),
        "spread": y.std(axis=0),
    }
    return flat(found)


def figure(value, digits=2):
    """A number as the page writes it: a half goes away from 0."""
    near = np.sign(value) * np.floor(abs(value) * 10**digits + 0.5) / 10**digits + 0.0
    return re.sub(r"\.0$", "", repr(float(near))).replace("-", MINUS)


def check_numbers(page):
    """Compare all that a page holds and shows with the layers."""
    now, cells, found = state(page), shown(page), page.evaluate("t.numbers")
    method = now["method"]
    row = methods.METHODS[method]
    passes = now["ensemble_size"] if row.members or row.stochastic else 1
    want = made(method, stored(cells), passes, page.evaluate("p.noise(t.state.draw)"))
    assert found.keys() == want.keys()
    scale = max(1, *np.abs([*want.values()]))
    for key, value in want.items():
        assert found[key] == pytest.approx(value, rel=1e-12, abs=1e-12 * scale), (now, key)
    # The twin in Python is the same layer.
    assert stored(cells) == flat(layers.arrays(now))
    outputs = stacked(want, "y")
    np.testing.assert_allclose(layers.outputs(now), outputs, rtol=1e-12, atol=1e-12 * scale)
    matrices = layers.layer(now).weight_matrices(*filter(None, [layers.noise(now)]))
    np.testing.assert_allclose(matrices, stacked(want, "W"), rtol=1e-12, atol=1e-12 * scale)
    # Each number stands in its cell.
    for key, one in cells.items():
        value = one["value"] if one["stored"] else found[key]
        texts = [figure(value, digits) for digits in (2, 1, 0)]
        few = texts[(abs(value) >= 10) + (abs(value) >= 100) :]
        assert one["text"] == next((text for text in few if len(text) <= one["room"]), texts[2])
        assert (one["said"] if one["stored"] else one["label"].split(": ")[1]) == texts[0]
        assert one["negative"] == (value < 0)
    return cells


def reach(page, key):
    """Bring the mean or σ of a member in sight, as a reader does."""
    array, place = key.split(":")
    if array[1:] in ("_mean", "_std"):
        page.evaluate("key => cell(key).click()", f"y:{place[0]},0")


def act(page, key, old, value, way):
    """Change a stored number as a reader does; return what it then is."""
    reach(page, key)
    unit = 0.1 if "_std" in key else 0.5
    low, high = layers.LIMITS["scales" if "_std" in key else "values"]
    steps = {"arrow": 1, "drag": round(value) or 2, "step": -1}.get(way, 0)

    def clip(number):
        return min(high, max(low, round(number, 2)))

    if way == "type":
        at(page, key).focus()
        page.keyboard.type(f"{value}")
        page.keyboard.press("Enter")
    elif way == "arrow":
        at(page, key).focus()
        page.keyboard.press("ArrowUp")
    elif way == "drag":
        drag(page, key, STEP * steps + 2 * np.sign(steps))
    else:
        page.evaluate("key => cell(key).click()", key)
        if way == "step":
            page.evaluate("() => find('.ensedu-p-stepper button').click()")
        else:
            page.locator(".ensedu-p-stepper input").fill(f"{value}")
            page.keyboard.press("Enter")
    if way in ("arrow", "step"):  # to the next whole step
        return clip(
            unit
            * (np.floor(old / unit + 1e-6) + 1 if steps > 0 else np.ceil(old / unit - 1e-6) - 1)
        )
    return clip(old + steps * unit) if steps else value


def drag(page, key, across, up=0):
    box = at(page, key).bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + across / 2, y - up / 2)
    page.mouse.move(x + across, y - up)
    page.mouse.up()


@pytest.mark.parametrize("method", METHODS)
def test_numbers_are_those_of_the_layers_after_100_random_edits(bench, method):
    rng = np.random.default_rng(METHODS.index(method))
    page = bench
    begin(page, method=method)
    sizes = [SIZES[-1], SIZES[int(rng.integers(len(SIZES) - 1))]]
    for i, size in enumerate(sizes):
        seeds = {"numbers": int(rng.integers(1000)), "draw": int(rng.integers(1000))}
        page.evaluate(
            "part => t.set({ ...t.state, ...part })",
            dict(zip(layers.MOST, size, strict=True)) | (seeds if i % 2 else {}),
        )
        cells = check_numbers(page)
        want = stored(cells)
        for way in (None, "type", "arrow", "drag", "field", "step"):
            keys = rng.choice([*want], 45 if way is None else 1)
            ends = [layers.LIMITS["scales" if "_std" in key else "values"] for key in keys]
            values = [float(rng.uniform(*end)) for end in ends]
            if way is None:
                pairs = list(zip(keys.tolist(), values, strict=True))
                page.evaluate("pairs => { for (const pair of pairs) t.edit(...pair) }", pairs)
                want |= dict(pairs)
            else:
                key = str(keys[0])
                want[key] = act(page, key, want[key], round(values[0], 2), way)
        assert stored(check_numbers(page)) == want


def test_an_edit_has_the_page_laid_out_once(bench):
    """A drag changes a number many times a second, also on a phone."""
    session = bench.context.new_cdp_session(bench)
    session.send("Performance.enable")

    def layouts():
        found = session.send("Performance.getMetrics")["metrics"]
        return next(one["value"] for one in found if one["name"] == "LayoutCount")

    begin(bench, method="rank1", in_features=4, out_features=4, ensemble_size=4)
    bench.evaluate("() => { t.edit('x:0', 1); document.body.offsetHeight }")
    before = layouts()
    bench.evaluate("() => { for (let i = 0; i < 20; i += 1) t.edit('x:0', i / 10) }")
    assert layouts() - before <= 22  # and what a frame between lays out


@pytest.mark.parametrize("method", METHODS)
def test_every_stored_number_has_a_cell_and_is_counted(bench, method):
    row = methods.METHODS[method]
    begin(bench, method=method)
    script = """([method, sizes]) => sizes.map(([in_features, out_features, ensemble_size]) => {
      t.set({ ...t.state, method, in_features, out_features, ensemble_size });
      const bars = all(".ensedu-p-bars label").map((one) => [one.querySelector("input").value, one.querySelector("output").value,
        one.querySelector(".ensedu-p-bar").style.getPropertyValue("--share")]);
      const sums = all(".ensedu-p-sum tr[data-role]").map((one) => [one.dataset.role, [...one.querySelectorAll("td")].map((td) => td.textContent)]);
      const add = find(".ensedu-p-add");
      return { cells: seen(), bars, sums, add: add.hidden ? null : [add.textContent, add.getAttribute("aria-disabled")], made: Object.keys(t.numbers) };
    })"""
    for size, found in zip(SOME, bench.evaluate(script, [method, SOME]), strict=True):
        m, n, M = size
        count = counting.layer(m, n, method, **methods.size_option(method, M))
        axes = {"m": m, "n": n, "M": M}
        want = set(
            flat(
                {
                    name: np.empty([axes[a] for a in letters])
                    for name, letters in layers.stored(method).items()
                }
            )
        )
        keys = [one["key"] for one in found["cells"] if one["stored"]]
        assert len(keys) == len(set(keys)) == count.total + m
        assert set(keys) == want
        own = [one["key"] for one in found["cells"] if one["own"]]
        assert len(own) == (counting.one_more_member(m, n, method).total * M if row.members else 0)
        # Each number that is made and not stored has a cell, too.
        copies = {
            key
            for key in found["made"]
            if key[0] in "Wb"
            and not ((row.modulated or row.stochastic) if key[0] == "W" else method == "mean_field")
        }
        assert {one["key"] for one in found["cells"] if not one["stored"]} == set(
            found["made"]
        ) - copies
        totals = {
            one: counting.layer(m, n, one, **methods.size_option(one, M)).total for one in METHODS
        }
        assert [(name, int(total)) for name, total, _ in found["bars"]] == [*totals.items()]
        for name, _, share in found["bars"]:
            assert float(share.rstrip("%")) == pytest.approx(
                100 * totals[name] / max(totals.values())
            )
        filled = str.maketrans({letter: str(value) for letter, value in axes.items()})
        terms = {
            role: [f"{term} = {term.translate(filled)}", str(getattr(count, role))]
            for role, term in methods.role_sums(method).items()
        }
        assert dict(found["sums"]) == terms | {"total": ["", str(count.total)]}
        price = counting.one_more_member(m, n, method).total
        if not row.members and not row.stochastic:
            assert found["add"] is None
            continue
        if M == layers.MOST["ensemble_size"]:
            words = f"{M} {'members' if row.members else 'draws'} are the most here"
        else:
            words = f"Add a member: {price} numbers more" if price else "Add a draw: no number more"
        assert found["add"] == [words, str(not words.startswith("Add")).lower()]


@pytest.mark.parametrize("method", ["batch_ensemble", "mean_field"])
def test_members_are_added_until_there_is_no_room(play, method):
    most = layers.MOST["ensemble_size"]
    page = play({"method": method, "ensemble_size": most - 2})
    add = page.locator(".ensedu-p-add")
    add.focus()
    for M in (most - 1, most, most, most):
        page.keyboard.press("Enter")
        assert state(page)["ensemble_size"] == M
        assert page.evaluate("document.activeElement.className") == "ensedu-p-add"
    assert page.locator(".ensedu-p-member").count() == most
    press(page, "Undo")  # what did nothing left nothing to undo
    assert state(page)["ensemble_size"] == most - 1


# What is said.

INPUTS = {"x:0": 2, "x:1": -1}
TOLD = {
    "batch": ("batch_ensemble", 2, {
        "weight:0,1": 3, "weight:1,1": -2, "r:0,0": 0.5, "r:0,1": 1, "r:1,0": -1, "r:1,1": 2,
        "s:0,1": 2, "s:1,1": -0.5, "bias:0,1": 0.25, "bias:1,1": -1.5,
    }, {
        "x:1": "x[2] = −1: an input, the same for every member. It multiplies row 2 of every matrix.",
        "weight:0,1": "W[1, 2] = 3: stored once, and a part of every member's matrix. Change it, and all members move.",
        "r:0,1": "r1[2] = 1: member 1's own. It scales input 2, row 2 of W1.",
        "r:1,0": "r2[1] = −1: member 2's own. It scales input 1, row 1 of W2.",
        "s:0,1": "s1[2] = 2: member 1's own. It scales output 2, column 2 of W1.",
        "s:1,2": "s2[3] = 2: member 2's own. It scales output 3, column 3 of W2.",
        "bias:1,1": "b2[2] = −1.5: member 2's own, added to output 2.",
        "W:0,1,1": "W1[2, 2] = W[2, 2] · r1[2] · s1[2] = (−2) · 1 · 2 = −4: computed, never stored.",
        "W:1,0,1": "W2[1, 2] = W[1, 2] · r2[1] · s2[2] = 3 · (−1) · (−0.5) = 1.5: computed, never stored.",
        "y:0,1": "y1[2] = 2 · 3 + (−1) · (−4) + 0.25 = 10.25: x times column 2 of W1, and the bias.",
        "y:1,1": "y2[2] = 2 · 1.5 + (−1) · 2 − 1.5 = −0.5: x times column 2 of W2, and the bias.",
        "mean:1": "The mean of output 2 = (10.25 − 0.5) / 2 = 4.875: what the members predict together.",
        "spread:1": "The spread of output 2 = √((5.375² + (−5.375)²) / 2) = 5.375: how far the members lie from their mean, 4.875.",
    }),
    "alone": ("batch_ensemble", 1, {"weight:0,1": 3}, {
        "x:0": "x[1] = 2: an input, the same for every member. It multiplies row 1 of the matrix.",
        "weight:0,1": "W[1, 2] = 3: stored once, and a part of the member's matrix.",
        "mean:1": "The mean of output 2: one output alone is its own mean.",
        "spread:1": "The spread of output 2: one output alone has no spread.",
    }),
    "deep": ("deep_ensemble", 3, {
        "weight:1,0,2": 1, "weight:1,1,2": -2.5, "bias:1,2": 2, "weight:0,0,2": 1, "weight:2,0,2": 1,
        "weight:0,1,2": 1, "weight:2,1,2": 1, "bias:0,2": -1, "bias:2,2": -3,
    }, {
        "x:0": "x[1] = 2: an input, the same for every member. It multiplies row 1 of every matrix.",
        "weight:1,1,2": "W2[2, 3] = −2.5: stored for member 2 alone. Change it, and no other member moves.",
        "bias:1,2": "b2[3] = 2: member 2's own, added to output 3.",
        "y:1,2": "y2[3] = 2 · 1 + (−1) · (−2.5) + 2 = 6.5: x times column 3 of W2, and the bias.",
        "y:2,2": "y3[3] = 2 · 1 + (−1) · 1 − 3 = −2: x times column 3 of W3, and the bias.",
        "mean:2": "The mean of output 3 = (0 + 6.5 − 2) / 3 = 1.5: what the members predict together.",
        "spread:2": "The spread of output 3 = √(((−1.5)² + 5² + (−3.5)²) / 3) ≈ 3.63: how far the members lie from their mean, 1.5.",
    }),
    "single": ("single", 3, {"weight:0,1": 3, "weight:1,1": -2, "bias:1": -0.5}, {
        "x:0": "x[1] = 2: an input. It multiplies row 1 of the matrix.",
        "weight:1,1": "W[2, 2] = −2: stored once, for the one network.",
        "bias:1": "b[2] = −0.5: added to output 2.",
        "y:0,1": "y[2] = 2 · 3 + (−1) · (−2) − 0.5 = 7.5: x times column 2 of W, and the bias.",
        "mean:1": "The mean of output 2: one output alone is its own mean.",
        "spread:0": "The spread of output 1: one output alone has no spread.",
    }),
    "rank1": ("rank1", 2, {
        "weight:0,1": 3, "r_mean:0,0": 0.5, "r_mean:0,1": 1, "r_mean:1,0": -1, "r_std:0,0": 0.2,
        "r_std:1,0": 0.5, "s_mean:0,1": 2, "s_mean:1,1": -0.5, "s_std:0,1": 0.1, "s_std:1,1": 0.3,
        "bias:0,1": -0.5,
    }, {
        "x:1": "x[2] = −1: an input, the same for every member. It multiplies row 2 of every matrix.",
        "weight:0,1": "W[1, 2] = 3: stored once, and a part of every member's matrix. Change it, and all members move.",
        "r_mean:0,1": "The mean of r1[2] = 1: member 1's own. Draws lie around it; each draw scales input 2, row 2 of W1.",
        "r_std:1,0": "σ of r2[1] = 0.5: member 2's own. It is the typical distance of a draw from the mean; each draw scales input 1, row 1 of W2.",
        "s_mean:1,1": "The mean of s2[2] = −0.5: member 2's own. Draws lie around it; each draw scales output 2, column 2 of W2.",
        "s_std:0,1": "σ of s1[2] = 0.1: member 1's own. It is the typical distance of a draw from the mean; each draw scales output 2, column 2 of W1.",
        "r:1,0": "r2[1] = −1 + 0.5 · 1 = −0.5 in this draw: mean + σ · ε, and ε is drawn from N(0, 1).",
        "s:0,1": "s1[2] = 2 + 0.1 · (−1.66) = 1.834 in this draw: mean + σ · ε, and ε is drawn from N(0, 1).",
        # The last is 3 √((r² + u²)(s² + v²) − r² s²) of each member.
        "W:0,0,1": "W1[1, 2] = W[1, 2] · r1[1] · s1[2] = 3 · 0.6 · 1.834 = 3.3012 in this draw; over all draws its mean is 3 and its standard deviation 1.21.",
        "W:1,0,1": "W2[1, 2] = W[1, 2] · r2[1] · s2[2] = 3 · (−0.5) · (−0.62) = 0.93 in this draw; over all draws its mean is 1.5 and its standard deviation 1.25.",
    }),
    "field": ("mean_field", 3, {
        "weight_mean:0,1": 3, "weight_std:0,1": 0.2, "bias_mean:1": -0.5, "bias_std:1": 0.1,
    }, {
        "x:1": "x[2] = −1: an input, the same for every draw. It multiplies row 2 of every matrix.",
        "weight_mean:0,1": "The mean of W[1, 2] = 3: stored once. All draws lie around it.",
        "weight_std:0,1": "σ of W[1, 2] = 0.2: stored once. It is the typical distance of a draw from the mean.",
        "bias_mean:1": "The mean of b[2] = −0.5: stored once. All draws lie around it.",
        "bias_std:1": "σ of b[2] = 0.1: stored once. It is the typical distance of a draw from the mean.",
        "W:1,0,1": "W2[1, 2] = 3 + 0.2 · 0.25 = 3.05 in this draw: mean + σ · ε, and ε is drawn from N(0, 1).",
        "b:2,1": "b3[2] = −0.5 + 0.1 · (−1.44) = −0.644 in this draw: mean + σ · ε, and ε is drawn from N(0, 1).",
        "y:2,1": "y3[2] = 2 · 3.1 + (−1) · (−0.015) − 0.644 = 5.571: x times column 2 of W3, and the bias.",
        "mean:1": "The mean of output 2 = (6.897 + 7.265 + 5.571) / 3 ≈ 6.58: what the draws predict together.",
        "spread:1": "The spread of output 2 = √((0.3193² + 0.6873² + (−1.0067)²) / 3) ≈ 0.73: how far the draws lie from their mean, 6.58.",
    }),
}  # fmt: skip


@pytest.mark.parametrize("case", TOLD)
def test_every_kind_of_number_is_explained(bench, case):
    method, M, edits, told = TOLD[case]
    begin(
        bench,
        method=method,
        in_features=2,
        out_features=3,
        ensemble_size=M,
        draw=3,
        edits={key.replace("_mean", ""): value for key, value in (edits | INPUTS).items()},
    )
    for key, words in told.items():
        assert bench.evaluate("key => { cell(key).click(); return story() }", key) == words


SUMS = {
    (
        "batch_ensemble",
        2,
    ): "BatchEnsemble: 41 numbers for 2 members of 3 inputs and 5 outputs. A deep ensemble holds 40.",
    (
        "rank1",
        1,
    ): "Rank-1 BNN: 36 numbers for 1 member of 3 inputs and 5 outputs. A deep ensemble holds 20.",
    (
        "deep_ensemble",
        2,
    ): "Deep ensemble: 40 numbers for 2 members of 3 inputs and 5 outputs. A BatchEnsemble holds 41.",
    ("mean_field", 2): "Mean-field BNN: 40 numbers for 3 inputs and 5 outputs, however many draws.",
    ("single", 2): "Single network: 20 numbers for 3 inputs and 5 outputs.",
}


def test_the_total_is_told(play):
    page = play({"method": "single", "in_features": 3, "out_features": 5, "ensemble_size": 2})
    assert page.locator(".ensedu-p-story").get_attribute("role") == "status"
    for (method, M), words in SUMS.items():
        page.locator(f"input[value={method}]").check()
        if M == 1:
            page.get_by_label("members M").press("Home")
        assert story(page) == words
        page.evaluate("t.set({ ...t.state, ensemble_size: 2 })")


# What lights up.


def recipes(method, m, n, passes, eps):
    """How each number that is made follows from others, in the order in which they are made."""
    row = methods.METHODS[method]
    found = {}

    def drawn(key, base, at, noise):
        found[key] = lambda v: v[f"{base}_mean:{at}"] + v[f"{base}_std:{at}"] * eps[noise]

    def weight(i, a, b):
        own = row.modulated or row.stochastic
        return (
            f"W:{i},{a},{b}" if own else f"weight:{i},{a},{b}" if row.members else f"weight:{a},{b}"
        )

    def bias(i, b):
        return (
            f"b:{i},{b}"
            if method == "mean_field"
            else f"bias:{i},{b}"
            if row.members
            else f"bias:{b}"
        )

    def matrix(i, a, b):
        if row.modulated:
            found[weight(i, a, b)] = lambda v: (
                v[f"weight:{a},{b}"] * v[f"r:{i},{a}"] * v[f"s:{i},{b}"]
            )
        elif row.stochastic:
            drawn(weight(i, a, b), "weight", f"{a},{b}", f"weight:{i},{a},{b}")

    def output(i, b):
        found[f"y:{i},{b}"] = lambda v: (
            sum(v[f"x:{a}"] * v[weight(i, a, b)] for a in range(m)) + v[bias(i, b)]
        )

    def ends(b):
        def ys(v):
            return [v[f"y:{i},{b}"] for i in range(passes)]

        found[f"mean:{b}"] = lambda v: np.mean(ys(v))
        # One output alone has no spread; yet it is made of it.
        found[f"spread:{b}"] = lambda v: np.std(ys(v) if passes > 1 else [*ys(v), 0])

    for i in range(passes):
        for name, size in (("r", m), ("s", n)) if method == "rank1" else ():
            for k in range(size):
                drawn(f"{name}:{i},{k}", name, f"{i},{k}", f"{name}:{i},{k}")
        for b in range(n):
            if method == "mean_field":
                drawn(bias(i, b), "bias", b, f"bias:{i},{b}")
            for a in range(m):
                matrix(i, a, b)
            output(i, b)
    for b in range(n):
        ends(b)
    return found


@pytest.mark.parametrize("passes", [1, 3])
@pytest.mark.parametrize("method", METHODS)
def test_what_lights_up_is_what_moves(bench, method, passes):
    """Each number is nudged: `into` are those that follow it, `from` those that it follows."""
    m, n = 2, 3
    begin(bench, method=method, in_features=m, out_features=n, ensemble_size=passes, draw=5)
    cells = shown(bench)
    drawn = bench.evaluate("p.noise(5)")
    assert all(drawn.values())
    made_of = recipes(method, m, n, 1 if method == "single" else passes, drawn)
    values = stored(cells)
    rng = np.random.default_rng(7)
    values = {key: rng.uniform(0.5, 3) for key in values}  # none is 0, and hides another
    for key, make in made_of.items():
        values[key] = make(values)
    assert values.keys() == cells.keys()

    def direct(key):
        nudged = values | {key: values[key] + 0.5}
        return {one for one, make in made_of.items() if abs(make(nudged) - values[one]) > 1e-9}

    follow = {key: direct(key) for key in values}
    into = {key: set(ones) for key, ones in follow.items()}
    for key in reversed([*values]):  # what follows stands behind
        into[key] |= {end for one in into[key] for end in into[one]}
    script = "key => { cell(key).click(); return ['touched', 'from', 'into'].map(marked) }"
    for key in values:
        touched, lit_from, lit_into = bench.evaluate(script, key)
        assert touched == [key]
        assert set(lit_from) == {one for one in values if key in follow[one]}
        assert set(lit_into) == into[key]
        dots = bench.locator(".ensedu-p-outputs circle.lit").count()
        assert dots == sum(one.startswith("y") for one in {key, *lit_into})


def test_focus_and_what_lights_up_look_different(play):
    page = play({"in_features": 2, "out_features": 2})
    at(page, "W:0,0,0").focus()
    page.keyboard.press("ArrowDown")
    look = """key => {
      const [own, inside] = [getComputedStyle(cell(key)), getComputedStyle(cell(key), "::after")];
      return [own.outlineStyle, own.backgroundColor, own.color, inside.borderStyle];
    }"""
    looks = {key: page.evaluate(look, key) for key in ("W:0,1,0", "r:0,1", "y:0,0", "r:0,0")}
    assert [one[0] for one in looks.values()] == ["solid", "none", "none", "none"]
    assert [one[3] for one in looks.values()] == ["none", "dotted", "solid", "none"]
    key = "getComputedStyle(find('.ensedu-p-key .touched'), '::after').backgroundColor"
    assert looks["W:0,1,0"][1] == looks["r:0,1"][2] == looks["y:0,0"][2] == page.evaluate(key)
    assert len({one[2] for one in looks.values()}) == 3  # on ink, in ink, and muted


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_what_does_not_move_steps_back(play, mode):
    """Equal numbers are tinted less, and still read well, where the touched one does not reach."""
    page = play(
        {"edits": {"weight:0,0": 2, "weight:0,1": 2, "r:0,0": 1, "s:0,0": 1, "s:0,1": 1}}, mode
    )
    at(page, "weight:0,0").click()
    (near, ink), (far, muted) = (look(page, f"W:0,0,{b}") for b in (0, 1))
    assert np.ptp(near) > 1.5 * np.ptp(far) > 0
    for ground, sign in ((near, ink), (far, muted)):
        assert contrast(ground, sign) >= 4.5


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_while_a_number_is_held_the_ground_of_what_it_does_not_reach_is_faint(play, mode):
    page = play(mode=mode)
    reach = ["touched", "into", "from"]
    for key in ("weight:0,1", "r:1,0"):
        box = at(page, key).bounding_box()
        page.mouse.move(box["x"] + 4, box["y"] + 4)
        page.mouse.down()
        page.mouse.move(box["x"] + 60, box["y"] + 4)
        near = {one for mark in reach for one in page.evaluate("mark => marked(mark)", mark)}
        assert len(near) > 1
        page.wait_for_timeout(500)
        held = {one: look(page, one) for one in shown(page)}
        page.mouse.up()
        page.wait_for_timeout(500)
        for one, (ground, sign) in held.items():
            after = look(page, one)[0]
            if one in near:
                assert (ground == after).all()
            else:
                assert np.ptp(ground) <= 0.5 * np.ptp(after)
                assert contrast(ground, sign) >= 4.5


def look(page, key):
    """The colors of a cell's ground and of its digits."""
    script = """key => {
      const { backgroundColor, color } = getComputedStyle(cell(key));
      return [backgroundColor, color].map((one) => one.match(/[\\d.]+/g).slice(0, 3).map((part) => (one.startsWith("color") ? 255 : 1) * part));
    }"""
    return np.array(page.evaluate(script, key))


def test_on_a_dark_page_a_larger_number_is_lighter_and_all_read_well(play):
    values = (1, 3, 9, -1, -9)
    edits = {f"weight:0,{b}": value for b, value in enumerate(values)}
    edits |= {
        f"{one}:{i},{k}": 1
        for i in (0, 1)
        for one, size in (("r", 1), ("s", 5))
        for k in range(size)
    }
    page = play({"edits": edits}, "dark")
    at(page, "r:0,0").click()
    for i in (0, 1):  # a member whose numbers move, and one whose numbers do not
        looks = [look(page, f"W:{i},0,{b}") for b in range(5)]
        assert all(contrast(*colors) >= 4.5 for colors in looks)
        one, three, nine, less, least = (ground for ground, _ in looks)
        assert contrast(one, three) > 1.4 and contrast(three, nine) > 1.15
        assert contrast(less, least) > 1.6


def contrast(*colors):
    """The contrast of WCAG of two colors from 0 to 255."""
    parts = np.array(colors) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    dark, light = sorted(linear @ (0.2126, 0.7152, 0.0722))
    return (light + 0.05) / (dark + 0.05)


# By hand.

ACTIVE = """() => {
  const one = document.activeElement;
  return one.dataset.key ?? one.closest(".ensedu-t-control")?.innerText.split("\\n")[0] ?? (one.textContent || one.value);
}"""
MINE = ["s:0,0", "r:0,0", "W:0,0,0", "bias:0,0", "y:0,0"]
WALK = [
    "batch_ensemble", "inputs m", "outputs n", "members M", "Reset", "Challenges 0/4", "x:0", "weight:0,0", "mean:0", "spread:0", "Undo",
    "Add a member: 6 numbers more", *MINE, *(key.replace(":0", ":1", 1) for key in MINE),
]  # fmt: skip


def test_a_walk_with_the_keyboard_reaches_everything_in_order(play):
    page = play({"in_features": 2, "out_features": 2, "ensemble_size": 2})
    found = []
    for _ in WALK:
        page.keyboard.press("Tab")
        found.append(page.evaluate(ACTIVE))
    assert found == WALK
    page.keyboard.press("Tab")
    assert page.evaluate("root().contains(document.activeElement)") is False
    at(page, "W:0,0,0").focus()
    for key, place in (
        ("Right", "0,1"),
        ("Down", "1,1"),
        ("Left", "1,0"),
        ("Down", "1,0"),
        ("Up", "0,0"),
        ("Left", "0,0"),
        ("Right", "0,1"),
    ):
        page.keyboard.press(f"Arrow{key}")
        assert page.evaluate(ACTIVE) == f"W:0,{place}"
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    assert page.evaluate(ACTIVE) == "W:0,0,1"  # a group is one stop: where you were
    assert state(page)["edits"] == {}


def test_numbers_are_changed_with_the_keyboard_alone(play):
    page = play({"method": "rank1", "in_features": 2, "out_features": 2, "ensemble_size": 2})

    def keys(key, *names):
        at(page, key).focus()
        for name in names:
            page.keyboard.press(name)
        return shown(page)[key]["value"]

    for _ in range(3):
        page.evaluate("() => t.edit('weight:0,0', 1)")
    mean, std = "s_mean:0,1", "s_std:0,1"
    page.evaluate("pair => t.edit(...pair)", [mean, 0.5])
    page.evaluate("pair => t.edit(...pair)", [std, 0.1])
    assert keys(mean, "ArrowUp") == 1
    assert keys(mean, "Shift+ArrowDown") == 0.9
    assert keys(mean, *"-1,25", "Enter") == -1.25
    assert story(page).startswith("The mean of s1[2] = −1.25: ")
    assert keys(mean, *"7") == -1.25  # not yet
    assert at(page, mean).inner_text() == "7"
    assert keys(mean, "Escape") == -1.25
    assert at(page, mean).inner_text() == "−1.25"
    assert keys(mean, *"45", "Backspace", "Tab") == 4  # leaving is as good as Enter
    assert page.evaluate(ACTIVE) != mean
    assert keys(mean, *"2", "ArrowUp") == 2.5  # so are arrows
    assert keys(mean, *".125", "Enter") == 0.13
    for text in ("12", "-9.01", "-", "1.2.3", "1-"):
        assert keys(mean, *text, "Enter") == 0.13
        given = text.replace("-", MINUS)
        assert (
            story(page)
            == f"The mean of s1[2] stays 0.13: a number from −9 to 9 is accepted, not “{given}”."
        )
        assert at(page, mean).inner_text() == "0.13"
    assert keys(mean, *"9", "Enter", "ArrowUp") == 9
    assert keys(mean, *"-8.9", "Enter", "ArrowDown") == -9
    assert keys(std, "ArrowUp") == 0.2
    assert keys(std, "Shift+ArrowUp") == 0.22
    assert keys(std, *"0", "Enter") == 0.22
    assert (
        story(page)
        == "σ of s1[2] stays 0.22: a standard deviation from 0.01 to 9 is accepted, not “0”."
    )
    assert keys(std, "ArrowDown", "ArrowDown", "ArrowDown") == 0.01
    assert keys("y:0,1", *"5", "Enter") == 0  # what is made cannot be typed
    before = state(page)
    for letter in ("a", "e", "Backspace", "Delete", "Enter", "PageUp"):
        keys(mean, letter)
    assert state(page) == before
    ends = {key: one["ends"] for key, one in shown(page).items()}
    assert (ends[mean], ends[std]) == ([-9, 9], [0.01, 9])


def test_undo_takes_back_a_gesture_as_a_whole(play):
    page = play({"edits": {"r:0,0": 0.5}})
    steps = []

    def now():
        return shown(page)["r:0,0"]["value"]

    for act in (
        lambda: [page.keyboard.press("ArrowUp") for _ in range(5)],
        lambda: [page.keyboard.press(key) for key in ("1", "Enter")],
        lambda: drag(page, "r:0,0", 50),
        lambda: drag(page, "r:0,0", 50),
        lambda: [press_step(page, "More") for _ in range(3)],
    ):
        steps.append(now())
        at(page, "r:0,0").focus()
        act()
    assert [*steps, now()] == [0.5, 3, 1, 4, 7, 8.5]
    at(page, "r:0,0").focus()
    for value in reversed(steps):
        page.keyboard.press("Control+z")
        assert now() == value
        assert story(page).startswith("r1[1] = ")
    assert state(page)["edits"] == {"r:0,0": 0.5}
    page.keyboard.press("Control+z")
    assert story(page) == "There is nothing to undo."
    assert page.evaluate(ACTIVE) == "r:0,0"
    at(page, "r:0,1").focus()
    for key in ("ArrowUp", "ArrowLeft", "ArrowUp"):  # two cells are two gestures
        page.keyboard.press(key)
    press(page, "Undo")
    assert state(page)["edits"].keys() == {"r:0,0", "r:0,1"}
    assert state(page)["edits"]["r:0,0"] == 0.5


def press_step(page, name):
    page.evaluate("name => find(`.ensedu-p-stepper [aria-label='${name}']`).click()", name)


def test_numbers_are_dragged_with_the_mouse(play):
    page = play({"method": "rank1"})

    def moved(key, *way):
        page.evaluate("() => press('Reset')")
        before = shown(page)[key]["value"]
        drag(page, key, *way)
        return round(shown(page)[key]["value"] - before, 9)

    assert moved("weight:1,1", STEP - 1) == 0
    assert moved("weight:1,1", 2 * STEP + 1) == 1
    assert moved("weight:1,1", -2 * STEP - 1) == -1
    assert moved("weight:1,1", 0, 3 * STEP + 1) == 1.5
    assert moved("weight:1,1", STEP, STEP) == 1
    assert moved("r_std:0,0", 2 * STEP + 1) == 0.2
    moved("r_std:0,0", -300)
    assert shown(page)["r_std:0,0"]["value"] == 0.01
    moved("weight:0,0", 400)
    assert shown(page)["weight:0,0"]["value"] == 9
    assert moved("x:0", -10 * STEP) == -5  # at once out of the figure
    page.mouse.move(*at_center(page, "weight:1,1"))
    assert shown(page)["x:0"]["value"] == layers.arrays(BASE)["x"][0] - 5  # it was let go
    page.evaluate("() => press('Reset')")
    page.mouse.down(button="right")
    page.mouse.move(900, 100)
    page.mouse.up(button="right")
    drag(page, "W:0,0,0", 60)
    drag(page, "y:0,0", 60)
    assert state(page) == BASE | {"method": "rank1"}


def at_center(page, key):
    box = at(page, key).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_a_finger_taps_drags_sideways_and_scrolls_up_and_down(play):
    page = play(viewport=PHONE, has_touch=True)

    def seek(key):
        page.evaluate("key => cell(key).scrollIntoView({ block: 'center', inline: 'center' })", key)
        page.evaluate(small.AT_REST)
        return at_center(page, key)

    def pull(key, across, down):
        x, y = seek(key)
        small.swipe(page, (x, y), (x + across, y + down))

    value = layers.arrays(BASE)["bias"][1, 2]
    page.touchscreen.tap(*seek("y:1,2"))
    page.wait_for_function("story().startsWith('y2[3] = ')")
    page.touchscreen.tap(*seek("bias:1,2"))
    page.wait_for_function("story().startsWith('b2[3] = ')")
    for name, change in (("Less", -0.5), ("More", 0)):
        page.get_by_role("button", name=name, exact=True).tap()
        page.wait_for_function("value => t.state.edits['bias:1,2'] === value", arg=value + change)
    page.get_by_role("button", name="Reset").tap()
    page.wait_for_function("!('bias:1,2' in t.state.edits)")
    seek("bias:1,2")
    before = page.evaluate("scrollY")
    pull("bias:1,2", 0, -160)
    page.wait_for_function("before => scrollY > before + 50", arg=before)
    page.evaluate(small.AT_REST)
    assert state(page)["edits"] == {}
    pull("bias:0,2", -120, 0)  # to the next member
    page.wait_for_function("find('.ensedu-p-members').scrollLeft > 50")
    assert state(page)["edits"] == {}
    value = layers.arrays(BASE)["weight"][0, 1]
    pull("weight:0,1", 2 * STEP + 2, 0)
    page.wait_for_function("value => t.state.edits['weight:0,1'] === value", arg=value + 1)
    assert state(page)["edits"].keys() == {"weight:0,1"}


def test_the_field_takes_what_is_typed(play):
    page = play()
    field = page.locator(".ensedu-p-stepper input")
    assert field.is_enabled()
    at(page, "y:0,0").click()
    assert field.is_disabled() and field.input_value() == at(page, "y:0,0").text_content()
    at(page, "s:1,2").click()
    assert field.get_attribute("aria-label") == "s2[3]"
    for text, value in {
        "2,5": 2.5,
        "−3": -3,
        "-0.5": -0.5,
        " 4 ": 4,
        "x": 4,
        "": 4,
        "9.5": 4,
        "1e0": 4,
    }.items():
        field.fill(text)
        page.keyboard.press("Enter")
        assert shown(page)["s:1,2"]["value"] == value
        assert numeral(field.input_value()) == value
    assert story(page) == "s2[3] stays 4: a number from −9 to 9 is accepted, not “1e0”."
    field.fill("3")
    at(page, "y:0,0").hover()  # a mouse that only looks touches nothing
    page.keyboard.press("Enter")
    assert shown(page)["s:1,2"]["value"] == 3


# The tools.


def test_reset_and_another_draw(play):
    page = play({"method": "rank1"})
    press(page, "Draw again")
    assert story(page) == "Draw 1: what is drawn is new, and every stored number as it was."
    assert page.locator(".ensedu-p-again").inner_text() == "Draw again (1)"
    assert stored(shown(page)) == flat(layers.arrays(BASE | {"method": "rank1"}))
    check_numbers(page)
    page.evaluate("t.edit('x:0', 5)")
    first = page.evaluate("t.numbers")
    press(page, "Draw again")
    second = page.evaluate("t.numbers")
    assert all(first[key] != second[key] for key in first if key[0] in "rs" and key[1] == ":")
    for method in METHODS:
        page.locator(f"input[value={method}]").check()
        page.evaluate("t.edit('x:1', -7)")
        assert page.locator(".ensedu-p-again").is_visible() == (method in DRAWN)
    for _ in range(2):
        press(page, "Reset")
        assert state(page) == BASE | {"method": "rank1"}
        assert story(page) == "As it was at first."
    press(page, "Undo")  # what changed nothing left nothing to undo
    assert state(page)["edits"] == {"x:0": 5, "x:1": -7}


# Links.


def some_state(rng, method):
    edits = {}
    for other in (method, *rng.choice(METHODS, 2)):
        name, axes = list(layers.stored(other).items())[rng.integers(len(layers.stored(other)))]
        place = tuple(int(rng.integers(layers.MOST[layers.LETTERS[a]])) for a in axes)
        low, high = layers.LIMITS["scales" if name.endswith("_std") else "values"]
        value = [float(rng.uniform(low, high)), high, 0.01, round(float(rng.uniform(low, high)))][
            rng.integers(4)
        ]
        edits[layers.edit_name(name, place)] = max(low, value)
    sizes = {name: int(rng.integers(most)) + 1 for name, most in layers.MOST.items()}
    seeds = {name: int(rng.integers(1_000_000)) for name in ("numbers", "draw")}
    return {"method": method, **sizes, **seeds, "challenge": None, "edits": edits}


def test_a_link_carries_the_whole_state(bench):
    rng = np.random.default_rng(3)
    states = [some_state(rng, METHODS[i % 5]) for i in range(300)]
    for key in ("equal", "ways", "reach", "price"):
        state = bench.evaluate("key => p.startOf(key)", key)
        states.append(state | {"edits": state["edits"] | {"x:0": -2.25}})
    script = "pairs => pairs.map(([state, base]) => p.decode(p.encode(state), base))"
    pairs = list(zip(states, states[1:] + states[:1], strict=True))
    assert bench.evaluate(script, pairs) == [{"state": state} for state in states]
    # What a link need not say is as it was at first, without edits.
    found = bench.evaluate("base => p.decode('method=rank1&draw=7', base)", states[0])
    assert found == {"state": states[0] | {"method": "rank1", "draw": 7, "edits": {}}}


BAD = {
    "": "nothing stands in it",
    "junk": "“junk” is unknown",
    "%": "“%” is unknown",
    "__proto__=1": "“__proto__” is unknown",
    "toString=1": "“toString” is unknown",
    "method=none": "method cannot be none",
    "method=toString": "method cannot be toString",
    "method=": "method cannot be ",
    "in_features=5": "in_features cannot be 5",
    "in_features=0": "in_features cannot be 0",
    "out_features=6": "out_features cannot be 6",
    "ensemble_size=2.5": "ensemble_size cannot be 2.5",
    "ensemble_size=": "ensemble_size cannot be NaN",
    "ensemble_size=many": "ensemble_size cannot be NaN",
    "numbers=-1": "numbers cannot be -1",
    "numbers=1000000": "numbers cannot be 1000000",
    "draw=Infinity": "draw cannot be Infinity",
    "challenge=nope": "challenge cannot be nope",
    "challenge=toString": "challenge cannot be toString",
    "challenge=null": "challenge cannot be null",
    "method=single&challenge=equal": "the challenge equal has another method, batch_ensemble",
    "method=deep_ensemble&challenge=price": "the challenge price has another method, batch_ensemble",
    "challenge=ways&in_features=3": "the challenge ways has another in_features, 2",
    "edits=": "no layer stores “”",
    "edits=x": "no layer stores “”",
    "edits=x:0": "no layer stores “x”",
    "edits=x:4:1": "no layer stores “x:4”",
    "edits=x:00:1": "no layer stores “x:00”",
    "edits=x:0,0:1": "no layer stores “x:0,0”",
    "edits=r_mean:0,0:1": "no layer stores “r_mean:0,0”",
    "edits=rank1.r:0,0:1": "no layer stores “rank1.r:0,0”",
    "edits=bias:5:1": "no layer stores “bias:5”",
    "edits=weight:,:1": "no layer stores “weight:,”",
    "edits=y:0,0:1": "no layer stores “y:0,0”",
    "edits=toString:1": "no layer stores “toString”",
    "edits=__proto__:1": "no layer stores “__proto__”",
    "edits=x:0:": "x:0: a number from −9 to 9 is accepted, not “NaN”",
    "edits=x:0:9.5": "x:0: a number from −9 to 9 is accepted, not “9.5”",
    "edits=x:0:1;x:1:NaN": "x:1: a number from −9 to 9 is accepted, not “NaN”",
    "edits=r_std:0,0:0": "r_std:0,0: a standard deviation from 0.01 to 9 is accepted, not “0”",
    "edits=r_std:0,0:-1": "r_std:0,0: a standard deviation from 0.01 to 9 is accepted, not “−1”",
}


def test_bad_links_are_refused_in_words(play):
    page = play({"numbers": 3})
    for link, words in BAD.items():
        page.evaluate("link => { location.hash = `playground:${link}` }", link)
        page.wait_for_function(
            "words => story() === words",
            arg=f"This link cannot be followed: {words}. The layer stays as it is.",
        )
        assert state(page) == BASE | {"numbers": 3}
        page.evaluate("() => { location.hash = 'other:method=single' }")  # of another figure
    assert story(page).startswith("This link")


def test_a_link_is_followed_although_an_edit_is_just_written_into_the_address(play):
    page = play()
    page.evaluate("""() => {
      location.hash = "playground:method=rank1";
      history.replaceState(null, "", `#playground:${p.encode(t.state)}`);
    }""")
    page.wait_for_function("t.state.method === 'rank1'", timeout=5000)


IN_SIGHT = "Math.abs(root().getBoundingClientRect().top) < 40"


@pytest.mark.parametrize("method", ["batch_ensemble", "mean_field"])
def test_a_link_opens_what_was_on_the_screen_and_scrolls_there(open_small, method):
    given = some_state(np.random.default_rng(METHODS.index(method)), method) | {"numbers": 7}
    page = open_small("begun.html#layer:" + f"method={method}&ensemble_size=9")
    assert story(page).startswith(
        "This link cannot be followed: ensemble_size cannot be 9. The layer is as at first."
    )
    assert page.evaluate("scrollY") == 0
    encoded = page.evaluate("state => p.encode(state)", given)
    page.evaluate("link => { location.hash = `layer:${link}` }", encoded.replace(";", "%3B"))
    page.wait_for_function(IN_SIGHT)
    assert stored(shown(page)) == flat(layers.arrays(given))
    # Each edit comes into the address.
    at(page, "x:0").focus()
    page.keyboard.press("ArrowUp")
    page.wait_for_function(
        "link => location.hash.slice(1) !== `layer:${link}` && !location.hash.includes('%')",
        arg=encoded,
    )
    value = shown(page)["x:0"]["value"]
    seen = page.evaluate("seen()")
    page.goto(page.url.replace("#", "?anew#"))
    page.wait_for_function(IN_SIGHT)
    assert page.evaluate("seen()") == seen
    assert stored(shown(page))["x:0"] == value
    page.context.close()


def test_the_address_leads_to_the_layer_and_reset_goes_back_to_the_page(open_small):
    page = open_small("begun.html")
    words = "The address of this page leads to your layer, with every number."
    assert words in page.locator(".ensedu-playground .ensedu-t-note").inner_text()
    page.evaluate("() => cell('r:2,1').focus({ preventScroll: true })")
    page.keyboard.type("7.5")
    page.keyboard.press("Enter")
    page.wait_for_function("location.hash.endsWith('&edits=r:2,1:7.5')")
    link = page.url
    assert "#layer:method=batch_ensemble&" in link
    page.goto(link.replace("#", "?anew#"))
    page.wait_for_function(IN_SIGHT)
    assert stored(shown(page))["r:2,1"] == 7.5
    page.evaluate("press('Reset')")
    assert stored(shown(page)) == flat(layers.arrays(BASE))
    # A link to what is there already scrolls as well.
    page.goto(
        page.url.partition("?")[0] + "?more#layer:" + page.evaluate("base => p.encode(base)", BASE)
    )
    page.wait_for_function(IN_SIGHT)


# Challenges.


def verdict(page):
    return page.evaluate("verdict()")


def types(page, key, value):
    at(page, key).focus()
    page.keyboard.type(str(value))
    page.keyboard.press("Enter")


def test_twins_are_made_with_one_edit(play):
    page = play()
    challenge(page, "equal")
    assert (
        page.locator(".ensedu-p-task").inner_text()
        == "Make members 1 and 2 the same network, with one edit."
    )
    assert verdict(page) == [False, "Not yet: W1 and W2 differ in 4 of 12 entries."]
    r = shown(page)["r:0,1"]["value"]
    types(page, "bias:1,3", 7)
    assert verdict(page) == [
        False,
        "Not yet: W1 and W2 differ in 4 of 12 entries, b1 and b2 in 1 of 4.",
    ]
    types(page, "r:1,1", r)
    assert verdict(page) == [
        False,
        "Not yet: W1 and W2 differ in 0 of 12 entries, b1 and b2 in 1 of 4.",
    ]
    types(page, "bias:0,3", 7)
    assert verdict(page) == [
        False,
        "They are the same, but 3 numbers changed. One is enough: press Reset.",
    ]
    press(page, "Reset")
    assert verdict(page)[0] is False
    types(page, "x:0", 5)
    types(page, "r:1,1", r)
    assert verdict(page) == [
        False,
        "They are the same, but 2 numbers changed. One is enough: press Reset.",
    ]
    number, chip = page.locator(".ensedu-p-at"), page.locator(".ensedu-p-chip")
    assert (number.inner_text(), chip.inner_text()) == ("1 of 4", "Challenges 0/4")
    for key, other in (("r:1,1", "r:0,1"), ("r:0,1", "r:1,1")):
        press(page, "Reset")
        types(page, key, shown(page)[other]["value"])
        done, words = verdict(page)
        assert done
        assert words.startswith("Done. One number of r was a whole row of a matrix")
    assert (number.inner_text(), chip.inner_text()) == ("1 of 4 ✓", "Challenges 1/4")
    assert page.locator(".ensedu-p-verdict").get_attribute("role") == "status"
    press(page, "Challenges")
    assert state(page) == BASE
    assert not page.locator(".ensedu-p-verdict").is_visible()


def test_a_challenge_gives_back_the_layer_it_stood_in_for(play):
    edits = {"x:0": 3, "weight:0,0": 2}
    mine = BASE | {"method": "rank1", "in_features": 2, "ensemble_size": 5, "edits": edits}
    ways = {
        "its button": (lambda page: press(page, "Challenges"), {}),
        "the cross": (lambda page: press(page, "Leave the challenge"), {}),
        "a method": (
            lambda page: page.locator("input[value=single]").check(), {"method": "single"},
        ),
        "a size": (
            lambda page: page.get_by_label("outputs n").select_option("2"), {"out_features": 2},
        ),
    }  # fmt: skip
    page = play(mine)
    for way, (leave, part) in ways.items():
        page.evaluate("state => t.set(state)", mine)
        challenge(page, "equal")
        types(page, "r:1,1", 3)
        challenge(page, "reach")
        assert state(page)["ensemble_size"] == 2
        leave(page)
        assert state(page) == mine | part, way
    page.evaluate("() => { location.hash = 'playground:challenge=equal' }")
    page.wait_for_function("t.state.challenge === 'equal'")
    press(page, "Leave the challenge")
    assert state(page) == mine | part
    assert page.evaluate(ACTIVE).startswith("Challenges")  # and not lost


def test_an_open_challenge_alone_says_its_counts(play):
    page = play(viewport=PHONE)
    told = page.locator(".ensedu-p-story")
    challenge(page, "price")
    assert verdict(page) == [False, "Not yet: 76 numbers against 100."]
    page.get_by_label("outputs n").select_option("1")
    assert verdict(page)[1] == "Not yet: 36 numbers against 20." or verdict(page)[0]
    assert story(page).startswith("W[1, 1] = ")
    assert not told.is_visible()
    press(page, "Reset")
    assert told.is_visible() and story(page) == "As it was at first."
    at(page, "y:0,0").focus()
    assert not told.is_visible()


def test_a_challenge_that_is_met_leads_to_the_next(play):
    page = play()
    step, back = (
        page.get_by_role("button", name=f"{way} challenge") for way in ("Next", "Previous")
    )
    meet = {
        "equal": lambda: types(page, "r:1,1", shown(page)["r:0,1"]["value"]),
        "ways": lambda: [
            types(page, key, value * shown(page)[key]["value"])
            for key, value in {"r:0,0": 2, "r:0,1": 2, "s:0,0": 0.5, "s:0,1": 0.5}.items()
        ],
        "reach": lambda: types(page, "weight:1,1,1", 5),
        "price": lambda: page.get_by_label("inputs m").press("Home"),
    }
    keys = [*meet]
    challenge(page, "reach")
    meet["reach"]()
    back.click()
    assert state(page)["challenge"] == "ways" and step.inner_text() == "→"
    meet["ways"]()
    assert verdict(page)[0] is True and step.inner_text() == "Next →"
    step.click()  # over the one that is met
    assert state(page)["challenge"] == "price"
    meet["price"]()
    step.click()
    assert state(page)["challenge"] == "equal"
    meet["equal"]()
    assert verdict(page)[0] is True and step.inner_text() == "→"  # no other is left
    for key in (*keys[1:], keys[0]):
        assert page.locator(".ensedu-p-at").inner_text().endswith("of 4 ✓")
        step.click()
        assert state(page)["challenge"] == key
    back.click()
    assert state(page)["challenge"] == "price"
    press(page, "Challenges")
    press(page, "Challenges")
    assert page.locator(".ensedu-p-chip").inner_text() == "Challenges 4/4"
    assert state(page)["challenge"] == "equal"


def test_two_ways_to_the_same_matrix(play):
    page = play()
    challenge(page, "ways")
    start = stored(shown(page))
    assert verdict(page) == [False, "Not yet: r1 and s1 must both change."]
    types(page, "r:0,0", 2 * start["r:0,0"])
    bring = "Bring it back with the other vector."
    assert verdict(page) == [False, f"Not yet: W1 changed in 2 of 4 entries. {bring}"]
    types(page, "r:0,1", 2 * start["r:0,1"])
    assert verdict(page) == [False, f"Not yet: W1 changed in 4 of 4 entries. {bring}"]
    types(page, "s:1,0", start["s:1,0"] / 2)  # of the other member
    assert verdict(page) == [False, f"Not yet: W1 changed in 4 of 4 entries. {bring}"]
    types(page, "s:0,0", start["s:0,0"] / 2)
    assert verdict(page) == [False, "Not yet: W1 changed in 2 of 4 entries."]
    types(page, "s:0,1", start["s:0,1"] / 2)
    assert verdict(page)[0] is True
    assert verdict(page)[1].startswith("Done. What r gains and s loses cancels")
    types(page, "weight:0,0", 8)
    assert verdict(page) == [False, "Leave W as it is: only r1 and s1 may change. Press Undo."]
    press(page, "Undo")
    assert verdict(page)[0] is True
    press(page, "Reset")
    # W twice, r half: the same W1, but not so.
    for key in ("weight:0,0", "weight:0,1", "weight:1,0", "weight:1,1"):
        types(page, key, 2 * start[key])
    for key in ("r:0,0", "r:0,1"):
        types(page, key, start[key] / 2)
    assert verdict(page)[0] is False


def test_a_member_out_of_reach(play):
    page = play()
    challenge(page, "reach")
    first = stored(shown(page))
    W = stacked(first, "weight")
    done, words = verdict(page)
    assert not done
    assert words == "Not yet: r = (1, 2) and s = (1, −1, 0.5) make it."
    np.testing.assert_allclose(W[1], W[0] * np.outer([1, 2], [1, -1, 0.5]))
    types(page, "weight:0,0,0", 5)
    assert verdict(page) == [
        False,
        "Leave W1 as it is: it stands for the shared matrix. Press Undo.",
    ]
    press(page, "Undo")
    for b in range(3):  # a row of other size
        types(page, f"weight:1,1,{b}", W[1, 1, b] / 2)
    assert verdict(page)[0] is False
    types(page, "weight:1,1,1", 5)
    assert verdict(page)[0] is True
    assert re.match(
        r"Done\. W2 / W1 has the rows \(1, −1, 0\.5\) and \(.*\), and neither is a multiple of the other\.",
        verdict(page)[1],
    )


def test_reach_is_the_rank_of_the_ratio(bench):
    """Against the singular values of W2 / W1, of matrices of all ranks."""
    rng = np.random.default_rng(9)
    start = bench.evaluate("p.startOf('reach')")
    begin(bench, **start)
    W1 = stacked(stored(shown(bench)), "weight")[0]
    ratios = [
        np.zeros((2, 3)),
        np.outer([0, 1], [1, 2, 0]),
        np.outer([1, 0], [0, 0, 2]),
        np.array([[1, 1, 1], [1, 1, 1.001]]),
        np.eye(2, 3),
        np.eye(2, 3)[:, ::-1],
    ]
    for i in range(60):
        ratio = np.outer(rng.choice([-1, 0, 0.5, 1.5, 2], 2), rng.choice([-1, 0, 0.5, 1], 3))
        ratio[rng.integers(2), rng.integers(3)] += [0, 0, 0.25][i % 3]
        ratios.append(ratio)
    ratios += [*rng.uniform(-2.9, 2.9, (10, 2, 3))]
    script = """values => {
      t.set({ ...t.state, edits: { ...t.state.edits, ...values } });
      return verdict();
    }"""
    ranks = []
    for ratio in ratios:
        W2 = ratio * W1
        done, words = bench.evaluate(
            script, {f"weight:1,{a},{b}": float(W2[a, b]) for a in range(2) for b in range(3)}
        )
        singular = np.linalg.svd(ratio, compute_uv=False)
        ranks.append(int((singular > 1e-7).sum()))
        assert done == (ranks[-1] == 2), (ratio, words)
        if not done:
            r, s = (
                np.array([numeral(one) for one in found.split(", ")])
                for found in re.search(r"r = \((.*?)\) and s = \((.*?)\)", words).groups()
            )
            np.testing.assert_allclose(W1 * np.outer(r, s), W2, atol=0.05)
    assert {ranks.count(rank) > 2 for rank in (1, 2)} == {True}
    assert 0 in ranks


def test_sharing_costs_where_the_count_says(play):
    page = play({"method": "deep_ensemble", "ensemble_size": 2})
    challenge(page, "price")
    assert verdict(page) == [False, "Not yet: 76 numbers against 100."]
    page.get_by_label("inputs m").press("Home")
    assert verdict(page)[0] is True
    assert verdict(page)[1].startswith("Done: 49 numbers against 40.")
    script = """sizes => sizes.map(([in_features, out_features, ensemble_size]) => {
      t.set({ ...t.state, in_features, out_features, ensemble_size });
      return verdict();
    })"""
    for (m, n, M), (done, words) in zip(SIZES, page.evaluate(script, SIZES), strict=True):
        shared, own = (
            counting.layer(m, n, method, M).total for method in ("batch_ensemble", "deep_ensemble")
        )
        assert done == (shared > own)
        assert words.startswith(f"{'Done' if done else 'Not yet'}: {shared} numbers against {own}.")
    page.get_by_label("members M").press("Home")
    assert state(page)["challenge"] == "price"
    challenge(page, "equal")
    page.get_by_label("members M").press("Home")  # no longer the same task
    assert state(page)["challenge"] is None


# For all readers.


# Matrices of their own, such as are scaled, and drawn ones; methods share all else.
@pytest.mark.parametrize(
    ("method", "mode"),
    [("deep_ensemble", "light"), ("rank1", "dark"), ("mean_field", "light")],
)
def test_axe_finds_nothing_on_a_desk_and_on_a_phone(play, method, mode):
    page = play({"method": method}, mode, viewport=DESK)
    page.evaluate("cell('y:0,0').click()")
    if method == "deep_ensemble":
        challenge(page, "reach")
        assert page.locator(".ensedu-p-verdict").is_visible()
    assert list(accessible(page)) == []


@pytest.mark.parametrize("method", METHODS)
def test_a_phone_shows_all_and_keeps_in_sight_what_changes_a_number(play, method):
    page = play({"method": method}, viewport=PHONE)
    far = 0 if method == "single" else 3
    top = ".ensedu-p-stepper, .ensedu-p-outputs, .ensedu-p-story"
    key = f"y:{far},4"
    at(page, key).evaluate("one => one.scrollIntoView({ block: 'end' })")
    page.evaluate("key => cell(key).click()", key)
    own, above = page.evaluate(
        "([key, top]) => [cell(key).getBoundingClientRect().toJSON(), all(top).map((one) => one.getBoundingClientRect().toJSON())]",
        [key, top],
    )
    assert len(above) == 3
    assert own["bottom"] <= PHONE["height"] + 1
    assert all(0 <= one["top"] and one["bottom"] <= own["top"] for one in above)
    clipped = """all('.ensedu-p-cell').filter((one) => {
      const text = document.createRange();
      text.selectNodeContents(one);
      return text.getBoundingClientRect().width > one.clientWidth + 1;
    }).map((one) => [one.dataset.key, one.textContent])"""
    for width in (PHONE, SMALL, DESK):
        page.set_viewport_size(width)
        page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
        assert page.evaluate(clipped) == []


def test_paper_shows_the_layer_and_nothing_to_press(play):
    page = play({"method": "rank1"}, viewport=DESK)
    page.emulate_media(media="print")
    visible = (
        "selector => all(selector).map((one) => one.checkVisibility({ visibilityProperty: true }))"
    )
    count = counting.layer(4, 5, "rank1", 4).total
    found = page.evaluate(visible, ".ensedu-p-cell.stored")
    assert found == [True] * (count + 4)
    for part in (
        ".ensedu-p-tools",
        ".ensedu-p-stepper",
        ".ensedu-p-answer",
        ".ensedu-p-add",
    ):
        assert True not in page.evaluate(visible, part), part
    assert page.evaluate("getComputedStyle(find('.ensedu-p-top')).position") == "static"


def test_both_lives_are_the_same_functions(bench):
    script = """async (text) => {
      const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
      const { default: widget, ...named } = await import(address);
      const both = { ...named, ...widget };
      return [Object.keys({ ...both, ...p }).filter((name) => String(both[name]) !== String(p[name])), Object.keys(both).length];
    }"""
    differ, number = bench.evaluate(script, layer_scripts.BUNDLE.module())
    assert differ == []
    assert number > 20


# In the book.


@pytest.fixture
def chapter(server):
    return server + PAGE


def test_the_page_of_the_book_answers(open_page, chapter):
    page = open_page()
    visit(page, chapter)
    figure = page.locator(".ensedu-playground")
    name = figure.get_attribute("data-name")
    assert not page.locator(".ensedu-playground .ensedu-still").is_visible()
    totals = dict(
        zip(
            figure.locator(".ensedu-p-bars input").evaluate_all(
                "all => all.map((one) => one.value)"
            ),
            figure.locator(".ensedu-p-bars output").all_inner_texts(),
            strict=True,
        )
    )
    assert (totals["batch_ensemble"], totals["deep_ensemble"]) == ("56", "64")
    cell = figure.locator('[data-key="weight:0,0"]')
    before = figure.locator('[data-key^="y:"]').all_inner_texts()
    cell.focus()
    page.keyboard.press("ArrowUp")
    after = figure.locator('[data-key^="y:"]').all_inner_texts()
    assert [one != other for one, other in zip(before, after, strict=True)] == [
        True,
        False,
        False,
        False,
    ] * 4
    page.wait_for_function("name => location.hash.startsWith(`#${name}:`)", arg=name)
    link = page.url.replace("#", "?anew#")
    page.goto(link)
    page.wait_for_function(
        "Math.abs(document.querySelector('.ensedu-playground').getBoundingClientRect().top) < 120"
    )
    assert figure.locator('[data-key^="y:"]').all_inner_texts() == after


def test_a_phone_keeps_in_sight_how_to_change_a_number_and_what_comes_out(open_page, chapter):
    page = open_page(viewport=PHONE, has_touch=True)
    visit(page, chapter)
    last = page.locator('[data-key="y:3,3"]')
    last.evaluate("one => one.scrollIntoView({ block: 'end' })")
    page.wait_for_function(
        "document.querySelector('[data-key=\"y:3,3\"]').getBoundingClientRect().bottom <= innerHeight + 1"
    )
    last.tap()
    page.wait_for_function(
        "document.querySelector('.ensedu-p-story').textContent.startsWith('y4[4] = ')"
    )
    header = page.evaluate(
        "Math.max(0, ...[...document.querySelectorAll('.bd-header')].map((one) => one.getBoundingClientRect().bottom))"
    )
    own = last.bounding_box()
    for part in (".ensedu-p-stepper", ".ensedu-p-outputs", ".ensedu-p-story"):
        box = page.locator(part).bounding_box()
        assert header - 1 <= box["y"]
        assert box["y"] + box["height"] <= own["y"]
    for width in (SMALL, PHONE):
        page.set_viewport_size(width)
        assert page.evaluate("document.scrollingElement.scrollWidth") <= width["width"]


def test_on_paper_the_page_of_the_book_shows_every_number_and_no_button(open_page, chapter):
    page = open_page()
    visit(page, chapter)
    page.emulate_media(media="print")
    seen = "all => all.map((one) => one.checkVisibility())"
    cells = page.locator(".ensedu-p-cell").evaluate_all(seen)
    assert len(cells) == 3 + 56 + 4 * (12 + 4) + 2 * 4  # x, stored, W and y, mean and spread
    assert all(cells)
    others = page.locator(".ensedu-p button:not(.ensedu-p-cell)").evaluate_all(seen)
    assert not any(others)


def test_without_scripts_a_picture_stands(open_page, chapter):
    page = open_page(java_script_enabled=False)
    page.goto(chapter)
    assert page.locator(".ensedu-playground .ensedu-still").is_visible()
    assert page.locator(".ensedu-p").count() == 0


SPARE = """() => [...document.querySelectorAll(".ensedu-p-cell")].filter((cell) => cell.checkVisibility()).flatMap((cell) => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  const spare = (cell.clientWidth - range.getBoundingClientRect().width) / 2;
  return spare < 1 || parseFloat(getComputedStyle(cell).fontSize) < 11 ? [[cell.dataset.key, cell.textContent, spare]] : [];
})"""


SEEN = """() => [...document.querySelectorAll(".ensedu-p-cell")].filter((cell) => cell.checkVisibility()).map((cell) => [
  cell.dataset.key, cell.textContent, cell.getAttribute("aria-valuetext") ?? cell.ariaLabel.split(": ").pop(),
])"""


@pytest.mark.parametrize("viewport", [DESK, PHONE, SMALL], ids=["desk", "phone", "small"])
def test_every_number_has_room_and_its_three_digits_in_its_cell(open_page, chapter, viewport):
    page = open_page(viewport=viewport)
    for method in METHODS:
        visit(page, f"{chapter}#playground:method={method}")
        page.locator(f"input[value={method}]:checked").wait_for(state="attached")
        page.wait_for_timeout(100)
        assert page.evaluate(SPARE) == [], method
        for key, text, said in page.evaluate(SEEN):
            if abs(numeral(said)) < 10:
                assert text == said, (method, key)
            else:
                assert re.fullmatch(f"{MINUS}?\\d\\d(\\.\\d)?", text), (method, key)
                assert abs(numeral(text) - numeral(said)) <= 0.0501


STRIP = """() => {
  const [, scale] = document.querySelector(".ensedu-p-outputs").children;
  const middle = (one) => { const box = one.getBoundingClientRect(); return box.x + box.width / 2; };
  const line = document.querySelector(".ensedu-p-outputs .ensedu-p-line");
  return {
    width: line.getBoundingClientRect().width,
    words: [...scale.children].map((one) => one.textContent),
    places: [...scale.children].map(middle),
    ticks: [...line.querySelectorAll("line.axis")].slice(1).map(middle),
    names: [...document.querySelectorAll(".ensedu-p-outputs > .ensedu-p-label")].map((one) => one.textContent),
  };
}"""


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_the_ends_of_an_axis_stand_over_it_and_round_all_outputs(open_page, chapter, viewport):
    page = open_page(viewport=viewport)
    strips = {}
    for method in METHODS:
        visit(page, f"{chapter}#playground:method={method}")
        page.locator(f"input[value={method}]:checked").wait_for(state="attached")
        page.wait_for_timeout(100)
        strip = strips[method] = page.evaluate(STRIP)
        low, zero, high = (numeral(word) for word in strip["words"])
        assert low < zero == 0 < high
        np.testing.assert_allclose(strip["places"], strip["ticks"], atol=0.6)
        y = [numeral(one) for one in page.locator('[data-key^="y:"]').all_inner_texts()]
        assert low < min(y) and max(y) < high
        assert strip["names"][4:] == [f"output {b}" for b in range(1, 5)]
    assert len({strip["width"] for strip in strips.values()}) == 1
    # The little spread of a mean-field BNN is seen.
    spans = {
        method: np.ptp([numeral(word) for word in strip["words"]])
        for method, strip in strips.items()
    }
    assert 2 * spans["mean_field"] < spans["batch_ensemble"]


def axis(page):
    ticks = page.locator(".ensedu-p-outputs > :nth-child(2) > span").all_inner_texts()
    return [numeral(ticks[0]), numeral(ticks[-1])]


@pytest.mark.parametrize("scale", [0.01, 1, 9])
@pytest.mark.parametrize("method", METHODS)
def test_the_axis_of_outputs_has_round_ends_that_are_as_near_as_can_be(bench, method, scale):
    begin(bench, method=method, edits={f"x:{a}": scale * (-1) ** a for a in range(4)})
    y = layers.outputs(state(bench))
    low, high = axis(bench)
    longer = max(-y.min(), y.max())
    for end, furthest in ((-low, -y.min()), (high, y.max())):
        assert f"{end:.1e}"[:3] in ("1.0", "1.5", "2.0", "3.0", "4.0", "6.0", "8.0")
        needed = max(furthest, 0.25 * longer)
        assert needed <= end <= max(1, 1.6 * 1.05 * needed)


def test_the_axis_of_outputs_grows_at_once_and_shrinks_when_the_layer_is_another(play):
    page = play()
    first = axis(page)

    def pull():
        page.evaluate("t.edit('x:1', 9)")
        far = axis(page)
        y = layers.outputs(state(page))
        assert far[0] < min(first[0], y.min()) and max(first[1], y.max()) < far[1]
        page.evaluate("t.edit('x:1', 2)")
        assert axis(page) == far  # while a number is pressed nothing comes nearer
        press(page, "Undo")
        press(page, "Undo")
        assert state(page) == BASE and axis(page) == far

    pull()
    press(page, "Reset")
    assert axis(page) == first
    pull()
    for method in ("mean_field", "batch_ensemble"):
        page.locator(f"input[value={method}]").check()
    assert axis(page) == first
    pull()
    for size in ("1", "4"):
        page.get_by_label("members M").select_option(size)
    assert axis(page) == first


def test_a_sentence_sets_indices_as_the_figure_does(play):
    page = play()
    at(page, "W:1,2,0").click()
    subs = "() => all('.ensedu-p-story sub').map((one) => one.textContent)"
    assert page.evaluate(subs) == ["2", "2", "2"]
    at(page, "mean:1").click()
    assert page.evaluate(subs) == []
    challenge(page, "ways")
    assert page.locator(".ensedu-p-task sub").all_inner_texts() == ["1", "1", "1"]
    assert page.locator(".ensedu-p-verdict sub").all_inner_texts() == ["1", "1"]


@pytest.mark.parametrize("method", METHODS)
def test_it_begins_with_one_number_touched(play, method):
    page = play({"method": method})
    (touched,) = page.evaluate("marked('touched')")
    assert touched.startswith("weight")
    assert touched.endswith(":0,0") or touched == "weight:0,0,0"
    assert len(page.evaluate("marked('into')")) >= 3
    assert story(page).startswith(("W[1, 1] = ", "W1[1, 1] = ", "The mean of W[1, 1] = "))
    field = page.locator(".ensedu-p-stepper input")
    assert numeral(field.input_value()) == shown(page)[touched]["value"]
    undo = page.get_by_role("button", name="Undo")
    assert undo.get_attribute("aria-disabled") == "true"
    page.get_by_role("button", name="More", exact=True).click()
    assert undo.get_attribute("aria-disabled") == "false"
    undo.click()
    assert undo.get_attribute("aria-disabled") == "true"
    assert page.evaluate("marked('touched')") == [touched]


def test_means_and_deviations_of_the_touched_member_stand_above(open_page, chapter):
    page = open_page()
    visit(page, f"{chapter}#playground:method=rank1")
    at(page, "r:3,2").wait_for()
    page.wait_for_timeout(100)
    for i in (2, 0, 3):
        at(page, f"r:{i},1").click()
        for name in ("r_mean", "r_std", "s_mean", "s_std"):
            for other in range(4):
                assert at(page, f"{name}:{other},1").is_visible() == (other == i)
        for name in ("r_mean", "r_std"):
            assert "from" in at(page, f"{name}:{i},1").get_attribute("class")
    rows = [one.bounding_box() for one in page.locator(".ensedu-p-kept .own:visible").all()]
    for above, below in itertools.pairwise(rows):  # four that can be told apart
        assert below["y"] - above["y"] - above["height"] >= 5
    page.get_by_label("members M").press("Home")
    page.wait_for_timeout(100)
    assert at(page, "s_std:0,3").is_visible()
    page.set_viewport_size(PHONE)
    page.wait_for_timeout(200)
    assert page.locator(".ensedu-p-member [data-key='s_std:0,3']").is_visible()


LINES = """() => [...document.querySelectorAll(".ensedu-p-sum tr[data-role]:not([data-role=total]) td:nth-child(2)")].map((formula) =>
  formula.textContent.split(/ (?==)/).map((part) => {
    const range = document.createRange();
    const texts = document.createTreeWalker(formula, NodeFilter.SHOW_TEXT);
    while (!texts.nextNode().data.includes(part));
    const start = texts.currentNode.data.indexOf(part);
    range.setStart(texts.currentNode, start);
    range.setEnd(texts.currentNode, start + part.length);
    return [...new Set([...range.getClientRects()].map((one) => Math.round(one.top)))];
  }))"""


@pytest.mark.parametrize("viewport", [{"width": 390, "height": 844}, PHONE, SMALL])
def test_no_formula_of_the_count_is_broken(open_page, chapter, viewport):
    page = open_page(viewport=viewport)
    visit(page, f"{chapter}#playground:method=rank1")
    page.locator(".ensedu-p-sum td").first.wait_for()
    lines = page.evaluate(LINES)
    assert len(lines) == 4
    for formula in lines:  # the letters, and the same in numbers
        assert [len(part) for part in formula] == [1, 1]
        assert formula[0] == formula[1] or viewport["width"] < 390
    assert page.evaluate("document.scrollingElement.scrollWidth") <= viewport["width"]
    table = page.locator(".ensedu-p-sum")
    assert table.evaluate("one => one.scrollWidth <= one.clientWidth + 1")


def test_what_stays_in_sight_leaves_most_of_a_phone_to_the_members(open_page, chapter):
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    visit(page, chapter)
    at(page, "y:0,0").evaluate("one => one.scrollIntoView({ block: 'start' })")
    top, bar = (page.locator(one).bounding_box() for one in (".ensedu-p-top", ".bd-header-article"))
    assert abs(top["y"] - bar["height"]) <= 1
    assert top["height"] <= 185


def test_on_a_phone_every_number_and_button_has_room_for_a_finger(open_page, chapter):
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    for method in ("batch_ensemble", "rank1", "mean_field"):
        visit(page, f"{chapter}#playground:method={method}")
        page.wait_for_function(
            "method => document.querySelector('.ensedu-p-menu').value === method", arg=method
        )
        small_ones = page.locator(".ensedu-p-cell:visible, .ensedu-p button:visible").evaluate_all(
            """(all) => all.filter((one) => {
              const { width, height } = one.getBoundingClientRect();
              return width < 40 || height < 40;
            }).map((one) => one.dataset.key ?? one.textContent)"""
        )
        assert small_ones == []


@pytest.mark.parametrize("method", ["batch_ensemble", "rank1"])
@pytest.mark.parametrize("viewport", [{"width": 390, "height": 844}, SMALL], ids=["phone", "small"])
def test_a_swipe_ends_where_one_member_stands_alone(open_page, chapter, viewport, method):
    page = open_page(viewport=viewport, has_touch=True, is_mobile=True)
    visit(page, f"{chapter}#playground:method={method}")
    members, tabs = page.locator(".ensedu-p-members"), page.get_by_role("radiogroup", name="member")
    at(page, "y:3,3").wait_for()
    assert tabs.locator("label").all_inner_texts() == ["1", "2", "3", "4"]

    def checked():
        return tabs.get_by_role("radio").evaluate_all("all => all.findIndex((one) => one.checked)")

    assert checked() == 0
    for i, cell in enumerate(("y:0,3", "y:1,0", "y:2,3", "y:3,0")):
        at(page, cell).focus()
        page.wait_for_timeout(400)
        row = members.bounding_box()
        boxes = [one.bounding_box() for one in page.locator(".ensedu-p-member").all()]
        assert abs(boxes[i]["x"] - row["x"] - 3) < 2, cell
        right = row["x"] + row["width"]
        assert boxes[i]["x"] + boxes[i]["width"] <= right
        assert all(box["x"] >= right for box in boxes[i + 1 :])
        assert checked() == i
    place = "one => one.getBoundingClientRect().top + scrollY"
    before = tabs.evaluate(place)
    for i in (2, 0, 3, 1):
        tabs.locator("label").nth(i).tap()
        page.wait_for_timeout(200)
        assert checked() == i
        assert abs(page.locator(".ensedu-p-member").nth(i).bounding_box()["x"] - row["x"] - 3) < 2
    assert tabs.evaluate(place) == before  # nothing jumps
    page.get_by_label("Method", exact=True).select_option("single")
    assert not tabs.is_visible()
    page.get_by_label("Method", exact=True).select_option(method)
    members.evaluate("one => one.scrollTo({ left: one.clientWidth / 3 })")
    page.wait_for_timeout(400)
    places = [one.bounding_box()["x"] for one in page.locator(".ensedu-p-member").all()]
    assert min(abs(x - members.bounding_box()["x"] - 3) for x in places) < 2


@pytest.mark.parametrize("viewport", [{"width": 390, "height": 844}, SMALL], ids=["phone", "small"])
def test_six_tabs_stand_in_one_row(open_page, chapter, viewport):
    page = open_page(viewport=viewport, has_touch=True, is_mobile=True)
    visit(page, f"{chapter}#playground:ensemble_size=6")
    tabs = page.locator(".ensedu-p-tabs label")
    tabs.nth(5).wait_for()
    boxes = [one.bounding_box() for one in tabs.all()]
    assert len({box["y"] for box in boxes}) == 1
    assert all(box["width"] >= 24 and box["height"] >= 40 for box in boxes)
    assert boxes[-1]["x"] + boxes[-1]["width"] <= viewport["width"] - 20


def test_digits_on_a_phone_are_not_small(open_page, chapter):
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    size = "all => Math.min(...all.map((one) => parseFloat(getComputedStyle(one).fontSize)))"
    for method in METHODS:
        for sizes in ("", "&ensemble_size=6", "&in_features=4&out_features=5"):
            visit(page, f"{chapter}#playground:method={method}{sizes}")
            page.wait_for_timeout(100)
            smallest = page.locator(".ensedu-p-cell:visible").evaluate_all(size)
            assert smallest >= (11.5 if "out" in sizes else 13), (method, sizes)


def test_a_phone_has_all_outputs_once_in_small_beside_what_changes_a_number(open_page, chapter):
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    visit(page, chapter)
    outputs = page.locator(".ensedu-p-outputs")
    at(page, "weight:0,1").tap()
    y = [[numeral(at(page, f"y:{i},{b}").text_content()) for i in range(4)] for b in range(4)]
    found = outputs.locator("b").all_inner_texts()
    assert found[::2] == [figure(np.mean(one)) for one in y]
    assert found[1::2] == [f"± {figure(np.std(one))}" for one in y]
    assert outputs.locator("circle").count() == 4 * 4
    assert outputs.locator("circle.lit").count() == 4
    assert outputs.locator("b.lit").all_inner_texts() == found[2:4]
    assert page.locator(".ensedu-p-line").count() == 4
    for name in ("equal", "ways"):
        challenge(page, name)
        assert outputs.is_visible()
        assert page.locator(".ensedu-p-top").bounding_box()["height"] < 844 / 3
    # Turned to a desk it is the large one, and back.
    for width, cells in ((1280, 4), (390, 0), (1280, 4)):
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_timeout(200)
        assert page.locator(".ensedu-p-outputs .ensedu-p-cell").count() == cells
        assert page.locator(".ensedu-p-line").count() == 2
    assert page.locator(".ensedu-p-outputs circle").count() == 4


def test_nothing_is_empty_between_the_shared_matrix_and_what_comes_out(open_page, chapter):
    page = open_page(viewport=DESK)
    visit(page, chapter)
    matrix, outputs = (
        page.locator(one).bounding_box()
        for one in (".ensedu-p-shared .common", ".ensedu-p-outputs")
    )
    assert 0 < outputs["x"] - matrix["x"] - matrix["width"] < 60


def test_the_hint_of_every_method_is_one_line_and_the_key_another(open_page, chapter):
    page = open_page()
    for method in METHODS:
        visit(page, f"{chapter}#playground:method={method}")
        page.locator(f"input[value={method}]:checked").wait_for(state="attached")
        parts = (
            ".ensedu-p-do",
            '[data-key="x:0"]',
            ".ensedu-p-story",
            ".ensedu-p-key",
            ".ensedu-p-title",
        )
        boxes = [page.locator(one).first.bounding_box() for one in parts]
        assert max(boxes[0]["height"], boxes[3]["height"] - 6) < 26, method
        for above, below in itertools.pairwise(boxes):
            assert above["y"] + above["height"] < below["y"], method


TINTS = """() => [...document.querySelectorAll(".ensedu-p-member .into")].map((cell) => {
  const color = getComputedStyle(cell).backgroundColor.match(/[\\d.]+/g).map(Number);
  return [Number(cell.textContent.replace("\u2212", "-")), ...color.slice(0, 3)];
})"""


def test_a_dark_page_tints_every_number_that_moves_so_that_it_is_seen(open_page, chapter):
    page = open_page("dark")
    visit(page, chapter)
    page.evaluate("document.querySelector('[data-key=\"x:0\"]').click()")
    moved = page.evaluate(TINTS)
    assert len(moved) == 16
    for value, *color in moved:
        red, _, blue = (255 * part if max(color) <= 1 else part for part in color)
        assert value == 0 or (red - blue if value > 0 else blue - red) > 25, value


@pytest.mark.parametrize("viewport", [DESK, PHONE, SMALL], ids=["desk", "phone", "small"])
def test_a_challenge_is_in_sight_with_its_cells_and_leads_back(open_page, chapter, viewport):
    page = open_page(viewport=viewport)
    visit(page, chapter)
    chip = page.locator(".ensedu-p-chip")
    assert chip.get_attribute("aria-expanded") == "false"
    chip.click()
    page.wait_for_timeout(200)
    assert chip.get_attribute("aria-expanded") == "true"
    narrow = viewport["width"] < DESK["width"]
    top, bar = (page.locator(one).bounding_box() for one in (".ensedu-p-top", ".bd-header-article"))
    for one in (".ensedu-p-task", ".ensedu-p-verdict", ".ensedu-p-steps", ".ensedu-p-leave"):
        box = page.locator(one).bounding_box()
        assert bar["height"] <= box["y"] + 1 and box["y"] + box["height"] <= viewport["height"]
        # Where there is little room, all of it stays.
        inside = top["y"] <= box["y"] and box["y"] + box["height"] <= top["y"] + top["height"]
        assert inside == (narrow or one != ".ensedu-p-steps")
    hand = page.locator(".ensedu-p-hand")
    place = hand.bounding_box()["y"]
    at(page, "r:0,1").focus()
    page.keyboard.press("ArrowUp")
    assert abs(hand.bounding_box()["y"] - place) <= 1
    press(page, "Leave the challenge")
    page.wait_for_timeout(200)
    assert not page.locator(".ensedu-p-steps, .ensedu-p-answer").filter(visible=True).count()
    box = chip.bounding_box()
    assert bar["height"] <= box["y"] and box["y"] + box["height"] <= viewport["height"]


@pytest.mark.parametrize("viewport", [DESK, {"width": 390, "height": 844}, SMALL])
def test_a_challenge_brings_in_sight_what_it_asks_to_change(open_page, chapter, viewport):
    page = open_page(viewport=viewport)
    visit(page, chapter)
    narrow = viewport["width"] < DESK["width"]
    for name, one in (
        ("equal", ".ensedu-p-member:nth-child(1) .ensedu-p-label >> nth=0"),
        ("reach", ".ensedu-p-member:nth-child(2) .ensedu-p-label >> nth=0"),
        ("price", ".ensedu-p-tools"),
    ):
        challenge(page, name)
        page.wait_for_timeout(200)
        box, top = (page.locator(each).bounding_box() for each in (one, ".ensedu-p-top"))
        assert 0 <= box["x"] and box["x"] + box["width"] <= viewport["width"], name
        asked = page.locator(".ensedu-p-answer").bounding_box()
        assert 0 <= asked["y"] and asked["y"] + asked["height"] <= viewport["height"], name
        bottom = top["y"] + top["height"]
        if one == ".ensedu-p-tools":
            assert 48 <= box["y"] and box["y"] + box["height"] <= top["y"]
        else:
            assert bottom - 1 <= box["y"] <= bottom + (130 if narrow else 160), name
            assert box["y"] + box["height"] <= viewport["height"]
            if narrow:  # W, too, where there is room
                above = page.locator(".ensedu-p-shared").bounding_box()["y"]
                member = page.locator(one.split()[0]).bounding_box()
                below = member["y"] + member["height"]
                assert above >= 48 or below - above + 64 >= viewport["height"], name


def test_members_stay_where_they_are_when_the_method_changes_or_a_challenge_begins(
    open_page, chapter
):
    page = open_page()
    visit(page, chapter)
    members = page.locator(".ensedu-p-members")
    place = "one => one.getBoundingClientRect().top + scrollY"
    first = members.evaluate(place)
    for radio in page.locator(".ensedu-p-bars input").all():
        radio.click()
        assert abs(members.evaluate(place) - first) < 2, radio.get_attribute("value")
    page.locator(".ensedu-p-bars input[value=batch_ensemble]").click()
    for name in ("equal", "ways", "reach"):
        challenge(page, name)
        assert page.locator(".ensedu-p-task").is_visible()
        assert abs(members.evaluate(place) - first) < 2, name


def test_the_outputs_of_all_members_are_on_the_first_screen(open_page, chapter):
    page = open_page(viewport=DESK)
    visit(page, chapter)
    for i in range(4):
        box = at(page, f"y:{i},0").bounding_box()
        assert box["y"] + box["height"] <= DESK["height"]


def test_the_key_shows_samples_and_no_buttons(open_page, chapter):
    page = open_page()
    visit(page, chapter)
    for one in page.locator(".ensedu-p-key span").all():
        sample = one.evaluate("(one) => parseFloat(getComputedStyle(one, '::after').width)")
        assert sample <= 16 < one.bounding_box()["width"] / 3


def test_a_phone_begins_with_numbers_and_says_what_a_finger_does(open_page, chapter):
    page = open_page(viewport=PHONE, has_touch=True, is_mobile=True)
    visit(page, chapter)
    box = page.locator('[data-key="weight:2,3"]').bounding_box()
    assert box["y"] + box["height"] < PHONE["height"]
    do = page.locator(".ensedu-p-do .ensedu-t-finger")
    assert do.is_visible()
    first = page.locator('[data-key="x:0"]').bounding_box()
    assert do.bounding_box()["y"] < first["y"] <= 0.65 * PHONE["height"]
    assert not page.locator(".ensedu-t-keys").is_visible()
    page.get_by_label("Method", exact=True).select_option("rank1")
    page.wait_for_function("document.querySelector('[data-key=\"s_std:2,3\"]')")
    assert page.locator(".ensedu-p-menu option:checked").text_content() == "rank-1 BNN: 84 numbers"
    desk = open_page()
    visit(desk, chapter)
    assert not desk.locator(".ensedu-p-do .ensedu-t-finger").is_visible()
    assert desk.locator(".ensedu-t-keys").is_visible()
    do = desk.locator(".ensedu-p-do .ensedu-t-mouse").bounding_box()
    assert do["y"] + do["height"] < desk.locator(".ensedu-p-member").first.bounding_box()["y"]


def test_a_phone_begins_with_numbers_also_where_no_matrix_is_shared(open_page, chapter):
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    visit(page, chapter)
    page.get_by_label("Method", exact=True).select_option("deep_ensemble")
    page.evaluate("scrollTo(0, 0)")
    x = [at(page, f"x:{a}").bounding_box() for a in range(3)]
    assert x[0]["y"] == x[1]["y"] == x[2]["y"]
    assert page.locator(".ensedu-p-shared").bounding_box()["height"] < 60
    first = at(page, "weight:0,0,0").bounding_box()
    assert first["y"] + first["height"] <= 844


@pytest.mark.parametrize("method", ["batch_ensemble", "rank1"])
@pytest.mark.parametrize("viewport", [DESK, {"width": 1920, "height": 1080}], ids=["desk", "large"])
def test_four_members_are_in_sight_while_the_shared_matrix_is_edited(
    open_page, chapter, viewport, method
):
    page = open_page(viewport=viewport)
    page.goto(f"{chapter}#playground:method={method}")
    page.locator(f"input[value={method}]:checked").wait_for()
    page.evaluate("scrollTo(0, 0)")
    members = page.locator(".ensedu-p-member")
    members.first.wait_for()
    page.wait_for_timeout(300)
    assert members.count() == 4
    shared = page.locator(".ensedu-p-shared .common .ensedu-p-cell.stored").first
    boxes = [member.bounding_box() for member in members.all()]
    for box in [*boxes, shared.bounding_box()]:
        assert box["y"] >= 0 and box["y"] + box["height"] <= viewport["height"] + 1
    assert len({round(box["y"]) for box in boxes}) == 1
    assert boxes[-1]["x"] + boxes[-1]["width"] <= viewport["width"]
    grids = "(member) => member.scrollWidth - member.clientWidth"
    assert all(member.evaluate(grids) <= 0 for member in members.all())
    made = ".ensedu-p-member .made"
    before = page.locator(made).all_inner_texts()
    shared.focus()
    page.keyboard.press("ArrowUp")
    moved = [a != b for a, b in zip(before, page.locator(made).all_inner_texts(), strict=True)]
    assert sum(moved) >= 4


def test_what_stays_in_sight_covers_no_button(open_page, chapter):
    page = open_page()
    visit(page, chapter)
    top = page.locator(".ensedu-p-top")
    shadow = "(top) => parseFloat(getComputedStyle(top).boxShadow.match(/ -([\\d.]+)px/)[1])"
    edge = top.bounding_box()["y"] - top.evaluate(shadow)
    for one in page.locator(".ensedu-p-tools :is(button, select):visible").all():
        box = one.bounding_box()
        assert box["y"] + box["height"] <= edge


def test_a_phone_has_members_in_a_row_and_over_all_numbers_what_sets_the_layer(open_page, chapter):
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    visit(page, chapter)
    first, second = (page.locator(".ensedu-p-member").nth(i) for i in (0, 1))
    boxes = [one.bounding_box() for one in (first, second)]
    assert boxes[0]["y"] == boxes[1]["y"]
    row = page.locator(".ensedu-p-members").bounding_box()
    assert boxes[1]["x"] >= row["x"] + row["width"]  # one at a time
    above, below = (at(page, key).bounding_box() for key in ("weight:0,0", "W:0,0,0"))
    assert abs(above["x"] - below["x"]) <= 1 and above["width"] == below["width"]
    tops = [
        page.locator(one).bounding_box()["y"]
        for one in (
            ".ensedu-p-menu",
            ".ensedu-p-tools",
            ".ensedu-p-shared",
            ".ensedu-p-top",
            ".ensedu-p-members",
            ".ensedu-p-add",
        )
    ]
    assert tops == sorted(tops)
    cell = at(page, "y:3,3")
    cell.scroll_into_view_if_needed()
    assert cell.bounding_box()["x"] < 390
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 390
