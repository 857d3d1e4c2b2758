"""The network shows its sizes and counts, and areas that are true to what its layers store."""

import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex

from ensedu import counting, plot
from ensedu.methods import METHODS
from ensedu.plot import style
from tests.errors import check_error
from tests.plot.looks import readable, repeats
from tests.plot.networks import INPUTS, LOOKS, SIZES, areas, members, network, nodes, words


def table(axes):
    """The texts of 11 points below all areas: the sums, without their results."""
    low = (areas(axes)[:, 1] + areas(axes)[:, 3]).max()
    return [text for text in axes.texts if text.get_size() == 11 and text.get_position()[1] > low]


def edges(axes):
    """The number of edges of each fan between two columns."""
    fans = [c for c in axes.collections if isinstance(c, LineCollection) and c.get_zorder() == 1]
    return [len(fan.get_segments()) for fan in fans if fan.get_linewidth()[0] < 2]


@pytest.mark.parametrize("sizes, method, number", INPUTS)
def test_networks_are_readable(sizes, method, number):
    readable(lambda: network(sizes, method, number, plot.look()).figure)


@LOOKS
# The last has room for its terms in a narrow figure while its layers are narrow.
@pytest.mark.parametrize(
    "method, number",
    [*((name, 4) for name in METHODS), ("deep_ensemble", 1000), ("batch_ensemble", 128)],
)
def test_another_width_moves_nothing(method, number, look):
    frames = [network([1, width, width, 1], method, number, look, widest=50) for width in (1, 50)]
    assert len({axes.figure.get_figheight() for axes in frames}) == 1
    kept = [
        {
            (text.get_text(), text.get_position())
            for text in axes.texts
            if text.get_text() in ("shared", "weights", "biases", "hidden", "output")
        }
        for axes in frames
    ]
    assert kept[0] and all(each == kept[0] for each in kept)
    totals = [[t.get_position() for t in a.texts if "total" in t.get_text()] for a in frames]
    assert totals[0] and all(each == totals[0] for each in totals)


@LOOKS
@pytest.mark.parametrize("method", METHODS)
def test_network_writes_the_counts(method, look):
    axes = network(SIZES, method, look=look)
    count = counting.mlp(SIZES, method, members(method, 4))
    assert [w for w in words(axes) if w.startswith("= ")] == [
        f"= {layer.total:,}" for layer in count.layers
    ]
    assert f"total {count.total:,}" in words(axes)
    assert [w for w in words(axes)[:4]] == ["1", "50", "50", "1"]


@LOOKS
@pytest.mark.parametrize("method", METHODS)
def test_terms_of_the_network_add_up(method, look):
    axes = network([2, 3, 5], method, 7, look)
    layers = counting.mlp([2, 3, 5], method, members(method, 7)).layers
    columns = {}
    for text in table(axes):
        entry = text.get_text().removeprefix("+").strip()
        if entry[0].isdigit():
            columns.setdefault(round(text.get_position()[0], 3), []).append(entry)
    sums = [
        sum(eval(term.replace("·", "*")) for term in columns[center]) for center in sorted(columns)
    ]
    assert sums == [layer.total for layer in layers]


def test_network_draws_every_node_and_edge_of_a_small_network():
    axes = network([2, 3, 4])
    assert len(nodes(axes)) == 2 + 3 + 4
    assert edges(axes) == [6, 12]


@LOOKS
def test_network_repeats_a_deep_ensemble_and_shares_a_batch_ensemble(look):
    deep = network([2, 3], "deep_ensemble", 3, look)
    batch = network([2, 3], "batch_ensemble", 3, look)
    assert [len(nodes(axes)) for axes in (deep, batch)] == [3 * 5, 5]
    assert [w for w in words(deep) if "member " in w] == ["member 1", "member 2", "member 3"]
    assert not [w for w in words(batch) if "member " in w]


@LOOKS
def test_network_repeats_the_outputs_of_a_last_layer_ensemble(look):
    axes = network([2, 5, 3], "last_layer", 4, look)
    own = plot.PALETTE["last_layer"]
    colors = [to_hex(node.get_facecolor()) for node in nodes(axes)]
    assert colors == [style.SHARED] * (2 + 5) + [own] * (4 * 3)
    # A narrow figure says once what the numbers are.
    names = ["member", "1", "2", "3", "4"] if look.narrow else [f"member {i}" for i in range(1, 5)]
    assert [t.get_text() for t in axes.texts if t.get_color() == own and t.get_size() == 11][
        : len(names)
    ] == sorted(names, key=lambda name: name == "member")
    fans = [c for c in axes.collections if isinstance(c, LineCollection) and c.get_zorder() == 1]
    assert edges(axes) == [2 * 5] + [5 * 3] * 4
    assert [to_hex(c.get_color()[0]) for c in fans] == [style.SHARED] + [own] * 4
    ends = {tuple(segment[-1]) for c in fans[1:] for segment in c.get_segments()}
    assert ends == {tuple(node.center) for node in nodes(axes)[-4 * 3 :]}
    # One member is one network: nothing is named.
    axes = network([2, 5, 3], "last_layer", 1, look)
    assert len(nodes(axes)) == 2 + 5 + 3
    assert not [w for w in words(axes) if w.startswith("member")]


@LOOKS
@pytest.mark.parametrize(
    "method, names",
    [
        ("single", ["weights", "biases"]),
        ("deep_ensemble", ["own", "biases"]),
        ("rank1", ["shared", "own", "standard deviations", "biases"]),
        ("mean_field", ["weights", "standard deviations", "biases"]),
        ("last_layer", ["shared", "own", "biases"]),
    ],
)
def test_network_names_the_rows_of_the_sum(method, names, look):
    axes = network([2, 3, 5], method, 7, look)
    rows = [t.get_text() for t in table(axes) if t.get_position()[0] == 0.1]
    assert [row.replace("\n", " ") for row in rows] == names


def test_the_first_term_of_a_layer_has_no_sign():
    axes = network([2, 3, 5], "last_layer", 7)
    assert {"2·3", "+ 3", "7·3·5", "+ 7·5"} <= set(words(axes))


@LOOKS
def test_network_elides_wide_layers_and_many_members(look):
    axes = network([1, 1000, 1], "deep_ensemble", 9, look)
    assert [w for w in words(axes) if "member " in w] == [f"member {i}" for i in (1, 2, 3, 9)]
    assert "⋮" in words(axes)
    assert "1,000" in words(axes)
    assert len(nodes(axes)) == 4 * (1 + 3 + 1)


def test_every_second_hidden_unit_is_dropped():
    axes = network([3, 5, 5, 3], "mc_dropout")
    hollow = [node.center for node in nodes(axes) if to_hex(node.get_facecolor()) == style.PAGE]
    assert len(hollow) == 2 * 2
    crosses = {(line.get_xdata()[0], line.get_ydata()[0]) for line in axes.lines if
               line.get_marker() == "x"}  # fmt: skip
    assert crosses == {tuple(center) for center in hollow}


def test_same_input_same_bytes():
    repeats(lambda: plot.network(SIZES, "rank1", 4))


BAD = [
    (lambda: plot.network([10**400, 1]), ValueError, ("sizes[0]", "2**63")),
    (lambda: plot.network([5]), ValueError, ("sizes", "at least two", "[5]")),
    (lambda: plot.network([5, 0]), ValueError, ("sizes[1]", "0")),
    (lambda: plot.network(7), TypeError, ("sizes", "7")),
    (lambda: plot.network([2] * 12), ValueError, ("sizes", "2 to 11", "12")),
    (lambda: plot.network([2, 3], "swag"), ValueError, ("method", "'swag'", "'rank1'")),
    (lambda: plot.network([2, 3], "rank1", 0), ValueError, ("ensemble_size", "0")),
    (lambda: plot.network([2, 3], "rank1"), TypeError, ("ensemble_size", "None")),
    (lambda: plot.network([2, 3], "mc_dropout", 2), ValueError, ("ensemble_size", "no members")),
    (lambda: plot.network([2, 7, 3], widest=5), ValueError, ("widest", "at least 7", "got 5")),
    (lambda: plot.network([2, 3], widest=0), ValueError, ("widest", "positive", "0")),
    (lambda: plot.network([2, 3], widest="50"), TypeError, ("widest", "'50'")),
]


@pytest.mark.bad_input
@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_input(case):
    check_error(*BAD[case])
