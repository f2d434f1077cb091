"""Products in blocks: what is left out is zero, and looked at when the product is taken."""

import numpy as np
import pytest

import wengert as wg
from tests.compile.builder import Builder
from tests.compile.plans import NumPy, execute
from wengert.compile.plan.planner import plan
from wengert.compile.program.bodies import Choose
from wengert.compile.program.infer import check_types
from wengert.compile.program.operations import full, updated, view
from wengert.compile.program.passes import zeros
from wengert.compile.program.passes.zeros import blocks_of_products, zeros_of


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Every product is large."""
    monkeypatch.setattr(zeros, "LARGE", 1)
    monkeypatch.setattr(zeros, "START", 1)
    monkeypatch.setattr(zeros, "LANES", 1)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def choices(program):
    return [s.function for s in program.statements if isinstance(s.function, Choose)]


def scaled(pattern, operand, others=12, dtype="f8"):
    """The product of a matrix that is zero where a constant is, and another one."""
    b = Builder()
    mask = b.constant(np.asarray(pattern, dtype))
    x = b.input(*mask.shape, dtype=dtype)
    k = mask.shape[1 - operand]
    y = b.input(*((others, k) if operand else (k, others)), dtype=dtype)
    thin = b(np.multiply, mask, x)
    b.program.outputs = [b(np.matmul, *((y, thin) if operand else (thin, y)))]
    return b.program


def diagonal(count, rows, columns):
    """A matrix of blocks of ones on the diagonal."""
    return np.kron(np.eye(count), np.ones((rows, columns)))


PATTERNS = {
    "blocks": diagonal(4, 3, 8),
    "narrow blocks": diagonal(8, 2, 1),
    "no column": np.zeros((6, 16)),
    "empty columns": np.hstack([np.zeros((8, 16)), diagonal(2, 4, 8), np.zeros((8, 3))]),
    "a band": sum(np.eye(40, k=k) for k in (-1, 0, 1)),
}


@pytest.mark.parametrize("operand", [0, 1])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", PATTERNS)
def test_a_product_with_a_matrix_of_blocks_is_taken_of_the_blocks(name, dtype, operand, rng):
    pattern = PATTERNS[name] if operand else PATTERNS[name].T
    program, other = (scaled(pattern, operand, dtype=dtype) for _ in range(2))
    assert blocks_of_products(other)
    check_types(other)
    (choose,) = choices(other)
    assert all(s.function is not np.matmul or s.args[0].size for s in choose.bodies[1].statements)
    given = [rng.standard_normal(v.shape).astype(dtype) for v in program.inputs]
    (expected,) = program.run([x.copy() for x in given])
    (found,), (planned,) = other.run(given), execute(plan(other, NumPy()), given)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(planned, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("operand", [0, 1])
@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_zeros_times_what_is_not_finite_are_nan_in_blocks_too(bad, which, operand, rng):
    """What is left out would be a NaN in the whole product, so that is the one taken."""
    pattern = diagonal(4, 3, 8) if operand else diagonal(4, 3, 8).T
    program, other = (scaled(pattern, operand) for _ in range(2))
    assert blocks_of_products(other)
    for _ in range(10):
        given = [rng.standard_normal(v.shape) for v in program.inputs]
        given[which].flat[rng.integers(given[which].size)] = bad
        with np.errstate(all="ignore"):
            (expected,), (found,) = program.run([x.copy() for x in given]), other.run(given)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("operand", [0, 1])
@pytest.mark.parametrize("lead", [(), (1,), (8,)])
@pytest.mark.parametrize("bad", [None, np.inf])
def test_a_batch_of_products_is_taken_in_blocks_of_matrices(lead, operand, bad, rng):
    b = Builder()
    pattern = np.repeat(diagonal(4, 2, 3), [1, 3, 2, 0, 1, 0, 0, 1], axis=0)  # (matrices, rows)
    lines = np.expand_dims(pattern, 1 + operand)
    thin = b(np.multiply, b.constant(lines), b.input(8, *((4, 12), (12, 5))[operand], dtype="f8"))
    other = b.input(*lead, *((12, 5), (4, 12))[operand], dtype="f8")
    b.program.outputs = [b(np.matmul, *((other, thin) if operand else (thin, other)))]
    given = [rng.standard_normal(v.shape) for v in b.program.inputs]
    if bad is not None:
        given[1].flat[7] = bad
    with np.errstate(all="ignore"):
        (expected,) = b.program.run([x.copy() for x in given])
        assert blocks_of_products(b.program)
        check_types(b.program)
        (found,), (planned,) = b.program.run(given), execute(plan(b.program, NumPy()), given)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(planned, expected, rtol=1e-12, atol=1e-12)


def test_a_product_that_blocks_do_not_make_cheaper_stays_whole():
    assert not blocks_of_products(scaled(np.tri(24), 1))  # half of it, and many blocks
    assert not blocks_of_products(scaled(np.ones((8, 16)), 1))


def test_a_band_of_many_columns_is_a_few_blocks():
    program = scaled(np.eye(400), 1)
    assert blocks_of_products(program)
    (choose,) = choices(program)
    assert len(choose.bodies[1].statements) < 4 * zeros.MOST


def test_what_has_too_many_blocks_to_look_at_stays_whole(monkeypatch):
    # Of the 62,400 columns of a small matrix each was looked at: a quarter of a first call.
    monkeypatch.setattr(zeros, "TURNS", 6)
    assert blocks_of_products(scaled(diagonal(6, 3, 400), 1))  # alike side by side
    assert not blocks_of_products(scaled(diagonal(8, 3, 2), 1))


def found(function, *operands, **kwargs):
    """Where a statement is zero, whose operands are the products of constants and inputs."""
    b = Builder()
    given = []
    for x in operands:
        mask = b.constant(np.asarray(x, float))
        given.append(b(np.multiply, mask, b.input(*mask.shape, dtype="f8")))
    out = b(function, *given, **kwargs) if callable(function) else None
    last = b(np.negative, out)
    return zeros_of(b.program, b.program.statements[-1]).get(out, np.zeros(last.shape, bool))


A = np.array([[0, 0, 1, 1.0], [0, 1, 0, 1]])
B = np.array([[0, 1, 0, 1.0], [0, 0, 0, 1]])


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (np.multiply, (A == 0) | (B == 0)),
        (np.add, (A == 0) & (B == 0)),
        (np.subtract, (A == 0) & (B == 0)),
        (np.maximum, (A == 0) & (B == 0)),
        (np.divide, A == 0),
        (np.power, np.zeros_like(A, bool)),  # 0 ** -1 is inf
        (np.hypot, (A == 0) & (B == 0)),
    ],
)
def test_a_function_is_zero_where_it_is_for_all_that_its_operands_may_be(function, expected):
    np.testing.assert_array_equal(found(function, A, B), expected)


@pytest.mark.parametrize("function", [np.sin, np.sqrt, np.negative, np.tanh, np.exp, np.cos])
def test_a_function_of_zero_is_zero_or_not(function):
    np.testing.assert_array_equal(found(function, A), (A == 0) & (function(0.0) == 0))


def test_sums_and_products_are_zero_where_all_of_their_terms_are():
    np.testing.assert_array_equal(found(np.sum, A, axis=(0,)), [True, False, False, False])
    np.testing.assert_array_equal(found(np.matmul, A, B.T), (A @ B.T) == 0)
    np.testing.assert_array_equal(found(np.transpose, A), (A == 0).T)


def test_choices_are_zero_where_both_are():
    b = Builder()
    x = b(np.multiply, b.constant(A), b.input(2, 4, dtype="f8"))
    out = b(np.where, b.input(2, 4, dtype="?"), x, 0.0)
    other = b(np.where, b(np.greater, x, 1.0), x, 1.0)
    known = zeros_of(b.program, Builder()(np.negative, out))
    np.testing.assert_array_equal(known[out], A == 0)
    assert other not in known


def test_what_is_written_into_zeros_is_not_zero_there():
    b = Builder()
    zero = b(full, (4, 6), 0.0, np.dtype("f8"))
    x = b.input(2, 6, dtype="f8")
    out = b(updated, zero, (slice(1, 3, 1), slice(0, 6, 1)), x)
    part = b(view, out, (slice(0, 2, 1), slice(0, 6, 1)))
    known = zeros_of(b.program, b.program.statements[0])
    assert out not in known  # it comes after
    b(np.negative, part)
    known = zeros_of(b.program, b.program.statements[-1])
    np.testing.assert_array_equal(known[part], np.repeat([[True], [False]], 6, axis=1))


@pytest.mark.parametrize("bad", [None, np.inf, np.nan])
def test_a_compiled_jacobian_of_a_chain_is_what_eager_mode_computes(bad, rng):
    """Its tangents are zero for the angles that come later in the chain."""
    base = rng.standard_normal((6, 3, 3))
    points = rng.standard_normal((40, 18))
    if bad is not None:
        points[3, 4] = bad

    def f(angles):
        moved = np.sin(angles)[:, None, None] * base
        return points @ moved.reshape(18, 3)

    x = rng.standard_normal(6)
    jacobian = wg.jacfwd(f)
    compiled = wg.compile(jacobian)
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(compiled(x), jacobian(x), rtol=1e-12, atol=1e-12)
    assert "choose" in str(compiled.explain())
