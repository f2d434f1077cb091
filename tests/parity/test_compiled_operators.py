"""PyTorch's own table of operators, compiled: results and derivatives are those of eager mode.

What a compiled function refuses, it refuses with an error that shows the line.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")
pytest.importorskip("llvmlite")

from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

import wengert as wg  # noqa: E402
from tests.parity.op_checks import UNSET, sample_of  # noqa: E402
from tests.parity.op_db import leaves_of, numbers, samples, tensors  # noqa: E402
from wengert.errors import TracingError  # noqa: E402

TOLERANCE = {"float64": 1e-6, "bfloat16": 0.1}
"""Machine code rounds the numbers of 16 bits once, where eager mode does so at each step."""
REFUSED = {
    "allclose", "argwhere", "equal", "index_put", "linalg_eig", "masked_select", "narrow",
    "nonzero", "repeat_interleave", "tensor_split", "unique", "unique_consecutive",
}  # fmt: skip
"""What has a shape, or takes a way, that numbers decide."""
PLACED = {"nn_functional_grid_sample", "grid_sampler_2d", "grid_sampler_3d"}
"""Which elements these read depends on numbers, and so does their derivative: where those have 16
bits, on how they are rounded.
"""
PARTS = 6


@pytest.mark.sweep
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("name", TOLERANCE)
def test_operators_are_compiled_as_they_run_eagerly(name: str, part: int) -> None:
    dtype, wrong = getattr(torch, name), []
    for op in op_db[part::PARTS]:
        if dtype not in op.supported_dtypes("cpu") or op.name in UNSET:
            continue
        if name == "bfloat16" and op.formatted_name in PLACED:
            continue
        for chosen in samples(op, dtype, 1):
            found = difference(op, dtype, chosen, TOLERANCE[name])
            if found is not None:
                wrong.append(f"{op.formatted_name}: {found}")
    assert not wrong, "\n".join(wrong)


def difference(op: Any, dtype: Any, chosen: Any, tolerance: float) -> str | None:
    try:
        sample = sample_of(op, dtype, chosen)
        expected = None if sample is None else outcome(sample, lambda f: f, 1)[0]
    except Exception:  # which is for the tests of eager mode to say
        return None
    if sample is None or expected is None:
        return None
    try:
        found = outcome(sample, wg.compile, 2)
    except TracingError as error:
        return (
            None
            if ", line " in str(error) and op.formatted_name in REFUSED
            else f"refused: {error}"
        )
    except Exception as error:
        return repr(error)
    for got in found:
        for kind, x, y in zip(("results", "dtypes", "gradients"), expected, got, strict=True):
            if not alike(x, y, tolerance):
                return f"{kind}: {x} eagerly, {y} compiled"
    return None


def outcome(sample: Any, compiled: Any, times: int) -> list[tuple[Any, Any, Any]]:
    """Results, their kinds and the gradients of all arguments, of so many calls."""
    given = sample.calls[1]

    def call(x: Any, args: Any, kwargs: Any) -> Any:
        result = sample.functions[1](x, *args, **kwargs)
        for t in tensors(result):
            if t.requires_grad:
                power = t.real**2 + t.imag**2 if t.is_complex() else t.abs()
                power.sum().backward(retain_graph=True)
        return result

    function, seen = compiled(call), []
    leaves = [t for t in tensors(list(given)) if t.is_leaf]
    for _ in range(times):
        for t in leaves:
            t.grad = None
        wg.manual_seed(0)
        np.random.seed(0)
        result = function(*given)
        values = [numbers(t) if isinstance(t, wg.Tensor) else t for t in leaves_of(result)]
        kinds = [(str(t.dtype), t.requires_grad) for t in tensors(result)]
        seen.append((values, kinds, [None if t.grad is None else numbers(t.grad) for t in leaves]))
    return seen


def alike(x: Any, y: Any, tolerance: float) -> bool:
    if isinstance(x, (list, tuple)) and isinstance(y, (list, tuple)):
        return len(x) == len(y) and all(alike(a, b, tolerance) for a, b in zip(x, y, strict=True))
    if not isinstance(x, np.ndarray) or not isinstance(y, np.ndarray):
        return bool(x == y or x != x)
    if x.shape != y.shape:
        return False
    if x.dtype.kind in "biu" or not x.size:
        return np.array_equal(x, y)
    x, y = (a if a.dtype.kind == "c" else a.astype(float) for a in (x, y))
    size = np.abs(x)[np.isfinite(x)].max(initial=1)
    return np.allclose(x, y, rtol=tolerance, atol=tolerance * size, equal_nan=True)
