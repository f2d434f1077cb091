"""What there is to draw of a compiled function: the statements of its program, loops as one each.

`f.graph()` asks for it. A program of many statements is folded as history is (`folding.py`): what a
line of the user's did becomes one vertex, then what a function did, then stretches of the program.
"""

from __future__ import annotations

import linecache
from collections.abc import Mapping, Sequence
from itertools import groupby

from wengert.compile.plan.plan import Call as PythonCall
from wengert.compile.plan.plan import Plan
from wengert.compile.program.program import Program, Statement, Value
from wengert.explain.layers import place
from wengert.history.location import line_number
from wengert.visual.folding import Call, Calls, fold
from wengert.visual.graph import Cost, Graph, Vertex, box_of, summarize


class Step:
    """A statement, as drawings ask of the nodes of history."""

    fields = ()
    saved = ()

    def __init__(self, statement: Statement, number: int) -> None:
        self.statement = statement
        self.order = 2 * number
        self.code, self.at = statement.code, statement.at

    @property
    def line(self) -> int:
        return line_number(self.code, self.at) if self.code is not None else 0

    def title(self) -> str:
        """The function's name; of a loop, how often it goes round."""
        length = getattr(self.statement.function, "length", 0)
        return self.statement.name.removeprefix("np.") + (f" × {length:,}" if length else "")

    def name(self) -> str:
        """What it does; of a loop or a branch, what is done inside."""
        bodies: list[Program] = getattr(self.statement.function, "bodies", None) or []
        if body := getattr(self.statement.function, "body", None):
            bodies = [body]
        inside = dict.fromkeys(s.name.removeprefix("np.") for b in bodies for s in b.statements)
        return f"{self.title()}: {', '.join(inside)}" if inside else self.title()


def program_graph(
    program: Program, boxes: int = 40, costs: Mapping[Value, Cost] | None = None
) -> Graph:
    """The statements of a program, with the place of each in a drawing.

    `costs` says what the statement takes that computes a value.

    >>> import wengert as wg
    >>> f = wg.compile(lambda x: wg.fori_loop(0, 9, lambda i, y: y.sin(), x).sum())
    >>> _ = f(wg.ones(3))
    >>> [vertex.label for vertex in program_graph(f.program).vertices]
    ['sum', 'repeat × 9\\n3', 'x0\\n3']
    """
    steps = [Step(s, k) for k, s in enumerate(program.statements, 1)]
    results = set(program.results)
    makers: dict[Value, Vertex] = {}
    for value in (*program.inputs, *program.constants):
        name = program.names.get(value, "constant")
        makers[value] = Vertex(
            None, name, True, shape=value.shape, dtype=str(value.dtype), leaf=value
        )
    vertices: list[Vertex] = []
    for step in steps:
        vertex = Vertex(step, step.title(), False)
        if step.statement.outputs:
            first = step.statement.outputs[0]
            vertex.shape, vertex.dtype = first.shape, str(first.dtype)
            vertex.cost = (costs or {}).get(first)
        vertex.inputs = list(dict.fromkeys(makers[v] for v in step.statement.inputs))
        vertex.is_result = any(v in results for v in step.statement.outputs)
        makers |= dict.fromkeys(step.statement.outputs, vertex)
        vertices.append(vertex)
    calls = Calls({})
    calls.made = lines_of(steps)
    if len({*makers.values(), *vertices}) > boxes:
        _divide(vertices, calls)
    leaves = list(dict.fromkeys(v for vertex in vertices for v in vertex.inputs if v.is_leaf))
    everything = [*reversed(vertices), *leaves]
    calls.names = {str(k): leaf.leaf for k, leaf in enumerate(leaves)}  # names may be the same
    shown = fold(everything, calls, boxes, box_of)
    for vertex in shown:
        if vertex.folded is not None:
            summarize(vertex, vertex.folded)
    folded = any(vertex.folded is not None for vertex in shown)
    note = f"{len(steps):,} statements, folded by lines of the program" if folded else ""
    if any(cost.share is not None for cost in (costs or {}).values()):
        note += f"{', ' if note else ''}shares of the time of a call and bytes in memory"
    return Graph(shown, place(shown), note)


def costs_of(plan: Plan, shares: Sequence[float] | None) -> dict[Value, Cost]:
    """What each value takes to compute, by the steps that a plan has for it and their shares.

    A loop that carries out several statements shares its time among them equally; what only they
    read is in registers, and takes no memory.
    """
    readers: dict[Value, set[int]] = {}
    makers: dict[Value, set[int]] = {}
    together = []
    for k, step in enumerate(plan.steps):
        statements = [step.statement] if isinstance(step, PythonCall) else step.statements
        together.append(statements)
        for statement in statements:
            for value in statement.inputs:
                readers.setdefault(value, set()).add(k)
            for value in statement.outputs:
                makers.setdefault(value, set()).add(k)
    costs = {}
    for value, where in makers.items():
        read = readers.get(value)  # nowhere: it is a result, or what becomes of a parameter
        stored = not read or value in plan.outputs or not read <= where
        part = sum(shares[k] / len(together[k]) for k in where) if shares is not None else None
        others = [s.name.removeprefix("np.") for k in where for s in together[k]
                  if value not in s.outputs]  # fmt: skip
        told = f"in one loop with {', '.join(dict.fromkeys(others))}" if others else ""
        costs[value] = Cost(value.nbytes if stored else 0, part, told=told)
    return costs


def _divide(vertices: list[Vertex], calls: Calls) -> None:
    """Give each line of the program its own vertices of the inputs that it reads, as its part."""
    around = calls.around(v.node for v in vertices)
    own: dict[tuple[Vertex, Call], Vertex] = {}
    for vertex in vertices:
        line = around[vertex.node][-1]
        vertex.inputs = [
            own.setdefault((v, line), v.repeated()) if v.is_leaf else v for v in vertex.inputs
        ]


def lines_of(steps: list[Step]) -> list[Call]:
    """The stretches of a program that one function did, and in these that one of its lines did."""
    calls = []
    for code, whole in groupby(steps, key=lambda step: step.code):
        inside = list(whole)
        where = getattr(code, "co_qualname", "program")
        calls.append(_stretch(where.split(".<locals>.")[-1], "", inside, 0))
        for number, part in groupby(inside, key=lambda step: step.line):
            told = linecache.getline(code.co_filename, number).strip() if code else ""
            calls.append(_stretch(told or f"line {number}", where, list(part), 1))
    return calls


def _stretch(kind: str, path: str, steps: list[Step], depth: int) -> Call:
    return Call(path, kind, steps[0].order - 1, steps[-1].order + 1, depth)
