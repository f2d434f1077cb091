"""`torch.onnx`: compiled forward passes as ONNX files, for runtimes without Python.

A program is a list of NumPy calls, and most of them are an operator of ONNX: `OPERATORS` says
which. The file is written without the package `onnx`. What a function finds around it, such as
weights, is part of it, as it is now.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from wengert.compile.call.exports import Alone, Named
from wengert.compile.call.function import CompiledFunction
from wengert.compile.call.function import compile as compiled
from wengert.compile.program import operations
from wengert.compile.program.program import Program, Statement, Value
from wengert.errors import TracingError
from wengert.history.files import whole
from wengert.history.modes import no_grad
from wengert.imports import lacking as _lacking
from wengert.rules import convolution as windows
from wengert.utils.protobuf import bytes_field, integer

OPSET, IR = 18, 9
"""Versions of the operators and of the format: those of ONNX 1.13."""

DTYPES = {
    name: number
    for number, name in enumerate(
        ["float32", "uint8", "int8", "uint16", "int16", "int32", "int64", "", "bool", "float16",
         "float64", "uint32", "uint64", "", "", "bfloat16"], 1
    ) if name
}  # fmt: skip
"""The numbers of dtypes; of complex numbers runtimes know nothing."""


def is_in_onnx_export() -> bool:
    """Whether PyTorch's exporter is at work: never, since functions here are compiled instead."""
    return False


def export(
    model: Any,
    args: Any,
    f: Any,
    *,
    input_names: Iterable[str] = (),
    output_names: Iterable[str] = (),
) -> None:
    """Write what a module or function computes of such arguments as an ONNX file.

    Arguments are tensors, arrays and numbers; their shapes are fixed in the file, and so are flags
    and other Python values. Checks of indices are left out.

    Errors: TracingError for a function that ONNX has no operator for, or that changes something
    around it; TypeError for a dtype that it does not have.

    >>> import tempfile, os, wengert as wg
    >>> path = os.path.join(tempfile.mkdtemp(), "net.onnx")
    >>> wg.onnx.export(wg.nn.Linear(2, 1), (wg.ones(3, 2),), path, input_names=["x"])
    """
    call = model if isinstance(model, CompiledFunction) else compiled(model)
    with no_grad():
        call(*(args if isinstance(args, tuple) else (args,)))
    name = getattr(call.function, "__name__", type(call.function).__name__)
    data = Graph(Alone(call._latest(), name), input_names, output_names).model()
    if hasattr(f, "write"):
        f.write(data)
        return
    with whole(Path(os.fspath(f))) as part:
        part.write_bytes(data)


class Graph:
    """Nodes, and the constants that they read, of one program."""

    def __init__(self, alone: Alone, inputs: Iterable[str], outputs: Iterable[str]) -> None:
        if alone.kept or alone.program.updates:
            raise TracingError(
                f"{alone.name} changes something around it, which an ONNX file cannot: export the "
                "forward pass alone, of a module in evaluation mode (model.eval())"
            )
        self.name, self.nodes, self.constants = alone.name, bytearray(), bytearray()
        self.count = 0
        self.names: dict[Value, str] = {}
        arguments = _renamed(alone.arguments, inputs, "input_names")
        results = _renamed(alone.results, outputs, "output_names")
        for known in (*arguments, *alone.data.values()):
            self.names[known.value] = known.name
        for value, known in alone.data.items():
            self.constants += bytes_field(5, _tensor(alone.array(value), known.name))
        for value, array in alone.program.constants.items():
            self.names[value] = self.constant(array)
        for statement in _needed(alone.program):
            self.write(statement)
        for result in results:  # under a name of its own: two results may be one value
            self.node("Identity", [self.names[result.value]], result.name)
        self.inputs = b"".join(bytes_field(11, _described(x)) for x in arguments)
        self.outputs = b"".join(bytes_field(12, _described(x)) for x in results)

    def model(self) -> bytes:
        """The file."""
        graph = bytes(self.nodes) + bytes_field(2, self.name) + bytes(self.constants)
        operators = bytes_field(1, "") + integer(2, OPSET)
        return (
            integer(1, IR) + bytes_field(2, "wengert")
            + bytes_field(7, graph + self.inputs + self.outputs) + bytes_field(8, operators)
        )  # fmt: skip

    # ---- values ---------------------------------------------------------------------------------

    def fresh(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def constant(self, array: Any) -> str:
        """The name of an array that is in the file."""
        name = self.fresh()
        self.constants += bytes_field(5, _tensor(np.asarray(array), name))
        return name

    def node(self, operator: str, inputs: list[str], out: str = "", **attributes: Any) -> str:
        """Add a node; the name of its result."""
        out = out or self.fresh()
        written = [bytes_field(1, x) for x in inputs] + [bytes_field(2, out)]
        written += [bytes_field(4, operator), *(_attribute(k, v) for k, v in attributes.items())]
        self.nodes += bytes_field(1, b"".join(written))
        return out

    def of(self, item: Any, dtype: Any = None) -> str:
        """The name of an operand, in a dtype."""
        if not isinstance(item, Value):
            return self.constant(np.asarray(item, dtype))
        name = self.names[item]
        return name if dtype is None or item.dtype == dtype else self.cast(name, dtype)

    def cast(self, name: str, dtype: Any) -> str:
        return self.node("Cast", [name], to=_number(np.dtype(dtype)))

    # ---- statements -----------------------------------------------------------------------------

    def write(self, s: Statement) -> None:
        """Add the nodes of a statement."""
        writer = OPERATORS.get(s.function)
        if writer is None:
            raise TracingError(
                f"ONNX has no operator for {s.name}, called at\n{s.line()}\nWrite it in terms of "
                "others, or compute it outside."
            )
        self.names[s.output] = writer(self, s)


# ---- operators ----------------------------------------------------------------------------------
#
# Each is a function from a graph and a statement to the name of the result.

Writer = Callable[[Graph, Statement], str]


def _same(operator: str) -> Writer:
    """An operator on operands of the result's dtype."""
    return lambda g, s: g.node(operator, [g.of(x, s.output.dtype) for x in s.args])


def _compared(operator: str, negated: bool = False) -> Writer:
    """An operator whose result is true or false, on operands of their common dtype."""

    def write(g: Graph, s: Statement) -> str:
        dtype = np.result_type(*[x.dtype for x in s.args if isinstance(x, Value) and not x.weak])
        compared = g.node(operator, [g.of(x, dtype) for x in s.args])
        return g.node("Not", [compared]) if negated else compared

    return write


def _logical(operator: str, bits: str = "") -> Writer:
    """An operator on truth values, and its form for the bits of integers."""

    def write(g: Graph, s: Statement) -> str:
        truth = not bits or s.output.dtype == bool
        operands = [g.of(x, bool if truth else s.output.dtype) for x in s.args]
        return g.node(operator if truth else bits, operands)

    return write


def _composed(formula: Callable[..., str]) -> Writer:
    """A few operators, on operands of the result's dtype."""

    def write(g: Graph, s: Statement) -> str:
        return formula(g, *(g.of(x, s.output.dtype) for x in s.args))

    return write


def _one(g: Graph, like: str) -> str:
    return g.node("CastLike", [g.constant(np.float32(1)), like])


def _logaddexp(g: Graph, a: str, b: str) -> str:
    away = g.node("Exp", [g.node("Neg", [g.node("Abs", [g.node("Sub", [a, b])])])])
    return g.node("Add", [g.node("Max", [a, b]), _log1p(g, away)])


def _log1p(g: Graph, x: str) -> str:
    return g.node("Log", [g.node("Add", [x, _one(g, x)])])


def _reduced(operator: str) -> Writer:
    def write(g: Graph, s: Statement) -> str:
        x, axis = s.args[0], s.kwargs.get("axis")
        axes = range(len(x.shape)) if axis is None else np.atleast_1d(axis)
        of = g.constant(np.array(list(axes), np.int64))
        truth = s.output.dtype == bool  # all and any: the least and the greatest
        operand = g.of(x, np.int32 if truth else s.output.dtype)
        keeps = int(bool(s.kwargs.get("keepdims")))
        reduced = g.node(operator, [operand, of], keepdims=keeps)
        return g.cast(reduced, bool) if truth else reduced

    return write


def _shape(operator: str) -> Writer:
    """An operator that is told the result's shape."""

    def write(g: Graph, s: Statement) -> str:
        shape = g.constant(np.array(s.output.shape, np.int64))
        return g.node(operator, [g.of(s.args[0], s.output.dtype), shape])

    return write


def _transpose(g: Graph, s: Statement) -> str:
    x, *rest = s.args
    axes = rest[0] if rest else s.kwargs.get("axes")
    n = len(x.shape)
    axes = range(n)[::-1] if axes is None else [a % n for a in axes]
    return g.node("Transpose", [g.of(x)], perm=list(axes))


def _view(g: Graph, s: Statement) -> str:
    x, index = s.args[:2]
    slices = [
        part for part in (index if isinstance(index, tuple) else (index,)) if part is not None
    ]
    if any(type(part) is not slice for part in slices):
        raise TracingError(f"ONNX export knows slices here, not {index!r}, at\n{s.line()}")
    cuts = []
    for axis, (part, n) in enumerate(zip(slices, x.shape, strict=False)):
        start, stop, step = part.indices(n)
        if (start, stop, step) != (0, n, 1):
            cuts.append((start, stop if stop >= 0 else np.iinfo(np.int64).min, axis, step))
    name = g.of(x)
    if cuts:
        columns = [g.constant(np.array(c, np.int64)) for c in zip(*cuts, strict=True)]
        name = g.node("Slice", [name, *columns])
    return g.node("Reshape", [name, g.constant(np.array(s.output.shape, np.int64))])


def _take(g: Graph, s: Statement) -> str:
    x, index = s.args[:2]
    parts = index if isinstance(index, tuple) else (index,)
    arrays = [k for k, part in enumerate(parts) if type(part) is not slice]
    pairs = list(zip(parts, x.shape, strict=False))
    cut = [s for s, n in pairs if type(s) is slice and s.indices(n) != (0, n, 1)]
    if len(arrays) != 1 or cut:
        raise TracingError(f"ONNX has no operator for this index:\n{s.line()}")
    return g.node("Gather", [g.of(x), g.of(parts[arrays[0]], np.int64)], axis=arrays[0])


def _full(g: Graph, s: Statement) -> str:
    return g.constant(np.full(s.output.shape, s.args[1], s.output.dtype))


def _astype(g: Graph, s: Statement) -> str:
    return g.cast(g.of(s.args[0]), s.output.dtype)


def _where(g: Graph, s: Statement) -> str:
    condition, *values = s.args
    return g.node("Where", [g.of(condition, bool), *(g.of(x, s.output.dtype) for x in values)])


def _concatenate(g: Graph, s: Statement) -> str:
    parts, *rest = s.args
    axis = rest[0] if rest else s.kwargs.get("axis", 0)
    return g.node("Concat", [g.of(x, s.output.dtype) for x in parts], axis=int(axis))


def _convolution(g: Graph, s: Statement) -> str:
    x, weight, (stride, padding, dilation, groups), *more = s.args
    bias = more[0] if more else s.kwargs.get("bias")
    operands = [x, weight] if bias is None else [x, weight, bias]
    return g.node(
        "Conv", [g.of(x, s.output.dtype) for x in operands],
        kernel_shape=list(weight.shape[2:]), strides=list(stride), pads=[*padding, *padding],
        dilations=list(dilation), group=int(groups),
    )  # fmt: skip


def _max_pool(g: Graph, s: Statement) -> str:
    x, (kernel, stride, padding, dilation, out) = s.args
    told = zip(x.shape[2:], kernel, stride, padding, dilation, out, strict=True)
    # Windows that begin inside and end outside are asked for by more padding at the end.
    ends = [d * (k - 1) + 1 + t * (m - 1) - n - p for n, k, t, p, d, m in told]
    return g.node(
        "MaxPool", [g.of(x)], kernel_shape=list(kernel), strides=list(stride),
        pads=[*padding, *(max(0, e) for e in ends)], dilations=list(dilation),
    )  # fmt: skip


OPERATORS: dict[Any, Writer] = {
    **{f: _same(name) for f, name in {
        np.add: "Add", np.subtract: "Sub", np.multiply: "Mul", np.divide: "Div", np.power: "Pow",
        np.maximum: "Max", np.minimum: "Min", np.negative: "Neg", np.exp: "Exp", np.log: "Log",
        np.sqrt: "Sqrt", np.tanh: "Tanh", np.sin: "Sin", np.cos: "Cos", np.tan: "Tan",
        np.arcsin: "Asin", np.arccos: "Acos", np.arctan: "Atan", np.sinh: "Sinh", np.cosh: "Cosh",
        np.arcsinh: "Asinh", np.arccosh: "Acosh", np.arctanh: "Atanh", np.absolute: "Abs",
        np.sign: "Sign", np.floor: "Floor", np.ceil: "Ceil", np.rint: "Round",
        np.reciprocal: "Reciprocal", operations.erf: "Erf", np.matmul: "MatMul",
    }.items()},
    **{f: _compared(name) for f, name in {
        np.greater: "Greater", np.less: "Less", np.equal: "Equal", np.isnan: "IsNaN",
        np.greater_equal: "GreaterOrEqual", np.less_equal: "LessOrEqual", np.isinf: "IsInf",
    }.items()},
    **{f: _logical(*names) for f, names in {
        np.logical_and: ["And"], np.logical_or: ["Or"], np.logical_xor: ["Xor"],
        np.logical_not: ["Not"], np.invert: ["Not", "BitwiseNot"],
        np.bitwise_and: ["And", "BitwiseAnd"], np.bitwise_or: ["Or", "BitwiseOr"],
        np.bitwise_xor: ["Xor", "BitwiseXor"],
    }.items()},
    np.not_equal: _compared("Equal", negated=True),
    np.square: _composed(lambda g, x: g.node("Mul", [x, x])),
    np.log1p: _composed(_log1p),  # ONNX has none of these, and digits are lost near 0
    np.expm1: _composed(lambda g, x: g.node("Sub", [g.node("Exp", [x]), _one(g, x)])),
    np.logaddexp: _composed(_logaddexp),
    **{f: _reduced(name) for f, name in {
        np.sum: "ReduceSum", np.max: "ReduceMax", np.min: "ReduceMin", np.prod: "ReduceProd",
        np.mean: "ReduceMean", np.all: "ReduceMin", np.any: "ReduceMax",
    }.items()},
    np.reshape: _shape("Reshape"),
    np.broadcast_to: _shape("Expand"),
    np.transpose: _transpose,
    np.where: _where,
    np.concatenate: _concatenate,
    operations.view: _view,
    operations.take: _take,
    operations.full: _full,
    operations.astype: _astype,
    windows.convolution: _convolution,
    windows.max_pool: _max_pool,
}  # fmt: skip


# ---- what the file holds ------------------------------------------------------------------------


def _needed(program: Program) -> list[Statement]:
    """The statements that results are made of: checks, and what only they ask for, are none."""
    wanted, needed = set(program.outputs), []
    for s in reversed(program.statements):
        if wanted.intersection(s.outputs):
            wanted.update(s.inputs)
            needed.append(s)
    return needed[::-1]


def _renamed(known: list[Named], names: Iterable[str], what: str) -> list[Named]:
    given = list(names)
    if given and len(given) != len(known):
        raise ValueError(
            f"{what} has {len(given)} names, but there are {len(known)}: "
            f"{', '.join(x.name for x in known)}"
        )
    return [Named(n, x.value) for n, x in zip(given, known, strict=True)] if given else known


def _number(dtype: np.dtype[Any]) -> int:
    if dtype.name not in DTYPES:
        raise TypeError(f"ONNX runtimes have no {dtype.name}: convert it first, e.g. x.float()")
    return DTYPES[dtype.name]


def _tensor(array: Any, name: str) -> bytes:
    dims = b"".join(integer(1, n) for n in array.shape)
    little = array.astype(array.dtype.newbyteorder("<"), order="C")
    return dims + integer(2, _number(array.dtype)) + bytes_field(8, name) + bytes_field(
        9, little.tobytes()
    )  # fmt: skip


def _described(x: Named) -> bytes:
    dims = b"".join(bytes_field(1, integer(1, n)) for n in x.value.shape)
    kind = integer(1, _number(x.value.dtype)) + bytes_field(2, dims)
    return bytes_field(1, x.name) + bytes_field(2, bytes_field(1, kind))


def _attribute(name: str, value: Any) -> bytes:
    if isinstance(value, int):
        return bytes_field(5, bytes_field(1, name) + integer(3, value) + integer(20, 2))
    numbers = b"".join(integer(8, int(n)) for n in value)
    return bytes_field(5, bytes_field(1, name) + numbers + integer(20, 7))


_lacking(__name__)
