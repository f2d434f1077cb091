"""What the error of a call was really about: an argument that is of another kind than its name.

Functions look at what they need, when they need it: a word for an index fails where it is first
asked for its shape. Nothing is checked before, which would cost every call; when a call has failed,
its arguments are gone through by their names.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, TypeVar

from wengert.dispatch import Function, signature
from wengert.tensor import NUMBERS

Told = TypeVar("Told", bound=Function)


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


TENSORS = _names(
    """input mat1 mat2 mat vec vec1 vec2 batch1 batch2 tensor1 tensor2 x1 x2 mask index indices
    source src target weight weights bias sorted_sequence boundaries A B LU_data LU_pivots LU LD
    pivots tau anchor positive negative input1 input2 grid theta logits query key value attn_mask
    running_mean running_var pos_weight log_probs targets window fweights aweights sorter
    per_sample_weights var other exponent values test_elements elements L real imag angle"""
)
"""What arguments are called that are tensors."""
NUMBERS_TOO = _names(
    "other exponent values test_elements elements value min max self boundaries var"
)
"""Arguments that may be numbers instead; beside them, the first one may be."""
LISTS_TOO = frozenset({("index_put", "indices"), ("embedding_bag", "input")})
FREE = frozenset(
    {("movedim", "source"), ("moveaxis", "source")}
    | {("native_layer_norm", "weight"), ("native_layer_norm", "bias")}
)
"""Arguments that are no tensors in spite of their names: dimensions, and what may be None."""
WORDS = _names(
    """mode padding padding_mode reduction reduce equation side rounding_mode norm ord p UPLO driver
    approximate dtype indexing interpolation method ndim compute_mode pad_mode device layout
    out_dtype format randomness interpolation_mode"""
)
"""What arguments are called that may be words."""


def misfit(
    error: Exception, function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> TypeError | None:
    """What to raise for the error of a call, if an argument is not what its name says; else None.

    >>> def gather(input, dim, index): ...
    >>> misfit(AttributeError("no dtype"), gather, ([1.0], 0, "first"), {})
    TypeError("gather(): argument 'index' (position 3) must be a Tensor, not str. Make one ...")
    """
    called = function.__name__
    if isinstance(error, TypeError) and not str(error).startswith("argument '"):
        return None  # it was said; `tensor_of` does not know the function
    names, defaults = signature(function)
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    for name, wanted, hint in _unfit(called, given, defaults):
        place = f" (position {names.index(name) + 1})" if name in names else ""
        return TypeError(
            f"{called}(): argument '{name}'{place} must be {wanted}, not "
            f"{type(given[name]).__name__}.{hint}"
        )
    return None


def told(function: Told) -> Told:
    """A function whose failed calls name the argument that is of the wrong kind, if one is."""

    @functools.wraps(function)
    def asked(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            if of_kind := misfit(error, function, args, kwargs):
                raise of_kind from error
            raise

    return asked  # type: ignore[return-value]


def _unfit(called: str, given: dict[str, Any], defaults: Any) -> Iterator[tuple[str, str, str]]:
    """The arguments of the wrong kind, with what they should be; words before lists and numbers."""
    for kinds in ((str, bytes, type(None), dict, set), (list, tuple, *NUMBERS)):
        for name, value in given.items():
            if name in TENSORS:
                if type(value) in kinds and not _taken(called, name, value, given, defaults):
                    yield name, "a Tensor", " Make one with wengert.tensor(...)."
            elif type(value) is str and str in kinds and name not in WORDS:
                yield name, "a number or a sequence of them", ""


def _taken(called: str, name: str, value: Any, given: Any, defaults: Any) -> bool:
    """Whether a value that is no tensor may stand for this one."""
    if (called, name) in FREE:
        return True
    if value is None:
        return defaults.get(name, 0) is None
    if type(value) in NUMBERS:
        beside = name in ("input", "condition") and not NUMBERS_TOO.isdisjoint(given)
        return name in NUMBERS_TOO or beside
    return (called, name) in LISTS_TOO
