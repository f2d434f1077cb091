"""Products of vectors and matrices, and einsum, under PyTorch's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert import dtypes
from wengert.autograd.operands import cast, one_dtype
from wengert.autograd.record import recorder
from wengert.dispatch import numpy
from wengert.functions.arguments import (
    numbers_first,
    of_tensors,
    one_dim,
    operands_of,
    rounded_once,
    takes_out,
    tensor_of,
    unchecked,
)
from wengert.rules import products as rules
from wengert.rules.blocks import EXACT
from wengert.tensor import Tensor

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""What einsum calls axes that are given as numbers."""

_matmul, _tensordot, _einsum = recorder(np.matmul), recorder(np.tensordot), recorder(rules.einsum)


def _sized(name: str, expected: str, *tensors: Any) -> None:
    shapes = " and ".join(str(list(x.shape)) for x in tensors)
    raise RuntimeError(f"{name}: expected {expected}, got tensors of shape {shapes}")


def _one_dtype(name: str, *tensors: Tensor) -> None:
    kinds = {x._array.dtype for x in tensors}
    if len(kinds) > 1:
        listed = " and ".join(str(x.dtype) for x in tensors)
        raise RuntimeError(
            f"{name}: expected m1 and m2 to have the same dtype, but got: {listed}. "
            f"Convert one, as in b.to(a.dtype)."
        )


@takes_out
def matmul(input: Any, other: Any) -> Tensor:
    """The product of matrices and vectors; leading dimensions are batches, broadcast.

    >>> import wengert as wg
    >>> wg.matmul(wg.ones(2, 3), wg.ones(3, 4)).shape
    torch.Size([2, 4])
    """
    a, b = input, other
    if not (isinstance(a, Tensor) and isinstance(b, Tensor)):
        a, b = operands_of(matmul, 2, (a, b))
    have, other_shape = a._array.shape, b._array.shape
    if not have or not other_shape:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {a.ndim}D and "
            f"{b.ndim}D. Use * instead."
        )
    if a._array.dtype is not b._array.dtype:
        _one_dtype("matmul", a, b)
    inner = other_shape[-2 if len(other_shape) > 1 else 0]
    if have[-1] != inner:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({list(a.shape)} and {list(b.shape)}): "
            f"{a.shape[-1]} columns meet {inner} rows. Transpose one, e.g. b.mT."
        )
    return _matmul(a, b)


_product = unchecked(matmul)


@of_tensors(2, takes_out=True)
def mm(input: Any, mat2: Any) -> Tensor:
    """The product of two matrices."""
    if input._array.ndim != 2 or mat2._array.ndim != 2:
        _sized("mm", "two matrices", input, mat2)
    return _product(input, mat2)


@of_tensors(2, takes_out=True)
def bmm(input: Any, mat2: Any) -> Tensor:
    """The products of two batches of matrices, (b, n, m) and (b, m, p)."""
    have, other = input._array.shape, mat2._array.shape
    if len(have) != 3 or len(other) != 3 or have[0] != other[0]:
        _sized("bmm", "two batches of as many matrices", input, mat2)
    return _product(input, mat2)


@of_tensors(2, takes_out=True)
def mv(input: Any, vec: Any) -> Tensor:
    """The product of a matrix and a vector."""
    if input.ndim != 2 or vec.ndim != 1:
        _sized("mv", "a matrix and a vector", input, vec)
    return _product(input, vec)


@of_tensors(2, takes_out=True)
def dot(input: Any, tensor: Any) -> Tensor:
    """The sum of the products of two vectors' elements."""
    if input._array.ndim != 1 or tensor._array.ndim != 1:
        _sized("dot", "1D tensors", input, tensor)
    if input._array.shape != tensor._array.shape:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensors of one size, got {list(input.shape)} "
            f"and {list(tensor.shape)}"
        )
    return _product(input, tensor)


@of_tensors(2, takes_out=True)
def vdot(input: Any, other: Any) -> Tensor:
    """The dot product with the first vector conjugated."""
    return dot(input.conj(), other)


@of_tensors(2, takes_out=True)
def inner(input: Any, other: Any) -> Tensor:
    """Sums of products along the last dimensions."""
    if not input.ndim or not other.ndim:
        return input * other
    return tensordot(input, other, ([-1], [-1]))


@of_tensors(2, takes_out=True)
def outer(input: Any, vec2: Any) -> Tensor:
    """All products of an element of one vector with one of the other."""
    if input.ndim != 1 or vec2.ndim != 1:
        _sized("outer", "1D tensors", input, vec2)
    return input.unsqueeze(1) * vec2


ger = outer


_mm, _mv, _bmm, _outer = map(unchecked, (mm, mv, bmm, outer))


def _added(name: str, input: Any, product: Any, beta: Any, alpha: Any) -> Any:
    """beta * input + alpha * product; with beta = 0 the input is ignored, NaN and all."""
    input = tensor_of(input)
    kind = dtypes.result_type(product._array, input._array)
    if not dtypes.is_inexact(kind):
        for setting, value in (("beta", beta), ("alpha", alpha)):
            if isinstance(value, float):
                raise RuntimeError(
                    f"{name}: for integral input tensors, argument {setting} must not be a "
                    f"floating point number, got {value}. Use x.float()."
                )
    if alpha != 1:
        product = product * alpha
    if beta == 0:
        return cast(product, kind)
    try:
        if input._array.shape != product._array.shape:
            np.broadcast_shapes(input.shape, product.shape)
    except ValueError:
        raise RuntimeError(
            f"{name}: the input's shape {list(input.shape)} does not broadcast to "
            f"{list(product.shape)}"
        ) from None
    return cast((input if beta == 1 else input * beta) + product, kind)


@numbers_first("beta", "alpha")
@of_tensors(3, alike=True, takes_out=True)
@rounded_once
def addmm(input: Any, mat1: Any, mat2: Any, *, beta: complex = 1, alpha: complex = 1) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2)."""
    return _added("addmm", input, _mm(mat1, mat2), beta, alpha)


@numbers_first("beta", "alpha")
@of_tensors(3, alike=True, takes_out=True)
def addmv(input: Any, mat: Any, vec: Any, *, beta: complex = 1, alpha: complex = 1) -> Tensor:
    """beta * input + alpha * (mat @ vec)."""
    return _added("addmv", input, _mv(mat, vec), beta, alpha)


@numbers_first("beta", "alpha")
@of_tensors(3, takes_out=True)
def addr(input: Any, vec1: Any, vec2: Any, *, beta: complex = 1, alpha: complex = 1) -> Tensor:
    """beta * input + alpha * outer(vec1, vec2)."""
    return _added("addr", input, _outer(vec1, vec2), beta, alpha)


@numbers_first("beta", "alpha")
@of_tensors(3, alike=True, takes_out=True)
@rounded_once
def baddbmm(
    input: Any, batch1: Any, batch2: Any, *, beta: complex = 1, alpha: complex = 1
) -> Tensor:
    """beta * input + alpha * bmm(batch1, batch2)."""
    return _added("baddbmm", input, _bmm(batch1, batch2), beta, alpha)


@numbers_first("beta", "alpha")
@of_tensors(3, alike=True, takes_out=True)
@rounded_once
def addbmm(
    input: Any, batch1: Any, batch2: Any, *, beta: complex = 1, alpha: complex = 1
) -> Tensor:
    """beta * input + alpha * the sum of the products in two batches."""
    return _added("addbmm", input, _bmm(batch1, batch2).sum(0), beta, alpha)


@takes_out
def chain_matmul(*matrices: Any) -> Tensor:
    """The product of several matrices, from left to right."""
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    result = matrices[0]
    for matrix in matrices[1:]:
        result = result @ matrix
    return result


@of_tensors(2, takes_out=True)
def kron(input: Any, other: Any) -> Tensor:
    """The Kronecker product: each element of one times all of the other."""
    dtype = dtypes.result_type(input, other)
    return kronecker(cast(input, dtype), cast(other, dtype), _multiply, _reshape)


def kronecker(a: Any, b: Any, multiply: Any, reshape: Any) -> Any:
    """np.kron, by functions that multiply and reshape."""
    m, n = a.shape, b.shape
    ndim = max(len(m), len(n))
    m, n = (1,) * (ndim - len(m)) + tuple(m), (1,) * (ndim - len(n)) + tuple(n)
    spread = multiply(
        reshape(a, tuple([k for size in m for k in (size, 1)])),
        reshape(b, tuple([k for size in n for k in (1, size)])),
    )
    return reshape(spread, tuple([i * j for i, j in zip(m, n, strict=True)]))


_multiply, _reshape = recorder(np.multiply), recorder(np.reshape)


@of_tensors(2, alike=True, takes_out=True)
def cross(input: Any, other: Any, dim: int | None = None) -> Tensor:
    """The vector product along a dimension of size 3."""
    have, others = input._array.shape, other._array.shape
    if len(have) != len(others):
        raise RuntimeError(
            "linalg.cross: inputs must have the same number of dimensions, got shapes "
            f"{list(input.shape)} and {list(other.shape)}"
        )
    if dim is None:
        dim = next((i for i, n in enumerate(have) if n == 3), None)
        if dim is None:
            raise RuntimeError(
                f"cross: no dimension of size 3 in input of shape {list(input.shape)}"
            )
    axis = one_dim(dim, len(have))
    if have[axis] != 3 or others[axis] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {have[axis]} and "
            f"{others[axis]}"
        )
    if axis == len(have) - 1:
        return _cross(input, other)
    return numpy.cross(input, other, axis=axis)


@of_tensors(2, takes_out=True)
def tensordot(a: Any, b: Any, dims: Any = 2) -> Tensor:
    """Sums of products over pairs of dimensions: the last of `a` with the first of `b`, or as
    listed.
    """
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if not isinstance(dims, (int, list, tuple)):
        raise RuntimeError(f"tensordot expects dims to be int or two lists, got dims={dims}")
    if not isinstance(dims, int):
        dims = tuple([side] if isinstance(side, int) else list(side) for side in dims)
    if isinstance(dims, int):
        if not 0 <= dims <= min(a.ndim, b.ndim):
            raise RuntimeError(
                f"tensordot expects dims from 0 to {min(a.ndim, b.ndim)}, as many as both tensors "
                f"have, but got dims={dims}"
            )
        pairs = list(zip(a.shape[a.ndim - dims :], b.shape[:dims], strict=False))
    else:
        pairs = [(a.shape[i], b.shape[j]) for i, j in zip(*dims, strict=True)]
    for m, n in pairs:
        if m != n and 1 not in (m, n):
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {m} and second {n}"
            )
    if any(m != n for m, n in pairs) and not isinstance(dims, int):
        # A dimension of size one is repeated against the other: its partner is summed first.
        for i, j in zip(*dims, strict=True):
            if a.shape[i] == 1 != b.shape[j]:
                b = b.sum(j, True)
            elif b.shape[j] == 1 != a.shape[i]:
                a = a.sum(i, True)
    return _tensordot(a, b, dims)


@of_tensors(2, alike=True)
def cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: str | None = None) -> Tensor:
    """The p-norm distances of each row of one matrix from each row of another (batched)."""
    one, two = x1._array, x2._array
    if one.ndim < 2 or two.ndim < 2:
        _sized("cdist", "two matrices, or batches of them", x1, x2)
    if one.shape[-1] != two.shape[-1]:
        raise RuntimeError(
            f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}"
        )
    if p in (1, 2) and one.dtype in EXACT and one.size and two.size:
        return _distances(x1, x2) if p == 2 else _block_distances(x1, x2)
    apart = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    return apart.norm(p, -1) if p else apart.abs().sign().sum(-1)  # of a NaN it is NaN here


_distances, _block_distances = recorder(rules.distances), recorder(rules.block_distances)
_cross = recorder(rules.cross)


# ---- einsum --------------------------------------------------------------------------------


def einsum(equation: Any, *operands: Any) -> Tensor:
    """Sums of products, spelled with one letter per dimension.

    >>> import wengert as wg
    >>> wg.einsum("ij,jk->ik", wg.ones(2, 3), wg.ones(3, 2))
    tensor([[3., 3.],
            [3., 3.]])
    """
    if not isinstance(equation, str):
        if not operands:
            raise ValueError(
                f"einsum() takes an equation, as in einsum('ij,jk->ik', a, b), and operands, but "
                f"got {type(equation).__name__} alone"
            )
        equation, operands = from_sublists((equation, *operands))
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    tensors = [tensor_of(x) for x in operands]
    terms, output = _parse(equation.replace(" ", ""), [x.ndim for x in tensors])
    tensors = list(tensors)
    for k, term in enumerate(terms):
        for letter in dict.fromkeys(term):
            while terms[k].count(letter) > 1:
                tensors[k], terms[k] = _take_diagonal(tensors[k], terms[k], letter)
    sizes = _sizes(equation, terms, tensors)
    for k, term in enumerate(terms):
        kept = [i for i, c in enumerate(term) if tensors[k].shape[i] == sizes[c] or sizes[c] == 1]
        if len(kept) < len(
            term
        ):  # size one against a larger one: broadcast by leaving the letter out
            tensors[k] = tensors[k].reshape([tensors[k].shape[i] for i in kept])
            terms[k] = "".join(term[i] for i in kept)
    if len(terms) == 1 and {*terms[0]} == {*output}:
        return tensors[0].permute([terms[0].index(c) for c in output])
    if any(terms[0].count(c) for term in terms[1:] for c in term if c not in output):
        one_dtype("einsum", tensors)
    kinds = {x._array.dtype for x in tensors}
    if len(kinds) > 1:
        target = dtypes.result_type(*(x._array for x in tensors))
        tensors = [x.to(target) for x in tensors]
    return _einsum(f"{','.join(terms)}->{output}", tensors)


def _parse(equation: str, ranks: list[int]) -> tuple[list[str], str]:
    """The terms and the output with every dimension named; an ellipsis becomes unused letters."""
    left, arrow, output = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise RuntimeError(
            f"einsum(): the equation {equation!r} has {len(terms)} operands, but {len(ranks)} "
            "were given"
        )
    free = [c for c in LETTERS if c not in equation]
    longest = 0
    for k, term in enumerate(terms):
        if "..." in term:
            longest = max(longest, ranks[k] - len(term) + 3)
    dots = "".join(free[:longest])
    for k, term in enumerate(terms):
        if "..." in term:
            n = ranks[k] - len(term) + 3
            term = term.replace("...", dots[longest - n :] if n > 0 else "")
        if len(term) != ranks[k]:
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({len(term)}) does not "
                f"match the number of dimensions ({ranks[k]}) for operand {k}"
            )
        terms[k] = term
    if arrow:
        output = output.replace("...", dots)
    else:
        letters = "".join(terms)
        output = dots + "".join(
            sorted(c for c in set(letters) if letters.count(c) == 1 and c not in dots)
        )
    unknown = [c for c in output if c not in "".join(terms)]
    if unknown:
        raise RuntimeError(
            f"einsum(): output subscript {unknown[0]} does not appear in the equation for any "
            "input operand"
        )
    return terms, output


def _sizes(equation: str, terms: list[str], tensors: list[Tensor]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for term, x in zip(terms, tensors, strict=True):
        for c, n in zip(term, x.shape, strict=True):
            have = sizes.setdefault(c, n)
            if have != n and 1 not in (have, n):
                raise RuntimeError(
                    f"einsum(): in {equation!r} the operands give the subscript {c} the sizes "
                    f"{have} and {n}, which do not broadcast: shapes "
                    f"{[list(x.shape) for x in tensors]}"
                )
            sizes[c] = max(have, n) if 0 not in (have, n) else 0
    return sizes


def _take_diagonal(x: Tensor, term: str, letter: str) -> tuple[Tensor, str]:
    """A letter that occurs twice in one term picks a diagonal, which becomes the last dimension."""
    first = term.index(letter)
    second = term.index(letter, first + 1)
    rest = term[:first] + term[first + 1 : second] + term[second + 1 :]
    return x.diagonal(0, first, second), rest + letter


def from_sublists(arguments: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """The form einsum(x, [0, 1], y, [1, 2], [0, 2]) as an equation."""

    def letters(items: Any) -> str:
        return "".join("..." if i is Ellipsis else LETTERS[i] for i in items)

    pairs = len(arguments) // 2
    equation = ",".join(letters(arguments[2 * k + 1]) for k in range(pairs))
    if len(arguments) % 2:
        equation += "->" + letters(arguments[-1])
    return equation, tuple(arguments[2 * k] for k in range(pairs))
