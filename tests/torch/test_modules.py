"""What every layer of every method promises as an ``nn.Module``, and where it may live."""

import copy
import io

import pytest
import torch

import ensedu.torch as et
from ensedu.torch.tensor_checks import check_device
from tests.backends import DEVICES, B, M, m, n

IMAGE = (m, 5, 7)
#: A layer as a function of its options, and the shape of an example.
LAYERS = {
    "DeepEnsembleLinear": (lambda **k: et.DeepEnsembleLinear(m, n, M, **k), (m,)),
    "BatchEnsembleLinear": (lambda **k: et.BatchEnsembleLinear(m, n, M, **k), (m,)),
    "Rank1Linear": (lambda **k: et.Rank1Linear(m, n, M, **k), (m,)),
    "MeanFieldLinear": (lambda **k: et.MeanFieldLinear(m, n, **k), (m,)),
    "DeepEnsembleConv2d": (lambda **k: et.DeepEnsembleConv2d(m, n, 3, M, **k), IMAGE),
    "BatchEnsembleConv2d": (lambda **k: et.BatchEnsembleConv2d(m, n, 3, M, **k), IMAGE),
    "Rank1Conv2d": (lambda **k: et.Rank1Conv2d(m, n, 3, M, **k), IMAGE),
    "MeanFieldConv2d": (lambda **k: et.MeanFieldConv2d(m, n, 3, **k), IMAGE),
}
DTYPES = [torch.float32, torch.float64, torch.bfloat16]
layers = pytest.mark.parametrize(("make", "example"), LAYERS.values(), ids=LAYERS)


@layers
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_layer_has_its_dtype_and_device_and_comes_back_from_a_file_and_a_copy(
    make, example, dtype, device
):
    layer, loaded = (make(dtype=dtype, device=device) for _ in range(2))
    file = io.BytesIO()
    torch.save(layer.state_dict(), file)
    file.seek(0)
    loaded.load_state_dict(torch.load(file, weights_only=True))
    x, outputs = torch.randn(B, *example, dtype=dtype, device=device), []
    for module in (layer, loaded, copy.deepcopy(layer)):
        torch.manual_seed(0)
        outputs.append(module(x))
    assert torch.equal(outputs[0], outputs[1]) and torch.equal(outputs[0], outputs[2])
    for tensor in (outputs[0], layer.weight_matrices()):
        assert (tensor.dtype, tensor.device.type) == (dtype, device)
    outputs[0].sum().backward()
    assert all(p.grad.dtype == dtype for p in layer.parameters())


@layers
def test_weight_matrices_are_the_callers_own_and_pass_gradients(make, example):
    layer = make()
    before = {name: p.detach().clone() for name, p in layer.named_parameters()}
    with torch.no_grad():
        layer.weight_matrices().zero_()
    for name, parameter in layer.named_parameters():
        assert torch.equal(parameter, before[name]), name
    layer.weight_matrices().sum().backward()
    weight = layer.weight_mean if hasattr(layer, "weight_mean") else layer.weight
    assert weight.grad.any()


@layers
def test_reset_draws_anew_from_where_torch_starts(make, example):
    layer, bound = make(), (m * 3 ** (2 if len(example) > 1 else 0)) ** -0.5
    before = {k: v.clone() for k, v in layer.named_parameters() if not k.endswith("rho")}
    layer.reset_parameters()
    for key, value in layer.named_parameters():
        assert key not in before or not torch.equal(before[key], value)
        if key in ("weight", "bias", "weight_mean", "bias_mean"):
            assert 0.8 * bound < value.abs().max() <= bound


@pytest.mark.bad_input
@pytest.mark.parametrize("device", ["cpu", "meta", torch.device("cpu"), None])
def test_what_is_there_is_taken(device):
    assert check_device(device) == (None if device is None else torch.device(device))


@pytest.mark.bad_input
@pytest.mark.parametrize("device", ["cuda:99", torch.device("mps:3"), "xla", "hpu", "gpu", 98, 2.5])
def test_what_is_not_there_is_named_with_what_is(device, monkeypatch):
    """Each kind of device has another error in Torch; the list is that of a machine with GPUs."""
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device("cuda"))
    monkeypatch.setattr(torch.accelerator, "device_count", lambda: 2)
    with pytest.raises(ValueError, match=r"device is .*, which Torch refuses: ") as raised:
        check_device(device)
    assert repr(device) in str(raised.value)
    assert str(raised.value).endswith("; accepted here are cpu, cuda:0, cuda:1, meta")
    assert len(str(raised.value)) < 400
