"""What a checkpoint means: hashes that fit prove that no byte changed, and not who wrote it."""

import copy
import json
import math
import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load as load_values
from safetensors.torch import save as save_values
from torch import nn

from ensedu.torch.train.checkpoints import load, newest, resume, save
from tests.torch.train.saved_runs import OPTIMIZERS, Run, assert_same, forge, names_in

NAN, INF = math.nan, math.inf


def with_value(*keys, value):
    """Return a change of a table: another value at a place in it."""

    def change(table):
        table, *steps = copy.deepcopy(table), *keys
        inner = table
        for key in steps[:-1]:
            inner = inner[key]
        inner[steps[-1]] = value
        return table

    return change


def without(key):
    return lambda table: {name: value for name, value in table.items() if name != key}


def setting(value, name="lr", group=0):
    return with_value("settings", group, name, value=value)


FORGED = {
    "a word for a rate": (setting("evil"), "has lr = 'evil' in group 0 of its optimizer, accepted"),
    "a rate that is NaN": (setting(NAN), "has lr = nan in group 0"),
    "a rate without end": (setting(INF), "has lr = inf in group 0"),
    "a rate too large": (setting(10**400), "has lr = 1000"),
    "no rate": (setting(None), "has lr = None in group 0"),
    "a true rate": (setting(True), "has lr = True in group 0"),
    "rates": (setting([0.1]), "has lr = [0.1] in group 0"),
    "one momentum": (setting([0.9], "betas"), "has betas = [0.9] in group 0"),
    "three momenta": (setting([0.9, 0.9, 0.9], "betas"), "has betas = [0.9, 0.9, 0.9]"),
    "a word of two": (setting("ab", "betas"), "has betas = 'ab'"),
    "a NaN of two": (setting([0.9, NAN], "betas"), "has betas = [0.9, nan]"),
    "a number for a choice": (setting(1, "amsgrad"), "has amsgrad = 1 in group 0"),
    "parameters": (setting([0, 1], "params"), "has params = [0, 1] in group 0"),
    "how it computes": (setting(True, "fused"), "has fused = True in group 0"),
    "no groups": (with_value("settings", value=[]), "of the optimizer's 1 groups, got 0"),
    "one more group": (
        lambda table: table | {"settings": table["settings"] * 2},
        "of the optimizer's 1 groups, got 2",
    ),
    "a group of words": (with_value("settings", 0, value="lr"), "settings by name, got 'lr'"),
    "no settings": (without("settings"), "must hold 'settings', a list, got nothing"),
    "no optimizer": (without("optimizer"), "must hold 'optimizer', a dict, got nothing"),
    "no extra": (without("extra"), "must hold 'extra', a dict, got nothing"),
    "no step": (without("step"), "must hold 'step', a int, got nothing"),
    "settings by name": (with_value("settings", value={}), "must hold 'settings', a list, got {}"),
    "a list of extra": (with_value("extra", value=[1]), "must hold 'extra', a dict, got [1]"),
    "a step before all": (with_value("step", value=-3), "must be of a positive step, got -3"),
    "step 0": (with_value("step", value=0), "must be of a positive step, got 0"),
    "half a step": (with_value("step", value=50.0), "must hold 'step', a int, got 50.0"),
    "a true step": (with_value("step", value=True), "must hold 'step', a int, got True"),
    "another step": (with_value("step", value=10), "is of step 10, accepted in a folder"),
    "a shape that is another": (
        with_value("optimizer", "model:turned", value="(7, 3) torch.float64"),
        "must say of an optimizer its class and groups, got 'model:turned'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", FORGED)
def test_what_save_does_not_write_is_named_and_changes_nothing(tmp_path, case):
    change, words = FORGED[case]
    path = Run(seed=99).train(1).save(tmp_path, 50)
    forge(path, change)
    run = Run().train(2)
    before = run.state()
    for call in (lambda: run.load(path), lambda: run.resume(tmp_path)):
        with pytest.raises(ValueError, match=re.escape(str(path))) as raised:
            call()
        assert type(raised.value) is ValueError
        assert words in str(raised.value)
    assert_same(run.state(), before)


@pytest.fixture(scope="module", params=["adam", "adamw"])
def saved(request, tmp_path_factory):
    """A checkpoint, and the kind of its optimizer."""
    path = Run(request.param, seed=99).train(1).save(tmp_path_factory.mktemp("saved"), 50)
    return path, request.param


def places(tree, above=()):
    """Return the way to every value in JSON."""
    inner = tree.items() if isinstance(tree, dict) else enumerate(tree)
    found = [(*above, key) for key, _ in inner]
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
        found += places(value, (*above, key)) if isinstance(value, (dict, list)) else []
    return found


def is_taken(run, path):
    """Load, and say whether that is done; what is refused is named, and changes nothing."""
    before = run.state()
    try:
        run.load(path)
    except (ValueError, OSError) as error:
        assert str(path) in str(error)
        assert_same(run.state(), before)
        return False
    return True


HOSTILE = st.sampled_from(
    [None, True, 0, -3, 1, 2.5, -1e300, 10**400, NAN, INF, "", "evil", [], [1], [[]], {}, {"a": 1}]
)


@given(data=st.data())
def test_whatever_stands_in_a_table_is_refused_or_of_the_kind_that_was_there(saved, data):
    path, kind = saved
    good = (path / "checkpoint.json").read_text()
    place = data.draw(st.sampled_from(places(without("sha256")(json.loads(good)))))
    value = data.draw(st.one_of(HOSTILE, st.just("removed")))

    def change(table):
        inner = table
        for key in place[:-1]:
            inner = inner[key]
        replaced.append(inner.pop(place[-1]))
        if value != "removed" and isinstance(inner, dict):
            inner[place[-1]] = value
        elif value != "removed":
            inner.insert(place[-1], value)
        return table

    replaced = []
    run = Run(kind).train(2)
    kinds = [{k: type(v) for k, v in group.items()} for group in run.groups()]
    forge(path, change)
    try:
        if is_taken(run, path):
            assert place[0] in ("settings", "extra") or [value] == replaced, place
            for group, expected in zip(run.groups(), kinds, strict=True):
                for key, own in expected.items():
                    number = own in (int, float) and type(group[key]) in (int, float)
                    assert number or type(group[key]) is own, key
                    assert not number or math.isfinite(group[key])
    finally:
        (path / "checkpoint.json").write_text(good)


@given(data=st.data())
def test_whatever_stands_in_values_is_refused_or_finite(saved, data):
    path, kind = saved
    good, table = (path / "values.safetensors").read_bytes(), (path / "checkpoint.json").read_text()
    values = load_values(good)
    name = data.draw(st.sampled_from(sorted(values)))
    value, how = values[name], data.draw(st.sampled_from(["nan", "inf", "gone", "cut", "type"]))
    if how in ("nan", "inf") and value.is_floating_point() and value.numel():
        value.view(-1)[data.draw(st.integers(0, value.numel() - 1))] = float(how)
    elif how == "cut":
        values[name] = torch.cat([value.flatten()] * 2)
    elif how == "type":
        values[name] = value.to(torch.int32)
    elif how == "gone":
        del values[name]
    run = Run(kind).train(2)
    forge(path, data=save_values(values))
    try:
        if is_taken(run, path):
            assert (
                how == "inf"
                or name.startswith("optimizer.")
                or not value.numel()
                or (how == "nan" and not value.is_floating_point())
            )
            for key, loaded in run.net.named_parameters():
                assert loaded.isfinite().all(), key
            assert not any(loaded.isnan().any() for loaded in run.state()[0].values())
    finally:
        (path / "values.safetensors").write_bytes(good)
        (path / "checkpoint.json").write_text(table)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_what_is_of_the_kinds_of_an_optimizer_is_taken(tmp_path, optimizer):
    """Integers for floats, other numbers, and names that a schedule adds."""
    run = Run(optimizer)
    for group in run.groups():
        group |= {"lr": 1, "weight_decay": 0.25, "initial_lr": 0.5, "maximize": True}
    path = run.save(tmp_path, 50)
    other = Run(optimizer, seed=99)
    other.load(path)
    for group in other.groups():
        kept = [group[key] for key in ("lr", "weight_decay", "initial_lr", "maximize")]
        assert kept == [1, 0.25, 0.5, True]


class Choosing(torch.optim.SGD):
    """Settings that are words, infinite, of no kind yet, and lists of pairs."""

    def __init__(self, parameters, **options):
        super().__init__(parameters, lr=0.1)
        self.param_groups[0] |= {"search": None, "clip": INF, "bounds": [(0, 1), (2, 3)]} | options


def test_settings_of_other_kinds(tmp_path):
    net = nn.Linear(2, 3)
    path = save(
        tmp_path, net, Choosing(net.parameters(), search="wolfe", bounds=[(4, 5), (6, 7)]), 1
    )
    for search in (None, "other"):
        optimizer = Choosing(net.parameters(), search=search)
        load(path, net, optimizer)
        kept = {key: optimizer.param_groups[0][key] for key in ("search", "clip", "bounds")}
        assert kept == {"search": "wolfe", "clip": INF, "bounds": ((4, 5), (6, 7))}
    save(tmp_path, net, Choosing(net.parameters()), 2)
    load(newest(tmp_path).path, net, Choosing(net.parameters(), search="other"))
    for options, words in (
        ({"clip": 1.0}, "has clip = inf in group 0"),
        ({"search": 5}, "has search = None in group 0"),
        ({"bounds": [(4, 5), 6]}, r"has bounds = \[\[0, 1\], \[2, 3\]\] in group 0"),
    ):
        with pytest.raises(ValueError, match=words):
            load(newest(tmp_path).path, net, Choosing(net.parameters(), **options))


def test_a_folder_of_another_name_than_its_step(tmp_path):
    run = Run().train(1)
    run.save(tmp_path, 3)
    path = run.save(tmp_path, 10)
    renamed = path.rename(tmp_path / "step-00000050")
    for call in (lambda: run.load(renamed), lambda: run.resume(tmp_path), lambda: newest(tmp_path)):
        with pytest.raises(ValueError, match=r"50/checkpoint\.json is of step 10, accepted in a"):
            call()
    # It stops no saving, is none of those that are kept, and is not removed.
    run.save(tmp_path, 51)
    run.save(tmp_path, 52, keep=1)
    assert names_in(tmp_path) == ["step-00000050", "step-00000052"]
    assert run.load(renamed.rename(path)).step == 10


def broken(name, value, kind="sgd"):
    """A run in whose net or optimizer one number is another."""
    run = Run(kind).train(1)
    if name.startswith("optimizer."):
        key, _, parameter = name.removeprefix("optimizer.").partition(":")
        tensor = run.optimizer.state[run.net.get_parameter(parameter)][key]
    else:
        tensor = run.net.state_dict()[name.removeprefix("model:")]
    tensor.view(-1)[-1] = value
    return run


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("model:first.weight", r"\(6, 4\)", NAN),
        ("model:first.weight", r"\(6, 4\)", -INF),
        ("model:scale", r"\(\)", INF),
        ("model:norm.running_mean", r"\(6,\)", NAN),
        ("optimizer.momentum_buffer:first.bias", r"\(6,\)", NAN),
    ],
)
def test_what_is_not_finite_is_named_and_taken_if_asked(tmp_path, name, place, value):
    run, other = broken(name, value), Run("sgd", seed=99).train(2)
    words = rf"must hold finite numbers, got {value} at {place} of {re.escape(name)}; nonfinite_ok"
    with pytest.raises(ValueError, match="net and optimizer " + words):
        run.save(tmp_path, 1)
    assert names_in(tmp_path) == []  # where good ones would have gone
    path = run.save(tmp_path, 1, nonfinite_ok=True)
    before = other.state()
    for call in (other.load, lambda path: other.resume(path.parent)):
        with pytest.raises(ValueError, match=re.escape(str(path)) + " " + words):
            call(path)
        assert_same(other.state(), before)
    for call in (other.load, lambda path, **asked: other.resume(path.parent, **asked)):
        call(path, nonfinite_ok=True)
        mine, theirs = other.state()[0], run.state()[0]
        for key, loaded in mine.items():
            torch.testing.assert_close(
                loaded, theirs[key], rtol=0, atol=0, equal_nan=True
            ) if not key.startswith("grad") else None


def test_a_parameter_of_two_names_is_finite_by_both(tmp_path):
    """No net has it so: what is tied is one tensor."""
    path = Run(seed=99).train(1).save(tmp_path, 1)
    values = load_values((path / "values.safetensors").read_bytes())
    values["model:tied.bias"][3] = INF
    forge(path, data=save_values(values))
    with pytest.raises(ValueError, match=r"got inf at \(3,\) of model:tied.bias; nonfinite_ok"):
        Run().load(path)


def test_an_optimizer_that_refuses_its_state_stays_as_it_is(tmp_path):
    path = Run(seed=99).train(1).save(tmp_path, 1)
    values = load_values((path / "values.safetensors").read_bytes())
    del values["optimizer.step:scale"]
    forge(path, data=save_values(values))
    run = Run().train(2)
    before = run.state()
    with pytest.raises(ValueError, match="has no state that a Adam takes: KeyError: 'step'"):
        run.load(path)
    assert_same(run.state(), before)


def test_a_buffer_may_mask_by_infinities(tmp_path):
    net = nn.Linear(2, 3)
    net.register_buffer("mask", torch.full((3, 3), -INF).triu(1))
    save(tmp_path, net, None, 1)
    other = nn.Linear(2, 3)
    other.register_buffer("mask", torch.zeros(3, 3))
    resume(tmp_path, other)
    assert torch.equal(other.mask, net.mask)
