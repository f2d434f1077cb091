"""Python text of loops as LLVM code: see `rules/loops.py` for the language.

One `Text` is one function for one combination of dtypes. Variables live in memory, which LLVM's
passes turn into registers; arrays of NumPy are read where they are, by their strides, so that code
serves arrays of any shape, and of any layout unless it is for packed ones.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir

from wengert.compile.llvm.elementary.casts import cast, nonzero
from wengert.compile.llvm.elementary.scalars import apply
from wengert.compile.llvm.machine import functions
from wengert.compile.llvm.machine.values import (
    BYTE,
    I64,
    POINTER,
    B,
    element,
    number,
    stored,
)
from wengert.compile.llvm.machine.values import (
    part as real_part,
)
from wengert.dispatch import Function
from wengert.history.uncollected import parsed

INT, FLOAT, BOOL = np.dtype(np.int64), np.dtype(np.float64), np.dtype(bool)
CLASSES = {int: INT, float: FLOAT, bool: BOOL}
Kind = Any
"""The dtype of an array, or the class of a number."""

_BINARY: dict[type, str] = {
    ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide",
    ast.FloorDiv: "floor_divide", ast.Mod: "remainder",
}  # fmt: skip
_COMPARED: dict[type, str] = {
    ast.Lt: "less", ast.LtE: "less_equal", ast.Gt: "greater", ast.GtE: "greater_equal",
    ast.Eq: "equal", ast.NotEq: "not_equal",
}  # fmt: skip
_PYTHON: dict[Any, str] = {abs: "absolute", max: "maximum", min: "minimum"}


@dataclass(frozen=True, slots=True)
class Number:
    """A value in a register. A weak one, of the text itself, takes the dtype of what it meets."""

    value: Any  # of LLVM, of a complex one a pair; of a weak one, Python's
    dtype: np.dtype[Any]
    weak: bool = False


@dataclass(frozen=True, slots=True)
class Variable:
    address: Any  # of a complex one a pair
    dtype: np.dtype[Any]


class Array:
    """An array among the arguments: LLVM's registers that hold what its object says."""

    def __init__(
        self, b: B, thing: Any, dtype: np.dtype[Any], offsets: tuple[int, ...], packed: bool
    ) -> None:
        self.dtype, self._packed = dtype, packed
        self._entry = b
        self._made: dict[tuple[str, int], Any] = {}
        self.data, self._shape, self._strides = (_word(b, thing, at, POINTER) for at in offsets)

    def size(self, axis: int) -> Any:
        return self._read("size", self._shape, axis)

    def _read(self, what: str, table: Any, axis: int) -> Any:
        """Read once, where the function begins."""
        key = what, axis
        if key not in self._made:
            self._made[key] = _word(self._entry, table, 8 * axis, I64)
        return self._made[key]

    def address(self, b: B, indices: Sequence[Any]) -> Any:
        at: Any = None
        for axis, index in enumerate(indices):
            if self._packed and axis == len(indices) - 1:
                stride = I64(self.dtype.itemsize)
            else:
                stride = self._read("stride", self._strides, axis)
            step = b.mul(index, stride)
            at = step if at is None else b.add(at, step)
        return b.gep(self.data, [at], source_etype=BYTE)


def _word(b: B, pointer: Any, at: int, kind: Any) -> Any:
    return b.load(b.gep(pointer, [I64(at)], source_etype=BYTE), typ=kind)


def tree(function: Function) -> ast.FunctionDef:
    """The text of a function, without its documentation."""
    (definition,) = parsed(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(definition, ast.FunctionDef)
    if isinstance(definition.body[0], ast.Expr):
        del definition.body[0]
    return definition


def returns(function: Function) -> bool:
    """Whether it gives a number."""
    return isinstance(tree(function).body[-1], ast.Return)


def source(function: Function, kinds: Sequence[Kind]) -> str:
    """All that the code depends on, apart from this file."""
    parts = [ast.dump(tree(function)), repr(_constants(function)), *map(str, kinds)]
    for called in _called(function):
        parts += [ast.dump(tree(called)), repr(_constants(called))]
    return "\n".join(parts)


def _names(function: Function) -> list[Any]:
    """What the names of a text mean outside of it."""
    known = inspect.getclosurevars(function)
    return [known.nonlocals, known.globals, known.builtins]


def _called(function: Function) -> list[Function]:
    called: list[Function] = []
    for names in _names(function):
        for thing in names.values():
            if getattr(thing, "within_loops", False) and thing not in called:
                called += [thing, *_called(thing)]
    return called


def _constants(function: Function) -> list[Any]:
    nonlocals, globals_, _ = _names(function)
    both = {**globals_, **nonlocals}
    return sorted((k, v) for k, v in both.items() if isinstance(v, (int, float)))


def define(
    module: ir.Module,
    function: Function,
    kinds: Sequence[Kind],
    offsets: tuple[int, ...],
    packed: bool,
) -> ir.Function:
    """The function of the objects of arrays, and of numbers; `offsets` say where in an array's
    object its data, its dimensions and its strides are. `packed` says of all arrays that the last
    stride is the size of an element: LLVM makes vectors of no others.
    """
    types = [POINTER if isinstance(k, np.dtype) else element(CLASSES[k]) for k in kinds]
    code = functions.Function(module, ir.FunctionType(I64, types), "loops")
    code.attributes.add("nounwind")
    entry = ir.IRBuilder(code.append_basic_block("entry"))
    b = ir.IRBuilder(code.append_basic_block("body"))
    values: list[Any] = [
        Array(entry, x, k, offsets, packed) if isinstance(k, np.dtype) else Number(x, CLASSES[k])
        for x, k in zip(code.args, kinds, strict=True)
    ]
    text = _Text(entry, b, function, values)
    result = text.run()
    b.ret(I64(0) if result is None else text.in_dtype(result, INT))
    entry.branch(code.blocks[1])
    return code


class _Text:
    """A function that is being written: `entry` is where arrays and variables are made known."""

    def __init__(self, entry: B, b: B, function: Function, values: Sequence[Any]) -> None:
        self.entry, self.b, self.function = entry, b, function
        self.tree = tree(function)
        nonlocals, globals_, builtins = _names(function)
        self.outside = {**builtins, **globals_, **nonlocals}
        self.known: dict[str, Any] = {}
        self.around: list[tuple[Any, Any]] = []  # where `continue` and `break` go
        for argument, value in zip(self.tree.args.args, values, strict=True):
            self.known[argument.arg] = value
            if isinstance(value, Number) and not value.weak:
                self._set(argument.arg, value, fresh=True)

    def run(self) -> Any:
        """Write the text; what it returns, if it does so in its last line."""
        *body, last = self.tree.body
        self._block(body)
        if isinstance(last, ast.Return):
            assert last.value is not None
            return self.value(last.value)
        self._block([last])
        return None

    # ---- statements -----------------------------------------------------------------------------

    def _block(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            _STATEMENTS[type(statement)](self, statement)

    def assign(self, s: ast.Assign) -> None:
        (target,) = s.targets
        if isinstance(target, ast.Tuple):  # of the sizes of an array, or of as many numbers
            values = self._several(s.value, len(target.elts))
        else:
            values = [self.value(s.value)]
        for part, value in zip(getattr(target, "elts", [target]), values, strict=True):
            self._store(part, value)

    def _several(self, e: ast.expr, count: int) -> list[Any]:
        if isinstance(e, ast.Attribute) and e.attr == "shape":
            array = self.value(e.value)
            return [Number(array.size(axis), INT) for axis in range(count)]
        assert isinstance(e, ast.Tuple)
        return [self.value(x) for x in e.elts]

    def augment(self, s: ast.AugAssign) -> None:
        kept = ast.copy_location(parsed(ast.unparse(s.target), mode="eval").body, s)
        self._store(
            s.target, self._applied(_BINARY[type(s.op)], [self.value(kept), self.value(s.value)])
        )

    def _store(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self._set(target.id, value)
            return
        assert isinstance(target, ast.Subscript)
        array, address = self._place(target)
        stored_as = self.in_dtype(value, array.dtype)
        if array.dtype.kind == "b":
            stored_as = self.b.zext(stored_as, BYTE)
        for x, place in _parts(stored_as, self._both(array, address)):
            self.b.store(x, place, align=1)

    def _set(self, name: str, value: Any, fresh: bool = False) -> None:
        variable = self.known.get(name)
        if fresh or not isinstance(variable, Variable):
            room = [self.entry.alloca(element(value.dtype)) for _ in range(_count(value.dtype))]
            variable = self.known[name] = Variable(_pair(room), value.dtype)
        if "fc".find(value.dtype.kind) > "fc".find(variable.dtype.kind):
            raise TypeError(f"{name} began as {variable.dtype} and cannot become {value.dtype}.")
        for x, place in _parts(self.in_dtype(value, variable.dtype), variable.address):
            self.b.store(x, place)

    def repeat(self, s: ast.For) -> None:
        assert isinstance(s.iter, ast.Call)
        assert isinstance(s.target, ast.Name)
        bounds = [self.in_dtype(self.value(x), INT) for x in s.iter.args]
        step = 1
        if len(bounds) == 3:
            step = ast.literal_eval(s.iter.args[2])
        start, stop = (I64(0), bounds[0]) if len(bounds) == 1 else bounds[:2]
        index, name = self.entry.alloca(I64), s.target.id
        self.b.store(start, index)
        ahead = "<" if step > 0 else ">"

        def goes_on() -> Any:
            return self.b.icmp_signed(ahead, self.b.load(index), stop)

        def begin() -> None:
            self._set(name, Number(self.b.load(index), INT))

        def advance() -> None:
            self.b.store(self.b.add(self.b.load(index), I64(step), flags=("nsw",)), index)

        if len(bounds) > 1 or any(isinstance(x, _LOOPS) for y in s.body for x in ast.walk(y)):
            self._loop(goes_on, begin, s.body, advance)
            return
        # The innermost loop is often of one round, as that over what is behind the last dimension.
        single, several, after = (self.b.append_basic_block() for _ in range(3))
        self.b.cbranch(self.b.icmp_signed("==", stop, I64(1)), single, several)
        self.b.position_at_end(single)
        begin()
        self.around.append((after, after))
        self._block(s.body)
        self.around.pop()
        if not self.b.block.is_terminated:
            self.b.branch(after)
        self.b.position_at_end(several)
        self._loop(goes_on, begin, s.body, advance)
        self.b.branch(after)
        self.b.position_at_end(after)

    def run_while(self, s: ast.While) -> None:
        self._loop(lambda: self._truth(s.test), lambda: None, s.body, lambda: None)

    def _loop(
        self, goes_on: Callable[[], Any], begin: Any, body: Sequence[ast.stmt], advance: Any
    ) -> None:
        b = self.b
        test, inside, following, after = (b.append_basic_block() for _ in range(4))
        b.branch(test)
        b.position_at_end(test)
        b.cbranch(goes_on(), inside, after)
        b.position_at_end(inside)
        begin()
        self.around.append((following, after))
        self._block(body)
        self.around.pop()
        if not b.block.is_terminated:
            b.branch(following)
        b.position_at_end(following)
        advance()
        b.branch(test)
        b.position_at_end(after)

    def leave(self, s: ast.stmt) -> None:
        following, after = self.around[-1]
        self.b.branch(following if isinstance(s, ast.Continue) else after)

    def decide(self, s: ast.If) -> None:
        b = self.b
        then, otherwise, after = (b.append_basic_block() for _ in range(3))
        b.cbranch(self._truth(s.test), then, otherwise)
        for block, body in ((then, s.body), (otherwise, s.orelse)):
            b.position_at_end(block)
            self._block(body)
            if not b.block.is_terminated:
                b.branch(after)
        b.position_at_end(after)

    # ---- expressions ----------------------------------------------------------------------------

    def value(self, e: ast.expr) -> Any:
        return _EXPRESSIONS[type(e)](self, e)

    def constant(self, e: ast.Constant) -> Number:
        return Number(e.value, CLASSES[type(e.value)], weak=True)

    def name(self, e: ast.Name) -> Any:
        known = self.known.get(e.id)
        if isinstance(known, Variable):
            read = [self.b.load(place) for (place,) in _parts(known.address)]
            return Number(_pair(read), known.dtype)
        if known is not None:
            return known
        thing = self.outside[e.id]
        return Number(thing, CLASSES[type(thing)], weak=True) if type(thing) in CLASSES else thing

    def attribute(self, e: ast.Attribute) -> Any:
        owner = self.value(e.value)
        if isinstance(owner, Number) and e.attr in ("real", "imag"):
            return self._applied(e.attr, [owner])
        thing = getattr(owner, e.attr)
        return Number(thing, CLASSES[type(thing)], weak=True) if type(thing) in CLASSES else thing

    def item(self, e: ast.Subscript) -> Number:
        if isinstance(e.value, ast.Attribute) and e.value.attr == "shape":
            axis = ast.literal_eval(e.slice)
            return Number(self.value(e.value.value).size(axis), INT)
        array, address = self._place(e)
        read = [
            self.b.load(place, typ=stored(array.dtype), align=1)
            for (place,) in _parts(self._both(array, address))
        ]
        if array.dtype.kind == "b":
            read = [self.b.icmp_unsigned("!=", read[0], BYTE(0))]
        return Number(_pair(read), array.dtype)

    def _both(self, array: Array, address: Any) -> Any:
        """Where a number lies: the pair of a complex one."""
        if array.dtype.kind != "c":
            return address
        behind = I64(real_part(array.dtype).itemsize)
        return address, self.b.gep(address, [behind], source_etype=BYTE)

    def _place(self, e: ast.Subscript) -> tuple[Array, Any]:
        array = self.value(e.value)
        parts = e.slice.elts if isinstance(e.slice, ast.Tuple) else [e.slice]
        return array, array.address(self.b, [self.in_dtype(self.value(p), INT) for p in parts])

    def binary(self, e: ast.BinOp) -> Number:
        return self._applied(_BINARY[type(e.op)], [self.value(e.left), self.value(e.right)])

    def unary(self, e: ast.UnaryOp) -> Number:
        x = self.value(e.operand)
        if isinstance(e.op, ast.Not):
            return Number(self.b.not_(self._condition(x)), BOOL)
        if x.weak:
            return Number(-x.value, x.dtype, weak=True)
        return self._applied("negative", [x])

    def compared(self, e: ast.Compare) -> Number:
        sides = [self.value(x) for x in (e.left, *e.comparators)]
        all_hold: Any = None
        for op, x, y in zip(e.ops, sides, sides[1:], strict=False):
            holds = self._applied(_COMPARED[type(op)], [x, y], BOOL).value
            all_hold = holds if all_hold is None else self.b.and_(all_hold, holds)
        return Number(all_hold, BOOL)

    def logical(self, e: ast.BoolOp) -> Number:
        """What stands behind is computed only where it is asked for: it may read memory."""
        b, room = self.b, self.entry.alloca(element(BOOL))
        after = b.append_basic_block()
        for k, part in enumerate(e.values):
            b.store(truth := self._truth(part), room)
            if k + 1 < len(e.values):
                more = b.append_basic_block()
                b.cbranch(truth, *((more, after) if isinstance(e.op, ast.And) else (after, more)))
                b.position_at_end(more)
        b.branch(after)
        b.position_at_end(after)
        return Number(b.load(room), BOOL)

    def chosen(self, e: ast.IfExp) -> Number:
        """Both are computed."""
        condition = self._truth(e.test)
        x, y = self._alike([self.value(e.body), self.value(e.orelse)])
        both = [self.b.select(condition, p, q) for p, q in _parts(x.value, y.value)]
        return Number(_pair(both), x.dtype)

    def call(self, e: ast.Call) -> Any:
        if isinstance(e.func, ast.Attribute) and e.func.attr == "type":  # x.dtype.type(...)
            dtype = self.value(e.func.value)
            return Number(self.in_dtype(self.value(e.args[0]), dtype), dtype)
        function, args = self.value(e.func), [self.value(x) for x in e.args]
        if function is len:
            return Number(args[0].size(0), INT)
        if function in CLASSES:
            return Number(self.in_dtype(args[0], CLASSES[function]), CLASSES[function])
        if isinstance(function, np.ufunc):
            return self._applied(function.__name__, args)
        if function in _PYTHON:
            return self._applied(_PYTHON[function], args)
        assert function.within_loops, f"{function} is not for loops: mark it with @within_loops"
        return _Text(self.entry, self.b, function, args).run()

    # ---- numbers --------------------------------------------------------------------------------

    def _applied(self, name: str, args: list[Number], result: Any = None) -> Number:
        args = self._alike(args)
        dtype = args[0].dtype
        if dtype.kind == "c" and name in ("absolute", "real", "imag"):
            result = real_part(dtype)
        if name == "divide" and dtype.kind not in "fc":
            args, dtype = [Number(self.in_dtype(x, FLOAT), FLOAT) for x in args], FLOAT
        values = [x.value for x in args]
        value = apply(self.b, name, result or dtype, (dtype,) * len(args), values)
        return Number(value, result or dtype)

    def _alike(self, args: list[Number]) -> list[Number]:
        """Numbers in one dtype: complex ones before floats before integers, the wider ones; weak
        ones follow.
        """
        strong = [x.dtype for x in args if not x.weak] or [x.dtype for x in args]
        floats = [d for d in strong if d.kind in "fc"]
        if not floats and any(x.dtype.kind == "f" for x in args):
            floats = [FLOAT]
        dtype = max(floats or strong, key=lambda d: (d.kind != "b", d.kind == "c", d.itemsize))
        return [Number(self.in_dtype(x, dtype), dtype) for x in args]

    def in_dtype(self, x: Number, dtype: np.dtype[Any]) -> Any:
        """The value in a dtype."""
        if x.weak:
            both = (x.value, 0)[: _count(dtype)]
            return _pair([number(element(dtype), v) for v in both])
        return cast(self.b, x.value, x.dtype, dtype)

    def _truth(self, e: ast.expr) -> Any:
        return self._condition(self.value(e))

    def _condition(self, x: Number) -> Any:
        return nonzero(self.b, self.in_dtype(x, x.dtype), x.dtype)


def _count(dtype: np.dtype[Any]) -> int:
    """How many parts a number has."""
    return 2 if dtype.kind == "c" else 1


def _parts(*values: Any) -> list[tuple[Any, ...]]:
    """The parts of values, side by side: two of complex ones."""
    return list(zip(*(x if isinstance(x, tuple) else (x,) for x in values), strict=True))


def _pair(parts: Sequence[Any]) -> Any:
    """The value of these parts."""
    return parts[0] if len(parts) == 1 else tuple(parts)


_LOOPS = (ast.For, ast.While)
_STATEMENTS: dict[type, Callable[[_Text, Any], None]] = {
    ast.Assign: _Text.assign, ast.AugAssign: _Text.augment, ast.For: _Text.repeat,
    ast.While: _Text.run_while, ast.If: _Text.decide, ast.Continue: _Text.leave,
    ast.Break: _Text.leave, ast.Pass: lambda text, s: None,
    ast.Expr: lambda text, s: text.value(s.value),
}  # fmt: skip
_EXPRESSIONS: dict[type, Callable[[_Text, Any], Any]] = {
    ast.Constant: _Text.constant, ast.Name: _Text.name, ast.Attribute: _Text.attribute,
    ast.Subscript: _Text.item, ast.BinOp: _Text.binary, ast.UnaryOp: _Text.unary,
    ast.Compare: _Text.compared, ast.BoolOp: _Text.logical, ast.IfExp: _Text.chosen,
    ast.Call: _Text.call,
}  # fmt: skip
