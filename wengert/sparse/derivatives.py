"""Sparse Jacobians and Hessians: as many products as there are colours, not as there are columns.

Read `sparsity.py`, which finds the pattern and computes products, and `colouring.py`, which says
which ones are needed. A plan joins them: made once, at a point, and used at others.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Literal

import numpy as np

from wengert.errors import ForwardModeError, PatternError
from wengert.history.surroundings import KNOWING
from wengert.sparse import colouring
from wengert.sparse.colouring import Colouring, Order, seeds
from wengert.sparse.sparsity import At
from wengert.transforms.reverse import gradient_of
from wengert.transforms.run import Argnums, Function, checked

Mode = Literal["auto", "forward", "reverse"]


class SparsePlan:
    """How to compute a sparse matrix of derivatives; `plan(*args)` computes it.

    `pattern` is where it may have nonzeros, a `scipy.sparse.csr_array` of truth values; `colouring`
    has the colours; `careful` names functions that were not looked into, each result of which was
    taken to depend on each argument: if the pattern is fuller than it should be, look there.
    """

    _what: str

    def __init__(
        self,
        name: str,
        f: Function,
        argnums: Argnums,
        args: tuple[Any, ...],
        pattern: Any,
        mode: Mode,
        order: Order | None,
        check: bool,
        chunk_size: int | None,
    ) -> None:
        from wengert.sparse.matrix import Pattern  # takes SciPy, which is slow to import

        checked(name, f, argnums)
        _check_options(name, args, mode, order, chunk_size)
        self._name, self._f, self._argnums = name, f, argnums
        self._mode, self._order, self._check, self._chunk = mode, order, check, chunk_size
        at = self._at(args, None)
        self.careful: list[str] = []
        if pattern is None:
            self.shape, indptr, columns, self.careful = at.pattern()
            rows = np.repeat(np.arange(self.shape[0]), np.diff(indptr))
        else:
            self.shape, rows, columns = _given(name, pattern, at.n)
        self._rows, self._columns = self._completed(rows, columns)
        counts = np.bincount(self._rows, minlength=self.shape[0])
        self._places = Pattern.of(self._columns, np.cumsum([0, *counts]), self.shape)
        self.colouring = self._coloured(mode)

    def _at(self, args: tuple[Any, ...], shape: tuple[int, int] | None) -> At:
        return At(self._name, self._f, self._argnums, args, shape)

    def _completed(self, rows: Any, columns: Any) -> tuple[Any, Any]:
        return rows, columns

    def _coloured(self, mode: Mode) -> Colouring:
        raise NotImplementedError

    def _products(self, at: At) -> tuple[Any, Any]:
        """The products u^T A and A v that the colours ask for."""
        raise NotImplementedError

    # ---- use --------------------------------------------------------------------------------

    def __call__(self, *args: Any) -> Any:
        """The matrix at a point, as a `scipy.sparse.csr_array` of the plan's pattern."""
        at = self._at(args, self.shape)
        matrix = self._computed(at)
        if self._check:
            self._compare(at, matrix)
        return matrix

    def check(self, *args: Any) -> None:
        """PatternError if the pattern does not hold at a point: by one product more.

        A random combination of the rows, computed from the matrix, is compared with the same one
        computed by reverse mode, which needs no pattern.
        """
        at = self._at(args, self.shape)
        self._compare(at, self._computed(at))

    def _computed(self, at: At) -> Any:
        products = self._products(at)  # which may change the colouring
        return self._matrix(self.colouring.entries(*products))

    @property
    def pattern(self) -> Any:
        return self._matrix(np.ones(len(self._rows), bool))

    @property
    def nnz(self) -> int:
        """How many nonzeros the pattern has."""
        return len(self._rows)

    def _matrix(self, entries: Any) -> Any:
        return self._places.matrix(entries)

    def _compare(self, at: At, matrix: Any) -> None:
        u = np.random.default_rng(1974).uniform(0.5, 1.5, self.shape[0]).astype(matrix.dtype)
        (exact,) = at.pulled(lambda start, stop: u[None], 1, None)
        with np.errstate(all="ignore"):
            product = matrix.T @ u
            scale = abs(matrix).T @ u + abs(exact)
            eps = np.finfo(matrix.dtype).eps  # columns that cancel are as exact as the largest one
            wrong = abs(product - exact) > np.sqrt(eps) * scale + 1000 * eps * scale.max(initial=0)
        if wrong.any():  # what cancels leaves rounding errors, other ones for multiples of u
            factors = np.array([[3], [5], [7], [11]], matrix.dtype)
            several = at.pulled(lambda start, stop: (factors * u)[start:stop], len(factors), None)
            noise = abs(several / factors - exact).max(0)
            wrong &= abs(product - exact) > 64 * noise
        if wrong.any():
            worst = int(np.argmax(np.where(wrong, abs(product - exact), 0)))
            raise PatternError(
                f"{self._name}: the pattern of the plan does not hold at this point. In "
                f"{int(wrong.sum())} of {self.shape[1]} columns, column {worst} the worst of them, "
                "the matrix differs from a product computed without it. The pattern is that of the "
                "branches and the indices at the point where the plan was made; prepare another "
                f"plan here, wengert.{self._name}(f, x), or give it a pattern that holds at all "
                "points, pattern=..."
            )

    # ---- what users see ---------------------------------------------------------------------

    def __repr__(self) -> str:
        m, n = self.shape
        c = self.colouring
        parts = [f"{c.vjps} with rows" * bool(c.vjps), f"{c.jvps} with columns" * bool(c.jvps)]
        how = " and ".join(part for part in parts if part)
        return (
            f"<{self._what}, {m} x {n}, {self.nnz} nonzeros: {c.products} "
            f"product{'s' * (c.products != 1)}{how and f' ({how})'} instead of {min(m, n)}>"
        )


KNOWING.append(SparsePlan)  # nothing of it changes, and its function is observed when it runs


class SparseJacobian(SparsePlan):
    _what = "sparse Jacobian"

    def _coloured(self, mode: Mode) -> Colouring:
        entries = self._rows, self._columns, self.shape, self._order
        if mode in ("forward", "reverse"):
            return colouring.one_sided(*entries, by_rows=mode == "reverse")
        return colouring.bidirectional(*entries)

    def _products(self, at: At) -> tuple[Any, Any]:
        c = self.colouring
        by_columns = np.zeros((0, self.shape[0]))
        if c.jvps:
            try:
                by_columns = at.pushed(
                    lambda a, b: seeds(c.column_colours, a, b, float), c.jvps, self._chunk
                )
            except ForwardModeError:
                if self._mode != "auto":
                    raise
                # A custom Function without jvp, say: rows alone, from now on.
                self.colouring = self._coloured("reverse")
                return self._products(at)
        by_rows = np.zeros((0, self.shape[1]), by_columns.dtype)
        if c.vjps or not c.jvps:
            by_rows = at.pulled(lambda a, b: seeds(c.row_colours, a, b, float), c.vjps, self._chunk)
        return by_rows, by_columns


class SparseHessian(SparsePlan):
    _what = "sparse Hessian"

    def _at(self, args: tuple[Any, ...], shape: tuple[int, int] | None) -> At:
        gradient = gradient_of(self._name, self._f, self._argnums)
        return At(self._name, gradient, self._argnums, args, shape)

    def _completed(self, rows: Any, columns: Any) -> tuple[Any, Any]:
        """Both of each pair of entries that are equal."""
        n = self.shape[1]
        if self.shape[0] != n:
            raise PatternError(
                f"{self._name}: the pattern of a Hessian is square, but this is one of {self.shape}"
            )
        keys = np.unique(
            np.concatenate([rows * np.int64(n) + columns, columns * np.int64(n) + rows])
        )
        return np.divmod(keys, max(n, 1))

    def _coloured(self, mode: Mode) -> Colouring:
        return colouring.symmetric(self._rows, self._columns, self.shape[0], self._order)

    def _products(self, at: At) -> tuple[Any, Any]:
        """u^T H, which is H u: forward over reverse, or reverse over reverse."""
        c = self.colouring

        def vectors(start: int, stop: int) -> Any:
            return seeds(c.row_colours, start, stop, float)

        products = None
        if self._mode != "reverse":
            with suppress(*[ForwardModeError] * (self._mode == "auto")):
                products = at.pushed(vectors, c.vjps, self._chunk)
        if products is None:
            products = at.pulled(vectors, c.vjps, self._chunk)
        return products, products[:0]


def sparse_jacobian(
    f: Function,
    *args: Any,
    argnums: Argnums = 0,
    pattern: Any = None,
    mode: Mode = "auto",
    order: Order | None = None,
    check: bool = False,
    chunk_size: int | None = None,
) -> SparseJacobian:
    """The function that computes the Jacobian of `f` as a sparse matrix, prepared at `args`.

    What is returned is a plan, `plan(*args)` the Jacobian J at a point: a `scipy.sparse.csr_array`
    with a row for each element of the output and a column for each element of the arguments that
    `argnums` names (containers and several dimensions one after the other, in C order). It costs
    one product J v or u^T J for each colour, however many columns there are. All matrices of one
    plan have the same pattern, zeros of the moment included.

    The pattern is found by running f once on arrays that know what they were computed from. It is
    that of the branches taken and the indices computed at `args`: with `check=True` each call is
    checked by one product more, and `plan.check(*args)` does it once. `pattern`, a sparse or dense
    matrix, gives it instead. Arguments that are not differentiated by may change from call to call;
    zeros in arrays that f closes over are taken to stay.

    `mode` says by which products: of columns ("forward"), of rows ("reverse"), or whatever takes
    fewest, both together if need be ("auto"; a matrix with a full row and a full column needs
    both). `order` is that in which the colours are given out, see `colouring.ORDERS`. `chunk_size`
    bounds how many products are computed together, to save memory.

    The result has no history. Errors: PatternError where the pattern cannot be found or does not
    hold, GradError for complex numbers, integers, and functions that return no tensor.

    Curtis, Powell and Reid, "On the estimation of sparse Jacobian matrices" (1974); Gebremedhin,
    Manne and Pothen, "What color is your Jacobian?" (2005).

    >>> import numpy as np
    >>> def chain(x):
    ...     return x[1:] * x[:-1] ** 2
    >>> jacobian = sparse_jacobian(chain, np.ones(1000))
    >>> jacobian
    <sparse Jacobian, 999 x 1000, 1998 nonzeros: 2 products (2 with columns) instead of 999>
    >>> jacobian(np.arange(1000.0))[[1], :3].toarray()
    array([[0., 4., 1.]])
    """
    options = (pattern, mode, order, check, chunk_size)
    return SparseJacobian("sparse_jacobian", f, argnums, args, *options)


def sparse_hessian(
    f: Function,
    *args: Any,
    argnums: Argnums = 0,
    pattern: Any = None,
    mode: Mode = "auto",
    order: Order | None = None,
    check: bool = False,
    chunk_size: int | None = None,
) -> SparseHessian:
    """The function that computes the Hessian of `f` as a sparse matrix, prepared at `args`.

    As `sparse_jacobian`, for an f that returns one number: `plan(*args)` is the square symmetric
    matrix of second derivatives by the arguments that `argnums` names. It costs one Hessian-vector
    product for each colour of a star colouring, which uses that of two equal entries one is enough.
    The pattern is that of the Jacobian of the gradient.

    Products are forward over reverse; with `mode="reverse"`, or where a function has no forward
    derivative, reverse over reverse.

    Coleman and More, "Estimation of sparse Hessian matrices and graph coloring problems" (1984);
    Gebremedhin, Tarafdar, Manne and Pothen, "New acyclic and star coloring algorithms with
    application to computing Hessians" (2007).

    >>> import numpy as np
    >>> def energy(x):
    ...     return np.sum(x[0] * x[1:] ** 2)
    >>> hessian = sparse_hessian(energy, np.ones(1000))
    >>> hessian
    <sparse Hessian, 1000 x 1000, 2997 nonzeros: 2 products (2 with rows) instead of 1000>
    >>> hessian(np.ones(1000))[:2, :2].toarray()
    array([[0., 2.],
           [2., 2.]])
    """
    options = (pattern, mode, order, check, chunk_size)
    return SparseHessian("sparse_hessian", f, argnums, args, *options)


# ---- what is given ---------------------------------------------------------------------------


def _check_options(name: str, args: Any, mode: Any, order: Any, chunk_size: Any) -> None:
    if not args:
        raise TypeError(f"{name} needs the point to prepare for: {name}(f, x)")
    if mode not in ("auto", "forward", "reverse"):
        raise ValueError(f"{name}: mode is 'auto', 'forward' or 'reverse', not {mode!r}")
    if order is not None and order not in colouring.ORDERS:
        raise ValueError(
            f"{name}: there is no order {order!r} of colouring. Choose one of "
            f"{', '.join(colouring.ORDERS)}, or None for the better of the first two."
        )
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"{name}: chunk_size should be greater than 0, not {chunk_size}")


def _given(name: str, pattern: Any, n: int) -> tuple[tuple[int, int], Any, Any]:
    """The shape, rows and columns of a pattern, the entries in order."""
    from scipy.sparse import coo_array, issparse

    matrix = coo_array(pattern if issparse(pattern) else np.asarray(pattern) != 0)
    if len(matrix.shape) != 2 or matrix.shape[1] != n:
        raise PatternError(
            f"{name}: the pattern has shape {matrix.shape}, but the arguments have {n} elements: "
            f"it needs a row for each output and {n} columns."
        )
    rows, columns = (index.astype(np.int64) for index in matrix.coords)
    keys = np.unique(rows * np.int64(max(n, 1)) + columns)
    return matrix.shape, *np.divmod(keys, max(n, 1))
