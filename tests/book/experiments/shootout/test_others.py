"""Contestants of other packages, where those are: ``.venv-others/bin/python -m pytest``."""

import numpy as np
import pytest

from ensedu.book.experiments import shootout
from ensedu.book.experiments.shootout import others
from ensedu.book.experiments.shootout.tasks import TASKS, split_of_task


@pytest.mark.filterwarnings("ignore")  # of what other packages import
@pytest.mark.parametrize("data", ["digits", "concrete"])
@pytest.mark.parametrize("name", ["laplace", "ivon", "swag"])
def test_a_package_trains_its_contestant(data, name):
    pytest.importorskip("ivon")  # of the three the one that imports at once
    given = split_of_task(data, 0)
    trained = shootout.train(data, name, shootout.CONTESTANTS[name].tries[1], given, 7)
    x, y = given.test
    assert trained(x).scores(y)["nll"] < (1.2 if TASKS[data].classes else 2)
    first, again = trained(x), trained(x)
    if TASKS[data].classes:
        assert first.logits.shape == (others.DRAWS, len(x), 10)
        np.testing.assert_array_equal(first.logits, again.logits)
    assert trained.kept > TASKS[data].total(1.0)
