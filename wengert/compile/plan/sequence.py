"""In which order steps run, and which of them compute a result where it is wanted.

That is in the memory of an output, or of the input that an update writes over, if all other readers
of that have run by then. Other updates are written at the end.
"""

from __future__ import annotations

from dataclasses import dataclass

from wengert.compile.plan.arrays import Goal, fresh
from wengert.compile.plan.groups import Group, Groups
from wengert.compile.plan.needs import Needs
from wengert.compile.plan.strides import Strided, inverse
from wengert.compile.program.operations import check
from wengert.compile.program.program import Statement, Value


@dataclass(slots=True)
class Copy:
    """A result that no step makes: an input, a constant, a view, the same value once more.

    `held` says that another step still reads what is to be written over.
    """

    value: Value
    goal: Goal
    held: bool = False


Task = Group | Statement | Copy


@dataclass(slots=True)
class Sequence:
    """The tasks in order; `goals` of values in memory that is not ours, and those written `late`.

    Some goals are those of `views` of a value, which no other step makes: the changes of layout.
    `last` is the number of the last task that reads a value.
    """

    tasks: list[Task]
    goals: dict[Value, list[Goal]]
    late: list[tuple[Value, Goal]]
    last: dict[Value, int]
    views: dict[Goal, list[Statement]]


def sequence(groups: Groups, needs: Needs) -> Sequence:
    """The order of all steps of a program."""
    ordering = _Ordering(groups, needs)
    ordering.set_goals()
    place = groups.order.place
    nodes = sorted(ordering.tasks, key=place.__getitem__)
    number = {node: k for k, node in enumerate(nodes)}
    last = {v: max(map(number.__getitem__, read)) for v, read in ordering.readers.items() if read}
    return Sequence(
        [ordering.tasks[n] for n in nodes], ordering.goals, ordering.late, last, ordering.views
    )


class _Ordering:
    def __init__(self, groups: Groups, needs: Needs) -> None:
        self.program = groups.roles.program
        self.groups = groups
        self.readers = {v: set(nodes) for v, nodes in needs.readers.items()}
        self.tasks: dict[int, Task] = dict(needs.groups)
        self.tasks |= {node: s for s, node in groups.nodes.items()}
        self.raising = {n for s, n in groups.nodes.items() if groups.roles.raises(s)}
        # A call that fails is made again: it is best to have drawn no number then.
        draws = (s for s in groups.nodes if s.acts and s.function is not check and not s.meets)
        for draw in map(groups.nodes.__getitem__, draws):
            for other in self.raising - {draw}:
                groups.order.link(other, draw)
        self.goals: dict[Value, list[Goal]] = {}
        self.late: list[tuple[Value, Goal]] = []
        self.views: dict[Goal, list[Statement]] = {}

    def set_goals(self) -> None:
        program = self.program
        number = {v: k for k, v in enumerate(program.inputs)}
        wanted = [(v, ("output", k)) for k, v in enumerate(program.outputs)]
        wanted += [(v, ("input", number[t])) for t, v in program.updates.items()]
        writers: dict[Goal, int] = {}
        for value, goal in wanted:
            source = self._computed_at(value, goal)
            node = self.groups.node_of(source)
            if node is not None:
                self.goals.setdefault(source, []).append(goal)
            elif goal[0] == "input" and program.inputs[goal[1]] is value:
                continue
            else:
                node = self._copy(value, goal)
            writers[goal] = node
        for value, goal in wanted:
            if goal[0] == "input" and goal in writers:
                over = program.inputs[goal[1]]
                self._write_over(
                    value, goal, writers[goal], self.readers.get(over, set()), over.lent
                )
            elif goal[0] == "output" and goal[1] in program.replacing:
                before = program.replacing[goal[1]]
                readers = self.readers.get(before, set()) if before is not None else set()
                self._write_over(value, goal, writers[goal], readers)

    def _computed_at(self, value: Value, goal: Goal) -> Value:
        """What is computed for a result: for a new array that is seen in another shape or order,
        the array. It is not if its elements could not lie so, or not where what makes them writes.
        """
        roles = self.groups.roles
        source = roles.source(value)
        kind, number = goal
        if source is None or kind != "output" or number in self.program.replacing:
            return value
        place: Strided | None = fresh(value)
        chain, v = [], value
        while v is not source and place is not None:
            chain.append(roles.made[v])
            place = inverse(chain[-1], place)
            v = chain[-1].args[0]
        if place is None or not roles.can_write(source, place):
            return value
        self.views[goal] = chain[::-1]
        return source

    def _copy(self, value: Value, goal: Goal) -> int:
        """The step that copies a value to where it is wanted."""
        source = self.groups.roles.source(value)
        node = self.groups.order.add(set() if source is None else self.groups.makers([source]))
        self.tasks[node] = Copy(value, goal)
        if source is not None:
            self.readers.setdefault(source, set()).add(node)
        return node

    def _write_over(
        self, value: Value, goal: Goal, writer: int, readers: set[int], lent: bool = False
    ) -> None:
        """Have the readers of memory run before the step that writes over it, or write later.

        So does all that may raise: a call that fails has written nothing but what was `lent` to it.
        """
        readers = readers | (set() if lent else self.raising - {writer})
        task, link = self.tasks[writer], self.groups.order.link
        in_step = writer not in readers or not isinstance(task, Copy)
        if in_step and all(r == writer or link(r, writer) for r in readers):
            return
        if isinstance(task, Copy):
            task.held = True
        else:
            self.goals[value].remove(goal)
            self.late.append((value, goal))
