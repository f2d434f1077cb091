"""Kinds of arrays beneath the engine: what a rule means depends on which kind flows through it.

Begin with `kind.py`, which says what a kind is, and in which order a function's meaning is asked.
`batched/` shows one example and holds all, for `vmap`; `dependent/` knows the inputs that each
number came from, for sparse Jacobians; `symbolic/` holds formulas. Another kind, which writes a
program down, belongs to the compiler (`compile/trace/`).

To add a kind, write a subclass of `Kind` and its array, and register on it what those functions
mean that are not composed of others. Arrays stand below `wengert.tensor`; what they have to know
from above is handed in there.
"""

from wengert.arrays import common as common
