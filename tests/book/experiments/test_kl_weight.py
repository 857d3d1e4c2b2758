"""What the KL does: the nets are the running example's, and the table that the chapter reads."""

import numpy as np
import pytest
import torch

from ensedu.book import measured
from ensedu.book.experiments import kl_weight
from ensedu.book.experiments import running_example as example
from ensedu.book.experiments.kl_weight import (
    CONTESTANT,
    CURVES,
    EXPERIMENT,
    PERCENT,
    deviations,
    trained,
    typical,
)
from ensedu.torch import Rank1Linear, mlp

SHORT = {"epochs": 3, "batch_size": 20}


def test_with_the_whole_kl_it_is_the_running_example():
    ours = trained(1.0, 2, **SHORT, seed=1)
    other = example.trained(CONTESTANT, CONTESTANT.setting, 2, 1, **SHORT)
    for name, value in other.state_dict().items():
        assert torch.equal(ours.state_dict()[name], value), name


def test_the_kl_pulls_up():
    ours, other = (trained(beta, 0, **SHORT, seed=0) for beta in (0.0, 10.0))
    assert np.median(deviations(ours)) < np.median(deviations(other))


def test_deviations_are_those_of_all_entries():
    net = mlp((1, 5, 3, 1), "rank1", 2, posterior_std=0.2)
    with torch.no_grad():
        layer = next(layer for layer in net.modules() if isinstance(layer, Rank1Linear))
        layer.r_rho += 1.0
    found = deviations(net)
    assert found.shape == (2 * (1 + 5 + 5 + 3 + 3 + 1),)
    assert found[2:] == pytest.approx(0.2, rel=1e-6)
    assert (found[:2] > 0.3).all()


def test_a_short_run():
    settings = EXPERIMENT.settings | {"epochs": 2, "passes": 8, "points": 7}
    assert len(kl_weight.run(1.0, 0, **settings)["deviations"]) == len(PERCENT)
    settings = CURVES.settings | {"epochs": 2, "passes": 16}
    found = kl_weight.draw(1.0, **settings)
    assert np.shape(found["draws"]) == (8, settings["number"])
    assert (np.array(found["spread"]) > 0).all()


def test_the_curves_are_those_of_typical_data():
    rows = measured.load("kl-weight")["rows"]
    assert typical(rows) == CURVES.settings["data_seed"]
    shifted = [{"beta": 0.0, "data_seed": seed, "gap": {"nll": seed**2}} for seed in range(5)]
    assert typical(shifted) == 2


def test_the_table_agrees_with_the_running_example():
    """Of the same training from the first start, a row of which is computed again there."""
    rows = [row for row in measured.load("kl-weight")["rows"] if row["beta"] == 1.0]
    others = measured.load("running-example")["rows"]
    assert len(rows) == 8
    for row in rows:
        other = measured.row(others, contestant="rank1", data_seed=row["data_seed"])
        for place in example.PLACES:
            firsts = {score: values[0] for score, values in other[place].items()}
            assert row[place] == firsts


def test_the_band_is_that_of_all_draws():
    found = kl_weight.draw(1.0, **CURVES.settings | {"epochs": 2, "passes": 8})
    np.testing.assert_allclose(found["spread"], np.std(found["draws"], axis=0), rtol=1e-9)
