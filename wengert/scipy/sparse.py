"""`scipy.sparse` on tensors: products of a sparse matrix of numbers with a tensor.

SciPy's `A @ x` asks nobody what it means, and makes an array of x. `matrix(A) @ x` does not.
"""

from __future__ import annotations

from typing import Any

import scipy.sparse

from wengert.autograd import primitive
from wengert.dispatch import as_array
from wengert.scipy.meaning import otherwise
from wengert.scipy.standard import holds_arrays


@primitive.linear(lambda g, A: _times(g, A.T.conj()), None, opaque=True)
def _times(x: Any, A: Any) -> Any:
    return A @ x


class matrix:
    """A sparse matrix of SciPy's whose products with tensors are differentiated by the tensor.

    >>> import numpy as np
    >>> import wengert as wg
    >>> A = matrix(scipy.sparse.csr_array([[1.0, 0.0], [2.0, 3.0]]))
    >>> wg.grad(lambda x: np.sum(A @ x))(np.array([1.0, 1.0]))
    array([3., 3.])
    """

    def __init__(self, A: Any) -> None:
        self.A = A if scipy.sparse.issparse(A) else scipy.sparse.csr_array(A)
        self.shape = self.A.shape

    @property
    def T(self) -> matrix:
        """The transposed matrix."""
        return matrix(self.A.T)

    def __matmul__(self, x: Any) -> Any:
        return _times(as_array(x), self.A) if holds_arrays(x) else self.A @ x

    def dot(self, x: Any) -> Any:
        """`self @ x`."""
        return self @ x

    def __rmatmul__(self, x: Any) -> Any:
        return self.T @ x if len(x.shape) == 1 else (self.T @ x.T).T


__getattr__ = otherwise("sparse")
