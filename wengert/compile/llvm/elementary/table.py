"""The table of elementary functions: NumPy's name, the formula in lanes, and what it costs.

The files beside this one fill it: `@native()` stands above each formula.
"""

from __future__ import annotations

from collections.abc import Callable

from wengert.compile.llvm.machine.lanes import Lanes

Formula = Callable[..., Lanes]

FUNCTIONS: dict[str, Formula] = {}
HEAVY: set[str] = set()
"""Functions of so many instructions that a loop of one or two vectors at once is full of them."""
LARGE: set[str] = set()
"""Long functions, and those with rare paths: LLVM may inline one where it is called once."""


def native(*others: str, heavy: bool = True, large: bool = False) -> Callable[[Formula], Formula]:
    """A decorator: this formula is the function of its name in NumPy, and of `others`."""

    def note(formula: Formula) -> Formula:
        for name in (formula.__name__, *others):
            FUNCTIONS[name] = formula
            if heavy:
                HEAVY.add(name)
            if large:
                LARGE.add(name)
        return formula

    return note
