"""NumPy's functions that make an array of anything, and those that write, in compiled functions.

`np.asarray(x)` of an array from outside was a copy of its numbers: what was written there did not
arrive, in silence; and of an argument it was refused, as was `np.array([x[0], x[1]])`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from tests.compile.stories import same
from wengert.errors import TracingError

CONVERTED = """
np.asarray(o) | np.array(o) | np.asarray(o, dtype=np.float32) | np.asarray(o, np.float64)
np.array(o, copy=False) | np.asanyarray(o) | np.ascontiguousarray(o[::2]) | np.array(o, ndmin=3)
np.asarray(o).T | np.array(o, np.int64) | np.asarray(o, order='C') | np.asarray(o[:2])
np.asarray(o.sum()) | np.array(o.sum(), dtype=float) | np.ascontiguousarray(o.sum())
np.array([o.sum(), o.max()]) | np.array([[o.sum(), 1], [2., o.max()]]) | np.array([o, o * 2])
np.asarray((o.sum(), 3), dtype=np.float32) | np.array([float(o.sum()), 2])
np.einsum('...i->i...', o)
""".replace("\n", " | ").strip(" |").split(" | ")  # fmt: skip
USES = """
def f(o):
    return {call} * 2
def g(o):
    a = {call}
    a[...] = a + 1.
    return a + o.sum()
def h(x):
    a = {call}
    a[...] = 7.
    return a.sum() + x
"""
ARRAYS = {
    "array": lambda: np.array([3.0, 1.0, 2.0]),
    "array by columns": lambda: np.arange(6.0).reshape(2, 3).T,
    "tensor": lambda: wg.tensor([3.0, 1.0, 2.0]),
    "parameter": lambda: wg.tensor([3.0, 1.0, 2.0], requires_grad=True),
}


def seen(call: str, make: Any, compiled: bool) -> list[Any]:
    names: dict[str, Any] = {"np": np, "wg": wg}
    exec(USES.format(call=call), names)  # noqa: S102
    told: list[Any] = []
    for name in "fgh":
        function = wg.compile(names[name]) if compiled else names[name]
        for _ in range(2):
            names["o"] = o = make()
            try:
                result = function(wg.ones(()) if name == "h" else o)
                told += [type(result), result.dtype, result.tolist(), str(o)]
            except (RuntimeError, TypeError, ValueError) as error:
                told.append(type(error))
    return told


@pytest.mark.crossed
@pytest.mark.parametrize("make", ARRAYS.values(), ids=ARRAYS)
@pytest.mark.parametrize("call", CONVERTED)
def test_what_is_made_an_array_of_is_that_array_or_a_copy_as_numpy_says(
    call: str, make: Any
) -> None:
    assert seen(call, make, True) == seen(call, make, False)


def test_an_array_in_columns_is_refused_by_name() -> None:
    with pytest.raises(TracingError, match="order='F'"):
        wg.compile(lambda x: np.asarray(x, order="F") * 2)(np.ones((2, 2)))


WRITES = """
o.resize(2, refcheck=False) | o.sort() | o.fill(2.) | o.partition(1) | o.put([0], [7.])
o.setfield(3., np.float64) | o.flat[0] = 9. | o.flat = 4. | o.real = 3. | o.T[0] = 3.
o.view()[0] = 5. | o.ravel()[0] = 7. | o.reshape(3, 1)[0] = 7.
np.copyto(o, 5.) | np.put(o, [1], 9.)
np.place(o, o > 1, [8.]) | np.putmask(o, o > 1, 8.) | np.fill_diagonal(o.reshape(1, 3), 4.)
np.negative(o, o) | o.clip(0, 1, out=o) | np.cumsum(o, out=o) | o.setflags(write=False)
np.add.at(o, [0, 0], 1.) | np.nan_to_num(o, copy=False) | np.ndarray.sort(o) | np.random.shuffle(o)
np.lib.stride_tricks.as_strided(o, (3,), (8,))[0] = 6. | np.require(o)[0] = 2.
np.frombuffer(o)[0] = 2.
np.atleast_2d(o)[0, 0] = 3. | np.einsum('i->i', o)[0] = 4. | np.split(o, 3)[0][0] = 2.
o.shape = (3, 1)
np.take(o, [1, 1, 1], out=o, mode='clip') | np.divmod(o.copy(), 2., o, np.zeros(3))
np.percentile(o[None], 50, axis=0, out=o) | np.random.default_rng(0).permuted(o, out=o)
[v for v in np.nditer(o, op_flags=['readwrite'])][0][...] = 3. | memoryview(o)[0] = 3.
""".replace("\n", " | ").strip(" |").split(" | ")  # fmt: skip


def written(statement: str, compiled: bool) -> list[Any]:
    names: dict[str, Any] = {"np": np, "o": np.array([3.0, 1.0, 2.0])}
    exec(f"def f(x):\n    {statement}\n    return x * o.sum() + o.size", names)  # noqa: S102
    f = wg.compile(names["f"]) if compiled else names["f"]
    told: list[Any] = []
    for _ in range(3):
        try:
            told.append(f(wg.tensor([1.0, 2.0], dtype=wg.float64)).tolist())
        except TracingError:
            raise
        except Exception as error:
            told.append(type(error))
        told.append((repr(names["o"]), names["o"].flags.writeable))
    return told


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("statement", WRITES)
def test_a_write_to_an_array_outside_arrives_or_is_refused(statement: str) -> None:
    expected = written(statement, False)
    try:
        assert written(statement, True) == expected
    except TracingError as refusal:
        assert "compiled" in str(refusal) or "reshape" in str(refusal)  # noqa: PT017


class Schedule:
    """Numbers that are others at each call, and lists that are there."""

    def __init__(self) -> None:
        self.n, self.rate, self.held = 0, 0.5, [1.0, 2.0]
        self.arrays: list[Any] = [np.array(3.0), 0.0]


LISTS = (
    """
np.min([a, b]) | np.mean([a, b, s.n]) | np.dot([a, b], [1.0, 2.0]) | np.median((a, b, 1))
np.max([[a, b], [s.n, 1]], axis=1) | np.maximum([a, b], 1.0) | np.add.reduce([a, b])
np.interp(0.3, [0, 1], [a, b]) | np.concatenate([[a, b], [s.n]]) | np.linalg.norm([a, b])
np.where([a > 0, b > 0], 1.0, 2.0) | np.dot(np.array([1.0, 2.0]), [a, b])
np.array([1.0, 2.0]) * a + [a, b] | np.sum([s.n, s.n + 1]) | np.einsum('i,i', [a, b], (b, a))
np.min([wg.tensor(3.0) * a, wg.tensor(1.0)]) | np.asarray(a) | np.array(b, np.float32)
np.mean(a=[a, 1.0], axis=(0,)) | np.tile([a, b], [2, 1]) | np.average([a, b], weights=[1, 2])
""".replace("\n", " | ")
    .strip(" |")
    .split(" | ")
)
FOUND = (
    """
np.mean([s.held[0], a]) | np.dot(s.held, [a, 1.0]) | np.array([s.held, [a, 1.0]])
np.max([s.arrays[0], a]) | np.array([s.arrays[0], a]) | np.maximum(s.held, [a, 1.0])
""".replace("\n", " | ")
    .strip(" |")
    .split(" | ")
)
WRITTEN = (
    """
s.held.__setitem__(-1, a) or np.mean(s.held) | s.held.__setitem__(-1, a) or np.array(s.held)
s.arrays.__setitem__(1, a) or np.max(s.arrays) | s.arrays.__setitem__(1, a) or np.array(s.arrays)
""".replace("\n", " | ")
    .strip(" |")
    .split(" | ")
)


def scheduled(expression: str, compile: Any) -> tuple[list[Any], Any]:
    s, told = Schedule(), []
    answer = eval(f"lambda s, a, b: {expression}", {"np": np, "wg": wg})  # noqa: S307

    def step(x: Any) -> Any:
        s.n, s.rate = s.n + 1, s.rate * 0.9
        y = answer(s, s.rate * 3 - 1, s.n * 0.25)
        return x * wg.tensor(np.asarray(y, np.float64)).sum(), y

    f = compile(step)
    for k in range(7):
        if k == 4:
            s.held[0] = 7.0
            s.arrays[0][...] = 5.0
        x, y = f(wg.tensor(float(k)))
        told += [x.item(), type(y), y.dtype, np.asarray(y).tolist(), [*map(float, s.held)]]
    return told, f


def same_numbers(ours: list[Any], known: list[Any]) -> None:
    for x, y in zip(ours, known, strict=True):
        if isinstance(y, float | list):
            np.testing.assert_allclose(x, y, rtol=1e-5)
        else:
            assert x == y


@pytest.mark.parametrize("expression", [*LISTS, *FOUND])
def test_a_list_that_numpy_takes_for_an_array_is_computed_and_not_decided(expression: str) -> None:
    # NumPy converted each number by itself, which had to be known: each call was traced.
    (ours, f), (known, _) = (scheduled(expression, c) for c in (wg.compile, lambda g: g))
    same_numbers(ours, known)
    assert len(f.retraces) <= 2


@pytest.mark.parametrize("expression", WRITTEN)
def test_a_list_from_outside_that_is_made_an_array_is_read_to_its_depth(expression: str) -> None:
    # np.array() of it kept what it held when it was traced, silently.
    (ours, _), (known, _) = (scheduled(expression, c) for c in (wg.compile, lambda g: g))
    same_numbers(ours, known)


def test_what_lists_are_called_with_that_numpy_takes_for_no_array_is_as_it_was() -> None:
    def weighted(v: Any, w: Any) -> Any:
        return v.sum() * w[0]

    def story(compile: Any) -> list[Any]:
        s = Schedule()

        def step(x: Any) -> Any:
            s.n += 1
            a = s.n * 0.5
            y = np.reshape(np.arange(6.0), [s.n % 2 + 2, 3 - s.n % 2])
            return x + a, y, np.apply_along_axis(weighted, 0, np.ones((2, 2)), [a, 2.0])

        f = compile(step)
        return [part for _ in range(3) for part in f(wg.tensor(1.0))]

    same(story)
