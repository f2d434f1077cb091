"""What users get wrong, and odd data that is right: a clear error, or the right result."""

from __future__ import annotations

import decimal
import fractions
import math

import numpy as np
import pytest

import wengert as wg

ERRORS = (RuntimeError, TypeError, ValueError, IndexError, OverflowError)


# ---- data that is no array of numbers ------------------------------------------------------


@pytest.mark.parametrize("data", [[[1, 2], [3]], [1, [2]], [[1], 2], [[1.0], [1.0, 2.0], []]])
def test_ragged_lists(lib, data):
    with pytest.raises((ValueError, TypeError)):
        lib.tensor(data)


@pytest.mark.parametrize(
    "data",
    [
        None,
        [None],
        [1, None],
        "text",
        ["a"],
        {"a": 1},
        {1, 2},
        object(),
        [object()],
        (i for i in range(2)),
        b"ab",
    ],
    ids=lambda d: type(d).__name__,
)
def test_things_that_are_no_numbers(lib, data):
    with pytest.raises(ERRORS):
        lib.tensor(data)


@pytest.mark.parametrize(
    "array",
    [
        np.array([object()]),
        np.array([1, None]),
        np.array(["a", "b"]),
        np.array(["2020-01-01"], dtype="M8[D]"),
        np.zeros(2, dtype=[("a", "f4")]),
        np.zeros(2, dtype=np.longdouble),
    ],
    ids=lambda a: a.dtype.kind + a.dtype.name,
)
def test_arrays_that_hold_no_numbers_of_ours(lib, array):
    for make in (lib.tensor, lib.as_tensor, lib.from_numpy):
        with pytest.raises(TypeError, match="can't convert"):
            make(array)


def test_integers_that_fit_nowhere(lib):
    for data in (2**63, [2**64], [1, -(2**63) - 1]):
        with pytest.raises((ValueError, OverflowError, RuntimeError), match=r"(?i)overflow"):
            lib.tensor(data)
    for value, name in (
        (300, "uint8"),
        (2**31, "int32"),
        (math.nan, "int64"),
        (math.inf, "int32"),
        (-129, "int8"),
    ):
        with pytest.raises(RuntimeError, match="without overflow"):
            lib.tensor([value], dtype=getattr(lib, name))


def test_negative_numbers_wrap_in_unsigned_tensors(lib):
    assert lib.tensor([-1], dtype=lib.uint8).tolist() == [255]


def test_floats_are_cut_in_integer_tensors(lib):
    assert lib.tensor([1.7, -1.7], dtype=lib.int64).tolist() == [1, -1]


def test_floats_too_large_for_the_default_dtype_are_infinite():
    assert wg.tensor([1e300, -1e300]).tolist() == [math.inf, -math.inf]
    assert wg.tensor([1e300], dtype=wg.float64).tolist() == [1e300]


def test_complex_numbers_in_real_tensors(lib):
    with pytest.raises((TypeError, RuntimeError), match="real"):
        lib.tensor([1j], dtype=lib.float32)


def test_decimal_precision_survives_an_explicit_dtype(lib):
    # Numbers must not pass through float32 on their way to float64.
    assert lib.tensor([0.1], dtype=lib.float64).tolist() == [0.1]
    assert lib.tensor(2**53 + 1, dtype=lib.int64).item() == 2**53 + 1


# ---- data that is -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "dtype", "shape"),
    [
        ([], "float32", (0,)),
        ([[], []], "float32", (2, 0)),
        (range(3), "int64", (3,)),
        (3, "int64", ()),
        (True, "bool", ()),
        ([True, 2], "int64", (2,)),
        ([1, 2.5, True], "float32", (3,)),
        ([1, 2j], "complex64", (2,)),
        ((1.0, (2)), "float32", (2,)),
        ([np.float64(1), 2.0], "float64", (2,)),
        ([np.float32(1), 2.0], "float32", (2,)),
        ([np.int8(1), np.int8(2)], "int8", (2,)),
        ([np.arange(2.0), np.arange(2.0)], "float64", (2, 2)),
        (np.float64(3), "float64", ()),
        (np.array(3.0), "float64", ()),
        (np.zeros((0, 3)), "float64", (0, 3)),
        (np.zeros(2, np.uint16), "uint16", (2,)),
        (np.bool_(True), "bool", ()),
    ],
)
@pytest.mark.filterwarnings("ignore:Creating a tensor from a list of numpy.ndarrays")
def test_dtypes_and_shapes_of_data(lib, data, dtype, shape):
    x = lib.tensor(data)
    assert x.dtype == getattr(lib, dtype)
    assert tuple(x.shape) == shape


def test_lists_of_zero_dimensional_tensors(lib):
    x = lib.tensor([lib.tensor(1.0), lib.tensor(2.0)])
    assert x.tolist() == [1, 2]
    assert x.dtype == lib.float32


def test_tensors_nested_in_lists_keep_their_dtype_and_precision():
    x = wg.tensor([wg.tensor([0.1], dtype=wg.float64), wg.tensor([0.2], dtype=wg.float64)])
    assert x.dtype == wg.float64
    assert x.tolist() == [[0.1], [0.2]]


def test_tensor_copies_and_as_tensor_shares(lib):
    a = np.zeros(2)
    copied, shared, also = lib.tensor(a), lib.as_tensor(a), lib.from_numpy(a)
    a += 1
    assert copied.tolist() == [0, 0]
    assert shared.tolist() == also.tolist() == [1, 1]
    x = lib.ones(2)
    assert lib.as_tensor(x) is x


def test_non_contiguous_arrays_are_shared_as_they_are(lib):
    a = np.arange(6.0).reshape(2, 3)
    for view in (a.T, a[:, ::2], a[1]):
        x = lib.from_numpy(view)
        assert x.tolist() == view.tolist()
        x.add_(1)
    assert a.tolist() == [[2, 2, 4], [6, 6, 8]]


def test_arrays_with_negative_strides_are_shared_too():
    a = np.arange(3.0)
    x = wg.from_numpy(a[::-1])
    assert x.tolist() == [2, 1, 0]
    x[0] = 7
    assert a.tolist() == [0, 1, 7]


def test_gradients_with_respect_to_odd_layouts(lib):
    a = np.arange(12.0).reshape(3, 4)
    for view in (a.T, a[:, ::2], a[1:2].T):
        x = lib.from_numpy(view).clone().requires_grad_()
        y = lib.from_numpy(view.copy())
        (x * x * y).sum().backward()
        assert x.grad.tolist() == (2 * view * view).tolist()


def test_big_endian_arrays_are_converted():
    a = np.arange(3, dtype=">f8")
    for x in (wg.tensor(a), wg.as_tensor(a)):
        assert x.tolist() == [0, 1, 2]
        assert x.dtype is np.dtype("float64")
    assert (wg.ones(3, dtype=wg.float64) * a).tolist() == [0, 1, 2]
    assert (a * wg.ones(3, dtype=wg.float64)).tolist() == [0, 1, 2]
    assert (wg.ones(3) + np.arange(3, dtype=">i4")).tolist() == [1, 2, 3]


def test_the_memory_of_big_endian_arrays_cannot_be_shared(lib):
    with pytest.raises(ValueError, match="byte order"):
        lib.from_numpy(np.arange(3, dtype=">f8"))


def test_dtypes_of_one_name_are_one():
    # NumPy has two 64-bit integer types; mixing them once recursed without end.
    x = wg.from_numpy(np.ones(2, np.longlong))
    assert (x + wg.ones(2, dtype=wg.int64)).tolist() == [2, 2]
    assert x.dtype is np.dtype("int64")


def test_masked_arrays_are_refused():
    a = np.ma.array([1.0, 2.0], mask=[False, True])
    for use in (wg.tensor, wg.as_tensor, wg.from_numpy, lambda a: wg.ones(2) * a):
        with pytest.raises(TypeError, match="mask"):
            use(a)


def test_matrices_become_plain_tensors():
    with pytest.warns(PendingDeprecationWarning):
        m = np.matrix([[1.0, 2.0]])
    assert (wg.tensor(m) * wg.tensor(m)).tolist() == [[1, 4]]


def read_only(values):
    a = np.array(values)
    a.flags.writeable = False
    return a


def test_read_only_arrays_can_be_read_and_differentiated_but_not_written():
    a = read_only([1.0, 2.0])
    x = wg.from_numpy(a)
    for write in (
        lambda: x.add_(1),
        lambda: x.zero_(),
        lambda: x.__setitem__(0, 5.0),
        lambda: x.copy_(wg.ones(2)),
    ):
        with pytest.raises((RuntimeError, ValueError), match="read-only"):
            write()
        with wg.no_grad(), pytest.raises((RuntimeError, ValueError), match="read-only"):
            write()
    assert a.tolist() == [1, 2]
    assert x._version == 0
    x.requires_grad_()
    (x * x).sum().backward()
    assert x.grad.tolist() == [2, 4]
    assert wg.tensor(a).add_(1).tolist() == [2, 3]
    assert x.detach().clone().add_(1).tolist() == [2, 3]


def test_views_of_read_only_arrays_cannot_be_written_either():
    x = wg.from_numpy(read_only([[1.0, 2.0]]))
    for view in (x[0], x.expand(1, 2), x.t(), x.view(2)):
        with pytest.raises((RuntimeError, ValueError), match="read-only"):
            view.add_(1)


# ---- empty and zero-dimensional ------------------------------------------------------------


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0, 3)])
def test_empty_tensors_have_empty_gradients(lib, shape):
    x = lib.zeros(*shape, requires_grad=True)
    y = (x * 2).exp().sum() + x.reshape(-1).sum()
    assert y.item() == 0
    y.backward()
    assert tuple(x.grad.shape) == shape


def test_reductions_of_nothing(lib):
    x = lib.zeros(0)
    assert x.sum().item() == 0
    assert x.prod().item() == 1
    assert math.isnan(x.mean().item())
    for name in ("max", "min", "argmax", "argmin"):
        with pytest.raises((RuntimeError, IndexError), match=r"numel\(\) == 0"):
            getattr(x, name)()


def test_broadcasting_with_empty_dimensions(lib):
    x, y = lib.ones(4, 0, requires_grad=True), lib.ones(4, 1, requires_grad=True)
    (x * y).sum().backward()
    assert tuple(x.grad.shape) == (4, 0)
    assert y.grad.tolist() == [[0], [0], [0], [0]]


def test_matrix_products_over_nothing(lib):
    x, y = lib.ones(2, 0, requires_grad=True), lib.ones(0, 3, requires_grad=True)
    z = x @ y
    assert z.tolist() == [[0, 0, 0], [0, 0, 0]]
    z.sum().backward()
    assert tuple(x.grad.shape) == (2, 0)
    assert tuple(y.grad.shape) == (0, 3)


def test_views_of_nothing(lib):
    x = lib.zeros(0, 3, requires_grad=True) * 1
    for v in (x[:], x.t(), x.view(3, 0), x.unsqueeze(0), x[:, 1]):
        assert v.numel() == 0
        v.sum().backward(retain_graph=True)
    x[:].add_(1)
    assert lib.cat([x, lib.ones(1, 3)]).tolist() == [[1, 1, 1]]


def test_zero_dimensional_tensors(lib):
    x = lib.tensor(3.0, requires_grad=True)
    y = x * x + x[...] + x.view(1)[0] + x.reshape(1, 1).sum()
    y.backward()
    assert x.grad.item() == 9
    assert tuple(x.grad.shape) == ()
    with pytest.raises(IndexError, match="0-dim tensor"):
        x[0]


def test_zero_dimensional_tensors_are_written_in_place(lib):
    x = lib.tensor(3.0)
    x += 1
    x[...] = x * 2
    assert x.item() == 8
    assert x._version == 2


@pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning")  # NumPy's remark on inf * 0
def test_nan_and_infinity_go_where_arithmetic_takes_them(lib):
    x = lib.tensor([math.nan, math.inf, -math.inf], requires_grad=True)
    (x * lib.tensor([1.0, 0.0, 2.0])).sum().backward()
    assert x.grad.tolist() == [1, 0, 2]
    y = lib.tensor([math.nan, 1.0])
    assert (y == y).tolist() == [False, True]
    assert y.isnan().tolist() == [True, False]
    assert math.isnan(y.sum().item())
    assert math.isnan(y.max().item())


# ---- wrong shapes --------------------------------------------------------------------------

WRONG_SHAPES = {
    "broadcast": (lambda lib: lib.ones(2) + lib.ones(3), "must match the size"),
    "broadcast in place": (lambda lib: lib.ones(2).mul_(lib.ones(3)), "must match the size"),
    "grow": (lambda lib: lib.ones(1).add_(lib.ones(3)), "doesn't match the broadcast shape"),
    "matmul": (lambda lib: lib.ones(2, 3) @ lib.ones(2, 3), "cannot be multiplied"),
    "reshape": (lambda lib: lib.ones(2, 3).reshape(4), "invalid for input of size 6"),
    "view": (lambda lib: lib.ones(2, 3).t().view(6), "view size is not compatible"),
    "two unknowns": (lambda lib: lib.ones(4).reshape(-1, -1), "only one dimension can be inferred"),
    "cat": (lambda lib: lib.cat([lib.ones(2, 3), lib.ones(3, 2)]), "Sizes of tensors must match"),
    "cat nothing": (lambda lib: lib.cat([]), "expected a non-empty list"),
    "stack": (
        lambda lib: lib.stack([lib.ones(2), lib.ones(3)]),
        "expects each tensor to be equal size",
    ),
    "dim": (lambda lib: lib.ones(2).sum(1), "Dimension out of range"),
    "transpose": (lambda lib: lib.ones(2).transpose(0, 1), "Dimension out of range"),
    "permute": (lambda lib: lib.ones(2, 3).permute(0, 0), "duplicate dims"),
    "expand": (lambda lib: lib.ones(2).expand(3), "must match the existing size"),
    "index": (lambda lib: lib.ones(2)[2], "out of bounds"),
    "index tensor": (lambda lib: lib.ones(2)[lib.tensor([2])], "out of bounds"),
    "too many indices": (lambda lib: lib.ones(2)[0, 0], "too many indices"),
    "mask": (lambda lib: lib.ones(2)[lib.tensor([True])], "shape of the mask"),
    "embedding": (
        lambda lib: lib.nn.functional.embedding(lib.tensor([0]), lib.ones(2)),
        "'weight' must be 2-D",
    ),
    "float index": (lambda lib: lib.ones(2)[lib.tensor([1.0])], "must be long"),
    "assignment": (lambda lib: lib.ones(2).__setitem__(slice(None), lib.ones(3)), r"shape|size"),
    "copy": (lambda lib: lib.ones(2).copy_(lib.ones(3)), "size"),
    "item": (lambda lib: lib.ones(2).item(), "cannot be converted to Scalar"),
    "gradient": (
        lambda lib: lib.ones(2, requires_grad=True).backward(lib.ones(3)),
        "Mismatch in shape",
    ),
    "negative size": (lambda lib: lib.zeros(-1), "negative"),
}


@pytest.mark.parametrize("name", WRONG_SHAPES)
def test_wrong_shapes(lib, name):
    do, message = WRONG_SHAPES[name]
    with pytest.raises((RuntimeError, IndexError, ValueError), match=message):
        do(lib)


def test_sizes_that_are_no_integers(lib):
    for size in (2.0, "2", None, [2.5]):
        with pytest.raises(TypeError):
            lib.zeros(size)


# ---- wrong operands ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "other",
    [None, "text", object(), {}, decimal.Decimal(1), fractions.Fraction(1, 2)],
    ids=lambda other: type(other).__name__,
)
def test_operands_that_are_neither_tensors_nor_numbers(lib, other):
    x = lib.ones(2)
    for use in (
        lambda: x + other,
        lambda: x * other,
        lambda: other - x,
        lambda: x < other,
        lambda: x.add_(other),
        lambda: x.mul(other),
    ):
        with pytest.raises(TypeError):
            use()
    assert x.tolist() == [1, 1]


@pytest.mark.parametrize("wrong", [None, "text", object()], ids=lambda w: type(w).__name__)
def test_functions_of_one_tensor_refuse_what_is_none(lib, wrong):
    for name in ("exp", "sin", "sqrt", "sigmoid"):
        with pytest.raises(TypeError):
            getattr(lib, name)(wrong)


def test_comparing_with_none_is_python():
    assert (wg.ones(2) == None) is False  # noqa: E711
    assert (wg.ones(2) != None) is True  # noqa: E711


def test_gradients_that_are_no_tensors(lib):
    y = lib.ones(2, requires_grad=True) * 2
    for wrong in (1.0, "text", object()):
        with pytest.raises(TypeError):
            y.backward(wrong)


@pytest.mark.parametrize(
    "array",
    [np.array([object(), 1]), np.array(["a", "b"]), np.array(["2020-01-01"], "M8[D]")],
    ids=["object", "text", "date"],
)
def test_arrays_of_other_things_as_operands(array):
    for x in (wg.ones(2), wg.ones(2, requires_grad=True)):
        for use in (
            lambda x: x * array,
            lambda x: array * x,
            lambda x: x + array,
            lambda x: x.copy_(array),
        ):
            with pytest.raises((TypeError, ValueError, AttributeError)):
                use(x)


# ---- tensors of another library ------------------------------------------------------------


def foreign():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    return torch.tensor([1.0, 2.0])


def test_tensors_of_another_library_are_converted():
    t = foreign()
    for make in (wg.tensor, wg.as_tensor, wg.from_dlpack):
        x = make(t)
        assert type(x) is wg.Tensor
        assert x.tolist() == [1, 2]
        assert x.dtype == wg.float32
    assert wg.tensor([t[0], t[1]]).tolist() == [1, 2]


def test_dlpack_shares_memory():
    t = foreign()
    wg.from_dlpack(t).add_(1)
    assert t.tolist() == [2, 3]


def test_tensors_of_another_library_with_a_history_are_refused():
    t = foreign().requires_grad_()
    for make in (wg.tensor, wg.as_tensor):
        with pytest.raises(RuntimeError, match="requires grad"):
            make(t)


OPERATIONS = {
    "add": lambda x, t: x + t,
    "reflected": lambda x, t: t * x,
    "matmul": lambda x, t: x @ t,
    "in place": lambda x, t: x.add_(t),
    "power": lambda x, t: x**t,
    "function": lambda x, t: wg.add(x, t),
    "unary": lambda x, t: wg.exp(t),
    "numpy": lambda x, t: np.multiply(x, t),
    "where": lambda x, t: wg.where(x > 0, x, t),
    "comparison": lambda x, t: x < t,
    "index": lambda x, t: x[t.long()],
    "maximum": lambda x, t: wg.maximum(x, t),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_with_tensors_of_another_library_say_how_to_convert_them(name):
    t = foreign()
    for x in (wg.ones(2), wg.ones(2, requires_grad=True) * 1):
        with pytest.raises(TypeError, match=r"torch\.Tensor.*wengert\.tensor"):
            OPERATIONS[name](x, t)


# ---- arguments of another kind -------------------------------------------------------------

F = wg.nn.functional
X = wg.ones(2, 3)
MISFITS = {
    # An argument that is no tensor was met first where its shape or dtype was asked for.
    "argument 'index' (position 3) must be a Tensor, not str": lambda: wg.gather(X, 0, "a"),
    "argument 'weight' (position 2) must be a Tensor, not NoneType": lambda: F.conv2d(X, None),
    "argument 'A' (position 1) must be a Tensor, not list": lambda: wg.linalg.inv([1.0, 2.0]),
    "argument 'input' (position 1) must be a Tensor, not float": lambda: wg.tril(3.0),
    "argument 'source' (position 4) must be a Tensor, not list": (
        lambda: wg.index_add(X, 0, wg.tensor([0]), [[1.0] * 3])
    ),
    "argument 'mask' (position 2) must be a Tensor, not str": (
        lambda: wg.masked_scatter(X, "a", X)
    ),
    "argument 'running_mean' (position 2) must be a Tensor, not int": (
        lambda: F.batch_norm(X, 3, X)
    ),
    "stride must be a whole number": lambda: F.max_pool2d(wg.ones(1, 1, 4, 4), 2, "two"),
}


@pytest.mark.parametrize("words", MISFITS)
def test_what_fails_for_an_argument_of_another_kind_names_it(words):
    with pytest.raises(TypeError) as caught:
        MISFITS[words]()
    assert words in str(caught.value)


def test_errors_of_arguments_of_the_right_kind_stay_as_they_are():
    with pytest.raises(RuntimeError, match="index 7 is out of bounds"):
        wg.gather(X, 0, wg.tensor([[7, 7, 7]]))
    with pytest.raises(IndexError, match="Dimension out of range"):
        wg.tril(X).sum(7)
    with pytest.raises(RuntimeError, match="out"):  # a number is an operand like a tensor
        wg.clamp(X, 2, out=wg.ones(2, 3, dtype=wg.int64))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: wg.abs([1.0, 2.0]),
        lambda x: wg.sum([1.0, 2.0]),
        lambda x: wg.sort((2.0, 1.0)),
        lambda x: wg.eq([1.0], x),
        lambda x: wg.eq(x, [1.0]),
        lambda x: wg.isin(x, [1.0]),
        lambda x: wg.linalg.inv([[1.0]]),
        lambda x: wg.special.chebyshev_polynomial_t(x, [1]),
    ],
)
def test_a_list_is_no_tensor_for_any_function(call):
    # Some functions made a tensor of it, others refused: 170 of PyTorch's table took it.
    with pytest.raises(TypeError, match="Tensor"):
        call(wg.ones(1))


def test_arrays_and_numbers_stand_for_tensors():
    assert wg.abs(np.array([-1.0])).tolist() == [1.0]
    assert wg.abs(-2.0).item() == 2.0
    assert wg.eq(wg.ones(1), np.float64(1)).tolist() == [True]
