"""TracedArray: an array that writes down what is done to it.

NumPy's functions on traced arrays append statements to a `Program` instead of computing. Arrays
are mutable and programs are not, so a traced array is a handle on a `Storage`, which knows the
value that it holds at present; a view is a way into a storage, and a write gives the storage a new
value.

A function that none of the files beside this one says the meaning of is, in this order, written in
terms of others by its own body (our primitives) or by what it is composed of; or one opaque
statement, which the compiled program carries out by calling it. Its shape is then learned by
running it once on zeros.
"""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.arrays.facts import COMPOSED, takes_elements
from wengert.arrays.kind import Kind
from wengert.arrays.memory import offset
from wengert.arrays.methods import ArrayMethods
from wengert.compile.program import operations
from wengert.compile.program.intervals import compared, fits
from wengert.compile.program.program import Makers, Program, Shape, Statement, Value, values_in
from wengert.compile.trace.arrays import ints, layouts, refusals
from wengert.compile.trace.arrays.layouts import Strides, kept
from wengert.compile.trace.arrays.lines import is_users, origin
from wengert.compile.trace.arrays.numbers import (
    check_exponent,
    item_of,
    number_of,
    with_operators,
)
from wengert.compile.trace.arrays.opaque import (
    INSTEAD,
    check_axis,
    is_shaped_by_numbers,
    like,
    results_of,
    with_dtype,
    zeros,
)
from wengert.compile.trace.arrays.operands import (
    BITWISE,
    are_plain,
    assigned,
    cast_for,
    common_shape,
    in_arithmetic,
    of_two_signs,
    type_of,
)
from wengert.compile.trace.arrays.returned import (
    as_numpys,
    become_wider,
    is_narrow,
    is_said_by_numpy,
    numbers_rounded,
    numpys_own,
    returned,
    widened,
)
from wengert.compile.trace.arrays.scopes import Scope, check_is_inside, writable_now
from wengert.compile.trace.arrays.storage import Flags, Peek, Step, Storage, unasked, written
from wengert.dispatch import Function, each, numpy, require, writes
from wengert.errors import TracingError
from wengert.history import modes
from wengert.history.location import here, is_internal, line_of
from wengert.history.node import tick
from wengert.rules import RULES
from wengert.rules.half import are_half, arrays_in, computed, keeps_numbers
from wengert.tensor import Tensor

NUMBERS = frozenset({int, float, bool, complex})
LISTED = 64
"""So many numbers of a list are each one of the program."""
SMALL = 1 << 12
"""Operations on constants of at most so many elements are carried out while tracing."""


class Trace(Kind):
    """One run of a function on traced arrays, and the program that it writes."""

    has_layout = runs_later = True

    def __init__(self) -> None:
        self.program = Program()
        self.makers = Makers(self.program)
        self.external: Callable[[np.ndarray[Any, Any]], Value] = self.program.constant
        self.arithmetic = False
        """Whether an operator of Python's numbers is at work."""
        self.decide: Callable[[TracedArray, str], Any] = refusals.undecided
        self.fix: Callable[[TracedArray, str], Any] = refusals.undecided
        """Begins the trace again, in which the numbers are known that an array is computed of."""
        self.begins: Callable[[Value], int] = refusals.unplaced
        self.keep: Callable[[np.ndarray[Any, Any], Any, Any], Storage] = refusals.unkept
        self.is_outside: Callable[[np.ndarray[Any, Any]], bool] = lambda array: False
        self.showed: Callable[[], Any] = list  # which does nothing
        self.unheard: Callable[..., Any] = heard
        """How what calls nothing of the program's is called."""
        self.scopes: list[Scope] = []
        """The bodies of loops that are being traced, the innermost last."""
        self.homes: dict[Value, Scope] = {}
        """In which body a value was made that is over."""
        self.counters: dict[Value, tuple[int, int]] = {}
        """The numbers of iterations, and between which they lie: the passes know it, no trace."""
        self.kinds = 0
        """How many kinds of blocks long loops are cut into, so that derivatives keep less."""
        self.budget: int | None = None
        """What a program may take, however long its loops run."""
        self.longest = 0
        """How many iterations the longest loop has."""
        self.tensors: Callable[[], Iterable[Any]] = list
        """The tensors that live now, as far as they are of this trace."""
        self.apart: dict[Storage, Callable[[], BaseException]] = {}  # see writable_now
        self.levels: dict[Any, None] = {}
        """The levels of forward mode that bodies of loops are in."""
        self.drawn: list[tuple[Any, tuple[Value, ...]]] = []
        """The random draws, and what each gave."""
        self.drawn_before: Callable[[Any], tuple[Value, ...] | None] = lambda draw: None
        """What a draw gives while something is computed again; None of one that draws anew."""
        self.written: list[int] = []
        """When the arrays were made into which something was written, write by write."""
        self.returned: int | None = None
        """When the function returned: what runs after that is its derivative."""
        self.may_write = False
        """Whether a branch, which may not be taken, writes into memory from outside of it."""

    def record(
        self, function: Function, args: tuple[Any, ...], shape: Shape, dtype: Any, **kwargs: Any
    ) -> Value:
        """Append a statement with one result."""
        return self.append(function, args, kwargs, [(shape, dtype)])[0]

    def append(
        self, function: Function, args: Any, kwargs: Any, results: list[tuple[Shape, Any]]
    ) -> tuple[Value, ...]:
        draws = getattr(function, "draws", False)
        if draws and (before := self.drawn_before(function)) is not None:
            self.drawn.append((function, before))
            return before
        if not draws and not all(dtypes.is_number(np.dtype(dtype)) for _, dtype in results):
            raise refusals.no_numbers(function)
        outputs = tuple(Value(shape, dtype) for shape, dtype in results)
        if draws:
            self.drawn.append((function, outputs))
        code, at = origin()
        if self.homes:
            check_is_inside(self, list(values_in((args, kwargs))))
        statement = Statement(function, tuple(args), kwargs, outputs, code, at)
        if not self._evaluated(statement):
            self.program.statements.append(statement)
        return outputs

    def _evaluated(self, s: Statement) -> bool:
        """Carry out a small statement on constants at once, so that its value is known."""
        constants = self.program.constants
        if s.function in operations.SOURCES:
            if s.output.size > SMALL:
                return False
        else:
            for v in s.inputs:
                if v not in constants or v.size > SMALL:
                    return False
            if any(v.size > SMALL for v in s.outputs) or getattr(s.function, "draws", False):
                return False
        with np.errstate(all="ignore"):
            replaced = s.replaced(constants.__getitem__)
            returned = s.function(*replaced.args, **replaced.kwargs)
        for value, array in zip(s.outputs, s.results(returned), strict=True):
            constants[value] = np.array(array, value.dtype)
        return True

    # ---- values -----------------------------------------------------------------------------

    def array(self, value: Value, strides: Strides = None) -> TracedArray:
        """A new array that holds `value`."""
        return TracedArray(self, Storage(value, None, strides), ())

    def kept(self, operands: Any) -> Strides:
        """The strides of what is computed of these element by element."""
        arrays = [x for x in operands if isinstance(x, (TracedArray, np.ndarray)) and x.ndim]
        if all(type(x) is TracedArray and x.is_plain for x in arrays):
            return None
        return kept([x.like if type(x) is TracedArray else x for x in arrays])

    def operand(self, x: Any) -> Any:
        """An operand as an argument of a statement: a value, or a Python number."""
        if type(x) is TracedArray:
            return x.value
        if type(x) in NUMBERS:
            return x
        if isinstance(x, np.ndarray):
            return self.external(x)
        number = isinstance(x, (int, float, complex)) and not isinstance(x, np.generic)
        if self.arithmetic and number:
            kinds: tuple[Any, ...] = (int, float, complex)
            return next(kind(x) for kind in kinds if isinstance(x, kind))
        if isinstance(x, (list, tuple)):
            x = stacked(x)
            if type(x) is TracedArray:
                return x.value
        if number or isinstance(x, (np.generic, list, tuple)):
            # What is a float of another class has a dtype to NumPy, as an array.
            return self.program.constant(np.asarray(x))
        raise refusals.no_number(x)

    def cast(self, x: Any, dtype: Any) -> Any:
        """A value in another dtype; Python numbers are left as they are."""
        if type(x) is not Value or (x.dtype == dtype and not x.weak):
            return x
        if x.bounds is not None and not fits(x.bounds, np.dtype(dtype)):
            number = self.fixed(self.array(x), f"a conversion to {dtype}")
            if not fits((number, number), np.dtype(dtype)):
                raise OverflowError(f"Python integer {number} out of bounds for {dtype}")
        return self.record(operations.astype, (x, np.dtype(dtype)), x.shape, dtype)

    def applied(self, ufunc: Any, operands: list[Any], dtype: Any = None) -> Value:
        """A ufunc of one result, operands cast to its loop's dtypes."""
        kinds: list[Any] = [type_of(x) for x in operands]
        numbers = all(type(x) in NUMBERS or (type(x) is Value and x.weak) for x in operands)
        weak = numbers and self.arithmetic  # of Python's numbers; NumPy's functions make NumPy's
        if numbers:
            of = in_arithmetic if weak and ufunc not in BITWISE else np.dtype
            kinds = list(map(of, kinds))
        if dtype is not None:
            resolved = ufunc.resolve_dtypes((*kinds, None), signature=(*[None] * len(kinds), dtype))
        else:
            resolved = ufunc.resolve_dtypes((*kinds, None))
        *loop, out = resolved
        shape = common_shape(operands)
        known = self.bounded(ufunc, operands, out) if weak else ints.beyond(ufunc, operands, loop)
        if type(known) is bool:
            value = self.record(operations.full, (shape, known, out), shape, out)
            value.weak = weak
            return value
        args = tuple(
            x if weak and type(x) is Value and x.dtype == want else self.cast(x, want)
            for x, want in zip(operands, loop, strict=True)
        )
        if {dtype.kind for dtype in loop} == {"i", "u"}:
            return of_two_signs(self, ufunc, args)
        if ufunc is np.power and out.kind == "i" and not weak:
            check_exponent(self, args[1], is_users())
        value = self.record(ufunc, args, shape, out)
        value.weak, value.bounds = weak, known
        if weak and ufunc is np.power and out.kind == "f" and is_users():
            self.check_size(value, args)
        return value

    def bounded(self, ufunc: Any, operands: list[Any], dtype: Any) -> Any:
        """The interval of an int that is computed of ints, or what a comparison of them gives."""
        known = list(map(ints.bounds_of, operands))
        counts = [x for x in operands if type(x) is Value and x.bounds is not None]
        self.check_division(ufunc, operands, known)
        if not counts:
            return None
        try:
            if ufunc is np.power and ints.is_up_to_sign(*known) and self.is_positive(operands[0]):
                return None
            answer = compared(ufunc, known)
            return ints.result(ufunc, known, dtype) if answer is None else answer
        except ValueError:
            raise ints.Wide(f"np.{ufunc.__name__}()") from None

    def is_positive(self, x: Value) -> bool:
        """Whether an int is none below 0, on condition that it stays so; not if nothing tells."""
        try:
            return bool(self.array(x) >= 0)
        except TracingError:
            return False

    def fixed(self, x: TracedArray, what: str) -> Any:
        """The number that stands there, of its class, on condition that it stays what it is."""
        return np.asarray(self.fix(x, what), x.dtype).item()

    def check_division(self, ufunc: Any, operands: list[Any], known: list[Any]) -> None:
        """Python raises an error where NumPy's result is infinite."""
        k = ints.divisor(ufunc, known)
        if k is None:
            return
        divisor = operands[k] if type(operands[k]) is not Value else self.array(operands[k])
        holds = bool(divisor) if known[k] is not None else divisor != 0
        if ufunc is np.power and known[1] is None:
            holds = holds | (self.array(operands[1]) >= 0)
        require(holds, ZeroDivisionError, refusals.words(ufunc, *map(type_of, operands)))

    def check_size(self, power: Value, operands: Any) -> None:
        """Python raises an error where NumPy's power of finite numbers is infinite."""
        holds = np.isfinite(self.array(power))
        for x in operands:
            if type(x) is Value:
                holds = np.logical_or(holds, np.logical_not(np.isfinite(self.array(x))))
            elif not np.isfinite(x):
                return
        require(holds, OverflowError, *refusals.too_large())

    # ---- answering --------------------------------------------------------------------------

    def call(self, function: Any, args: Any, kwargs: Any) -> Any:
        if _is_ours(function) and are_plain(args) and are_plain(kwargs.values()):
            return self.unheard(self._called, function, args, kwargs)
        return self._called(function, args, kwargs)

    def _called(self, function: Any, args: Any, kwargs: Any) -> Any:
        args, kwargs = with_dtype(function, args, kwargs)
        check_axis(function, args, kwargs)
        call, own = functools.partial(super().call, function), None
        numpys = is_users() or modes.current().numpy_code
        narrow = not keeps_numbers(function) and are_half((*args, *kwargs.values()))
        held = narrow and function in RULES and not numpys  # as rules see half precision
        if not held and is_said_by_numpy(function, args, numpys):
            own = numpys_own(function, args, kwargs)
        if narrow and own is not None:
            narrow = is_narrow(own)
        elif narrow and (takes_elements(function) or isinstance(function, np.ufunc)):
            narrow = not become_wider(function, args, is_users())
        if own is not None and (function in COMPOSED or function in RULES):
            args, kwargs = widened(own, args), widened(own, kwargs)
        if narrow and type(function) is np.ufunc and is_users():
            args = numbers_rounded(args)
        try:
            y = _in_single(function, call, args, kwargs) if narrow else call(args, kwargs)
        except TracingError as error:
            if function not in INSTEAD:
                raise
            raise refusals.shape_depends(f"np.{function.__name__}", INSTEAD[function]) from error
        if type(y) is TracedArray and not y.path and y.ndim > 1 and layouts.decided(function):
            y.storage.strides = _laid_out(function, args, kwargs, y)
        if function is operator.getitem:
            return y
        result = returned(function, args, kwargs, y)
        has_meaning = function in COMPOSED or function in RULES or _is_ours(function)
        return as_numpys(result, own) if has_meaning else result  # it has made it by itself

    def composed(self, meaning: Function, args: Any, kwargs: Any) -> Any:
        """As code for arrays: of ints it makes float64, whatever tensors would."""
        before = modes.enter(modes.current()._replace(numpy_code=True))
        try:
            return super().composed(meaning, args, kwargs)
        finally:
            modes.enter(before)

    def elementwise(self, function: Any, args: Any, kwargs: Any) -> Any:
        if not isinstance(function, np.ufunc):
            return NotImplemented
        if function.nout > 1:
            return self.otherwise(function, cast_for(self, function, args), kwargs)
        if function in (np.equal, np.not_equal) and any(isinstance(x, str | None) for x in args):
            return function is np.not_equal
        operands = [self.operand(x) for x in args]
        return self.array(self.applied(function, operands, kwargs.get("dtype")), self.kept(args))

    def otherwise(self, function: Any, args: Any, kwargs: Any) -> Any:
        """One statement that calls the function; its results' shapes are learned on zeros."""
        given, named = values_of(self, args), values_of(self, kwargs)
        likes = like(function, given, named, zeros)
        if is_shaped_by_numbers(function, given, named, likes):
            instead = INSTEAD.get(function, "np.where(condition, a, 0)")
            return self.by_numbers(function, args, kwargs, f"np.{function.__name__}", instead)
        alike, results = results_of(likes)
        outputs = self.append(function, given, named, [(r.shape, r.dtype) for r in results])
        return alike([*map(self.array, outputs)])

    def by_numbers(self, function: Any, args: Any, kwargs: Any, what: str, instead: str) -> Any:
        """What is called because of its numbers, which is known of arrays from outside: these are
        guarded by them. An error says of all others what to do instead.
        """

        def known(x: Any) -> Any:
            if type(x) in (tuple, list):
                return type(x)(map(known, x))
            return np.array(x.concrete(what)) if type(x) is TracedArray else x

        try:
            args, kwargs = known(args), {name: known(x) for name, x in kwargs.items()}
        except TracingError:
            raise refusals.shape_depends(what, instead) from None
        alike, results = results_of(function(*args, **kwargs))
        return alike([self.array(self.program.constant(r)) for r in results])

    def store(self, function: Any, result: Any, targets: tuple[Any, ...], where: Any) -> Any:
        target = targets[0]
        if type(target) is TracedArray and target.scalar:
            return result  # a number is not changed in place
        if where is not True:
            if target is None:
                raise TracingError("a ufunc with where= needs out= in a compiled function")
            result = np.where(where, result, target)
        if target is None:
            return result
        refusals.check_holds(function, result, target)
        writable(target).write(result)
        return target

    # ---- what the engine and the optimizers ask ----------------------------------------------

    def as_array(self, x: Any) -> TracedArray:
        """As NumPy makes one: of what stands for Python's number it is no number any more."""
        array = self.for_leaf(x)
        return array.astype(array.dtype) if array.weak else array

    def for_leaf(self, x: Any) -> TracedArray:
        """What stands for an array or a number, which it stays."""
        if type(x) is TracedArray:
            return x
        value = self.operand(x)
        if type(value) is not Value:
            value = self.program.constant(np.asarray(value))
        return self.array(value)

    def lasting(self, x: Any, mapping: Any, key: Any) -> Any:
        """An array of its own, that the program reads and writes like one from outside."""
        value = self.program.constants.get(x.value)
        if value is None:
            maker = self.makers.of(x.value)
            if maker is None or maker.inputs:
                raise refusals.Postponed
            value = maker.function(*maker.args, **maker.kwargs)
        return TracedArray(self, self.keep(np.array(value), mapping, key), ())

    def once(self, x: Any) -> Any:
        raise refusals.Postponed

    def anew(self, x: Any) -> TracedArray:
        value = self.record(operations.anew, (x.value, tick()), x.shape, x.dtype)
        value.weak, value.bounds = x.value.weak, x.value.bounds
        return self.array(value)

    def offset(self, x: Any) -> int:
        origin, inside = x.storage.origin, offset(x.like)
        return inside if origin is None else inside + self.begins(origin)

    def elements(self, x: Any) -> int:
        """Of memory from outside that is more than what `x` looks into nothing is known."""
        return x.storage.value.size if x.storage.origin is None else sys.maxsize

    def address(self, x: Any) -> Any:
        raise TracingError(
            f"the address of a tensor in a compiled function, at\n  {line_of(*here())}\nIt is "
            "another one at each call. Compare tensors by `is`, or pass what it decides as an "
            "argument."
        )

    def met(self, x: Any) -> Any:
        if x.weak or x.dtype.kind == "b":
            return x
        if x.dtype == np.uint64:  # which may be more than int64 holds
            return number_of(x, int)
        return self.number_like(x, type(x.dtype.type(0).item()))

    def number(self, x: Any) -> Any:
        return x if x.weak else self.number_like(x, np.float64)

    def number_like(self, x: Any, kind: Any) -> TracedArray:
        """A value as a Python number of this kind."""
        dtype = np.dtype(kind)
        value = self.record(operations.number, (x.value, dtype), (), dtype)
        value.weak = True
        return self.array(value)


def stacked(x: Any) -> Any:
    """The array in a tensor, or of a list of traced ones and numbers, or of such lists; anything
    else as it is.
    """
    if isinstance(x, Tensor):
        return x.numpy()
    if not isinstance(x, list | tuple):
        return x
    parts = [*map(stacked, x)]
    if not any(type(part) is TracedArray for part in parts):
        return x
    return np.stack([x.astype(x.dtype) if type(x) is TracedArray else np.asarray(x) for x in parts])


def heard(function: Any, /, *args: Any) -> Any:
    """Call this, as anything else."""
    return function(*args)


def _is_ours(function: Any) -> bool:
    """Whether a function is NumPy's or the engine's: it calls nothing that it is not given."""
    body = getattr(function, "body", None)
    if body is not None:
        return is_internal(body.__code__.co_filename)
    around = getattr(function, "__self__", None)
    if type(around) is np.ufunc:
        return around in _UFUNCS
    return function in Trace.meanings or function in Kind.meanings or function in _UFUNCS


_UFUNCS = frozenset(x for x in vars(np).values() if isinstance(x, np.ufunc))


def _in_single(function: Any, call: Function, args: Any, kwargs: Any) -> Any:
    """A function of half precision, computed in float32.

    What gives nothing but views computes nothing: they are views of the arrays themselves.
    """
    looks = False

    def wide(args: Any, kwargs: Any) -> Any:
        nonlocal looks
        result = call(args, kwargs)
        given = [x.storage for x in arrays_in((*args, *kwargs.values())) if _is_traced(x)]
        views = [_is_traced(x) and x.storage in given for x in arrays_in([result])]
        looks = bool(views) and all(views) and not writes(function) and kwargs.get("out") is None
        return result

    result = computed(function, wide, args, kwargs)
    return call(args, kwargs) if looks else result


def _is_traced(x: Any) -> bool:
    return type(x) is TracedArray


def writable(x: Any) -> TracedArray:
    """The array that a function writes into."""
    return x if type(x) is TracedArray else refusals.unwritable()


def known(x: TracedArray) -> Any:
    """The number of an int that an input decides; of all else, the number of an iteration among
    them, the value.
    """
    if x.value.bounds is None:
        return x.value
    try:
        return x.known("the number")
    except TracingError:
        return x.value


def values_of(trace: Trace, item: Any) -> Any:
    def value_of(x: Any) -> Any:
        if type(x) is TracedArray:
            return known(x)
        return trace.external(x) if isinstance(x, np.ndarray) else x

    return each(value_of, item)


# ---- arrays ---------------------------------------------------------------------------------


@with_operators
class TracedArray(ArrayMethods):
    """An array whose numbers are not known yet; see the module."""

    __slots__ = ("_scope", "_seen", "_value", "path", "single", "storage", "trace")
    stands_for = np.ndarray  # see dtypes.class_of
    takes_loops = True  # a function that loops over arrays is one statement
    kind = property(operator.attrgetter("trace"))

    def __init__(self, trace: Trace, storage: Storage, path: tuple[Step, ...]) -> None:
        self.trace = trace
        self.storage = storage
        self.path = path
        self._seen = -1
        self._value: Value | None = None
        self._scope: Scope | None = None
        self.single = False  # NumPy would have returned a scalar, not an array of no dimensions

    # ---- state --------------------------------------------------------------------------------

    @property
    def value(self) -> Value:
        """The value that it holds at present."""
        storage = self.storage
        if not self.path:
            return storage.value
        if self._seen != storage.writes or self._value is None or not self._is_in_reach():
            value = storage.value
            for step in self.path:
                value = step.look(self.trace, value)
            self._keep(value)
        return self._value  # type: ignore[return-value]

    def _keep(self, value: Value) -> None:
        """Remember what a view shows, until it is written, and where that was looked up."""
        self._value, self._seen = value, self.storage.writes
        self._scope = self.trace.scopes[-1] if self.trace.scopes else None

    def _is_in_reach(self) -> bool:
        """Whether what a view shows was looked up here: what a branch makes stays in it."""
        scope = self._scope
        return scope is None or any(scope in outer.lineage for outer in self.trace.scopes)

    def become(self, value: Value) -> None:
        """Hold another value of this shape and dtype from now on."""
        storage = writable_now(self.trace, self.storage)
        storage.value = written(self.trace, storage.value, self.path, value)
        storage.writes += 1
        self.trace.written.append(storage.born)

    def write(self, x: Any) -> None:
        """Hold the numbers of `x`, cast and broadcast, as `self[...] = x` says."""
        value = assigned(self.trace, x, self.shape, self.dtype)
        shape, dtype = self.shape, self.dtype
        if type(value) is not Value:
            value = self.trace.record(operations.full, (shape, value, dtype), shape, dtype)
        if value.shape != shape:
            value = self.trace.record(np.broadcast_to, (value, shape), shape, dtype)
        if 0 not in shape:
            self.become(value)

    def look(self, function: Function, args: Any, shape: Shape) -> TracedArray:
        """A view of this array."""
        step = Step(function, args, tuple(shape), self.dtype)
        return TracedArray(self.trace, self.storage, (*self.path, step))

    def peek(self, function: Function, of_array: Function) -> TracedArray:
        """A view: what `function` makes of the value, as `of_array` does of NumPy's arrays."""
        value = function(self.value)
        step = Peek(function, of_array, value.shape, value.dtype)
        view = TracedArray(self.trace, self.storage, (*self.path, step))
        view._keep(value)
        return view

    @property
    def shape(self) -> Shape:
        return self.path[-1].shape if self.path else self.storage.value.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        raise TracingError("assign a reshaped array instead of its .shape: x = x.reshape(...)")

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.path[-1].dtype if self.path else self.storage.value.dtype

    @property
    def weak(self) -> bool:
        """Whether this is one of Python's numbers; a view of one is an array."""
        return not self.path and self.storage.value.weak

    @property
    def scalar(self) -> bool:
        """Whether this is a number of Python or of NumPy outside of a trace."""
        return self.single or self.weak

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """What `isinstance` goes by: what stands for one of Python's numbers is one to NumPy's
        code. To ours a number is one that is known.
        """
        if not self.weak or is_internal(sys._getframe(1).f_code.co_filename):
            return TracedArray
        return dtypes.class_of(self)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    # ---- memory -------------------------------------------------------------------------------

    @property
    def is_plain(self) -> bool:
        """Whether this is a whole storage, and row-major."""
        return not self.path and self.storage.strides is None

    @property
    def like(self) -> np.ndarray[Any, Any]:
        """An array of NumPy's that lies in memory as this would. It has no numbers to look at."""
        return self.seen_in(self.storage.like())

    def seen_in(self, array: np.ndarray[Any, Any]) -> Any:
        """What this sees of an array that lies as its storage does."""
        for step in self.path:
            array = step.seen(array)
        return array

    @property
    def strides(self) -> tuple[int, ...]:
        return self.like.strides

    @property
    def base(self) -> None:
        if is_users():
            raise unasked("base")

    @property
    def flags(self) -> Flags:
        return Flags(self.like)

    # ---- numbers ------------------------------------------------------------------------------

    def concrete(self, what: str) -> Any:
        """The numbers, if they are known while tracing; else an error names `what` needs them."""
        value = self.value
        constants = self.trace.program.constants
        if value in constants:
            return constants[value]
        return self.trace.decide(self, what)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        array = np.asarray(self.concrete("np.asarray()"))
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        if copy:
            return array.copy()
        array = array.view()
        array.flags.writeable = False  # what is written there would not arrive
        return array

    def __str__(self) -> str:
        return str(self.known("str()"))

    def __bool__(self) -> bool:
        return bool(self.concrete("bool()"))

    def __float__(self) -> float:
        return float(self.concrete("float()"))

    def __int__(self) -> int:
        return int(self.concrete("int()"))

    def __complex__(self) -> complex:
        return complex(self.concrete("complex()"))

    def __index__(self) -> int:
        return self.concrete("an index").__index__()

    def item(self, *index: Any) -> Any:
        if self.value in self.trace.program.constants:
            return np.asarray(self.concrete(".item()")).item(*index)
        self._must_run(".item()")
        chosen = self if not index else np.ravel(self)[index] if len(index) == 1 else self[index]
        return item_of(chosen)

    def known(self, what: str) -> Any:
        """What this stands for, if it is known: a number of its class, or an array."""
        array = np.asarray(self.concrete(what), self.dtype)
        return array if not self.scalar else array.item() if self.weak else array[()]

    def __hash__(self) -> int:  # type: ignore[override]
        if not self.scalar:
            raise TypeError("unhashable type: 'numpy.ndarray'")
        return hash(self.known("hash()"))

    def tolist(self) -> Any:
        if self.value in self.trace.program.constants or self.size > LISTED:
            return np.asarray(self.concrete(".tolist()")).tolist()
        self._must_run(".tolist()")
        return [part.tolist() for part in self] if self.shape else self.item()

    def _must_run(self, what: str) -> None:
        """What is a number of the program at each call is none of one that never ran."""
        if self.trace.decide is refusals.lost:
            refusals.lost(self, what)

    def tobytes(self) -> bytes:
        return np.asarray(self.concrete(".tobytes()")).tobytes()

    def __format__(self, spec: str) -> str:
        return format(self.known("format()"), spec) if self.scalar else super().__format__(spec)

    def __repr__(self) -> str:
        if self.scalar:
            return repr(self.known("repr()"))
        self.trace.showed()
        return f"<traced {self.dtype}{list(self.shape)}>"

    # ---- methods --------------------------------------------------------------------------------

    @property
    def real(self) -> TracedArray:
        return numpy.real(self)

    @property
    def imag(self) -> TracedArray:
        return numpy.imag(self)

    def astype(
        self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True,
        copy: bool = True,
    ) -> TracedArray:  # fmt: skip
        dtype, strides = dtypes.asked(dtype), layouts.in_order(self, order)
        if casting != "unsafe":
            self.like.astype(dtype, casting=casting)  # type: ignore[call-overload]  # or an error
        if dtype == self.dtype and not self.weak:
            lies = order == "K" or strides == layouts.strides_of(self.like)
            return self if lies and not copy else self.copy(order)
        cast = self.trace.array(self.trace.cast(self.value, dtype), strides)
        cast.single = self.scalar
        return cast

    def copy(self, order: str = "C") -> TracedArray:
        copy = self.trace.array(self.value, layouts.in_order(self, order))
        copy.single = self.single
        return copy

    def view(self, *args: Any) -> TracedArray:
        if args and np.dtype(args[0]) != self.dtype:
            raise TracingError(
                f"a view of {self.dtype} memory as {np.dtype(args[0])} at\n  {line_of(*here())}\n"
                "Bits cannot be reinterpreted in a compiled function; convert with astype."
            )
        return self.look(operations.view, (slice(None),) * self.ndim, self.shape)

    def __copy__(self) -> TracedArray:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> TracedArray:
        return self.copy()


def _laid_out(function: Any, args: Any, kwargs: Any, result: TracedArray) -> Strides:
    """The strides that NumPy gives a result."""
    given = [x for x in arrays_in((*args, *kwargs.values())) if type(x) is TracedArray]
    turned = function in layouts.INDEXED or not all(x.is_plain for x in (result, *given))
    if not turned or any(x.storage is result.storage for x in given):
        return result.storage.strides
    like = lambda x: x.like if type(x) is TracedArray else None
    call, shapes = (function, args, kwargs), [x.shape for x in given]
    return layouts.found(call, like, result.shape, shapes, result.storage.strides)
