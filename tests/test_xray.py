"""The object that `xray` returns: its counts are those of converted models; bad input by name."""

import base64
import importlib
import subprocess
import sys
import warnings

import pytest
import torch
from torch import nn

from ensedu import command, counting, xray
from ensedu.methods import METHODS, ROLES
from ensedu.torch import models
from ensedu.torch.ensembling.conversions import convert
from ensedu.torch.ensembling.model_copies import meta_copy
from ensedu.xray import picture
from tests.errors import check_error
from tests.torch.ensembling.models import MODELS as TABLE

NUMBERS = (*ROLES, "frozen")


class Matrices(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = (nn.Parameter(torch.ones(5, n)) for n in (7, 3))
        self.norm, self.last = nn.LayerNorm(7), nn.Linear(7, 2)


def half_frozen():
    model = nn.Sequential(nn.Linear(5, 7), nn.BatchNorm1d(7), nn.Linear(7, 3))
    model[0].weight.requires_grad_(False)
    model[1].bias.requires_grad_(False)
    return model


MODELS = {
    "a layer": (lambda: nn.Linear(5, 7), {}),
    "LeNet-5": (models.lenet5, {}),
    "partly frozen": (half_frozen, {}),
    "own matrices": (Matrices, {}),
    "own matrices, shared": (Matrices, {"shared": ["second", "last.bias"], "modulated": ["first"]}),
    "a named head": (models.lenet5, {"head": "7"}),
    "recurrent": (lambda: nn.LSTM(5, 7, 2, proj_size=3), {}),
    "no product": (lambda: nn.LayerNorm(5), {}),
    **{
        name: (entry.model, {"shared": entry.shared, "modulated": entry.modulated})
        for name, entry in TABLE.items()
    },
}


@pytest.mark.parametrize("name", MODELS)
def test_models_count_as_their_arrays(name):
    build, given = MODELS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = build()
        picture = xray(model, 5, **given)
        assert picture.counts.keys() | picture.refused.keys() == METHODS.keys()
        head = next((layer.name for layer in picture.layers if layer.head), None)
        for method, count in picture.counts.items():
            net = convert(meta_copy(model), method, 5, **{"head": head} | given)
            real = counting.count(net)
            assert count == counting.Count(**{key: getattr(real, key) for key in NUMBERS})


def test_it_shows_itself_and_saves_one_file(tmp_path):
    found = xray(models.lenet5(), 3, name="<digits>")
    assert found.save(tmp_path / "x.html").read_text(encoding="utf-8") == found.html()
    assert "<digits>" not in found.html().partition("<script")[0]
    shown = found._repr_html_()
    assert shown.startswith("<iframe") and shown.count("<") == 2
    assert repr(found) == "XRay('<digits>': 61,706 parameters in 5 layers)"
    assert [layer.kind for layer in found.layers] == ["Conv2d"] * 2 + ["Linear"] * 3


def test_the_module_is_the_function_however_it_is_imported():
    assert xray is importlib.import_module("ensedu.xray")
    assert xray("3-2").counts == picture.xray([3, 2]).counts


def test_sizes_need_no_torch(tmp_path):
    code = (
        "import sys; from ensedu import xray; xray('1-5-1').html(); print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_values_of_the_model_are_on_the_page():
    model = nn.Linear(3, 2)
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, -6.0]]))
    values = xray(model).data()["values"]["weight"]
    assert values["corner"] == [[1, 4], [2, 5], [3, -6]]
    levels = [148, 212, 169, 233, 190, 0]  # 127 is 0, and 0 is the largest below it
    assert (values["rows"], list(base64.b64decode(values["bins"]))) == (3, levels)


def test_ten_thousand_layers_have_room():
    assert len(xray([3] * 10_001).html()) < 300_000


def test_an_embedding_is_a_table_and_layers_have_public_names():
    found = xray(nn.Sequential(nn.Embedding(7, 6), nn.TransformerEncoderLayer(6, 2, 5)))
    kinds = [layer.kind for layer in found.layers]
    assert kinds[:3] == ["Embedding", "MultiheadAttention", "Linear"]
    table = found.data()["shapes"][0]["table"]
    assert (table["m"], table["n"], table["size"]) == (7, 6, 42)
    assert found.data()["values"]["0.weight"]["rows"] == 7


def broken():
    raise RuntimeError("no luck")


class Own(nn.Module):
    def __init__(self):
        super().__init__()
        self.matrix, self.last = nn.Parameter(torch.ones(5, 7)), nn.Linear(7, 2)


def test_the_command_writes_a_page(tmp_path, capsys):
    """Also of a model that some methods refuse: it is shown, with their reasons."""
    path = tmp_path / "x.html"
    assert command.main(["xray", "1-50-50-1", "--output", str(path)]) == 0
    assert capsys.readouterr().out == f"{path}: XRay('1-50-50-1': 2,701 parameters in 3 layers)\n"
    own = f"{__name__}:Own"
    assert command.main(["xray", own, "--ensemble-size", "3", "--output", str(path)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "without BatchEnsemble, rank-1 BNN, mean-field BNN: model has matrices" in said
    assert '"ensemble_size":3' in path.read_text(encoding="utf-8")


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nowhere:net",), ["no module 'nowhere'"]),
        ((f"{__name__}:nothing",), ["has no 'nothing'"]),
        ((f"{__name__}:broken",), ["broken() raised RuntimeError: no luck", "in broken"]),
        (("1-0-1",), ["model[1]", "positive integer", "0 (int)"]),
        (("1-5-1", "--head", "a"), ["--head", "torch.nn.Module"]),
        (("1-5-1", "--ensemble-size", "65"), ["--ensemble-size", "1 to 64", "65"]),
        (("1-5-1", "--output", "/nowhere/x.html"), ["--output", "/nowhere/x.html"]),
        ((f"{__name__}:Own", "--shared", "b"), ["--shared", "'b'", "matrix"]),
        ((f"{__name__}:Own", "--head", "b"), ["--head", "'b'", "last"]),
    ],
)
def test_the_command_says_what_is_wrong(arguments, said, capsys):
    with pytest.raises(SystemExit) as ended:
        command.main(["xray", *arguments])
    assert ended.value.code == 2
    words = capsys.readouterr().err
    assert all(part in words for part in said)


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("call", "error", "expected"),
    [
        (lambda: xray(3), TypeError, ["model", "'1-50-50-1'", "3 (int)"]),
        (lambda: xray("1-x"), TypeError, ["model", "'1-x'"]),
        (lambda: xray("3-2", shared=["a"]), ValueError, ["shared", "'a'"]),
        (lambda: xray("3-2", curves=[1]), TypeError, ["curves", "'x'"]),
        (lambda: xray("3-2", curves={"x": [1], "deep": [[1]]}), ValueError, ["curves", "'deep'"]),
        (
            lambda: xray("3-2", curves={"x": [1], "rank1": [[1, 2]]}),
            ValueError,
            ["curves['rank1']", "1 numbers"],
        ),
    ],
)
def test_bad_input(call, error, expected):
    check_error(call, error, expected)
