"""A number of any class beside an array: what comes of it has the dtype and the numbers of eager mode.

The number lies outside, and changes between calls, also its class: then it is read at each call, and
what stands for it while tracing was taken for an array by whoever asked for a number's class.
"""

# ruff: noqa: E501  (a row of a table reads best on a line)
from __future__ import annotations

import itertools
from typing import Any

import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from tests.compile.stories import caught, module, noted, same, same_or_refused
from wengert.errors import TracingError

CLASSES = "import enum\nclass Own(float): pass\nclass Count(int): pass\nclass Level(enum.IntEnum): LOW = 2\n"
NUMBERS = {
    "Python's": ("2.5", "3.5", "3", "True", "1e6"),
    "NumPy's": ("np.float64(2.5)", "np.float64(3.5)", "np.float16(1.5)", "np.int8(2)", "np.uint64(2)", "np.bool_(True)"),
    "a class's": ("1.5", "Own(2.5)", "Count(3)", "Level.LOW", "2.5"),
    "complex": ("1j", "2j", "np.complex64(2j)", "2.0"),
}  # fmt: skip
ARRAYS = {
    "floats": "np.float32([1, 2, 0])", "halves": "np.float16([1, 2, 0])", "bytes": "np.uint8([1, 2, 0])", "a number": "np.array(2, np.int8)",
    "a tensor": "wg.tensor([1.0, 2.0, 0.0])", "a tensor of ints": "wg.tensor([1, 2, 0])", "halves of a tensor": "wg.tensor([1.0, 2.0, 0.0], dtype=wg.float16)",
}  # fmt: skip
USES = {
    # A float of the user's own class was taken for Python's, which has no dtype.
    "operators": "a * k, k - a, a / k, a ** k, k // a",
    # It was a float64 array where eager mode has a number.
    "functions": "np.where(a > 0, k, a), np.maximum(a, k), np.hypot(k, a), np.arctan2(a, k)",
    # Of two results it was float64, and of Python's numbers nothing at all.
    "divmod": "divmod(a, k), divmod(k, a), np.divmod(a, k)",
    # A tensor was made of what stands for it.
    "tensors": "wg.full((2,), k), wg.as_tensor(k), wg.sin(k), wg.abs(k), wg.tensor([k, 2])",
    # It was taken where tensors have to be.
    "where tensors have to be": "wg.maximum(wg.as_tensor(a), k)",
    "chosen": "wg.where(wg.as_tensor(a) > 0, k, wg.as_tensor(a)), wg.clamp(wg.as_tensor(a).float(), k)",
    # The answer was a tensor.
    "truths": "np.allclose(a, wg.ones(1)), np.array_equal(wg.as_tensor(a), a), np.can_cast(a, np.float32)",
    # Where it is written, its class was forgotten.
    "writes": "put(a, k)",
    "beside Python's": "wg.as_tensor(a).double().sum().item() * k, k + wg.as_tensor(a).double().sum().item()",
    # A list was an array to a number, which repeats it, or raises an error.
    "beside lists": "[1, 2] * k",
    "beside lists, divided": "[1, 2] / k",
    "beside None": "k + None",
}  # fmt: skip
PUT = "def put(a, k):\n    b = a.clone() if isinstance(a, wg.Tensor) else a.copy()\n    b[...] = k\n    return b\n"


@pytest.mark.crossed
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("array", ARRAYS)
@pytest.mark.parametrize("numbers", NUMBERS)
def test_a_number_beside_an_array_is_that_of_its_class(numbers: str, array: str, use: str) -> None:
    def story(compile: Any) -> list[Any]:
        m = module(f"{CLASSES}{PUT}k = 0\ndef f(a): return {USES[use]}")
        f, seen = compile(m.f), []
        for text in NUMBERS[numbers]:
            m.k = eval(text, vars(m))  # noqa: S307
            a = eval(ARRAYS[array], vars(m))  # noqa: S307
            seen += [caught(f, a) for _ in range(2)]
        return seen

    same(story)


INTS = "np.array([-1, 5, 2**62])", "np.array([2**63, 5, 1], np.uint64)", "np.uint64(2**63)", "np.int8(-1)"  # fmt: skip


@pytest.mark.parametrize(("a", "b"), list(itertools.permutations(INTS, 2)))
def test_ints_are_compared_with_those_that_have_no_sign(a: str, b: str) -> None:
    # NumPy's loop takes both as they are, and machine code compared their bits.
    def story(compile: Any) -> list[Any]:
        m = module("def f(a, b): return a < b, a > b, a == b, a <= b, b >= a, a != b")
        f = compile(m.f)
        return [caught(f, eval(a, vars(m)), eval(b, vars(m))) for _ in range(2)]  # noqa: S307

    same(story)


WRITES = (
    "y[0] = k", "y[:] = k", "y[...] = k", "y[[0, 1]] = k", "y[0, 0] = k", "y += k", "y[1:] *= k", "np.copyto(y, k)", "y.fill(k)",
)  # fmt: skip
WRITTEN = "np.ones(0)", "np.ones((1, 1, 1, 3))", "np.ones((2, 1, 3))", "np.ones(2)", "np.ones((1, 2, 3))", "[1.0]", "[1.0, 2.0]", "np.ones(1)", "2j", "wg.zeros(0)", "np.ones((2, 0))"  # fmt: skip


@pytest.mark.crossed
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("k", WRITTEN)
def test_what_does_not_fit_where_it_is_written_is_an_error(k: str, write: str) -> None:
    # It was broadcast to the places whatever its shape: of an empty array memory was read that
    # belongs to something else.
    def story(compile: Any) -> list[Any]:
        m = module(f"k = np.ones(3)\ndef f(y):\n    {write}\n    return y")
        f, seen = compile(m.f), []
        for text in ("np.ones(3)", "np.ones(3)", k, "np.ones(3)"):
            m.k = eval(text, vars(m))  # noqa: S307
            seen += [outcome(f, m.np.ones((2, 3))) for _ in range(2)]
        return seen

    same_or_refused(story)


def outcome(function: Any, *args: Any) -> Any:
    """As `caught`, but a refusal is one."""
    try:
        return noted(function(*args))
    except TracingError:
        raise
    except Exception as error:
        return [type(error).__name__, str(error).splitlines()[0]]


AXES = "1", "True", "np.int8(3)", "np.float64(1.0)", "np.bool_(True)", "(0,)", "None"


@pytest.mark.parametrize("shape", ["()", "(2, 3)"])
@pytest.mark.parametrize("axis", AXES)
def test_an_axis_that_is_none_is_an_error(axis: str, shape: str) -> None:
    # A truth value was counted as an axis, and one of NumPy's numbers was not looked at.
    def story(compile: Any) -> list[Any]:
        m = module(f"def f(a): return np.sum(a, axis={axis}), a.max({axis})")
        f, a = compile(m.f), eval(f"np.ones({shape})", vars(m))  # noqa: S307
        return [caught(f, a) for _ in range(2)]

    same(story)


@pytest.mark.parametrize("write", ["a[0] = 5", "a[1:] = 5", "np.add.at(a, [0, 0], 1)"])
def test_what_shows_one_memory_several_times_is_not_written_in_part(write: str) -> None:
    # Only the element was written, and none of the others that are the same memory.
    def story(compile: Any) -> list[Any]:
        m = module(f"def f(a):\n    {write}\n    return a * 1")
        f, seen = compile(m.f), []
        for _ in range(2):
            base = m.wg.ones(1)
            seen += [outcome(f, base.expand(3)), noted(base)]
        return seen

    same_or_refused(story)


PRODUCTS = "np.einsum('i->', a)", "np.einsum('i,i->i', a, a)", "np.einsum('i,i', a, a)", "np.round(a)"  # fmt: skip


@pytest.mark.parametrize("dtype", ["int8", "uint8", "bool", "int32", "float32"])
@pytest.mark.parametrize("product", PRODUCTS)
def test_small_ints_stay_small(product: str, dtype: str) -> None:
    # einsum adds in the dtype of what it is given, where a sum is wider.
    def story(compile: Any) -> list[Any]:
        m = module(f"def f(a): return {product}")
        f = compile(m.f)
        return [outcome(f, m.np.array([100, 100]).astype(dtype)) for _ in range(2)]

    same(story)


MORE = {
    # A number was a dtype, and a truth value's square an int64: what stands for it has a dtype.
    "as a dtype": (("np.float64(2)", "0.5", "1.5", "np.int8(1)"), "np.sum(a, 0, k)", "np.sum(a, dtype=k)", "np.mean(a, 0, k)", "a.astype(k)", "np.asarray(a, k)", "np.sum(wg.as_tensor(a), 0, k)", "wg.as_tensor(a).sum(dtype=k)"),
    "a power": (("3", "2", "4", "2", "2.0", "np.int64(2)"), "a ** 2", "a ** k", "(a > 0) ** k", "(a > 0) ** 2", "(a > 0).any() ** k"),
    # Python's numbers are arrays to NumPy's functions, and neither a tensor's number nor NumPy's.
    "to NumPy's functions": (("2.5", "3", "4", "1.5", "np.float64(2)", "True"), "np.round(k)", "np.round(k, 1)", "np.squeeze(k)", "np.transpose(k)", "np.reshape(k, ())", "np.isreal(a.sum().item())", "np.squeeze(a.sum().item())", "np.clip(k, None, 2)", "np.dot(a.astype(np.float32), k)", "np.dot(a.astype(np.int8), k)"),
    "to NumPy's functions, beside tensors": (("np.float64(2.5)", "3.5", "2.5", "1.5"), "np.linspace(wg.as_tensor(a), k, 3)", "np.linspace(k, wg.as_tensor(a), 3)", "np.polyval(wg.as_tensor(a), k)", "np.inner(wg.as_tensor(a), k)", "np.logspace(k, wg.as_tensor(a), 3)", "np.dot(wg.as_tensor(a), k)", "np.tensordot(wg.as_tensor(a), k, 0)", "np.add.outer(a, k)"),
    # Bounds that are NumPy's numbers made the result as wide as these.
    "as bounds": (("np.float64(0.5)", "np.float64(1.5)", "0.5", "np.int64(1)", "np.float32(1.5)"), "wg.clamp(wg.as_tensor(a), k)", "wg.clamp(wg.as_tensor(a), max=k)", "wg.as_tensor(a).clone().clamp_(k)"),
    "complex ones": (("2.5", "3", "np.float64(2.5)", "1j", "2.5"), "z(a) < k", "k <= z(a)", "z(a) > z(a)", "z(a) * k, k * z(a)", "z(a) == k"),
    "asked directly": (("2.5", "3", "np.float64(2.5)", "np.float64(3.5)", "True"), "a.sum(dtype=float).item().__divmod__(k)", "a.sum(dtype=float).item().__add__(k)", "a.sum().item().__rsub__(k)"),
}  # fmt: skip
ROWS = [(name, use) for name, (_, *uses) in MORE.items() for use in uses]
GIVEN = (
    "np.float16([1, 2, 0])",
    "np.float32([1, 2, 0])",
    "np.int8([1, 2, 0])",
    "np.array([True, False, True])",
)


@pytest.mark.crossed
@pytest.mark.parametrize("array", GIVEN)
@pytest.mark.parametrize(("name", "use"), ROWS)
def test_a_number_is_to_functions_what_its_class_is(name: str, use: str, array: str) -> None:
    def story(compile: Any) -> list[Any]:
        m = module(f"k = 0\ndef z(a): return (a.sum() * 1j).item()\ndef f(a): return {use}")
        f, seen = compile(m.f), []
        for text in MORE[name][0]:
            m.k = eval(text, vars(m))  # noqa: S307
            seen += [caught(f, eval(array, vars(m))) for _ in range(2)]  # noqa: S307
        return seen

    same(story)


@pytest.mark.parametrize("dtype", ["float", "np.float32", "np.float16", "np.int64", "'f8'"])
@pytest.mark.parametrize("name", ["sum", "mean", "cumsum", "prod"])
def test_a_dtype_by_its_place_is_that_of_the_result(name: str, dtype: str) -> None:
    # Of half precision it was looked at as an operand, and ints had means that are none.
    def story(compile: Any) -> list[Any]:
        m = module(f"def f(a): return np.{name}(a, 0, {dtype}), a.{name}(0, {dtype})")
        f = compile(m.f)
        return [caught(f, eval(array, vars(m))) for array in GIVEN for _ in range(2)]  # noqa: S307

    same(story)


METHODS = "copy(1)", "copy('F')", "copy('A')", "T.copy('A')", "astype(np.float32, 'F')", "astype(np.float64, 'F', copy=False)", "astype(np.float64, 'K', 'unsafe', True, False)", "astype(np.int8, 'K', 'safe')", "astype(np.float32, 'Q')", "__array_priority__", "sum().__array_priority__", "__doc__"  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_arguments_of_methods_have_numpys_places(method: str) -> None:
    # The order was taken for copy=, and of what an array's class says, what stands for it told its own.
    def story(compile: Any) -> list[Any]:
        m = module(
            f"def f(a):\n    y = a.{method}\n    return y, getattr(y, 'strides', None), type(y) is type(a)"
        )
        f = compile(m.f)
        return [outcome(f, m.np.ones((2, 3))) for _ in range(2)]

    same(story)


OUTS = "np.sum(a, 0, None, out)", "np.min(a, 0, out)", "np.any(a, 0, out)", "np.mean(a, None, None, out)"  # fmt: skip


@pytest.mark.parametrize("out", ["np.array(1.0)", "wg.tensor(1.0, dtype=wg.float64)"])
@pytest.mark.parametrize("call", OUTS)
def test_out_by_its_place_is_written(call: str, out: str) -> None:
    # Where it has no name it was ignored.
    def story(compile: Any) -> list[Any]:
        m = module(f"def f(a, out): return {call} is out")
        f, seen = compile(m.f), []
        for _ in range(2):
            given = eval(out, vars(m))  # noqa: S307
            seen += [outcome(f, m.np.array([3.0, 2.0, 5.0]), given), noted(given)]
        return seen

    same(story)


INTS_ONLY = "a.tril(k)", "wg.matrix_power(a, k)", "a.sum(k)", "np.take(a, k)", "wg.cumsum(a, k)", "wg.sort(a, k)"  # fmt: skip


@pytest.mark.parametrize("k", ["2.0", "True", "np.float64(1.0)", "np.int8(1)", "1"])
@pytest.mark.parametrize("call", INTS_ONLY)
def test_a_setting_is_of_the_class_of_its_number(call: str, k: str) -> None:
    # What stands for a float that was an int before was taken for one.
    def story(compile: Any) -> list[Any]:
        m = module(f"k = 0\ndef f(a): return {call}")
        f, seen = compile(m.f), []
        for text in ("0", "1", k, k):
            m.k = eval(text, vars(m))  # noqa: S307
            seen.append(outcome(f, m.wg.ones(2, 2)))
        return seen

    same_or_refused(story)


BRAINS = "np.array([1.0, 2.0, 0.5]).astype(wg.bfloat16)"
BESIDE_BRAINS = "2.5", "2", "np.int64(2)", "np.float16(2.5)", "np.array(2.5).astype(wg.bfloat16)", "[1, 2, 3]", "2j"  # fmt: skip
USED = "a * k", "np.maximum(k, a)", "np.where(a > 0, a, k)", "np.logspace(a, k, 3)", "np.add.outer(a, k)", "np.linspace(a, k, 3)", "np.clip(a, 0, k)", "np.linspace(wg.as_tensor(a), k, 3)", "wg.ones(3) / k", "wg.full((2,), wg.as_tensor(k))"  # fmt: skip


@pytest.mark.crossed
@pytest.mark.parametrize("use", USED)
@pytest.mark.parametrize("k", BESIDE_BRAINS)
def test_what_meets_an_array_of_bfloat16_makes_of_it_what_numpy_makes(k: str, use: str) -> None:
    # It stayed bfloat16, where NumPy's is wider, and a number in bfloat16 was rounded to an int.
    def story(compile: Any) -> list[Any]:
        m = module(f"k = 0\ndef f(a): return {use}")
        f, seen = compile(m.f), []
        for text in ("1.5", k, k, "3", k):
            m.k = eval(text, vars(m))  # noqa: S307
            seen.append(outcome(f, eval(BRAINS, vars(m))))  # noqa: S307
        return seen

    same(story, 1e-2)


@pytest.mark.parametrize("name", ["unique_all", "unique_counts", "unique_inverse"])
def test_what_is_found_by_numbers_is_of_numpys_class(name: str) -> None:
    # It was a plain tuple.
    m = module(f"o = np.array([1, 2, 2])\ndef f(): return np.{name}(o)")
    assert type(wg.compile(m.f)()) is type(m.f())


AS_EAGER = {
    # What stands for it while tracing has a dtype, and was one.
    "a number as a dtype": ("np.full(3, 2, k), np.promote_types(k, np.float32)", ("np.uint8(2)", "0.5", "1.5")),
    # It had an axis no more when its derivative was taken.
    "a running product": ("np.cumulative_prod(wg.tensor(k, requires_grad=True))", ("2.0", "3.0")),
    # The ends of a series are the numbers given, whatever lies between.
    "ends": ("np.geomspace(np.array([k, 2.0]), 3.0, 4)", ("1.0", "-1.0", "-2.0", "0.0")),
    "a series of half precision": ("np.geomspace(k, 3, 4)", ("2.0", "np.float16(1.5)", "np.float16(2.5)")),
    "places that are truth values": ("np.take(np.array([1.0, 2.0]), k)", ("1", "False", "[True, False]")),
    # A number at the left was NumPy's, which makes a tensor's reflected operator of it.
    "a number of Python's at the left": ("np.mod(np.array([k])[0].item(), wg.tensor(2))", ("2.5", "3.5", "1.5")),
    # Of one result that is in a tuple the tuple was taken.
    "one result in a tuple": ("wg.unravel_index(wg.tensor([1, 2]) * k, (3,))", ("1", "0", "1")),
    # bfloat16 takes what is complex, without what is imaginary.
    "complex by its numbers": ("np.emath.arctanh(np.array([k, 0.5]).astype(wg.bfloat16))", ("0.5", "1.5", "2.5")),
    "ranges": ("wg.arange(wg.tensor(k)), wg.full((2,), wg.tensor(k, dtype=wg.float64))", ("2", "3", "2.0")),
}  # fmt: skip


@pytest.mark.parametrize("name", AS_EAGER)
def test_a_call_gives_what_it_gives_eagerly(name: str) -> None:
    use, texts = AS_EAGER[name]

    def story(compile: Any) -> list[Any]:
        m = module(f"k = 0\ndef f(): return {use}")
        f, seen = compile(m.f), []
        for text in texts:
            m.k = eval(text, vars(m))  # noqa: S307
            seen += [outcome(f) for _ in range(2)]
        return seen

    same_or_refused(story)
