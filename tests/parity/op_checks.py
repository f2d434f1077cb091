"""What is checked of each operator of PyTorch's table, beside PyTorch: see `op_db.py`.

A check takes a `Sample`, on which both libraries have run, and raises where they differ. `Absent`
says that there is nothing to check: the operator, or PyTorch, has no such thing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch

import wengert as wg
from tests.parity.op_db import (
    DTYPES,
    Difference,
    call,
    close,
    gradients,
    leaves_of,
    numbers,
    our_function,
    samples,
    tensors,
    their_function,
    translated,
    with_names,
)

Call = tuple[Any, tuple[Any, ...], dict[str, Any]]


class Absent(Exception):
    """There is nothing to check."""


class Sample(NamedTuple):
    """An operator, and one call of it in both libraries with what came back."""

    op: Any
    dtype: Any
    chosen: Any
    functions: tuple[Callable[..., Any], Callable[..., Any]]
    calls: tuple[Call, Call]
    results: tuple[Any, Any]
    draws: bool
    """Whether random numbers were drawn: then numbers are not compared."""


LIBRARIES: tuple[Any, Any] = (torch, wg)


# ---- what both did -------------------------------------------------------------------------


def forward(s: Sample) -> None:
    """Numbers agree."""
    alike(*(unique(side, s, result) for side, result in enumerate(s.results)))


def alike(theirs: Any, ours: Any) -> None:
    ys, zs = leaves_of(theirs), leaves_of(ours)
    if len(ys) != len(zs):
        raise Difference(f"{len(ys)} results there, {len(zs)} here")
    for y, z in zip(ys, zs, strict=True):
        if not isinstance(y, torch.Tensor):
            if isinstance(z, wg.Tensor) or not (y == z or y != y):
                raise Difference(f"{y!r} there, {z!r} here")
        else:
            close(numbers(y), numbers(z), "result")


def dtype(s: Sample) -> None:
    """Dtypes and shapes agree, and what is tracked."""
    for y, z in zip(*map(tensors, s.results), strict=True):
        there, here = (
            (str(t.dtype).replace("torch.", ""), tuple(t.shape), t.requires_grad) for t in (y, z)
        )
        if there != here:
            raise Difference(f"{there} there, {here} here")


def views(s: Sample) -> None:
    """What lies in the memory of an argument in PyTorch does so here.

    That a view is enough where PyTorch copies is for `test_saved.py` to look at.
    """
    there, here = (
        [any(overlap(y, x) for x in tensors(list(call))) for y in tensors(result)]
        for result, call in zip(s.results, s.calls, strict=True)
    )
    if not any(there):
        raise Absent
    if any(y and not z for y, z in zip(there, here, strict=True)):
        raise Difference(f"in an argument's memory: {there} there, {here} here")


def overlap(y: Any, x: Any) -> bool:
    if isinstance(y, torch.Tensor):
        return y.numel() > 0 and y.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    return np.may_share_memory(y.detach().numpy(), x.detach().numpy())


# ---- derivatives ---------------------------------------------------------------------------

SLOPES = {torch.bfloat16: 4e-2, torch.float16: 1e-2, torch.float64: 1e-6, torch.complex128: 1e-6}
"""How far derivatives may be apart, elsewhere by 1e-3."""


def grad(s: Sample) -> None:
    slopes(s, 1)


def gradgrad(s: Sample) -> None:
    if not s.op.supports_gradgrad:
        raise Absent
    slopes(s, 2)


def slopes(s: Sample, order: int) -> None:
    """The derivatives of random sums of the results."""
    if not s.op.supports_autograd:
        raise Absent
    try:
        expected = gradients(torch, smooth(0, s)(*s.calls[0]), s.calls[0], order > 1)
    except (RuntimeError, NotImplementedError) as error:
        raise Absent from error
    if not expected:
        raise Absent
    found = gradients(wg, smooth(1, s)(*s.calls[1]), s.calls[1], order > 1)
    shapes = [tuple(x.shape) for x in tensors(s.calls[0]) if x.requires_grad]
    missing = [None] * len(shapes)
    gs, hs = (list(side[-1]) or missing for side in (expected, found or [missing]))
    for k, (g, h, shape) in enumerate(zip(gs, hs, shapes, strict=True)):
        same_slope(g, h, shape, s.dtype, f"derivative by tensor {k}")


def smooth(side: int, s: Sample) -> Callable[..., Any]:
    """The function as PyTorch differentiates it in its own tests.

    There arguments are made Hermitian, say, and of factors that are not unique only products are
    looked at. Such code of PyTorch's runs here with wengert under the name torch.
    """
    prepare = s.op.gradcheck_wrapper
    if "masked" in prepare.__name__:  # it asks torch.masked for masks that have no public name
        prepare = call
    if side:
        prepare = with_names(prepare, torch=wg)

    def function(x: Any, args: Any, kwargs: Any) -> Any:
        return unique(side, s, prepare(s.functions[side], x, *args, **kwargs))

    return function


def unique(side: int, s: Sample, result: Any) -> Any:
    """What PyTorch's tests look at: of factors that are not unique, their products or moduli."""
    select = s.chosen.output_process_fn_grad
    return (with_names(select, torch=wg) if side else select)(result)


def same_slope(g: Any, h: Any, shape: tuple[int, ...], dtype: Any, what: str) -> None:
    """Nothing is 0 as well."""
    y, z = (np.zeros(shape) if t is None else numbers(t) for t in (g, h))
    if y.shape != z.shape:
        raise Difference(f"{what}: {y.shape} there, {z.shape} here")
    close(y, z, what, SLOPES.get(dtype, 1e-3))


def forward_ad(s: Sample) -> None:
    """The results' tangents, for random tangents of the arguments."""
    if not s.op.supports_forward_ad:
        raise Absent
    try:
        theirs = tangents(0, s)
    except (RuntimeError, NotImplementedError) as error:
        raise Absent from error
    if not any(t is not None for t, _ in theirs):
        raise Absent
    pairs = zip(theirs, tangents(1, s), strict=True)
    for k, ((g, shape), (h, _)) in enumerate(pairs):
        same_slope(g, h, shape, s.dtype, f"tangent of result {k}")


def tangents(side: int, s: Sample) -> list[tuple[Any, tuple[int, ...]]]:
    library, random = LIBRARIES[side], np.random.default_rng(1)
    ad = library.autograd.forward_ad

    def dual(x: Any) -> Any:
        if not x.requires_grad:
            return x
        noise = random.normal(size=(2, *x.shape))
        tangent = library.tensor(noise[0] + 1j * noise[1] if x.is_complex() else noise[0])
        return ad.make_dual(x.detach(), tangent.to(x.dtype))

    with ad.dual_level():
        x, args, kwargs = replaced(s.calls[side], dual)
        result = smooth(side, s)(x, args, kwargs)
        return [(ad.unpack_dual(t).tangent, tuple(t.shape)) for t in tensors(result)]


def replaced(x: Any, change: Callable[[Any], Any]) -> Any:
    """A container with every tensor in it changed."""
    if isinstance(x, (torch.Tensor, wg.Tensor)):
        return change(x)
    if isinstance(x, (list, tuple)) and not isinstance(x, (torch.Size, wg.Size)):
        return type(x)(replaced(item, change) for item in x)
    if isinstance(x, dict):
        return {name: replaced(value, change) for name, value in x.items()}
    return x


# ---- other ways to call it -----------------------------------------------------------------


def method(s: Sample) -> None:
    variant(s, s.op.name, s.op.method_variant)


def in_place(s: Sample) -> None:
    variant(s, f"{s.op.name}_", s.op.inplace_variant)


def variant(s: Sample, name: str, found: Any) -> None:
    x = s.calls[0][0]
    if found is None or not isinstance(x, torch.Tensor) or s.op.formatted_name in CALLED_OTHERWISE:
        raise Absent
    if not callable(getattr(torch.Tensor, name, None)):
        raise Absent
    copies = [call[0].clone() for call in s.calls]
    (_, args, kwargs), (_, our_args, our_kwargs) = s.calls
    try:
        theirs = getattr(copies[0], name)(*args, **kwargs)
    except Exception as error:
        raise Absent from error
    ours = getattr(copies[1], name)(*our_args, **our_kwargs)
    both = s._replace(results=(theirs, ours))
    dtype(both)
    forward(both)


CALLED_OTHERWISE = ("where", "polygamma_polygamma_n_0")
"""Whose samples have the arguments of the function in another order than the method."""


def out(s: Sample) -> None:
    """Into tensors of the right shape, and into empty ones, which take on the shape."""
    theirs = s.results[0]
    parts = leaves_of(theirs)
    if not s.op.supports_out or not all(isinstance(y, torch.Tensor) for y in parts):
        raise Absent
    for empty in (False, True):
        given = []
        for library in LIBRARIES:
            ts = [
                library.empty(
                    0 if empty else tuple(y.shape),
                    dtype=y.dtype if library is torch else DTYPES[y.dtype],
                )
                for y in parts
            ]
            single = isinstance(theirs, torch.Tensor)
            given.append(ts[0] if single else ts if type(theirs) is list else tuple(ts))
        (x, args, kwargs), (our_x, our_args, our_kwargs) = s.calls
        with torch.no_grad(), wg.no_grad():
            try:
                s.functions[0](x, *args, **kwargs, out=given[0])
            except (RuntimeError, TypeError, NotImplementedError) as error:
                raise Absent from error
            s.functions[1](our_x, *our_args, **our_kwargs, out=given[1])
        both = s._replace(results=(given[0], given[1]))
        dtype(both)
        forward(both)


def vmap(s: Sample) -> None:
    """Over two copies of every tensor, the second one scaled or turned around."""
    try:
        theirs = batched(0, s)
    except Exception as error:
        raise Absent from error
    if not tensors(theirs):
        raise Absent
    ours = batched(1, s)
    alike(theirs, ours)
    dtype(s._replace(results=(theirs, ours)))


def batched(side: int, s: Sample) -> Any:
    library = LIBRARIES[side]
    flat = [t.detach() for t in tensors(list(s.calls[side]))]
    if not flat:
        raise Absent

    def function(*batch: Any) -> Any:
        rest = iter(batch)
        x, args, kwargs = replaced(s.calls[side], lambda t: next(rest))
        return tuple(tensors(unique(side, s, s.functions[side](x, *args, **kwargs))))

    return library.func.vmap(function)(*(library.stack((t, t)) for t in flat))


CHECKS: dict[str, Callable[[Sample], None]] = {
    "forward": forward,
    "dtype": dtype,
    "grad": grad,
    "gradgrad": gradgrad,
    "forward_ad": forward_ad,
    "method": method,
    "in-place": in_place,
    "out": out,
    "views": views,
    "vmap": vmap,
}


# ---- one operator --------------------------------------------------------------------------


def sample_of(op: Any, dtype: Any, chosen: Any) -> Sample | None:
    """Both libraries' results, or None where PyTorch has none, or none that NumPy could hold."""
    x, args, kwargs = chosen.input, tuple(chosen.args), dict(chosen.kwargs)
    function = their_function(op)
    state = torch.get_rng_state()
    try:
        theirs = function(x, *args, **kwargs)
    except Exception:
        return None  # some samples are errors in PyTorch
    involved = tensors([theirs, x, args, kwargs])
    if not all(map(representable, involved)):
        return None
    ours = our_function(op)
    if ours is None:
        raise Difference("it is missing")
    copies: Call = tuple(translated([x, args, kwargs]))
    result = ours(copies[0], *copies[1], **copies[2])
    return Sample(
        op, dtype, chosen,
        (function, ours), ((x, args, kwargs), copies), (theirs, result),
        draws=not torch.equal(state, torch.get_rng_state()),
    )  # fmt: skip


UNSEEN = ("dtype", "views")
"""What is checked where no numbers are compared."""
UNSET = {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"}
UNSET |= {"resize_", "resize_as_"}
"""What they hold is left open."""


def outcomes(op: Any, dtype: Any, limit: int) -> dict[str, str]:
    """For each check that applies, what differs, or nothing."""
    found: dict[str, str] = {}
    for chosen in samples(op, dtype, limit):
        try:
            sample = sample_of(op, dtype, chosen)
        except Exception as error:
            found["forward"] = found.get("forward") or told(error)
            continue
        if sample is None:
            continue
        for name, check in CHECKS.items():
            if found.get(name) or ((sample.draws or op.name in UNSET) and name not in UNSEEN):
                continue
            try:
                check(sample)
            except Absent:
                continue
            except Exception as error:
                found[name] = told(error)
            else:
                found.setdefault(name, "")
    return found


def errors(op: Any) -> Iterator[tuple[Exception, Exception | None]]:
    """For each call that is an error in PyTorch, its error and wengert's."""
    function = our_function(op)
    if op.error_inputs_func is None or function is None or op.name.startswith("__r"):
        return  # a reflected operator returns NotImplemented, of which Python makes the error
    for wrong in op.error_inputs("cpu"):
        sample = wrong.sample_input
        given = [sample.input, tuple(sample.args), dict(sample.kwargs)]
        if any(not representable(t) for t in tensors(given)):
            continue
        x, args, kwargs = translated(given)
        try:
            op.op(given[0], *given[1], **given[2])
        except Exception as error:
            expected = error
        else:
            continue
        try:
            function(x, *args, **kwargs)
        except Exception as error:
            yield expected, error
        else:
            yield expected, None


def representable(t: Any) -> bool:
    """Whether NumPy could hold it."""
    return (
        t.device.type == "cpu" and t.layout == torch.strided and t.dtype in DTYPES and t.ndim < 65
    )


def told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".replace("\n", " ")[:300]
