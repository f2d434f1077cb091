"""What the error of a call was really about: an argument that is of another kind than its name.

Functions look at what they need, when they need it: a word for an index fails where it is first
asked for its shape. Nothing is checked before, which would cost every call; when a call has failed,
its arguments are gone through by their names.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np

from wengert.autograd.homonyms import REFUSALS, meant, of_numpy
from wengert.autograd.settings import checked_settings, settled
from wengert.dispatch import Function, each, known, signature
from wengert.tensor import NUMBERS, Tensor, wrap

Told = TypeVar("Told", bound=Function)


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


NUMBERS_TOO = _names("other exponent values test_elements elements value boundaries var repeats")
"""What arguments are called that are tensors or numbers."""
NUMBERS_BESIDE = NUMBERS_TOO | {"self", "min", "max"}
"""Beside these, the first argument may be a number instead."""
TENSORS = NUMBERS_TOO | _names(
    """input tensor condition mat1 mat2 mat vec vec1 vec2 batch1 batch2 tensor1 tensor2 x1 x2 mask
    index indices source src target weight weights bias sorted_sequence A B L LU_data LU_pivots LU
    LD pivots tau anchor positive negative input1 input2 grid theta logits query key attn_mask
    running_mean running_var pos_weight log_probs targets window fweights aweights sorter
    per_sample_weights real imag angle"""
)
"""What arguments are called that are tensors, unless an annotation says something else.

What the files of types say of them is made of the same names: `docs/generate/stubs.py`.
"""
WORDS = _names("padding equation dtype out_dtype device layout")
"""What arguments are called that may be words, where no annotation says so."""


def misfit(
    error: Exception, function: Function, args: tuple[Any, ...], kwargs: dict[str, Any],
    given: dict[str, Any] | None = None,
) -> None:  # fmt: skip
    """Raise what the error of a call is really about, if an argument is not what its name says.

    Of `kwargs` the names are the function's own; `given` are they by the names in the call.

    >>> def gather(input, dim, index): ...
    >>> misfit(AttributeError("no dtype"), gather, ([1.0], 0, "first"), {})
    Traceback (most recent call last):
    TypeError: gather(): argument 'index' (position 3) must be a Tensor, not str. Make one ...
    """
    said = _of_kinds(error, function, args, kwargs)
    known = type(said) in REFUSALS and "NumPy's" not in str(said)  # a function inside may say it
    numpys = of_numpy(function, args, kwargs if given is None else given) if known else ""
    if numpys:
        raise meant(said, numpys) from error
    if said is not error:
        raise said from error


def _of_kinds(
    error: Exception, function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Exception:
    """The error, or that of an argument that is of another kind than its name says."""
    if isinstance(error, TypeError) and not str(error).startswith("argument '"):
        return error  # it was said; `tensor_of` does not know the function
    names, defaults = signature(function)
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    for name, wanted, hint in _unfit(given, defaults, _annotations(function)):
        place = f" (position {names.index(name) + 1})" if name in names else ""
        return TypeError(
            f"{function.__name__}(): argument '{name}'{place} must be {wanted}, not "
            f"{type(given[name]).__name__}.{hint}"
        )
    return TypeError(f"{function.__name__}(): {error}") if isinstance(error, TypeError) else error


def told(function: Told) -> Told:
    """A function whose failed calls name the argument that is of the wrong kind, if one is."""
    glance, check = checked_settings(function)

    @functools.wraps(function)
    def asked(*args: Any, **kwargs: Any) -> Any:
        try:
            if kwargs:
                check(args, kwargs)
                return function(*args, **kwargs)
            n = len(args)
            for i, at_once in glance:
                if i < n and type(args[i]) not in at_once:
                    check(args, kwargs)
                    break
            return function(*args)
        except Exception as error:
            if numbers := numbered(function, args, kwargs):
                return asked(*numbers[0], **numbers[1])
            misfit(error, function, args, kwargs)
            raise

    return settled(asked)  # type: ignore[return-value]


def numbered(
    function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments of a failed call as they are meant: numbers for tensors, tensors for arrays.

    A tensor of one number stands for it where one is meant, as in PyTorch, for a size or a
    dimension, say; one that requires grad does not, nor one whose number is not known yet. None if
    there is no such argument, nor an array where a tensor is meant.

    >>> import wengert as wg
    >>> def squeeze(input, dim): ...
    >>> numbered(squeeze, ("x", wg.tensor(1)), {})
    (('x', 1), {})
    """

    changes = False

    def change(x: Any) -> Any:
        nonlocal changes
        if not isinstance(x, Tensor) or x.ndim or x.requires_grad or not known(x._array):
            return x
        if x._array.dtype.kind == "b":  # a truth value is no number here
            return x
        changes = True
        return x.item()

    names, said = signature(function)[0], _annotations(function)

    def changed(name: str, x: Any) -> Any:
        nonlocal changes
        kind = said.get(name, "")
        if not ("Tensor" in kind or (name in TENSORS and not kind)):
            return each(change, x)
        changes = changes or type(x) is np.ndarray
        return wrap(x) if type(x) is np.ndarray else x

    places = *names[: len(args)], *names[-1:] * (len(args) - len(names))  # the rest have one name
    numbers = tuple(map(changed, places, args)), {n: changed(n, x) for n, x in kwargs.items()}
    return numbers if changes else None


def _annotations(function: Function) -> dict[str, str]:
    """What the annotations of a function say, where one says something."""
    written = inspect.unwrap(function)
    try:
        annotations = inspect.get_annotations(written, eval_str=True)
    except NameError:  # of a name that only type checkers import
        annotations = inspect.get_annotations(written)
    return {n: inspect.formatannotation(kind) for n, kind in annotations.items() if kind is not Any}


def _unfit(
    given: dict[str, Any], defaults: dict[str, Any], annotated: dict[str, str]
) -> Iterator[tuple[str, str, str]]:
    """The arguments of the wrong kind, with what they should be; words before lists and numbers."""
    for kinds in ((str, bytes, type(None), dict, set), (list, tuple, *NUMBERS)):
        for name, value in given.items():
            kind = annotated.get(name, "")
            if type(value) not in kinds:
                continue
            if kind == _TENSOR or (name in TENSORS and (not kind or "Tensor" in kind)):
                if not _taken(name, value, given, defaults, kind):
                    yield name, "a Tensor", " Make one with wengert.tensor(...)."
            elif (value is None and not _may_be_none(name, defaults, kind)) or (
                type(value) is str and name not in WORDS and not _is_word(kind)
            ):
                wanted = kind.removesuffix(" | None")
                yield name, wanted if wanted in ("bool", "int", "float") else _SOME, ""
    for name, value in given.items():  # objects of other classes
        kind = annotated.get(name, "")
        is_array = any(hasattr(type(value), p) for p in ("__array_function__", "__array__"))
        if (kind == _TENSOR or (name in TENSORS and not kind)) and not (is_array or _basic(value)):
            yield name, "a Tensor", " Make one with wengert.tensor(...)."


def _basic(value: Any) -> bool:
    return isinstance(value, (str, bytes, type(None), dict, set, list, tuple, *NUMBERS, slice))


_TENSOR, _SOME = "wengert.tensor.Tensor", "a number or a sequence of them"


def _may_be_none(name: str, defaults: dict[str, Any], kind: str) -> bool:
    return name in WORDS or "None" in kind or defaults.get(name, 0) is None


def _is_word(kind: str) -> bool:
    return "str" in kind or "Literal" in kind


def _taken(name: str, value: Any, given: Any, defaults: Any, kind: str) -> bool:
    """Whether a value that is no tensor may stand for this one."""
    if value is None:
        return _may_be_none(name, defaults, kind)
    if type(value) in NUMBERS:
        if kind == _TENSOR:
            return False
        beside = name in ("input", "condition") and not NUMBERS_BESIDE.isdisjoint(given)
        return name in NUMBERS_TOO or "float" in kind or beside
    return "Sequence" in kind
