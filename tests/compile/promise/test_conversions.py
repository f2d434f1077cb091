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
