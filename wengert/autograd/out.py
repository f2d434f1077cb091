"""`out=`: results written into tensors that exist.

A function decorated with `takes_out` accepts `out=`. The result is computed first and written then,
so that an input may be `out` itself.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.autograd.misfits import misfit, numbered
from wengert.autograd.operands import tensors_among
from wengert.autograd.settings import checked_settings, settled
from wengert.dispatch import signature
from wengert.history import modes
from wengert.tensor import Tensor, carries


def refuse_tracked_out(name: str, operands: Any) -> None:
    """RuntimeError if something tracked would be read or written: `out=` keeps no history."""
    tensors = tensors_among(operands)
    if carries(*tensors):
        raise NotImplementedError(
            f"Trying to use forward AD with {name} that does not support it because it is an out= "
            "function. Assign the result instead."
        )
    if modes.is_grad_enabled() and any(x.requires_grad for x in tensors):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, "
            "but one of the arguments requires grad. Assign the result instead, or call it under "
            "wengert.no_grad()."
        )


def into(
    out: Any, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """`function(...)` written into `out`, a tensor or a tuple of them, resized where it must be."""
    refuse_tracked_out(function.__name__, (*args, *kwargs.values(), out))
    refuse_overlap(tensors_among((*args, *kwargs.values())), tensors_among((out,)))
    chosen = kwargs.get("dtype") is None and isinstance(out, Tensor)
    if chosen and hasattr(function, "in_dtype_of_out"):
        kwargs = {**kwargs, "dtype": out.dtype}
    result = function(*args, **kwargs)
    if isinstance(out, Tensor):
        if not isinstance(result, Tensor):
            raise TypeError(
                f"{function.__name__}(): out= must be a tuple of {len(result)} tensors, one for "
                "each result, not one tensor"
            )
        return fill_out(out, result)
    if isinstance(result, Tensor):
        raise TypeError(
            f"{function.__name__}(): argument 'out' must be Tensor, not {type(out).__name__}"
        )
    if len(out) != len(result):
        raise TypeError(
            f"{function.__name__}(): out= must have {len(result)} tensors, one for each result, "
            f"got {len(out)}"
        )
    filled = [fill_out(o, r) for o, r in zip(out, result, strict=True)]
    return type(result)._make(filled) if hasattr(result, "_make") else tuple(filled)


def in_dtype_of_out(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function that adds up or multiplies in the dtype of `out=`, if no dtype is given."""
    function.in_dtype_of_out = True  # type: ignore[attr-defined]
    return function


def refuse_overlap(inputs: list[Tensor], outs: list[Tensor]) -> None:
    """RuntimeError where a tensor that is to be written shares a part of its memory with an input.

    All of it, in the same order, may be the same: that is an operation in place.
    """
    for out in outs:
        a = out._array
        for x in inputs:
            b = x._array
            if type(a) is not np.ndarray or type(b) is not np.ndarray or not a.size:
                continue
            same = a.shape == b.shape and a.strides == b.strides and a.ctypes.data == b.ctypes.data
            # Of what lies in memory with gaps PyTorch does not ask; nor is it easy to tell.
            if not same and a.flags.forc and b.flags.forc and np.may_share_memory(a, b):
                raise RuntimeError(
                    "unsupported operation: some elements of the input tensor and the written-to "
                    "tensor refer to a single memory location. Please clone() the input before "
                    "performing the operation, or give out= a tensor of its own."
                )


def fill_out(out: Tensor, result: Tensor) -> Tensor:
    """Write one result into one tensor, which takes on its shape."""
    if not dtypes.can_cast(result.dtype, out.dtype):
        raise RuntimeError(
            f"result type {result.dtype} can't be cast to the desired output type {out.dtype} of "
            "out="
        )
    steps = zip(out.shape, _strides(out._array), strict=True)
    if out._array.size and 0 in [step for n, step in steps if n > 1]:
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a "
            "single memory location. Please clone() the tensor given as out= before performing "
            "the operation: it was made by expand() or the like."
        )
    if out.shape != result.shape:
        out.resize_(result.shape)
    return out.copy_(result)


def _strides(array: Any) -> tuple[int, ...]:
    """An array's strides; arrays that have no memory yet count as contiguous."""
    return getattr(array, "strides", None) or (1,) * array.ndim


NUMPYS = {
    "axis": "dim",
    "keepdims": "keepdim",
    "split_size": "split_size_or_sections",
    "indices": "indices_or_sections",
    "sections": "indices_or_sections",
    "tensor_indices_or_sections": "indices_or_sections",
    "train": "training",
    "from": "from_",
}
"""Arguments that PyTorch takes by other names, too, NumPy's above all, in all functions."""
FIRST = ("A", "B", "b", "tensor")
"""What a first argument may be called here, and in `torch.linalg`, that is `input` elsewhere."""


def numpys_names(function: Callable[..., Any]) -> dict[str, str]:
    """By NumPy's names, what a function's own are."""
    own = signature(function)[0]
    meant = {**NUMPYS, "input": own[0]} if own and own[0] in FIRST else NUMPYS
    return {n: mine for n, mine in meant.items() if mine in own and n not in own}


def renamed(name: str, names: dict[str, str], given: dict[str, Any]) -> dict[str, Any]:
    """Arguments by a function's own names; TypeError if one is given by both."""
    kept = {names.get(n, n): x for n, x in given.items()}
    if len(kept) < len(given):
        twice = next(n for n in given if names.get(n) in given)
        raise TypeError(f"{name}() got {names[twice]}= and {twice}=, which are one argument")
    return kept


def takes_out(function: Callable[..., Any], takes_out: bool = True) -> Callable[..., Any]:
    """Give a function the argument `out=`: the result is written into an existing tensor.

    Its arguments may have NumPy's names.
    """
    names, (glance, check) = numpys_names(function), checked_settings(function)

    @functools.wraps(function)
    def public(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        given = kwargs
        try:
            if kwargs and names:
                kwargs = renamed(function.__name__, names, kwargs)
            if not kwargs and out is None:  # the commonest call takes the fewest steps
                n = len(args)
                for i, at_once in glance:
                    if i < n and type(args[i]) not in at_once:
                        check(args, kwargs)
                        break
                return function(*args)
            check(args, kwargs)
            if out is None:
                return function(*args, **kwargs)
            refuse_unless(takes_out, function)
            return into(out, function, args, kwargs)
        except Exception as error:
            if numbers := numbered(function, args, kwargs):
                return public(*numbers[0], out=out, **numbers[1])
            put = {} if out is None else {"out": out}
            misfit(error, function, args, kwargs | put, given | put)
            raise

    vars(public).update(numpys_names=names, takes_out=takes_out)
    return settled(public)


takes_names = functools.partial(takes_out, takes_out=False)
"""Give a function that takes no `out=` its arguments by NumPy's names."""


def refuse_unless(takes_out: bool, function: Callable[..., Any]) -> None:
    """TypeError for `out=` where a function does not take it."""
    if not takes_out:
        raise TypeError(f"{function.__name__}() got an unexpected keyword argument 'out'")
