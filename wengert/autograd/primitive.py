"""Rules of one's own: functions with a derivative that is stated, not found by recording the body.

    @wg.primitive.elementwise(lambda t, y: t * y * (1 - y))
    def logistic(x):
        return 1 / (1 + np.exp(-x))

The three decorators are the three families of the table in `rules/`, and what they register is a
rule like those: recorded by the engine, read in both directions and to every order, batched by
vmap, and captured by the compiler. They serve where the body is not NumPy code (a SciPy routine, a
solver, a library of somebody else's), where the derivative of the formula is inaccurate or costly,
and where another derivative is wanted than the true one (a straight-through estimator, say).

A ufunc, which asks its arguments by itself what it means, is declared as it is:

    wg.primitive.elementwise(lambda t, y: t * y * (1 - y))(scipy.special.expit)
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from wengert.dispatch import Function, as_array, signature
from wengert.dispatch import primitive as dispatchable
from wengert.errors import BatchingError, MissingRuleError, ShapeError, TracingError
from wengert.rules.rule import RULES, Family, Lambda, no_forward, register
from wengert.rules.shapes import astype
from wengert.tensor import Tensor

Decorator = Callable[[Function], Function]


def elementwise(
    *rules: Lambda | None,
    opaque: bool = False,
    result: Function | None = None,
    names: str = "",
    inplace: bool = True,
) -> Decorator:
    """Declare a function whose result's elements each depend on one element of each argument.

    y[i] = f(a[i], b[i], ...), broadcast. One lambda for each differentiable argument, in order:
    `(t, ...) -> t * dy/da`, which serves both directions. Its first parameter is the tangent or
    cotangent; the others name what it needs: `y`, the result; an argument of the function; or only
    the shape or dtype of one, as `a_shape`, `a_dtype`. Nothing else is kept for it. Lambdas are
    written with NumPy functions, holomorphically (the family conjugates for complex arrays). None
    in the place of a lambda says that the function counts as constant in that argument.

    The compiler and vmap look into the body, which then is NumPy code throughout. The body of an
    `opaque` function is only ever called with arrays: a compiled program calls it back, and vmap
    calls it with all examples at once. `result`, a function of the same arguments, returns an array
    of the result's shape and dtype; without it the compiler calls the function itself, on zeros.

    A ufunc is declared as it is, for all who call it, and may be somebody else's.

    `names`, separated by spaces, are for tensors: names="logistic" makes `wengert.logistic(x)`,
    with `out=`, the method `x.logistic()`, and, if the function is `inplace`, `x.logistic_()`. They
    say of themselves what the function's docstring says.

    Errors: TypeError if a lambda asks for what the function does not have, or the function's
    arguments have no names; ValueError if a name has a meaning already, or a ufunc a rule;
    ShapeError when called, if the result has not the broadcast shape.

    >>> import wengert as wg
    >>> @elementwise(lambda t, y: t * y * (1 - y))
    ... def logistic(x):
    ...     return 1 / (1 + np.exp(-x))
    >>> wg.grad(logistic)(0.0), wg.grad(wg.grad(wg.grad(logistic)))(0.0)
    (0.25, -0.125)
    """

    def decorate(function: Function) -> Function:
        head = _Head("elementwise", function)
        by_name = head.in_order(rules)
        head.options |= {"names": names, "inplace": inplace}
        return head.register(by_name, by_name, opaque, result)

    return decorate


def linear(
    *transposes: Lambda | None,
    forward: Mapping[str, Lambda] | None = None,
    opaque: bool = False,
    result: Function | None = None,
    names: str = "",
    inplace: bool = False,
    axis: str | None = None,
    shape: str | None = None,
) -> Decorator:
    """Declare a function that is linear in each argument that has a lambda: its transposes.

    f(a, b, ...) with lambdas `(g, ...) -> transpose of f, applied to g`, in the arguments' order,
    None for those without a derivative; a tangent is pushed forward by f itself. For complex
    arrays the transpose is stated, without conjugation. If f is only affine in an argument,
    `forward` has a lambda `(t, ...)` under its name, which applies the linear part.

    `opaque`, `result`, `names` and `inplace` as in `elementwise`; vmap calls an opaque function for
    each example. `axis` is the name of an argument that counts dimensions: then vmap calls the
    function once, with that one further, and under `names` it is called `dim`. `shape` is the name
    of one that is the shape of the result; of all examples, that begins with their number.

    >>> import wengert as wg
    >>> @linear(lambda g, n: np.cumsum(g[::-1])[::-1] if n else g)
    ... def running(x, n=True):
    ...     return np.cumsum(x) if n else x
    >>> wg.grad(lambda x: running(x)[1])(np.ones(3))
    array([1., 1., 0.])
    """

    def decorate(function: Function) -> Function:
        head = _Head("linear", function)
        affine = head.checked(forward or {}, "forward")
        head.options |= {"names": names, "inplace": inplace, **head.roles(axis, shape)}
        return head.register(head.in_order(transposes), affine, opaque, result)

    return decorate


def general(
    *,
    reverse: Mapping[str, Lambda | None],
    forward: Mapping[str, Lambda | None] | None = None,
    outputs: int = 1,
    opaque: bool = False,
    result: Function | None = None,
    names: str = "",
    inplace: bool = False,
    axis: str | None = None,
    shape: str | None = None,
) -> Decorator:
    """Declare a function by both directions, for each differentiable argument by its name.

    `reverse[a]` is `(g, ...) -> J_a^H g`, the cotangent of the argument a, `forward[a]` is
    `(t, ...) -> J_a t`, its share of the tangent of the result. A function with several `outputs`
    returns a tuple of so many arrays; then g and y are lists, and `forward` returns a list.
    Under this family lambdas see complex cotangents as they are: df/dRe + i df/dIm. Without
    `forward`, forward mode through the function is a MissingRuleError.

    The other arguments are those of `linear`.

    >>> import wengert as wg
    >>> @general(
    ...     reverse={"x": lambda g, x: g * np.where(np.abs(x) <= 1, 1, 0)},
    ...     forward={"x": lambda t, x: t * np.where(np.abs(x) <= 1, 1, 0)},
    ... )
    ... def sign(x):
    ...     return np.sign(x)  # its derivative is a straight-through estimator's
    >>> wg.grad(sign)(0.5), wg.grad(sign)(1.5)
    (1.0, 0.0)
    """

    def decorate(function: Function) -> Function:
        head = _Head("general", function, outputs)
        for one, other in (("reverse", "forward"), ("forward", "reverse")):
            given, beside = (reverse, forward) if one == "reverse" else (forward, reverse)
            if given is None or beside is None:
                break
            for name in given.keys() - beside.keys():
                raise TypeError(
                    f"{head.what}: {one} has a rule for {name}, and {other} has none. Both "
                    f"directions are stated: add {other}={{{name!r}: lambda "
                    f"{'t' if other == 'forward' else 'g'}, ...: ...}}."
                )
        head.options |= {"names": names, "inplace": inplace, **head.roles(axis, shape)}
        pulls = head.checked(reverse, "reverse")
        pushes = None if forward is None else head.checked(forward, "forward")
        return head.register(pulls, pushes, opaque, result)

    return decorate


_FACTS = "shape", "dtype"
_MEANT = {
    "y": "the result of the function",
    "y_cell": "what is kept beside it",
    "shapes": "what is kept beside it",
    "out": "the tensor that a result is written into",
}
"""Names that rules and calls have for something else than an argument."""


class _Head:
    """A function to be declared: the names of its arguments, and the checks of its rules."""

    def __init__(self, family: Family, function: Any, outputs: int = 1) -> None:
        if not callable(function):
            raise TypeError(
                f"@{family} takes the rules first, as in @{family}(lambda t, x: ...), and then a "
                f"function, but was given {type(function).__name__}."
            )
        self.family = family
        self.function = function
        self.what = f"@{family} of {getattr(function, '__name__', type(function).__name__)}"
        if type(outputs) is not int or outputs < 1:
            raise TypeError(f"{self.what}: outputs is a number of outputs, not {outputs!r}")
        self.outputs = outputs
        self.ufunc = isinstance(function, np.ufunc)
        self.names = self._of_ufunc() if self.ufunc else self._arguments()
        self.constants: list[str] = []
        self.options: dict[str, Any] = {}

    def _of_ufunc(self) -> tuple[str, ...]:
        if self.function in RULES:
            raise ValueError(
                f"{self.what}: it has a rule already, which holds everywhere. For another "
                "derivative of your own write a function around it: def f(x): return ..."
            )
        if self.function.signature is not None:
            raise TypeError(
                f"{self.what}: it works on {self.function.signature}, not on elements. Write a "
                "function around it: def f(x): return ..."
            )
        if self.function.nout != self.outputs:
            raise TypeError(
                f"{self.what}: it returns {self.function.nout} array(s), not {self.outputs}. "
                f"Declare it with wengert.primitive.general(..., outputs={self.function.nout})."
            )
        return signature(self.function)[0]

    def _arguments(self) -> tuple[str, ...]:
        try:
            parameters = inspect.signature(self.function).parameters
        except (ValueError, TypeError):
            raise TypeError(
                f"{self.what}: its arguments have no names that Python can tell. Write a function "
                "around it: def f(x): return ..."
            ) from None
        for p in parameters.values():
            loose = p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
            if loose or (p.kind == p.KEYWORD_ONLY and p.default is p.empty) or (
                p.kind == p.POSITIONAL_ONLY and p.default is not p.empty
            ):  # fmt: skip
                raise TypeError(
                    f"{self.what}: rules go by the names of arguments, and {p} has "
                    f"{'none' if loose else 'a kind that rules cannot call'}. Give it named "
                    "arguments, as in def f(x, a, axis=None)."
                )
        facts = {f"{n}_{fact}": f"the {fact} of {n}" for n in parameters for fact in _FACTS}
        for name in parameters:
            if why := (facts | _MEANT).get(name):
                raise TypeError(
                    f"{self.what}: an argument is called {name}, which means {why}. "
                    f"Give it another name, such as {name}_."
                )
        return tuple(parameters)

    def roles(self, axis: str | None, shape: str | None) -> dict[str, Any]:
        """What arguments are, as the table has it."""
        for role, name in (("axis", axis), ("shape", shape)):
            if name is not None and name not in self.names:
                raise TypeError(
                    f"{self.what}: {role}={name!r} is to name one of its arguments, "
                    f"{', '.join(self.names)}.{_close(name, self.names)}"
                )
        return {"axes": None if axis is None else (axis,), "shape": shape}

    def in_order(self, rules: tuple[Any, ...]) -> dict[str, Lambda]:
        """The lambdas by the arguments that they stand for."""
        if len(rules) > len(self.names):
            raise TypeError(
                f"{self.what}: {len(rules)} rules were given, for the {len(self.names)} "
                f"argument(s) {', '.join(self.names)}."
            )
        return self.checked(dict(zip(self.names, rules, strict=False)), "rule")

    def checked(self, rules: Mapping[str, Any], kind: str) -> dict[str, Lambda]:
        """The rules that are lambdas, after a look at the names that they use."""
        known = {"y", *self.names}
        known |= {f"{n}_{fact}" for n in self.names for fact in _FACTS}
        for name, rule in rules.items():
            if name not in self.names:
                raise TypeError(
                    f"{self.what}: {kind} has a rule for {name!r}, which is no argument of it. "
                    f"They are {', '.join(self.names)}.{_close(name, self.names)}"
                )
            if rule is None:
                self.constants.append(name)
                continue
            if not callable(rule):
                raise TypeError(
                    f"{self.what}: the {kind} for {name} is {type(rule).__name__} {rule!r}, where "
                    "a lambda was expected, or None."
                )
            first, *wanted = [*inspect.signature(rule).parameters] or [""]
            if not first or (first in known and first not in ("t", "g")):
                raise TypeError(
                    f"{self.what}: the first parameter of the {kind} for {name} is the tangent or "
                    f"cotangent, called t or g by custom, but it is {first or 'missing'}."
                )
            for p in wanted:
                if p not in known:
                    raise TypeError(
                        f"{self.what}: the {kind} for {name} asks for {p!r}. It may ask for y (the "
                        f"result), {', '.join(self.names)}, and NAME_shape or NAME_dtype of an "
                        f"argument.{_close(p, known)}"
                    )
        return {name: rule for name, rule in rules.items() if rule is not None}

    def register(
        self,
        reverse: dict[str, Lambda],
        forward: dict[str, Lambda] | None,
        opaque: bool,
        result: Function | None,
    ) -> Function:
        """The function that dispatches, with its rule in the table."""
        if not reverse:
            raise TypeError(
                f"{self.what} has no rule: say how the result depends on {self.names[0]}, as in "
                f"@{self.family}(lambda t, {self.names[0]}: ...)."
                if self.names
                else f"{self.what}: it has no arguments, so there is nothing to differentiate."
            )
        primitive = self._dispatching(opaque, result)
        reverse = {n: self._guarded(rule, n) for n, rule in reverse.items()}
        if forward is None:
            forward = {n: no_forward(primitive, n) for n in reverse}
        elif self.family != "elementwise":
            forward = {n: self._guarded(rule, "y") for n, rule in forward.items()}
        others = tuple(n for n in self.names if n not in reverse)
        register(
            primitive,
            self.family,
            reverse,
            forward,
            self.names,
            re.sub(r"\W", "", "".join(p.capitalize() for p in primitive.__name__.split("_"))),
            outputs=self.outputs,
            constants=others,
            unstated=tuple(n for n in others if n not in self.constants),
            doc=inspect.cleandoc(primitive.__doc__ or ""),
            **self.options,
        )
        return primitive

    def _dispatching(self, opaque: bool, result: Function | None) -> Function:
        if not self.ufunc:
            return dispatchable(self._body(), opaque=opaque, result=result)
        if opaque or result is not None:
            raise TypeError(
                f"{self.what}: it is opaque, and its result is known. Leave out opaque and result."
            )
        return self.function

    def _guarded(self, rule: Lambda, target: str) -> Lambda:
        """The lambda, with a check that a (co)tangent has the shape of its primal.

        It gets the dtype of that. An elementwise rule's cotangent is not summed yet.
        """
        what = f"the tangent of {self.what}"
        if target != "y":
            what = f"the cotangent of {target}, by the rule in {self.what},"
        names = list(inspect.signature(rule).parameters)
        facts = ["y"] if target == "y" else [f"{target}_shape", f"{target}_dtype"]
        given = len(names) - 1
        names += [n for n in facts if n not in names]
        at = [names.index(n) - 1 for n in facts]
        unsummed, outputs = self.family == "elementwise", self.outputs

        def guarded(g: Any, *values: Any) -> Any:
            derivative = rule(g, *values[:given])
            if target != "y":
                shape, dtype = (values[k] for k in at)
                return _fitting(derivative, g.shape if unsummed else shape, dtype, what)
            y = values[at[0]]
            if outputs == 1:
                return _fitting(derivative, y.shape, y.dtype, what)
            if not isinstance(derivative, (list, tuple)) or len(derivative) != outputs:
                raise TypeError(f"{what} must be a list of {outputs}, one for each output")
            return [
                _fitting(t, item.shape, item.dtype, what)
                for t, item in zip(derivative, y, strict=True)
            ]

        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        guarded.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [inspect.Parameter(n, kind) for n in names]
        )
        return guarded

    def _body(self) -> Function:
        """The function, with what it returns made arrays."""
        function, what, names, outputs = self.function, self.what, self.names, self.outputs
        broadcasts = self.family == "elementwise"

        def body(*args: Any, **kwargs: Any) -> Any:
            try:
                returned = function(*args, **kwargs)
            except (TracingError, BatchingError) as error:
                raise type(error)(
                    f"{error}\nThis is in the body of {what}. If it is not NumPy code throughout, "
                    "declare it with opaque=True: then it is only ever called with arrays."
                ) from error
            if outputs > 1:
                if not isinstance(returned, (tuple, list)) or len(returned) != outputs:
                    raise TypeError(f"{what}: it must return a tuple of {outputs} arrays")
                return tuple(_own(_array(item, what), args) for item in returned)
            array = _own(_array(returned, what), args)
            if broadcasts:
                given = zip(names, args, strict=False)
                shapes = [np.shape(x) for n, x in given if hasattr(x, "shape")]
                shapes += [x.shape for x in kwargs.values() if hasattr(x, "shape")]
                if array.shape != np.broadcast_shapes(*shapes):
                    raise ShapeError(
                        f"{what}: arguments of shapes {' and '.join(map(str, shapes))} gave a "
                        f"result of shape {array.shape}, so it is not elementwise. Declare it "
                        "with wengert.primitive.linear or wengert.primitive.general."
                    )
            return array

        body.__wrapped__ = function  # type: ignore[attr-defined]
        for attribute in ("__name__", "__qualname__", "__doc__", "__module__"):
            if hasattr(function, attribute):
                setattr(body, attribute, getattr(function, attribute))
        return body


def _array(x: Any, what: str) -> Any:
    if isinstance(x, Tensor):
        if x.requires_grad:
            raise MissingRuleError(
                f"{what}: its result depends on a tensor that requires grad and is not among its "
                "arguments, of which no rule knows. Pass it as an argument, or detach it."
            )
        return x._array
    array = as_array(x)
    if array.dtype.kind not in "fciub":
        raise TypeError(f"{what}: it must return an array, but returned {type(x).__name__}")
    return array


def _fitting(derivative: Any, shape: tuple[int, ...], dtype: Any, what: str) -> Any:
    """What a rule returned, in the dtype of what it belongs to."""
    if not hasattr(derivative, "shape"):
        if not isinstance(derivative, (int, float, complex)):
            raise TypeError(f"{what} must be an array, but is {type(derivative).__name__}")
        derivative = np.asarray(derivative)
    if tuple(derivative.shape) != tuple(shape):
        raise ShapeError(
            f"{what} has shape {tuple(derivative.shape)}, where {tuple(shape)} was expected."
        )
    return derivative if derivative.dtype == dtype else astype(derivative, dtype)


def _own(array: Any, args: tuple[Any, ...]) -> Any:
    """A result in memory of its own: a write to it is none to an argument."""
    if type(array) is np.ndarray and any(
        type(x) is np.ndarray and np.may_share_memory(array, x) for x in args
    ):
        return array.copy()
    return array


def _close(name: str, known: Any) -> str:
    near = difflib.get_close_matches(name, sorted(known), 1)
    return f" Did you mean {near[0]}?" if near else ""


__all__ = ["elementwise", "general", "linear"]
