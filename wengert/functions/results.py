"""Results with named parts: what `max(dim)`, `sort`, `topk` and the like return."""

from __future__ import annotations

from collections import namedtuple
from typing import Any


class _Named:
    __slots__ = ()

    def __repr__(self: Any) -> str:
        parts = ",\n".join(f"{name}={getattr(self, name)!r}" for name in self._fields)
        return f"wengert.return_types.{type(self).__name__}(\n{parts})"


def _named(name: str, *fields: str) -> Any:
    return type(name, (_Named, namedtuple(name, fields)), {"__slots__": (), "__module__": __name__})


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
histogram_result = _named("histogram", "hist", "bin_edges")
