"""Passes: what is done to a program before it becomes loops.

Each file holds one subject, a table of rules or a function; `clean` applies all the tables.

Begin with `rewrite.py`: a rule looks at one statement and says what replaces it; `algebra.py` has
the shortest. What looks at a whole program is a function of its own: `common.py` (computed once),
`dead.py` (never needed), `unread.py` (never needed of loops and choices), `rows.py` (that are all
one), `twins.py` (loops that run once), `included.py` (loops that are parts of others),
`columns.py`, `joins.py`, `zeros.py`, `chosen.py`, `blocks.py`, `members.py`, `copies.py`,
`waits.py` and `checks.py`.

To add a rule, write it where its subject is, with its algebra as a comment above it: it holds for
infinities and NaN, or asks first whether any can be there. Imports the program, and no planner.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from wengert.compile.program.bodies import bodies
from wengert.compile.program.infer import check_types
from wengert.compile.program.passes import (
    algebra,
    bounds,
    fold,
    layout,
    picks,
    products,
    reductions,
)
from wengert.compile.program.passes.checks import checks_first
from wengert.compile.program.passes.chosen import rows_chosen
from wengert.compile.program.passes.columns import columns
from wengert.compile.program.passes.common import key, merged
from wengert.compile.program.passes.copies import copies
from wengert.compile.program.passes.dead import dead
from wengert.compile.program.passes.joins import part_by_part
from wengert.compile.program.passes.rerun import made_beside
from wengert.compile.program.passes.rewrite import Rules, rewrite
from wengert.compile.program.passes.rows import rows
from wengert.compile.program.passes.twins import twins
from wengert.compile.program.passes.unread import unread
from wengert.compile.program.passes.waits import waits
from wengert.compile.program.passes.zeros import blocks_of_products
from wengert.compile.program.program import Program

RULES = Rules(
    layout.RULES,
    algebra.RULES,
    reductions.RULES,
    products.RULES,
    picks.RULES,
    bounds.RULES,
    fold.RULES,
)
DEBUG = bool(os.environ.get("WENGERT_CHECK"))
"""Whether the types of all statements are checked after each pass."""


def clean(program: Program) -> Program:
    """Simplify a program; it is changed in place.

    All rules are applied in one walk, which also finds common subexpressions: what one rule makes
    is seen by the others at once. Some rules ask whether a value has one reader, which is known
    better after the first walk and the removal of dead statements; hence a second walk. Bodies of
    loops and branches are programs, too; of those that are equal one is left.
    """
    _cleaned(program)
    for change in (twins, unread):
        if change(program):
            check(program)
    return program


def _cleaned(program: Program) -> None:
    _run(program, dead, merged, fold.uniform, _walk, dead, _walk, dead)
    if rows(program):
        _run(program, dead)
    for s in program.statements:
        for body in bodies(s):
            _cleaned(body)


def finish(program: Program) -> Program:
    """Take short rows apart, where that is worth it, and what is waited for, and have checks come
    before draws; in place.

    It comes last, when a program is cut in two: what one part saves for the other stays whole.
    """
    for change, *steps in _CHANGES:
        if change(program):
            _run(program, *steps)
    return program


def _run(program: Program, *steps: Callable[[Program], Program]) -> None:
    for step in steps:
        step(program)
        if DEBUG:
            check_types(program)
    check(program)


def check(program: Program) -> None:
    check_types(program) if DEBUG else program.check()


def _walk(program: Program) -> Program:
    return rewrite(program, RULES, key)


_CHANGES: tuple[tuple[Callable[[Program], Any], ...], ...] = (
    (unread,), (rows_chosen,), (products.in_loops, _walk, dead),
    (columns, _walk, dead, _walk, dead), (part_by_part, dead), (blocks_of_products,), (copies,),
    (made_beside,), (waits,), (checks_first,),
)  # fmt: skip
"""What `finish` does, in order, each with what follows where it changed the program."""
