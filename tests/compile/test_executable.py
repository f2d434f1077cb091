"""Plans made by hand, run as machine code: steps, working memory, calls of Python, errors."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from typing import Any

import numpy as np
import pytest

from tests.compile.programs import Builder, Drawn, agree
from wengert.compile.call.executable import Executable, aligned, array_at
from wengert.compile.llvm.backend import LLVM
from wengert.compile.plan import planner as fuse
from wengert.compile.plan.kernel import Access, Apply, Const, Kernel, Load, Reduce, Store
from wengert.compile.plan.plan import Call, Layout, Loops, Multiply, Place, Plan
from wengert.compile.program.operations import check, take
from wengert.compile.program.program import Statement, Value

F = np.dtype(np.float32)
D = np.dtype(np.float64)
I = np.dtype(np.int64)
RNG = np.random.default_rng(0)


def rows(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides in elements."""
    strides, step = [], 1
    for n in reversed(shape):
        strides.insert(0, step)
        step *= n
    return tuple(strides)


def layout(
    kind: str, number: int, shape: tuple[int, ...], dtype: Any = F, offset: int = 0
) -> Layout:
    return Layout(Place(kind, number, offset), shape, rows(shape), np.dtype(dtype))


def unary(name: str, n: int, dtype: np.dtype = F) -> Kernel:
    access = Access(0, (1,)), Access(1, (1,))
    stage = (Load(access[0], dtype), Apply(name, (0,), dtype), Store(access[1], 1))
    return Kernel((n,), 0, (stage,), (dtype, dtype), (1,))


def scaled(n: int, by: float) -> Kernel:
    """out = x * by, possibly in place."""
    x, out = Access(0, (1,)), Access(1, (1,))
    stage = (Load(x, F), Const(by, F), Apply("multiply", (0, 1), F), Store(out, 2))
    return Kernel((n,), 0, (stage,), (F, F), (1,))


def gather(n: int, size: int) -> Kernel:
    """out[i] = table[index[i]]."""
    stage = (
        Load(Access(1, (1,)), I),
        Load(Access(0, (0,), 0, ((0, 1, size),)), F),
        Store(Access(2, (1,)), 1),
    )
    return Kernel((n,), 0, (stage,), (F, I, F), (2,))


def total(n: int) -> Kernel:
    """The sum of n numbers."""
    first = (Load(Access(0, (1,)), F), Reduce("add", 0, F))
    return Kernel((n,), 0, (first, (Store(Access(1, (0,)), 1),)), (F, F), (1,))


def statement(function: Any, args: tuple[Any, ...], outputs: tuple[Value, ...]) -> Statement:
    code = sys._getframe(1).f_code
    return Statement(function, args, {}, outputs, code, sys._getframe(1).f_lasti)


def numbers(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(F)


# ---- steps --------------------------------------------------------------------------------------


def test_steps_run_in_order_through_the_arena() -> None:
    """relu(x @ w + ...) by hand: a product into the arena, loops from there."""
    x, y = Value((4, 3), F), Value((4, 5), F)
    middle = Place("arena", 0, 64)
    plan = Plan(
        [
            Multiply(
                layout("input", 0, (4, 3)),
                layout("constant", 0, (3, 5)),
                Layout(middle, (4, 5), (5, 1), F),
            ),
            Loops(scaled(20, 2.0), (middle, middle)),
            Loops(unary("exp", 20), (middle, Place("output", 0))),
        ],
        arena=64 + 80,
        constants=[numbers(3, 5)],
        inputs=[x],
        outputs=[y],
    )  # fmt: skip
    executable = Executable(plan)
    given = numbers(4, 3)
    (out,) = executable.run([given])
    np.testing.assert_allclose(out, np.exp(2 * (given @ plan.constants[0])), rtol=1e-5)
    assert not executable.calls


def test_an_empty_plan_does_nothing() -> None:
    assert Executable(Plan([], 0, [], [], [])).run([]) == []


def test_equal_steps_share_their_code() -> None:
    from llvmlite import ir

    from wengert.compile.llvm import body

    x, y = Value((8,), F), Value((8,), F)
    once = [Loops(unary("sqrt", 8), (Place("input", 0), Place("output", 0)))]
    counts = []
    for steps in (once, once * 5):
        module = ir.Module("shared")
        body.define(module, Plan(steps, 0, [], [x], [y]))
        counts.append(len([f for f in module.functions if f.blocks]))
    assert counts[0] == counts[1]


def copies(n: int, count: int) -> list[Loops]:
    """Rows of a matrix copied, the first to the last place."""
    steps = []
    for row in range(count):
        read, write = Access(0, (1,), row * n), Access(1, (1,), (count - 1 - row) * n)
        kernel = Kernel((n,), 0, ((Load(read, F), Store(write, 0)),), (F, F), (1,))
        steps.append(Loops(kernel, (Place("input", 0), Place("output", 0))))
    return steps


def test_steps_that_differ_in_where_they_begin_share_their_code() -> None:
    # An offset was part of a kernel: each row of a matrix had code of its own.
    from llvmlite import ir

    from wengert.compile.llvm import body

    x, y = Value((4, 40), F), Value((4, 40), F)
    plan = Plan([*copies(40, 4)], 0, [], [x], [y])
    module = ir.Module("rows")
    body.define(module, plan)
    assert len([f for f in module.functions if f.blocks]) == 2  # the body, and one for all rows
    given = np.arange(160, dtype=F).reshape(4, 40)
    (out,) = Executable(plan).run([given])
    np.testing.assert_array_equal(out, given[::-1])


def test_zeros_of_both_signs_are_two_constants() -> None:
    # 0.0 == -0.0: of two steps that differed in this alone, the second ran the code of the first.
    x, y, z = (Value((4,), F) for _ in range(3))
    steps = [
        Loops(scaled(4, factor), (Place("input", 0), Place("output", k)))
        for k, factor in enumerate((0.0, -0.0))
    ]
    plus, minus = Executable(Plan(steps, 0, [], [x], [y, z])).run([np.ones(4, F)])
    assert not np.signbit(plus).any()
    assert np.signbit(minus).all()


def test_what_several_steps_share_is_not_written_out_for_each_of_them() -> None:
    # What was small became part of the body each time, and was compiled each time.
    from llvmlite import ir

    from wengert.compile.llvm import body
    from wengert.compile.llvm.machine import host

    x, y = Value((8,), F), Value((8,), F)
    steps = [Loops(unary("exp", 8), (Place("input", 0), Place("output", 0)))]
    sizes = []
    for count in (2, 20):
        module = ir.Module("shared")
        body.define(module, Plan(steps * count, 0, [], [x], [y]))
        inside = next(f for f in host.optimized(str(module)).functions if f.name == body.NAME)
        sizes.append(sum(len(list(block.instructions)) for block in inside.blocks))
    assert sizes[1] - sizes[0] == 18  # a call for each


def test_a_long_body_only_calls_its_steps() -> None:
    # What is small became part of it, and each address was read at its begin: of a network of 50
    # convolutions it was six thousand instructions, which took LLVM half as long as all others.
    from llvmlite import ir

    from wengert.compile.llvm import body
    from wengert.compile.llvm.machine import host

    names = ["exp" if k.bit_count() % 2 else "tanh" for k in range(body.LONG + 1)]  # never thrice
    x, *outputs = (Value((8,), F) for _ in range(len(names) + 1))
    plan = Plan([_of_input(name, k) for k, name in enumerate(names)], 0, [], [x], outputs)
    module = ir.Module("long")
    body.define(module, plan)
    inside = next(f for f in host.optimized(str(module)).functions if f.name == body.NAME)
    (block,) = inside.blocks
    kinds = [instruction.opcode for instruction in block.instructions]
    assert kinds.count("call") == len(names)
    assert "load" in kinds[-4:]
    given = np.arange(8, dtype=F)
    for name, out in zip(names, Executable(plan).run([given]), strict=True):
        np.testing.assert_allclose(out, getattr(np, name)(given), rtol=1e-6)


def test_roots_that_a_loop_takes_side_by_side_are_one_instruction(monkeypatch: Any) -> None:
    # A processor takes two in the time of one. They were two, as LLVM was not asked to look for
    # such pairs where nothing goes round; the gradient of a loop of few numbers waited for them.
    import wengert as wg
    from wengert.compile.llvm.machine import host

    made = []
    optimized = host.optimized

    def watched(text: str, passes: Any) -> Any:
        made.append(str(module := optimized(text, passes)))
        return module

    def step(x: Any) -> Any:
        return np.concatenate([np.sqrt(x[1:] ** 2 + 1), np.sqrt(x[:1] ** 2 + 2)])

    monkeypatch.setattr(host, "optimized", watched)
    monkeypatch.setenv("WENGERT_CACHE", "")
    f = wg.compile(lambda x: wg.while_loop(lambda x: x[0] < 5, step, x))
    x = expected = np.ones(2)
    while expected[0] < 5:
        expected = step(expected)
    np.testing.assert_allclose(f(x), expected, rtol=1e-14)
    roots = [line for text in made for line in text.splitlines() if "@llvm.sqrt" in line]
    assert any("<2 x double>" in line for line in roots if "call" in line), roots


def test_steps_that_come_again_and_again_are_a_loop_of_a_long_body() -> None:
    # Each was written, and LLVM read it: of a network of 64 layers a body of 2,500 instructions,
    # as many as all that it called.
    from llvmlite import ir

    from wengert.compile.llvm import body

    rounds = body.LONG // 3 + 1
    names = ["sqrt", *["exp", "tanh", "tanh"] * rounds, "exp", "sqrt"]
    x, *outputs = (Value((8,), F) for _ in range(len(names) + 1))
    steps = [_of_input(name, k) for k, name in enumerate(names)]
    module = ir.Module("rounds")
    body.define(module, Plan(steps, 0, [], [x], outputs))
    blocks = module.globals[body.NAME].blocks
    calls = [i for block in blocks for i in block.instructions if i.opname == "call"]
    assert len(calls) == 1 + 3 + 2
    given = np.arange(8, dtype=F)
    results = Executable(Plan(steps, 0, [], [x], outputs)).run([given])
    for name, out in zip(names, results, strict=True):
        np.testing.assert_allclose(out, getattr(np, name)(given), rtol=1e-6)


def _of_input(name: str, number: int) -> Loops:
    """A function of the input, as the output of this number."""
    return Loops(unary(name, 8), (Place("input", 0), Place("output", number)))


def test_an_input_is_updated_in_place() -> None:
    p = Value((6,), F)
    plan = Plan([Loops(scaled(6, 0.5), (Place("input", 0), Place("input", 0)))], 0, [], [p], [])
    executable = Executable(plan)
    array = np.ones(6, F)
    assert executable.run([array]) == []
    assert (array == 0.5).all()
    strided = np.ones(12, F)[::2]  # not contiguous: a copy runs, and is copied back
    executable.run([strided])
    assert (strided == 0.5).all()
    assert (strided.base[1::2] == 1).all()


def test_an_input_that_overlaps_one_that_is_written_is_read_first() -> None:
    x, p, y = (Value((4,), F) for _ in range(3))
    plan = Plan(
        [
            Loops(scaled(4, 3.0), (Place("input", 1), Place("input", 1))),
            Loops(scaled(4, 1.0), (Place("input", 0), Place("output", 0))),
        ],
        0, [], [x, p], [y],
    )  # fmt: skip
    memory = np.arange(6, dtype=F)
    before = memory[:4].copy()
    (out,) = Executable(plan).run([memory[:4], memory[2:]])
    assert (out == before).all()
    assert memory.tolist() == [0, 1, 6, 9, 12, 15]


def test_weak_inputs_and_outputs_are_python_numbers() -> None:
    x, y = Value((), D, weak=True), Value((), D, weak=True)
    plan = Plan(
        [Loops(unary("negative", 1, D), (Place("input", 0), Place("output", 0)))], 0, [], [x], [y]
    )
    (out,) = Executable(plan).run([2])
    assert out == -2.0
    assert type(out) is float


def test_a_wrong_shape_is_refused() -> None:
    x = Value((4,), F)
    plan = Plan([], 0, [], [x], [])
    with pytest.raises(TypeError, match=r"compiled for float32\[4\], but received float32\[5\]"):
        Executable(plan).run([np.zeros(5, F)])


def test_outputs_are_fresh() -> None:
    x, y = Value((3,), F), Value((3,), F)
    plan = Plan([Loops(scaled(3, 1.0), (Place("input", 0), Place("output", 0)))], 0, [], [x], [y])
    executable = Executable(plan)
    (first,), (second,) = executable.run([np.ones(3, F)]), executable.run([np.zeros(3, F)])
    assert first.tolist() == [1, 1, 1]
    assert second.tolist() == [0, 0, 0]


# ---- indices ------------------------------------------------------------------------------------


def indexing_plan() -> Plan:
    table, index, out = Value((5,), F), Value((3,), I), Value((3,), F)
    s = statement(take, (table, (index,)), (out,))  # table[index]
    places = (Place("input", 0), Place("input", 1), Place("output", 0))
    first = Loops(scaled(5, 1.0), (Place("input", 0), Place("arena", 0)))
    return Plan([first, Loops(gather(3, 5), places, [s])], 64, [], [table, index], [out])


def test_an_index_out_of_range_reads_the_first_element() -> None:
    executable = Executable(indexing_plan())
    table = np.arange(5, dtype=F)
    (out,) = executable.run([table, np.array([4, -5, -1])])
    assert out.tolist() == [4, 0, 4]
    (out,) = executable.run([table, np.array([3, 5, -(10**12)])])
    assert out.tolist() == [3, 0, 0]


def checked_plan() -> Plan:
    """Twice the input, if it holds."""
    holds, x, y = Value((), np.bool_), Value((2,), F), Value((2,), F)
    s = Statement(check, (holds, _wrong, x, "wrong"), {}, ())
    layouts = {v: layout("input", k, v.shape, v.dtype) for k, v in enumerate((holds, x))}
    loops = Loops(scaled(2, 2.0), (Place("input", 1), Place("output", 0)))
    return Plan([Call(s, layouts, ()), loops], 0, [], [holds, x], [y])


def _wrong(x: np.ndarray, word: str) -> ValueError:
    return ValueError(f"{x.tolist()} is {word}")


def test_a_check_that_fails_raises_its_error() -> None:
    executable = Executable(checked_plan())
    x = np.array([1, 2], F)
    for run in (lambda *arrays: executable.run(list(arrays))[0], entry(executable)):
        assert run(np.array(True), x).tolist() == [2, 4]
        with pytest.raises(ValueError, match=r"\[1.0, 2.0\] is wrong"):
            run(np.array(False), x)
        assert run(np.array(True), x).tolist() == [2, 4]


# ---- calls of Python ----------------------------------------------------------------------------


def calling(function: Any, shape: tuple[int, ...] = (2, 3)) -> Plan:
    """out = function(x) * 2, where the function runs in Python."""
    x, y, out = (Value(shape, F) for _ in range(3))
    n = x.size
    middle = layout("arena", 0, shape)
    return Plan(
        [
            Call(statement(function, (x,), (y,)), {x: layout("input", 0, shape)}, (middle,)),
            Loops(scaled(n, 2.0), (middle.place, Place("output", 0))),
        ],
        y.nbytes, [], [x], [out],
    )  # fmt: skip


def test_a_function_is_called_in_python() -> None:
    executable = Executable(calling(lambda x: np.sort(x, axis=1)))
    assert executable.calls
    for _ in range(3):
        x = numbers(2, 3)
        np.testing.assert_array_equal(executable.run([x])[0], 2 * np.sort(x, axis=1))


def test_a_function_sees_transposed_and_reversed_arrays_in_place() -> None:
    x, y = Value((4, 3), F), Value((3, 4), F)
    seen = Layout(Place("input", 0, 3 * 3 * 4), (3, 4), (1, -3), F)
    plan = Plan(
        [Call(statement(np.cumsum, (x, 1), (y,)), {x: seen}, (layout("output", 0, (3, 4)),))],
        0,
        [],
        [x],
        [y],
    )
    given = numbers(4, 3)
    np.testing.assert_allclose(Executable(plan).run([given])[0], np.cumsum(given[::-1].T, 1))


def test_several_outputs_and_a_weak_argument() -> None:
    x, n, q, r = Value((4,), F), Value((), I, weak=True), Value((4,), F), Value((4,), F)
    kinds = []

    def divided(a: np.ndarray, by: int) -> Any:
        kinds.append(type(by))
        return np.divmod(a, by)

    call = Call(
        statement(divided, (x, n), (q, r)),
        {x: layout("input", 0, (4,)), n: layout("input", 1, (), I)},
        (layout("output", 0, (4,)), layout("output", 1, (4,))),
    )
    executable = Executable(Plan([call], 0, [], [x, n], [q, r]))
    given = np.array([5, 6, 7, 8], F)
    for by in (3, 2):
        q_, r_ = executable.run([given, by])
        assert q_.tolist() == (given // by).tolist()
        assert r_.tolist() == (given % by).tolist()
    assert kinds == [int, int]


def test_an_exception_comes_through_with_the_line() -> None:
    def fails(x: np.ndarray) -> np.ndarray:
        raise KeyError("mine")

    executable = Executable(calling(fails))
    for _ in range(2):
        with pytest.raises(KeyError, match="mine") as caught:
            executable.run([numbers(2, 3)])
        assert "test_executable.py" in caught.value.__notes__[0]


def test_a_result_of_another_shape_is_refused() -> None:
    executable = Executable(calling(lambda x: x[:1]))
    with pytest.raises(ValueError, match=r"returned shape \(1, 3\); when it was traced"):
        executable.run([numbers(2, 3)])


def test_inputs_of_a_function_are_read_only() -> None:
    def writes(x: np.ndarray) -> np.ndarray:
        x[...] = 0
        return x

    with pytest.raises(ValueError, match="read-only"):
        Executable(calling(writes)).run([numbers(2, 3)])


def test_a_run_within_a_run_has_its_own_arena() -> None:
    depth = 0

    def again(x: np.ndarray) -> np.ndarray:
        nonlocal depth
        depth += 1
        if depth < 4:
            np.testing.assert_array_equal(executable.run([x + 1])[0], 2 * deepest)
        return deepest

    deepest = numbers(2, 3)
    executable = Executable(calling(again))
    np.testing.assert_array_equal(executable.run([numbers(2, 3)])[0], 2 * deepest)


def test_threads_run_at_once() -> None:
    executable = Executable(calling(lambda x: np.sort(x, axis=1), (50, 60)))
    wrong = []

    def work() -> None:
        for _ in range(20):
            x = np.random.default_rng().standard_normal((50, 60)).astype(F)
            if not np.array_equal(executable.run([x])[0], 2 * np.sort(x, axis=1)):
                wrong.append(x)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_calls_leak_nothing() -> None:
    executable = Executable(calling(np.negative))
    x = numbers(2, 3)
    executable.run([x])
    gc.collect()
    before = sys.getrefcount(executable.callback), sys.getrefcount(x)
    for _ in range(50):
        executable.run([x])
    assert (sys.getrefcount(executable.callback), sys.getrefcount(x)) == before


def test_an_executable_is_freed() -> None:
    executable = Executable(calling(np.negative))
    executable.run([numbers(2, 3)])
    gone = weakref.ref(executable.callback)
    del executable
    gc.collect()
    assert gone() is None


# ---- memory -------------------------------------------------------------------------------------


def test_memory_is_aligned() -> None:
    for size in (0, 1, 100, 4096):
        memory = aligned(size)
        assert memory.nbytes == max(size, 1)
        assert memory.ctypes.data % 64 == 0


def test_the_table_for_the_native_entry() -> None:
    plan = calling(np.negative)
    plan.constants.append(np.ones(3, F))
    executable = Executable(plan)
    slots = {slot for slot, _, _ in executable.fixed}
    table = executable.table
    assert slots == {table.constant(0), table.arena, table.callback}
    assert table.size >= 5
    assert {table.input(0), table.output(0)} | slots == set(range(5))
    assert executable.fixed is executable.fixed


@pytest.mark.parametrize("strides", [(3, 1), (1, 4), (-3, 1), (0, 1), (-3, -1)])
def test_an_array_over_an_address(strides: tuple[int, int]) -> None:
    memory = np.arange(40, dtype=D)
    made = array_at(memory[20:].ctypes.data, Layout(Place("arena", 0), (4, 3), strides, D))
    expected = [[20 + i * strides[0] + j * strides[1] for j in range(3)] for i in range(4)]
    assert made.tolist() == expected


# ---- from programs ------------------------------------------------------------------------------


@pytest.mark.crossed
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("dtype", [F, D], ids=str)
def test_random_programs_agree_with_numpy(seed: int, dtype: np.dtype) -> None:
    drawn = Drawn(seed, 20, dtype=dtype)
    with np.errstate(all="ignore"):
        expected_updates, updates = drawn.inputs(), drawn.inputs()
        expected = drawn.program.run(expected_updates)
        got = Executable(fuse.plan(drawn.program, LLVM())).run(updates)
    agree(got, expected, exact=False)
    agree(updates, expected_updates, exact=False)


def test_a_classifier_learns_as_in_numpy() -> None:
    """One step of gradient descent on softmax regression, written out."""
    b = Builder()
    x, y, w = b.input((9, 5), F), b.input((9, 3), F), b.input((3, 5), F)
    scores = b(np.matmul, x, b(np.transpose, w, (1, 0)))
    highest = b(np.max, scores, axis=(1,), keepdims=True)
    powers = b(np.exp, b(np.subtract, scores, highest))
    shares = b(np.divide, powers, b(np.sum, powers, axis=(1,), keepdims=True))
    slope = b(np.matmul, b(np.transpose, b(np.subtract, shares, y), (1, 0)), x)
    program = b.result(shares)
    program.updates[w] = b(np.subtract, w, b(np.multiply, slope, 0.1))
    labels = np.eye(3, dtype=F)[RNG.integers(0, 3, 9)]
    here = [numbers(9, 5), labels, numbers(3, 5)]
    there = [array.copy() for array in here]
    executable = Executable(fuse.plan(program, LLVM()))
    for _ in range(5):
        np.testing.assert_allclose(executable.run(here)[0], program.run(there)[0], atol=1e-5)
    np.testing.assert_allclose(here[2], there[2], atol=1e-5)


# ---- through the native entry -------------------------------------------------------------------


def entry(executable: Executable) -> Any:
    """A callable on arrays that returns the first output."""
    from tests.compile.bodies import spread
    from wengert.compile.call.entry.entries import make
    from wengert.compile.call.entry.entry import Entry
    from wengert.compile.trace.world.places import Argument, Array, Input, Output

    plan, table = executable.plan, executable.table
    return make(
        Entry(
            body=executable.body,
            buffers=table.size,
            slow=lambda *arrays: executable.run(list(arrays))[0],
            spread=spread(len(plan.inputs)),
            inputs=tuple(
                Input(Argument(i), Array(table.input(i), v.dtype, v.shape))
                for i, v in enumerate(plan.inputs)
            ),
            outputs=tuple(
                Array(table.output(i), v.dtype, v.shape) for i, v in enumerate(plan.outputs)
            ),
            fixed=tuple(executable.fixed),
            results=(Output(0),),
            calls=executable.calls,
            keep=executable,
        )
    )


def test_the_native_entry_runs_a_plan() -> None:
    run = entry(Executable(indexing_plan()))
    table = np.arange(5, dtype=F)
    assert run(table, np.array([1, 0, -1])).tolist() == [1, 0, 4]
    assert run(table, np.array([1, 1, 1])).tolist() == [1, 1, 1]


def test_the_native_entry_calls_python_and_may_be_entered_again() -> None:
    depth = 0

    def again(x: np.ndarray) -> np.ndarray:
        nonlocal depth
        depth += 1
        if depth == 1:
            run(x + 1)
        if depth == 3:
            raise RuntimeError("third")
        return x

    run = entry(Executable(calling(again)))
    x = numbers(2, 3)
    np.testing.assert_array_equal(run(x), 2 * x)
    with pytest.raises(RuntimeError, match="third"):
        run(x)
    np.testing.assert_array_equal(run(x), 2 * x)
