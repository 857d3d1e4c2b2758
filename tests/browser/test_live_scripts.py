"""The live trainer's scripts without a trainer: addresses, data, words, experiments, programs."""

import contextlib
import io
import itertools
import re
import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ensedu import counting
from ensedu.methods import size_option
from tests.browser.small import HELP, OTHER, USUAL
from workshop.page.live import toys, trainer_scripts, trainer_state

GRID = trainer_state.GRID


@pytest.fixture(scope="module")
def bench(blank):
    """A page where `ensedu` is, and no trainer."""
    blank.add_script_tag(content=trainer_scripts.BUNDLE.classic() + HELP)
    return blank


# Addresses.

FIELDS, SIDE = (trainer_state.described()[part] for part in ("fields", "side"))
NUMBERS = st.integers(-100_000, 100_000).map(lambda value: value / 1000)


def some(field):
    if "choices" in field:
        return st.sampled_from(field["choices"])
    return (st.integers if field["whole"] else st.floats)(field["low"], field["high"])


@st.composite
def networks(draw):
    found = {key: draw(some(FIELDS[key])) for key in SIDE}
    size = {"ensemble_size": 1} if found["method"] == "single" else {}
    return found | size | {"start": draw(st.sampled_from(trainer_state.STARTS[found["method"]]))}


@st.composite
def states(draw):
    found = {key: draw(some(field)) for key, field in FIELDS.items()} | draw(networks())
    if found["data"] != "own":
        found["task"] = toys.TOYS[found["data"]].task
    point = [NUMBERS, NUMBERS, *[st.integers(0, 2)] * (found["task"] == "classification")]
    wide, unit = st.floats(-1e9, 1e9), st.floats(1e-300, 1e9)
    axis = st.fixed_dictionaries({"name": st.text(), "middle": wide, "unit": unit})
    return found | {
        "points": draw(st.lists(st.tuples(*point).map(list), max_size=7)),
        "other": draw(st.none() | networks()),
        "axes": draw(st.none() | st.lists(axis, min_size=2, max_size=2)),
    }


@given(states(), states())
@settings(phases=(Phase.generate,), suppress_health_check=[HealthCheck.too_slow])
def test_an_address_carries_the_whole_state_whatever_the_page_began_with(bench, first, second):
    script = """([state, base]) => {
      location.hash = `live:${ensedu.encode(state)}`;
      const found = ensedu.decode(location.hash.slice(6), base);
      return [found, found.state && ensedu.encode(found.state) === ensedu.encode(state)];
    }"""
    assert bench.evaluate(script, [first, second]) == [{"state": first}, True]


MANY = ";".join(["0,0"] * 501)
BAD = {
    "": "nothing stands in it", "%": "“%” is unknown", "__proto__=1": "“__proto__” is unknown",
    "width=7&a=3": "“a” is unknown", "other.toString=1": "“other.toString” is unknown",
    "lr=fast": "lr cannot be NaN", "seed=": "seed cannot be NaN", "seed=-1": "seed cannot be -1",
    "width=7.5": "width cannot be 7.5", "width=101": "width cannot be 101",
    "lr=Infinity": "lr cannot be Infinity", "method=toString": "method cannot be “toString”",
    "method=rank1&start=different": "rank1 cannot start from different",
    "method=single&ensemble_size=3": "a single network has one member",
    "other.method=no": "method cannot be “no”", "data=toString": "data cannot be “toString”",
    "task=classification": "gap is no classification",
    "task=classification&data=own": "point 1 cannot be", "points=1,2;3": "point 2 cannot be (3)",
    "points=1,2,3": "point 1 cannot be (1, 2, 3)", "points=1,": "point 1 cannot be (1, NaN)",
    "points=101,0": "point 1 cannot be", f"points={MANY}": "points must be a list of up to 500",
    "axes=a,1,1": "axes cannot be read", "axes=a,1,1;b,1,0": "axes cannot be read",
    "axes=%,1,1;b,1,1": "axes cannot be read",
}  # fmt: skip


def test_bad_addresses_are_refused_in_words(bench):
    script = "(links) => links.map((link) => ensedu.decode(link, stateOf({})))"
    for (link, words), found in zip(BAD.items(), bench.evaluate(script, [*BAD]), strict=True):
        assert found.keys() == {"error"} and found["error"].startswith(words), link


# What an address says, what the page began with, and what then is other than usual.
SHORT = [
    ("width=7", {}, {"width": 7}),
    ("width=7", {"other": OTHER}, {"width": 7, "other": OTHER}),
    ("data=moons", {"axes": [{"name": "x", "middle": 0, "unit": 1}] * 2}, {"data": "moons"}),
    ("data=moons&noise=0.5&seed=9", {}, {"data": "moons", "noise": 0.5, "seed": 9}),
    ("points=", {}, {"points": []}),
    ("points=1,2", {}, {"points": [[1, 2]]}),
    ("method=single", {"other": OTHER}, {"method": "single", "ensemble_size": 1}),
    ("method=rank1", {}, {"method": "rank1", "start": "normal-0.1"}),
    ("other.method=rank1", {}, {"other": {
        "method": "rank1", "start": "normal-0.1", "ensemble_size": 2, "loss": "mean",
        "kl_weight": 1,
    }}),
]  # fmt: skip


@pytest.mark.parametrize(("link", "base", "part"), SHORT)
def test_an_address_need_not_say_all(bench, link, base, part):
    script = "([link, base, part]) => [ensedu.decode(link, stateOf(base)).state, stateOf(part)]"
    found, wanted = bench.evaluate(script, [link, base, part])
    assert found == wanted


# Data.


def test_points_are_those_that_python_draws(bench):
    for (name, toy), seed in itertools.product(toys.TOYS.items(), (0, 812)):
        noise = 0.7 if seed else toy.noise
        found = bench.evaluate("(given) => ensedu.points(...given)", [name, noise, seed])
        assert found == pytest.approx(toys.points(name, noise, seed), abs=0.0011), name


# What a reader pastes, the names of its columns, and its numbers.
COLUMNS = {
    "1,2\n3,4": ("x y", [[1, 2], [3, 4]]),
    "# a remark\n\nheight\tweight\n1\t2\n3\t4,5": ("height weight", [[1, 2], [3, 4.5]]),
    '"height";"weight"\r\n"1,5";"2,5"\r\n3;4\r\n': ("height weight", [[1.5, 2.5], [3, 4]]),
    "1 2\n3   4": ("x y", [[1, 2], [3, 4]]),
    "1e3,-2.5E-1\n-.5,+4": ("x y", [[1000, -0.25], [-0.5, 4]]),
    '"a,b",c\n2,7\n2,7': ("a,b c", [[2, 7], [2, 7]]),  # equal values have no range to be scaled by
    "a;b;c\n1;2;yes\n3;4;no": ("a b", [[1, 2, 1], [3, 4, 0]]),
    "1,2,b\n3,4,a\n5,6,c\n7,8,b": ("input-1 input-2", [[1, 2, 1], [3, 4, 0], [5, 6, 2], [7, 8, 1]]),
}  # fmt: skip
UNREADABLE = {
    "": "There is nothing to read: paste two or three columns of numbers.",
    "1\n2": "Two or three columns are read (x and y, or two inputs and a class);"
    " the first line has 1.",
    "x,y": "There is only a line of names, and no row of numbers below it.",
    "x,y\n1,2\n3": "Row 3 has 1 columns, the first has 2.",
    "1,2\n3,four": "Row 2, column 2: “four” is no number.",
    "x,y\n1,2\n,4": "Row 3, column 1: “” is no number.",
    "1,2\n1e999,4": "Row 2, column 1: “1e999” is no number.",
    "1,2,a\n3,4,a": "The third column names the class: two or three classes are drawn, it has 1.",
    "1e308,1\n-1e308,2": "Column 1 reaches too far: its range is no finite number.",
}
READ = "([text, seed]) => ensedu.read(text, seed)"


def in_units(found):
    """The numbers that points stand for."""
    middles, units = (np.array([axis[key] for axis in found["axes"]]) for key in ("middle", "unit"))
    return middles + units * np.array(found["points"])[:, :2]


@pytest.mark.parametrize(("text", "wanted"), COLUMNS.items())
def test_columns_of_all_kinds_are_read_and_fill_the_picture(bench, text, wanted):
    found, (names, rows) = bench.evaluate(READ, [text, 0]), wanted
    assert [axis["name"].replace(" ", "-") for axis in found["axes"]] == names.split()
    assert [point[2:] for point in found["points"]] == [row[2:] for row in rows]
    np.testing.assert_allclose(in_units(found), [row[:2] for row in rows], rtol=1e-3)
    plane = len(rows[0]) == 3
    assert found["task"] == ("classification" if plane else "regression")
    reach = np.abs(np.array(found["points"])[:, :2]).max(axis=0).tolist()
    assert reach in ([3, 3] if plane else [4, 2], [0, 0])
    assert found["words"].startswith(f"Read {len(rows)} rows.")


@pytest.mark.parametrize(("text", "words"), UNREADABLE.items())
def test_what_cannot_be_read_is_told_in_words(bench, text, words):
    assert bench.evaluate(READ, [text, 0]) == {"error": words}


def test_of_more_rows_than_fit_some_are_drawn_at_random(bench):
    rows = np.round(np.random.default_rng(812).normal(size=(812, 2)), 3)
    text = "\n".join(",".join(map(str, row)) for row in rows.tolist())
    found, again, other = (bench.evaluate(READ, [text, seed]) for seed in (0, 0, 1))
    assert found == again != other
    assert found["words"].startswith("Read 812 rows, 500 of them drawn at random.")
    far = np.abs(in_units(found)[:, None] - rows).max(axis=2)
    assert far.shape == (500, 812) and far.min(axis=1).max() < 0.005
    assert len(set(far.argmin(axis=1))) > 490  # none is drawn twice; some are neighbors


# Words.


SAME, PARTED, INSIDE = (
    np.where(where, np.array([[-1], [1]]), 0)
    for where in (np.zeros(len(GRID)), GRID > 2, np.abs(GRID) < 0.5)
)
UNITS = [{"name": name, "middle": 1, "unit": unit} for name, unit in (("x", 3), ("y", 7))]
# What is seen, in which state, and the sentence.
TOLD = [
    ({"means": SAME}, {}, "All curves are one, and agree everywhere."),
    ({"means": PARTED}, {},
     "The inner band is ±\u00a00.00 at the points, and ±\u00a00.00 in the widest gap."),
    ({"means": INSIDE}, {},
     "The inner band is ±\u00a00.00 at the points, and ±\u00a02.00 in the widest gap."),
    ({"means": PARTED + INSIDE}, {"points": [[-1, 0], [2.5, 0]], "axes": UNITS},
     "The inner band is ±\u00a07.00 at the points, and ±\u00a014.0 in the widest gap."),
    ({"means": SAME[:1]}, {}, "One curve, so there is no band but that of the noise."),
    ({"means": SAME}, {"points": []}, "There is no point to learn from: add one."),
    ({"map": {"information": [0.1, 0.75, 0.5]}}, {"data": "moons", "points": [[0, 0, 1]]},
     "The members' doubt is at most 0.75 nats in the plane."),
    ({"moments": {"means": [1, 1, -1, 1], "stds": [1, 1, 1, 1]}}, {},
     "25% of the means are below 0; the prior has its mean at 1."),
    ({"moments": {"means": [1, 1, 1], "stds": [0.3, 0.1, 0.2]}}, {"prior_scale": 0.5},
     "Half of the σ lie above 0.20; the prior has 0.5."),
]  # fmt: skip


@pytest.mark.parametrize(("seen", "part", "words"), TOLD)
def test_the_sentence_says_what_is_special(bench, seen, part, words):
    side = {"raw": None, **seen}
    if "means" in seen:
        side["means"] = seen["means"].ravel().tolist()
    given = {"data": "own", "points": [[-1, 0], [1, 0]], **part}
    script = "([side, part]) => ensedu.story({ sides: [side] }, stateOf(part))"
    assert bench.evaluate(script, [side, given]) == words


MAPPED = """(information) => {
  const canvas = new OffscreenCanvas(100, 100);
  const look = ensedu.looks(document.body);
  const state = stateOf({ data: "moons", points: [] });
  const side = { map: { size: 2, mean: information.concat(information), information } };
  ensedu.map(canvas, { width: 100, height: 100 }, side, "information", state, look, {});
  const context = canvas.getContext("2d");
  const seen = [6, 94].map((x) => [...context.getImageData(x, 30, 1, 1).data.slice(0, 3)]);
  const part = (color, i) => parseInt(color.slice(i, i + 2), 16);
  const wanted = [look.page, look.doubt].map((color) => [1, 3, 5].map((i) => part(color, i)));
  return { seen, wanted };
}"""


def test_a_map_of_doubt_is_as_colored_as_members_disagree(bench):
    """From nothing at the left to all that two classes can have at the right, and more."""
    found = bench.evaluate(MAPPED, [0, np.log(2), 0, 2])
    np.testing.assert_allclose(found["seen"], found["wanted"], atol=3)


# Experiments show what they say.

GUIDED = """([key, seed, steps, part]) => {
  const guide = ensedu.GUIDES.find((each) => each.key === key);
  const state = { ...structuredClone(guide.state), seed };
  state.other = { ...state.other, ...part };
  state.points = ensedu.points(state.data, state.noise, seed);
  const made = trained(state, steps);
  return {
    sound: ensedu.problem(guide.state) === null && guide.guesses.includes(guide.right),
    points: state.points,
    curves: made.sides.map((side) => [...made.curves(side, ensedu.GRID, "mean").means]),
    matrices: made.sides.filter(({ net }) => net.layers.length > 2)
      .map(({ net, shown }) => [...net.made(1, shown[0]).W]),
  };
}"""


def equal(left, right, **_):
    return right.max() < 1e-12 and left[np.abs(GRID) < 1].max() > 0.1


def in_the_gap(left, right, **_):
    middle = np.abs(GRID).argmin()
    at = [np.abs(GRID - x).argmin() for x in (-2.9, 2.8)]
    return left[middle] > 3 * left[at].max() and right[middle] < right[at].max()


def alike(left, right, matrices, **_):
    signs, near = (np.corrcoef(each)[np.triu_indices(4, 1)].mean() for each in matrices)
    return signs < 0.3 and near > 0.7


def too_large(left, right, errors, x, **_):
    first, second = (np.interp(x, GRID, spread).mean() for spread in (left, right))
    return errors[1] > 1.4 * errors[0] and second > 1.3 * first


CLAIMS = [
    ("equal-starts", 100, {}, equal), ("data-in-the-gap", 500, {}, in_the_gap),
    ("data-in-the-gap", 500, {"method": "mc_dropout"}, in_the_gap),
    ("signs-or-near-one", 200, {}, alike), ("kl-too-large", 1500, {}, too_large),
]  # fmt: skip


@pytest.mark.parametrize(("key", "steps", "part", "holds"), CLAIMS)
def test_an_experiment_shows_what_it_says(bench, key, steps, part, holds):
    found = bench.evaluate(GUIDED, [key, 0, steps, part])
    assert found["sound"]
    curves = [np.reshape(each, (-1, len(GRID))) for each in found["curves"]]
    x, y = np.array(found["points"]).T
    errors = [np.sqrt(np.mean((np.interp(x, GRID, each.mean(axis=0)) - y) ** 2)) for each in curves]
    matrices = [np.reshape(each, (4, -1)) for each in found["matrices"]]
    left, right = (each.std(axis=0) for each in curves)
    assert holds(left, right, errors=errors, matrices=matrices, x=x)


# "Copy as Python": programs train the networks of the page on the page's points.

STEPS = 60
SECOND = OTHER | {"kl_weight": 0.1}
SETTINGS = USUAL | {
    "task": "regression", "data": "step", "noise": 0.3, "ensemble_size": 3, "width": 7,
    "hidden_layers": 2, "kl_weight": 0.01,
}  # fmt: skip


def case(method, **rest):
    M = 1 if method == "single" else 3
    start = trainer_state.STARTS[method][0]
    return {**SETTINGS, "method": method, "start": start, "ensemble_size": M, **rest}


PLANE = {"task": "classification", "data": "moons"}
FORMS = {"mean": {}, "variance": {"head": "variance", "loss": "mixture"}, "classes": PLANE}
# What is trained, by a name, or by words that its script has.
CASES = {
    f"{method}-{name}": case(method, **form)
    for method in trainer_state.STARTS
    for name, form in FORMS.items()
}
CASES |= {
    'init="signs", prior=Normal(1.0, 1), posterior_std=0.01': case("rank1", start="signs"),
    'init="normal", init_std=0.5, activation="tanh"':
        case("batch_ensemble", start="normal-0.5", activation="tanh"),
    "samples=3, p=0.05": case("mc_dropout"),
    "kl=KLWeight(0.01)": case("mean_field"),
    'posterior_std=0.1, activation="tanh", parametrization="ntk"':
        case("mean_field", parametrization="ntk", activation="tanh", initial_std=0.1),
    "[2, 7, 7, 7, 3]": case("deep_ensemble", **PLANE | {"data": "blobs"}, hidden_layers=3),
    "weight_decay=0.1": case("batch_ensemble", weight_decay=0.1, hidden_layers=1),
    "two-sides": case("deep_ensemble", start="same", other=SECOND),
    "two-alike": case("rank1", start="same", other={**SECOND, "method": "rank1", "start": "same"}),
    "one-point": case("deep_ensemble", data="own", points=[[0.5, 1]], noise=1),
    "many-points": case("single", data="own", points=[[i / 125, i % 3] for i in range(500)]),
}  # fmt: skip


@pytest.fixture(scope="module")
def copied(bench):
    """For each case its state with points, and the script that is copied after some steps."""
    script = """([states, steps]) => states.map((state) => {
      const points = state.points ?? ensedu.points(state.data, state.noise, state.seed);
      const whole = { ...state, points };
      return [ensedu.problem(whole), whole, ensedu.script(whole, steps)];
    })"""
    found = bench.evaluate(script, [[*CASES.values()], STEPS])
    assert [wrong for wrong, _, _ in found if wrong] == []
    return {name: (state, text) for name, (_, state, text) in zip(CASES, found, strict=True)}


def ran(text):
    """Run a script; its names, and what it prints. Each network and its history are kept."""
    kept, space = [], {"keep": lambda net, history: kept.append((net, history))}
    text = re.sub(r"^print\(", r"keep(net, history)\nprint(", text, flags=re.MULTILINE)
    output = io.StringIO()
    with contextlib.redirect_stdout(output), torch.random.fork_rng():
        exec(compile(text, "copied", "exec"), space)
    return space, kept, output.getvalue()


@pytest.mark.parametrize("name", CASES)
def test_a_script_trains_the_same_networks_on_the_same_points(copied, name):
    state, text = copied[name]
    assert re.fullmatch(r"\w+-\w+", name) or name in re.sub(r"\s+", " ", text).replace("( ", "(")
    assert ("KLWeight" in text) == any(
        side["method"] in ("mean_field", "rank1") for side in trainer_state.sides(state)
    )
    space, kept, output = ran(text)
    data = torch.cat([space["x"], space["y"].reshape(len(space["x"]), -1).float()], dim=1)
    assert data.numpy() == pytest.approx(np.array(state["points"]))
    sides = trainer_state.sides(state)
    for side, (net, history), line in zip(sides, kept, output.splitlines(), strict=True):
        M = {} if side["method"] == "single" else size_option(side["method"], side["ensemble_size"])
        total = counting.mlp(trainer_state.sizes(state), side["method"], **M).total
        assert sum(parameter.numel() for parameter in net.parameters()) == total
        losses = [row["nll"] for row in history]
        assert line == f"{side['method']} {round(losses[-1], 3)}"
        assert history[-1]["step"] == pytest.approx(STEPS, rel=0.1)
        if len(state["points"]) < 500:  # each has learned more than the first step knew
            assert np.mean(losses[-3:]) < np.mean(losses[:3])
        if side["start"] == "same" and side["method"] == "deep_ensemble":
            for array in net.parameters():
                assert torch.allclose(array, array[:1].expand_as(array), atol=1e-5)


def test_scripts_are_short_and_clean(copied, tmp_path):
    for i, (state, text) in enumerate(copied.values()):
        (tmp_path / f"{i}.py").write_text(text)
        assert len(text.splitlines()) + len(state["points"]) // -4 < 60
        assert max(map(len, text.splitlines())) <= 100
    run = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", str(tmp_path)]
    found = subprocess.run(run, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout[:2000]
