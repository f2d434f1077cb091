"""Bad arguments of operators: PyTorch's kind of exception, in words that say what was found."""

from __future__ import annotations

import inspect
from types import ModuleType

import numpy as np
import pytest

import wengert as wg

NAMESPACES = {
    "": wg,
    "nn.functional.": wg.nn.functional,
    "linalg.": wg.linalg,
    "fft.": wg.fft,
    "special.": wg.special,
}


def takes_a_tensor(function):
    """Whether the first parameter is called what tensors are called."""
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return False
    return names[:1] in (["input"], ["A"]) or (names[:2] == ["self", "other"])


FUNCTIONS = {
    prefix + name: getattr(module, name)
    for prefix, module in NAMESPACES.items()
    for name in dir(module)
    if not name.startswith("_")
    and callable(getattr(module, name))
    and not inspect.isclass(getattr(module, name))
    and not isinstance(getattr(module, name), ModuleType)
    and takes_a_tensor(getattr(module, name))
}
# What is asked whether it is a tensor, or made one, may be anything.
ANYTHING = {"is_tensor", "is_storage", "is_nonzero", "typename", "as_tensor", "result_type"}


def other_arguments(function):
    """Matrices for all further arguments without a default: the error is not about them."""
    parameters = list(inspect.signature(function).parameters.values())[1:]
    return [
        wg.ones(2, 2)
        for p in parameters
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]


@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - ANYTHING))
def test_what_is_no_tensor_is_a_type_error_that_names_it(name):
    function = FUNCTIONS[name]
    with pytest.raises(TypeError) as caught:
        function("a word", *other_arguments(function))
    assert "str" in str(caught.value), caught.value


X = lambda torch, *shape: torch.tensor(np.arange(1, 1 + np.prod(shape)).reshape(shape) / 8)

CASES = {
    # dimensions
    "sum over a dimension that is not there": (
        IndexError, "Dimension out of range", lambda t: t.sum(X(t, 2, 3), dim=2)),
    "softmax over a dimension that is not there": (
        IndexError, "Dimension out of range", lambda t: t.softmax(X(t, 2, 3), -3)),
    "normalize along a dimension that is not there": (
        IndexError, "Dimension out of range",
        lambda t: t.nn.functional.normalize(X(t, 2, 3), dim=7)),
    "cosine_similarity along a dimension that is not there": (
        IndexError, "Dimension out of range",
        lambda t: t.cosine_similarity(X(t, 2, 3), X(t, 2, 3), dim=2)),
    "sort along a dimension that is not there": (
        IndexError, "Dimension out of range", lambda t: t.sort(X(t, 2, 3), 5)),
    "a dimension named twice": (
        RuntimeError, "dim 0 appears multiple times", lambda t: t.sum(X(t, 2, 3), dim=(0, 0))),
    "cat along a dimension that is not there": (
        IndexError, "Dimension out of range", lambda t: t.cat([X(t, 2), X(t, 2)], 1)),
    "nuclear_norm over a dimension that is not there": (
        IndexError, "Dimension out of range", lambda t: t.nuclear_norm(X(t, 2, 3), dim=(0, 7))),
    # shapes
    "add of shapes that do not broadcast": (
        RuntimeError, r"tensor a \(3\) must match the size of tensor b \(4\)",
        lambda t: X(t, 2, 3) + X(t, 4)),
    "matmul of shapes that do not fit": (
        RuntimeError, "cannot be multiplied", lambda t: X(t, 2, 3) @ X(t, 2, 3)),
    "isclose of shapes that do not broadcast": (
        RuntimeError, "broadcast|must match", lambda t: t.isclose(X(t, 2, 3), X(t, 4))),
    "cosine_similarity of shapes that do not broadcast": (
        RuntimeError, "broadcast|must match",
        lambda t: t.cosine_similarity(X(t, 2, 3), X(t, 4, 5))),
    "polynomials of shapes that do not broadcast": (
        RuntimeError, "broadcast|must match",
        lambda t: t.special.hermite_polynomial_h(X(t, 2, 3), X(t, 4))),
    "tensordot over more dimensions than there are": (
        RuntimeError, "tensordot expects dims", lambda t: t.tensordot(X(t, 3), X(t, 3), dims=2)),
    "cdist of vectors": (RuntimeError, "cdist", lambda t: t.cdist(X(t, 3), X(t, 3))),
    "pdist of a vector": (
        RuntimeError, "pdist only supports 2D", lambda t: t.nn.functional.pdist(X(t, 3))),
    "adjoint of a vector": (
        RuntimeError, "only supported on matrices", lambda t: t.adjoint(X(t, 3))),
    "glu of a number": (
        RuntimeError, "does not support scalars", lambda t: t.nn.functional.glu(t.tensor(2.0))),
    "group_norm of a vector": (
        RuntimeError, "at least 2 dimensions",
        lambda t: t.nn.functional.group_norm(X(t, 4), 2)),
    "pixel_shuffle of a matrix": (
        RuntimeError, "at least 3 dim", lambda t: t.nn.functional.pixel_shuffle(X(t, 4, 4), 2)),
    "multi_margin_loss without a target for each row": (
        RuntimeError, "multi_margin_loss",
        lambda t: t.nn.functional.multi_margin_loss(X(t, 2, 3), t.tensor([0, 1, 2]))),
    # dtypes
    "bitwise_and with nothing": (TypeError, "bitwise_and", lambda t: t.bitwise_and(X(t, 3), None)),
    "bitwise_and of floats": (
        NotImplementedError, "bitwise_and", lambda t: t.bitwise_and(X(t, 3), X(t, 3))),
    "take with a float index": (
        RuntimeError, "long tensor for index", lambda t: t.take(X(t, 3), X(t, 3))),
    "norm of integers": (RuntimeError, "float", lambda t: t.linalg.norm(t.tensor([1, 2]))),
    "mean of integers": (RuntimeError, "mean", lambda t: t.mean(t.tensor([1, 2]))),
    "exp_ of a list": (TypeError, "must be (a )?Tensor", lambda t: t.exp_([1.0])),
    "reshape without a shape": (TypeError, "reshape", lambda t: t.reshape(X(t, 3))),
    # nothing
    "maximum of nothing": (
        (RuntimeError, IndexError), "non-zero size|numel", lambda t: t.zeros(0).max()),
    "argmax along nothing": (IndexError, "non-zero size", lambda t: t.zeros(2, 0).argmax(1)),
    "mode along nothing": (IndexError, "non-zero size", lambda t: t.mode(t.zeros(2, 0), 1)),
    "stack of nothing": (
        (RuntimeError, ValueError), "non-empty|expects", lambda t: t.stack([])),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_bad_arguments_raise_what_they_should(name):
    kind, message, call = CASES[name]
    with pytest.raises(kind, match=message):
        call(wg)


@pytest.mark.parametrize("name", CASES)
def test_pytorch_raises_the_same_kind(name):
    torch = pytest.importorskip("torch")
    kind, _, call = CASES[name]
    with pytest.raises(kind):
        call(torch)


EMPTY = {
    "adjoint of a number": lambda t: t.adjoint(t.tensor(2.0)),
    "the most frequent of no rows": lambda t: t.mode(t.zeros(0, 3), 1)[0],
    "a block-diagonal matrix of nothing": lambda t: t.block_diag(),
    "the norm over the first dimension": lambda t: t.frobenius_norm(X(t, 2, 3), 0),
    "the norm of each number of a vector": lambda t: t.norm_except_dim(X(t, 3)),
    "100 bins unless said otherwise": lambda t: t.histogram(X(t, 3).float())[0],
    "sums of nothing": lambda t: t.zeros(0, 3).sum(0),
    "products of nothing": lambda t: t.zeros(0, 3).prod(0),
    "sorted nothing": lambda t: t.sort(t.zeros(2, 0))[0],
    "a product over nothing": lambda t: t.zeros(2, 0) @ t.zeros(0, 3),
}


@pytest.mark.parametrize("name", EMPTY)
@pytest.mark.filterwarnings("ignore:.*deprecated")  # says PyTorch
def test_what_looks_bad_and_is_not(name):
    torch = pytest.importorskip("torch")
    ours, theirs = EMPTY[name](wg), EMPTY[name](torch)
    assert tuple(ours.shape) == tuple(theirs.shape)
    np.testing.assert_allclose(ours.numpy(), theirs.numpy())


# ---- dtypes ---------------------------------------------------------------------------------

ELEMENTWISE = [
    "square", "abs", "floor", "ceil", "round", "trunc", "frac", "sign", "neg", "exp",
    "relu", "relu6", "hardtanh", "gelu", "silu", "mish", "leaky_relu", "elu", "selu", "celu",
    "softplus", "logsigmoid", "hardsigmoid", "hardswish", "glu", "hardshrink", "softshrink",
    "softsign", "sigmoid", "tanh", "erf",
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "int64", "float16", "float32"])
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_functions_have_pytorchs_dtypes_or_its_refusal(name, dtype):
    torch = pytest.importorskip("torch")
    if (name, dtype) == ("softsign", "bool"):
        pytest.skip("PyTorch has no abs of truth values; wengert's operators take them")
    found = {}
    for t in (torch, wg):
        function = getattr(t.nn.functional, name, None) or getattr(t, name)
        x = t.tensor([0, 1, 2, 7]).to(getattr(t, dtype))
        try:
            y = function(x)
        except RuntimeError:
            found[t] = "refused"
        else:
            found[t] = str(y.dtype).rpartition(".")[2], y.double().tolist()
    if found[torch] == "refused":
        assert found[wg] == "refused"
    else:
        assert found[wg][0] == found[torch][0]
        np.testing.assert_allclose(found[wg][1], found[torch][1], rtol=2e-3)


@pytest.mark.parametrize("limits", [(-1, 1), (0, 6), (0.9, 5.9), (-3, -2)])
@pytest.mark.parametrize("dtype", ["int64", "uint8"])
def test_hardtanh_cuts_off_integers_at_integers(limits, dtype):
    torch = pytest.importorskip("torch")
    x, y = (t.tensor([0, 1, 2, 7]).to(getattr(t, dtype)) for t in (torch, wg))
    if dtype == "uint8" and limits[0] < 0:
        for t, a in ((torch, x), (wg, y)):
            with pytest.raises(RuntimeError, match="unsigned type with negative limits"):
                t.nn.functional.hardtanh(a, *limits)
        return
    expected = torch.nn.functional.hardtanh(x, *limits)
    found = wg.nn.functional.hardtanh(y, *limits)
    assert found.tolist() == expected.tolist()
    assert str(found.dtype).endswith(dtype)


WORDS = {
    "a list of words compared": lambda t: t.lt(t.ones(2), ["a"]),
    "a list of words in logic": lambda t: t.logical_and(t.ones(2), ["a"]),
    "an operator and a list of words": lambda t: t.ones(2) > ["a"],
    "bits of a list of words": lambda t: t.tensor([1, 2]) & ["a"],
    "a matrix times a list of words": lambda t: t.ones(2, 2) @ ["a"],
    "x log of a list of words": lambda t: t.xlogy(t.ones(2), ["a"]),
    "a word of rolling": lambda t: t.roll(t.ones(3), "a"),
    "a dictionary of rolling": lambda t: t.roll(t.ones(3), {}),
    "no repeats of floats": lambda t: t.repeat_interleave(t.ones(2), None),
    "a word for a quantile": lambda t: t.quantile(t.ones(3), "a"),
    "full of a word": lambda t: t.full_like(t.ones(3), "a"),
    "full of a list": lambda t: t.full_like(t.ones(2), [1, 2]),
}


@pytest.mark.parametrize("name", WORDS)
def test_second_arguments_that_are_no_numbers_are_type_errors(name):
    torch = pytest.importorskip("torch")
    for t in (torch, wg):
        with pytest.raises(TypeError):
            WORDS[name](t)


# ---- numbers for tensors -------------------------------------------------------------------------


SECOND = {"other", "exponent", "values", "imag", "angle", "min", "max", "n", "test_elements"}
"""What the second operand of an elementwise function is called."""


def of_two(function):
    """Whether a function has two operands."""
    names = list(inspect.signature(function).parameters)
    return len(names) > 1 and names[1] in SECOND


OF_TWO = sorted(
    name
    for name in FUNCTIONS.keys() | {f"special.{n}" for n in dir(wg.special) if "polynomial" in n}
    if of_two(FUNCTIONS.get(name) or getattr(wg.special, name[8:]))
    and not name.startswith(("fft.", "linalg.", "matrix_power", "diff", "resize_as_"))
)
KINDS = {"float": (1.5, 2.0), "int": (3, 2), "bool": (True, True)}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", OF_TWO)
def test_a_number_is_taken_for_a_tensor_where_pytorch_takes_it(name, kind):
    # maximum(x, 0) ran, and no longer did in PyTorch; pow(2, 3) was a tensor.
    torch = pytest.importorskip("torch")
    value, number = KINDS[kind]
    theirs, ours = torch, wg
    for part in name.split("."):
        theirs, ours = getattr(theirs, part, None), getattr(ours, part)
    if theirs is None:
        pytest.skip("PyTorch has none")
    for order in ((0, 1), (1, 0), (1, 1)):
        try:
            theirs(*((torch.full((2, 2), value), number)[k] for k in order))
        except TypeError:
            with pytest.raises(TypeError):
                ours(*((wg.full((2, 2), value), number)[k] for k in order))
        except Exception:
            continue
        else:
            ours(*((wg.full((2, 2), value), number)[k] for k in order))


def test_what_is_no_tensor_is_a_type_error_by_name_too():
    # Only arguments by position were looked at.
    with pytest.raises(
        TypeError, match=r"argument 'target' \(position 2\) must be a Tensor, not str"
    ):
        wg.nn.functional.kl_div(X(wg, 2), target="a word")


# Each was taken, or failed by an error from inside, for the cause that its name says.
REFUSED = {
    "a dimension of a number, which was never looked at, of a product": lambda t: t.prod(
        t.tensor(2.0), 99
    ),
    "a dimension of a number, of a scatter": lambda t: t.scatter_add(
        t.tensor(1.0), 99, t.tensor(0), t.tensor(1.0)
    ),
    "a dimension of a number, of a fill": lambda t: t.index_fill(
        t.tensor(1.0), 99, t.tensor(0), 2.0
    ),
    "a word for a dimension of a number": lambda t: t.scatter_add(
        t.tensor(1.0), "a", t.tensor(0), t.tensor(1.0)
    ),
    "complex numbers in order, which NumPy has": lambda t: t.tensor([1j, 2]).sort(),
    "complex numbers compared": lambda t: t.tensor([1j, 2]) > t.tensor([2j, 1]),
    "the largest complex number": lambda t: t.tensor([1j, 2]).max(),
    "where the least complex number is": lambda t: t.tensor([1j, 2]).argmin(),
    "complex numbers between bounds": lambda t: t.clamp(t.tensor([1j, 2]), 0, 1),
    "a shape of a number, which has none": lambda t: t.ones(2).view_as(3),
    "a list of blocks as the first block": lambda t: t.block_diag([t.ones(2), t.ones(2)]),
    "grids of two dtypes": lambda t: t.meshgrid(t.ones(2), t.arange(2), indexing="ij"),
    "products of lists": lambda t: t.cartesian_prod([1, 2]),
    "a word for a window": lambda t: t.stft(t.ones(16), 8, window="a", return_complex=True),
    "no index": lambda t: t.index_put(t.ones(2), (), t.ones(2)),
    "a stride of 0": lambda t: t.nn.functional.unfold(t.ones(1, 1, 4, 4), 2, stride=0),
    "no groups": lambda t: t.nn.functional.conv_transpose2d(
        t.ones(1, 2, 4, 4), t.ones(2, 1, 2, 2), groups=0
    ),
    "a bias of another dtype": lambda t: t.nn.functional.conv_transpose3d(
        t.ones(1, 2, 4, 4, 4), t.ones(2, 1, 2, 2, 2), t.ones(1, dtype=t.float64)
    ),
    "a bias of another size": lambda t: t.nn.functional.conv_transpose2d(
        t.ones(1, 2, 4, 4), t.ones(2, 3, 2, 2), t.ones(1)
    ),
    "shuffled by 0": lambda t: t.nn.functional.pixel_shuffle(t.ones(1, 4, 2, 2), 0),
    "no channels side by side": lambda t: t.nn.functional.local_response_norm(t.ones(1, 2, 3), 0),
    "a number for a mode": lambda t: t.nn.functional.pad(t.ones(1, 2, 3), (1, 1), 3),
    "shapes that do not fit, beside a bias that is None": (
        lambda t: t.nn.functional.linear(t.ones(2, 3), t.ones(4, 5))
    ),
    "a default dtype that is a word, which NumPy has": lambda t: t.set_default_dtype("a word"),
    "what no tensor can be made of": lambda t: t.tensor({1: 2}),
    "an image without its first dimensions": lambda t: t.nn.functional.interpolate(t.ones(4), 2),
    "noise on integers": lambda t: t.nn.functional.gumbel_softmax(t.ones(3).long()),
    "a layer of a negative size": lambda t: t.nn.Linear(2, -1),
    "bits of floats": lambda t: t.bitwise_not(t.ones(2)),
    "numbers that do not fill the last size": lambda t: t.ones(3).view(t.float64),
    "blocks that are no matrices": lambda t: t.block_diag(t.ones(2, 2, 2)),
    "grids of a matrix, which was flattened": lambda t: t.meshgrid(t.ones(2, 2), indexing="ij"),
    "products of a matrix, which was flattened": lambda t: t.cartesian_prod(
        t.ones(2, 2), t.ones(2)
    ),
    "choices from the rows of a matrix": lambda t: t.combinations(t.ones(2, 2)),
    "complex numbers of integers": lambda t: t.complex(t.ones(2).long(), t.ones(2).long()),
    "polar coordinates of two dtypes": lambda t: t.polar(t.ones(2), t.ones(2).double()),
    "two sizes for three dimensions": lambda t: t.nn.functional.interpolate(
        t.ones(1, 1, 2, 2, 2), size=(3, 3), mode="bilinear"
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_pytorch_refuses_is_refused_by_the_same_kind_of_error(name):
    torch = pytest.importorskip("torch")
    with pytest.raises((TypeError, ValueError, RuntimeError, IndexError)) as theirs:
        REFUSED[name](torch)
    with pytest.raises(theirs.type):
        REFUSED[name](wg)


@pytest.mark.parametrize("name", ["maximum", "minimum", "fmax", "fmin"])
def test_the_larger_of_two_complex_numbers_is_refused(name):
    # NumPy orders them by their real parts first: the result was a number without an error.
    with pytest.raises(NotImplementedError, match=f"{name} is not defined for complex64"):
        getattr(wg, name)(wg.tensor([1 + 2j]), wg.tensor([3.0]))


@pytest.mark.parametrize("dtype", ["int64", "bool", "complex128"])
def test_windows_and_interpolation_refuse_dtypes_that_pytorch_refuses(dtype):
    # Means of integers were rounded, and complex maxima taken by their real parts.
    x, F = wg.ones(1, 2, 4, 4, dtype=getattr(wg, dtype)), wg.nn.functional
    for call in (
        lambda: F.interpolate(x, scale_factor=2),
        lambda: F.adaptive_avg_pool2d(x, 2),
        lambda: F.adaptive_max_pool2d(x, 2),
        lambda: F.max_unpool2d(x, wg.zeros(1, 2, 4, 4, dtype=wg.int64), 2),
    ):
        with pytest.raises(NotImplementedError, match=f"is not implemented for {dtype}"):
            call()
    assert F.interpolate(wg.ones(1, 1, 2, 2, dtype=wg.uint8), scale_factor=2).dtype == wg.uint8


def test_arguments_that_draws_do_not_know_are_refused():
    # uniform_ and random_ swallowed any keyword, since `from` is a word of Python's.
    x = wg.zeros(100)
    assert 2 <= x.uniform_(**{"from": 2, "to": 3}).min() <= x.max() < 3
    for draw in (x.uniform_, x.random_):
        with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
            draw(colour=1)
        with pytest.raises(TypeError):
            draw("a word")
