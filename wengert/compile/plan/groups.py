"""The result of grouping: which statements share a kernel, and the graph in which kernels stand."""

from __future__ import annotations

from collections.abc import Iterable

from wengert.compile.plan.loops import Frame, Loop, resolved
from wengert.compile.plan.order import Order
from wengert.compile.plan.roles import Roles, axes_of
from wengert.compile.program.program import Statement, Value


class Group:
    """Statements that run in one kernel."""

    __slots__ = (
        "_into",
        "fast",
        "inner",
        "loops",
        "makes",
        "node",
        "phase",
        "reads",
        "reductions",
        "statements",
    )

    def __init__(
        self, node: int, statement: Statement, loops: tuple[Loop, ...], phase: int
    ) -> None:
        self.node = node
        # How many steps that stand alone come before it in the program.
        self.phase = phase
        self.statements = [statement]
        self.makes = {statement.output: None}
        self.loops = loops
        self.inner: tuple[Loop, ...] | None = None
        # The loop along which the largest values lie contiguous.
        self.fast: Loop | None = loops[-1] if loops else None
        self.reads: dict[Value, list[Frame]] = {}
        self.reductions: list[Statement] = []
        self._into: Group | None = None

    @property
    def now(self) -> Group:
        """The group that this one was merged into."""
        group = self
        while group._into is not None:
            group = group._into
        if group is not self:
            self._into = group
        return group

    def reads_of(self, maker: Group) -> list[tuple[Value, list[Frame]]]:
        """What it reads of another group's values."""
        if len(maker.statements) >= len(self.reads):
            return [read for read in self.reads.items() if read[0] in maker.makes]
        return [(v, self.reads[v]) for v in maker.makes if v in self.reads]

    def absorb(self, other: Group) -> None:
        other._into = self
        self.statements += other.statements
        self.makes |= other.makes
        self.reductions += other.reductions
        for value, frames_ in other.reads.items():
            self.reads.setdefault(value, []).extend(frames_)


class Groups:
    """The groups of a program, and the graph of steps in which they stand.

    `nodes` are the steps of the statements that stand alone; `frames` the loops along which values
    are made, `work` those that reductions work along. `onto` are statements that combine an array
    with the result of a reduction: each with that, and with the array, which it updates.
    """

    def __init__(self, roles: Roles) -> None:
        self.roles = roles
        self.order = Order()
        self.of: dict[Statement, Group] = {}
        self.nodes: dict[Statement, int] = {}
        self.frames: dict[Value, Frame] = {}
        self.work: dict[Statement, Frame] = {}
        self.onto: dict[Statement, tuple[Statement, Value]] = {}

    def group_of(self, value: Value) -> Group | None:
        s = self.roles.made.get(value)
        group = self.of.get(s) if s is not None else None
        return group.now if group else None

    def node_of(self, value: Value) -> int | None:
        """The step that makes a value; None for inputs, constants and what costs nothing."""
        s = self.roles.made.get(value)
        if s is None:
            return None
        group = self.of.get(s)
        return group.now.node if group else self.nodes.get(s)

    def makers(self, values: Iterable[Value]) -> set[int]:
        return {n for n in map(self.node_of, values) if n is not None}

    def summed(self, s: Statement) -> tuple[Loop, ...]:
        """The loops that a reduction combines over."""
        return summed(s, self.work[s])


def summed(s: Statement, work: Frame) -> tuple[Loop, ...]:
    """The loops that a reduction combines over, of those that it works along."""
    return resolved([loop for k in axes_of(s) for loop in work[k] or ()])
