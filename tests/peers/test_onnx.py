"""Every layer and network as an ONNX graph, run by onnxruntime (`make test-others`)."""

import importlib

import numpy as np
import pytest
import torch

pytest.importorskip("onnxscript", reason="onnxscript is absent: run `make test-others`")
runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is absent: run `make test-others`")

compilers = importlib.import_module("tests.torch.test_compilers")

# Torch's exporter and the packages below it warn about themselves.
pytestmark = pytest.mark.filterwarnings("ignore")


def converted(net, x, noise, shapes):
    """Return the graph as a function of x and of the noise, in the order of their inputs."""
    program = torch.onnx.export(
        net, (x,), kwargs=noise or None, dynamic_shapes=shapes, dynamo=True, verbose=False
    )
    session = runtime.InferenceSession(program.model_proto.SerializeToString())
    names = [entry.name for entry in session.get_inputs()]

    def run(x, noise):
        values = [x, *noise.get("noise", {}).values()]
        given = {k: v.numpy() for k, v in zip(names, values, strict=True)}
        return session.run(None, given)[0]

    return run


@pytest.mark.parametrize("name", compilers.CASES)
def test_onnx_graph_of_any_batch(name):
    torch.manual_seed(0)
    case = compilers.CASES[name]
    net = case.make()
    x = case.batch(4)
    run = converted(net, x, compilers.noise_for(net, x), compilers.dynamic(case, net))
    for B in (1, *compilers.BATCHES):
        x = case.batch(B)
        noise = compilers.noise_for(net, x)
        expected = net(x, **noise).detach().numpy()
        np.testing.assert_allclose(run(x, noise), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["Rank1Linear, per_example", "mlp, mc_dropout"])
def test_onnx_graph_without_noise_draws_at_each_run(name):
    case = compilers.CASES[name]
    net = case.make()
    shapes = {"x": {len(case.leading): torch.export.Dim("batch")}}
    run = converted(net, case.batch(4), {}, shapes)
    x = case.batch(7)
    first = run(x, {})
    assert first.shape == net(x).shape
    # Two masks of so few units may be the same.
    assert not all(np.array_equal(first, run(x, {})) for _ in range(20))


@pytest.mark.parametrize("limit", [limit for limit in compilers.LIMITS if "onnx" in limit[1]])
def test_limits_of_onnx_hold(limit):
    compilers.test_limits_hold(limit)


def test_the_page_s_example_runs():
    space = {}
    for block in compilers.blocks():
        exec(block, space)
    program, x, noise = space["program"], space["x"], space["noise"]
    session = runtime.InferenceSession(program.model_proto.SerializeToString())
    values = zip(session.get_inputs(), [x, *noise.values()], strict=True)
    y = session.run(None, {entry.name: value.numpy() for entry, value in values})[0]
    expected = space["rank1"](x, noise).detach().numpy()
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-5)
