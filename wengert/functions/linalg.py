"""Linear algebra under PyTorch's names: systems, determinants, norms, products of many matrices.

Matrices are the last two dimensions of a tensor; those before are a batch. The derivatives are in
`rules/linalg.py` and `rules/eigen.py`, the factorisations in `decompositions.py`, what NumPy's
functions mean on Tensors in `numpy/linalg.py`. `wengert/linalg.py` is the namespace.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.arrays.kind import array_of
from wengert.autograd.misfits import told
from wengert.autograd.operands import cast
from wengert.autograd.record import recorder
from wengert.autograd.settings import refuses
from wengert.dispatch import as_array, known, numpy, require
from wengert.errors import DtypeError, LinAlgError, MissingRuleError
from wengert.functions import products, reductions, results, shapes
from wengert.functions.arguments import (
    Dim,
    constant,
    of_tensors,
    one_dim,
    takes_names,
    takes_out,
    tensor_of,
    unchecked,
)
from wengert.history import modes
from wengert.rules import linalg as rules
from wengert.tensor import Tensor, wrap

_roll = recorder(np.roll)
_inv, _det, _slogdet = recorder(np.linalg.inv), recorder(np.linalg.det), recorder(np.linalg.slogdet)
_solve, _solve_triangular = recorder(np.linalg.solve), recorder(rules.solve_triangular)
_svdvals, _eigvalsh = recorder(np.linalg.svdvals), recorder(np.linalg.eigvalsh)
_pinv, _least_squares = recorder(rules.pinv), recorder(rules.least_squares)
_matrix_exp = recorder(rules.matrix_exp)

# ---- operands ----------------------------------------------------------------------------------


def inexact(x: Any, name: str, argument: str = "input") -> Tensor:
    """An operand of floating-point or complex numbers of at least 32 bits; DtypeError if not."""
    x = tensor_of(x, argument)
    if x.dtype.kind not in "fcV":
        raise DtypeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {x.dtype}. "
            "Use x.float() or x.double()."
        )
    if x.dtype.kind == "V" or x.dtype.itemsize < 4:
        raise DtypeError(
            f"{name}: Low precision dtypes not supported. Got {x.dtype}. Use x.float()."
        )
    return x


def matrices(x: Any, name: str, argument: str = "A") -> Tensor:
    """An operand whose last two dimensions are matrices."""
    x = inexact(x, name, argument)
    if x.ndim < 2:
        raise RuntimeError(
            f"{name}: The input tensor {argument} must have at least 2 dimensions, got shape "
            f"{list(x.shape)}."
        )
    return x


def square(x: Any, name: str, argument: str = "A") -> Tensor:
    """An operand of square matrices."""
    x = matrices(x, name, argument)
    m, n = x.shape[-2:]
    if m != n:
        raise RuntimeError(
            f"{name}: {argument} must be batches of square matrices, but they are {m} by {n} "
            "matrices"
        )
    return x


def alike(name: str, a: Tensor, b: Tensor) -> None:
    """RuntimeError unless two operands have one dtype."""
    if a.dtype != b.dtype:
        raise RuntimeError(
            f"{name}: Expected A and B to have the same dtype, but found A of type {a.dtype} and B "
            f"of type {b.dtype} instead. Convert one, as in B.to(A.dtype)."
        )


def square_system(
    A: Any, B: Any, name: str, left: bool, argument: str = "A"
) -> tuple[Tensor, Tensor]:
    """The square matrices of A X = B, or of X A = B if not `left`, and the right-hand sides."""
    A, B = square(A, name, argument), matrices(B, name, "B")
    alike(name, A, B)
    if B.shape[-2 if left else -1] != A.shape[-1]:
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation "
            f"{'AX = B' if left else 'XA = B'} ({list(A.shape)} and {list(B.shape)})"
        )
    return A, B


def broadcast(name: str, a: Tensor, b: Tensor) -> tuple[int, ...]:
    """The batch dimensions of both."""
    try:
        return np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise RuntimeError(
            f"{name}: The batch dimensions of {list(a.shape)} and {list(b.shape)} do not broadcast."
        ) from None


def untracked(x: Tensor, name: str, instead: str) -> Any:
    """The array of an operand of a function without derivative; an error if one may be wanted."""
    if x.requires_grad and modes.is_grad_enabled():
        raise MissingRuleError(
            f"the derivative of {name} is not implemented, and its input requires grad. {instead}"
        )
    return x._array


# ---- systems of equations ----------------------------------------------------------------------


@takes_out
def inv(A: Any) -> Tensor:
    """The inverse of a square matrix; `LinAlgError` if it has none.

    To solve A x = b, `linalg.solve` is faster and more accurate.

    >>> import wengert as wg
    >>> wg.linalg.inv(wg.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    return _inv(square(A, "linalg.inv"))


@takes_out
def inv_ex(A: Any, *, check_errors: bool = False) -> results.inv_ex_result:
    """The inverse, and for each matrix a code: 0, or the place of a pivot that is 0.

    Where there is no inverse the result is infinite or NaN.
    """
    A = square(A, "linalg.inv_ex")
    info = rules.zero_at(rules.pivoted(A._array)[0])
    inverse = checked(A, info, math.inf, _inv, _NO_INVERSE, check_errors)
    return results.inv_ex_result(inverse, constant(info))


_NO_INVERSE = (
    "linalg.inv_ex: The diagonal element {0} is zero, the inversion could not be completed because "
    "the input matrix is singular."
)


def checked(
    A: Tensor, info: Any, number: float, function: Any, error: str, check_errors: bool
) -> Tensor:
    """`function(A)`, with a number where the code of a matrix is not 0; an error if asked for."""
    if check_errors:
        require(info == 0, failed, error, info)
    if known(info) and not np.any(info):
        return function(A)
    bad = info != 0
    regular = wrap(np.eye(A.shape[-1], dtype=A.dtype)).where(constant(bad[..., None, None]), A)
    y = function(regular)
    bad = np.reshape(bad, bad.shape + (1,) * min(2, y.ndim - bad.ndim))  # vectors have one less
    return wrap(np.asarray(number, y.dtype)).where(constant(bad), y)


def failed(text: str, info: Any) -> LinAlgError:
    return LinAlgError(text.format(np.max(info)))


def is_vector(A: Tensor, B: Tensor) -> bool:
    """Whether B holds vectors, one per matrix of A, rather than matrices."""
    return B.ndim == 1 or (A.ndim - 1 == B.ndim and B.shape == A.shape[:-1])


def _system(name: str, A: Any, B: Any, left: bool) -> tuple[Tensor, Tensor, bool]:
    A, B = square(A, name), inexact(B, name, "B")
    alike(name, A, B)
    if not B.ndim:
        raise RuntimeError(f"{name}: B must have at least 1 dimension, it is a single number.")
    vector = is_vector(A, B)
    rows = B.shape[-1] if vector or not left else B.shape[-2]
    if vector and not left:
        raise RuntimeError(
            f"{name}: Vector broadcasting of the left hand side is not supported for left=False. "
            f"Use B.unsqueeze(-2), for B of shape {list(B.shape)}."
        )
    if rows != A.shape[-1]:
        equation = "AX = B" if left else "XA = B"
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {equation} "
            f"({list(A.shape)} and {list(B.shape)})"
        )
    if not vector:
        broadcast(name, A, B)
    return A, B, vector


@takes_out
def solve(A: Any, B: Any, *, left: bool = True) -> Tensor:
    """X with A X = B, or X A = B if not `left`; `LinAlgError` if A is singular.

    B holds matrices (..., n, k), or vectors: (n,), or the shape of A without its last dimension.
    Batches broadcast. With G the cotangent of X, that of B is A^-H G, and A's is -(A^-H G) X^H.

    >>> import wengert as wg
    >>> wg.linalg.solve(wg.tensor([[2.0, 0.0], [1.0, 1.0]]), wg.tensor([4.0, 5.0]))
    tensor([2., 3.])
    """
    A, B, vector = _system("linalg.solve", A, B, left)
    if not left:
        return _solve(A.mT, B.mT).mT
    if vector and B.ndim > 1:
        return _solve(A, B.unsqueeze(-1)).squeeze(-1)
    return _solve(A, B)


@takes_out
def solve_ex(
    A: Any, B: Any, *, left: bool = True, check_errors: bool = False
) -> results.solve_ex_result:
    """What `solve` gives, and for each matrix a code: 0, or the place of a pivot that is 0."""
    A, B, _ = _system("linalg.solve_ex", A, B, left)
    info = rules.zero_at(rules.pivoted((A if left else A.mT)._array)[0])
    solution = checked(A, info, math.inf, lambda A: solve(A, B, left=left), _UNSOLVED, check_errors)
    return results.solve_ex_result(solution, constant(info))


_UNSOLVED = (
    "linalg.solve_ex: The solver failed because the input matrix is singular: the pivot {0} is "
    "zero."
)


@of_tensors(2, takes_out=True)
def solve_triangular(
    input: Any, B: Any, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Tensor:
    """X with A X = B, or X A = B, of triangular matrices A; only that triangle is read.

    `unitriangular` takes the diagonal for ones without reading it. A 0 on the diagonal gives
    infinities or NaN, not an error.
    """
    name = "linalg.solve_triangular"
    A, B = square_system(input, B, name, left)
    broadcast(name, A, B)
    if left:
        return _solve_triangular(A, B, upper, unitriangular)
    return _solve_triangular(A.mT, B.mT, not upper, unitriangular).mT


def _reciprocal_condition(x: Tensor, rcond: Any) -> Any:
    return np.finfo(x.dtype).eps * max(x.shape[-2:]) if rcond is None else rcond


@takes_out
def lstsq(
    input: Any, b: Any, rcond: float | None = None, *, driver: str | None = None
) -> results.lstsq_result:
    """The X that makes ||A X - B|| least, and of those the one of least norm.

    By singular values, whatever the `driver`: those below `rcond` times the largest count as 0, by
    default max(m, n) times the machine epsilon. `residuals` are the squares of ||A X - B||, if A
    has more rows than columns and full rank, and else empty. The driver says what else is found:
    "gelsy", the default, leaves out `residuals`, "gels" leaves out `rank`, and "gelsd" and "gelss"
    give `singular_values` too.
    """
    name = "linalg.lstsq"
    A, B = matrices(input, name), inexact(b, name, "B")
    alike(name, A, B)
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(
            f"{name}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss), got {driver}"
        )
    vector = B.ndim == 1 if A.ndim == 2 else B.ndim == A.ndim - 1 and B.shape == A.shape[:-1]
    columns = B.unsqueeze(-1) if vector else B
    if columns.ndim < 2 or columns.shape[-2] != A.shape[-2]:
        raise RuntimeError(
            f"{name}: input.size(-2) should match other.size({-1 if vector else -2}): A has "
            f"{A.shape[-2]} rows, B has shape {list(B.shape)}"
        )
    broadcast(name, A, columns)
    rcond = _reciprocal_condition(A, rcond)
    X = _least_squares(A, columns, rcond)
    s = np.linalg.svdvals(A._array)
    rank = np.sum(s > np.expand_dims(array_of(rcond), -1) * s[..., :1], axis=-1)
    m, n = A.shape[-2:]
    wanted = m > n and driver not in (None, "gelsy")
    full = wanted and (not known(rank) or bool(np.all(rank == n)))
    rest = reductions.real_square(A @ X - columns).sum(-2) if full else _none_of(X)
    return results.lstsq_result(
        X.squeeze(-1) if vector else X,
        rest.squeeze(-1) if vector and full else rest,
        constant(rank) if driver != "gels" else constant(np.empty(0, np.int64)),
        constant(s) if driver in ("gelsd", "gelss") else _none_of(X.detach()),
    )


def _none_of(x: Tensor) -> Tensor:
    """No numbers, of the real dtype and with the history of `x`."""
    return (x.real if x.is_complex() else x).reshape(-1)[:0]


def _tolerance(A: Tensor, largest: Any, atol: Any, rtol: Any) -> Any:
    """Below what singular values count as 0: the larger of atol and rtol times the largest."""
    least = as_array(0.0 if atol is None else array_of(atol)).astype(largest.dtype)
    if rtol is None:
        rtol = np.where(least > 0, 0.0, np.finfo(A.dtype).eps * max(A.shape[-2:]))
    return np.maximum(least, as_array(array_of(rtol)).astype(largest.dtype) * largest)


@takes_out
def pinv(A: Any, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Tensor:
    """The pseudo-inverse (Moore and Penrose), by singular values.

    Those not above max(atol, rtol * the largest) count as 0; rtol is max(m, n) times the machine
    epsilon unless a tolerance is given. `hermitian` says that A is, which is quicker.
    Differentiable where the rank is constant (Golub and Pereyra, 1973).
    """
    A = (square if hermitian else matrices)(A, "linalg.pinv")
    if not A._array.size:
        return A.mH.clone() if A.dtype.kind == "c" else A.mT.clone()
    if atol is None:
        return _pinv(A, _reciprocal_condition(A, rtol), hermitian)
    largest = np.max(np.linalg.svdvals(A._array), axis=-1)
    relative = _tolerance(A, largest, atol, rtol) / np.where(largest == 0, 1, largest)
    return _pinv(A, relative, hermitian)


@told
def pinverse(input: Any, rcond: float = 1e-15) -> Tensor:
    """`linalg.pinv`, under its older signature."""
    return pinv(input, rtol=rcond)


@takes_out
def matrix_rank(
    A: Any, tol: Any = None, *, atol: Any = None, rtol: Any = None, hermitian: bool = False
) -> Tensor:
    """How many singular values are above max(atol, rtol * the largest); a constant."""
    A = (square if hermitian else matrices)(A, "linalg.matrix_rank")
    atol = tol if tol is not None else atol
    if not A._array.size:
        return constant(np.zeros(A.shape[:-2], np.int64))
    a = A._array
    s = np.absolute(np.linalg.eigvalsh(a)) if hermitian else np.linalg.svdvals(a)
    least = _tolerance(A, np.max(s, axis=-1), atol, rtol)
    return constant(np.sum(s > np.expand_dims(least, -1), axis=-1))


# ---- determinants ------------------------------------------------------------------------------


@takes_out
def det(A: Any) -> Tensor:
    """The determinant. Its derivative, det(A) A^-H, is right at singular matrices too."""
    return _det(square(A, "linalg.det"))


@takes_out
def slogdet(A: Any) -> results.slogdet_result:
    """The sign (for complex matrices the phase) of the determinant, and log|det A|.

    They do not overflow. For a singular matrix they are 0 and minus infinity.

    >>> import wengert as wg
    >>> wg.linalg.slogdet(1e-30 * wg.eye(2)).logabsdet
    tensor(-138.1551)
    """
    return results.slogdet_result(*_slogdet(square(A, "linalg.slogdet")))


@told
def logdet(input: Any) -> Tensor:
    """log(det A): NaN of a negative determinant, minus infinity of 0."""
    sign, size = _slogdet(square(input, "logdet"))
    if sign.dtype.kind == "c":
        return size + 1j * sign.angle()
    negative = constant(np.less(sign._array, 0))
    return wrap(np.asarray(np.nan, size.dtype)).where(negative, size)


# ---- norms -------------------------------------------------------------------------------------


def _typed(x: Any, dtype: Any, name: str) -> Tensor:
    x = tensor_of(x)
    if not dtypes.is_inexact(x.dtype):
        raise DtypeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {x.dtype}. "
            "Use x.float()."
        )
    if dtype is None:
        return x
    dtype = dtypes.stated(dtype)
    if (dtype.kind == "c") != (x.dtype.kind == "c") or not np.can_cast(x.dtype, dtype):
        raise RuntimeError(
            f"{name}: the dtype of the input ({x.dtype}) should be convertible without narrowing "
            f"to the specified dtype ({dtype}). Convert it first, as in x.to({dtype})."
        )
    return cast(x, dtype)


@takes_out
def vector_norm(
    input: Any, ord: float = 2, dim: Dim = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """(sum |x|^ord)^(1/ord), over all elements or along `dim`.

    inf and -inf give the largest and the smallest |x|, 0 the count of nonzero elements. At 0 the
    gradient is 0.
    """
    x = _typed(input, dtype, "linalg.vector_norm")
    if isinstance(ord, str):
        raise TypeError(f"linalg.vector_norm: ord must be a number, got {ord!r}")
    if not x._array.size and (ord < 0 or ord == math.inf):
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {ord} norm on an empty tensor because the "
            "operation does not have an identity"
        )
    return reductions.vector_norm(x, ord, dim, keepdim)


@takes_out
def matrix_norm(
    A: Any,
    ord: float | str = "fro",
    dim: Any = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Tensor:
    """The norm of matrices: "fro" (Frobenius), "nuc" (the sum of the singular values), 2 and -2
    (the largest and the smallest of them), 1 and -1 (the largest and the smallest sum of a column's
    |a|), inf and -inf (of a row's).
    """
    name = "linalg.matrix_norm"
    A = _typed(A, dtype, name)
    if A.ndim < 2:
        raise RuntimeError(
            f"{name}: The input tensor A must have at least 2 dimensions, got {list(A.shape)}."
        )
    if not isinstance(dim, (tuple, list)) or len(dim) != 2:
        raise RuntimeError(f"{name}: dim must be a 2-tuple. Got {dim}")
    rows, columns = (one_dim(d, A.ndim) for d in dim)
    if rows == columns:
        raise RuntimeError(f"{name}: dims must be different. Got ({dim[0]}, {dim[1]})")
    if ord == "fro":
        return reductions.vector_norm(A, 2, (rows, columns), keepdim)
    if ord in ("nuc", 2, -2):
        norms = _svdvals(inexact(shapes.movedim(A, (rows, columns), (-2, -1)), name))
        norms = norms.sum(-1) if ord == "nuc" else norms.amax(-1) if ord == 2 else norms.amin(-1)
    elif ord in (1, -1, math.inf, -math.inf):
        summed, left = (rows, columns) if ord in (1, -1) else (columns, rows)
        sums = A.abs().sum(summed, keepdim=True)
        norms = (sums.amax if ord in (1, math.inf) else sums.amin)((left,), keepdim=True)
        return norms if keepdim else _without(norms, rows, columns)
    else:
        raise RuntimeError(
            f"{name}: Order {ord} not supported. Use 'fro', 'nuc', 1, -1, 2, -2, inf or -inf."
        )
    if not keepdim:
        return norms
    return norms.reshape([1 if i in (rows, columns) else n for i, n in enumerate(A.shape)])


def _without(x: Tensor, *dims: int) -> Tensor:
    return x.reshape([n for i, n in enumerate(x.shape) if i not in dims])


@takes_out
def norm(
    A: Any,
    ord: float | str | None = None,
    dim: Dim = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Tensor:
    """A vector norm or a matrix norm.

    With one dimension `dim` it is `vector_norm`, with two `matrix_norm`. Without `dim`, and without
    `ord`, it is the 2-norm of all elements; with `ord`, that of a vector or a matrix.
    """
    A = _typed(A, dtype, "linalg.norm")
    if isinstance(dim, int):
        dim = (dim,)
    if ord is None:
        return reductions.vector_norm(A, 2, dim, keepdim)
    if dim is None:
        if A.ndim not in (1, 2):
            raise RuntimeError(
                "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
                f"{A.ndim}D."
            )
        dim = tuple(range(A.ndim))
    if len(dim) not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {dim}"
        )
    if len(dim) == 2:
        return matrix_norm(A, ord, tuple(dim), keepdim)
    if isinstance(ord, str):
        raise RuntimeError(f"linalg.norm: the order {ord!r} is one of matrices, and dim is {dim}")
    return vector_norm(A, ord, tuple(dim), keepdim)


def norm_except_dim(v: Any, pow: int = 2, dim: int = 0) -> Tensor:
    """The norm of each slice along `dim`, with that dimension kept; of all elements if it is -1."""
    x = _typed(v, None, "norm_except_dim")
    if dim == -1:
        return reductions.vector_norm(x, pow)
    axis = one_dim(dim, x.ndim)
    if x.ndim == 1:
        return x.abs()
    return reductions.vector_norm(x, pow, [i for i in range(x.ndim) if i != axis], keepdim=True)


@takes_out
def cond(A: Any, p: float | str | None = None) -> Tensor:
    """The condition number ||A|| ||A^-1||, in the 2-norm or as `p` says; inf if A is singular.

    The relative error of a solution of A x = b is up to this many times that of b.
    """
    A = matrices(A, "linalg.cond")
    if p in (None, 2, -2):
        s = _svdvals(A)
        if not A._array.size:
            return s.sum(-1)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    if p not in ("fro", "nuc", 1, -1, math.inf, -math.inf):
        raise RuntimeError(
            f"linalg.cond got an invalid norm type: {p}. Use None, 'fro', 'nuc', inf, -inf, 1, -1, "
            "2 or -2."
        )
    A = square(A, "linalg.cond")
    inverse, info = inv_ex(A)
    number = matrix_norm(A, p) * matrix_norm(inverse, p)
    return wrap(np.asarray(np.inf, number.dtype)).where(constant(info._array != 0), number)


# ---- products and powers -----------------------------------------------------------------------


@of_tensors(1, takes_out=True)
def matrix_power(A: Any, n: int) -> Tensor:
    """The n-th power of square matrices, by repeated squaring; of the inverse if n is negative."""
    A = square(A, "linalg.matrix_power") if n < 0 or dtypes.is_inexact(tensor_of(A).dtype) else A
    if n < 0:
        A, n = _inv(A), -n
    if not n:
        return A.clone().copy_(
            constant(np.zeros_like(A._array) + np.eye(A.shape[-1], dtype=A.dtype))
        )
    power: Any = A
    product: Any = None
    while True:
        if n % 2:
            product = power if product is None else product @ power
        n //= 2
        if not n:
            return product if product is not A else A.clone()
        power = power @ power


@told
@takes_names
def matrix_exp(A: Any) -> Tensor:
    """exp(A) = 1 + A + A^2/2 + ..., by scaling and squaring (Al-Mohy and Higham, 2009)."""
    return _matrix_exp(square(A, "linalg.matrix_exp"))


@takes_out
def multi_dot(tensors: Sequence[Any]) -> Tensor:
    """The product of several matrices, in the order that takes the fewest multiplications.

    The first and the last may be vectors.
    """
    given = [tensor_of(x) for x in tensors]
    if len(given) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(given)}")
    for k, x in enumerate(given):
        if x.ndim not in ((1, 2) if k in (0, len(given) - 1) else (2,)):
            raise RuntimeError(
                f"multi_dot(): tensor {k} must be 2D{' or 1D' if k in (0, len(given) - 1) else ''} "
                f"but got {x.ndim}D"
            )
    row, column = given[0].ndim == 1, given[-1].ndim == 1
    factors = list(given)
    if row:
        factors[0] = factors[0].unsqueeze(0)
    if column:
        factors[-1] = factors[-1].unsqueeze(1)
    for a, b in itertools.pairwise(factors):
        if a.shape[1] != b.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors of shapes {list(a.shape)} and {list(b.shape)} cannot be "
                "multiplied"
            )
    split = chain_order([factors[0].shape[0], *(x.shape[1] for x in factors)])

    def product(i: int, j: int) -> Tensor:
        if i == j:
            return factors[i]
        k = split(i, j)[1]
        return product(i, k) @ product(k + 1, j)

    whole = product(0, len(factors) - 1)
    if row:
        whole = whole.squeeze(0)
    return whole.squeeze(-1) if column else whole


def chain_order(sizes: list[int]) -> Any:
    """Where to split the product of factors i to j, with its cost (Cormen et al., section 14.2).

    Factor k has sizes[k] rows and sizes[k + 1] columns.

    >>> chain_order([10, 100, 5, 50])(0, 2)
    (7500, 1)
    """

    @functools.cache
    def best(i: int, j: int) -> tuple[int, int]:
        if i == j:
            return 0, i
        return min(
            (best(i, k)[0] + best(k + 1, j)[0] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
            for k in range(i, j)
        )

    return best


@of_tensors(2, alike=True, takes_out=True)
def cross(input: Any, other: Any, *, dim: int = -1) -> Tensor:
    """The vector product along a dimension of size 3; other dimensions broadcast."""
    return _cross(input, other, dim)


_cross = unchecked(products.cross)


@of_tensors(2, alike=True, takes_out=True)
def vecdot(x: Any, y: Any, *, dim: int = -1) -> Tensor:
    """The sum of conj(x) y along a dimension."""
    return ((x.conj() if x.dtype.kind == "c" else x) * y).sum(dim)


@told
def diagonal(A: Any, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of matrices: a view."""
    return shapes.diagonal(A, offset, dim1, dim2)


@of_tensors(1)
@refuses(x="b")
def vander(x: Any, N: int | None = None) -> Tensor:
    """Each element's powers 0, 1, ..., N - 1 as a last dimension; as many as there are elements."""
    x = x if x.ndim else x.reshape(1)
    n = x.shape[-1] if N is None else N
    if n < 1:
        raise RuntimeError(f"linalg.vander: N must be greater than 1, got {n}.")
    return numpy.vander(x, n, True)


# ---- tensors as matrices -----------------------------------------------------------------------


@takes_out
def tensorinv(input: Any, ind: int = 2) -> Tensor:
    """The inverse under `tensordot(A, B, ind)`: that of the matrix whose rows are the first `ind`
    dimensions.
    """
    A = tensor_of(input)
    if ind <= 0:
        raise RuntimeError(f"linalg.tensorinv: Expected ind to be > 0, got {ind}")
    first, last = A.shape[:ind], A.shape[ind:]
    if math.prod(first) != math.prod(last):
        raise RuntimeError(
            "linalg.tensorinv: Expected self to satisfy the requirement prod(self.shape[ind:]) == "
            f"prod(self.shape[:ind]), but got {math.prod(last)} != {math.prod(first)}"
        )
    n = math.prod(first)
    return inv(A.reshape(n, n)).reshape(*last, *first)


@takes_out
def tensorsolve(input: Any, other: Any, dims: Sequence[int] | None = None) -> Tensor:
    """X with tensordot(A, X, X.ndim) = B; the dimensions `dims` of A are moved to its end first."""
    A, B = tensor_of(input), tensor_of(other, "other")
    if dims is not None:
        A = shapes.movedim(A, tuple(dims), tuple(range(A.ndim - len(dims), A.ndim)))
    last = A.shape[B.ndim :]
    if math.prod(last) != math.prod(A.shape[: B.ndim]):
        raise RuntimeError(
            "linalg.tensorsolve: Expected self to satisfy the requirement "
            f"prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but got "
            f"{math.prod(last)} != {math.prod(A.shape[: B.ndim])}"
        )
    n = math.prod(last)
    return solve(A.reshape(n, n), B.reshape(n)).reshape(last)
