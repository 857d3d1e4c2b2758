"""What *BatchEnsemble* draws is what it is given, and it says what it counts."""

import itertools

import numpy as np

from ensedu.book.figures.batch_ensemble import Members, Rank
from tests.plot.looks import LIGHT, drawn, limits, texts

W = np.arange(1.0, 21).reshape(4, 5) % 7 + 0.5
FACTOR = np.outer([1, 2, -1, 1], [1, -1, 1, 2, 1])
RANK = Rank({"near": {"W₁": W * FACTOR, "W₁ / W": 1.0 * FACTOR}, "equal": {"W₁": W, "W₁ / W": W}})


def test_members_own_what_their_start_and_their_width_say():
    shown = Members()
    for init, M, h in itertools.product(*shown.choices.values()):
        own = shown.layers[init, M, h]
        assert own["weight"].shape == (h, h)
        assert own["r"].shape == own["s"].shape == (M, h)
        assert (set(np.abs(own["r"]).ravel()) == {1.0}) == (init == "signs")
        said = shown.say(init, M, h)
        assert said.startswith(f"The {M} members share {h * h} weights, ")
        assert f"{own['r'][0].size + own['s'][0].size} numbers" in said
    assert (
        limits(drawn(lambda: shown.draw("normal", 2, 5), LIGHT[0]))[1]
        == (limits(drawn(lambda: shown.draw("signs", 2, 5), LIGHT[0]))[1])
    )


def test_ranks_stand_in_titles_and_in_the_sentence():
    assert RANK.ranks("near")["W₁ / W"] == 1
    assert RANK.ranks("near")["W₁"] > 1
    rank = np.linalg.matrix_rank(W)
    assert RANK.say("equal") == f"W₁ has rank {rank}, W₁ / W has rank {rank}."
    said = {text.get_text() for text in texts(drawn(lambda: RANK.draw("near"), LIGHT[0]))}
    assert "W₁ / W, rank 1" in said
