"""Models to convert, and what their ensembles must be: each member alone, one by one."""

import copy
import math
from collections import namedtuple

import torch
from torch import nn
from torch.nn import functional as F

import ensedu.torch as et
from ensedu.methods import size_option
from ensedu.torch import models
from ensedu.torch.whole.flat_parts import FlatLayer

M, B, S = 3, 5, 2
FLAT = ("batch_ensemble", "rank1", "mean_field")
MEMBER_METHODS = ("deep_ensemble", *FLAT)
OPTIONS = {
    "deep_ensemble": {},
    "batch_ensemble": {"init": "normal"},
    "rank1": {"init_std": 0.3, "posterior_std": 0.2},
    "mean_field": {"posterior_std": 0.1},
    "mc_dropout": {},
    "last_layer": {"head": "2"},
}
Pair = namedtuple("Pair", "logits hidden")


class Attention(nn.Module):
    """Self-attention whose projections are ``nn.Linear``."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x, keep=None):
        split = [
            part(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        ]
        mask = None if keep is None else keep[:, None, None, :]
        y = F.scaled_dot_product_attention(*split, attn_mask=mask)
        return self.out(y.transpose(1, 2).flatten(2))


class Transformer(nn.Module):
    """Tokens in (integers), one block before an average, a dict out."""

    def __init__(self, tokens=19, width=12):
        super().__init__()
        self.embed = nn.Embedding(tokens, width)
        self.attention = Attention(width, 3)
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 23), nn.GELU(), nn.Linear(23, width))
        self.head = nn.Linear(width, 2)

    def forward(self, ids, *, keep=None):
        x = self.embed(ids)
        x = x + self.attention(self.before(x), keep)
        x = x + self.mlp(self.after(x))
        return {"logits": self.head(x.mean(1)), "states": [x], "tokens": ids.shape[1]}


class TwoInputs(nn.Module):
    """Two inputs of different shape, activations in place, a named tuple out."""

    def __init__(self):
        super().__init__()
        self.image = nn.Conv2d(2, 3, 3, bias=False)
        self.table = nn.Linear(7, 11)
        self.head = nn.Linear(3 * 4 * 3 + 11, 2)

    def forward(self, image, table):
        image = F.relu(self.image(image), inplace=True)
        table = F.relu_(self.table(table))
        hidden = torch.cat([torch.flatten(image, 1), table], dim=1)
        return Pair(self.head(hidden), (hidden, None))


class InPlaceFirst(nn.Module):
    """Works in place on its own input."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(7, 2)

    def forward(self, x):
        return self.head(x.mul_(2).sub_(1))


def convert(model, method, number=M, **options):
    return et.ensemble(model, method, **size_option(method, number), **options)


def options_of(method, head):
    return {"head": head} if method == "last_layer" else OPTIONS[method]


def numbers(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(7), dtype=torch.float64)


def ids(*shape):
    return torch.randint(19, shape, generator=torch.Generator().manual_seed(7))


def mlp():
    return nn.Sequential(
        nn.Linear(7, 11), nn.ReLU(inplace=True), nn.Linear(11, 13, bias=False), nn.Tanh(),
        nn.Dropout(0.3), nn.Linear(13, 2),
    )  # fmt: skip


def keep(*shape):
    """A mask of tokens that leaves at least the first of each example."""
    mask = ids(*shape) > 5
    mask[:, 0] = True
    return mask


def warmed_up(build, args, kwargs):
    """A model in float64 whose normalization has seen data, so that eval mode is no identity."""
    torch.manual_seed(0)
    model = build().double()
    for _ in range(2):
        model(*copy.deepcopy(args), **kwargs)
    return model.eval()


def members_alone(plain, net, noise):
    """The plain model with the weights of each member, of each sample, or of both in turn."""
    results = [copy.deepcopy(plain) for _ in range(math.prod(net.leading))]
    for name, module in plain.named_modules():
        flat = net.model.get_submodule(name)
        if not isinstance(flat, FlatLayer):
            continue
        layer = flat.layer
        own = {k.rpartition(".")[2]: v for k, v in noise.items() if k.rpartition(".")[0] == name}
        weights = layer.weight_matrices(*([own] if own else []))
        weights = weights.flatten(0, len(net.leading) - 1).transpose(1, 2)
        if module.bias is None:
            biases = None
        elif hasattr(layer, "bias"):
            biases = layer.bias.expand(*net.leading, -1).flatten(0, -2)
        else:
            biases = layer.bias_mean + F.softplus(layer.bias_rho) * own["bias"]
        for i, result in enumerate(results):
            part = result.get_submodule(name)
            part.weight = nn.Parameter(weights[i])
            part.bias = None if biases is None else nn.Parameter(biases[i])
    return results


def tensors_in(tree):
    """All tensors in `tree`, in order."""
    if isinstance(tree, torch.Tensor):
        return [tree]
    parts = (
        tree.values() if isinstance(tree, dict) else tree if isinstance(tree, tuple | list) else []
    )
    return [leaf for part in parts for leaf in tensors_in(part)]


def check_against_loop(build, make_args, make_kwargs, head, method, *, number=M, **sizes):
    args, kwargs = make_args(), make_kwargs()
    plain = warmed_up(build, args, kwargs)
    before = copy.deepcopy(plain.state_dict())
    net = convert(plain, method, number, **sizes, **options_of(method, head))
    if method == "deep_ensemble":
        noise, plains = {}, list(net.members)
    else:
        noise = {"noise": net.noise(torch.Generator().manual_seed(11))}
        plains = members_alone(plain, net, noise["noise"])
    outputs = tensors_in(net(*copy.deepcopy(args), **kwargs, **noise))
    assert outputs
    for i, own in enumerate(plains):
        expected = tensors_in(own(*copy.deepcopy(args), **kwargs))
        assert len(outputs) == len(expected)
        for y, y_i in zip(outputs, expected, strict=True):
            assert y.shape == (*net.leading, *y_i.shape)
            y = y.flatten(0, len(net.leading) - 1)
            torch.testing.assert_close(y[i], y_i, rtol=1e-9, atol=1e-9)
    assert len(plains) == len(outputs[0].flatten(0, len(net.leading) - 1))
    assert not torch.allclose(outputs[0][0], outputs[0][1])
    for name, value in plain.state_dict().items():
        assert torch.equal(value, before[name]), f"{name} of the model itself has changed"


class Names(nn.Module):
    """Two names of which one begins with the other."""

    def __init__(self):
        super().__init__()
        self.fc, self.fc2 = nn.Linear(7, 7), nn.Linear(7, 2)

    def forward(self, x):
        return self.fc2(self.fc(x))


def floats(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(7))


def seeded(number=0):
    return torch.Generator().manual_seed(number)


class SequenceFirst(nn.Module):
    """(B, L, m) -> (B, n) through a layer that sees (L, B, m)."""

    def __init__(self):
        super().__init__()
        self.fc, self.head = nn.Linear(7, 11), nn.Linear(11, 2)

    def forward(self, x):
        return self.head(self.fc(x.transpose(0, 1)).mean(0))


class Mix(nn.Module):
    """Examples look at each other, somewhere before the head."""

    def __init__(self, gain=1.0):
        super().__init__()
        self.fc, self.norm, self.head = nn.Linear(7, 11), nn.LayerNorm(11), nn.Linear(11, 3)
        nn.init.constant_(self.norm.weight, gain)

    def mixed(self, x):
        h = self.fc(x)
        return self.head(self.norm(torch.tanh(h - h.mean(0))))

    def forward(self, x):
        return self.mixed(x)


class Masked(Mix):
    def forward(self, x):
        y = self.mixed(x)
        return y.masked_fill(torch.tensor([True, False, False]), -1e9)


SAMPLES = 7


def dropped_lenet():
    """LeNet-5 with the two kinds of dropout that people put into it, and one in place."""
    conv1, relu1, pool1, conv2, relu2, pool2, *rest = models.lenet5()
    return nn.Sequential(
        conv1, nn.Dropout2d(0.2), relu1, pool1, conv2, nn.Dropout2d(0.5, inplace=True), relu2,
        pool2, *rest[:3], nn.Dropout(0.5), *rest[3:],
    )  # fmt: skip
