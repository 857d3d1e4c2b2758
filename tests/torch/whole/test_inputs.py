"""Inputs as one value: a tensor, a tuple of arguments, a dict of named ones."""

import pytest
import torch

from ensedu.torch.whole.inputs import call, map_examples, number_of_examples

B, m = 7, 5


def test_inputs_are_arguments_by_place_or_by_name():
    x, y = torch.ones(B, m), torch.zeros(B)

    def model(*args, **kwargs):
        return args, kwargs

    assert call(model, x) == ((x,), {})
    assert call(model, (x, y), noise=3) == ((x, y), {"noise": 3})
    assert call(model, {"x": x, "flag": True}) == ((), {"x": x, "flag": True})


@pytest.mark.bad_input
@pytest.mark.parametrize("x", [(torch.ones(B, m),) * 2, {"x": torch.ones(B, m)}, {1: 2}, ()])
def test_other_arguments_than_a_models_are_named(x):
    with pytest.raises(TypeError, match="x must hold the arguments of a Linear"):
        call(torch.nn.Linear(m, 2), x)


@pytest.mark.parametrize("examples", [B, 1])
def test_examples_are_counted_and_constants_left_alone(examples):
    x = {
        "x": torch.ones(examples, m), "scale": torch.tensor(2.0), "flag": True,
        "more": (torch.zeros(examples), torch.ones(1, m)),
    }  # fmt: skip
    assert number_of_examples("x", x) == examples
    seen = []

    def first(rows):
        seen.append(rows.shape)
        return rows[:1]

    found = map_examples(first, x, examples)
    # Of one example a constant with a first axis of 1 cannot be told from it, and is as good.
    constants = {(1, m)} if examples == 1 else set()
    assert {tuple(shape) for shape in seen} == {(examples, m), (examples,)} | constants
    assert found["x"].shape == (1, m) and found["more"][0].shape == (1,)
    assert found["scale"] is x["scale"] and found["flag"] is True
    assert torch.equal(found["more"][1], x["more"][1])
