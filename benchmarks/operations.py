"""The smallest things that are timed: one operation on eight floats, and a chain of ten.

Arrays this small leave little but the cost of the library itself. wengert and PyTorch share one
API, so one definition serves both; likewise for autograd and NumPy, whose functions share their
names.
"""

from functools import partial

import numpy

from benchmarks.timing import Case, Make, Target

A = numpy.linspace(0.5, 1.5, 8, dtype=numpy.float32)
B = numpy.linspace(1.2, 0.8, 8, dtype=numpy.float32)
CHAIN_LENGTH = 10

RECORDING_TARGET = (Target("PyTorch", 0.6),)
CHAIN_TARGET = (Target("PyTorch", 0.45),)


def torch_style(torch, a, b, m, n):
    """The operations on tensors: a and b have shape (8,), m (2, 4) and n (4, 2)."""
    return {
        "add": lambda: a + b,
        "mul": lambda: a * b,
        "div": lambda: a / b,
        "matmul": lambda: m @ n,
        "sum": lambda: a.sum(),
        "mean": lambda: a.mean(),
        "exp": lambda: torch.exp(a),
        "log": lambda: torch.log(a),
        "tanh": lambda: torch.tanh(a),
        "relu": lambda: torch.relu(a),
        "getitem": lambda: a[2:6],
        "reshape": lambda: a.reshape(2, 4),
        "transpose": lambda: m.T,
    }


def numpy_style(np, a, b, m, n):
    """The same operations on arrays."""
    return {
        "add": lambda: a + b,
        "mul": lambda: a * b,
        "div": lambda: a / b,
        "matmul": lambda: m @ n,
        "sum": lambda: np.sum(a),
        "mean": lambda: np.mean(a),
        "exp": lambda: np.exp(a),
        "log": lambda: np.log(a),
        "tanh": lambda: np.tanh(a),
        "relu": lambda: np.maximum(a, 0),
        "getitem": lambda: a[2:6],
        "reshape": lambda: np.reshape(a, (2, 4)),
        "transpose": lambda: m.T,
    }


def operations(peer, module, recording):
    """Every operation of one peer, `{name: work}`; NumPy records nothing, and shows the floor."""
    arrays = A, B, A.reshape(2, 4), B.reshape(4, 2)
    match peer:
        case "NumPy":
            return numpy_style(numpy, *arrays)
        case "autograd":
            import autograd.numpy as anp
            from autograd.core import VJPNode
            from autograd.tracer import new_box

            if recording:  # a box is what autograd's own `grad` passes to the function
                arrays = [new_box(array, 0, VJPNode.new_root()) for array in arrays]
            return numpy_style(anp, *arrays)
        case _:
            tensors = [module.tensor(array, requires_grad=recording) for array in arrays]
            return torch_style(module, *tensors)


def operation_cases(modules) -> list[Case]:
    """One case for each operation, recording a gradient and not."""

    def maker(peer, recording, name) -> Make:
        return lambda: operations(peer, modules[peer], recording)[name]

    return [
        Case(
            section="One operation on 8 floats, " + ("recording" if recording else "not recording"),
            name=name,
            entrants={peer: maker(peer, recording, name) for peer in modules},
            targets=RECORDING_TARGET if recording else (),
        )
        for recording in (True, False)
        for name in numpy_style(*[None] * 5)
    ]


def torch_chain(torch):
    x = torch.tensor(A, requires_grad=True)
    w = torch.tensor(B, requires_grad=True)
    ones = torch.ones(8)

    def run():
        x.grad = w.grad = None
        y = x
        for _ in range(CHAIN_LENGTH):
            y = y * w
        y.backward(ones)
        return w.grad

    return run


def autograd_chain(autograd):
    ones = numpy.ones_like(A)

    def chain(x, w):
        y = x
        for _ in range(CHAIN_LENGTH):
            y = y * w
        return y

    gradients = autograd.make_vjp(chain, (0, 1))

    def run():
        pull, _ = gradients(A, B)
        _, w_grad = pull(ones)
        return w_grad

    return run


def numpy_chain(_):
    ones = numpy.ones_like(A)

    def run():
        y, factors = A, []
        for _ in range(CHAIN_LENGTH):
            factors.append(y)
            y = y * B
        y_grad, w_grad = ones, numpy.zeros_like(B)
        for factor in reversed(factors):
            w_grad += y_grad * factor
            y_grad = y_grad * B
        return w_grad

    return run


CHAINS = {
    "wengert": torch_chain,
    "PyTorch": torch_chain,
    "autograd": autograd_chain,
    "NumPy": numpy_chain,
}


def chain_case(modules) -> Case:
    return Case(
        section="A chain of ten multiplications of 8 floats",
        name="forward and backward",
        entrants={peer: partial(CHAINS[peer], module) for peer, module in modules.items()},
        targets=CHAIN_TARGET,
    )
