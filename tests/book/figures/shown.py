"""What each figure says and shows, worked out of what it was given, another way than it does.

By a figure's name and its sliders: the numbers of its sentence, in their order, or words of it, and
sequences of numbers that stand in the drawing.
"""

import numpy as np

from ensedu import counting
from ensedu.data import gap
from ensedu.methods import size_option
from workshop.figures.learning.uncertainty import AMONG, INSIDE
from workshop.figures.theory.width_and_ensemble_size import BATCH, DEEP

INSIDE_GAP = gap.gaps[0]


def rms(values):
    return np.sqrt(np.mean(np.square(values), axis=-1))


def rows(tree):
    """Return all arrays of one axis in a tree of mappings and arrays."""
    if isinstance(tree, dict):
        return [row for branch in tree.values() for row in rows(branch)]
    return [tree] if np.ndim(tree) == 1 else [row for branch in tree for row in rows(branch)]


def in_gap(x):
    return (INSIDE_GAP[0] < x) & (x < INSIDE_GAP[1])


def bounds(differences):
    """Return each interval (low, mean, high) as what is drawn of it: its ends, and its mean."""
    return [part for low, mean, high in differences for part in ([low, high], [mean])]


def weights_of(f, width):
    """Return how many parameters networks have, in parts of one network's."""

    def total(method, depth):
        sizes = [1, *[width] * depth, 1]
        return counting.mlp(sizes, method, **size_option(method, f.members)).total

    return {k: [total(k, d) / total("single", d) for d in f.depths] for k in f.counts[width]}


def errors(f, members):
    own = np.array(f.predictions[:members])
    left = (own.mean() - f.truth) ** 2
    return [np.mean((own - f.truth) ** 2), left, np.var(own)], [own, [own.mean()] * 2, [0, left]]


def saves(f, members):
    """Return what stored arrays say of members, of square layers."""

    def part(width):
        shared = width**2 + members * 3 * width
        return 100 * shared / (members * (width**2 + width))

    least = next(width for width in range(1, 99) if part(width) < 100)
    return [least, 50, part(50) / 100], [[part(width) for width in f.data["widths"]]]


def budget(f, **limits):
    """Of rows whose prices are all paid."""
    paid = np.all([np.array(f.data[price]) <= limit for price, limit in limits.items()], axis=0)
    drawn = [[one.middle] * 3 for one in f.beside.values()]
    drawn += [[one.low, one.middle, one.high] for one in f.beside.values()]
    return [sum(paid), len(paid)], np.round(drawn, 3)


def curve(f, points, noise, model):
    found = f.exact(points, noise, model)
    mean, sure = found.mean, found.unknown
    off = abs(gap.truth(np.array([-2.5])) - mean[AMONG]).item()
    said = [noise, sure[AMONG], sure[INSIDE]] if model == "bumps" else [-2.5, off, sure[AMONG]]
    return said, [sure, found.y, *(mean + k * part for part in (sure, noise) for k in (-2, 0, 2))]


def methods(f, method):
    own = f.beliefs[method]
    data, inside = np.subtract(*(np.round(f.nll[name], 2) for name in (method, f.reference)))
    more = ["more" if by > 0 else "less" for by in (data, inside)]
    said = f"pays {abs(data):.2f} nats {more[0]} than one network at the data, and "
    said += f"{abs(inside):.2f} {more[1]} in the gap."
    return said, [own.mean, own.mean + 2 * own.std, own.mean - 2 * own.std, gap.truth(f.x)]


def walks(f, learning_rate):
    walk = f.walks[learning_rate]
    half = (walk[:, 0].var() + walk[:, 0].var(ddof=1)) / 2
    said = np.sqrt([half, f.covariance[0, 0]])
    return said, [*walk.T, *walk.mean(0)[:, None], *f.best[:, None]]


def passes(f):
    lower = [on < off for one in f.on for on, off in zip(f.on[one], f.off[one], strict=True)]
    return [sum(lower), len(lower), f.passes], [*f.on.values(), *f.off.values()]


def trained(f, noise):
    own = f.found[noise]
    ratios = [own[place]["error"][1, -1] / own[place]["spread"][1, -1] for place in own]
    return [f.numbers[-1], *ratios], rows(own)


def diversity(f):
    """An arrow leads from what was trained on the average to what was trained on the mixture."""
    places = [[v for one in ends for v in (100 * one.disagreement, one.nll)]
              for ends in f.ends.values()]  # fmt: skip
    one, other = f.ends["random signs"]
    assert one.nll < other.nll
    return [other.disagreement, one.disagreement], [own for own in places if len(own) == 4]


def dragged(f):
    """Steps are (1 - lr Θ / 2), and small ones e^(-τ Θ / 2), by the kernel's eigenvectors."""
    rates, patterns = np.linalg.eigh(np.array([[5, 3], [3, 5]]) / 8)
    start = patterns.T @ (0 - f.targets)
    ways = (1 - rates * f.time[1]) ** np.arange(101)[:, None], np.exp(-np.outer(f.time, rates))
    trained, foreseen = (f.targets + (way * start) @ patterns.T for way in ways)
    top = trained[:, 0].argmax()
    return ([trained[top, 0], f.time[top], trained[-1, 0], f.time[-1]], [*trained.T, *foreseen.T])


def tug(f, points):
    """Both parts are means over weights w = σε, by quadrature; q has the posterior's curvature."""
    eps, parts = np.polynomial.hermite_e.hermegauss(8)
    parts, x = parts / parts.sum(), f.inputs[:points]

    def cost(sigma):
        w = np.multiply.outer(sigma, eps)
        misfit = (np.multiply.outer(w, x) ** 2).sum(-1) / (2 * f.noise**2)
        return (w**2 / 2 - eps**2 / 2) @ parts - np.log(sigma), misfit @ parts

    kl, misfit = cost(np.geomspace(0.02, 2, 200))
    below, middle, above = (w**2 / 2 + np.sum((w * x / f.noise) ** 2) / 2 for w in (-1, 0, 1))
    least = (below - 2 * middle + above) ** -0.5
    return [points, least][points == 0 :], [kl, misfit, kl + misfit, [least]]


def line(f, inputs_around):
    own = f.line(inputs_around)
    correlation = own.covariance[0, 1] / np.sqrt(own.covariance.diagonal().prod())
    return [inputs_around, np.sqrt(1 - correlation**2)], [*own.doubt, own.inputs]


def settings(f):
    """Where nobody can say what a setting does, it is not called the best or the worst."""
    means = {name: f.effects[title][name].mean for title, name in f.sure if "NLL" in title}
    best, worst = min(means, key=means.get), max(means, key=means.get)
    said = f"gained by {best}, most lost by {worst}: {means[worst]:.2f} nats a point."
    every = [one for own in f.effects.values() for one in own.values()]
    return said, bounds((one.low, one.mean, one.high) for one in every)


def image(f, image):
    one = f.seen[image - 1]
    said = f"The {one.kind} {one.label}: {one.parts[0]:.2f} of its doubt is aleatoric, "
    return said + f"{one.parts[1]:.2f} epistemic.", [one.p.mean(axis=0), one.p]


def plane(f):
    """Each line from the corner rises as the mean epistemic share of those with much doubt."""
    every = [own.parts for own in f.known.values()]
    shares = [np.mean([b / (a + b) for a, b in parts.T if a + b > 0.2]) for parts in every]
    drawn = [part for share in shares for part in ([0, share], [0, 1 - share])]
    return [0.2, *shares], [*every[0], *every[1], *drawn]


def lifelong(f):
    (title, own), *_ = f.differences.items()
    name, (_, mean, _) = next(iter(own.items()))
    word = "clear" if name in f.clear[title] else "unclear"
    every = [each for panel in f.differences.values() for each in panel.values()]
    return f"On {title}, {name}: {mean:+.3f} in accuracy, {word}.", bounds(every)


def regret(f):
    best = min(f.against.values(), key=lambda own: own.mean)
    every = ((own.low, own.mean, own.high) for own in f.against.values())
    return [-best.mean, best.low, best.high], bounds(every)


def first(f, time, width):
    outputs, at_data, still, row = f.found[width][f.choices["time"].index(time)]
    away, off = rms(at_data - f.targets), max(np.abs(still - outputs))
    return [time, away, off], [outputs, still, row, f.found[width][0][3]]


def units(f, width):
    angles, adds = f.found[width]
    return [width, 64, rms((angles[-1] - angles[0])[:16])], [angles[:, 3], adds[:, 3]]


def pull(f, steps, mean_of_u):
    before, after = f.found[mean_of_u][0], f.found[mean_of_u][f.choices["steps"].index(steps)]
    return [steps, *rms(after - before)], [*before, *after]


def chi(f):
    signs = rms(f.found["random signs"])
    widths = f.widths[0], f.widths[-1]
    said = [signs[0], 0, widths[0], signs[-1], widths[1]]
    return said, [values for own in f.found.values() for values in own.T]


def speeds(f, mean_of_u, trained_on):
    """Of two members, whose kernels are u² of their own between them."""
    gamma, both = f.gammas[trained_on], f.found[mean_of_u, trained_on]
    rates = [(1 + sign * mean_of_u**2) * gamma / 2 for sign in (1, -1)]
    return [mean_of_u, *rates], [*both[0].T, *both[1].T]


def carried(f):
    best = {key: min(own, key=own.get) for key, own in f.nll.items()}
    ours = [members for (method, _), members in best.items() if method == BATCH]
    drawn = [[*own.values()] for own in f.nll.values()]
    assert {method for method, _ in f.nll} == {BATCH, DEEP}
    return [ours[0], ours[-1]], [*drawn, *([members] for members in best.values())]


def gaps(f, members):
    training = next(iter(f.found[members].values()))
    every = [row for rows in f.found[members].values() for row in rows.values()]
    return [16, -training["width 16"][1], abs([*training.values()][-1][1])], bounds(every)


def times(f, width):
    found = {k: [1 / f.passes[width, b][k]["ratio"][1] for b in f.batches]
             for k in ("batch_ensemble", "deep_ensemble")}  # fmt: skip
    return [own[0] for own in found.values()], [*found.values()]


def memory(f, width, ensemble_size):
    def part(batch):
        return np.divide(*(f.kept(k, width, batch, ensemble_size) for k in (BATCH, DEEP)))

    parts = [*map(part, f.steps)]
    parts.insert(f.steps.index(width) + 1, np.nan)  # the rule folds from there on
    return [part(1), part(width), width], [parts]


SHOWN = {
    "fig-r1-distribution": lambda f: ("whole rows and whole columns", f.samples["rank1"]),
    "fig-co-depth": lambda f, width: (
        [width, *(weights_of(f, width)[k][-1] for k in (DEEP, BATCH))],
        [*weights_of(f, width).values()],
    ),
    "fig-de-gain": errors,
    "fig-be-saves": saves,
    "fig-choose-budget": budget,
    "fig-un-exact": curve,
    "fig-un-draws": lambda f, members, sample: (
        [members, f.drawn[members, sample][:, INSIDE].std(ddof=1), f.exact.unknown[INSIDE]],
        [*f.drawn[members, sample], f.drawn[members, sample].std(axis=0, ddof=1)],
    ),
    "fig-un-trained": trained,
    "fig-un-methods": methods,
    "fig-dt-members": lambda f, data: (
        [next(iter(f.scores[data].values())).mean[m - 1] for m in (5, 1, 10)],
        [part for own in f.scores[data].values() for part in (own.mean, own.law)],
    ),
    "fig-dt-own": lambda f: (
        [len(f.true) - sum(f.true < f.low) - sum(f.true > f.high), len(f.true)],
        [np.sort(f.mean), f.true, f.low, f.high],
    ),
    "fig-more-paths": lambda f, learning_rate: (
        [own.std(axis=0)[in_gap(f.x)].mean() for own in f.curves[learning_rate]],
        [*np.concatenate(f.curves[learning_rate])],
    ),
    "fig-more-temperature": lambda f, temperature: (
        [temperature, f.confidence[temperature], f.right],
        [[*f.loss.values()], [*f.confidence.values()], [f.loss[temperature]]],
    ),
    "fig-more-walks": walks,
    "fig-more-runs": lambda f: (
        [abs(f.scores["NLL"]["last five epochs"][k] - own)
         for k, own in f.scores["NLL"]["last network"].items() if "holds" not in k],
        [[*own.values()] for panel in f.scores.values() for own in panel.values()],
    ),
    "fig-mc-data": lambda f: (
        [max(f.by_rate.values()) / min(f.by_rate.values()),
         np.divide(*([*f.by_number["rate 0.2"][1].values()][k] for k in (-1, 0)))],
        [[*f.by_rate.values()], *([*own.values()] for _, own in f.by_number.values())],
    ),
    "fig-mc-cost": passes,
    "fig-mc-doubt": lambda f: (
        [n for (_, y), layer in zip(f.curves.values(), ([1], [2], []), strict=True)
         for n in (*layer, y[in_gap(f.x)].mean() / y[~in_gap(f.x)].mean())],
        [*(y for _, y in f.curves.values()), f.inputs],
    ),
    "fig-tbe-alike": lambda f, images: (
        [f.ratios[images]["random signs"], f.ratios[images]["deep ensemble"]],
        [[0, ratio] for ratio in f.ratios[images].values()],
    ),
    "fig-tbe-diversity": diversity,
    "fig-bbb-tug": tug,
    "fig-bbb-ellipses": line,
    "fig-bbb-settings": settings,
    "fig-tr1-swapped": lambda f: (
        [[*f.values.values()][k] for k in (0, -1)], [[own] for own in f.values.values()],
    ),
    "fig-tr1-trap": lambda f: (
        [0, *(own.negative[-1] for own in f.paths.values())],
        [part for own in f.paths.values() for part in (100 * np.array(own.negative), own.nll)],
    ),
    "fig-cnn-images": image,
    "fig-cnn-plane": plane,
    "fig-cnn-sigmas": lambda f, trained: (
        [*(pick(own[-1] for own in f.sigmas[trained]) for pick in (min, max)),
         f.alone[trained][-1]],
        [*f.sigmas[trained], f.alone[trained]],
    ),
    "fig-contest-luck": lambda f: (
        [np.mean(f.differences < 0)],
        [*f.differences, [f.differences.mean(), 0], [-f.unit, 0]],
    ),
    "fig-tbe-memory": lambda f, tasks_learned: (
        [tasks_learned, *(f.kept[k][tasks_learned - 1] for k in ("single", BATCH))],
        [100 * np.array(own[:tasks_learned]) for own in f.kept.values()],
    ),
    "fig-tbe-lifelong": lifelong,
    "fig-bbb-pruning": lambda f, kl_weight: (
        [0, 0.1, *(f.errors[kl_weight]["N(0, 0.1²)"][0][f.left.index(k)] / 100 for k in (100, 10))],
        [*(own[0] for own in f.errors[kl_weight].values()), [*f.published.values()],
         f.errors[kl_weight]["one network"][2]],
    ),
    "fig-bandit": regret,
    "fig-gf-dragged": dragged,
    "fig-gf-first": first,
    "fig-gf-units": units,
    "fig-ee-pull": pull,
    "fig-ee-kernel": chi,
    "fig-ee-speeds": speeds,
    "fig-we-carry": carried,
    "fig-we-gap": gaps,
    "fig-r1p-clouds": lambda f, size: (
        [size, np.std(f.found[size]["independent entries"][:, 1])
         / np.std(f.found[size]["rank-1"][:, 1])],
        [row for points in f.found[size].values() for row in points.T],
    ),
    "fig-r1p-apart": lambda f, network: (
        [0.1, *(f.found[network][name][1][[*f.sizes].index(0.1)]
                for name in ("rank-1", "independent entries"))],
        rows(f.found[network]),
    ),
    "fig-sp-speed-up": times,
    "fig-sp-kept": memory,
}  # fmt: skip
