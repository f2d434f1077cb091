"""How far the promise holds: `python -m tests.compile.histories 1000` draws so many histories.

Each is about one kind of change; the table counts what came of them. With a word after the number,
only kinds that contain it; with `--show`, each failing history is made small and printed.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict

import wengert as wg
from tests.compile.histories.history import compared, difference, directed, report, run, shrunk
from tests.compile.histories.pieces import KINDS, REFUSED

COLUMNS = ("histories", "silently wrong", "error", "refused", "slower path")
OUTCOMES = {"silent": "silently wrong", "error": "error", "refused": "refused"}


def main(count: int, word: str = "", show: bool = False) -> None:
    kinds = [kind for kind in KINDS if word in kind]
    table: dict[str, Counter[str]] = defaultdict(Counter)
    outcomes: dict[str, set[bool]] = defaultdict(set)
    for k in range(count):
        # In steps that go through all kinds, but not in their order.
        kind = kinds[k * 1009 % len(kinds)] if len(kinds) % 1009 else kinds[k % len(kinds)]
        history = directed(k, kind)
        eager, compiled = run(history, lambda f: f), run(history, wg.compile)
        found = compared(eager, compiled, ())
        row = table[row_of(kind)]
        outcomes[kind] |= {found is None}
        row["histories"] += 1
        if found is not None:
            row[OUTCOMES[found.how]] += 1
            if show:
                fails = lambda h: difference(h, ()) is not None
                small = shrunk(history, fails)
                print(report(small, difference(small, ()) or found))
        elif not compiled.native:
            row["slower path"] += 1
    total = sum(table.values(), Counter())
    width = max(map(len, table))
    print(f"{'kind of change':{width}}", *(f"{c:>14}" for c in COLUMNS))
    for name, row in [*sorted(table.items()), ("all", total)]:
        print(f"{name:{width}}", *(f"{row[c] or '':>14}" for c in COLUMNS))
    stale = [kind for kind in outcomes if kind in REFUSED and outcomes[kind] == {True}]
    fresh = [kind for kind in outcomes if kind not in REFUSED and False in outcomes[kind]]
    print(f"{len(stale)} refused kinds were honoured:", *stale, sep="\n    ")
    print(f"{len(fresh)} other kinds were not:", *fresh, sep="\n    ")


def row_of(kind: str) -> str:
    """Kinds that differ in their place only, or in the rule of an optimizer, share a row."""
    first, _, rest = kind.partition(": ")
    if first in ("kept", "random", "memory", "asked", "idiom", "call"):
        return first + ": " + rest.partition(": ")[0] * (first != "random")
    return f"training: {rest.partition(': ')[2]}" if first == "training" else rest


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--show"]
    main(int((words or ["1000"])[0]), " ".join(words[1:]), "--show" in sys.argv)
