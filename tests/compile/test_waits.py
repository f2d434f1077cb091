"""What is done elsewhere is started early and waited for late, and nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.compile.programs import Builder, Drawn, agree
from wengert.compile.call.executable import executable
from wengert.compile.program.operations import check
from wengert.compile.program.passes import clean, finish
from wengert.compile.program.passes.waits import starting_early, waits
from wengert.compile.program.program import Program, Statement, Value
from wengert.dispatch import Parts


class Elsewhere:
    """A function in parts, which notes what is called."""

    __name__ = "elsewhere"
    meets = True

    def __init__(self):
        self.told = []
        self.underway = {}
        self.parts = Parts(self.start, self.go_on, self.wait)

    def __call__(self, x, number):
        self.told.append(("whole", number))
        return x + x

    def start(self, x, number):
        self.told.append(("start", number))
        ticket = len(self.told)
        self.underway[ticket] = x, x.copy()
        return np.array(ticket), np.empty_like(x)

    def go_on(self, ticket, number):
        assert int(ticket) in self.underway
        return ticket

    def wait(self, ticket, room, x, number):
        self.told.append(("wait", number))
        given, then = self.underway.pop(int(ticket))
        np.testing.assert_array_equal(x, then)  # nobody has written over it
        return given + given


class InMemory(Elsewhere):
    """One that writes what it gives into arrays: it is received in what `start` has as room."""

    def __init__(self):
        super().__init__()
        self.copied = []  # whether what was waited for lay elsewhere
        start, wait = (lambda *args: self.start(*args)), (lambda *args: self.wait(*args))
        start.into, wait.into, wait.over = self.start_into, self.wait_into, {0: 1}
        self.parts = Parts(start, self.go_on, wait)

    def start_into(self, outputs, x, number):
        ticket, room = outputs
        ticket[...], _ = self.start(x, number)
        room[...] = x + x

    def wait_into(self, outputs, ticket, room, x, number):
        np.testing.assert_array_equal(room, self.wait(ticket, room, x, number))
        self.copied.append(outputs[0].ctypes.data != room.ctypes.data)
        if self.copied[-1]:
            np.copyto(outputs[0], room)


def names(program: Program) -> list[str]:
    return [s.function.__name__ for s in program.statements]


def opaque(b, function, x, number):
    """A statement of a function that gives what has the shape of `x`."""
    out = Value(x.shape, x.dtype)
    b.program.statements.append(Statement(function, (x, number), {}, (out,)))
    return out


def numbered(told, part):
    return [number for name, number in told if name == part]


def with_some(function, seed):
    """A random program, of whose statements some call a function."""
    drawn = Drawn(seed, exact=True)
    random = np.random.default_rng(seed)
    for k, s in enumerate(drawn.program.statements):
        same = len(s.outputs) == 1 and s.inputs and s.inputs[0].shape == s.output.shape
        if same and s.inputs[0].dtype == s.output.dtype and random.random() < 0.3:
            s.function, s.args, s.kwargs = function, (s.inputs[0], k), {}
    return drawn


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_are_the_same_in_memory_of_the_program(seed):
    # What was received was copied once more, into memory that the program had for it.
    function = InMemory()
    drawn = with_some(function, seed)
    expected = drawn.program.run(drawn.inputs())
    whole = numbered(function.told, "whole")
    waits(drawn.program)
    agree(executable(drawn.program).run(drawn.inputs()), expected, exact=True)
    assert not function.underway
    assert len(function.copied) == len(whole)
    assert sum(function.copied) <= len(drawn.program.outputs)


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_give_the_same_and_start_in_their_order(seed):
    function = Elsewhere()
    drawn = with_some(function, seed)
    program = drawn.program
    expected = program.run(drawn.inputs())
    before = numbered(function.told, "whole")
    function.told.clear()
    changed = waits(program)
    program.check()
    agree(program.run(drawn.inputs()), expected, exact=True)
    assert changed == bool(before)
    assert numbered(function.told, "start") == before
    assert sorted(numbered(function.told, "wait")) == before
    assert not function.underway


def test_work_that_does_not_need_the_result_is_done_before_the_wait():
    function, b = Elsewhere(), Builder()
    x = b.input((4, 4))
    y = b(np.multiply, x, 2.0)
    z = opaque(b, function, *(x, 0))
    u = b(np.exp, z)
    m = b(np.matmul, y, x)
    program = finish(clean(b.result(u, m)))
    assert names(program) == ["start", "multiply", "matmul", "go_on", "wait", "exp"]


def test_what_leads_to_a_start_comes_before_all_else():
    function, b = Elsewhere(), Builder()
    x = b.input((4, 4))
    m = b(np.matmul, x, x)
    y = b(np.multiply, x, 3.0)
    z = opaque(b, function, *(y, 0))
    program = b.result(m, z)
    program.statements = starting_early(program.statements)
    assert names(program) == ["multiply", "elsewhere", "matmul"]


def test_a_check_stays_before_what_was_started_after_it():
    # A call that fails on one rank would leave the others waiting.
    function, b = Elsewhere(), Builder()
    x = b.input((4,))
    first = opaque(b, function, *(x, 0))
    fine = b(np.all, b(np.greater, first, 0.0), axis=(0,))
    b.program.statements.append(Statement(check, (fine, ValueError), {}, ()))
    second = opaque(b, function, *(x, 1))
    program = finish(b.result(second))
    order = [n for n in names(program) if n in ("start", "check", "wait")]
    assert order == ["start", "wait", "check", "start", "wait"]
