"""The body of a last-layer ensemble runs once, where its members then are what they are alone."""

import copy
import pickle

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import ensedu.torch as et
from ensedu.torch import models
from tests.torch.whole.cases import B, M, numbers


class Body(nn.Linear):
    """A layer of the body, which tells how many rows it gets."""

    def forward(self, x):
        if not torch.compiler.is_compiling():
            Body.rows.append(len(x))
        return super().forward(x)


@pytest.fixture(autouse=True)
def _no_rows():
    Body.rows = []


class Model(nn.Module):
    """A body, a head in the middle, and what the head's output meets behind it."""

    def __init__(self):
        super().__init__()
        self.fc, self.head, self.end = Body(7, 7), nn.Linear(7, 7), nn.Linear(7, 2)

    def body(self, x):
        return torch.tanh(self.fc(x))

    def forward(self, x):
        return self.end(torch.tanh(self.head(self.body(x))))


class WithFeatures(Model):
    """Returns what the head has not seen, too."""

    def forward(self, x):
        h = self.body(x)
        return {"features": h, "y": [self.head(h)], "mean": self.end(h)}


class TwoCalls(Model):
    """The head sees two inputs, each for itself."""

    def forward(self, x):
        return self.head(self.body(x)) - self.head(self.body(x.flip(-1)))


class Tokens(Model):
    """The head sees axes between the batch and the features."""

    def forward(self, x):
        h = self.body(x[:, :, None].expand(-1, -1, 7))
        return self.end(torch.tanh(self.head(h)).mean(1))


class Rows(Model):
    """The head sees several rows of each example."""

    def forward(self, x):
        rows = torch.stack([self.body(x), self.body(-x)], 1).flatten(0, 1)
        return self.end(self.head(rows).unflatten(0, (-1, 2)).amax(1))


class Around(Model):
    """Something goes around the head."""

    def forward(self, x):
        h = self.body(x)
        return self.end(h + self.head(h))


class Again(Model):
    """The head sees its own output."""

    def forward(self, x):
        return self.head(torch.tanh(self.head(self.body(x))))


class OldSize(Model):
    """Takes the size of the batch from the input: no shape says that it is wrong."""

    def forward(self, x):
        return self.head(self.body(x)).reshape(len(x), -1)


class Sides(Model):
    """Stacks what has passed the head and what has not."""

    def forward(self, x):
        h = self.body(x)
        return self.end(torch.cat([self.head(h), h], 1)[:, 3:10])


ONCE = (Model, WithFeatures, TwoCalls, Tokens, Rows)
EACH = (Around, Again, OldSize, Sides)


def converted(build, **options):
    torch.manual_seed(0)
    return et.ensemble(build().double(), "last_layer", M, head="head", **options)


def flat(output):
    """The tensors of an output in one."""
    parts = output.values() if isinstance(output, dict) else [output]
    parts = [part[0] if isinstance(part, list) else part for part in parts]
    return torch.cat([part.flatten(2) if part.ndim > 2 else part for part in parts], -1)


def rows_of(run):
    """Return how many rows each call of the body gets."""
    Body.rows = []
    run()
    return set(Body.rows)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("build", (*ONCE, *EACH))
def test_members_are_what_they_are_alone_and_the_body_runs_once_where_it_can(build, training):
    net = converted(build).train(training)
    net(numbers(B, 7))
    assert net.runs_body_once is (build in ONCE)
    net.comparing, rows = False, B if build in ONCE else M * B
    x = 1 - numbers(B, 7)
    y = []
    assert rows_of(lambda: y.append(net(x))) == {rows}
    assert rows_of(lambda: et.predict(nn.Sequential(net, Flat()), x)) == {rows}
    for i in range(M):
        expected = net.member(i)(x)
        torch.testing.assert_close(flat(y[0])[i], flat(expected), rtol=1e-12, atol=1e-12)
    assert not torch.allclose(flat(y[0])[0], flat(y[0])[1])
    gradient = torch.autograd.grad(flat(y[0]).square().sum(), net.model.fc.weight)[0]
    alone = [net.member(i) for i in range(M)]
    for one in alone:
        flat(one(x)).square().sum().backward()
    torch.testing.assert_close(gradient, sum(one.fc.weight.grad for one in alone))


class Flat(nn.Module):
    def forward(self, output):
        return flat(output)


def test_a_convolution_may_be_the_head():
    net = et.ensemble(models.lenet5().double(), "last_layer", M, head="3").eval()
    x = numbers(B, 1, 28, 28)
    y = net(x)
    assert net.runs_body_once
    sizes = []
    net.model[2].register_forward_hook(lambda *given: sizes.append(len(given[-1])))
    torch.testing.assert_close(net(x), y, rtol=1e-12, atol=1e-12)
    assert sizes == [B]
    for i in range(M):
        torch.testing.assert_close(y[i], net.member(i)(x), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("build", [Model, WithFeatures, Around])
def test_a_batch_for_each_member_goes_through_the_body(build):
    net = converted(build, example=numbers(B, 7))
    net.own_batches = True
    x = numbers(M, B, 7)
    y = []
    assert rows_of(lambda: y.append(net(x))) >= {M * B}
    for i in range(M):
        expected = flat(net.member(i)(x[i]))
        torch.testing.assert_close(flat(y[0])[i], expected, rtol=1e-12, atol=1e-12)
    net.own_batches = False
    assert rows_of(lambda: net(x[0])) >= {M * B if build is Around else B}


@pytest.mark.parametrize("build", [Around, Model])
def test_one_example_decides_for_itself_alone(build):
    """What goes around the head of one example fits that of each member."""
    net = converted(build)
    assert net(numbers(1, 7)).shape == (M, 1, 2)
    assert net.runs_body_once
    x = numbers(B, 7)
    y = net(x)
    assert net.runs_body_once is (build is Model)
    for i in range(M):
        torch.testing.assert_close(y[i], net.member(i)(x), rtol=1e-12, atol=1e-12)


def test_the_body_in_training_mode_is_that_of_one_network():
    class Draws(Model):
        def __init__(self):
            super().__init__()
            self.norm, self.drop = nn.BatchNorm1d(7), nn.Dropout(0.5)

        def body(self, x):
            return self.drop(self.norm(self.fc(x)))

    net, x = converted(Draws), numbers(B, 7)
    net(x)
    one, before = copy.deepcopy(net.model.norm), copy.deepcopy(net.model.state_dict())
    with torch.no_grad():
        for array in (net.model.head.layer.weight, net.model.head.layer.bias):
            array.copy_(array[:1].expand_as(array))
    y = net(x)
    assert torch.equal(y[0], y[1])  # one mask for all
    one(F.linear(x, net.model.fc.weight, net.model.fc.bias))
    torch.testing.assert_close(net.model.norm.running_var, one.running_var)
    assert not torch.equal(one.running_var, before["norm.running_var"])


def test_without_a_comparison_the_body_runs_for_each_member():
    net, x = converted(Model), numbers(B, 7)
    net.comparing = False
    assert rows_of(lambda: net(x)) == {M * B}
    assert net.runs_body_once is None
    net(numbers(0, 7))
    net.comparing = True
    net(numbers(0, 7))  # tells nothing
    assert net.runs_body_once is None
    net(x)
    twins = net, copy.deepcopy(net), pickle.loads(pickle.dumps(net)), net.eval_copy()
    for one in twins:
        one.comparing = False
        assert rows_of(lambda one=one: one(x)) == {B}
        assert one(numbers(0, 7)).shape == (M, 0, 2)
    net.runs_body_once = False
    assert rows_of(lambda: net(x)) == {M * B}


def test_an_input_that_no_pass_takes_decides_nothing():
    net = converted(Model)
    for _ in range(2):
        with pytest.raises(RuntimeError):
            net(numbers(B, 5))
    assert net.runs_body_once is None
    net(numbers(B, 7))
    assert net.runs_body_once


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")
@pytest.mark.parametrize("once", [True, False])
def test_a_checkpoint_around_the_head_computes_the_same_again(once):
    class Checkpointed(Model):
        def part(self, h):
            return torch.tanh(self.head(h))

        def forward(self, x):
            h = self.body(x)
            part = torch.utils.checkpoint.checkpoint(self.part, h, use_reentrant=False)
            return self.end(part)

    # Rows that could be one example of each member, too.
    net, x = converted(Checkpointed, example=numbers(2 * M, 7)), numbers(2 * M, 7)
    net.runs_body_once = once
    plain = converted(Model)
    for model in (net, plain):
        model(x).square().sum().backward()
    for one, other in zip(net.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad)


class ByValue(Model):
    """Goes around the head where the values say so, in a way that no shape forbids."""

    def forward(self, x):
        y = self.head(self.body(x))
        return y if x.sum() > 0 else y.reshape(len(x), -1)


class FailsByValue(Model):
    def forward(self, x):
        h = self.body(x)
        return self.head(h) if x.sum() > 0 else h + self.head(h)


def test_a_later_pass_decides_where_the_first_told_nothing():
    class Draws(Around):
        def forward(self, x):
            return super().forward(F.dropout(x, 0.5) if x.sum() < 0 else x)

    net, x = converted(Draws), numbers(B, 7).abs()
    with pytest.warns(UserWarning, match="draws at random in eval mode"):
        net(-x)
    assert net.runs_body_once is None
    y = net(x)
    assert net.runs_body_once is False
    torch.testing.assert_close(y[1], net.member(1)(x), rtol=1e-12, atol=1e-12)


def test_what_values_change_later_is_an_error_that_says_what_to_do():
    x = numbers(B, 7).abs()
    advice = r".*\n.*net\.runs_body_once = False"
    net = converted(ByValue)
    net(x)
    for _ in range(2):
        with pytest.raises(ValueError, match=f"the ensemble is not its members{advice}"):
            net(-x)
    net.runs_body_once = False
    y = net(-x)
    net = converted(FailsByValue)
    net(x), net(x)
    with pytest.raises(RuntimeError) as raised:
        net(-x)
    assert "net.runs_body_once = False" in "".join(raised.value.__notes__)
    net.runs_body_once = False
    y = net(-x)
    for i in range(M):
        torch.testing.assert_close(y[i], net.member(i)(-x), rtol=1e-12, atol=1e-12)


def test_the_module_that_differs_is_found_behind_a_body_that_ran_once():
    class Flips(Model):
        def forward(self, x):
            y = self.head(self.body(x))
            rest = y[len(x) :]  # of one member alone there is none
            return self.end(torch.cat([y[: len(x)], rest.flip(0) if x.sum() < 0 else rest]))

    net, x = converted(Flips), numbers(B, 7).abs()
    net(x)
    with pytest.raises(ValueError, match=r"entry \(1,\) is off by .* first at end, a nn\.Linear"):
        net(-x)


@pytest.mark.compiled
@pytest.mark.parametrize("proven", [True, False])
@pytest.mark.parametrize("build", [Model, WithFeatures, Around])
def test_compiled_and_exported_as_it_runs(build, proven):
    net = converted(build, **({"example": numbers(B, 7)} if proven else {})).eval()
    once = proven and build is not Around
    x = numbers(B, 7)
    expected = flat(net.run((x,), {}, None))
    whole = torch.compile(net, backend="eager", fullgraph=True)
    for size in (B, 3):
        given = x[:size].clone()
        torch._dynamo.mark_dynamic(given, 0)
        torch.testing.assert_close(flat(whole(given)), expected[:, :size], rtol=1e-12, atol=1e-12)
    Body.rows = []
    shapes = {"args": ({0: torch.export.Dim("batch")},)}
    graph = torch.export.export(net, (x,), dynamic_shapes=shapes)
    for size in (1, B, 3):
        got = flat(graph.module()(x[:size]))
        torch.testing.assert_close(got, expected[:, :size], rtol=1e-12, atol=1e-12)
    first = next(n for n in graph.graph.nodes if n.target is torch.ops.aten.linear.default)
    assert bool(first.meta["val"].shape[0] == graph_batch(graph)) is once


def graph_batch(graph):
    """The symbol of the batch in an exported graph."""
    return next(n for n in graph.graph.nodes if n.name == "args_0").meta["val"].shape[0]
