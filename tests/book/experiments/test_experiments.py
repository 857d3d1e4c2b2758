"""Each experiment is found by the name of its table."""

import re
from pathlib import Path

import pytest

from ensedu.book import experiments
from ensedu.book.experiments import EXPERIMENTS

ROOT = Path(__file__).parents[3]


def test_a_mapping_finds_each_experiment_by_its_name():
    assert {name: one.name for name, one in EXPERIMENTS.items()} == {n: n for n in EXPERIMENTS}
    assert len(EXPERIMENTS) == len(list(EXPERIMENTS)) >= 1
    assert "starts" in EXPERIMENTS and "start" not in EXPERIMENTS and 3 not in EXPERIMENTS


@pytest.mark.bad_input
@pytest.mark.parametrize(("name", "kind"), [("start", ValueError), (3, TypeError)])
def test_an_unknown_name_lists_the_known(name, kind):
    with pytest.raises(kind, match=r"name must be one of 'starts'.*, got "):
        EXPERIMENTS[name]


def test_the_makefile_knows_which_tables_need_more():
    line = re.search(r"^FOREIGN +:= (.*)$", (ROOT / "Makefile").read_text(), flags=re.M)
    assert line[1].split() == list(experiments.NEEDS)
    assert experiments.NEEDS.keys() <= experiments.LOCATIONS.keys()
