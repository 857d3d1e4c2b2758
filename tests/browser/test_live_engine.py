"""The engine of the live trainer, in a browser, repeats `ensedu.numpy` step for step."""

import dataclasses
import itertools
from statistics import NormalDist

import numpy as np
import pytest

import ensedu.numpy as en
from ensedu import methods, uncertainty
from ensedu.methods import size_option
from ensedu.numpy.base import WeightLayer
from ensedu.numpy.variational import inverse_softplus, softplus
from ensedu.priors import Normal
from workshop.page.live import trainer_scripts, trainer_state

METHODS = tuple(trainer_state.STARTS)
HEADS = {"mean": 1, "variance": 2, "classes": 3}  # and how many numbers come out
LOSSES = ("mean", "mixture")
HIDDEN = {1: (13,), 2: (11, 7), 3: (7, 13, 11)}
B, M, EXAMPLES = 17, 3, 53
SIGMA, SCALE, P, KL_WEIGHT, LR, DECAY = 0.3, 0.7, 0.3, 0.9, 0.01, 0.5
STEPS = 20

# What a case gives in JavaScript; all numbers of an array in a row.
RUN = """({ spec, params, batch, noise, options }) => {
  const flat = (arrays) =>
    Object.fromEntries(arrays.map(([l, name, array]) => [`${l}.${name}`, [...array]]));
  const net = new E.Network(spec, new E.Random(0));
  for (const [l, name, array] of net.arrays()) {
    if (array.length !== params[`${l}.${name}`].length) throw new Error(`${l}.${name}: length`);
    array.set(params[`${l}.${name}`]);
  }
  const adam = new E.Adam(net);
  const x = Float64Array.from(batch.x);
  const given = { x, y: Float64Array.from(batch.y), B: batch.y.length };
  const outputs = [...net.forward(x, given.B, noise[0])];
  const found = [];
  let grads = null;
  for (const own of noise) {
    found.push(E.step(net, adam, given, own, options));
    grads ??= flat(net.arrays().map(([l, name]) => [l, name, net.layers[l].grads[name]]));
  }
  return { outputs, found, grads, params: flat(net.arrays()) };
}"""


@dataclasses.dataclass(frozen=True)
class Case:
    """What is trained, and on how many examples."""

    method: str
    head: str = "mean"
    loss: str = "mean"
    activation: str = "tanh"
    hidden: tuple[int, ...] = HIDDEN[2]
    inputs: int = 1
    examples: int = B
    parametrization: str = "standard"

    def __str__(self):
        return "-".join(map(str, dataclasses.astuple(self)))


def trained(case):
    """What JavaScript is given, and what `ensedu.numpy` makes of it."""
    rng = np.random.default_rng(list(str(case).encode()))
    sizes = (case.inputs, *case.hidden, HEADS[case.head])
    net = shaken(case.method, sizes, case.activation, rng, case.parametrization)
    x = rng.standard_normal((case.examples, case.inputs))
    y = rng.standard_normal(case.examples)
    if case.head == "classes":
        y = rng.integers(0, HEADS["classes"], case.examples)
    noise = [net.noise(rng, x.shape) for _ in range(STEPS)]
    given = {
        "spec": spec(case.method, sizes, case.activation, parametrization=case.parametrization),
        "params": listed(arrays(net, net.params)),
        "batch": {"x": x.ravel().tolist(), "y": y.tolist()},
        "noise": [by_layer(net, one) for one in noise],
        "options": {
            "head": case.head, "loss": case.loss, "sigma": SIGMA, "lr": LR,
            "weight_decay": DECAY, "kl_weight": KL_WEIGHT, "examples": EXAMPLES,
        },
    }  # fmt: skip
    adam = en.Adam(net, lr=LR)
    outputs, found, grads = net(x, noise[0] or None), [], None
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
    params = arrays(net, net.params)
    return given, {"outputs": outputs, "found": np.array(found), "grads": grads, "params": params}


def nll(head, outputs, y, reduction):
    if head == "mean":
        value, grad = en.half_squared_error(outputs / SIGMA, y / SIGMA, reduction=reduction)
        return value - np.log(NormalDist(0, SIGMA).pdf(0)), grad / SIGMA
    of = {"variance": en.gaussian_nll, "classes": en.softmax_cross_entropy}[head]
    return of(outputs, y, reduction=reduction)


def shaken(method, sizes, activation, rng, parametrization="standard"):
    """A network whose every number is another one than where it starts."""
    row = methods.METHODS[method]
    options = {"prior": Normal(trainer_state.prior_loc(row), SCALE)} if row.has_stds else {}
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


def by_layer(net, noise):
    """The noise of each layer with arrays, and of the dropout that follows it, as JSON."""
    places = list(weight_layers(net))
    found = [{} for _ in places]
    for name, array in noise.items():
        i, _, own = name.partition(".")
        layer = sum(place <= int(i) for place in places) - 1
        found[layer][own] = array.astype(float).ravel().tolist()
    return found


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


@pytest.fixture(scope="module")
def engine(blank):
    """A page where E is the engine."""
    blank.add_script_tag(content=f"globalThis.E = ({trainer_scripts.BUNDLE.engine()})();")
    return blank


@pytest.mark.parametrize("case", CASES, ids=str)
def test_twenty_steps_repeat_the_layers(engine, case):
    given, wanted = trained(case)
    found = engine.evaluate(RUN, given)
    assert_close(found["outputs"], wanted["outputs"], 1e-13)
    assert found["grads"].keys() == wanted["grads"].keys()
    for name, grad in wanted["grads"].items():
        assert_close(found["grads"][name], grad, 1e-12)
    for i, name in enumerate(("average", "mixture", "kl")):
        assert_close([step[name] for step in found["found"]], wanted["found"][:, i], 1e-12)
    for name, array in wanted["params"].items():
        assert_close(found["params"][name], array, 1e-11)


STARTED = """(spec) => {
  const net = new E.Network(spec, new E.Random(2));
  return Object.fromEntries(net.arrays().map(([l, name, array]) => [`${l}.${name}`, [...array]]));
}"""
# For each start, r or its mean: where it lies, and how far from there.
R = {"normal-0.5": (1, 0.5), "normal-0.1": (1, 0.1), "signs": (0, 1), "same": (1, 0)}


@pytest.mark.parametrize("start", R)
@pytest.mark.parametrize("parametrization", ["standard", "ntk"])
@pytest.mark.parametrize("method", METHODS)
def test_a_network_starts_where_the_layers_do(engine, method, parametrization, start):
    """Weights and biases uniform up to 1/√m, or from N(0, 1); all σ equal."""
    own = {"start": start, "parametrization": parametrization, "posterior_std": 0.3}
    found = engine.evaluate(STARTED, spec(method, (53, 61, 2), passes=7, **own))
    ntk = parametrization == "ntk"
    for name in (array.name for array in methods.METHODS[method].arrays):
        array = np.array(found[f"0.{name}"])
        if name.endswith("_rho"):
            assert_close(array, np.full(array.size, inverse_softplus(0.3)), 1e-15)
            continue
        mean, std = R[start] if name[0] in "rs" else (0, 1 if ntk else (3 * 53) ** -0.5)
        assert array.mean() == pytest.approx(mean, abs=5 * std / array.size**0.5)
        assert array.std() == pytest.approx(std, abs=5 * std / array.size**0.5)
        if name[0] in "rs" and start == "signs":
            assert set(array) == {-1, 1}
        elif name[0] not in "rs" and not ntk:
            assert np.abs(array).max() < 53**-0.5


@pytest.mark.parametrize(("number", "sizes"), [(139, [64, 64, 11]), (63, [63])])
def test_each_point_is_in_one_batch_of_an_epoch(engine, number, sizes):
    script = """([spec, number]) => {
      const x = new E.Random(11).normals(number);
      const data = { x, y: x.map((value) => Math.sin(2 * value)), number };
      const made = new E.Training([spec], data, { batch: 64 }, 3);
      const epoch = () => Array.from({ length: Math.ceil(number / 64) }, () => made.rows());
      const batches = [epoch(), epoch()];
      made.set(made.data, made.options);
      batches.push(epoch());
      const { x: own, y } = made.batch();
      return [batches, y.every((value, i) => value === Math.sin(2 * own[i]))];
    }"""
    epochs, fits = engine.evaluate(script, [spec("single", (1, 5, 1)), number])
    assert fits and [[len(rows) for rows in epoch] for epoch in epochs] == [sizes] * 3
    orders = [tuple(itertools.chain.from_iterable(epoch)) for epoch in epochs]
    assert all(sorted(order) == [*range(number)] for order in orders)
    assert len({*orders}) == (3 if len(sizes) > 1 else 1)


SHOWN = """([spec, params, shown]) => {
  const data = { x: new Float64Array(2), y: new Float64Array(1), number: 1 };
  const made = new E.Training([spec], data, { batch: 64 }, 0);
  const [side] = made.sides;
  const draws = side.shown.length;
  for (const [l, name, array] of side.net.arrays()) array.set(params[`${l}.${name}`]);
  side.shown = shown;
"""


@pytest.mark.parametrize("classes", [2, 3])
def test_maps_are_what_the_package_computes(engine, classes):
    # Functions of all sizes: sure ones, ties, and undecided ones.
    net = shaken("mean_field", (2, 7, classes), "tanh", np.random.default_rng(5))
    net.params["3.weight_mean"] *= 20
    rng, size, reach = np.random.default_rng(7), 23, 4
    noise = [net.noise(rng, (1, 2)) for _ in range(2)]
    script = f"""{SHOWN}
      const found = made.map(side, {size}, {reach}, spec.sizes.at(-1));
      return [draws, [...found.mean], [...found.information]];
    }}"""
    given = [spec("mean_field", (2, 7, classes)), listed(arrays(net, net.params))]
    draws, mean, information = engine.evaluate(
        script, [*given, [by_layer(net, one) for one in noise]]
    )
    assert draws == 6  # at least 16 functions, of three samples each
    places = reach * (2 * (np.arange(size) + 0.5) / size - 1)
    x = np.array([(left, up) for up in -places for left in places])
    p = uncertainty.softmax(np.concatenate([net(x, one) for one in noise]))
    parts = uncertainty.entropy_parts(p)
    assert_close(mean, p.mean(axis=0).T, 1e-6)  # as float32
    assert_close(information, parts.mutual_information, 1e-6)  # nats
    assert 0 < np.mean(parts.mutual_information) < np.log(classes)


def test_curves_are_means_and_variances(engine):
    net = shaken("rank1", (1, 11, 2), "tanh", np.random.default_rng(3))
    grid, rng = np.linspace(-5, 5, 13), np.random.default_rng(4)
    noise = [net.noise(rng, (13, 1)) for _ in range(2)]
    script = f"""{SHOWN}
      const {{ means, raw }} = made.curves(side, Float64Array.from({grid.tolist()}), "variance");
      const {{ aleatoric }} = E.forecast({{ means, raw }}, 1, {len(grid)});
      return [[...means], [...aleatoric], made.curves(side, Float64Array.of(0), "mean").raw];
    }}"""
    given = [spec("rank1", (1, 11, 2)), listed(arrays(net, net.params))]
    means, noises, none = engine.evaluate(script, [*given, [by_layer(net, one) for one in noise]])
    outputs = np.concatenate([net(grid[:, None], one) for one in noise])  # (2 M, 13, 2)
    assert_close(means, outputs[..., 0], 1e-13)
    variances = softplus(outputs[..., 1]) + 1e-6
    assert_close(noises, np.sqrt(variances.mean(axis=0)), 1e-13)
    assert none is None
