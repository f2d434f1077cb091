"""The text of a program runs, and computes what the program computes."""

from __future__ import annotations

import ast

import numpy as np
import pytest

from tests.compile.programs import Builder, Drawn, agree
from wengert.compile.program.operations import added, astype, number, take, updated, view
from wengert.compile.program.passes import clean
from wengert.compile.program.program import Program, Statement, Value
from wengert.compile.program.source import namespace
from wengert.dispatch import primitive
from wengert.history.location import here


def execute(program: Program, arrays: list) -> list:
    """What the text of a program returns, as a list."""
    names = namespace(program)
    exec(str(program), names)  # noqa: S102  (the text is what is tested)
    found = names["program"](*arrays)
    return list(found) if isinstance(found, tuple) else [found] if program.outputs else []


def same(program: Program, arrays: list) -> None:
    """AssertionError unless the text and `run` give the same, updates included."""
    before, after = [np.array(a) for a in arrays], [np.array(a) for a in arrays]
    expected = program.run(before)
    agree([*execute(program, after), *after], [*expected, *before], exact=True)


@pytest.mark.parametrize("seed", range(30))
def test_the_text_of_random_programs_runs(seed):
    drawn = Drawn(seed, exact=seed % 2 == 0, dtype=np.float32 if seed % 3 == 0 else np.float64)
    same(drawn.program, drawn.inputs())
    same(clean(drawn.program), drawn.inputs())
    assert max(map(len, str(drawn.program).splitlines())) <= 100


def test_a_program_reads_as_numpy():
    b = Builder()
    x, w = b.input((4, 3), name="x"), b.input((2, 3), name="net.0.weight")
    lr = b.input((), float, "lr", weak=True)
    y = b(np.matmul, x, b(np.transpose, w, (1, 0)))
    mean = b(np.multiply, b(np.sum, y, axis=(1,), keepdims=True), 0.5)
    centred = b(np.subtract, y, mean)
    first = b(view, centred, (slice(0, 4, 1), 0))
    rate = b(astype, lr, w.dtype)
    program = b.result(b(np.greater, first, -1.0))
    program.updates[w] = b(np.subtract, w, b(np.multiply, b(np.exp, w), rate))
    assert str(program) == (
        "import numpy as np\n"
        "\n\n"
        "def program(x, net_0_weight, lr):\n"
        "    transposed = net_0_weight.T\n"
        "    matmul = x @ transposed\n"
        "    total = np.sum(matmul, axis=1, keepdims=True)\n"
        "    mul = total * 0.5\n"
        "    sub = matmul - mul\n"
        "    view = sub[:, 0]\n"
        "    cast = np.float64(lr)\n"
        "    above = view > (-1.0)\n"
        "    exp = np.exp(net_0_weight)\n"
        "    mul_2 = exp * cast\n"
        "    sub_2 = net_0_weight - mul_2\n"
        "    net_0_weight[...] = sub_2\n"
        "    return above\n"
    )


def test_the_users_lines_stand_beside_the_statements():
    b = Builder()
    x = b.input((2,))
    called = lambda: here()  # which passes over its caller, as that is the library
    for _ in range(2):
        x = b(np.exp, x)
        s = b.program.statements[-1]
        s.code, s.at = called()
    lines = str(b.result(x)).splitlines()
    assert lines[4].split("#")[1].startswith(" test_source.py:")
    assert lines[4].endswith(": s.code, s.at = called()")
    assert "#" not in lines[5]


def test_writes_are_copies_and_assignments():
    b = Builder()
    x, rows = b.input((3, 2)), b.constant([0, 2, 2])
    there = b(updated, x, (slice(0, 2, 1), 1), 5.0)
    more = b(added, there, (rows,), b(take, x, (rows,)))
    program = b.result(more)
    same(program, [np.arange(6.0).reshape(3, 2)])
    text = str(program)
    assert "updated[:2, 1] = 5.0" in text
    assert "np.add.at(added, (np.array([0, 2, 2], np.int64),), taken)" in text


def test_what_is_added_is_spread_over_the_places_of_its_index():
    # np.add.at of NumPy 2.4 reads past the end of what has fewer axes than the index.
    b = Builder()
    x, value = b.input((3,)), b.input((4,))
    places = b.constant(np.arange(20).reshape(5, 4) % 3)
    program = b.result(b(added, x, (places,), value))
    given = [np.zeros(3), np.arange(4.0)]
    same(program, given)
    expected = np.bincount(np.arange(20) % 3, np.tile(np.arange(4.0), 5))
    np.testing.assert_array_equal(program.run([*map(np.array, given)])[0], expected)
    assert "np.broadcast_to(" in str(program)


def test_inputs_that_swap_their_contents():
    b = Builder()
    x, y = b.input((2, 2), name="x"), b.input((2, 2), name="y")
    program = b.result(b(np.transpose, x, (1, 0)))
    program.updates = {x: y, y: b(np.transpose, x, (1, 0))}
    same(program, [np.arange(4.0).reshape(2, 2), np.ones((2, 2))])


def test_python_numbers_compute_as_numpy_does():
    b = Builder()
    t, lr = b.input((), int, "t", weak=True), b.input((), float, "lr", weak=True)
    one = b(np.subtract, 1, b(np.power, 0.9, t))
    program = b.result(b(astype, b(np.divide, lr, one), np.dtype(np.float32)))
    with np.errstate(divide="ignore"):
        same(program, [2, 0.5])
        same(program, [0, 0.5])


def test_a_number_from_an_array():
    b = Builder()
    x = b.input((1,), np.float32)
    k = b(np.multiply, b(number, x, np.dtype(float)), 2)
    same(b.result(b(np.add, b(astype, k, x.dtype), x)), [np.array([0.1], np.float32)])


def test_names_that_python_or_the_text_needs_for_itself():
    b = Builder()
    values = [b.input((1,), name=name) for name in ("lambda", "np", "2x", "a-b", "a b", "")]
    total = values[0]
    for value in values[1:]:
        total = b(np.add, total, value)
    program = b.result(total)
    names = [a.arg for a in ast.parse(str(program)).body[-1].args.args]
    assert names == ["lambda_2", "np_2", "v2x", "a_b", "a_b_2", "v"]
    same(program, [np.ones(1)] * 6)


def test_special_numbers_and_digits():
    b = Builder()
    x = b.input((2,), np.float32)
    k = b.constant([0.1, np.nan], np.float32)
    out = b(np.maximum, b(np.add, x, k), -np.inf)
    program = b.result(out, b.constant(np.zeros((0, 2))), b.constant([1 + 2j, -0.0]))
    assert "np.array([0.1, np.nan], np.float32)" in str(program)
    same(program, [np.zeros(2, np.float32)])


def test_large_constants_and_foreign_functions_are_bound_by_name():
    from scipy import special

    @primitive
    def local(x):
        return x + 1

    b = Builder()
    x = b.input((20,))
    y = b(special.erf, b(np.add, x, b.constant(np.arange(20.0))))
    program = b.program
    values = [Value((20,), float) for _ in range(3)]
    program.statements.append(Statement(local, (y,), {}, (values[0],)))
    program.statements.append(Statement(np.sort, (values[0],), {"axis": 0}, (values[1],)))
    divided = (Value((20,), float), values[2])
    program.statements.append(Statement(np.divmod, (values[1], 0.5), {}, divided))
    program.outputs = [*values, *divided[:1]]
    text = str(program)
    assert "from scipy.special import erf" in text
    assert "# local: a function" in text
    assert "# constant: float64 [20]" in text
    assert set(namespace(program)) == {"local", "constant"}
    same(program, [np.linspace(-1, 1, 20)])


def test_the_text_of_a_long_call_is_broken_within_its_parentheses():
    b = Builder()
    parts = tuple(b.input((2,), name=f"a_rather_long_name_{i}") for i in range(12))
    program = b.result(b(np.concatenate, parts, axis=0))
    assert max(map(len, str(program).splitlines())) <= 100
    same(program, [np.arange(2.0)] * 12)
