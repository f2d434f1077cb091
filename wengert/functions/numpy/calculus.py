"""What NumPy's differences, integrals, convolutions, products and polynomials mean on Tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.arrays.common import axes_of
from wengert.arrays.facts import composed
from wengert.arrays.kind import array_of
from wengert.dispatch import as_array, require
from wengert.functions.calculus import slope
from wengert.functions.numpy.calls import no_more
from wengert.functions.numpy.shapes import known
from wengert.functions.products import kronecker
from wengert.tensor import Tensor, wrap

# ---- differences and integrals -------------------------------------------------------------


@composed(np.ediff1d)
def _ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    parts = [np.diff(np.ravel(as_array(ary)))]
    if to_begin is not None:
        parts.insert(0, np.ravel(as_array(to_begin)))
    if to_end is not None:
        parts.append(np.ravel(as_array(to_end)))
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


@composed(np.trapezoid)
def _trapezoid(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Any:
    y = as_array(y)
    before = (slice(None),) * (axis % len(y.shape))
    pairs = y[(*before, slice(1, None))] + y[(*before, slice(None, -1))]
    if x is None:
        return np.sum(pairs * (dx / 2), axis=axis)
    x = as_array(x)
    if len(x.shape) == 1:
        width = np.diff(x)
        shape = [-1 if k == axis % len(y.shape) else 1 for k in range(len(y.shape))]
        width = np.reshape(width, shape)
    else:
        width = np.diff(x, axis=axis)
    return np.sum(width * pairs / 2, axis=axis)


@composed(np.gradient)
def _gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    f = as_array(f)
    f = np.astype(f, np.float64) if f.dtype.kind in "biu" else f
    n = len(f.shape)
    axes = axes_of(axis, n)
    if len(varargs) not in (0, 1, len(axes)):
        raise TypeError("invalid number of arguments: one distance, or one for each axis")
    steps = list(varargs) if len(varargs) == len(axes) else list(varargs or (1.0,)) * len(axes)
    if edge_order not in (1, 2):
        raise ValueError("'edge_order' greater than 2 not supported")
    x = f if isinstance(f, Tensor) else wrap(f)
    slopes = [slope(x, k, h, edge_order) for k, h in zip(axes, steps, strict=True)]
    return slopes[0] if len(slopes) == 1 else tuple(slopes)


# ---- spaced numbers ------------------------------------------------------------------------


@composed(np.linspace)
def _linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    **rest: Any,
) -> Any:
    no_more(rest)
    start, stop = as_array(start), as_array(stop)
    intervals = num - 1 if endpoint else num
    step = (stop - start) / intervals if intervals > 0 else (stop - start) * np.nan
    shape = (-1, *(1,) * len(np.broadcast_shapes(start.shape, stop.shape)))
    share = np.reshape(np.arange(num) / max(intervals, 1), shape).astype(step.dtype)
    result = start * (1 - share) + stop * share
    result = result if axis == 0 else np.moveaxis(result, 0, axis)
    result = result if dtype is None else np.astype(result, dtype)
    return (result, step) if retstep else result


@composed(np.logspace)
def _logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    exponents = np.linspace(start, stop, num, endpoint, axis=axis)
    result = np.power(base, exponents)
    return result if dtype is None else np.astype(result, dtype)


@composed(np.geomspace)
def _geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Any:
    start, stop = as_array(start), as_array(stop)
    for end in (start, stop):
        require(np.all(array_of(end) != 0), ValueError, "Geometric sequence cannot include zero")
    exponents = np.linspace(np.log(start / start), np.log(stop / start), num, endpoint)
    result = start * np.exp(exponents)
    ends = (start, stop) if endpoint and num > 1 else (start,)
    for place, end in zip((0, num - 1), ends, strict=False):  # which are these, whatever is between
        there = np.reshape(np.arange(num) == place, (-1, *(1,) * (len(result.shape) - 1)))
        result = np.where(there, np.astype(end, result.dtype), result)
    result = result if axis == 0 else np.moveaxis(result, 0, axis)
    return result if dtype is None else np.astype(result, dtype)


# ---- correlation and products --------------------------------------------------------------


@composed(np.correlate)
def _correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """c[k] = sum_n a[n + k] conj(v[n]): a convolution with the second vector turned around."""
    a, v = as_array(a), as_array(v)
    whole = np.convolve(a, np.conj(np.flip(v, 0)), "full")
    long, short = max(a.shape[0], v.shape[0]), min(a.shape[0], v.shape[0])
    if mode == "full":
        return whole
    if mode == "valid":
        return whole[short - 1 : long]
    if mode != "same":
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")
    start = (short - 1) // 2 if a.shape[0] >= v.shape[0] else short // 2
    return whole[start : start + long]


@composed(np.kron)
def _kron(a: Any, b: Any) -> Any:
    return kronecker(as_array(a), as_array(b), np.multiply, np.reshape)


# ---- polynomials, highest power first ------------------------------------------------------


@composed(np.vander)
def _vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    n = x.shape[-1] if N is None else N
    powers = np.arange(n) if increasing else np.arange(n)[::-1]
    return np.expand_dims(x, -1) ** powers


@composed(np.polyval)
def _polyval(p: Any, x: Any) -> Any:
    """Horner's rule."""
    p, x = as_array(p), as_array(x)
    y = np.zeros_like(x)
    for k in range(p.shape[0]):
        y = np.add(np.multiply(y, x), p[k])
    return y


def _lengthened(a1: Any, a2: Any) -> tuple[Any, Any]:
    """Two polynomials with leading zeros, so that powers stand below each other."""
    a1, a2 = np.atleast_1d(as_array(a1)), np.atleast_1d(as_array(a2))
    n = max(a1.shape[0], a2.shape[0])
    return tuple(np.pad(a, (n - a.shape[0], 0)) for a in (a1, a2))  # type: ignore[return-value]


@composed(np.polyadd)
def _polyadd(a1: Any, a2: Any) -> Any:
    a1, a2 = _lengthened(a1, a2)
    return a1 + a2


@composed(np.polysub)
def _polysub(a1: Any, a2: Any) -> Any:
    a1, a2 = _lengthened(a1, a2)
    return a1 - a2


@composed(np.polymul)
def _polymul(a1: Any, a2: Any) -> Any:
    return np.convolve(np.atleast_1d(as_array(a1)), np.atleast_1d(as_array(a2)))


@composed(np.roots)
def _roots(p: Any) -> Any:
    """The eigenvalues of the companion matrix; a zero for each trailing coefficient that is 0."""
    p = np.atleast_1d(as_array(p))
    if len(p.shape) != 1:
        raise ValueError("Input must be a rank-1 array.")
    p = p if p.dtype.kind in "fc" else np.astype(p, np.float64)
    there = np.flatnonzero(known(p))
    if not there.size:
        return wrap(np.array([]))
    first, last = int(there[0]), int(there[-1])
    zeros, q = p.shape[0] - 1 - last, p[first : last + 1]
    n = last - first
    if n == 0:
        return np.zeros_like(p[:zeros])
    rows = np.concatenate([-q[None, 1:] / q[0], np.eye(n - 1, n, dtype=p.dtype)], axis=0)
    roots = np.linalg.eigvals(rows)
    return np.concatenate([roots, np.zeros_like(roots, shape=(zeros,))]) if zeros else roots


def _coefficients(p: Any) -> Any:
    p = as_array(p)
    return np.astype(p, np.int64) if p.dtype.kind == "b" else p


@composed(np.polyder)
def _polyder(p: Any, m: int = 1) -> Any:
    p = _coefficients(p)
    for _ in range(m):
        n = p.shape[0] - 1
        p = p[:-1] * np.arange(n, 0, -1).astype(p.dtype) if n > 0 else np.zeros_like(p[:1])
    return p


@composed(np.polyint)
def _polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    p = _coefficients(p)
    constants = np.broadcast_to(as_array(0.0 if k is None else k), (m,))
    for i in range(m):
        n = p.shape[0]
        constant = np.astype(constants[i : i + 1], p.dtype)
        p = np.concatenate([p / np.arange(n, 0, -1).astype(p.dtype), constant])
    return p


@composed(np.poly)
def _poly(seq_of_zeros: Any) -> Any:
    """The coefficients of the polynomial with these zeros."""
    zeros = np.atleast_1d(as_array(seq_of_zeros))
    if len(zeros.shape) != 1:
        raise ValueError("poly: zeros must come as a vector; of a matrix, use np.linalg.eigvals")
    one = np.ones_like(zeros[:1])
    p = one
    for k in range(zeros.shape[0]):
        p = np.convolve(p, np.concatenate([one, -zeros[k : k + 1]]))
    return p
