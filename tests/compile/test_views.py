"""Views in compiled functions follow what is written into their base, as in eager mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.rules.calls import Call, arrays_of, recorded
from tests.rules.test_table import CASES
from wengert.errors import TracingError
from wengert.rules import Rule

windows = np.lib.stride_tricks.sliding_window_view

NUMPYS: dict[str, Callable[[Any], Any]] = {
    "diag": np.diag,
    "diag above": lambda x: np.diag(x, 1),
    "diagonal": np.diagonal,
    "rot90": np.rot90,
    "rot90 twice": lambda x: np.rot90(x, 2),
    "rot90 thrice": lambda x: np.rot90(x, 3),
    "rot90 of other axes": lambda x: np.rot90(x[None], 1, (2, 1)),
    "flip": np.flip,
    "nan_to_num": lambda x: np.nan_to_num(x, copy=False),
    "sliding windows": lambda x: windows(x, 2, axis=0),
    "broadcast": lambda x: np.broadcast_to(x, (2, 3, 3)),
    "split": lambda x: np.split(x, 3)[1],
    "array_split": lambda x: np.array_split(x, 2)[0],
    "moveaxis": lambda x: np.moveaxis(x, 0, 1),
    "expand_dims": lambda x: np.expand_dims(x, 0),
    "reshape": lambda x: np.reshape(x, (9,)),
    "transpose": lambda x: x.T,
    "slice": lambda x: x[1:, 0],
    "element": lambda x: x[1, 1, ...],
    "a copy by an index": lambda x: x[np.array(1)],
    "a copy": lambda x: x.flatten(),
}


@pytest.mark.parametrize("name", NUMPYS)
def test_what_is_written_into_an_array_shows_in_its_views(name: str) -> None:
    def f(x: Any) -> Any:
        view = NUMPYS[name](x)
        x *= 2
        return view

    found, expected = (g(np.arange(1.0, 10).reshape(3, 3)) for g in (wg.compile(f), f))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", NUMPYS)
def test_what_is_written_into_a_view_shows_in_the_array(name: str) -> None:
    def f(x: Any) -> Any:
        view = NUMPYS[name](x)
        view += 1
        return x

    try:
        expected = f(np.arange(1.0, 10).reshape(3, 3))
    except ValueError:
        pytest.skip("NumPy's view is read-only")
    found = wg.compile(f)(np.arange(1.0, 10).reshape(3, 3))
    np.testing.assert_array_equal(found, expected)


def read_after_a_write(x: Any, i: Any, w: Any) -> Any:
    view = x[i]
    x.mul_(3)
    return view + 0, view


def write_at_it(x: Any, i: Any, w: Any) -> Any:
    x[i] += 0.25
    return x.sum()


def write_into_it(x: Any, i: Any, w: Any) -> Any:
    x[i].mul_(2)
    return x * 1


def gradient_through_a_write_into_it(x: Any, i: Any, w: Any) -> Any:
    y = x * w
    view = y[i]
    view.mul_(w)
    return wg.autograd.grad(y.sum() + (view * view).sum(), w)


def gradient_through_a_write_into_the_base(x: Any, i: Any, w: Any) -> Any:
    y = x * w
    view = y[i]
    y.mul_(w)
    (gradient,) = wg.autograd.grad((view * view).sum(), w)
    return gradient, view


def among_other_parts(x: Any, i: Any, w: Any) -> Any:
    return x[i, i - 1], x[:, i - 1], x[-1, i * 0], x[1:, i - 1]


@pytest.mark.parametrize(
    "f",
    [
        read_after_a_write,
        write_at_it,
        write_into_it,
        gradient_through_a_write_into_it,
        gradient_through_a_write_into_the_base,
        among_other_parts,
    ],
)
def test_a_tensor_of_one_number_as_an_index_takes_a_view(f: Any) -> None:
    compiled = wg.compile(f)
    for place in (1, 2, 1):
        given = [
            (wg.arange(6.0).reshape(3, 2), wg.tensor(place), wg.tensor(1.5, requires_grad=True))
            for _ in range(2)
        ]
        found, expected = compiled(*given[0]), f(*given[1])
        pairs = (
            [(found, expected)]
            if isinstance(expected, wg.Tensor)
            else zip(found, expected, strict=True)
        )
        for a, b in pairs:
            assert a.requires_grad == b.requires_grad
            assert wg.allclose(a, b)
        assert wg.equal(given[0][0], given[1][0])


def test_views_by_calls_of_functions_follow_their_base() -> None:
    def real(x: Any) -> Any:
        view = wg.complex(x, 2 * x).real
        x.mul_(5)
        return view

    def windows_of(x: Any) -> Any:
        view = x.unfold(0, 2, 1)
        x.mul_(5)
        return view

    def reshaped(x: Any) -> Any:
        numbers, rows = wg.complex(x, 2 * x).flip(0).real.reshape(2, 2), x.unfold(0, 2, 2)
        wide, again = rows.reshape(4), x.unfold(0, 2, 1).reshape(6)  # a view, and a copy
        x.mul_(5)
        return numbers, wide, again

    for f in (real, windows_of, reshaped):
        found, expected = (g(wg.arange(4.0)) for g in (wg.compile(f), f))
        for a, b in zip(found, expected, strict=True):
            assert wg.equal(a, b)
    with pytest.raises(TracingError, match="Several elements of it are the same memory"):
        wg.compile(lambda x: x.unfold(0, 2, 1).mul_(2))(wg.arange(4.0))


def test_what_is_written_into_parts_of_complex_numbers_arrives() -> None:
    """What `view_as_real` gives was another array in a compiled function, and others refused."""

    def parts(x: Any) -> Any:
        pairs = wg.view_as_real(x)
        pairs.view(-1)[0] = 7.0
        x.real[1:].mul_(5)
        x.imag.add_(1)
        x.numpy().real[2] = 3
        wg.view_as_complex(wg.view_as_real(x)[1:])[0] = 9j
        return pairs, x, x.real, (x.abs() ** 2).sum()

    def whole(x: Any) -> Any:
        pairs, columns = wg.ones(3, 2), wg.ones(2, 3)
        wg.view_as_complex(pairs).imag.fill_(4)
        wg.view_as_complex(columns.T).zero_()  # a copy: the two parts lie apart
        return pairs, columns, x

    def gradient(x: Any) -> Any:
        y = x * 2
        pairs = wg.view_as_real(y)
        pairs[:, 1] = pairs[:, 0] * 3
        return wg.autograd.grad((y.abs() ** 2).sum(), x)[0]

    numbers = [1 + 2j, 3j, -1 - 1j]
    for f, tracked in ((parts, False), (whole, False), (gradient, True)):
        compiled = wg.compile(f)
        for _ in range(3):
            given = [wg.tensor(numbers, requires_grad=tracked) for _ in range(2)]
            results = [g(x) for g, x in zip((f, compiled), given, strict=True)]
            for a, b in zip(*(list(r) if type(r) is tuple else [r] for r in results), strict=True):
                assert wg.equal(a, b)
            assert wg.equal(*given)


LOOKING = [case for case in CASES if case.values[0].view and not case.id.startswith("numpy.imag")]
"""But for `imag`: that of real numbers shows nothing, zeros that nobody may write eagerly."""


@pytest.mark.parametrize("of_view", [True, False], ids=["in the view", "in what it looks at"])
@pytest.mark.parametrize(("rule", "call"), LOOKING)
def test_what_is_written_where_a_view_looks_is_seen_on_both_sides(
    rule: Rule, call: Call, of_view: bool
) -> None:
    def f(*tensors: Any) -> Any:
        with wg.no_grad():
            views = recorded(rule, call, list(tensors))
            for x in views if of_view else tensors:
                x.mul_(2.5)
        return views, tensors

    def outcome(function: Any) -> Any:
        tensors = [wg.from_numpy(x.copy()) for x in arrays_of(rule, call)]
        try:
            return [x.numpy() for some in function(*tensors) for x in some]
        except RuntimeError as error:  # of what is there several times
            return type(error)

    expected, found = outcome(f), outcome(wg.compile(f))
    if isinstance(found, list):
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)
    else:
        assert found is TracingError or found is expected


TRUTHS = [
    True, np.True_, np.array(True), (True, 0), (slice(0, 1), True), (0, True, 1), (0, True, ...),
    False, (False, 0), (True, [0, 1]), (slice(None), True, [0, 1]), ([0, 1], slice(None), True),
    ([True, False], False), (None, True, slice(None), 1), (np.ones((2, 3), bool), True),
]  # fmt: skip


@pytest.mark.parametrize("index", TRUTHS, ids=str)
@pytest.mark.parametrize("kind", [np.array, wg.tensor])
def test_a_truth_value_in_an_index_takes_a_copy_along_a_dimension_of_its_own(
    kind: Any, index: Any
) -> None:
    """It was a view of the array, a dimension beside other indices, and False was refused."""

    def read(x: Any) -> Any:
        taken = x[index]
        taken *= 3.0
        return taken, x

    def written(x: Any) -> Any:
        x[index] = 7.0
        return x, x.sum()

    for f in (read, written):
        numbers = [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
        expected, found = (g(kind(numbers)) for g in (f, wg.compile(f)))
        for a, b in zip(found, expected, strict=True):
            assert type(a) is type(b)
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b), strict=True)


LAID_OUT = {
    "x[i]": lambda x, i: x[i],
    "x[:, i]": lambda x, i: x[:, i],
    "x[..., i]": lambda x, i: x[..., i],
    "x[:, None, i]": lambda x, i: x[:, None, i],
    "x[i, :, i]": lambda x, i: x[i, :, i],
    "x[:, i.T]": lambda x, i: x[:, np.stack([i, i, i], 1).T],
    "take": lambda x, i: np.take(x, i, 1),
    "take_along_axis": lambda x, i: np.take_along_axis(x, np.argsort(x, 1), 1),
    "sort": lambda x, i: np.sort(x.T, 0),
    "cumsum": lambda x, i: np.cumsum(x.T, 1),
    "sum": lambda x, i: np.sum(x.T, 1),
    "max": lambda x, i: np.max(x.transpose(1, 0, 2), 2),
    "var": lambda x, i: np.var(x.transpose(2, 1, 0), 0),
    "concatenate": lambda x, i: np.concatenate([x.T, x.T]),
    "stack": lambda x, i: np.stack([x.T, x.T], -1),
    "roll": lambda x, i: np.roll(x.T, 1, 0),
    "pad": lambda x, i: np.pad(x.T, 1),
    "repeat": lambda x, i: np.repeat(x.T, 2, 0),
    "tile": lambda x, i: np.tile(x.T, 2),
}


@pytest.mark.parametrize("name", LAID_OUT)
def test_a_result_lies_as_numpy_lays_it_and_its_reshaped_forms_are_copies_where_those_are(name):
    # All but elementwise results were row-major in a trace, so that a write reached more views.
    def write(x, i):
        y = LAID_OUT[name](x, i)
        row = y.reshape(-1)
        y += 100
        return row, y

    given = np.arange(24.0).reshape(2, 3, 4), np.array([1, 0])
    expected, compiled = write(*given), wg.compile(write)
    for _ in range(2):
        for found, wanted in zip(compiled(*given), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("shape", [(500, 3, 4), (2, 1, 5000), (2, 70, 70), (140, 2, 70)], ids=str)
@pytest.mark.parametrize("name", LAID_OUT)
def test_a_large_result_lies_as_numpy_lays_it_though_small_ones_are_asked_about(name, shape):
    # They were asked about at full size, which took longer than all else of a trace.
    given = np.arange(float(np.prod(shape))).reshape(shape), np.array([1, 0]) % min(shape)
    expected = LAID_OUT[name](*given)
    strides = wg.compile(lambda x, i: LAID_OUT[name](x, i).strides)(*given)
    counts = [k for k, n in enumerate(expected.shape) if n > 1]  # there is no step along others
    assert [strides[k] for k in counts] == [expected.strides[k] for k in counts]


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize(
    "parts",
    [
        lambda x: np.split(x, 3, 1)[1],
        lambda x: np.hsplit(x, 3)[0],
        lambda x: np.rollaxis(x, 2),
        np.atleast_3d,
        np.flipud,
    ],
)
def test_a_view_that_a_function_gives_is_of_the_array_itself_in_half_precision_too(dtype, parts):
    # It was one of the copy in float32 that functions of half precision are computed in.
    def change(x):
        parts(x)[...] = -2
        return x + 1

    mine, theirs = np.ones((2, 3, 2), dtype), np.ones((2, 3, 2), dtype)
    np.testing.assert_array_equal(wg.compile(change)(mine), change(theirs))
    np.testing.assert_array_equal(mine, theirs)


def windowed(x: Any) -> Any:
    return x.as_strided((2, 3), (4, 1), 1) * 2


def written_by_strides(x: Any) -> Any:
    y = x * 1
    y.as_strided((4,), (1,), 4).mul_(3)
    return y


STRIDED: dict[str, Callable[[Any], Any]] = {
    "an argument": windowed,
    "a transposed one": lambda x: (x.T * 2).as_strided((2, 3), (1, 2)),
    "a part": lambda x: (x * 1)[1:].as_strided((2, 2), (1, 2)),
    "a part of an argument": lambda x: x[1:].as_strided((2, 2), (1, 2)),
    "windows that overlap": lambda x: wg.as_strided(x * 2, (9, 4), (1, 1)).sum(1),
    "nothing": lambda x: (x * 1).as_strided((0, 3), (1, 1)),
    "what is written": written_by_strides,
    "its strides": lambda x: (x * x).as_strided((2, 2), (1, 4)).sum() * sum(x.stride()),
}


@pytest.mark.parametrize("name", STRIDED)
def test_views_by_strides_compile(name: str) -> None:
    # They were refused: a traced array lies nowhere yet. But where it will lie is known.
    def seen(function: Any) -> Any:
        x = wg.arange(12.0).reshape(3, 4).clone().requires_grad_()
        y = function(x)
        (y * wg.arange(float(y.numel())).reshape(y.shape)).sum().backward()
        return y.tolist(), x.grad.tolist()

    f = wg.compile(STRIDED[name])
    for _ in range(3):
        assert seen(f) == seen(STRIDED[name])


def test_a_view_by_strides_of_more_than_the_tensor_is_refused_with_the_line() -> None:
    f = wg.compile(lambda x: (x * 1)[1:].as_strided((2, 2), (1, 2), 0))
    with pytest.raises(TracingError, match=r"(?s)test_views.py.*no elements"):
        f(wg.ones(3, 4))


def test_a_leaf_that_looks_into_another_tensor_has_the_gradient_of_its_view_by_strides() -> None:
    # The view was taken of the other tensor, which requires no grad, and the gradient was lost.
    x = wg.arange(12.0).reshape(3, 4).requires_grad_()
    windowed(x).sum().backward()
    assert x.grad.tolist() == [[0, 2, 2, 2], [0, 2, 2, 2], [0, 0, 0, 0]]
