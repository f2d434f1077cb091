"""Common subexpressions: what is computed twice is computed once.

Statements are equal if they call the same function on the same arguments; all statements are pure,
opaque ones too. The key of a statement tells 1 from 1.0 and True, and 0.0 from -0.0.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from wengert.compile.program.program import Program, Statement, Value

COMMUTATIVE = frozenset({np.add, np.multiply, np.equal, np.not_equal})
SMALL = 4096
"""Constants of up to this many bytes are compared by content."""


def key(s: Statement) -> Hashable:
    """What equal statements have in common."""
    args = s.args
    frozen: Hashable
    if s.function in COMMUTATIVE:
        frozen = frozenset(map(_frozen, args))
    else:
        frozen = tuple(map(_frozen, args))
    if s.kwargs:
        return s.function, frozen, tuple((k, _frozen(s.kwargs[k])) for k in sorted(s.kwargs))
    return s.function, frozen


def _frozen(item: Any) -> Hashable:
    kind = type(item)
    if kind is Value or kind is int or kind is str or item is None:
        return item
    if kind is tuple:
        return tuple(map(_frozen, item))
    if kind is list:
        return (list, *map(_frozen, item))
    if kind is slice:
        return slice, item.start, item.stop, item.step
    if kind is dict:
        return (dict, *((k, _frozen(item[k])) for k in sorted(item)))
    if kind is bool or kind is float or kind is complex:
        return kind, repr(item)
    if isinstance(item, (np.dtype, type)):
        return item
    return object, id(item)  # the statement keeps it alive


def merged(program: Program) -> Program:
    """Small constants of equal content become one constant."""
    firsts: dict[Hashable, Value] = {}
    by = {}
    for value, array in program.constants.items():
        if array.nbytes <= SMALL and not array.dtype.hasobject:
            first = firsts.setdefault((array.shape, array.dtype, array.tobytes()), value)
            if first is not value:
                by[value] = first
    program.substitute(by)
    return program
