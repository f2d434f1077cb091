"""What type checkers see of `wengert.linalg`; written by `python -m docs.generate.stubs`."""

import builtins
import types
import typing
from collections.abc import Callable as _Callable, Iterator as _Iterator, Sequence as _Sequence
from typing import Any as _Any, NoReturn as _NoReturn

import numpy as _np

from wengert.functions import results as _results
from wengert.functions.results import _Number as _Number, _TensorLike as _TensorLike, _Out as _Out, _Index as _Index, _Dtype as _Dtype, _Ints as _Ints
from wengert.tensor import Size as _Size, Tensor as _Tensor

from wengert.errors import LinAlgError as LinAlgError
def cholesky(input: _TensorLike, *, upper: builtins.bool = False, out: _Out | None = None) -> _Tensor:
    """The lower triangular L with A = L L^H (or the upper U with A = U^H U) of a positive definite matrix; `LinAlgError` if it is not. Only that triangle of A is read; the gradient is Hermitian."""
def cholesky_ex(input: _TensorLike, *, upper: builtins.bool = False, check_errors: builtins.bool = False, out: _Out | None = None) -> _results.cholesky_ex_result:
    """What `cholesky` gives, and for each matrix a code: 0, or the order of a leading minor that is not positive definite; the factor is NaN there."""
def eig(input: _TensorLike, *, out: _Out | None = None) -> _results.eig_result:
    """A V = V diag(w): eigenvalues and eigenvectors of norm 1, complex, in no particular order."""
def eigh(input: _TensorLike, UPLO: builtins.str = 'L', *, out: _Out | None = None) -> _results.eigh_result:
    """A = V diag(w) V^H of a Hermitian matrix: its real eigenvalues, in ascending order, and orthonormal eigenvectors, the columns of V. Only one triangle of A is read."""
def eigvals(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The eigenvalues of a square matrix, complex, in no particular order."""
def eigvalsh(input: _TensorLike, UPLO: builtins.str = 'L', *, out: _Out | None = None) -> _Tensor:
    """The eigenvalues of a Hermitian matrix, in ascending order; the gradient is V diag(g) V^H."""
def householder_product(input: _TensorLike, tau: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The first n columns of H_1 H_2 ... H_k, with H_i = 1 - tau_i v_i v_i^H."""
def ldl_factor(input: _TensorLike, *, hermitian: builtins.bool = False, out: _Out | None = None) -> _results.ldl_factor_result:
    """L D L^T (L D L^H if `hermitian`) of a symmetric matrix that need not be definite, as LAPACK packs it (Bunch and Kaufman, 1977): for `linalg.ldl_solve`. A constant."""
def ldl_factor_ex(input: _TensorLike, *, hermitian: builtins.bool = False, check_errors: builtins.bool = False, out: _Out | None = None) -> _results.ldl_factor_ex_result:
    """What `ldl_factor` gives, and for each matrix a code: 0, or the place of a 0 in D."""
def ldl_solve(LD: _TensorLike, pivots: _TensorLike, B: _TensorLike, *, hermitian: builtins.bool = False, out: _Out | None = None) -> _Tensor:
    """X with A X = B, from what `ldl_factor` gives. A constant."""
def lu(A: _TensorLike, *, pivot: builtins.bool = True, out: _Out | None = None, input: _TensorLike = ...) -> _results.lu_result:
    """A = P L U: a permutation, a lower triangle with ones on its diagonal, an upper one."""
def lu_factor(A: _TensorLike, *, pivot: builtins.bool = True, out: _Out | None = None, input: _TensorLike = ...) -> _results.lu_factor_result:
    """L (below the diagonal) and U in one matrix, and LAPACK's pivots, counted from 1."""
def lu_factor_ex(A: _TensorLike, *, pivot: builtins.bool = True, check_errors: builtins.bool = False, out: _Out | None = None, input: _TensorLike = ...) -> _results.lu_factor_ex_result:
    """What `lu_factor` gives, and for each matrix a code: 0, or the place of a 0 in U."""
def lu_solve(LU: _TensorLike, pivots: _TensorLike, B: _TensorLike, *, left: builtins.bool = True, adjoint: builtins.bool = False, out: _Out | None = None) -> _Tensor:
    """X with A X = B, A^H X = B if `adjoint`, X A = B or X A^H = B if not `left`, by factors of A."""
def qr(A: _TensorLike, mode: builtins.str = 'reduced', *, out: _Out | None = None, input: _TensorLike = ...) -> _results.qr_result:
    """A = Q R: Q with orthonormal columns, R upper triangular."""
def svd(A: _TensorLike, full_matrices: builtins.bool = True, *, driver: builtins.str | None = None, out: _Out | None = None, input: _TensorLike = ...) -> _results.svd_result:
    """A = U diag(S) Vh, the singular values in descending order."""
def svdvals(A: _TensorLike, *, driver: builtins.str | None = None, out: _Out | None = None, input: _TensorLike = ...) -> _Tensor:
    """The singular values, in descending order. Their gradient is U diag(g) Vh."""
def cond(A: _TensorLike, p: builtins.float | builtins.str | None = None, *, out: _Out | None = None, input: _TensorLike = ...) -> _Tensor:
    """The condition number ||A|| ||A^-1||, in the 2-norm or as `p` says; inf if A is singular."""
def cross(input: _TensorLike, other: _TensorLike, *, dim: builtins.int = -1, out: _Out | None = None, axis: builtins.int = ...) -> _Tensor:
    """The vector product along a dimension of size 3; other dimensions broadcast."""
def det(A: _TensorLike, *, out: _Out | None = None, input: _TensorLike = ...) -> _Tensor:
    """The determinant. Its derivative, det(A) A^-H, is right at singular matrices too."""
def diagonal(A: _TensorLike, *, offset: builtins.int = 0, dim1: builtins.int = -2, dim2: builtins.int = -1) -> _Tensor:
    """The diagonals of matrices: a view."""
def inv(A: _TensorLike, *, out: _Out | None = None, input: _TensorLike = ...) -> _Tensor:
    """The inverse of a square matrix; `LinAlgError` if it has none."""
def inv_ex(A: _TensorLike, *, check_errors: builtins.bool = False, out: _Out | None = None, input: _TensorLike = ...) -> _results.inv_ex_result:
    """The inverse, and for each matrix a code: 0, or the place of a pivot that is 0."""
def lstsq(input: _TensorLike, b: _Any, rcond: builtins.float | None = None, *, driver: builtins.str | None = None, out: _Out | None = None) -> _results.lstsq_result:
    """The X that makes ||A X - B|| least, and of those the one of least norm."""
def matrix_exp(A: _TensorLike, *, input: _TensorLike = ...) -> _Tensor:
    """exp(A) = 1 + A + A^2/2 + ..., by scaling and squaring (Al-Mohy and Higham, 2009)."""
def matrix_norm(A: _TensorLike, ord: builtins.float | builtins.str = 'fro', dim: _Any = ..., keepdim: builtins.bool = False, *, dtype: _Dtype | None = None, out: _Out | None = None, axis: _Any = ..., keepdims: builtins.bool = ..., input: _TensorLike = ...) -> _Tensor:
    """The norm of matrices: "fro" (Frobenius), "nuc" (the sum of the singular values), 2 and -2 (the largest and the smallest of them), 1 and -1 (the largest and the smallest sum of a column's |a|), inf and -inf (of a row's)."""
def matrix_power(A: _TensorLike, n: builtins.int, *, out: _Out | None = None, input: _TensorLike = ...) -> _Tensor:
    """The n-th power of square matrices, by repeated squaring; of the inverse if n is negative."""
def matrix_rank(A: _TensorLike, tol: _Any = None, *, atol: _Any = None, rtol: _Any = None, hermitian: builtins.bool = False, out: _Out | None = None, input: _TensorLike = ...) -> _Tensor:
    """How many singular values are above max(atol, rtol * the largest); a constant."""
def multi_dot(tensors: _Sequence[_Any], *, out: _Out | None = None) -> _Tensor:
    """The product of several matrices, in the order that takes the fewest multiplications."""
def norm(A: _TensorLike, ord: builtins.float | builtins.str | None = None, dim: builtins.int | _Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, dtype: _Dtype | None = None, out: _Out | None = None, axis: builtins.int | _Sequence[builtins.int] | None = ..., keepdims: builtins.bool = ..., input: _TensorLike = ...) -> _Tensor:
    """A vector norm or a matrix norm."""
def pinv(A: _TensorLike, *, atol: _Any = None, rtol: _Any = None, hermitian: builtins.bool = False, out: _Out | None = None, input: _TensorLike = ...) -> _Tensor:
    """The pseudo-inverse (Moore and Penrose), by singular values."""
def slogdet(A: _TensorLike, *, out: _Out | None = None, input: _TensorLike = ...) -> _results.slogdet_result:
    """The sign (for complex matrices the phase) of the determinant, and log|det A|."""
def solve(A: _TensorLike, B: _TensorLike, *, left: builtins.bool = True, out: _Out | None = None, input: _TensorLike = ...) -> _Tensor:
    """X with A X = B, or X A = B if not `left`; `LinAlgError` if A is singular."""
def solve_ex(A: _TensorLike, B: _TensorLike, *, left: builtins.bool = True, check_errors: builtins.bool = False, out: _Out | None = None, input: _TensorLike = ...) -> _results.solve_ex_result:
    """What `solve` gives, and for each matrix a code: 0, or the place of a pivot that is 0."""
def solve_triangular(input: _TensorLike, B: _TensorLike, *, upper: builtins.bool = ..., left: builtins.bool = True, unitriangular: builtins.bool = False, out: _Out | None = None) -> _Tensor:
    """X with A X = B, or X A = B, of triangular matrices A; only that triangle is read."""
def tensorinv(input: _TensorLike, ind: builtins.int = 2, *, out: _Out | None = None) -> _Tensor:
    """The inverse under `tensordot(A, B, ind)`: that of the matrix whose rows are the first `ind` dimensions."""
def tensorsolve(input: _TensorLike, other: _TensorLike, dims: _Sequence[builtins.int] | None = None, *, out: _Out | None = None) -> _Tensor:
    """X with tensordot(A, X, X.ndim) = B; the dimensions `dims` of A are moved to its end first."""
def vander(x: _Any, N: builtins.int | None = None) -> _Tensor:
    """Each element's powers 0, 1, ..., N - 1 as a last dimension; as many as there are elements."""
def vecdot(x: _Any, y: _Any, *, dim: builtins.int = -1, out: _Out | None = None, axis: builtins.int = ...) -> _Tensor:
    """The sum of conj(x) y along a dimension."""
def vector_norm(input: _TensorLike, ord: builtins.float = 2, dim: builtins.int | _Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, dtype: _Dtype | None = None, out: _Out | None = None, axis: builtins.int | _Sequence[builtins.int] | None = ..., keepdims: builtins.bool = ...) -> _Tensor:
    """(sum |x|^ord)^(1/ord), over all elements or along `dim`."""
def matmul(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The product of matrices and vectors; leading dimensions are batches, broadcast."""
