"""The page "Training": its plain loop is `fit`, to the bit."""

import contextlib
import re

import pytest
import torch

BLOCK = re.compile(r"^```python\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def ran(root, tmp_path_factory):
    """What the page's programs leave behind; not those for other packages, see tests/peers."""
    blocks = BLOCK.findall((root / "book/api/training.md").read_text(encoding="utf-8"))
    others = ["lightning" in block or "skorch" in block for block in blocks]
    assert others == [False] * 2 + [True] * 3 + [False] * 4
    found = {}
    with torch.random.fork_rng(devices=[]):
        for block in blocks[:2]:
            exec(compile(block, "training.md", "exec"), found)
        found["start"] = found["untrained"]()
        exec(compile(blocks[5], "training.md", "exec"), found)
        found["stream"] = dict(found)
        for block in blocks[6:8]:
            exec(compile(block, "training.md", "exec"), found["stream"])
        found["kept"] = dict(found["stream"])
        with contextlib.chdir(tmp_path_factory.mktemp("runs")):
            exec(compile(blocks[8], "training.md", "exec"), found["kept"])
    return found


def test_the_loop_ends_with_the_weights_of_fit(ran):
    fitted, start = ran["fitted"].state_dict(), ran["start"].state_dict()
    for name, value in ran["net"].state_dict().items():
        assert torch.equal(value, fitted[name]), name
        assert not torch.equal(value, start[name]), name


def test_the_loop_takes_the_steps_of_fit(ran):
    assert ran["history"][-1]["step"] == ran["step"] == 300
    weights = [row["beta"] for row in ran["history"]]
    assert weights[:2] == [3 / 150, 6 / 150]
    assert set(weights[49:]) == {1.0} == {ran["beta"]}


def test_the_training_learns_the_curve(ran):
    assert ran["history"][-1]["nll"] < 0.5 * ran["history"][0]["nll"]
    assert ran["outputs"].shape == (25 * 4, 200, 2)


def test_members_may_see_examples_of_their_own(ran):
    x, y = (ran[name].expand(4, 60, 1) for name in ("x", "y"))
    noise = ran["net"].noise(torch.Generator().manual_seed(3), (60, 1))
    one, own = (
        ran["elbo"](ran["net"], *batch, ran["gaussian_nll"], num_examples=60, noise=noise)
        for batch in ((ran["x"], ran["y"]), (x, y))
    )
    torch.testing.assert_close(own, one)


def test_a_loader_trains_the_same_network_to_an_end_near(ran):
    stream = ran["stream"]
    assert stream["outputs"].shape == (25 * 4, 60, 2)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        found = [
            float(ran["gaussian_nll"](ran["predict"](net, ran["x"], samples=100), ran["y"]))
            for net in (ran["net"], stream["net"], ran["start"])
        ]
    assert found[1] == pytest.approx(found[0], abs=0.25 * (found[2] - found[0]))


def test_halves_of_a_deep_ensemble_come_together(ran):
    found = ran["predict"](ran["whole"], ran["x"])
    each = [ran["predict"](half, ran["x"]) for half in ran["halves"]]
    torch.testing.assert_close(found, torch.cat(each))
    assert not torch.equal(*each)


def test_labels_are_taken_out_of_the_dicts_of_a_loader(ran):
    inputs, labels = ran["stream"]["inputs"], ran["stream"]["labels"]
    assert [*inputs] == ["input_ids"] and inputs["input_ids"].shape == (3, 7)
    assert labels.tolist() == [0, 0, 0]


def test_a_checkpoint_is_loaded_again(ran):
    assert ran["kept"]["probabilities"].shape == (360, 10)
    assert ran["kept"]["again"] is not ran["kept"]["net"]
