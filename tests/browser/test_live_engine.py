"""The engine of the live trainer, in a browser, repeats `ensedu.numpy` step for step."""

import itertools
import json
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import pytest

import ensedu.numpy as en
from ensedu import counting, methods, uncertainty
from ensedu.book import measured
from ensedu.book.experiments import bayes, nuts, nuts_distances
from ensedu.book.page.live import shared_numbers, trainer_scripts, trainer_state
from ensedu.data import gap
from ensedu.methods import size_option
from ensedu.numpy.base import WeightLayer
from ensedu.numpy.variational import inverse_softplus, sigmoid, softplus
from ensedu.priors import Normal

METHODS = tuple(trainer_state.STARTS)
HEADS = {"mean": 1, "variance": 2, "classes": 3}  # and how many numbers come out
LOSSES = ("mean", "mixture")
HIDDEN = {1: (13,), 2: (11, 7), 3: (7, 13, 11)}
B, M, EXAMPLES = 17, 3, 53
SIGMA, SCALE, P, KL_WEIGHT, LR, DECAY = 0.3, 0.7, 0.3, 0.9, 0.01, 0.5
STEPS, LONG = 20, 200

# What each case gives in JavaScript; all numbers of an array in a row.
RUN = """(text) => {
  const flat = (arrays) =>
    Object.fromEntries(arrays.map(([l, name, array]) => [`${l}.${name}`, [...array]]));
  const run = ({ spec, params, batch, noise, options, steps }) => {
    const net = new E.Network(spec, new E.Random(0));
    for (const [l, name, array] of net.arrays()) {
      if (array.length !== params[`${l}.${name}`].length) throw new Error(`${l}.${name}: length`);
      array.set(params[`${l}.${name}`]);
    }
    const adam = new E.Adam(net);
    const x = Float64Array.from(batch.x);
    const given = { x, y: Float64Array.from(batch.y), B: batch.y.length };
    const outputs = [...net.forward(x, given.B, noise[0])];
    const layers = net.layers.map((_, l) => net.made(l, noise[0]));
    const made = layers.map(({ W, bias }) => [[...W], [...bias]]);
    const found = [];
    let grads = null;
    for (let t = 0; t < steps; t += 1) {
      found.push(E.step(net, adam, given, noise[t], options));
      grads ??= flat(net.arrays().map(([l, name]) => [l, name, net.layers[l].grads[name]]));
    }
    return { outputs, made, found, grads, params: flat(net.arrays()), kl: net.kl() };
  };
  return JSON.stringify(JSON.parse(text).map(run));
}"""


@dataclass(frozen=True)
class Case:
    """What is trained, and on how many examples."""

    method: str
    head: str = "mean"
    loss: str = "mean"
    activation: str = "tanh"
    hidden: tuple[int, ...] = HIDDEN[2]
    inputs: int = 1
    steps: int = STEPS
    examples: int = B
    parametrization: str = "standard"

    def __str__(self):
        parts = (self.method, self.head, self.loss, self.activation, len(self.hidden), self.inputs)
        own = () if self.parametrization == "standard" else (self.parametrization,)
        return "-".join(map(str, (*parts, self.steps, self.examples, *own)))


def trained(case):
    """What JavaScript is given, and what `ensedu.numpy` makes of it."""
    rng = np.random.default_rng(list(str(case).encode()))
    sizes = (case.inputs, *case.hidden, HEADS[case.head])
    net = shaken(case.method, sizes, case.activation, rng, case.parametrization)
    x = rng.standard_normal((case.examples, case.inputs))
    y = rng.standard_normal(case.examples)
    if case.head == "classes":
        y = rng.integers(0, HEADS["classes"], case.examples)
    noise = [net.noise(rng, x.shape) for _ in range(case.steps)]
    given = {
        "spec": spec(case.method, sizes, case.activation, parametrization=case.parametrization),
        "params": listed(arrays(net, net.params)),
        "batch": {"x": x.ravel().tolist(), "y": y.tolist()},
        "noise": [by_layer(net, one) for one in noise],
        "options": {
            "head": case.head, "loss": case.loss, "sigma": SIGMA, "lr": LR,
            "weight_decay": DECAY, "kl_weight": KL_WEIGHT, "examples": EXAMPLES,
        },
        "steps": case.steps,
    }  # fmt: skip
    adam = en.Adam(net, lr=LR)
    outputs, found, grads = net(x, noise[0] or None), [], None
    # In the NTK parametrization a layer multiplies its input by W / √m.
    scales = [m**-0.5 if case.parametrization == "ntk" else 1.0 for m in sizes[:-1]]
    layers = zip(weight_layers(net).values(), layer_noise(net, noise[0]), scales, strict=True)
    made = [
        (scale * layer.weight_matrices(own or None), biases(layer, own))
        for layer, own, scale in layers
    ]
    for one in noise:
        out = net(x, one or None)
        losses = {name: nll(case.head, out, y, name) for name in LOSSES}
        net.backward(losses[case.loss][1])
        en.kl_backward(net, KL_WEIGHT / EXAMPLES)
        found.append((losses["mean"][0], losses["mixture"][0], en.kl(net)))
        grads = grads or {name: grad.copy() for name, grad in arrays(net, net.grads).items()}
        for name, array in net.params.items():
            if name.endswith(".weight"):
                array *= 1 - LR * DECAY
        adam.step()
    wanted = {
        "outputs": outputs, "made": made, "found": np.array(found), "grads": grads,
        "params": arrays(net, net.params), "kl": en.kl(net),
    }  # fmt: skip
    return given, wanted


def nll(head, outputs, y, reduction):
    if head == "mean":
        value, grad = en.half_squared_error(outputs / SIGMA, y / SIGMA, reduction=reduction)
        return value - np.log(NormalDist(0, SIGMA).pdf(0)), grad / SIGMA
    of = {"variance": en.gaussian_nll, "classes": en.softmax_cross_entropy}[head]
    return of(outputs, y, reduction=reduction)


def shaken(method, sizes, activation, rng, parametrization="standard"):
    """A network whose every number is another one than where it starts."""
    row = methods.METHODS[method]
    options = {"prior": Normal(shared_numbers.prior_loc(row), SCALE)} if row.spread else {}
    if row.drops_units:
        options["p"] = P
    members = size_option(method, M)
    net = en.mlp(
        sizes, method, **members, rng=rng, activation=activation, parametrization=parametrization,
        **options,
    )  # fmt: skip
    for name, array in net.params.items():
        array += 0.1 * rng.standard_normal(array.shape)
        if name.endswith("_rho"):
            array[...] = rng.normal(-1.5, 0.5, array.shape)
    return net


def spec(method, sizes, activation="tanh", passes=M, **others):
    return {
        "method": method, "sizes": sizes, "activation": activation, "start": "signs",
        "passes": 1 if method == "single" else passes, "p": P, "prior_scale": SCALE,
        "posterior_std": 0.01, "parametrization": "standard",
    } | others  # fmt: skip


def weight_layers(net):
    """The layers with arrays, by their place in the network."""
    return {i: layer for i, layer in enumerate(net.layers) if isinstance(layer, WeightLayer)}


def arrays(net, of):
    """Arrays named as in JavaScript, where only layers with arrays are counted."""
    place = {str(i): layer for layer, i in enumerate(weight_layers(net))}
    split = ((name.partition("."), array) for name, array in of.items())
    return {f"{place[i]}.{name}": array for (i, _, name), array in split}


def layer_noise(net, noise):
    """The noise of each layer with arrays, as that layer takes it."""
    return [
        {name.partition(".")[2]: array for name, array in noise.items() if name.startswith(f"{i}.")}
        for i in weight_layers(net)
    ]


def by_layer(net, noise):
    """The noise of each layer with arrays, and of the dropout that follows it, as JSON."""
    places = list(weight_layers(net))
    found = [{} for _ in places]
    for name, array in noise.items():
        i, _, own = name.partition(".")
        layer = sum(place <= int(i) for place in places) - 1
        found[layer][own] = array.astype(float).ravel().tolist()
    return found


def biases(layer, noise):
    if "bias_rho" in layer.params:
        return layer.params["bias_mean"] + softplus(layer.params["bias_rho"]) * noise["bias"]
    return layer.params["bias"].copy()


def listed(arrays):
    return {name: array.ravel().tolist() for name, array in arrays.items()}


def assert_close(given, wanted, tolerance):
    """Equal to so much of the largest number."""
    given, wanted = np.asarray(given, float).ravel(), np.asarray(wanted, float).ravel()
    assert given.shape == wanted.shape
    assert np.isfinite(given).all()
    assert np.abs(given - wanted).max() <= tolerance * np.abs(wanted).max()


# For each method the heads and losses; depths, activations and numbers of inputs take turns.
CASES = [
    Case(method, head, loss, ("relu", "tanh")[i % 2], HIDDEN[1 + i % 3], 1 + (i + i // 3) % 2)
    for method in METHODS
    for i, (loss, head) in enumerate(itertools.product(LOSSES, HEADS))
]
CASES += [Case(method, "variance", "mixture", examples=1) for method in METHODS]
CASES += [Case(method, inputs=2, hidden=HIDDEN[3], parametrization="ntk") for method in METHODS]
LONG_CASES = [
    Case(method, activation=activation, steps=LONG)
    for method in METHODS
    for activation in ("relu", "tanh")
]


@pytest.fixture(scope="module")
def engine(blank):
    """A page where E is the engine."""
    blank.add_script_tag(content=f"globalThis.E = ({trainer_scripts.BUNDLE.engine()})();")
    return blank


@pytest.fixture(scope="module")
def runs(engine):
    """For each case what Python gave, what JavaScript finds, and what was wanted."""
    cases = CASES + LONG_CASES
    given, wanted = zip(*map(trained, cases), strict=True)
    found = json.loads(engine.evaluate(RUN, json.dumps(given)))
    return dict(zip(cases, zip(given, found, wanted, strict=True), strict=True))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_one_step_and_twenty_repeat_the_layers(runs, case):
    _, found, wanted = runs[case]
    assert_close(found["outputs"], wanted["outputs"], 1e-13)
    assert found["grads"].keys() == wanted["grads"].keys()
    for name, grad in wanted["grads"].items():
        assert_close(found["grads"][name], grad, 1e-12)
    for i, name in enumerate(("average", "mixture", "kl")):
        assert_close([step[name] for step in found["found"]], wanted["found"][:, i], 1e-12)
    for name, array in wanted["params"].items():
        assert_close(found["params"][name], array, 1e-11)
    assert_close(found["kl"], wanted["kl"], 1e-12)


@pytest.mark.parametrize("case", LONG_CASES, ids=str)
def test_two_hundred_steps_repeat_the_layers(runs, case):
    _, found, wanted = runs[case]
    for name, array in wanted["params"].items():
        assert_close(found["params"][name], array, 1e-9)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_matrices_are_those_of_the_layers(runs, case):
    given, found, wanted = runs[case]
    passes = given["spec"]["passes"]
    for (W, bias), (matrices, rows) in zip(found["made"], wanted["made"], strict=True):
        assert_close(W, np.broadcast_to(matrices, (passes, *matrices.shape[-2:])), 1e-15)
        assert_close(bias, np.broadcast_to(rows, (passes, rows.shape[-1])), 1e-15)


@pytest.mark.parametrize("method", [m for m in METHODS if methods.METHODS[m].spread])
def test_means_and_standard_deviations_are_those_of_the_layers(engine, method):
    sizes = (2, 7, 5, 3)
    net = shaken(method, sizes, "tanh", np.random.default_rng(5))
    script = """([spec, params]) => {
      const net = new E.Network(spec, new E.Random(0));
      for (const [l, name, array] of net.arrays()) array.set(params[`${l}.${name}`]);
      return Object.values(net.moments()).map((part) => [...part]);
    }"""
    found = engine.evaluate(script, [spec(method, sizes, "tanh"), listed(arrays(net, net.params))])
    for part, ending, of in zip(found, ("_mean", "_rho"), (np.array, softplus), strict=True):
        own = [of(array).ravel() for name, array in net.params.items() if name.endswith(ending)]
        assert_close(part, np.concatenate(own), 1e-7)  # in float32


def test_standard_deviations_are_right_at_both_ends(engine):
    rho = np.linspace(-40, 40, 81)
    script = "(rho) => rho.map((value) => [E.softplus(value), E.sigmoid(value)])"
    found = np.array(engine.evaluate(script, rho.tolist()))
    np.testing.assert_allclose(found[:, 0], softplus(rho), rtol=1e-14)
    np.testing.assert_allclose(found[:, 1], sigmoid(rho), rtol=0, atol=1e-15)


def test_all_that_is_trained_is_counted(engine):
    sizes = ((1, 2, 1), (2, 13, 3), (1, 50, 50, 2), (2, 5, 7, 11, 2))
    for method, size, passes in itertools.product(METHODS, sizes, (1, 5)):
        found = engine.evaluate(
            "(spec) => new E.Network(spec, new E.Random(0)).total",
            spec(method, size, passes=passes),
        )
        members = size_option(method, passes) if method != "single" else {}
        assert found == counting.mlp(size, method, **members).total


def test_random_numbers_are_seeded_and_of_their_distribution(engine):
    script = """([seed, size]) => {
      const random = new E.Random(seed);
      const uniform = Array.from({ length: size }, () => random.uniform());
      return { uniform, normal: [...random.normals(size)], order: random.order(101) };
    }"""
    found = [engine.evaluate(script, [seed, 20011]) for seed in (5, 5, 6)]
    assert found[0] == found[1]
    uniform, normal = (np.array([one[name] for one in found[1:]]) for name in ("uniform", "normal"))
    assert 0 <= uniform.min() < 0.001
    assert 0.999 < uniform.max() < 1
    # Five standard errors of 40,022 draws, and of the correlation of the two streams.
    assert uniform.mean() == pytest.approx(0.5, abs=5 * 12**-0.5 / 200)
    assert normal.mean() == pytest.approx(0, abs=5 / 200)
    assert normal.var() == pytest.approx(1, abs=5 * 2**0.5 / 200)
    assert (normal**4).mean() == pytest.approx(3, abs=5 * 96**0.5 / 200)
    for pair in (uniform, normal, [normal[0, :-1], normal[0, 1:]]):
        assert abs(np.corrcoef(pair)[0, 1]) < 5 / 141
    assert sorted(found[0]["order"]) == list(range(101))
    assert found[0]["order"] != found[2]["order"]


STARTED = """(spec) => {
  const net = new E.Network(spec, new E.Random(2));
  return Object.fromEntries(net.arrays().map(([l, name, array]) => [`${l}.${name}`, [...array]]));
}"""


@pytest.mark.parametrize("method", METHODS)
def test_a_network_starts_where_the_layers_do(engine, method):
    size, passes, bound = (53, 61, 2), 7, 53**-0.5
    found = engine.evaluate(STARTED, spec(method, size, passes=passes, start="normal-0.5"))
    weight = np.array(found.get("0.weight", found.get("0.weight_mean")))
    assert bound * 0.99 < np.abs(weight).max() < bound
    assert abs(weight.mean()) < 5 * bound / (3 * weight.size) ** 0.5
    assert len(set(weight)) == weight.size
    for name, array in found.items():
        if name.endswith("_rho"):
            assert_close(array, np.full(len(array), inverse_softplus(0.01)), 1e-15)
    if method in ("batch_ensemble", "rank1"):
        key = "r" if method == "batch_ensemble" else "r_mean"
        for start, std in (("normal-0.5", 0.5), ("normal-0.1", 0.1)):
            found = engine.evaluate(STARTED, spec(method, size, passes=passes, start=start))
            drawn = np.array(found[f"0.{key}"])
            assert drawn.mean() == pytest.approx(1, abs=5 * std / drawn.size**0.5)
            assert drawn.std() == pytest.approx(std, abs=5 * std / (2 * drawn.size) ** 0.5)
        signs = engine.evaluate(STARTED, spec(method, size, passes=passes))[f"0.{key}"]
        assert set(signs) == {-1, 1}
        assert abs(np.mean(signs)) < 5 / len(signs) ** 0.5
        same = engine.evaluate(STARTED, spec(method, size, passes=passes, start="same"))
        assert set(same[f"0.{key}"]) == {1}


@pytest.mark.parametrize("method", METHODS)
def test_a_network_starts_from_a_standard_normal_in_the_ntk_parametrization(engine, method):
    """Its weights and biases, as the layers do: not r, s, or standard deviations."""
    size, passes = (53, 61, 2), 7
    ntk = spec(method, size, passes=passes, parametrization="ntk", posterior_std=0.3)
    found = {name: np.array(values) for name, values in engine.evaluate(STARTED, ntk).items()}
    net = en.mlp(
        size, method, **size_option(method, passes), rng=np.random.default_rng(0),
        parametrization="ntk",
    )  # fmt: skip
    for name, array in arrays(net, net.params).items():
        own = name.partition(".")[2]
        if own in ("weight", "weight_mean", "bias", "bias_mean"):
            drawn, of = found[name], array.size
            assert drawn.mean() == pytest.approx(0, abs=5 / of**0.5)
            assert (drawn**2).mean() == pytest.approx(1, abs=5 * (2 / of) ** 0.5)
            assert len(set(drawn)) == of
        elif own.endswith("_rho"):
            assert_close(found[name], np.full(array.size, inverse_softplus(0.3)), 1e-15)
        else:
            assert set(found[name]) == {-1, 1}


@pytest.mark.parametrize("method", METHODS)
def test_a_pass_draws_what_the_layers_draw(engine, method):
    sizes = (2, 83, 97, 1)
    script = """(spec) => new E.Network(spec, new E.Random(0)).noise(new E.Random(4))
      .map((own) => Object.fromEntries(Object.entries(own).map(([k, v]) => [k, [...v]])))"""
    found = engine.evaluate(script, spec(method, sizes))
    rng = np.random.default_rng(0)
    net = shaken(method, sizes, "relu", rng)
    drawn = by_layer(net, net.noise(rng, (B, 2)))
    assert [{k: len(v) for k, v in own.items()} for own in found] == [
        {k: len(v) for k, v in own.items()} for own in drawn
    ]
    for values in (np.array(v) for own in found for v in own.values() if len(v) > 200):
        dropped = method == "mc_dropout"
        mean, std = (1 - P, (P - P**2) ** 0.5) if dropped else (0, 1)
        assert values.mean() == pytest.approx(mean, abs=5 * std / values.size**0.5)
        assert values.std() == pytest.approx(std, abs=5 / values.size**0.5)
        assert (set(values) == {0, 1}) == dropped


# What is put together of what others are made of: no script knows it by name.
COMBINED = {
    "BatchEnsemble with dropout": methods.Method(
        "combined", "", "", "", methods.METHODS["batch_ensemble"].arrays,
        members=True, stochastic=True,
    ),
    "ensemble of mean-field BNNs": methods.Method(
        "combined", "", "", "",
        (
            methods.Array("weight_mean", "M m n", "per_member"),
            methods.Array("weight_rho", "M m n", "scales"),
            methods.Array("bias_mean", "M n", "biases"),
            methods.Array("bias_rho", "M n", "biases"),
        ),
        members=True, stochastic=True,
    ),
    "r and s of a shared distribution": methods.Method(
        "combined", "", "", "",
        (
            methods.Array("weight", "m n", "shared"),
            methods.Array("r", "M m", "per_member"),
            methods.Array("s_mean", "M n", "per_member"),
            methods.Array("s_rho", "M n", "scales"),
            methods.Array("bias_mean", "n", "biases"),
            methods.Array("bias_rho", "n", "biases"),
        ),
        members=True, stochastic=True,
    ),
}  # fmt: skip
# The gradients of one step, and finite differences of what it minimizes.
COMBINED_GRADIENTS = """([row, spec, options]) => {
  E.METHODS.combined = row;
  const net = new E.Network(spec, new E.Random(2));
  const random = new E.Random(5);
  const x = random.normals(6);
  const y = random.normals(6);
  const noise = net.noise(random);
  const objective = () => {
    const found = E.loss(net.forward(x, 6, noise), y, spec.passes, 6, "mean", "mixture", options);
    return found.mixture + options.beta * net.kl();
  };
  const grad = E.loss(net.forward(x, 6, noise, true), y, spec.passes, 6, "mean", "mixture", options).grad;
  net.backward(grad);
  net.kl(options.beta);
  const pairs = [];
  for (const [l, name, array] of net.arrays())
    for (let i = 0; i < array.length; i += 1) {
      const start = array[i];
      const at = (value) => { array[i] = value; return objective(); };
      const step = 1e-5;
      const slope = (at(start + step) - at(start - step)) / (2 * step);
      array[i] = start;
      pairs.push([net.layers[l].grads[name][i], slope]);
    }
  const outputs = net.forward(x, 6, noise).length;
  delete E.METHODS.combined;
  return { pairs, outputs };
}"""


@pytest.mark.parametrize("words", COMBINED)
def test_a_method_of_known_parts_needs_no_line_of_a_script(engine, words):
    row = trainer_scripts.network_row(COMBINED[words])
    given = {**spec("combined", (1, 5, 3, 1)), "posterior_std": 0.3}
    found = engine.evaluate(COMBINED_GRADIENTS, [row, given, {"sigma": SIGMA, "beta": 0.2}])
    gradients, slopes = np.array(found["pairs"]).T
    assert found["outputs"] == M * 6
    sizes = {"M": M}
    total = 0
    for m, n in itertools.pairwise((1, 5, 3, 1)):
        sizes |= {"m": m, "n": n}
        total += sum(np.prod([sizes[axis] for axis in each["axes"]]) for each in row["arrays"])
    assert len(gradients) == total
    np.testing.assert_allclose(gradients, slopes, rtol=1e-5, atol=1e-6)


# A trainer on a wave of so many points.
TRAINING = """
  const training = (specs, number, options = {}, seed = 3) => {
    const random = new E.Random(11);
    const x = random.normals(number);
    const y = Float64Array.from(x, (value) => Math.sin(2 * value));
    const all = { head: "mean", loss: "mean", sigma: 0.3, lr: 0.01, weight_decay: 0, kl_weight: 1,
      batch: 64, ...options };
    return { specs, data: { x, y, number }, options: all, seed };
  };
  const trained = ({ specs, data, options, seed }, steps) => {
    const made = new E.Training(specs, data, options, seed);
    for (let i = 0; i < steps; i += 1) made.step();
    return made;
  };
"""


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("method", ["deep_ensemble", "batch_ensemble"])
@pytest.mark.parametrize("start", ["same", "signs"])
def test_members_that_start_equal_stay_equal(engine, method, loss, start):
    # Three examples a batch and odd sizes: each member is computed as any other, to the last bit.
    script = f"""([spec, loss]) => {{{TRAINING}
      const {{ sides: [{{ net }}] }} = trained(training([spec], 5, {{ loss, batch: 3 }}), 101);
      const layers = net.layers.map((_, l) => net.made(l, [{{}}, {{}}, {{}}]));
      return layers.map(({{ W, bias }}) => [[...W], [...bias]]);
    }}"""
    found = engine.evaluate(script, [spec(method, (1, 7, 5, 1), start=start), loss])
    for array in itertools.chain.from_iterable(found):
        members = np.reshape(array, (M, -1))
        assert (members == members[0]).all() == (start == "same")


def test_each_point_is_in_one_batch_of_an_epoch(engine):
    script = f"""([spec, number]) => {{{TRAINING}
      const made = trained(training([spec], number), 0);
      const epoch = () => Array.from({{ length: Math.ceil(number / 64) }}, () => made.rows());
      const batches = [epoch(), epoch()];
      made.set(made.data, made.options);
      batches.push(epoch());
      const {{ x, y, B }} = made.batch();
      const fits = y.every((value, i) => value === Math.sin(2 * x[i]));
      return {{ batches, fits, B }};
    }}"""
    found = engine.evaluate(script, [spec("single", (1, 5, 1)), 139])
    assert [[len(rows) for rows in epoch] for epoch in found["batches"]] == [[64, 64, 11]] * 3
    epochs = [list(itertools.chain.from_iterable(epoch)) for epoch in found["batches"]]
    assert all(sorted(epoch) == list(range(139)) for epoch in epochs)
    assert epochs[0] != epochs[1] != epochs[2] != epochs[0]
    assert found["fits"]
    assert found["B"] == 64
    found = engine.evaluate(script, [spec("single", (1, 5, 1)), 63])
    assert found["batches"] == [[list(range(63))]] * 3


def test_losses_are_kept_at_even_distances(engine):
    script = f"""(spec) => {{{TRAINING}
      const {{ records: {{ every, steps, sides }} }} = trained(training([spec, spec], 5), 700);
      const lengths = sides.flatMap((side) => [side.average.length, side.mixture.length]);
      return {{ every, steps, lengths }};
    }}"""
    found = engine.evaluate(script, spec("single", (1, 2, 1)))
    assert found["every"] == 4
    assert found["steps"] == list(range(0, 700, 4))
    assert found["lengths"] == [175] * 4


def test_two_networks_learn_from_the_same_batches(engine):
    script = f"""(specs) => {{{TRAINING}
      const params = ({{ net }}) => net.arrays().map(([, , array]) => [...array]);
      const sides = [{{ loss: "mean" }}, {{ loss: "mixture", kl_weight: 10 }}];
      const both = trained(training(specs, 139, {{ sides }}), 7).sides.map(params);
      const one = (own, i) => trained(training([specs[i]], 139, own), 7).sides[0];
      const alone = sides.map((own, i) => params(one(own, i)));
      return [both, alone].map((found) => JSON.stringify(found));
    }}"""
    specs = [spec("mc_dropout", (1, 5, 1)), spec("rank1", (1, 7, 1))]
    both, alone = engine.evaluate(script, specs)
    assert both == alone


@pytest.mark.parametrize("classes", [2, 3])
def test_maps_are_what_the_package_computes(engine, classes):
    # Functions of all sizes: sure ones, ties, and undecided ones.
    net = shaken("mean_field", (2, 7, classes), "tanh", np.random.default_rng(5))
    net.params["3.weight_mean"] *= 20
    rng, size, reach, draws = np.random.default_rng(7), 23, 4, 2
    noise = [net.noise(rng, (1, 2)) for _ in range(draws)]
    script = """([spec, params, shown, size, reach, k]) => {
      const data = { x: new Float64Array(2), y: new Float64Array(1), number: 1 };
      const made = new E.Training([spec], data, { batch: 64 }, 0);
      const [side] = made.sides;
      const draws = side.shown.length;
      for (const [l, name, array] of side.net.arrays()) array.set(params[`${l}.${name}`]);
      side.shown = shown;
      const found = made.map(side, size, reach, k);
      return { draws, mean: [...found.mean], information: [...found.information] };
    }"""
    params = listed(arrays(net, net.params))
    shown = [by_layer(net, one) for one in noise]
    given = [spec("mean_field", (2, 7, classes)), params, shown, size, reach, classes]
    found = engine.evaluate(script, given)
    assert found["draws"] == 6  # at least 16 functions, of three samples each
    places = reach * (2 * (np.arange(size) + 0.5) / size - 1)
    x = np.array([(left, up) for up in -places for left in places])
    outputs = np.concatenate([net(x, one) for one in noise])
    p = np.exp(outputs - np.logaddexp.reduce(outputs, axis=-1, keepdims=True))
    parts = uncertainty.entropy_parts(p)
    assert_close(found["mean"], p.mean(axis=0).T, 1e-6)  # as float32
    assert_close(found["information"], parts.mutual_information / np.log(2), 1e-6)  # bits
    assert 0 < np.mean(parts.mutual_information) < np.log(classes)


def test_curves_are_means_and_raw_variances(engine):
    net = shaken("rank1", (1, 11, 2), "tanh", np.random.default_rng(3))
    grid, rng = np.linspace(-5, 5, 13), np.random.default_rng(4)
    noise = [net.noise(rng, (13, 1)) for _ in range(2)]
    script = """([spec, params, shown, grid, head]) => {
      const made = new E.Training([spec], { x: [0], y: [0], number: 1 }, { batch: 64 }, 0);
      for (const [l, name, array] of made.sides[0].net.arrays()) array.set(params[`${l}.${name}`]);
      made.sides[0].shown = shown;
      const { means, raw } = made.curves(made.sides[0], Float64Array.from(grid), head);
      const variances = raw && Array.from(raw, (value) => E.softplus(value) + 1e-6);
      return { means: [...means], variances };
    }"""
    shown = [by_layer(net, one) for one in noise]
    given = [spec("rank1", (1, 11, 2)), listed(arrays(net, net.params)), shown, grid.tolist()]
    found = engine.evaluate(script, [*given, "variance"])
    outputs = np.concatenate([net(grid[:, None], one) for one in noise])  # (2 M, 13, 2)
    assert_close(found["means"], outputs[..., 0], 1e-13)
    assert_close(found["variances"], softplus(outputs[..., 1]) + 1e-6, 1e-13)
    # The loss has the same variance: its value says so.
    y = outputs[0, :, 0]
    value, _ = en.gaussian_nll(outputs[0], y)
    assert value == pytest.approx(
        np.mean(0.5 * np.log(2 * np.pi * np.array(found["variances"][:13])))
    )
    found = engine.evaluate(script, [*given, "mean"])
    assert found["variances"] is None


# A Worker, as a page makes it, and its answers: `ask(messages, kind)` waits for one of a kind.
WORKER = f"""{TRAINING}
  const source = new Blob([`(${{ENGINE}})().serve(self)`], {{ type: "text/javascript" }});
  const worker = new Worker(URL.createObjectURL(source));
  const heard = [];
  const ask = (messages, kind) => new Promise((resolve, reject) => {{
    setTimeout(() => reject(new Error(`no ${{kind}} in 10 seconds, heard: ${{heard}}`)), 10000);
    worker.onmessage = ({{ data }}) => {{
      heard.push(data.kind);
      if (data.kind === kind || data.kind === "failed") resolve(data);
    }};
    for (const message of messages) worker.postMessage(message);
  }});
  const start = (given, turn = 1) => ({{ kind: "start", ...given, turn }});
  const grid = Float64Array.from({{ length: 97 }}, (_, i) => -5 + (10 * i) / 96);
  const frame = {{ kind: "frame", grid, reach: 4, classes: 2, finest: 64, layer: 1 }};
  const same = (a, b) => a.length === b.length && a.every((value, i) => Object.is(value, b[i]));
"""


def in_worker(engine, body, argument):
    script = f"async ([ENGINE, argument]) => {{{WORKER}{body}}}"
    return engine.evaluate(script, [trainer_scripts.BUNDLE.engine(), argument])


@pytest.mark.parametrize("method", METHODS)
def test_a_worker_trains_to_the_same_bits(engine, method):
    body = """
      const given = training([argument], 101);
      const direct = trained(given, 53);
      const done = await ask([start(given), { kind: "go", until: 53 }], "done");
      const { steps, sides } = await ask([{ kind: "weights" }], "weights");
      const seen = await ask([frame], "frame");
      const [side] = direct.sides;
      const { means } = direct.curves(side, grid, "mean");
      const made = Float32Array.from(side.net.made(1, side.shown[0]).W);
      worker.terminate();
      return {
        steps: [done.steps, steps, seen.steps], turn: seen.turn,
        total: seen.sides[0].total - side.net.total,
        weights: side.net.arrays().every(([l, name, array]) =>
          same(array, sides[0][`${l}.${name}`])),
        curves: same(means, seen.sides[0].means), matrices: same(made, seen.sides[0].matrices),
        records: same(direct.records.sides[0].average, seen.records.sides[0].average),
      };"""
    found = in_worker(engine, body, spec(method, (1, 7, 11, 1)))
    assert found == {
        "steps": [53, 53, 53], "turn": 1, "total": 0, "weights": True, "curves": True,
        "matrices": True, "records": True,
    }  # fmt: skip


def test_a_worker_waits_for_points_and_takes_changes(engine):
    body = """
      const given = training([argument], 1);
      const none = { x: new Float64Array(0), y: new Float64Array(0), number: 0 };
      const { steps: atNone } = await ask(
        [start({ ...given, data: none }), { kind: "go", until: 5 }, frame], "frame");
      const { steps: atOne } = await ask([{ kind: "set", ...given }], "done");
      const { steps: past } = await ask([{ kind: "go", until: 3 }], "done");
      // Taken away while it trains: it waits again, and answers.
      await ask([{ kind: "go", until: 1e9 }, frame], "frame");
      const emptied = [{ kind: "set", data: none, options: given.options }, frame];
      const stopped = await ask(emptied, "frame");
      const later = await ask([frame], "frame");
      // Played and paused at once: one training goes on, up to where it was asked to.
      const go = { kind: "go", until: later.steps + 7 };
      const pause = { kind: "pause" };
      const again = [pause, { kind: "set", ...given }, go, pause, go];
      const { steps: end } = await ask(again, "done");
      const { sides } = await ask([{ kind: "weights" }], "weights");
      const halved = ([name, array]) => [name, array.map((value) => value / 2)];
      const half = Object.fromEntries(Object.entries(sides[0]).map(halved));
      const putting = [{ kind: "put", sides: [half] }, { kind: "weights" }];
      const { sides: put } = await ask(putting, "weights");
      worker.terminate();
      return {
        atNone, atOne, past, still: later.steps - stopped.steps, more: end - later.steps,
        put: Object.entries(half).every(([name, array]) => same(array, put[0][name])),
        failed: heard.includes("failed"),
      };"""
    found = in_worker(engine, body, spec("single", (1, 7, 1)))
    assert found == {
        "atNone": 0, "atOne": 5, "past": 5, "still": 0, "more": 7, "put": True, "failed": False,
    }  # fmt: skip


def test_a_worker_answers_while_a_hand_moves_points(engine):
    # Each change calls for training, which must not queue up before the pictures.
    body = """
      const given = training([argument], 5);
      const moves = Array.from({ length: 500 }, () => ({ kind: "set", ...given }));
      await ask([start(given), { kind: "go", until: 1e9 }, ...moves, frame], "frame");
      const before = performance.now();
      const { steps } = await ask([frame], "frame");
      const milliseconds = performance.now() - before;
      worker.terminate();
      return { steps, milliseconds };"""
    found = in_worker(engine, body, spec("single", (1, 7, 1)))
    assert found["steps"] > 0
    assert found["milliseconds"] < 1500


def test_a_worker_says_where_it_failed(engine):
    body = """
      const specs = [argument, { ...argument, method: "single", passes: 1 }];
      const sides = [{ lr: 1e-3 }, { lr: 1e200 }];
      const given = training(specs, 5, { head: "variance", sides });
      const nan = await ask([start(given, 7), { kind: "go", until: 1e5 }], "failed");
      const { steps } = await ask([{ kind: "weights" }], "weights");
      // Reset works.
      const again = { ...given, options: { ...given.options, sides: [{}, {}] } };
      const done = await ask([start(again, 8), { kind: "go", until: 3 }], "done");
      const bad = await ask([{ kind: "put", sides: [{}] }], "failed");
      worker.terminate();
      return { nan, steps, done, bad };"""
    found = in_worker(engine, body, spec("deep_ensemble", (1, 7, 2)))
    assert found["nan"]["side"] == 1
    assert found["nan"]["words"] == ""
    assert found["nan"]["turn"] == 7
    assert 1 < found["nan"]["step"] == found["steps"] < 1000
    assert found["done"] == {"kind": "done", "turn": 8, "steps": 3}
    assert found["bad"]["words"]


def test_a_trained_posterior_is_as_far_from_nuts_as_the_table_says(engine):
    """The first figure of *Bayes by Backprop*, when it rests: too wide at the data, narrow between."""
    rows = measured.load("nuts")["rows"]
    seed = bayes.typical(rows)
    reference = dict(measured.row(rows, data_seed=seed))
    x, y = gap.sample(np.random.default_rng(seed))
    grid = nuts.coarse_grid()
    given = spec(
        "mean_field", nuts.SIZES, passes=16, parametrization="ntk", functions=1024,
        posterior_std=0.1, prior_scale=nuts.PRIOR.scale,
    )  # fmt: skip
    script = """([spec, x, y, sigma, grid, steps]) => {
      const data = { x: Float64Array.from(x), y: Float64Array.from(y), number: x.length };
      const options = { head: "mean", loss: "mean", sigma, lr: 0.02, weight_decay: 0, kl_weight: 1,
        batch: E.TRAINING.batch };
      const made = new E.Training([spec], data, options, 0);
      while (made.steps < steps) made.step();
      return [...made.curves(made.sides[0], Float64Array.from(grid), "mean").means];
    }"""
    points = x.ravel().tolist(), y.ravel().tolist(), gap.noise
    found = engine.evaluate(script, [given, *points, grid.tolist(), shared_numbers.REST])
    scores = nuts_distances.distances(np.reshape(found, (-1, len(grid))), reference)
    table = measured.load("nuts-distances")["summary"]
    # Apart from the table's mean by as much as data, starts and the last noisy steps differ there.
    for place, apart in (("regions", 0.25), ("gap", 0.12)):
        row = measured.row(table, contestant="mean_field", place=place, score="std_ratio")
        assert scores[place]["std_ratio"] == pytest.approx(row["mean"], abs=apart)
    assert scores["regions"]["mean_difference"] < 0.13


def test_both_lives_are_the_same_functions(blank):
    script = """async (text) => {
      const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
      const module = await import(address);
      const { default: widget, ...named } = module;
      const all = { ...named, ...widget };
      const other = (name) => String(all[name]) !== String(ensedu[name]);
      const differ = Object.keys({ ...all, ...ensedu }).filter(other);
      const spec = { method: "rank1", sizes: [1, 5, 2], passes: 3, activation: "relu",
        start: "signs", prior_scale: 1, posterior_std: 0.1 };
      const data = { x: Float64Array.of(-1, 0.5, 2), y: Float64Array.of(1, 0, -1), number: 3 };
      const options = { head: "variance", loss: "mixture", lr: 0.01, weight_decay: 0.1,
        kl_weight: 1, batch: 2 };
      const ends = [named, ensedu].map(({ Training }) => {
        const training = new Training([spec], data, options, 5);
        training.step();
        return JSON.stringify(training.weights(training.sides[0]));
      });
      return { differ, number: Object.keys(all).length, ends: new Set(ends).size };
    }"""
    blank.add_script_tag(content=trainer_scripts.BUNDLE.classic())
    found = blank.evaluate(script, trainer_scripts.BUNDLE.module())
    assert found["differ"] == []
    assert found["number"] > 20
    assert found["ends"] == 1
