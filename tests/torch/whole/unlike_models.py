"""Small models unlike those that one usually converts, and batches that are unlike each other."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

L, m, n = 6, 5, 7
#: How many examples a batch has.
SIZES = (5, 4, 1, 3, 5, 2, 7)


def texts(shape, generator):
    return torch.randint(19, shape, generator=generator)


def numbers(shape, generator):
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def lengths(i, B, generator):
    """How long the texts of batch i are: as they come, the longest first, and all as long."""
    found = torch.randint(1, L + 1, (B,), generator=generator)
    return (found.sort(descending=True)[0], found, torch.full((B,), L))[i % 3]


class Reads(nn.Module):
    """What texts go through before they differ."""

    def __init__(self):
        super().__init__()
        self.embed, self.drop = nn.Embedding(19, m), nn.Dropout(0.3)
        self.fc, self.head = nn.Linear(m, n), nn.Linear(n, 2)

    @staticmethod
    def batch(i, B, generator):
        return texts((B, L), generator), lengths(i, B, generator)


class Vectors(nn.Module):
    """What vectors go through."""

    def __init__(self):
        super().__init__()
        self.fc, self.drop = nn.Linear(m, n), nn.Dropout(0.3)
        self.other, self.head = nn.Linear(n, n), nn.Linear(n, 2)

    def hidden(self, x):
        return self.drop(torch.tanh(self.fc(x)))

    @staticmethod
    def batch(i, B, generator):
        return (numbers((B, m), generator),)


class SortedAndKept(Reads):
    """Packed sequences, the longest first, through a layer in that order."""

    def __init__(self):
        super().__init__()
        self.read = nn.GRU(m, m, batch_first=True)

    def forward(self, ids, sizes):
        order = sizes.argsort(descending=True, stable=True)
        packed = pack_padded_sequence(self.embed(ids[order]), sizes[order], batch_first=True)
        state = self.drop(torch.tanh(self.fc(self.read(packed)[1][0])))
        return self.head(state[order.argsort()])


class SortedAndBack(SortedAndKept):
    """Packed sequences, in order again before any layer with members."""

    def forward(self, ids, sizes):
        order = sizes.argsort(descending=True)
        packed = pack_padded_sequence(self.embed(ids[order]), sizes[order], batch_first=True)
        all_states, _ = pad_packed_sequence(self.read(packed)[0], batch_first=True, total_length=L)
        last = all_states[torch.arange(len(sizes)), sizes[order] - 1]
        return self.head(self.drop(torch.tanh(self.fc(last[order.argsort()]))))


class TimeFirst(Reads):
    """A recurrent layer that has time in front of the batch."""

    def __init__(self):
        super().__init__()
        self.read = nn.GRU(m, m, bidirectional=True)
        self.fc = nn.Linear(2 * m, n)

    def forward(self, ids, sizes):
        states, _ = self.read(self.embed(ids).transpose(0, 1))
        return self.head(self.drop(torch.tanh(self.fc(states.amax(0)))))


class Masked(Reads):
    """Attention over the words that are there."""

    def forward(self, ids, sizes):
        x = self.embed(ids)
        there = torch.arange(L) < sizes[:, None]
        scores = (x @ x.mT).masked_fill(~there[:, None, :], -torch.inf)
        hidden = self.drop(torch.tanh(self.fc(scores.softmax(-1) @ x)))
        return self.head((hidden * there[..., None]).sum(1) / sizes[:, None])


class EarlyExit(Vectors):
    """Only what is not sure yet goes on."""

    def forward(self, x):
        h = self.hidden(x)
        y = self.head(h)
        unsure = (y[:, 0] - y[:, 1]).abs() < 0.4
        y[unsure] = self.head(torch.tanh(self.other(h[unsure])))
        return y


class Pairs(Vectors):
    """Two inputs, one behind the other in one batch."""

    def forward(self, x, y):
        a, b = self.head(self.hidden(torch.cat([x, y]))).chunk(2)
        return a * b

    @staticmethod
    def batch(i, B, generator):
        return numbers((B, m), generator), numbers((B, m), generator)


class Twice(Pairs):
    """Two inputs, one after the other through the same layers."""

    def forward(self, x, y):
        return self.head(self.hidden(x) * self.hidden(y))


class Film(Pairs):
    """A second input scales and shifts what the first one becomes."""

    def __init__(self):
        super().__init__()
        self.condition = nn.Linear(m, 2 * n)

    def forward(self, x, y):
        scale, shift = self.condition(y).chunk(2, -1)
        return self.head(self.hidden(x) * (1 + scale) + shift)


class Experts(Vectors):
    """Each example goes to the one expert that its router chooses."""

    def __init__(self):
        super().__init__()
        self.router = nn.Linear(m, 3)
        self.experts = nn.ModuleList(nn.Linear(m, n) for _ in range(3))

    def forward(self, x):
        choice = self.router(x).argmax(-1)
        h = x.new_zeros(len(x), n)
        for i, expert in enumerate(self.experts):
            h[choice == i] = self.drop(expert(x[choice == i]))
        return self.head(torch.tanh(h))


class AllExperts(Experts):
    """All experts look at all examples, and one is heard."""

    def forward(self, x):
        choice = F.one_hot(self.router(x).argmax(-1), 3).to(x)
        seen = torch.stack([self.drop(expert(x)) for expert in self.experts], -1)
        return self.head(torch.tanh((seen * choice[:, None]).sum(-1)))


class Skips(nn.Module):
    """A U-Net: what was seen at full size comes back beside what was seen at half."""

    def __init__(self):
        super().__init__()
        self.down, self.inside = nn.Conv2d(2, 3, 3, padding=1), nn.Conv2d(3, 5, 3, padding=1)
        self.drop, self.up = nn.Dropout2d(0.3), nn.ConvTranspose2d(5, 3, 2, 2)
        self.head = nn.Conv2d(6, 2, 1)

    def forward(self, x):
        wide = F.relu(self.down(x), inplace=True)
        deep = self.drop(F.relu(self.inside(F.max_pool2d(wide, 2))))
        return self.head(torch.cat([self.up(deep), wide], 1))

    @staticmethod
    def batch(i, B, generator):
        return (numbers((B, 2, 6, 4), generator),)


class Graph(Vectors):
    """Nodes with neighbors, one graph for the whole batch."""

    def forward(self, x, edges):
        h = self.hidden(edges @ x)
        return self.head((edges @ h).mean(1))

    @staticmethod
    def batch(i, B, generator):
        edges = (numbers((1, 4, 4), generator) > 0).double()
        return numbers((B, 4, m), generator), edges


class Lists(Vectors):
    """Lists, dicts and what is no tensor come out; the same layer is called twice."""

    def forward(self, x):
        first = self.hidden(x)
        second = torch.tanh(self.other(torch.tanh(self.other(first))))
        return [{"steps": [first, second], "n": 2}, (self.head(second), None)]


class InPlace(Vectors):
    """Works in place, on its input too, and puts axes in and out."""

    def forward(self, x):
        x.sub_(1).mul_(0.5)
        h = self.hidden(x).unsqueeze(1)
        h[:, :, :3] += 1
        h.transpose_(1, 2).clamp_(min=-0.5)
        return self.head(h.squeeze(2)).unsqueeze(-1)


class Squeezes(Vectors):
    """Drops every axis of 1, the batch's, too."""

    def forward(self, x):
        return self.head(self.hidden(x)[:, None].squeeze())


class ByValue(Vectors):
    """Takes another way where an entry says so."""

    def forward(self, x):
        h = self.hidden(x)
        return torch.where(x[:, :1] > 0, self.head(h), self.head(-h) * 2)


class Centered(Vectors):
    """An example is seen relative to the others."""

    def forward(self, x):
        h = self.hidden(x)
        return self.head(h - h.mean(0))


class Recurs(Vectors):
    """Its head sees its own output, and what went around it."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(n, n)

    def forward(self, x):
        h = self.hidden(x)
        for _ in range(2):
            h = h + torch.tanh(self.head(h))
        return self.other(h)


MODELS = (
    SortedAndKept, SortedAndBack, TimeFirst, Masked, EarlyExit, Pairs, Twice, Film, Experts,
    AllExperts, Skips, Graph, Lists, InPlace, Squeezes, ByValue, Centered, Recurs,
)  # fmt: skip
#: What all members share of a model, where layers are swapped.
SHARED = (nn.GRU, nn.ConvTranspose2d)
