"""Recording: each rule of the table becomes a function to call and a class of nodes.

`recorder(np.multiply)` is the function that runs `np.multiply` on Tensors and records it. It is
written by `codegen.py` and compiled on first use. Here too is what happens to operands that are not
tensors of one dtype: promotion, as PyTorch decides it, by recorded casts.

Read `node.py` and `codegen.py` first; `engine.py` walks what is recorded here.
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
from collections.abc import Callable, Iterable
from inspect import signature
from types import FunctionType
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.arrays.kind import kind_of
from wengert.autograd import codegen, saved, zeros
from wengert.autograd.forward import carried
from wengert.autograd.out import into
from wengert.dispatch import Function
from wengert.errors import DtypeError, LinAlgError, MissingRuleError, ShapeError
from wengert.history import forks, modes
from wengert.history.location import INTERNAL, here
from wengert.history.node import Node, Output, tick
from wengert.rules.quick import QUICK
from wengert.rules.rule import RULES, Rule, parameters, unbroadcast
from wengert.rules.shapes import astype
from wengert.tensor import (
    INFERENCE,
    NUMBERS,
    Tensor,
    View,
    cell_of,
    current_node,
    may_record,
    settle,
    view_of,
    wrap,
)

Recorder = Callable[..., Any]
DIRECT = frozenset({np.ndarray, int, slice, tuple, list, type(None), type(Ellipsis)})
"""What indices usually are."""
_recorders: dict[Function, Recorder] = {}


def recorder(function: Function) -> Recorder:
    """The function that runs `function` on Tensors and records it, if it has a rule.

    Its text is written when it is first called, so that importing stays quick; then it takes over
    the code that was compiled, and whoever holds it calls that code without a layer between.
    """
    made = _recorders.get(function)
    if made is None:
        rule = RULES.get(function)
        if rule is None:
            raise MissingRuleError(
                f"{getattr(function, '__name__', function)} has no derivative rule, so it cannot "
                "be applied to a tensor. Write it with functions that have one, or apply it to "
                "x.detach().numpy() if no derivative is wanted."
            )
        made = _recorders[function] = _sequence(rule) if rule.sequence else _unwritten(rule)
    return made


def _unwritten(rule: Rule) -> Recorder:
    space: dict[str, Any] = {}
    first = _first_call_of_one if _is_unary(rule) else _first_call
    record = FunctionType(first.__code__, space, rule.name.lower())
    record.__kwdefaults__ = first.__kwdefaults__

    def write(*args: Any, **kwargs: Any) -> Any:
        _write(record, rule)
        return record(*args, **kwargs)

    space["write"] = write
    return record


def _write(record: Recorder, rule: Rule) -> dict[str, Any]:
    """Write a recorder's text, unless that is done; the names that the text uses."""
    space = record.__globals__
    with _WRITING:
        if "record" not in space:
            _take_over(record, _compiled(rule, record, space))
    return space


_WRITING = forks.renewed(threading.RLock())
"""Held by the thread that writes a recorder; others that call it meanwhile wait for the text."""


def _take_over(function: Any, text: Any) -> None:
    function.__defaults__, function.__kwdefaults__ = text.__defaults__, text.__kwdefaults__
    function.__code__ = text.__code__  # the last: from now on other threads run it


# Each recorder has a `write` of its own.
def _first_call(*args: Any, **kwargs: Any) -> Any:
    return write(*args, **kwargs)  # type: ignore[name-defined]  # noqa: F821


def _first_call_of_one(input: Any, *, out: Any = None) -> Any:
    return write(input, out=out)  # type: ignore[name-defined]  # noqa: F821


def usually(
    function: Function, condition: str, actual: str, quick: str
) -> Callable[[Recorder], Recorder]:
    """A decorator that takes the commonest calls of a public function straight to `function`.

    The texts are about the arguments of the decorated function and the names of its module: calls
    that give a tensor around a plain array first, and meet `condition`, record `function(actual)`
    without a layer between. `quick` says what that is for arrays, which have the names of the
    arguments of `function` and `_array`. All other calls go to the function as it is written.
    """
    rule = RULES[function]

    def decorate(general: Recorder) -> Recorder:
        space: dict[str, Any] = {}
        public = FunctionType(_first_call.__code__, space)
        functools.update_wrapper(public, general)

        def write(*args: Any, **kwargs: Any) -> Any:
            names = inspect.unwrap(general).__globals__
            space.update({**names, **_write(recorder(function), rule), "general": general})
            text = codegen.usual_text(
                codegen.Plan(rule), public.__name__, signature(general), condition, actual, quick
            )
            _take_over(public, codegen.compiled(text, space, rule))
            return public(*args, **kwargs)

        space["write"] = write
        return public

    return decorate


def listing(function: Function) -> str:
    """The text written for a function: how it records, how its node pulls back, how it pushes.

    >>> print(listing(np.tanh).splitlines()[0])
    def record(input, *, out=None):
    """
    rule = RULES[function]
    plan = codegen.Plan(rule)
    parts = [_text(rule, plan), codegen.pull_text(plan, recorded=False), codegen.push_text(rule)]
    return "\n\n".join(parts)


# ---- compiling -----------------------------------------------------------------------------


def _text(rule: Rule, plan: codegen.Plan) -> str:
    if _is_unary(rule):
        return codegen.unary_text(plan)
    if _is_binary(rule):
        return codegen.binary_text(plan)
    return codegen.record_text(plan)


def _is_unary(rule: Rule) -> bool:
    return rule.family == "elementwise" and len(rule.arguments) == 1


def _is_binary(rule: Rule) -> bool:
    return rule.family == "elementwise" and len(rule.arguments) == len(rule.reverse) == 2


def _compiled(rule: Rule, record: Recorder, space: dict[str, Any]) -> Any:
    """The text's function; it finds its names in `space`, and itself there as `record`."""
    plan = codegen.Plan(rule)
    space |= _namespace(rule, plan)
    if _is_binary(rule):
        a, b = rule.arguments
        for name, number in (("left_number", a), ("right_number", b)):
            part = codegen.Plan(rule, constant=number)
            names = _namespace(rule, part) | {"record": record}
            space[name] = codegen.compiled(codegen.number_text(part, name), names, rule)
    text = codegen.compiled(_text(rule, plan), space, rule)
    space["record"] = record
    return text


def _node_class(rule: Rule, plan: codegen.Plan) -> type[Node]:
    members: dict[str, Any] = {"__slots__": (), "rule": rule, "fields": tuple(plan.fields)}
    members |= saved.introspection(members["fields"])
    members["numbers"] = int(plan.constant is not None and rule.function in _BETWEEN_TENSORS)
    space = _namespace(rule)
    members["pull"] = codegen.compiled(codegen.pull_text(plan, recorded=False), space, rule)

    def pull_recorded(self: Any, g: Any) -> Any:  # written when asked for, which is rare
        made.pull_recorded = codegen.compiled(codegen.pull_text(plan, recorded=True), space, rule)
        return made.pull_recorded(self, g)

    def selecting(recorded: bool) -> Any:  # the same where zeros stay zero; see `zeros.py`
        chosen = {f"rule_{n}": _zeros_kept(transpose) for n, transpose in rule.reverse.items()}
        text = codegen.pull_text(plan, recorded, together=False)
        return codegen.compiled(text, {**space, **chosen}, rule)

    members["pull_recorded"] = pull_recorded
    members["selecting"] = staticmethod(functools.cache(selecting))
    made: Any = type(node_name(rule), (Node if rule.outputs == 1 else Several,), members)
    return made


def _zeros_kept(transpose: Any) -> Any:
    return lambda g, *values: zeros.kept(g, transpose(g, *values))


# What PyTorch computes with tensors only, after making one of a number.
_BETWEEN_TENSORS = (np.add, np.subtract, np.multiply, np.divide)


def node_name(rule: Rule) -> str:
    """The node's class name, as PyTorch spells it: AddBackward0, and CopyBackwards."""
    return rule.name if rule.name.endswith("Backwards") else f"{rule.name}Backward0"


class Several(Node):
    """A node with several outputs; `likes` tells the shape and dtype of each."""

    __slots__ = ("likes", "outputs")
    likes: list[tuple[tuple[int, ...], np.dtype[Any]]]


def _namespace(rule: Rule, plan: codegen.Plan | None = None) -> dict[str, Any]:
    space: dict[str, Any] = {
        "Cell": saved.Cell,
        "Freed": saved.Freed,
        "DIRECT": DIRECT,
        "INFERENCE": INFERENCE,
        "INTERNAL": INTERNAL,
        "NUMBERS": NUMBERS,
        "Output": Output,
        "Tensor": Tensor,
        "View": View,
        "alone": alone,
        "carried": carried,
        "cell_of": cell_of,
        "at": lambda node, slot: Output(node, slot) if slot else node,
        "checked": saved.checked,
        "conj": np.conj,
        "current_node": current_node,
        "dispatched": rule.function,
        "dtype_of": dtypes.of,
        "filled": filled,
        "float32": dtypes.float32,
        "floating": floating,
        "foreign": foreign,
        "freed": saved.freed,
        "function": QUICK.get(rule.function) or getattr(rule.function, "plain", rule.function),
        "getframe": sys._getframe,
        "into": into,
        "may_record": may_record,
        "modes": modes,
        "modified": saved.modified,
        "ndarray": np.ndarray,
        "needs_floating": needs_floating,
        "new": object.__new__,
        "pick": pick,
        "operand": saved.operand,
        "overwritten": saved.overwritten,
        "promoted": promoted,
        "refuse": refuse,
        "restored": saved.restored,
        "restored_output": saved.restored_output,
        "rule": rule,
        "same_dtype": dtypes.same,
        "settle": settle,
        "settle_node": saved.settle_node,
        "shape_of": np.shape,
        "tick": tick,
        "twin": saved.twin,
        "unbroadcast": unbroadcast,
        "unsuited": unsuited,
        "view_of": view_of,
        "wrapped": wrapped,
        "wrap": wrap,
    }
    space |= {f"rule_{n}": transpose for n, transpose in rule.reverse.items()}
    space |= {"rule_together": rule.together}
    space |= {f"default_{n}": value for n, value in rule.defaults.items()}
    if plan is not None:
        space["NodeClass"] = _node_class(rule, plan)
    return space


def pick(x: Tensor, record: Recorder, slot: int, *args: Any) -> Tensor:
    """One output of a function with several, to replay a view."""
    return record(x, *args)[slot]


def filled(node: Several, cotangents: list[Any]) -> list[Any]:
    """Outputs that received no cotangent count as zero; a lone one arrives without its list."""
    if node.outputs == 1:
        cotangents = [cotangents]
    return [
        np.zeros(shape, dtype) if g is None else g
        for g, (shape, dtype) in zip(cotangents, node.likes, strict=True)
    ]


# ---- functions of a sequence of arrays -----------------------------------------------------


def _sequence(rule: Rule) -> Recorder:
    """The recorder of a function whose argument is a list of arrays (concatenate, einsum)."""
    name = rule.sequence
    assert name is not None
    function = rule.function
    keeps = name in codegen.Plan(rule).values

    node_type = type(node_name(rule), (SequenceNode,), {"__slots__": (), "rule": rule})

    def record(*args: Any, **kwargs: Any) -> Any:
        call = rule.bind(*args, **kwargs)
        items = call[name] = uniform(list(call[name]))
        operands = tuple(call.values())
        call[name] = [x._array if isinstance(x, Tensor) else x for x in items]
        array = settle(function(*call.values()))
        out = wrap(array)
        if modes.special and not may_record(out):
            return carried(record, rule, operands, out) if modes.pushing else out
        edges = tuple(current_node(x) if isinstance(x, Tensor) else None for x in items)
        if any(edge is not None for edge in edges):
            node = node_type()
            node.begin(edges)
            node.shapes = [np.shape(x) for x in call[name]]
            node.call = {k: v for k, v in call.items() if k != name}
            node.saved = tuple(items) if keeps else ()
            node.code, node.at = here()
            out._node = node
            if modes.special or any(x._origin is INFERENCE for x in items if isinstance(x, Tensor)):
                saved.settle_node(node, array)
        return carried(record, rule, operands, out) if modes.pushing else out

    return record


class SequenceNode(Node):
    """A node whose inputs are the items of one list argument."""

    __slots__ = ("call", "shapes")
    call: dict[str, Any]
    shapes: list[tuple[int, ...]]

    def pull(self, g: Any) -> Any:
        return self._pull(g, [saved.checked(self, value, None) for value in self._saved()])

    def pull_recorded(self, g: Any) -> Any:
        values = zip(self._saved(), self.edges, strict=False)
        return self._pull(g, [saved.restored(self, value, edge) for value, edge in values])

    def release(self, freed: Any) -> None:
        if self.saved:
            self.saved = freed

    def _saved(self) -> Any:
        if type(self.saved) is saved.Freed:
            raise saved.freed(self)
        return self.saved

    def _pull(self, g: Any, items: list[Any]) -> Any:
        rule = self.rule
        assert rule is not None
        name = rule.sequence or ""
        transpose = rule.reverse[name]
        given = {**self.call, name: items, f"{name}_shape": self.shapes}
        values = [given[p] for p in parameters(transpose)]
        if g.dtype.kind == "c" and items:
            return [np.conj(x) for x in transpose(np.conj(g), *values)]
        return transpose(g, *values)


def refuse(rule: Rule, argument: str) -> None:
    """MissingRuleError, if this is recorded: an argument requires grad that has no rule."""
    if modes.is_grad_enabled():
        name = rule.function.__name__
        raise MissingRuleError(
            f"{name}: its argument {argument} requires grad, but no rule says how {name} depends "
            f"on it. State one, or None for an argument to count as constant, or pass "
            f"{argument}.detach()."
        )


# ---- operands of several kinds -------------------------------------------------------------


def unsuited(rule: Rule | str, error: Exception, operands: tuple[Any, ...]) -> Exception:
    """The error of operands that NumPy refused, in terms of tensors and their shapes."""
    shapes = [list(x.shape) for x in operands if isinstance(x, Tensor)]
    if isinstance(error, np.linalg.LinAlgError):
        name = rule.function.__name__ if isinstance(rule, Rule) else rule
        return LinAlgError(f"linalg.{name}: {error}. {_linalg_hint(str(error))}".rstrip())
    if isinstance(error, TypeError):
        kinds = " and ".join(str(x.dtype) for x in operands if isinstance(x, Tensor))
        return DtypeError(f"{rule} is not defined for tensors of dtype {kinds}: {error}")
    if "negative integer powers" in str(error):
        return RuntimeError(
            "Integers to negative integer powers are not allowed: they would not be integers. Make "
            "one a float, as in x.float() ** y."
        )
    if isinstance(error, IndexError) or len(shapes) < 2:
        return error if isinstance(error, IndexError) else ShapeError(f"{rule}: {error}")
    listed = " and ".join(map(str, shapes))
    if isinstance(rule, Rule) and rule.function is np.matmul:
        return ShapeError(
            f"mat1 and mat2 shapes cannot be multiplied ({listed}): the last size of the first "
            "must be the last but one of the second. Transpose one, e.g. b.mT."
        )
    if isinstance(rule, str) or rule.family == "elementwise":
        a, b = shapes[0][::-1], shapes[1][::-1]
        for i, (m, n) in enumerate(zip(a, b, strict=False)):
            if m != n and 1 not in (m, n):
                dimension = max(len(a), len(b)) - 1 - i
                return ShapeError(
                    f"The size of tensor a ({m}) must match the size of tensor b ({n}) at "
                    f"non-singleton dimension {dimension}: shapes {listed} do not broadcast. "
                    "Compare x.shape of both; unsqueeze(dim) adds a dimension of size 1."
                )
    return ShapeError(f"{rule} does not take shapes {listed}: {error}")


def _linalg_hint(found: str) -> str:
    """What to do about a matrix that NumPy refused."""
    if "Singular" in found:
        return (
            "It has no inverse, nor has a system with it a unique solution. linalg.lstsq and "
            "linalg.pinv take such matrices."
        )
    if "positive definite" in found:
        return (
            "The factorization could not be completed because the input is not positive-definite; "
            "adding a small multiple of the identity may make it so. Is it symmetric?"
        )
    if "converge" in found:
        return "The matrix may contain NaN or infinity: see x.isfinite()."
    return ""


def needs_floating(array: Any, x: Any) -> bool:
    """Whether NumPy turned integers into its own float64, where PyTorch takes the default dtype."""
    return array.dtype.kind == "f" and x.dtype.kind in "biu"


def floating(x: Any) -> Any:
    """An integer tensor as the default floating dtype; anything else as it is."""
    if isinstance(x, Tensor) and x._array.dtype.kind in "biu":
        return cast(x, dtypes.get_default_dtype())
    return x


def alone(record: Recorder, rule: Rule, x: Any) -> Any:
    """The operand of a function of one: a number or an array, or a TypeError."""
    result = foreign(record, rule, (x,))
    if result is NotImplemented:
        name = getattr(rule.function, "__name__", rule.name.lower())
        raise TypeError(
            f"{name}() takes a tensor or a number, but got {type(x).__name__}. "
            "Make a tensor with wengert.tensor(...)."
        )
    return result


def cast(x: Tensor, dtype: Any) -> Tensor:
    """A recorded change of dtype; none if there is nothing to change."""
    return x if x._array.dtype is dtype else recorder(astype)(x, dtype)


def foreign(record: Recorder, rule: Rule, operands: tuple[Any, ...]) -> Any:
    """Operands that are neither tensors nor Python numbers: NumPy scalars, arrays, lists."""
    made = []
    for x in operands:
        if isinstance(x, np.generic):
            x = x.item()
        elif isinstance(x, np.ndarray):
            x = dtypes.native(x)
            x = wrap(x) if x.ndim else x.item()
        elif type(x) not in NUMBERS and not isinstance(x, Tensor):
            if isinstance(x, (bool, int, float, complex)):
                x = next(kind(x) for kind in (bool, int, float, complex) if isinstance(x, kind))  # type: ignore[arg-type]
            elif hasattr(x, "__array_function__"):
                x = wrap(x if x.ndim else kind_of(x).met(x))
            elif dtypes.is_foreign(x):
                raise dtypes.foreign(x)
            else:
                return NotImplemented
        made.append(x)
    if not any(isinstance(x, Tensor) for x in made):
        made[0] = wrap(np.asarray(made[0], dtypes.result_type(made[0])))
    return record(*made)


def promoted(record: Recorder, rule: Rule, operands: tuple[Any, ...]) -> Any:
    """Operands of several dtypes: cast to the one that promotion gives, and call again."""
    tracked = {rule.arguments.index(n) for n in rule.differentiable}
    these = [x for i, x in enumerate(operands) if i in tracked and x is not None]
    target = dtypes.canonical(
        dtypes.result_type(*(x._array if isinstance(x, Tensor) else x for x in these))
    )
    if not rule.promotes:
        one_dtype(rule.name, these)
    if _is_binary(rule) and not dtypes.is_inexact(target) and not codegen.keeps_integers(rule):
        target = dtypes.get_default_dtype()
    made = []
    for i, x in enumerate(operands):
        if i in tracked and x is not None:
            if isinstance(x, Tensor):
                x = cast(x, target)
            elif isinstance(x, np.ndarray) and x.dtype != target:
                x = x.astype(target)
            elif type(x) in NUMBERS and len(these) == 2 and target.kind == "c":
                x = complex(x)
        made.append(x)
    if all(x is y for x, y in zip(made, operands, strict=True)):
        # Nothing to cast, yet the result changed its dtype: two zero-dimensional operands, say.
        return record(*(_as_array(x, target) if i in tracked else x for i, x in enumerate(made)))
    return record(*made)


def one_dtype(name: str, tensors: Iterable[Any]) -> None:
    """DtypeError if there are tensors of different dtypes among these values."""
    kinds = dict.fromkeys(str(x._array.dtype) for x in tensors if isinstance(x, Tensor))
    if len(kinds) > 1:
        raise DtypeError(
            f"{name}: expected tensors to have the same dtype, but got {' and '.join(kinds)}. "
            "Convert one, as in b.to(a.dtype), or a layer, as in layer.double()."
        )


def wrapped(number: Any, x: Any) -> Tensor:
    """A number that is out of the range of the array's integers, as PyTorch counts: -1 as 255."""
    return wrap(np.asarray(number).astype(x.dtype))


def _as_array(x: Any, dtype: Any) -> Any:
    if isinstance(x, Tensor) or x is None:
        return x
    if isinstance(x, str):
        raise TypeError("a tensor or a number was expected, not a str. Is it an argument's name?")
    try:
        return wrap(np.asarray(x, dtype))
    except ValueError as error:
        raise TypeError(f"a tensor or a number was expected, not {x!r}: {error}") from None


def uniform(items: list[Any]) -> list[Any]:
    """The items of a list argument, cast to one dtype."""
    kinds = {dtypes.of(x._array if isinstance(x, Tensor) else x) for x in items}
    if len(kinds) < 2:
        return items
    target = dtypes.result_type(*(x._array if isinstance(x, Tensor) else x for x in items))
    return [cast(x, target) if isinstance(x, Tensor) else np.asarray(x, target) for x in items]
