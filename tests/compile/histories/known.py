"""Which kinds of change a compiled function does not honour yet, and why: a table that is to empty.

A repair takes lines out: `python -m tests.compile.histories 8000` says which kinds of the table are
honoured by now, and which that are not in it are not.
"""

# ruff: noqa: E501  (a kind is a line)
from __future__ import annotations

from tests.compile.histories.pieces import PLACES

REFUSED = "refused, with the line: to be said in docs/compiler.md, or to be made to work"

UNCHECKED: tuple[str, ...] = ()
"""What is not compared yet."""

# fmt: off
KINDS_AND_PLACES: tuple[tuple[str, str, str], ...] = (
    ("array's item: replaced", "argument, argument in a tuple, argument in a dict", REFUSED),
    ("array's item: written", "argument, argument in a tuple, argument in a dict", REFUSED),
    ("array's item: item written", "argument, argument in a tuple, argument in a dict", REFUSED),
    ("array's item: of another shape", "argument, argument in a tuple, argument in a dict", REFUSED),
    ("array's item: of another dtype", "argument, argument in a tuple, argument in a dict", REFUSED),
    ("kept: an iterator: kept", "", REFUSED),
    ("random: np.random: drawn", "", REFUSED),
    ("random: np.random: reseeded", "", REFUSED),
    ("random: np.random: state set", "", REFUSED),
    ("random: np.random: generator reseeded", "", REFUSED),
    ("random: np.random: drawn from", "", REFUSED),
)
# fmt: on


def _kinds() -> dict[str, str]:
    found = {}
    for kind, where, why in KINDS_AND_PLACES:
        if not where:
            found[kind] = why
            continue
        first, _, rest = where.partition("everywhere")
        named = [p for p in (rest.removeprefix(" but ") or first).split(", ") if p]
        places = named if first else [p for p in PLACES if p not in named]
        found |= {f"{place}: {kind}": why for place in places}
    return found


NOT_YET = _kinds()


def cause(kind: str) -> str | None:
    """Why a kind of change is not honoured yet, if it is not."""
    return NOT_YET.get(kind)
