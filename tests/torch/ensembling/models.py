"""A table of small models of every kind, with inputs, and what their ensembles need."""

import warnings
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import parametrizations
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.utils._pytree import tree_map
from torch.utils.checkpoint import checkpoint

M, S, B, L, m, n = 3, 2, 5, 6, 7, 11
FAST = ("batch_ensemble", "rank1", "mean_field")
METHODS = ("deep_ensemble", *FAST, "mc_dropout", "last_layer")


@dataclass(frozen=True)
class Entry:
    """One model: `build` and `inputs` are functions of what one draws and doubles."""

    build: Callable[[], nn.Module]
    inputs: Callable[[], tuple[Any, ...]]
    #: The last layer, for ``"last_layer"``; ``None`` where that has no layer of its own.
    head: str | None = "head"
    #: What the methods with fast weights cannot do without.
    shared: tuple[Any, ...] = ()
    modulated: tuple[Any, ...] = ()
    #: With which methods vmap has no rule for what differs by member, so that they run in turn.
    turns: tuple[str, ...] = ()
    turns_in_training: tuple[str, ...] = ()
    refused: str = ""  # what all methods say instead of an output
    draws: bool = False  # in training mode, besides dropout

    def model(self) -> nn.Module:
        """The model in float64, the same whenever one asks."""
        torch.manual_seed(0)
        with warnings.catch_warnings():  # the old weight norm is deprecated
            warnings.simplefilter("ignore", FutureWarning)
            return self.build().double()

    def batch(self, number: int = 0) -> tuple[Any, ...]:
        """Its inputs, other values for each number."""
        torch.manual_seed(number + 1)
        found = tree_map(lambda x: x.double() if x.is_floating_point() else x, self.inputs())
        return found if isinstance(found, tuple) else (found,)


MODELS: dict[str, Entry] = {}


def add(name: str, inputs: Callable[[], Any], **what: Any) -> Callable[..., Any]:
    """Put a class, or a function that builds, into the table."""

    def keep(build):
        MODELS[name] = Entry(build, inputs, **what)
        return build

    return keep


def image(*sides: int) -> Callable[[], torch.Tensor]:
    return lambda: torch.randn(B, *sides)


def texts() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randint(19, (B, L)), torch.randint(1, L + 1, (B,))


vectors, sequence = image(m), image(L, m)


class Model(nn.Module):
    """A model that makes its parts, and those of its bases, by their names."""

    parts: ClassVar[dict[str, Callable[[], Any]]] = {}

    def __init__(self) -> None:
        super().__init__()
        for kind in reversed(type(self).__mro__):
            for name, build in vars(kind).get("parts", {}).items():
                setattr(self, name, build())


class Vectors(Model):
    """What vectors go through."""

    parts: ClassVar = {
        "fc": lambda: nn.Linear(m, n), "drop": lambda: nn.Dropout(0.3),
        "head": lambda: nn.Linear(n, 2),
    }  # fmt: skip

    def hidden(self, x):
        return self.drop(torch.tanh(self.fc(x)))

    def forward(self, x):
        return self.head(self.hidden(x))


def forwards(forward, **parts):
    """Return a class of what vectors go through with this forward pass, and these parts besides."""
    return type("Forward", (Vectors,), {"forward": forward, "parts": parts})


class Residual(nn.Sequential):
    """A block, and a way around it."""

    def forward(self, x):
        return F.relu(x + super().forward(x), inplace=True)


class ClampedLinear(nn.Linear):
    def forward(self, x):
        return super().forward(x).clamp(-0.5, 0.5) * (2 if self.training else 1)


class StandardizedConv(nn.Conv2d):
    def forward(self, x):
        weight = self.weight - self.weight.mean((1, 2, 3), keepdim=True)
        return F.conv2d(x, weight, self.bias, self.stride, self.padding)


# Perceptrons and convolutions: inputs, the last layer, and what the model consists of.
SEQUENTIAL = {
    "activations in place": (vectors, "5", lambda: [
        nn.Linear(m, n), nn.ReLU(inplace=True), nn.Linear(n, 13, bias=False), nn.PReLU(13),
        nn.Dropout(0.3), nn.Linear(13, 2),
    ]),
    "residual, GroupNorm": (image(3, 7, 5), "5", lambda: [
        nn.Conv2d(3, 6, 3), Residual(nn.GroupNorm(2, 6), nn.Conv2d(6, 6, 3, padding=1)),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.3), nn.Linear(6, 2),
    ]),
    "residual, BatchNorm": (image(3, 7, 5), "5", lambda: [
        nn.Conv2d(3, 5, 3), nn.BatchNorm2d(5),
        Residual(nn.Conv2d(5, 5, 3, padding=1, bias=False), nn.BatchNorm2d(5), nn.Dropout2d(0.3)),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(5, 2),
    ]),
    "normalization first": (vectors, "5", lambda: [
        nn.BatchNorm1d(m), nn.Linear(m, n), nn.GELU(), nn.BatchNorm1d(n, momentum=None),
        nn.Dropout(0.3), nn.Linear(n, 2),
    ]),
    "groups of channels": (image(4, 7, 5), "5", lambda: [
        nn.Conv2d(4, 4, 3, groups=4, padding="same"), nn.InstanceNorm2d(4, affine=True),
        nn.Conv2d(4, 6, (3, 2), groups=2, stride=2, padding=1, padding_mode="circular"),
        nn.Dropout(0.3), nn.Flatten(), nn.Linear(72, 2),
    ]),
    "signals": (image(3, 13), "4", lambda: [
        nn.Conv1d(3, 5, 3, dilation=2), nn.SiLU(), nn.Dropout1d(0.3),
        nn.ConvTranspose1d(5, 7, 3, stride=2), nn.Linear(19, 2),
    ]),
    "volumes": (image(2, 5, 4, 3), "3", lambda: [
        nn.Conv3d(2, 5, 2), nn.Dropout3d(0.3), nn.Flatten(2), nn.Linear(24, 2),
    ]),
    "decoder": (image(4, 3, 5), "3", lambda: [
        nn.ConvTranspose2d(4, 6, 3, stride=2, groups=2), nn.ELU(), nn.Dropout(0.3),
        nn.Conv2d(6, 2, 1, bias=False),
    ]),
    "old weight norm": (vectors, "4", lambda: [
        torch.nn.utils.weight_norm(nn.Linear(m, n)), nn.Tanh(), Residual(nn.Linear(n, n)),
        nn.Dropout(), nn.Linear(n, 2),
    ]),
    "weight norm": (image(4, 7, 5), "3", lambda: [
        parametrizations.weight_norm(nn.Conv2d(4, 6, 3, groups=2)), nn.Tanh(), nn.Flatten(),
        nn.Linear(90, 2),
    ]),
    "subclasses that do more": (image(3, 7, 5), "4", lambda: [
        StandardizedConv(3, 5, 3), nn.Flatten(), ClampedLinear(75, n), nn.Dropout(),
        nn.Linear(n, 2),
    ]),
}  # fmt: skip
for name, (given, head, layers) in SEQUENTIAL.items():
    add(name, given, head=head)(lambda layers=layers: nn.Sequential(*layers()))
add("one layer", image(2, 3, m), head="")(lambda: nn.Linear(m, 2))
add("one layer, weight norm", vectors, head=None)(
    lambda: parametrizations.weight_norm(nn.Linear(m, 2))
)


@add("U-Net", image(2, 6, 4))
class UNet(Model):
    parts: ClassVar = {
        "down": lambda: nn.Conv2d(2, 3, 3, padding=1), "head": lambda: nn.Conv2d(6, 2, 1),
        "inside": lambda: nn.Conv2d(3, 5, 3, padding=1), "drop": lambda: nn.Dropout2d(0.3),
        "up": lambda: nn.ConvTranspose2d(5, 3, 2, 2),
    }  # fmt: skip

    def forward(self, x):
        wide = F.relu(self.down(x), inplace=True)
        deep = self.drop(F.relu(self.inside(F.max_pool2d(wide, 2))))
        return self.head(torch.cat([self.up(deep), wide], 1))


add("spectral norm", vectors, turns_in_training=(*FAST, "mc_dropout"))(
    forwards(Vectors.forward, fc=lambda: parametrizations.spectral_norm(nn.Linear(m, n)))
)
add("bilinear", lambda: (vectors(), torch.randn(B, 3)))(
    forwards(
        lambda self, x, y: self.head(self.both(self.hidden(x), y)),
        both=lambda: nn.Bilinear(n, 3, n),
    )
)


@add("vision transformer", image(3, 4, 6))
class VisionTransformer(Model):
    parts: ClassVar = {
        "token": lambda: nn.Parameter(torch.randn(1, 1, 14)),
        "positions": lambda: nn.Parameter(torch.randn(1, 7, 14)),
        "scale": lambda: nn.Parameter(torch.rand(14)),
        "patches": lambda: nn.Conv2d(3, 14, 2, 2),
        "before": lambda: nn.LayerNorm(14), "after": lambda: nn.RMSNorm(14),
        "qkv": lambda: nn.Linear(14, 42), "out": lambda: nn.Linear(14, 14, bias=False),
        "mlp": lambda: nn.Sequential(nn.Linear(14, n), nn.Dropout(0.3), nn.Linear(n, 14)),
        "head": lambda: nn.Linear(14, 2),
    }  # fmt: skip

    def forward(self, x):
        x = self.patches(x).flatten(2).mT
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.positions
        qkv = self.qkv(self.before(x)).unflatten(-1, (3, 2, 7)).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(*qkv).transpose(1, 2).flatten(2)
        x = x + self.scale * self.out(attended)
        return self.head((x + self.mlp(self.after(x)))[:, 0])


@add("encoder", texts)
class Encoder(Model):
    parts: ClassVar = {
        "embed": lambda: nn.Embedding(19, 14),
        "layer": lambda: nn.TransformerEncoderLayer(14, 2, n, batch_first=True),
        "head": lambda: nn.Linear(14, 2),
    }

    def __init__(self):
        super().__init__()
        self.layer.self_attn.dropout = 0.0  # by a number, which no mask reaches

    def forward(self, ids, sizes):
        missing = torch.arange(L) >= sizes[:, None]
        first = self.layer.self_attn.batch_first
        x = self.embed(ids) if first else self.embed(ids.T)
        x = self.layer(x, src_key_padding_mask=missing)
        return self.head(((x if first else x.transpose(0, 1)) * ~missing[..., None]).sum(1))


@add("encoder, time first", texts)
class TimeFirstEncoder(Encoder):
    parts: ClassVar = {"layer": lambda: nn.TransformerEncoderLayer(14, 2, n, norm_first=True)}


@add("cross attention", lambda: (sequence(), torch.randn(B, 4, 3), torch.randn(B, 4, 5)))
class CrossAttention(Model):
    parts: ClassVar = {
        "attend": lambda: nn.MultiheadAttention(
            m, 7, kdim=3, vdim=5, batch_first=True, add_bias_kv=True
        ),
        "head": lambda: nn.Linear(m, 2),
    }

    def forward(self, x, keys, values):
        attended, weights = self.attend(x, keys, values)
        return self.head(attended), weights


class Reads(Model):
    """What texts go through before they differ."""

    parts: ClassVar = {
        "embed": lambda: nn.Embedding(19, m),
        "read": lambda: nn.GRU(m, m, batch_first=True), "drop": lambda: nn.Dropout(0.3),
        "fc": lambda: nn.Linear(m, n), "head": lambda: nn.Linear(n, 2),
    }  # fmt: skip

    def answer(self, x):
        return self.head(self.drop(torch.tanh(self.fc(x))))


@add("LSTM", sequence, turns=FAST)
class Lstm(Reads):
    parts: ClassVar = {
        "read": lambda: nn.LSTM(m, m, 2, batch_first=True, bidirectional=True),
        "fc": lambda: nn.Linear(2 * m, n),
    }

    def forward(self, x):
        states, (last, _) = self.read(x)
        return self.answer(states), last


@add("GRU, time first", texts, turns=FAST)
class TimeFirst(Reads):
    parts: ClassVar = {"read": lambda: nn.GRU(m, m)}

    def forward(self, ids, sizes):
        states, _ = self.read(self.embed(ids).transpose(0, 1))
        return self.answer(states).mean(0)


@add("GRU cell", sequence)
class Cell(Reads):
    parts: ClassVar = {"read": lambda: nn.GRUCell(m, m)}

    def forward(self, x):
        state = torch.zeros_like(x[:, 0])
        for step in x.unbind(1):
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


@add("tied autoencoder", vectors, head=None)
class Autoencoder(Vectors):
    parts: ClassVar = {"head": lambda: nn.Linear(n, n), "again": lambda: nn.Linear(n, n)}

    def __init__(self):
        super().__init__()
        self.again.weight = self.head.weight

    def forward(self, x):
        return F.linear(self.again(torch.tanh(super().forward(x))), self.fc.weight.t())


@add("tied decoder", texts, shared=("embed", "head.weight"), head=None, turns=FAST)
class TiedDecoder(Reads):
    parts: ClassVar = {"head": lambda: nn.Linear(m, 19)}

    def __init__(self):
        super().__init__()
        self.head.weight = self.embed.weight

    def forward(self, ids, sizes):
        return self.head(self.drop(self.read(self.embed(ids))[0]))


@add("matrices of its own", vectors, modulated=(nn.ParameterList,), shared=("other",))
class Matrices(Vectors):
    parts: ClassVar = {
        "matrices": lambda: nn.ParameterList([torch.randn(n, 5, n) / 7, torch.randn(n, n) / 3]),
        "other": lambda: nn.Parameter(torch.randn(n, n)),
    }

    def forward(self, x):
        h = torch.einsum("bi,ijk->bk", self.hidden(x), self.matrices[0])
        return self.head(torch.tanh(h @ self.matrices[1]) + h @ self.other)


class Cubed(torch.autograd.Function):
    """Has no rule for vmap."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, gradient):
        return 3 * ctx.saved_tensors[0] ** 2 * gradient


# Vectors that go through the same, and then: inputs, what else is to say, and the forward pass.
FORWARDS = {
    "penalty on its weights": (vectors, {}, lambda self, x: (
        self.head(self.hidden(x)),
        sum(p.square().sum() for p in self.parameters()) + self.fc.weight.abs().sum(),
    )),
    "function of its own": (vectors, {"turns": METHODS[1:]}, lambda self, x: (
        Cubed.apply(self.head(self.hidden(x)))
    )),
    "mean over the batch": (vectors, {}, lambda self, x: (
        self.head((h := self.hidden(x)) - h.mean(0))
    )),
    "similarities of pairs": (vectors, {}, lambda self, x: F.cross_entropy(
        (z := F.normalize(self.head(self.hidden(x)), dim=-1)) @ z.T / 0.3, torch.arange(len(z))
    )),
    "pair in one batch": (lambda: (vectors(), vectors()), {}, lambda self, x, y: (
        self.head(self.hidden(torch.cat([x, y]))).unflatten(0, (2, -1)).prod(0)
    )),
    "sorted by score": (vectors, {}, lambda self, x: self.head(
        self.hidden(x[self.head(self.hidden(x))[:, 0].argsort()]) + self.hidden(x).cumsum(0)
    )),
    "another way by value": (vectors, {"turns": METHODS[1:]}, lambda self, x: (
        y if (y := self.head(self.hidden(x))).sum() > 0 else 2 * y
    )),
    "as many rows as pass": (vectors, {"refused": "output of the model must be the same"},
        lambda self, x: (y := self.head(self.hidden(x)))[y > y.median() + self.head.bias[0]],
    ),
    "what no axis fits": (vectors, {"refused": r"is a builtins\.object, accepted .* use_cache"},
        lambda self, x: (self.head(self.hidden(x)), object()),
    ),
    "loss beside logits": (lambda: (vectors(), torch.arange(B) % 2), {}, lambda self, x, labels: (
        F.cross_entropy(y := self.head(self.hidden(x)), labels), y
    )),
    "checkpoint inside": (vectors, {"turns": METHODS[1:]}, lambda self, x: (
        self.head(self.drop(checkpoint(self.fc, x, use_reentrant=False).tanh()))
    )),
}  # fmt: skip
for name, (given, what, forward) in FORWARDS.items():
    add(name, given, **what)(forwards(forward))


@add("early exit", vectors, turns=METHODS[1:])
class EarlyExit(Vectors):
    parts: ClassVar = {"other": lambda: nn.Linear(n, n)}

    def forward(self, x):
        h = self.hidden(x)
        y = self.head(h)
        unsure = (y[:, 0] - y[:, 1]).abs() < 0.4
        y[unsure] = self.head(torch.tanh(self.other(h[unsure])))
        return y


@add("experts", vectors, turns=(*FAST, "mc_dropout"))
class Experts(Vectors):
    parts: ClassVar = {
        "router": lambda: nn.Linear(m, 3),
        "experts": lambda: nn.ModuleList(nn.Linear(m, n) for _ in range(3)),
    }

    def forward(self, x):
        choice = self.router(x).argmax(-1)
        h = x.new_zeros(len(x), n)
        for i, expert in enumerate(self.experts):
            h[choice == i] = self.drop(expert(x[choice == i]))
        return self.head(torch.tanh(h))


@add("images of any size", lambda: [torch.randn(3, 4, 5), torch.randn(3, 6, 7)])
class Images(Model):
    parts: ClassVar = {"head": lambda: nn.Conv2d(3, 2, 1)}

    def forward(self, images):
        return [{"mean": self.head(image).mean((1, 2))} for image in images]


@add("in place on its input", vectors)
class InPlace(Vectors):
    def forward(self, x):
        x.sub_(1).mul_(0.5)
        h = 2 * self.hidden(x).unsqueeze(1)
        h[:, :, :3] += 1
        h.transpose_(1, 2).clamp_(min=-0.5)
        return self.head(h[..., None].squeeze()).unsqueeze(-1)


Pair = namedtuple("Pair", "logits hidden")


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


@add("moving averages", vectors)
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
        self.order = [partial(self.hidden), {"last": self.head}]

    def forward(self, x):
        return self.order[1]["last"](self.order[0](x))
