"""Each rule on a small program, all rules on random programs."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import wengert as wg
from tests.compile.programs import Builder, Drawn, agree
from tests.counting import calls
from wengert.compile.program.infer import check_types
from wengert.compile.program.operations import added, astype, full, number, take, updated, view
from wengert.compile.program.passes import algebra, clean, fold, layout, products, reductions
from wengert.compile.program.passes.columns import columns
from wengert.compile.program.passes.common import key, merged
from wengert.compile.program.passes.dead import dead
from wengert.compile.program.passes.layout import composed
from wengert.compile.program.passes.rewrite import Rules, rewrite
from wengert.compile.program.program import Makers, Program, Statement, Value
from wengert.compile.program.source import source

SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.5, 1e300, -1e-300, 5e-324, 3.0])
ALL = slice(0, 4, 1)


def body(program: Program) -> str:
    """The statements of a program, as text."""
    _, _, text = source(program).partition("):\n")
    return "; ".join(line.strip() for line in text.splitlines())


def cleaned(write) -> str:
    """What `clean` leaves of one expression of x and y (vectors of 4), m and n (4 by 4), c."""
    b = Builder()
    names = {"x": (4,), "y": (4,), "m": (4, 4), "n": (4, 4)}
    values = [b.input(shape, name=name) for name, shape in names.items()]
    c = b.input((4,), bool, "c")
    program = b.result(write(b, *values, c))
    check_types(program)
    clean(program)
    check_types(program)
    return body(program)


def alone(subject, program):
    """A program after the rules of one subject."""
    return rewrite(program, subject.RULES)


def folded(program):
    return alone(fold, fold.uniform(program))


def common(program):
    return rewrite(merged(program), Rules(), key)


# ---- bounds --------------------------------------------------------------------------------

COMPARISONS = (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
@pytest.mark.parametrize("compare", COMPARISONS)
def test_a_comparison_with_what_no_such_integer_is_is_decided(compare, dtype):
    # A loop had no constant for it: OverflowError.
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    x = np.array([low, 0, 1, high], dtype)
    for k in (low - 1, low, 0, high, high + 1):
        for turned in (False, True):
            b = Builder()
            operands = (k, b.input((4,), dtype)) if turned else (b.input((4,), dtype), k)
            program = b.result(b(compare, *operands))
            (expected,) = program.run([x])
            clean(program)
            np.testing.assert_array_equal(program.run([x])[0], expected)
            kept = any(s.function in COMPARISONS for s in program.statements)
            assert kept == (low <= k <= high and len(set(expected.tolist())) == 2)


def test_the_place_of_the_only_element_is_the_first():
    # The bounds of an order asked an array of no dimensions for its size along one.
    b = Builder()
    program = b.result(b(np.less, b(np.argmin, b.input((), np.float32), axis=0), 3))
    assert "argmin" not in body(clean(program))


def test_bounds_are_found_in_one_walk():
    # Each sum asked for both of its operands: 2^20 questions.
    b = Builder()
    y = b.input((3,), np.int64)
    for _ in range(30):
        y = b(np.add, y, y)
    program = b.result(b(np.less, y, 5))
    assert calls(lambda: clean(program)) < 20_000


# ---- algebra -------------------------------------------------------------------------------

ALGEBRA = {
    "x * 1": (lambda b, x, y: b(np.multiply, x, 1.0), "return x"),
    "1 * x": (lambda b, x, y: b(np.multiply, b.full((4,), 1.0), x), "return x"),
    "x * -1": (lambda b, x, y: b(np.multiply, x, -1), "neg = -x; return neg"),
    "x / 1": (lambda b, x, y: b(np.divide, x, 1), "return x"),
    "x / 4": (lambda b, x, y: b(np.divide, x, 4), "mul = x * 0.25; return mul"),
    "x / 3": (lambda b, x, y: b(np.divide, x, 3), "div = x / 3; return div"),
    "x + 0": (lambda b, x, y: b(np.add, x, 0.0), "return x"),
    "0 + x": (lambda b, x, y: b(np.add, b.full((4,), 0.0), x), "return x"),
    "x - 0": (lambda b, x, y: b(np.subtract, x, 0), "return x"),
    "0 - x": (lambda b, x, y: b(np.subtract, 0.0, x), "neg = -x; return neg"),
    "x * 0": (lambda b, x, y: b(np.multiply, x, 0.0), "mul = x * 0.0; return mul"),
    "--x": (lambda b, x, y: b(np.negative, b(np.negative, x)), "return x"),
    "x + -y": (lambda b, x, y: b(np.add, x, b(np.negative, y)), "sub = x - y; return sub"),
    "-x + y": (lambda b, x, y: b(np.add, b(np.negative, x), y), "sub = y - x; return sub"),
    "x - -y": (lambda b, x, y: b(np.subtract, x, b(np.negative, y)), "add = x + y; return add"),
    "-(x - y)": (lambda b, x, y: b(np.negative, b(np.subtract, x, y)), "sub = y - x; return sub"),
    "-(x * 3)": (
        lambda b, x, y: b(np.negative, b(np.multiply, x, 3.0)),
        "mul = x * (-3.0); return mul",
    ),
    "-x * 3": (
        lambda b, x, y: b(np.multiply, b(np.negative, x), 3.0),
        "mul = x * (-3.0); return mul",
    ),
    "-x * -y": (
        lambda b, x, y: b(np.multiply, b(np.negative, x), b(np.negative, y)),
        "mul = x * y; return mul",
    ),
    "x ** 0": (
        lambda b, x, y: b(np.power, x, 0.0),
        "full = np.ones((4,), np.float64); return full",
    ),
    "x ** 1": (lambda b, x, y: b(np.power, x, 1.0), "return x"),
    "x ** 2": (lambda b, x, y: b(np.power, x, 2), "mul = x * x; return mul"),
    "square": (lambda b, x, y: b(np.square, x), "mul = x * x; return mul"),
    "reciprocal": (lambda b, x, y: b(np.reciprocal, x), "div = 1.0 / x; return div"),
    "| |-x| |": (
        lambda b, x, y: b(np.absolute, b(np.absolute, b(np.negative, x))),
        "absolute = np.absolute(x); return absolute",
    ),
    "max(x, x)": (lambda b, x, y: b(np.maximum, x, x), "return x"),
    "max(x, -inf)": (lambda b, x, y: b(np.maximum, x, -np.inf), "return x"),
    "min(inf, x)": (lambda b, x, y: b(np.minimum, b.full((), np.inf), x), "return x"),
    "where(c, x, x)": (lambda b, x, y: b(np.where, b(np.less, x, y), x, x), "return x"),
    "where(True, x, y)": (
        lambda b, x, y: b(np.where, b.full((4,), True, bool), x, y),
        "return x",
    ),
    "where(c, 1, 0)": (
        lambda b, x, y: b(np.where, b(np.less, x, y), b.full((4,), 1.0), b.full((), 0.0)),
        "below = x < y; cast = below.astype(np.float64); return cast",
    ),
    "where(not c, x, y)": (
        lambda b, x, y: b(np.where, b(np.logical_not, b(np.less, x, y)), x, y),
        "below = x < y; where = np.where(below, y, x); return where",
    ),
    "not x == y": (
        lambda b, x, y: b(np.logical_not, b(np.equal, x, y)),
        "not_equal = x != y; return not_equal",
    ),
    "same dtype": (lambda b, x, y: b(astype, x, np.float64), "return x"),
    "f(repeated)": (
        lambda b, x, y: b(np.add, b(np.broadcast_to, x, (3, 4)), b(np.broadcast_to, y, (3, 4))),
        "add = x + y; repeated = np.broadcast_to(add, (3, 4)); return repeated",
    ),
    "full operand": (
        lambda b, x, y: b(np.add, b.full((3, 4), 2.0), x),
        "add = 2.0 + x; repeated = np.broadcast_to(add, (3, 4)); return repeated",
    ),
}


@pytest.mark.parametrize("name", ALGEBRA)
def test_algebra_is_shorter_and_exact_for_inf_and_nan(name):
    write, after = ALGEBRA[name]
    assert cleaned(lambda b, x, y, m, n, c: write(b, x, y)) == after
    b = Builder()
    values = b.input((11, 11)), b.input((11, 11))
    shape = {} if name not in ("f(repeated)", "full operand") else None
    if shape is None:
        return
    try:
        program = b.result(write(b, *values))
    except ValueError:  # a `full` of another shape
        return
    arrays = [a.copy() for a in np.broadcast_arrays(SPECIAL[:, None], SPECIAL)]
    with np.errstate(all="ignore"):
        expected = program.run(arrays)
        agree(clean(program).run(arrays), expected, exact=True)


POWERS = {
    3.0: "mul = x * x; mul_2 = mul * x; return mul_2",
    4: "mul = x * x; mul_2 = mul * mul; return mul_2",
    0.5: "sqrt = np.sqrt(x); return sqrt",
    -0.5: "sqrt = np.sqrt(x); div = 1.0 / sqrt; return div",
    -1: "div = 1.0 / x; return div",
    1.7: "power = x ** 1.7; return power",
}


@pytest.mark.parametrize("k", POWERS)
def test_powers_agree_to_rounding(k):
    assert cleaned(lambda b, x, y, m, n, c: b(np.power, x, k)) == POWERS[k]
    b = Builder()
    program = b.result(b(np.power, b.input((5,)), float(k)))
    x = np.array([np.nan, np.inf, 1e-300, 2.7, 1e100])
    with np.errstate(all="ignore"):
        expected = program.run([x])
        np.testing.assert_allclose(clean(program).run([x])[0], expected[0], 4e-16)


def test_the_derivative_of_a_root_agrees_to_rounding():
    slope = lambda b, x, y: b(np.divide, x, b(np.multiply, 2, b(np.sqrt, y)))
    shorter = "sqrt = np.sqrt(y); div = 0.5 / sqrt; mul = x * div; return mul"
    assert cleaned(lambda b, x, y, m, n, c: slope(b, x, y)) == shorter
    b = Builder()
    program = b.result(slope(b, b.input((11, 11)), b.input((11, 11))))
    arrays = [a.copy() for a in np.broadcast_arrays(SPECIAL[:, None], SPECIAL)]
    with np.errstate(all="ignore"):
        expected = program.run([a.copy() for a in arrays])[0]
        np.testing.assert_allclose(clean(program).run(arrays)[0], expected, 4e-16, 1e-320)


def _turned(b, x, y, z):
    """Two quotients by a root, as of a vector by its length, and the root's reciprocal."""
    root = b(np.sqrt, z)
    return b(np.divide, x, root), b(np.divide, y, root), b(np.divide, 1, root)


def test_quotients_by_one_root_are_products_by_its_reciprocal():
    # A force along x / |x|³ and its derivative took five divisions by each length.
    b = Builder()
    program = b.result(*_turned(b, *(b.input((11, 11)) for _ in range(3))))
    arrays = [np.broadcast_to(a, (11, 11)) for a in (SPECIAL[:, None], SPECIAL[::-1, None])]
    arrays.append(np.broadcast_to(SPECIAL, (11, 11)))
    with np.errstate(all="ignore"):
        expected = program.run([a.copy() for a in arrays])
        found = clean(program).run([a.copy() for a in arrays])
    assert [s.function for s in program.statements].count(np.divide) == 1
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, 4e-16, 1e-320)


def test_a_root_of_a_narrower_dtype_is_divided_by():
    b = Builder()
    x, root = b.input((3,), np.float64), b(np.sqrt, b.input((3,), np.float32))
    program = clean(b.result(b(np.divide, x, root), b(np.add, x, root)))
    assert [s.function for s in program.statements].count(np.multiply) == 0


def test_complex_numbers_times_one_stay_for_their_infinities():
    b = Builder()
    x = b.input((3,), np.complex128)
    program = alone(algebra, b.result(b(np.multiply, x, 1.0)))
    assert body(program) == "mul = x * 1.0; return mul"


def test_exact_casts_on_the_way_are_left_out():
    b = Builder()
    x = b.input((3,), np.float32)
    wide = b(astype, x, np.dtype(np.float64))
    narrow = b(astype, x, np.dtype(np.float16))
    program = b.result(b(astype, wide, np.dtype(np.float32)), b(astype, narrow, x.dtype))
    after = "cast = x.astype(np.float16); cast_2 = cast.astype(np.float32); return x, cast_2"
    assert body(clean(program)) == after


def test_integers_of_64_bits_do_not_pass_through_floats_unrounded():
    b = Builder()
    x = b.input((1,), np.int64)
    program = clean(b.result(b(astype, b(astype, x, np.dtype(float)), x.dtype)))
    big = np.array([2**53 + 1])
    assert program.run([big])[0] == 2**53


def test_a_number_made_of_an_array_goes_back_into_one():
    b = Builder()
    x = b.input((1,), np.float32)
    weak = b(number, x, np.dtype(float))
    program = clean(b.result(b(astype, weak, x.dtype)))
    assert body(program) == "reshaped = np.reshape(x, ()); return reshaped"


# ---- folding -------------------------------------------------------------------------------


def test_constants_are_evaluated():
    b = Builder()
    x, k = b.input((2,)), b.constant([1.0, 2.0])
    program = folded(b.result(b(np.add, x, b(np.exp, b(np.negative, k)))))
    assert body(dead(program)).startswith("add = x + np.array([0.36787944117144233, 0.1353352")


def test_generators_and_large_results_stay():
    b = Builder()
    k = b.constant(np.arange(300.0))
    rows = b(np.reshape, k, (300, 1))
    table = b(np.multiply, rows, k)
    n = b(np.arange, 5, dtype=np.dtype(int))
    program = dead(folded(b.result(table, n, b(np.sum, table, axis=(0, 1), keepdims=False))))
    assert [s.name for s in program.statements] == ["np.multiply", "np.arange", "np.sum"]


def test_a_constant_of_one_number_is_a_full():
    b = Builder()
    ones, zeros = b.constant(np.ones((2, 2))), b.constant([0.0, -0.0])
    program = clean(b.result(b(np.add, b(np.exp, ones), 1.0), b(np.negative, zeros)))
    text = "full = np.full((2, 2), 3.718281828459045, np.float64)"
    assert body(program) == f"{text}; return full, np.array([-0., 0.], np.float64)"


def test_python_numbers_fold_into_their_readers():
    b = Builder()
    x = b.input((2,), np.float32)
    k = b(np.multiply, b(np.add, 1, 2), 0.5)
    program = clean(b.result(b(np.multiply, x, k), b(np.add, x, b(astype, k, x.dtype))))
    assert body(program) == "mul = x * 1.5; add = x + 1.5; return mul, add"


def test_fulls_are_written_in_one_way():
    b = Builder()
    k = b.input((), name="k")
    fulls = [b.full((2,), number) for number in (1, 1.0, np.float32(1), True)]
    program = clean(b.result(*fulls, b.full((2,), k)))
    assert body(program) == (
        "full = np.ones((2,), np.float64); repeated = np.broadcast_to(k, (2,)); "
        "return full, full, full, full, repeated"
    )


def test_a_number_that_is_a_result_stays():
    b = Builder()
    program = clean(b.result(b(np.add, 1, 2)))
    assert program.run([]) == [3]


def test_what_fails_is_left_to_fail_when_it_runs():
    b = Builder()
    out = b(take, b.constant([1.0, 2.0]), (b.constant([5, 0]),))
    program = clean(b.result(out))
    with pytest.raises(IndexError):
        program.run([])


def test_numbers_of_single_precision_keep_few_digits():
    b = Builder()
    x = b.input((2,), np.float32)
    program = clean(b.result(b(np.multiply, x, b.full((2,), np.float32(0.1), np.float32))))
    assert body(program) == "mul = x * 0.1; return mul"


# ---- common subexpressions and dead code ---------------------------------------------------


def test_equal_statements_become_one():
    b = Builder()
    x, y = b.input((2,)), b.input((2,), name="y")
    sums = b(np.add, x, y), b(np.add, y, x)
    program = common(b.result(b(np.exp, sums[0]), b(np.exp, sums[1])))
    assert body(program) == "add = x + y; exp = np.exp(add); return exp, exp"


def test_numbers_of_different_kinds_are_not_common():
    b = Builder()
    x = b.input((2,))
    found = [b(np.copysign, x, k) for k in (0.0, -0.0)] + [b(np.add, x, k) for k in (1, 1.0, True)]
    assert len(common(b.result(*found)).statements) == 5


def test_small_constants_are_compared_by_content():
    b = Builder()
    x = b.input((2,))
    made = [b(np.add, x, b.constant([1, 2], dtype)) for dtype in (float, float, np.float32)]
    program = clean(b.result(*made))
    assert len(program.statements) == 2
    assert len(program.constants) == 2


def test_dead_statements_constants_and_updates_go():
    b = Builder()
    x = b.input((2,))
    b(np.exp, x)
    b(np.add, x, b.constant([1.0, 2.0]))
    program = b.result(b(np.log, x))
    program.updates[x] = x
    dead(program)
    assert body(program) == "log = np.log(x); return log"
    assert not program.constants
    assert not program.updates


# ---- layout --------------------------------------------------------------------------------

LAYOUT = {
    "reshape of reshape": (
        lambda b, x, m: b(np.reshape, b(np.reshape, x, (2, 2)), (4, 1)),
        "reshaped = x[:, None]; return reshaped",
    ),
    "reshape back": (
        lambda b, x, m: b(np.reshape, b(np.reshape, m, (16,)), (4, 4)),
        "return m",
    ),
    "transpose of transpose": (
        lambda b, x, m: b(np.transpose, b(np.transpose, m, (1, 0)), (1, 0)),
        "return m",
    ),
    "transpose of a row": (
        lambda b, x, m: b(np.transpose, b(view, x, (None, ALL)), (1, 0)),
        "reshaped = x[:, None]; return reshaped",
    ),
    "broadcast to the same": (lambda b, x, m: b(np.broadcast_to, x, (4,)), "return x"),
    "broadcast twice": (
        lambda b, x, m: b(np.broadcast_to, b(np.broadcast_to, x, (3, 4)), (2, 3, 4)),
        "repeated = np.broadcast_to(x, (2, 3, 4)); return repeated",
    ),
    "whole view": (lambda b, x, m: b(view, m, (ALL, ALL)), "return m"),
    "view of view": (
        lambda b, x, m: b(view, b(view, m, (slice(1, 4, 1), 2)), (slice(0, 2, 1),)),
        "view = m[1:3, 2]; return view",
    ),
    "take of slices": (lambda b, x, m: b(take, m, (ALL, 0)), "view = m[:, 0]; return view"),
    "view of a full": (
        lambda b, x, m: b(view, b.full((4, 4), 2.0), (ALL, 0)),
        "full = np.full((4,), 2.0, np.float64); return full",
    ),
    "overwritten": (
        lambda b, x, m: b(updated, m, (ALL, ALL), x),
        "repeated = np.broadcast_to(x, (4, 4)); return repeated",
    ),
    "overwritten in part": (
        lambda b, x, m: b(updated, b(updated, m, (0, ALL), 3.0), (0, ALL), x),
        "updated = np.array(m); updated[0, :] = x; return updated",
    ),
    "a large part of a fill": (  # filled as a whole, it went through memory three times
        lambda b, x, m: b(updated, b.full((4, 4), 0.0), (slice(1, 4, 1), ALL), b(np.exp, x)),
        (
            "exp = np.exp(x); full = np.zeros((1, 4), np.float64); "
            "repeated = np.broadcast_to(exp, (3, 4)); "
            "joined = np.concatenate((full, repeated), axis=0); return joined"
        ),
    ),
    "every other row of a fill": (
        lambda b, x, m: b(updated, b.full((4, 4), 0.0), (slice(0, 4, 2), ALL), x),
        (
            "full = np.zeros((4, 4), np.float64); updated = np.array(full); "
            "updated[::2, :] = x; return updated"
        ),
    ),
    "read what was written": (
        lambda b, x, m: b(view, b(updated, m, (ALL, 1), x), (ALL, 1)),
        "return x",
    ),
    "a part added to all": (
        lambda b, x, m: b(
            np.add, b(updated, b.full((4, 4), 0.0), (2, slice(0, 2, 1)), b(view, x, (1,))), m
        ),
        (
            "view = x[1]; added = np.array(m); "
            "np.add.at(added, (2, slice(0, 2, 1)), view); return added"
        ),
    ),
    "a large part added to all": (
        lambda b, x, m: b(np.add, b(updated, b.full((4, 4), 0.0), (ALL, 3), x), m),
        (
            "full = np.zeros((4, 4), np.float64); updated = np.array(full); "
            "updated[:, 3] = x; add = updated + m; return add"
        ),
    ),
    "parts of zeros that are added": (
        lambda b, x, m: b(
            np.add,
            b(updated, b.full((4, 4), 0.0), (ALL, 3), x),
            b(updated, b(updated, b.full((4, 4), 0.0), (ALL, 0), x), (ALL, 3), b(np.exp, x)),
        ),
        (
            "full = np.zeros((4, 4), np.float64); exp = np.exp(x); add = x + exp; "
            "updated = np.array(full); updated[:, 3] = add; "
            "updated_2 = np.array(updated); updated_2[:, 0] = x; return updated_2"
        ),
    ),
    "parts that overlap": (
        lambda b, x, m: b(
            np.add,
            b(updated, b.full((4, 4), 0.0), (ALL, 3), x),
            b(updated, b.full((4, 4), 0.0), (1, ALL), x),
        ),
        (
            "full = np.zeros((4, 4), np.float64); updated = np.array(full); "
            "updated[:, 3] = x; updated_2 = np.array(full); updated_2[1, :] = x; "
            "add = updated + updated_2; return add"
        ),
    ),
    "joined alone": (lambda b, x, m: b(np.concatenate, (x,), axis=0), "return x"),
    "joined fulls": (
        lambda b, x, m: b(np.concatenate, (b.full((4,), 1.0), b.full((2,), 1.0)), axis=0),
        "full = np.ones((6,), np.float64); return full",
    ),
}


@pytest.mark.parametrize("name", LAYOUT)
def test_layout(name):
    write, after = LAYOUT[name]
    assert cleaned(lambda b, x, y, m, n, c: write(b, x, m)) == after


def test_views_compose_as_numpy_composes_them():
    random = np.random.default_rng(0)
    x = np.arange(5 * 6 * 7).reshape(5, 6, 7)
    entries = [0, 1, slice(0, 5, 1), slice(1, 5, 2), slice(4, None, -1), slice(3, 1, -1), None]
    tried = 0
    for _ in range(300):
        inner = list(random.choice(np.array(entries, object), 3))
        inner = [e for e in inner if e is not None] + [0] * inner.count(None) + [None]
        shape = x[tuple(inner)].shape
        outer = list(random.choice(np.array(entries, object), 3))
        outer = [e for e in outer if e is not None][: len(shape)]
        outer += [slice(0, None, 1)] * (len(shape) - len(outer)) + [None]
        try:
            expected = x[tuple(inner)][tuple(outer)]
        except IndexError:
            continue
        index = composed(x.shape, inner, outer)
        if index is not None:
            tried += 1
            np.testing.assert_array_equal(x[index], expected)
    assert tried > 50


# ---- reductions ----------------------------------------------------------------------------

REDUCTIONS = {
    "one element": (
        lambda b, x, m: b(np.sum, b(np.reshape, x, (4, 1)), axis=(1,), keepdims=False),
        "return x",
    ),
    "of a full": (
        lambda b, x, m: b(np.sum, b.full((4, 3), 0.5), axis=(1,), keepdims=False),
        "full = np.full((4,), 1.5, np.float64); return full",
    ),
    "of a write into zeros": (
        lambda b, x, m: b(
            np.sum, b(updated, b.full((4, 2), 0.0), (ALL, 1), x), axis=(0,), keepdims=False
        ),
        (
            "total = np.sum(x); full = np.zeros((2,), np.float64); "
            "updated = np.array(full); updated[1] = total; return updated"
        ),
    ),
    "max of a broadcast": (
        lambda b, x, m: b(np.max, b(np.broadcast_to, x, (3, 4)), axis=(0,), keepdims=False),
        "return x",
    ),
    "sum of a broadcast": (
        lambda b, x, m: b(np.sum, b(np.broadcast_to, x, (3, 4)), axis=(0, 1), keepdims=False),
        "total = np.sum(x); mul = total * 3; return mul",
    ),
    "sum of a sum": (
        lambda b, x, m: b(
            np.sum, b(np.sum, m, axis=(1,), keepdims=True), axis=(0, 1), keepdims=False
        ),
        "total = np.sum(m); return total",
    ),
    "sum of a reshape": (
        lambda b, x, m: b(np.sum, b(np.reshape, m, (2, 8)), axis=(0, 1), keepdims=False),
        "total = np.sum(m); return total",
    ),
    "sum of negatives": (
        lambda b, x, m: b(np.sum, b(np.negative, m), axis=(1,), keepdims=False),
        "total = np.sum(m, axis=1); neg = -total; return neg",
    ),
    "sum of a transpose": (
        lambda b, x, m: b(np.sum, b(np.transpose, m, (1, 0)), axis=(0, 1), keepdims=False),
        "total = np.sum(m); return total",
    ),
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name):
    write, after = REDUCTIONS[name]
    assert cleaned(lambda b, x, y, m, n, c: write(b, x, m)) == after


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("shape", [(), (1,), (3, 1), (1, 1)])
def test_a_multiple_of_a_sum_that_is_there_is_not_summed(shape, keepdims):
    b = Builder()
    a, x = b.input(shape), b.input((3, 4))
    total = b(np.sum, x, axis=(1,), keepdims=False)
    multiples = b(np.sum, b(np.multiply, a, x), axis=(1,), keepdims=keepdims)
    program = b.result(total, multiples)
    arrays = [np.random.default_rng(0).normal(size=v.shape) for v in program.inputs]
    expected = program.run(arrays)
    clean(program)
    assert [s.function for s in program.statements].count(np.sum) == 1
    for mine, right in zip(program.run(arrays), expected, strict=True):
        np.testing.assert_allclose(mine, right)


def test_multiples_by_what_differs_along_a_sum_are_summed():
    b = Builder()
    a, x = b.input((4,)), b.input((3, 4))
    total = b(np.sum, x, axis=(1,), keepdims=False)
    multiples = b(np.sum, b(np.multiply, a, x), axis=(1,), keepdims=False)
    program = clean(b.result(total, multiples))
    assert [s.function for s in program.statements].count(np.sum) == 2


def test_a_power_of_two_goes_to_the_factor_with_fewer_elements():
    b = Builder()
    few, many = b.input((3, 1)), b.input((3, 4))
    program = b.result(b(np.multiply, few, b(np.multiply, many, 2.0)))
    assert body(clean(program)) == "mul = x * 2.0; mul_2 = mul * x_2; return mul_2"


def test_other_numbers_stay_where_they_are_since_they_would_round():
    b = Builder()
    few, many = b.input((3, 1)), b.input((3, 4))
    program = b.result(b(np.multiply, few, b(np.multiply, many, 3.0)))
    assert body(alone(algebra, program)) == "mul = x_2 * 3.0; mul_2 = x * mul; return mul_2"


def test_a_sum_that_is_read_twice_is_not_taken_again():
    b = Builder()
    x = b.input((3, 4))
    rows = b(np.sum, x, axis=(1,), keepdims=False)
    program = b.result(rows, b(np.sum, rows, axis=(0,), keepdims=False))
    assert body(alone(reductions, program)).startswith(
        "total = np.sum(x, axis=1); total_2 = np.sum(total)"
    )


# ---- picks ---------------------------------------------------------------------------------

PICKED = {
    "maps": lambda b, x, w, k: b(
        np.where, b(np.greater, x, 0.0), b(np.sin, x), b(np.sum, x, axis=(0,), keepdims=False)
    ),
    "a product's rows": lambda b, x, w, k: b(np.matmul, b(np.exp, x), w),
    "a product's columns": lambda b, x, w, k: b(
        np.transpose, b(np.matmul, b(np.transpose, w, (1, 0)), b(np.transpose, x, (1, 0))), (1, 0)
    ),
    "a reshape": lambda b, x, w, k: b(
        np.reshape, b(np.exp, b(np.reshape, x, (20, 2, 2))), (20, 1, 4)
    ),
    "a view": lambda b, x, w, k: b(view, b(np.exp, x), (slice(0, 20, 1), None, slice(3, 0, -2))),
    "a part": lambda b, x, w, k: b(view, b(np.exp, x), (slice(19, None, -1), slice(0, 4, 1))),
    "columns joined": lambda b, x, w, k: b(
        np.concatenate, (b(np.exp, x), b(np.matmul, x, w)), axis=1
    ),
    "rows joined": lambda b, x, w, k: b(np.concatenate, (x, b(np.exp, x)), axis=0),
    "repeated": lambda b, x, w, k: b(np.broadcast_to, b(np.exp, x), (3, 20, 4)),
    "repeated rows": lambda b, x, w, k: b(
        np.broadcast_to, b(np.sum, x, axis=(0,), keepdims=True), (20, 4)
    ),
    "merged rows": lambda b, x, w, k: b(
        np.reshape,
        b(np.matmul, b(np.reshape, b(np.broadcast_to, x, (3, 20, 4)), (60, 4)), w),
        (3, 20, 5),
    ),
    "merged columns": lambda b, x, w, k: b(
        np.transpose,
        b(
            np.reshape,
            b(
                np.matmul,
                b(np.transpose, w, (1, 0)),
                b(np.reshape, b(np.broadcast_to, b(np.transpose, x, (1, 0)), (3, 4, 20)), (4, 60)),
            ),
            (5, 3, 20),
        ),
        (1, 2, 0),
    ),
    "a sum": lambda b, x, w, k: b(np.sum, b(np.exp, x), axis=(1,), keepdims=False),
    "a maximum": lambda b, x, w, k: b(np.max, b(np.exp, x), axis=(1,), keepdims=True),
}
INDICES = {"a vector": (5,), "a matrix": (3, 2), "a slice": slice(3, 17, 1), "every third": None}


@pytest.mark.parametrize("by", INDICES)
@pytest.mark.parametrize("kind", PICKED)
def test_what_is_picked_of_a_result_is_computed_of_what_is_picked(kind: str, by: str) -> None:
    b = Builder()
    x, w = b.input((20, 4)), b.input((4, 5))
    form = INDICES[by] or slice(18, None, -3)
    k = form if isinstance(form, slice) else b.input(form, np.int64)
    made = PICKED[kind](b, x, w, k)
    axis = 1 if made.shape[0] == 3 else 0
    index = tuple(k if i == axis else slice(0, n, 1) for i, n in enumerate(made.shape))
    program = b.result(b(np.add, b(view if k is form else take, made, index), 1.0))
    draw = np.random.default_rng(0)
    arrays = [draw.normal(size=(20, 4)), draw.normal(size=(4, 5))]
    arrays += [] if k is form else [draw.integers(-20, 20, k.shape)]
    arrays = [a.astype(v.dtype) for a, v in zip(arrays, program.inputs, strict=True)]
    expected = program.run([a.copy() for a in arrays])
    clean(program)
    check_types(program)
    for mine, right in zip(program.run(arrays), expected, strict=True):
        np.testing.assert_allclose(mine, right, rtol=1e-5, atol=1e-6)
    exponentials = [s.output.shape for s in program.statements if s.function in (np.exp, np.sin)]
    stays = {"a part", "rows joined"}
    assert kind in stays or all(np.prod(shape) < 80 for shape in exponentials)


def test_what_others_read_whole_is_not_picked_before() -> None:
    b = Builder()
    x, k = b.input((20, 4)), b.input((5,), np.int64)
    made = b(np.exp, x)
    program = b.result(b(take, made, (k, slice(0, 4, 1))), made)
    clean(program)
    assert sum(s.function is np.exp for s in program.statements) == 1


def test_a_view_and_what_takes_at_places_go_before_each_other_in_one_order() -> None:
    # Each was moved before the other one, without end, where neither could go on from there.
    w = wg.randn(6, 4, requires_grad=True)
    f = lambda: wg.nn.functional.normalize(w, dim=1)[1:, wg.tensor([1, -2])]
    np.testing.assert_allclose(wg.compile(f)().detach(), f().detach(), rtol=1e-6)


# ---- products ------------------------------------------------------------------------------


def test_a_transposed_product_is_the_product_of_transposes():
    after = (
        "transposed = n.T; transposed_2 = m.T; matmul = transposed @ transposed_2; return matmul"
    )
    assert cleaned(lambda b, x, y, m, n, c: b(np.transpose, b(np.matmul, m, n), (1, 0))) == after
    assert (
        cleaned(
            lambda b, x, y, m, n, c: b(
                np.transpose, b(np.matmul, b(np.transpose, m, (1, 0)), n), (1, 0)
            )
        )
        == "transposed = n.T; matmul = transposed @ m; return matmul"
    )


def batch(write, *shapes) -> tuple[str, list, list]:
    """The text after `clean`, and the results before and after it."""
    b = Builder()
    names = "abc"
    values = [b.input(shape, name=name) for name, shape in zip(names, shapes, strict=False)]
    program = b.result(write(b, *values))
    random = np.random.default_rng(0)
    arrays = [random.normal(size=shape) for shape in shapes]
    before = program.run(arrays)
    check_types(clean(program))
    after = program.run(arrays)
    agree(after, before, exact=False)
    return body(program)


def test_a_batch_times_one_matrix_is_one_product():
    text = batch(lambda b, a, w: b(np.matmul, a, w), (2, 3, 4), (4, 5))
    assert text == (
        "reshaped = np.reshape(a, (6, 4)); matmul = reshaped @ b; "
        "reshaped_2 = np.reshape(matmul, (2, 3, 5)); return reshaped_2"
    )
    repeated = batch(
        lambda b, a, w: b(np.matmul, a, b(np.broadcast_to, w, (2, 4, 5))), (2, 3, 4), (4, 5)
    )
    assert repeated == text


def test_a_matrix_times_many_vectors_is_one_product():
    text = batch(lambda b, w, x: b(np.matmul, w, x), (5, 4), (2, 3, 4, 1))
    assert text == (
        "reshaped = np.reshape(b, (6, 4)); transposed = a.T; matmul = reshaped @ transposed; "
        "reshaped_2 = np.reshape(matmul, (2, 3, 5, 1)); return reshaped_2"
    )


def test_a_batch_whose_rows_lie_apart_is_not_copied():
    text = batch(lambda b, a, w: b(np.matmul, b(np.transpose, a, (0, 2, 1)), w), (2, 4, 3), (4, 5))
    assert text == "transposed = np.transpose(a, (0, 2, 1)); matmul = transposed @ b; return matmul"


@pytest.mark.parametrize("keepdims", [False, True])
def test_the_gradient_of_a_weight_is_one_product(keepdims):
    def write(b, a, g):
        each = b(np.matmul, b(np.transpose, a, (0, 2, 1)), g)
        return b(np.sum, each, axis=(0,), keepdims=keepdims)

    text = batch(write, (2, 3, 4), (2, 3, 5))
    assert text.startswith(
        "reshaped = np.reshape(a, (6, 4)); reshaped_2 = np.reshape(b, (6, 5)); "
        "transposed = reshaped.T; matmul = transposed @ reshaped_2; "
    )


def test_products_of_vectors_are_elementwise():
    outer = batch(lambda b, x, y: b(np.matmul, x, y), (4, 1), (1, 3))
    assert outer == "mul = a * b; return mul"
    inner = batch(lambda b, x, y: b(np.matmul, x, y), (2, 1, 4), (2, 4, 1))
    assert inner == (
        "reshaped = np.reshape(b, (2, 1, 4)); mul = a * reshaped; "
        "total = np.sum(mul, axis=2, keepdims=True); return total"
    )


# ---- random programs -----------------------------------------------------------------------

ONE_BY_ONE = {
    "fold": folded,
    "common": common,
    "dead": dead,
    "algebra": partial(alone, algebra),
    "layout": partial(alone, layout),
    "reductions": partial(alone, reductions),
    "products": partial(alone, products),
    "columns": lambda program: columns(program, many=2, pieces=0),
    "clean": clean,
}
FREE = frozenset({np.reshape, np.transpose, np.broadcast_to, view, full})


def work(program: Program) -> int:
    """The statements that compute something: a layout costs nothing by itself."""
    return sum(s.function not in FREE for s in program.statements)


@pytest.mark.crossed
@pytest.mark.parametrize("name", ONE_BY_ONE)
@pytest.mark.parametrize("seed", range(12))
def test_random_programs_compute_the_same_with_less_work(name, seed):
    exact = seed % 2 == 0  # bit for bit: then no order of the sums and no rounding matters
    drawn = Drawn(seed, exact=exact, dtype=np.float32 if seed % 3 == 0 else np.float64)
    program = drawn.program
    check_types(program)
    arrays = drawn.inputs()
    expected = [*program.run(arrays), *arrays]
    before = work(program)
    ONE_BY_ONE[name](program)
    check_types(program)
    if name == "clean":
        assert work(program) <= before
    arrays = drawn.inputs()
    agree([*program.run(arrays), *arrays], expected, exact)


def test_clean_leaves_nothing_to_clean():
    for seed in range(10):
        program = clean(Drawn(seed).program)
        text = source(program)
        assert source(clean(program)) == text


def test_the_work_grows_with_the_length():
    short, long = (Drawn(1, count).program for count in (200, 1000))
    assert calls(lambda: clean(long)) < 6 * calls(lambda: clean(short))


def test_rows_are_added_where_they_belong():
    b = Builder()
    zeros = b.full((4, 2), 0.0)
    g = b.input((3, 2))
    program = clean(b.result(b(added, zeros, (b.constant([0, 2, 2]),), g)))
    assert [s.name for s in program.statements] == ["full", "added"]


def test_makers_are_found_while_bodies_are_written_and_statements_are_taken_back():
    # All statements were gone through for each number asked for: a fifth of the trace of a GPT.
    program = Program()
    makers = Makers(program)

    def append() -> Statement:
        s = Statement(np.negative, (x,), {}, (Value((), np.dtype(float)),))
        program.statements.append(s)
        return s

    x = program.input((), float, "x")
    first, taken = append(), append()
    assert makers.of(x) is None
    assert makers.of(first.output) is first
    del program.statements[1:]
    second = append()
    assert makers.of(second.output) is second
    assert makers.of(taken.output) is None
    around, program.statements = program.statements, []
    inside = append()
    assert makers.of(inside.output) is inside
    assert makers.of(first.output) is None  # made around the body
    program.statements = around
    assert makers.of(first.output) is first
    assert makers.of(inside.output) is None
