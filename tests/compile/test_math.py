"""The elementary functions that the compiler emits, against references of higher precision.

float32 is compared with float64 at every 1009th bit pattern, so at every exponent. All of them,
which takes minutes, are compared with

    WENGERT_EVERY_FLOAT=1 pytest tests/compile/test_math.py
"""

import ctypes
import os
from functools import cache

import numpy as np
import pytest
import scipy.special

ir = pytest.importorskip("llvmlite.ir")

from wengert.compile.llvm.elementary import math as series  # noqa: E402
from wengert.compile.llvm.elementary.math import call  # noqa: E402
from wengert.compile.llvm.elementary.scalars import apply  # noqa: E402
from wengert.compile.llvm.machine import host as machine  # noqa: E402

STEP = 1 if os.environ.get("WENGERT_EVERY_FLOAT") else 1009
INDEX = ir.IntType(64)
KINDS = {np.float32: ir.FloatType(), np.float64: ir.DoubleType()}
LANES = {np.float32: 16, np.float64: 8}
EXTENDED = np.finfo(np.longdouble).nmant > 60

BINARY = {"power", "float_power", "arctan2", "hypot", "copysign", "nextafter"}
BINARY |= {"fmod", "remainder", "floor_divide", "maximum", "minimum", "fmax", "fmin"}
BINARY |= {"logaddexp", "logaddexp2"}
EXACT = {"sqrt", "rint", "floor", "ceil", "trunc", "sign", "absolute", "reciprocal", "square"}
TOGETHER = {"sin beside cos": 0, "cos beside sin": 1}
NAMES = series.NAMES | BINARY | EXACT | {*TOGETHER}
UNARY = NAMES - BINARY
EXACT |= BINARY - {"power", "float_power", "arctan2", "hypot", "logaddexp", "logaddexp2"}
BOUND = {"power": 4, "float_power": 4, "tan": 4}


def sigmoid(x):
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, 1) / (1 + e)


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


OTHERS = {"sigmoid": sigmoid, "softplus": softplus}
OTHERS |= {"erf": scipy.special.erf, "erfc": scipy.special.erfc}
OTHERS |= {"sin beside cos": np.sin, "cos beside sin": np.cos}


def reference(name):
    return OTHERS.get(name) or getattr(np, name)


@cache
def compiled(name, dtype, lanes):
    """The function over arrays whose length the lanes divide."""
    arity = 2 if name in BINARY else 1
    element = KINDS[dtype]
    kind = element if lanes == 1 else ir.VectorType(element, lanes)
    module = ir.Module()
    signature = ir.FunctionType(ir.VoidType(), [element.as_pointer()] * (arity + 1) + [INDEX])
    function = ir.Function(module, signature, "kernel")
    entry, loop, done = (function.append_basic_block() for _ in range(3))
    builder = ir.IRBuilder(entry)
    builder.branch(loop)
    builder.position_at_end(loop)
    index = builder.phi(INDEX)
    index.add_incoming(INDEX(0), entry)
    *sources, target, count = function.args
    at = lambda base: builder.bitcast(builder.gep(base, [index]), kind.as_pointer())
    loaded = [builder.load(at(source), align=4) for source in sources]
    kinds = (np.dtype(dtype),) * arity
    if name == "falling_exp":  # which no program names
        value = call(builder, name, *loaded)
    elif name in TOGETHER:
        value = series.sin_and_cos(builder, *loaded)[TOGETHER[name]]
    else:
        value = apply(builder, name, kinds[0], kinds, loaded)
    builder.store(value, at(target), align=4)
    following = builder.add(index, INDEX(lanes))
    index.add_incoming(following, builder.block)
    builder.cbranch(builder.icmp_unsigned("<", following, count), loop, done)
    builder.position_at_end(done)
    builder.ret_void()

    code = machine.compile_module(module, name)
    types = [ctypes.c_void_p] * (arity + 1) + [ctypes.c_int64]
    run = ctypes.CFUNCTYPE(None, *types)(code.address("kernel"))

    def over(*arrays):
        size = arrays[0].size
        padded = [np.concatenate([a, np.ones(-size % lanes, dtype)]) for a in arrays]
        result = np.empty_like(padded[0])
        run(*(a.ctypes.data for a in [*padded, result]), result.size)
        return result[:size]

    over.code = code
    return over


def by_vectors(name, *arrays):
    """The function in vectors, and the assertion that single lanes give the same."""
    dtype = arrays[0].dtype.type
    result = compiled(name, dtype, LANES[dtype])(*arrays)
    few = [a[:: max(1, a.size // 5000)] for a in arrays]
    single = compiled(name, dtype, 1)(*few)
    np.testing.assert_array_equal(single, result[:: max(1, result.size // 5000)])
    return result


def ulps(result, exact):
    """How many units in the last place `result` is from `exact`, which has more digits."""
    rounded = exact.astype(result.dtype)
    unit = np.spacing(np.abs(rounded)).astype(exact.dtype)
    distance = np.abs(result.astype(exact.dtype) - exact) / unit
    same = (result == rounded) | (np.isnan(result) & np.isnan(rounded))
    same |= (result == rounded) | ~np.isfinite(rounded) & (
        np.abs(result) == np.finfo(result.dtype).max
    )
    return np.where(
        same & ~np.isfinite(distance), 0, np.where(np.isnan(distance), np.inf, distance)
    )


def assert_close(name, result, exact, arguments, bound=None):
    bound = bound or (0.5001 if name in EXACT else BOUND.get(name, 2))
    distance = ulps(result, exact)
    worst = int(np.argmax(distance))
    at = tuple(a[worst] for a in arguments)
    message = (
        f"{name}{at!r} gave {result[worst]!r}, {distance[worst]:.3f} ulp from {exact[worst]!r}"
    )
    assert distance[worst] <= bound, message


def specials(dtype):
    info = np.finfo(dtype)
    sizes = [0, 0.1, 0.5, 1, 1.5, 2, 2.5, 3, 7, 100, 16777217, 1e30, np.inf]
    sizes += [info.smallest_subnormal, info.tiny / 3, info.tiny, info.eps, info.max]
    return np.array([sign * size for size in sizes for sign in (1, -1)] + [np.nan], dtype)


@pytest.mark.crossed
@pytest.mark.parametrize("dtype", KINDS, ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize("name", sorted(NAMES))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_special_values_are_numpys(name, dtype):
    x = specials(dtype)
    arguments = [a.ravel() for a in np.meshgrid(x, x)] if name in BINARY else [x]
    result = by_vectors(name, *arguments)
    with np.errstate(all="ignore"):
        expected = reference(name)(*arguments).astype(dtype)
    unusual = ~np.isfinite(expected) | ~np.isfinite(result) | (expected == 0) | (result == 0)
    np.testing.assert_array_equal(result[unusual], expected[unusual])
    zero = (expected == 0) & (result == 0)
    if name not in {"maximum", "minimum", "fmax", "fmin"}:  # NumPy's choice differs by processor
        np.testing.assert_array_equal(np.signbit(result[zero]), np.signbit(expected[zero]))


def patterns(step):
    """Every step-th float32, in pieces."""
    piece = step * 2**22
    for start in range(0, 2**32, piece):
        bits = np.arange(start, min(start + piece, 2**32), step, dtype=np.uint64)
        yield bits.astype(np.uint32).view(np.float32)


@pytest.mark.parametrize("name", sorted(UNARY))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_float32_over_all_exponents(name):
    for x in [*patterns(STEP)] if STEP > 1 else patterns(STEP):
        with np.errstate(all="ignore"):
            assert_close(name, by_vectors(name, x), reference(name)(x.astype(np.float64)), [x])


def samples(dtype, count, seed):
    """Random bit patterns, and random numbers of ordinary size."""
    rng = np.random.default_rng(seed)
    bits = np.uint32 if dtype is np.float32 else np.uint64
    wild = rng.integers(0, np.iinfo(bits).max, count, bits).view(dtype)
    spread = rng.choice([-1, 1], count) * np.exp(rng.uniform(-20, 7, count))
    return np.concatenate([wild, spread, rng.uniform(-2, 2, count), rng.uniform(-700, 700, count)])


def pairs(dtype, count):
    x, y = (samples(dtype, count, seed).astype(dtype) for seed in (1, 2))
    rng = np.random.default_rng(3)
    base = np.exp(rng.uniform(-3, 3, count))
    exponent = rng.uniform(-1, 1, count) * np.log(np.finfo(dtype).max) / np.log(base)
    x = np.concatenate([x, base.astype(dtype), x[:count]])
    return x, np.concatenate([y, exponent.astype(dtype), np.round(y[count : 2 * count])])


@pytest.mark.skipif(not EXTENDED, reason="the references need extended precision")
@pytest.mark.parametrize("name", sorted(UNARY - {"erf", "erfc"}))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_float64_against_extended_precision(name):
    x = samples(np.float64, 40_000, 0)
    with np.errstate(all="ignore"):
        assert_close(name, by_vectors(name, x), reference(name)(x.astype(np.longdouble)), [x])


@pytest.mark.parametrize("name", ["erf", "erfc"])
def test_float64_error_function_against_mpmath(name):
    mpmath = pytest.importorskip("mpmath")
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-6, 27.5, 1500), np.exp(rng.uniform(-20, 1, 500))])
    result = by_vectors(name, x)
    with mpmath.workdps(30):
        exact = [getattr(mpmath, name)(float(at)) for at in x]
        errors = [abs(mpmath.mpf(float(y)) - e) for y, e in zip(result, exact, strict=True)]
    units = np.spacing(np.abs(np.array([float(e) for e in exact])))
    distance = np.array([float(e) for e in errors]) / units
    assert distance.max() <= 2, (x[distance.argmax()], distance.max())


@pytest.mark.crossed
@pytest.mark.skipif(not EXTENDED, reason="the references need extended precision")
@pytest.mark.parametrize("dtype", KINDS, ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize("name", sorted(BINARY - {"logaddexp", "logaddexp2"}))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_binary_functions(name, dtype):
    x, y = pairs(dtype, 40_000)
    result = by_vectors(name, x, y)
    # What these two give is not rounded once, so more digits would give something else.
    same_digits = name in {"nextafter", "floor_divide", "remainder"}
    wider = dtype if same_digits else np.longdouble
    with np.errstate(all="ignore"):
        assert_close(name, result, reference(name)(x.astype(wider), y.astype(wider)), [x, y])


@pytest.mark.skipif(not EXTENDED, reason="the references need extended precision")
@pytest.mark.parametrize("dtype", KINDS, ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_logaddexp_to_the_digits_of_its_arguments(name, dtype):
    # The sum cancels near 0, in NumPy as well: it is measured by its arguments.
    x, y = pairs(dtype, 40_000)
    finite = np.isfinite(x) & np.isfinite(y)
    x, y = x[finite], y[finite]
    result = by_vectors(name, x, y)
    with np.errstate(all="ignore"):
        exact = reference(name)(x.astype(np.longdouble), y.astype(np.longdouble))
    size = np.maximum(np.abs(x), np.maximum(np.abs(y), np.abs(result)))
    assert np.all(np.abs(result - exact) <= 4 * np.spacing(size))


@pytest.mark.parametrize("lanes", [2, 3, 4, 5])
def test_any_number_of_lanes(lanes):
    x = np.linspace(-9, 9, 60, dtype=np.float32)
    for name in ("exp", "tanh", "sin"):
        result = compiled(name, np.float32, lanes)(x)
        np.testing.assert_array_equal(result, compiled(name, np.float32, 1)(x))


def test_a_function_is_defined_once_per_module_and_type():
    module = ir.Module()
    kind = ir.VectorType(ir.FloatType(), 8)
    function = ir.Function(module, ir.FunctionType(kind, [kind]), "f")
    builder = ir.IRBuilder(function.append_basic_block())
    builder.ret(call(builder, "exp", call(builder, "exp", function.args[0])))
    names = [f.name for f in module.functions if not f.is_declaration]
    assert names == ["f", "wg.exp.v8f32"]


def test_an_unknown_function_says_which_there_are():
    module = ir.Module()
    kind = ir.FloatType()
    function = ir.Function(module, ir.FunctionType(kind, [kind]), "f")
    builder = ir.IRBuilder(function.append_basic_block())
    with pytest.raises(KeyError, match="gamma"):
        call(builder, "gamma", function.args[0])


@pytest.mark.parametrize("dtype", KINDS, ids=lambda dtype: dtype.__name__)
def test_exponentials_of_what_is_known_to_be_at_most_zero(dtype):
    rng = np.random.default_rng(0)
    near, far = -rng.uniform(0, 6, 200_000), -rng.uniform(6, 760, 200_000)
    wide = np.longdouble if dtype is np.float64 else np.float64
    for x, bound in [(near, 2), (far, 5 if dtype is np.float32 else 2)]:
        x = x.astype(dtype)
        result = by_vectors("falling_exp", x)
        assert_close("falling_exp", result, np.exp(x.astype(wide)), [x], bound)
    ends = np.array([0.0, -0.0, -np.inf, np.nan, -1e30, np.finfo(dtype).min], dtype)
    np.testing.assert_array_equal(by_vectors("falling_exp", ends), [1, 1, 0, np.nan, 0, 0])
