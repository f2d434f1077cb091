"""What programs that define distributions take from `torch.distributions.utils`."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.distributions.distribution import broadcast_all as broadcast_all
from wengert.distributions.distribution import eps, lazy
from wengert.distributions.distribution import summed as _sum_rightmost  # noqa: F401
from wengert.functions.random import randn
from wengert.imports import lacking as _lacking
from wengert.tensor import Tensor

lazy_property = lazy


def _standard_normal(shape: Any, dtype: Any, device: Any) -> Tensor:
    """Normal variables, by the name under which they are looked up."""
    return randn(shape, dtype=dtype, device=device)


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities away from 0 and 1 by the dtype's precision."""
    return probs.clamp(eps(probs), 1 - eps(probs))


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """softmax(logits), or sigmoid(logits) of what has two outcomes."""
    return logits.sigmoid() if is_binary else logits.softmax(-1)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """log p, or log p - log(1 - p) of what has two outcomes."""
    p = clamp_probs(probs)
    return p.log() - (-p).log1p() if is_binary else p.log()


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The lower triangle of each matrix, row by row."""
    return mat[(..., *np.tril_indices(mat.shape[-1], diag))]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """The matrices of which `tril_matrix_to_vec` makes these vectors."""
    length = vec.shape[-1]
    n = 0
    while len(np.tril_indices(n, diag)[0]) < length:
        n += 1
    rows, columns = np.tril_indices(n, diag)
    if len(rows) != length:
        raise ValueError(f"a vector of {length} elements is no lower triangle with diagonal {diag}")
    out = vec.new_zeros((*vec.shape[:-1], n, n))
    out[..., rows, columns] = vec
    return out


_lacking(__name__)
