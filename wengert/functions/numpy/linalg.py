"""What NumPy's functions of linear algebra mean on Tensors, where they are not rules as they stand.

Results that NumPy names are named here too: `np.linalg.eigh(x).eigenvalues`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.arrays.facts import composed
from wengert.autograd.record import recorder
from wengert.dispatch import as_array
from wengert.functions import linalg
from wengert.functions.arguments import constant
from wengert.functions.numpy.calls import no_more, promoted
from wengert.rules import linalg as rules
from wengert.rules.products import cross
from wengert.rules.reductions import conjugated
from wengert.tensor import Tensor, carries, wrap

# NumPy has no public names for these types.
_of_one: list[Any] = [np.linalg.slogdet, np.linalg.qr, np.linalg.eigh, np.linalg.eig, np.linalg.svd]
SlogdetResult, QRResult, EighResult, EigResult, SVDResult = (
    type(function(np.eye(1))) for function in _of_one
)

_slogdet, _qr, _svd = recorder(np.linalg.slogdet), recorder(np.linalg.qr), recorder(np.linalg.svd)
_eigh, _eig = recorder(np.linalg.eigh), recorder(np.linalg.eig)


@composed(np.linalg.slogdet)
def _slogdet_of(a: Any) -> Any:
    return SlogdetResult(*_slogdet(a))


@composed(np.linalg.qr)
def _qr_of(a: Any, mode: str = "reduced") -> Any:
    if mode == "raw":
        raise TypeError("numpy.linalg.qr with mode='raw' is not supported on Tensors; see geqrf")
    q, r = _qr(a, "reduced" if mode == "r" else mode)
    return r if mode == "r" else QRResult(q, r)


@composed(np.linalg.eigh)
def _eigh_of(a: Any, UPLO: str = "L") -> Any:
    return EighResult(*_eigh(a, UPLO))


@composed(np.linalg.eig)
def _eig_of(a: Any) -> Any:
    return EigResult(*_eig(a))


@composed(np.linalg.eigvals)
def _eigvals(a: Any) -> Any:
    return _eig(a)[0]


@composed(np.linalg.svd)
def _svd_of(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """`hermitian` only chooses a quicker algorithm: the result is the same."""
    if not compute_uv:
        return np.linalg.svdvals(a)
    return SVDResult(*_svd(a, full_matrices))


@composed(np.linalg.pinv)
def _pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = np._NoValue) -> Any:
    if rcond is None:
        rcond = 1e-15 if rtol is np._NoValue else rtol
    if rcond is None:
        rcond = max(a.shape[-2:]) * np.finfo(a.dtype).eps
    return rules.pinv(a, rcond, hermitian)


@composed(np.linalg.lstsq)
def _lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    if rcond is None or rcond == -1:
        rcond = np.finfo(a.dtype).eps * (max(a.shape) if rcond is None else 1)
    solution = linalg.lstsq(a, b, rcond, driver="gelsd")
    rest = solution.residuals
    if rest.ndim == 0:
        rest = rest.reshape(1)  # NumPy keeps the dimension of the vectors
    singular = solution.singular_values
    if isinstance(a, Tensor) and (a.requires_grad or carries(a)):  # PyTorch's have no derivative
        singular = np.linalg.svd(a, compute_uv=False)
    return solution.solution, rest, int(solution.rank), singular


@composed(np.linalg.norm)
def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    return linalg.norm(_inexact(x), ord, axis, bool(keepdims))


@composed(np.linalg.vector_norm)
def _vector_norm(x: Any, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    return linalg.vector_norm(_inexact(x), ord, axis, bool(keepdims))


@composed(np.linalg.matrix_norm)
def _matrix_norm(x: Any, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    return linalg.matrix_norm(_inexact(x), ord, keepdim=bool(keepdims))


def _inexact(x: Any) -> Any:
    """Integers as float64, which NumPy makes of them."""
    x = x if isinstance(x, Tensor) else wrap(np.asarray(x))
    return x.double() if x.dtype.kind in "biu" else x


@composed(np.linalg.matrix_power)
def _matrix_power(a: Any, n: int) -> Any:
    return linalg.matrix_power(a, n)


@composed(np.linalg.cond)
def _cond(x: Any, p: Any = None) -> Any:
    return linalg.cond(_inexact(x), p)


@composed(np.linalg.multi_dot)
def _multi_dot(arrays: Any) -> Any:
    return linalg.multi_dot(promoted(arrays))


@composed(np.linalg.tensorsolve)
def _tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    if axes is not None:  # NumPy counts them in the order given, one after the other
        order = [i for i in range(a.ndim) if i not in axes]
        a = np.transpose(a, [*order, *axes])
    return linalg.tensorsolve(a, b)


@composed(np.linalg.tensorinv)
def _tensorinv(a: Any, ind: int = 2) -> Any:
    return linalg.tensorinv(a, ind)


@composed(np.linalg.trace)
def _trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    return np.trace(x if dtype is None else x.to(dtype), offset, -2, -1)


@composed(np.linalg.diagonal)
def _diagonal(x: Any, /, *, offset: int = 0) -> Any:
    return np.diagonal(x, offset, -2, -1)


@composed(np.cross)
def _cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Any:
    """Of vectors with three components; a result with one axis each, at `axisc`."""
    if axis is not None:
        axisa = axisb = axisc = axis
    a = as_array(a) if axisa == -1 else np.moveaxis(a, axisa, -1)
    b = as_array(b) if axisb == -1 else np.moveaxis(b, axisb, -1)
    if a.shape[-1] != 3 or b.shape[-1] != 3:
        raise ValueError(
            "numpy.cross of Tensors takes vectors of 3 components, got shapes "
            f"{list(a.shape)} and {list(b.shape)}"
        )
    products = cross(a, b)
    return products if axisc == -1 else np.moveaxis(products, -1, axisc)


@composed(np.linalg.vecdot, np.vecdot)
def _vecdot(x1: Any, x2: Any, /, axis: int = -1, keepdims: bool = False) -> Any:
    """A product of matrices, so that integers keep their dtype and lengths must be equal."""
    x1, x2 = (np.moveaxis(as_array(x), axis, -1) for x in (x1, x2))
    products = np.matmul(conjugated(x1)[..., None, :], x2[..., None])[..., 0, 0]
    return np.expand_dims(products, axis) if keepdims else products


if hasattr(np, "matvec"):  # since NumPy 2.2

    @composed(np.matvec)
    def _matvec(x1: Any, x2: Any, **rest: Any) -> Any:
        no_more(rest)
        return np.matmul(x1, np.expand_dims(as_array(x2), -1))[..., 0]

    @composed(np.vecmat)
    def _vecmat(x1: Any, x2: Any, **rest: Any) -> Any:
        no_more(rest)
        return np.matmul(np.expand_dims(conjugated(as_array(x1)), -2), x2)[..., 0, :]


@composed(np.linalg.matrix_rank)
def _matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    array = A._array if isinstance(A, Tensor) else A
    return constant(np.linalg.matrix_rank(array, tol, hermitian, rtol=rtol))
