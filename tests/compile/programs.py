"""Programs for the tests of the compiler: written by hand with `Builder`, or drawn at random."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.compile.program.infer import infer, statement
from wengert.compile.program.operations import added, astype, full, take, updated, view
from wengert.compile.program.program import Program, Value


class Builder:
    """Writes a program as if it computed: `b(np.add, x, 1.0)` is a value.

    >>> b = Builder()
    >>> x = b.input((2, 3))
    >>> b.result(b(np.sum, b(np.exp, x), axis=(1,), keepdims=False)).run([np.zeros((2, 3))])
    [array([3., 3.])]
    """

    def __init__(self) -> None:
        self.program = Program()

    def input(
        self, shape: Any, dtype: Any = np.float64, name: str = "x", weak: bool = False
    ) -> Value:
        return self.program.input(tuple(shape), dtype, name, weak)

    def constant(self, array: Any, dtype: Any = None) -> Value:
        return self.program.constant(np.array(array, dtype))

    def full(self, shape: Any, number: Any, dtype: Any = np.float64) -> Value:
        return self(full, tuple(shape), number, np.dtype(dtype))

    def __call__(self, function: Any, *args: Any, **kwargs: Any) -> Value:
        s = statement(function, *args, **kwargs)
        self.program.statements.append(s)
        return s.output

    def result(self, *values: Value) -> Program:
        """The program, with these outputs."""
        self.program.outputs = list(values)
        self.program.check()
        return self.program


SIZES = (1, 2, 3, 4)
NUMBERS = (0.0, 1.0, -1.0, 2.0, 0.5, 3.0, -2.0, 4.0)


class Drawn:
    """A random program of some statements, and arrays to run it with.

    All arithmetic of an `exact` one is on small whole numbers, so that its results are exact in any
    order of the sums. Otherwise there are functions like exp, divisions and powers in it.
    """

    def __init__(self, seed: int, count: int = 40, exact: bool = False, dtype: Any = np.float64):
        self.random = np.random.default_rng(seed)
        self.exact = exact
        self.dtype = np.dtype(dtype)
        self.b = Builder()
        self.arrays: list[np.ndarray] = []
        self.floats: list[Value] = []
        self.bools: list[Value] = []
        for i in range(4):
            self._input(i)
        kinds = [getattr(self, name) for name in dir(type(self)) if name.startswith("draw_")]
        while len(self.b.program.statements) < count:
            self.pick(kinds)()
        used = {v for s in self.b.program.statements for v in s.inputs}
        ends = [v for v in [*self.floats, *self.bools] if v not in used]
        self.program = self.b.result(*ends[-6:])
        for target in self.b.program.inputs[:2]:
            news = [v for v in self.floats if v.shape == target.shape]
            self.program.updates[target] = self.pick(news)

    def _input(self, i: int) -> None:
        shape = self.shape()
        self.arrays.append(self.data(shape))
        self.floats.append(self.b.input(shape, self.dtype, f"x{i}"))

    def inputs(self) -> list[np.ndarray]:
        """Fresh arrays for one run, which may write into them."""
        return [a.copy() for a in self.arrays]

    # ---- choices -------------------------------------------------------------------------

    def pick(self, items: Any) -> Any:
        return items[int(self.random.integers(len(items)))]

    def chance(self, probability: float) -> bool:
        return bool(self.random.random() < probability)

    def shape(self) -> tuple[int, ...]:
        return tuple(self.pick(SIZES) for _ in range(self.random.integers(0, 4)))

    def data(self, shape: Any) -> np.ndarray:
        if self.exact:
            return self.random.integers(-2, 3, shape).astype(self.dtype)
        return np.asarray(self.random.normal(size=shape), self.dtype)

    def float(self) -> Value:
        if self.chance(0.1):
            shape = self.shape()
            if self.chance(0.5):
                return self.b.full(shape, self.pick(NUMBERS[:4]), self.dtype)
            return self.b.constant(self.data(shape))
        recent = self.floats[-8:] if self.chance(0.7) else self.floats
        return self.pick(recent)

    def where_shape(self, fits: Callable[[Value], bool]) -> Value | None:
        found = [v for v in self.floats if fits(v)]
        return self.pick(found) if found else None

    def keep(self, function: Any, *args: Any, **kwargs: Any) -> None:
        """Add a statement, unless its shapes disagree or its result is large."""
        try:
            shape, dtype, _ = infer(function, args, kwargs)
        except (ValueError, AssertionError):
            return
        if np.prod(shape) > 300 or len(shape) > 5:
            return
        value = self.b(function, *args, **kwargs)
        if dtype.kind == "b":
            self.bools.append(value)
        elif dtype == self.dtype:
            self.floats.append(self.small(value))

    def small(self, value: Value) -> Value:
        """The value, cut to where nothing overflows and whole numbers stay exact."""
        if not self.chance(0.3):
            return value
        if self.exact:
            return self.b(np.maximum, self.b(np.minimum, value, 3.0), -3.0)
        return self.b(np.tanh, value)

    # ---- kinds of statements -------------------------------------------------------------

    def draw_arithmetic(self) -> None:
        function = self.pick([np.add, np.subtract, np.multiply, np.maximum, np.minimum])
        a, b = self.float(), self.pick(NUMBERS) if self.chance(0.4) else self.float()
        if self.exact and b == 0.5:
            b = 1.0
        if function is np.multiply and not (type(b) is float and abs(b) <= 1):
            a = self.b(np.tanh, a) if not self.exact else self.b(np.sign, a)
        self.keep(function, *((a, b) if self.chance(0.7) else (b, a)))

    def draw_unary(self) -> None:
        exact = [np.negative, np.absolute, np.sign, np.square, np.negative]
        smooth = [np.tanh, np.sin, np.cos, np.arctan]
        x = self.float()
        function = self.pick(exact if self.exact else exact + smooth)
        if function is np.square:
            x = self.b(np.sign if self.exact else np.tanh, x)
        self.keep(function, x)

    def draw_power(self) -> None:
        x = self.b(np.sign if self.exact else np.tanh, self.float())
        k = self.pick((0.0, 1.0, 2.0, 3.0, 4.0))
        if not self.exact and self.chance(0.4):
            x, k = self.b(np.add, self.b(np.absolute, x), 1.0), self.pick((0.5, -0.5, -1.0, 1.5))
        self.keep(np.power, x, k)

    def draw_division(self) -> None:
        if not self.exact:
            self.keep(np.divide, self.float(), self.pick((1.0, -1.0, 2.0, -4.0, 3.0)))

    def draw_comparison(self) -> None:
        function = self.pick([np.greater, np.less, np.equal, np.not_equal, np.less_equal])
        self.keep(function, self.float(), self.pick(NUMBERS) if self.chance(0.5) else self.float())

    def draw_truth(self) -> None:
        if self.bools:
            self.keep(np.logical_not, self.pick(self.bools))
            self.keep(np.logical_and, self.pick(self.bools), self.pick([*self.bools, True]))

    def draw_where(self) -> None:
        if self.bools:
            a, b = self.float(), self.pick(NUMBERS[:3]) if self.chance(0.4) else self.float()
            c = self.pick(self.bools)
            if self.chance(0.2):
                self.keep(np.where, c, self.b.full((), 1.0, self.dtype), 0.0)
            else:
                self.keep(np.where, c, *((a, b) if self.chance(0.5) else (b, a)))

    def draw_cast(self) -> None:
        if self.bools and self.chance(0.5):
            self.keep(astype, self.pick(self.bools), self.dtype)
        elif self.dtype == np.float32 or self.exact:
            wide = self.b(astype, self.float(), np.dtype(np.float64))
            self.keep(astype, wide, self.dtype)

    def draw_reduction(self) -> None:
        x = self.float()
        axes = tuple(i for i in range(len(x.shape)) if self.chance(0.5))
        function = self.pick([np.sum, np.sum, np.max, np.min])
        self.keep(function, x, axis=axes, keepdims=self.chance(0.5))

    def draw_reshape(self) -> None:
        x = self.float()
        shape = [n for n in x.shape if n != 1] if self.chance(0.5) else [x.size]
        for _ in range(self.random.integers(0, 3)):
            shape.insert(int(self.random.integers(len(shape) + 1)), 1)
        self.keep(np.reshape, x, tuple(shape))

    def draw_transpose(self) -> None:
        x = self.float()
        self.keep(np.transpose, x, tuple(int(i) for i in self.random.permutation(len(x.shape))))

    def draw_broadcast(self) -> None:
        x = self.float()
        shape = tuple(self.pick(SIZES) if n == 1 else n for n in x.shape)
        if len(shape) < 3 and self.chance(0.5):
            shape = (self.pick(SIZES), *shape)
        self.keep(np.broadcast_to, x, shape)

    def slices(self, x: Value, names: bool = False) -> tuple[Any, ...]:
        index: list[Any] = []
        for n in x.shape:
            start = int(self.random.integers(n))
            entry = slice(start, int(self.random.integers(start, n)) + 1, self.pick((1, 1, 2)))
            backwards = slice(n - 1, None, -1)
            index.append(self.pick((slice(0, n, 1), slice(0, n, 1), entry, start, backwards)))
        if names and self.chance(0.4):
            index.insert(int(self.random.integers(len(index) + 1)), None)
        return tuple(index)

    def draw_view(self) -> None:
        x = self.float()
        self.keep(view, x, self.slices(x, names=True))

    def draw_take(self) -> None:
        x = self.float()
        if x.shape:
            rows = self.random.integers(0, x.shape[0], self.pick((2, 3)))
            self.keep(take, x, (self.b.constant(rows),))

    def draw_write(self) -> None:
        x = self.float()
        if not x.shape:
            return
        if self.chance(0.5):
            index = self.slices(x)
            part = infer(view, (x, index))[0]
        else:
            index = (self.b.constant(self.random.integers(0, x.shape[0], 3)),)
            part = (3, *x.shape[1:])
        value = self.where_shape(lambda v: v.shape == part)
        function = self.pick((added, updated))
        if function is updated and index[0].__class__ is Value:
            function = added  # which of several values is written last is nobody's promise
        self.keep(function, x, index, self.pick(NUMBERS[1:3]) if value is None else value)

    def draw_matmul(self) -> None:
        a = self.where_shape(lambda v: len(v.shape) >= 2)
        if a is None:
            return
        a = self.b(np.sign if self.exact else np.tanh, a)
        if self.chance(0.3):
            n = len(a.shape)
            a = self.b(np.transpose, a, (*range(n - 2), n - 1, n - 2))
        b = self.where_shape(lambda v: len(v.shape) >= 2 and v.shape[-2] == a.shape[-1])
        if b is not None:
            self.keep(np.matmul, a, b)
            if self.chance(0.5):
                x = self.floats[-1]
                axes = tuple(range(len(x.shape) - 2))
                self.keep(np.sum, x, axis=axes, keepdims=self.chance(0.3))

    def draw_concatenate(self) -> None:
        x = self.float()
        if x.shape:
            axis = int(self.random.integers(len(x.shape)))
            self.keep(
                np.concatenate, (x, self.where_shape(lambda v: v.shape == x.shape) or x), axis=axis
            )


def agree(got: Any, expected: Any, exact: bool) -> None:
    """AssertionError unless arrays are equal (zeros of either sign are), or equal to rounding."""
    for a, b in zip(got, expected, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        if exact:
            np.testing.assert_array_equal(a, b)
        else:
            tolerance = 1e-9 if a.dtype == np.float64 else 2e-4
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
