"""The page "Training" in Lightning and in skorch (`make test-others`)."""

import re
import warnings
from pathlib import Path

import pytest
import torch
from torch.utils.data import DataLoader, RandomSampler

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    lightning = pytest.importorskip(
        "pytorch_lightning", reason="pytorch-lightning is absent: run `make test-others`"
    )

# Lightning and what it imports warn of themselves, and advise other settings.
pytestmark = pytest.mark.filterwarnings("ignore")

PAGE = Path(__file__).parents[2] / "book" / "api" / "training.md"
BLOCKS = re.findall(
    r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
)


pytest.importorskip("skorch", reason="skorch is absent: run `make test-others`")


@pytest.fixture(scope="module")
def page():
    """What the plain loop and the class of the page leave behind."""
    found = {}
    with torch.random.fork_rng(devices=[]):
        for block in (*BLOCKS[:2], BLOCKS[3]):
            exec(compile(block, "training.md", "exec"), found)
    return found


def in_the_order_of_the_loop(data, batch_size, shuffle):
    """Return a loader that shuffles by Torch's own generator, and draws nothing else from it."""
    assert shuffle
    sampler = RandomSampler(data, generator=torch.default_generator)
    return DataLoader(data, batch_size, sampler=sampler, generator=torch.Generator())


def test_in_lightning_with_the_same_minibatches_the_weights_are_the_same(
    page, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    found = page | {"DataLoader": in_the_order_of_the_loop}
    with torch.random.fork_rng(devices=[]):
        exec(compile(BLOCKS[4], "training.md", "exec"), found)
    assert not list(tmp_path.iterdir())
    assert found["trainer"].global_step == page["step"]
    assert set(found["trainer"].callback_metrics) == {"nll", "kl"}
    assert found["outputs"].shape == page["outputs"].shape
    start = page["untrained"]().state_dict()
    trained = found["module"].net.state_dict()
    for name, value in page["net"].state_dict().items():
        assert torch.equal(trained[name], value), name
        assert not torch.equal(start[name], value), name


def test_skorch_ends_near(page):
    found = dict(page)
    with torch.random.fork_rng(devices=[]):
        exec(compile(BLOCKS[5], "training.md", "exec"), found)
        assert found["outputs"].shape == page["outputs"].shape
        x, y, nets = page["x"], page["y"], (page["untrained"](), page["net"], found["estimator"])
        torch.manual_seed(0)
        start, loop, theirs = (
            float(page["gaussian_nll"](page["predict"](net, x, samples=100), y))
            for net in (*nets[:2], nets[2].module_)
        )
    assert theirs == pytest.approx(loop, abs=0.25 * (start - loop))
