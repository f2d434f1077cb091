"""PyTorch's own table of operators, with its sample inputs, to be run by wengert beside PyTorch.

`torch.testing` describes each operator by an `OpInfo`: sample inputs for every dtype, inputs that
are errors, the method and the in-place variant. Here a sample is translated, and the two results
are compared. A `Difference` says what was found.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

import wengert as wg

DTYPES = {
    getattr(torch, name): np.dtype(name)
    for name in (
        *("float64", "float32", "float16", "complex128", "complex64"),
        *("int64", "int32", "int16", "int8", "uint8", "bool"),
    )
} | {torch.bfloat16: wg.bfloat16}
FORMATS = {
    torch.contiguous_format: wg.contiguous_format,
    torch.preserve_format: wg.preserve_format,
    torch.channels_last: wg.channels_last,
    torch.channels_last_3d: wg.channels_last_3d,
}


class Difference(AssertionError):
    """What the two libraries do not agree about."""


# ---- from one library to the other ---------------------------------------------------------


def numbers(x: Any) -> np.ndarray:
    """The elements of a tensor of either library."""
    if isinstance(x, wg.Tensor):
        return x.detach().numpy()
    x = x.detach()
    x = torch.zeros(x.shape, dtype=x.dtype) if x._is_zerotensor() else x
    x = x.resolve_conj().resolve_neg()
    if x.dtype == torch.bfloat16:
        return x.view(torch.int16).numpy().view(wg.bfloat16)
    return x.numpy()


def translated(x: Any) -> Any:
    """A sample's argument for wengert: tensors copied, with their layout in memory."""
    if isinstance(x, torch.Tensor):
        array = numbers(x)
        copy = wg.from_numpy(np.copy(array, order="C" if x.is_contiguous() else "K"))
        return copy.requires_grad_() if x.requires_grad else copy
    if isinstance(x, torch.Size):
        return wg.Size(tuple(x))
    if isinstance(x, (list, tuple)):
        return type(x)(translated(item) for item in x)
    if isinstance(x, dict):
        return {name: translated(value) for name, value in x.items()}
    if isinstance(x, slice):
        return slice(*(translated(v) for v in (x.start, x.stop, x.step)))
    if isinstance(x, torch.device):
        return "cpu"
    if x is torch.strided:
        return wg.strided
    return (
        DTYPES.get(x, FORMATS.get(x, x)) if isinstance(x, (torch.dtype, torch.memory_format)) else x
    )


CASTS = {
    "bfloat16",
    "bool",
    "byte",
    "cdouble",
    "cfloat",
    "char",
    "double",
    "float",
    "half",
    "int",
    "long",
    "short",
}


def our_function(op: Any) -> Callable[..., Any] | None:
    """What wengert has under an operator's name: a function, a method or an attribute."""
    if op.name == "einsum":  # the table has the operands first
        return lambda xs, equation, **k: wg.einsum(equation, *xs, **k)
    if op.name == "where":
        return lambda x, condition, y, **k: wg.where(condition, x, y, **k)
    if op.formatted_name == "normal_in_place":
        return lambda x, *a, **k: x.clone().normal_(*a, **k)
    if op.name.startswith("polygamma"):
        return lambda x, n, **k: wg.polygamma(n, x, **k)
    if op.name in CASTS:
        return lambda x, *a, **k: getattr(x, op.name)(*a, **k)
    if op.name.endswith("_") and hasattr(wg.Tensor, op.name):
        return lambda x, *a, **k: getattr(x.clone(), op.name)(*a, **k)
    found: Any = wg
    theirs: Any = torch
    for part in op.name.split("."):
        found, theirs = getattr(found, part, None), getattr(theirs, part, None)
    if theirs is not None:
        return found
    attribute = getattr(torch.Tensor, op.name, None)
    if not hasattr(wg.Tensor, op.name):
        return None
    if not callable(attribute):
        return lambda x: getattr(x, op.name)
    return lambda x, *a, **k: getattr(x, op.name)(*a, **k)


def samples(op: Any, dtype: Any, limit: int) -> Iterator[Any]:
    """At most `limit` sample inputs, spread over those that the table has."""
    torch.manual_seed(0)
    tracked = op.supports_autograd and dtype in op.supported_backward_dtypes("cpu")
    found = list(op.sample_inputs("cpu", dtype, requires_grad=tracked))
    chosen = np.unique(np.linspace(0, len(found) - 1, limit).astype(int)) if found else []
    for k in chosen:
        yield found[k]


# ---- comparing -----------------------------------------------------------------------------


def tensors(x: Any) -> list[Any]:
    if isinstance(x, (torch.Tensor, wg.Tensor)):
        return [x]
    if isinstance(x, dict):
        x = list(x.values())
    return [t for item in x for t in tensors(item)] if isinstance(x, (list, tuple)) else []


def leaves_of(x: Any) -> list[Any]:
    """The results of a call, one after another."""
    if isinstance(x, (list, tuple)) and not isinstance(x, (torch.Size, wg.Size)):
        return [y for item in x for y in leaves_of(item)]
    return [x]


def compare(theirs: Any, ours: Any, what: str) -> None:
    """The same numbers, dtypes, shapes and whether they are tracked; else a `Difference`."""
    ys, zs = leaves_of(theirs), leaves_of(ours)
    if len(ys) != len(zs):
        raise Difference(f"{what}: {len(ys)} results there, {len(zs)} here")
    for y, z in zip(ys, zs, strict=True):
        if not isinstance(y, torch.Tensor):
            if not isinstance(z, wg.Tensor) and (y == z or y != y):
                continue
            raise Difference(f"{what}: {y!r} there, {z!r} here")
        described = [
            (str(t.dtype).replace("torch.", ""), tuple(t.shape), t.requires_grad) for t in (y, z)
        ]
        if described[0] != described[1]:
            raise Difference(f"{what}: {described[0]} there, {described[1]} here")
        close(numbers(y), numbers(z), what)


def close(y: np.ndarray, z: np.ndarray, what: str, tolerance: float | None = None) -> None:
    if tolerance is None:
        tolerance = {"bfloat16": 2e-2, "float16": 1e-2, "float32": 1e-4, "complex64": 1e-4}.get(
            y.dtype.name, 1e-7
        )
    y, z = (a.astype(np.float32) if a.dtype == wg.bfloat16 else a for a in (y, z))
    exact = y.dtype.kind not in "fc"
    scale = 1 if exact else max(1, np.max(np.abs(y[np.isfinite(y)]), initial=0))
    if not np.allclose(
        z, y, rtol=0 if exact else tolerance, atol=0 if exact else tolerance * scale, equal_nan=True
    ):
        raise Difference(f"{what}: {y.ravel()[:5]} there, {z.ravel()[:5]} here")


def gradients(library: Any, result: Any, arguments: Any, second: bool) -> list[list[Any]]:
    """The first derivatives of random sums of a result, and, if asked for, second ones."""
    ys = [t for t in tensors(result) if t.requires_grad]
    xs = [t for t in tensors(arguments) if t.requires_grad]
    if not ys or not xs:
        return []
    random = np.random.default_rng(0)

    def like(t: Any) -> Any:
        noise = random.normal(size=(2, *t.shape))
        return library.tensor(noise[0] + 1j * noise[1] if t.is_complex() else noise[0]).to(t.dtype)

    cotangents = [like(y) for y in ys]
    first = library.autograd.grad(ys, xs, cotangents, allow_unused=True, create_graph=second)
    bent = [g for g in first if g is not None and g.requires_grad]
    if not second:
        return [list(first)]
    total: Any = 0
    for g in bent:
        product = g * like(g)
        total = total + (product.real if g.is_complex() else product).sum()
    return [list(first), list(library.autograd.grad(total, xs, allow_unused=True)) if bent else []]


SLOPES = {torch.bfloat16: 4e-2, torch.float16: 1e-2, torch.float64: 1e-6, torch.complex128: 1e-6}
"""How far derivatives may be apart."""


def compare_gradients(op: Any, dtype: Any, theirs: tuple[Any, Any], ours: tuple[Any, Any]) -> None:
    second = op.supports_gradgrad and dtype in (torch.float64, torch.complex128)
    try:
        expected = gradients(torch, *theirs, second)
    except (RuntimeError, NotImplementedError):
        return  # PyTorch has no derivative here
    found = gradients(wg, *ours, second)
    shapes = [tuple(x.shape) for x in tensors(theirs[1]) if x.requires_grad]
    for order, (gs, hs) in enumerate(zip(expected, found, strict=True), 1):
        missing: list[Any] = [None] * len(shapes)
        for k, (g, h, shape) in enumerate(zip(gs or missing, hs or missing, shapes, strict=True)):
            zero = np.zeros(shape)
            close(
                zero if g is None else numbers(g),
                zero if h is None else numbers(h),
                f"derivative {order} by tensor {k}",
                {
                    torch.float64: 1e-6,
                    torch.complex128: 1e-6,
                    torch.bfloat16: 4e-2,
                    torch.float16: 1e-2,
                }.get(dtype, 1e-3),
            )


# ---- extreme values ------------------------------------------------------------------------

EXTREMES = {
    "zeros": (0.0, -0.0),
    "ties": (1.0,),
    "negative ties": (-1.0,),
    "tails": (20.0, -20.0, 40.0, -40.0, 750.0, -750.0, 0.25),
    "tiny": (1e-30, -1e-30, 1e-60),
    "infinite": (np.inf, 1.0, -np.inf, 0.5),
    "undefined": (np.nan, 1.0, 2.0, -0.5),
}
"""What takes the place of all floating-point numbers of a sample, over and over."""


def filled(x: Any, values: tuple[float, ...], turn: Iterator[int]) -> Any:
    """A sample's argument with these numbers, each tensor from another one on, and all tracked."""
    if isinstance(x, torch.Tensor) and (x.is_floating_point() or x.is_complex()):
        numbers = np.resize(np.roll(values, next(turn)), x.shape)
        numbers = numbers + 1j * np.roll(numbers, 1) if x.is_complex() else numbers
        return torch.tensor(numbers, dtype=x.dtype).requires_grad_()
    if isinstance(x, (list, tuple)) and not isinstance(x, torch.Size):
        return type(x)(filled(item, values, turn) for item in x)
    if isinstance(x, dict):
        return {name: filled(value, values, turn) for name, value in x.items()}
    return x


def finite(y: Any, z: Any, what: str) -> None:
    """Where PyTorch has a finite number, so has wengert, and the same; else a `Difference`."""
    y, z = (np.zeros(0) if t is None else numbers(t) for t in (y, z))
    y, z = (np.zeros(max(y.shape, z.shape, key=len)) if not t.size else t for t in (y, z))
    known = np.isfinite(y)
    apart = np.abs(np.where(known, y, 0) - np.where(known, z, 0))
    wrong = ~(apart <= 1e-6 * np.maximum(1, np.abs(np.where(known, y, 0))))
    if y.shape != z.shape or wrong.any():
        raise Difference(f"{what}: {y[wrong][:4]} there, {z[wrong][:4]} here")


def kept(y: Any, z: Any, what: str) -> None:
    """Where PyTorch's result is NaN, so is wengert's: none is made a number."""
    lost = np.isnan(numbers(y)) & ~np.isnan(numbers(z))
    if lost.any():
        raise Difference(f"{what}: NaN there, {numbers(z)[lost][:4]} here")


def run_extreme(op: Any, sample: Any, values: tuple[float, ...]) -> None:
    """The function and its gradient for every argument, where PyTorch has one.

    Of NaN the result alone is compared: what derivatives are there is left open.
    """
    turn = itertools.count()
    call = [filled(part, values, turn) for part in (sample.input, sample.args, sample.kwargs)]
    try:
        theirs = op.op(call[0], *call[1], **call[2])
    except Exception:
        return  # it takes no such numbers
    function = our_function(op)
    assert function is not None, f"wengert has no {op.name}"
    copies = [translated(part) for part in call]
    ours = function(copies[0], *copies[1], **copies[2])
    for y, z in zip(tensors(theirs), tensors(ours), strict=True):
        (kept if np.nan in values else finite)(y, z, "result")
    if np.nan in values:
        return
    try:
        (expected,) = gradients(torch, theirs, call, False)
    except (RuntimeError, NotImplementedError, ValueError):
        return  # PyTorch has no derivative here
    (found,) = gradients(wg, ours, copies, False) or [[None] * len(expected)]
    for k, (g, h) in enumerate(zip(expected, found, strict=True)):
        finite(g, h, f"derivative by tensor {k}")


# ---- one sample ----------------------------------------------------------------------------


def run(op: Any, dtype: Any, sample: Any, random: bool) -> None:
    """The function, its derivatives, its method, its in-place form and `out=` on one sample.

    With `random` results only their dtypes and shapes are compared.
    """
    x, args, kwargs = sample.input, sample.args, sample.kwargs
    try:
        theirs = op.op(x, *args, **kwargs)
    except Exception:
        return  # some samples are errors in PyTorch
    if any(t.layout != torch.strided or t.dtype not in DTYPES for t in tensors(theirs)):
        return
    function = our_function(op)
    assert function is not None, f"wengert has no {op.name}"
    ours_in = (translated(x), translated(tuple(args)), translated(dict(kwargs)))
    ours = function(ours_in[0], *ours_in[1], **ours_in[2])
    if random:
        theirs, ours = ([0 * t.detach() for t in tensors(r)] for r in (theirs, ours))
        compare([torch.zeros_like(t) for t in theirs], [wg.zeros_like(t) for t in ours], "result")
        return
    compare(theirs, ours, "result")
    compare_gradients(op, dtype, (theirs, [x, args, kwargs]), (ours, list(ours_in)))
    if isinstance(x, torch.Tensor):
        for name, variant in ((op.name, op.method_variant), (f"{op.name}_", op.inplace_variant)):
            if variant is not None and callable(getattr(torch.Tensor, name, None)):
                _run_method(name, x, args, kwargs)
    if op.supports_out and all(isinstance(y, torch.Tensor) for y in leaves_of(theirs)):
        _run_out(op, function, theirs, x, args, kwargs)


def _run_method(name: str, x: Any, args: Any, kwargs: Any) -> None:
    copies = []
    for library, value in ((torch, x), (wg, translated(x))):
        arguments = (
            (args, kwargs)
            if library is torch
            else (translated(tuple(args)), translated(dict(kwargs)))
        )
        copy = value.clone()
        try:
            copies.append(getattr(copy, name)(*arguments[0], **arguments[1]))
        except Exception:
            if library is torch:
                return
            raise
    compare(*copies, name)


def _run_out(op: Any, function: Any, theirs: Any, x: Any, args: Any, kwargs: Any) -> None:
    """Into tensors of the right shape, and into empty ones, which take on the shape."""
    parts = leaves_of(theirs)
    for empty in (False, True):
        outs = [
            [library.empty(0 if empty else tuple(y.shape), dtype=kind(y.dtype)) for y in parts]
            for library, kind in ((torch, lambda d: d), (wg, DTYPES.__getitem__))
        ]
        single = isinstance(theirs, torch.Tensor)
        there, here = (
            o[0] if single else type(theirs)(o) if type(theirs) is list else tuple(o) for o in outs
        )
        with torch.no_grad(), wg.no_grad():
            try:
                op.op(x, *args, **kwargs, out=there)
            except (RuntimeError, TypeError, NotImplementedError):
                return
            function(translated(x), *translated(tuple(args)), **translated(dict(kwargs)), out=here)
        compare(there, here, "out=")
