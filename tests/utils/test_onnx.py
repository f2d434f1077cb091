"""ONNX files of compiled forward passes: what onnxruntime computes of them; what is refused."""

import io

import numpy as np
import pytest

import wengert as wg
from tests.utils.test_tensorboard import fields
from wengert import nn
from wengert.errors import TracingError

wg.manual_seed(0)

NETS = {
    "perceptron": (
        nn.Sequential(
            nn.Linear(8, 16), nn.ReLU(), nn.LayerNorm(16), nn.Linear(16, 16), nn.GELU(),
            nn.Dropout(0.1), nn.Linear(16, 4), nn.Softmax(-1),
        ),
        wg.randn(5, 8),
    ),
    "convolutions": (
        nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(4, 8, 3, stride=2), nn.SiLU(), nn.Flatten(), nn.Linear(8, 3),
            nn.LogSoftmax(-1),
        ),
        wg.randn(2, 1, 8, 8),
    ),
    "a pool whose last windows end outside": (
        nn.MaxPool2d(3, stride=2, padding=1, ceil_mode=True), wg.randn(1, 2, 6, 7)
    ),
    "attention": (
        nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, norm_first=True),
        wg.randn(2, 5, 16),
    ),
    "rows of a table": (nn.Sequential(nn.Embedding(10, 8), nn.Linear(8, 2)), wg.tensor([[1, 9]])),
    "softplus": (nn.Sequential(nn.Softplus(), nn.ELU()), wg.randn(7)),
}  # fmt: skip

FUNCTIONS = {
    "slices": lambda x: x[1:, ::-1] + x[:-1, None, :].sum(1),
    "comparisons": lambda x: wg.where((x > 0) & (x != 1), x, -(x**2)) * (x <= 0.5),
    "reductions": lambda x: (x.amax(0) - x.mean(0), (x > 0).any(1), x.prod()),
    "numbers of several dtypes": lambda x: (x.to(wg.int64) + 1, x.double() * 2, wg.ones(3)),
    "joined": lambda x: wg.cat([x, x.T.reshape(3, 4)]).expand(2, 6, 4),
    "bits": lambda x: (x.to(wg.int32) & 3) | ~x.to(wg.int32) ^ 1,
    "functions": lambda x: wg.logaddexp(x.sin().exp(), x.abs().log1p()).expm1().sqrt(),
}


def exported(f, x, **options):
    file = io.BytesIO()
    wg.onnx.export(f.eval() if isinstance(f, nn.Module) else f, (x,), file, **options)
    return file.getvalue()


def cases():
    x = wg.randn(3, 4)
    return NETS | {name: (f, x) for name, f in FUNCTIONS.items()}


@pytest.mark.parametrize("name", cases())
def test_onnxruntime_computes_what_the_function_does(name):
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    f, x = cases()[name]
    session = runtime.InferenceSession(exported(f, x), providers=["CPUExecutionProvider"])
    (given,) = session.get_inputs()
    found = session.run(None, {given.name: x.numpy()})
    with wg.no_grad():
        wanted = f(x)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == other.numpy().dtype
        np.testing.assert_allclose(one, other.detach().numpy(), rtol=2e-5, atol=2e-6)


def test_a_file_names_its_operators_weights_and_ends():
    net = nn.Sequential(nn.Linear(2, 3), nn.Tanh())
    data = exported(net, wg.ones(4, 2), input_names=["x"], output_names=["y"])
    model = fields(data)
    graph = fields(model[7][0])
    assert fields(model[8][0])[2] == [18]
    operators = [fields(node)[4][0].decode() for node in graph[1]]
    assert operators == ["Transpose", "MatMul", "Add", "Tanh", "Identity"]
    assert [fields(x)[1][0] for x in (*graph[11], *graph[12])] == [b"x", b"y"]
    weight = next(t for t in map(fields, graph[5]) if t[1] == [3, 2])
    assert weight[9][0] == net[0].weight.detach().numpy().tobytes()


def test_what_onnx_cannot_say_is_refused():
    x = wg.rand(3, 3) + wg.eye(3)
    with pytest.raises(TracingError, match=r"no operator for np\.linalg|called in Python"):
        exported(wg.linalg.inv, x)
    with pytest.raises(TypeError, match="no complex64"):
        exported(lambda x: x * 2, x.to(wg.complex64))
    net = nn.BatchNorm1d(3)
    with pytest.raises(TracingError, match=r"changes something around it.*eval"):
        wg.onnx.export(net, (x,), io.BytesIO())
    with pytest.raises(ValueError, match="output_names has 2 names, but there are 1: result"):
        exported(lambda x: x + 1, x, output_names=["a", "b"])


def test_a_file_is_written_whole(tmp_path):
    wg.onnx.export(nn.Linear(2, 1), wg.ones(3, 2), tmp_path / "net.onnx")
    assert [path.name for path in tmp_path.iterdir()] == ["net.onnx"]
