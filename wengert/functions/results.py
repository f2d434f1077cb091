"""Results with named parts: what `max(dim)`, `sort`, `topk` and the like return."""

from __future__ import annotations

import functools
from collections import namedtuple
from typing import Any


class _Named:
    __slots__ = ()

    def __repr__(self: Any) -> str:
        parts = ",\n".join(f"{name}={getattr(self, name)!r}" for name in self._fields)
        return f"wengert.return_types.{type(self).__name__}(\n{parts})"


@functools.cache  # namedtuple compiles code for each class: ten of these have the same two fields
def _parts(fields: tuple[str, ...]) -> Any:
    return namedtuple("parts", fields)  # type: ignore[misc]


def _named(name: str, *fields: str) -> Any:
    return type(name, (_Named, _parts(fields)), {"__slots__": (), "__module__": __name__})


def _values_and_indices(name: str) -> Any:
    return _named(name, "values", "indices")


max_result = _values_and_indices("max")
min_result = _values_and_indices("min")
median_result = _values_and_indices("median")
nanmedian_result = _values_and_indices("nanmedian")
mode_result = _values_and_indices("mode")
sort_result = _values_and_indices("sort")
topk_result = _values_and_indices("topk")
kthvalue_result = _values_and_indices("kthvalue")
cummax_result = _values_and_indices("cummax")
cummin_result = _values_and_indices("cummin")
aminmax_result = _named("aminmax", "min", "max")
slogdet_result = _named("linalg_slogdet", "sign", "logabsdet")
qr_result = _named("linalg_qr", "Q", "R")
eigh_result = _named("linalg_eigh", "eigenvalues", "eigenvectors")
eig_result = _named("linalg_eig", "eigenvalues", "eigenvectors")
svd_result = _named("linalg_svd", "U", "S", "Vh")
old_svd_result = _named("svd", "U", "S", "V")
old_qr_result = _named("qr", "Q", "R")
lstsq_result = _named("linalg_lstsq", "solution", "residuals", "rank", "singular_values")
inv_ex_result = _named("linalg_inv_ex", "inverse", "info")
solve_ex_result = _named("linalg_solve_ex", "result", "info")
cholesky_ex_result = _named("linalg_cholesky_ex", "L", "info")
lu_result = _named("linalg_lu", "P", "L", "U")
lu_unpack_result = _named("lu_unpack", "P", "L", "U")
lu_factor_result = _named("linalg_lu_factor", "LU", "pivots")
lu_factor_ex_result = _named("linalg_lu_factor_ex", "LU", "pivots", "info")
ldl_factor_result = _named("linalg_ldl_factor", "LD", "pivots")
ldl_factor_ex_result = _named("linalg_ldl_factor_ex", "LD", "pivots", "info")
geqrf_result = _named("geqrf", "a", "tau")
triangular_solve_result = _named("triangular_solve", "solution", "cloned_coefficient")
histogram_result = _named("histogram", "hist", "bin_edges")
histogramdd_result = _named("histogramdd", "hist", "bin_edges")
frexp_result = _named("frexp", "mantissa", "exponent")
