"""The law: whatever a model does, each member of its ensemble is what it is alone.

Alone is a new model of the table with the values that the definition gives to a member, formed here
from the arrays that the ensemble trains; nothing of the ensemble's own way back is asked.
"""

import copy
import itertools
from functools import partial
from math import prod

import torch
from torch import nn

import ensedu.torch as et
from ensedu.methods import METHODS as TABLE
from ensedu.methods import size_option
from ensedu.torch.base import WeightLayer
from tests.torch.ensembling.models import FAST, M

DROPOUT = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d)
EXACT = {"rtol": 1e-9, "atol": 1e-10}


def converted(entry, method, number=M, **options):
    """An ensemble of a model in the table, with all that it needs, its members far apart."""
    if method in FAST:
        options = {"shared": entry.shared, "modulated": entry.modulated} | options
    needs = {"last_layer": {"head": entry.head}, "deep_ensemble": {"initialize": draw_apart}}
    options = needs.get(method, {}) | options
    net = et.ensemble(entry.model(), method, **size_option(method, number), **options)
    draw_apart(net)
    return net


@torch.no_grad()
def draw_apart(net):
    """Move everything, so that each mix-up shows."""
    for name, x in [*net.named_parameters(), *net.named_buffers()]:
        if name.endswith("rho"):
            x.uniform_(-2, -1)  # standard deviations of 0.13 to 0.31
        elif name.endswith("running_var"):
            x.uniform_(0.5, 1.5)
        elif x.is_floating_point():
            x.add_(0.2 * torch.randn_like(x))


def noise_for(net, method, args, number=0):
    """What to give a pass so that it draws nothing itself."""
    if not TABLE[method].stochastic:
        return {}
    draw = partial(net.noise, torch.Generator().manual_seed(number))
    return {"noise": run(draw, args if method == "mc_dropout" else ())}


def run(call, args, **noise):
    """Call with inputs of its own: a tuple, or a dict of names."""
    args = copy.deepcopy(args)
    return call(**args, **noise) if isinstance(args, dict) else call(*args, **noise)


def places(net):
    """Every index of a member, (member,) or (sample, member)."""
    return list(itertools.product(*map(range, net.leading)))


def multiplier(name):
    """The path of what multiplies with a weight, normalized or not, and what that calls it."""
    outside, parametrized, inside = name.partition("parametrizations.")
    name = outside + inside.partition(".")[0] if parametrized else name
    path, _, key = name.rpartition(".")
    return path, key.removesuffix("_v")


def held(net, name):
    """The path of what has a member's values of a parameter, that layer, and its name for them."""
    layers = {path: x for path, x in net.model.named_modules() if isinstance(x, WeightLayer)}
    path, key = multiplier(name)
    if path in layers:
        yield path, layers[path], key
    elif name in layers:
        yield name, layers[name], "weight"
    elif "bias" in key:
        for other, layer in layers.items():
            if multiplier(other) == (path, key.replace("bias", "weight")):
                yield other, layer, "bias"


def groups_of(owner, key):
    """Into how many blocks of outputs a weight falls whose inputs are scaled apart."""
    return 3 if key == "in_proj_weight" else getattr(owner, "groups", 1)


def factors(owner, key, weight, r, s):
    """What multiplies each entry of a weight: s of its output times r of its input."""
    parts = groups_of(owner, key)
    first, second = torch.meshgrid(*map(torch.arange, weight.shape[:2]), indexing="ij")
    second = first // (weight.shape[0] // parts) * weight.shape[1] + second
    # A module of a library's own may have its inputs first, as transposed convolutions do.
    transposed = getattr(owner, "transposed", len(s) != len(weight))
    inputs, outputs = (first, second) if transposed else (second, first)
    return (s[outputs] * r[inputs])[(..., *[None] * (weight.ndim - 2))]


def value(net, plain, names, place, noise):
    """A parameter (of these names) of one member, by the definition."""
    path, layer, key = next((x for name in names for x in held(net, name)), (None, None, ""))

    def array(key):
        """One that the layer trains, or mean + std ε of it."""
        if hasattr(layer, key):
            return getattr(layer, key)
        mean, std = getattr(layer, f"{key}_mean"), getattr(layer, f"{key}_rho").exp().log1p()
        eps = noise[f"{path}.{key}".lstrip(".")]
        axes = (1, 2) if key == "weight" else (0, 0)  # noise has the book's axes
        return mean + std * eps.transpose(*axes)

    if layer is None:
        return net.model.get_parameter(names[0])
    if layer.method in ("mean_field", "deep_ensemble"):
        return array(key)[place]
    if key == "bias":
        return layer.bias[place[-1]]
    place_of_owner, name = multiplier(names[0])
    owner = plain.get_submodule(place_of_owner)
    return layer.weight * factors(owner, name, layer.weight, array("r")[place], array("s")[place])


def state(net, plain, place, noise):
    """Every parameter and buffer of one member, by the definition."""
    if hasattr(net, "members"):
        own = net.members[place[0]]
        return dict(own.named_parameters(remove_duplicate=False)) | dict(own.named_buffers())
    names, found = {}, {}
    for name, parameter in plain.named_parameters(remove_duplicate=False):
        names.setdefault(parameter, []).append(name)
    for same in names.values():
        found |= dict.fromkeys(same, value(net, plain, same, place, noise))
    for name, like in plain.named_buffers():
        buffer = net.model.get_buffer(name)
        found[name] = buffer[place[-1]] if buffer.shape != like.shape else buffer
    return found


class Thinned(nn.Module):
    """Dropout with one mask for all examples, the next one at each call in a pass."""

    def __init__(self, masks, p):
        super().__init__()
        self.masks, self.p = itertools.cycle(masks), p

    def forward(self, x):
        return torch.where(next(self.masks), x / (1 - self.p), 0)


def thin(alone, place, noise):
    for path, part in list(alone.named_modules()):
        masks = [own[place] for key, own in noise.items() if key.startswith(f"{path}.mask")]
        if masks:
            alone.set_submodule(path, Thinned(masks, getattr(part, "p", None)))


def tensors(tree):
    """All tensors of an output, in order."""
    if isinstance(tree, torch.Tensor):
        return [tree]
    tree = vars(tree) if hasattr(tree, "__dataclass_fields__") else tree
    tree = list(tree.values()) if isinstance(tree, dict) else tree
    return [x for part in tree for x in tensors(part)] if isinstance(tree, tuple | list) else []


def loss(found):
    """One number of some tensors, in which every entry counts with a factor of its own."""
    found = [x for x in found if x.is_floating_point()]
    return sum((x * torch.arange(1.0, x.numel() + 1).view(x.shape).cos()).sum() for x in found)


def check_pass(entry, net, alones, method, number=0):
    """One pass, its gradients, and what buffers are behind it, against each member alone."""
    args, plain = entry.batch(number), entry.model()
    noise = noise_for(net, method, args, number)
    given = noise.get("noise", {})
    states = [state(net, plain, place, given) for place in places(net)]
    for place, alone, own in zip(places(net), alones, states, strict=True):
        shown = net.member(place if len(place) > 1 else place[0], *noise.values()).state_dict()
        assert list(shown) == list(plain.state_dict())
        for name in shown:
            torch.testing.assert_close(
                shown[name], own[name].detach(), **EXACT, msg=f"{name}: {{}}".format
            )
        alone.load_state_dict({name: own[name].detach() for name in shown})
        thin(alone, place, given)
    output = tensors(run(net, args, **noise))
    torch.backends.mha.set_fastpath_enabled(False)  # which is blind to what stands for a dropout
    expected = [tensors(run(alone, args)) for alone in alones]
    torch.backends.mha.set_fastpath_enabled(True)
    rows = [[y[place] for y in output] for place in places(net)]
    for row, own in zip(rows, expected, strict=True):
        for y, known in zip(row, own, strict=True):
            assert y.shape == known.shape
            torch.testing.assert_close(y, known, **EXACT)
    assert not torch.allclose(rows[0][0], rows[1][0]), "members are alike"
    moved = [state(net, plain, place, given) for place in places(net)]
    for name, like in plain.named_buffers():
        after = torch.stack([alone.get_buffer(name) for alone in alones]).unflatten(0, net.leading)
        if like.is_floating_point() and not hasattr(net, "members"):
            # One for all moves by the mean over all, one a member by the mean over its samples.
            axes = list(range(len(net.leading) - (method in ("batch_ensemble", "rank1"))))
            after = after.mean(axes, keepdim=True).expand_as(after) if axes else after
        after = after.flatten(0, len(net.leading) - 1)
        found = torch.stack([own[name] for own in moved])
        torch.testing.assert_close(found, after, **EXACT, msg=f"{name}: {{}}".format)
    if torch.is_grad_enabled():
        check_gradients(net, alones, states, rows, expected)


def check_gradients(net, alones, states, rows, expected):
    """Those of a member by the chain rule through its values, of what is shared their sum."""
    weights = torch.arange(1.0, prod(net.leading) + 1, dtype=torch.float64).sin()
    total = sum(w * loss(row) for w, row in zip(weights, rows, strict=True))
    chained = []
    for w, alone, own, known in zip(weights, alones, states, expected, strict=True):
        names, parameters = zip(*alone.named_parameters(), strict=True)
        gradients = torch.autograd.grad(w * loss(known), parameters, materialize_grads=True)
        chained += [(own[name] * g).sum() for name, g in zip(names, gradients, strict=True)]
    names, parameters = zip(*net.named_parameters(), strict=True)
    found, known = (
        torch.autograd.grad(x, parameters, materialize_grads=True) for x in (total, sum(chained))
    )
    for name, one, other in zip(names, found, known, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-8, atol=1e-9, msg=f"{name}: {{}}".format)
