"""What *Deep ensembles* draws is what it is given, and it says how much an average leaves."""

import itertools

import numpy as np

from ensedu import plot
from ensedu.book.experiments.averaging import ByStart
from ensedu.book.figures.deep_ensemble import STARTS, Average, Matrices
from tests.plot.looks import LIGHT, drawn, texts

X = np.linspace(-4.6, 4.6, 31)
DIFFERENT = np.stack([np.sin(X) + shift for shift in (-0.5, -0.1, 0.1, 0.3)])
TRAINED = ByStart(
    X, np.sin(X), (np.array([-2.0, 3.0]), np.array([0.5, -0.7])), {},
    {"different": DIFFERENT, "same": np.repeat(DIFFERENT[:1], 4, axis=0)},
)  # fmt: skip
AVERAGE = Average(TRAINED, {1: 0.21, 2: 0.14, 4: 0.1})
RNG = np.random.default_rng(0)
MATRICES = Matrices({(M, h): RNG.uniform(-0.5, 0.5, (M, h, h)) for M in (1, 3) for h in (2, 5)})


def holds(figure, values, color=None):
    """Whether one of the lines has these heights, and this color."""
    return any(
        len(line.get_ydata()) == len(values)
        and np.allclose(line.get_ydata(), values)
        and (color is None or line.get_color() == color)
        for axes in figure.axes
        for line in axes.lines
    )


def test_an_average_is_drawn_with_its_own_members_alone():
    for size, starts in itertools.product(*AVERAGE.choices.values()):
        figure = drawn(lambda size=size, starts=starts: AVERAGE.draw(size, starts), LIGHT[0])
        own = TRAINED.curves[STARTS[starts]][:size]
        assert holds(figure, own.mean(axis=0), plot.PALETTE["deep_ensemble"])
        shown = [holds(figure, curve) for curve in DIFFERENT]
        if starts == "different" and size > 1:
            assert shown == [i < size for i in range(4)]
    for size, starts, name in (
        (4, "different", "members"),
        (4, "all the same", "4 members,\none curve"),
        (1, "different", "one member"),
        (1, "all the same", "one member"),
    ):
        figure = drawn(lambda size=size, starts=starts: AVERAGE.draw(size, starts), LIGHT[0])
        (word,) = [text for text in texts(figure) if "member" in text.get_text()]
        assert word.get_text() == name
        place = np.abs(X - word.xy[0]).argmin()
        lowest = TRAINED.curves[STARTS[starts]][:size, place].min()
        assert word.xy == (X[place], lowest)
        assert ("mean" in [text.get_text() for text in texts(figure)]) == (size > 1)


def test_an_average_says_what_it_leaves():
    assert AVERAGE.choices == {"ensemble_size": [1, 2, 4], "starts": ["different", "all the same"]}
    for starts in STARTS:
        assert AVERAGE.say(1, starts) == "One member. Its mean squared error in the gap is 0.210."
    assert AVERAGE.say(4, "different") == (
        "In the gap, the average of 4 members has a squared error of 0.100, one member 0.210."
    )
    assert "all members stay one curve" in AVERAGE.say(4, "all the same")


def test_matrices_are_those_of_the_size_and_the_width():
    assert MATRICES.choices == {"ensemble_size": [1, 3], "width": [2, 5]}
    for size, width in MATRICES.weights:
        figure = drawn(lambda size=size, width=width: MATRICES.draw(size, width), LIGHT[0])
        drawings = [
            np.ravel(artist.get_array())
            for axes in figure.axes
            for artist in (*axes.images, *axes.collections)
            if artist.get_array() is not None
        ]
        for matrix in MATRICES.weights[size, width]:
            assert any(
                one.size == matrix.size and np.allclose(one, matrix.ravel()) for one in drawings
            )
    assert MATRICES.say(1, 5) == "One member is one network: one matrix of 25 weights."
    assert MATRICES.say(3, 5) == "3 members store 75 weights, and share none of them."
