"""The picture of a playground shows its numbers, and can be read."""

import pytest

from ensedu import counting, methods, plot
from ensedu.book.page.frames import check_letters
from ensedu.book.page.playground import layer_picture
from tests.book.page.playground.states import METHODS, MOST, state_of


@pytest.mark.large
@pytest.mark.parametrize("sizes", [(1, 1, 1), (2, 5, 3), tuple(MOST.values())])
def test_every_picture_can_be_read(sizes):
    for narrow in (False, True):
        with plot.rendering(plot.Look(narrow=narrow)):
            check_letters(layer_picture.figure(state_of("rank1", *sizes)), plot.Look(narrow=narrow))


def test_the_picture_shows_the_numbers(monkeypatch):
    """What is drawn are the arrays of each method, with the edits of its own."""
    seen, counts = {}, {}

    def inside(parts, count):
        seen.update(parts)
        counts.update(count)
        return plot.Figure()

    monkeypatch.setattr(layer_picture.plot, "inside", inside)
    layer_picture.figure(state_of("batch_ensemble", 2, 5, 3, r={(2, 1): 8.5}))
    assert tuple(counts) == tuple(seen) == METHODS
    assert seen["batch_ensemble"]["r"][2, 1] == 8.5
    assert seen["mean_field"]["samples"].shape == (3, 2, 5)
    assert {method: count.total for method, count in counts.items()} == {
        method: counting.layer(2, 5, method, **methods.size_option(method, 3)).total
        for method in METHODS
    }
