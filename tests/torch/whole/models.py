"""A table of small models of every kind, with inputs, and what their ensembles need."""

import warnings
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import parametrizations
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.utils.checkpoint import checkpoint

M, S, B, L, m, n = 3, 2, 5, 6, 7, 11
FAST = ("batch_ensemble", "rank1", "mean_field")
METHODS = ("deep_ensemble", *FAST, "mc_dropout", "last_layer")
Pair = namedtuple("Pair", "logits hidden")


@dataclass(frozen=True)
class Entry:
    """One model.

    Attributes
    ----------
    build, inputs
        Functions without arguments, in Torch's own float; what they draw is seeded and doubled.
    head
        The last layer, for ``"last_layer"``; ``None`` where that has no layer of its own.
    shared, modulated
        What the methods with fast weights cannot do without.
    turns, turns_in_training
        With which methods members run in turn, in either mode or in training mode alone, because
        vmap has no rule for what the model does with what differs by member.
    refused
        What methods say instead of an output.
    draws
        Whether it draws, besides dropout, in training mode.
    """

    build: Callable[[], nn.Module]
    inputs: Callable[[], tuple[Any, ...]]
    head: str | None = "head"
    shared: tuple[Any, ...] = ()
    modulated: tuple[Any, ...] = ()
    turns: tuple[str, ...] = ()
    turns_in_training: tuple[str, ...] = ()
    refused: str = ""
    draws: bool = False

    def model(self) -> nn.Module:
        """The model in float64, the same whenever one asks."""
        torch.manual_seed(0)
        with warnings.catch_warnings():  # the old weight norm is deprecated
            warnings.simplefilter("ignore", FutureWarning)
            return self.build().double()

    def batch(self, number: int = 0) -> tuple[Any, ...]:
        """Its inputs, other values for each number."""
        torch.manual_seed(number + 1)
        return tuple(double(x) for x in self.inputs())


MODELS: dict[str, Entry] = {}


def double(x: Any) -> Any:
    """Numbers in float64, and whatever else as it is."""
    if isinstance(x, list):
        return [double(part) for part in x]
    return x.double() if isinstance(x, torch.Tensor) and x.is_floating_point() else x


def add(name: str, inputs: Callable[[], Any], **what: Any) -> Callable[..., Any]:
    """Put a class, or a function that builds, into the table; one input needs no tuple."""

    def given():
        found = inputs()
        return found if isinstance(found, tuple) else (found,)

    def keep(build):
        MODELS[name] = Entry(build, given, **what)
        return build

    return keep


def image(channels: int = 3, *sides: int) -> Callable[[], torch.Tensor]:
    return lambda: torch.randn(B, channels, *(sides or (7, 5)))


def vectors() -> torch.Tensor:
    return torch.randn(B, m)


def sequence() -> torch.Tensor:
    return torch.randn(B, L, m)


def texts() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randint(19, (B, L)), torch.randint(1, L + 1, (B,))


class Model(nn.Module):
    """A model that takes its parts by name."""

    def __init__(self) -> None:
        super().__init__()
        for name, part in self.parts().items():
            setattr(self, name, part)


class Vectors(Model):
    """What vectors go through."""

    def parts(self):
        return {"fc": nn.Linear(m, n), "drop": nn.Dropout(0.3), "head": nn.Linear(n, 2)}

    def hidden(self, x):
        return self.drop(torch.tanh(self.fc(x)))

    def forward(self, x):
        return self.head(self.hidden(x))


# Perceptrons and convolutions.


@add("activations in place", vectors, head="5")
def _():
    return nn.Sequential(
        nn.Linear(m, n), nn.ReLU(inplace=True), nn.Linear(n, 13, bias=False), nn.PReLU(13),
        nn.Dropout(0.3), nn.Linear(13, 2),
    )  # fmt: skip


@add("one layer", lambda: torch.randn(B, 2, 3, m), head="")
def _():
    return nn.Linear(m, 2)


class Residual(nn.Module):
    """A block, and a way around it."""

    def __init__(self, *block):
        super().__init__()
        self.block = nn.Sequential(*block)

    def forward(self, x):
        return F.relu(x + self.block(x), inplace=True)


@add("residual, GroupNorm", image(), head="5")
def _():
    return nn.Sequential(
        nn.Conv2d(3, 6, 3), Residual(nn.GroupNorm(2, 6), nn.Conv2d(6, 6, 3, padding=1)),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.3), nn.Linear(6, 2),
    )  # fmt: skip


@add("residual, BatchNorm", image(), head="5")
def _():
    block = [nn.Conv2d(5, 5, 3, padding=1, bias=False), nn.BatchNorm2d(5), nn.Dropout2d(0.3)]
    return nn.Sequential(
        nn.Conv2d(3, 5, 3), nn.BatchNorm2d(5), Residual(*block), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(5, 2),
    )  # fmt: skip


@add("normalization first", vectors, head="5")
def _():
    return nn.Sequential(
        nn.BatchNorm1d(m), nn.Linear(m, n), nn.GELU(), nn.BatchNorm1d(n, momentum=None),
        nn.Dropout(0.3), nn.Linear(n, 2),
    )  # fmt: skip


@add("groups of channels", image(4), head="5")
def _():
    return nn.Sequential(
        nn.Conv2d(4, 4, 3, groups=4, padding="same"), nn.InstanceNorm2d(4, affine=True),
        nn.Conv2d(4, 6, (3, 2), groups=2, stride=2, padding=1, padding_mode="circular"),
        nn.Dropout(0.3), nn.Flatten(), nn.Linear(72, 2),
    )  # fmt: skip


@add("signals", image(3, 13), head="4")
def _():
    return nn.Sequential(
        nn.Conv1d(3, 5, 3, dilation=2), nn.SiLU(), nn.Dropout1d(0.3),
        nn.ConvTranspose1d(5, 7, 3, stride=2), nn.Linear(19, 2),
    )  # fmt: skip


@add("volumes", image(2, 5, 4, 3), head="3")
def _():
    return nn.Sequential(nn.Conv3d(2, 5, 2), nn.Dropout3d(0.3), nn.Flatten(2), nn.Linear(24, 2))


@add("decoder", image(4, 3, 5), head="3")
def _():
    return nn.Sequential(
        nn.ConvTranspose2d(4, 6, 3, stride=2, groups=2), nn.ELU(), nn.Dropout(0.3),
        nn.Conv2d(6, 2, 1),
    )  # fmt: skip


@add("U-Net", image(2, 6, 4))
class UNet(Model):
    def parts(self):
        return {
            "down": nn.Conv2d(2, 3, 3, padding=1),
            "inside": nn.Conv2d(3, 5, 3, padding=1),
            "drop": nn.Dropout2d(0.3),
            "up": nn.ConvTranspose2d(5, 3, 2, 2),
            "head": nn.Conv2d(6, 2, 1),
        }

    def forward(self, x):
        wide = F.relu(self.down(x), inplace=True)
        deep = self.drop(F.relu(self.inside(F.max_pool2d(wide, 2))))
        return self.head(torch.cat([self.up(deep), wide], 1))


@add("old weight norm", vectors, head="4")
def _():
    first = torch.nn.utils.weight_norm(nn.Linear(m, n))
    return nn.Sequential(first, nn.Tanh(), Residual(nn.Linear(n, n)), nn.Dropout(), nn.Linear(n, 2))


@add("weight norm", image(4))
class WeightNorm(Model):
    def parts(self):
        return {
            "fc": parametrizations.weight_norm(nn.Conv2d(4, 6, 3, groups=2)),
            "head": nn.Linear(6, 2),
        }

    def forward(self, x):
        return self.head(torch.tanh(self.fc(x)).mean((2, 3)))


@add("spectral norm", vectors, turns_in_training=FAST)
class SpectralNorm(Vectors):
    def parts(self):
        fc = parametrizations.spectral_norm(nn.Linear(m, n))
        return super().parts() | {"fc": fc}


# Attention, and layers that read.


@add("vision transformer", image(3, 4, 6))
class VisionTransformer(Model):
    def __init__(self):
        super().__init__()
        self.token = nn.Parameter(torch.randn(1, 1, 14))
        self.positions = nn.Parameter(torch.randn(1, 7, 14))
        self.scale = nn.Parameter(torch.rand(14))

    def parts(self):
        return {
            "patches": nn.Conv2d(3, 14, 2, 2),
            "before": nn.LayerNorm(14),
            "qkv": nn.Linear(14, 42),
            "out": nn.Linear(14, 14, bias=False),
            "mlp": nn.Sequential(nn.RMSNorm(14), nn.Linear(14, n), nn.GELU(), nn.Dropout(0.3),
                                 nn.Linear(n, 14)),
            "head": nn.Linear(14, 2),
        }  # fmt: skip

    def forward(self, x):
        x = self.patches(x).flatten(2).mT
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.positions
        qkv = self.qkv(self.before(x)).unflatten(-1, (3, 2, 7)).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(*qkv).transpose(1, 2).flatten(2)
        x = x + self.scale * self.out(attended)
        return self.head((x + self.mlp(x))[:, 0])


class Encoder(Model):
    first = True

    def parts(self):
        layer = nn.TransformerEncoderLayer(14, 2, n, batch_first=self.first, norm_first=self.first)
        layer.self_attn.dropout = 0.0  # by a number, which no mask reaches
        return {"embed": nn.Embedding(19, 14), "layer": layer, "head": nn.Linear(14, 2)}

    def forward(self, ids, sizes):
        missing = torch.arange(L) >= sizes[:, None]
        x = self.embed(ids if self.first else ids.T)
        x = self.layer(x, src_key_padding_mask=missing)
        there = ~missing if self.first else ~missing.T
        return self.head((x * there[..., None]).sum(1 if self.first else 0))


add("encoder", texts)(Encoder)


@add("encoder, time first", texts)
class TimeFirstEncoder(Encoder):
    first = False


@add("cross attention", lambda: (sequence(), torch.randn(B, 4, 3), torch.randn(B, 4, 5)))
class CrossAttention(Model):
    def parts(self):
        attention = nn.MultiheadAttention(m, 7, kdim=3, vdim=5, batch_first=True, add_bias_kv=True)
        return {"attend": attention, "head": nn.Linear(m, 2)}

    def forward(self, x, keys, values):
        attended, weights = self.attend(x, keys, values)
        return self.head(attended), weights


class Reads(Model):
    """What texts go through before they differ."""

    def parts(self):
        return {
            "embed": nn.Embedding(19, m),
            "read": nn.GRU(m, m, batch_first=True),
            "drop": nn.Dropout(0.3),
            "fc": nn.Linear(m, n),
            "head": nn.Linear(n, 2),
        }

    def answer(self, x):
        return self.head(self.drop(torch.tanh(self.fc(x))))


@add("LSTM", sequence, turns=FAST)
class Lstm(Reads):
    def parts(self):
        read = nn.LSTM(m, m, 2, batch_first=True, bidirectional=True, proj_size=3)
        return super().parts() | {"embed": nn.Identity(), "read": read, "fc": nn.Linear(6, n)}

    def forward(self, x):
        states, (last, _) = self.read(x)
        return self.answer(states), last


@add("GRU, time first", texts, turns=FAST)
class TimeFirst(Reads):
    def parts(self):
        return super().parts() | {"read": nn.GRU(m, m)}

    def forward(self, ids, sizes):
        states, _ = self.read(self.embed(ids).transpose(0, 1))
        return self.answer(states.mean(0))


@add("GRU cell", sequence, turns=FAST)
class Cell(Reads):
    def parts(self):
        return super().parts() | {"embed": nn.RNN(m, m, batch_first=True), "read": nn.GRUCell(m, m)}

    def forward(self, x):
        state = torch.zeros_like(x[:, 0])
        for step in self.embed(x)[0].unbind(1):
            state = self.read(step, state)
        return self.answer(state)


@add("packed sequences", texts, turns=FAST)
class Packed(Reads):
    """In an order of their own all the way."""

    def forward(self, ids, sizes):
        order = sizes.argsort(descending=True, stable=True)
        packed = pack_padded_sequence(self.embed(ids[order]), sizes[order], batch_first=True)
        states, _ = pad_packed_sequence(self.read(packed)[0], batch_first=True, total_length=L)
        return self.answer(states[torch.arange(B), sizes[order] - 1])[order.argsort()]


@add("words that are there", texts)
class Masked(Reads):
    def forward(self, ids, sizes):
        x, there = self.embed(ids), torch.arange(L) < sizes[:, None]
        scores = (x @ x.mT).masked_fill(~there[:, None, :], -torch.inf)
        hidden = self.answer(scores.softmax(-1) @ x)
        return (hidden * there[..., None]).sum(1) / sizes[:, None]


# Weights that are tied, the model's own, or more than a product.


@add("tied autoencoder", vectors, head=None)
class Autoencoder(Model):
    def parts(self):
        return {"fc": nn.Linear(m, n), "other": nn.Linear(n, n), "again": nn.Linear(n, n)}

    def __init__(self):
        super().__init__()
        self.again.weight = self.other.weight

    def forward(self, x):
        h = self.again(torch.tanh(self.other(torch.tanh(self.fc(x)))))
        return F.linear(h, self.fc.weight.t())


@add("tied decoder", texts, shared=("embed", "head.weight"), head=None, turns=FAST)
class TiedDecoder(Reads):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(m, 19)
        self.head.weight = self.embed.weight

    def forward(self, ids, sizes):
        return self.head(self.drop(torch.tanh(self.read(self.embed(ids))[0])))


@add("einsum", vectors, modulated=("matrix",))
class Einsum(Vectors):
    def __init__(self):
        super().__init__()
        self.matrix = nn.Parameter(torch.randn(n, 5, n) / 7)

    def forward(self, x):
        return self.head(torch.einsum("bi,ijk->bk", self.hidden(x), self.matrix))


@add("list of matrices", vectors, modulated=(nn.ParameterList,), shared=("other",))
class Matrices(Vectors):
    def __init__(self):
        super().__init__()
        self.matrices = nn.ParameterList([torch.randn(n, n) / 3, torch.randn(n, n) / 3])
        self.other = nn.Parameter(torch.randn(n, n))

    def forward(self, x):
        h = self.hidden(x)
        for matrix in self.matrices:
            h = torch.tanh(h @ matrix) + h @ self.other
        return self.head(h)


@add("bilinear", lambda: (vectors(), torch.randn(B, 3)))
class Bilinear(Vectors):
    def parts(self):
        return super().parts() | {"both": nn.Bilinear(n, 3, n)}

    def forward(self, x, y):
        return self.head(self.both(self.hidden(x), y))


class ClampedLinear(nn.Linear):
    def forward(self, x):
        return super().forward(x).clamp(-0.5, 0.5) * (2 if self.training else 1)


class StandardizedConv(nn.Conv2d):
    def forward(self, x):
        weight = self.weight - self.weight.mean((1, 2, 3), keepdim=True)
        return F.conv2d(x, weight, self.bias, self.stride, self.padding)


@add("subclasses that do more", image(), head="4")
def _():
    return nn.Sequential(
        StandardizedConv(3, 5, 3), nn.Flatten(), ClampedLinear(75, n), nn.Dropout(), nn.Linear(n, 2)
    )


@add("penalty on its weights", vectors)
class Penalty(Vectors):
    def forward(self, x):
        penalty = sum(p.square().sum() for p in self.parameters())
        return self.head(self.hidden(x)), penalty + self.fc.weight.abs().sum()


class Cubed(torch.autograd.Function):
    """Has no rule for vmap."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * gradient


@add("function of its own", vectors, turns=METHODS[1:])
class OwnFunction(Vectors):
    def forward(self, x):
        return self.head(Cubed.apply(self.hidden(x)))


# Examples that meet, move, and go ways of their own.


@add("mean over the batch", vectors)
class Centered(Vectors):
    def forward(self, x):
        h = self.hidden(x)
        return self.head(h - h.mean(0))


@add("similarities of pairs", vectors)
class Contrastive(Vectors):
    def forward(self, x):
        z = F.normalize(self.head(self.hidden(x)), dim=-1)
        return F.cross_entropy(z @ z.T / 0.3, torch.arange(len(z)))


@add("pair in one batch", lambda: (vectors(), vectors()))
class Siamese(Vectors):
    def forward(self, x, y):
        a, b = self.head(self.hidden(torch.cat([x, y]))).chunk(2)
        return a * b


@add("second input scales", lambda: (vectors(), vectors()))
class Film(Vectors):
    def parts(self):
        return super().parts() | {"condition": nn.Linear(m, 2 * n)}

    def forward(self, x, y):
        scale, shift = self.condition(y).chunk(2, -1)
        return self.head(self.hidden(x) * (1 + scale) + shift)


@add("sorted by score", vectors)
class Sorted(Vectors):
    def forward(self, x):
        order = self.head(self.hidden(x))[:, 0].argsort()
        return self.head(self.hidden(x[order]) + self.hidden(x).cumsum(0))


@add("early exit", vectors, turns=METHODS[1:])
class EarlyExit(Vectors):
    def parts(self):
        return super().parts() | {"other": nn.Linear(n, n)}

    def forward(self, x):
        h = self.hidden(x)
        y = self.head(h)
        unsure = (y[:, 0] - y[:, 1]).abs() < 0.4
        y[unsure] = self.head(torch.tanh(self.other(h[unsure])))
        return y


@add("experts", vectors, turns=(*FAST, "mc_dropout"))
class Experts(Vectors):
    def parts(self):
        experts = nn.ModuleList(nn.Linear(m, n) for _ in range(3))
        return super().parts() | {"router": nn.Linear(m, 3), "experts": experts}

    def forward(self, x):
        choice = self.router(x).argmax(-1)
        h = x.new_zeros(len(x), n)
        for i, expert in enumerate(self.experts):
            h[choice == i] = self.drop(expert(x[choice == i]))
        return self.head(torch.tanh(h))


@add("another way by value", vectors, turns=METHODS[1:])
class ByValue(Vectors):
    def forward(self, x):
        y = self.head(self.hidden(x))
        return y if y.sum() > 0 else 2 * y


@add("as many rows as pass", vectors, refused="the output of the model must be the same")
class Filter(Vectors):
    def forward(self, x):
        y = self.head(self.hidden(x))
        return y[y[:, 0] > y[:, 0].median() + self.head.bias[0]]


@add("graph", lambda: (torch.randn(B, m), torch.tensor([[0, 1, 2, 0], [1, 2, 4, 4]])))
class Graph(Vectors):
    def forward(self, nodes, edges):
        sent = self.hidden(nodes)[edges[0]]
        return self.head(nodes.new_zeros(len(nodes), n).index_add(0, edges[1], sent))


@add("images of any size", lambda: [torch.randn(3, 4, 5), torch.randn(3, 6, 7)])
class Images(Model):
    def parts(self):
        return {"head": nn.Conv2d(3, 2, 1)}

    def forward(self, images):
        return [{"mean": self.head(image).mean((1, 2))} for image in images]


@add("axes dropped", vectors)
class Squeezes(Vectors):
    def forward(self, x):
        return self.head(self.hidden(x)[:, None].squeeze())


@add("around the head, twice", vectors)
class Around(Vectors):
    def parts(self):
        return super().parts() | {"head": nn.Linear(n, n), "end": nn.Linear(n, 2)}

    def forward(self, x):
        h = self.hidden(x)
        for _ in range(2):
            h = h + torch.tanh(self.head(self.drop(h)))
        return self.end(torch.cat([self.head(h), h], 1)[:, 3 : 3 + n].reshape(len(x), -1))


@add("in place on its input", vectors)
class InPlace(Vectors):
    def forward(self, x):
        x.sub_(1).mul_(0.5)
        h = 2 * self.hidden(x).unsqueeze(1)
        h[:, :, :3] += 1
        h.transpose_(1, 2).clamp_(min=-0.5)
        return self.head(h.squeeze(2)).unsqueeze(-1)


# Outputs, and what stays from pass to pass.


@dataclass
class Output:
    logits: torch.Tensor
    states: tuple[Any, ...] | None = None


@add("outputs of every form", vectors)
class Outputs(Vectors):
    def forward(self, x):
        h = self.hidden(x)
        y = self.head(h)
        return {"pair": Pair(y, (h, None)), "all": [Output(y + 1, (h,))], "rows": len(x), "a": "b"}


@add("loss beside logits", lambda: (vectors(), torch.arange(B) % 2))
class Loss(Vectors):
    def forward(self, x, labels):
        y = self.head(self.hidden(x))
        return F.cross_entropy(y, labels), y


@add("moving averages", vectors, turns_in_training=("mean_field", "mc_dropout"))
class Averages(Vectors):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(n))
        self.register_buffer("prototypes", torch.randn(2, n))
        self.register_buffer("steps", torch.tensor(0))

    def forward(self, x):
        h = self.hidden(x)
        if self.training:
            with torch.no_grad():
                self.mean.mul_(0.9).add_(0.1 * h.mean(0))
                self.prototypes = 0.9 * self.prototypes + 0.1 * h[:2]
                self.steps += 1
        return self.head(h - self.mean), h @ self.prototypes.T


@add("state of its own", vectors)
class State(Vectors):
    state, steps = None, 0

    def forward(self, x):
        h = self.hidden(x)
        if self.state is not None:
            h = h + self.state
        self.state, self.steps = h.detach(), self.steps + 1
        return self.head(h) * self.steps


@add("checkpoint inside", vectors)
class Checkpointed(Vectors):
    def forward(self, x):
        return self.head(checkpoint(self.hidden, x, use_reentrant=False))


@add("mixup", vectors, draws=True)
class Mixup(Vectors):
    def forward(self, x):
        if self.training:
            x = 0.7 * x + 0.3 * x[torch.randperm(len(x))]
        return self.head(self.hidden(x))


@add("lists and bound methods", vectors)
class Listed(Vectors):
    def __init__(self):
        super().__init__()
        self.order = [self.hidden, {"last": self.head}]

    def forward(self, x):
        return self.order[1]["last"](self.order[0](x))
