"""Recurrent layers: both ways of computing them agree, and bad input is told."""

import numpy as np
import pytest

import wengert as wg
from wengert.nn.functional import recurrent, scans
from wengert.nn.utils import rnn


@pytest.mark.crossed
@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU", "relu"])
@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("sizes", [[3, 2, 1], [2, 2, 2]], ids=["uneven", "even"])
@pytest.mark.parametrize("enough", [0, 1 << 40], ids=["machine code", "NumPy"])
def test_the_loops_on_arrays_compute_what_the_formulas_say(
    kind, backwards, sizes, enough, monkeypatch
):
    monkeypatch.setattr(scans, "ENOUGH", enough)
    net = wg.nn.RNN(3, 4, nonlinearity="relu") if kind == "relu" else getattr(wg.nn, kind)(3, 4)
    net = net.double()
    x = wg.randn(6, 3, dtype=wg.float64, requires_grad=True)
    states = tuple(
        wg.randn(sizes[0], 4, dtype=wg.float64, requires_grad=True)
        for _ in range(1 + (kind == "LSTM"))
    )
    weights = net._weights("_l0")
    found = []
    for way in (recurrent.layer, recurrent._composed):
        out, last = way(net.mode, x, states, weights, sizes, backwards)
        total = sum((t * t).sum() for t in (out, *last))
        found.append([out, *last, *wg.autograd.grad(total, [x, *states, *net.parameters()])])
    for a, b in zip(*found, strict=True):
        assert wg.allclose(a, b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_a_compiled_pass_equals_the_eager_one(kind):
    net = getattr(wg.nn, kind)(2, 3)
    x = wg.randn(4, 5, 2)

    def step(x):
        net.zero_grad()
        out, _ = net(x)
        loss = (out * out).sum()
        loss.backward()
        return loss

    eager = step(x)
    expected = [p.grad.clone() for p in net.parameters()]
    compiled = wg.compile(step)
    for _ in range(2):
        assert wg.allclose(compiled(x), eager)
        for p, g in zip(net.parameters(), expected, strict=True):
            assert wg.allclose(p.grad, g, atol=1e-5)


def test_a_batch_of_networks_by_vmap():
    nets = [wg.nn.GRU(2, 3) for _ in range(3)]
    parameters, _ = wg.func.stack_module_state(nets)
    x = wg.randn(4, 5, 2)
    run = lambda p: wg.func.functional_call(nets[0], p, (x,))[0]
    found = wg.vmap(run)(parameters)
    for net, out in zip(nets, found, strict=True):
        assert wg.allclose(net(x)[0], out, atol=1e-6)


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_tangents_are_pushed_through_the_formulas(kind):
    net = getattr(wg.nn, kind)(2, 3).double().requires_grad_(False)
    x, t = (wg.randn(4, 5, 2, dtype=wg.float64) for _ in range(2))
    run = lambda x: net(x)[0]
    _, pushed = wg.func.jvp(run, (x,), (t,))
    h = 1e-6
    assert wg.allclose(pushed, (run(x + h * t) - run(x - h * t)) / (2 * h), atol=1e-8)


def test_gradients_do_not_depend_on_how_often_the_graph_is_used():
    net = wg.nn.LSTM(2, 3)
    out, _ = net(wg.randn(4, 1, 2))
    first = wg.autograd.grad(out.sum(), list(net.parameters()), retain_graph=True)
    second = wg.autograd.grad(out.sum(), list(net.parameters()))
    for a, b in zip(first, second, strict=True):
        assert wg.equal(a, b)


def test_a_weight_overwritten_before_the_way_back_is_an_error():
    net = wg.nn.LSTM(2, 3)
    out, _ = net(wg.randn(4, 1, 2))
    with wg.no_grad():
        net.weight_hh_l0.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_half_precision_networks_run():
    net = wg.nn.GRU(2, 3).half()
    out, _ = net(wg.randn(4, 1, 2).half())
    assert out.dtype == wg.float16


def test_dropout_acts_between_layers_in_training_only():
    net = wg.nn.LSTM(2, 64, num_layers=2, dropout=0.9)
    x = wg.randn(3, 1, 2)
    assert not wg.equal(net(x)[0], net(x)[0])
    net.eval()
    assert wg.equal(net(x)[0], net(x)[0])
    with pytest.warns(UserWarning, match="expects num_layers greater than 1"):
        wg.nn.LSTM(2, 3, dropout=0.5)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: wg.nn.LSTM(2, 3)(wg.zeros(4, 1, 5)), RuntimeError, "Expected 2, got 5"),
        (lambda: wg.nn.LSTM(2, 3)(wg.zeros(4)), ValueError, "2D or 3D, got 1D"),
        (lambda: wg.nn.LSTM(2, 3)(wg.zeros(4, 1, 2).double()), ValueError, "input dtype"),
        (
            lambda: wg.nn.GRU(2, 3)(wg.zeros(4, 1, 2), wg.zeros(1, 2, 3)),
            RuntimeError,
            r"Expected hidden size \(1, 1, 3\), got \[1, 2, 3\]",
        ),
        (lambda: wg.nn.LSTM(2, 3)(wg.zeros(4, 1, 2), wg.zeros(1, 1, 3)), RuntimeError, "the pair"),
        (lambda: wg.nn.RNN(2, 3)(wg.zeros(0, 1, 2)), RuntimeError, "sequence length"),
        (lambda: wg.nn.LSTM(2, 0), ValueError, "hidden_size must be greater than zero"),
        (lambda: wg.nn.LSTM(2.5, 3), TypeError, "input_size should be of type int"),
        (lambda: wg.nn.LSTM(2, 3, proj_size=3), ValueError, "smaller than hidden_size"),
        (lambda: wg.nn.LSTM(2, 3, dropout=2), ValueError, "dropout should be a number"),
        (lambda: wg.nn.RNN(2, 3, nonlinearity="sin"), ValueError, "Unknown nonlinearity 'sin'"),
        (lambda: wg.nn.LSTMCell(2, 3)(wg.zeros(1, 4)), RuntimeError, "got 4, expected 2"),
        (
            lambda: rnn.pack_padded_sequence(wg.zeros(3, 2), [1, 2]),
            RuntimeError,
            "enforce_sorted=False",
        ),
        (lambda: rnn.pack_padded_sequence(wg.zeros(3, 2), [3, 0]), RuntimeError, "greater than 0"),
        (lambda: rnn.pack_padded_sequence(wg.zeros(3, 2), [4, 1]), RuntimeError, "at most 3"),
        (lambda: rnn.pack_padded_sequence(wg.zeros(3, 2), [3]), RuntimeError, "batch_size=2"),
    ],
)
def test_bad_input_is_told(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_packed_sequences_keep_their_history():
    x = wg.randn(3, 2, 1, requires_grad=True)
    packed = rnn.pack_padded_sequence(x, [3, 2])
    padded, _ = rnn.pad_packed_sequence(packed)
    padded.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy()[..., 0], [[1, 1], [1, 1], [1, 0]])
