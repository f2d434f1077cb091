"""`scipy.special` on tensors. Its ufuncs ask tensors what they mean; these functions do not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special as scipys

from wengert.dispatch import as_array
from wengert.rules import special as rules
from wengert.scipy.meaning import meaning, otherwise


@meaning("special")
def logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    """log(sum(b exp(a))), without overflow.

    >>> import wengert as wg
    >>> logsumexp(wg.tensor([1000.0, 1000.0]), b=wg.tensor([0.5, 0.5]))
    tensor(1000.)
    """
    a = as_array(a)
    a = np.astype(a, np.float64) if a.dtype.kind in "biu" else a
    bare = a.detach().numpy() if hasattr(a, "detach") else a
    top = np.max(bare, axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0)
    total = np.exp(a - top) if b is None else as_array(b) * np.exp(a - top)
    total = np.sum(total, axis=axis, keepdims=keepdims)
    top = top if keepdims else np.reshape(top, tuple(total.shape))
    if return_sign:
        return np.log(np.abs(total)) + top, np.sign(total)
    return np.log(total) + top


@meaning("special")
def softmax(x: Any, axis: Any = None) -> Any:
    """exp(x) / sum(exp(x))."""
    return np.exp(log_softmax(x, axis))


@meaning("special")
def log_softmax(x: Any, axis: Any = None) -> Any:
    """x - log(sum(exp(x)))."""
    x = as_array(x)
    return x - logsumexp(x, axis=axis, keepdims=True)


@meaning("special")
def multigammaln(a: Any, d: int) -> Any:
    """The logarithm of the gamma function of d dimensions."""
    a = as_array(a)
    terms = sum(scipys.gammaln(a - j / 2) for j in range(d))
    return terms + d * (d - 1) / 4 * math.log(math.pi)


@meaning("special")
def polygamma(n: int, x: Any) -> Any:
    """The n-th derivative of digamma."""
    return rules.polygamma(as_array(x), int(n))


__getattr__ = otherwise("special")
