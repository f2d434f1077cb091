"""Loops of unknown length in compiled functions: one statement, differentiated in reverse."""

import subprocess
import sys

import numpy as np
import pytest
from llvmlite import ir

import wengert as wg
from tests.control.test_compiled import F64, gradients, tensor
from wengert.compile.backend import backend
from wengert.compile.llvm import body
from wengert.compile.llvm.machine import host
from wengert.compile.plan.planner import plan
from wengert.compile.program import bodies
from wengert.errors import StateError, TracingError


def check(f, *args):
    compiled = wg.compile(f)
    for scale in (1.0, 0.3, -2.0):
        given = [a.detach().mul(scale).requires_grad_(a.requires_grad) for a in args]
        for mine, known in zip(gradients(compiled, *given), gradients(f, *given), strict=True):
            assert mine.dtype == known.dtype
            assert np.allclose(mine.detach(), known.detach(), rtol=1e-10, atol=1e-12)
    assert [s for s in compiled.program.statements if s.name == "until"]
    assert not compiled.retraces
    return compiled


def growing(x, w):
    return wg.while_loop(lambda y: (y * y).sum() < 50, lambda y: y * (1.5 + w.sin() ** 2) + 0.1, x)


def counting(x, w):
    def body(state):
        n, y, v = state
        v = v - 0.1 * (y * w).sin()
        return n + 1, y + 0.1 * v, v

    n, y, v = wg.while_loop(
        lambda s: (s[0] < 200) & (s[1].sum() < 3), body, (0, x, wg.ones(3, dtype=F64))
    )
    return y * n, v


def nested(x, w):
    def body(y):
        z = wg.while_loop(lambda z: z.sum() < 20, lambda z: z * z + w * w + 0.5, y)
        return wg.cond(z.sum() > 25, lambda: z * 0.4 + x, lambda: z + 1) / 8 + y

    return wg.fori_loop(0, 3, lambda i, y: body(y), x)


def not_at_all(x, w):
    return wg.while_loop(lambda y: y.sum() > 1e9, lambda y: y * w, x * x)


@pytest.mark.parametrize("f", [growing, counting, not_at_all])
def test_loops_of_unknown_length_give_what_eager_mode_gives(f):
    check(f, tensor(3), tensor(3, seed=1))


def test_inside_of_other_loops_and_branches():
    compiled, x, w = wg.compile(nested), tensor(3), tensor(3, seed=1)
    for mine, known in zip(gradients(compiled, x, w), gradients(nested, x, w), strict=True):
        assert np.allclose(mine.detach(), known.detach())


def test_a_particle_that_meets_a_wall():
    def flight(speed):
        def fly(state):
            t, x, v = state
            return t + 1e-3, x + 1e-3 * v, v - 1e-3 * v * np.abs(v)

        return wg.while_loop(lambda s: s[1] < 1.0, fly, (0.0, 0.0, speed))[2]

    compiled = wg.compile(wg.value_and_grad(flight))
    assert np.allclose(compiled(2.0), wg.value_and_grad(flight)(2.0))


LOOPS = {
    "short iterations": "wg.while_loop(lambda y: y > 0, lambda y: y * 1.0, x)",
    "long iterations": "wg.while_loop(lambda y: y > 0, lambda y: "
    "wg.fori_loop(0, 3 * 10**6, lambda i, y: np.sin(y) * 0 + y, y), x)",
    "of known length": "wg.fori_loop(0, 10**12, lambda i, y: y * 1.0, x)",
    "within another": "wg.fori_loop(0, 10**6, lambda i, y: "
    "wg.fori_loop(0, 10**6, lambda i, y: np.sin(y), y), x)",
}
FUNCTIONS = {name: f"wg.compile(lambda x: {loop})" for name, loop in LOOPS.items()}
# Within so small a budget the way back runs iterations again, for hours.
FUNCTIONS["in reverse"] = (
    "wg.compile(wg.grad(lambda x: wg.while_loop(lambda s: s[1] < 10**6, "
    "lambda s: (np.sin(s[0]) * x, s[1] + 1), (x, 0))[0]), memory='1kB')"
)
FUNCTIONS["eagerly"] = "lambda x: wg.while_loop(lambda y: y > 0, lambda y: y * 1, x)"


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_a_loop_that_does_not_end_in_time_can_be_interrupted(function):
    # It was looked for after a thousand iterations, however long these took; and not at all in a
    # loop of known length, so that no other thread could run either.
    lines = [
        "import _thread, os, threading, time, numpy as np, wengert as wg",
        f"f = {function}",
        "def interrupt():",  # one may come where Python drops it: while the entry is linked, say
        "    while True:",
        "        time.sleep(1)",
        "        _thread.interrupt_main()",
        "threading.Thread(target=interrupt, daemon=True).start()",
        "try: f(wg.tensor(1.0))",
        "except KeyboardInterrupt:",
        "    print('interrupted', flush=True)",
        "    os._exit(0)",
    ]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "interrupted\n", done.stderr


@pytest.mark.parametrize("step", [lambda y, x, r: y + r * x, lambda y, x, r: y * (1 + x) + r])
def test_random_numbers_are_drawn_and_not_differentiated(step):
    # Where the derivative reads none of them, the states were computed with others, silently.
    f = lambda x: wg.while_loop(
        lambda y: y.sum() < 9, lambda y: step(y, x, wg.rand(2, dtype=F64)), x
    )
    compiled, x = wg.compile(f), wg.ones(2, dtype=F64)
    compiled(x)
    wg.manual_seed(0)
    known = f(x)
    wg.manual_seed(0)
    assert wg.allclose(compiled(x), known)
    with pytest.raises(TracingError, match="would draw other random numbers"):
        wg.compile(wg.grad(lambda x: f(x).sum()))(x)


def test_what_the_derivative_computes_again_is_looked_for_once():
    # Each reading of a value was followed back to the start, so that twice as many were with each
    # of these lines: the first call did not end.
    def body(state):
        n, y = state
        for _ in range(30):
            y = y + 0.01 * y.sin() * y.cos()
        return n + 1, y

    def f(x, w):
        return wg.while_loop(lambda s: s[0] < 3, body, (0, x * w))[1]

    check(f, tensor(2), tensor(2, seed=1))


def test_more_states_than_are_kept_are_computed_again(monkeypatch):
    monkeypatch.setattr(bodies, "ROOM", 1 << 16)

    def f(x, w):
        going = lambda state: (state[0] < 3000) & (state[1].sum() < 3)
        body = lambda state: (state[0] + 1, state[1] + 1e-3 * (w * state[1]).sin())
        return wg.while_loop(going, body, (0, x))[1]

    compiled = check(f, tensor(5), tensor(5, seed=1))
    kept = [v.shape for s in compiled.program.statements if s.name == "until" for v in s.outputs]
    assert all(rows[0] < 3000 for rows in kept if len(rows) == 2)


def test_a_loop_keeps_the_states_that_its_derivative_reads_and_runs_once():
    # Its iterations ran twice: once for the value, and once more for the states.
    def f(x):
        going = lambda state: state[0] < 20
        body = lambda state: (state[0] + 1, state[1].sin(), state[2] + state[1])
        return wg.while_loop(going, body, (0, x, x))[2].sum()

    compiled = wg.compile(wg.value_and_grad(f))
    compiled(wg.ones(3, dtype=F64))
    (until,) = [s for s in compiled.program.statements if s.name == "until"]
    (rewind,) = [s for s in compiled.program.statements if s.name == "rewind"]
    assert until.function.keeps == [1]
    assert rewind.args[-1] is until.outputs[-1]


def optimized(compiled):
    module = ir.Module("test")
    body.define(module, plan(compiled.program, backend()))
    machine = host.optimized(str(module))
    return next(f for f in machine.functions if not f.is_declaration)


def test_a_derivative_that_reads_no_states_runs_the_loop_once():
    # Its iterations ran again, for states that nobody asked for.
    def f(x):
        body = lambda state: (state[0] + 1, 0.5 * state[1] + 1 / (2.0 + state[0]))
        return wg.while_loop(lambda state: state[0] < 5, body, (0, x))[1]

    counts = []
    for function in (f, wg.value_and_grad(f)):
        compiled = wg.compile(function)
        compiled(1.0)
        instructions = [i for block in optimized(compiled).blocks for i in block.instructions]
        counts.append(sum(i.opcode == "fdiv" for i in instructions))
    assert counts[0] == counts[1] > 0
    assert compiled(1.0)[1] == 0.5**5


def test_a_body_that_writes_outside_is_told_what_a_while_loop_can_do():
    # It was told to give the loop unroll=True, which a while_loop does not take.
    seen = []

    def body(x):
        seen.append(x)
        return x + 1

    f = wg.compile(lambda x: wg.while_loop(lambda x: x < 5, body, x))
    with pytest.raises(StateError, match=r"Return it as part of the state\.$"):
        f(wg.tensor(0.0))


def test_small_loops_and_branches_run_in_registers():
    # Each was a function of its own, and all that went in and out of it went through memory.
    def branch(x):
        return wg.cond(x.sum() > 1, lambda x: x * 0.5, lambda x: x - 0.125, x)

    def search(x):
        return wg.while_loop(lambda x: (x * x).sum() > 0.5, branch, x)

    compiled = wg.compile(search)
    compiled(np.ones(2))
    function = optimized(compiled)
    last = list(function.blocks)[-1]  # behind the loop
    stores = [i for block in function.blocks for i in block.instructions if i.opcode == "store"]
    assert len(stores) == sum(i.opcode == "store" for i in last.instructions) == 2


def test_a_while_statement_is_told_of_the_loop_to_write():
    @wg.compile
    def doubled(x):
        while x.sum() < 10:
            x = x * 2
        return x

    with pytest.raises(TracingError, match=r"wg\.while_loop\(condition, body, state\)"):
        doubled(np.ones(3))


def test_a_body_whose_branches_and_loops_check_an_index_has_a_derivative():
    # A loop or a choice that checks something was taken for one that draws random numbers.
    def f(x, w):
        def step(state):
            k, h = state
            pick = lambda h: h[np.argmax(h)] * np.sin(h)
            return k + 1, wg.cond(h.sum() > 0, pick, np.cos, h) * w

        return wg.while_loop(lambda s: s[0] < 3, step, (0, x))[1]

    check(f, tensor(3), tensor(3, seed=1))


TIMES = np.array([0, 3, 5, 2])


def counted(x, lower, upper):
    return wg.fori_loop(lower, upper, lambda i, h: h * np.float32(1.5) + i * h.sum() + 1, x)


@pytest.mark.parametrize(
    "of", [wg.tensor, np.array, lambda n: np.array([n, 0])], ids=["a tensor", "an array", "a list"]
)
def test_bounds_that_are_computed_count_in_a_loop_of_unknown_length(of):
    # They were refused as an index whose number is not known, though eager mode takes them.
    def f(x, lower, upper):
        return counted(x, lower.sum(), upper.sum())

    x = np.ones(3, np.float32)
    compiled, slope = wg.compile(f), wg.compile(wg.grad(lambda *given: (f(*given) ** 2).sum()))
    for lower, upper in [(0, 5), (2, 4), (3, 1)]:
        given = of(lower), of(upper)
        assert np.array_equal(compiled(x, *given), counted(x, lower, upper))
        known = wg.grad(lambda x, a=lower, b=upper: (counted(x, a, b) ** 2).sum())(x)
        assert np.allclose(slope(x, *given), known)
        assert compiled(x, *given).dtype == np.float32  # the count is a number of Python's
    assert not compiled.retraces


@pytest.mark.parametrize("how", [lambda f: f, wg.compile], ids=["eager", "compiled"])
def test_examples_have_bounds_of_their_own(how):
    x, lower = np.ones((4, 3), np.float32), np.array([0, 1, 4, 2])
    each = [counted(row, int(a), int(b)) for row, a, b in zip(x, lower, TIMES, strict=True)]
    assert np.array_equal(how(wg.vmap(counted))(x, lower, TIMES), np.stack(each))
    each = [counted(x[0], 1, int(n)) for n in TIMES]
    assert np.array_equal(how(wg.vmap(lambda n: counted(x[0], 1, n)))(TIMES), np.stack(each))


@pytest.mark.parametrize("how", [lambda f: f, wg.compile], ids=["eager", "compiled"])
@pytest.mark.parametrize(
    ("n", "message"),
    [(np.array([1.5, 1.0]).sum(), "a whole number"), (np.array([1, 2]), r"array of shape \[2\]")],
)
def test_bounds_that_are_no_whole_number_are_refused(how, n, message):
    with pytest.raises(StateError, match=f"upper of wg.fori_loop is .*{message}"):
        how(lambda x, n: wg.fori_loop(0, n, lambda i, h: h, x))(np.ones(3), n)


def test_a_state_that_changes_is_told_of_the_body_that_counts():
    with pytest.raises(StateError, match=r"wg.fori_loop.*in cut \(line"):
        wg.compile(lambda x, n: wg.fori_loop(0, n, cut, x))(np.ones(3), np.array(2))


def cut(i, h):
    return h[1:]
